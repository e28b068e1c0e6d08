"""An array in GPU memory, whatever library owns it: an address with a shape.

Two protocols give an array's memory away without a copy. The CUDA array interface is a dictionary with
pointer, shape and strides; from version 3 on it also names the stream on which the data is being written.
DLPack is a C struct inside a capsule; it's told the stream on which the data will be read, and makes that
stream wait. torch speaks both and tells its stream only through DLPack, cupy and jax speak both, numba the
first alone. bf16 is a type of DLPack's own; in the interface it is "<V2", two bytes without a meaning, as with
torch, jax and ml_dtypes.

This module reads both, the struct through `graph.arrays.dlpack`, and calls nothing of CUDA: who uses it says how a
stream waits for another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from polyvolta.cuda.errors import NotADeviceArray
from polyvolta.cuda.run.dtypes import BFLOAT16, WORDS
from polyvolta.graph.arrays.dlpack import NotReadable, compact, read

_GPU_MEMORY = (2, 13)  # DLPack's kDLCUDA, kDLCUDAManaged
_LEGACY_DEFAULT = 1  # what both protocols call the driver's stream 0


@dataclass(frozen=True, slots=True)
class DevicePtr:
    """An address in GPU memory, as a kernel's argument."""

    ptr: int


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array in GPU memory: an address and how to walk from it.

    Exports the CUDA array interface: `torch.as_tensor`, `cupy.asarray`, `numba.cuda.as_cuda_array` take it.

    Attributes
    ----------
    ptr : address of element [0, 0, ..].
    shape : elements along each dimension.
    strides : steps along each dimension, in elements.
    dtype : numpy's name of the element type ("float16"), or "bfloat16".
    readonly : whether the owner forbids writing.
    keepalive : what owns the memory; lives as long as this does.
    """

    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    readonly: bool = False
    keepalive: Any = field(default=None, repr=False, compare=False)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the protocol, without a stream: who asks has to `synchronize` first."""
        typestr, size = _interface_type(self.dtype)
        return {"shape": self.shape, "strides": tuple(s * size for s in self.strides),
                "typestr": typestr, "data": (self.ptr, self.readonly), "version": 3}  # fmt: skip


def is_device_array(obj: Any) -> bool:
    """Whether `obj` is an array in GPU memory that `launch.as_device_view` can read; never raises.

    >>> is_device_array([1, 2])
    False
    """
    try:
        if hasattr(obj, "__dlpack_device__"):
            return int(obj.__dlpack_device__()[0]) in _GPU_MEMORY
        return hasattr(obj, "__cuda_array_interface__")
    except Exception:  # a property of a foreign library may raise whatever it likes
        return False


def read_interface(obj: Any, stream: int, wait: Callable[[int, int], None]) -> DeviceArray:
    """Read `__cuda_array_interface__`, versions 0 to 3.

    Parameters
    ----------
    obj : what exports it.
    stream : handle of the stream that will use the data.
    wait : called as wait(stream, theirs) if the data is being written on another stream.

    Raises
    ------
    NotADeviceArray : it's masked, or its elements don't lie at multiples of their size from the first.
    """
    interface = obj.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise NotADeviceArray("a masked array")
    dtype, itemsize = _dtype(interface["typestr"])
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    steps = compact(shape) if strides is None else tuple([s // itemsize for s in strides])
    if strides is not None and any(s % itemsize for s in strides):
        raise NotADeviceArray(f"strides of {tuple(strides)} bytes are no multiples of its elements' {itemsize}")
    theirs = interface.get("stream")
    if theirs is not None and theirs != (stream or _LEGACY_DEFAULT):
        wait(stream, theirs)
    ptr, readonly = interface["data"]
    return DeviceArray(ptr or 0, shape, steps, dtype, readonly, obj)


@cache
def _interface_type(dtype: str) -> tuple[str, int]:
    """An element type's word in the interface, and its bytes."""
    import numpy as np

    if dtype == BFLOAT16:
        return WORDS[0], 2
    return np.dtype(dtype).str, np.dtype(dtype).itemsize


@cache
def _dtype(typestr: str) -> tuple[str, int]:
    """numpy's name and the bytes of an element type; numpy takes 3 us to make up the name."""
    import numpy as np

    if typestr in WORDS:
        return BFLOAT16, 2
    return np.dtype(typestr).name, np.dtype(typestr).itemsize


def read_dlpack(obj: Any, stream: int) -> DeviceArray:
    """Read `__dlpack__`; its library makes the stream with that handle wait for the data.

    The capsule stays unconsumed: it frees the producer's side when it dies with the view.

    Raises
    ------
    NotADeviceArray : vector elements, or elements of an opaque type.
    """
    capsule = obj.__dlpack__(stream=stream or _LEGACY_DEFAULT)
    try:
        memory = read(capsule)
    except NotReadable as wrong:
        raise NotADeviceArray(str(wrong)) from wrong
    return DeviceArray(memory.ptr, memory.shape, memory.strides, memory.dtype, memory.readonly, (obj, capsule))
