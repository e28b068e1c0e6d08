"""The float64 reference, and how a call's arrays bind to tensors and sizes."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.graph import Graph, bind
from polyvolta.graph.errors import ArrayMismatch, BadArguments, BadOutputs, NameClash
from polyvolta.graph.functions.meaning import MEANING
from polyvolta.graph.functions.pointwise import pointwise
from polyvolta.graph.functions.table import FUNCTIONS

M, N, K = pv.sizes("M N K")
A = pv.tensor("A", (M, K))
B = pv.tensor("B", (K, N), layout="col")
bias = pv.tensor("bias", (N,))
E = pv.relu(A @ B + bias)
rng = np.random.default_rng(7)
a, b, c = (rng.standard_normal(s).astype(np.float16) for s in [(6, 5), (5, 4), (4,)])
a64, b64, c64 = (x.astype(np.float64) for x in (a, b, c))


def test_a_product_is_numpys_in_float64():
    result = pv.reference(A @ B, a, b)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, a64 @ b64)


def test_by_position_by_name_and_mixed_are_the_same():
    expected = np.maximum(a64 @ b64 + c64, 0)
    for result in (
        pv.reference(E, a, b, c),
        pv.reference(E, a, bias=c, B=b),
        pv.reference(E, bias=c, B=b, A=a),
    ):
        np.testing.assert_array_equal(result, expected)


def test_nothing_is_rounded_to_fp16_on_the_way():
    x = pv.tensor("x", (1,))
    assert pv.reference(x * 1e6 * 1e6 + 1 - x * 1e12, [1.0]) == [1.0]
    assert pv.reference(x + 1e-9, [1.0]) == [1.0 + 1e-9]


def test_special_values_are_computed_with_in_silence():
    x = np.array([-np.inf, -1.0, 0.0, np.nan, np.inf])
    X = pv.tensor("x", (5,))
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(pv.reference(pv.relu(X), x), [0, 0, 0, np.nan, np.inf])
        np.testing.assert_array_equal(pv.reference(X - X, x), [np.nan, 0, 0, np.nan, np.nan])
        np.testing.assert_array_equal(pv.reference(1 / X, x), [0, -1, np.inf, np.nan, 0])
        np.testing.assert_array_equal(pv.reference(pv.log(X), x), [np.nan, np.nan, -np.inf, np.nan, np.inf])


def test_every_function_of_the_graph_has_a_meaning_of_the_same_arity():
    assert MEANING.keys() == FUNCTIONS.keys()
    for name, f in FUNCTIONS.items():
        operands = [pv.tensor(f"x{p}", (3,)) for p in range(f.arity)]
        assert pv.reference(pointwise(name, *operands), *[np.ones(3)] * f.arity).shape == (3,)


def test_broadcasting_is_numpys():
    column, one = pv.tensor("column", (M, 1)), pv.tensor("one", (1,))
    u = rng.standard_normal((6, 1))
    np.testing.assert_array_equal(pv.reference(A @ B * column - one, a, b, u, np.ones(1)), a64 @ b64 * u - 1)


def test_several_outputs_come_back_in_the_form_they_were_asked_in():
    product, sum_ = pv.reference([A @ B, E], a, b, c)
    np.testing.assert_array_equal(np.maximum(product + c64, 0), sum_)
    named = pv.reference({"C": A @ B, "E": E}, a, b, c)
    assert list(named) == ["C", "E"]
    np.testing.assert_array_equal(named["E"], sum_)
    (from_graph,) = pv.reference(Graph.of(E), a, b, c)
    np.testing.assert_array_equal(from_graph, sum_)


def test_outputs_with_a_layout_or_a_name_are_evaluated_like_plain_ones():
    np.testing.assert_array_equal(pv.reference(pv.output(E, "Z", layout="col"), a, b, c), pv.reference(E, a, b, c))
    assert list(pv.reference({"Z": pv.output(E, layout="col")}, a, b, c)) == ["Z"]


def test_inputs_are_left_alone():
    x = np.array([-1.0, 2.0])
    pv.reference(pv.relu(pv.tensor("x", (2,))), x)
    np.testing.assert_array_equal(x, [-1.0, 2.0])


def test_the_order_of_arguments_is_that_of_first_appearance():
    late = pv.tensor("late", (M, N)) * (A @ B)
    assert [t.name for t in Graph.of(late).inputs] == ["late", "A", "B"]
    bound = bind(Graph.of(late), [np.ones((6, 4)), a, b])
    assert list(bound.arrays) == ["late", "A", "B"]
    assert bound.sizes == {"M": 6, "N": 4, "K": 5}


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.array(0.5), np.float16(0.5), np.array(0.5, np.float16)])
def test_scalars_are_numbers_of_any_kind(number):
    alpha, beta = pv.scalar("alpha"), pv.scalar("beta")
    expr = alpha * (A @ B) + beta * bias
    graph = Graph.of(expr)
    assert graph.scalars == ("alpha", "beta")
    assert [t.name for t in graph.arguments] == ["alpha", "A", "B", "beta", "bias"]
    assert [t.name for t in graph.inputs] == ["A", "B", "bias"]
    bound = bind(graph, [number, a, b, 2], {"bias": c})
    assert bound.scalars == {"alpha": 0.5, "beta": 2.0}
    assert list(bound.arrays) == ["A", "B", "bias"]
    np.testing.assert_array_equal(pv.reference(expr, number, a, b, 2, bias=c), 0.5 * (a64 @ b64) + 2 * c64)
    assert np.isnan(pv.reference(expr, np.nan, a, b, 2, c)).all()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, "no array was given for A, B, and no number was given for the scalars alpha, beta"),
        ({"A": a, "B": b}, "no number was given for the scalars alpha, beta"),
        ({"A": a, "B": b, "beta": 1}, "no number was given for the scalar alpha"),
        ({"A": a, "alpha": 2.0, "beta": 1}, "no array was given for B"),
        ({"A": a, "B": b, "alpha": "1", "beta": 1}, "alpha is a number, and a str was given for it"),
        ({"A": a, "B": b, "alpha": a, "beta": 1}, "alpha is a number, and an array of shape (6, 5) was given for it"),
        ({"A": a, "B": b, "alpha": np.ones(1), "beta": 1}, "alpha is a number, and an array of shape (1,) was given"),
        ({"A": a, "B": b, "alpha": None, "beta": 1}, "alpha is a number, and None was given for it"),
        ({"A": a, "B": b, "alpha": True, "beta": 1}, "alpha is a number, and a bool was given for it"),
        ({"A": a, "B": b, "alpha": 1j, "beta": 1}, "alpha is a number, and a complex was given for it"),
        ({"A": a, "B": b, "alpha": 10**400, "beta": 1}, "the number given for alpha is beyond every float"),
        ({"A": a, "B": b, "alpah": 1, "beta": 1}, "did you mean 'alpha'?"),
    ],
)
def test_scalars_that_are_missing_or_no_numbers(args, says):
    graph = Graph.of(pv.scalar("alpha") * (A @ B) + pv.scalar("beta"))
    with pytest.raises(BadArguments) as caught:
        bind(graph, [], args)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("args", "says", "marks"),
    [
        ([a, b], "alpha is a number, and an array of shape (6, 5) was given for it", " ^^^^^"),
        ([a, b, 2.0, 1.0], "alpha is a number, and an array of shape (6, 5) was given for it", " ^^^^^"),
        ([2.0, 1.0, a, b], "A is an array, and the number 1.0 was given for it", f"{'':8}^^^^^^^"),
        ([2.0, np.float32(1), a, b], "A is an array, and the number 1.0 was given for it", f"{'':8}^^^^^^^"),
        ([2.0, a], "no array was given for B, and no number was given for the scalar beta", f"{'':17}^^^^^^^  ^^^^"),
        ([2.0, a, b], "no number was given for the scalar beta", f"{'':26}^^^^"),
    ],
)  # fmt: skip
def test_arguments_in_the_wrong_place_are_named_before_those_that_are_missing(args, says, marks):
    with pytest.raises(BadArguments) as caught:
        bind(Graph.of(pv.scalar("alpha") * (A @ B) + pv.scalar("beta")), args)
    assert caught.value.message == says
    assert caught.value.where == f"(alpha, A(M, K), B(K, N), beta)\n{marks}"
    assert "by name" in caught.value.hint


@pytest.mark.parametrize(("m", "n", "k"), [(0, 4, 5), (6, 0, 5), (6, 4, 0), (0, 0, 0)])
def test_empty_dimensions_give_what_numpy_gives(m, n, k):
    bound = bind(Graph.of(E), [np.ones((m, k)), np.ones((k, n)), np.ones(n)])
    assert bound.sizes == {"M": m, "N": n, "K": k}
    got = pv.reference(E, np.ones((m, k)), np.ones((k, n)), np.ones(n))
    np.testing.assert_array_equal(got, np.ones((m, k)) @ np.ones((k, n)) + 1)
    assert got.shape == (m, n)


class OnlyShape:
    """An array of which nothing but the shape can be looked at, as for one on another device."""

    def __init__(self, *shape):
        self.shape = shape


def test_binding_looks_at_shapes_alone():
    x, y = OnlyShape(8, 16), OnlyShape(16, 32)
    bound = bind(Graph.of(A @ B), [x], {"B": y})
    assert bound.arrays["A"] is x
    assert bound.arrays["B"] is y
    assert bound.sizes == {"M": 8, "K": 16, "N": 32}


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ([a], {}, "no array was given for B, bias"),
        ([a, b, c, c], {}, "4 arguments were given, and the graph reads 3"),
        ([a, b], {"bais": c}, "did you mean 'bias'?"),
        ([a, b, c], {"B": b}, "given twice"),
        ([a, b, None], {}, "bias is an array, and None was given"),
        ([a, b, 3.0], {}, "bias is an array, and the number 3.0 was given"),
        ([], {}, "(A(M, K), B(K, N), bias(N,))"),
    ],
)
def test_arguments_that_match_no_tensors(args, kwargs, says):
    with pytest.raises(BadArguments) as caught:
        bind(Graph.of(E), args, kwargs)
    assert says in str(caught.value)


def test_two_values_for_one_size_show_both_places():
    with pytest.raises(ArrayMismatch) as caught:
        pv.reference(A @ B, a, b[:3])
    assert str(caught.value) == (
        "[PV209] K is 5 in one array and 3 in another\n"
        "  5: A(M, K)  dimension 1 of an array of shape (6, 5)\n"
        "  3: B(K, N)  dimension 0 of an array of shape (3, 4)\n"
        "hint: give both dimensions the same length, or declare one with a size other than K"
    )


@pytest.mark.parametrize(
    ("shape", "got", "says"),
    [
        ((M, K), (6,), "has 1 dimension, its tensor 2"),
        ((M, 8), (6, 9), "dimension 1 is 9, declared as 8"),
        ((M, M), (2, 3), "M is 2 in one array and 3 in another"),
        ((M, 1), (2, 2), "dimension 1 is 2, declared as 1"),
    ],
)
def test_shapes_that_are_not_the_tensors(shape, got, says):
    with pytest.raises(ArrayMismatch) as caught:
        bind([pv.tensor("X", shape)], [np.ones(got)])
    assert says in str(caught.value)
    assert "X(" in caught.value.where


@pytest.mark.parametrize(
    "array", [np.ones((6, 5), complex), np.full((6, 5), "x"), np.ones((6, 5), bool), [[1.0], [1.0, 2.0]]]
)
def test_the_reference_takes_real_numbers_only(array):
    with pytest.raises(BadArguments, match="A: "):
        pv.reference(A @ B, array, b)


def test_the_reference_checks_the_graph_as_the_compiler_does():
    with pytest.raises(BadOutputs):
        pv.reference(A, a)
    with pytest.raises(NameClash):
        pv.reference(A @ B + pv.tensor("A", (M, N)), a, b, c)
    with pytest.raises(NameClash):
        pv.reference({"A": A @ B}, a, b)
