"""Clusters: blocks that run at the same time and reach one another's shared memory and barriers.

A grid is made of clusters of (x, y, z) blocks side by side. A block is told by its *rank*: its place in the cluster,
counted x fastest, z slowest. As places of clusters are aligned, that place is what is left of the block's own:

    rank = blockIdx.x mod x + x*(blockIdx.y mod y) + x*y*(blockIdx.z mod z)

which is the hardware's `%cluster_ctarank`, since the order of blocks is one of clusters (`ir.block_order`) and leaves
the place in a cluster as it is.

Where blocks compute several places each, those of a cluster go on together: tile number t of cluster number c is the
cluster of places of number c + t * clusters, of which each block has the place that is its own in the cluster. They are
launched as a line of clusters along x.

Source: PTX ISA, "Cooperative Thread Arrays: Cluster of CTAs" and "Special Registers: %cluster_ctarank".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import simplify

AXES = tuple(f"blockIdx.{axis}" for axis in "xyz")
Extents = tuple[int, int, int]
ALONE: Extents = (1, 1, 1)
MOST = 16
"""Blocks of a cluster, on any GPU."""


def own(cluster: Extents) -> tuple[Aff, Aff, Aff]:
    """A block's place in its cluster, along x, y and z.

    >>> print(*own((2, 4, 1)))
    blockIdx.x mod 2 blockIdx.y mod 4 0
    """
    x, y, z = (var(name) % n for name, n in zip(AXES, cluster, strict=True))
    return x, y, z


def ranked(place: tuple[Aff | int, Aff | int, Aff | int], cluster: Extents) -> Aff:
    """The rank of a place in a cluster.

    >>> print(ranked(own((2, 4, 1)), (2, 4, 1)), ranked((1, 3, 0), (2, 4, 1)))
    (blockIdx.x mod 2) + 2*(blockIdx.y mod 4) 7
    """
    x, y, z = place
    return aff(0) + x + cluster[0] * y + cluster[0] * cluster[1] * z


def members(cluster: Extents) -> Iterator[tuple[int, int, int]]:
    """The places in a cluster, by rank.

    >>> list(members((2, 2, 1)))
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    """
    return ((x, y, z) for z, y, x in product(*(range(n) for n in reversed(cluster))))


def blocks(cluster: Extents) -> int:
    """How many there are."""
    return prod(cluster)


def of_clusters(grid: Sequence[Aff], cluster: Extents) -> tuple[Aff, ...]:
    """How many clusters a grid of so many blocks has along x, y and z.

    >>> print(*of_clusters((var("N"), 2 * (var("M") // 256), aff(1)), (1, 2, 1)))
    N floor(M/256) 1
    """
    return tuple(simplify(e // n, {}) if n > 1 else e for e, n in zip(grid, cluster, strict=True))


def placed(place: tuple[int, int, int], cluster: Extents) -> Mapping[str, Aff]:
    """The names of a block's place by the number of its cluster along each axis, which has that name then.

    >>> for name, e in placed((1, 0, 0), (2, 1, 1)).items():
    ...     print(name, "=", e)
    blockIdx.x = 2*blockIdx.x + 1
    """
    pairs = zip(AXES, place, cluster, strict=True)
    return {name: n * var(name) + x for name, x, n in pairs if n > 1}


def launched(order: BlockOrder, cluster: Extents, grid: Sequence[int]) -> np.ndarray:
    """[3, blocks]: blockIdx.x, .y, .z of the places of a grid's blocks in the order in which they start, those of one
    cluster together.

    >>> print(launched(BlockOrder(1), (1, 2, 1), (2, 2, 1)))
    [[0 0 1 1]
     [0 1 0 1]
     [0 0 0 0]]
    """
    clusters = [n // c for n, c in zip(grid, cluster, strict=True)]
    first = order.blocks(clusters, 0, prod(clusters))[:, :, None] * np.reshape(cluster, (3, 1, 1))
    return (first + np.array(list(members(cluster))).T[:, None, :]).reshape(3, -1)
