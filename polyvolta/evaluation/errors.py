"""What can go wrong in an evaluation, each with a stable id: PV8xx."""

from __future__ import annotations

from polyvolta.sets.errors import PolyvoltaError


class EvaluationError(PolyvoltaError):
    """Root of the errors of evaluations."""

    id = "PV800"


class NoLibrary(EvaluationError, ImportError):
    """torch, whose kernels stand on the other side, isn't installed or has no GPU."""

    id = "PV801"


class BadRecords(EvaluationError, ValueError):
    """A CSV file that is none of an evaluation's."""

    id = "PV802"


class UnknownBenchmark(EvaluationError, ValueError):
    """No benchmark has that name."""

    id = "PV803"


class NoFigures(EvaluationError, ImportError):
    """matplotlib, which draws, is missing, or there is nothing to draw."""

    id = "PV804"
