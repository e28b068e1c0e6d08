"""Calls with arrays on a GPU, without one: host memory stands for the GPU's, the interpreter for the driver.

What reaches `cuLaunchKernel` is decoded as the driver would: pointers to values of the kernel's parameters' types.
"""

from __future__ import annotations

import ctypes
import types
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.compiled import NotAMultiple
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.errors import LaunchFailed
from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.turns.tiles import launched
from polyvolta.cuda.run import gpu, launch, prepared
from polyvolta.cuda.run.device_array import DeviceArray, read_interface
from polyvolta.cuda.run.views import BadArray
from polyvolta.cuda.text.head import kernel_head
from polyvolta.graph.functions.formats import KINDS
from tests.compiler.test_run import KERNEL, PADDING, error, made, operands, two_results
from tests.cuda.ir.ir_example import matmul_ir
from tests.cuda.machine.test_interpreter_sizes import view
from tests.cuda.run.test_launch import Exported


def as_numpy(ptr: int, shape: tuple[int, ...], ld: int, order: tuple[int, ...]) -> np.ndarray:
    """The values at an address."""
    steps = {(0,): [2], (0, 1): [2 * ld, 2], (1, 0): [2, 2 * ld]}[order]
    interface = {"version": 3, "typestr": "<f2", "shape": shape, "strides": tuple(steps), "data": (ptr, False)}
    return np.asarray(types.SimpleNamespace(__array_interface__=interface))


class Driver:
    """Stands for cuda.bindings.driver: runs the interpreter on what the parameters point to."""

    CUresult = types.SimpleNamespace(CUDA_ERROR_INVALID_CONTEXT=201)
    CUfunction = CUstream = staticmethod(lambda number: number)

    def __init__(self) -> None:
        self.launches: list[tuple] = []
        self.variants: list[Kernel] = []
        self.status = 0

    def cuLaunchKernel(self, function: int, *rest: Any) -> tuple[int]:  # noqa: N802
        gx, gy, gz, bx, by, bz, shared_bytes, stream, parameters, extra = rest
        if self.status:
            return (self.status,)
        kernel = self.variants[function]
        ir = kernel.ir
        values = self.arguments(ir, parameters)
        sizes = {n: values[n] for n in ir.sizes}
        self.launches.append(((gx, gy, gz), (bx, by, bz), shared_bytes, stream, sizes))
        tensors = {}
        for t in ir.tensors:
            shape = tuple(sizes[d] if isinstance(d, str) else d for d in t.dims)
            values_there = self.there(ir, t, shape, values)
            tensors[t.name] = values_there.view(KINDS[t.kind].storage)
        if ir.resident:  # as many as the device has room for
            ir = replace(ir, resident=gx * gy * gz)
        assert (gx, gy, gz) == launched(ir, [g.evaluate(sizes) for g in ir.grid]) and extra == 0
        interpret(ir, tensors, sizes, {n: values[n] for n in ir.scalars})
        return (0,)

    def arguments(self, ir: KernelIR, parameters: int) -> dict[str, Any]:
        """The arguments by the names that the text has for them, of the types that it says."""
        texts = [text.split() for text in kernel_head.arguments(ir)]
        pointers = (ctypes.c_void_p * len(texts)).from_address(parameters)
        simple = {"int": ctypes.c_int, "float": ctypes.c_float}
        out = {}
        for (*words, name), p in zip(texts, pointers, strict=True):
            if "TensorMap" in words:
                assert p % 64 == 0
                out[name] = tuple((ctypes.c_uint64 * 16).from_address(p))
            else:
                kind = simple.get(words[0], ctypes.c_void_p)
                out[name] = ctypes.cast(p, ctypes.POINTER(kind)).contents.value
        return out

    def there(self, ir: KernelIR, t: GlobalTensor, shape: tuple[int, ...], values: dict[str, Any]) -> np.ndarray:
        """The values of a tensor where its pointer says."""
        return as_numpy(values[t.name] or 0, shape, values[t.ld] if t.ld else 0, t.order)

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:  # noqa: N802
        return 0, b"too many resources"


@pytest.fixture
def driver(monkeypatch) -> Driver:
    fake = Driver()

    def loaded(self: Kernel, align: dict[str, int]) -> Any:
        from polyvolta.cuda.run.views import narrowed

        fake.variants.append(replace(self, ir=narrowed(self.ir, align)))
        return types.SimpleNamespace(entry=self.name, handle=len(fake.variants) - 1, dependent=False)

    def allocate(shape: tuple[int, ...], order: Any = "C", dtype: str = "float16") -> DeviceArray:
        return read_interface(Exported(np.full(shape, np.nan, dtype, order=order)), 0, None)  # type: ignore[arg-type]

    def clear(array: DeviceArray, stream: Any = None) -> None:
        array.keepalive.array[...] = 0

    def copy_lines(source: Any, target: Any, shape: Any, order: Any, stream: Any = None) -> None:
        part = tuple(slice(n) for n in shape)
        target.keepalive.array[part] = source.keepalive.array[part]

    monkeypatch.setattr(gpu, "_missing", lambda: None)
    monkeypatch.setattr(prepared, "_driver", lambda: fake)
    monkeypatch.setattr(Kernel, "loaded", loaded)
    monkeypatch.setattr(launch, "allocate", allocate)
    monkeypatch.setattr(launch, "clear", clear)
    monkeypatch.setattr(launch, "copy_lines", copy_lines)
    monkeypatch.setattr(launch, "as_device_view", lambda a, stream=None: _view(a))
    monkeypatch.setattr(launch, "empty_like", lambda a, shape, dtype, order: there(np.empty(shape, dtype, order=order)))
    monkeypatch.setattr(launch, "maker_like", lambda kind, *how: lambda a: launch.empty_like(a, *how))
    monkeypatch.setattr(launch, "to_device", lambda a, stream=None: _view(Exported(a.copy(order="K"))))
    monkeypatch.setattr(launch, "copy_to_host", lambda a, stream=None: a.keepalive.array)
    return fake


def _view(a: Any) -> DeviceArray:
    return a if isinstance(a, DeviceArray) else read_interface(a, 0, None)  # type: ignore[arg-type]


class OnGpu(Exported):
    """Host memory that claims to be on a GPU, with a shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def there(array: np.ndarray) -> OnGpu:
    return OnGpu(array)


def test_arrays_run_where_they_lie(driver):
    a, b = operands(40, 33, 20)
    out = view((40, 33), "C", 50, 3)
    result = there(out)
    assert KERNEL(there(a), there(b), out=result) is result
    assert error(out, a, b) <= 5e-4
    assert error(KERNEL(there(a), there(b)).array, a, b) <= 5e-4
    (grid, block, shared, stream, sizes), _ = driver.launches
    assert (grid, block, stream) == ((2, 2, 1), (32, 1, 1), 0)
    assert shared == KERNEL.ir.shared_bytes and sizes == {"M": 40, "N": 33, "K": 20}
    assert [t.align for t in driver.variants[0].ir.tensors] == [4, 4, 1]


def test_host_arrays_travel(driver):
    a, b = operands(40, 33, 20)
    large = np.full((44, 40), np.nan, np.float16)
    out = large[2:42, 3:36]
    assert KERNEL(a, b, out=out) is out and error(out, a, b) <= 5e-4
    assert np.isnan(large).sum() == large.size - out.size


@pytest.mark.parametrize("place", [there, lambda a: a], ids=["device", "host"])
def test_padding_works_on_copies(driver, place):
    a, b = operands(40, 33, 20)
    c = PADDING(place(a), place(b))
    assert error(getattr(c, "array", c), a, b) <= 5e-4
    assert driver.launches[0][4] == {"M": 64, "N": 64, "K": 32}
    a, b = operands(64, 32, 16)
    c = PADDING(place(a), place(b))
    assert error(getattr(c, "array", c), a, b) <= 5e-4


def test_several_results(driver):
    a, b = operands(40, 33, 20)
    c, d = two_results()(there(a), there(b))
    assert np.array_equal(c.array, d.array) and d.array.flags.f_contiguous
    assert error(c.array, a, b) <= 5e-4


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3)])
def test_nothing_is_launched_for_an_empty_result(driver, shape):
    m, n, k = shape
    a, b = np.ones((m, k), np.float16), np.ones((k, n), np.float16, order="F")
    assert KERNEL(there(a), there(b)).array.shape == (m, n)
    assert KERNEL(a, b).shape == (m, n)
    bound = KERNEL.bind(there(a), there(b), out=there(np.empty((m, n), np.float16)))
    bound()
    bound.launch()
    assert bound.grid == (0, 0, 0) and bound.shared_bytes == 0
    assert not driver.launches


def test_without_a_k_the_result_is_zero(driver):
    a, b = np.ones((5, 0), np.float16), np.ones((0, 3), np.float16, order="F")
    assert (KERNEL(there(a), there(b)).array == 0).all()
    assert len(driver.launches) == 1


# ---- bound launches


def test_a_bound_launch_is_one_call_of_the_driver(driver, monkeypatch):
    a, b = operands(40, 33, 20)
    out = np.zeros((40, 33), np.float16)
    bound = KERNEL.bind(there(a), there(b), out=there(out), stream=7)
    assert not driver.launches
    looked_at: list[tuple] = []
    monkeypatch.setattr(launch, "as_device_view", lambda *x: looked_at.append(x))
    for _ in range(3):
        a *= -1
        bound()
        assert error(out, a, b) <= 5e-4
    assert [x[3] for x in driver.launches] == [7, 7, 7] and not looked_at
    assert bound.grid == (2, 2, 1) and bound.shared_bytes == KERNEL.ir.shared_bytes


def test_scalars_are_floats(driver):
    ir = replace(matmul_ir(guarded=True), scalars=("alpha",))
    A, B = pv.tensor("A", pv.sizes("M K")), pv.tensor("B", pv.sizes("K N"), layout="col")
    kernel = made(ir, outputs=A @ B * pv.scalar("alpha"))
    a, b = operands(8, 8, 8)
    bound = kernel.bind(there(a), there(b), alpha=0.1, out=there(np.zeros((8, 8), np.float16)))
    assert isinstance(bound, prepared.Prepared)
    assert [v.value for v in bound.values if isinstance(v, ctypes.c_float)] == [np.float32(0.1)]
    bound()
    assert len(driver.launches) == 1


def test_what_cannot_be_bound(driver):
    a, b = operands(40, 33, 20)
    out = np.zeros((40, 33), np.float16)
    with pytest.raises(BadArray, match="arrays on the GPU"):
        KERNEL.bind(a, b, out=out)
    with pytest.raises(BadArray, match="every output"):
        KERNEL.bind(there(a), there(b), out=None)
    with pytest.raises(BadArray, match=r"some arrays are on the GPU \(A, B\), some in host memory \(out\)"):
        KERNEL.bind(there(a), there(b), out=out)
    with pytest.raises(NotAMultiple, match="M = 40 is no multiple of 32"):
        PADDING.bind(there(a), there(b), out=there(out))
    square = np.zeros((16, 16), np.float16)
    with pytest.raises(BadArray, match="out overlaps the input A"):
        KERNEL.bind(there(square), there(square.T.copy().T), out=there(square))


def test_a_launch_that_the_driver_refuses_says_how_it_was(driver):
    a, b = operands(8, 8, 8)
    bound = KERNEL.bind(there(a), there(b), out=there(np.zeros((8, 8), np.float16)))
    driver.status = 701
    with pytest.raises(LaunchFailed, match="kern0 didn't launch: too many resources") as caught:
        bound()
    assert "grid (1, 1, 1), block (32, 1, 1)" in caught.value.where


def test_machine_code_is_loaded_once_for_each_width_of_access(monkeypatch):
    """Whatever order the widths are named in, and for the device that is current."""
    made_for: list[dict[str, int]] = []
    device = [0]

    def load(image: bytes, entry: str, shared_bytes: int, dependent: bool) -> tuple:
        return entry, device[0], *made_for[-1].values()

    def variant(self: Kernel, /, **align: int) -> Kernel:
        made_for.append({t.name: align.get(t.name, t.align) for t in self.ir.tensors})
        return self

    monkeypatch.setattr(launch, "current_device", lambda: device[0])
    monkeypatch.setattr(launch, "device_limits", lambda device: gpu.Limits("sm_70", 1024, 98304, 65536))
    monkeypatch.setattr(launch, "load", load)
    monkeypatch.setattr(Kernel, "variant", variant)
    small = types.SimpleNamespace(registers=32)
    code = types.SimpleNamespace(image=b"", resources=lambda entry: small)
    monkeypatch.setattr(Kernel, "compiled", lambda self, arch: code)
    kernel = made(matmul_ir(guarded=True))
    assert kernel.loaded({"B": 4, "A": 2}) == kernel.loaded({"A": 2, "B": 4}) == ("kern0", 0, 2, 4, 8)
    assert kernel.loaded({"A": 4, "B": 2}) == ("kern0", 0, 4, 2, 8)
    assert kernel.loaded() == kernel.loaded({"A": 8}) == ("kern0", 0, 8, 8, 8)
    assert len(made_for) == 3
    device[0] = 1
    assert kernel.loaded() == ("kern0", 1, 8, 8, 8)


def test_launch_configurations_are_remembered_but_not_without_end(monkeypatch):
    kernel = made(matmul_ir(guarded=True))
    monkeypatch.setattr("polyvolta.compiler.compiled.MOST_CONFIGS", 3)
    assert kernel.launch_config(M=64, N=1, K=1) is kernel.launch_config(M=64, N=1, K=1)
    for m in range(1, 300, 32):
        assert kernel.launch_config(M=m, N=33, K=1).grid == (2, -(-m // 32), 1)
    assert len(kernel._configs) <= 3


def test_the_first_arrays_library_says_the_stream(driver, monkeypatch):
    a, b = operands(8, 8, 8)
    out = there(np.zeros((8, 8), np.float16))
    first = there(a)
    monkeypatch.setattr(launch, "current_stream", lambda array: 31 if array is first else 32)
    for stream in (None, 0, 7):
        KERNEL(first, there(b), out=out, stream=stream)
        KERNEL.bind(first, there(b), out=out, stream=stream)()
    assert [x[3] for x in driver.launches] == [31, 31, 0, 0, 7, 7]
