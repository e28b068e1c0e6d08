"""The accumulator exchange: from the mma's ownership map to runs of 8 values, through shared memory.

After a macro-MMA a lane owns scattered fp32 values; a 128-bit store wants 8 consecutive fp16 values of one row (of
one column, when the result is column-major). So each lane stores what it owns of a run, a *piece*, to its warp's
buffer, and takes whole runs out again: lane l takes run l in the first round, run 32 + l in the second one, and
so on, runs being numbered along the result's lines, so that neighbouring lanes write neighbouring addresses.

All of the plan is read off the ownership map { [lane, i] -> [row, col] }: the bits of i that lead along a run are
the inside of a piece, the other bits of the position in the run number the pieces of the run. A run lies in one
128-bit vector as fp16, in two as fp32; its words come out in the order in which the pieces were put, and are renamed.
A swizzle of the vectors' numbers, chosen by the bank model, keeps all stores and loads free of conflicts (the
paper's "Reordering through Shared Memory"). The whole plan is simulated before it is handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES, Exchange
from polyvolta.cuda.layouts.bank_model import conflict_free, worst_degree
from polyvolta.cuda.layouts.swizzle import Swizzle, flips, swizzles
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.values.digits import mod_parts
from polyvolta.sets.values.simplify import simplify

LANE, ROUND = var("lane"), var("round")
BYTES = {"half": 2, "float": 4}


class NoExchange(CudaError):
    """An accumulator's ownership map does not fit the exchange: the error says which property it lacks."""

    id = "PV511"


@cache
def plan_exchange(macro: MacroMma, kind: str = "half", order: tuple[int, int] = (0, 1)) -> Exchange:
    """The exchange for a macro-MMA's accumulator fragment.

    Parameters
    ----------
    kind : "half" or "float", what lies in the buffer.
    order : of the result's dimensions in memory, outermost first.

    Raises
    ------
    NoExchange : the ownership map is not made of bits, or no swizzle is free of bank conflicts.

    Cost: a few milliseconds, once for each macro-MMA, kind and order.
    """
    line_dim, run_dim = order
    size = macro.shape[:2]
    per_vector = CHUNK_BYTES // BYTES[kind]
    inside, outside = _value_bits(macro, order)
    inside = inside[: (per_vector - 1).bit_length()]
    pieces = tuple(tuple(base + part for part in _sums([1 << i for i, _ in inside])) for base in _sums(outside))
    slot_bits = [b for b in range(3) if b not in [x for _, x in inside]]  # of the position in a run: they number pieces
    per_piece = per_vector // len(pieces[0])  # pieces of a vector
    runs_of_line = size[run_dim] // CHUNK
    runs = size[line_dim] * runs_of_line
    numbering = _Numbering(runs_of_line, runs, per_piece, slot_bits, order)
    names = tuple(n for n, _ in macro.d.outputs)
    run = LANES * ROUND + LANE
    owns = {names[line_dim]: run // runs_of_line, names[run_dim]: CHUNK * (run % runs_of_line)}
    rounds = runs // LANES
    for swizzle in _sifted(macro, pieces, numbering, rounds):
        exchange = Exchange(
            kind,
            pieces,
            IndexMap((("lane", LANES),), _stores(macro, pieces, numbering, swizzle)),
            _by_round(_loads(numbering, swizzle, rounds), rounds),
            _words(inside, slot_bits),
            _by_round(tuple((n, simplify(owns[n], _ranges(rounds))) for n in names), rounds),
            run_dim,
            rounds,
            numbering.vectors,
        )
        if conflicts(exchange) == 1 and moves(exchange, macro):
            return exchange
    raise NoExchange(
        f"{macro.name} has no exchange of its accumulators",
        where=str(macro.d),
        hint="its ownership map does not go bit by bit, or no swizzle of the buffer is free of bank conflicts",
    )


@dataclass(frozen=True, slots=True)
class _Numbering:
    """How a fragment's runs and pieces are numbered: runs line by line, second vectors after all first ones."""

    runs_of_line: int
    runs: int
    per_piece: int
    slot_bits: list[int]
    order: tuple[int, int]

    @property
    def vectors(self) -> int:
        return self.runs * (2 ** len(self.slot_bits) // self.per_piece)

    def vector(self, place: Sequence[Any]) -> Any:
        """The vector of the piece at an element, in numbers, arrays or expressions."""
        line, run = (place[d] for d in self.order)
        return self.runs_of_line * line + run // CHUNK + self.runs * (_bits_of(run, self.slot_bits) // self.per_piece)

    def part(self, place: Sequence[Any]) -> Any:
        """Which piece of the vector it is."""
        return _bits_of(place[self.order[1]], self.slot_bits) % self.per_piece


def _ranges(rounds: int = 1) -> dict[str, tuple[int, int]]:
    return {"lane": (0, LANES - 1), "round": (0, rounds - 1)}


def _by_round(outputs: tuple[tuple[str, Aff], ...], rounds: int) -> IndexMap:
    return IndexMap((("lane", LANES), ("round", rounds)), outputs)


def _stores(
    macro: MacroMma, pieces: tuple[tuple[int, ...], ...], numbering: _Numbering, swizzle: Swizzle
) -> tuple[tuple[str, Aff], ...]:
    """Where a lane's pieces go. Places differ from the first piece's by an exclusive-or with a number, or a sum."""
    first = [e.subs({"i": pieces[0][0]}) for e in macro.d.exprs]
    vector, part = (simplify(e, _ranges()) for e in (numbering.vector(first), numbering.part(first)))
    place = simplify(numbering.per_piece * _flipped(vector, swizzle) + part, _ranges())
    set_bits = np.bitwise_or.reduce(_over_lanes(place))
    bits = (numbering.vectors * numbering.per_piece - 1).bit_length()
    found = []
    for k, piece in enumerate(pieces):
        more = numbering.vector(macro.d.evaluate({"lane": 0, "i": piece[0]}))
        number = numbering.per_piece * (more ^ int(flips((swizzle,), numbering.vectors)[0, more]))
        found.append((f"piece{k}", xor(place, int(number & set_bits), bits) + int(number & ~set_bits)))
    return tuple(found)


def _loads(numbering: _Numbering, swizzle: Swizzle, rounds: int) -> tuple[tuple[str, Aff], ...]:
    """The vectors that a lane takes in a round."""
    found = []
    for v in range(numbering.vectors // numbering.runs):
        above = simplify(LANES * ROUND + numbering.runs * v, _ranges(rounds))
        flipping = simplify(swizzle.flips(LANE + above), _ranges(rounds))
        found.append((f"vector{v}", xor(LANE, flipping, 5) + above))
    return tuple(found)


def _flipped(e: Aff, swizzle: Swizzle) -> Aff:
    """An expression of the lane, swizzled; a sum wherever no bit meets another one."""
    outside, flipping, values = aff(0), aff(0), _over_lanes(e)
    for run in swizzle.runs:
        part = simplify(Swizzle((run,)).flips(e), _ranges())
        if (values & _over_lanes(part)).any():
            flipping = flipping + part
        else:
            outside = outside + part
    flipped = int(np.bitwise_or.reduce(_over_lanes(flipping)))
    meeting = aff(0)
    for part in _summands(e):
        if (_over_lanes(part) & flipped).any():
            meeting = meeting + part
        else:
            outside = outside + part
    bits = max(int(_over_lanes(meeting).max()), flipped).bit_length()
    return xor(meeting, flipping, bits) + outside


def _summands(e: Aff) -> Iterator[Aff]:
    """What an expression is the sum of: multiples of remainders, of names and of floors."""
    for c, num, den, rest in mod_parts(e):
        if den is None:
            yield from (Aff(((atom, k),)) for atom, k in rest.terms)
            yield aff(rest.const)
        else:
            yield c * (num % den)


def _over_lanes(e: Aff) -> np.ndarray:
    return np.broadcast_to(np.asarray(e.evaluate({"lane": np.arange(LANES)})), LANES)


def _sums(weights: list[int]) -> list[int]:
    """Sums of some of the weights, the first one changing fastest."""
    sums = [0]
    for w in weights:
        sums += [s + w for s in sums]
    return sums


def _value_bits(macro: MacroMma, order: tuple[int, int]) -> tuple[list[tuple[int, int]], list[int]]:
    """The bits of a value's number i that lead along a run, each with the bit of the position; and the others' weights.

    Raises
    ------
    NoExchange : a value's number changes its place otherwise than bit by bit.
    """
    count = macro.values[2]
    inside, outside = [], []
    for i in range((count - 1).bit_length()):
        place = macro.d.evaluate({"lane": 0, "i": 1 << i})
        line, run = place[order[0]], place[order[1]]
        if line == 0 and run in (1, 2, 4):
            inside.append((i, run.bit_length() - 1))
        else:
            outside.append(1 << i)
    return sorted(inside, key=lambda ix: ix[1]), outside


def _bits_of(x: Any, bits: Sequence[int]) -> Any:
    """The number made of some bits of another one."""
    e = 0 * x
    for _, run in groupby(enumerate(bits), key=lambda kb: kb[1] - kb[0]):
        (at, low), *more = run
        e = e + 2**at * (x // 2**low % 2 ** (1 + len(more)))
    return e


def _words(inside: list[tuple[int, int]], slot_bits: list[int]) -> tuple[int, ...]:
    """Where in the 8 values loaded value v of a run stands: pieces in turn, each in its own order."""
    stored = [x for _, x in inside] + slot_bits
    return tuple(sum((v >> x & 1) << at for at, x in enumerate(stored)) for v in range(CHUNK))


def _sifted(
    macro: MacroMma, pieces: tuple[tuple[int, ...], ...], numbering: _Numbering, rounds: int
) -> Iterator[Swizzle]:
    """Swizzles of the vectors' numbers, high bits flipping low ones, under which nothing conflicts."""
    elements = _elements(macro)[[p[0] for p in pieces]]
    firsts = [np.divmod(of_piece, macro.shape[1]) for of_piece in elements]
    stored = np.stack([numbering.vector(place) for place in firsts])
    parts = np.stack([numbering.part(place) for place in firsts])
    loaded = np.arange(numbering.vectors).reshape(-1, LANES)
    tried = swizzles(3, tuple(range(3, (numbering.vectors - 1).bit_length())))
    for first in range(0, len(tried), 48):
        table = flips(tried[first : first + 48], numbering.vectors)
        stores = (stored ^ table[:, stored]) * numbering.per_piece + parts
        free = conflict_free(stores, CHUNK_BYTES // numbering.per_piece)
        free &= conflict_free(loaded ^ table[:, loaded], CHUNK_BYTES)
        yield from (tried[first + k] for k in np.flatnonzero(free))


def _lane_by_lane(f: IndexMap, rounds: int = 1) -> np.ndarray:
    """[round, output, lane]: the values of a map."""
    outputs = f.evaluate({"lane": np.arange(LANES), "round": np.arange(rounds)[:, None]})
    return np.stack([np.broadcast_to(x, (rounds, LANES)) for x in outputs], axis=1)


def _elements(macro: MacroMma) -> np.ndarray:
    """[value, lane]: the accumulator's elements, numbered row by row."""
    row, col = macro.d.evaluate({"lane": np.arange(LANES), "i": np.arange(macro.values[2])[:, None]})
    return np.broadcast_to(row * macro.shape[1] + col, (macro.values[2], LANES))


def conflicts(exchange: Exchange) -> int:
    """The worst conflict degree of the exchange's stores and of its 128-bit loads; 1 is free of conflicts."""
    piece_bytes = len(exchange.pieces[0]) * BYTES[exchange.kind]
    stores = worst_degree(piece_bytes * _lane_by_lane(exchange.store), piece_bytes)
    return max(stores, worst_degree(CHUNK_BYTES * _lane_by_lane(exchange.load, exchange.rounds), CHUNK_BYTES))


def moves(exchange: Exchange, macro: MacroMma) -> bool:
    """Whether the exchange brings every element of the fragment to the one place that says it owns it: simulated.

    Each lane stores the elements that it owns, by the macro-MMA's map; the buffer must be filled, each value once;
    what each lane loads must be what `owns` says, and no element may come twice.
    """
    rows, cols, _ = macro.shape
    length, elements = len(exchange.pieces[0]), _elements(macro)
    buffer = np.full(rows * cols, -1)
    for piece, places in zip(exchange.pieces, _lane_by_lane(exchange.store)[0]):
        buffer[places[:, None] * length + np.arange(length)] = elements[list(piece)].T
    if not np.array_equal(np.sort(buffer), np.arange(rows * cols)):
        return False
    per_vector = CHUNK_BYTES // BYTES[exchange.kind]
    seen = []
    for vectors, (row, col) in zip(
        _lane_by_lane(exchange.load, exchange.rounds), _lane_by_lane(exchange.owns, exchange.rounds)
    ):
        loaded = np.concatenate([buffer[v[:, None] * per_vector + np.arange(per_vector)] for v in vectors], axis=1)
        run = loaded[:, list(exchange.words)]
        step = cols if exchange.along == 0 else 1
        if not np.array_equal(run, (row * cols + col)[:, None] + step * np.arange(CHUNK)):
            return False
        seen.append(run)
    return len(np.unique(seen)) == rows * cols
