"""Kernels as operators of torch, with gradients; and modules of torch as kernels. Needs the extra `torch`.

    operator       an expression, or a kernel, as a `torch.library` operator: `operator(pv.relu(A @ B + bias))`
    from_module    a module of torch.nn, traced, as such operators: `from_module(torch.nn.Sequential(...))`

Names are imported on first use, and torch with them: this package is there without it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvolta.torch.errors import ChangedModule as ChangedModule
    from polyvolta.torch.errors import NoGradient as NoGradient
    from polyvolta.torch.errors import UnsupportedModule as UnsupportedModule
    from polyvolta.torch.errors import WrongTensor as WrongTensor
    from polyvolta.torch.modules.module import KernelModule as KernelModule
    from polyvolta.torch.modules.module import from_module as from_module
    from polyvolta.torch.operators import Operator as Operator
    from polyvolta.torch.operators import operator as operator

_HOMES = {"ChangedModule": "errors", "KernelModule": "modules.module", "NoGradient": "errors",
          "Operator": "operators", "UnsupportedModule": "errors", "WrongTensor": "errors",
          "from_module": "modules.module", "operator": "operators"}  # fmt: skip

__all__ = ["ChangedModule", "KernelModule", "NoGradient", "Operator", "UnsupportedModule", "WrongTensor",
           "from_module", "operator"]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if home != "errors" and find_spec("torch") is None:
        from polyvolta.torch.errors import NoTorch

        raise NoTorch(
            f"polyvolta.torch.{name} needs torch, which isn't installed",
            hint="pip install 'polyvolta[torch]', or torch by itself",
        )
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names of the package and of its modules that are there, without what it imports for itself."""
    there = (n for n, v in globals().items() if n.startswith("__") or isinstance(v, ModuleType))
    return sorted({*there, *__all__})
