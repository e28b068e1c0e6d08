"""Functions of several tuples with fractions: what isl divides before it rounds, beside islpy and as typed texts."""

import pytest

import polyvolta.isl as ours

from .beside import times_twelve

TWO = "[N] -> L[{ A[i] -> [(i)/2]; B[i, j] -> [(N)] }, { A[i] -> [(i)]; B[i, j] -> [(j)] }]"
HALF, ONE = "{ A[i] -> [(i)/2] }", "L[{ A[i] -> [(i)] }]"
PARTS = "{ A[i] -> B[(i)/2, (i)]; C[] -> [(3)] }"
NOTHING = "{ A[i] -> B[(i)/2]; C[i] -> D[] : i > 0 }"
WHOLE = "{ A[i] -> B[(i), (i)]; C[] -> [(3)] }"


def sizes(m, tuple_="", *numbers):
    names = ", ".join("abc"[: len(numbers)])
    given = m.ValList.from_val(m.Val(numbers[0]))
    for n in numbers[1:]:
        given = given.add(m.Val(n))
    return m.MultiVal.from_val_list(m.Set(f"{{ {tuple_}[{names}] }}").get_space(), given)


def two_of_a_list(m):
    functions = m.UnionPwAffList.from_union_pw_aff(m.UnionPwAff(HALF))
    space = m.Set("{ L[a, b] }").get_space()
    return m.MultiUnionPwAff.from_union_pw_aff_list(space, functions.add(m.UnionPwAff("{ A[i] -> [(i)] }")))


CALLS = {
    "read a value": (lambda m: m.UnionPwAff("[N] -> { A[i] -> [(i)/2]; B[i, j] -> [(N)] }"),
                     "[N] -> { A[i] -> [(i)/2]; B[i, j] -> [(N)] }"),
    "read values": (lambda m: m.UnionPwMultiAff(PARTS), PARTS),
    "read a tuple": (lambda m: m.MultiUnionPwAff(TWO), "[N] -> { A[i] -> L[(i)/2, (i)]; B[i, j] -> L[(N), (j)] }"),
    "read a domain": (lambda m: m.MultiUnionPwAff("(L[{ A[i] -> [(i)/2]; B[] -> [(1)] }] : { A[i] : i > 4 })"),
                      "{ A[i] -> L[(i)/2] : i >= 5 }"),
    "read a parameter": (lambda m: m.MultiUnionPwAff("[N] -> L[{ [(N)/2] }]"), "[N] -> { L[(N)/2] }"),
    "floor": (lambda m: m.MultiUnionPwAff(TWO).floor(), "[N] -> { A[i] -> L[floor(i/2), i]; B[i, j] -> L[N, j] }"),
    "tiles": (lambda m: m.MultiUnionPwAff("[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]")
              .scale_down_multi_val(sizes(m, "", 4, 8)).floor(), "{ S[i, j] -> [floor(i/4), floor(j/8)] }"),
    "a tile": (lambda m: m.UnionPwAff("{ S[i] -> [(i)]; T[] -> [(7)] }").scale_down_val(m.Val(3)).floor(),
               "{ S[i] -> [floor(i/3)]; T[] -> [2] }"),
    "a quotient": (lambda m: m.UnionPwAff("{ S[i] -> [(i)]; T[] -> [(7)] }").scale_down_val(m.Val(3)),
                   "{ S[i] -> [(i)/3]; T[] -> [(7)/3] }"),
    "a remainder": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").mod_multi_val(sizes(m, "L", 3)),
                    "{ A[i] -> L[(i mod 6)/2] }"),
    "a product": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").scale_multi_val(sizes(m, "L", 3)),
                  "{ A[i] -> L[(3*i)/2] }"),
    "a remainder of one": (lambda m: m.UnionPwAff(HALF).mod_val(m.Val(2)), "{ A[i] -> [(i mod 4)/2] }"),
    "a sum": (lambda m: m.UnionPwMultiAff(PARTS).add(m.UnionPwMultiAff(PARTS)), "{ A[i] -> B[i, 2*i]; C[] -> [6] }"),
    "a mixed sum": (lambda m: m.UnionPwMultiAff(WHOLE).add(m.UnionPwMultiAff(PARTS)),
                    "{ A[i] -> B[(3*i)/2, (2*i)]; C[] -> [(6)] }"),
    "a difference": (lambda m: m.UnionPwAff("{ A[i] -> [(i)] }").sub(m.UnionPwAff(HALF)),
                     "{ A[i] -> [(i)/2] }"),
    "a union's sum": (lambda m: m.UnionPwAff("{ A[i] -> [(i)]; B[] -> [(1)] }")
                      .union_add(m.UnionPwAff("{ A[i] -> [(i + 1)/2] : i > 0; C[] -> [(1)/4] }")), None),
    "after": (lambda m: m.UnionPwMultiAff(PARTS)
              .pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ Q[i] -> A[(4i + 2)] }")),
              "{ Q[i] -> B[2*i + 1, 4*i + 2] }"),
    "without a parameter": (lambda m: m.MultiUnionPwAff("[N] -> L[{ A[i] -> [(i + N)/2]; B[] -> [(N)] }]")
                            .drop_dims(m.dim_type.param, 0, 1), "{ A[i] -> L[(i)/2]; B[] -> L[(0)] }"),
    "without a value": (lambda m: m.MultiUnionPwAff(TWO).drop_dims(m.dim_type.set, 0, 1),
                        "[N] -> { A[i] -> [i]; B[i, j] -> [j] }"),
    "in a context of one tuple": (lambda m: m.UnionPwMultiAff(PARTS).gist(m.UnionSet("{ A[i] : i > 0 }")),
                                  "{ A[i] -> B[(i)/2, (i)] }"),
    "of points": (lambda m: m.UnionPwMultiAff("{ A[i] -> [(i)] }")
                  .pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ Q[i] -> A[(i)/2] }")),
                  "{ Q[i] -> [floor(i/2)] : i mod 2 = 0 }"),
    "then": (lambda m: m.MultiUnionPwAff(ONE).apply_aff(m.Aff("{ L[i] -> [(i)/2] }")),
             "{ A[i] -> [(i)/2] }"),
    "then several": (lambda m: m.MultiUnionPwAff(ONE).apply_multi_aff(m.MultiAff("{ L[i] -> M[(i)/2] }")),
                     "{ A[i] -> M[(i)/2] }"),
    "from one": (lambda m: m.UnionPwAff.from_pw_aff(m.PwAff("{ A[i] -> [(i)/2] : i > 0 }")),
                 "{ A[i] -> [(i)/2] : i >= 1 }"),
    "from several": (lambda m: m.MultiUnionPwAff.from_multi_pw_aff(m.MultiPwAff("{ A[i] -> B[(i)/2, (i)] }")),
                     "{ A[i] -> B[(i)/2, (i)] }"),
    "from another": (lambda m: m.MultiUnionPwAff.from_union_pw_multi_aff(m.UnionPwMultiAff("{ A[i] -> B[(i)/2] }")),
                     "{ A[i] -> B[(i)/2] }"),
    "of a list": (two_of_a_list, "{ A[i] -> L[(i)/2, (i)] }"),
    "one of them": (lambda m: m.MultiUnionPwAff("L[{ A[i] -> [(i)] }, { A[i] -> [(i)] }]")
                    .set_union_pw_aff(1, m.UnionPwAff("{ A[i] -> [(i)/3] }")), "{ A[i] -> L[(i), (i)/3] }"),
    "a member": (lambda m: m.MultiUnionPwAff(TWO).get_union_pw_aff(0), "[N] -> { A[i] -> [(i)/2]; B[i, j] -> [(N)] }"),
    "a whole member": (lambda m: m.MultiUnionPwAff(TWO).get_union_pw_aff(1), "[N] -> { A[i] -> [i]; B[i, j] -> [j] }"),
    "at points": (lambda m: m.MultiUnionPwAff(TWO).intersect_domain(m.UnionSet("{ A[i] : i > 4; C[] }")),
                  "[N] -> { A[i] -> L[(i)/2, (i)] : i >= 5 }"),
    "for parameters": (lambda m: m.UnionPwAff(HALF).intersect_params(m.Set("[N] -> { : N > 2 }")),
                       "[N] -> { A[i] -> [(i)/2] : N >= 3 }"),
    "elsewhere": (lambda m: m.UnionPwAff(HALF).subtract_domain(m.UnionSet("{ A[i] : i > 4; C[] }")),
                  "{ A[i] -> [(i)/2] : i <= 4 }"),
    "side by side": (lambda m: m.MultiUnionPwAff(ONE)
                     .flat_range_product(m.MultiUnionPwAff(f"L[{HALF}]")), "{ A[i] -> [(i), (i)/2] }"),
    "pairs": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").range_product(m.MultiUnionPwAff(f"M[{HALF}]")),
              "{ A[i] -> [L[(i)/2] -> M[(i)/2]] }"),
    "beside nothing": (lambda m: m.MultiUnionPwAff("C[]").flat_range_product(m.MultiUnionPwAff(f"L[{HALF}]")),
                       "{ A[i] -> [(i)/2] }"),
    "under a name": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").set_tuple_name(m.dim_type.set, "M"),
                     "{ A[i] -> M[(i)/2] }"),
    "without a name": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").reset_tuple_id(m.dim_type.set),
                       "{ A[i] -> [(i)/2] }"),
    "with the other sign": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").neg(), "{ A[i] -> L[(-i)/2] }"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, (_, text) in CALLS.items() if text])
def test_what_it_is(name):
    make, text = CALLS[name]
    f = make(ours)
    assert str(f) == text and isinstance(f, ours.UnionPwAff)
    assert isinstance(f, ours.UnionMap) == (")/" not in text)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "read a parameter"])  # of which isl has no relation
def test_what_it_is_beside_islpy(name):
    isl = pytest.importorskip("islpy")
    make, _ = CALLS[name]
    assert times_twelve(ours, make(ours)).is_equal(times_twelve(isl, make(isl)))


QUESTIONS = [
    lambda m: str(m.UnionPwAff("{ A[i] -> [(i - 4)/2]; B[j] -> [(1)] }").zero_union_set()).replace("i = ", ""),
    lambda m: m.UnionMap.from_union_pw_multi_aff(m.UnionPwMultiAff(PARTS)),
    lambda m: m.MultiUnionPwAff(TWO).domain(),
    lambda m: m.MultiUnionPwAff(TWO).get_space().dim(m.dim_type.set),
    lambda m: m.MultiUnionPwAff(TWO).dim(m.dim_type.set),
    lambda m: m.UnionPwMultiAff(PARTS).get_space().is_params(),
    lambda m: m.UnionPwMultiAff(PARTS).plain_is_equal(m.UnionPwMultiAff(PARTS)),
    lambda m: m.UnionPwMultiAff(PARTS).plain_is_equal(m.UnionPwMultiAff(WHOLE)),
    lambda m: m.UnionPwMultiAff(PARTS).n_pw_multi_aff(),
    lambda m: str(m.UnionPwMultiAff(PARTS).extract_pw_multi_aff(m.Map("{ A[i] -> B[a, b] }").get_space())),
    lambda m: str(m.UnionPwAff("{ A[i] -> [(i)/2]; C[] -> [3] }").extract_pw_aff(m.Map("{ A[i] -> [b] }").space)),
    lambda m: len(m.UnionPwMultiAff(PARTS).get_pw_multi_aff_list()),
]


@pytest.mark.parametrize("k", range(len(QUESTIONS)))
def test_what_it_is_asked_beside_islpy(k):
    isl = pytest.importorskip("islpy")
    found, wanted = (QUESTIONS[k](m) for m in (ours, isl))
    if hasattr(found, "is_equal") and not isinstance(found, bool):
        assert found.is_equal(type(found)(str(wanted)))
    else:
        assert found == wanted


def test_functions_of_parts():
    f = ours.UnionPwAff("{ A[i] -> [(i)/2] : 0 <= i <= 5; C[] -> [(1)] }")
    assert str(f.max_val()) == "5/2" and str(f.min_val()) == "0" and not f.involves_nan() and f.size() == 1
    seen = []
    f.foreach_pw_aff(seen.append)
    f.foreach_pw_multi_aff(seen.append)
    assert [str(s) for s in seen[:2]] == ["{ A[i] -> [(i)/2] : 0 <= i <= 5 }", "{ C[] -> [(1)] }"] and len(seen) == 4
    assert [str(s) for s in f.get_pw_aff_list()] == [str(s) for s in seen[:2]]
    assert f == f.coalesce() == f.copy() and hash(f) == hash(f.copy())
    assert f.is_equal(f.gist(f.domain()).intersect_domain(f.domain()))
    assert f.as_multi_union_pw_aff().get_space().dim(ours.dim_type.set) == 1
    assert f.extract_pw_aff(ours.Map("{ B[] -> [i] }").get_space()).is_empty()
    with pytest.raises(ours.Error, match="gives one number"):
        ours.MultiUnionPwAff("L[{ A[i] -> M[(i)/2] }]")


def test_a_relation_of_the_sets_has_integers():
    with pytest.raises(ours.NotAffine, match="a fraction"):
        ours.Map("{ S[i] -> [4i] }").scale_down_val(8)


MORE = {
    "bound": (lambda m: m.UnionPwAff("[P] -> { S[i, j] -> [(i + j)/3] }").bind_id(m.Id("P")),
              "[P] -> { S[i, j] : j = 3*P - i }"),
    "another value": (lambda m: m.MultiUnionPwAff(TWO).set_union_pw_aff(0, m.UnionPwAff("{ A[i] -> [(i)] }")),
                      "[N] -> { A[i] -> L[i, i] }"),
    "spliced": (lambda m: m.MultiUnionPwAff(f"L[{HALF}]").range_splice(1, m.MultiUnionPwAff(ONE)),
                "{ A[i] -> [(i)/2, (i)] }"),
    "second": (lambda m: m.MultiUnionPwAff(ONE).range_product(m.MultiUnionPwAff(f"M[{HALF}]")).factor_range(),
               "{ A[i] -> M[(i)/2] }"),
    "one less": (lambda m: m.MultiUnionPwAff(ONE[:-1] + ", { A[i] -> [(2i)] }]").drop_dims(m.dim_type.out, 0, 1),
                 "{ A[i] -> [2*i] }"),
    "a name": (lambda m: m.MultiUnionPwAff(TWO).get_tuple_name(m.dim_type.out), "L"),
    "the points": (lambda m: m.MultiUnionPwAff(TWO).get_domain_space().dim(m.dim_type.param), "1"),
    "the integers": (lambda m: m.MultiUnionPwAff(ONE).get_domain_space().is_params(), "True"),
    "simpler": (lambda m: m.UnionPwAff("[N] -> { A[i] -> [(i)/2] : N > 3 }").gist_params(m.Set("[N] -> { : N > 3 }")),
                "[N] -> { A[i] -> [(i)/2] }"),
    "simpler for some": (lambda m: m.UnionPwAff("[N] -> { A[i] -> [(i)/2] : N > 3 }")
                         .gist(m.UnionSet("[N] -> { : N > 3 }")), "[N] -> { A[i] -> [(i)/2] }"),
    "and one more": (lambda m: m.UnionPwAff(HALF).add_pw_aff(m.PwAff("{ T[] -> [(1)/2] }")),
                     "{ A[i] -> [(i)/2]; T[] -> [(1)/2] }"),
    "after two": (lambda m: m.UnionPwMultiAff("{ A[i] -> L[(i)/2]; B[i] -> L[(i)/3] }")
                  .pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ S[i] -> A[i] : i < 0; S[i] -> B[i] : i > 1 }")),
                  "{ S[i] -> L[(i)/2] : i <= -1; S[i] -> L[(i)/3] : i >= 2 }"),
    "at none of one": (lambda m: m.UnionPwMultiAff("{ A[i] -> L[(i)/2] : i > 0; B[i] -> L[(i)/3] }")
                       .subtract_domain(m.UnionSet("{ A[i] }")), "{ B[i] -> L[(i)/3] }"),
    "at none": (lambda m: m.UnionPwMultiAff("[N] -> { A[i] -> L[(i)/2] : i > N }")
                .intersect_domain(m.UnionSet("[N] -> { A[i] : i < N }")), "[N] -> { }"),
    "a mixed remainder": (lambda m: m.UnionPwAff("{ A[i] -> [(i)/2]; C[i] -> [(i)] : i > 0 }").mod_val(m.Val(3)),
                          "{ A[i] -> [(i mod 6)/2]; C[i] -> [(i mod 3)] : i >= 1 }"),
    "without values": (lambda m: m.UnionPwMultiAff(NOTHING), "{ A[i] -> B[(i)/2]; C[i] -> D[] : i >= 1 }"),
    "without values at": (lambda m: m.UnionPwMultiAff(NOTHING).intersect_domain(m.UnionSet("{ A[i]; C[i] : i < 5 }")),
                          "{ A[i] -> B[(i)/2]; C[i] -> D[] : 1 <= i <= 4 }"),
    "without values, sum": (lambda m: m.UnionPwMultiAff(NOTHING)
                            .union_add(m.UnionPwMultiAff("{ C[i] -> D[] : i > -3 }")),
                            "{ A[i] -> B[(i)/2]; C[i] -> D[] : i >= -2 }"),
    "without values, beside": (lambda m: m.UnionPwMultiAff(NOTHING)
                               .flat_range_product(m.UnionPwMultiAff("{ A[i] -> [(i)/3]; C[i] -> [(i)/4] : i < 9 }")),
                               "{ A[i] -> [(i)/2, (i)/3]; C[i] -> [(i)/4] : 1 <= i <= 8 }"),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_of_isls_names(name):
    make, text = MORE[name]
    assert str(make(ours)) == text


@pytest.mark.parametrize("name", [name for name in MORE if name != "bound"])  # whose Id is another in isl
def test_more_of_isls_names_beside_islpy(name):
    isl = pytest.importorskip("islpy")
    found, wanted = (MORE[name][0](m) for m in (ours, isl))
    if hasattr(wanted, "get_space"):
        assert times_twelve(ours, found).is_equal(times_twelve(isl, wanted))
    else:
        assert found == wanted


def test_what_is_missing_says_so():
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        _ = ours.UnionPwAff(HALF).foo
    assert not hasattr(ours.UnionPwAff(HALF), "_x")


def test_points_of_functions_without_values():
    f = ours.UnionPwMultiAff(NOTHING)
    assert f.domain() == ours.UnionSet("{ A[i]; C[i] : i > 0 }") and f.is_equal(f.coalesce())
    assert str(ours.UnionPwMultiAff("{ C[i] -> D[]; A[i] -> B[(i)/2] }").apply(f)) == "{ }"
    assert str(ours.UnionPwMultiAff("{ S[i] -> C[(i)/2] }").apply(f)) == "{ S[i] -> D[] : i mod 2 = 0 and i >= 2 }"
    product = ours.UnionPwMultiAff("{ C[i] -> E[(i)/3] }").range_product(f)
    assert str(product) == "{ C[i] -> [E[(i)/3] -> D[]] : i >= 1 }"


def test_a_mistake_in_a_member_is_shown_where_it_stands():
    text = "[N] -> L[{ S[i] -> [(i)/2] }, { S[i] -> [(q)/4] }]"
    with pytest.raises(ours.Error, match="unknown name 'q'") as wrong:
        ours.MultiUnionPwAff(text)
    assert wrong.value.at == text.index("q")
    with pytest.raises(ours.Error, match="one number") as wrong:
        ours.MultiUnionPwAff("L[{ S[i] -> [(i)/2] }, { S[i] -> [(i), i] }]")
    assert wrong.value.at == 23


def test_wrong_arguments_of_a_function_with_fractions():
    f, g = ours.UnionPwMultiAff(PARTS), ours.MultiUnionPwAff(ONE)
    for call in (f.intersect_domain, f.subtract_domain, f.gist, g.intersect_domain):
        with pytest.raises(ours.Error, match="needs a Set, not an int"):
            call(3)
    with pytest.raises(ours.Error, match="an int is none"):
        f.foreach_pw_multi_aff(3)
    with pytest.raises(ours.Error, match="no truth value"):
        bool(f)


def test_functions_that_are_equal_are_one_in_islpys_place(monkeypatch):
    one, other = (ours.UnionPwAff(f"{{ A[i] -> [(i)/2] : {c}; T[] -> [(1)] }}") for c in ("2i > 5", "i > 2 and 3i > 8"))
    third = ours.UnionPwAff("{ A[i] -> [(i)/2] : i > 2 or i < 0; T[] -> [(1)] }")
    parts = ours.UnionPwAff("{ A[i] -> [(i)/2] : i >= 0; A[i] -> [(i)/2] : i < 0; T[] -> [(1)] }")
    whole = ours.UnionPwAff("{ A[i] -> [(i)/2]; T[] -> [(1)] }")
    assert one == other and one != third and parts != whole
    monkeypatch.setattr(type(ours.Set), "as_islpy", True)
    assert parts == whole and hash(parts) == hash(whole) and one != third and bool(one)


NONE = "{ A[i] -> B[NaN, (i)] : i >= 4; C[i] -> D[(i)] }"
OF_NAN = {
    "read": (lambda m: m.UnionPwMultiAff(NONE), NONE),
    "read one": (lambda m: m.UnionPwAff("{ A[i] -> [NaN]; B[i] -> [i/3] : i > 2 }"),
                 "{ A[i] -> [NaN]; B[i] -> [(i)/3] : i >= 3 }"),
    "asked": (lambda m: m.UnionPwMultiAff(NONE).involves_nan(), "True"),
    "equal": (lambda m: m.UnionPwMultiAff(NONE).plain_is_equal(m.UnionPwMultiAff(NONE)), "False"),
    "negative": (lambda m: m.UnionPwMultiAff(NONE).neg(), "{ A[i] -> B[NaN, (-i)] : i >= 4; C[i] -> D[(-i)] }"),
    "without": (lambda m: m.UnionPwMultiAff(NONE).subtract_domain(m.UnionSet("{ C[i] }")),
                "{ A[i] -> B[NaN, (i)] : i >= 4 }"),
    "after": (lambda m: m.UnionPwMultiAff(NONE).pullback_union_pw_multi_aff(m.UnionPwMultiAff("{ Q[j] -> A[-j] }")),
              "{ Q[j] -> B[NaN, (-j)] : j <= -4 }"),
    "beside": (lambda m: m.UnionPwMultiAff(NONE).range_product(m.UnionPwMultiAff(NONE)),
               "{ A[i] -> [B[NaN, (i)] -> B[NaN, (i)]] : i >= 4; C[i] -> [D[(i)] -> D[(i)]] }"),
    "one piece": (lambda m: m.PwMultiAff("{ A[i] -> B[i/2, i] : i > 3; A[i] -> B[NaN, 0] : i < 0 }"),
                  "{ A[i] -> B[(i)/2, (i)] : i >= 4; A[i] -> B[NaN, (0)] : i <= -1 }"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NAN)
def test_what_is_nan_somewhere(name):
    make, text = OF_NAN[name]
    assert str(make(ours)) == text
    isl = pytest.importorskip("islpy")
    pieces = lambda t: sorted(t.replace("i < 0", "i <= -1").strip("{ }").split("; "))  # noqa: E731 - in isl's order
    assert pieces(str(make(isl))) == pieces(text)


def test_nan_has_no_graph():
    for text in (NONE, f"[{'{ A[i] -> [NaN] : i > 3 }'}]"):
        with pytest.raises(ours.Error, match="NaN is no point"):
            ours.UnionMap.from_union_pw_multi_aff(ours.MultiUnionPwAff(text))
    with pytest.raises(ours.Error, match="no integer"):
        ours.UnionMap("{ A[i] -> [NaN] }")
