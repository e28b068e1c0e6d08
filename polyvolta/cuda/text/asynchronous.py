"""The statements of barriers with phases, boxes, warpgroups' products, grids: which function is called with what.

Phases are integers in the IR, and parities in the text: `await_phase(full + c2 % 4, c2 / 4 % 2)` waits for phase
floor(c2 / 4). A box's place in its tile and an operand's start are chunks, as the tile's layout and the descriptor say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.engines.boxes import BoxCopy, BoxStore, CommitStores, ProxyFence, WaitStores
from polyvolta.cuda.ir.engines.grids import AwaitGrids, ReleaseGrids
from polyvolta.cuda.ir.engines.phases import Arrive, Await, InitBarriers, Phase
from polyvolta.cuda.ir.engines.warpgroups import SharedOperand, Wgmma, WgmmaCommit, WgmmaFence, WgmmaWait
from polyvolta.cuda.ir.memories import LANES, Element
from polyvolta.cuda.text.c_expr import NotPrintable, in_steps, is_sum
from polyvolta.cuda.text.helpers.engines import boxes, grids, phases, warpgroups
from polyvolta.cuda.text.roles import warp_of
from polyvolta.cuda.text.scope import Scope, plus, single
from polyvolta.sets import Aff, var
from polyvolta.sets.values.simplify import interval, simplify


def _init(scope: Scope, op: InitBarriers) -> str:
    rows = scope.ir.barriers
    return scope.call(phases.begin(rows), *(row.name for row in rows))


def _barrier(scope: Scope, phase: Phase) -> str:
    return plus(phase.barriers, scope.c(phase.slot))


def _await(scope: Scope, op: Await) -> str:
    return scope.call(phases.WAIT, _barrier(scope, op.phase), _parity(scope, op.phase.number))


def _parity(scope: Scope, number: Aff) -> str:
    """A phase's parity, phase -1 having that of phase 1."""
    if number.is_constant:
        return str(number.const % 2)
    low, high = interval(number, scope.ranges)
    if low is not None and high is not None and 0 <= low <= high <= 1:
        return scope.c(number)
    text = scope.c(number + 2 * (-min(number.const, 0) + 1 >> 1))
    return f"({text}) % 2" if is_sum(text) else f"{text} % 2"


def _arrive(scope: Scope, op: Arrive) -> str:
    if op.to is not None and op.bytes:
        raise NotPrintable("bytes are announced to the own block's barriers alone", where=str(op))
    if op.to is not None:
        return scope.call(phases.ARRIVE_IN_BLOCK, _barrier(scope, op.phase), scope.c(op.to))
    if op.bytes:
        return scope.call(phases.ARRIVE_EXPECTING, _barrier(scope, op.phase), str(op.bytes))
    return scope.call(phases.ARRIVE, _barrier(scope, op.phase))


def _box(scope: Scope, op: BoxCopy | BoxStore) -> tuple[str, list[str]]:
    """Where a box is in shared memory, and where in its tensor."""
    tile, tensor = scope.ir.tile(op.tile), scope.ir.tensor(scope.ir.box_map(op.map).tensor)
    assert tile.layout is not None
    (chunk,) = tile.layout.at(*op.place)
    steps = {n: s for n, s in scope.multiples.items() if s and n in chunk.names()}
    chunk = in_steps(chunk, steps, scope.ranges)
    return plus(scope.buffer(op.tile, op.buffer), scope.c(chunk)), scope.place(op.index, tensor.order)


def _copy(scope: Scope, op: BoxCopy) -> str:
    to, place = _box(scope, op)
    where = to, op.map, *place, _barrier(scope, op.phase)
    return scope.call(boxes.COPY_TO, blocks(scope, op.to), *where) if op.to else scope.call(boxes.COPY, *where)


def blocks(scope: Scope, ranks: Sequence[Aff]) -> str:
    """A bit for each of some ranks: those with one expression beside a number are one mask, shifted by it."""
    found: dict[Aff, int] = {}
    for e in ranks:
        found[e - e.const] = found.get(e - e.const, 0) | 1 << e.const
    texts = [f"{mask} << ({scope.c(e)})" if e.names() else str(mask)
             for e, mask in found.items()]  # fmt: skip
    return " | ".join(texts) if len(texts) == 1 else " | ".join(f"({t})" if " " in t else t for t in texts)


def _store(scope: Scope, op: BoxStore) -> str:
    start, place = _box(scope, op)
    return scope.call(boxes.STORE, op.map, *place, start)


def _operand(scope: Scope, x: SharedOperand) -> str:
    """An operand's descriptor, its start as a number that all lanes of a warp have alike where it is one."""
    tile, warp = scope.ir.tile(x.tile), warp_of(scope.ir)
    if warp.names() != {"linearId"}:
        x = replace(x, start=simplify(x.start, scope.ranges, {"linearId": LANES * warp + var("lane")}))
    return scope.call(warpgroups.descriptor(x.descriptor), x.tile, scope.c(tile.chunks * x.buffer + x.start))


def _wgmma(scope: Scope, op: Wgmma) -> str:
    majors = tuple(x.descriptor.major for _, x in op.shared)
    width = scope.ir.register(op.d[0].array).width
    a = scope.element(op.a) if isinstance(op.a, Element) else _operand(scope, op.a)
    make = warpgroups.product_of_registers if isinstance(op.a, Element) else warpgroups.product
    function = make(op.macro.shape, op.macro.kind, majors, width, bool(op.adds))  # type: ignore[arg-type]
    adds = [" && ".join(map(scope.condition, op.adds))] if op.adds else []
    return scope.call(function, f"&{scope.element(op.d[0])}", a, _operand(scope, op.b), *adds)


def _wait(scope: Scope, op: WgmmaWait) -> str:
    if op.pending:
        return scope.call(warpgroups.wait(op.pending))
    held = [scope.ir.register(name) for name in sorted(scope.held)]
    extents = tuple((*(n for n in r.shape if not single(r)), r.width) for r in held)
    return scope.call(warpgroups.wait_all(extents), *(r.name for r in held))


TEXTS: Mapping[type, Callable[[Scope, Any], str]] = {
    AwaitGrids: lambda scope, op: scope.call(grids.AWAIT),
    ReleaseGrids: lambda scope, op: scope.call(grids.RELEASE),
    InitBarriers: _init,
    Await: _await,
    Arrive: _arrive,
    BoxCopy: _copy,
    BoxStore: _store,
    CommitStores: lambda scope, op: scope.call(boxes.COMMIT),
    WaitStores: lambda scope, op: scope.call(boxes.wait(op.pending)),
    ProxyFence: lambda scope, op: scope.call(phases.FENCE_PROXY),
    Wgmma: _wgmma,
    WgmmaFence: lambda scope, op: scope.call(warpgroups.FENCE),
    WgmmaCommit: lambda scope, op: scope.call(warpgroups.COMMIT),
    WgmmaWait: _wait,
}
"""By operation: the statement, without its semicolon."""
