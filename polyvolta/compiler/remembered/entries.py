"""What is known of one candidate: its options, how it fared, its time; as a value and as a row of the file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from polyvolta.compiler.options import Options
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.display.shown import Record
from polyvolta.sets import PolyvoltaError

TIMED, WRONG, FAILED, HANGS, DIED = OUTCOMES = "timed", "wrong", "failed", "hangs", "died"
"""It has a time; its results are wrong; it doesn't compile or launch; it took longer than its limit; its process
ended."""


@dataclass(frozen=True, slots=True)
class Timed(Record):
    """How a candidate fared.

    Attributes
    ----------
    options : all of them.
    outcome : one of `OUTCOMES`.
    seconds : of a launch, a median; None but for `TIMED`.
    final : whether the time is of the last rounds, in which the best took turns.
    note : why there is no time.
    """

    options: Options
    outcome: str
    seconds: float | None = None
    final: bool = False
    note: str = ""

    @property
    def settled(self) -> bool:
        """Whether nobody has to try it again: where a process ended, it may not have been the candidate's doing."""
        return self.outcome != DIED

    def timed(self, seconds: float, final: bool = False) -> Timed:
        """The same with a time."""
        return replace(self, outcome=TIMED, seconds=seconds, final=final, note="")

    def _facts(self) -> list[tuple[str, object]]:
        time = f"{1e6 * self.seconds:.2f} us" if self.seconds is not None else ""
        return [("outcome", self.outcome), ("time", time), ("of the last rounds", self.final), ("note", self.note),
                ("options", self.options)]  # fmt: skip

    def _title(self) -> str:
        return "a candidate of tuning"


def text_of(options: Options) -> str:
    """Options as one text, which `options_of` reads; equal ones have the same.

    >>> options = Options(block_tile=(128, 64, 32), split_k=2)
    >>> options_of(text_of(options)) == options
    True
    """
    return json.dumps({name: getattr(options, name) for name in OPTIONS}, sort_keys=True)


def options_of(text: str) -> Options | None:
    """The options of a text; None where it is of none that there are.

    >>> print(options_of('{"block_tile": "large"}'), options_of("[1, 2]"), options_of('{"block_tile'))
    None None None
    """
    try:
        values = json.loads(text)
        return Options(**{name: _whole(v) for name, v in values.items()})
    except (ValueError, TypeError, AttributeError, PolyvoltaError):
        return None


def _whole(value: Any) -> Any:
    """Lists are tuples."""
    return tuple(value) if isinstance(value, list) else value


def best_of(entries: tuple[Timed, ...]) -> Timed | None:
    """The fastest: of those of the last rounds, if there are any."""
    timed = [e for e in entries if e.seconds is not None]
    return min([e for e in timed if e.final] or timed, key=lambda e: e.seconds or 0.0, default=None)
