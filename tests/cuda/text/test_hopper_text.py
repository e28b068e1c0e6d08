"""Texts for Hopper: the statement and the instruction of each operation, roles, arguments, what ptxas makes of them."""

import re
from dataclasses import replace
from itertools import product as cross

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.arguments import direct_tensors
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    BoxMap,
    BoxStore,
    CommitStores,
    Loop,
    ProxyFence,
    Role,
    Roles,
    SharedTile,
    WaitStores,
    Wgmma,
    When,
)
from polyvolta.cuda.ir.walk import operations, replaced, walk
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.cuda.target.descriptors import Descriptor
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text import roles
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.helpers.device_function import DeviceFunctions
from polyvolta.cuda.text.helpers.engines import warpgroups
from polyvolta.cuda.text.printer import print_cuda, printed
from polyvolta.sets import aff, var
from tests.cuda.hopper_kernels import product
from tests.cuda.text.golden_texts import L, gelu_residual
from tests.cuda.text.golden_texts import product as matmul
from tests.cuda.text.hopper_variants import beginning, of_kind


def flat(text):
    """A text with broken lines joined."""
    return re.sub(r"(?<=[,(]) *\n\s+", " ", text)


def statement(text, name):
    """The first call of a device function in the kernel's body."""
    body = flat(text[text.index('extern "C"') :])
    return re.search(rf"^ *(.*\b{name}\(.*);", body, re.MULTILINE)[1]


def instructions(text, name):
    """What a device function's assembly says, without operands' constraints."""
    body = text[re.search(rf"\b{name}\([^;]*{{$", text, re.MULTILINE).start() :]
    body = body[: body.index("\n}")]
    return ["".join(re.findall(r'"([^"]*)"', found)) for found in re.findall(r'volatile\(((?:\s*"[^"]*")+)', body)]


# ---- operations


def test_barriers_begin_wait_and_are_arrived_at():
    text = print_cuda(product(3, 2, (128, 128, 64)))
    assert statement(text, "begin_barriers") == "begin_barriers(full, empty)"
    assert "begin_phases(full + i, 1);" in text and "begin_phases(empty + i, 2);" in text
    assert instructions(text, "begin_barriers") == ['fence.mbarrier_init.release.cluster;']
    assert instructions(text, "begin_phases") == ['mbarrier.init.shared::cta.b64 [%0], %1;']
    assert instructions(text, "arrive") == ['mbarrier.arrive.shared::cta.b64 _, [%0];']
    assert instructions(text, "arrive_expecting") == ['mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;']
    (wait,) = instructions(text, "await_phase")
    assert wait == (
        '{.reg .pred complete;again: mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;@!complete bra again;}'
    )
    assert statement(text, "arrive_expecting") == "arrive_expecting(full + slot, 32768)"


@pytest.mark.parametrize("stages", (1, 2, 3, 4, 5, 7))
def test_slots_and_parities_are_those_of_the_phases(stages):
    """As C computes them, for the first trips; phase -1 has parity 1."""
    ir = product(stages, 1, (64, 64, 64))
    text = flat(print_cuda(ir))
    bare = [op for op in operations(ir.body) if isinstance(op, Await) or (isinstance(op, Arrive) and not op.bytes)]
    assert {type(op) for op in bare} == {Await, Arrive}
    for op in operations(ir.body):
        if isinstance(op, Await):
            calls = re.findall(rf"await_phase\({op.phase.barriers}(?: \+ (.*))?, (.*)\);", text)
            ((slot, parity),) = calls
            for t in range(30):
                names = turned(t, stages)
                assert int(eval((slot or "0").replace("/", "//"), names)) == op.phase.slot.evaluate({"t": t})
                assert int(eval(parity.replace("/", "//"), names)) == op.phase.number.evaluate({"t": t}) % 2
        if isinstance(op, Arrive) and not op.bytes:
            late = stages > 1
            slot = re.search(r"  arrive\(empty(?: \+ (.*))?\);", text)[1] or "0"
            for t in range(late, 30):
                assert int(eval(slot.replace("/", "//"), turned(t, stages))) == op.phase.slot.evaluate({"t": t})


def turned(t: int, stages: int) -> dict[str, int]:
    """What a loop's variables are in trip t: slot and parity begin at 0 and turn at the end of each trip."""
    slot = parity = 0
    for _ in range(t):
        slot += 1
        if slot == stages:
            slot, parity = 0, parity ^ 1
    return {"t": t, "slot": slot, "parity": parity}


@pytest.mark.parametrize("layout", ("row", "col"))
def test_boxes_have_coordinates_in_the_order_of_memory(layout):
    """[line, run] in the text, (run, line) in the instruction, and the place in the tile that its layout says."""
    text = flat(print_cuda(product(3, 2, (128, 128, 64), (layout, "col", "row"))))
    calls = re.findall(r"copy_box\(shared_A(.*?), map_A, (.*?), (.*?), full \+ slot\);", text)
    if layout == "row":
        assert calls == [(" + 1024 * slot", "128 * blockIdx_y", "64 * t")]
    else:  # two panels of 64 rows, 64 lines of k each
        assert calls == [(" + 1024 * slot", "64 * t", "128 * blockIdx_y"),
                         (" + 1024 * slot + 512", "64 * t", "128 * blockIdx_y + 64")]  # fmt: skip
    assert instructions(text, "copy_box") == [
        'cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];'
    ]
    assert '"r"(shared_address(to)), "l"(&map), "r"(run), "r"(line), "r"(shared_address(barrier))' in text


def storing():
    """A kernel that stores a tile's boxes, too."""
    ir = product(2, 1, (64, 64, 64))
    box = Box(64, 64, Swizzle(128))
    layout = next(t for t in ir.tiles if t.name == "shared_A").layout
    tile = SharedTile("shared_C", ir.shared_bytes // 1024 * 64 + 64, 512, layout, (0, 1))
    store = BoxStore("map_C", (64 * var("blockIdx.y"), 64 * var("blockIdx.x")), "shared_C", (aff(0), aff(0)))
    asked = When((-var("linearId"),), (store, CommitStores(), WaitStores(0)), uniform=False)
    last = (ProxyFence(), Barrier("warpgroup"), asked)
    (*before, split) = ir.body
    consumer, producer = split.roles
    split = replace(split, roles=(replace(consumer, body=(*consumer.body, *last)), producer))
    maps = (*ir.maps, BoxMap("map_C", "C", box))
    tensors = tuple(replace(t, whole=t.written) for t in ir.tensors)
    return replace(ir, tensors=tensors, tiles=(*ir.tiles, tile), maps=maps, body=(*before, split))


def test_stored_boxes_are_groups_behind_a_fence():
    text = print_cuda(storing())
    assert statement(text, "store_box") == "store_box(map_C, 64 * blockIdx_y, 64 * blockIdx_x, shared_C)"
    assert instructions(text, "store_box") == [
        'cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];'
    ]
    assert '"l"(&map), "r"(run), "r"(line), "r"(shared_address(from))' in text
    assert instructions(text, "commit_stores") == ['cp.async.bulk.commit_group;']
    assert instructions(text, "wait_stores") == ['cp.async.bulk.wait_group.read 0;']
    assert instructions(text, "fence_async_proxy") == ['fence.proxy.async.shared::cta;']
    names = ("fence_async_proxy();", "sync_128_threads(1);", "store_box(", "wait_stores(")
    order = [text.rindex(name) for name in names]
    assert order == sorted(order)
    assert compile_cubin(text, "sm_90a", name="storing").resources("product").spill_stores == 0


def test_products_have_descriptors_and_accumulators():
    ir = product(3, 2, (256, 64, 64))
    text = print_cuda(ir)
    assert statement(text, "wgmma_m64n64k16") == (
        "wgmma_m64n64k16(&acc[part], describe_k_major(shared_A, 512 * part + 2048 * slot + 1024 * (warp / 4)), "
        "describe_k_major(shared_B, 512 * slot))"
    )
    (made,) = instructions(text, "wgmma_m64n64k16")
    registers = ", ".join(f"%{i}" for i in range(32))
    assert made == f'wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{registers}}}, %32, %33, 1, 1, 1, 0, 0;'
    assert ': "l"(a), "l"(b));' in text
    assert instructions(text, "fence_products") == ['wgmma.fence.sync.aligned;']
    assert instructions(text, "commit_products") == ['wgmma.commit_group.sync.aligned;']
    assert instructions(text, "wait_products_but_1") == ['wgmma.wait_group.sync.aligned 1;']
    assert instructions(text, "wait_products") == ['wgmma.wait_group.sync.aligned 0;', '']
    assert "wait_products(acc);" in text and "float (&d)[2][32]" in text


def test_a_statement_of_a_role_is_replaced_alone():
    ir = product(2, 1, (64, 64, 64))
    for path, s in walk(ir.body):
        assert replaced(ir.body, path, (s,)) == ir.body
        assert len(replaced(ir.body, path, ())) == len(ir.body) - (len(path) == 1)


@pytest.mark.parametrize(("kind", "layouts"), list(cross(("half", "bfloat16"), cross(("row", "col"), ("row", "col")))))
def test_a_product_says_which_operands_are_transposed(kind, layouts):
    text = print_cuda(of_kind(product(2, 1, (64, 32, 64), (*layouts, "row")), kind))
    name = {"half": "f16", "bfloat16": "bf16"}[kind]
    turned = f"{int(layouts[0] == 'col')}, {int(layouts[1] == 'row')}"
    (made,) = instructions(text, "wgmma_m64n32k16")
    assert f".m64n32k16.f32.{name}.{name} " in made and made.endswith(f', 1, 1, 1, {turned};')


@pytest.mark.parametrize("d", [Descriptor("k", Swizzle(128), 1, 64), Descriptor("mn", Swizzle(64), 256, 32),
                               Descriptor("k", Swizzle(0), 8, 16)], ids=str)  # fmt: skip
def test_a_descriptor_is_its_constant_and_the_start(d):
    """In 32 bits: what is added stays within the start's field, for any start in shared memory."""
    (line, result) = warpgroups.descriptor(d).body
    values = {"shared_address": lambda tile: tile, "tile": 16 * 3000, "chunk": 1234}
    low = eval(re.fullmatch(r"const unsigned start = (.*);", line)[1].replace("/", "//"), values)
    high = int(re.fullmatch(r"return (0x[0-9a-f]+)ull << 32 \| start;", result)[1], 16)
    assert high << 32 | low == d.at(4234)


def test_a_sum_begins_with_its_first_product():
    """Of the first k tile; the other three of a trip add, as do all later ones."""
    text = print_cuda(beginning(product(3, 1, (64, 64, 64))))
    body = flat(text[text.index('extern "C"') :])
    names = re.findall(r" (wgmma_m64n64k16\w*)\(", body)
    assert names == ["wgmma_m64n64k16_adding", *["wgmma_m64n64k16"] * 3]
    assert statement(text, "wgmma_m64n64k16_adding").endswith(", t >= 1)")
    (made,) = instructions(text, "wgmma_m64n64k16_adding")
    assert made.startswith('{.reg .pred adds; setp.ne.b32 adds, %34, 0;wgmma.mma_async')
    assert made.endswith(', %32, %33, adds, 1, 1, 0, 0;}')
    assert body.index("wait_products(acc);") < body.index("hmma_zero(acc);")


# ---- roles and what they share


def test_roles_are_branches_on_the_warp():
    ir = product(3, 2, (128, 128, 64))
    lines = [line.strip() for line in print_cuda(ir).splitlines()]
    assert lines.count("if (warp <= 7) {  // consumer") == lines.count("} else {  // producer") == 1
    assert "const int warp = __shfl_sync(0xffffffffu, linearId / 32, 0);" in lines


@pytest.mark.parametrize("shares", [((0, 4), (4, 1)), ((1, 4), (0, 1)), ((0, 2), (2, 1), (3, 2)), ((2, 1), (0, 2))])
def test_each_warp_runs_the_role_that_it_has(shares):
    """As the branches are taken in order; warps without a role take none."""
    ir = product(2, 1, (64, 64, 64))
    split = Roles(tuple(Role(f"role{n}", first, warps, ()) for n, (first, warps) in enumerate(shares)))
    for warp in range(ir.warps):
        wanted = next((n for n, (first, warps) in enumerate(shares) if first <= warp < first + warps), None)
        met = None
        for which in range(len(shares)):
            conditions = roles.test(ir, split, which)
            if all(e.evaluate({"warp": warp}) >= 0 for e in conditions):
                met = which
                break
        assert met == wanted


def under(ir, condition, *more):
    """The producer's condition changed, and statements added to what it holds."""
    (*before, split) = ir.body
    consumer, producer = split.roles
    (one,) = producer.body
    producer = replace(producer, body=(replace(one, conditions=condition, body=(*one.body, *more)),))
    return replace(ir, body=(*before, replace(split, roles=(consumer, producer))))


def test_boxes_are_asked_for_by_an_elected_lane_where_it_is_all_the_same_which():
    """Not where a thread waits for groups of its own, or where another condition is meant than lane 0 alone."""
    ir, lane = product(2, 1, (64, 64, 64)), var("lane")
    assert "if (elected()) {" in print_cuda(ir)
    assert instructions(print_cuda(ir), "elected") == [
        "{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p;}"
    ]
    for other in (under(ir, (-lane,), WaitStores(0)), under(ir, (1 - lane,)), under(ir, (-lane, var("K") - 1)),
                  under(ir, (-lane,), When((lane + var("K"),), (CommitStores(),)))):  # fmt: skip
        assert "elected" not in print_cuda(other)


def test_barriers_of_part_of_a_block_have_numbers():
    """Each role's, and each warpgroup's; the same one wherever it stands."""
    named, warp = roles.NamedBarriers(), var("warp")
    one, two = Role("consumer", 0, 8, ()), Role("other", 8, 4, ())
    number, threads = named.of("warpgroup", (0,), one, warp)
    assert [number.evaluate({"warp": w}) for w in (0, 3, 4, 7)] == [1, 1, 2, 2] and threads == 128
    assert [named.of("role", (0,), one, warp), named.of("role", (1,), two, warp)] == [(aff(3), 256), (aff(4), 128)]
    assert named.of("warpgroup", (0,), one, warp)[0] == number
    assert named.of("warpgroup", (1,), two, warp) == (aff(5), 128)
    for place in range(2, 12):
        named.of("role", (place,), one, warp)
    with pytest.raises(NotPrintable, match="barrier number 16"):
        named.of("role", (12,), one, warp)


def test_a_tensor_that_boxes_alone_reach_has_no_pointer():
    ir = product(2, 1, (64, 64, 64))
    assert [t.name for t in direct_tensors(ir)] == ["C"]
    head = flat(print_cuda(ir)[print_cuda(ir).index('extern "C"') :]).splitlines()[0]
    assert head == (
        'extern "C" __global__ void __launch_bounds__(160, 1) product(int M, int N, int K, fp16 *__restrict__ C, '
        "int ldC, const __grid_constant__ TensorMap map_A, const __grid_constant__ TensorMap map_B) {"
    )
    without = replace(ir, maps=(), body=())
    assert [t.name for t in direct_tensors(without)] == ["A", "B", "C"]


def test_each_statement_has_its_line():
    """Those of all roles: the line is the one where it is printed."""
    ir = product(3, 2, (128, 128, 64))
    made = printed(ir)
    lines = made.text.split("\n")
    assert made.lines.keys() == dict(walk(ir.body)).keys()
    starts = {Loop: "for (int", When: "if (", Roles: "if (warp", Await: "await_phase(", BoxCopy: "copy_box(",
              Wgmma: "wgmma_", Arrive: "arrive"}  # fmt: skip
    for path, s in walk(ir.body):
        if type(s) in starts:
            assert lines[made.lines[path] - 1].strip().startswith(starts[type(s)])


# ---- what ptxas makes of it

SHAPES = [  # stages, warpgroups, block tile, layouts of A, B and C, kind, most registers
    (6, 1, (64, 64, 64), ("row", "col", "row"), "half", 64),
    (5, 2, (128, 128, 64), ("row", "col", "row"), "half", 96),
    (4, 2, (128, 256, 64), ("row", "col", "row"), "bfloat16", 168),
    (3, 2, (256, 128, 64), ("col", "col", "row"), "half", 168),
    (4, 3, (192, 128, 64), ("row", "row", "row"), "half", 96),
    (4, 2, (128, 128, 64), ("col", "row", "col"), "bfloat16", 96),
    (1, 1, (64, 16, 16), ("row", "col", "row"), "half", 48),
    (3, 1, (64, 240, 32), ("row", "row", "row"), "half", 208),
]


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_products_run_side_by_side_and_nothing_is_spilled(case):
    """ptxas has no remark on serialized products; the registers leave room for the block."""
    stages, groups, block, layouts, kind, most = case
    ir = of_kind(beginning(product(stages, groups, block, layouts, reuse=stages > 1)), kind)
    cubin = compile_cubin(print_cuda(ir), "sm_90a", name="product")
    used = cubin.resources("product")
    assert "serialized" not in cubin.log, cubin.log
    assert (used.spill_stores, used.spill_loads, used.local_bytes) == (0, 0, 0)
    assert used.registers <= most


def test_products_of_all_widths_compile():
    """m64nNk16 for N = 8, 16, ..., 256, each with another pair of operands, in two texts."""
    for kind in ("half", "bfloat16"):
        functions, calls = DeviceFunctions(), []
        for columns in range(8, 257, 8 if kind == "half" else 40):
            majors = ("k", "mn")[columns // 8 % 2], ("k", "mn")[columns // 16 % 2]
            name = functions.name(warpgroups.product((64, columns, 16), kind, majors, 4))
            calls += ["{", f"  float d[{columns // 8}][4];", f"  {name}(d, a, b);", "  fence();", "}"]
        fence = 'static __device__ void fence() { asm volatile("wgmma.wait_group.sync.aligned 0;"); }'
        head = 'extern "C" __global__ void all_widths(unsigned long long a, unsigned long long b) {'
        text = "\n\n".join([*functions.texts(), fence, "\n".join([head, *calls, "}"])])
        assert compile_cubin(text, "sm_90a", name="all_widths").image


def test_shared_memory_starts_at_a_multiple_of_1024_bytes():
    """Boxes need it: the compiler places it there, as nothing else is in the kernel's shared memory."""
    ir = product(3, 2, (128, 128, 64))
    text = print_cuda(ir)
    assert "extern __shared__ __align__(1024) half8 shared_memory[];" in text
    assert compile_cubin(text, "sm_90a", name="product").resources("product").shared_bytes == 0


PLANNED = [  # block tile, warpgroup's tile, buffers, a graph
    ((128, 256, 64), (64, 256, 64), 4, matmul),
    ((256, 128, 64), (128, 128, 64), 3, lambda: matmul("col", "row", dtype="bfloat16")),
    ((128, 192, 64), (64, 192, 64), 4, gelu_residual),
    ((64, 64, 64), (64, 64, 64), 6, lambda: matmul() + matmul(left="P", right="Q", depth=L)),
]


@pytest.mark.parametrize("case", PLANNED, ids=lambda c: "x".join(map(str, c[0])))
def test_kernels_that_passes_make_have_no_serialized_products(case):
    block, part, buffers, graph = case
    options = pv.Options(block_tile=block, warp_tile=part, macro_mma=f"m64n{part[1]}k16", buffers=buffers, fragments=1,
                         split_k=1, group=8)  # fmt: skip
    kernel = pv.compile(graph(), target=SM_90A, options=options)
    cubin = compile_cubin(print_cuda(kernel.ir), "sm_90a", name=kernel.ir.name)
    assert "serialized" not in cubin.log, cubin.log
    used = cubin.resources(kernel.ir.name)
    assert (used.spill_stores, used.spill_loads, used.local_bytes) == (0, 0, 0)
