"""The derivatives of all pointwise functions against differences of their values."""

import numpy as np
import pytest

from polyvolta.graph.functions.derivatives import DERIVATIVES
from polyvolta.graph.functions.formula import nodes
from polyvolta.graph.functions.meaning import MEANING, evaluate
from polyvolta.graph.functions.table import FUNCTIONS

STEP = 1e-5
POSITIVE = {"sqrt", "rsqrt", "log", "log2", "pow"}


def operands(name, arity):
    """Random points, away from kinks and from where there is no derivative."""
    rng = np.random.default_rng(len(name))
    low = 0.3 if name in POSITIVE else -0.8 if name == "log1p" else -2.5
    made = [rng.uniform(low, 2.5, 400) for _ in range(arity)]
    if name == "where":
        made[0] = np.rint(made[0])
    return [np.where(np.abs(x - np.rint(x)) < 0.01, x + 0.02, x) if name != "where" else x for x in made]


def test_every_function_has_a_derivative_for_each_operand():
    assert DERIVATIVES.keys() == FUNCTIONS.keys()
    for name, formulas in DERIVATIVES.items():
        assert len(formulas) == FUNCTIONS[name].arity
        called = {n.function for f in formulas if f for n in nodes(f) if hasattr(n, "function")}
        assert called <= FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_the_limits_of_differences(name):
    for at, formula in enumerate(DERIVATIVES[name]):
        xs = operands(name, FUNCTIONS[name].arity)
        if formula is None and name == "where":
            continue  # of its condition
        up, down = ([x + s * STEP * (p == at) for p, x in enumerate(xs)] for s in (1, -1))
        slope = (MEANING[name](*up) - MEANING[name](*down)) / (2 * STEP)
        made = np.zeros(400) if formula is None else np.broadcast_to(evaluate(formula, xs, "float64"), 400)
        smooth = np.abs(slope) < 1e3  # where a difference doesn't cross a jump
        assert smooth.sum() > 350
        np.testing.assert_allclose(made[smooth], slope[smooth], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("name", "point", "slope"), [
    ("relu", (0.0,), 0), ("abs", (0.0,), 0), ("leaky_relu", (0.0, 0.1), 1), ("maximum", (2.0, 2.0), 0),
    ("minimum", (2.0, 2.0), 0), ("pow", (0.0, 0.0), 0), ("pow", (0.0, 2.0), 0), ("silu", (-200.0,), 0),
    ("sigmoid", (300.0,), 0), ("softplus", (-500.0,), 0), ("gelu", (40.0,), 1), ("gelu_tanh", (-40.0,), 0),
])  # fmt: skip
def test_at_kinks_and_far_out(name, point, slope):
    assert evaluate(DERIVATIVES[name][0], point, "float64") == pytest.approx(slope, abs=1e-80)
