"""Dependences between statement instances."""

from polyvolta.sched.dependences.memory import Accessing, dependences, distances, negative_at, nonzero_at
from polyvolta.sched.dependences.model import Dependence

__all__ = ["Accessing", "Dependence", "dependences", "distances", "negative_at", "nonzero_at"]
