"""Names of numpy, torch and the like that are none here: what an error about a missing attribute says.

Read only when a name is missing.
"""

from __future__ import annotations

from collections.abc import Callable

from polyvolta.graph.functions.table import FUNCTIONS

OPERATORS = frozenset(
    "add sub mul div neg abs pow less less_equal greater greater_equal logical_and logical_or logical_not".split()
)
"""Functions that are written as signs, or as Python's own."""

EXPRESSIONS = (
    ("sum mean prod var std norm any all cumsum argmax argmin amax amin softmax log_softmax logsumexp layernorm "
     "layer_norm rmsnorm rms_norm batchnorm batch_norm",
     "a kernel adds up products alone, and has pointwise functions around them; this is computed from its result"),
    ("matmul dot mm bmm einsum gemm linear tensordot", "A @ B is the product of two matrices"),
    ("reshape view flatten ravel squeeze unsqueeze expand permute broadcast_to concatenate concat "
     "cat stack split chunk pad roll tile repeat copy contiguous",
     "values keep their places in a kernel; what has others is made of the arrays before the call, or of the result"),
    ("transpose t mT swapaxes",
     "a tensor is declared as it is multiplied: the transpose of an array is the same memory in layout 'col'"),
    ("astype to type half float double bfloat16 cast",
     "tensors of a kernel have one element type, pv.tensor(..., dtype='bfloat16'); sums are of float32"),
    ("numpy cpu cuda item tolist eval backward",
     "an expression has no values: pv.compile(x) makes a kernel, which takes arrays; pv.reference computes in float64"),
)
"""Of an expression, and of the package: names, and what is here."""

PACKAGE = (
    ("max min", "pv.maximum and pv.minimum are pointwise; a kernel adds up products alone"),
    ("kernel jit build", "pv.compile(x) makes a kernel of an expression"),
    ("array asarray empty zeros ones full rand randn arange Tensor placeholder symbol symbols var dim dims",
     "pv.sizes('M N K') names sizes, pv.tensor('A', (M, K)) declares what an array is passed for"),
    ("bench benchmark do_bench autotune", "pv.tune(x, M=..., ...) times kernels"),
    ("verify prove interpret trace", "a method of kernels, which pv.compile(x) makes"),
    ("show draw plot", "pv.pictures draws, print(kernel.stages['mapped']) shows a tree"),
    ("Set Map", "pv.sets has them"),
    ("nest schedule scan", "pv.sched has them"),
)
"""Of the package alone."""


def of_package(name: str) -> str:
    """What the error about a missing name of the package says; "" of one that nobody would look for here.

    >>> of_package("einsum"), of_package("nothing_known")
    ('A @ B is the product of two matrices', '')
    """
    return next((here for names, here in (*PACKAGE, *EXPRESSIONS) if name in names.split()), "")


def of_expression(name: str) -> str:
    """The same of an attribute of an expression.

    >>> of_expression("relu"), of_expression("mm")
    ('pv.relu(x) is a function', 'A @ B is the product of two matrices')
    """
    if name in FUNCTIONS and name not in OPERATORS:
        return f"pv.{name}(x) is a function"
    return next((here for names, here in (("max min", PACKAGE[0][1]), *EXPRESSIONS) if name in names.split()), "")


def missing(thing: object, name: str, here: Callable[[str], str]) -> object:
    """What `__getattr__` gives for a name that an object was asked for in vain: an error that says what is here.

    Where its class has the name, a property went wrong with an AttributeError of its own: it is raised, not hidden.

    Parameters
    ----------
    here : what there is in the place of a name; not asked about names of protocols, such as `__array__`.
    """
    if any(name in vars(kind) for kind in type(thing).__mro__):
        return object.__getattribute__(thing, name)
    words = "" if name.startswith("_") else here(name)
    message = f"{type(thing).__name__!r} object has no attribute {name!r}"
    raise AttributeError(f"{message}; {words}" if words else message, name=name, obj=thing)
