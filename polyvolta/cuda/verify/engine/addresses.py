"""Where accesses go: which elements of tiles and tensors each thread reaches, and which bytes of shared memory.

This is the one place in which the verifier computes an address. It reads what operations declare (`ir.accesses`) and
the tiles' layouts, and shares no code with the machine that runs kernels: who moves data by one and judges it by the
other has two opinions.

A value's address is that of its element. Of values that one instruction moves side by side along a dimension the first
one says where it goes, as it does on a GPU; that they lie side by side there is a proof of its own (`alignment`). Tiles
that overlap since they are not alive together, as those of two products do, have the same bytes.

An expression's numbers are arrays [..., warp, 32]: of one time that an operation is reached (`Here`), or of all times
at once (`Requests`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import gcd

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, KernelIR, SharedTile
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff

Numbers = Callable[[Aff], np.ndarray]
Lanes = slice | np.ndarray
EVERY = slice(None)


class Addresses:
    """Where an access goes in shared memory, for each thread.

    Parameters
    ----------
    lanes : which lanes of warps the numbers are of.

    Attributes
    ----------
    access : what the operation declares.
    elements : of a tile with a layout, for each dimension [..., warp, 32, n]: each value's element, or, of values
        along a dimension, that of each instruction's first one; () without a layout.
    chunks : of a tile with a layout the chunks of the slot that these lie in.
    places : of a tile without one each instruction's place in the slot, counted in instructions' widths.
    slot : which slot, [..., warp, 32].
    outside : bool [..., warp, 32], the threads that reach out of the tile's box, its chunks or the block's memory;
        None: nobody does.
    """

    __slots__ = ("_bytes", "_pieces", "_single", "access", "chunks", "elements", "outside", "places", "slot")

    def __init__(
        self, ir: KernelIR, access: Access, number: Numbers, slot: Numbers | None = None, lanes: Lanes = EVERY
    ) -> None:
        tile = ir.tile(access.array)
        self.access, self.slot = access, (slot or number)(access.slot)
        first = (tile.start + self.slot * slot_chunks(access, tile))[..., None]
        self._pieces: dict[int, np.ndarray] = {}
        self._single = access.own is not None and access.places is None
        if access.places is None:
            self.elements = elements(access, number, lanes)
            self.chunks, self.places = chunks(tile, self.elements), None
            per_chunk = CHUNK_BYTES // access.item
            run = self.elements[tile.order[-1]] % per_chunk
            if not self._single:
                run = run // access.width * access.width
            self._bytes = CHUNK_BYTES * (first + self.chunks) + access.item * run
        else:
            self.elements, self.chunks, self.places = (), None, placed(access, number, lanes)
            self._bytes = CHUNK_BYTES * first + access.bytes * self.places
        self.outside = self._outside(tile, ir.shared_bytes)

    @property
    def instructions(self) -> np.ndarray:
        """The first byte of each instruction, [..., warp, 32, instruction]."""
        return self._bytes[..., :: self.access.width] if self._single else self._bytes

    def values(self, unit: int = 1) -> np.ndarray:
        """Where each value begins, counted in units of so many bytes, [..., warp, 32, value]."""
        if -unit not in self._pieces:
            found = self._bytes
            if not self._single:
                step = 0 if self.access.along is None and self.access.places is None else self.access.item
                found = found[..., None] + step * np.arange(self.access.width)
                found = found.reshape(*found.shape[:-2], -1)
            self._pieces[-unit] = found // unit if unit > 1 else found
        return self._pieces[-unit]

    def pieces(self, size: int) -> np.ndarray:
        """Which pieces of so many bytes it reaches, each instruction a few whole ones, [..., warp, 32, n]."""
        if size not in self._pieces:
            a = self.access
            if self._single:
                groups = self._bytes // size
                groups = groups.reshape(*groups.shape[:-1], -1, size // a.item)  # of values in one piece, if aligned
                found = groups[..., 0] if (groups == groups[..., :1]).all() else groups.reshape(*groups.shape[:-2], -1)
            else:
                found = (self._bytes // size)[..., None] + np.arange(a.bytes // size)
                found = found.reshape(*found.shape[:-2], -1)
            self._pieces[size] = found
        return self._pieces[size]

    def _outside(self, tile: SharedTile, size: int) -> np.ndarray | None:
        a = self.access
        wide = a.item if self._single else a.bytes
        bad = [(self._bytes, size - wide + 1)]
        if self.chunks is not None:
            bad += [(x, n) for x, (_, n) in zip(self.elements, layout_of(tile).inputs, strict=True)]
            bad += [(self.chunks, tile.chunks), (self.slot[..., None], tile.buffers)]
        bad = [(x, n) for x, n in bad if int(x.min()) < 0 or int(x.max()) >= n]
        if not bad:
            return None
        found = [((x < 0) | (x >= n)).any(-1) for x, n in bad]
        return np.broadcast_to(np.any(np.broadcast_arrays(*found), 0), self.slot.shape)


def slot_chunks(access: Access, tile: SharedTile) -> int:
    """The size of an access's slot in chunks."""
    return access.slot_chunks or tile.chunks


def slots(access: Access, tile: SharedTile) -> int:
    """How many slots a tile has for an access."""
    return tile.buffers * tile.chunks // slot_chunks(access, tile)


def narrowest(ir: KernelIR) -> int:
    """The bytes that every access to a kernel's shared memory is a whole number of, at most those of a chunk."""
    found = [a.bytes for op in operations(ir.body) for a in op.accesses(ir) if a.space == "shared"]
    return gcd(CHUNK_BYTES, *found)


# ---- elements


def elements(access: Access, number: Numbers, lanes: Lanes = EVERY) -> tuple[np.ndarray, ...]:
    """The elements that each thread takes, [..., warp, 32, n] for each dimension.

    They are each value's, or, of values along a dimension, those of each instruction's first one.
    """
    index = [number(e)[..., None] for e in access.index]
    if access.own is not None:
        return tuple(x + own[lanes] for x, own in zip(index, owned(access.own), strict=True))
    ahead = access.width * np.arange(access.values // access.width)
    return tuple(x + ahead if d == access.along else x for d, x in enumerate(index))


def offsets(access: Access) -> tuple[np.ndarray, ...]:
    """How far each value is from the access's index, for each dimension [1 or 32, value].

    Of values that are all one element there is one.
    """
    if access.own is not None:
        return owned(access.own)
    run = np.arange(1 if access.along is None else access.values)[None]
    return tuple(run if d == access.along else 0 * run for d in range(len(access.index)))


@lru_cache(maxsize=512)
def owned(own: IndexMap) -> tuple[np.ndarray, ...]:
    """What each lane's values add to an index, [32, value] for each dimension."""
    (lane, lanes), (value, values) = own.inputs
    found = own.evaluate({lane: np.arange(lanes)[:, None], value: np.arange(values)})
    return tuple(np.broadcast_to(x, (lanes, values)) for x in found)


# ---- tiles


def layout_of(tile: SharedTile) -> IndexMap:
    """The layout of a tile that has one."""
    assert tile.layout is not None, f"{tile.name} is addressed by its layout"
    return tile.layout


@lru_cache(maxsize=512)
def table(layout: IndexMap) -> np.ndarray:
    """The chunk of every element of a tile's box."""
    extents = [n for _, n in layout.inputs]
    index: Mapping[str, object] = {
        name: np.arange(n).reshape([-1 if d == k else 1 for k in range(len(extents))])
        for d, (name, n) in enumerate(layout.inputs)
    }
    (chunk,) = layout.evaluate(index)
    return np.ascontiguousarray(np.broadcast_to(np.asarray(chunk), extents))


def chunks(tile: SharedTile, index: tuple[np.ndarray, ...]) -> np.ndarray:
    """The chunks that elements lie in; of elements beyond the tile's box what the layout's formula says."""
    layout = layout_of(tile)
    inside = all(int(x.min()) >= 0 and int(x.max()) < n for x, (_, n) in zip(index, layout.inputs, strict=True))
    if inside and all(x.size for x in index):
        return table(layout)[index]
    (found,) = layout.evaluate({name: x for (name, _), x in zip(layout.inputs, index, strict=True)})
    return np.broadcast_to(np.asarray(found), np.broadcast_shapes(*(x.shape for x in index)))


def placed(access: Access, number: Numbers, lanes: Lanes = EVERY) -> np.ndarray:
    """The place of each instruction in a slot that has no layout, [..., warp, 32, instruction]."""
    assert access.places is not None
    (lane, _), *more = access.places.inputs
    given = [number(e) for e in access.given]
    chosen = np.arange(LANES)[lanes]
    values: dict[str, object] = {lane: chosen}
    values |= {name: x for (name, _), x in zip(more, given, strict=True)}
    found = access.places.evaluate(values)
    shape = np.broadcast_shapes((1, len(chosen)), *(np.shape(x) for x in (*found, *given)))
    return np.stack([np.broadcast_to(np.asarray(x), shape) for x in found], -1)


# ---- in words


def byte_text(ir: KernelIR, byte: int, of: str | None = None) -> str:
    """A byte of shared memory as people count: the tile in which it lies, and its chunk; of tiles that overlap all, or
    the one called `of`."""
    chunk = byte // CHUNK_BYTES
    tiles = [t for t in ir.tiles if t.start <= chunk < t.start + t.buffers * t.chunks and of in (None, t.name)]
    names = " or ".join(f"{t.name} {chunk_text(t, chunk - t.start)}" for t in tiles)
    return f"{names or 'shared memory'} (byte {byte} of shared memory)"


def chunk_text(tile: SharedTile, chunk: int) -> str:
    """A chunk of a tile's buffers, in words."""
    buffer, at = divmod(chunk, tile.chunks)
    return f"chunk {at}" + (f" of buffer {buffer}" if tile.buffers > 1 else "")
