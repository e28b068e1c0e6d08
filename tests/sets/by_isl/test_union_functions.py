"""Relations as functions of several tuples, by isl's names, and texts of these: by hand and against lists of pairs."""

import pytest

from polyvolta.sets import Map, MultiPwAff, PwAff, Set, SetSyntaxError, SpaceMismatch, UnknownName

TEXTS = [  # with a domain, without values, wrapped
    ("(A[] : { S[x] : x > 0; T[y] : y >= 0 })", "{ S[x] -> A[] : x > 0; T[y] -> A[] : y >= 0 }"),
    ("[N] -> (A[] : { S[x] : x > N })", "[N] -> { S[x] -> A[] : x > N }"),
    ("(A[] : [N] -> { S[x] : x > N })", "[N] -> { S[x] -> A[] : x > N }"),
    ("(A[] : { })", "{ }"),
    ("(A[{ S[x] -> [x + 1]; T[x] -> [x] }] : { S[x] : x > 0; U[y] })", "{ S[x] -> A[x + 1] : x > 0 }"),
    ("[N] -> (A[{ S[x] -> [x + N] }] : { : N > 3 })", "[N] -> { S[x] -> A[x + N] : N > 3 }"),
    ("[B[{ S[i] -> [i] }] -> C[{ S[i] -> [2] }]]", "{ S[i] -> [B[i] -> C[2]] }"),
    ("T[B[] -> C[{ S[i] -> [i] }, { S[i] -> [7] }]]", "{ S[i] -> T[B[] -> C[i, 7]] }"),
    ("[N] -> ([B[] -> C[]] : { S[i] : i < N })", "[N] -> { S[i] -> [B[] -> C[]] : i < N }"),
]


@pytest.mark.parametrize(("text", "same"), TEXTS)
def test_a_text_with_a_domain_or_wrapped_tuples_is_a_relation(text, same):
    assert Map(text).is_equal(Map(same))


@pytest.mark.parametrize(("text", "said", "at"), [
    ("[N] -> (C[] : { : N >= 0 })", "a tuple of no functions has no domain", 7),
    ("(A[{ S[i] -> [i] }] : { S[j] : k > 0 })", "unknown name 'k'", 31),
    ("(A[{ S[i] -> [i] }] : [N] -> { S[j] : k > 0 })", "unknown name 'k'", 38),
    ("[B[{ S[i] -> [i] }] C[]]", "expected '->'", 20),
    ("[B[] -> C[{ S[i] -> [i] }]", "expected ']'", 26),
    ("(A[{ S[i] -> [i] }] : { S[i] }", "expected the end|expected '\\)'|expected", 30),
])  # fmt: skip
def test_mistakes_have_their_place(text, said, at):
    with pytest.raises(SetSyntaxError, match=said) as caught:
        Map(text + ")" if text.endswith("(") else text)
    if at < len(text):
        assert caught.value.at == at


def values(m, box=range(-5, 6)):
    """The pairs of a relation of one-dimensional tuples, by hand."""
    return {(s.source.name, x, s.out.name, y) for s, _ in m.parts for x in box for y in range(-40, 41)
            if m._of(m.param_names, [p for p in m.parts if p[0] == s]).contains((x, y))}  # fmt: skip


def test_sums_and_differences_of_functions_of_several_tuples():
    f = Map("{ A[x] -> [x] : x >= -2; B[x] -> [1] }")
    g = Map("{ A[x] -> [2x + 1] : x <= 2; C[x] -> [5] }")
    assert values(f.add(g)) == {("A", x, None, 3 * x + 1) for x in range(-2, 3)}
    assert values(f.sub(g)) == {("A", x, None, -x - 1) for x in range(-2, 3)}
    apart = {("A", x, None, 2 * x + 1) for x in range(-5, -2)} | {("A", x, None, x) for x in range(3, 6)}
    apart |= {("B", x, None, 1) for x in range(-5, 6)} | {("C", x, None, 5) for x in range(-5, 6)}
    assert values(f.union_add(g)) == values(f.add(g)) | apart
    low, high = Map("{ B[x] -> A[1] : x <= 0 }"), Map("{ B[x] -> C[2] : x > 0 }")
    assert low.union_add(high).is_equal(low | high) and low.add(high).is_empty()
    with pytest.raises(SpaceMismatch, match="the two have values in different spaces"):
        low.union_add(Map("{ B[x] -> C[2] : x >= 0 }"))
    assert Map("{ A[] -> [] }").add(Map("[N] -> { A[] -> [] : N > 0 }")).is_equal(Map("[N] -> { A[] -> [] : N > 0 }"))


def test_functions_of_functions():
    f = Map("{ A[x] -> L[x + 1]; B[x] -> L[2x] }")
    assert f.apply_pw_aff(PwAff("[N] -> { L[a] -> [a + N] }")).is_equal(
        Map("[N] -> { A[x] -> [x + 1 + N]; B[x] -> [2x + N] }"))  # fmt: skip
    both = Map("{ A[x] -> D[x + 1, 3]; B[x] -> D[2x, 3] }")
    assert f.apply_multi_aff(MultiPwAff("{ L[a] -> D[a, 3] }")).is_equal(both)
    assert f.apply_pw_multi_aff(MultiPwAff("{ Z[a] -> D[a] }")).is_empty()
    assert f.pullback_union_pw_multi_aff(Map("{ C[i] -> A[3i]; D[i] -> Z[i] }")).is_equal(Map("{ C[i] -> L[3i + 1] }"))
    assert f.pullback_union_pw_multi_aff(Map("{ D[i] -> Z[i] }")).is_empty()
    g = Map("[{ A[x] -> [x + 1]; B[x] -> [2x] }, { A[x] -> [7]; B[x] -> [x] }]")
    assert g.get_union_pw_aff(0).is_equal(Map("{ A[x] -> [x + 1]; B[x] -> [2x] }"))
    assert g.get_at(1).is_equal(Map("{ A[x] -> [7]; B[x] -> [x] }"))
    with pytest.raises(UnknownName, match="position 2 is out of range"):
        g.get_union_pw_aff(2)
    assert f.zero_union_set().is_equal(Set("{ A[-1]; B[0] }"))
    assert Map("{ A[x, y] -> [x, y - 3] }").zero_union_set().is_equal(Set("{ A[0, 3] }"))


def test_pairs_by_the_values_of_a_function():
    pairs, f = Map("{ A[i] -> B[j] : 0 <= i, j < 4 }"), Map("{ A[i] -> F[i + 1]; B[j] -> F[2j] }")
    wanted = {"eq": int.__eq__, "lex_lt": int.__lt__, "lex_le": int.__le__, "lex_gt": int.__gt__, "lex_ge": int.__ge__}
    for name, compare in wanted.items():
        found = getattr(pairs, f"{name}_at_multi_union_pw_aff")(f)
        assert values(found) == {("A", i, "B", j) for i in range(4) for j in range(4) if compare(i + 1, 2 * j)}


def test_restrictions_of_wrapped_inputs_keep_their_names():
    m = Map("{ [A[i] -> B[i]] -> C[i]; N[A[i] -> B[2i]] -> D[]; B[i] -> E[] }")
    assert m.intersect_domain_wrapped_range(Set("{ B[4]; A[1] }")).is_equal(
        Map("{ [A[4] -> B[4]] -> C[4]; N[A[2] -> B[4]] -> D[] }"))  # fmt: skip
    assert Map("{ A[i] -> B[i] }").intersect_domain_wrapped_range(Set("{ B[0] }")).is_empty()
    assert m.preimage_domain_wrapped_domain_union_pw_multi_aff(Map("{ Z[y] -> A[3y] }")).is_equal(
        Map("{ [Z[y] -> B[3y]] -> C[3y]; N[Z[y] -> B[6y]] -> D[] }"))  # fmt: skip
    assert m.preimage_domain_wrapped_domain_union_pw_multi_aff(Map("{ Z[y] -> B[3y] }")).is_empty()
    several = Map("{ [A[i] -> B[i]] -> C[i]; [A[i] -> D[i]] -> C[i]; [E[i] -> B[i]] -> F[i] }")
    wanted = Map("{ [Z[y] -> B[y]] -> C[y]; [Z[y] -> D[y]] -> C[y] }")
    assert several.preimage_domain_wrapped_domain_union_pw_multi_aff(Map("{ Z[y] -> A[y] }")).is_equal(wanted)
    assert several.intersect_domain_wrapped_range(Set("{ B[4] }")).is_equal(
        Map("{ [A[4] -> B[4]] -> C[4]; [E[4] -> B[4]] -> F[4] }"))  # fmt: skip


def test_functions_by_their_graphs():
    f = PwAff("{ T[A[x] -> B[y]] -> [5*(x // 2) + y] : x > y }")
    assert f.domain_reverse().is_equal(PwAff("{ [B[y] -> A[x]] -> [5*(x // 2) + y] : x > y }"))
    g = MultiPwAff("{ S[x] -> [B[x + 1] -> C[2, 3x]] : x > 0 }")
    assert g.range_factor_domain().is_equal(MultiPwAff("{ S[x] -> B[x + 1] : x > 0 }"))
    assert g.range_factor_range().is_equal(MultiPwAff("{ S[x] -> C[2, 3x] : x > 0 }"))
    assert MultiPwAff("[N] -> { B[N + 1, 3] : N > 0 }").as_set().is_equal(Set("[N] -> { B[N + 1, 3] : N > 0 }"))
    with pytest.raises(SpaceMismatch, match="a function with inputs is no set"):
        g.as_set()
    a, b = MultiPwAff("{ S[x, y] -> [x, 3] }"), MultiPwAff("{ S[x, y] -> [y, x] }")
    box = [(x, y) for x in range(6) for y in range(6)]
    for name, holds in (("lt", tuple.__lt__), ("le", tuple.__le__), ("gt", tuple.__gt__), ("ge", tuple.__ge__)):
        found = getattr(a, f"lex_{name}_set")(b)
        assert {p for p in box if p in found} == {(x, y) for x, y in box if holds((x, 3), (y, x))}


def test_a_function_as_objective():
    s = Set("{ [a, b] : 0 <= a, b <= 100 and b mod 2 = 0 }")
    f = PwAff("{ [a, b] -> [floor((b - 2*floor((-a)/4))/5)] }")
    assert s.max_val(f) == 30 and s.min_val(f) == 0
    assert Set("{ [-1]; [1] }").min_val(PwAff("{ [x] -> [x] }")) == -1


@pytest.mark.parametrize(
    "other", ["{ A[i] -> [2i] }", "{ A[i] -> [2i] : i < 7; A[i] -> [0] : i > 9 }", "{ C[i] -> [i] }"]
)
def test_a_function_of_one_tuple_is_added_to_one_of_several(other):
    f = Map("{ A[i] -> [i] : i > 0; B[i, j] -> [i + j] }")
    both = f.union_add(PwAff(other))
    assert both.is_equal(f.union_add(Map(other)))
    assert both.domain().is_equal(f.domain() | PwAff(other).domain())
    f = Map("{ A[i] -> T[i, 0] : i > 0; B[i, j] -> T[i + j, j] }")
    assert f.union_add(MultiPwAff("{ A[i] -> T[2i, 1] }")).is_equal(f.union_add(Map("{ A[i] -> T[2i, 1] }")))


def test_what_has_no_one_tuple_has_no_coefficients():
    for s in ("{ }", "{ A[i] : i > 0; B[] }"):
        with pytest.raises(SpaceMismatch):
            Set(s).coefficients()
