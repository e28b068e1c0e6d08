"""Products, wrapping and factors."""

import numpy as np

from polyvolta.sets import Map
from tests.sets.laws import family, same

LINE = {"outputs": ("i",), "params": ()}
OTHER = {"outputs": ("j",), "params": (), "tuples": ("T",)}
STEP = {"inputs": ("i",), "outputs": ("k",), "params": ()}
NEXT = {"inputs": ("j",), "outputs": ("l",), "params": (), "tuples": ("T", "B")}
FORK = {"inputs": ("i",), "outputs": ("l",), "params": (), "tuples": ("S", "B")}
JOIN = {"inputs": ("j",), "outputs": ("k",), "params": (), "tuples": ("T", "A")}
NESTED = {"inputs": ("i", "j"), "outputs": ("k",), "params": (), "place": "[S[i] -> T[j]] -> A[k]"}
DEEP = {"inputs": ("i",), "outputs": ("j", "k"), "params": (), "place": "S[i] -> [T[j] -> A[k]]"}
SETS = family("products of sets", LINE, OTHER)
MAPS = family("products of maps", STEP, NEXT, FORK, JOIN, weight=0.5)
WRAPPED = family("nested tuples", NESTED, DEEP)


@SETS.law
def product_of_sets(a, b):
    found = a.r.product(b.r)
    same(found, a.t[:, None] & b.t[None, :])
    same(found.unwrap(), a.t[:, None] & b.t[None, :])


@SETS.law
def flat_product_of_sets(a, b):
    same(a.r.flat_product(b.r), a.t[:, None] & b.t[None, :])


@MAPS.law
def product(f, g, h, e):
    same(f.r.product(g.r), f.t[:, None, :, None] & g.t[None, :, None, :])


@MAPS.law
def flat_product(f, g, h, e):
    same(f.r.flat_product(g.r), f.t[:, None, :, None] & g.t[None, :, None, :])


@MAPS.law
def range_product(f, g, h, e):
    same(f.r.range_product(h.r), f.t[:, :, None] & h.t[:, None, :])


@MAPS.law
def flat_range_product(f, g, h, e):
    same(f.r.flat_range_product(h.r), f.t[:, :, None] & h.t[:, None, :])


@MAPS.law
def domain_product(f, g, h, e):
    same(f.r.domain_product(e.r), f.t[:, None, :] & e.t[None, :, :])


@MAPS.law
def flat_domain_product(f, g, h, e):
    same(f.r.flat_domain_product(e.r), f.t[:, None, :] & e.t[None, :, :])


@MAPS.law
def factors_of_a_product(f, g, h, e):
    both = f.r.range_product(h.r)
    same(both.range_factor_domain(), f.t & h.t.any(axis=1)[:, None])
    same(both.range_factor_range(), h.t & f.t.any(axis=1)[:, None])


@MAPS.law
def domain_factors_of_a_product(f, g, h, e):
    both = f.r.domain_product(e.r)
    same(both.domain_factor_domain(), f.t & e.t.any(axis=0)[None, :])
    same(both.domain_factor_range(), e.t & f.t.any(axis=0)[None, :])


@WRAPPED.law
def parsing_of_nested_tuples(m, w):
    same(m.r, m.t)
    same(w.r, w.t)


@WRAPPED.law
def printing_of_nested_tuples(m, w):
    same(Map(str(m.r)), m.t)
    same(Map(str(w.r)), w.t)


@WRAPPED.law
def curry(m, w):
    found = m.r.curry()
    same(found, m.t)
    assert found.space.n_in == 1 and found.uncurry().is_equal(m.r)


@WRAPPED.law
def uncurry(m, w):
    found = w.r.uncurry()
    same(found, w.t)
    assert found.space.n_in == 2 and found.curry().is_equal(w.r)


@WRAPPED.law
def wrap_and_unwrap(m, w):
    same(m.r.wrap(), m.t)
    assert m.r.wrap().unwrap().is_equal(m.r)


@WRAPPED.law
def flatten_sides(m, w):
    same(m.r.flatten_domain(), m.t)
    same(w.r.flatten_range(), w.t)


@WRAPPED.law
def unwrapped_domain(m, w):
    same(m.r.domain().unwrap(), m.t.any(axis=2))
    same(w.r.range().unwrap(), w.t.any(axis=0))


@SETS.law
def domain_and_range_map(a, b):
    pairs = a.r.product(b.r).unwrap()
    both = a.t[:, None] & b.t[None, :]
    eye = np.eye(len(a.t), dtype=bool)
    same(pairs.domain_map(), both[:, :, None] & eye[:, None, :])
    same(pairs.range_map(), both[:, :, None] & eye[None, :, :])


@MAPS.law
def zip_(f, g, h, e):
    pairs = f.t[:, None, :, None] & g.t[None, :, None, :]
    same(f.r.product(g.r).zip(), np.swapaxes(pairs, 1, 2))


@MAPS.law
def factors(f, g, h, e):
    both = f.r.product(g.r)
    same(both.factor_domain(), f.t & g.t.any())
    same(both.factor_range(), g.t & f.t.any())


@WRAPPED.law
def reversed_sides(m, w):
    same(m.r.domain_reverse(), np.swapaxes(m.t, 0, 1))
    same(w.r.range_reverse(), np.swapaxes(w.t, 1, 2))
    same(w.r.range().wrapped_reverse(), np.swapaxes(w.t.any(0), 0, 1))
