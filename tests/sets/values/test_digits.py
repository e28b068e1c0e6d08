"""Expressions read as mixed-radix digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets.text.parse import parse_aff
from polyvolta.sets.values.aff import total, var
from polyvolta.sets.values.digits import mod_parts

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
