"""Mutants of roles: arrivals, waits, phases and bytes of a ring that a producer fills and warpgroups empty; groups of
products; fences. What is proved of them is in `verify.order`; a run shows each under some order of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    BoxStore,
    InitBarriers,
    KernelIR,
    Loop,
    Op,
    ProxyFence,
    Role,
    Roles,
    Stmt,
    WaitStores,
    Wgmma,
    WgmmaCommit,
    WgmmaFence,
    WgmmaWait,
    When,
)
from polyvolta.cuda.ir.walk import IrPath, operations, replaced, walk
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, around, differing, edited, places, without
from polyvolta.sets import var

# ---- what there is


def _filled(ir: KernelIR) -> set[str]:
    """Rows of barriers that count bytes."""
    return {op.phase.barriers for op in operations(ir.body) if isinstance(op, BoxCopy)}


def _rings(ir: KernelIR) -> set[str]:
    """Those of them whose slots are filled again and again, and the rows that say when they are free."""
    stmts = dict(walk(ir.body))
    found = (stmts[at] for at in _in_loops(ir, Await, Arrive))
    return {op.phase.barriers for op in found if isinstance(op, Await | Arrive)}


def _in_loops(ir: KernelIR, *kinds: type, where: Callable[[Any], bool] = lambda s: True) -> list[IrPath]:
    """Operations in loops over k tiles."""
    return [at for at in places(ir, *kinds, where=where)
            if any(isinstance(s, Loop) and not s.unroll for _, s in around(ir, at))]  # fmt: skip


def _full(ir: KernelIR, *kinds: type) -> list[IrPath]:
    """Operations in loops on the row that counts bytes."""
    rows = _filled(ir)
    return _in_loops(ir, *kinds, where=lambda op: op.phase.barriers in rows)


def _free(ir: KernelIR, *kinds: type) -> list[IrPath]:
    """Operations in loops on the row that says that a slot is free."""
    rows = _filled(ir)
    return _in_loops(ir, *kinds, where=lambda op: op.phase.barriers not in rows)


def _last_waits(ir: KernelIR) -> list[IrPath]:
    """Waits for products behind the loops over k tiles."""
    return [at for at in places(ir, WgmmaWait) if at not in _in_loops(ir, WgmmaWait)]


def _for_all(ir: KernelIR) -> list[IrPath]:
    """Waits for all products, behind others that cover them."""
    covered = any(op.pending for op in operations(ir.body) if isinstance(op, WgmmaWait))
    return places(ir, WgmmaWait, where=lambda op: not op.pending) if covered else []


# ---- changes


def _of_phase(ir: KernelIR, at: list[IrPath], slot: int = 0, number: int = 0) -> KernelIR:
    """Operations name another slot, or another phase."""
    def change(op: Any) -> tuple[Stmt, ...]:
        p, slots = op.phase, ir.phases(op.phase.barriers).slots
        other = (p.slot + slot) % slots if slot else p.slot
        return (replace(op, phase=replace(p, slot=other, number=p.number + number)),)

    return edited(ir, at, change)


def _wanted(ir: KernelIR, filled: bool, more: int) -> KernelIR:
    """Other numbers of arrivals complete the phases of a ring's row."""
    rows = {n for n in _rings(ir) if (n in _filled(ir)) == filled}
    changed = (replace(r, arrivals=r.arrivals + more) if r.name in rows else r for r in ir.barriers)
    return differing(ir, replace(ir, barriers=tuple(changed)))


def _expected(ir: KernelIR, more: int) -> KernelIR:
    """Other numbers of bytes are announced."""
    at = _in_loops(ir, Arrive, where=lambda op: op.bytes)
    return edited(ir, at, lambda op: (replace(op, bytes=op.bytes + more),))


def _shorter(ir: KernelIR, *kinds: type) -> KernelIR:
    """The loops over k tiles with some operations end a trip early."""
    loops = {path for at in _in_loops(ir, *kinds) for path, s in around(ir, at) if isinstance(s, Loop) and not s.unroll}
    return edited(ir, loops, lambda s: (replace(s, upper=tuple(e - 1 for e in s.upper)),))


def _released_first(ir: KernelIR) -> KernelIR:
    """In a trip the release of a slot stands before the wait for products."""
    stmts, out = dict(walk(ir.body)), ir
    for wait in _in_loops(ir, WgmmaWait):
        release = (*wait[:-1], wait[-1] + 1)
        if any(isinstance(op, Arrive) for op in operations((stmts.get(release, stmts[wait]),))):
            out = edited(out, [release], lambda _, wait=wait: (stmts[wait],))
            out = edited(out, [wait], lambda _, release=release: (stmts[release],))
    return differing(ir, out)


def _later_begin(ir: KernelIR) -> KernelIR:
    """Barriers begin in the role of the thread that begins them, behind the barrier of the block."""
    stmts = dict(walk(ir.body))
    begins = [at for at in places(ir, InitBarriers) if isinstance(stmts[at[:1]], When)]
    at = next((at for at, s in stmts.items() if isinstance(s, Roles)), None)
    if not begins or at is None:
        raise NothingToBreak(f"{ir.name} has no roles", where=ir.about)
    guard, roles = stmts[begins[0][:1]], stmts[at]
    assert isinstance(roles, Roles)
    first: Role = roles.roles[0]
    moved = replace(roles, roles=(replace(first, body=(guard, *first.body)), *roles.roles[1:]))
    body = replaced(ir.body, at, (moved,))
    return replace(ir, body=replaced(body, begins[0][:1], ()))


def _behind_begin(ir: KernelIR) -> list[IrPath]:
    """The barriers of the block behind the beginning of phases."""
    begins = places(ir, InitBarriers)
    return [at for at in places(ir, Barrier, where=lambda op: op.scope == "block") if begins and at > begins[0]]


def _other_buffer(ir: KernelIR) -> KernelIR:
    """Boxes go to the buffer behind theirs."""
    several = lambda op: ir.tile(op.tile).buffers > 1  # noqa: E731
    at = _in_loops(ir, BoxCopy, where=several)
    return edited(ir, at, lambda op: (replace(op, buffer=(op.buffer + 1) % ir.tile(op.tile).buffers),))


def _before_stores(ir: KernelIR) -> list[IrPath]:
    """Barriers of warpgroups, or roles, where boxes are stored."""
    stores = places(ir, BoxStore)
    return [at for at in places(ir, Barrier, where=lambda op: op.scope in ("warpgroup", "role")) if stores]


def _each_warp(ir: KernelIR) -> KernelIR:
    """A thread of each warp releases a slot, not one of each warpgroup."""
    arrivals = set(_free(ir, Arrive))
    guards = {path for at in arrivals for path, s in around(ir, at) if isinstance(s, When)}

    def change(s: Any) -> tuple[Stmt, ...]:
        return (replace(s, conditions=tuple(-var("lane") if e == -var("rank") else e for e in s.conditions)),)

    return edited(ir, guards, change)


def _m(
    name: str, about: str, proofs: tuple[str, ...], observers: tuple[str, ...], change: Callable[[KernelIR], KernelIR]
) -> Mutant:
    return Mutant(name, about, proofs, observers, (), change)


def _dropped(at: Callable[[KernelIR], list[IrPath]]) -> Callable[[KernelIR], KernelIR]:
    return lambda ir: edited(ir, at(ir), without)


def _drop(kind: type[Op]) -> Callable[[KernelIR], KernelIR]:
    return lambda ir: edited(ir, _in_loops(ir, kind), without)


PHASES, RACES, BOTH = ("phases",), ("races",), ("phases", "races")
UNWRITTEN = ("races", "uninitialised")
"""What observers see of a run under some order of events: it can't go on, nothing orders two accesses, or both; places
that nobody wrote are read, too."""

MUTANTS = (
    _m("boxes are not waited for", "products begin when their warpgroup comes to them, whatever has arrived",
       ("barriers_between",), UNWRITTEN, _dropped(lambda ir: _full(ir, Await))),
    _m("free slots are not waited for", "the producer has boxes copied to slots that products still read",
       ("not_overwritten", "phases"), BOTH, _dropped(lambda ir: _free(ir, Await))),
    _m("slots are not released", "no warpgroup says that it is done with a slot, and the producer waits for ever",
       ("deadlock",), PHASES, _dropped(lambda ir: _free(ir, Arrive))),
    _m("released before products are done", "a slot is released before the wait for the products that read it",
       ("not_overwritten",), RACES, _released_first),
    _m("products are waited for a tile late", "one more group of products may run when their slot is released",
       ("not_overwritten",), RACES,
       lambda ir: edited(ir, _in_loops(ir, WgmmaWait), lambda op: (replace(op, pending=op.pending + 1),))),
    _m("products in no group", "no commit closes the groups of a tile's products, and the waits wait for nothing",
       ("not_overwritten",), RACES, _drop(WgmmaCommit)),
    _m("no wait for the last products", "accumulators are read while products run",
       ("in_flight",), BOTH, _dropped(_last_waits)),
    _m("no wait for all products", "accumulators are read behind a wait that leaves newer groups running, empty ones",
       ("in_flight",), ("values",), _dropped(_for_all)),
    _m("no fence of accumulators", "products may begin before the accumulators are there",
       ("in_flight",), RACES, _drop(WgmmaFence)),
    _m("boxes a phase later", "products wait for the phase of the slot's next boxes",
       ("deadlock",), PHASES, lambda ir: _of_phase(ir, _full(ir, Await), number=1)),
    _m("boxes a phase before", "products wait for the phase of the slot's last boxes",
       ("barriers_between",), BOTH, lambda ir: _of_phase(ir, _full(ir, Await), number=-1)),
    _m("free slots a phase later", "the producer waits for the release of what it is to bring",
       ("deadlock",), PHASES, lambda ir: _of_phase(ir, _free(ir, Await), number=1)),
    _m("free slots a phase before", "the producer waits for a release before the last one",
       ("not_overwritten", "phases"), PHASES, lambda ir: _of_phase(ir, _free(ir, Await), number=-1)),
    _m("a free slot that is another one", "the producer waits for the slot behind the one that it fills",
       ("phases",), PHASES, lambda ir: _of_phase(ir, _free(ir, Await), slot=1)),
    _m("another slot is released", "warpgroups release the slot behind theirs",
       ("phases",), PHASES, lambda ir: _of_phase(ir, _free(ir, Arrive), slot=1)),
    _m("boxes count for another slot", "bytes of boxes are counted by the barrier of the slot behind theirs",
       ("phases",), BOTH, lambda ir: _of_phase(ir, _full(ir, BoxCopy), slot=1)),
    _m("boxes to another buffer", "boxes are copied to the buffer behind theirs",
       ("not_overwritten",), UNWRITTEN, _other_buffer),
    _m("an arrival more for boxes", "phases of boxes wait for an arrival that nobody makes",
       ("phases", "deadlock"), PHASES, lambda ir: _wanted(ir, True, 1)),
    _m("an arrival more for free slots", "phases of free slots wait for an arrival that nobody makes",
       ("phases", "deadlock"), PHASES, lambda ir: _wanted(ir, False, 1)),
    _m("an arrival less for free slots", "a slot counts as free when one warpgroup still reads it",
       ("phases",), BOTH, lambda ir: _wanted(ir, False, -1)),
    _m("each warp releases", "one thread of each warp releases a slot, four times as many as its phase waits for",
       ("phases",), PHASES, _each_warp),
    _m("bytes short", "phases expect 16 bytes less than boxes bring",
       ("phases",), PHASES, lambda ir: _expected(ir, -16)),
    _m("bytes long", "phases expect 16 bytes more than boxes bring",
       ("phases", "deadlock"), PHASES, lambda ir: _expected(ir, 16)),
    _m("the producer leaves early", "the last tile is never brought", ("deadlock",), PHASES,
       lambda ir: _shorter(ir, BoxCopy)),
    _m("the consumers leave early", "the last tile's boxes arrive when nobody waits for them", ("phases",), BOTH,
       lambda ir: _shorter(ir, Wgmma)),
    _m("barriers never begin", "the phases of barriers are whatever memory holds", ("phases",), PHASES,
       _dropped(lambda ir: places(ir, InitBarriers))),
    _m("no barrier behind the beginning", "roles use barriers that may not have begun", ("phases",), PHASES,
       _dropped(_behind_begin)),
    _m("barriers begin in a role", "barriers begin when other roles may use them", ("phases",), PHASES, _later_begin),
    _m("stores unfenced", "what threads write the copy engine may not see", ("proxies",), RACES,
       _dropped(lambda ir: places(ir, ProxyFence))),
    _m("no barrier before boxes are stored", "a thread has a box stored that others of its warpgroup still write",
       ("barriers_between",), RACES, _dropped(_before_stores)),
    _m("stored boxes are not waited for", "the program ends while boxes are read from shared memory",
       ("in_flight",), BOTH, _dropped(lambda ir: places(ir, WaitStores))),
)  # fmt: skip
