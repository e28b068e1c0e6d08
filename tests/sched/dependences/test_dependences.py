"""Dependences of statements and programs, what lives in and out: against enumeration and against memory itself."""

from itertools import product

import pytest

import polyvolta as pv
from polyvolta.graph.dag import Graph
from polyvolta.sched.dependences import dependences


@pytest.fixture(scope="module")
def statements():
    M, N, K = pv.sizes("M N K")
    return Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))).statements


def test_reads_depend_on_the_last_write_and_writes_on_all_earlier_accesses(statements):
    instances = list(product(range(2), range(3), range(4)))
    pairs = {(*a, *b) for a, b in product(instances, repeat=2) if a[:2] == b[:2] and a[2] < b[2]}
    found = dependences(statements)
    assert {d.kind for d in found} == {"RAW", "WAR", "WAW"}
    for d in found:
        assert d.array == "C"
        expected = {p for p in pairs if p[5] == p[2] + 1} if d.kind == "RAW" else pairs
        assert set(d.relation.points(M=2, N=3, K=4)) == expected
