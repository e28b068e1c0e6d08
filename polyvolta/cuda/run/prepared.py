"""Launches with everything done beforehand: what is left is one call of the driver.

The arguments lie in memory as the driver wants them, an array of pointers to values, and the kernel's, the stream's
and the grid's numbers are known; so a launch is `cuLaunchKernel` and nothing else, 3 us. That is what a loop around a
small kernel wants, and a CUDA graph that is being captured: nothing is allocated, nothing waits, no array is looked at.
A kernel that may start while the one before it runs is launched by `cuLaunchKernelEx`, which is told so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from polyvolta.cuda.errors import LaunchFailed
from polyvolta.cuda.run.gpu import stream_handle
from polyvolta.sets.errors import kind_of


class Launchable(Protocol):
    """A kernel in the memory of a device: its name, and the driver's number of it (`launch.LoadedKernel`)."""

    @property
    def entry(self) -> str: ...

    @property
    def handle(self) -> int: ...

    @property
    def dependent(self) -> bool: ...


class Prepared:
    """A launch that needs nothing more; `prepare` makes it. Call it: it puts one run on its stream and returns.

    It runs on the device that is current for the calling thread; that has to be the arrays'.

    Attributes
    ----------
    grid, block : blocks in the grid, threads in a block, (x, y, z).
    shared_bytes : dynamic shared memory of a block.
    stream : the driver's handle; 0 is the legacy default stream.
    values : the arguments in memory, in order; a launch takes what they are then. Whoever sets one keeps arrays alive.
    pointers : the addresses of `values`, which the driver gets. One may be set to that of another value of its kind,
        which has to live until the launch is made.
    """

    __slots__ = ("_call", "_entry", "_keep", "_launch", "block", "grid", "pointers", "shared_bytes", "stream", "values")

    def __init__(
        self, loaded: Launchable, grid: tuple, block: tuple, shared_bytes: int, values: list, stream: int,
        keep: tuple,
    ) -> None:  # fmt: skip
        self.grid, self.block, self.shared_bytes, self.stream = grid, block, shared_bytes, stream
        self._entry = loaded.entry
        self.pointers = pointers = _pointers(len(values))(*(ctypes.addressof(v) for v in values))
        self.values, self._keep = values, (keep, loaded)
        driver = _driver()
        function = driver.CUfunction(int(loaded.handle))  # the driver takes a kernel's number for a function's
        if loaded.dependent:
            self._launch = driver.cuLaunchKernelEx
            config = _early(grid, block, shared_bytes, driver.CUstream(stream))
            self._call = (config, function, ctypes.addressof(pointers), 0)
            return
        self._launch = driver.cuLaunchKernel
        self._call = (
            function, *grid, *block, shared_bytes, driver.CUstream(stream), ctypes.addressof(pointers), 0,
        )  # fmt: skip

    def __call__(self) -> None:
        """Put one run of the kernel on the stream.

        Raises
        ------
        LaunchFailed : the driver refuses.
        """
        (status,) = self._launch(*self._call)
        if int(status):
            self._failed(status)

    launch = __call__

    def _failed(self, status: Any) -> None:
        driver = _driver()
        if status == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT:  # the first call of a thread
            from numba import cuda

            cuda.current_context()
            (status,) = self._launch(*self._call)
            if not int(status):
                return
        text = driver.cuGetErrorString(status)[1]
        raise LaunchFailed(
            f"{self._entry} didn't launch: {text.decode() if text else status}",
            where=f"grid {self.grid}, block {self.block}, {self.shared_bytes} bytes of dynamic shared memory",
            hint="a block has at most 1024 threads, a grid's y and z at most 65535",
        )


def _early(grid: tuple, block: tuple, shared_bytes: int, stream: Any) -> Any:
    """How a kernel is launched that may start while the one before it on the stream runs."""
    driver = _driver()
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes, config.hStream = shared_bytes, stream
    config.attrs, config.numAttrs = [attribute], 1
    return config


class Nothing:
    """The launch of a kernel whose results have no elements: of no blocks, and the driver is not called."""

    grid = block = (0, 0, 0)
    shared_bytes = stream = 0

    def __call__(self) -> None:
        """Nothing is to be done."""

    launch = __call__


@cache
def _pointers(count: int) -> type[ctypes.Array]:
    """An array of addresses; ctypes forgets such a type with its last array, and takes 100 us to make it again."""
    return ctypes.c_void_p * count


@cache
def _driver() -> Any:
    from cuda.bindings import driver

    return driver


def prepare(
    loaded: Launchable,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int,
    args: Sequence[Any],
    stream: Any,
    keep: tuple = (),
) -> Prepared:
    """Pack a launch; see `LoadedKernel.launch`. `keep` lives as long as the result."""
    values = [packed(loaded.entry, n, a) for n, a in enumerate(args)]
    return Prepared(loaded, tuple(grid), tuple(block), shared_bytes, values, stream_handle(stream), keep)


def packed(entry: str, position: int, value: Any) -> Any:
    """An argument in memory: an int of 32 bits, a float, an address, or a tensor map, 64-byte aligned and its own.

    Raises
    ------
    LaunchFailed : it is none of these, or doesn't fit.

    >>> packed("kern0", 0, 7), packed("kern0", 1, 0.5)
    (c_int(7), c_float(0.5))
    """
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(2**31) <= value < 2**31:
            raise LaunchFailed(f"argument {position} of {entry}, {value}, doesn't fit an int of 32 bits")
        return ctypes.c_int(value)
    if isinstance(ptr := getattr(value, "ptr", None), int):
        return ctypes.c_void_p(ptr)
    from polyvolta.cuda.run.tensor_maps import TensorMap  # which costs numpy, of kernels with maps alone

    if isinstance(value, TensorMap):
        return value.copy()
    raise LaunchFailed(
        f"argument {position} of {entry} is neither a number nor an address, but {kind_of(value)}",
        hint="as_device_view(array) makes an address of an array",
    )
