"""What can go wrong while options are timed, each with a stable id: PV70x."""

from __future__ import annotations

from polyvolta.sets.errors import PolyvoltaError


class Foreign(PolyvoltaError, RuntimeError):
    """An error of another library in a process of the tuner."""

    id = "PV701"

    @classmethod
    def of(cls, wrong: BaseException) -> Foreign:
        return cls(f"{type(wrong).__name__}: {wrong}")


class Hangs(PolyvoltaError, RuntimeError):
    """A call took longer than its limit; its process was ended."""

    id = "PV702"


class Died(PolyvoltaError, RuntimeError):
    """A process ended amid a call; says what it said last."""

    id = "PV703"


class DoesNotFit(PolyvoltaError, ValueError):
    """Sizes whose arrays the GPU's memory doesn't hold."""

    id = "PV704"


class WrongResult(PolyvoltaError, ArithmeticError):
    """A candidate's results are not what float64 says, or not what another candidate's are."""

    id = "PV705"


class NothingToTime(PolyvoltaError, ValueError):
    """Tuning was asked for what has no time: a size missing, unknown or 0, no budget, or no candidates."""

    id = "PV706"


class NothingTimed(PolyvoltaError, RuntimeError):
    """No candidate got a time; says why for the first ones."""

    id = "PV707"


class NoGpuThere(PolyvoltaError, RuntimeError):
    """A worker sees no GPU of the kind that is tuned for."""

    id = "PV708"
