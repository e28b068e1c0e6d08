"""Dependences that leave no permutable band, and those that leave no schedule at all."""

import pytest

from polyvolta.sched.dependence import Dependence
from polyvolta.sched.errors import NoSchedule
from polyvolta.sched.program import Program, nest_from_source
from polyvolta.sched.scheduler import schedule
from polyvolta.sched.scheduler.bands import find_band, find_carrying_row
from polyvolta.sched.scheduler.farkas import cone
from polyvolta.sched.scheduler.problem import Edge
from polyvolta.sched.tree import Band
from polyvolta.sets import Map
from tests.sched.scheduler.brute import check, conflicts

DOMAIN = "[N] -> { S1[i] : 0 <= i < N; S2[j] : 0 <= j < N }"
PROGRAM = Program.parse(domain=DOMAIN, reads="{ }", writes="{ }", schedule="{ S1[i] -> [0, i]; S2[i] -> [1, i] }")


def dependence(relation):
    relation = Map(relation)
    space = relation.space
    return Dependence("RAW", "A", space.inp.name, space.out.name, relation)


def test_opposite_distances_leave_no_band():
    """Every second instance of S2 would run before S1, every other after: no row is valid that moves with both."""
    both = [
        dependence("[N] -> { S1[i] -> S2[j] : i = 0 and 0 <= j < N }"),
        dependence("[N] -> { S2[j] -> S1[i] : i = 1 and 0 <= j < N and N > 1 }"),
    ]
    edges = tuple(Edge(k, 1 - k, cone(d.relation.parts[0][1][0]), True) for k, d in enumerate(both))
    assert find_band((1, 1), 1, edges, ((), ())).width == 0
    row, carried = find_carrying_row((1, 1), 1, edges)
    assert carried == (0, 1)
    assert row[1][2] == 0 and row[0][2] >= 2  # all of S2 at one time, between S1[0] and S1[1]
    tree = schedule(PROGRAM, dependences=both)
    outer = tree.band((0,))
    assert outer.statements == ("S1", "S2") and len(outer.members) == 1
    below = [node for _, node in tree.walk() if isinstance(node, Band)][1:]
    assert [b.statements for b in below] == [("S2",)] and below[0].members[0].coincident


def test_statements_that_run_before_each_other_at_different_times_get_a_row_that_tells_these_apart():
    text = """
        def f(A, B, N):
            for t in range(1, N):
                B[t, t + 1] = A[2]
                for i in range(t, N):
                    for j in range(1, N):
                        A[2 * i] += B[2, i + j]
    """
    program = nest_from_source(text)
    tree = schedule(program, outer_parallel=False, negative=False)
    check(tree, conflicts(text, program, N=5), N=5)


def test_a_cycle_at_equal_times_has_no_schedule_and_is_shown():
    cycle = [dependence("[N] -> { S1[i] -> S2[i] : 0 <= i < N }"), dependence("[N] -> { S2[i] -> S1[i] : 0 <= i < N }")]
    with pytest.raises(NoSchedule) as caught:
        schedule(PROGRAM, dependences=cycle)
    text = str(caught.value)
    assert "PV309" in text and "S1, S2" in text
    assert "S1 -> S2 (RAW on A), for one S1[0] before S2[0] where N = 1" in text


def test_an_instance_before_itself_has_no_schedule():
    with pytest.raises(NoSchedule, match="itself|cycle"):
        schedule(PROGRAM, dependences=[dependence("[N] -> { S1[i] -> S1[i] : 0 <= i < N }")])


def test_instances_that_wait_for_each_other_have_no_schedule():
    with pytest.raises(NoSchedule):
        schedule(PROGRAM, dependences=[dependence("[N] -> { S1[i] -> S1[j] : 0 <= i < N and j = N - 1 - i }")])


def test_where_no_affine_row_is_found_the_order_of_the_program_stays():
    """j > i at all integer points, where i is 0 or 1, but j = i - 1/3 at a vertex: no form is nonnegative."""
    forward = dependence(
        "{ S1[i] -> S1[j] : 0 <= i <= 1 and 3j + 5i >= 3 and 3j - 11i >= -5 and j <= 5 }",
    )
    pairs = list(forward.relation.points())
    assert pairs and all(i < j for i, j in pairs)
    found = cone(forward.relation.parts[0][1][0])
    assert not found.nonnegative((0, -1, 1)) and not found.nonnegative((0, 1, -1))
    steps = []
    tree = schedule(PROGRAM, dependences=[forward], explain=steps.append)
    assert "S1 keep the order in which they were written" in steps
    (band,) = [node for _, node in tree.walk() if isinstance(node, Band) and node.statements == ("S1",)]
    assert [str(e) for e in band.schedule("S1")] == ["i"]
    assert not band.permutable and not band.members[0].coincident
    with pytest.raises(NoSchedule):
        schedule(PROGRAM, dependences=[dependence(str(forward.relation.reverse()))])
