"""Conditions that those outside decide: they are not asked again."""

import pytest

from polyvolta.sched.loops.ast import AnyOf, Call, For, If
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sets import aff, var

N, K, C = var("N"), var("K"), var("c0")
CALL = Call("S", (C,))
SMALL, SHORT, LONG = ("ge", 3 - N), ("ge", 7 - K), ("ge", K - 8)
EITHER = AnyOf(((SMALL,), (SHORT,)))


def loop(*body):
    return For("c0", (aff(0),), (N - 1,), 1, False, tuple(body))


def under(*conditions, body=(CALL,)):
    return If(conditions, tuple(body), ())


@pytest.mark.parametrize(
    "inner, left",
    [
        (under(EITHER), CALL),
        (under(LONG, SMALL), under(LONG)),  # not short, so small
        (under(SHORT, ("ge", -1 - K)), under(("ge", -1 - K))),
        (under(AnyOf(((LONG,), (("ge", 1 - N),)))), under(AnyOf(((LONG,), (("ge", 1 - N),))))),
        (under(("ge", N - 4), SHORT), under(("ge", N - 4))),
        (under(("ge", N - 4), LONG), None),  # neither
        (under(("ge", C - 1)), under(("ge", C - 1))),
    ],
)
def test_what_alternatives_around_a_loop_leave_is_asked(inner, left):
    body = (under(EITHER, body=[loop(inner)]),)
    assert asked_once(body) == (() if left is None else (under(EITHER, body=[loop(left)]),))


def test_a_condition_on_an_outer_variable_says_nothing_of_an_inner_one_of_that_name():
    inner = loop(under(("ge", C - 1)))
    body = (under(("ge", C - 1), body=[inner]),)
    assert asked_once(body) is body


def test_nothing_changes_where_all_is_asked_once():
    body = (under(EITHER, body=[loop(CALL)]), loop(under(LONG)), CALL)
    assert asked_once(body) is body
