"""Maps: relations between integer points."""

from __future__ import annotations

from typing import Self

from ..budgets import metered_class
from ..functions import multi_pwaff
from ..hulls import box
from ..hulls import gist as gisting
from ..operations import closure, compose, dimensions, factors, make, order, product, wrapping
from ..operations import preimage as preimages
from ..text import plot as plotting
from ..text.tokens import says_rational
from .relation import Relation
from .set import Set


@metered_class
class Map(Relation):
    """A relation between integer points, from isl's notation; a text that says `rat:` gives a `RationalMap`.

    `context` is isl's, which means nothing here.

    >>> T = Map("{ S[i, j] -> [floor(i/32), j mod 8] }")
    >>> T.is_single_valued()
    True
    """

    __slots__ = ()
    _is_map = True
    _noun = "Map"

    def __new__(cls, text: str, context: object = None) -> Self:
        if isinstance(text, str) and "rat" in text.lower() and says_rational(text):
            from ..rationals.relation import RationalMap

            return RationalMap(text)  # type: ignore[return-value]  # to a checker it is what both share
        return object.__new__(cls)

    def __call__(self, sets: Set) -> Set:
        """The image of a set; see `Set.apply`."""
        return compose.apply(sets, self)

    # ---- methods: one module a theme

    domain, range, reverse = compose.domain, compose.range_, compose.reverse
    intersect_domain, intersect_range = compose.intersect_domain, compose.intersect_range
    subtract_domain, subtract_range = compose.subtract_domain, compose.subtract_range
    apply_range, apply_domain = compose.apply_range, compose.apply_domain
    is_single_valued, is_injective = compose.is_single_valued, compose.is_injective
    is_bijective, is_identity = compose.is_bijective, compose.is_identity
    as_affs, deltas, deltas_map = compose.as_affs, compose.deltas, compose.deltas_map
    rename_domain, rename_range = dimensions.rename_domain, dimensions.rename_range

    fixed_power, power, transitive_closure = closure.fixed_power, closure.power, closure.transitive_closure
    reaching_path_lengths = closure.reaching_path_lengths

    identity, from_affs = classmethod(make.identity), classmethod(make.from_affs)
    from_domain_and_range = classmethod(make.from_domain_and_range)

    lex_lt, lex_le = classmethod(order.lex_lt), classmethod(order.lex_le)
    lex_gt, lex_ge = classmethod(order.lex_gt), classmethod(order.lex_ge)
    lex_lt_map, lex_le_map = order.lex_lt_map, order.lex_le_map
    lex_gt_map, lex_ge_map = order.lex_gt_map, order.lex_ge_map

    domain_product, range_product = product.domain_product, product.range_product
    flat_domain_product, flat_range_product = product.flat_domain_product, product.flat_range_product
    wrap, curry, uncurry, zip = wrapping.wrap, wrapping.curry, wrapping.uncurry, wrapping.zip_
    range_curry = wrapping.range_curry
    domain_reverse, range_reverse = wrapping.domain_reverse, wrapping.range_reverse
    domain_is_wrapping, range_is_wrapping = wrapping.domain_is_wrapping, wrapping.range_is_wrapping
    flatten_domain, flatten_range = product.flatten_domain, product.flatten_range
    domain_map, range_map = wrapping.domain_map, wrapping.range_map
    factor_domain, factor_range = wrapping.factor_domain, wrapping.factor_range
    domain_factor_domain, domain_factor_range = wrapping.domain_factor_domain, wrapping.domain_factor_range
    range_factor_domain, range_factor_range = wrapping.range_factor_domain, wrapping.range_factor_range
    intersect_domain_factor_domain = factors.intersect_domain_factor_domain
    intersect_domain_factor_range = factors.intersect_domain_factor_range
    intersect_range_factor_domain = factors.intersect_range_factor_domain
    intersect_range_factor_range = factors.intersect_range_factor_range
    intersect_domain_wrapped_domain = factors.intersect_domain_wrapped_domain
    intersect_range_wrapped_domain = factors.intersect_range_wrapped_domain
    preimage_domain = preimage_domain_multi_aff = preimage_domain_multi_pw_aff = preimages.preimage_domain
    preimage_domain_pw_multi_aff = preimage_domain_union_pw_multi_aff = preimages.preimage_domain
    preimage_range = preimage_range_multi_aff = preimage_range_multi_pw_aff = preimages.preimage_range
    preimage_range_pw_multi_aff = preimage_range_union_pw_multi_aff = preimages.preimage_range
    gist_domain, gist_range = gisting.gist_domain, gisting.gist_range
    range_simple_fixed_box_hull = get_range_simple_fixed_box_hull = box.box_hull
    as_multi_pw_aff = as_pw_multi_aff = multi_pwaff.as_multi_pw_aff
    plot = plotting.plot_map
