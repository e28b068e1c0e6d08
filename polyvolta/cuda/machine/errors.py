"""What the interpreter refuses, each with a stable id."""

from __future__ import annotations

from polyvolta.cuda.errors import CudaError


class OutOfBounds(CudaError, IndexError):
    """A thread reached outside a tensor, a tile or a register array, or a name left its range."""

    id = "PV520"


class Diverged(CudaError):
    """Threads that must agree, or act together, don't."""

    id = "PV521"


class NotAChunk(CudaError, ValueError):
    """Values that are to be one wide access don't lie in one aligned chunk in order."""

    id = "PV522"


class NotHere(CudaError, ValueError):
    """An access that the thread doesn't make itself: the machine has nobody else."""

    id = "PV527"


class BadCopies(CudaError, ValueError):
    """No time at which asynchronous copies could arrive."""

    id = "PV528"


class BadHook(CudaError, TypeError):
    """A hook of the interpreter that can't be called."""

    id = "PV525"


class BadTensor(CudaError, ValueError):
    """An array, a scalar or a size isn't what the kernel's signature says."""

    id = "PV523"


class NoProduct(CudaError, ValueError):
    """An instruction that is to multiply matrices of which its lanes don't have every element."""

    id = "PV526"


class TooLong(CudaError, RuntimeError):
    """Interpreting would take longer than the caller is patient for; `smaller` says which sizes would take less."""

    id = "PV554"

    def __init__(self, message: str, *, where: str = "", hint: str = "", smaller: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.smaller = smaller


class BadPatience(CudaError, TypeError):
    """A patience that is no number of seconds."""

    id = "PV556"


class BadPhase(CudaError, RuntimeError):
    """A barrier's phases are used in a way that means nothing, or that parities can't tell apart."""

    id = "PV532"


class Deadlock(CudaError, RuntimeError):
    """Nobody can go on: every thread that hasn't ended waits for another one. Says where each stands."""

    id = "PV533"


class LeftBehind(CudaError, RuntimeError):
    """A block ends while something of it is on its way that reads or writes its shared memory."""

    id = "PV534"


class EarlyAccess(CudaError, RuntimeError):
    """A thread reached global memory while the grids before may still write there."""

    id = "PV535"
