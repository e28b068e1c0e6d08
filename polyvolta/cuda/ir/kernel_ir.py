"""The kernel IR: loops, guards, barriers and a small closed set of operations, each with its relation.

A kernel is a program of one thread block. It has names that differ between threads (`blockIdx.y`, `linearId`,
`warpIdx_y`, `lane`, ...), loop variables that all threads share, and three memories: tensors in global memory,
tiles in shared memory, arrays in registers. Every place that an operation touches is a quasi-affine expression
(`Aff`) of those names, or an `IndexMap` applied to such expressions. The CUDA printer prints these
expressions, the interpreter evaluates them for all threads at once, the verifier reads them as relations; no
reader has index arithmetic of its own.

Units: shared memory is addressed in chunks of eight fp16 values (16 bytes), registers in elements of their
array: a group of fp16 or fp32 values, eight on the way between memories, more in the fragments of a macro-MMA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANES as LANES
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.functions.formula import Formula
from polyvolta.sets import Aff, aff

CHUNK = 8  # fp16 values in a 128-bit access
CHUNK_BYTES = 16
ZERO = aff(0)


# ---- memories


@dataclass(frozen=True, slots=True)
class GlobalTensor:
    """A tensor argument: a pointer and, with two dimensions, a leading dimension.

    The element at index x lies at `x[line] * ld + x[run]`, where `order` is (line, run), outermost first; of one
    dimension at `x[0]`.

    Parameters
    ----------
    name : of the argument.
    dims : size names or numbers, one or two.
    order : the dimensions, outermost first.
    written : whether it is an output.
    align : how many consecutive values one access may move: 8, 4, 2 or 1. The pointer and the leading dimension
        are multiples of so many values.
    """

    name: str
    dims: tuple[str | int, ...]
    order: tuple[int, ...]
    written: bool = False
    align: int = CHUNK

    @property
    def ld(self) -> str | None:
        """The name of the leading dimension, an int argument; None for a vector."""
        return f"ld{self.name}" if len(self.dims) == 2 else None


@dataclass(frozen=True, slots=True)
class SharedTile:
    """A tile in shared memory.

    Parameters
    ----------
    name : of the C array.
    start : its first chunk in the block's shared memory; tiles that are not alive together may overlap.
    chunks : the size of one buffer in chunks of 8 fp16 values.
    layout : tile-local element index -> chunk; None for the exchange buffer, which `Exchange` addresses itself.
    order : the dimensions of the layout's elements, outermost first: consecutive values of the last share a chunk.
    buffers : how many copies of the tile there are, one after the other.
    """

    name: str
    start: int
    chunks: int
    layout: IndexMap | None = None
    order: tuple[int, ...] = ()
    buffers: int = 1

    @property
    def bytes(self) -> int:
        return self.buffers * self.chunks * CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class RegisterArray:
    """An array that each thread has for itself.

    Each element is `width` values of `kind` "half" (fp16) or "float" (fp32): 8 on the way between memories, of a
    fragment as many as a lane has.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    width: int = CHUNK


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a register array: all its values."""

    array: str
    index: tuple[Aff, ...]


# ---- operations. `index` tuples are in the tensor's dimension order; `statement` is the tree's.


@dataclass(frozen=True, slots=True)
class Zero:
    """An accumulator fragment becomes 0."""

    target: Element
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """An accumulator fragment is multiplied by a number, in fp32."""

    target: Element
    factor: float
    statement: str = ""


@dataclass(frozen=True, slots=True)
class GlobalLoad:
    """Each thread loads 8 fp16 values of a tensor: at `index`, and the next seven along dimension `along`.

    `along` None: all eight are the one at `index`. Along the contiguous dimension the values are moved in accesses
    of `align` values, along another one by one. With `guarded`, values outside of the tensor are not accessed and
    count as 0; without it there are none.
    """

    target: Element
    tensor: str
    index: tuple[Aff, ...]
    along: int | None
    guarded: bool = False
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Inside:
    """Which of eight values count: value v, at `index` and v further along dimension `along`, is inside where each
    coordinate d is less than `extents[d]`. `along` None: all eight have one index.
    """

    index: tuple[Aff, ...]
    extents: tuple[Aff, ...]
    along: int | None


@dataclass(frozen=True, slots=True)
class Pointwise:
    """`target[v] = formula(operands[v])` for each of eight values v, computed in fp32.

    Operands are half or float elements, or names of scalar arguments; a half target is rounded to nearest even.
    With `inside`, values outside are 0 whatever the formula says.

    Parameters
    ----------
    name : what the helper function is called after, such as "relu_add".
    formula : an expression over the operands, `Input(n)` being operand n.
    """

    target: Element
    name: str
    formula: Formula
    operands: tuple[Element | str, ...]
    inside: Inside | None = None
    statement: str = ""


@dataclass(frozen=True, slots=True)
class SharedStore:
    """Each thread stores one chunk of its registers to buffer number `buffer` of a tile, at tile-local `index`."""

    source: Element
    tile: str
    index: tuple[Aff, ...]
    buffer: Aff = ZERO
    statement: str = ""


@dataclass(frozen=True, slots=True)
class FragmentLoad:
    """Each lane loads one operand fragment: value i is the tile's element `origin + ownership(lane, i)`.

    Values come `access` at a time (8: 128-bit, 4, 2 or 1), consecutive ones within a chunk. `operand` is "a" or "b";
    `ownership` maps [lane, i] to the fragment-local element, in the tile's dimension order.
    """

    target: Element
    tile: str
    origin: tuple[Aff, ...]
    operand: str
    ownership: IndexMap
    access: int = CHUNK
    buffer: Aff = ZERO
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
    """How a warp turns an accumulator fragment into runs of 8 consecutive values, through its own shared buffer.

    Lane l stores, for each piece p, the values `pieces[p]` of its fragment, converted to `kind`, to place
    `store(l)[p]` of its warp's buffer, counted in pieces. In round r it then loads the 128-bit vectors
    `load(l, r)` of the buffer; value v of its run is number `words[v]` of the values loaded, and is the fragment's
    element `owns(l, r)`, v further along dimension `along`.

    Parameters
    ----------
    kind : "half" or "float", what lies in the buffer.
    pieces : numbers of values of a lane's fragment, all pieces of one length.
    store : { [lane] -> [piece0, piece1, ...] }.
    load : { [lane, round] -> [vector0, ...] }, one vector for half, two for float.
    words : of the 8 loaded values the one that is value v.
    owns : { [lane, round] -> [row, col] }.
    along : the dimension along which a run's values are consecutive: 1 for a row-major result, 0 for a column-major.
    rounds : how many runs of 8 a lane takes: its fragment's values / 8.
    chunks : the size of a warp's buffer in chunks of 16 bytes.
    """

    kind: str
    pieces: tuple[tuple[int, ...], ...]
    store: IndexMap
    load: IndexMap
    words: tuple[int, ...]
    owns: IndexMap
    along: int
    rounds: int
    chunks: int


@dataclass(frozen=True, slots=True)
class ExchangeStore:
    """Each lane stores its accumulator fragment to its warp's buffer, at chunk `slot * exchange.chunks`."""

    source: Element
    buffer: str
    slot: Aff
    exchange: Exchange
    statement: str = ""


@dataclass(frozen=True, slots=True)
class ExchangeLoad:
    """Each lane loads its run of round `round` into 8 values; with several parts the sum over the buffers
    `slot`, `slot + stride`, ..., added in that order in fp32 (the reduction of a split K)."""

    target: Element
    buffer: str
    slot: Aff
    exchange: Exchange
    round: Aff
    parts: int = 1
    stride: int = 0
    statement: str = ""


@dataclass(frozen=True, slots=True)
class GlobalStore:
    """Each thread stores 8 values at `index` and further along dimension `along` of a tensor, as fp16.

    `source` is a half or float element (rounded to nearest even). Along the contiguous dimension the values are
    moved in accesses of `align` values. With `guarded`, values outside of the tensor are not written.
    """

    source: Element
    tensor: str
    index: tuple[Aff, ...]
    along: int
    guarded: bool = False
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block, or of a warp, wait for one another and see one another's shared-memory writes."""

    scope: str = "block"  # or "warp"
    statement: str = ""


Op = (Zero | Scale | GlobalLoad | Pointwise | SharedStore | FragmentLoad | Mma | ExchangeStore | ExchangeLoad
      | GlobalStore | Barrier)  # fmt: skip


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
    """The body runs where all conditions `e >= 0` hold, `orelse` elsewhere.

    `uniform` says that all threads of the block agree; else the lanes of each warp do, when there are operations
    below that a warp does together.
    """

    conditions: tuple[Aff, ...]
    body: tuple[Stmt, ...]
    uniform: bool = True
    comment: str = ""
    orelse: tuple[Stmt, ...] = ()


Stmt = Op | Loop | When


@dataclass(frozen=True, slots=True)
class KernelIR:
    """The definition of a kernel.

    Parameters
    ----------
    name : of the C function.
    sizes : the symbolic sizes, int arguments in this order.
    tensors : the tensor arguments in order, outputs last.
    scalars : fp32 arguments, after the sizes.
    tiles, registers : shared memory and register arrays.
    threads : threads per block; linearId runs over them.
    derived : names computed per thread from `linearId` or from one another, in order: warp, lane, warpIdx_x, ...
    ranges : for every name an inclusive (low, high) that its values keep to; high None when unknown.
    grid : numbers of blocks (x, y, z) as expressions of the sizes.
    context : what is required of the sizes: (size, multiple); () where any size will do.
    body : the program.
    about : what is computed, for the text's first line, such as "C = A @ B".

    The kernel's arguments are the sizes, the scalars, then for each tensor its pointer and its leading dimension.
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
    scalars: tuple[str, ...] = ()
    about: str = ""

    def tensor(self, name: str) -> GlobalTensor:
        return next(t for t in self.tensors if t.name == name)

    def tile(self, name: str) -> SharedTile:
        return next(t for t in self.tiles if t.name == name)

    def register(self, name: str) -> RegisterArray:
        return next(r for r in self.registers if r.name == name)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        return max((t.start * CHUNK_BYTES + t.bytes for t in self.tiles), default=0)

    @property
    def warps(self) -> int:
        return self.threads // LANES
