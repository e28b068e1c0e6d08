"""Which places of shared memory each thread reaches, from the same relations as the CUDA text: layouts, maps, starts.

Shared memory is counted in *slots* here: as many bytes as the narrowest access of the kernel moves, 16 if all are of a
chunk, 8 or 4 where some fragments are loaded, or some accumulators exchanged, in smaller pieces. Every access is a few
whole slots. They are numbered through the block's memory, so tiles that overlap since they are not alive together, as
those of two products do, are the same slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    KernelIR,
    SharedStore,
    SharedTile,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.watching import Instances

BYTES = {"half": 2, "float": 4}
"""Of a value in an exchange."""
SharedOp = SharedStore | FragmentLoad | ExchangeStore | ExchangeLoad


@dataclass(frozen=True, slots=True)
class Reach:
    """What an operation does with shared memory.

    Parameters
    ----------
    writes : or reads.
    tile : by name.
    slots : [warp, 32, n], which each thread takes.
    outside : bool [warp, 32], the threads that reach out of the tile's box, its chunks or the block's memory, for which
        `slots` means nothing; None: nobody does.
    """

    writes: bool
    tile: str
    slots: np.ndarray
    outside: np.ndarray | None


class Reaches:
    """Computes and remembers what operations of a kernel do with shared memory.

    Parameters
    ----------
    ir : the kernel.
    slot_bytes : of a slot; the kernel's narrowest access by default.
    """

    def __init__(self, ir: KernelIR, slot_bytes: int | None = None) -> None:
        self.ir = ir
        self.slot_bytes = slot_bytes or narrowest(ir)
        self.slots = ir.shared_bytes // self.slot_bytes
        self.tables = {t.name: table(t) for t in ir.tiles if t.layout is not None}
        self.instances = Instances()
        self._found: dict[tuple, Reach] = {}

    def at(self, here: Here) -> Reach | None:
        """What the operation does; None where it has nothing to do with shared memory."""
        op = here.op
        if not isinstance(op, SharedOp):
            return None
        tiled = isinstance(op, SharedStore | FragmentLoad)
        key = self.instances.at(here)
        if key not in self._found:
            self._found[key] = self._tiled(op, here, here.number(op.buffer)) if tiled else self._exchanged(op, here)
        return self._found[key]

    def name(self, slot: int, of: str | None = None) -> str:
        """A slot as people count: the tile in which it lies, chunk and byte; of tiles that overlap all, or one."""
        byte = slot * self.slot_bytes
        chunk = byte // CHUNK_BYTES
        tiles = [t for t in self.ir.tiles if t.start <= chunk < t.start + t.buffers * t.chunks and of in (None, t.name)]
        return " or ".join(f"{t.name} {_chunk(t, chunk - t.start)}" for t in tiles) + f" (byte {byte} of shared memory)"

    def _tiled(self, op: SharedStore | FragmentLoad, here: Here, buffer: int) -> Reach:
        """An access to a tile that has a layout."""
        tile, chunks = self.ir.tile(op.tile), self.tables[op.tile]
        index = tile_index(op, here)
        outside = np.zeros(index[0].shape[:2], bool)
        for x, extent in zip(index, chunks.shape, strict=True):
            outside |= ((x < 0) | (x >= extent)).any(-1)
        outside |= not 0 <= buffer < tile.buffers
        at = tuple(np.clip(x, 0, n - 1) for x, n in zip(index, chunks.shape, strict=True))
        outside |= ((chunks[at] < 0) | (chunks[at] >= tile.chunks)).any(-1)
        chunk = tile.start + buffer * tile.chunks + chunks[at]
        if isinstance(op, SharedStore):
            slots = self._runs(chunk * CHUNK_BYTES, CHUNK_BYTES)
        else:
            slots = self._thinned((chunk * CHUNK + at[tile.order[-1]] % CHUNK) * 2 // self.slot_bytes)
        return self._reach(isinstance(op, SharedStore), op.tile, slots, outside)

    def _exchanged(self, op: ExchangeStore | ExchangeLoad, here: Here) -> Reach:
        """An access to an exchange buffer."""
        ex, tile = op.exchange, self.ir.tile(op.buffer)
        slot = here.numbers(op.slot)
        if isinstance(op, ExchangeStore):
            width = len(ex.pieces[0]) * BYTES[ex.kind]
            places = np.stack(np.broadcast_arrays(*ex.store.evaluate({"lane": np.arange(LANES)})), -1)
            first = (tile.start + slot * ex.chunks)[..., None] * CHUNK_BYTES + places * width
        else:
            width, values = CHUNK_BYTES, {"lane": np.arange(LANES), "round": here.number(op.round)}
            vectors = np.stack(np.broadcast_arrays(*ex.load.evaluate(values)), -1)
            parts = [(tile.start + (slot + p * op.stride) * ex.chunks)[..., None] + vectors for p in range(op.parts)]
            first = np.concatenate(parts, -1) * CHUNK_BYTES
        outside = np.zeros(slot.shape, bool)
        return self._reach(isinstance(op, ExchangeStore), op.buffer, self._runs(first, width), outside)

    def _runs(self, first: np.ndarray, width: int) -> np.ndarray:
        """The slots of accesses of so many bytes that start at these, on the last axis."""
        count = width // self.slot_bytes
        slots = (first // self.slot_bytes)[..., None] + np.arange(count)
        return slots.reshape(*first.shape[:2], -1)

    def _thinned(self, slots: np.ndarray) -> np.ndarray:
        """The slots of values, each once where values that follow one another share them, as they do in one access."""
        groups = slots.reshape(*slots.shape[:2], -1, self.slot_bytes // 2)
        return groups[..., 0] if (groups == groups[..., :1]).all() else slots

    def _reach(self, writes: bool, tile: str, slots: np.ndarray, outside: np.ndarray) -> Reach:
        outside = outside | ((slots < 0) | (slots >= self.slots)).any(-1)
        return Reach(writes, tile, slots, outside if outside.any() else None)


def narrowest(ir: KernelIR) -> int:
    """The bytes of the kernel's narrowest access to shared memory."""
    widths = [CHUNK_BYTES]
    for op in operations(ir.body):
        match op:
            case FragmentLoad(access=access):
                widths.append(2 * access)
            case ExchangeStore(exchange=ex):
                widths.append(len(ex.pieces[0]) * BYTES[ex.kind])
    return gcd(*widths)


def table(tile: SharedTile) -> np.ndarray:
    """The chunk of every element of a tile's box."""
    layout = tile.layout
    assert layout is not None
    extents = [n for _, n in layout.inputs]
    index: Mapping[str, object] = {
        name: np.arange(n).reshape([-1 if d == k else 1 for k in range(len(extents))])
        for d, (name, n) in enumerate(layout.inputs)
    }
    return np.broadcast_to(np.asarray(layout["chunk"].evaluate(index)), extents)


def tile_index(op: SharedStore | FragmentLoad, here: Here) -> tuple[np.ndarray, ...]:
    """The elements of the tile that each thread takes, [warp, 32, n] for each dimension; of a store the first ones."""
    if isinstance(op, SharedStore):
        return tuple(here.numbers(e)[..., None] for e in op.index)
    own = owned(op.ownership)
    return tuple(here.numbers(e)[..., None] + o for e, o in zip(op.origin, own, strict=True))


def owned(ownership: IndexMap) -> tuple[np.ndarray, ...]:
    """Which element of a fragment each lane has at each place, [32, values] for each dimension."""
    (lane, lanes), (value, values) = ownership.inputs
    found = ownership.evaluate({lane: np.arange(lanes)[:, None], value: np.arange(values)})
    return tuple(np.broadcast_to(x, (lanes, values)) for x in found)


def _chunk(tile: SharedTile, chunk: int) -> str:
    buffer, at = divmod(chunk, tile.chunks)
    return f"chunk {at}" + (f" of buffer {buffer}" if tile.buffers > 1 else "")
