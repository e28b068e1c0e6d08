"""Mutants of the k loop: tiles at the wrong time, in the wrong buffer, from the wrong place, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    KernelIR,
    Loop,
    Mma,
    SharedStore,
    When,
)
from polyvolta.cuda.ir.walk import operations, put, walk
from polyvolta.cuda.mutants.model import (
    Mutant,
    NothingToBreak,
    around,
    edited,
    in_k_loops,
    paths_of_k_loops,
    places,
    rewritten,
)
from polyvolta.sets import Aff, aff, var


def _loading(ir: KernelIR, tile: Callable[[Loop], Aff]) -> KernelIR:
    """The loads from global memory of another k tile: another expression for the loop's variable."""

    def loop(s: Any) -> tuple[Loop]:
        moved = lambda e: e.subs({s.var: tile(s)})  # noqa: E731
        change = lambda op: (replace(op, index=put(op.index, moved)) if isinstance(op, GlobalLoad) else op,)  # noqa: E731
        return (replace(s, body=rewritten(s.body, change)),)

    return edited(ir, paths_of_k_loops(ir), loop)


def _buffered(ir: KernelIR, number: Callable[[Aff, int], Aff], *kinds: type) -> KernelIR:
    """Another number of the buffer, of so many, in some kinds of operation; of kernels with several buffers."""
    if all(t.buffers == 1 for t in ir.tiles):
        raise NothingToBreak(f"{ir.name} has one buffer for each tile", where=ir.about)
    return edited(ir, places(ir, *kinds), lambda s: (replace(s, buffer=number(s.buffer, ir.tile(s.tile).buffers)),))


def _mirrored(buffer: Aff, buffers: int) -> Aff:
    """The buffers counted from the last one: of two the other one."""
    return buffers - 1 - buffer


def _bounded(ir: KernelIR, lower: int, upper: int) -> KernelIR:
    """The k loop from `lower` trips later on, to `upper` trips later."""

    def loop(s: Any) -> tuple[Loop]:
        return (
            replace(
                s,
                lower=tuple(e + lower * s.step for e in s.lower),
                upper=tuple(e + upper * s.step for e in s.upper),
            ),
        )

    return edited(ir, paths_of_k_loops(ir), loop)


def _early(ir: KernelIR) -> KernelIR:
    """Fragments are loaded in the first trip, too, when the first tile isn't there yet."""
    loads = in_k_loops(ir, FragmentLoad)
    tests = {path for at in loads for path, s in around(ir, at) if isinstance(s, When)}
    untested = edited(ir, tests, lambda s: s.body)
    if all(t.buffers != 2 for t in ir.tiles):
        return untested
    same = lambda e: 1 - (e + 1) % 2 if e.names() else e  # noqa: E731  # without a negative number to divide in trip -1
    return edited(untested, places(untested, FragmentLoad), lambda s: (replace(s, buffer=same(s.buffer)),))


def _stores_first(ir: KernelIR) -> KernelIR:
    """In each trip the stores to shared memory come before the loads of what they store."""

    def loop(s: Any) -> tuple[Loop]:
        kinds = [{type(op) for op in operations((part,))} for part in s.body]
        loads = [n for n, k in enumerate(kinds) if GlobalLoad in k]
        first, rest = [s.body[n] for n in loads], [p for n, p in enumerate(s.body) if n not in loads]
        return (replace(s, body=(*rest, *first)),)

    return edited(ir, paths_of_k_loops(ir), loop)


def _fewer_steps(ir: KernelIR) -> KernelIR:
    """The loops over the steps of a k tile, those with both fragment loads and macro-MMAs, end one step early."""
    steps = [at for at, s in walk(ir.body) if isinstance(s, Loop) and at not in paths_of_k_loops(ir)
             and {FragmentLoad, Mma} <= {type(op) for op in operations(s.body)}]  # fmt: skip
    return edited(ir, steps, lambda s: (replace(s, upper=tuple(e - s.step for e in s.upper)),))


def _parts(ir: KernelIR, change: Callable[[ExchangeLoad], ExchangeLoad]) -> KernelIR:
    """Loads that add up the parts of a split K, changed."""
    return edited(ir, places(ir, ExchangeLoad, where=lambda op: op.parts > 1), lambda s: (change(s),))


def _part_not_stored(ir: KernelIR) -> KernelIR:
    """The last part of a split K stays in its warps' registers."""
    last = ir.ranges.get("warpIdx_z", (0, 0))[1]
    if not last:
        raise NothingToBreak(f"{ir.name} doesn't split K", where=ir.about)
    condition = last - 1 - var("warpIdx_z")
    return edited(ir, places(ir, ExchangeStore), lambda s: (When((condition,), (s,), uniform=False),))


def _same_part(ir: KernelIR) -> KernelIR:
    """Every part of a split K works on the first part's k."""
    at = places(ir, FragmentLoad, where=lambda op: any("warpIdx_z" in e.names() for e in op.origin))
    return edited(ir, at, lambda s: (replace(s, origin=tuple(e.subs({"warpIdx_z": 0}) for e in s.origin)),))


SHARED = (SharedStore, FragmentLoad)


MUTANTS = (
    Mutant(
        "prefetch two tiles ahead",
        "each trip loads the k tile after the next one, beyond the last one at the end",
        ("bounds",), ("bounds",), (GlobalLoad,), lambda ir: _loading(ir, lambda s: var(s.var) + s.step),
    ),
    Mutant(
        "prefetch of one tile only",
        "every trip loads the first k tile again",
        ("sums",), ("values",), (), lambda ir: _loading(ir, lambda s: s.lower[0]),
    ),
    Mutant(
        "stores into the buffer that is read",
        "the next tile is stored into the buffer from which this one's fragments are loaded, and read from the other",
        ("fresh",), ("races", "uninitialised"), SHARED, lambda ir: _buffered(ir, _mirrored, SharedStore),
    ),
    Mutant(
        "fragments from the other buffer",
        "fragments are loaded from the buffer into which the next tile is stored",
        ("fresh",), ("races", "uninitialised"), SHARED,
        lambda ir: _buffered(ir, lambda e, n: (e + 1) % n, FragmentLoad),
    ),
    Mutant(
        "one buffer where two are meant",
        "stores and loads stay in the first buffer, with the barriers of two",
        ("not_overwritten",), ("races",), SHARED,
        lambda ir: _buffered(ir, lambda e, _: aff(0), SharedStore, FragmentLoad),
    ),
    Mutant(
        "k loop begins one trip late",
        "the trip that loads and stores the first k tile is left out",
        ("fresh",), ("uninitialised",), (FragmentLoad,), lambda ir: _bounded(ir, 1, 0),
    ),
    Mutant(
        "k loop ends one trip early",
        "the last k tile is loaded and stored, and never multiplied",
        ("sums",), ("values",), (), lambda ir: _bounded(ir, 0, -1),
    ),
    Mutant(
        "fragments before the first tile",
        "the first trip, in which there is nothing but the loads of the first tile, multiplies, too",
        ("fresh",), ("uninitialised",), (FragmentLoad,), _early,
    ),
    Mutant(
        "stores before the loads",
        "each trip stores to shared memory before it loads what is to be stored",
        ("fresh",), ("uninitialised",), (), _stores_first,
    ),
    Mutant(
        "a step of the k tile left out",
        "the last macro-MMAs of each k tile are left out",
        ("sums",), ("values",), (), _fewer_steps,
    ),
    Mutant(
        "a part of a split K dropped",
        "the last part of a split K isn't added",
        ("sums",), ("values",), (), lambda ir: _parts(ir, lambda op: replace(op, parts=op.parts - 1)),
    ),
    Mutant(
        "a part of a split K added twice",
        "the first part of a split K is added in place of each other one",
        ("sums",), ("values",), (), lambda ir: _parts(ir, lambda op: replace(op, stride=0)),
    ),
    Mutant(
        "a part of a split K not stored",
        "the warps of the last part of a split K don't put their accumulators into the exchange",
        ("fresh",), ("uninitialised",), (ExchangeLoad,), _part_not_stored,
    ),
    Mutant(
        "parts of a split K overlap",
        "all parts of a split K multiply the same quarter, or half, of each k tile",
        ("sums",), ("values",), (), _same_part,
    ),
)  # fmt: skip
