"""The spaces of unions are of the parameters, those of tuples of functions of the values, as islpy's."""

import pytest

import polyvolta.isl as ours

TREE = '{ domain: "[N] -> { S[i] : 0 <= i < N }", child: { schedule: "L[{ S[i] -> [(i)] }]" } }'
STATEMENTS = '{ domain: "{ S[i] : 0 <= i < 4; T[] }", child: { schedule: "L[{ S[i] -> [(i)]; T[] -> [(7)] }]" } }'
BOTH = "[N] -> Q[{ A[i] -> [(i)]; B[i, j] -> [(N)] }]"


def of_list(m):
    return m.Set("{ Q[a] }").get_space().multi_union_pw_aff(m.UnionPwAffList.from_union_pw_aff(value(m)))


def value(m):
    return m.UnionPwAff("[N] -> { A[i] -> [(i)] }")


def inside(m):
    return m.Schedule(TREE).get_root().child(0).child(0)


SPACES = {
    "a map": (lambda m: m.UnionMap("[N] -> { A[i] -> B[i] }"), "[N] -> { [] }"),
    "maps": (lambda m: m.UnionMap("[N] -> { A[i] -> B[i]; C[i] -> D[i] : i < N }"), "[N] -> { [] }"),
    "a function": (lambda m: m.UnionPwMultiAff("[N] -> { A[i] -> L[(i)] }"), "[N] -> { [] }"),
    "a value": (value, "[N] -> { [] }"),
    "values": (lambda m: m.MultiUnionPwAff(BOTH), "[N] -> { Q[_] }"),
    "a sum": (lambda m: m.MultiUnionPwAff(BOTH).add(m.MultiUnionPwAff(BOTH)), "[N] -> { Q[_] }"),
    "a member": (lambda m: m.MultiUnionPwAff(BOTH).get_union_pw_aff(0), "[N] -> { [] }"),
    "of a map": (lambda m: m.UnionMap("{ A[i] -> B[i] }").as_multi_union_pw_aff(), "{ B[_] }"),
    "from a map": (lambda m: m.MultiUnionPwAff.from_union_map(m.UnionMap("{ A[i] -> B[i] }")), "{ B[_] }"),
    "to a map": (lambda m: m.UnionMap.from_multi_union_pw_aff(m.MultiUnionPwAff(BOTH)), "[N] -> { [] }"),
    "of an Aff": (lambda m: m.MultiAff("{ A[i] -> B[(i)] }").to_multi_union_pw_aff(), "{ B[_] }"),
    "of a list": (of_list, "[N] -> { Q[_] }"),
    "numbers": (lambda m: m.MultiUnionPwAff.multi_val_on_domain(m.UnionSet("{ A[i] }"), m.MultiVal("{ Q[3, 4] }")),
                "{ Q[_, _] }"),
    "a number": (lambda m: m.UnionPwAff.val_on_domain(m.UnionSet("{ A[i] }"), m.Val(3)), "{ [] }"),
    "after": (lambda m: m.MultiUnionPwAff("B[{ A[i] -> [(i)] }]").apply_aff(m.Aff("{ B[i] -> [(i)] }")), "{ [] }"),
    "then": (lambda m: m.MultiUnionPwAff("B[{ A[i] -> [(i)] }]").apply_multi_aff(m.MultiAff("{ B[i] -> C[(i)] }")),
             "{ C[_] }"),
    "nothing": (lambda m: m.UnionPwAff.empty_space(value(m).get_space()), "[N] -> { [] }"),
    "a band": (lambda m: m.Schedule(TREE).get_root().child(0).band_get_partial_schedule(), "{ L[_] }"),
    "a band of two": (lambda m: m.Schedule(STATEMENTS).get_root().child(0).band_get_partial_schedule(), "{ L[_] }"),
    "its map": (lambda m: m.Schedule(TREE).get_root().child(0).band_get_partial_schedule_union_map(), "{ [] }"),
    "bands above": (lambda m: inside(m).get_prefix_schedule_multi_union_pw_aff(),
                    "{ [_] }"),
    "functions above": (lambda m: inside(m).get_prefix_schedule_union_pw_multi_aff(),
                        "{ [] }"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPACES)
def test_the_space_of_a_union(name):
    make, wanted = SPACES[name]
    space = make(ours).get_space()
    names = ["_"] * space.dim(ours.dim_type.set)
    assert str(space).replace(", ".join(space.out.dims), ", ".join(names)) == wanted.rpartition("{")[2].strip(" }")
    if wanted.startswith("["):
        assert space.param_names == ("N",)
    assert space.is_params() == wanted.endswith("{ [] }")


@pytest.mark.parametrize("name", SPACES)
def test_the_space_of_a_union_beside_islpy(name):
    isl = pytest.importorskip("islpy")
    make, _ = SPACES[name]
    found, wanted = make(ours).get_space(), make(isl).get_space()
    assert found.is_params() == wanted.is_params()
    assert found.dim(ours.dim_type.set) == wanted.dim(isl.dim_type.set)
    if not found.is_params():
        assert found.get_tuple_name(ours.dim_type.set) == wanted.get_tuple_name(isl.dim_type.set)


def test_an_empty_union_of_the_space_of_another_takes_any_tuples():
    some = ours.UnionMap("[N] -> { A[i] -> B[i] }")
    none = ours.UnionMap.empty(some.get_space())
    assert str(none) == "[N] -> { }" and none.union(ours.UnionMap("{ C[i] -> D[] }")).n_map() == 1


def test_a_relation_of_several_values_is_no_function():
    with pytest.raises(ours.Error, match="several values at one point"):
        ours.UnionMap("{ A[i] -> B[j] }").as_multi_union_pw_aff()
