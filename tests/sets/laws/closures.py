"""Powers and transitive closures, the lexicographic order."""

import numpy as np

from polyvolta.sets import Map
from tests.sets.draw import Drawn, comparison, mild
from tests.sets.laws import equal, family, one, same
from tests.sets.tables import WINDOW, table

LOOP = {"inputs": ("i",), "outputs": ("k",), "tuples": ("S", "S")}
STEPS = family("loops", {**LOOP, "params": (), "depth": 1}, weight=0.2)
PARAMETRIC = family("loops with a parameter", {**LOOP, "write": mild}, weight=0.4)
SHIFTS = family("translations", lambda source: shifted(source), weight=0.4)
ORDERED = family(
    "ordered sets", {"params": (), "depth": 1, "outputs": ("i",)}, {"params": (), "outputs": ("i",)}, weight=1.6
)


def shifted(source):
    """A union of one or two translations."""
    steps = [source.of((1, 2, -1, 3, -2)) for _ in range(1 + source.below(2))]
    write = lambda source, names, depth: draw_translation(source, names, steps)
    return one(source, **LOOP, write=write)


def draw_translation(source, names, steps):
    """The formula of a union of translations."""
    f = comparison(source, ("i", *(n for n in names if n not in ("i", "k"))), 1)
    move = " or ".join(f"k = i + {s}" for s in steps)
    moved = lambda at: np.any([at["k"] == at["i"] + s for s in steps], axis=0)
    return Drawn(f"({move}) and {f.isl}", lambda at: np.logical_and(moved(at), f.value(at)))


def closed(step):
    """The transitive closure of a table, the last two axes being input and output."""
    found = step
    for _ in range(len(WINDOW).bit_length()):
        found = found | composed(found, found)
    return found


def composed(a, b):
    return (a[..., :, :, None] & b[..., None, :, :]).any(axis=-2)


@STEPS.law
@PARAMETRIC.law
@SHIFTS.law
def transitive_closure(m):
    found, exact = m.r.transitive_closure()
    expected = closed(m.t)
    if exact:
        same(found, expected)
    else:
        assert (table(found) >= expected).all()


@STEPS.law
@PARAMETRIC.law
@SHIFTS.law
def fixed_power(m):
    square = composed(m.t, m.t)
    same(m.r.fixed_power(2), square)
    same(m.r.fixed_power(3), composed(square, m.t))
    same(m.r.fixed_power(-2), np.swapaxes(square, -1, -2))


@SHIFTS.law
def reaching_path_lengths(m):
    found, exact = m.r.reaching_path_lengths()
    power = m.t
    for k in range(1, 4):
        here = table(found.fix({1: k}).domain())
        ends = power.any(axis=-2)
        assert (here >= ends).all()
        if exact:
            assert (here == ends).all()
        power = composed(power, m.t)


# ---- the lexicographic order


@ORDERED.law
def lex_order_of_sets(a, b):
    both, x = a.t[:, None] & b.t[None, :], np.array(WINDOW)
    same(a.r.lex_lt_set(b.r), both & (x[:, None] < x[None, :]))
    same(a.r.lex_le_set(b.r), both & (x[:, None] <= x[None, :]))
    same(a.r.lex_gt_set(b.r), both & (x[:, None] > x[None, :]))
    same(a.r.lex_ge_set(b.r), both & (x[:, None] >= x[None, :]))


@STEPS.law
def lex_order_by_images(m):
    x = np.array(WINDOW)
    for order, compare in (
        (m.r.lex_lt_map, np.less),
        (m.r.lex_le_map, np.less_equal),
        (m.r.lex_gt_map, np.greater),
        (m.r.lex_ge_map, np.greater_equal),
    ):
        same(order(m.r), composed(composed(m.t, compare(x[:, None], x[None, :])), m.t.T))


@ORDERED.law
def from_domain_and_range(a, b):
    same(Map.from_domain_and_range(a.r, b.r), a.t[:, None] & b.t[None, :])


@ORDERED.law
def contains(a, b):
    for k, x in enumerate(WINDOW):
        equal((x,) in a.r, bool(a.t[k]))


@ORDERED.law
def from_points(a, b):
    found = [(WINDOW[k],) for (k,) in np.argwhere(a.t)]
    same(type(a.r).from_points("S[i]", found), a.t)
