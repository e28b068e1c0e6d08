"""Lexicographic optima, samples, functions as expressions."""

import numpy as np

from polyvolta.sets import NotAFunction
from tests.sets.draw import expression
from tests.sets.laws import equal, family, same, same_function
from tests.sets.tables import PARAMS, WINDOW, first_true, instances, points, table

SETS = family("optima of sets", {})
MAPS = family("optima of maps", {"inputs": ("i",), "outputs": ("k", "l"), "depth": 1}, weight=0.5)
STEPS = family("optima of steps", {"inputs": ("i",), "outputs": ("k",)})
CONCRETE = family("sets without parameters", {"params": ()})


@SETS.law
def lexmin(a):
    same(a.r.lexmin(), first_true(a.t, 1))


@SETS.law
def lexmax(a):
    same(a.r.lexmax(), first_true(a.t, 1, last=True))


@MAPS.law
def lexmin_of_a_map(m):
    same(m.r.lexmin(), first_true(m.t, 2))


@MAPS.law
def lexmax_of_a_map(m):
    same(m.r.lexmax(), first_true(m.t, 2, last=True))


@SETS.law
def lexmin_is_a_least_member(a):
    least = a.r.lexmin()
    assert least.is_subset(a.r) and least.is_equal(least.lexmin())
    assert least.params().is_equal(a.r.params())


@STEPS.law
def as_affs(m):
    least = m.r.lexmin()
    try:
        (e,) = least.as_affs()
    except NotAFunction:
        assert least.is_empty() or len(least.without_empty().pieces) > 1
        return
    for (n,), here in instances(first_true(m.t, 2), 1):
        for x, y in points(here):
            assert e.evaluate({"N": n, "i": x}) == y, f"{e} at N = {n}, i = {x} is not {y}"


@CONCRETE.law
def sample(a):
    one = a.r.sample()
    found = table(one)
    if a.t.any():
        assert found.sum() == 1 and (found <= a.t).all(), f"{one}"
    else:
        assert one.is_empty()


def objective(source):
    """An expression to optimise."""
    return expression(source, ("i", "j", "N"), 1)


EXPRESSIONS = family("sets and expressions", {"depth": 1}, objective, weight=0.4)


def optimum(found, a, e, best):
    """Check the best value of an expression over a set, a function of the parameter."""
    i, j, n = np.array(WINDOW)[None, :, None], np.array(WINDOW)[None, None, :], np.array(PARAMS)[:, None, None]
    values = np.broadcast_to(e.value({"i": i, "j": j, "N": n}), a.t.shape)
    some = a.t.any(axis=(1, 2))
    expected = [int(best(v[t])) if t.any() else 0 for v, t in zip(values, a.t, strict=True)]
    same_function(found, some, np.array(expected))


@EXPRESSIONS.law
def min_of_an_expression(a, e):
    optimum(a.r.min(e.isl), a, e, np.min)


@EXPRESSIONS.law
def max_of_an_expression(a, e):
    optimum(a.r.max(e.isl), a, e, np.max)


@CONCRETE.law
def sample_point(a):
    if a.t.any():
        assert a.r.sample_point() in points(a.t)


@CONCRETE.law
def extremes_without_parameters(a):
    found = points(a.t)
    if found:
        equal(a.r.min("i - 2*j"), min(i - 2 * j for i, j in found))
        equal(a.r.max("i + floor(j/2)"), max(i + j // 2 for i, j in found))
