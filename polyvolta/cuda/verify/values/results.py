"""Whether what is stored at an element is the graph's expression of that element.

A stored value is a formula of leaves with coordinates. For each leaf there is to be one of the graph's, of the same
tensor (or a sum of products), whose places are those of the leaf: its row and column are the row and column of the
element that is stored, or 0. With the leaves known, the two formulas are compared as linear combinations of atoms
(`algebra`), products being atoms too: a sum in one accumulator is a combination of products. A product that has its
accumulator for itself must be just where the graph has it. Each sum must be over (`sums.unfinished`). Where K is 0, a
product that nothing was added for is 0, and so it is in the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.verify.engine.addresses import offsets
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.values.algebra import Linear
from polyvolta.cuda.verify.values.expressions import Element, Meaning, Place
from polyvolta.cuda.verify.values.sums import Problem, report, unfinished
from polyvolta.cuda.verify.values.values import (
    UNKNOWN,
    Load,
    Scalar,
    Skeleton,
    Sum,
    Table,
    Tags,
    combinations,
    element_text,
    formula_of,
    leaves_of,
    starts,
)
from polyvolta.graph.functions.formula import Formula, show
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.sets import Aff, aff

TRIES = 8  # points at which formulas that look different are evaluated


@dataclass(frozen=True, slots=True)
class Notes:
    """What was seen of results, for the report.

    Parameters
    ----------
    covered : for each product how many k a tile of its sum has.
    computed : for each output how the kernel computes it, where that isn't how the graph writes it.
    unknown : what is stored and can't be held against the graph.
    """

    covered: dict[int, int | None] = field(default_factory=dict)
    computed: dict[str, dict[str, None]] = field(default_factory=dict)
    unknown: list[Undecided] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stored:
    """Where values are stored: the output, the bases and the numbers [warp, lane, value] of row and column."""

    output: str
    bases: tuple[Aff, ...]
    numbers: tuple[np.ndarray, ...]

    def matches(self, base: Aff, numbers: np.ndarray, place: Place) -> np.ndarray | None:
        """Which values are not at a place; None where all are."""
        wanted, numbers_wanted = (aff(0), 0) if place == "0" else (self.bases[int(place)], self.numbers[int(place)])
        if base != wanted:
            return np.ones(numbers.shape, bool)
        wrong = numbers != numbers_wanted
        return wrong if wrong.any() else None

    def text(self, at: tuple[int, int, int], name: str = "") -> str:
        """The element that a value is stored at, of the output or of what is called otherwise."""
        places = ", ".join(str(b + int(x[at])) for b, x in zip(self.bases, self.numbers, strict=True))
        return f"{name or self.output}[{places}]"


def check_store(table: Table, meaning: Meaning, here: Here, access: Access, values: Tags, notes: Notes) -> None:
    """Hold a store to global memory against the graph."""
    if access.array not in meaning.outputs:
        here.refute("result", f"{access.array} is stored to, which is no output of the graph")
        return
    parts = [here.split(e) for e in access.index]
    numbers = (x[..., None] + more for (_, x), more in zip(parts, offsets(access), strict=True))
    places = tuple(np.broadcast_to(x, values.kind.shape) for x in numbers)
    _check(table, meaning, here, values, _Stored(access.array, tuple(b for b, _ in parts), places), notes)


def check_box(
    table: Table, meaning: Meaning, here: Here, output: str, bases: tuple[Aff, ...], numbers: tuple[np.ndarray, ...],
    values: Tags, notes: Notes,
) -> None:  # fmt: skip
    """Hold a box that is stored against the graph.

    Parameters
    ----------
    here : with the one thread that asks for it.
    bases, numbers : the elements, in each dimension a symbolic part and numbers [line, value].
    values : [line, value].
    """
    if output not in meaning.outputs:
        here.refute("result", f"{output} is stored to, which is no output of the graph")
        return
    stored = _Stored(output, bases, tuple(x[None] for x in numbers))
    _check(table, meaning, here, Tags(values.kind[None], values.at[None]), stored, notes)


def _check(table: Table, meaning: Meaning, here: Here, values: Tags, stored: _Stored, notes: Notes) -> None:
    """Hold stored values [warp, lane, value] against the graph."""
    for (kind,), where in combinations([values.kind], here.mask):
        if kind == UNKNOWN:
            warp, lane, value = _first(values.kind == UNKNOWN, here)
            text = stored.text((warp, lane, value))
            here.refute("result", f"{text} is stored a value that was never computed", warp=warp, lane=lane)
            continue
        found = _places(table[kind], meaning, here, values, stored, where)
        if found is not None:
            _compare(table[kind], found, meaning, here, values, stored, where, notes)


def _first(where: np.ndarray, here: Here) -> tuple[int, int, int]:
    if here.mask is not None:
        where = where & here.mask[..., None]
    warp, lane, value = np.argwhere(where)[0]
    return int(warp), int(lane), int(value)


def _places(
    skeleton: Skeleton, meaning: Meaning, here: Here, values: Tags, stored: _Stored, where: np.ndarray | None
) -> tuple[Element | str | None, ...] | None:
    """The graph's leaf that each leaf is, None for a sum; None for all, and said, if one is out of place."""
    graph = meaning.outputs[stored.output].leaves
    found: list[Element | str | None] = []
    for leaf, start in starts(skeleton):
        if isinstance(leaf, Sum):
            candidates: list[Element | str | None] = [None]
        elif isinstance(leaf, Load):
            candidates = [x for x in graph if isinstance(x, Element) and x.tensor == leaf.tensor]
        else:
            candidates = [x for x in graph if isinstance(leaf, Scalar) and x == leaf.name]
        wrong = None
        for candidate in candidates:
            wrong = None
            if isinstance(leaf, Load | Sum) and not (isinstance(leaf, Sum) and not leaf.terms):
                places = candidate.places if isinstance(candidate, Element) else (0, 1)
                for d, (base, place) in enumerate(zip(leaf.base, places, strict=True)):
                    bad = stored.matches(base, values.at[..., start + d], place)
                    if bad is not None and where is not None:
                        bad = bad & where
                    if bad is not None and here.mask is not None:
                        bad = bad & here.mask[..., None]
                    if bad is not None and bad.any():
                        wrong = bad
            if wrong is None:
                found.append(candidate)
                break
        else:
            everywhere = np.ones(values.kind.shape, bool) if where is None else where
            at = _first(everywhere if wrong is None else wrong, here)
            text = element_text(skeleton, values.at[at], meaning.names)
            one = element_text(leaf, values.at[at][start:], meaning.names)
            expected = " or ".join(
                _text(c, stored, at) if isinstance(c, Element) else stored.text(at, "it at ") for c in candidates
            )
            what = f"{stored.text(at)} is stored {text}: the graph has {expected or 'nothing'} where {one} is"
            here.refute("result", what, warp=at[0], lane=at[1], address=stored.text(at))
            return None
    return tuple(found)


def _text(element: Element, stored: _Stored, at: tuple[int, int, int]) -> str:
    """A leaf of the graph for a stored element."""
    places = ("0" if p == "0" else str(stored.bases[int(p)] + int(stored.numbers[int(p)][at])) for p in element.places)
    return f"{element.tensor}[{', '.join(places)}]"


def _compare(
    skeleton: Skeleton,
    leaves: tuple[Element | str | None, ...],
    meaning: Meaning,
    here: Here,
    values: Tags,
    stored: _Stored,
    where: np.ndarray | None,
    notes: Notes,
) -> None:
    """Hold the formula against the graph's."""
    output, forms = meaning.outputs[stored.output], meaning.forms
    sums = [x for x in leaves_of(skeleton) if isinstance(x, Sum)]
    for total in sums:
        report(unfinished(total, meaning, here), here)
    present = {t.product for total in sums for t in total.terms}
    products = [meaning.number(x) for x in output.leaves]
    needed = {p for p in products if p is not None}
    absent = {p for p in needed - present if here.holds(-meaning.products[p].depth)}
    for p in sorted(needed - present - absent):
        what = f"{stored.output} is stored, and nothing was summed of {meaning.names[p]}"
        report(Problem(("sums", "result"), what, (meaning.products[p].depth - 1,)), here)
    joined = _joined(sums) if not absent else needed
    own = [_linear(leaf, name, meaning, absent, joined) for leaf, name in zip(leaves_of(skeleton), leaves, strict=True)]
    asked = [
        () if p in absent else _product(p, meaning, joined) if p is not None else forms.atom(x)
        for p, x in zip(products, output.leaves, strict=True)
    ]
    for term in (t for total in sums for t in total.terms):
        notes.covered[term.product] = term.tile
    names = [_name(leaf, name, meaning) for leaf, name in zip(leaves_of(skeleton), leaves, strict=True)]
    if forms.of(formula_of(skeleton), own) == forms.of(output.formula, asked):
        told = [total for total in sums if total.terms or needed - absent]  # a sum over no k is 0 in the graph, too
        if any(len(total.terms) != 1 or total.terms[0].factor != 1 for total in told):
            notes.computed.setdefault(stored.output, {})[show(formula_of(skeleton), names)] = None
        return
    graph_names = [meaning.leaf_name(x) for x in output.leaves]
    texts = show(formula_of(skeleton), names), show(output.formula, graph_names)
    differ = _difference(formula_of(skeleton), own, output.formula, asked)
    if differ is None:
        what = f"{stored.output} is computed as another formula than the graph's, equal wherever it was tried"
        unknown = Undecided(what, where="\n".join(texts))
        unknown.path = here.path
        notes.unknown.append(unknown)
        return
    at = _first(np.ones(values.kind.shape, bool) if where is None else where, here)
    what = f"{stored.text(at)} is stored {texts[0]}, and the graph has {texts[1]}"
    here.refute("result", f"{what}: {differ[0]:.6g} and {differ[1]:.6g} {differ[2]}", warp=at[0], lane=at[1])


def _joined(sums: list[Sum]) -> set[int]:
    """The products that share an accumulator or are scaled there; all others are where the graph has them."""
    return {t.product for total in sums for t in total.terms if len(total.terms) > 1 or t.factor != 1}


def _product(product: int, meaning: Meaning, joined: set[int]) -> Linear:
    """A product as a term; one that shares no accumulator is an operand like others."""
    return meaning.forms.atom(("product", product, product in joined), product in joined)


def _linear(leaf: object, name: Element | str | None, meaning: Meaning, absent: set[int], joined: set[int]) -> Linear:
    """A leaf of a kernel's formula as a combination of the graph's leaves."""
    if not isinstance(leaf, Sum):
        return meaning.forms.atom(name)
    total: Linear = ()
    for term in leaf.terms:
        if term.product not in absent:
            ((atom, _),) = _product(term.product, meaning, joined)
            total = meaning.forms.combined(total, ((atom, Fraction(term.factor)),))
    return total


def _name(leaf: object, name: Element | str | None, meaning: Meaning) -> str:
    if isinstance(leaf, Sum):
        parts = [("" if t.factor == 1 else f"{t.factor:g}*") + f"({meaning.names[t.product]})" for t in leaf.terms]
        return f"({' + '.join(parts)})" if len(parts) > 1 else "".join(parts) or "0"
    return name.tensor if isinstance(name, Element) else str(name)


def _difference(
    one: Formula, own: list[Linear], other: Formula, asked: list[Linear]
) -> tuple[float, float, str] | None:
    """Two values that the formulas have for the same leaves, and for which; None if they agree wherever that is tried.

    A leaf at a time is infinite, too, or a 0 of either sign: what cancels for all numbers, as 0*x does, doesn't there.
    """
    rng = np.random.default_rng(0)
    atoms = sorted({atom for x in (*own, *asked) for atom, _ in x})
    some = [dict(zip(atoms, rng.uniform(-2, 2, len(atoms)))) for _ in range(TRIES)]
    tried = [(at, "for some values") for at in some]
    for values, words in (((-inf, inf), "for some infinite values"), ((-0.0, 0.0), "where some value is 0 or -0")):
        tried += [({**some[0], atom: value}, words) for atom in atoms for value in values]
    for at, words in tried:
        with np.errstate(all="ignore"):
            numbers = [[_value(x, at) for x in operands] for operands in (own, asked)]
            first, second = (float(evaluate(f, xs, np.float64)) for f, xs in zip((one, other), numbers, strict=True))
        if not np.isclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True):
            return first, second, words
    return None


def _value(linear: Linear, at: Mapping[int, float]) -> float:
    """A combination's value; of one term it keeps the sign of 0."""
    return sum((float(c) * at[a] for a, c in linear), -0.0) if linear else 0.0
