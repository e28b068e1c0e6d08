"""Mutants of fragments and accumulators: who owns what, what is multiplied, and how the exchange makes runs of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK_BYTES,
    LANES,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    KernelIR,
    Mma,
    Scale,
    Stmt,
    Zero,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.bank_model import worst_degree
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.mutants.model import (
    Mutant,
    NothingToBreak,
    edited,
    places,
    without,
)
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.registry import targets
from polyvolta.sets import Aff, aff, var, xor

LANE = var("lane")


# ---- ownership


def swapped(lane: Aff, other: int) -> Aff:
    """The lane's number, 0 and another one exchanged: an expression, as everything in the kernel IR is.

    >>> [swapped(LANE, 5).evaluate({"lane": n}) for n in (0, 1, 4, 5, 31)]
    [5, 1, 4, 0, 31]
    """
    return xor(lane, other * (_is(lane, 0) + _is(lane, other)), (2 * other).bit_length())


def _is(lane: Aff, number: int) -> Aff:
    """1 for one lane, 0 for the others."""
    return xor(lane, aff(LANES - 1 ^ number), 5) // (LANES - 1)


def _by_other_lanes(own: IndexMap, other: int) -> IndexMap:
    """An ownership map with lane 0 and another one exchanged."""
    lane = own.inputs[0][0]
    turned = swapped(var(lane), other)
    return replace(own, outputs=tuple((n, e.subs({lane: turned})) for n, e in own.outputs))


def _degree(ir: KernelIR, op: FragmentLoad, own: IndexMap) -> int:
    """The worst bank conflict of a fragment load with some ownership map, at the beginning of the tile."""
    tile = ir.tile(op.tile)
    lane, first = np.arange(LANES), np.arange(0, own.inputs[1][1], op.access)[:, None]
    place = [np.broadcast_to(x, (len(first), LANES)) for x in own.evaluate({"lane": lane, "i": first})]
    assert tile.layout is not None
    (chunk,) = tile.layout.evaluate({n: x for (n, _), x in zip(tile.layout.inputs, place)})
    addresses = CHUNK_BYTES * chunk + 2 * (place[tile.order[1]] % 8)
    return worst_degree(addresses, 2 * op.access)


def _lanes_exchanged(ir: KernelIR, operand: str) -> KernelIR:
    """Fragment loads of one operand in which lane 0 and another one take each other's values.

    The other lane is one that brings a bank conflict, too, if there is any.
    """

    def change(s: Any) -> tuple[Stmt]:
        own = s.ownership
        place = np.stack([np.broadcast_to(x, (LANES, own.inputs[1][1])) for x in own.evaluate(
            {"lane": np.arange(LANES)[:, None], "i": np.arange(own.inputs[1][1])})])  # fmt: skip
        others = [n for n in range(1, LANES) if (place[:, n] != place[:, 0]).any()]
        worst = next((n for n in others if _degree(ir, s, _by_other_lanes(own, n)) > 1), others[0])
        return (replace(s, ownership=_by_other_lanes(own, worst)),)

    return edited(ir, places(ir, FragmentLoad, where=lambda op: op.operand == operand), change)


def _neighbours(ir: KernelIR, operand: str) -> KernelIR:
    """Fragment loads of one operand in which lane 1 takes what lane 0 takes."""

    def change(s: Any) -> tuple[Stmt]:
        lane = s.ownership.inputs[0][0]
        outputs = tuple((n, e.subs({lane: xor(var(lane), _is(var(lane), 1), 5)})) for n, e in s.ownership.outputs)
        return (replace(s, ownership=replace(s.ownership, outputs=outputs)),)

    return edited(ir, places(ir, FragmentLoad, where=lambda op: op.operand == operand), change)


# ---- macro-MMAs


def _other_fragment(ir: KernelIR) -> KernelIR:
    """Macro-MMAs of A's fragments in reverse order."""

    def change(s: Any) -> tuple[Stmt]:
        *_, count = ir.register(s.a.array).shape
        return (replace(s, a=replace(s.a, index=(*s.a.index[:-1], count - 1 - s.a.index[-1]))),)

    return edited(ir, places(ir, Mma), change)


def _other_instruction(ir: KernelIR) -> KernelIR:
    """Macro-MMAs by the instruction for the other layout of A."""

    def change(s: Any) -> tuple[Stmt]:
        return (replace(s, macro=_with_other_a(s.macro)),)

    return edited(ir, places(ir, Mma), change)


def _with_other_a(macro: MacroMma) -> MacroMma:
    """The macro-MMA with the instruction for the other layout of A.

    Raises
    ------
    NothingToBreak : no target has one.
    """
    a, b = macro.instruction.layouts
    wanted = {"row": "col", "col": "row"}[a], b
    for made in (m for target in targets.values() for m in target.macro_mmas):
        if macro.instruction in made.instructions and made.name == macro.name and wanted in made.layouts:
            return made.of(*wanted)
    raise NothingToBreak(f"{macro.name} has no instruction for {'.'.join(wanted)}")


def _crossed_steps(ir: KernelIR) -> KernelIR:
    """Macro-MMAs whose instructions take A's values of one step and B's of another."""

    def change(s: Any) -> tuple[Stmt]:
        steps = s.macro.steps
        crossed = tuple(replace(x, b=y.b) for x, y in zip(steps, reversed(steps)))
        return (replace(s, macro=replace(s.macro, steps=crossed)),)

    return edited(ir, places(ir, Mma), change)


# ---- accumulators and their exchange


def _exchanged(ir: KernelIR, change: Any) -> KernelIR:
    """Stores to and loads from exchange buffers by another plan."""
    both = places(ir, ExchangeStore, ExchangeLoad)
    return edited(ir, both, lambda s: (replace(s, exchange=change(s.exchange)),))


def _transposed(ir: KernelIR) -> KernelIR:
    """The exchange that suits a result of the other layout: what comes out are columns in place of rows."""
    macro = next((op.macro for op in operations(ir.body) if isinstance(op, Mma)), None)
    if macro is None:
        raise NothingToBreak(f"{ir.name} multiplies nothing", where=ir.about)

    def turned(ex: Exchange) -> Exchange:
        other = plan_exchange(macro, ex.kind, (1, 0) if ex.along == 1 else (0, 1))
        return replace(other, owns=ex.owns, along=ex.along)

    return _exchanged(ir, turned)


def _other_lanes_pieces(ex: Exchange) -> Exchange:
    return replace(ex, store=_by_other_lanes(ex.store, 2))


def _other_words(ex: Exchange) -> Exchange:
    return replace(ex, words=(*ex.words[2:], *ex.words[:2]))


def _other_pieces(ex: Exchange) -> Exchange:
    return replace(ex, pieces=ex.pieces[::-1])


def _other_round(ir: KernelIR) -> KernelIR:
    """Runs taken from the exchange buffer in reverse order; of exchanges with several rounds."""
    at = places(ir, ExchangeLoad, where=lambda op: op.exchange.rounds > 1)
    return edited(ir, at, lambda s: (replace(s, round=s.exchange.rounds - 1 - s.round),))


def _other_accumulator(ir: KernelIR) -> KernelIR:
    """Accumulator fragments put into the exchange in reverse order."""

    def change(s: Any) -> tuple[Stmt]:
        shape = ir.register(s.source.array).shape
        index = tuple(n - 1 - e for n, e in zip(shape, s.source.index))
        return (replace(s, source=replace(s.source, index=index)),)

    return edited(ir, places(ir, ExchangeStore), change)


def _factor(ir: KernelIR) -> KernelIR:
    return edited(ir, places(ir, Scale), lambda s: (replace(s, factor=-s.factor),))


EXCHANGE = (ExchangeStore, ExchangeLoad)

MUTANTS = (
    Mutant(
        "two lanes of A change places",
        "lane 0 and another one load each other's values of A's fragments",
        ("ownership",), ("values", "bank_conflicts"), (FragmentLoad,), lambda ir: _lanes_exchanged(ir, "a"),
    ),
    Mutant(
        "a lane of B has its neighbour's values",
        "lane 1 loads the values of B's fragments that lane 0 has, too; its own are in no lane",
        ("ownership",), ("values",), (FragmentLoad,), lambda ir: _neighbours(ir, "b"),
    ),
    Mutant(
        "another fragment of A",
        "macro-MMAs multiply the fragments of A in reverse order",
        ("result",), ("values",), (), _other_fragment,
    ),
    Mutant(
        "instruction for another layout",
        "macro-MMAs use the instruction for the other layout of A, whose lanes own other elements",
        ("ownership",), ("values",), (), _other_instruction,
    ),
    Mutant(
        "crossed steps",
        "the instructions of a macro-MMA multiply A's columns by other rows of B",
        ("sums",), ("values",), (), _crossed_steps,
    ),
    Mutant(
        "accumulators not zeroed",
        "sums begin with what the registers held before",
        ("sums",), ("uninitialised",), (), lambda ir: edited(ir, places(ir, Zero), without),
    ),
    Mutant(
        "accumulators not scaled",
        "the factor of a product in a sum is left out",
        ("result",), ("values",), (), lambda ir: edited(ir, places(ir, Scale), without),
    ),
    Mutant(
        "wrong factor",
        "the factor of a product in a sum has the wrong sign",
        ("result",), ("values",), (), _factor,
    ),
    Mutant(
        "another accumulator fragment",
        "the accumulator fragments of a warp are stored in reverse order",
        ("result",), ("values",), (), _other_accumulator,
    ),
    Mutant(
        "exchange transposed",
        "the exchange takes columns of a fragment where rows are stored, or rows where columns are",
        ("exchange",), ("values",), EXCHANGE, _transposed,
    ),
    Mutant(
        "two lanes change places in the exchange",
        "lanes 0 and 2 put their pieces of an accumulator fragment where the other's belong",
        ("exchange",), ("values",), EXCHANGE, lambda ir: _exchanged(ir, _other_lanes_pieces),
    ),
    Mutant(
        "words out of order",
        "the words of a run leave the exchange in the wrong order",
        ("exchange",), ("values",), EXCHANGE, lambda ir: _exchanged(ir, _other_words),
    ),
    Mutant(
        "pieces out of order",
        "a lane's pieces of an accumulator fragment enter the exchange in reverse order",
        ("exchange",), ("values",), EXCHANGE, lambda ir: _exchanged(ir, _other_pieces),
    ),
    Mutant(
        "wrong round",
        "the rounds of an exchange are taken in reverse order",
        ("result",), ("values",), (), _other_round,
    ),
)  # fmt: skip
