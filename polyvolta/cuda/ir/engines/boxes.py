"""Boxes: rectangles of a matrix that the copy engine moves to shared memory and back, one thread asking for each.

A `BoxMap` says of what tensor, how large, and how 16-byte units are permuted in shared memory; the host encodes it
once for an array, as the kernel's argument. A box that is partly outside of its tensor is filled up with zeros, and
all of its bytes count all the same; what is stored outside is dropped. So no box needs a guard. What is dropped are
whole units of 16 bytes: a line that ends within one is stored to that one's end, as was measured on an H200. So the
extent of a tensor that is stored by boxes is a multiple of 8 values along its lines (`GlobalTensor.whole`).

A copy to shared memory is complete when a phase of a barrier is that counts its bytes (`ir.phases`). Boxes that are
stored form groups of the thread that asked for them, as its `cp.async` copies do, in a queue of their own.

The engine reads and writes shared memory past the threads, by the *async proxy*: what threads wrote must be fenced
before the engine reads it (`ProxyFence`).

Source: PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor" and "Tensor-Map".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvolta.cuda.ir.accesses import Access, Operation, Work
from polyvolta.cuda.ir.engines.phases import Phase
from polyvolta.cuda.ir.memories import TENSOR_ITEM, ZERO, Memories
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class BoxCopy(Operation):
    """A thread has a box of a tensor copied to a tile; its bytes arrive in a phase.

    Parameters
    ----------
    map : the tensor and the box's extents, a `BoxMap` by name.
    index : the box's first element in the tensor, in the order of its dimensions; any integers.
    tile, place, buffer : the tile, the box's first element in it, and which of its buffers.
    phase : waits for the box's bytes.
    to : ranks in the cluster of the blocks that get it, each at the same place of its own tile, and each a phase of its
        own barrier the bytes; () the thread's own block alone.
    """

    map: str
    index: tuple[Aff, ...]
    tile: str
    place: tuple[Aff, ...]
    phase: Phase
    buffer: Aff = ZERO
    statement: str = ""
    to: tuple[Aff, ...] = ()

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return _accesses(ir, self, to_shared=True)

    def work(self, ir: Memories) -> Work:
        return Work({"UTMALDG": 1})


@dataclass(frozen=True, slots=True)
class BoxStore(Operation):
    """A thread has a box of a tile stored to a tensor; see `BoxCopy`. It joins the thread's group of stores."""

    map: str
    index: tuple[Aff, ...]
    tile: str
    place: tuple[Aff, ...]
    buffer: Aff = ZERO
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return _accesses(ir, self, to_shared=False)

    def work(self, ir: Memories) -> Work:
        return Work({"UTMASTG": 1})


def _accesses(ir: Memories, op: BoxCopy | BoxStore, to_shared: bool) -> tuple[Access, ...]:
    """All values of a box by the one thread: a line of it is an instruction, as it were."""
    m = ir.box_map(op.map)
    order, tile = ir.tensor(m.tensor).order, ir.tile(op.tile)
    kinds, size = ("read", "write"), (m.box.lines * m.box.run, m.box.run, TENSOR_ITEM)
    tensor = Access("global", kinds[not to_shared], m.tensor, op.index, *size, own=m.elements(order), guarded=True,
                    proxy="async", when="completion")  # fmt: skip
    shared = Access("shared", kinds[to_shared], op.tile, op.place, *size, own=m.elements(tile.order), slot=op.buffer,
                    proxy="async", when="completion")  # fmt: skip
    return (tensor, shared) if to_shared else (shared, tensor)


class _OfStores(Operation):
    """Closes, or waits for, groups of the thread's stored boxes."""

    __slots__ = ()

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class CommitStores(_OfStores):
    """The boxes that the thread has had stored since its last commit are a group."""

    statement: str = ""

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "its stored boxes since the last commit become a group"


@dataclass(frozen=True, slots=True)
class WaitStores(_OfStores):
    """The thread waits until of at most `pending` of its newest groups of stored boxes shared memory is still read."""

    pending: int
    statement: str = ""

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        but = f" but of the newest {self.pending} groups" if self.pending else ""
        return f"waits until its stored boxes{but} have been read"


@dataclass(frozen=True, slots=True)
class ProxyFence(_OfStores):
    """What the thread wrote to shared memory is there for the copy engine and for the tensor cores' descriptors."""

    statement: str = ""

    def work(self, ir: Memories) -> Work:
        return Work({"FENCE.VIEW.ASYNC": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "its writes to shared memory come before the copy engine's reads"


OPERATIONS = (BoxCopy, BoxStore, CommitStores, WaitStores, ProxyFence)
"""Those of this module."""
