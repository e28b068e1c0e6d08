"""Arrays of other libraries in host memory: a library that exports numpy's capsules, and torch where it is."""

import sys
from typing import Any

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph.arrays import dlpack
from polyvolta.graph.arrays.host import NotInHostMemory, as_numpy, in_kind, is_foreign
from polyvolta.graph.errors import BadArguments

M, N, K = pv.sizes("M N K")
A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col"), pv.tensor("bias", (N,))
OPTIONS = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16), macro_mma="m16n16k8")
OPTIONS_80 = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))


class Library:
    """An array of a library of its own: it exports DLPack, and makes arrays of DLPack."""

    device: Any = (1, 0)

    def __init__(self, array: np.ndarray, old: bool = False) -> None:
        self.array, self.old = array, old

    @property
    def shape(self):
        return self.array.shape

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        if self.old and asked:
            raise TypeError("unexpected keyword")
        return self.array.__dlpack__(**asked)

    def __array_namespace__(self):
        return type("namespace", (), {"from_dlpack": staticmethod(lambda x: Library(np.from_dlpack(x)))})


def random(*shape, order="C"):
    return np.asarray(np.random.default_rng(sum(shape)).standard_normal(shape), np.float16, order=order)


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(pv.relu(A @ B + bias), target="sm_70", options=OPTIONS)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("array", [random(3, 5), random(3, 5).T, random(8, 6)[1::2, 2:4], np.zeros((0, 3)),
                                   np.arange(4, dtype=np.int8)])  # fmt: skip
def test_memory_is_seen_where_it_lies(array, old):
    seen = as_numpy(Library(array, old), lambda: None)
    assert np.array_equal(seen, array) and seen.dtype == array.dtype
    assert array.size == 0 or (seen.strides == array.strides and np.shares_memory(seen, array))


def test_what_must_not_be_written_stays_so():
    array = random(4)
    array.flags.writeable = False
    assert not as_numpy(Library(array), lambda: None).flags.writeable


def test_memory_lives_as_long_as_a_view_of_it():
    seen = as_numpy(Library(np.arange(10**6)), lambda: None)
    other = [np.full(10**6, 7) for _ in range(3)]
    assert seen[-1] == 10**6 - 1 and len(other) == 3


def test_who_is_foreign():
    gpu = Library(random(2))
    gpu.device = (2, 0)
    broken = Library(random(2))
    broken.device = None
    assert is_foreign(Library(random(2)))
    assert not any(map(is_foreign, (gpu, broken, random(2), np.float16(1), 3.0, None)))


def test_a_library_that_refuses_is_named():
    class Refuses(Library):
        def __dlpack__(self, **asked):
            raise BufferError("not today")

    with pytest.raises(NotInHostMemory, match="Refuses that doesn't give its memory away: not today"):
        as_numpy(Refuses(random(2)), lambda: None)


def test_kernels_take_them_and_answer_in_kind(kernel):
    a, b, v = random(20, 33), random(33, 17, order="F"), random(17)
    expected = kernel.interpret(a, b, v)
    for result in (kernel.interpret(*map(Library, (a, b, v))), kernel.interpret(Library(a), bias=v, B=b)):
        assert isinstance(result, Library) and np.array_equal(result.array, expected)
    out = Library(np.zeros((20, 17), np.float16))
    assert kernel.interpret(a, b, Library(v), out=out) is out and np.array_equal(out.array, expected)
    plain = np.zeros((20, 17), np.float16)
    assert kernel.interpret(Library(a), b, v, out=plain) is plain and np.array_equal(plain, expected)
    assert isinstance(kernel.interpret(a, Library(b), v), np.ndarray)  # the first one says
    assert isinstance(kernel.interpret(Library(a[:0]), b, v), Library)
    step = next(iter(kernel.trace(Library(a), b, v)))
    assert str(step) == str(next(iter(kernel.trace(a, b, v))))


def test_padded_kernels_take_them():
    kernel = pv.compile(A @ B, target="sm_70", options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16),
                                                                 macro_mma="m16n16k8", partial="pad"))  # fmt: skip
    a, b = random(20, 33), random(33, 17, order="F")
    assert np.array_equal(kernel.interpret(Library(a), Library(b)).array, kernel.interpret(a, b))


def test_the_reference_takes_them_and_answers_in_kind():
    a, b = random(20, 33), random(33, 17, order="F")
    expected = pv.reference(A @ B, a, b)
    made = pv.reference({"C": A @ B}, B=Library(b), A=Library(a))["C"]
    assert isinstance(made, Library) and np.array_equal(made.array, expected)
    assert isinstance(pv.reference(A @ B, a, Library(b)), np.ndarray)


def test_wrong_ones_are_refused_as_numpys_are(kernel):
    a, b, v = random(20, 33), random(33, 17, order="F"), random(17)
    with pytest.raises(pv.PolyvoltaError, match="A has dtype float32, the kernel works on float16"):
        kernel.interpret(Library(a.astype(np.float32)), b, v)
    with pytest.raises(pv.PolyvoltaError, match="out is read-only"):
        out = np.zeros((20, 17), np.float16)
        out.flags.writeable = False
        kernel.interpret(a, b, v, out=Library(out))
    with pytest.raises(pv.PolyvoltaError, match="A is of type .*_Shaped: no array of numpy"):
        kernel.interpret(_Shaped(), b, v)


class _Shaped(list):
    shape = (20, 33)


def test_old_and_new_capsules_say_the_same():
    array = random(3, 4).T
    new, old = dlpack.read(dlpack.exported(array)), dlpack.read(array.__dlpack__())
    assert new == old and new.strides == (1, 4)


class OfBfloat16(Library):
    """An array whose library says that its elements of two bytes are of bf16."""

    def __dlpack__(self, **asked):
        capsule = self.array.__dlpack__()
        dlpack.DLTensor.from_address(dlpack.capsule_pointer(capsule, b"dltensor")).kind = 4
        return capsule


def test_bf16_that_is_not_wanted_needs_no_package(kernel, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    given = OfBfloat16(np.ones((4, 4), np.uint16))
    with pytest.raises(pv.PolyvoltaError, match=r"A has dtype bfloat16, the kernel works on float16\s+hint: A\.astype"):
        kernel.interpret(given, random(4, 4, order="F"), random(4))
    wide = pv.tensor("A", (M, K), dtype="bfloat16") @ pv.tensor("B", (K, N), dtype="bfloat16")
    with pytest.raises(pv.PolyvoltaError, match="ml_dtypes, which isn't installed"):
        pv.compile(wide, "sm_80", OPTIONS_80).interpret(given, given)


# ---- torch


def test_tensors_of_torch_on_the_cpu(kernel):
    torch = pytest.importorskip("torch")
    a, w, v = torch.randn(20, 33).half(), torch.randn(17, 33).half(), torch.randn(17).half()
    made, exact = kernel.interpret(a, w.t(), v), pv.reference(pv.relu(A @ B + bias), a, w.t(), v)
    assert made.dtype == torch.float16 and exact.dtype == torch.float64 and made.shape == (20, 17)
    expected = torch.relu(a.double() @ w.double().t() + v.double())
    torch.testing.assert_close(exact, expected, rtol=1e-12, atol=1e-12)
    assert torch.linalg.norm(made - expected) <= 5e-4 * torch.linalg.norm(expected)
    out = torch.zeros(20, 40).half()
    assert torch.equal(kernel.interpret(a, w.t(), v, out=out[:, :17]), made) and torch.equal(out[:, :17], made)


def test_bfloat16_of_torch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    A, B = pv.tensor("A", (M, K), dtype=torch.bfloat16), pv.tensor("B", (K, N), dtype=torch.bfloat16)
    kernel = pv.compile(A @ B, target="sm_80", options=OPTIONS_80)
    a, b = torch.randn(20, 33).bfloat16(), torch.randn(33, 17).bfloat16()
    made, exact = kernel.interpret(a, b), pv.reference(A @ B, a, b)
    assert made.dtype == torch.bfloat16
    torch.testing.assert_close(exact, a.double() @ b.double(), rtol=1e-12, atol=1e-12)
    assert torch.linalg.norm(made - exact) <= 4e-3 * torch.linalg.norm(exact)


def test_bfloat16_of_torch_for_fp16(kernel, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(pv.PolyvoltaError, match=r"A has dtype bfloat16, .*float16\s+hint: A\.to\(torch\.float16\)"):
        kernel.interpret(torch.ones(4, 4).bfloat16(), torch.ones(4, 4).half().t(), torch.ones(4).half())


def test_a_tensor_that_requires_a_gradient_says_who_computes_one(kernel):
    torch = pytest.importorskip("torch")
    a, w, v = torch.randn(20, 33).half().requires_grad_(), torch.randn(17, 33).half(), torch.randn(17).half()
    with pytest.raises(pv.PolyvoltaError, match=r"(?s)A is a torch.Tensor that requires a gradient.*polyvolta.torch"):
        kernel.interpret(a, w.t(), v)
    with pytest.raises(BadArguments, match="requires a gradient"):
        pv.reference(A @ B, a, w.t())
    with pytest.raises(pv.PolyvoltaError, match=r"(?s)doesn't give its memory away.*hint: .to_dense\(\)"):
        kernel.interpret(a.detach().to_sparse(), w.t(), v)
    with pytest.raises(pv.PolyvoltaError, match="negated"):
        kernel.interpret(torch._neg_view(a.detach()), w.t(), v)


def test_numbers_stay_where_nothing_is_foreign():
    array = random(3)
    assert in_kind(array, random(2)) is array and in_kind(array, None) is array
