"""What a dependence is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvolta.sets import Map

Kind = Literal["RAW", "WAR", "WAW"]


@dataclass(frozen=True, slots=True)
class Dependence:
    """Instances of `source` that must run before instances of `sink`, because of `array`.

    Parameters
    ----------
    kind : "RAW" the sink reads what the source wrote (flow), "WAR" it overwrites what the source read (anti), "WAW" it
        overwrites what the source wrote (output).
    relation : sources -> sinks; one tuple on either side.
    """

    kind: Kind
    array: str
    source: str
    sink: str
    relation: Map
