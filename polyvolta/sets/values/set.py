"""Sets of integer points."""

from __future__ import annotations

from ..budgets import metered_class
from ..functions import pwaff
from ..hulls import box
from ..operations import compose, dimensions, factors, order, wrapping
from ..operations import preimage as preimages
from ..optima import optimise
from ..text import plot as plotting
from .relation import Relation


@metered_class
class Set(Relation):
    """A set of integer points, from isl's notation.

    >>> S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
    >>> S.count(N=4)
    6
    """

    __slots__ = ()
    _is_map = False

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
