"""Mutants of clusters: boxes for several blocks, arrivals at other blocks' barriers, barriers of the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.engines.clusters import AXES, blocks, own, ranked
from polyvolta.cuda.ir.kernel_ir import Arrive, Barrier, BoxCopy, ExchangeLoad, InitBarriers, KernelIR, Loop, Stmt
from polyvolta.cuda.ir.walk import IrPath, operations
from polyvolta.cuda.mutants.model import Mutant, around, differing, edited, places, without
from polyvolta.sets import Aff, aff

OTHER, REFUSED = ("values",), ("phases",)


def _shared(ir: KernelIR) -> list[IrPath]:
    """Boxes that several blocks get."""
    return places(ir, BoxCopy, where=lambda op: len(op.to) > 1)


def _remote(ir: KernelIR) -> list[IrPath]:
    """Arrivals at barriers of a cluster's blocks, by rank."""
    return places(ir, Arrive, where=lambda op: op.to is not None)


def _meetings(ir: KernelIR, last: bool) -> list[IrPath]:
    """Barriers of the cluster, those behind the roles or those behind the beginning of barriers."""
    begins = places(ir, InitBarriers)
    at = places(ir, Barrier, where=lambda op: op.scope == "cluster")
    reached = _shared(ir) or _remote(ir)
    return at[-1:] if last else [x for x in at[:1] if begins and reached and x > begins[0]]


def _to_itself(ir: KernelIR) -> KernelIR:
    rank = ranked(own(ir.cluster), ir.cluster)
    return edited(ir, _remote(ir), lambda op: (replace(op, to=rank),))


def _own_part(ir: KernelIR) -> KernelIR:
    """Whatever the rank, boxes are those of the first block."""
    here = {name: aff(0) for name in AXES}

    def change(op: BoxCopy) -> tuple[Stmt, ...]:
        first = tuple(e.subs(here) for e in op.place)
        index: tuple[Aff, ...] = tuple(e + b - a for e, a, b in zip(op.index, op.place, first, strict=True))
        return (replace(op, place=first, index=index),)

    return edited(ir, _shared(ir), change)


def _counted(ir: KernelIR) -> KernelIR:
    """Free slots are those that the own block's warpgroups have released."""
    found = [op for op in operations(ir.body) if isinstance(op, Arrive) and op.to is not None]
    rows, ranks = {op.phase.barriers for op in found}, {op.to for op in found}
    changed = (replace(r, arrivals=r.arrivals // len(ranks)) if r.name in rows else r for r in ir.barriers)
    return differing(ir, replace(ir, barriers=tuple(changed)))


def _untold(ir: KernelIR) -> KernelIR:
    """Of the arrivals by rank one is left, at the own block."""
    first = next((op.to for op in operations(ir.body) if isinstance(op, Arrive) and op.to is not None), None)
    return edited(ir, _remote(ir), lambda op: (replace(op, to=None),) if op.to == first else ())


def _expected(ir: KernelIR) -> KernelIR:
    """A block expects the bytes of what it asks for itself."""
    count = blocks(ir.cluster)
    at = places(ir, Arrive, where=lambda op: op.bytes) if _shared(ir) else []
    return edited(ir, at, lambda op: (replace(op, bytes=op.bytes // count),))


def _gathers(ir: KernelIR) -> list[IrPath]:
    """Loads of the parts of a split K."""
    return places(ir, ExchangeLoad, where=lambda op: op.first is not None)


def _between(ir: KernelIR) -> list[IrPath]:
    """The barriers of the cluster before them."""
    at = places(ir, Barrier, where=lambda op: op.scope == "cluster")
    return [x for x in at[1:-1] if any(x < g for g in _gathers(ir))]


def _one_share(ir: KernelIR) -> KernelIR:
    """All blocks of a cluster add up the columns that are the first one's."""
    gathers = _gathers(ir)
    loops = {path for at in gathers for path, s in around(ir, at) if isinstance(s, Loop)}
    first = {"blockIdx.z": aff(0)}

    def change(s: Loop) -> tuple[Stmt, ...]:
        lower, upper = (tuple(e.subs(first) for e in es) for es in (s.lower, s.upper))
        return (replace(s, lower=lower, upper=upper),)

    return edited(ir, loops, change)


def _m(name: str, about: str, proofs: tuple[str, ...], observers: tuple[str, ...], change: Any) -> Mutant:
    return Mutant(name, about, proofs, observers, (), change)


MUTANTS = (
    _m("a box for a block less", "the last rank of those that need a box doesn't get it", ("phases", "deadlock"),
       REFUSED, lambda ir: edited(ir, _shared(ir), lambda op: (replace(op, to=op.to[:-1]),))),
    _m("a box for the own block", "nobody else gets boxes that several blocks need", ("phases", "deadlock"), REFUSED,
       lambda ir: edited(ir, _shared(ir), lambda op: (replace(op, to=()),))),
    _m("the same part from all", "each block brings the part of a tile that is the first one's", ("fresh",),
       ("races", "uninitialised"), _own_part),
    _m("released to itself", "a block says so often that a slot is free as others should, and doesn't tell them",
       ("not_overwritten",), ("races",), _to_itself),
    _m("released to itself alone", "a block doesn't tell the others that a slot is free", ("phases", "deadlock"),
       REFUSED, _untold),
    _m("releases of others not counted", "a slot counts as free when one block's warpgroups have read it", ("phases",),
       REFUSED, _counted),
    _m("bytes of the own boxes alone", "a block doesn't expect what others have copied to it", ("phases",), REFUSED,
       _expected),
    _m("no barrier at the end of a cluster", "a block may have ended when another one arrives there", ("phases",),
       REFUSED, lambda ir: edited(ir, _meetings(ir, True), without)),
    _m("barriers begin for their block", "another block's barriers may not have begun", ("phases",), REFUSED,
       lambda ir: edited(ir, _meetings(ir, False), lambda op: (replace(op, scope="block"),))),
    _m("parts of other blocks not waited for", "a block adds up parts of K that may not lie there",
       ("barriers_between",), ("races", "values"), lambda ir: edited(ir, _between(ir), without)),
    _m("a part of K left out", "a part of a split K isn't added", ("dependences",), OTHER,
       lambda ir: edited(ir, _gathers(ir), lambda op: (replace(op, parts=op.parts - 1),))),
    _m("the first part of K again and again", "every part of a split K is the first block's", ("sums",), OTHER,
       lambda ir: edited(ir, _gathers(ir), lambda op: (replace(op, stride=0),))),
    _m("columns of the first block for all", "all blocks of a cluster add up and store the same columns",
       ("written_once",), ("races", "uninitialised"), _one_share),
)  # fmt: skip
