"""Operands of wgmma: copies by TMA and reads by descriptors, on numpy by byte addresses; what the proof refutes."""

from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.layouts.boxes import LayoutsDiffer, NoBoxes, difference, misread, plan_boxes, unwritten
from polyvolta.cuda.target.boxes import SWIZZLES, Swizzle
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import var
from tests.cuda import hopper

ORDERS = [(0, 1), (1, 0)]
NAMES = {"a": ("i", "k"), "b": ("k", "j")}


def plan(operand, mn, k, order, extent=None, **more):
    size = (mn, k) if operand == "a" else (k, mn)
    return plan_boxes(operand, NAMES[operand], size, order, extent or (64 if operand == "a" else mn), **more)


def arrives(made, base):
    """[part][step]: whether each instruction reads what it should of a tile that copies brought to chunk `base`."""
    size = made.size
    tile = np.arange(size[0] * size[1], dtype=np.uint16).reshape(size)
    shared = hopper.memory()
    in_memory = tile if made.order == (0, 1) else tile.T
    for placed in made.boxes:
        at = placed.at if made.order == (0, 1) else placed.at[::-1]
        start = 16 * (base + placed.place)
        hopper.copy_in(shared, in_memory, at, made.box.lines, made.box.run, made.box.swizzle.bytes, start)
    by_mn = tile if made.operand == "a" else tile.T
    (_, parts), (_, steps) = made.start.inputs
    right = np.zeros((parts, steps), bool)
    for part in range(parts):
        for step in range(steps):
            (start,) = made.start.evaluate({"part": part, "step": step})
            bits = made.descriptor.at(base + int(start))
            found = hopper.operand(shared, bits, made.descriptor.major == "mn", made.extent)
            wanted = by_mn[made.extent * part : made.extent * (part + 1), 16 * step : 16 * (step + 1)]
            right[part, step] = np.array_equal(found, wanted)
    return right


def wanted_swizzle(extent):
    return next(w for w in (128, 64, 32, 0) if extent % (w // 2 or 8) == 0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rows", "k"), [(64, 64), (128, 64), (192, 32), (256, 128), (320, 64), (64, 48), (128, 16)])
def test_rows_of_a(rows, k, order):
    made = plan("a", rows, k, order)
    assert made.swizzle.bytes == (wanted_swizzle(k) if order == (0, 1) else 128)
    assert made.descriptor.major == ("k" if order == (0, 1) else "mn")
    assert arrives(made, 3 * made.align).all()
    assert made.bytes == 2 * rows * k and made.box.lines <= 256


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", range(8, 257, 8))
def test_columns_of_b(n, order):
    made = plan("b", n, 64, order)
    assert made.swizzle.bytes == (128 if order == (1, 0) else wanted_swizzle(n))
    assert arrives(made, 5 * made.align).all()
    assert made.bytes == 128 * n


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("operand", "ab")
@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
@pytest.mark.parametrize("k", [64, 80])
def test_every_swizzle(operand, order, swizzle, k):
    """Narrower than need be, or wider, so that the last panel ends beyond the tile."""
    made = plan(operand, 192, k, order, 64, swizzle=swizzle)
    assert made.swizzle == swizzle and arrives(made, 7 * made.align).all()


def test_a_wider_swizzle_has_panels_that_end_beyond_the_tile():
    made = plan("b", 200, 64, (0, 1), swizzle=Swizzle(128))
    assert len(made.boxes) == 4 and made.chunks == 4 * 512 and arrives(made, 64).all()
    assert len(plan("b", 200, 64, (0, 1)).boxes) == 25


@pytest.mark.parametrize("order", ORDERS)
def test_parts_for_the_blocks_of_a_cluster(order):
    whole = plan("b", 256, 64, order)
    halves = plan("b", 256, 64, order, shared=2 * len(whole.boxes))
    assert halves.layout == whole.layout and len(halves.boxes) == 2 * len(whole.boxes)
    assert arrives(halves, 64).all()
    assert plan("b", 256, 64, order, shared=len(whole.boxes)) == whole


@pytest.mark.parametrize(("rows", "k", "shared", "boxes"), [(384, 64, 4, 4), (384, 96, 4, 12), (512, 64, 8, 8)])
def test_each_block_of_a_cluster_has_as_many_boxes_copied(rows, k, shared, boxes):
    """Of more lines than a box has there are several boxes already, which are no whole number for each."""
    alone, made = plan("a", rows, k, (0, 1), 64), plan("a", rows, k, (0, 1), 64, shared=shared)
    assert len(alone.boxes) % shared and len(made.boxes) == boxes and arrives(made, 64).all()


def test_what_plans_say():
    made = plan("a", 128, 64, (0, 1))
    assert [(b.at, b.place) for b in made.boxes] == [((0, 0), 0)] and made.box.extents == (64, 128)
    assert [made.start.evaluate({"part": 1, "step": s})[0] for s in range(4)] == [512, 514, 516, 518]
    assert made.descriptor.constant == 1 << 62 | 64 << 32 | 1 << 16
    made = plan("b", 192, 64, (0, 1))
    assert [(b.at, b.place) for b in made.boxes] == [((0, 0), 0), ((0, 64), 512), ((0, 128), 1024)]
    assert (made.descriptor.leading, made.descriptor.stride) == (512, 64)
    assert [made.start.evaluate({"part": 0, "step": s})[0] for s in range(4)] == [0, 128, 256, 384]


# ---- refutations


def _wrong(made):
    """Plans of which one thing is off, by a name."""
    d, (inputs, ((_, chunk),)) = made.descriptor, (made.start.inputs, made.start.outputs)
    yield "stride", replace(made, descriptor=replace(d, stride=d.stride + 8))
    yield "stride twice", replace(made, descriptor=replace(d, stride=2 * d.stride))
    yield "leading", replace(made, descriptor=replace(d, leading=d.leading + 64))
    yield "leading and stride", replace(made, descriptor=replace(d, leading=d.stride, stride=d.leading))
    yield "major", replace(made, descriptor=replace(d, major="mn" if d.major == "k" else "k"))
    for other in SWIZZLES:
        yield f"swizzle {other}", replace(made, descriptor=replace(d, swizzle=other))
    for name, e in (
        ("start", chunk + 1),
        ("start of steps", chunk + 2 * var("step")),
        ("start of parts", chunk + 64 * var("part")),
        ("last step", chunk - 2 * (var("step") // (inputs[1][1] - 1))),
    ):
        yield name, replace(made, start=IndexMap(inputs, (("chunk", e),)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("operand", "mn", "k"), [("a", 128, 64), ("b", 192, 64), ("b", 96, 32), ("b", 80, 64)])
def test_the_proof_fails_exactly_where_the_hardware_would(operand, mn, k, order):
    """Each mutant is refuted if and only if some instruction reads something else."""
    made, refuted = plan(operand, mn, k, order), set()
    for name, wrong in _wrong(made):
        found = misread(wrong)
        assert (found is None) == bool(arrives(wrong, 3 * 64).all()), (name, found)
        if found is not None:
            refuted.add(name)
            assert "is read from chunk" in found
    harmless = {"leading", "start of parts"} | {f"swizzle {made.swizzle}"}
    assert len(refuted) >= 9 and {"stride twice", "start", "start of steps", "last step", "major"} <= refuted
    assert {name for name, _ in _wrong(made)} - refuted <= harmless | {"stride", "leading and stride"}


def test_a_refutation_names_an_element():
    made = plan("a", 128, 64, (0, 1))
    wrong = replace(made, descriptor=replace(made.descriptor, stride=128))
    assert misread(made) is None
    assert misread(wrong).startswith("row 8, k 0 of the operand of instruction 0 in step 0 is read from chunk 128, and")


@pytest.mark.parametrize("order", ORDERS)
def test_boxes_that_are_written_elsewhere(order):
    made = plan("b", 256, 128, order, shared=2 * len(plan("b", 256, 128, order).boxes))
    panel, part, line, run = map(var, ("panel", "part", "line", "run"))
    inputs = (("panel", len(made.boxes) // 2), ("part", 2))
    chunks = made.chunks // len(made.boxes)
    right = IndexMap(inputs, (("chunk", chunks * (2 * panel + part)),))
    assert unwritten(made.layout, order, made.box, right) is None
    for e in (chunks * (panel + part), chunks * (2 * panel + part) + 64, chunks * (2 * panel + 1 - part)):
        wrong = IndexMap(inputs, (("chunk", e),))
        assert "is written to chunk" in unwritten(made.layout, order, made.box, wrong)
    plain = made.box.run // 8 * line + run // 8
    flat = IndexMap((("line", made.box.lines), ("run", made.box.run)), (("chunk", plain),))
    assert difference(flat, made.box.plain) is None and difference(flat, made.box.layout) is not None


def test_an_instruction_that_starts_within_a_span_and_ends_in_the_next_is_refused():
    """96 columns of 192 in panels of 64: the second half would start in the middle of a panel."""
    assert plan("b", 192, 64, (0, 1), 96).swizzle.bytes == 64
    with pytest.raises(LayoutsDiffer, match="column 32, k 0 of the operand of instruction 1 in step 0 is read from"):
        plan("b", 192, 64, (0, 1), 96, swizzle=Swizzle(128))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: plan("a", 128, 40, (0, 1)), "an instruction takes 16 of k"),
        (lambda: plan("a", 96, 64, (0, 1)), "an instruction takes 64"),
        (lambda: plan("b", 12, 64, (0, 1)), "an instruction takes 12, in atoms of 8"),
        (lambda: plan("b", 24, 64, (1, 0), shared=2), "24 lines are not cut into 2 equal parts"),
        (lambda: plan("a", 2**14, 64, (0, 1), swizzle=Swizzle(0)), "further apart than a descriptor says"),
    ],
)
def test_tiles_without_boxes(make, words):
    with pytest.raises(NoBoxes, match=words) as found:
        make()
    assert found.value.hint


def test_functions_that_differ_in_one_place_alone():
    """Which no search of some inputs meets: 501 of 1000."""
    x = var("x")
    one, other = (IndexMap((("x", 1000),), (("y", x // n),)) for n in (501, 502))
    assert difference(one, other) == ({"x": 501}, (1,), (0,))
    assert difference(one, IndexMap((("x", 1000),), (("y", (2 * x) // 1002),))) is None
