"""Cases against what the order of a kernel with roles has to be: the smallest one, with sizes, role and place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import LANES
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.program import Event
from polyvolta.cuda.verify.order.roles import Party, Rows
from polyvolta.cuda.verify.report.records import CounterExample
from polyvolta.sets import Map, Set, Unbounded
from polyvolta.sets.values.space import Space, Tuple


@dataclass(frozen=True, slots=True)
class Case:
    """A case in which something is wrong, with its places."""

    case: CounterExample
    at: IrPath
    other: IrPath | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A pair of a relation: values of the parameters, and of what it begins and ends with."""

    params: Mapping[str, int]
    one: tuple[int, ...]
    other: tuple[int, ...] = ()


def smallest(bad: Map | Set) -> Point | None:
    """The smallest pair of a relation, or point of a set, rather of no parameter 0; None: it is empty."""
    for part in (_positive(bad), bad):
        for space, pieces in part.parts:
            dims = tuple(f"x{n}" for n in range(len(space.dims)))
            points = Set._of((), [(Space(None, Tuple(None, (*part.param_names, *dims))), pieces)])
            if points.is_empty():
                continue
            try:
                points = points.lexmin()
            except Unbounded:
                pass
            values = points.sample_point()
            count = len(part.param_names)
            first = count + len(space.inp.dims) if space.inp is not None else len(values)
            params = dict(zip(part.param_names, values))
            return Point(params, tuple(values[count:first]), tuple(values[first:]))
    return None


def _positive(bad: Map | Set) -> Map | Set:
    for n in bad.param_names:
        bad = bad.intersect_params(Set(f"[{n}] -> {{ : {n} >= 1 }}"))
    return bad


def case(
    rows: Rows, point: Point, what: str, event: Event, party: Party | None, values: tuple[int, ...], address: str = "",
    other: IrPath | None = None, path: IrPath | None = None,
) -> Case:  # fmt: skip
    """A case at an instance of an event, by a thread of a party.

    Raises
    ------
    Undecided : it may be that the event doesn't happen there.
    """
    if event.name in rows.loose:
        unknown = Undecided(f"{what}: so it seems, but it may be that this doesn't happen for these sizes")
        unknown.path = event.path
        raise unknown
    sizes = rows.sizes(point.params)
    block = rows.block(sizes, event.tile) or tuple(point.params.get(f"blockIdx.{axis}", 0) for axis in "xyz")
    warp, lane = (None, None) if party is None else party.first
    iteration = {**rows.turn(event.tile), **dict(zip(event.dims, values))}
    found = CounterExample(what, sizes, block, warp, lane, iteration, address)  # type: ignore[arg-type]
    return Case(found, event.path if path is None else path, other)


def who(party: Party, thread: int | None = None) -> str:
    """A party in words: its role, and the thread, or one that stands for it."""
    warp, lane = party.first if thread is None else divmod(thread, LANES)
    warp = warp % party.warps if party.warps else warp
    return f"{party.role or 'the block'}'s warp {warp}, lane {lane}"
