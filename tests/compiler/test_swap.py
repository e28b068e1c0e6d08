"""Swapped kernels: columns of the result are the macro-MMA's rows, and nothing else can be told apart."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.options import default_options
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.ir.arguments import parameters
from polyvolta.cuda.ir.kernel_ir import BoxStore, GlobalStore, StoreMatrix, Wgmma
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.pictures import shared_tile
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.graph.dag import Graph
from tests.compiler.test_boxed_launches import driver as driver  # noqa: PLC0414  # a fixture
from tests.compiler.test_boxed_launches import right, values
from tests.compiler.test_boxed_launches import torch as torch  # noqa: PLC0414  # likewise
from tests.cuda.ir.ir_example import rewritten
from tests.cuda.mutants.names import BOXES, ROLES

M, N, K, L = pv.sizes("M N K L")
LAYOUTS = list(product(("row", "col"), repeat=3))
BOXED = pv.Options(block_tile=(64, 128, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=3, group=1,
                   swap=True)  # fmt: skip
TILES = {"block_tile": (32, 64, 32), "warp_tile": (32, 32, 32)}
SMALL = pv.Options(**TILES, swap=True)
SPLIT = pv.Options(**TILES, split_k=2, swap=True)
SIZES = [(70, 45, 100, 33), (1, 130, 17, 64), (65, 8, 0, 5)]


def operands(a: str, b: str) -> tuple[pv.Tensor, pv.Tensor]:
    return pv.tensor("A", (M, K), layout=a), pv.tensor("B", (K, N), layout=b)


def plain(a, b, c):
    left, right_ = operands(a, b)
    return pv.output(left @ right_, layout=c)


def epilogue(a, b, c):
    """A matrix that lies like A, a vector for columns, one for rows, a scalar; and the product as a result of its own,
    which lies the other way round."""
    left, right_ = operands(a, b)
    made = left @ right_
    R, bias, rows = pv.tensor("R", (M, N), layout=a), pv.tensor("bias", (N,)), pv.tensor("rows", (M, 1))
    s = pv.scalar("s")
    other = "row" if c == "col" else "col"
    return {"D": pv.output(pv.relu(s * made + R) * rows - bias, layout=c), "E": pv.output(made, layout=other)}


def prologue(a, b, c):
    """Vectors along k and rows, a matrix beside an operand."""
    left, right_ = operands(a, b)
    left = pv.tensor("r", (M, 1)) + left * pv.tensor("v", (K,))
    return pv.output(left @ pv.relu(right_ + pv.tensor("W", (K, N), layout=a)), layout=c)


def total(a, b, c):
    """A sum in one accumulator, scaled in between."""
    left, right_ = operands(a, b)
    P, Q = pv.tensor("P", (M, L), layout=b), pv.tensor("Q", (L, N), layout=a)
    return pv.output(left @ right_ - 2 * (P @ Q), layout=c)


def added(a, b, c):
    left, right_ = operands(a, b)
    P, Q = pv.tensor("P", (M, L), layout=b), pv.tensor("Q", (L, N), layout=a)
    return pv.output(left @ right_ + P @ Q, layout=c)


@cache
def kernel_of(idiom, layouts: tuple[str, str, str], target: object, options: pv.Options) -> pv.Kernel:
    return pv.compile(idiom(*layouts), target=target, options=options)


def given(kernel: pv.Kernel, sizes: tuple[int, ...], seed: int = 0) -> dict[str, object]:
    """Numbers on a coarse grid, so that sums are exact."""
    rng, numbers, found = np.random.default_rng(seed), dict(zip("MNKL", sizes, strict=True)), {}
    for t in kernel.graph.arguments:
        made = (rng.integers(-4, 5, [numbers.get(str(d), d) for d in t.dims]) / 4).astype(np.float16)
        found[t.name] = np.asfortranarray(made) if t.layout == "col" else made
        if not t.dims:
            found[t.name] = 0.5
    return found


def exact(kernel: pv.Kernel, sizes: tuple[int, ...], **more: object) -> bool:
    """Whether all results are the reference's, rounded."""
    arrays = given(kernel, sizes)
    got, wanted = kernel.interpret(**arrays, **more), pv.reference(kernel.graph.roots, **arrays)
    got = got if isinstance(got, tuple) else (got,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(got) == len(wanted) == len(kernel.graph.outputs)
    return all(np.array_equal(g, w.astype(np.float16)) for g, w in zip(got, wanted, strict=True))


# ---- what they compute


@pytest.mark.parametrize("layouts", LAYOUTS, ids=".".join)
@pytest.mark.parametrize("idiom", [plain, epilogue, added])
@pytest.mark.parametrize(("sizes", "copies"), list(zip(SIZES, ("lazy", 3, "eager"), strict=True)))
def test_kernels_of_boxes_of_all_layouts_and_odd_sizes(idiom, layouts, sizes, copies):
    kernel = kernel_of(idiom, layouts, SM_90A, BOXED)
    assert any(isinstance(op, Wgmma) for op in operations(kernel.ir.body)) and kernel.options.swap
    assert exact(kernel, sizes, copies=copies)


@pytest.mark.parametrize("target", ["sm_70", "sm_75", "sm_80"])
@pytest.mark.parametrize("idiom", [plain, epilogue, prologue, total])
@pytest.mark.parametrize("layouts", LAYOUTS, ids=".".join)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_other_targets_and_idioms(target, layouts, idiom, sizes):
    n = (plain, epilogue, prologue, total).index(idiom) + LAYOUTS.index(layouts)
    kernel = kernel_of(idiom, layouts, target, SMALL if n % 4 else SPLIT)
    assert exact(kernel, sizes)


@pytest.mark.parametrize(("idiom", "layouts", "target", "options"), [
    (plain, ("row", "col", "row"), SM_90A, BOXED),
    (epilogue, ("col", "row", "col"), SM_90A, BOXED),
    (epilogue, ("col", "col", "row"), SM_90A, BOXED),
    (added, ("row", "row", "row"), SM_90A, BOXED),
    (epilogue, ("row", "col", "col"), "sm_80", SMALL),
    (prologue, ("col", "row", "col"), "sm_70", SPLIT),
    (plain, ("row", "col", "row"), "sm_80", SMALL),
    (total, ("col", "col", "row"), "sm_75", SMALL),
    (prologue, ("row", "row", "row"), "sm_80", SMALL),
    (epilogue, ("row", "col", "col"), "sm_70", SPLIT),
])  # fmt: skip
def test_proofs_hold(idiom, layouts, target, options):
    report = kernel_of(idiom, layouts, target, options).verify()
    open_ = {p.id for p in report.proofs if not p.proved}
    assert open_ <= ({"bounds"} if idiom is added else set())  # two depths together: see `mutants.test_boxes`


def test_proofs_name_the_graphs_elements():
    report = kernel_of(plain, ("row", "row", "row"), "sm_80", SMALL).verify(only=("result", "sums"))
    assert "C[i, j] = (A @ B)[i, j]" in report["result"].relation and "of A @ B is" in str(report["sums"])


@pytest.mark.parametrize("layouts", LAYOUTS, ids=".".join)
def test_bit_for_bit_the_transposed_product(layouts):
    """Any numbers: each element is summed in the same order by C^T = B^T A^T, without swap."""
    a, b, c = ("col" if x == "row" else "row" for x in layouts)
    straight = pv.compile(pv.output(pv.tensor("X", (N, K), layout=b) @ pv.tensor("Y", (K, M), layout=a), layout=c),
                          target=SM_90A, options=BOXED.turned)  # fmt: skip
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((52, 200)).astype(np.float16), rng.standard_normal((200, 83)).astype(np.float16)
    swapped = kernel_of(plain, layouts, SM_90A, BOXED)
    there = [np.asfortranarray(m) if lies == "col" else np.ascontiguousarray(m)
             for m, lies in ((y.T, layouts[0]), (x.T, layouts[1]), (x, b), (y, a))]  # fmt: skip
    assert np.array_equal(swapped.interpret(*there[:2]).T, straight.interpret(*there[2:]))


def test_arrays_that_boxes_do_not_take():
    """A variant for the result stays swapped; that of an operand is another kernel."""
    kernel = kernel_of(plain, ("row", "col", "row"), SM_90A, BOXED)
    stored, copied = kernel.variant(C=4), kernel.variant(A=4)
    assert (stored.options.swap, sorted(stored.boxed)) == (True, ["A", "B"])
    assert not copied.boxed and not any(isinstance(op, BoxStore | Wgmma) for op in operations(copied.ir.body))
    assert stored.verify().ok and any(isinstance(op, GlobalStore) for op in operations(stored.ir.body))
    a, b = (given(kernel, (70, 45, 100, 1))[n] for n in "AB")
    wanted = pv.reference(kernel.graph.roots[0], a, b).astype(np.float16)
    assert np.array_equal(kernel.interpret(a, b), wanted)
    assert np.array_equal(kernel.interpret(a[:, 3:], b[3:]), pv.reference(kernel.graph.roots[0], a[:, 3:], b[3:]))


@pytest.mark.parametrize("rows", [16, 80, 176])
def test_rows_are_free_in_steps_of_16(rows):
    options = pv.Options(block_tile=(rows, 64, 64), macro_mma=f"m64n{rows}k16", swap=True)
    kernel = kernel_of(plain, ("row", "col", "row"), SM_90A, options)
    assert kernel.options.warp_tile == (rows, 64, 64)
    assert kernel.launch_config(M=2 * rows, N=65, K=8).grid == (2, 2, 1)
    assert exact(kernel, (2 * rows - 3, 65, 40, 1))


# ---- what is said of them


def test_trees_and_the_text_say_what_goes_along_what():
    kernel = kernel_of(plain, ("row", "col", "row"), SM_90A, BOXED)
    assert str(kernel.stages["initial"]).endswith("BAND: S[j, i, k] → [j, i, k]")
    assert "MARK: macro-MMAs have j as rows (m), i as columns (n)\n" in str(kernel.schedule)
    assert str(kernel.graph) == str(Graph.of(kernel.graph.roots[0]))
    head = kernel.source.splitlines()[:3]
    assert head[1] == "// A[M, K] row-major, B[K, N] col-major, C[M, N] row-major."
    assert "grid ((M + 63) / 64, (N + 127) / 128, 1)" in head[2]


@pytest.mark.parametrize("idiom", [plain, epilogue, added])
def test_arguments_are_in_the_order_that_they_have_anyway(idiom):
    for target, options in ((SM_90A, (BOXED, BOXED.turned)), ("sm_80", (SMALL, pv.Options()))):
        one, other = (kernel_of(idiom, ("row", "col", "row"), target, o) for o in options)
        first, second = parameters(one.ir), parameters(other.ir)
        assert (first.pointers, first.lds) == (second.pointers, second.lds)
        assert [(m.name, at) for m, at in first.maps] == [(m.name, at) for m, at in second.maps]


@pytest.mark.parametrize(("c", "transposed"), [("row", True), ("col", False)])
def test_the_results_layout_says_which_stmatrix(c, transposed):
    kernel = kernel_of(plain, ("row", "col", c), SM_90A, BOXED)
    stores = [op for op in operations(kernel.ir.body) if isinstance(op, StoreMatrix)]
    assert stores and {op.transposed for op in stores} == {transposed}
    assert (".trans" in "".join(re.findall(r"stmatrix\S+", kernel.source))) == transposed


def test_launches_with_arrays_on_a_gpu(torch, driver):
    kernel = pv.compile(plain("row", "col", "row"), target=SM_90A, options=BOXED)
    for seed, (ld, offset) in enumerate([(None, 0), (83, 0), (None, 4)]):
        a, b = values((70, 77), "row", ld, offset, seed=seed), values((77, 75), "col", seed=seed)
        assert right(kernel(a, b), a, b)
    assert [bool(v.ir.maps) for v in driver.variants] == [True, False, False]


# ---- options


def test_tiles_are_of_the_result_and_the_rule_turns_them():
    wide = default_options(Graph.of(plain("row", "col", "row")), SM_90A, pv.Options(swap=True))
    assert (wide.block_tile, wide.warp_tile, wide.macro_mma) == ((256, 128, 64), (256, 64, 64), "m64n256k16")
    A, B = pv.tensor("A", (64, 4096)), pv.tensor("B", (4096, 512))
    few = default_options(Graph.of(A @ B), SM_90A, pv.Options(swap=True))
    turned = default_options(Graph.of(pv.tensor("A", (512, 4096)) @ pv.tensor("B", (4096, 64))), SM_90A)
    assert (few.block_tile[:2], few.warp_tile[:2]) == (turned.block_tile[1::-1], turned.warp_tile[1::-1])
    assert not any(o.swap for o in (pv.Options(), default_options(Graph.of(A @ B), SM_90A)))


@pytest.mark.parametrize(("given_", "words"), [
    ({"swap": 1}, "swap is True or False, not 1"),
    ({"swap": True, "block_tile": (128, 32, 64), "macro_mma": "m64n64k16"},
     r"block_tile is no multiple of the macro-MMA m64n64k16, swapped, along N: 32 and 64"),
    ({"swap": True, "split_k": 8, "block_tile": (64, 128, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16"},
     "each of the 8 blocks that split K adds up a part of a warpgroup's rows, 16 at a time: warp_tile has 64"),
    ({"swap": True, "block_tile": (512, 256, 64), "warp_tile": (256, 64, 64), "macro_mma": "m64n256k16", "buffers": 4},
     r"block tiles of 512x256x64"),
])  # fmt: skip
def test_what_does_not_go_is_refused_in_words_of_the_result(given_, words):
    with pytest.raises(BadOption, match=words):
        pv.compile(plain("row", "col", "row"), target=SM_90A, options=pv.Options(**given_))


def test_a_prologue_goes_to_the_other_instructions_as_ever():
    kernel = pv.compile(prologue("row", "col", "row"), target=SM_90A, options=pv.Options(swap=True))
    assert kernel.options.swap and not kernel.boxed
    with pytest.raises(BadOption, match="one matrix that lies as it does"):
        pv.compile(prologue("row", "col", "row"), target=SM_90A, options=BOXED)


# ---- proofs that fail


ALL = {**BOXES, **ROLES}


@pytest.mark.parametrize("name", ALL)
def test_mutants_are_refuted(name):
    whole = kernel_of(plain, ("row", "col", "row"), SM_90A, BOXED)
    report = broken(whole, name).verify(only=ALL[name].proofs)
    assert {p.id for p in report.refuted} == set(ALL[name].proofs)


def test_a_result_that_is_stored_as_it_comes_is_refuted():
    """As without the swap: box (i, j) at (j, i)."""
    kernel = kernel_of(plain, ("row", "col", "row"), SM_90A, BOXED)
    ir = rewritten(kernel.ir, lambda op: replace(op, index=op.index[::-1]) if isinstance(op, BoxStore) else op)
    mirrored = replace(kernel, ir=ir, source=print_cuda(ir))
    case = mirrored.verify(only="result")["result"].counter_example
    assert case.what.startswith("C[") and "the graph has" in case.what


def test_a_tile_whose_lines_are_the_tensors_runs_is_refuted():
    """What a box brings goes line by line, whatever the tile's dimensions are."""
    kernel = kernel_of(plain, ("row", "col", "row"), SM_90A, pv.Options(**{
        **{n: getattr(BOXED, n) for n in BOXED.given}, "block_tile": (64, 64, 64)}))  # fmt: skip
    tiles = tuple(replace(t, order=t.order[::-1]) if t.name == "shared_A" else t for t in kernel.ir.tiles)
    assert kernel.verify().ok
    ir = replace(kernel.ir, tiles=tiles)
    assert not replace(kernel, ir=ir, source=print_cuda(ir)).verify().ok


def test_pictures_have_single_values_that_lanes_store():
    """Two lanes' values of a word are no conflict, however narrow accesses are."""
    kernel = kernel_of(plain, ("row", "col", "row"), "sm_80", SMALL)
    drawn = str(shared_tile(kernel, "exchange", "exchange_C"))
    assert len(re.findall(r"byte \d+, chunk \d+: lanes", drawn)) == 32 and "-way conflict" not in drawn
