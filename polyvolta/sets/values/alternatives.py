"""Which alternatives of a conjunction can hold: a disjunction is multiplied out while its linear program is warm.

`a != b and b != c and a != c` are eight conjunctions of which six have a point; of ten variables all different, nearly
none of the 2^45. So disjunctions are multiplied out one after the other, and each conjunction that has no rational
point goes at once, with all that would be made of it: what lives stays about as much as what is left at the end.

A clause knows the strongest of its parallel bounds, by the expression that they bound. Most alternatives of one more
disjunction contradict one of these, or say nothing new beside them: of `i != 9` beside `1 < i < 5` one does each. That
is two look-ups; only what is left is asked of the linear program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..budgets import spend
from ..conjuncts.conjunct import Conjunct
from ..engine.rows import normal_eq, normal_ineq
from ..engine.simplex import Tableau
from ..errors import BudgetExceeded
from .aff import Aff, Atom, Floor
from .build import Constraint

MOST_CLAUSES = 4096  # a formula of more alternatives is refused: each is a conjunct

Terms = tuple[tuple[Atom, int], ...]


class Clause(NamedTuple):
    """One conjunction: atoms, the names of its existentials, and finished conjuncts over names."""

    atoms: tuple[Constraint, ...] = ()
    exists: tuple[str, ...] = ()
    solid: tuple[tuple[tuple[str, ...], Conjunct], ...] = ()


Formula = tuple[Clause, ...]  # a disjunction
TRUE: Formula = (Clause(),)


class _Parts(NamedTuple):
    """A clause apart: the constants of its strongest bounds by what they bound, the other atoms, what else it has."""

    bounds: dict[Terms, int]
    rest: tuple[Constraint, ...]
    beside: Clause  # without atoms

    def clause(self) -> Clause:
        return Clause(_atoms(self.rest, self.bounds), self.beside.exists, self.beside.solid)


class _Option(NamedTuple):
    """An alternative that live clauses meet: its parts, and its bounds each with the terms of the opposite one."""

    parts: _Parts
    bounds: tuple[tuple[Terms, int, Terms], ...]
    plain: bool  # whether it has bounds alone


def multiplied(formulas: Iterable[Formula]) -> Formula:
    """The conjunction of formulas; alternatives without a rational point are left out as they are multiplied out.

    A live clause costs two look-ups for each alternative that contradicts one of its bounds or follows from them, a
    few pivots for others. Where thousands live, which is so where many of them meet, they are made disjoint.

    Raises
    ------
    BudgetExceeded : there are thousands of alternatives.
    """
    single: list[Clause] = []
    several: list[Formula] = []
    for f in formulas:
        if len(f) == 1:
            single += f
        elif f:
            several.append(f)
        else:
            return ()
    first = _joined(single)
    if not several:
        return (first,)
    if first == TRUE[0] and len(several) == 1:
        return several[0]
    found = _alive(first, several)
    if found is None:
        disjoint = [d for f in several if (d := _apart(f)) is not None]
        found = _alive(first, disjoint) if len(disjoint) == len(several) else None
    if found is None:
        raise BudgetExceeded(
            f"the formula has more than {MOST_CLAUSES} alternatives",
            hint="split it, or intersect with one part at a time",
        )
    return found


def _alive(first: Clause, several: Sequence[Formula]) -> Formula | None:
    """The alternatives of a clause and some disjunctions that have a rational point; None where they are too many."""
    tried = Alternatives([atom for f in ((first,), *several) for c in f for atom in c.atoms])
    begun = tried.begun(first.atoms)
    parts = None if begun is None else _parts(first)
    live = {} if parts is None else {parts.clause(): (parts, begun)}
    for f in several:
        options = [_option(p) for d in f if (p := _parts(d)) is not None]
        found: dict[Clause, tuple[_Parts, Any]] = {}
        for c, (parts, at) in live.items():
            for option in options:
                tighter = _tighter(parts.bounds, option.bounds)
                if tighter is None:
                    continue
                if option.plain and not tighter:
                    found[c] = (parts, at)
                    continue
                both = _beside(parts, option.parts, tighter)
                clause = both.clause()
                if clause not in found and (held := tried.further(at, _atoms(option.parts.rest, tighter))) is not None:
                    found[clause] = (both, held)
            if len(found) > MOST_CLAUSES:
                return None
        live = found
    return tuple(live)


def _apart(f: Formula) -> Formula | None:
    """Alternatives without a common point: each holds where none before it does; None where they are too many.

    Of those of several disjunctions no two hold at one point then, so that what lives are cells of a partition. None,
    too, where an alternative is of more than atoms.
    """
    if any(c.exists or c.solid for c in f):
        return None
    out: list[Clause] = []
    outside = [Clause()]  # where none so far holds
    for c in f:
        out += [_joined((rest, c)) for rest in outside]
        before: list[Constraint] = []
        parts: list[Clause] = []  # of where this one doesn't hold
        for kind, e in c.atoms:
            parts += [Clause((*before, ("ge", side - 1))) for side in ((e, -e) if kind == "eq" else (-e,))]
            before.append((kind, e))
        outside = [b for rest in outside for part in parts if _parts(b := _joined((rest, part))) is not None]
        if len(out) + len(outside) > MOST_CLAUSES:
            return None
    return tuple(out)


def _joined(parts: Sequence[Clause]) -> Clause:
    """All clauses at once. A tree may stand in several places, as a condition of a case does: what makes it true in
    one makes it true in all, so its existentials are the same ones."""
    if len(parts) == 1:
        return parts[0]
    return Clause(
        tuple([a for c in parts for a in c.atoms]),
        tuple(dict.fromkeys([e for c in parts for e in c.exists])),
        tuple([s for c in parts for s in c.solid]),
    )


def _parts(c: Clause) -> _Parts | None:
    """A clause apart; None where bounds contradict."""
    rest: list[Constraint] = []
    bounds: dict[Terms, int] = {}
    for kind, e in c.atoms:
        if kind == "eq":
            rest.append((kind, e))
        elif e.terms not in bounds or e.const < bounds[e.terms]:
            bounds[e.terms] = e.const
    if all(bounds.get(_opposite(terms), -const) + const >= 0 for terms, const in bounds.items()):
        return _Parts(bounds, tuple(rest), Clause((), c.exists, c.solid))
    return None


def _atoms(rest: tuple[Constraint, ...], bounds: dict[Terms, int]) -> tuple[Constraint, ...]:
    return (*rest, *(("ge", Aff(*b)) for b in bounds.items()))


def _opposite(terms: Terms) -> Terms:
    return tuple([(a, -k) for a, k in terms])


def _option(parts: _Parts) -> _Option:
    bounds = tuple([(terms, const, _opposite(terms)) for terms, const in parts.bounds.items()])
    return _Option(parts, bounds, not parts.rest and parts.beside == TRUE[0])


def _tighter(bounds: dict[Terms, int], more: Iterable[tuple[Terms, int, Terms]]) -> dict[Terms, int] | None:
    """Those of `more` bounds that say more than the first ones; None where one contradicts them."""
    out = {}
    for terms, const, opposite in more:
        if bounds.get(opposite, -const) + const < 0:
            return None
        if terms not in bounds or const < bounds[terms]:
            out[terms] = const
    return out


def _beside(c: _Parts, d: _Parts, tighter: dict[Terms, int]) -> _Parts:
    """Both clauses, where d's bounds that say more than c's are known."""
    return _Parts({**c.bounds, **tighter}, (*c.rest, *d.rest), _joined((c.beside, d.beside)))


# ---- the linear program


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
