"""A parameter that the relation itself says has a value where points are counted, listed, sampled or asked for."""

import pytest

from polyvolta.sets import Map, Set, Unbounded

TRIANGLE = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
POINTS = [(i, j) for i in range(4) for j in range(i)]


@pytest.mark.parametrize(
    "s",
    [
        TRIANGLE.fix(N=4),
        TRIANGLE & Set("[N] -> { S[i, j] : 4 <= N < 5 }"),
        TRIANGLE & Set("[N, M] -> { S[i, j] : N = 2M and M = 2 }"),
        TRIANGLE & Set("[N] -> { S[i, j] : 2N = 5i + 3 and i = 1 }") | TRIANGLE.fix(N=4),
        Set("[N] -> { S[i, j] : 0 <= j < i <= 1 and N = 4; S[i, j] : 2 <= i < N and 0 <= j < i and N = 4 }"),
    ],
    ids=["fix", "bounds", "another parameter", "an element", "pieces"],
)
def test_a_value_of_every_piece_counts(s):
    assert s.count() == len(POINTS)
    assert list(s.points()) == POINTS
    assert s.sample_point() in POINTS
    assert [p for p in [(i, j) for i in range(-1, 6) for j in range(-1, 6)] if p in s] == POINTS


def test_of_several_tuples_and_of_maps():
    both = Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < 2N }").fix(N=4)
    assert both.count() == 12
    m = Map("[N] -> { [i] -> [j] : 0 <= i < N and i < j < N }").fix(N=4)
    assert m.count() == 6 and (0, 3) in m and (0, 4) not in m


def test_a_value_given_is_not_overruled():
    fixed = TRIANGLE.fix(N=4)
    assert fixed.count(N=4) == 6 and fixed.count(N=5) == 0
    assert fixed.contains((3, 1), N=4) and not fixed.contains((3, 1), N=5)


@pytest.mark.parametrize(
    "text",
    [
        "[N] -> { S[i, j] : 0 <= j < i <= 3 and N = 4; S[i, j] : 0 <= j < i <= 3 and N = 5 }",
        "[N] -> { S[i, j] : 0 <= j < i <= 3 and N = 4; S[i, j] : 0 <= j < i <= 3 }",
        "[N] -> { S[i, j] : 0 <= j < i <= 3 and N mod 4 = 0 }",
        "[N] -> { S[i, j] : 0 <= j < i <= 3 and 4 <= N <= 5 }",
        "[N] -> { S[i, j] : 0 <= j < i <= 3 and N = i }",
    ],
)
def test_two_values_are_none(text):
    s = Set(text)
    for ask in (s.count, s.points, lambda: (1, 0) in s):
        with pytest.raises(Unbounded, match="the parameter N has no value"):
            ask()
