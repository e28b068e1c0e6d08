"""Which statements share a band under each of the choices."""

import pytest

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.program import Program, nest_from_source
from polyvolta.sched.scheduler import schedule
from polyvolta.sched.scheduler.fusion import Fusion
from polyvolta.sched.tree import SetNode
from tests.sched.scheduler.brute import check, conflicts

CHAIN = """
    def f(A, B, C, N, M):
        for i in range(N):
            for j in range(M):
                B[i, j] = A[i, j] + 1.0
        for i in range(N):
            for j in range(M):
                C[i, j] = B[i, j] * 2.0
"""
BLUR = """
    def f(A, B, C, N):
        for i in range(1, N - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(2, N - 2):
            C[i] = B[i - 1] + B[i] + B[i + 1]
"""
TWO_PRODUCTS = """
    def f(A, B, T, C, D, N):
        for i in range(N):
            for j in range(N):
                for k in range(N):
                    T[i, j] += A[i, k] * B[k, j]
        for i in range(N):
            for j in range(N):
                for k in range(N):
                    D[i, j] += T[i, k] * C[k, j]
"""
REVERSED = """
    def f(A, B, C, N):
        for i in range(N):
            B[i] = A[i]
        for i in range(N):
            C[i] = B[N - 1 - i]
"""
TRANSPOSED = """
    def f(A, B, C, N, M):
        for i in range(N):
            for j in range(M):
                B[i, j] = A[i, j]
        for j in range(M):
            for i in range(N):
                C[j, i] = B[i, j]
"""
APART = """
    def f(A, B, C, D, N):
        for i in range(N):
            A[i] = C[i]
        for i in range(N):
            B[i] = D[i]
"""
BETWEEN = """
    def f(A, B, C, D, N):
        for i in range(N):
            A[i] = D[i]
        for i in range(1, N):
            B[i] = B[i - 1] + A[N - i]
        for i in range(N):
            C[i] = A[i] + B[i]
"""
SUM = """
    def f(A, s, m, N):
        s[0] = 0.0
        for i in range(N):
            s[0] += A[i]
        m[0] = s[0] / 7.0
"""

TEXTS = {
    "chain": CHAIN,
    "blur": BLUR,
    "two products": TWO_PRODUCTS,
    "reversed": REVERSED,
    "transposed": TRANSPOSED,
    "apart": APART,
    "between": BETWEEN,
    "sum": SUM,
}

# which statements share an outermost band
CLUSTERS = {
    "chain": {"min": "S1 | S2", "paper": "S1+S2", "max": "S1+S2", "near": "S1+S2"},
    "blur": {"min": "S1 | S2", "paper": "S1 | S2", "max": "S1+S2", "near": "S1+S2"},
    "two products": {"min": "S1 | S2", "paper": "S1 | S2", "max": "S1+S2", "near": "S1+S2"},
    "reversed": {"min": "S1 | S2", "paper": "S1+S2", "max": "S1+S2", "near": "S1+S2"},
    "transposed": {"min": "S1 | S2", "paper": "S1+S2", "max": "S1+S2", "near": "S1+S2"},
    "apart": {"min": "S1 | S2", "paper": "S1 | S2", "max": "S1+S2", "near": "S1 | S2"},
    "between": {"min": "S1 | S2 | S3", "paper": "S1 | S2 | S3", "max": "S1+S2 | S3", "near": "S1+S2+S3"},
    "sum": {"min": "S2", "paper": "S2", "max": "S2", "near": "S1+S2"},
}


def outermost(tree):
    """The bands that are below no band, as text."""
    bands = [at for at in tree.bands() if not any(at[:k] in tree.bands() for k in range(len(at)))]
    return " | ".join("+".join(tree.band(at).statements) for at in bands)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("fuse", ["min", "paper", "max", "near"])
def test_the_clusters(name, fuse):
    program = nest_from_source(TEXTS[name])
    tree = schedule(program, fuse)
    assert outermost(tree) == CLUSTERS[name][fuse]
    sizes = dict.fromkeys(program.params, 6)
    check(tree, conflicts(TEXTS[name], program, **sizes), **sizes)


def test_a_stencil_is_fused_by_a_shift():
    band = schedule(nest_from_source(BLUR), "max").band((0,))
    assert [str(band.schedule(s)[0]) for s in ("S1", "S2")] == ["i", "i + 1"]


def test_loops_that_run_against_each_other_are_fused_by_reversing_one():
    band = schedule(nest_from_source(REVERSED)).band((0,))
    assert [str(band.schedule(s)[0]) for s in ("S1", "S2")] == ["i + 1", "N - i"]
    assert band.members[0].coincident


def test_transposed_loops_are_interchanged():
    band = schedule(nest_from_source(TRANSPOSED)).band((0,))
    assert [[str(e) for e in band.schedule(s)] for s in ("S1", "S2")] == [["i", "j"], ["i", "j"]]
    assert all(m.coincident for m in band.members)


def test_statements_that_do_not_depend_on_each_other_are_a_set():
    tree = schedule(nest_from_source(APART))
    assert isinstance(tree.node((0,)), SetNode)
    assert [f.statements for f in tree.node((0,)).children] == [("S1",), ("S2",)]


def test_the_reasons_are_told():
    steps = []
    schedule(nest_from_source(TWO_PRODUCTS), explain=steps.append)
    assert "S1 and S2 stay apart: together 1 of 2 outer members are parallel" in steps
    assert "dependence S1 -> S2 (RAW on T)" in steps
    assert "in sequence: S1, S2" in steps
    assert "  member S1: i  (parallel)" in steps


def test_a_choice_that_there_is_not_is_named():
    with pytest.raises(BadSchedule, match="maxi"):
        schedule(nest_from_source(CHAIN), "maxi")


def test_statements_keep_the_order_of_the_program_not_that_of_its_domain():
    program = Program.parse(
        domain="[N] -> { C[i] : 0 <= i < N; B[i] : 0 <= i < N; A[i] : 0 <= i < N }",
        schedule="{ A[i] -> [0, i]; B[i] -> [1, i]; C[i] -> [2, i] }",
        reads="{ B[i] -> x[i]; C[i] -> x[i] }",
        writes="{ A[i] -> x[i]; B[i] -> y[i]; C[i] -> z[i] }",
    )
    tree = schedule(program)
    assert tree.band((0,)).statements == ("A", "B", "C")
    assert [f.statements for f in tree.node((0, 0)).children] == [("A",), ("B",), ("C",)]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("fuse", ["paper", "max"])
def test_what_is_plainly_best_is_what_bands_alone_say(name, fuse, monkeypatch):
    """Where no statement can have a better band alone, these bands are not looked for."""
    program = nest_from_source(TEXTS[name])
    steps, others = [], []
    tree = schedule(program, fuse, explain=steps.append)
    monkeypatch.setattr(Fusion, "_at_best", lambda *_: False)
    assert tree == schedule(program, fuse, explain=others.append) and steps == others
