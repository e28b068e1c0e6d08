"""What guards below several bands say of members is known in loops outside, if all ways down say it."""

from itertools import product

import pytest

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.loops.ast import nodes
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

TWO_BANDS = """{{ domain: "[N, M] -> {{ S[i, j] : 0 <= j <= i < N }}", child: {{ schedule: "[{{ S[i, j] -> [(i)] }}]",
  child: {{ schedule: "[{{ S[i, j] -> [(j)] }}]", child: {{ guard: "[N, M] -> {{ {} }}" }} }} }} }}"""


def agrees(tree, found):
    return all(deviation(tree, found, {"N": n, "M": m}) is None for n in range(8) for m in range(-1, 9))


@pytest.mark.parametrize(
    "guard, tests",
    [
        ("[a, b] : b mod 4 = 3", (22, 266)),
        ("[a, b] : b mod 4 = 3 and M <= 1; [a, b] : b mod 4 = 3 and M >= 3", (23, 267)),
    ],
)
def test_loops_outside_have_what_a_guard_says_of_a_member_inside(guard, tests):
    tree = Schedule.parse(TWO_BANDS.format(guard))
    found = scan(tree)
    assert agrees(tree, found)
    assert tuple(counted(found.body, {"N": n, "M": 0}) for n in (9, 40)) == tests


def test_of_many_ways_down_not_all_are_looked_at():
    """Of seven cases the first five say that b is even, and the sixth that it is odd."""
    cases = [f"[a, b] : b mod 2 = {m > 4} and M = {m}" for m in range(7)]
    tree = Schedule.parse(TWO_BANDS.format("; ".join(cases).replace("True", "1").replace("False", "0")))
    assert agrees(tree, scan(tree))


def test_what_several_ways_say_differently_is_tested_on_each():
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j] : 0 <= j <= i < N }", child: { schedule: "[{ S[i, j] -> [(i)] }]", child: {
             sequence: [ { filter: "{ S[i, j] : j mod 3 = 0 }", child: { schedule: "[{ S[i, j] -> [(j)] }]", child: {
             guard: "{ [a, b] : b mod 2 = 0 and b >= 1 }" } } }, { filter: "{ S[i, j] : j mod 3 >= 1 }", child: {
             schedule: "[{ S[i, j] -> [(-j)] }]", child: { guard: "[M] -> { [a, b] : b mod 2 = 0 and b >= -M }" } } } ]
           } } }"""
    )
    assert agrees(tree, scan(tree))


ABOVE = """{ domain: "[N, M] -> { S[i] : 0 <= i <= N; T[i] : 0 <= i <= N + 1 }", child: { mark: "parallel", child: {
  schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]", coincident: [1], child: { sequence: [
    { filter: "{ S[i] }", child: { guard: "[N, M] -> { [a] : M >= 3 or M <= -3 }" } },
    { filter: "{ T[i] }", child: { guard: "[N, M] -> { [a] : M >= 5 or N <= 3 }" } } ] } } } }"""


def test_what_guards_of_several_statements_ask_of_sizes_stands_above_loops_that_keep_their_places_in_the_tree():
    tree = Schedule.parse(ABOVE)
    found = scan(tree)
    for n, m in product((-2, 0, 3, 4, 6), (-4, -3, 0, 3, 4, 5)):
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert counted(found.body, {"N": 40, "M": 0}) <= 4  # no loop
    paths = {path for path, _ in tree.walk()}
    assert {node.at for node in nodes(found.body)} <= paths
    assert "#pragma omp parallel for" in to_c(found)
