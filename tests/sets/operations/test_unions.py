"""What operations say of several tuples, pieces, floors and columns, of which one alone is another."""

import operator

import pytest

from polyvolta.sets import Map, Set, SpaceMismatch, budget
from polyvolta.sets.operations.bounds import with_row
from polyvolta.sets.values.aff import Aff, var


@pytest.mark.parametrize(("text", "yes"), [
    ("{ [i] -> [i] }", True), ("{ [i] -> [i + 1] }", False), ("{ [i] -> [-i] : i = 0 }", True),
    ("{ [i] -> [i] : i > 0; [i] -> [i + 1] : i < 0 }", False), ("{ A[i] -> B[i] }", False),
    ("{ A[i] -> A[i]; A[i] -> B[i] : 1 = 0 }", True), ("{ A[i] -> A[i]; B[i] -> B[2i] }", False),
])  # fmt: skip
def test_identities(text, yes):
    assert Map(text).is_identity() == yes


@pytest.mark.parametrize(("text", "yes"), [
    ("{ A[i] -> [i]; B[i] -> [2i] }", True), ("{ A[i] -> [i]; B[i] -> [j] : j > i }", False),
    ("{ A[i] -> [j] : j > i; B[i] -> [i] }", False), ("{ [i] -> [i] : i > 0; [i] -> [1] : i < 2 }", True),
    ("{ [i] -> [i] : i > 0; [i] -> [1] : i < 3 }", False), ("{ A[i] -> [i]; A[i] -> B[i] }", False),
])  # fmt: skip
def test_single_values(text, yes):
    assert Map(text).is_single_valued() == Map(text).reverse().is_injective() == yes


def test_wrapped_values():
    pair, plain = "A[i] -> [B[j] -> C[k]]", "A[i] -> C[k]"
    assert Map(f"{{ {pair}; B[i] -> [B[j] -> C[k]] }}").range_is_wrapping() and Map("{ }").range_is_wrapping()
    assert not Map(f"{{ {pair}; {plain} }}").range_is_wrapping()
    assert Map(f"{{ {pair}; {plain} }}").reverse().domain_is_wrapping() is False


def test_what_mentions_a_dimension_in_a_floor_goes():
    for row in ("(i + 2*floor(i/5) + j) mod 3 <= 1", "(j + 2*floor(i/5)) mod 3 <= 1", "floor(i/5) mod 2 = 0"):
        left = Set(f"{{ [i, j] : j > 0 and {row} and j mod 4 <= 2 }}").drop_constraints_involving("i")
        assert left.is_equal(Set("{ [i, j] : j > 0 and j mod 4 <= 2 }")), row
    equal = Set("{ [i, j, k] : 3i = k + 1 and 3i + j >= 0 and 0 <= k <= 9 }")
    assert equal.drop_constraints_involving("i").is_equal(Set("{ [i, j, k] : k + j + 1 >= 0 and 2 <= k <= 8 }"))


def test_rows_that_always_or_never_hold():
    s = Set("{ [i] : 0 <= i <= 3; [i] : 7 <= i }")
    assert with_row(s, "ge", Aff((), -1)).is_empty() and with_row(s, "ge", Aff((), 0)).is_equal(s)
    assert with_row(s, "eq", 2 * var("i") - 1).is_empty() and with_row(s, "eq", var("i") - 7).points() is not None


def test_supersets():
    a, b = Set("{ [i] : i > 0 }"), Set("{ [i] : i > 1 }")
    assert a > b and not b > a and not a > a and a >= b and a >= a and not b >= a  # noqa: PLR0124
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises((SpaceMismatch, TypeError)):
            compare(a, Map("{ [i] -> [i] }"))


def test_many_columns():
    """Two of nine columns, whose positions as a set are not in order."""
    names = "abcdefghi"
    s = Set(f"{{ [{', '.join(names)}] : b = 2a + 1 and 0 <= i <= h <= 5 and c = d = e = f = g = 3a }}")
    left = s.project_out("b", "i")
    assert left.is_equal(Set("{ [a, c, d, e, f, g, h] : 0 <= h <= 5 and c = d = e = f = g = 3a }"))
    assert left.space.dims == tuple("acdefgh")


def test_pieces_that_lie_apart_take_no_step():
    mine = {(7 * k % 101, 13 * k % 97) for k in range(40)}
    other = {(x + 7, y + 13) for x, y in mine}
    one, two = (Set("{ " + "; ".join(f"[{x}, {y}]" for x, y in sorted(points)) + " }") for points in (mine, other))
    with budget(400):  # 1600 pairs
        left, both = one - two, one & two
    assert set(left.points()) == mine - other and set(both.points()) == mine & other
