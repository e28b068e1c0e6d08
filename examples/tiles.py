"""Other tiles: what they cost in threads and shared memory, and what they do to the text."""

import polyvolta as pv

M, N, K = pv.sizes("M N K")
product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")

for block, warp in [((128, 128, 32), (64, 64, 32)), ((64, 64, 32), (32, 32, 32)), ((32, 32, 16), (16, 16, 16))]:
    kernel = pv.compile(product, options=pv.Options(block_tile=block, warp_tile=warp), name="gemm")
    config = kernel.launch_config(M=1024, N=1024, K=512)
    print(f"block {block}, warp {warp}: {config}")

print(next(line for line in kernel.source.splitlines() if "__global__" in line))
