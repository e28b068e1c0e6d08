"""Expressions read as mixed-radix digits."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets.text.parse import parse_aff
from polyvolta.sets.values.aff import total, var
from polyvolta.sets.values.digits import congruence, mod_parts, vanishing

from ..brute import examples


def shown(text):
    """The remainders as (coefficient, number, radix), and the rest."""
    parts = mod_parts(parse_aff(text))
    rest = total(rest for _, _, den, rest in parts if den is None)
    return {(c, str(num), den) for c, num, den, _ in parts if den is not None}, str(rest)


@pytest.mark.parametrize(
    ("text", "remainders", "rest"),
    [
        ("i mod 8", {(1, "i", 8)}, "0"),
        ("8*floor(i/8) - 12*floor(i/16)", {(8, "floor(i/8)", 2)}, "4*floor(i/16)"),
        ("i - 4*floor(i/4) + 2*floor(i/4)", {(1, "i", 4)}, "2*floor(i/4)"),
        ("(i + j) mod 4 + 3", {(1, "i + j", 4)}, "3"),
        ("i + 4*floor(i/4)", set(), "i + 4*floor(i/4)"),  # as short as it was
        ("floor(i/4)", set(), "floor(i/4)"),
        ("7", set(), "7"),
    ],
)
def test_reading(text, remainders, rest):
    assert shown(text) == (remainders, rest)


@examples(300)
@given(
    st.lists(st.tuples(st.sampled_from((1, 2, 4, 3, 12)), st.integers(-9, 9)), min_size=1, max_size=4),
    st.integers(-3, 3),
)
def test_the_parts_are_the_expression(terms, const):
    i = var("i")
    e = total(i // d * c for d, c in terms) + const
    again = total(rest if den is None else num % den * c for c, num, den, rest in mod_parts(e))
    values = np.arange(-60, 60)
    assert np.array_equal(again.evaluate({"i": values}) + 0 * values, e.evaluate({"i": values}) + 0 * values)


def test_multiples_of_congruences_say_the_same():
    """Equalities of a remainder and a number, of either sign, where both are looked up."""
    rng, i, j, shorter = random.Random(1), var("i"), var("j"), 0
    x, y = np.arange(-12, 13)[:, None], np.arange(-12, 13)[None, :]
    for _ in range(400):
        d, a, b, c = rng.choice([2, 3, 4, 5, 6, 7, 8, 9, 12]), *(rng.randint(-9, 9) for _ in range(3))
        wanted = rng.randint(0, d - 1)
        e = ((a * i + b * j + c) % d - wanted) * rng.choice([-1, 1])
        said = congruence(e)
        assert np.array_equal(
            np.broadcast_to(said.evaluate({"i": x, "j": y}) == 0, (25, 25)), (a * x + b * y + c) % d == wanted
        ), (str(e), str(said))
        shorter += len(str(said)) < len(str(e))
    assert shorter > 100


def test_remainders_that_vanish():
    """What is said to is no remainder that is at most another number, nor the opposite of one."""
    i, j = var("i"), var("j")
    for a, b, c, d in product((1, -2, 3), (1, -2), (0, 2), (5, 7)):
        remainder = (a * i + b * j + c) % d
        assert vanishing(-remainder) and vanishing(remainder * -3)
        assert not vanishing(remainder) and not vanishing(1 - remainder) and not vanishing(-remainder - i // 5)


@pytest.mark.parametrize(
    ("text", "remainders", "rest"),
    [
        ("i - 2*floor(i/2) + 6*floor(i/2) - 24*floor(i/8)", {(1, "i", 2), (6, "floor(i/2)", 4)}, "0"),
        ("i - 16*floor(i/16)", {(1, "i", 16)}, "0"),
        ("i + j - 4*floor(i/4) - 6*floor(j/6)", {(1, "i", 4), (1, "j", 6)}, "0"),
        ("-i + 4*floor(i/4) + 8*floor(i/12)", {(-1, "i", 4)}, "8*floor(i/12)"),
        ("5*i + 2*j - 10*floor((i + j)/5)", {(2, "i + j", 5)}, "3*i"),
        ("i - 4*floor(i/4) + 3*floor(i/6)", {(1, "i", 4)}, "3*floor(i/6)"),
    ],
)
def test_chains_of_several(text, remainders, rest):
    assert shown(text) == (remainders, rest)
