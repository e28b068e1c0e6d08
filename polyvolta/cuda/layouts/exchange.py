"""The accumulator exchange: from the mma's ownership map to runs of 8 values, through shared memory.

After a macro-MMA a lane owns scattered fp32 values; a 128-bit store wants 8 consecutive 16-bit values of one row (of
one column, when the result is column-major). So each lane stores what it owns of a run, a *piece*, to its warp's
buffer, and takes whole runs out again: lane l takes run l in the first round, run 32 + l in the second one, and
so on, runs being numbered along the result's lines, so that neighbouring lanes write neighbouring addresses.

All of the plan is read off the ownership map { [lane, i] -> [row, col] }, whatever it is. A piece has some *inner* bits
of the position in a run: as many as there are for which all lanes own whole pieces, in the same values. The other bits
number the pieces of the run. With no inner bit a piece is a single value, and that any map allows. A run lies in one
128-bit vector in 16 bits, in two as fp32; its words come out in the order in which pieces were put, and are renamed.
A swizzle of the vectors' numbers, chosen by the bank model, keeps all stores and loads free of conflicts (the
paper's "Reordering through Shared Memory"); where none does, smaller pieces may, and else the one with the fewest is
taken: `conflicts` tells. The whole plan is simulated before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby
from typing import Any

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES, VALUE_BYTES, Exchange
from polyvolta.cuda.layouts.bank_model import BANKS, WORD, conflict_free, worst_degree
from polyvolta.cuda.layouts.lane_bits import by_bits, divides_naturals
from polyvolta.cuda.layouts.swizzle import Swizzle, flips, swizzles
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.values.digits import mod_parts
from polyvolta.sets.values.simplify import simplify

LANE, ROUND = var("lane"), var("round")
POSITION_BITS = (CHUNK - 1).bit_length()  # of a value in its run
FLIPPED_BITS = (BANKS * WORD // CHUNK_BYTES - 1).bit_length()  # of a vector's number: so many vectors span the banks


class NoExchange(CudaError):
    """An accumulator's ownership map does not fit the exchange: the error says which property it lacks."""

    id = "PV511"


@cache
def plan_exchange(macro: MacroMma, kind: str = "half", order: tuple[int, int] = (0, 1)) -> Exchange:
    """The exchange for a macro-MMA's accumulator fragment.

    Parameters
    ----------
    kind : "half", "bfloat16" or "float", what lies in the buffer.
    order : of the result's dimensions in memory, outermost first.

    Raises
    ------
    NoExchange : the map does not give each element to one value, or the fragment has no whole runs for all lanes.

    Cost: a few milliseconds, once for each macro-MMA, kind and order; some tenths of a second where conflicts remain.
    """
    _check(macro, order)
    best: tuple[int, Exchange] | None = None
    per_vector = CHUNK_BYTES // VALUE_BYTES[kind]
    for inner in _inner_bits((per_vector - 1).bit_length()):
        pieces = _pieces(macro, order, inner)
        if pieces is None:
            continue
        numbering = _numbering(macro, order, per_vector // len(pieces[0]), inner)
        for swizzle in _sifted(macro, pieces, numbering):
            exchange = _exchange(macro, kind, pieces, numbering, swizzle, inner)
            if conflicts(exchange) == 1 and moves(exchange, macro):
                return exchange
        found = _exchange(macro, kind, pieces, numbering, _least(macro, pieces, numbering), inner)
        degree = conflicts(found)
        if moves(found, macro) and (best is None or degree < best[0]):
            best = degree, found
    if best is None:
        raise NoExchange(f"{macro.name} has no exchange of its accumulators", where=str(macro.d))
    return best[1]


def _check(macro: MacroMma, order: tuple[int, int]) -> None:
    """Refuse a fragment that cannot be exchanged."""
    rows, cols, _ = macro.shape
    what = f"{macro.name} has no exchange of its accumulators"
    row, col = _places(macro)
    inside = ((row >= 0) & (row < rows) & (col >= 0) & (col < cols)).all()
    if not inside or not np.array_equal(np.sort((row * cols + col).ravel()), np.arange(rows * cols)):
        raise NoExchange(what, where=str(macro.d), hint="each element of the result is one value of one lane")
    length = (rows, cols)[order[1]]
    if length % CHUNK or rows * cols // CHUNK % LANES:
        raise NoExchange(
            f"{what}: {rows}x{cols} elements are no whole runs of {CHUNK} values for all {LANES} lanes",
            where=str(macro.d),
            hint="compose a macro-MMA with more rows or columns",
        )


def _inner_bits(most: int) -> Iterator[tuple[int, ...]]:
    """The sets of bits of a position that a piece may have, most bits first.

    >>> list(_inner_bits(1))
    [(0,), (1,), (2,), ()]
    """
    for count in range(most, -1, -1):
        yield from combinations(range(POSITION_BITS), count)


def _places(macro: MacroMma) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each value, [lane, value]."""
    (lane, lanes), (value, count) = macro.d.inputs
    row, col = macro.d.evaluate({lane: np.arange(lanes)[:, None], value: np.arange(count)})
    return np.broadcast_to(row, (lanes, count)), np.broadcast_to(col, (lanes, count))


def _pieces(macro: MacroMma, order: tuple[int, int], inner: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
    """The values of each piece in order, the same for all lanes; None where some lane owns no whole pieces."""
    places = _places(macro)
    line, run = places[order[0]], places[order[1]]
    rank = _bits_of(run, inner)
    piece = np.stack([line, run - sum((2**b * (run >> b & 1) for b in inner), np.zeros_like(run))])  # without its bits
    of_first: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for value in range(line.shape[1]):
        at = int(piece[0, 0, value]), int(piece[1, 0, value])
        of_first.setdefault(at, []).append((int(rank[0, value]), value))
    found = sorted(tuple(value for _, value in sorted(held)) for held in of_first.values())
    if any(len(values) != 2 ** len(inner) for values in found):
        return None
    for values in found:
        mine = list(values)
        if (rank[:, mine] != np.arange(len(mine))).any() or (piece[:, :, mine] != piece[:, :, mine[:1]]).any():
            return None
    return tuple(found)


def _numbering(macro: MacroMma, order: tuple[int, int], per_piece: int, inner: tuple[int, ...]) -> _Numbering:
    size = macro.shape[:2]
    runs_of_line = size[order[1]] // CHUNK
    slot_bits = [b for b in range(POSITION_BITS) if b not in inner]
    return _Numbering(runs_of_line, size[order[0]] * runs_of_line, per_piece, slot_bits, order)


def _exchange(
    macro: MacroMma,
    kind: str,
    pieces: tuple[tuple[int, ...], ...],
    numbering: _Numbering,
    swizzle: Swizzle,
    inner: tuple[int, ...],
) -> Exchange:
    """The plan with some pieces and a swizzle."""
    line_dim, run_dim = numbering.order
    names = tuple(n for n, _ in macro.d.outputs)
    rounds, run = numbering.rounds, LANES * ROUND + LANE
    owns = {names[line_dim]: run // numbering.runs_of_line, names[run_dim]: CHUNK * (run % numbering.runs_of_line)}
    return Exchange(
        kind,
        pieces,
        IndexMap((("lane", LANES),), _stores(macro, pieces, numbering, swizzle)),
        _by_round(_loads(numbering, swizzle), rounds),
        _words(inner, numbering.slot_bits),
        _by_round(tuple((n, simplify(owns[n], _ranges(rounds))) for n in names), rounds),
        run_dim,
        rounds,
        numbering.vectors,
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

    @property
    def rounds(self) -> int:
        return self.runs // LANES

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
    """Where a lane's pieces go. Places that differ from the first piece's by an exclusive-or with a number, and a sum,
    are written so; others by themselves."""
    wanted = _stored(macro, pieces, numbering)[1](flips((swizzle,), numbering.vectors))[0]  # [piece, lane]
    place = _natural(_place(macro, pieces[0][0], numbering, swizzle), wanted[0])
    set_bits = np.bitwise_or.reduce(wanted[0])
    bits = (numbering.vectors * numbering.per_piece - 1).bit_length()
    found = []
    for k, piece in enumerate(pieces):
        apart = int(wanted[k, 0] ^ wanted[0, 0]) if not wanted[0, 0] else -1
        by_first = None if apart < 0 else xor(place, int(apart & set_bits), bits) + int(apart & ~set_bits)
        if by_first is None or (_over_lanes(by_first) != wanted[k]).any():
            by_first = _natural(_place(macro, piece[0], numbering, swizzle), wanted[k])
        found.append((f"piece{k}", by_first))
    return tuple(found)


def _natural(e: Aff, values: np.ndarray) -> Aff:
    """An expression with these values that a text can have: another one, by bits, if there are floors of negatives."""
    if divides_naturals(e):
        return e
    made = by_bits(values)
    return e if made is None else made


def _place(macro: MacroMma, value: int, numbering: _Numbering, swizzle: Swizzle) -> Aff:
    """The place of the piece that starts with a value, in terms of the lane."""
    at = [e.subs({"i": value}) for e in macro.d.exprs]
    vector, part = (simplify(e, _ranges()) for e in (numbering.vector(at), numbering.part(at)))
    return simplify(numbering.per_piece * _flipped(vector, swizzle) + part, _ranges())


def _loads(numbering: _Numbering, swizzle: Swizzle) -> tuple[tuple[str, Aff], ...]:
    """The vectors that a lane takes in a round."""
    found, rounds = [], numbering.rounds
    for v in range(numbering.vectors // numbering.runs):
        above = simplify(LANES * ROUND + numbering.runs * v, _ranges(rounds))
        flipping = simplify(swizzle.flips(LANE + above), _ranges(rounds))
        found.append((f"vector{v}", xor(LANE, flipping, (LANES - 1).bit_length()) + above))
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
    made = xor(meeting, flipping, bits) + outside
    turned = _over_lanes(swizzle.flips(e)) ^ values
    if (_over_lanes(made) == turned).all():
        return made
    return xor(e, swizzle.flips(e), int(max(values.max(), turned.max())).bit_length())


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


def _bits_of(x: Any, bits: Sequence[int]) -> Any:
    """The number made of some bits of another one."""
    e = 0 * x
    for _, run in groupby(enumerate(bits), key=lambda kb: kb[1] - kb[0]):
        (at, low), *more = run
        e = e + 2**at * (x // 2**low % 2 ** (1 + len(more)))
    return e


def _words(inner: Sequence[int], slot_bits: list[int]) -> tuple[int, ...]:
    """Where in the 8 values loaded value v of a run stands: pieces in turn, each in its own order."""
    stored = [*inner, *slot_bits]
    return tuple(sum((v >> x & 1) << at for at, x in enumerate(stored)) for v in range(CHUNK))


Turned = Callable[[np.ndarray], np.ndarray]


def _stored(macro: MacroMma, pieces: tuple[tuple[int, ...], ...], numbering: _Numbering) -> tuple[np.ndarray, Turned]:
    """The vectors that pieces go to, [piece, lane], and their places, [swizzle, piece, lane], for what one flips."""
    firsts = [np.divmod(of_piece, macro.shape[1]) for of_piece in _elements(macro)[[p[0] for p in pieces]]]
    stored = np.stack([numbering.vector(place) for place in firsts])
    parts = np.stack([numbering.part(place) for place in firsts])
    return stored, lambda table: (stored ^ table[:, stored]) * numbering.per_piece + parts


def _family(numbering: _Numbering) -> tuple[Swizzle, ...]:
    """Swizzles of the vectors' numbers, high bits flipping low ones."""
    return swizzles(FLIPPED_BITS, tuple(range(FLIPPED_BITS, (numbering.vectors - 1).bit_length())))


def _sifted(macro: MacroMma, pieces: tuple[tuple[int, ...], ...], numbering: _Numbering) -> Iterator[Swizzle]:
    """The swizzles under which nothing conflicts."""
    _, turned = _stored(macro, pieces, numbering)
    loaded = np.arange(numbering.vectors).reshape(-1, LANES)
    tried = _family(numbering)
    for first in range(0, len(tried), 48):
        table = flips(tried[first : first + 48], numbering.vectors)
        free = conflict_free(turned(table), CHUNK_BYTES // numbering.per_piece)
        free &= conflict_free(loaded ^ table[:, loaded], CHUNK_BYTES)
        yield from (tried[first + k] for k in np.flatnonzero(free))


def _least(macro: MacroMma, pieces: tuple[tuple[int, ...], ...], numbering: _Numbering) -> Swizzle:
    """The first swizzle with the least degree of conflicts."""
    _, turned = _stored(macro, pieces, numbering)
    loaded = np.arange(numbering.vectors).reshape(-1, LANES)
    width = CHUNK_BYTES // numbering.per_piece

    def degree(swizzle: Swizzle) -> int:
        table = flips((swizzle,), numbering.vectors)
        loads = worst_degree(CHUNK_BYTES * (loaded ^ table[:, loaded]), CHUNK_BYTES)
        return max(loads, worst_degree(width * turned(table), width))

    return min(_family(numbering), key=degree)


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
    piece_bytes = len(exchange.pieces[0]) * VALUE_BYTES[exchange.kind]
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
    per_vector = CHUNK_BYTES // VALUE_BYTES[exchange.kind]
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
