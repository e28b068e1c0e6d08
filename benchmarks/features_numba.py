"""Checks: kernels as device functions, and tensor-core helpers, in users' own `@cuda.jit` kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from features_common import SMALL, check, close, exact_of, operands, product, tensors

import polyvolta as pv
from polyvolta.cuda import arch

TARGETS = ("sm_70", "sm_75", "sm_80")  # each of another instruction, and other ways to shared memory and from it


def _runnable() -> list[str]:
    """The targets whose kernels the GPU at hand runs."""
    return [name for name in TARGETS if arch.runs_on(name, arch.gpu_at_hand() or name)]


def _called(kernel: Any, shared: str, m: int, n: int, k: int, scalar: float | None = None) -> tuple[Any, Any]:
    """The result of a device function in a user's kernel, and the kernel's own."""
    from numba import cuda

    from polyvolta.cuda.numba_helpers import address

    function = kernel.device_function(shared)
    a, b = operands(m, n, k)
    da, db = cuda.to_device(a), cuda.to_device(b)
    c = cuda.device_array((m, n), np.float16)
    config = kernel.launch_config(M=m, N=n, K=k)
    dynamic = 0 if shared == "static" else config.shared_bytes
    if scalar is None:

        @cuda.jit(launch_bounds=kernel.ir.threads)
        def mine(m, n, k, a, b, c):
            function(m, n, k, address(a), k, address(b), k, address(c), n)

        mine[config.grid, config.block, 0, dynamic](m, n, k, da, db, c)
        return c.copy_to_host(), kernel(a, b)

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def scaled(m, n, k, s, a, b, c):
        function(m, n, k, s, address(a), k, address(b), k, address(c), n)

    scaled[config.grid, config.block, 0, dynamic](m, n, k, np.float32(scalar), da, db, c)
    return c.copy_to_host(), kernel(a, b, scalar)


@check
def device_function_static() -> str:
    for target in _runnable():
        mine, own = _called(product(target=target, name="product_static"), "static", 256, 192, 128)
        assert np.array_equal(mine.view(np.uint16), own.view(np.uint16)), target
    return f"bit-equal, {', '.join(_runnable())}"


@check
def device_function_dynamic_and_partial_tiles() -> str:
    for target in _runnable():
        mine, own = _called(product(target=target, name="product_dynamic"), "dynamic", 200, 136, 72)
        assert np.array_equal(mine.view(np.uint16), own.view(np.uint16)), target
    return f"bit-equal, {', '.join(_runnable())}"


@check
def device_function_with_a_scalar_and_an_epilogue() -> str:
    A, B = tensors()
    for target in _runnable():
        kernel = pv.compile(pv.sigmoid(A @ B * pv.scalar("s")), target, SMALL, name="scaled_product")
        mine, own = _called(kernel, "static", 128, 64, 64, 0.25)
        assert np.array_equal(mine.view(np.uint16), own.view(np.uint16)), target
    return f"bit-equal, {', '.join(_runnable())}"


@check
def device_function_above_48_kib() -> str:
    from numba import cuda

    from polyvolta.cuda.numba_helpers import address, with_shared

    kernel = product(pv.Options(block_tile=(128, 128, 64), buffers=2), name="large_product")
    function = kernel.device_function()

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def mine(m, n, k, a, b, c):
        function(m, n, k, address(a), k, address(b), k, address(c), n)

    a, b = operands(300, 200, 136)
    c, config = cuda.device_array((300, 200), np.float16), kernel.launch_config(M=300, N=200, K=136)
    args = (300, 200, 136, cuda.to_device(a), cuda.to_device(b), c)
    assert config.shared_bytes > 48 * 1024
    with_shared(mine, config.shared_bytes, *args)[config.grid, config.block, 0, config.shared_bytes](*args)
    assert np.array_equal(c.copy_to_host().view(np.uint16), kernel(a, b).view(np.uint16))
    return f"{config.shared_bytes} bytes, bit-equal"


def _followed(kernel: Any, m: int, n: int, k: int) -> None:
    """Behind a barrier the function is called again, for another result; behind the next one the tile is read."""
    from numba import cuda

    from polyvolta.cuda.numba_helpers import address, place_of_block

    function, place = kernel.device_function(), place_of_block(kernel.ir.block_order)
    rows, cols, _ = kernel.options.block_tile

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def mine(m, n, k, a, b, c, again, largest):
        function(m, n, k, address(a), k, address(b), k, address(c), n)
        cuda.syncthreads()
        function(m, n, k, address(a), k, address(b), k, address(again), n)
        cuda.syncthreads()
        column, line = place()
        for row in range(rows * line + cuda.threadIdx.x, rows * line + rows, cuda.blockDim.x):
            best = np.float32(-1e30)
            for col in range(cols * column, cols * column + cols):
                best = max(best, np.float32(c[row, col]))
            cuda.atomic.max(largest, row, best)

    a, b = operands(m, n, k)
    c, again = (cuda.device_array((m, n), np.float16) for _ in range(2))
    largest = cuda.to_device(np.full(m, -1e30, np.float32))
    config = kernel.launch_config(M=m, N=n, K=k)
    mine[config.grid, config.block](m, n, k, cuda.to_device(a), cuda.to_device(b), c, again, largest)
    own = kernel(a, b)
    assert np.array_equal(c.copy_to_host().view(np.uint16), own.view(np.uint16))
    assert np.array_equal(again.copy_to_host().view(np.uint16), own.view(np.uint16))
    assert np.array_equal(largest.copy_to_host(), own.max(1).astype(np.float32))


@check
def device_function_and_what_follows() -> str:
    """By blocks in the plain order, and in groups of two rows, of which the last has one."""
    for target in _runnable():
        for group in (1, 2):
            options = pv.Options(block_tile=(64, 64, 32), group=group)
            _followed(product(options, target=target, name="inner"), 320, 192, 160)
    return f"in both orders of blocks, {', '.join(_runnable())}"


def _words(values: int) -> Any:
    """A device function (x, lane): a lane's fragment of so many values, from arrays with 8 or 16 a lane."""
    from numba import cuda

    from polyvolta.cuda import numba_helpers as helpers

    load = helpers.load_128
    match values:
        case 4:
            return cuda.jit(device=True)(lambda x, lane: load(x, lane)[:2])
        case 8:
            return cuda.jit(device=True)(lambda x, lane: load(x, lane))
        case 16:
            return cuda.jit(device=True)(lambda x, lane: load(x, 2 * lane) + load(x, 2 * lane + 1))
    raise ValueError(values)


def _macro_check(macro: Any) -> None:
    """A macro-MMA on fragments gathered element by element, as its ownership maps say."""
    from numba import cuda

    from polyvolta.cuda import numba_helpers as helpers

    m, n, k = macro.shape
    mma, zero, own_d = helpers.macro_mma(macro), helpers.zeros(macro), helpers.indices(macro.d)
    words_a, words_b = map(_words, macro.values[:2])
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype("f2"), rng.standard_normal((k, n)).astype("f2")
    fragments = []
    for matrix, own, values in ((a, macro.a, macro.values[0]), (b, macro.b, macro.values[1])):
        fragment = np.zeros((32, max(8, values)), np.float16)
        for lane, i in np.ndindex(32, values):
            fragment[lane, i] = matrix[own.evaluate({"lane": lane, "i": i})]
        fragments.append(fragment)

    count = macro.values[2]

    @cuda.jit
    def kernel(a, b, c):
        lane = cuda.threadIdx.x
        d = mma(words_a(a, lane), words_b(b, lane), zero())
        d = mma(words_a(a, lane), words_b(b, lane), d)
        for i in range(count):
            row, col = own_d(lane, i)
            c[row, col] = d[i]

    c = np.zeros((m, n), np.float32)
    kernel[1, 32](fragments[0], fragments[1], c)
    assert np.allclose(c, 2 * (a.astype("f4") @ b.astype("f4")), rtol=1e-5, atol=1e-5), macro


@check
def helpers_macro_mmas() -> str:
    found = [(target, macro) for target in _runnable() for macro in pv.targets[target].macro_mmas]
    for _, macro in found:
        for made in {macro.of(*layouts).instruction: macro.of(*layouts) for layouts in macro.layouts}.values():
            _macro_check(made)
    return ", ".join(f"{macro.name} of {target}" for target, macro in found)


@check
def helpers_pack_and_unpack() -> str:
    from numba import cuda

    from polyvolta.cuda import numba_helpers as helpers

    pack, unpack, store, load = helpers.pack_half2, helpers.unpack_half2, helpers.store_128, helpers.load_128

    @cuda.jit
    def kernel(x, halves, back):
        i = cuda.threadIdx.x
        words = (
            pack(x[8 * i], x[8 * i + 1]), pack(x[8 * i + 2], x[8 * i + 3]),
            pack(x[8 * i + 4], x[8 * i + 5]), pack(x[8 * i + 6], x[8 * i + 7]),
        )  # fmt: skip
        store(halves, i, words)
        for n in range(4):
            low, high = unpack(load(halves, i)[n])
            back[8 * i + 2 * n], back[8 * i + 2 * n + 1] = low, high

    x = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    x[:6] = 65519.9, 65520, -1e9, 2.0**-25, 1 + 2.0**-11, np.inf
    halves, back = np.zeros(256, np.float16), np.zeros(256, np.float32)
    kernel[1, 32](x, halves, back)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    assert np.array_equal(halves, expected) and np.array_equal(back, expected.astype(np.float32))
    return "rounded to nearest even"


def _by_hand(target: str, macro_name: str) -> None:
    """A product of one block tile by hand: swizzled stores, fragment loads, macro-MMAs, results by ownership."""
    from numba import cuda
    from numba.cuda.types import float16

    from polyvolta.cuda import numba_helpers as helpers
    from polyvolta.cuda.ir.kernel_ir import FragmentLoad, LoadMatrix, Mma
    from polyvolta.cuda.ir.walk import operations

    kernel = product(pv.Options(block_tile=(64, 64, 32), macro_mma=macro_name), target=target)
    ops = list(operations(kernel.ir.body))
    loads = {op.operand: op for op in ops if isinstance(op, FragmentLoad | LoadMatrix)}
    macro = next(op.macro for op in ops if isinstance(op, Mma))
    tile_a, tile_b = (kernel.ir.tile(loads[x].tile) for x in "ab")
    store_a, store_b = helpers.swizzled_store(tile_a), helpers.swizzled_store(tile_b)
    fragment_a, fragment_b = helpers.fragment_load(tile_a, loads["a"]), helpers.fragment_load(tile_b, loads["b"])
    mma, zero, own, load = helpers.macro_mma(macro), helpers.zeros(macro), helpers.indices(macro.d), helpers.load_128
    rows, cols, depth = macro.shape
    count, size_a, size_b = macro.values[2], 8 * tile_a.chunks, 8 * tile_b.chunks

    @cuda.jit
    def by_hand(a, b_columns, c):
        shared_a = cuda.shared.array(size_a, float16, 16)
        shared_b = cuda.shared.array(size_b, float16, 16)
        lane = cuda.threadIdx.x
        for chunk in range(lane, 64 * 4, 32):
            store_a(shared_a, chunk // 4, 8 * (chunk % 4), load(a, chunk))
            store_b(shared_b, 8 * (chunk % 4), chunk // 4, load(b_columns, chunk))
        cuda.syncthreads()
        for i in range(0, 64, rows):
            for j in range(0, 64, cols):
                d = zero()
                for k in range(0, 32, depth):
                    d = mma(fragment_a(shared_a, i, k, lane), fragment_b(shared_b, k, j, lane), d)
                for v in range(count):
                    row, col = own(lane, v)
                    c[i + row, j + col] = d[v]

    a, b = operands(64, 64, 32)
    c = np.zeros((64, 64), np.float32)
    by_hand[1, 32](a, np.ascontiguousarray(b.T), c)
    close(c, exact_of(a, b))


@check
def helpers_tiles_of_a_kernel() -> str:
    found = [(target, macro.name) for target in _runnable() for macro in pv.targets[target].macro_mmas]
    for target, macro in found:
        _by_hand(target, macro)
    return ", ".join(f"{macro} of {target}" for target, macro in found)
