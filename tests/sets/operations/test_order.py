"""The lexicographic order beside Python's of tuples, with parameters and unions, and without dimensions."""

import operator
from itertools import product

import pytest

from polyvolta.sets import Map, Set, SpaceMismatch

ORDERS = {"lex_lt": operator.lt, "lex_le": operator.le, "lex_gt": operator.gt, "lex_ge": operator.ge}


@pytest.mark.parametrize("name", ORDERS)
def test_of_two_sets_with_parameters(name):
    a = Set("[N, M] -> { T[i, j] : 0 <= i < N and 0 <= j < M; U[k] : 0 <= k < M }")
    b = Set("[M] -> { T[i, j] : 0 <= i <= 2 and i <= j <= M; V[i, j] }")
    found = getattr(a, f"{name}_set")(b)
    assert [s.out.name for s, pieces in found.parts if pieces] == ["T"]
    for n, m in product(range(4), range(3)):
        xs = list(product(range(n), range(m)))
        ys = [(i, j) for i in range(3) for j in range(i, m + 1)]
        wanted = {(*x, *y) for x, y in product(xs, ys) if ORDERS[name](x, y)}
        assert set(found.fix(N=n, M=m).points()) == wanted


@pytest.mark.parametrize("name", ORDERS)
def test_of_two_maps_with_parameters(name):
    """S and T run at (i, N) and at (2, j): some image comes before some other one."""
    a, b = Map("[N] -> { S[i] -> [i, N] : 0 <= i < 4 }"), Map("[N] -> { T[j] -> [2, j] : 0 <= j < 4 }")
    found = getattr(a, f"{name}_map")(b)
    for n in range(-1, 5):
        wanted = {(i, j) for i, j in product(range(4), range(4)) if ORDERS[name]((i, n), (2, j))}
        assert set(found.fix(N=n).points()) == wanted


def test_without_dimensions_a_point_is_as_far_as_itself():
    one = Set("[N] -> { A[] : N > 0 }")
    for name in ORDERS:
        found = getattr(one, f"{name}_set")(one)
        assert found.is_empty() == (name in ("lex_lt", "lex_gt"))
        assert found.is_empty() or found.is_equal(Map("[N] -> { A[] -> A[] : N > 0 }"))


def test_what_has_no_order():
    for a, b in ((Set("{ A[i] }"), Set("{ B[i] }")), (Set("{ A[i] }"), Set("{ A[i, j] }"))):
        with pytest.raises(SpaceMismatch, match="two sets of one space"):
            a.lex_lt_set(b)
    with pytest.raises(SpaceMismatch):
        Map("{ A[i] -> [i] }").lex_lt_map(Map("{ A[i] -> B[i] }"))
