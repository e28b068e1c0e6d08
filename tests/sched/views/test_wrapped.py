"""Trees whose statements are wrapped tuples, several of one name among them."""

from polyvolta.sched import Schedule, scan, to_c
from polyvolta.sched.dependence import dataflow
from polyvolta.sets import Map, Set
from tests.sched.loops.oracle import assert_scans

COPIES = """{ domain: "{ U[c] : 0 <= c < 4 }", child: { schedule: "[{ U[c] -> [(c)] }]", child: {
    extension: "{ [c] -> read[A[x] -> s[y]] : x = y = c and 0 <= c < 4;
                  [c] -> read[B[x] -> t[y]] : x = y = c + 1 and 0 <= c < 4 }", child: { sequence: [
        { filter: "{ read[A[x] -> s[y]] }" }, { filter: "{ read[B[x] -> t[y]] }" }, { filter: "{ U[c] }" } ] } } } }"""
PAIRS = """{ domain: "[n] -> { [S[i] -> T[j]] : 0 <= i, j < n }", child: { schedule: "[n] -> [
    { [S[i] -> T[j]] -> [(i + j)] }, { [S[i] -> T[j]] -> [(i)] : n > 2; [S[i] -> T[j]] -> [(-i)] : n <= 2 }]" } }"""


def test_copies_of_several_arrays_have_one_name():
    tree = Schedule.parse(COPIES)
    assert_scans(tree, [{}])
    lines = to_c(scan(tree), macros=False).splitlines()
    assert [line.strip() for line in lines[1:4]] == ["read(c0, c0);", "read(c0 + 1, c0 + 1);", "U(c0);"]
    assert Schedule.parse(tree.to_isl()) == tree
    assert "read[A[x] -> s[y]]" in str(tree) and "read[A -> s]" not in str(tree) + tree.to_isl()


def test_instances_that_are_pairs():
    tree = Schedule.parse(PAIRS)
    assert_scans(tree, [{"n": n} for n in (0, 1, 2, 4)])
    assert "S_T(" in to_c(scan(tree), macros=False)
    assert Schedule.parse(tree.to_isl()).to_map().is_equal(tree.to_map())


def test_dataflow_in_such_a_tree():
    tree = Schedule.parse("""{ domain: "{ [S[i] -> R[]] : 0 <= i < 4; [S[i] -> W[]] : 0 <= i < 4 }", child: {
        schedule: "[{ [S[i] -> R[]] -> [(i)]; [S[i] -> W[]] -> [(i)] }]", child: { sequence: [
            { filter: "{ [S[i] -> R[]] }" }, { filter: "{ [S[i] -> W[]] }" } ] } } }""")
    reads, writes = Map("{ [S[i] -> R[]] -> A[i] }"), Map("{ [S[i] -> W[]] -> A[i + 1] }")
    some = Set("{ [S[i] -> R[]] : 0 <= i < 4; [S[i] -> W[]] : 0 <= i < 4 }")
    found = dataflow(reads.intersect_domain(some), writes.intersect_domain(some), order=tree)
    assert found.must.is_equal(Map("{ [S[i] -> W[]] -> [S[i + 1] -> R[]] : 0 <= i < 3 }"))
