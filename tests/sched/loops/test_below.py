"""What is called at the few sizes below one that parts of code ask for is written out, where that is asked first."""

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

ISOLATED = """{ domain: "[N] -> { S[i] : 0 <= 2i <= N + 1 }", child: { schedule: "[{ S[i] -> [((i mod 2) + 1)] }]",
  options: "[N] -> { isolate[[] -> [p]] : 2 <= p < N }", child: {
  schedule: "[{ S[i] -> [(floor((-i)/16))] }, { S[i] -> [(floor((i + 11)/12) - 1)] }]", child: {
  schedule: "[{ S[i] -> [(floor((-i)/4))] }, { S[i] -> [(floor((i + 2)/3) - 1)] }]" } } } }"""
STATEMENTS = """{ domain: "[N] -> { S[i, j] : i >= 2 and 2i <= N + 1 and 0 <= j <= 5;
    T[i, j, k] : N <= 2i <= N + 2 and 0 <= j < i and 1 <= k <= 2;
    T[i, j, k] : -2 <= i <= 1 and -2 <= j < N and k >= 1 and 2k <= j + 1 }",
  child: { schedule: "[{ S[i, j] -> [(i)]; T[i, j, k] -> [(i)] }, { S[i, j] -> [(j)]; T[i, j, k] -> [(j)] }]" } }"""
NEST = """{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N; T[i, j] : 2 <= i < N and 0 <= j < N }",
  child: { sequence: [
    { filter: "{ S[i, j] }", child: { schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]" } },
    { filter: "{ T[i, j] }", child: { schedule: "[{ T[i, j] -> [(i)] }, { T[i, j] -> [(j)] }]" } } ] } }"""


AT = -2, 0, 1, 2, 3, 9


@pytest.mark.parametrize(
    "text, without, tests, said",
    [
        (
            ISOLATED,
            (1, 12, 13, 13, 32, 41),
            (2, 3, 3, 3, 30, 39),
            "} else if (N >= -1) {\n  S(0);\n  if (N >= 1)\n    S(1);",
        ),
        (
            STATEMENTS,
            (5, 6, 6, 43, 63, 216),
            (2, 2, 2, 42, 62, 215),
            "} else if (N >= 0) {\n  T(1, 0, 1);\n  T(1, 0, 2);",
        ),
    ],
)
def test_calls_below_a_size_that_is_asked_for_are_written_out(monkeypatch, text, without, tests, said):
    tree = Schedule.parse(text)
    found = scan(tree)
    for n in range(-3, 8):
        assert deviation(tree, found, {"N": n}) is None
    assert said in str(found)
    assert tuple(counted(found.body, {"N": n}) for n in AT) == tests
    monkeypatch.setattr("polyvolta.sched.loops.weighing.below.below_apart", lambda known, pieces, body: body)
    assert tuple(counted(scan(tree).body, {"N": n}) for n in AT) == without


def test_where_no_part_asks_for_a_size_loops_find_few_iterations_as_they_are():
    assert "if" not in str(scan(Schedule.parse(NEST)))


BETWEEN = """{ domain: "[N] -> { S[i] : N <= i <= N + 2 and N + i >= 9; S[i] : N <= i <= N + 2 and i <= 5 - N;
    T[i] : N >= 6 and 0 <= i <= 3; T[i] : N <= 2 and 0 <= i <= 3 }",
  child: { schedule: "[N] -> [{ S[i] -> [(floor((i + 2)/3) - 1)]; T[i] -> [(floor(i/3))] },
    { S[i] -> [(floor((2*floor(i/2))/3))]; T[i] -> [(floor(i/3))] },
    { S[i] -> [(floor((i mod 4)/3))]; T[i] -> [(floor(i/9))] },
    { S[i] -> [((i + 2) mod 3)]; T[i] -> [(i mod 3)] },
    { S[i] -> [((2*floor(i/2)) mod 3)]; T[i] -> [(i mod 3)] },
    { S[i] -> [((i mod 4) - 3*floor((i mod 4)/3))]; T[i] -> [(floor(i/3) mod 3)] }]", child: { set: [
    { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }"""


def test_calls_between_two_sizes_that_are_asked_for_are_written_out():
    """T is there from 6 on and up to 2, S from 4 on: at 4 and 5 its loops would find two or three calls."""
    tree = Schedule.parse(BETWEEN)
    found = scan(tree)
    for n in range(-6, 14):
        assert deviation(tree, found, {"N": n}) is None
    assert "} else if (N == 4) {\n  S(5);\n  S(6);\n} else if (N >= 6) {" in str(found)
    assert str(found).endswith("\n} else if (N >= 4) {\n  S(5);\n  S(6);\n  S(7);\n}")
    assert [counted(found.body, {"N": n}) for n in (2, 3, 4, 5)] == [11, 4, 2, 4]


def test_values_between_that_a_remainder_leaves_out_have_no_code_of_their_own():
    """Of 3, 4 and 5 there is but 5 where N mod 3 = 2."""
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : i = N; S[i] : N mod 3 = 2 and N >= -1 and 0 <= i <= 1;
                               T[i, j] : N - 1 <= i <= 1 and 0 <= j <= 2 }", child: { schedule: "[N] -> [
             { S[i] -> [(4*floor((i + 1)/4))]; T[i, j] -> [(i)] }, { S[i] -> [(0)]; T[i, j] -> [(2*i - N)] },
             { S[i] -> [(floor((i + 3)/4) - 1)]; T[i, j] -> [(i + 1)] }]", options: "{ separate[0] }", child: {
             schedule: "[N] -> [{ S[i] -> [(3*i - N + 1)]; T[i, j] -> [(floor((3*j + 3)/4) - 1)] },
             { S[i] -> [(2*N + 3*i + 1)]; T[i, j] -> [(j mod 4)] }]", child: { sequence: [ { filter: "{ T[i, j] }" },
             { filter: "{ S[i] }", child: { sequence: [ { filter: "[N] -> { S[i] : i >= 0 }" },
             { filter: "[N] -> { S[i] : i <= -1 }" } ] } } ] } } } }"""
    )
    found = scan(tree)
    for n in range(-6, 14):
        assert deviation(tree, found, {"N": n}) is None
    assert "} else if (N >= 3) {\n    S(0);\n    S(1);\n    S(5);\n  } else {" in str(found)
