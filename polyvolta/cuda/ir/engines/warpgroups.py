"""Products of a warpgroup, `wgmma`: asynchronous, with operands that tensor cores read from shared memory themselves.

The left operand may be in registers, too: each warp has a fragment of its rows. They must stay as they are until a wait
that covers the product, as tiles must.

Four warps issue one together. It runs on while they go on: their accumulators are anything until a wait for all
products, and the operands' tiles must stay as they are until a wait that covers it. What a warpgroup issues between two
commits is a group, and a wait lets its newest groups run on. Products on one accumulator follow one another without a
wait.

What is read from shared memory a *descriptor* names: where the operand starts, how its 8x16-byte cores lie from there
on, and how 16-byte units are permuted. It reads by the async proxy, as the copy engine writes; what threads wrote must
be fenced before (`ir.boxes.ProxyFence`). Registers that threads wrote, the accumulators at the beginning, too, are
there for the tensor cores after a `WgmmaFence`.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from polyvolta.cuda.ir.accesses import Access, Operation, Work, of_element
from polyvolta.cuda.ir.memories import LANES, TENSOR_ITEM, ZERO, Element, Memories, Part
from polyvolta.cuda.target.descriptors import Descriptor
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.sets import Aff, var

WARPS = 4  # of a warpgroup


@dataclass(frozen=True, slots=True)
class SharedOperand(Part):
    """An operand of a product as it lies in shared memory.

    Parameters
    ----------
    tile, buffer : where it is part of, and which buffer of that.
    origin : its first element in the tile.
    start : the chunk of the buffer at which the descriptor starts.
    descriptor : what is read from there.
    """

    tile: str
    origin: tuple[Aff, ...]
    start: Aff
    descriptor: Descriptor
    buffer: Aff = ZERO


@dataclass(frozen=True, slots=True)
class Wgmma(Operation):
    """d += a @ b by a warpgroup, some time later; d = a @ b, whatever d was, where a condition does not hold.

    So a sum begins with its first product, and nobody clears accumulators before: zeros that threads write would meet
    the products of the tile before, in a kernel that goes on with another, and cost as much as a product's start.

    Parameters
    ----------
    d : the accumulators: fragments of the result side by side, a lane's values one behind the other.
    a : the left operand, in shared memory, or fragments of the four warps in registers.
    b : the right operand in shared memory.
    macro : shape and ownership maps.
    adds : conditions `e >= 0`, the same for all threads of the warpgroup, under all of which d counts; () : always.
    """

    d: tuple[Element, ...]
    a: SharedOperand | Element
    b: SharedOperand
    macro: MacroMma
    statement: str = ""
    adds: tuple[Aff, ...] = ()

    @property
    def shared(self) -> tuple[tuple[str, SharedOperand], ...]:
        """The operands in shared memory, each with its letter."""
        return tuple((letter, x) for letter, x in (("a", self.a), ("b", self.b)) if isinstance(x, SharedOperand))

    @property
    def held(self) -> tuple[Element, ...]:
        """The registers that it reads or writes some time later: the accumulators, and an operand that is there."""
        return (*self.d, self.a) if isinstance(self.a, Element) else self.d

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        before, after = ([of_element(ir, kind, e) for e in self.d] for kind in ("read", "write"))
        a = of_element(ir, "read", self.a) if isinstance(self.a, Element) else self._read("a", self.a)
        return *before, a, self._read("b", self.b), *after

    def _read(self, letter: str, x: SharedOperand) -> Access:
        """What a warp counts as its part of an operand in shared memory."""
        m, n, k = self.macro.shape
        own, origin = _shared_out(k, n, "col"), x.origin
        if letter == "a":
            row, depth = x.origin
            own, origin = _shared_out(m // WARPS, k, "row"), (row + m // WARPS * (var("warp") % WARPS), depth)
        return Access("shared", "read", x.tile, origin, own.inputs[1][1], 1, TENSOR_ITEM, own=own, slot=x.buffer,
                      proxy="async", when="completion", opcode="HGMMA")  # fmt: skip

    @property
    def together(self) -> str:
        return "warpgroup"

    @property
    def product(self) -> MacroMma:
        return self.macro

    def work(self, ir: Memories) -> Work:
        macro = self.macro
        return Work({macro.instruction.opcode: macro.slots}, macro.flops // WARPS)  # of each of the warps

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        *d, a, b = reads
        return f"{', '.join(d)} {'+=' if not self.adds else '= or +='} {a} @ {b}"


@lru_cache(maxsize=256)
def _shared_out(rows: int, cols: int, kind: str) -> IndexMap:
    """{ [lane, i] -> [+row, +col] }: all values of a matrix, dealt out to the lanes of a warp, whoever reads them."""
    count = -(-rows * cols // LANES)
    number = var("lane") * count + var("i")
    row, col = number // cols, number % cols
    return IndexMap((("lane", LANES), ("i", count)), (("row", row), ("col", col))).simplified()


class _Ordering(Operation):
    """Orders the products of a warpgroup; touches no array."""

    __slots__ = ()

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()

    @property
    def together(self) -> str:
        return "warpgroup"


@dataclass(frozen=True, slots=True)
class WgmmaFence(_Ordering):
    """What the warpgroup's threads wrote to registers is there for its next products."""

    statement: str = ""

    def work(self, ir: Memories) -> Work:
        return Work({"WARPGROUP.ARRIVE": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "its registers are ready for the products to come"


@dataclass(frozen=True, slots=True)
class WgmmaCommit(_Ordering):
    """The products that the warpgroup has issued since its last commit are a group; without any it is an empty one."""

    statement: str = ""

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return "its products since the last commit become a group"


@dataclass(frozen=True, slots=True)
class WgmmaWait(_Ordering):
    """The warpgroup waits until at most `pending` of its newest groups of products are running.

    Tiles that the others have read may be written then. Accumulators are threads' again behind a wait for all products
    alone, with 0 pending: that of others doesn't say whose end it waits for, so that compilers, which read registers
    where they like, would read these before it.
    """

    pending: int
    statement: str = ""

    def work(self, ir: Memories) -> Work:
        return Work({"WARPGROUP.DEPBAR": 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        but = f" but the newest {self.pending} groups" if self.pending else ""
        return f"waits for all its products{but}"


OPERATIONS = (Wgmma, WgmmaFence, WgmmaCommit, WgmmaWait)
"""Those of this module."""
