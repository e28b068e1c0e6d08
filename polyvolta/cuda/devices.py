"""The GPUs that this process sees: what they are called, and what tells two of one kind apart.

Asked of the driver itself, as `arch` does: it takes neither numba nor a context, so that a look at what is there costs
the driver's start at most, and leaves no memory of a GPU taken.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from polyvolta.cuda import arch

_NAME_BYTES, _UUID_BYTES = 256, 16


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU.

    Attributes
    ----------
    number : the driver's, in this process.
    name : its model's, such as "NVIDIA H200".
    arch : its architecture, such as "sm_90".
    uuid : its own, which it keeps in every process, such as "GPU-8f6b...".
    """

    number: int
    name: str
    arch: str
    uuid: str


def gpus() -> tuple[Gpu, ...]:
    """All that this process sees, by number; none without a driver. Cost: the driver's start, once a process."""
    driver, count = arch._driver(), ctypes.c_int()
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_described(driver, n) for n in range(count.value))


def gpu_here() -> Gpu | None:
    """The GPU whose context is the calling thread's, else the first; None where there is none."""
    driver, device, count = arch._driver(), ctypes.c_int(), ctypes.c_int()
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    if driver.cuCtxGetDevice(ctypes.byref(device)):  # there is no context
        return _described(driver, 0)
    numbers = [_device(driver, n).value for n in range(count.value)]
    return _described(driver, numbers.index(device.value))


def _device(driver: Any, number: int) -> ctypes.c_int:
    device = ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(device), number)
    return device


def _described(driver: Any, number: int) -> Gpu:
    device, name = _device(driver, number), ctypes.create_string_buffer(_NAME_BYTES)
    driver.cuDeviceGetName(name, _NAME_BYTES, device)
    uuid, version = ctypes.create_string_buffer(_UUID_BYTES), []
    driver.cuDeviceGetUuid(uuid, device)
    for attribute in (arch._MAJOR, arch._MINOR):
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        version.append(value.value)
    digits = uuid.raw.hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return Gpu(number, name.value.decode(errors="replace"), "sm_{}{}".format(*version), f"GPU-{'-'.join(parts)}")
