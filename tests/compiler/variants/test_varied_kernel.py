"""A kernel of several tilings: all that a kernel offers, through the variant for the sizes, or by name refused."""

from dataclasses import replace
from io import StringIO
from math import prod

import numpy as np
import pytest
from rich.console import Console

import polyvolta as pv
from polyvolta.compiler.compiled import MissingSize
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.model import candidates, predict
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import complete
from polyvolta.compiler.signature import DEFAULT_NAME
from polyvolta.compiler.variants.chosen import BadVariants
from polyvolta.compiler.variants.compiling import decided
from polyvolta.compiler.variants.decisions import Decisions, Rule, Slowdown
from polyvolta.compiler.variants.kernels import SeveralAnswers, VariedKernel
from polyvolta.compiler.variants.ranges import BadRange, Ranges, ranges_of
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.run import nvrtc
from polyvolta.cuda.run.prepared import Nothing
from polyvolta.cuda.target.chips import chip_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.errors import ArrayMismatch, BadArguments, BadName
from polyvolta.graph.plans.idioms import plan
from tests.compiler.library_on_device import Tensor, use
from tests.compiler.test_plans import right, tensor
from tests.compiler.test_run import error, operands
from tests.compiler.test_run_on_device import driver as driver  # noqa: PLC0414  # a fixture

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
SMALL = pv.Options(block_tile=(32, 32, 16), warp_tile=(32, 32, 16))
LARGE = pv.Options(block_tile=(64, 32, 16), warp_tile=(32, 32, 16))
NAMES = ("M", "N", "K")
OVER = {"M": (1, 64), "N": (8, 64), "K": 64}


def by_rows(last: int) -> Decisions:
    """The small tiles up to so many rows, the large ones beyond."""
    anything = ((None, None), (None, None))
    axes = tuple((name,) for name in NAMES)
    rules = Rule(axes, ((None, last), *anything), 0), Rule(axes, ((last + 1, None), *anything), 1)
    ranges = Ranges(NAMES, ((1, 64), (8, 64), (64, 64)))
    return Decisions(axes, rules, (SMALL, LARGE), ranges, 1, Slowdown(1, 1), Slowdown(1, 1))


@pytest.fixture(scope="module")
def compiled():
    return tuple(pv.compile(A @ B, target="sm_70", options=o, name=f"mine_{n}") for n, o in enumerate((SMALL, LARGE)))


@pytest.fixture
def kernel(compiled):
    """Of two variants; it, and they, have no plans yet."""
    kernels = tuple(replace(k, _variants={}, _loaded={}) for k in compiled)
    return VariedKernel("mine", kernels[0].graph, kernels[0].target, by_rows(20), kernels)


def rows(m: int) -> tuple[np.ndarray, np.ndarray]:
    return operands(m, 24, 20, seed=m)


# ---- by the sizes


@pytest.mark.parametrize("m, variant", [(20, 0), (21, 1)])
def test_a_kernel_runs_the_variant_for_its_arrays(kernel, m, variant):
    a, b = rows(m)
    chosen = kernel.variants[variant]
    assert kernel.at(M=m, N=24, K=20) is chosen and kernel.decisions.choose(M=m, N=24, K=20) == variant
    assert error(kernel.interpret(a, b), a, b) <= 5e-4
    assert (kernel(a, b) == chosen.interpret(a, b)).all() and (kernel(B=b, A=a) == kernel(a, B=b)).all()
    seen = kernel.interpret(a, b, observe=("bank_conflicts", "coalescing", "counts"))
    assert seen.ok and seen.kernel.startswith(f"mine_{variant}:") and seen.ir is not None
    config = kernel.launch_config(M=m, N=24, K=20)
    assert config == chosen.launch_config(M=m, N=24, K=20) and config.block[0] == 32 * (1 + variant)
    step = next(iter(kernel.trace(a, b)))
    assert str(step) == str(next(iter(chosen.trace(a, b))))


def test_what_is_wrong_with_a_call_is_said_as_of_any_kernel(kernel):
    a, b = rows(20)
    with pytest.raises(BadArguments):
        kernel(a)
    with pytest.raises(ArrayMismatch):
        kernel(a, b[:-1])
    with pytest.raises(MissingSize, match="did you mean 'N'"):
        kernel.launch_config(M=1, n=2, K=3)
    with pytest.raises(MissingSize, match="at least 0"):
        kernel.at(M=-1, N=2, K=3)
    assert kernel(np.empty((0, 20), np.float16), b).shape == (0, 24)


def test_the_first_call_compares_and_those_after_it_find_its_plan(monkeypatch, driver, kernel):
    use(monkeypatch)
    asked = []
    taken = Decisions.taken
    monkeypatch.setattr(Decisions, "taken", lambda self, sizes: asked.append(dict(sizes)) or taken(self, sizes))
    pairs = [tuple(map(tensor, rows(m))) for m in (20, 21, 20, 21, 21)]
    for number, (a, b) in enumerate(pairs):
        assert right(kernel(a, b), a, b)
        assert len(asked) == min(number + 1, 2)
    assert [v.name for v in driver.variants] == ["mine_0", "mine_1"]
    assert [config[:2] for config in driver.launches] == [((1, 1, 1), (32 * (1 + m), 1, 1)) for m in (0, 1, 0, 1, 1)]
    assert len(kernel._plans) == 2 and not any(len(v._plans) for v in kernel.variants)
    protocols = Tensor.protocols
    kernel(*pairs[0])
    assert Tensor.protocols == protocols


def test_a_bound_launch_is_the_variants_own(monkeypatch, driver, kernel):
    use(monkeypatch)
    a, b = map(tensor, rows(40))
    c = tensor(np.zeros((40, 24), np.float16))
    launch = kernel.bind(a, b, out=c)
    own = kernel.variants[1].bind(a, b, out=c)
    assert type(launch) is type(own) and launch.__slots__ == own.__slots__
    monkeypatch.setattr(Decisions, "taken", None)  # nothing is compared any more
    for n in range(3):
        c.array[...] = 0
        launch()
        assert right(c, a, b) and len(driver.launches) == n + 1
    assert {v.name for v in driver.variants} == {"mine_1"}


def test_nothing_is_bound_for_an_empty_result(monkeypatch, driver, kernel):
    use(monkeypatch)
    a, b = (tensor(np.empty(shape, np.float16, order=order)) for shape, order in (((0, 20), "C"), ((20, 24), "F")))
    assert isinstance(kernel.bind(a, b, out=tensor(np.empty((0, 24), np.float16))), Nothing)


def test_views_take_narrower_accesses_of_the_variant(monkeypatch, driver, kernel):
    use(monkeypatch)
    a, b = rows(33)
    a = tensor(a, ld=21, offset=1)
    assert right(kernel(a, tensor(b)), a, tensor(b))
    (ran,) = driver.variants
    assert ran.name == "mine_1" and {t.name: t.align for t in ran.ir.tensors}["A"] == 1
    narrow = kernel.variant(A=1)
    assert narrow.variants == tuple(v.variant(A=1) for v in kernel.variants) and kernel.variant(A=8) is kernel
    assert narrow.decisions == kernel.decisions and narrow.at(M=33, N=1, K=1) is kernel.variants[1].variant(A=1)


def test_variants_of_warpgroups_with_rows_along_either_side():
    """One has the macro-MMA's rows along the result's columns; what no boxes take goes to a variant's other kernel."""
    v = pv.tensor("v", (N,))
    narrow = pv.Options(block_tile=(16, 64, 64), warp_tile=(16, 64, 64), buffers=2, swap=True)
    wide = pv.Options(block_tile=(64, 64, 64), warp_tile=(64, 64, 64), buffers=2)
    kernels = tuple(pv.compile(pv.relu(A @ B + v), target="sm_90a", options=o, name=f"mine_{n}")
                    for n, o in enumerate((narrow, wide)))  # fmt: skip
    kernel = VariedKernel("mine", Graph.of(pv.relu(A @ B + v)), kernels[0].target, by_rows(20), kernels)
    rng = np.random.default_rng(0)
    for m, n, k, variant in ((20, 64, 64, 0), (80, 64, 64, 1), (30, 33, 35, 1)):
        a, b = operands(m, n, k, seed=m)
        bias = rng.standard_normal(n).astype(np.float16)
        (wanted,) = pv.reference(kernel.graph, a, b, bias)
        assert np.linalg.norm(kernel(a, b, bias) - wanted) <= 5e-4 * np.linalg.norm(wanted)
        sizes, own = {"M": m, "N": n, "K": k}, kernels[variant]
        assert kernel.launch_config(**sizes) == own.launch_config(**sizes) and kernel.at(**sizes) is own
        assert prod(kernel.launch_config(**sizes).grid) == -(-m // (16, 64)[variant])


# ---- of all, and of one


def test_verify_proves_each_variant_and_that_one_is_taken(kernel):
    report = kernel.verify(("bounds", "written_once"))
    assert report.ok
    assert [p.id for p in report.proofs] == ["decisions", *("written_once", "bounds") * 2]
    assert report[1]["bounds"].proved and not report.refuted and not report.undecided
    assert "5 of 5 statements proved" in repr(report) and report.seconds > 0
    assert str(report).count("mine_") == 2 and "M <= 20" in str(report) and "<table" in report._repr_html_()
    console = Console(width=120, file=StringIO())
    console.print(report)
    shown = console.file.getvalue()
    assert shown.count("bounds") == 2 and shown.index("variant 0:") < shown.index("variant 1:") and "M <= 20" in shown
    gap = replace(kernel, decisions=replace(kernel.decisions, rules=by_rows(20).rules[:1] + by_rows(21).rules[1:]))
    refuted = gap.verify("bounds")
    assert not refuted.ok and [p.id for p in refuted.refuted] == ["decisions"] and "21" in str(refuted)


@pytest.mark.parametrize("what", ["source", "ir", "stages", "schedule", "options"])
def test_what_is_of_one_variant_is_named(kernel, what):
    with pytest.raises(SeveralAnswers, match=f"each has {what} of its own") as caught:
        getattr(kernel, what)
    assert f"kernel.variants[0].{what}" in caught.value.hint and "M <= 20" in caught.value.where
    assert not hasattr(kernel, what)
    single = replace(kernel, variants=kernel.variants[:1])
    assert getattr(single, what) == getattr(kernel.variants[0], what)


@pytest.mark.parametrize("what", ["compiled", "cubin", "resources", "device_function"])
def test_what_makes_one_variants_machine_code_is_named(kernel, what, monkeypatch):
    with pytest.raises(SeveralAnswers, match=f"{what} of its own") as caught:
        getattr(kernel, what)()
    assert f"kernel.variants[0].{what}(...)" in caught.value.hint
    monkeypatch.setattr(Kernel, what, lambda self, *rest: (self.name, *rest))
    assert getattr(replace(kernel, variants=kernel.variants[:1]), what)()[0] == "mine_0"


def test_pictures_and_defects_are_of_one_variant(kernel):
    for draw in (pv.pictures.output_tiles, pv.pictures.pipeline, lambda k: broken(k, "swizzle dropped")):
        with pytest.raises(pv.PolyvoltaError, match="a VariedKernel where a kernel") as caught:
            draw(kernel)
        assert "kernel.variants[0]" in caught.value.hint
    assert "<svg" in str(pv.pictures.output_tiles(kernel.variants[1]))


def test_its_page_compiles_nothing_and_names_what_shows_a_variant(kernel, monkeypatch, tmp_path):
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(nvrtc, "_in_memory", {})
    monkeypatch.setattr(nvrtc, "_compile", lambda *_: pytest.fail("it was compiled"))
    page = kernel._repr_html_()
    assert "<code>kernel.variants[1].resources()</code> compiles it" in page
    assert "kernel.variants[1] shows its stages" in page and 'class="pv-step"' not in page


def test_it_says_what_it_is(kernel):
    assert repr(kernel).startswith("<VariedKernel, 2 variants of mine for sm_70: S: C[i, j]")
    public = {n for n in dir(Kernel) if not n.startswith("_")}
    left_out = {"boxed", "loaded", "parameters", "taking", "without_boxes"}  # of how one text is made and loaded
    assert public - set(dir(kernel)) == left_out | {"ir", "options", "schedule", "source", "stages"} - set(dir(kernel))


# ---- compile


def artificial(tilings, points):
    """Small tiles for few rows, large ones for many; other options make no difference."""
    return np.array([[1 + abs(np.log(t.block_tile[0] / s["M"])) for t in tilings] for s in points])


def test_candidates_are_chosen_between_by_their_costs():
    graph = Graph.of(A @ B)
    ranges = ranges_of(graph, {"M": (16, 256), "N": 512, "K": 512})
    target = pv.targets["sm_80"]
    decisions = decided(graph, target, pv.Options(buffers=3), ranges, 4, artificial)
    sides = [o.block_tile[0] for o in decisions.options]
    assert sides == sorted(sides) and 3 <= len(sides) == len(decisions.rules) <= 4
    assert all(o.buffers == 3 for o in decisions.options)
    one = decided(graph, target, pv.Options(block_tile=(64, 64, 32)), ranges, 3, artificial)
    assert len(one.options) == 1 and one.options[0].block_tile == (64, 64, 32)
    odd = pv.Options(block_tile=(16, 160, 16), warp_tile=(16, 32, 16), buffers=1, prefetch=0)  # no candidate has it
    assert decided(graph, target, odd, ranges, 3, artificial).options == (complete(odd, needs_of(plan(graph)), target),)


def test_compile_over_ranges():
    kernel = pv.compile(A @ B, target="sm_70", over={"M": (1, 4096), "N": 2048, "K": 2048}, variants=3)
    assert isinstance(kernel, VariedKernel) and 2 <= len(kernel.variants) <= 3
    assert [v.name for v in kernel.variants] == [f"{DEFAULT_NAME}_{n}" for n in range(len(kernel.variants))]
    assert tuple(v.options for v in kernel.variants) == kernel.decisions.options
    assert all(lemma.holds for lemma in kernel.decisions.proof())
    assert kernel.at(M=1, N=2048, K=2048) is not kernel.at(M=4096, N=2048, K=2048)
    assert kernel.decisions.slowdown.mean < kernel.decisions.of_one.mean
    one = pv.compile(A @ B, target="sm_70", over={"M": (1, 4096), "N": 2048, "K": 2048})
    only = pv.compile(A @ B, target="sm_70", over={"M": (1, 4096), "N": 2048, "K": 2048}, variants=1, name="one")
    assert isinstance(one, Kernel) and one.options == only.options == only.variants[0].options
    assert only.source.replace("one(", f"{DEFAULT_NAME}(").replace("// one:", f"// {DEFAULT_NAME}:") == one.source
    own = pv.compile(A @ B, target="sm_70", options=kernel.variants[0].options, name=f"{DEFAULT_NAME}_0")
    assert own.source == kernel.variants[0].source


def test_the_choice_over_a_range_is_the_best_of_all_candidates_there():
    """By the model, size for size: brute force over candidates with their scalar predictions."""
    graph, target = Graph.of(A @ B), pv.targets["sm_70"]
    needs, chip = needs_of(plan(graph)), chip_of(target)
    ranges, given = Ranges(NAMES, ((60, 62), (1000, 1000), (512, 512))), pv.Options(split_k=1, occupancy=1)
    decisions = decided(graph, target, given, ranges, 1)
    fixed = {"split_k": 1, "occupancy": 1}
    found = [t for t in candidates(needs, target, fixed) if t.shared_bytes(needs, target) <= chip.shared_bytes]

    def mean(tiling):
        costs = [predict(tiling, needs, target, chip, sizes).seconds for sizes in ranges.sample()]
        return np.exp(np.log(costs).mean())

    assert mean(decisions.options[0]) == pytest.approx(min(map(mean, found)))


@pytest.mark.parametrize("variants", [0, -1, 1.5, True, "3"])
def test_numbers_of_variants_that_make_no_sense_are_refused(variants):
    with pytest.raises(BadVariants, match="at least 1") as caught:
        pv.compile(A @ B, target="sm_70", over=OVER, variants=variants)
    assert caught.value.id == "PV422"


def test_what_else_is_refused():
    with pytest.raises(BadVariants, match="ranges of sizes, and there are none"):
        pv.compile(A @ B, target="sm_70", variants=2)
    with pytest.raises(BadRange, match="no size 'L'"):
        pv.compile(A @ B, target="sm_70", over={**OVER, "L": 5})
    with pytest.raises(BadRange, match="over is empty"):
        pv.compile(A @ B, target="sm_70", over={})
    with pytest.raises(BadRange, match="sizes and over are both given"):
        pv.compile(A @ B, target="sm_70", over=OVER, sizes={"M": 5, "N": 5, "K": 5})
    with pytest.raises(BadName, match="mine_1"):
        taken = pv.tensor("mine_1", (K, N), layout="col")
        pv.compile(A @ taken, target="sm_70", over={"M": (1, 4096), "N": 2048, "K": 2048}, variants=3, name="mine")
