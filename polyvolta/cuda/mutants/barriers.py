"""Mutants of barriers: left out, narrowed from a block to a warp, or where not all threads come by."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    KernelIR,
    Loop,
    SharedStore,
    When,
)
from polyvolta.cuda.ir.walk import IrPath, operations
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, around, barriers, edited, in_k_loops, places, without
from polyvolta.sets import Aff, var


def _narrowed(ir: KernelIR, at: list[IrPath]) -> KernelIR:
    """Block barriers become warp barriers."""
    if ir.warps == 1:
        raise NothingToBreak(f"{ir.name} has one warp", where=ir.about)
    return edited(ir, at, lambda s: (replace(s, scope="warp"),))


def _after_stores(ir: KernelIR) -> list[IrPath]:
    """Block barriers that come after the stores of a k tile, in its loop."""
    return [at for at in barriers(ir, SharedStore, None, "block") if at in in_k_loops(ir, Barrier)]


def _before_exchange(ir: KernelIR) -> KernelIR:
    """The barrier between the products and an exchange buffer that lies where their tiles do."""
    at = barriers(ir, None, ExchangeStore, "block")
    first = min(places(ir, ExchangeStore), default=())
    return edited(ir, [path for path in at if path < first and path not in in_k_loops(ir, Barrier)], without)


def _before_stores(ir: KernelIR) -> KernelIR:
    """The barrier that lets the stores of a k tile wait for the loads of the one before; two buffers need none."""
    return edited(ir, [at for at in barriers(ir, None, SharedStore, "block") if at in in_k_loops(ir, Barrier)], without)


def _free(ir: KernelIR) -> KernelIR:
    """Barriers between a load from an exchange buffer and the next store to it."""
    stores = places(ir, ExchangeStore)
    again = any(isinstance(s, Loop) for at in stores for _, s in around(ir, at))
    if not again and len(stores) < 2:
        raise NothingToBreak(f"{ir.name} uses its exchange buffer once", where=ir.about)
    return edited(ir, barriers(ir, ExchangeLoad, None), without)


def _diverging(ir: KernelIR, scope: str, condition: Aff) -> KernelIR:
    """Barriers that only the threads with condition >= 0 come by."""
    if scope == "block" and ir.warps == 1:
        raise NothingToBreak(f"{ir.name} has one warp", where=ir.about)
    at = in_k_loops(ir, Barrier) if scope == "block" else places(ir, Barrier, where=lambda op: op.scope == "warp")
    return edited(ir, at, lambda s: (When((condition,), (s,), uniform=False),))


def _split(ir: KernelIR) -> KernelIR:
    if not any(isinstance(op, ExchangeLoad) and op.parts > 1 for op in operations(ir.body)):
        raise NothingToBreak(f"{ir.name} doesn't split K", where=ir.about)
    return _narrowed(ir, barriers(ir, ExchangeStore, None, "block"))


SHARED, EXCHANGE = (SharedStore, FragmentLoad), (ExchangeStore, ExchangeLoad)

MUTANTS = (
    Mutant(
        "no barrier before the stores",
        "warps store the next k tile into shared memory while others still load fragments of this one",
        ("not_overwritten",), ("races",), SHARED, _before_stores,
    ),
    Mutant(
        "no barrier after the stores",
        "warps load fragments of a k tile before the other warps have stored it",
        ("barriers_between",), ("races",), SHARED, lambda ir: edited(ir, _after_stores(ir), without),
    ),
    Mutant(
        "warp barrier after the stores",
        "after the stores of a k tile the lanes of a warp wait for one another, not the warps of the block",
        ("barriers_between",), ("races",), SHARED, lambda ir: _narrowed(ir, _after_stores(ir)),
    ),
    Mutant(
        "no barrier before the exchange",
        "the exchange buffer lies where the tiles do, and warps store to it while others still load fragments",
        ("not_overwritten",), ("races",), (ExchangeStore, FragmentLoad), _before_exchange,
    ),
    Mutant(
        "no barrier before the exchange's loads",
        "lanes take runs out of the exchange buffer before the other lanes have put their pieces in",
        ("barriers_between",), ("races",), EXCHANGE,
        lambda ir: edited(ir, barriers(ir, ExchangeStore, ExchangeLoad), without),
    ),
    Mutant(
        "no barrier after the exchange's loads",
        "lanes put the next fragment's pieces into the exchange buffer while others still load from it",
        ("not_overwritten",), ("races",), EXCHANGE, _free,
    ),
    Mutant(
        "warp barrier in a split K's exchange",
        "the warp that adds up the parts of a split K doesn't wait for the warps that computed them",
        ("barriers_between",), ("races",), EXCHANGE, _split,
    ),
    Mutant(
        "block barrier in one warp",
        "only the first warp comes by the barriers of the k loop, the others never do",
        ("barriers_reached",), ("divergence",), (Barrier,), partial(_diverging, scope="block", condition=-var("warp")),
    ),
    Mutant(
        "warp barrier in half a warp",
        "only the first sixteen lanes come by the warp barriers of the exchange",
        ("barriers_reached",), ("divergence",), (Barrier,),
        partial(_diverging, scope="warp", condition=15 - var("lane")),
    ),
)  # fmt: skip
