"""Where the roles of a block stand between two of its steps, and whose turn it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines.unfolded import Unfolded
from polyvolta.cuda.machine.errors import BadPhase
from polyvolta.cuda.machine.machine import Machine
from polyvolta.cuda.machine.strands import Strand, Weaver, stands
from polyvolta.cuda.text.places import Place, Places
from polyvolta.display.shown import Record


@dataclass(frozen=True, slots=True)
class Standing(Record):
    """Where a role, or a warpgroup of one, stands between two steps.

    Parameters
    ----------
    role : its name.
    place : the operation that it has taken last, or came to wait at; None: none yet.
    loops : the variables of the loops around, outermost first.
    taken : whether it has taken that operation.
    waits : what it waits for; "" if for nothing.
    ended : whether it has come to its end.
    """

    role: str
    place: Place | None
    loops: Mapping[str, int]
    taken: bool
    waits: str
    ended: bool

    def __str__(self) -> str:
        if self.ended:
            return f"{self.role} has ended"
        if self.place is None:
            return f"{self.role} is at its beginning"
        loops = "".join(f", {n} = {v}" for n, v in self.loops.items())
        if self.waits:
            return f"{self.role} is at {self.place.statement}{loops}, and waits for {self.waits}"
        if not self.taken:
            return f"{self.role} is at {self.place.statement}{loops}, and can go on"
        return f"{self.role} is behind {self.place.statement}{loops}"

    def _title(self) -> str:
        return self.role


def standing(m: Machine, places: Places, s: Strand, whole: Unfolded) -> Standing:
    """Where a strand stands, of the kernel as it is or as it unfolds."""
    op, loops = (None, {}) if not s.path or s.ended else stands(m, s)
    place = replace(places[whole.path(s.path)], stmt=op) if isinstance(op, kir.Op) else None
    return Standing(s.name, place, loops, s.wait is None, "" if _over(m, s) else str(s.wait), s.ended)


def _over(m: Machine, s: Strand) -> bool:
    """Whether a strand waits for nothing; what it waited for, when it was last asked, may have come since."""
    try:
        return s.wait is None or s.wait.over(m)
    except BadPhase:
        return False


class Turns:
    """A weaver that lets a role go first.

    Attributes
    ----------
    wanted : the role, "": any.
    woven : the strands that take turns; () before there are several.
    """

    def __init__(self, weaver: Weaver) -> None:
        self.weaver, self.wanted = weaver, ""
        self.woven: Sequence[Strand] = ()

    def engines(self, strands: Sequence[Strand]) -> bool:
        """Whether it is the engines' turn."""
        return not self.wanted and self.weaver.engines(strands)

    def next(self, ready: Sequence[Strand], last: Strand | None, strands: Sequence[Strand]) -> Strand:
        """One of those that can go on: the one that is wanted, if it is among them."""
        if strands[0].role:
            self.woven = strands
        wanted = next((s for s in ready if s.name == self.wanted), None)
        return self.weaver.next(ready, last, strands) if wanted is None else wanted
