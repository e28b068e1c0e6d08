"""The interpreter on a hand-written kernel: right against numpy, and wrong as soon as anything is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyvolta.cuda.ir.block_order import PLAIN
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    Barrier,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    Loop,
    Mma,
    SharedStore,
    When,
    Zero,
)
from polyvolta.cuda.machine import interpreter
from polyvolta.cuda.machine.interpreter import (
    POISON,
    BadTensor,
    Diverged,
    Machine,
    NotAChunk,
    OutOfBounds,
    gathers,
    interpret,
)
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import aff, var
from tests.cuda.ir.ir_example import matmul_ir, problem, relative_error, rewritten, swizzle, unrolled
from tests.cuda.macros import MACRO_MMAS, m16n16k8

SMALL = {"M": 64, "N": 96, "K": 48}
TILES = [
    ((32, 32, 16), (32, 32)),
    ((64, 64, 32), (32, 32)),
    ((64, 32, 64), (16, 32)),
    ((128, 128, 32), (64, 64)),
]


def run(ir: KernelIR, sizes: dict[str, int] = SMALL, seed: int = 0, hook=None) -> dict[str, np.ndarray]:
    tensors = problem(sizes, seed)
    interpret(ir, tensors, sizes, hook=hook)
    return tensors


def changed(kind: type, **fields) -> KernelIR:
    """The small kernel with fields of all operations of a kind replaced, each by a function of it."""

    def change(op):
        return replace(op, **{k: f(op) for k, f in fields.items()}) if isinstance(op, kind) else op

    return rewritten(matmul_ir(), change)


def is_wrong(ir: KernelIR) -> bool:
    """Whether it computes something, and something else than A @ B."""
    return relative_error(run(ir)) > 0.01  # not so for a NaN


# ---- right


@pytest.mark.parametrize(("block", "warp"), TILES)
@pytest.mark.parametrize("counts", [(1, 1, 1), (1, 3, 2), (2, 1, 5)])
def test_against_float64(block, warp, counts):
    sizes = {s: n * b for s, n, b in zip("MNK", counts, block, strict=True)}
    for seed in range(2):
        tensors = run(matmul_ir(block, warp), sizes, seed)
        assert relative_error(tensors) <= 5e-4  # no element kept the NaN that C was full of


def test_a_larger_product():
    sizes = {"M": 512, "N": 512, "K": 256}
    assert relative_error(run(matmul_ir((128, 128, 32), (64, 64)), sizes)) <= 5e-4


def test_the_operands_stay_as_they_are():
    before, after = problem(SMALL, 3), run(matmul_ir(), seed=3)
    assert all(np.array_equal(before[n], after[n]) for n in "AB")


def test_batches_of_blocks_change_nothing(monkeypatch):
    whole = run(matmul_ir())["C"]
    monkeypatch.setattr(interpreter, "BATCH_BYTES", 4 * interpreter._block_bytes(matmul_ir()))
    seen = []
    split = run(matmul_ir(), hook=lambda m, op, values: seen.append(m.shape[0]))["C"]
    assert {*seen} == {4, 2}  # six blocks
    assert np.array_equal(whole, split)


@pytest.mark.parametrize("grid", [(3, 2, 4), (1, 5, 1), (7, 1, 1)])
def test_blocks_are_numbered_along_x_first(grid):
    x, y, z = grid
    everyone = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
    for first, end in ((0, 2), (1, x * y * z), (x * y * z - 1, x * y * z)):
        assert [tuple(b) for b in PLAIN.blocks(grid, first, end).T] == everyone[first:end]


def test_results_round_to_nearest_even_and_overflow_to_infinity():
    sizes = {"M": 32, "N": 32, "K": 16}
    tensors = problem(sizes, 0)
    for n in "AB":
        tensors[n][:] = 0
    tensors["A"][:4, 0] = 1, 1, 3, 60000
    tensors["A"][:4, 1] = 2.0**-11, 2.0**-11 + 2.0**-20, 3 * 2.0**-11, 60000
    tensors["B"][:2, 0] = 1
    tensors["A"][2, 0] = 1
    interpret(matmul_ir(), tensors, sizes)
    # half a unit in the last place above 1, a little more than that, one and a half of them, too much
    assert tensors["C"][:4, 0].tolist() == [1, 1 + 2.0**-10, 1 + 2.0**-9, np.inf]


# ---- wrong as soon as anything is


def test_one_poisoned_word_of_shared_memory_reaches_the_results_that_need_it():
    def poison(machine: Machine, op, values) -> None:
        if isinstance(op, Barrier) and op.statement == "after" and values["c2"] == -1:
            words = machine.shared["shared_A"][1].view(np.uint32)  # of block (1, 0)
            words[5, 2] ^= 0x40004000  # chunk 5, values 4 and 5: swizzled, row 2, k = 8 and on

    right, wrong = run(matmul_ir())["C"], run(matmul_ir(), hook=poison)["C"]
    rows, cols = np.nonzero(right != wrong)
    assert {*rows} == {2}
    assert {*cols} == {*range(32, 64)}


def test_a_swizzle_on_one_side_alone_is_wrong():
    def unswizzled(op: SharedStore):
        """The element at which the swizzled layout has the chunk that an unswizzled one has for the index."""
        row, k = op.index if op.tile == "shared_A" else op.index[::-1]
        chunk = (k // CHUNK + swizzle(row, 16)) % 2  # with two chunks a row, exclusive-or is a sum modulo 2
        return (row, CHUNK * chunk) if op.tile == "shared_A" else (CHUNK * chunk, row)

    assert not is_wrong(matmul_ir())
    assert is_wrong(changed(SharedStore, index=unswizzled))


@pytest.mark.parametrize("operand", ["a", "b"])
def test_one_lane_that_owns_anothers_row_is_wrong(operand):
    first = 1 - (var("lane") + 31) // 32  # 1 in lane 0, else 0

    def own(op: FragmentLoad):
        moved = tuple((n, e if n == "k" else e + first) for n, e in op.ownership.outputs)
        return IndexMap(op.ownership.inputs, moved) if op.operand == operand else op.ownership

    assert is_wrong(changed(FragmentLoad, ownership=own))


def test_an_instruction_that_reads_its_own_ownership_map():
    """Not the macro's: with two lanes' rows of A exchanged in the instruction, the product changes."""

    def macro(op: Mma):
        a = op.macro.instruction.a
        row = a["row"] - 2 * (a["row"] % 2) + 1  # 0 and 1, 2 and 3, ... exchanged
        instruction = replace(op.macro.instruction, a=IndexMap(a.inputs, (("row", row), ("k", a["k"]))))
        return replace(op.macro, instruction=instruction)

    assert is_wrong(changed(Mma, macro=macro))


def test_the_order_of_the_exchanged_words_matters():
    assert is_wrong(changed(ExchangeLoad, exchange=lambda op: replace(op.exchange, words=tuple(range(8)))))


def test_shared_memory_that_nobody_wrote_is_nan():
    def one_tile(op):
        return None if isinstance(op, SharedStore) and op.tile == "shared_B" else op

    assert np.isnan(run(rewritten(matmul_ir(), one_tile))["C"]).all()


def test_memories_start_poisoned_and_hold_what_was_moved():
    seen = []

    def watch(machine: Machine, op, values) -> None:
        if isinstance(op, Zero) and values["c9"] == values["c10"] == 0:
            words = machine.registers["private_A"].view(np.uint16), machine.shared["shared_A"].view(np.uint16)
            assert all((w == POISON["half"].view(np.uint16)).all() for w in words)
            acc = machine.registers["hmma_C"].view(np.uint32)
            assert (acc[:, :, :, 0, 0] == 0).all()
            assert (acc[:, :, :, 1] == POISON["float"].view(np.uint32)).all()
        if isinstance(op, GlobalLoad) and op.tensor == "A":
            got = machine.registers["private_A"][:, 0, :, values["c5"]]
            seen.append(np.array_equal(got[2, 3], tensors["A"][16 * values["c5"] + 1, at(values) : at(values) + 8]))

    def at(values) -> int:
        return 16 * values["c2"] + 16 + 8  # block 2 is (2, 0); lane 3 is row 1, the second chunk

    tensors = problem(SMALL, 0)
    interpret(matmul_ir(), tensors, SMALL, hook=watch)
    assert len(seen) == 6
    assert all(seen)


# ---- the instruction


@pytest.mark.parametrize("layouts", [("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")])
@pytest.mark.parametrize("name", MACRO_MMAS)
def test_the_gathers_of_a_macro_mma_make_its_product(name, layouts):
    """Fragments filled by the macro's ownership maps, multiplied through the instruction's own, are a @ b."""
    macro = MACRO_MMAS[name](*layouts)
    m, n, k = macro.shape
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (k, n))

    def fragment(matrix, own):
        count = own.inputs[1][1]
        return np.array([[matrix[own.evaluate({"lane": lane, "i": i})] for i in range(count)] for lane in range(32)])

    left, right, d = fragment(a, macro.a), fragment(b, macro.b), np.zeros((32, macro.values[2]), int)
    for values, at_a, at_b, at_d in gathers(macro):
        d[:, values] += (left.ravel()[at_a] @ right.ravel()[at_b]).ravel()[at_d]
    assert np.array_equal(d, fragment(a @ b, macro.d))


# ---- guards


def test_a_guard_that_differs_between_blocks_masks_whole_blocks():
    def first_column(op):
        return When((-var("blockIdx.x"),), (op,)) if isinstance(op, GlobalStore) else op

    c = run(rewritten(matmul_ir(), first_column))["C"]
    assert not np.isnan(c[:, :32]).any()
    assert np.isnan(c[:, 32:]).all()


def test_a_guard_that_differs_between_threads_masks_threads():
    def lower_lanes(op):
        if not isinstance(op, GlobalLoad) or op.tensor != "A":
            return op
        return When((31 - 16 - var("lane"),), (op,), uniform=False)

    c = run(rewritten(matmul_ir(), lower_lanes))["C"]  # lanes 0..15 bring rows 0..7 of each 16
    assert np.array_equal(np.isnan(c).all(1), np.arange(64) % 16 >= 8)
    assert np.array_equal(np.isnan(c).any(1), np.arange(64) % 16 >= 8)


@pytest.mark.parametrize(("kind", "places"), [(GlobalLoad, "index"), (SharedStore, "index"), (FragmentLoad, "origin")])
def test_masked_threads_may_point_anywhere(kind, places):
    def in_halves(op):
        """The lower lanes, while the upper ones point far away and between chunks; then the upper lanes."""
        if not isinstance(op, kind):
            return op
        far = tuple(x + 4095 * (var("lane") // 16) for x in getattr(op, places))
        lower = When((15 - var("lane"),), (replace(op, **{places: far}),), uniform=False)
        return unrolled("both", 1, lower, When((var("lane") - 16,), (op,), uniform=False))

    assert relative_error(run(rewritten(matmul_ir(), in_halves))) <= 5e-4


def test_loop_bounds_may_differ_between_blocks():
    x = var("blockIdx.x")
    ir = matmul_ir()
    body = (*ir.body, Loop("again", (x, aff(1)), (aff(1),), 1, False, (Barrier(statement="counted"),)))
    masks = []
    machine_whole = Machine.whole

    def counting(self, op, mask, axes, group):
        if isinstance(op, Barrier) and op.statement == "counted":
            masks.append(mask[:, 0, 0].tolist())
        machine_whole(self, op, mask, axes, group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Machine, "whole", counting)
        run(replace(ir, body=body))
    assert masks == [[True, True, False] * 2]  # blocks x = 0, 1, 2, twice; block 2 runs from 2 to 1: not at all


@pytest.mark.parametrize(
    ("kind", "uniform", "message"),
    [
        (Mma, False, "Mma mma: only part of the lanes of a warp of block (0, 0, 0) takes part"),
        (ExchangeStore, False, "ExchangeStore exchange_C: only part of the lanes of a warp"),
        (Barrier, False, "Barrier before: only part of the threads of block"),
        (GlobalLoad, True, "marked uniform"),
    ],
)
def test_divergence_is_an_error_not_a_guess(kind, uniform, message):
    def guarded(op):
        return When((7 - var("lane"),), (op,), uniform) if isinstance(op, kind) else op

    with pytest.raises(Diverged) as caught:
        run(rewritten(matmul_ir(), guarded))
    assert message in str(caught.value)


def test_a_register_index_must_be_the_same_in_all_threads():
    def target(op: Zero):
        return replace(op.target, index=(var("lane") // 16, aff(0)))

    with pytest.raises(Diverged, match="hmma_C differs between threads"):
        run(changed(Zero, target=target))


# ---- refusals


@pytest.mark.parametrize(
    ("ir", "message", "where"),
    [
        (
            changed(GlobalLoad, index=lambda op: (op.index[0] + 8 * var("blockIdx.y"), *op.index[1:])),
            "GlobalLoad load_A: A[64, 0] (8 values along dimension 1) is outside of A[64, 48]",
            "thread 16 of block (0, 1, 0)",
        ),
        (
            changed(GlobalStore, index=lambda op: (op.index[0] - 1, op.index[1])),
            "GlobalStore store_C: C[-1, 0] (8 values along dimension 1) is outside of C[64, 96]",
            "thread 0 of block (0, 0, 0)",
        ),
        (
            changed(SharedStore, index=lambda op: tuple(8 * x for x in op.index)),
            "SharedStore store_A: shared_A[32, 0] is outside of shared_A[32, 16]",
            "thread 8 of block (0, 0, 0)",
        ),
        (
            changed(FragmentLoad, origin=lambda op: tuple(x + 8 for x in op.origin)),
            "FragmentLoad fragment_A: shared_A[32, 8] is outside of shared_A[32, 16]",
            "thread 16 of block (0, 0, 0)",
        ),
    ],
)
def test_out_of_bounds_says_which_statement_tensor_block_thread_and_index(ir, message, where):
    with pytest.raises(OutOfBounds) as caught:
        run(ir)
    assert str(caught.value).startswith(f"[PV520] {message}\n  {where}\nhint: ")


@pytest.mark.parametrize("chunks", [31, 127])
def test_an_exchange_buffer_that_is_too_small_for_the_warps_is_refused(chunks):
    ir = matmul_ir((64, 64, 16), (32, 32))
    tiles = tuple(replace(t, chunks=chunks) if t.name == "exchange" else t for t in ir.tiles)
    with pytest.raises(OutOfBounds, match=rf"is outside of the slots of exchange\[{chunks // 32}\]"):
        run(replace(ir, tiles=tiles), {"M": 64, "N": 64, "K": 16})


def test_a_register_out_of_bounds_is_refused():
    with pytest.raises(OutOfBounds, match=r"hmma_C\[2, 0\] is outside of hmma_C\[2, 2\]"):
        run(changed(Zero, target=lambda op: replace(op.target, index=(op.target.index[0] + 2, op.target.index[1]))))


@pytest.mark.parametrize(
    ("ir", "message"),
    [
        (changed(GlobalLoad, index=lambda op: (op.index[0], op.index[1] % 8 + 1)), "aligned to 16 bytes"),
        (changed(SharedStore, index=lambda op: tuple(x // 2 for x in op.index)), "start where a chunk does"),
        (
            changed(FragmentLoad, origin=lambda op: tuple(x // 2 for x in op.origin)),
            "at once aren't one chunk of shared_A",
        ),
        (
            changed(FragmentLoad, ownership=lambda op: m16n16k8("col", "col").a),
            "at once aren't one chunk of shared_A",
        ),
    ],
)
def test_a_wide_access_is_one_aligned_chunk(ir, message):
    with pytest.raises(NotAChunk, match=message):
        run(ir, {"M": 32, "N": 32, "K": 32})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": np.zeros((64, 48), np.float32)}, r"A is float32\[64, 48\], not float16\[64, 48\]"),
        ({"B": np.zeros((96, 48), np.float16)}, r"B is float16\[96, 48\], not float16\[48, 96\]"),
        ({"B": np.zeros((48, 96), np.float16)}, "B: the step between neighbours along dimension 0 is 96 values, not 1"),
        ({"C": np.broadcast_to(np.float16(0), (64, 96))}, "C is written to, and its array is read-only"),
        ({"A": np.zeros((64, 48), [("x", "f2"), ("y", "i1")])["x"]}, r"A has strides of \(144, 3\) bytes"),
    ],
)
def test_arrays_that_dont_fit_are_refused(change, message):
    with pytest.raises(BadTensor, match=message):
        interpret(matmul_ir(), problem(SMALL, 0) | change, SMALL)


def test_a_size_that_is_no_multiple_is_refused():
    sizes = {"M": 64, "N": 96, "K": 40}
    with pytest.raises(BadTensor, match="K = 40 isn't a multiple of 16, as kern0 requires"):
        interpret(matmul_ir(), problem(sizes, 0), sizes)


def test_what_is_missing_is_named():
    tensors = problem(SMALL, 0)
    with pytest.raises(BadTensor, match="no value for the tensor B of kern0"):
        interpret(matmul_ir(), {n: tensors[n] for n in "AC"}, SMALL)
    with pytest.raises(BadTensor, match="no value for the size M, K of kern0"):
        interpret(matmul_ir(), tensors, {"N": 96})


@pytest.mark.parametrize("kind", [GlobalLoad, GlobalStore])
def test_a_guard_does_not_stop_what_is_below_0(kind):
    """The text compares with the extents alone, so a value before the tensor's first would be touched."""
    with pytest.raises(OutOfBounds, match=r"\[-40, 0\] is below 0"):
        run(changed(kind, guarded=lambda op: True, index=lambda op: (op.index[0] - 40, op.index[1])))
    assert not is_wrong(changed(kind, guarded=lambda op: True))
