"""Counting and listing."""

from tests.sets.laws import equal, family
from tests.sets.tables import instances, points

SETS = family("counted sets", {})
MAPS = family("counted maps", {"inputs": ("i",), "outputs": ("k", "l"), "depth": 1})


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
