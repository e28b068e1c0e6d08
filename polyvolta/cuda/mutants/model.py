"""What a mutant is: a change that breaks a kernel on purpose, and what has to notice it.

A mutant looks for what it breaks by what an operation does ("the barrier between a store to a tile and the next load
from it"), never by where it stands, so that it applies to every kernel that has such a thing. `edited` makes the
change; where there is nothing to change it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Op, Roles, SharedTile, Stmt, Tiles, When
from polyvolta.cuda.ir.walk import IrPath, operations, replaced, walk
from polyvolta.display.shown import Brief
from polyvolta.sched.tree import Schedule


class NothingToBreak(CudaError, ValueError):
    """The kernel has nothing of the kind that a mutant breaks."""

    id = "PV564"


class NotAKernel(CudaError, TypeError):
    """Something that isn't a compiled kernel, with its text and its trees, was to be broken."""

    id = "PV566"


@dataclass(frozen=True, slots=True, repr=False)
class Mutant(Brief):
    """One way to break a kernel.

    Parameters
    ----------
    name : a few words, unique.
    about : what it breaks, in a sentence.
    proofs : ids of the proofs (see `verify.report.PROOFS`) that are refuted, every one of them; others may be, too.
    observers : names of the observers that complain when a kernel that shows it is interpreted, every one of them;
        others may, too. "values" alone: the kernel does nothing that isn't allowed, it computes something else. None
        for a mutant of the trees or of the arguments, of which a run shows nothing. Where there are roles, each under
        some order of events.
    blames : the operations at one of which each counter-example is.
    ir : the change of the kernel IR; None for a mutant of the trees.
    trees : the change of the schedule trees, stage name -> tree; None for a mutant of the IR.
    """

    name: str
    about: str
    proofs: tuple[str, ...]
    observers: tuple[str, ...]
    blames: tuple[type, ...] = ()
    ir: Callable[[KernelIR], KernelIR] | None = None
    trees: Callable[[Mapping[str, Schedule]], Mapping[str, Schedule]] | None = None

    def _facts(self) -> list[tuple[str, object]]:
        changed = "the kernel IR" if self.trees is None else "the schedule trees"
        return [("breaks", self.about), ("changes", changed), ("refuted", self.proofs), ("seen by", self.observers)]

    def _title(self) -> str:
        return self.name


# ---- changes


def edited(ir: KernelIR, at: Iterable[IrPath], new: Callable[[Any], tuple[Stmt, ...]]) -> KernelIR:
    """The kernel with other statements, or none, in place of those at some paths.

    Raises
    ------
    NothingToBreak : no path, or nothing that differs.
    """
    stmts, body = dict(walk(ir.body)), ir.body
    for path in sorted(at, reverse=True):  # from the end, so that the paths before still lead where they did
        body = replaced(body, path, new(stmts[path]))
    return differing(ir, replace(ir, body=body))


def differing(ir: KernelIR, broken: KernelIR) -> KernelIR:
    """The broken kernel, if it is another one.

    Raises
    ------
    NothingToBreak
    """
    if broken == ir:
        raise NothingToBreak(f"{ir.name} has nothing of the kind that this mutant breaks", where=ir.about)
    return broken


def with_tiles(ir: KernelIR, change: Callable[[SharedTile], SharedTile]) -> KernelIR:
    """The kernel with its shared tiles changed."""
    return differing(ir, replace(ir, tiles=tuple(map(change, ir.tiles))))


# ---- places


def places(ir: KernelIR, *kinds: type, where: Callable[[Any], bool] = lambda s: True) -> list[IrPath]:
    """The paths of all statements of some kinds."""
    return [at for at, s in walk(ir.body) if isinstance(s, kinds) and where(s)]


def around(ir: KernelIR, at: IrPath) -> list[tuple[IrPath, Stmt]]:
    """The loops and conditions around a place, outermost first."""
    stmts = dict(walk(ir.body))
    return [(at[:n], stmts[at[:n]]) for n in range(1, len(at))]


def paths_of_k_loops(ir: KernelIR) -> list[IrPath]:
    """The loops over k tiles: they copy to shared memory, and multiply."""
    found = []
    for at, s in walk(ir.body):
        if isinstance(s, Loop):
            inside = tuple(operations(s.body))
            fills = any(a.writes and a.space == "shared" and not a.places for op in inside for a in op.accesses(ir))
            found += [at] if fills and any(op.product is not None for op in inside) else []
    return found


def in_k_loops(ir: KernelIR, *kinds: type, where: Callable[[Any], bool] = lambda s: True) -> list[IrPath]:
    """The paths of all statements of some kinds in loops over k tiles."""
    loops = paths_of_k_loops(ir)
    return [at for at in places(ir, *kinds, where=where) if any(at[: len(loop)] == loop for loop in loops)]


def barriers(ir: KernelIR, before: type | None, after: type | None, scope: str = "") -> list[IrPath]:
    """Barriers by the nearest access to shared memory before and after them in the text.

    Parameters
    ----------
    before, after : kinds of operation: the barrier follows a `before`, an `after` follows it; None: any.
    scope : "block" or "warp"; by default both.
    """
    line = [(at, s) for at, s in walk(ir.body)
            if isinstance(s, Op) and (s.orders or any(a.space == "shared" for a in s.accesses(ir)))]  # fmt: skip
    found = []
    for n, (at, s) in enumerate(line):
        if s.orders is None or scope not in ("", s.orders):
            continue
        last = next((x for _, x in reversed(line[:n]) if x.orders is None), None)
        following = next((x for _, x in line[n + 1 :] if x.orders is None), None)
        if (before is None or isinstance(last, before)) and (after is None or isinstance(following, after)):
            found.append(at)
    return found


def without(s: Stmt) -> tuple[Stmt, ...]:
    """Nothing in a statement's place."""
    return ()


def rewritten(body: tuple[Stmt, ...], change: Callable[[Op], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """A body with every operation in it replaced."""
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, Loop | Tiles):
            out.append(replace(s, body=rewritten(s.body, change)))
        elif isinstance(s, When):
            out.append(replace(s, body=rewritten(s.body, change), orelse=rewritten(s.orelse, change)))
        elif isinstance(s, Roles):
            out.append(replace(s, roles=tuple(replace(r, body=rewritten(r.body, change)) for r in s.roles)))
        else:
            out += change(s)
    return tuple(out)
