"""Lexicographic optima, samples, functions as expressions."""

from polyvolta.sets import NotAFunction
from tests.sets.laws import family, same
from tests.sets.tables import first_true, instances, points, table

SETS = family("optima of sets", {})
MAPS = family("optima of maps", {"inputs": ("i",), "outputs": ("k", "l"), "depth": 1})
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
