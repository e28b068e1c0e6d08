"""Unknowns that equal one another or vanish, found before an integer program is made.

Most of a scheduler's conditions have one or two terms: `x = 0`, `x = y`, `x = -y`, `x >= 0`. Equal unknowns are merged,
union-find with a sign, vanishing ones dropped, and signs noted, until nothing changes; a sum of nonnegative terms that
is 0, or at most 0, makes all of them 0. Last, an unknown that is to be small and that no row wants larger is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

Sparse = dict[int, int]
"""A combination of unknowns: number -> coefficient."""


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
        self.zero: set[int] = set()
        self.plus = [True] * count
        self.minus = [False] * count
        self.eqs: list[Sparse] = []
        self.ineqs: list[tuple[int, Sparse]] = []
        for v in iterators:
            self.minus[v] = negative

    def add(self) -> int:
        """One more unknown that is not negative."""
        self.parent.append((len(self.parent), 1))
        self.plus.append(True)
        self.minus.append(False)
        return len(self.parent) - 1

    def find(self, v: int) -> tuple[int, int]:
        """The unknown that stands for v, and its sign."""
        sign = 1
        while self.parent[v][0] != v:
            v, s = self.parent[v]
            sign *= s
        return v, sign

    def resolved(self, row: Sparse) -> Sparse:
        out: Sparse = {}
        for v, c in row.items():
            if self.parent[v][0] != v:
                v, s = self.find(v)
                c *= s
            if v not in self.zero:
                out[v] = out.get(v, 0) + c
        return {v: c for v, c in out.items() if c}

    def _limit(self, v: int, up: bool) -> bool:
        """Unknown v can not be positive (up) or not negative; whether that is news."""
        signs = self.plus if up else self.minus
        if not signs[v] or v in self.zero:
            return False
        signs[v] = False
        if not (self.plus[v] or self.minus[v]):
            self.zero.add(v)
        return True

    def _merge(self, a: int, b: int, sign: int) -> None:
        """a = sign * b."""
        if a < b:
            a, b = b, a
        self.parent[a] = (b, sign)
        plus, minus = (self.plus[a], self.minus[a]) if sign > 0 else (self.minus[a], self.plus[a])
        self.plus[b] &= plus
        self.minus[b] &= minus
        if not (self.plus[b] or self.minus[b]):
            self.zero.add(b)

    def _sign(self, v: int, c: int) -> int:
        """The sign that c * v can have alone, 0 for both."""
        if self.plus[v] and self.minus[v]:
            return 0
        return 1 if (c > 0) == self.plus[v] else -1

    def substitute(self, eqs: list[Sparse], ineqs: list[tuple[int, Sparse]]) -> bool:
        """Merge unknowns until nothing changes; False when plainly nothing can satisfy the conditions."""
        changed = True
        while changed:
            changed = False
            rest = []
            for row in eqs:
                row = self.resolved(row)
                if not row:
                    continue
                signs = {self._sign(v, c) for v, c in row.items()}
                if len(row) == 1 or (len(signs) == 1 and 0 not in signs):
                    self.zero.update(row)
                    changed = True
                    continue
                if len(row) == 2:
                    (a, x), (b, y) = row.items()
                    if abs(x) == abs(y):
                        self._merge(a, b, -1 if x == y else 1)
                        changed = True
                        continue
                rest.append(row)
            eqs = rest
            found: dict[tuple, int] = {}
            for const, row in ineqs:
                row = self.resolved(row)
                if not row:
                    if const < 0:
                        return False
                    continue
                if const >= 0 and all(self._sign(v, c) > 0 for v, c in row.items()):
                    continue
                if not const:
                    if all(self._sign(v, c) < 0 for v, c in row.items()):
                        self.zero.update(row)
                        changed = True
                        continue
                    if len(row) == 1:
                        ((v, c),) = row.items()
                        changed |= self._limit(v, c < 0)
                        continue
                g = gcd(*row.values())
                key = tuple(sorted([(v, c // g) for v, c in row.items()]))
                const //= g
                if found.get(key, const) >= const:
                    found[key] = const
            ineqs = [(const, dict(key)) for key, const in found.items()]
            if not changed and not eqs:
                changed = self._drop_idle(ineqs)
        self.eqs, self.ineqs = eqs, ineqs
        return True

    def _drop_idle(self, ineqs: list[tuple[int, Sparse]]) -> bool:
        """Unknowns but the c that no row wants positive are 0; whether there are any."""
        wanted = {v for _, row in ineqs for v, c in row.items() if c > 0}
        iterators = {self.find(v)[0] for v in self.iterators}
        idle = [
            v
            for _, row in ineqs
            for v in row
            if v not in wanted and v not in iterators and v not in self.zero and not self.minus[v]
        ]
        self.zero.update(idle)
        return bool(idle)
