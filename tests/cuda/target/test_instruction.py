"""Instructions as data: the PTX manual's maps typed by hand, what follows from them, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.cuda.target import BadTarget, Composition, Interleave, NoInstruction, Target, UnknownTarget, owned
from polyvolta.cuda.target.instruction import QUAD_PAIR, WARP
from polyvolta.cuda.target.macro_mma import BadComposition
from polyvolta.cuda.target.registry import Targets
from polyvolta.sets import var
from tests.cuda import ampere
from tests.cuda.ampere import M16N8K8, M16N8K16
from tests.cuda.macros import COMPOSITIONS

SM_70 = pv.targets["sm_70"]
SM_80 = ampere.target(ampere.COMPOSITIONS["128"])


# ---- maps. The manual's formulas, with ints alone: groupID = lane >> 2, threadID_in_group = lane % 4.


BUILT_IN = [pv.targets[name] for name in ("sm_75", "sm_80")]
OF_KIND = {(t.name, i.family, i.kind): i for t in BUILT_IN for m in t.macro_mmas for i in m.instructions}


def test_what_the_targets_of_the_package_are_made_of():
    assert set(OF_KIND) == {
        ("sm_75", "m16n8k8", "half"),
        *(("sm_80", family, kind) for family in ("m16n8k16", "m16n8k8") for kind in ("half", "bfloat16")),
    }
    name = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    assert (OF_KIND["sm_80", "m16n8k16", "bfloat16"].name, OF_KIND["sm_80", "m16n8k8", "bfloat16"].opcode) == (
        name, "HMMA.1688.F32.BF16",
    )  # fmt: skip


@pytest.mark.parametrize("made", [M16N8K16, *(i for (_, f, _), i in OF_KIND.items() if f == "m16n8k16")],
                         ids=lambda i: f"{i.family} {i.kind}")  # fmt: skip
def test_m16n8k16_is_the_manuals(made):
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(8):
            row = group if i in (0, 1, 4, 5) else group + 8
            k = 2 * thread + (i & 1) + (8 if i >= 4 else 0)
            assert made.a.evaluate({"lane": lane, "i": i}) == (row, k)
        for i in range(4):
            k = 2 * thread + (i & 1) + (8 if i >= 2 else 0)
            assert made.b.evaluate({"lane": lane, "i": i}) == (k, group)
            row = group if i < 2 else group + 8
            assert made.d.evaluate({"lane": lane, "i": i}) == (row, 2 * thread + (i & 1))


@pytest.mark.parametrize("made", [M16N8K8, *(i for (_, f, _), i in OF_KIND.items() if f == "m16n8k8")],
                         ids=lambda i: f"{i.family} {i.kind}")  # fmt: skip
def test_m16n8k8_is_the_manuals(made):
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(4):
            row = group if i < 2 else group + 8
            assert made.a.evaluate({"lane": lane, "i": i}) == (row, 2 * thread + (i & 1))
            assert made.d.evaluate({"lane": lane, "i": i}) == (row, 2 * thread + (i & 1))
        for i in range(2):
            assert made.b.evaluate({"lane": lane, "i": i}) == (2 * thread + i, group)


def test_what_follows_from_the_data():
    assert M16N8K16.name == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert (M16N8K16.opcode, M16N8K16.flops, M16N8K16.units) == ("HMMA.16816.F32", 2 * 16 * 8 * 16, 1)
    m8n8k4 = SM_70.macro_mmas[0].instructions[0]
    assert m8n8k4.name == "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
    assert (m8n8k4.opcode, m8n8k4.flops, m8n8k4.units) == ("HMMA.884.F32", 4 * 2 * 8 * 8 * 4, 4)
    macro = SM_70.macro_mmas[1].of("row", "col")
    assert (macro.slots, macro.flops) == (32, 2 * 32 * 32 * 8)


def test_scopes():
    assert (WARP.units, WARP.lanes(0)) == (1, tuple(range(32)))
    for q in range(4):
        assert QUAD_PAIR.lanes(q) == (*range(4 * q, 4 * q + 4), *range(16 + 4 * q, 20 + 4 * q))


# ---- compositions


def product(macro, left, right):
    """What a warp computes, by the instruction's maps alone: units multiply what their lanes hold."""
    result = np.zeros(macro.shape[:2])
    ins = macro.instruction
    m, n, k = ins.shape
    for step in macro.steps:
        for unit in range(ins.units):
            x, y = np.full((m, k), np.nan), np.full((k, n), np.nan)
            lanes = [lane for lane in range(32) if ins.unit.evaluate({"lane": lane})[0] == unit]
            for lane in lanes:
                for i, v in enumerate(step.a):
                    x[ins.a.evaluate({"lane": lane, "i": i})] = left[macro.a.evaluate({"lane": lane, "i": v})]
                for i, v in enumerate(step.b):
                    y[ins.b.evaluate({"lane": lane, "i": i})] = right[macro.b.evaluate({"lane": lane, "i": v})]
            z = x @ y
            for lane in lanes:
                for i, v in enumerate(step.d):
                    result[macro.d.evaluate({"lane": lane, "i": v})] += z[ins.d.evaluate({"lane": lane, "i": i})]
    return result


def multiplies(macro):
    rng = np.random.default_rng(0)
    m, n, k = macro.shape
    left, right = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    np.testing.assert_allclose(product(macro, left, right), left @ right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ampere.COMPOSITIONS)
def test_macro_mmas_of_ampere_multiply_matrices(name):
    multiplies(ampere.COMPOSITIONS[name].of("row", "col"))


@pytest.mark.parametrize("target", BUILT_IN, ids=lambda t: t.name)
@pytest.mark.parametrize("a, b", [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")])
def test_macro_mmas_of_the_package_multiply_matrices(target, a, b):
    for composition in target.macro_mmas:
        for kind in composition.kinds:
            multiplies(composition.of(a, b, kind=kind))


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_interleave_multiplies_matrices(data):
    """Rows, columns and k in any order, with sub-tiles and steps."""
    made = data.draw(st.sampled_from([M16N8K8, M16N8K16, COMPOSITIONS["m16n16k8"].instructions[2]]))
    m, n, k = (size.bit_length() - 1 for size in made.shape)
    q = [f"q{b}" for b in range(made.units.bit_length() - 1)]
    cut = data.draw(st.integers(0, len(q)))
    sides = [
        [f"r{b}" for b in range(size)] + units + [f"s{b}" for b in range(data.draw(st.integers(0, 1)))]
        for size, units in ((m, q[:cut]), (n, q[cut:]), (k, []))
    ]
    composition = Composition((made,), Interleave(*(tuple(data.draw(st.permutations(bits))) for bits in sides)))
    multiplies(composition.of(*made.layouts))
    macro = composition.of(*made.layouts)
    assert macro.values == composition.values and macro.shape == composition.shape


def test_values_follow_one_another_in_memory():
    """With k permuted, lane t's values of a row of A are 4t to 4t + 3, or 8t to 8t + 7."""
    for name, width in (("64", 4), ("128", 8)):
        a = ampere.COMPOSITIONS[name].of().a
        for lane in range(32):
            held = [a.evaluate({"lane": lane, "i": i}) for i in range(width)]
            assert held == [(lane // 4, width * (lane % 4) + v) for v in range(width)]


# ---- what is refused


@pytest.mark.parametrize(
    ("interleave", "words"),
    [
        (Interleave(("r0", "r1", "r2"), ("r0", "r1", "r2"), ("r0", "r1", "r2", "r3")), "rows .* are no order"),
        (Interleave(ampere.R4, ("r0", "r1", "r2", "s1"), ("r0", "r1", "r2", "r3")), "cols .* are no order"),
        (Interleave(ampere.R4, ampere.R3, ("r0", "r1", "r2", "r2")), "ks .* are no order"),
        (Interleave((*ampere.R4, "q0"), ampere.R3, ("r0", "r1", "r2", "r3")), "the bits of 1 units are none"),
    ],
)  # fmt: skip
def test_an_interleave_has_each_bit_of_its_instruction_once(interleave, words):
    with pytest.raises(BadComposition, match=words):
        Composition((M16N8K16,), interleave)


def test_instructions_of_a_macro_mma_differ_in_layouts_alone():
    interleave = Interleave(ampere.R4, ampere.R3, ("r0", "r1", "r2", "r3"))
    with pytest.raises(BadComposition, match="differ in more than"):
        Composition((M16N8K16, replace(M16N8K8, layouts=("row", "row"))), interleave)
    with pytest.raises(BadComposition, match="take the same layouts"):
        Composition((M16N8K16, M16N8K16), interleave)
    with pytest.raises(BadComposition, match="there is none"):
        Composition((), interleave)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (replace(SM_80, macro_mmas=()), "it has no macro-MMA"),
        (replace(SM_80, macro_mmas=SM_80.macro_mmas * 2), "two of its macro-MMAs have one name"),
        ("sm_80", "'sm_80' is no target"),
    ],
    ids=str,
)
def test_targets_that_no_kernel_can_be_made_for(wrong, words):
    with pytest.raises(BadTarget, match=words) as refused:
        Targets().register(wrong)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": owned(4, k=2 * (var("lane") % 4) + var("i") % 2, col=var("lane") // 4)}, r"B\[0, 0\] of warp 0 is 2"),
        ({"a": owned(8, row=var("lane") // 2, k=var("i"))}, r"A\[0, 0\] of warp 0 is 2 values"),
        ({"a": owned(8, row=var("lane"), k=var("i"))}, "leads outside of 16x16"),
        ({"scope": QUAD_PAIR}, "the bits of 4 units are"),
        ({"types": ("bf16", "f16", "f32")}, "kernels multiply fp16 or bf16 .* the types are bf16, f16, f32"),
    ],
)  # fmt: skip
def test_instructions_that_are_no_product(change, words):
    interleave = ampere.COMPOSITIONS["32"].interleave
    with pytest.raises((BadTarget, BadComposition), match=words):
        Targets().register(ampere.target(Composition((replace(M16N8K16, **change),), interleave)))


# ---- the registry


def test_targets_are_a_mapping():
    targets = Targets(SM_70)
    assert targets.register(SM_80) is SM_80 is targets.register(SM_80) is targets["sm_80"]
    assert (list(targets), len(targets), targets.default) == (["sm_70", "sm_80"], 2, "sm_70")
    assert "sm_80" in targets and "sm_81" not in targets and None not in targets
    assert targets.get("sm_80") is SM_80 and targets.get("sm_90") is None
    assert dict(targets.items()) == {"sm_70": SM_70, "sm_80": SM_80}
    with pytest.raises(UnknownTarget, match="no target is called 'sm80'") as wrong:
        targets["sm80"]
    assert wrong.value.hint == "did you mean 'sm_80'?"
    with pytest.raises(BadTarget, match="another target is called 'sm_80'"):
        targets.register(replace(SM_80, multiprocessors=1))
    assert repr(targets) == "<targets sm_70, sm_80>"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        *((gpu, f"take 'sm_80': its kernels run on {gpu}, too") for gpu in ("sm_86", "sm_89", "sm_90a", "sm_120")),
        ("sm_72", "take 'sm_70': its kernels run on sm_72, too"),
        ("sm_61", "no target's kernels run on sm_61; known: sm_70, sm_75, sm_80, auto"),
        ("sm70", "did you mean 'sm_70'?"),
        ("ampere", "take 'sm_80': its kernels are for sm_80"), ("pascal", "known: sm_70, sm_75, sm_80, auto"),
    ],
)
def test_of_a_target_that_is_unknown_the_newest_that_runs_there_is_named(name, hint):
    with pytest.raises(UnknownTarget, match=f"no target is called '{name}'") as wrong:
        Targets(SM_70, pv.targets["sm_75"], SM_80)[name]
    assert wrong.value.hint == hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sm_90", "take 'sm_90a': its kernels are for sm_90"),
        ("sm_60", "no target's kernels run on sm_60; known: sm_70, sm_75, sm_80, sm_90a, auto"),
        ("sm_100", "take 'sm_80': its kernels run on sm_100, too"),
        ("sm_90b", "did you mean 'sm_90a'?"),
        ("hopper", "take 'sm_90a': its kernels are for sm_90"),
        ("pascal", "known: sm_70, sm_75, sm_80, sm_90a, auto"),
    ],
)
def test_where_letters_count_a_gpu_of_that_number_takes_them(name, hint):
    with pytest.raises(UnknownTarget, match=f"no target is called '{name}'") as wrong:
        pv.targets[name]
    assert wrong.value.hint == hint


def test_the_public_registry_has_the_default_target_first():
    assert list(pv.targets) == ["sm_70", "sm_75", "sm_80", "sm_90a"]
    assert pv.targets.default == "sm_70" == next(iter(pv.targets))
    M, N, K = pv.sizes("M N K")
    graph = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    assert pv.compile(graph).target is SM_70 is pv.compile(graph, "sm_70").target


def test_layouts_that_a_target_has_no_instruction_for_are_refused_by_name():
    M, N, K = pv.sizes("M N K")
    for a, b in (("col", "col"), ("row", "row"), ("col", "row")):
        graph = pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b)
        with pytest.raises(NoInstruction) as refused:
            pv.compile(graph, target=SM_80)
        assert "sm_80 has no instruction for" in str(refused.value) and "m16n8k16 row.col" in str(refused.value)
        assert "mma.m8n8k4 of sm_70" in refused.value.hint
        with pytest.raises(NoInstruction):
            pv.Options.space(graph, SM_80).__next__()


def test_budgets_are_the_targets():
    """Half the shared memory, registers or threads: other defaults, and refusals that name the target."""
    M, N, K = pv.sizes("M N K")
    graph = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    small = Target("sm_80", 256, 128, 32768, 24 * 1024, (2**31 - 1, 65535, 65535), SM_80.macro_mmas, 10,
                   block_tile=(64, 64, 32), warp_side=32, spare=(30, 8, 3))  # fmt: skip
    options = pv.compile(graph, small).options
    assert (options.block_tile, options.warp_tile, options.macro_mma) == ((64, 64, 32), (32, 32, 32), "m16n16k32")
    with pytest.raises(pv.PolyvoltaError, match="512 threads, sm_80 has 256"):
        pv.compile(graph, small, pv.Options(block_tile=(128, 64, 32), warp_tile=(16, 32, 32)))
    with pytest.raises(pv.PolyvoltaError, match="bytes of shared memory, sm_80 has 24576"):
        pv.compile(graph, small, pv.Options(block_tile=(256, 128, 64), warp_tile=(64, 64, 64)))


@pytest.mark.parametrize("target", [SM_70, SM_80], ids=lambda target: target.name)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threads": 31}, "needs 32 threads, and it has 31"),
        ({"shared_bytes": 16}, r"needs \d+ bytes of shared memory, and it has 16"),
        ({"registers": 10}, r"needs \d+ registers a thread, and it has 10"),
        ({"block_registers": 100}, r"needs \d+ registers a block, and it has 100"),
        ({"threads": 8, "registers": 1}, r"needs 32 threads, and it has 8; \d+ registers a thread, and it has 1$"),
    ],
)  # fmt: skip
def test_a_target_that_no_product_fits_is_named_with_its_limit(target, change, words):
    M, N, K = pv.sizes("M N K")
    graph = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    with pytest.raises(pv.PolyvoltaError) as refused:
        pv.compile(graph, replace(target, **change))
    assert re.search(f"^{target.name} is too small for any product: even one warp with one m16n16k.* {words}",
                     refused.value.hint)  # fmt: skip


def test_tiles_below_those_of_the_rule_are_hinted_at():
    """The rule keeps the depth of 32; with 1500 bytes there is room for a depth of 8."""
    M, N, K = pv.sizes("M N K")
    graph, small = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), replace(SM_70, shared_bytes=1500)
    with pytest.raises(pv.PolyvoltaError) as refused:
        pv.compile(graph, small)
    assert refused.value.hint == "try block_tile=(16, 16, 8), warp_tile=(16, 16, 8), macro_mma='m16n16k8' together"
    options = pv.Options(block_tile=(16, 16, 8), warp_tile=(16, 16, 8), macro_mma="m16n16k8")
    assert pv.compile(graph, small, options).ir.shared_bytes <= 1500
