"""A target from outside: GeForce's Ampere, sm_86, told as data; kernels for it compiled, interpreted and proved.

    python examples/new_target.py             all kernels: registers, spills, proofs, the error of an interpreted run
    python examples/new_target.py "A @ B"     one of them
    python examples/new_target.py --gpu 100   on the GPU at hand (sm_86 or later), at 100 random sizes each
"""

import sys
import time

import numpy as np

import polyvolta as pv
from polyvolta.cuda.target import WARP, Composition, Instruction, Interleave, Target, owned
from polyvolta.sets import var

# The instruction: one product of the whole warp. The PTX manual counts lanes in groups of four; value i of a lane is
# element (row, k) of A, (k, col) of B, (row, col) of the accumulators C and D.
lane, i = var("lane"), var("i")
group, thread = lane // 4, lane % 4


def bit(n):
    return i // 2**n % 2


M16N8K16 = Instruction(
    shape=(16, 8, 16),
    layouts=("row", "col"),  # the only ones there are: others are refused by name when a kernel is compiled
    types=("f16", "f16", "f32"),
    scope=WARP,
    a=owned(8, row=group + 8 * bit(1), k=2 * thread + bit(0) + 8 * bit(2)),
    b=owned(4, k=2 * thread + bit(0) + 8 * bit(1), col=group),
    d=owned(4, row=group + 8 * bit(1), col=2 * thread + bit(0)),
)

# Macro-MMAs: two instructions side by side, "s0" of the columns. The package's sm_80 has ldmatrix bring fragments; here
# lanes load their own. Thread t's k are 2t, 2t+1, 2t+8, 2t+9, which no wide load brings. But a sum doesn't care for the
# order of k if A and B agree: with the instruction's bit 3 of k as bit 1 of the tile's, t has 4t to 4t+3, a load
# of 64 bits, and with two steps along k 8t to 8t+7, a load of 128 bits.
ROWS, COLS = ("r0", "r1", "r2", "r3"), ("r0", "r1", "r2", "s0")
WIDE = Composition((M16N8K16,), Interleave(ROWS, COLS, ("r0", "r3", "s0", "r1", "r2")))  # m16n16k32
NARROW = Composition((M16N8K16,), Interleave(ROWS, COLS, ("r0", "r3", "r1", "r2")))  # m16n16k16

SM_86 = Target(
    name="sm_86",
    threads=1024,
    registers=255,
    block_registers=65536,
    shared_bytes=99 * 1024,
    grid=(2**31 - 1, 65535, 65535),
    macro_mmas=(WIDE, NARROW),
    multiprocessors=84,  # the GA102's
    spare=(30, 8, 3),  # measured: 224 registers of values take 232, 254 with two products
)
pv.targets.register(SM_86)

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N), layout="col")
bias = pv.tensor("bias", (N,))
KERNELS = {
    "A @ B": (A @ B, {}),
    "A @ B, 64-bit loads": (A @ B, {"macro_mma": "m16n16k16"}),
    "relu(A @ B + bias)": (pv.relu(A @ B + bias), {}),
    "relu(A) @ B": (pv.relu(A) @ B, {}),
    "A @ B + P @ Q": (A @ B + P @ Q, {}),
    "A @ B, split K": (A @ B, {"split_k": 2}),
}


def arrays_of(kernel, sizes, rng):
    """Random inputs by name, and an output full of NaN."""
    inputs, out = {}, None
    for t in kernel.ir.tensors:
        shape = tuple(sizes[d] for d in t.dims)
        order = "F" if t.order == (1, 0) else "C"
        if t.written:
            out = np.full(shape, np.nan, np.float16, order=order)
        else:
            inputs[t.name] = np.asarray(rng.standard_normal(shape), np.float16, order=order)
    return inputs, out


def error_of(expression, inputs, out):
    """The largest error beside float64, relative to the largest value or 1; NaN where something was not written."""
    wanted = pv.reference(expression, **inputs)
    return float(np.abs(out - wanted).max() / max(np.abs(wanted).max(), 1))


def table(names):
    """Each kernel compiled, proved and interpreted."""
    rng = np.random.default_rng(0)
    print(f"{'kernel':20} {'macro-MMA':10} {'warp tile':11} {'registers':>9} {'spills':>6} {'shared':>6}  "
          f"{'proved':>7} {'in':>6}  {'error':>7}")  # fmt: skip
    for name in names:
        expression, options = KERNELS[name]
        kernel = pv.compile(expression, target="sm_86", options=pv.Options(**options))
        found, tile = kernel.resources(), "x".join(map(str, kernel.options.warp_tile))
        start = time.perf_counter()
        report = kernel.verify()
        seconds, proved = time.perf_counter() - start, sum(p.proved for p in report.proofs)
        inputs, out = arrays_of(kernel, {"M": 150, "N": 136, "K": 77, "L": 40}, rng)
        error = error_of(expression, inputs, kernel.interpret(**inputs, out=out))
        print(f"{name:20} {kernel.options.macro_mma:10} {tile:11} {found.registers:9} {found.spill_stores:6} "
              f"{found.shared_bytes:6}  {proved:>3}/{len(report.proofs):<3} {seconds:4.1f} s  {error:.1e}")  # fmt: skip
        assert found.spill_stores == 0 and report.ok and error < 1e-3, name


def on_gpu(count):
    """Each kernel on the GPU at hand at random sizes: fresh data, an output full of NaN."""
    from polyvolta.cuda.run.launch import copy_to_host, to_device

    rng = np.random.default_rng()
    for name, (expression, options) in KERNELS.items():
        kernel = pv.compile(expression, target="sm_86", options=pv.Options(**options))
        errors = []
        for _ in range(count):
            sizes = {n: int(2 ** rng.uniform(0, 11)) for n in "MNKL"}
            inputs, out = arrays_of(kernel, sizes, rng)
            there = to_device(out)
            kernel(**{name: to_device(array) for name, array in inputs.items()}, out=there)
            errors.append(error_of(expression, inputs, copy_to_host(there)))
        assert max(errors) < 1e-3, (name, errors)  # NaN, too
        print(f"{name:20} {count} sizes, largest error {max(errors):.1e}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--gpu"]:
        on_gpu(int(sys.argv[2]))
    else:
        table(sys.argv[1:] or KERNELS)
