"""Expressions of loops by isl's names: `AstExpr`, which is a text, and what calls and conditions are made of."""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.sched.by_isl.kinds import ast_expr_op_type, ast_expr_type
from polyvolta.sched.errors import BadArgument
from polyvolta.sets import Id, Val


@dataclass(frozen=True, slots=True)
class AstExpr:
    """An expression of loops, as C writes it.

    Parameters
    ----------
    text : in C.
    value : its number or its name; None of everything else.
    op : what is made of `args`, a call or a comparison.
    args : of a call its statement and the values of its dimensions, of a comparison both sides.

    >>> from polyvolta.isl import AstBuild, Set, UnionMap
    >>> loops = AstBuild.from_context(Set("{ : }")).node_from_schedule_map(UnionMap("{ S[i] -> [i] : 0 <= i < 9 }"))
    >>> call = loops.for_get_body().user_get_expr()
    >>> call.get_op_type().name, [call.get_op_arg(k).to_C_str() for k in range(call.get_op_n_arg())]
    ('call', ['S', 'c0'])
    """

    text: str
    value: str | int | None = None
    op: ast_expr_op_type | None = None
    args: tuple[AstExpr, ...] = ()

    def to_C_str(self) -> str:  # noqa: N802 - isl's name
        """The text in C."""
        return self.text

    to_str = __str__ = to_C_str

    def get_type(self) -> ast_expr_type:
        """Whether it is a number, a name, or made of others."""
        if isinstance(self.value, int):
            return ast_expr_type.int
        return ast_expr_type.id if isinstance(self.value, str) else ast_expr_type.op

    def _refused(self, wanted: str) -> BadArgument:
        return BadArgument(f"this expression is no {wanted}", where=self.text, hint="to_C_str() is its text")

    def get_id(self) -> Id:
        """The name that it is.

        Raises
        ------
        BadArgument : it is no name.
        """
        if not isinstance(self.value, str):
            raise self._refused("name")
        return Id(self.value)

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
        """Whether it is a call or a comparison.

        Raises
        ------
        BadArgument : it is neither; sums, products and the like are one expression here.
        """
        if self.op is None:
            raise self._refused("call or comparison")
        return self.op

    def get_op_n_arg(self) -> int:
        """How many parts a call or a comparison has; see `get_op_type`."""
        self.get_op_type()
        return len(self.args)

    def get_op_arg(self, pos: int) -> AstExpr:
        """A part of a call or a comparison; see `get_op_type`.

        Raises
        ------
        BadArgument : it has no such part.
        """
        if not 0 <= pos < self.get_op_n_arg():
            raise BadArgument(f"there is no argument {pos}", where=self.text)
        return self.args[pos]

    op_get_arg, op_get_n_arg, op_get_type, id_get_id, int_get_val = (
        get_op_arg, get_op_n_arg, get_op_type, get_id, get_val)  # fmt: skip


def of_text(text: str) -> AstExpr:
    """The expression of a text: a number or a name where it is one.

    >>> of_text("-3").get_val(), of_text("c0").get_id(), of_text("c0 + 1").get_type().name
    (-3, 'c0', 'op')
    """
    if text.removeprefix("-").isdecimal():
        return AstExpr(text, int(text))
    return AstExpr(text, text if text.isidentifier() else None)
