"""Programs from graphs: the same statements, in order, and what they compute."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph.dag import Graph
from polyvolta.sched.errors import BadProgram
from polyvolta.sched.program import Program, instances

M, N, K, L = pv.sizes("M N K L")
A, B, C = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("C", (N, L))
bias = pv.tensor("bias", (N,))

GRAPHS = {
    "product": A @ B,
    "epilogue": pv.relu(A @ B + bias),
    "chain": (A @ B) @ C,
    "prologue": pv.relu(A) @ (B * 2 - 0.5),
    "several": pv.sigmoid(-(A @ B) - bias),
}
SIZES = {"M": 2, "N": 3, "K": 4, "L": 2}


@pytest.mark.parametrize("name", GRAPHS)
def test_running_the_bodies_is_the_reference(name):
    expr = GRAPHS[name]
    graph = Graph.of(expr)
    program = Program.of(graph)
    rng = np.random.default_rng(1)
    data = {t.name: rng.standard_normal([SIZES[d.name] for d in t.dims]) for t in graph.inputs}
    (out,) = graph.outputs
    result = np.zeros([SIZES[d.name] for d in out.dims])
    program(**data, **{out.name: result}, **{p: SIZES[p] for p in program.params})
    expected = pv.reference(expr, **data)
    assert np.allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_bodies():
    program = Program.of(Graph.of(pv.relu(A @ B + bias)))
    assert [s.body for s in program.statements] == [
        "D[i, j] += A[i, k] * B[k, j]".replace("D", program.local[0]),
        f"{program.arguments[3]}[i, j] = relu({program.local[0]}[i, j] + bias[j])",
    ]
    assert set(program.functions) == {"relu"}


def test_results_of_a_graph_are_local_unless_they_are_outputs():
    product = A @ B
    graph = Graph.of([product, pv.relu(product)])
    assert Program.of(graph).local == ()
    assert len(Program.of(Graph.of(pv.relu(product))).local) == 1
    assert Program.of(Graph.of(pv.relu(product)).statements).local == ()


def test_statements_run_one_after_another():
    program = Program.of(Graph.of((A @ B) @ C))
    ran = instances(program.schedule, **SIZES)
    assert [s for s, _ in ran] == ["S1"] * (2 * 3 * 4) + ["S2"] * (2 * 2 * 3)
    for name in ("S1", "S2"):
        points = [p for s, p in ran if s == name]
        assert points == sorted(points)


def test_relations_are_those_of_the_graph():
    graph = Graph.of(A @ B)
    (s,) = Program.of(graph.statements).statements
    (own,) = graph.statements
    assert s.domain.is_equal(own.domain)
    assert [r.relation.is_equal(q.relation) for r, q in zip(s.reads, own.reads, strict=True)] == [True] * 3
    assert s.writes[0].relation.is_equal(own.write.relation)


def test_no_statements():
    with pytest.raises(BadProgram, match="at least one statement"):
        Program.of([])


@pytest.mark.parametrize("what", [3, "S", [A], None])
def test_programs_of_other_things(what):
    with pytest.raises(BadProgram, match="a program is made of a graph or of its statements, not of "):
        Program.of(what)
