"""One small value of a size has code of its own where code of all sizes tests much there, for a part for nothing."""

import pytest

from polyvolta.sched.loops.ast import Call, For, If
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.weighing.versions import value_apart
from polyvolta.sched.tree import Schedule
from polyvolta.sets import aff, var
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


ROW = """{ domain: "[N, M] -> { S[i, j] : M >= 1 and 0 <= i < N and j = 0; S[i, j] : i >= -1 and 2i <= N + 1
    and 1 <= j < M; T[i, j] : i <= 1 and M <= 2i <= M + 3 and 0 <= j <= 3 }", child: { sequence: [
  { filter: "[N, M] -> { S[i, j] : 2j <= N - M + 2*floor(j/2) + 2 }" },
  { filter: "[N, M] -> { S[i, j] : 2j >= N - M + 2*floor(j/2) + 3 }", child: {
    schedule: "[{ S[i, j] -> [(floor((((-2i) mod 3) + 1)/4))] }, { S[i, j] -> [(floor(((j + 1) mod 2)/4))] }]", child: {
    schedule: "[{ S[i, j] -> [((-2i) mod 3) + 1] }, { S[i, j] -> [((j + 1) mod 2)] }]" } } },
  { filter: "{ T[i, j] }", child: { guard: "[N] -> { [] : N mod 4 = 3 }" } } ] } }"""


def test_where_another_size_may_be_large_few_tests_for_each_call_are_enough(monkeypatch):
    """At M = 1 a row of N points is left of N*M; where one size is all there are, that is a few calls."""
    tree = Schedule.parse(ROW)
    found, at = scan(tree), [(1, 1), (10, 1), (100, 1), (10, 10), (1, 10)]
    for n, m in [(n, m) for n in range(-2, 8) for m in range(-1, 6)]:
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert [counted(found.body, {"N": n, "M": m}) for n, m in at] == [5, 14, 104, 186, 73]
    monkeypatch.setattr("polyvolta.sched.loops.scan.value_apart", lambda *_: None)
    shared = scan(tree)
    assert [counted(shared.body, {"N": n, "M": m}) for n, m in at] == [16, 57, 462, 185, 72]


N, C = var("N"), var("c0")
S, T = Call("S", (C,)), Call("T", ())


def loop(first, last, *body, name="c0"):
    return For(name, (aff(first),), (aff(last),), 1, False, body)


def nest(deep):
    """Loops of one iteration in one another, where N is 1."""
    body = (S,)
    for k in range(deep):
        body = (loop(0, N - 1, *body, name=f"c{k}"),)
    return body


FOUND = If((("eq", C - N),), (S,))
BOTH = (loop(N, N + 9, S),), (), (loop(N, N + 30, FOUND),)


@pytest.mark.parametrize(
    ("body", "apart"),
    [
        ((loop(N, 5 * N, FOUND),), False),  # few tests
        ((If((("ge", 1 - N),), (loop(0, 30, FOUND),), (), (loop(N, N + 9, S),)),), True),
        ((If((("ge", 1 - N),), (loop(0, 30, FOUND),)), T), False),  # at others it would be one test more beside one
        ((loop(0, 40, FOUND),), False),  # it is so at each value
        (nest(12), False),  # none is for nothing
        ((loop(0, 30, If((("eq", C - 30 * N),), (S,))),), True),  # others call nothing, by many
        ((If((("ge", 1 - N),), (loop(0, 30, FOUND),), (), (If((("ge", 10 - N),), *BOTH),)),), False),  # as at 11
    ],
)
def test_a_value_is_apart_where_few_have_many_tests_of_which_some_are_for_nothing(body, apart):
    known = Known(Columns(["N"], ["N"]))
    found = value_apart(known, body, lambda _: (S,))
    assert (found is not None) is apart
    if found is not None:
        assert counted(found, {"N": 1}) <= 2 < counted(body, {"N": 1})
    assert value_apart(known, body, lambda _: ()) is None  # what is called there is in no code then


def test_an_atomic_loop_has_no_other_beside_it():
    tree = Schedule.parse(EDGES % "atomic[0]; atomic")
    found = scan(tree)
    assert deviation(tree, found, {"N": 1}) is None
    assert str(found).count("for (int c0") == 1
