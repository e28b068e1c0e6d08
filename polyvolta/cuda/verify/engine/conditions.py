"""Path conditions: what is known of sizes, block indices and k tiles where the symbolic machine stands.

A condition is a union of conjunctions of `e >= 0`, each e an expression in symbolic names. Every question is answered
by the set core, over the integers and exactly: whether a further constraint is possible, whether it always holds, and
which numbers there are, for a counter-example.

There are thousands of questions to a kernel, most of them alike, so the core is asked little. Constraints without
common names have nothing to do with one another: a conjunction falls apart into *components*, and a question about K
needs no answer about M. Each component's answer is a point of it, which is kept, and answers the next question if it
can: what holds at a known point is possible. Of constraints that differ in their constant alone one matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from polyvolta.sets import Aff, Set, Unbounded
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple

Constraints = frozenset[Aff]  # each e >= 0


@dataclass(frozen=True, slots=True)
class Condition:
    """A set of values of some names.

    Parameters
    ----------
    names : the symbolic names, in order.
    pieces : conjunctions; their union is meant. None is empty.

    >>> from polyvolta.sets import var
    >>> K, k = var("K"), var("k")
    >>> tile = Condition(("K", "k"), (frozenset({k, K - 32 * k - 1}),))
    >>> tile.holds(K - 1), tile.holds(K - 32), tile.point(K - 32 * k - 32)
    (True, False, {'K': 32, 'k': 0})
    >>> tile.value(k // 1), tile.given(5 - k, k - 5).value(k % 2)
    (None, 1)
    """

    names: tuple[str, ...]
    pieces: tuple[Constraints, ...]
    _asked: dict[Aff, bool] = field(default_factory=dict, compare=False, repr=False)
    _valued: dict[Aff, int | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def set(self) -> Set:
        """The same thing as a set of [names]."""
        return _union(self.names, self.pieces)

    def given(self, *more: Aff) -> Condition:
        """Those of the values for which all `more` are at least 0 too."""
        pieces = dict.fromkeys(_tidy(p.union(more)) for p in self.pieces if _possible(p, more))
        return Condition(self.names, tuple(pieces))

    @property
    def is_empty(self) -> bool:
        return not self.pieces

    def possible(self, *more: Aff) -> bool:
        """Whether there are values for which all `more` are at least 0 too."""
        return any(_possible(p, more) for p in self.pieces)

    def holds(self, e: Aff) -> bool:
        """Whether `e >= 0` for all the values."""
        if e.is_constant:
            return e.const >= 0 or self.is_empty
        if e not in self._asked:
            self._asked[e] = not self.possible(-e - 1)
        return self._asked[e]

    def point(self, *more: Aff) -> dict[str, int] | None:
        """The lexicographically smallest of the values for which all `more` are at least 0; None if there is none.

        Where values go down without end it is any of them.
        """
        points = [_smallest(_conjunction(self.names, p.union(more))) for p in self.pieces if _possible(p, more)]
        return dict(zip(self.names, min(points), strict=True)) if points else None

    def value(self, e: Aff) -> int | None:
        """The value of an expression, if it is the same one for all the values."""
        if e.is_constant:
            return e.const
        if e not in self._valued:
            point = next((w for p in self.pieces if (w := _witness(p)) is not None), None)
            value: Any = None if point is None else _value(e, point)
            self._valued[e] = value if point is not None and self.holds(e - value) and self.holds(value - e) else None
        return self._valued[e]

    def within(self, other: Condition) -> bool:
        """Whether all the values are among another condition's."""
        if set(self.pieces) <= set(other.pieces):
            return True
        return self.set.is_subset(other.set)

    def union(self, other: Condition) -> Condition:
        return Condition(self.names, tuple(dict.fromkeys((*self.pieces, *other.pieces))))

    def subs(self, table: Mapping[str, Aff]) -> Condition:
        """The condition with expressions in place of some names, which stay names of the condition."""
        pieces = (frozenset(e.subs(table) for e in p) for p in self.pieces)
        return Condition(self.names, tuple(dict.fromkeys(frozenset(e for e in p if not _true(e)) for p in pieces)))

    def naming(self, name: str) -> Condition:
        """The condition with one name more, of which nothing is known."""
        return Condition((*self.names, name), self.pieces)

    def without(self, name: str) -> Condition:
        """The condition without a name, and without the constraints that speak of it: it may hold for more values."""
        pieces = (frozenset(e for e in p if name not in e.names()) for p in self.pieces)
        return Condition(tuple(n for n in self.names if n != name), tuple(dict.fromkeys(pieces)))

    def widened(self, other: Condition, guesses: Iterable[Aff] = ()) -> Condition:
        """What still holds when another condition's values are added: of this one's constraints, and of the guesses.

        Each time something new is added, constraints go, so that a row of widenings comes to an end.
        """
        candidates = {*guesses, *(e for p in self.pieces for e in p)}
        return Condition(self.names, (frozenset(e for e in candidates if self.holds(e) and other.holds(e)),))


def _true(e: Aff) -> bool:
    return e.is_constant and e.const >= 0


# ---- conjunctions, asked in parts


def _possible(known: Constraints, more: tuple[Aff, ...]) -> bool:
    """Whether a conjunction has points at which all `more` are at least 0."""
    witness = _witness(known)
    if witness is None:
        return False
    if all(_value(e, witness) >= 0 for e in more):
        return True
    least = _least(known)
    if any(e.const + least.get((-e).terms, -e.const) < 0 for e in more):  # t + c >= 0 and -t - c - 1 >= 0
        return False
    return _joint(known, frozenset(more))


@lru_cache(maxsize=2**14)
def _joint(known: Constraints, more: Constraints) -> bool:
    """The same for a conjunction that has points: only the components matter that `more` speaks of."""
    names = frozenset(n for e in more for n in e.names())
    touched = [c for c, own in _components(known) if own & names]
    return _witness(_tidy(frozenset().union(more, *touched))) is not None


@lru_cache(maxsize=2**14)
def _components(constraints: Constraints) -> tuple[tuple[Constraints, frozenset[str]], ...]:
    """Constraints that hang together by their names, with these names."""
    found: list[tuple[set[Aff], set[str]]] = []
    for e in constraints:
        own, names = {e}, set(e.names())
        apart = []
        for part in found:
            if part[1] & names:
                own |= part[0]
                names |= part[1]
            else:
                apart.append(part)
        found = [*apart, (own, names)]
    return tuple((frozenset(own), frozenset(names)) for own, names in found)


@lru_cache(maxsize=2**14)
def _witness(constraints: Constraints) -> Mapping[str, int] | None:
    """Any point of a conjunction; None if it is empty. Names that it says nothing of are missing."""
    out: dict[str, int] = {}
    for own, names in _components(constraints):
        point = _point_of(own, tuple(sorted(names)))
        if point is None:
            return None
        out |= point
    return out


@lru_cache(maxsize=2**14)
def _point_of(component: Constraints, names: tuple[str, ...]) -> Mapping[str, int] | None:
    found = _conjunction(names, component)
    return None if found.is_empty() else dict(zip(names, found.sample_point(), strict=True))


def _value(e: Aff, point: Mapping[str, int]) -> int:
    """An expression's value at a point; names that it doesn't have are 0."""
    if missing := e.names() - point.keys():
        point = {**point, **dict.fromkeys(missing, 0)}
    return e.evaluate(point)  # type: ignore[return-value]


@lru_cache(maxsize=2**14)
def _least(constraints: Constraints) -> Mapping[tuple, int]:
    """The smallest constant of constraints with the same terms: it says what the others say, too."""
    out: dict[tuple, int] = {}
    for e in constraints:
        out[e.terms] = min(e.const, out.get(e.terms, e.const))
    return out


def _tidy(constraints: Constraints) -> Constraints:
    """The constraints without those that others of the same terms imply."""
    least = _least(constraints)
    return (
        constraints
        if len(least) == len(constraints)
        else frozenset(e for e in constraints if e.const == least[e.terms])
    )


@lru_cache(maxsize=2**14)
def _conjunction(names: tuple[str, ...], constraints: Constraints) -> Set:
    ordered = sorted(constraints, key=written)
    return _made(names, (RowBuilder(names).conjunct([("ge", e) for e in ordered]),))


def _smallest(points: Set) -> tuple[int, ...]:
    try:
        points = points.lexmin()
    except Unbounded:
        pass
    return tuple(points.sample_point())


@lru_cache(maxsize=2**14)
def written(e: Aff) -> str:
    """What constraints are ordered by, so that runs are alike."""
    return str(e)


@lru_cache(maxsize=2**10)
def _union(names: tuple[str, ...], pieces: tuple[Constraints, ...]) -> Set:
    return _made(names, tuple(RowBuilder(names).conjunct([("ge", e) for e in sorted(p, key=written)]) for p in pieces))


def _made(names: tuple[str, ...], conjuncts: tuple) -> Set:
    return Set._of((), [(Space(None, Tuple(None, names)), tuple(c for c in conjuncts if c is not None))])
