"""The kernel IR: loops, guards, and operations, each with its relation.

A kernel is a program of one thread block. It has names that differ between threads (`blockIdx.y`, `linearId`,
`warpIdx_y`, `lane`, ...), loop variables that all threads share, and three memories: tensors in global memory,
tiles in shared memory, arrays in registers. Every place that an operation touches is a quasi-affine expression
(`Aff`) of those names, or an `IndexMap` applied to such expressions. The CUDA printer prints these
expressions, the interpreter evaluates them for all threads at once, the verifier reads them as relations; no
reader has index arithmetic of its own.

The memories are those of `ir.memories`, the operations those of `ir.operations`, `ir.transfers` and `ir.engines`, and
what an operation says of itself is told in `ir.accesses`; here are control and the kernel as a whole, and all names of
these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyvolta.cuda.ir.accesses import Access as Access
from polyvolta.cuda.ir.accesses import Operation as Operation
from polyvolta.cuda.ir.accesses import Work as Work
from polyvolta.cuda.ir.block_order import PLAIN as PLAIN
from polyvolta.cuda.ir.block_order import BlockOrder as BlockOrder
from polyvolta.cuda.ir.engines.boxes import BoxCopy as BoxCopy
from polyvolta.cuda.ir.engines.boxes import BoxStore as BoxStore
from polyvolta.cuda.ir.engines.boxes import CommitStores as CommitStores
from polyvolta.cuda.ir.engines.boxes import ProxyFence as ProxyFence
from polyvolta.cuda.ir.engines.boxes import WaitStores as WaitStores
from polyvolta.cuda.ir.engines.grids import AwaitGrids as AwaitGrids
from polyvolta.cuda.ir.engines.grids import ReleaseGrids as ReleaseGrids
from polyvolta.cuda.ir.engines.phases import Arrive as Arrive
from polyvolta.cuda.ir.engines.phases import Await as Await
from polyvolta.cuda.ir.engines.phases import InitBarriers as InitBarriers
from polyvolta.cuda.ir.engines.phases import Phase as Phase
from polyvolta.cuda.ir.engines.rewrites import SharedLoad as SharedLoad
from polyvolta.cuda.ir.engines.warpgroups import SharedOperand as SharedOperand
from polyvolta.cuda.ir.engines.warpgroups import Wgmma as Wgmma
from polyvolta.cuda.ir.engines.warpgroups import WgmmaCommit as WgmmaCommit
from polyvolta.cuda.ir.engines.warpgroups import WgmmaFence as WgmmaFence
from polyvolta.cuda.ir.engines.warpgroups import WgmmaWait as WgmmaWait
from polyvolta.cuda.ir.exchange import Exchange as Exchange
from polyvolta.cuda.ir.memories import CHUNK as CHUNK
from polyvolta.cuda.ir.memories import CHUNK_BYTES as CHUNK_BYTES
from polyvolta.cuda.ir.memories import NARROW as NARROW
from polyvolta.cuda.ir.memories import VALUE_BYTES as VALUE_BYTES
from polyvolta.cuda.ir.memories import ZERO as ZERO
from polyvolta.cuda.ir.memories import BoxMap as BoxMap
from polyvolta.cuda.ir.memories import Element as Element
from polyvolta.cuda.ir.memories import GlobalTensor as GlobalTensor
from polyvolta.cuda.ir.memories import Memories as Memories
from polyvolta.cuda.ir.memories import Part as Part
from polyvolta.cuda.ir.memories import PhaseBarriers as PhaseBarriers
from polyvolta.cuda.ir.memories import RegisterArray as RegisterArray
from polyvolta.cuda.ir.memories import SharedTile as SharedTile
from polyvolta.cuda.ir.operations import Barrier as Barrier
from polyvolta.cuda.ir.operations import ExchangeLoad as ExchangeLoad
from polyvolta.cuda.ir.operations import ExchangeStore as ExchangeStore
from polyvolta.cuda.ir.operations import FragmentLoad as FragmentLoad
from polyvolta.cuda.ir.operations import GlobalLoad as GlobalLoad
from polyvolta.cuda.ir.operations import GlobalStore as GlobalStore
from polyvolta.cuda.ir.operations import Inside as Inside
from polyvolta.cuda.ir.operations import Mma as Mma
from polyvolta.cuda.ir.operations import Pointwise as Pointwise
from polyvolta.cuda.ir.operations import Scale as Scale
from polyvolta.cuda.ir.operations import SharedStore as SharedStore
from polyvolta.cuda.ir.operations import Zero as Zero
from polyvolta.cuda.ir.runs import Runs as Runs
from polyvolta.cuda.ir.runs import TakeRun as TakeRun
from polyvolta.cuda.ir.transfers import AsyncCopy as AsyncCopy
from polyvolta.cuda.ir.transfers import CommitCopies as CommitCopies
from polyvolta.cuda.ir.transfers import LoadMatrix as LoadMatrix
from polyvolta.cuda.ir.transfers import StoreMatrix as StoreMatrix
from polyvolta.cuda.ir.transfers import WaitCopies as WaitCopies
from polyvolta.cuda.target.instruction import LANES as LANES
from polyvolta.display.shown import Shown
from polyvolta.sets import Aff

Op = Operation
"""Any operation, of this package or of another."""
OPERATIONS = (Zero, Scale, GlobalLoad, Pointwise, SharedStore, FragmentLoad, Mma, ExchangeStore, ExchangeLoad,
              GlobalStore, Barrier, LoadMatrix, StoreMatrix, AsyncCopy, CommitCopies, WaitCopies, TakeRun, InitBarriers,
              Arrive, Await, BoxCopy, BoxStore, CommitStores, WaitStores, ProxyFence, Wgmma, WgmmaFence, WgmmaCommit,
              WgmmaWait, AwaitGrids, ReleaseGrids, SharedLoad)  # fmt: skip
"""Those of this package."""


@dataclass(frozen=True, slots=True)
class Loop(Part):
    """`for var = max(lower); var <= min(upper); var += step`, uniform over the block."""

    var: str
    lower: tuple[Aff, ...]
    upper: tuple[Aff, ...]
    step: int
    unroll: bool
    body: tuple[Stmt, ...]
    comment: str = ""


@dataclass(frozen=True, slots=True)
class When(Part):
    """The body runs where all conditions `e >= 0` hold, `orelse` elsewhere.

    `uniform` says that all threads of the block agree, those of other roles included; else the lanes of each warp do,
    when there are operations below that a warp does together.
    """

    conditions: tuple[Aff, ...]
    body: tuple[Stmt, ...]
    uniform: bool = True
    comment: str = ""
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class Role(Part):
    """Some warps of a block, and what they do.

    Parameters
    ----------
    name : for texts, such as "producer".
    first, warps : the warps from `first` on, so many.
    body : their program.
    registers : of each of their threads, a multiple of 8 from 24 to 256: the block's registers are shared out anew
        when its program begins, warpgroup by warpgroup. 0: as many as the compiler gives to all.
    """

    name: str
    first: int
    warps: int
    body: tuple[Stmt, ...]
    registers: int = 0


@dataclass(frozen=True, slots=True)
class Roles(Part):
    """Each role's warps run its body, at the same time as the others run theirs; a warp has one role at most."""

    roles: tuple[Role, ...]
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Tiles(Part):
    """For each of the block's tiles of number `first`, `first` + `step`, ..., one after the other: the body.

    In a kernel whose blocks are fewer than the places of its grid (`KernelIR.resident`) tile number t of the block of
    number b is the place of number b + t * blocks, in the kernel's order of blocks; blockIdx.x, .y, .z in the body are
    that place. Where blocks form clusters these numbers are of clusters, see `ir.engines.clusters`.

    Parameters
    ----------
    turn : the name of the tile's number, from 0 on.
    counters : names of sums over the tiles before, and what each tile adds, an expression in sizes: at tile number t
        it is t times that, also of tiles that `step` leaves out. What is numbered through all tiles, as those of a ring
        are, goes on counting.
    """

    turn: str
    counters: tuple[tuple[str, Aff], ...]
    body: tuple[Stmt, ...]
    first: int = 0
    step: int = 1
    comment: str = ""


Stmt = Op | Loop | When | Roles | Tiles


@dataclass(frozen=True, slots=True, weakref_slot=True)
class KernelIR(Shown, Memories):
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
    block_order : which place of the grid a block of some number computes; the names blockIdx.x, .y are that place.
    occupancy : how many blocks are to share a multiprocessor at least; the compiler leaves each its part of registers.
    barriers : rows of barriers with phases, in shared memory behind the tiles.
    maps : what the copy engine knows of tensors. Of a tensor that is reached by boxes alone there is no pointer.
    dependent : whether it is launched while the grids before it may still run, for whose end it waits itself.
    resident : most blocks that are launched, whole clusters, where each computes several places of the grid, see
        `Tiles`; 0: as many as there are places, one each.
    cluster : blocks of a cluster along x, y and z, of which the grid is a whole number; see `ir.engines.clusters`.

    The kernel's arguments are the sizes, the scalars, then for each tensor its pointer and its leading dimension, then
    the maps.
    """

    name: str
    sizes: tuple[str, ...]
    tensors: tuple[GlobalTensor, ...]
    tiles: tuple[SharedTile, ...]
    registers: tuple[RegisterArray, ...]
    threads: int
    derived: tuple[tuple[str, Aff], ...]
    ranges: Mapping[str, tuple[int, int | None]] = field(hash=False)
    grid: tuple[Aff, ...] = ()
    context: tuple[tuple[str, int], ...] = ()
    body: tuple[Stmt, ...] = ()
    scalars: tuple[str, ...] = ()
    about: str = ""
    block_order: BlockOrder = PLAIN
    occupancy: int = 1
    barriers: tuple[PhaseBarriers, ...] = ()
    maps: tuple[BoxMap, ...] = ()
    dependent: bool = False
    resident: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)

    @property
    def kind(self) -> str:
        """Of what lies in its tensors and tiles, "half" (fp16) or "bfloat16"; a well-formed kernel has one."""
        return next((t.kind for t in self.tensors), "half")

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        return max((x.start * CHUNK_BYTES + x.bytes for x in (*self.tiles, *self.barriers)), default=0)

    @property
    def warps(self) -> int:
        return self.threads // LANES

    def __repr__(self) -> str:
        return f"<KernelIR {self.name}, {self.threads} threads a block; print it>"

    def __str__(self) -> str:
        from polyvolta.cuda.shown.ir import as_text

        return as_text(self)

    def _html(self) -> str:
        from polyvolta.cuda.shown.ir import as_html

        return as_html(self)


class ByIdentity:
    """A kernel as what it is, not as what it is equal to: as a key, for a comparison may cost more than an answer."""

    __slots__ = ("ir",)

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir

    def __hash__(self) -> int:
        return id(self.ir)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.ir is self.ir
