"""Kernels broken on purpose: every mutant is refuted, and seen when it runs; kernels that are whole have no finding.

Small tiles of all idioms. Each mutant breaks one of the kernels that have what it breaks; the kernels take turns. A
refutation has to name the right place: a statement of the kinds that the mutant blames, and a line of its CUDA text.
"""

import itertools
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.machine.observe.watch import OBSERVERS
from polyvolta.cuda.mutants import MUTANTS as ALL
from polyvolta.cuda.mutants import Mutant, NotAKernel, NothingToBreak, UnknownMutant, applying, broken
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.cuda.verify.report.asked import PROOFS
from tests.cuda.mutants.names import AMPERE, BOXES, CLUSTERS, PROLOGUES, ROLES, TILES

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N), layout="col")
BIAS, W = pv.tensor("bias", (N,)), pv.tensor("w", (N,))
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}

KERNELS = {
    "product": (A @ B, {}),
    "product, two buffers": (A @ B, {"block_tile": (32, 32, 32), "warp_tile": (32, 16, 32), "buffers": 2}),
    "column-major": (
        pv.output(pv.tensor("A", (M, K), layout="col") @ pv.tensor("B", (K, N)), layout="col"),
        {"warp_tile": (16, 32, 16)},
    ),
    "full shared memory": (
        A @ B,
        {"block_tile": (16, 32, 256), "warp_tile": (16, 16, 256), "split_k": 2, "buffers": 2},
    ),
    "m32n32k8": (
        pv.output(A @ pv.tensor("B", (K, N)), layout="col"),
        {"macro_mma": "m32n32k8", "warp_tile": (32, 32, 16)},
    ),
    "prologue": (pv.sigmoid(A) @ (B + W), {"buffers": 2}),
    "epilogue": (pv.relu(A @ B + BIAS), {"warp_tile": (32, 16, 16)}),
    "split K": (pv.relu(A @ B + BIAS), {"split_k": 2, "warp_tile": (32, 16, 16), "buffers": 2}),
    "sum": (2 * (A @ B) - P @ Q, {"block_tile": (32, 64, 16), "warp_tile": (32, 32, 16)}),
    "two sums": (pv.sigmoid(A @ B) * (P @ Q), {"warp_tile": (16, 32, 16)}),
    "padded": (pv.relu(A) @ B, {"partial": "pad", "warp_tile": (16, 32, 16)}),
    "narrow accesses": (A @ B + BIAS, {"warp_tile": (16, 32, 16)}),
}
"""What is computed, and its options beside SMALL."""

MUTANTS = {name: m for name, m in ALL.items() if name not in AMPERE | BOXES | ROLES | TILES | CLUSTERS | PROLOGUES}
"""Those that a kernel for sm_70 can show; of the others see test_rings, test_boxes and verify/order/test_roles."""

NARROW = {"narrow accesses": {"A": 4, "B": 1, "D": 2}}
"""Kernels that are variants for arrays of less alignment."""


@cache
def kernel_of(idiom: str) -> Kernel:
    outputs, options = KERNELS[idiom]
    return pv.compile(outputs, options=pv.Options(**{**SMALL, **options})).variant(**NARROW.get(idiom, {}))


def change(mutant: Mutant, kernel: Kernel) -> object:
    """What a mutant makes of a kernel's IR, or trees; None if there is nothing to break."""
    try:
        return mutant.ir(kernel.ir) if mutant.ir else mutant.trees(kernel.stages)
    except NothingToBreak:
        return None


@cache
def chosen() -> dict[str, str]:
    """Mutant -> the kernel that it breaks: of those that it applies to, the one that has had the fewest.

    The one with its shared memory full, which takes the longest, is for the mutants that break nothing else.
    """
    had = dict.fromkeys(KERNELS, 0) | {"full shared memory": len(MUTANTS)}
    found = {}
    for name, mutant in MUTANTS.items():
        idiom = next(i for i in sorted(KERNELS, key=had.__getitem__) if change(mutant, kernel_of(i)) is not None)
        had[idiom] += 1
        found[name] = idiom
    return found


def sizes(kernel: Kernel) -> list[dict[str, int]]:
    """Two blocks each way and several k tiles: full ones, and the last ones partial, by eight and by one."""
    rows, cols, depth = kernel.options.block_tile
    depth *= kernel.options.split_k
    return [
        {"M": 2 * rows, "N": 2 * cols, "K": 2 * depth, "L": depth},
        {"M": 2 * rows - 8, "N": 2 * cols - 8, "K": 2 * depth + 8, "L": depth + 8},
        {"M": 2 * rows - 1, "N": 2 * cols - 1, "K": 3 * depth - 1, "L": depth - 1},
    ]


def arrays(kernel: Kernel, numbers: dict[str, int]) -> dict[str, np.ndarray]:
    """Numbers on a coarse grid, so that sums are exact."""
    rng = np.random.default_rng(0)
    found = {}
    for t in kernel.graph.inputs:
        shape = tuple(d if isinstance(d, int) else numbers[str(d)] for d in t.dims)
        values = (rng.integers(-8, 9, shape) / 8).astype(np.float16)
        found[t.name] = np.asfortranarray(values) if t.layout == "col" else values
    return found


def is_right(kernel: Kernel, given: dict[str, np.ndarray], result: np.ndarray) -> bool:
    return np.allclose(result, pv.reference(kernel.graph.roots[0], **given), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("idiom", KERNELS)
def test_whole_kernels_are_proved_and_nothing_is_seen_when_they_run(idiom):
    kernel = kernel_of(idiom)
    report = kernel.verify()
    assert report.ok, [(p.id, p.counter_example) for p in report.refuted]
    for numbers in sizes(kernel):
        given = arrays(kernel, numbers)
        seen = kernel.interpret(**given, observe="all")
        assert seen.ok, seen.findings
        assert is_right(kernel, given, seen.result)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_proofs_refute_a_mutant_and_name_the_place(name):
    mutant, kernel = MUTANTS[name], broken(kernel_of(chosen()[name]), name)
    refuted = {p.id: p.counter_example for p in kernel.verify(mutant.proofs).refuted}
    assert set(mutant.proofs) <= set(refuted), refuted
    for proof in mutant.proofs:
        example = refuted[proof]
        assert example.what
        if mutant.trees is not None:
            continue
        assert set(example.sizes) in (set(), set(kernel.ir.sizes))  # none, for a fragment's ownership
        place = example.place
        assert kernel.source.splitlines()[place.line - 1].strip() == place.text
        assert dict(walk(kernel.ir.body))[place.path] == place.stmt
        if mutant.blames:
            assert isinstance(place.stmt, mutant.blames) or isinstance(example.other.stmt, mutant.blames)


@pytest.mark.parametrize("name", [n for n, m in MUTANTS.items() if m.observers])
def test_the_observers_see_a_mutant(name):
    mutant, kernel = MUTANTS[name], broken(kernel_of(chosen()[name]), name)
    saw = set()
    for numbers in sizes(kernel):
        given = arrays(kernel, numbers)
        seen = kernel.interpret(**given, observe="all")
        saw |= {f.observer for f in seen.findings}
        if "coalescing" in mutant.observers:  # no findings: a table
            whole = kernel_of(chosen()[name]).interpret(**given, observe="coalescing")
            saw |= {"coalescing"} if seen.coalescing.sectors > whole.coalescing.sectors else set()
        if set(mutant.observers) <= saw:
            return
    raise AssertionError(f"seen by {saw} alone")


def test_there_are_mutants_of_all_kinds_and_of_all_idioms():
    assert len(MUTANTS) >= 60
    assert set(chosen().values()) == set(KERNELS)
    assert {p for m in ALL.values() for p in m.proofs} == set(PROOFS)
    assert {o for m in MUTANTS.values() for o in m.observers} == set(OBSERVERS) - {"counts", "phases"}
    assert all(m.observers for m in MUTANTS.values() if m.ir and m.proofs != ("arguments",))
    by_values_alone = [m.name for m in MUTANTS.values() if m.observers == ("values",)]
    assert len(MUTANTS) - len(by_values_alone) >= 40


@pytest.mark.parametrize("name, mutant", ALL.items())
def test_a_mutant_says_what_it_breaks(name: str, mutant: Mutant):
    assert mutant.name == name
    assert set(mutant.proofs) <= set(PROOFS)
    assert (mutant.ir is None) != (mutant.trees is None)
    assert mutant.about and not mutant.about.endswith(".")


def test_a_broken_kernel_is_another_one_and_leaves_the_whole_one_alone():
    kernel = kernel_of("product")
    before = kernel.ir, kernel.source
    other = broken(kernel, "no barrier after the stores")
    assert (kernel.ir, kernel.source) == before
    assert other.source != kernel.source
    assert other.source == print_cuda(other.ir)
    assert other.variant(A=1).source != kernel.variant(A=1).source
    assert other.stages is kernel.stages


def test_mutants_differ_from_one_another():
    for idiom in KERNELS:
        made = [ir for m in MUTANTS.values() if m.ir and (ir := change(m, kernel_of(idiom))) is not None]
        assert all(x != y for x, y in itertools.combinations(made, 2))


def test_a_mutant_is_refused_where_there_is_nothing_to_break_or_no_such_mutant():
    with pytest.raises(NothingToBreak, match="PV564.*doesn't split K") as refused:
        broken(kernel_of("product"), "warp barrier in a split K's exchange")
    named = [name.strip("'\"") for name in refused.value.hint.removeprefix("mutants that apply: ").split(", ")]
    assert named == list(itertools.islice(applying(kernel_of("product"), "warp barrier in a split K's exchange"), 4))
    assert all(broken(kernel_of("product"), name) != kernel_of("product") for name in named)
    assert list(applying(kernel_of("product"), "swizzle dropped"))[0] == "swizzle dropped"
    with pytest.raises(UnknownMutant, match="no mutant is called(.|\n)*did you mean 'swizzle dropped'"):
        broken(kernel_of("product"), "swizle dropped")
    with pytest.raises(UnknownMutant, match="no mutant is called 7"):
        broken(kernel_of("product"), 7)
    with pytest.raises(NotAKernel, match=r"a KernelIR where a kernel(.|\n)*MUTANTS\[name\].ir changes an IR"):
        broken(kernel_of("product").ir, "swizzle dropped")
