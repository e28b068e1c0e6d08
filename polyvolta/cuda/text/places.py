"""Places of a kernel: for a statement of the IR the line of the CUDA text and the node of the schedule tree.

One kernel has three forms, the tree, the IR and the text, and whoever reports something about the IR says where it is
in the other two. A node of the tree is found by the statement that an operation carries: the deepest node that has it
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Roles, Stmt, Tiles, When
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.text.printer import Printed, printed
from polyvolta.display.shown import Record
from polyvolta.display.text import filled
from polyvolta.sched.tree import Filter, Path, Schedule


@dataclass(frozen=True, slots=True, repr=False)
class Place(Record):
    """A statement of a kernel in all three forms.

    Parameters
    ----------
    path : in the IR; see `ir_walk`.
    stmt : the statement itself, an operation, a loop or a condition.
    line : number of its first line in the CUDA text, counted from 1.
    text : that line, without indentation.
    node : its node in the schedule tree; None for what the tree doesn't have.
    statement : the tree's name for it, "" where there is none.
    """

    path: IrPath
    stmt: Stmt
    line: int
    text: str
    node: Path | None = None
    statement: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" + (f"  [{self.statement}]" if self.statement else "")

    def __repr__(self) -> str:
        return filled(f"<Place {self}>")

    def _facts(self) -> list[tuple[str, object]]:
        path = ", ".join(map(str, self.path))
        return [(f"line {self.line}", self.text), ("tree", self.statement), ("in the IR", path)]

    def _title(self) -> str:
        return "a place of a kernel"


class Places:
    """Finds places of one kernel by path.

    Parameters
    ----------
    ir : the kernel.
    schedule : its tree.
    """

    def __init__(self, ir: KernelIR, schedule: Schedule) -> None:
        self.ir, self.schedule = ir, schedule
        self.stmts = dict(walk(ir.body))

    @cached_property
    def printed(self) -> Printed:
        return printed(self.ir)

    @cached_property
    def _lines(self) -> list[str]:
        return self.printed.text.split("\n")

    @cached_property
    def _nodes(self) -> Mapping[str, Path]:
        """Statement -> the last filter that has it, the one with the fewest statements."""
        found: dict[str, tuple[int, Path]] = {}
        for at, node in self.schedule.walk():
            if isinstance(node, Filter):
                for s in node.statements:
                    if s not in found or len(node.statements) <= found[s][0]:
                        found[s] = len(node.statements), at
        return {s: at for s, (_, at) in found.items()}

    def __getitem__(self, path: IrPath) -> Place:
        stmt = self.stmts[path]
        line = self.printed.lines[path]
        statement = "" if isinstance(stmt, Loop | When | Roles | Tiles) else stmt.statement
        return Place(path, stmt, line, self._lines[line - 1].strip(), self._nodes.get(statement), statement)
