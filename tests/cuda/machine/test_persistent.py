"""Blocks that compute several tiles, on the machine: fewer blocks than tiles, some with one more than others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import BoxStore, Roles, Tiles
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.machine.forecast import executions
from polyvolta.cuda.machine.interpreter import prepared_memory
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.turns.tiles import batch, launched, turns
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.mutants.engines import tiles
from polyvolta.cuda.mutants.model import NothingToBreak
from polyvolta.cuda.target.hopper import SM_90A
from tests.cuda.persistent import BLOCKS, IN_TURN, TILES, WIDE, K, M, N, agrees, arrays, compiled, expected

PLAIN = ("row", "col", "row")
ORDERS = ("eager", "lazy", 1, 7)
SIZES = (456, 120, 200)  # 4 x 2 tiles and four k tiles, the last ones of each in part


@pytest.mark.parametrize("name", ["product", "residual", "bias", "sum", "operands", "two"])
@pytest.mark.parametrize("copies", ORDERS)
def test_any_epilogue_under_any_order_of_events(name, copies):
    kernel = compiled(name)
    given = arrays(kernel, *SIZES)
    assert agrees(kernel, given, expected(name, PLAIN, given), copies)


@pytest.mark.parametrize("layouts", list(product(("row", "col"), repeat=3)))
def test_all_layouts(layouts):
    for name in ("product", "residual"):
        kernel = compiled(name, layouts)
        given = arrays(kernel, *SIZES)
        assert agrees(kernel, given, expected(name, layouts, given), "lazy")


ODD = [(1, 1, 1), (129, 65, 65), (300, 8, 64), (500, 201, 136), (640, 128, 0), (384, 64, 1024)]


@pytest.mark.parametrize("sizes", ODD)
def test_odd_sizes_empty_sums_and_fewer_tiles_than_blocks(sizes):
    for name in ("product", "sum", "residual"):
        kernel = compiled(name)
        given = arrays(kernel, *sizes)
        exact = expected(name, PLAIN, given)
        assert all(agrees(kernel, given, exact, copies) for copies in ("lazy", 3))


@pytest.mark.parametrize("options", [TILES, IN_TURN], ids=["alone", "in turns"])
@pytest.mark.parametrize("name", ["product", "bias"])
@pytest.mark.parametrize("copies", ORDERS)
def test_results_that_threads_store(name, options, copies):
    """Lines of 201 values, which boxes would be clipped further on."""
    A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, 201), layout="col"), pv.tensor("bias", (201,))
    out = {"product": A @ B, "bias": pv.relu(A @ B + bias)}[name]
    whole = pv.compile(out, target=SM_90A, options=options)
    kernel = replace(whole, ir=replace(whole.ir, resident=BLOCKS))
    assert not any(isinstance(op, BoxStore) for op in operations(kernel.ir.body))
    rng = np.random.default_rng(2)
    shapes = {"A": (200, 200), "B": (200, 201), "bias": (201,)}
    given = {t.name: rng.integers(-4, 5, shapes[t.name]).astype(np.float16) for t in kernel.graph.inputs}
    given["B"] = np.asfortranarray(given["B"])
    assert np.array_equal(kernel.interpret(**given, copies=copies), pv.reference(out, **given))


@pytest.mark.parametrize("copies", ORDERS)
@pytest.mark.parametrize("blocks", [2, 3])
def test_pieces_of_an_odd_number_take_turns_from_tile_to_tile(copies, blocks):
    kernel = compiled("product", options=WIDE, blocks=blocks)
    given = arrays(kernel, 260, 200, 136)  # three rows of two tiles
    assert agrees(kernel, given, expected("product", PLAIN, given), copies)


@pytest.mark.parametrize("name", ["product", "residual", "bias", "sum", "operands", "two"])
@pytest.mark.parametrize("sizes", [SIZES, (60, 64, 64), (200, 130, 0), (130, 130, 64)], ids=str)
@pytest.mark.parametrize("copies", ORDERS)
def test_warpgroups_take_turns_at_tiles(name, sizes, copies):
    kernel = compiled(name, options=IN_TURN, blocks=2)
    (roles,) = (s for s in kernel.ir.body if isinstance(s, Roles))
    assert [r.name for r in roles.roles] == ["consumer0", "consumer1", "producer"]
    assert [(r.body[0].first, r.body[0].step) for r in roles.roles] == [(0, 2), (1, 2), (0, 1)]
    given = arrays(kernel, *sizes)
    assert agrees(kernel, given, expected(name, PLAIN, given), copies)


def test_a_warpgroup_that_takes_turns_may_have_several_rows_of_products():
    options = replace(IN_TURN, block_tile=(128, 192, 64), warp_tile=(128, 192, 64), macro_mma="m64n96k16", buffers=2,
                      prefetch=1)  # fmt: skip
    kernel = compiled("product", ("col", "row", "col"), options)
    given = arrays(kernel, 520, 200, 136)  # five rows of two tiles
    assert agrees(kernel, given, expected("product", ("col", "row", "col"), given), 3)


@pytest.mark.parametrize("name", [m.name for m in tiles.OF_TURNS])
def test_the_machine_sees_a_mutant_of_turns(name):
    for kind in ("product", "residual"):
        kernel = broken(compiled(kind, options=IN_TURN, blocks=2), name)
        found = False
        for sizes in (SIZES, (*SIZES[:2], 64)):
            given = arrays(kernel, *sizes)
            exact = expected(kind, PLAIN, given)
            found = found or any(seen(kernel, given, exact, copies) for copies in ("lazy", "eager", *range(6)))
        assert found, kind


@pytest.mark.parametrize("blocks", [1, 2, 5, 8, 132])
def test_any_number_of_blocks(blocks):
    kernel = compiled("residual", blocks=blocks)
    given = arrays(kernel, *SIZES)
    assert agrees(kernel, given, expected("residual", PLAIN, given), "lazy")


def test_registers_that_roles_share_out_change_no_value():
    wide = pv.Options(block_tile=(128, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16", buffers=2,
                      persistent=True)  # fmt: skip
    kernel = compiled("operands", options=wide, blocks=2)
    (roles,) = (s for s in kernel.ir.body if hasattr(s, "roles"))
    assert {r.name: r.registers for r in roles.roles} == {"consumer": 240, "producer": 24}
    assert kernel.ir.threads == 384
    given = arrays(kernel, 136, 264, 136)  # two rows of two tiles
    assert agrees(kernel, given, expected("operands", PLAIN, given), "lazy")


def test_which_blocks_there_are():
    ir = compiled("product").ir
    assert launched(ir, (4, 4, 1)) == (BLOCKS, 1, 1) and launched(ir, (2, 1, 1)) == (2, 1, 1)
    assert batch(ir, (4, 4, 1), 1, 3).tolist() == [[1, 2], [0, 0], [0, 0]]
    sizes = {"M": 512, "N": 256, "K": 64}
    assert compiled("product").launch_config(**sizes).grid == (3, 1, 1)
    assert compiled("product").launch_config(M=0, N=256, K=64).grid[0] == 0
    assert compiled("product").grid_on(66, sizes) == (1, 1, 1)
    whole = pv.compile(compiled("product").graph, target=SM_90A, options=compiled("product").options)
    assert [whole.grid_on(n, {"M": 4096, "N": 4096, "K": 64})[0] for n in (78, 132, 144)] == [78, 132, 144]
    assert whole.launch_config(M=4096, N=4096, K=64).grid == (132, 1, 1)
    with pytest.raises(pv.PolyvoltaError, match="counts beyond an int"):
        compiled("product").launch_config(M=2**20, N=2**20, K=2**20)


def test_each_tile_is_computed_once_whatever_the_number_of_blocks():
    ir = compiled("product").ir
    (s, _) = (s for _, s in walk(ir.body) if isinstance(s, Tiles))
    for blocks in (1, 3, 7, 20):
        values, found = {"M": 700, "N": 250, "K": 64}, Counter()
        for at, has in turns(s, ir, values, batch(replace(ir, resident=blocks), (4, 6, 1), 0, blocks), blocks):
            where = np.stack([at[f"blockIdx.{axis}"][:, 0, 0] for axis in "xyz"])[:, has[:, 0, 0]]
            found.update(map(tuple, where.T.tolist()))
        assert found == Counter({(x, y, 0): 1 for x in range(4) for y in range(6)})


def test_what_is_executed_is_counted_beforehand():
    kernel = compiled("residual")
    given, sizes = arrays(kernel, 300, 184, 136), {"M": 300, "N": 184, "K": 136}
    given["C"] = np.zeros((300, 184), np.float16)
    memory, values = prepared_memory(kernel.ir, given, sizes)
    grid = [int(g.evaluate(sizes)) for g in kernel.ir.grid]
    blocks = batch(kernel.ir, grid, 0, BLOCKS)
    machine = Machine(kernel.ir, memory, values, blocks, EFFECTS, launched=BLOCKS)
    assert Counter(step.path for step in machine.steps()) == executions(kernel.ir, values, blocks, BLOCKS)


def test_a_trace_goes_from_tile_to_tile():
    kernel = compiled("product")
    given = arrays(kernel, 300, 184, 64)
    steps = [s for s in kernel.trace(**given, block=(1, 0)) if s.place.statement == "write_C"]
    assert {s.loops["turn"] for s in steps} == {0, 1, 2}
    with pytest.raises(pv.PolyvoltaError, match="has 3 x 1 x 1 blocks"):
        kernel.trace(**given, block=(0, 1))


def test_a_deadlock_says_in_which_tile():
    kernel = broken(compiled("product"), "the producer's counter stands still")
    with pytest.raises(CudaError):
        kernel.interpret(**arrays(kernel, *SIZES))


@pytest.mark.parametrize("name", [m.name for m in tiles.MUTANTS if m.observers != ("races",) and (
    m not in tiles.OF_TURNS)])  # fmt: skip
def test_the_machine_sees_a_mutant_under_some_order(name):
    made = 0
    for kind in ("product", "residual"):
        try:
            kernel = broken(compiled(kind), name)
        except NothingToBreak:
            continue
        made += 1
        found = False
        for sizes in (SIZES, (*SIZES[:2], 64)):  # more k tiles than the ring has slots, and fewer
            given = arrays(kernel, *sizes)
            exact = expected(kind, PLAIN, given)
            found = found or any(seen(kernel, given, exact, copies) for copies in ("lazy", "eager", *range(6)))
        assert found, kind
    assert made


def seen(kernel, given, exact, copies) -> bool:
    """Whether a run is refused, or computes something else."""
    try:
        return not agrees(kernel, given, exact, copies)
    except CudaError:
        return True


def test_a_kernel_of_one_tile_a_block_has_nothing_of_the_kind():
    plain = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)), target=SM_90A)
    for m in tiles.MUTANTS:
        with pytest.raises(NothingToBreak):
            broken(plain, m.name)
