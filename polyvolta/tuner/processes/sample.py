"""Some elements of a result in float64: what the first candidate is compared with.

Element (i, j) of a result needs row i of what stands to the left of a product and column j of what stands to its right.
So some rows and columns of a graph's outputs are evaluated from as many lines of its inputs, whatever the graph: a
product asks its left operand for all columns, its right one for all rows; a pointwise operation asks its operands for
the same, those that broadcast for the lines that they have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyvolta.graph.expr import Constant, Expr, MatMul, Pointwise
from polyvolta.graph.functions.meaning import MEANING, evaluate
from polyvolta.graph.tensors import Tensor

Lines = np.ndarray | slice
ALL = slice(None)


def sampled(expr: Expr, arrays: Mapping[str, np.ndarray], scalar: float, rows: Lines, cols: Lines) -> np.ndarray:
    """Some rows and columns of an expression's value, in float64.

    Parameters
    ----------
    arrays : the inputs by name, of any type that widens to float64.
    scalar : the value of every scalar.
    rows, cols : which ones, as indices; `ALL`.

    >>> import polyvolta as pv
    >>> A, B, bias = pv.tensor("A", (2, 3)), pv.tensor("B", (3, 4)), pv.tensor("bias", (4,))
    >>> values = {"A": np.ones((2, 3)), "B": np.arange(12.0).reshape(3, 4), "bias": np.array([0, 0, 0, -30.0])}
    >>> sampled(pv.relu(A @ B + bias), values, 1.0, np.array([1]), np.array([0, 3]))
    array([[12.,  0.]])
    """
    known: dict[tuple[Expr, bool, bool], Any] = {}

    def value(e: Expr, row: Lines, col: Lines) -> Any:
        key = e, row is rows, col is cols  # a product's operands are asked for all of one kind
        if key not in known:
            known[key] = _value(e, row, col)
        return known[key]

    def _value(e: Expr, row: Lines, col: Lines) -> Any:
        match e:
            case Constant(value=v):
                return v
            case Tensor(dims=()):
                return scalar
            case Tensor(name=name):
                return _lines(np.asarray(arrays[name]), row, col).astype(np.float64)
            case MatMul(left=left, right=right):
                return value(left, row, ALL) @ value(right, ALL, col)
            case Pointwise(function=f, arguments=arguments, definition=None):
                return MEANING[f](*(value(x, row, col) for x in arguments))
            case Pointwise(arguments=arguments, definition=formula) if formula is not None:
                return evaluate(formula, [value(x, row, col) for x in arguments], np.float64)
        raise TypeError(type(e).__name__)

    with np.errstate(all="ignore"):
        return value(expr, rows, cols)


def _lines(array: np.ndarray, rows: Lines, cols: Lines) -> np.ndarray:
    """Rows and columns of an array; a dimension of length 1 stretches, and a vector is a row."""
    if array.shape[-1] > 1:
        array = array[..., cols]
    return array if array.ndim < 2 or array.shape[0] == 1 else array[rows]


def apart(found: np.ndarray, exact: np.ndarray) -> float:
    """The relative L2 difference of values that are finite in both; infinite where one in a hundred is so in one alone.

    >>> apart(np.array([1.0, np.inf]), np.array([1.0, np.inf])), apart(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    (0.0, inf)
    """
    there, same = np.isfinite(found), np.isfinite(exact)
    if np.count_nonzero(there != same) * 100 > exact.size:
        return float("inf")
    both = there & same
    x, y = found[both].astype(np.float64), exact[both]
    return float(np.linalg.norm(x - y) / (np.linalg.norm(y) or 1.0))
