"""Which alternatives of a conjunction can hold: a disjunction is multiplied out while its linear program is warm.

`a != b and b != c and a != c` are eight conjunctions of which six have a point; of ten variables all different, nearly
none of the 2^45. So disjunctions are multiplied out one after the other, and each conjunction that has no rational
point goes at once, with all that would be made of it: what lives stays about as much as what is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..budgets import spend
from ..engine.rows import normal_eq, normal_ineq
from ..engine.simplex import Tableau
from .aff import Aff, Atom, Floor
from .build import Constraint


class Alternatives:
    """The rational relaxation of conjunctions of constraints, the floors of which lie where they are defined.

    A conjunction is a mark of one tableau. One that goes on from a mark costs its new rows alone, no pivot where they
    hold at the vertex that the mark is at; of `a < b` and `a > b` one does as a rule.

    Parameters
    ----------
    constraints : all that may occur.

    >>> from polyvolta.sets import var
    >>> a, b = var("a"), var("b")
    >>> less, more = [("ge", b - a - 1)], [("ge", a - b - 1)]
    >>> tried = Alternatives(less + more)
    >>> one = tried.begun(less)
    >>> tried.further(one, more) is None, tried.further(one, less) is None
    (True, False)
    """

    __slots__ = ("_column", "_tableau")

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        self._column: dict[Atom, int] = {}
        definitions: list[tuple[Floor, int]] = []
        stack = [e for _, e in constraints]
        while stack:
            for atom, _ in stack.pop().terms:
                if atom not in self._column:
                    self._column[atom] = 1 + len(self._column)
                    if isinstance(atom, Floor):
                        definitions.append((atom, self._column[atom]))
                        stack.append(atom.num)
        self._tableau = Tableau(len(self._column))
        for floor, col in definitions:
            rest = self._row(floor.num)
            rest[col] -= floor.den
            self._tableau.add_ineq(rest)
            self._tableau.add_ineq([floor.den - 1 - rest[0], *(-v for v in rest[1:])])

    def _row(self, e: Aff) -> list[int]:
        row = [e.const, *[0] * len(self._column)]
        for atom, c in e.terms:
            row[self._column[atom]] = c
        return row

    def begun(self, constraints: Iterable[Constraint]) -> Any:  # noqa: ANN401
        """The conjunction of these alone; None where it has no rational point."""
        return self._held(constraints)

    def further(self, conjunction: Any, constraints: Iterable[Constraint]) -> Any:  # noqa: ANN401
        """A conjunction and these; None where no rational point, or none that a row by itself allows, is left.

        Exact where it is None: rows are only made tighter for integers. A few pivots a row.
        """
        self._tableau.rollback(conjunction)
        return self._held(constraints)

    def _held(self, constraints: Iterable[Constraint]) -> Any:  # noqa: ANN401
        spend(1)
        tableau = self._tableau
        for kind, e in constraints:
            row = (normal_eq if kind == "eq" else normal_ineq)(self._row(e))
            if row is False:
                return None
            if row is not True:
                (tableau.add_eq if kind == "eq" else tableau.add_ineq)(row)
                if tableau.empty:
                    return None
        return tableau.mark()
