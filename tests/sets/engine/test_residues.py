"""Points by residue classes, and points that are guessed: beside a listing of all."""

from itertools import product
from random import Random

import pytest

from polyvolta.sets.budgets import budget
from polyvolta.sets.engine import integer, residues
from polyvolta.sets.engine.floors import defined, dived, near
from polyvolta.sets.engine.residues import ALONE, Residues, search
from polyvolta.sets.engine.rows import evaluate, negate
from polyvolta.sets.engine.simplex import Tableau
from polyvolta.sets.errors import BudgetExceeded

FAR = 7  # how far from 0 a coordinate without values of its own may be


def drawn(rng, count):
    """A row over so many variables."""
    return tuple(rng.randint(-4, 4) for _ in range(1 + count))


def within(count):
    """Bounds of so many variables."""
    return [(FAR, *[s * (j == k) for j in range(count)]) for k in range(count) for s in (1, -1)]


def floors(values, divs):
    """The point of some values, with its floors."""
    point = [*values]
    for den, row in divs:
        point.append(evaluate(row, point) // den)
    return tuple(point)


@pytest.mark.parametrize("seed", range(60))
def test_a_point_above_many_bases_is_found_where_there_is_one(seed):
    """More bases than are asked one after another, each with rows of up to two t; slabs, some of which are empty."""
    rng = Random(seed)
    values = [range(low, low + 5) for low in (rng.randint(-4, 0), rng.randint(-4, 0))]
    free = 1 + seed % 2
    found = Residues((), (), 1).with_variable(0, values[0]).with_variable(1, values[1])
    for k in range(free):
        found = found.with_variable(2 + k, None)
    divs = []
    for k in range(2):
        divs.append((rng.randint(2, 4), drawn(rng, 2 + free + k)))
        found = found.with_div(*divs[-1])
        assert found is not None
    n = 4 + free
    rows = [drawn(rng, n) for _ in range(3)]
    rows += [(rng.randint(0, 3) - row[0], *negate(row[1:])) for row in rows[:2]]
    eqs = [drawn(rng, n)] if seed % 5 == 0 else []

    def holds(point):
        return all(evaluate(r, point) >= 0 for r in rows) and not any(evaluate(r, point) for r in eqs)

    box = product(*values, *[range(-FAR, FAR + 1)] * free)
    exists = any(holds(floors(p, divs)) for p in box)
    bounds = [(*r, *(0,) * (n - 2 - free)) for r in within(2 + free)[4:]]
    assert found.count > ALONE
    point = found.find(eqs, [*rows, *bounds], integer.sample)
    assert (point is not None) == exists
    if point is not None:
        assert holds(point) and floors(point[: 2 + free], divs) == point and max(map(abs, point[2 : 2 + free])) <= FAR


def test_classes_that_opposite_rows_exclude_are_not_asked_for_points():
    """1 <= 6 x + 15 y + v <= 2 modulo 3, v in 0, 3, 6, ...: no question but those of the first bases."""
    found = Residues((), (), 1).with_variable(0, range(0, 300, 3)).with_variable(1, None).with_variable(2, None)
    asked = []

    def sample(n, eqs, ineqs):
        asked.append(ineqs)
        return integer.sample(n, eqs, ineqs)

    assert found.find((), [(-1, 1, 6, 15), (2, -1, -6, -15)], sample) is None
    assert len(asked) == ALONE


def floored(seed):
    """(variables, floors, all rows of three variables and one or two floors); bounded but for each third.

    Each fourth has a row between 1 and 2 whose coefficients are multiples of 3, and so no point.
    """
    rng = Random(seed)
    n, count = 3, 1 + seed % 2
    rows = [drawn(rng, n) for _ in range(2)] + (within(n) if seed % 3 else [])
    divs = [(rng.randint(2, 5), drawn(rng, n + k)) for k in range(count)]
    wide = n + count
    rows = [(*r, *(0,) * count) for r in rows] + [drawn(rng, wide)]
    if seed % 4 == 0:
        slab = [3 * v for v in drawn(rng, wide)]
        rows += [(slab[0] - 1, *slab[1:]), (2 - slab[0], *negate(slab[1:]))]
    for k, (den, row) in enumerate(divs):
        row = [*row, *(0,) * (count - k)]
        row[1 + n + k] -= den
        rows += [tuple(row), (den - 1 - row[0], *negate(row[1:]))]
    return n, divs, rows


def tableau(rows):
    """Rows in a tableau."""
    tab = Tableau(len(rows[0]) - 1)
    for row in rows:
        tab.add_ineq(row)
    return tab


def ends(tab):
    """How far some forms get, by which a tableau is known."""
    return [tab.maximum(drawn(Random(k), tab.n)) for k in range(4)]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_guessed_are_points_and_the_tableau_stays(seed):
    """With and without floors, bounded and not; where `search` decides it says what a listing says."""
    n, divs, rows = floored(seed)
    tab = tableau(rows)
    if tab.empty:
        return
    before = ends(tab)
    for guess in near, dived:
        point = guess(tab.n, rows, tab, defined(tab.n, rows))
        assert point is None or all(evaluate(r, point) >= 0 for r in rows)
    assert ends(tab) == before
    decided, point = search(tab.n, rows, tab, integer.sample)
    assert point is None or all(evaluate(r, point) >= 0 for r in rows)
    if decided and seed % 3:
        box = product(range(-FAR, FAR + 1), repeat=n)
        assert (point is not None) == any(all(evaluate(r, floors(p, divs)) >= 0 for r in rows) for p in box)


def test_the_systems_of_the_last_test_are_of_all_kinds():
    """With and without a point, guessed in either way or in none."""
    kinds = set()
    for seed in range(60):
        _, _, rows = floored(seed)
        if not (tab := tableau(rows)).empty:
            said = defined(tab.n, rows)
            kinds |= {(guess, guess(tab.n, rows, tab, said) is None) for guess in (near, dived)}
            kinds.add((search, search(tab.n, rows, tab, integer.sample)[1] is None))
    assert len(kinds) == 6


def test_a_dive_that_a_budget_ends_leaves_the_tableau_as_it_was():
    ended = 0
    for seed in range(30):
        _, _, rows = floored(seed)
        if (tab := tableau(rows)).empty:
            continue
        before, said = ends(tab), defined(tab.n, rows)
        for steps in range(1, 40):
            try:
                with budget(steps):
                    dived(tab.n, rows, tab, said)
                break
            except BudgetExceeded:
                ended += 1
                assert ends(tab) == before
    assert ended > 100


def test_without_floors_nothing_is_fixed_before_a_branch_is(monkeypatch):
    """A needle: branches fix variables themselves, with two linear programs for each."""
    rows = [(0, 0, 1), (-100000, 300000, -299999), (200000, -300000, 299998)]
    monkeypatch.setattr(residues, "dived", None)
    assert search(2, rows, tableau(rows), integer.sample) == (False, None)
