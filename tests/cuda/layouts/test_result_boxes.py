"""Results of wgmma: stmatrix and a TMA store on numpy by byte addresses, bank conflicts, and refutations."""

from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.layouts.boxes import LayoutsDiffer, NoBoxes
from polyvolta.cuda.layouts.result_boxes import conflicts, misstored, plan_result, stored_fragment
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.warpgroup import wgmma
from polyvolta.sets import var
from tests.cuda import hopper

ORDERS = [(0, 1), (1, 0)]


def stored(made, columns, start=5120):
    """The result of a warpgroup as it comes to global memory, and the worst conflict of its stores.

    Thread t's accumulators by the manual: row 16 (t/32) + (t mod 32)/4 + 8 (i/2 mod 2), column 8 (i/4) + 2 (t mod 4) +
    i mod 2.
    """
    result, worst = np.full((64, columns), 0xFFFF, np.uint16), 0
    target = result if made.order == (0, 1) else result.T
    width = made.shape[1]
    for piece in range(made.pieces):
        shared = hopper.memory()
        for warp in range(4):
            for n in range(made.instructions):
                given = made.lines.evaluate({"warp": warp, "lane": np.arange(32), "n": n})[0]
                addresses = start + 16 * np.broadcast_to(given, 32)
                first = piece * made.values + 2 * made.count * n
                registers = [
                    [(16 * warp + lane // 4 + 8 * (i // 2 % 2)) * columns + 8 * (i // 4) + 2 * (lane % 4) + i % 2
                     for i in range(first, first + 2 * made.count)]
                    for lane in range(32)
                ]  # fmt: skip
                hopper.stmatrix(shared, addresses, registers, made.count, made.transposed)
                for matrix in range(made.count):
                    worst = max(worst, hopper.degree(addresses[8 * matrix : 8 * matrix + 8]))
        at = (0, width * piece) if made.order == (0, 1) else (width * piece, 0)
        hopper.copy_out(shared, target, at, made.box.lines, made.box.run, made.box.swizzle.bytes, start)
    return result, worst


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [8, 16, 24, 32, 64, 80, 96, 128])
def test_what_comes_back_is_the_product(n, order):
    made = plan_result(wgmma(n), order)
    found, worst = stored(made, n)
    assert (found == np.arange(64 * n).reshape(64, n)).all()
    assert worst == conflicts(made) == 1


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n_has_pieces(n, order):
    made = plan_result(wgmma(n), order)
    assert made.pieces * made.shape[1] == n and made.transposed == (order == (1, 0)) and conflicts(made) == 1
    assert made.count == (4 if made.shape[1] % 16 == 0 else 2)
    if order == (0, 1):
        assert made.box.extents == (made.shape[1], 64)
        assert made.box.swizzle.bytes == (2 * made.shape[1] if n % 16 == 0 else 0)
    else:
        assert made.box.extents == (64, made.shape[1]) and made.box.swizzle == Swizzle(128)


def test_pieces_as_people_cut_them():
    made = plan_result(wgmma(128), (0, 1))
    assert (made.pieces, made.shape, made.name) == (2, (64, 64), "stmatrix.sync.aligned.m8n8.x4.shared.b16")
    narrow = plan_result(wgmma(128), (0, 1), 32)
    assert (narrow.pieces, narrow.box.swizzle.bytes, conflicts(narrow)) == (4, 64, 1)
    wide = plan_result(wgmma(128), (1, 0), 128)
    assert (wide.pieces, wide.box.extents) == (1, (64, 128))
    assert (stored(wide, 128)[0] == np.arange(64 * 128).reshape(64, 128)).all()


def test_boxes_without_a_swizzle_have_conflicts_and_say_so():
    made = plan_result(wgmma(64), (0, 1), swizzle=Swizzle(0))
    found, worst = stored(made, 64)
    assert (found == np.arange(64 * 64).reshape(64, 64)).all() and worst == conflicts(made) == 8


@pytest.mark.parametrize("order", ORDERS)
def test_the_proof_refutes_what_is_stored_elsewhere(order):
    made = plan_result(wgmma(64), order)
    ((_, chunk),) = made.lines.outputs
    moved = lambda e: replace(made, lines=IndexMap(made.lines.inputs, (("chunk", e),)))  # noqa: E731
    other = Box(64, 64, Swizzle(0)).layout
    place = other.at(*((var("row"), var("col")) if order == (0, 1) else (var("col"), var("row"))))
    wrongs = {
        "transposed": replace(made, transposed=not made.transposed),
        "count": replace(made, count=2),
        "next chunk": moved(chunk + 1),
        "warps": moved(chunk + var("warp")),
        "last lanes": moved(chunk + var("lane") // 31),
        "last instruction": moved(chunk + 8 * (var("n") // 3)),
        "layout": replace(made, layout=IndexMap(made.layout.inputs, (("chunk", *place),))),
    }
    assert misstored(made, 16) is None
    for name, wrong in wrongs.items():
        assert "is put at value" in misstored(wrong, 16), name
        if name not in ("count", "layout"):
            assert (stored(wrong, 64)[0] != np.arange(64 * 64).reshape(64, 64)).any(), name


@pytest.mark.parametrize(("columns", "words"), [(24, "no pieces of 24"), (12, "no pieces of 12")])
def test_no_pieces(columns, words):
    with pytest.raises(NoBoxes, match=words):
        plan_result(wgmma(64), (0, 1), columns)
    with pytest.raises(NoBoxes, match="48 values is no span"):
        plan_result(wgmma(96), (0, 1), 48)


# ---- fragment by fragment


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("n", "columns"), [(64, 16), (96, 16), (80, 16), (128, 32), (64, 8), (128, 64)])
def test_fragments_are_stored_where_pieces_are(n, columns, order):
    """A warp's fragment f goes as many rows and columns further as it is from the first one."""
    made = plan_result(wgmma(n), order)
    if columns > made.shape[1] or columns == 8 and made.count == 4:
        with pytest.raises((NoBoxes, LayoutsDiffer)):
            stored_fragment(made, columns)
        return
    part = stored_fragment(made, columns)
    row, col = np.meshgrid(*map(np.arange, made.shape), indexing="ij")
    (table,) = made.layout.evaluate({"row": row, "col": col})
    each = part.lines.inputs[1][1]
    for warp in range(4):
        for f in range(made.shape[1] // columns):
            for k in range(each):
                row, col = (np.broadcast_to(x, 32) for x in part.lines.evaluate({"lane": np.arange(32), "n": k}))
                mine = [table[r + 16 * warp, c + columns * f] for r, c in zip(row, col, strict=True)]
                whole = made.lines.evaluate({"warp": warp, "lane": np.arange(32), "n": each * f + k})[0]
                assert mine == list(np.broadcast_to(whole, 32))
