"""Which memory every thread of a batch reaches: computed once, for those who move the data and those who watch.

An operation says what it touches (`ir.accesses`); its places are these expressions at the names' present values.
`reaches` evaluates and checks them: of an access to a tensor the first value and the step between values, of one to
shared memory a number of units for each instruction, a unit being as many bytes as a lane moves at once. The effects
(`operations`) gather and scatter there. `instructions` says the same as warp-wide memory instructions, lane by lane in
bytes, as the CUDA text makes them; observers, stepping and pictures read those.

What does not change from one time to the next, ownership maps and layouts as tables, is made once for each operation: a
`Route` for each access.

A check that fails is an error, unless somebody takes note of it (`Machine.faults`): then the threads in question take
no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.memories import CHUNK_BYTES, LANES, SharedTile
from polyvolta.cuda.machine.errors import NotAChunk, NotHere, OutOfBounds
from polyvolta.cuda.machine.machine import Machine, title
from polyvolta.cuda.machine.reach import (
    GlobalReach,
    Index,
    Mask,
    Reach,
    Reaches,
    SharedReach,
    WarpAccess,
    settled,
)
from polyvolta.cuda.machine.tables import added as added
from polyvolta.cuda.machine.tables import apply as apply
from polyvolta.cuda.machine.tables import chunks_of as chunks_of
from polyvolta.cuda.machine.tables import further as further
from polyvolta.cuda.machine.tables import owned as owned

MOVED = {"read": "loads", "write": "stores"}


# ---- warp-wide memory instructions


def warp_accesses(m: Machine, op: Operation, mask: Mask, array: str = "") -> Iterator[WarpAccess]:
    """The memory instructions of an operation, in order, at the names' present values; nothing is moved.

    Parameters
    ----------
    m : the machine, whose names have the values that they have at the operation.
    op : any operation; one that touches registers alone has none.
    mask : which threads take part, as in `Step`.
    array : those to this tile or tensor alone; by default all.
    """
    return instructions(m, reaches(m, op, mask, array))


def instructions(m: Machine, found: Reaches) -> Iterator[WarpAccess]:
    """The memory instructions of an operation whose reach is known, such as from `Step.reach`; engines make none."""
    for at in found:
        a = at.access
        if isinstance(at, SharedReach):
            for unit in at.units:
                yield WarpAccess(a.space, a.kind, a.array, np.broadcast_to(unit * at.width, m.shape), at.width, at.mask)
        elif isinstance(at, GlobalReach):
            yield from _global_instructions(a, at)


def _global_instructions(a: Access, at: GlobalReach) -> Iterator[WarpAccess]:
    """Whole runs in accesses as wide as can be; what a tensor's edge cuts, and values across lines, one by one.

    One value for all is loaded once. An asynchronous copy takes the beginning of a piece that is cut, and is made for
    each piece of which anything is inside.
    """
    if a.when == "completion":
        yield from _pieces(a, at)
        return
    count = 1 if at.step == 0 else a.values // at.width
    inside = at.inside
    whole: Any = inside if inside is None else inside[..., 0] if at.step == 0 else inside.all(-1)
    if at.width == 1 and at.step != 0:
        whole = None if inside is None else np.zeros(at.first.shape, bool)
    if whole is None or whole.any():
        active = None if whole is None or whole.all() else whole
        for part in range(count):
            yield WarpAccess(a.space, a.kind, a.array, at.address(part * at.width), a.item * at.width, active)
    if whole is None or at.step == 0 or whole.all():
        return
    assert inside is not None
    for v in range(a.values):
        single = inside[..., v] & ~whole
        if single.any():
            yield WarpAccess(a.space, a.kind, a.array, at.address(v), a.item, single)


def _pieces(a: Access, at: GlobalReach) -> Iterator[WarpAccess]:
    """The pieces of an asynchronous copy, by the lanes for which any of their values is inside."""
    for part in range(a.values // at.width):
        run = slice(part * at.width, (part + 1) * at.width)
        active = None if at.inside is None else np.asarray(at.inside[..., run].any(-1))
        if active is None or active.any():
            yield WarpAccess(a.space, a.kind, a.array, at.address(part * at.width), a.item * at.width, active)


# ---- reach


class Route(Protocol):
    """An access of an operation to a tensor or a tile, with all that stays the same from one time to the next."""

    def reach(self, m: Machine, mask: Mask) -> Reach:
        """Where it goes at the names' present values, checked."""
        ...


def reaches(m: Machine, op: Operation, mask: Mask, array: str = "") -> Reaches:
    """Where an operation goes in memory, checked: a reach for each of its accesses that are not to registers.

    With `array` of those to one tile or tensor alone.

    Raises
    ------
    NotHere : an access that isn't the thread's own.
    OutOfBounds, NotAChunk : unless the machine's `faults` take note of them. A thread that is refused in one access
        takes part in none.
    """
    routes = m.routes.get((id(op), array))
    if routes is None:
        accesses = (a for a in m.accesses(op) if a.space != "registers" and array in ("", a.array))
        routes = m.routes[id(op), array] = tuple(_route(m, op, a) for a in accesses)
    found: list[Reach] = []
    for route in routes:
        found.append(route.reach(m, mask))
        mask = found[-1].mask
    return tuple(found) if len(found) < 2 else tuple(_narrowed(at, mask) for at in found)


def _route(m: Machine, op: Operation, access: Access) -> Route:
    if access.proxy != "generic":
        raise NotHere(
            f"{title(op)}: its {access.kind} of {access.array} is {access.proxy}, and done at {access.when}",
            hint="the machine runs what a thread does itself",
        )
    if access.space == "global":
        return _Tensor(m, op, access)
    tile = m.ir.tile(access.array)
    return _Slots(op, access, tile) if access.places is not None else _Tile(op, access, tile)


def _narrowed(at: Reach, mask: Mask) -> Reach:
    """For these threads alone."""
    if mask is at.mask:
        return at
    if isinstance(at, GlobalReach) and mask is not None:
        whole = mask[..., None]
        inside = np.broadcast_to(whole, at.elements.shape) if at.inside is None else at.inside & whole
        return replace(at, mask=mask, inside=inside)
    return replace(at, mask=mask)


class _Tensor:
    """An access to a tensor."""

    def __init__(self, m: Machine, op: Operation, access: Access) -> None:
        self.op, self.access, self.memory = op, access, m.tensors[access.array]
        self.step = int(access.own is not None) if access.along is None else self.memory.strides[access.along]
        self.added = added(access)
        ahead = np.asarray(sum(x * stride for x, stride in zip(self.added, self.memory.strides, strict=True)))
        self.ahead = np.broadcast_to(ahead, (*ahead.shape[:-1], access.values))
        runs = self.ahead.reshape(*self.ahead.shape[:-1], -1, access.width)
        self.apart = (runs - runs[..., :1] != self.step * np.arange(access.width)).any((-1, -2))

    def reach(self, m: Machine, mask: Mask) -> GlobalReach:
        a, memory, shape = self.access, self.memory, m.shape
        index = m.at(a.index)
        inside: np.ndarray | None
        if a.guarded:
            inside, mask = self.guarded(m, index, mask)
            inside = None if inside.all() else inside
        else:
            if a.own is None:
                along = -1 if a.along is None else a.along
                mask = within(m, self.op, a.array, index, memory.shape, mask, along, a.values)
            else:
                each = tuple(np.asarray(x)[..., None] + more for x, more in zip(index, self.added, strict=True))
                mask = within(m, self.op, a.array, each, memory.shape, mask)
            inside = None if mask is None else np.broadcast_to(mask[..., None], (*shape, a.values))
        first: Any = 0
        for x, stride in zip(index, memory.strides, strict=True):
            first = first + x * stride
        found = GlobalReach(a, mask, np.broadcast_to(first, shape), self.ahead, self.step, inside, a.width)
        if a.width > 1:
            astray = ((found.first[..., None] + self.ahead[..., :: a.width]) % a.width != 0).any(-1) | self.apart
            astray = astray if inside is None else astray & inside.any(-1)
            if astray.any():
                return self.aligned(m, found, astray)
        return found

    def aligned(self, m: Machine, at: GlobalReach, astray: np.ndarray) -> GlobalReach:
        """Without the threads whose wide access starts between two boundaries."""
        a = self.access
        what = f"an access of {a.width} values to {a.array} that isn't aligned to {a.bytes} bytes"
        m.refuse(NotAChunk(f"{title(self.op)}: {what}"), astray)
        return _narrowed(at, ~astray if at.mask is None else at.mask & ~astray)  # type: ignore[return-value]

    def guarded(self, m: Machine, index: Index, mask: Mask) -> tuple[np.ndarray, Mask]:
        """Which values are accessed, [block, warp, lane, n]; one below 0, which no guard stops, is refused."""
        a = self.access
        inside = which(m, index, self.memory.shape, self.added, mask, a.values)
        if not any(np.any(np.asarray(x) < 0) for x in index):
            return inside, mask
        below = np.zeros(inside.shape, bool)
        for x, more in zip(index, self.added, strict=True):
            below |= np.asarray(x)[..., None] + more < 0
        threads = np.asarray((inside & below).any(-1))
        if not threads.any():
            return inside, mask
        at = tuple(np.argwhere(threads)[0])
        reached = [int(np.broadcast_to(x, m.shape)[at]) for x in index]
        m.refuse(
            OutOfBounds(
                f"{title(self.op)}: {a.array}{reached} is below 0, and a guard compares with the extents alone",
                where=_who(m, threads),
                hint="an index expression is wrong",
            ),
            threads,
        )
        return inside & ~threads[..., None], ~threads if mask is None else mask & ~threads


class _Tile:
    """An access to a tile that has a layout."""

    def __init__(self, op: Operation, access: Access, tile: SharedTile) -> None:
        assert tile.layout is not None
        self.op, self.access, self.tile = op, access, tile
        self.extents = [n for _, n in tile.layout.inputs]
        self.run = tile.order[-1]
        self.per_chunk = CHUNK_BYTES // access.item
        self.parts = self.per_chunk // access.width  # instructions' widths in a chunk
        self.table = chunks_of(tile.layout)
        self.astray = bool(self.table.size) and not 0 <= self.table.min() <= self.table.max() < tile.chunks
        self.own = None if access.own is None and access.values == access.width else added(access)

    def reach(self, m: Machine, mask: Mask) -> SharedReach:
        a = self.access
        if a.lanes < LANES:
            saying = np.broadcast_to(np.arange(LANES) < a.lanes, m.shape)
            mask = saying if mask is None else mask & saying
        index = m.at(a.index)
        if self.own is None:
            chunk, mask = self.chunks(m, index, mask)
            start = index[self.run]
            astray = settled(start % a.width, m.shape, mask) != 0
            if astray.any():
                mask = self.without(m, astray, mask)
            units = (chunk if self.parts == 1 else self.parts * chunk + start % self.per_chunk // a.width,)
            return SharedReach(a, mask, a.bytes, units)
        index = tuple(np.asarray(x)[..., None] + o for x, o in zip(index, self.own, strict=True))
        chunk, mask = self.chunks(m, index, mask)
        chunk, at = (self.grouped(x) for x in (chunk, index[self.run] % self.per_chunk))
        first = at[..., :1] // a.width
        apart = (chunk != chunk[..., :1]) | (at != first * a.width + np.arange(a.width))
        if apart.any():
            for g in range(apart.shape[-2]):
                astray = settled(apart[..., g, :].any(-1), m.shape, mask) != 0
                if astray.any():
                    mask = self.without(m, astray, mask)
        units = chunk[..., 0] if self.parts == 1 else self.parts * chunk[..., 0] + first[..., 0]
        return SharedReach(a, mask, a.bytes, tuple(units[..., g] for g in range(units.shape[-1])))

    def grouped(self, x: np.ndarray) -> np.ndarray:
        """A number for each value, by instruction: [..., instruction, value]."""
        return np.broadcast_to(x, (*x.shape[:-1], self.access.values)).reshape(*x.shape[:-1], -1, self.access.width)

    def chunks(self, m: Machine, index: Index, mask: Mask) -> tuple[np.ndarray, Mask]:
        """The chunk of a block's memory for each element; the arrays may have one axis more than threads."""
        tile, op = self.tile, self.op
        mask = within(m, op, tile.name, index, self.extents, mask)
        if mask is not None:  # who takes no part may be anywhere
            index = tuple(np.clip(x, 0, n - 1) for x, n in zip(index, self.extents, strict=True))
        chunk = self.table[index]
        number = m.at((self.access.slot,))
        mask = within(m, op, f"the buffers of {tile.name}", number, [tile.buffers], mask)
        if self.astray:
            mask = within(m, op, f"the chunks of {tile.name}", (chunk,), [tile.chunks], mask)
        first = tile.start + np.asarray(number[0]) * tile.chunks
        return chunk + (first[..., None] if np.ndim(chunk) == 4 and first.ndim else first), mask

    def without(self, m: Machine, astray: np.ndarray, mask: Mask) -> Mask:
        """Refuse accesses that aren't one aligned run within a chunk, or go on without their threads."""
        a, name = self.access, self.tile.name
        if self.own is None and self.parts == 1:
            what = f"a {'store to' if a.writes else 'load from'} tile {name} that doesn't start where a chunk does"
        else:
            run = "chunk" if self.parts == 1 else f"aligned run of {a.width} values"
            what = f"the values that a lane {MOVED[a.kind]} at once aren't one {run} of {name}"
        m.refuse(NotAChunk(f"{title(self.op)}: {what}"), astray)
        return ~astray if mask is None else mask & ~astray


class _Slots:
    """An access to a tile without a layout, whose places in a slot the operation says itself."""

    def __init__(self, op: Operation, access: Access, tile: SharedTile) -> None:
        assert access.places is not None
        self.op, self.access, self.tile, self.places = op, access, tile, access.places
        self.chunks = access.slot_chunks or tile.chunks
        self.slots = tile.buffers * tile.chunks // self.chunks
        self.per_chunk = CHUNK_BYTES // access.bytes
        self.found: dict[tuple[int, ...], tuple[Any, bool]] = {}  # by what is given: the places, and whether all fit

    def reach(self, m: Machine, mask: Mask) -> SharedReach:
        a, op = self.access, self.op
        (slot,) = m.at((a.slot,))
        mask = within(m, op, f"the slots of {a.array}", (slot,), [self.slots], mask)
        names = [name for name, _ in self.places.inputs[1:]]
        given = tuple(m.number(e, f"the {name} of an exchange") for e, name in zip(a.given, names, strict=True))
        if given not in self.found:
            self.found[given] = self.at(given)
        places, fit = self.found[given]
        if not fit:
            room = self.per_chunk * self.chunks
            what = "chunks" if self.per_chunk == 1 else "pieces"
            mask = within(m, op, f"a warp's {what} of {a.array}", places, [room] * len(places), mask)
        first = self.per_chunk * (self.tile.start + slot * self.chunks)
        return SharedReach(a, mask, a.bytes, tuple(first + place for place in places))

    def at(self, given: tuple[int, ...]) -> tuple[Any, bool]:
        """The places of all lanes, and whether a slot has room for them."""
        places = apply(self.places, np.arange(LANES), *given)
        room = self.per_chunk * self.chunks
        return places, all(0 <= np.min(x) and np.max(x) < room for x in places)


# ---- indices and checks


def which(m: Machine, index: Index, extents: Any, more: Index, mask: Mask, values: int) -> np.ndarray:
    """Which of so many values, at `index` and what each adds to it, are below all extents: [block, warp, lane, n].

    That is all that a kernel's text compares; who may be below 0 is a mistake (`_Tensor.guarded`).
    """
    inside: Any = True
    for x, extent, o in zip(index, extents, more, strict=True):
        x, extent = (np.asarray(v)[..., None] for v in (x, extent))
        inside = inside & (x + o < extent)
    inside = np.broadcast_to(inside, (*m.shape, values))
    return inside if mask is None else inside & mask[..., None]


def within(
    m: Machine, op: Operation, what: str, index: Index, extents: Any, mask: Mask, along: int = -1, values: int = 1
) -> Mask:
    """Refuse indices outside a box; along dimension `along`, so many elements belong to each.

    Returns
    -------
    Which threads take part: all of `mask`, or those whose indices are inside where the others are taken note of.
    """
    for d, (x, extent) in enumerate(zip(index, extents, strict=True)):
        bad = np.asarray((x < 0) | (x > extent - (values if d == along else 1)))
        if not bad.any():
            continue
        shape = np.broadcast_shapes(m.shape + (1,) * (bad.ndim - 3), *map(np.shape, index))
        bad = np.broadcast_to(bad, shape)
        if mask is not None:
            bad = bad & mask.reshape(mask.shape + (1,) * (bad.ndim - 3))
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            reached = [int(np.broadcast_to(i, bad.shape)[at]) for i in index]
            more = f" ({values} values along dimension {along})" if along >= 0 else ""
            threads = np.asarray(bad.reshape(*m.shape, -1).any(-1))
            m.refuse(
                OutOfBounds(
                    f"{title(op)}: {what}{reached}{more} is outside of {what}{list(extents)}",
                    where=_who(m, threads),
                    hint="an index expression is wrong, or a guard is missing",
                ),
                threads,
            )
            mask = ~threads if mask is None else mask & ~threads
    return mask


def _who(m: Machine, threads: np.ndarray) -> str:
    """The first thread [block, warp, lane] that is marked, in words."""
    block, warp, lane = (int(n) for n in np.argwhere(threads)[0])
    place, thread = m.who(block, warp * LANES + lane)
    return f"thread {thread} of block {place}"
