"""Mutants of persistent blocks: counters, places that one tile's results leave to the next, and which tiles there are.

A run shows each under some order of events, where blocks have several tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    BoxStore,
    KernelIR,
    LoadMatrix,
    Loop,
    StoreMatrix,
    Tiles,
    WaitStores,
)
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, around, differing, edited, places, without
from polyvolta.sets import aff

REFUSED = ("phases",)


@dataclass(frozen=True, slots=True)
class Doubled(BlockOrder):
    """Two numbers for the place of the even one of them, none for the other's."""

    def place(self, number: Any, columns: int, rows: int) -> tuple[Any, Any]:
        return BlockOrder(self.group).place(number - number % 2, columns, rows)


def _in_tiles(ir: KernelIR, *kinds: type, where: Callable[[Any], bool] = lambda s: True) -> list[IrPath]:
    """Operations of a tile outside of the loops over k tiles and pieces."""
    found = []
    for at in places(ir, *kinds, where=where):
        kinds_around = [type(s) for _, s in around(ir, at)]
        if Tiles in kinds_around and Loop not in kinds_around:
            found.append(at)
    return found


def _changed(ir: KernelIR, new: Callable[[Tiles], Tiles], producer: bool = False) -> KernelIR:
    """The loops over tiles changed; those alone of who has boxes brought, or all."""
    at = places(ir, Tiles, where=lambda s: not producer or any(isinstance(op, BoxCopy) for op in operations(s.body)))
    return edited(ir, at, lambda s: (new(s),))


def _still(s: Tiles) -> Tiles:
    """Tiles that add nothing to what is counted."""
    return replace(s, counters=tuple((name, aff(0)) for name, _ in s.counters))


def _rows(ir: KernelIR, kind: type, producer: bool) -> set[str]:
    """Rows of barriers that operations of a kind name, once a tile, in who has boxes brought or in all others."""
    stmts = dict(walk(ir.body))
    found = set()
    for at in _in_tiles(ir, kind):
        role = next(s for path, s in reversed(around(ir, at)) if isinstance(s, Tiles))
        if producer == any(isinstance(op, BoxCopy) for op in operations(role.body)):
            found.add(stmts[at].phase.barriers)  # type: ignore[union-attr]
    return found


def _vacancy(ir: KernelIR) -> set[str]:
    """Rows of barriers that consumers arrive in once a tile, and whose phases a producer waits for."""
    return _rows(ir, Arrive, False) & _rows(ir, Await, True)


def _operands(ir: KernelIR) -> list[IrPath]:
    """Arrivals, boxes and waits of an epilogue's operands."""
    turns = {s.turn for _, s in walk(ir.body) if isinstance(s, Tiles)}
    brought = {op.phase.barriers for op in operations(ir.body) if isinstance(op, BoxCopy)
               and op.phase.number.names() & turns}  # fmt: skip
    return places(ir, Arrive, Await, BoxCopy, where=lambda op: op.phase.barriers in brought)


def _first_phase(ir: KernelIR) -> KernelIR:
    return edited(ir, _operands(ir), lambda op: (replace(op, phase=replace(op.phase, number=aff(0))),))


def _drains(ir: KernelIR) -> list[IrPath]:
    """Waits, once a tile, until its results or those of the tile before have been read."""
    return _in_tiles(ir, WaitStores)


def _free(ir: KernelIR) -> list[IrPath]:
    """Barriers of a warpgroup behind such waits, once a tile."""
    last = max(_drains(ir), default=())
    return [at for at in _in_tiles(ir, Barrier) if at > last][:1] if _stores_late(ir) else []


def _stores_late(ir: KernelIR) -> bool:
    """Whether a tile's results are waited for in the next one."""
    stores = places(ir, StoreMatrix)
    return bool(stores) and bool(_drains(ir)) and min(_drains(ir)) < min(stores)


def _vacant(ir: KernelIR) -> list[IrPath]:
    """Waits for places that are free for operands."""
    rows = _vacancy(ir)
    return places(ir, Await, where=lambda op: op.phase.barriers in rows)


def _doubled(ir: KernelIR) -> KernelIR:
    if not ir.resident:
        raise NothingToBreak(f"blocks of {ir.name} have a tile each", where=ir.about)
    return replace(ir, block_order=Doubled(ir.block_order.group))


def _m(
    name: str, about: str, proofs: tuple[str, ...], observers: tuple[str, ...], change: Callable[[KernelIR], KernelIR]
) -> Mutant:
    return Mutant(name, about, proofs, observers, (), change)


def _later(op: Await) -> tuple[Await, ...]:
    return (replace(op, phase=replace(op.phase, number=op.phase.number + 1)),)


def _before(op: Await) -> tuple[Await, ...]:
    return (replace(op, phase=replace(op.phase, number=op.phase.number - 1)),)


def _order(ir: KernelIR, *kinds: type) -> list[IrPath]:
    """Operations on the row that says whose turn it is: consumers wait for it, and arrive in it."""
    rows = _rows(ir, Arrive, False) & _rows(ir, Await, False)
    return places(ir, *kinds, where=lambda op: op.phase.barriers in rows)


def _one_place(ir: KernelIR) -> KernelIR:
    """All who take turns put their results to the first one's place."""
    turns = {s.turn for _, s in walk(ir.body) if isinstance(s, Tiles)}
    at = places(ir, StoreMatrix, BoxStore, LoadMatrix, where=lambda op: op.buffer.names() & turns)
    return edited(ir, at, lambda op: (replace(op, buffer=op.buffer.subs(dict.fromkeys(turns, aff(0)))),))


def _second(ir: KernelIR) -> list[IrPath]:
    """The tiles of a warpgroup that takes turns, but doesn't begin."""
    return places(ir, Tiles, where=lambda s: 0 < s.first < s.step)


def _passed_on_first(ir: KernelIR) -> KernelIR:
    """Turns are passed on where they begin."""
    stmts, out = dict(walk(ir.body)), ir
    for mine, yours in zip(_order(ir, Await), _order(ir, Arrive), strict=True):
        guarded = replace(stmts[yours[:-1]], body=(stmts[yours],))  # type: ignore[type-var]
        out = edited(out, [yours], without)
        out = edited(out, [mine], lambda op, more=guarded: (op, more))
    return differing(ir, out)


OF_TURNS = (
    _m("turns are not waited for", "warpgroups that take turns multiply side by side, and lose count of the ring",
       ("phases",), REFUSED, lambda ir: edited(ir, _order(ir, Await), without)),
    _m("turns are not passed on", "each warpgroup waits for the other one to have multiplied",
       ("phases", "deadlock"), REFUSED, lambda ir: edited(ir, _order(ir, Arrive), without)),
    _m("turns are passed on at once", "a warpgroup whose turn it is tells the other one to multiply, and begins",
       ("phases",), REFUSED, _passed_on_first),
    _m("the turn after is waited for", "each warpgroup waits until it has multiplied itself",
       ("deadlock",), REFUSED, lambda ir: edited(ir, _order(ir, Await), _later)),
    _m("another turn is waited for", "each warpgroup waits for the turn before the other one's last",
       ("phases",), REFUSED, lambda ir: edited(ir, _order(ir, Await), _before)),
    _m("both take the same turns", "two warpgroups compute every other tile, and nobody the others",
       ("written_once", "phases", "deadlock"), REFUSED,
       lambda ir: edited(ir, _second(ir), lambda s: (replace(s, first=0),))),
    _m("every other turn is left out", "the second of two warpgroups computes every fourth tile",
       ("written_once", "phases", "deadlock"), REFUSED,
       lambda ir: edited(ir, _second(ir), lambda s: (replace(s, step=2 * s.step),))),
    _m("one counter stands still", "the second of two warpgroups begins each tile with the ring's first slot",
       ("phases",), REFUSED, lambda ir: edited(ir, _second(ir), lambda s: (_still(s),))),
    _m("one place for all results", "warpgroups that take turns put their results to one place",
       ("barriers_between", "not_overwritten"), ("races", "values"), _one_place),
)  # fmt: skip
"""Of warpgroups that take turns at a block's tiles."""
MUTANTS = (
    _m("counters of tiles stand still", "each tile of a block begins with the ring's first slot, and its first phase",
       ("phases", "deadlock", "not_overwritten"), REFUSED, lambda ir: _changed(ir, _still)),
    _m("the producer's counter stands still", "the producer fills the slots of the first tile again",
       ("phases", "deadlock", "not_overwritten"), REFUSED, lambda ir: _changed(ir, _still, True)),
    _m("the producer leaves tiles out", "boxes of every other tile are brought, and taken for those of each",
       ("phases", "deadlock"), REFUSED, lambda ir: _changed(ir, lambda s: replace(s, step=2 * s.step), True)),
    _m("tiles left out", "each block computes every other one of its tiles",
       ("written_once", "phases", "deadlock"), REFUSED, lambda ir: _changed(ir, lambda s: replace(s, step=2 * s.step))),
    _m("a block's first tile left out", "each block begins with its second tile",
       ("written_once", "phases", "deadlock"), REFUSED,
       lambda ir: _changed(ir, lambda s: replace(s, first=s.first + 1))),
    _m("tiles computed twice", "two numbers are one tile's, and there is none of another tile",
       ("written_once",), ("races", "uninitialised"), _doubled),
    _m("vacant places are not waited for", "operands of a tile come to where the results before are still read",
       ("not_overwritten", "phases"), ("races",), lambda ir: edited(ir, _vacant(ir), without)),
    _m("vacant places a tile later", "operands of a tile wait until its own results have been read",
       ("deadlock",), REFUSED, lambda ir: edited(ir, _vacant(ir), _later)),
    _m("operands of the first tile again", "operands of all tiles are waited for as those of the first",
       ("phases", "deadlock"), REFUSED, _first_phase),
    _m("the last tile's results are not waited for", "results go to places that the copy engine still reads",
       ("not_overwritten",), ("races", "values"), lambda ir: edited(ir, _drains(ir), without)),
    _m("results are waited for by one thread", "others put results to places that the copy engine still reads",
       ("not_overwritten",), ("races",), lambda ir: edited(ir, _free(ir), without)),
    *OF_TURNS,
)  # fmt: skip
