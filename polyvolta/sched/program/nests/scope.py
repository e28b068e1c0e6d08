"""What the names of a nest are: arrays, parameters, iterators, scalars, constants of the surroundings.

Nothing is declared; the use decides. What is subscripted is an array. What stands in a bound, a subscript or a
condition is an integer parameter. What is assigned without a subscript is a local scalar, an array without dimensions
that nobody sees from outside. Other arguments are scalars that are read only. A name that is no argument is looked up
where the function was defined; an integer found there is its value at that moment.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sched.program.nests.source import Source
from polyvolta.sets import nearest

T = TypeVar("T")

IMPURE = frozenset({"print", "input", "open", "exec", "eval", "setattr", "next", "iter", "range", "enumerate", "zip"})


@dataclass(slots=True)
class Scope:
    """The names of one function.

    Parameters
    ----------
    arguments : in order.
    arrays : subscripted names; local: assigned ones; iterators: targets of loops.
    loops : the iterators of the loops around the place that is being read, outermost first.
    params : arguments that were used as integer parameters.
    outside : names of the surroundings.
    functions : those of them that bodies use and that are no numbers.
    ranks : how many subscripts each array has.
    undecided : whether an argument was seen in a choice `x if c else y` before it was known to be a parameter.
    """

    source: Source
    arguments: tuple[str, ...]
    outside: Mapping[str, object]
    arrays: frozenset[str]
    local: tuple[str, ...]
    iterators: frozenset[str]
    loops: list[str] = field(default_factory=list)
    params: dict[str, None] = field(default_factory=dict)
    functions: dict[str, object] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    undecided: bool = False

    @staticmethod
    def of(source: Source, outside: Mapping[str, object]) -> Scope:
        """The names of a function; what it takes must be plain names."""
        a = source.function.args
        for more, what in ((a.vararg, "*"), (a.kwarg, "**")):
            if more is not None:
                raise source.error(more, f"a nest takes named arguments, not {what}{more.arg}")
        found = _Uses()
        for statement in source.function.body:
            found.visit(statement)
        names = tuple(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs))
        for node in found.plain:
            name = node.id
            if name in found.targets:
                raise source.error(node, f"the iterator {name} is assigned", "loops alone change iterators")
            if name in names:
                what = "array" if name in found.arrays else "argument"
                raise source.error(node, f"the {what} {name} is assigned", "give the new value a name of its own")
            if name in found.arrays:
                raise source.error(node, f"the array {name} is made in the nest", "pass it as an argument")
        return Scope(source, names, outside, frozenset(found.arrays), tuple(found.assigned), frozenset(found.targets))

    @property
    def known(self) -> tuple[str, ...]:
        """The names that may be used here."""
        return (*self.arguments, *self.loops, *self.local)

    def unknown(self, node: ast.Name) -> Exception:
        """The error that a name is nothing here."""
        return self.source.error(
            node,
            f"unknown name {node.id!r}: neither an argument, an iterator nor assigned in the nest",
            nearest(node.id, self.known),
        )

    def tried(self, read: Callable[[], T]) -> T | None:
        """What is read, or None where it is not affine or takes an argument for a parameter that is none elsewhere."""
        before = dict(self.params)
        try:
            found = read()
        except NotAffineProgram:
            found = None
        more = [p for p in self.params if p not in before]
        for p in more:
            del self.params[p]
        self.undecided |= bool(more)
        return None if more else found

    def outer(self, node: ast.expr) -> object:
        """The object of the surroundings that `name` or `module.name` is; None if there is none."""
        if isinstance(node, ast.Attribute):
            base = self.outer(node.value)
            return None if base is None else getattr(base, node.attr, None)
        if isinstance(node, ast.Name) and node.id not in self.arguments and node.id not in self.local:
            return None if node.id in self.iterators else self.outside.get(node.id)
        return None


class _Uses(ast.NodeVisitor):
    """Which names are subscripted, assigned, and run through by loops."""

    def __init__(self) -> None:
        self.arrays: dict[str, None] = {}
        self.assigned: dict[str, None] = {}
        self.targets: dict[str, None] = {}
        self.plain: list[ast.Name] = []  # names that are assigned by themselves

    def visit_Assign(self, node: ast.Assign) -> None:
        self.plain += [t for t in node.targets if isinstance(t, ast.Name)]
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign | ast.AnnAssign) -> None:
        self.plain += [node.target] if isinstance(node.target, ast.Name) else []
        self.generic_visit(node)

    visit_AnnAssign = visit_AugAssign

    def visit_Subscript(self, node: ast.Subscript) -> None:
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            self.arrays[base.id] = None
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        for name in ast.walk(node.target):
            if isinstance(name, ast.Name):
                self.targets[name.id] = None
        for part in (node.iter, *node.body, *node.orelse):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.assigned[node.id] = None


def surroundings(function: Callable[..., object]) -> dict[str, object]:
    """What the names of a function that are not its own stand for: built-ins, globals, then enclosing functions'."""
    inner: Any = inspect.unwrap(function)
    names: dict[str, object] = {**vars(builtins), **inner.__globals__}
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            names.pop(name, None)
    return names


def usual() -> dict[str, object]:
    """The names that a text alone may use: the built-in functions and those of `math`."""
    public = {k: v for k, v in vars(math).items() if not k.startswith("_")}
    return {**public, **vars(builtins), "math": math}
