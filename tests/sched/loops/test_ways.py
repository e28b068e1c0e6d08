"""Filters above leaves: which trees say no more without them, and that what runs stays."""

import pytest

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.parts.ways import without_ways
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Filter, Leaf, Schedule
from polyvolta.sets import Set
from tests.sched.loops.oracle import deviation

HEAD = '{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= 3; T[i] : 0 <= i <= N }", child: '
BAND = '{ schedule: "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }, { S[i, j] -> [(j)]; T[i] -> [(4)] }]", child: '
OUTER = '{ schedule: "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }]", child: '


def tree(band, *ways, kind="sequence"):
    return Schedule.parse(f"{HEAD}{band}{{ {kind}: [ {', '.join(ways)} ] }} }} }}")


def way(filtered, below=""):
    return f'{{ filter: "[N] -> {{ {filtered} }}"{below} }}'


EVEN, ODD = "S[i, j] : i mod 2 = 0; T[i]", "S[i, j] : i mod 2 = 1"
LOW, HIGH = "S[i, j] : j <= 1", "S[i, j] : j >= 2"


@pytest.mark.parametrize(
    "some",
    [
        tree(BAND, way(EVEN), way(ODD)),
        tree(BAND, way(LOW), way(HIGH), way("T[i]")),
        tree(BAND, way(f"{LOW}; T[i]"), way(HIGH), kind="set"),
        tree(OUTER, way("S[i, j] : i < N - 1; T[i] : i < N - 1"), way("S[i, j] : i >= N - 1; T[i] : i >= N - 1")),
        tree(BAND, way("S[i, j]; T[i]", f", child: {{ sequence: [ {way(EVEN)}, {way(ODD)} ] }}"), way("T[i] : i < 0")),
    ],
)
def test_a_leaf_says_as_much_where_no_place_has_two_ways(some):
    found = without_ways(some.root)
    assert isinstance(found.child.child, Leaf)
    assert all(deviation(some, scan(some), {"N": n}) is None for n in range(5))


@pytest.mark.parametrize(
    "some",
    [
        tree(OUTER, way(f"{LOW}; T[i]"), way(HIGH)),  # at one i both have instances, in order
        tree(OUTER, way("S[i, j] : i >= N - 1; T[i]"), way("S[i, j] : i < N - 1")),
        tree(BAND, way("S[i, j]"), way("T[i]")),  # each has one way
        tree(BAND, way(EVEN), way(ODD, ', child: { mark: "odd" }')),
        tree(BAND, way("S[i, j] : N <= 1; S[i, j] : N >= 3; T[i]"), way("S[i, j] : N = 2")),  # one size, told by one if
    ],
)
def test_other_nodes_stay(some):
    assert without_ways(some.root) is some.root
    assert all(deviation(some, scan(some), {"N": n}) is None for n in range(5))


def test_instances_that_go_no_way_stay_out():
    some = tree(BAND, way(EVEN), way(ODD))
    some = some.replace((0, 0, 1), Filter(("S",), Leaf(), Set("{ S[i, j] : i mod 4 = 1 }")))
    assert without_ways(some.root) is some.root
    assert {call[1][0] for call in run(scan(some), N=9) if call[0] == "S"} == {0, 1, 2, 4, 5, 6, 8}
