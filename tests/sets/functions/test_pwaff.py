"""Piecewise quasi-affine functions: notation, evaluation, pieces and errors.

Their operations on random functions are among the laws (`tests.sets.laws.functions`).
"""

from itertools import product

import numpy as np
import pytest

from polyvolta.sets import (
    Map,
    MultiPwAff,
    NotAffine,
    NotAFunction,
    OutsideDomain,
    PwAff,
    PwMultiAff,
    Set,
    SetSyntaxError,
    SpaceMismatch,
    Unbounded,
    UnknownName,
    var,
)
from polyvolta.sets.conjuncts.conjunct import conjoin
from polyvolta.sets.functions.cells import holds


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("{ [i] -> [i] }", "{ [i] -> [(i)] }"),
        ("[N] -> { [N - 1] : N > 3 }", "[N] -> { [(N - 1)] : N >= 4 }"),
        ("{ S[i] -> [i mod 4 + 1] : i >= 0 }", "{ S[i] -> [((i mod 4) + 1)] : i >= 0 }"),
        ("[N] -> { [i] -> [max(i, N)] : i < 5 }", "[N] -> { [i] -> [(max(N, i))] : i <= 4 }"),
        ("[N] -> { [i] -> [((i) : i > N; (N) : i <= N)] }", "[N] -> { [i] -> [(max(N, i))] }"),
        ("{ [i] -> [abs(i)] }", "{ [i] -> [(max(-i, i))] }"),
        ("{ [i] -> [1] : false }", "{ [i] -> [(0)] : false }"),
        ("{ [i] -> [0] : i > 0; [j] -> [j] : j <= 0 }", "{ [i] -> [(min(i, 0))] }"),
        ("{ [A[] -> B[]] -> [1] }", "{ [A[] -> B[]] -> [(1)] }"),
        ("[N] -> { [[] -> []] -> [N] : N > 3 }", "[N] -> { [[] -> []] -> [(N)] : N >= 4 }"),
    ],
)
def test_notation(text, printed):
    f = PwAff(text)
    assert str(f) == printed
    assert PwAff(printed).is_equal(f)
    assert f._repr_html_().startswith("<code>")


def test_tuples_of_functions():
    m = MultiPwAff("[N] -> { S[i, j] -> A[min(i, N), j // 2] : 0 <= j < 8 }")
    assert str(m) == "[N] -> { S[i, j] -> A[(min(N, i)), (floor(j/2))] : 0 <= j <= 7 }"
    assert MultiPwAff(str(m)).is_equal(m)
    assert PwMultiAff is MultiPwAff
    assert (len(m), m(i=5, j=7, N=3), m.eval((5, 7), N=9)) == (2, (3, 3), (5, 3))
    assert [str(f) for f in m][1] == "[N] -> { S[i, j] -> [(floor(j/2))] : 0 <= j <= 7 }"
    assert m.as_map().as_multi_pw_aff().is_equal(m)
    assert (m + m).is_equal(m * 2)
    assert ((m * 2) // 2).is_equal(m)


def test_a_product_of_functions_of_no_dimensions_says_its_domain():
    f = MultiPwAff("{ A[] -> B[1] }").product(MultiPwAff("{ A[] -> C[2] }"))
    assert str(f) == "{ [A[] -> A[]] -> [B[(1)] -> C[(2)]] }"
    assert MultiPwAff(str(f)).is_equal(f)


def test_nested_outputs():
    f, g = MultiPwAff("{ S[i] -> A[i + 1] : i >= 0 }"), MultiPwAff("{ S[i] -> B[2i, 0] : i < 9 }")
    both = f.range_product(g)
    assert str(both) == "{ S[i] -> [A[(i + 1)] -> B[(2*i), (0)]] : 0 <= i <= 8 }"
    assert MultiPwAff(str(both)).is_equal(both)
    assert both.as_map().is_equal(Map("{ S[i] -> [A[i + 1] -> B[2i, 0]] : 0 <= i < 9 }"))
    side = f.product(g)
    assert side.as_map().is_equal(Map("{ [S[i] -> S[j]] -> [A[i + 1] -> B[2j, 0]] : i >= 0 and j < 9 }"))


def test_evaluation_on_arrays():
    f = PwAff("[N] -> { S[i, j] -> [min(i // 3, N) - j] : i >= 0; S[i, j] -> [7] : i < 0 }")
    i, j = np.meshgrid(np.arange(-5, 20), np.arange(4), indexing="ij")
    assert (f(i=i, j=j, N=4) == np.where(i >= 0, np.minimum(i // 3, 4) - j, 7)).all()
    assert f(i=10**30, j=0, N=10**29) == 10**29
    with pytest.raises(OutsideDomain, match="no value there"):
        f.intersect_domain(Set("{ S[i, j] : j = 0 }"))(i=i, j=j, N=4)


def test_names_of_dimensions_do_not_matter():
    f, g = PwAff("{ S[i] -> [i] }"), PwAff("[i] -> { S[k] -> [k + i] }")
    assert (f + g)(**dict(zip((f + g).names, (10, 3), strict=True))) == 16
    assert PwAff("{ S[i] -> [2i] }") == PwAff("{ S[k] -> [2k] }")
    assert hash(PwAff("{ S[i] -> [2i] }")) == hash(PwAff("{ S[k] -> [2k] }"))


def test_arithmetic_with_numbers_and_expressions():
    f = PwAff("[N] -> { [i] -> [i + N] : i >= 0 }")
    assert (3 - f)(i=1, N=1) == 1
    assert (2 * f + var("i") - 1)(i=4, N=1) == 13
    assert (f * PwAff("{ [i] -> [3] : i > 5; [i] -> [-1] : i <= 5 }"))(i=6, N=0) == 18
    assert (f // 2, f % 2)[1](i=3, N=0) == 1
    assert (f.ceildiv(2)(i=3, N=0), abs(-f)(i=3, N=0), f.is_cst(), (f * 0).is_cst()) == (2, 3, False, True)


def test_coalesce_merges_equal_and_agreeing_expressions():
    f = PwAff("{ [i] -> [0] : 0 <= i < 4; [i] -> [i // 4] : 4 <= i < 9; [i] -> [i // 4] : 9 <= i }")
    assert str(f.coalesce()) == "{ [i] -> [(floor(i/4))] : i >= 0 }"


def test_minima_stay_whole():
    rows = Map(
        "[M, K] -> { [a, c] -> A[i, k] : 128a <= i < 128a + 128 and 0 <= i < M and 32c <= k < 32c + 32 and 0 <= k < K }"
    )
    last = rows.lexmax_pw_multi_aff()
    assert last.n_pieces == 1
    assert "A[(min(128*a + 127, M - 1)), (min(32*c + 31, K - 1))]" in str(last)
    assert last.as_map().is_equal(rows.lexmax())
    assert len(last.cells) == 4


def test_an_inverse_layout_is_one_piece():
    layout = Map(
        "{ T[t, r] -> C[i, j] : 0 <= t < 32 and 0 <= r < 4 and i = floor(t/4) + 8*floor(r/2)"
        " and j = 2*(t mod 4) + (r mod 2) }"
    )
    inverse = layout.reverse().as_pw_multi_aff()
    assert str(inverse) == (
        "{ C[i, j] -> T[(floor(j/2) + 4*(i mod 8)), (2*floor(i/8) + (j mod 2))] : 0 <= i <= 15 and 0 <= j <= 7 }"
    )
    assert inverse.as_map().is_equal(layout.reverse())


def test_an_optimum_of_a_union_has_one_value_at_each_input():
    """At i = 2 both pieces give -3, and one of them is said as -i - 1."""
    m = Map(
        "[N] -> { S[i] -> A[k] : -3 <= i, k <= 4 and exists (e : -2 <= e <= 3 and"
        " (k + (i + k) mod 2 = 5e + 4i or N + e <= 0)) }"
    )
    f = m.lexmin_pw_multi_aff()
    pieces = [d for d, _ in f.pieces]
    assert all(d.is_disjoint(e) for k, d in enumerate(pieces) for e in pieces[:k])
    brute = {
        (N, i): min(ks)
        for N in range(-4, 6)
        for i in range(-3, 5)
        if (ks := [k for k in range(-3, 5) for e in range(-2, 4) if k + (i + k) % 2 == 5 * e + 4 * i or N + e <= 0])
    }
    assert {(N, i): f(N=N, i=i)[0] for N, i in brute} == brute


def test_maps_of_several_pieces():
    m = Map("{ [i] -> [i] : i >= 0; [i] -> [-i] : i <= 0 }").as_multi_pw_aff()
    assert (m(i=-5), m(i=0), m(i=4)) == ((5,), (0,), (4,))
    with pytest.raises(NotAFunction, match="different values at one point"):
        Map("{ [i] -> [i] : i >= 0; [i] -> [-i] : i <= 1 }").as_multi_pw_aff()
    with pytest.raises(NotAFunction, match="several outputs"):
        Map("{ [i] -> [j] : 0 <= j <= i }").as_pw_multi_aff()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{ [i] -> [i/2] }", SetSyntaxError, "the value would be a fraction"),
        ("{ [i] -> [i*i] }", SetSyntaxError, "not affine"),
        ("{ S[i] -> [j] }", SetSyntaxError, "unknown name 'j'"),
        ("{ [i] -> [3, 4] }", SpaceMismatch, "a PwAff has one anonymous output"),
        ("{ [i] -> [1]; S[i] -> [2] }", SpaceMismatch, "pieces in one space"),
        ("{ [i] -> [i] : i > 0; [i] -> [3] : i < 4 }", NotAFunction, "different values at one point"),
        (3, SetSyntaxError, "expected a text"),
    ],
)
def test_texts_that_are_no_function(text, error, message):
    with pytest.raises(error, match=message):
        PwAff(text)


def test_inputs_in_order_or_by_name():
    f = PwAff("[N] -> { S[i, j] -> [i + 2j + N] }")
    assert f(3, 4, N=10) == f(i=3, j=4, N=10) == f.eval((3, 4), N=10) == 21
    assert MultiPwAff("{ [i] -> A[floor(i/32), i mod 32] }")(70) == (2, 6)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda f: f * f, NotAffine, "product of two varying"),
        (lambda f: f / 2, NotAffine, "may be a fraction"),
        (lambda f: f // 0, NotAffine, "positive number"),
        (lambda f: f % -3, NotAffine, "positive number"),
        (lambda f: f + "i", NotAffine, "cannot be combined"),
        (lambda f: f + var("k"), UnknownName, "'k' is not a parameter or input"),
        (lambda f: f + PwAff("{ S[i] -> [i] }"), SpaceMismatch, "on one space"),
        (lambda f: f(i=3), UnknownName, "'N' has no value"),
        (lambda f: f(i=3, N=0, M=2), UnknownName, "'M' is not a parameter or input"),
        (lambda f: f.eval((1, 2), N=3), SpaceMismatch, "a point of 1 coordinates"),
        (lambda f: f(i=-3, N=0), OutsideDomain, "no value there"),
        (lambda f: f / 0, NotAffine, "division by zero"),
        (lambda f: f.gist(Set), SpaceMismatch, "needs a Set, not the class Set"),
        (lambda f: f.eval(None), SpaceMismatch, r"eval\(\(i,\), ...\)"),
        (lambda f: f(1, 2, N=3), SpaceMismatch, "a point of 1 coordinates"),
        (lambda f: f(1, i=2, N=3), SpaceMismatch, "i has two values"),
        (lambda f: f(1), UnknownName, "'N' has no value"),
        (lambda f: PwAff.on("i", "i"), SpaceMismatch, "needs a Set, not a str"),
        (lambda f: MultiPwAff.of(None), SpaceMismatch, "not None"),
        (lambda f: MultiPwAff.of(Set("{ [i] : 0 <= i < 3 }").cardinality()), SpaceMismatch, "not a PwQPolynomial"),
        (lambda f: MultiPwAff.of(f).product(None), SpaceMismatch, "not None"),
        (lambda f: MultiPwAff.of(f).product(Set("{ [i] }")), SpaceMismatch, "not a Set"),
        (lambda f: f.max_val(), Unbounded, "no greatest value"),
        (lambda f: f.intersect_domain(Set("{ S[i] : i > 3 }")), SpaceMismatch, "a set of inputs"),
        (lambda f: f.intersect_domain(f), SpaceMismatch, "needs a Set"),
        (lambda f: f.pullback(MultiPwAff("{ [i] -> S[i] }")), SpaceMismatch, "does not lead here"),
        (lambda f: MultiPwAff("{ [i] -> [i, 2] }")[2], UnknownName, "out of range"),
        (lambda f: f.pullback(Map("{ [i] -> [i] }")), SpaceMismatch, "needs a PwAff or MultiPwAff"),
        (lambda f: f.union_prefer(3), SpaceMismatch, "needs a PwAff or MultiPwAff"),
        (lambda f: f(i=0.5, N=1), SpaceMismatch, "an integer or an array of integers"),
        (lambda f: MultiPwAff("{ [i] -> [i] }") + 1, SpaceMismatch, "needs a PwAff or MultiPwAff"),
        (lambda f: MultiPwAff("{ [i] -> [i] }") * "a", NotAffine, "by integers"),
        (lambda f: PwAff.on(Set("{ [i] }"), "j"), SetSyntaxError, "unknown name"),
        (lambda f: MultiPwAff.of(), SpaceMismatch, "at least one"),
        (lambda f: bool(f), SpaceMismatch, "no truth value"),
    ],
)
def test_misuse(use, error, message):
    with pytest.raises(error, match=message):
        use(PwAff("[N] -> { [i] -> [i + N] : i >= 0 }"))


def test_cells_stay_apart_where_an_existential_has_several_cases():
    """The domain of the second piece falls into cases when its existential becomes floors; no point is in two cells."""
    f = PwAff(
        "[N] -> { S[i] -> [N] : 0 <= i <= 4 and N <= 0; S[i] -> [N] : 0 <= i <= 4 and "
        "(exists e : -2 <= e <= 3 and N - 3*e - ((5*e) mod 2) <= 0) }"
    )
    for g in (f, f.coalesce(), f + f):
        cells = [c for c, _ in g.cells]
        assert all(conjoin(c, d) is None or conjoin(c, d).is_empty for k, c in enumerate(cells) for d in cells[:k])


@pytest.mark.parametrize("domain", [
    "[n] -> { [i, j] : 0 <= i <= 9 and 0 <= j <= n; [i, j] : 5 <= i <= 12 and 3 <= j <= 7 }",
    "[n] -> { [i, j] : i mod 2 = 0; [i, j] : i mod 3 = 0; [i, j] : 0 <= j < n }",
    "[n] -> { [i, j] : exists a : i = 2a and a < j; [i, j] : i >= n; [i, j] : i >= n + 3 }",
])  # fmt: skip
def test_a_function_on_overlapping_pieces_is_of_disjoint_ones(domain):
    """Texts say so, too: of pieces that overlap isl reads the sum of their values."""
    f = PwAff("{ [i, j] -> [i] : i < 40; [i, j] -> [j] : i >= 40 }")
    for on in (f.intersect_domain(Set(domain)), f.intersect_params(Set("[n] -> { : n > 3; : n < 7 }"))):
        parts = [on._set([c]) for c, _ in on.cells]
        assert all(a.is_disjoint(b) for k, a in enumerate(parts) for b in parts[:k])
        isl = pytest.importorskip("islpy")
        assert isl.Map(str(on.as_map())).is_equal(isl.PwAff(str(on)).as_map())
    assert f.intersect_domain(Set(domain)).domain().is_equal(Set(domain))


def test_a_union_leaves_what_wins_whole():
    """Three bounds of tiles as loopy asks for them: one that beats another everywhere isn't cut along it."""
    pieces = (("0", "p = 0 and t = 0"), ("-6", "x = -1"), ("8p + 16x + 2", "16x >= -8p - 9 and x + p >= -t"))
    zero, low, bound = (PwAff(f"[t, p] -> {{ [x] -> [({value})] : {when} }}") for value, when in pieces)
    two = zero.union_max(low)
    three = two.union_max(bound)
    assert len(two.cells) <= 5 and len(three.cells) <= 10
    for t, p, x in product(range(-2, 3), range(-2, 3), range(-3, 3)):
        wanted = [0] * (p == t == 0) + [-6] * (x == -1)
        wanted += [8 * p + 16 * x + 2] * (16 * x >= -8 * p - 9 and x + p >= -t)
        at = {"t": t, "p": p, "x": x}
        found = [e.evaluate(at) for c, (e,) in three.cells if holds(c, (t, p, x))]
        assert found == ([max(wanted)] if wanted else [])
