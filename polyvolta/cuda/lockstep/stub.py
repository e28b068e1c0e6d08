"""A formula's value, until graph.formula has it."""

import numpy as np

from polyvolta.graph.formula import Call, Input, Number

MEANING = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "relu": lambda x: np.maximum(x, np.float32(0)), "tanh": np.tanh, "exp": np.exp,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "max": np.maximum, "min": np.minimum, "maximum": np.maximum,
}  # fmt: skip


def evaluate(formula, operands, xp=np.float32):
    match formula:
        case Input(position):
            return operands[position]
        case Number(value):
            return np.float32(value)
        case Call(function, arguments):
            return MEANING[function](*(evaluate(a, operands, xp) for a in arguments))
