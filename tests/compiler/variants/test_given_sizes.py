"""Sizes given by themselves or by name mean the same; what is asked for wrongly is refused; lists show themselves."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.model.cost import predict
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import Options
from polyvolta.cuda.target.chips import chips
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import joined
from polyvolta.graph.plans.idioms import plan
from polyvolta.tuner.errors import NothingToTime
from polyvolta.tuner.spec import checked_sizes

M, N, K = pv.sizes("M N K")
PRODUCT = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
SIZES = {"M": 512, "N": 256, "K": 64}
THEMSELVES = {M: 512, N: 256, "K": 64}
TINY = Options(block_tile=(32, 32, 16))


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(PRODUCT, "sm_80", TINY)


def test_by_themselves_as_by_name(kernel):
    assert pv.compile(PRODUCT, "sm_80", sizes=THEMSELVES).options == pv.compile(PRODUCT, "sm_80", sizes=SIZES).options
    assert kernel.check_sizes(THEMSELVES) == SIZES
    config = kernel.launch_config(**SIZES)
    assert kernel.launch_config(THEMSELVES) == kernel.launch_config({M: 512, K: 64}, N=256) == config
    assert kernel.grid_on(108, THEMSELVES) == kernel.grid_on(108, SIZES)
    assert checked_sizes(Graph.of(PRODUCT), joined(THEMSELVES, {}, NothingToTime)) == SIZES
    needs, target = needs_of(plan(Graph.of(PRODUCT))), pv.targets["sm_90a"]
    best = next(Options.space(PRODUCT, target, **SIZES))
    assert best == next(Options.space(PRODUCT, target, THEMSELVES))
    assert best == next(Options.space(PRODUCT, target=target, **SIZES))
    pictures = pv.pictures
    assert pictures.output_tiles(kernel, sizes=THEMSELVES) == pictures.output_tiles(kernel, **SIZES)
    assert pictures.pipeline(kernel, sizes=THEMSELVES) == pictures.pipeline(kernel, **SIZES)
    assert pictures.shared_tile(kernel, "shared_A", sizes={K: 64}) == pictures.shared_tile(kernel, "shared_A", K=64)
    assert predict(best, needs, target, chips["H200"], THEMSELVES) == predict(best, needs, target, chips["H200"], SIZES)


def test_sizes_that_are_missing_or_have_no_name(kernel):
    with pytest.raises(pv.PolyvoltaError, match="the sizes N, K are missing"):
        kernel.launch_config(M=3)
    with pytest.raises(pv.PolyvoltaError, match="the size K is missing"):
        kernel.launch_config(M=3, N=4)
    with pytest.raises(pv.PolyvoltaError, match=r"by name, not as 1, 2, 3\s+hint: launch_config\(M=\.\.\., N="):
        kernel.launch_config(1, 2, 3)
    with pytest.raises(pv.PolyvoltaError, match="the sizes N, K are missing"):
        pv.compile(PRODUCT, sizes={M: 4})


@pytest.mark.parametrize(("call", "said"), [
    (lambda k: k.launch_config({M: 3, N: 4}, N=4, K=5), "the size N is given twice"),
    (lambda k: k.launch_config({M: 5, "M": 600, N: 4, K: 5}), "the size M is given twice"),
    (lambda k: k.check_sizes({M: 5, "M": 600, N: 4, K: 5}), "the size M is given twice"),
    (lambda k: k.launch_config(sizes=SIZES), "the size called sizes is a dict\\s+hint: pass a mapping of sizes by its"),
    (lambda k: Options.space(PRODUCT, "sm_80", sizes=SIZES), "the size called sizes is a dict"),
    (lambda k: Options.space(PRODUCT, "sm_80", {M: 5, "M": 6}), "the size M is given twice"),
    (lambda k: Options.space(PRODUCT, "sm_80", SIZES, SIZES), "2 mappings of sizes are given"),
    (lambda k: pv.compile(PRODUCT, sizes={M: 5, "M": 5}), "the size M is given twice"),
    (lambda k: pv.compile(PRODUCT, over={M: 5, "M": 5}), "the size M is given twice"),
    (lambda k: pv.pictures.output_tiles(k, sizes={M: 5}, M=5), "is given twice\\s+hint: in the mapping, or as M="),
    (lambda k: k.launch_config(np.ones((9, 9)), 3), r"by name, not as a ndarray, 3\s"),
    (lambda k: k.launch_config(M=2, N=3, K=-3), "the size K is an int, at least 0, not -3"),
    (lambda k: k.launch_config(M=M, N=3, K=4), "the size M is an int, at least 0, not Size"),
    (lambda k: Options.space(PRODUCT, "sm_80", 64), "sizes is an int"),
    (lambda k: k.verify({M: 3}), "proved for all sizes"),
    (lambda k: pv.pictures.output_tiles(k, {M: 3}), "has no output"),
    (lambda k: pv.reference(PRODUCT, {"A": np.ones((3, 3))}), "A is an array, and a dict was given"),
    (lambda k: k.interpret(np.ones((3, 3)), np.ones((3, 3)), M=3), "sizes are those of the arrays"),
])  # fmt: skip
def test_sizes_given_wrongly(kernel, call, said):
    with pytest.raises(pv.PolyvoltaError, match=said):
        call(kernel)


def test_a_size_called_sizes():
    rows = pv.sizes("sizes")
    graph = pv.tensor("A", (rows, K)) @ pv.tensor("B", (K, N), layout="col")
    best = next(Options.space(graph, "sm_80", sizes=5, N=6, K=7))
    assert best == next(Options.space(graph, "sm_80", {rows: 5, N: 6, K: 7}))
    assert best == next(Options.space(PRODUCT, "sm_80", M=5, N=6, K=7))
    tiny = pv.compile(graph, "sm_80", TINY)
    assert tiny.launch_config(sizes=65, N=6, K=7).grid == tiny.launch_config({"sizes": 65}, N=6, K=7).grid == (1, 3, 1)


@pytest.mark.parametrize(("keywords", "said"), [
    ({"block_tile": (64, 64, 32)}, r"block_tile is no argument(.|\n)*options=pv\.Options\(block_tile=\(64, 64, 32\)\)"),
    ({"nope": 1, "split_k": 2, "buffers": 3}, r"options=pv\.Options\(split_k=2, buffers=3\)"),
    ({"blok_tile": 3}, "no argument 'blok_tile'\\s+hint: did you mean 'block_tile'"),
    ({"sises": {}}, "did you mean 'sizes'"),
])  # fmt: skip
def test_options_stand_in_options(keywords, said):
    with pytest.raises(pv.PolyvoltaError, match=said):
        pv.compile(PRODUCT, "sm_80", **keywords)


@pytest.mark.parametrize("stream", ["foo", 1.5, True, -1])
def test_a_stream_is_one_without_a_gpu_too(kernel, stream):
    a, b = np.ones((3, 4), np.float16), np.asfortranarray(np.ones((4, 2), np.float16))
    with pytest.raises(pv.PolyvoltaError, match="is no stream"):
        kernel(a, b, stream=stream)
    assert kernel(a, b, stream=None).tolist() == [[4, 4]] * 3


@pytest.mark.parametrize("at", ["a", 1.5, None])
def test_a_step_is_a_number(kernel, at):
    trace = kernel.trace(np.ones((3, 4), np.float16), np.asfortranarray(np.ones((4, 2), np.float16)))
    with pytest.raises(TypeError, match="a step is given by its number"):
        trace[at]
    assert trace[0].number == trace[np.int64(0)].number == 0


def test_names_that_begin_so(kernel):
    with pytest.raises(pv.PolyvoltaError, match="did you mean 'warp_tiled'"):
        kernel.stages["warp"]
    with pytest.raises(pv.PolyvoltaError, match="did you mean 'bank_conflicts'"):
        kernel.interpret(np.ones((3, 4), np.float16), np.asfortranarray(np.ones((4, 2), np.float16)), observe="banks")


def test_a_space_shows_itself_and_loses_nothing():
    shown, other = Options.space(PRODUCT, "sm_90a", **SIZES), Options.space(PRODUCT, "sm_90a", **SIZES)
    first = next(other)
    assert str(shown).splitlines()[2].split()[0] == "x".join(map(str, first.block_tile))
    assert "pv-scroll" in shown._repr_html_() and iter(shown) is shown
    assert list(shown) == [first, *other]
    assert str(shown) == "no more options" and next(shown, None) is None


def test_a_reason_that_all_share_is_said_once():
    found = pv.compile(PRODUCT, "sm_90a", sizes=SIZES).options
    assert str(found).count("cost model") == 1 == found._repr_html_().count("cost model")
    listed = next(Options.space(PRODUCT, "sm_90a", **SIZES))
    assert str(listed).splitlines()[-1] == "All of them: given." and str(listed).count("given") == 1
    assert all(name in str(found) for name in ("block_tile", "cluster", "buffers"))


def test_parts_of_kernels_show_themselves(kernel):
    ir = kernel.ir
    parts = [ir.block_order, ir.block_order.proof()[0], *ir.tiles[:1], *ir.registers[:1]]
    for part in parts:
        assert type(part).__name__ in part._repr_html_()
