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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvolta import sched as sched
    from polyvolta import sets as sets
    from polyvolta.compiler import compile as compile
    from polyvolta.graph.expr import relu as relu
    from polyvolta.graph.expr import sigmoid as sigmoid
    from polyvolta.graph.expr import tanh as tanh
    from polyvolta.graph.reference import reference as reference
    from polyvolta.graph.tensors import sizes as sizes
    from polyvolta.graph.tensors import tensor as tensor
    from polyvolta.options import Options as Options
    from polyvolta.sets.errors import PolyvoltaError as PolyvoltaError

__version__ = "0.1.0"

_HOMES = {
    "sizes": "polyvolta.graph.tensors",
    "tensor": "polyvolta.graph.tensors",
    "relu": "polyvolta.graph.expr",
    "sigmoid": "polyvolta.graph.expr",
    "tanh": "polyvolta.graph.expr",
    "reference": "polyvolta.graph.reference",
    "compile": "polyvolta.compiler",
    "Options": "polyvolta.options",
    "PolyvoltaError": "polyvolta.sets.errors",
}
_SUBPACKAGES = ("sched", "sets")

__all__ = [  # noqa: F822 (the names are there on first use)
    "Options",
    "PolyvoltaError",
    "compile",
    "reference",
    "relu",
    "sched",
    "sets",
    "sigmoid",
    "sizes",
    "tanh",
    "tensor",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(f"polyvolta.{name}")
    else:
        from difflib import get_close_matches

        close = get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {close[0]!r}?" if close and not name.startswith("_") else ""
        raise AttributeError(f"module 'polyvolta' has no attribute {name!r}{hint}")
    globals()[name] = value  # the next look-up finds it here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
