"""The pointwise functions: numpy against Python's own arithmetic. `cuda/test_pointwise_text` has the C expressions."""

import math

import numpy as np
import pytest

from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.graph.functions.formula import Call, Input
from polyvolta.graph.functions.meaning import MEANING, evaluate
from polyvolta.graph.functions.table import FUNCTIONS

NAN, INF = math.nan, math.inf
CALLS = {name: Call(name, tuple(map(Input, range(f.arity)))) for name, f in FUNCTIONS.items()}
VALUES = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-6, 87.0, -87.0, 105.0, -105.0, 7.25, -2.5]


def guarded(f):
    """A scalar function with C's results in the place of Python's exceptions."""

    def g(*xs):
        try:
            return float(f(*xs))
        except OverflowError:
            return INF
        except (ValueError, ZeroDivisionError):
            return NAN

    return g


def divide(a, b):
    if b != 0 or math.isnan(a) or a == 0:
        return a / b if b != 0 else NAN
    return math.copysign(INF, a) * math.copysign(1, b)


def power(a, b):
    if a == 0 and b < 0:
        return math.copysign(INF, a) if b == int(b) and b % 2 else INF
    return math.pow(a, b)


def logarithm(x):
    return -INF if x == 0 else math.log(x)


def larger(a, b):
    return NAN if math.isnan(a) or math.isnan(b) else max(a, b)


def normal(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def normal_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def integer(f):
    return lambda x: x if not math.isfinite(x) else math.copysign(f(x), x)


def exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return INF


def root(x):
    return x if x == 0 else math.sqrt(x)


SCALAR = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": divide,
    "neg": lambda a: -a,
    "abs": math.fabs,
    "sign": lambda x: x and math.copysign(1, x) if not math.isnan(x) else x,
    "square": lambda a: a * a,
    "pow": power,
    "sqrt": root,
    "rsqrt": lambda x: divide(1, root(x)),
    "exp": exp,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "log": logarithm,
    "log2": lambda x: -INF if x == 0 else math.log2(x),
    "log1p": lambda x: -INF if x == -1 else math.log1p(x),
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "erf": math.erf,
    "floor": integer(math.floor),
    "ceil": integer(math.ceil),
    "rint": integer(round),
    "maximum": larger,
    "minimum": lambda a, b: -larger(-a, -b),
    "where": lambda c, a, b: a if c != 0 else b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: a != 0 and b != 0,
    "logical_or": lambda a, b: a != 0 or b != 0,
    "logical_not": lambda a: a == 0,
    "relu": lambda x: x if x > 0 or math.isnan(x) else 0.0,
    "leaky_relu": lambda x, slope: x * slope if x < 0 else x,
    "elu": lambda x, scale: x if x > 0 else scale * math.expm1(x),
    "sigmoid": lambda x: 1 / (1 + exp(-x)),
    "silu": lambda x: divide(x, 1 + exp(-x)),
    "softplus": lambda x: x if x > 700 else math.log1p(exp(x)),
    "gelu": normal,
    "gelu_tanh": normal_tanh,
}


def grid(arity, dtype):
    """Every combination of the values, one array for each operand."""
    return [x.ravel() for x in np.meshgrid(*[np.array(VALUES, dtype)] * arity, indexing="ij")]


def assert_same(got, expected, rtol, atol=0.0):
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)


def test_every_function_is_here():
    assert SCALAR.keys() == MEANING.keys() == FUNCTIONS.keys()
    assert all(name == f.name for name, f in FUNCTIONS.items())


@pytest.mark.parametrize("name", SCALAR)
def test_the_meaning_is_the_scalar_functions(name):
    operands = grid(FUNCTIONS[name].arity, np.float64)
    f = guarded(SCALAR[name])
    expected = [f(*xs) for xs in zip(*(x.tolist() for x in operands), strict=True)]
    with np.errstate(all="ignore"):
        got = MEANING[name](*operands)
    assert got.dtype == np.float64
    assert_same(got, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_stays_float32_whatever_the_shape(name):
    f = FUNCTIONS[name]
    for shape in [(), (1,), (2, 3)]:
        operands = [np.full(shape, 0.75, np.float32)] * f.arity
        got = evaluate(CALLS[name], operands)
        assert got.dtype == np.float32
        assert got.shape == shape
        assert_same(got, evaluate(CALLS[name], operands, np.float64), rtol=3e-6)


def test_nan_goes_through_where_numpy_lets_it():
    nan, one = np.array(NAN), np.array(1.0)
    meaning = {name: lambda *xs, f=f: evaluate(f, xs, np.float64) for name, f in CALLS.items()}
    for name, operands in [("relu", [nan]), ("maximum", [nan, one]), ("maximum", [one, nan]), ("minimum", [nan, one]),
                           ("minimum", [one, nan]), ("leaky_relu", [nan, one]), ("sigmoid", [nan]), ("gelu", [nan]),
                           ("softplus", [nan])]:  # fmt: skip
        assert np.isnan(meaning[name](*operands)), name
    assert meaning["where"](nan, one, one * 2) == 1
    assert meaning["less"](nan, one) == meaning["greater_equal"](nan, one) == 0


def test_nothing_overflows_in_a_function_with_a_finite_result():
    x = np.array([-1e4, -800.0, -90.0, 0.0, 90.0, 800.0, 1e4])
    for dtype in (np.float32, np.float64):
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            for name in ("sigmoid", "silu", "softplus", "tanh", "gelu", "gelu_tanh", "relu"):
                assert np.isfinite(MEANING[name](x.astype(dtype))).all(), name


def test_erf_is_the_c_librarys_to_the_last_places():
    rng = np.random.default_rng(5)
    points = np.arange(0, 6.2, 1 / 128)  # the table's points, and those half way, where the nearest one changes
    x = np.concatenate([np.linspace(-7, 7, 50_001), rng.uniform(-0.02, 0.02, 20_000), points, np.nextafter(points, 9),
                        np.nextafter(points, -9), 10.0 ** rng.uniform(-300, 2, 20_000), [5e-324, 1e308]])  # fmt: skip
    expected = np.array([math.erf(v) for v in x.tolist()])
    with np.errstate(all="raise", under="ignore"):
        got = MEANING["erf"](x)
    assert np.abs(got - expected).max() <= 3e-16
    assert (np.abs(got - expected) <= 2 * np.spacing(np.abs(expected))).all()
    assert np.array_equal(MEANING["erf"](-x), -got)


def test_erf_of_special_values_and_of_any_shape_type_and_order():
    x = np.array([NAN, INF, -INF, 0.0, -0.0, 6.0, -1e300])
    with np.errstate(all="raise"):
        got = MEANING["erf"](x)
    np.testing.assert_array_equal(got, [NAN, 1, -1, 0, 0, 1, -1])
    assert np.array_equal(np.signbit(got[1:]), np.signbit(x[1:]))
    a = np.linspace(-3, 3, 6).reshape(2, 3)
    for shaped in (a, a.T, np.asfortranarray(a), a[:, ::2], np.broadcast_to(a, (4, 2, 3)), a[:0], a[0, 0]):
        got = MEANING["erf"](shaped)
        assert got.shape == shaped.shape
        np.testing.assert_allclose(got, np.vectorize(math.erf, otypes=[float])(shaped), rtol=1e-15)
    many = np.linspace(-4, 4, 100_003, dtype=np.float32)  # several chunks, the last one not full
    np.testing.assert_array_equal(MEANING["erf"](many), MEANING["erf"](many.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize(("trigonometric", "local_bytes"), [(False, 0), (True, 32)])
def test_the_c_expressions_need_no_header_and_no_memory_in_cuda(trigonometric, local_bytes):
    """But for the sine's and the cosine's: reducing a large argument takes seven words."""
    functions = [f for f in FUNCTIONS.values() if f.c and (f.name in ("sin", "cos")) == trigonometric]
    cases = [f"case {n}: y[0] = {f.c.format('a', 'b', 'c')}; break;" for n, f in enumerate(functions)]
    text = (
        'extern "C" __global__ void kern0(float *y, int f) {\n  const float a = y[0], b = y[1], c = y[2];\n'
        "  switch (f) {\n  " + "\n  ".join(cases) + "\n  }\n}\n"
    )
    resources = compile_cubin(text, "sm_70", name="kern0").resources("kern0")
    assert resources.local_bytes <= local_bytes
    assert resources.spill_stores == 0
