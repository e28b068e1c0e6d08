"""bfloat16 from the graph to the result: refusals, kinds, texts, values within their bounds, arrays of every library.

The interpreter's results are compared with float64 under a bound that is stated here: fp32's for the sum, which the
idioms' operands make no larger than the sum of the products' magnitudes, and half a unit of bf16, 2^-8 of the value.
"""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.run import BadArray
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.machine.errors import BadTensor
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.run import dtypes
from polyvolta.cuda.target.macro_mma import NoInstruction
from polyvolta.graph import Graph
from polyvolta.graph.errors import MixedDtypes, UnsupportedDtype
from polyvolta.graph.functions.formats import BF16, narrowed, widened
from polyvolta.graph.plans.idioms import plan
from tests.cuda.ampere import COMPOSITIONS
from tests.cuda.ampere import target as ampere_target

M, N, K = pv.sizes("M N K")
SIZES = {"M": 70, "N": 51, "K": 45}
WIDE = {"M": 72, "N": 56, "K": 40}  # whose lines begin where the widest accesses may
OPTIONS = pv.Options(block_tile=(64, 64, 32), warp_tile=(32, 32, 32), macro_mma="m16n16k16", buffers=2)
UNIT = 2.0**-24


def tensor(name, shape, layout="row"):
    return pv.tensor(name, shape, layout=layout, dtype="bfloat16")


def graph(idiom, a="row", b="col"):
    A, B, P, Q = tensor("A", (M, K), a), tensor("B", (K, N), b), tensor("P", (M, K), a), tensor("Q", (K, N), b)
    return {
        "product": lambda: A @ B,
        "epilogue": lambda: pv.relu(A @ B + tensor("bias", (N,))),
        "prologue": lambda: pv.relu(A) @ B,
        "rounded prologue": lambda: pv.sigmoid(A) @ (0.3 * B),
        "sum": lambda: A @ B + P @ Q,
        "scaled": lambda: pv.scalar("alpha") * (A @ B) - tensor("R", (M, N)),
    }[idiom]()


IDIOMS = ("product", "epilogue", "prologue", "rounded prologue", "sum", "scaled")


def patterns(expr, seed=0, sizes=SIZES):
    """Bit patterns of bf16 for each input of a graph, in its layout; and the scalar's number."""
    rng, arrays = np.random.default_rng(seed), {}
    for t in Graph.of(expr).arguments:
        shape = tuple(sizes[str(d)] for d in t.dims)
        made = narrowed(rng.standard_normal(shape).astype(np.float32))
        arrays[t.name] = np.asfortranarray(made) if t.layout == "col" else made
    return {n: 0.75 if a.ndim == 0 else a for n, a in arrays.items()}


def float64(arrays):
    return {n: widened(a).astype(np.float64) if isinstance(a, np.ndarray) else a for n, a in arrays.items()}


def on_machine(kernel, arrays, sizes=SIZES):
    """The result in float64, by the interpreter on bit patterns."""
    (out,) = (t for t in kernel.ir.tensors if t.written)
    order = "F" if out.order == (1, 0) else "C"
    result = np.full(tuple(sizes[str(d)] for d in out.dims), 0xFFFF, np.uint16, order=order)
    scalars = {n: a for n, a in arrays.items() if not isinstance(a, np.ndarray)}
    tensors = {n: a for n, a in arrays.items() if n not in scalars}
    aligned = replace(kernel.ir, tensors=tuple(replace(t, align=1) for t in kernel.ir.tensors))
    interpret(aligned, {**tensors, out.name: result}, sizes, scalars)
    return widened(result).astype(np.float64)


# ---- what is refused


def test_mixed_element_types_are_refused_and_named():
    mixed = tensor("A", (M, K)) @ pv.tensor("B", (K, N)) + tensor("bias", (N,))
    with pytest.raises(MixedDtypes) as caught:
        pv.compile(mixed, target="sm_80")
    assert isinstance(caught.value, TypeError) and caught.value.id == "PV214"
    assert "A, bias of bfloat16; B of float16" in caught.value.message
    assert 'B(K, N) float16, layout "row"' in str(caught.value) and "same dtype" in caught.value.hint


def test_two_outputs_of_different_types_are_refused():
    with pytest.raises(MixedDtypes, match="A, B of float16; P, Q of bfloat16"):
        plan(Graph.of([pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)), tensor("P", (M, K)) @ tensor("Q", (K, N))]))


@pytest.mark.parametrize("target", ["sm_70", "sm_75"])
def test_targets_without_bf16_refuse_it_and_name_one_that_has_it(target):
    for made in (lambda: pv.compile(graph("product"), target=target),
                 lambda: pv.compile(graph("product"), target=target, options=OPTIONS),
                 lambda: next(pv.Options.space(graph("product"), target))):  # fmt: skip
        with pytest.raises(NoInstruction) as caught:
            made()
        assert caught.value.message == f"{target} has no instruction that multiplies bfloat16, only float16"
        assert "sm_80" in caught.value.hint and "sm_75" not in caught.value.hint


def test_what_a_target_has_of_a_kind():
    sm_70, sm_80 = pv.targets["sm_70"], pv.targets["sm_80"]
    assert sm_70.of_kind("half") is sm_70 and sm_80.kinds == ("half", "bfloat16")
    for kind in sm_80.kinds:
        own = sm_80.of_kind(kind)
        assert own.kinds == (kind,) and own.macro_names == sm_80.macro_names
        assert own.macro_mma("m16n16k16").of("row", "row").kind == kind
    with pytest.raises(NoInstruction, match="which multiplies half, not bfloat16"):
        sm_70.macro_mmas[0].of_kind("bfloat16")


# ---- what is made


@pytest.mark.parametrize("idiom", IDIOMS)
def test_dtype_goes_through_graph_and_ir(idiom):
    kernel = pv.compile(graph(idiom), target="sm_80", options=OPTIONS)
    assert {t.dtype for t in (*kernel.graph.inputs, *kernel.graph.outputs)} == {"bfloat16"} == {kernel.graph.dtype}
    assert {t.kind for t in kernel.ir.tensors} == {"bfloat16"} == {kernel.ir.kind}
    assert {r.kind for r in kernel.ir.registers} <= {"bfloat16", "float"}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_the_text_says_bf16_and_nothing_of_fp16(idiom):
    text = pv.compile(graph(idiom), target="sm_80", options=OPTIONS).source
    assert "bf16 in memory, fp32 accumulation." in text
    assert "typedef unsigned short bf16;" in text and "f32.bf16.bf16.f32" in text
    assert not re.search(r"fp16|\bhalf\d|_half\d|\.f16\b", re.sub(r"bf16", "", text))
    assert max(map(len, text.splitlines())) <= 120


def test_an_ir_of_two_kinds_means_nothing():
    ir = pv.compile(graph("epilogue"), target="sm_80", options=OPTIONS).ir
    half = replace(ir, tensors=(replace(ir.tensors[0], kind="half"), *ir.tensors[1:]))
    with pytest.raises(IllFormed, match="B has bfloat16 values, where half values belong"):
        check(half)
    registers = tuple(replace(r, kind="half") if r.kind == "bfloat16" else r for r in ir.registers)
    with pytest.raises(IllFormed):
        check(replace(ir, registers=registers))


def test_a_kernel_of_another_element_type_is_refuted():
    kernel = pv.compile(graph("product"), target="sm_80", options=OPTIONS)
    other = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), target="sm_80", options=OPTIONS)
    report = replace(other, graph=kernel.graph).verify(only="arguments")
    assert not report.ok and "A[M, K], row-major, bfloat16" in str(report)


@cache
def plain(idiom):
    """A kernel whose lanes load their own fragments, through registers: no matrix loads, no asynchronous copies."""
    halves = COMPOSITIONS["128"]
    made = replace(halves, instructions=tuple(replace(i, types=("bf16", "bf16", "f32")) for i in halves.instructions))
    options = pv.Options(block_tile=(64, 64, 32), warp_tile=(32, 32, 32), buffers=1)
    return pv.compile(graph(idiom), target=ampere_target(made), options=options)


@pytest.mark.parametrize("idiom", ["product", "epilogue", "rounded prologue"])
def test_everything_is_proved(idiom):
    assert plain(idiom).verify().ok


@pytest.mark.parametrize("idiom", IDIOMS)
def test_nothing_is_seen_to_be_wrong(idiom):
    kernel, arrays = plain(idiom), patterns(graph(idiom), 1, WIDE)
    exact = pv.reference(graph(idiom), **float64(arrays))
    found = on_machine(kernel, arrays, WIDE)
    assert (np.abs(found - exact) <= bound(idiom, float64(arrays), exact)).all()


# ---- what it computes


def bound(idiom, arrays, exact):
    """How far a result may be from the exact value, element by element."""
    sides = [("A", "B"), *([("P", "Q")] if idiom == "sum" else [])]
    size = sum(np.abs(arrays[a]) @ np.abs(arrays[b]) for a, b in sides)
    more = np.abs(arrays.get("R", 0)) + np.abs(arrays.get("bias", 0))
    off = 2 * len(sides) * (SIZES["K"] + 4) * UNIT * (size + more)
    if idiom == "rounded prologue":  # |sigmoid| <= 1: both operands are off by 2^-8 of themselves
        off = off + 2.1 * 2.0**-8 * 0.3 * (1 / (1 + np.exp(-arrays["A"])) @ np.abs(arrays["B"]))
    return off + 2.0**-8 * (np.abs(exact) + off)


@pytest.mark.parametrize("b", ["row", "col"])
@pytest.mark.parametrize("a", ["row", "col"])
@pytest.mark.parametrize("idiom", IDIOMS)
def test_results_are_within_their_bounds(idiom, a, b):
    expr = graph(idiom, a, b)
    arrays = patterns(expr)
    exact = pv.reference(expr, **float64(arrays))
    found = on_machine(pv.compile(expr, target="sm_80", options=OPTIONS), arrays)
    limit = bound(idiom, float64(arrays), exact)
    assert (np.abs(found - exact) <= limit).all()
    assert (np.abs(found - exact) > limit / 2**4).any(), "a bound that a result comes near"
    assert (BF16.rounded(found) == found).all()


def test_ranges_that_only_bf16_has():
    """Products of 1e30 and 1e-35 are in range; what overflows is infinite, NaN stays NaN."""
    kernel = pv.compile(graph("product"), target="sm_80", options=OPTIONS)
    sizes = {"M": 5, "N": 3, "K": 4}
    a, b = np.zeros((5, 4), np.float32), np.zeros((4, 3), np.float32)
    a[0, 0], a[1, 1], a[2, 2], a[3, 3] = 1e30, 2.0**120, np.nan, 2.0**-130
    b[0, 0], b[1, 1], b[2, 2], b[3, 0] = 1e-35, -(2.0**60), 1, 1
    found = on_machine(kernel, {"A": narrowed(a), "B": np.asfortranarray(narrowed(b))}, sizes)
    exact = BF16.rounded(BF16.rounded(1e30) * BF16.rounded(1e-35))
    assert found[0, 0] == exact and found[1, 1] == -np.inf and np.isnan(found[2, 2]) and found[3, 0] == 2.0**-130


def test_the_machine_takes_patterns_and_nothing_else():
    ir = pv.compile(graph("product"), target="sm_80", options=OPTIONS).ir
    arrays = {"A": np.zeros((8, 8), np.float16), "B": np.zeros((8, 8), np.uint16, "F"), "C": np.zeros((8, 8), "u2")}
    with pytest.raises(BadTensor, match=r"A is float16\[8, 8\], not bfloat16\[8, 8\]"):
        interpret(ir, arrays, {"M": 8, "N": 8, "K": 8})


# ---- arrays of ml_dtypes


@pytest.fixture
def bfloat16():
    return pytest.importorskip("ml_dtypes").bfloat16


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(graph("epilogue"), target="sm_80", options=OPTIONS)


@pytest.fixture
def arrays(bfloat16):
    return {n: a.view(bfloat16) for n, a in patterns(graph("epilogue"), 0, WIDE).items()}


def test_numpy_arrays_go_in_and_come_out(kernel, arrays, bfloat16):
    seen = kernel.interpret(**arrays, observe="all")
    assert seen.ok and seen.result.dtype == bfloat16 and seen.values.results[0].unknown == 0
    exact = pv.reference(graph("epilogue"), **arrays)
    assert (exact == pv.reference(graph("epilogue"), **{n: a.astype(np.float64) for n, a in arrays.items()})).all()
    assert np.linalg.norm(seen.result.astype(np.float64) - exact) < 2.0**-8 * np.linalg.norm(exact)


def test_views_and_given_outputs(kernel, arrays, bfloat16):
    whole = {n: np.zeros(tuple(d + 3 for d in a.shape), bfloat16, "F" if n == "B" else "C") for n, a in arrays.items()}
    views = {n: w[tuple(slice(1, d + 1) for d in arrays[n].shape)] for n, w in whole.items()}
    for n, v in views.items():
        v[...] = arrays[n]
    out = np.zeros((80, 64), bfloat16)[3:75, 5:61]
    assert kernel.interpret(**views, out=out) is out
    assert (out == kernel.interpret(**arrays)).all()


def test_padded_arrays(arrays):
    padding = pv.compile(graph("epilogue"), target="sm_80", options=replace_partial(OPTIONS))
    guarding = pv.compile(graph("epilogue"), target="sm_80", options=OPTIONS)
    assert (padding.interpret(**arrays) == guarding.interpret(**arrays)).all()


def replace_partial(options):
    named = {n: getattr(options, n) for n in ("block_tile", "warp_tile", "macro_mma", "buffers")}
    return pv.Options(**named, partial="pad")


def test_a_wrong_value_is_seen_and_shown(kernel, arrays):
    def spoil(machine, op, values):
        if type(op).__name__ == "Pointwise":
            machine.element(op.target)[0, 0, 0, 0] = 1e9

    seen = kernel.interpret(**arrays, observe="values", hook=spoil)
    assert not seen.ok and seen.values.rows[0].found == float(widened(narrowed(np.float32(1e9))))


def test_a_trace_shows_numbers(arrays):
    loaded = next(s for s in plain("epilogue").trace(**arrays) if s.statement == "load_A")
    values = loaded.values["private_A[0]"]
    assert values.dtype == np.float32
    assert values[0, 0].tolist() == arrays["A"][0, :8].astype(np.float32).tolist()


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        ("float16", "has dtype float16, the kernel works on bfloat16", "A.astype(ml_dtypes.bfloat16)"),
        ("float32", "has dtype float32, the kernel works on bfloat16", "A.astype(ml_dtypes.bfloat16)"),
        ("uint16", "has dtype uint16, the kernel works on bfloat16", "A.view(ml_dtypes.bfloat16)"),
        ("V2", "the kernel works on bfloat16", "A.view(ml_dtypes.bfloat16)"),
    ],
)
def test_other_arrays_are_refused_for_bf16(kernel, arrays, given, says, hint):
    other = arrays["A"].view(given) if given == "V2" else np.zeros(arrays["A"].shape, given)
    with pytest.raises(BadArray) as caught:
        kernel.interpret(**{**arrays, "A": other})
    assert says in caught.value.message and hint in caught.value.hint


def test_bf16_is_refused_for_fp16(arrays):
    half = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    with pytest.raises(BadArray) as caught:
        half.interpret(arrays["A"], arrays["B"])
    assert "A has dtype bfloat16, the kernel works on float16" in caught.value.message
    assert caught.value.hint == 'A.astype(numpy.float16), or declare the tensors with dtype="bfloat16"'


def test_hints_for_an_output_name_its_type(kernel, arrays):
    with pytest.raises(BadArray) as caught:
        kernel.interpret(**arrays, out=np.zeros((72, 56), np.float16))
    assert "numpy.empty((72, 56), ml_dtypes.bfloat16)" in caught.value.hint


def test_without_ml_dtypes_the_error_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(dtypes.NoBfloat16) as caught:
        dtypes.numpy_dtype("bfloat16")
    assert isinstance(caught.value, ImportError) and "polyvolta[bfloat16]" in caught.value.hint
    assert dtypes.numpy_dtype("float16") == np.float16


def test_a_dtype_of_the_command_line():
    from polyvolta.cli.gallery import IDIOMS as GALLERY
    from polyvolta.cli.gallery import idiom

    for name in GALLERY:
        assert {t.dtype for t in Graph.of(idiom(name, dtype="bf16")).inputs} == {"bfloat16"}
    with pytest.raises(UnsupportedDtype):
        idiom("matmul", dtype="float8")
