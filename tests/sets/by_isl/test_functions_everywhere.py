"""Tuples of no functions, known everywhere or for some parameters, and functions of parameters alone, beside islpy."""

import contextlib

import pytest

import polyvolta.isl as ours
from polyvolta.sets import PolyvoltaError, SetSyntaxError, SpaceMismatch
from polyvolta.sets.by_isl.functions.unions import is_everywhere

isl = pytest.importorskip("islpy")

NO_FUNCTIONS = ["C[]", "[N] -> (C[] : { : N >= 0 })", "[N] -> (C[] : { : N < 9 })", "(C[] : { A[i, j] : i >= j })",
                "[N] -> (C[] : { A[i, j] : i <= N; B[] })", "(C[] : { })"]  # fmt: skip
FUNCTIONS = ["D[{ A[i, j] -> [i + j] : i > 3; B[] -> [7] }]", "[N] -> D[{ A[i, j] -> [N] }, { A[i, j] -> [i // 2] }]"]
SETS = ["{ A[i, j] : i < 5 }", "[N] -> { A[i, N]; B[] : N > 3 }", "{ C[] }", "[M] -> { C[] : M > 2 }"]


def same(a, b):
    """Whether a value and one of isl's are the same function or set, in isl's text."""
    kind = ours.UnionSet if isinstance(b, isl.UnionSet) else ours.MultiUnionPwAff
    b = kind(str(b))
    return a.is_equal(b) and (kind is ours.UnionSet or is_everywhere(a) == is_everywhere(b))


def answers(text, call):
    """What a call gives of the function of a text, on both sides; None where it is an error."""
    found = []
    for module, error in ((ours, ours.Error), (isl, isl.Error)):
        try:
            found.append(call(module, module.MultiUnionPwAff(text)))
        except error:
            found.append(None)
    return found


@pytest.mark.parametrize("text", [*NO_FUNCTIONS, *FUNCTIONS, "C[B[] -> [A[] -> D[]]]", "A[{ }]"])
def test_what_prints_is_read(text):
    f = ours.MultiUnionPwAff(text)
    back = ours.MultiUnionPwAff(str(f))
    assert back.is_equal(f) and str(back) == str(f) and is_everywhere(back) == is_everywhere(f)
    assert same(f, isl.MultiUnionPwAff(text))
    assert same(f.domain(), isl.MultiUnionPwAff(text).domain()) or f.domain().is_params()


@pytest.mark.parametrize("name", ["add", "sub", "union_add", "range_product", "flat_range_product"])
@pytest.mark.parametrize("first", NO_FUNCTIONS)
def test_two_functions(first, name):
    met = 0
    for second in [*NO_FUNCTIONS, *FUNCTIONS]:
        a, b = answers(first, lambda m, f, second=second: getattr(f, name)(m.MultiUnionPwAff(second)))
        assert (a is None) >= (b is None) or (name in ("add", "sub", "union_add") and second in FUNCTIONS)
        if a is not None and b is not None:
            assert same(a, b), (second, str(a), str(b))
            met += 1
    assert met >= 3


@pytest.mark.parametrize("text", NO_FUNCTIONS)
def test_sets_and_functions_of_functions(text):
    calls = [lambda m, f, s=s: f.intersect_domain(m.UnionSet(s)) for s in SETS[:2]]
    calls += [lambda m, f, s=s: f.intersect_range(m.Set(s)) for s in SETS[2:]]
    calls += [lambda m, f: f.intersect_params(m.Set("[M, N] -> { : M > N }")), lambda m, f: f.zero_union_set()]
    calls += [lambda m, f: f.reset_tuple_id(m.dim_type.set), lambda m, f: f.gist_params(m.Set("[N] -> { : N >= 0 }"))]
    calls += [lambda m, f: f.apply_multi_aff(m.MultiAff("[K] -> { C[] -> D[K, 5] }"))]
    calls += [lambda m, f: f.apply_pw_multi_aff(m.PwMultiAff("[K] -> { C[] -> D[K] : K > 3; C[] -> D[-K] : K < 0 }"))]
    calls += [lambda m, f: f.range_product(m.MultiUnionPwAff(FUNCTIONS[1])).factor_range()]
    inner = "[K] -> { S[i] -> A[i, K] : K > 0; T[i] -> B[] }"
    calls += [lambda m, f: f.pullback_union_pw_multi_aff(m.UnionPwMultiAff(inner))]
    calls += [lambda m, f, s=s: f.gist(m.UnionSet(s)) for s in SETS[:2]]
    for k, call in enumerate(calls):
        a, b = answers(text, call)
        assert a is not None and b is not None and (same(a, b) or (k == 5 and a.is_params())), (k, str(a), str(b))


@pytest.mark.parametrize("text", NO_FUNCTIONS)
def test_pairs_at_which_two_values_are_alike(text):
    pairs = "[M] -> { A[i, j] -> B[] : i < M; B[] -> A[i, i] }"
    found = {}
    for name in ("eq", "lex_le", "lex_lt", "lex_ge", "lex_gt"):
        found[name], b = answers(
            text, lambda m, f, name=name: getattr(m.UnionMap(pairs), f"{name}_at_multi_union_pw_aff")(f)
        )
        assert name in ("lex_le", "lex_ge") or found[name].is_equal(ours.UnionMap(str(b)))
    assert found["lex_le"].is_equal(found["eq"]) and found["lex_ge"].is_equal(found["eq"])  # isl: none, of no values


def test_functions_of_parameters():
    f = ours.MultiUnionPwAff("[N] -> A[{ [4] }, { [N + 1] }]")
    assert str(f) == "[N] -> { A[(4), (N + 1)] }"
    assert f.bind("{ A[K, M] }").is_equal(ours.UnionSet("[K = 4, M, N] -> { : M = N + 1 }"))
    assert (
        ours.UnionPwAff("[N] -> { [N] : N > 3; [0] : N < 0 }")
        .intersect_params(ours.Set("[N] -> { : N < 3 }"))
        .is_equal(ours.UnionPwAff("[N] -> { [0] : N < 0 }"))
    )
    assert isinstance(ours.UnionMap("{ A[] -> [4] }"), ours.UnionPwAff) and not isinstance(
        ours.Map("{ A[] -> [4] }"), ours.UnionPwAff
    )


def test_what_is_no_function_is_refused():
    for text in ("{ A[i] -> [j] : j > i }", "[N] -> { A[M] -> [K] }", "C[", "{ A[i] -> [i]; A[i] -> [0] }"):
        with pytest.raises((SetSyntaxError, ours.Error)):
            ours.UnionPwMultiAff(text)
    with pytest.raises(SpaceMismatch, match="no union"):
        known = ours.MultiUnionPwAff("[N] -> (C[] : { : N >= 0 })")
        known.union_add(ours.MultiUnionPwAff("(C[] : { A[] })"))
    assert ours.UnionPwAff("{ [i] -> [j] : 2j = i }").is_equal(ours.UnionMap("{ [i] -> [j] : 2j = i }"))


@pytest.mark.parametrize("text", [*NO_FUNCTIONS[:3], *FUNCTIONS])
def test_a_domain_of_parameters(text):
    a, b = answers(text, lambda m, f: f.intersect_domain(m.UnionSet("[N] -> { : N > 3 }")))
    assert same(a, b) and str(a) != text


def test_texts_and_kinds():
    assert str(ours.MultiUnionPwAff("C[]")) == str(isl.MultiUnionPwAff("C[]")) == "C[]"
    f = ours.MultiUnionPwAff(FUNCTIONS[0])
    assert ours.MultiUnionPwAff(f) == f and type(ours.MultiUnionPwAff(ours.UnionMap(str(f)))) is ours.MultiUnionPwAff
    with pytest.raises(SpaceMismatch):
        f.set_tuple_id(ours.dim_type.in_, "B")


def test_pieces_of_a_text_that_overlap():
    """isl adds what they say; here they have to say the same, and `union_add` adds."""
    first, second = "{ [i] -> [(i + 1)] : i >= 0 }", "{ [i] -> [(2*i + 1)] : i <= 4 }"
    one = "{ [i] -> [(i + 1)] : i >= 0; [i] -> [(2*i + 1)] : i <= 4 }"
    for kind in ("PwAff", "PwMultiAff", "UnionPwAff"):
        added, parts = getattr(isl, kind)(one), [getattr(isl, kind)(text) for text in (first, second)]
        assert added.plain_is_equal(parts[0].union_add(parts[1]))
        with pytest.raises(ours.NotAFunction, match="different values at one point"):
            getattr(ours, kind)(one)
    assert str(ours.PwAff("{ [i] -> [(3)] : i >= 0; [i] -> [(3)] : i < 4 }")) == "{ [i] -> [(3)] }"
    assert str(ours.PwAff(first).union_add(ours.PwAff(second)).eval((2,))) == "8"


MENTIONED = ["[n] -> { A[i, j] -> [i + j + n] }", "[n] -> { [i, j] -> [floor((i + j)/2)] : i + j > n }",
             "[n] -> { [i, j] -> [i + n] : i > 1; [i, j] -> [j] : i < 1 }", "{ [i, j] -> [j] : i > 1 }"]  # fmt: skip


@pytest.mark.parametrize("text", MENTIONED)
@pytest.mark.parametrize("cls", ["PwAff", "PwMultiAff"])
def test_what_is_dropped_is_0(text, cls):
    isl = pytest.importorskip("islpy")
    for kind in ("in_", "param") if text[0] == "[" else ("in_",):
        theirs, mine = [getattr(lib, cls)(text).drop_dims(getattr(lib.dim_type, kind), 0, 1) for lib in (isl, ours)]
        assert isl.Map(str(mine.as_map())).is_equal(theirs.as_map())


def test_the_order_of_parameters_says_nothing_of_unions():
    isl = pytest.importorskip("islpy")
    text = "[%s] -> { A[i] -> [n + m + i]; B[i] -> [m] }"
    for lib in (isl, ours):
        f, g, h = (lib.UnionPwAff(text % params) for params in ("n, m", "m, n", "q, n, m"))
        assert f.plain_is_equal(g) and f.plain_is_equal(h) and not f.plain_is_equal(f.neg())
        f, g = (lib.PwAff(f"[{params}] -> {{ [i] -> [n + m + i] }}") for params in ("n, m", "m, n"))
        assert not f.plain_is_equal(g)  # of one space it does


NOTHING = [
    "[N] -> ([] : { : N >= 0 })", "[N] -> ([] : { : N <= 0 })", "[N] -> ([] : { : })", "[N] -> B[]",
    "[N] -> ([] : { A[x] : x >= 0 })", "[N] -> ([] : { A[x] : x >= N })", "[N] -> ([] : { A[x] : x >= 0 or x >= N })",
    "[N] -> ([] : { A[x] })", "[N] -> (B[] : { A[x] })", "[N] -> ([] : { A[] : false })", "[N] -> [{ A[x] -> [x] }]",
]  # fmt: skip


@pytest.mark.parametrize("first", NOTHING)
def test_tuples_of_no_functions_are_equal_where_they_are_known_at_the_same_points(first):
    """Also as sums, whose domain is written in other pieces, and which isl refuses where ours are."""
    for second in NOTHING:
        answers = []
        for lib in (ours, isl):
            f, g = lib.MultiUnionPwAff(first), lib.MultiUnionPwAff(second)
            found = [f.plain_is_equal(g)]
            with contextlib.suppress(PolyvoltaError if lib is ours else isl.Error):
                both = f.union_add(g)
                found += [both.plain_is_equal(lib.MultiUnionPwAff(third)) for third in NOTHING]
            answers.append(found)
        assert answers[0] == answers[1], second


def test_a_sum_of_no_functions_has_the_pieces_of_both():
    f = ours.MultiUnionPwAff("([] : { A[x] : x >= 5 })").union_add(ours.MultiUnionPwAff("([] : { A[x] : x <= 10 })"))
    assert sum(len(pieces) for _, pieces in f.parts) <= 2
