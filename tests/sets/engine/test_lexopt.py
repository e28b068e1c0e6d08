"""Parametric optima against enumeration: domains, values and disjointness at every parameter of a box."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polyvolta.sets.budgets import budget
from polyvolta.sets.engine import lexopt
from polyvolta.sets.engine.lexopt import Piece, lexmax, lexmin
from polyvolta.sets.errors import BudgetExceeded, Unbounded
from tests.sets.brute import examples

BOX, PARAMS = 4, 4


def at(row, point):
    assert len(row) == len(point) + 1
    return row[0] + sum(c * x for c, x in zip(row[1:], point, strict=True))


def holds(eqs, ineqs, point):
    return all(at(r, point) == 0 for r in eqs) and all(at(r, point) >= 0 for r in ineqs)


def optima(pieces, params):
    """The values of all pieces whose domain holds at the parameters."""
    out = []
    for piece in pieces:
        point = list(params)
        for den, row in piece.divs:
            point.append(at(row, point) // den)
        if holds(piece.eqs, piece.ineqs, point):
            out.append(tuple(at(r, point) for r in piece.values))
    return out


@st.composite
def problems(draw):
    n_param, n_var = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (0, 2)]))
    size = draw(st.sampled_from([1, 3, 7]))
    row = st.tuples(st.integers(-12, 12), *[st.integers(-size, size)] * (n_param + n_var))
    eqs = draw(st.lists(row, max_size=1))
    ineqs = draw(st.lists(row, max_size=4))
    return n_param, n_var, eqs, ineqs


def check(n_param, n_var, eqs, ineqs, solve, best):
    pieces = solve(n_param, n_var, eqs, ineqs)
    for params in product(range(-PARAMS, PARAMS + 1), repeat=n_param):
        points = product(range(-BOX, BOX + 1), repeat=n_var)
        solutions = [x for x in points if holds(eqs, ineqs, params + x)]
        assert optima(pieces, params) == ([best(solutions)] if solutions else [])
    return pieces


@examples(150)
@given(problems(), st.sampled_from([(lexmin, min), (lexmax, max)]))
def test_boxed_problems(problem, solver):
    n_param, n_var, eqs, ineqs = problem
    zero = (0,) * n_param
    for i in range(n_var):
        unit = tuple(int(i == j) for j in range(n_var))
        ineqs = [*ineqs, (BOX, *zero, *unit), (BOX, *zero, *[-c for c in unit])]
    check(n_param, n_var, eqs, ineqs, *solver)


@examples(100)
@given(problems())
def test_unrestricted_variables(problem):
    """Solutions outside the box may be less; none in it may be, and those given must be solutions."""
    n_param, n_var, eqs, ineqs = problem
    try:
        pieces = lexmin(*problem)
    except Unbounded:
        return
    for params in product(range(-PARAMS, PARAMS + 1), repeat=n_param):
        points = product(range(-BOX, BOX + 1), repeat=n_var)
        solutions = [x for x in points if holds(eqs, ineqs, params + x)]
        found = optima(pieces, params)
        assert len(found) <= 1
        assert all(holds(eqs, ineqs, params + x) for x in found)
        assert not solutions or (found and found[0] <= min(solutions))


def test_two_lower_bounds_make_two_pieces():
    pieces = lexmin(3, 1, (), ((0, -1, 0, 0, 1), (0, 0, -1, 0, 1), (0, 0, 0, 1, -1)))
    assert sorted(p.values for p in pieces) == [((0, 0, 1, 0),), ((0, 1, 0, 0),)]


def least_of_many(n, copies):
    """x_k at least each of n parameters of its own."""
    n_param = n * copies
    return n_param, [
        (0, *[-int(j == k) for j in range(n_param)], *[int(k // n == c) for c in range(copies)]) for k in range(n_param)
    ]


@pytest.mark.parametrize(("n", "copies", "steps"), [(9, 1, 4_000), (5, 2, 5_000)])
def test_a_vertex_that_many_paths_lead_to_makes_one_piece(n, copies, steps):
    """The greatest of n numbers is one of n; one comparison after another comes to these 2^(n-1) times."""
    n_param, ineqs = least_of_many(n, copies)
    with budget(steps):
        pieces = lexmin(n_param, copies, (), ineqs)
    assert len(pieces) == len({p.values for p in pieces}) == n**copies
    for params in product((0, 1), repeat=n_param):  # nearly all of these are in the closures of several domains
        groups = [params[n * c : n * c + n] for c in range(copies)]
        assert optima(pieces, params) == [tuple(map(max, groups))]


@examples(150)
@given(problems(), st.sampled_from([(lexmin, min), (lexmax, max)]))
def test_boxed_problems_with_shifted_inequalities(problem, solver):
    """As if each problem had many leaves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexopt, "_MANY", 0)
        test_boxed_problems.hypothesis.inner_test(problem, solver)  # pyright: ignore[reportFunctionMemberAccess]


def test_an_integral_vertex_is_a_witness():
    """Parameters without bounds may have either order: that takes no search, and none of them is listed."""
    n_param, ineqs = least_of_many(7, 1)
    with budget(2_200):
        assert lexmin(n_param, 1, (), ineqs)


def test_a_tile_makes_one_piece():
    """128a <= x < 128a + 128 with 0 <= x < m, and y >= x: the tile starts at a multiple, nothing to split."""
    pieces = lexmin(
        2, 2, (), ((0, -128, 0, 1, 0), (127, 128, 0, -1, 0), (0, 0, 0, 1, 0), (-1, 0, 1, -1, 0), (0, 0, 0, -1, 1))
    )
    assert len(pieces) == 1
    assert pieces[0].values == ((0, 128, 0), (0, 128, 0))


def test_quotient_and_remainder():
    """p = 64 q + r with 0 <= r < 64."""
    (piece,) = lexmin(1, 2, ((0, 1, -64, -1),), ((0, 0, 0, 1), (63, 0, 0, -1)))
    assert (piece.eqs, piece.ineqs, len(piece.divs)) == ((), (), 1)
    assert [optima([piece], (p,)) for p in (-65, -1, 0, 63, 64)] == [
        [(-2, 63)],
        [(-1, 63)],
        [(0, 0)],
        [(0, 63)],
        [(1, 0)],
    ]


def test_a_stride_becomes_an_equality():
    (piece,) = lexmin(1, 1, ((0, 1, -2),), ())
    assert piece == Piece(((2, (0, 1)),), ((0, 1, -2),), (), ((0, 0, 1),))


def test_coins():
    """The least number of threes in p = 3x + 5y: periodic in p, with gaps below the Frobenius number 7."""
    pieces = lexmin(1, 2, ((0, 1, -3, -5),), ((0, 0, 1, 0), (0, 0, 0, 1)))
    for p in range(-5, 60):
        solutions = [(x, y) for x in range(21) for y in range(13) if 3 * x + 5 * y == p]
        assert optima(pieces, (p,)) == ([min(solutions)] if solutions else [])


def test_no_minimum():
    with pytest.raises(Unbounded):
        lexmin(1, 1, (), ((0, 1, -1),))
    with pytest.raises(Unbounded):
        lexmax(0, 2, (), ((0, 1, 0), (5, -1, 0), (0, 0, 1)))
    assert lexmin(0, 1, ((1, 2),), ()) == ()


@pytest.mark.parametrize("first", [1, 3, 4])
def test_no_minimum_where_the_least_real_number_has_no_solution(first):
    """x >= 0 and first - x <= 4z <= 3 leave no z below x = first, and y has no end."""
    rows = [(0, 1, 0, 0), (-first, 1, 0, 4), (3, 0, 0, -4)]
    with pytest.raises(Unbounded):
        lexmin(0, 3, (), rows)
    assert lexmin(0, 3, (), [*rows, (first - 1, -1, 0, 0), (-1, 0, 0, 4)]) == ()
    assert lexmin(0, 3, (), [*rows, (0, 0, 1, 0)]) == (Piece((), (), (), ((first,), (0,), (0,))),)


@pytest.mark.parametrize(
    "rows", [((0, -1, 3, 0), (0, -1, 0, 1)), ((0, 1, -3, -5), (1, -1, 3, 5), (0, 0, 1, 0), (0, 0, 0, 1))]
)
def test_a_caller_may_know_the_answer(rows, monkeypatch):
    """It is asked once, after many cuts of a branch, here after one; where it knows nothing the search goes on."""
    monkeypatch.setattr(lexopt, "_LONG", 1)
    asked, right = [], lexmin(1, 2, (), rows)
    assert lexmin(1, 2, (), rows, otherwise=lambda: asked.append(1)) == right and asked == [1]
    with pytest.raises(lexopt.Answered) as found:
        lexmin(1, 2, (), rows, otherwise=lambda: right)
    assert found.value.pieces == right


def test_without_variables_or_parameters():
    assert lexmin(1, 0, (), ((-3, 2),)) == (Piece((), (), ((-2, 1),), ()),)
    assert lexmin(0, 1, (), ((-3, 2),)) == (Piece((), (), (), ((2,),)),)
    assert lexmin(0, 0, (), ()) == (Piece((), (), (), ()),)


def test_the_budget_names_the_problem():
    problem = 1, 2, ((0, 1, -3, -5),), ((0, 0, 1, 0), (0, 0, 0, 1))
    with pytest.raises(BudgetExceeded, match="lexmin of 1 rows, 3 columns and 2 rows, 3 columns"), budget(3):
        lexmin(*problem)


@st.composite
def floored_problems(draw):
    """One or two parameters, floors of them, one variable."""
    n_param = draw(st.integers(1, 2))
    coefficient = st.integers(-4, 4)
    divs = []
    for k in range(draw(st.integers(1, 3))):
        divs.append((draw(st.integers(2, 6)), draw(st.tuples(*[coefficient] * (1 + n_param + k)))))
    row = st.tuples(st.integers(-9, 9), *[coefficient] * (n_param + len(divs) + 1))
    return n_param, divs, draw(st.lists(row, max_size=1)), draw(st.lists(row, max_size=4))


@examples(150)
@given(floored_problems(), st.sampled_from([(lexmin, min), (lexmax, max)]), st.booleans())
def test_floors_of_the_parameters(problem, solver, bounded):
    n_param, divs, eqs, ineqs = problem
    solve, best = solver
    n = n_param + len(divs) + 1
    box = [(BOX, *[0] * (n - 1), 1), (BOX, *[0] * (n - 1), -1)]
    frame = [(PARAMS, *[s * (j == k) for j in range(n)]) for k in range(n_param) for s in (1, -1)] if bounded else []
    pieces = solve(n_param, 1, eqs, [*ineqs, *box, *frame], divs)
    for params in product(range(-PARAMS, PARAMS + 1), repeat=n_param):
        point = params
        for den, row in divs:
            point = (*point, at(row, point) // den)
        solutions = [(x,) for x in range(-BOX, BOX + 1) if holds(eqs, ineqs, (*point, x))]
        assert optima(pieces, params) == ([best(solutions)] if solutions else [])


@st.composite
def problems_of_large_numbers(draw):
    """Least x and y with x at least some quotients of parameters, y between quotients of these and x."""
    n_param = draw(st.integers(1, 2))
    size = draw(st.sampled_from([30, 150, 500]))
    head = st.tuples(st.integers(-9, 9), *[st.integers(-5, 5)] * n_param)
    ineqs = [(*draw(head), draw(st.integers(1, size)), 0) for _ in range(draw(st.integers(2, 4)))]
    ineqs += [(*draw(head), -draw(st.integers(0, size)), draw(st.integers(1, size))) for _ in range(2)]
    slopes = draw(st.tuples(*[st.integers(-2, 2)] * n_param))
    return n_param, [*ineqs, (40, *slopes, -draw(st.integers(1, 3)), -draw(st.integers(1, 3)))]


LARGE = 2, [(-7, 2, -2, 328, 0), (0, 5, -5, 209, 0), (-5, 5, 1, 401, 0), (-1, -3, -4, 418, 0),
            (-9, 0, -1, -408, 363), (4, 5, 3, -155, 78), (40, 0, 1, -1, -2)]  # fmt: skip


def least_of_two(ineqs, params):
    """The interval of y shrinks as x grows: there is a point above the least x, or none."""
    heads = [(at(r[:-2], params), r[-2], r[-1]) for r in ineqs]
    x = max(-(c // a) for c, a, b in heads if not b)
    low = max(-((c + a * x) // b) for c, a, b in heads if b > 0)
    high = min((c + a * x) // -b for c, a, b in heads if b < 0)
    return [(x, low)] if low <= high else []


@examples(40)
@given(problems_of_large_numbers())
@example(LARGE)
def test_more_residues_than_are_listed(problem):
    """Large divisors end the listing of points, or of residues, on the way."""
    n_param, ineqs = problem
    try:
        with budget(40_000):
            pieces = lexmin(n_param, 2, (), ineqs)
    except (BudgetExceeded, Unbounded):
        return
    steps = range(-150, 151, 7) if n_param == 1 else range(-40, 41, 8)
    for params in product(steps, repeat=n_param):
        assert optima(pieces, params) == least_of_two(ineqs, params)


def test_a_multiple_is_told_by_what_it_is_a_multiple_of():
    """i = n + 8k <= m and the greatest 2j <= 3i - n: a cut of j before one of k made a floor of a floor."""
    rows = [(0, 0, 1, -1, 0, 0), (0, -1, 0, 3, -2, 0)]
    (piece,) = lexmax(2, 3, [(0, 1, 0, -1, 0, 8)], rows, (), 2)
    assert len(piece.divs) == 1
    for n, m in product(range(-12, 12), repeat=2):
        i = max(i for i in range(m - 8, m + 1) if (i - n) % 8 == 0)
        assert optima([piece], (n, m)) == [(i, (3 * i - n) // 2)]
