"""What can't be drawn, each with a stable id."""

from __future__ import annotations

from polyvolta.cuda.errors import CudaError


class NotInKernel(CudaError, LookupError):
    """The kernel has no tile, access, warp, block, loop or output of that name or number."""

    id = "PV560"


class NothingToDraw(CudaError, ValueError):
    """The kernel has nothing of the kind that the picture shows, such as a k loop."""

    id = "PV561"


class TooMuchToDraw(CudaError, ValueError):
    """A picture with more parts than anybody could read."""

    id = "PV562"


class BadPicture(CudaError, ValueError):
    """An argument of a picture that isn't what it should be."""

    id = "PV563"
