"""Transformations of trees in which extensions add statements: what holds of the domain's holds of those."""

import pytest

from polyvolta.sched import passes as p
from polyvolta.sched import schedule
from polyvolta.sched.errors import BadSchedule, IllegalTransformation
from polyvolta.sched.program import nest
from polyvolta.sets import Map, Set, UnknownName


@nest
def line(A, N):
    for i in range(N):
        A[i] = A[i] + 1


def tree():
    """Nine copies before a line."""
    box = Map("{ [] -> copy[a, b] : 0 <= a < 3 and 0 <= b < 3 }")
    return p.insert_extension(schedule(line), (0,), box, {"copy": ["a", "b"]})


COPIES = (0, 0, 0, 0)


def flags(band):
    return band.permutable, [m.coincident for m in band.members]


def test_full_tiles_of_copies_are_the_full_ones():
    tiled = p.tile(tree(), COPIES, (2, 2))
    full = p.isolate_full_tiles(tiled, COPIES).band(COPIES).isolate
    assert set(full.points()) == {(0, 0)}


def test_of_copies_nothing_is_known_but_what_was_said():
    """The dependences do not name them, so that they are no reason to call their loops parallel."""
    assert flags(p.reflagged(tree()).band(COPIES)) == (False, [False, False])
    assert flags(p.reflagged(tree()).band((0, 0, 1, 0))) == (True, [True])
    assert flags(p.fuse(tree(), (0, 0), 1).band((0, 0))) == (False, [False])


def test_copies_are_shifted_by_parameters_as_all_statements():
    assert "copy[a, b] → [a + 1, b]" in str(p.shift(tree(), COPIES, "a", {"copy": 1}))
    with pytest.raises(UnknownName, match="'b' is an iterator of copy"):
        p.shift(tree(), COPIES, "a", {"copy": "b"})


def test_copies_are_told_apart_by_their_iterators():
    new = p.order_before(tree(), COPIES, Set("{ copy[a, b] : a = 2 }"))
    arrive = [new.instances_at((*COPIES, k, 0)).only("copy") for k in range(2)]
    assert [sorted(a for a, _ in some.points(N=1)) for some in arrive] == [[2, 2, 2], [0, 0, 0, 1, 1, 1]]
    with pytest.raises(BadSchedule, match=r"the statement is copy\[a, b\], not copy\[a\]"):
        p.order_before(tree(), COPIES, Set("{ copy[a] : a = 2 }"))


def test_a_statement_is_added_once():
    with pytest.raises(BadSchedule, match="is called copy, as another one"):
        p.insert_extension(tree(), (0, 0, 1, 0), Map("{ [] -> copy[] }"))


def test_an_extension_is_not_copied():
    with pytest.raises(IllegalTransformation, match="would copy what a node below adds: it is an Extension"):
        p.order_before(tree(), (0,), Set("{ S[i] : i > 3 }"))
