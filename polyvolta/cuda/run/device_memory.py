"""Arrays in GPU memory, of every library: looked at where they lie, copied, allocated.

Nothing is copied that needn't be. Whatever exports the CUDA array interface or DLPack becomes a `DeviceArray`, a
pointer with a shape, and the kernel's stream waits for the one on which the data is being written. Only numpy arrays
travel, both ways, and only there does the host wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.errors import CudaError, NotADeviceArray
from polyvolta.cuda.run.device_array import DeviceArray, compact, is_device_array, read_dlpack, read_interface
from polyvolta.cuda.run.dtypes import BFLOAT16, numpy_dtype
from polyvolta.cuda.run.gpu import driver_call, require_gpu, several_gpus, stream_handle, synchronize

if TYPE_CHECKING:
    import numpy as np


def as_device_view(obj: Any, stream: Any = None) -> DeviceArray:
    """An array in GPU memory, of any library, as it lies there; `stream` waits for what still writes it.

    Parameters
    ----------
    obj : `DeviceArray`, or anything with `__cuda_array_interface__` or `__dlpack__`: numba, torch, cupy, jax.
    stream : where it'll be used, as in `LoadedKernel.launch`.

    Raises
    ------
    NotADeviceArray : it's elsewhere or on another GPU, masked, or its library refuses (a torch tensor that requires
        grad).
    NoGpu : there is none.

    Notes
    -----
    Cost: 2 us and what the library takes, for torch with another stream than its own some 10 us.
    """
    if isinstance(obj, DeviceArray):
        return obj
    kind = type(obj).__name__
    if not is_device_array(obj):
        raise NotADeviceArray(f"a {kind} that isn't in GPU memory", hint="to_device(array) copies it there")
    require_gpu()
    from numba import cuda

    current = cuda.current_context().device.id
    try:
        if hasattr(obj, "is_neg") and obj.is_neg():  # of torch; DLPack would give away the memory as it is
            raise NotADeviceArray(f"a {kind} that is negated when it is read", hint=".resolve_neg() negates its memory")
        if hasattr(obj, "__dlpack__"):
            view = read_dlpack(obj, stream_handle(stream))
        else:
            view = read_interface(obj, stream_handle(stream), wait)
    except CudaError:
        raise
    except Exception as wrong:
        raise NotADeviceArray(
            f"this {kind} doesn't give its memory away: {wrong}",
            hint="for torch: .detach() it first",
        ) from wrong
    if several_gpus() and (there := device_of(view)) != current:
        raise NotADeviceArray(
            f"a {kind} in the memory of GPU {there}, while GPU {current} is the current one",
            hint=f"torch.cuda.set_device({there}) or numba.cuda.select_device({there})",
        )
    return view


def current_stream(array: Any) -> int:
    """The handle of the stream on which the library that made an array works now: torch's, cupy's, else the default.

    What it computed before is there for a kernel on this stream, and what it computes next waits for the kernel.
    """
    library = type(array).__module__.split(".")[0]
    if library == "torch":
        import torch

        return torch.cuda.current_stream().cuda_stream
    if library == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return 0


def device_of(array: DeviceArray) -> int:
    """Number of the device in whose memory an array lies; for an empty one, of the current device."""
    require_gpu()
    from cuda.bindings import driver
    from numba import cuda

    current = cuda.current_context().device.id
    what = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return driver_call("cuPointerGetAttribute", what, array.ptr) if array.ptr else current


def wait(ours: int, theirs: int) -> None:
    """Make one stream wait for what another has been given so far."""
    from cuda.bindings import driver

    event = driver_call("cuEventCreate", driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    driver_call("cuEventRecord", event, theirs)
    driver_call("cuStreamWaitEvent", ours, event, 0)
    driver_call("cuEventDestroy", event)  # freed once the event has happened


def to_device(array: np.ndarray, stream: Any = None) -> DeviceArray:
    """Copy a numpy array to the current device; C or Fortran order is kept, other layouts become C.

    Returns when `array` may be changed again; the copy is there for whatever follows on `stream`. Arrays of bf16 are
    those of ml_dtypes.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    import numpy as np
    from numba import cuda

    array = np.asarray(array)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    handle = stream_handle(stream)
    patterns = array.view(np.uint16) if str(array.dtype) == BFLOAT16 else array  # numba has no bf16
    device = cuda.to_device(patterns, stream=cuda.external_stream(handle) if handle else 0)
    view = read_interface(device, handle, wait)
    return view if patterns is array else replace(view, dtype=BFLOAT16)


def allocate(shape: Sequence[int], order: str = "C", dtype: str = "float16") -> DeviceArray:
    """GPU memory for an array, its content undefined, through numba's memory manager.

    Parameters
    ----------
    shape : elements along each dimension.
    order : "C" (row-major) or "F" (column-major).
    dtype : numpy's name of the element type, or "bfloat16".

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    import numpy as np
    from numba import cuda

    held = np.dtype("uint16" if dtype == BFLOAT16 else dtype)
    view = read_interface(cuda.device_array(tuple(shape), dtype=held, order=order), 0, wait)
    return replace(view, dtype=dtype) if dtype == BFLOAT16 else view


def copy_to_host(array: DeviceArray, stream: Any = None) -> np.ndarray:
    """Wait for `stream`, then copy an array from the GPU; strides are kept. Of bf16 it becomes one of ml_dtypes.

    Raises
    ------
    NoBfloat16 : ml_dtypes isn't installed.
    NoGpu : there is none.
    LaunchFailed : what ran on the stream failed.
    """
    bf16 = numpy_dtype(BFLOAT16) if array.dtype == BFLOAT16 else None
    synchronize(stream)
    from numba import cuda

    if bf16 is not None:
        return cuda.as_cuda_array(replace(array, dtype="uint16"), sync=False).copy_to_host().view(bf16)
    return cuda.as_cuda_array(array, sync=False).copy_to_host()


def clear(array: DeviceArray, stream: Any = None) -> None:
    """Set an array without gaps to zeros, on a stream."""
    count = 2
    for n in array.shape:
        count *= n
    if count:
        driver_call("cuMemsetD8Async", array.ptr, 0, count, stream_handle(stream))


def copy_lines(
    source: DeviceArray, target: DeviceArray, shape: Sequence[int], order: Sequence[int], stream: Any = None
) -> None:
    """Copy 16-bit values within GPU memory, on a stream, between arrays whose lines have different steps.

    Parameters
    ----------
    source, target : arrays of at least `shape`, their values next to one another along dimension `order[-1]`.
    shape : elements to copy along each dimension, from the first one.
    order : the dimensions, outermost first.
    """
    from cuda.bindings import driver

    require_gpu()
    run = shape[order[-1]]
    lines = shape[order[0]] if len(order) == 2 else 1
    if not run * lines:
        return
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType = copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    copy.srcDevice, copy.dstDevice = source.ptr, target.ptr
    copy.srcPitch, copy.dstPitch = (2 * max(a.strides[order[0]] if lines > 1 else run, run) for a in (source, target))
    copy.WidthInBytes, copy.Height = 2 * run, lines
    driver_call("cuMemcpy2DAsync", copy, stream_handle(stream))


@lru_cache(maxsize=1024)
def _strides(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """Of an array without gaps, in elements."""
    lengths = tuple(n or 1 for n in shape)
    return compact(lengths) if order == "C" else compact(lengths[::-1])[::-1]


def empty_like(array: Any, shape: tuple[int, ...], dtype: str = "float16", order: str = "C") -> Any:
    """A new array on the GPU made by the library that made `array`: torch, cupy, else numba.

    numba has no bf16, and cupy none of its own: beside their arrays such a result is a `DeviceArray`.

    Parameters
    ----------
    dtype : numpy's name of the element type, or "bfloat16"; for torch that of `array`.
    order : "C" (row-major) or "F" (column-major).

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    return maker_like(type(array), shape, dtype, order)(array)


def maker_like(kind: type, shape: tuple[int, ...], dtype: str = "float16", order: str = "C") -> Callable[[Any], Any]:
    """What `empty_like` does for arrays of a type, with everything decided but the array; it takes that."""
    library = kind.__module__.split(".")[0]
    if library == "torch":
        strides = _strides(shape, order)
        return lambda array: array.new_empty_strided(shape, strides)
    if dtype == BFLOAT16:
        return lambda array: allocate(shape, order, dtype)
    if library == "cupy":
        import cupy

        return lambda array: cupy.empty(shape, dtype=dtype, order=order)
    from numba import cuda

    return lambda array: cuda.device_array(shape, dtype=dtype, order=order)
