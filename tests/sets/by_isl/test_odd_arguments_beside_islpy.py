"""What methods give of odd arguments, beside islpy: tuples inside tuples, none at all, names of other kinds, unions."""

import pytest

import polyvolta.isl as ours

from .beside import written

isl = pytest.importorskip("islpy")


def relation(value):
    """A function, a relation or a set as islpy's union, of which it asks `is_equal`."""
    text = str(value if hasattr(value, "parts") or not hasattr(value, "as_map") else value.as_map())
    union = isl.UnionMap.from_multi_union_pw_aff(value) if isinstance(value, isl.MultiUnionPwAff) else None
    return union or (
        isl.UnionMap
        if "->" in text.partition("{")[2] or isinstance(value, (ours.UnionMap, isl.UnionPwAff, isl.UnionPwMultiAff))
        else isl.UnionSet
    )(text)


NESTED = "[m] -> { [A[32] -> B[2]] }"
VALUES = [
    lambda m: m.MultiAff.multi_val_on_space(m.Set("[m] -> { [A[i] -> B[k]] }").get_space(), m.MultiVal(NESTED)),
    lambda m: m.PwMultiAff.multi_val_on_domain(m.Set("[m] -> { [A[i] -> B[k]] : k = 2 }"), m.MultiVal(NESTED)),
    lambda m: m.UnionPwMultiAff.multi_val_on_domain(m.UnionSet("{ A[i]; B[] }"), m.MultiVal("{ [A[3] -> B[]] }")),
    lambda m: m.Set("{ A[i] : i > 0 }").pw_multi_aff_on_domain_multi_val(m.MultiVal("{ C[A[2] -> []] }")),
    lambda m: m.PwAff.val_on_domain(m.Set("[n] -> { [i] : i > n }"), m.Val(3)),
    lambda m: m.PwAff.val_on_domain(m.Set("[n] -> { [i] : false }"), m.Val(3)),
    lambda m: m.PwAff.param_on_domain_id(m.Set("[m] -> { [j] : j > m }"), m.Id("x")),
    lambda m: m.Map("{ B[k] -> [A[i] -> B[j]] : i = j + k }").floordiv_val(2),
    lambda m: m.Map("{ [A[i] -> B[k]] -> C[[l] -> [j]] : l = i + j and k = 3j }").floordiv_val(3),
    lambda m: m.UnionPwMultiAff("{ A[i] -> A[(i)]; B[] -> [2] }").flat_range_product(m.MultiAff("{ A[k] -> A[(k)] }")),
    lambda m: m.UnionPwMultiAff("{ A[i] -> A[(i)] }").range_product(m.PwMultiAff("{ A[k] -> C[2, (k)] : k > 0 }")),
    lambda m: m.UnionPwMultiAff("{ A[i] -> A[(i)] : i < 9 }").add(m.MultiAff("[m] -> { A[k] -> A[(k + m)] }")),
    lambda m: m.UnionPwMultiAff("{ A[i] -> A[(i)] : i < 9 }").sub(m.PwMultiAff("{ A[k] -> A[(k)] : k > 4 }")),
    lambda m: m.UnionPwMultiAff("{ A[i] -> B[(i)]; B[] -> C[4] }").scale_multi_val(m.MultiVal("{ C[2] }")),
    lambda m: m.MultiUnionPwAff("L[{ A[i] -> [(i)] }]").range_splice(
        1, m.MultiUnionPwAff("[n] -> [{ A[i] -> [(n)] }]")),
    lambda m: m.MultiUnionPwAff("[{ A[i] -> [(i)] }, { A[i] -> [(2i)] }]").range_splice(
        1, m.MultiUnionPwAff("[{ A[i] -> [(3)] }]")),
    lambda m: m.UnionPwMultiAff("{ A[i] -> A[] : 0 <= i < 7 }").scale_down_val(m.Val(-1)),
    lambda m: m.PwMultiAff("{ A[i] -> A[] : 0 <= i < 7 }").scale_multi_val(m.MultiVal("{ A[] }")),
    lambda m: m.MultiAff("{ B[k] -> [(k)] }").identity_multi_aff(),
    lambda m: m.MultiPwAff("[n] -> { [i, j] -> B[[(n : n < 4)] -> [(i/2)]] }").identity_multi_pw_aff(),
    lambda m: m.Map("[m] -> { [i] -> [j] : j <= m }").eq_at_multi_pw_aff(
        m.MultiPwAff("[m] -> { [i] -> [(i : 1 <= i <= 2; i + m : not (1 <= i <= 2)), (-m : i mod 3 = 1)] }")),
    *(lambda m, n=n: m.PwAff("{ [i] -> [i/2] : i > 3; [i] -> [-i] : i < -3 }") // n for n in (3, 1)),
    lambda m: m.Aff("{ [i] -> [(i + 1)/2] }") // m.Val(3),
    *(lambda m, t=t: m.UnionPwMultiAff(t).drop_dims(m.dim_type.param, 0, 1) for t in (
        "[N] -> { S[i] -> T[(i + N)]; A[i] -> [(i)] }", "[N, M] -> { S[i] -> T[(M + 2i + N), (i)] : M < i + N }",
        "[N] -> { S[i] -> T[] : N > 0; A[i] -> T[] : N >= 0 }")),
    lambda m: m.UnionPwAff("[N] -> { S[i] -> [(floor((i + N)/2))]; A[i] -> [3] }").drop_dims(m.dim_type.param, 0, 1),
    *(lambda m, kind=kind, at=at: m.MultiUnionPwAff(
        "[N] -> L[{ S[i] -> [(i + N)]; A[i] -> [3] }, { S[i] -> [(2i)]; A[i] -> [(N)] }]").drop_dims(
            getattr(m.dim_type, kind), at, 1) for kind, at in (("param", 0), ("set", 0), ("set", 1))),
    lambda m: m.MultiUnionPwAff("[N] -> (L[] : { S[i] : N > i })").drop_dims(m.dim_type.param, 0, 1),
    *(lambda m, kind=kind, context=context: getattr(m, kind)(
        "[{ S[i] -> [(i)]; X[i] -> [(2i)] }]" if kind[0] == "M" else "{ S[i] -> [(i)]; X[i] -> [(2i)] }").gist(
            m.UnionSet(context))
      for kind in ("UnionPwAff", "UnionPwMultiAff", "MultiUnionPwAff")
      for context in ("{ X[i] : i = 3 }", "{ Y[i] }", "{ }", "{ S[i] : false }", "{ S[i]; X[i] : i < 3 < i }")),
    lambda m: m.UnionPwAff("[N] -> { S[i] -> [(i)] : N > 0 }").gist_params(m.Set("[N] -> { : N < 1 < N }")),
    lambda m: m.UnionPwAff("[N] -> { S[i] -> [(i)] : N > 0 }").gist(m.UnionSet("[N] -> { : N > 3 }")),
    lambda m: m.UnionSet("{ A[i] : i > 2; B[i] : false }").as_set(),
    lambda m: m.UnionMap("{ A[i] -> [i]; B[i] -> [i] : false; A[i] -> [] : 2i = 1 }").as_map(),
    lambda m: m.Set.box_from_points(
        *(m.Point.zero(m.Set("[n] -> { A[i, j] }").get_space()).add_ui(m.dim_type.set, 1, k) for k in (4, 1))),
    lambda m: m.PwAffList.from_pw_aff(m.PwAff("{ [i] -> [i] }")).eq_set(
        m.PwAffList.from_pw_aff(m.PwAff("{ [i] -> [3] : i > 0 }"))),
    lambda m: m.PwAffList.from_pw_aff(m.PwAff("{ [i] -> [i] }")).add(m.PwAff("{ [i] -> [2 - i] }")).lt_set(
        m.PwAffList.from_pw_aff(m.PwAff("{ [i] -> [3] }"))),
    lambda m: m.BasicSet.universe(m.Set("{ [i] }").get_space()).add_constraint(
        m.Constraint.inequality_from_aff(m.Aff("{ [i] -> [(2i + 3)/4] }"))),
    lambda m: m.BasicSet.universe(m.Set("{ [i] }").get_space()).add_constraint(
        m.Constraint.equality_from_aff(m.Aff("{ [i] -> [(i + 3)/2] }"))),
]  # fmt: skip


@pytest.mark.parametrize("call", VALUES)
def test_values(call):
    mine, theirs = relation(call(ours)), relation(call(isl))
    assert mine.is_equal(theirs), (str(mine), str(theirs))


OWN_DOMAINS = "{ [i] -> B[(i : 0 <= i < 5), (2i : 1 <= i <= 5), (i : i < 0), (i : false)] }"
FUNCTION, SEVERAL = "{ [[] -> [i]] -> [(i)] : i <= 0 }", "B[{ A[i] -> [(i)]; C[] -> [2] }]"
ANSWERS = [
    *(lambda m, c=c, p=p: getattr(m, c)(FUNCTION).involves_param_id(m.Set(f"[{p}] -> {{ : }}").get_dim_id(
        m.dim_type.param, 0)) for c in ("PwAff", "PwMultiAff", "MultiPwAff") for p in ("i", "n")),
    lambda m: m.PwMultiAff("[n] -> { [i] -> [(n)] }").involves_param_id(m.Set("[n] -> { : }").get_dim_id(
        m.dim_type.param, 0)),
    *(lambda m, k=k: m.Set("[n] -> { [i] }").find_dim_by_name(getattr(m.dim_type, k), "i")
      for k in ("in_", "set", "param")),
    lambda m: m.MultiUnionPwAff(SEVERAL).get_range_tuple_id().get_name(),
    lambda m: m.MultiUnionPwAff(SEVERAL).has_range_tuple_id(),
    lambda m: m.MultiUnionPwAff(SEVERAL).has_tuple_id(m.dim_type.set),
    lambda m: m.MultiUnionPwAff(SEVERAL).get_tuple_name(m.dim_type.out),
    lambda m: m.MultiUnionPwAff(SEVERAL).get_space(),
    lambda m: m.MultiUnionPwAff("[n] -> L[{ A[i] -> [(i)] }, { A[i] -> [(n)] }]").get_space().dim(m.dim_type.out),
    lambda m: m.UnionPwAff("{ }").max_val().to_str(),
    lambda m: m.MultiPwAff(OWN_DOMAINS).max_multi_val(),
    lambda m: m.MultiPwAff(OWN_DOMAINS).min_multi_val(),
    lambda m: m.Set("{ [[A[i] -> B[k]] -> D[l]] : l < i and k > 3 }").dim_has_upper_bound(m.dim_type.set, 2),
    lambda m: m.UnionSet("{ A[i] : i mod 2 = 0 and i mod 4 = 1; B[] }").n_set(),
    *(lambda m, t=t: m.MultiPwAff(f"[n] -> {{ [i] -> A[(NaN : 0 <= i < 5), ({t} : i < 5)] }}").involves_param_id(
        m.Set("[n] -> { : }").get_dim_id(m.dim_type.param, 0)) for t in ("n/2", "n", "i")),
    *(lambda m, t=t: m.MultiPwAff(f"[n] -> {{ [i] -> A[(n/2), ({t})] }}").isa_multi_aff()
      for t in ("i/2", "i : i > 3")),
    lambda m: m.UnionSet("{ A[i] : i > 2; B[i] : false }").isa_set(),
    lambda m: m.ValList.from_val(m.Val(1)).copy().add(m.Val(2)).get_at(1).to_str(),
    lambda m: [m.ValList.from_val(m.Val(3)).add(m.Val(1)).add(m.Val(2)).sort(
        lambda a, b: a.sub(b).to_python()).get_at(k).to_python() for k in range(3)],
]  # fmt: skip


@pytest.mark.parametrize("call", ANSWERS)
def test_answers(call):
    assert written(call(ours)) == written(call(isl))


def test_numbers_in_a_tuple_that_no_values_are_in():
    f = ours.UnionPwMultiAff("{ A[i] -> B[(i)] }")
    with pytest.raises(ours.Error, match="no values are in the tuple"):
        f.scale_multi_val(ours.MultiVal("{ C[2] }"))


@pytest.mark.parametrize(("call", "said"), [
    (lambda m: m.Set.box_from_points(*(m.Point.zero(m.Set(s).get_space()) for s in ("{ A[i] }", "{ B[i, j] }"))),
     "points of one space"),
    (lambda m: m.Map("{ [i] -> [j] }").lower_bound_multi_pw_aff(m.MultiPwAff("{ A[k, l] -> [(k)] }")), "other inputs"),
    (lambda m: m.MultiAff("{ A[i] -> B[(i), 2] }").set_aff(1, m.Aff("{ [1] }")), "other inputs"),
    (lambda m: m.MultiPwAff("{ A[i] -> B[(i/2), 2] }").set_at(1, m.PwAff("{ A[i, j] -> [1] }")), "other inputs"),
    (lambda m: m.PwMultiAff.project_out_map(m.Map("{ A[i] -> B[j] }").get_space(), m.dim_type.out, 0, 1),
     "set's space"),
    (lambda m: m.PwAffList.alloc(m.DEFAULT_CONTEXT, 0).eq_set(m.PwAffList.alloc(m.DEFAULT_CONTEXT, 0)), "empty list"),
])  # fmt: skip
def test_refused_by_both(call, said):
    with pytest.raises(isl.Error):
        call(isl)
    with pytest.raises(ours.Error, match=said):
        call(ours)


def test_a_constraint_is_no_nan():
    with pytest.raises(ours.Error, match="no NaN"):
        ours.Constraint.equality_from_aff(ours.Aff("{ [i] -> [NaN] }"))


@pytest.mark.parametrize(("kind", "text"), [
    ("Aff", "{ [i] -> [(i)] }"), ("Aff", "{ [i] -> [(0)] }"), ("Aff", "{ [i] -> [(floor(i/2))] }"),
    ("Aff", "{ [i] -> [(i)/2] }"), ("Aff", "{ [i, j] -> [(j)] }"), ("PwAff", "{ [i] -> [(3)] : i > 0 }"),
    ("MultiAff", "{ [i] -> [(i)] }"), ("MultiPwAff", "{ [i] -> [(i)] }"), ("PwMultiAff", "{ [i] -> [(0)] : i > 0 }"),
])  # fmt: skip
def test_what_a_function_is_of(kind, text):
    found, theirs = getattr(ours, kind)(text), getattr(isl, kind)(text)
    for name in ("set", "in_", "out"):
        wanted = theirs.involves_dims(getattr(isl.dim_type, name), 0, 1)
        assert found.involves_dims(getattr(ours.dim_type, name), 0, 1) is wanted, name


def test_names_behind_the_last_dimension_and_none_inserted():
    for m in (ours, isl):
        dt = m.dim_type
        s, f = m.Set("{ A[i] : i > 0 }"), m.Aff("{ [i] -> [(i)] }")
        assert s.get_dim_name(dt.set, 5) is s.get_dim_name(dt.param, 0) is s.get_space().get_dim_name(dt.set, 1) is None
        assert f.get_dim_name(dt.in_, 1) is m.Map("{ [i] -> [j] }").get_dim_name(dt.out, 7) is None
        assert s.insert_dims(dt.param, 2, 0).is_equal(s) and f.insert_dims(dt.param, 2, 0).plain_is_equal(f)
        assert s.insert_dims(dt.set, 5, 0).is_equal(m.Set("{ [i] : i > 0 }"))
        with pytest.raises(m.Error):
            s.insert_dims(dt.set, 5, 1)


@pytest.mark.parametrize("name", ["param", "in_"])
@pytest.mark.parametrize("m", [ours, isl])
def test_only_dimensions_of_points_are_projected(m, name):
    kind, s = getattr(m.dim_type, name), m.Set("[n] -> { A[i] : n > 3 }")
    with pytest.raises(m.Error):
        s.project_onto_map(kind, 0, 1)
    for make in (m.MultiAff, m.PwMultiAff):
        with pytest.raises(m.Error):
            make.project_out_map(s.get_space(), kind, 0, 1)
