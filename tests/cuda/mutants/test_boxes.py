"""Kernels of boxes and warpgroups broken on purpose: every mutant is refuted, and seen when it runs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.machine.observe.watch import OBSERVERS, Watch
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.places import Places
from tests.cuda.mutants.coarse import arrays
from tests.cuda.mutants.names import BOXES

M, N, K, L = pv.sizes("M N K L")
BIAS = pv.tensor("bias", (N,))
TILES = {"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64), "macro_mma": "m64n64k16", "buffers": 3, "fragments": 1,
         "split_k": 1, "group": 1}  # fmt: skip
NARROW = {"block_tile": (128, 96, 32), "warp_tile": (64, 96, 32), "macro_mma": "m64n96k16"}


def operands(a: str, b: str) -> tuple[pv.Tensor, pv.Tensor]:
    return pv.tensor("A", (M, K), layout=a), pv.tensor("B", (K, N), layout=b)


def product(a: str, b: str) -> object:
    left, right = operands(a, b)
    return left @ right


KERNELS = {
    "row.row": (product("row", "row"), {}),
    "row.col": (product("row", "col"), {"buffers": 2}),
    "col.row": (product("col", "row"), NARROW),
    "col.col": (pv.output(product("col", "col"), layout="col"), {"block_tile": (64, 64, 64)}),
    "epilogue": (pv.relu(product("row", "col") + BIAS), {"group": 2}),
    "residual": (product("row", "row") + pv.tensor("R", (M, N)), {"block_tile": (128, 128, 64)}),
    "sum": (product("row", "col") + pv.tensor("P", (M, L)) @ pv.tensor("Q", (L, N)), {}),
}
OF_ORDER = {"barriers_between", "not_overwritten"}
"""Statements about the order of roles, which are others' matter."""
SIZES = ((256, 64, 136, 72), (200, 104, 64, 40), (64, 64, 0, 0))


@cache
def kernel_of(name: str) -> Kernel:
    outputs, options = KERNELS[name]
    return pv.compile(outputs, target=SM_90A, options=pv.Options(**{**TILES, **options}))


@cache
def chosen() -> dict[str, str]:
    """Mutant -> a kernel with two warpgroups: they take turns. Where threads read a tile that boxes come to, they ask
    for its layout."""
    names = [n for n in KERNELS if n != "col.col"]
    return {m: names[n % len(names)] for n, m in enumerate(BOXES)} | {"layout of boxes without swizzle": "residual"}


@pytest.mark.parametrize("name", KERNELS)
def test_whole_kernels_are_proved_but_for_their_order(name):
    open_ = {p.id for p in kernel_of(name).verify().proofs if not p.proved}
    assert open_ <= OF_ORDER


def test_tiles_of_two_products_are_counted_in_ints_whatever_their_depths_are():
    """2^31 - 8192 is the largest size, and the ring's tiles are counted over both products."""
    verdict = kernel_of("sum").verify(only="bounds")["bounds"]
    assert verdict.proved and f"sizes up to {2**31 - 8192}" in verdict.statement


@pytest.mark.parametrize("name", BOXES)
def test_the_proofs_refute_a_mutant_and_name_the_place(name):
    mutant, kernel = BOXES[name], broken(kernel_of(chosen()[name]), name)
    refuted = {p.id: p.counter_example for p in kernel.verify(only=mutant.proofs).refuted}
    assert set(mutant.proofs) == set(refuted)
    for proof, example in refuted.items():
        assert example.what
        if proof in ("arguments", "ownership", "exchange"):
            continue
        assert set(example.sizes) == set(kernel.ir.sizes)
        place = example.place
        assert kernel.source.splitlines()[place.line - 1].strip() == place.text
        assert dict(walk(kernel.ir.body))[place.path] == place.stmt
        assert isinstance(place.stmt, mutant.blames) or isinstance(example.other.stmt, mutant.blames)


def right(kernel: Kernel, given: dict[str, np.ndarray], result: np.ndarray) -> bool:
    return np.allclose(result, pv.reference(kernel.graph.roots[0], **given), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", [n for n, m in BOXES.items() if m.observers])
def test_the_observers_see_a_mutant(name):
    kernel, saw, wanted = broken(kernel_of(chosen()[name]), name), set(), set(BOXES[name].observers)
    for sizes in SIZES:
        seen = kernel.interpret(**arrays(kernel, sizes), observe="all")
        saw |= {f.observer for f in seen.findings}
        if wanted <= saw:
            return
    assert wanted <= saw | without_k(kernel), saw


def without_k(kernel: Kernel) -> set[str]:
    """Who complains of a run of this kernel where there is no k: a call would take the variant without boxes."""
    watch = Watch(kernel.ir, [n for n in OBSERVERS if n != "values"])
    results = {t.name: np.zeros((64, 64), "f2") for t in kernel.ir.tensors if t.written}
    interpret(kernel.ir, arrays(kernel, SIZES[-1]) | results, dict(zip("MNKL", SIZES[-1])), watch=watch)
    return {f.observer for s in watch.seen(Places(kernel.ir, kernel.schedule)).values() for f in s.findings}


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_seen_when_whole_kernels_run(name):
    kernel = kernel_of(name)
    for sizes in SIZES:
        given = arrays(kernel, sizes)
        seen = kernel.interpret(**given, observe="all")
        assert not [f for f in seen.findings if f.observer != "bank_conflicts"]
        assert right(kernel, given, seen.result)
