"""Loops with what isl's have beside ours, annotations and expressions in the place of calls, and isl's C of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.reading import AsIsl
from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Condition, Extreme, For, If
from polyvolta.sched.loops.notation.c import CPrinter, called
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.widths import integer_type
from polyvolta.sets import Aff, Id
from polyvolta.sets.by_isl.objects.context import DEFAULTS, option


@dataclass(frozen=True, slots=True)
class NotedCall(Call):
    """A call with an annotation, and the expression that stands in its place."""

    note: Id | None = None
    expr: AstExpr | None = None


@dataclass(frozen=True, slots=True)
class NotedFor(For):
    """A loop with an annotation."""

    note: Id | None = None


@dataclass(frozen=True, slots=True)
class NotedIf(If):
    """A condition with an annotation, and what runs where it does not hold, if anything does."""

    note: Id | None = None
    other: tuple[Ast, ...] = ()


@dataclass(frozen=True, slots=True)
class NotedBlock(Block):
    """A marked part with an annotation."""

    note: Id | None = None


@dataclass(frozen=True, slots=True)
class Group(NotedBlock):
    """Several nodes as one, which holds an annotation; it has no mark."""


_NOTED: dict[type, Any] = {Call: NotedCall, For: NotedFor, If: NotedIf, Block: NotedBlock}


def noted(node: Ast, note: Id) -> Ast:
    """The node with an annotation."""
    given = {f.name: getattr(node, f.name) for f in fields(node)}
    cls: Any = _NOTED.get(type(node), type(node))
    return cls(**{**given, "note": note})


def note_of(node: Ast) -> Id | None:
    """The annotation of a node, if it has one."""
    return getattr(node, "note", None)


def other_of(node: Ast) -> tuple[Ast, ...]:
    """What runs where the condition that a node is does not hold."""
    return getattr(node, "other", ())


def in_line(scan: Scan) -> Scan:
    """Loops of whose names and numbers is asked: what runs elsewhere stands behind its condition."""
    return scan if scan.plain and scan.largest else replace(scan, body=_in_line(scan.body))


def _in_line(body: Sequence[Ast]) -> tuple[Ast, ...]:
    """The nodes, what runs elsewhere behind each."""
    out: list[Ast] = []
    for node in body:
        out.append(node if isinstance(node, Call) else replace(node, body=_in_line(node.body)))
        out += _in_line(other_of(node))
    return tuple(out)


def _elsewhere(conditions: Sequence[Condition]) -> list[Condition]:
    """What is known where not all of some conditions hold, if those are one bound."""
    first = conditions[0]
    return [("ge", -1 - first[1])] if len(conditions) == 1 and not isinstance(first, AnyOf) and first[0] == "ge" else []


def statement_lines(call: Call, speller: CSpeller) -> list[str]:
    """The lines of a call, or of what stands in its place."""
    if isinstance(call, NotedCall) and call.expr is not None:
        speller.used |= call.expr.macros()
        return [f"{call.expr.to_C_str()};"]
    return [called(call, "", speller)]


def ends_below(loop: For) -> bool:
    """Whether isl writes `<`: where each bound takes a number away, as N - 1 does."""
    return bool(loop.upper) and all(isinstance(e, Aff) and e.const < 0 for e in _simple(loop.upper))


def _simple(bounds: Sequence[Bound]) -> Iterator[Bound]:
    for b in bounds:
        yield from _simple(b.terms) if isinstance(b, Extreme) else (b,)


def _iterator_type(scan: Scan) -> str:
    """The type of loop variables: the one that somebody set, else the narrowest that holds them."""
    asked = str(option("ast_iterator_type"))
    return integer_type(scan, None) if asked == DEFAULTS["ast_iterator_type"] else asked


class NotedPrinter(AsIsl, CPrinter):
    """Writes loops in C with isl's braces: around several nodes that no loop is around, and below a head around a mark.

    isl's options of a context say more: the type of loop variables, `ast_iterator_type`, braces around the outermost
    nodes, `ast_print_outermost_block`, and around whatever is below a head, `ast_always_print_block`.

    Parameters
    ----------
    scan : the loops, what is known of their names.
    statement : what a call becomes, some lines.
    """

    def __init__(self, scan: Scan, statement: Callable[[Call, CSpeller], list[str]] = statement_lines) -> None:
        every = in_line(scan)
        super().__init__(scan.ranges, _iterator_type(every), False, statement, in_c(every))
        self.braced = bool(option("ast_always_print_block"))

    def going_on(self, loop: For, name: str) -> str:
        below = ends_below(loop)
        return f"{name} {'<' if below else '<='} {self.bounds('min', loop.upper, below)}" if loop.upper else "1"

    def block(self, body: Sequence[Ast], pad: str) -> None:
        for node in body:
            if isinstance(node, If) and other_of(node):
                self.branches(node, pad)
            else:
                super().block((node,), pad)

    def branches(self, node: If, pad: str, start: str = "if (") -> None:
        """A condition and its branches, all of them in braces; another condition alone stands behind its else."""
        self.out.append(f"{pad}{start}{self.conditions(node.conditions)}) {{")
        with self.assuming(node.conditions):
            self.block(node.body, pad + "  ")
        other = other_of(node)
        with self.assuming(_elsewhere(node.conditions)):
            if len(other) == 1 and isinstance(other[0], If):
                self.branches(other[0], pad, "} else if (")
                return
            if other:
                self.out.append(pad + "} else {")
                self.block(other, pad + "  ")
        self.out.append(pad + "}")

    def remainder(self, num: Aff, den: int) -> str:
        """With isl's macros alone, which programs define themselves: floord, min and max."""
        if self.unsigned(num) or self.scope and self.remains(num, den) is not None:
            return super().remainder(num, den)
        self.used.add("floord")
        text = self.text(num)
        return f"({text} - {den} * floord({text}, {den}))"

    def whole(self, body: Sequence[Ast], pad: str = "", *, outermost: bool = True) -> None:
        """A node; several, or none, are a block."""
        if len(body) == 1 or outermost and not option("ast_print_outermost_block"):
            self.block(body, pad)
        else:
            self.out.append(pad + "{")
            self.block(body, pad + "  ")
            self.out.append(pad + "}")

    def marked(self, node: Block, pad: str) -> None:
        if not isinstance(node, Group):
            self.out.append(f"{pad}// {node.mark}")
        self.whole(node.body, pad, outermost=False)

    def in_braces(self, body: Sequence[Ast], lines: int) -> bool:
        first = body[0] if len(body) == 1 else None
        several = first is None or isinstance(first, Block) or bool(other_of(first))
        return self.braced or several or lines > 1 and isinstance(first, Call)
