"""The printed text of pointwise operations, run on the host: every function, random formulas, bit for bit.

Three computations of one formula are compared. The text, as it is printed, compiled for the host; `evaluate`, which is
what the interpreter computes; and `host.scalar`, fp32 step by step. IEEE 754 defines + - * /, square roots,
comparisons, rounding and conversions to the last bit, so these agree to the last bit. exp, tanh and their like it
doesn't define: where steps are compared, all three take them rounded once from double; how far numpy's own are from
that is tested by itself. NaN is NaN, whatever its bits; zeros have signs.
"""

import ctypes
import random
import struct
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.text.helpers.device_function import DeviceFunctions
from polyvolta.cuda.text.helpers.kinds import function_in, in_kind
from polyvolta.cuda.text.helpers.pointwise import pointwise
from polyvolta.cuda.text.printer import PRELUDE
from polyvolta.graph.functions.formula import Call, Formula, Input, Number, fold, nodes, show
from polyvolta.graph.functions.meaning import MEANING, evaluate
from polyvolta.graph.functions.rounding import FEW, _function
from polyvolta.graph.functions.table import FUNCTIONS
from tests.cuda.host import FUSING, compiled, fuses, needs_compiler
from tests.cuda.host.scalar import EXACT, LIBRARY
from tests.cuda.host.scalar import FUNCTIONS as SCALAR
from tests.sets.brute import FACTOR

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
SPECIAL = np.array([0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -2.5, np.inf, -np.inf, np.nan, 6e-8, -65504, -90, 104], np.float16)
CALLS = {name: Call(name, tuple(map(Input, range(f.arity)))) for name, f in FUNCTIONS.items()}
X, Y, Z = map(Input, range(3))

pytestmark = needs_compiler


# ---- running a text


def library(folder, formulas, kinds, flags=(), target="float"):
    """The texts of formulas of three operands, as run_0, run_1, ... of a shared library."""
    needed, wrappers = DeviceFunctions(), []
    types = {"half": "const fp16 *", "float": "const float *", "product": "const float *", "scalar": "float "}
    cast = {"half": "*(const half8 *)(x{0} + k)", "float": "*(const float (*)[8])(x{0} + k)", "scalar": "x{0}"}
    for n, formula in enumerate(formulas):
        of = kinds[n % len(kinds)]
        named = tuple(f"scalar s{p}" if kind == "scalar" else kind for p, kind in enumerate(of))
        name = needed.name(pointwise(f"f{n}", formula, named, target, False))
        parameters = ", ".join(f"{types[kind]}x{p}" for p, kind in enumerate(of))
        arguments = ", ".join(cast[kind.replace("product", "float")].format(p) for p, kind in enumerate(of))
        call = f"{name}(*(float (*)[8])(y + k), {arguments})"
        call = call if target == "float" else f"*(half8 *)(y + k) = {name}({arguments})"
        result = "float" if target == "float" else "fp16"
        head = f"void run_{n}({result} *y, long n, {parameters})"
        wrappers.append(f"{head} {{ for (long k = 0; k < n; k += 8) {call}; }}")
    text = "\n".join([PRELUDE, *needed.texts(), 'extern "C" {', *wrappers, "}"])
    return compiled(folder, text, flags)


def run(lib, n, operands, target=np.float32):
    """What run_n makes of arrays, all of one length, and of numbers."""
    count = max(np.size(x) for x in operands)
    y = aligned(np.full(-(-count // 8) * 8, 77, target))
    given = [aligned(np.resize(x, y.size)) if np.ndim(x) else ctypes.c_float(x) for x in operands]
    pointers = [x if isinstance(x, ctypes.c_float) else ctypes.c_void_p(x.ctypes.data) for x in (y, *given)]
    getattr(lib, f"run_{n}")(pointers[0], ctypes.c_long(y.size), *pointers[1:])
    return y[:count]


def aligned(x):
    """A copy whose first element lies at a multiple of 16 bytes."""
    room = np.empty(x.nbytes + 16, np.uint8)
    start = -room.ctypes.data % 16
    room[start : start + x.nbytes] = np.ascontiguousarray(x).view(np.uint8)
    return room[start : start + x.nbytes].view(x.dtype)


def differ(a, b):
    """Where two arrays differ: in their bits, but for those of NaN."""
    bits = {2: np.uint16, 4: np.uint32}[a.dtype.itemsize]
    a, b = (np.ascontiguousarray(np.broadcast_to(x, np.broadcast_shapes(a.shape, b.shape))) for x in (a, b))
    assert a.dtype == b.dtype
    return (a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))


def assert_same(got, want, operands, what):
    wrong = np.flatnonzero(differ(got, want))
    cases = [([float(x[i]) if np.ndim(x) else x for x in operands], float(got[i]), float(want[i])) for i in wrong[:5]]
    assert not len(wrong), f"{what}: {len(wrong)} of {got.size} differ; operands, got, want: {cases}"


def step_by_step(formula, operands):
    """The formula in fp32 by `host.scalar`."""
    widened = [np.asarray(x).astype(np.float32) for x in operands]
    with np.errstate(all="ignore"):
        return fold(formula, widened, np.float32, lambda f, xs: SCALAR[f](*xs).astype(np.float32))


def ulps(a, b):
    """How many fp32 numbers lie from a to b; 0 of two NaNs."""
    order = [np.where(i < 0, -(i & 0x7FFFFFFF), i) for i in (x.view(np.int32).astype(np.int64) for x in (a, b))]
    return np.where(np.isnan(a) & np.isnan(b), 0, np.abs(order[0] - order[1]))


def every_operand(name):
    """All fp16 values in the first operand, with special ones in each of the others."""
    second = SPECIAL if name in EXACT else np.array([-0.0, 0.5, 2, -1, 3, -np.inf, np.nan], np.float16)
    others = list(product(*(second, SPECIAL[::3])[: FUNCTIONS[name].arity - 1]))
    first = np.tile(HALVES, len(others))
    return [first, *(np.repeat(np.array(x, np.float16), HALVES.size) for x in zip(*others))]


@pytest.fixture
def rounded_once(monkeypatch):
    """The mathematics library's functions of `evaluate` as exact as those of the shim."""
    for name, f in LIBRARY.items():
        monkeypatch.setitem(MEANING, name, f)


# ---- conversions


def test_the_shims_conversions_are_ieees(tmp_path):
    text = """extern "C" void widen(float *y, const unsigned short *x, long n) {
      for (long i = 0; i < n; i++) asm("cvt.f32.f16 %0, %1;" : "=f"(y[i]) : "h"(x[i])); }
    extern "C" void narrow(unsigned short *y, const float *x, long n) {
      for (long i = 0; i < n; i++) asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y[i]) : "f"(x[i])); }"""
    lib = compiled(tmp_path, text)

    def call(name, x, dtype):
        y = np.empty(x.size, dtype)
        getattr(lib, name)(ctypes.c_void_p(y.ctypes.data), ctypes.c_void_p(x.ctypes.data), ctypes.c_long(x.size))
        return y

    assert_same(call("widen", HALVES, np.float32), HALVES.astype(np.float32), [HALVES], "fp16 to fp32")
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float32))
    between = (finite[1:] + finite[:-1]) / 2  # ties, and what is just beside them
    bits = np.random.default_rng(0).integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    beyond = np.array([65519.996, 65520, -65520, 1e30, np.inf, -np.inf, np.nan, 1e-45, -0.0], np.float32)
    beside = [np.nextafter(between, np.float32(side)) for side in (1e9, -1e9)]
    x = np.concatenate([finite, between, *beside, bits, beyond])
    with np.errstate(over="ignore"):
        assert_same(call("narrow", x, np.float16), x.astype(np.float16), [x], "fp32 to fp16")


def test_an_instruction_that_the_shim_does_not_have_is_refused(tmp_path):
    with pytest.raises(LookupError, match="ex2.approx"):
        compiled(tmp_path, 'void f(float &x) { asm("ex2.approx.f32 %0, %0;" : "+f"(x)); }')
    with pytest.raises(LookupError, match="another form"):
        compiled(tmp_path, 'void f() { asm goto ("x"); }')


# ---- every function


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    return library(tmp_path_factory.mktemp("functions"), CALLS.values(), [("half", "half", "half")])


@pytest.fixture(scope="module")
def rounding_functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rounding_functions")
    return library(folder, CALLS.values(), [("half", "half", "half")], target="half")


def test_every_function_is_compared():
    assert FUNCTIONS.keys() == SCALAR.keys() == MEANING.keys()
    assert not EXACT.keys() & LIBRARY.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_every_fp16_value(name, functions, rounding_functions, rounded_once):
    operands, n = every_operand(name), list(FUNCTIONS).index(name)
    padded = [*operands, HALVES, HALVES][:3]
    want = step_by_step(CALLS[name], operands)
    assert_same(run(functions, n, padded), want, operands, "text")
    assert_same(evaluate(CALLS[name], operands), want, operands, "evaluate")
    with np.errstate(over="ignore"):
        assert_same(run(rounding_functions, n, padded, np.float16), want.astype(np.float16), operands, "rounded")


@pytest.mark.parametrize("name", [*EXACT, *LIBRARY])
def test_the_interpreters_function_of_every_fp16_value(name):
    """numpy's own: within 4 units in the last place, as numpy promises of its functions, and exact where IEEE 754 is.

    The other functions are steps of these; that they are the right ones is the test before this one.
    """
    operands = every_operand(name)
    got, want = evaluate(CALLS[name], operands), step_by_step(CALLS[name], operands)
    if name in EXACT:
        assert_same(got, want, operands, name)
        return
    special = ~np.isfinite(want) | (want == 0)
    assert_same(got[special], want[special], [x[special] for x in operands], name)
    assert ulps(got, want).max() <= 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_text_keeps_to_the_bound_of_the_reference(name, functions):
    """float64 with the bound of `graph.rounding`, which what runs on a GPU is held to, too."""
    operands, n = every_operand(name), list(FUNCTIONS).index(name)
    wide = [x.astype(np.float64) for x in operands]
    with np.errstate(all="ignore"):
        exact = MEANING[name](*wide)
        off = _function(name, [(x, np.float64(0)) for x in wide], exact, FEW)
        got = run(functions, n, [*operands, HALVES, HALVES][:3]).astype(np.float64)
        same = (got == exact) | (np.isnan(got) & np.isnan(exact))
        good = same | (np.abs(got - exact) <= off) | np.isinf(off)
    assert good.all(), [(float(x[~good][0]), float(got[~good][0]), float(exact[~good][0])) for x in operands]
    assert np.isfinite(off).mean() > 0.2


# ---- random formulas

NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 0.1, -0.7, 1e-5, 1e30, 90.0, np.inf)
KINDS = (
    ("half", "half", "scalar"), ("float", "half", "scalar"), ("product", "half", "half"), ("float", "product", "float")
)  # fmt: skip
COUNT = int(320 * FACTOR)


def random_formula(rng):
    """A formula of up to a dozen calls, most of which read earlier ones; sums and products are frequent."""
    pool: list[Formula] = [X, Y, Z]
    often = ("add", "sub", "mul", "square", "div", "neg", "abs", "where", "relu", "leaky_relu", "maximum")
    for _ in range(rng.randint(2, 12)):
        name = rng.choice(often) if rng.random() < 0.6 else rng.choice(list(FUNCTIONS))
        operands = [
            Number(rng.choice(NUMBERS)) if rng.random() < 0.2 else rng.choice(pool[-4:] if rng.random() < 0.7 else pool)
            for _ in range(FUNCTIONS[name].arity)
        ]
        pool.append(Call(name, tuple(operands)))
    return pool[-1]


def formulas(count=COUNT):
    rng = random.Random(13)
    return [random_formula(rng) for _ in range(count)]


def values(kind, rng):
    """1,024 values: some special ones, any bits, and ordinary numbers."""
    if kind == "scalar":
        return float(np.float32(rng.choice([0.0, -1.5, 2.0, 1e-3, 300.0, np.inf, np.nan])))
    dtype, bits = (np.float16, np.uint16) if kind == "half" else (np.float32, np.uint32)
    any_bits = rng.integers(0, np.iinfo(bits).max, 352, bits, endpoint=True).view(dtype)
    ordinary = (rng.standard_normal(512) * rng.choice([1e-3, 1, 10, 100], 512)).astype(dtype)
    return rng.permutation(np.concatenate([np.resize(SPECIAL, 160).astype(dtype), any_bits, ordinary]))


def operands_of(n):
    rng = np.random.default_rng(n)
    return [values(kind, rng) for kind in KINDS[n % len(KINDS)]]


@pytest.fixture(scope="module")
def random_texts(tmp_path_factory):
    return library(tmp_path_factory.mktemp("formulas"), formulas(), KINDS)


def test_random_formulas(random_texts, rounded_once):
    """The text, the interpreter's meaning and fp32 step by step: the same to the last bit."""
    for n, formula in enumerate(formulas()):
        operands, what = operands_of(n), show(formula, "xyz")
        want = np.broadcast_to(step_by_step(formula, operands), 1024)
        assert_same(run(random_texts, n, operands), want, operands, f"text of {what}")
        assert_same(np.broadcast_to(evaluate(formula, operands), 1024), want, operands, f"evaluate {what}")


# ---- contraction

PRODUCT = Call("mul", (X, Y))
ROOT = Call("sqrt", (Call("sub", (Call("square", (X,)), Call("square", (Y,)))),))
CONTRACTED = {
    "difference of squares": ROOT,
    "a sum": Call("add", (Z, PRODUCT)),
    "negated, behind a choice": Call("sub", (Z, Call("neg", (Call("leaky_relu", (PRODUCT, Number(0.3))),)))),
    "twice a product": Call("mul", (PRODUCT, Number(2))),
    "a product by a half": Call("div", (PRODUCT, Number(-0.5))),
    "behind a library's function": Call("sub", (Call("exp", (X,)), Z)),
    "in a definition": Call("gelu_tanh", (X,)),
    "of a product": Call("add", (Z, X)),
}


def fused(folder, tests, kinds, flags=()):
    """The same texts without fusion, and by a compiler that fuses; the library's functions end in products."""
    (folder / "apart").mkdir()
    plain = library(folder / "apart", tests, kinds, ("-DPRODUCTS", *flags))
    return plain, library(folder, tests, kinds, ("-DPRODUCTS", *FUSING, *flags))


needs_fusion = pytest.mark.skipif(not fuses(), reason="needs a processor that fuses products and sums")


@needs_fusion
def test_nothing_is_fused_whatever_the_compiler_may(tmp_path):
    tests = [*CONTRACTED.values(), *formulas()]
    plain, fusing = fused(tmp_path, tests, [("product", "float", "float")])
    for n, formula in enumerate(tests):
        rng = np.random.default_rng(n)
        operands = [values("float", rng) for _ in range(3)]
        assert_same(run(fusing, n, operands), run(plain, n, operands), operands, show(formula, "xyz"))


@needs_fusion
def test_without_the_intrinsics_much_is_fused(tmp_path):
    """What the test before this one would see: the same texts, intrinsics as plain operators."""
    plain, fusing = fused(tmp_path, CONTRACTED.values(), [("float", "float", "float")], ("-DFUSIBLE",))
    rng = np.random.default_rng(0)
    operands = [rng.uniform(0.5, 2, 1024).astype(np.float32) for _ in range(3)]
    seen = {
        name for n, name in enumerate(CONTRACTED) if differ(run(plain, n, operands), run(fusing, n, operands)).any()
    }
    assert seen >= {"a sum", "behind a library's function", "in a definition"}
    operands[1] = operands[0]
    assert not run(plain, 0, operands).any()
    assert np.isnan(run(fusing, 0, operands)).any()


def arithmetic(formulas, arch, before=""):
    """How many fused, multiply and add instructions NVIDIA's compiler makes of texts, in order."""
    needed, kernels = DeviceFunctions(), []
    for n, formula in enumerate(formulas):
        name = needed.name(pointwise(f"f{n}", formula, ("product", "float", "float"), "float", False))
        head = f'extern "C" __global__ void k{n}(float (*y)[8], float (*x)[8], float (*z)[8])'
        kernels.append(f"{head} {{ {name}(*y, *x, z[0], z[1]); }}")
    image = compile_cubin("\n".join([before, PRELUDE, *needed.texts(), *kernels]), arch, name="k").image
    sections = texts_of(image)
    made = []
    for n in range(len(kernels)):
        code = np.frombuffer(sections[f".text.k{n}"], np.uint16).reshape(-1, 8)
        operation, added = code[:, 0] & 0x1FF, code[:, 4] & 0xFF
        fused = (operation == 0x023) & (added != 0xFF)  # where register 255, a zero, is added, it is a product
        made.append((int(fused.sum()), int((operation == 0x020).sum()), int((operation == 0x021).sum())))
    return made


def texts_of(image):
    """The sections of a cubin by name: its machine code, of which every instruction has 16 bytes."""
    (start,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<3H", image, 0x3A)
    heads = [struct.unpack_from("<2I4Q", image, start + n * size) for n in range(count)]
    strings = image[heads[names][4] :]
    return {strings[h[0] : strings.index(b"\0", h[0])].decode(): image[h[4] : h[4] + h[5]] for h in heads}


OPERATORS = """
#define __fadd_rn(x, y) ((x) + (y))
#define __fsub_rn(x, y) ((x) - (y))
#define __fmul_rn(x, y) ((x) * (y))"""


@pytest.mark.parametrize("arch", ["sm_70", "sm_90"])
def test_nvidias_compiler_fuses_nothing(arch):
    """Of formulas whose functions are instructions; a division is itself made of fused ones."""
    plain = EXACT.keys() - {"div", "sqrt"}
    known = (*CONTRACTED.values(), *formulas(160))  # few of which take no other functions
    called = {f: {x.function for x in nodes(f) if isinstance(x, Call)} for f in known}
    tests = [f for f, names in called.items() if names <= plain]
    assert len(tests) > 20
    counts = arithmetic(tests, arch)
    assert {show(f, "xyz") for f, (fused, _, _) in zip(tests, counts) if fused} == set()
    assert sum(products for _, products, _ in counts) > 200 < sum(sums for _, _, sums in counts)
    fused_without = arithmetic([CONTRACTED[name] for name in ("a sum", "twice a product")], arch, OPERATORS)
    assert [fused for fused, _, _ in fused_without] == [8, 8]


@pytest.mark.parametrize("name", CONTRACTED)
def test_what_a_compiler_may_fuse_is_an_intrinsic(name):
    text = str(pointwise("f", CONTRACTED[name], ("product", "float", "float"), "float", False))
    assert "_rn(" in text


@pytest.mark.parametrize(
    "formula",
    [
        Call("relu", (Call("add", (X, Y)),)),
        Call("mul", (Call("sub", (X, Y)), Number(2))),
        Call("add", (Call("sqrt", (X,)), Call("div", (Y, Z)))),
        Call("mul", (PRODUCT, Number(4))),
        Call("add", (Call("maximum", (X, Y)), Call("where", (PRODUCT, Y, Z)))),
    ],
)
def test_what_none_may_fuse_is_written_with_operators(formula):
    assert "_rn(" not in str(pointwise("f", formula, ("float", "float", "float"), "float", False))


# ---- whole kernels, interpreted

M, N, K = pv.sizes("M N K")
A, B, R = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("R", (M, N))


def test_the_logarithm_of_a_sigmoid_is_finite_where_exp_overflows():
    x = np.linspace(-103, 103, 64).astype(np.float16)
    arrays = {"A": x[:, None], "B": np.ones((1, 8), np.float16)}
    for expr in (pv.log(pv.sigmoid(A @ B)), pv.silu(A @ B) * 1e30):
        got = pv.compile(expr).interpret(**arrays)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(got, pv.reference(expr, **arrays).astype(np.float16), rtol=2e-2, atol=1e-3)


def test_equal_squares_cancel():
    C, D = A @ B, R
    kernel = pv.compile(pv.sqrt(C * C - D * D))
    a = np.random.default_rng(0).standard_normal((16, 1)).astype(np.float16)
    b = np.ones((1, 16), np.float16)
    assert not kernel.interpret(A=a, B=b, R=a @ b).any()
    assert "sqrtf(__fsub_rn(" in kernel.source


def test_a_product_of_one_operation_is_one_in_the_next():
    """Both are in one thread's registers, and in one function of the compiler's."""
    C = A @ B
    scaled = C * R
    text = pv.compile([scaled, scaled - C]).source
    assert "y[i] = __fsub_rn(x0[i], x1[i]);" in text
    rounded = pv.relu(C + R)
    assert "_rn(" not in pv.compile([rounded, rounded - C]).source


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_relu_of_two_values_at_once_is_exact(tmp_path, kind):
    # all 65,536 patterns in both halves of a word: 0 below 0; -0 and NaN stay what they are
    function = function_in(pointwise("relu", Call("relu", (X,)), ("half",), "half", False, None, True), kind)
    needed = DeviceFunctions()
    name, vector = needed.name(function), function.result
    run = f"void run(uint4 *y, const uint4 *x, long n) {{ for (long k = 0; k < n; k++) y[k] = {name}(x[k]); }}"
    assert "relu" in name and "float" not in "".join(function.body) and vector in ("half8", "bf16x8")
    lib = compiled(tmp_path, "\n".join([in_kind(PRELUDE, kind), *needed.texts(), f'extern "C" {{ {run} }}']), ())
    bits = np.arange(2**16, dtype=np.uint16)
    x = aligned(np.concatenate([bits, bits[::-1], np.roll(bits, 1)]))
    y = aligned(np.zeros_like(x))
    lib.run(ctypes.c_void_p(y.ctypes.data), ctypes.c_void_p(x.ctypes.data), ctypes.c_long(x.size // 8))
    exponent = 0x7C00 if kind == "half" else 0x7F80
    below = (x > 0x8000) & (x & 0x7FFF <= exponent)  # a sign, and neither -0 nor NaN
    assert np.array_equal(y, np.where(below, 0, x))
