"""What decides something in some code, as it runs at a few sizes: the rest may be asked for nothing.

A comparison decides where the whole condition is another one without it: of `a && b || c` it is `a` where a and c are
false and b is true. Of a loop a few values are looked at, the first ones, the last one and one between them, and code
all of whose parts were seen to decide is not run again. Cost: an evaluation of each comparison at some dozen places, a
part in a hundred of what the code takes; fewer where all are soon seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polyvolta.sched.loops.ast import AnyOf, Ast, Bound, Call, Condition, For, If, within
from polyvolta.sched.loops.hoisting.least import number
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOOP, Key
from polyvolta.sets import Aff
from polyvolta.sets.budgets import spend

IDLE = 10  # places at which nothing new is seen, after which no more are looked at
TIMES_MET = 3  # times that a loop is met below which nothing is asked of it
VISITS = 30  # runs of a condition or a loop at one place beyond which no more is looked for there
VALUES = 4  # values of a loop that are looked at
LEAST, TIMES = 3, 7  # the least size where sizes are far apart, and how much greater the next one is
RANDOM, WIDTHS = 40, (4, 10, 10, 30, 30, 100, 100, 400)  # other sizes, at random below these
LARGE = 43  # a size beside one that is 1
ALIKE = 13, 40, 2, 1, 4, 0, -3, 6  # sizes where they are alike


@dataclass(slots=True, eq=False)
class Part:
    """A comparison, or alternatives, of a condition, whether it was seen to decide, and holds where code runs now."""

    condition: Condition
    cases: list[Case]
    seen: bool = False
    now: bool = False


@dataclass(slots=True, eq=False)
class Case:
    """An alternative, all parts of which hold; whether it was seen to hold alone, and holds where code runs now."""

    parts: list[Part]
    seen: bool = False
    now: bool = False


@dataclass(slots=True, eq=False)
class Site:
    """A condition or a loop, what it is of, and how much of it and of what is in it was not seen to decide.

    Attributes
    ----------
    parts : of a condition.
    lower, upper : whether each of several bounds of a loop was seen to decide.
    other : whether it has another branch.
    rounded : whether a condition in it compares sums that are rounded.
    entered, failed : whether its body ran, and the other branch of it.
    """

    around: Site | None
    other: bool = False
    parts: list[Part] = field(default_factory=list)
    lower: list[bool] = field(default_factory=list)
    upper: list[bool] = field(default_factory=list)
    left: int = 0
    visits: int = 0
    times: int = 0
    rounded: bool = False
    entered: bool = False
    failed: bool = False

    def found(self, n: int = 1) -> None:
        """One more thing was seen."""
        site: Site | None = self
        while site is not None:
            site.left -= n
            site = site.around


def parts_of(conditions: Sequence[Condition]) -> list[Part]:
    """Conditions as parts."""
    return [
        Part(c, [Case(parts_of(case)) for case in c.alternatives] if isinstance(c, AnyOf) else []) for c in conditions
    ]


def copied(parts: Sequence[Part]) -> list[Part]:
    """Parts that can be changed."""
    return [Part(p.condition, [Case(copied(case.parts), case.seen) for case in p.cases], p.seen) for p in parts]


def number_of(parts: Sequence[Part]) -> int:
    """How many parts and alternatives there are."""
    return sum([1 + sum([1 + number_of(case.parts) for case in part.cases]) for part in parts])


def rounds(b: Bound) -> bool:
    """Whether a bound is rounded, or an extreme: of others rational numbers say whether they decide."""
    return not isinstance(b, Aff) or (bool(b.terms) and not isinstance(b.terms[-1][0], str))


def _rounded(c: Condition) -> bool:
    """Whether a comparison of sums that are rounded says more than a remainder."""
    return not isinstance(c, AnyOf) and c[0] == "ge" and len(c[1].terms) > 1 and rounds(c[1])


class Seen:
    """What was seen of some code: the sites of its conditions and loops, by identity of these."""

    def __init__(self, known: Known, body: Sequence[Ast]) -> None:
        self.sites: dict[int, tuple[Ast, Site]] = {}
        self.whole = Site(None)
        self._make(body, self.whole)
        idle, steps = 0, len(self.sites) // 50
        for at in _places(known):
            spend(steps)
            before = self.whole.left
            for _, site in self.sites.values():
                site.visits = 0
            self._run(body, at)
            idle = 0 if self.whole.left < before else idle + 1
            if not self.whole.left or idle == IDLE:
                break
        self._forgo()

    def _forgo(self) -> None:
        """Ask nothing of bounds, nor whether code runs, that was met at a place or two: likely it is at others."""
        for _, site in self.sites.values():
            if site.left and site.times < TIMES_MET:
                site.found(site.lower.count(False) + site.upper.count(False) + (not site.entered))
                site.entered, site.lower, site.upper = True, [], []
                if site.other and not site.failed:
                    site.failed = True
                    site.found()

    def site(self, node: Ast) -> Site:
        """That of a condition or a loop."""
        return self.sites[id(node)][1]

    def _make(self, body: Sequence[Ast], around: Site) -> None:
        for node in body:
            if isinstance(node, Call):
                continue
            site = Site(around, isinstance(node, If) and bool(node.other))
            site.parts = parts_of(node.conditions) if isinstance(node, If) else []
            self.sites[id(node)] = node, site
            if isinstance(node, For):
                if len(node.lower) > 1 and node.step == 1 and any(map(rounds, node.lower)):
                    site.lower = [False] * len(node.lower)
                if len(node.upper) > 1 and (node.step > 1 or any(map(rounds, node.upper))):
                    site.upper = [False] * len(node.upper)
            own = 1 + site.other + len(site.lower) + len(site.upper) + number_of(site.parts)
            site.found(-own)
            inner: Site | None = site if any(_rounded(part.condition) for part in site.parts) else None
            while inner is not None and not inner.rounded:
                inner.rounded, inner = True, inner.around
            self._make(within(node), site)

    def _run(self, body: Sequence[Ast], at: dict[str, int]) -> None:
        for node in body:
            if isinstance(node, Call):
                continue
            site = self.site(node)
            site.visits += 1
            site.times += 1
            if site.left <= 0 or site.visits > VISITS:
                continue
            if isinstance(node, If):
                holds = _truth(site.parts, at)
                _mark(site, site.parts)
                _enter(site, holds)
                self._run(node.body if holds else node.other, at)
                continue
            for inner in _values(site, node, at) if isinstance(node, For) else (at,):
                _enter(site, True)
                self._run(node.body, inner)


def _enter(site: Site, holds: bool) -> None:
    """A branch of a condition is run, or a loop's body."""
    if holds and not site.entered:
        site.entered = True
        site.found()
    elif not holds and site.other and not site.failed:
        site.failed = True
        site.found()


def _truth(parts: Sequence[Part], at: Mapping[str, int]) -> bool:
    """Whether all parts hold at a place; each of them is told."""
    whole = True
    for part in parts:
        c = part.condition
        if isinstance(c, AnyOf):
            part.now = False
            for case in part.cases:
                case.now = _truth(case.parts, at)
                part.now |= case.now
        else:
            v = number(c[1], at)
            part.now = v == 0 if c[0] == "eq" else v >= 0
        whole &= part.now
    return whole


def _mark(site: Site, parts: Sequence[Part]) -> None:
    """Note which of some parts decide, where all of them together do."""
    false = [part for part in parts if not part.now]
    if len(false) > 1:
        return
    for part in false:
        if not part.seen:
            part.seen = True
            site.found()
        for case in part.cases:
            _mark(site, case.parts)
    for part in () if false else parts:
        holding = [case for case in part.cases if case.now]
        if len(holding) == 1:
            if not holding[0].seen:
                holding[0].seen = True
                site.found()
            _mark(site, holding[0].parts)


def _values(site: Site, node: For, at: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """A place at a few values of a loop; notes which of its bounds decide."""
    lows, highs = [number(b, at) for b in node.lower], [number(b, at) for b in node.upper]
    low = max(lows)
    high = min(highs, default=low + 100 * node.step)
    if site.lower:
        others = sorted(lows)[-2]
        _decide(site, site.lower, lows.index(low), others <= high and others < low)
    if site.upper:
        others = sorted(highs)[1]
        _decide(
            site, site.upper, highs.index(high), low <= others and (others - low) // node.step * node.step + low > high
        )
    if low <= high:
        n = (high - low) // node.step
        numbers = range(n + 1) if n < VALUES else (0, 1, (1 + n) // 2, n)
        for k in numbers:
            yield {**at, node.var: low + k * node.step}


def _decide(site: Site, seen: list[bool], k: int, decides: bool) -> None:
    """Note that one of several bounds is beyond the others."""
    if decides and not seen[k]:
        seen[k] = True
        site.found()


def _places(known: Known) -> Iterator[dict[str, int]]:
    """Sizes, and names of a machine, at which what is known holds."""
    columns = known.columns
    names = {name: c for name, c in columns.ids.items() if c < LOOP}

    def outside(key: Key) -> bool:
        return all(c in columns.affs and columns.affs[c].names() <= names.keys() for c, _ in key)

    rows = [(columns.aff(key, 0), const) for key, const in known.ineqs.items() if outside(key)]
    mods = [(columns.aff(key, const), d) for key, const, d in known.mods if outside(key)]
    for some in _choices(len(names)):
        at = {}
        for (name, c), v in zip(names.items(), some, strict=True):
            low, high = known.low.get(c), known.high.get(c)
            if low is not None and (v < low or high is not None):
                v = int(low + abs(v) % (1000 if high is None else high - low + 1))  # noqa: PLW2901
            at[name] = int(v if high is None else min(v, high))
        spend(1)
        if all(number(e, at) + const >= 0 for e, const in rows) and all(number(e, at) % d == 0 for e, d in mods):
            yield at


def _choices(n: int) -> Iterator[Sequence[int]]:
    """Values of n names: far apart, alike, and in other orders."""
    apart = [LEAST * TIMES**k for k in range(min(n, 3))] * (n // 3 + 1)
    yield [ALIKE[0]] * n
    for k in range(n) if n > 1 else ():
        yield [1 if j == k else LARGE for j in range(n)]
        yield [*apart[k:n], *apart[:k]][:n]
        yield [*apart[k:n], *apart[:k]][n - 1 :: -1]
    for v in ALIKE[1:]:
        yield [v] * n
    seed = 1
    for _ in range(RANDOM):
        some = []
        for _ in range(n):
            seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
            some.append((seed >> 12) % WIDTHS[seed >> 8 & 7] - (seed >> 25 == 0))
        yield some
