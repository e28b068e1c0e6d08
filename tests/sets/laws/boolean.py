"""Reading, printing, boolean algebra and comparisons."""

from tests.sets.draw import notation
from tests.sets.laws import equal, family, one, same


def loose(source, depth=2):
    """A set, now and then without bounds."""
    return one(source, boxed=source.below(4) != 3, depth=depth)


def short(source):
    """A set of a shorter formula, now and then without bounds."""
    return loose(source, 1)


FORMULAS = family("formulas", {"depth": 3, "boxed": False})
NOTATION = family("spellings", {"write": notation})
MAP_FORMULAS = family("formulas of maps", {"inputs": ("i",), "outputs": ("k", "l"), "depth": 1, "boxed": False})
TWO = family("sets of two parameters", {"outputs": ("i",), "params": ("N", "M")})
PAIRS = family("pairs of sets", loose, loose)
TRIPLES = family("triples of sets", short, short, short, weight=0.4)
BOUND = {"boxed": "params"}
COMPARED = family("comparisons of sets", BOUND, BOUND, weight=0.6)
TUPLES = family("sets of two tuples", {}, {"outputs": ("i",), "tuples": ("T",)}, {}, weight=0.5)


@FORMULAS.law
@NOTATION.law
@MAP_FORMULAS.law
@TWO.law
def parsing(x):
    same(x.r, x.t)


@FORMULAS.law
@NOTATION.law
@MAP_FORMULAS.law
@TWO.law
def printing_parses_back(x):
    same(type(x.r)(str(x.r)), x.t)


@FORMULAS.law
@NOTATION.law
@MAP_FORMULAS.law
@TWO.law
def printing_gives_an_equal_object(x):
    """Equal at all points, not only those of the window."""
    assert type(x.r)(str(x.r)).is_equal(x.r), f"{x.r}"


@FORMULAS.law
@NOTATION.law
@MAP_FORMULAS.law
@TWO.law
def known_divs(x):
    found = x.r.known_divs()
    assert all(c.known for _, cs in found.parts for c in cs)
    same(found, x.t)


# ---- boolean algebra


@PAIRS.law
def union(a, b):
    same(a.r | b.r, a.t | b.t)


@PAIRS.law
def intersect(a, b):
    same(a.r & b.r, a.t & b.t)


@PAIRS.law
def subtract(a, b):
    same(a.r - b.r, a.t & ~b.t)


@PAIRS.law
def symmetric_difference(a, b):
    same(a.r ^ b.r, a.t ^ b.t)


@PAIRS.law
def complement(a, b):
    if a.r.parts:
        same(a.r.complement(), ~a.t)


@PAIRS.law
def difference_and_intersection_partition(a, b):
    left, both = a.r - b.r, a.r & b.r
    same(left | both, a.t)
    assert (left & both).is_empty() and left.is_disjoint(b.r)


@TRIPLES.law
def de_morgan(a, b, c):
    left, right = a.r - (b.r | c.r), (a.r - b.r) & (a.r - c.r)
    same(left, a.t & ~b.t & ~c.t)
    same(right, a.t & ~b.t & ~c.t)
    assert left.is_equal(right)


@TRIPLES.law
def distribution(a, b, c):
    same((a.r | b.r) & c.r, (a.t | b.t) & c.t)
    same((a.r & b.r) | c.r, (a.t & b.t) | c.t)


@TRIPLES.law
def difference_twice(a, b, c):
    same(a.r - (b.r - c.r), a.t & ~(b.t & ~c.t))


@TWO.law
def complement_of_two_parameters(a):
    if a.r.parts:
        same(a.r.complement(), ~a.t)


# ---- comparisons: the parameters are bounded, so that the window decides both ways


@COMPARED.law
def is_empty(a, b):
    equal(a.r.is_empty(), not a.t.any())
    equal((a.r & b.r).is_empty(), not (a.t & b.t).any())


@COMPARED.law
def is_subset(a, b):
    equal(a.r.is_subset(b.r), not (a.t & ~b.t).any())
    assert (a.r & b.r).is_subset(a.r) and a.r.is_subset(b.r | a.r)


@COMPARED.law
def is_strict_subset(a, b):
    equal(a.r.is_strict_subset(b.r), not (a.t & ~b.t).any() and bool((b.t & ~a.t).any()))
    equal((a.r & b.r).is_strict_subset(a.r), bool((a.t & ~b.t).any()))


@COMPARED.law
def is_equal(a, b):
    equal(a.r.is_equal(b.r), bool((a.t == b.t).all()))
    assert a.r.is_equal((a.r - b.r) | (b.r & a.r))


@COMPARED.law
def is_disjoint(a, b):
    equal(a.r.is_disjoint(b.r), not (a.t & b.t).any())
    assert a.r.is_disjoint(b.r - a.r)


@COMPARED.law
def equal_objects(a, b):
    """Structural equality and hashes imply equal points."""
    if a.r == b.r:
        assert hash(a.r) == hash(b.r) and (a.t == b.t).all()
    again = type(a.r)(a.text)
    assert again == a.r and hash(again) == hash(a.r)


# ---- several tuples


@TUPLES.law
def tuples_apart(a, b, c):
    both = a.r | b.r
    same((both & c.r).only("S"), a.t & c.t)
    same((both - c.r).only("S"), a.t & ~c.t)
    same((both - c.r).only("T"), b.t)


@TUPLES.law
def printing_of_tuples(a, b, c):
    both = a.r | b.r
    again = type(both)(str(both))
    same(again.only("S"), a.t)
    same(again.only("T"), b.t)
