"""Expressions: shapes are numpy's, nodes are shared, and what makes no sense is said to make none."""

import copy
import gc
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.graph import Graph, Size, Tensor, interned
from polyvolta.graph import expr as ex
from polyvolta.graph.errors import BadOperand, NoTranspose, ShapeMismatch
from polyvolta.graph.expr import Constant, MatMul, Pointwise
from polyvolta.graph.functions.formula import Call, Input, Number

M, N, K = pv.sizes("M N K")
A = pv.tensor("A", (M, K))
B = pv.tensor("B", (K, N), layout="col")
row, column = pv.tensor("row", (N,)), pv.tensor("column", (M, 1))


CONSTRUCTORS = {c.__name__: c for c in (Tensor, Size, Constant, MatMul, Pointwise, Call, Input, Number)}


def softsign(x):
    return x / (1 + abs(x))


def test_a_product_has_the_outer_dimensions():
    assert (A @ B).shape == (M, N)
    assert (pv.tensor("P", (16, 8)) @ pv.tensor("Q", (8, 32))).shape == (16, 32)


shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)


@given(shapes, shapes)
@settings(deadline=None)
def test_pointwise_shapes_broadcast_exactly_as_in_numpy(p, q):
    x, y = pv.tensor("x", p), pv.tensor("y", q)
    try:
        expected = np.broadcast_shapes(p, q)
    except ValueError:
        with pytest.raises(ShapeMismatch, match=re.escape(f"{ex.shape_text(x)} and {ex.shape_text(y)}")):
            x + y
    else:
        assert (x + y).shape == expected == (y * x).shape


def test_vectors_and_columns_broadcast_over_symbolic_sizes():
    assert (A @ B + row).shape == (column * (A @ B)).shape == (row + column).shape == (M, N)


def test_equal_expressions_are_one_object_while_in_use():
    again = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    assert again is A @ B
    assert pv.relu(again + 1) is pv.relu(A @ B + 1.0)
    assert A @ B is not pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="row")


@pytest.fixture
def no_search():
    """Nothing that other tests left goes meanwhile, and what goes has no need of a search for garbage."""
    gc.disable()
    yield
    gc.enable()


def test_unused_nodes_are_freed(no_search):
    before = len(interned._INTERNED)
    kept = pv.sigmoid(pv.tensor("only_here", (M, N)) * 3.25)
    assert len(interned._INTERNED) == before + 3  # the constant, the product, the function
    del kept
    assert len(interned._INTERNED) == before


@pytest.mark.parametrize("kind", [Tensor, Constant, MatMul, Pointwise, Call, Input, Number])
def test_the_slot_of_weak_references_is_not_left_to_dataclass(kind):
    """Whether `dataclass(weakref_slot=True)` adds one below a generic base differs from Python to Python."""
    assert "__weakref__" not in kind.__dict__ and kind.__weakrefoffset__


def test_walk_has_every_node_once_operands_first_in_linear_time():
    x = pv.tensor("x", (M,))
    y = x
    for _ in range(3000):  # 2^3000 paths, and deeper than Python's stack
        y = y * y
    order = ex.walk([y])
    place = {e: at for at, e in enumerate(order)}
    assert len(order) == len(place) == 3001
    assert all(place[o] < place[e] for e in order for o in e.operands)
    assert len(str(y)) < 1000


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A @ B + row, "A @ B + row"),
        (pv.relu(A @ B + 1) * 0.5, "relu(A @ B + 1) * 0.5"),
        (A - (A - A), "A - (A - A)"),
        ((A - A) - A, "A - A - A"),
        (2 * (A + A), "2 * (A + A)"),
        (-(A + A), "-(A + A)"),
        (-A * 2, "-A * 2"),
        (A * -1.5, "A * -1.5"),
        (A @ (B @ pv.tensor("P", (N, 4))), "A @ (B @ P)"),
        (pv.tanh(pv.sigmoid(-A)), "tanh(sigmoid(-A))"),
        (A / (A / 2) / 3, "A / (A / 2) / 3"),
        ((A < 1) < (A >= 2), "(A < 1) < (A >= 2)"),
        ((A < 1) & (A > 0) | ~(A + 1 <= 2), "(A < 1) & (A > 0) | ~(A + 1 <= 2)"),
        (~(A < 1) * 2, "~(A < 1) * 2"),
        (abs(A**3) - 2**A, "abs(square(A) * A) - pow(2, A)"),
        (pv.where(A > 0, A, -A), "where(A > 0, A, -A)"),
    ],
)
def test_an_expression_prints_as_python_and_reads_back_as_the_same_object(expression, text):
    assert str(expression) == text
    assert eval(repr(expression), CONSTRUCTORS) is expression
    functions = {f: getattr(pv, f) for f in ("relu", "sigmoid", "tanh", "square", "where")}
    names = {"A": A, "B": B, "row": row, "P": pv.tensor("P", (N, 4))}
    assert eval(text, {**names, **functions}) is expression


@pytest.mark.parametrize(
    "made", [A @ B * -0.0, pv.pointwise(softsign, A), 1 / (pv.scalar("alpha") - 3), pv.relu(A @ B) + row]
)
def test_constructing_copying_and_pickling_give_the_same_object(made):
    assert eval(repr(made), CONSTRUCTORS) is made
    assert copy.copy(made) is copy.deepcopy(made) is made
    assert pickle.loads(pickle.dumps([made, A]))[0] is made
    assert type(made)(*(getattr(made, f) for f in type(made).__match_args__)) is made


def test_a_constructor_refuses_what_the_operator_refuses_each_time():
    for _ in range(2):
        with pytest.raises(ShapeMismatch):
            MatMul(A, A)
        with pytest.raises(TypeError, match="right"):
            MatMul(A)  # pyright: ignore[reportCallIssue]


def test_what_is_large_is_not_constructed_by_its_repr():
    x = A
    for _ in range(3000):
        x = x * x
    assert repr(x).startswith("<Pointwise (((") and len(repr(x)) < 1000


def test_a_mismatch_names_both_shapes_and_marks_both_dimensions():
    with pytest.raises(ShapeMismatch) as caught:
        A @ pv.tensor("X", (64, N))
    assert str(caught.value) == (
        "[PV201] A(M, K) and X(64, N) don't multiply: K columns on the left, 64 rows on the right\n"
        "  A(M, K) @ X(64, N)\n"
        "       ^      ^^\n"
        "hint: the two marked dimensions must be the same; "
        "write 64 in both places, or the symbolic size in both"
    )


def test_the_transpose_that_was_meant_is_suggested():
    with pytest.raises(ShapeMismatch) as caught:
        A @ pv.tensor("W", (N, K))
    assert 'declare the right one (K, N), layout "col"' in caught.value.hint


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: A @ row, "right operand has 1 dimension: row(N,)"),
        (lambda: row @ B, "left operand has 1 dimension: row(N,)"),
        (lambda: pv.tensor("T", (2, M, K)) @ B, "left operand has 3 dimensions: T(2, M, K)"),
        (lambda: A + B, "don't broadcast: A(M, K) and B(K, N)"),
        (lambda: A + row, "don't broadcast: A(M, K) and row(N,)"),
    ],
)
def test_shapes_that_make_no_operation(build, says):
    with pytest.raises(ShapeMismatch, match=re.escape(says)) as caught:
        build()
    assert caught.value.where
    assert caught.value.hint


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: A + True, "a bool"),
        (lambda: False * A, "a bool"),
        (lambda: A + np.bool_(True), "a bool"),
        (lambda: A - 1j, "a complex"),
        (lambda: A + "B", "a str"),
        (lambda: A + None, "take None as an operand"),
        (lambda: A * float("nan"), "not NaN"),
        (lambda: pv.minimum(np.float32("nan"), A), "not NaN"),
        (lambda: A * 10**400, "beyond every float"),
        (lambda: pv.where(A @ B == A, 1, 0), "pv.equal(a, b)"),
        (lambda: (A > 0) & 1, "bits, for & with the number 1"),
        (lambda: 0 | A, "bits, for | with the number 0"),
        (lambda: A % 2, "a - b * pv.floor(a / b)"),
        (lambda: A // 2, "pv.floor(a / b)"),
        (lambda: np.isnan(A), "pv.not_equal(x, x)"),
        (lambda: np.remainder(A, 2), "a - b * pv.floor(a / b)"),
        (lambda: np.cbrt(A), "polyvolta.graph.functions.table.FUNCTIONS"),
        (lambda: round(A, 2), "rounding to 2 digits"),
        (lambda: A @ 2, "an int"),
        (lambda: A @ np.ones((2, 2)), "a ndarray"),
        (lambda: np.ones((2, 2)) @ A, "a ndarray"),
        (lambda: np.ones((2, 2)) + A, "a ndarray"),
        (lambda: pv.relu(3.0), "numbers alone"),
        (lambda: pv.relu([1.0]), "a list"),
        (lambda: pv.pointwise("rleu", A), "did you mean 'relu'?"),
        (lambda: pv.pointwise("add", A), "2 operands, not 1"),
        (lambda: A or B, "no truth value"),
    ],
)
def test_operands_that_are_no_operands(build, says):
    with pytest.raises(BadOperand) as caught:
        build()
    assert says in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_numbers_of_numpy_are_numbers():
    assert A * np.float16(2) is A * 2
    assert np.float64(0.5) + A is 0.5 + A
    assert np.int32(3) - A is 3 - A


def test_infinite_numbers():
    assert str(pv.where(A > 0, A, -np.inf)) == "where(A > 0, A, -inf)"
    assert str(np.minimum(A, math.inf)) == "minimum(A, inf)"
    assert str(Graph.of(pv.where(A > 0, A, -np.inf)).statements[0]).endswith("A[i, j], -inf)")
    assert str(Graph.of(A * 1e50).statements[0]).endswith("mul(A[i, j], 1e+50)")
    assert A * math.inf is A * np.float16("inf") and A * math.inf is not A * -math.inf


def test_python_rounds():
    assert (round(A), math.floor(A), math.ceil(A)) == (pv.rint(A), pv.floor(A), pv.ceil(A))


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        (lambda: A.T, r'pv\.tensor\("A_t", \(K, M\), layout="col"\)'),
        (lambda: pv.tensor("B", (K, N), layout="col").T, r'\(N, K\), layout="row"'),
        (lambda: np.transpose(A), "A_t"),
        (lambda: (A @ B).T, r"B\.T @ A\.T"),
        (lambda: pv.tensor("v", (N,)).T, "in every row"),
    ],
)
def test_there_are_no_transposes(build, hint):
    with pytest.raises(NoTranspose, match=hint):
        build()


def test_a_transpose_is_no_attribute():
    assert not hasattr(A, "T")
    with pytest.raises(BadOperand, match="no 'T'"):
        pv.pointwise(lambda x: x.T, A)
    with pytest.raises(BadOperand, match="no transpose"):
        pv.pointwise(lambda x: np.transpose(x), A)
