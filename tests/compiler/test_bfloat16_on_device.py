"""Arrays of bf16 on a GPU: DLPack and the array interface; torch, cupy and numba by stand-ins where there is no GPU.

torch's tensors are read through DLPack, whose type code 4 is bf16; numpy's capsules are made to say so.
"""

import sys
import types
from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.run import device_memory, launch
from polyvolta.cuda.run.device_array import is_device_array, read_dlpack, read_interface
from polyvolta.cuda.run.views import BadArray
from polyvolta.graph.arrays.dlpack import DLTensor, capsule_pointer
from polyvolta.graph.functions.formats import narrowed, widened
from tests.compiler.test_bfloat16 import OPTIONS, graph, patterns
from tests.compiler.test_run_on_device import driver as driver
from tests.cuda.run.test_launch import Exported

needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(not launch.gpu_available(), reason="no GPU here")]
KERNEL = pv.compile(graph("product"), target="sm_80", options=OPTIONS)
BF16 = 4, 16


class Torch:
    """A tensor of torch, of bf16: bit patterns in host memory that say they are bf16 on a GPU."""

    __module__ = "torch"

    def __init__(self, patterns, kind=BF16):
        self.patterns, self.kind = patterns, kind

    @property
    def shape(self):
        return self.patterns.shape

    @property
    def T(self):  # noqa: N802
        return Torch(self.patterns.T, self.kind)

    def new_empty_strided(self, shape, strides):
        memory = np.zeros(int(np.prod(shape)), np.uint16)
        return Torch(np.lib.stride_tricks.as_strided(memory, shape, [2 * s for s in strides]), self.kind)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream):
        capsule = self.patterns.__dlpack__()
        tensor = DLTensor.from_address(capsule_pointer(capsule, b"dltensor"))
        tensor.kind, tensor.bits = self.kind
        return capsule


@pytest.fixture
def torch(driver, monkeypatch):
    """The driver's stand-in, with arrays read as `launch.as_device_view` reads them, and torch's streams."""

    def view(array, stream=None):
        if hasattr(array, "__dlpack__"):
            return read_dlpack(array, 0)
        return read_interface(array, 0, None)

    monkeypatch.setattr(launch, "as_device_view", view)
    monkeypatch.setattr(launch, "empty_like", device_memory.empty_like)
    monkeypatch.setattr(launch, "maker_like", device_memory.maker_like)
    monkeypatch.setattr(device_memory, "require_gpu", lambda: None)
    stream = types.SimpleNamespace(cuda_stream=0)
    cuda = types.SimpleNamespace(current_stream=lambda: stream)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    return driver


def inputs(sizes=None):
    return patterns(graph("product"), 0, sizes or {"M": 40, "N": 33, "K": 24}).values()


def near(found, a, b):
    exact = widened(a).astype(float) @ widened(b).astype(float)
    return np.linalg.norm(widened(found) - exact) < 2.0**-8 * np.linalg.norm(exact)


def test_dlpack_says_bf16():
    patterns = np.arange(12, dtype=np.uint16).reshape(3, 4)
    view = read_dlpack(Torch(patterns.T), 0)
    assert (view.dtype, view.shape, view.strides, view.ptr) == ("bfloat16", (4, 3), (1, 4), patterns.ctypes.data)
    assert is_device_array(Torch(patterns))


def test_the_interface_says_two_bytes_as_torch_and_ml_dtypes_do():
    patterns = np.arange(12, dtype=np.uint16).reshape(3, 4)
    for array in (Exported(patterns, typestr="<V2"), Exported(patterns.T, typestr="|V2")):
        view = read_interface(array, 0, print)
        assert view.dtype == "bfloat16" and view.__cuda_array_interface__["typestr"] == "<V2"
        assert view.__cuda_array_interface__["strides"] == array.array.strides
        assert read_interface(view, 0, print) == view
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert np.dtype(bfloat16).str == "<V2"


def test_torch_gives_and_gets_its_own(torch):
    a, b = inputs()
    found = KERNEL(Torch(a), Torch(b))
    assert isinstance(found, Torch) and found.shape == (40, 33) and near(found.patterns, a, b)
    out = Torch(np.zeros((40, 33), np.uint16))
    assert KERNEL(Torch(a), Torch(b), out=out) is out and (out.patterns == found.patterns).all()
    assert len(torch.launches) == 2


def test_a_tensor_in_columns(torch):
    a, b = inputs()
    kernel = pv.compile(pv.output(graph("product"), layout="col"), target="sm_80", options=OPTIONS)
    found = kernel(Torch(a), Torch(b))
    assert found.patterns.flags.f_contiguous and near(found.patterns, a, b)


def test_interface_arrays_get_a_device_array(torch, monkeypatch):
    made = []

    def allocate(shape, order, dtype):
        made.append((tuple(shape), order, dtype))
        return replace(read_interface(Exported(np.zeros(shape, np.uint16, order=order)), 0, None), dtype=dtype)

    monkeypatch.setattr(device_memory, "allocate", allocate)
    a, b = inputs()
    found = KERNEL(*(read_interface(Exported(x, typestr="<V2"), 0, None) for x in (a, b)))
    assert found.dtype == "bfloat16" and made == [((40, 33), "C", "bfloat16")]
    assert near(found.keepalive.array, a, b)


@pytest.mark.parametrize(
    ("kind", "dtype", "hint"),
    [
        ((2, 16), "float16", "A.to(torch.bfloat16)"),
        ((2, 32), "float32", "A.to(torch.bfloat16)"),
        ((1, 16), "uint16", "A.view(torch.bfloat16), or dataclasses.replace(launch.as_device_view(A)"),
    ],
)
def test_other_types_are_refused(torch, kind, dtype, hint):
    a, b = inputs()
    wide = np.zeros(a.shape, np.uint32) if kind[1] == 32 else a
    with pytest.raises(BadArray) as caught:
        KERNEL(Torch(wide, kind), Torch(b))
    assert caught.value.message == f"A has dtype {dtype}, the kernel works on bfloat16"
    assert hint in caught.value.hint and not torch.launches


def test_bf16_is_refused_for_fp16_on_a_gpu(torch):
    half = pv.compile(pv.tensor("A", pv.sizes("M K")) @ pv.tensor("B", pv.sizes("K N")))
    a, b = inputs()
    with pytest.raises(BadArray) as caught:
        half(Torch(a), Torch(np.ascontiguousarray(b)))
    assert caught.value.hint == 'A.to(torch.float16), or declare the tensors with dtype="bfloat16"'


def test_bits_may_be_declared_bf16(torch):
    """What cupy's users do, whose arrays have no bf16: the hint of the error."""
    a, b = inputs()
    bits = [replace(read_interface(Exported(x), 0, None), dtype="bfloat16") for x in (a, b)]
    out = Torch(np.zeros((40, 33), np.uint16))
    KERNEL(*bits, out=out)
    assert near(out.patterns, a, b)


def test_host_arrays_travel(driver, monkeypatch):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16

    def there(array, stream=None):
        return replace(read_interface(Exported(array.view(np.uint16).copy(order="K")), 0, None), dtype="bfloat16")

    monkeypatch.setattr(launch, "to_device", there)
    monkeypatch.setattr(launch, "allocate", lambda shape, order, dtype: there(np.zeros(shape, bfloat16, order)))
    monkeypatch.setattr(launch, "copy_to_host", lambda a, stream=None: a.keepalive.array.view(bfloat16))
    a, b = inputs()
    found = KERNEL(a.view(bfloat16), b.view(bfloat16))
    assert found.dtype == bfloat16 and near(found.view(np.uint16), a, b) and len(driver.launches) == 1


CONVERT = r"""
extern "C" __global__ void convert(int part, unsigned long long *wrong, unsigned short *one) {
  unsigned bits = ((unsigned)part << 24) + blockIdx.x * blockDim.x + threadIdx.x, pair;
  float v = __uint_as_float(bits), w = __uint_as_float(~bits);
  unsigned short single;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(single) : "f"(v));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(w), "f"(v));
  unsigned even = bits >> 16 & 1;
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  unsigned short expected = nan ? 0x7fff : (unsigned short)((bits + 0x7fff + even) >> 16);
  if (single != expected || (pair & 0xffff) != expected) atomicAdd(wrong, 1ull);
  one[blockIdx.x * blockDim.x + threadIdx.x] = single;
}
"""


class TestOnGpu:
    pytestmark = needs_gpu

    def test_the_instruction_rounds_every_number_of_fp32_as_we_do(self):
        """All 2^32 on the GPU against integers there; a sixteenth of them, among these NaN, against `narrowed`."""
        if int(launch.device_arch()[3:].rstrip("af")) < 80:
            pytest.skip("bf16 takes sm_80")
        from polyvolta.cuda.run.nvrtc import compile_cubin

        count = 2**24
        convert = launch.load(compile_cubin(CONVERT, launch.device_arch(), name="convert").image, "convert")
        wrong, one = launch.to_device(np.zeros(1, np.uint64)), launch.allocate((count,), dtype="uint16")
        for n in range(2**32 // count):
            convert.launch((count // 256, 1, 1), (256, 1, 1), 0, (n, wrong, one))
            if n % 16 == 15:
                bits = np.arange(n * count, (n + 1) * count, dtype=np.uint32)
                assert (narrowed(bits.view(np.float32)) == launch.copy_to_host(one)).all()
        assert launch.copy_to_host(wrong) == [0]

    def test_torch_tensors(self):
        torch = pytest.importorskip("torch")
        a = torch.randn(300, 200, device="cuda").bfloat16()
        b = torch.randn(136, 200, device="cuda").bfloat16().T
        for kernel in (KERNEL, pv.compile(graph("product"), target="sm_80")):
            c = kernel(a, b)
            assert c.dtype == torch.bfloat16 and c.device == a.device
            exact = a.double() @ b.double()
            bound = 2.0**-8 * exact.abs() + 2.0**-22 * 200 * (a.double().abs() @ b.double().abs())
            assert ((c.double() - exact).abs() <= bound).all()

    def test_numpy_arrays(self):
        bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
        for name in ("epilogue", "rounded prologue", "sum", "scaled"):
            expr = graph(name)
            arrays = {n: a.view(bfloat16) if isinstance(a, np.ndarray) else a for n, a in patterns(expr).items()}
            found = pv.compile(expr, target="sm_80", options=OPTIONS)(**arrays)
            exact = pv.reference(expr, **arrays)
            assert found.dtype == bfloat16
            assert np.linalg.norm(found.astype(float) - exact) < 2.0**-8 * np.linalg.norm(exact)
