"""Python text of loops.

    for c0 in range((M + 127) // 128):
        for c1 in range(min(128, M - 128 * c0)):
            S(128 * c0 + c1)

Statements are calls; with the program at hand they are its bodies, and the text is a function of the program's
arguments, which `execute` compiles and runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyvolta.display.code import Python
from polyvolta.sched.emit.given import check_program, loops
from polyvolta.sched.emit.python.printer import HELPERS, PythonPrinter, imported
from polyvolta.sched.emit.python.program import function
from polyvolta.sched.emit.rename import cleared
from polyvolta.sched.loops.ast import Ast
from polyvolta.sched.loops.notation.names import free_names, spelled, statements
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Schedule
from polyvolta.sched.wrapped import word

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


def to_python(scan: Scan | Schedule | Ast | Sequence[Ast], program: Program | None = None) -> Python:
    """The Python text of loops; with a program, a function of its arguments.

    A name that band members are mapped to, such as `blockIdx.x`, is a loop over all its values outside of the others.
    Where a parameter or statement is called `min`, `max` or `range`, the text imports Python's under another name.
    Names that are none in Python get another spelling.

    Parameters
    ----------
    scan : what `scan` returns, or loops alone; a tree is scanned.

    Raises
    ------
    BadArgument : there are no loops, or this is no program.
    BadProgram : a statement of the loops has no body.

    Cost: linear, a few microseconds a line.

    >>> from polyvolta.sched.loops.ast import Call, For
    >>> from polyvolta.sets import aff, var
    >>> print(to_python(For("c0", (aff(1),), (var("N") - 1,), 3, False, (Call("S", (var("c0") // 2,)),))))
    for c0 in range(1, N, 3):
        S(c0 // 2)
    """
    scan = loops(scan, "to_python")
    if program is not None:
        check_program(program, "to_python")
        return Python("\n".join(function(program, scan)))
    names = {*free_names(scan.body), *map(word, statements(scan.body))} - {*scan.extents}
    helpers, ours = spelled(HELPERS, names), spelled(sorted(names))
    scan = cleared(scan, {*names, *ours.values(), *HELPERS, *helpers.values()})
    printer = PythonPrinter(ours, helpers=helpers)
    printer.mapped(scan.extents, scan.body, "")
    return Python("\n".join([*imported(helpers, printer.out), *printer.out]))
