"""What the interpreter computes: numpy's results, under any order of loops; `verify` is sound."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ago.errors import IRError
from ago.ir.decompose import decompose
from ago.ir.index import as_index, var
from ago.ir.interpreter import PRELUDE, interpret
from ago.ir.nest import Buffer, If, Reduce, Store, leaves
from ago.ir.packing import pack_array
from ago.ir.printer import parameters
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select, add
from ago.ir.verify import verify
from tests.support.programs import (
    Case,
    chain_of,
    convolution,
    depthwise,
    integers,
    loop,
    matmul,
    max_pool,
    rebuilt,
    residual,
)

sizes = st.sampled_from([1, 2, 3, 5])
cases = st.one_of(
    st.builds(matmul, sizes, sizes, sizes),
    st.builds(
        convolution,
        st.integers(3, 5),
        st.integers(1, 3),
        sizes,
        st.sampled_from([1, 3]),
        st.integers(1, 3),
        lanes=st.sampled_from([1, 4]),
    ),
    st.builds(depthwise, st.integers(3, 5), sizes, st.integers(1, 3)),
    st.builds(max_pool, st.integers(3, 6), st.integers(1, 3), st.integers(1, 3)),
    st.builds(residual, sizes, sizes),
)


def agree(case: Case, program: Program, mode: str = "plain") -> None:
    arrays = integers(program)
    result = interpret(program, arrays, mode)[case.output]
    np.testing.assert_array_equal(result, case.reference(arrays))


@given(cases)
def test_a_naive_program_is_well_formed_and_computes_what_numpy_does(case):
    verify(case.program)
    agree(case, case.program)
    agree(case, case.program, "checked")


@given(cases)
def test_the_text_of_a_program_is_the_interpreter(case):
    arrays = integers(case.program)
    scope = dict(PRELUDE)
    exec(str(case.program), scope)
    bound = [
        np.full(b.shape, np.nan)
        if b.scope == "output"
        else (arrays[b.name] if b.packing is None else pack_array(case.program, b.name, arrays))
        for b in parameters(case.program)
    ]
    scope[case.program.name](*bound)
    np.testing.assert_array_equal(bound[-1], interpret(case.program, arrays)[case.output])


@given(cases, st.randoms(use_true_random=False))
def test_any_order_and_kind_of_loops_keeps_the_result(case, random):
    """Reductions start before the outermost reduce loop, wherever that stands."""
    nests = []
    for nest in case.program.body:
        loops = chain_of(nest)
        (leaf,) = loops[-1].body
        random.shuffle(loops)
        reducing = leaf.loops if isinstance(leaf, Reduce) else ()
        kinds = ["serial", "unrolled"]
        loops = [
            replace(
                one, kind=random.choice(kinds if one.name in reducing else [*kinds, "parallel"])
            )
            for one in loops
        ]
        if loops[-1].name not in reducing:
            loops[-1] = replace(loops[-1], kind="vector")
        nests.append(rebuilt(loops, (leaf,)))
    program = case.program.with_body(tuple(nests))
    verify(program)
    agree(case, program)
    agree(case, program, "checked")
    parts = program.with_body(decompose(program.body))
    assert not any(isinstance(leaf, Reduce) for leaf in leaves(parts.body))
    agree(case, parts)


SIZE = 13
"""Extent of the buffers of a random program: most random indices are inside."""

indices = st.builds(
    lambda i, j, c: var("s.i") * i + var("s.j") * j + c,
    st.integers(-1, 2),
    st.integers(-1, 2),
    st.integers(2, 6),
)
subscripts = st.one_of(
    indices,
    st.builds(lambda i, n: i // n, indices, st.integers(2, 3)),
    st.builds(lambda i, n: i % n, indices, st.integers(2, 3)),
)


@st.composite
def statements(draw: st.DrawFn):
    """A guarded store into one of two buffers, of a constant or of an element."""
    target = draw(st.sampled_from(["t", "out"]))
    source = draw(st.sampled_from(["x", "t", "out"]))
    value = add(Load(source, (draw(subscripts), draw(subscripts))), Const(1.0))
    if draw(st.booleans()):
        value = Select((draw(indices),), value, Const(2.0))
    store = Store("s", target, (draw(subscripts), draw(subscripts)), value)
    return If((draw(indices),), (store,)) if draw(st.booleans()) else store


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Two nested loops of any kinds around two statements; many of them break a law."""
    kinds = st.sampled_from(["serial", "parallel", "unrolled", "vector"])
    extent = as_index(draw(st.integers(1, 3)))
    body = draw(st.lists(statements(), min_size=1, max_size=2))
    inner = loop("s.j", extent, *body, kind=draw(kinds))
    first = [
        loop(
            f"{b}.i",
            SIZE,
            loop(f"{b}.j", SIZE, Store(b, b, (var(f"{b}.i"), var(f"{b}.j")), Const(0.5))),
        )
        for b in ("t", "out")
    ]
    buffers = (
        Buffer("x", (SIZE, SIZE), "input"),
        Buffer("t", (SIZE, SIZE), "workspace"),
        Buffer("out", (SIZE, SIZE), "output"),
    )
    nest = loop("s.i", draw(st.integers(1, 3)), inner, kind=draw(kinds))
    return Program("random", buffers, (), (*first, nest))


@given(programs(), st.integers(0, 3))
def test_what_verify_accepts_has_no_bad_access_and_no_race(program, seed):
    try:
        verify(program)
    except IRError:
        return
    arrays = integers(program)
    plain = interpret(program, arrays)["out"]
    checked = interpret(program, arrays, "checked", seed=seed)["out"]
    np.testing.assert_array_equal(checked, plain)
