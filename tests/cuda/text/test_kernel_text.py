"""The CUDA text: the paper's skeleton, no dead device function, no bank conflict, sm_70 resources."""

import re
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    ExchangeStore,
    FragmentLoad,
    GlobalTensor,
    KernelIR,
    LoadMatrix,
    Loop,
    SharedStore,
    When,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.bank_model import conflict_degree
from polyvolta.cuda.layouts.exchange import conflicts
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.text.names import KERNEL_NAMES
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import aff, var
from tests.cuda.text.golden_texts import CASES, L, N, path
from tests.cuda.text.golden_texts import product as matmul

REVIEWED = [path(name).read_text() for name in CASES]
"""The texts of all of them, which are those of today's kernels: `test_golden_texts`."""
TILES = [
    ((128, 128, 32), (64, 64, 32)),
    ((64, 64, 32), (32, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((128, 64, 16), (64, 32, 16)),
    ((64, 64, 64), (32, 32, 64)),
]

# Lines of the paper's listing (matmul-cuda), typed with its misprints mended: no split-K, so a k tile of 32; the
# loops, guards and calls in the listing's order, leading dimensions in the place of the sizes that it uses, pointers
# that move with the k tile in the place of global addresses.
SKELETON = [
    r"__launch_bounds__\(128\) kern0\(int M, int N, int K, const fp16 \*__restrict__ A, int ldA",
    r"\*from_A = A \+ \(long long\)\(128 \* blockIdx_y \+ linearId / 4\) \* ldA \+ 8 \* \(linearId % 4\);",
    r"\*from_B = B \+ \(long long\)\(128 \* blockIdx_x \+ linearId / 4\) \* ldB \+ 8 \* \(linearId % 4\);",
    r"for \(int c2 = -1; c2 < K / 32; c2 \+= 1\)",
    r"if \(K >= 32 \* c2 \+ 64\)",
    r"#pragma unroll\s+for \(int c\d+ = 0; c\d+ <= 3; c\d+ \+= 1\)",
    r"private_A\[c\d+\] = load_global_128\(from_A, 32 \* c\d+, 0, ldA\)",
    r"private_B\[c\d+\] = load_global_128\(from_B, 32 \* c\d+, 0, ldB\)",
    r"\}\s+from_A \+= 32;\s+from_B \+= 32;\s+\}",
    r"if \(c2 >= 0\)",
    r"#pragma unroll\s+for \(int c8 = 0; c8 <= 3; c8 \+= 1\)",
    r"hmma_load_a_row_swizzled\(hmma_A\[c\d+\], shared_A, 16 \* c\d+ \+ 64 \* warpIdx_y, 8 \* c8, lane\)",
    r"hmma_load_b_col_swizzled\(hmma_B\[c\d+\], shared_B, 16 \* c\d+ \+ 64 \* warpIdx_x, 8 \* c8, lane\)",
    r"#pragma unroll\s+for \(int c9 = 0; c9 <= 48; c9 \+= 16\)",
    r"#pragma unroll\s+for \(int c10 = 0; c10 <= 48; c10 \+= 16\)",
    r"hmma_row_col\(hmma_C\[c9 / 16\]\[c10 / 16\], hmma_A\[c9 / 16\], hmma_B\[c10 / 16\]\)",
    r"if \(K >= 32 \* c2 \+ 64\) \{\s+__syncthreads\(\);",
    r"store_shared_a_row_swizzled\(shared_A, private_A\[c\d+\],",
    r"store_shared_b_col_swizzled\(shared_B, private_B\[c\d+\],",
    r"__syncthreads\(\);\s+\}",
    r"#pragma unroll\s+for \(int c4 = 0; c4 <= 48; c4 \+= 16\)",
    r"#pragma unroll\s+for \(int c5 = 0; c5 <= 48; c5 \+= 16\)",
    r"exchange_store\(exchange \+ 32 \* warp, hmma_C\[c4 / 16\]\[c5 / 16\], lane\);\s+__syncwarp\(\);",
    r"store_global_128\(C, 128 \* blockIdx.y \+ c4 \+ 64 \* warpIdx_y \+ lane / 2, "
    r"128 \* blockIdx.x \+ c5 \+ 64 \* warpIdx_x \+ 8 \* \(lane % 2\), ldC,",
]


def on_one_line(source):
    """The kernel's body without comments, broken lines joined."""
    body = re.sub(r"\n\s*//.*", "", source[source.index('extern "C"') :])
    return re.sub(r",\n\s+", ", ", body)


def test_the_text_is_the_papers_skeleton():
    """For sizes that are multiples of the tiles, as the paper's kernels want them."""
    body, at = on_one_line(CASES["whole_tiles"].kernel().source), 0
    for line in SKELETON:
        found = re.search(line, body[at:])
        assert found, f"not found in order: {line}"
        at += found.end()


@pytest.mark.parametrize("name", CASES)
def test_every_device_function_is_called_and_defined_once(name):
    source = CASES[name].text()
    names = re.findall(r"__forceinline__ \w+ \*?(\w+)\(", source)
    assert len(names) == len(set(names))
    for n in names:
        assert len(re.findall(rf"\b{n}\(", source)) >= 2, n
    called = set(re.findall(r"\b([a-z]\w+)\(", on_one_line(source)))
    assert called <= {*names, "if", "for", "__launch_bounds__", "kern0", "extern", "min"}


@pytest.mark.parametrize("name", CASES)
def test_no_loop_has_a_single_trip(name):
    assert not re.search(r"for \(int (\w+) = 0; \1 <= 0;", CASES[name].text())


def test_names_of_the_text_are_kept_from_users():
    """Whatever is declared in a kernel's body is in KERNEL_NAMES, but for arguments and what gives way to them."""
    for text in REVIEWED:
        body = text[text.index("extern __shared__") :]
        declared = set(re.findall(r"^\s+(?:const )?(?:half8|bf16x8|float|int)(?: \*const)? (\w+)", body, re.MULTILINE))
        declared |= set(re.findall(r"for \(int (\w+) =", body)) | {*re.findall(r"\bint (ld\w+)", text)}
        assert {"ldA", "linearId"} < declared
        assert [n for n in declared if not KERNEL_NAMES.fullmatch(n)] == []


@pytest.mark.parametrize("names", ["i j k", "r x0 t1", "y line run"])
def test_names_that_only_loops_and_device_functions_have_are_users_too(names):
    m, n, k = pv.sizes(names)
    product = pv.tensor("value", (m, k)) @ pv.tensor("at", (k, n), layout="col")
    outputs = pv.relu(pv.scalar("packed1") * product + pv.tensor("acc", (m, n)))
    tiles = {"block_tile": (32, 32, 16), "warp_tile": (32, 32, 16), "macro_mma": "m32n32k8"}
    assert pv.compile(outputs, options=pv.Options(**tiles)).resources().spill_stores == 0


def test_a_tensor_may_be_called_as_a_device_function_is():
    """The function takes another name then."""
    relu = pv.tensor("relu_add", (N,))
    source = pv.compile(pv.relu(matmul() + relu)).source
    assert "relu_add_2(" in source and "const fp16 *__restrict__ relu_add" in source


def helper(source):
    """The device function of the pointwise operation, with its comment."""
    return re.search(r"// y = .*?^}", source, re.DOTALL | re.MULTILINE)[0]


def test_the_text_is_linear_in_the_nodes_of_a_formula():
    def steps(number):
        def f(x):
            for _ in range(number):
                x = x + x * 0.001 * x
            return x

        return f

    texts = {n: helper(pv.compile(pv.pointwise(steps(n), matmul())).source) for n in (10, 20, 40)}
    assert len(texts[40]) - len(texts[20]) < 2.2 * (len(texts[20]) - len(texts[10]))
    assert texts[40].startswith("// y = t38 + t38 * 0.001 * t38 with t0 to t38 as below, in fp32")
    chain = matmul()
    for _ in range(100):
        chain = chain * 1.0001
    source = pv.compile(chain).source
    assert max(map(len, source.splitlines())) <= 120
    assert source.startswith("// kern0: D = ... of A, B; fp16 in memory")


def test_conditions_are_printed_as_conditions():
    def f(x, y):
        kept = pv.where((x > 0) & ~(x > y), x, y)
        return pv.where(pv.equal(kept, 1) | (x - 1), kept, 0) + (x < y)

    text = helper(pv.compile(pv.pointwise(f, matmul(), pv.scalar("alpha"))).source)
    assert "x0[i] > 0.0f && !(x0[i] > alpha) ? x0[i] : alpha" in text
    assert "t0 == 1.0f || x0[i] - 1.0f != 0.0f ? t0 : 0.0f" in text
    assert "(x0[i] < alpha ? 1.0f : 0.0f)" in text


def test_what_changes_nothing_is_not_printed():
    def f(x):
        return 1 * (x**2 / 1) + x**0 * x**1

    text = helper(pv.compile(pv.pointwise(f, matmul())).source)
    assert "powf" not in text and "/ 1" not in text and "1.0f * " not in text


def test_helpers_are_called_after_what_is_left_of_a_formula():
    c, d = matmul(), matmul("row", "col", "P", "Q", L)
    for graph, name in [
        (pv.relu(c + pv.tensor("bias", (N,))), "relu_add"),
        (pv.tanh(c + d), "tanh_of"),
        (pv.exp(pv.sin(pv.tanh(pv.cos(pv.relu(c))))), "epilogue"),
    ]:
        assert f" {name}(" in helper(pv.compile(graph).source)


@pytest.mark.parametrize("name", ["prologue_sigmoid", "plain_col_row"])
def test_a_text_stands_beside_cudas_own_fp16(name):
    """What <cuda_fp16.h> declares: the text has other names."""
    theirs = "struct half {}; struct half2 {}; struct __half {}; typedef half nv_half;"
    cubin = compile_cubin(f"{theirs}\n{path(name).read_text()}", CASES[name].target, name="kern0")
    assert cubin.resources("kern0").registers > 0


def test_comments_break_outside_of_bounds_and_of_a_tensors_words():
    for text in REVIEWED:
        for line in re.findall(r"// (.*)", text):
            assert not re.search(r"(<=?|[-+=,]| mod|\band)$", line) or line.endswith(","), line
            assert line.count("[") == line.count("]"), line


# ---- expressions that C computes otherwise than integers are


def small(*body, **more):
    tensors = (GlobalTensor("C", ("M", "N"), (0, 1), written=True),)
    return KernelIR(
        "kern0", ("M", "N"), tensors, (), (), 32, (), {"linearId": (0, 31)}, (aff(1),) * 3, body=body, **more
    )


def heads(*body, **more):
    source = print_cuda(small(*body, **more))
    return re.findall(r"(?:if|for) \((.*)\) \{", source)


def test_conditions_put_what_is_taken_away_on_the_other_side():
    M, by, c = var("M"), var("blockIdx.y"), var("linearId")
    assert heads(When((M - 128 * by - 128,), ())) == ["M >= 128 * blockIdx_y + 128"]
    assert heads(When((M - c - 1,), ())) == ["M > linearId"]
    assert heads(When((-c,), ())) == ["linearId == 0"]
    assert heads(When((3 - c, M - 5), ())) == ["linearId <= 3 && M >= 5"]
    assert heads(When(((M + 31) // 32 - c,), (), orelse=(When((c - 4,), ()),))) == [
        "(M + 31) / 32 >= linearId", "linearId >= 4"]  # fmt: skip
    assert heads(When((M // 32 - c,), ()), context=(("M", 32),)) == ["M >= 32 * linearId"]


def test_block_indices_are_ints():
    """CUDA's are unsigned, and `blockIdx.y + c2 >= 3` would be true for a negative sum."""
    loop = Loop("c2", (aff(-1),), (var("M"),), 1, False, (When((var("c2") + var("blockIdx.y") - 3,), ()),))
    assert heads(loop)[1] == "blockIdx_y + c2 >= 3"
    assert "const int blockIdx_y = blockIdx.y;" in print_cuda(small(loop))
    assert "blockIdx_x" not in print_cuda(small(loop))


# ---- bank conflicts, over all lanes of all accesses


def index_points(ir, exprs):
    """Values of the loop variables in an index, within their ranges; sizes and blocks do not matter here."""
    loops = sorted(set().union(*(e.names() for e in exprs)) & {n for n in ir.ranges if re.fullmatch(r"c\d+", n)})
    spans = []
    for n in loops:
        low, high = ir.ranges[n]
        spans.append(range(max(low, 0), (low if high is None else high) + 1 if high is not None else 3))
    for values in product(*spans):
        yield dict(zip(loops, values))


def lane_map(op):
    """What a lane adds to the place that an operation names: by value, or by instruction."""
    return getattr(op, {FragmentLoad: "ownership", LoadMatrix: "lines"}.get(type(op), ""), None)


@pytest.mark.parametrize("name", CASES)
def test_every_shared_access_is_free_of_bank_conflicts(name):
    ir, seen = CASES[name].kernel().ir, 0
    for op in operations(ir.body):
        if isinstance(op, ExchangeStore):
            assert conflicts(op.exchange) == 1
            seen += 1
        if not isinstance(op, SharedStore | FragmentLoad | LoadMatrix | AsyncCopy):
            continue
        tile = ir.tile(op.tile)
        dims = [n for n, _ in tile.layout.inputs]
        exprs = {SharedStore: "index", AsyncCopy: "place"}.get(type(op), "origin")
        exprs, own = getattr(op, exprs), lane_map(op)
        firsts = range(0, own.inputs[1][1], op.access) if isinstance(op, FragmentLoad) else [0]
        firsts = range(op.instructions) if isinstance(op, LoadMatrix) else firsts
        width = 2 * op.access if isinstance(op, FragmentLoad) else 16
        lane = np.arange(32)
        for warp, point, first in product(range(ir.warps), index_points(ir, exprs), firsts):
            names = {"linearId": 32 * warp + lane, **point}
            for n, e in ir.derived:
                names[n] = e.evaluate(names)
            at = [np.broadcast_to(e.evaluate(names), 32) for e in exprs]
            if own is not None:
                at = [x + y for x, y in zip(at, own.evaluate({"lane": lane, own.inputs[1][0]: first}))]
            if any((x < 0).any() or (x >= n).any() for x, (_, n) in zip(at, tile.layout.inputs)):
                continue
            chunk = np.broadcast_to(tile.layout.evaluate(dict(zip(dims, at)))[0], 32)
            inside = at[tile.order[1]] % 8 * 2 if width == 8 else 0
            assert conflict_degree((16 * chunk + inside).tolist(), width) == 1, op
            seen += 1
    assert seen >= 10


# ---- resources on Volta


def test_default_resources_on_sm_70():
    kernel = CASES["plain_row_col"].kernel()
    found = kernel.resources()
    assert found.registers <= 255
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)
    assert found.shared_bytes == kernel.launch_config(M=128, N=128, K=32).shared_bytes == 18432
    assert kernel.cubin()[:4] == b"\x7fELF"


@pytest.mark.parametrize(("block", "warp"), TILES)
def test_these_tiles_do_not_spill(block, warp):
    found = pv.compile(matmul(), options=pv.Options(block_tile=block, warp_tile=warp)).resources()
    assert found.registers <= 255
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_loops_of_a_sum_take_no_more_registers_than_one(count, arch):
    """What a later loop needs of a thread's numbers is not kept across those before: it would take 14 to 26 more."""
    tiles = pv.Options(block_tile=(64, 64, 32), warp_tile=(32, 64, 32))
    products = [matmul(left=a, right=b) for a, b in ("AB", "PQ", "UV")]
    sums = (products[0], sum(products[1:count], products[0]))
    one, several = (pv.compile(e, target="sm_80", options=tiles) for e in sums)
    assert "linearId = again(threadIdx.x);" not in one.source
    assert several.source.count("linearId = again(threadIdx.x);") == count - 1
    plain, found = (compile_cubin(k.source, arch, name="kern0").resources("kern0") for k in (one, several))
    assert (found.spill_stores, found.spill_loads) == (0, 0)
    assert found.registers <= plain.registers + 4


def test_numbers_are_taken_once_where_copies_go_through_registers():
    for target in ("sm_70", "sm_75"):
        text = pv.compile(matmul() + matmul(left="P", right="Q"), target=target).source
        assert "const int linearId = threadIdx.x;" in text
        assert "again" not in text
