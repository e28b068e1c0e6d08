"""sympy's functions as pointwise functions: an expression or a `Lambda` becomes a Python function that can be traced.

sympy writes sums and products with many terms and divides by powers of -1; these become the binary operations that
they stand for, from left to right in sympy's own order. Undefined functions, such as `sympy.Function("silu")`, are
polyvolta's of that name. sympy simplifies as over the reals: what it makes of NaN and
infinity is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import sympy

from polyvolta.graph.errors import BadFunction
from polyvolta.graph.expr import apply
from polyvolta.graph.functions.table import FUNCTIONS as OURS
from polyvolta.sets.errors import nearest

NAMES = {"exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tanh": "tanh", "erf": "erf", "sign": "sign",
         "floor": "floor", "ceiling": "ceil", "Equality": "equal", "Unequality": "not_equal"}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{theirs: partial(apply, ours) for theirs, ours in NAMES.items()},
    "Abs": abs, "Max": lambda *xs: reduce(partial(apply, "maximum"), xs),
    "Min": lambda *xs: reduce(partial(apply, "minimum"), xs),
    "StrictLessThan": lambda a, b: a < b, "LessThan": lambda a, b: a <= b, "StrictGreaterThan": lambda a, b: a > b,
    "GreaterThan": lambda a, b: a >= b, "And": lambda *xs: reduce(lambda a, b: a & b, xs),
    "Or": lambda *xs: reduce(lambda a, b: a | b, xs), "Not": lambda a: ~a,
}  # fmt: skip


def function_of(f: Any) -> Callable[..., Any]:
    """A `sympy.Lambda` as a function of numbers or elements.

    Raises
    ------
    BadFunction : it is no Lambda, or has a function that kernels don't have.

    >>> x, y = sympy.symbols("x y")
    >>> function_of(sympy.Lambda((x, y), x / 4 - 2 * y))(6.0, 4.0)
    -6.5
    """
    if not isinstance(f, sympy.Lambda):
        hint = "name its operands in order: sympy.Lambda((x, y), expression)"
        raise BadFunction(f"a sympy {type(f).__name__} is no function", where=str(f)[:200], hint=hint)
    names = [str(s) for s in f.variables]

    def computed(*operands: Any) -> Any:
        if len(operands) != len(names):
            takes = f"{len(names)} operands, ({', '.join(names)}), not {len(operands)}"
            raise BadFunction(f"the Lambda takes {takes}", where=str(f)[:200])
        return _value(f.expr, dict(zip(f.variables, operands, strict=True)))

    computed.__name__ = "<lambda>"
    return computed


def lambda_of(e: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> tuple[sympy.Lambda, tuple[Any, ...]]:
    """An expression of sympy with an operand for each of its symbols: as a Lambda, and its operands in order.

    Raises
    ------
    BadFunction : operands that are missing, or that no symbol is named like.

    >>> x, y = sympy.symbols("x y")
    >>> lambda_of(x + 2 * y, (), {"y": 1.0, "x": 2.0})
    (Lambda((y, x), x + 2*y), (1.0, 2.0))
    """
    if not isinstance(e, sympy.Basic) or callable(e):
        hint = "pv.pointwise(f, x, y) calls f with one element of each"
        raise BadFunction(f"{', '.join(named)}: operands by name are for sympy's expressions", hint=hint)
    symbols = {str(s): s for s in sorted(e.free_symbols, key=str)}
    how = f"pv.pointwise(e, {', '.join(f'{n}=...' for n in symbols)})"
    if operands:
        if len(symbols) != 1 or len(operands) != 1 or named:
            raise BadFunction(
                f"{str(e)[:100]} has {len(symbols)} symbols, and {len(operands)} operands were given by position",
                hint=f"by name: {how}; or in order, with sympy.Lambda((x, y), e)",
            )
        return sympy.Lambda(tuple(symbols.values()), e), operands
    for name in named:
        if name not in symbols:
            raise BadFunction(f"{name} is no symbol of {str(e)[:100]}", hint=nearest(name, symbols))
    if missing := [n for n in symbols if n not in named]:
        raise BadFunction(f"no operand was given for {', '.join(missing)}", where=str(e)[:200], hint=how)
    return sympy.Lambda(tuple(symbols[n] for n in named), e), tuple(named.values())


def _value(e: Any, at: dict[Any, Any]) -> Any:
    """A sympy expression at given operands; `at` notes every part's value, so that each is computed once."""
    if e not in at:
        at[e] = _computed(e, at)
    return at[e]


def _computed(e: Any, at: dict[Any, Any]) -> Any:
    if e.is_Symbol:
        hint = f"its operands: {', '.join(str(x) for x in at if x.is_Symbol)}"
        raise BadFunction(f"{e} is no operand of the Lambda", where=str(e), hint=hint)
    if e.is_number:
        try:
            return float(e)
        except TypeError:
            raise BadFunction(f"{e} is no real number, in a sympy function", where=str(e)[:200]) from None
    if e in (sympy.true, sympy.false):
        return float(bool(e))
    half = sympy.Rational(1, 2)
    match e:
        case sympy.Add():
            return reduce(lambda total, term: _plus(total, term, at), e.args[1:], _value(e.args[0], at))
        case sympy.Mul():
            above, below = _fraction(e)
            negated = sympy.Integer(-1) in above
            above = [x for x in above if x != -1]
            made = _product(above, at) if above else 1.0
            made = -made if negated else made
            return made / _product(below, at) if below else made
        case sympy.Pow(base=base, exp=power) if power in (half, -half):
            return apply("sqrt" if power == half else "rsqrt", _value(base, at))
        case sympy.Pow(base=base, exp=power):
            return _value(base, at) ** (int(power) if power.is_Integer else _value(power, at))
        case sympy.Piecewise():
            return _pieces(e, at)
    name = type(e).__name__
    if isinstance(e, sympy.core.function.AppliedUndef) and name in OURS:
        return apply(name, *(_value(x, at) for x in e.args))
    if name not in FUNCTIONS:
        message = f"{name!r} is no pointwise function that kernels have"
        raise BadFunction(message, where=str(e)[:200], hint=nearest(name, FUNCTIONS))
    return FUNCTIONS[name](*(_value(x, at) for x in e.args))


def _fraction(e: sympy.Mul) -> tuple[list[Any], list[Any]]:
    """The factors above and below the line of a product, each as it is written.

    sympy's own `as_numer_denom` goes into exponentials, and makes exp(x) / (exp(x) + 1) of 1 / (1 + exp(-x)), which is
    no number where exp(x) overflows.
    """
    above, below = [], []
    for x in e.args:
        if isinstance(x, sympy.Rational) and x.q != 1:
            above += [sympy.Integer(x.p)] if x.p != 1 else []
            below.append(sympy.Integer(x.q))
        elif isinstance(x, sympy.Pow) and x.exp.is_number and x.exp.is_negative:
            below.append(sympy.Pow(x.base, -x.exp))
        else:
            above.append(x)
    return above, below


def _product(factors: list[Any], at: dict[Any, Any]) -> Any:
    return reduce(lambda product, x: product * _value(x, at), factors[1:], _value(factors[0], at))


def _plus(total: Any, term: Any, at: dict[Any, Any]) -> Any:
    negative = not term.is_number and term.could_extract_minus_sign()
    return total - _value(-term, at) if negative else total + _value(term, at)


def _pieces(e: Any, at: dict[Any, Any]) -> Any:
    """The first piece whose condition holds; the last one must hold always."""
    *pieces, (last, always) = e.args
    if always != sympy.true:
        message = "a Piecewise has no last case that always holds"
        raise BadFunction(message, where=str(e)[:200], hint="end it with (x, True)")
    made = _value(last, at)
    for value, condition in reversed(pieces):
        made = apply("where", _value(condition, at), _value(value, at), made)
    return made
