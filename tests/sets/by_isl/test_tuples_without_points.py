"""A tuple of a union that has lost its points is in it no more, where a method says what tuples there are."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

SETS = [
    ("{A[i]:i>0; B[i]:i>3}", "{A[i]}"),
    ("{A[i]:i>0}", "{A[i]}"),
    ("{A[i]:i>0}", "{A[i]: i>1}"),
    ("[n] -> {A[i]: 0<i<n; B[]}", "[n] -> {B[]: n>=0; B[]: n<0}"),
    ("{A[i]: 0<2i<3; B[i]: i>3}", "{A[i]: i=1}"),
    ("{A[i]: 2i=1; B[i]: i>3}", "{C[]}"),
]


@pytest.mark.parametrize(("text", "other"), SETS)
def test_tuples_of_a_set_beside_islpy(text, other):
    mine, theirs = (lib.UnionSet(text).subtract(lib.UnionSet(other)) for lib in (ours, isl))
    assert isl.UnionSet(str(mine.universe())).is_equal(theirs.universe())
    assert isl.UnionMap(str(mine.identity().universe())).is_equal(theirs.identity().universe())
    assert mine.isa_set() == theirs.isa_set()
    assert mine.universe().get_space().dim(ours.dim_type.param) == theirs.get_space().dim(isl.dim_type.param)


@pytest.mark.parametrize("within", ["{A[i]:i<0}", "{A[i]}", "{B[i]}", "{A[i]:i=1; B[i]: i=2}"])
def test_tuples_of_a_relation_beside_islpy(within):
    text = "{A[i]->B[i]:i>0; B[i]->B[i]: i>3}"
    mine, theirs = (lib.UnionMap(text).intersect_domain(lib.UnionSet(within)) for lib in (ours, isl))
    for f in (lambda m: m, lambda m: m.reverse()):
        assert isl.UnionMap(str(f(mine).universe())).is_equal(f(theirs).universe())
        assert f(mine).isa_map() == f(theirs).isa_map()
    assert mine.range().isa_set() == theirs.range().isa_set()
    assert mine.isa_pw_multi_aff() == isl.UnionPwMultiAff(str(theirs)).isa_pw_multi_aff()


def test_a_set_of_one_tuple_stays_in_its_space():
    s = ours.Set("{A[i]:i>0}").intersect(ours.Set("{A[i]:i<0}"))
    assert ours.Set.universe(s.get_space()) == ours.Set("{ A[i] }")
    assert ours.Map.universe(s.identity().get_space()).is_equal(ours.Map("{ A[i] -> A[j] }"))
    assert s.to_union_set().universe() == ours.UnionSet("{ }")
