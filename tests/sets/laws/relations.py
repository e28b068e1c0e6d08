"""Maps: sides, composition, properties."""

import numpy as np

from tests.sets.laws import equal, family, same
from tests.sets.tables import instances, points

LINE = {"outputs": ("i",)}
STEP = {"inputs": ("i",), "outputs": ("k",)}
NEXT = {"inputs": ("k",), "outputs": ("m",), "tuples": ("A", "B")}
MAPS = family("maps", {"inputs": ("i",), "outputs": ("k", "l"), "depth": 1})
PAIRS = family("pairs of maps", STEP, STEP)
CHAINS = family("chains of maps", STEP, NEXT, LINE, weight=0.6)
FUNCTIONS = family("functions", {"inputs": ("i",), "outputs": ("k",), "depth": 1, "boxed": "params"}, weight=0.5)
LOOPS = family(
    "maps of one space", {"inputs": ("i",), "outputs": ("k",), "tuples": ("S", "S"), "params": ()}, weight=0.5
)


@MAPS.law
def domain(m):
    same(m.r.domain(), m.t.any(axis=(2, 3)))


@MAPS.law
def range_(m):
    same(m.r.range(), m.t.any(axis=1))


@MAPS.law
def reverse(m):
    same(m.r.reverse(), np.moveaxis(m.t, 1, 3))


@MAPS.law
def wrap(m):
    same(m.r.wrap(), m.t)


@MAPS.law
def project_out_of_a_map(m):
    same(m.r.project_out("k"), m.t.any(axis=2))


@PAIRS.law
def map_algebra(f, g):
    same(f.r - g.r, f.t & ~g.t)
    same(f.r & g.r, f.t & g.t)
    same(f.r | g.r, f.t | g.t)


@PAIRS.law
def apply_domain(f, g):
    same(f.r.apply_domain(g.r), (g.t[:, :, :, None] & f.t[:, :, None, :]).any(axis=1))


@CHAINS.law
def apply_range(f, g, s):
    same(f.r.apply_range(g.r), (f.t[:, :, :, None] & g.t[:, None, :, :]).any(axis=2))


@CHAINS.law
def apply(f, g, s):
    same(s.r.apply(f.r), (s.t[:, :, None] & f.t).any(axis=1))


@CHAINS.law
def intersect_domain(f, g, s):
    same(f.r.intersect_domain(s.r), f.t & s.t[:, :, None])


@CHAINS.law
def intersect_range(f, g, s):
    same(f.r.intersect_range(g.r.domain()), f.t & g.t.any(axis=2)[:, None, :])


@CHAINS.law
def identity(f, g, s):
    same(s.r.identity(), s.t[:, :, None] & np.eye(s.t.shape[1], dtype=bool))


@FUNCTIONS.law
def is_single_valued(m):
    equal(m.r.is_single_valued(), bool((m.t.sum(axis=2) <= 1).all()))
    for (n,), here in instances(m.t, 1):
        equal(m.r.fix(N=n).is_single_valued(), bool((here.sum(axis=1) <= 1).all()))


@FUNCTIONS.law
def is_injective(m):
    equal(m.r.is_injective(), bool((m.t.sum(axis=1) <= 1).all()))
    for (n,), here in instances(m.t, 1):
        equal(m.r.fix(N=n).is_injective(), bool((here.sum(axis=0) <= 1).all()))


@FUNCTIONS.law
def is_bijective(m):
    for (n,), here in instances(m.t, 1):
        equal(m.r.fix(N=n).is_bijective(), bool((here.sum(axis=0) <= 1).all() and (here.sum(axis=1) <= 1).all()))


@LOOPS.law
def deltas(m):
    found = set(m.r.deltas().points())
    equal(found, {(y - x,) for x, y in points(m.t)})


@LOOPS.law
def deltas_map(m):
    found = set(m.r.deltas_map().wrap().flatten().points())
    equal(found, {(x, y, y - x) for x, y in points(m.t)})


@LOOPS.law
def is_identity(m):
    equal(m.r.is_identity(), not (m.t & ~np.eye(len(m.t), dtype=bool)).any())
    assert m.r.domain().identity().is_identity()


@CHAINS.law
def subtract_domain(f, g, s):
    same(f.r.subtract_domain(s.r), f.t & ~s.t[:, :, None])


@CHAINS.law
def subtract_range(f, g, s):
    same(f.r.subtract_range(g.r.domain()), f.t & ~g.t.any(axis=2)[:, None, :])
