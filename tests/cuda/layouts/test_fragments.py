"""Operand plans: which swizzle and access width, and that no access of a kernel conflicts, for every tile there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.layouts.bank_model import conflict_degree
from polyvolta.cuda.layouts.fragments import OperandTile, access_width, cyclic_stores, fragment_loads, plan_operands
from polyvolta.cuda.layouts.swizzle import Accesses, NoSwizzle, Swizzle, conflicts, tile_layout
from tests.cuda.macros import COMPOSITIONS, MACRO_MMAS, macro_mma

ROW, COL = (0, 1), (1, 0)
ORDERS = {"row": ROW, "col": COL}
DEPTHS = (8, 16, 24, 32, 40, 48, 64, 96, 128, 256)
SIDES = {"m16n16k8": (16, 32, 48, 64, 80, 96, 112, 128, 256), "m32n32k8": (32, 64, 96, 128, 160, 256)}
LAYOUTS = list(product(("row", "col"), repeat=2))


def tiles(a, b, side, depth, threads=128):
    """The tiles of A and B, stored by so many threads in turn."""
    made = []
    for dims, size, layout in ((("row", "k"), (side, depth), a), (("k", "col"), (depth, side), b)):
        made.append(OperandTile(dims, size, ORDERS[layout], cyclic_stores(size, ORDERS[layout], threads)))
    return tuple(made)


def degrees(plan, tile, side):
    """The conflict degree of every store and fragment load, lane by lane, by the scalar bank model."""
    layout, access = (plan.a, plan.b)[side].layout, (plan.a, plan.b)[side].access
    own = (plan.macro.a, plan.macro.b)[side]
    m, n, k = plan.macro.shape
    names = tile.dims

    def address(element):
        (chunk,) = layout.evaluate(dict(zip(names, element)))
        return 16 * chunk + 2 * (element[tile.order[1]] % 8)

    found = set()
    for lanes in tile.stores.tolist():
        if all(x >= 0 for x, _ in lanes):
            found.add(conflict_degree([address(e) for e in lanes], 16))
    extents = ((m, k), (k, n))[side]
    for origin in product(*(range(0, s, e) for s, e in zip(tile.size, extents))):
        for i in range(0, plan.macro.values[side], access):
            owned = [own.evaluate({"lane": lane, "i": i}) for lane in range(32)]
            found.add(conflict_degree([address((origin[0] + r, origin[1] + c)) for r, c in owned], 2 * access))
    return found


@pytest.mark.parametrize(("name", "layouts"), list(product(MACRO_MMAS, LAYOUTS)))
@pytest.mark.parametrize("depth", [8, 32])
def test_a_small_tile_by_brute_force(name, layouts, depth):
    of_both = tiles(*layouts, 32, depth)
    (plan,) = plan_operands(COMPOSITIONS[name], [of_both])
    assert degrees(plan, of_both[0], 0) == {1}
    assert degrees(plan, of_both[1], 1) == {1}


@pytest.mark.parametrize(("name", "layout"), list(product(MACRO_MMAS, ORDERS)))
@pytest.mark.parametrize("depth", DEPTHS)
def test_every_tile_has_a_plan_without_conflicts(name, layout, depth):
    """All layouts, depths and sides: the layout is one-to-one and nothing conflicts, in both operands."""
    for side in SIDES[name]:
        both = tiles(layout, layout, side, depth)
        (plan,) = plan_operands(COMPOSITIONS[name], [both])
        for tile, of, own, extents in (
            (both[0], plan.a, plan.macro.a, (plan.macro.shape[0], 8)),
            (both[1], plan.b, plan.macro.b, (8, plan.macro.shape[1])),
        ):
            loads = fragment_loads(own, extents, tile.size, of.access)
            accesses = [Accesses(tile.stores, 8), Accesses(loads, of.access)]
            assert conflicts(of.layout, tile.order, 8, accesses) == 1
            assert len(chunks_of(of.layout, tile)) == side * depth // 8
        if depth % 16 == 0:
            assert plan.macro.d == MACRO_MMAS[name]().d  # the preferred interleave


def chunks_of(layout, tile):
    """The numbers of all chunks of a tile."""
    rows, cols = np.meshgrid(*map(np.arange, tile.size), indexing="ij")
    (chunks,) = layout.evaluate(dict(zip(tile.dims, (rows, cols))))
    counts = dict(zip(*np.unique(chunks, return_counts=True)))
    assert set(counts.values()) == {8}
    return counts


PLAIN = {  # the degree of unswizzled fragment loads of tiles of 128 rows or columns, by depth 16, 32, 64
    ("m16n16k8", 0, "row"): (2, 4, 8),  # the facts
    ("m16n16k8", 1, "col"): (1, 2, 4),
    ("m32n32k8", 1, "col"): (1, 2, 4),
    ("m16n16k8", 0, "col"): (4, 4, 4),  # four k, 128 rows apart
    ("m32n32k8", 0, "col"): (4, 4, 4),
}


@pytest.mark.parametrize(("name", "side", "layout"), PLAIN)
def test_unswizzled_loads_conflict_as_known(name, side, layout):
    macro = macro_mma(name, layout if side == 0 else "row", layout if side == 1 else "col")
    own, order = (macro.a, macro.b)[side], ORDERS[layout]
    extents = ((macro.shape[0], 8), (8, macro.shape[1]))[side]
    found = []
    for depth in (16, 32, 64):
        size = ((128, depth), (depth, 128))[side]
        access = access_width(own, order)
        plain = tile_layout(("x", "y"), size, order, Swizzle(), 8)
        found.append(conflicts(plain, order, 8, [Accesses(fragment_loads(own, extents, size, access), access)]))
    assert tuple(found) == PLAIN[name, side, layout]


def load_degree(swizzle, own, depth):
    layout = tile_layout(("row", "k"), (64, depth), ROW, swizzle, 8)
    return conflicts(layout, ROW, 8, [Accesses(fragment_loads(own, (32, 8), (64, depth), 8), 8)])


def test_the_facts_about_the_wider_interleave():
    """Row-major A of m32n32k8: the first swizzle of m16n16k8 is 2-way, two parts of the row repair it."""
    own = macro_mma("m32n32k8").a
    assert load_degree(Swizzle(((0, 0, 3),)), own, 64) == 2
    repaired = Swizzle(((0, 0, 2), (2, 3, 1)))
    assert load_degree(repaired, own, 64) == 1
    (plan,) = plan_operands(COMPOSITIONS["m32n32k8"], [tiles("row", "col", 64, 64)])
    assert plan.a.swizzle == repaired


@pytest.mark.parametrize(("depth", "swizzle"), [(16, (0, 2, 1)), (32, (0, 1, 2)), (64, (0, 0, 3)), (128, (0, 0, 3))])
def test_row_major_a_of_m16n16k8_gets_the_known_swizzle(depth, swizzle):
    (plan,) = plan_operands(COMPOSITIONS["m16n16k8"], [tiles("row", "col", 128, depth)])
    assert plan.a.swizzle == Swizzle((swizzle,))


@pytest.mark.parametrize(
    ("name", "a", "b", "widths"),
    [
        ("m16n16k8", "row", "col", (8, 8)),
        ("m16n16k8", "col", "col", (4, 8)),
        ("m16n16k8", "row", "row", (8, 4)),
        ("m16n16k8", "col", "row", (4, 4)),
        *[("m32n32k8", a, b, (8, 8)) for a, b in LAYOUTS],
    ],
)
def test_the_widths_of_fragment_loads(name, a, b, widths):
    (plan,) = plan_operands(COMPOSITIONS[name], [tiles(a, b, 64, 32)])
    assert (plan.a.access, plan.b.access) == widths


def test_contractions_of_one_kernel_share_the_accumulators_map():
    plans = plan_operands(
        COMPOSITIONS["m32n32k8"], [tiles(a, b, 64, d) for (a, b), d in zip(LAYOUTS, (16, 32, 64, 32))]
    )
    assert [p.macro.instruction.layouts for p in plans] == LAYOUTS
    assert len({p.macro.d for p in plans}) == 1


@pytest.mark.parametrize("depth", [8, 24, 40])
def test_where_no_swizzle_helps_another_interleave_does(depth):
    """Rows of an odd number of chunks can't be swizzled; with quad-pairs next to quads the loads go without."""
    (plan,) = plan_operands(COMPOSITIONS["m32n32k8"], [tiles("row", "row", 64, depth)])
    preferred = macro_mma("m32n32k8", "row", "row")
    assert plan.a.swizzle == Swizzle()
    assert plan.macro.a != preferred.a
    assert plan.macro.b == preferred.b  # columns go their own way
    own = fragment_loads(preferred.a, (32, 8), (64, depth), 8)
    plain = tile_layout(("row", "k"), (64, depth), ROW, Swizzle(), 8)
    assert conflicts(plain, ROW, 8, [Accesses(own, 8)]) == 2
    # rows of A and of the accumulator still interleave alike
    rows_of_a = {lane: {plan.macro.a.evaluate({"lane": lane, "i": i})[0] for i in range(16)} for lane in range(32)}
    rows_of_d = {lane: {plan.macro.d.evaluate({"lane": lane, "i": i})[0] for i in range(32)} for lane in range(32)}
    for quad in range(8):
        of_quad = range(4 * quad, 4 * quad + 4)
        assert set().union(*(rows_of_a[x] for x in of_quad)) == set().union(*(rows_of_d[x] for x in of_quad))


def test_stores_count_as_much_as_loads():
    """Stores to lines 0 and 16 want bit 4 of the line in the swizzle, where the loads need all three bits of it."""
    stores = np.zeros((1, 32, 2), int)
    stores[0, :, 0] = np.arange(32) % 2 * 16
    a, b = tiles("row", "col", 32, 64)
    with pytest.raises(NoSwizzle, match="32x64 tile") as error:
        plan_operands(COMPOSITIONS["m16n16k8"], [(OperandTile(a.dims, a.size, a.order, stores), b)])
    assert "2-way" in str(error.value)


def test_the_stores_cover_the_tile():
    stores = cyclic_stores((48, 24), COL, 64)
    active = stores[(stores >= 0).all(-1)]
    assert sorted(map(tuple, active.tolist())) == [(r, c) for r in range(0, 48, 8) for c in range(24)]
    assert stores.shape == (6, 32, 2)  # 144 chunks for 64 threads: three rounds of two warps
