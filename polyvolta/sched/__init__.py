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

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched import passes as _passes
from polyvolta.sched.lazily import homes, lazily

if TYPE_CHECKING:
    from polyvolta.sched.dependence.descent import Violation as Violation
    from polyvolta.sched.dependence.memory import dependences as dependences
    from polyvolta.sched.dependence.memory import flow as flow
    from polyvolta.sched.dependence.memory import live_in as live_in
    from polyvolta.sched.dependence.memory import live_out as live_out
    from polyvolta.sched.dependence.model import Dependence as Dependence
    from polyvolta.sched.dependence.model import Dependences as Dependences
    from polyvolta.sched.dependence.model import Flow as Flow
    from polyvolta.sched.dependence.picture import draw as draw
    from polyvolta.sched.dependence.sources import dataflow as dataflow
    from polyvolta.sched.emit.arrays import aligned as aligned
    from polyvolta.sched.emit.c.text import to_c as to_c
    from polyvolta.sched.emit.execute import Compiled as Compiled
    from polyvolta.sched.emit.execute import build as build
    from polyvolta.sched.emit.execute import execute as execute
    from polyvolta.sched.emit.processor import compile_c as compile_c
    from polyvolta.sched.emit.python.text import to_python as to_python
    from polyvolta.sched.emit.run import run as run
    from polyvolta.sched.legality import BandFlags as BandFlags
    from polyvolta.sched.legality import band_flags as band_flags
    from polyvolta.sched.legality import check as check
    from polyvolta.sched.legality import violations as violations
    from polyvolta.sched.loops.scan import Scan as Scan
    from polyvolta.sched.loops.scan import scan as scan
    from polyvolta.sched.passes import *  # noqa: F403 (every transformation, by the list in passes)
    from polyvolta.sched.program.interpret import instances as instances
    from polyvolta.sched.program.model import Access as Access
    from polyvolta.sched.program.model import Program as Program
    from polyvolta.sched.program.model import Statement as Statement
    from polyvolta.sched.program.nests.array import Array as Array
    from polyvolta.sched.program.nests.nest import nest as nest
    from polyvolta.sched.program.nests.nest import nest_from_source as nest_from_source
    from polyvolta.sched.scheduler.schedule import initial as initial
    from polyvolta.sched.scheduler.schedule import schedule as schedule
    from polyvolta.sched.tree import Band as Band
    from polyvolta.sched.tree import Context as Context
    from polyvolta.sched.tree import Domain as Domain
    from polyvolta.sched.tree import Expansion as Expansion
    from polyvolta.sched.tree import Extension as Extension
    from polyvolta.sched.tree import Filter as Filter
    from polyvolta.sched.tree import Guard as Guard
    from polyvolta.sched.tree import Leaf as Leaf
    from polyvolta.sched.tree import Mark as Mark
    from polyvolta.sched.tree import Member as Member
    from polyvolta.sched.tree import Schedule as Schedule
    from polyvolta.sched.tree import Sequence as Sequence
    from polyvolta.sched.tree import SetNode as SetNode
    from polyvolta.sched.views.diff import Diff as Diff
    from polyvolta.sched.views.diff import diff as diff

_HOMES = homes(
    {
        "dependence.descent": "Violation",
        "dependence.memory": "dependences flow live_in live_out",
        "dependence.model": "Dependence Dependences Flow",
        "dependence.picture": "draw",
        "dependence.sources": "dataflow",
        "emit.arrays": "aligned",
        "emit.c.text": "to_c",
        "emit.execute": "Compiled build execute",
        "emit.processor": "compile_c",
        "emit.python.text": "to_python",
        "emit.run": "run",
        "legality": "BandFlags band_flags check violations",
        "loops.scan": "Scan scan",
        "program.interpret": "instances",
        "program.model": "Access Program Statement",
        "program.nests.array": "Array",
        "program.nests.nest": "nest nest_from_source",
        "scheduler.schedule": "initial schedule",
        "tree": "Band Context Domain Expansion Extension Filter Guard Leaf Mark Member Schedule Sequence SetNode",
        "views.diff": "Diff diff",
    }
)
_HOMES |= {name: f"passes.{home}" for name, home in _passes._HOMES.items()}
if not TYPE_CHECKING:  # checkers know the names, and that there are no others
    _here, __dir__ = lazily(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        if name in _HOMES or name.startswith("_"):
            return _here(name)
        from polyvolta.sched.of_isl import of_module
        from polyvolta.sets.errors import no_name

        raise no_name(__name__, name, of_module(name))


__all__ = [  # noqa: F822 (the names are there on first use)
    "Access",
    "Array",
    "Band",
    "BandFlags",
    "Compiled",
    "Context",
    "Dependence",
    "Dependences",
    "Diff",
    "Domain",
    "Expansion",
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
    "aligned",
    "band_flags",
    "build",
    "check",
    "compile_c",
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
]
__all__ += _passes.__all__
