"""More of what programs on islpy do with spaces, functions and trees, beside it and typed by hand."""

import pytest

import polyvolta.isl as ours
from polyvolta.isl import dim_type as DT

SPACES = {
    "range of a set": lambda m: m.Set("[n] -> { A[i] }").get_space().range(),
    "range of parameters": lambda m: m.Set("[n] -> { : n > 0 }").get_space().range(),
    "of a local space": lambda m: m.LocalSpace.from_space(m.Set("[n] -> { A[i] }").get_space()).range().get_space(),
}


@pytest.mark.parametrize("make", SPACES.values(), ids=SPACES)
def test_range_of_a_sets_space_beside_islpy(make):
    isl = pytest.importorskip("islpy")
    mine, theirs = make(ours), make(isl)
    for kind in ("param", "set"):
        assert mine.get_var_names(getattr(DT, kind)) == theirs.get_var_names(getattr(isl.dim_type, kind))
    assert mine.dim(DT.set) == theirs.dim(isl.dim_type.set)


def test_range_of_a_sets_space():
    space = ours.Set("[n] -> { A[i] }").get_space()
    assert space.range() == space and space.range().get_var_names(DT.param) == ["n"]
    assert ours.Map("{ A[i] -> B[j] }").get_space().domain() == ours.Set("{ A[i] }").get_space()


COEFFICIENTS = [
    (lambda m: m.Aff("[n] -> { A[i, j] -> [2i + 3j + n + 4] }").set_coefficients(m.dim_type.in_, [5, 6]),
     "[n] -> { A[i, j] -> [5i + 6j + n + 4] }"),
    (lambda m: m.Aff("[n] -> { A[i, j] -> [2i + 3j + n] }").set_coefficients(m.dim_type.param, [m.Val(3)]),
     "[n] -> { A[i, j] -> [2i + 3j + 3n] }"),
    (lambda m: m.Aff("{ [i, j] -> [2i + 3j] }").set_coefficients(m.dim_type.in_, [5]), "{ [i, j] -> [5i + 3j] }"),
    (lambda m: m.Aff("{ [i, j] -> [i/2 + j] }").set_coefficients(m.dim_type.in_, [3, m.Val("1/3")]),
     "{ [i, j] -> [3i + j/3] }"),
    (lambda m: m.Aff("{ [i, j] -> [i + j] }").set_coefficients(m.dim_type.in_, []), "{ [i, j] -> [i + j] }"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), COEFFICIENTS)
def test_coefficients_of_a_kind(make, text):
    assert ours.PwAff(str(make(ours))).is_equal(ours.PwAff(text))


@pytest.mark.parametrize(("make", "text"), COEFFICIENTS)
def test_coefficients_of_a_kind_beside_islpy(make, text):
    isl = pytest.importorskip("islpy")
    assert isl.PwAff(str(make(ours))).is_equal(isl.PwAff.from_aff(make(isl)))


def test_coefficients_of_a_constraint():
    c = ours.Constraint.equality_from_aff(ours.Aff("[n] -> { A[i, j] -> [2i + 3j + n + 4] }"))
    assert c.set_coefficients(DT.set, [5, 6]).get_coefficients_by_name() == {"i": 5, "j": 6, "n": 1, 1: 4}
    with pytest.raises(ours.Error):
        c.set_coefficients(DT.set, [5, 6, 7])


def test_a_band_of_a_function():
    """As `as_multi_union_pw_aff` gives for the schedule of one statement."""
    node = ours.ScheduleNode.from_domain(ours.Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 3 }")).child(0)
    for f in (ours.Map("{ S[i, j] -> [j, floor(i/2)] }").as_multi_union_pw_aff(),
              ours.MultiAff("{ S[i, j] -> [j, floor(i/2)] }")):  # fmt: skip
        tree = node.insert_partial_schedule(f).get_schedule()
        assert tree.get_map().is_equal(ours.Map("{ S[i, j] -> [j, floor(i/2)] }"))
    moved = node.insert_partial_schedule(ours.MultiAff("{ S[i, j] -> [j] }")).band_shift(
        ours.MultiAff("{ S[i, j] -> [i] }")
    )
    assert moved.get_schedule().get_map().is_equal(ours.Map("{ S[i, j] -> [i + j] }"))


ON_CLASSES = [
    lambda m: m.Space.map_from_domain_and_range(m.Space("{ A[i] }"), m.Space("{ B[j, k] }")).to_str(),
    lambda m: m.Space.params(m.Space("[n] -> { A[i] }")).to_str(),
    lambda m: m.LocalSpace.get_space(m.LocalSpace.from_space(m.Space("{ A[i] }"))).to_str(),
    lambda m: m.Space.dim(m.Space("{ A[i] -> B[j, k] }"), m.dim_type.out),
    lambda m: m.Constraint.get_coefficient_val(
        m.Constraint.equality_from_aff(m.Aff("{ [i] -> [3i + 1] }")), m.dim_type.set, 0),
]  # fmt: skip


def test_methods_of_spaces_called_on_the_class():
    assert [call(ours) for call in ON_CLASSES] == ["{ A[i] -> B[j, k] }", "[n] -> { : }", "{ A[i] }", 2, 3]


@pytest.mark.parametrize("call", ON_CLASSES)
def test_methods_of_spaces_called_on_the_class_beside_islpy(call):
    isl = pytest.importorskip("islpy")
    assert str(call(ours)).replace(" ", "") == str(call(isl)).replace(" ", "")


def test_a_class_says_what_it_has_not():
    for kind in (ours.Space, ours.Constraint):
        with pytest.raises(AttributeError, match="has no attribute 'univers'"):
            _ = kind.univers
