"""Kernels of formulas drawn at random are proved, all statements; plans of many more compute what they should."""

import numpy as np
import pytest
from formula_plans import combination_differs, computed_by, plan_differs
from formulas import SCALARS, SHAPES, Case, Drawing, Tree
from provable import judged

from polyvolta.cuda.verify.values.expressions import Meaning
from polyvolta.graph.plans.idioms import plan
from polyvolta.sets import PolyvoltaError

TINY = {"block_tile": (16, 16, 16), "warp_tile": (16, 16, 16), "macro_mma": "m16n16k8"}
C, D, E = "(A @ B)", "(P @ Q)", "(U @ V)"
NEUTRAL = (
    f"f.relu({C} - ({D} - 0))",
    f"{C} - ({D} + 0)",
    f"f.relu({C} - ({D} * 1 - 0.0))",
    f"({C} + (-0.0)) - (0 - {D}) * (-1)",
    f"0 - ({C} - (bias - ({D} + 0) / 3)) - 0",
    f"{C} - ({D} + 1e30)",
    f"2 * (({C} + 0 + R) - 3 * ({D} - 0 - alpha)) - ({E} - (0 - bias))",
)
FACTORS = (
    f"{C} * 0.1234567890125 + {D} / 49",  # products of rounded factors, either side of a twelfth digit
    f"{C} + (({D} * 2.0**40) * 2.0**-100)",  # in one accumulator it would go as far as 2**100
    f"({C} * 2.0**30) + (({D} * 2.0**63) * 2.0**-63)",
    f"(({C} / 3 + {D}) / 7 - {E}) / 11",
)


@pytest.mark.parametrize("text", NEUTRAL + FACTORS)
def test_what_changes_nothing_is_no_obstacle(text):
    verdict, story = judged(Case((Tree(text),), options=TINY))
    assert verdict == "proved", story


SAMPLE = range(12)


@pytest.mark.parametrize("number", SAMPLE)
def test_random_kernels_are_proved(number):
    """A sample of benchmarks/provable.py, small ones."""
    case = Drawing(f"tests:{number}").case()
    verdict, story = judged(Case(case.outputs, case.columns, TINY | {"buffers": 1 + number % 2}))
    assert verdict == "proved" or (verdict == "refused" and story.startswith(("BadOutputs", "Unsupported"))), story


def test_random_plans_compute_the_graph():
    """Accumulators that are shared, in float64; and as the verifier's combinations. Few graphs are refused."""
    refused, shared = 0, 0
    for number in range(80):
        case = Drawing(f"plans:{number}").case()
        try:
            assert not (wrong := plan_differs(case)), f"{case}: {wrong}"
            shared += any(c.factor is not None for c in plan(case.graph()).contractions)
        except PolyvoltaError:
            refused += 1
    assert refused < 16 and shared > 12


def test_a_plan_that_computes_something_else_is_noticed():
    """The check can fail: factors of the accumulator left out, or turned."""
    from dataclasses import replace

    graph = Case((Tree(f"f.relu(2 * {C} - ({D} - 0))"),)).graph()
    right, meaning = plan(graph), Meaning(graph)
    rng = np.random.default_rng(0)
    space = {n: rng.uniform(-2, 2, (2,) * len(shape)) for n, shape in SHAPES.items()} | SCALARS
    due = np.maximum(2 * (space["A"] @ space["B"]) - space["P"] @ space["Q"], 0)
    (output,) = right.outputs
    assert np.allclose(computed_by(right, space)[output], due) and not combination_differs(right, meaning)
    for factor in (1.0, 2.0, -2.0000001):
        wrong = replace(right, contractions=(right.contractions[0], replace(right.contractions[1], factor=factor)))
        assert combination_differs(wrong, meaning)
        assert not np.array_equal(computed_by(wrong, space)[output], due)
