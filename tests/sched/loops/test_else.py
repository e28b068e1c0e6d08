"""Conditions that exclude each other stand in branches: what is asked where, decided by hand and by all values."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops import scan as scanning
from polyvolta.sched.loops.ast import AnyOf, Block, Call, Extreme, For, If, negation
from polyvolta.sched.loops.hoisting.branches import branched
from polyvolta.sched.loops.notation.c import c_text
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.scan import scan, scanned
from polyvolta.sched.tree import Schedule
from polyvolta.sets import BudgetExceeded, aff, budget, var
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

N, M, C = var("N"), var("M"), var("c0")
A, B, D = (Call(name, ()) for name in "ABD")


def known():
    columns = Columns(["N", "M"], ["N", "M"])
    columns.loop(0)
    return Known(columns)


def text(*body):
    """The code with branches, each line without what is around it, in one line."""
    return " ".join(line.strip() for line in c_text(Scan(branched(known(), body)), macros=False).split("\n"))


def below(conditions, *body):
    return If(tuple(conditions), body or (A,))


def loop(*body, most=3):
    return For("c0", (aff(0),), (aff(most),), 1, False, body)


FROM_5, UP_TO_4, FROM_7, IS_3, IS_2 = ("ge", N - 5), ("ge", 4 - N), ("ge", N - 7), ("eq", N - 3), ("eq", N - 2)
M_FROM_3, M_UP_TO_2 = ("ge", M - 3), ("ge", 2 - M)


def test_the_complement_is_not_asked():
    assert text(below([FROM_5]), below([UP_TO_4], B)) == "if (N >= 5) A(); else B();"


def test_what_runs_in_both_branches_is_not_asked_for():
    assert text(below([FROM_5]), below([UP_TO_4])) == "A();"
    assert text(below([FROM_5]), below([UP_TO_4]), below([IS_2], B)) == "A(); if (N == 2) B();"


def test_what_conditions_inside_exclude_is_in_the_other_branch():
    """N = 2 and N = 3, under M >= 3, run nothing where N >= 5; beside a call they say nothing of it."""
    inside = below([IS_2], B), below([IS_3], D)
    assert text(below([FROM_5]), below([M_FROM_3], *inside)) == (
        "if (N >= 5) { A(); } else if (M >= 3) { if (N == 2) B(); else if (N == 3) D(); }"
    )
    assert text(below([FROM_5]), below([M_FROM_3], *inside, A)) == (
        "if (N >= 5) A(); if (M >= 3) { if (N == 2) B(); else if (N == 3) D(); A(); }"
    )


def test_a_loop_of_which_all_parts_exclude_what_is_before_it_stands_in_its_other_branch():
    """And asks for nothing inside that the branch says; one with another part says nothing of it."""
    parts = below([UP_TO_4], B), below([UP_TO_4, ("eq", C - 1)], D)
    assert text(below([FROM_5]), loop(*parts)) == (
        "if (N >= 5) { A(); } else { for (int c0 = 0; c0 < 4; c0 += 1) { B(); if (c0 == 1) D(); } }"
    )
    assert "else" not in text(below([FROM_5]), loop(*parts, A))


def test_a_chain_of_three_and_what_follows_all():
    found = text(below([FROM_5]), below([UP_TO_4, M_FROM_3], B), below([UP_TO_4, M_UP_TO_2], D), A)
    assert found == "if (N >= 5) A(); else if (M >= 3) B(); else D(); A();"


def test_what_excludes_without_being_the_rest_is_asked():
    assert text(below([FROM_5]), below([IS_3], B), below([IS_2], D)) == (
        "if (N >= 5) A(); else if (N == 3) B(); else if (N == 2) D();"
    )


def test_of_two_conditions_the_rest_says_one():
    assert text(below([FROM_5, M_FROM_3]), below([FROM_5, M_UP_TO_2], B)) == (
        "if (N >= 5 && M >= 3) A(); else if (N >= 5) B();"
    )


def test_alternatives():
    either, neither = AnyOf(((FROM_5,), (("ge", M - 6),))), [UP_TO_4, ("ge", 5 - M), ("ge", M)]
    assert text(below([either]), below(neither, B)) == "if (N >= 5 || M >= 6) A(); else if (M >= 0) B();"
    assert text(below([FROM_5]), below([AnyOf(((IS_3,), (IS_2,)))], B)) == (
        "if (N >= 5) A(); else if (N == 3 || N == 2) B();"
    )


def test_that_what_never_holds_does_not_hold_says_nothing():
    never, twice = ("eq", 2 * N - 3), AnyOf(((FROM_5, ("ge", -N)), (IS_3, ("eq", 2 * M - 1))))
    rest = "if (N >= 5 && M >= 3) B();"
    assert text(below([never]), below([FROM_5, M_FROM_3], B)) == f"if (2 * N == 3) A(); else {rest}"
    assert text(below([twice]), below([FROM_5, M_FROM_3], B)).endswith(f" A(); else {rest}")


def test_loops_outside_say_what_is_left():
    """c0 is 0 to 3: where it is not 0 it is 1 at least."""
    found = text(loop(below([("eq", C)]), below([("ge", C - 1)], B)))
    assert found == "for (int c0 = 0; c0 < 4; c0 += 1) if (c0 == 0) A(); else B();"
    odd = loop(below([("eq", C % 2)]), below([("eq", (C + 1) % 2)], B))
    assert text(odd).endswith("if (c0 % 2 == 0) A(); else B();")


def test_the_step_of_a_loop_says_what_is_left():
    """Odd c0 are 3 modulo 4 where they are not 1; of values from 0 or from N on nothing is known."""
    one, three = below([("eq", (C + 3) % 4)]), below([("eq", (C + 1) % 4)], B)
    odd = For("c0", (aff(1),), (N,), 2, False, (one, three))
    assert text(odd).endswith("if ((c0 - 1) % 4 == 0) A(); else B();")
    either = replace(odd, lower=(Extreme("min", (aff(-5), 1 - 2 * ((M + 1) // 2))),))
    assert text(either).endswith(" A(); else B();")
    unknown = replace(odd, lower=(Extreme("min", (aff(0), N)),))
    assert text(unknown).count("if (") == 2


def test_what_is_done_in_any_case_is_not_asked_for():
    """Two leaves of a tree do the same, of which the call is of what is around both."""
    first, second = Call("A", (C,), (0, 1, 0)), Call("A", (C,), (0, 1, 1))
    assert branched(known(), (below([FROM_5], first), below([UP_TO_4], second))) == (Call("A", (C,), (0, 1)),)
    inside = [For("c0", (aff(0),), (N,), 1, False, (call,), call.at) for call in (first, second)]
    (found,) = branched(known(), [below([some], one) for some, one in zip((FROM_5, UP_TO_4), inside, strict=True)])
    assert found == replace(inside[0], body=(Call("A", (C,), (0, 1)),))
    shorter, at_once = replace(inside[1], upper=(N - 1,)), [replace(loop, coincident=True) for loop in inside]
    marked = [Block("mark", (first,), at) for at in ((0,), (1,))]
    tests = below([IS_2], A), below([IS_3], A)
    for pair in ((first, Call("A", (M,))), (inside[0], shorter), tests, marked, at_once):
        (found,) = branched(known(), [below([some], one) for some, one in zip((FROM_5, UP_TO_4), pair, strict=True)])
        assert isinstance(found, If)


def test_a_chain_that_does_the_same_all_along():
    assert text(below([FROM_5]), below([UP_TO_4, M_FROM_3]), below([UP_TO_4, M_UP_TO_2])) == "A();"
    found = text(below([FROM_5]), below([UP_TO_4, M_FROM_3], B), below([UP_TO_4, M_UP_TO_2], B))
    assert found == "if (N >= 5) A(); else B();"


def test_what_holds_only_where_the_one_before_does_is_asked_there():
    """N + M <= 3 and M >= 0 leaves N <= 3, which no single condition says."""
    found = text(below([UP_TO_4]), below([("ge", 3 - N - M), ("ge", M)], B))
    assert found == "if (N <= 4) { A(); if (M + N <= 3 && M >= 0) B(); }"


def test_one_of_alternatives_that_holds_wherever_the_one_before_does_not_is_asked_in_its_body_alone():
    most = AnyOf(((("ge", 4 - N),), (("ge", 2 - M),), (FROM_5, ("ge", M - 9))))
    found = text(below([FROM_5, M_FROM_3]), below([most], B))
    assert found == "if (N >= 5 && M >= 3) { A(); if (M >= 9) B(); } else { B(); }"
    assert text(below([FROM_5, M_FROM_3]), below([AnyOf(most.alternatives[:2])], B)).endswith("A(); else B();")
    long = tuple(Call(name, ()) for name in "BDE")
    assert "else" not in text(below([FROM_5, M_FROM_3]), below([most], *long))


def test_a_loop_that_is_empty_there_is_entered_elsewhere():
    one = For("c0", (aff(0),), (4 - N,), 1, False, (B,))
    assert text(below([FROM_5]), one) == "if (N >= 5) { A(); } else { for (int c0 = 0; c0 <= -N + 4; c0 += 1) B(); }"
    assert "else" not in text(below([("ge", N - 4)]), one)


@pytest.mark.parametrize(
    "body",
    [
        (below([FROM_5]), below([("ge", 5 - N)], B)),  # both run at N = 5
        (below([FROM_5]), D, below([UP_TO_4], B)),  # D runs between
        (below([FROM_5]), below([M_FROM_3], B)),
        (below([AnyOf(tuple((("eq", N - 2 * k),) for k in range(5)))]), below([IS_3], B)),  # too many cases
    ],
)
def test_what_stays_side_by_side(body):
    assert branched(known(), body) == body


def test_one_that_meets_the_second_alone_stands_beside_it():
    found = text(below([FROM_5]), below([IS_3], B), below([UP_TO_4, M_FROM_3], D))
    assert found == "if (N >= 5) { A(); } else { if (N == 3) B(); if (M >= 3) D(); }"


def test_a_long_chain_ends():
    """Texts of Python and C nest no further than their readers do."""
    parts = [below([("eq", N - k)], Call("S", (aff(k),))) for k in range(20)]
    (first, *_) = found = branched(known(), parts)
    deep = 0
    while first.other:
        deep, first = deep + 1, first.other[0]
    assert deep == 16
    assert [run(found, N=n) for n in range(-1, 21)] == [run(parts, N=n) for n in range(-1, 21)]


def test_the_negation_holds_where_conditions_do_not():
    some = [(FROM_5,), (IS_3,), (FROM_5, M_FROM_3), (AnyOf(((IS_3, M_FROM_3), (FROM_7,))), M_UP_TO_2), ()]
    for conditions, n, m in product(some, range(1, 9), range(1, 5)):
        runs = (bool(run(If(c, (A,)), N=n, M=m)) for c in (conditions, negation(conditions)))
        assert sum(runs) == 1


def drawn(rng, depth):
    """Some random code below conditions."""
    out = []
    for _ in range(rng.randint(1, 4)):
        one = lambda: (
            rng.choice(("ge", "ge", "eq")),
            rng.choice((N, -N, M - N, C - N, -C, C, M % 2)) + rng.randint(-2, 2),
        )  # noqa: E731, E501
        some = tuple(
            one() if rng.random() < 0.8 else AnyOf(((one(),), (one(), one()))) for _ in range(rng.randint(1, 2))
        )
        call = Call(rng.choice("STU"), (aff(rng.randint(0, 99)),))
        out.append(If(some, (call, *drawn(rng, depth - 1))) if depth and rng.random() < 0.9 else call)
    return tuple(out)


@pytest.mark.parametrize("seed", range(12))
def test_what_runs_stays_and_nothing_is_asked_more_often(seed):
    body = (loop(*drawn(Random(seed), 2)),)
    found = branched(known(), body)
    assert (found == body) == (seed in (2, 10))
    for n, m in product(range(-2, 5), repeat=2):
        assert run(found, N=n, M=m) == run(body, N=n, M=m)
        assert counted(found, {"N": n, "M": m}) <= counted(body, {"N": n, "M": m})


TREE = """{ domain: "[N] -> { S[] : N >= 5; T[i] : N <= 4 and 0 <= i < 3 }",
            child: { sequence: [ { filter: "{ S[] }" }, { filter: "{ T[i] }" } ] } }"""


def test_trees_have_branches_and_kernels_none():
    tree = Schedule.parse(TREE)
    assert str(scan(tree)).startswith("if (N >= 5) {\n  S();\n} else {\n  for")
    for loops in (scan(tree, parted=False), scanned(tree, None, None, parted=True, branches=False)):
        assert "else" not in str(loops)


def test_where_there_are_no_steps_left_the_code_stays(monkeypatch):
    def gives_up(*_):
        raise BudgetExceeded("no more")

    tree = Schedule.parse(TREE)
    without = scanned(tree, None, None, parted=True, branches=False)
    monkeypatch.setattr(scanning, "branched", gives_up)
    assert scan(tree) == without


def test_no_scan_needs_more_steps_for_them():
    """What has steps for its loops alone has them without branches."""
    tree, steps = Schedule.parse(TREE), 1
    while True:
        with budget(steps=steps):
            try:
                without = scanned(tree, None, None, parted=True, branches=False)
                break
            except BudgetExceeded:
                steps += 1 + steps // 8
    with budget(steps=steps):
        found = scan(tree)
    assert [run(found, N=n) for n in (3, 6)] == [run(without, N=n) for n in (3, 6)]


def test_a_loop_with_branches_needs_what_both_need():
    """T runs at all places of its loop: S, which one of the branches has, is no reason for it to stand in another."""
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : i = N; T[i] : N <= i <= N + 3 }", child: { schedule: "[N] -> [
             { S[i] -> [(2)]; T[i] -> [(i)] }, { S[i] -> [(N + 3*i - 3)]; T[i] -> [(i)] },
             { S[i] -> [(i mod 4)]; T[i] -> [(N - 2*i)] }]", options: "{ separate[1] }", child: { schedule: "[
             { S[i] -> [(i + 1)]; T[i] -> [(i mod 3)] }, { S[i] -> [(i + 5)]; T[i] -> [(i)] }]",
             options: "{ separate[0] }" } } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n}) is None for n in range(-6, 8))
