"""`==` is what isl's is: whether two values have the same points, or values. The answers are typed by hand."""

import pytest

from polyvolta import isl

SAME = [
    (isl.Set, "{ [i] : 0 <= i < 10 or 10 <= i < 20 }", "{ [i] : 0 <= i < 20 }", True),
    (isl.Set, "{ [i] : 0 <= i < 10 or 10 < i < 20 }", "{ [i] : 0 <= i < 20 }", False),
    (isl.Set, "[n] -> { [i] : i > 0 }", "{ [k] : k >= 1 }", True),
    (isl.Set, "[n] -> { [i] : i > n }", "{ [i] : i > 0 }", False),
    (isl.Set, "{ [i] : exists a : i = 2a }", "{ [i] : i mod 2 = 0 }", True),
    (isl.Set, "{ A[i] : i >= 0 }", "{ B[i] : i >= 0 }", False),
    (isl.Set, "{ [i] }", "{ [i, j] }", False),
    (isl.UnionSet, "{ A[i] : i > 0 or i <= 0; B[i] : 0 < i < 1 }", "{ A[i] }", True),
    (isl.Map, "{ [i] -> [j] : j = i + 1 }", "{ [i] -> [i + 1] }", True),
    (isl.UnionMap, "{ A[i] -> [i] : i > 0; A[i] -> [i] : i <= 0; B[] -> [] }", "{ B[] -> []; A[i] -> [i] }", True),
    (isl.UnionMap, "{ A[i] -> [i]; B[] -> [] }", "{ A[i] -> [i] }", False),
    (isl.PwAff, "{ [i] -> [i] : i > 0; [i] -> [i] : i <= 0 }", "{ [i] -> [i] }", True),
    (isl.PwAff, "{ [i] -> [i] : i > 0 }", "{ [i] -> [i] }", False),
    (isl.Aff, "[n, m] -> { [i] -> [i + n] }", "[m, n] -> { [i] -> [n + i] }", True),
    (isl.PwMultiAff, "{ [i] -> [i, 2i] : i > 0; [i] -> [i, i + i] : i <= 0 }", "{ [i] -> [i, 2i] }", True),
    (isl.PwMultiAff, "{ [i] -> [i, 2i] }", "{ A[i] -> [i, 2i] }", False),
]


@pytest.mark.parametrize(("kind", "one", "other", "same"), SAME)
def test_equal_values_are_equal(kind, one, other, same):
    a, b = kind(one), kind(other)
    assert (a == b) is same and (b == a) is same and (a != b) is not same


def test_loops_that_wait_for_an_equal_value_end():
    reach, step = isl.Set("{ [0] }"), isl.Map("{ [i] -> [(i + 1) mod 6] }")
    turns = 0
    while turns < 9:
        more = reach | reach.apply(step)
        if more == reach:
            break
        reach, turns = more, turns + 1
    assert turns == 5 and reach == isl.Set("{ [i] : 0 <= i < 6 }")


def test_of_other_classes_and_in_dicts():
    s = isl.Set("{ [i] : i > 0 }")
    assert s != 3 and s != isl.Map("{ [i] -> [i] }") and s is not None
    assert {s: 1}[isl.Set("{ [i] : i >= 1 }")] == 1 and s in [isl.Set("{ [i] : i = 1 or i > 1 }")]
    assert s.plain_is_equal(isl.Set("{ [i] : 1 <= i }"))
    assert not isl.Set("{ [i] : i = 1 or i > 1 }").plain_is_equal(s) and not s.written_as(isl.Set("{ [i] : i > 2 }"))
