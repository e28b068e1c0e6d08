"""Bounds-aware simplification: what a programmer expects, and random expressions at every point of their ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import (
    BudgetExceeded,
    Map,
    NotAffine,
    Set,
    SetSyntaxError,
    SpaceMismatch,
    UnknownName,
    aff,
    budget,
    var,
    xor,
)
from polyvolta.sets.text.parse import parse_aff
from polyvolta.sets.values.simplify import simplify, weight

from ..brute import examples

LANE = {"t": (0, 31)}
TILED = {"l": (0, 63), "w": (0, 1)}


@pytest.mark.parametrize(
    ("text", "ranges", "expected"),
    [
        ("floor((32*floor(t/4) + 8*(t mod 4))/32)", LANE, "floor(t/4)"),
        ("(8*(t mod 4) + floor(t/4)) mod 8", LANE, "floor(t/4)"),
        ("floor((8*(t mod 4) + floor(t/4))/8)", LANE, "t mod 4"),
        ("floor((i + 128b)/128)", {"i": (0, 127)}, "b"),
        ("(i + 128b) mod 128", {"i": (0, 127)}, "i"),
        ("(64w + l) mod 64", {"l": (0, 63)}, "l"),
        ("floor((t mod 32)/4)", {}, "floor(t/4) mod 8"),
        ("floor((t mod 32)/4)", LANE, "floor(t/4)"),
        ("(i mod 128) mod 32", {}, "i mod 32"),
        ("floor((128b + 64w + l)/64) mod 2", TILED, "w"),
        ("128*floor((128b + 64w + l)/128) + (128b + 64w + l) mod 128", TILED, "128*b + l + 64*w"),
        ("(t mod 4) + 4*(floor(t/4) mod 2) + 8*floor(t/8)", LANE, "t"),
        ("floor((12*floor(i/12) + i mod 12)/12)", {"i": (0, 95)}, "floor(i/12)"),  # no power of two
        ("i mod 8", {"i": (-8, -1)}, "i + 8"),
        ("floor(i/8)", {"i": (-16, -9)}, "-2"),
        ("floor((16N + i)/16)", {"N": (1, None), "i": (0, 15)}, "N"),
        ("floor((N + 5)/N4)".replace("N4", "4") + " - floor((N + 1)/4)", {"N": (1, None)}, "1"),
        ("floor((i + 8j)/4)", {"i": (3, 3)}, "2*j"),
    ],
)
def test_what_a_programmer_expects(text, ranges, expected):
    assert str(simplify(text, ranges)) == expected


def test_the_ranges_follow_from_a_set():
    assert str(simplify("floor((i + 128b)/128)", Set("[N] -> { [b, i] : 0 <= b < N and 0 <= i < 128 }"))) == "b"
    assert str(simplify("floor(t/4) mod 8", Set("{ [t] : 0 <= t < 16; [t] : 16 <= t < 32 }"))) == "floor(t/4)"
    assert str(simplify("i mod 8", Set("{ [i] : i mod 8 = 3 and 16 <= i < 24 }"))) == "3"
    assert str(simplify("floor((2i + N)/2)", Set("[N] -> { [i] : 0 <= N <= 1 and i >= N }"))) == "i"
    assert str(simplify("i mod 8", Set("{ [i] : i > 3 and i < 2 }"))) == "i mod 8"
    with pytest.raises(SpaceMismatch):
        simplify("i", Set("{ A[i]; B[i] }"))
    with pytest.raises(SetSyntaxError):
        simplify("i +", {})


def test_exclusive_ors():
    e = xor(var("c"), (var("r") + 8 * var("b")) % 8, 3)
    assert str(simplify(e, {"r": (0, 7), "c": (0, 7)})) == "(c ^ r)"
    assert str(simplify(e, {"r": (0, 0), "b": (2, 2)})) == "c"


@st.composite
def nested(draw, depth=3):
    """The text of an expression of nested floors and remainders."""
    terms = []
    for _ in range(draw(st.integers(1, 3))):
        c = draw(st.sampled_from((1, 1, 2, 4, 8, -1, 3, -4)))
        kind = draw(st.integers(0, 3)) if depth else 0
        inner = draw(st.sampled_from(("i", "j", "N"))) if kind < 2 else draw(nested(depth - 1))
        d = draw(st.sampled_from((2, 4, 8, 3, 6, 12)))
        terms.append(
            f"{c}*" + {0: inner, 1: f"({inner} mod {d})", 2: f"floor(({inner})/{d})", 3: f"(({inner}) mod {d})"}[kind]
        )
    const = draw(st.sampled_from((0, 0, 1, 3, -2, 8)))
    return " + ".join(terms) + (f" + {const}" if const else "")


RANGES = st.sampled_from(((0, 3), (0, 7), (0, 11), (-4, 3), (-5, -1), (2, 9), (5, 5)))


@examples(500)
@given(nested(), RANGES, RANGES, st.integers(-2, 3))
def test_random_expressions(text, i, j, least):
    e = parse_aff(text)
    found = simplify(e, {"i": i, "j": j, "N": (least, None)})
    assert weight(found) <= weight(e)
    ns = [*range(least, least + 5), least + 29]
    x, y, n = np.meshgrid(np.arange(i[0], i[1] + 1), np.arange(j[0], j[1] + 1), np.array(ns), indexing="ij")
    python = text.replace("floor", "").replace("/", "//").replace("mod", "%")
    truth = eval(python, {"i": x, "j": y, "N": n}) + 0 * x  # noqa: S307
    assert np.array_equal(found.evaluate({"i": x, "j": y, "N": n}) + 0 * x, truth)


def test_remainders_inside_remainders_are_long_and_end():
    text = "x"
    for k in range(18):
        text = f"((3*({text}) + 1) mod {7 + k})"
    with pytest.raises(BudgetExceeded, match="simplify of a text"), budget(20_000):
        simplify(text, {"x": (0, 100)})


@pytest.mark.parametrize(
    ("e", "ranges", "error", "message"),
    [
        ("i", {"i": 3}, SpaceMismatch, "a pair of integers, not 3"),
        ("i", {"i": (3,)}, SpaceMismatch, "a pair of integers"),
        ("i", {"i": (0, 1.5)}, SpaceMismatch, "a pair of integers"),
        ("i", {"i": (5, 1)}, SpaceMismatch, "is empty"),
        (None, {}, NotAffine, "an Aff or a text, not None"),
        (1.5, {}, NotAffine, "an Aff or a text, not a float"),
        ("lane mod 4", {"lnae": (0, 3)}, UnknownName, "did you mean 'lane'"),
        ("i", Map("{ [i] -> [i] }"), SpaceMismatch, "needs a Set, not a Map"),
        ("i", 3, SpaceMismatch, "needs a Set, not an int"),
    ],
)
def test_misuse(e, ranges, error, message):
    with pytest.raises(error, match=message):
        simplify(e, ranges)


def test_a_number_is_simple():
    assert simplify(3, {}) == simplify("3", {"i": (0, 1)}) == aff(3)
