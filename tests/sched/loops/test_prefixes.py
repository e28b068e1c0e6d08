"""What alternatives side by side begin with is tested once: the same holds, by no more tests."""

from itertools import product

from polyvolta.sched.loops.ast import AnyOf, Call, For, If
from polyvolta.sched.loops.hoisting.prefixes import asked_first
from polyvolta.sched.loops.hoisting.together import asked_apart
from polyvolta.sets import aff, var
from tests.sched.loops.counting import compared

A, B, X, Y, Z = (("ge", aff(f"{name} - 1")) for name in "abxyz")


def first(*cases):
    (node,) = asked_first((If((AnyOf(cases),), ()),))
    return node.conditions


def test_alternatives_that_begin_alike_are_one():
    assert first((A, B, X), (A, B, Y), (Z,)) == (AnyOf(((A, B, AnyOf(((X,), (Y,)))), (Z,))),)
    assert first((A, X), (A, Y)) == (A, AnyOf(((X,), (Y,))))
    assert first((A, X), (B,), (A, Y)) == (AnyOf(((A, X), (B,), (A, Y))),)
    assert first((A,), (A, Y)) == (A,)


def test_alternatives_that_go_on_alike_are_one():
    assert first((A, X), (B, X)) == (AnyOf(((A,), (B,))), X)
    assert first((A, X), (A, Y), (B, X), (B, Y)) == (AnyOf(((A,), (B,))), AnyOf(((X,), (Y,))))
    assert first((Z,), (Z, AnyOf(((A, X), (B, X))))) == (Z,)
    assert first((Z,), (Y, AnyOf(((A, X), (B, X))))) == (AnyOf(((Z,), (Y, AnyOf(((A,), (B,))), X))),)
    assert first((A,), (B,), (X, Y)) == (AnyOf(((A,), (B,), (X, Y))),)


def test_the_same_holds_by_no_more_tests():
    cases = (A,), (A, B), (A, X), (B, X)
    for some in product(cases, repeat=3):
        there = first(*some)
        for values in product((0, 1), repeat=3):
            at = dict(zip("abx", values, strict=True))
            (before, same), (after, holds) = compared((AnyOf(some),), at), compared(there, at)
            assert holds == same and after <= before


def test_code_in_which_nothing_is_asked_alike_is_left_as_it_is():
    c0, n = var("c0"), var("n")
    loop = For("c0", (aff(0),), (n - 1,), 1, False, (If((("ge", c0 - 1),), (Call("S", (c0,)),)),))
    body = (loop, Call("T", ()))
    assert asked_first(body) is body
    assert asked_apart(body) is body


def test_a_test_that_one_part_asks_behind_another_one_is_asked_once_for_all():
    loop = For("c0", (aff(0),), (var("n"),), 1, False, (Call("S", (var("c0"),)),))
    call = Call("T", ())
    body = (If((X, A), (loop,)), call, If((A, Y), (loop,)))
    (node,) = asked_apart(body)
    assert node == If((A,), (If((X,), (loop,)), call, If((Y,), (loop,))), (), (call,))
    assert asked_apart((If((X, A), (loop,)), call, If((Y, A), (loop,)))) == (
        If((X, A), (loop,)),
        call,
        If((Y, A), (loop,)),
    )


def test_what_one_part_always_asks_and_others_may_is_asked_before_all_of_them():
    n, m = var("n"), var("m")
    first, small, large = ("ge", 3 - n), ("ge", 4 - m), ("ge", m - 5)
    a, t, u = Call("A", ()), Call("T", ()), Call("U", ())
    beside = If((large,), (t, If((first,), (u,)))), If((small,), (t, If((first,), (u, u))))
    (made,) = asked_apart((If((first,), (a,)), *beside))
    assert isinstance(made, If) and made.conditions == (first,) and made.other == (t,)
    assert asked_apart(beside) == beside  # none asks it always
