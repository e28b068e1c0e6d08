"""What can be wrong with operators and modules of torch: PV9xx."""

from __future__ import annotations

from polyvolta.sets.errors import PolyvoltaError


class NoTorch(PolyvoltaError, ImportError):
    """torch isn't installed."""

    id = "PV901"


class WrongTensor(PolyvoltaError, ValueError):
    """An argument of an operator that is no tensor, of another type than the kernel's, or on another device."""

    id = "PV902"


class NoGradient(PolyvoltaError, RuntimeError):
    """A gradient was asked for that there is none of."""

    id = "PV903"


class UnsupportedModule(PolyvoltaError, NotImplementedError):
    """A module, or an operator in it, that no kernel is made for: says which, where, and what would work."""

    id = "PV904"


class BadOperator(PolyvoltaError, ValueError):
    """A name that torch.library doesn't take or has already, or something that no operator can be made of."""

    id = "PV905"


class ChangedModule(PolyvoltaError, RuntimeError):
    """A module was changed after its conversion in a way that its kernels can't follow."""

    id = "PV906"
