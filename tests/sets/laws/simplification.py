"""Gist, coalescing, hulls."""

from tests.sets.laws import family, same

PAIRS = family("pairs to simplify", {}, {}, weight=0.6)


@PAIRS.law
def gist(a, b):
    same(a.r.gist(b.r) & b.r, a.t & b.t)


@PAIRS.law
def gist_within_a_superset(a, b):
    both = a.r & b.r
    same(both.gist(b.r) & b.r, a.t & b.t)


@PAIRS.law
def gist_says_no_more(a, b):
    if all(c.known for _, cs in a.r.parts for c in cs):
        assert rows(a.r.gist(b.r)) <= rows(a.r)


def rows(relation):
    """How many constraints a relation has."""
    return sum(len(c.eqs) + len(c.ineqs) for _, cs in relation.parts for c in cs)


@PAIRS.law
def coalesce_a_union(a, b):
    union = a.r | b.r
    fused = union.coalesce()
    same(fused, a.t | b.t)
    assert len(fused.pieces) <= len(union.known_divs().pieces)


@PAIRS.law
def coalesce_a_difference(a, b):
    left = a.r - b.r
    fused = left.coalesce()
    same(fused, a.t & ~b.t)
    assert len(fused.pieces) <= len(left.known_divs().pieces)
