"""Integer sets and relations: a self-contained Presburger-lite library in isl's notation.

>>> from polyvolta.sets import Set, Map
>>> tile = Map("{ S[i] -> [floor(i/32), i mod 32] }")
>>> tile.is_bijective()
True
>>> print(Set("[N] -> { S[i] : 0 <= i < N }").apply(tile).project_out(1))
[N] -> { [i0] : 0 <= 32*i0 < N }

Names are imported on first use, so that an error, or a text that is none, costs no algebra.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvolta.sets.budgets import budget as budget
    from polyvolta.sets.by_isl.aligning import affs_from_space as affs_from_space
    from polyvolta.sets.by_isl.aligning import align_spaces as align_spaces
    from polyvolta.sets.by_isl.aligning import align_two as align_two
    from polyvolta.sets.by_isl.constraints import Constraint as Constraint
    from polyvolta.sets.by_isl.functions.methods import make_zero_and_vars as make_zero_and_vars
    from polyvolta.sets.by_isl.objects.values import DEFAULT_CONTEXT as DEFAULT_CONTEXT
    from polyvolta.sets.by_isl.objects.values import Context as Context
    from polyvolta.sets.by_isl.objects.values import Id as Id
    from polyvolta.sets.by_isl.objects.values import Point as Point
    from polyvolta.sets.by_isl.objects.values import Val as Val
    from polyvolta.sets.counting.quasipoly import PwQPolynomial as PwQPolynomial
    from polyvolta.sets.counting.quasipoly import QPolynomial as QPolynomial
    from polyvolta.sets.errors import BudgetExceeded as BudgetExceeded
    from polyvolta.sets.errors import EmptySet as EmptySet
    from polyvolta.sets.errors import NotAffine as NotAffine
    from polyvolta.sets.errors import NotAFunction as NotAFunction
    from polyvolta.sets.errors import NotPlottable as NotPlottable
    from polyvolta.sets.errors import NotSupported as NotSupported
    from polyvolta.sets.errors import OutsideDomain as OutsideDomain
    from polyvolta.sets.errors import PolyvoltaError as PolyvoltaError
    from polyvolta.sets.errors import SetSyntaxError as SetSyntaxError
    from polyvolta.sets.errors import SpaceMismatch as SpaceMismatch
    from polyvolta.sets.errors import Unbounded as Unbounded
    from polyvolta.sets.errors import UnknownName as UnknownName
    from polyvolta.sets.errors import nearest as nearest
    from polyvolta.sets.functions.multi_pwaff import MultiPwAff as MultiPwAff
    from polyvolta.sets.functions.multi_pwaff import PwMultiAff as PwMultiAff
    from polyvolta.sets.functions.pwaff import PwAff as PwAff
    from polyvolta.sets.layouts.layout import Layout as Layout
    from polyvolta.sets.rationals.rational import RationalSet as RationalSet
    from polyvolta.sets.rationals.relation import RationalMap as RationalMap
    from polyvolta.sets.values.aff import Aff as Aff
    from polyvolta.sets.values.aff import aff as aff
    from polyvolta.sets.values.aff import var as var
    from polyvolta.sets.values.aff import xor as xor
    from polyvolta.sets.values.kinds import dim_type as dim_type
    from polyvolta.sets.values.map import Map as Map
    from polyvolta.sets.values.set import Set as Set
    from polyvolta.sets.values.simplify import simplify as simplify
    from polyvolta.sets.values.space import Space as Space
    from polyvolta.sets.values.space import Tuple as Tuple

_HOMES = {
    "budget": "budgets",
    **dict.fromkeys("PwQPolynomial QPolynomial".split(), "counting.quasipoly"),
    **dict.fromkeys(
        "BudgetExceeded EmptySet NotAFunction NotAffine NotPlottable NotSupported OutsideDomain"
        " PolyvoltaError SetSyntaxError SpaceMismatch Unbounded UnknownName nearest".split(),
        "errors",
    ),
    **dict.fromkeys("MultiPwAff PwMultiAff".split(), "functions.multi_pwaff"),
    "PwAff": "functions.pwaff",
    "Layout": "layouts.layout",
    "Constraint": "by_isl.constraints",
    "make_zero_and_vars": "by_isl.functions.methods",
    **dict.fromkeys("align_spaces align_two affs_from_space".split(), "by_isl.aligning"),
    **dict.fromkeys("Context DEFAULT_CONTEXT Id Point Val".split(), "by_isl.objects.values"),
    "RationalSet": "rationals.rational",
    "RationalMap": "rationals.relation",
    **dict.fromkeys("Aff aff var xor".split(), "values.aff"),
    "dim_type": "values.kinds",
    "Map": "values.map",
    "Set": "values.set",
    "simplify": "values.simplify",
    **dict.fromkeys("Space Tuple".split(), "values.space"),
}

_CLASSES_OF_ISL = {  # isl's classes that are one class here
    **dict.fromkeys(("BasicSet", "UnionSet"), "Set"),
    **dict.fromkeys(("BasicMap", "UnionMap", "UnionPwAff", "UnionPwMultiAff", "MultiUnionPwAff"), "Map"),
    "MultiAff": "MultiPwAff",
    "UnionPwQPolynomial": "PwQPolynomial",
    "Error": "PolyvoltaError",
}

__all__ = [  # noqa: F822 (the names are there on first use)
    "Aff",
    "BudgetExceeded",
    "Constraint",
    "Context",
    "DEFAULT_CONTEXT",
    "EmptySet",
    "Id",
    "Layout",
    "Map",
    "MultiPwAff",
    "NotAFunction",
    "NotAffine",
    "NotPlottable",
    "NotSupported",
    "OutsideDomain",
    "Point",
    "PolyvoltaError",
    "PwAff",
    "PwMultiAff",
    "PwQPolynomial",
    "QPolynomial",
    "RationalMap",
    "RationalSet",
    "Set",
    "SetSyntaxError",
    "Space",
    "SpaceMismatch",
    "Tuple",
    "Unbounded",
    "UnknownName",
    "Val",
    "aff",
    "affs_from_space",
    "align_spaces",
    "align_two",
    "budget",
    "dim_type",
    "make_zero_and_vars",
    "nearest",
    "simplify",
    "var",
    "xor",
]


if not TYPE_CHECKING:  # checkers know the names, and that there are no others

    def __getattr__(name: str) -> object:
        known = _CLASSES_OF_ISL.get(name, name)
        if known not in _HOMES:
            here = import_module(f"{__name__}.text.of_isl").instead(name, [*__all__, *_CLASSES_OF_ISL])
            raise import_module(f"{__name__}.errors").no_name(__name__, name, here)
        value = getattr(import_module(f"{__name__}.{_HOMES[known]}"), known)
        globals()[name] = value  # the next look-up finds it here
        return value


def __dir__() -> list[str]:
    """The names of the package and of its modules that are there, without what it imports for itself."""
    there = (n for n, v in globals().items() if n.startswith("__") or isinstance(v, ModuleType))
    return sorted({*there, *__all__})
