"""Swizzles, boxes and matrix descriptors against the manual's tables and addresses."""

import numpy as np
import pytest

from polyvolta.cuda.target.boxes import SWIZZLES, BadBox, Box, Swizzle
from polyvolta.cuda.target.descriptors import Descriptor, InShared
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Map, var
from tests.cuda import hopper

WIDTHS = (128, 64, 32, 0)


@pytest.mark.parametrize(
    ("width", "line", "chunk", "place"),
    [  # a line is as wide as the swizzle; chunk c of line r
        (128, 0, 5, 5), (128, 1, 0, 1), (128, 1, 1, 0), (128, 7, 7, 0), (128, 9, 2, 3),
        (64, 1, 3, 3), (64, 2, 0, 1), (64, 7, 0, 3), (64, 8, 2, 2),
        (32, 3, 1, 1), (32, 4, 0, 1), (32, 5, 1, 0), (32, 8, 1, 1),
    ],
)  # fmt: skip
def test_swizzles_by_hand(width, line, chunk, place):
    swizzle = Swizzle(width)
    found = swizzle.over(1024).evaluate({"chunk": line * swizzle.width + chunk})
    assert found == (line * swizzle.width + place,)


@pytest.mark.parametrize("width", WIDTHS)
def test_swizzles_are_flips_of_address_bits(width):
    chunks = np.arange(4096)
    (found,) = Swizzle(width).over(4096).evaluate({"chunk": chunks})
    assert (found == hopper.swizzled(16 * chunks, width) // 16).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_swizzle_repeats_at_every_start_that_boxes_may_have(width):
    swizzle, base, c = Swizzle(width), var("base"), var("c")
    inputs = (("base", 16384 // swizzle.align), ("c", 4096))
    apart = IndexMap(inputs, (("place", swizzle(swizzle.align * base + c)),))
    moved = IndexMap(inputs, (("place", swizzle.align * base + swizzle(c)),))
    assert apart.relation.is_equal(moved.relation)
    assert swizzle.over(64).relation.is_bijective()


def test_numbers_of_the_driver_and_of_descriptors():
    assert [(s.bytes, s.number, s.mode, s.width, s.values, s.align) for s in SWIZZLES] == [
        (128, 3, 1, 8, 64, 64), (64, 2, 2, 4, 32, 32), (32, 1, 3, 2, 16, 16), (0, 0, 0, 1, 8, 8),
    ]  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lines", [1, 8, 40, 256])
def test_boxes_lie_as_copies_write_them(width, lines):
    box = Box(lines, Swizzle(width).values, Swizzle(width))
    line, run = np.meshgrid(np.arange(lines), np.arange(box.run), indexing="ij")
    (chunk,) = box.layout.evaluate({"line": line, "run": run})
    written = hopper.box_addresses(lines, box.run, width, 4096)
    assert (4096 + 16 * chunk + 2 * (run % 8) == written).all()
    assert (box.extents, box.bytes) == ((box.run, lines), 2 * lines * box.run)


def test_a_box_is_a_relation_that_prints():
    layout = Box(256, 64, Swizzle(128)).layout
    assert str(layout) == (
        "{ [line, run] -> [chunk = 8*line + (line mod 8 ^ floor(run/8))] : 0 <= line < 256 and 0 <= run < 64 }"
    )
    flat = Map("{ [line, run] -> [8*line + floor(run/8)] : 0 <= line < 256 and 0 <= run < 64 }")
    assert Box(256, 64, Swizzle(128)).plain.relation.is_equal(flat) and not layout.relation.is_equal(flat)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_elements_of_a_box_are_its_lines_one_after_the_other(order):
    i = np.arange(24 * 64)
    found = Box(24, 64, Swizzle(128)).elements(order).evaluate({"lane": 7, "i": i})
    assert (found[order[0]] * 64 + found[order[1]] == i).all() and found[order[1]].max() == 63


def test_the_descriptor_of_k_major_128_bytes():
    """Bits 16 to 29 hold 1, 32 to 45 eight lines of 128 bytes in 16, 62 and 63 say 1."""
    made = Descriptor("k", Swizzle(128), 1, 64)
    assert made.constant == 1 << 62 | 64 << 32 | 1 << 16
    assert made.at(0x1234) == made.constant | 0x1234
    assert made.advance(2) == 2  # 32 bytes, the next 16 of k
    assert Descriptor("mn", Swizzle(64), 256, 32).constant == 2 << 62 | 32 << 32 | 256 << 16
    assert Descriptor("mn", Swizzle(32), 3, 5).constant == 3 << 62 | 5 << 32 | 3 << 16
    assert Descriptor("k", Swizzle(0), 16383, 0).constant == 16383 << 16


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("major", ["k", "mn"])
def test_what_descriptors_read(width, major):
    """Chunks of every value, from a start and with distances that mean nothing, beside byte addresses."""
    made, start = Descriptor(major, Swizzle(width), 640, 192), 1024
    shared = np.arange(hopper.BYTES // 2, dtype=np.uint32)
    found = hopper.operand(shared, made.at(start), major == "mn", 64) * 2
    r, k = np.meshgrid(np.arange(64), np.arange(16), indexing="ij")
    (plain,) = made.reads(64).evaluate({"r": r, "k": k})
    (chunk,) = Swizzle(width).over(16384).evaluate({"chunk": start + plain})
    assert (found == 16 * chunk + 2 * ((k if major == "k" else r) % 8)).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Swizzle(48), "bytes is 48, no width of a swizzle"),
        (lambda: Swizzle(True), "bytes is True"),
        (lambda: Box(0, 64), "lines is 0"),
        (lambda: Box(257, 64), "lines is 257"),
        (lambda: Box(64, 12), "run is 12, no number of values"),
        (lambda: Box(64, 264), "run is 264"),
        (lambda: Box(64, 64, 128), "swizzle is 128, no swizzle"),
        (lambda: Box(64, 32, Swizzle(128)), "32 values is no span of 128-byte swizzle"),
        (lambda: Descriptor("m", Swizzle(128), 1, 64), "major is 'm'"),
        (lambda: Descriptor("k", 128, 1, 64), "swizzle is 128"),
        (lambda: Descriptor("k", Swizzle(128), 1, 16384), "stride is 16384, no distance"),
        (lambda: Descriptor("k", Swizzle(128), -1, 64), "leading is -1"),
        (lambda: Descriptor("k", Swizzle(128), 1, 64).at(16384), "16384 is no chunk"),
        (lambda: InShared("n"), "major is 'n'"),
        (lambda: InShared("k", (128,)), "swizzles is"),
    ],
)  # fmt: skip
def test_what_the_hardware_has_not_is_refused(make, words):
    with pytest.raises(BadBox, match=words) as found:
        make()
    assert found.value.hint
