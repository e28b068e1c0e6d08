"""What does not change from one time to the next: layouts and ownership maps as tables of numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.memories import LANES
from polyvolta.cuda.target.index_map import IndexMap


@lru_cache(maxsize=64)
def chunks_of(layout: IndexMap) -> np.ndarray:
    """The chunk of every element of a tile's box."""
    extents = [n for _, n in layout.inputs]
    (chunk,) = apply(layout, *np.meshgrid(*map(np.arange, extents), indexing="ij", sparse=True))
    return np.ascontiguousarray(np.broadcast_to(chunk, extents))


def added(access: Access) -> tuple[np.ndarray, ...]:
    """What each value of a lane adds to an access's index: [1, 1, lane, value], of extent 1 where nothing depends on
    it."""
    if access.own is not None:
        return owned(access.own, access.values)
    return further(len(access.index), access.along, access.values)


def further(rank: int, along: int | None, values: int) -> tuple[np.ndarray, ...]:
    """What values one after another along a dimension add to an index of so many dimensions; None: nothing."""
    none = np.zeros((1, 1, 1, 1), int)
    return tuple(np.arange(values).reshape(1, 1, 1, -1) if d == along else none for d in range(rank))


@lru_cache(maxsize=256)
def owned(ownership: IndexMap, count: int) -> tuple[np.ndarray, ...]:
    """What each of a lane's values adds to an index: [1, 1, lane, value], of extent 1 where nothing depends on it."""
    found = apply(ownership, np.arange(LANES).reshape(1, 1, -1, 1), np.arange(count).reshape(1, 1, 1, -1))
    return tuple(np.asarray(x).reshape(np.shape(x) or (1, 1, 1, 1)) for x in found)


def apply(f: IndexMap, *inputs: Any) -> tuple:
    """An index map at numbers or arrays, by position."""
    return f.evaluate({name: x for (name, _), x in zip(f.inputs, inputs, strict=True)})
