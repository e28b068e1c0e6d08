"""Parametric optima, and single-valued maps read as expressions."""

import pytest

from polyvolta.sets import Map, NotAFunction, Set, Unbounded


def test_the_first_and_last_row_of_a_tile():
    rows = Map("[M] -> { [b] -> A[i] : 0 <= i < M and 32b <= i < 32b + 32 }")
    assert rows.lexmin().is_equal(Map("[M] -> { [b] -> A[32b] : 0 <= 32b < M }"))
    assert rows.lexmax().is_equal(Map("[M] -> { [b] -> A[min(M - 1, 32b + 31)] : 0 <= 32b < M }"))


def test_the_order_is_lexicographic():
    s = Set("{ [i, j] : 0 <= i <= 3 and i + j >= 4 and j <= 9 }")
    assert s.lexmin().is_equal(Set("{ [0, 4] }"))
    assert s.lexmax().is_equal(Set("{ [3, 9] }"))


def test_rounding_up_and_strides():
    assert str(Map("{ [i] -> [j] : i <= 4j }").lexmin().as_affs()[0]) == "floor((i + 3)/4)"
    assert Map("[N] -> { [i] -> [j] : j >= i and j mod 8 = 0 }").lexmin().is_equal(Map("{ [i] -> [8*ceil(i/8)] }"))


def test_the_better_piece_of_a_union_wins():
    u = Map("{ [i] -> [j] : j = 5 and 0 <= i < 9; [i] -> [j] : j = i and 2 <= i < 20 }")
    assert u.lexmin().is_equal(
        Map("{ [i] -> [min(i, 5)] : 2 <= i < 9; [i] -> [5] : 0 <= i < 2; [i] -> [i] : 9 <= i < 20 }")
    )
    assert u.lexmax().is_equal(
        Map("{ [i] -> [max(i, 5)] : 2 <= i < 9; [i] -> [5] : 0 <= i < 2; [i] -> [i] : 9 <= i < 20 }")
    )


@pytest.mark.parametrize(
    ("text", "affs"),
    [
        ("{ S[i, j, k] -> A[i, k] }", ["i", "k"]),
        ("{ S[i] -> [floor(i/32), i mod 32] }", ["floor(i/32)", "i mod 32"]),
        ("{ [b, p] -> [i] : i = 32b + p and 0 <= p < 32 }", ["32*b + p"]),
        ("{ [i] -> [b, p] : i = 32b + p and 0 <= p < 32 }", ["floor(i/32)", "i mod 32"]),
        ("{ [i] -> [b] : 32b <= i < 32b + 32 }", ["floor(i/32)"]),
        ("[N] -> { [i] -> [N - 1 - i] : 0 <= i < N }", ["N - i - 1"]),
        ("{ [x, y] -> [c] : 0 <= x < 8 and 8y <= c and 0 <= c - 8y - x <= 0 }", ["x + 8*y"]),
        ("{ [r, q] -> [l] : 0 <= q < 2 and q = l mod 2 and r = floor(l/2) }", ["q + 2*r"]),
    ],
)
def test_maps_read_as_expressions(text, affs):
    assert [str(e) for e in Map(text).as_affs()] == affs


def test_pieces_that_agree_are_one_expression():
    halves = Map("{ [i] -> [2i, i mod 4] : i < 0; [i] -> [2i, i mod 4] : i > 5 }")
    assert [str(e) for e in halves.as_affs()] == ["2*i", "i mod 4"]


def test_what_is_no_function():
    with pytest.raises(NotAFunction, match="some input has several outputs"):
        Map("{ [i] -> [j] : 0 <= j < i }").as_affs()
    with pytest.raises(NotAFunction, match="2 pieces"):
        Map("{ [i] -> [i] : i > 3; [i] -> [i + 1] : i <= 3 }").as_affs()
    with pytest.raises(NotAFunction, match="says nothing"):
        Map("{ [i] -> [j] : i > 3 and i < 2 }").as_affs()


def test_what_has_no_optimum():
    with pytest.raises(Unbounded, match="no lexicographically greatest point\n  A\\[i\\]"):
        Set("{ A[i] : i >= 0 }").lexmax()
    assert Set("{ A[i] : i >= 0 and i < 0 }").lexmax().is_empty()
