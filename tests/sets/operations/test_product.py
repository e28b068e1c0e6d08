"""Products, wrapping, factors and orders by example, and their errors; laws are in `tests.sets.laws`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import Map, Set, SpaceMismatch
from tests.sets.brute import examples

F, G = Map("[N] -> { A[i] -> B[j] : 0 <= i < N and j = 2i }"), Map("{ C[k] -> D[l] : k <= l }")
NESTED = Map("{ [A[i] -> B[j]] -> [C[k] -> D[l]] : i < j and k = i + 1 and l <= j }")


def test_products_of_sets_and_maps():
    expected = Map("[N] -> { [A[i] -> C[k]] -> [B[j] -> D[l]] : 0 <= i < N and j = 2i and k <= l }")
    assert F.product(G).is_equal(expected)
    assert F.flat_product(G).is_equal(Map("[N] -> { [i, k] -> [2i, l] : 0 <= i < N and k <= l }"))
    both = Set("{ S[i] : i > 0 }").product(Set("[N] -> { T[j] : j < N }"))
    assert both.is_equal(Set("[N] -> { [S[i] -> T[j]] : i > 0 and j < N }")) and both.is_wrapping()
    assert Set("{ S[i] : i > 0 }").flat_product(Set("{ T[j] }")).is_equal(Set("{ [i, j] : i > 0 }"))


def test_products_pair_every_tuple_with_every_tuple():
    several = Set("{ S[i] : i > 0; T[i, j] }").product(Set("{ R[] }"))
    assert several.is_equal(Set("{ [S[i] -> R[]] : i > 0; [T[i, j] -> R[]] }"))
    access = Map("{ S[i] -> A[i]; S[i] -> B[i + 1]; T[i] -> A[2i] }")
    pairs = access.range_product(Map("{ S[i] -> [0, i] }"))
    assert pairs.is_equal(Map("{ S[i] -> [A[i] -> [0, i]]; S[i] -> [B[i + 1] -> [0, i]] }"))


def test_sharing_a_side():
    rows, columns = Map("{ S[i] -> [floor(i/8)] : i >= 0 }"), Map("{ S[i] -> [i mod 8] : i < 64 }")
    tile = rows.flat_range_product(columns)
    assert tile.is_equal(Map("{ S[i] -> [floor(i/8), i mod 8] : 0 <= i < 64 }")) and tile.is_bijective()
    assert rows.range_product(columns).flatten_range().is_equal(tile)
    joined = Map("{ A[i] -> C[i] }").domain_product(Map("{ B[j] -> C[j + 1] }"))
    assert joined.is_equal(Map("{ [A[i] -> B[j]] -> C[i] : i = j + 1 }"))
    assert joined.flatten_domain().is_equal(Map("{ A[i] -> C[i] }").flat_domain_product(Map("{ B[j] -> C[j + 1] }")))


def test_wrapping_and_back():
    assert F.wrap().unwrap().is_equal(F) and F.wrap().is_wrapping() and not F.domain().is_wrapping()
    assert NESTED.domain_is_wrapping() and NESTED.range_is_wrapping() and not F.range_is_wrapping()
    assert NESTED.wrap().unwrap().is_equal(NESTED)
    assert NESTED.zip().zip().is_equal(NESTED)
    assert NESTED.zip().is_equal(Map("{ [A[i] -> C[k]] -> [B[j] -> D[l]] : i < j and k = i + 1 and l <= j }"))
    assert NESTED.curry().is_equal(Map("{ A[i] -> [B[j] -> [C[k] -> D[l]]] : i < j and k = i + 1 and l <= j }"))
    assert NESTED.curry().uncurry().is_equal(NESTED)
    assert NESTED.domain_reverse().domain_reverse().is_equal(NESTED)
    assert NESTED.range_reverse().is_equal(Map("{ [A[i] -> B[j]] -> [D[l] -> C[i + 1]] : i < j and l <= j }"))
    assert NESTED.flatten().is_equal(Map("{ [i, j] -> [i + 1, l] : i < j and l <= j }"))


def test_tuples_that_wrap_none_stay_as_they_are_where_others_are_flattened():
    """As isl has it: `flatten`, `flatten_domain` and `flatten_range` take the name of wrapping tuples alone."""
    one_sided = Map("{ A[i] -> N[B[i] -> C[i + 1]] }")
    assert one_sided.flatten().is_equal(Map("{ A[i] -> [i, i + 1] }"))
    assert one_sided.flatten_domain().is_equal(one_sided) and one_sided.flatten_range().is_equal(one_sided.flatten())
    assert Set("{ S[i]; N[A[i] -> B[j]]; P[] }").flatten().is_equal(Set("{ S[i]; [i, j]; P[] }"))


def test_names_of_wrapping_tuples_when_curried():
    """The range's own name stays, that of the pair inside goes, as in isl."""
    nested = Map("{ A[] -> N[M[B[i] -> C[j]] -> D[k]] }")
    assert nested.range_curry().is_equal(Map("{ A[] -> N[B[i] -> [C[j] -> D[k]]] }"))


@pytest.mark.parametrize(
    "pair, turned",
    [
        ("N[B[x] -> B[y]]", "N[B[y] -> B[x]]"),
        ("N[[x] -> [y]]", "N[[y] -> [x]]"),
        ("N[B[x] -> C[y]]", "[C[y] -> B[x]]"),
        ("N[[x] -> [y, z]]", "[[y, z] -> [x]]"),
        ("N[Q[B[x] -> C[y]] -> Q[B[z] -> C[w]]]", "N[Q[B[z] -> C[w]] -> Q[B[x] -> C[y]]]"),
        ("N[Q[B[x] -> C[y]] -> Q[C[z] -> C[w]]]", "[Q[C[z] -> C[w]] -> Q[B[x] -> C[y]]]"),
    ],
)
def test_a_wrapped_tuple_of_two_equal_ones_keeps_its_name_reversed(pair, turned):
    where = "x >= 0 and y = 2x"
    assert Map(f"{{ {pair} -> A[x] : {where} }}").domain_reverse().is_equal(Map(f"{{ {turned} -> A[x] : {where} }}"))
    assert Map(f"{{ A[y] -> {pair} : {where} }}").range_reverse().is_equal(Map(f"{{ A[y] -> {turned} : {where} }}"))
    assert Set(f"{{ {pair} : {where} }}").wrapped_reverse().is_equal(Set(f"{{ {turned} : {where} }}"))


def test_of_several_tuples_the_wrapped_ones_are_meant():
    some = Map("{ [A[i] -> B[j]] -> C[i + j] : i > 0; D[i] -> C[i]; A[i] -> [A[j] -> B[k]] : j <= k <= i }")
    assert some.domain_reverse().is_equal(Map("{ [B[j] -> A[i]] -> C[i + j] : i > 0 }"))
    assert some.range_reverse().is_equal(Map("{ A[i] -> [B[k] -> A[j]] : j <= k <= i }"))
    assert some.curry().is_equal(Map("{ A[i] -> [B[j] -> C[i + j]] : i > 0 }"))
    assert some.uncurry().is_equal(Map("{ [A[i] -> A[j]] -> B[k] : j <= k <= i }"))
    assert some.domain().unwrap().is_equal(Map("{ A[i] -> B[j] : i > 0 }"))
    assert some.domain_factor_range().is_equal(Map("{ B[j] -> C[k] : k > j }"))
    assert some.zip().is_empty() and some.factor_domain().is_empty() and some.range_curry().is_empty()


def test_factors():
    assert NESTED.factor_domain().is_equal(Map("{ A[i] -> C[i + 1] }"))
    assert NESTED.factor_range().is_equal(Map("{ B[j] -> D[l] : l <= j }"))
    assert NESTED.domain_factor_domain().is_equal(Map("{ A[i] -> [C[i + 1] -> D[l]] }"))
    assert NESTED.domain_factor_range().is_equal(Map("{ B[j] -> [C[k] -> D[l]] : k <= j and l <= j }"))
    assert NESTED.range_factor_domain().is_equal(Map("{ [A[i] -> B[j]] -> C[i + 1] : i < j }"))
    assert NESTED.range_factor_range().is_equal(Map("{ [A[i] -> B[j]] -> D[l] : i < j and l <= j }"))


def test_maps_from_pairs_to_their_parts():
    assert F.domain_map().is_equal(Map("[N] -> { [A[i] -> B[2i]] -> A[i] : 0 <= i < N }"))
    assert F.range_map().is_equal(Map("[N] -> { [A[i] -> B[2i]] -> B[2i] : 0 <= i < N }"))
    assert F.wrap().apply(F.domain_map()).is_equal(F.domain())
    step = Map("{ S[i, j] -> S[i + 1, j - i] : 0 <= i < 3 }")
    assert step.deltas().is_equal(Set("{ S[1, d] : -2 <= d <= 0 }"))
    assert step.deltas_map().range().is_equal(step.deltas())
    assert Map("{ A[i] -> [2i] }").deltas().tuple_names == (None,)
    assert Map("{ A[i] -> A[2i]; [i] -> B[i]; [i, j] -> [[i] -> [j]] }").deltas().is_equal(Set("{ A[d] }"))
    wrapped = Map("{ N[[s] -> A[i]] -> N[[s + 1] -> A[2]] : 0 <= i <= 2 }")
    assert wrapped.deltas().is_equal(Set("{ N[[1] -> A[d]] : 0 <= d <= 2 }"))
    assert wrapped.deltas_map().range().is_equal(wrapped.deltas())
    with pytest.raises(SpaceMismatch, match="inputs and outputs of one name"):
        Map("{ A[i] -> B[2i] }").deltas()


def test_names_stay_distinct():
    twice = Map("{ S[i] -> S[i + 1] }").product(Map("{ S[i] -> S[i + 2] }"))
    assert len(set(twice.dims())) == 4
    assert twice.is_equal(Map("{ [S[i] -> S[j]] -> [S[i + 1] -> S[j + 2]] }"))


# ---- orders


def test_orders_of_sets_maps_and_spaces():
    square = Set("{ [i, j] : 0 <= i, j < 3 }")
    assert square.lex_lt_set(square).is_equal(
        Map("{ [i, j] -> [k, l] : (i < k or i = k and j < l) and 0 <= i, j, k, l < 3 }")
    )
    assert (square.lex_le_set(square) - square.lex_lt_set(square)).is_equal(square.identity())
    assert square.lex_gt_set(square).is_equal(square.lex_lt_set(square).reverse())
    assert Map.lex_ge("[i, j]").is_equal(Map.lex_le("[i, j]").reverse())
    assert Map.lex_lt("S[i]").union(Map.lex_gt("S[i]")).is_equal(Map("{ S[i] -> S[j] : i != j }"))
    assert Map.lex_le("P[]").is_equal(Map("{ P[] -> P[] }")) and Map.lex_lt("P[]").is_empty()
    time = Map("{ S[i] -> [i, 0]; T[i] -> [i, 1] }")
    before = time.lex_lt_map(time)
    assert before.is_equal(time.lex_gt_map(time).reverse())
    assert time.lex_le_map(time).is_equal(before | time.domain().identity())
    assert time.lex_ge_map(time).is_disjoint(before)


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=6), st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=6)
)
@examples(40)
def test_the_order_is_that_of_python_tuples(a, b):
    left, right = Set.from_points("[i, j, k]", a), Set.from_points("[i, j, k]", b)
    pairs = {x + y for x in a for y in b if x < y}
    assert set(left.lex_lt_set(right).points()) == pairs
    assert set(right.lex_gt_set(left).points()) == {p[3:] + p[:3] for p in pairs}
    assert set(left.lex_le_set(right).points()) == {x + y for x in a for y in b if x <= y}
    assert set(left.lex_ge_set(right).points()) == {x + y for x in a for y in b if x >= y}


ERRORS = [
    (lambda: F.domain().unwrap(), "unwrap needs a wrapped tuple such as [A[i] -> B[j]], not A[i]"),
    (lambda: F.curry(), "curry needs a wrapped tuple"),
    (lambda: F.uncurry(), "uncurry needs a wrapped tuple"),
    (lambda: F.domain_reverse(), "domain_reverse needs a wrapped tuple"),
    (lambda: F.zip(), "zip needs a wrapped tuple"),
    (lambda: F.factor_range(), "factor_range needs a wrapped tuple"),
    (lambda: F.range_product(G), "a range product needs domains in one space\n  first: A[i] -> B[j]\n  second: C[k]"),
    (lambda: F.domain_product(G), "a domain product needs ranges in one space"),
    (lambda: F.product(F.domain()), "a product needs two Maps, not a Map and a Set"),
    (lambda: F.domain().lex_lt_set(G.domain()), "an order needs two sets of one space\n  A[i]\n  C[k]"),
    (lambda: F.domain().lex_lt_set(G), "an order needs a Set, not a Map"),
    (lambda: F.lex_lt_map(G), "first: A[i] -> B[j]"),
    (lambda: Map.lex_lt(3), "a space is a text such as 'S[i, j]', not 3"),
    (lambda: F.intersect_domain(G.domain()), "the set is not in the space of the domain\n  domain: A[i]\n  set: C[k]"),
    (lambda: F.intersect_range(G.domain()), "the set is not in the space of the range"),
    (lambda: F.intersect_range(G), "a restriction of the range needs a Set"),
    (lambda: F.apply_domain(F.domain()), "a composition needs a Map, not a Set"),
    (lambda: F(G), "a map applied to something needs a Set, not a Map"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_an_error_says_what_and_where(call, message):
    with pytest.raises(SpaceMismatch) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("make", [Map.identity, Map.lex_lt, Map.lex_ge])
def test_an_order_is_of_one_tuple(make):
    with pytest.raises(SpaceMismatch, match="without an arrow"):
        make("A[i] -> B[j]")
