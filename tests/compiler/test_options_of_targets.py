"""Rings and sets of fragments: what a target makes of options that are not given, and what is refused."""

from __future__ import annotations

import re
from math import prod

import pytest

import polyvolta as pv
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import default_options
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.head.kernel_head import ONE_BLOCK
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P = pv.tensor("P", (M, K))


def chosen(target, expr=A @ B, **given):
    return default_options(Graph.of(expr), target, pv.Options(**given))


@pytest.mark.parametrize(
    ("target", "ring"), [("sm_70", (1, 1, 1)), ("sm_75", (1, 1, 1)), ("sm_80", (3, 2, 2))], ids=lambda x: str(x)
)
def test_buffers_distance_and_sets_of_fragments_are_the_target_s(target, ring):
    o = chosen(target)
    assert (o.buffers, o.prefetch, o.fragments) == ring


@pytest.mark.parametrize(
    ("given", "ring"),
    [
        ({"buffers": 1}, (1, 0, 2)),
        ({"buffers": 5}, (5, 4, 2)),
        ({"prefetch": 0}, (1, 0, 2)),
        ({"prefetch": 3}, (4, 3, 2)),
        ({"buffers": 4, "prefetch": 1}, (4, 1, 2)),
        ({"fragments": 1}, (3, 2, 1)),
        ({"block_tile": (256, 128, 96), "warp_tile": (64, 64, 96)}, (2, 1, 2)),  # three do not fit
        ({"block_tile": (128, 128, 48), "warp_tile": (64, 64, 48)}, (3, 2, 1)),  # three strips take no turns
        ({"block_tile": (128, 128, 16), "warp_tile": (64, 64, 16)}, (3, 2, 1)),
    ],
    ids=str,
)
def test_what_is_not_given_follows_from_what_is(given, ring):
    o = chosen("sm_80", **given)
    assert (o.buffers, o.prefetch, o.fragments) == ring


def test_a_tile_that_fits_once_gets_one_buffer_at_last():
    o = chosen("sm_80", block_tile=(256, 128, 128), warp_tile=(64, 64, 128))
    assert (o.buffers, o.prefetch) == (1, 0)


def test_registers_count_sets_of_fragments_and_what_goes_through_registers():
    """128 of accumulators, 32 of a strip's fragments each set; a prologue's two tensors 32 each on their way."""
    tiles = {"block_tile": (128, 128, 64), "warp_tile": (64, 64, 64), "buffers": 2}
    found = []
    for expr, fragments in ((A @ B, 1), (A @ B, 2), (pv.relu(A + P) @ B, 1)):
        kernel = pv.compile(expr, target="sm_80", options=pv.Options(**tiles, fragments=fragments))
        arrays = [r for r in kernel.ir.registers if not r.name.startswith("run_")]
        size = sum(r.width * prod(r.shape) // (1 if r.kind == "float" else 2) for r in arrays)
        assert size == kernel.options.registers(needs_of(plan(Graph.of(expr))), pv.targets["sm_80"])
        found.append(size)
    assert found == [128 + 32, 128 + 64, 128 + 32 + 64]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"buffers": 8, "block_tile": (128, 256, 64)}, "need at least 393216 bytes of shared memory, sm_80 has 166912"),
        ({"block_tile": (256, 256, 32), "warp_tile": (32, 32, 32)}, "need at least 2048 threads, sm_80 has 1024"),
        ({"block_tile": (256, 128, 32), "warp_tile": (128, 128, 32)}, r"\d{3} registers a thread, sm_80 has 255"),
        ({"buffers": 1, "prefetch": 1}, "prefetch=1 needs 2 buffers: 1 buffer allows 0"),
        ({"buffers": 3, "prefetch": 3}, "prefetch=3 needs 4 buffers: 3 buffers allow 2"),
        ({"block_tile": (64, 64, 48), "fragments": 2}, "fragments=2 take turns by strips, and block_tile has 3 of 16"),
        ({"fragments": 3}, "fragments is 1 or 2, not 3"),
    ],
    ids=lambda x: str(x)[:40],
)  # fmt: skip
def test_what_a_target_cannot_serve_is_refused_with_both_numbers_and_a_way_out(given, message):
    with pytest.raises(BadOption, match=message) as found:
        pv.compile(A @ B, target="sm_80", options=pv.Options(**given))
    assert "try " in str(found.value)


def test_the_space_of_ampere_has_rings_and_sets_of_fragments():
    found = [o for o, _ in zip(pv.Options.space(A @ B, "sm_80"), range(1000), strict=False)]
    assert {o.buffers for o in found} == {2, 3, 4, 5, 6} and {o.fragments for o in found} == {1, 2}
    assert all(o.prefetch == o.buffers - 1 for o in found)
    assert {o.buffers for o in pv.Options.space(A @ B, "sm_70")} == {1, 2}


@pytest.mark.parametrize(("extent", "align"), [(96, 8), (100, 4), (98, 2), (33, 1)])
def test_lines_of_a_given_length_are_copied_in_pieces_that_they_are_made_of(extent, align):
    """A text that stands alone must not copy what is behind the end of a line, whatever the lines' distance is."""
    a, b = pv.tensor("A", (64, extent)), pv.tensor("B", (extent, 64), layout="col")
    kernel = pv.compile(a @ b, target="sm_80")
    assert [(t.align, t.whole) for t in kernel.ir.tensors] == [(align, True), (align, True), (8, False)]
    if align < 8:
        with pytest.raises(NotPrintable, match=f"its extent {extent}"):
            kernel.variant(A=8)


@pytest.mark.parametrize("extent", [96, 98])
def test_lines_that_are_loaded_may_end_anywhere(extent):
    a, b = pv.tensor("A", (64, extent)), pv.tensor("B", (extent, 64), layout="col")
    plain = pv.compile(a @ b, target="sm_70")
    assert [(t.align, t.whole) for t in plain.ir.tensors] == [(8, False)] * 3


# ---- blocks that share a multiprocessor

LARGE = {"block_tile": (128, 128, 64), "warp_tile": (64, 64, 64), "buffers": 3}
BROAD = {"block_tile": (128, 256, 32), "warp_tile": (64, 64, 32), "buffers": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (LARGE, "buffers=3 and occupancy=2 need at least 198656 bytes of shared memory for 2 blocks, sm_80 has 167936"),
        (BROAD, "of 64x64x32 and occupancy=2 need at least 81920 registers for 2 blocks, sm_80 has 65536"),
    ],
    ids=["shared memory", "registers"],
)
def test_blocks_that_do_not_fit_side_by_side_are_refused_with_both_numbers_and_a_way_out(given, message):
    """Of which each alone would: 98304 bytes and one kilobyte of the system's; 160 registers for 256 threads."""
    pv.compile(A @ B, target="sm_80", options=pv.Options(**given))
    with pytest.raises(BadOption, match=message) as found:
        pv.compile(A @ B, target="sm_80", options=pv.Options(**given, occupancy=2))
    assert "or occupancy=1" in str(found.value)


@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_80"])
@pytest.mark.parametrize("tile", [(128, 128, 32), (128, 64, 64), (64, 128, 32), (256, 64, 32)], ids=str)
def test_what_fits_alone_and_not_eight_times_is_refused_for_that_reason(target, tile):
    """Not for a warp tile that nobody asked for: which is the nearest, the rule looks at tiles that fit alone."""
    pv.compile(A @ B, target=target, options=pv.Options(block_tile=tile))
    with pytest.raises(BadOption) as found:
        pv.compile(A @ B, target=target, options=pv.Options(block_tile=tile, occupancy=8))
    what, need, limit = re.fullmatch(
        rf"block tiles of .* and occupancy=8 need at least (\d+) (bytes of shared memory|registers) for 8 blocks, "
        rf"{target} has (\d+)", found.value.message,
    ).group(2, 1, 3)  # fmt: skip
    own = 1024 if target == "sm_80" else 0
    memory, tiles = pv.targets[target].shared_bytes + own, 2 * (tile[0] + tile[1]) * tile[2] + own
    assert int(limit) == {"registers": 65536, "bytes of shared memory": memory}[what]
    least = 8 * {"registers": tile[0] * tile[1], "bytes of shared memory": tiles}[what]
    assert int(need) > int(limit) and int(need) >= least >= int(limit), "accumulators, or tiles, take all by themselves"


@pytest.mark.parametrize("wrong", [0, 9, -1, 1.5, True, "2"], ids=repr)
def test_one_to_eight_blocks_share(wrong):
    with pytest.raises(BadOption, match="occupancy is 1, 2, 3, 4, 5, 6, 7 or 8, not "):
        pv.Options(occupancy=wrong)


@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_80"])
@pytest.mark.parametrize("blocks", range(1, 9))
def test_what_is_not_given_leaves_room_for_so_many_blocks(target, blocks):
    """By the machine's own numbers: threads, registers in units of 256 a warp, shared memory with the system's part."""
    o, found = chosen(target, occupancy=blocks), pv.targets[target]
    needs = needs_of(plan(Graph.of(A @ B)))
    registers = -(-o.registers(needs, found) // 8) * 8
    assert o.occupancy == blocks
    assert blocks * o.threads_on(found) * registers <= found.block_registers == 65536
    own = 1024 if target == "sm_80" else 0
    assert blocks * (o.shared_bytes(needs, found) + own) <= found.shared_bytes + own


def test_before_sm_80_all_of_a_multiprocessor_s_shared_memory_is_the_blocks():
    tiles = {"block_tile": (64, 64, 96), "warp_tile": (32, 32, 96), "buffers": 2}  # 49152 bytes
    kernel = pv.compile(A @ B, options=pv.Options(**tiles, occupancy=2), target="sm_70")
    assert 2 * kernel.ir.shared_bytes == pv.targets["sm_70"].shared_bytes
    with pytest.raises(BadOption, match="need at least 147456 bytes of shared memory for 3 blocks, sm_70 has 98304"):
        pv.compile(A @ B, options=pv.Options(**tiles, occupancy=3), target="sm_70")


@pytest.mark.parametrize(("expr", "alone"), [(A @ B, "128"), (pv.relu(A @ B), "128, 1")], ids=["plain", "fused"])
@pytest.mark.parametrize("target", ["sm_70", "sm_80"])
def test_launch_bounds_say_how_many_blocks_share(target, expr, alone):
    """And nothing else of a text does. Alone a plain kernel has the paper's bounds, a fused one is told to be alone."""
    tiles = {"block_tile": (64, 64, 32), "warp_tile": (32, 32, 32)}
    texts = [pv.compile(expr, target=target, options=pv.Options(**tiles, **more)).source
             for more in ({}, {"occupancy": 1}, {"occupancy": 2}, {"occupancy": 4})]  # fmt: skip
    assert texts[0] == texts[1]
    assert f"__launch_bounds__({alone}) kern0" in texts[0]
    assert (ONE_BLOCK in texts[0], ONE_BLOCK in texts[2]) == ("1" in alone[3:], False)
    for text, blocks in zip(texts[2:], (2, 4), strict=True):
        assert f"__launch_bounds__(128, {blocks}) kern0" in text
        assert bodies(text) == bodies(texts[0])


def bodies(text):
    """A text's lines but for the kernel's definition up to its arguments, which are broken into lines again."""
    start = text.index('extern "C" __global__')
    before, (_, rest) = text[:start].replace(f"{ONE_BLOCK}\n", ""), text[start:].split(" kern0(", 1)
    return before.split(), rest.split()


def test_the_compiler_gives_each_block_its_part_of_the_registers():
    """Four blocks of 128 threads: 128 registers a thread, where alone it takes more."""
    tiles = {"block_tile": (128, 64, 32), "warp_tile": (64, 32, 32), "buffers": 2}
    alone, shared = (pv.compile(A @ B, target="sm_80", options=pv.Options(**tiles, occupancy=n)).resources()
                     for n in (1, 4))  # fmt: skip
    assert shared.registers <= 65536 // (4 * 128) < alone.registers


# ---- registers of prologues


@pytest.mark.parametrize("of_a", ["row", "col"])
@pytest.mark.parametrize("of_b", ["row", "col"])
@pytest.mark.parametrize("sides", ["left", "right", "both", "two tensors", "three", "five", "of the second product"])
def test_prologues_get_tiles_with_which_nothing_spills(of_a, of_b, sides):
    """What is on its way in registers counts beside accumulators and fragments."""
    a, b = pv.tensor("A", (M, K), layout=of_a), pv.tensor("B", (K, N), layout=of_b)
    c, d = pv.tensor("A2", (M, K), layout=of_a), pv.tensor("B2", (K, N), layout=of_b)
    s, v = pv.tensor("s", (M, 1)), pv.tensor("v", (N,))
    expr = {
        "left": pv.relu(a) @ b,
        "right": a @ pv.relu(b),
        "both": pv.relu(a) @ pv.relu(b),
        "two tensors": pv.relu(a + c) @ b,
        "three": (pv.relu(a + c) * s) @ b,
        "five": (pv.relu(a + c) * s) @ (b * v),
        "of the second product": a @ b + pv.relu(c) @ d,
    }[sides]
    kernel = pv.compile(expr, target="sm_80")
    found = kernel.resources()
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)
    needs, target = needs_of(plan(Graph.of(expr))), pv.targets["sm_80"]
    assert kernel.options.registers(needs, target) + needs.spare_registers(target) <= 255
    assert kernel.options.block_tile == ((64 if sides == "five" else 128), 128, 64) and kernel.options.buffers == 3


@pytest.mark.parametrize(("depth", "buffers"), [(1, 1), (7, 1), (64, 1), (65, 2), (128, 2), (129, 3), (1000, 3)])
def test_no_more_buffers_than_a_sum_has_k_tiles(depth, buffers):
    a, b = pv.tensor("left", (M, depth)), pv.tensor("right", (depth, N))
    assert chosen("sm_80", a @ b).buffers == buffers
    assert chosen("sm_80", a @ b + P @ B).buffers == 3  # of the longest one


TALL = pv.tensor("A", (64, 16384), layout="col") @ pv.tensor("B", (16384, 64), layout="col")
MORE = pv.tensor("P", (64, 16384)) @ pv.tensor("Q", (16384, 64), layout="col")
FLAT = pv.tensor("A", (129, 129), layout="col") @ pv.tensor("A", (129, 129), layout="col")
SHORT = pv.tensor("A", (1000, 7), layout="col") @ pv.tensor("B", (7, 129), layout="col")
BESIDE = pv.tensor("P", (1000, 7)) @ pv.tensor("Q", (7, 129), layout="col")
COLS = pv.tensor("A", (M, K), layout="col") @ B


@pytest.mark.parametrize(
    "expr",
    [TALL + MORE, FLAT, SHORT + BESIDE, pv.tanh(COLS) * pv.tensor("R", (M, N), layout="col")],
    ids=["many copies", "single values", "short sums", "across"],
)
def test_copies_and_matrices_that_lie_across_spill_nothing(expr):
    found = pv.compile(expr, target="sm_80").resources()
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)


def test_what_lies_across_is_counted():
    def count(*out):
        return plan(Graph.of(list(out))).across

    R, S = (pv.tensor(n, (M, N), layout="col") for n in "RS")
    assert [count(A @ B), count(A @ B + R), count(A @ B + R * S), count(A @ B + P @ B + R)] == [0, 1, 2, 1]
    assert count(pv.output(A @ B + R, layout="col")) == 0
    assert count(pv.relu(A @ B) + R, pv.output(pv.tanh(A @ B), layout="col")) == 2
