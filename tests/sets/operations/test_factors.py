"""Restrictions of factors, preimages, gists of a side: against their definitions, by enumeration."""

from itertools import product

import pytest

from polyvolta.sets import Map, MultiPwAff, NotAFunction, PwAff, Set, SpaceMismatch

BOX = "0 <= i, j, k <= 3"
PAIRS = Map(f"{{ [A[i] -> B[j]] -> C[k] : {BOX} and i + j >= k }}")
WITHIN = Map(f"{{ C[k] -> [A[i] -> B[j]] : {BOX} and i + j >= k }}")
CUBE = [(i, j, k) for i, j, k in product(range(4), repeat=3) if i + j >= k]


def triples(m, order=(0, 1, 2)):
    return {tuple(p[d] for d in order) for p in m.wrap().points()}


def test_factors_of_maps_are_restricted():
    ac, bc = Map("{ A[i] -> C[k] : i < k }"), Map("{ B[j] -> C[k] : k = 2j }")
    assert triples(PAIRS.intersect_domain_factor_domain(ac)) == {p for p in CUBE if p[0] < p[2]}
    assert triples(PAIRS.intersect_domain_factor_range(bc)) == {p for p in CUBE if p[2] == 2 * p[1]}
    back = (1, 2, 0)
    assert triples(WITHIN.intersect_range_factor_domain(ac.reverse()), back) == {p for p in CUBE if p[0] < p[2]}
    assert triples(WITHIN.intersect_range_factor_range(bc.reverse()), back) == {p for p in CUBE if p[2] == 2 * p[1]}


def test_tuples_of_a_pair_are_restricted():
    some = Set("{ A[i] : i mod 2 = 1; A[i] : i = 2 }")
    assert triples(PAIRS.intersect_domain_wrapped_domain(some)) == {p for p in CUBE if p[0] > 0}
    assert triples(WITHIN.intersect_range_wrapped_domain(some), (1, 2, 0)) == {p for p in CUBE if p[0] > 0}
    wrapped = PAIRS.domain()
    assert set(wrapped.intersect_factor_domain(some).points()) == {p for p in wrapped.points() if p[0] > 0}
    late = Set("[N] -> { B[j] : j >= N }")
    assert set(wrapped.intersect_factor_range(late).points(N=2)) == {p for p in wrapped.points() if p[1] >= 2}


def test_of_several_tuples_those_with_the_factor_stay():
    several = PAIRS | Map("{ [A[i] -> D[]] -> C[i]; A[i] -> C[i] }")
    assert several.intersect_domain_wrapped_domain(Set("{ A[1] }")).is_equal(
        PAIRS.fix(i=1) | Map("{ [A[1] -> D[]] -> C[1] }")
    )
    assert several.intersect_domain_factor_range(Map("{ D[] -> C[k] : k < 2 }")).is_equal(
        Map("{ [A[i] -> D[]] -> C[i] : i < 2 }")
    )


def test_a_factor_elsewhere_is_a_mistake():
    with pytest.raises(SpaceMismatch, match="the factor is in another space"):
        PAIRS.intersect_domain_wrapped_domain(Set("{ B[i] }"))
    with pytest.raises(SpaceMismatch, match="needs a wrapped tuple"):
        Set("{ A[i] }").intersect_factor_domain(Set("{ A[i] }"))
    with pytest.raises(SpaceMismatch, match="needs a Map"):
        PAIRS.intersect_domain_factor_domain(Set("{ A[i] }"))


F = MultiPwAff("{ S[x] -> A[x - 1] : x > 0; S[x] -> A[-2x] : x < 0 }")


def f(x):
    return [x - 1] if x > 0 else [-2 * x] if x < 0 else []


def test_preimages():
    few, xs = Set("{ A[i] : 0 <= i < 5 and i != 2 }"), range(-9, 9)
    expected = {(x,) for x in xs for y in f(x) if 0 <= y < 5 and y != 2}
    assert set(few.preimage(F).points()) == expected == set(few.preimage(F.as_map()).points())
    assert few.preimage_pw_multi_aff(F).is_equal(few.preimage(F))
    step = Map("{ A[i] -> B[j] : 0 <= i <= j <= 4 }")
    found = set(step.preimage_domain(F).wrap().points())
    assert found == {(x, j) for x in xs for y in f(x) for j in range(5) if 0 <= y <= j}
    assert set(step.reverse().preimage_range(F).reverse().wrap().points()) == found
    assert Set("{ [i] : i > 3 }").preimage(PwAff("{ T[a] -> [(2a)] }")).is_equal(Set("{ T[a] : a >= 2 }"))


def test_preimages_of_unions_and_what_is_no_function():
    both = Set("{ A[i] : i > 0; B[i] : i > 1 }")
    assert both.preimage(F).is_equal(Set("{ A[i] : i > 0 }").preimage(F))
    united = Map("{ S[i] -> A[i]; T[i] -> B[2i]; U[i] -> C[i] }")
    assert both.preimage(united).is_equal(Set("{ S[i] : i > 0; T[i] : i > 0 }"))
    assert both.preimage_union_pw_multi_aff(united).is_equal(both.preimage(united))
    with pytest.raises(SpaceMismatch, match="the function leads elsewhere"):
        Set("{ B[i] }").preimage(F)
    with pytest.raises(NotAFunction):
        both.preimage(Map("{ S[i] -> A[j] }"))
    with pytest.raises(SpaceMismatch, match="needs a function, not a str"):
        both.preimage("S")


def test_pullbacks_by_their_long_names():
    g = PwAff("{ A[y] -> [(floor(y/2))] : y >= 0 }")
    for pulled in (g.pullback_multi_aff, g.pullback_pw_multi_aff, g.pullback_multi_pw_aff):
        assert pulled(F).is_equal(g.pullback(F))


def test_gists_of_a_side_and_of_parameters():
    m = Map("[N] -> { S[i] -> A[j] : 0 <= i < N and 0 <= j <= i; T[] -> A[j] : 0 <= j < N }")
    known = Set("[N] -> { S[i] : 0 <= i < N; T[] : N > 3 }")
    short = m.gist_domain(known)
    assert short.is_equal(Map("[N] -> { S[i] -> A[j] : 0 <= j <= i; T[] -> A[j] : 0 <= j < N }"))
    assert m.gist_range(Set("{ A[j] : j >= 0 }")).intersect_range(Set("{ A[j] : j >= 0 }")).is_equal(m)
    assert "j >= 0" not in str(m.gist_range(Set("{ A[j] : j >= 0 }")))
    assert (
        Set("[N] -> { [i] : i > N > 3 }").gist_params(Set("[N] -> { : N > 3 }")).is_equal(Set("[N] -> { [i] : i > N }"))
    )


def test_names_that_isl_has_for_it():
    m = Map("[N, M] -> { S[i] -> A[j] : 4i <= j < 4i + 4 and N = M }")
    assert m.range_simple_fixed_box_hull().size == m.box_hull().size == (4,)
    assert Set("{ A[i] : 2 <= i <= 3 }").simple_fixed_box_hull().size == (2,)
    assert m.project_out_param("N").param_names == ("M",) and m.project_out_all_params().param_names == ()


def test_restrictions_of_factors_leave_out_tuples_without_one():
    """Of a union the tuples with a factor in the relation stay; of one tuple, its space does in any case."""
    pairs = Map("{ [A[i] -> B[j]] -> C[k]; D[i] -> C[i]; [D[i] -> B[j]] -> C[k]; A[i] -> [D[i] -> C[j]] }")
    found = pairs.intersect_domain_factor_domain(Map("{ A[i] -> C[i + 1] }"))
    assert found.is_equal(Map("{ [A[i] -> B[j]] -> C[i + 1] }")) and len(found.parts) == 1
    found = pairs.intersect_range_factor_range(Map("{ A[i] -> C[i + 1] }"))
    assert found.is_equal(Map("{ A[i] -> [D[i] -> C[i + 1]] }")) and len(found.parts) == 1
    none = Map("{ A[i] -> [B[j] -> C[k]] }").intersect_range_factor_domain(Map("{ A[i] -> B[j] : false }"))
    assert none.is_empty() and str(none.space) == "A[i] -> [B[j] -> C[k]]"


def test_operations_on_unions_leave_out_what_has_no_counterpart():
    some, other = Map("{ A[i] -> B[i]; C[i] -> C[i + 1] }"), Map("{ Q[] -> R[] }")
    assert some.apply_range(other).is_empty() and some.range_product(other).is_empty()
    assert some.domain().apply(other).is_empty() and some.domain().lex_lt_set(other.domain()).is_empty()
    assert some.deltas().is_equal(Set("{ C[1] }"))
    assert Map("{ A[i] -> B[i] }").subtract_domain(Set("{ C[i] }")).is_equal(Map("{ A[i] -> B[i] }"))
    assert Map("{ A[i] -> B[i] }").subtract_range(Set("{ C[i] }")).is_equal(Map("{ A[i] -> B[i] }"))
