"""What can't be observed, or wasn't, each with a stable id."""

from __future__ import annotations

from polyvolta.cuda.errors import CudaError


class NothingToObserve(CudaError, ValueError):
    """An observer was asked for that a kernel has no meaning for."""

    id = "PV555"


class BadObserve(CudaError, TypeError):
    """`observe=` is neither a name nor some names."""

    id = "PV557"


class NotObserved(CudaError, LookupError):
    """A picture of what nobody watched."""

    id = "PV559"
