"""Layouts of boxes and operands: held against bytes that are moved one by one, by formulas of this file's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import SharedOperand, SharedTile
from polyvolta.cuda.layouts.boxes import plan_boxes
from polyvolta.cuda.target.boxes import SWIZZLES, Swizzle
from polyvolta.cuda.target.descriptors import Descriptor
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.verify.engine.past_threads import of_box, of_operand
from polyvolta.cuda.verify.report.records import NoMeaning
from polyvolta.cuda.verify.values.engines.layouts import astray, manual_read, strange_box, strange_descriptor
from polyvolta.sets import aff, var

M, N, K = pv.sizes("M N K")
START = 192  # chunks, a multiple of every pattern


def flipped(byte: int, swizzle: int) -> int:
    """A byte's address under a swizzle, bit by bit."""
    width = {0: 0, 32: 1, 64: 2, 128: 3}[swizzle]
    for bit in range(width):
        byte ^= ((byte >> (7 + bit)) & 1) << (4 + bit)
    return byte


def brought(tile: SharedTile, plan, memory: np.ndarray, slot: int) -> None:
    """All boxes of a tile come to a slot, value by value: the number of element (x, y) is 1000 x + y."""
    line_dim, run_dim = plan.order
    for placed in plan.boxes:
        for line in range(plan.box.lines):
            for run in range(plan.box.run):
                element = list(placed.at)
                element[line_dim] += line
                element[run_dim] += run
                byte = 16 * (tile.start + slot * tile.chunks + placed.place) + 2 * (line * plan.box.run + run)
                memory[flipped(byte, plan.swizzle.bytes) // 2] = 1000 * element[0] + element[1]


def read(tile: SharedTile, plan, memory: np.ndarray, slot: int, part: int, step: int) -> np.ndarray:
    """What a product reads for an operand, [row or column, k], by the manual's words on strides."""
    d, (start,) = plan.descriptor, plan.start.evaluate({"part": part, "step": step})
    span = d.swizzle.bytes or 16
    found = np.zeros((plan.extent, 16), np.int64)
    for r in range(plan.extent):
        for k in range(16):
            if d.major == "k":
                near, far, side = r, 2 * k, (16 * d.stride, 0 if d.swizzle.bytes else 16 * d.leading)
            elif d.swizzle.bytes:
                near, far, side = k, 2 * r, (16 * d.stride, 16 * d.leading)
            else:
                near, far, side = k, 2 * r, (16 * d.leading, 16 * d.stride)
            byte = 16 * (tile.start + slot * tile.chunks + int(start))
            byte += near // 8 * side[0] + near % 8 * span + far // span * side[1] + far % span
            found[r, k] = memory[flipped(byte, d.swizzle.bytes) // 2]
    return found


def cases():
    for operand, dims in (("a", ("i", "k")), ("b", ("k", "j"))):
        for order in ((0, 1), (1, 0)):
            for swizzle in (None, *SWIZZLES):
                yield operand, dims, order, swizzle


@pytest.mark.parametrize("operand, dims, order, swizzle", list(cases()))
def test_what_boxes_bring_is_what_products_read(operand, dims, order, swizzle):
    mn, extent = (128, 64) if operand == "a" else (64, 64)
    size = (mn, 64) if operand == "a" else (64, mn)
    plan = plan_boxes(operand, dims, size, order, extent, swizzle=swizzle)
    tile = SharedTile("t", START, plan.chunks, plan.layout, order, 2)
    memory = np.full(8 * (START + 2 * plan.chunks), -1)
    slot = 1
    brought(tile, plan, memory, slot)
    engine = np.full(len(memory), -1)
    for placed in plan.boxes:
        x = of_box(tile, plan.box, placed.at, slot, (0, 0), True)
        assert x.outside is None and astray(x) is None
        engine[x.values] = 1000 * x.elements[0] + x.elements[1]
    assert np.array_equal(engine, memory)
    for part in range(mn // extent):
        for step in range(4):
            (start,) = plan.start.evaluate({"part": part, "step": step})
            origin = (extent * part, 16 * step) if operand == "a" else (16 * step, extent * part)
            given = SharedOperand("t", tuple(map(aff, origin)), aff(int(start)), plan.descriptor)
            x = of_operand(tile, given, operand, (extent, 16), origin, slot, int(start))
            assert x.outside is None and astray(x) is None
            seen = read(tile, plan, memory, slot, part, step)
            assert np.array_equal(memory[x.values], seen)
            assert np.array_equal(seen, 1000 * x.elements[0] + x.elements[1])


@pytest.mark.parametrize("major", ["k", "mn"])
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_descriptors_are_the_manuals(major, swizzle):
    d = Descriptor(major, swizzle, 100, 300)
    assert strange_descriptor(d, 64, 16) is None
    r, k = np.meshgrid(np.arange(64), np.arange(16), indexing="ij")
    assert manual_read(d, r, k)[0, 0] == 0


def test_elements_that_lie_elsewhere_are_found():
    plan = plan_boxes("a", ("i", "k"), (64, 64), (0, 1), 64)
    tile = SharedTile("t", 0, plan.chunks, plan.layout, (0, 1), 1)
    assert strange_box(plan.box) is None
    plain = replace(plan.box, swizzle=Swizzle(0))
    assert astray(of_box(tile, plain, (0, 0), 0, (0, 0), True)) == (
        "t[1, 0] is written to chunk 8 of slot 0, and the tile has it in chunk 9"
    )
    beyond = of_box(tile, plan.box, (8, 0), 0, (0, 0), True)
    assert beyond.outside is not None and "which the tile doesn't have" in astray(beyond)
    turned = replace(tile, layout=replace(tile.layout, outputs=(("chunk", 8 * var("i") + var("k") // 8),)))
    x = SharedOperand("t", (aff(0), aff(0)), aff(0), plan.descriptor)
    assert "is read from chunk 9 of slot 0" in astray(of_operand(turned, x, "a", (64, 16), (0, 0), 0, 0))


@pytest.mark.parametrize("layouts", [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")])
def test_the_report_has_the_relations_of_all_layouts(layouts):
    a, b = pv.tensor("A", (M, K), layout=layouts[0]), pv.tensor("B", (K, N), layout=layouts[1])
    options = pv.Options(block_tile=(128, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=2,
                         fragments=1, split_k=1, group=1)  # fmt: skip
    proof = pv.compile(a @ b, target=SM_90A, options=options).verify(only="layouts")["layouts"]
    assert proof.proved
    assert proof.relation.count("128-byte swizzle of") == 5  # two operands, two boxes that come, one that goes
    assert "a of m64n64k16" in proof.relation and "map_B and shared_B" in proof.relation


def test_kernels_without_boxes_have_no_such_proof():
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)), target="sm_70")
    with pytest.raises(NoMeaning):
        kernel.verify(only="layouts")
