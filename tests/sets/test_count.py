"""Counting and listing."""

import pytest

from polyvolta.sets import Map, Set, Unbounded, UnknownName


def test_counts_in_closed_form():
    assert Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < 10^0 }".replace("10^0", "1000000")).count(N=10**9) == 10**15
    assert Set("{ [i, j] : 0 <= i < 1000000 and j mod 4 = 1 and 0 <= j < 1000000 }").count() == 10**6 * 250_000
    assert Set("{ [i] : 0 <= i < 1000000 and i mod 64 >= 48 }").count() == 15625 * 16


@pytest.mark.parametrize("n", range(5))
def test_simplices(n):
    assert Set("[N] -> { [i, j, k] : 0 <= i <= j <= k < N }").count(N=n) == n * (n + 1) * (n + 2) // 6


def test_overlaps_count_once():
    s = Set("{ [i] : 0 <= i < 10; [i] : 5 <= i < 15; [i] : i mod 2 = 0 and 0 <= i < 20 }")
    assert s.count() == len(list(s.points())) == 15 + 2


def test_bank_conflicts():
    banks = Map("{ T[t] -> [floor(t/4), 8*(t mod 4)] : 0 <= t < 32 }").apply_range(
        Map("{ [r, c] -> [(36r + c) mod 32] }")
    )
    expected = {((36 * (t // 4) + 8 * (t % 4)) % 32,) for t in range(32)}
    assert set(banks.range().points()) == expected and banks.range().count() == len(expected) == 8


def test_points_come_in_order():
    assert list(Set("{ [i, j] : 0 <= i < 3 and i <= j < 3 }").points()) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 2),
    ]
    assert list(Map("[N] -> { [i] -> [2i] : 0 <= i < N }").points(N=3)) == [(0, 0), (1, 2), (2, 4)]
    assert list(Set("{ [] }").points()) == [()] and Set("{ : }").count() == 1


def test_nothing_bounded_nothing_counted():
    with pytest.raises(Unbounded, match="the dimension j is unbounded\n  \\[i, j\\]"):
        Set("{ [i, j] : 0 <= i < 4 and j >= 0 }").count()
    with pytest.raises(Unbounded, match="the dimension i is unbounded"):
        list(Set("{ [i] : i mod 2 = 0 }").points())
    with pytest.raises(Unbounded, match="the parameter N has no value"):
        Set("[N] -> { [i] : 0 <= i < N }").count()
    with pytest.raises(UnknownName, match="no parameter is called 'M'"):
        Set("[N] -> { [i] : 0 <= i < N }").count(M=3)
    assert Set("[N] -> { [i] : 0 <= i < 4 }").count() == 4
