"""Shared-memory layouts without bank conflicts: exclusive-or swizzles, searched for and checked.

A tile lies in shared memory in chunks of eight 16-bit values (16 bytes), the unit of a 128-bit access. The plain
layout is `chunk = line * width + position`. Where several lanes of one access phase want the same position of
different lines they meet in one bank; a swizzle flips bits of the position by bits of the line's number,

    p ^ (floor(line/2) mod 4)            p ^ (line mod 4 + 4 * (floor(line/8) mod 2))

which permutes each line and spreads a column over the banks. Eight chunks span all banks, so only the three lowest
bits of a position matter; each may be flipped by one of the six lowest bits of the line, or by none. The accesses that
the kernel will make choose among these candidates: the first without a conflict in any phase, in an order that puts
few bits first. A bit that is not flipped is one that constant offsets of an unrolled loop pass through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.layouts.bank_model import conflict_free, worst_degree
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff, aff, var, xor

CHUNK_BYTES = 16
LINE_BITS = 6  # of a line's number that a swizzle may use
POSITION_BITS = 3  # of a position: eight chunks span the banks


class NoSwizzle(CudaError):
    """No swizzle of the family makes all accesses of a tile conflict-free."""

    id = "PV510"


@dataclass(frozen=True, slots=True)
class Swizzle:
    """An exclusive-or of bits of a line's number into bits of the position in the line; the identity without runs.

    Parameters
    ----------
    runs : (position bit, line bit, how many): bits of the line's number from the second on flip the bits of the
        position from the first on.

    >>> from polyvolta.sets import var
    >>> print(Swizzle(((0, 1, 2),))(var("row"), var("p"), 4))
    (p ^ floor(row/2) mod 4)
    >>> print(Swizzle(((0, 0, 2), (2, 3, 1))))
    p ^ (line mod 4) + 4*(floor(line/8) mod 2)
    """

    runs: tuple[tuple[int, int, int], ...] = ()

    @property
    def bits(self) -> int:
        """How many low bits of a position it may change."""
        return max((at + count for at, _, count in self.runs), default=0)

    def flips(self, line: Aff) -> Aff:
        """What is combined with the position."""
        return sum((2**at * (line // 2**low % 2**count) for at, low, count in self.runs), aff(0))

    def __call__(self, line: Aff, position: Aff, width: int) -> Aff:
        """The place of a position in a line of `width` chunks, a multiple of 2**bits.

        Higher bits of the position stand outside of the exclusive-or, where a compiler sees them as offsets.
        """
        if not self.runs:
            return position
        block = 2**self.bits
        if width <= block:
            return xor(position, self.flips(line), self.bits)
        return position // block * block + xor(position % block, self.flips(line), self.bits)

    def __str__(self) -> str:
        return f"p ^ {self.flips(var('line'))}" if self.runs else "p"


def candidates(width: int) -> tuple[Swizzle, ...]:
    """The identity, then every swizzle that permutes lines of `width` chunks: fewest bits first, then fewest runs.

    An exclusive-or with numbers below 2**bits maps 0 <= p < width to itself when 2**bits divides the width.

    >>> [str(s) for s in candidates(2)[:3]]
    ['p', 'p ^ line mod 2', 'p ^ floor(line/2) mod 2']
    """
    low_zeros = (width & -width).bit_length() - 1
    return swizzles(min(POSITION_BITS, low_zeros), tuple(range(LINE_BITS)))


@lru_cache(maxsize=32)
def swizzles(bits: int, sources: tuple[int, ...]) -> tuple[Swizzle, ...]:
    """Every way to let each of the lowest `bits` bits of a position be flipped by one of the given bits or by none."""
    found = []
    for chosen in product((None, *sources), repeat=bits):
        runs: list[tuple[int, int, int]] = []
        for at, low in enumerate(chosen):
            if low is None:
                continue
            if runs and runs[-1][0] + runs[-1][2] == at and runs[-1][1] + runs[-1][2] == low:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
            else:
                runs.append((at, low, 1))
        found.append(Swizzle(tuple(runs)))
    return tuple(sorted(found, key=lambda s: (sum(count for *_, count in s.runs), len(s.runs), s.runs)))


@lru_cache(maxsize=256)
def flips(family: tuple[Swizzle, ...], lines: int) -> np.ndarray:
    """[swizzle, line]: what each of some swizzles combines with the positions of a line."""
    numbers = np.arange(lines)
    table = np.zeros((len(family), lines), np.int64)
    for row, swizzle in zip(table, family):
        for at, low, count in swizzle.runs:
            row += (numbers >> low) % 2**count << at
    return table


def tile_layout(
    dims: Sequence[str], size: Sequence[int], order: Sequence[int], swizzle: Swizzle, chunk: int
) -> IndexMap:
    """{ [element index] -> [chunk] } for a tile, contiguous along its last dimension in `order`.

    >>> print(tile_layout(("i", "k"), (128, 32), (0, 1), Swizzle(((0, 1, 2),)), 8)["chunk"])
    4*i + (floor(i/2) mod 4 ^ floor(k/8))
    """
    line_dim, run_dim = order
    width = size[run_dim] // chunk
    line, position = var(dims[line_dim]), var(dims[run_dim]) // chunk
    return IndexMap(tuple(zip(dims, size, strict=True)), (("chunk", width * line + swizzle(line, position, width)),))


def is_one_to_one(layout: IndexMap, order: Sequence[int], chunk: int) -> bool:
    """Whether the chunks of a tile get the numbers from 0 on, each one once: by enumeration, so exact."""
    dims, size = zip(*layout.inputs)
    lines, starts = np.meshgrid(np.arange(size[order[0]]), np.arange(0, size[order[1]], chunk), indexing="ij")
    (numbers,) = layout.evaluate({dims[order[0]]: lines, dims[order[1]]: starts})
    return np.array_equal(np.sort(numbers, axis=None), np.arange(lines.size))


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """Warp-wide accesses to a tile.

    Parameters
    ----------
    points : [access, lane, dimension], the first element that each lane names; negative where it takes no part.
    width : how many values a lane moves, 8 or a part of it.
    """

    points: np.ndarray
    width: int


def conflicts(layout: IndexMap, order: Sequence[int], chunk: int, accesses: Iterable[Accesses]) -> int:
    """The worst conflict degree of some accesses to a tile; 1 is free of conflicts."""
    dims = [n for n, _ in layout.inputs]
    worst = 1
    for a in accesses:
        if not a.points.size:
            continue
        (chunks,) = layout.evaluate({dim: a.points[..., d] for d, dim in enumerate(dims)})
        lane_bytes = CHUNK_BYTES * a.width // chunk
        addresses = CHUNK_BYTES * chunks + a.points[..., order[-1]] % chunk * CHUNK_BYTES // chunk
        addresses = np.where(a.points[..., 0] < 0, -lane_bytes, addresses)
        worst = max(worst, worst_degree(addresses, lane_bytes))
    return worst


def choose(
    dims: Sequence[str],
    size: Sequence[int],
    order: Sequence[int],
    accesses: Sequence[Accesses],
    chunk: int,
) -> tuple[Swizzle, IndexMap]:
    """The first swizzle for which every access is free of bank conflicts, and the layout with it.

    Candidates are sifted on a few accesses, many at once; the one chosen is proved on all accesses.

    Parameters
    ----------
    accesses : all that the kernel makes to the tile.

    Raises
    ------
    NoSwizzle : none of the candidates will do; the error tells the least degree found.
    """
    for swizzle in _sifted(size, order, accesses, chunk):
        layout = tile_layout(dims, size, order, swizzle, chunk)
        if conflicts(layout, order, chunk, accesses) == 1 and is_one_to_one(layout, order, chunk):
            return swizzle, layout
    layouts = {s: tile_layout(dims, size, order, s, chunk) for s in candidates(size[order[1]] // chunk)}
    degree, best = min(((conflicts(f, order, chunk, accesses), s) for s, f in layouts.items()), key=lambda t: t[0])
    raise NoSwizzle(
        f"no exclusive-or swizzle makes the {'x'.join(map(str, size))} tile free of bank conflicts",
        where=f"the best, {best}, leaves a {degree}-way conflict",
        hint=f"choose a tile whose contiguous side, {dims[order[1]]}, is 16, 32, 64, 128 or 256",
    )


def _sifted(size: Sequence[int], order: Sequence[int], accesses: Sequence[Accesses], chunk: int) -> Iterator[Swizzle]:
    """The candidates, in order, that are free of conflicts on a sample of the accesses."""
    width = size[order[1]] // chunk
    tried, batch = candidates(width), 48
    sample = [numbers for numbers in (_numbers(a, order, chunk) for a in accesses) if numbers[0].size]
    for first in range(0, len(tried), batch):
        table = flips(tried[first : first + batch], 2**LINE_BITS)
        free = np.ones(len(table), bool)
        for lines, positions, parts, per_chunk in sample:
            places = width * lines + (positions ^ table[:, lines % 2**LINE_BITS])
            free &= conflict_free(places * per_chunk + parts, CHUNK_BYTES // per_chunk)
        yield from (tried[first + k] for k in np.flatnonzero(free))


def _numbers(a: Accesses, order: Sequence[int], chunk: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Of a dozen accesses by all lanes: line, position, part of the chunk; and how many parts a chunk has."""
    whole = a.points[(a.points >= 0).all((1, 2))]
    few = whole[:: max(1, len(whole) // 12)]
    lines, runs = few[..., order[0]], few[..., order[1]]
    return lines, runs // chunk, runs % chunk // a.width, chunk // a.width
