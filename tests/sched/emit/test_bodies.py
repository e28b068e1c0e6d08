"""Bodies in C compute what they compute in Python, bit for bit: random expressions."""

import random
import shutil

import numpy as np
import pytest

from polyvolta.sched import build
from polyvolta.sched.program.model import Program
from tests.sets.draw import Source

N, STATEMENTS = 9, 30
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def whole(s, depth):
    """An expression of integers: subscripts, elements of n, iterators."""
    kind = s.below(8) if depth else s.below(4)
    if kind < 4:
        return s.of(("i", "n[i]", "3", "N", "n[N - i - 1]", "-2"))
    a, b = whole(s, depth - 1), whole(s, depth - 1)
    if kind < 6:
        return f"({a} {s.of(('+', '-', '*'))} {b})"
    if kind == 6:
        return f"({a} {s.of(('//', '%'))} {s.of(('2', '-3', '5'))})"
    return f"{s.of(('min', 'max'))}({a}, {b})"


def real(s, depth):
    """An expression of numbers."""
    kind = s.below(12) if depth else s.below(4)
    if kind < 3:
        return s.of(("x[i]", "y[i]", "x[N - i - 1]", "a", "0.1", "1.0", "-1e-3", "a"))
    if kind == 3:
        return whole(s, depth)
    a, b = real(s, depth - 1), real(s, depth - 1)
    if kind < 7:
        return f"({a} {s.of(('+', '-', '*', '*'))} {b})"
    if kind == 7:
        return f"{a} / (abs({b}) + 1)"
    if kind == 8:
        return f"({a} if {b} {s.of(('<', '<=', '>', '>=', '==', '!='))} {real(s, depth - 1)} else {a} - {b})"
    if kind == 9:
        return f"{s.of(('min', 'max'))}({a}, {b}, 0.5)"
    if kind == 10:
        return f"({a} if {b} < {a} <= 1 {s.of(('and', 'or'))} not {a} > 0 else -({b}))"
    return s.of(("sqrt(abs({}))", "sin({})", "-{}", "abs({})", "float({})", "math.tanh({})")).format(f"({a})")


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_random_expressions(dtype):
    """Elements of the left side may be integers, too: then both cut off what is behind the point."""
    drawn = [Source(random.Random(k).randbytes(80)) for k in range(STATEMENTS)]
    names = [f"S{k}" for k in range(STATEMENTS)]
    ops = [s.of(("=", "=", "+=", "-=", "*=")) for s in drawn]
    limit = "{}" if dtype is np.float64 else "min(max({}, -99.5), 99.5)"
    bodies = {n: f"z[i, {k}] {op} {limit.format(real(s, 3))}" for k, (n, op, s) in enumerate(zip(names, ops, drawn))}
    each = lambda text: "[N] -> { " + "; ".join(f"{n}[i] -> {text(k)}" for k, n in enumerate(names)) + " }"  # noqa: E731
    program = Program.parse(
        "[N] -> { " + "; ".join(f"{n}[i] : 0 <= i < N" for n in names) + " }",
        "[N] -> { " + "; ".join(f"{n}[i] -> {v}[{e}]" for n in names for v in "xyn" for e in ("i", "N - 1 - i")) + " }",
        each(lambda k: f"z[i, {k}]"),
        bodies=bodies,
    )
    numbers = np.random.default_rng(1)
    arguments = {"x": numbers.normal(size=N), "y": numbers.normal(size=N), "n": numbers.integers(-5, 6, N), "N": N}
    left = {using: np.ones((N, STATEMENTS), dtype) for using in ("python", "c")}
    for using, z in left.items():
        build(program, using=using)(z=z, a=0.7, **arguments)
    for k, name in enumerate(names):
        np.testing.assert_array_equal(left["c"][:, k], left["python"][:, k], bodies[name])
    assert len(np.unique(left["c"])) > 15
