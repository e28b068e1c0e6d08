"""C expressions: what is printed, read by C's rules, is what the expression means."""

import re

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from polyvolta.cuda.text.c_expr import NotPrintable, c_expr, in_steps
from polyvolta.sets import aff, var
from tests.sets.brute import examples

RANGES = {"x": (0, 40), "y": (0, 96), "z": (0, 7)}


@st.composite
def expressions(draw, depth=2):
    """Sums of names and of quotients and remainders of such sums, never negative."""
    e = aff(draw(st.integers(0, 9)))
    for _ in range(draw(st.integers(1, 3))):
        part = var(draw(st.sampled_from("xyz"))) if not depth else draw(expressions(depth - 1))
        kind = draw(st.sampled_from(("plain", "floor", "mod") if depth else ("plain",)))
        den = draw(st.integers(2, 9))
        part = {"plain": part, "floor": part // den, "mod": part % den}[kind]
        e = e + part * draw(st.sampled_from((1, 2, 3, 8)))
    return e


def c_value(text, values):
    """C's integer arithmetic: / truncates, % takes the dividend's sign; * / % from the left."""

    class Int(int):
        __slots__ = ()

        def __add__(self, o):
            return Int(int(self) + int(o))

        def __sub__(self, o):
            return Int(int(self) - int(o))

        def __mul__(self, o):
            return Int(int(self) * int(o))

        def __neg__(self):
            return Int(-int(self))

        def __xor__(self, o):
            return Int(int(self) ^ int(o))

        def __truediv__(self, o):
            q = abs(int(self)) // abs(int(o))
            return Int(q if (self >= 0) == (o >= 0) else -q)

        def __mod__(self, o):
            return Int(int(self) - int(self / o) * int(o))

    code = re.sub(r"\b(\d+)\b", r"Int(\1)", text)
    return int(eval(code, {"Int": Int}, {k: Int(v) for k, v in values.items()}))  # noqa: S307


@examples(200)
@given(expressions(), st.integers(0, 40), st.integers(0, 96), st.integers(0, 7))
def test_the_text_means_the_expression(e, x, y, z):
    values = {"x": x, "y": y, "z": z}
    try:
        text = c_expr(e, RANGES)
    except NotPrintable:  # a remainder of a remainder in normal form may hide that it is not negative
        reject()
    assert c_value(text, values) == e.evaluate(values)


def test_a_multiplied_quotient_stands_in_parentheses():
    assert c_expr(8 * ((var("x") + var("y")) // 4), RANGES) == "8 * ((x + y) / 4)"
    assert c_expr(8 * ((var("x") + var("y")) % 3), RANGES) == "8 * ((x + y) % 3)"


def test_what_may_be_negative_is_not_divided():
    with pytest.raises(NotPrintable, match=r"may be negative(?s:.*)hint: .*xor\(x, 7, 3\)"):
        c_expr((var("x") - var("y")) // 4, RANGES)


@given(st.integers(1, 9), st.integers(2, 8), st.integers(-7, 40), st.integers(0, 7), st.integers(-9, 9))
def test_slots_of_rings_are_remainders_of_what_is_not_negative(strips, stages, c2, c8, more):
    """The loop starts some trips before 0: what is added to a remainder's dividend makes it one of C's."""
    ranges = {"c2": (-7, None), "c8": (0, 7)}
    slot = (var("c2") + (var("c8") + more) // strips) % stages
    for e in (slot, 512 * slot, 3 * slot + var("c8"), (var("c2") + more) % stages):
        try:
            text = c_expr(e, ranges)
        except NotPrintable:
            assert more < 0  # then c8 + more is divided itself
            continue
        assert c_value(text, {"c2": c2, "c8": c8}) == e.evaluate({"c2": c2, "c8": c8}), text


def test_slots_of_rings_are_written_with_what_is_whole_outside_of_quotients():
    ranges = {"c2": (-2, None), "c8": (0, 3)}
    slot = (var("c2") + (var("c8") + 1) // 4) % 3
    assert c_expr(512 * slot, ranges) == "512 * ((c2 + (c8 + 1) / 4 + 3) % 3)"
    assert c_expr((var("c2") + 2) % 3, ranges) == "(c2 + 2) % 3"
    assert c_expr(var("c2") % 3, ranges) == "(c2 + 3) % 3"


@given(st.integers(0, 20), st.integers(0, 7), st.integers(0, 40))
def test_in_steps_agrees_on_multiples(n, z, x):
    e = (4 * var("row") + (var("row") + var("x")) // 2 % 4 + (var("row") + var("z")) // 8) * 3
    steps = in_steps(e, {"row": 16}, RANGES)
    values = {"row": 16 * n, "z": z, "x": x}
    assert steps.evaluate(values) == e.evaluate(values)
