"""The k loop of a product: footprints, copies, prologues, fragments and prefetching, against enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.build.promotion import operands, pipeline
from polyvolta.cuda.build.promotion.footprints import CannotPromote
from polyvolta.cuda.ir.kernel_ir import Barrier, GlobalLoad, Pointwise, SharedStore
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.passes.order.prefetch import prefetch
from polyvolta.sets import Set, var
from tests.cuda.build.promotion.promoted import Machine, loops_of, products

M, N, K, L = pv.sizes("M N K L")
SMALL = {"block_tile": (32, 16, 16), "warp_tile": (16, 16, 16)}
LAYOUTS = [(a, b) for a in ("row", "col") for b in ("row", "col")]
TALL = {"block_tile": (48, 16, 16), "warp_tile": (16, 16, 16)}  # copies that don't come out even
WIDE = {"block_tile": (32, 64, 16), "warp_tile": (32, 32, 16), "macro_mma": "m32n32k8"}


def operand(name, shape, layout="row"):
    return pv.tensor(name, shape, layout=layout)


def random(rng, *shape):
    return rng.integers(-4, 5, shape).astype(np.float64)


def matmul(a="row", b="col", m=M, n=N, k=K):
    return operand("A", (m, k), a) @ operand("B", (k, n), b)


# ---- copies


@pytest.mark.parametrize(("a", "b"), LAYOUTS)
@pytest.mark.parametrize("options", [SMALL, WIDE, TALL, {**SMALL, "split_k": 2}])
def test_every_element_of_a_block_tile_is_copied_once(a, b, options):
    loops = loops_of(matmul(a, b), **options)
    rows, cols, depth = loops.options.step
    origin = {"A": (2 * rows, 3 * depth), "B": (3 * depth, cols)}  # of tile by = 2, bx = 1, kt = 3
    extent = {"A": (rows, depth), "B": (depth, cols)}
    for name in "AB":
        load = loops.movements[f"load_{name}"]
        (op,) = load.ops
        calls = next(e for e in loops.operands.pieces[0].extensions if e.space.out.name == load.statement)
        seen = []
        tile = calls.intersect_domain(Set("{ [2, 1] }")).range().fix(kt=3, M=999, N=999, K=999)
        for point in tile.project_out_params("M", "N", "K").points():
            at = dict(zip(load.dims, point))
            first = [e.evaluate(at) for e in op.index]
            seen += [tuple(x + v * (d == op.along) for d, x in enumerate(first)) for v in range(8)]
        (r, c), (height, width) = origin[name], extent[name]
        assert sorted(seen) == [(x, y) for x in range(r, r + height) for y in range(c, c + width)]


def test_copies_that_miss_an_element_are_refused(monkeypatch):
    honest = operands.check_cover

    def one_short(side):
        honest(replace(side, chunks=side.chunks - 1))

    monkeypatch.setattr(operands, "check_cover", one_short)
    with pytest.raises(CannotPromote, match="do not cover"):
        loops_of(matmul(), **SMALL)


# ---- the whole loop


def assert_agrees(expr, arrays, expected, sizes, scalars=None, **options):
    """Promoted and prefetched trees compute what numpy does, without races."""
    loops = loops_of(expr, **options)
    for tree in (loops.promoted, loops.prefetched):
        found, races = products(loops, tree, arrays, sizes, scalars)
        assert races == []
        assert set(found) == set(expected)
        for name, x in expected.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), LAYOUTS)
@pytest.mark.parametrize("options", [SMALL, WIDE])
@pytest.mark.parametrize("buffers", [1, 2])
def test_fragments_hold_what_the_macro_mma_multiplies(a, b, options, buffers):
    rng = np.random.default_rng(0)
    x, y = random(rng, 37, 45), random(rng, 45, 21)
    sizes = {"M": 37, "N": 21, "K": 45}
    assert_agrees(matmul(a, b), {"A": x, "B": y}, {"hmma_C": x @ y}, sizes, buffers=buffers, **options)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (32, 16, 16), (33, 17, 15), (7, 40, 33), (64, 32, 48)])
@pytest.mark.parametrize("split", [1, 2, 4])
@pytest.mark.parametrize("known", [False, True])
def test_any_size(sizes, split, known):
    m, n, k = sizes
    rng = np.random.default_rng(1)
    x, y = random(rng, m, k), random(rng, k, n)
    options = {**SMALL, "split_k": split, "buffers": 1 + split % 2}
    expr, given = (matmul(m=m, n=n, k=k), {}) if known else (matmul(), {"M": m, "N": n, "K": k})
    assert_agrees(expr, {"A": x, "B": y}, {"hmma_C": x @ y}, given, **options)


def tiles_of(loops):
    return [(t.name, t.start, t.bytes) for p in loops.operands.pieces for t in p.tiles]


def test_prologues_with_several_tensors_layouts_and_scalars():
    rng = np.random.default_rng(2)
    m, n, k = 33, 17, 21
    arrays = {"A": random(rng, m, k), "X": random(rng, m, k), "v": random(rng, k), "w": random(rng, m, 1),
              "B": random(rng, k, n), "u": random(rng, n)}  # fmt: skip
    left = (operand("A", (M, K), "col") * operand("X", (M, K)) + operand("v", (K,))) * operand("w", (M, 1)) + 1
    right = pv.sigmoid(operand("B", (K, N))) - operand("u", (N,))
    x = (arrays["A"] * arrays["X"] + arrays["v"]) * arrays["w"] + 1
    y = 1 / (1 + np.exp(-arrays["B"])) - arrays["u"]
    loops = loops_of(left @ right, **SMALL)
    for tree in (loops.promoted, loops.prefetched):
        found, races = products(loops, tree, arrays, {"M": m, "N": n, "K": k})
        np.testing.assert_allclose(found["hmma_C"], x @ y, rtol=1e-5)
        assert races == []
    plain = loops_of(matmul(), **SMALL)
    assert tiles_of(loops) == tiles_of(plain)  # shared memory stays that of a plain product


def test_several_products_and_a_tensor_in_more_than_one_place():
    rng = np.random.default_rng(3)
    x, p, q = random(rng, 20, 20), random(rng, 20, 35), random(rng, 35, 20)
    a = operand("A", (M, M))
    expr = pv.relu(a @ a) + operand("P", (M, L)) @ operand("Q", (L, M))
    loops = loops_of(expr, **SMALL, buffers=2, accumulators="separate")
    for tree in (loops.promoted, loops.prefetched):
        found, races = products(loops, tree, {"A": x, "P": p, "Q": q}, {"M": 20, "L": 35})
        assert races == []
        assert any(np.array_equal(v, x @ x) for v in found.values())
        assert any(np.array_equal(v, p @ q) for v in found.values())


@pytest.mark.parametrize("depths", [(1, 5), (5, 1), (1, 1), (1, K), (K, 1)])
def test_sums_of_one_term_beside_others(depths):
    """Nothing orders a sum of one term along k, so the scheduler gives it a band of its own."""
    rng = np.random.default_rng(6)
    (k, l), (n_k, n_l) = depths, (7 if d is K else d for d in depths)
    arrays = {"A": random(rng, 9, n_k), "B": random(rng, n_k, 5), "P": random(rng, 9, n_l), "Q": random(rng, n_l, 5)}
    expr = operand("A", (9, k)) @ operand("B", (k, 5)) + operand("P", (9, l)) @ operand("Q", (l, 5))
    expected = arrays["A"] @ arrays["B"] + arrays["P"] @ arrays["Q"]
    loops = loops_of(expr, **SMALL)
    found, races = products(loops, loops.prefetched, arrays, {"K": 7} if K in depths else {})
    assert races == []
    np.testing.assert_array_equal(sum(found.values()), expected)


def test_a_barrier_left_out_is_a_race():
    """What finds no race above does find those that there are."""
    rng = np.random.default_rng(4)
    arrays, sizes = {"A": random(rng, 32, 40), "B": random(rng, 40, 16)}, {"M": 32, "N": 16, "K": 40}
    for buffers, barriers in ((1, ("sync_write", "sync_read")), (2, ("sync_read",))):
        loops = loops_of(matmul(), **SMALL, buffers=buffers)
        assert {m.statement for m in loops.movements.values() if isinstance(m.ops[0], Barrier)} == {*barriers}
        for left_out in barriers:
            silent = replace(loops.movements[left_out], ops=())
            pieces = tuple(
                replace(p, movements=tuple(silent if m.statement == left_out else m for m in p.movements))
                for p in loops.operands.pieces
            )
            without = replace(loops, operands=replace(loops.operands, pieces=pieces))
            for tree in (loops.promoted, loops.prefetched):
                assert products(without, tree, arrays, sizes)[1]


def test_products_whose_tiles_share_memory_do_not_race():
    """Two buffers have no barrier before the first store of a loop, so one stands between the loops."""
    rng = np.random.default_rng(5)
    arrays = {"A": random(rng, 32, 16), "B": random(rng, 16, 16), "P": random(rng, 32, 16), "Q": random(rng, 16, 16)}
    loops = loops_of(matmul() + operand("P", (M, L)) @ operand("Q", (L, N)), **SMALL, buffers=2)
    sizes = {"M": 32, "N": 16, "K": 16, "L": 16}
    assert products(loops, loops.prefetched, arrays, sizes)[1] == []
    (start,) = (m for m in loops.movements.values() if m.statement.startswith("sync_start"))
    pieces = tuple(
        replace(p, movements=tuple(replace(m, ops=()) if m is start else m for m in p.movements))
        for p in loops.operands.pieces
    )
    without = replace(loops, operands=replace(loops.operands, pieces=pieces))
    assert products(without, loops.prefetched, arrays, sizes)[1]


# ---- prefetching


@pytest.mark.parametrize(("buffers", "order"), [(1, (0, 3, 1, 2, 4)), (1, (0, 2, 1, 3, 4)), (2, (0, 2, 1, 3))])
def test_an_order_in_which_a_tile_is_overwritten_or_not_there_is_refused(buffers, order):
    loops = loops_of(matmul(), **SMALL, buffers=buffers)
    (at,) = pipeline.bands_along_k(loops.promoted, loops.movements, loops.arrays)
    ahead = {s: -1 for s in loops.promoted.band(at).statements if s != "S"}
    functions = pipeline.touched, pipeline.fences_of
    touches, fences = (of(loops.promoted, at, loops.movements, loops.arrays) for of in functions)
    with pytest.raises(IllegalTransformation, match="must run b"):
        prefetch(loops.promoted, at, ahead, order, touches, fences, loops.context)


def in_k_loop(loops):
    (at,) = pipeline.bands_along_k(loops.promoted, loops.movements, loops.arrays)
    return loops.promoted, at


def test_a_barrier_of_a_warp_is_no_fence():
    """Tiles are read by other warps than have stored them."""
    loops = loops_of(matmul(), **SMALL, buffers=1)
    tiles = frozenset({"shared_A", "shared_B"})
    fences = pipeline.fences_of(*in_k_loop(loops), loops.movements, loops.arrays)
    assert fences == {"sync_read": tiles, "sync_write": tiles}
    weak = {**loops.movements, "sync_read": replace(loops.movements["sync_read"], ops=(Barrier("warp"),))}
    assert pipeline.fences_of(*in_k_loop(loops), weak, loops.arrays) == {"sync_write": tiles}


@pytest.mark.parametrize("name", ["warp", "warpIdx_y", "lane", "linearId"])
def test_a_slot_that_differs_between_threads_is_refused(name):
    """As a parameter it would be one number in both of two iterations that are compared."""
    loops = loops_of(matmul(), **SMALL, buffers=2)
    store = loops.movements["store_A"]
    ops = tuple(replace(op, buffer=var(name) % 2) if isinstance(op, SharedStore) else op for op in store.ops)
    assert ops != store.ops
    strange = {**loops.movements, "store_A": replace(store, ops=ops)}
    with pytest.raises(CannotPromote, match=rf"PV512.*store_A.* slot {name} mod 2 of shared_A, where {name} differs"):
        pipeline.prefetched(*in_k_loop(loops)[:1], strange, loops.arrays, loops.context)


@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("split", [1, 2])
def test_every_tile_is_loaded_and_stored_once_and_none_behind_the_last(buffers, split):
    loops = loops_of(matmul(), **SMALL, buffers=buffers, split_k=split)
    depth = loops.options.step[2]
    scanned = loops.scan(loops.prefetched)
    for k in (0, 1, depth, depth + 1, 3 * depth):
        seen = {"load_A": [], "store_A": [], "load_B": [], "store_B": []}
        machine = Machine(loops, {}, {}, {"M": 32, "N": 16, "K": k})
        machine.call = lambda s, args, names, seen=seen: seen[s].append(args[2]) if s in seen else None
        machine.run(scanned.body, {"blockIdx.y": 0, "blockIdx.x": 0})
        for tiles in seen.values():
            assert sorted(set(tiles)) == list(range(-(-k // depth)))
            assert all(tiles.count(t) == tiles.count(tiles[0]) for t in tiles)  # as often as there are copies


# ---- full and partial tiles


def copies(calls):
    """Numbers of copy and thread of all copies of a tile."""
    tile = calls.intersect_domain(Set("{ [0, 0] }")).range().fix(M=999, N=999, K=999, kt=0)
    return np.array([p[-2:] for p in tile.project_out_params("M", "N", "K").points()]).T


CASES = {
    "plain": (lambda: matmul(), {"A": ("M", "K"), "B": ("K", "N")}),
    "vectors": (
        lambda: (operand("A", (M, K)) + operand("v", (K,)) + operand("w", (M, 1))) @ operand("B", (K, N)),
        {"A": ("M", "K"), "B": ("K", "N"), "v": ("K",), "w": ("M", 1)},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("split", [1, 2])
def test_a_tile_is_full_where_no_value_is_outside(case, split):
    make, shapes = CASES[case]
    loops = loops_of(make(), **SMALL, split_k=split)
    rows, cols, depth = loops.options.step
    for m, n, k in product((1, 31, 32, 33, 64), (15, 16, 17), (1, depth, depth + 1, 2 * depth)):
        sizes = {"M": m, "N": n, "K": k}
        for by, bx, kt in product(range(-(-m // rows)), range(-(-n // cols)), range(-(-k // depth))):
            for tensor, shape in shapes.items():
                load = loops.movements[f"load_{tensor}"]
                (op,) = load.ops
                at = {**sizes, "by": by, "bx": bx, "kt": kt}
                calls = next(e for e in loops.operands.pieces[0].extensions if e.space.out.name == load.statement)
                c, t = copies(calls)
                last = []
                for d, (e, extent) in enumerate(zip(op.index, shape)):
                    x = np.broadcast_to(e.evaluate({**at, "c": c, "t": t}), c.shape)
                    x = x + 7 * (d == op.along)
                    last.append((x < sizes.get(extent, extent)).all())
                assert all(last) == all(e.evaluate(at) >= 0 for e in load.full), (tensor, at)


def test_no_condition_where_sizes_are_multiples():
    for loops in (loops_of(matmul(), **SMALL, partial="pad"), loops_of(matmul(m=64, n=32, k=48), **SMALL)):
        assert {m.full for m in loops.movements.values()} == {()}
        assert not any(op.guarded for m in loops.movements.values() for op in m.ops if isinstance(op, GlobalLoad))


def test_a_tile_that_is_never_full():
    loops = loops_of(matmul(m=7), **SMALL)
    assert [str(e) for e in loops.movements["load_A"].full] == ["-1"]
    assert [str(e) for e in loops.movements["load_B"].full] == ["N - 16*bx - 16", "K - 16*kt - 16"]


@pytest.mark.parametrize(
    ("prologue", "needed"),
    [
        (lambda a, v: pv.relu(a), False),
        (lambda a, v: a * v, False),
        (lambda a, v: pv.sigmoid(a), True),
        (lambda a, v: a + 1, True),
    ],
)
def test_values_beside_k_are_masked_only_where_the_formula_does_not_keep_zero(prologue, needed):
    loops = loops_of(prologue(operand("A", (M, K)), operand("v", (K,))) @ operand("B", (K, N)), **SMALL)
    found = [op for m in loops.movements.values() for op in m.ops if isinstance(op, Pointwise)]
    assert [op.inside is not None for op in found] == [needed]
    padded = loops_of(prologue(operand("A", (M, K)), operand("v", (K,))) @ operand("B", (K, N)), **SMALL, partial="pad")
    assert [op.inside for m in padded.movements.values() for op in m.ops if isinstance(op, Pointwise)] == [None]
