"""Large expressions: what is shared is looked at once, and depth is bounded by memory alone."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.sched.program import Program

A, B = pv.tensor("A", (2, 3)), pv.tensor("B", (3, 4))
PATHS = 60  # 2**60 paths lead to the product: nothing that walks them ends
DEPTH = 5000  # of calls, beyond Python's recursion limit


def doubled(x):
    for _ in range(PATHS):
        x = 0.5 * x + 0.5 * x
    return x


def chain(x):
    for _ in range(DEPTH // 2):
        x = pv.relu(x) * 1.0
    return x


EPILOGUES = {
    "shared": doubled(A @ B),
    "deep": chain(A @ B),
    "function, shared": pv.pointwise(doubled, A @ B),
    "function, deep": pv.pointwise(chain, A @ B),
}


@pytest.fixture(params=EPILOGUES)
def large(request):
    return EPILOGUES[request.param]


def data():
    rng = np.random.default_rng(0)
    return {t.name: rng.integers(0, 4, t.dims).astype(np.float16) for t in (A, B)}


def test_the_value(large):
    arrays = data()
    assert (pv.reference(large, **arrays) == arrays["A"].astype(float) @ arrays["B"]).all()


def test_printing_is_elided(large):
    graph = Graph.of(large)
    assert max(map(len, (str(large), str(graph)))) < 5000
    assert all(len(text) < 20_000 for text in (repr(large), repr(graph), repr(plan(graph))))


def test_a_plan(large):
    (step,) = plan(Graph.of(large)).steps
    assert [a.tensor for a in step.accesses] == ["C"]


def test_equal_graphs(large):
    graph, same = Graph.of(large), Graph.of(large)
    assert graph == same and hash(graph.statements) == hash(same.statements)
    assert graph.statements != Graph.of(pv.relu(large)).statements


def test_a_program_calls_what_is_too_long_to_write(large):
    arrays, result = data(), np.zeros((2, 4))
    program = Program.of(Graph.of(large))
    assert max(len(s.body) for s in program.statements) < 100
    program(**{n: a.astype(float) for n, a in arrays.items()}, D=result)
    assert (result == arrays["A"].astype(float) @ arrays["B"]).all()


def test_a_program_of_a_large_prologue():
    arrays, result = data(), np.zeros((2, 4))
    program = Program.of(Graph.of(doubled(A) @ chain(B)))
    assert program.statements[0].body == "C[i, j] += compute_S(A[i, k]) * compute_S_(B[k, j])"
    program(**{n: a.astype(float) for n, a in arrays.items()}, C=result)
    assert (result == arrays["A"].astype(float) @ arrays["B"]).all()


def test_kernels(large):
    kernel, arrays = pv.compile(large), data()
    assert len(kernel.source) < 200_000
    assert (kernel.interpret(**arrays) == arrays["A"] @ arrays["B"]).all()


def test_a_name_for_what_is_called_that_nothing_else_has():
    compute_S = pv.tensor("compute_S", (2, 3))  # noqa: N806
    (s,) = Program.of(Graph.of(doubled(compute_S) @ B)).statements
    assert s.body == "C[i, j] += compute_S_(compute_S[i, k]) * B[k, j]"
    (s,) = Program.of(Graph.of(doubled(pv.tensor("A", (pv.sizes("compute_S"), 3))) @ B)).statements
    assert s.body == "C[i, j] += compute_S_(A[i, k]) * B[k, j]"
