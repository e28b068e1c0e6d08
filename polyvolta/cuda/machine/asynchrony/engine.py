"""The copy engine: boxes on their way between tensors and shared memory.

A box is one thread's request. From when it is issued until it arrives its place holds `POISON`; then all of its values
are there, zeros for those outside of the tensor, and its bytes count for its phase. Where it lies is the engine's own
affair: lines behind one another from the address of the box's first element on, 16-byte units swizzled by their
addresses; the tile's layout is asked for that first element alone. A stored box is read at some time before its thread
has waited for it.

When that is the kind of run says, as for `copies`. "lazy": boxes arrive when nobody can go on otherwise, one at a time,
and stored ones are read when they are waited for. A block that ends before is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, BoxCopy, BoxMap, BoxStore
from polyvolta.cuda.ir.memories import TENSOR_ITEM
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.asynchrony.phases import PhaseAt, Phases, threads_of, values_at
from polyvolta.cuda.machine.asynchrony.proxies import NOBODY, Proxies
from polyvolta.cuda.machine.copies import LONGEST, Arrival, Pending
from polyvolta.cuda.machine.errors import LeftBehind, NotAChunk, OutOfBounds
from polyvolta.cuda.machine.memories import Blocks
from polyvolta.cuda.machine.reach import EngineReach, Mask
from polyvolta.cuda.machine.tables import chunks_of
from polyvolta.cuda.target.boxes import CHUNK_BYTES, Box, Swizzle

SECTOR = 32  # bytes of global memory
Told = Callable[["Boxes", str, np.ndarray, IrPath], None]
"""Is told of stored boxes when they are read: the boxes, the tensor, bits of their values [box, line, run], and where
the operation stands that asked for them."""
LINE_CHUNKS = 8  # of 128 bytes, at a multiple of which a box starts


class Times:
    """When engines have done what they were asked for: numbers of operations from now on.

    Parameters
    ----------
    arrival : the kind of run, a checked one.
    start : any numbers: with a seed they make each batch's times its own.

    Attributes
    ----------
    clock : operations taken.
    """

    def __init__(self, arrival: Arrival, start: tuple[int, ...]) -> None:
        self.eager, self.clock = arrival == "eager", 0
        self.random = None if isinstance(arrival, str) else np.random.default_rng((arrival, *start, 1))

    def due(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """Drawn at random; None where nothing is done before somebody waits for it."""
        if self.random is None:
            return None
        return np.asarray(self.clock + 2 ** self.random.integers(0, LONGEST, shape, endpoint=True))


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of some threads.

    Parameters
    ----------
    block : of each thread, its number in the batch, [thread].
    thread : its linearId.
    chunk : of shared memory, [thread, line, run / 8].
    element : number in the tensor's memory, [thread, line, run].
    inside : which are in the tensor, likewise.
    """

    block: np.ndarray
    thread: np.ndarray
    chunk: np.ndarray
    element: np.ndarray
    inside: np.ndarray

    @property
    def moved(self) -> tuple[int, int, int]:
        """Bytes of the tensor, how many sectors they lie in, bytes of shared memory."""
        first, last = (self.inside.argmax(-1), self.inside.shape[-1] - 1 - self.inside[..., ::-1].argmax(-1))
        sector = [np.take_along_axis(self.element, x[..., None], -1) * TENSOR_ITEM // SECTOR for x in (first, last)]
        lines = self.inside.any(-1, keepdims=True)
        inside = TENSOR_ITEM * int(np.count_nonzero(self.inside))
        return inside, int((sector[1] - sector[0] + 1)[lines].sum()), CHUNK_BYTES * self.chunk.size

    def some(self, which: np.ndarray) -> Boxes:
        """Those of some of the threads."""
        parts = (self.block, self.thread, self.chunk, self.element, self.inside)
        return Boxes(*(x[which] for x in parts))

    def reach(self, a: Access, mask: Mask) -> EngineReach:
        """Where they are in the memory of one access."""
        of_tensor, sectors, of_tile = self.moved
        element, inside, chunk = (x.reshape(len(x), prod(x.shape[1:])) for x in (self.element, self.inside, self.chunk))
        if a.space == "global":
            return EngineReach(a, mask, of_tensor, sectors, self.block, self.thread, element, inside)
        return EngineReach(a, mask, of_tile, 0, self.block, self.thread, chunk)


@dataclass(eq=False, slots=True)
class _Copy:
    map: BoxMap
    places: Boxes
    phase: PhaseAt
    left: np.ndarray  # of which threads it is on its way
    due: np.ndarray | None


@dataclass(eq=False, slots=True)
class _Store:
    map: BoxMap
    places: Boxes
    path: IrPath
    due: int | None


class Engine:
    """The boxes of a batch of blocks.

    Parameters
    ----------
    shape : (blocks, warps, 32).
    times, phases, proxies : those of the batch.

    Attributes
    ----------
    copies : those on their way to shared memory, in the order in which they were issued.
    stores : those on their way from there.
    told : who is told of these, when they are read.
    """

    def __init__(self, shape: tuple[int, int, int], times: Times, phases: Phases, proxies: Proxies) -> None:
        self.times, self.shape, self.phases, self.proxies = times, shape, phases, proxies
        self.copies: list[_Copy] = []
        self.stores: Pending[_Store] = Pending(shape)
        self.told: list[Told] = []

    def copy(self, m: Blocks, op: BoxCopy, mask: Mask, phase: PhaseAt) -> Boxes:
        """Threads ask for boxes to come."""
        places, kept = _places(m, op, mask)
        phase = PhaseAt(phase.row, *(x[kept] for x in (phase.block, phase.thread, phase.slot, phase.number)))
        count = len(places.block)
        made = _Copy(m.ir.box_map(op.map), places, phase, np.ones(count, bool), self.times.due((count,)))
        if self.times.eager:
            self._arrive(m, made, made.left)
        elif count:  # else all were refused
            _bits(m)[places.block[:, None, None], places.chunk] = m.poison
            self.copies.append(made)
        return places

    def store(self, m: Blocks, op: BoxStore, mask: Mask) -> Boxes:
        """Threads ask for boxes to go."""
        places, _ = _places(m, op, mask)
        due = self.times.due(())
        made = _Store(m.ir.box_map(op.map), places, m.path, None if due is None else int(due))
        if self.times.eager:
            self._read(m, made, np.ones(len(places.block), bool))
        else:
            asking = np.zeros(self.shape, bool)
            asking[self._threads(places)] = True
            self.stores.issue(made, asking)
        return places

    def commit(self, mask: Mask) -> None:
        """Some threads close a group of stores."""
        self.stores.commit(mask)

    def wait(self, m: Blocks, newest: int, mask: Mask) -> None:
        """Some threads wait for all their groups but the newest."""
        for store, arrived in self.stores.wait(newest, mask):
            assert arrived is not None  # each is some threads'
            self._read(m, store, arrived[self._threads(store.places)])

    def tick(self, m: Blocks) -> None:
        """An operation is about to be taken: what is due has come."""
        for one in tuple(self.copies):
            if one.due is not None and (now := one.left & (one.due <= self.times.clock)).any():
                self._arrive(m, one, now)
        for issued in tuple(self.stores.issued):
            if issued.what.due is not None and issued.what.due <= self.times.clock:
                assert issued.left is not None
                self._read(m, issued.what, issued.left[self._threads(issued.what.places)])
                self.stores.take(issued, issued.left)

    def hasten(self, m: Blocks) -> bool:
        """Nobody can go on: a copy arrives, the one that is due first. Says whether there was any."""
        if not self.copies:
            return False
        first = self.copies[0]
        if first.due is None:
            self._arrive(m, first, first.left.copy())
        else:
            self.times.clock = min(int(c.due[c.left].min()) for c in self.copies if c.due is not None)
            self.tick(m)
        return True

    def end(self) -> None:
        """The blocks end.

        Raises
        ------
        LeftBehind : before all boxes have come, or were read.
        """
        maps = [c.map.name for c in self.copies] + [s.what.map.name for s in self.stores.issued]
        if maps:
            raise LeftBehind(f"a block ends while a box of {maps[0]} is on its way",
                             where=f"{len(maps)} of them", hint="somebody waits for each")  # fmt: skip

    def _arrive(self, m: Blocks, one: _Copy, now: np.ndarray) -> None:
        places = one.places.some(now)
        memory = m.tensors[one.map.tensor].values.view(np.uint16)
        values = np.zeros(places.inside.shape, np.uint16)
        values[places.inside] = memory[places.element[places.inside]]
        block = places.block[:, None, None]
        _bits(m)[block, places.chunk] = values.reshape(*places.chunk.shape, CHUNK)
        self.proxies.writer[block, places.chunk] = NOBODY
        one.left = one.left & ~now
        if not one.left.any() and one in self.copies:
            self.copies.remove(one)
        p = one.phase
        arrived = PhaseAt(p.row, *(x[now] for x in (p.block, p.thread, p.slot, p.number)))
        self.phases.bring(m, arrived, one.map.bytes)

    def _read(self, m: Blocks, one: _Store, now: np.ndarray) -> None:
        places = one.places.some(now)
        block = places.block[:, None, None]
        values = _bits(m)[block, places.chunk].copy()
        unseen = self.proxies.writer[block, places.chunk] != NOBODY
        values[unseen] = m.poison
        values = values.reshape(places.inside.shape)
        m.tensors[one.map.tensor].values.view(np.uint16)[places.element[places.inside]] = values[places.inside]
        for tell in self.told:
            tell(places, one.map.tensor, values, one.path)

    def _threads(self, places: Boxes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Who asked for boxes: block, warp, lane."""
        return places.block, places.thread // LANES, places.thread % LANES


def _bits(m: Blocks) -> np.ndarray:
    """Shared memory, [block, chunk, 8] of bits."""
    return m.memory.view(np.uint16)


def _places(m: Blocks, op: BoxCopy | BoxStore, mask: Mask) -> tuple[Boxes, np.ndarray]:
    """Where boxes are, checked; and of which of the threads that were to ask for one."""
    made, tile = m.ir.box_map(op.map), m.ir.tile(op.tile)
    box, order = made.box, m.ir.tensor(made.tensor).order
    block, thread = threads_of(m, mask)
    index, place = ([values_at(m, e, block, thread) for e in es] for es in (op.index, op.place))
    buffer = values_at(m, op.buffer, block, thread)
    assert tile.layout is not None
    sides = dict(zip(tile.order, (box.lines, box.run), strict=True))
    extents = [n for _, n in tile.layout.inputs]
    bad = (buffer < 0) | (buffer >= tile.buffers)
    for d, x in enumerate(place):
        bad |= (x < 0) | (x + sides[d] > extents[d])
    kept = _without(m, block, thread, bad, OutOfBounds(
        f"{type(op).__name__} {op.statement}: a box of {box.lines} x {box.run} leaves {op.tile}{extents}, "
        f"of which there are {tile.buffers}"))  # fmt: skip
    table = chunks_of(tile.layout)
    first = tile.start + buffer * tile.chunks + table[tuple(np.clip(x, 0, n - 1) for x, n in zip(place, extents))]
    memory = m.memory.shape[1]
    bad = kept & (first % LINE_CHUNKS != 0)
    at = CHUNK_BYTES * int(first[bad][0]) if bad.any() else 0
    kept &= _without(m, block, thread, bad, NotAChunk(
        f"{type(op).__name__} {op.statement}: a box starts at byte {at} of shared memory, no multiple of "
        f"{CHUNK_BYTES * LINE_CHUNKS}"))  # fmt: skip
    chunk = swizzled(box.swizzle, memory)[(first[kept][:, None, None] + _plain(box)) % memory]
    line, run = (index[d][kept] for d in order)
    line, run = line[:, None, None] + np.arange(box.lines)[:, None], run[:, None, None] + np.arange(box.run)
    shape, strides = m.tensors[made.tensor].shape, m.tensors[made.tensor].strides
    inside = (line >= 0) & (line < shape[order[0]]) & (run >= 0) & (run < shape[order[1]])
    element = line * strides[order[0]] + run * strides[order[1]]
    return Boxes(block[kept], thread[kept], chunk, element, inside), kept


def _without(m: Blocks, block: np.ndarray, thread: np.ndarray, bad: np.ndarray, wrong: Any) -> np.ndarray:
    """Refuse some threads; which go on."""
    if bad.any():
        refused = np.zeros(m.shape, bool)
        refused[block[bad], thread[bad] // LANES, thread[bad] % LANES] = True
        m.refuse(wrong, refused)
    return ~bad


@lru_cache(maxsize=64)
def _plain(box: Box) -> np.ndarray:
    """[line, run / 8]: chunks from a box's first one on, before the swizzle."""
    line, run = np.arange(box.lines)[:, None], np.arange(0, box.run, CHUNK)
    return np.asarray(np.broadcast_to(box.plain.evaluate({"line": line, "run": run})[0], (box.lines, box.run // CHUNK)))


@lru_cache(maxsize=64)
def swizzled(swizzle: Swizzle, chunks: int) -> np.ndarray:
    """Where each chunk of a block's shared memory goes; those of a last part of a pattern included."""
    whole = -(-chunks // swizzle.align) * swizzle.align
    return np.broadcast_to(swizzle.over(whole).evaluate({"chunk": np.arange(whole)})[0], whole)
