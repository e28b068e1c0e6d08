"""Schedules of affine loop nests: dependences, the scheduler, tree transformations, and code from any tree.

>>> from polyvolta.sched import nest, schedule, tile, scan, to_c
>>> @nest
... def jacobi_1d(A, B, T, N):
...     for t in range(T):
...         for i in range(1, N - 1):
...             B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3
...         for i in range(1, N - 1):
...             A[i] = (B[i - 1] + B[i] + B[i + 1]) / 3
>>> tree = schedule(jacobi_1d)
>>> print(tree)
DOMAIN: S1[t, i] : 0 ≤ t < T ∧ 1 ≤ i ≤ N - 2;
        S2[t, i] : 0 ≤ t < T ∧ 1 ≤ i ≤ N - 2
  BAND: S1[t, i] → [t, i + 2t];
        S2[t, i] → [t, i + 2t + 1]
    SEQUENCE
      FILTER: S1[t, i]
      FILTER: S2[t, i]
>>> tiled = tile(tree, (0,), (32, 32))

The rooms: `program` (statements, and where they come from), `dependence`, `scheduler`, `passes` (transformations, one
a file), `loops` (from trees to loops), `emit` (loops as C, as Python, as runs), `views` (trees as text and pictures).
`legality` decides whether a tree respects dependences. docs/schedules.md is the guide.
"""

from polyvolta.sched.dependence import (
    Dependence,
    Dependences,
    Flow,
    dataflow,
    dependences,
    draw,
    flow,
    live_in,
    live_out,
)
from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.emit.execute import Compiled, build, execute
from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.legality import BandFlags, Violation, band_flags, check, violations
from polyvolta.sched.loops.scan import Scan, scan
from polyvolta.sched.passes import *  # noqa: F403 (every transformation, by the list in passes)
from polyvolta.sched.passes import __all__ as _passes
from polyvolta.sched.program import Access, Program, Statement, instances, nest, nest_from_source
from polyvolta.sched.scheduler import initial, schedule
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
from polyvolta.sched.views import Diff, diff

__all__ = [
    "Access",
    "Band",
    "BandFlags",
    "Compiled",
    "Context",
    "Dependence",
    "Dependences",
    "Diff",
    "Domain",
    "Extension",
    "Filter",
    "Flow",
    "Guard",
    "Leaf",
    "Mark",
    "Member",
    "Program",
    "Scan",
    "Schedule",
    "Sequence",
    "SetNode",
    "Statement",
    "Violation",
    "band_flags",
    "build",
    "check",
    "dataflow",
    "dependences",
    "diff",
    "draw",
    "execute",
    "flow",
    "initial",
    "instances",
    "live_in",
    "live_out",
    "nest",
    "nest_from_source",
    "run",
    "scan",
    "schedule",
    "to_c",
    "to_python",
    "violations",
    *_passes,
]
