"""Instances at single places in a line as one part: an atomic loop has one of it, and no loop inside asks who is who.

    S at [0, 5], [3, 1], [6, -3]       c0 = 0, 3, 6 and c1 = 5 - 4*c0/3
    S at [k, 5], [k + 1, 1]            c0 = k, k + 1 and c1 = 4*k - 4*c0 + 5

As parts each would be tested at every value of c0, and again at every value of c1 inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from polyvolta.sched.loops.conditions import beyond
from polyvolta.sched.loops.rows.columns import Value, total
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System, coefficient, negated, plus, without

Place = tuple[list[Value], list[Value], Lane]  # values of the loops that are left, and of the iterators


def in_line(
    known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int], outer: Callable[[Key], bool]
) -> Lane | None:
    """Lanes of single instances of one statement as one, if these are in a line, at equal steps; None elsewhere.

    Each has one value in loop k and all inside, and its iterators, in what is outside; from one to the next they
    differ by the same numbers, and all say the same of what is outside. So they are the values of loop k from the
    first to the last at these steps, and everything else is a row of it: there are the same instances, at the same
    values. No loop inside has several values then. Cost: what each says beyond what is known, where all are such.

    Of several statements in a loop each stays as it is: they are told from one another at single values.
    """
    if len({lane.piece.statement for lane in lanes}) > 1:
        return None
    if len(lanes) < 2 or any(lane.left != lanes[0].left or lane.shift for lane in lanes):
        return None
    places = [_place(lane, k, columns, outer) for lane in lanes]
    found = [place for place in places if place is not None]
    if len(found) < len(places) or any(place[0][0][0] != found[0][0][0][0] for place in found):
        return None
    found.sort(key=lambda place: place[0][0][1])
    (first, *others), step = found, _step(found[0], found[1])
    if step is None or step[0] < 1 or any(_step(a, b) != step for a, b in pairwise(found)):
        return None
    said = [beyond(known, place[2].piece.system) for place in found]
    if any(s.empty or _rows(s) != _rows(said[0]) for s in said):
        return None
    loops, iterators, lane = first
    (key, const, _), col = loops[0], columns[k]
    since, by = (plus(1, ((col, 1),), -1, key), -const), step[0]  # how far the loop is from its first value
    piece = lane.piece.copy()
    rows = System([since, (negated(since[0]), by * len(others) - since[1])], mods=[(*since, by)])
    left = [c for c in columns[k + 1 :] if c]
    for c, value, d in zip(left, loops[1:], step[1:], strict=False):
        rows.eq(*_at(plus(1, value[0], -1, ((c, 1),)), value[1], by, d, since))
    for d, (name, value) in zip(step[len(loops) :], zip(piece.images, iterators, strict=True), strict=True):
        piece.images[name] = total([(1, (*_at(value[0], value[1], by, d, since), value[2] * by))])
    piece.floors.clear()
    piece.restrict(rows)
    if piece.system.empty:
        return None
    new = lanes[0].copy()
    new.piece, new.asked = piece, False
    new.project(columns, known, k)
    return new


def _place(lane: Lane, k: int, columns: Sequence[int], outer: Callable[[Key], bool]) -> Place | None:
    """The values of loops from number k on and of iterators, and what is said outside; None where one has several."""
    loops: list[Value] = []
    for j, col in enumerate(columns):
        if j < k or not col:
            continue
        row = next(((key, const) for key, const in lane.shadows[j].eqs if abs(coefficient(key, col)) == 1), None)
        if row is None or not outer(without(row[0], col)):
            return None
        sign = -coefficient(row[0], col)
        loops.append((plus(sign, without(row[0], col), 0, ()), sign * row[1], 1))
        lane = lane.fix(j, col, *loops[-1])
    piece = lane.piece
    if piece.system.empty or any(c >= LOCAL for c in piece.system.columns()):
        return None
    return (loops, [*piece.images.values()], lane) if all(outer(key) for key, _, _ in piece.images.values()) else None


def _step(a: Place, b: Place) -> list[int] | None:
    """The numbers by which values at one place differ from those at another; None where they differ by more."""
    found: list[int] = []
    for (key, const, den), (other, shift, e) in zip([*a[0], *a[1]], [*b[0], *b[1]], strict=True):
        if key != other or den != e:
            return None
        found.append(shift - const)
    return found


def _at(key: Key, const: int, by: int, step: int, since: tuple[Key, int]) -> tuple[Key, int]:
    """A row that is `key . x + const` at the first place, and more by a step at each next one, times `by`."""
    return plus(by, key, step, since[0]), by * const + step * since[1]


def _rows(s: System) -> tuple:
    """What a system says, to be compared."""
    return sorted(s.eqs), sorted(s.ineqs.items()), sorted(s.mods)
