"""Kernels as operators of torch, on the CPU: results and gradients against torch's own in float64; what torch checks.

The oracle is torch's autograd on float64 tensors, of formulas written in torch.
"""

import math

import pytest

import polyvolta as pv
from polyvolta.graph.errors import ArrayMismatch, BadArguments
from polyvolta.torch.errors import BadOperator, NoGradient, WrongTensor

torch = pytest.importorskip("torch")
from polyvolta.torch import operator  # noqa: E402

M, N, K, L = pv.sizes("M N K L")
A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col"), pv.tensor("bias", (N,))
P, Q, R, S = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N)), pv.tensor("R", (M, N)), pv.tensor("S", (M, 1))
LENGTHS = {"M": 20, "N": 24, "K": 33, "L": 17}
TILES = pv.Options(block_tile=(32, 32, 32), warp_tile=(16, 16, 32), macro_mma="m16n16k8")

CASES = {
    "linear": (A @ B + bias, lambda A, B, bias: A @ B + bias),
    "activation": (pv.gelu(A @ B + bias), lambda A, B, bias: torch.nn.functional.gelu(A @ B + bias)),
    "gated": (pv.silu(A @ B) * (P @ Q) + R, lambda A, B, P, Q, R: torch.nn.functional.silu(A @ B) * (P @ Q) + R),
    "prologue": ((pv.tanh(A) * S) @ B, lambda A, S, B: (torch.tanh(A) * S) @ B),
    "no product needed": (pv.scalar("alpha") * (A @ B) + pv.silu(bias) * 2,
                          lambda alpha, A, B, bias: alpha * (A @ B) + torch.nn.functional.silu(bias) * 2),
    "two outputs": ([pv.relu(A @ B), pv.output(A @ B + R, layout="col")],
                    lambda A, B, R: (torch.relu(A @ B), A @ B + R)),
}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    """An operator of each case; computed by the reference, the kernel itself where a test is about that."""
    known = {}

    def operator_of(name):
        if name not in known:
            options = TILES if name == "linear" else None
            known[name] = operator(
                CASES[name][0], f"tests::{name.replace(' ', '_')}", on_cpu="reference", target="sm_70", options=options
            )
        return known[name]

    return operator_of


def arguments(graph, seed=0, dtype=torch.float16):
    """Random tensors in their layouts, that require gradients; numbers for scalars."""
    generator = torch.Generator().manual_seed(seed)

    def one(t):
        if not t.dims:
            return 0.75
        shape = [LENGTHS[str(d)] if str(d) in LENGTHS else d for d in t.dims]
        turned = t.layout == "col"
        x = torch.randn(shape[::-1] if turned else shape, generator=generator).mul(0.5).to(dtype)
        return (x.t() if turned else x).requires_grad_()

    return [one(t) for t in graph.arguments]


def exact(f, given, seeds):
    """Results and gradients in float64, by torch's autograd."""
    wide = [x.detach().double().requires_grad_() if isinstance(x, torch.Tensor) else x for x in given]
    results = f(*wide)
    results = results if isinstance(results, tuple) else (results,)
    torch.autograd.backward(results, [s.double() for s in seeds])
    return results, [x.grad for x in wide if isinstance(x, torch.Tensor)]


def close(found, expected, bound=3e-3):
    return torch.linalg.norm(found.double() - expected) <= bound * torch.linalg.norm(expected)


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(made, name):
    op = made(name)
    given = arguments(op.graph)
    results = op(*given)
    results = results if isinstance(results, tuple) else (results,)
    seeds = [torch.randn(r.shape, generator=torch.Generator().manual_seed(7)).half() for r in results]
    torch.autograd.backward(results, seeds)
    expected, gradients = exact(CASES[name][1], given, seeds)
    for found, wanted, t in zip(results, expected, op.graph.outputs, strict=True):
        assert close(found, wanted) and found.dtype == torch.float16
        assert found.stride() == ((wanted.shape[1], 1) if t.layout == "row" else (1, wanted.shape[0]))
    tensors = [x for x in given if isinstance(x, torch.Tensor)]
    for x, wanted in zip(tensors, gradients, strict=True):
        assert x.grad.dtype == torch.float16 and x.grad.stride() == x.stride() and close(x.grad, wanted)


def test_the_kernel_itself_computes_by_default():
    op = operator(CASES["activation"][0], target="sm_70", options=TILES)
    given = arguments(op.graph)
    result = op(*given)
    assert torch.equal(result, op.kernel(*(x.detach() for x in given)))
    seed = torch.ones(()).half().expand(result.shape)  # as of a sum: strides of 0
    result.backward(seed)
    _, gradients = exact(CASES["activation"][1], given, [seed])
    assert all(close(x.grad, g) for x, g in zip(given, gradients, strict=True))
    assert [*op.backward.operators] == ["backward", "grad_A", "grad_B"]


def test_torch_finds_nothing_wrong_with_them(made):
    for name in ("activation", "two outputs"):
        op = made(name)
        results = torch.library.opcheck(op.overload, tuple(arguments(op.graph)))
        assert set(results.values()) == {"SUCCESS"}


def test_under_compile_with_its_gradient_for_any_size(made):
    op, calls = made("activation"), []

    def backend(module, inputs):
        calls.append(module)
        return module.forward

    from torch._dynamo.backends.common import aot_autograd

    compiled = torch.compile(lambda x, w, b: op(x * 2, w.t(), bias=b) + 1, fullgraph=True, dynamic=True,
                             backend=aot_autograd(fw_compiler=backend, bw_compiler=backend))  # fmt: skip
    for m in (20, 7):
        x, w, b = ((torch.randn(s) / 2).half().requires_grad_() for s in ((m, 33), (24, 33), (24,)))
        compiled(x, w, b).sum().backward()
        found, x.grad, w.grad, b.grad = (x.grad, w.grad, b.grad), None, None, None
        (op(x * 2, w.t(), b) + 1).sum().backward()
        assert all(torch.allclose(f, g, rtol=1e-2, atol=1e-2) for f, g in zip(found, (x.grad, w.grad, b.grad)))
    assert len(calls) == 2  # one graph forward, one backward
    targets = [str(n.target) for module in calls for n in module.graph.nodes if "tests" in str(n.target)]
    assert targets == ["tests.activation.default", "tests.activation_backward.default",
                       "tests.activation_grad_A.default", "tests.activation_grad_B.default"]  # fmt: skip


def test_fake_tensors_have_the_results_shapes_and_no_values(made):
    from torch._subclasses.fake_tensor import FakeTensorMode

    op = made("two outputs")
    with FakeTensorMode():
        a, b, r = (torch.empty(s, dtype=torch.float16) for s in ((5, 7), (7, 3), (5, 3)))
        first, second = op(a, b, r)
        assert (first.shape, first.stride(), second.stride()) == ((5, 3), (3, 1), (1, 5))
        with pytest.raises(WrongTensor, match="R is of float16, and a tensor of float32"):
            op(a, b, torch.empty(5, 3))


def test_under_the_transforms_of_torch_func(made):
    op = made("activation")
    a, b, v = (x.detach() for x in arguments(op.graph))
    (expected,), (wanted, *_) = exact(CASES["activation"][1], [a, b, v], [torch.ones(20, 24)])
    assert close(torch.func.grad(lambda x: op(x, b, v).float().sum())(a), wanted)
    both = torch.vmap(lambda x: op(x, b, v))(torch.stack([a, 2 * a]))
    assert torch.equal(both[0], op(a, b, v)) and torch.equal(both[1], op(2 * a, b, v))


def test_who_listens_hears_of_a_call(made):
    op = made("linear")
    a, b, v = (x.detach() for x in arguments(op.graph))

    class Named(torch.Tensor):
        pass

    assert torch.equal(op(a.as_subclass(Named), b, v).as_subclass(torch.Tensor), op(a, b, v))
    meta = op(*(x.to("meta") for x in (a, b, v)))
    assert meta.device.type == "meta" and meta.shape == (20, 24)
    with torch.profiler.profile() as profile:
        op(a, b, v)
    assert "tests::linear" in {event.key for event in profile.key_averages()}
    traced = torch.fx.symbolic_trace(lambda x, w: op(x, w.t(), v))
    assert torch.equal(traced(a, b.t()), op(a, b, v)) and "tests.linear" in str(traced.graph)


def test_any_strides_and_no_rows(made):
    op = made("linear")
    a, b, v = (x.detach() for x in arguments(op.graph))
    expected = op(a, b, v)
    assert torch.equal(op(a.t().contiguous().t(), b.contiguous(), v.repeat_interleave(2)[::2]), expected)
    assert torch.equal(op(torch._neg_view(-a), b, v), expected)
    assert torch.equal(op(bias=v, A=a, B=b), expected) and torch.equal(op(a, b, bias=v), expected)
    assert op(a[:0], b, v).shape == (0, 24)


def test_a_kernel_that_is_there_becomes_one():
    kernel = pv.compile(A @ B, target="sm_70", options=TILES)
    op = operator(kernel, gradient=False)
    a, b = (x.detach() for x in arguments(op.graph))
    assert op.kernel is kernel and torch.equal(op(a, b), kernel(a, b)) and op.name.startswith("polyvolta::kern0_")
    a.requires_grad_()
    with pytest.raises(NoGradient, match=r"has no gradient, and A requires one"):
        op(a, b)
    with torch.no_grad():
        assert not op(a, b).requires_grad
    with pytest.raises(BadOperator, match="target: the kernel is compiled already"):
        operator(kernel, target="sm_80")


def test_gradients_only_where_they_are_wanted(made):
    op = made("prologue")
    a, s, b = arguments(op.graph)
    before = {*op.backward.operators}
    op(a.detach(), s.detach(), b).sum().backward()
    assert b.grad is not None and {*op.backward.operators} - before <= {"grad_B"}


def test_second_derivatives_are_refused_by_name(made):
    op = made("linear")
    a, b, v = arguments(op.graph)
    (g,) = torch.autograd.grad(op(a, b, v).square().sum(), a, create_graph=True)
    with pytest.raises(NoGradient, match="tests::linear_grad_A computes a gradient, and has none itself"):
        g.sum().backward()


def test_a_gradient_of_0_where_nothing_depends():
    op = operator(pv.rint(A @ B), on_cpu="reference", target="sm_70", options=TILES)
    a, b = arguments(op.graph)
    op(a, b).sum().backward()
    assert a.grad is None or not a.grad.any()


@pytest.mark.parametrize(("change", "error", "message"), [
    (lambda a, b, v: (a.float(), b, v), WrongTensor, r"A is of float16, and a tensor of float32.*\n +\^+\nhint: A.to"),
    (lambda a, b, v: (a.int(), b, v), WrongTensor, r"a tensor of int32.*hint: A.to\(torch.float16\)$"),
    (lambda a, b, v: (a + 0j, b, v), WrongTensor, r"a tensor of complex\d+.*hint: A.real.to\(torch.float16\)$"),
    (lambda a, b, v: (a, b, v[None]), WrongTensor, r"bias has 1 dimensions, and a tensor of shape \(1, 24\)"),
    (lambda a, b, v: (a, b, 3.0), WrongTensor, "bias is a tensor, and a float was given for it"),
    (lambda a, b, v: (a, b, v.to("meta")), WrongTensor, "tensors on 2 devices: A, B on cpu; bias on meta"),
    (lambda a, b, v: (a, b[:-1], v), ArrayMismatch, "K is 33 in one array and 32 in another"),
    (lambda a, b, v: (a, b), BadArguments, "no array was given for bias"),
])  # fmt: skip
def test_wrong_tensors(made, change, error, message):
    op = made("linear")
    with pytest.raises(error, match=f"(?s){message}"):
        op(*change(*(x.detach() for x in arguments(op.graph))))


def test_numbers_are_numbers(made):
    op = made("no product needed")
    alpha, *rest = arguments(op.graph)
    with pytest.raises(WrongTensor, match="(?s)alpha is a number, and a Tensor.*a scalar has no gradient"):
        op(torch.tensor(alpha, requires_grad=True), *rest)


@pytest.mark.parametrize("name", ["linear", "a::b::c", "a b::c", 3])
def test_names_that_no_operator_has(name):
    with pytest.raises(BadOperator, match="names no operator"):
        operator(A @ B, name)


def test_a_name_is_given_once(made):
    with pytest.raises(BadOperator, match="tests::linear"):
        operator(made("linear").kernel, made("linear").name)
    with pytest.raises(BadOperator, match="on_cpu"):
        operator(A @ B, on_cpu="gpu")


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    a, b = pv.tensor("A", (M, K), dtype=torch.bfloat16), pv.tensor("B", (K, N), dtype=torch.bfloat16)
    for how in ("kernel", "reference"):
        op = operator(pv.relu(a @ b), target="sm_80", on_cpu=how)
        given = arguments(op.graph, dtype=torch.bfloat16)
        result = op(*given)
        result.sum().backward()
        (expected,), gradients = exact(lambda x, y: torch.relu(x @ y), given, [torch.ones(result.shape)])
        assert result.dtype == torch.bfloat16 and close(result, expected, 2e-2)
        assert all(close(x.grad, g, 2e-2) for x, g in zip(given, gradients, strict=True))


def test_a_sum_of_parts_is_rounded_once():
    """A bias has sums of fp32: of 4096 rows of 1 and -1 + 2^-9 sums of fp16 would be off."""
    op = operator(A @ B + bias, on_cpu="reference", target="sm_70", options=TILES)
    a, b, v = torch.zeros(4096, 8).half(), torch.zeros(8, 8).half(), torch.zeros(8).half().requires_grad_()
    seed = torch.tensor([1.0, -1 + 2**-9]).half().repeat(2048)[:, None].expand(4096, 8)
    op(a, b, v).backward(seed)
    assert v.grad.tolist() == [2048 * 2**-9] * 8 and math.isclose(v.grad[0].item(), 4.0)
