"""DLPack: what an array's memory is, from the capsule that its library hands out.

`x.__dlpack__()` gives a capsule, which holds a pointer to a C structure: where the first element lies, on which device,
and how to walk from there. This module reads it and copies nothing. The capsule stays unconsumed: it frees the
producer's side when it dies, so whoever uses the memory keeps the capsule.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

HOST_MEMORY = (1, 3)
"""DLPack's kDLCPU, and kDLCUDAHost: pinned memory."""
KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_VERSION = (1, 0)
_READ_ONLY = 1


class NotReadable(Exception):
    """A capsule of elements that numpy has no word for."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory that a capsule tells of.

    Attributes
    ----------
    ptr : address of element [0, 0, ..].
    shape, strides : in elements.
    dtype : numpy's name of the element type, or "bfloat16".
    readonly : whether the owner forbids writing; older capsules don't say, and count as writable.
    """

    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    readonly: bool


class DLTensor(ctypes.Structure):
    """DLTensor (dlpack.h): the head of a managed tensor before version 1, its tail since."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned: version, manager, deleter, flags, and the tensor."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


def exported(obj: Any) -> Any:
    """The capsule of an array in host memory, of the version that says whether it may be written, where there is one.

    Raises
    ------
    whatever its library does, such as BufferError.
    """
    try:
        return obj.__dlpack__(max_version=_VERSION)
    except TypeError:  # of a library that is older than the argument
        return obj.__dlpack__()


def read(capsule: Any) -> Memory:
    """What a capsule says.

    Raises
    ------
    NotReadable : vector elements, or elements of an opaque type.

    >>> import numpy as np
    >>> memory = read(exported(np.zeros((3, 4), np.float16).T))
    >>> memory.shape, memory.strides, memory.dtype
    ((4, 3), (1, 4), 'float16')
    """
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(capsule_pointer(capsule, b"dltensor_versioned"))
        tensor, readonly = managed.tensor, bool(managed.flags & _READ_ONLY)
    else:
        tensor, readonly = DLTensor.from_address(capsule_pointer(capsule, b"dltensor")), False
    if tensor.lanes != 1 or tensor.kind not in KINDS:
        raise NotReadable(f"elements of DLPack type ({tensor.kind}, {tensor.bits}, {tensor.lanes})")
    name = "bool" if tensor.kind == 6 else f"{KINDS[tensor.kind]}{tensor.bits}"
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else compact(shape)
    return Memory((tensor.data or 0) + tensor.byte_offset, shape, strides, name, readonly)


def compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a C-ordered array without gaps.

    >>> compact((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
