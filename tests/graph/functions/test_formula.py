"""Formulas: one object for each value, walks that are linear however much is shared, evaluation in one type."""

import copy
import gc
import pickle

import numpy as np
import pytest

from polyvolta.graph import interned
from polyvolta.graph.functions.formula import Call, Input, Number, inputs, nodes, shared, show, substitute
from polyvolta.graph.functions.meaning import evaluate

x, y = Input(0), Input(1)


def tower(height):
    """2^height paths through `height` nodes."""
    made = Call("add", (x, y))
    for _ in range(height):
        made = Call("mul", (made, made))
    return made


def test_equal_formulas_are_one_object_however_they_were_made():
    made = Call("add", (Input(0), Number(2)))
    assert made is Call(arguments=(Input(position=0), Number(2.0)), function="add")
    assert pickle.loads(pickle.dumps(made)) is copy.deepcopy(made) is copy.copy(made) is made
    assert eval(repr(made)) is made
    assert len({made, Call("add", (Input(0), Number(np.float16(2))))}) == 1
    assert Number(0.0) is not Number(-0.0)
    assert Number(1) is not Input(1)


@pytest.fixture
def no_search():
    """Nothing that other tests left goes meanwhile, and what goes has no need of a search for garbage."""
    gc.disable()
    yield
    gc.enable()


def test_formulas_are_freed(no_search):
    before = len(interned._INTERNED)
    made = Call("exp", (Number(0.123456),))
    assert len(interned._INTERNED) == before + 2
    del made
    assert len(interned._INTERNED) == before


def test_walks_are_linear_in_nodes_that_are_shared():
    made = tower(2000)
    assert len(nodes(made)) == 2003
    assert len(shared(made)) == 2000
    assert hash(made) == hash(tower(2000))
    assert inputs(made) == (0, 1)
    assert len(show(made, "ab")) < 2000
    assert repr(made).startswith("<Call mul(mul(") and len(repr(made)) < 2000
    assert substitute(made, {1: Number(1)}) is not made
    assert evaluate(made, [0.5, 0.5]) == 1


def test_nodes_come_after_their_arguments_left_ones_first():
    made = Call("sub", (Call("neg", (y,)), Call("mul", (x, Call("neg", (y,))))))
    order = nodes(made)
    assert [show(n, "ab") for n in order] == ["b", "neg(b)", "a", "mul(a, neg(b))", "sub(neg(b), mul(a, neg(b)))"]
    assert shared(made) == (Call("neg", (y,)),)


def test_substitution_puts_formulas_in_the_place_of_inputs():
    made = Call("sub", (x, Call("mul", (x, y))))
    assert substitute(made, {0: y, 1: x}) is Call("sub", (y, Call("mul", (y, x))))
    assert substitute(made, {}) is made
    assert substitute(made, {1: Number(3)}) is Call("sub", (x, Call("mul", (x, Number(3)))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_operation_is_rounded_to_the_type(dtype):
    a, b = np.float64(0.1), np.array([1e8, 3.0])
    got = evaluate(Call("sub", (Call("add", (x, y)), y)), [a, b], dtype)
    expected = (np.asarray(a, dtype) + b.astype(dtype)) - b.astype(dtype)
    assert got.dtype == expected.dtype == dtype
    np.testing.assert_array_equal(got, expected)


def test_operands_broadcast_and_special_values_make_no_warnings():
    with np.errstate(all="raise"):
        got = evaluate(Call("div", (x, y)), [np.ones((3, 1)), np.array([0.0, -0.0, np.nan, np.inf])])
    np.testing.assert_array_equal(got, np.tile([np.inf, -np.inf, np.nan, 0], (3, 1)))
    assert evaluate(Number(1e300), []) == np.inf
