"""Expressions as the loops write them: simplified by what is known of names and loop variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import TypeVar

from polyvolta.sched.loops.ast import Ast, Bound, length
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Aff, BudgetExceeded, aff, var
from polyvolta.sets.budgets import bounded, left, spent
from polyvolta.sets.values.simplify import Range, simplify

Ranges = dict[str, Range]
UNKNOWN: Range = (None, None)
SEARCH = 120_000  # steps of one search, at most, that makes loops better
QUARTER = 0.25  # of all that are left, which one may take at most
PART = 0.7  # of the steps that are left for searches, which one may take

T = TypeVar("T")


class Writer:
    """The ranges of what has a name while the loops of a tree are made, and what there is to say of them.

    Parameters
    ----------
    schedule : the tree.
    ranges : of parameters, of names that members are mapped to, and of the loop variables outside.

    Attributes
    ----------
    parted : whether loops of statements that take turns are several where one would run through values of none.
    joins : whether cells that have cells inside are as few as what is exact tells apart.
    wide : whether a loop outside has more cells than are told apart otherwise: those inside are as many as steps allow.
    rough : whether there were any that something else did.
    shares : whether there were any loops of several statements of which a tree says nothing.
    cells : whether such loops are separate.
    longest : loops, conditions and calls beyond which code is given up.
    """

    parted, joins, wide, rough, shares, cells = True, False, False, False, False, False
    longest = inf

    def __init__(self, schedule: Schedule, columns: Columns, ranges: Ranges) -> None:
        self.schedule, self.columns, self.ranges = schedule, columns, ranges
        self.notes: list[str] = []  # what the tree asks for and is not done
        self.extents: dict[str, Aff] = {}  # of names that members are mapped to
        self.widened = False  # whether a loop before had so many cells
        self.waiting = 0  # loops still to be made, beside those above
        self.doubled = 0  # loops above whose two values are written out
        self.seen: Ranges = {}  # of loop variables, over all loops of that name
        self.spare = left() * 2 / 5  # steps for searches without which there are loops, too
        self.strides: dict[str, tuple[int, int]] = {}  # loops above: residue + step * integer

    def searched(self, otherwise: T, f: Callable[..., T], known: Known, *args: object) -> T:
        """What a search finds that makes loops better, `f(known, *args)`; `otherwise` where it takes too many steps.

        All of them together have two fifths of the steps of a scan, so that they hardly make it fail. One has a part of
        those left: it may find nothing, and loops that come later may need them more. Beside many cells none has more
        than a quarter of all that are left: what is not searched needs them there.
        """
        before = spent()
        try:
            most = min(PART * self.spare, SEARCH, left() * QUARTER if self.widened else inf)
            return bounded(int(most), f, known, *args)
        except BudgetExceeded:
            return otherwise
        finally:
            self.spare = max(0, self.spare - (spent() - before))

    def unseparated(self, statements: Sequence[str], k: int, at: Path) -> None:
        """Note, once, that statements share a loop that is asked to be separate."""
        names = ", ".join(dict.fromkeys(statements))
        note = f"the ranges of {names} along member {k} of the band at {at} are too many to separate"
        self.notes += [] if note in self.notes else [note]

    def limit(self, body: Sequence[Ast]) -> None:
        """Give up code of which a part is too long."""
        if self.longest < inf and length(body) > self.longest:
            raise BudgetExceeded(f"a band has more than {self.longest:.0f} loops, conditions and calls")

    @contextmanager
    def among(self, waiting: int, joins: bool, wide: bool) -> Iterator[None]:
        """While a loop is made beside which so many wait to be."""
        before = self.waiting, self.joins, self.wide
        self.waiting, self.joins, self.wide = self.waiting + waiting, joins, wide
        self.widened |= wide
        try:
            yield
        finally:
            self.waiting, self.joins, self.wide = before

    def share(self, other: Writer) -> None:
        """Take over what was seen and noted for code that another one has made, and that stands beside this one's."""
        for name, there in other.seen.items():
            self.seen[name] = _either(self.seen.get(name, there), there)
        self.notes += [note for note in other.notes if note not in self.notes]

    def tidy(self, e: Aff) -> Aff:
        """An expression simplified by the ranges of names and loop variables, its floors upright."""
        for atom, _ in e.terms:
            if not isinstance(atom, str):
                break
            low, high = self.ranges.get(atom, UNKNOWN)
            if low is not None and low == high:
                break
        else:
            return e
        return self.columns.upright(simplify(e, self.ranges))

    def argument(self, e: Aff) -> Aff:
        """`tidy`, for what is known of strides, too: a loop variable is `residue + step * integer`."""
        counted = {v: aff(r) + s * var(v) for v, (s, r) in self.strides.items() if v in e.names()}
        if not counted:
            return self.tidy(e)
        ranges = dict(self.ranges)
        for v, (s, r) in self.strides.items():
            low, high = ranges[v]
            ranges[v] = (None if low is None else (low - r) // s, None if high is None else (high - r) // s)
        e = simplify(e, ranges, counted)
        whole, rest = aff(0), aff(e.const)
        for atom, c in e.terms:
            if isinstance(atom, str) and atom in counted and c % self.strides[atom][0] == 0:
                step, residue = self.strides[atom]
                whole = whole + c // step * (var(atom) - residue)
            else:
                rest = rest + Aff(((atom, c),))
        rest = rest.subs({v: (var(v) - r) // s for v, (s, r) in self.strides.items() if v in counted})
        return self.columns.upright(whole + rest)

    @contextmanager
    def within(self, known: Known) -> Iterator[None]:
        """What is known of names besides while a part of the loops is made."""
        outer = self.ranges
        self.ranges = {v: _both(old, known.range(self.columns.ids[v])) for v, old in outer.items()}
        try:
            yield
        finally:  # also where steps are missing: code that was made before may stay
            self.ranges = outer

    def see(self, name: str, low: Sequence[Bound], high: Sequence[Bound]) -> Range:
        """Note what the bounds of a loop say of its variable, which others have, too."""
        now: Range = (
            max((e.const for e in low if isinstance(e, Aff) and e.is_constant), default=None),
            min((e.const for e in high if isinstance(e, Aff) and e.is_constant), default=None),
        )
        if now[0] is not None and now[1] is not None and now[0] > now[1]:  # it never runs
            now = (now[0], now[0])
        self.seen[name] = _either(self.seen.get(name, now), now)
        return now

    @contextmanager
    def ranging(
        self, name: str, low: Sequence[Bound], high: Sequence[Bound], step: int, residue: Aff
    ) -> Iterator[None]:
        """What is known of a loop's variable while its body is made."""
        self.ranges[name] = self.see(name, low, high)
        if step > 1 and residue.is_constant:
            self.strides[name] = (step, residue.const)
        try:
            yield
        finally:  # the next loop of that name has its own range and stride
            del self.ranges[name]
            self.strides.pop(name, None)


def _either(a: Range, b: Range) -> Range:
    """The range that holds both."""
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return low, high


def _both(a: Range, b: Range) -> Range:
    """What two ranges share, the first of them where that is nothing."""
    lows, highs = [e for e in (a[0], b[0]) if e is not None], [e for e in (a[1], b[1]) if e is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    return a if low is not None and high is not None and low > high else (low, high)
