"""One small value of a size has code of its own where code of all sizes tests much there, for a part for nothing."""

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

EDGES = """{ domain: "[N] -> { S[i, j, k] : -2 <= i < N and 1 <= j < N and k = 1;
  S[i, j, k] : -1 <= i <= 2 and 0 <= j < N and k >= -1 and 2k <= N + 1 }",
  child: { schedule: "[{ S[i, j, k] -> [(i + floor((j + 1)/2) - 1)] }, { S[i, j, k] -> [(k)] }]",
    options: "{ %s[1] }", child: { schedule: "[{ S[i, j, k] -> [(2i + j - 1)] }, { S[i, j, k] -> [(2k + 1)] }]",
      options: "{ unroll[1] }" } } }"""


def test_a_value_at_which_loops_find_little_is_apart(monkeypatch):
    tree = Schedule.parse(EDGES % "atomic")
    found = scan(tree)
    for n in range(-2, 8):
        assert deviation(tree, found, {"N": n}) is None
    assert str(found).count("if (N == 1)") == 1
    assert {n: counted(found.body, {"N": n}) for n in (1, 2, 9)} == {1: 22, 2: 147, 9: 766}
    monkeypatch.setattr("polyvolta.sched.loops.scan.value_apart", lambda *_: None)
    shared = scan(tree)
    assert {n: counted(shared.body, {"N": n}) for n in (1, 2, 9)} == {1: 115, 2: 146, 9: 765}


def test_loops_of_one_iteration_in_one_another_are_no_reason():
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i, j, k] : 0 <= i, j, k < N }", child: { schedule: "[{ S[i, j, k] -> [(floor(i/8))] },
             { S[i, j, k] -> [(floor(j/8))] }, { S[i, j, k] -> [(floor(k/8))] }, { S[i, j, k] -> [(i)] },
             { S[i, j, k] -> [(j)] }, { S[i, j, k] -> [(k)] }]" } }"""
    )
    assert "if" not in str(scan(tree))


def test_an_atomic_loop_has_no_other_beside_it():
    tree = Schedule.parse(EDGES % "atomic[0]; atomic")
    found = scan(tree)
    assert deviation(tree, found, {"N": 1}) is None
    assert str(found).count("for (int c0") == 1
