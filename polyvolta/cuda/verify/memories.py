"""What registers and shared memory hold while a kernel runs on symbols, and what loads and stores move.

Shared memory is one row of slots, two bytes each: a tag, the half of it that lies there (fp32 values take two slots),
and, for messages, who wrote it last. Tiles, buffers and the exchange are places in it, as their layouts say, so that
what overlaps overwrites.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.ir_walk import IrPath
from polyvolta.cuda.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    KernelIR,
    SharedStore,
)
from polyvolta.cuda.verify.empty_sums import Waiting, settle
from polyvolta.cuda.verify.symbolic import Here
from polyvolta.cuda.verify.values import Tags
from polyvolta.sets import Aff

WHOLE, LOW, HIGH = 0, 1, 2  # what a slot holds of a value


class Memories:
    """All memories of a block at one place of the program; a state of the symbolic machine.

    Attributes
    ----------
    registers : by array, [*shape, warp, lane, value].
    shared : [slot].
    halves : int8 [slot], WHOLE, LOW or HIGH.
    writers : [slot], the number of the place that wrote it last in `places`; not a part of the state.
    waiting : what sums over no k may be called; see `empty_sums`.
    """

    __slots__ = ("halves", "places", "registers", "shared", "waiting", "writers")

    def __init__(self, registers: dict[str, Tags], shared: Tags, halves: np.ndarray, writers: np.ndarray) -> None:
        self.registers, self.shared, self.halves, self.writers = registers, shared, halves, writers
        self.places: list[IrPath] = []
        self.waiting: Waiting | None = None

    @classmethod
    def of(cls, ir: KernelIR) -> Memories:
        """Memories that nothing was written to."""
        registers = {r.name: Tags.unknown(*r.shape, ir.warps, LANES, r.width) for r in ir.registers}
        slots = ir.shared_bytes // 2
        return cls(registers, Tags.unknown(slots), np.zeros(slots, np.int8), np.full(slots, -1, np.int16))

    def copy(self) -> Memories:
        """Memories of their own."""
        self.settle()
        registers = {name: tags.copy() for name, tags in self.registers.items()}
        made = Memories(registers, self.shared.copy(), self.halves.copy(), self.writers.copy())
        made.places = self.places
        return made

    def key(self) -> tuple:
        """Equal for memories that hold the same."""
        self.settle()
        return (*(t.key() for t in self.registers.values()), self.shared.key(), self.halves.tobytes())

    def settle(self) -> None:
        """Say sums over no k as those that are over all k."""
        if self.waiting is not None:
            settle(self.registers, self.waiting)
            self.waiting = None

    def arrays(self) -> tuple[Tags, ...]:
        """Every array of tags."""
        return (*self.registers.values(), self.shared)

    # ---- registers

    def element(self, element: Element, here: Here) -> Tags:
        """A register array's element in all threads, [warp, lane, value]."""
        return self.registers[element.array][self._index(element, here)]

    def write(self, element: Element, values: Tags, here: Here) -> None:
        """Write an element in the threads that take part."""
        where = None if here.mask is None else np.broadcast_to(here.mask[..., None], values.kind.shape)
        self.registers[element.array].put(self._index(element, here), values, where)

    def _index(self, element: Element, here: Here) -> tuple[int, ...]:
        shape = here.ir.register(element.array).shape
        loops = here.loops
        index = tuple(
            int(e.evaluate(loops)) if e.names() <= loops.keys() else here.number(e)  # type: ignore[call-overload]
            for e in element.index
        )
        for e, i, n in zip(element.index, index, shape, strict=True):
            if not 0 <= i < n:
                here.refute("result", f"{element.array}[{e}] is {element.array}[{i}], of {n} elements")
        return tuple(min(max(i, 0), n - 1) for i, n in zip(index, shape, strict=True))

    # ---- shared memory

    def store(self, slots: np.ndarray, values: Tags, here: Here, halves: int = WHOLE) -> None:
        """Write values to slots, arrays [warp, lane, value], for the threads that take part."""
        active = (slots >= 0) & (slots < len(self.halves))
        if here.mask is not None:
            active &= here.mask[..., None]
        at = slots[active]
        self.shared.scatter(at, Tags(values.kind[active], values.at[active]))
        self.halves[at] = halves
        if here.path not in self.places:
            self.places.append(here.path)
        self.writers[at] = self.places.index(here.path)

    def load(self, slots: np.ndarray) -> tuple[Tags, np.ndarray, np.ndarray]:
        """The values in slots, the halves of values that they are, and their writers; -1 outside of the memory."""
        inside = (slots >= 0) & (slots < len(self.halves))
        at = np.where(inside, slots, 0)
        found = self.shared.take(at)
        if not inside.all():
            found.kind = np.where(inside, found.kind, np.int32(-1))
        return found, self.halves.take(at), self.writers.take(at)

    def writer(self, number: int) -> IrPath | None:
        """The place of a writer, for a message."""
        return self.places[number] if 0 <= number < len(self.places) else None


# ---- where in shared memory


def stored_slots(op: SharedStore, here: Here) -> np.ndarray:
    """The slots of a thread's eight values, [warp, lane, 8]."""
    index = [here.numbers(e) for e in op.index]
    return (CHUNK * _chunk(op.tile, index, op.buffer, here))[..., None] + np.arange(CHUNK)


def loaded_slots(op: FragmentLoad, here: Here, count: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """The slots of a lane's values and their tile-local elements, [warp, lane, value] each."""
    own = _owned(op.ownership, count)
    index = tuple(here.numbers(e)[..., None] + x for e, x in zip(op.origin, own, strict=True))
    shape = (here.ir.warps, LANES, count)
    run = here.ir.tile(op.tile).order[-1]
    chunk = np.broadcast_to(_chunk(op.tile, list(index), op.buffer, here), shape)
    return CHUNK * chunk + index[run] % CHUNK, tuple(np.broadcast_to(x, shape) for x in index)


def _chunk(name: str, index: list[np.ndarray], buffer: Aff, here: Here) -> np.ndarray:
    """The chunk of shared memory of a tile's elements."""
    tile = here.ir.tile(name)
    assert tile.layout is not None, f"{name} is addressed by its layout"
    values = {n: x for (n, _), x in zip(tile.layout.inputs, index, strict=True)}
    (chunk,) = tile.layout.evaluate(values)
    number = here.numbers(buffer)
    return tile.start + tile.chunks * (number if index[0].ndim == 2 else number[..., None]) + chunk


@lru_cache(maxsize=256)
def _owned(ownership: IndexMap, count: int) -> tuple[np.ndarray, ...]:
    lanes, values = np.arange(LANES).reshape(1, -1, 1), np.arange(count).reshape(1, 1, -1)
    (one, _), (other, _) = ownership.inputs
    return tuple(np.asarray(x) for x in ownership.evaluate({one: lanes, other: values}))


def exchanged_slots(op: ExchangeStore, here: Here) -> tuple[np.ndarray, np.ndarray, int]:
    """Where a lane's fragment goes: the slots and the numbers of its values, [warp, lane, value]; slots per value."""
    size = 1 if op.exchange.kind == "half" else 2
    inside, order = _pieces(op.exchange)
    return _first(op, here.numbers(op.slot), here)[..., None] + size * inside, order, size


@lru_cache(maxsize=64)
def _pieces(ex: Exchange) -> tuple[np.ndarray, np.ndarray]:
    """Where in a warp's buffer a lane's values go, counted in values, [lane, value]; and which values they are."""
    ((name, _),) = ex.store.inputs
    places = [np.broadcast_to(x, (LANES,)) for x in ex.store.evaluate({name: np.arange(LANES)})]
    length = len(ex.pieces[0])
    inside = np.stack([length * p for p in places], -1)[..., None] + np.arange(length)  # [lane, piece, value of it]
    return inside.reshape(LANES, -1), np.array(ex.pieces).reshape(-1)


def gathered_slots(op: ExchangeLoad, part: int, here: Here) -> tuple[np.ndarray, int]:
    """The slots of a run's eight values of one part, [warp, lane, 8], and how many slots a value takes."""
    ex = op.exchange
    size = 1 if ex.kind == "half" else 2
    per_vector = CHUNK_BYTES // (2 * size)
    (lane, _), (turn, _) = ex.load.inputs
    vectors = ex.load.evaluate({lane: np.arange(LANES), turn: here.number(op.round)})
    each = [CHUNK * np.broadcast_to(v, (LANES,))[:, None] + size * np.arange(per_vector) for v in vectors]
    run = np.concatenate(each, -1)[:, list(ex.words)]
    first = _first(op, here.numbers(op.slot) + part * op.stride, here)
    return first[..., None] + run, size


def _first(op: ExchangeStore | ExchangeLoad, slot: np.ndarray, here: Here) -> np.ndarray:
    """The first slot of shared memory of a warp's part of the exchange."""
    return CHUNK * (here.ir.tile(op.buffer).start + slot * op.exchange.chunks)


def slot_text(slot: int, ir: KernelIR) -> str:
    """A slot in words: the tile that it is in, its chunk there, and the byte."""
    chunk = slot // CHUNK
    names = [f"{t.name} chunk {chunk - t.start}" for t in ir.tiles if t.start <= chunk < t.start + t.buffers * t.chunks]
    return f"{' or '.join(names) or 'shared memory'} (byte {2 * slot})"
