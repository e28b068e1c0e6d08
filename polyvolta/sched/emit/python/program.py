"""A program under a schedule as a Python function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.emit.bodies import python_lines
from polyvolta.sched.emit.interface import Interface
from polyvolta.sched.emit.python.printer import HELPERS, PythonPrinter, imported
from polyvolta.sched.emit.rename import cleared
from polyvolta.sched.loops.notation.names import spelled
from polyvolta.sched.loops.result import Scan

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


def function(program: Program, scan: Scan) -> list[str]:
    """The lines of a function of the program's arguments."""
    face = Interface.of(program)
    helpers = spelled(HELPERS, face.meaning(HELPERS))
    scan = cleared(scan, {*face.names, *HELPERS, *helpers.values()})
    cells = frozenset(face.cells)
    printer = PythonPrinter({}, lambda call, speller: python_lines(call, program, speller, cells), helpers)  # type: ignore[arg-type]
    printer.out.append(f"def {face.function}({', '.join(face.arguments)}):")
    printer.out += [f"    {name} = 0.0" for name in face.local]
    printer.mapped(scan.extents, scan.body, "    ")
    return [*imported(helpers, printer.out), *printer.out]
