"""Coalescing: fewer pieces, the same points."""

import pytest

from polyvolta.sets import Set

ONE = [
    ("{ [i] : 0 <= i < 5; [i] : 5 <= i < 9 }", "{ [i] : 0 <= i < 9 }"),
    ("{ [i] : 0 <= i < 7; [i] : 2 <= i < 5 }", "{ [i] : 0 <= i < 7 }"),
    ("{ [i] : 0 <= i < 7; [i] : 4 <= i < 12 }", "{ [i] : 0 <= i < 12 }"),
    ("{ [i] : i = 4; [i] : i = 5 }", "{ [i] : 4 <= i <= 5 }"),
    ("{ [i] : 0 <= i < 8 and i mod 2 = 0; [i] : 8 <= i < 20 and i mod 2 = 0 }",
     "{ [i] : 0 <= i < 20 and i mod 2 = 0 }"),
    ("[M,N]->{[i,j]: 0<=i<M and 0<=j<N and i<64 and j<64; [i,j]: 0<=i<M and 0<=j<N and i>=64 and j<64;"
     "[i,j]: 0<=i<M and 0<=j<N and i<64 and j>=64; [i,j]: 0<=i<M and 0<=j<N and i>=64 and j>=64}",
     "[M, N] -> { [i, j] : 0 <= i < M and 0 <= j < N }"),
]  # fmt: skip
MORE = ["{ [i] : i = 0; [i] : i = 2 }", "{ [i, j] : i = 0 and 0 <= j < 9; [i, j] : j = 0 and 0 <= i < 9 }"]


@pytest.mark.parametrize(("pieces", "whole"), ONE)
def test_pieces_that_make_one(pieces, whole):
    fused = Set(pieces).coalesce()
    assert len(fused.pieces) == 1 and fused.is_equal(Set(whole))


@pytest.mark.parametrize("pieces", MORE)
def test_pieces_that_do_not(pieces):
    fused = Set(pieces).coalesce()
    assert len(fused.pieces) == 2 and fused.is_equal(Set(pieces))


def test_empty_pieces_vanish():
    assert Set("{ [x, y] : 3x - 3y + 2 >= 0 and -3x + 3y - 1 >= 0; [0, 0] }").coalesce().pieces == (Set("{ [0, 0] }"),)
