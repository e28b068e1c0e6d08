"""Dependences between statement instances: dataflow, memory-based dependences, what lives in and out, pictures."""

from polyvolta.sched.dependence.memory import Accessing, dependences, flow, live_in, live_out
from polyvolta.sched.dependence.model import Dependence, Dependences, Flow
from polyvolta.sched.dependence.picture import Svg, draw
from polyvolta.sched.dependence.sources import dataflow

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
