"""Mutants of operands that warpgroups compute on the way: left ones in registers, right ones in their stage; and of
loops in which several products share tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    Element,
    KernelIR,
    LoadMatrix,
    Pointwise,
    ProxyFence,
    SharedLoad,
    SharedStore,
    Wgmma,
    WgmmaFence,
    WgmmaWait,
)
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, around, edited, places, without
from polyvolta.sets import aff


def _held(ir: KernelIR) -> set[str]:
    """Registers that products take as their left operand.

    Raises
    ------
    NothingToBreak : none does.
    """
    found = {op.a.array for op in operations(ir.body) if isinstance(op, Wgmma) and isinstance(op.a, Element)}
    if not found:
        raise NothingToBreak(f"no product of {ir.name} has an operand in registers", where=ir.about)
    return found


def _rewritten(ir: KernelIR) -> set[str]:
    """Tiles that threads rewrite.

    Raises
    ------
    NothingToBreak : none is.
    """
    found = {op.tile for op in operations(ir.body) if isinstance(op, SharedLoad)}
    if not found:
        raise NothingToBreak(f"no operand of {ir.name} is rewritten in its stage", where=ir.about)
    return found


def _applied(ir: KernelIR, arrays: set[str]) -> list[IrPath]:
    """Formulas that are applied to some registers."""
    return places(ir, Pointwise, where=lambda op: op.target.array in arrays)


def _of_left(ir: KernelIR) -> list[IrPath]:
    return _applied(ir, _held(ir))


def _of_right(ir: KernelIR) -> list[IrPath]:
    _rewritten(ir)
    return _applied(ir, {op.target.array for op in operations(ir.body) if isinstance(op, SharedLoad)})


def _one_set(ir: KernelIR) -> KernelIR:
    """All strips have the first set of registers."""
    held = _held(ir)

    def first(e: Element) -> Element:
        return Element(e.array, (aff(0), *e.index[1:])) if e.array in held else e

    at = places(ir, LoadMatrix, where=lambda op: op.target.array in held)
    out = edited(ir, at, lambda op: (replace(op, target=first(op.target)),))
    out = edited(out, _of_left(ir), lambda op: (replace(
        op, target=first(op.target), operands=tuple(first(x) if isinstance(x, Element) else x for x in op.operands)),))
    return edited(out, places(ir, Wgmma), lambda op: (replace(op, a=first(op.a)),))  # fmt: skip


def _other_set(ir: KernelIR) -> KernelIR:
    """Products take the registers of the strip before."""
    held = _held(ir)
    sets = {r.name: r.shape[0] for r in ir.registers if r.name in held}

    def change(op: Wgmma) -> tuple[Wgmma, ...]:
        first, *rest = op.a.index  # type: ignore[union-attr]
        return (replace(op, a=Element(op.a.array, ((first + 1) % sets[op.a.array], *rest))),)  # type: ignore[union-attr]

    return edited(ir, places(ir, Wgmma, where=lambda op: isinstance(op.a, Element)), change)


def _in_strips(ir: KernelIR, kind: type) -> list[IrPath]:
    """Operations in the loops whose products have an operand in registers."""
    _held(ir)
    loops = {path for at in places(ir, LoadMatrix, where=lambda op: op.operand == "x") for path, _ in around(ir, at)}
    return [at for at in places(ir, kind) if any(at[: len(path)] == path for path in loops if len(path) > 1)]


def _late(ir: KernelIR) -> KernelIR:
    """Registers are loaded when a group more may run."""
    at = [at for at in _in_strips(ir, WgmmaWait) if dict(walk(ir.body))[at].pending]  # type: ignore[union-attr]
    return edited(ir, at, lambda op: (replace(op, pending=op.pending + 1),))


def _before_fence(ir: KernelIR) -> KernelIR:
    """The fence of registers stands before what is loaded to them: behind the last one nothing is ready."""
    return edited(ir, _in_strips(ir, WgmmaFence), without)


def _unmasked(ir: KernelIR) -> KernelIR:
    """Values beyond the k range count."""
    at = [at for at in (*places(ir, Pointwise),) if dict(walk(ir.body))[at].inside is not None]  # type: ignore[union-attr]
    if not at:
        raise NothingToBreak(f"nothing of {ir.name} is set to 0 beyond the k range", where=ir.about)
    return edited(ir, at, lambda op: (replace(op, inside=None),))


def _in_loop(ir: KernelIR, kind: type, where: Callable = lambda op: True) -> list[IrPath]:
    """Operations beside the rewriting of a stage."""
    _rewritten(ir)
    first = min(len(at) for at in places(ir, SharedLoad))
    at = next(at for at in places(ir, SharedLoad) if len(at) == first)
    loops = [p for p, _ in around(ir, at)]
    return [p for p in places(ir, kind, where=where) if any(p[:-1] == loop for loop in loops) and p > at]


def _of_one_loop(ir: KernelIR) -> list[tuple[Wgmma, IrPath]]:
    """Products that have a loop with one before them, each with the first one.

    Raises
    ------
    NothingToBreak : no loop has several.
    """
    first: dict[IrPath, Wgmma] = {}
    found = []
    for at in places(ir, Wgmma):
        op = dict(walk(ir.body))[at]
        loop = next((path for path, _ in around(ir, at)), ())  # the outermost one, over k tiles
        other = first.setdefault(loop, op)  # type: ignore[arg-type]
        if other.b.tile != op.b.tile:  # type: ignore[union-attr]
            found.append((other, at))
    if not found:
        raise NothingToBreak(f"no loop of {ir.name} has several products with a right operand each", where=ir.about)
    return found


def _one_right(ir: KernelIR) -> KernelIR:
    """All products of a loop read the first one's right operand."""
    for first, at in _of_one_loop(ir):
        ir = edited(ir, [at], lambda op, first=first: (replace(op, b=replace(op.b, tile=first.b.tile)),))
    return ir


def _m(
    name: str, about: str, proofs: tuple[str, ...], observers: tuple[str, ...], change: Callable[[KernelIR], KernelIR]
) -> Mutant:
    return Mutant(name, about, proofs, observers, (), change)


MUTANTS = (
    _m("left operands as they are", "no formula is applied to fragments", ("result",), ("values",),
       lambda ir: edited(ir, _of_left(ir), without)),
    _m("right operands as they are", "no formula is applied to what threads take from a stage", ("result",),
       ("values",), lambda ir: edited(ir, _of_right(ir), without)),
    _m("one set of fragments", "a strip's fragments are loaded over those that a running product reads",
       ("in_flight",), ("races",), _one_set),
    _m("fragments of the strip before", "products take the other set of registers", ("sums",), ("races",), _other_set),
    _m("fragments are loaded a strip early", "registers are loaded while the product that has them may run",
       ("in_flight",), ("races",), _late),
    _m("fragments unfenced", "products begin before their registers are ready", ("in_flight",), ("races",),
       _before_fence),
    _m("values beyond k", "what a formula makes of zeros is added", ("sums",), ("values",), _unmasked),
    _m("a stage rewritten unfenced", "tensor cores may not see what threads wrote over a stage", ("proxies",),
       ("races",), lambda ir: edited(ir, _in_loop(ir, ProxyFence), without)),
    _m("a stage is not waited for", "warpgroups multiply what others still rewrite", ("barriers_between",), ("races",),
       lambda ir: edited(ir, _in_loop(ir, Barrier), without)),
    _m("a stage rewritten in part", "chunks of a stage stay as they came", ("result",), ("races",),
       lambda ir: edited(ir, places(ir, SharedStore, where=lambda op: op.tile in _rewritten(ir)),
                         lambda op: (replace(op, index=tuple(e.subs({"rank": aff(0)}) for e in op.index)),))),
    _m("one right operand for a loop's products", "products that share a left operand read one right tile",
       ("result",), ("values",), _one_right),
)  # fmt: skip
