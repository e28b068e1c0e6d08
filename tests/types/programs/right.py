# pyright: strict
"""A user's program, which a strict checker has nothing to say about; the tests run it, too."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.machine.observe.observations import Observations
from polyvolta.graph import Expr, Size, Tensor
from polyvolta.sched import Array, Schedule, nest, scan, schedule, tile, to_c
from polyvolta.sets import Map, Set, Space

Floats = NDArray[np.float64]

# ---- expressions

M, N, K = pv.sizes("M N K")
batch = pv.sizes("batch")
A = pv.tensor("A", (M, K))
B = pv.tensor("B", (K, N), layout="col")
bias = pv.tensor("bias", N)
alpha = pv.scalar("alpha")
assert_type(M, Size)
assert_type(A, Tensor)
assert_type(A + 1, Expr)
assert_type(2 * A - np.float32(0.5), Expr)
assert_type(A @ B, Expr)
assert_type(pv.relu(A @ B + bias), Expr)
assert_type(pv.maximum(0, A), Expr)
assert_type(pv.clamp(A, 0, 6.0), Expr)
assert_type(pv.where((A > 0) & (A < 1), A, 0.5 * A**2), Expr)
assert_type(pv.leaky_relu(A, 0.1), Expr)


def swish(x: Expr, b: Expr) -> Expr:
    y = x + b
    return y * pv.sigmoid(y)


E = pv.pointwise(swish, alpha * (A @ B), bias)
assert_type(E, Expr)
Z = pv.output(E, "Z", layout="col")

# ---- a kernel

options = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16), partial="guard", buffers=2)
assert_type(options.block_tile, tuple[int, int, int])
kernel = pv.compile(Z, target="sm_80", options=options)
a, b = np.ones((20, 8), np.float16), np.asfortranarray(np.ones((8, 12), np.float16))
v = np.zeros(12, np.float16)
result = kernel.interpret(0.5, a, b, bias=v)
exact = pv.reference(Z, 0.5, a, b, v)
assert_type(exact, Floats)
assert np.linalg.norm(result - exact) <= 5e-3 * np.linalg.norm(exact)
assert np.array_equal(kernel(0.5, a, b, v), result)
seen = kernel.interpret(0.5, a, b, v, observe=("races", "bank_conflicts"))
assert_type(seen, Observations)
assert seen.ok and len(seen.findings) == 0
print(seen.picture("bank_conflicts")[:40])
for step in kernel.trace(0.5, a, b, v, block=(0, 0)):
    print(step.cuda, step.place)
    break
config = kernel.launch_config(M=512, N=255, K=64)
assert config == kernel.launch_config({M: 512, N: 255}, K=64) == kernel.launch_config({"M": 512, "N": 255, "K": 64})
assert_type(config.grid, tuple[int, int, int])
print(kernel.source[:20], kernel.ir.threads, kernel.stages["contracted"], kernel.schedule, kernel.options)
report = kernel.verify(("bounds", "dependences"))
assert report.ok
for proof in report.proofs:
    print(proof.id, proof.sizes)
print(report["bounds"].counter_example)

pair = pv.compile((A @ B, pv.relu(A @ B)), options=pv.Options(block_tile=(32, 32, 16)))
product, rectified = pair.interpret(a, b)
print(product.shape, rectified.dtype)
C, D = pv.reference((A @ B, pv.relu(A @ B)), a, b)
assert_type(C, Floats)
named = pv.reference({"P": A @ B}, a, b)
assert_type(named, dict[str, Floats])


def fastest(kernels: list[Kernel[NDArray[np.float16]]]) -> Kernel[NDArray[np.float16]]:
    return min(kernels, key=lambda k: k.options.buffers)


for choice in pv.Options.space(A @ B, "sm_80", M=64, N=64, K=64):
    print(choice.block_tile, choice.macro_mma)
    break
print(pv.targets["sm_70"].shared_bytes, list(pv.targets), pv.targets.default)

# ---- sets

S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
T = Map("{ S[i, j] -> [floor(i/32), j mod 8] }")
assert_type(S & S, Set)
assert_type(S | Set("{ S[i, j] : i = j }"), Set)
assert_type(S - S, Set)
assert_type(T.reverse(), Map)
assert_type(T.domain(), Set)
assert_type(T.intersect_domain(S), Map)
assert_type(S.apply(T), Set)
assert_type(S <= S, bool)
assert_type(S.is_empty(), bool)
assert_type(S.space, Space)
assert_type(S.pieces, tuple[Set, ...])
assert_type(S.lexmin(), Set)
assert_type(S.count(N=10), int)
for point in S.points(N=3):
    print(sum(point))
print(S.cardinality(), T.intersect_domain(S).reverse().lexmin_pw_multi_aff()(i0=2, i1=5, N=100))
print(T.is_bijective(), T.transitive_closure()[1] if T.is_injective() else S.sample(), S.contains((1, 0), N=3))
with pv.sets.budget(100_000):
    print(S.coalesce().gist(S).simple_hull())

# ---- schedules


@nest
def seidel(A: Floats, T: int, N: int) -> None:
    for _ in range(T):
        for i in range(1, N - 1):
            A[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0


@nest(context="[M, N, K] -> { : K > 0 }")
def gemm(A: Array, B: Array, C: Array, alpha: float, M: int, N: int, K: int) -> None:
    for i in range(M):
        for j in range(N):
            total = 0.0
            for k in range(K):
                total += A[i, k] * B[k, j]
            C[i, j] = alpha * total


P, Q = np.ones((3, 4)), np.ones((4, 2))
R = np.zeros((3, 2))
gemm(P, Q, R, 2.0, 3, 2, 4)
assert np.array_equal(R, 2 * P @ Q)

tree = schedule(seidel)
assert_type(tree, Schedule)
tiled = tile(tree, (0,), (32, 32))
assert_type(tiled, Schedule)
print(tiled, to_c(scan(tiled)))
for path, node in tiled.walk():
    print(path, node)

try:
    pv.tensor("A", (M, K), dtype="float32")
except pv.PolyvoltaError as error:
    print(error.id, error.hint)
