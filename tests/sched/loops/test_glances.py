"""What a glance at code tells is what the question would say that is not asked then."""

import pytest

from polyvolta.sched import scan
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.ast import FROM_ZERO, Call, For, If, conditional
from polyvolta.sched.loops.hoisting import least
from polyvolta.sched.loops.hoisting.branches import meeting
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.needs import required
from polyvolta.sched.loops.hoisting.prefixes import asked_first
from polyvolta.sched.loops.hoisting.tidy import tidied
from polyvolta.sched.loops.hoisting.together import asked_apart, neighbours
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sets import var
from tests.sched.campaign import data_of
from tests.sched.loops.draw import tree

S = Call("S", (var("c0"),))


def loop(v, size, *body):
    return For(v, FROM_ZERO, (var(size) - 1,), 1, False, body)


def drawn(seed, numbers):
    """The bodies of the loops of some drawn trees."""
    for number in range(numbers):
        try:
            yield scan(tree(data_of(seed, number)).schedule).body
        except NotScannable:
            continue


def test_conditions_and_empty_parts_are_found_at_any_depth():
    assert not conditional((S, loop("c0", "N", S, loop("c1", "M", S))))
    assert conditional((loop("c0", "N", S, If((("ge", var("N") - 5),), (S,))),))
    assert conditional((loop("c0", "N", loop("c1", "M")),))


def test_passes_over_conditions_leave_code_without_any():
    plain = [body for body in drawn(77, 16) if not conditional(body)]
    for body in plain:
        assert tidied(asked_once(tidied(body))) == asked_first(body) == asked_apart(body) == body
        assert not (neighbours(body) or meeting(body))
    assert plain


@pytest.mark.parametrize("seed", [78, 79])
def test_a_size_beside_another_in_the_first_loop_decides_nothing(seed, monkeypatch):
    found = list(drawn(seed, 12))
    monkeypatch.setattr(least, "_deciding", lambda sizes, body: sizes & least._names(body))
    assert list(drawn(seed, 12)) == found


def test_loops_need_the_sizes_of_loops_inside_that_vary_with_none():
    names = ["M", "N", "K"]
    columns = Columns(names, names)
    for k in range(3):
        columns.loop(k)
    nest = loop("c0", "M", loop("c1", "N", loop("c2", "K", S)))
    rows = {
        (tuple(columns.aff(key, const).names()), const) for key, const in required(Known(columns), (nest,)).every_ge()
    }
    assert rows == {((n,), -1) for n in names}


def test_what_a_loop_needs_is_remembered_by_what_is_known_of_sizes():
    """Two loops inside need N >= 3, which goes without saying where N >= 5: not elsewhere, in either order."""
    inside = [For(v, FROM_ZERO, (var("N") - 3,), 1, False, (S,)) for v in ("c1", "c2")]
    for first in (True, False):
        columns, case = Columns(["N"], ["N"]), System()
        for depth in range(3):
            columns.loop(depth)
        key = ((columns.ids["N"], 1),)
        case.ge(key, -5)
        known, body = Known(columns), (For("c0", FROM_ZERO, (var("N"),), 1, False, (*inside,)),)
        for where in (True, False) if first else (False, True):
            rows = list(required(known.given(case) if where else known, body).every_ge())
            assert ((key, -3) in rows) is not where


def test_what_a_loop_needs_below_a_condition_is_found_where_nobody_knows_it():
    """c0 >= 3 goes without saying where c0 >= 5 is known, and is part of what a loop needs where c0 >= 1 is."""
    columns, case = Columns(["N"], ["N"]), System()
    key = ((columns.loop(0), 1),)
    for depth in range(1, 4):
        columns.loop(depth)
    inside = [For(v, FROM_ZERO, (var("c0") - 3,), 1, False, (S,)) for v in ("c2", "c3")]
    around = loop("c1", "N", *inside)
    case.ge(key, -5)
    known = Known(columns)
    assert (key, -3) not in list(required(known.given(case), (around,)).every_ge())
    assert (key, -3) in list(required(known, (If((("ge", var("c0") - 1),), (around,)),)).every_ge())
