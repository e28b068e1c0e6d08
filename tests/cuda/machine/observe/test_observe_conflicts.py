"""Bank conflicts, sectors and counts against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import FragmentLoad, SharedStore
from polyvolta.cuda.layouts.bank_model import degrees, phases
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import var
from tests.cuda.machine.observe.small import K, M, N, line_of, operands, product


def unswizzled(kernel):
    """The kernel with the chunks of A's tile in order: two chunks a row."""
    plain = IndexMap((("i", 32), ("k", 16)), (("chunk", 2 * var("i") + var("k") // 8),))
    tiles = tuple(replace(t, layout=plain) if t.name == "shared_A" else t for t in kernel.ir.tiles)
    ir = replace(kernel.ir, tiles=tiles)
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


@pytest.mark.parametrize("width", [4, 8, 16])
def test_degrees_of_many_accesses_are_those_of_each(width):
    rng = np.random.default_rng(width)
    units = rng.integers(0, 40, (5, 3, 32))
    found = degrees(units * width, width)
    assert found.shape == (5, 3, width // 4)
    assert all(tuple(found[at]) == phases(units[at] * width, width) for at in np.ndindex(5, 3))


def test_lanes_that_take_no_part_are_served_nothing():
    addresses = np.full((2, 32), -1)
    addresses[0, :3] = 0, 128, 256  # one bank, three words, in the first phase of chunks
    assert degrees(addresses, 16).tolist() == [[3, 0, 0, 0], [0, 0, 0, 0]]


def test_an_unswizzled_tile_has_two_way_conflicts_in_its_fragment_loads():
    """Eight lanes of a phase read rows 0..7, 32 bytes apart: banks 0, 8, 16, 24 twice each."""
    kernel = unswizzled(product())
    seen = kernel.interpret(**operands(kernel, 32, 32, 32), observe="bank_conflicts")
    rows = {(r.kind, r.array): r for r in seen.bank_conflicts.rows}
    loads = rows["read", "shared_A"]
    # one block of four warps, two tiles along k of two macro-MMAs
    assert (loads.accesses, loads.ideal, loads.served, loads.extra, loads.worst) == (16, 64, 128, 64, 2)
    assert loads.phases == (32, 32, 32, 32)
    assert loads.example.lanes == tuple(range(8))
    assert loads.example.addresses == tuple(range(0, 256, 32))
    assert loads.example.banks == (0, 8, 16, 24, 0, 8, 16, 24)
    assert all(r.extra == 0 for key, r in rows.items() if key != ("read", "shared_A"))
    (finding,) = seen.findings
    assert finding.places[0].line == line_of(kernel, "hmma_load_a_row_swizzled(hmma_A")
    assert finding.places[0].statement == "frag_A"
    assert "2-way" in finding.what
    assert seen.bank_conflicts.extra == 64


def test_the_swizzled_tile_has_none_and_every_place_is_listed():
    seen = product().interpret(**operands(product(), 40, 70, 24), observe="bank_conflicts")
    table = [(r.place.statement, r.kind, r.width, r.accesses, r.served) for r in seen.bank_conflicts.rows]
    # 2 x 3 blocks, two tiles along k, four warps: two of them store
    assert table == [
        ("frag_A", "read", 16, 6 * 2 * 2 * 4, 6 * 2 * 2 * 4 * 4),
        ("frag_B", "read", 16, 6 * 2 * 2 * 4, 6 * 2 * 2 * 4 * 4),
        ("store_A", "write", 16, 6 * 2 * 2, 6 * 2 * 2 * 4),
        ("store_B", "write", 16, 6 * 2 * 2, 6 * 2 * 2 * 4),
        ("exchange_C", "write", 8, 6 * 4 * 2, 6 * 4 * 2 * 2),
        ("gather_C", "read", 16, 6 * 4, 6 * 4 * 4),
    ]
    assert seen.ok


def test_sectors_of_aligned_rows_are_as_few_as_can_be():
    """A[32, 16]: a row is 32 bytes, one sector; a warp loads 16 rows. C[32, 32]: a warp's 16 rows of 32 bytes."""
    seen = product().interpret(**operands(product(), 32, 32, 16), observe="coalescing")
    rows = [(r.place.statement, r.width, r.requests, r.sectors, r.ideal, r.asked) for r in seen.coalescing.rows]
    assert rows == [
        ("load_A", 16, 2, 32, 32, 1024), ("load_B", 16, 2, 32, 32, 1024), ("write_C", 16, 4, 64, 64, 2048),
    ]  # fmt: skip


def test_single_accesses_at_an_edge_cost_a_sector_a_row():
    """K = 9: rows of A are 18 bytes; lanes 0, 2, ... take 8 values of a row one by one, lanes 1, 3, ... one value."""
    arrays = operands(product(), 32, 32, 9)
    seen = product().interpret(**arrays, observe="coalescing")
    (row,) = [r for r in seen.coalescing.rows if r.array == "A"]
    assert (row.width, row.requests) == (2, 16)  # two warps, eight values
    expected = asked = 0
    for warp in range(2):
        for v in range(8):
            bytes_ = [18 * line + 2 * at for line in range(16 * warp, 16 * warp + 16) for at in (v, 8 + v) if at < 9]
            expected += len({x // 32 for x in bytes_})
            asked += 2 * len(bytes_)
    assert (row.sectors, row.asked) == (expected, asked)
    assert asked == 2 * 32 * 9


def test_counts_of_one_block():
    """One block of four warps, C[32, 32] = A[32, 32] @ B[32, 32], two tiles along k, worked out by hand."""
    c = product().interpret(**operands(product(), 32, 32, 32), observe="counts").counts
    assert c.instructions == {
        "CLEAR": 4 * 8,  # eight accumulators of each thread
        "LDG.128": 2 * 2 * 2,  # A and B, tiles, warps that copy
        "STS.128": 2 * 2 * 2,
        "BAR.SYNC": 4 * 2 * 2,
        "LDS.128": 4 * 2 * 2 * 2 + 4,  # warps, tiles, strips, operands; the exchange
        "HMMA.884.F32": 4 * 2 * 2 * 2 * 4,  # warps, tiles, strips, instructions of a macro-MMA, steps of each
        "F2F": 4 * 8,
        "STS.64": 4 * 2,
        "WARPSYNC": 4 * 2,
        "STG.128": 4,
    }
    assert c.flops == c.useful_flops == 2 * 32**3
    assert (c.global_memory.read, c.global_memory.written, c.global_memory.moved) == (4096, 2048, 6144)
    assert (c.shared_memory.read, c.shared_memory.written) == (32 * 512 + 2048, 4096 + 2048)
    assert c.registers.read == 4 * 2 * 2 * 2 * 32 * (8 + 8 + 32)
    assert c.registers.written == 4 * 2 * 2 * 2 * 32 * 32
    assert c.shared_cycles == 4 * (32 + 4 + 8) + 2 * 8
    assert c.k_tiles == 2
    assert c.k_hmma == c.hmma == 128
    assert c.k_issued == 8 + 8 + 16 + 32 + 128
    assert c.k_shared_cycles == 4 * (32 + 8)
    assert c.issued == sum(c.instructions.values())
    assert c.hmma_fraction == pytest.approx(128 / c.issued)
    assert c.intensity == pytest.approx(2 * 32**3 / 6144)


def test_padding_and_edges_do_more_than_what_is_useful():
    c = product().interpret(**operands(product(), 33, 20, 17), observe="counts").counts
    assert c.useful_flops == 2 * 33 * 20 * 17
    assert c.flops == 2 * 64 * 32 * 32
    assert c.k_tiles == 4  # two blocks, two tiles


def test_every_fragment_load_and_store_is_a_place_of_the_table():
    kernel = product()
    seen = kernel.interpret(**operands(kernel, 32, 32, 16), observe="bank_conflicts")
    kinds = {type(r.place.stmt) for r in seen.bank_conflicts.rows}
    assert {FragmentLoad, SharedStore} <= kinds


def test_a_warp_of_the_default_kernel_takes_what_its_machine_code_has():
    """By the disassembly for sm_70 (docs/measurements.md): 562 instructions of these kinds in a trip of the loop."""
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)))
    c = kernel.interpret(**operands(kernel, 128, 128, 96), observe="counts").counts
    warps = 4 * c.k_tiles
    assert c.k_tiles == 3
    assert c.k_hmma == 512 * warps
    assert c.k_issued == (512 + 32 + 8 + 8 + 2) * warps  # HMMA, LDS.128, LDG.128, STS.128, BAR
