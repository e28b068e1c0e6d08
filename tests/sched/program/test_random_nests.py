"""Random loop nests as programs, against what Python does when it runs them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sched.program import instances, nest_from_source
from tests.sched.program.recorder import record
from tests.sched.program.test_nest import table
from tests.sets.brute import examples

PARAMS = ("N", "M")


@st.composite
def affine(draw, names, depth=2):
    """The text of an affine expression."""
    kind = draw(st.integers(0, 9 if depth else 3))
    if kind <= 1:
        return str(draw(st.integers(-3, 4)))
    if kind <= 3:
        return draw(st.sampled_from(names))
    left, right = draw(affine(names, depth - 1)), draw(affine(names, depth - 1))
    match kind:
        case 4:
            return f"({left} + {right})"
        case 5:
            return f"({left} - {right})"
        case 6:
            return f"{draw(st.integers(-2, 3))} * ({left})"
        case 7:
            return f"({left}) // {draw(st.sampled_from((2, 3, -2)))}"
        case 8:
            return f"({left}) % {draw(st.sampled_from((2, 3, -3)))}"
    return f"{draw(st.sampled_from(('min', 'max')))}({left}, {right})"


@st.composite
def condition(draw, names):
    parts = []
    for _ in range(draw(st.integers(1, 2))):
        op = draw(st.sampled_from(("<", "<=", ">", "==", "!=")))
        text = f"{draw(affine(names, 1))} {op} {draw(affine(names, 1))}"
        parts.append(f"not {text}" if draw(st.booleans()) else text)
    return f" {draw(st.sampled_from(('and', 'or')))} ".join(parts)


@st.composite
def block(draw, loops, margin, depth):
    """The lines of some statements; subscripts are moved by 60, so that none is negative."""
    lines = []
    names = (*PARAMS, *loops)
    pad = " " * margin
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.integers(0, 4))
        if kind >= 3 and depth or not loops:
            name = "ijk"[len(loops)]
            start, stop = draw(affine(names, 1)), draw(affine(names, 1))
            if draw(st.booleans()):
                lines.append(f"{pad}for {name} in range({start}, {stop} + 4, {draw(st.integers(1, 3))}):")
            else:
                lines.append(f"{pad}for {name} in range({stop} + 3, {start}, {draw(st.integers(-3, -1))}):")
            lines += draw(block((*loops, name), margin + 1, depth - 1))
        elif kind == 2:
            lines.append(f"{pad}if {draw(condition(names))}:")
            lines += draw(block(loops, margin + 1, 0))
            if draw(st.booleans()):
                lines += [f"{pad}else:", *draw(block(loops, margin + 1, 0))]
        else:
            read = f"B[60 + {draw(affine(names))}]"
            if draw(st.booleans()):
                read = f"({read} if {draw(condition(names))} else B[60 + {draw(affine(names, 1))}])"
            target = draw(st.sampled_from((f"A[60 + {draw(affine(names))}, {names[-1]} + 60]", "s")))
            op = draw(st.sampled_from(("=", "+=")))
            lines.append(f"{pad}{target} {op} {read}")
    return lines


@given(block((), 1, 2))
@examples(60)
def test_a_random_nest_is_what_python_runs(lines):
    text = "\n".join(["def f(A, B, N, M):", " assert N >= 0 and M >= 0", " s = 0.0", *lines])
    try:
        program = nest_from_source(text)
    except NotAffineProgram as error:
        assert "is negative" in error.message  # -3 * (4 - 2 * ...) may go below -60
        return
    for N, M in itertools.product((0, 3, 5), (1, 4)):
        sizes = {"N": N, "M": M}
        given = {p: v for p, v in sizes.items() if p in program.params}
        ran = instances(program.schedule, **given)
        seen = record(text, program, **sizes)
        assert [point for _, point in ran] == [e["point"] for e in seen]
        names = {}
        touched = {s.name: table(s, given) for s in program.statements}
        for event, (s, point) in zip(seen, ran, strict=True):
            assert names.setdefault(s, event["statement"]) == event["statement"]
            assert touched[s][0].get(point, set()) == event["reads"]
            assert touched[s][1].get(point, set()) == set(event["writes"])
        assert len(set(names.values())) == len(names)
