"""Conditions that those outside decide: they are not asked again."""

from itertools import product
from random import Random

import pytest

from polyvolta.sched.loops.ast import AnyOf, Call, Choice, Extreme, For, If
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.weighing.lasting import lasting_apart
from polyvolta.sched.loops.writer import Writer
from polyvolta.sched.tree import Domain, Schedule
from polyvolta.sets import Set, aff, var

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


@pytest.mark.parametrize(
    "around, left",
    [
        ((SHORT,), N),  # of N and N one
        ((LONG,), Extreme("max", (N, K))),
        ((SMALL,), Extreme("max", (N, Choice((LONG,), K, N)))),
        ((EITHER, ("ge", N - 4)), N),  # not small, so short
    ],
)
def test_what_a_bound_chooses_from_is_decided_by_conditions_around_its_loop(around, left):
    both = Extreme("max", (N, Choice((LONG,), K, N)))
    before, after = (For("c0", (aff(0),), (e,), 1, False, (CALL,)) for e in (both, left))
    for c in reversed(around):
        before, after = under(c, body=[before]), under(c, body=[after])
    assert asked_once((before,)) == (after,)


def test_a_bound_is_not_decided_by_conditions_on_an_outer_variable_of_the_name_of_its_loop():
    choice = Choice((("ge", C - 1),), K, N)
    inner = For("c0", (aff(0),), (choice,), 1, False, (CALL,))
    body = (under(("ge", C - 1), body=[inner]),)
    assert asked_once(body) is body


def test_nothing_changes_where_all_is_asked_once():
    body = (under(EITHER, body=[loop(CALL)]), loop(under(LONG)), CALL)
    assert asked_once(body) is body


def condition(rng):
    e = var(rng.choice("NK")) * rng.choice((1, -1)) + rng.randint(-3, 3)
    return rng.choice(("ge", "ge", "eq")), e


def nested(rng, depth):
    """Code under random conditions, each call with a number of its own."""
    if not depth:
        return (Call("S", (aff(rng.getrandbits(40)),), ()),)
    out = []
    for _ in range(rng.randint(1, 2)):
        cases = [tuple(condition(rng) for _ in range(rng.randint(1, 2))) for _ in range(rng.randint(1, 3))]
        asked = cases[0] if len(cases) == 1 else (AnyOf(tuple(cases)), *cases[0][1:])
        out.append(under(*asked, body=nested(rng, depth - 1)))
    return tuple(out)


def called(body, at):
    """The calls that run at values of the names, by the meaning of conditions."""

    def holds(c):
        if isinstance(c, AnyOf):
            return any(all(map(holds, case)) for case in c.alternatives)
        return c[1].evaluate(at) == 0 if c[0] == "eq" else c[1].evaluate(at) >= 0

    for node in body:
        if isinstance(node, Call):
            yield node
        elif all(map(holds, node.conditions)):
            yield from called(node.body, at)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_runs_everywhere(seed):
    rng = Random(seed)
    body = tuple(node for _ in range(4) for node in nested(rng, 3))
    found = asked_once(body)
    assert found != body
    for n, k in product(range(-5, 6), repeat=2):
        at = {"N": n, "K": k}
        assert [*called(found, at)] == [*called(body, at)]


def test_what_equals_another_number_outside_never_runs():
    other = under(("eq", N - 5))
    assert asked_once((under(("eq", N - 3), body=[other, CALL]),)) == (under(("eq", N - 3)),)
    assert asked_once((under(("eq", 3 - N), body=[other, CALL]),)) == (under(("eq", 3 - N)),)
    assert asked_once((under(("eq", N - 3), body=[under(("eq", N % 2)), CALL]),)) == (under(("eq", N - 3)),)


def test_what_a_number_outside_says_is_not_asked():
    inner = under(("eq", (N + 1) % 4), ("ge", 2 * (N // 2) - 2), ("ge", K))
    assert asked_once((under(("eq", N - 3), body=[inner]),)) == (under(("eq", N - 3), body=[under(("ge", K))]),)


def test_a_condition_of_which_the_other_branch_alone_is_left_is_that_of_this_one():
    """What stands around it may then be asked what it needs: a branch without code needs nothing, and everything."""
    other = Call("T", (N,))
    body = (If((("ge", N - 5),), (under(SMALL),), (), (other,)),)
    assert asked_once(body) == (under(("ge", 4 - N), body=[other]),)
    columns = Columns(["N", "K"], ["N", "K"])
    columns.loop(0)
    writer = Writer(Schedule(Domain(Set("{ S[] }"))), columns, {})
    beside = asked_once((CALL, loop(CALL, *body)))
    assert lasting_apart(Known(columns), beside, writer) == beside
