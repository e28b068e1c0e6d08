"""Texts of epilogues of warpgroups: operands where accumulators are, on the host; the stores of fragments."""

import ctypes
from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import Element, SharedTile, StoreMatrix
from polyvolta.cuda.ir.operations import side_by_side
from polyvolta.cuda.layouts.result_boxes import plan_result, stored_fragment
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANE, I, owned
from polyvolta.cuda.target.warpgroup import wgmma
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.helpers import global_fragment, matrix_store
from polyvolta.cuda.text.helpers.device_function import DeviceFunctions
from polyvolta.cuda.text.helpers.kinds import function_in
from polyvolta.sets import aff
from tests.cuda.host import needs_compiler
from tests.cuda.text.device_on_host import library

OWN = owned(8, row=LANE // 4 + 8 * (I // 2 % 2), col=2 * (LANE % 4) + I % 2 + 8 * (I // 4))
INDICES = {"matrix": (0, 1), "turned": (1, 0), "row": (1,), "column": (0,), "stretched": (0, 2), "number": (2, 2)}
LOADS = [(name, order, guarded) for name, at in INDICES.items()
         for order in ([(0,)] if len(at) == 1 else [(0, 1), (1, 0)]) for guarded in (False, True)]  # fmt: skip
LD, LINES, LENGTH = 40, 21, 23


def own_of(name):
    """Where a lane's values are in a tensor whose coordinates are these of the result; 2: the number 0."""
    return IndexMap(OWN.inputs, tuple((f"d{d}", (*OWN.exprs, aff(0))[p]) for d, p in enumerate(INDICES[name])))


def wide(name, order):
    return min(2, side_by_side(own_of(name), order[-1]))


@pytest.fixture(scope="module")
def loads(tmp_path_factory):
    wrappers = []
    for n, (name, order, guarded) in enumerate(LOADS):
        function = global_fragment.load(own_of(name), order, wide(name, order), guarded)
        where = "M, line, run, LD" if len(order) == 2 else "M, run"
        where += (", lines, length" if len(order) == 2 else ", length") if guarded else ""
        head = f"void load_{n}(half8 *v, fp16 *M, long long line, int run, int lines, int length, int lane)"
        wrappers.append((function, f"{head} {{ *v = NAME({where.replace('LD', str(LD))}, lane); }}"))
    return library(tmp_path_factory.mktemp("loads"), wrappers)


@needs_compiler
@pytest.mark.parametrize("case", LOADS, ids=lambda c: "-".join(map(str, c)))
def test_values_are_where_accumulators_are(loads, case):
    """Of a tensor full of different numbers; a guarded load leaves out what is beyond the extents."""
    name, order, guarded = case
    function, own = getattr(loads, f"load_{LOADS.index(case)}"), own_of(name)
    memory = np.arange(1, 1 + 64 * LD, dtype=np.uint16)
    out = np.zeros(16, np.uint16)
    out = out[-out.ctypes.data % 16 // 2 :][:8]
    seen = 0
    for at, lane in product([(0, 0), (2, 4), (16, 16), (24, 24)], range(32)):
        function(out.ctypes.data_as(ctypes.c_void_p), memory.ctypes.data_as(ctypes.c_void_p), ctypes.c_longlong(at[0]),
                 at[1], LINES, LENGTH, lane)  # fmt: skip
        for i in range(8):
            added = own.evaluate({"lane": lane, "i": i})
            line, run = (at[0] + added[order[0]], at[1] + added[order[1]]) if len(order) == 2 else (0, at[1] + added[0])
            inside = not guarded or (line < LINES and run < LENGTH)
            assert out[i] == (memory[line * LD + run] if inside else 0), (at, lane, i)
            seen += inside
    assert seen == 1024 if not guarded else 0 < seen < 1024


def test_two_at_a_time_where_they_are_side_by_side():
    assert [wide(name, order) for name, order, guarded in LOADS if guarded] == [2, 1, 1, 2, 2, 1, 1, 1, 1, 1]
    text = str(global_fragment.load(own_of("row"), (0,), 2, False))
    assert text.count("const unsigned v") == 2 and "return make_uint4(v0, v0, v1, v1);" in text


def test_values_apart_in_other_ways_have_no_text():
    own = owned(8, row=LANE // 4, col=(LANE + I) % 8)
    with pytest.raises(NotPrintable, match="differently far apart"):
        global_fragment.load(own, (0, 1), 1, False)


def text_of(order, kind="float", of="half", columns=64):
    """The store of a fragment, with all that it calls."""
    made = plan_result(wgmma(columns), order)
    part = stored_fragment(made, 16)
    tile = SharedTile("shared_C", 0, made.shape[0] * made.shape[1] // 8, made.layout, made.order)
    op = StoreMatrix(Element("c", (aff(0),)), "shared_C", (aff(0), aff(0)), part.own, part.lines, part.count,
                     made.transposed)  # fmt: skip
    functions = DeviceFunctions()
    functions.name(function_in(matrix_store.store_matrix(tile, op, kind, (16, 16)), of))
    return "\n".join(functions.texts())


def test_rows_are_stored_as_they_are():
    text = text_of((0, 1))
    assert '"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"' in text
    assert 'asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));' in text
    assert text.endswith("""\
static __device__ __forceinline__ void store_fragment_row_swizzled(half8 *tile, int row, int col, const float (&v)[8],
    int lane) {
  const int own = 128 * (lane % 16) + 16 * (lane % 8 ^ lane / 16);
  store_matrix_x4(((own + 128 * row) ^ 32 * (col / 16)) + shared_address(tile), round_half2(v[0], v[1]),
      round_half2(v[2], v[3]), round_half2(v[4], v[5]), round_half2(v[6], v[7]));
}""")


def test_columns_are_stored_transposed():
    text = text_of((1, 0), of="bfloat16")
    assert '"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"' in text
    assert "bf16x8 *tile, int col, int row" in text and "pack_bf16x2(v[6], v[7])" in text and "half8" not in text


def test_values_of_16_bits_are_stored_as_they_are():
    text = text_of((0, 1), kind="half")
    assert "const half8 &v" in text and "v.x, v.y, v.z, v.w);" in text and "cvt.rn" not in text
