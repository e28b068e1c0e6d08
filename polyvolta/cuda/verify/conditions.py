"""Path conditions: what is known of sizes, block indices and k tiles where the symbolic machine stands.

A condition is a union of conjunctions of `e >= 0`, each e an expression in symbolic names. Every question is answered
by the set core, over the integers and exactly: whether a further constraint is possible, whether it always holds, and
which numbers there are, for a counter-example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from polyvolta.sets import Aff, Set, Unbounded
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, Tuple

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
        pieces = (p.union(more) for p in self.pieces)
        return Condition(self.names, tuple(p for p in pieces if not _conjunction(self.names, p).is_empty()))

    @property
    def is_empty(self) -> bool:
        return not self.pieces

    def possible(self, *more: Aff) -> bool:
        """Whether there are values for which all `more` are at least 0 too."""
        return any(not _conjunction(self.names, p.union(more)).is_empty() for p in self.pieces)

    def holds(self, e: Aff) -> bool:
        """Whether `e >= 0` for all the values."""
        if e.is_constant:
            return e.const >= 0 or self.is_empty
        if e not in self._asked:
            self._asked[e] = not self.possible(-e - 1)
        return self._asked[e]

    def point(self, *more: Aff) -> dict[str, int] | None:
        """The lexicographically smallest of the values for which all `more` are at least 0; None if there is none."""
        for p in self.pieces:
            found = _conjunction(self.names, p.union(more))
            if not found.is_empty():
                try:
                    found = found.lexmin()
                except Unbounded:  # some values go down without end: any will do
                    pass
                return dict(zip(self.names, found.sample_point(), strict=True))
        return None

    def value(self, e: Aff) -> int | None:
        """The value of an expression, if it is the same one for all the values."""
        if e.is_constant:
            return e.const
        if e not in self._valued:
            point = _some_point(self.names, self.pieces)
            value: Any = None if point is None else e.evaluate(point)
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


@lru_cache(maxsize=2**10)
def _some_point(names: tuple[str, ...], pieces: tuple[Constraints, ...]) -> Mapping[str, int] | None:
    """Any point of a condition; None if it is empty."""
    for p in pieces:
        found = _conjunction(names, p)
        if not found.is_empty():
            return dict(zip(names, found.sample_point(), strict=True))
    return None


@lru_cache(maxsize=2**14)
def _conjunction(names: tuple[str, ...], constraints: Constraints) -> Set:
    ordered = sorted(constraints, key=str)
    return _made(names, (RowBuilder(names).conjunct([("ge", e) for e in ordered]),))


@lru_cache(maxsize=2**10)
def _union(names: tuple[str, ...], pieces: tuple[Constraints, ...]) -> Set:
    return _made(names, tuple(RowBuilder(names).conjunct([("ge", e) for e in sorted(p, key=str)]) for p in pieces))


def _made(names: tuple[str, ...], conjuncts: tuple) -> Set:
    return Set._of((), [(Space(None, Tuple(None, names)), tuple(c for c in conjuncts if c is not None))])
