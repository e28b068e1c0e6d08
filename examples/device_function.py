"""A kernel called by a user's own numba kernel, which goes on with the block's tile of the result."""

import numpy as np

import polyvolta as pv
from polyvolta.cuda.run.launch import gpu_available

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
kernel = pv.compile(A @ B, options=pv.Options(block_tile=(64, 64, 32)), name="product")
print(config := kernel.launch_config(M=256, N=192, K=128))

if gpu_available():
    from numba import cuda

    from polyvolta.cuda.numba_helpers import address, place_of_block

    product, place = kernel.device_function(), place_of_block(kernel.ir.block_order)

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def mine(m, n, k, a, b, c):
        product(m, n, k, address(a), k, address(b), k, address(c), n)
        cuda.syncthreads()  # behind it the block's tile is there, at this place:
        column, row = place()
        for n in range(cuda.threadIdx.x, 64 * 64, cuda.blockDim.x):
            c[64 * row + n // 64, 64 * column + n % 64] /= 2

    a, b, c = (np.random.rand(*shape).astype("f2") for shape in ((256, 128), (192, 128), (256, 192)))
    mine[config.grid, config.block](256, 192, 128, a, b, c)  # b's rows are B's columns
    print("equal:", np.array_equal(c, kernel(a, b.T) / 2))
