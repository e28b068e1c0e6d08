"""A kernel called by a user's own numba kernel, which goes on with the block's tile of the result."""

import numpy as np

import polyvolta as pv
from polyvolta.cuda.run.launch import gpu_available

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
kernel = pv.compile(A @ B, options=pv.Options(block_tile=(64, 64, 32)), name="product")
print(kernel.launch_config(M=256, N=192, K=128))

if gpu_available():
    from numba import cuda

    from polyvolta.cuda.numba_helpers import address, place_of_block

    product, place = kernel.device_function(), place_of_block(kernel.ir.block_order)

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def mine(m, n, k, a, b, c):
        product(m, n, k, address(a), k, address(b), k, address(c), n)
        cuda.syncthreads()  # the other threads' values are there
        column, row = place()  # of the block's tile, in tiles
        for i in range(64 * row + cuda.threadIdx.x, 64 * row + 64, cuda.blockDim.x):
            for j in range(64 * column, 64 * column + 64):
                c[i, j] /= 2

    a, b = np.random.rand(256, 128).astype("f2"), np.asfortranarray(np.random.rand(128, 192).astype("f2"))
    config, c = kernel.launch_config(M=256, N=192, K=128), cuda.device_array((256, 192), np.float16)
    mine[config.grid, config.block](256, 192, 128, cuda.to_device(a), cuda.to_device(b), c)
    print("equal:", np.array_equal(c.copy_to_host(), kernel(a, b) / 2))
