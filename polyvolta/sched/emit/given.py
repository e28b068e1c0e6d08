"""What the functions of this package are given: loops, a tree to make loops of, or something else by mistake."""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.errors import BadArgument
from polyvolta.sched.loops.ast import Ast, Block, Call, For, If
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets.errors import kind_of


def loops(what: Scan | Schedule | Ast | Sequence[Ast], doing: str) -> Scan:
    """A scan as it is, loops alone as a scan, a tree scanned.

    Raises
    ------
    BadArgument : it is something else.
    """
    if isinstance(what, Scan):
        return what
    if isinstance(what, Schedule):
        return scan(what)
    if isinstance(what, Call | For | If | Block):
        return Scan((what,))
    if isinstance(what, Sequence) and all(isinstance(a, Call | For | If | Block) for a in what):
        return Scan(tuple(what))
    hint = f"{doing}(scan(program.schedule), program)" if doing != "run" else "run(scan(program.schedule), N=4)"
    raise BadArgument(f"{doing} takes what scan returns, or a Schedule, not {kind_of(what)}", hint=hint)


def check_program(program: object, doing: str) -> None:
    """Refuse what is no program.

    Raises
    ------
    BadArgument : it is something else.
    """
    from polyvolta.sched.program.model import Program

    if not isinstance(program, Program):
        swapped = "the program comes first, then its schedule"
        hint = swapped if isinstance(program, Schedule) else "@nest and Program.parse make programs"
        raise BadArgument(f"{doing} takes a Program, not {kind_of(program)}", hint=hint)
