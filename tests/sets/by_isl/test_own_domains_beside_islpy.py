"""Tuples of functions of several tuples keep the domain of each, as isl's do."""

import pickle

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

TEXTS = ["[{ A[i] -> [(i)]; B[k] -> [(k)] }, { A[i] -> [(0)] }]", "L[{ A[i] -> [(2i)] : i > 3 }, { A[i] -> [(i)] }]",
         "[n] -> [{ A[i] -> [(n)]; B[k] -> [(k)] }, { A[i] -> [(i)] : i > n }]",
         "([{ A[i] -> [(i)]; B[k] -> [(k)] }, { A[i] -> [(0)] }] : { A[i] : i > 0; B[k] : k > 5 })",
         "[{ A[i] -> [(i)]; B[k] -> [(k)] }, { B[i] -> [(0)]; A[j] -> [(4)] }]",
         "[{ A[i] -> [(i)/2]; B[k] -> [(k)] }, { A[i] -> [(0)] }]"]  # fmt: skip
OTHER = "[{ B[i] -> [(i)]; C[k] -> [(k)] }, { B[i] -> [(0)] }]"


def other(m, f):
    return m.MultiUnionPwAff(OTHER).set_tuple_name(m.dim_type.set, "L") if str(f).startswith("L") else (
        m.MultiUnionPwAff(OTHER))  # fmt: skip


CALLS = {
    "itself": lambda m, f: f, "copy": lambda m, f: f.copy(), "neg": lambda m, f: f.neg(),
    "floor": lambda m, f: f.floor(), "scale": lambda m, f: f.scale_val(m.Val(3)),
    "halves": lambda m, f: f.scale_down_val(m.Val(2)), "add": lambda m, f: f.add(f), "sub": lambda m, f: f.sub(f),
    "add other": lambda m, f: f.add(other(m, f)), "other add": lambda m, f: other(m, f).add(f),
    "union_add": lambda m, f: f.union_add(other(m, f)), "other union_add": lambda m, f: other(m, f).union_add(f),
    "domain": lambda m, f: f.intersect_domain(m.UnionSet("{ A[i] : i > 0; B[i] : i > 3 }")),
    "params": lambda m, f: f.intersect_params(m.Set("[n] -> { : n > 0 }")),
    "params as points": lambda m, f: f.intersect_domain(m.UnionSet("[n] -> { : n > 0 }")),
    "gist": lambda m, f: f.gist(m.UnionSet("{ A[i] : i > 0; B[i] : i > 3 }")),
    "flat": lambda m, f: f.flat_range_product(m.MultiUnionPwAff(OTHER)),
    "flat other": lambda m, f: m.MultiUnionPwAff("[{ B[i] -> [(7)] }]").flat_range_product(f),
    "product": lambda m, f: f.range_product(m.MultiUnionPwAff(OTHER)),
    "splice": lambda m, f: f.range_splice(1, m.MultiUnionPwAff(OTHER)),
    "drop": lambda m, f: f.drop_dims(m.dim_type.set, 1, 1),
    "called": lambda m, f: f.set_tuple_name(m.dim_type.set, "K"),
    "unnamed": lambda m, f: f.reset_tuple_id(m.dim_type.set),
    "pullback": lambda m, f: f.pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ C[k] -> B[k]; D[i] -> A[i] }")),
    "mod": lambda m, f: f.reset_tuple_id(m.dim_type.set).mod_multi_val(m.MultiVal("{ [2, 3] }")),
    "aligned": lambda m, f: f.align_params(m.Set("[n] -> { : }").get_space()),
    "set": lambda m, f: f.set_union_pw_aff(1, m.UnionPwAff("{ A[i] -> [(3)]; C[i] -> [(i)] }")),
    "set none": lambda m, f: f.set_union_pw_aff(0, m.UnionPwAff("{ }")), "coalesce": lambda m, f: f.coalesce(),
    "listed": lambda m, f: m.MultiUnionPwAff.from_union_pw_aff_list(
        m.Set("{ L[a, b] }").get_space(), m.UnionPwAffList.alloc(m.DEFAULT_CONTEXT, 2).add(
            f.get_union_pw_aff(0)).add(m.UnionPwAff("{ B[i] -> [(3)] }"))),
}  # fmt: skip


def member(f, k, m):
    """What is twelve times a member, which is of integers, as islpy's relation."""
    one = f.get_union_pw_aff(k).scale_val(m.Val(12))
    text = str(m.UnionMap(one)) if m is ours else str(isl.UnionMap.from_union_pw_aff(one))
    return isl.UnionMap(text)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("text", TEXTS)
def test_members_keep_their_domains(text, name):
    found, wanted = (CALLS[name](m, m.MultiUnionPwAff(text)) for m in (ours, isl))
    assert isinstance(found, ours.MultiUnionPwAff)
    n = wanted.dim(isl.dim_type.set)
    if isinstance(found, ours.UnionMap) and not found.parts:  # a relation of nothing knows no tuple
        assert all(wanted.get_union_pw_aff(k).domain().is_empty() for k in range(n))
        return
    assert found.dim(ours.dim_type.set) == n
    for k in range(n):
        mine, theirs = member(found, k, ours), member(wanted, k, isl)
        assert mine.is_equal(theirs), (k, str(found), str(wanted))
    domain = isl.UnionSet(str(found.domain()))
    assert domain.is_equal(wanted.domain())


@pytest.mark.parametrize("text", TEXTS[:5])
def test_what_is_of_all_members(text):
    for name, args in [("zero_union_set", ()), ("domain", ()), ("plain_is_equal", "f"), ("max_multi_val", ())]:
        found, wanted = (getattr(f, name)(*[f] * len(args)) for m in (ours, isl) for f in [m.MultiUnionPwAff(text)])
        same = isl.UnionSet(str(found)).is_equal(wanted) if "set" in name or name == "domain" else (
            str(found) == str(wanted))  # fmt: skip
        assert same, (name, found, wanted)
    found = isl.UnionMap(str(ours.UnionMap.from_multi_union_pw_aff(ours.MultiUnionPwAff(text))))
    assert found.is_equal(isl.UnionMap.from_multi_union_pw_aff(isl.MultiUnionPwAff(text)))
    pairs = [m.UnionMap("{ A[i] -> A[j]; A[i] -> B[j] }").eq_at_multi_union_pw_aff(m.MultiUnionPwAff(text))
             for m in (ours, isl)]  # fmt: skip
    assert isl.UnionMap(str(pairs[0])).is_equal(pairs[1])


def test_texts_copies_and_bands():
    f = ours.MultiUnionPwAff(TEXTS[0])
    assert ours.MultiUnionPwAff(str(f)) == f == pickle.loads(pickle.dumps(f)) and hash(f) == hash(f.copy())
    assert f != ours.MultiUnionPwAff(TEXTS[2]) and ours.MultiUnionPwAff(f) is f
    wrapped = ours.MultiUnionPwAff("L[P[{ A[i] -> [(i)]; B[k] -> [(k)] }] -> Q[{ A[i] -> [(0)] }]]")
    assert str(wrapped) == "L[P[{ A[i] -> [i]; B[k] -> [k] }] -> Q[{ A[i] -> [0] }]]"
    assert str(wrapped.range_factor_domain()) == "{ A[i] -> P[i]; B[k] -> P[k] }"
    tree = ours.Schedule.from_domain(ours.UnionSet("{ A[i] : 0 <= i < 5 }")).insert_partial_schedule(f)
    assert str(tree.get_map()) == "{ A[i] -> [i, 0] }"
    with pytest.raises(ours.SpaceMismatch, match="to one tuple"):
        f.add(ours.MultiUnionPwAff("K[{ A[i] -> [(i)] }]"))
    with pytest.raises(ours.SpaceMismatch, match="no position"):
        f.range_splice(4, f)
    with pytest.raises(AttributeError, match="MultiUnionPwAff"):
        f.nothing_of_the_kind  # noqa: B018
