"""Footprints of started tiles and conditions for full ones, against enumeration, for domains of any shape."""

from __future__ import annotations

from itertools import product

import pytest

from polyvolta.cuda.build.promotion.footprints import CannotPromote, data_tile, full_where, places
from polyvolta.cuda.build.promotion.nests import nest_of, widened
from polyvolta.sched import Band, Domain, Member, Schedule
from polyvolta.sets import Set, aff


def nest(domain, members, context="{ : }"):
    """The nest of a statement S under one band of some members; constant ones fill it up."""
    exprs = [*members, *["0"] * (9 - len(members))]
    levels = ("block", "block", "tile", *["warp"] * 3, *["strip"] * 3)
    band = Band(tuple(Member((("S", aff(e)),), level=x) for e, x in zip(exprs, levels, strict=True)))
    tree = Schedule(Domain(Set(domain), band))
    return nest_of(tree, "S", Set(context))


BOXES = {
    "rectangle": "[M, N] -> { S[i, j] : 0 <= i < M and 0 <= j < N }",
    "triangle": "[M, N] -> { S[i, j] : 0 <= j <= i < M }",
    "band": "[M, N] -> { S[i, j] : 0 <= i < M and i <= j < i + N }",
    "behind a start": "[M, N] -> { S[i, j] : 3 <= i < M and 0 <= j < N }",
}


@pytest.mark.parametrize("shape", ["rectangle", "triangle"])
@pytest.mark.parametrize("index", [("i", "j"), ("j", "i"), ("i",), ("j", aff(0))])
def test_tiles_and_full_ones_are_what_enumeration_says(shape, index):
    context = "[M, N] -> { : M >= 1 and N >= 1 }"
    n = nest(BOXES[shape], ["floor(i/4)", "floor(j/3)"], context)
    box = data_tile(n, "tile", index, "A")
    full = full_where(n, "tile", index, Set(context))
    element = lambda i, j: tuple({"i": i, "j": j}[e] if isinstance(e, str) else e.const for e in index)  # noqa: E731
    for rows, cols in product((1, 4, 7, 8, 9), (1, 3, 5, 6)):
        points = list(Set(BOXES[shape]).points(M=rows, N=cols))
        for by, bx in {(i // 4, j // 3) for i, j in points}:
            at = {"by": by, "bx": bx, "M": rows, "N": cols}
            there = {element(i, j) for i, j in points if (i // 4, j // 3) == (by, bx)}
            low = [e.evaluate(at) for e in box.offset]
            tile = set(product(*(range(x, x + s) for x, s in zip(low, box.size))))
            assert there <= tile
            assert all(e.evaluate(at) >= 0 for e in full) == (there == tile), (at, there)


@pytest.mark.parametrize("shape", BOXES)
def test_started_tiles_are_those_with_an_instance(shape):
    n = nest(BOXES[shape], ["floor(i/4)", "floor(j/3)"])
    for rows, cols in ((1, 1), (5, 4), (8, 7)):
        real = set(Set(BOXES[shape]).points(M=rows, N=cols))
        started = {(i // 4, j // 3) for i, j in real}
        assert set(places(n, "tile").points(M=rows, N=cols)) == started
        whole = {(4 * a + x, 3 * b + y) for a, b in started for x in range(4) for y in range(3)}
        assert set(n.padded.points(M=rows, N=cols)) == whole


def test_a_condition_that_the_context_proves_is_left_out():
    members = ["floor(i/4)", "floor(j/3)"]
    context = "[M, N] -> { : M >= 1 and N >= 1 and N mod 3 = 0 }"
    n = nest(BOXES["rectangle"], members, context)
    assert [str(e) for e in full_where(n, "tile", ("i", "j"), Set(context))] == ["M - 4*by - 4"]
    context = "[M, N] -> { : M >= 1 and M mod 4 = 0 and N >= 1 and N mod 6 = 0 }"
    n = nest(BOXES["rectangle"], members, context)
    assert full_where(n, "tile", ("i", "j"), Set(context)) == ()
    assert n.padded is n.real


def test_full_tiles_that_no_conjunction_describes_are_refused():
    n = nest("[M] -> { S[i] : 0 <= i < M and (i <= 9 or i >= 12) }", ["floor(i/4)"])
    with pytest.raises(CannotPromote, match="no conjunction"):
        full_where(n, "tile", ("i",), Set("[M] -> { : M >= 1 }"))


def test_a_box_that_reaches_beyond_what_is_touched_is_refused():
    n = nest("[M] -> { S[i] : 0 <= i < M }", ["floor(i/6)", "0", "0", "floor(i/4) - floor(3*floor(i/6)/2)"])
    assert data_tile(n, "tile", ("i",), "A").size == (6,)
    with pytest.raises(CannotPromote, match="the tile of A is not full"):
        data_tile(n, "warp", ("i",), "A")


def test_a_contracted_domain_is_widened_to_whole_tiles():
    n = nest(BOXES["rectangle"], ["floor(i/8)", "floor(j/4)"])
    contracted = Schedule(
        Domain(Set("[M, N] -> { S[i, j] : 0 <= i < M and 0 <= j < N and i mod 4 = 0 and j mod 2 = 0 }"))
    )
    found = widened(contracted, [n], {n.statement: (4, 2)}).domain
    assert set(found.points(M=9, N=1)) == {(i, j) for i in range(0, 16, 4) for j in range(0, 4, 2)}
