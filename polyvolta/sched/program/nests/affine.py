"""Reading Python expressions as integers and conditions that sets can say.

An expression is affine if it is made of iterators, parameters and numbers by +, -, multiplication by a number, // and %
by a number, min, max and abs. A condition compares such expressions; `and`, `or` and `not` combine conditions. What is
something else is refused where it stands, with the reason.
"""

from __future__ import annotations

import ast
from operator import index

from polyvolta.sched.program.nests.scope import Scope
from polyvolta.sched.program.nests.values import Value, both, compare, extreme, negated
from polyvolta.sets.errors import kind_of
from polyvolta.sets.text.formulas import NO, YES, Node, Tree

OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=", ast.NotEq: "!="}

NO_SIZES = "sizes of arrays are no parameters", "pass the size as an argument"


def integer(node: ast.expr, scope: Scope, what: str) -> Value:
    """The value of an expression; `what` it is for, such as "bound".

    Raises
    ------
    NotAffineProgram : it is not affine.
    """
    return _Reader(scope, what).value(node)


def condition(node: ast.expr, scope: Scope, what: str = "condition") -> Tree:
    """The formula that a condition is; `what` it is for, such as "assertion".

    Raises
    ------
    NotAffineProgram : it depends on data, or compares what is not affine.
    """
    return _Reader(scope, what).condition(node)


class _Reader:
    def __init__(self, scope: Scope, what: str) -> None:
        self.scope, self.what = scope, what

    def refused(self, node: ast.AST, reason: str, hint: str = "") -> Exception:
        return self.scope.source.error(node, f"the {self.what} is not affine: {reason}", hint)

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int(number)):
                return Value.of(int(number))
            case ast.Constant(value=number):
                hint = "write an integer" if isinstance(number, float) else ""
                raise self.refused(node, f"{ast.unparse(node)} is no integer", hint)
            case ast.Name():
                return self.name(node)
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return self.value(x) * -1
            case ast.UnaryOp(op=ast.UAdd(), operand=x):
                return self.value(x)
            case ast.BinOp():
                return self.operation(node)
            case ast.Call():
                return self.call(node)
            case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Attribute(attr="shape"):
                raise self.refused(node, *NO_SIZES)
            case ast.Subscript():
                raise self.refused(node, f"it depends on data, the value of {ast.unparse(node)}", self.data_hint())
            case ast.Attribute():
                number = self.number(node)
                if number is not None:
                    return Value.of(number)
        raise self.refused(node, f"{ast.unparse(node)} is no integer expression", "write +, -, *, // and % of integers")

    def data_hint(self) -> str:
        return "put the choice into the expression: C[i] = x if A[i] > 0 else C[i]" if self.what == "condition" else ""

    def number(self, node: ast.expr) -> int | None:
        """An integer of the surroundings."""
        try:
            return index(self.scope.outer(node))  # type: ignore[arg-type]
        except TypeError:
            return None

    def name(self, node: ast.Name) -> Value:
        name, scope = node.id, self.scope
        if name in scope.loops:
            return Value.of(name)
        if name in scope.iterators:
            raise self.refused(node, f"{name} is used outside of its loop")
        if name in scope.arrays:
            raise self.refused(node, f"{name} is an array", "its size is passed as an argument")
        if name in scope.local:
            raise self.refused(
                node, f"{name} is assigned in the nest, so that it is data", "write the expression out where it is used"
            )
        if name in scope.arguments:
            scope.params[name] = None
            return Value.of(name)
        if name not in scope.outside:
            raise scope.unknown(node)
        number = self.number(node)
        if number is None:
            raise self.refused(node, f"{name} is {kind_of(scope.outside[name])}, no integer")
        return Value.of(number)

    def operation(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.Div):
            raise self.refused(node, "/ makes a fraction", "write // for the integer quotient")
        left = self.value(node.left)
        right = self.value(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                for factor, other in ((left.constant, right), (right.constant, left)):
                    if factor is not None:
                        return other * factor
                texts = ast.unparse(node.left), ast.unparse(node.right)
                raise self.refused(node, f"a product of {texts[0]} and {texts[1]}", "one factor must be a number")
            case ast.FloorDiv() | ast.Mod():
                by = self.constant(node.right, right, "a division")
                if not by:
                    raise self.refused(node.right, "a division by zero")
                return left.floordiv(by) if isinstance(node.op, ast.FloorDiv) else left.mod(by)
            case ast.LShift() | ast.RShift():
                by = self.constant(node.right, right, "a shift")
                if by < 0:
                    raise self.refused(node.right, "a negative shift")
                return left * 2**by if isinstance(node.op, ast.LShift) else left.floordiv(2**by)
            case ast.Pow():
                base, power = self.constant(node.left, left, "a power"), self.constant(node.right, right, "a power")
                if power >= 0:
                    return Value.of(base**power)
        raise self.refused(node, f"{ast.unparse(node)} is no integer expression", "write +, -, *, // and % of integers")

    def constant(self, node: ast.expr, value: Value, what: str) -> int:
        if value.constant is None:
            link = {"a division": "by", "a shift": "by", "a power": "with"}[what]
            raise self.refused(node, f"{what} {link} {ast.unparse(node)}", "it must be a number")
        return value.constant

    def call(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("min", "max", "abs") and name not in (*self.scope.known, *self.scope.iterators):
            fits = len(node.args) == 1 if name == "abs" else len(node.args) > 1
            if node.keywords or not fits:
                raise self.refused(
                    node, f"{name} is of {'one expression' if name == 'abs' else 'two or more expressions'}"
                )
            values = [self.value(x) for x in node.args]
            if name == "abs":
                return extreme([values[0], values[0] * -1], 1)
            return extreme(values, 1 if name == "max" else -1)
        if name == "len":
            raise self.refused(node, *NO_SIZES)
        if name == "int" and len(node.args) == 1:
            raise self.refused(node, "a conversion", "write // for the integer quotient")
        hint = "min, max and abs are the functions that an integer expression may have"
        raise self.refused(node, f"a call of {ast.unparse(node.func)}", hint)

    def condition(self, node: ast.expr) -> Tree:
        match node:
            case ast.BoolOp(op=op, values=parts):
                return Node("all" if isinstance(op, ast.And) else "any", tuple(map(self.condition, parts)))
            case ast.UnaryOp(op=ast.Not(), operand=x):
                return negated(self.condition(x))
            case ast.Compare(left=first, ops=ops, comparators=rest):
                for op in ops:
                    if type(op) not in OPERATORS:
                        raise self.refused(node, "it compares with other than < <= > >= == !=")
                values = [self.value(x) for x in (first, *rest)]
                pairs = zip(values, ops, values[1:], strict=False)
                return both([compare(a, OPERATORS[type(op)], b) for a, op, b in pairs])
            case ast.Constant(value=bool(truth)):
                return YES if truth else NO
        value = self.value(node)
        if value.constant is not None:
            return YES if value.constant else NO
        return compare(value, "!=", Value.of(0))
