"""Dependences between statement instances: dataflow, memory-based dependences, what lives in and out, pictures."""

from polyvolta.sched.dependences.memory import Accessing, dependences, flow, live_in, live_out
from polyvolta.sched.dependences.model import Dependence, Dependences, Flow
from polyvolta.sched.dependences.picture import Svg, draw
from polyvolta.sched.dependences.sources import dataflow

__all__ = [
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
