"""Parts of loops as objects by isl's names: `AstNode`.

>>> from polyvolta.isl import AstBuild, UnionMap
>>> loop = AstBuild.alloc().node_from_schedule_map(UnionMap("{ S[i] -> [i] : 0 <= i < 4 }"))
>>> loop.get_type().name, loop.for_get_body().to_C_str()
('for_', 'S(c0);\\n')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.noted import (
    Group,
    NotedCall,
    NotedPrinter,
    ends_below,
    note_of,
    noted,
)
from polyvolta.sched.by_isl.ast.reading import Spelled, read
from polyvolta.sched.by_isl.kinds import ast_expr_op_type, ast_node_type
from polyvolta.sched.by_isl.plain import Plain, checks_arguments
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Ast, Block, Call, For, If, mapped
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.wrapped import word
from polyvolta.sets import Id, var
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.by_isl.objects.lists import ListOf
from polyvolta.sets.errors import kind_of


def _printer(given: Any) -> Any:  # noqa: ANN401
    """What loops are printed by, which knows their class.

    Raises
    ------
    BadArgument : it is no `Printer`.
    """
    if not hasattr(given, "print_loops"):
        raise BadArgument(
            f"loops are printed by a Printer, not by {kind_of(given)}", hint="Printer.to_str(DEFAULT_CONTEXT)"
        )
    return given


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True, repr=False)
class AstNode(Plain):
    """A part of some loops.

    Parameters
    ----------
    scan : the loops, what is known of their names.
    body : the part: one node, or several that run one after another.
    """

    scan: Scan
    body: tuple[Ast, ...]

    @staticmethod
    def of(made: Scan) -> AstNode:
        """All of what `scan` returns."""
        return AstNode(made, made.body)

    def get_type(self) -> ast_node_type:
        """The kind of the node; several, or none, are a block."""
        kinds = {For: ast_node_type.for_, If: ast_node_type.if_, Block: ast_node_type.mark, Call: ast_node_type.user}
        if len(self.body) != 1 or isinstance(self.body[0], Group):
            return ast_node_type.block
        return next(kind for cls, kind in kinds.items() if isinstance(self.body[0], cls))

    def _is(self, kind: type) -> Any:  # noqa: ANN401
        if len(self.body) != 1 or not isinstance(self.body[0], kind) or isinstance(self.body[0], Group):
            raise BadArgument(f"this node is of type {self.get_type().name}", where=str(self))
        return self.body[0]

    def _speller(self) -> Spelled:
        return Spelled(self.scan.ranges, in_c(self.scan))

    def to_list(self) -> ListOf:
        """A list of it alone."""
        return ListOf([self])

    def to_C_str(self) -> str:  # noqa: N802 - isl's name
        """The text in C, without the macros that it uses (`polyvolta.sched.to_c` writes them, too)."""
        printer = NotedPrinter(self.scan)
        printer.whole(self.body)
        return "\n".join(printer.out) + "\n"

    def to_str(self) -> str:
        """isl's own text of nodes and expressions."""
        kind = self.get_type()
        if kind is ast_node_type.block:
            return f"[ {', '.join(node.to_str() for node in self.block_get_children())} ]"
        if kind is ast_node_type.user:
            said = {"user": self.user_get_expr()}
        elif kind is ast_node_type.if_:
            said = {"guard": self.if_get_cond(), "then": self.if_get_then_node()}
            if self.if_has_else_node():
                said["else"] = self.if_get_else_node()
        elif kind is ast_node_type.mark:
            said = {"mark": self.mark_get_id(), "node": self.mark_get_node()}
        else:
            said = {
                "iterator": self.for_get_iterator(),
                "init": self.for_get_init(),
                "cond": self.for_get_cond(),
                "inc": self.for_get_inc(),
                "body": self.for_get_body(),
            }
        return f"{{ {', '.join(f'{key}: {value}' for key, value in said.items())} }}"

    __str__ = to_str

    def __repr__(self) -> str:
        return f'AstNode("{self}")'

    def _bound(self, kind: str, bounds: tuple[Any, ...], strict: bool = False) -> AstExpr:
        return read(self._speller().bounds(kind, bounds, strict))

    def print_(self, printer: Any, options: Any = None) -> Any:  # noqa: ANN401
        """Add the text in C to a `Printer`; functions in `AstPrintOptions` write what they want.

        Raises
        ------
        BadArgument : such a function does not give the printer back.
        """
        return _printer(printer).print_loops(self, options)

    def for_print(self, printer: Any, options: Any = None) -> Any:  # noqa: ANN401
        """As `print_`, but this loop itself is no function's."""
        self._is(For)
        return _printer(printer).print_loops(self, options, head=True)

    def if_print(self, printer: Any, options: Any = None) -> Any:  # noqa: ANN401
        """As `print_`, of a condition."""
        self._is(If)
        return _printer(printer).print_loops(self, options)

    def print_macros(self, printer: Any) -> Any:  # noqa: ANN401
        """Add the definitions of the macros that the text of `to_C_str` uses to a `Printer`."""
        return _printer(printer).print_macros(self)

    # ---- loops

    def for_get_iterator(self) -> AstExpr:
        """The variable of a loop."""
        loop = self._is(For)
        return read(self._speller().text(var(loop.var)))

    def for_get_init(self) -> AstExpr:
        """The value that a loop begins at."""
        return self._bound("max", self._is(For).lower)

    def for_get_cond(self) -> AstExpr:
        """The condition under which a loop goes on; 1 for one that never ends."""
        loop = self._is(For)
        if not loop.upper:
            return AstExpr(1)
        strict = ends_below(loop)
        sides = self.for_get_iterator(), self._bound("min", loop.upper, strict)
        return AstExpr(None, ast_expr_op_type.lt if strict else ast_expr_op_type.le, sides)

    def for_get_inc(self) -> AstExpr:
        """What is added to the variable of a loop."""
        return read(str(self._is(For).step))

    def for_get_body(self) -> AstNode:
        """What a loop runs."""
        return AstNode(self.scan, self._is(For).body)

    def for_is_degenerate(self) -> bool:
        """Whether a loop runs once: such a loop is none here."""
        self._is(For)
        return False

    def for_is_coincident(self) -> bool:
        """Whether the iterations of a loop are independent of each other."""
        return self._is(For).coincident

    # ---- conditions, blocks, marks and statements

    def if_get_cond(self) -> AstExpr:
        """The condition."""
        return read(self._speller().conditions(self._is(If).conditions))

    def if_get_then_node(self) -> AstNode:
        """What runs where it holds."""
        return AstNode(self.scan, self._is(If).body)

    def if_has_else_node(self) -> bool:
        """Whether anything runs elsewhere."""
        return bool(self._is(If).other)

    def if_get_else_node(self) -> AstNode:
        """What runs elsewhere.

        Raises
        ------
        BadArgument : nothing does.
        """
        other = self._is(If).other
        if not other:
            raise BadArgument("this condition has no other branch", where=str(self))
        return AstNode(self.scan, other)

    if_get_then, if_has_else, if_get_else = if_get_then_node, if_has_else_node, if_get_else_node

    def block_get_children(self) -> list[AstNode]:
        """What runs one after another."""
        body = self.body[0].body if self.body and isinstance(self.body[0], Group) else self.body
        return ListOf([AstNode(self.scan, (node,)) for node in body])

    def mark_get_id(self) -> Id:
        """The name of a mark."""
        mark = self._is(Block).mark
        return mark if isinstance(mark, Id) else Id(mark)

    def mark_get_node(self) -> AstNode:
        """What is marked."""
        return AstNode(self.scan, self._is(Block).body)

    def user_get_expr(self) -> AstExpr:
        """The call of a statement."""
        call, spell = self._is(Call), self._speller()
        if isinstance(call, NotedCall) and call.expr is not None:
            return call.expr
        name = word(call.statement)
        called_so = AstExpr(spell.names.get(name, name))
        return called_so.call([read(spell.text(e)) for e in call.args])

    def map_descendant_bottom_up(self, f: Callable[[AstNode], AstNode]) -> AstNode:
        """The loops after a function of each node below this one, and of this one, children first."""
        if len(self.body) != 1:
            return f(replace(self, body=self._mapped(f)))
        (node,) = self.body
        if isinstance(node, Call):
            return f(self)
        if isinstance(node, Group):
            return f(replace(self, body=(replace(node, body=self._mapped(f)),)))
        new = mapped(node, lambda body: AstNode(self.scan, body).map_descendant_bottom_up(f).body)
        return f(replace(self, body=(new,)))

    def _mapped(self, f: Callable[[AstNode], AstNode]) -> tuple[Ast, ...]:
        return tuple(new for node in self.block_get_children() for new in node.map_descendant_bottom_up(f).body)

    @staticmethod
    def user_from_expr(expr: AstExpr) -> AstNode:
        """The statement that an expression is."""
        call = NotedCall("user", (), (), None, expr)
        return AstNode(Scan((call,)), (call,))

    alloc_user = user_from_expr

    def get_annotation(self) -> Id:
        """The annotation, from a callback or `set_annotation`.

        Raises
        ------
        BadArgument : there is none.
        """
        note = note_of(self.body[0]) if len(self.body) == 1 else None
        if note is None:
            raise BadArgument("this node has no annotation", where=str(self))
        return note

    def set_annotation(self, note: Id) -> AstNode:
        """The node with an annotation."""
        if len(self.body) != 1:
            return replace(self, body=(Group("", self.body, note=note),))
        return replace(self, body=(noted(self.body[0], note),))

    def foreach_descendant_top_down(self, f: Callable[[AstNode], object]) -> None:
        """Call a function with this node and those below it, and below none of which it says False."""
        if f(self) is False:
            return
        if self.get_type() is ast_node_type.block:
            for node in self.block_get_children():
                node.foreach_descendant_top_down(f)
        elif not isinstance(self.body[0], Call):
            node = self.body[0]
            AstNode(self.scan, node.body).foreach_descendant_top_down(f)
            if isinstance(node, If) and node.other:
                AstNode(self.scan, node.other).foreach_descendant_top_down(f)
