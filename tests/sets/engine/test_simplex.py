"""The tableau against the vertices of small polytopes, found by Cramer's rule on every choice of rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sets.budgets import budget
from polyvolta.sets.engine.rows import complement, normal_eq, normal_ineq
from polyvolta.sets.engine.simplex import Tableau, redundant_rows, tight_slacks
from polyvolta.sets.errors import BudgetExceeded

N, BOX = 2, 6
RUN = settings(max_examples=250, deadline=None)


def rows(max_size: int) -> st.SearchStrategy:
    entry = st.integers(-7, 7)
    return st.lists(st.tuples(st.integers(-12, 12), *[entry] * N), max_size=max_size)


def at(row, point):
    return row[0] + sum(c * x for c, x in zip(row[1:], point, strict=True))


def box(n: int = N) -> list[tuple[int, ...]]:
    units = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    return [(BOX, *u) for u in units] + [(BOX, *[-c for c in u]) for u in units]


def vertices(eqs, ineqs):
    """All vertices in the plane: intersections of two lines that satisfy everything."""
    out = set()
    for p, q in combinations([*eqs, *ineqs], 2):
        det = p[1] * q[2] - p[2] * q[1]
        if det:
            point = (Fraction(p[2] * q[0] - q[2] * p[0], det), Fraction(q[1] * p[0] - p[1] * q[0], det))
            if all(at(r, point) == 0 for r in eqs) and all(at(r, point) >= 0 for r in ineqs):
                out.add(point)
    return out


def loaded(eqs, ineqs):
    tab = Tableau(N)
    for row in eqs:
        tab.add_eq(row)
    for row in ineqs:
        tab.add_ineq(row)
    return tab


@RUN
@given(rows(2), rows(6), rows(2), st.integers(0, 12))
def test_a_tableau_whose_budget_ends_in_a_row_or_a_question_is_at_another_vertex(eqs, ineqs, goals, steps):
    whole, broken = loaded([], box()), loaded([], box())
    for add, row in [(Tableau.add_ineq, r) for r in ineqs] + [(Tableau.add_eq, r) for r in eqs]:
        try:
            with budget(steps):
                for goal in goals if not broken.empty else ():
                    broken.minimum(goal)
                add(broken, row)
        except BudgetExceeded:
            continue
        add(whole, row)
    assert broken.empty == whole.empty
    for goal in goals if not whole.empty else ():
        assert Fraction(*broken.minimum(goal)) == Fraction(*whole.minimum(goal))


@RUN
@given(rows(1), rows(5), rows(4))
def test_optima_are_those_of_the_vertices(eqs, ineqs, goals):
    ineqs = ineqs + box()
    tab, corners = loaded(eqs, ineqs), vertices(eqs, ineqs)
    assert tab.empty == (not corners)
    for goal in goals if corners else ():
        values = [at(goal, v) for v in corners]
        assert Fraction(*tab.minimum(goal)) == min(values)
        assert at(goal, [Fraction(*c) for c in tab.sample()]) == min(values)
        assert Fraction(*tab.maximum(goal)) == max(values)
        assert tab.implies(goal) == (min(values) >= 0)


@RUN
@given(rows(1), rows(4), rows(3), rows(3))
def test_rollback_forgets(eqs, first, second, goals):
    first = first + box()
    tab = loaded(eqs, first)
    token = tab.mark()
    for _ in range(2):
        for row in second:
            tab.add_ineq(row)
        assert tab.empty == (not vertices(eqs, first + second))
        tab.rollback(token)
        fresh = loaded(eqs, first)
        assert tab.empty == fresh.empty
        if not fresh.empty:
            assert [tab.minimum(g) for g in goals] == [fresh.minimum(g) for g in goals]


@RUN
@given(rows(1), rows(5))
def test_redundant_rows_are_minimal(eqs, ineqs):
    ineqs = ineqs + box()
    gone = redundant_rows(N, eqs, ineqs)
    kept = [r for r, g in zip(ineqs, gone, strict=True) if not g]
    corners = vertices(eqs, ineqs)
    assert loaded(eqs, kept).empty == (not corners)
    if corners:
        tab = loaded(eqs, kept)
        assert all(tab.implies(r) for r in ineqs)
        for i, row in enumerate(kept):
            assert not loaded(eqs, kept[:i] + kept[i + 1 :]).implies(row)


@RUN
@given(rows(1), rows(5))
def test_implicit_equalities(eqs, ineqs):
    ineqs = ineqs + box()
    corners = vertices(eqs, ineqs)
    expected = tuple(all(at(r, v) == 0 for v in corners) for r in ineqs)
    assert tight_slacks(loaded(eqs, ineqs), len(eqs), len(ineqs)) == expected


def test_unbounded_and_empty():
    tab = Tableau(2)
    tab.add_ineq((0, 1, 1))
    assert tab.minimum((0, 1, 0)) is None
    assert tab.maximum((0, 1, 1)) is None
    assert tab.minimum((3, 2, 2)) == (3, 1)
    tab.add_ineq((-1, -1, -1))
    assert tab.empty
    assert tab.implies((-1, 0, 0))
    with pytest.raises(ValueError, match="empty"):
        tab.minimum((0, 1, 0))
    with pytest.raises(ValueError, match="empty"):
        tab.sample()


def test_only_one_of_two_equal_rows_is_redundant():
    assert redundant_rows(1, (), ((0, 1), (0, 1))) == (True, False)
    assert redundant_rows(1, (), ((0, 1), (5, 1)), given=((0, 1),)) == (True, True)


def test_variables_can_be_appended():
    tab = Tableau(1)
    tab.add_ineq((0, 1))
    token = tab.mark()
    tab.add_var()
    tab.add_eq((1, 2, -1))
    assert tab.minimum((0, 0, 1)) == (1, 1)
    tab.rollback(token)
    assert tab.n == 1
    assert tab.minimum((0, 1)) == (0, 1)


def test_a_cycling_example_ends():
    """Beale's problem cycles under the textbook rule."""
    tab = Tableau(4)
    for row in (
        (0, 1, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (0, 0, 0, 1, 0),
        (0, 0, 0, 0, 1),
        (1, 0, 0, -1, 0),
        (0, -25, 6000, 4, -900),
        (0, -50, 9000, 2, -300),
    ):
        tab.add_ineq(row)
    assert tab.minimum((0, -75, 15000, -2, 600)) == (-5, 1)


def test_pivots_spend_the_budget():
    tab = Tableau(3)
    with pytest.raises(BudgetExceeded, match="used up its budget of 1 steps"), budget(1):
        tab.add_ineq((-1, 1, 1, 1))
        tab.add_ineq((-5, -1, 2, 3))


def test_rows_of_integers():
    assert normal_ineq((-3, 2, -4)) == (-2, 1, -2)
    assert normal_eq((3, 2, -4)) is False
    assert normal_eq((4, 0, -4)) == (-1, 0, 1)
    assert complement((2, 1)) == (-3, -1)


@RUN
@given(rows(5), rows(1), st.sampled_from([1, 2, 8, 4096]))
def test_a_row_that_others_keep_above_minus_one_is_nearly_implied(ineqs, last, parts):
    tab = loaded([], [*ineqs, *last, *box()])
    if tab.empty or not last:
        return
    least = min(at(last[0], p) for p in vertices([], [*ineqs, *box()]))
    dropped = least >= Fraction(1, parts) - 1
    assert tab.relaxed_implies(~len(ineqs), parts) == dropped
    left = vertices([], [*ineqs, *([] if dropped else last), *box()])  # nothing else has changed
    assert Fraction(*tab.minimum(last[0])) == min(at(last[0], p) for p in left)
