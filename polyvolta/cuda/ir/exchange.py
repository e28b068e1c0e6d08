"""How accumulators are turned into rows for 128-bit stores: what the operations of an exchange share."""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.target.index_map import IndexMap


@dataclass(frozen=True, slots=True)
class Exchange:
    """How a warp turns an accumulator fragment into runs of 8 consecutive values, through its own shared buffer.

    Lane l stores, for each piece p, the values `pieces[p]` of its fragment, converted to `kind`, to place
    `store(l)[p]` of its warp's buffer, counted in pieces. In round r it then loads the 128-bit vectors
    `load(l, r)` of the buffer; value v of its run is number `words[v]` of the values loaded, and is the fragment's
    element `owns(l, r)`, v further along dimension `along`.

    Parameters
    ----------
    kind : "half", "bfloat16" or "float", what lies in the buffer.
    pieces : numbers of values of a lane's fragment, all pieces of one length.
    store : { [lane] -> [piece0, piece1, ...] }.
    load : { [lane, round] -> [vector0, ...] }, one vector for 16-bit values, two for float.
    words : of the 8 loaded values the one that is value v.
    owns : { [lane, round] -> [row, col] }.
    along : the dimension along which a run's values are consecutive: 1 for a row-major result, 0 for a column-major.
    rounds : how many runs of 8 a lane takes: its fragment's values / 8.
    chunks : the size of a warp's buffer in chunks of 16 bytes.
    """

    kind: str
    pieces: tuple[tuple[int, ...], ...]
    store: IndexMap
    load: IndexMap
    words: tuple[int, ...]
    owns: IndexMap
    along: int
    rounds: int
    chunks: int
