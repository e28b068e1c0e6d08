"""What a module does beside its forward, which no trace shows; and what of it a conversion relies on afterwards.

Weights are looked up in each call, so whoever trains or replaces them is followed. The rest was read once: which
modules there are, whether they drop at random, that no hooks run. `Followed` says in each call whether it is still so.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules import module as of_torch
from torch.nn.utils import parametrize

from polyvolta.torch.errors import ChangedModule, UnsupportedModule

_HOOKS = {"_forward_pre_hooks": "a forward pre-hook", "_forward_hooks": "a forward hook",
          "_backward_pre_hooks": "a backward pre-hook", "_backward_hooks": "a backward hook"}  # fmt: skip
_AGAIN = "from_module once more, of the module as it is"


def check_state(module: nn.Module) -> None:
    """Refuse what runs beside a module's forward.

    Raises
    ------
    UnsupportedModule : hooks of a module in it, or of all modules; a parametrization; a forward of one object.
    """
    for kind, what in _HOOKS.items():
        if hooks := getattr(of_torch, f"_global{kind}", None):
            raise UnsupportedModule(
                f"{what} of all modules, {_names(hooks)}, would not be called",
                where="torch.nn.modules.module.register_module_...",
                hint="its handle's remove(), before the module is converted",
            )
    for path, m in module.named_modules():
        where = f"{path or 'the module itself'}: {m}".splitlines()[0].removesuffix("(")
        if parametrize.is_parametrized(m):
            names = list(m.parametrizations)  # type: ignore[arg-type]
            are = "are" if len(names) > 1 else "is"
            raise UnsupportedModule(
                f"kernels have no {type(m).__name__}: {', '.join(names)} {are} computed anew in each call",
                where=where,
                hint=f'torch.nn.utils.parametrize.remove_parametrizations(module, "{names[0]}") leaves the value',
            )
        for kind, what in _HOOKS.items():
            if hooks := getattr(m, kind, None):
                raise UnsupportedModule(
                    f"{type(m).__name__} has {what}, {_names(hooks)}, which would not be called",
                    where=where,
                    hint="torch.nn.utils.remove_weight_norm, torch.nn.utils.prune.remove, or its handle's remove()",
                )
        if "forward" in vars(m):
            raise UnsupportedModule(f"{type(m).__name__} has a forward of its own, set on the object", where=where,
                                    hint="a class with that forward")  # fmt: skip


def _names(hooks: Any) -> str:
    """What hooks are called."""
    return ", ".join(getattr(h, "__name__", type(h).__name__) for h in hooks.values())


class Followed:
    """What is to stay as it is in a module that was converted.

    Parameters
    ----------
    module : whose weights are used.
    reads_training : whether its own code does otherwise in training mode.
    """

    def __init__(self, module: nn.Module, reads_training: bool) -> None:
        self._parts = [(path, m, type(m), (*m._modules.values(),), _missing(m), m.training if reads_training else None)
                       for path, m in module.named_modules()]  # fmt: skip
        self._drops = [(path, m) for path, m in module.named_modules() if isinstance(m, nn.Dropout)]

    def check(self) -> None:
        """Cost: about a microsecond for each module.

        Raises
        ------
        ChangedModule : a module was replaced, added or removed, a hook or a parametrization added, a weight that
            wasn't there; one went to another mode, where that matters.
        """
        for path, m, kind, children, missing, training in self._parts:
            if m._forward_hooks or m._forward_pre_hooks or type(m) is not kind:
                raise _changed(path, m, "has a hook or a parametrization that it hadn't")
            if (*m._modules.values(),) != children:
                raise _changed(path, m, "has other modules in it than it had")
            if missing and any(m._parameters.get(n) is not None for n in missing):
                raise _changed(path, m, f"has a {' and a '.join(missing)}, and had none")
            if training is not None and m.training is not training:
                raise _changed(path, m, f"is in {'training' if m.training else 'eval'} mode, and was in the other one",
                               f"module.{'eval' if m.training else 'train'}(), or ")  # fmt: skip
        for path, m in self._drops:
            if m.training and m.p > 0:
                raise _changed(path, m, "is in training mode, where it drops at random", "module.eval(), or ")


def _missing(m: nn.Module) -> tuple[str, ...]:
    return tuple(n for n, p in m._parameters.items() if p is None)


def _changed(path: str, m: nn.Module, what: str, hint: str = "") -> ChangedModule:
    name = f"{path}, a {type(m).__name__}," if path else f"the {type(m).__name__}"
    return ChangedModule(f"{name} {what}: its kernels were made for what it was", hint=hint + _AGAIN)
