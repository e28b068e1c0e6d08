"""Products that share an accumulator: sums are computed by going on in the same registers.

In `A @ B + P @ Q` the second product can start from the first one's result, and half of the accumulators are not
needed. The same holds under any expression in which the products enter one sum, each once, with a number for a
factor: in `relu(2 * (A @ B) - P @ Q + bias)` the accumulator is multiplied by 2 / -1 before the second product
starts, and -1 times what it holds in the end is the sum. A product that is an output, or is read elsewhere as well,
keeps its own accumulator.

With factors f_1 ... f_n the accumulator holds (f_1 C_1 + ... + f_p C_p) / f_p after product p; the step reads it in
the place of C_n, and the other products vanish from its formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyvolta.graph.dag import Graph
from polyvolta.graph.functions.formula import Call, Formula, Input, Number, fold, inputs, nodes, substitute
from polyvolta.graph.plans.plans import Contraction, Plan, Step, Unsupported, marked

LARGEST_RATIO = 2.0**64  # of two factors: beyond, what is in fp32's range could leave it


@dataclass(frozen=True, slots=True)
class Term:
    """A product's place in a sum: the step and the node of its formula that is the sum, and the factor.

    `on_the_way` are the factors from the product on to each of the calls between, the last one that of the sum.
    """

    step: int
    sum: Formula
    on_the_way: tuple[float, ...]

    @property
    def factor(self) -> float:
        """With which it enters the sum."""
        return self.on_the_way[-1]


def shared(graph: Graph, plan: Plan, all_of_them: bool = False) -> Plan:
    """The plan with one accumulator for each sum of several products.

    Raises
    ------
    Unsupported : `all_of_them` must share one, and some can't.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.functions.formula import show
    >>> from polyvolta.graph.plans.idioms import plan
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, P, Q = (pv.tensor(n, s) for n, s in zip("ABPQ", [(M, K), (K, N)] * 2))
    >>> found = plan(Graph.of(pv.relu(2 * (A @ B) - P @ Q)))
    >>> [(c.accumulator, c.factor) for c in found.contractions]
    [('C', None), ('C', -2.0)]
    >>> show(found.steps[0].formula, [a.tensor for a in found.steps[0].accesses])
    'relu(neg(C))'
    """
    terms: dict[str, Term] = {}
    reasons: dict[str, tuple[Step | Contraction, str]] = {}
    for c in plan.contractions:
        found = _term(plan, c.statement.write.tensor)
        if isinstance(found, Term):
            terms[c.statement.write.tensor] = found
        else:
            reasons[c.statement.write.tensor] = (found[0] or c, found[1])
    groups: dict[tuple[int, Formula], list[str]] = {}
    for array, term in terms.items():
        groups.setdefault((term.step, term.sum), []).append(array)
    kept = [_similar(group, terms) for group in groups.values()]
    if all_of_them and len(plan.contractions) > 1 and not any(len(g) == len(plan.contractions) for g in kept):
        raise _cannot(graph, plan, reasons, kept)
    for group in kept:
        if len(group) > 1:
            plan = _joined(plan, group, terms)
    return plan


def _term(plan: Plan, array: str) -> Term | tuple[Step | None, str]:
    """A product's place in a sum, or why it has none: the statement and the reason."""
    if array in plan.outputs:
        return None, f"{array} is an output itself"
    readers = [n for n, step in enumerate(plan.steps) if any(a.tensor == array for a in step.accesses)]
    if len(readers) != 1:
        return plan.steps[readers[-1]], f"{array} is read by {len(readers)} operations"
    step = plan.steps[readers[0]]
    uses = _uses(step.formula)
    node: Formula = Input(next(n for n, a in enumerate(step.accesses) if a.tensor == array))
    leaf, factors = node, [1.0]
    while len(uses[node]) == 1 and (times := _linear(*uses[node][0])) is not None:
        factors.append(factors[-1] * times)
        if not _moderate(factors[-1]):
            return step, f"{array} has the factor {factors[-1]:g}"
        node = uses[node][0][0]
    if len(uses[leaf]) > 1:
        return step, f"{array} is used {len(uses[leaf])} times"
    if node is leaf:
        around = f"goes into {uses[leaf][0][0].function} alone" if uses[leaf] else "is stored as it is"
        return step, f"{array} is no term of a sum: it {around}"
    return Term(readers[0], node, tuple(factors))


def _moderate(factor: float) -> bool:
    """Whether what is in fp32's range stays there, times a factor."""
    return 1 / LARGEST_RATIO <= abs(factor) <= LARGEST_RATIO


def _uses(formula: Formula) -> dict[Formula, list[tuple[Call, int]]]:
    """Where each node is used: the calls, and as which of their arguments."""
    order = nodes(formula)
    uses: dict[Formula, list[tuple[Call, int]]] = {n: [] for n in order}
    for node in order:
        if isinstance(node, Call):
            for at, x in enumerate(node.arguments):
                uses[x].append((node, at))
    return uses


def _linear(call: Call, at: int) -> float | None:
    """The factor with which an argument enters the call's value, when it is a term of it; else None."""
    match call:
        case Call(function="add"):
            return 1.0
        case Call(function="sub"):
            return -1.0 if at else 1.0
        case Call(function="neg"):
            return -1.0
        case Call(function="mul", arguments=arguments) if isinstance(other := arguments[1 - at], Number):
            return other.value
        case Call(function="div", arguments=(_, Number(value=v))) if at == 0 and v != 0:
            return 1 / v
    return None


def _similar(group: list[str], terms: Mapping[str, Term]) -> list[str]:
    """The last member and those before it whose factors are near enough to one another's.

    In the accumulator all of them go the last one's way through the formula, which no factor may leave the range on.
    """
    last = terms[group[-1]]
    kept = [group[-1]]
    for a in reversed(group[:-1]):
        ratios = [terms[a].factor / terms[b].factor for b in kept]
        if all(map(_moderate, (*ratios, *(ratios[0] * way for way in last.on_the_way)))):
            kept.append(a)
    return kept[::-1]


def _joined(plan: Plan, group: list[str], terms: Mapping[str, Term]) -> Plan:
    """The plan with one accumulator for the products of a sum."""
    first, last = group[0], group[-1]
    factors = {a: terms[before].factor / terms[a].factor for before, a in zip(group, group[1:], strict=False)}

    def contraction(c: Contraction) -> Contraction:
        array = c.statement.write.tensor
        return replace(c, accumulator=first, factor=factors.get(array)) if array in group else c

    at = terms[first].step
    step = plan.steps[at]
    place = {a.tensor: n for n, a in enumerate(step.accesses) if a.tensor in group}
    formula = _without(step.formula, {place[a] for a in group[:-1]})
    formula = substitute(formula, {place[last]: Input(place[first])})
    steps = [*plan.steps]
    steps[at] = _compact(replace(step, formula=formula))
    return replace(plan, contractions=tuple(map(contraction, plan.contractions)), steps=tuple(steps))


def _without(formula: Formula, gone: set[int]) -> Formula:
    """The formula with some terms of its sums left out."""

    def call(function: str, arguments: tuple[Formula | None, ...]) -> Formula | None:
        match function, arguments:  # a + -b is a - b to the last bit
            case "add", (Call(function="neg", arguments=(x,)), Input() | Number() | Call() as y):
                return Call("sub", (y, x))
            case "add", (Input() | Number() | Call() as y, Call(function="neg", arguments=(x,))):
                return Call("sub", (y, x))
        if None not in arguments:
            return Call(function, arguments)  # type: ignore[arg-type]
        match function, arguments:
            case "add", (left, right):
                return right if left is None else left
            case "sub", (None, Call(function="neg", arguments=(x,))):
                return x
            case "sub", (None, right) if right is not None:
                return Call("neg", (right,))
            case "sub", (left, _):
                return left
        return None  # a multiple of nothing

    operands = [None if p in gone else Input(p) for p in range(max(inputs(formula)) + 1)]
    made = fold(formula, operands, Number, call)
    assert made is not None, "the last term of the sum stays"
    return made


def _compact(step: Step) -> Step:
    """The step with the accesses that its formula still reads."""
    used = inputs(step.formula)
    count = len(step.accesses)
    return replace(
        step,
        accesses=tuple(step.accesses[p] for p in used if p < count),
        scalars=tuple(step.scalars[p - count] for p in used if p >= count),
        formula=substitute(step.formula, {p: Input(n) for n, p in enumerate(used)}),
    )


def _cannot(
    graph: Graph, plan: Plan, reasons: Mapping[str, tuple[Step | Contraction, str]], groups: list[list[str]]
) -> Unsupported:
    """Why not all products share one accumulator."""
    array = plan.contractions[-1].statement.write.tensor
    at, why = next(iter(reasons.values()), (plan.contractions[-1], ""))
    if not why:
        sums = ", ".join("{" + ", ".join(g) + "}" for g in groups)
        why = f"they are terms of {len(groups)} sums, {sums}"
        part = array
    else:
        part = next(iter(reasons))
    read = next((str(a) for a in at.statement.reads if a.tensor == part), part)
    return Unsupported(
        f"the products can't share one accumulator: {why}",
        where=marked(graph, at.statement, read),
        hint='accumulators="auto" lets those share one that can',
    )
