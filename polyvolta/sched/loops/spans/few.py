"""Few values of a loop apart from many: loops inside are cut for them, filters tell them apart, or they have no stride.

    S[i] -> [i, i/2], T[j] -> [2, j] for 0 <= j < N, the second member separate     to 1, at 2, and from 3 on
    S[i] -> [i] for -2 <= i < N, and filters below for 0 <= i <= 1 and all others   to 1, and from 2 on
    S[i] -> [i, i/2] for -1 <= i <= 2, T[j] -> [2, j], the second member separate   to 1, and at 2
    S[i] -> [8i], T[] -> [P]                        before P, at P and after P: a loop of step 1 would ask at each value
    S[k, i] -> [k, i] for k mod 2 = 1, T[k] -> [k, 0]           at 0, and from 1 on where k is odd
    S[i] -> [i] for 0 <= 6i <= N, T[i] -> [i] for -2 <= i <= 3, an atomic band below    to -1, both, and T alone to 3
    S[k, i] -> [k, i], T[k] -> [k, k] inside a loop over k, a band below separate   to k - 1, at k, and from k + 1 on
    S[] -> [n/3, 1], T[] -> [(n + 1)/3, 0]          where n/3 is less S, T; elsewhere T, S
    S[k, i] -> [k, i] for k <= 1, others inside a loop over k, and holes in no order of sizes    to k = 1, from 2 on

A separate loop has cells by which statements have values in it, and what they say of loops outside is decided there,
too: S would be told apart at each of its many values by whether it is at 2, before it or after it. And each filter has
a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial, reduce
from itertools import compress, pairwise, permutations

from polyvolta.sched.loops.rows.groups import in_order
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.lanes import Group, Lane, in_cell
from polyvolta.sched.loops.rows.linear import FLOOR, LOOP, System, coefficient, plus
from polyvolta.sched.loops.rows.order import First, ends
from polyvolta.sched.loops.rows.strides import common_stride, grid
from polyvolta.sched.loops.spans.holes import MANY, ONCE, joined, many
from polyvolta.sched.loops.spans.shadows import shadows_of, span, within
from polyvolta.sched.loops.spans.telling import disjoint, hull, telling, width
from polyvolta.sched.loops.spans.turns import atomic_below
from polyvolta.sched.tree import Node
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

FEW = 2  # values in a row that have a loop of their own inside other loops, where loops inside are cut for them
BESIDE = 4  # values of others beside these, beyond which that is worth it
BOTH, CELLS = 3, 4  # shadows of which those between numbers are beside others, and loops that are made of them
SOME = 6  # shadows of which this is asked
PLACES = 8  # places around which loops are cut for their stride
SHORT = 8, 4  # values in a row that such a place may have: fewer, if what has a stride would be one as well
STEPS = 15_000  # of a search for what is beside such places, whose pieces may be in many orders


def by_order(known: Known, group: Group, k: int, columns: Sequence[int]) -> list[System]:
    """Whether two values, of which one is no more than the other, are the same: cases in which there is no loop.

    Of S[] -> [floor(N/3), 1] and T[] -> [floor((N + 1)/3), 0] either S and T run, or T and S. A loop from one value to
    the other would ask of each whether it is that. Empty where there are others, or more than two, or where all that
    runs is at one value. A few rows, asked of what is known; what is inside is made twice.
    """
    if group.cell is not None:
        return []
    grids = [grid(known, lane.shadows[k], columns[k]) for lane in group.lanes]
    values = [*dict.fromkeys(value for _, value in grids)]
    if len(values) != 2 or any(step for step, _ in grids):
        return []
    for (p, a), (q, b) in permutations(values):
        key, const = plus(1, q, -1, p), b - a
        less, same = System([(key, const - 1)]), System(eqs=[(key, const)])
        if key and not same.empty and known.implies(key, const) and not known.implies(key, const - 1):
            there, lanes = known.given(less), zip(grids, group.lanes, strict=True)
            left = {value for (_, value), lane in lanes if not there.excludes(lane.shadows[k])}
            return [less, same] if len(left) == 2 else []
    return []


def beside_few(known: Known, shadows: Sequence[System], col: int) -> list[System] | None:
    """The values between numbers that some shadows have, those before and those after them.

    A shadow that has none in what is known says nothing: the ends that are left in its rows may cross. None where no
    shadow has few, or no other one has many beside them.
    """
    shadows = [s for s in shadows if not known.excludes(s)]
    few = [span for s in shadows for span in (ends(s, col),) if None not in span]
    lows, highs = [low for low, _ in few if low is not None], [high for _, high in few if high is not None]
    others = [s for s in shadows if None in ends(s, col)]
    if not (few and others):
        return None
    up, down, low, high = ((col, 1),), ((col, -1),), min(lows), max(highs)
    before, here, after = System([(down, low - 1)]), System([(up, -low), (down, high)]), System([(up, -high - 1)])
    beside = [s.copy().add(cell) for s in others for cell in (before, after)]
    return [before, here, after] if any(many(known, s, col) for s in beside) else None


def beside_others(
    known: Known, group: Group, k: int, columns: Sequence[int], first: First | None, child: Node | None
) -> list[Group]:
    """A group as the values of lanes that end at sizes, and those between numbers that others have besides, if several
    statements share an atomic loop of a band below.

    Of S[i] -> [i] for 0 <= 6*i <= n and T[i] -> [i] for -2 <= i <= 3, and below S[i] -> [0, i] and T[i] -> [i mod 2, 0]
    atomic, it is T alone to -1, both while 6*i <= n, and T alone up to 3. A loop of both has what S and T would have in
    each bound inside, and asks at each iteration there, where one of them has nothing. The values are disjoint, and the
    order is as it was; it is the group where they have none. Cost: some linear programs, and a test for each loop more,
    of which there are three at most.

    Parameters
    ----------
    child : what is below the band.
    """
    if child is None or not atomic_below(child, {lane.piece.statement for lane in group.lanes}):
        return [group]
    col = columns[k]
    shadows = shadows_of(known, group.lanes, k, col)
    if not 1 < len(shadows) <= BOTH:
        return [group]
    few = [s for s in shadows if not any(len(key) > 1 and coefficient(key, col) for key, _ in s.every_ge())]
    few = [s for s in few if span(s, col) is not None]
    cells = disjoint(known, [*[s for s in shadows if s not in few], *few]) if 0 < len(few) < len(shadows) else None
    if cells is None or len(cells) > CELLS:
        return [group]
    found = in_order(known, within(known, group.lanes, cells, k, col), k, columns, first)
    return [Group(lanes) for lanes in found] if len(found) > 1 else [group]


def around_few(known: Known, shadows: Sequence[System], col: int) -> list[System] | None:
    """The few values in a row of one or several shadows, and those of the others that are before and behind.

    None where no shadow has so few, or the others have but a few more.
    """
    few = [s for s in shadows if width(known, s, col, FEW)]
    if not 0 < len(few) < len(shadows) <= SOME:
        return None
    here = reduce(partial(hull, known), few)
    if not width(known, here, col, FEW):
        return None
    rest = [part for s in shadows if s not in few for part in difference(known, s, telling(known, s, here))]
    if all(width(known, part, col, BESIDE) for part in rest):
        return None
    apart = disjoint(known, rest)
    return None if apart is None else [here, *apart]


def between_numbers(shadows: Sequence[System], col: int) -> list[System] | None:
    """The few values between numbers of shadows, cut where one of them begins or ends; None where they are not few."""
    spans = [ends(s, col) for s in shadows]
    lows, highs = [low for low, _ in spans if low is not None], [high + 1 for _, high in spans if high is not None]
    if len(lows) < len(spans) or len(highs) < len(spans) or max(highs) - min(lows) > MANY:
        return None
    some = pairwise(sorted({*lows, *highs}))
    return [System([(((col, 1),), -low), (((col, -1),), high - 1)]) for low, high in some]


def outside(shadows: Sequence[System], col: int) -> Iterator[list[System]]:
    """Values of a loop outside to which numbers bind some shadows, and those above; those of inner loops first.

    Of S[k, i] -> [k, i] for -1 <= k <= 1 these are k <= 1, and k >= 2.
    """
    seen = {c for s in shadows for c in s.columns() if LOOP <= c < FLOOR and c < col}
    for c in sorted(seen, reverse=True):
        most = max([high for s in shadows if (high := ends(s, c)[1]) is not None], default=None)
        if most is not None:
            yield [System([(((c, -1),), most)]), System([(((c, 1),), -most - 1)])]


def around_places(known: Known, lanes: Sequence[Lane], k: int, col: int, once: bool) -> list[System] | None:
    """Few values in a row, and what is before, between and after them, if loops there have a stride that they lack.

    The same where loops there have iterations only where loops outside have some residue: they ask for it once.

    Places may be in an order that depends on what is outside: of one that moves past others there is a piece for each
    order, and of what is around them one for each set of places that it is behind. Each is a loop, which tests its
    bounds once where a loop of step 1 tests at each value. None where nothing is lost, or there are more such places or
    pieces, or they are not found in `STEPS`; where loops around as many as eight are short, of what is not short as a
    whole.
    """
    shadows = [lane.shadows[k] for lane in lanes]
    rows = [_outside(s, col) for s in shadows]
    grids = [grid(known.given(r) if r.mods else known, s, col) for r, s in zip(rows, shadows, strict=True)]
    if all(step < 2 for step, _ in grids) and not any(r.mods for r in rows):
        return None
    for most in SHORT:
        brief = [width(known, s, col, most) for s in shadows]
        steps = [g for g, short in zip(grids, brief, strict=True) if not short]
        step = common_stride(known, steps)[0] if steps else 1
        shared = [row.mods for row, short in zip(rows, brief, strict=True) if not short]
        at = [m for m in shared[0] if all(m in r for r in shared)] if shared else []
        at = [m for m in at if known.columns.of_loops(m[0]) and not known.columns.of_sizes(m[0])]
        if step > 1 or at:
            break
    else:
        return None
    placed = [
        short and (common_stride(known, [*steps, g])[0] != step or any(m not in r.mods for m in at))
        for g, r, short in zip(grids, rows, brief, strict=True)
    ]
    places = joined(known, shadows_of(known, [*compress(lanes, placed)], k, col), col, once)
    if not 0 < len(places) <= PLACES:
        return None
    rest = [lane for lane, alone in zip(lanes, placed, strict=True) if not alone]
    with suppress(BudgetExceeded):
        return bounded(STEPS, _beside_places, known, places, shadows_of(known, rest, k, col), col, once)
    return None


def _beside_places(
    known: Known, places: Sequence[System], rest: Sequence[System], col: int, once: bool
) -> list[System] | None:
    """Places and what the rest has beside them, disjoint; None where that is too much, or too little of the rest."""
    here = disjoint(known, places)
    beside = here and disjoint(known, [*here, *joined(known, rest, col, once)])
    if not (here and beside):
        return None
    brief = all(width(known, s, col, SHORT[1]) for s in here)
    few = not brief and all(width(known, s, col, ONCE) for s in beside[len(here) :])
    return None if few else beside


def _outside(s: System, col: int) -> System:
    """The congruences of a shadow that are of what is outside alone."""
    return System(mods=[row for row in s.mods if not coefficient(row[0], col)])


def apart(known: Known, group: Group, k: int, cells: Sequence[System]) -> list[Group]:
    """A group within each of some cells that are in the order of their values; as it is where one has all."""
    out: list[Group] = []
    for cell in cells:
        if inside := in_cell(known, group.lanes, cell, k):
            out.append(Group(inside, None if group.cell is None else group.cell.copy().add(cell)))
    return out if len(out) > 1 else [group]
