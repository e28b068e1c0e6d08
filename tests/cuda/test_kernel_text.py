"""The CUDA text: the paper's skeleton, indices equal to the IR's relations, no bank conflict, sm_70 resources."""

import re
from itertools import product

import pytest

import polyvolta as pv
from polyvolta.cuda.bank_model import conflict_degree
from polyvolta.cuda.exchange import conflicts
from polyvolta.cuda.kernel_ir import FragmentLoad, SharedStore, StoreAccumulator, operations

TILES = [
    ((128, 128, 32), (64, 64, 32)),
    ((64, 64, 32), (32, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((128, 64, 16), (64, 32, 16)),
    ((256, 64, 32), (64, 64, 32)),
    ((48, 48, 24), (16, 48, 24)),
    ((64, 64, 96), (32, 32, 96)),
    ((80, 48, 48), (16, 48, 48)),
]


def compiled(block, warp):
    M, N, K = pv.sizes("M N K")
    product_ = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    return pv.compile(product_, options=pv.Options(block_tile=block, warp_tile=warp))


@pytest.fixture(scope="module", params=TILES, ids=lambda t: "x".join(map(str, t[0])))
def kernel(request):
    return compiled(*request.param)


@pytest.fixture(scope="module")
def default():
    return compiled(*TILES[0])


# Lines of the paper's listing (matmul-cuda), typed with its misprints mended: no split-K, so a k tile of 32; the
# loops, guards and calls in the listing's order.
SKELETON = [
    r"__launch_bounds__\(128\) kern0\(int M, int N, int K, const half \*__restrict__ A",
    r"for \(int c2 = -1; c2 < K / 32; c2 \+= 1\)",
    r"if \(K >= 32 \* c2 \+ 64\)",
    r"#pragma unroll\s+for \(int c\d+ = 0; c\d+ <= 3; c\d+ \+= 1\)",
    r"private_A\[c\d+\] = load_global_128\(A, 128 \* blockIdx.y \+ 32 \* c\d+ \+ linearId / 4, .*32 \* c2 .*K\)",
    r"private_B\[c\d+\] = load_global_128\(B, 128 \* blockIdx.x \+ 32 \* c\d+ \+ linearId / 4, .*32 \* c2 .*K\)",
    r"if \(c2 >= 0\)",
    r"#pragma unroll\s+for \(int c8 = 0; c8 <= 3; c8 \+= 1\)",
    r"hmma_load_a_row_swizzled\(shared_A, 16 \* c\d+ \+ 64 \* warpIdx_y, 8 \* c8, lane\)",
    r"hmma_load_b_col_swizzled\(shared_B, 16 \* c\d+ \+ 64 \* warpIdx_x, 8 \* c8, lane\)",
    r"#pragma unroll\s+for \(int c9 = 0; c9 <= 48; c9 \+= 16\)",
    r"#pragma unroll\s+for \(int c10 = 0; c10 <= 48; c10 \+= 16\)",
    r"hmma_row_col\(hmma_C\[c9 / 16\]\[c10 / 16\], hmma_A\[c9 / 16\], hmma_B\[c10 / 16\]\)",
    r"if \(K >= 32 \* c2 \+ 64\) \{\s+__syncthreads\(\);",
    r"store_shared_a_row_swizzled\(shared_A, private_A\[c\d+\],",
    r"store_shared_b_col_swizzled\(shared_B, private_B\[c\d+\],",
    r"__syncthreads\(\);\s+\}",
    r"#pragma unroll\s+for \(int c4 = 0; c4 <= 3; c4 \+= 1\)",
    r"#pragma unroll\s+for \(int c5 = 0; c5 <= 3; c5 \+= 1\)",
    r"hmma_store_global_after_reordering\(C, 128 \* blockIdx.y \+ 16 \* c4 \+ 64 \* warpIdx_y, "
    r"128 \* blockIdx.x \+ 16 \* c5 \+ 64 \* warpIdx_x, N, hmma_C\[c4\]\[c5\]",
]


def test_the_text_is_the_papers_skeleton(default):
    body = default.source[default.source.index('extern "C"') :]
    at = 0
    for line in SKELETON:
        found = re.search(line, body[at:])
        assert found, f"not found in order: {line}"
        at += found.end()


def test_each_operation_has_one_helper(default):
    names = re.findall(r"__forceinline__ \w+ (\w+)\(", default.source)
    assert len(names) == len(set(names))
    body = default.source[default.source.index('extern "C"') :]
    assert all(name in default.source.replace(f" {name}(", "", 1) for name in names)
    assert not re.search(r"\bfor \(.*<= 0;", body)


def lanes_of(warp):
    return [{"linearId": 32 * warp + lane, "lane": lane, "warp": warp} for lane in range(32)]


def with_derived(ir, values):
    for name, e in ir.derived:
        values[name] = e.evaluate(values)
    return values


def loop_points(names):
    """A few values for every loop variable of an index: copies and strips are few, so all that occur."""
    loops = sorted(n for n in names if re.fullmatch(r"c\d+", n))
    return [dict(zip(loops, p)) for p in product(range(8), repeat=len(loops))]


def test_every_shared_access_is_free_of_bank_conflicts(kernel):
    ir, seen = kernel.ir, 0
    for op in operations(ir.body):
        if isinstance(op, StoreAccumulator):
            assert conflicts(op.exchange) == 1
            seen += 1
        if not isinstance(op, SharedStore | FragmentLoad):
            continue
        layout = ir.tile(op.tile).layout
        index = op.index if isinstance(op, SharedStore) else op.origin
        extents = [e for _, e in layout.inputs]
        for warp, point in product(range(ir.warps), loop_points(set().union(*(e.names() for e in index)))):
            addresses = []
            for values in lanes_of(warp):
                values = with_derived(ir, {**values, **point})
                element = [e.evaluate(values) for e in index]
                if isinstance(op, FragmentLoad):
                    own = op.ownership.evaluate({"lane": values["lane"], "i": 0})
                    element = [x + y for x, y in zip(element, own)]
                addresses.append((element, values))
            if any(not 0 <= x < n for element, _ in addresses for x, n in zip(element, extents)):
                continue  # a loop value beyond this tile's
            chunks = [layout.evaluate(dict(zip((n for n, _ in layout.inputs), e)))[0] for e, _ in addresses]
            assert conflict_degree([16 * c for c in chunks], 16) == 1
            seen += 1
    assert seen >= 10


def c_value(text, **values):
    """A C expression over non-negative ints, as Python computes it."""
    return eval(text.replace("/", "//"), {}, values)  # noqa: S307


def test_printed_indices_are_the_relations(kernel):
    """The index in each fragment-load helper is layout o (origin + ownership), for every lane and origin."""
    for op in {o.tile: o for o in operations(kernel.ir.body) if isinstance(o, FragmentLoad)}.values():
        layout = kernel.ir.tile(op.tile).layout
        names = [n for n, _ in layout.inputs]
        helper = re.search(rf"hmma_load_{op.operand}_\w+_swizzled\(.*?\n  return tile\[(.*)\];", kernel.source)
        steps = {"row": 16, "col": 16, "k": 8}
        for origin in product(*(range(0, extent, steps[n]) for n, extent in layout.inputs)):
            for lane in range(32):
                for i in range(8):
                    own = op.ownership.evaluate({"lane": lane, "i": i})
                    element = {n: o + x for n, o, x in zip(names, origin, own)}
                    printed = c_value(helper[1], lane=lane, **dict(zip(names, origin)))
                    assert printed == layout.evaluate(element)[0]


def test_printed_stores_are_the_relations(kernel):
    for op in {o.tile: o for o in operations(kernel.ir.body) if isinstance(o, SharedStore)}.values():
        layout = kernel.ir.tile(op.tile).layout
        helper = re.search(
            r"store_shared_\w_\w+_swizzled\(.*?\n  tile\[(.*)\] = v;",
            kernel.source[kernel.source.index("half8 v, int " + ("row" if op.tile == "shared_A" else "col")) - 60 :],
        )
        names = [n for n, _ in layout.inputs]
        for element in product(*(range(0, extent, 8 if n == "k" else 1) for n, extent in layout.inputs)):
            values = dict(zip(names, element))
            assert c_value(helper[1], **values) == layout.evaluate(values)[0]


def test_shared_layouts_are_one_to_one(kernel):
    for tile in kernel.ir.tiles:
        if tile.layout is None:
            continue
        run = [n for n, _ in tile.layout.inputs].index("k")
        chunks = {}
        for element in product(*(range(extent) for _, extent in tile.layout.inputs)):
            key = tuple(x // 8 if d == run else x for d, x in enumerate(element))
            chunk = tile.layout.evaluate(dict(zip((n for n, _ in tile.layout.inputs), element)))[0]
            assert chunks.setdefault(key, chunk) == chunk
        assert sorted(chunks.values()) == list(range(tile.chunks))


def test_known_swizzles_are_found():
    def swizzles(block, warp):
        layout = compiled(block, warp).ir.tile("shared_A").layout
        return str(layout["chunk"])

    assert swizzles((64, 64, 64), (32, 32, 64)) == "8*row + (row mod 8 ^ floor(k/8))"
    assert swizzles((128, 128, 32), (64, 64, 32)) == "4*row + (floor(k/8) ^ floor(row/2) mod 4)"
    assert swizzles((64, 64, 16), (32, 32, 16)) == "2*row + (floor(k/8) ^ floor(row/4) mod 2)"


def test_default_resources_on_sm_70(default):
    found = default.resources()
    assert found.registers <= 255
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)
    assert found.shared_bytes == default.launch_config(M=128, N=128, K=32).shared_bytes == 18432
    assert default.cubin()[:4] == b"\x7fELF"


@pytest.mark.parametrize(("block", "warp"), TILES[:4])
def test_these_tiles_do_not_spill(block, warp):
    found = compiled(block, warp).resources()
    assert found.registers <= 255
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)
