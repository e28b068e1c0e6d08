"""Where the text of a nest comes from: files, notebook cells, texts; and what is said when there is none."""

import functools
import linecache
import math

import numpy as np
import pytest

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sched.program import Program, nest, nest_from_source

WIDTH = 3
SCALE = 0.25


@nest
def gemm(A, B, C, M, N, K):
    """The product of two matrices."""
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


def test_a_decorated_function_is_a_program_and_still_runs():
    assert isinstance(gemm, Program)
    assert repr(gemm) == "<Program gemm: S; print it>"
    A, B, C = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.zeros((2, 4))
    gemm(A, B, C, M=2, N=4, K=3)
    assert np.array_equal(C, A @ B)


def test_numbers_and_functions_of_the_surroundings():
    offset = 2

    @nest
    def f(A, N):
        for i in range(WIDTH, N):
            A[i - offset] = SCALE * math.sqrt(A[i]) + np.float64(math.pi)

    assert str(f.domain) == "[N] -> { S[i] : 3 <= i < N }"
    assert f.statements[0].body == "A[i - 2] = 0.25 * math.sqrt(A[i]) + np.float64(3.141592653589793)"
    assert dict(f.functions) == {"math": math, "np": np}
    assert "A[i - 2]" in str(f)


def test_options_of_the_decorator():
    @nest(context="[N] -> { : N >= 3 }", name="renamed")
    def f(A, N):
        for i in range(N):
            A[i] = 1.0

    assert (f.name, str(f.context)) == ("renamed", "[N] -> { : N >= 3 }")


def test_errors_name_the_file_and_its_line():
    def f(A, N):
        for i in range(N):
            A[i] = A[i * N]  # the line

    with pytest.raises(NotAffineProgram) as caught:
        nest(f)
    file, line, caret = caught.value.where.splitlines()
    number = f.__code__.co_firstlineno + 2
    assert file == f"{__file__}, line {number}"
    assert line.strip() == linecache.getline(__file__, number).strip() == "A[i] = A[i * N]  # the line"
    assert line[len(caret) - 5 : len(caret)] == "i * N" and caret.strip() == "^^^^^"


def test_a_notebook_cell():
    cell = "@nest\ndef f(A, N):\n    for i in range(N):\n        A[i] = 0.0\n"
    name = "<ipython-input-1-of-a-test>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    space = {"nest": nest}
    exec(compile(cell, name, "exec"), space)
    assert str(space["f"].domain) == "[N] -> { S[i] : 0 <= i < N }"


def test_text_that_nobody_kept():
    with pytest.raises(NotAffineProgram, match="source of f is not available") as caught:
        exec("@nest\ndef f(A, N):\n    for i in range(N):\n        A[i] = 0.0\n", {"nest": nest})
    assert "nest_from_source" in caught.value.hint


def test_a_file_that_changed():
    name = "<a changed file>"
    old = "def f(A, N):\n    for i in range(N):\n        A[i] = 0.0\n"
    linecache.cache[name] = (len(old), None, ["def f(B, M):\n", "    B[0] = 0.0\n"], name)
    space = {}
    exec(compile(old, name, "exec"), space)
    with pytest.raises(NotAffineProgram, match="the file has changed"):
        nest(space["f"])


@pytest.mark.parametrize("thing", [len, functools.partial(max, 1), 3, "def f(): pass", Program])
def test_what_is_no_function(thing):
    with pytest.raises(NotAffineProgram, match="nest reads a Python function"):
        nest(thing)


def test_a_lambda_is_no_nest():
    with pytest.raises(NotAffineProgram):
        nest(lambda A, N: None)


def test_a_text_runs_too():
    program = nest_from_source(
        """
        @whatever
        def halve(A: Array, N: int = 4) -> None:
            for i in range(N):
                A[i] = half(A[i])
        """,
        {"half": lambda x: x / 2},
    )
    A = np.arange(6.0)
    program(A)
    assert A.tolist() == [0, 0.5, 1, 1.5, 4, 5]
    assert Program.from_source("def f(A):\n A[0] = 1.0").name == "f"


def test_an_unknown_default_is_told():
    with pytest.raises(NotAffineProgram, match="a default value: name 'SIZE' is not defined"):
        nest_from_source("def f(A, N=SIZE):\n    A[N] = 1.0")
