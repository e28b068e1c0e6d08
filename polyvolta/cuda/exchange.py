"""The accumulator exchange: from the mma's ownership map to rows of 8 values, through shared memory.

After a macro-MMA a lane owns scattered fp32 values; a 128-bit store wants 8 consecutive fp16 values of one row.
All of the plan is read off the ownership map { [lane, i] -> [row, col] }: which values of a lane belong to one
chunk of 8 columns (a *piece*), which slot of that chunk the lane's piece takes, which chunk each lane fetches,
and in which order its words then stand. A swizzle of the chunks, chosen by the bank model, keeps both accesses
free of conflicts (the paper's "Reordering through Shared Memory").
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby

from polyvolta.cuda.bank_model import conflict_degree
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.kernel_ir import CHUNK, CHUNK_BYTES, Exchange
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.simplify import floordiv_within, simplify

LANES = 32
LANE = var("lane")
RANGES = {"lane": (0, LANES - 1)}


class NoExchange(CudaError):
    """An accumulator's ownership map does not fit the exchange: the error says which property it lacks."""

    id = "PV511"


@cache
def plan_exchange(macro: MacroMma) -> Exchange:
    """The exchange for a macro-MMA's accumulator fragment.

    Raises
    ------
    NoExchange : lanes hold pieces of different shapes, or a fragment is no multiple of 32 chunks.
    """
    rows, cols, _ = macro.shape
    width = cols // CHUNK
    if rows * width != LANES:
        raise NoExchange(f"{macro.name}: {rows * width} chunks of 8 values for {LANES} lanes")
    pieces = _pieces(macro)
    per_chunk = CHUNK // len(pieces[0])  # how many lanes share a chunk
    if per_chunk != 2:
        raise NoExchange(f"{macro.name}: {per_chunk} lanes share a chunk, 2 are expected (64-bit pieces)")
    words = _word_order(macro, pieces)
    for low, shift in _swizzles():
        store = []
        for k, piece in enumerate(pieces):
            row, col = (simplify(e, RANGES, {"i": aff(piece[0])}) for e in macro.d.exprs)
            chunk = row * width + _floor(col, CHUNK)
            store.append((f"word{k}", 2 * _swizzled(chunk, low, shift) + _mod(_floor(col, 2), 2)))
        exchange = Exchange(
            tuple(pieces),
            IndexMap((("lane", LANES),), tuple(store)),
            IndexMap((("lane", LANES),), (("chunk", _swizzled(LANE, low, shift)),)),
            words,
            IndexMap((("lane", LANES),), (("row", LANE // width), ("col", CHUNK * (LANE % width)))),
            rows * width,
        )
        if conflicts(exchange) == 1:
            return exchange
    raise NoExchange(f"{macro.name}: no swizzle of the exchange buffer is free of bank conflicts")


def conflicts(exchange: Exchange) -> int:
    """The worst conflict degree of the exchange's 64-bit stores and its 128-bit load."""
    lanes = [{"lane": lane} for lane in range(LANES)]
    stores = zip(*(exchange.store.evaluate(v) for v in lanes))
    degrees = [conflict_degree([8 * word for word in words], 8) for words in stores]
    loads = [exchange.load.evaluate(v)[0] * CHUNK_BYTES for v in lanes]
    return max(*degrees, conflict_degree(loads, CHUNK_BYTES))


def _floor(e: Aff, den: int) -> Aff:
    return floordiv_within(e, den, RANGES)


def _mod(e: Aff, den: int) -> Aff:
    return e - den * _floor(e, den)


def _pieces(macro: MacroMma) -> list[tuple[int, ...]]:
    """The values of a fragment grouped by the chunk they belong to; the same grouping for every lane."""
    groupings = set()
    for lane in range(LANES):
        keyed = []
        for i in range(macro.values[2]):
            row, col = macro.d.evaluate({"lane": lane, "i": i})
            keyed.append(((row, col // CHUNK), col, i))
        keyed.sort()
        groupings.add(tuple(sorted(tuple(i for *_, i in g) for _, g in groupby(keyed, key=lambda t: t[0]))))
    if len(groupings) != 1:
        raise NoExchange(f"{macro.name}: lanes hold pieces of different shapes")
    return list(groupings.pop())


def _word_order(macro: MacroMma, pieces: list[tuple[int, ...]]) -> tuple[int, ...]:
    """For each pair of columns of a chunk the 32-bit word, as stored, that holds it; the same for all chunks."""
    orders = set()
    held: dict[tuple[int, int], dict[int, int]] = {}
    for lane in range(LANES):
        for piece in pieces:
            first = macro.d.evaluate({"lane": lane, "i": piece[0]})
            slot = first[1] // 2 % 2
            for at in range(0, len(piece), 2):
                low, high = (macro.d.evaluate({"lane": lane, "i": i}) for i in piece[at : at + 2])
                if low[0] != high[0] or low[1] % 2 or high[1] != low[1] + 1:
                    raise NoExchange(f"{macro.name}: values {piece[at : at + 2]} of lane {lane} are no column pair")
                chunk = held.setdefault((low[0], low[1] // CHUNK), {})
                if low[1] % CHUNK // 2 in chunk:
                    raise NoExchange(f"{macro.name}: two lanes own element {low}")
                chunk[low[1] % CHUNK // 2] = 2 * slot + at // 2
    for chunk in held.values():
        orders.add(tuple(chunk.get(pair, -1) for pair in range(CHUNK // 2)))
    if len(orders) != 1 or sorted(order := orders.pop()) != list(range(CHUNK // 2)):
        raise NoExchange(f"{macro.name}: chunks are filled in different orders")
    return order


def _swizzles() -> Iterator[tuple[int, int]]:
    """Permutations of a chunk's number, (low, shift): bit `low` exchanged with bit `low + shift`; first none."""
    yield 0, 0
    for low in range(4):
        for shift in range(1, 5 - low):
            yield low, shift


def _swizzled(chunk: Aff, low: int, shift: int) -> Aff:
    """The chunk's number with bit `low` replaced by its exclusive-or with bit `low + shift`; 0: unchanged."""
    if not shift:
        return chunk
    bit, other = (_mod(_floor(chunk, 2**at), 2) for at in (low, low + shift))
    return chunk - 2**low * bit + 2**low * xor(bit, other, 1)
