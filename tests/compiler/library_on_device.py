"""A library of arrays that looks like torch: host memory that stands for a GPU's, read by attributes or slowly."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from polyvolta.cuda.run import gpu, launch
from polyvolta.cuda.run.device_array import DeviceArray, read_interface


class Tensor:
    """What polyvolta reads of a torch tensor; `protocols` counts how often an array was read the slow way."""

    protocols = 0

    def __init__(self, array: np.ndarray, device: int = 0, requires_grad: bool = False) -> None:
        self.array, self.requires_grad, self.negated = array, requires_grad, False
        self.device = Device(device)

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype.name)

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def is_neg(self) -> bool:
        return self.negated

    def new_empty_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return Tensor(fresh(shape, strides))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.requires_grad:
            raise RuntimeError("requires grad")
        Tensor.protocols += 1
        a = self.array
        return {"shape": a.shape, "strides": a.strides, "typestr": a.dtype.str, "data": (a.ctypes.data, False),
                "version": 3}  # fmt: skip


class Device(int):
    """torch.device, a number with an index."""

    index = property(int)


class Parameter(Tensor):
    """torch.nn.Parameter."""


ALIGNED = 256


def fresh(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> np.ndarray:
    """fp16 values full of NaN, `offset` values behind an aligned address, amid others."""
    last = sum((n - 1) * s for n, s in zip(shape, strides)) + 1 if 0 not in shape else 0
    whole = np.full(2 * ALIGNED + offset + last, np.nan, np.float16)
    skip = -whole.ctypes.data % ALIGNED // 2 + offset
    return np.lib.stride_tricks.as_strided(whole[skip:], shape, [2 * s for s in strides])


class Torch(types.SimpleNamespace):
    """The module, and its current stream."""

    def __init__(self) -> None:
        super().__init__(Tensor=Tensor, nn=types.SimpleNamespace(Parameter=Parameter), stream=0)
        self._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: self.stream)
        current = types.SimpleNamespace
        self.cuda = types.SimpleNamespace(current_stream=lambda *device: current(cuda_stream=self.stream))


def use(monkeypatch: pytest.MonkeyPatch) -> Torch:
    """Put the library in torch's place, with one GPU and this thread's context on it."""
    from polyvolta.cuda.run import device_memory, libraries

    torch = Torch()
    real = device_memory.empty_like
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(libraries, "_known", {})
    monkeypatch.setattr(gpu, "_missing", lambda: None)
    monkeypatch.setattr(gpu, "several_gpus", lambda: False)
    monkeypatch.setattr(launch, "as_device_view", _view)
    monkeypatch.setattr(launch, "empty_like", lambda a, shape, dtype, order: real(_named(a), shape, dtype, order))
    monkeypatch.setattr(launch, "maker_like", lambda kind, *how: lambda a: launch.empty_like(a, *how))
    monkeypatch.setattr(launch, "current_stream", lambda array: torch.stream)
    monkeypatch.setattr(Tensor, "protocols", 0)
    return torch


def _named(a: Tensor) -> Any:
    """The array as one whose type is in the module torch."""
    return type("Tensor", (Tensor,), {"__module__": "torch"})(a.array)


def _view(a: Any, stream: Any = None) -> DeviceArray:
    return a if isinstance(a, DeviceArray) else read_interface(a, 0, None)  # type: ignore[arg-type]
