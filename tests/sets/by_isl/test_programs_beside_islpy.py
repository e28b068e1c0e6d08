"""What programs on islpy met, beside it: constants that are fractions, names of dimensions, signs, lists, classes."""

import subprocess
import sys

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

FRACTIONS = [
    lambda m: m.MultiAff("{ [i] -> [i, i + 1] }").add_constant_val(m.Val("1/2")),
    lambda m: m.MultiPwAff("{ [i] -> [i, i + 1] }").add_constant_val(m.Val("nan")),
    lambda m: m.PwMultiAff("{ A[i] -> B[i, i + 1] : i > 3 }").add_constant_val(m.Val("-1/2")),
    lambda m: m.MultiAff("{ [i] -> [i, i + 1] }").add_constant_multi_val(m.MultiVal("{ [1/2, 3] }")),
    lambda m: m.Space("[n] -> { A[i] }").multi_aff_on_domain_multi_val(m.MultiVal("[m] -> { B[2, 1/3] }")),
    lambda m: m.MultiAff.multi_val_on_domain_space(m.Space("{ A[i] }"), m.MultiVal("[n] -> { B[1/2, 3] }")),
    lambda m: m.PwMultiAff.multi_val_on_domain(m.Set("{ A[i] : i > 0 }"), m.MultiVal("{ [B[1] -> C[1/2]] }")),
    lambda m: m.Set("{ [i] : i > 0 }").pw_multi_aff_on_domain_multi_val(m.MultiVal("{ [1/2, 3] }")),
    lambda m: m.Set("{ [i] : i > 0 }").pw_aff_on_domain_val(m.Val("1/2")),
    lambda m: m.PwAff.val_on_domain(m.Set("{ [i] : i > 0 }"), m.Val("1/2")),
    lambda m: m.Aff.val_on_domain_space(m.Space("{ [i] }"), m.Val("1/2")),
    lambda m: m.MultiPwAff.from_pw_aff_list(m.Space("{ [i] -> [a] }"), m.PwAffList("({ [i] -> [i/2] })")),
    lambda m: m.Space("[m] -> { B[a, b] }").multi_aff(m.AffList("([n] -> { [(n)/2] },{ [(3)] })")),
]


@pytest.mark.parametrize("make", FRACTIONS)
def test_constants_that_are_fractions(make):
    """The values at some points are those of islpy; NaN and text of the others."""
    theirs, mine = make(isl), make(ours)
    kind = isl.MultiPwAff if hasattr(theirs, "get_at") else isl.PwAff
    theirs, mine = kind(str(theirs)), kind(str(mine))
    assert mine.is_equal(theirs) or ("NaN" in str(theirs) and str(mine) == str(theirs))
    assert mine.get_space().has_equal_tuples(theirs.get_space())
    assert set(mine.get_var_names(isl.dim_type.param)) == set(theirs.get_var_names(isl.dim_type.param))


def test_functions_of_several_tuples_have_no_fractions():
    with pytest.raises(ours.Error, match="an integer is needed"):
        ours.UnionPwAff.val_on_domain(ours.UnionSet("{ A[i]; B[j] }"), ours.Val("1/2"))
    with pytest.raises(ours.Error, match="an integer is needed"):
        ours.MultiUnionPwAff.multi_val_on_domain(ours.UnionSet("{ A[i]; B[j] }"), ours.MultiVal("{ [1/2, 3] }"))


NAMES = [
    lambda m: m.Map("{ [i, j] -> [k, l] }").deltas().get_var_names(m.dim_type.set),
    lambda m: m.Map("{ [i, j] -> [i + 1, j] }").deltas().get_var_names(m.dim_type.set),
    lambda m: m.Map("{ [[i] -> [j]] -> [[k] -> [l]] }").deltas().get_var_names(m.dim_type.set),
    lambda m: m.Map.identity(m.Map("{ A[i, j] -> A[k, l] }").get_space()).get_var_names(m.dim_type.out),
    lambda m: m.MultiAff.identity(m.Map("{ A[i] -> A[k] }").get_space()).get_space().get_var_names(m.dim_type.out),
    lambda m: m.MultiAff.from_aff_list(m.Space("{ [i] -> [a] }"), m.AffList("({ [i] -> [2i] })"))
    .get_space().get_var_names(m.dim_type.out),
    *(lambda m, kind=kind: getattr(m, kind)("[n] -> { [i, j] }").get_var_names(m.dim_type.in_)
      for kind in ("Set", "BasicSet", "Space")),
    lambda m: list(m.Set("[n] -> { [i, j] }").get_var_dict(m.dim_type.in_)),
    *(lambda m, make=make: make(m).get_var_names(m.dim_type.out) for make in (
        lambda m: m.PwMultiAff.from_map(m.Map("{ S[i, j] -> T[x = i + j, y = j] }")).as_map(),
        lambda m: m.Set.from_pw_multi_aff(m.Set("[n] -> { A[x, y] : n < x < y }").lexmin_pw_multi_aff()),
        lambda m: m.Map("{ A[i] -> [B[x] -> C[y]] : x = i and y = 2i }").as_pw_multi_aff().as_map(),
        lambda m: m.Map.from_multi_pw_aff(m.MultiPwAff.zero(m.Space("[n] -> { [i, j] -> [a, b] }"))),
        lambda m: m.MultiAff.zero(m.Space("{ [i] -> [a, b] }")).as_map().range())),
    lambda m: [m.MultiPwAff("[n] -> { [i, j] -> [i/2, n, j] }").dim(k) for k in (m.dim_type.in_, m.dim_type.out)],
    lambda m: m.BasicSet("[n] -> { [i] : i > n }").get_constraints()[0].space.dim(m.dim_type.param),
]  # fmt: skip


@pytest.mark.parametrize("make", NAMES)
def test_names_and_numbers_of_dimensions(make):
    assert make(ours) == make(isl)


def test_names_of_values_that_inputs_have_too_get_a_prime():
    """isl has two dimensions of one name."""
    f = ours.MultiAff.zero(ours.Space("[n] -> { S[i, j] -> T[j, n] }"))
    assert f.as_map().dims() == ("i", "j", "j'", "n'") and str(f.as_map()) == "[n] -> { S[i, j] -> T[0, 0] }"
    assert f.as_map().range().get_var_names(ours.dim_type.set) == ["j", "n'"]


def test_identities_relate_two_tuples_of_one_size():
    space = "[n] -> { A[i, j] -> B[[k] -> [l]] }"
    its = isl.Map.identity(isl.Map(space).get_space())
    assert isl.Map(str(ours.Map.identity(ours.Map(space).get_space()))).is_equal(its)
    assert isl.Map(str(ours.MultiAff.identity(ours.Map(space).get_space()).as_map())).is_equal(its)
    with pytest.raises(ours.Error):
        ours.Map.identity(ours.Map("{ A[i] -> B[j, k] }").get_space())


@pytest.mark.parametrize("text", [
    "[n] -> { [i] : n >= 1 and i mod 2 = 0 and 0 <= i <= 2n - 2 }", "[n] -> { [i, j] : i + j + n = 7 }",
    "[n] -> { [i, j] : n - 3j = 0 }", "{ [i, j] : (i + j) mod 4 = 1 }", "{ [i, j] : j - 3i = 4 }",
])  # fmt: skip
def test_signs_of_equalities(text):
    """loopy reads strides off them: of -i + 2*floor(i/2) = 0 the floor's coefficient is to be the divisor."""
    (mine,), (theirs,) = (
        [c.get_aff() for c in m.BasicSet(text).get_constraints() if c.is_equality()] for m in (ours, isl)
    )
    for kind in ("param", "in_"):
        n = mine.dim(getattr(ours.dim_type, kind))
        assert [mine.get_coefficient_val(getattr(ours.dim_type, kind), k).to_python() for k in range(n)] == [
            theirs.get_coefficient_val(getattr(isl.dim_type, kind), k).to_python() for k in range(n)]  # fmt: skip
    assert isl.Aff(str(mine)).zero_basic_set().is_equal(theirs.zero_basic_set())


def test_lists_are_read_and_hashed():
    assert ours.IdList("(a,b)") == ["a", "b"] and ours.ValList("(1,2)").get_at(1) == 2
    sets = ours.Set("{ [i] : i > 0 }").get_basic_set_list()
    assert hash(sets) == hash(sets.copy()) and {sets: 1}[ours.Set("{ [i] : i > 0 }").get_basic_set_list()] == 1


def test_one_asterisk_imports_what_islpy_has():
    there: dict[str, object] = {}
    exec("from polyvolta.isl import *", there)
    assert {n for n in isl.__all__ if hasattr(ours, n)} <= set(there)


CLASSES = """
import copy, pickle
import polyvolta.isl
polyvolta.isl.stand_in()
import islpy as isl
for kind in (isl.PwAff, isl.PwMultiAff, isl.MultiPwAff, isl.Aff, isl.MultiAff, isl.Set, isl.BasicMap):
    f = kind("{ [i] }" if kind is isl.Set else "{ [i] -> [(i)] }")
    assert f.__class__ is kind and isinstance(f, kind), kind
    assert pickle.loads(pickle.dumps(f)) == f == copy.deepcopy(f)
f = isl.PwAff("{ [i] -> [(i)] }")
assert not isinstance(f, isl.Aff) and (f + f).__class__ is isl.PwAff
"""


def test_the_class_of_values_where_the_module_stands_in():
    """namedisl asks `f.__class__ is isl.PwAff`; in a process of its own."""
    done = subprocess.run([sys.executable, "-c", CLASSES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
