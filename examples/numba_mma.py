"""One warp multiplies 16x8 by 8x16 on tensor cores, in a user's own numba kernel; who owns what is asked for."""

import numpy as np

import polyvolta as pv
from polyvolta.cuda.run.launch import gpu_available

macro = pv.targets["sm_70"].macro_mma("m16n16k8").of("row", "col")
print(f"A: {macro.a}\nB: {macro.b}\nC: {macro.d}")

if gpu_available():
    from numba import cuda

    from polyvolta.cuda.numba_helpers import indices, load_128, macro_mma, zeros

    mma, zero, own_a, own_b, own_d = macro_mma(macro), zeros(macro), *map(indices, (macro.a, macro.b, macro.d))

    @cuda.jit
    def product(a, b_columns, c):
        lane = cuda.threadIdx.x
        a_words = load_128(a, own_a(lane, 0)[0])  # a lane's 8 values of A are a row, those of B a column
        d = mma(a_words, load_128(b_columns, own_b(lane, 0)[1]), zero())
        for i in range(8):
            row, col = own_d(lane, i)
            c[row, col] = d[i]

    a, b, c = np.random.rand(16, 8).astype("f2"), np.random.rand(16, 8).astype("f2"), np.zeros((16, 16), "f4")
    product[1, 32](a, b, c)
    print("equal:", np.allclose(c, a.astype("f4") @ b.T.astype("f4"), rtol=1e-6))
