"""Cases of what is outside, by which a loop is shorter.

    S[i] -> [2i] for odd N, T[i] -> [3i]           if (N % 2 == 1) a loop of step 1 with tests; else one of step 3
    S[i] -> [i] for odd N, T[] -> [5]              if (N % 2 == 1) a loop of both; else T
    S[i] -> [i/4, 3i mod 4], T[] -> [N/4, N mod 4]     if (c0 == N/4) a loop of step 1; before and after it of step 3
    S[i] -> [i, i mod 2], T[j] -> [0, j], in bands     if (c0 == 0) a loop of both; else S
    S[i] -> [0, 0, i], T[i, j, k] -> [i, j, k]     if (c0 == 0 && c1 == 0) an innermost loop of both; else one of T
    S[k] -> [i, k] for k < i = 5, T[k] -> [i, k]   if (c0 == 5) a loop of both; else one of T, as innermost ones
    S[i] -> [8i], T[i] -> [i] for n < 3            where n is 3 or more a loop of S in steps of 8; else one of both
    S[i] -> [i mod 4] at the tile 5, T[i] -> [i mod 4]     if (c0 == 5) a loop of both, written out; else one of T: no
    unrolled inside, of all tiles c0                       test of c0 at each iteration
    S[i] -> [i/2, i mod 2], T[i] likewise for n < 3    where n is 3 or more a loop of S; else one of both
    S[i] -> [i/4, i/2, i] for m <= i < 4,          in the atomic loop of i/4: if (c0 == 0) loops of both; else those
    T[i] likewise for 0 <= i < n                   of S where c0 is less, of T where it is more
    S[] -> [2], T[i] -> [i] for m < 1 and i < 9,   where m < 1 an atomic loop of both; else S, without a loop
    where the member is atomic

A loop is as long and as fine as all that share it need, at each place outside. Where a remainder keeps some of them
out, or all values but one of a loop outside do, the others may have a stride that these lack, or one value, which needs
no loop. An innermost loop would ask at each iteration what is so at all of them or at none, and what is written out
inside has a test for each of its iterations, which the places outside decide at which a statement has none, or all. The
cases are disjoint, and together they are everything, so that what runs and in which order is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import inf

from polyvolta.sched.loops.conditions import beyond, implied, length
from polyvolta.sched.loops.hoisting.needs import seldom
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.groups import cells
from polyvolta.sched.loops.rows.known import Known, difference, sides
from polyvolta.sched.loops.rows.lanes import Group, Lane
from polyvolta.sched.loops.rows.lengths import constant_span
from polyvolta.sched.loops.rows.linear import LOOP, Key, System, coefficient, negated
from polyvolta.sched.loops.rows.strides import common_stride, grid
from polyvolta.sched.loops.spans.holes import ONCE, long
from polyvolta.sched.loops.spans.shadows import valued
from polyvolta.sched.loops.spans.telling import width

CASES = 6  # cases beyond which there is one loop
TESTS = 3  # the same, of what a loop would ask at each of its iterations
FEW = 4  # iterations up to which it asks
TOLD = 9  # the same, of what is written out inside


def by_strides(
    known: Known, group: Group, k: int, columns: Sequence[int], outer: Callable[[Key], bool]
) -> list[System]:
    """A remainder of what is outside at which some lanes run, and all others, if other lanes have a stride that these
    lack, or one value; or a value of a loop outside, if they have such a stride, or one value in this loop and inside.

    Empty where none have, or where what they have a stride in is short, and its values would not be tested at each of
    those of a loop outside. Of the others those that run at small sizes alone, which are a case, too, don't count.

    Parameters
    ----------
    outer : whether a row speaks of nothing but what is outside of loop k.
    """
    col = columns[k]
    grids = [grid(known, lane.shadows[k], col) for lane in group.lanes]
    if _one(grids):
        return []
    step = common_stride(known, grids)[0]
    each = [[*s.mods, *[(*row, 0) for row in s.eqs]] for s in (lane.shadows[k] for lane in group.lanes)]
    small = [any(seldom(known, *row) for row in lane.around(k, col, known).ineqs.items()) for lane in group.lanes]
    for key, const, d in dict.fromkeys(row for rows in each for row in rows):
        if not outer(key) or (known.implies_mod(key, const, d) if d else known.implies_zero(key, const)):
            continue
        rest = [at for at, rows in enumerate(each) if (key, const, d) not in rows]
        if not rest:
            continue
        usual = [at for at in rest if not small[at]] or rest
        some = [grids[at] for at in usual]
        wider = common_stride(known, some)[0] > step
        if wider and (d or known.columns.of_sizes(key)):
            wider = long(known, [group.lanes[at].shadows[k] for at in usual], col)
        if wider or (_one(some) and (d or _settled(known, [group.lanes[at] for at in usual], k, columns, key))):
            there = System(mods=[(key, const, d)]) if d else System(eqs=[(key, const)])
            beside, others = known.given(there), [lane for at, lane in enumerate(group.lanes) if at not in rest]
            if all(beside.surely_excludes(lane.shadows[k]) for lane in others):  # both cases were the same
                continue
            if d:
                return [there, *_elsewhere(known, key, const, d)]
            return [there, *difference(known, System(), list(known.columns.without_mods(there).every_ge()))]
    return []


def _one(grids: Sequence[tuple[int, Row]]) -> bool:
    """Whether all of some strides are one value, the same."""
    return all(step == 0 and residue == grids[0][1] for step, residue in grids)


def _settled(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], key: Key) -> bool:
    """Whether a row speaks of loops, and lanes have one value in each loop from number k on."""
    loops = [(j, col) for j, col in enumerate(columns) if j >= k and col]
    valued = all(grid(known, lane.shadows[j], col)[0] == 0 for lane in lanes for j, col in loops)
    return valued and not known.columns.of_sizes(key)


def by_sizes(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int]) -> list[System] | None:
    """Small sizes, and all others, if these leave no loop at all, or one in wider steps, here or inside; else None.

    Lanes that have values at small sizes alone cost a test at each value of the others at all other sizes, too. Where
    all do, sizes are few: those at which several have none are told from the others, whatever loop these have; wider
    steps are those that integers leave there and not elsewhere. Where sizes are known to be small already, none are
    few beside the others: those at which one of the lanes has none are told from them, too. Where all lanes have one
    value each in a loop inside, as the order of statements, that is none, and has no steps.
    """
    col = columns[k]
    each = [lane.around(k, col, known) for lane in lanes]
    small = _of_small_sizes(known, each)
    already = any(seldom(known, *row) for row in known.ineqs.items())
    for row, left in _of_some(known, lanes, each, (row for some in small for row in some)):
        few, others = sides(*row)
        one = already or all(valued(lane.shadows[k], col) for lane in left)
        inner, than = [(j, c) for j, c in enumerate(columns) if j >= k and c], lanes
        if all(small):
            one = len(left) + 1 < len(lanes)
            there = known.given(others)
            left, than = [lane.restrict(others, k).flatter(k, columns, there) for lane in left], left
        inner = [(j, c) for j, c in inner if j == k or not all(valued(lane.shadows[j], c) for lane in lanes)]
        if one or any(_wider(known, left, than, j, c) for j, c in inner):
            return [few, others]
    if already or all(small):
        return _without_loops(known, lanes, each, k, columns)
    return _between_sizes(known, lanes, each, k, columns)


def by_many(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int]) -> list[System] | None:
    """Small sizes, which some lanes need, and all others, at which what is left has many values and loops inside; or
    None.

    Of S[i] -> [floor(i/2), i mod 2] for 0 <= i <= n and U[i] with these values for n - 1 <= i <= 1 each iteration of
    the loop inside asks for U, however large n is. It is one test more at each size.
    """
    col, inner = columns[k], [(j, c) for j, c in enumerate(columns) if j > k and c]
    each = [lane.around(k, col, known) for lane in lanes]
    rows = (row for some in _of_small_sizes(known, each) for row in some)
    for row, left in _of_some(known, lanes, each, rows):
        few, others = sides(*row)
        there = known.given(others)
        if not all(valued(lane.shadows[j], c) for lane in left for j, c in inner):
            if long(there, [lane.shadows[k] for lane in left], col):
                return [few, others]
    return None


def _of_small_sizes(known: Known, each: Sequence[System]) -> list[list[Row]]:
    """The rows of each of some systems that hold at small sizes alone, and are not known."""
    return [[row for row in s.ineqs.items() if seldom(known, *row) and not known.implies(*row)] for s in each]


def _of_some(
    known: Known, lanes: Sequence[Lane], each: Sequence[System], rows: Iterable[Row]
) -> Iterator[tuple[Row, list[Lane]]]:
    """Rows that some lanes need, each once, and the lanes that don't; not those that all need, or none."""
    for row in dict.fromkeys(rows):
        left = [lane for lane, s in zip(lanes, each, strict=True) if not known.ensures([*s.every_ge()], *row)]
        if 0 < len(left) < len(lanes):
            yield row, left


def _without_loops(
    known: Known, lanes: Sequence[Lane], each: Sequence[System], k: int, columns: Sequence[int]
) -> list[System] | None:
    """Of sizes that are few anyway those at which what is left has one value in each loop, and all others; else None.

    Of S[] -> [0] and U[i, j] -> [floor(i/4), j] for 0 <= j < i < n, behind a loop of T[i] -> [i] for i < n - 4 that
    leaves n <= 5, it is S alone where n is 1 or less: no loop over c0 = 0 finds there that U has none.
    """
    loops = [(j, c) for j, c in enumerate(columns) if j >= k and c]
    for key, const in dict.fromkeys(row for s in each for row in s.ineqs.items()):
        if not known.columns.of_sizes(key) or known.implies(key, const):
            continue
        left = [lane for lane, s in zip(lanes, each, strict=True) if not known.ensures([*s.every_ge()], key, const)]
        if len(left) in (0, len(lanes)) or not all(valued(lane.shadows[j], c) for lane in left for j, c in loops):
            continue
        if all(known.greatest([*s.every_ge()], key) != inf for s in each):
            return [*sides(key, const)]
    return None


def _between_sizes(
    known: Known, lanes: Sequence[Lane], each: Sequence[System], k: int, columns: Sequence[int]
) -> list[System] | None:
    """Sizes from small ones to large ones, if some lanes have only the small ones, others only the large ones, and what
    is left between has wider steps, or one value; None where there are none.

    Of S[i] -> [i] for n <= 0 and for n >= 4 and T[i] -> [2*i] it is a loop of T from n = 1 to 3. One loop of all would
    ask at each value whose sizes these are; the cases are asked once, and what is left is written in each.
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
        one = _one([grid(known, lane.shadows[k], columns[k]) for lane in left])
        if 0 < len(left) < len(lanes) and (one or any(_wider(known, left, lanes, j, c) for j, c in steps)):
            (few, more), (many, less) = sides(*low), sides(*high)
            return [few, more.add(less), many]
    return None


def by_widths(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int]) -> list[System]:
    """Small sizes, at which some lanes have no instances and the others wider steps in loop k, or one value in each
    loop inside, if it is as long as another size is, and all other sizes; empty where there are none.

    Of S[i, j] -> [i, j] for 0 <= j < m and T[i, j] -> [i + 1, j + 1] for 1 <= j < m and m = 1 it is a loop of S[i, 0]:
    one of both would ask at each i whether T is there, and look for it in a loop inside. Of S[i] -> [3*i] and
    T[i, j] -> [i] for 0 <= j < m it is one of S in steps of 3 for m <= 0. The others have one test more.
    """
    each = [lane.around(k, columns[k], known) for lane in lanes]
    for key, const in dict.fromkeys(row for s in each for row in s.ineqs.items() if known.columns.of_sizes(row[0])):
        opposite = negated(key), -const - 1
        if not seldom(known, *opposite) or known.implies(key, const):
            continue
        others, few = sides(key, const)
        there = known.given(few)
        left = [lane for lane in lanes if not there.surely_excludes(lane.shadows[k])]
        some = [lane.shadows[k] for lane in left]
        if 0 < len(left) < len(lanes) and long(there, some, columns[k]):
            endless = constant_span(there, some, columns[k], 1) is None  # not between numbers
            if _one_inside(there, left, k, columns) or (endless and _wider(there, left, lanes, k, columns[k])):
                return [few, others]
    return []


def _one_inside(known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int]) -> bool:
    """Whether lanes have one number in each loop inside of loop k, some of them by what is known alone."""
    found = False
    for j, c in enumerate(columns):
        some = [lane.shadows[j] for lane in lanes]
        if j > k and c and not all(valued(s, c) for s in some):
            span = constant_span(known, some, c, 1)
            if span is None or span[1]:
                return False
            known, found = known.given(System(eqs=[(((c, 1),), span[0][1])])), True
    return found


def _wider(known: Known, some: Sequence[Lane], lanes: Sequence[Lane], k: int, col: int) -> bool:
    """Whether some of the lanes have wider steps in loop k than all of them."""
    grids = [grid(known, lane.shadows[k], col) for lane in (*some, *lanes)]
    return common_stride(known, grids[: len(some)])[0] > common_stride(known, grids)[0]


def by_presence(known: Known, group: Group, k: int, col: int, inside: bool) -> list[System]:
    """Cases of loops outside by which of the lanes have values in loop k; empty where all do, or cases are many.

    At a tile that a size gives they are as many, and it stays a test in them: c0 = 5 is a case, c0 = N is none. An
    atomic loop outside is not cut where others would be, and loops inside ask at each value what decides there.

    Parameters
    ----------
    inside : whether it is for what is inside of an atomic loop: loops that are written more than a few times are text.
    """
    return _apart(known, [lane.around(k, col, known).every_ge() for lane in group.lanes], TESTS if inside else TOLD)


def by_tests(known: Known, group: Group, k: int, col: int, outer: Callable[[Key], bool]) -> list[System]:
    """A few cases of what is outside, if a loop with several iterations would ask at each which it is; else none.

    Up to three of rows of loops, else of remainders. Where what one needs are two rows, as c1 = 0 and c4 = 0 of those
    from 0 on, the others are two, with the same code.
    """
    shadows = group.classes(k, col)
    b = bounds(known, shadows, col)
    if b is None or all(width(known, loop, col, FEW) for loop in b.cases()):
        return []
    inside = b.within(known, col)
    asked = [beyond(inside, lane.shadows[k]).every_ge() for lane in group.lanes]
    found = _apart(known, [[row for row in rows if not coefficient(row[0], col)] for rows in asked], TESTS)
    return found or _by_remainders(known, group.lanes, k, outer)


def _by_remainders(known: Known, lanes: Sequence[Lane], k: int, outer: Callable[[Key], bool]) -> list[System]:
    """Cases of remainders of what is outside of loop k that some lanes need and others don't; none if they are many.

    Of S[i, j] -> [4*i + 2, 4*j] and T[i, j] -> [2*i, 4*j + 2] no loop of T asks at each j whether c0 % 4 is 2. The
    cases are disjoint and everything, so instances are the same, and a test stands before the loop in the place of one
    in each iteration. Small divisors are first, as they leave few remainders of the others.
    """
    each = [[row for row in lane.shadows[k].mods if outer(row[0]) and not known.implies_mod(*row)] for lane in lanes]
    asked = [
        row for row in dict.fromkeys(row for rows in each for row in rows) if any(row not in rows for rows in each)
    ]
    cases = [System()] if len(asked) <= CASES else []
    for key, const, d in sorted(asked, key=lambda row: row[2]):
        found = []
        for case in cases:
            there = System(mods=[(key, const, d)])
            for part in (there, *_elsewhere(known.given(case), key, const, d)):
                part.add(case)
                found += [] if known.surely_excludes(part) else [part]
        cases = found if len(found) <= CASES else []
    return [beyond(known, case) for case in cases] if len(cases) > 1 else []


def _elsewhere(known: Known, key: Key, const: int, d: int) -> list[System]:
    """Where a row is no multiple of a number: the other one of two remainders, or disjoint systems of the others."""
    if d % 2 == 0 and known.implies_mod(key, const, d // 2):
        return [System(mods=[(key, const + d // 2, d)])]
    there = System(mods=[(key, const, d)])
    return difference(known, System(), list(known.columns.without_mods(there).every_ge()))


def _apart(known: Known, each: Iterable[Iterable[Row]], most: int) -> list[System]:
    """Cases by which rows without sizes (floors of sizes count) hold; empty if they are one, or above `most`."""
    found: dict[tuple, System] = {}
    for some in each:
        rows = System()
        for row in some:
            apart = not any(c < LOOP or _of_both(known, c) for c, _ in row[0])
            if apart and not known.implies(*known.tight(*row)):
                rows.ge(*known.tight(*row))
        found.setdefault(tuple(sorted(rows.ineqs.items())), rows)
    cases = cells(known, [System(), *found.values()], most) if len(found) > 1 else None
    cases = [case for case in cases or () if not known.surely_excludes(case)]
    return [beyond(known, case) for case in cases] if len(cases) > 1 else []


def _of_both(known: Known, col: int) -> bool:
    """Whether a column is a floor of sizes and loops together."""
    _, key, _ = known.columns.floors.get(col, (1, (), 0))
    sizes = [known.columns.of_sizes((term,)) for term in key]
    return any(sizes) and not all(sizes)


def by_values(known: Known, group: Group, k: int, columns: Sequence[int]) -> list[System]:
    """Cases of what is outside by which lanes of one value each have it, if these lie between numbers far apart; empty
    where all always have it, or cases are many.

    Of S[] -> [3] and T[] -> [n] for 0 <= n <= 1000 a loop of both that runs where there is no n has 1001 values, and
    from 3 to n, or n to 3, where there is. What is in the loop is written in each case.
    """
    col, shadows = columns[k], [lane.shadows[k] for lane in group.lanes]
    if group.cell is not None or not all(valued(s, col) for s in shadows):
        return []
    span = constant_span(known, shadows, col, 1)
    if span is None or span[1] <= ONCE:
        return []
    each = [beyond(known, lane.around(k, col, known)) for lane in group.lanes]
    found = cells(known, [System(), *each], TESTS) or []
    found = [case for case in found if not known.surely_excludes(case)]
    return [beyond(known, case) for case in found] if len(found) > 1 else []


def by_calls(
    known: Known, group: Group, k: int, columns: Sequence[int]
) -> tuple[System, list[System], list[Lane]] | None:
    """What is outside where lanes of several values may have any, disjoint cases elsewhere, and the lanes that may run
    there, all at one place; None where others have no one place, or it takes more than a few tests to tell.

    Of S[] -> [2] and T[i] -> [i] for 0 <= i <= 8 and m <= 0 no loop runs to find S where m is 1 or more, and none of
    its iterations asks for m. An atomic loop stays the only one, and all that share it do so there: elsewhere no lane
    that needs it has values, and the others have a call each. Cost: a few tests in the place of one in each iteration.
    """
    loops = [(j, col) for j, col in enumerate(columns) if j >= k and col]
    alone = [lane for lane in group.lanes if all(valued(lane.shadows[j], col) for j, col in loops)]
    several = [lane for lane in group.lanes if lane not in alone]
    if not alone or not several or not all(_one([grid(known, one.shadows[j], c) for one in alone]) for j, c in loops):
        return None
    each = [beyond(known, lane.around(k, columns[k], known)) for lane in several]
    there = each[0] if len(each) == 1 else implied(known, each)
    if there.everywhere or length(there) > TESTS:
        return None
    elsewhere = difference(known, System(), list(known.columns.without_mods(there).every_ge()))
    found: list[System] = []
    for case in elsewhere:
        beside = known.given(case)
        if not all(beside.surely_excludes(lane.piece.system) for lane in alone):
            found.append(beyond(known, case))
    return (there, found, alone) if found else None
