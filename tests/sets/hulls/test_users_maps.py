"""Coalescing maps as users' programs make them, in a number of steps, with the points that islpy says."""

from itertools import product

import pytest

from polyvolta.sets import Map, Set, budget
from polyvolta.sets.conjuncts.frame import Frame, Member
from polyvolta.sets.hulls.covering import not_implied
from polyvolta.sets.hulls.parting import parting

REUSE = """{ [i, j, k, a] -> [i, j + 1, 0, 0] : k = 63 and a = 0 and 0 <= i <= 63 and 0 <= j <= 63 and j mod 8 <= 6;
 [i, j, k, a] -> [i, j, k + 1, 0] : a = 0 and 0 <= i <= 63 and 0 <= j <= 63 and 0 <= k <= 62;
 [i, j, k, a] -> [i, j + 1, 8*floor(k/8), 1] : a = 1 and 0 <= i <= 63 and 0 <= j <= 62 and k mod 8 >= 7
   and 0 <= k <= 63;
 [i, j, k, a] -> [i, j, k + 1, 1] : a = 1 and 0 <= i <= 63 and 0 <= j <= 63 and 0 <= k <= 63 and k mod 8 <= 6;
 [i, j, k, a] -> [i + 1, 8*floor(j/8), k, 2] : a = 2 and 0 <= i <= 62 and j mod 8 >= 7
   and 0 <= j <= 63 and 0 <= k <= 63;
 [i, j, k, a] -> [i, j + 1, k, 2] : a = 2 and 0 <= i <= 63 and 0 <= j <= 63 and j mod 8 <= 6 and 0 <= k <= 63 }"""
"""The next access of a matrix product to the line of eight elements of C, A or B that an access touches."""


def same_points(found, text):
    isl = pytest.importorskip("islpy")
    return isl.UnionMap(str(found)).is_equal(isl.UnionMap(text))


def rows_of(relation):
    return sum(len(c.eqs) + len(c.ineqs) for _, cs in relation.parts for c in cs)


def footprint():
    """What tiles of 32 by 32 points touch in a stencil of five points."""
    points = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }")
    tiles = Map("{ S[i, j] -> [floor(i/32), floor(j/32)] }").intersect_domain(points).reverse()
    found = None
    for x, y in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        touched = tiles.apply_range(Map(f"{{ S[i, j] -> A[i + {x}, j + {y}] }}"))
        found = touched if found is None else (found | touched).coalesce()
    return found


def test_a_footprint_of_tiles_and_its_range_take_few_steps():
    """A hull of more rows than both pieces is no simpler; one made of it has more yet, and to project it is dear."""
    with budget(6_000):
        found = footprint()
        touched = found.range().coalesce()
    isl = pytest.importorskip("islpy")
    expected = isl.Set("[N] -> { A[x, y] : exists i, j : 0 <= i < N and 0 <= j < N and -1 <= x - i <= 1 and"
                       " -1 <= y - j <= 1 and -1 <= x - i + y - j <= 1 and -1 <= x - i - y + j <= 1 }")  # fmt: skip
    assert isl.Set(str(touched)).is_equal(expected)
    assert isl.Set(str(found.range())).is_equal(expected)


def test_a_hull_has_no_more_rows_than_both_pieces():
    """These are 24 rows, and their hull, which is the union, has 32."""
    text = """[N] -> { [a, b] -> [x, y] : 32a < N and 0 <= 32b < N and 32a - 1 <= x <= 32a + 32 and x <= N and
      32a + 31x >= -31 and 32b <= y <= 32b + 32 and y <= N and x + y < 2N and x + y <= 32a + 32b + 63 and
      x + y <= N + 32a + 31 and 32a - x + y <= N and x + y <= N + 32b + 31 and y <= x - 32a + 32b + 32;
     [a, b] -> [x, y] : 0 <= x < N and 32a <= x <= 32a + 31 and -1 <= y <= N - 2 and 32b - 1 <= y <= 32b + 30 }"""
    m = Map(text)
    found = m.coalesce()
    assert rows_of(found) <= rows_of(m)
    assert same_points(found, text)


def test_pieces_of_a_reuse_map_are_one_in_few_steps():
    m = Map(REUSE)
    with budget(12_000):
        found = m.coalesce()
    assert len(found.pieces) <= 3
    assert same_points(found, REUSE)


def test_what_a_padded_layout_touches_is_not_spelt_out_for_long():
    """One piece with existentials is five without, which are not one."""
    layout = Map("{ A[i, j] -> [68i + j + 4*floor(j/32)] : 0 <= i < 64 and 0 <= j < 64 }")
    with budget(2_500):
        found = layout.range().coalesce()
    assert len(found.pieces) == 1
    assert {*found.points()} == {(68 * i + j + 4 * (j // 32),) for i, j in product(range(64), repeat=2)}


def test_rows_that_others_imply_are_no_help():
    m = Frame(Set("{ [i, j] : 0 <= i <= 9 and 0 <= j }").parts[0][1]).members[0]
    assert not_implied(m, [(5, 1, 0), (9, -1, 1), (0, -1, 1), (0, -2, 2), (0, -1, 1), (4, 0, 1)]) == [(0, -1, 1)]
    assert m.implies((9, -1, 1)), "its own tableau is as it was"
    assert not m.implies((0, -1, 1))


def test_a_vertex_is_a_point_where_the_dimensions_are_integers():
    """Floors are there what they are at the point; without known divs all coordinates count."""
    frame = Frame(Set("{ [i] : 0 <= i <= 20 and i mod 8 <= 6 }").parts[0][1])
    m = frame.members[0]
    assert m.at_vertex([(5, 1), (5, 8)], [(4, -1, 0)]) == (1, 5, 0)
    assert m.at_vertex([(10, 2), (5, 8)], [(4, -1, 0)]) == (1, 5, 0)
    assert m.at_vertex([(5, 1), (5, 8)], [(5, -1, 0)]) is None, "the row holds there"
    assert m.at_vertex([(7, 1), (7, 8)], [(4, -1, 0)]) is None, "it is no point of the conjunct"
    assert m.at_vertex([(11, 2), (0, 1)], [(4, -1, 0)]) is None
    unknown = Frame(Set("{ [i] : exists q, r : 0 <= 3q + 5r - i <= 1 and 0 <= q <= i and 0 <= r <= i }").parts[0][1])
    known = [d for d in unknown.divs if d is not None]
    assert known or Member(unknown, (), ()).at_vertex([(5, 1), (5, 8), (0, 1)], ()) is None


def test_walks_that_lead_to_one_point_are_one_end():
    text = "{ [i, j] : 0 <= i <= 7 and 0 <= j <= 6 and 2i + j <= 14 and i + 2j <= 6;"
    frame = Frame(Set(text + " [i, j] : 0 <= i <= 3 and 0 <= j <= 7 and i - j <= 3 and 2i + j <= 14 }").parts[0][1])
    a, b = frame.members
    start, other = (frame.sample(m.eqs, m.ineqs) for m in (a, b))
    assert start
    assert other
    found = list(parting(a, b, start, other))
    assert found
    assert all(not a.holds(z) and not b.holds(z) for z in found)
    assert len(found) == len(set(found))
