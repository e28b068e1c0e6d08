"""Which lanes may run wholly before others.

A lane *precedes* another when no instance of it comes after one of the other: at the present member, at values that
both have, or at a later member where all before are equal. Those that end at equal values of all members may run
either way if the node below says so, or if no integers do so. Whatever one lane says of what is outside that the other
excludes, both precede each other: they never run at one place. Rows of shadows say it, and integers where projecting
has lost some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import gcd, inf

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System, coefficient, negated, plus, without
from polyvolta.sets.budgets import left

CLOSE = 2  # values beyond another lane's up to which integers are asked: members before are equal at fractions, too
NEAR = 8  # the same where floors are in rows
WORTH, PART = 200, 0.05  # steps that a question of integers of pieces may take, and which part of those left
SHADOWS = 400  # the same of shadows: those that keep lanes apart take fewer

First = Callable[[Lane, Lane], bool]  # whether, at equal values of all members, one lane may run before another


class Compared:
    """Lanes that are compared in pairs from member k of a band on: those whose shadows are the same are compared once.

    Parameters
    ----------
    columns : of the members, 0 for those at which all have one value.
    """

    __slots__ = (
        "_decided",
        "_found",
        "_kept_apart",
        "_kinds",
        "_rows",
        "_shadows",
        "_unequal",
        "columns",
        "first",
        "k",
        "known",
    )

    def __init__(self, known: Known, k: int, columns: Sequence[int], first: First | None) -> None:
        self.known, self.k, self.columns, self.first = known, k, columns, first
        self._rows: dict[
            tuple[int, int], tuple[System, tuple[tuple[Key, int], ...]]
        ] = {}  # by identity, so they are kept
        self._found: dict[tuple[tuple, int], float | Fraction | None] = {}
        self._kept_apart: dict[tuple, bool] = {}
        self._shadows: dict[tuple, int] = {}  # numbers of what all shadows of a lane say
        self._kinds: dict[int, tuple[Lane, int]] = {}  # by identity, or another lane could have it
        self._decided: dict[tuple[int, int, int], bool | None] = {}
        self._unequal: dict[tuple[int, int], bool] = {}

    def precedes(self, p: Lane, q: Lane) -> bool:
        """Whether no instance of p comes after one of q."""
        what = self._kind(p), self._kind(q), p.shift - q.shift
        if what not in self._decided:
            self._decided[what] = self._by_values(p, q)
        found = self._decided[what]
        if found is not None or self.first is None:
            return bool(found)
        return self.first(p, q) or self._never_equal(what, p, q)

    def _kind(self, lane: Lane) -> int:
        """A number that lanes share whose shadows from member k on say the same; inexact ones, whose pieces do, too."""
        found = self._kinds.get(id(lane))
        if found is None:
            each = lane.shadows[self.k :]
            each = each if all(s.exact for s in each) else [*each, lane.piece.system]
            said = tuple([(tuple(s.ineqs.items()), tuple(s.eqs), tuple(s.mods)) for s in each])
            found = self._kinds[id(lane)] = lane, self._shadows.setdefault(said, len(self._shadows))
        return found[1]

    def _by_values(self, p: Lane, q: Lane) -> bool | None:
        """`precedes` by the values of the members; None where these are equal at last."""
        loose = False  # whether rationals are further than integers, and so equal at places where these are not
        for at in range(self.k, len(self.columns)):
            col = self.columns[at]
            if not col:
                continue
            a, b = p.shadows[at], q.shadows[at]
            high, low = ends(a, col)[1], ends(b, col)[0]
            if (high is not None and low is not None and high < low) or _apart(a, b, col):
                return True
            steps = max([CLOSE, *[d for s in (a, b) for _, _, d in s.mods]])
            if any(c in self.known.columns.floors for s in (a, b) for c in s.columns()):
                steps = max(steps, NEAR)
            key = col, self._said(a, col), self._said(b, col)
            if (key, steps) not in self._found:
                self._found[key, steps] = _furthest(self.known, *key, steps)
            most = self._found[key, steps]
            if most is not None and most >= 1 and (most < steps or loose) and self._never(key, a, b):
                most, loose = 0, True
            if most is not None and most >= 1 and self._never_within(p, q, at):
                most = 0
            if most is None or most < 0:  # at no place outside do both run, or p always before
                return True
            if most >= 1:
                return False
            if at == self.k and p.shift != q.shift:  # shifts are less than the step of both columns
                return p.shift < q.shift
        return None

    def _never(self, key: tuple, a: System, b: System) -> bool:
        """Whether no integer value of a's column is beyond one of b's; `key` says both but for their congruences."""
        whole = *key, tuple(a.mods), tuple(b.mods)
        if whole not in self._kept_apart:
            both = _later(self.known, [key[0]], a, b)
            self._kept_apart[whole] = both is not None and self.known.surely_excludes(both, SHADOWS)
        return self._kept_apart[whole]

    def _never_within(self, p: Lane, q: Lane, at: int) -> bool:
        """Whether integers of two pieces say that no value of member `at` in p is beyond one in q, where all from k to
        there are equal, as far as a few of the steps left say; asked where projecting has lost some of them.

        T[i, j] -> [-i, 3 - j mod 4] for -2 <= j < i and S[i, j] -> [i + j, 1 - 2*j] for 0 <= j have 0 alone in common,
        where i is, and there T has j = -2 or -1: it has 1 alone if j mod 4 is known outside to be no 3.
        """
        if p.shift or q.shift or (p.shadows[at].exact and q.shadows[at].exact):
            return False
        a, b = (lane.shadows[at] if lane.shadows[at].exact else lane.piece.system for lane in (p, q))
        both = _later(self.known, [c for c in self.columns[at:] if c], a, b)
        return both is not None and self.known.surely_excludes(both, int(min(WORTH, PART * left())))

    def _never_equal(self, what: tuple[int, int, int], p: Lane, q: Lane) -> bool:
        """Whether no integers have two lanes at equal values of all members, where rationals have; `what` they are.

        S[i] -> [i mod 2, i] and T[] -> [0, 1] are none of them equal, though one half of i = 0 and of i = 1 is.
        """
        if p.shift != q.shift:
            return False
        pair = min(what[:2]), max(what[:2])
        if pair not in self._unequal:
            both = p.shadows[-1].copy().add(q.shadows[-1])
            self._unequal[pair] = self.known.surely_excludes(both, SHADOWS)
        return self._unequal[pair]

    def _said(self, s: System, col: int) -> tuple[tuple[Key, int], ...]:
        """The rows of a shadow that are not known, of parallel ones the strongest; a column's one value is put in.

        They are as tight as its residues are: of 0 <= N for odd N that a value from 5*N + 1 on is 6 at least.
        What is then said of what is outside, as that N is 3 where it is more than c0 and c0 is 2, is plain to compare.
        """
        found = self._rows.get((id(s), col))
        if found is None:
            low, high = ends(s, col)
            rows: dict[Key, int] = {}
            beside = self.known.given(System(mods=s.mods))
            for key, const in s.every_ge():
                key, const = beside.tight(key, const)  # noqa: PLW2901
                v = coefficient(key, col)
                if v and len(key) > 1 and low is not None and low == high:
                    key, const = without(key, col), const + v * low  # noqa: PLW2901
                if not self.known.says(key, const):
                    rows[key] = min(const, rows.get(key, const))
            found = self._rows[id(s), col] = s, tuple(rows.items())
        return found[1]


def in_turn(known: Known, each: Sequence[Sequence[Lane]], columns: Sequence[int]) -> list[bool]:
    """For several lists of lanes, whether all lanes of one, where they are more, take turns with all others.

    Two take turns if one ends before the other begins, or both are at one place, whatever is outside. Two places may
    also be among values of others: to tell them apart takes a test each, no more than bounds of a loop that finds them.
    """
    compared = Compared(known, 0, columns, None)
    loops = [k for k, col in enumerate(columns) if col]

    def turns(a: Lane, b: Lane) -> bool:
        return a is b or compared.precedes(a, b) or compared.precedes(b, a) or None is not place(a) == place(b)

    def place(lane: Lane) -> list[int | None] | None:
        if not all(lane.shadows[k].columns() <= {*columns} for k in loops):
            return None
        found = [ends(lane.shadows[k], columns[k]) for k in loops]
        return [low for low, _ in found] if all(low == high is not None for low, high in found) else None

    every = [lane for some in each for lane in some if not lane.empty]
    two = [len(some) == 2 and None not in map(place, some) for some in each]
    return [
        places or (len(some) > 1 and all(turns(a, b) for a in some for b in every))
        for some, places in zip(each, two, strict=True)
    ]


def _furthest(
    known: Known, col: int, some: tuple[tuple[Key, int], ...], others: Iterable[tuple[Key, int]], enough: int
) -> float | Fraction | None:
    """How far values of a column by some rows are beyond those by others, over the rationals; less than 1: at most
    equal, less than 0: before.

    None where both hold at no place; `enough` at least where they are beyond by more.
    """
    twin, said, rows = known.columns.twin(col), dict(some), []
    for key, const in others:
        v = coefficient(key, col)
        if not v:
            opposite = said.get(negated(key))
            if opposite is not None and opposite + const < 0:
                return None
        rows.append((plus(1, without(key, col), v, ((twin, 1),)), const) if v else (key, const))
    most = known.greatest_of_both(some, rows, ((col, 1), (twin, -1)), enough)
    return None if most == -inf else most


def _later(known: Known, inside: Sequence[int], a: System, b: System) -> System | None:
    """Two systems at one place outside where the first of some columns has a value in one beyond one in the other.

    Each has columns of its own from there on, also local ones, for parts of one piece have the same. None where floors
    of such columns are in a system, which would need floors of their own.
    """
    columns, both = known.columns, b.copy()
    for c in both.columns():
        if c in inside or c >= LOCAL:
            both.replace(c, ((columns.twin(c), 1),), 0)
    both.add(a).ge(((inside[0], 1), (columns.twin(inside[0]), -1)), -1)
    names = {str(columns.affs[c]) for c in inside}
    floors = [c for c in both.columns() if c in columns.floors]
    return None if any(columns.affs[c].names() & names for c in floors) else both


def _apart(a: System, b: System, col: int) -> bool:
    """Whether two shadows say different residues of what is outside: they never run at one place."""
    return any(
        key == other and (const - rest) % gcd(d, e)
        for key, const, d in a.mods
        for other, rest, e in b.mods
        if not coefficient(key, col)
    )


def ends(s: System, col: int) -> tuple[int | None, int | None]:
    """Constant bounds that a shadow states of a column."""
    low, high = s.ineqs.get(((col, 1),)), s.ineqs.get(((col, -1),))
    for key, const in s.eqs:
        if len(key) == 1 and key[0][0] == col:
            return -const * key[0][1], -const * key[0][1]
    return None if low is None else -low, high
