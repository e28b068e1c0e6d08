"""Loops with what isl's have beside ours, annotations and expressions in the place of calls, and isl's C of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.reading import AsIsl
from polyvolta.sched.loops.ast import Ast, Block, Bound, Call, Extreme, For, If
from polyvolta.sched.loops.notation.c import CPrinter, called
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sched.loops.notation.widths import integer_type
from polyvolta.sched.loops.result import Scan
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
    """A condition with an annotation."""

    note: Id | None = None


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
        super().__init__(scan.ranges, _iterator_type(scan), False, statement, in_c(scan))
        self.braced = bool(option("ast_always_print_block"))

    def going_on(self, loop: For, name: str) -> str:
        below = ends_below(loop)
        return f"{name} {'<' if below else '<='} {self.bounds('min', loop.upper, below)}" if loop.upper else "1"

    def branches_in_braces(self, bodies: Sequence[Sequence[Ast]], lines: Sequence[int]) -> bool:
        return len(bodies) > 1 or self.in_braces(bodies[0], lines[0])

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
        several = first is None or isinstance(first, Block) or (isinstance(first, If) and bool(first.other))
        return self.braced or several or lines > 1 and isinstance(first, Call)
