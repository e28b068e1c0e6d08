"""Kernels that start while the kernel before still runs: where they wait, how they are launched, what is refused."""

from __future__ import annotations

import ctypes
import types

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import AwaitGrids, ReleaseGrids, Roles, When
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.machine.errors import EarlyAccess
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.run import prepared
from polyvolta.cuda.target.hopper import SM_90A

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N))
LATE = ("other grids are not waited for", "a warp waits for other grids", "other grids are waited for late")


@pytest.fixture(scope="module")
def kernel():
    tiles = pv.Options(block_tile=(64, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=2)
    return pv.compile(A @ B, target=SM_90A, options=tiles)


def test_all_threads_wait_behind_what_needs_no_memory_and_before_all_that_does(kernel):
    begin, meet, wait, release, roles = kernel.ir.body
    assert (type(begin), type(wait), type(release), type(roles)) == (When, AwaitGrids, ReleaseGrids, Roles)
    text = kernel.source[kernel.source.index("__global__") :]
    order = [
        text.index(word)
        for word in ("begin_barriers(", "__syncthreads", "await_grids()", "release_grids()", "copy_box(")
    ]
    assert order == sorted(order) and kernel.options.dependent_launch and kernel.ir.dependent


@pytest.mark.parametrize(
    "outputs",
    [(A + P) @ B, A @ B - P @ Q],
    ids=["prologue of two tensors", "scaled between products"],
)
def test_kernels_without_roles_wait_first(outputs):
    found = pv.compile(outputs, target=SM_90A)
    assert isinstance(found.ir.body[0], AwaitGrids) and found.verify("grids").ok


def test_it_can_be_left_out(kernel):
    plain = pv.compile(A @ B, target=SM_90A, options=pv.Options(dependent_launch=False))
    assert not plain.ir.dependent and "griddepcontrol" not in plain.source
    assert not any(isinstance(op, AwaitGrids | ReleaseGrids) for op in operations(plain.ir.body))
    assert "grids" not in {p.id for p in plain.verify(("bounds", "arguments")).proofs}
    with pytest.raises(pv.PolyvoltaError, match="it starts when the grids before are over"):
        plain.verify("grids")


@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_80"])
def test_targets_without_refuse_it(target):
    product = pv.tensor("A", (M, K)) @ B
    assert not pv.compile(product, target=target).options.dependent_launch
    with pytest.raises(pv.PolyvoltaError, match=f"kernels of {target} start when the kernel before is over"):
        pv.compile(product, target=target, options=pv.Options(dependent_launch=True))
    with pytest.raises(pv.PolyvoltaError, match="dependent_launch is True or False, not 1"):
        pv.Options(dependent_launch=1)


@pytest.mark.parametrize("name", LATE)
def test_late_waits_are_refuted_and_refused(kernel, name):
    late = broken(kernel, name)
    (proof,) = late.verify("grids").proofs
    assert not proof.proved and "before it has waited for the grids before" in proof.counter_example.what
    a, b = np.ones((3, 8), np.float16), np.ones((8, 8), np.float16, order="F")
    with pytest.raises(EarlyAccess):
        late.interpret(a, b)
    out = {"A": a, "B": b, "C": np.zeros((3, 8), np.float16)}
    interpret(kernel.ir, out, {"M": 3, "N": 8, "K": 8})
    assert (out["C"] == 8).all()


def test_launches_say_so_to_the_driver(monkeypatch):
    seen = []

    def launched(config, function, pointers, extra):
        (attribute,) = config.attrs
        first = (ctypes.c_void_p * 1).from_address(pointers)[0]
        early = attribute.id, attribute.value.programmaticStreamSerializationAllowed
        launch = config.gridDimX, config.blockDimX, config.sharedMemBytes, config.hStream
        seen.append((*launch, *early, ctypes.c_int.from_address(first).value))
        return (0,)

    one = types.SimpleNamespace
    ids = one(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6)
    fake = one(cuLaunchKernelEx=launched, CUfunction=int, CUstream=int, CUlaunchConfig=one, CUlaunchAttributeID=ids,
               CUlaunchAttribute=lambda: one(value=one()))  # fmt: skip
    monkeypatch.setattr(prepared, "_driver", lambda: fake)
    loaded = one(entry="k", handle=1, dependent=True)
    prepared.prepare(loaded, (3, 1, 1), (32, 1, 1), 64, (7,), 5)()
    assert seen == [(3, 32, 64, 5, 6, 1, 7)]


def test_variants_for_other_arrays_are_launched_as_was_asked():
    for early in (False, True):
        kernel = pv.compile(A @ B, target=SM_90A, options=pv.Options(dependent_launch=early))
        assert [kernel.variant(**{name: 4}).ir.dependent for name in "ABC"] == [early] * 3
