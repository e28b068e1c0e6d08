"""A program under a schedule as a Python function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polyvolta.sched.codegen.ast import Ast
from polyvolta.sched.codegen.bodies import python_lines
from polyvolta.sched.codegen.interface import Interface
from polyvolta.sched.codegen.python_text import PythonPrinter, spelled, variables
from polyvolta.sets import Aff

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


def function(program: Program, body: Sequence[Ast], extents: Mapping[str, Aff]) -> list[str]:
    """The lines of a function of the program's arguments."""
    face = Interface.of(program)
    taken = face.names
    names = spelled((*extents, *variables(body)), taken)
    cells = frozenset(face.cells)
    printer = PythonPrinter(names, lambda call, speller: python_lines(call, program, speller, cells))  # type: ignore[arg-type]
    printer.out.append(f"def {face.function}({', '.join(face.arguments)}):")
    printer.out += [f"    {name} = 0.0" for name in face.local]
    printer.mapped(extents, body, "    ")
    return printer.out
