"""C text of loops.

    for (int c0 = 0; c0 < (M + 127) / 128; c0 += 1)
      for (int c1 = 0; c1 < min(128, M - 128 * c0); c1 += 1)
        S(128 * c0 + c1);

Statements are calls, which a reader or a macro gives a meaning; with the program at hand they are its bodies, and the
text is a function that a C compiler takes. Divisions are `/` and `%` where nothing can be negative; the macros of the
other cases stand at the top, if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from polyvolta.sched.emit.expressions import CSpeller
from polyvolta.sched.emit.given import check_program, loops
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Ast, Block, Bound, Call, For, If
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.widths import integer_type
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, nearest

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program

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


def to_c(
    scan: Scan | Schedule | Ast | Sequence[Ast],
    program: Program | None = None,
    *,
    integer: str | None = None,
    real: str | Mapping[str, str] = "double",
    parallel: Literal["openmp"] | None = None,
    macros: bool = True,
) -> str:
    """The C text of loops; with a program, a function in C99.

    The function takes the parameters, then of every array the lengths of its dimensions but the first (`A_1`, ...),
    then the arrays and the scalars, in the order of the program's arguments.

    Parameters
    ----------
    scan : what `scan` returns, or loops alone; a tree is scanned.
    integer : the type of loop variables and parameters: int, long, long long, int32_t or int64_t. By default `int`, and
        `long long` where constants ask for it; that sizes fit is for the caller to see.
    real : the type of elements and scalars, or the type of each by name.
    parallel : "openmp" puts `#pragma omp parallel for` before the outermost coincident loops.
    macros : whether the definitions of min, max, floord and modd stand at the top, those that are used.

    Raises
    ------
    BadProgram : a statement of the loops has no body.
    NotTranslatable : a body that is not C's arithmetic, such as the call of a Python function; a constant that does not
        fit the type of loop variables.
    BadArgument : there are no loops, or this is no program; a type or a way to be parallel that is not known.

    Cost: linear, a few microseconds a line.

    >>> from polyvolta.sched.loops.ast import Call, For
    >>> from polyvolta.sets import aff, var
    >>> inner = For("c1", (aff(0),), (aff(31), var("N") - 32 * var("c0") - 1), 1, True, (Call("S", (var("c1"),)),))
    >>> print(to_c(For("c0", (aff(0),), ((var("N") - 1) // 32,), 1, False, (inner,)), macros=False))
    for (int c0 = 0; c0 < floord(N + 31, 32); c0 += 1)
      #pragma unroll
      for (int c1 = 0; c1 < min(32, N - 32 * c0); c1 += 1)
        S(c1);
    """
    scan = loops(scan, "to_c")
    if parallel not in (None, "openmp"):
        hint = nearest(str(parallel), ["openmp"]) or "parallel='openmp', or nothing"
        raise BadArgument(f"parallel={parallel!r} is no way to run C's loops in parallel", hint=hint)
    fitting = integer_type(scan, integer)
    if program is not None:
        from polyvolta.sched.emit.c.program import function

        check_program(program, "to_c")
        lines, used = function(program, scan, fitting, real, parallel)
    else:
        printer = CPrinter(scan.ranges, fitting, parallel == "openmp")
        printer.block(scan.body, "")
        lines, used = printer.out, printer.speller.used
    if fitting.endswith("_t"):
        used = used | {"stdint"}
    head = [MACROS[m] for m in MACROS if m in used] if macros else []
    return "\n".join([*head, "", *lines] if head else lines)


class CPrinter:
    """Writes loops, line by line, into `out`.

    Parameters
    ----------
    statement : what a call becomes, some lines; None for the call itself.
    """

    def __init__(
        self,
        ranges: Mapping[str, tuple[int | None, int | None]],
        integer: str = "int",
        openmp: bool = False,
        statement: Callable[[Call, CSpeller], list[str]] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.speller = CSpeller(ranges, names)
        self.integer, self.openmp, self.statement = integer, openmp, statement
        self.out: list[str] = []

    def block(self, body: Sequence[Ast], pad: str) -> None:
        """Some statements, one after another."""
        speller, out = self.speller, self.out
        for node in body:
            match node:
                case Call(name, args):
                    if self.statement is None:
                        out.append(f"{pad}{name}({', '.join([speller.text(e) for e in args])});")
                    else:
                        out += [pad + line for line in self.statement(node, speller)]
                case For():
                    self.loop(node, pad)
                case If(conditions, inner):
                    head = f"{pad}if ({speller.conditions(conditions)})"
                    with speller.assuming(conditions):
                        self.nested(head, inner, pad)
                case Block(mark, inner):
                    out.append(f"{pad}// {mark}")
                    self.block(inner, pad)

    def loop(self, node: For, pad: str) -> None:
        """A loop, with what it asks of the compiler."""
        speller, v = self.speller, node.var
        if self.openmp and node.coincident:
            self.out.append(f"{pad}#pragma omp parallel for")
            self.openmp = False
            self.loop(node, pad)
            self.openmp = True
            return
        if node.unroll:
            self.out.append(f"{pad}#pragma unroll")
        low = speller.bounds("max", node.lower)
        strict = _strict(node.lower, node.upper, node.step)
        high = speller.bounds("min", node.upper, strict)
        name = speller.names.get(v, v)
        head = (
            f"{pad}for ({self.integer} {name} = {low}; {name} {'<' if strict else '<='} {high}; {name} += {node.step})"
        )
        outer, known = speller.scope.get(v), v in speller.loops
        speller.scope[v] = node
        speller.loops.add(v)
        self.nested(head, node.body, pad)
        if outer is None:
            del speller.scope[v]
        else:
            speller.scope[v] = outer
        if not known:
            speller.loops.discard(v)

    def nested(self, head: str, body: Sequence[Ast], pad: str) -> None:
        """A head and its body, in braces unless the body is one statement."""
        at = len(self.out)
        self.out.append(head)
        self.block(body, pad + "  ")
        only = body[0] if len(body) == 1 else None
        if isinstance(only, For | If) or isinstance(only, Call) and len(self.out) == at + 2:
            return
        if isinstance(only, Call) or statements(body) != 1:
            self.out[at] += " {"
            self.out.append(pad + "}")


def statements(body: Sequence[Ast]) -> int:
    """How many statements of C a body is; a marked part is as many as it holds."""
    return sum([statements(node.body) if isinstance(node, Block) else 1 for node in body])


def _strict(lower: Sequence[Bound], upper: Sequence[Bound], step: int) -> bool:
    """Whether `<` reads better than `<=`: below N, not up to N - 1; below 32 from 0 on."""
    symbolic = False
    for b in upper:
        for e in (b,) if isinstance(b, Aff) else b.terms:
            if isinstance(e, Aff) and e.terms:
                if e.const == -1:
                    return True
                symbolic = True
    if symbolic or len(lower) > 1 or step > 1:
        return False
    low = lower[0]
    return isinstance(low, Aff) and not low.terms and not low.const
