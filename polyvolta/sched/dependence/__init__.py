"""Dependences between statement instances: dataflow, memory-based dependences, what lives in and out, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.lazily import homes, lazily

if TYPE_CHECKING:
    from polyvolta.sched.dependence.memory import Accessing as Accessing
    from polyvolta.sched.dependence.memory import dependences as dependences
    from polyvolta.sched.dependence.memory import flow as flow
    from polyvolta.sched.dependence.memory import live_in as live_in
    from polyvolta.sched.dependence.memory import live_out as live_out
    from polyvolta.sched.dependence.model import Dependence as Dependence
    from polyvolta.sched.dependence.model import Dependences as Dependences
    from polyvolta.sched.dependence.model import Flow as Flow
    from polyvolta.sched.dependence.picture import Svg as Svg
    from polyvolta.sched.dependence.picture import draw as draw
    from polyvolta.sched.dependence.sources import dataflow as dataflow

_HOMES = homes(
    {
        "memory": "Accessing dependences flow live_in live_out",
        "model": "Dependence Dependences Flow",
        "picture": "Svg draw",
        "sources": "dataflow",
    }
)
if not TYPE_CHECKING:  # checkers know the names, and that there are no others
    __getattr__, __dir__ = lazily(__name__, _HOMES)

__all__ = [  # noqa: F822 (the names are there on first use)
    "Accessing",
    "Dependence",
    "Dependences",
    "Flow",
    "Svg",
    "dataflow",
    "dependences",
    "draw",
    "flow",
    "live_in",
    "live_out",
]
