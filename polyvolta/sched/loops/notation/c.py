"""Loops in C.

    for (int c0 = 0; c0 < (M + 127) / 128; c0 += 1)
      for (int c1 = 0; c1 < min(128, M - 128 * c0); c1 += 1)
        S(128 * c0 + c1);

Divisions are `/` and `%` where nothing can be negative; the macros of the other cases stand at the top, if there are
any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack

from polyvolta.sched.loops.ast import FROM_ZERO, Ast, Block, Call, Extreme, For, If, negation, within
from polyvolta.sched.loops.notation.expressions import CSpeller
from polyvolta.sched.loops.notation.names import in_c
from polyvolta.sched.loops.notation.plain import written
from polyvolta.sched.loops.notation.widths import SMALL, Loops, integer_type
from polyvolta.sched.tree import Path
from polyvolta.sched.wishes import NONE, PARALLEL, USUAL, Wish, wish
from polyvolta.sched.wrapped import word
from polyvolta.sets import Aff

MACROS = {
    "math": "#include <math.h>",
    "stdint": "#include <stdint.h>",
    "floord": "#define floord(n, d) ((n) / (d) - ((n) % (d) < 0))",
    "modd": "#define modd(n, d) (((n) % (d) + (d)) % (d))",
    "floordiv": "#define floordiv(n, d) ((n) / (d) - ((n) % (d) != 0 && ((n) < 0) != ((d) < 0)))",
    "floormod": "#define floormod(n, d) ((n) - (d) * floordiv(n, d))",
    "min": "#define min(x, y) ((y) < (x) ? (y) : (x))",
    "max": "#define max(x, y) ((y) > (x) ? (y) : (x))",
}


def c_text(
    loops: Loops,
    integer: str | None = None,
    openmp: bool = False,
    macros: bool = True,
    wishes: Mapping[Path, Wish] | None = None,
) -> str:
    """Loops with the macros that they use, their names as C spells them; see `polyvolta.sched.to_c`."""
    known = loops.largest
    fitting = "int" if integer is None and known and known[0] < SMALL else integer_type(loops, integer)
    if loops.plain and integer is None and not (openmp or wishes):
        lines: list[str] = []
        if written(loops.body, loops.ranges, f"for ({fitting} ", "", lines):
            text = "\n".join(lines)
            return f"{MACROS['min']}\n\n{text}" if macros and " min(" in text else text
    printer = CPrinter(loops.ranges, fitting, openmp, None, None if loops.plain else in_c(loops), wishes)
    printer.block(loops.body, "")
    return headed(printer.out, printer.used, fitting, macros)


def headed(lines: Sequence[str], used: Collection[str], integer: str, macros: bool) -> str:
    """Some lines below the macros that they use, and below what defines the type of loop variables."""
    if integer != "int" and integer.endswith("_t"):
        used = {*used, "stdint"}
    if not (macros and used):
        return "\n".join(lines)
    if len(used) == 1:
        (name,) = used
        return "\n".join((MACROS[name], "", *lines))
    return "\n".join((*[MACROS[name] for name in MACROS if name in used], "", *lines))


class CPrinter(CSpeller):
    """Writes loops, line by line, into `out`, and what stands in them as `CSpeller` does.

    Parameters
    ----------
    statement : what a call becomes, some lines; None for the call itself.
    wishes : what marks want of loops, by the paths of bands; None: marks are comments.

    Attributes
    ----------
    together : what several calls side by side become, if not each for itself.
    braced : whether every body of a loop is for `in_braces` to decide; else one that is a loop alone stands without.
    """

    braced = False
    statement: Callable[[Call, CSpeller], list[str]] | None = None
    wishes: Mapping[Path, Wish] | None = None
    together: Callable[[Sequence[Call], CSpeller], list[str]] | None = None

    def __init__(
        self,
        ranges: Mapping[str, tuple[int | None, int | None]],
        integer: str = "int",
        openmp: bool = False,
        statement: Callable[[Call, CSpeller], list[str]] | None = None,
        names: Mapping[str, str] | None = None,
        wishes: Mapping[Path, Wish] | None = None,
    ) -> None:
        self.ranges = ranges
        self.names = names or {}
        self.scope = {}
        self.used = set()
        self.out: list[str] = []
        self.integer = integer
        self.openmp = openmp
        if statement:
            self.statement = statement
        if wishes is not None:
            self.wishes = wishes

    def block(self, body: Sequence[Ast], pad: str) -> None:
        """Some statements, one after another."""
        out = self.out
        if self.together is not None and len(body) > 1 and all(isinstance(node, Call) for node in body):
            out += [pad + line for line in self.together([c for c in body if isinstance(c, Call)], self)]
            return
        for node in body:
            if isinstance(node, For):
                self.loop(node, pad)
            elif isinstance(node, Call):
                if self.statement is None:
                    out.append(called(node, pad, self))
                else:
                    out += [pad + line for line in self.statement(node, self)]
            elif isinstance(node, If):
                self.branches(node, pad)
            else:
                self.marked(node, pad)

    def marked(self, node: Block, pad: str) -> None:
        """A marked part below its mark, unless that is a wish."""
        if self.wishes is None or wish(node.mark) is None:
            self.out.append(f"{pad}// {node.mark}")
        self.block(node.body, pad)

    def pragmas(self, node: For, pad: str) -> None:
        """What a loop asks of the compiler; where it asks for cores, loops inside do not."""
        wanted = _wanted(node, self.wishes, self.openmp)
        if wanted is not NONE:
            self.out.append(pad + wanted.pragma)
        if node.unroll and self.statement is None:
            self.out.append(f"{pad}#pragma unroll")
        elif node.unroll and wanted is NONE:  # gcc knows no other, and takes one beside OpenMP's nowhere
            self.out.append(pad + Wish(unroll=USUAL).pragma)
        self.openmp = self.openmp and not wanted.parallel

    def loop(self, node: For, pad: str) -> None:
        """A loop below what it asks of the compiler, and so on as long as another loop is all that it does."""
        out, names, outside, openmp = self.out, self.names, self.scope, self.openmp
        asking = openmp or self.wishes
        kind = f"for ({self.integer} "
        self.scope = scope = dict(outside)
        while True:
            if asking or node.unroll:
                self.pragmas(node, pad)
            v = name = node.var
            if names:
                name = names.get(v, v)
            low = "0" if node.lower is FROM_ZERO else self.bounds("max", node.lower)
            head = f"{pad}{kind}{name} = {low}; {self.going_on(node, name)}; {name} += {node.step})"
            scope[v], body = node, node.body
            if self.braced or len(body) != 1 or not isinstance(inner := body[0], For):
                break
            out.append(head)
            node, pad = inner, pad + "  "
        if len(body) == 1 and isinstance(body[0], Call) and self.statement is None:
            out += head, called(body[0], pad + "  ", self)
        else:
            self.nested(head, body, pad)
        self.scope, self.openmp = outside, openmp

    def going_on(self, loop: For, name: str) -> str:
        """The condition under which a loop whose variable has a name goes on: 1 where it never ends, as isl has it."""
        upper = loop.upper
        for b in upper:
            if type(b) is Aff and b.const == -1 and b.terms:  # most loops
                return f"{name} < {self.text(b, 1) if len(upper) == 1 else self.bounds('min', upper, 1)}"
        below = ends_below(loop)
        return f"{name} {'<' if below else '<='} {self.bounds('min', upper, below)}" if upper else "1"

    def nested(self, head: str, body: Sequence[Ast], pad: str) -> None:
        """A head and its body, in braces where those are needed."""
        out, at = self.out, len(self.out)
        out.append(head)
        self.block(body, pad + "  ")
        if self.in_braces(body, len(out) - at - 1):
            out[at] += " {"
            out.append(pad + "}")

    def branches(self, node: If, pad: str) -> None:
        """A condition, and what runs elsewhere behind `else`; another condition alone stands there in its line."""
        out, word, heads, bodies = self.out, "if", [], []
        with ExitStack() as elsewhere:
            while True:
                heads.append(len(out))
                bodies.append(node.body)
                out.append(f"{pad}{word} ({self.conditions(node.conditions)})")
                with self.assuming(node.conditions):
                    self.block(node.body, pad + "  ")
                if not node.other:
                    break
                elsewhere.enter_context(self.assuming(negation(node.conditions)))
                if len(node.other) != 1 or not isinstance(inner := node.other[0], If):
                    heads.append(len(out))
                    bodies.append(node.other)
                    out.append(f"{pad}else")
                    self.block(node.other, pad + "  ")
                    break
                node, word = inner, "else if"
        lines = [end - at - 1 for at, end in zip(heads, [*heads[1:], len(out)], strict=True)]
        if self.branches_in_braces(bodies, lines):
            for at in heads:
                out[at] = f"{pad}}} {out[at].lstrip()} {{" if at > heads[0] else f"{out[at]} {{"
            out.append(pad + "}")

    def branches_in_braces(self, bodies: Sequence[Sequence[Ast]], lines: Sequence[int]) -> bool:
        """Whether the branches of a condition, written in some lines, stand in braces: all of them, unless each is one.

        So does one branch alone that a condition with two would be without a brace around it, of which gcc warns.
        """
        if len(bodies) > 1 and max(lines) > 1:
            return True
        return _forked(bodies[0]) or any(map(self.in_braces, bodies, lines))

    def in_braces(self, body: Sequence[Ast], lines: int) -> bool:
        """Whether a body, written in some lines, is not one statement."""
        alone = len(body) == 1 and isinstance(body[0], Call)  # which may be several lines
        return lines > 1 if alone else statements(body) != 1


def spread(body: Sequence[Ast], wishes: Mapping[Path, Wish]) -> Iterator[For]:
    """The loops that `openmp` runs on several cores because their flags allow it, no mark."""
    for node in body:
        if isinstance(node, For) and _wanted(node, wishes, openmp=True).parallel:
            if not _wanted(node, wishes, openmp=False).parallel:
                yield node
        else:
            yield from spread(within(node), wishes)


def uncounted(body: Sequence[Ast], wishes: Mapping[Path, Wish]) -> Iterator[For]:
    """The loops without an end that marks want at once."""
    for node in body:
        if isinstance(node, For) and not node.upper and node.member == 0:
            wanted = wishes.get(node.at, NONE)
            if wanted.parallel or wanted.vector:
                yield node
        yield from uncounted(within(node), wishes)


def _wanted(loop: For, wishes: Mapping[Path, Wish] | None, openmp: bool) -> Wish:
    """What is wanted of a loop: what marks say, and with `openmp` what its flag allows."""
    wanted = wishes.get(loop.at, NONE) if wishes and loop.member == 0 else NONE
    if not loop.upper:  # OpenMP counts the iterations of a loop before it begins
        return wanted if wanted.unroll else NONE
    return wanted | PARALLEL if openmp and loop.coincident and not wanted.unroll else wanted


def statements(body: Sequence[Ast]) -> int:
    """How many statements of C a body is; a marked part is as many as it holds."""
    return sum([statements(node.body) if isinstance(node, Block) else 1 for node in body])


def _forked(body: Sequence[Ast]) -> bool:
    """Whether a body is a condition with two branches alone, or a loop around one."""
    if len(body) != 1 or not isinstance(node := body[0], For | If):
        return False
    return bool(node.other) if isinstance(node, If) else _forked(node.body)


def called(call: Call, pad: str, speller: CSpeller) -> str:
    """The line of a call of a statement."""
    name, names = call.statement, speller.names
    if not name.isidentifier():
        name = word(name)
    if names:
        name = names.get(name, name)
    return f"{pad}{name}({', '.join([speller.text(e) for e in call.args])});"


def ends_below(loop: For) -> bool:
    """Whether `<` reads better than `<=`: below N, not up to N - 1; below 32 from 0 on."""
    symbolic = False
    for b in loop.upper:
        for e in b.terms if isinstance(b, Extreme) else (b,):
            if isinstance(e, Aff) and e.terms:
                if e.const == -1:
                    return True
                symbolic = True
    if symbolic or len(loop.lower) != 1 or loop.step > 1:
        return False
    low = loop.lower[0]
    return isinstance(low, Aff) and not low.terms and not low.const
