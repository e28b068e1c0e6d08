"""wgmma as data: the manual's fragments typed by hand, every N, places of operands, and a target with all of it."""

from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.target import BadTarget, Composition, Interleave, NoInstruction, UnknownTarget
from polyvolta.cuda.target.ampere import M16N8K16
from polyvolta.cuda.target.boxes import SWIZZLES, Swizzle
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.target.instruction import WARP, WARPGROUP, Scope, owned
from polyvolta.cuda.target.macro_mma import BadComposition
from polyvolta.cuda.target.matrix_load import STMATRIX
from polyvolta.cuda.target.warpgroup import A_FRAGMENT, WGMMA, Family, accumulator, wgmma
from polyvolta.sets import UnknownName

COLUMNS = range(8, 257, 8)


@pytest.mark.parametrize(
    ("thread", "i", "row", "col"),
    [  # the manual's figure of D: row, column of d0, d1, d2, d3 and so on
        (0, 0, 0, 0), (0, 1, 0, 1), (0, 2, 8, 0), (0, 3, 8, 1), (0, 4, 0, 8), (0, 7, 8, 9),
        (1, 0, 0, 2), (3, 1, 0, 7), (4, 0, 1, 0), (31, 0, 7, 6), (31, 3, 15, 7),
        (32, 0, 16, 0), (63, 2, 31, 6), (64, 0, 32, 0), (96, 1, 48, 1), (127, 3, 63, 7), (127, 127, 63, 255),
    ],
)  # fmt: skip
def test_the_accumulator_by_hand(thread, i, row, col):
    assert accumulator(256).evaluate({"thread": thread, "i": i}) == (row, col)


def test_the_accumulator_of_every_n_by_the_formula_of_integers():
    t = np.arange(128)[:, None]
    for n in COLUMNS:
        i = np.arange(n // 2)[None, :]
        row, col = accumulator(n).evaluate({"thread": t, "i": i})
        assert (row == ((t >> 5) << 4) + ((t & 31) >> 2) + ((i >> 1 & 1) << 3)).all()
        assert (col == ((i >> 2) << 3) + ((t & 3) << 1) + (i & 1)).all()
        assert len(np.unique(row * n + col)) == 64 * n and (row < 64).all() and (col < n).all()


def test_a_warp_has_16_rows_like_mma_of_a_warp():
    a, d = M16N8K16[0].a, M16N8K16[0].d
    made = wgmma(8, a="registers")
    assert made.of_warp("d").relation.is_equal(d.relation)
    assert made.of_warp("a").relation.is_equal(a.relation)
    assert (made.warp_rows, M16N8K16[0].warp_rows, M16N8K16[0].of_warp("a")) == (16, 16, a)
    with pytest.raises(BadTarget, match="no lane holds values of b"):
        made.of_warp("b")


def test_warps_that_hold_something_else_have_no_share():
    made = wgmma(8)
    (_, row), (_, col) = made.d.outputs
    turned = owned(4, 128, row=63 - row, col=col)
    with pytest.raises(BadTarget, match="16 rows apart"):
        replace(made, d=turned).of_warp("d")


@pytest.mark.parametrize("n", COLUMNS)
def test_every_n_is_one_instruction(n):
    made = SM_90A.macro_mma(f"m64n{n}k16")
    assert (made.name, made.shape, made.values) == (f"m64n{n}k16", (64, n, 16), (0, 0, n // 2))
    assert set(made.layouts) == {(a, b) for a in ("row", "col") for b in ("row", "col")}
    assert made.kinds == ("half", "bfloat16")
    for a, b in made.layouts:
        for kind, type_ in (("half", "f16"), ("bfloat16", "bf16")):
            macro = made.of(a, b, kind)
            assert macro.instruction.name == f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{type_}.{type_}"
            assert (macro.a.transposed, macro.b.transposed) == (int(a == "col"), int(b == "row"))
            assert macro.flops == 2 * 64 * n * 16 and macro.kind == kind and len(macro.steps) == 1


def test_a_in_registers():
    macro = WGMMA.of(64, "registers").of("row", "row")
    assert macro.a == A_FRAGMENT and macro.values == (8, 0, 32) and macro.b.transposed == 1
    assert macro.steps[0].a == tuple(range(8))


def test_the_target():
    SM_90A.check()
    assert (SM_90A.shared_bytes, SM_90A.block_registers, SM_90A.registers) == (232448, 65536, 255)
    assert (SM_90A.multiprocessors, SM_90A.cluster) == (132, 8)
    only = SM_90A.of_kind("bfloat16")
    assert only.kinds == ("bfloat16",) == only.macro_mma("m64n96k16").kinds == only.macro_mma("m16n32k16").kinds
    with pytest.raises(UnknownTarget) as found:
        SM_90A.macro_mma("m64n100k16")
    assert "did you mean 'm64n" in found.value.hint


def test_a_family_whose_map_is_wrong_is_no_target():
    made = WGMMA.of(16)
    bad = tuple(replace(i, d=owned(8, 128, row=i.d["row"], col=i.d["col"] // 2)) for i in made.instructions)

    class Odd(Family):
        def __iter__(self):
            return iter((replace(made, instructions=bad),))

    with pytest.raises(BadTarget, match=r"D\[0, 0\] of warpgroup 0 is 2 values"):
        replace(SM_90A, families=(Odd(),)).check()


@pytest.mark.parametrize(
    ("kind", "words", "make"),
    [
        (NoInstruction, "no N = 12", lambda: WGMMA.of(12)),
        (NoInstruction, "A in memory", lambda: WGMMA.of(16, "memory")),
        (NoInstruction, "not float", lambda: WGMMA.of(16).of_kind("float")),
        (UnknownName, "no layout", lambda: WGMMA.of(16).of("rows", "col")),
        (BadTarget, "columns is", lambda: Family((12,))),
        (BadTarget, "types is", lambda: Family(types=("f64",))),
        (BadTarget, "a in layout row is k-major, not mn-major", lambda: replace(wgmma(8), a=InShared("mn"))),
        (BadTarget, "b in layout col is k-major, not mn-major", lambda: replace(wgmma(8), b=InShared("mn"))),
        (BadTarget, "d is .*no ownership map", lambda: replace(wgmma(8), d=InShared("k"))),
        (BadTarget, "map of d is no function of thread < 128 and i", lambda: replace(wgmma(8), d=M16N8K16[0].d)),
        (BadTarget, "map of warps is no function of thread < 64", lambda: Scope("warp", WARP.unit, 64)),
    ],
)
def test_what_there_is_not_is_refused(kind, words, make):
    with pytest.raises(kind, match=words) as found:
        make()
    assert found.value.hint


def test_scopes_and_stores():
    assert (WARPGROUP.units, WARPGROUP.lanes(0)) == (1, tuple(range(128)))
    assert (WARPGROUP.index, WARP.index) == ("thread", "lane")
    assert wgmma(8, swizzles=(Swizzle(128),)).b.swizzles == SWIZZLES[:1]
    assert STMATRIX.name(2, False) == "stmatrix.sync.aligned.m8n8.x2.shared.b16"
    assert STMATRIX.opcode(4, True) == "STSM.16.MT88.4"


def test_a_composition_interleaves_what_lanes_hold():
    with pytest.raises(BadComposition, match="wgmma.* reads operands from shared memory"):
        Composition((wgmma(64),), Interleave(*(tuple(f"r{b}" for b in range(n)) for n in (6, 6, 4))))
