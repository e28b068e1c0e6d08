"""pv.compile: kernels of every idiom compute what numpy computes, and bad input is refused before anything is made."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.compiled import NotAMultiple
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.errors import UnknownTarget
from polyvolta.cuda.ir.kernel_ir import FragmentLoad, Scale, SharedStore
from polyvolta.graph.dag import Graph
from polyvolta.graph.errors import BadName
from polyvolta.graph.plans.plans import Unsupported
from polyvolta.sets import PolyvoltaError, UnknownName

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L), layout="col"), pv.tensor("Q", (L, N))
bias, R = pv.tensor("bias", (N,)), pv.tensor("R", (M, N))
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
WIDE = {"block_tile": (64, 32, 16), "warp_tile": (32, 32, 16), "macro_mma": "m32n32k8"}
IDIOMS = {
    "product": A @ B,
    "layouts": P @ Q,
    "epilogue": pv.relu(A @ B + bias) * R,
    "prologue": pv.relu(A) @ (B + 1),
    "sum": A @ B - 2 * (P @ Q),
    "two": pv.sigmoid(A @ B) * pv.tanh(P @ Q),
    "both": [A @ B, pv.relu(A @ B)],
    "apart": [A @ B, P @ Q + R],
}
HOW = {
    "small": SMALL,
    "wide": WIDE,
    "split": {**SMALL, "block_tile": (16, 32, 16), "split_k": 2},
    "two buffers": {**SMALL, "buffers": 2},
    "split, two buffers": {**WIDE, "split_k": 2, "buffers": 2},
    "one warp": {"block_tile": (32, 32, 16), "warp_tile": (32, 32, 16)},
}
SHAPE = {M: 37, N: 45, K: 23, L: 40}


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(A @ B, options=pv.Options(**SMALL))


def arrays(graph, shape=SHAPE):
    rng = np.random.default_rng()
    out = {}
    for t in graph.inputs:
        values = rng.standard_normal(tuple(shape.get(d, d) for d in t.dims)).astype(np.float16)
        out[t.name] = np.asfortranarray(values) if t.layout == "col" else values
    return out


def agree(got, expected):
    expected = np.asarray(expected, np.float64)
    return np.linalg.norm(np.asarray(got, np.float64) - expected) <= 5e-4 * np.linalg.norm(expected)


# ---- every idiom


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("idiom", IDIOMS)
def test_kernels_compute_what_numpy_computes(idiom, how):
    outputs = IDIOMS[idiom]
    found = pv.compile(outputs, options=pv.Options(**HOW[how]))
    given = arrays(found.graph)
    got, expected = found.interpret(**given), pv.reference(outputs, **given)
    several = isinstance(outputs, list)
    assert all(agree(g, e) for g, e in zip(got if several else [got], expected if several else [expected], strict=True))


@pytest.mark.parametrize("shape", [(1, 1, 1), (32, 32, 16), (33, 31, 17), (7, 100, 3), (64, 1, 50)])
def test_any_sizes(kernel, shape):
    given = arrays(kernel.graph, dict(zip((M, N, K), shape)))
    assert agree(kernel.interpret(**given), pv.reference(A @ B, **given))


def test_sizes_may_be_numbers():
    a, b = pv.tensor("A", (37, 23)), pv.tensor("B", (23, 45), layout="col")
    for outputs in (a @ b, pv.relu(a @ b + 1), a @ b + pv.tensor("P", (37, 9)) @ pv.tensor("Q", (9, 45))):
        found = pv.compile(outputs, options=pv.Options(**SMALL))
        given = arrays(found.graph)
        assert found.launch_config().grid == (2, 2, 1)
        assert agree(found.interpret(**given), pv.reference(outputs, **given))


def test_one_size_may_be_used_twice():
    product = pv.tensor("A", (M, M)) @ pv.tensor("B", (M, M), layout="col")
    given = arrays(Graph.of(product))
    assert agree(pv.compile(product, options=pv.Options(**SMALL)).interpret(**given), pv.reference(product, **given))


def test_a_sum_over_nothing_is_zero(kernel):
    given = arrays(kernel.graph, {M: 5, N: 6, K: 0})
    assert (kernel.interpret(**given, out=np.full((5, 6), np.nan, np.float16)) == 0).all()


@pytest.mark.parametrize(("how", "accumulators", "scales"), [("auto", 1, 1), ("one", 1, 1), ("separate", 2, 0)])
def test_products_of_a_sum_share_an_accumulator(how, accumulators, scales):
    from polyvolta.cuda.ir.walk import operations

    found = pv.compile(IDIOMS["sum"], options=pv.Options(**SMALL, accumulators=how))
    ops = list(operations(found.ir.body))
    assert len({op.d.array for op in ops if type(op).__name__ == "Mma"}) == accumulators
    assert sum(isinstance(op, Scale) for op in ops) == scales
    given = arrays(found.graph)
    assert agree(found.interpret(**given), pv.reference(IDIOMS["sum"], **given))


# ---- padding


def test_padded_kernels_have_no_guards_and_say_of_what_sizes_are_multiples():
    product = pv.tensor("A", (M, M)) @ pv.tensor("B", (M, N), layout="col")
    found = pv.compile(product, options=pv.Options((32, 16, 48), (16, 16, 48), split_k=2, partial="pad"))
    assert found.ir.context == (("M", 96), ("N", 16))
    assert "guarded" not in found.source
    given = arrays(found.graph)
    assert agree(found.interpret(**given), pv.reference(product, **given))


def test_numbers_that_are_no_multiple_cannot_be_padded():
    product = pv.tensor("A", (100, 32)) @ pv.tensor("B", (32, 32), layout="col")
    with pytest.raises(NotAMultiple, match="(?s)16 is no multiple of the block's 32.*the nearest that works is 32"):
        pv.compile(
            pv.tensor("A", (16, K)) @ pv.tensor("B", (K, N)), target="sm_70",
            options=pv.Options(block_tile=(32, 32, 16), warp_tile=(32, 32, 16), macro_mma="m32n32k8", partial="pad"),
        )  # fmt: skip
    with pytest.raises(NotAMultiple, match="(?s)100 is no multiple of the block's 32.*96 and 128"):
        pv.compile(product, options=pv.Options(**SMALL, partial="pad"))


# ---- the kernel that comes of it


def test_poisoning_one_shared_word_changes_one_row(kernel):
    given = arrays(kernel.graph, {M: 32, N: 32, K: 16})
    clean = kernel.interpret(**given)
    seen = []

    def poison(machine, op, _):
        if isinstance(op, SharedStore) and op.tile == "shared_A" and not seen:
            seen.append(op)
            machine.shared["shared_A"][0, 0, 0] = np.float16(1000)

    dirty = kernel.interpret(**given, hook=poison)
    assert seen and len(np.flatnonzero((dirty != clean).any(axis=1))) == 1


def test_skipping_a_fragment_changes_the_result(kernel):
    def spoil(machine, op, _):
        if isinstance(op, FragmentLoad) and op.operand == "b":
            machine.registers[op.target.array][..., 0, 0] = np.float16(np.nan)

    assert np.isnan(kernel.interpret(**arrays(kernel.graph), hook=spoil)).any()


def test_launch_configuration(kernel):
    config = kernel.launch_config(M=319, N=64, K=16)
    assert (config.grid, config.block) == ((2, 10, 1), (128, 1, 1))
    assert config.shared_bytes == 2 * (32 + 32) * 16 + 4 * 512


def test_the_kernel_shows_itself(kernel):
    assert "kern0 for sm_70" in repr(kernel)
    assert kernel.name in kernel.source
    named = pv.compile(A @ B, options=pv.Options(**SMALL), name="gemm")
    assert 'extern "C"' in named.source and " gemm(" in named.source


def test_progress_names_each_stage_when_it_is_reached():
    seen = []
    found = pv.compile(pv.relu(A @ B), options=pv.Options(**SMALL), progress=seen.append)
    assert seen == list(found.stages)
    assert repr(found.stages["initial"]) == "<Schedule of S1, S2, 7 nodes; print it>"
    with pytest.raises(UnknownName, match="did you mean 'warp_tiled'"):
        found.stages["warptiled"]
    with pytest.raises(TypeError):
        found.stages["initial"] = found.schedule
    assert "warptiled" not in found.stages and found.stages.get("warptiled") is None


def test_without_options_the_default_rule_chooses():
    from polyvolta.compiler.options import default_options

    assert pv.compile(IDIOMS["two"]).options == default_options(Graph.of(IDIOMS["two"]))


# ---- refusals


def test_graphs_outside_the_idioms_are_refused():
    with pytest.raises(Unsupported, match="no matrix product"):
        pv.compile(A + pv.tensor("D", (M, K)))
    with pytest.raises(Unsupported, match="product of a product"):
        pv.compile(A @ B @ pv.tensor("D", (N, K)))


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownTarget, match="did you mean 'sm_70'"):
        pv.compile(A @ B, target="sm70")
    with pytest.raises(BadOption, match="did you mean 'm16n16k8'"):
        pv.compile(A @ B, options=pv.Options(macro_mma="m16n16k4"))


@pytest.mark.parametrize("name", ["lane", "shared_A", "linearId", "exchange", "c2", "kern0", "ldB"])
def test_names_of_the_kernel_are_taken(name):
    with pytest.raises(BadName, match="uses itself|the kernel's name"):
        pv.compile(pv.tensor(name, (M, K)) @ B)


@pytest.mark.parametrize("name", ["out", "hook", "stream"])
def test_names_of_the_calls_arguments_are_taken(name):
    with pytest.raises(BadName, match="an argument of the kernel's call"):
        pv.compile(pv.tensor(name, (M, K)) @ B)


def test_a_kernels_name_is_an_identifier_of_its_own():
    with pytest.raises(BadName):
        pv.compile(A @ B, name="my kernel")
    with pytest.raises(BadName, match="uses itself"):
        pv.compile(A @ B, name="half8")


def test_options_in_the_wrong_place():
    with pytest.raises(BadOption, match="pass pv.Options"):
        pv.compile(A @ B, options={"block_tile": (32, 32, 16)})
    with pytest.raises(BadOption, match="options=..."):
        pv.compile(A @ B, pv.Options(**SMALL))


@pytest.mark.parametrize("progress", [3, "stages", True])
def test_progress_is_a_function(progress):
    with pytest.raises(BadOption, match="progress is an? (int|str|bool)") as error:
        pv.compile(A @ B, progress=progress)
    assert "such as print" in error.value.hint


def test_a_set_has_no_truth_value():
    with pytest.raises(PolyvoltaError, match="is_empty"):
        bool(pv.sets.Set("{ S[i] : false }"))
