"""Tensor maps: what the driver is told, what is refused before, and maps as arguments of a launch."""

from __future__ import annotations

import ctypes
import sys
import types

import pytest

from polyvolta.cuda.errors import CudaError, LaunchFailed
from polyvolta.cuda.run import prepared, tensor_maps
from polyvolta.cuda.run.launch import DevicePtr
from polyvolta.cuda.run.tensor_maps import ALIGN, BYTES, BadTensorMap, TensorMap, encode, takes

GOOD = (4096, "half", (100, 72), 144, (64, 64), 128)
SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, *[ctypes.c_void_p] * 4,
    *[ctypes.c_int] * 4,
)  # fmt: skip


class Driver:
    """Stands for the driver: notes what it is told, and writes a map of bytes that count the calls."""

    def __init__(self) -> None:
        self.told: list[dict] = []
        self.status = 0
        self.function = SIGNATURE(self.encode)
        self.asked: list[tuple] = []

    def encode(self, at, kind, rank, pointer, extents, strides, box, steps, interleave, swizzle, promotion, fill):
        def numbers(address, width, count):
            return tuple((width * count).from_address(address))

        assert at % ALIGN == 0
        self.told.append({
            "kind": kind, "pointer": pointer, "extents": numbers(extents, ctypes.c_uint64, rank),
            "strides": numbers(strides, ctypes.c_uint64, rank - 1), "box": numbers(box, ctypes.c_uint32, rank),
            "steps": numbers(steps, ctypes.c_uint32, rank),
            "modes": (interleave, swizzle, promotion, fill),
        })  # fmt: skip
        ctypes.memset(at, len(self.told), BYTES)
        return self.status

    def cuGetProcAddress(self, name: bytes, version: int, flags: int) -> tuple:  # noqa: N802
        self.asked.append((name, version, flags))
        return 0, ctypes.cast(self.function, ctypes.c_void_p).value, 0


@pytest.fixture
def driver(monkeypatch):
    fake = Driver()
    flags = types.SimpleNamespace(CU_GET_PROC_ADDRESS_DEFAULT=0)
    bindings = types.SimpleNamespace(cuGetProcAddress=fake.cuGetProcAddress, CUdriverProcAddress_flags=flags)
    monkeypatch.setitem(sys.modules, "cuda.bindings", types.SimpleNamespace(driver=bindings))
    tensor_maps._function.cache_clear()
    tensor_maps._encoded.cache_clear()
    yield fake
    tensor_maps._function.cache_clear()
    tensor_maps._encoded.cache_clear()


@pytest.mark.parametrize("kind, number", [("half", 6), ("bfloat16", 9)])
@pytest.mark.parametrize("swizzle, mode", [(0, 0), (32, 1), (64, 2), (128, 3)])
def test_the_driver_is_told_the_contiguous_dimension_first(driver, kind, number, swizzle, mode):
    run = (swizzle or 64) // 2
    encode(4096, kind, (100, 72), 144, (48, run), swizzle)
    assert driver.told == [{
        "kind": number, "pointer": 4096, "extents": (72, 100), "strides": (144,), "box": (run, 48), "steps": (1, 1),
        "modes": (0, mode, 3, 0),
    }]  # fmt: skip
    assert driver.asked == [(b"cuTensorMapEncodeTiled", 12000, 0)]


def test_a_map_is_encoded_once_for_what_it_says(driver):
    one = encode(*GOOD)
    assert encode(*GOOD) is one and len(driver.told) == 1
    for at, other in enumerate([8192, "bfloat16", (100, 64), 160, (32, 64), 128]):
        changed = list(GOOD)
        changed[at] = other
        if tuple(changed) != GOOD:
            assert bytes(encode(*changed)) != bytes(one)
    assert encode(4096, "half", (100, 72), 144, (64, 32), 64) is not one
    assert len(driver.told) == 7
    assert tensor_maps._encoded.cache_info().maxsize == tensor_maps.MOST_MAPS


@pytest.mark.parametrize(
    "pointer, extents, stride, objection",
    [
        (4104, (100, 72), 144, "starts at 0x1008, no multiple of 16"),
        (4096, (100, 72), 146, "146 bytes apart, no multiple of 16"),
        (4096, (100, 72), 0, "positive"),
        (4096, (100, 72), -144, "positive"),
        (4096, (100, 72), 2**40, "less than 1099511627776"),
        (4096, (0, 72), 144, "0 lines of 72 values"),
        (4096, (100, 0), 144, "100 lines of 0 values"),
        (4096, (2**32 + 1, 72), 144, "at most 4294967296"),
    ],
)
def test_matrices_that_the_engine_does_not_take(driver, pointer, extents, stride, objection):
    assert not takes(pointer, extents, stride)
    with pytest.raises(BadTensorMap, match=objection) as caught:
        encode(pointer, "half", extents, stride, (64, 64), 128)
    assert isinstance(caught.value, CudaError) and caught.value.hint and not driver.told


def test_matrices_that_it_takes(driver):
    for pointer, extents, stride in ((16, (1, 1), 16), (0, (2**32, 2**32), 2**40 - 16), (4096, (5, 7), 16)):
        assert takes(pointer, extents, stride)
        encode(pointer, "half", extents, stride, (256, 64), 128)


@pytest.mark.parametrize(
    "kind, box, swizzle, complaint",
    [
        ("float", (64, 64), 128, "not of 'float'"),
        ("half", (257, 64), 128, "1 to 256 lines"),
        ("half", (0, 64), 128, "1 to 256 lines"),
        ("half", (64, 264), 0, "1 to 256 lines"),
        ("half", (64, 60), 128, "not 120"),
        ("half", (64, 72), 128, "144 bytes are longer than the spans of a 128-byte swizzle"),
        ("half", (64, 64), 64, "longer"),
        ("half", (64, 64), 96, "spans of 96 bytes"),
    ],
)
def test_boxes_that_there_are_not(driver, kind, box, swizzle, complaint):
    with pytest.raises(BadTensorMap, match=complaint):
        encode(4096, kind, (100, 72), 144, box, swizzle)
    assert not driver.told


def test_what_the_driver_refuses(driver):
    driver.status = 1
    with pytest.raises(BadTensorMap, match="the driver's error 1") as caught:
        encode(*GOOD)
    assert "100 x 72, 144 bytes from line to line, boxes of 64 x 64" in caught.value.where
    driver.status = 0
    assert bytes(encode(*GOOD)) == b"\2" * BYTES  # a refusal isn't kept


def test_a_driver_without_tensor_maps(driver, monkeypatch):
    monkeypatch.setattr(driver, "cuGetProcAddress", lambda *asked: (0, 0, 1))
    sys.modules["cuda.bindings"].driver.cuGetProcAddress = driver.cuGetProcAddress
    with pytest.raises(LaunchFailed, match="no cuTensorMapEncodeTiled"):
        encode(*GOOD)


def test_maps_travel_by_value_aligned_and_are_the_launchs_own(driver, monkeypatch):
    """Between other arguments, decoded as the driver would: each parameter's pointer leads to its value."""
    seen = []

    def launched(function, *rest):
        pointers = (ctypes.c_void_p * 5).from_address(rest[-2])
        number, first, address, second, scale = pointers
        assert first % ALIGN == second % ALIGN == 0
        seen.append((
            ctypes.c_int.from_address(number).value, ctypes.string_at(first, BYTES),
            ctypes.c_void_p.from_address(address).value, ctypes.string_at(second, BYTES),
            ctypes.c_float.from_address(scale).value,
        ))  # fmt: skip
        return (0,)

    fake = types.SimpleNamespace(cuLaunchKernel=launched, CUfunction=int, CUstream=int)
    monkeypatch.setattr(prepared, "_driver", lambda: fake)
    one, other = encode(*GOOD), encode(8192, *GOOD[1:])
    loaded = types.SimpleNamespace(entry="k", handle=1, dependent=False)
    launch = prepared.prepare(loaded, (1, 1, 1), (32, 1, 1), 0, (7, one, DevicePtr(4096), other, 0.5), 0)
    launch()
    assert seen == [(7, b"\1" * BYTES, 4096, b"\2" * BYTES, 0.5)]
    launch.values[1].value = other  # a launch for another array
    launch()
    assert seen[1] == (7, b"\2" * BYTES, 4096, b"\2" * BYTES, 0.5)
    assert bytes(one) == bytes(encode(*GOOD)) == b"\1" * BYTES


def test_blank_maps_are_aligned_wherever_memory_is():
    maps = [TensorMap.blank() for _ in range(50)]
    assert {ctypes.addressof(m) % ALIGN for m in maps} == {0} and ctypes.sizeof(TensorMap) == BYTES
    for at, m in enumerate(maps):
        ctypes.memset(ctypes.addressof(m), at, BYTES)
    assert [bytes(m) for m in maps] == [bytes([at]) * BYTES for at in range(50)]
