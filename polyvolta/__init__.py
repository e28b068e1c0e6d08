"""polyvolta: tensor-core kernels from a graph of matrix products, by integer sets alone.

The public face. Every name is imported when it is first used (PEP 562), so `import polyvolta` costs
milliseconds and brings in neither numba nor sympy nor numpy:

    import polyvolta as pv
    M, N, K = pv.sizes("M N K")
    C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    kernel = pv.compile(C, target="sm_70")
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from polyvolta.version import VERSION

if TYPE_CHECKING:
    from polyvolta import sched as sched
    from polyvolta import sets as sets
    from polyvolta.compiler.driver import compile as compile
    from polyvolta.compiler.options import Options as Options
    from polyvolta.cuda import pictures as pictures
    from polyvolta.cuda.target.registry import targets as targets
    from polyvolta.graph.dims import sizes as sizes
    from polyvolta.graph.functions.named import ceil as ceil
    from polyvolta.graph.functions.named import clamp as clamp
    from polyvolta.graph.functions.named import cos as cos
    from polyvolta.graph.functions.named import elu as elu
    from polyvolta.graph.functions.named import equal as equal
    from polyvolta.graph.functions.named import erf as erf
    from polyvolta.graph.functions.named import exp as exp
    from polyvolta.graph.functions.named import exp2 as exp2
    from polyvolta.graph.functions.named import expm1 as expm1
    from polyvolta.graph.functions.named import floor as floor
    from polyvolta.graph.functions.named import gelu as gelu
    from polyvolta.graph.functions.named import gelu_tanh as gelu_tanh
    from polyvolta.graph.functions.named import leaky_relu as leaky_relu
    from polyvolta.graph.functions.named import log as log
    from polyvolta.graph.functions.named import log1p as log1p
    from polyvolta.graph.functions.named import log2 as log2
    from polyvolta.graph.functions.named import maximum as maximum
    from polyvolta.graph.functions.named import minimum as minimum
    from polyvolta.graph.functions.named import not_equal as not_equal
    from polyvolta.graph.functions.named import relu as relu
    from polyvolta.graph.functions.named import rint as rint
    from polyvolta.graph.functions.named import rsqrt as rsqrt
    from polyvolta.graph.functions.named import sigmoid as sigmoid
    from polyvolta.graph.functions.named import sign as sign
    from polyvolta.graph.functions.named import silu as silu
    from polyvolta.graph.functions.named import sin as sin
    from polyvolta.graph.functions.named import softplus as softplus
    from polyvolta.graph.functions.named import sqrt as sqrt
    from polyvolta.graph.functions.named import square as square
    from polyvolta.graph.functions.named import tanh as tanh
    from polyvolta.graph.functions.named import where as where
    from polyvolta.graph.functions.pointwise import pointwise as pointwise
    from polyvolta.graph.outputs import output as output
    from polyvolta.graph.reference import reference as reference
    from polyvolta.graph.tensors import scalar as scalar
    from polyvolta.graph.tensors import tensor as tensor
    from polyvolta.sets.errors import PolyvoltaError as PolyvoltaError
    from polyvolta.tuner.tune import tune as tune

__version__ = VERSION

_FUNCTIONS = (
    "ceil clamp cos elu equal erf exp exp2 expm1 floor gelu gelu_tanh leaky_relu"
    " log log1p log2 maximum minimum not_equal relu rint rsqrt sigmoid sign silu sin softplus"
    " sqrt square tanh where"
).split()
_HOMES = {
    "sizes": "polyvolta.graph.dims",
    "scalar": "polyvolta.graph.tensors",
    "tensor": "polyvolta.graph.tensors",
    "output": "polyvolta.graph.outputs",
    **dict.fromkeys(_FUNCTIONS, "polyvolta.graph.functions.named"),
    "pointwise": "polyvolta.graph.functions.pointwise",
    "reference": "polyvolta.graph.reference",
    "compile": "polyvolta.compiler.driver",
    "Options": "polyvolta.compiler.options",
    "targets": "polyvolta.cuda.target.registry",
    "PolyvoltaError": "polyvolta.sets.errors",
    "tune": "polyvolta.tuner.tune",
}
_SUBPACKAGES = {"pictures": "polyvolta.cuda.pictures", "sched": "polyvolta.sched", "sets": "polyvolta.sets"}

__all__ = [  # noqa: F822 (the names are there on first use)
    "Options",
    "PolyvoltaError",
    "ceil",
    "clamp",
    "compile",
    "cos",
    "elu",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "gelu",
    "gelu_tanh",
    "leaky_relu",
    "log",
    "log1p",
    "log2",
    "maximum",
    "minimum",
    "not_equal",
    "output",
    "pictures",
    "pointwise",
    "reference",
    "relu",
    "rint",
    "rsqrt",
    "scalar",
    "sched",
    "sets",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sizes",
    "softplus",
    "sqrt",
    "square",
    "tanh",
    "targets",
    "tensor",
    "tune",
    "where",
]


def _found(name: str) -> object:
    """A name of the public face, at its first use."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(_SUBPACKAGES[name])
    else:
        here = "" if name.startswith("_") else _instead(name)
        raise import_module("polyvolta.sets.errors").no_name("polyvolta", name, here and f"; {here}")
    globals()[name] = value  # the next look-up finds it here
    return value


def _instead(name: str) -> str:
    """What an error says of a name that is none here; "" where nothing is near."""
    from difflib import get_close_matches

    from polyvolta.graph.functions.elsewhere import of_package

    close = get_close_matches(name, __all__, n=1)
    return of_package(name) or (f"did you mean {close[0]!r}?" if close else "")


if not TYPE_CHECKING:  # checkers know the names, and that there are no others
    __getattr__ = _found


def __dir__() -> list[str]:
    """The names of the package and of its modules that are there, without what it imports for itself."""
    there = (n for n, v in globals().items() if n.startswith("__") or isinstance(v, ModuleType))
    return sorted({*there, *__all__})
