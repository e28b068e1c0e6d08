"""Names that members are mapped to, such as `blockIdx.x`: how many values each has, and what that says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from operator import index
from typing import TYPE_CHECKING, cast

from polyvolta.sched.errors import BadArgument, NotScannable
from polyvolta.sched.loops.conditions import beyond
from polyvolta.sched.loops.instances import systems
from polyvolta.sched.loops.rows.bounds import Bounds, bounds
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System, without
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.tree import Band, Context, Extension, Filter, Guard, Node, Schedule
from polyvolta.sets import Aff, Set, UnknownName, aff, nearest, var
from polyvolta.sets.errors import kind_of
from polyvolta.sets.functions.cells import where
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import NOWHERE

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

    Raises
    ------
    NotScannable : no range from 0; or a name has no values at some parameters where instances run that no member mapped
        to it is above: they would run for each of them, that is never.
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
        if b is None:
            found[name], ranges[name] = aff(1), (0, 0)
            rows.ge(((col, 1),), 0)
            rows.ge(((col, -1),), 0)
            continue
        high = b.high if len(b.high) == 1 else [side for side in b.high if len(side[0]) == 1]
        if len(b.low) != 1 or len(high) != 1 or b.low[0][:2] != (((col, 1),), 0) or b.step != 1:
            raise NotScannable(
                f"{name} does not run from 0 to one bound in steps of 1",
                where=str(schedule),
                hint=_instead(name, b, len(b.low) == len(high) == 1 and b.low[0][2] == 1),
            )
        key, const, a = high[0]
        found[name] = simplify(columns.aff(without(key, col), const) // a + 1, ranges)
        for row in (*b.low, *high):
            rows.ge(*row[:2])
        last = found[name] - 1
        ranges[name] = (0, last.const if last.is_constant else None)
    for name, size in found.items():
        _check_some(schedule, columns, known, name, size)
    known = known.given(beyond(known, rows)) if found else known
    return found, known.given(further) if further.ineqs else known


def _instead(name: str, found: Bounds, one: bool) -> str:
    """What makes values run from 0 to one bound in steps of 1; `one` says whether they have one bound on each side."""
    if found.step != 1:
        return f"divide the values of {name} by {found.step}"
    if one:
        return f"shift the values of {name}, so that the first is 0"
    return f"say how many values it has, extents={{{name!r}: ...}}, or which bound counts, in a context"


def _check_some(schedule: Schedule, columns: Columns, known: Known, name: str, size: Aff) -> None:
    """Raise where a name has no value and instances run that no member mapped to it is above."""
    if known.implies(*columns.row(size - 1)):
        return
    none = _where(-size)
    for there in beside(schedule, name):
        if not all(known.excludes_exactly(s) for s in systems(columns, there & none, (), schedule)):
            raise NotScannable(
                f"where {size} is 0 or less {name} has no value, and instances run there under none of its members",
                where=str(schedule),
                hint=f"assume that it has one: scan(tree, context=Set({str(_where(size - 1))!r}))",
            )


def _where(e: Aff) -> Set:
    """The parameters at which an expression is 0 or more."""
    names = tuple(sorted(e.names()))
    found = where(names, [("ge", e)])
    return Set._of(names, [(NOWHERE, () if found is None else (found,))])


def beside(schedule: Schedule, name: str) -> Iterator[Set]:
    """The parameters at which instances come to leaves that no member mapped to a name is above, leaf by leaf."""
    stack = [(schedule.root, schedule.domain)]
    while stack:
        node, active = stack.pop()
        match node:
            case Band(members) if any(m.name == name for m in members):
                continue
            case Filter(statements, instances=instances):
                parts = [(space, cs) for space, cs in active.parts if space.out.name in statements]
                active = Set._of(active.param_names, parts)
                active = active if instances is None else active.intersect(instances)
            case Guard(s) | Context(s) if not s.space.n_out:
                active = active.intersect_params(s)
            case Extension(extension):
                active = active.union(extension.range())
        if not node.children:
            yield active.params()
        stack += [(child, active) for child in node.children]


def _distinct(known: Known, shadows: list[System], col: int) -> list[System]:
    """The different things that shadows say of a column; where several say the same, no more than that."""
    same: dict[tuple, list[System]] = {}
    for s in shadows:
        if not known.excludes(s):
            same.setdefault(s.rows_of(col), []).append(s)
    out = []
    for (ineqs, eqs, mods), found in same.items():
        out.append(found[0] if len(found) == 1 else System(ineqs, eqs, mods))
    return out


def given_extents(given: object) -> dict[str, int | Aff]:
    """The extents as integers, or as expressions."""
    hint = 'such as extents={"blockIdx.x": 16}, or aff("N") for the parameter N'
    if not isinstance(given, Mapping):
        raise BadArgument(f"extents are numbers by name, not {kind_of(given)}", where=repr(given), hint=hint)
    try:
        return {str(n): v if isinstance(v, Aff | bool) else index(v) for n, v in given.items()}
    except TypeError:
        raise BadArgument("an extent is an integer or an Aff", where=repr(dict(given)), hint=hint) from None


def check_extents(given: Mapping[str, int | Aff], params: Sequence[str]) -> None:
    """Numbers that count something, and expressions of the parameters."""
    for name, size in given.items():
        if isinstance(size, bool) or not isinstance(size, Aff) and size < 1:
            hint = "an extent is a positive integer, or an Aff"
            raise BadArgument(f"{name} has at least one value, not {size}", hint=hint)
        for n in sorted(size.names() - {*params}) if isinstance(size, Aff) else ():
            raise UnknownName(f"the extent of {name} speaks of {n}, no parameter", hint=nearest(n, params))
