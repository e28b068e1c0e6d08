"""Names that members are mapped to, such as `blockIdx.x`: how many values each has, and what that says of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import TYPE_CHECKING, cast

from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.conditions import beyond
from polyvolta.sched.loops.rows.bounds import bounds
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System, without
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.tree import Band, Extension, Node, Schedule
from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.values.simplify import simplify

if TYPE_CHECKING:
    from polyvolta.sched.loops.writer import Ranges


def mapped_names(node: Node) -> list[str]:
    """The names that members below a node are mapped to."""
    found: dict[str, None] = {}
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, Band):
            found.update({m.name: None for m in here.members if m.name})
        stack += here.children
    return list(found)


def values_of_names(schedule: Schedule, columns: Columns, known: Known) -> dict[str, list[System]]:
    """For each name the values that the members mapped to it have, a system for every piece of every statement."""
    found: dict[str, list[System]] = {}

    def instances(s: Set) -> dict[str, list[Piece]]:
        out: dict[str, list[Piece]] = {}
        params = [(((columns.ids[p], 1),), 0, 1) for p in s.param_names]
        for space, pieces in s.parts:
            name = space.out.name or ""
            out.setdefault(name, []).extend(Piece.of(columns, name, space.dims, params, c) for c in pieces)
        return out

    stack = [(schedule.root, instances(schedule.domain))]
    while stack:
        here, active = stack.pop()
        if isinstance(here, Extension):
            active = {**active, **instances(here.extension.range())}
        if isinstance(here, Band):
            for m in here.members:
                if m.name is None:
                    continue
                for s, e in m.exprs:
                    for piece in active.get(s, ()):
                        pinned = piece.copy()
                        pinned.equate(columns.name(m.name), cast("Aff", e))
                        shadow = pinned.system.without(pinned.locals(), known.low, known.high)
                        if not shadow.empty:
                            found.setdefault(m.name, []).append(shadow)
        stack += [(child, active) for child in here.children]
    return found


def extents(
    schedule: Schedule, columns: Columns, known: Known, given: Mapping[str, int | Aff], ranges: Ranges
) -> tuple[dict[str, Aff], Known]:
    """The number of values of each name, which start at 0, and what is known with that; `ranges` get theirs.

    A name without values, where no instance comes, has the one value 0: the rest of the tree runs there. Of several
    bounds a number counts; conditions inside see to the others.
    """
    found: dict[str, Aff] = {}
    rows, further = System(), System()
    values = values_of_names(schedule, columns, known)
    for name in mapped_names(schedule.root):
        col = columns.ids[name]
        shadows = values.get(name, [])
        end = given.get(name)
        if isinstance(end, Aff):
            found[name] = simplify(end, ranges)
            rows.ge(((col, 1),), 0)
            rows.ge(*columns.row(end - 1 - var(name)))
            whole = gcd(end.const, *(c for _, c in end.terms))
            if whole > 1:  # which follows in integers alone
                further.ge(*columns.row(end // whole - 1 - var(name) // whole))
            ranges[name] = (0, end.const - 1 if end.is_constant else None)
            continue
        if end is not None:
            shadows = [System()]
            shadows[0].ge(((col, 1),), 0)
            shadows[0].ge(((col, -1),), end - 1)
        b = bounds(known, _distinct(known, shadows, col), col)
        text = f"the values of {name}"
        if b is None:
            found[name], ranges[name] = aff(1), (0, 0)
            rows.ge(((col, 1),), 0)
            rows.ge(((col, -1),), 0)
            continue
        high = b.high if len(b.high) == 1 else [side for side in b.high if len(side[0]) == 1]
        if len(b.low) != 1 or len(high) != 1 or b.low[0][:2] != (((col, 1),), 0) or b.step != 1:
            raise NotScannable(
                f"{name} does not run from 0 to one bound in steps of 1", where=str(schedule), hint=f"shift {text}"
            )
        key, const, a = high[0]
        found[name] = simplify(columns.aff(without(key, col), const) // a + 1, ranges)
        for row in (*b.low, *high):
            rows.ge(*row[:2])
        last = found[name] - 1
        ranges[name] = (0, last.const if last.is_constant else None)
    known = known.given(beyond(known, rows)) if found else known
    return found, known.given(further) if further.ineqs else known


def _distinct(known: Known, shadows: list[System], col: int) -> list[System]:
    """The different things that shadows say of a column; where several say the same, no more than that."""
    same: dict[tuple, list[System]] = {}
    for s in shadows:
        if not known.excludes(s):
            same.setdefault(s.rows_of(col), []).append(s)
    out = []
    for (ineqs, eqs, mods), found in same.items():
        one = found[0]
        if len(found) > 1:
            one = System()
            one.ineqs, one.eqs, one.mods = dict(ineqs), list(eqs), list(mods)
        out.append(one)
    return out
