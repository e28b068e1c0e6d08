"""Schedule trees, dependences, transformations, and loops from trees."""

from polyvolta.sched.scheduler import initial
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Schedule,
    Sequence,
    SetNode,
)

__all__ = [
    "Band",
    "Context",
    "Domain",
    "Extension",
    "Filter",
    "Guard",
    "Leaf",
    "Mark",
    "Member",
    "Schedule",
    "Sequence",
    "SetNode",
    "initial",
]
