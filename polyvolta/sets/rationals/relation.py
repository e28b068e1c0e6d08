"""Relations between rational points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..budgets import metered_class
from ..operations import dimensions
from . import sides
from .points import RationalPoints

if TYPE_CHECKING:
    from ..values.map import Map


@metered_class
class RationalMap(RationalPoints["Map"]):
    """A relation between rational points, from isl's notation: what is true of a `RationalSet` of its pairs.

    `Map(text)` gives one where the text says `rat:`. Compositions, domains and ranges are over the rational numbers.

    >>> half = RationalMap("{ rat: [i] -> [j] : i = 2j }")
    >>> print(half.apply_range(half), half.reverse())
    { rat: [i] -> [j] : 4*j = i } { rat: [j] -> [2*j] }
    """

    __slots__ = ()
    _is_pairs = True
    _noun = "RationalMap"
    _counted = "integer_points().count() counts those that are of integers"
    _beside = "r.integer_points() is a Map, of the integer points of a RationalMap r"

    @classmethod
    def _integral(cls) -> type[Map]:
        from ..values.map import Map

        return Map

    def _kind(self) -> str:
        return "relation of rational points"

    rename_domain, rename_range = dimensions.rename_domain, dimensions.rename_range
    domain, range, reverse, wrap, deltas = sides.domain, sides.range_, sides.reverse, sides.wrap, sides.deltas
    intersect_domain, intersect_range = sides.intersect_domain, sides.intersect_range
    apply_range, apply_domain = sides.apply_range, sides.apply_domain
    is_single_valued, is_injective = sides.is_single_valued, sides.is_injective
    is_bijective = sides.is_bijective
