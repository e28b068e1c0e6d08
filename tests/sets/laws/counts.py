"""Counting and listing."""

from tests.sets.draw import mild
from tests.sets.laws import equal, family
from tests.sets.tables import PARAMS, WINDOW, instances, points

SETS = family("counted sets", {})
MAPS = family("counted maps", {"inputs": ("i",), "outputs": ("k", "l"), "depth": 1}, weight=0.5)
MILD = family("mild sets", {"write": mild})
SUMS = family("pairs of cardinalities", {"outputs": ("i",), "write": mild}, {"outputs": ("i",), "write": mild})
MILD_MAPS = family("mild maps", {"inputs": ("i",), "outputs": ("k", "l"), "write": mild}, weight=0.5)


@SETS.law
def count(a):
    for (n,), here in instances(a.t, 1):
        equal(a.r.count(N=n), int(here.sum()))


@SETS.law
def points_(a):
    for (n,), here in instances(a.t, 1):
        equal(list(a.r.points(N=n)), points(here))


@MAPS.law
def count_of_pairs(m):
    for (n,), here in instances(m.t, 1):
        equal(m.r.count(N=n), int(here.sum()))


@MILD.law
def cardinality(a):
    found = a.r.cardinality()
    for (n,), here in instances(a.t, 1):
        equal(found(N=n) if found.pieces else 0, int(here.sum()))


@MILD_MAPS.law
def cardinality_of_images(m):
    found = m.r.cardinality()
    for (n,), here in instances(m.t.sum(axis=(2, 3)), 1):
        for x, number in zip(WINDOW, here, strict=True):
            equal(found(N=n, i=x) if found.pieces else 0, int(number))


@SUMS.law
def cardinalities_added_and_multiplied(a, b):
    p, q = a.r.cardinality(), b.r.cardinality()
    x, y = a.t.sum(axis=1), b.t.sum(axis=1)
    for found, expected in ((p + q, x + y), (p - q, x - y), (p * q, x * y)):
        equal([found(N=n) if found.pieces else 0 for n in PARAMS], expected.tolist())
