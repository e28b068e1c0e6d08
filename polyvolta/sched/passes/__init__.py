"""Transformations of schedule trees, one a file: `op(schedule, at, ...) -> schedule`."""

from polyvolta.sched.passes.contract import contract
from polyvolta.sched.passes.map_to_gpu import map_members
from polyvolta.sched.passes.prefetch import prefetch
from polyvolta.sched.passes.shift import shift
from polyvolta.sched.passes.split import split
from polyvolta.sched.passes.tile import tile

__all__ = ["contract", "map_members", "prefetch", "shift", "split", "tile"]
