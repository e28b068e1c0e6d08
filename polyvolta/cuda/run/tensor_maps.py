"""Tensor maps: what Hopper's copy engine knows of a matrix, encoded by the driver and given to a kernel by value.

A map is 128 bytes, opaque: where a matrix starts, how long and how far apart its lines are, which box one instruction
moves, and how the box lies in shared memory. A kernel takes it as `const __grid_constant__ TensorMap`, 64-byte aligned.
What lies outside of the matrix is zeros when a box is read, and isn't written.

The engine takes matrices that start at a multiple of 16 bytes and whose lines are multiples of 16 bytes apart
(`takes`); others go to a kernel that copies otherwise. Encoding takes the driver a few microseconds, so maps are kept
by what they say. One for memory that was freed is no danger: it is found again only for the same matrix in its place.

The driver wants the map's memory aligned. An object of the CUDA bindings isn't: Python aligns memory to 16 bytes, and
the bindings' own copy of a map has crashed for it. So the driver's function is called where the driver says it is.

Source: CUDA Driver API, "Tensor Map Object Management", cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.boxes import CHUNK_BYTES, MOST_LINES, SWIZZLES

BYTES = 128  # of a map
ALIGN = 64
MOST_MAPS = 4096  # that are kept
ITEM = 2  # bytes of a value
MOST_STRIDE = 2**40  # bytes, exclusive
MOST_EXTENT = 2**32
NUMBERS = {s.bytes: s.number for s in SWIZZLES}
"""The driver's numbers of swizzles, by the bytes of their spans."""
KINDS = {"half": 6, "bfloat16": 9}
"""The driver's numbers of element types: CU_TENSOR_MAP_DATA_TYPE_FLOAT16, BFLOAT16."""
_RANK, _INTERLEAVE_NONE, _PROMOTION_256_BYTES, _FILL_ZEROS = 2, 0, 3, 0


class BadTensorMap(CudaError, ValueError):
    """A matrix or a box that the copy engine doesn't take."""

    id = "PV569"


class TensorMap(ctypes.Structure):
    """128 bytes at a multiple of 64, as the driver encodes them; `TensorMap.blank` makes one."""

    _fields_ = (("opaque", ctypes.c_uint64 * (BYTES // 8)),)

    @classmethod
    def blank(cls) -> TensorMap:
        room = (ctypes.c_char * (BYTES + ALIGN))()
        return cls.from_buffer(room, -ctypes.addressof(room) % ALIGN)  # keeps the room alive

    @property
    def value(self) -> TensorMap:
        """Itself; set to another map it becomes one that says the same."""
        return self

    @value.setter
    def value(self, other: TensorMap) -> None:
        ctypes.memmove(ctypes.addressof(self), ctypes.addressof(other), BYTES)

    def copy(self) -> TensorMap:
        """A map that says the same, in memory of its own."""
        made = TensorMap.blank()
        made.value = self
        return made


def takes(pointer: int, extents: tuple[int, int], stride: int) -> bool:
    """Whether the copy engine takes a matrix; see `encode` for the parameters.

    >>> takes(4096, (100, 50), 112), takes(4096, (100, 50), 100), takes(4104, (100, 50), 112), takes(4096, (0, 50), 112)
    (True, False, False, False)
    """
    return _objection(pointer, extents, stride) is None


def _objection(pointer: int, extents: tuple[int, int], stride: int) -> str | None:
    """What keeps the copy engine from taking a matrix; None if nothing does."""
    if pointer % CHUNK_BYTES:
        return f"it starts at {pointer:#x}, no multiple of {CHUNK_BYTES} bytes"
    if stride % CHUNK_BYTES:
        return f"its lines are {stride} bytes apart, no multiple of {CHUNK_BYTES}"
    if not 0 < stride < MOST_STRIDE:
        return f"its lines are {stride} bytes apart, that has to be positive and less than {MOST_STRIDE}"
    if not all(0 < n <= MOST_EXTENT for n in extents):
        return f"it has {extents[0]} lines of {extents[1]} values, each has to be positive and at most {MOST_EXTENT}"
    return None


def encode(
    pointer: int, kind: str, extents: tuple[int, int], stride: int, box: tuple[int, int], swizzle: int
) -> TensorMap:
    """The map of a matrix in GPU memory, for one box; the same again costs a look-up.

    Whoever changes a map takes a copy: this one is everybody's.

    Parameters
    ----------
    pointer : address of the first value.
    kind : of the values, "half" or "bfloat16".
    extents : lines, and values of a line, which lie next to one another.
    stride : bytes from line to line.
    box : lines, and values of a line, that one instruction moves; 256 at most of each.
    swizzle : bytes of the spans within which 16-byte chunks change places: 128, 64, 32, or 0.

    Raises
    ------
    BadTensorMap : the engine doesn't take the matrix or the box, or the driver refuses.
    """
    return _encoded(pointer, kind, extents, stride, box, swizzle)


@lru_cache(maxsize=MOST_MAPS)
def _encoded(
    pointer: int, kind: str, extents: tuple[int, int], stride: int, box: tuple[int, int], swizzle: int
) -> TensorMap:
    where = f"{extents[0]} x {extents[1]}, {stride} bytes from line to line, boxes of {box[0]} x {box[1]}"
    _check_box(kind, box, swizzle, where)
    if (objection := _objection(pointer, extents, stride)) is not None:
        hint = "takes(...) says so beforehand; a kernel without tensor maps runs on it"
        raise BadTensorMap(f"the copy engine doesn't take the matrix: {objection}", where=where, hint=hint)
    made = TensorMap.blank()
    lines, run = extents
    status = _function()(
        ctypes.addressof(made), KINDS[kind], _RANK, pointer,
        (ctypes.c_uint64 * 2)(run, lines), (ctypes.c_uint64 * 1)(stride),
        (ctypes.c_uint32 * 2)(box[1], box[0]), (ctypes.c_uint32 * 2)(1, 1),
        _INTERLEAVE_NONE, NUMBERS[swizzle], _PROMOTION_256_BYTES, _FILL_ZEROS,
    )  # fmt: skip
    if status:
        raise BadTensorMap(f"cuTensorMapEncodeTiled: the driver's error {status}", where=where)
    return made


def _check_box(kind: str, box: tuple[int, int], swizzle: int, where: str) -> None:
    if kind not in KINDS:
        raise BadTensorMap(f"maps are of {' or '.join(KINDS)}, not of {kind!r}", where=where)
    if swizzle not in NUMBERS:
        raise BadTensorMap(f"no swizzle has spans of {swizzle!r} bytes", where=where, hint="128, 64, 32, or 0 for none")
    if not all(0 < n <= MOST_LINES for n in box):
        raise BadTensorMap(f"a box has 1 to {MOST_LINES} lines of 1 to {MOST_LINES} values", where=where)
    if box[1] * ITEM % CHUNK_BYTES:
        raise BadTensorMap(f"lines of a box are multiples of {CHUNK_BYTES} bytes, not {box[1] * ITEM}", where=where)
    if swizzle and box[1] * ITEM > swizzle:
        raise BadTensorMap(
            f"lines of {box[1] * ITEM} bytes are longer than the spans of a {swizzle}-byte swizzle", where=where
        )


@cache
def _function() -> Any:
    """The driver's cuTensorMapEncodeTiled.

    Raises
    ------
    LaunchFailed : a driver older than CUDA 12.
    """
    from cuda.bindings import driver

    from polyvolta.cuda.errors import LaunchFailed

    flags = int(driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT)
    status, address, _ = driver.cuGetProcAddress(b"cuTensorMapEncodeTiled", 12000, flags)
    if int(status) or not address:
        raise LaunchFailed("the driver has no cuTensorMapEncodeTiled", hint="it is part of CUDA 12 and later")
    pointer, number, word = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32
    signature = ctypes.CFUNCTYPE(
        number, pointer, number, word, pointer, pointer, pointer, pointer, pointer, number, number, number, number
    )
    return signature(int(address))
