"""The statements of barriers with phases, of boxes and of warpgroups' products: which function is called with what.

Phases are integers in the IR, and parities in the text: `await_phase(full + c2 % 4, c2 / 4 % 2)` waits for phase
floor(c2 / 4). A box's place in its tile and an operand's start are chunks, as the tile's layout and the descriptor say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.ir.boxes import BoxCopy, BoxStore, CommitStores, ProxyFence, WaitStores
from polyvolta.cuda.ir.memories import LANES
from polyvolta.cuda.ir.phases import Arrive, Await, InitBarriers, Phase
from polyvolta.cuda.ir.warpgroups import SharedOperand, Wgmma, WgmmaCommit, WgmmaFence, WgmmaWait
from polyvolta.cuda.text.c_expr import in_steps, is_sum
from polyvolta.cuda.text.helpers import boxes, phases, warpgroups
from polyvolta.cuda.text.roles import warp_of
from polyvolta.sets import Aff, var
from polyvolta.sets.values.simplify import simplify

if TYPE_CHECKING:
    from polyvolta.cuda.text.printer import Printer


def _init(p: Printer, op: InitBarriers) -> str:
    rows = p.ir.barriers
    return p.call(phases.begin(rows), *(row.name for row in rows))


def _barrier(p: Printer, phase: Phase) -> str:
    return _plus(phase.barriers, p.c(phase.slot))


def _await(p: Printer, op: Await) -> str:
    return p.call(phases.WAIT, _barrier(p, op.phase), _parity(p, op.phase.number))


def _parity(p: Printer, number: Aff) -> str:
    """A phase's parity, phase -1 having that of phase 1."""
    if number.is_constant:
        return str(number.const % 2)
    text = p.c(number + 2 * (-min(number.const, 0) + 1 >> 1))
    return f"({text}) % 2" if is_sum(text) else f"{text} % 2"


def _arrive(p: Printer, op: Arrive) -> str:
    if op.bytes:
        return p.call(phases.ARRIVE_EXPECTING, _barrier(p, op.phase), str(op.bytes))
    return p.call(phases.ARRIVE, _barrier(p, op.phase))


def _box(p: Printer, op: BoxCopy | BoxStore) -> tuple[str, list[str]]:
    """Where a box is in shared memory, and where in its tensor."""
    tile, tensor = p.ir.tile(op.tile), p.ir.tensor(p.ir.box_map(op.map).tensor)
    (chunk,) = tile.layout.at(*op.place)
    steps = {n: s for n, s in p.multiples.items() if s and n in chunk.names()}
    chunk = in_steps(chunk, steps, p.speller.ranges)
    return _plus(p.buffer(op.tile, op.buffer), p.c(chunk)), p.place(op.index, tensor.order)


def _copy(p: Printer, op: BoxCopy) -> str:
    to, place = _box(p, op)
    return p.call(boxes.COPY, to, op.map, *place, _barrier(p, op.phase))


def _store(p: Printer, op: BoxStore) -> str:
    start, place = _box(p, op)
    return p.call(boxes.STORE, op.map, *place, start)


def _operand(p: Printer, x: SharedOperand) -> str:
    """An operand's descriptor, its start as a number that all lanes of a warp have alike where it is one."""
    tile, warp = p.ir.tile(x.tile), warp_of(p.ir)
    if warp.names() != {"linearId"}:
        x = replace(x, start=simplify(x.start, p.speller.ranges, {"linearId": LANES * warp + var("lane")}))
    return p.call(warpgroups.descriptor(x.descriptor), x.tile, p.c(tile.chunks * x.buffer + x.start))


def _wgmma(p: Printer, op: Wgmma) -> str:
    majors = op.a.descriptor.major, op.b.descriptor.major
    width = p.ir.register(op.d[0].array).width
    function = warpgroups.product(op.macro.shape, op.macro.kind, majors, width, bool(op.adds))
    adds = [" && ".join(map(p.condition, op.adds))] if op.adds else []
    return p.call(function, f"&{p.element(op.d[0])}", _operand(p, op.a), _operand(p, op.b), *adds)


def _wait(p: Printer, op: WgmmaWait) -> str:
    if op.pending:
        return p.call(warpgroups.wait(op.pending))
    held = [p.ir.register(name) for name in sorted(p.held)]
    extents = tuple((*(n for n in r.shape if not p.single(r)), r.width) for r in held)
    return p.call(warpgroups.wait_all(extents), *(r.name for r in held))


def _plus(start: str, offset: str) -> str:
    return start if offset == "0" else f"{start} + {offset}"


TEXTS: Mapping[type, Callable[[Printer, Any], str]] = {
    InitBarriers: _init,
    Await: _await,
    Arrive: _arrive,
    BoxCopy: _copy,
    BoxStore: _store,
    CommitStores: lambda p, op: p.call(boxes.COMMIT),
    WaitStores: lambda p, op: p.call(boxes.wait(op.pending)),
    ProxyFence: lambda p, op: p.call(phases.FENCE_PROXY),
    Wgmma: _wgmma,
    WgmmaFence: lambda p, op: p.call(warpgroups.FENCE),
    WgmmaCommit: lambda p, op: p.call(warpgroups.COMMIT),
    WgmmaWait: _wait,
}
"""By operation: the statement, without its semicolon."""
