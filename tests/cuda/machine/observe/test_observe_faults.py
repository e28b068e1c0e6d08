"""Kernels broken on purpose: the observer that is meant for it says what is wrong, and where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import Barrier, GlobalLoad, GlobalStore, Mma, SharedStore, When, Zero
from polyvolta.cuda.machine.interpreter import Diverged, NotAChunk, OutOfBounds
from polyvolta.sets import var
from tests.cuda.machine.observe.small import broken, line_of, operands, product

LANE = var("lane")


def without(kind, statement):
    return lambda s: None if isinstance(s, kind) and s.statement == statement else s


def lower_lanes(kind, statement=None):
    """The operation for lanes 0..15 alone."""
    return lambda s: (
        When((15 - LANE,), (s,), uniform=False) if isinstance(s, kind) and statement in (None, s.statement) else s
    )


def observed(change, sizes=(40, 48, 24), observe="all"):
    kernel = broken(product(), change)
    return kernel, kernel.interpret(**operands(kernel, *sizes), observe=observe)


# ---- races


def test_a_missing_barrier_after_the_stores_is_a_race():
    kernel, seen = observed(without(Barrier, "sync_read"))
    assert {f.observer for f in seen.findings} == {"races"}
    race = next(r for r in seen.races.rows if "shared_A" in r.address)
    assert race.kind == "read after write"
    assert race.place.line == line_of(kernel, "hmma_load_a_row_swizzled(hmma_A")
    assert race.other.line == line_of(kernel, "store_shared_a_row_swizzled(shared_A")
    assert (race.place.statement, race.other.statement) == ("frag_A", "store_A")
    # lane 1 of a fragment wants row 1, which thread 2 stored: chunk 2, byte 32
    assert (race.thread, race.other_thread, race.address) == (1, 2, "byte 32 of shared_A")
    # in lockstep the values are right nevertheless
    whole = product().interpret(**operands(product(), 40, 48, 24))
    assert np.array_equal(np.asarray(seen), whole)


def test_a_missing_barrier_before_the_stores_is_a_race_from_the_second_tile_on():
    _, seen = observed(without(Barrier, "sync_write"))
    assert {r.kind for r in seen.races.rows} == {"write after read"}
    assert {(r.place.statement, r.other.statement) for r in seen.races.rows} == {
        ("store_A", "frag_A"), ("store_B", "frag_B"),
    }  # fmt: skip
    _, seen = observed(without(Barrier, "sync_write"), (40, 48, 16))  # one tile
    assert seen.ok


def test_a_missing_warp_barrier_is_a_race_within_each_warp():
    _, seen = observed(lambda s: None if isinstance(s, Barrier) and s.scope == "warp" else s)
    races = seen.races.rows
    assert races
    assert all("exchange" in r.address and r.thread // 32 == r.other_thread // 32 for r in races)


def test_an_element_that_two_threads_write_is_a_race():
    def same_row(s):
        return replace(s, index=(s.index[0] - s.index[0] % 2, s.index[1])) if isinstance(s, GlobalStore) else s

    _, seen = observed(same_row, (32, 32, 16))
    (race,) = seen.races.rows
    assert (race.kind, race.address, race.count) == ("write after write", "C[0, 0]", 512)
    (missing,) = seen.uninitialised.rows
    assert (missing.place, missing.count, missing.where) == (None, 512, "C[1, 0]")


def test_an_element_that_two_blocks_write_is_a_race():
    def first_column(s):
        block = var("blockIdx.x")
        return replace(s, index=(s.index[0], s.index[1] - 32 * block)) if isinstance(s, GlobalStore) else s

    _, seen = observed(first_column, (32, 64, 16))
    (race,) = seen.races.rows
    assert {race.block, race.other_block} == {(0, 0, 0), (1, 0, 0)}
    assert race.thread == race.other_thread
    assert race.count == 32 * 32


def test_an_element_that_is_written_twice_has_one_writer_too_many_even_after_a_barrier():
    def again(s):
        if not isinstance(s, GlobalStore):
            return s
        upwards = 15 - s.index[0] + 64 * var("blockIdx.y") + 32 * var("warpIdx_y")  # the rows of a warp
        return s, Barrier("block"), replace(s, index=(upwards, s.index[1]))

    _, seen = observed(again, (32, 32, 16))
    (race,) = seen.races.rows
    assert (race.kind, race.address, race.count) == ("write after write", "C[15, 0]", 1024)
    assert not race.unordered
    assert "each element is one thread's to write" in race.what
    assert "with no barrier" not in race.what
    assert "Each element of a result is one thread&#x27;s to write" in seen.picture("races")


# ---- uninitialised


def test_a_tile_that_nobody_stores_is_uninitialised():
    kernel, seen = observed(without(SharedStore, "store_B"), (32, 32, 16))
    (row,) = seen.uninitialised.rows
    assert row.place.line == line_of(kernel, "hmma_load_b_col_swizzled(hmma_B")
    assert (row.array, row.where) == ("shared_B", "byte 1024 of shared memory in shared_B")
    assert {f.observer for f in seen.findings} == {"uninitialised", "values"}


def test_accumulators_that_nothing_clears_are_uninitialised_once():
    _, seen = observed(lambda s: None if isinstance(s, Zero) else s, (32, 32, 32))
    (row,) = seen.uninitialised.rows
    assert (row.where, row.count, row.place.statement) == ("hmma_C[0, 0]", 128, "S")


def test_a_partial_guarded_load_writes_zeros_and_a_nan_is_data():
    arrays = operands(product(), 33, 33, 17)
    arrays["A"][:] = np.nan
    assert product().interpret(**arrays, observe="uninitialised").ok


# ---- bounds


def test_a_load_without_its_guard_is_recorded_and_not_made():
    def loose(s):
        return replace(s, guarded=False) if isinstance(s, GlobalLoad) and s.tensor == "A" else s

    kernel, seen = observed(loose, (40, 32, 16))
    (row,) = seen.bounds.rows
    assert row.what == "GlobalLoad load_A: A[40, 0] (8 values along dimension 1) is outside of A[40, 16]"
    assert row.place.text.startswith("private_A = load_global_128(")
    assert row.place.line in [n for n, x in enumerate(kernel.source.split("\n"), 1) if "private_A = load_" in x]
    # the second block's rows 40..63 are threads 16..63, two a row
    assert (row.block, row.warp, row.lanes, row.warps) == ((0, 1, 0), 0, tuple(range(16, 32)), (0, 1))
    assert (row.times, row.threads) == (1, 48)
    whole = product().interpret(**operands(product(), 40, 32, 16))
    assert np.array_equal(np.asarray(seen), whole)  # rows that don't exist are nobody's result
    with pytest.raises(OutOfBounds):
        observed(loose, (40, 32, 16), ("races", "divergence"))


def test_a_misaligned_access_is_recorded():
    def one_on(s):
        return replace(s, index=(s.index[0], s.index[1] + 1)) if isinstance(s, GlobalLoad) and s.tensor == "A" else s

    _, seen = observed(one_on, (32, 32, 32), ("bounds",))
    assert any("isn't aligned to 16 bytes" in r.what for r in seen.bounds.rows)
    with pytest.raises(NotAChunk):
        observed(one_on, (32, 32, 32), "counts")


def test_a_register_that_does_not_exist_is_recorded():
    def fourth(s):
        return replace(s, target=replace(s.target, index=tuple(i + 4 for i in s.target.index))) if isinstance(
            s, Zero
        ) else s  # fmt: skip

    _, seen = observed(fourth)
    assert [r.what for r in seen.bounds.rows] == ["register hmma_C[4, 4] is outside of hmma_C[1, 1]"]
    assert [r.array for r in seen.uninitialised.rows] == ["hmma_C"]


def test_a_name_outside_of_its_range_is_recorded():
    ir = product().ir
    kernel = replace(product(), ir=replace(ir, ranges={**ir.ranges, "c8": (0, 0), "warp": (0, 2)}), _variants={})
    seen = kernel.interpret(**operands(kernel, 32, 32, 16), observe="bounds")
    said = [r.what for r in seen.bounds.rows]
    assert said == [
        "warp takes the values [0, 1, 2, 3], not in its range 0 .. 2",
        "c8 takes the values [1], not in its range 0 .. 0",
    ]


# ---- divergence


def test_a_barrier_that_part_of_a_block_misses_is_recorded_and_orders_nothing():
    kernel, seen = observed(lower_lanes(Barrier, "sync_read"))
    (row,) = seen.divergence.rows
    assert row.place.statement == "sync_read"
    assert (row.block, row.warp, row.lanes, row.warps) == ((0, 0, 0), 0, tuple(range(16, 32)), (0, 1, 2, 3))
    assert {r.other.statement for r in seen.races.rows} == {"store_A", "store_B"}
    with pytest.raises(Diverged):
        kernel.interpret(**operands(kernel, 40, 48, 24), observe=("races",))


def test_an_instruction_that_part_of_a_warp_misses_is_recorded():
    _, seen = observed(lower_lanes(Mma), (32, 32, 16))
    (row,) = seen.divergence.rows
    assert row.what.startswith("Mma S: only part of the lanes of a warp")
    assert row.who == "block (0, 0, 0), warp 0, lanes 16-31; warps 0-3 alike"


def test_a_condition_that_claims_to_be_uniform_is_recorded():
    def claims(s):
        return When((15 - LANE,), (s,), uniform=True) if isinstance(s, GlobalStore) else s

    _, seen = observed(claims, (32, 32, 16), "divergence")
    (row,) = seen.divergence.rows
    assert isinstance(row.place.stmt, When)
    assert "marked uniform" in row.what
    assert not np.isnan(np.asarray(seen)[:8]).any()  # the lower lanes store rows 0..7 of each 16
