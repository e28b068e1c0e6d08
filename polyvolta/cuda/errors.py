"""What can go wrong between a kernel's text and its run on a GPU, each with a stable id: PV5xx.

PV501, 502, 503 and 507 come from compiling and from reading machine code (`nvrtc`), which need no GPU; PV504, 505 and
506 from running (`launch`); PV514 and 565 are about names, which the command line refuses before it loads what has
them. Modules that have errors of their own define them: the cache, views, the interpreter.
"""

from __future__ import annotations

from collections.abc import Collection

from polyvolta.sets.errors import PolyvoltaError, nearest


class CudaError(PolyvoltaError):
    """Root of the errors of compiling and running CUDA text."""

    id = "PV500"


class CompilerMissing(CudaError, ImportError):
    """NVRTC, NVIDIA's run-time compiler, isn't installed."""

    id = "PV501"


class CompileFailed(CudaError):
    """NVRTC or ptxas refused the text.

    Parameters
    ----------
    message, where, hint : as in every `PolyvoltaError`; `where` shows the offending lines.
    log : the compiler's whole log.
    """

    id = "PV502"

    def __init__(self, message: str, *, where: str = "", hint: str = "", log: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.log = log


class UnsupportedArch(CudaError, ValueError):
    """No installed NVRTC targets that architecture; CUDA 13 doesn't target Volta."""

    id = "PV503"


class LaunchFailed(CudaError, RuntimeError):
    """The driver refused to load, configure or run a kernel, or its run ended in an error."""

    id = "PV504"


class NoGpu(CudaError, RuntimeError):
    """Something was to run on a GPU, but GPU, driver or numba-cuda is missing; says which."""

    id = "PV505"


class NotADeviceArray(CudaError, TypeError):
    """An array that can't be read where it lies in GPU memory."""

    id = "PV506"


class WrongGpu(CudaError, RuntimeError):
    """The GPU at hand can't run a kernel: it is older than the kernel's target, or a block is too large for it."""

    id = "PV568"


class BadImage(CudaError, ValueError):
    """Bytes that are no cubin, or a cubin without that kernel."""

    id = "PV507"


class UnknownTarget(CudaError, ValueError):
    """No target, or no macro-MMA of a target, of that name."""

    id = "PV514"


class UnknownMutant(CudaError, LookupError):
    """No mutant has that name."""

    id = "PV565"


def unknown_mutant(name: object, known: Collection[str]) -> UnknownMutant:
    """The error for the name of no mutant: suggests the nearest, else those with its words, else all.

    >>> unknown_mutant("stores", ["no barrier", "no barrier before the stores", "tiles overlap"]).hint
    "those with this word: 'no barrier before the stores'"
    """
    words = set(str(name).split())
    hint = nearest(str(name), known, most=len(known))
    if hint.startswith("known") and (some := [k for k in known if words and words <= set(k.split())]):
        hint = f"those with {'this word' if len(words) == 1 else 'these words'}: {', '.join(map(repr, some))}"
    return UnknownMutant(f"no mutant is called {name!r}", hint=hint)
