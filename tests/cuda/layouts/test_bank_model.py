"""The bank model against known results: which swizzles are conflict-free, and how bad none at all is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES
from polyvolta.cuda.layouts.bank_model import BadAccess, conflict_degree, conflict_free, phases, worst_degree
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff, var, xor
from tests.cuda.macros import m16n16k8

LANES = np.arange(32)
# (operand, tile depth) -> the conflict degree of its fragment loads without a swizzle. In a phase of eight
# lanes there are eight rows of A, but four columns of B: lanes 0..3 and 4..7 own the same ones.
PLAIN = {("a", 64): 8, ("a", 32): 4, ("a", 16): 2, ("b", 64): 4, ("b", 32): 2, ("b", 16): 1}


def known(row: Aff, depth: int) -> Aff:
    """The facts' swizzles: what a tile of `depth` values a row adds to a chunk's number by exclusive-or."""
    return {64: row % 8, 32: row // 2 % 4, 16: row // 4 % 2}[depth]


def tile_layout(names: tuple[str, str], rows: int, depth: int) -> IndexMap:
    """A tile with the facts' swizzle; chunks run along "k"."""
    row = next(n for n in names if n != "k")
    width = depth // CHUNK
    chunk = width * var(row) + xor(var("k") // CHUNK, known(var(row), depth), 3)
    return IndexMap(tuple((n, depth if n == "k" else rows) for n in names), (("chunk", chunk),))


def plain(layout: IndexMap, depth: int) -> IndexMap:
    """The same tile without its swizzle."""
    row = var(next(n for n, _ in layout.inputs if n != "k"))
    return IndexMap(layout.inputs, (("chunk", depth // CHUNK * row + var("k") // CHUNK),))


def loads(layout: IndexMap, own: IndexMap) -> list[list[int]]:
    """The byte addresses of every fragment load of a tile with that layout."""
    (r, rows), (c, cols) = layout.inputs
    step = {"k": 8, "row": 16, "col": 16}
    owned = own.evaluate({"lane": LANES, "i": 0})
    origins = [(x, y) for x in range(0, rows, step[r]) for y in range(0, cols, step[c])]
    return [list(CHUNK_BYTES * layout.evaluate({r: x + owned[0], c: y + owned[1]})[0]) for x, y in origins]


@pytest.mark.parametrize(("operand", "depth"), PLAIN)
def test_fragment_loads(operand, depth):
    own = getattr(m16n16k8(), operand)
    layout = tile_layout({"a": ("row", "k"), "b": ("k", "col")}[operand], 64, depth)
    assert [phases(x, 16) for x in loads(layout, own)] == [(1, 1, 1, 1)] * (4 * depth // 8)
    assert {conflict_degree(x, 16) for x in loads(plain(layout, depth), own)} == {PLAIN[operand, depth]}


@pytest.mark.parametrize("depth", [64, 32, 16])
def test_the_cyclic_stores_of_a_tile_are_conflict_free(depth):
    layout = tile_layout(("row", "k"), 64, depth)
    per_row = depth // CHUNK
    for first in range(0, 64 * per_row, 32):
        row, k = (first + LANES) // per_row, CHUNK * ((first + LANES) % per_row)
        for tile in (layout, plain(layout, depth)):
            assert conflict_degree(CHUNK_BYTES * tile.evaluate({"row": row, "k": k})[0], 16) == 1


def test_the_wider_interleave_needs_a_swizzle_of_its_own():
    """m32n32k8, row-major A: each quad owns eight consecutive rows, in two parts mm."""
    bit = lambda k: LANES >> k & 1  # noqa: E731
    for mm in range(2):
        row = 16 * bit(4) + 8 * bit(2) + 4 * mm + (LANES & 3)
        for k in range(8):
            assert conflict_degree(CHUNK_BYTES * (8 * row + (k ^ row & 7)), 16) == 2
            repaired = k ^ (row & 3 | (row >> 3 & 1) << 2)
            assert conflict_degree(CHUNK_BYTES * (8 * row + repaired), 16) == 1


@pytest.mark.parametrize(
    ("stride", "width", "degrees"),
    [(4, 4, (1,)), (8, 4, (2,)), (128, 4, (32,)), (8, 8, (1, 1)), (64, 8, (8, 8)), (128, 16, (8,) * 4)],
)
def test_strided_accesses(stride, width, degrees):
    assert phases(stride * LANES, width) == degrees


@given(st.sampled_from((2, 4, 8, 16)), st.lists(st.lists(st.integers(0, 40), min_size=32, max_size=32), min_size=1))
def test_many_accesses_at_once_are_as_bad_as_the_worst(width, units):
    degrees = [conflict_degree([width * u for u in lanes], width) for lanes in units]
    assert worst_degree(width * np.array(units), width) == max(degrees)
    assert conflict_free(np.array(units)[:, None, :], width).tolist() == [d == 1 for d in degrees]
    together = conflict_free(np.array(units)[None, :, :], width)
    assert together.tolist() == [max(degrees) == 1]


def test_lanes_that_take_no_part_meet_nobody():
    addresses = np.full(32, -16)
    addresses[:2] = 0, 128
    assert worst_degree(addresses, 16) == 2
    addresses[1] = -16
    assert worst_degree(addresses, 16) == 1
    assert worst_degree(np.full((3, 32), -4), 4) == 1


def test_only_lanes_of_one_phase_meet():
    addresses = 16 * LANES
    addresses[8:16] = addresses[:8] + 4096  # the banks of the first phase, in the second
    assert conflict_degree(addresses, 16) == 1
    addresses[1] = 4096  # bank 0 for a second word, in the first phase
    assert phases(addresses, 16) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("addresses", "width", "message"),
    [
        (range(31), 4, "32 lanes, not 31"),
        ([0] * 32, 12, "2, 4, 8 or 16 bytes, not 12"),
        ([0] * 31 + [8], 16, "lane 31 reaches byte 8"),
        ([-16] * 32, 16, "lane 0 reaches byte -16"),
    ],
)
def test_what_no_warp_can_do_is_refused(addresses, width, message):
    with pytest.raises(BadAccess, match=message):
        phases(addresses, width)
