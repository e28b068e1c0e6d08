"""Loops in Python, line by line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from polyvolta.sched.loops.ast import Ast, Block, Call, For, If
from polyvolta.sched.loops.notation.expressions import PythonSpeller
from polyvolta.sched.wrapped import word
from polyvolta.sets import Aff, aff

HELPERS = ("range", "min", "max")  # what the text itself calls


def imported(helpers: Mapping[str, str], lines: Collection[str]) -> list[str]:
    """The lines that give Python's functions the names that they have in other lines."""
    used = [f"{name} as {new}" for name, new in helpers.items() if any(f"{new}(" in line for line in lines)]
    return [f"from builtins import {', '.join(used)}", ""] if used else []


class _Speller(PythonSpeller):
    """Python with other names for `min` and `max`."""

    def __init__(self, names: Mapping[str, str] | None, helpers: Mapping[str, str]) -> None:
        super().__init__({}, names)
        self.helpers = helpers

    def extreme(self, kind: str, texts: Sequence[str]) -> str:
        return super().extreme(self.helpers.get(kind, kind), texts)


class PythonPrinter:
    """Writes loops, line by line, into `out`.

    Parameters
    ----------
    names : how names are spelled that are none in Python.
    statement : what a call becomes, some lines; None for the call itself.
    helpers : other names of Python's `range`, `min` and `max`.
    """

    def __init__(
        self,
        names: Mapping[str, str] | None = None,
        statement: Callable[[Call, PythonSpeller], list[str]] | None = None,
        helpers: Mapping[str, str] | None = None,
    ) -> None:
        helpers = helpers or {}
        self.speller = _Speller(names, helpers)
        self.range = helpers.get("range", "range")
        self.statement = statement
        self.out: list[str] = []

    def mapped(self, extents: Mapping[str, Aff], body: Sequence[Ast], pad: str) -> None:
        """The loops below a loop for each mapped name."""
        for name, size in extents.items():
            self.out.append(f"{pad}for {name} in {self.range}({self.speller.text(size)}):")
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
                        name = word(name)
                        name = speller.names.get(name, name)
                        out.append(f"{pad}{name}({', '.join([speller.text(e) for e in args])})")
                    else:
                        out += [pad + line for line in self.statement(node, speller)]
                case For():
                    self.loop(node, pad)
                case If():
                    self.branches(node, pad)
                case Block(mark, inner):
                    out.append(f"{pad}# {mark}")
                    if inner:
                        self.block(inner, pad)
        if pad and all(line.lstrip().startswith("#") for line in out[at:]):
            out.append(f"{pad}pass")

    def branches(self, node: If, pad: str, word: str = "if") -> None:
        """A condition, and what runs elsewhere; a condition alone stands behind `elif`."""
        while True:
            self.out.append(f"{pad}{word} {self.speller.conditions(node.conditions)}:")
            self.block(node.body, pad + "    ")
            if len(node.other) != 1 or not isinstance(inner := node.other[0], If):
                break
            node, word = inner, "elif"
        if node.other:
            self.out.append(f"{pad}else:")
            self.block(node.other, pad + "    ")

    def loop(self, node: For, pad: str) -> None:
        """A loop over a range; one without an end counts by itself."""
        speller, v, step, inner = self.speller, node.var, node.step, pad + "    "
        low = speller.bounds("max", node.lower)
        if node.upper:
            ends = [low, speller.bounds("min", node.upper, 1)]
            if step != 1:
                ends.append(str(step))
            elif node.lower == (aff(0),):
                del ends[0]
            self.out.append(f"{pad}for {v} in {self.range}({', '.join(ends)}):")
        else:
            self.out += [f"{pad}{v} = {low}", f"{pad}while True:"]
        outer = speller.scope.get(v)
        speller.scope[v] = node
        self.block(node.body, inner)
        if not node.upper:
            self.out.append(f"{inner}{v} += {step}")
        if outer is None:
            del speller.scope[v]
        else:
            speller.scope[v] = outer
