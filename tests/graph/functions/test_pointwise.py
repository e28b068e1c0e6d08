"""What users call: functions by name, operators, numpy's functions, and functions of their own."""

import functools
import math

import numpy as np
import pytest
import sympy

import polyvolta as pv
from polyvolta.graph import Graph
from polyvolta.graph.errors import BadFunction, BadOperand
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.operators import UFUNCS

M, N, K = pv.sizes("M N K")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
X, row, column = pv.tensor("X", (M, N)), pv.tensor("row", (N,)), pv.tensor("column", (M, 1))
alpha = pv.scalar("alpha")
rng = np.random.default_rng(3)
DATA = {"X": rng.standard_normal((5, 4)) * 3, "row": rng.standard_normal(4), "column": rng.standard_normal((5, 1)),
        "alpha": 0.75}  # fmt: skip


def value(expr):
    names = [t.name for t in Graph.of(expr).arguments]
    return pv.reference(expr, **{n: DATA[n] for n in names})


def test_every_function_has_a_public_name_or_an_operator():
    operators = {"add", "sub", "mul", "div", "neg", "abs", "pow", "less", "less_equal", "greater", "greater_equal",
                 "logical_and", "logical_or", "logical_not"}  # fmt: skip
    public = {name for name in FUNCTIONS if hasattr(pv, name)}
    assert public | operators == FUNCTIONS.keys()
    assert not public & operators
    for name in public:
        operands = [X, row, column][: FUNCTIONS[name].arity]
        assert getattr(pv, name)(*operands) is pv.pointwise(name, *operands)


def test_numpys_functions_mean_what_they_mean_in_numpy():
    for name, ours in UFUNCS.items():
        operands = [X, row][: FUNCTIONS[ours].arity]
        made = value(getattr(np, name)(*operands))
        with np.errstate(invalid="ignore"):
            expected = getattr(np, name)(*(DATA[str(x)] for x in operands))
        np.testing.assert_allclose(made, expected, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda x, r, c, a: x / r, lambda x, r, c, a: x / r),
        (lambda x, r, c, a: 2 / x - x / 4, lambda x, r, c, a: 2 / x - x / 4),
        (lambda x, r, c, a: +abs(-x), lambda x, r, c, a: np.abs(x)),
        (lambda x, r, c, a: x**2 + x**3 + x**-2 + x**7, lambda x, r, c, a: x**2 + x**3 + x**-2.0 + x**7),
        (lambda x, r, c, a: abs(x) ** 0.5 + abs(x) ** a + 2**x, lambda x, r, c, a: abs(x) ** 0.5 + abs(x) ** a + 2**x),
        (lambda x, r, c, a: (x > 0) + (x <= r) * (c < x), lambda x, r, c, a: (x > 0) + 1.0 * (x <= r) * (c < x)),
        (lambda x, r, c, a: (x > r) & ~(x >= 1) | (r < 0), lambda x, r, c, a: (x > r) & ~(x >= 1) | (r < 0)),
        (lambda x, r, c, a: pv.clamp(x, -1, a), lambda x, r, c, a: np.clip(x, -1, a)),
        (lambda x, r, c, a: pv.where(x > r, x, c), lambda x, r, c, a: np.where(x > r, x, c)),
        (lambda x, r, c, a: pv.leaky_relu(x) + pv.leaky_relu(x, a), lambda x, r, c, a: x * np.where(x < 0, .01 + a, 2)),
        (lambda x, r, c, a: np.maximum(x, r) - np.exp(-c), lambda x, r, c, a: np.maximum(x, r) - np.exp(-c)),
        (lambda x, r, c, a: np.where(x > 0, x, 0) + np.clip(x, 0, r), lambda x, r, c, a: x * (x > 0) + x.clip(0, r)),
        (lambda x, r, c, a: np.float32(2) * x + np.float64(1), lambda x, r, c, a: 2 * x + 1),
        (lambda x, r, c, a: pv.equal(x, x) + pv.not_equal(r, r), lambda x, r, c, a: np.ones_like(x)),
    ],
)  # fmt: skip
def test_operators_mean_numpys_on_tensors_and_on_elements(made, expected):
    x, r, c, a = (np.asarray(DATA[n]) for n in ("X", "row", "column", "alpha"))
    plain = np.broadcast_to(expected(x, r, c, a), x.shape)
    np.testing.assert_allclose(value(made(X, row, column, alpha)), plain, rtol=1e-12)

    def used(x, r, c, a):
        return made(x, r, c, a) + 0 * (r + c + a)

    np.testing.assert_allclose(value(pv.pointwise(used, X, row, column, alpha)), plain, rtol=1e-12)


def swish(x, beta=1.0):
    return x / (1 + np.exp(-beta * x))


def test_a_function_appears_under_its_name_and_means_what_it_says():
    graph = Graph.of(pv.pointwise(swish, A @ B + row))
    assert str(graph.statements[1]) == "S2: D[i, j] = swish(add(C[i, j], row[j]))"
    assert graph.statements[1].operation == "swish_add"
    np.testing.assert_allclose(value(pv.pointwise(swish, X)), swish(DATA["X"]))
    np.testing.assert_allclose(value(pv.pointwise(swish, X, row)), swish(DATA["X"], DATA["row"]))


def test_numbers_are_passed_as_they_are():
    def polynomial(x, degree, scale):
        assert isinstance(degree, int)
        return scale * sum(x**n for n in range(1, degree + 1)) if degree > 1 else x

    x = DATA["X"]
    np.testing.assert_allclose(value(pv.pointwise(polynomial, X, 3, 0.5)), 0.5 * (x + x**2 + x**3))
    assert pv.pointwise(lambda x, n: x * (n + 1), X, 3) is X * 4


def test_a_lambda_is_what_it_computes():
    assert pv.pointwise(lambda x, b: np.maximum(x + b, 0), A @ B, row) is pv.maximum(A @ B + row, 0)
    assert pv.pointwise(np.maximum, X, row) is pv.pointwise("maximum", X, row) is pv.maximum(X, row)
    assert pv.pointwise(np.maximum, X, 0) is pv.maximum(X, 0)
    assert pv.pointwise(pv.clamp, X, row, column) is pv.clamp(X, row, column)
    assert pv.pointwise(functools.partial(lambda a, x: a * x, 2), X) is 2 * X
    assert pv.pointwise(lambda x: x, X) is X


def test_equal_functions_are_one_operation_and_different_ones_of_one_name_are_two():
    def scaled(factor):
        def scale(x):
            return x * factor + x

        return scale

    assert pv.pointwise(scaled(2.0), X) is pv.pointwise(scaled(2.0), X)
    expr = pv.pointwise(scaled(2.0), A @ B) + pv.pointwise(scaled(3.0), row)
    (_, s) = Graph.of(expr).statements
    assert str(s) == "S2: D[i, j] = add(scale(C[i, j]), scale_2(row[j]))"
    assert [n for n, _ in s.definitions] == ["scale", "scale_2"]
    np.testing.assert_allclose(value(pv.pointwise(scaled(2.0), X) + pv.pointwise(scaled(3.0), X)), 7 * DATA["X"])


def test_a_users_function_may_have_the_name_of_one_that_exists():
    def relu(x):
        return np.maximum(x, 0.125)

    expr = pv.pointwise(relu, X)
    assert str(expr) == "relu_1(X)"
    np.testing.assert_array_equal(value(expr), np.maximum(DATA["X"], 0.125))

    def mul_acc(x):
        return x * 2 + 1

    assert str(Graph.of(pv.pointwise(mul_acc, A @ B)).statements[1].operation) == "mul_acc_1"


def test_functions_call_functions():
    def gated(x, gate):
        return pv.pointwise(swish, gate) * pv.pointwise(lambda y: y + 1, x)

    np.testing.assert_allclose(value(pv.pointwise(gated, X, row)), swish(DATA["row"]) * (DATA["X"] + 1))


def test_sympys_functions():
    x, y = sympy.symbols("x y", real=True)
    waves = sympy.Lambda(x, sympy.sin(x) ** 2 - sympy.cos(3 * x) * sympy.sign(x))
    np.testing.assert_allclose(
        value(pv.pointwise(waves, X)), np.sin(DATA["X"]) ** 2 - np.cos(3 * DATA["X"]) * np.sign(DATA["X"])
    )
    f = sympy.Lambda((x, y), sympy.Max(x + y, 0) / (1 + sympy.exp(-x)) - 2 * sympy.sqrt(abs(y)) + x**3 / 3)
    got = value(pv.pointwise(f, X, row))
    a, b = DATA["X"], DATA["row"]
    np.testing.assert_allclose(got, np.maximum(a + b, 0) / (1 + np.exp(-a)) - 2 * np.sqrt(np.abs(b)) + a**3 / 3)
    pieces = sympy.Lambda(x, sympy.Piecewise((0, x < 0), (x, x <= 1), (1, True)))
    np.testing.assert_allclose(value(pv.pointwise(pieces, X)), np.clip(a, 0, 1))
    for wrong, says in [(x + y, "has 2 symbols, and 1 operands were given by position"),
                        (sympy.Lambda(x, x + sympy.I), "I is no real number"),
                        (sympy.Lambda(x, sympy.sinh(x)), "'sinh'"),
                        (sympy.Lambda(x, x + y), "y is no operand"), (sympy.Lambda((x, y), x + y), "takes 2 operands"),
                        (sympy.Lambda(x, sympy.Piecewise((x, x > 0))), "always holds")]:  # fmt: skip
        with pytest.raises(BadFunction) as caught:
            pv.pointwise(wrong, X)
        assert says in str(caught.value)


def test_sympys_expressions():
    x, y, z = sympy.symbols("x y z")
    e = sympy.Max(x * y, 0) + sympy.Function("silu")(x) / sympy.Function("maximum")(y, 2)
    a, b = DATA["X"], DATA["row"]
    expected = np.maximum(a * b, 0) + a / (1 + np.exp(-a)) / np.maximum(b, 2)
    np.testing.assert_allclose(value(pv.pointwise(e, y=row, x=X)), expected)
    np.testing.assert_allclose(value(pv.pointwise(sympy.exp(-(x**2) / 2), X)), np.exp(-a * a / 2))
    large = pv.pointwise(x / (1 + sympy.exp(-x)), pv.tensor("Y", (4,)))
    assert pv.reference(large, np.array([-2000.0, -1, 0, 2000])).tolist() == [-0.0, -1 / (1 + np.e), 0, 2000]
    derivative = sympy.diff(x * sympy.tanh(x), x)
    np.testing.assert_allclose(value(pv.pointwise(derivative, x=X)), np.tanh(a) + a * (1 - np.tanh(a) ** 2), rtol=1e-6)
    np.testing.assert_allclose(value(pv.pointwise(x + y, x=X, y=0.5)), a + 0.5)
    for wrong, given, says in [
        (e, {"x": X}, "no operand was given for y"), (x + 1, {"x": X, "y": X}, "y is no symbol of x"),
        (np.exp, {"x": X}, "operands by name are for sympy's expressions"),
        (sympy.Function("softmax")(x), {"x": X}, "'softmax' is no pointwise function"),
    ]:  # fmt: skip
        with pytest.raises(BadFunction, match=says):
            pv.pointwise(wrong, **given)


def branches(x):
    if x > 0:
        return x
    return 0.1 * x


def forgets(x):
    x + 1  # noqa: B018


@pytest.mark.parametrize(
    ("f", "operands", "says"),
    [
        (branches, [X], "an element, in branches, has no truth value"),
        (branches, [X], "pv.where(condition, a, b)"),
        (lambda x: 0 < x < 1, [X], "no truth value"),
        (lambda x: max(x, 0), [X], "pv.maximum"),
        (lambda x: x if x == 0 else 1 / x, [X], "equal(x, 0)"),
        (lambda x: x[0], [X], "no element [0]"),
        (lambda x, y: x[y], [X, row], "accesses are affine"),
        (lambda x: sum(x), [X], "to loop over"),
        (lambda x: x @ x, [X], "no product @"),
        (lambda x: x.T, [X], "has no 'T'"),
        (lambda x: math.exp(x), [X], "the functions of `math` work on numbers"),
        (lambda x: int(x), [X], "no value yet"),
        (lambda x: np.tan(x), [X], "np.tan is no pointwise function"),
        (lambda x: np.log10(x), [X], "np.log10 is no pointwise function"),
        (lambda x: np.sum(x), [X], "there is only the matrix product"),
        (lambda x: np.add.reduce(x), [X], "np.add.reduce is not pointwise"),
        (lambda x: np.add(x, 1, where=True), [X], "takes operands alone"),
        (lambda x: x // 2, [X], "'floor_divide'"),
        (lambda x: x % 2, [X], "'mod'"),
        (lambda x: x + row, [X], "make it an operand of its own"),
        (lambda x: x + np.ones(3), [X], "add can't take a ndarray"),
        (lambda x: x + "a", [X], "add can't take a str"),
        (lambda x: x * True, [X], "mul can't take a bool"),
        (lambda x: x * math.nan, [X], "not NaN"),
        (lambda x: 3.0, [X], "returns the number 3.0"),
        (lambda x: (x, x + 1), [X], "returns 2 results"),
        (lambda x: row, [X], "returns an expression of whole tensors"),
        (lambda x: str(x), [X], "returns a str"),
        (forgets, [X], "is a `return` missing?"),
        (lambda x, y: x, [X, row], "doesn't use y"),
        (lambda x: x, [X, row], "was given 2 operands"),
        (lambda x, y: x + y, [X], "(x, y)"),
        (np.maximum, [X], "np.maximum takes 2 operands"),
        (swish, [], "no operand"),
        (lambda x: x + 1, [2.0], "numbers alone"),
        ("rleu", [X], "did you mean 'relu'?"),
        ("relu", [X, X], "relu takes 1 operand, not 2"),
        (3, [X], "takes a function first, not an int"),
        (X, [X], "takes a function first, not a Tensor"),
    ],
)
def test_what_is_no_pointwise_function(f, operands, says):
    with pytest.raises(BadOperand) as caught:
        pv.pointwise(f, *operands)
    assert says in str(caught.value)


def test_elements_are_of_one_function_alone():
    kept = []

    def keeps(x):
        kept.append(x)
        return x + 1

    pv.pointwise(keeps, X)
    with pytest.raises(BadFunction, match="mixes elements of f with those of keeps"):
        pv.pointwise(lambda x: x + kept[0], X)
    with pytest.raises(BadFunction, match="uses a whole tensor"):
        kept[0] + X
    with pytest.raises(BadFunction, match="uses a whole tensor"):
        X + kept[0]


def test_expressions_are_no_numbers_and_have_no_elements():
    for wrong in (lambda: X[0], lambda: list(X), lambda: float(X), lambda: math.exp(X), lambda: bool(X), lambda: X % 2,
                  lambda: X[row], lambda: np.sum(X), lambda: np.tan(X)):  # fmt: skip
        with pytest.raises(BadOperand):
            wrong()
