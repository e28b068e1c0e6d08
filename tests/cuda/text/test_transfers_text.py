"""Texts of `ldmatrix` and of asynchronous copies: the addresses that lanes name, what is copied, what compiles."""

import ctypes
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyvolta.cuda.ir.kernel_ir import AsyncCopy, Element, GlobalTensor, LoadMatrix, Loop, SharedTile
from polyvolta.cuda.ir.memories import Arrays
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.layouts.fragments import OperandTile, cyclic_stores, plan_operands
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target import LDMATRIX, targets
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text import strips as at_once
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.helpers import async_copy, matrix_load, mma, shared
from polyvolta.cuda.text.helpers.device_function import DeviceFunctions
from polyvolta.cuda.text.helpers.values import declared, vector
from polyvolta.cuda.text.printer import PRELUDE, print_cuda
from polyvolta.sets import aff, var
from tests.cuda.host import compiled, needs_compiler
from tests.cuda.text.device_on_host import library
from tests.cuda.text.ring_kernels import RINGS, ring_kernel

LANES = range(32)
ORDERS = ((0, 1), (1, 0))
MACROS = [(t, name) for t in ("sm_75", "sm_80") for name in targets[t].macro_names]
OPERANDS = list(product(MACROS, ORDERS, ORDERS, (32, 64)))


def planned(macro, a_order, b_order, depth):
    """Both operands of a plan: the tile and the load of a fragment."""
    target, name = macro
    sizes = (64, depth), (depth, 64)
    tiles = [OperandTile(dims, size, order, cyclic_stores(size, order, 64))
             for dims, size, order in zip((("i", "k"), ("k", "j")), sizes, (a_order, b_order))]  # fmt: skip
    (plan,) = plan_operands(targets[target].macro_mma(name), [tuple(tiles)])
    for t, layout, operand, own in zip(tiles, (plan.a, plan.b), "ab", (plan.macro.a, plan.macro.b)):
        tile = SharedTile("tile", 0, t.size[0] * t.size[1] // 8, layout.layout, t.order)
        by = layout.matrix
        yield tile, LoadMatrix(Element("v", (aff(0),)), "tile", (aff(0), aff(0)), operand, own, by.lines, by.count,
                               by.transposed)  # fmt: skip


@pytest.fixture(scope="module")
def fragments(tmp_path_factory):
    wrappers = []
    for n, (tile, op) in enumerate(t for case in OPERANDS for t in planned(*case)):
        width = op.ownership.inputs[1][1]
        single = vector(width) == width
        fragment = f"*({declared('*' if single else '(*)', width)})v"
        head = f"void load_{n}(half8 *v, half8 *t, int line, int run, int lane)"
        load = matrix_load.load_matrix(tile, op, shared.extents(op.ownership))
        wrappers.append((load, f"{head} {{ NAME({fragment}, t, line, run, lane); }}"))
    return library(tmp_path_factory.mktemp("fragments"), wrappers)


@needs_compiler
@pytest.mark.parametrize("case", OPERANDS, ids=lambda c: "-".join(map(str, c)))
def test_lanes_name_the_chunks_of_their_lines(fragments, case):
    """For every fragment of a tile: in each instruction the address of the chunk of origin + lines(lane, n)."""
    for number, (tile, op) in enumerate(planned(*case), 2 * OPERANDS.index(case)):
        load, steps = getattr(fragments, f"load_{number}"), shared.extents(op.ownership)
        memory = np.zeros(8 * tile.chunks, np.uint16)
        start = memory.ctypes.data % 2**32
        words = (ctypes.c_uint32 * (op.ownership.inputs[1][1] // 2))()
        line, run = tile.order
        (_, d0), (_, d1) = tile.layout.inputs
        for origin in product(range(0, d0, steps[0]), range(0, d1, steps[1])):
            for lane in LANES:
                load(words, memory.ctypes.data_as(ctypes.c_void_p), origin[line], origin[run], lane)
                for n in range(op.instructions):
                    local = op.lines.evaluate({"lane": lane, "n": n})
                    at = {name: o + x for (name, _), o, x in zip(tile.layout.inputs, origin, local)}
                    (chunk,) = tile.layout.evaluate(at)
                    named = set(words[op.count * n : op.count * (n + 1)])
                    assert named == {(start + 16 * chunk) % 2**32}, (origin, lane, n)


@pytest.mark.parametrize(("macro", "depth"), list(product(MACROS, (32, 64))), ids=str)
def test_what_depends_on_the_lane_is_one_number(macro, depth):
    """The address is an exclusive-or and sums of that number and of what unrolled loops make constant."""
    for a_order, b_order in product(ORDERS, ORDERS):
        for tile, op in planned(macro, a_order, b_order, depth):
            first, *others = matrix_load.load_matrix(tile, op, shared.extents(op.ownership)).body
            assert first.startswith("const int own = ")
            assert not any(re.search(r"\blane\b", line) for line in others)


STRIPS = [(macro, rows, cols) for macro in MACROS for rows, cols in ((4, 2), (1, 3), (3, 1), (1, 1))]


def noted(macro):
    """The instruction with another body: every accumulator notes its operands, and in which order they came."""
    (function,) = mma.mma(macro).needs
    words = [p.split()[-1] for p in function.parameters[1:]]
    total = " + ".join(f"{k + 1} * (float){w}" for k, w in enumerate(words))
    loop = f"for (int k = 0; k < {macro.instruction.values[2]}; k += 1)"
    return replace(function, body=(loop, f"  d[k] = fmodf(31 * d[k] + {total} + k, 65521);"))


def strip_of(target, name):
    return targets[target].macro_mma(name).of("row", "col")


@pytest.fixture(scope="module")
def strips(tmp_path_factory):
    """Products of all rows with all columns, and one macro-MMA after the other, of instructions that take notes."""
    spaces = []
    for n, ((target, name), rows, cols) in enumerate(STRIPS):
        macro = strip_of(target, name)
        a, b, d = macro.values
        single = (rows == 1, cols == 1, rows == cols == 1)
        needed = DeviceFunctions()
        both = [needed.name(mma.products(macro, rows, cols, single)), needed.name(mma.mma(macro))]
        texts = [str(noted(macro) if f.name.startswith("mma_") else needed.renamed(f)) for f in needed.names]
        arrays = [
            f"{declared(x + ('' if alone else f'[{count}]'), values)};" for x, values, count, alone in
            (("a", a, rows, single[0]), ("b", b, cols, single[1]))
        ]  # fmt: skip
        grid = "" if single[2] else f"[{rows}][{cols}]"
        one = f"d{'' if single[2] else '[i][j]'}, a{'' if single[0] else '[i]'}, b{'' if single[1] else '[j]'}"
        each = f"for (int i = 0; i < {rows}; i++) for (int j = 0; j < {cols}; j++) {both[1]}({one});"
        lines = [f"void run_{n}(float *out, unsigned *words, int at_once) {{ {' '.join(arrays)} float d{grid}[{d}];",
                 "memcpy(&a, words, sizeof a); memcpy(&b, words + sizeof a / 4, sizeof b); memset(d, 0, sizeof d);",
                 f"if (at_once) {both[0]}(d, a, b); else {each} memcpy(out, d, sizeof d); }}"]  # fmt: skip
        spaces += [f"namespace strip_{n} {{", *texts, 'extern "C" {', *lines, "} }"]
    return compiled(tmp_path_factory.mktemp("strips"), "\n".join([PRELUDE, *spaces]))


@needs_compiler
@pytest.mark.parametrize("number", range(len(STRIPS)), ids=lambda n: str(STRIPS[n]))
def test_a_strip_at_once_is_its_macro_mmas_one_by_one(strips, number):
    """Every accumulator has met the same registers in the same order, so that sums are the same bit for bit."""
    (target, name), rows, cols = STRIPS[number]
    a, b, d = strip_of(target, name).values
    words = np.random.default_rng(number).integers(1, 500, rows * a // 2 + cols * b // 2, dtype=np.uint32)
    results = [np.zeros(rows * cols * d, np.float32) for _ in range(2)]
    for whole, out in enumerate(results):
        given = (x.ctypes.data_as(ctypes.c_void_p) for x in (out, words))
        getattr(strips, f"run_{number}")(*given, whole)
    assert len(set(results[0])) > d // 2
    np.testing.assert_array_equal(*results)


COPIES = list(product((2, 1), (8, 4, 2, 1), (False, True), (False, True)))
LINES, LENGTH = 5, 21
BACKWARDS = IndexMap((("lane", 32),), (("first", 31 - var("lane")),))


def copy_of(rank, align, guarded, turned):
    """A copy, its pieces in another order for each lane if they are turned; whether it asks for the lane."""
    pieces = AsyncCopy("A", (), 0, "tile", (), turn=BACKWARDS).pieces(align) if turned else None
    assert (pieces is not None) == (turned and align in (4, 2))
    return async_copy.copy(rank, align, guarded, pieces), pieces is not None


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    wrappers = []
    for rank, align, guarded, turned in COPIES:
        where = "M, line, run, ld" if rank == 2 else "M, run"
        where += {2: ", lines, length", 1: ", length"}[rank] if guarded else ""
        function, lane = copy_of(rank, align, guarded, turned)
        head = f"void copy_{rank}_{align}_{guarded:d}_{turned:d}(half8 *to, fp16 *M, long long line, int run, int ld, "
        wrappers.append((function, f"{head}int lines, int length, int lane) {{ NAME(to, {where}{', lane' * lane}); }}"))
    return library(tmp_path_factory.mktemp("copies"), wrappers)


@needs_compiler
@pytest.mark.parametrize(("rank", "align", "guarded", "turned"), COPIES)
def test_what_is_inside_arrives_and_zeros(copies, rank, align, guarded, turned):
    ld, seen, length = 32 + align, 0, LENGTH // align * align  # an extent of whole pieces: `GlobalTensor.whole`
    space = np.arange(1, 1 + 16 * ld, dtype=np.uint16)
    memory = np.zeros(len(space) + 8, np.uint16)
    memory = memory[-memory.ctypes.data % 16 // 2 :][: len(space)]  # aligned to 16 bytes
    memory[:] = space
    room = np.zeros(24, np.uint16)
    chunk = room[-room.ctypes.data % 16 // 2 :][:8]
    copy = getattr(copies, f"copy_{rank}_{align}_{guarded:d}_{turned:d}")
    lanes, lines = range(4 if turned else 1), range(LINES + 3 if rank == 2 else 1)
    for lane, line, run in product(lanes, lines, range(0, length + 11, 8)):
        inside = [(rank == 1 or line < LINES) and run + i < length for i in range(8)]
        if not guarded and not all(inside):
            continue
        chunk[:] = 0xAAAA
        copy(chunk.ctypes.data_as(ctypes.c_void_p), memory.ctypes.data_as(ctypes.c_void_p), ctypes.c_longlong(line),
             run, ld, LINES, length, lane)  # fmt: skip
        assert list(chunk) == [1 + line * ld + run + i if ok else 0 for i, ok in enumerate(inside)], (line, run)
        seen += 1
    assert seen


@pytest.mark.parametrize("align", [4, 2])
@pytest.mark.parametrize("turn", [BACKWARDS, IndexMap((("lane", 32),), (("first", var("lane") // 8),))], ids=str)
def test_the_text_moves_the_pieces_in_the_order_of_the_accesses(align, turn):
    op = AsyncCopy("A", (var("x"), var("y")), 1, "tile", (var("x"), var("y")), turn=turn)
    arrays = Arrays((GlobalTensor("A", ("M", "K"), (0, 1), align=align),), (SharedTile("tile", 0, 8, order=(0, 1)),))
    head, line, call, _ = (async_copy.copy(2, align, False, op.pieces(align))).body[1:]
    assert head == f"for (int n = 0; n < {8 // align}; n += 1) {{" and "chunk + i, matrix + line * ld + run + i" in call
    value = re.fullmatch(r" *const int i = (.*);", line)[1].replace("/", "//")
    for access, lane, n in product(op.accesses(arrays), LANES, range(8 // align)):
        piece = [access.own.evaluate({"lane": lane, "i": align * n + v}) for v in range(align)]
        assert piece == [(0, eval(value, {"lane": lane, "n": n}) + v) for v in range(align)]


def test_a_guard_is_no_branch():
    for rank, align, turned in product((2, 1), (8, 4, 2), (False, True)):
        assert not any("if" in line for line in copy_of(rank, align, True, turned)[0].body)


def code_of(functions, arch):
    needed = DeviceFunctions()
    for f in functions:
        needed.name(f)
    text = [PRELUDE, *needed.texts(), 'extern "C" __global__ void k() {}']
    return compile_cubin("\n".join(text), arch, name="k")


def test_instructions_compile_for_the_chips_that_have_them():
    loads = [matrix_load.instruction(LDMATRIX, count, t) for count, t in product(LDMATRIX.counts, (False, True))]
    assert code_of(loads, "sm_75").image
    copies = [async_copy.instruction(width, guarded) for width, guarded in product((16, 8, 4), (False, True))]
    assert code_of([*loads, *copies, async_copy.COMMIT, async_copy.wait(0), async_copy.wait(6)], "sm_80").image


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_rings_compile_without_spills(ring):
    ir = ring_kernel(**ring)
    found = compile_cubin(print_cuda(ir), "sm_80", name="ring").resources("ring")
    assert (found.local_bytes, found.spill_loads, found.spill_stores) == (0, 0, 0)


def test_a_chunk_that_never_repeats_is_found_at_its_own_place():
    i, k, t, c = var("row"), var("k"), var("linearId"), var("c5")
    tile = next(t for t in ring_kernel().tiles if t.name == "shared_A")
    odd = replace(tile, layout=replace(tile.layout, outputs=(("chunk", (5 * i + k // 8) % 509),)))
    start, rest = (t // 4, 8 * (t % 4)), (32 * c, aff(0))
    ranges = {"linearId": (0, 127), "c5": (0, 3)}
    assert async_copy.behind(odd, start, rest, ranges, {}) == ((t // 4 + 32 * c, 8 * (t % 4)), aff(0))
    assert async_copy.behind(tile, start, rest, ranges, {}) == (start, 128 * c)
    stepping = {"linearId": (0, 127), "c5": (0, 96)}
    assert async_copy.behind(tile, start, (c, aff(0)), stepping, {"c5": 32}) == (start, 128 * (c // 32))


def test_pieces_that_a_tensor_may_end_in_are_not_copied_whole():
    """A guard is for all of a piece: where rows may end in one, what is behind them would come along."""
    ir = ring_kernel(guarded=True)
    some = replace(ir, tensors=tuple(replace(t, whole=False) for t in ir.tensors))
    with pytest.raises(NotPrintable, match="brings all of 8 values or none, and A may end among them"):
        print_cuda(some)
    fixed = replace(ir, tensors=tuple(replace(t, dims=(*t.dims[:1], 100)) if t.name == "A" else t for t in ir.tensors))
    with pytest.raises(NotPrintable, match="its extent 100 is to be a multiple of 8"):
        print_cuda(fixed)
    assert print_cuda(replace(fixed, tensors=tuple(replace(t, align=4) for t in fixed.tensors)))
    assert print_cuda(replace(some, tensors=tuple(replace(t, align=1) for t in some.tensors)))


def test_a_strip_whose_set_of_fragments_is_a_loops_keeps_the_loops():
    """What is printed before the numbers of rows and columns stands outside of their loops."""
    ir = ring_kernel(warp=(64, 64))
    found = [s for _, s in walk(ir.body) if isinstance(s, Loop) and at_once.strip_of(s, ir)]
    assert found
    for loop in found:
        (inner,) = loop.body
        (op,) = inner.body
        for name, row, kept in ((loop.var, var(loop.var) % 2, False), ("c2", var("c2") % 2, True)):
            other = replace(op, a=replace(op.a, index=(row, *op.a.index[1:])))
            changed = replace(loop, body=(replace(inner, body=(other,)),))
            assert (at_once.strip_of(changed, ir) is not None) is kept, name
