"""Conditions inside of others: what is left of their alternatives, decided by hand."""

import pytest

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import AnyOf, Call, If
from polyvolta.sched.loops.conditions import any_of
from polyvolta.sched.loops.hoisting.tidy import tidied
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import var

N, M = var("N"), var("M")
CALL = Call("S", (), ())
FROM_3, FROM_5, UP_TO_2, UP_TO_3 = ("ge", N - 3), ("ge", N - 5), ("ge", 2 - N), ("ge", 3 - N)
IS_3, M_FROM_1, M_UP_TO_0, M_UP_TO_MINUS_1 = ("eq", N - 3), ("ge", M - 1), ("ge", -M), ("ge", -M - 1)


@pytest.mark.parametrize(
    ("outer", "cases", "left"),
    [
        # N >= 3: N >= 3 and M >= 1, or M <= -1
        (FROM_3, ((FROM_3, M_FROM_1), (M_UP_TO_MINUS_1,)), (FROM_3, AnyOf(((M_FROM_1,), (M_UP_TO_MINUS_1,))))),
        # one of the two always holds: M >= 1 or M <= 0
        (FROM_3, ((FROM_3, M_FROM_1), (M_UP_TO_0,)), (FROM_3,)),
        # N >= 5: N >= 3, or anything
        (FROM_5, ((FROM_3,), (M_FROM_1,)), (FROM_5,)),
        # N = 3: N >= 5 and M >= 1 never holds
        (IS_3, ((FROM_5, M_FROM_1), (M_UP_TO_0,)), (IS_3, M_UP_TO_0)),
        # N >= 3: N <= 2 never holds, N <= 3 may
        (FROM_3, ((UP_TO_2,), (M_FROM_1,)), (FROM_3, M_FROM_1)),
        (FROM_3, ((UP_TO_3,), (M_FROM_1,)), (FROM_3, AnyOf(((UP_TO_3,), (M_FROM_1,))))),
        # nothing is left: as it stands
        (FROM_5, ((UP_TO_2,), (UP_TO_3,)), (FROM_5, AnyOf(((UP_TO_2,), (UP_TO_3,))))),
    ],
)
def test_alternatives_say_what_is_not_known_outside(outer, cases, left):
    inner = If((AnyOf(cases),), (CALL,), ())
    assert tidied((If((outer,), (inner,), ()),)) == (If(left, (CALL,), ()),)
    # the same beside another statement, the condition outside of both
    other = Call("T", (), ())
    inside = (CALL,) if len(left) == 1 else (If(left[1:], (CALL,), ()),)
    found = tidied((If((outer,), (other,), ()), If((outer, AnyOf(cases)), (CALL,), ())))
    assert found == (If((outer,), (other, *inside), ()),)


def test_neighbours_that_do_the_same_are_one_where_one_of_them_always_runs():
    other = Call("T", (), ())
    assert tidied((If((FROM_3,), (CALL,), ()), If((UP_TO_2,), (CALL,), ()))) == (CALL,)
    assert tidied((If((M_FROM_1, FROM_3), (CALL, other), ()), If((UP_TO_2, M_FROM_1), (CALL, other), ()))) == (
        If((M_FROM_1,), (CALL, other), ()),
    )
    for some in (
        (If((FROM_3,), (CALL,), ()), If((UP_TO_3,), (CALL,), ())),  # both run where N is 3
        (If((FROM_3,), (CALL,), ()), If((UP_TO_2,), (other,), ())),
        (If((AnyOf(((FROM_3,), (M_FROM_1,))),), (CALL,), ()), If((UP_TO_2,), (CALL,), ())),  # both where M is 1
    ):
        assert tidied(some) == some


@pytest.mark.parametrize(
    "some, others, cases",
    [
        ((FROM_5,), (UP_TO_3,), ((FROM_5,), (UP_TO_3,))),
        ((FROM_3, M_FROM_1), (UP_TO_2, M_UP_TO_0), ((FROM_3, M_FROM_1), (UP_TO_2, M_UP_TO_0))),
        ((FROM_3, M_FROM_1), (UP_TO_2,), ((M_FROM_1,), (UP_TO_2,))),  # of which the second one is no less
        ((FROM_5,), (UP_TO_3, M_FROM_1), ((FROM_5,), (UP_TO_3, M_FROM_1))),
        ((AnyOf(((FROM_5,), (FROM_3, M_FROM_1))),), (UP_TO_2,), ((FROM_5,), (FROM_3, M_FROM_1), (UP_TO_2,))),
    ],
)
def test_neighbours_that_do_the_same_where_the_other_does_not_are_one_with_alternatives(some, others, cases):
    assert tidied((If(some, (CALL,), ()), If(others, (CALL,), ()))) == (If((AnyOf(cases),), (CALL,), ()),)


def test_alternatives_that_others_imply_are_not_tested():
    loose, tight = AnyOf(((FROM_5,), (UP_TO_2,))), AnyOf(((FROM_5, M_FROM_1), (UP_TO_2,)))
    assert tidied((If((loose,), (If((tight,), (CALL,), ()),), ()),)) == (If((tight,), (CALL,), ()),)


def test_alternatives_do_not_stand_before_what_decides_them():
    either = AnyOf(((FROM_5,), (UP_TO_2, M_FROM_1)))
    some = (If((FROM_5,), (CALL,), ()), If((IS_3, either), (Call("T", (), ()),), ()))
    assert tidied(some) == some


def test_arguments_have_no_floors_that_a_remainder_decides():
    tree = """{ domain: "[N] -> { S[i, j] : 0 <= i <= 3 and j = 2*floor(N/2) }",
                child: { guard: "[N] -> { [] : N mod 2 = 0 }", child: { schedule: "[{ S[i, j] -> [(i)] }]" } } }"""
    (test,) = scan(Schedule.parse(tree)).body
    (loop,) = test.body
    (call,) = loop.body
    assert call.args == (var("c0"), N)


def test_alternatives_of_which_one_always_holds_are_no_test():
    """Of a tree of the campaign c0 >= 1 or c0 <= 1 stood as `if ()` around both statements."""
    tree = Schedule.parse(
        '{ domain: "{ S[i, j] : 0 <= i, j <= 3; T[i, j] : 0 <= i, j <= 3 }", child: { schedule: '
        '"[{ S[i, j] -> [(1 - i - 2*floor((-i)/2))]; T[i, j] -> [(floor(i/2))] }]", options: "{ atomic[0] }", '
        'child: { context: "{ [p0] : p0 >= 0 }" } } }'
    )
    found = scan(tree)
    assert set(run(found, {})) == {(s, (i, j)) for s in "ST" for i in range(4) for j in range(4)}
    c = var("c0")
    both = AnyOf(((("ge", c - 1),), (("ge", 1 - c),)))
    s, t = (If((("ge", e),), (Call(name, (), (0,)),), (0,)) for name, e in (("S", c - 1), ("T", 1 - c)))
    assert tidied((If((both,), (If((both,), (s, t), (0,)),), (0,)),)) == (s, t)


def test_an_alternative_that_says_more_than_another_one_is_none():
    a, b, c = (("ge", var(name)) for name in "abc")
    assert any_of([(a,), (a, b), (b, c)]) == (AnyOf(((a,), (b, c))),)
    assert any_of([(a, b), (a, b, c)]) == (a, b)
    assert any_of([(a, b), (a, c), (c, b, a)]) == (a, AnyOf(((b,), (c,))))
    assert any_of([(a,), ()]) == ()
