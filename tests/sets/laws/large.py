"""Large coefficients: thin slabs between the points, where the rational answer and the integer one part."""

import numpy as np

from tests.sets.draw import Drawn
from tests.sets.laws import equal, family, same
from tests.sets.tables import points, table

LARGE = (7, -11, 13, -17, 23, -29, 31, -37)


def slab(source, names):
    """Two parallel bounds, close together."""
    terms = [(source.of(LARGE), name) for name in dict.fromkeys(names)]
    low = source.of((0, 1, -5, 9, -14, 20, -33))
    high = low + source.of((2, 0, 1, 5, 12, 40))
    value = lambda at: sum(c * at[name] for c, name in terms)
    text = " + ".join(f"{c}*{name}" for c, name in terms)
    return Drawn(f"{low} <= {text} <= {high}", lambda at: (low <= value(at)) & (value(at) <= high))


def slabs(source, names, depth):
    """One to three of them."""
    some = [slab(source, names) for _ in range(source.of((2, 1, 3)))]
    return Drawn(" and ".join(s.isl for s in some), lambda at: np.all([s.value(at) for s in some], axis=0))


THIN = {"outputs": ("i", "j", "k"), "params": (), "write": slabs}
SETS = family("sets of large coefficients", THIN, THIN, weight=0.3)


@SETS.law
def thin_is_empty(a, b):
    equal(a.r.is_empty(), not a.t.any())
    equal((a.r & b.r).is_empty(), not (a.t & b.t).any())


@SETS.law
def thin_sample(a, b):
    found = table(a.r.sample())
    if a.t.any():
        assert found.sum() == 1 and (found <= a.t).all()
    else:
        assert found is None or not found.any()


@SETS.law
def thin_union_counted(a, b):
    equal((a.r | b.r).count(), int((a.t | b.t).sum()))


@SETS.law
def thin_difference(a, b):
    same(a.r - b.r, a.t & ~b.t)


@SETS.law
def thin_projection(a, b):
    same(a.r.project_out("k"), a.t.any(axis=2))


@SETS.law
def thin_points(a, b):
    equal(list(a.r.points()), points(a.t))


@SETS.law
def thin_least(a, b):
    found = points(a.t)
    equal(points(table(a.r.lexmin())), found[:1])
