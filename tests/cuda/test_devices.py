"""GPUs by name and number, from a driver that is none."""

import ctypes

import pytest

from polyvolta.cuda import arch, devices
from polyvolta.cuda.devices import Gpu


class Driver:
    """Two GPUs; the context, if there is one, is of the second. The driver's numbers are not those of its list."""

    def __init__(self, context: bool, count: int = 2) -> None:
        self.context, self.count = context, count

    def cuDeviceGetCount(self, at):
        at._obj.value = self.count
        return 0

    def cuDeviceGet(self, at, number):
        at._obj.value = 10 + number
        return 0

    def cuCtxGetDevice(self, at):
        at._obj.value = 11
        return 0 if self.context else 201

    def cuDeviceGetName(self, at, room, device):
        ctypes.memmove(at, f"GPU {device.value}".encode(), 6)
        return 0

    def cuDeviceGetUuid(self, at, device):
        ctypes.memmove(at, bytes(range(16)), 16)
        return 0

    def cuDeviceGetAttribute(self, at, attribute, device):
        at._obj.value = {75: 9, 76: 0}[attribute]
        return 0


UUID = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"


@pytest.mark.parametrize("context, here", [(False, 0), (True, 1)])
def test_gpus_are_listed_and_the_one_at_hand_is_the_contexts(monkeypatch, context, here):
    monkeypatch.setattr(arch, "_driver", lambda: Driver(context))
    both = devices.gpus()
    assert both == tuple(Gpu(n, f"GPU {10 + n}", "sm_90", UUID) for n in (0, 1))
    assert devices.gpu_here() == both[here]


@pytest.mark.parametrize("driver", [None, Driver(False, 0)])
def test_there_may_be_none(monkeypatch, driver):
    monkeypatch.setattr(arch, "_driver", lambda: driver)
    assert devices.gpus() == ()
    assert devices.gpu_here() is None
