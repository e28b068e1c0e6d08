"""What integers leave of rows with multiples in them: no point is lost, and rationals that are none are."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.steps import beyond_remainders, of_multiples

WIDE = 6  # from -WIDE to WIDE all columns are looked at


def system(rows, mods=()):
    """A system over columns 1, 2 and 3."""
    out = System()
    for *coefficients, const in rows:
        out.ge(tuple((c, v) for c, v in enumerate(coefficients, 1) if v), const)
    for *coefficients, const, d in mods:
        out.mod(tuple((c, v) for c, v in enumerate(coefficients, 1) if v), const, d)
    return out


def points(s):
    """The integers near 0 at which a system holds."""
    if s.empty:
        return set()
    value = lambda key, at: sum(v * at[c - 1] for c, v in key)  # noqa: E731
    return {
        at
        for at in product(range(-WIDE, WIDE + 1), repeat=3)
        if all(value(key, at) + const >= 0 for key, const in s.every_ge())
        and all((value(key, at) + const) % d == 0 for key, const, d in s.mods)
    }


BOX = [(0, 0, 1, 0), (0, 0, -1, 2)]  # 0 <= z <= 2


def test_a_multiple_is_at_least_what_numbers_leave_it():
    """3*(x - y) + z >= 0, where z is 2 at most: x >= y."""
    found = of_multiples(system([(3, -3, 1, 0), *BOX]))
    assert found.ineqs[(1, 1), (2, -1)] == 0


def test_no_more_is_said_of_what_is_exact():
    for rows in ([(3, -3, 1, 1), *BOX], [(3, -3, 1, 0)], [(2, 1, 0, 0), *BOX]):
        s = system(rows)
        assert of_multiples(s) is s


def test_what_has_a_remainder_is_no_less_than_it():
    """x >= 0 and x = z mod 4, where z is from 0 to 2: z <= x, in whatever way the congruence says it."""
    for mod in ((1, 0, -1, 0, 4), (3, 0, 1, 0, 4), (-1, 4, 1, 4, 4)):
        found = beyond_remainders(system([(1, 0, 0, 0), *BOX], [mod]))
        assert found.ineqs[(1, 1), (3, -1)] == 0


def test_what_is_no_remainder_says_nothing():
    for rows, mods in (([(1, 0, 0, 0), *BOX], [(1, 1, -1, 0, 4)]), ([(1, 0, 0, 0), *BOX], [(1, 0, -1, 0, 2)])):
        s = system(rows, mods)
        assert beyond_remainders(s) is s


COEFFICIENT = st.integers(-4, 4)
ROW = st.tuples(COEFFICIENT, COEFFICIENT, COEFFICIENT, st.integers(-5, 5))


@pytest.mark.parametrize("say", [of_multiples, beyond_remainders])
@given(
    rows=st.lists(ROW, min_size=1, max_size=3),
    mods=st.lists(st.tuples(COEFFICIENT, COEFFICIENT, COEFFICIENT, st.integers(-3, 3), st.integers(2, 5)), max_size=2),
    ends=st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=3, max_size=3),
)
def test_no_point_is_lost_or_won(say, rows, mods, ends):
    s = system(rows, mods)
    for c, (low, more) in enumerate(ends, 1):
        s.ge(((c, 1),), -low)
        s.ge(((c, -1),), low + more)
    assert points(say(s)) == points(s)
