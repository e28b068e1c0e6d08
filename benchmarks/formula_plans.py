"""Plans of formulas beside float64, and beside the combinations in which the verifier takes them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from formulas import SCALARS, SHAPES, Case, Doubles

from polyvolta.cuda.verify.values.expressions import Element, Meaning
from polyvolta.graph.functions.formula import Input, show, substitute
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.plans import Plan
from polyvolta.graph.statements import Access


def plan_differs(case: Case) -> str:
    """What is wrong with a case's plan: a value, or the verifier's combination; "" if nothing is."""
    graph = case.graph()
    made = plan(graph, case.options.get("accumulators", "auto"))
    rng = np.random.default_rng(7)
    length = {"M": 2, "N": 3, "K": 2, "L": 3, "H": 1, "1": 1, **dict.fromkeys(case.numbers, 2)}
    space: dict[str, Any] = {n: rng.uniform(-2, 2, [length[s] for s in shape]) for n, shape in SHAPES.items()}
    space |= {n: np.float64(v) for n, v in SCALARS.items()}
    with np.errstate(all="ignore"):
        texts = dict.fromkeys(map(str, case.outputs))
        expected = [eval(text, {**space, "f": Doubles(np)}) for text in texts]
    computed = computed_by(made, space)
    for output, want in zip(graph.outputs, expected, strict=False):  # of equal ones the graph has one
        got = computed[output.name]
        if not case.is_far and not np.allclose(got, want, rtol=1e-7, atol=1e-7, equal_nan=True):
            return f"{output.name} is {got}, and {want} is due"
    return combination_differs(made, Meaning(graph))


def computed_by(made: Plan, space: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays by name as a plan computes them, in float64."""
    held: dict[str, Any] = dict(space)
    for c in made.contractions:
        left, right = (
            evaluate(side.formula, [_placed(space, a, side.index) for a in side.accesses]
                     + [space[s] for s in side.scalars], np.float64)
            for side in (c.left, c.right)
        )  # fmt: skip
        with np.errstate(all="ignore"):
            before = 0.0 if c.factor is None else c.factor * held[c.accumulator]
            depth = max(left.shape[1], right.shape[0])
            shape = (left.shape[0], depth), (depth, right.shape[1])
            held[c.accumulator] = before + np.broadcast_to(left, shape[0]) @ np.broadcast_to(right, shape[1])
    for s in made.steps:
        parts = [_placed(held, a, s.statement.iterators) for a in s.accesses] + [held[x] for x in s.scalars]
        held[s.statement.write.tensor] = evaluate(s.formula, parts, np.float64)
    return held


def _placed(held: Mapping[str, Any], access: Access, axes: tuple[str, ...]) -> np.ndarray:
    """What an access reads, with an axis for each iterator."""
    array = held[access.tensor][tuple(0 if p.isdigit() else slice(None) for p in access.index)]
    own = [axes.index(p) for p in access.index if not p.isdigit()]
    return np.expand_dims(np.transpose(array, np.argsort(own)), [n for n in range(len(axes)) if n not in own])


def combination_differs(made: Plan, meaning: Meaning) -> str:
    """Whether the verifier takes what a plan computes for another formula than the graph's."""
    forms, held = meaning.forms, {}
    products = {c.statement.write.tensor: c.accumulator for c in made.contractions}
    joined = {array for array, a in products.items() if list(products.values()).count(a) > 1}
    for c in made.contractions:
        array = c.statement.write.tensor
        one = forms.atom(array, summed=array in joined)
        before = () if c.factor is None else tuple((a, f * Fraction(c.factor)) for a, f in held[c.accumulator])
        held[c.accumulator] = forms.combined(before, one)
    formulas = {array: Input(n) for n, array in enumerate(held)}
    leaves: dict[Any, int] = {}
    for s in made.steps:
        parts = []
        for a in s.accesses:
            if a.tensor not in formulas:
                places = tuple("0" if p.isdigit() else s.statement.write.index.index(p) for p in a.index)
                parts.append(Input(len(held) + leaves.setdefault(Element(a.tensor, places), len(leaves))))
            else:
                parts.append(formulas[a.tensor])
        parts += [Input(len(held) + leaves.setdefault(x, len(leaves))) for x in s.scalars]
        formulas[s.statement.write.tensor] = substitute(s.formula, dict(enumerate(parts)))
    operands = [*held.values(), *map(forms.atom, leaves)]
    for name, output in meaning.outputs.items():
        asked = [
            forms.atom(x) if meaning.number(x) is None else forms.atom(x.tensor, summed=x.tensor in joined)
            for x in output.leaves
        ]
        if forms.of(formulas[name], operands) != forms.of(output.formula, asked):
            names = [*held, *map(str, leaves)]
            return f"{name} is {show(formulas[name], names)}, no combination as the graph's"
    return ""
