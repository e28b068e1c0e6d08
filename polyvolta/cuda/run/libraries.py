"""Arrays of torch, cupy and numba, read through their attributes: an address and a signature in a microsecond.

DLPack and the array interface say all about an array, and take torch 20 us to say it. Of a library that is known, its
attributes say the same. The signature of an array is whatever the protocols would tell or refuse it for, but for the
address: shape, strides, dtype, device, and for torch whether it requires grad or is negated when read. So what was
found out about one array through a protocol holds for every other of its signature, and that is all that a signature
is for: it is compared, never looked into.

Only the libraries' own types are read so. A subclass may lie in memory as it likes, and goes through its protocol. No
library is imported here: an array of it is there only once somebody has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polyvolta.cuda.run.device_array import DeviceArray
from polyvolta.cuda.run.gpu import several_gpus


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """How a library's arrays are read; each function may raise what the library raises.

    Attributes
    ----------
    read : an array's address, in bytes, and its signature; that starts with the library's name: two libraries'
        signatures are never equal.
    address : an array's address alone.
    stream : the handle of the stream on which the library works on the array's device; None where it doesn't tell, and
        nothing is to be waited for.
    """

    read: Callable[[Any], tuple[int, tuple]]
    address: Callable[[Any], int]
    stream: Callable[[Any], int | None]


_known: dict[type, Library] = {}  # of types seen; another type is looked for each time, and not kept alive


def library_of(kind: type) -> Library | None:
    """How arrays of a type are read; None for a type that has to go through a protocol.

    >>> a = DeviceArray(4096, (3, 4), (4, 1), "float16")
    >>> library_of(DeviceArray).read(a), library_of(list)
    ((4096, ('polyvolta', (3, 4), (4, 1), 'float16', False)), None)
    """
    if (found := _known.get(kind)) is None and (found := _find(kind)) is not None:
        _known[kind] = found
    return found


def _find(kind: type) -> Library | None:
    if kind is DeviceArray:
        return _OURS
    torch = sys.modules.get("torch")
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        return _torch(torch)
    cupy = sys.modules.get("cupy")
    if cupy is not None and kind is cupy.ndarray:
        return _cupy(cupy)
    numba = sys.modules.get("numba.cuda.cudadrv.devicearray")
    if numba is not None and kind is numba.DeviceNDArray and not several_gpus():
        return _NUMBA  # its arrays are slow to say on which GPU they are
    return None


def _torch(torch: Any) -> Library:
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def read(t: Any) -> tuple[int, tuple]:
        return t.data_ptr(), ("torch", t.shape, t.stride(), t.dtype, t.device, t.requires_grad, t.is_neg())

    def stream(t: Any) -> int:
        where = t.device.index
        return torch.cuda.current_stream(where).cuda_stream if raw is None else raw(where)

    return Library(read, torch.Tensor.data_ptr, stream)


def _cupy(cupy: Any) -> Library:
    current = cupy.cuda.get_current_stream

    def read(a: Any) -> tuple[int, tuple]:
        return a.data.ptr, ("cupy", a.shape, a.strides, a.dtype, a.device.id)

    return Library(read, lambda a: a.data.ptr, lambda a: current().ptr)


class HasItsOwnStream(Exception):
    """An array of numba that is made on a stream of its own; its interface tells which."""


def _numba_address(a: Any) -> int:
    return a.device_ctypes_pointer.value or 0


def _read_numba(a: Any) -> tuple[int, tuple]:
    if a.stream != 0:
        raise HasItsOwnStream
    return _numba_address(a), ("numba", a.shape, a.strides, a.dtype)


_NUMBA = Library(_read_numba, _numba_address, lambda a: None)
_OURS = Library(
    lambda a: (a.ptr, ("polyvolta", a.shape, a.strides, a.dtype, a.readonly)),
    lambda a: a.ptr,
    lambda a: None,
)
