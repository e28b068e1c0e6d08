"""Whole kernels: overflow, NaN, infinity and zeros' signs as in numpy, and the same text in every process."""

import os
import subprocess
import sys

import numpy as np
import pytest

import polyvolta as pv

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
OPTIONS = {
    "guard": pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16)),
    "split": pv.Options(block_tile=(16, 32, 16), warp_tile=(16, 16, 16), split_k=2),
    "pad": pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16), partial="pad"),
}


def half(x):
    """Values rounded as a kernel rounds them: computed in fp32, kept in fp16."""
    return np.asarray(x, np.float32).astype(np.float16)


def special(shape, seed):
    """Random values with some that overflow, vanish or are no numbers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float16)
    for value in (60000, -60000, np.inf, -np.inf, np.nan, 0.0, -0.0, 6e-8):
        x[rng.integers(shape[0]), rng.integers(shape[1])] = value
    return x


PROLOGUES = {
    "plain": lambda x: x,
    "scaled": lambda x: x * 4,
    "negated": lambda x: -x,
    "exp": np.exp,
    "reciprocal": lambda x: 1 / x,
}
CASES = [(f, how) for f in PROLOGUES for how in OPTIONS if (f, how) != ("reciprocal", "pad")]  # refused: 1 / 0


@pytest.mark.parametrize(("name", "how"), CASES)
def test_special_values_go_through_prologue_and_product_as_in_numpy(name, how):
    f = PROLOGUES[name]
    a, b = special((37, 21), 1), np.asfortranarray(special((21, 29), 2))
    got = pv.compile(f(A) @ B, options=OPTIONS[how]).interpret(a, b)
    with np.errstate(all="ignore"):
        expected = half(half(f(a.astype(np.float32))).astype(np.float64) @ b.astype(np.float64))
    assert np.isnan(expected).any() and np.isinf(expected).any() and np.isfinite(expected).any()
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


def test_signs_of_zeros_go_through_the_epilogue_as_in_numpy():
    a = np.array([[1, 0], [-1, 0], [0, 0]], np.float16)
    b = np.asfortranarray(np.ones((2, 4), np.float16))
    kernel = pv.compile([A @ B * 0, 1 / pv.relu(A @ B * 0), 1 / -pv.relu(A @ B * 0)], options=OPTIONS["guard"])
    zeros, up, down = kernel.interpret(a, b)
    assert np.array_equal(np.signbit(zeros), [[False] * 4, [True] * 4, [False] * 4])
    assert np.array_equal(up, [[np.inf] * 4, [-np.inf] * 4, [np.inf] * 4])
    assert np.array_equal(down, -up)


@pytest.mark.parametrize("name", ["kt", "by", "expf", "std"])
def test_users_may_name_things_as_parts_of_the_kernel_are(name):
    """Tensors, sizes, scalars, vectors and functions: the text compiles, and computes the same as with other names."""

    def kernels(name, tripled):
        size = pv.sizes(name)
        tripled.__name__ = name
        yield pv.exp(pv.tensor(name, (M, K)) @ B)
        yield pv.exp(pv.tensor("A", (size, K)) @ pv.tensor("B", (K, size), layout="col"))
        yield pv.exp(pv.scalar(name) * (A @ B)) * pv.tanh(pv.scalar(name))
        yield pv.relu(A) @ B + pv.tensor(name, (N,))
        yield pv.pointwise(tripled, A @ B)

    rng = np.random.default_rng(6)
    a, b = rng.random((20, 24)).astype(np.float16), np.asfortranarray(rng.random((24, 20)).astype(np.float16))
    given = {"tensor": [a, b], "size": [a, b], "scalar": [0.25, a, b], "vector": [a, b, a[0, :20].copy()],
             "function": [a, b]}  # fmt: skip
    both = zip(kernels(name, lambda x: 2 * x + x), kernels("other", lambda x: 2 * x + x), given, strict=True)
    for clashing, plain, kind in both:
        one, other = (pv.compile(e, options=OPTIONS["guard"]) for e in (clashing, plain))
        assert one.cubin(), kind
        np.testing.assert_array_equal(one.interpret(*given[kind]), other.interpret(*given[kind]), kind)


PROGRAM = """
import polyvolta as pv
M, N, K, L = pv.sizes("M N K L")
A, B, P, Q = (pv.tensor(n, s) for n, s in zip("ABPQ", [(M, K), (K, N), (M, L), (L, N)]))
row, column, alpha = pv.tensor("row", (N,)), pv.tensor("column", (M, 1)), pv.scalar("alpha")
kernel = pv.compile([pv.gelu(alpha * ((pv.relu(A) * column) @ B) + P @ Q + row), P @ Q])
print(kernel.source, kernel.graph, *kernel.stages.values(), sep="\\n")
"""


def test_the_text_is_the_same_in_every_process(capsys):
    """In this one, which has a seed for hashes of its own, and in another one."""
    exec(PROGRAM, {})
    here, seed = capsys.readouterr().out, "1" if os.environ.get("PYTHONHASHSEED") != "1" else "0"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
    )
    assert "kern0" in here and "S1" in here
    assert done.stdout.decode() == here
