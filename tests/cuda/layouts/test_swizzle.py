"""Swizzles: permutations of lines, their text, and what is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.cuda.layouts.swizzle import (
    LINE_BITS,
    Accesses,
    NoSwizzle,
    Swizzle,
    candidates,
    choose,
    conflicts,
    flips,
    is_one_to_one,
    tile_layout,
)
from polyvolta.cuda.text.c_expr import c_expr
from polyvolta.sets import var

WIDTHS = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32]


def by_hand(swizzle, line, position):
    """Bit by bit."""
    for at, low, count in swizzle.runs:
        for k in range(count):
            position ^= (line >> (low + k) & 1) << (at + k)
    return position


@given(st.sampled_from(WIDTHS), st.data())
def test_every_candidate_permutes_every_line(width, data):
    swizzle = data.draw(st.sampled_from(candidates(width)))
    for line in range(2**LINE_BITS):
        assert sorted(by_hand(swizzle, line, p) for p in range(width)) == list(range(width))


@given(st.sampled_from(WIDTHS), st.data())
def test_the_layouts_expression_is_the_swizzle(width, data):
    swizzle = data.draw(st.sampled_from(candidates(width)))
    line, position = (x.ravel() for x in np.meshgrid(np.arange(70), np.arange(width), indexing="ij"))
    layout = tile_layout(("line", "run"), (70, 8 * width), (0, 1), swizzle, 8)
    (chunks,) = layout.evaluate({"line": line, "run": 8 * position})
    assert chunks.tolist() == [width * n + by_hand(swizzle, n, p) for n, p in zip(line.tolist(), position.tolist())]
    assert is_one_to_one(layout, (0, 1), 8)


@given(st.sampled_from(WIDTHS), st.data())
def test_the_table_is_the_swizzle(width, data):
    family = candidates(width)
    k = data.draw(st.integers(0, len(family) - 1))
    assert flips(family, 64)[k].tolist() == [by_hand(family[k], line, 0) for line in range(64)]


def test_the_family_is_every_choice_of_sources_once():
    assert len(candidates(8)) == len(set(candidates(8))) == (LINE_BITS + 1) ** 3
    assert len(candidates(12)) == (LINE_BITS + 1) ** 2  # 4 divides the width, 8 does not
    assert candidates(5) == (Swizzle(),)


@pytest.mark.parametrize(
    ("runs", "width", "text"),
    [
        ((), 8, "8 * row + k / 8"),
        (((0, 0, 3),), 8, "8 * row + (row % 8 ^ k / 8)"),
        (((0, 1, 2),), 4, "4 * row + (k / 8 ^ row / 2 % 4)"),
        (((0, 2, 1),), 2, "2 * row + (k / 8 ^ row / 4 % 2)"),
        (((0, 0, 2), (2, 3, 1)), 8, "8 * row + ((row % 4 + 4 * (row / 8 % 2)) ^ k / 8)"),
        (((0, 0, 2),), 8, "8 * row + 4 * (k / 32) + (row % 4 ^ k / 8 % 4)"),  # the third bit is an offset
    ],
)
def test_it_prints_short(runs, width, text):
    layout = tile_layout(("row", "k"), (64, 8 * width), (0, 1), Swizzle(runs), 8)
    assert c_expr(layout["chunk"], {"row": (0, 63), "k": (0, 8 * width - 1)}) == text


def column(width, position, lines=32):
    """One access in which lane l wants the chunk at `position` of line l: the worst there is for a plain layout."""
    points = np.zeros((1, 32, 2), int)
    points[0, :, 0], points[0, :, 1] = np.arange(32) % lines, 8 * position
    return Accesses(points, 8)


def test_the_first_without_a_conflict_is_chosen():
    swizzle, layout = choose(("row", "k"), (32, 64), (0, 1), [column(8, p) for p in range(8)], 8)
    assert swizzle == Swizzle(((0, 0, 3),))
    assert conflicts(layout, (0, 1), 8, [column(8, p) for p in range(8)]) == 1
    plain = tile_layout(("row", "k"), (32, 64), (0, 1), Swizzle(), 8)
    assert conflicts(plain, (0, 1), 8, [column(8, 0)]) == 8


def test_without_need_there_is_no_swizzle():
    in_turn = np.stack(np.divmod(np.arange(32), 8), axis=-1)[None] * (1, 8)  # consecutive chunks
    swizzle, _ = choose(("row", "k"), (32, 64), (0, 1), [Accesses(in_turn, 8)], 8)
    assert swizzle == Swizzle()


def test_what_no_swizzle_helps_is_refused_with_the_least_degree():
    """Lanes want positions 0, 8, 16 and 24 of two lines: one bank each, whatever flips the lines' positions."""
    points = np.zeros((1, 32, 2), int)
    points[0, :, 0], points[0, :, 1] = np.arange(32) % 2, np.arange(32) % 8 // 2 * 64
    with pytest.raises(NoSwizzle, match="8x256 tile free") as error:
        choose(("row", "k"), (8, 256), (0, 1), [Accesses(points, 8)], 8)
    assert "leaves a 4-way conflict" in str(error.value)
    assert "k, is 16, 32, 64, 128 or 256" in str(error.value)


def test_the_identity_prints_as_itself():
    assert str(Swizzle()) == "p"
    assert Swizzle()(var("row"), var("p"), 8) == var("p")
