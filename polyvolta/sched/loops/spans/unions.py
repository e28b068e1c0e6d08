"""Where statements share a loop, and where not: a loop has no holes.

    S1[i] -> [i], S2[i] -> [i + 1]      one loop from 0 to n, with tests inside
    S1[i] -> [i], S2[] -> [1000]        two: no loop runs from n to 1000 to find S2 there
    S1[j] -> [5, j], S2[i] -> [i, i]    of the second member, two: the row at 5, and a point in each other row
    S1[i] -> [8i], S2[] -> [P]          before P, at P and after P: a loop of step 1 would ask whose each value is
    S1[i] -> [8i], S2[i] -> [P + i]     the same around the values of S2 where i has two, or a few
    S1[i] -> [i] for n <= i <= 3, S2[] -> [1]      where n is 3 at most one loop, and S2 alone elsewhere
    S1[i] -> [i], S2[] -> [0]           one from 0 to n, and S2 alone where n is negative: no test of i <= n inside
    S1[i] -> [i], S2[] -> [n], S3[i] -> [i] for i < n      an innermost one to n - 1, and what is at n
    S1[i] -> [i] for n <= i <= 3n, S2[i] -> [i] for i < 2  to 1, with tests of n <= c0, and S1 from 2 on: few stay whole
    S1[i] -> [i] for n < 3, S2[] -> [-1], S3[] -> [1]      S2, then S3, where n is 3 or more: no loop finds them
    S1[i] -> [i, i/2], S2[] -> [2, 7], the second separate      to 1, at 2, and from 3 on, where S1 is not told apart
    S1[i] -> [i] for i <= n, S2[] -> [0], S3[] -> [n]      what S1 has between them alone, in a loop of its own
    S1[i] -> [i] for 0 <= i <= 1, S2[] -> [0]              0, then 1: no loop of two iterations, outermost (`pairs`)
    S1[i] -> [i] for i < n, S2[i] -> [i] for i < m      a loop of S1 that asks for S2, and S2 from n on (`unordered`)
    S1[i] -> [i] for 0 <= i < n, S2[] -> [4]            S1 to 3, S2, S1 from 4 on, outermost (`numbers`)

Statements that take turns share a loop (`groups`), which runs from the least to the greatest of their values. Where
more than a few iterations in between would find nothing, at some values outside, their shadows are looked at as sets
over what is outside and the member: those are joined whose union is one system, the others are made disjoint, and each
piece is a loop of its own if the order allows. isl's generator does the same with the domain of a loop (Grosser,
Verdoolaege and Cohen, TOPLAS 37, 2015, section 4). A loop that runs once may find nothing more often, but at small
sizes alone, and only if it has many iterations at others: of S[i] -> [i] for 2i <= 2 - n and T[] -> [0] all but the
last would find nothing from some n on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, product

from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.groups import groups, in_order
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.lanes import Group, Lane, classes
from polyvolta.sched.loops.rows.linear import LOOP, System, coefficient, negated
from polyvolta.sched.loops.rows.order import Compared, First, ends
from polyvolta.sched.loops.rows.strides import common_stride, grid
from polyvolta.sched.loops.spans.few import around_few, beside_few, between_numbers
from polyvolta.sched.loops.spans.holes import ONCE, few_holes, joined, long
from polyvolta.sched.loops.spans.numbers import at_numbers, beside_numbers, few_copies
from polyvolta.sched.loops.spans.pairs import both_values
from polyvolta.sched.loops.spans.steady import steady
from polyvolta.sched.loops.spans.telling import PIECES, disjoint, hull, telling, terse, width
from polyvolta.sched.loops.spans.unordered import around_one

MANY = 32  # shadows of which no union is made
PLACES = 2  # places around which loops are cut for their stride
SOME = 6  # shadows of which one is looked for that has all values of the others, and pieces of the union then
OTHERS = 2, 3  # shadows for whose tests it is worth to write a loop of another one twice: in a nest of loops, alone
SHORT = 8, 4  # values in a row that such a place may have: fewer, if what has a stride would be one as well


def parted(
    known: Known,
    group: Group,
    k: int,
    columns: Sequence[int],
    first: First | None,
    outermost: bool = False,
    innermost: bool = False,
    inside: bool = False,
    below: bool = False,
) -> list[Group]:
    """A group as several that have no holes, in order; as it is where it has none or there is no order.

    Parameters
    ----------
    outermost, innermost : whether a loop runs once, and whether there is none in it.
    inside : whether loops in it are cut where any of the others has values.
    below : the same of loops in it that are of bands below, too.
    """
    col = columns[k]
    if len(classes(group.lanes, k, col)) < 2:
        return [group]
    shadows = _shadows(known, group.lanes, k, col)
    several = beside_numbers(known, group.lanes, shadows, k, col) if outermost and len(shadows) <= PIECES else []
    numbered = len(several) == 1 or (bool(several) and len(shadows) > MANY)
    if len(shadows) < 2 or len(several if numbered else shadows) > MANY:
        return [group]
    once = outermost and not numbered and long(known, shadows, col)
    cells = _around_places(known, group, k, col, once) if len(shadows) <= MANY else None
    items: list[list[Lane]] = []
    if numbered and cells is None and not innermost and len(shadows) <= SOME:
        cells = _of_one(known, shadows, col, once, innermost) or by_sizes(known, group.lanes, k, columns)
    if numbered and cells is None:
        cut = len(several) == 1 and few_copies(group.lanes, k, col, innermost)
        items = at_numbers(known, group.lanes, k, columns, first) if cut else []
        cells = [] if items else _beside(known, shadows, several, col, cut)
    if cells is None and innermost:
        cells = _at_end(known, shadows, col, once)
    if cells is None:
        cells = _of_one(known, shadows, col, once, innermost)
    sized = outermost
    if cells is None and not few_holes(known, shadows, col, once):
        union = joined(known, shadows, col, once)
        # what many share with few is in the loop of few: there are tests in it, and no stride
        union.sort(key=lambda s: _valued(s, col) or not width(known, s, col, ONCE))
        cells = disjoint(known, union)
    elif cells is None:
        cells = _of_dense(known, group, shadows, k, columns, first, outermost, innermost, inside, below)
        if cells is None and several:
            cells = _beside(known, shadows, several, col, False)
        if cells is None and innermost:
            cells = steady(known, shadows, col, ONCE)
        if cells is None:
            cells = around_one(known, shadows, col, innermost)
            sized = sized and cells is None  # not cut again at sizes below zero
    items = items or _within(known, group.lanes, cells or (), k, col)
    if sized and len(items) > 1:
        items = [some for inside in items for some in _sized(known, inside, k, columns)]
    found = in_order(known, items, k, columns, first)
    if len(found) < 2:
        return [group]
    out: list[Group] = []
    for lanes in [some for within in found for some in _finer(known, within, k, columns, first, once, inside)]:
        alone = outermost and len(lanes) > 1 and all(_span(lane.shadows[k], col) == 0 for lane in lanes)
        turns = groups(known, lanes, k, columns, "default", first) if alone else None
        out += turns or [Group(lanes)]
    return out


def _of_dense(
    known: Known,
    group: Group,
    shadows: Sequence[System],
    k: int,
    columns: Sequence[int],
    first: First | None,
    outermost: bool,
    innermost: bool,
    inside: bool,
    below: bool,
) -> list[System] | None:
    """Cells in which a loop without holes has fewer tests: at some sizes, of one statement alone, around few values."""
    col = columns[k]
    cells = by_sizes(known, group.lanes, k, columns) if outermost else None
    if cells is None and (outermost or innermost):
        least = OTHERS[innermost and outermost]
        mixed = len(shadows) <= least and _mixed(known, group.lanes, k, columns, first)
        cells = _alone(known, shadows, col, 1 if mixed else least, innermost)
    if cells is None and outermost and inside:
        cells = beside_few(known, shadows, col)
    if cells is None and below and not outermost:
        cells = around_few(known, shadows, col)
    if cells is None and outermost:
        cells = both_values(shadows, col)
    return cells


def _finer(
    known: Known, lanes: list[Lane], k: int, columns: Sequence[int], first: First | None, once: bool, inside: bool
) -> list[list[Lane]]:
    """Lanes that a cut leaves in a loop, around few values in a row: here these may be few that are many elsewhere.

    Where they are all between numbers, and loops `inside` are cut, wherever any of them begins or ends.
    """
    cells = _around_places(known, Group(lanes), k, columns[k], once) if len(lanes) > 1 else None
    if cells is None and inside and len(lanes) > 1:
        cells = between_numbers([lane.shadows[k] for lane in lanes], columns[k])
    found = in_order(known, _within(known, lanes, cells or (), k, columns[k]), k, columns, first)
    return found if len(found) > 1 else [lanes]


def _within(known: Known, lanes: Sequence[Lane], cells: Sequence[System], k: int, col: int) -> list[list[Lane]]:
    """Lanes within each of some cells, those that may have values there."""
    out: list[list[Lane]] = []
    for cell in cells:
        fewer = terse(known, cell, col)
        inside = [lane.restrict(fewer, k) for lane in lanes]
        inside = [lane for lane in inside if not lane.empty and not known.excludes(lane.shadows[k])]
        if inside:
            out.append(inside)
    return out


def _beside(
    known: Known, shadows: Sequence[System], several: Sequence[System], col: int, cut: bool
) -> list[System] | None:
    """What several of some shadows have, and the numbers of the others where these do not have them; or these, `cut`
    out of several, where they are.
    """
    numbers = [s for s in shadows if s not in several]
    return disjoint(known, [*numbers, *several] if cut else [*joined(known, several, col, False), *numbers])


def _shadows(known: Known, lanes: Sequence[Lane], k: int, col: int) -> list[System]:
    """What lanes say of a column and of what is outside, rounded to their strides; those of one value last.

    That there is a value at all is said, too.
    """
    found: dict[tuple, System] = {}
    for lane in lanes:
        s, stepping = System(), System()
        stepping.mods = lane.shadows[k].mods
        beside = known.given(stepping)
        s.eqs = [row for row in lane.shadows[k].eqs if not known.implies_zero(*row)]
        for row in lane.shadows[k].ineqs.items():
            s.ge(*beside.tight(*row))
        for row in s.without((col,), known.low, known.high).ineqs.items():
            s.ge(*known.tight(*row))
        s.ineqs = {key: const for key, const in s.ineqs.items() if not known.implies(key, const)}
        found.setdefault((frozenset(s.eqs), frozenset(s.ineqs.items())), s)
    return sorted(found.values(), key=lambda s: _valued(s, col))


def by_sizes(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int]) -> list[System] | None:
    """Small sizes, and all others, if these leave no loop at all, or one in wider steps, here or inside; else None.

    Lanes that have values at small sizes alone cost a test at each value of the others at all other sizes, too. Where
    all do, sizes are few: those at which several have none are told from the others, whatever loop these have; wider
    steps are those that integers leave there and not elsewhere. Where sizes are known to be small already, none are
    few beside the others: those at which one of the lanes has none are told from them, too.
    """
    col = columns[k]
    each = [lane.around(k, col, known) for lane in lanes]
    small = [[row for row in s.ineqs.items() if seldom(known, *row) and not known.implies(*row)] for s in each]
    rows = dict.fromkeys(row for some in small for row in some)
    already = any(seldom(known, *row) for row in known.ineqs.items())
    for key, const in rows:
        left = [lane for lane, s in zip(lanes, each, strict=True) if not known.ensures([*s.every_ge()], key, const)]
        if not left or len(left) == len(lanes):
            continue
        few, others = System(), System()
        few.ge(key, const)
        others.ge(negated(key), -const - 1)
        one = already or all(_valued(lane.shadows[k], col) for lane in left)
        inner, than = [(j, c) for j, c in enumerate(columns) if j >= k and c], lanes
        if all(small):
            one = len(left) + 1 < len(lanes)
            there = known.given(others)
            left, than = [lane.restrict(others, k).flatter(k, columns, there) for lane in left], left
        if one or any(_wider(known, left, than, j, c) for j, c in inner):
            return [few, others]
    return None if already else _between_sizes(known, lanes, each, k, columns)


def _between_sizes(
    known: Known, lanes: Sequence[Lane], each: Sequence[System], k: int, columns: Sequence[int]
) -> list[System] | None:
    """Sizes from small ones to large ones, if some lanes have only the small ones, others only the large ones, and what
    is left between has wider steps; None where there are none.

    Of S[i] -> [i] for n <= 0 and for n >= 4 and T[i] -> [2*i] it is a loop of T from n = 1 to 3.
    """
    steps = [(j, c) for j, c in enumerate(columns) if j >= k and c]
    rows = [[(seldom(known, *row), row) for row in s.ineqs.items() if known.columns.of_sizes(row[0])] for s in each]
    some = list(dict.fromkeys(row for mine in rows for small, row in mine if small and not known.implies(*row)))
    large = dict.fromkeys(row for mine in rows for small, row in mine if not small)
    for low, high in product(some, large):
        if low[0] != negated(high[0]) or low[1] + high[1] >= -1:
            continue
        left = [
            lane
            for lane, s in zip(lanes, each, strict=True)
            if not any(known.ensures([*s.every_ge()], *row) for row in (low, high))
        ]
        if 0 < len(left) < len(lanes) and any(_wider(known, left, lanes, j, c) for j, c in steps):
            few, between, many = System(), System(), System()
            few.ge(*low)
            between.ge(negated(low[0]), -low[1] - 1)
            between.ge(negated(high[0]), -high[1] - 1)
            many.ge(*high)
            return [few, between, many]
    return None


def _wider(known: Known, some: Sequence[Lane], lanes: Sequence[Lane], k: int, col: int) -> bool:
    """Whether some of the lanes have wider steps in loop k than all of them."""
    grids = [grid(known, lane.shadows[k], col) for lane in (*some, *lanes)]
    return common_stride(known, grids[: len(some)])[0] > common_stride(known, grids)[0]


def _sized(known: Known, lanes: list[Lane], k: int, columns: Sequence[int]) -> list[list[Lane]]:
    """Lanes of one loop as those of two, at small sizes and at all others, where these are better off without."""
    sizes = by_sizes(known, lanes, k, columns)
    return [lanes] if sizes is None else _within(known, lanes, sizes, k, columns[k])


def _around_places(known: Known, group: Group, k: int, col: int, once: bool) -> list[System] | None:
    """Few values in a row, and what is before, between and after them, if loops there have a stride that they lack.

    None where no stride is lost, or there are more than a few such places; where loops around as many as eight are
    short, of what is not short as a whole.
    """
    grids = [grid(known, lane.shadows[k], col) for lane in group.lanes]
    if all(step < 2 for step, _ in grids):
        return None
    for most in SHORT:
        brief = [width(known, lane.shadows[k], col, most) for lane in group.lanes]
        steps = [g for g, short in zip(grids, brief, strict=True) if not short]
        step = common_stride(known, steps)[0] if steps else 1
        if step > 1:
            break
    else:
        return None
    apart = [short and common_stride(known, [*steps, g])[0] != step for g, short in zip(grids, brief, strict=True)]
    places = joined(known, _shadows(known, [*compress(group.lanes, apart)], k, col), col, once)
    if not 0 < len(places) <= PLACES:
        return None
    rest = [lane for lane, alone in zip(group.lanes, apart, strict=True) if not alone]
    here = disjoint(known, places) or places
    cells = disjoint(known, [*here, *joined(known, _shadows(known, rest, k, col), col, once)]) or here
    brief = all(width(known, s, col, SHORT[1]) for s in here)
    few = not brief and all(width(known, s, col, ONCE) for s in cells[len(here) :])
    return None if few else cells


def _of_one(known: Known, shadows: Sequence[System], col: int, once: bool, innermost: bool) -> list[System] | None:
    """A shadow that has all values of the others at the sizes at which it has any, and what they have at other sizes.

    For an innermost loop values of those outside count as sizes do, if there are but two pieces then. None where no
    shadow does, where one has values wherever the others have, and where the rest are more than a few.
    """
    best: tuple[System, list[System], int] | None = None
    for s in shadows if len(shadows) <= SOME else ():
        rest = [left for o in shadows if o is not s for left in difference(known, o, telling(known, o, s))]
        if not rest:
            return None
        if _valued(s, col) or (best is not None and len(rest) >= len(best[1])):
            continue
        for sizes, most in ((True, SOME), (False, 2 * innermost)):
            if most and all(known.excludes_exactly(_places(known, s, col, sizes).add(left)) for left in rest):
                best = s, rest, most
                break
    if best is None or len(best[1]) > 2 * SOME:
        return None
    cells = disjoint(known, [best[0], *joined(known, best[1], col, once)])
    return cells if cells is not None and len(cells) <= best[2] else None


def _alone(known: Known, shadows: Sequence[System], col: int, least: int, innermost: bool) -> list[System] | None:
    """The values around all but one of some shadows, and the many that this one has alone; None where none has.

    Where the others are on both sides of these, the values before them and behind. None of fewer than `least` others,
    whose tests are not worth a loop, unless these have loops inside, and several values between numbers.
    """
    for s in shadows if len(shadows) <= SOME else ():
        others = [o for o in shadows if o is not s]
        if len(others) < least and (innermost or not all(_span(o, col) for o in others)):
            continue
        around = others[0]
        for o in others[1:]:
            around = hull(known, around, o)
        rest = difference(known, s, telling(known, s, around))
        if 0 < len(rest) <= 2 and not all(width(known, left, col, ONCE) for left in rest):
            return [around, *rest]
        rest = [] if rest or innermost else [s]
        for o in others:
            rest = [part for left in rest for part in difference(known, left, telling(known, left, o))]
        rest = [left for left in rest if not width(known, left, col, ONCE)]
        if len(rest) == 1:
            return [*rest, *difference(known, System(), telling(known, System(), rest[0]))]
    return None


def _mixed(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], first: First | None) -> bool:
    """Whether one instance may be before one of many, or behind it, inside loop k: it has a test at each place.

    Of S[i] -> [i, 2] for 0 <= i < N and U[] -> [0, N mod 4] a loop would ask before S and behind it whether i is 0.
    """
    inside = Compared(known, k + 1, columns, first)
    loops = [(j, col) for j, col in enumerate(columns) if j >= k and col]
    few = [lane for lane in lanes if all(_valued(lane.shadows[j], col) for j, col in loops)]
    many = [lane for lane in lanes if not _valued(lane.shadows[k], columns[k])]
    return any(not (inside.precedes(a, b) or inside.precedes(b, a)) for a, b in product(few, many))


def _at_end(known: Known, shadows: Sequence[System], col: int, once: bool) -> list[System] | None:
    """The one value of a shadow at which all others end, or begin, some there and some beside it; and the others.

    A loop through all would ask of each statement whether it is there yet. None where there is no such value.
    """
    several = [s for s in shadows if not _valued(s, col)]
    for key, const in [row for s in shadows for row in s.eqs] if len(several) > 1 else ():
        v = coefficient(key, col)
        if abs(v) != 1:
            continue
        for sign in (1, -1):  # its value is the greatest, or the least
            towards = (key, const) if sign * v < 0 else (negated(key), -const)
            if all(known.ensures([*s.every_ge()], *towards) for s in shadows):
                beside = [known.ensures([*s.every_ge()], towards[0], towards[1] - 1) for s in several]
                if any(beside) and not all(beside):
                    there, others = System(), System()
                    there.eq(key, const)
                    others.ge(towards[0], towards[1] - 1)
                    dense = few_holes(known, [s.copy().add(others) for s in several], col, once)
                    return [there, others] if dense else None
    return None


def _places(known: Known, s: System, col: int, sizes: bool) -> System:
    """Where a system has values of a column: the rows of sizes alone, or of loops outside, too."""
    out, beyond = System(), s.without((col,), known.low, known.high)
    for key, const in beyond.every_ge():
        if not sizes or all(c < LOOP for c, _ in key):
            out.ge(key, const)
    return out


def _valued(s: System, col: int) -> bool:
    return any(coefficient(key, col) for key, _ in s.eqs)


def _span(s: System, col: int) -> int | None:
    """How far two numbers are apart between which a system has a column; None where it doesn't."""
    low, high = ends(s, col)
    return None if low is None or high is None else high - low


def dense(known: Known, lanes: Sequence[Lane], k: int, col: int) -> bool:
    """Whether a loop over lanes finds nothing but a few times in a row, as that of many counts, too."""
    shadows = _shadows(known, lanes, k, col)
    return not 1 < len(shadows) <= MANY or few_holes(known, shadows, col, False)
