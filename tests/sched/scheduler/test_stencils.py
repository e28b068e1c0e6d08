"""Skewing found by itself, and factorisations: bands and rows that the literature has for these programs.

Sources: Bondhugula et al. (PLDI 2008) for jacobi-1d, [t, 2t + i], and for LU, [k, i, j] of full width; seidel-2d's
[t, t + i, 2t + i + j] is the diamond of Wonnacott's and Pluto's papers.
"""

import pytest

from polyvolta.sched.program import nest_from_source
from polyvolta.sched.scheduler import schedule
from tests.sched.scheduler.brute import check, conflicts

PROGRAMS = {
    "jacobi-1d": """
        def f(A, B, T, N):
            for t in range(T):
                for i in range(1, N - 1):
                    B[i] = A[i - 1] + A[i] + A[i + 1]
                for i in range(1, N - 1):
                    A[i] = B[i - 1] + B[i] + B[i + 1]
    """,
    "jacobi-1d over time": """
        def f(A, T, N):
            for t in range(T):
                for i in range(1, N - 1):
                    A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]
    """,
    "seidel-2d": """
        def f(A, T, N):
            for t in range(T):
                for i in range(1, N - 1):
                    for j in range(1, N - 1):
                        A[i, j] = (A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j]
                                   + A[i, j + 1] + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1])
    """,
    "lu": """
        def f(A, N):
            for i in range(N):
                for j in range(i):
                    for k in range(j):
                        A[i, j] -= A[i, k] * A[k, j]
                    A[i, j] /= A[j, j]
                for j in range(i, N):
                    for k in range(i):
                        A[i, j] -= A[i, k] * A[k, j]
    """,
    "floyd-warshall": """
        def f(P, N):
            for k in range(N):
                for i in range(N):
                    for j in range(N):
                        P[i, j] = min(P[i, j], P[i, k] + P[k, j])
    """,
    "gauss-seidel without time": """
        def f(A, N):
            for i in range(1, N):
                for j in range(1, N - 1):
                    A[i, j] = A[i - 1, j + 1] + A[i, j - 1]
    """,
}

BANDS = {
    "jacobi-1d": [("S1", "t, i + 2*t"), ("S2", "t, i + 2*t + 1")],
    "jacobi-1d over time": [("S", "t, i + t")],
    "seidel-2d": [("S", "t, i + t, i + j + 2*t")],
    "lu": [("S1", "k, i, j"), ("S2", "j, i, j"), ("S3", "k, i, j")],
    "floyd-warshall": [("S", "k")],
    "gauss-seidel without time": [("S", "i, i + j")],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_outermost_band(name):
    program = nest_from_source(PROGRAMS[name])
    tree = schedule(program)
    band = tree.band((0,))
    assert [(s, ", ".join(str(e) for e in band.schedule(s))) for s in band.statements] == BANDS[name]
    assert band.permutable and not any(m.coincident for m in band.members)
    sizes = {p: 3 if p == "T" else 6 for p in program.params}
    check(tree, conflicts(PROGRAMS[name], program, **sizes), **sizes)


def test_below_the_intermediate_vertex_paths_are_tiled_in_both_dimensions():
    tree = schedule(nest_from_source(PROGRAMS["floyd-warshall"]))
    inner = tree.band((0, 0))
    assert [str(e) for e in inner.schedule("S")] == ["i", "j"] and inner.permutable


def test_a_stencil_without_dependences_inside_a_step_is_parallel_there_when_nothing_is_skewed():
    """Each time step reads the one before: i and j are parallel below t, which tiling gives up (`t, i + t, j + t`)."""
    text = """
        def f(A, T, N):
            for t in range(T):
                for i in range(1, N):
                    A[t + 1, i] = A[t, i] + A[t, i - 1]
    """
    band = schedule(nest_from_source(text)).band((0,))
    assert [str(e) for e in band.schedule("S")] == ["t", "i"]
    assert [m.coincident for m in band.members] == [False, False]


def test_the_outer_loop_is_the_parallel_one():
    text = """
        def f(A, N):
            for i in range(1, N):
                for j in range(N):
                    A[i, j] = A[i - 1, j]
    """
    program = nest_from_source(text)
    band = schedule(program).band((0,))
    assert [str(e) for e in band.schedule("S")] == ["j", "i"]
    assert [m.coincident for m in band.members] == [True, False]
    band = schedule(program, outer_parallel=False).band((0,))
    assert [str(e) for e in band.schedule("S")] == ["j", "i"]  # also the row of the shortest distance
    text = text.replace("A[i - 1, j]", "A[i - 1, j] + A[i - 1, j + 1]").replace("range(N)", "range(N - 1)")
    assert [m.coincident for m in schedule(nest_from_source(text)).band((0,)).members] == [False, False]


def test_a_diagonal_dependence_is_parallel_along_the_diagonal():
    text = """
        def f(A, N):
            for i in range(1, N):
                for j in range(1, N):
                    A[i, j] = A[i - 1, j - 1]
    """
    band = schedule(nest_from_source(text)).band((0,))
    assert [str(e) for e in band.schedule("S")] == ["i - j", "i"]
    assert [m.coincident for m in band.members] == [True, False]
    band = schedule(nest_from_source(text), negative=False).band((0,))
    assert [str(e) for e in band.schedule("S")] == ["i", "j"]
    assert [m.coincident for m in band.members] == [False, False]
