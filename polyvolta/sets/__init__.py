"""Integer sets and relations: a self-contained Presburger-lite library in isl's notation.

>>> from polyvolta.sets import Set, Map
>>> tile = Map("{ S[i] -> [floor(i/32), i mod 32] }")
>>> tile.is_bijective()
True
>>> print(Set("[N] -> { S[i] : 0 <= i < N }").apply(tile).project_out(1))
[N] -> { [i0] : 0 <= 32*i0 < N }
"""

from .budgets import budget
from .counting.quasipoly import PwQPolynomial, QPolynomial
from .errors import (
    BudgetExceeded,
    EmptySet,
    NotAffine,
    NotAFunction,
    NotPlottable,
    NotSupported,
    OutsideDomain,
    PolyvoltaError,
    SetSyntaxError,
    SpaceMismatch,
    Unbounded,
    UnknownName,
    nearest,
)
from .functions.multi_pwaff import MultiPwAff
from .functions.pwaff import PwAff
from .layouts.layout import Layout
from .values.aff import Aff, aff, var, xor
from .values.map import Map
from .values.set import Set
from .values.simplify import simplify
from .values.space import Space, Tuple

PwMultiAff = MultiPwAff  # isl's name of a function whose outputs share their cells

__all__ = [
    "Aff",
    "BudgetExceeded",
    "EmptySet",
    "Layout",
    "Map",
    "MultiPwAff",
    "NotAFunction",
    "NotAffine",
    "NotPlottable",
    "NotSupported",
    "OutsideDomain",
    "PolyvoltaError",
    "PwAff",
    "PwMultiAff",
    "PwQPolynomial",
    "QPolynomial",
    "Set",
    "SetSyntaxError",
    "Space",
    "SpaceMismatch",
    "Tuple",
    "Unbounded",
    "UnknownName",
    "aff",
    "budget",
    "nearest",
    "simplify",
    "var",
    "xor",
]
