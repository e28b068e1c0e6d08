"""Python text of loops.

    for c0 in range((M + 127) // 128):
        for c1 in range(min(128, M - 128 * c0)):
            S(128 * c0 + c1)

Statements are calls; with the program at hand they are its bodies, and the text is a function of the program's
arguments, which `execute` compiles and runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING

from polyvolta.sched.codegen.ast import Ast, Block, Call, For, If
from polyvolta.sched.codegen.expressions import PythonSpeller
from polyvolta.sched.codegen.run import body_of, free_names
from polyvolta.sets import Aff, aff

if TYPE_CHECKING:
    from polyvolta.sched.codegen.scan import Scan
    from polyvolta.sched.program.model import Program


def to_python(scan: Scan | Ast | Sequence[Ast], program: Program | None = None) -> str:
    """The Python text of loops; with a program, a function of its arguments.

    A name that band members are mapped to, such as `blockIdx.x`, is a loop over all its values outside of the others.

    Raises
    ------
    BadProgram : a statement of the loops has no body.

    Cost: linear, a few microseconds a line.

    >>> from polyvolta.sched.codegen.ast import Call, For
    >>> from polyvolta.sets import aff, var
    >>> print(to_python(For("c0", (aff(1),), (var("N") - 1,), 3, False, (Call("S", (var("c0") // 2,)),))))
    for c0 in range(1, N, 3):
        S(c0 // 2)
    """
    body, extents = body_of(scan), getattr(scan, "extents", {})
    if program is not None:
        from polyvolta.sched.codegen.python_program import function

        return "\n".join(function(program, body, extents))
    printer = PythonPrinter(spelled((*free_names(body), *variables(body))))
    printer.mapped(extents, body, "")
    return "\n".join(printer.out)


class PythonPrinter:
    """Writes loops, line by line, into `out`.

    Parameters
    ----------
    names : how names are spelled that are none in Python.
    statement : what a call becomes, some lines; None for the call itself.
    """

    def __init__(
        self,
        names: Mapping[str, str] | None = None,
        statement: Callable[[Call, PythonSpeller], list[str]] | None = None,
    ) -> None:
        self.speller = PythonSpeller({}, names)
        self.statement = statement
        self.out: list[str] = []

    def mapped(self, extents: Mapping[str, Aff], body: Sequence[Ast], pad: str) -> None:
        """The loops below a loop for each mapped name."""
        for name, size in extents.items():
            self.speller.names = {**self.speller.names, **spelled((name,))}
            self.out.append(f"{pad}for {self.speller.names.get(name, name)} in range({self.speller.text(size)}):")
            pad += "    "
        self.block(body, pad)

    def block(self, body: Sequence[Ast], pad: str) -> None:
        """Some statements, one after another."""
        speller, out = self.speller, self.out
        at = len(out)
        for node in body:
            match node:
                case Call(name, args):
                    if self.statement is None:
                        out.append(f"{pad}{name}({', '.join([speller.text(e) for e in args])})")
                    else:
                        out += [pad + line for line in self.statement(node, speller)]
                case For():
                    self.loop(node, pad)
                case If(conditions, inner):
                    out.append(f"{pad}if {speller.conditions(conditions)}:")
                    self.block(inner, pad + "    ")
                case Block(mark, inner):
                    out.append(f"{pad}# {mark}")
                    if inner:
                        self.block(inner, pad)
        if pad and all(line.lstrip().startswith("#") for line in out[at:]):
            out.append(f"{pad}pass")

    def loop(self, node: For, pad: str) -> None:
        """A loop over a range."""
        speller, v = self.speller, node.var
        ends = [speller.bounds("max", node.lower), speller.bounds("min", node.upper, 1)]
        if node.step != 1:
            ends.append(str(node.step))
        elif node.lower == (aff(0),):
            del ends[0]
        self.out.append(f"{pad}for {speller.names.get(v, v)} in range({', '.join(ends)}):")
        known = v in speller.loops
        speller.loops.add(v)
        self.block(node.body, pad + "    ")
        if not known:
            speller.loops.discard(v)


def variables(body: Sequence[Ast]) -> list[str]:
    """The loop variables, each once, in the order in which they appear."""
    found: dict[str, None] = {}
    for node in body:
        if isinstance(node, For):
            found[node.var] = None
        if not isinstance(node, Call):
            found.update(dict.fromkeys(variables(node.body)))
    return list(found)


def spelled(names: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Other spellings of the names that are no identifiers or that are taken."""
    table: dict[str, str] = {}
    used = {*names, *taken}
    for name in names:
        if name.isidentifier() and not iskeyword(name) and name not in taken:
            continue
        new = re.sub(r"\W", "_", name)
        if not new[:1].isidentifier() or iskeyword(new):
            new = f"_{new}"
        while new in used:
            new += "_"
        used.add(new)
        table[name] = new
    return table
