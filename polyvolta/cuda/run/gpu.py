"""The GPU at hand: whether there is one, what it is, and calls of its driver.

A GPU program lives in a context: memory, loaded code and streams belong to it. Here everything happens in the context
that numba.cuda uses, which is the device's primary one. With no GPU nothing here raises at import, and
`gpu_available()` is False; whatever needs the GPU raises `NoGpu`, which says what's missing: the package, the driver or
the card.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from polyvolta.cuda.arch import newest_for, parsed, runs_on
from polyvolta.cuda.errors import LaunchFailed, NoGpu, WrongGpu
from polyvolta.sets.errors import kind_of

_INSTALL = 'pip install "polyvolta[cuda12]" (or cuda13, whose compiler has no Volta)'


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


def no_gpu(instead: str) -> NoGpu:
    """The error that nothing can be timed without a GPU: what is missing, how to get it, what works without."""
    what, remedy = _missing() or ("the driver shows no GPU", "nvidia-smi shows what the driver sees")
    if _INSTALL not in remedy:
        remedy += f", and {_INSTALL} brings what kernels need"
    return NoGpu(f"nothing can be timed: {what}", hint=f"{remedy}; {instead}")


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


@dataclass(frozen=True, slots=True)
class Limits:
    """What a GPU has for a block.

    Attributes
    ----------
    arch : its architecture, such as "sm_86".
    threads : most threads.
    shared_bytes : most shared memory, in bytes, static and dynamic together.
    registers : 32-bit registers of its threads together.
    """

    arch: str
    threads: int
    shared_bytes: int
    registers: int


def device_limits(device: int) -> Limits:
    """What a device has for a block.

    Raises
    ------
    NoGpu : there is none.
    """
    return Limits(device_arch(), *(_attribute(name, device) for name in _LIMITS))


_LIMITS = "MAX_THREADS_PER_BLOCK", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", "MAX_REGISTERS_PER_BLOCK"


def multiprocessors(device: int) -> int:
    """How many a device has.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    return _attribute("MULTIPROCESSOR_COUNT", device)


@cache
def clusters_at_once(
    kernel: int, device: int, cluster: tuple[int, int, int], threads: int, shared_bytes: int
) -> int | None:
    """How many clusters of a kernel's blocks a device has room for at a time; None where the driver doesn't say.

    The blocks of a cluster are on multiprocessors of one of the GPU's groups of them, and some groups have fewer than
    others: so there may be room for fewer clusters than for their blocks.

    Parameters
    ----------
    kernel : the driver's number of it; of a kernel that says itself which blocks form clusters.
    device : number of the device, whose context is the calling thread's.
    cluster : blocks of a cluster along x, y and z.
    threads, shared_bytes : of a block.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    from cuda.bindings import driver

    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = cluster
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared_bytes
    try:
        return int(driver_call("cuOccupancyMaxActiveClusters", driver.CUfunction(kernel), config))
    except LaunchFailed:
        return None


def figure(name: str, device: int) -> int:
    """What the driver says of a device, such as "L2_CACHE_SIZE" in bytes, or "CLOCK_RATE" in kHz.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    return _attribute(name, device)


@cache
def _attribute(name: str, device: int) -> int:
    from cuda.bindings import driver

    attribute = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(driver_call("cuDeviceGetAttribute", attribute, device))


def check_block(name: str, target: str, limits: Limits, threads: int, shared_bytes: int) -> None:
    """Refuse a kernel that a GPU can't run, before it is compiled for it.

    Parameters
    ----------
    name, target : of the kernel, and what its text is for.
    threads, shared_bytes : of a block.

    Raises
    ------
    WrongGpu : says what the kernel needs and what the GPU has.

    >>> check_block("kern0", "sm_80", Limits("sm_86", 1024, 101376, 65536), 256, 147456)
    Traceback (most recent call last):
        ...
    polyvolta.cuda.errors.WrongGpu: [PV568] kern0 needs 147456 bytes of shared memory a block, this GPU has 101376
      kern0 is made for sm_80, this GPU is sm_86
    hint: a smaller block_tile, or fewer buffers
    """
    made = f"{name} is made for {target}, this GPU is {limits.arch}"
    if not runs_on(target, limits.arch):
        of_one = parsed(target)[1] and parsed(target)[0] <= parsed(limits.arch)[0]
        why = f"{target}'s instructions are of that GPU alone" if of_one else "it is older"
        from polyvolta.cuda.target.registry import targets

        there = newest_for(limits.arch, targets)
        auto = f'target="auto" makes a kernel for the GPU at hand{f", of {there}" if there else ""}'
        raise WrongGpu(f"{made}: {why}", hint=f"{auto}; on any machine kernel.interpret(...) runs this one")
    for what, needed, most, hint in (
        ("threads", threads, limits.threads, "a larger warp_tile, or a smaller block_tile"),
        ("bytes of shared memory", shared_bytes, limits.shared_bytes, "a smaller block_tile, or fewer buffers"),
    ):
        if needed > most:
            raise WrongGpu(f"{name} needs {needed} {what} a block, this GPU has {most}", where=made, hint=hint)


def check_registers(name: str, limits: Limits, threads: int, registers: int) -> None:
    """Refuse machine code whose blocks a GPU has too few registers for.

    Raises
    ------
    WrongGpu : says how many a block needs and how many there are.
    """
    needed = threads * -(-registers // 8) * 8  # they are given out by eights
    if needed > limits.registers:
        raise WrongGpu(
            f"{name} needs {needed} registers a block, this GPU has {limits.registers}",
            where=f"{threads} threads of {registers} registers, on {limits.arch}",
            hint="a larger warp_tile, or a smaller block_tile",
        )


def current_device() -> int:
    """Number of the device on which kernels of this thread run.

    Raises
    ------
    NoGpu : there is none.
    """
    require_gpu()
    from numba import cuda

    return cuda.current_context().device.id


@cache
def several_gpus() -> bool:
    """Whether there is more than one, so that an array may lie on another one than the current."""
    from numba import cuda

    return len(cuda.gpus) > 1


def thread_device() -> int | None:
    """Number of the device whose context is the calling thread's; None where it has none yet. Costs half a us."""
    if _missing() is not None:
        return None
    if not several_gpus():
        return 0
    from cuda.bindings import driver

    status, device = driver.cuCtxGetDevice()
    return None if int(status) else int(device)


def driver_call(function: str, *args: Any) -> Any:
    """Call a function of the CUDA driver; its result, or `LaunchFailed` with the driver's words."""
    from cuda.bindings import driver

    status, *result = getattr(driver, function)(*args)
    if status != driver.CUresult.CUDA_SUCCESS:
        text = driver.cuGetErrorString(status)[1]
        raise LaunchFailed(f"{function}: {text.decode() if text else status}")
    return result[0] if result else None


def stream_handle(stream: Any) -> int:
    """The driver's number of a stream; 0, the legacy default stream, for None.

    Raises
    ------
    LaunchFailed : it is none.

    >>> stream_handle(None), stream_handle(7)
    (0, 7)
    """
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):  # numba, cuda.core, newer torch and cupy
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr"):  # torch, cupy
        stream = getattr(stream, attribute, stream)
    if isinstance(stream, int) and not isinstance(stream, bool) and 0 <= stream < 2**64:
        return stream
    raise LaunchFailed(
        f"{kind_of(stream)} is no stream" if not isinstance(stream, int) else f"{stream} is no stream",
        hint="numba's, torch's and cupy's are, and the driver's handle",
    )


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
        driver_call("cuStreamSynchronize", stream_handle(stream))
    except LaunchFailed as wrong:
        hint = 'kernel.interpret(..., observe=("bounds", "races")) shows the access; start a new process'
        raise LaunchFailed(f"a kernel failed on the GPU ({wrong.message})", hint=hint) from wrong
