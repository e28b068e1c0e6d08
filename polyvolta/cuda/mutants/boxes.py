"""Mutants of boxes and of warpgroups' products: what copy engines bring, where descriptors lead, what is summed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    BoxCopy,
    BoxMap,
    BoxStore,
    GlobalTensor,
    KernelIR,
    Loop,
    SharedOperand,
    SharedTile,
    StoreMatrix,
    Wgmma,
    When,
    Zero,
)
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, around, differing, edited, places, with_tiles, without
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.sets import Aff, aff, var

# ---- tiles and maps


def _boxed(ir: KernelIR) -> frozenset[str]:
    """The tiles that boxes come to."""
    return frozenset(s.tile for _, s in walk(ir.body) if isinstance(s, BoxCopy))


def _plain_tiles(ir: KernelIR) -> KernelIR:
    """Tiles whose layout leaves out the swizzle."""
    boxed = _boxed(ir)

    def change(t: SharedTile) -> SharedTile:
        if t.name not in boxed or t.layout is None:
            return t
        box = next(ir.box_map(s.map).box for _, s in walk(ir.body) if isinstance(s, BoxCopy) and s.tile == t.name)
        (line, lines), (run, _) = (t.layout.inputs[d] for d in t.order)
        panel = var(run) // box.run * (lines * box.pitch)
        chunk = panel + box.pitch * var(line) + var(run) % box.run // 8
        return replace(t, layout=replace(t.layout, outputs=(("chunk", chunk),)).simplified())

    return with_tiles(ir, change)


def _shifted_tiles(ir: KernelIR) -> KernelIR:
    """The block's shared memory from 128 bytes further on."""
    if not ir.maps:
        raise NothingToBreak(f"{ir.name} has no boxes", where=ir.about)
    rows = tuple(replace(b, start=b.start + 8) for b in ir.barriers)
    return replace(with_tiles(ir, lambda t: replace(t, start=t.start + 8)), barriers=rows)


def _with_boxes(ir: KernelIR, change: Callable[[Box], Box]) -> KernelIR:
    def changed(m: BoxMap) -> BoxMap:
        return replace(m, box=change(m.box))

    return differing(ir, replace(ir, maps=tuple(map(changed, ir.maps))))


def _half_boxes(ir: KernelIR) -> KernelIR:
    """Maps of boxes with half the lines, whose bytes are waited for."""
    small = _with_boxes(ir, lambda box: replace(box, lines=box.lines // 2))
    expecting = places(small, Arrive, where=lambda s: s.bytes > 0)
    return edited(small, expecting, lambda s: (replace(s, bytes=s.bytes // 2),))


# ---- boxes


def _of_operand(ir: KernelIR, side: str) -> frozenset[str]:
    """The tiles of which products take an operand."""
    return frozenset(getattr(s, side).tile for _, s in walk(ir.body) if isinstance(s, Wgmma))


def _elsewhere(ir: KernelIR, dimension: int, by: Callable[[Box], int]) -> KernelIR:
    """Boxes of left operands from so many elements further on, along a dimension of the operand."""
    tiles = _of_operand(ir, "a")

    def change(s: BoxCopy) -> tuple[BoxCopy]:
        m = ir.box_map(s.map)
        there = ir.tensor(m.tensor).order[ir.tile(s.tile).order.index(dimension)]  # a tile's lines are a tensor's
        steps = [by(m.box) if d == there else 0 for d in (0, 1)]
        return (replace(s, index=tuple(e + n for e, n in zip(s.index, steps, strict=True))),)

    return edited(ir, places(ir, BoxCopy, where=lambda s: s.tile in tiles), change)


def _k_tile(ir: KernelIR) -> int:
    """How many k a tile has."""
    for _, s in walk(ir.body):
        if isinstance(s, Wgmma):
            assert isinstance(s.a, SharedOperand)
            layout = ir.tile(s.a.tile).layout
            assert layout is not None
            return layout.inputs[1][1]
    raise NothingToBreak(f"{ir.name} has no products of warpgroups", where=ir.about)


def _beside(ir: KernelIR) -> KernelIR:
    """Boxes half of themselves further on in their tile."""

    def change(s: BoxCopy) -> tuple[BoxCopy]:
        line = ir.tile(s.tile).order[0]
        half = ir.box_map(s.map).box.lines // 2
        return (replace(s, place=tuple(e + half * (d == line) for d, e in enumerate(s.place))),)

    return edited(ir, places(ir, BoxCopy), change)


# ---- products


def _products(ir: KernelIR, change: Callable[[Any], Any]) -> KernelIR:
    return edited(ir, places(ir, Wgmma), lambda s: (change(s),))


def _operands(ir: KernelIR, change: Callable[[SharedOperand], SharedOperand]) -> KernelIR:
    return _products(ir, lambda s: replace(s, a=change(s.a)))


def _next_slot(ir: KernelIR) -> KernelIR:
    """Products that take A from the slot behind the one that is due."""
    if not places(ir, Wgmma):
        raise NothingToBreak(f"{ir.name} has no products of warpgroups", where=ir.about)

    def change(x: SharedOperand) -> SharedOperand:
        return replace(x, buffer=_turned(x.buffer, ir.tile(x.tile).buffers))

    return _operands(ir, change)


def _turned(slot: Aff, slots: int) -> Aff:
    return (slot + 1) % slots


def _first_warpgroup(ir: KernelIR) -> KernelIR:
    """Products that all take the first warpgroup's rows of A."""
    names = [n for n, _ in ir.derived if n.startswith("warpgroupIdx")]
    return _operands(ir, lambda x: replace(x, start=x.start.subs(dict.fromkeys(names, aff(0)))))


def _matrices(ir: KernelIR, change: Callable[[Any], Any]) -> KernelIR:
    """The stores of matrices changed."""
    return edited(ir, places(ir, StoreMatrix), lambda s: (change(s),))


def _swapped_matrices(s: StoreMatrix) -> StoreMatrix:
    """A matrix whose halves of eight columns are in each other's place."""
    (row, line), (col, e) = s.lines.outputs
    return replace(s, lines=replace(s.lines, outputs=((row, line), (col, 8 - e))))


def _first_rows(ir: KernelIR) -> KernelIR:
    """Matrices that all warps store to the first one's rows."""
    names = dict.fromkeys(("warp", "linearId"), aff(0))
    return _matrices(ir, lambda s: replace(s, origin=tuple(e.subs(names) for e in s.origin)))


def _swapped_rows(s: Wgmma) -> Wgmma:
    """A product whose accumulators are said to be those of the rows eight further up or down."""
    (row, e), col = s.macro.d.outputs
    i = s.macro.d.inputs[1][0]
    lower = var(i) // 2 % 2
    return replace(s, macro=replace(s.macro, d=replace(s.macro.d, outputs=((row, e + 8 - 16 * lower), col))))


def _k_step(x: SharedOperand) -> SharedOperand:
    """An operand from the next k step on."""
    d = x.descriptor
    lines = 2 * d.stride if d.major == "mn" and d.swizzle.bytes else 2 * d.leading if not d.swizzle.bytes else 2
    return replace(x, start=x.start + lines)


def _wide(x: SharedOperand) -> SharedOperand:
    return replace(x, descriptor=replace(x.descriptor, stride=2 * x.descriptor.stride))


def _no_zeros(ir: KernelIR) -> KernelIR:
    """Accumulators that nobody clears where there is no k."""
    if not places(ir, Wgmma):
        raise NothingToBreak(f"{ir.name} has no products of warpgroups", where=ir.about)
    return edited(ir, places(ir, Zero), without)


def _pieces(ir: KernelIR, change: Callable[[BoxStore], BoxStore]) -> KernelIR:
    """Pieces of the result stored otherwise."""
    return edited(ir, places(ir, BoxStore), lambda s: (change(s),))


def _neighbour(ir: KernelIR) -> KernelIR:
    """Pieces of the result stored where the next ones are, along their lines."""

    def change(s: BoxStore) -> BoxStore:
        m = ir.box_map(s.map)
        run = ir.tensor(m.tensor).order[-1]
        return replace(s, index=tuple(e + m.box.run * (d == run) for d, e in enumerate(s.index)))

    return _pieces(ir, change)


def _tensors(ir: KernelIR, change: Callable[[GlobalTensor], GlobalTensor]) -> KernelIR:
    """The tensors of boxes changed."""
    boxed = {m.tensor for m in ir.maps}
    return differing(ir, replace(ir, tensors=tuple(change(t) if t.name in boxed else t for t in ir.tensors)))


def _said_of_all(ir: KernelIR) -> KernelIR:
    """Conditions around boxes that come are marked as those on which all threads agree."""
    guards = {path for at in places(ir, BoxCopy) for path, s in around(ir, at) if isinstance(s, When)}
    return edited(ir, guards, lambda s: (replace(s, uniform=True),))


BOX, PRODUCT = (BoxCopy,), (Wgmma,)

MUTANTS = (
    Mutant("layout of boxes without swizzle", "tiles that boxes come to are said to lie there unpermuted", ("layouts",),
           ("values",), (BoxCopy, Wgmma), _plain_tiles),
    Mutant("shared memory from a line further on", "tiles start at no multiple of the swizzle's pattern",
           ("layouts", "alignment"), ("values",), (BoxCopy, Wgmma), _shifted_tiles),
    Mutant("map without swizzle", "boxes arrive unpermuted",
           ("layouts", "fresh"), ("values",), (BoxCopy, BoxStore, Wgmma),
           lambda ir: _with_boxes(ir, lambda box: replace(box, swizzle=Swizzle(0)))),
    Mutant("map of half the lines", "boxes have half their lines, and that many bytes are waited for",
           ("copies", "fresh"),
           ("values",), (BoxCopy, Wgmma), _half_boxes),
    Mutant("box a row block further on", "the left operand's tiles come from the rows of the next block", ("result",),
           ("values",), (BoxStore,), lambda ir: _elsewhere(ir, 0, lambda box: 128)),
    Mutant("box a k tile further on", "the left operand's tiles are those of the next step", ("fresh", "sums"),
           ("values",), PRODUCT, lambda ir: _elsewhere(ir, 1, lambda box: _k_tile(ir))),
    Mutant("box beside its place", "boxes arrive half of themselves further on",
           ("copies", "bounds", "layouts"), ("bounds",), BOX,
           _beside),
    Mutant("descriptor of twice the stride", "every second group of eight lines is read", ("layouts", "fresh"),
           ("values",), PRODUCT,
           lambda ir: _operands(ir, _wide)),
    Mutant("operand a k step further on", "the left operand starts at the next k step", ("layouts", "fresh"),
           ("values",), PRODUCT, lambda ir: _operands(ir, _k_step)),
    Mutant("operand of the first warpgroup", "all warpgroups multiply the first one's rows", ("layouts", "fresh"),
           ("values",), PRODUCT, _first_warpgroup),
    Mutant("operand of the next slot", "the left operand is read where another k tile lies", ("fresh",), ("values",),
           PRODUCT, _next_slot),
    Mutant("products that always add", "sums begin with what was in the registers", ("sums",), ("values",), PRODUCT,
           lambda ir: _products(ir, lambda s: replace(s, adds=()))),
    Mutant("products that never add", "sums begin with every step", ("sums",), ("values",), (Wgmma, Loop),
           lambda ir: _products(ir, lambda s: replace(s, adds=(aff(-1),)))),
    Mutant("accumulators of other rows", "threads take their accumulators for those of other rows",
           ("ownership", "result"),
           ("values",), (Wgmma, BoxStore), lambda ir: _products(ir, _swapped_rows)),
    Mutant("halves of matrices swapped", "eight columns of each matrix are stored in the place of the next eight",
           ("ownership", "result"), ("values",), (StoreMatrix, BoxStore), lambda ir: _matrices(ir, _swapped_matrices)),
    Mutant("matrices of all warps in one place", "a piece of the result has the rows of one warp", ("copies", "result"),
           ("values",), (StoreMatrix, BoxStore), _first_rows),
    Mutant("piece in its neighbour's place", "pieces of the result are stored one further on",
           ("written_once", "result"),
           ("uninitialised", "values"), (BoxStore,), _neighbour),
    Mutant("piece of the first buffer", "all pieces of the result are stored from one buffer", ("result",),
           ("values",), (StoreMatrix, BoxStore), lambda ir: _pieces(ir, lambda s: replace(s, buffer=aff(0)))),
    Mutant("no zeros for no k", "accumulators are anything where K is 0", ("result",), ("uninitialised",), (BoxStore,),
           _no_zeros),
    Mutant("one thread's condition for all", "a condition of the thread that copies is said to be one of all",
           ("barriers_reached",), ("divergence",), (When,), _said_of_all),
    Mutant("tensors of boxes transposed", "arguments are said to have their extents the other way round",
           ("arguments",),
           (), (), lambda ir: _tensors(ir, lambda t: replace(t, dims=t.dims[::-1]))),
)  # fmt: skip
"""All of this module."""
