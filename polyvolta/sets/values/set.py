"""Sets of integer points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ..budgets import metered_class
from ..functions import pwaff
from ..hulls import box
from ..operations import compose, dimensions, factors, order, wrapping
from ..operations import preimage as preimages
from ..optima import optimise
from ..text import plot as plotting
from ..text.tokens import says_rational
from .relation import Relation
from .shape import is_rational_set

if TYPE_CHECKING:
    from ..rationals.rational import RationalSet


@metered_class
class Set(Relation):
    """A set of integer points, from isl's notation; a text that says `rat:` gives a `RationalSet`.

    `context` is isl's, which means nothing here.

    >>> S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
    >>> S.count(N=4)
    6
    """

    __slots__ = ()
    _is_map = False
    _noun = "Set"

    def __new__(cls, text: str, context: object = None) -> Self:
        if isinstance(text, str) and "rat" in text.lower() and says_rational(text):
            from ..rationals.rational import RationalSet

            return RationalSet(text)  # type: ignore[return-value]  # to a checker it is what both share
        return object.__new__(cls)

    def is_rational(self) -> bool:
        """Whether its points are rational ones, which those of a `RationalSet` are; here they are integers.

        >>> Set("{ [i] }").is_rational()
        False
        """
        return False

    # ---- methods: one module a theme

    apply, identity = compose.apply, compose.identity
    rename = dimensions.rename
    lex_lt_set, lex_le_set = order.lex_lt_set, order.lex_le_set
    lex_gt_set, lex_ge_set = order.lex_gt_set, order.lex_ge_set
    unwrap, is_wrapping, wrapped_reverse = wrapping.unwrap, wrapping.is_wrapping, wrapping.wrapped_reverse
    intersect_factor_domain, intersect_factor_range = factors.intersect_factor_domain, factors.intersect_factor_range
    preimage = preimage_multi_aff = preimage_multi_pw_aff = preimages.preimage
    preimage_pw_multi_aff = preimage_union_pw_multi_aff = preimages.preimage
    simple_fixed_box_hull = get_simple_fixed_box_hull = box.box_hull
    indicator_function, sample_point = pwaff.indicator_function, optimise.sample_point
    plot = plotting.plot_set

    def coefficients(self) -> RationalSet:
        """The coefficients of all affine constraints that follow from those of the set, as a `RationalSet`.

        What follows for rational numbers is meant, as in isl: of `convex_hull()` they are all that hold at the points.

        Raises
        ------
        NotSupported : a constraint is of a floor, a remainder or an existential.
        SpaceMismatch : there are several tuples.

        >>> print(Set("[N] -> { S[i] : 0 <= i <= N }").coefficients())
        { rat: coefficients[[c_cst, c_N] -> S[c_i]] : c_cst >= 0 and c_N >= 0 and c_i >= -c_N }
        """
        from ..rationals.duals import coefficients_of_set

        if is_rational_set(self):  # `Set.coefficients` of a text that says `rat:`
            return self.coefficients()
        return coefficients_of_set(self)
