"""Running a cubin on the GPU, beside whatever else runs there.

A GPU program lives in a context: memory, loaded code and streams belong to it. Here everything happens in the
context that numba.cuda uses, which is the device's primary one, so PyTorch and CuPy share it too: arrays of
any of them are read where they lie, and kernels of a user's own `@cuda.jit` run on the same streams. A cubin
is loaded once for a device, and launched through `cuda.core.launch`, as numba's own dispatcher does.

Nothing is copied that needn't be. Whatever exports the CUDA array interface or DLPack becomes a
`DeviceArray`, a pointer with a shape, and the kernel's stream waits for the one on which the data is being
written. Only numpy arrays travel, both ways, and only there does the host wait.

With no GPU nothing here raises at import, and `gpu_available()` is False; whatever needs the GPU raises
`NoGpu`, which says what's missing: the package, the driver or the card.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.device_array import DeviceArray, is_device_array, read_dlpack, read_interface
from polyvolta.cuda.device_array import DevicePtr as DevicePtr
from polyvolta.cuda.errors import CudaError, LaunchFailed, NoGpu, NotADeviceArray

if TYPE_CHECKING:
    import numpy as np

_INSTALL = 'pip install "polyvolta[cuda12]" (or cuda13, whose compiler has no Volta)'


# ---- the GPU at hand ---------------------------------------------------------------------------------------


@cache
def _missing() -> tuple[str, str] | None:
    """What keeps kernels from running here, and what helps; None where they run.

    numba-cuda 0.30 imports with numpy 2.5 and breaks at the first `@cuda.jit` (np.row_stack); kernels of ours
    run with either.
    """
    try:
        import cuda.core  # noqa: F401
        import numba_cuda  # noqa: F401
        from numba import config, cuda
    except ImportError as wrong:
        return f"numba-cuda doesn't import: {wrong}", _INSTALL
    except Exception as wrong:  # a numba-cuda and a numpy that don't fit raise what they will
        hint = 'pip install "numpy<2.5"' if "row_stack" in str(wrong) else _INSTALL
        return f"numba-cuda breaks when imported: {wrong}", hint
    if config.ENABLE_CUDASIM:
        return "numba simulates CUDA in this process", "unset NUMBA_ENABLE_CUDASIM"
    try:
        if cuda.is_available() and len(cuda.gpus):
            return None
        reason = str(cuda.cuda_error() or "the driver sees no GPU")
    except Exception as wrong:  # a driver that is there and doesn't work
        reason = str(wrong)
    what = f"there is no usable NVIDIA GPU: {' '.join(reason.split())}"
    return what, "nvidia-smi shows what the driver sees"


def gpu_available() -> bool:
    """Whether kernels can run here: GPU, driver and numba-cuda. Never raises; found out once a process.

    >>> gpu_available() in (True, False)
    True
    """
    return _missing() is None


def require_gpu() -> None:
    """Raise `NoGpu`, naming what's missing, unless kernels can run here."""
    if (missing := _missing()) is not None:
        raise NoGpu(missing[0], hint=f"{missing[1]}; kernel.interpret(...) runs a kernel without a GPU")


def device_arch() -> str:
    """The current device's architecture, such as "sm_90".

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    from numba import cuda

    major, minor = cuda.get_current_device().compute_capability
    return f"sm_{major}{minor}"


def current_device() -> int:
    """Number of the device on which kernels of this thread run.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    return _calls()[1]().device.id


def _driver(function: str, *args: Any) -> Any:
    """Call a function of the CUDA driver; its result, or `LaunchFailed` with the driver's words."""
    from cuda.bindings import driver

    status, *result = getattr(driver, function)(*args)
    if status != driver.CUresult.CUDA_SUCCESS:
        text = driver.cuGetErrorString(status)[1]
        raise LaunchFailed(f"{function}: {text.decode() if text else status}")
    return result[0] if result else None


def stream_handle(stream: Any) -> int:
    """The driver's number of a stream; 0, the legacy default stream, for None."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):  # numba, cuda.core, newer torch and cupy
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr"):  # torch, cupy
        stream = getattr(stream, attribute, stream)
    if isinstance(stream, int):
        return stream
    raise LaunchFailed(
        f"a {type(stream).__name__} is no stream",
        hint="numba's, torch's and cupy's are, and the driver's handle",
    )


@lru_cache(maxsize=64)
def _stream(handle: int, device: int) -> Any:
    """A stream's number as `cuda.core.launch` takes it; `device` keeps several devices' numbers apart."""
    from cuda.core import LEGACY_DEFAULT_STREAM, Stream

    return Stream.from_handle(handle) if handle else LEGACY_DEFAULT_STREAM


@cache
def _calls() -> tuple[Any, Any]:
    """`cuda.core.launch` and numba's `current_context`; an import statement a launch costs 1 us."""
    from cuda.core import launch
    from numba import cuda

    return launch, cuda.current_context


def synchronize(stream: Any = None) -> None:
    """Wait until all work of a stream is done.

    Raises
    ------
    NoGpu : there is none.
    LaunchFailed : something that ran there failed. The context can't be used after that.
    """
    require_gpu()
    from numba import cuda

    cuda.current_context()
    try:
        _driver("cuStreamSynchronize", stream_handle(stream))
    except LaunchFailed as wrong:
        hint = 'kernel.interpret(..., observe=("bounds", "races")) shows the access; start a new process'
        raise LaunchFailed(f"a kernel failed on the GPU ({wrong.message})", hint=hint) from wrong


# ---- kernels -----------------------------------------------------------------------------------------------

_DEFAULT_SHARED = 48 * 1024  # bytes of shared memory a block gets without asking


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel in the memory of one device, ready to launch; `load` makes it.

    Attributes
    ----------
    entry : its name in the cubin.
    device : number of the device.
    dynamic_shared_bytes : the most dynamic shared memory a launch may ask for, in bytes.
    """

    entry: str
    device: int
    dynamic_shared_bytes: int
    _kernel: Any = field(repr=False)

    @property
    def handle(self) -> Any:
        """The driver's number of the kernel."""
        return self._kernel.handle

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        args: Sequence[Any],
        stream: Any = None,
    ) -> None:
        """Put one run of the kernel on a stream; returns before it ends.

        Parameters
        ----------
        grid, block : blocks in the grid, threads in a block, (x, y, z).
        shared_bytes : dynamic shared memory a block.
        args : an int for an `int` parameter, a float for a `float` one; for a pointer what has a `.ptr`
            (`DeviceArray`, `DevicePtr`).
        stream : None (numba's default stream), a stream of numba, torch or cupy, or the driver's handle.

        Raises
        ------
        LaunchFailed : an argument doesn't fit, or the driver refuses; shows grid, block and arguments.

        Notes
        -----
        Cost: about 8 us, of which `cuda.core.launch` takes 5.
        """
        launch, current_context = _calls()
        if shared_bytes > max(self.dynamic_shared_bytes, _DEFAULT_SHARED):
            most = self.dynamic_shared_bytes
            raise LaunchFailed(
                f"{self.entry} asks for {shared_bytes} bytes of dynamic shared memory, loaded for {most}",
                hint="load(image, entry, dynamic_shared_bytes)",
            )
        on = _stream(stream_handle(stream), self.device)
        values = [_argument(self.entry, i, a) for i, a in enumerate(args)]
        current_context(self.device)
        try:
            launch(on, _config(tuple(grid), tuple(block), shared_bytes), self._kernel, *values)
        except Exception as wrong:
            where = f"grid {tuple(grid)}, block {tuple(block)}, {shared_bytes} bytes of dynamic shared memory"
            where += f"\narguments {list(args)}"
            hint = "a block has at most 1024 threads, a grid's y and z at most 65535"
            raise LaunchFailed(f"{self.entry} didn't launch: {wrong}", where=where, hint=hint) from wrong


@lru_cache(maxsize=1024)
def _config(grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int) -> Any:
    from cuda.core import LaunchConfig

    return LaunchConfig(grid=grid, block=block, shmem_size=shared_bytes)


def _argument(entry: str, position: int, value: Any) -> Any:
    """A launch argument as `cuda.core` takes it: `int` and `float` parameters typed, pointers as Python ints."""
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(2**31) <= value < 2**31:
            raise LaunchFailed(f"argument {position} of {entry}, {value}, doesn't fit an int of 32 bits")
        return ctypes.c_int(value)
    if isinstance(ptr := getattr(value, "ptr", None), int):
        return ptr
    raise LaunchFailed(
        f"argument {position} of {entry} is neither a number nor an address, but a {type(value).__name__}",
        hint="as_device_view(array) makes an address of an array",
    )


_loaded: dict[tuple[bytes, str, int, int], LoadedKernel] = {}  # by hash of the cubin, entry, device, bytes


def load(image: bytes, entry: str, dynamic_shared_bytes: int = 0) -> LoadedKernel:
    """Load a kernel onto the current device, once: the same cubin again costs a hash.

    Parameters
    ----------
    image : a cubin for the device's architecture (`device_arch`).
    entry : the kernel's name in it.
    dynamic_shared_bytes : the most that launches will ask for; more than 48 KiB are opted into here.

    Raises
    ------
    NoGpu : there is none.
    LaunchFailed : the cubin is for another architecture or has no such kernel, or shared memory is short.
    """
    require_gpu()
    from cuda.core import ObjectCode
    from numba import cuda

    device = cuda.current_context().device.id
    key = (hashlib.sha256(image).digest(), entry, device, dynamic_shared_bytes)
    if key in _loaded:
        return _loaded[key]
    try:
        kernel = ObjectCode.from_cubin(image, name=entry).get_kernel(entry)
        handle = kernel.handle
    except Exception as wrong:
        raise LaunchFailed(
            f"the driver doesn't load {entry}: {wrong}", hint=f"this device takes cubins for {device_arch()}"
        ) from wrong
    if dynamic_shared_bytes > 0:
        _opt_in(handle, entry, device, dynamic_shared_bytes)
    _loaded[key] = LoadedKernel(entry, device, dynamic_shared_bytes, kernel)
    return _loaded[key]


def _opt_in(handle: Any, entry: str, device: int, dynamic_shared_bytes: int) -> None:
    """Allow a kernel so much dynamic shared memory, within what the device has for one block."""
    from cuda.bindings import driver

    optin = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    static_size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
    dynamic_size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    most = _driver("cuDeviceGetAttribute", optin, device)
    static = _driver("cuKernelGetAttribute", static_size, handle, device)
    if static + dynamic_shared_bytes > most:
        raise LaunchFailed(
            f"{entry} needs {static} + {dynamic_shared_bytes} bytes of shared memory a block, of {most}",
            hint="a smaller block_tile, or a single buffer",
        )
    _driver("cuKernelSetAttribute", dynamic_size, dynamic_shared_bytes, handle, device)


# ---- arrays ------------------------------------------------------------------------------------------------


def as_device_view(obj: Any, stream: Any = None) -> DeviceArray:
    """An array in GPU memory, of any library, as it lies there; `stream` waits for what still writes it.

    Parameters
    ----------
    obj : `DeviceArray`, or anything with `__cuda_array_interface__` or `__dlpack__`: numba, torch, cupy, jax.
    stream : where it'll be used, as in `LoadedKernel.launch`.

    Raises
    ------
    NotADeviceArray : it's elsewhere, masked, or its library refuses (a torch tensor that requires grad).
    NoGpu : there is none.
    """
    if isinstance(obj, DeviceArray):
        return obj
    if not is_device_array(obj):
        kind = type(obj).__name__
        raise NotADeviceArray(f"a {kind} that isn't in GPU memory", hint="to_device(array) copies it there")
    require_gpu()
    from numba import cuda

    cuda.current_context()
    try:
        if hasattr(obj, "__dlpack__"):
            return read_dlpack(obj, stream_handle(stream))
        return read_interface(obj, stream_handle(stream), _wait)
    except CudaError:
        raise
    except Exception as wrong:
        raise NotADeviceArray(
            f"this {type(obj).__name__} doesn't give its memory away: {wrong}",
            hint="for torch: .detach() it first",
        ) from wrong


def device_of(array: DeviceArray) -> int:
    """Number of the device in whose memory an array lies; for an empty one, of the current device."""
    require_gpu()
    from cuda.bindings import driver
    from numba import cuda

    current = cuda.current_context().device.id
    what = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return _driver("cuPointerGetAttribute", what, array.ptr) if array.ptr else current


def _wait(ours: int, theirs: int) -> None:
    """Make one stream wait for what another has been given so far."""
    from cuda.bindings import driver

    event = _driver("cuEventCreate", driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    _driver("cuEventRecord", event, theirs)
    _driver("cuStreamWaitEvent", ours, event, 0)
    _driver("cuEventDestroy", event)  # freed once the event has happened


def to_device(array: np.ndarray, stream: Any = None) -> DeviceArray:
    """Copy a numpy array to the current device; C or Fortran order is kept, other layouts become C.

    Returns when `array` may be changed again; the copy is there for whatever follows on `stream`.

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
    device = cuda.to_device(array, stream=cuda.external_stream(handle) if handle else 0)
    return read_interface(device, handle, _wait)


def allocate(shape: Sequence[int], order: str = "C", dtype: str = "float16") -> DeviceArray:
    """GPU memory for an array, its content undefined, through numba's memory manager.

    Parameters
    ----------
    shape : elements along each dimension.
    order : "C" (row-major) or "F" (column-major).
    dtype : numpy's name of the element type.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    import numpy as np
    from numba import cuda

    return read_interface(cuda.device_array(tuple(shape), dtype=np.dtype(dtype), order=order), 0, _wait)


def copy_to_host(array: DeviceArray, stream: Any = None) -> np.ndarray:
    """Wait for `stream`, then copy an array from the GPU; strides are kept.

    Raises
    ------
    NoGpu : there is none.
    LaunchFailed : what ran on the stream failed.
    """
    synchronize(stream)
    from numba import cuda

    return cuda.as_cuda_array(array, sync=False).copy_to_host()


def clear(array: DeviceArray, stream: Any = None) -> None:
    """Set an array without gaps to zeros, on a stream."""
    count = 2
    for n in array.shape:
        count *= n
    if count:
        _driver("cuMemsetD8Async", array.ptr, 0, count, stream_handle(stream))


def copy_lines(
    source: DeviceArray, target: DeviceArray, shape: Sequence[int], order: Sequence[int], stream: Any = None
) -> None:
    """Copy fp16 values within GPU memory, on a stream, between arrays whose lines have different steps.

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
    _driver("cuMemcpy2DAsync", copy, stream_handle(stream))


def empty_like(array: Any, shape: Sequence[int], dtype: str = "float16", order: str = "C") -> Any:
    """A new array on the GPU made by the library that made `array`: torch, cupy, else numba.

    Parameters
    ----------
    order : "C" (row-major) or "F" (column-major).

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    library = type(array).__module__.split(".")[0]
    if library == "torch":
        return array.new_empty(tuple(shape)) if order == "C" else array.new_empty(tuple(shape)[::-1]).T
    if library == "cupy":
        import cupy

        return cupy.empty(tuple(shape), dtype=dtype, order=order)
    from numba import cuda

    return cuda.device_array(tuple(shape), dtype=dtype, order=order)
