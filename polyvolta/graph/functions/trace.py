"""A user's function, read by running it once.

`pv.pointwise(f, x, y)` calls `f` with two elements: objects that stand for one number of x and the one of y at
the same place. Operators and functions on elements write down what is computed, and what `f` returns is the
formula. Python itself runs only then: a loop with a known number of rounds is unrolled, and a condition on an
element can't be decided, which is said.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

from polyvolta.graph.errors import BadFunction, BadOperand
from polyvolta.graph.expr import Expr, constant, operand_hint
from polyvolta.graph.functions.formula import Call, Formula, Input, Number, inputs, show, substitute
from polyvolta.graph.operators import Operators, is_number
from polyvolta.sets.errors import kind_of


@dataclass(frozen=True, slots=True)
class Trace:
    """One call of a user's function: its name for messages, and what its operands are called in it."""

    name: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Element(Operators["Element"]):
    """A number that is known when the kernel runs: a formula over the operands of the function being traced."""

    formula: Formula
    trace: Trace

    def _apply(self, function: str, operands: tuple[object, ...]) -> Element:
        return Element(Call(function, tuple(self._formula(x, function) for x in operands)), self.trace)

    def _formula(self, x: object, function: str) -> Formula:
        """An operand of an operation as a formula of this element's trace."""
        match x:
            case Element(formula=formula, trace=trace) if trace is self.trace:
                return formula
            case Element(trace=trace):
                raise BadFunction(
                    f"{function} mixes elements of {self.trace.name} with those of {trace.name}",
                    where=f"{self}, {x}",
                    hint="a function computes with its own operands",
                )
            case Expr():
                raise BadFunction(
                    f"{self.trace.name} uses a whole tensor or expression, {x}",
                    where=f"{function} of {self} and {x}",
                    hint=f"make it an operand of its own: pv.pointwise({self.trace.name}, ..., {x})",
                )
            case _ if is_number(x):
                return Number(constant(x, function))
        raise BadOperand(
            f"{function} can't take {kind_of(x)} as an operand",
            where=f"{self}, {x!r}"[:200],
            hint=operand_hint(x, "elements and real numbers"),
        )

    def __eq__(self, other: object) -> Any:
        return self._apply("equal", (self, other))

    def __ne__(self, other: object) -> Any:
        return self._apply("not_equal", (self, other))

    __hash__ = None  # type: ignore[assignment]

    def _noun(self) -> str:
        return f"an element, in {self.trace.name},"

    def __str__(self) -> str:
        return show(self.formula, self.trace.operands)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise BadFunction(
            f"an element has no {name!r}: it is a single number",
            where=str(self),
            hint=f"{self.trace.name} sees one number of each operand, all at the same place",
        )


def trace(f: Callable[..., Any], operands: Sequence[object | None]) -> tuple[str, Formula]:
    """The name of `f` and what it computes.

    Parameters
    ----------
    operands : numbers are passed to `f` as they are; each None is an element, an input of the formula, in order.

    Raises
    ------
    BadFunction : it takes another number of operands, uses a function that kernels don't have, or its result is no
        expression of its operands.
    BadOperand : it asks an element for what isn't known yet: a truth value, an index, a number.

    >>> import numpy as np
    >>> name, formula = trace(lambda x, b, low: np.maximum(x + b, low), [None, None, 0.5])
    >>> show(formula, ("x", "b"))
    'maximum(add(x, b), 0.5)'
    """
    if type(f).__module__.startswith("sympy."):
        from polyvolta.graph.functions.from_sympy import function_of

        f = function_of(f)
    name = _name_of(f)
    shown = name if name.isidentifier() else "f"
    names = _parameters(f, len(operands), shown)
    unknown = tuple(n for n, x in zip(names, operands, strict=True) if x is None)
    at = Trace(shown, unknown)
    elements = iter([Element(Input(p), at) for p in range(len(unknown))])
    if not unknown:
        raise BadOperand(f"{shown} of numbers alone is no part of a graph", hint="call it yourself")
    formula = _result(f(*(next(elements) if x is None else x for x in operands)), at)
    if unused := [unknown[p] for p in range(len(unknown)) if p not in inputs(formula)]:
        raise BadFunction(
            f"{shown} doesn't use {', '.join(unused)}",
            where=f"{shown}({', '.join(names)}) = {show(formula, unknown)}",
            hint="leave the operand out",
        )
    return name, formula


def inlined(formula: Formula, operands: Sequence[object]) -> Element:
    """A function traced inside another one's trace, called with that one's elements."""
    one = next(x for x in operands if isinstance(x, Element))
    return Element(substitute(formula, {p: one._formula(x, "pointwise") for p, x in enumerate(operands)}), one.trace)


def _name_of(f: Callable[..., Any]) -> str:
    while hasattr(f, "func") and not hasattr(f, "__name__"):  # functools.partial
        f = f.func  # type: ignore[attr-defined]
    return getattr(f, "__name__", type(f).__name__)


def _parameters(f: Callable[..., Any], arity: int, name: str) -> tuple[str, ...]:
    """What the operands are called in `f`, which must take so many."""
    nth = tuple(f"x{p}" for p in range(arity))
    if (takes := getattr(f, "nin", arity)) != arity:  # one of numpy's
        raise _wrong_arity(f"np.{name}", f"{takes} operands", arity)
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # of some builtin functions nothing is known
        return nth
    try:
        bound = signature.bind(*nth)
    except TypeError:
        raise _wrong_arity(name, str(signature), arity) from None
    names = [p for p, value in bound.arguments.items() if isinstance(value, str)]
    return tuple(islice((*names, *nth[len(names) :]), arity))


def _wrong_arity(name: str, takes: str, given: int) -> BadFunction:
    return BadFunction(
        f"{name} was given {given} operand{'s' * (given != 1)}",
        where=f"{name}{takes if takes.startswith('(') else ' takes ' + takes}",
        hint="pv.pointwise(f, x, y) calls f with one element of x and one of y",
    )


def _result(made: object, at: Trace) -> Formula:
    """What the function returned, as a formula of its operands."""
    call = f"{at.name}({', '.join(at.operands)})"
    hint = "return one expression of the operands"
    match made:
        case Element(formula=formula, trace=trace) if trace is at:
            return formula
        case Element():
            what = "an element of another function"
        case Expr():
            what, hint = f"an expression of whole tensors, {made}", "make these tensors operands"
        case None:
            what, hint = "nothing", "is a `return` missing?"
        case tuple() | list():
            what, hint = f"{len(made)} results", "call pv.pointwise for each; what they share is computed once"
        case int() | float():
            what, hint = f"the number {made}, whatever its operands are", hint
        case _:
            what = kind_of(made)
    raise BadFunction(f"{at.name} returns {what}"[:300], where=call, hint=hint)
