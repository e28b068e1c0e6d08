"""Unknowns that equal one another or vanish, found before an integer program is made.

Most of a scheduler's conditions have one or two terms: `x = 0`, `x = y`, `x = -y`, `x >= 0`. Equal unknowns are merged,
union-find with a sign, vanishing ones dropped, and signs noted, until nothing changes; a sum of nonnegative terms that
is 0, or at most 0, makes all of them 0. Unknowns each of which is at least the next, round a cycle, are equal. Last, an
unknown that is to be small and that no row wants larger is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from polyvolta.sched.components import Arc, strongly_connected

Sparse = dict[int, int]
"""A combination of unknowns: number -> coefficient."""

Key = frozenset[tuple[int, int]]
"""The terms of a combination in lowest terms."""


NEW: Key = frozenset()
"""The key of a row that was not looked at yet."""


class Unknowns:
    """Integer unknowns 0, 1, ..., each equal to plus or minus another, 0, or itself.

    Parameters
    ----------
    iterators : those whose sign is open (if `negative`) and that may be wanted although no row says so; the others are
        not negative and to be small.
    """

    def __init__(self, count: int, iterators: Sequence[int], negative: bool) -> None:
        self.iterators = tuple(iterators)
        self.parent = [(v, 1) for v in range(count)]
        self.sign = [1] * count  # of what stands for itself: not negative (1), not positive (-1), open (0)
        self.zero: set[int] = set()
        self.gone: set[int] = set()  # those that vanish or that others stand for
        self.news: set[int] = set()  # those that are gone or got a sign since the rows were last looked at
        self.eqs: list[Sparse] = []
        self.rows: list[tuple[int, Sparse, Key]] = []  # inequalities
        if negative:
            for v in iterators:
                self.sign[v] = 0

    def add(self) -> int:
        """One more unknown that is not negative."""
        self.parent.append((len(self.parent), 1))
        self.sign.append(1)
        return len(self.parent) - 1

    def find(self, v: int) -> tuple[int, int]:
        """The unknown that stands for v, and its sign."""
        up = self.parent[v]
        if up[0] == v:
            return up
        top, sign = self.find(up[0])
        if top != up[0]:
            up = self.parent[v] = top, sign * up[1]
        return up

    def resolved(self, row: Sparse) -> Sparse:
        gone, zero = self.gone, self.zero
        if gone.isdisjoint(row):
            return row
        out: Sparse = {}
        for v, c in row.items():
            if v in gone:
                v, s = self.find(v)
                if v in zero:
                    continue
                c *= s
            out[v] = out[v] + c if v in out else c
        return out if all(out.values()) else {v: c for v, c in out.items() if c}

    def _vanish(self, unknowns: Iterable[int]) -> None:
        for known in (self.zero, self.gone, self.news):
            known.update(unknowns)

    def _limit(self, v: int, sign: int) -> None:
        """Unknown v is of this sign or 0."""
        if self.sign[v] == -sign:
            self._vanish((v,))
        elif not self.sign[v]:
            self.sign[v] = sign
            self.news.add(v)

    def _merge(self, a: int, b: int, sign: int) -> None:
        """a = sign * b."""
        if a < b:
            a, b = b, a
        self.parent[a] = (b, sign)
        self.gone.add(a)
        self.news.update((a, b))
        if self.sign[a]:
            self._limit(b, sign * self.sign[a])

    def copy(self) -> Unknowns:
        """The same, to be told more. Its rows are shared, as these are replaced and never modified."""
        other = Unknowns.__new__(Unknowns)
        other.iterators, other.parent, other.sign = self.iterators, self.parent[:], self.sign[:]
        other.zero, other.gone, other.news = set(self.zero), set(self.gone), set()
        other.eqs, other.rows = self.eqs, self.rows
        return other

    @property
    def ineqs(self) -> list[tuple[int, Sparse]]:
        """The inequalities that are left, with their constants."""
        return [(const, row) for const, row, _ in self.rows]

    def substitute(self, eqs: Iterable[Sparse], ineqs: Iterable[tuple[int, Sparse]]) -> bool:
        """Add conditions and merge unknowns until nothing changes; False when plainly nothing can satisfy them.

        A row is looked at again only when one of its unknowns has changed since.
        """
        news = self.news = set()
        new = {tuple(row.items()): row for row in eqs}.values()
        self.eqs = [*self.eqs, *[e for row in new if (e := self._equal_zero(row))]]
        rows = {(const, *row.items()): (const, row, NEW) for const, row in ineqs}.values()  # many are alike
        self.rows = [*self.rows, *rows]
        return self._settle(news)

    def merge_cycles(self) -> bool:
        """Merge unknowns each of which is at least the next, round a cycle; False when nothing can satisfy the rows.

        Of large problems few unknowns are left, and an integer program would find out late. O(rows), a few times.
        """
        while arcs := _in_cycles(self._at_least()):
            self.news = set()
            for first, *others in strongly_connected(sorted({v for v, _ in arcs}), arcs):
                for v in others:
                    self._merge(first, v, self.sign[first] * self.sign[v])
            if not self._settle(self.news):
                return False
        return True

    def _at_least(self) -> list[Arc]:
        """Pairs of unknowns the first of which is at least the second, in absolute values.

        A row says so if it has only one term that is not negative: of `a - b - c >= 0` a is at least b, and at least c.
        """
        sign, arcs = self.sign, []
        for const, row, _ in self.rows:
            if const > 0:
                continue
            top = -1
            for v, c in row.items():
                if c * sign[v] >= 0:
                    if top >= 0:
                        break
                    top = v
            else:
                most = row[top] * sign[top] if top >= 0 else 0
                if most > 0:
                    arcs += [(top, v) for v, c in row.items() if -c * sign[v] >= most]
        return arcs

    def drop_idle(self) -> bool:
        """The unknowns but the c that no row wants positive are 0; not where there may be more conditions.

        False when nothing can satisfy what is left.
        """
        while not self.eqs:
            wanted = {v for _, row, _ in self.rows for v, c in row.items() if c > 0}
            wanted.update([self.find(v)[0] for v in self.iterators])
            found = {v for _, row, _ in self.rows for v in row}
            idle = [v for v in found - wanted if self.sign[v] == 1]
            if not idle:
                break
            self.news = set()
            self._vanish(idle)
            if not self._settle(self.news):
                return False
        return True

    def _settle(self, before: set[int]) -> bool:
        """Look at the rows that are new, or of which unknowns have changed, until nothing changes."""
        rows, sign, first = self.rows, self.sign, True
        while first or before:
            first, news = False, set()
            self.news = news
            self.eqs = [e for row in self.eqs if (e := row if _untouched(row, before, news) else self._equal_zero(row))]
            strongest: dict[Key, tuple[int, Sparse]] = {}
            for const, row, key in rows:
                if not key or not (before.isdisjoint(row) and news.isdisjoint(row)):
                    row = self.resolved(row)
                    if not row:
                        if const < 0:
                            return False
                        continue
                    if const >= 0:
                        signs = [c * sign[v] for v, c in row.items()]
                        if min(signs) > 0 or (not const and self._settled(row, signs)):
                            continue
                    g = gcd(*row.values())
                    if g != 1:
                        const, row = const // g, {v: c // g for v, c in row.items()}
                    key = frozenset(row.items())
                if key not in strongest or strongest[key][0] > const:
                    strongest[key] = const, row
            rows = self.rows = [(const, row, key) for key, (const, row) in strongest.items()]
            before = news
        return True

    def _equal_zero(self, row: Sparse) -> Sparse:
        """What is left of an equality; nothing where it makes unknowns vanish or be merged."""
        if not self.gone.isdisjoint(row):
            row = self.resolved(row)
        if len(row) == 2:
            (a, x), (b, y) = row.items()
            if x in (y, -y):
                sign = -1 if x == y else 1
                if self.sign[a] * self.sign[b] == -sign:
                    self._vanish(row)
                else:
                    self._merge(a, b, sign)
                return {}
        signs = [c * self.sign[v] for v, c in row.items()] or [0]
        if len(row) == 1 or min(signs) > 0 or max(signs) < 0:
            self._vanish(row)
            return {}
        return row

    def _settled(self, row: Sparse, signs: list[int]) -> bool:
        """Whether the signs of the unknowns say an inequality without constant, from now on if they did not before."""
        if max(signs) < 0:
            self._vanish(row)
            return True
        if len(row) == 1:
            ((v, c),) = row.items()
            self._limit(v, 1 if c > 0 else -1)
            return True
        return False


def _untouched(row: Sparse, before: set[int], news: set[int]) -> bool:
    """Whether nothing has changed for a row since it was looked at."""
    return before.isdisjoint(row) and news.isdisjoint(row)


def _in_cycles(arcs: list[Arc]) -> list[Arc]:
    """The arcs without those that lead from or to where no cycle is, and none if there is no cycle."""
    count = 0
    while count != len(arcs):
        count = len(arcs)
        ends = {a for a, _ in arcs} & {b for _, b in arcs}
        arcs = [(a, b) for a, b in arcs if a in ends and b in ends]
    return arcs
