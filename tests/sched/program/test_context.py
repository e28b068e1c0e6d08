"""What a program assumes of its parameters stands in its trees, below the domain, and is used there."""

from dataclasses import replace

import pytest

from polyvolta.sched import scan, to_c
from polyvolta.sched.dependence import dependences, flow
from polyvolta.sched.legality import violations
from polyvolta.sched.passes import set_loop_type, tile
from polyvolta.sched.program import Program, instances, nest_from_source
from polyvolta.sched.scheduler.schedule import schedule
from polyvolta.sched.tree import Context, Schedule
from polyvolta.sets import Set

NEST = """
def jacobi(A, B, T, N):
    {}
    for t in range(T):
        for i in range(1, N - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, N - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]
"""
PLAIN = nest_from_source(NEST.format("pass"))
KNOWN = nest_from_source(NEST.format("assert N >= 3 and T >= 1"))
GIVEN = Set("[T, N] -> { : N >= 3 and T >= 1 }")


@pytest.mark.parametrize("tree", [KNOWN.schedule, schedule(KNOWN)], ids=["written", "scheduled"])
def test_the_context_is_below_the_domain(tree):
    assert isinstance(tree.node((0,)), Context)
    assert tree.node((0,)).context.is_equal(GIVEN)
    assert Schedule.parse(tree.to_isl()) == tree.check_structure()


@pytest.mark.parametrize("of", [schedule, lambda p: p.schedule], ids=["scheduled", "written"])
def test_a_tree_is_else_what_it_is_without(of):
    known, plain = of(KNOWN), of(PLAIN)
    assert not plain.find(Context)
    assert known.replace((0,), known.node((0, 0))) == plain
    assert of(replace(KNOWN, context=Set("[T, N] -> { : }"))).find(Context) in ([], [(0,)])


def test_a_context_that_the_tree_says_already_is_not_said_twice():
    again = Program.parse(KNOWN.domain, KNOWN.reads, KNOWN.writes, KNOWN.schedule, context=KNOWN.context)
    assert again.schedule == KNOWN.schedule
    assert str(again).count("CONTEXT") == 0
    assert "given" in str(again)


def test_relations_and_asserts_say_the_same():
    parsed = Program.parse(PLAIN.domain, PLAIN.reads, PLAIN.writes, PLAIN.schedule, context=GIVEN)
    assert parsed.schedule == KNOWN.schedule


def test_dependences_are_those_within_the_context():
    for a, b in zip(dependences(PLAIN), dependences(KNOWN), strict=True):
        assert b.relation.is_equal(a.relation.intersect_params(GIVEN))
    assert flow(KNOWN).must.is_equal(flow(PLAIN).must.intersect_params(GIVEN))
    tree = schedule(KNOWN)
    assert not list(violations(tree))
    assert not list(violations(tile(tree, (0, 0), (4, 4))))


def test_the_order_is_that_of_the_text():
    assert instances(KNOWN.schedule, T=2, N=5) == instances(PLAIN.schedule, T=2, N=5)


def test_loops_test_nothing_that_is_known():
    tested, known = (
        to_c(scan(set_loop_type(schedule(p), schedule(p).bands()[0], 1, "separate"))) for p in (PLAIN, KNOWN)
    )
    assert tested.count("if (N >= 3)") == 1
    assert "if" not in known
