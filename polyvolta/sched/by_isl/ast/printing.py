"""isl's printer: what gathers texts, of values by `str` and of loops in C, parts of which a user's functions write."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.functions import in_c
from polyvolta.sched.by_isl.ast.nodes import AstNode
from polyvolta.sched.by_isl.ast.noted import NotedPrinter, statement_lines
from polyvolta.sched.by_isl.constraints import ScheduleConstraints
from polyvolta.sched.by_isl.flow import UnionAccessInfo, UnionFlow
from polyvolta.sched.by_isl.kinds import format, yaml_style
from polyvolta.sched.by_isl.node import ScheduleNode
from polyvolta.sched.by_isl.plain import Plain, checks_arguments
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Call, For
from polyvolta.sched.loops.notation.c import MACROS
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sched.tree import Schedule
from polyvolta.sets import DEFAULT_CONTEXT, Context, Id, Point, PwAff, Space
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.functions.rational import RationalPwAff

Writes = Callable[["Printer", "AstPrintOptions", AstNode], "Printer"]

HOLE = Call("", ())  # stands for what is in a loop while its head is written


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True)
class AstPrintOptions(Plain):
    """Who writes statements and loops: functions of a printer, these options and the node, which give the printer.

    >>> from polyvolta.isl import AstBuild, AstPrintOptions, Printer, UnionMap
    >>> def parallel(printer, options, node):
    ...     printer = printer.start_line().print_str("#pragma omp parallel for").end_line()
    ...     return node.for_print(printer, AstPrintOptions.alloc())
    >>> options, handle = AstPrintOptions.alloc().set_print_for(parallel)
    >>> loops = AstBuild.alloc().node_from_schedule_map(UnionMap("{ S[i, j] -> [i, j] : 0 <= i, j < 4 }"))
    >>> print(loops.print_(Printer.to_str(), options).get_str(), end="")
    #pragma omp parallel for
    for (int c0 = 0; c0 <= 3; c0 += 1)
      for (int c1 = 0; c1 <= 3; c1 += 1)
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


@dataclass(slots=True)
class _Place:
    """Where in pairs or a sequence of yaml a printer is."""

    pairs: bool
    first: bool = True
    at_value: bool = False
    written: bool = False
    """Whether something is at this place, a key or a value."""


_TREES = (Schedule, ScheduleConstraints, UnionAccessInfo, UnionFlow)
_BY_ISL: tuple[Any, ...] = (ScheduleConstraints, UnionAccessInfo, UnionFlow, Space, Point)  # str is another than isl's


def _text(value: Any, in_c: bool) -> str:  # noqa: ANN401
    """The text of a value, isl's or, of loops, that in C."""
    if isinstance(value, (AstNode, AstExpr)):
        return value.to_C_str() if in_c else value.to_str()
    if isinstance(value, list):
        return f"({','.join(_text(x, in_c) for x in value)})"
    if isinstance(value, Schedule):
        return value.to_isl()
    return value.to_str() if isinstance(value, _BY_ISL) else str(value)


@take_keywords
@checks_arguments
class Printer:
    """Texts one after another; each method gives the printer itself.

    >>> from polyvolta.isl import Printer, Set
    >>> Printer.to_str().print_str("A = ").print_set(Set("{ [i] : i > 3 }")).get_str()
    'A = { [i] : i >= 4 }'
    >>> p = Printer.to_str().yaml_start_mapping().print_str("sizes").yaml_next().yaml_start_sequence()
    >>> p.print_int(32).yaml_next().print_int(8).yaml_end_sequence().yaml_end_mapping().get_str()
    '{ sizes: [ 32, 8 ] }'
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._format = format.ISL
        self._style = yaml_style.FLOW
        self._indent = 0
        self._around = ("", "", "")
        self._notes: dict[str, Id] = {}
        self._open: list[_Place] = []  # of the yaml that is being written, the innermost last

    @staticmethod
    def to_str(context: object = None) -> Printer:
        """A printer that has printed nothing; isl's context means nothing."""
        return Printer()

    def get_ctx(self) -> Context:
        """isl's context, which means nothing."""
        return DEFAULT_CONTEXT

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
        """Write trees in one line, or in lines; nodes of trees are written in lines always.

        Raises
        ------
        BadArgument : another style.
        """
        if style not in (yaml_style.BLOCK, yaml_style.FLOW):
            raise BadArgument(f"there is no such style, {style!s}")
        self._style = yaml_style(style)
        return self

    def get_yaml_style(self) -> yaml_style:
        """How it writes trees."""
        return self._style

    def set_prefix(self, prefix: str) -> Self:
        """What stands in front of each line, behind its blanks."""
        self._around = (self._around[0], str(prefix), self._around[2])
        return self

    def set_suffix(self, suffix: str) -> Self:
        """What stands at the end of each line."""
        self._around = (*self._around[:2], str(suffix))
        return self

    def set_indent_prefix(self, prefix: str) -> Self:
        """What stands in front of the blanks of each line."""
        self._around = (str(prefix), *self._around[1:])
        return self

    def set_note(self, key: Id, note: Id) -> Self:
        """Keep a note for those who print with this printer."""
        self._notes[str(key)] = note
        return self

    def has_note(self, key: Id) -> bool:
        """Whether there is a note of a name."""
        return str(key) in self._notes

    def get_note(self, key: Id) -> Id:
        """The note of a name.

        Raises
        ------
        BadArgument : there is none.
        """
        if str(key) not in self._notes:
            raise BadArgument(f"there is no note of {key!s}")
        return self._notes[str(key)]

    def print_str(self, text: str) -> Self:
        """Add a text."""
        self._enter(": ")
        return self._add(str(text))

    print_int = print_double = print_str

    def _add(self, text: str) -> Self:
        self._texts.append(text)
        return self

    def print_value(self, value: Any) -> Self:  # noqa: ANN401
        """Add the text of a value; all of `print_set`, `print_map` and so on.

        Raises
        ------
        BadArgument : sets and functions to tuples in C.
        """
        if self._format is format.C and isinstance(value, PwAff | RationalPwAff):
            return self.print_str(in_c(value))
        if self._format is format.C and not isinstance(value, (AstNode, AstExpr, int, str, list)):
            raise BadArgument("loops and functions of one value alone are written in C", where=str(value))
        block = self._style is yaml_style.BLOCK
        if block and isinstance(value, ScheduleNode):
            return self.print_str(value.to_str())
        if block and isinstance(value, Schedule) and not self._open:
            return self.print_str(value.to_isl(block=True))
        text = _text(value, self._format is format.C)
        return self._tree(text) if block and isinstance(value, _TREES) else self.print_str(text)

    print_set = print_basic_set = print_union_set = print_map = print_basic_map = print_union_map = print_value
    print_aff = print_pw_aff = print_multi_aff = print_pw_multi_aff = print_multi_pw_aff = print_value
    print_union_pw_aff = print_union_pw_multi_aff = print_multi_union_pw_aff = print_multi_val = print_value
    print_qpolynomial = print_pw_qpolynomial = print_union_pw_qpolynomial = print_multi_id = print_value
    print_qpolynomial_fold = print_pw_qpolynomial_fold = print_union_pw_qpolynomial_fold = print_value
    print_pw_qpolynomial_fold_list = print_value
    print_constraint = print_space = print_local_space = print_point = print_val = print_id = print_value
    print_schedule = print_schedule_node = print_ast_node = print_ast_expr = print_value
    print_schedule_constraints = print_union_access_info = print_union_flow = print_value
    print_aff_list = print_pw_aff_list = print_pw_multi_aff_list = print_union_pw_aff_list = print_value
    print_union_pw_multi_aff_list = print_qpolynomial_list = print_pw_qpolynomial_list = print_value
    print_basic_set_list = print_set_list = print_union_set_list = print_basic_map_list = print_map_list = print_value
    print_union_map_list = print_constraint_list = print_id_list = print_val_list = print_value
    print_ast_expr_list = print_ast_node_list = print_value

    # ---- yaml

    def yaml_start_mapping(self) -> Self:
        """Begin pairs of a key and a value, with `yaml_next` between."""
        return self._begin(_Place(True), "{ ")

    def yaml_start_sequence(self) -> Self:
        """Begin values, with `yaml_next` between."""
        return self._begin(_Place(False), "[ ")

    def yaml_end_mapping(self) -> Self:
        """End what was begun."""
        return self._end(" }", "{}")

    def yaml_end_sequence(self) -> Self:
        """End what was begun."""
        return self._end(" ]", "[]")

    def yaml_next(self) -> Self:
        """Come to the value of a key, to the next key, or to the next value of a sequence."""
        if self._open and self._open[-1].written:
            place = self._open[-1]
            place.written, place.first = False, False
            place.at_value = place.pairs and not place.at_value
            if not place.pairs:
                self._deeper(-2)
        return self

    def _enter(self, colon: str) -> None:
        """Write what stands before a key or a value: `colon` behind a key, or what parts it from the one before."""
        if not self._open or (place := self._open[-1]).written:
            return
        place.written = True
        block = self._style is yaml_style.BLOCK
        if place.at_value:
            self._add(colon)
        elif block and not (place.pairs and place.first):
            self.end_line().start_line()
        elif not place.first:
            self._add(", ")
        if block and not place.pairs:
            self._add("- ")._deeper(2)

    def _begin(self, place: _Place, bracket: str) -> Self:
        block = self._style is yaml_style.BLOCK
        self._enter(":" if block else ": ")
        if not block:
            self._add(bracket)
        elif place.pairs and self._open and self._open[-1].at_value:
            self.end_line()._deeper(2).start_line()
        self._open.append(place)
        return self

    def _end(self, bracket: str, empty: str) -> Self:
        if not self._open:
            raise BadArgument("nothing was begun that could end")
        place = self._open.pop()
        if self._style is not yaml_style.BLOCK:
            return self._add(bracket)
        of_key = bool(self._open) and self._open[-1].at_value
        if place.first and not place.written:
            self._add(f" {empty}" if of_key and not place.pairs else empty)
        elif not place.pairs:
            self._deeper(-2)
        if place.pairs and of_key:
            self._deeper(-2)
        return self if self._open else self.end_line()

    def _deeper(self, more: int) -> Self:
        return self.set_indent(self._indent + more)

    def _tree(self, text: str) -> Self:
        """Add a text of yaml in one line, in this printer's style."""
        parts = {"{": self.yaml_start_mapping, "}": self.yaml_end_mapping, "[": self.yaml_start_sequence,
                 "]": self.yaml_end_sequence, ",": self.yaml_next, ":": self.yaml_next}  # fmt: skip
        for word in re.findall(r'"[^"]*"|\[[\d, ]+\]|[{}\[\],:]|[^\s{}\[\],:"]+', text):  # numbers stay in a line
            if word in parts:
                parts[word]()
            else:
                self.print_str(word)
        return self

    # ---- loops

    def print_loops(self, node: AstNode, options: AstPrintOptions | None = None, head: bool = False) -> Self:
        """Add loops in C, of which functions in `options` write what they want; those of a `head` not the first loop.

        See `AstNode.print_`.
        """
        writer = _Writer(node, options or AstPrintOptions(), self._format)
        if head and isinstance(first := node.body[0], For):
            writer.headed(first)
        else:
            writer.whole(node.body)
        for line in writer.out:
            self.start_line().print_str(line).end_line()
        return self

    def print_macros(self, node: AstNode) -> Self:
        """Add the definitions of the macros that loops use; see `AstNode.print_macros`."""
        printer = NotedPrinter(node.scan)
        printer.whole(node.body)
        for name in MACROS:
            if name in printer.used:
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
        """Add the blanks before a line, and what stands around them."""
        return self._add(f"{self._around[0]}{' ' * self._indent}{self._around[1]}")

    def end_line(self) -> Self:
        """End a line."""
        return self._add(f"{self._around[2]}\n")

    def flush(self) -> Self:
        """Forget what was printed to a text, as isl's printer does."""
        self._texts.clear()
        return self

    def get_str(self) -> str:
        """All that was printed."""
        return "".join(self._texts)


class _Writer(NotedPrinter):
    """Writes loops in C, and lets functions write their parts."""

    def __init__(self, node: AstNode, options: AstPrintOptions, form: format) -> None:
        super().__init__(node.scan, self.lines)
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
        outside, self.scope = self.scope, {**self.scope, loop.var: loop}
        self.nested(head, loop.body, "")
        self.scope = outside
