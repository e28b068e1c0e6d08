"""Roles over time: lanes against what the clock and the kernel's phases say, worked out by hand."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import polyvolta as pv
from polyvolta.cuda.machine.errors import BadTensor, Deadlock
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.pictures import pipeline, roles_over_time
from polyvolta.cuda.pictures.errors import BadPicture, NothingToDraw, NotInKernel
from polyvolta.cuda.pictures.roles.timeline import FLIGHT, HELD, OUT, PRODUCT, WAIT, WORK, Clock
from polyvolta.cuda.target.hopper import SM_90A
from tests.cuda.pictures.reading import groups, words

DOCS = Path(__file__).resolve().parents[3] / "docs"
M, N, K = pv.sizes("M N K")
A, B, R = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("R", (M, N))
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N))
TILES = pv.Options(block_tile=(128, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=3, group=1)
BOX = (128 + 64) * 64 * 2  # bytes of a k tile
PRODUCT_OF_TILE = 2 * 64 * 64 * 64  # multiply-adds


@cache
def kernel_of(name: str):
    outputs = {"product": A @ B, "residual": pv.relu(A @ B + R), "sum": A @ B + P @ Q}[name]
    return pv.compile(outputs, target=SM_90A, options=TILES)


def spans(t, lane, kind):
    return [s for s in t.lanes[lane] if s.kind == kind]


def test_a_quick_copy_engine_leaves_the_tensor_cores_no_pause():
    """Each product begins where the one before ends, and the whole is the products, the first box and the end."""
    clock = Clock(multiply_adds=64, bytes=2**20, way=10, operation=0)
    t = roles_over_time(kernel_of("product"), 6, clock=clock)
    made = sorted((s for n in (0, 1) for s in spans(t, f"consumer {n} products", PRODUCT)), key=lambda s: s.start)
    assert t.overlapped[0] == 6 * PRODUCT_OF_TILE / 64
    assert made[0].start == pytest.approx(10 + 2 * 64 * 64 * 2 / 2**20, abs=0.1)
    assert max(s.end for s in made) - made[0].start == t.overlapped[0]
    assert [sorted(s.tiles) for s in spans(t, "consumer 0 products", PRODUCT)] == [[n] for n in range(6)]


def test_a_slow_copy_engine_is_what_everybody_waits_for():
    """Boxes follow one another without a pause once slots are free; products wait for each."""
    clock = Clock(multiply_adds=2**20, bytes=64, way=100, operation=0)
    t = roles_over_time(kernel_of("product"), 6, clock=clock)
    there = [s.end for slot in range(3) for s in spans(t, f"full[{slot}]", FLIGHT)]
    assert sorted(there) == pytest.approx([100 + BOX / 64 * (n + 1) for n in range(6)], abs=20)
    waits = [s for s in spans(t, "consumer 1", WAIT) if "full" in s.what]
    assert [s.what for s in waits] == [f"phase {n // 3} of full[{n % 3}]" for n in range(6)]
    assert [s.end for s in waits] == sorted(there)


def test_a_slot_is_filled_again_when_both_have_read_it_and_not_before():
    t = roles_over_time(kernel_of("product"), 7)
    for slot in range(3):
        flights, held = spans(t, f"full[{slot}]", FLIGHT), spans(t, f"full[{slot}]", HELD)
        assert [sorted(s.tiles) for s in flights] == [sorted(s.tiles) for s in held] == [
            [n] for n in range(slot, 7, 3)]  # fmt: skip
        for before, after in zip(held, flights[1:], strict=False):
            tile = set(before.tiles)
            read = [s.end for n in (0, 1) for s in spans(t, f"consumer {n} products", PRODUCT) if s.tiles == tile]
            assert max(read) == before.end <= after.start
        for one, its in zip(flights, held, strict=False):
            assert one.end == its.start


def test_an_epilogues_operand_and_its_stores_have_lanes():
    t = roles_over_time(kernel_of("residual"), 4)
    (comes,), (there,) = spans(t, "operands[0]", FLIGHT), spans(t, "operands[0]", HELD)
    assert list(comes.statements) == ["box_R"] and comes.end == there.start
    last = max(s.end for s in spans(t, "consumer 0 products", PRODUCT))
    assert comes.start < last < min(s.start for s in spans(t, "consumer 0 stores", OUT))
    work = spans(t, "consumer 0", WORK)[-1]
    assert {"take_R", "put_D", "write_D"} & set(work.statements) and work.end <= t.end
    assert spans(t, "consumer 0", WAIT)[-1].what == "stored boxes to be read"


def test_a_sum_goes_on_counting():
    t = roles_over_time(kernel_of("sum"), 3)
    assert [sorted(s.tiles) for s in spans(t, "consumer 1 products", PRODUCT)] == [[n] for n in range(6)]


def test_words_and_picture_say_the_same():
    t = roles_over_time(kernel_of("residual"), 4, M=128, N=64)
    text, svg = str(t), pipeline(kernel_of("residual"), 4, M=128, N=64)
    assert svg == t.svg()
    lines = text.split("\n")
    assert lines[0] == "kern0; M = 128, N = 64, K = 256" and lines[1] in words(svg) and lines[-1] in words(svg)
    heads = [line.split("  ")[0] if line[0] != " " else line.strip().split("  ")[0] for line in lines[2:-2]]
    assert heads == ["producer", "full[0]", "full[1]", "full[2]", "operands[0]", "consumer 0", "products", "stores",
                     "consumer 1", "products", "stores"]  # fmt: skip
    assert [h for h in heads if h in words(svg)] == heads
    drawn = [g.title for g in groups(svg)]
    assert drawn == [str(s) for lane in t.lanes.values() for s in lane]
    assert "0" in lines[3] and "~" in lines[3] and "3" in lines[3]


def test_a_kernel_that_reads_another_slot_shows_it():
    kernel = broken(kernel_of("product"), "operand of the next slot")
    t = roles_over_time(kernel, 4)
    assert all(len(s.tiles) == 2 for s in spans(t, "consumer 0 products", PRODUCT))
    assert "products of no tile, or of two" in words(t.svg())
    assert "products of no tile, or of two" not in words(pipeline(kernel_of("product")))


def test_the_guides_picture_is_what_its_snippet_draws():
    """With POLYVOLTA_REDRAW=1 in the environment it is drawn anew."""
    snippets = re.findall(r"^```python\n(.*?)^```$", (DOCS / "hopper.md").read_text(encoding="utf-8"), re.M | re.S)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for code in (snippets[0], next(s for s in snippets if "picture = pipeline" in s)):
        exec(code, namespace)
    file = DOCS / "pictures" / "roles.svg"
    if os.environ.get("POLYVOLTA_REDRAW"):
        file.write_text(str(namespace["picture"]), encoding="utf-8")
    assert str(namespace["picture"]) == file.read_text(encoding="utf-8"), "POLYVOLTA_REDRAW=1 draws it anew"


def test_what_cannot_be_drawn_says_why():
    plain = pv.compile(A @ B)
    with pytest.raises(NothingToDraw, match="all warps"):
        roles_over_time(plain)
    with pytest.raises(NotInKernel, match="all in one picture"):
        pipeline(kernel_of("product"), loop=1)
    with pytest.raises(BadPicture, match="1 to 12"):
        pipeline(kernel_of("product"), 13)
    with pytest.raises(BadTensor):
        roles_over_time(kernel_of("product"), N=70)
    with pytest.raises(Deadlock):
        roles_over_time(broken(kernel_of("product"), "slots are not released"), 4)


# ---- clusters


@cache
def in_cluster(rows: int, cols: int, parts: int = 1):
    options = replace(TILES, cluster=(rows, cols), split_k=parts)
    return pv.compile(A @ B, target=SM_90A, options=options)


def test_a_box_for_two_blocks_is_one_that_is_there_for_both():
    """Each block's copy engine moves its tile of A and half of B's; B's halves are there when both have come."""
    clock = Clock(multiply_adds=2**20, bytes=64, way=100, operation=0)
    t = roles_over_time(in_cluster(2, 1), 3, clock=clock, M=256, N=64)
    assert set(t.blocks.values()) == {(0, 0, 0), (0, 1, 0)} and set(t.blocks) == set(t.lanes)
    for rank in (0, 1):
        there = [max(s.end for s in spans(t, f"full.{rank}[{slot}]", FLIGHT)) for slot in range(3)]
        assert there == pytest.approx([100 + (128 + 32) * 64 * 2 / 64 * (n + 1) for n in range(3)], abs=1)
        waits = [s for s in spans(t, f"consumer 0 of block {rank}", WAIT) if "full" in s.what]
        assert [s.end for s in waits] == pytest.approx(there)


def test_engines_are_a_block_s_own():
    """Two blocks take as long as one where they share nothing."""
    alone = roles_over_time(kernel_of("product"), 4, M=128, N=64)
    t = roles_over_time(in_cluster(1, 1, parts=2), 4, M=128, N=64)
    own, *mine = (spans(x, f"consumer 1{of} products", PRODUCT) for x, of in (
        (alone, ""), (t, " of block 0"), (t, " of block 1")))  # fmt: skip
    for found in mine:
        assert [(s.start - found[0].start, s.end - s.start, s.tiles) for s in found] == [
            (s.start - own[0].start, s.end - s.start, s.tiles) for s in own]  # fmt: skip


def test_blocks_of_a_cluster_stand_one_below_the_other():
    t = roles_over_time(in_cluster(2, 1), 3, M=256, N=64)
    lines = str(t).split("\n")[2:-2]
    heads = [line.strip().split("  ")[0] for line in lines]
    own = ["producer", "full[0]", "full[1]", "full[2]", "consumer 0", "products", "stores", "consumer 1", "products",
           "stores"]  # fmt: skip
    assert heads == ["block (0, 0, 0)", *own, "block (0, 1, 0)", *own]
    drawn = words(t.svg())
    assert [h for h in drawn if h in heads] == heads
    assert pipeline(in_cluster(2, 1), 3, M=256, N=64) == t.svg()
