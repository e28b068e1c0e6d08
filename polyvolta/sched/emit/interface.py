"""What a program takes: which of its names are arrays, parameters, scalars, and which it keeps to itself."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from keyword import iskeyword
from re import sub
from typing import TYPE_CHECKING

from polyvolta.sched.emit.bodies import parsed

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


@dataclass(frozen=True)
class Interface:
    """The names of a program by what they are.

    Parameters
    ----------
    function : the program's name as an identifier.
    arguments : everything that the function takes: what a caller passes, then local arrays.
    passed : the arguments that a caller passes.
    params : integers.
    ranks : array -> number of its dimensions, those without any left out.
    cells : arrays without dimensions that are written and that the caller sees.
    local : scalars that live inside.
    scalars : the other arguments, numbers that are read.
    written : arrays that are written.
    functions : other names in bodies -> what they stand for.
    used : all names in bodies but iterators.
    """

    function: str
    arguments: tuple[str, ...]
    passed: tuple[str, ...]
    params: tuple[str, ...]
    ranks: Mapping[str, int]
    cells: tuple[str, ...]
    local: tuple[str, ...]
    scalars: tuple[str, ...]
    written: frozenset[str]
    functions: Mapping[str, object]
    used: tuple[str, ...] = ()

    @staticmethod
    def of(program: Program) -> Interface:
        """The names of a program."""
        rank: dict[str, int] = {}
        for s in program.statements:
            for a in (*s.reads, *s.writes):
                rank[a.array] = len(a.relation.parts[0][0].out.dims) if a.relation.parts else rank.get(a.array, 0)
        written = frozenset(a.array for s in program.statements for a in s.writes)
        local = tuple(a for a in rank if a in program.local)
        functions = _functions(program)
        passed = program.arguments
        if not passed:
            inside = {*local, *functions, *(i for s in program.statements for i in s.iterators)}
            passed = tuple(dict.fromkeys([*(a for a in rank if a not in local), *program.params]))
            passed += tuple(n for n in _names(program) if n not in inside and n not in passed)
        held = tuple(a for a in local if rank[a] and a not in passed)
        params = tuple(p for p in passed if p in program.params)
        ranks = {a: rank[a] for a in (*passed, *held) if rank.get(a)}
        cells = tuple(a for a in passed if rank.get(a) == 0 and a in written)
        scalars = tuple(a for a in passed if a not in params and a not in ranks and a not in cells)
        inner = tuple(a for a in local if not rank[a])
        name = sub(r"\W", "_", program.name) or "program"
        name = name if name.isidentifier() and not iskeyword(name) else f"_{name}"
        while name in functions:  # which bodies call
            name += "_"
        iterators = {i for s in program.statements for i in s.iterators}
        used = tuple(n for n in _names(program) if n not in iterators)
        return Interface(name, (*passed, *held), passed, params, ranks, cells, inner, scalars, written, functions, used)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names of a text of the program, which loop variables must keep clear of."""
        return tuple(dict.fromkeys((self.function, *self.arguments, *self.local, *self.functions, *self.used)))

    def meaning(self, helpers: tuple[str, ...]) -> set[str]:
        """Which of Python's functions `helpers` have names that mean something else in a text of the program."""
        mine = {self.function, *self.arguments, *self.local}
        other = {n for n, f in self.functions.items() if f is not getattr(builtins, n, None)}
        return {*helpers} & (mine | other)


def _names(program: Program) -> list[str]:
    """The names in the bodies in the order in which they appear."""
    found: dict[str, None] = {}
    for s in program.statements:
        for statement in parsed(s.body) if s.body else ():
            found.update({n.id: None for n in ast.walk(statement) if isinstance(n, ast.Name)})
    return list(found)


def _functions(program: Program) -> dict[str, object]:
    """What names in the bodies stand for that are no arguments or iterators: the program's own, then the usual."""
    from polyvolta.sched.program.nests.scope import usual

    known = {**usual(), **program.functions}
    mine = {*program.arguments, *program.arrays, *program.params, *(i for s in program.statements for i in s.iterators)}
    return {n: known[n] for n in _names(program) if n in known and n not in mine}
