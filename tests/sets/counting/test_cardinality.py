"""Cardinalities: known formulas, and laws against counting by hand."""

import os
import re
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyvolta.sets import Map, NotSupported, Set, SpaceMismatch, Unbounded, UnknownName, var
from polyvolta.sets.counting.quasipoly import QPolynomial

SIZES = range(-2, 13)


def law(n):
    factor = float(os.environ.get("POLYVOLTA_EXAMPLES", "0"))
    return settings(
        max_examples=max(1, int(n * (factor or 1))),
        derandomize=not factor,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


# ---- formulas that books have

CLASSICS = {
    "[N] -> { [i, j] : 0 <= j <= i < N }": "1/2 * N + 1/2 * N^2",
    "[N] -> { [i, j, k] : 0 <= i <= j <= k < N }": "1/3 * N + 1/2 * N^2 + 1/6 * N^3",
    "[N] -> { [i] : 0 <= 2i < N }": "floor((N + 1)/2)",
    "[N] -> { [i] : 0 <= i < N and i mod 3 = 0 }": "floor((N + 2)/3)",
    "[N] -> { [i] : 0 <= i < N and i mod 2 = 1 and i mod 3 = 0 }": "floor((N + 2)/6)",
    "[N] -> { [t, i] : 0 <= i < N and 32t <= i < 32t + 32 }": "N",
    "[N] -> { [t, u, i, j] : t = floor(i/32) and u = floor(j/16) and 0 <= j <= i < N }": "1/2 * N + 1/2 * N^2",
    "[N] -> { [i, j] : 0 <= i < N and i <= j < i + N }": "N^2",
}


@pytest.mark.parametrize("text", CLASSICS)
def test_one_quasi_polynomial(text):
    f = Set(text).cardinality()
    assert [str(q) for _, q in f.pieces] == [CLASSICS[text]]


def test_it_prints_like_isl():
    assert str(Set("[N] -> { [i, j] : 0 <= j <= i < N }").cardinality()) in (
        "[N] -> { (1/2 * N + 1/2 * N^2) : N > 0 }",
        "[N] -> { (1/2 * N + 1/2 * N^2) : N >= 1 }",
    )
    assert str(Set("{ [i] : 0 <= i < 7 }").cardinality()) == "{ 7 }"
    assert str(Set("[N] -> { [i] : false }").cardinality()) == "[N] -> { 0 }"
    assert str(Map("{ S[i] -> A[j] : 0 <= j <= i < 8 }").cardinality()) == "{ S[i] -> (1 + i) : 0 <= i <= 7 }"
    assert re.sub("<[^>]*>", "", Set("{ [i] : 0 <= i < 7 }").cardinality()._repr_html_()) == "{ 7 }"


def test_tiles_of_a_rectangle():
    tiles = Set("[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M }").apply(
        Map("{ S[i, j] -> [floor(i/32), floor(j/32)] }")
    )
    ((_, q),) = tiles.cardinality().pieces
    n, m = (QPolynomial.of((var(x) + 31) // 32) for x in "NM")
    assert q == n * m
    assert tiles.cardinality()(N=100, M=33) == 4 * 2


def test_iterations_of_a_tile_full_and_partial():
    inside = Map("[N] -> { T[t] -> S[i] : 0 <= i < N and t = floor(i/32) }").cardinality()
    assert sorted(str(q) for _, q in inside.pieces) == ["32", "N - 32 * t"]
    assert [inside(N=70, t=t) for t in range(-1, 4)] == [0, 32, 32, 6, 0]


def test_chambers():
    f = Set("[N, M] -> { [i, j] : 0 <= i < N and 0 <= j < M and j <= i }").cardinality()
    assert len(f.pieces) == 2
    for n, m in product(range(-1, 7), repeat=2):
        assert f(N=n, M=m) == sum(0 <= j <= i for i in range(n) for j in range(m))


def test_overlaps_count_once():
    f = Set("[N] -> { [i] : 0 <= i < N; [i] : 5 <= i < 10; [i] : 0 <= i < N and i mod 2 = 0 }").cardinality()
    assert [f(N=n) for n in range(13)] == [len({*range(n), *range(5, 10)}) for n in range(13)]


def test_what_does_not_decompose():
    with pytest.raises(NotSupported, match="PV108.*\n.*1009.* needs 1009 residues of j"):
        Set("[N] -> { [i, j] : 0 <= 1009i <= 2003j + N and 0 <= j <= N }").cardinality()
    with pytest.raises(Unbounded, match="the dimension j is unbounded"):
        Set("[N] -> { [i, j] : 0 <= i < N and j >= i }").cardinality()
    assert str(Set("[N] -> { [i, j] : 0 <= i < N and j >= i and 1 = 0 }").cardinality()) == "[N] -> { 0 }"


# ---- arithmetic


def test_arithmetic():
    a = Set("[N] -> { [i] : 0 <= i < N }").cardinality()
    b = Set("[N] -> { [i] : 0 <= i < 2N and i mod 3 = 1 }").cardinality()
    c = Set("[M] -> { [i] : M <= i <= 4 }").cardinality()
    for n in range(-1, 8):
        assert (a + b)(N=n) == a(N=n) + b(N=n)
        assert (a - b)(N=n) == a(N=n) - b(N=n)
        assert (a * b)(N=n) == a(N=n) * b(N=n)
        assert (3 * a)(N=n) == (a * 3)(N=n) == 3 * a(N=n)
        assert (a * c)(N=n, M=2) == 3 * a(N=n)
        assert (a + 1)(N=n) == a(N=n) + (n > 0)
    assert a - a == a * 0 and str(a - a) == "[N] -> { 0 }"
    assert a == Set("[N] -> { [j] : 0 <= j < N }").cardinality() and hash(a) == hash(a * 1)
    assert a != b


def test_equality_is_of_functions_of_positions():
    def f(i, j):
        return Map(f"{{ S[{i}, {j}] -> [k] : 0 <= k < i and 1 <= i, j <= 5 }}").cardinality()

    swapped = Map("{ S[x, y] -> [k] : 0 <= k < x and 1 <= x, y <= 5 }").cardinality()
    assert f("i", "j") != f("j", "i")
    assert f("i", "j") == swapped and hash(f("i", "j")) == hash(swapped)


def test_quasi_polynomials():
    n = QPolynomial.of(var("N"))
    p = n * (n - 1) * Fraction(1, 2) - 3
    assert str(p) == "-3 - 1/2 * N + 1/2 * N^2" and p.evaluate({"N": 4}) == 3
    assert str(1 - n * QPolynomial.of(var("N") // 2)) == "1 - N * floor(N/2)" and not n - n
    assert p.subs({"N": var("M") + 1}) == QPolynomial.of(var("M")) * (QPolynomial.of(var("M")) + 1) * Fraction(1, 2) - 3


def test_evaluation_wants_every_name():
    f = Map("[N] -> { S[i] -> [j] : 0 <= j <= i < N }").cardinality()
    with pytest.raises(UnknownName, match="no parameter or dimension is called 'n'"):
        f(n=3, i=1)
    with pytest.raises(Unbounded, match="i has no value"):
        f(N=3)
    several = Map("[N] -> { S[i] -> [j] : 0 <= j <= i < N; T[i] -> [j] : 0 <= j < i < N }").cardinality()
    with pytest.raises(SpaceMismatch, match="several tuples"):
        several(N=3, i=1)
    assert several.only("S")(N=3, i=2) == 3 and several.only("T")(N=3, i=2) == 2


# ---- laws

NAMES = ("i", "j", "k")


@st.composite
def atoms(draw, names):
    """A bound that speaks of dimensions and N, or a residue."""
    some = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    e = " + ".join(f"{draw(st.sampled_from((1, 1, -1, 2, -2, 3)))}*{x}" for x in some)
    if draw(st.integers(0, 3)) == 0:
        m = draw(st.sampled_from((2, 3, 4)))
        if draw(st.booleans()):
            return f"({e}) % {m} <= {draw(st.integers(0, m - 2))}"
        return f"({e}) % {m} = {draw(st.integers(0, m - 1))}"
    n = draw(st.sampled_from(("0", "N", "-N", "2*N", "floor(N/2)")))
    return f"{e} {draw(st.sampled_from(('<=', '<=', '>=', '>=', '=')))} {n} + {draw(st.integers(-3, 5))}"


@st.composite
def texts(draw, dims):
    """Unions of one to three conjunctions within a box that N bounds, as formulas."""
    names = NAMES[:dims]
    pieces = []
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        box = [
            f"{draw(st.integers(-1, 1))} <= {x} <= {draw(st.sampled_from(('N', 'N - 1', '4', 'floor(N/3) + 2')))}"
            for x in names
        ]
        pieces.append(" and ".join(box + draw(st.lists(atoms(names), max_size=3))))
    return pieces


def python(formula):
    """The formula over Python integers."""
    out = formula.replace("floor(N/2)", "(N//2)").replace("floor(N/3)", "(N//3)")
    return "(" + out.replace(" = ", " == ") + ")"


def by_hand(pieces, dims, n, **fixed):
    """The number of points, one at a time."""
    test = eval(f"lambda N, {', '.join(NAMES[:dims])}: {' or '.join(map(python, pieces))}")  # noqa: S307
    ranges = [[fixed[x]] if x in fixed else range(-1, max(n, 6) + 1) for x in NAMES[:dims]]
    return sum(bool(test(n, *at)) for at in product(*ranges))


def notation(pieces, head):
    return "[N] -> { " + "; ".join(f"{head} : {p.replace('%', 'mod')}" for p in pieces) + " }"


@pytest.mark.parametrize("dims", (1, 2, 3))
def test_cardinality_and_count_are_the_number_of_points(dims):
    @law({1: 50, 2: 30, 3: 20}[dims])
    @given(texts(dims))
    def check(pieces):
        s = Set(notation(pieces, f"[{', '.join(NAMES[:dims])}]"))
        f = s.cardinality()
        for n in SIZES if dims < 3 else (-1, 0, 1, 4, 7):
            expected = by_hand(pieces, dims, n)
            assert f(N=n) == expected, n
            assert s.count(N=n) == expected, n

    check()


@law(20)
@given(texts(2))
def test_cardinality_of_a_map_is_the_number_of_outputs(pieces):
    f = Map(notation(pieces, "[i] -> [j]")).cardinality()
    for n in (-1, 0, 3, 8):
        for i in range(-1, 8):
            assert f(N=n, i=i) == by_hand(pieces, 2, n, i=i), (n, i)


@law(30)
@given(texts(1), texts(1))
def test_sums_and_products_are_pointwise(p, q):
    f, g = (Set(notation(x, "[i]")).cardinality() for x in (p, q))
    for n in SIZES:
        assert (f + g)(N=n) == f(N=n) + g(N=n)
        assert (f * g - 2 * g)(N=n) == f(N=n) * g(N=n) - 2 * g(N=n)
