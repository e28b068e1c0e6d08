"""What isl's trees have no word for, told in a mark.

A member that is mapped to an index of the GPU, and one whose loop asks the compiler to unroll it, are said by a mark
above the band, which isl carries along and prints again:

    mark: "members: blockIdx.y, blockIdx.x, -"
    mark: "members: -, unroll"

one word for each member, `-` for nothing; a member that is both is `name+unroll`. To isl such a member is a dimension
like any other, so the order is the one that the tree says. A mark of its own, above that, says which levels the members
are of (`passes.set_level`), as PPCG's marks say it of the node below:

    mark: "levels: block, block, tile"
"""

from __future__ import annotations

import re
from dataclasses import replace

from polyvolta.sched.members import LEVEL
from polyvolta.sched.tree import Band, Mark, Member

HEAD, LEVELS = "members: ", "levels: "
WORD = re.compile(r"-|unroll|[A-Za-z_][\w.]*(\+unroll)?")
LEVEL_OR_NONE = re.compile(rf"-|{LEVEL.pattern}")


def write_notes(band: Band) -> list[str]:
    """The texts of the marks above a band, the innermost first."""
    found = [HEAD + ", ".join(_word(m) for m in band.members)] if any(m.name or m.unroll for m in band.members) else []
    if any(m.level for m in band.members):
        found.append(LEVELS + ", ".join(m.level or "-" for m in band.members))
    return found


def _word(m: Member) -> str:
    return "+".join(filter(None, (m.name, "unroll" if m.unroll else ""))) or "-"


def noted(mark: Mark) -> Mark | Band:
    """The band below such a mark, with what it says; any other mark as it is."""
    band = mark.child
    for head, word, said in ((HEAD, WORD, _noted), (LEVELS, LEVEL_OR_NONE, _of_level)):
        words = [w.strip() for w in mark.name.removeprefix(head).split(",")]
        if not isinstance(band, Band) or len(words) != len(band.members) or not all(map(word.fullmatch, words)):
            continue
        if mark.name.startswith(head):
            return replace(band, members=tuple(map(said, band.members, words)))
    return mark


def _of_level(m: Member, word: str) -> Member:
    return replace(m, level=None if word == "-" else word)


def _noted(m: Member, word: str) -> Member:
    name, _, more = word.partition("+")
    return replace(m, name=None if name in ("-", "unroll") else name, unroll=name == "unroll" or more == "unroll")
