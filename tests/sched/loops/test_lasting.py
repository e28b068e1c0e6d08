"""What a loop that lasts as long as a size is needs of another size is asked before it, and no more inside."""

import pytest

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import Call, Condition, For, If
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.weighing.lasting import lasting_apart
from polyvolta.sched.loops.writer import Writer
from polyvolta.sched.tree import Domain, Schedule
from polyvolta.sets import Set, aff, var

M, N, C, D = map(var, ("M", "N", "c0", "c1"))
MORE: Condition = ("ge", M - 5)
S, T = Call("S", (C, D)), Call("T", (C,))


def loop(name, first, last, *body):
    return For(name, (aff(first),), (aff(last),), 1, False, body)


def made(*body):
    """The code, which calls the same in the same order."""
    columns = Columns(["M", "N"], ["M", "N"])
    for name in ("c0", "c1", "c2"):
        columns.name(name)
    writer = Writer(Schedule(Domain(Set("{ S[] }"))), columns, {})
    found = lasting_apart(Known(columns), body, writer)
    for m in range(2, 8):
        for n in range(4):
            assert run(found, M=m, N=n) == run(body, M=m, N=n)
    return found


@pytest.mark.parametrize("inner", [If((MORE,), (S,)), loop("c2", 4, M - 1, S)])
def test_a_size_is_asked_before_a_loop_beside_others_and_not_in_it(inner):
    (found,) = made(loop("c0", 0, N - 1, T, loop("c1", 0, C, inner)))
    first, second = found.body
    assert first == T and isinstance(second, If) and second.conditions == (MORE,)
    (there,) = second.body
    assert there.body == ((S,) if isinstance(inner, If) else (inner,))


def test_it_is_one_condition_with_that_which_stands_before_the_loop():
    (found,) = made(loop("c0", 0, N - 1, T, If((("ge", C - 1),), (loop("c1", 0, C, loop("c2", 4, M - 1, S)),))))
    assert found.body[1].conditions == (("ge", C - 1), MORE)


def test_loops_of_few_values_are_left():
    body = (loop("c0", 0, N - 1, T, loop("c1", 0, 9, loop("c2", 4, M - 1, S))),)
    assert made(*body) == body
