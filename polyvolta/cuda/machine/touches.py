"""What the warps of a block read and write in one operation, in the kernel's own words: boxes of tensors and tiles.

An access has two descriptions. For the machine it is 32 addresses; for people it is "shared_A[16:32, 0:8]", the
elements that a warp reaches together. Here the second is made from the operation's own expressions, evaluated for
every lane. The elements of one warp are a box more often than not; else they are the product of a few ranges, or a
number of values within a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, Access, KernelIR, Op, SharedTile
from polyvolta.cuda.machine.reach import EngineReach, GlobalReach, Reach, Reaches, SharedReach
from polyvolta.cuda.machine.tables import chunks_of, owned
from polyvolta.sets import Aff

FEW = 4  # ranges of one dimension that are listed


@dataclass(frozen=True, slots=True)
class Touch:
    """What one warp reads, or writes, in one array.

    Parameters
    ----------
    warp : its number in the block.
    kind : "read" or "write".
    space : "registers", "shared" or "global".
    array : the tensor, the tile or the register array.
    text : the elements, such as "A[128:132, 0:64]", "shared_A[0:16, 0:8] buffer 0" or "hmma_C[0][1]".
    bytes : how many different bytes.
    lanes : how many lanes take part.
    chunks : of shared memory the chunks of 16 bytes, counted from the start of the tile, or of its buffer where it has
        several.
    cut : whether some values lie outside of the tensor, and are not accessed.
    """

    warp: int
    kind: str
    space: str
    array: str
    text: str
    bytes: int
    lanes: int = LANES
    chunks: tuple[int, ...] = ()
    cut: bool = False

    def __str__(self) -> str:
        return self.text


def touches(
    ir: KernelIR, op: Op, names: Mapping[str, Any], reach: Reaches, active: np.ndarray
) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
    """What each warp of one block reads and what it writes in an operation, in the order of its accesses.

    Parameters
    ----------
    ir, op : the kernel, and its operation.
    names : values of the kernel's names at the operation: numbers, or arrays that broadcast to [1, warp, lane].
    reach : where the operation goes in memory.
    active : which threads [warp, lane] take part.

    Cost: linear in the values that are moved.
    """
    found: dict[str, list[Touch]] = {"read": [], "write": []}
    accesses = op.accesses(ir)
    if len(reach) == sum(a.space != "registers" for a in accesses):  # else it was refused
        for warp in np.flatnonzero(active.any(1)):
            one, left = _Warp(ir, names, int(warp), active), iter(reach)
            for a in accesses:
                found[a.kind] += [one.element(a)] if a.space == "registers" else one.memory(next(left))
    return tuple(found["read"]), tuple(found["write"])


def assignment(ir: KernelIR, op: Op, reads: Sequence[Touch], writes: Sequence[Touch]) -> str:
    """An operation of one warp in one line, such as "hmma_C[0][1] += hmma_A[0] @ hmma_B[1]".

    Parameters
    ----------
    reads, writes : those of the warp.
    """
    left = {"read": list(reads), "write": list(writes)}
    texts: dict[str, list[str]] = {"read": [], "write": []}
    notes = []
    for a in op.accesses(ir):
        here = left[a.kind]
        if not here or (here[0].space, here[0].array) != (a.space, a.array):
            if a.writes:
                are = "are" if len(texts["read"]) > 1 else "is"
                return f"{', '.join(texts['read'])} {are} not stored  (all outside of {a.array})"
            texts[a.kind].append("0")
            notes.append(f"  (all outside of {a.array})")
            continue
        touch = here.pop(0)
        texts[a.kind].append(touch.text)
        if touch.cut:
            notes.append(f"  ({'nothing' if a.writes else '0'} outside of {a.array})")
    return op.sentence(texts["read"], texts["write"]) + "".join(notes)


def element_text(ir: KernelIR, array: str, index: Sequence[int]) -> str:
    """A register element as the CUDA text writes it, with numbers.

    >>> from polyvolta.cuda.ir.kernel_ir import RegisterArray
    >>> ir = KernelIR("k", (), (), (), (RegisterArray("hmma_C", "float", (2, 2)),), 32, (), {})
    >>> element_text(ir, "hmma_C", (0, 1))
    'hmma_C[0][1]'
    """
    single = all(n == 1 for n in ir.register(array).shape)
    return array if single else array + "".join(f"[{i}]" for i in index)


# ---- one warp


class _Warp:
    """One warp at one operation: its lanes that take part, and expressions there."""

    def __init__(self, ir: KernelIR, names: Mapping[str, Any], warp: int, active: np.ndarray) -> None:
        self.ir, self.names, self.warp, self.lanes = ir, names, warp, np.flatnonzero(active[warp])
        self.shape = (1, *active.shape)

    def at(self, e: Aff) -> np.ndarray:
        """An expression in the lanes that take part, [lane]."""
        return self.of(e.evaluate(self.names))

    def of(self, value: Any) -> np.ndarray:
        """The lanes' own out of what broadcasts to [1, warp, lane, ...]."""
        value = np.asarray(value)
        shape = (*self.shape, *value.shape[3:])
        return np.broadcast_to(value, shape)[0, self.warp, self.lanes]

    def touch(self, a: Access, text: str, count: int, chunks: tuple[int, ...] = (), cut: bool = False) -> Touch:
        return Touch(self.warp, a.kind, a.space, a.array, text, count, len(self.lanes), chunks, cut)

    def element(self, a: Access) -> Touch:
        """A register element, in all lanes that take part."""
        text = element_text(self.ir, a.array, [int(self.at(i)[0]) for i in a.index])
        return self.touch(a, text, a.values * a.item * len(self.lanes))

    def memory(self, at: Reach) -> list[Touch]:
        """What is reached of a tensor or of a tile; nothing where all is outside of the tensor."""
        if isinstance(at, EngineReach):
            return list(self.engine(at.access))
        if isinstance(at, GlobalReach):
            return list(self.tensor(at))
        return [self.tile(at) if at.access.places is None else self.slot(at)]

    def tensor(self, at: GlobalReach) -> Iterator[Touch]:
        """The values of a tensor that are accessed; nothing where all are outside."""
        a = at.access
        inside = np.ones((len(self.lanes), a.values), bool) if at.inside is None else self.of(at.inside)
        if not inside.any():
            return
        text, count = _region(a.array, [np.broadcast_to(x, inside.shape)[inside] for x in self.index(a)])
        yield self.touch(a, text, a.item * count, cut=not inside.all())

    def engine(self, a: Access) -> Iterator[Touch]:
        """What an engine reaches for those who have asked it; nothing where all is outside of the tensor."""
        index = np.broadcast_arrays(*self.index(a))
        if a.space == "global":
            dims = [self.names[d] if isinstance(d, str) else d for d in self.ir.tensor(a.array).dims]
            inside = np.logical_and.reduce([(x >= 0) & (x < n) for x, n in zip(index, dims, strict=True)])
            if inside.any():
                text, count = _region(a.array, [x[inside] for x in index])
                yield self.touch(a, text, a.item * count, cut=not inside.all())
            return
        text, count = _region(a.array, [x.reshape(-1) for x in index])
        tile = self.ir.tile(a.array)
        assert tile.layout is not None
        chunks = tuple(np.unique(chunks_of(tile.layout)[tuple(index)]).tolist())
        if tile.buffers > 1:
            text += f" buffer {int(self.at(a.slot)[0])}"
        yield self.touch(a, text, a.item * count, chunks)

    def index(self, a: Access) -> list[np.ndarray]:
        """The elements of a tensor or of a tile that each lane's values are, [lane, value] for each dimension."""
        index = [self.at(e)[:, None] for e in a.index]
        if a.own is not None:
            added = (x[0, 0, self.lanes if x.shape[2] > 1 else slice(None)] for x in owned(a.own, a.values))
            return [x + o for x, o in zip(index, added, strict=True)]
        return [x + np.arange(a.values) if d == a.along else x for d, x in enumerate(index)]

    def tile(self, at: SharedReach) -> Touch:
        """The elements of a tile, and the buffer."""
        a = at.access
        tile = self.ir.tile(a.array)
        text, count = _region(a.array, [x.reshape(-1) for x in np.broadcast_arrays(*self.index(a))])
        chunks = self.chunks(tile, at)
        if tile.buffers > 1:
            text += f" buffer {int(self.at(a.slot)[0])}"
            chunks = tuple(c % tile.chunks for c in chunks)
        return self.touch(a, text, a.item * count, chunks)

    def slot(self, at: SharedReach) -> Touch:
        """A warp's slot of an exchange buffer, with what tells its places apart: the round."""
        a = at.access
        assert a.places is not None
        bytes_ = len({int(u) for units in at.units for u in self.of(units).reshape(-1)}) * at.width
        text = f"{a.array} slot {int(self.at(a.slot)[0])}"
        for (name, extent), e in zip(a.places.inputs[1:], a.given, strict=True):
            text += f" {name} {int(self.at(e)[0])}" if extent > 1 else ""
        return self.touch(a, text, bytes_, self.chunks(self.ir.tile(a.array), at))

    def chunks(self, tile: SharedTile, at: SharedReach) -> tuple[int, ...]:
        """The chunks of a tile that are reached."""
        units = [self.of(unit).reshape(-1) * at.width // CHUNK_BYTES - tile.start for unit in at.units]
        return tuple(np.unique(np.concatenate(units)).tolist())


# ---- elements as text


def _region(array: str, index: Sequence[np.ndarray]) -> tuple[str, int]:
    """Elements, and how many: as a box, as a product of a few ranges, or as a number of values within a box.

    >>> _region("A", [np.array([4, 4, 5, 5]), np.array([0, 1, 0, 1])])
    ('A[4:6, 0:2]', 4)
    >>> _region("A", [np.array([4, 4, 5]), np.array([0, 1, 0])])
    ('3 values in A[4:6, 0:2]', 3)
    >>> _region("A", [np.array([0, 1, 8, 9])])
    ('A[0:2 and 8:10]', 4)
    """
    count = len(np.unique(np.stack(index), axis=1)[0])
    sides = [np.unique(x) for x in index]
    if count == np.prod([len(s) for s in sides]):
        texts = [_ranges(s) for s in sides]
        if all(texts):
            return f"{array}[{', '.join(texts)}]", count
    box = ", ".join(_range(int(s[0]), int(s[-1])) for s in sides)
    return f"{count} values in {array}[{box}]", count


def _ranges(values: np.ndarray) -> str:
    """A few ranges, or one with a step; "" where that takes too many.

    >>> _ranges(np.array([0, 1, 2, 8])), _ranges(np.arange(0, 64, 8)), _ranges(np.array([3]))
    ('0:3 and 8', '0:57:8', '3')
    """
    steps = np.diff(values)
    if len(values) > 2 and (steps == steps[0]).all() and steps[0] > 1:
        return f"{values[0]}:{values[-1] + 1}:{steps[0]}"
    parts = np.split(values, np.flatnonzero(steps > 1) + 1)
    return " and ".join(_range(int(p[0]), int(p[-1])) for p in parts) if len(parts) <= FEW else ""


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}:{last + 1}"
