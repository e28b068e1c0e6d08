"""Fragments by `ldmatrix`: what arrives, lane by lane by the PTX manual; banks; which interleave is taken, and when."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.layouts.bank_model import conflict_degree
from polyvolta.cuda.layouts.fragments import NotDelivered, OperandTile, cyclic_stores, matrix_access, plan_operands
from polyvolta.cuda.target.ampere import SM_80
from polyvolta.cuda.target.macro_mma import Composition, Interleave
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.cuda.target.turing import SM_75

ORDERS = {"row": (0, 1), "col": (1, 0)}
PAIRS = list(product(ORDERS, repeat=2))
MACROS = [(t, name) for t in (SM_75, SM_80) for name in t.macro_names]
IDS = [f"{t.name}-{name}" for t, name in MACROS]
WIDE, NATURAL = ("r0", "s0", "s1", "r1", "r2"), ("r0", "r1", "r2", "s0", "s1")


def tiles(a, b, sides, depth, threads=128):
    made = []
    for dims, size, layout in ((("i", "k"), (sides[0], depth), a), (("k", "j"), (depth, sides[1]), b)):
        made.append(OperandTile(dims, size, ORDERS[layout], cyclic_stores(size, ORDERS[layout], threads)))
    return tuple(made)


def ldmatrix(lines, values_of, count, transposed):
    """Registers of all lanes, two values each, by the manual: lane 8j + r names line r of matrix j; register j of lane
    l holds elements 2(l mod 4) and the next of line l / 4, or of the transposed matrix."""
    matrices = [np.array([values_of(lines[8 * j + r]) for r in range(8)]) for j in range(count)]
    matrices = [m.T if transposed else m for m in matrices]
    return [[m[lane // 4, 2 * (lane % 4) + h] for m in matrices for h in (0, 1)] for lane in range(32)]


@pytest.mark.parametrize(("target", "name"), MACROS, ids=IDS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("depth", [16, 32, 64])
def test_what_arrives_is_what_lanes_own_and_nothing_conflicts(target, name, a, b, depth):
    """A memory of numbered values is filled by the stores and read by instructions, both by way of the layout."""
    macro_sides = target.macro_mma(name).shape[:2]
    both = tiles(a, b, [max(64, s) for s in macro_sides], depth)
    (plan,) = plan_operands(target.macro_mma(name), [both])
    m, n, k = plan.macro.shape
    for tile, of, own, extents in ((both[0], plan.a, plan.macro.a, (m, k)), (both[1], plan.b, plan.macro.b, (k, n))):
        run = tile.order[1]
        memory, degrees = {}, set()

        def chunk(element, of=of, tile=tile):
            (found,) = of.layout.evaluate(dict(zip(tile.dims, map(int, element))))
            return int(found)

        for lanes in tile.stores.tolist():
            held = [e for e in lanes if e[0] >= 0]
            if len(held) == 32:
                degrees.add(conflict_degree([16 * chunk(e) for e in held], 16))
            for e in held:
                memory[chunk(e)] = [tuple(x + v * (d == run) for d, x in enumerate(e)) for v in range(8)]
        assert len(memory) == tile.size[0] * tile.size[1] // 8
        access, got = of.matrix, {}
        for origin in product(*(range(0, s, e) for s, e in zip(tile.size, extents))):
            for step in range(access.lines.inputs[1][1]):
                named = [access.lines.evaluate({"lane": lane, "n": step}) for lane in range(32)]
                starts = [tuple(int(o + x) for o, x in zip(origin, e)) for e in named]
                assert all(e[run] % 8 == 0 for e in starts)
                degrees.add(conflict_degree([16 * chunk(e) for e in starts], 16))
                lines = [[8 * chunk(e) + v for v in range(8)] for e in starts]
                values = ldmatrix(lines, np.array, access.count, access.transposed)
                for lane, registers in enumerate(values):
                    for i, number in enumerate(registers):
                        got[origin, lane, 2 * access.count * step + i] = memory[number // 8][number % 8]
        wanted = {
            (origin, lane, i): tuple(int(o + x) for o, x in zip(origin, own.evaluate({"lane": lane, "i": i})))
            for origin, lane, i in got
        }
        assert got == wanted
        assert {i for *_, i in got} == set(range(own.inputs[1][1]))
        assert degrees == {1}


@pytest.mark.parametrize(("b", "cols"), [("col", WIDE), ("row", NATURAL)])
def test_a_lane_has_eight_values_of_the_result_in_a_row_where_the_layout_of_b_allows(b, cols):
    (plan,) = plan_operands(SM_80.macro_mma("m16n32k16"), [tiles("row", b, (64, 64), 64)])
    assert plan.macro == SM_80.macro_mma("m16n32k16").of("row", b, Interleave(*_sides(cols)))
    held = [plan.macro.d.evaluate({"lane": 5, "i": i}) for i in range(plan.macro.values[2])]
    columns = sorted(int(c) for r, c in held if r == 1)
    assert (columns == list(range(8, 16))) == (b == "col")


def _sides(cols):
    rows, _, ks = SM_80.macro_mma("m16n32k16").interleave.sides
    return rows, cols, ks


def test_contractions_with_different_layouts_share_an_interleave():
    """What one operand cannot have, none has: their accumulators are one."""
    pairs = [tiles("row", "col", (64, 64), 64), tiles("col", "row", (64, 64), 64)]
    one, two = plan_operands(SM_80.macro_mma("m16n32k16"), pairs)
    assert one.macro.d == two.macro.d == SM_80.macro_mma("m16n32k16").of("row", "row").d


def test_an_interleave_whose_lines_are_no_lines_is_refused():
    made = SM_80.macro_mma("m16n32k16").of("row", "row", Interleave(*_sides(WIDE)))
    assert not matrix_access(made.b, (1, 0), LDMATRIX).transposed
    with pytest.raises(NotDelivered, match=r"ldmatrix.*x4.trans.* does not bring"):
        matrix_access(made.b, (0, 1), LDMATRIX)


def test_k_that_no_matrix_has_side_by_side_is_refused_for_all_interleaves():
    made = SM_80.macro_mma("m16n16k16")
    apart = Composition(made.instructions, replace(made.interleave, ks=("r1", "r0", "r2", "r3")), LDMATRIX)
    with pytest.raises(NotDelivered, match="PV531"):
        plan_operands(apart, [tiles("row", "col", (64, 64), 64)])
