"""isl's `lift`: floors as dimensions, checked point by point, and beside islpy's of sets with one way to write them."""

from itertools import product

import pytest

import polyvolta.isl as isl

ONE_WAY = [
    "[N] -> { S[i, j] : 0 <= i < N and exists a: i = 2a }",
    "{ [i] : i mod 3 = 1 }",
    "{ C[i] : i > 3 }",
    "{ S[i, j] : (i + j) mod 4 = 0 and 0 <= j < 5 }",
]
TEXTS = [
    *ONE_WAY,
    "{ [i] : exists a, b: i = 2a + 3b and a > 0 and 0 <= b < 2 }",
    "{ [i] : i mod 3 = 1; [i] : i mod 5 = 2 and i mod 7 < 3 }",
    "{ [i, i1] : floor((i + floor(i1/3))/2) mod 5 >= 2 and i1 mod 3 >= 1 }",
    "{ [i] : exists a, b: 3a <= i and i - 7 <= 2b + a and b > a and 5b < 2i }",
    "{ [i] : i > 3 or i mod 4 = 1 }",
    "{ [i] : i mod 4 <= 1 and i mod 9 <= 3 and i mod 5 >= 2 }",
]


@pytest.mark.parametrize("text", TEXTS)
def test_each_point_is_in_one_pair(text):
    some = isl.Set(text)
    lifted = some.lift()
    assert lifted.space.out.name == "lifted" and isl.Set(str(lifted)).is_equal(lifted)
    pairs = lifted.unwrap()
    assert pairs.domain().is_equal(some) and pairs.is_single_valued() and pairs.range().space.out.name == "local"
    assert not lifted.involves_locals() or not some.lift().lift().is_empty()
    plain = isl.Set(text.replace("[N] -> ", "").replace("N", "7"))
    there = plain.lift().unwrap()
    for point in product(range(-6, 14), repeat=len(plain.dims())):
        assert plain.contains(point) == (not there.intersect_domain(plain.fix(dict(enumerate(point)))).is_empty())


def test_a_floor_that_two_pieces_have_is_one():
    lifted = isl.Set("{ [i] : i mod 4 <= 1 and i mod 9 <= 3; [i] : i mod 9 <= 5 and i > 40 }").lift()
    assert len(lifted.unwrap().range().dims()) == 2


@pytest.mark.parametrize("text", ONE_WAY)
def test_floors_that_can_be_no_others_are_islpys(text):
    islpy = pytest.importorskip("islpy")
    assert islpy.Set(str(isl.Set(text).lift())).is_equal(islpy.Set(text).lift())
    ours = isl.BasicSet(text).lift()
    assert type(ours) is isl.BasicSet and islpy.BasicSet(str(ours)).is_equal(islpy.BasicSet(text).lift())


def test_each_tuple_of_a_union_is_lifted_by_itself():
    islpy = pytest.importorskip("islpy")
    text = "{ A[i] : i mod 3 = 1; B[i, j] : i mod 5 = 2 and j > 0; C[i] }"
    ours = isl.UnionSet(text).lift()
    assert type(ours) is isl.UnionSet and islpy.UnionSet(str(ours)).is_equal(islpy.UnionSet(text).lift())
