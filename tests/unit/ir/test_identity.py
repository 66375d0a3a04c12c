"""Results kept for values that are told by identity."""

from dataclasses import dataclass

from ago.ir.identity import by_identity, forget


@dataclass(frozen=True)
class Box:
    number: int


def counted(most):
    seen = []

    @by_identity(most)
    def double(box: Box) -> int:
        seen.append(box)
        return 2 * box.number

    return double, seen


def test_the_same_value_is_computed_once():
    double, seen = counted(4)
    box = Box(3)
    assert [double(box), double(box)] == [6, 6]
    assert seen == [box]


def test_equal_values_are_not_the_same():
    double, seen = counted(4)
    assert [double(Box(3)), double(Box(3))] == [6, 6]
    assert len(seen) == 2


def test_no_more_are_kept_than_asked_for_and_none_is_mistaken():
    double, seen = counted(2)
    boxes = [Box(n) for n in range(5)]
    assert [double(box) for box in (*boxes, *boxes)] == 2 * [0, 2, 4, 6, 8]
    assert len(seen) > 5
    assert all(double(Box(n)) == 2 * n for n in range(50))  # numbers of dead objects come again


def test_what_is_asked_for_again_stays():
    double, seen = counted(2)
    first = Box(1)
    boxes = [first, *(Box(n) for n in range(9))]
    for box in boxes:
        assert [double(box), double(first)] == [2 * box.number, 2]
    assert seen == boxes


def test_other_arguments_have_other_results():
    @by_identity(1)
    def times(box: Box, factor: int, *, more: int = 0) -> int:
        return box.number * factor + more

    box = Box(3)
    assert [times(box, 1), times(box, 2), times(box, 2, more=1), times(box, 2)] == [3, 6, 7, 6]


def test_forgotten_results_are_computed_again():
    double, seen = counted(4)
    box = Box(3)
    double(box)
    forget()
    assert double(box) == 6
    assert len(seen) == 2
