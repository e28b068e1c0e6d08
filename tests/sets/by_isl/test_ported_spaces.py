"""isl's local spaces, and what programs make of spaces and functions by isl's names; answers are isl's, typed."""

import pytest

import polyvolta.isl as isl

DT = isl.dim_type
SPACE = isl.Set("[n] -> { A[i, j] }").space


def test_expressions_are_built_on_local_spaces():
    local = isl.LocalSpace.from_space(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=["i", "j"], params=["n"]))
    f = isl.Aff.zero_on_domain(local).set_coefficient_val(DT.in_, 0, 3).set_constant_val(7)
    f = f.add_coefficient_val(DT.param, 0, -1)
    assert f.is_equal(isl.PwAff("[n] -> { [i, j] -> [(3i - n + 7)] }"))
    j, n = isl.Aff.var_on_domain(local, DT.set, 1), isl.Aff.var_on_domain(local, DT.param, 0)
    assert j.is_equal(isl.PwAff("[n] -> { [i, j] -> [(j)] }")) and n.is_equal(isl.PwAff("[n] -> { [i, j] -> [(n)] }"))
    assert f.ge_basic_set(isl.Aff.zero_on_domain(local)).is_equal(isl.Set("[n] -> { [i, j] : 3i - n + 7 >= 0 }"))
    assert j.zero_basic_set().is_equal(isl.Set("[n] -> { [i, 0] }"))
    assert j.neg_basic_set().is_equal(isl.Set("[n] -> { [i, j] : j < 0 }"))
    c = isl.Constraint.equality_alloc(local).set_coefficient_val(DT.set, 1, 1).set_constant_val(-5)
    s = isl.BasicSet("[n] -> { [i, j] : 0 <= i < n }")
    assert s.add_constraint(c).is_equal(isl.Set("[n] -> { [i, 5] : 0 <= i < n }")) and c.is_equal(c)
    assert s.get_local_space().dim(DT.param) == 1 == c.get_local_space().dim(DT.param)
    assert str(f.get_domain_local_space()) == "[i, j]"
    with pytest.raises(isl.Error, match="a Space is needed"):
        isl.LocalSpace.from_space("[i]")


@pytest.mark.parametrize("make", [isl.MultiAff, isl.MultiPwAff, isl.PwMultiAff])
def test_identities_and_zeros(make):
    for f in (make.identity(SPACE.map_from_set()), make.identity_on_domain_space(SPACE)):
        assert f.is_equal(isl.MultiPwAff("[n] -> { A[i, j] -> A[(i), (j)] }")) and f.param_names == ("n",)
    assert make.zero(isl.Map("{ A[i] -> B[j, k] }").space).is_equal(isl.MultiPwAff("{ A[i] -> B[(0), (0)] }"))
    assert make.zero(isl.Set("{ A[i, j] }").space).is_equal(isl.MultiPwAff("{ A[(0), (0)] }"))
    assert make.identity(isl.Map("{ A[i] -> B[j] }").space).is_equal(isl.MultiPwAff("{ A[i] -> B[(i)] }"))
    with pytest.raises(isl.Error, match="needs tuples of as many dimensions"):
        make.identity(isl.Map("{ A[i] -> B[j, k] }").space)
    with pytest.raises(isl.Error, match="a Space is needed"):
        make.identity("A[i]")


def test_quotients_and_names_of_functions():
    f = isl.MultiAff("{ [i, j] -> [4i + 4, 2j] }")
    assert f.scale_down_multi_val(isl.MultiVal("{ [4, 2] }")).is_equal(isl.MultiAff("{ [i, j] -> [i + 1, j] }"))
    assert f.scale_down_val(2).is_equal(isl.MultiAff("{ [i, j] -> [2i + 2, j] }"))
    assert str(f.scale_down_multi_val([4, 4])) == "{ [i, j] -> [(i + 1), (j)/2] }"
    g = isl.PwMultiAff("{ [i] -> A[i + 1, 3] : i > 3 }")
    assert g.get_tuple_name(DT.out) == "A" and g.get_tuple_name(DT.in_) is None
    q = isl.Id("Q")
    for named in (g.set_tuple_name(DT.out, "Q"), g.set_tuple_id(DT.out, q), g.set_range_tuple_id(q)):
        assert named.is_equal(isl.PwMultiAff("{ [i] -> Q[i + 1, 3] : i > 3 }"))
    assert g.reset_tuple_id(DT.out).is_equal(isl.PwMultiAff("{ [i] -> [i + 1, 3] : i > 3 }"))
    assert g.set_tuple_name(DT.in_, "S").is_equal(isl.PwMultiAff("{ S[i] -> A[i + 1, 3] : i > 3 }"))
    assert g.get_range_tuple_id().name == "A" and g.has_range_tuple_id()
    assert str(isl.PwAff("[n] -> { [i] -> [(i)] }").set_dim_id(DT.in_, 0, isl.Id("k"))) == "[n] -> { [k] -> [(k)] }"
    p = isl.PwQPolynomial("[n] -> { [i] -> 2 * n * i : i > 0 }").scale_down_val(2)
    assert p.eval_with_dict({"n": 5, "i": 3}) == 15


def test_relations():
    m = isl.Map("{ A[i, j] -> B[k] }")
    assert m.oppose(DT.in_, 0, DT.out, 0).is_equal(isl.Map("{ A[i, j] -> B[-i] }"))
    assert m.oppose(DT.in_, 0, DT.in_, 1).is_equal(isl.Map("{ A[i, -i] -> B[k] }"))
    assert m.get_domain_tuple_id().name == "A" and m.set_range_tuple_id(isl.Id("C")).get_range_tuple_id() == "C"
    u = isl.UnionSet("{ A[i] : 0 <= i < 4; B[i, j] : i = j }")
    spaces = ["{ A[i] }", "{ A[i, j] }", "{ B[i, j] }", "{ C[i] }"]
    assert [u.contains(isl.Set(s).get_space()) for s in spaces] == [True, False, True, False]
    assert not isl.UnionSet("{ A[i] : false }").contains(isl.Set("{ A[i] }").space)
    assert isl.UnionMap("{ A[i] -> B[i] }").contains(isl.Map("{ A[i] -> B[j] }").space)
    assert isl.Set("[n] -> { A[i, j] : i < n }").has_equal_space(isl.Set("[n] -> { A[k, l] }"))
    assert not isl.Set("[n] -> { A[i, j] : i < n }").has_equal_space(isl.Set("{ A[k, l] }"))


def test_a_space_gives_its_parameters():
    space = isl.Set("[N] -> { A[i] : i < N }").space
    assert str(isl.Set("{ B[i] }").align_params(space)) == "[N] -> { B[i] }"


@pytest.mark.parametrize("text", [
    "{ [i] }", "[N] -> { S[i] -> A[j, k] }", "{ [A[i] -> B[j]] }", "{ [A[i] -> B[j]] -> C[] }", "{ : }", "[n] -> { : }",
    "{ A[i] -> [B[] -> C[j]] }", "[n, m] -> { A[] }",
])  # fmt: skip
def test_spaces_of_texts(text):
    ours, theirs = isl.Space(text), pytest.importorskip("islpy").Space(text)
    for asked in ("is_map", "is_set", "is_params", "is_wrapping"):
        assert getattr(ours, asked)() == getattr(theirs, asked)()
    for kind in ("param", "set"):
        assert ours.dim(getattr(isl.dim_type, kind)) == theirs.dim(getattr(theirs_kinds(), kind))
    value = isl.Map(text) if ours.is_map() else isl.Set(text)
    assert ours == value.space and ours.param_names == value.param_names
    assert isl.Space.read_from_str(text) == ours and (ours.is_params() or isl.Space(str(ours)) == ours)


def theirs_kinds():
    return pytest.importorskip("islpy").dim_type


def test_what_is_no_text_of_a_space():
    for wrong in ("garbage", "{ A[i]; B[i] }", 3, None, "{ A[i] -> B[i]; C[] -> D[] }"):
        with pytest.raises(isl.Error):
            isl.Space(wrong)
