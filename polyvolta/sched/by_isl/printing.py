"""isl's printer: what gathers texts, of values by `str` and of loops in C."""

from __future__ import annotations

from typing import Any, Self

from polyvolta.sched.by_isl.kinds import format, yaml_style
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.tree import Schedule


class Printer:
    """Texts one after another; each method gives the printer itself.

    >>> from polyvolta.isl import Printer, Set
    >>> Printer.to_str().print_str("A = ").print_set(Set("{ [i] : i > 3 }")).get_str()
    'A = { [i] : i >= 4 }'
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._format = format.ISL
        self._indent = 0

    @staticmethod
    def to_str(context: object = None) -> Printer:
        """A printer that has printed nothing; isl's context means nothing."""
        return Printer()

    def set_output_format(self, form: format | int) -> Self:
        """Write as isl or, loops alone, as C.

        Raises
        ------
        BadArgument : another format.
        """
        if form not in (format.ISL, format.C):
            raise BadArgument(f"texts are isl's or C's, not {form!s}")
        self._format = format(form)
        return self

    def get_output_format(self) -> format:
        """How it writes."""
        return self._format

    def set_yaml_style(self, style: yaml_style | int) -> Self:
        """Trees are written in one line always: the style means nothing."""
        return self

    def print_str(self, text: str) -> Self:
        """Add a text."""
        self._texts.append(str(text))
        return self

    print_int = print_double = print_str

    def print_value(self, value: Any) -> Self:  # noqa: ANN401
        """Add the text of a value; all of `print_set`, `print_map` and so on.

        Raises
        ------
        BadArgument : sets and functions in C.
        """
        from polyvolta.sched.by_isl.expressions import AstExpr
        from polyvolta.sched.by_isl.node import ScheduleNode
        from polyvolta.sched.by_isl.nodes import AstNode

        if isinstance(value, AstNode):
            return self.print_str(value.to_C_str())  # loops are C in both formats
        if isinstance(value, AstExpr):
            return self.print_str(value.to_C_str())
        if self._format is format.C and not isinstance(value, (int, str)):
            raise BadArgument("loops alone are written in C", where=str(value))
        return self.print_str(value.to_str() if isinstance(value, (Schedule, ScheduleNode)) else str(value))

    print_set = print_basic_set = print_union_set = print_map = print_basic_map = print_union_map = print_value
    print_aff = print_pw_aff = print_multi_aff = print_pw_multi_aff = print_multi_pw_aff = print_value
    print_union_pw_aff = print_union_pw_multi_aff = print_multi_union_pw_aff = print_multi_val = print_value
    print_pw_qpolynomial = print_constraint = print_space = print_point = print_val = print_id = print_value
    print_schedule = print_schedule_node = print_ast_node = print_ast_expr = print_value

    def set_indent(self, indent: int) -> Self:
        """How many blanks `start_line` writes."""
        self._indent = int(indent)
        return self

    def indent(self, more: int) -> Self:
        """As many more blanks."""
        return self.set_indent(self._indent + int(more))

    def start_line(self) -> Self:
        """Add the blanks before a line."""
        return self.print_str(" " * self._indent)

    def end_line(self) -> Self:
        """End a line."""
        return self.print_str("\n")

    def flush(self) -> Self:
        """Forget what was printed to a text, as isl's printer does."""
        self._texts.clear()
        return self

    def get_str(self) -> str:
        """All that was printed."""
        return "".join(self._texts)
