"""Running cubins: with no GPU, what the errors teach; with one, kernels, streams and everyone's arrays."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import types

import numpy as np
import pytest

from polyvolta.cuda.errors import CudaError, LaunchFailed, NoGpu, NotADeviceArray
from polyvolta.cuda.run import device_array, device_memory, gpu, launch
from polyvolta.cuda.run.device_array import DeviceArray, is_device_array, read_dlpack, read_interface
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.run.prepared import packed

needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(not launch.gpu_available(), reason="no GPU here")]

ADD = """
extern "C" __global__ void axpy(int n, int factor, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += factor * x[i];
}
extern "C" __global__ void reverse(int n, float *v) {
  extern __shared__ float block[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) block[i] = v[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) v[i] = block[n - 1 - i];
}
"""


class Exported:
    """Host memory that claims to be on a GPU, through the array interface: reading that needs no GPU."""

    def __init__(self, array: np.ndarray, **changes):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": None if array.flags.c_contiguous else array.strides,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "version": 3,
        } | changes


class ExportedThroughDlpack:
    """As `Exported`, through DLPack."""

    def __init__(self, array: np.ndarray):
        self.array, self.asked = array, []

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream):
        self.asked.append(stream)
        return self.array.__dlpack__()


def columns(dtype="float16"):
    return np.asfortranarray(np.arange(12).reshape(3, 4).astype(dtype))


# ---- without a GPU -----------------------------------------------------------------------------------------


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "_missing", lambda: ("there is no GPU", "buy one"))


def test_availability_is_an_answer_and_never_an_error():
    assert launch.gpu_available() in (True, False)


@pytest.mark.parametrize(
    "call",
    [
        launch.device_arch,
        lambda: launch.load(b"", "k"),
        lambda: launch.to_device(np.zeros(3)),
        lambda: launch.allocate((3,)),
        lambda: launch.copy_to_host(DeviceArray(1, (1,), (1,), "float16")),
        lambda: launch.as_device_view(Exported(columns())),
        lambda: launch.device_of(DeviceArray(1, (1,), (1,), "float16")),
        launch.synchronize,
    ],
)
def test_without_a_gpu_the_error_says_what_is_missing(no_gpu, call):
    assert not launch.gpu_available()
    with pytest.raises(NoGpu) as caught:
        call()
    assert isinstance(caught.value, CudaError) and caught.value.id == "PV505"
    assert "there is no GPU" in str(caught.value)
    assert "buy one" in caught.value.hint and "interpret" in caught.value.hint


@pytest.fixture
def fresh():
    """`_missing` without its memory, before and after."""
    gpu._missing.cache_clear()
    yield
    gpu._missing.cache_clear()


def test_a_missing_package_is_named(monkeypatch, fresh):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    assert not launch.gpu_available()
    with pytest.raises(NoGpu, match="polyvolta\\[cuda12\\]"):
        launch.require_gpu()


def test_a_package_that_breaks_is_explained(monkeypatch, fresh):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "cuda.core":
                raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    if importlib.util.find_spec("cuda") is None:  # the parent of the package that is to break
        parent = types.ModuleType("cuda")
        parent.__path__ = []
        monkeypatch.setitem(sys.modules, "cuda", parent)
    for name in [m for m in sys.modules if m == "cuda.core" or m.startswith("cuda.core.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(NoGpu, match="row_stack") as caught:
        launch.require_gpu()
    assert "numpy<2.5" in caught.value.hint


# ---- reading both protocols --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "uint8"])
@pytest.mark.parametrize("make", [np.asfortranarray, np.ascontiguousarray, lambda a: a[1:, ::2], lambda a: a[:0]])
def test_interface_and_dlpack_read_the_same(dtype, make):
    array = make(np.arange(20).reshape(4, 5).astype(dtype))
    expected = DeviceArray(array.ctypes.data, array.shape, tuple(s // array.itemsize for s in array.strides), dtype)
    for view in (read_interface(Exported(array), 0, print), read_dlpack(ExportedThroughDlpack(array), 0)):
        assert (view.shape, view.dtype) == (expected.shape, expected.dtype)
        if array.size:
            assert view == expected
            item = ctypes.string_at(view.ptr, array.itemsize)
            assert np.frombuffer(item, dtype)[0] == array[0, 0]


@pytest.mark.parametrize(
    "ours, theirs, waits",
    [(0, None, []), (0, 1, []), (0, 2, [(0, 2)]), (7, 7, []), (7, 1, [(7, 1)]), (0, 9, [(0, 9)])],
)
def test_our_stream_waits_for_theirs(ours, theirs, waits):
    waited = []
    read_interface(Exported(columns(), stream=theirs), ours, lambda *streams: waited.append(streams))
    assert waited == waits


@pytest.mark.parametrize("ours, told", [(0, 1), (7, 7)])
def test_dlpack_is_told_our_stream(ours, told):
    exported = ExportedThroughDlpack(columns())
    read_dlpack(exported, ours)
    assert exported.asked == [told]


def test_a_view_keeps_the_memory_alive():
    exported = ExportedThroughDlpack(columns())
    counts = [sys.getrefcount(exported.array)]
    view = read_dlpack(exported, 0)  # its capsule holds the memory
    counts.append(sys.getrefcount(exported.array))
    del view
    counts.append(sys.getrefcount(exported.array))
    assert counts[0] == counts[2] < counts[1]


def test_readonly_and_masked_arrays():
    array = columns()
    assert read_interface(Exported(array, data=(array.ctypes.data, True)), 0, print).readonly
    with pytest.raises(NotADeviceArray, match="masked"):
        read_interface(Exported(array, mask=Exported(array)), 0, print)


def test_a_device_array_exports_what_it_read():
    view = read_interface(Exported(columns()), 0, print)
    assert read_interface(view, 0, print) == view
    assert view.__cuda_array_interface__["strides"] == (2, 6)


def test_what_is_a_device_array():
    class Refuses:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("requires grad")

    assert is_device_array(Exported(columns()))
    assert is_device_array(ExportedThroughDlpack(columns()))
    assert is_device_array(DeviceArray(1, (1,), (1,), "float16"))
    assert not any(map(is_device_array, (columns(), [1.0], None, Refuses())))
    with pytest.raises(NotADeviceArray, match="ndarray that isn't in GPU memory") as caught:
        launch.as_device_view(columns())
    assert "to_device" in caught.value.hint


def test_an_array_of_another_gpu(monkeypatch):
    context = types.SimpleNamespace(device=types.SimpleNamespace(id=0))
    numba_cuda = types.SimpleNamespace(current_context=lambda: context)
    monkeypatch.setitem(sys.modules, "numba", types.SimpleNamespace(cuda=numba_cuda))
    monkeypatch.setattr(gpu, "_missing", lambda: None)
    monkeypatch.setattr(device_memory, "several_gpus", lambda: True)
    monkeypatch.setattr(device_memory, "device_of", lambda array: 1)
    with pytest.raises(NotADeviceArray, match="an? Exported in the memory of GPU 1, while GPU 0 is") as caught:
        launch.as_device_view(Exported(columns()))
    assert "set_device(1)" in caught.value.hint
    monkeypatch.setattr(device_memory, "device_of", lambda array: 0)
    assert launch.as_device_view(Exported(columns())).shape == (3, 4)


def test_strides_between_elements():
    pairs = np.zeros(4, dtype=[("x", "f2"), ("y", "i1")])
    with pytest.raises(NotADeviceArray, match=r"strides of \(3,\) bytes are no multiples of its elements' 2"):
        read_interface(Exported(pairs["x"]), 0, print)


@pytest.mark.parametrize("value, complaint", [(2**31, "fit"), (1j, "complex"), (True, "bool"), (columns(), "ndarray")])
def test_arguments_that_are_neither_numbers_nor_addresses(value, complaint):
    with pytest.raises(LaunchFailed, match=complaint):
        packed("k", 0, value)
    assert packed("k", 0, -(2**31)).value == -(2**31)
    assert packed("k", 0, 0.5).value == 0.5
    assert packed("k", 0, launch.DevicePtr(2**40)).value == 2**40


def test_streams_of_everyone():
    class Protocol:
        def __cuda_stream__(self):
            return (0, 11)

    class Torch:
        cuda_stream = 12

    class Cupy:
        ptr = 13

    assert [launch.stream_handle(s) for s in (None, Protocol(), Torch(), Cupy(), 14)] == [0, 11, 12, 13, 14]
    for wrong, complaint in (("default", "a str is no stream"), (-1, "-1 is no stream"), (True, "True is no stream")):
        with pytest.raises(LaunchFailed, match=complaint):
            launch.stream_handle(wrong)


def test_a_librarys_current_stream(monkeypatch):
    current = types.SimpleNamespace(cuda_stream=21, ptr=22)
    of = types.SimpleNamespace(current_stream=lambda: current, get_current_stream=lambda: current)
    for library, handle in (("torch", 21), ("cupy", 22), ("numba", 0), ("jax", 0)):
        monkeypatch.setitem(sys.modules, library, types.SimpleNamespace(cuda=of))
        array = type("Array", (), {"__module__": f"{library}.core"})()
        assert launch.current_stream(array) == handle


def test_compact_strides():
    assert device_array.compact((2, 3, 4)) == (12, 4, 1)
    assert device_array.compact(()) == ()


# ---- with a GPU --------------------------------------------------------------------------------------------


def axpy(entry="axpy", shared=0):
    cubin = compile_cubin(ADD, launch.device_arch(), name="axpy")
    return launch.load(cubin.image, entry, shared)


class TestOnTheGpu:
    pytestmark = needs_gpu

    def test_numpy_goes_there_and_back(self):
        for array in (
            columns(),
            np.ascontiguousarray(columns()),
            columns("float32")[:, ::2],
            np.zeros((0, 3)),
        ):
            back = launch.copy_to_host(launch.to_device(array))
            assert back.dtype == array.dtype and np.array_equal(back, array)
        assert launch.to_device(columns()).strides == (1, 3)

    @pytest.mark.parametrize("own_stream", [False, True])
    def test_a_kernel_adds(self, own_stream):
        from numba import cuda

        stream = cuda.stream() if own_stream else None
        x, y = np.random.default_rng().random((2, 1000), dtype=np.float32)
        on_gpu = launch.to_device(y, stream)
        axpy().launch((8, 1, 1), (128, 1, 1), 0, (1000, -3, launch.to_device(x, stream), on_gpu), stream)
        assert np.allclose(launch.copy_to_host(on_gpu, stream), y - 3 * x)

    def test_loading_is_cached(self):
        assert axpy() is axpy()
        assert axpy("reverse") is not axpy()

    def test_shared_memory_above_48_kib(self):
        values = np.arange(15000, dtype=np.float32)  # 60000 bytes
        on_gpu = launch.to_device(values)
        with pytest.raises(LaunchFailed, match="loaded for 0"):
            axpy("reverse").launch((1, 1, 1), (256, 1, 1), values.nbytes, (15000, on_gpu))
        axpy("reverse", values.nbytes).launch((1, 1, 1), (256, 1, 1), values.nbytes, (15000, on_gpu))
        assert np.array_equal(launch.copy_to_host(on_gpu), values[::-1])
        with pytest.raises(LaunchFailed, match="smaller block_tile"):
            axpy("reverse", 2**20)

    def test_refusals(self):
        with pytest.raises(LaunchFailed, match="at most 1024"):
            axpy().launch((1, 1, 1), (2048, 1, 1), 0, (0, 0, launch.DevicePtr(0), launch.DevicePtr(0)))
        with pytest.raises(LaunchFailed, match="takes cubins for"):
            launch.load(b"\x7fELF no cubin", "axpy")
        with pytest.raises(LaunchFailed, match="no_such"):
            axpy("no_such")

    def test_memory_of_ours_is_everyones(self):
        from numba import cuda

        view = launch.allocate((3, 4), "F")
        cuda.as_cuda_array(view)[:, 1] = np.float16(2)
        assert np.array_equal(launch.copy_to_host(view)[:, 1], [2, 2, 2])
        assert view.strides == (1, 3) and view.dtype == "float16"
        assert launch.device_of(view) == 0

    def test_numba_arrays(self):
        from numba import cuda

        view = launch.as_device_view(cuda.to_device(columns()))
        assert view.strides == (1, 3) and np.array_equal(launch.copy_to_host(view), columns())

    def test_torch_tensors(self):
        torch = pytest.importorskip("torch")
        tensor = torch.arange(12.0, device="cuda").reshape(3, 4).half()
        view = launch.as_device_view(tensor.t())
        assert (view.ptr, view.shape, view.strides) == (tensor.data_ptr(), (4, 3), (1, 4))
        assert np.array_equal(launch.copy_to_host(view), tensor.t().cpu().numpy())
        assert torch.as_tensor(launch.to_device(columns()), device="cuda").shape == (3, 4)
        assert launch.as_device_view(tensor.bfloat16()).dtype == "bfloat16"
        assert not is_device_array(tensor.cpu())
        with pytest.raises(NotADeviceArray, match="detach"):
            launch.as_device_view(tensor.float().requires_grad_())

    def test_a_torch_stream_is_waited_for(self):
        torch = pytest.importorskip("torch")
        y = np.zeros(1 << 20, dtype=np.float32)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.zeros(1 << 20, device="cuda")
            torch.cuda._sleep(200_000_000)  # a tenth of a second before x is written
            x += 1
            view = launch.as_device_view(x)
        on_gpu = launch.to_device(y)
        axpy().launch((4096, 1, 1), (256, 1, 1), 0, (1 << 20, 1, view, on_gpu))
        assert launch.copy_to_host(on_gpu).min() == 1
        axpy().launch((4096, 1, 1), (256, 1, 1), 0, (1 << 20, 1, view, on_gpu), stream)
        assert launch.copy_to_host(on_gpu, stream).min() == 2

    def test_cupy_arrays(self):
        cupy = pytest.importorskip("cupy")
        array = cupy.arange(12, dtype=cupy.float16).reshape(3, 4)
        view = launch.as_device_view(array[:, ::2])
        assert (view.ptr, view.shape, view.strides) == (array.data.ptr, (3, 2), (4, 2))
        assert np.array_equal(launch.copy_to_host(view), array[:, ::2].get())
