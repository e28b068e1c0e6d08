"""Integer emptiness and sampling against enumeration of a box, and the instances known to be nasty."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.linalg import matrix_rank

from polyvolta.sets.budgets import budget
from polyvolta.sets.engine import residues
from polyvolta.sets.engine.floors import defined
from polyvolta.sets.engine.integer import _full, _tidy, is_empty, sample, solve_equalities
from polyvolta.sets.engine.rows import cornered
from polyvolta.sets.engine.simplex import Tableau, tight_slacks
from polyvolta.sets.errors import BudgetExceeded
from tests.sets.brute import examples

RUN = settings(max_examples=250, deadline=None)
BIG = 10**100 + 267


def at(row, point):
    return row[0] + sum(c * x for c, x in zip(row[1:], point, strict=True))


def holds(eqs, ineqs, point):
    return all(at(r, point) == 0 for r in eqs) and all(at(r, point) >= 0 for r in ineqs)


def units(n: int):
    return [tuple(int(i == j) for j in range(n)) for i in range(n)]


@st.composite
def systems(draw, n_eqs: int = 2, n_ineqs: int = 5):
    n = draw(st.integers(1, 3))
    size = draw(st.sampled_from([1, 3, 7]))
    row = st.tuples(st.integers(-15, 15), *[st.integers(-size, size)] * n)
    return n, draw(st.lists(row, max_size=n_eqs)), draw(st.lists(row, max_size=n_ineqs))


@RUN
@given(systems(), st.sampled_from([2, 5]))
def test_boxed_systems(system, size):
    n, eqs, ineqs = system
    ineqs = ineqs + [(size, *u) for u in units(n)] + [(size, *[-c for c in u]) for u in units(n)]
    point = sample(n, eqs, ineqs)
    assert is_empty(n, eqs, ineqs) == (point is None)
    if point is None:
        assert not any(holds(eqs, ineqs, p) for p in product(range(-size, size + 1), repeat=n))
    else:
        assert holds(eqs, ineqs, point)


@RUN
@given(systems())
def test_unbounded_systems(system):
    n, eqs, ineqs = system
    point = sample(n, eqs, ineqs)
    if point is None:
        assert not any(holds(eqs, ineqs, p) for p in product(range(-8, 9), repeat=n))
    else:
        assert holds(eqs, ineqs, point)


@RUN
@given(systems(n_eqs=3, n_ineqs=0))
def test_the_lattice_of_solutions(system):
    n, eqs, _ = system
    lattice = solve_equalities(n, eqs)
    solutions = [p for p in product(range(-6, 7), repeat=n) if holds(eqs, (), p)]
    if lattice is None:
        assert not solutions
        return
    origin, basis = lattice
    assert holds(eqs, (), origin)
    assert all(sum(c * x for c, x in zip(r[1:], b, strict=True)) == 0 for r in eqs for b in basis)
    for p in solutions:
        assert in_lattice([a - b for a, b in zip(p, origin, strict=True)], basis)


def in_lattice(target, basis) -> bool:
    """Whether target is an integer combination of independent vectors: Gaussian elimination over Q."""
    rows = [[Fraction(b[i]) for b in basis] + [Fraction(t)] for i, t in enumerate(target)]
    done = 0
    for j in range(len(basis)):
        k = next(i for i in range(done, len(rows)) if rows[i][j])
        rows[done], rows[k] = rows[k], rows[done]
        for i in range(len(rows)):
            if i != done:
                f = rows[i][j] / rows[done][j]
                rows[i] = [a - f * b for a, b in zip(rows[i], rows[done], strict=True)]
        done += 1
    return not any(r[-1] for r in rows[done:]) and all((rows[j][-1] / rows[j][j]).denominator == 1 for j in range(done))


def test_strips_between_lattice_lines_are_empty():
    assert is_empty(2, (), ((2, 3, -3), (-1, -3, 3), (0, 1, 0), (100, -1, 0)))
    assert is_empty(2, (), ((-1, 3, -6), (2, -3, 6)))
    assert is_empty(3, (), ((-1, 2, 4, 0), (1, -2, -4, 0), (0, 0, 0, 1)))


def test_the_needle_has_a_point():
    needle = ((0, 0, 1), (-100000, 300000, -299999), (200000, -300000, 299998))
    assert holds((), needle, sample(2, (), needle))
    assert not is_empty(2, (), needle)


def test_a_corner_that_is_near_a_point_shows_it():
    """It says so of most systems with a point, and of none without."""
    rng, seen = random.Random(3), Counter()
    for _ in range(2000):
        a = lambda: rng.choice((-7, -3, -2, -1, 0, 1, 2, 5))  # noqa: E731
        rows = [(rng.randint(-9, 9), a(), a()) for _ in range(rng.randint(2, 6))]
        found = sample(2, (), rows)
        seen[cornered(rows), found is not None] += 1
    assert seen[True, False] == 0
    assert seen[True, True] > seen[False, True]


def test_a_thin_triangle_without_points():
    """Wide in every coordinate, of width below 1 across."""
    strips = ((-1, 1001, -1000), (2, -1001, 1000)), ((-500, 1001, -1000), (999, -1001, 1000))
    for pair in strips:
        inside = [(x, y) for x in range(60) for y in range(60) if holds((), pair, (x, y))]
        assert is_empty(2, (), (*pair, (0, 1, 0), (0, 0, 1), (59, -1, 0), (59, 0, -1))) == (not inside)


def test_a_hidden_simplex():
    """x + y + z = 1 with all pairwise sums at least a half has the point (1/3, 1/3, 1/3), no integer one."""
    assert is_empty(
        3,
        (),
        (
            (-1, 2, 2, 0),
            (-1, 2, 0, 2),
            (-1, 0, 2, 2),
            (1, -1, -1, -1),
            (0, 1, 0, 0),
            (0, 0, 1, 0),
            (0, 0, 0, 1),
            (-1, 1, 1, 1),
        ),
    )


@pytest.mark.parametrize("total", [89643481, 89643482])
def test_knapsacks_that_defeat_branch_and_bound(total):
    """Cornuejols, Urbaniak, Weismantel and Wolsey (1997): the first right-hand side is a Frobenius number."""
    eq = (-total, 12223, 12224, 36674, 61119, 85569)
    nonnegative = [(0, *u) for u in units(5)]
    point = sample(5, (eq,), nonnegative)
    if total == 89643481:
        assert point is None
    else:
        assert holds((eq,), nonnegative, point)


def test_hundred_digit_coefficients():
    eqs = ((BIG + 1, BIG, -BIG - 7, 3),)
    ineqs = ((0, 1, 0, 0), (BIG * BIG, -1, -1, 0), (-5, 0, BIG - 3, -BIG + 9))
    assert holds(eqs, ineqs, sample(3, eqs, ineqs))
    strip = ((-1, 2 * BIG, -2 * BIG - 3), (BIG - 1, -2 * BIG, 2 * BIG + 3), (0, 1, 0), (BIG**2, -1, 0))
    assert holds((), strip, sample(2, (), strip))
    assert is_empty(2, (), ((-1, BIG, -2 * BIG), (BIG - 1, -BIG, 2 * BIG)))


def test_nothing_to_solve():
    assert not is_empty(0, (), ())
    assert sample(0, (), ()) == ()
    assert is_empty(0, ((1,),), ())
    assert is_empty(1, (), ((-1, 0),))
    assert sample(2, (), ((0, 0, 0),)) == (0, 0)


def test_the_budget_names_the_sizes():
    eqs, ineqs = ((-89643481, 12223, 12224, 36674, 61119, 85569),), [(0, *u) for u in units(5)]
    with pytest.raises(BudgetExceeded, match=r"sample of 1 rows, 5 columns and 5 rows, 5 columns used up"), budget(3):
        sample(5, eqs, ineqs)


@st.composite
def floors(draw):
    """Floors of free and of bounded variables under random rows: width, tidied rows, tableau; None for flat ones."""
    n = draw(st.integers(1, 3))
    small = st.integers(-5, 5)
    rows = []
    for k in range(draw(st.integers(0, n))):
        rows += [(6, *[int(j == k) for j in range(n)]), (6, *[-int(j == k) for j in range(n)])]
    width = n
    for _ in range(draw(st.integers(1, 3))):
        den = draw(st.integers(2, 7))
        form = draw(st.tuples(*[small] * (1 + width)))
        slack = draw(st.integers(1, den - 1))
        rows = [(*r, 0) for r in rows]
        rows += [(*form, -den), (slack - form[0], *[-c for c in form[1:]], den)]
        width += 1
    rows += draw(st.lists(st.tuples(st.integers(-9, 9), *[small] * width), max_size=4))
    tidied = _tidy(rows)
    if tidied is None or tidied[1]:
        return None
    tab = Tableau(width)
    for row in tidied[0]:
        tab.add_ineq(row)
    return None if tab.empty or any(tight_slacks(tab, 0, len(tidied[0]))) else (width, tidied[0], tab)


@examples(200)
@given(floors())
def test_residue_classes_decide_as_the_general_search_does(system):
    """The search without residues is the oracle."""
    if system is None:
        return
    width, rows, tab = system
    decided, point = residues.search(width, rows, tab, sample)
    if decided:
        assert point is None or holds((), rows, point)
        assert (point is None) == (_full(width, rows, tab) is None)


@examples(200)
@given(floors())
def test_no_point_is_outside_of_what_residue_classes_span(system):
    """On neither side of a form that is constant on the points that span all; a general search is the oracle."""
    if system is None:
        return
    width, rows, tab = system
    found = residues.spanning(width, tab, defined(width, rows))
    if found is None:
        return
    found = list(found)
    assert all(holds((), rows, point) for point in found)
    if not found:
        assert _full(width, rows, tab) is None
        return
    moves = [(0, *[y - x for x, y in zip(found[0], point, strict=True)]) for point in found]
    for form in solve_equalities(width, moves)[1]:
        value = at((0, *form), found[0])
        for beyond in ((-value - 1, *form), (value - 1, *[-c for c in form])):
            other = Tableau(width)
            for row in (*rows, beyond):
                other.add_ineq(row)
            assert other.empty or _full(width, [*rows, beyond], other) is None


@pytest.mark.parametrize("seed", range(3))
def test_points_of_residue_classes_span_all_points(seed):
    """Lines of points, some with ends: as many dimensions as all the points on them, which are listed."""
    rng = random.Random(seed)
    for _ in range(60):
        bases = [tuple(rng.randint(-2, 2) for _ in range(3)) for _ in range(rng.randint(1, 3))]
        steps = [tuple(rng.randint(-2, 2) for _ in range(3))] if rng.random() < 0.8 else []
        rows = [(rng.randint(-3, 8), *[rng.randint(-2, 2) for _ in range(3)]) for _ in range(rng.randint(0, 3))]
        rows = [r for r in rows if any(at((0, *r[1:]), step) for step in steps)]
        lines = [[tuple(x + t * y for x, y in zip(b, s)) for t in range(-60, 61)] for b in bases for s in steps]
        everything = {p for line in lines for p in line if holds((), rows, p)} if steps else set(bases)
        found = list(residues.Residues(list(zip(*bases)), steps, len(bases)).spanning(rows))
        assert everything.issuperset(found)
        assert rank(found) == rank(everything)


def rank(points):
    return matrix_rank([(1, *p) for p in points]) if points else 0


def test_an_empty_range_beside_a_huge_one_lists_nothing():
    """1/3 <= x <= 2/3 leaves no x; then the 10**12 values of y must not be listed."""
    tab = Tableau(2)
    for row in (-1, 3, 0), (2, -3, 0), (0, 0, 1), (10**12, 0, -1):
        tab.add_ineq(row)
    assert list(residues.resolved(tab, (0, 1), [(2, (0, 1, 1))]).bases) == []
