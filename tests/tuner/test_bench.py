"""The GPU's side on host memory: what a bench checks and how it counts; driver, launches and clocks are none."""

import os
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.devices import Gpu
from polyvolta.cuda.run import launch
from polyvolta.cuda.run.device_array import DeviceArray
from polyvolta.cuda.run.timing import data, graphs
from polyvolta.graph.dag import Graph
from polyvolta.tuner.errors import DoesNotFit, NoGpuThere, WrongResult
from polyvolta.tuner.processes import bench, build, locks
from polyvolta.tuner.processes.bench import Bench
from polyvolta.tuner.processes.build import Builder, call_of, placed
from polyvolta.tuner.processes.sample import ALL, apart, sampled
from polyvolta.tuner.spec import Spec

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
E = pv.relu(A @ B + pv.tensor("bias", (N,)))
SIZES = {"M": 64, "N": 96, "K": 40}
GPU = Gpu(0, "NVIDIA Fake", "sm_80", "GPU-0")


def host(array: DeviceArray) -> np.ndarray:
    """A view of memory that stands for a GPU's."""
    return array.keepalive


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A GPU of host memory; what a launch computes is `here.compute`, on arrays by name."""
    fake = types.SimpleNamespace(free=1 << 40, compute=None, seconds=1e-4, recorded=[], closed=0)

    def allocate(shape, order, dtype):
        array = np.full(shape, 7, dtype, order=order)
        strides = tuple(s // array.itemsize for s in array.strides)
        return DeviceArray(array.ctypes.data, shape, strides, dtype, keepalive=array)

    class Values:
        def __init__(self, dtype, stream):
            pass

        def random(self, array, seed):
            host(array)[...] = np.random.default_rng(seed).standard_normal(array.shape)

        def difference(self, array, other, room):
            x, y = (host(a).astype(np.float64) for a in (array, other))
            far = int(np.count_nonzero(abs(x - y) > abs(y) / 32 + room))
            return data.Difference(float(((x - y) ** 2).sum()), float((y**2).sum()), far, x.size)

    class Replay(int):
        def close(self):
            fake.closed += 1

    class Stream:
        handle = 5

        def wait(self):
            pass

        def seconds(self, work):
            work()
            return fake.seconds

        def recorded(self, work, count):
            fake.recorded.append(count)
            return Replay(count)

    def packing(call, stream):
        arrays = {a.tensor.name: host(a.array) for a in call.arguments}
        return lambda kept: lambda: fake.compute(arrays)

    monkeypatch.setattr(bench, "gpus", lambda: (GPU, replace(GPU, number=1, uuid="GPU-1")))
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(launch, "require_gpu", lambda: None)
    monkeypatch.setattr(launch, "allocate", allocate)
    monkeypatch.setattr(launch, "clear", lambda array, stream: host(array).fill(0))
    monkeypatch.setattr(data, "Values", Values)
    monkeypatch.setattr(data, "host_values", lambda array, stream: host(array))
    monkeypatch.setattr(graphs, "on_gpu", lambda number: None)
    monkeypatch.setattr(graphs, "free_bytes", lambda: fake.free)
    monkeypatch.setattr(graphs.Stream, "make", Stream)
    monkeypatch.setattr(graphs, "interleaved", lambda replays, rounds: [[1e-6 * n] * rounds for n in replays])
    monkeypatch.setattr(bench, "packing", packing)
    monkeypatch.setattr(pv.compile(E, "sm_80").__class__.__mro__[1], "loaded", lambda self, aligns, code: None)
    monkeypatch.setattr(build.Kernel.__mro__[1], "compiled", lambda self, arch: None)
    return fake


def spec(**more):
    return Spec(Graph.of(E), pv.targets["sm_80"], SIZES, GPU, **more)


def right(arrays):
    arrays["D"][...] = pv.reference(E, A=arrays["A"], B=arrays["B"], bias=arrays["bias"])


def test_results_are_compared_and_times_taken(here):
    b = Bench(spec())
    assert b.take() == GPU
    content = Builder(spec()).build(pv.Options())
    here.compute = right
    assert b.add("one", content, False) == pytest.approx(30e-6)  # 3 ms of launches that take 100 us
    here.seconds = 1.0
    assert b.add("two", content, True) == pytest.approx(1e-6)
    here.seconds = 1e-9
    b.add("three", content, True)
    assert here.recorded == [30, 1, bench.MOST_LAUNCHES]
    assert (here.closed, list(b.graphs)) == (1, ["two", "three"])  # the first one wasn't to be raced
    assert b.race(("two", "three"), 5) == {"two": (1e-6,) * 3, "three": (pytest.approx(50e-6),) * 3}


@pytest.mark.parametrize("first", [True, False])
def test_wrong_results_are_found(here, first):
    b = Bench(spec())
    b.take()
    content = Builder(spec()).build(pv.Options())
    here.compute = right
    if not first:
        b.add("right", content, False)

    def half(arrays):
        right(arrays)
        arrays["D"][: 64 // 2] = 0

    def one(arrays):
        right(arrays)
        arrays["D"][17, 5] += 1

    for wrong in (lambda arrays: None, half) if first else (lambda arrays: None, half, one):
        here.compute = wrong
        with pytest.raises(WrongResult, match="float64" if first else "first candidate"):
            b.add("wrong", content, False)
    here.compute = right
    assert b.add("fine", content, False) > 0


def test_memory_that_is_too_small_and_gpus_of_another_kind(here):
    assert spec().bytes == 2 * (64 * 40 + 40 * 96 + 96 + 2 * 64 * 96)
    here.free = bench.SPARE
    with pytest.raises(DoesNotFit, match=r"M = 64, N = 96, K = 40 takes 0.3 GiB of GPU memory, 0.2 are free"):
        Bench(spec()).take()
    with pytest.raises(NoGpuThere, match="no NVIDIA Other here"):
        Bench(replace(spec(), gpu=replace(GPU, name="NVIDIA Other"))).take()


def test_a_gpu_is_one_tuners_at_a_time_and_another_one_is_taken(here):
    first = Bench(spec())
    assert first.take() == GPU
    second = Bench(spec(alone=False))
    assert second.take().uuid == "GPU-1"


def test_a_gpu_that_is_held_is_waited_for(tmp_path):
    _, held = locks.taken([GPU], str(tmp_path))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(locks.taken, [GPU], str(tmp_path))
        with pytest.raises(TimeoutError):
            waiting.result(0.2)
        os.close(held)
        gpu, file = waiting.result(20)
    assert gpu == GPU
    os.close(file)
    assert locks.taken([GPU], str(tmp_path / "nowhere")) == (GPU, locks.NO_LOCK)  # and nobody waits


def test_kernels_are_built_for_the_arrays_that_they_are_timed_on():
    """Odd sizes have narrower accesses, and on sm_90a no boxes; the arrays of a bench have the same alignment."""
    for sizes, align in ((SIZES, 8), ({"M": 64, "N": 100, "K": 36}, 4), ({"M": 3, "N": 5, "K": 7}, 1)):
        s = replace(spec(), sizes=sizes, target=pv.targets["sm_90a"])
        call = call_of(pv.compile(E, "sm_90a"), s, placed(s), 0).fitted()
        assert {a.tensor.name: a.align for a in call.arguments} == {"A": align, "B": align, "bias": 8, "D": align}


# ---- samples


@pytest.mark.parametrize(
    "expression",
    [
        A @ B, pv.relu(A) @ B, pv.relu(A @ B + pv.tensor("bias", (M, 1))) * pv.scalar("s"),
        A @ pv.tanh(B) - pv.tensor("P", (M, K)) @ pv.tensor("Q", (K, N)), (A @ B) @ pv.tensor("C", (N, N)),
        pv.pointwise(lambda x, y: x * y + 1, A @ B, pv.tensor("v", (1, N))),
    ],
)  # fmt: skip
def test_samples_are_the_reference_there(expression):
    graph, rng = Graph.of(expression), np.random.default_rng(2)
    s = replace(spec(), graph=graph)
    arrays = {t.name: rng.standard_normal(s.shape(t)) for t in graph.inputs}
    scalars = dict.fromkeys(graph.scalars, 0.75)
    whole = pv.reference(expression, **arrays, **scalars)
    rows, cols = np.array([3, 17, 60]), np.array([0, 95])
    assert np.allclose(sampled(expression, arrays, 0.75, rows, cols), whole[np.ix_(rows, cols)], rtol=1e-12)
    assert np.allclose(sampled(expression, arrays, 0.75, ALL, cols), whole[:, cols], rtol=1e-12)


def test_infinities_are_not_measured_but_counted():
    x = np.full(1000, np.inf)
    assert apart(x, x) == 0
    y = x.copy()
    y[:11] = 1.0
    assert apart(x, y) == np.inf
    assert apart(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == pytest.approx(2**-0.5)


# ---- graphs


class Driver(types.ModuleType):
    """The driver's functions that `graphs` calls; a clock that each graph's launch moves on."""

    def __init__(self):
        super().__init__("cuda.bindings.driver")
        self.calls, self.clock, self.capturing, self.handles = [], 0.0, False, 0
        self.CUresult = types.SimpleNamespace(CUDA_SUCCESS=0)
        none = types.SimpleNamespace(value=0)
        self.CUstream_flags = types.SimpleNamespace(CU_STREAM_NON_BLOCKING=none)
        self.CUevent_flags = types.SimpleNamespace(CU_EVENT_DEFAULT=none)
        self.CUstreamCaptureMode = types.SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL=none)

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*args):
            self.calls.append(name)
            match name:
                case "cuEventCreate":
                    return 0, [None]
                case "cuEventRecord":
                    args[0][0] = self.clock
                case "cuGraphLaunch":
                    self.clock += 1.0 * args[0]
                case "cuEventElapsedTime":
                    return 0, args[1][0] - args[0][0]
                case "cuGraphInstantiate" | "cuStreamEndCapture" | "cuStreamCreate":
                    self.handles += 1
                    return 0, self.handles
                case "cuMemGetInfo":
                    return 0, 5, 7
            return (0,)

        return call


def test_replays_take_turns_and_are_timed_by_events(monkeypatch):
    driver = Driver()
    bindings = types.ModuleType("cuda.bindings")
    bindings.driver = driver
    modules = {"cuda": types.ModuleType("cuda"), "cuda.bindings": bindings, "cuda.bindings.driver": driver}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    stream, launches = graphs.Stream(9, 9), []
    made = [stream.recorded(lambda: launches.append(1), count) for count in (2, 3)]
    assert len(launches) == 5
    for replay, milliseconds in zip(made, (4, 9)):
        replay._graph = milliseconds
    assert graphs.interleaved(made, 3) == [[pytest.approx(2e-3)] * 3, [pytest.approx(3e-3)] * 3]
    assert driver.calls.count("cuStreamSynchronize") == 3
    assert driver.calls.count("cuEventCreate") == driver.calls.count("cuEventDestroy") == 12
    assert graphs.free_bytes() == 5
    assert stream.seconds(lambda: None) == 0
    for replay in made:
        replay.close()


def test_the_kernels_of_random_data_compile():
    pytest.importorskip("nvidia.cuda_nvrtc")
    from polyvolta.cuda.run import nvrtc

    for bf16 in (0, 1):
        code = nvrtc.compile_cubin(f"#define BF16 {bf16}\n{data.TEXT}", "sm_80", name="timing_data")
        assert all(code.resources(k).local_bytes == 0 for k in ("random_values", "compared"))
