"""A function of one tuple as a union takes functions of others; isl's `to_union_pw_aff` and `to_union_pw_multi_aff`."""

import pytest

import polyvolta.isl as ours

from .beside import times_twelve

VALUES = "{ A[i] -> [(i + 1)] : i > 0 }", "{ A[i] -> [(i)/2] : i > 0 }", "[n] -> { A[i] -> [(n)] }"
TUPLES = "{ A[i] -> S[(i), (2i)] }", "{ A[i] -> S[(i)/2, (3)] : i < 8 }", "[n] -> { A[i] -> S[(i), (n)] }"
OF_VALUES = {
    "union_add": lambda m, u: u.union_add(m.UnionPwAff("{ B[i] -> [(i)]; A[i] -> [(2)] }")),
    "add": lambda m, u: u.add(m.UnionPwAff("{ B[i] -> [(i)]; A[i] -> [(2)] }")),
    "add_pw_aff": lambda m, u: u.add_pw_aff(m.PwAff("{ B[i] -> [(i)] }")),
    "extract_pw_aff": lambda m, u: u.extract_pw_aff(m.Map("{ A[i] -> [j] }").get_space()),
    "extract_pw_aff of none": lambda m, u: u.extract_pw_aff(m.Map("{ B[i] -> [j] }").get_space()).is_empty(),
    "pullback": lambda m, u: u.pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ C[i] -> A[(2i)]; D[] -> E[] }")),
    "intersect_domain": lambda m, u: u.intersect_domain(m.UnionSet("{ A[i] : i > 2; B[i] }")),
    "subtract_domain": lambda m, u: u.subtract_domain(m.UnionSet("{ A[i] : i > 2; B[i] }")),
    "subtract_domain of the other": lambda m, u: u.subtract_domain(m.UnionSet("{ B[i] }")),
    "n_pw_aff": lambda m, u: u.n_pw_aff(),
    "is_params": lambda m, u: u.get_space().is_params(),
}  # fmt: skip
OF_TUPLES = {
    "union_add": lambda m, u: u.union_add(m.UnionPwMultiAff("{ B[i] -> S[(i), (0)]; A[i] -> S[(2), (i)] }")),
    "add": lambda m, u: u.add(m.UnionPwMultiAff("{ B[i] -> S[(i), (0)]; A[i] -> S[(2), (i)] }")),
    "add_pw_multi_aff": lambda m, u: u.add_pw_multi_aff(m.PwMultiAff("{ B[i] -> T[(i)] }")),
    "extract_pw_multi_aff": lambda m, u: u.extract_pw_multi_aff(m.Map("{ A[i] -> S[a, b] }").get_space()),
    "pullback": lambda m, u: u.pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ C[i] -> A[(2i)]; D[] -> E[] }")),
    "subtract_domain": lambda m, u: u.subtract_domain(m.UnionSet("{ A[i] : i > 2; B[i] }")),
    "flat_range_product": lambda m, u: u.flat_range_product(m.UnionPwMultiAff("{ A[i] -> T[(7)]; B[] -> U[] }")),
    "n_pw_multi_aff": lambda m, u: u.n_pw_multi_aff(),
}  # fmt: skip


def same(found, wanted, m):
    """Whether an answer is isl's."""
    if type(wanted).__name__.startswith("Union"):
        return times_twelve(ours, found).is_equal(times_twelve(m, wanted))
    return wanted.is_equal(type(wanted)(str(found))) if hasattr(wanted, "is_equal") else found == wanted


@pytest.mark.parametrize("name", OF_VALUES)
@pytest.mark.parametrize("text", VALUES)
def test_a_function_of_one_value(text, name):
    isl = pytest.importorskip("islpy")
    found, wanted = (OF_VALUES[name](m, m.PwAff(text).to_union_pw_aff()) for m in (ours, isl))
    assert same(found, wanted, isl)


@pytest.mark.parametrize("name", OF_TUPLES)
@pytest.mark.parametrize("text", TUPLES)
def test_a_function_of_a_tuple(text, name):
    isl = pytest.importorskip("islpy")
    found, wanted = (OF_TUPLES[name](m, m.PwMultiAff(text).to_union_pw_multi_aff()) for m in (ours, isl))
    assert same(found, wanted, isl)


def test_one_expression_is_a_union_too():
    u = ours.Aff("{ A[i] -> [(i + 1)] }").to_union_pw_aff()
    assert isinstance(u, ours.UnionPwAff) and u.n_pw_aff() == 1
    assert u.union_add(ours.UnionPwAff("{ B[i] -> [i] }")).is_equal(ours.UnionPwAff("{ A[i] -> [i + 1]; B[i] -> [i] }"))
    v = ours.MultiAff("{ A[i] -> S[(i)/2] }").to_union_pw_multi_aff()
    assert str(v.add_pw_multi_aff(ours.PwMultiAff("{ B[] -> T[] }"))) == "{ A[i] -> S[(i)/2]; B[] -> T[] }"


@pytest.mark.parametrize(("kind", "text", "union"), [
    *((kind, text, "UnionPwAff") for text in VALUES for kind in ("PwAff",)),
    *((kind, text, "UnionPwMultiAff") for text in TUPLES for kind in ("PwMultiAff",)),
    ("Aff", "{ A[i] -> [(i + 1)] }", "UnionPwAff"), ("MultiAff", "{ A[i] -> S[(i), (2i)] }", "UnionPwMultiAff"),
])  # fmt: skip
def test_classes_of_unions_take_functions_of_one_tuple(kind, text, union):
    """As islpy's constructors do, which cast what is of one tuple."""
    mine, theirs = (getattr(m, union)(getattr(m, kind)(text)) for m in (ours, pytest.importorskip("islpy")))
    assert isinstance(mine, getattr(ours, union)) and same(mine, theirs, pytest.importorskip("islpy"))


@pytest.mark.parametrize("union", ["UnionPwAff", "UnionPwMultiAff", "MultiUnionPwAff"])
def test_they_say_what_they_do_not_take(union):
    for wrong in (ours.Set("{ A[i] }"), ours.UnionSet("{ A[i] }"), 3, None):
        with pytest.raises(ours.Error, match=r"a function of several tuples needs a PwAff or MultiPwAff, not "):
            getattr(ours, union)(wrong)
