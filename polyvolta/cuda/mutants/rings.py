"""Mutants of asynchronous copies in time: groups, waits, barriers, and the slots of the ring that they fill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    KernelIR,
    LoadMatrix,
    Loop,
    Mma,
    Op,
    Stmt,
    WaitCopies,
    When,
)
from polyvolta.cuda.ir.walk import IrPath, operations, put, walk
from polyvolta.cuda.mutants.model import (
    Mutant,
    NothingToBreak,
    around,
    differing,
    edited,
    in_k_loops,
    places,
    rewritten,
    without,
)
from polyvolta.sets import Aff, aff, var

READS = (LoadMatrix,)
TOUCHES = (LoadMatrix, AsyncCopy)


# ---- groups, waits and barriers


def _waits(ir: KernelIR) -> list[IrPath]:
    """Waits of kernels that wait for anything."""
    return places(ir, WaitCopies) if places(ir, AsyncCopy) else []


def _behind_waits(ir: KernelIR) -> list[IrPath]:
    """Block barriers right behind a wait, with nothing else between."""
    line = [(at, s) for at, s in walk(ir.body) if isinstance(s, Op)]
    return [at for (_, before), (at, s) in zip(line, line[1:])
            if before.awaits is not None and isinstance(s, Barrier) and s.scope == "block"]  # fmt: skip


def _swapped(ir: KernelIR) -> KernelIR:
    """The barrier behind a wait comes before it."""
    stmts, out = dict(walk(ir.body)), ir
    for at in _behind_waits(ir):
        wait = (*at[:-1], at[-1] - 1)
        if isinstance(stmts.get(wait), WaitCopies):
            out = edited(out, [at], lambda _, wait=wait: (stmts[wait],))
            out = edited(out, [wait], lambda _, at=at: (stmts[at],))
    return differing(ir, out)


def _by_some(ir: KernelIR, kind: type, condition: Aff) -> KernelIR:
    """Operations of a kind by the threads with condition >= 0 alone."""
    at = places(ir, kind) if places(ir, AsyncCopy) else []
    return edited(ir, at, lambda s: (When((condition,), (s,), uniform=False),))


def _no_empty_groups(ir: KernelIR) -> KernelIR:
    """Groups are closed where there is something to copy alone, none in the last trips."""
    stmts = dict(walk(ir.body))
    copies = [s for s in stmts.values() if isinstance(s, When) and _copies(s)]
    if not copies:
        raise NothingToBreak(f"{ir.name} copies nothing asynchronously, or in all trips", where=ir.about)

    def change(at: IrPath) -> Callable[[Any], tuple[Stmt, ...]]:
        nearby = [s for path, s in stmts.items()
                  if path[:-1] == at[:-1] and path < at and isinstance(s, When) and _copies(s)]  # fmt: skip
        return lambda s: (replace(nearby[-1], body=(s,), orelse=()),) if nearby else ()

    out = ir
    for at in sorted(places(ir, CommitCopies), reverse=True):
        out = edited(out, [at], change(at))
    return out


def _copies(s: Stmt) -> bool:
    """Whether there is an asynchronous copy in a statement."""
    return any(isinstance(op, AsyncCopy) for op in operations((s,)))


def _late_copies(ir: KernelIR) -> KernelIR:
    """Each group is closed before the copies that it is to have."""
    stmts, out = dict(walk(ir.body)), ir
    for at in places(ir, CommitCopies):
        before = (*at[:-1], at[-1] - 1)
        if before in stmts and _copies(stmts[before]):
            out = edited(out, [at], lambda _, before=before: (stmts[before],))
            out = edited(out, [before], lambda _, at=at: (stmts[at],))
    return differing(ir, out)


# ---- tiles and slots


def _ahead(ir: KernelIR, trips: int) -> KernelIR:
    """Copies of so many k tiles further ahead, into their slots, under their conditions."""
    loops = {at[:n] for at in places(ir, AsyncCopy) for n in range(1, len(at))}

    def moved(s: Any) -> tuple[Stmt, ...]:
        further = lambda e: e.subs({s.var: var(s.var) + trips * s.step})  # noqa: E731
        return (replace(s, body=tuple(_of_copies(x, further) for x in s.body)),)

    ways = [at for at in loops if isinstance(s := dict(walk(ir.body))[at], Loop) and not s.unroll]
    return edited(ir, ways, moved)


def _of_copies(s: Stmt, change: Callable[[Aff], Aff]) -> Stmt:
    """A statement with its copies' expressions changed, and the conditions of what does nothing but copy."""
    if isinstance(s, AsyncCopy):
        return put(s, change)
    if isinstance(s, Loop):
        return replace(s, body=tuple(_of_copies(x, change) for x in s.body))
    if isinstance(s, When):
        alone = all(isinstance(op, AsyncCopy) for op in operations((s,)))
        conditions = tuple(map(change, s.conditions)) if alone else s.conditions
        body, orelse = (tuple(_of_copies(x, change) for x in some) for some in (s.body, s.orelse))
        return replace(s, conditions=conditions, body=body, orelse=orelse)
    return s


def _slots(ir: KernelIR, number: Callable[[Aff, int], Aff], *kinds: type) -> KernelIR:
    """Other slots for some kinds of operations on tiles with several."""
    several = lambda op: ir.tile(op.tile).buffers > 1  # noqa: E731
    at = places(ir, *kinds, where=several) if places(ir, AsyncCopy) else []
    return edited(ir, at, lambda s: (replace(s, buffer=number(s.buffer, ir.tile(s.tile).buffers)),))


def _same_tile(ir: KernelIR) -> KernelIR:
    """The copies in loops that multiply are all of the tile that the first trip copies."""

    def moved(s: Any) -> tuple[Stmt, ...]:
        first = lambda e: e.subs({s.var: s.lower[0]})  # noqa: E731
        change = lambda op: (replace(op, index=put(op.index, first)) if isinstance(op, AsyncCopy) else op,)  # noqa: E731
        return (replace(s, body=rewritten(s.body, change)),)

    loops = {path: s for at in in_k_loops(ir, AsyncCopy) for path, s in around(ir, at)}
    return edited(ir, [at for at, s in loops.items() if isinstance(s, Loop) and not s.unroll], moved)


# ---- fragments in registers


def _in_turn(ir: KernelIR) -> list[str]:
    """The register arrays of fragments of which there are two sets, used in turn."""
    arrays = {op.target.array for op in operations(ir.body) if isinstance(op, LoadMatrix)}
    return [a for a in sorted(arrays) if len(ir.register(a).shape) == 2 and ir.register(a).shape[0] == 2]


def _other_set(ir: KernelIR, kind: type, field: str) -> KernelIR:
    """Operations of a kind take the other set of fragments, where there are two in turn."""
    arrays = _in_turn(ir)

    def change(s: Any) -> tuple[Stmt, ...]:
        e = getattr(s, field)
        return (replace(s, **{field: replace(e, index=(1 - e.index[0], *e.index[1:]))}),)

    return edited(ir, places(ir, kind, where=lambda op: getattr(op, field).array in arrays), change)


def _late_fragments(ir: KernelIR) -> KernelIR:
    """In each body that loads fragments and multiplies them the products come first."""
    if _in_turn(ir):
        raise NothingToBreak(f"{ir.name} loads fragments a strip ahead of their products", where=ir.about)
    stmts = dict(walk(ir.body))
    inside = {at: s.body for at, s in stmts.items() if isinstance(s, Loop | When)}
    mixed = {at for at, body in inside.items()
             if any(_only(s, LoadMatrix) for s in body) and any(_only(s, Mma) for s in body)}  # fmt: skip

    def change(s: Any) -> tuple[Stmt, ...]:
        products = tuple(x for x in s.body if _only(x, Mma))
        return (replace(s, body=(*products, *(x for x in s.body if not _only(x, Mma)))),)

    return edited(ir, mixed, change)


def _only(s: Stmt, kind: type) -> bool:
    found = tuple(operations((s,)))
    return bool(found) and all(isinstance(op, kind) for op in found)


MUTANTS = (
    Mutant(
        "wait for a group less",
        "each wait lets one more of the newest groups be on its way: the next tile's copies may not have arrived",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES,
        lambda ir: edited(ir, _waits(ir), lambda s: (replace(s, pending=s.pending + 1),)),
    ),
    Mutant(
        "no wait for copies",
        "nobody waits for copies before fragments are loaded; the barrier alone is no wait",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES, lambda ir: edited(ir, _waits(ir), without),
    ),
    Mutant(
        "waits by half of each warp",
        "only the first sixteen lanes wait for their copies",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES,
        lambda ir: _by_some(ir, WaitCopies, 15 - var("lane")),
    ),
    Mutant(
        "no groups of copies",
        "copies are never closed into groups, so that waits wait for none of them",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES,
        lambda ir: edited(ir, places(ir, CommitCopies), without),
    ),
    Mutant(
        "groups by the first warp",
        "only the first warp closes its groups; what the others copy is waited for by nobody",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES,
        lambda ir: _by_some(_several(ir), CommitCopies, -var("warp")),
    ),
    Mutant(
        "groups before their copies",
        "each group is closed before the copies that belong into it: these are the next group's, a trip late",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES, _late_copies,
    ),
    Mutant(
        "no empty groups in the end",
        "the last trips, which copy nothing, close no groups, and the waits for the last tiles wait for too few",
        ("barriers_between",), ("races", "uninitialised"), TOUCHES, _no_empty_groups,
    ),
    Mutant(
        "barrier before the wait",
        "all threads meet before each of them has waited for its own copies",
        ("barriers_between",), ("races",), TOUCHES, _swapped,
    ),
    Mutant(
        "no barrier behind the wait",
        "a thread has waited for its own copies, and loads fragments of what others have copied",
        ("barriers_between", "not_overwritten"), ("races",), TOUCHES,
        lambda ir: edited(ir, _behind_waits(ir), without),
    ),
    Mutant(
        "warp barrier behind the wait",
        "behind the wait for copies the lanes of a warp wait for one another, not the warps of the block",
        ("barriers_between", "not_overwritten"), ("races",), TOUCHES,
        lambda ir: edited(_several(ir), _behind_waits(ir), lambda s: (replace(s, scope="warp"),)),
    ),
    Mutant(
        "copies a tile too far ahead",
        "each trip copies the tile behind the one that it should, into a slot from which fragments are still loaded",
        ("fresh", "barriers_between"), ("races", "uninitialised"), TOUCHES, lambda ir: _ahead(ir, 1),
    ),
    Mutant(
        "copies into the next slot",
        "copies go to the slot behind theirs",
        ("fresh",), ("races", "uninitialised"), TOUCHES, lambda ir: _slots(ir, lambda e, n: (e + 1) % n, AsyncCopy),
    ),
    Mutant(
        "fragments from the next slot",
        "fragments are loaded from the slot behind theirs, to which copies are on their way",
        ("fresh",), ("races", "uninitialised"), TOUCHES, lambda ir: _slots(ir, lambda e, n: (e + 1) % n, LoadMatrix),
    ),
    Mutant(
        "one slot for all tiles",
        "copies and loads stay in the first slot of the ring",
        ("not_overwritten",), ("races", "uninitialised"), TOUCHES,
        lambda ir: _slots(ir, lambda e, n: aff(0), AsyncCopy, LoadMatrix),
    ),
    Mutant(
        "copies of one tile only",
        "every trip that multiplies copies the same k tile again",
        ("sums",), ("values",), (), _same_tile,
    ),
    Mutant(
        "fragments into the other set",
        "fragments that are loaded a strip ahead go to the registers that are being multiplied",
        ("fresh",), ("values",), (), lambda ir: _other_set(ir, LoadMatrix, "target"),
    ),
    Mutant(
        "A's fragments of the other set",
        "products take A's fragments of the strip that is being loaded, with B's of the one before",
        ("fresh", "sums"), ("values",), (), lambda ir: _other_set(ir, Mma, "a"),
    ),
    Mutant(
        "fragments behind their products",
        "products come before the loads of fragments that stand before them",
        ("fresh",), ("uninitialised",), (), _late_fragments,
    ),
)  # fmt: skip


def _several(ir: KernelIR) -> KernelIR:
    """A kernel with several warps."""
    if ir.warps == 1:
        raise NothingToBreak(f"{ir.name} has one warp", where=ir.about)
    return ir
