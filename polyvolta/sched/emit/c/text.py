"""C text of loops, and of programs: functions that a C compiler takes.

    for (int c0 = 0; c0 < (M + 127) / 128; c0 += 1)
      for (int c1 = 0; c1 < min(128, M - 128 * c0); c1 += 1)
        S(128 * c0 + c1);

Statements are calls, which a reader or a macro gives a meaning; with the program at hand they are its bodies.
`loops.notation.c` writes the loops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from polyvolta.display.code import Code
from polyvolta.sched.emit.arrays import check_align
from polyvolta.sched.emit.c.program import TYPES, function
from polyvolta.sched.emit.given import check_program, loops
from polyvolta.sched.emit.interface import Interface
from polyvolta.sched.errors import BadArgument, BadSchedule, says_keywords
from polyvolta.sched.loops.ast import Ast
from polyvolta.sched.loops.notation.c import c_text, headed, spread, uncounted
from polyvolta.sched.loops.notation.widths import integer_type
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Band, Mark, Node, Path, Schedule
from polyvolta.sched.wishes import Wish, independent, wish, wishes
from polyvolta.sets import nearest

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


@says_keywords
def to_c(
    scan: Scan | Schedule | Ast | Sequence[Ast],
    program: Program | None = None,
    *,
    integer: str | None = None,
    real: str | Mapping[str, str] = "double",
    parallel: Literal["openmp"] | None = None,
    macros: bool = True,
    restrict: bool = False,
    align: int | None = None,
) -> Code:
    """The C text of loops; with a program, a function in C99.

    The function takes the parameters, then of every array the lengths of its dimensions but the first (`A_1`, ...),
    then the arrays and the scalars, in the order of the program's arguments.

    Names of parameters, statements and loop variables that are none in C get another spelling: `for` is `_for`, `N'` is
    `N_`. Names that members are mapped to, such as `threadIdx.x`, stay in loops without a program.

    Marks of the tree that say how a loop is wanted (`parallel`, `vectorise`, `unroll 4`, ...) become pragmas above it;
    see `polyvolta.sched.wishes`. Other marks are comments.

    Parameters
    ----------
    scan : what `scan` returns, or loops alone; a tree is scanned.
    integer : the type of loop variables and parameters: int, long, long long, int32_t or int64_t. By default `int`, and
        `long long` where constants ask for it; that sizes fit is for the caller to see.
    real : the type of elements and scalars, double, float, long or int, or the type of each by name. Scalars are
        numbers of Python's own: beside elements of single precision they are single.
    parallel : "openmp" puts `#pragma omp parallel for` before the outermost coincident loops; loops of a tree are
        checked as those below marks are, loops alone are believed.
    macros : whether the definitions of min, max, floord and modd stand at the top, those that are used.
    restrict : whether the function says that its arrays share no element, as schedules take for granted. Statements
        side by side then load what they read of arrays that they write first (`emit.c.loads`).
    align : what the function says of the addresses of its arrays: multiples of so many bytes, a power of two.

    Raises
    ------
    IllegalTransformation : a mark wants a loop parallel or in vectors, or a flag says that it is parallel, whose
        iterations depend on one another, by the dependences of the program, else by those of the tree, else by its
        flags.
    BadSchedule : a mark of that kind that no loop fits, or above one that never ends.
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
    if not isinstance(scan, Scan):
        scan = loops(scan, "to_c")
    plain = parallel is None and not scan.marked and scan.tree is not None  # most loops, whose text is made in no time
    if plain and program is None and align is None and real == "double":
        return Code(c_text(scan, integer, False, macros))
    if parallel is not None and parallel != "openmp":
        hint = nearest(str(parallel), ["openmp"]) or "parallel='openmp', or nothing"
        raise BadArgument(f"parallel={parallel!r} is no way to run C's loops in parallel", hint=hint)
    if align is not None:
        check_align(align)
    if program is not None:
        check_program(program, "to_c")
    if real != "double":
        _check_real(real, program)
    wanted = {} if plain else wanted_of(scan, program, parallel == "openmp")
    if program is None:
        return Code(c_text(scan, integer, parallel == "openmp", macros, wanted))
    return code_of(scan, program, wanted, integer, real, parallel, restrict, align, macros=macros)


def _check_real(real: object, program: Program | None) -> None:
    """Types of C that elements and scalars can have, and names that are some."""
    if isinstance(real, str) and real in TYPES:
        return
    for name, given in real.items() if isinstance(real, Mapping) else (("", real),):
        if given not in TYPES:
            what = f"real={given!r}" if name == "" else f"the type of {name}, {given!r},"
            hint = nearest(given, TYPES) if isinstance(given, str) else 'real="float", or real={"A": "float"}'
            raise BadArgument(f"{what} is no type of elements", where=", ".join(TYPES), hint=hint)
    if isinstance(real, Mapping) and program is not None:
        face = Interface.of(program)
        numbers = (*face.ranks, *face.cells, *face.scalars)
        for name in real:
            if name not in numbers:
                raise BadArgument(f"the program has no array or scalar {name}", hint=nearest(str(name), numbers))


def code_of(
    scan: Scan,
    program: Program,
    wanted: Mapping[Path, Wish] | None,
    integer: str | None,
    real: str | Mapping[str, str],
    parallel: Literal["openmp"] | None,
    restrict: bool,
    align: int | None,
    strong: Collection[str] = (),
    macros: bool = True,
) -> Code:
    """The C function of a program; see `to_c`.

    Parameters
    ----------
    wanted : what `wanted_of` returns.
    strong : the scalars that are numpy's, whose precision elements take on; others are Python's own.
    """
    fitting = integer_type(scan, integer)
    lines, used = function(program, scan, fitting, real, parallel, wanted, restrict, align, strong)
    return Code(headed(lines, used, fitting, macros))


def wanted_of(scan: Scan, program: Program | None, openmp: bool = False) -> dict[Path, Wish] | None:
    """What the marks of the tree that was scanned want of its loops; None for loops without a tree.

    With `openmp` the flags of loops that it spreads over cores are checked, too.

    Raises
    ------
    IllegalTransformation, BadSchedule : see `to_c`.
    """
    if scan.tree is None:
        return None
    if not (scan.marked or openmp):
        return {}
    known = None
    if program is not None and any(_asks(node, openmp) for _, node in scan.tree.walk()):
        from polyvolta.sched.dependence.memory import dependences

        known = dependences(program)
    found = wishes(scan.tree, known)
    for loop in uncounted(scan.body, found):
        raise BadSchedule(
            f"a mark wants the iterations of {loop.var} at once, and there is no last one",
            where=scan.tree.marked(loop.at),
            hint="OpenMP counts the iterations of a loop before it begins",
        )
    places = dict.fromkeys((loop.at, loop.member) for loop in spread(scan.body, found)) if openmp else ()
    for at, member in places:
        doing = f"running member {member}, which the band calls coincident, on several cores"
        independent(scan.tree, at, doing, member, known)
    return found


def _asks(node: Node, openmp: bool) -> bool:
    """Whether a node may want a loop's iterations at once."""
    match node:
        case Mark(name=name):
            return wish(name) is not None
        case Band():
            return openmp and any(m.coincident for m in node.members)
    return False
