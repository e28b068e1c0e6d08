"""Values of a size at which code of all sizes calls nothing, after several tests, are left out before it."""

from itertools import product

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

HOLE = """{ domain: "[N] -> { S[i, j, k] : -1 <= i < N and 1 - ((N + 2) mod 3) <= i and 0 <= j <= 1 and 1 <= k <= 4 }",
  child: { schedule: "[{ S[i, j, k] -> [(floor(k/6))] }, { S[i, j, k] -> [(floor(i/6))] }]", child: {
  schedule: "[{ S[i, j, k] -> [(floor(k/2) mod 3)] }, { S[i, j, k] -> [(floor(i/2) mod 3)] }]",
  options: "{ unroll[1] }", child: { sequence: [ { filter: "{ S[i, j, k] }" } ] } } } }"""
GUARDED = """{ domain: "[N, M] -> { S[i, j, k] : i >= -1 and 2i <= N + 1 and 0 <= j <= N and j - 1 <= k <= 1 }",
  child: { schedule: "[N] -> [{ S[i, j, k] -> [(-2k)] }, { S[i, j, k] -> [(1)] },
    { S[i, j, k] -> [(floor((2N + j)/4))] }]", child: {
  guard: "[N] -> { [a, b, c] : 3*floor((N - b + 1)/3) + 3 <= 2N;
    [a, b, c] : 2N <= 3*floor((N - b + 1)/3) + 1 }" } } }"""
ADDED = """{ domain: "[N] -> { S[i] : i mod 3 = 1 and 1 <= i < N }", child: {
  extension: "[N] -> { [] -> X[x] : N >= 2 and N <= x <= N + 1 }", child: { sequence: [
    { filter: "{ X[x] }" },
    { filter: "{ S[i] }", child: { schedule: "[N] -> [{ S[i] -> [(floor(i/4))] }, { S[i] -> [(floor(i/8))] },
      { S[i] -> [(floor((N - 2i + 1)/4))] }]" } } ] } } }"""


AT = 0, 1, 2, 9


@pytest.mark.parametrize(
    "text, sizes, without, tests, said",
    [
        (HOLE, {"N": range(-4, 9)}, (41, 18, 70, 315), (43, 2, 71, 316), "if (N >= 2 || N <= 0)"),
        (GUARDED, {"N": range(-1, 7), "M": (0, 3)}, (35, 14, 53, 118), (33, 2, 50, 114), "if (N >= 2 || N == 0)"),
        (ADDED, {"N": range(-1, 12)}, (2, 6, 12, 35), (1, 1, 12, 35), "if (N >= 2)"),
    ],
)
def test_values_at_which_nothing_is_called_are_left_out(monkeypatch, text, sizes, without, tests, said):
    """Between others that leave something, where a guard or integers say so; or all below one, of what a tree adds."""
    tree = Schedule.parse(text)
    found = scan(tree)
    for values in product(*sizes.values()):
        assert deviation(tree, found, dict(zip(sizes, values, strict=True))) is None
    assert said in str(found)
    assert tuple(counted(found.body, {"N": n, "M": 3}) for n in AT) == tests
    monkeypatch.setattr("polyvolta.sched.loops.weighing.below.idle_left_out", lambda known, pieces, body: body)
    assert tuple(counted(scan(tree).body, {"N": n, "M": 3}) for n in AT) == without


def test_few_tests_for_nothing_are_left_where_one_more_is_made_elsewhere():
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 0 <= i < N - 1; T[i] : 0 <= i < N - 1 }", child: { sequence: [
             { filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]" } },
             { filter: "{ T[i] }", child: { schedule: "[{ T[i] -> [(i)] }]" } } ] } }"""
    )
    assert "if" not in str(scan(tree))
