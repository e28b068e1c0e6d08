"""Piecewise quasi-affine functions."""

import numpy as np

from polyvolta.sets import Map, MultiPwAff, PwAff, Set
from tests.sets import draw
from tests.sets.laws import equal, family, one, same, same_function
from tests.sets.tables import PARAMS, WINDOW, instances


class Fun:
    """A drawn function as the library reads it, `f`, where it is defined, `w`, and its values, `v`."""

    def __init__(self, drawn, kind=PwAff):
        self.f, self.w, self.v, self.text = kind(drawn.text), drawn.where, drawn.values, drawn.text

    def __repr__(self):
        return self.text


def plane(source):
    return Fun(draw.function(source))


def segment(source):
    return Fun(draw.function(source, dims=("i",)))


def line(source):
    return Fun(draw.function(source, dims=("k",), tuples=("A", "")))


def step(source):
    """A function of one output in a named tuple."""
    return Fun(draw.function(source, dims=("i",), tuples=("S", "A")), MultiPwAff)


def pair(source):
    """A map that is a function of two outputs."""
    drawn = draw.function(source, dims=("i",), tuples=("S", "A"), outputs=2)
    return Fun(drawn, MultiPwAff)


ONES = family("functions", plane)
TWOS = family("pairs of functions", segment, segment, weight=0.5)
PLACES = family("functions and sets", plane, lambda source: one(source, depth=1))
CHAINS = family("chains of functions", line, step)
WIDE = family("functions of two outputs", pair)
OPTIMA = family("optimal functions", {"inputs": ("i",), "outputs": ("k",)})


@ONES.law
def function_parsing(a):
    same_function(a.f, a.w, a.v)


@ONES.law
def function_printing_parses_back(a):
    same_function(PwAff(str(a.f)), a.w, a.v)


@ONES.law
def function_negated(a):
    same_function(-a.f, a.w, -a.v)


@ONES.law
def function_times_a_number(a):
    same_function(3 * a.f - 2, a.w, 3 * a.v - 2)


@ONES.law
def function_quotient(a):
    same_function(a.f // 3, a.w, a.v // 3)


@ONES.law
def function_ceildiv(a):
    same_function(a.f.ceildiv(4), a.w, -(-a.v // 4))


@ONES.law
def function_remainder(a):
    same_function(a.f % 4, a.w, a.v % 4)


@ONES.law
def function_abs(a):
    same_function(abs(a.f), a.w, abs(a.v))


@ONES.law
def function_coalesce(a):
    fused = a.f.coalesce()
    same_function(fused, a.w, a.v)
    assert len(fused.pieces) <= len(a.f.pieces)


@ONES.law
def function_domain(a):
    same(a.f.domain(), a.w)


@ONES.law
def function_evaluated(a):
    for (n,), here in instances(a.w, 1):
        for i, j in list(zip(*here.nonzero(), strict=True))[:3]:
            at = a.v[n - PARAMS[0], i, j]
            equal(a.f(N=n, i=WINDOW[i], j=WINDOW[j]), int(at))


@ONES.law
def function_least_and_greatest(a):
    for k, n in enumerate(PARAMS):
        if a.w[k].any():
            at = a.f.intersect_params(Set(f"[N] -> {{ : N = {n} }}"))
            equal(at.min_val(), int(a.v[k][a.w[k]].min()))
            equal(at.max_val(), int(a.v[k][a.w[k]].max()))


@TWOS.law
def function_sum(a, b):
    same_function(a.f + b.f, a.w & b.w, a.v + b.v)


@TWOS.law
def function_difference(a, b):
    same_function(a.f - b.f, a.w & b.w, a.v - b.v)


@TWOS.law
def function_min(a, b):
    same_function(a.f.min(b.f), a.w & b.w, np.minimum(a.v, b.v))


@TWOS.law
def function_max(a, b):
    same_function(a.f.max(b.f), a.w & b.w, np.maximum(a.v, b.v))


@TWOS.law
def function_le_set(a, b):
    same(a.f.le_set(b.f), a.w & b.w & (a.v <= b.v))


@TWOS.law
def function_lt_set(a, b):
    same(a.f.lt_set(b.f), a.w & b.w & (a.v < b.v))


@TWOS.law
def function_ge_set(a, b):
    same(a.f.ge_set(b.f), a.w & b.w & (a.v >= b.v))


@TWOS.law
def function_gt_set(a, b):
    same(a.f.gt_set(b.f), a.w & b.w & (a.v > b.v))


@TWOS.law
def function_eq_set(a, b):
    same(a.f.eq_set(b.f), a.w & b.w & (a.v == b.v))


@TWOS.law
def function_ne_set(a, b):
    same(a.f.ne_set(b.f), a.w & b.w & (a.v != b.v))


@TWOS.law
def function_union_prefer(a, b):
    same_function(a.f.union_prefer(b.f), a.w | b.w, np.where(a.w, a.v, b.v))


@TWOS.law
def function_union_add(a, b):
    same_function(a.f.union_add(b.f), a.w | b.w, a.v * a.w + b.v * b.w)


@TWOS.law
def function_union_min(a, b):
    both = np.where(a.w & b.w, np.minimum(a.v, b.v), np.where(a.w, a.v, b.v))
    same_function(a.f.union_min(b.f), a.w | b.w, both)


@TWOS.law
def function_union_max(a, b):
    both = np.where(a.w & b.w, np.maximum(a.v, b.v), np.where(a.w, a.v, b.v))
    same_function(a.f.union_max(b.f), a.w | b.w, both)


@TWOS.law
def function_is_equal(a, b):
    same_inside = bool((a.w == b.w).all() and (a.v == b.v)[a.w].all())
    assert a.f.is_equal(b.f) <= same_inside
    assert a.f.is_equal((a.f + b.f - b.f).union_prefer(a.f))


@PLACES.law
def function_intersect_domain(a, s):
    same_function(a.f.intersect_domain(s.r), a.w & s.t, a.v)


@PLACES.law
def function_subtract_domain(a, s):
    same_function(a.f.subtract_domain(s.r), a.w & ~s.t, a.v)


@PLACES.law
def function_gist(a, s):
    same_function(a.f.gist(s.r).intersect_domain(s.r), a.w & s.t, a.v)


@PLACES.law
def indicator_function(a, s):
    same_function(s.r.indicator_function(), np.ones_like(s.t), s.t.astype(np.int64))


@PLACES.law
def function_cond(a, s):
    chosen = np.where(s.t, a.v, -7)
    same_function(s.r.indicator_function().cond(a.f, -7), a.w | ~s.t, chosen)


@CHAINS.law
def function_pullback(outer, inner):
    at = inner.v - WINDOW[0]
    inside = inner.w & (at >= 0) & (at < len(WINDOW))
    at = np.where(inside, at, 0)
    n = np.arange(len(PARAMS))[:, None]
    same_function(outer.f.pullback(inner.f), inside & outer.w[n, at], outer.v[n, at])


@CHAINS.law
def function_as_map(outer, inner):
    same(inner.f.as_map(), inner.w[..., None] & (inner.v[..., None] == np.array(WINDOW)))


@WIDE.law
def functions_as_map(a):
    k, l = np.array(WINDOW)[:, None], np.array(WINDOW)
    graph = a.w[..., None, None] & (a.v[0][..., None, None] == k) & (a.v[1][..., None, None] == l)
    same(a.f.as_map(), graph)
    same(Map(a.text), graph)


@WIDE.law
def function_of_a_map(a):
    again = Map(a.text).as_multi_pw_aff()
    for k in range(2):
        same_function(again[k], a.w, a.v[k])


@WIDE.law
def functions_printed(a):
    again = MultiPwAff(str(a.f))
    for k in range(2):
        same_function(again[k], a.w, a.v[k])


@WIDE.law
def functions_added_and_scaled(a):
    once = MultiPwAff(a.text)
    for f, v in ((a.f + once, 2 * a.v), (a.f - 2 * once, -a.v), (-a.f // 3, -a.v // 3), (a.f % 4, a.v % 4)):
        for k in range(2):
            same_function(f[k], a.w, v[k])


@WIDE.law
def functions_side_by_side(a):
    four = a.f.flat_range_product(2 * a.f)
    for k, v in enumerate((*a.v, *(2 * a.v))):
        same_function(four[k], a.w, v)


def extreme(truth, last):
    """Where there is an output, and the least or greatest."""
    at = len(WINDOW) - 1 - truth[..., ::-1].argmax(axis=-1) if last else truth.argmax(axis=-1)
    return truth.any(axis=-1), np.array(WINDOW)[at]


@OPTIMA.law
def lexmin_pw_multi_aff(m):
    same_function(m.r.lexmin_pw_multi_aff()[0], *extreme(m.t, False))


@OPTIMA.law
def lexmax_pw_multi_aff(m):
    same_function(m.r.lexmax_pw_multi_aff()[0], *extreme(m.t, True))


@OPTIMA.law
def dim_min(m):
    same_function(m.r.dim_min("k"), *extreme(m.t, False))


@OPTIMA.law
def dim_max(m):
    same_function(m.r.dim_max("k"), *extreme(m.t, True))
