"""Modules whose forward isn't all that they do, or that changes tensors: as torch has it, or refused by name."""

import copy
import operator as operator_
import pickle
import random

import pytest

from polyvolta.torch.errors import ChangedModule, UnsupportedModule, WrongTensor

torch = pytest.importorskip("torch")
from torch import fx, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch.nn.utils import parametrizations, parametrize, prune  # noqa: E402

import polyvolta as pv  # noqa: E402
from polyvolta.cuda.errors import CudaError  # noqa: E402
from polyvolta.cuda.run.views import BadArray  # noqa: E402
from polyvolta.torch import from_module, operator  # noqa: E402
from polyvolta.torch.modules.inplace import CHANGED, without_changes  # noqa: E402
from polyvolta.torch.modules.tracer import operations  # noqa: E402


class Own(nn.Module):
    """Two Linears and what is done with them."""

    def __init__(self, forward=None, **modules):
        super().__init__()
        self.l, self.d, self.own = nn.Linear(8, 8), nn.Linear(8, 8), forward
        self.register_buffer("mask", torch.ones(8))
        for name, m in modules.items():
            self.add_module(name, m)

    def forward(self, x):
        return self.own(self, x)


def converted(module, **options):
    return from_module(module, on_cpu="reference", target="sm_70", **options)


def same(module, x=None):
    """The converted module against itself in float64."""
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(2)).half() if x is None else x
    exact = copy.deepcopy(module).double()(x.double())
    return torch.linalg.norm(converted(module)(x).double() - exact) <= 3e-3 * torch.linalg.norm(exact)


def read_by_both_names(m, x):
    h = m.l(x)
    return h + m.d(m.r(h))


def relu_of_a_function(m, x):
    h = m.l(x)
    r = F.relu(h, inplace=True)
    return h * 2 + r


def relu_by_place(m, x):
    h = m.l(x)
    F.relu(h, True)
    return h


def named_twice(m, x):
    h = g = m.l(x)
    h += 1.0
    h /= 2
    h **= 2
    h *= 3
    h -= x
    return h * g


def methods(m, x):
    h = m.l(x)
    g = h.mul(2)  # of what h was
    h.add_(1).clamp_(-0.5, 0.5)
    return m.d(h) * h + g


def passed_on(m, x):
    h = m.l(x)
    i, f = m.i(h), F.dropout(h, 0.5, training=False)
    i.relu_()
    f.mul_(2)
    return h + m.d(h)


def random_forward(seed):
    """A program of a few changes and pure operations on tensors of several names."""

    def forward(m, x):
        draw = random.Random(seed)
        names = [m.l(x), m.d(x)]
        for _ in range(8):
            a, b = draw.choice(names), draw.choice(names)
            match draw.randrange(8):
                case 0:
                    names.append(a * b)
                case 1:
                    names.append(m.i(a))
                case 2:
                    names.append(m.r(a))
                case 3:
                    a += b
                    names.append(a)
                case 4:
                    a.sub_(b).mul_(0.5)
                case 5:
                    names.append(F.hardtanh(a, -0.5, 0.5, draw.random() < 0.5))
                case 6:
                    names.append(F.dropout(b, 0.5, False, True))
                case 7:
                    a.add_(a.relu_(), alpha=2)
        return sum(draw.sample(names, 2))

    return forward


def test_without_changes_random_programs_are_what_they_were():
    torch.manual_seed(6)
    x = torch.randn(4, 8)
    changed = 0
    for seed in range(25):
        module = Own(random_forward(seed), r=nn.ReLU(inplace=True), i=nn.Identity())
        _, graph = operations(module)
        without_changes(module, graph)
        names = [n for n in graph.nodes if CHANGED in n.meta]
        for node in names:  # computed as pure operations, as kernels do
            if node.op == "call_method":
                node.target = node.target.removesuffix("_")
            elif node.op == "call_module":
                module.r.inplace = False
            elif node.target is operator_.iadd:
                node.target = operator_.add
            else:
                node.args = node.args[:3]
        changed += len(names)
        pure = fx.GraphModule(module, graph)(x)
        module.r.inplace = True
        assert torch.equal(pure, module(x)), seed
    assert changed > 50


CHANGES = [read_by_both_names, relu_of_a_function, relu_by_place, named_twice, methods, passed_on]


@pytest.mark.parametrize("forward", CHANGES, ids=lambda f: f.__name__)
def test_changed_tensors_are_read_as_they_are_by_then(forward):
    torch.manual_seed(4)
    module = Own(forward, r=nn.ReLU(inplace=True), i=nn.Identity()).half()
    assert same(module)


def test_a_chain_with_activations_in_place_is_that_chain():
    from polyvolta.torch.modules.tracing import trace

    layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 8), nn.ReLU6(inplace=True)).half()
    pure = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU6()).half()
    ours, expected = ([s.expression for s in trace(m, "float16").steps] for m in (layers, pure))
    assert ours == expected and len(ours) == 2
    assert same(layers)


def changes_input(m, x):
    x.mul_(2)
    return m.l(x)


def changes_input_by_another_name(m, x):
    h = m.i(x)
    h += 1
    return m.l(x)


def changes_weight(m, x):
    m.l.weight.mul_(2)
    return m.l(x)


def changes_shape(m, x):
    h = m.n(x)
    h += m.l(x)
    return h


def all_parametrized(module):
    for name in [n for n, _ in module.named_parameters()]:
        parametrize.register_parametrization(module, name, nn.Identity())
    return module


@pytest.mark.parametrize(("module", "message"), [
    (lambda: Own(changes_input), r"mul_ changes x in place, an input, .*mul_\(x, 2\)    <-- here.*hint: inplace=False"),
    (lambda: Own(changes_input_by_another_name, i=nn.Identity()), "iadd changes x in place"),
    (lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(8, 8)), "ReLU changes input in place"),
    (lambda: Own(changes_weight), r"mul_ changes l.weight in place, a weight"),
    (lambda: Own(changes_shape, n=nn.Linear(8, 1)), "iadd changes a tensor's shape"),
    (lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(8, 8))), "no ParametrizedLinear: weight is computed"),
    (lambda: nn.Sequential(all_parametrized(nn.Linear(8, 8))),
     r"ParametrizedLinear: weight, bias are computed.*\(module, .weight.\) leaves"),
    (lambda: nn.Sequential(prune.l1_unstructured(nn.Linear(8, 8), "weight", 0.5)), "pre-hook, L1Unstr.*prune.rem"),
    (lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Tanh(), parametrizations.orthogonal(nn.Linear(8, 8))),
     "no ParametrizedLinear.*3: Param"),
    (lambda: Own(lambda m, x: m.l(x) + torch.randn(8)), r"its forward makes a tensor.*hint: register_buffer"),
    (lambda: Own(lambda m, x: x * m.mask), r"there is no product in this Own.*mul = mul\(x, mask\)"),
    (lambda: nn.Sequential(nn.ReLU(), nn.Tanh()), "there is no product in this Sequential"),
    (lambda: nn.Sequential(nn.Conv2d(3, 4, 5)), "kernels have no Conv2d"),
])  # fmt: skip
def test_refused_by_name(module, message):
    module = module().half()
    before = {n: p.clone() for n, p in module.state_dict().items()}, {*vars(module)}
    with pytest.raises(UnsupportedModule, match=f"(?s){message}"):
        from_module(module, target="sm_70")
    assert all(torch.equal(before[0][n], p) for n, p in module.state_dict().items()) and before[1] == {*vars(module)}


def test_hooks_of_any_module_and_of_all_are_refused():
    def doubled(m, *args):
        return None

    for register in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"):
        module = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.ReLU())).half()
        for m, path in ((module, "the module itself"), (module[1], "1: Seq"), (module[1][0], "1.0: ReLU")):
            handle = getattr(m, register)(doubled)
            with pytest.raises(UnsupportedModule, match=f"(?s)hook, doubled, .*{path}"):
                from_module(module)
            handle.remove()
    handle = nn.modules.module.register_module_forward_hook(doubled)
    with pytest.raises(UnsupportedModule, match="forward hook of all modules, doubled"):
        from_module(module)
    handle.remove()
    with pytest.warns(FutureWarning):
        old = nn.utils.weight_norm(nn.Linear(8, 8).half())
    with pytest.raises(UnsupportedModule, match="(?s)pre-hook, WeightNorm.*remove_weight_norm"):
        from_module(old)
    module[0].forward = lambda x: x
    with pytest.raises(UnsupportedModule, match="a forward of its own"):
        from_module(module)


def test_what_a_conversion_read_once_is_watched():
    x = torch.randn(3, 8).half()
    module = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Dropout(0.5), nn.ReLU()).half().eval()
    ours = converted(module)
    expected = ours(x)
    with pytest.raises(ChangedModule, match=r"(?s)1, a Dropout, is in training mode.*hint: module.eval\(\)"):
        ours.train()(x)
    assert torch.equal(ours.eval()(x), expected)
    changes = [
        (lambda m: m.__setitem__(2, nn.Tanh()), "the Sequential has other modules"),
        (lambda m: m.append(nn.Tanh()), "the Sequential has other modules"),
        (lambda m: m[0].register_forward_hook(lambda *a: None), "0, a Linear, has a hook"),
        (lambda m: setattr(m[0], "bias", nn.Parameter(torch.zeros(8).half())), "has a bias, and had none"),
        (lambda m: setattr(m[0], "weight", None), "the Linear has no weight"),
    ]
    for change, message in changes:
        other = copy.deepcopy(ours)
        change(other.module)
        with pytest.raises(ChangedModule, match=message):
            other(x)
    with torch.no_grad():
        module[0].weight.mul_(2)
    assert torch.equal(ours(x), 2 * expected)
    module[0].weight = nn.Parameter(torch.eye(8).half())
    assert torch.equal(ours(x), x.relu())


def test_modes_matter_where_a_forward_asks_for_them():
    def forward(m, x):
        return m.l(x) if m.training else m.d(x)

    x = torch.randn(3, 8).half()
    for does, matters in ((forward, True), (lambda m, x: m.l(x), False),
                          (lambda m, x: F.dropout(m.l(x), 0.5, m.training), True)):  # fmt: skip
        module = Own(does).half().eval()
        ours = converted(module)
        assert torch.allclose(ours(x), module(x), atol=2e-3) and not module.training
        ours.train()
        if matters:
            with pytest.raises(ChangedModule, match="the Own is in training mode, and was in the other"):
                ours(x)
        else:
            ours(x)


class WithDefaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x, scale=2.0, other=None, *, negate=False):
        h = self.l(x) * scale
        if scale > 1:
            h = h + 1
        h = h if other is None else h * other
        return -h if negate else h


def test_defaults_are_taken():
    module, x = WithDefaults().half(), torch.randn(3, 8).half()
    ours = converted(module)
    assert torch.allclose(ours(x), module(x), atol=1e-2)
    with pytest.raises(WrongTensor, match="(?s)2 tensors were given.*scale=2.0, other=None, negate=False is what"):
        ours(x, 3.0)


def test_what_is_no_module_or_no_tensor_is_said():
    with pytest.raises(UnsupportedModule, match=r"a module of torch.nn, and a function was given"):
        from_module(lambda x: x)
    with pytest.raises(UnsupportedModule, match=r"(?s)the class \w+ was given.*hint: Module\(\)"):
        from_module(nn.ReLU)
    ours, x = converted(nn.Linear(8, 8).half()), torch.randn(3, 8).half()
    (op,) = ours.operators.values()
    for wrong, message in ((x.numpy(), "(?s)input is a tensor, and a ndarray.*torch.as_tensor"),
                           (None, "and None was given"),
                           (x.to_sparse(), "(?s)layout sparse_coo was given.*input.to_dense()"),
                           (x.to(torch.complex64), "real numbers")):  # fmt: skip
        with pytest.raises(WrongTensor, match=message):
            ours(wrong)
    weight, bias = ours.module.weight.detach().t(), ours.module.bias.detach()
    for given in (x.to_sparse(), x.to_sparse().requires_grad_()):
        with pytest.raises(WrongTensor, match=r"(?s)sparse_coo.*\^\^\^.*input.to_dense()"):
            op(given, weight, bias)
    with pytest.raises(BadArray, match=r"hint: input.to\(torch.float16\)"):
        op.kernel(x.float(), weight, bias)
    with pytest.raises(BadArray, match="input is a tensor of torch on the device meta"):
        op.kernel(x.to("meta"), weight.to("meta"), bias.to("meta"))
    with pytest.raises(CudaError, match="sm_70 has no instruction that multiplies bfloat16"):
        from_module(nn.Linear(8, 8).bfloat16(), target="sm_70")


def test_pickled():
    x = torch.randn(3, 8).half()
    ours = converted(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).half())
    again = pickle.loads(pickle.dumps(ours))
    assert torch.equal(again(x), ours(x)) and again.module is not ours.module
    assert [*again.operators.values()] == [*ours.operators.values()]  # by their names, of which there is one each
    with torch.no_grad():
        again.module[0].weight.zero_()
    assert again(x).any(0).sum() < 8 and torch.equal(again.module[0].bias.relu().expand(3, 8), again(x))
    (op,) = ours.operators.values()
    from polyvolta.torch.operators import _restored

    call, (kernel, name, gradient, _) = op.__reduce__()
    other = call(kernel, name, gradient, "kernel")  # the name is taken, by one that isn't the same
    assert other is not op and other.name.startswith(name) and call is _restored
    weight, bias = ours.module[0].weight.t(), ours.module[0].bias
    y = other(x, weight, bias)
    y.sum().backward()
    assert torch.allclose(y, ours(x), atol=1e-2) and weight.shape == (8, 8)


def test_shown_in_notebooks():
    M, N, K = pv.sizes("M N K")
    A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    op = operator(pv.relu(A @ B), on_cpu="reference", target="sm_70")
    assert all(s in op._repr_html_() for s in (op.name, "gradient of A: ", "CUDA C++"))
    assert "gradient of B: " in op.backward._repr_html_()
    ours = converted(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).half())
    assert all(s in ours._repr_html_() for s in ("Sequential", "x1 = relu(input @", "rows of 8 values", "CUDA C++"))
