"""Inequalities alone, over dimensions: what many conjuncts are, and all that is left of others.

Their normal form needs neither pivots nor floors: each is tightened, of parallel ones the strongest stays, intervals
round the others (`rounding`). Where an opposite pair makes an equality or a quotient, that is said, and `normal` does
the rest. Rows that are in normal form stay so, as a rule, when one joins them: `Stated` looks at its neighbours only.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from itertools import compress
from math import gcd
from operator import neg

from ..engine.rows import Row, normal_ineq, strongest
from .recognise import Intervals
from .rounding import round_rows


class Hidden:
    """Equalities that opposite inequalities make, and the other inequalities; no tuple, as normal forms are."""

    __slots__ = ("eqs", "ineqs")

    def __init__(self, eqs: list[Row], ineqs: list[Row]) -> None:
        self.eqs, self.ineqs = eqs, ineqs


def normal_inequalities(ineqs: Iterable[Row]) -> tuple[Row, ...] | Hidden | None | bool:
    """The normal form of inequalities over dimensions alone.

    None for a contradiction, False where a quotient is among them and it takes more; so do equalities, which are given
    then.
    """
    best = strongest(ineqs)
    if best is None:
        return None
    if len(best) > 1 and not round_rows(best, Intervals(best, ())):
        return None
    said = _apart(best, opposed(best))
    return tuple(sorted([(const, *key) for key, const in best.items()])) if said is True else said


def joined(ineqs: Iterable[Row], more: Iterable[Row]) -> tuple[Row, ...] | Hidden | None | bool:
    """`normal_inequalities` of some in normal form and others; looks only where those may change something."""
    rows = list(ineqs)
    best = {row[1:]: row[0] for row in rows}
    fresh: list[Row] = []
    bound = False  # whether one of them speaks of one variable, which may round every other row
    for tight in more:
        const, key = tight[0], tight[1:]
        if gcd(*key) != 1:
            row = normal_ineq(tight)
            if row is False:
                return None
            if row is True:
                continue
            tight, const, key = row, row[0], row[1:]
        before = best.get(key)
        if before is not None:
            if before <= const:
                continue
            rows.remove((before, *key))
        best[key] = const
        insort(rows, tight)
        fresh.append(key)
        bound = bound or key.count(0) == len(key) - 1
    if not fresh:
        return tuple(rows)
    bounds, count = Intervals(best, ()), len(best)
    asked = bounds.others if bound else fresh
    if not round_rows(best, bounds, asked):
        return None
    if len(best) == count and all(map(best.__contains__, asked)):  # as they were
        pairs = [(key, opposite) for key in fresh if (opposite := tuple(map(neg, key))) in best]
        said = _apart(best, pairs)
        return tuple(rows) if said is True else said
    said = _apart(best, opposed(best))
    return tuple(sorted([(const, *key) for key, const in best.items()])) if said is True else said


def _apart(best: dict[Row, int], pairs: list[tuple[Row, Row]]) -> Hidden | bool | None:
    """Whether pairs of opposite rows are two bounds each; False where one says more, None where one contradicts."""
    equal: list[Row] = []
    apart = True
    for key, opposite in pairs:
        gap = best[key] + best[opposite]
        if gap < 0:
            return None
        if gap == 0:
            equal += (key, opposite)
        elif apart and _defines(key, gap):
            apart = False
    if not equal:
        return apart
    eqs = [(best[key], *key) for key in equal[::2]]
    return Hidden(eqs, [(const, *key) for key, const in best.items() if key not in equal])


def opposed(best: dict[Row, int]) -> list[tuple[Row, Row]]:
    """The coefficients of which the opposite ones are there too, each with those once: the lesser of both first.

    >>> opposed({(1, -2): 5, (0, 1): 3, (-1, 2): 7})
    [((-1, 2), (1, -2))]
    """
    zero = (0,) * len(next(iter(best), ()))
    return [(key, opposite) for key in best if key < zero and (opposite := tuple(map(neg, key))) in best]


def opposites(best: dict[Row, int]) -> dict[Row, Row]:
    """The same both ways, in the order of `best`.

    >>> opposites({(1, -2): 5, (0, 1): 3, (-1, 2): 7})
    {(1, -2): (-1, 2), (-1, 2): (1, -2)}
    """
    found = {}
    for key, opposite in opposed(best):
        found[key], found[opposite] = opposite, key
    return {key: found[key] for key in best if key in found} if found else found


class Stated:
    """Inequalities in normal form, without equalities and divs, to which others are added one at a time."""

    __slots__ = ("best", "bounds", "rows")

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)  # in order
        self.best = {row[1:]: row[0] for row in self.rows}
        self.bounds = Intervals(self.best, ())

    def copy(self) -> Stated:
        """Another that begins with the same inequalities."""
        other = object.__new__(Stated)
        other.rows, other.best, other.bounds = self.rows.copy(), self.best.copy(), self.bounds.copy()
        return other

    def with_tight(self, tight: Row, opposite: Row) -> tuple[Row, ...] | bool | None:
        """The rows and a tight one more, in normal form; False where that takes more, None for a contradiction.

        `opposite` are its coefficients, negated.
        """
        near = self._near(tight, opposite)
        if near is None or isinstance(near, bool):
            return near and tuple(self.rows)
        if near:
            together = self.copy()
            together._put(tight)
            return together._rounded(near) and tuple(together.rows)
        rows = self.rows.copy()
        before = self.best.get(tight[1:])
        if before is not None:
            rows.remove((before, *tight[1:]))
        insort(rows, tight)
        return tuple(rows)

    def add_tight(self, tight: Row, opposite: Row, normal: bool = False) -> bool | None:
        """Add a tight one; whether what there is is in normal form then, which it is as a rule. None: a contradiction.

        Without a True it is not to be used any more. `normal` says that it is known to be.
        """
        if normal:
            self._put(tight)
            return True
        near = self._near(tight, opposite)
        if near is None or isinstance(near, bool):
            return near
        self._put(tight)
        return not near or self._rounded(near)

    def _near(self, tight: Row, opposite: Row) -> list[Row] | bool | None:
        """The rows that may round or be implied once a tight one joins them; True if it is said already.

        False where the two make an equality or a quotient, None where they contradict. Looks at the rows that share its
        variable, if it has one only, else at that row alone.
        """
        best, const, key = self.best, tight[0], tight[1:]
        before = best.get(key)
        if before is not None and before <= const:
            return True
        other = best.get(opposite)
        if other is not None:
            gap = const + other
            if gap <= 0:
                return None if gap < 0 else False
            if _defines(key, gap):
                return False
        near, at = [key], -1
        if key.count(0) == len(key) - 1:
            at = key.index(1) if 1 in key else key.index(-1)
            side = key[at]  # it may imply the rows that it bounds from below, and round those with other factors
            near = [k for k in best if (v := k[at]) and (v * side > 0 or max(k) > 1 or min(k) < -1) and k != key]
        lows, highs = self.bounds.low, self.bounds.high
        for k in near if at >= 0 or lows or highs else ():
            for c in compress(range(1, 1 + len(k)), k):
                v = k[c - 1]
                if (v == 1 and c not in lows or v == -1 and c not in highs) and c != 1 + at:
                    break  # neither implied nor to be rounded, whatever that bound is
            else:
                return near
        return []

    def _put(self, tight: Row) -> None:
        """Add a row."""
        const, key = tight[0], tight[1:]
        before = self.best.get(key)
        if before is not None:
            self.rows.remove((before, *key))
        insort(self.rows, tight)
        self.best[key] = const
        if key.count(0) == len(key) - 1:
            self.bounds.learn(key, const)

    def _rounded(self, near: list[Row]) -> bool | None:
        """Whether the rows are in normal form, since some stay as they are; None for a contradiction."""
        count = len(self.best)
        if not round_rows(self.best, self.bounds, near):
            return None
        return len(self.best) == count and all(map(self.best.__contains__, near))


def _defines(key: Row, gap: int) -> bool:
    """Whether `key . x >= 0` and an opposite row, `gap` apart, say that the latest column is a quotient."""
    return abs(next(v for v in reversed(key) if v)) == gap + 1
