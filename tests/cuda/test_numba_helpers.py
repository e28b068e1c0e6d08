"""What users of numba get: device functions, and helpers that compile without a GPU where numba is there."""

from __future__ import annotations

import re
import sys
import types as python_types
from functools import partial
from itertools import product as product_of

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.cuda import numba_helpers
from polyvolta.cuda.errors import NoGpu
from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import FragmentLoad, LoadMatrix
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.numba_helpers import NumbaMissing, python_text
from polyvolta.cuda.run import gpu
from polyvolta.cuda.run.device_function import NotADeviceFunction, declare, device_text
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import aff, var
from polyvolta.sets.values.aff import xor
from tests.cuda import ampere
from tests.cuda.macros import COMPOSITIONS, MACRO_MMAS
from tests.cuda.text.ring_kernels import ring_kernel

M, N, K = pv.sizes("M N K")
X, Y = var("x"), var("y")


@pytest.fixture(scope="module")
def kernel():
    A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    return pv.compile(A @ B, options=pv.Options(block_tile=(64, 64, 32)), name="product")


# ---- text


def test_a_device_function_differs_from_its_kernel_in_head_memory_and_end(kernel):
    for shared in ("static", "dynamic", "auto"):
        text = device_text(kernel.ir, kernel.source, shared)
        changed = [line for line in text.splitlines() if line not in kernel.source.splitlines()]
        declared = f"  __shared__ half8 shared_memory[{kernel.ir.shared_bytes // 16}];"
        assert changed[0].startswith('extern "C" __device__ int product(int M, int N, int K, const fp16')
        assert "  return 0;" in changed
        assert (declared in changed) == (shared != "dynamic")
        caller = '\nextern "C" __global__ void k() { product(1, 1, 1, 0, 8, 0, 8, 0, 8); }\n'
        used = compile_cubin(text + caller, name="k").resources("k")
        assert used.shared_bytes == (0 if shared == "dynamic" else kernel.ir.shared_bytes)
        assert used.spill_stores == 0


def test_a_device_function_declares_no_number_of_a_thread_that_it_does_not_use():
    """One warp has no use for its number, which stays in the kernel; four of them have."""
    A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    for tile, warps in ((64, 1), (128, 4)):
        options = pv.Options(block_tile=(tile, tile, 32), warp_tile=(64, 64, 32))
        kernel = pv.compile(A @ B, "sm_80", options)
        text = device_text(kernel.ir, kernel.source)
        declared = [name for name, _ in kernel.ir.derived if f" int {name} = " in text]
        assert declared == [name for name, _ in kernel.ir.derived if warps > 1 or name != "warp"]
        code = re.sub("//.*", "", text)
        assert all(len(re.findall(rf"\b{name}\b", code)) > 1 for name in declared)
        caller = '\nextern "C" __global__ void k() { kern0(1, 1, 1, 0, 8, 0, 8, 0, 8); }\n'
        compile_cubin(text + caller, "sm_80", name="k")


@pytest.mark.parametrize("group", [1, 2, 3, 8])
def test_the_place_of_a_block_is_that_of_its_order(as_python, monkeypatch, group):
    order, hardware = BlockOrder(group), python_types.SimpleNamespace()
    monkeypatch.setattr(numba_helpers, "require_numba", lambda: None)
    monkeypatch.setitem(sys.modules, "numba", python_types.SimpleNamespace(cuda=hardware))
    place = numba_helpers.place_of_block(order)
    for columns, rows in product_of(range(1, 6), range(1, 10)):
        hardware.gridDim = python_types.SimpleNamespace(x=columns, y=rows)
        for number in range(columns * rows):
            hardware.blockIdx = python_types.SimpleNamespace(x=number % columns, y=number // columns)
            assert place() == order.place(number, columns, rows)


def test_more_than_static_shared_memory_becomes_dynamic_or_is_refused(kernel):
    from dataclasses import replace

    tiles = tuple(replace(t, start=t.start + 3000) for t in kernel.ir.tiles)
    large = replace(kernel.ir, tiles=tiles)
    assert large.shared_bytes > 48 * 1024
    assert "extern __shared__" in device_text(large, kernel.source)
    with pytest.raises(NotADeviceFunction, match="of its own it can have 49152") as caught:
        device_text(large, kernel.source, "static")
    assert caught.value.id == "PV524" and "dynamic" in caught.value.hint
    with pytest.raises(NotADeviceFunction, match="'stat'"):
        device_text(kernel.ir, kernel.source, "stat")


@st.composite
def expressions(draw, depth=3):
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([X, Y, aff(3)]))
    one, other = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    match draw(st.integers(0, 3)):
        case 0:
            return one * draw(st.integers(-4, 4)) + other
        case 1:
            return (one + draw(st.integers(0, 5))) // draw(st.integers(2, 9))
        case 2:
            return one % draw(st.integers(2, 9))
        case _:
            return xor(one % 8, other % 8, 3)


@given(e=expressions(), x=st.integers(0, 100), y=st.integers(0, 100))
def test_expressions_as_python_have_their_values(e, x, y):
    assert eval(python_text(e), {"x": x, "y": y}) == e.evaluate({"x": x, "y": y})


@pytest.fixture
def as_python(monkeypatch):
    """Device functions as the Python that numba reads, with arrays of bytes for shared memory."""

    def function(name, arguments, lines, known):
        scope = dict(known)
        exec(f"def {name}({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in lines), scope)
        return scope[name]

    def load_128(shared, n):
        return tuple(int(x) for x in shared[16 * n : 16 * n + 16].view(np.uint32))

    def store_128(shared, n, words):
        shared[16 * n : 16 * n + 16] = np.array(words, np.uint32).view(np.uint8)

    monkeypatch.setattr(numba_helpers, "_function", function)
    monkeypatch.setattr(numba_helpers, "_intrinsics", lambda: {"load_128": load_128, "store_128": store_128})


@pytest.mark.parametrize("made", [*ampere.COMPOSITIONS.values(), *COMPOSITIONS.values()], ids=lambda m: m.name)
def test_fragments_of_any_width_come_as_words(as_python, made):
    """Every chunk of a tile stored, a fragment loaded: value i is the element that the lane owns."""
    target = ampere.target(made) if made.layouts == (("row", "col"),) else "sm_70"
    tiles = {"block_tile": (64, 64, 64), "warp_tile": (32, 32, 64), "macro_mma": made.name}
    for a, b in made.layouts:
        product = pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b)
        ir = pv.compile(product, target, pv.Options(**tiles)).ir
        for load in {op.tile: op for op in operations(ir.body) if isinstance(op, FragmentLoad)}.values():
            tile = ir.tile(load.tile)
            store, fragment = numba_helpers.swizzled_store(tile), numba_helpers.fragment_load(tile, load)
            shared, (_, run) = np.zeros(16 * tile.chunks, np.uint8), tile.order
            elements = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
            for x, y in product_of(range(64), range(0, 64, 8)):
                index = (x, y) if run == 1 else (y, x)
                values = elements[x, y : y + 8] if run == 1 else elements[y : y + 8, x]
                store(shared, *index, np.ascontiguousarray(values).view(np.uint32))
            for lane in range(32):
                found = np.array(fragment(shared, 0, 0, lane), np.uint32).view(np.uint16)
                own = [load.ownership.evaluate({"lane": lane, "i": i}) for i in range(load.ownership.inputs[1][1])]
                assert list(found) == [elements[e] for e in own]


@pytest.mark.parametrize("layouts", list(product_of(("row", "col"), repeat=2)), ids=".".join)
@pytest.mark.parametrize("macro", ["m16n32k16", "m16n16k8"])
def test_fragments_by_ldmatrix_are_what_lanes_own(as_python, monkeypatch, macro, layouts):
    """A warp at once: the helper's instruction hands over chunks that lanes name by the manual's distribution."""
    named = {}

    def load_matrix(count, transposed, shared, chunk):
        called = len(named.setdefault("chunks", []))
        named["chunks"].append((count, transposed, chunk))
        return tuple((called, register) for register in range(count))

    moves = {f"load_matrix_x{c}{'_transposed' * t}": lambda c=c, t=t: partial(load_matrix, c, t)
             for c in (1, 2, 4) for t in (False, True)}  # fmt: skip
    monkeypatch.setattr(numba_helpers, "transfers", lambda: moves)
    ir = ring_kernel(layouts, macro=macro)
    for load in {op.tile: op for op in operations(ir.body) if isinstance(op, LoadMatrix)}.values():
        tile, count = ir.tile(load.tile), load.count
        elements = np.full(8 * tile.chunks, -1)
        sizes = [extent for _, extent in tile.layout.inputs]
        for index in np.ndindex(*sizes):
            (chunk,) = tile.layout.evaluate(dict(zip((n for n, _ in tile.layout.inputs), index)))
            elements[8 * chunk + index[tile.order[1]] % 8] = index[0] * sizes[1] + index[1]
        fragment = numba_helpers.fragment_load(tile, load)
        words, chunks = [], []
        for lane in range(32):
            named.clear()
            words.append(fragment(None, 16, 0, lane))
            chunks.append([chunk for _, _, chunk in named["chunks"]])
        for lane, found in enumerate(words):
            values = []
            for n, register in found:  # the manual's figure: line l/4, places 2 (l mod 4) and the next; or turned
                line, at = 8 * register + lane // 4, 2 * (lane % 4)
                for half in (0, 1):
                    source, place = (8 * register + at + half, lane // 4) if load.transposed else (line, at + half)
                    values.append(elements[8 * chunks[source][n] + place])
            own = [load.ownership.evaluate({"lane": lane, "i": i}) for i in range(2 * count * load.instructions)]
            assert values == [(16 + x) * sizes[1] + y for x, y in own]


# ---- without numba


@pytest.mark.parametrize("missing", ["numba", "numba_cuda"])
def test_without_numba_the_error_installs_it(monkeypatch, kernel, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    numba_helpers._intrinsics.cache_clear()
    for call in (
        lambda: numba_helpers.load_128,
        lambda: numba_helpers.indices(MACRO_MMAS["m16n16k8"]("row", "col").a),
        kernel.device_function,
    ):
        with pytest.raises(NumbaMissing) as caught:
            call()
        assert caught.value.id == "PV509" and "polyvolta[cuda12]" in caught.value.hint


def test_unknown_helpers_suggest_the_nearest():
    with pytest.raises(AttributeError, match="load_128"):
        numba_helpers.load_256  # noqa: B018


# ---- with numba, no GPU


@pytest.fixture
def volta(monkeypatch):
    """numba's compiler for sm_70, wherever this runs."""
    pytest.importorskip("numba_cuda")
    from numba.cuda import dispatcher

    monkeypatch.setattr(
        dispatcher, "get_current_device", lambda: python_types.SimpleNamespace(compute_capability=(7, 0))
    )
    numba_helpers._intrinsics.cache_clear()


def ptx_of(function, signature, cc=(7, 0)) -> str:
    from numba import cuda

    return cuda.compile(function, signature, cc=cc, device=False, output="ptx", abi="numba")[0]


def test_a_device_function_is_called_with_pointers_and_numbers(volta, kernel):
    from numba.cuda.types import float16, int64, void

    product, address = declare(kernel.ir, kernel.source), numba_helpers.address

    def user(m, n, k, a, b, c):
        product(m, n, k, address(a), a.shape[1], address(b), k, address(c), c.shape[1])

    ptx = ptx_of(user, void(int64, int64, int64, float16[:, ::1], float16[::1, :], float16[:, ::1]))
    assert re.search(r"call.uni \(retval0\),\s*product,", ptx)
    params = re.findall(r"\.param \.(b\d+) param\d+;", ptx)
    assert params == ["b32"] * 3 + ["b64", "b32"] * 3


@pytest.mark.parametrize("layouts", [("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")])
@pytest.mark.parametrize("name", MACRO_MMAS)
def test_a_macro_mma_is_its_instructions_in_registers(volta, name, layouts):
    from numba import cuda
    from numba.cuda.types import float32, void

    macro = MACRO_MMAS[name](*layouts)
    mma, zero, own, load = (
        numba_helpers.macro_mma(macro),
        numba_helpers.zeros(macro),
        numba_helpers.indices(macro.d),
        numba_helpers.load_128,
    )

    @cuda.jit(device=True, forceinline=True)
    def one(x, lane):
        return load(x, lane)

    @cuda.jit(device=True, forceinline=True)
    def two(x, lane):
        return load(x, lane) + load(x, lane + 32)

    assert macro.values[:2] in ((8, 8), (16, 16))
    words = one if macro.values[0] == 8 else two

    def user(a, b, c):
        lane = cuda.threadIdx.x
        d = mma(words(a, lane), words(b, lane), zero())
        row, col = own(lane, 3)
        c[row, col] = d[3]

    ptx = ptx_of(user, void(float32[::1], float32[::1], float32[:, ::1]))
    count = ptx.count(f"mma.sync.aligned.m8n8k4.{'.'.join(layouts)}.f32.f16.f16.f32")
    assert count == len(macro.steps)
    assert ".local" not in ptx and "call" not in ptx


@pytest.mark.parametrize("name", ["128", "16", "64 of four", "32, two values"])
def test_a_macro_mma_of_any_instruction(volta, name):
    """Words of A and B in any number; where a register's two values are no neighbours it is put together."""
    from numba import cuda
    from numba.cuda.types import float32, uint32, void

    macro = ampere.COMPOSITIONS[name].of()
    count_a, count_b, count_d = macro.values[0] // 2, macro.values[1] // 2, macro.values[2]
    mma, zero = numba_helpers.macro_mma(macro), numba_helpers.zeros(macro)
    first, second = numba_helpers.indices(words(count_a)), numba_helpers.indices(words(count_b))

    def user(a, c):
        lane = cuda.threadIdx.x
        d = mma(first(a[lane]), second(a[lane + 32]), zero())
        c[lane] = d[count_d - 1]

    ptx = ptx_of(user, void(uint32[::1], float32[::1]), (8, 0))
    assert ptx.count(macro.instruction.name) == len(macro.steps)
    assert ".local" not in ptx and "call" not in ptx


def words(count):
    """A map to so many different numbers, for fragments of that many words."""
    return IndexMap((("x", 2**20),), tuple((f"w{n}", X + n) for n in range(count)))


def test_transfers_are_their_instructions(volta):
    """Every form of `ldmatrix`, copies of every width, their groups and waits, and bf16, in one user's kernel."""
    from numba import cuda
    from numba.cuda.types import float16, float32, void

    loads = [getattr(numba_helpers, f"load_matrix_x{c}{t}") for t in ("", "_transposed") for c in (1, 2, 4)]
    one, two, four, one_t, two_t, four_t = loads
    copy_16, copy_8, copy_4 = (getattr(numba_helpers, f"copy_async_{width}") for width in (16, 8, 4))
    commit, all_but_one, all_of_them = numba_helpers.commit_copies, *map(numba_helpers.wait_copies, (1, 0))
    mma, unpack, pack = (
        numba_helpers.mma_m16n8k16_row_col_bf16, numba_helpers.unpack_bfloat2, numba_helpers.pack_bfloat2
    )  # fmt: skip

    def user(a, size, c):
        shared = cuda.shared.array(4096, float16, 16)
        lane = cuda.threadIdx.x
        copy_16(shared, lane, a, lane + 1, 16)
        commit()
        copy_8(shared, lane + 200, a, lane, size)
        copy_4(shared, lane + 800, a, lane, size)
        commit()
        all_but_one()
        all_of_them()
        cuda.syncthreads()
        (word,) = one(shared, lane)
        (turned,) = one_t(shared, lane)
        d = mma(four(shared, lane), two(shared, lane), (c[0], c[1], c[2], c[3]))
        d = mma(four_t(shared, lane), two_t(shared, lane), d)
        c[lane] = d[0] + d[1] + d[2] + d[3] + unpack(pack(d[0], d[1]))[1] + unpack(word)[0] + unpack(turned)[0]

    ptx = ptx_of(user, void(float16[::1], numba_int32(), float32[::1]), (8, 0))
    for count, turned in product_of((1, 2, 4), ("", ".trans")):
        assert ptx.count(f"ldmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16 {{") == 1
    for form in ("cg.shared.global [there], [%rd", "ca.shared.global [there], [%rd"):
        assert form in ptx
    assert [ptx.count(f"], {width}, ") for width in (16, 8, 4)] == [1, 1, 1]
    assert ptx.count("cp.async.commit_group;") == 2
    assert ptx.index("cp.async.wait_group 1;") < ptx.index("cp.async.wait_group 0;") < ptx.index("bar.sync")
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 2
    assert ptx.count("cvt.rn.bf16x2.f32") == 1
    assert ".local" not in ptx and "call" not in ptx


@pytest.mark.parametrize("group", [1, 8])
def test_the_place_of_a_block_is_computed_from_the_hardwares_numbers(volta, group):
    from numba.cuda.types import int32, void

    place = numba_helpers.place_of_block(BlockOrder(group))

    def user(c):
        c[0], c[1] = place()

    ptx = ptx_of(user, void(int32[::1]))
    assert "%ctaid.x" in ptx and "%ctaid.y" in ptx and "call" not in ptx
    assert ("%nctaid.x" in ptx) == ("%nctaid.y" in ptx) == (group > 1)


def test_a_users_ring_of_copies(volta):
    """The tiles and fragments of a kernel's IR, copied and loaded in a user's kernel."""
    from numba import cuda
    from numba.cuda.types import float16, float32, void

    ir = ring_kernel()
    load = next(op for op in operations(ir.body) if isinstance(op, LoadMatrix))
    tile = ir.tile(load.tile)
    copy, fragment = numba_helpers.swizzled_copy(tile), numba_helpers.fragment_load(tile, load)
    commit, arrived, values = numba_helpers.commit_copies, numba_helpers.wait_copies(0), 8 * tile.chunks
    unpack = numba_helpers.unpack_half2

    def user(a, c):
        shared = cuda.shared.array(values, float16, 16)
        lane = cuda.threadIdx.x
        copy(shared, lane // 4, 8 * (lane % 4), a, lane)
        commit()
        arrived()
        cuda.syncwarp()
        c[lane] = unpack(fragment(shared, 0, 0, lane)[3])[1]

    ptx = ptx_of(user, void(float16[::1], float32[::1]), (8, 0))
    assert ptx.count("cp.async.cg.shared.global") == 1 and ptx.count("ldmatrix.sync.aligned.m8n8.x4.shared.b16") == 1


def numba_int32():
    from numba.cuda.types import int32

    return int32


def test_tiles_are_stored_and_loaded_128_bits_at_a_time(volta, kernel):
    from numba import cuda
    from numba.cuda.types import float16, float32, void

    tile = kernel.ir.tile("shared_A")
    load = next(op for op in operations(kernel.ir.body) if isinstance(op, FragmentLoad) and op.tile == tile.name)
    store, fragment = numba_helpers.swizzled_store(tile), numba_helpers.fragment_load(tile, load)
    load_128, unpack, pack = numba_helpers.load_128, numba_helpers.unpack_half2, numba_helpers.pack_half2
    values = 8 * tile.chunks

    def user(a, c):
        shared = cuda.shared.array(values, float16, 16)
        lane = cuda.threadIdx.x
        store(shared, lane, 0, load_128(a, lane))
        cuda.syncthreads()
        words = fragment(shared, 0, 0, lane)
        c[lane] = unpack(words[0])[1]
        c[lane + 32] = unpack(pack(c[lane], c[lane + 1]))[0]

    ptx = ptx_of(user, void(float16[::1], float32[::1]))
    assert ptx.count("st.v4.u32") == 1 and ptx.count("ld.v4.u32") == 2
    assert "cvt.rn.f16.f32" in ptx and "cvt.f32.f16" in ptx


def test_an_exchange_buffer_has_no_layout_to_store_by(kernel):
    with pytest.raises(pv.PolyvoltaError, match="no layout"):
        numba_helpers.swizzled_store(kernel.ir.tile("exchange"))


# ---- with a driver that notes what it is asked


class FakeKernel:
    """A `@cuda.jit` kernel as far as `with_shared` looks at it."""

    def __init__(self, *handles):
        functions = [python_types.SimpleNamespace(handle=h, name=f"kernel{h}") for h in handles]
        self.specialized, self.asked = bool(handles), []
        self.overloads = {
            h: python_types.SimpleNamespace(
                _codelibrary=python_types.SimpleNamespace(get_cufunc=lambda function=function: function)
            )
            for h, function in zip(handles, functions)
        }

    def specialize(self, *args):
        self.asked.append(args)
        return FakeKernel(7)


@pytest.fixture
def asked_for(monkeypatch):
    from polyvolta.cuda.run import launch

    calls = []
    monkeypatch.setattr(numba_helpers, "require_numba", lambda: None)
    monkeypatch.setattr(launch, "current_device", lambda: 3)
    monkeypatch.setattr(launch, "allow_shared", lambda *call: calls.append(call))
    return calls


def test_a_users_kernel_is_specialized_and_may_take_more_shared_memory(asked_for):
    users = FakeKernel()
    special = numba_helpers.with_shared(users, 65536, 1, "a")
    assert users.asked == [(1, "a")]
    assert special.specialized and asked_for == [(7, "kernel7", 3, 65536)]
    assert numba_helpers.with_shared(special, 70000) is special
    assert asked_for[1:] == [(7, "kernel7", 3, 70000)]


def test_without_a_gpu_no_shared_memory_is_asked_for(monkeypatch):
    monkeypatch.setattr(numba_helpers, "require_numba", lambda: None)
    monkeypatch.setattr(gpu, "_missing", lambda: ("there is no GPU", "buy one"))
    users = FakeKernel()
    with pytest.raises(NoGpu, match="there is no GPU"):
        numba_helpers.with_shared(users, 65536)
    assert not users.asked
