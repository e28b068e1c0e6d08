"""Optima of expressions and dimensions, and back substitution against the parametric simplex."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import EmptySet, Map, PwAff, Set, SetSyntaxError, SpaceMismatch, Unbounded, UnknownName, var
from polyvolta.sets.conjuncts.conjunct import normalise
from polyvolta.sets.engine import lexopt
from polyvolta.sets.engine.rows import evaluate
from polyvolta.sets.optima import triangular
from tests.sets.brute import examples


def test_values_of_expressions():
    s = Set("{ [i, j] : 0 <= i < 8 and i <= j < 9 }")
    assert (s.min("j - 2i"), s.max("i + 2*j"), s.max("max(i, 3) - j"), s.min(3)) == (-7, 23, 3, 3)
    assert s.max(var("i") % 4 - var("j")) == 0 + 3 - 3
    assert s.union(Set("{ [i, j] : i = 50 and j = 1 }")).max("i") == 50


def test_functions_of_parameters():
    s = Set("[N] -> { S[i, j] : 0 <= i < N and i < j < 10 }")
    assert str(s.dim_max("i")) == "[N] -> { [(min(N - 1, 8))] : N >= 1 }"
    assert str(s.dim_min(1)) == "[N] -> { [(1)] : N >= 1 }"
    assert s.max("i + N")(N=4) == 7
    assert s.dim_max("i").max_val() == 8


@pytest.mark.parametrize("step", [2, 3, 8])
def test_domains_say_no_more_than_it_takes(step):
    """Where there is a value that is rounded down, its floor is in no bound."""
    s = Set(f"[N, T] -> {{ [t, i] : 0 <= t < T and t <= i < N + t and i mod {step} = t mod {step} }}")
    greatest = s.dim_max("i")
    assert str(greatest.domain()) == "[N, T] -> { : N >= 1 and T >= 1 }"
    for n, t in itertools.product(range(-1, 5), repeat=2):
        found = [i for _, i in s.points(N=n, T=t)]
        assert bool(found) == (n > 0 < t)
        assert not found or greatest(N=n, T=t) == max(found)


def test_functions_of_inputs():
    m = Map("[N] -> { [b] -> A[i, j] : 32b <= i < 32b + 32 and 0 <= i < N and 0 <= j <= i }")
    assert str(m.dim_max("i")) == "[N] -> { [b] -> [(min(32*b + 31, N - 1))] : 0 <= 32*b < N }"
    assert m.max("i - 32*b + j")(b=1, N=40) == 7 + 39


def test_the_extremes_of_an_empty_set_are_a_function_without_values():
    for text, printed in (("{ S[i] : false }", "{ "), ("[N] -> { S[i] : N < i < N }", "[N] -> { ")):
        found = Set(text).dim_max(0)
        assert str(found) == f"{printed}[(0)] : false }}" and found.is_equal(PwAff(str(found)))
        assert found.is_equal(PwAff(printed + "}")) and found.domain().is_empty()
    found = Map("{ S[i] -> [j] : i < j < i }").dim_max(0)
    assert str(found) == "{ S[i] -> [(0)] : false }" and found.is_equal(PwAff(str(found)))


def test_points():
    assert Set("[N] -> { [i, 3] : N <= i < N + 1 }").sample_point(N=5) == (5, 3)
    with pytest.raises(EmptySet, match="no point"):
        Set("{ [i] : 3 < i < 4 }").sample_point()
    with pytest.raises(Unbounded, match="M has no value"):
        Set("[N, M] -> { [i] : N <= i < M }").sample_point(N=3)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda s: s.max("i"), Unbounded, "i has no greatest value"),
        (lambda s: s.dim_max("i"), Unbounded, "a bound such as 'i <= ...'"),
        (lambda s: s.min("j"), Unbounded, "no least value"),
        (lambda s: s.min("k"), SetSyntaxError, "unknown name 'k'"),
        (lambda s: s.min(var("k")), UnknownName, "'k'"),
        (lambda s: s.min(None), SpaceMismatch, "an Aff or a text"),
        (lambda s: s.dim_min("k"), UnknownName, "no dimension is called 'k'"),
        (lambda s: s.dim_min(2), UnknownName, "out of range"),
        (lambda s: (s - s).min("i"), EmptySet, "no point"),
        (lambda s: Set("{ A[i]; B[i] }").min("i"), SpaceMismatch, "a single space"),
    ],
)
def test_misuse(use, error, message):
    with pytest.raises(error, match=message):
        use(Set("{ [i, j] : i >= 3 and j <= 2 }"))


def test_a_point_is_a_normal_form():
    for point in ((3, 0, -2), (0, 0, 0), (-(10**30), 7, 7)):
        rows = [(-v, *(int(k == d) for k in range(3))) for d, v in enumerate(point)]
        text = ", ".join(map(str, point))
        (found,) = Set(f"{{ [{text}] }}").lexmin().parts[0][1]
        assert found == normalise(3, (), rows, ())


# ---- back substitution

ENTRY = st.sampled_from((0, 0, 0, 1, 1, -1, -1, 2, -2, 3, -4))
N_PARAM, N_VAR = 2, 3


@st.composite
def systems(draw):
    """Rows over (const, params, variables): some of any kind, and bounds that make most systems solvable."""
    width = N_PARAM + N_VAR
    any_row = st.tuples(st.integers(-6, 6), *[ENTRY] * width)
    eqs = draw(st.lists(any_row, max_size=1))
    ineqs = draw(st.lists(any_row, max_size=3))
    for k in range(N_VAR):
        for sign in (1, -1):
            row = [0] * (1 + width)
            row[0], row[1 + N_PARAM + k] = draw(st.integers(0, 6)), sign * draw(st.sampled_from((1, 1, 1, 2, 4)))
            row[1 + draw(st.integers(0, N_PARAM + k))] += draw(ENTRY)
            ineqs.append(tuple(row))
    return eqs, ineqs


def at(piece, params):
    """The values of a piece at some parameters; None outside its domain."""
    point = list(params)
    for den, row in piece.divs:
        point.append(evaluate((*row, *[0] * (len(point) + 1 - len(row))), point) // den)
    if any(evaluate(r, point) for r in piece.eqs) or any(evaluate(r, point) < 0 for r in piece.ineqs):
        return None
    return tuple(evaluate(r, point) for r in piece.values)


@given(systems(), st.sampled_from((-1, 1)))
@examples(400)
def test_back_substitution_agrees_with_the_simplex(system, sign):
    eqs, ineqs = system
    found = triangular.optimum(N_PARAM, N_VAR, eqs, ineqs, (), N_VAR, sign)
    whole = triangular.folded(N_PARAM, N_VAR, eqs, ineqs, (), N_VAR, sign)
    if found is None:
        return
    expected = (lexopt.lexmin if sign < 0 else lexopt.lexmax)(N_PARAM, N_VAR, eqs, ineqs)
    for params in ((p, q) for p in range(-7, 8) for q in range(-7, 8)):
        right = [v for piece in expected if (v := at(piece, params)) is not None]
        assert [v for piece in found if (v := at(piece, params)) is not None] == right
        for piece, options in whole or ():
            inside = at(piece, params)
            assert (inside is None) == (not right)
            if right:
                assert best(piece, options, params, sign) == right[0]


def best(piece, options, params, sign):
    """The values that the rows of `folded` stand for."""
    point = list(params)
    for den, row in piece.divs:
        point.append(evaluate((*row, *[0] * (len(point) + 1 - len(row))), point) // den)
    choose = max if sign < 0 else min
    return tuple(choose(evaluate(r, point) for r in rows) for rows in options)


def test_domains_have_no_point_without_a_solution():
    c = normalise(2, (), (), [(0, 1, -3), (1, -1, 3)])  # 3y <= x <= 3y + 1
    pieces = triangular.optimum(1, 1, c.eqs, c.ineqs, (), 1, -1)
    for x in range(-9, 9):
        values = [v for p in pieces or lexopt.lexmin(1, 1, c.eqs, c.ineqs) if (v := at(p, (x,))) is not None]
        assert values == ([(x // 3,)] if x % 3 < 2 else [])


def test_a_bound_that_a_floor_hides_is_no_case():
    # floor((n + 3)/4) - 1 is never negative where n >= 1, which the linear program with the floor's definition says
    s = Set("[n] -> { [a, b] : n >= 0 and 4a >= -4 + n and b >= 0 and -4a <= b <= 3 and b < n - 4a }")
    f = s.dim_min("a")
    assert f.n_pieces == len(f.cells) == 1 and "max" not in str(f)
    assert [f(n=n) for n in range(1, 13)] == [-(-n // 4) - 1 for n in range(1, 13)]
