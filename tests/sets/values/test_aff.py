"""Quasi-affine expressions: the normal form of floors, and values at points."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import Aff, NotAffine, aff, var, xor
from polyvolta.sets.text.expressions import parse_aff
from polyvolta.sets.values.aff import linear, order_of
from tests.sets.brute import examples, expressions

i, j = var("i"), var("j")
EXPRESSIONS = expressions(("i", "j"), 3)
NUMBERS = st.integers(-200, 200)


@given(EXPRESSIONS, NUMBERS, NUMBERS)
@examples(150)
def test_values(e, x, y):
    parsed = parse_aff(e.isl)
    assert parsed.evaluate({"i": x, "j": y}) == e.value({"i": x, "j": y})
    assert parse_aff(str(parsed)) == parsed
    xs, ys = np.arange(x, x + 5), np.arange(y, y - 5, -1)
    assert (parsed.evaluate({"i": xs, "j": ys}) == [parsed.evaluate({"i": a, "j": b}) for a, b in zip(xs, ys)]).all()


@given(EXPRESSIONS, EXPRESSIONS, st.integers(-9, 9), st.integers(1, 12), NUMBERS, NUMBERS)
@examples(100)
def test_arithmetic(e, f, c, d, x, y):
    a, b, at = parse_aff(e.isl), parse_aff(f.isl), {"i": x, "j": y}
    u, v = a.evaluate(at), b.evaluate(at)
    assert (a + b).evaluate(at) == u + v and (a - b).evaluate(at) == u - v
    assert (c * a + c).evaluate(at) == c * u + c and (c - a).evaluate(at) == c - u
    assert (a // d).evaluate(at) == u // d and (a % d).evaluate(at) == u % d
    assert a + b == b + a and a - a == aff(0) and hash(a + b) == hash(b + a)
    assert a.subs({"i": b, "j": 3}).evaluate(at) == a.evaluate({"i": v, "j": 3})


def test_two_terms_stand_in_the_order_of_their_keys():
    atoms = [
        "i",
        "j",
        "i10",
        "i2",
        *[a for e in (i // 4, j // 4, i // 16, (i + 1) // 4, (i + j) // 2, xor(i, j, 3)) for a, _ in e.terms],
    ]
    for a, b in permutations(atoms, 2):
        terms = linear({a: 2, b: -1}, 0).terms
        assert terms == tuple(sorted(terms, key=lambda t: order_of(t[0])))


@given(EXPRESSIONS, st.integers(1, 6), st.integers(1, 6))
@examples(60)
def test_floors_of_floors_flatten(e, c, d):
    a = parse_aff(e.isl)
    assert (a // c // d).evaluate({"i": 77, "j": -5}) == a.evaluate({"i": 77, "j": -5}) // (c * d)
    assert (a + d * var("k")) // d == a // d + var("k")


@given(st.integers(0, 4), NUMBERS, NUMBERS)
@examples(60)
def test_exclusive_or(bits, x, y):
    e = xor(i % 2**bits, j // 3 % 2**bits, bits) * 5 + 1
    at = {"i": x, "j": y}
    assert e.evaluate(at) == 5 * ((x % 2**bits) ^ (y // 3 % 2**bits)) + 1
    assert e.without_xor().evaluate(at) == e.evaluate(at)
    assert e.subs({"j": x}).evaluate(at) == e.evaluate({"i": x, "j": x})


def test_what_a_textbook_prints():
    assert str((i - 128 * (i // 128)) // 64) == "floor(i/64) mod 2"
    assert str((8 * i) % 32) == "8*(i mod 4)"
    assert str((2 * i + 1) // 4) == "floor(i/2)" and str(i // 4 // 8) == "floor(i/32)"
    assert str((i - 128 * j) // 64) == "floor(i/64) - 2*j" or str((i - 128 * j) // 64) == "-2*j + floor(i/64)"
    assert str(32 * i + j + 7 - 2 * j) == "32*i - j + 7"
    assert str(5 - i) == "5 - i" and str(-i) == "-i" and str(aff(0)) == "0"
    assert str(xor(i % 4, j, 2)) in ("(j ^ i mod 4)", "(j ^ (i mod 4))", "(i mod 4 ^ j)")
    assert str(var("i10") + var("i2")) == "i2 + i10"
    assert (i // 4)._repr_html_() == "<code>floor(i/4)</code>"


def test_what_is_not_affine():
    with pytest.raises(NotAffine, match="a divisor must be a positive number, not 0"):
        i // 0
    assert xor(5, 3, 3) == aff(6) and xor(i, 0, 3) == i
    assert (i + j // 2).names() == {"i", "j"} and (3 * i).coefficient("i") == 3 and aff(7).is_constant


@pytest.mark.parametrize(
    ("terms", "hint"), [("i + 1", r"aff\('i \+ 1'\) reads it"), (3, r"aff\(3\)"), ([("i", 1)], "")]
)
def test_an_expression_is_made_from_terms(terms, hint):
    with pytest.raises(NotAffine, match=rf"from a tuple of terms, not from(.|\n)*{hint}"):
        Aff(terms)
    assert Aff((("i", 1),), 1) == aff("i + 1")


def test_texts_are_expressions_and_names_are_names():
    assert aff("2i + floor((j - 1)/4)") == 2 * i + (j - 1) // 4 and aff("i") == i
    assert i.subs({"i": "j + 1"}) == j + 1
    for name in ("i'", "S.i", "c@", "mod"):
        assert var(name).names() == {name} and aff(name) == var(name)


def test_shared_floors_are_walked_once():
    """Forty remainders of one another: as a tree they have 2**40 leaves."""
    e, x = var("i"), 7
    for k in range(40):
        e, x = (e * 3 + 1) % (k + 5) + e, (x * 3 + 1) % (k + 5) + x
    assert e.names() == {"i"} and e.evaluate({"i": 7}) == x
