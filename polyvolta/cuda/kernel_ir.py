"""The kernel IR: loops, guards, barriers and a small closed set of operations, each with its relation.

A kernel is a program of one thread block. It has names that differ between threads (`blockIdx.y`, `linearId`,
`warpIdx_y`, `lane`, ...), loop variables that all threads share, and three memories: tensors in global memory,
tiles in shared memory, arrays in registers. Every place that an operation touches is a quasi-affine expression
(`Aff`) of those names, or an `IndexMap` applied to such expressions. The CUDA printer prints these
expressions, the interpreter evaluates them for all threads at once, the verifier reads them as relations; no
reader has index arithmetic of its own.

Units: shared memory is addressed in chunks of eight fp16 values (16 bytes), registers in elements of their
array (a half8 for staging and operand fragments, eight fp32 values for an accumulator fragment).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.sets import Aff

CHUNK = 8  # fp16 values in a 128-bit access
CHUNK_BYTES = 16


# ---- memories


@dataclass(frozen=True, slots=True)
class GlobalTensor:
    """A tensor argument. `dims` are size names or numbers; `order` lists the dimensions, outermost first.

    The element at index x lies at sum over order of x[d] * (product of the extents of the later ones).
    """

    name: str
    dims: tuple[str | int, ...]
    order: tuple[int, ...]
    written: bool = False


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A tile in shared memory.

    Parameters
    ----------
    name : of the C array.
    chunks : its size in chunks of 8 fp16 values.
    layout : tile-local element index -> chunk; None for the exchange buffer, which `Exchange` addresses itself.
    of : the tensor whose tile it holds.
    """

    name: str
    chunks: int
    layout: IndexMap | None
    of: str

    @property
    def bytes(self) -> int:
        return self.chunks * CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class RegisterArray:
    """An array that each thread has for itself: `kind` is "half8" (8 fp16) or "float8" (8 fp32) per element."""

    name: str
    kind: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a register array."""

    array: str
    index: tuple[Aff, ...]


# ---- operations. `index` tuples are in the tensor's dimension order; `statement` is the tree's.


@dataclass(frozen=True, slots=True)
class Zero:
    """An accumulator fragment becomes 0."""

    target: Element
    statement: str = ""


@dataclass(frozen=True, slots=True)
class GlobalLoad:
    """Each thread loads 8 consecutive fp16 values of a tensor, the first at `index`."""

    target: Element
    tensor: str
    index: tuple[Aff, ...]
    statement: str = ""


@dataclass(frozen=True, slots=True)
class SharedStore:
    """Each thread stores one chunk of its registers to a tile, at tile-local element `index`."""

    source: Element
    tile: str
    index: tuple[Aff, ...]
    statement: str = ""


@dataclass(frozen=True, slots=True)
class FragmentLoad:
    """Each lane loads one operand fragment: the chunk of the tile that holds `origin + ownership(lane)`.

    `operand` is "a" or "b"; `ownership` maps [lane, i] to the fragment-local element of value i, in the
    tensor's dimension order, and is contiguous in i so that it is one chunk.
    """

    target: Element
    tile: str
    origin: tuple[Aff, ...]
    operand: str
    ownership: IndexMap
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Mma:
    """d += a @ b for one macro-MMA, by the whole warp."""

    d: Element
    a: Element
    b: Element
    macro: MacroMma
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """How a warp turns accumulator fragments into rows of 8 fp16 values, through its own shared buffer.

    Lane l packs values `registers[p]` of its fragment, as fp16, into the 64-bit word number `store(l)[p]` of its
    warp's buffer, for each piece p. Then it loads chunk `load(l)` of that buffer, whose 32-bit words it takes in
    the order `words`, and has the 8 consecutive values that start at element `owns(l)` of the fragment. Warp w's
    buffer starts at chunk `w * chunks` of the tile.
    """

    registers: tuple[tuple[int, ...], ...]
    store: IndexMap
    load: IndexMap
    words: tuple[int, ...]
    owns: IndexMap
    chunks: int


@dataclass(frozen=True, slots=True)
class StoreAccumulator:
    """An accumulator fragment goes to global memory, converted to fp16 and exchanged within the warp.

    The fragment's element (0, 0) is the tensor's element `index`.
    """

    source: Element
    tensor: str
    index: tuple[Aff, ...]
    buffer: str
    exchange: Exchange
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block wait for one another, and see one another's shared-memory writes."""

    statement: str = ""


Op = Zero | GlobalLoad | SharedStore | FragmentLoad | Mma | StoreAccumulator | Barrier


# ---- control


@dataclass(frozen=True, slots=True)
class Loop:
    """`for var = max(lower); var <= min(upper); var += step`, uniform over the block."""

    var: str
    lower: tuple[Aff, ...]
    upper: tuple[Aff, ...]
    step: int
    unroll: bool
    body: tuple[Stmt, ...]
    comment: str = ""


@dataclass(frozen=True, slots=True)
class When:
    """The body runs where all conditions `e >= 0` hold; `uniform` says that all threads of the block agree."""

    conditions: tuple[Aff, ...]
    body: tuple[Stmt, ...]
    uniform: bool = True
    comment: str = ""


Stmt = Op | Loop | When


@dataclass(frozen=True, slots=True)
class KernelIR:
    """The definition of a kernel.

    Parameters
    ----------
    name : of the C function.
    sizes : the symbolic sizes, int arguments in this order.
    tensors : the tensor arguments in order, outputs last.
    tiles, registers : shared memory and register arrays.
    threads : threads per block; linearId runs over them.
    derived : names computed per thread from `linearId` or from one another, in order: warp, lane, warpIdx_x, ...
    ranges : for every name an inclusive (low, high) that its values keep to; high None when unknown.
    grid : numbers of blocks (x, y, z) as expressions of the sizes.
    context : what is required of the sizes: (size, multiple).
    body : the program.
    """

    name: str
    sizes: tuple[str, ...]
    tensors: tuple[GlobalTensor, ...]
    tiles: tuple[SharedTile, ...]
    registers: tuple[RegisterArray, ...]
    threads: int
    derived: tuple[tuple[str, Aff], ...]
    ranges: Mapping[str, tuple[int, int | None]] = field(hash=False)
    grid: tuple[Aff, Aff, Aff] = ()
    context: tuple[tuple[str, int], ...] = ()
    body: tuple[Stmt, ...] = ()

    def tensor(self, name: str) -> GlobalTensor:
        return next(t for t in self.tensors if t.name == name)

    def tile(self, name: str) -> SharedTile:
        return next(t for t in self.tiles if t.name == name)

    def register(self, name: str) -> RegisterArray:
        return next(r for r in self.registers if r.name == name)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        return sum(t.bytes for t in self.tiles)

    @property
    def warps(self) -> int:
        return self.threads // 32


def operations(body: tuple[Stmt, ...]) -> Iterator[Op]:
    """Every operation in a body, in program order, each once."""
    for s in body:
        if isinstance(s, Loop | When):
            yield from operations(s.body)
        else:
            yield s
