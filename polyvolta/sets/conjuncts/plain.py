"""Equalities without known divs, solved: those of most conjuncts, and of most that are about to be projected.

One that holds an existential with a unit coefficient is solved for it, then those of dimensions alone, each for its
latest column with one. Rows are replaced, never changed, so none is copied that stays as it is; inequalities are
rewritten once, by all of them. Module `equalities` does the same for all others, where divs change on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from operator import add, sub
from typing import NamedTuple

from ..engine.rows import Row, normal_eq

_UNITS = (1, -1)
_SMALL = frozenset((-1, 0, 1))

Given = list[tuple[int, Row]]
"""Columns, and equalities that give them with a unit coefficient; the later ones don't speak of such a column."""


class Solved(NamedTuple):
    """Rows that say the same.

    Parameters
    ----------
    unknown : how many existentials the rows still have columns for: all of them, where some are left.
    pivots : columns of dimensions that the equalities, which are in reduced echelon form, give. None where they are
        not: existentials are left, or one has no unit coefficient.
    scaled : whether an equality may have a coefficient beyond a unit, so that it may say a quotient.
    """

    eqs: Sequence[Row]
    ineqs: Sequence[Row]
    unknown: int
    pivots: set[int] | None
    scaled: bool


def solved(n: int, unknown: int, eqs: Iterable[Row], ineqs: Sequence[Row]) -> Solved | None:
    """Rows over n dimensions and existentials behind them, after what equalities give is replaced; None: no solution.

    >>> solved(2, 1, [(-1, -1, 0, 1), (0, 0, 1, -1)], [(0, 0, 0, 1), (7, 0, 0, -1)])  # e = x + 1, y = e, 0 <= e <= 7
    Solved(eqs=[(1, 1, -1)], ineqs=[(1, 1, 0), (6, -1, 0)], unknown=0, pivots={2}, scaled=False)
    """
    base, width = 1 + n, 1 + n + unknown
    if unknown:
        eqs, ineqs = ([r if len(r) == width else (*r, *(0,) * (width - len(r))) for r in rows] for rows in (eqs, ineqs))
    todo: list[Row] = []
    for row in eqs:
        said = normal_eq(row)
        if said is False:
            return None
        if said is not True:
            todo.append(said)
    if not unknown:
        return _in_dimensions(todo, ineqs)
    given: Given = []
    left = [*range(base, width)]
    while True:
        for col in left:
            units = [r for r in todo if r[col] in _UNITS]
            if units:
                break
        else:
            break
        pivot = min(units)
        users = [r for r in todo if r[col] and r is not pivot]
        todo = [r for r in todo if not r[col]]
        for row in users:
            said = normal_eq(without(row, pivot, col))
            if said is False:
                return None
            if said is not True:
                todo.append(said)
        given.append((col, pivot))
        left.remove(col)
    ineqs = rewritten(ineqs, given)
    for r in (*todo, *ineqs) if left else ():
        if any(r[base:]):
            return Solved(todo, ineqs, unknown, None, True)
    return _in_dimensions([r[:base] for r in todo], [r[:base] for r in ineqs])


def _in_dimensions(eqs: list[Row], ineqs: Sequence[Row]) -> Solved | None:
    """`solved` of primitive equalities, without existentials."""
    given = given_by(eqs)  # as a rule they are solved already
    if given is not None:
        return Solved(eqs, rewritten(ineqs, given), 0, {col for col, _ in given}, False)
    given, todo = [], [(-last_unit(row), row) for row in eqs]
    while todo:
        at, pivot = min(todo)
        if not at:
            return Solved(eqs, ineqs, 0, None, True)
        col = -at
        users = [row for _, row in todo if row[col] and row is not pivot]
        todo = [one for one in todo if not one[1][col]]
        for row in users:
            said = normal_eq(without(row, pivot, col))
            if said is False:
                return None
            if said is not True:
                todo.append((-last_unit(said), said))
        give(given, pivot, col)
    eqs = [row for _, r in given if not isinstance(row := normal_eq(r), bool)]
    return Solved(eqs, rewritten(ineqs, given), 0, {col for col, _ in given}, bool(scaled(eqs)))


def given_by(eqs: Sequence[Row]) -> Given | None:
    """Equalities that are solved, each for its last column; None where they are not, or one may say a quotient."""
    given: Given = []
    for row in eqs:
        col = max(compress(range(len(row)), row))
        if not _SMALL.issuperset(row[1:]) or sum([1 for r in eqs if r[col]]) > 1:
            return None
        given.append((col, row))
    return given


def give(given: Given, pivot: Row, col: int) -> None:
    """Add an equality that gives a column, of which those before speak no more then."""
    for k, (other, row) in enumerate(given):
        if row[col]:
            given[k] = other, without(row, pivot, col)
    given.append((col, pivot))


def without(row: Row, pivot: Row, col: int) -> Row:
    """The row with column `col`, which the equality `pivot` gives with a unit coefficient, replaced by its value."""
    c = row[col] * pivot[col]
    if c == 1:
        return tuple(map(sub, row, pivot))
    if c == -1:
        return tuple(map(add, row, pivot))
    return tuple([a - c * b for a, b in zip(row, pivot, strict=True)])


def rewritten(rows: Sequence[Row], given: Given) -> Sequence[Row]:
    """The rows without the columns that equalities give, one after the other."""
    if not given:
        return rows
    out = []
    for row in rows:
        for col, pivot in given:
            if row[col]:
                row = without(row, pivot, col)
        out.append(row)
    return out


def scaled(eqs: Iterable[Sequence[int]]) -> list:
    """The equalities with a coefficient beyond a unit."""
    return [row for row in eqs if not _SMALL.issuperset(row[1:])]


def last_unit(row: Sequence[int]) -> int:
    """The latest column with a coefficient of 1 or -1, 0 if there is none."""
    for col in range(len(row) - 1, 0, -1):
        if row[col] in _UNITS:
            return col
    return 0
