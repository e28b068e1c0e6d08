"""Bounds of rounding: never too small for arithmetic that rounds so, and not much larger than it needs."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph import Graph
from polyvolta.graph.binding import Bound
from polyvolta.graph.functions.meaning import MEANING
from polyvolta.graph.functions.rounding import EXACT, FEW, _function, bounded
from polyvolta.graph.functions.table import FUNCTIONS

K = 64
A, B = pv.tensor("A", (8, K)), pv.tensor("B", (K, 8))
P, Q = pv.tensor("P", (8, K)), pv.tensor("Q", (K, 8))
V = pv.tensor("v", (8,))


def bounds(expr, **arrays):
    ((exact, off),) = bounded(Graph.of(expr), Bound({n: np.asarray(x, np.float64) for n, x in arrays.items()}, {}))
    return exact, off


def data(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16)


def in_fp32(a, b, order):
    """A product of fp16 operands, summed in fp32 in some order."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in order:
        total += a[:, k, None].astype(np.float32) * b[k].astype(np.float32)
    return total


def test_the_value_is_the_references():
    rng = np.random.default_rng(0)
    given = {"A": data(rng, 8, K), "B": data(rng, K, 8), "P": data(rng, 8, K), "Q": data(rng, K, 8)}
    expr = pv.tanh(pv.relu(A) @ (B * 0.1)) - 2 * (P @ Q)
    assert np.array_equal(bounds(expr, **given)[0], pv.reference(expr, **given))


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_in_any_order_stays_within_and_comes_near(seed):
    rng = np.random.default_rng(seed)
    a, b = data(rng, 8, K), data(rng, K, 8)
    exact, off = bounds(A @ B, A=a, B=b)
    error = np.abs(in_fp32(a, b, rng.permutation(K)) - exact)
    assert (error <= off).all()
    assert off.max() < 2**-13 * np.abs(a).astype(float).sum(1).max()  # far below what fp16 can tell


@pytest.mark.parametrize("seed", range(5))
def test_operands_that_are_rounded_to_fp16_widen_it(seed):
    rng = np.random.default_rng(seed)
    a, b = data(rng, 8, K), data(rng, K, 8)
    rounded = (1 / (1 + np.exp(-a.astype(np.float32)))).astype(np.float16)
    exact, off = bounds(pv.sigmoid(A) @ B, A=a, B=b)
    error = np.abs(in_fp32(rounded, b, range(K)) - exact)
    assert (error <= off).all()
    assert error.max() > 2**-24 * 100  # fp32 alone doesn't explain it
    assert off.max() < 50 * error.max()


def test_operands_that_fp16_holds_cost_nothing():
    rng = np.random.default_rng(0)
    a, b = data(rng, 8, K), data(rng, K, 8)
    assert np.array_equal(bounds(pv.relu(A) @ B, A=a, B=b)[1], bounds(A @ B, A=np.maximum(a, 0), B=b)[1])


def test_where_sums_cancel_the_bound_is_that_of_what_cancels():
    a = np.full((8, K), 0.3, np.float16)
    b = (np.tile([[1000.0], [-1000.0]], (K // 2, 8)) + 0.5).astype(np.float16)
    b[::3] += 1
    rounded = (1 / (1 + np.exp(-a.astype(np.float32)))).astype(np.float16)
    exact, off = bounds(pv.sigmoid(A) @ B, A=a, B=b)
    assert (np.abs(in_fp32(rounded, b, range(K)) - exact) <= off).all()
    assert np.abs(exact).max() < 40
    assert (off > 1).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_keeps_to_its_bound(name):
    """Against fp32, arguments moved about as far as they may be off; all of them numbers that fp32 holds."""
    f, rng = FUNCTIONS[name], np.random.default_rng(len(name))
    count = 4000

    def any_of(*numbers):
        return rng.choice(np.array(numbers), count)

    numbers = [any_of(-3, -1, -0.5, 0, 2**-13, 0.5, 1, 2, 7) + any_of(0, 2**-7) for _ in range(f.arity)]
    off_by = [any_of(0, 2**-16, 2**-7, 0.5) for _ in range(f.arity)]
    with np.errstate(all="ignore"):
        value = MEANING[f.name](*numbers)
        off = _function(name, list(zip(numbers, off_by, strict=True)), value, FEW)
        for _ in range(20):
            moved = [(x + d * any_of(-1, -0.5, 0, 0.25, 1)).astype(np.float32)
                     for x, d in zip(numbers, off_by, strict=True)]  # fmt: skip
            got = MEANING[f.name](*moved).astype(np.float64)
            error = np.where((got == value) | (np.isnan(got) & np.isnan(value)), 0, np.abs(got - value))
            good = (error <= off) | np.isinf(off)
            assert good.all(), [(x[~good][:3], d[~good][:3]) for x, d in zip(numbers, off_by, strict=True)]
    assert np.isfinite(off).mean() > 0.3
    certain = np.all([d == 0 for d in off_by], axis=0)
    assert name not in EXACT or (off[certain] == 0).all()


def test_users_functions_are_followed_call_by_call():
    rng = np.random.default_rng(0)
    a, b = data(rng, 8, K), data(rng, K, 8)

    def swish(x):
        return x * pv.sigmoid(x)

    whole, parts = bounds(pv.pointwise(swish, A @ B), A=a, B=b), bounds(swish(A @ B), A=a, B=b)
    assert np.array_equal(whole[0], parts[0])
    assert np.array_equal(whole[1], parts[1])


# ---- NaN, infinity, and where nothing is known


def one(value, at=(2, 3), shape=(8, K)):
    array = np.ones(shape, np.float16)
    array[at] = value
    return array


def test_infinite_data_are_followed():
    exact, off = bounds(A @ B, A=one(np.inf), B=np.ones((K, 8)))
    assert np.isinf(exact[2]).all()
    assert np.isfinite(exact[[0, 1, *range(3, 8)]]).all()
    assert np.isfinite(off).all()


def test_infinity_times_0_is_nan_and_known():
    b = np.ones((K, 8))
    b[3, 5] = 0
    exact, off = bounds(A @ B, A=one(np.inf), B=b)
    assert np.isnan(exact[2, 5])
    assert np.isfinite(off).all()


def test_infinity_times_what_may_round_to_0_is_unknown():
    b = np.ones((K, 8))
    b[3, 5] = -20  # exp(-20) is 0 in fp16
    exact, off = bounds(A @ pv.exp(B), A=one(np.inf), B=b)
    assert np.isposinf(exact[2, 5])
    assert np.isinf(off[2, 5])
    assert np.isinf(off).sum() == 1


def test_an_operand_beyond_the_range_of_fp16_is_unknown():
    exact, off = bounds(pv.exp(A) @ B, A=one(12), B=np.ones((K, 8)))  # exp(12) = 162,755
    assert np.isfinite(exact).all()
    assert np.isinf(off).any(1).tolist() == [n == 2 for n in range(8)]


def test_a_result_beyond_the_range_of_fp16_is_known():
    exact, off = bounds(1000 * (A @ B), A=np.full((8, K), 2.0), B=np.ones((K, 8)))
    assert (exact == 128_000).all()
    assert (off < 2).all()


def test_a_divisor_that_may_be_0_makes_it_unknown():
    a, b = np.ones((8, K)), np.tile([[1.0], [-1.0]], (K // 2, 8))
    b[0, 0] = 2
    _, off = bounds(V / (A @ B), A=a, B=b, v=np.ones(8))
    assert np.isfinite(off[:, 0]).all()
    assert np.isinf(off[:, 1:]).all()
