"""The pipeline of a k loop as drawn: the order typed by hand, and what broken kernels look like."""

from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, GlobalLoad
from polyvolta.cuda.ir.walk import replaced
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.pictures import pipeline
from polyvolta.cuda.pictures.errors import BadPicture, NothingToDraw, NotInKernel
from polyvolta.cuda.pictures.k_tiles import course, k_loops, unordered
from polyvolta.cuda.pictures.svg import RED
from polyvolta.sets import var
from tests.cuda.pictures.kernels import changed, matmul
from tests.cuda.pictures.reading import groups, strokes, words

ONE_BUFFER = """
    -1: load 0, barrier, store 0 to 0, barrier
     0: load 1, fetch 0 of 0, mma 0, fetch 0 of 0, mma 0, barrier, store 1 to 0, barrier
     1: load 2, fetch 1 of 0, mma 1, fetch 1 of 0, mma 1, barrier, store 2 to 0, barrier
     2: fetch 2 of 0, mma 2, fetch 2 of 0, mma 2
"""
TWO_BUFFERS = """
    -1: load 0, store 0 to 0, barrier
     0: load 1, fetch 0 of 0, mma 0, fetch 0 of 0, mma 0, store 1 to 1, barrier
     1: load 2, fetch 1 of 1, mma 1, fetch 1 of 1, mma 1, store 2 to 0, barrier
     2: fetch 2 of 0, mma 2, fetch 2 of 0, mma 2
"""


def told(found):
    """Events in words, a line for each trip."""
    lines = {}
    for e in found:
        tiles = "".join(f" {t}" for t in sorted(e.tiles))
        buffer = "" if e.buffer is None else f" {'to' if e.kind == 'store' else 'of'} {e.buffer}"
        lines.setdefault(e.trip, []).append(f"{e.kind}{tiles}{buffer}")
    return [f"{trip}: {', '.join(what)}" for trip, what in lines.items()]


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


def followed(ir, K=48):
    at, loop = k_loops(ir)[0]
    return course(ir, at, loop, {"M": 64, "N": 64, "K": K})


@pytest.mark.parametrize("options", [{}, {"a": "col", "b": "row"}, {"macro_mma": "m32n32k8", "warp": (32, 32, 16)}])
@pytest.mark.parametrize("buffers, order", [(1, ONE_BUFFER), (2, TWO_BUFFERS)])
def test_the_order_of_a_trip(options, buffers, order):
    found = followed(matmul(buffers=buffers, **options).ir)
    assert told(found.events) == lines(order) and found.tiles == 3
    assert not unordered(found.events) and not found.wrong() and not found.left_out()


def test_the_picture_has_a_box_for_each_event():
    kernel = matmul(buffers=2)
    svg = pipeline(kernel, 3)
    titles = [g.title for g in groups(svg)]
    assert len(titles) == len(followed(kernel.ir).events)
    assert titles.count("frag_A, frag_B: 2 operations, k tile 1, buffer 1") == 2
    assert titles.count("load_A, load_B: 2 operations, k tile 2") == 1
    rows = ["global → registers", "registers → shared, buffer 0", "shared → fragments, buffer 0",
            "registers → shared, buffer 1", "shared → fragments, buffer 1", "macro-MMAs"]  # fmt: skip
    said = words(svg)
    assert [w for w in said if w in rows] == rows
    assert [w for w in said if w.startswith("c2 = ")] == ["c2 = -1", "c2 = 0", "c2 = 1", "c2 = 2"]
    assert "K = 48" in said and RED not in svg
    assert "4 of 6 macro-MMAs of a warp run while the next of 3 k tiles is on its way from global memory." in said


def test_time_runs_to_the_right_and_rows_do_not_mix():
    boxes = [g for g in groups(pipeline(matmul(), 4)) if g.x >= 0]
    assert [g.x for g in boxes] == sorted(g.x for g in boxes)
    rows = {}
    for g in boxes:
        rows.setdefault(g.title.split(":")[0], set()).add(g.y)
    assert all(len(ys) == 1 for ys in rows.values()) and len({min(ys) for ys in rows.values()}) == len(rows)


def test_of_many_tiles_the_first_and_the_last_trips_are_shown():
    said = words(pipeline(matmul(), 2, K=160))
    assert [w for w in said if w.startswith("c2 = ")] == ["c2 = -1", "c2 = 0", "c2 = 9"]
    assert said.count("⋯") == 1 and "K = 160" in said


@pytest.mark.parametrize("tiles", (1, 2, 5))
def test_sizes_are_chosen_for_so_many_full_tiles(tiles):
    assert f"K = {16 * tiles}" in words(pipeline(matmul(), tiles))
    assert f"K = {16 * tiles}" in words(pipeline(matmul(partial="pad"), tiles))
    assert f"K = {32 * tiles}" in words(pipeline(matmul(split_k=2), tiles))


@pytest.mark.parametrize("barrier, arrows", [(0, 2), (1, 3)])
def test_a_removed_barrier_is_a_red_arrow(barrier, arrows):
    """The first one stands before the stores: tiles 1 and 2 overwrite. The second before the loads, of three tiles."""
    ir = changed(matmul().ir, Barrier, barrier)
    assert len(unordered(followed(ir).events)) == arrows
    svg = pipeline(ir, 3)
    assert strokes(svg).count(RED) == arrows + 1  # and the legend
    assert "no barrier between a store and a load of one buffer" in words(svg)


def test_a_tile_that_is_taken_too_early_is_a_question_mark():
    ir = matmul(buffers=2).ir
    for number in (0, 1):
        ir = changed(ir, FragmentLoad, number, lambda op: replace(op, buffer=(var("c2") + 1) % 2))
    found = followed(ir)
    assert told(found.events)[1] == "0: load 1, fetch of 1, mma, fetch of 1, mma, store 1 to 1, barrier"
    assert [found.events[k].kind for k in found.wrong()] == ["fetch", "mma"] * 2
    said = words(pipeline(ir, 3))
    assert said.count("?") == 4 and "never multiplied: k tile 2" in said


def test_values_stored_by_another_layout_are_of_the_right_tile():
    """What is wrong then is where in the tile they lie, which this picture does not show."""
    ir = broken(matmul(), "swizzle dropped in the stores").ir
    assert told(followed(ir).events) == lines(ONE_BUFFER)
    assert RED not in pipeline(ir)


def test_a_tile_that_is_never_loaded_counts_among_all():
    said = words(pipeline(broken(matmul(), "k loop begins one trip late"), 4))
    assert "never multiplied: k tile 0" in said
    assert "6 of 8 macro-MMAs of a warp run while the next of 4 k tiles is on its way from global memory." in said


def test_a_tile_is_what_is_loaded_not_what_should_be():
    """Loads that go one tile too far: the first is never multiplied, and behind the last there is nothing."""
    ir, further = matmul().ir, lambda op: replace(op, index=tuple(e.subs({"c2": var("c2") + 1}) for e in op.index))
    for number in range(4):  # A and B, in full tiles and in partial ones
        ir = changed(ir, GlobalLoad, number, further)
    found = followed(ir)
    assert told(found.events)[0] == "-1: load 1, barrier, store 1 to 0, barrier" and found.left_out() == [0]
    assert [str(found.events[k]) for k in found.wrong()][-1] == "S: 1 operations, k tile 3"
    svg = pipeline(ir, 3)
    assert "never multiplied: k tile 0" in words(svg) and RED in svg


def test_operands_of_two_tiles_are_red():
    ir = changed(matmul(buffers=2).ir, FragmentLoad, 1, lambda op: replace(op, buffer=(var("c2") + 1) % 2))
    said = words(pipeline(ir, 3))
    assert said.count("0,1") == 2 and said.count("1,2") == 2


def test_a_tile_multiplied_twice_is_red():
    ir = matmul().ir
    at, loop = k_loops(ir)[0]
    last = loop.body[-1]  # the stores, with their barriers: only the first tile is ever stored
    once = replace(last, conditions=(*last.conditions, -1 - var("c2")))
    found = followed(replace(ir, body=replaced(ir.body, (*at, len(loop.body) - 1), (once,))))
    assert [(found.events[k].trip, found.events[k].kind) for k in found.wrong()] == [
        (1, "mma"),
        (1, "mma"),
        (2, "mma"),
        (2, "mma"),
    ]


def test_two_products_have_two_loops():
    M, N, K, L = pv.sizes("M N K L")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    other = pv.tensor("P", (M, L)) @ pv.tensor("Q", (L, N), layout="col")
    kernel = pv.compile(product + other, options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16)))
    first, second = (pipeline(kernel, 2, loop=n) for n in (0, 1))
    assert "K = 32" in words(first) and "L = 32" in words(second)
    assert any("k loop 1 of 2" in w for w in words(second))
    assert any("load_P" in g.title for g in groups(second)) and not any("load_P" in g.title for g in groups(first))
    with pytest.raises(NotInKernel, match="has 2 k loops, and no number 2"):
        pipeline(kernel, loop=2)


def test_a_prologue_has_a_row_of_its_own():
    M, N, K = pv.sizes("M N K")
    product = pv.relu(pv.tensor("A", (M, K))) @ pv.tensor("B", (K, N), layout="col")
    kernel = pv.compile(product, options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16)))
    svg = pipeline(kernel, 2)
    assert "on registers" in words(svg) and RED not in svg


def test_what_can_not_be_drawn():
    with pytest.raises(BadPicture, match="1 to 12 k tiles, not 0"):
        pipeline(matmul(), 0)
    with pytest.raises(NothingToDraw, match="no loop that fills shared memory"):
        pipeline(replace(matmul().ir, body=matmul().ir.body[:1]))
    with pytest.raises(BadPicture, match="K is a whole number, at least 0"):
        pipeline(matmul(), K=-1)
    with pytest.raises(NothingToDraw, match="makes no trip"):
        pipeline(matmul(), K=0)
