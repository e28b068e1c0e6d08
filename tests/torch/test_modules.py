"""Modules of torch as kernels: against the module itself in float64, gradients by torch's autograd; what is refused."""

import copy

import pytest

from polyvolta.torch.errors import UnsupportedModule, WrongTensor

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from polyvolta.torch import from_module  # noqa: E402
from polyvolta.torch.modules.table import FUNCTIONS, METHODS, MODULES  # noqa: E402
from polyvolta.torch.modules.tracing import trace  # noqa: E402


class Gated(nn.Module):
    def __init__(self, width=24, hidden=40):
        super().__init__()
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Residual(Gated):
    """Scales that are single numbers and vectors, a residual, a matrix of its own, two inputs and two results."""

    def __init__(self):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.randn(24))
        self.matrix = nn.Parameter(torch.randn(40, 24) / 6)

    def forward(self, x, y):
        h = torch.tanh(self.gate(x * self.scale))
        made = h @ self.matrix + self.shift * y
        return made.sigmoid() + x, F.linear(h, self.down.weight, bias=self.down.bias) - torch.add(x, y, alpha=2)


MODULES_OF_ALL_KINDS = {
    "linear": lambda: nn.Linear(24, 17),
    "mlp": lambda: nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.Identity(), nn.Linear(32, 16), nn.Sigmoid()),
    "prologue": lambda: nn.Sequential(nn.Softplus(2.0), nn.Linear(24, 16, bias=False)),
    "gated": Gated,
    "residual": Residual,
}


def inputs_of(module, seed=3):
    generator = torch.Generator().manual_seed(seed)
    count = 2 if isinstance(module, Residual) else 1
    return [torch.randn(2, 5, 24, generator=generator).half().requires_grad_() for _ in range(count)]


def close(found, wanted, bound=3e-3):
    return torch.linalg.norm(found.double() - wanted.double()) <= bound * torch.linalg.norm(wanted.double())


@pytest.mark.parametrize("name", MODULES_OF_ALL_KINDS)
def test_results_and_gradients_are_the_modules(name):
    torch.manual_seed(1)
    module = MODULES_OF_ALL_KINDS[name]().half()
    exact = copy.deepcopy(module).double()
    ours = from_module(module, on_cpu="reference", target="sm_70")
    xs = inputs_of(module)
    wide = [x.detach().double().requires_grad_() for x in xs]
    results, expected = (f if isinstance(f, tuple) else (f,) for f in (ours(*xs), exact(*wide)))
    assert all(r.dtype == torch.float16 and r.shape == e.shape for r, e in zip(results, expected, strict=True))
    assert all(close(r, e) for r, e in zip(results, expected, strict=True))
    torch.autograd.backward(results, [torch.ones_like(r) for r in results])
    torch.autograd.backward(expected, [torch.ones_like(e) for e in expected])
    assert all(close(x.grad, w.grad) for x, w in zip(xs, wide, strict=True))
    for (path, p), q in zip(module.named_parameters(), exact.parameters(), strict=True):
        if q.grad is not None:
            assert close(p.grad, q.grad, 6e-3 if p.numel() > 1 else 2e-2), path  # one number: of a sum that cancels
    assert [*ours.parameters()] == [*module.parameters()]


def test_a_kernel_ends_where_another_product_begins():
    traced = trace(Gated().half(), "float16")
    assert [str(s.expression) for s in traced.steps] == [
        "silu(x @ gate_weight) * (x @ up_weight)", "mul @ down_weight + down_bias"]  # fmt: skip
    assert traced.inputs == {"x": 24} and traced.outputs == ("down",)


def test_interpreted_it_is_the_kernels_own():
    module = nn.Sequential(nn.Linear(24, 16), nn.ReLU()).half()
    ours = from_module(module, target="sm_70")
    (x,) = inputs_of(module)
    (kernel,) = (op.kernel for op in ours.operators.values())
    weight, bias = (p.detach() for p in module.parameters())
    assert torch.equal(ours(x).flatten(0, 1), kernel.interpret(x.detach().flatten(0, 1), weight.t(), bias))


def test_weights_of_fp32_are_converted_and_get_gradients_of_fp32():
    module = nn.Linear(24, 16)
    ours = from_module(module, dtype=torch.float16, on_cpu="reference", target="sm_70")
    x = torch.randn(7, 24)
    assert close(ours(x), module(x)) and ours(x).dtype == torch.float16
    ours(x).float().sum().backward()
    assert module.weight.grad.dtype == torch.float32 and close(module.weight.grad, x.sum(0).expand(16, 24))


def test_compiled_copied_and_with_any_rows():
    module = Gated().half()
    ours = copy.deepcopy(from_module(module, on_cpu="reference", target="sm_70"))
    compiled = torch.compile(ours, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (5, 3):
        x = torch.randn(rows, 24).half().requires_grad_()
        assert torch.equal(compiled(x), ours(x=x))
        compiled(x).sum().backward()
        assert x.grad.any()
    with pytest.raises(WrongTensor, match="x has rows of 24 values, and a tensor of shape"):
        ours(torch.zeros(3, 23).half())
    with pytest.raises(WrongTensor, match="0 tensors were given, and the module takes x"):
        ours()


def test_every_function_of_the_table_is_torchs():
    """Of one operand, on numbers: a table of names could name another function."""
    import polyvolta as pv

    A = pv.tensor("A", (2, 40))
    x = torch.linspace(0.05, 3, 80, dtype=torch.float64).reshape(2, 40) - 0.02
    table = [(f, ours, {}) for f, ours in FUNCTIONS.items()] + [(f, MODULES[f], None) for f in MODULES]
    table += [(getattr(torch.Tensor, name), ours, {}) for name, ours in METHODS.items()]
    seen = 0
    for theirs, ours, extra in table:
        module = theirs().eval() if extra is None else None
        for y in (x, x - 1.5):
            try:
                expected = module(y) if module else theirs(y, **({"training": False} if theirs is F.dropout else {}))
            except (TypeError, ValueError, RuntimeError):
                continue  # of two operands, or of bounds that are missing
            e = ours(module, A) if module else ours(A, **({"training": False} if theirs is F.dropout else {}))
            made = pv.reference(e, y) if e is not A else y
            torch.testing.assert_close(made, expected, rtol=1e-7, atol=1e-7, equal_nan=True)
            seen += 1
    assert seen > 100


class Bad(nn.Module):
    """A Linear, something in `between`, a Linear."""

    def __init__(self, between=None, forward=None):
        super().__init__()
        self.a, self.b, self.between, self.own = nn.Linear(8, 8), nn.Linear(8, 8), between, forward

    def forward(self, x):
        return self.own(self, x) if self.own else self.b(self.between(self.a(x)))


@pytest.mark.parametrize(("module", "message"), [
    (lambda: Bad(nn.LayerNorm(8)), r"kernels have no LayerNorm.*between: LayerNorm\(a\)    <-- here.*hint: it sums"),
    (lambda: Bad(forward=lambda m, x: torch.softmax(m.a(x), -1)), r"no softmax.*test_modules.py:\d+: .*hint: it sums"),
    (lambda: Bad(forward=lambda m, x: m.a(x).cumsum(0)), r"kernels have no cumsum.*<-- here.*hint: there are Linear"),
    (lambda: Bad(forward=lambda m, x: m.a(x) if x.sum() > 0 else x),
     r"doesn't trace this Bad: .*control flow\n +\S+test_modules.py:\d+: .*x.sum\(\) > 0.*hint: no conditions"),
    (lambda: Bad(forward=lambda m, x: m.a(x) @ m.b(x)), "matmul of two computed matrices.*hint: x @ weight"),
    (lambda: Bad(forward=lambda m, x: m.b(m.a(x)[:4])), "kernels have no getitem"),
    (lambda: Bad(nn.Dropout()), r"Dropout: it drops at random: module.eval\(\)"),
    (lambda: Bad(nn.Linear(7, 8)), r"Linear: .*don't multiply: 8 columns on the left, 7 rows"),
    (lambda: Bad(nn.Softplus(threshold=2)), "Softplus: a threshold of 2"),
    (lambda: Bad(forward=lambda m, x: {"y": m.a(x)}), "it returns {'y'"),
    (lambda: Bad(forward=lambda m, x: (m.a(x), x * 2)), "it returns mul, which no product enters"),
    (lambda: Bad(forward=lambda m, x: F.gelu(m.a(x), approximates="tanh")), "gelu"),
    (lambda: nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Embedding(3, 4)), "how long the rows of input are|no Embedding"),
])  # fmt: skip
def test_what_kernels_have_not_is_refused_by_name(module, message):
    with pytest.raises(UnsupportedModule, match=f"(?s){message}"):
        from_module(module().half(), target="sm_70")


def test_weights_of_types_that_kernels_dont_multiply():
    with pytest.raises(UnsupportedModule, match=r"(?s)weight, bias of float32.*hint: module.half\(\)"):
        from_module(nn.Linear(3, 4))
    with pytest.raises(UnsupportedModule, match="no product in this ReLU"):
        from_module(nn.ReLU())
    mixed = nn.Sequential(nn.Linear(3, 4).half(), nn.Linear(4, 4).bfloat16())
    with pytest.raises(UnsupportedModule, match="of float16; 1.weight, 1.bias of bfloat16"):
        from_module(mixed)


def test_names_of_the_room_are_no_modules_whatever_was_imported_before():
    import polyvolta.torch as room
    import polyvolta.torch.modules.module
    import polyvolta.torch.operators  # noqa: F401

    for name in room.__all__:
        assert not isinstance(getattr(room, name), type(room)), name
    assert {*room.__all__} <= {*dir(room)}
    with pytest.raises(AttributeError, match="no attribute 'compile'"):
        room.compile  # noqa: B018
