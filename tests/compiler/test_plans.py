"""The second call of a kind: what is read of its arrays, what is checked each time, what is never taken from a plan.

The driver is `test_run_on_device.Driver`, which runs the interpreter on the arguments that it is given.
"""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler import plans
from polyvolta.cuda.errors import LaunchFailed, NotADeviceArray
from polyvolta.cuda.run import gpu, launch, prepared
from polyvolta.cuda.run.device_array import DeviceArray
from polyvolta.cuda.run.views import BadArray
from polyvolta.graph.errors import ArrayMismatch, BadArguments
from tests.compiler.library_on_device import Device, Parameter, Tensor, fresh, use
from tests.compiler.test_run import error, made, operands, two_results
from tests.compiler.test_run_on_device import driver as driver  # noqa: PLC0414  # a fixture
from tests.cuda.ir.ir_example import matmul_ir


@pytest.fixture
def torch(driver, monkeypatch):
    return use(monkeypatch)


@pytest.fixture
def kernel():
    """A @ B, B column-major, any sizes; one that has no plans yet."""
    return made(matmul_ir(guarded=True))


def tensor(values: np.ndarray, ld: int | None = None, offset: int = 0) -> Tensor:
    """Values on the "GPU", in their order, lines `ld` values apart."""
    lines = values if values.flags.c_contiguous else values.T
    there = fresh(lines.shape, (ld or lines.shape[1], 1), offset)
    there[...] = lines
    return Tensor(there if values.flags.c_contiguous else there.T)


def pair(m: int = 40, n: int = 33, k: int = 20, seed: int = 0) -> tuple[Tensor, Tensor]:
    a, b = operands(m, n, k, seed)
    return tensor(a), tensor(b)


def right(c: Tensor, a: Tensor, b: Tensor) -> bool:
    return error(c.array, a.array, b.array) <= 5e-4


def refusal(call) -> tuple:
    with pytest.raises(pv.PolyvoltaError) as caught:
        call()
    return type(caught.value), str(caught.value)


def test_the_second_call_reads_attributes_alone(torch, driver, kernel):
    first, second = pair(seed=1), pair(seed=2)
    assert right(kernel(*first), *first)
    read = Tensor.protocols
    c = kernel(*second)
    assert Tensor.protocols == read > 0
    assert right(c, *second) and len(driver.launches) == 2 and driver.launches[0] == driver.launches[1]
    assert type(c).__module__ == Tensor.__module__ and c.array.flags.c_contiguous


def test_arguments_by_name_share_a_plan(torch, kernel):
    a, b = pair()
    kernel(a, b)
    read = Tensor.protocols
    assert right(kernel(B=b, A=a), a, b) and right(kernel(a, B=b), a, b)
    assert Tensor.protocols == read
    for wrong in ({"A": a}, {"A": a, "B": b, "C": b}, {"A": a, "X": b}):
        with pytest.raises(BadArguments):
            kernel(**wrong)
    with pytest.raises(BadArguments, match="given twice"):
        kernel(a, A=a)


def test_every_call_is_right_whatever_came_before(torch, driver, kernel):
    """Sizes, views, and addresses within 16 bytes at random, few enough that most calls find a plan."""
    rng = np.random.default_rng(5)
    for seed in range(100):
        m, n, k = (int(rng.choice(c)) for c in ((33,), (4, 7), (0, 16)))
        a, b = operands(m, n, k, seed)
        a, b = tensor(a, k + int(rng.choice((0, 8))), int(rng.choice((0, 1, 8)))), tensor(b)
        out = tensor(np.zeros((m, n), np.float16), n + 1, int(rng.choice((0, 1)))) if seed % 2 else None
        c = kernel(a, b, out=out)
        assert out is None or c is out
        assert (c.array == 0).all() if k == 0 else right(c, a, b), (m, n, k, seed)
    assert 10 < len(kernel._plans) < 50
    assert Tensor.protocols == 3 * len(kernel._plans)


@pytest.mark.parametrize(
    "change, refused",
    [
        (lambda a, b: (a, Tensor(b.array, requires_grad=True)), RuntimeError),
        (lambda a, b: (a, Tensor(b.array.astype(np.float32))), BadArray),
        (lambda a, b: (a, Tensor(np.ascontiguousarray(b.array))), BadArray),
        (lambda a, b: (a, Tensor(b.array[:, ::-1])), BadArray),
        (lambda a, b: (a, Tensor(b.array[:-1])), ArrayMismatch),
        (lambda a, b: (a, b.array), BadArray),
        (lambda a, b: (a, None), BadArguments),
        (lambda a, b: (a,), BadArguments),
    ],
)
def test_what_is_wrong_is_refused_with_a_plan_as_without(torch, driver, change, refused):
    with_plan, without = made(matmul_ir(guarded=True)), made(matmul_ir(guarded=True))
    a, b = pair()
    with_plan(a, b)
    texts = []
    for kernel in (with_plan, without):
        with pytest.raises(refused) as caught:
            kernel(*change(a, b))
        texts.append(str(caught.value))
    assert texts[0] == texts[1] and len(driver.launches) == 1


@pytest.mark.parametrize("out", [lambda c: (c, c), lambda c: Tensor(c.array[:-1]), lambda c: 7])
def test_wrong_outputs_are_refused_with_a_plan_as_without(torch, driver, kernel, out):
    a, b = pair()
    c = kernel(a, b)
    kernel(a, b, out=c)
    assert refusal(lambda: kernel(a, b, out=out(c))) == refusal(lambda: made(matmul_ir(guarded=True))(a, b, out=out(c)))
    assert len(driver.launches) == 2


def test_memory_that_may_not_be_written(torch, driver, kernel):
    a, b = (launch.as_device_view(t) for t in pair())
    c = launch.as_device_view(tensor(np.zeros((40, 33), np.float16)))
    assert kernel(a, b, out=c) is c is kernel(a, b, out=c)
    with pytest.raises(BadArray, match="read-only"):
        kernel(a, b, out=replace(c, readonly=True))
    assert len(driver.launches) == 2


# ---- overlaps


def test_an_output_over_an_input_is_refused_where_the_plan_came_from_one_that_was_apart(torch, driver, kernel):
    values = np.ones((16, 16), np.float16)
    a, b, c = tensor(values), tensor(np.asfortranarray(values)), tensor(values)
    assert kernel(a, b, out=c) is c
    assert refusal(lambda: kernel(a, b, out=a)) == refusal(lambda: made(matmul_ir(guarded=True))(a, b, out=a))
    whole = fresh((31, 16), (16, 1))
    whole[...] = 1
    with pytest.raises(BadArray, match="out overlaps the input A"):
        kernel(Tensor(whole[:16]), b, out=Tensor(whole[15:]))
    assert len(driver.launches) == 1


def test_halves_of_one_matrix_are_apart(torch, driver, kernel, monkeypatch):
    """Found out once for each distance, and a distance at which they overlap is refused all the same."""
    exactly = []
    check = plans.check_overlaps
    monkeypatch.setattr(plans, "check_overlaps", lambda *of: exactly.append(of) or check(*of))
    whole = fresh((16, 64), (64, 1))
    a, b = operands(16, 16, 16)
    whole[:, :16] = a
    for column, checked in ((32, 0), (32, 1), (32, 1), (48, 2), (32, 2), (16, 3), (48, 3)):
        out = Tensor(whole[:, column : column + 16])
        kernel(Tensor(whole[:, :16]), tensor(b), out=out)
        assert error(out.array, a, b) <= 5e-4 and len(exactly) == checked
    for _ in range(2):
        with pytest.raises(BadArray, match="out overlaps the input A"):
            kernel(Tensor(whole[:, :16]), tensor(b), out=Tensor(whole[:, 8:24]))
    assert len(kernel._plans) == 1 and Tensor.protocols == 3 and len(driver.launches) == 7


def test_outputs_over_one_another(torch, driver):
    kernel = two_results()
    a, b = pair(16, 16, 16)
    whole = fresh((16, 16), (16, 1))
    c, d = kernel(a, b)
    assert kernel(a, b, out=(c, d)) == (c, d)
    one, other = kernel(a, b, out=(None, d))
    assert other is d and right(one, a, b) and right(d, a, b) and d.array.flags.f_contiguous
    kernel(a, b, out=[None, d])
    with pytest.raises(BadArray, match=r"out\[1\] overlaps out\[0\]"):
        kernel(a, b, out=(Tensor(whole), Tensor(whole.T)))
    assert len(driver.launches) == 4


# ---- numbers, streams, devices


def test_scalars_are_those_of_the_call(torch, driver):
    ir = replace(matmul_ir(guarded=True), scalars=("alpha",))
    A, B = pv.tensor("A", pv.sizes("M K")), pv.tensor("B", pv.sizes("K N"), layout="col")
    kernel = made(ir, outputs=A @ B * pv.scalar("alpha"))
    a, b = pair(8, 8, 8)
    given = []
    launched = driver.cuLaunchKernel

    def spy(*call):
        plan = next(iter(kernel._plans._plans.values()), None)
        given.append(None if plan is None or plan._idle else "busy")
        return launched(*call)

    driver.cuLaunchKernel = spy
    for alpha in (0.5, 2, np.float64(3), -1.0):
        kernel(a, b, alpha=alpha)
        kernel(a, b, alpha)
    packed = next(iter(kernel._plans._plans.values()))._idle[0]
    assert [cell.value for cell, _ in packed[2]] == [-1.0]
    assert len(driver.launches) == 8 and given.count("busy") == 5  # not the first, nor numpy's numbers
    with pytest.raises(BadArguments, match="beyond every float"):
        kernel(a, b, 10**400)


def test_streams_have_plans_of_their_own(torch, driver, kernel, monkeypatch):
    waits = []
    monkeypatch.setattr(launch, "wait", lambda ours, theirs: waits.append((ours, theirs)))
    a, b = pair()
    for torch.stream in (0, 21, 0, 21):
        kernel(a, b)
    assert [x[3] for x in driver.launches] == [0, 21, 0, 21] and not waits
    read = Tensor.protocols
    kernel(a, b, stream=21)
    kernel(a, b, stream=0)  # torch works on 21
    kernel(a, b, stream=torch.cuda.current_stream())
    assert [x[3] for x in driver.launches[4:]] == [21, 0, 21] and waits == [(0, 21)]
    assert Tensor.protocols == read
    torch.stream = 0
    kernel(a, b, stream=0)
    kernel(a, b, stream=1)  # the other name of stream 0
    kernel(a, b, stream=1)
    assert len(waits) == 1


def test_arrays_of_ours_beside_a_librarys(torch, driver, kernel, monkeypatch):
    """The first array's library says the stream; the others' streams are waited for."""
    waits = []
    monkeypatch.setattr(launch, "wait", lambda ours, theirs: waits.append((ours, theirs)))
    monkeypatch.setattr(launch, "current_stream", lambda array: 0 if isinstance(array, DeviceArray) else torch.stream)
    torch.stream = 21
    (a, b), c = pair(), tensor(np.zeros((40, 33), np.float16))
    for _ in range(2):
        kernel(launch.as_device_view(a), b, out=c)
    assert waits == [(0, 21)] and [x[3] for x in driver.launches] == [0, 0] and right(c, a, b)
    for _ in range(2):
        kernel(a, launch.as_device_view(b), out=c)
    assert waits == [(0, 21)] and [x[3] for x in driver.launches[2:]] == [21, 21]


def test_devices(torch, driver, kernel, monkeypatch):
    """Plans are a device's; a thread without a context goes the long way, which makes one."""
    here = [0]
    monkeypatch.setattr(launch, "thread_device", lambda: here[0])
    a, b = pair()
    kernel(a, b)
    kernel(a, b)
    assert len(kernel._plans) == 1
    for here[0], plans_then in ((None, 1), (1, 2)):
        read = Tensor.protocols
        kernel(a, b)
        assert Tensor.protocols > read and len(kernel._plans) == plans_then
    b.device = Device(1)
    kernel(a, b)
    assert len(kernel._plans) == 3


@pytest.mark.parametrize("status, device", [(0, 1), (201, None)])
def test_the_device_of_a_thread_is_asked_for_where_there_are_several(monkeypatch, status, device):
    import sys
    import types

    fake = types.SimpleNamespace(cuCtxGetDevice=lambda: (status, 1))
    monkeypatch.setitem(sys.modules, "cuda.bindings", types.SimpleNamespace(driver=fake))
    monkeypatch.setattr(gpu, "_missing", lambda: None)
    monkeypatch.setattr(gpu, "several_gpus", lambda: True)
    assert gpu.thread_device() == device
    monkeypatch.setattr(gpu, "several_gpus", lambda: False)
    assert gpu.thread_device() == 0
    monkeypatch.setattr(gpu, "_missing", lambda: ("no GPU", ""))
    assert gpu.thread_device() is None


# ---- memory


def test_no_plan_keeps_an_array_alive(torch, kernel):
    gc.freeze()  # the search is for what is made from here on
    a, b = pair()
    c = kernel(a, b)
    kernel(a, b, out=c)
    arrays = [weakref.ref(t) for t in (a, b, c)]
    del a, b, c
    gc.collect()
    assert [r() for r in arrays] == [None] * 3 and len(kernel._plans) == 2


def test_nothing_is_launched_for_an_empty_result(torch, driver, kernel):
    a, b = tensor(np.ones((5, 3), np.float16)), Tensor(fresh((3, 0), (1, 3)))
    for _ in range(2):
        assert kernel(a, b).shape == (5, 0)
    assert not driver.launches and len(kernel._plans) == 1


def test_results_at_an_address_that_the_plan_is_not_for(torch, driver, kernel, monkeypatch):
    a, b = pair(40, 32, 16)
    kernel(a, b)
    assert [t.align for t in driver.variants[-1].ir.tensors] == [8, 8, 8]
    monkeypatch.setattr(launch, "empty_like", lambda a, shape, dtype, order: Tensor(fresh(shape, (shape[1], 1), 1)))
    assert right(kernel(a, b), a, b) and right(kernel(a, b), a, b)
    assert [[t.align for t in v.ir.tensors] for v in driver.variants[1:]] == [[8, 8, 1]] * 2


def test_plans_are_remembered_but_not_without_end(torch, kernel, monkeypatch):
    monkeypatch.setattr(plans, "MOST_PLANS", 3)
    for n in range(1, 9):
        a, b = pair(5, n, 4)
        assert right(kernel(a, b), a, b) and len(kernel._plans) <= 3


def test_another_text_has_plans_of_its_own(torch, kernel):
    kernel(*pair())
    other = replace(kernel, source="other")
    assert other._plans is not kernel._plans and not other._plans


def test_subclasses_go_through_their_protocol(torch, driver, kernel):
    class Lazy(Tensor):
        def data_ptr(self):
            raise AssertionError("it has no memory yet")

    a, b = pair()
    for _ in range(2):
        read = Tensor.protocols
        kernel(a, Lazy(b.array))
        assert Tensor.protocols > read
    assert right(kernel(a, Parameter(b.array)), a, b)
    read = Tensor.protocols
    assert right(kernel(a, Parameter(b.array)), a, b) and Tensor.protocols == read


def test_a_negated_view_is_refused(monkeypatch):
    from polyvolta.cuda.run import device_memory

    monkeypatch.setattr(device_memory, "require_gpu", lambda: None)
    monkeypatch.setitem(__import__("sys").modules, "numba", _numba())
    t = tensor(np.ones((3, 4), np.float16))
    t.negated = True
    with pytest.raises(NotADeviceArray, match="negated when it is read") as caught:
        device_memory.as_device_view(t)
    assert "resolve_neg" in caught.value.hint


def _numba():
    import types

    context = types.SimpleNamespace(device=types.SimpleNamespace(id=0))
    return types.SimpleNamespace(cuda=types.SimpleNamespace(current_context=lambda: context))


def test_threads_pack_arguments_of_their_own(torch, driver, kernel):
    """Two launches of one plan are in the driver at once, where it lets other threads run."""
    calls = [pair(seed=s) for s in range(4)]
    kernel(*calls[0])
    launched, both, lock = driver.cuLaunchKernel, threading.Barrier(4), threading.Lock()

    def slow(*call):
        both.wait(30)  # all have packed by now
        with lock:
            return launched(*call)

    driver.cuLaunchKernel = slow
    results: dict[int, Tensor] = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: kernel(*calls[n])})) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(right(results[n], *calls[n]) for n in range(4))
    assert len(next(iter(kernel._plans._plans.values()))._idle) == 4


def test_a_launch_that_the_driver_refuses(torch, driver, kernel):
    a, b = pair()
    kernel(a, b)
    driver.status = 701
    with pytest.raises(LaunchFailed, match="kern0 didn't launch: too many resources"):
        kernel(a, b)
    driver.status = 0
    assert right(kernel(a, b), a, b)


def test_padding_has_no_plan(torch, driver, monkeypatch):
    padding = made(matmul_ir())
    a, b = pair(64, 32, 16)
    for _ in range(2):
        assert right(padding(a, b), a, b)
    assert len(padding._plans) == 1
    monkeypatch.setattr(prepared, "_driver", lambda: driver)
    seen, plan = padding._plans.look(pair(40, 33, 20), {}, None, None)
    assert seen is not None and plan is None
