"""Hulls: they contain the points, and they are as small as they claim."""

import numpy as np

from polyvolta.sets import Set, Unbounded
from tests.sets.draw import mild
from tests.sets.laws import equal, family, same
from tests.sets.tables import HIGH, LOW, PARAMS, WINDOW, points, table, value

PLAIN = {"params": (), "write": mild}
SETS = family("sets with hulls", PLAIN, PLAIN, weight=1.3)
PARAMETRIC = family("sets to tidy", {})
MAPS = family("maps with boxes", {"inputs": ("i",), "outputs": ("k",), "depth": 1})


def contains(hull, truth):
    """Check that a hull is one conjunct around the points; its table."""
    assert len(hull.pieces) <= 1
    found = table(hull)
    assert (found >= truth).all(), f"a point is outside: {hull}"
    return found


def flat(truth):
    """The table of the least affine subspace around the points of a plane."""
    found = points(truth)
    x, y = np.array(WINDOW)[:, None], np.array(WINDOW)[None, :]
    if not found:
        return truth
    (a, b), others = found[0], found[1:]
    inside = np.ones_like(truth)
    for c, d in others:
        inside &= (x - a) * (d - b) == (y - b) * (c - a)
    if len(others) and not all(inside[c - WINDOW[0], d - WINDOW[0]] for c, d in found):
        return np.ones_like(truth)
    return inside if others else truth


@SETS.law
def affine_hull(a, b):
    union = a.r | b.r
    found = contains(union.affine_hull(), a.t | b.t)
    assert (found <= flat(a.t | b.t)).all(), f"not flat enough: {union.affine_hull()}"


@SETS.law
def simple_hull(a, b):
    union = a.r | b.r
    found = contains(union.simple_hull(), a.t | b.t)
    assert (found <= contains(union.unshifted_simple_hull(), a.t | b.t)).all()


@SETS.law
def convex_hull(a, b):
    union = a.r | b.r
    inside = points(contains(union.convex_hull(), a.t | b.t))
    assert all(LOW <= x <= HIGH and LOW <= y <= HIGH for x, y in inside)


@SETS.law
def polyhedral_hull(a, b):
    union = a.r | b.r
    found = contains(union.polyhedral_hull(), a.t | b.t)
    assert (found <= table(union.convex_hull())).all() and (found <= table(union.affine_hull())).all()


@SETS.law
def bounding_box(a, b):
    truth = a.t | b.t
    expected = np.zeros_like(truth)
    if truth.any():
        (i0, j0), (i1, j1) = np.argwhere(truth).min(axis=0), np.argwhere(truth).max(axis=0)
        expected[i0 : i1 + 1, j0 : j1 + 1] = True
    same((a.r | b.r).bounding_box(), expected)


@SETS.law
def is_box(a, b):
    truth = a.t | b.t
    extents = [np.ptp(x) + 1 for x in truth.nonzero()] if truth.any() else [0]
    equal((a.r | b.r).is_box(), truth.any() and int(truth.sum()) == int(np.prod(extents)))


@SETS.law
def is_singleton(a, b):
    equal((a.r & b.r).is_singleton(), int((a.t & b.t).sum()) <= 1)


@PARAMETRIC.law
def remove_redundancies(a):
    same(a.r.remove_redundancies(), a.t)


@PARAMETRIC.law
def detect_equalities(a):
    same(a.r.detect_equalities(), a.t)


@PARAMETRIC.law
def is_bounded(a):
    assert a.r.is_bounded()


@PARAMETRIC.law
def boxes_and_single_points_with_a_parameter(a):
    known = a.r.intersect_params(Set(f"[N] -> {{ : {PARAMS[0]} <= N <= {PARAMS[-1]} }}"))
    counts = [int(t.sum()) for t in a.t]
    sizes = [int(np.prod([np.ptp(x) + 1 for x in t.nonzero()])) if t.any() else 0 for t in a.t]
    equal(known.is_singleton(), max(counts) <= 1)
    equal(known.is_box(), any(counts) and counts == sizes)


@PARAMETRIC.law
def hulls_with_a_parameter(a):
    for hull in (a.r.affine_hull(), a.r.simple_hull()):
        contains(hull, a.t)


@MAPS.law
def box_hull(m):
    try:
        box = m.r.box_hull()
    except Unbounded:
        assert not m.t.any()
        return
    n, i, k = np.array(PARAMS)[:, None, None], np.array(WINDOW)[None, :, None], np.array(WINDOW)[None, None, :]
    (offset,), (size,), (stride,) = box.offset, box.size, box.stride
    away = k - value(offset, {"N": n, "i": i})
    inside = (away >= 0) & (away < size) & (away % stride == 0)
    assert (inside >= m.t).all(), f"a point is outside: {box}"
    assert size <= 8
    same(box.relation(m.r), inside & m.t.any(axis=2, keepdims=True))
