"""Loops weighed at several sizes, and cut otherwise if that tests less in the mean.

    S[i] -> [i] for s <= i < e, T[i] -> [i] for e <= i < r, U[i] -> [i] for 0 <= i < s

    for (c0 = 0; c0 < min(s, min(r, e)); c0++) U(c0);
    for (c0 = e; c0 < min(0, min(r, s)); c0++) T(c0);
    for (c0 = max(0, e); c0 < min(r, s); c0++) { T(c0); U(c0); }
    for (c0 = max(0, r); c0 < s; c0++) U(c0);
    for (c0 = s; c0 < e; c0++) S(c0);
    for (c0 = max(e, s); c0 < r; c0++) T(c0);

What shares a loop by any rule of `spans` is weighed at several sizes, and cut otherwise if that tests less in the mean:
one loop has no holes and two tests at s < e < r, and runs from s to r through nothing at other sizes. Each loop has all
that may run in it once more: a cut of many of them tests much less than one of fewer, or that is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import inf, sqrt

from polyvolta.sched.components import strongly_connected
from polyvolta.sched.loops.rows.groups import in_order
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System, coefficient
from polyvolta.sched.loops.rows.order import First
from polyvolta.sched.loops.spans.shadows import shadows_of, within
from polyvolta.sched.loops.spans.telling import telling
from polyvolta.sched.loops.weighing.samples import NONE, Samples, orders
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

CELLS = 5, 8  # loops beyond which a cut has too many: with others inside, without
SHADOWS = 6  # what statements say differently, beyond which loops are not weighed
ENOUGH = 2.2  # times as many tests as values: no loops are looked for that test less
PLACES = 3  # at fewer sizes loops are not weighed
LESS, ALIKE = 0.8, 1.1  # of the tests of others, in the mean, and at sizes that are alike, are few enough
AROUND, SPARED = 5, 0.6  # loops beyond which a cut has many, and the tests of one of fewer that are few enough for them
TRIED = 2  # cuts that are made, of those that would test the least
STEPS = 12_000  # of a search for one cut, beyond which a loop is as it was found

Items = list[list[Lane]]  # what shares a loop, each
Loop = Sequence[System]  # what that says


def weighed(
    known: Known,
    lanes: Sequence[Lane],
    found: Items,
    k: int,
    columns: Sequence[int],
    first: First | None,
    innermost: bool,
) -> Items:
    """What of some lanes shares a loop, each, as it is found, or in cells whose loops test less at several sizes.

    The cells are the values of one shadow, what is before and behind it of the next one, and so on, in some orders.
    What is found is cut into such cells, each loop by itself, and then all at once. Loops are weighed by what they test
    at some sizes (`Samples`); cells are not looked for where that is little more than any loops would, and are not
    taken if they test more at the first sizes, which are alike where what is known allows. Where all ends are at one
    size no gap is between two: there they are not taken if they test more anywhere. What runs, and in which order, is
    as it was, whatever the weight. A cut that is not found in `STEPS` is none: what was found stays.
    """

    def cut(some: Sequence[Lane], now: Items) -> Items:
        try:
            return bounded(STEPS, _cheaper, known, some, now, k, columns, first, innermost) or now
        except BudgetExceeded:
            return now

    if len(found) > 1:
        found = [one for some in found for one in cut(some, [some])]
    return cut(lanes, found)


def _cheaper(
    known: Known,
    lanes: Sequence[Lane],
    now: Items,
    k: int,
    columns: Sequence[int],
    first: First | None,
    innermost: bool,
) -> Items | None:
    """A few loops of some lanes that test less than others; None where there are none."""
    if len(lanes) < 2:
        return None
    col = columns[k]
    shadows, said, loops = shadows_of(known, lanes, k, col), _said([list(lanes)], k)[0], _said(now, k)
    if not 1 < len(shadows) <= SHADOWS:
        return None
    samples = Samples(known, [*shadows, *said, *[s for some in loops for s in some]], col)
    least, before = samples.least(said), samples.costs(loops)
    if len(samples.places) < PLACES or least is None or before is None:
        return None
    if all(a <= ENOUGH * b for a, b in zip(before, least, strict=True)):
        return None

    def mean(costs: Sequence[int]) -> float:
        """The root of the mean square of how often costs are the least; sizes that are alike count twice."""
        each = [(a / b) ** 2 for a, b in zip(costs, least, strict=True)]
        return sqrt((each[0] + sum(each)) / (1 + len(each)))

    limit = LESS * mean(before)

    def fewer(costs: Sequence[int] | None, loops: int) -> bool:
        if samples.one and any(a > b for a, b in zip(costs or (), before, strict=False)):
            return False
        return costs is not None and costs[0] <= ALIKE * before[0] + loops and mean(costs) < limit

    found: list[tuple[float, list[System]]] = []
    beside, seen = _Beside(known, shadows, col), set()
    for order in orders(range(len(shadows))):
        for sign in (1, -1):
            cells = beside.cells(order, sign, CELLS[innermost])
            what = frozenset([frozenset(cell.every_ge()) for cell in cells])
            if 1 < len(cells) <= CELLS[innermost] and what not in seen:
                seen.add(what)
                costs = samples.costs(_in_turn(said, cells, samples))
                if costs is not None and fewer(costs, len(cells)):
                    found.append((mean(costs), cells))
    found.sort(key=lambda one: one[0])
    for cells in _worth(found, mean(before) if len(now) == 1 else inf)[:TRIED]:
        items = in_order(known, within(known, lanes, cells, k, col), k, columns, first)
        if fewer(samples.costs(_said(items, k)), len(items)):
            return items
    return None


def _worth(found: Sequence[tuple[float, list[System]]], whole: float) -> list[list[System]]:
    """Cuts in order; of many loops only those that test much less than all of a few: loops are text, too.

    Parameters
    ----------
    whole : what one loop tests that is to be cut; any number of several.
    """
    limit = SPARED * min([whole, *[mean for mean, cells in found if len(cells) <= AROUND]])
    return [cells for mean, cells in found if len(cells) <= AROUND or mean <= limit]


def _said(items: Items, k: int) -> list[Loop]:
    """What the lanes of some items say of loop k, each once."""
    out: list[Loop] = []
    for lanes in items:
        each: dict[tuple, System] = {}
        for s in (lane.shadows[k] for lane in lanes):
            each.setdefault((frozenset(s.eqs), frozenset(s.ineqs.items()), frozenset(s.mods)), s)
        out.append(list(each.values()))
    return out


class _Beside:
    """What is left of shadows before and behind others; what was found once is kept."""

    def __init__(self, known: Known, shadows: Sequence[System], col: int) -> None:
        self.known, self.shadows, self.col = known, shadows, col
        self._found: dict[tuple, list[System]] = {}

    def cells(self, order: Sequence[int], sign: int, most: int) -> list[System]:
        """The first shadow, what is before and behind it of the next one, and so on: disjoint systems, or too many.

        What is before is cut off first (sign 1), whatever sizes there are behind, or what is behind.
        """
        out: list[System] = []
        for at, k in enumerate(order):
            left = [self.shadows[k]]
            for other in order[:at]:
                left = [part for whole in left for part in self._outside(whole, other, sign)]
            out += left
            if len(out) > most:
                break
        return out

    def _outside(self, whole: System, k: int, sign: int) -> list[System]:
        """What is left of a system without shadow number k."""
        what = frozenset(whole.eqs), frozenset(whole.ineqs.items()), k, sign
        if what not in self._found:
            rows = telling(self.known, whole, self.shadows[k])
            rows.sort(key=lambda row: -sign * coefficient(row[0], self.col))
            self._found[what] = difference(self.known, whole, rows)
        return self._found[what]


def _in_turn(said: Sequence[System], cells: Sequence[System], samples: Samples) -> list[Loop]:
    """What shares a loop of what is said in some cells, if each is before the other ones that it is at all samples."""
    each = [samples.spans(cell) for cell in cells]

    def after(p: int, q: int) -> bool:
        """Whether anything of one cell comes after anything of another one at some place."""
        pairs = [(a, b) for a, b in zip(each[p], each[q], strict=True) if NONE not in (a, b)]
        return any(a[1] > b[0] for a, b in pairs)

    numbers = range(len(cells))
    together = strongly_connected(numbers, [(p, q) for p, q in permutations(numbers, 2) if after(q, p)])
    return [[cells[k].copy().add(s) for k in some for s in said] for some in together]
