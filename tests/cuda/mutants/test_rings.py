"""Kernels of sm_75 and sm_80 broken on purpose: every mutant is refuted, and seen when it runs, whenever copies arrive.

Kernels with a ring are written by hand (`ring_example`), two ways of doing it, and put in the place of what the
compiler makes of the same product; those of sm_75 are the compiler's own.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.block_order import BlockOrder
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants import MUTANTS, NothingToBreak, broken
from polyvolta.cuda.text.printer import print_cuda
from tests.cuda.ir.ring_example import ring_ir
from tests.cuda.mutants.coarse import arrays
from tests.cuda.mutants.names import AMPERE

M, N, K = pv.sizes("M N K")
TILES = {"block_tile": (32, 32, 32), "warp_tile": (16, 32, 32)}
LAYOUTS = {"Turing, column-major": ("col", "row"), "ring, column-major": ("col", "row")}
RINGS = {
    "ring": lambda: ring_ir(versions=True),
    "ring, column-major": lambda: ring_ir(stages=4, layouts=("col", "row")),
    "ring, 8-byte pieces": lambda: ring_ir(align=4),
    "ring, fragments ahead": lambda: replace(ring_ir(sets=2), block_order=BlockOrder(2)),
}
KERNELS = ("Turing", "Turing, column-major", *RINGS)
COMPILED = {
    "fragments ahead": {"buffers": 3, "fragments": 2},
    "one set of fragments": {"buffers": 4, "fragments": 1},
}
"""Rings of the compiler's own."""
SIZES = ((96, 64, 96), (88, 56, 104), (95, 63, 191), (92, 60, 100))
"""Three rows of two blocks and several k tiles: full ones, and the last ones partial, by eight, by one and by four."""


def put(kernel: Kernel, ir: KernelIR) -> Kernel:
    """A kernel with another IR in its place."""
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


@cache
def kernel_of(name: str) -> Kernel:
    a, b = LAYOUTS.get(name, ("row", "col"))
    product = pv.output(pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b), name="C")
    if name.startswith("Turing"):
        return pv.compile(product, target="sm_75", options=pv.Options(**TILES))
    if name in COMPILED:
        return pv.compile(product, target="sm_80", options=pv.Options(**TILES, **COMPILED[name]))
    made = pv.compile(product, target="sm_80", options=pv.Options(**TILES, buffers=3, macro_mma="m16n16k16"))
    return put(made, RINGS[name]())


def changed(name: str, kernel: Kernel) -> KernelIR | None:
    """What a mutant makes of a kernel's IR; None if there is nothing to break."""
    try:
        return AMPERE[name].ir(kernel.ir)
    except NothingToBreak:
        return None


@cache
def chosen() -> dict[str, str]:
    """Mutant -> the kernel that it breaks: of those that it applies to, the one that has had the fewest."""
    had, found = dict.fromkeys(KERNELS, 0), {}
    for name in AMPERE:
        found[name] = next(k for k in sorted(KERNELS, key=had.__getitem__) if changed(name, kernel_of(k)) is not None)
        had[found[name]] += 1
    return found


def exact(given: dict[str, np.ndarray]) -> np.ndarray:
    return (given["A"].astype(np.float64) @ given["B"].astype(np.float64)).astype(np.float16)


def seen(kernel: Kernel, copies="lazy", sizes=SIZES, until: frozenset[str] = frozenset()) -> set[str]:
    """The observers that complain, of some that are waited for until all do."""
    found: set[str] = set()
    for some in sizes:
        if until and until <= found:
            break
        found |= {f.observer for f in kernel.interpret(**arrays(kernel, some), observe="all", copies=copies).findings}
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_whole_kernels_are_proved(name):
    report = kernel_of(name).verify()
    assert report.ok, [(p.id, p.counter_example or p.reason) for p in report.proofs if not p.proved]


@pytest.mark.parametrize("copies", ["lazy", "eager", 0, 1])
@pytest.mark.parametrize("name", (*KERNELS, *COMPILED))
def test_nothing_is_seen_when_whole_kernels_run(name, copies):
    kernel = kernel_of(name)
    assert seen(kernel, copies) == set()
    for sizes in ((33, 1, 0), (1, 40, 1), (40, 33, 70)):
        given = arrays(kernel, sizes)
        assert np.array_equal(kernel.interpret(**given, copies=copies), exact(given))


@pytest.mark.parametrize("name", AMPERE)
def test_the_proofs_refute_a_mutant_and_name_the_place(name):
    mutant, kernel = MUTANTS[name], broken(kernel_of(chosen()[name]), name)
    refuted = {p.id: p.counter_example for p in kernel.verify(mutant.proofs).refuted}
    assert set(mutant.proofs) <= set(refuted), refuted
    for proof in mutant.proofs:
        example = refuted[proof]
        assert example.what
        if kernel.ir.body == kernel_of(chosen()[name]).ir.body:  # nothing of the program is wrong
            continue
        place = example.place
        assert kernel.source.splitlines()[place.line - 1].strip() == place.text
        assert dict(walk(kernel.ir.body))[place.path] == place.stmt
        if mutant.blames:
            assert isinstance(place.stmt, mutant.blames) or isinstance(example.other.stmt, mutant.blames)


@pytest.mark.parametrize("name", [n for n, m in AMPERE.items() if m.observers])
def test_the_observers_see_a_mutant(name):
    wanted = frozenset(AMPERE[name].observers)
    assert wanted <= seen(broken(kernel_of(chosen()[name]), name), until=wanted)


@pytest.mark.parametrize("name", [n for n, m in AMPERE.items() if m.observers])
@pytest.mark.parametrize("kernel", COMPILED)
def test_the_observers_see_a_mutant_of_what_the_compiler_makes(name, kernel):
    if changed(name, kernel_of(kernel)) is None:
        pytest.skip("nothing to break")
    wanted = frozenset(AMPERE[name].observers)
    assert wanted <= seen(broken(kernel_of(kernel), name), until=wanted)


@pytest.mark.parametrize("name", [n for n, m in AMPERE.items() if "races" in m.observers])
def test_races_are_seen_whenever_copies_arrive(name):
    kernel = broken(kernel_of(chosen()[name]), name)
    assert all("races" in seen(kernel, copies, SIZES[2:3]) for copies in ("eager", 3))


def test_late_copies_show_what_early_ones_hide():
    """A wait for too little changes no value as long as copies arrive at once."""
    for name in ("wait for a group less", "no wait for copies", "no groups of copies"):
        kernel = broken(kernel_of("ring"), name)
        given = arrays(kernel, SIZES[0])
        early, late = (kernel.interpret(**given, copies=copies) for copies in ("eager", "lazy"))
        assert np.array_equal(early, exact(given)) and np.isnan(late).any()


def test_there_are_mutants_of_all_kernels_and_of_all_kinds():
    assert len(AMPERE) >= 40 and set(chosen().values()) == set(KERNELS)
    assert {p for m in AMPERE.values() for p in m.proofs} == {
        "barriers_between", "not_overwritten", "fresh", "copies", "sums", "result", "ownership", "alignment", "bounds",
        "exchange", "written_once", "bank_conflicts",
    }  # fmt: skip
    assert [n for n, m in AMPERE.items() if not m.observers] == ["owners that lines don't give"]


def test_mutants_differ_from_one_another():
    for kernel in (*KERNELS, *COMPILED):
        made = [ir for name in MUTANTS if MUTANTS[name].ir and (ir := _made(name, kernel_of(kernel))) is not None]
        assert all(x != y for x, y in itertools.combinations(made, 2))


def _made(name: str, kernel: Kernel) -> KernelIR | None:
    try:
        return MUTANTS[name].ir(kernel.ir)
    except NothingToBreak:
        return None
