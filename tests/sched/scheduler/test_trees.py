"""The paper's initial schedules (figures sched1-initial, sched3-initial, sched:mm-mm-add), typed from the paper, and
what isl finds for programs with an initialisation, typed from isl."""

from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.graph.dag import Graph
from polyvolta.sched.program import Program, nest_from_source
from polyvolta.sched.scheduler import initial, schedule
from polyvolta.sets import Set

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N))
BIAS = pv.tensor("bias", (M, N))

FIGURES = {
    "sched1-initial": (
        A @ B,
        """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [i, j, k]""",
    ),
    "sched3-initial": (
        pv.relu(A @ B + BIAS),
        """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [i, j, k];
        S2[i, j] → [i, j, K]
    SEQUENCE
      FILTER: S1[i, j, k]
      FILTER: S2[i, j]""",
    ),
    "sched:mm-mm-add": (
        A @ B + P @ Q,
        """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S3[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [i, j, k];
        S2[i, j, k] → [i, j, k];
        S3[i, j] → [i, j, K]
    SEQUENCE
      FILTER: S1[i, j, k]
      FILTER: S2[i, j, k]
      FILTER: S3[i, j]""",
    ),
}


def flags(tree):
    return [[m.coincident for m in tree.band(at).members] for at in tree.bands()]


@pytest.mark.parametrize("figure", FIGURES)
def test_the_papers_initial_schedules_are_found(figure):
    graph, text = FIGURES[figure]
    tree = initial(Graph.of(graph).statements)
    assert str(tree) == text
    assert flags(tree) == [[True, True, False]]
    assert tree.band((0,)).permutable
    assert tree.dependences


def test_products_of_different_depth_are_fused_so_that_both_end_when_their_sum_begins():
    """As isl has it: no order of K and L is known, so each is moved by the other's depth."""
    program = Program.of(Graph.of(A @ B + pv.tensor("X", (M, L)) @ pv.tensor("Y", (L, N))).statements)
    positive = replace(program, context=Set("[M, N, K, L] -> { : M > 0 and N > 0 and K > 0 and L > 0 }"))
    for known in (program, positive):
        (at,) = schedule(known).bands()
        band = schedule(known).band(at)
        assert [str(band.schedule(s)[2]) for s in ("S1", "S2", "S3")] == ["L + k", "K + k", "K + L"]
        assert [m.coincident for m in band.members] == [True, True, False]


def test_an_initialisation_joins_the_loop_at_its_start_as_in_isl():
    gemm = nest_from_source("""
        def gemm(A, B, C, M, N, K):
            for i in range(M):
                for j in range(N):
                    C[i, j] = 0.0
                    for k in range(K):
                        C[i, j] += A[i, k] * B[k, j]
    """)
    tree = schedule(gemm)
    assert str(tree).split("\n", 2)[2] == (
        """\
  BAND: S1[i, j] → [i, j, 0];
        S2[i, j, k] → [i, j, k]
    SEQUENCE
      FILTER: S1[i, j]
      FILTER: S2[i, j, k]"""
    )
    assert flags(tree) == [[True, True, False]]


def test_an_epilogue_joins_at_the_end_where_the_loop_is_known_to_have_one():
    text = """
        def layer(A, B, C, D, M, N, K):
            for i in range(M):
                for j in range(N):
                    C[i, j] = 0.0
                    for k in range(K):
                        C[i, j] += A[i, k] * B[k, j]
            for i in range(M):
                for j in range(N):
                    D[i, j] = max(C[i, j], 0.0)
    """
    program = nest_from_source(text)
    known = replace(program, context=Set("[M, N, K] -> { : K >= 0 }"))
    band = schedule(known).band((0, 0))
    assert [str(band.schedule(s)[2]) for s in ("S1", "S2", "S3")] == ["0", "k", "K"]
    assert len(schedule(program).bands()) == 2  # for K < 0 the member K would be before the 0 of the initialisation


def test_numeric_sizes_give_the_same_trees():
    tree = initial(Graph.of(pv.relu(pv.tensor("A", (64, 32)) @ pv.tensor("B", (32, 48)))).statements)
    band = tree.band((0,))
    assert [str(e) for e in band.schedule("S1")] == ["i", "j", "k"]
    assert [str(e) for e in band.schedule("S2")] == ["i", "j", "31"]  # the sequence below orders it after S1[i, j, 31]
    assert flags(tree) == [[True, True, False]]
