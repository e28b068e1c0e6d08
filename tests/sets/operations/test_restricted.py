"""Restrictions and reversals that are composed before anyone asks for their parts, compared with lists of pairs.

Their pieces stay beside one another until then, with floors in none of them, in one, or in several.
"""

from itertools import product

import pytest

from polyvolta.sets import BudgetExceeded, Map, Set, budget

LINE = range(-4, 9)
TILE = Map("{ A[i] -> B[floor(i/3), i mod 3] : -4 <= i <= 8 }"), lambda i: {(i // 3, i % 3)}
SHIFT = Map("[N] -> { A[i] -> B[i + N, j] : 0 <= j < 2 and -4 <= i <= 8 }"), lambda i: {(i + 2, 0), (i + 2, 1)}
SETS = {
    "plain": (Set("[N] -> { A[i] : i < N + 3 }"), lambda i: i < 5),
    "floor": (Set("{ A[i] : i mod 2 = 1 }"), lambda i: i % 2 == 1),
    "none": (Set("{ A[i] : i > 20 }"), lambda i: False),
}
LASTS = {
    "plain": (Map("[M, N] -> { A[i] -> C[i - N] : M = 3 }"), lambda i: {i - 2}),
    "floor": (Map("{ A[i] -> C[floor(i/2)] }"), lambda i: {i // 2}),
    "many": (Map("{ A[i] -> C[k] : i <= 2k <= i + 3 }"), lambda i: {k for k in range(-9, 9) if i <= 2 * k <= i + 3}),
}


def listed(m, sides):
    """The pairs of a map, where N is 2 and M is 3."""
    n = [len(m.space.inp.dims), len(m.space.out.dims)]
    assert n == sides
    values = {name: value for name, value in (("N", 2), ("M", 3)) if name in m.param_names}
    return {(p[: n[0]], p[n[0] :]) for p in map(tuple, m.wrap().points(**values))}


@pytest.mark.parametrize("first", [TILE, SHIFT], ids=["tile", "shift"])
@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("last", LASTS)
def test_images_of_what_is_restricted_and_reversed(first, where, last):
    """y -> z for the pairs x -> y and x -> z with x in a set."""
    (m, image), (s, inside), (n, further) = first, SETS[where], LASTS[last]
    expected = {(y, (z,)) for x in LINE if inside(x) for y in image(x) for z in further(x)}
    assert listed(m.intersect_domain(s).reverse().apply_range(n), [2, 1]) == expected
    assert listed(n.reverse().apply_range(m.intersect_domain(s)).reverse(), [2, 1]) == expected
    asked = m.intersect_domain(s)
    assert asked.parts is not None  # its parts, asked for first
    assert listed(asked.reverse().apply_range(n), [2, 1]) == expected


@pytest.mark.parametrize("where, other", list(product(SETS, SETS)))
def test_restricted_on_both_sides_and_turned_around(where, other):
    """Every order of restrictions and reversals has the pairs that are in both sets."""
    (s, inside), (t, also) = SETS[where], SETS[other]
    move = Map("{ A[i] -> A[k] : k = 2i - 1 and -4 <= i <= 8 }")
    expected = {((x,), (2 * x - 1,)) for x in LINE if inside(x) and also(2 * x - 1)}
    identity = Map("{ A[i] -> A[i] }")
    for made in (
        move.intersect_domain(s).intersect_range(t),
        move.intersect_range(t).intersect_domain(s),
        move.reverse().intersect_range(s).intersect_domain(t).reverse(),
        move.intersect_domain(s).reverse().intersect_domain(t).reverse(),
    ):
        assert listed(made.apply_range(identity), [1, 1]) == expected
        assert listed(made, [1, 1]) == expected
        assert listed(Set("[N] -> { A[i] : i < N }").identity().apply_range(made), [1, 1]) == {
            pair for pair in expected if pair[0] < (2,)
        }


def test_what_lies_beside_has_its_size_in_errors():
    """An operation that gives up counts the rows of what is not written down."""
    m = Map("{ A[i] -> B[i + 1] : 0 <= i <= 9 }").intersect_domain(Set("{ A[i] : i mod 2 = 1 }"))
    last = Map("{ B[j] -> C[k] : 3k <= 2j <= 7k }")
    with budget(0), pytest.raises(BudgetExceeded, match=r"of 1 piece \(4 rows, 3 columns\) and 1 piece"):
        m.apply_range(last)
