"""Running a cubin on the GPU, beside whatever else runs there.

Kernels are loaded and launched in the context that numba.cuda uses, which is the device's primary one, so PyTorch and
CuPy share it too: arrays of any of them are read where they lie, and kernels of a user's own `@cuda.jit` run on the
same streams. A cubin is loaded once for a device; `prepared` launches it.

The modules `gpu` (the GPU at hand) and `device_memory` (arrays) are reached through this one, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polyvolta.cuda.arch import code_runs_on
from polyvolta.cuda.errors import BadImage, LaunchFailed
from polyvolta.cuda.run.cubin import arch_of
from polyvolta.cuda.run.device_array import DevicePtr as DevicePtr
from polyvolta.cuda.run.device_memory import allocate as allocate
from polyvolta.cuda.run.device_memory import as_device_view as as_device_view
from polyvolta.cuda.run.device_memory import clear as clear
from polyvolta.cuda.run.device_memory import copy_lines as copy_lines
from polyvolta.cuda.run.device_memory import copy_to_host as copy_to_host
from polyvolta.cuda.run.device_memory import current_stream as current_stream
from polyvolta.cuda.run.device_memory import device_of as device_of
from polyvolta.cuda.run.device_memory import empty_like as empty_like
from polyvolta.cuda.run.device_memory import maker_like as maker_like
from polyvolta.cuda.run.device_memory import to_device as to_device
from polyvolta.cuda.run.device_memory import wait as wait
from polyvolta.cuda.run.gpu import check_block as check_block
from polyvolta.cuda.run.gpu import check_registers as check_registers
from polyvolta.cuda.run.gpu import clusters_at_once as clusters_at_once
from polyvolta.cuda.run.gpu import current_device as current_device
from polyvolta.cuda.run.gpu import device_arch, driver_call, require_gpu
from polyvolta.cuda.run.gpu import device_limits as device_limits
from polyvolta.cuda.run.gpu import gpu_available as gpu_available
from polyvolta.cuda.run.gpu import multiprocessors as multiprocessors
from polyvolta.cuda.run.gpu import stream_handle as stream_handle
from polyvolta.cuda.run.gpu import synchronize as synchronize
from polyvolta.cuda.run.gpu import thread_device as thread_device
from polyvolta.cuda.run.prepared import prepare

_DEFAULT_SHARED = 48 * 1024  # bytes of shared memory a block gets without asking


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel in the memory of one device, ready to launch; `load` makes it.

    Attributes
    ----------
    entry : its name in the cubin.
    device : number of the device.
    dynamic_shared_bytes : the most dynamic shared memory a launch may ask for, in bytes.
    dependent : whether a launch may start while the kernel before it on the stream runs, for whose end it waits itself.
    """

    entry: str
    device: int
    dynamic_shared_bytes: int
    _kernel: Any = field(repr=False)
    dependent: bool = False

    @property
    def handle(self) -> int:
        """The driver's number of the kernel."""
        return int(self._kernel.handle)

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
            (`DeviceArray`, `DevicePtr`); a `TensorMap` for one by value.
        stream : None (numba's default stream), a stream of numba, torch or cupy, or the driver's handle.

        Raises
        ------
        LaunchFailed : an argument does not fit, or the driver refuses; shows grid and block.
        """
        from numba import cuda

        if shared_bytes > max(self.dynamic_shared_bytes, _DEFAULT_SHARED):
            most = self.dynamic_shared_bytes
            raise LaunchFailed(
                f"{self.entry} asks for {shared_bytes} bytes of dynamic shared memory, loaded for {most}",
                hint="load(image, entry, dynamic_shared_bytes)",
            )
        cuda.current_context(self.device)
        prepare(self, grid, block, shared_bytes, args, stream).launch()


_loaded: dict[tuple[bytes, str, int, int, bool], LoadedKernel] = {}  # by hash, entry, device, bytes, dependence


def load(image: bytes, entry: str, dynamic_shared_bytes: int = 0, dependent: bool = False) -> LoadedKernel:
    """Load a kernel onto the current device, once: the same cubin again costs a hash.

    Parameters
    ----------
    image : a cubin for the device's architecture (`device_arch`).
    entry : the kernel's name in it.
    dynamic_shared_bytes : the most that launches will ask for; more than 48 KiB are opted into here.
    dependent : whether launches may start while the kernel before them on the stream runs: the kernel waits for its end
        itself.

    Raises
    ------
    NoGpu : there is none.
    LaunchFailed : the cubin is for another architecture or has no such kernel, or shared memory is short.
    """
    require_gpu()
    from cuda.core import ObjectCode
    from numba import cuda

    here = device_arch()
    try:
        made_for = arch_of(image)
    except BadImage as wrong:
        hint = f"this device takes cubins for {here}"
        raise LaunchFailed(f"{entry} can't be loaded: {wrong.message}", hint=hint) from wrong
    if not code_runs_on(made_for, here):
        raise LaunchFailed(
            f"{entry} is machine code for {made_for}, this GPU is {here}",
            hint="compile_cubin(source, device_arch(), name=...), or kernel.compiled(device_arch())",
        )
    device = cuda.current_context().device.id
    key = (hashlib.sha256(image).digest(), entry, device, dynamic_shared_bytes, dependent)
    if key in _loaded:
        return _loaded[key]
    try:
        kernel = ObjectCode.from_cubin(image, name=entry).get_kernel(entry)
        handle = kernel.handle
    except Exception as wrong:
        raise LaunchFailed(
            f"the driver doesn't load {entry}: {wrong}", hint=f"this device takes cubins for {here}"
        ) from wrong
    if dynamic_shared_bytes > 0:
        allow_shared(handle, entry, device, dynamic_shared_bytes)
    _loaded[key] = LoadedKernel(entry, device, dynamic_shared_bytes, kernel, dependent)
    return _loaded[key]


def allow_shared(handle: Any, entry: str, device: int, dynamic_shared_bytes: int) -> None:
    """Let launches of a kernel ask for so much dynamic shared memory, which without asking is 48 KiB at most.

    Parameters
    ----------
    handle : the driver's, of a kernel (`CUkernel`).
    entry : what errors call it.
    device : number of the device.
    dynamic_shared_bytes : of a block; with the kernel's static shared memory within what the device has for one.

    Raises
    ------
    LaunchFailed : the device has less.
    """
    from cuda.bindings import driver

    optin = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    static_size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
    dynamic_size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    most = driver_call("cuDeviceGetAttribute", optin, device)
    static = driver_call("cuKernelGetAttribute", static_size, handle, device)
    if static + dynamic_shared_bytes > most:
        raise LaunchFailed(
            f"{entry} needs {static} + {dynamic_shared_bytes} bytes of shared memory a block, of {most}",
            hint="a smaller block_tile, or a single buffer",
        )
    driver_call("cuKernelSetAttribute", dynamic_size, dynamic_shared_bytes, handle, device)
