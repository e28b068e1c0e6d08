"""A matrix product: numpy in, numpy out. On the GPU if there is one, else interpreted."""

import numpy as np

import polyvolta as pv

M, N, K = pv.sizes("M N K")
A = pv.tensor("A", (M, K))
B = pv.tensor("B", (K, N), layout="col")
kernel = pv.compile(A @ B)

rng = np.random.default_rng(0)
a = rng.standard_normal((256, 64)).astype(np.float16)
b = np.asfortranarray(rng.standard_normal((64, 128)).astype(np.float16))
c = kernel(a, b)

exact = pv.reference(A @ B, a, b)
print(c.shape, c.dtype)
print(f"relative error {np.linalg.norm(c - exact) / np.linalg.norm(exact):.1e}")
