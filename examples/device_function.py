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

    from polyvolta.cuda.numba_helpers import address

    product = kernel.device_function()

    @cuda.jit(launch_bounds=kernel.ir.threads)
    def mine(m, n, k, a, b, c):
        product(m, n, k, address(a), k, address(b), k, address(c), n)
        # behind cuda.syncthreads() the block may read its tile of c

    a, b = np.ones((256, 128), np.float16), np.ones((128, 192), np.float16, order="F")
    config, c = kernel.launch_config(M=256, N=192, K=128), cuda.device_array((256, 192), np.float16)
    mine[config.grid, config.block](256, 192, 128, cuda.to_device(a), cuda.to_device(b), c)
    print("equal:", np.array_equal(c.copy_to_host(), kernel(a, b)))
