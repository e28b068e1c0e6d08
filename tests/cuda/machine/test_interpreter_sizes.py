"""The interpreter where tiles are partial, arrays are views, and something follows the product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    Inside,
    KernelIR,
    Pointwise,
    RegisterArray,
    Scale,
    SharedStore,
    When,
)
from polyvolta.cuda.machine.interpreter import BadTensor, Diverged, NotAChunk, OutOfBounds, interpret
from polyvolta.cuda.run.views import leading_dimension, narrowed, widest
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.functions.formula import Call, Input, Number
from polyvolta.sets import aff, var
from tests.cuda.ir.ir_example import c_index, exchange, matmul_ir, problem, relative_error, rewritten, unrolled

SMALL = {"M": 64, "N": 96, "K": 48}
LANE = var("lane")
OUT, RIGHT = Element("output", (aff(0),)), Element("right", (aff(0),))


def view(shape: tuple[int, int], order: str, ld: int, offset: int, fill: float = np.nan) -> np.ndarray:
    """An array amid a larger one full of `fill`, a line and `offset` values behind a 16-byte boundary."""
    lines, run = shape if order == "C" else shape[::-1]
    around = np.full(offset + (lines + 2) * ld + 16, fill, np.float16)
    start = -around.ctypes.data % 16 // 2 + offset
    inner = np.lib.stride_tricks.as_strided(around[start + ld :], (lines, run), (2 * ld, 2))
    return inner if order == "C" else inner.T


def fitted(ir: KernelIR, tensors: Mapping[str, np.ndarray]) -> KernelIR:
    """The kernel for accesses as wide as the arrays allow."""
    widths = {}
    for t in ir.tensors:
        array = tensors[t.name]
        ld = leading_dimension(t.name, array.shape, [s // 2 for s in array.strides], t.order)
        widths[t.name] = widest(array.ctypes.data, ld)
    return narrowed(ir, widths)


def run(ir: KernelIR, sizes: Mapping[str, int], tensors: Mapping[str, np.ndarray], **scalars: float) -> None:
    interpret(fitted(ir, tensors), tensors, sizes, scalars)


# ---- every size


@settings(max_examples=40, deadline=None)
@given(m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(0, 50), kind=st.sampled_from(["half", "float"]))
def test_any_sizes_against_float64(m, n, k, kind):
    sizes = {"M": m, "N": n, "K": k}
    tensors = problem(sizes, 7 * m + n)
    run(matmul_ir(guarded=True, kind=kind), sizes, tensors)
    if k == 0:
        assert (tensors["C"] == 0).all()
    else:
        assert relative_error(tensors) <= 5e-4


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.fixed_dictionaries({s: st.integers(1, 40) for s in "MNK"}),
    more=st.fixed_dictionaries({t: st.tuples(st.integers(0, 20), st.integers(0, 8)) for t in "ABC"}),
)
def test_views_into_larger_arrays_are_read_and_written_alone(sizes, more):
    inner = problem(sizes, 1)
    orders = {"A": "C", "B": "F", "C": "C"}
    tensors = {}
    for name, array in inner.items():
        run_length = array.shape[1 if orders[name] == "C" else 0]
        ld, offset = run_length + more[name][0], more[name][1]
        tensors[name] = view(array.shape, orders[name], ld, offset)
        tensors[name][...] = array
    around = tensors["C"]
    while around.base is not None and isinstance(around.base, np.ndarray):
        around = around.base
    before = around.view(np.uint16).copy()
    run(matmul_ir(guarded=True), sizes, tensors)
    assert relative_error(tensors) <= 5e-4  # what lies around the operands is NaN
    written = (around.view(np.uint16) != before).sum()
    assert written == tensors["C"].size  # full of NaNs before, and everything around still is


def test_full_tiles_take_the_unguarded_branch_and_partial_ones_the_other():
    seen = {True: 0, False: 0}

    def count(machine, op, values):
        if isinstance(op, GlobalStore):
            seen[op.guarded] += 1

    sizes = {"M": 40, "N": 32, "K": 16}
    tensors = problem(sizes, 0)
    interpret(matmul_ir(guarded=True), tensors, sizes, hook=count)
    assert seen == {False: 4, True: 4}  # fragments of the full block and of the partial one, each by itself


def test_a_branch_and_its_orelse_share_the_threads():
    """Each lane stores its run, those of even rows in the body and the others in `orelse`."""

    def both(op):
        if not isinstance(op, GlobalStore):
            return op
        return When((-(LANE // 2 % 2),), (op,), uniform=False, orelse=(op,))

    tensors = problem(SMALL, 0)
    interpret(rewritten(matmul_ir(), both), tensors, SMALL)
    assert relative_error(tensors) <= 5e-4


# ---- alignment, as on the machine


@pytest.mark.parametrize(
    ("name", "ld", "offset", "fits"),
    [("A", 48, 0, 8), ("A", 52, 0, 4), ("A", 50, 0, 2), ("A", 49, 0, 1), ("A", 48, 4, 4), ("A", 48, 2, 2),
     ("A", 56, 1, 1), ("B", 48, 0, 8), ("B", 52, 0, 4), ("B", 48, 6, 2), ("C", 100, 0, 4), ("C", 96, 3, 1)],
)  # fmt: skip
def test_an_access_wider_than_address_or_leading_dimension_allow_is_refused(name, ld, offset, fits):
    tensors = problem(SMALL, 0)
    array = tensors[name]
    tensors[name] = view(array.shape, "F" if name == "B" else "C", ld, offset)
    tensors[name][...] = array
    for align in (8, 4, 2, 1):
        ir = narrowed(matmul_ir(), {name: align})
        if align <= fits:
            interpret(ir, tensors, SMALL)
            assert relative_error(tensors) <= 5e-4
        else:
            with pytest.raises(BadTensor, match=f"{name}: accesses of {align} values need an address"):
                interpret(ir, tensors, SMALL)


def test_an_index_that_starts_between_boundaries_is_refused():
    def shifted(op):
        if not isinstance(op, GlobalLoad) or op.tensor != "A":
            return op
        return replace(op, index=(op.index[0], op.index[1] % 16 + 4))

    tensors = problem(SMALL, 0)
    with pytest.raises(NotAChunk, match=r"load_A: an access of 8 values to A that isn't aligned to 16 bytes"):
        interpret(rewritten(matmul_ir(), shifted), tensors, SMALL)
    interpret(narrowed(rewritten(matmul_ir(), shifted), {"A": 4}), tensors, SMALL)


def test_an_unguarded_access_outside_is_refused_where_a_guarded_one_is_not():
    sizes = SMALL | {"N": 90}
    tensors = problem(sizes, 0)
    with pytest.raises(OutOfBounds, match="outside of B"):
        run(replace(matmul_ir(), context=()), sizes, tensors)
    run(matmul_ir(guarded=True), sizes, tensors)
    assert relative_error(tensors) <= 5e-4


def test_arrays_whose_lines_overlap_or_run_backwards_are_refused():
    sizes = {"M": 64, "N": 96, "K": 48}
    tensors = problem(sizes, 0)
    for wrong in (tensors["A"][::-1], tensors["A"][:, ::-1], np.broadcast_to(tensors["A"][:1], (64, 48))):
        with pytest.raises(BadTensor, match="A: "):
            interpret(matmul_ir(), tensors | {"A": wrong}, sizes)


# ---- what follows the product


def epilogue_ir(*steps, more: GlobalTensor | None = None, along: int | None = 1, scalars=(), guarded=True) -> KernelIR:
    """The product, then steps on `output` with a run of a second tensor in `right`."""
    load = ()
    if more is not None:
        index = c_index()
        index = index if len(more.dims) == 2 else (index[1],) if along is not None else (index[0],)
        load = (GlobalLoad(RIGHT, more.name, index, 0 if along == 1 and len(index) == 1 else along, guarded=True),)
    return matmul_ir(
        guarded=guarded,
        kind="float",
        epilogue=(*load, *steps),
        more_tensors=() if more is None else (more,),
        more_registers=(RegisterArray("right", "half", (1,)),),
        scalars=scalars,
    )


def exact(tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    return tensors["A"].astype(np.float32) @ tensors["B"].astype(np.float32)


BIASES = [
    (GlobalTensor("D", ("M", "N"), (0, 1)), 1, lambda rng, m, n: rng.standard_normal((m, n))),
    (GlobalTensor("D", ("M", "N"), (1, 0)), 1, lambda rng, m, n: np.asfortranarray(rng.standard_normal((m, n)))),
    (GlobalTensor("D", ("N",), (0,)), 1, lambda rng, m, n: rng.standard_normal(n)),
    (GlobalTensor("D", ("M",), (0,)), None, lambda rng, m, n: rng.standard_normal(m)),
]


@pytest.mark.parametrize("sizes", [SMALL, {"M": 37, "N": 29, "K": 11}], ids=str)
@pytest.mark.parametrize(("tensor", "along", "make"), BIASES, ids=["row", "col", "vector", "column vector"])
def test_an_operand_of_the_epilogue_is_read_along_any_dimension(sizes, tensor, along, make):
    add = Pointwise(OUT, "add", Call("add", (Input(0), Input(1))), (OUT, RIGHT))
    tensors = problem(sizes, 3)
    d = make(np.random.default_rng(5), sizes["M"], sizes["N"]).astype(np.float16, order="K")
    run(epilogue_ir(add, more=tensor, along=along), sizes, tensors | {"D": d})
    expected = exact(tensors) + (d[:, None] if along is None else d).astype(np.float32)
    assert np.allclose(tensors["C"], expected, rtol=2e-3, atol=2e-3)


def test_formulas_are_computed_in_fp32_and_rounded_once():
    """(x + 1) - 1 of a small x: fp32 keeps 2^-12 where fp16 would lose it."""
    sizes = {"M": 32, "N": 32, "K": 16}
    tensors = problem(sizes, 0)
    tensors["A"][...], tensors["B"][...] = 0, 0
    tensors["A"][:, 0], tensors["B"][0] = 2.0**-12, 1
    shift = Call("sub", (Call("add", (Input(0), Number(1.0))), Number(1.0)))
    run(epilogue_ir(Pointwise(OUT, "shift", shift, (OUT,))), sizes, tensors)
    assert (tensors["C"] == np.float16(2.0**-12)).all()


def test_scalars_given_at_launch():
    scale = Pointwise(OUT, "scale", Call("mul", (Input(1), Input(0))), (OUT, "alpha"))
    ir, tensors = epilogue_ir(scale, scalars=("alpha",)), problem(SMALL, 0)
    run(ir, SMALL, tensors, alpha=-0.5)
    assert np.allclose(tensors["C"], -0.5 * exact(tensors), rtol=2e-3, atol=2e-3)
    with pytest.raises(BadTensor, match="no value for the scalar alpha of kern0"):
        run(ir, SMALL, tensors)


def test_values_outside_are_zero_after_the_formula():
    """1 / 0 in the padding of A's k is infinite, and infinity times B's padding, 0, is NaN in every result."""
    sizes = {"M": 32, "N": 32, "K": 11}
    tensors = problem(sizes, 0)
    tensors["A"][...] = np.sign(tensors["A"]) * (1 + np.abs(tensors["A"]))

    def prologue(masked: bool):
        def change(op):
            if not isinstance(op, SharedStore) or op.tile != "shared_A":
                return op
            box = Inside((16 * var("c2") + 16 + op.index[1],), (var("K"),), 0) if masked else None
            inverse = Pointwise(op.source, "inverse", Call("div", (Number(1.0), Input(0))), (op.source,), box)
            return unrolled("once", 1, inverse, op)

        return rewritten(matmul_ir(guarded=True), change)

    run(prologue(True), sizes, tensors)
    a = (1 / tensors["A"].astype(np.float32)).astype(np.float16)
    assert relative_error(tensors | {"A": a}) <= 5e-4
    run(prologue(False), sizes, tensors)
    assert np.isnan(tensors["C"]).all()


def test_scale_multiplies_the_accumulator():
    body = matmul_ir(kind="float").body
    acc = Element("hmma_C", (var("c9"), var("c10")))
    halved = [replace(body[2], body=(replace(body[2].body[0], body=(Scale(acc, -0.5), *body[2].body[0].body)),))]
    tensors = problem(SMALL, 0)
    interpret(replace(matmul_ir(kind="float"), body=(*body[:2], *halved)), tensors, SMALL)
    assert np.allclose(tensors["C"], -0.5 * exact(tensors), rtol=2e-3, atol=2e-3)


# ---- split K, buffers, overlaps, narrow fragment loads


def test_parts_are_added_from_the_slots_of_a_stride():
    """Two warps with the same tile store to slots 0 and 1; warp 0 adds both."""
    ir = matmul_ir((32, 32, 16), (32, 16), kind="float")  # two warps, side by side
    same = {"warpIdx_x": aff(0)}

    def change(op):
        if isinstance(op, ExchangeLoad):
            return When((-var("warp"),), (replace(op, slot=aff(0), parts=2, stride=1),), uniform=False)
        if isinstance(op, GlobalStore):
            return When((-var("warp"),), (op,), uniform=False)
        if isinstance(op, Barrier):
            return replace(op, scope="block")
        return op

    derived = tuple((n, same.get(n, e)) for n, e in ir.derived)
    tensors = problem(SMALL, 0)
    interpret(replace(rewritten(ir, change), derived=derived), tensors, SMALL)
    left = np.arange(96) % 32 < 16
    assert np.allclose(tensors["C"][:, left], 2 * exact(tensors)[:, left], rtol=2e-3, atol=2e-3)
    assert np.isnan(tensors["C"][:, ~left]).all()


def test_tiles_have_buffers_by_number():
    def numbered(op):
        ahead = isinstance(op, SharedStore)  # stores are one k tile ahead of loads
        return replace(op, buffer=(var("c2") + ahead) % 2) if isinstance(op, SharedStore | FragmentLoad) else op

    ir = rewritten(matmul_ir(), numbered)
    doubled, start = [], 0
    for t in ir.tiles:
        doubled.append(replace(t, start=start, buffers=1 if t.name == "exchange" else 2))
        start += doubled[-1].bytes // 16
    tensors = problem(SMALL, 0)
    interpret(replace(ir, tiles=tuple(doubled)), tensors, SMALL)
    assert relative_error(tensors) <= 5e-4
    with pytest.raises(OutOfBounds, match=r"the buffers of shared_A\[1\] is outside"):
        interpret(ir, problem(SMALL, 0), SMALL)


def test_tiles_that_overlap_share_their_memory():
    """The exchange over the operands' tiles is right only behind a barrier that lockstep has anyway."""
    ir = matmul_ir()
    over = tuple(replace(t, start=0) if t.name == "exchange" else t for t in ir.tiles)
    tensors = problem(SMALL, 0)
    interpret(replace(ir, tiles=over), tensors, SMALL)
    assert relative_error(tensors) <= 5e-4
    one = tuple(replace(t, start=0) for t in ir.tiles)
    interpret(replace(ir, tiles=one), tensors, SMALL)
    assert relative_error(tensors) > 0.1


def test_fragments_loaded_64_bits_at_a_time():
    """With the halves of every chunk exchanged, in A and in B, the sum over k is the same, in narrower accesses."""

    def halves(op, access):
        if not isinstance(op, FragmentLoad):
            return op
        outputs = tuple((n, (e + 4) % 8 if n == "k" else e) for n, e in op.ownership.outputs)
        return replace(op, access=access, ownership=IndexMap(op.ownership.inputs, outputs))

    tensors = problem(SMALL, 0)
    interpret(rewritten(matmul_ir(), lambda op: halves(op, 4)), tensors, SMALL)
    assert relative_error(tensors) <= 5e-4
    with pytest.raises(NotAChunk, match="loads at once aren't one chunk of shared_A"):
        interpret(rewritten(matmul_ir(), lambda op: halves(op, 8)), tensors, SMALL)


# ---- what else must agree


def test_a_name_outside_of_its_range_is_refused():
    ir = matmul_ir()
    with pytest.raises(OutOfBounds, match=r"c2 takes the values \[-1\], not in its range 0 \.\. None"):
        interpret(replace(ir, ranges={**ir.ranges, "c2": (0, None)}), problem(SMALL, 0), SMALL)


def test_a_round_and_a_register_index_are_one_number_for_all():
    def by_lane(op):
        return replace(op, round=LANE // 16) if isinstance(op, ExchangeLoad) else op

    with pytest.raises(Diverged, match="the round of an exchange differs"):
        interpret(rewritten(matmul_ir(), by_lane), problem(SMALL, 0), SMALL)


def test_slots_are_those_of_the_buffer():
    def far(op):
        return replace(op, slot=op.slot + 1) if isinstance(op, ExchangeStore) else op

    with pytest.raises(OutOfBounds, match=r"the slots of exchange\[1\]"):
        interpret(rewritten(matmul_ir(), far), problem(SMALL, 0), SMALL)


def test_the_exchanges_of_the_example_are_permutations():
    for kind in ("half", "float"):
        ex, seen = exchange(kind), {}
        length = len(ex.pieces[0])
        for lane in range(32):
            for values, place in zip(ex.pieces, ex.store.evaluate({"lane": lane}), strict=True):
                seen |= {place * length + n: (lane, v) for n, v in enumerate(values)}
        assert sorted(seen) == [*range(256)]
