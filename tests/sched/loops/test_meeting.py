"""Neighbours that both run at one value of a size alone stand in branches, where many tests find few calls there."""

import pytest

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import Block, Call, Condition, For, If
from polyvolta.sched.loops.hoisting.meeting import meeting_apart
from polyvolta.sets import aff, var
from tests.sched.loops.counting import counted

N, M, C, D = map(var, ("N", "M", "c0", "c1"))
LESS: tuple[Condition, ...] = (("ge", 2 - N),)
MORE: tuple[Condition, ...] = (("ge", N - 2),)  # which both hold at N = 2


def loop(name, low, high, *body):
    return For(name, (aff(low),), (aff(high),), 1, False, body)


FIND = loop("c0", 0, 4, If((("eq", C - 1),), (Call("S", (C, M)),), (), (If((("ge", 1 - N),), (Call("T", (C,)),)),)))
CALL = Call("U", (N,))


def same(body, made):
    """Both call the same in the same order, and what was made tests no more at any size."""
    for n in range(-1, 6):
        assert run(made, N=n, M=7) == run(body, N=n, M=7)
        assert counted(made, {"N": n, "M": 7}) <= counted(body, {"N": n, "M": 7})


@pytest.mark.parametrize("first", [True, False])
def test_calls_at_the_value_of_both_stand_beside_the_other_one(first):
    both = (If(LESS, (FIND,)), If(MORE, (CALL,)))
    body = both if first else both[::-1]
    made = meeting_apart(body)
    (node,) = made
    here = If(LESS, (Call("S", (aff(1), M)),))
    assert isinstance(node, If) and node.conditions == MORE
    assert node.body == ((here, CALL) if first else (CALL, here))
    assert counted(made, {"N": 2, "M": 7}) == 2 and counted(body, {"N": 2, "M": 7}) == 17
    assert "1 - N" not in str(node.other)  # asked once
    same(body, made)


def test_the_one_that_tests_more_there_is_written_out():
    more = loop("c0", 0, 40, If((("eq", C - N),), (Call("U", (C,)),)))
    body = (If(LESS, (FIND,)), If(MORE, (more,)))
    made = meeting_apart(body)
    assert isinstance(made[0], If) and made[0].conditions == LESS and made[0].body[0] == FIND
    same(body, made)


def test_what_calls_nothing_there_is_not_looked_for():
    none = loop("c0", 0, 6, If((("ge", 1 - N),), (Call("S", (C, M)),)))
    body = (If(LESS, (none,)), If(MORE, (CALL,)))
    (made,) = meeting_apart(body)
    assert made == If(MORE, (CALL,), (), (loop("c0", 0, 6, Call("S", (C, M))),))
    same(body, (made,))


def test_neighbours_in_a_loop_and_under_a_mark_are_looked_at():
    inner = (If(LESS, (FIND,)), If(MORE, (CALL,)))
    for around in (lambda body: loop("c1", 0, M, *body), lambda body: Block("mark", body)):
        (made,) = meeting_apart((around(inner),))
        assert made == around(meeting_apart(inner)) != around(inner)


@pytest.mark.parametrize(
    "body",
    [
        (If(LESS, (FIND,)), If((("ge", N - 3),), (CALL,))),  # at no value both
        (If(LESS, (FIND,)), If((("ge", N - 1),), (CALL,))),  # at two
        (If((("ge", 2 - 2 * N),), (FIND,)), If((("ge", 2 * N - 2),), (CALL,))),  # said of twice the size
        (If((("ge", M - N),), (FIND,)), If((("ge", N - M),), (CALL,))),  # at each M
        (If((*LESS, ("ge", M)), (FIND,)), If(MORE, (CALL,))),  # one more condition
        (If(LESS, (FIND,), (), (CALL,)), If(MORE, (CALL,))),  # it has another branch
        (If((("eq", N - 2),), (FIND,)), If(MORE, (CALL,))),
        (If(LESS, (FIND,)), CALL, If(MORE, (CALL,))),  # no neighbours
        (If(LESS, (loop("c0", 0, M, Call("S", (C, M))),)), If(MORE, (CALL,))),  # undecided
        (If(LESS, (loop("c0", N, 4, Call("S", (C, M))),)), If(MORE, (CALL,))),  # few tests
    ],
)
def test_others_stay(body):
    assert meeting_apart(body) == body
