"""Arrays of other libraries in host memory as numpy arrays, and results as arrays of theirs.

Whatever exports DLPack goes where a numpy array goes: tensors of torch on the CPU, arrays of jax, of tensorflow and so
on. numpy sees their memory, and nothing is copied. numpy has no bf16; who asks says what stands for it. No library is
imported here but numpy: an array of another one is there only once somebody has imported that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyvolta.graph.arrays.dlpack import HOST_MEMORY, Memory, NotReadable, exported, read

BFLOAT16 = "bfloat16"


class NotInHostMemory(Exception):
    """An array that doesn't give its memory away, with what would help; callers make it an error of their own."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def is_foreign(x: Any) -> bool:
    """Whether it is an array of another library than numpy that exports DLPack from host memory; never raises.

    >>> is_foreign(np.zeros(3)), is_foreign([0.0])
    (False, False)
    """
    if isinstance(x, np.ndarray | np.generic):
        return False
    try:
        return int(x.__dlpack_device__()[0]) in HOST_MEMORY
    except Exception:  # a property of a foreign library may raise whatever it likes
        return False


class _Held:
    """Memory for numpy, which keeps this object, and with it the capsule, as long as it has a view of it."""

    def __init__(self, memory: Memory, word: str, capsule: Any) -> None:
        size = np.dtype(word).itemsize
        self.capsule = capsule
        self.__array_interface__ = {
            "version": 3, "typestr": np.dtype(word).str, "shape": memory.shape,
            "strides": tuple(s * size for s in memory.strides), "data": (memory.ptr, memory.readonly),
        }  # fmt: skip


def as_numpy(x: Any, bfloat16: Callable[[], Any]) -> np.ndarray:
    """numpy's view of a foreign array's memory: writes to one are seen in the other.

    Parameters
    ----------
    x : an array for which `is_foreign` holds.
    bfloat16 : gives the numpy dtype of an array of bf16, two bytes wide; called for those alone.

    Raises
    ------
    NotInHostMemory : its library refuses, as torch does for a tensor that requires grad; or its elements are of a type
        that numpy hasn't.
    """
    kind = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    if hasattr(x, "is_neg") and x.is_neg():  # of torch; DLPack would give away the memory as it is
        raise NotInHostMemory(f"a {kind} that is negated when it is read", ".resolve_neg() negates its memory")
    if getattr(x, "requires_grad", False) is True:
        hint = ".detach() takes it out of the gradient; polyvolta.torch.operator(...) computes one"
        raise NotInHostMemory(f"a {kind} that requires a gradient, which a kernel alone doesn't give", hint)
    try:
        capsule = exported(x)
        memory = read(capsule)
        word = "uint16" if memory.dtype == BFLOAT16 else np.dtype(memory.dtype).name
    except (NotReadable, BufferError, RuntimeError, ValueError, TypeError) as wrong:
        hint = ".to_dense()" if getattr(x, "is_sparse", False) else "copy it to numpy"
        raise NotInHostMemory(f"a {kind} that doesn't give its memory away: {wrong}", hint) from wrong
    if 0 in memory.shape:
        array = np.empty(memory.shape, word)
    else:
        array = np.asarray(_Held(memory, word, capsule))
    return array.view(bfloat16()) if memory.dtype == BFLOAT16 else array


def in_kind(array: np.ndarray, like: Any) -> Any:
    """A numpy array as one of the library of `like`, in the same memory where that library can; else as it is.

    >>> in_kind(np.ones(2), np.zeros(3))
    array([1., 1.])
    """
    if not is_foreign(like):
        return array
    if type(like).__module__.partition(".")[0] == "torch":
        import torch

        if array.dtype.name == BFLOAT16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)
    try:
        return like.__array_namespace__().from_dlpack(array)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):  # no namespace, or no such elements
        return array
