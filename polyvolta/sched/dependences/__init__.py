"""Dependences between statement instances: dataflow, memory-based dependences, what lives in and out, pictures."""

from polyvolta.sched.dependences.memory import Accessing, dependences, flow, live_in, live_out
from polyvolta.sched.dependences.model import Dependence, Dependences
from polyvolta.sched.dependences.sources import Flow, dataflow

__all__ = ["Accessing", "Dependence", "Dependences", "Flow", "dataflow", "dependences", "flow", "live_in", "live_out"]
