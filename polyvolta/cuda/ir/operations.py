"""The operations of the kernel IR: moves between the memories, products, pointwise formulas, barriers.

`index` tuples are in the tensor's, or the tile's, dimension order; `statement` is the schedule tree's. What each
operation touches is its `accesses`; see `ir.accesses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from typing import Self

import numpy as np

from polyvolta.cuda.ir.accesses import ARITHMETIC, CLEAR, CONVERT, Access, Operation, Work, of_element
from polyvolta.cuda.ir.exchange import Exchange
from polyvolta.cuda.ir.memories import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    NARROW,
    TENSOR_ITEM,
    VALUE_BYTES,
    ZERO,
    Element,
    Memories,
    Part,
)
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.functions.formula import Call, Formula, inputs, nodes, simplified
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True)
class Zero(Operation):
    """An accumulator fragment becomes 0."""

    target: Element
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return (of_element(ir, "write", self.target),)

    def work(self, ir: Memories) -> Work:
        return Work({CLEAR: ir.register(self.target.array).width})


@dataclass(frozen=True, slots=True)
class Scale(Operation):
    """An accumulator fragment is multiplied by a number, in fp32."""

    target: Element
    factor: float
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return of_element(ir, "read", self.target), of_element(ir, "write", self.target)

    def work(self, ir: Memories) -> Work:
        return Work({ARITHMETIC: ir.register(self.target.array).width})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return f"{writes[0]} *= {self.factor:g}"


@dataclass(frozen=True, slots=True)
class GlobalLoad(Operation):
    """Each thread loads 8 values of a tensor: at `index`, and the next seven along dimension `along`.

    `along` None: all eight are the one at `index`. Along the contiguous dimension the values are moved in accesses
    of `align` values, along another one by one. With `guarded`, values outside of the tensor are not accessed and
    count as 0; without it there are none.

    With `own`, a map { [lane, i] -> [+d0, ...] }, value i is the one at `index` plus what that says, as those of a
    fragment lie; `along` means nothing then. Two are moved at a time where they are side by side along
    the contiguous dimension, the first one at a multiple of 2.
    """

    target: Element
    tensor: str
    index: tuple[Aff, ...]
    along: int | None
    guarded: bool = False
    statement: str = ""
    own: IndexMap | None = None

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        if self.own is None:
            return _of_tensor(ir, "read", self), of_element(ir, "write", self.target)
        width = self.width(ir)
        place = Access("global", "read", self.tensor, self.index, CHUNK, width, TENSOR_ITEM, own=self.own,
                       guarded=self.guarded)  # fmt: skip
        return place, of_element(ir, "write", self.target)

    def width(self, ir: Memories) -> int:
        """How many values of a fragment one access moves."""
        assert self.own is not None
        tensor = ir.tensor(self.tensor)
        return gcd(2, tensor.align, side_by_side(self.own, tensor.order[-1]))

    def unguarded(self) -> Self:
        return replace(self, guarded=False)


@dataclass(frozen=True, slots=True)
class Inside(Part):
    """Which of eight values count: value v, at `index` and v further along dimension `along`, is inside where each
    coordinate d is less than `extents[d]`. `along` None: all eight have one index.

    With `own`, a map { [lane, i] -> [+d0, ...] }, value i is at `index` plus what that says, as those of a fragment
    lie; `along` means nothing then.
    """

    index: tuple[Aff, ...]
    extents: tuple[Aff, ...]
    along: int | None
    own: IndexMap | None = None


@dataclass(frozen=True, slots=True)
class Pointwise(Operation):
    """`target[v] = formula(operands[v])` for each of eight values v, computed in fp32.

    Operands are elements of any kind, or names of scalar arguments; a 16-bit target is rounded to nearest even.
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

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        reads = (of_element(ir, "read", x) for x in self.operands if isinstance(x, Element))
        return *reads, of_element(ir, "write", self.target)

    def work(self, ir: Memories) -> Work:
        """Operands that no longer count once the formula is simplified are not converted."""
        formula = simplified(self.formula)
        narrow = [e for e in (*(self.operands[p] for p in inputs(formula)), self.target) if isinstance(e, Element)]
        count = sum(ir.register(e.array).kind in NARROW for e in narrow)
        calls = sum(isinstance(x, Call) for x in nodes(formula))
        return Work({CONVERT: CHUNK * count, ARITHMETIC: CHUNK * calls})

    def unguarded(self) -> Self:
        return replace(self, inside=None)

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        given = iter(reads)
        operands = ", ".join(next(given) if isinstance(x, Element) else x for x in self.operands)
        return f"{writes[0]} = {self.name}({operands})"


@dataclass(frozen=True, slots=True)
class SharedStore(Operation):
    """Each thread stores one chunk of its registers to buffer number `buffer` of a tile, at tile-local `index`."""

    source: Element
    tile: str
    index: tuple[Aff, ...]
    buffer: Aff = ZERO
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        run = ir.tile(self.tile).order[-1:]  # () of a tile without a layout, where nobody may store so
        along = run[0] if run else None
        place = Access("shared", "write", self.tile, self.index, CHUNK, CHUNK, TENSOR_ITEM, along, slot=self.buffer)
        return of_element(ir, "read", self.source), place


@dataclass(frozen=True, slots=True)
class FragmentLoad(Operation):
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

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        count = ir.register(self.target.array).width
        place = Access(
            "shared", "read", self.tile, self.origin, count, self.access, TENSOR_ITEM, own=self.ownership,
            slot=self.buffer,
        )  # fmt: skip
        return place, of_element(ir, "write", self.target)


@dataclass(frozen=True, slots=True)
class Mma(Operation):
    """d += a @ b for one macro-MMA, by the whole warp."""

    d: Element
    a: Element
    b: Element
    macro: MacroMma
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        d, a, b = (of_element(ir, "read", e) for e in (self.d, self.a, self.b))
        return d, a, b, of_element(ir, "write", self.d)

    @property
    def together(self) -> str:
        return "warp"

    @property
    def product(self) -> MacroMma:
        return self.macro

    def work(self, ir: Memories) -> Work:
        macro, steps = self.macro, self.macro.steps
        results = sum(VALUE_BYTES["float"] * len(s.d) * LANES for s in steps)
        operands = sum(VALUE_BYTES["half"] * (len(s.a) + len(s.b)) * LANES for s in steps)
        return Work({macro.instruction.opcode: macro.slots}, macro.flops, operands + results, results)

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        d, a, b = reads
        return f"{d} += {a} @ {b}"


@dataclass(frozen=True, slots=True)
class ExchangeStore(Operation):
    """Each lane stores its accumulator fragment to its warp's buffer, at chunk `slot * exchange.chunks`."""

    source: Element
    buffer: str
    slot: Aff
    exchange: Exchange
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        ex = self.exchange
        width = len(ex.pieces[0])
        place = Access(
            "shared", "write", self.buffer, (), width * len(ex.pieces), width, VALUE_BYTES[ex.kind], slot=self.slot,
            slot_chunks=ex.chunks, places=ex.store,
        )  # fmt: skip
        return of_element(ir, "read", self.source), place

    @property
    def together(self) -> str:
        return "warp"

    @property
    def plan(self) -> Exchange:
        return self.exchange

    def work(self, ir: Memories) -> Work:
        return Work({CONVERT: ir.register(self.source.array).width} if self.exchange.kind in NARROW else {})


@dataclass(frozen=True, slots=True)
class ExchangeLoad(Operation):
    """Each lane loads its run of round `round` into 8 values; with several parts the sum over the buffers
    `slot`, `slot + stride`, ..., added in that order in fp32 (the reduction of a split K).

    With `first` the parts are those in the same buffer of several blocks of a cluster: of that rank and of each
    `stride` further.
    """

    target: Element
    buffer: str
    slot: Aff
    exchange: Exchange
    round: Aff
    parts: int = 1
    stride: int = 0
    statement: str = ""
    first: Aff | None = None

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        ex, item = self.exchange, VALUE_BYTES[self.exchange.kind]
        first = Access(
            "shared", "read", self.buffer, (), CHUNK, CHUNK_BYTES // item, item, slot=self.slot,
            slot_chunks=ex.chunks, places=ex.load, given=(self.round,),
        )  # fmt: skip
        apart = self.stride if self.first is None else 0  # of other blocks the same places
        parts = (replace(first, slot=self.slot + part * apart) for part in range(self.parts))
        return *parts, of_element(ir, "write", self.target)

    @property
    def together(self) -> str:
        return "warp"

    @property
    def plan(self) -> Exchange:
        return self.exchange

    def work(self, ir: Memories) -> Work:
        return Work({ARITHMETIC: CHUNK * (self.parts - 1)})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        return f"{writes[0]} = {' + '.join(reads)}"


@dataclass(frozen=True, slots=True)
class GlobalStore(Operation):
    """Each thread stores 8 values at `index` and further along dimension `along` of a tensor, in its kind.

    `source` is an element of that kind or of floats (rounded to nearest even). Along the contiguous dimension the
    values are moved in accesses of `align` values. With `guarded`, values outside of the tensor are not written.
    """

    source: Element
    tensor: str
    index: tuple[Aff, ...]
    along: int
    guarded: bool = False
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return of_element(ir, "read", self.source), _of_tensor(ir, "write", self)

    def work(self, ir: Memories) -> Work:
        return Work({CONVERT: CHUNK} if ir.register(self.source.array).kind == "float" else {})

    def unguarded(self) -> Self:
        return replace(self, guarded=False)


@dataclass(frozen=True, slots=True)
class Barrier(Operation):
    """All threads of a scope wait for one another and see one another's shared-memory writes.

    Parameters
    ----------
    scope : "cluster", all blocks of one, "block", "role", "warpgroup" or "warp".
    """

    scope: str = "block"
    statement: str = ""

    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        return ()

    @property
    def together(self) -> str:
        return self.scope

    @property
    def orders(self) -> str:
        return self.scope

    def work(self, ir: Memories) -> Work:
        return Work({{"warp": "WARPSYNC", "cluster": "UCGABAR"}.get(self.scope, "BAR.SYNC"): 1})

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        if self.scope == "warp":
            return "its lanes wait for one another"
        whose = {"block": "the block", "cluster": "the cluster"}.get(self.scope, f"its {self.scope}")
        return f"waits for all warps of {whose}"


@lru_cache(maxsize=256)
def side_by_side(own: IndexMap, run: int) -> int:
    """How many of a lane's eight values are side by side along dimension `run`, from a multiple on: 8, 4, 2 or 1.

    >>> from polyvolta.cuda.target.instruction import I, LANE, owned
    >>> own = owned(8, row=LANE // 4 + 8 * (I // 2 % 2), col=2 * (LANE % 4) + I % 2 + 8 * (I // 4))
    >>> side_by_side(own, 1), side_by_side(own, 0)
    (2, 1)
    """
    (lane, lanes), (i, values) = own.inputs
    grid = np.meshgrid(np.arange(lanes), np.arange(values), indexing="ij")
    at = [np.broadcast_to(x, (lanes, values)) for x in own.evaluate({lane: grid[0], i: grid[1]})]
    for width in (CHUNK, 4, 2):
        first, step = [x[:, ::width] for x in at], np.arange(width)
        expected = [np.repeat(x, width, 1) + (np.tile(step, values // width) if d == run else 0)
                    for d, x in enumerate(first)]  # fmt: skip
        if not (first[run] % width).any() and all((x == e).all() for x, e in zip(at, expected, strict=True)):
            return width
    return 1


def _of_tensor(ir: Memories, kind: str, op: GlobalLoad | GlobalStore) -> Access:
    """Eight values of a tensor; as many at once as its alignment allows along the contiguous dimension."""
    tensor = ir.tensor(op.tensor)
    width = tensor.align if op.along == tensor.order[-1] else 1
    return Access("global", kind, op.tensor, op.index, CHUNK, width, TENSOR_ITEM, op.along, guarded=op.guarded)
