"""Reading the two sides of an assignment: which elements it reads and writes, and its text.

A right side may be any pure expression: arithmetic, comparisons, calls of functions, and choices `x if c else y`. What
it reads of arrays and local scalars is read by every instance, with one exception that is decided exactly: below an
affine condition `c`, x is read where c holds and y where it does not. Below a condition on data, both count as read.

The text of a statement is written anew from its syntax tree, numbers of the surroundings put in, `A[i][j]` written
`A[i, j]`.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from numbers import Real

from polyvolta.sched.errors import NotAffineProgram
from polyvolta.sched.program.nests.affine import NO_SIZES, condition, integer
from polyvolta.sched.program.nests.scope import IMPURE, Scope
from polyvolta.sched.program.nests.values import Value, negated
from polyvolta.sets import nearest
from polyvolta.sets.text.formulas import Tree


@dataclass(frozen=True, slots=True)
class Element:
    """An access as it is written: the array, its subscripts, and the conditions under which it happens."""

    array: str
    subscripts: tuple[Value, ...]
    given: tuple[Tree, ...]
    node: ast.expr


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a statement of the text does."""

    body: str
    reads: tuple[Element, ...]
    write: Element


def assignment(node: ast.Assign | ast.AugAssign | ast.AnnAssign, scope: Scope) -> Assignment:
    """The assignment of one element.

    Raises
    ------
    NotAffineProgram : what is assigned is no element of an array nor a name, or the expression is not pure.
    """
    reader = _Reader(scope)
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if len(node.targets) > 1:
            raise scope.source.error(node, "a statement writes one element", "write one assignment for each target")
    else:
        target = node.target
    if node.value is None:
        raise scope.source.error(node, "a declaration without a value is no statement", "assign a value")
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        raise scope.source.error(node.value, *NO_SIZES)
    element, left = reader.target(target)
    if isinstance(node, ast.AugAssign):
        reader.reads.append(element)
    right = reader.visit(node.value)
    made: ast.stmt = ast.Assign([left], right)
    if isinstance(node, ast.AugAssign):
        made = ast.AugAssign(left, node.op, right)
    return Assignment(ast.unparse(ast.fix_missing_locations(made)), tuple(reader.reads), element)


class _Reader:
    """Walks an expression, collects what it reads, and gives it back as it is to be written."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.reads: list[Element] = []
        self.given: tuple[Tree, ...] = ()

    def refused(self, node: ast.AST, message: str, hint: str = "") -> NotAffineProgram:
        return self.scope.source.error(node, message, hint)

    def accessed(self, array: str, subscripts: tuple[Value, ...], node: ast.expr) -> Element:
        """The access, under the conditions around it."""
        if not array.isascii():
            raise self.refused(node, f"relations have no word for the array {array}", "name it by ASCII letters")
        return Element(array, subscripts, self.given, node)

    # ---- the left side

    def target(self, node: ast.expr) -> tuple[Element, ast.Subscript | ast.Name]:
        match node:
            case ast.Subscript():
                return self.element(node)
            case ast.Name(id=name):
                return self.accessed(name, (), node), ast.Name(name, ast.Store())
            case ast.Tuple() | ast.List():
                hint = "write one assignment for each element, by a scalar in between if they are swapped"
                raise self.refused(node, "a statement writes one element, not several", hint)
        raise self.refused(node, f"{ast.unparse(node)} is no element of an array", "assign to A[i, j] or to a scalar")

    def element(self, node: ast.Subscript) -> tuple[Element, ast.Subscript]:
        """An element of an array, and how it is written with all its subscripts in one pair of brackets."""
        subscripts: list[ast.expr] = []
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            inside = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
            subscripts[:0] = inside
            base = base.value
        if isinstance(base, ast.Attribute) and base.attr == "shape":
            raise self.refused(node, *NO_SIZES)
        if not isinstance(base, ast.Name):
            raise self.refused(base, f"{ast.unparse(base)} is no array", "an array is an argument, by its name")
        self.check_array(base)
        values = []
        for s in subscripts:
            if isinstance(s, ast.Slice):
                raise self.refused(
                    s if s.lower or s.upper else node, "a slice is many elements", "write the loop over them"
                )
            if isinstance(s, ast.Constant) and (isinstance(s.value, bool) or not isinstance(s.value, int | float)):
                raise self.refused(s, f"the subscript {ast.unparse(s)} is no integer")
            value = integer(s, self.scope, "subscript")
            if value.constant is not None and value.constant < 0:
                hint = f"counting from the end needs the size: {base.id}[N - {-value.constant}]"
                raise self.refused(s, f"the subscript {value.constant} is negative", hint)
            values.append(value)
        rank = self.scope.ranks.setdefault(base.id, len(values))
        if rank != len(values):
            raise self.refused(node, f"{base.id} has {_subscripts(len(values))} here and {_subscripts(rank)} elsewhere")
        index = [self.constants(s) for s in subscripts]
        made = ast.Subscript(base, index[0] if len(index) == 1 else ast.Tuple(index, ast.Load()), node.ctx)
        return self.accessed(base.id, tuple(values), node), made

    def check_array(self, base: ast.Name) -> None:
        name, scope = base.id, self.scope
        if name in scope.iterators:
            raise self.refused(base, f"the iterator {name} is subscripted")
        if name in scope.arguments:
            if name in scope.params:
                raise self.refused(base, f"{name} is an integer parameter elsewhere, so that it is no array")
            return
        if name in scope.local or name not in scope.outside:
            if name in scope.local:
                raise self.refused(base, f"the array {name} is made in the nest", "pass it as an argument")
            raise scope.unknown(base)
        raise self.refused(
            base, f"the array {name} is no argument", f"pass it: def {scope.source.function.name}(..., {name})"
        )

    def constants(self, node: ast.expr) -> ast.expr:
        """A subscript with the integers of the surroundings put in."""
        return _Constants(self.scope).visit(ast.parse(ast.unparse(node), mode="eval").body)

    # ---- the right side

    def visit(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, int | float | complex):
                    raise self.refused(node, f"{ast.unparse(node)} is no number")
                return node
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                element, made = self.element(node)
                self.reads.append(element)
                return made
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.visit(left), op, self.visit(right))
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.visit(operand))
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [self.visit(v) for v in values])
            case ast.Compare(left=left, ops=ops, comparators=rest):
                return ast.Compare(self.visit(left), ops, [self.visit(x) for x in rest])
            case ast.IfExp():
                return self.choice(node)
            case ast.Call():
                return self.call(node)
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                raise self.refused(
                    node, "a comprehension is a loop inside a statement", "write it as a loop of the nest"
                )
            case ast.NamedExpr():
                raise self.refused(node, "an assignment inside an expression", "write it as a statement of its own")
        raise self.refused(node, f"{ast.unparse(node)} is no arithmetic on elements and scalars")

    def name(self, node: ast.Name) -> ast.expr:
        name, scope = node.id, self.scope
        if name in scope.loops:
            return node
        if name in scope.iterators:
            raise self.refused(node, f"{name} is used outside of its loop")
        if name in scope.arrays:
            raise self.refused(node, f"the array {name} is used as a whole", f"name an element: {name}[i]")
        if name in scope.local:
            self.reads.append(self.accessed(name, (), node))
            return node
        if name in scope.arguments:
            return node
        if name not in scope.outside:
            raise scope.unknown(node)
        return self.surrounding(node, scope.outside[name])

    def attribute(self, node: ast.Attribute) -> ast.expr:
        value = self.scope.outer(node)
        if value is None:
            hint = "pass the size as an argument" if node.attr in ("shape", "size") else ""
            raise self.refused(node, f"{ast.unparse(node)} is no number of the surroundings", hint)
        return self.surrounding(node, value)

    def surrounding(self, node: ast.expr, value: object) -> ast.expr:
        """A number of the surroundings, as it is now."""
        if not isinstance(value, Real):
            if callable(value):
                raise self.refused(node, f"the function {ast.unparse(node)} is not called")
            hint = "pass it as an argument" if hasattr(value, "__getitem__") else ""
            raise self.refused(node, f"{ast.unparse(node)} is a {type(value).__name__}, no number", hint)
        number = value if isinstance(value, bool | int) else float(value)
        if isinstance(number, float) and not math.isfinite(number):
            return ast.parse(f"float('{number}')", mode="eval").body
        return ast.parse(repr(number), mode="eval").body

    def choice(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test)
        holds = self.scope.tried(lambda: condition(node.test, self.scope))
        if holds is None:  # a condition on data
            return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))
        before = self.given
        self.given = (*before, holds)
        body = self.visit(node.body)
        self.given = (*before, negated(holds))
        orelse = self.visit(node.orelse)
        self.given = before
        return ast.IfExp(test, body, orelse)

    def call(self, node: ast.Call) -> ast.expr:
        scope = self.scope
        callee = node.func
        name = ast.unparse(callee)
        f = scope.outer(callee)
        if f is None:
            if isinstance(callee, ast.Name) and callee.id in (*scope.known, *scope.iterators):
                raise self.refused(callee, f"{name} is called, but it is an argument or assigned in the nest")
            if (
                isinstance(callee, ast.Attribute)
                and isinstance(callee.value, ast.Name)
                and callee.value.id in scope.arrays
            ):
                raise self.refused(node, f"the array {callee.value.id} is used as a whole", "write the loop")
            raise self.refused(
                callee, f"unknown function {name!r}", nearest(name, scope.outside) if _close(name, scope) else ""
            )
        if not callable(f) or name in IMPURE:
            raise self.refused(callee, f"{name} is no function of numbers")
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise self.refused(node, "arguments of a call are written one by one")
        root = callee
        while isinstance(root, ast.Attribute):
            root = root.value
        assert isinstance(root, ast.Name)
        scope.functions[root.id] = scope.outside[root.id]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return ast.Call(callee, [self.visit(a) for a in node.args], keywords)


class _Constants(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(a) for a in node.args]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Constant(int(self.scope.outer(node)))  # type: ignore[call-overload]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        scope = self.scope
        if node.id in scope.loops or node.id in scope.arguments:
            return node
        return ast.Constant(int(scope.outer(node)))  # type: ignore[call-overload]


def _subscripts(n: int) -> str:
    return f"{n} subscript{'s' * (n != 1)}"


def _close(name: str, scope: Scope) -> bool:
    from difflib import get_close_matches

    return bool(get_close_matches(name, scope.outside, n=1))
