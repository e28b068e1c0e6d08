"""From a scanned tree to the kernel IR: calls of statements become typed operations.

A call `load_A(blockIdx.y, blockIdx.x, c2, c3, linearId)` and the statement's `Movement` together say which
element is touched: the movement's expressions with the call's arguments put in. What is chosen here is how
data lies in shared memory (the swizzle), how the accumulators are exchanged, and what arrays are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import NoReturn

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.exchange import plan_exchange
from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.kernel_ir import (
    CHUNK,
    Barrier,
    Element,
    Exchange,
    FragmentLoad,
    GlobalLoad,
    GlobalTensor,
    KernelIR,
    Loop,
    Mma,
    Op,
    RegisterArray,
    SharedStore,
    SharedTile,
    Stmt,
    StoreAccumulator,
    When,
    Zero,
)
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.cuda.movements import Movement, Tile
from polyvolta.cuda.promote import Promotion
from polyvolta.cuda.swizzle import Swizzle, choose
from polyvolta.sched.codegen.ast import AnyOf, Ast, Block, Bound, Call, For, If
from polyvolta.sched.codegen.scan import Scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.simplify import simplify
from polyvolta.sets.text.show import PAPER_ASCII, show_aff

LANES = 32
EXCHANGE = "exchange"


class NotLowered(CudaError):
    """Loops that the kernel's language cannot say: bounds or conditions with alternatives."""

    id = "PV516"


def shared_name(tensor: str) -> str:
    """The tile in shared memory; likewise below, registers on the way there and fragments."""
    return f"shared_{tensor}"


def staging_name(tensor: str) -> str:
    return f"private_{tensor}"


def fragment_name(tensor: str) -> str:
    return f"hmma_{tensor}"


def lower(
    name: str,
    schedule: Schedule,
    scan: Scan,
    promotion: Promotion,
    macro: MacroMma,
    tensors: tuple[GlobalTensor, ...],
    sizes: tuple[str, ...],
    multiples: tuple[tuple[str, int], ...],
) -> KernelIR:
    """The kernel that a scanned, promoted tree describes.

    Raises
    ------
    NoSwizzle, NoExchange : no conflict-free layout of a tile, or of the accumulator exchange.
    NotLowered : a bound or a condition of the loops has alternatives.
    """
    threads = scan.extents["linearId"].const
    exchange = plan_exchange(macro)
    tiles = []
    swizzle = None
    for operand in "ab":
        tile = promotion.tiles[operand]
        swizzle, layout = _layout(tile, promotion.movements, macro, scan, swizzle)
        tiles.append(SharedTile(shared_name(tile.tensor), prod(tile.block.size) // CHUNK, layout, tile.tensor))
    result = promotion.tiles["d"]
    tiles.append(SharedTile(EXCHANGE, threads // LANES * exchange.chunks, None, result.tensor))
    registers = [RegisterArray(staging_name(t.tensor), "half8", (t.copies,)) for t in _operands(promotion)]
    registers += [RegisterArray(fragment_name(t.tensor), "half8", (prod(t.fragments),)) for t in _operands(promotion)]
    registers.append(RegisterArray(fragment_name(result.tensor), "float8", result.fragments))
    derived = _derived(scan)
    ranges = {**scan.ranges, "lane": (0, LANES - 1), "warp": (0, threads // LANES - 1)}
    lowering = _Lowering(schedule, promotion, macro, exchange, ranges)
    body = lowering.body(scan.body)
    grid = tuple(scan.extents.get(f"blockIdx.{axis}", aff(1)) for axis in "xyz")
    return KernelIR(
        name, sizes, tensors, tuple(tiles), tuple(registers), threads, derived, ranges, grid, multiples, body
    )


def _operands(promotion: Promotion) -> tuple[Tile, Tile]:
    return promotion.tiles["a"], promotion.tiles["b"]


def _derived(scan: Scan) -> tuple[tuple[str, Aff], ...]:
    """lane and warp from linearId, and the warp's indices as digits of its number, x fastest."""
    out = [("lane", var("linearId") % LANES), ("warp", var("linearId") // LANES)]
    rest = var("warp")
    left = scan.extents["linearId"].const // LANES
    for axis in "xyz":
        name = f"warpIdx_{axis}"
        if name in scan.extents:
            extent = scan.extents[name].const
            left //= extent
            out.append((name, rest % extent if left > 1 else rest))
            rest = rest // extent
    return tuple(out)


def _layout(
    tile: Tile, movements: Mapping[str, Movement], macro: MacroMma, scan: Scan, prefer: Swizzle | None
) -> tuple[Swizzle, IndexMap]:
    """A swizzle, and the layout with it, that keeps the tile's stores and fragment loads free of bank conflicts."""
    threads = scan.extents["linearId"].const
    store = next(m for m in movements.values() if m.kind == "shared_store" and m.operand == tile.operand)
    *_, copy, thread = store.dims
    lane = np.arange(LANES)
    accesses = []
    for c in range(tile.copies):
        for first in range(0, threads, LANES):
            accesses.append(_points(e.evaluate({copy: c, thread: first + lane}) for e in store.index))
    own = {"a": macro.a, "b": macro.b}[tile.operand]
    owned = _points(own.evaluate({"lane": lane, "i": 0}))
    steps = [range(0, size, extent) for size, extent in zip(tile.block.size, tile.fragment)]
    accesses += [owned + (x, y) for x in steps[0] for y in steps[1]]
    dims = tuple(n for n, _ in own.outputs)
    return choose(dims, tile.block.size, tile.order, accesses, CHUNK, prefer)


def _points(coordinates: Iterable[object]) -> np.ndarray:
    """Arrays of coordinates (or numbers) over the lanes as one array [lane, dimension]."""
    return np.stack(np.broadcast_arrays(np.arange(LANES), *coordinates)[1:], axis=-1)


class _Lowering:
    def __init__(
        self, schedule: Schedule, promotion: Promotion, macro: MacroMma, exchange: Exchange, ranges: Mapping
    ) -> None:
        self.schedule = schedule
        self.per_thread = {"linearId", "lane", "warp", "warpIdx_x", "warpIdx_y", "warpIdx_z"}
        self.promotion, self.macro, self.exchange, self.ranges = promotion, macro, exchange, ranges

    def body(self, nodes: tuple[Ast, ...]) -> tuple[Stmt, ...]:
        return tuple(s for n in nodes for s in (self.body(n.body) if isinstance(n, Block) else (self.statement(n),)))

    def statement(self, node: For | If | Call) -> Stmt:
        match node:
            case For(v, lower, upper, step, unroll, inner):
                lows, highs = self.single(lower, node), self.single(upper, node)
                return Loop(v, lows, highs, step, unroll, self.body(inner), self.loop_comment(node))
            case If(stated, inner):
                conditions: list[Aff] = []
                for c in stated:
                    if isinstance(c, AnyOf):
                        self.refuse("a condition with alternatives", node, "a filter or a guard in one piece")
                    kind, e = c
                    conditions += (e,) if kind == "ge" else (e, -e)
                differs = any(e.names() & self.per_thread for e in conditions)
                return When(tuple(conditions), self.body(inner), not differs, self.comment(inner))
            case Call(name, args):
                return self.operation(self.promotion.movements[name], args)

    def single(self, bounds: tuple[Bound, ...], loop: For) -> tuple[Aff, ...]:
        """Bounds that are one expression each."""
        return tuple(
            b if isinstance(b, Aff) else self.refuse(f"a bound that is a {b.kind}imum", loop, '"separate" loops')
            for b in bounds
        )

    def refuse(self, what: str, node: For | If, instead: str) -> NoReturn:
        """A kernel's loops and conditions are plainer than those of a scan."""
        raise NotLowered(
            f"a kernel has no form for {what}, which the loops of this tree have",
            where=self.schedule.marked(node.at),
            hint=f"statements whose instances differ share this place of the tree; {instead} would do without",
        )

    def loop_comment(self, loop: For) -> str:
        """The band member that a loop scans, by statement, and what happens if that is one thing."""
        member = self.schedule.band(loop.at).members[loop.member]
        by_expr: dict[str, list[str]] = {}
        for s in _called(loop.body):
            if s in dict(member.exprs):
                by_expr.setdefault(show_aff(member.of(s), PAPER_ASCII), []).append(s)
        what = self.comment(loop.body)
        text = "; ".join(f"{', '.join(names)} -> {e}" for e, names in by_expr.items())
        return f"BAND: {text}" + (f"  ({what})" if ";" not in what else "")

    def comment(self, inner: tuple[Ast, ...]) -> str:
        """What the statements below a loop or condition do, in the order in which they first come."""
        kinds = dict.fromkeys(PHRASES.get(self.promotion.movements[n].kind, "") for n in _called(inner))
        kinds.pop("", None)
        return "; ".join(kinds)

    def operation(self, m: Movement, args: tuple[Aff, ...]) -> Op:
        values = dict(zip(m.dims, args, strict=True))
        put = lambda exprs: tuple(simplify(e, self.ranges, values) for e in exprs)  # noqa: E731
        index, element = put(m.index), put(m.element)
        staging, shared = staging_name(m.tensor), shared_name(m.tensor)
        fragment = Element(fragment_name(m.tensor), element)
        match m.kind:
            case "zero":
                return Zero(fragment, m.statement)
            case "global_load":
                return GlobalLoad(Element(staging, element), m.tensor, index, m.statement)
            case "shared_store":
                return SharedStore(Element(staging, element), shared, index, m.statement)
            case "fragment_load":
                own = {"a": self.macro.a, "b": self.macro.b}[m.operand]
                return FragmentLoad(fragment, shared, index, m.operand, own, m.statement)
            case "mma":
                rank = len(self.promotion.tiles["d"].fragments)
                a, b = (fragment_name(t.tensor) for t in _operands(self.promotion))
                places = element[:rank], element[rank : rank + 1], element[rank + 1 :]
                d, left, right = (Element(n, p) for n, p in zip((fragment_name(m.tensor), a, b), places))
                return Mma(d, left, right, self.macro, m.statement)
            case "store":
                return StoreAccumulator(fragment, m.tensor, index, EXCHANGE, self.exchange, m.statement)
            case "barrier":
                return Barrier(m.statement)
        raise ValueError(m.kind)


PHRASES = {
    "zero": "the accumulators start at 0",
    "global_load": "global memory -> registers",
    "shared_store": "registers -> shared memory",
    "fragment_load": "shared memory -> fragments",
    "mma": "macro-MMAs",
    "store": "accumulators -> global memory",
}


def _called(nodes: tuple[Ast, ...]) -> list[str]:
    out: dict[str, None] = {}
    for n in nodes:
        out.update(dict.fromkeys([n.statement] if isinstance(n, Call) else _called(n.body)))
    return list(out)
