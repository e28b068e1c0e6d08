"""Functions in C, as isl's printers write them: their inputs by name, where they have a value."""

from __future__ import annotations

from typing import Any

from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.places import Rewriting
from polyvolta.sched.errors import BadArgument
from polyvolta.sets import PwAff
from polyvolta.sets.functions.rational import RationalPwAff
from polyvolta.sets.values.space import PARAMS, Space


def in_c(f: PwAff | RationalPwAff) -> str:
    """The value of a function, a choice among those of its cases; of a point without one it is any of them.

    >>> print(in_c(PwAff("{ [i, j] -> [floor(i/3) + 2j] : i > j; [i, j] -> [4 - i] : i <= j }")))
    i >= j + 1 ? 2 * j + floord(i, 3) : -i + 4

    Raises
    ------
    BadArgument : it has no value anywhere, or is NaN somewhere.
    """
    whole, den = (f.num, f.den) if isinstance(f, RationalPwAff) else (f, 1)
    if isinstance(f, RationalPwAff) and not f.nan.is_empty():
        raise BadArgument("NaN is no number in C", where=str(f))
    names = (*whole.param_names, *whole.space.source.dims)
    of_params = PwAff._of(names, Space(PARAMS, whole.space.out), whole.cells)
    value: Any = Rewriting(None, None).values(of_params)[0]
    return (value if den == 1 else value.div(AstExpr(den))).to_C_str()
