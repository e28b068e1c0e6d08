"""Integer sets and relations: a self-contained Presburger-lite library in isl's notation.

>>> from polyvolta.sets import Set, Map
>>> tile = Map("{ S[i] -> [floor(i/32), i mod 32] }")
>>> tile.is_bijective()
True
>>> print(Set("[N] -> { S[i] : 0 <= i < N }").apply(tile).project_out(1))
[N] -> { [i0] : 0 <= 32*i0 < N }
"""

from .aff import Aff, aff, var, xor
from .budgets import budget
from .errors import (
    BudgetExceeded,
    NotAffine,
    NotAFunction,
    PolyvoltaError,
    SetSyntaxError,
    SpaceMismatch,
    Unbounded,
    UnknownName,
    nearest,
)
from .map import Map
from .set import Set
from .space import Space, Tuple

__all__ = [
    "Aff",
    "BudgetExceeded",
    "Map",
    "NotAFunction",
    "NotAffine",
    "PolyvoltaError",
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
    "var",
    "xor",
]
