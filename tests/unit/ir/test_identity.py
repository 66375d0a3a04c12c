"""Results kept for values that are told by identity."""

from dataclasses import dataclass

from ago.ir.identity import by_identity


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
