"""Mutants of shared memory: tiles that lie in the wrong place, or in the wrong order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    VALUE_BYTES,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    KernelIR,
    SharedStore,
    SharedTile,
    Stmt,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.fragments import fragment_loads
from polyvolta.cuda.layouts.swizzle import Accesses, Swizzle, candidates, conflicts, is_one_to_one, tile_layout
from polyvolta.cuda.mutants.model import Mutant, NothingToBreak, edited, places, with_tiles
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import aff, var, xor
from polyvolta.sets.values.aff import Xor


def _plain(t: SharedTile) -> SharedTile:
    """A swizzled tile without its swizzle; any other tile as it is."""
    if t.layout is None or not any(isinstance(atom, Xor) for e in t.layout.exprs for atom, _ in e.terms):
        return t
    dims, size = zip(*t.layout.inputs)
    return replace(t, layout=tile_layout(dims, size, t.order, Swizzle(), CHUNK))


def _mismatched(ir: KernelIR) -> KernelIR:
    """Stores that leave out the swizzle: they see the tile under another name, with the plain layout."""
    plain = {t.name: replace(_plain(t), name=f"plain_{t.name}") for t in ir.tiles if _plain(t) != t}
    stores = places(ir, SharedStore, where=lambda op: op.tile in plain)
    broken = edited(ir, stores, lambda s: (replace(s, tile=plain[s.tile].name),))
    return replace(broken, tiles=(*ir.tiles, *plain.values()))


def _other_swizzle(ir: KernelIR) -> KernelIR:
    """For each tile a swizzle that permutes its lines as well, and doesn't fit the interleave of the fragment loads."""
    loads = {op.tile: op for op in operations(ir.body) if isinstance(op, FragmentLoad)}

    def change(t: SharedTile) -> SharedTile:
        if t.layout is None or t.name not in loads:
            return t
        dims, size = zip(*t.layout.inputs)
        own, access = loads[t.name].ownership, loads[t.name].access
        lane, i = np.indices((LANES, own.inputs[1][1]))
        extents = [int(np.max(x)) + 1 for x in own.evaluate({"lane": lane, "i": i})]
        accesses = [Accesses(fragment_loads(own, extents, size, access), access)]
        for swizzle in candidates(size[t.order[1]] // CHUNK)[1:]:
            layout = tile_layout(dims, size, t.order, swizzle, CHUNK)
            if conflicts(layout, t.order, CHUNK, accesses) > 1 and is_one_to_one(layout, t.order, CHUNK):
                return replace(t, layout=layout)
        return t

    return with_tiles(ir, change)


def _doubled(t: SharedTile) -> SharedTile:
    """A tile whose last line lies where the one before it does."""
    if t.layout is None:
        return t
    dim, lines = t.layout.inputs[t.order[0]]
    last = xor(var(dim), var(dim) // (lines - 1), (lines - 1).bit_length())
    return replace(t, layout=replace(t.layout, outputs=tuple((n, e.subs({dim: last})) for n, e in t.layout.outputs)))


def _overlapping(ir: KernelIR) -> KernelIR:
    """Tiles that are alive together, those of one product, all from chunk 0 on."""
    return with_tiles(ir, lambda t: t if t.layout is None else replace(t, start=0))


def _exchange_first(ir: KernelIR) -> KernelIR:
    """The exchange buffer where the tiles lie."""
    return with_tiles(ir, lambda t: replace(t, start=0) if t.layout is None else t)


def _one_slot(ir: KernelIR) -> KernelIR:
    """Pairs of warps with one exchange buffer between them."""
    if ir.warps == 1:
        raise NothingToBreak(f"{ir.name} has one warp", where=ir.about)
    at = places(ir, ExchangeStore, ExchangeLoad)
    return edited(ir, at, lambda s: (replace(s, slot=s.slot // 2 * 2),))


def _conflicting_exchange(ir: KernelIR) -> KernelIR:
    """An exchange buffer in which vector number 8 x + y lies where number x + n y did: conflicts, and no more."""

    def change(s: Any) -> tuple[Stmt]:
        ex = s.exchange
        per_vector = CHUNK_BYTES // (len(ex.pieces[0]) * VALUE_BYTES[ex.kind])  # pieces
        vector = lambda v: v % 8 * (ex.chunks // 8) + v // 8  # noqa: E731
        piece = lambda p: vector(p // per_vector) * per_vector + p % per_vector  # noqa: E731
        return (replace(s, exchange=replace(ex, store=_followed(ex.store, piece), load=_followed(ex.load, vector))),)

    return edited(ir, places(ir, ExchangeStore, ExchangeLoad), change)


def _followed(f: IndexMap, then: Callable[[Any], Any]) -> IndexMap:
    """A map whose outputs are made of its inputs' bits by exclusive-or, followed by a rearrangement of bits: each bit
    is the parity of some bits of the inputs."""
    bits = [(name, k) for name, extent in f.inputs for k in range((extent - 1).bit_length())]
    outputs = []
    for out, e in f.outputs:
        value = lambda **at: then(e.evaluate(dict.fromkeys((n for n, _ in f.inputs), 0) | at))  # noqa: E731, B023
        zero, total = value(), aff(0)
        for b in range(16):
            parts = [var(n) // 2**k % 2 for n, k in bits if (value(**{n: 2**k}) ^ zero) >> b & 1]
            total = total + 2**b * (sum(parts, aff(zero >> b & 1)) % 2)
        outputs.append((out, total))
    return replace(f, outputs=tuple(outputs))


SHARED = (SharedStore, FragmentLoad)

MUTANTS = (
    Mutant(
        "swizzle dropped",
        "tiles lie in shared memory without a swizzle: values are right, and lanes wait for one another",
        ("bank_conflicts",), ("bank_conflicts",), SHARED, lambda ir: with_tiles(ir, _plain),
    ),
    Mutant(
        "swizzle dropped in the stores",
        "tiles are stored without the swizzle with which they are read",
        ("fresh",), ("values",), SHARED, _mismatched,
    ),
    Mutant(
        "swizzle for another interleave",
        "tiles are swizzled by the wrong bits of the line: values are right, and lanes wait for one another",
        ("bank_conflicts",), ("bank_conflicts",), SHARED, _other_swizzle,
    ),
    Mutant(
        "two lines in one place",
        "the last line of each tile lies where the one before it does",
        ("copies",), ("races",), SHARED, lambda ir: with_tiles(ir, _doubled),
    ),
    Mutant(
        "tiles overlap",
        "the tiles of the two operands lie in the same part of shared memory",
        ("not_overwritten",), ("races",), SHARED, _overlapping,
    ),
    Mutant(
        "exchange over the tiles",
        "the exchange buffer lies over tiles that other warps still read",
        ("not_overwritten",), ("races",), (ExchangeStore, FragmentLoad), _exchange_first,
    ),
    Mutant(
        "two warps in one exchange buffer",
        "pairs of warps exchange their accumulators through the same part of shared memory",
        ("not_overwritten",), ("races",), (ExchangeStore, ExchangeLoad), _one_slot,
    ),
    Mutant(
        "exchange with bank conflicts",
        "the exchange buffer's vectors lie in an order in which lanes wait for one another",
        ("bank_conflicts",), ("bank_conflicts",), (ExchangeStore, ExchangeLoad), _conflicting_exchange,
    ),
)  # fmt: skip
