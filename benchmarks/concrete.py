"""Small kernels of all idioms on concrete arrays: what one does wrong, in results, around them, or to observers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from combinations import Combination
from idioms import expected, idiom_called

from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.observe.watch import Watch, names_of
from polyvolta.cuda.machine.reach import EngineReach, GlobalReach
from polyvolta.cuda.run.views import narrowed
from polyvolta.cuda.text.places import Places
from polyvolta.sets import PolyvoltaError

S, L = ((32, 32, 16), (16, 16, 16)), ((32, 32, 16), (32, 32, 16))
KERNELS: dict[str, tuple[str, str, str, int, tuple, int, str, Mapping[str, int]]] = {
    # idiom, layouts of A, B and the result, macro-MMA, split K, tiles, buffers, partial, narrower accesses
    "plain": ("plain", "row.col-row", "m16n16k8", 1, S, 1, "guard", {}),
    "plain, two buffers": ("plain", "col.row-col", "m16n16k8", 1, S, 2, "guard", {}),
    "plain, padded": ("plain", "row.row-row", "m16n16k8", 1, S, 1, "pad", {}),
    "plain, split": ("plain", "col.col-row", "m32n32k8", 2, L, 2, "guard", {}),
    "plain, narrow": ("plain", "row.col-row", "m32n32k8", 1, L, 1, "guard", {"A": 4, "B": 1, "C": 2}),
    "bias relu": ("bias relu", "row.row-row", "m16n16k8", 2, ((32, 32, 16), (32, 16, 16)), 1, "guard", {}),
    "leaky": ("column bias, leaky relu", "row.col-col", "m16n16k8", 1, ((16, 32, 16), (16, 16, 16)), 2, "guard", {}),
    "scalars": ("scalars at launch", "col.col-col", "m16n16k8", 1, S, 1, "guard", {}),
    "prologue A": ("prologue A", "row.row-row", "m16n16k8", 1, S, 2, "guard", {}),
    "prologue, other": ("prologue A, other layout", "col.col-row", "m32n32k8", 1, L, 1, "guard", {}),
    "prologues": ("prologue A and B", "row.col-row", "m16n16k8", 2, ((32, 16, 16), (16, 16, 16)), 1, "guard", {}),
    "idle threads": ("prologue B", "row.row-row", "m16n16k8", 1, ((64, 16, 16), (16, 16, 16)), 1, "guard", {}),
    "two outputs": ("product and bias relu", "row.col-col", "m16n16k8", 1, S, 1, "guard", {}),
    "sum": ("sum of two", "row.col-row", "m16n16k8", 1, S, 2, "guard", {}),
    "scaled": ("scaled difference", "col.row-row", "m32n32k8", 1, L, 1, "guard", {}),
    "apart": ("sum of two, apart", "row.col-row", "m16n16k8", 2, ((32, 16, 16), (16, 16, 16)), 1, "guard", {}),
    "gated": ("gated, one A", "row.col-row", "m16n16k8", 1, S, 2, "guard", {}),
}  # fmt: skip
BOXED: dict[str, tuple[str, str, str, tuple, int, bool]] = {
    # idiom, layouts, macro-MMA, tiles, buffers, swap: kernels of sm_90a, one tile a block
    "boxes": ("plain", "row.col-row", "m64n16k16", ((64, 16, 16), (64, 16, 16)), 2, False),
    "boxes, two warpgroups": ("bias relu", "col.row-row", "m64n32k16", ((128, 32, 32), (64, 32, 32)), 2, False),
    "boxes, residual": ("scalars at launch", "row.row-col", "m64n16k16", ((64, 32, 16), (64, 32, 16)), 3, False),
    "boxes, sum": ("sum of two", "row.col-row", "m64n32k16", ((64, 32, 32), (64, 32, 32)), 3, False),
    "boxes, swap": ("bias relu", "row.col-row", "m64n16k16", ((16, 64, 16), (16, 64, 16)), 2, True),
}
"""Whose products warpgroups make."""
SCALARS = {"alpha": 2.0, "beta": -1.0}
SIZES = (
    (40, 40, 40), (32, 32, 16), (33, 31, 0), (64, 32, 48), (8, 72, 33), (31, 33, 81), (1, 1, 1), (96, 16, 32),
)  # fmt: skip
"""M, N and K; other sums' lengths are these in another order."""
OBSERVED = ("races", "phases", "uninitialised", "bounds", "divergence", "bank_conflicts", "coalescing")
CHUNK_VALUES = 8  # of 16 bits in 16 bytes


@cache
def whole(name: str) -> tuple[Combination, Kernel]:
    """One of the small kernels."""
    if name in BOXED:
        idiom, layouts, macro, (block, warp), buffers, swap = BOXED[name]
        ways = {"group": 1, "occupancy": 1, "persistent": False, "dependent": False, "swap": swap}
        a, b, c = layouts.replace("-", ".").split(".")
        combination = Combination(
            idiom_called(idiom), a, b, c, macro, 1, block, warp, buffers, target="sm_90a", **ways
        )  # fmt: skip
        return combination, combination.compile()
    idiom, layouts, macro, split_k, (block, warp), buffers, partial, align = KERNELS[name]
    a, b, c = layouts.replace("-", ".").split(".")
    combination = Combination(idiom_called(idiom), a, b, c, macro, split_k, block, warp, buffers, partial)
    kernel = combination.compile()
    return combination, replace(
        kernel, ir=narrowed(kernel.ir, {t.name: align.get(t.name, 8) for t in kernel.ir.tensors})
    )


def sizes_of(ir: KernelIR, three: tuple[int, int, int]) -> dict[str, int]:
    """Values for a kernel's sizes, multiples of what it requires."""
    m, n, k = three
    values = {"M": m, "N": n, "K": k, "L": (k * 3 + 8) % 49, "H": (k + 16) % 40}
    multiples = dict(ir.context) | dict.fromkeys(whole_lines(ir), CHUNK_VALUES)
    return {s: -(-values[s] // multiples.get(s, 1)) * multiples.get(s, 1) for s in ir.sizes}


def whole_lines(ir: KernelIR) -> set[str]:
    """The sizes of lines that copies, or boxes, move in whole units of 16 bytes."""
    return {d for t in ir.tensors if t.whole and isinstance(d := t.dims[t.order[-1]], str)}


def array_of(t: GlobalTensor, values: np.ndarray | None, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(memory, array): values, or poison, in a memory with poison around, at a place and with lines as aligned as `t`
    requires."""
    lines, run = (1, shape[0]) if len(shape) == 1 else (shape[t.order[0]], shape[t.order[1]])
    ld = -(-run // t.align) * t.align + t.align
    memory = np.full(16 + lines * ld, np.nan, np.float16)
    assert memory.ctypes.data % 16 == 0
    inner = memory[8 : 8 + lines * ld].reshape(lines, ld)[:, :run]
    array = inner[0] if len(shape) == 1 else inner if t.order == (0, 1) else inner.T
    if values is not None:
        array[...] = values
    return memory, array


class Counting(Watch):
    """The observers, and how often each value of an output was stored."""

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir, [n for n in names_of("all", ir) if n in OBSERVED])
        self.counts: dict[str, np.ndarray] = {}

    def step(self, m: Any, step: Any) -> None:
        super().step(m, step)
        for at in step.reach:
            if isinstance(at, GlobalReach | EngineReach) and at.access.writes and at.access.space == "global":
                name, elements = at.access.array, at.places if isinstance(at, EngineReach) else at.elements
                count = self.counts.setdefault(name, np.zeros(m.tensors[name].values.size, int))
                np.add.at(count, (elements if at.inside is None else elements[at.inside]).ravel(), 1)


@cache
def given(name: str, sizes: tuple[tuple[str, int], ...]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """(inputs, outputs) of a whole kernel: the inputs at random, the outputs by float64 arithmetic.

    What the kernel computes is compared with them first, for sizes that it takes: equal, as all numbers are integers.
    """
    combination, kernel = whole(name)
    rng = np.random.default_rng(len(sizes) + 17)
    table = dict(sizes)
    shapes = {t.name: tuple(table[d] if isinstance(d, str) else d for d in t.dims) for t in kernel.ir.tensors}
    values = {t.name: rng.integers(-3, 4, shapes[t.name]) for t in kernel.ir.tensors if not t.written}
    scalars = {s: SCALARS[s] for s in combination.idiom.scalars}
    doubles = {n: v.astype(np.float64) for n, v in values.items()}
    results = expected(combination.idiom, doubles | scalars, np)
    written = [t.name for t in kernel.ir.tensors if t.written]
    want = {n: np.broadcast_to(r, shapes[n]).astype(np.float16) for n, r in zip(written, results, strict=True)}
    if not any(table[n] % multiple for n, multiple in kernel.ir.context):
        outputs, seen = run(kernel.ir, kernel, values, table)
        assert not seen, f"{name} {table}: {seen}"
        assert all(np.array_equal(outputs[n], want[n]) for n in written), f"{name} {table}"
    return values, want


def run(
    ir: KernelIR, kernel: Kernel, values: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """(outputs, what was seen that is wrong: observer -> words) of one run."""
    memories, arrays = {}, {}
    for t in ir.tensors:
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in t.dims)
        memories[t.name], arrays[t.name] = array_of(t, values.get(t.name), shape)
    watch = Counting(ir)
    interpret(ir, arrays, sizes, {s: SCALARS[s] for s in ir.scalars}, watch=watch, patience=30)
    seen: dict[str, str] = {}
    for observer in watch.seen(Places(ir, kernel.schedule)).values():
        for f in observer.findings:
            register = (
                f.observer == "uninitialised" and " of shared memory" not in f.what and "nobody writes" not in f.what
            )
            seen.setdefault("register" if register else f.observer, str(f))
    outputs = {}
    for t in ir.tensors:
        if t.written:
            outputs[t.name] = arrays[t.name].copy()
            arrays[t.name][...] = 0
            if around := int((~np.isnan(memories[t.name])).sum()) - arrays[t.name].size:
                seen["around"] = f"{around} values around {t.name} were written"
            stored = _of(arrays[t.name], watch.counts.get(t.name))
            if (stored != 1).any():
                at = np.argwhere(stored != 1)[0]
                seen["stored"] = f"{t.name}{at.tolist()} is stored {stored[tuple(at)]} times"
    return outputs, seen


def _of(array: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    """Counts of memory places as counts of an array's elements."""
    if counts is None or not array.size:
        return np.zeros(array.shape, int)
    strides = tuple(s // 2 * counts.itemsize for s in array.strides)
    return np.lib.stride_tricks.as_strided(counts, array.shape, strides)


def wrong(name: str, ir: KernelIR, sizes: Mapping[str, int]) -> dict[str, str]:
    """What a changed kernel does wrong for some sizes: by observer, `stored`, `around` or `result`."""
    _, kernel = whole(name)
    values, want = given(name, tuple(sizes.items()))
    try:
        got, seen = run(ir, kernel, values, sizes)
    except PolyvoltaError as refused:
        return {"refused": f"{type(refused).__name__}: {refused.message}"}
    for n, w in want.items():
        if not np.array_equal(got[n], w):
            at = np.argwhere(got[n] != w)[0]
            seen["result"] = f"{n}{at.tolist()} = {got[n][tuple(at)]}, not {w[tuple(at)]}"
    return {k: f"{dict(sizes)}: {v}" for k, v in seen.items()}
