"""A kernel as a device function, for a user's own `@cuda.jit` kernel.

The body is the kernel's text, word for word; what differs is the head, `__device__` for `__global__`, and how shared
memory comes about: as an array of the function's own up to 48 KiB, beyond that as the dynamic shared memory of the
launch, which `numba_helpers.with_shared` lets a user's kernel have. numba compiles the text with the kernel that calls
it, for the GPU at hand, and links both. So the results are those of the kernel, bit for bit. numba has no bf16:
pointers to it are pointers to uint16.

All threads of a block call it, in a grid and a block of `kernel.launch_config(...)`: it computes the tile of the
result that belongs to its block, at the place that `numba_helpers.place_of_block` says. What the caller wrote to global
memory before is visible to it only behind a barrier, and only from the same block. It has no barrier at its end: a
thread returns when its own values are written, while others may still write theirs, and read shared memory. So a
barrier of the block, `cuda.syncthreads()`, stands before anything that reads the tile, before the next call of such a
function, and before shared memory is used again.
"""

from __future__ import annotations

import re
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, KernelIR
from polyvolta.cuda.numba_helpers import require_numba
from polyvolta.cuda.text.head.kernel_head import opening
from polyvolta.cuda.text.helpers.kinds import in_kind

STATIC_BYTES = 48 * 1024  # of shared memory that a function may have of its own


class NotADeviceFunction(CudaError, ValueError):
    """A kernel that can't be called as asked for."""

    id = "PV524"


def device_text(ir: KernelIR, source: str, shared: str = "auto") -> str:
    """The text with the kernel as a device function that returns 0, without declarations of what it doesn't use.

    Parameters
    ----------
    ir, source : a kernel and its text.
    shared : where its shared memory is: "static", "dynamic", or "auto": static if it fits.

    Raises
    ------
    NotADeviceFunction : more static shared memory than there is; tensor maps among the arguments.
    """
    if ir.maps:
        raise NotADeviceFunction(
            f"{ir.name} is given tensor maps, which are arguments of launches alone",
            hint="a macro_mma whose operands threads copy, such as 'm16n32k16'",
        )
    if shared not in ("auto", "static", "dynamic"):
        raise NotADeviceFunction(f"shared is {shared!r}", hint='"static", "dynamic" or "auto"')
    static = shared == "static" or (shared == "auto" and ir.shared_bytes <= STATIC_BYTES)
    if static and ir.shared_bytes > STATIC_BYTES:
        raise NotADeviceFunction(
            f"{ir.name} takes {ir.shared_bytes} bytes of shared memory, of its own it can have {STATIC_BYTES}",
            hint='shared="dynamic", and a launch with shared_bytes of launch_config, of a kernel by with_shared',
        )
    text = _replaced(source, opening(ir), f'extern "C" __device__ int {ir.name}(')
    if static:
        chunks = ir.shared_bytes // CHUNK_BYTES
        vector = in_kind("half8", ir.kind)
        static_memory = f"__shared__ {vector} shared_memory[{chunks}];"
        text = _replaced(text, f"extern __shared__ {vector} shared_memory[];", static_memory)
    text = text.rstrip().removesuffix("}") + "  return 0;\n}\n"
    for name, _ in reversed(ir.derived):
        text = _used(text, name)
    return text


def _used(text: str, name: str) -> str:
    """The text without what gives a number of a thread its value, if nothing else has it: numba passes warnings on.

    >>> _used("  const int warp = id / 32;  // a warp\\n  f(lane);  // warp\\n", "warp")
    '  f(lane);  // warp\\n'
    >>> _used("  const int warp = id / 32;\\n  f(warp);\\n", "warp")
    '  const int warp = id / 32;\\n  f(warp);\\n'
    """
    given = re.compile(rf"^  (?:(?:const )?int )?{name} = [^;\n]*;.*\n", re.M)
    rest = re.sub("//.*", "", given.sub("", text))
    return text if re.search(rf"\b{name}\b", rest) else given.sub("", text)


def _replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise NotADeviceFunction(f"the kernel's text has {text.count(old)} times, not once: {old}")
    return text.replace(old, new)


def declare(ir: KernelIR, source: str, shared: str = "auto") -> Any:
    """A kernel as a function that `@cuda.jit` kernels may call; see `Kernel.device_function`.

    Raises
    ------
    NotADeviceFunction, NumbaMissing
    """
    text = device_text(ir, source, shared)
    require_numba()
    from numba import cuda
    from numba.cuda import types

    arguments = [types.int32] * len(ir.sizes) + [types.float32] * len(ir.scalars)
    for t in ir.tensors:
        value = types.float16 if t.kind == "half" else types.uint16
        arguments += [types.CPointer(value)] + [types.int32] * (t.ld is not None)
    code = cuda.CUSource(text, name=f"{ir.name}.cu")
    return cuda.declare_device(ir.name, types.int32(*arguments), link=[code], abi="c")
