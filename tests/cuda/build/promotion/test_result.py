"""The result of a block: whole kernels against numpy, and each element of an output stored once."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    ExchangeLoad,
    ExchangeStore,
    GlobalLoad,
    GlobalStore,
    Loop,
    Mma,
    Pointwise,
    Scale,
    When,
    Zero,
)
from polyvolta.cuda.ir.walk import operations
from tests.cuda.build.promotion.kernels import SMALL, WIDE, K, L, M, N, build, error, run

SIZES = [{"M": 64, "N": 64, "K": 32}, {"M": 33, "N": 17, "K": 7}, {"M": 1, "N": 1, "K": 1}, {"M": 20, "N": 40, "K": 0}]


def tensor(name, *shape, layout="row"):
    return pv.tensor(name, shape, layout=layout) if len(shape) == 2 else pv.tensor(name, shape)


A, B = tensor("A", M, K), tensor("B", K, N, layout="col")
P, Q = tensor("P", M, L, layout="col"), tensor("Q", L, N)
C = A @ B
BIAS, ROW, COLUMN = tensor("bias", M, N), tensor("bias", N), tensor("bias", M, 1)


# ---- against numpy


IDIOMS = {
    "product": (C, SMALL),
    "product of wide fragments": (C, WIDE),
    "column-major product": (pv.output(C, "Z", layout="col"), WIDE),
    "matrix": (pv.relu(C + BIAS), WIDE),
    "column-major matrix": (pv.relu(C + tensor("bias", M, N, layout="col")), SMALL),
    "column-major result": (pv.output(pv.relu(C + BIAS), "Z", layout="col"), WIDE),
    "vector along a row": (pv.tanh(C + ROW), WIDE),
    "vector along a column": (C * 2.0 + COLUMN, WIDE),
    "both vectors": (C + ROW + tensor("other", M, 1), SMALL),
    "one row": (C + tensor("bias", 1, N), SMALL),
    "matrix used twice": (pv.relu(C + BIAS) * BIAS, WIDE),
    "operand in the epilogue": (tensor("A", M, N) @ tensor("B", N, N) + tensor("A", M, N), SMALL),
    "product and what follows": ([C, pv.relu(C + ROW)], WIDE),
    "two results of one product": ([pv.relu(C), C + ROW], SMALL),
    "outputs of both layouts": ([C, pv.output(C + BIAS, "Z", layout="col")], WIDE),
    "sum": (C + P @ Q, SMALL),
    "sum and what follows": ([C + P @ Q, pv.relu(C + P @ Q) * ROW], WIDE),
    "column-major sum, split": (pv.output(C + P @ Q, "Z", layout="col"), {**WIDE, "split_k": 2}),
    "scaled difference": (pv.relu(C * 0.5 - P @ Q * 4.0 + ROW), WIDE),
    "separate": (pv.relu(C) * (P @ Q), WIDE),
    "three products": (pv.relu(C) + P @ Q - tensor("R", M, K) @ B, SMALL),
    "two buffers": (pv.relu(C) * (P @ Q), {**SMALL, "buffers": 2}),
    "split": (C, {**SMALL, "split_k": 2}),
    "split in four": (pv.relu(C + ROW), {**WIDE, "split_k": 4}),
    "split, with the product": ([C, pv.sigmoid(C + BIAS)], {**SMALL, "split_k": 2, "buffers": 2}),
    "split and separate": (pv.relu(C) * (P @ Q) + COLUMN, {**SMALL, "split_k": 2}),
    "prologue and epilogue": (pv.relu(pv.relu(A) @ B + ROW), SMALL),
    "one warp": (pv.relu(C), {"block_tile": (16, 16, 16), "warp_tile": (16, 16, 16)}),
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_size_gives_what_numpy_gives(idiom):
    outputs, options = IDIOMS[idiom]
    built = build(outputs, **options)
    for sizes in SIZES:
        if idiom == "operand in the epilogue" and sizes["K"] == 0:
            continue
        for name, (found, wanted) in run(built, {**sizes, "L": 2 * sizes["K"]}).items():
            assert error(found, wanted) <= 5e-4, (name, sizes)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (7, 33, 1), (48, 100, 48), (64, 32, 16), (31, 1, 40)])
def test_sizes_that_are_numbers(m, n, k):
    built = build(pv.relu(tensor("A", m, k) @ tensor("B", k, n) + tensor("bias", n)), **WIDE)
    for found, wanted in run(built).values():
        assert error(found, wanted) <= 5e-4


def test_a_scalar_given_at_launch():
    alpha = pv.scalar("alpha")
    built = build(C * alpha + BIAS, **SMALL)
    for found, wanted in run(built, SIZES[1], scalars={"alpha": 0.25}).values():
        assert error(found, wanted) <= 5e-4


def test_a_product_that_is_an_output_goes_on_unrounded():
    """2049 is no fp16 number, and 2049 - 2048 is 1."""
    built = build([C, C - 2048.0], **SMALL)
    values = {"A": 1.0, "B": np.where(np.arange(2049)[:, None] < 2049, 1.0, 0.0)}
    found = [f for f, _ in run(built, {"M": 1, "N": 3, "K": 2049}, data=values).values()]
    assert (found[0] == 2048).all()
    assert (found[1] == 1).all()


# ---- each element once


def walk(body, values):
    """(operation, values of the names) in a thread's order; conditions of which a thread does not know are false."""
    for s in body:
        match s:
            case Loop():
                if not any(isinstance(op, GlobalStore | GlobalLoad | Zero) for op in operations(s.body)):
                    continue
                low, high = (max(e.evaluate(values) for e in b) for b in (s.lower, s.upper))
                for v in range(low, high + 1, s.step):
                    yield from walk(s.body, {**values, s.var: v})
            case When():
                holds = all(e.evaluate(values) >= 0 for e in s.conditions)
                yield from walk(s.body if holds else s.orelse, values)
            case _:
                yield s, values


def threads(ir, sizes):
    """The names of every thread of every block."""
    grid = [e.evaluate(sizes) for e in ir.grid]
    for x, y in product(range(grid[0]), range(grid[1])):
        for t in range(ir.threads):
            values = {**sizes, "blockIdx.x": x, "blockIdx.y": y, "linearId": t}
            for name, e in ir.derived:
                values[name] = e.evaluate(values)
            yield values


@pytest.mark.parametrize("options", [SMALL, {**WIDE, "split_k": 2}], ids=["small", "wide, split"])
@pytest.mark.parametrize("layout", ["row", "col"])
def test_every_element_of_an_output_is_stored_once_and_what_it_needs_is_loaded_where_it_is(options, layout):
    ir = build([C, pv.output(pv.relu(C + BIAS), "Z", layout=layout)], **options).ir
    m, n = 45, 33
    stored = {"C": Counter(), "Z": Counter()}
    for thread in threads(ir, {"M": m, "N": n, "K": 0}):
        loaded = set()
        for op, values in walk(ir.body, thread):
            if not isinstance(op, GlobalLoad | GlobalStore) or op.tensor in "AB":
                continue
            first = [e.evaluate(values) for e in op.index]
            run_ = [(first[0] + v * (op.along == 0), first[1] + v * (op.along == 1)) for v in range(8)]
            inside = [p for p in run_ if 0 <= p[0] < m and 0 <= p[1] < n]
            assert len(inside) == 8 or op.guarded
            if isinstance(op, GlobalLoad):
                loaded.update(inside)
            else:
                stored[op.tensor].update(inside)
                assert op.tensor == "C" or loaded.issuperset(inside)
    every = Counter({(r, c): 1 for r in range(m) for c in range(n)})
    assert stored == {"C": every, "Z": every}


@pytest.mark.parametrize("options", [SMALL, {**WIDE, "split_k": 2}], ids=["small", "wide, split"])
def test_every_accumulator_starts_at_zero_once(options):
    ir = build(pv.relu(C), **{**options, "block_tile": (64, 64, 16), "warp_tile": (32, 64, 16)}).ir
    every = Counter(product(*(range(n) for n in ir.register("hmma_C").shape)))
    for thread in threads(ir, {"M": 1, "N": 1, "K": 0}):
        zeroed = Counter(tuple(e.evaluate(v) for e in op.target.index) for op, v in walk(ir.body, thread)
                         if isinstance(op, Zero))  # fmt: skip
        assert zeroed == every


# ---- what there is of operations


def ops_of(built, *kinds):
    return [op for op in operations(built.ir.body) if isinstance(op, kinds)]


def test_a_product_that_is_only_stored_is_exchanged_in_half_precision():
    kinds = {op.exchange.kind for op in ops_of(build(C, **SMALL), ExchangeStore)}
    assert kinds == {"half"}
    for more in (build(pv.relu(C), **SMALL), build(C, **SMALL, split_k=2)):
        assert {op.exchange.kind for op in ops_of(more, ExchangeStore)} == {"float"}


def test_a_sum_in_one_accumulator_is_stored_like_a_product():
    """Nothing is computed on it, unless something else follows or the products keep accumulators of their own."""
    for outputs in (C + P @ Q, [C + P @ Q, tensor("X", M, K) @ tensor("Y", K, N)]):
        built = build(outputs, **SMALL)
        assert {op.exchange.kind for op in ops_of(built, ExchangeStore)} == {"half"}
        assert not ops_of(built, Pointwise)
        assert {op.statement for op in ops_of(built, GlobalStore) if op.tensor == built.graph.outputs[0].name} == {"S3"}
    both = build([C + P @ Q, pv.relu(C + P @ Q)], **WIDE)
    assert {op.exchange.kind for op in ops_of(both, ExchangeStore)} == {"float"}
    assert {op.name for op in ops_of(both, Pointwise)} == {"relu"}
    assert {op.source.array for op in ops_of(both, GlobalStore)} == {"run_C", "run_F"}
    assert ops_of(build(C + P @ Q, **SMALL, accumulators="separate"), Pointwise)


def test_products_of_a_sum_share_an_accumulator_that_is_scaled_where_factors_differ():
    plain, scaled = build(C + P @ Q, **SMALL), build(C * 0.5 + P @ Q * 4.0, **SMALL)
    assert [r.name for r in plain.ir.registers if r.kind == "float" and r.name.startswith("hmma")] == ["hmma_C"]
    assert (len(ops_of(plain, Zero)), len(ops_of(plain, Scale))) == (1, 0)
    assert [op.factor for op in ops_of(scaled, Scale)] == [0.125]
    kinds = [type(op) for op in ops_of(scaled, Zero, Mma, Scale)]
    assert kinds == [Zero, Mma, Scale, Mma]


def test_the_parts_of_a_split_sum_are_added_by_the_first_warps_alone():
    built = build(pv.relu(C + ROW), **SMALL, split_k=2)
    (load, *_) = ops_of(built, ExchangeLoad)
    assert (load.parts, load.stride) == (2, 4)
    assert built.promotion.arrays.tiles[-1].chunks == 8 * load.exchange.chunks
    for thread in threads(built.ir, {"M": 32, "N": 32, "K": 0}):
        done = {type(op) for op, _ in walk(built.ir.body, thread)}
        first = thread["warpIdx_z"] == 0
        assert (GlobalStore in done, ExchangeLoad in done, GlobalLoad in done) == (first, first, first)
        assert {ExchangeStore, Barrier} <= done


def test_warps_wait_for_themselves_and_parts_for_one_another():
    def scopes(built):
        return {op.statement: op.scope for op in ops_of(built, Barrier) if op.statement.endswith("_C")}

    assert scopes(build(pv.relu(C), **SMALL)) == {"sync_C": "warp", "free_C": "warp"}
    assert scopes(build(pv.relu(C), **SMALL, split_k=2)) == {"sync_C": "block", "free_C": "block"}


def test_what_is_the_same_in_all_rounds_is_loaded_once():
    shapes = {}
    for name, bias in (("matrix", BIAS), ("row", ROW), ("column", COLUMN)):
        shapes[name] = build(C + bias, **WIDE).ir.register("run_bias").shape
    assert shapes == {"matrix": (4,), "row": (1,), "column": (4,)}


def test_loads_take_the_run_along_memory_where_they_can():
    for bias, along in ((BIAS, 1), (ROW, 0), (COLUMN, None)):
        found = {op.along for op in ops_of(build(C + bias, **SMALL), GlobalLoad) if op.tensor == "bias"}
        assert found == {along}


# ---- guards


def test_guards_stand_where_a_block_tile_may_reach_outside_and_nowhere_else():
    built = build(pv.relu(C + BIAS), block_tile=(32, 64, 16), warp_tile=(16, 32, 16))
    stores = ops_of(built, GlobalStore)
    assert {op.guarded for op in stores} == {False, True}
    (choice,) = [s for s in built.ir.body if isinstance(s, When) and s.orelse]
    for m, n in product((1, 31, 32, 33, 63, 64, 65, 128), repeat=2):
        for y, x in product(range(-(-m // 32)), range(-(-n // 64))):
            values = {"M": m, "N": n, "blockIdx.y": y, "blockIdx.x": x}
            holds = all(e.evaluate(values) >= 0 for e in choice.conditions)
            assert holds == (32 * y + 32 <= m and 64 * x + 64 <= n)


def test_without_partial_tiles_there_are_no_guards():
    for built in (
        build(pv.relu(C + BIAS), **SMALL, partial="pad"),
        build(tensor("A", 64, 32) @ tensor("B", 32, 96), **SMALL),
    ):
        assert not any(op.guarded for op in ops_of(built, GlobalLoad, GlobalStore))
        assert not any(isinstance(s, When) and s.orelse for s in built.ir.body)


# ---- shared memory


def test_tiles_of_products_overlap_and_the_exchange_has_its_own_place():
    tiles = {t.name: t for t in build(pv.relu(C) * (P @ Q), **SMALL).promotion.arrays.tiles}
    assert tiles["shared_A"].start == tiles["shared_P"].start == 0
    others = [t for t in tiles.values() if t.name != "exchange"]
    assert tiles["exchange"].start == max(t.start + t.chunks for t in others)


def test_an_exchange_that_does_not_fit_lies_on_the_tiles_behind_a_barrier():
    outputs, options = pv.relu(C + BIAS), {**WIDE, "split_k": 2}
    apart, together = build(outputs, **options), build(outputs, limit=20 * 1024, **options)
    assert apart.ir.shared_bytes > 20 * 1024 >= together.ir.shared_bytes
    assert together.ir.tile("exchange").start == 0
    kinds = [op for op in operations(together.ir.body) if isinstance(op, Mma | Barrier | ExchangeStore)]
    last = max(k for k, op in enumerate(kinds) if isinstance(op, Mma))
    first = min(k for k, op in enumerate(kinds) if isinstance(op, ExchangeStore))
    assert "sync_tiles" in [op.statement for op in kinds[last:first] if isinstance(op, Barrier) and op.scope == "block"]
    for found, wanted in run(together, SIZES[1]).values():
        assert error(found, wanted) <= 5e-4


def test_places_count_all_buffers():
    a, b, exchange = build(C, **SMALL, buffers=2).promotion.arrays.tiles
    assert (a.start, b.start, exchange.start) == (0, 2 * a.chunks, 2 * (a.chunks + b.chunks))
