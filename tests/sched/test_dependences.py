"""Dependences of statements, against enumeration of all pairs of instances that touch one element."""

from itertools import product

import pytest

import polyvolta as pv
from polyvolta.graph.dag import Graph
from polyvolta.sched import initial
from polyvolta.sched.dependences import dependences, distances, negative_at, nonzero_at
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sets import var


@pytest.fixture(scope="module")
def statements():
    M, N, K = pv.sizes("M N K")
    return Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))).statements


def test_every_dependence_is_a_later_k_of_the_same_element(statements):
    instances = list(product(range(2), range(3), range(4)))
    pairs = {(*a, *b) for a, b in product(instances, repeat=2) if a[:2] == b[:2] and a[2] < b[2]}
    found = dependences(statements)
    assert {d.kind for d in found} == {"RAW", "WAR", "WAW"}
    for d in found:
        assert d.array == "C"
        assert set(d.relation.points(M=2, N=3, K=4)) == pairs


def test_distances_tell_which_loops_are_parallel(statements):
    schedule = (var("i"), var("j"), var("k"))
    for d in dependences(statements):
        delta = distances(d, schedule, schedule)
        assert set(delta.points(M=1, N=1, K=3)) == {(0, 0, 1), (0, 0, 2)}
        assert nonzero_at(delta, 0).is_empty() and nonzero_at(delta, 1).is_empty()
        assert not nonzero_at(delta, 2).is_empty()
        assert all(negative_at(delta, m).is_empty() for m in range(3))


def test_a_reversed_loop_violates_them(statements):
    schedule = (var("i"), var("j"), -var("k"))
    assert not negative_at(distances(dependences(statements)[0], schedule, schedule), 2).is_empty()


def test_several_statements_are_refused_by_name():
    M, N, K = pv.sizes("M N K")
    graph = Graph.of(pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))))
    with pytest.raises(IllegalTransformation, match="S1, S2"):
        initial(graph.statements)
