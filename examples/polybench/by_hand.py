"""The programs of hand_tiled.c, called as our own: `by_hand(program)`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from polyvolta.sched import Compiled, Program, scan
from polyvolta.sched.emit.c.compiler import compiled

HAND = Path(__file__).with_name("hand_tiled.c")


class ByHand(Compiled):
    """A program whose C text is a person's; arguments are checked and passed as for ours."""

    def compile(self, types: Mapping[str, str], strong: Collection[str] = ()):  # noqa: ANN201
        function = compiled(HAND.read_text(encoding="utf-8"), self.face.function, ("-fopenmp-simd",))
        function.restype = None
        return function


def by_hand(program: Program) -> Compiled | None:
    """The program as it was tiled by hand, for arrays of doubles that share no element; None where nobody wrote it."""
    made = ByHand(program, scan(program.schedule, program.context), "c")
    return made if f" {made.face.function}(" in HAND.read_text(encoding="utf-8") else None
