"""Shared-memory layouts without bank conflicts: exclusive-or swizzles, searched for and checked.

A tile lies in shared memory in chunks of 8 fp16 values (16 bytes), the unit of a 128-bit access. The plain
layout is `chunk = line * width + position`. Where several lanes of one access phase want the same position of
different lines they meet in one bank; a swizzle sends position p of a line to

    p ^ (floor(line / 2**shift) mod 2**bits)

which permutes each line and spreads a column over the banks. The accesses that the kernel will make, as
index maps of the lane, choose among the candidates: the first without a conflict in any phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.bank_model import conflict_degree
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.index_map import IndexMap
from polyvolta.sets import Aff, var, xor


class NoSwizzle(CudaError):
    """No swizzle of the family makes all accesses of a tile conflict-free."""

    id = "PV510"


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`position ^ (floor(line / 2**shift) mod 2**bits)`; the identity for 0 bits.

    >>> from polyvolta.sets import var
    >>> print(Swizzle(shift=1, bits=2)(var("row"), var("p"), 4))
    (p ^ floor(row/2) mod 4)
    """

    shift: int
    bits: int

    def __call__(self, line: Aff, position: Aff, width: int) -> Aff:
        """The place of a position in a line of `width` chunks, a multiple of 2**bits."""
        if not self.bits:
            return position
        return xor(position, line // 2**self.shift % 2**self.bits, (width - 1).bit_length())


def candidates(width: int) -> Iterable[Swizzle]:
    """The identity, then every swizzle that permutes lines of `width` chunks, widest first.

    An exclusive-or with numbers below 2**bits maps 0 <= p < width to itself when 2**bits divides the width.
    """
    yield Swizzle(0, 0)
    for bits in range(width.bit_length() - 1, 0, -1):
        if width % 2**bits == 0:
            for shift in range(6):
                yield Swizzle(shift, bits)


def tile_layout(
    dims: Sequence[str], size: Sequence[int], order: Sequence[int], swizzle: Swizzle, chunk: int
) -> IndexMap:
    """{ [element index] -> [chunk] } for a tile, contiguous along its last dimension in `order`.

    >>> print(tile_layout(("i", "k"), (128, 32), (0, 1), Swizzle(1, 2), 8)["chunk"])
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


def degree(chunks: Iterable[int], chunk_bytes: int = 16) -> int:
    """The conflict degree of one 128-bit access, given each lane's chunk."""
    return conflict_degree([c * chunk_bytes for c in chunks], chunk_bytes)


def choose(
    dims: Sequence[str],
    size: Sequence[int],
    order: Sequence[int],
    accesses: Sequence[Sequence[tuple[int, ...]]],
    chunk: int,
    prefer: Swizzle | None = None,
) -> tuple[Swizzle, IndexMap]:
    """The first swizzle for which every access is free of bank conflicts, and the layout with it.

    Parameters
    ----------
    accesses : for each warp-wide 128-bit access the element indices that the 32 lanes name.
    prefer : tried first; operands with one swizzle share address arithmetic.

    Raises
    ------
    NoSwizzle : none of the candidates will do; the error tells the least degree found.
    """
    width = size[order[1]] // chunk
    points = np.array(accesses)  # [access, lane, dimension]
    places = {dim: points[:, :, d] for d, dim in enumerate(dims)}
    best: tuple[int, Swizzle] | None = None
    for swizzle in (*([prefer] if prefer and width % 2**prefer.bits == 0 else []), *candidates(width)):
        layout = tile_layout(dims, size, order, swizzle, chunk)
        if not is_one_to_one(layout, order, chunk):
            continue
        (chunks,) = layout.evaluate(places)
        worst = max(degree(lanes) for lanes in chunks.tolist())
        if worst == 1:
            return swizzle, layout
        if best is None or worst < best[0]:
            best = (worst, swizzle)
    raise NoSwizzle(
        f"no exclusive-or swizzle makes the {'x'.join(map(str, size))} tile free of bank conflicts",
        where=f"the best, {best[1]}, leaves a {best[0]}-way conflict" if best else "",
        hint="choose a tile depth of 16, 32 or 64",
    )
