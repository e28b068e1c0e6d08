"""Gradients of graphs against differences of the graph's own values in float64: directional derivatives."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph import Graph
from polyvolta.graph.gradients.derive import gradients, summed_over
from polyvolta.graph.gradients.rewrite import has_product
from polyvolta.graph.plans.plans import Unsupported
from polyvolta.graph.tensors import Tensor

M, N, K, L = pv.sizes("M N K L")
SIZES = {"M": 5, "N": 4, "K": 3, "L": 6}
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q, R = pv.tensor("P", (M, L), layout="col"), pv.tensor("Q", (L, N)), pv.tensor("R", (M, N))
bias, S, one = pv.tensor("bias", (N,)), pv.tensor("S", (M, 1)), pv.tensor("one", (1, 1))
W, alpha = pv.tensor("W", (K, K)), pv.scalar("alpha")


def swish(x, beta):
    return x / (1 + np.exp(-beta * x))


GRAPHS = {
    "a product": A @ B,
    "bias and relu": pv.relu(A @ B + bias),
    "gated": pv.silu(A @ B) * (P @ Q),
    "gated, of one A": pv.gelu(A @ B) * (A @ pv.tensor("B2", (K, N))),
    "a sum of products": 2 * (A @ B) - P @ Q + R,
    "prologues of both sides": (pv.tanh(A) * S) @ (pv.square(B) + bias),
    "a scalar": alpha * (A @ (B * alpha)) + bias / alpha,
    "in prologue and epilogue": ((A * S) @ B + S) * bias + pv.sin(R * S),
    "twice in one product": (W @ W) * W,
    "a user's function": pv.pointwise(swish, A @ B + R, bias),
    "one number for all": pv.sigmoid(A @ B * one + one),
    "powers": pv.exp(-((A @ B) ** 3) / 40) + (pv.square(R) + 1) ** 0.7,
    "choices": pv.where(A @ B > R, A @ B, pv.maximum(R, 0.1) * bias),
    "of whole numbers": pv.rint(A @ B) + R * pv.floor(S),
    "two outputs": (A @ B + bias, pv.tanh(A @ B) * R),
    "one output in another": [pv.relu(A @ B), pv.relu(A @ B) * bias + S],
}


def shape(t):
    return tuple(SIZES[str(d)] if str(d) in SIZES else d for d in t.dims)


def evaluated(graph, made, values, seeds):
    """Each input's gradient in float64, by pv.reference of every expression."""
    known = {**values, **dict(zip((t.name for t in made.seeds), seeds, strict=True))}
    for new, old in made.turned.items():
        known[new] = values[old].T if values[old].ndim == 2 else values[old][:, None]

    def value(e):
        if isinstance(e, Tensor):
            return known[e.name]
        names = {t.name for t in Graph.of(e).arguments}
        return pv.reference(e, **{n: known[n] for n in names})

    known |= {o.name: value(o.expr) for o in made.shared}
    found = {}
    for t in graph.inputs:
        found[t.name] = np.zeros(shape(t))
        for e in made.parts[t.name]:
            part = value(e)
            assert part.shape == tuple(SIZES[str(d)] if str(d) in SIZES else d for d in e.shape)
            found[t.name] += part.sum(summed_over(e.shape, t.dims), keepdims=True).reshape(shape(t))
    return found


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_are_directional_derivatives(name):
    graph, rng, step = Graph.of(GRAPHS[name]), np.random.default_rng(len(name)), 1e-5
    values = {t.name: rng.uniform(-1, 1, shape(t)) if t.dims else 0.7 for t in graph.arguments}
    seeds = [rng.uniform(-1, 1, shape(t)) for t in graph.outputs]
    found = evaluated(graph, gradients(graph), values, seeds)
    for t in graph.inputs:
        along = rng.uniform(-1, 1, shape(t))
        up, down = (pv.reference(graph, **(values | {t.name: values[t.name] + s * step * along})) for s in (1, -1))
        slope = sum(np.vdot(seed, (a - b) / (2 * step)) for seed, a, b in zip(seeds, up, down, strict=True))
        assert np.vdot(found[t.name], along) == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("graph", [A @ pv.tensor("x", (K, 1)) * R, A @ B @ pv.tensor("V", (N, K))])
def test_a_graph_that_no_kernel_is_made_for_is_refused(graph):
    with pytest.raises(Unsupported):
        gradients(Graph.of(graph))


@pytest.mark.parametrize("name", GRAPHS)
def test_what_products_enter_are_graphs_that_kernels_are_made_for(name):
    from polyvolta.graph.plans.idioms import plan

    made = gradients(Graph.of(GRAPHS[name]))
    plans = [plan(Graph.of(made.shared))] if made.shared else []
    plans += [plan(Graph.of(e)) for parts in made.parts.values() for e in parts if has_product(e)]
    assert all(p.contractions for p in plans)
    assert plans or name in ("of whole numbers",)


def test_names_are_free():
    d_C, B_t = pv.tensor("d_C", (M, N)), pv.tensor("B_t", (N,))
    made = gradients(Graph.of(A @ B * d_C + B_t))
    names = [t.name for t in (*made.seeds, *made.shared_tensors)] + list(made.turned)
    assert len({*names, "A", "B", "d_C", "B_t"}) == len(names) + 4


def test_what_is_not_needed_is_not_computed():
    made = gradients(Graph.of(alpha * (A @ B) + bias))
    assert made.shared == ()
    assert gradients(Graph.of(pv.floor(A @ B))).parts == {"A": (), "B": ()}


@pytest.mark.parametrize("f, x, expected", [
    (pv.relu, -1.0, 0.0), (pv.relu, 1.0, np.inf), (lambda p: pv.maximum(p, 0.5), 0.0, 0.0),
    (lambda p: pv.minimum(2.0, p), 3.0, 0.0), (lambda p: pv.where(p > 0, 1.0, p), 1.0, 0.0),
])  # fmt: skip
def test_an_infinite_gradient_is_not_taken_where_the_derivative_is_0(f, x, expected):
    """As in torch, which masks: 0 times infinity would be NaN, and a step with it lost."""
    A, B = pv.tensor("A", (1, 1)), pv.tensor("B", (1, 1))
    found = gradients(Graph.of(f(A @ B)))
    (step,) = found.shared
    graph = Graph.of(step.expr)
    values = {"A": [[x]], "B": [[1.0]], **{t.name: [[np.inf]] for t in found.seeds}}
    with np.errstate(all="ignore"):
        result = pv.reference(step.expr, *(np.array(values[t.name], np.float16) for t in graph.inputs))
    assert np.ravel(result).tolist() == [expected]
