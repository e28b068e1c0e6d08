"""Expressions of loops by isl's names: `AstExpr`, made of numbers, names and operations.

>>> from polyvolta.isl import AstExpr, Id, Val
>>> i = AstExpr.from_id(Id("i"))
>>> e = AstExpr.from_id(Id("A")).access([i.add(AstExpr.from_val(Val(1))).mul(i)])
>>> print(e.to_C_str())
A[(i + 1) * i]
>>> e.get_op_arg(1).get_op_type().name, e.substitute_ids({"i": AstExpr.from_val(3)}).to_C_str()
('mul', 'A[(3 + 1) * 3]')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from polyvolta.sched.by_isl.kinds import ast_expr_op_type, ast_expr_type
from polyvolta.sched.by_isl.plain import Plain, checks_arguments
from polyvolta.sched.errors import BadArgument
from polyvolta.sets import Id, Val
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.by_isl.objects.lists import ListOf
from polyvolta.sets.errors import kind_of

Op = ast_expr_op_type
T = TypeVar("T")

SIGNS = {
    Op.and_: "&&", Op.and_then: "&&", Op.or_: "||", Op.or_else: "||", Op.add: "+", Op.sub: "-", Op.mul: "*",
    Op.div: "/", Op.pdiv_q: "/", Op.pdiv_r: "%", Op.zdiv_r: "%", Op.eq: "==", Op.le: "<=", Op.lt: "<", Op.ge: ">=",
    Op.gt: ">",
}  # fmt: skip
"""What C writes between two operands."""

_LEVELS = (
    (Op.call, Op.access, Op.member, Op.min, Op.max, Op.fdiv_q),
    (Op.minus, Op.address_of),
    (Op.mul, Op.div, Op.pdiv_q, Op.pdiv_r, Op.zdiv_r),
    (Op.add, Op.sub),
    (Op.le, Op.lt, Op.ge, Op.gt),
    (Op.eq,),
    (Op.and_, Op.and_then),
    (Op.or_, Op.or_else),
    (Op.cond, Op.select),
)
_LEVEL = {op: k for k, ops in enumerate(_LEVELS) for op in ops}
_DIVISIONS = (Op.div, Op.pdiv_q, Op.pdiv_r, Op.zdiv_r)
_SHOWN = (Op.div, Op.pdiv_r, Op.zdiv_r)
"""What stands in parentheses in a sum, as isl writes it, though C needs none."""


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True)
class AstExpr(Plain):
    """An expression of loops, as C writes it.

    Parameters
    ----------
    value : its number or its name; None of an operation.
    op : what is made of `args`; None of a number or a name.
    args : the operands; of a call what is called first, of an access the array.
    """

    value: str | int | None = None
    op: ast_expr_op_type | None = None
    args: tuple[AstExpr, ...] = ()

    # ---- expressions of others

    @staticmethod
    def from_val(value: int) -> AstExpr:
        """The expression of a number.

        Raises
        ------
        BadArgument : it is no integer.
        """
        if not isinstance(value, int):
            raise BadArgument(f"an expression is of an integer, not {value}", where=repr(value))
        return AstExpr(Val(value))

    @staticmethod
    def from_id(name: str) -> AstExpr:
        """The expression of a name, which keeps the object of an identifier."""
        if not isinstance(name, str):
            raise BadArgument(f"an expression is of an Id, not {kind_of(name)}", where=repr(name))
        return AstExpr(name if isinstance(name, Id) else Id(name))

    def of(self, op: ast_expr_op_type, *others: AstExpr) -> AstExpr:
        """An operation on this expression and others.

        Raises
        ------
        BadArgument : one of them is no expression.
        """
        for e in others:
            if not isinstance(e, AstExpr):
                raise BadArgument(f"an operand is an AstExpr, not {kind_of(e)}", where=repr(e),
                                  hint="AstExpr.from_val(3), AstExpr.from_id(Id('n'))")  # fmt: skip
        return AstExpr(None, op, (self, *others))

    def neg(self) -> AstExpr:
        """The negative."""
        return self.of(Op.minus)

    def call(self, arguments: Sequence[AstExpr]) -> AstExpr:
        """The call of what it names."""
        return self.of(Op.call, *arguments)

    def access(self, indices: Sequence[AstExpr]) -> AstExpr:
        """The element of the array that it names."""
        return self.of(Op.access, *indices)

    def address_of(self) -> AstExpr:
        """The address of an element.

        Raises
        ------
        BadArgument : it is no access.
        """
        if self.op is not Op.access:
            raise self._refused("access, which has an address")
        return self.of(Op.address_of)

    def set_op_arg(self, pos: int, arg: AstExpr) -> AstExpr:
        """With another operand at a position; see `get_op_arg`."""
        self.get_op_arg(pos)
        return replace(self, args=(*self.args[:pos], arg, *self.args[pos + 1 :]))

    def substitute_ids(self, by: Mapping[str, AstExpr]) -> AstExpr:
        """With expressions in the place of names."""

        def put(e: AstExpr, args: Sequence[AstExpr]) -> AstExpr:
            if e.op is None:
                return by.get(e.value, e) if isinstance(e.value, str) else e
            return replace(e, args=tuple(args))

        return _folded(self, put)

    def is_equal(self, other: AstExpr) -> bool:
        """Whether both are written alike, of the same operations."""
        return self == other

    def to_list(self) -> ListOf:
        """The list of it alone."""
        return ListOf([self])

    def get_type(self) -> ast_expr_type:
        """Whether it is a number, a name, or made of others."""
        if self.op is not None:
            return ast_expr_type.op
        return ast_expr_type.id if isinstance(self.value, str) else ast_expr_type.int

    def _refused(self, wanted: str) -> BadArgument:
        return BadArgument(f"this expression is no {wanted}", where=self.to_C_str(), hint="get_type() says what it is")

    def get_id(self) -> Id:
        """The name that it is.

        Raises
        ------
        BadArgument : it is no name.
        """
        if not isinstance(self.value, str):
            raise self._refused("name")
        return self.value if isinstance(self.value, Id) else Id(self.value)

    def get_val(self) -> Val:
        """The number that it is.

        Raises
        ------
        BadArgument : it is no number.
        """
        if not isinstance(self.value, int):
            raise self._refused("number")
        return Val(self.value)

    def get_op_type(self) -> ast_expr_op_type:
        """What is made of its operands.

        Raises
        ------
        BadArgument : it is a number or a name.
        """
        if self.op is None:
            raise self._refused("operation")
        return self.op

    def get_op_n_arg(self) -> int:
        """How many operands there are; see `get_op_type`."""
        self.get_op_type()
        return len(self.args)

    def get_op_arg(self, pos: int) -> AstExpr:
        """An operand; see `get_op_type`.

        Raises
        ------
        BadArgument : there is no such operand.
        """
        if not 0 <= pos < self.get_op_n_arg():
            raise BadArgument(f"there is no argument {pos}", where=self.to_C_str())
        return self.args[pos]

    op_get_arg, op_get_n_arg, op_get_type, id_get_id, int_get_val = (
        get_op_arg, get_op_n_arg, get_op_type, get_id, get_val)  # fmt: skip

    # ---- texts

    def to_C_str(self) -> str:  # noqa: N802 - isl's name
        """The text in C, parentheses where the operations need them."""
        return _folded(self, AstExpr._in_c)

    def _in_c(self, texts: Sequence[str]) -> str:
        """The same, by the texts of the operands."""
        op = self.op
        if op is None:
            return str(self.value)
        if op in SIGNS or op in (Op.minus, Op.address_of, Op.cond, Op.select):
            texts = [self._operand(pos, text) for pos, text in enumerate(texts)]
        if op in SIGNS:
            return f"{texts[0]} {SIGNS[op]} {texts[1]}"
        if op is Op.minus:
            return f"-{texts[0]}"
        if op is Op.address_of:
            return f"&{texts[0]}"
        if op in (Op.cond, Op.select):
            return f"{texts[0]} ? {texts[1]} : {texts[2]}"
        if op is Op.call:
            return f"{texts[0]}({', '.join(texts[1:])})"
        if op is Op.access:
            return texts[0] + "".join(f"[{text}]" for text in texts[1:])
        if op is Op.member:
            return ".".join(texts)
        if op is Op.fdiv_q:
            return f"floord({', '.join(texts)})"
        whole = texts[-1]
        for text in reversed(texts[:-1]):
            whole = f"{op.name}({text}, {whole})"
        return whole

    def macros(self) -> set[str]:
        """The macros of `polyvolta.sched.to_c` that the text in C uses."""
        named = {Op.fdiv_q: {"floord"}, Op.min: {"min"}, Op.max: {"max"}}
        return _folded(self, lambda e, inside: set[str]().union(named.get(e.op, ()) if e.op else (), *inside))

    def _operand(self, pos: int, text: str) -> str:
        """The text of an operand as it stands beside its sign."""
        inner, outer = self.args[pos], self.op
        if inner.op is None or outer is None:
            return text
        own, around = _LEVEL[inner.op], _LEVEL[outer]
        if own > around or own == around and self._needs_order(pos):
            return f"({text})"
        either = outer in (Op.or_, Op.or_else) and inner.op in (Op.and_, Op.and_then)
        divided = outer is Op.mul and inner.op in _DIVISIONS or outer in (Op.add, Op.sub) and inner.op in _SHOWN
        return f"({text})" if either or divided else text

    def _needs_order(self, pos: int) -> bool:
        """Whether an operand that binds as loosely needs parentheses: C goes from left to right but in `a ? b : c`."""
        if self.op in (Op.minus, Op.address_of):
            return False
        return pos == 0 if self.op in (Op.cond, Op.select) else pos > 0

    def to_str(self) -> str:
        """isl's own text, of numbers, names and operations."""
        return _folded(self, AstExpr._as_isl)

    def _as_isl(self, texts: Sequence[str]) -> str:
        """The same, by the texts of the operands."""
        if self.op is None:
            return f"{{ {'id' if isinstance(self.value, str) else 'val'}: {self.value} }}"
        return f"{{ op: {self.op.name.rstrip('_')}, args: [ {', '.join(texts)} ] }}"

    __str__ = to_str


def _folded(e: AstExpr, f: Callable[[AstExpr, list[T]], T]) -> T:
    """What a function makes of an expression and of what it makes of its operands; these may nest at any depth."""
    found: dict[int, T] = {}
    todo = [e]
    while todo:
        left = [one for one in todo[-1].args if id(one) not in found]
        if left:
            todo += left
        else:
            one = todo.pop()
            found[id(one)] = f(one, [found[id(arg)] for arg in one.args])
    return found[id(e)]


def _of_two(op: ast_expr_op_type, what: str) -> Callable[[AstExpr, AstExpr], AstExpr]:
    def method(self: AstExpr, other: AstExpr) -> AstExpr:
        return self.of(op, other)

    method.__name__, method.__qualname__, method.__doc__ = op.name, f"AstExpr.{op.name}", what
    return method


for _op, _what in {
    Op.add: "The sum.", Op.sub: "The difference.", Op.mul: "The product.", Op.div: "The quotient, which is exact.",
    Op.pdiv_q: "The quotient of a number that is not negative, rounded down.",
    Op.pdiv_r: "The remainder of the division of a number that is not negative.",
    Op.and_: "Whether both hold.", Op.and_then: "Whether both hold; the second is asked where the first holds.",
    Op.or_: "Whether one holds.", Op.or_else: "Whether one holds; the second is asked where the first does not hold.",
    Op.eq: "Whether both are equal.", Op.le: "Whether it is at most the other.", Op.lt: "Whether it is less.",
    Op.ge: "Whether it is at least the other.", Op.gt: "Whether it is greater.",
}.items():  # fmt: skip
    setattr(AstExpr, _op.name, _of_two(_op, _what))
