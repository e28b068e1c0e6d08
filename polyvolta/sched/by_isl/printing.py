"""isl's printer: what gathers texts, of values by `str` and of loops in C, parts of which a user's functions write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from polyvolta.sched.by_isl.expressions import AstExpr
from polyvolta.sched.by_isl.kinds import format, yaml_style
from polyvolta.sched.by_isl.node import ScheduleNode
from polyvolta.sched.by_isl.nodes import AstNode, statement_lines
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Call, For
from polyvolta.sched.loops.notation.c import MACROS, CPrinter
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sched.loops.widths import integer_type
from polyvolta.sched.tree import Schedule

Writes = Callable[["Printer", "AstPrintOptions", AstNode], "Printer"]

HOLE = Call("", ())  # stands for what is in a loop while its head is written


@dataclass(frozen=True, slots=True)
class AstPrintOptions:
    """Who writes statements and loops: functions of a printer, these options and the node, which give the printer.

    >>> from polyvolta.isl import AstBuild, AstPrintOptions, Printer, UnionMap
    >>> def parallel(printer, options, node):
    ...     printer = printer.start_line().print_str("#pragma omp parallel for").end_line()
    ...     return node.for_print(printer, AstPrintOptions.alloc())
    >>> options, handle = AstPrintOptions.alloc().set_print_for(parallel)
    >>> loops = AstBuild.alloc().node_from_schedule_map(UnionMap("{ S[i, j] -> [i, j] : 0 <= i, j < 4 }"))
    >>> print(loops.print_(Printer.to_str(), options).get_str(), end="")
    #pragma omp parallel for
    for (int c0 = 0; c0 < 4; c0 += 1)
      for (int c1 = 0; c1 < 4; c1 += 1)
        S(c0, c1);
    """

    print_user: Writes | None = None
    print_for: Writes | None = None

    @staticmethod
    def alloc(context: object = None) -> AstPrintOptions:
        """Nobody but the printer; isl's context means nothing."""
        return AstPrintOptions()

    def set_print_user(self, writes: Writes) -> tuple[AstPrintOptions, Writes]:
        """The options with a function that writes statements, and a handle, which need not be kept."""
        return replace(self, print_user=_function(writes)), writes

    def set_print_for(self, writes: Writes) -> tuple[AstPrintOptions, Writes]:
        """The options with a function that writes loops, and a handle, which need not be kept."""
        return replace(self, print_for=_function(writes)), writes


def _function(given: Any) -> Any:  # noqa: ANN401
    if not callable(given):
        raise BadArgument(f"a function of a printer, options and a node writes, not {given!r}")
    return given


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

    def print_loops(self, node: AstNode, options: AstPrintOptions | None = None, head: bool = False) -> Self:
        """Add loops in C, of which functions in `options` write what they want; those of a `head` not the first loop.

        See `AstNode.print_`.
        """
        writer = _Writer(node, options or AstPrintOptions(), self._format)
        if head and isinstance(first := node.body[0], For):
            writer.headed(first)
        else:
            writer.block(node.body, "")
        for line in writer.out:
            self.start_line().print_str(line).end_line()
        return self

    def print_macros(self, node: AstNode) -> Self:
        """Add the definitions of the macros that loops use; see `AstNode.print_macros`."""
        speller = CPrinter(node.scan.ranges, names=in_c(node.scan))
        speller.block(node.body, "")
        for name in MACROS:
            if name in speller.speller.used:
                self.start_line().print_str(MACROS[name]).end_line()
        return self

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


class _Writer(CPrinter):
    """Writes loops in C, and lets functions write their parts."""

    def __init__(self, node: AstNode, options: AstPrintOptions, form: format) -> None:
        scan = node.scan
        super().__init__(scan.ranges, integer_type(scan, None), False, self.lines, in_c(scan))
        self.node, self.options, self.form = node, options, form

    def lines(self, call: Call, speller: CSpeller) -> list[str]:
        """The lines of a statement."""
        if call is HOLE:
            return [""]
        if self.options.print_user is None:
            return statement_lines(call, speller)
        return self.written(self.options.print_user, call, "")

    def loop(self, node: For, pad: str) -> None:
        if self.options.print_for is None:
            super().loop(node, pad)
        else:
            self.out += self.written(self.options.print_for, node, pad)

    def written(self, writes: Writes, node: Call | For, pad: str) -> list[str]:
        """The lines that a function writes for a node."""
        printer = Printer().set_output_format(self.form).set_indent(len(pad))
        found = writes(printer, self.options, replace(self.node, body=(node,)))
        if not isinstance(found, Printer):
            raise BadArgument(f"what writes a node gives its printer back, not {found!r}")
        return found.get_str().splitlines()

    def headed(self, loop: For) -> None:
        """A loop as this class writes it, whose parts functions write."""
        at = len(self.out)
        super().loop(replace(loop, body=(HOLE,)), "")
        *before, head, _ = self.out[at:]
        self.out[at:] = before
        outside, self.speller.scope = self.speller.scope, {**self.speller.scope, loop.var: loop}
        self.nested(head, loop.body, "")
        self.speller.scope = outside
