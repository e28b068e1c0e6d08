"""What the warps of a block read and write in one operation, in the kernel's own words: boxes of tensors and tiles.

An access has two descriptions. For the machine it is 32 addresses; for people it is "shared_A[16:32, 0:8]", the
elements that a warp reaches together. Here the second is made from the operation's own expressions, evaluated for
every lane. The elements of one warp are a box more often than not; else they are the product of a few ranges, or a
number of values within a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES, KernelIR
from polyvolta.cuda.machine.access import ITEM, apply
from polyvolta.cuda.machine.reach import GlobalReach, Reach, SharedReach

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
    ir: KernelIR, op: kir.Op, names: Mapping[str, Any], reach: Reach, active: np.ndarray
) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
    """What each warp of one block reads and what it writes in an operation.

    Parameters
    ----------
    ir, op : the kernel, and its operation.
    names : values of the kernel's names at the operation: numbers, or arrays that broadcast to [1, warp, lane].
    reach : where the operation goes in memory.
    active : which threads [warp, lane] take part.

    Cost: linear in the values that are moved.
    """
    reads: list[Touch] = []
    writes: list[Touch] = []
    for warp in np.flatnonzero(active.any(1)):
        one = _Warp(ir, names, int(warp), active)
        read, written = _of_warp(one, op, reach)
        reads += read
        writes += written
    return tuple(reads), tuple(writes)


def assignment(ir: KernelIR, op: kir.Op, reads: Sequence[Touch], writes: Sequence[Touch]) -> str:
    """An operation of one warp in one line, such as "hmma_C[0][1] += hmma_A[0] @ hmma_B[1]".

    Parameters
    ----------
    reads, writes : those of the warp.
    """
    source = [t.text for t in reads]
    match op:
        case kir.Barrier("block"):
            return "waits for all warps of the block"
        case kir.Barrier():
            return "its lanes wait for one another"
        case kir.Mma():
            d, a, b = source
            return f"{d} += {a} @ {b}"
        case kir.Zero():
            value = "0"
        case kir.Scale(factor=factor):
            return f"{writes[0]} *= {factor:g}"
        case kir.Pointwise(name=name, operands=operands):
            given = iter(source)
            value = f"{name}({', '.join(next(given) if isinstance(x, kir.Element) else x for x in operands)})"
        case kir.ExchangeLoad():
            value = " + ".join(source)
        case kir.GlobalLoad() if not source:
            value = f"0  (all outside of {op.tensor})"
        case kir.GlobalStore() if not writes:
            return f"{source[0]} is not stored  (all outside of {op.tensor})"
        case _:
            value = source[0]
    cut = "".join(f"  (0 outside of {t.array})" for t in reads if t.cut)
    cut += "".join(f"  (nothing outside of {t.array})" for t in writes if t.cut)
    return f"{writes[0]} = {value}{cut}"


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

    def at(self, e: kir.Aff) -> np.ndarray:
        """An expression in the lanes that take part, [lane]."""
        return self.of(e.evaluate(self.names))

    def of(self, value: Any) -> np.ndarray:
        """The lanes' own out of what broadcasts to [1, warp, lane, ...]."""
        value = np.asarray(value)
        shape = (*self.shape, *value.shape[3:])
        return np.broadcast_to(value, shape)[0, self.warp, self.lanes]

    def touch(self, kind: str, space: str, array: str, text: str, count: int, chunks: tuple[int, ...] = ()) -> Touch:
        return Touch(self.warp, kind, space, array, text, count, len(self.lanes), chunks)

    def element(self, kind: str, e: kir.Element) -> Touch:
        """A register element, in all lanes that take part."""
        r = self.ir.register(e.array)
        text = element_text(self.ir, e.array, [int(self.at(i)[0]) for i in e.index])
        size = r.width * (2 if r.kind == "half" else 4)
        return self.touch(kind, "registers", e.array, text, size * len(self.lanes))


def _of_warp(w: _Warp, op: kir.Op, reach: Reach) -> tuple[list[Touch], list[Touch]]:
    """What a warp reads, and what it writes."""
    match op:
        case kir.Zero(target):
            return [], [w.element("write", target)]
        case kir.Scale(target):
            return [w.element("read", target)], [w.element("write", target)]
        case kir.Pointwise(target=target, operands=operands):
            return [w.element("read", x) for x in operands if isinstance(x, kir.Element)], [w.element("write", target)]
        case kir.Mma(d, a, b):
            return [w.element("read", x) for x in (d, a, b)], [w.element("write", d)]
        case kir.GlobalLoad(target) if isinstance(reach, GlobalReach):
            return list(_tensor(w, "read", op, reach)), [w.element("write", target)]
        case kir.GlobalStore(source) if isinstance(reach, GlobalReach):
            return [w.element("read", source)], list(_tensor(w, "write", op, reach))
        case kir.SharedStore(source) if isinstance(reach, SharedReach):
            return [w.element("read", source)], [_tile(w, "write", op, reach)]
        case kir.FragmentLoad(target) if isinstance(reach, SharedReach):
            return [_tile(w, "read", op, reach)], [w.element("write", target)]
        case kir.ExchangeStore(source) if isinstance(reach, SharedReach):
            return [w.element("read", source)], list(_slots(w, "write", op, reach, 1))
        case kir.ExchangeLoad(target) if isinstance(reach, SharedReach):
            return list(_slots(w, "read", op, reach, op.parts)), [w.element("write", target)]
    return [], []


def _tensor(w: _Warp, kind: str, op: kir.GlobalLoad | kir.GlobalStore, reach: GlobalReach) -> Iterator[Touch]:
    """The values of a tensor that are accessed; nothing where all are outside."""
    inside = np.ones((len(w.lanes), CHUNK), bool) if reach.inside is None else w.of(reach.inside)
    if not inside.any():
        return
    index = [np.broadcast_to(w.at(e)[:, None], inside.shape) for e in op.index]
    if op.along is not None:
        index[op.along] = index[op.along] + np.arange(CHUNK)
    text, count = _region(op.tensor, [x[inside] for x in index])
    yield replace(w.touch(kind, "global", op.tensor, text, ITEM * count), cut=not inside.all())


def _tile(w: _Warp, kind: str, op: kir.SharedStore | kir.FragmentLoad, reach: SharedReach) -> Touch:
    """The elements of a tile, and the buffer."""
    tile = w.ir.tile(op.tile)
    if isinstance(op, kir.FragmentLoad):
        count = w.ir.register(op.target.array).width
        own = apply(op.ownership, w.lanes[:, None], np.arange(count))
        index = [w.at(e)[:, None] + o for e, o in zip(op.origin, own, strict=True)]
    else:
        index = [w.at(e)[:, None] for e in op.index]
        index[tile.order[-1]] = index[tile.order[-1]] + np.arange(CHUNK)
    text, count = _region(op.tile, [x.reshape(-1) for x in np.broadcast_arrays(*index)])
    chunks = _chunks(w, tile, reach, range(len(reach.units)))
    if tile.buffers > 1:
        text += f" buffer {int(w.at(op.buffer)[0])}"
        chunks = tuple(c % tile.chunks for c in chunks)
    return w.touch(kind, "shared", op.tile, text, ITEM * count, chunks)


def _slots(
    w: _Warp, kind: str, op: kir.ExchangeStore | kir.ExchangeLoad, reach: SharedReach, parts: int
) -> Iterator[Touch]:
    """The warps' buffers of an exchange; the accesses of a reach are those of one buffer after the other."""
    tile, each = w.ir.tile(op.buffer), len(reach.units) // parts
    for part in range(parts):
        numbers = range(part * each, (part + 1) * each)
        chunks = _chunks(w, tile, reach, numbers)
        slot = int(w.at(op.slot)[0]) + part * (op.stride if isinstance(op, kir.ExchangeLoad) else 0)
        bytes_ = len({int(u) for n in numbers for u in w.of(reach.units[n]).reshape(-1)}) * reach.width
        text = f"{op.buffer} slot {slot}"
        if isinstance(op, kir.ExchangeLoad) and op.exchange.rounds > 1:
            text += f" round {int(w.at(op.round)[0])}"
        yield w.touch(kind, "shared", op.buffer, text, bytes_, chunks)


def _chunks(w: _Warp, tile: kir.SharedTile, reach: SharedReach, numbers: Sequence[int]) -> tuple[int, ...]:
    """The chunks of a tile that some of the accesses reach."""
    units = [w.of(reach.units[n]).reshape(-1) * reach.width // CHUNK_BYTES - tile.start for n in numbers]
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
