"""Bodies of statements: an assignment in Python, with values put in for its iterators.

The body `C[i, j] += A[i, j - 1]` of S[i, j], called as S(c0 + 1, c0 + c1), becomes `C[c0 + 1, c0 + c1] += A[c0 + 1,
c0 + c1 - 1]`: subscripts are quasi-affine, so that they are added up rather than pasted together.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from polyvolta.sched.errors import BadProgram
from polyvolta.sched.loops.ast import Call
from polyvolta.sched.loops.notation.expressions import PythonSpeller, Speller
from polyvolta.sets import Aff, NotAffine, aff, nearest, var

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


@lru_cache(maxsize=1024)
def parsed(body: str) -> tuple[ast.stmt, ...]:
    """The syntax tree of a body.

    Raises
    ------
    BadProgram : it is no Python.
    """
    try:
        return tuple(ast.parse(body).body)
    except SyntaxError as error:
        line = body.splitlines()[(error.lineno or 1) - 1] if body else ""
        raise BadProgram(
            f"a body is no Python: {error.msg}", where=f"{line}\n{' ' * ((error.offset or 1) - 1)}^"
        ) from None


def body_of_call(call: Call, program: Program) -> tuple[tuple[ast.stmt, ...], dict[str, Aff]]:
    """The body of the statement that is called, and the values of its iterators.

    Raises
    ------
    BadProgram : the statement is none of the program's, or its body is not known.
    """
    names = [s.name for s in program.statements]
    if call.statement not in names:
        raise BadProgram(
            f"the loops call {call.statement}, which the program does not have",
            where=f"{program.name}: {', '.join(names)}",
            hint=nearest(call.statement, names) or "an extension's statements have no body",
        )
    statement = program.statements[names.index(call.statement)]
    if statement.body is None:
        raise BadProgram(
            f"the body of {statement.name} is not known",
            where=f"{program.name}: {', '.join(names)}",
            hint='Program.parse(..., bodies={"S": "C[i] = A[i]"}) gives bodies',
        )
    return parsed(statement.body), dict(zip(statement.iterators, call.args, strict=True))


def affine(node: ast.expr, values: Mapping[str, Aff]) -> Aff | None:
    """A subscript as a quasi-affine expression with the values put in, or None."""
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return aff(number)
        case ast.Name(id=name):
            return values.get(name) or var(name)
        case ast.UnaryOp(op=ast.USub(), operand=x):
            e = affine(x, values)
            return None if e is None else -e
        case ast.BinOp(left=left, op=op, right=right):
            a, b = affine(left, values), affine(right, values)
            if a is None or b is None:
                return None
            try:
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b  # type: ignore[operator]
                    case ast.FloorDiv() if b.is_constant:
                        return a // b.const
                    case ast.Mod() if b.is_constant:
                        return a % b.const
            except NotAffine:
                return None
    return None


def python_lines(call: Call, program: Program, speller: PythonSpeller, cells: frozenset[str]) -> list[str]:
    """The lines of Python that a call stands for; `cells` are arrays without dimensions, `x` is written `x[()]`."""
    body, values = body_of_call(call, program)
    put = _Put(values, speller, cells)
    made = [ast.fix_missing_locations(put.visit(copy.deepcopy(s))) for s in body]
    return [line for s in made for line in ast.unparse(s).splitlines()]


class _Put(ast.NodeTransformer):
    """Puts values in for iterators."""

    def __init__(self, values: Mapping[str, Aff], speller: Speller, cells: frozenset[str]) -> None:
        self.values, self.speller, self.cells = values, speller, cells

    def spelled(self, e: Aff) -> ast.expr:
        return ast.parse(self.speller.text(e), mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        if node.id in self.values:
            return self.spelled(self.values[node.id])
        if node.id in self.cells:
            return ast.Subscript(node, ast.Tuple([], ast.Load()), node.ctx)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802
        node.slice = self.subscript(node.slice)
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node

    def subscript(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            node.elts = [self.subscript(e) for e in node.elts]
            return node
        e = affine(node, self.values)
        return self.visit(node) if e is None else self.spelled(e)
