"""Checks: kernels as device functions, and tensor-core helpers, in users' own `@cuda.jit` kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from features_common import SMALL, check, close, exact_of, operands, product, tensors

import polyvolta as pv


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
    mine, own = _called(product(name="product_static"), "static", 256, 192, 128)
    assert np.array_equal(mine.view(np.uint16), own.view(np.uint16))
    return "bit-equal"


@check
def device_function_dynamic_and_partial_tiles() -> str:
    mine, own = _called(product(name="product_dynamic"), "dynamic", 200, 136, 72)
    assert np.array_equal(mine.view(np.uint16), own.view(np.uint16))
    return "bit-equal"


@check
def device_function_with_a_scalar_and_an_epilogue() -> str:
    A, B = tensors()
    kernel = pv.compile(pv.sigmoid(A @ B * pv.scalar("s")), options=SMALL, name="scaled_product")
    mine, own = _called(kernel, "static", 128, 64, 64, 0.25)
    assert np.array_equal(mine.view(np.uint16), own.view(np.uint16))
    return "bit-equal"


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


@check
def device_function_and_what_follows() -> str:
    """The block's tile is read again behind a barrier."""
    from numba import cuda

    from polyvolta.cuda.numba_helpers import address

    kernel = product(name="inner")
    function = kernel.device_function()

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def mine(m, n, k, a, b, c, largest):
        function(m, n, k, address(a), k, address(b), k, address(c), n)
        cuda.syncthreads()
        t = cuda.threadIdx.x
        if t < 64:
            row, best = cuda.blockIdx.y * 64 + t, np.float32(-1e30)
            for col in range(cuda.blockIdx.x * 64, cuda.blockIdx.x * 64 + 64):
                best = max(best, np.float32(c[row, col]))
            cuda.atomic.max(largest, row, best)

    a, b = operands(128, 128, 64)
    c, largest = cuda.device_array((128, 128), np.float16), cuda.to_device(np.full(128, -1e30, np.float32))
    config = kernel.launch_config(M=128, N=128, K=64)
    mine[config.grid, config.block](128, 128, 64, cuda.to_device(a), cuda.to_device(b), c, largest)
    assert np.array_equal(largest.copy_to_host(), c.copy_to_host().max(1).astype(np.float32))
    return None


def _macro_check(name: str, layouts: tuple[str, str]) -> None:
    """A macro-MMA on fragments gathered element by element, as its ownership maps say."""
    from numba import cuda

    from polyvolta.cuda import numba_helpers as helpers

    macro = pv.targets["sm_70"].macro_mma(name).of(*layouts)
    m, n, k = macro.shape
    values = macro.values[0]
    mma, zero, load = helpers.macro_mma(macro), helpers.zeros(macro), helpers.load_128
    own_d = helpers.indices(macro.d)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype("f2"), rng.standard_normal((k, n)).astype("f2")
    fragments = []
    for matrix, own in ((a, macro.a), (b, macro.b)):
        places = [[own.evaluate({"lane": lane, "i": i}) for i in range(values)] for lane in range(32)]
        fragments.append(np.array([[matrix[p] for p in row] for row in places], np.float16))

    if values == 8:

        @cuda.jit(device=True)
        def words(x, lane):
            return load(x, lane)
    else:

        @cuda.jit(device=True)
        def words(x, lane):
            return load(x, 2 * lane) + load(x, 2 * lane + 1)

    count = macro.values[2]

    @cuda.jit
    def kernel(a, b, c):
        lane = cuda.threadIdx.x
        d = mma(words(a, lane), words(b, lane), zero())
        d = mma(words(a, lane), words(b, lane), d)
        for i in range(count):
            row, col = own_d(lane, i)
            c[row, col] = d[i]

    c = np.zeros((m, n), np.float32)
    kernel[1, 32](fragments[0], fragments[1], c)
    assert np.allclose(c, 2 * (a.astype("f4") @ b.astype("f4")), rtol=1e-5, atol=1e-5), (name, layouts)


@check
def helpers_macro_mmas() -> str:
    macros = pv.targets["sm_70"].macro_mmas
    for macro in macros:
        for layouts in macro.layouts:
            _macro_check(macro.name, layouts)
    return f"{', '.join(m.name for m in macros)} in four layouts"


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


def _by_hand(macro_name: str) -> None:
    """A product of one block tile by hand: swizzled stores, fragment loads, macro-MMAs, results by ownership."""
    from numba import cuda
    from numba.cuda.types import float16

    from polyvolta.cuda import numba_helpers as helpers
    from polyvolta.cuda.ir.kernel_ir import FragmentLoad, Mma
    from polyvolta.cuda.ir.walk import operations

    kernel = product(pv.Options(block_tile=(64, 64, 32), macro_mma=macro_name))
    ops = list(operations(kernel.ir.body))
    loads = {op.operand: op for op in ops if isinstance(op, FragmentLoad)}
    macro = next(op.macro for op in ops if isinstance(op, Mma))
    tile_a, tile_b = (kernel.ir.tile(loads[x].tile) for x in "ab")
    store_a, store_b = helpers.swizzled_store(tile_a), helpers.swizzled_store(tile_b)
    fragment_a, fragment_b = helpers.fragment_load(tile_a, loads["a"]), helpers.fragment_load(tile_b, loads["b"])
    mma, zero, own, load = helpers.macro_mma(macro), helpers.zeros(macro), helpers.indices(macro.d), helpers.load_128
    rows, cols, _ = macro.shape
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
                for k in range(0, 32, 8):
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
    for name in ("m16n16k8", "m32n32k8"):
        _by_hand(name)
    return "both macro-MMAs"
