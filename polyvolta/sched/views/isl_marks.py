"""What isl's trees have no word for, told in a mark.

A member that is mapped to an index of the GPU, and one whose loop asks the compiler to unroll it, are said by a mark
above the band, which isl carries along and prints again:

    mark: "members: blockIdx.y, blockIdx.x, -"
    mark: "members: -, unroll"

one word for each member, `-` for nothing; a member that is both is `name+unroll`. To isl such a member is a dimension
like any other, so the order is the one that the tree says.
"""

from __future__ import annotations

import re
from dataclasses import replace

from polyvolta.sched.tree import Band, Mark, Member

HEAD = "members: "
WORD = re.compile(r"-|unroll|[A-Za-z_][\w.]*(\+unroll)?")


def write_notes(band: Band) -> str | None:
    """The text of the mark above a band; None when there is nothing to tell."""
    if not any(m.name or m.unroll for m in band.members):
        return None
    return HEAD + ", ".join(_word(m) for m in band.members)


def _word(m: Member) -> str:
    return "+".join(filter(None, (m.name, "unroll" if m.unroll else ""))) or "-"


def noted(mark: Mark) -> Mark | Band:
    """The band below such a mark, with what it says; any other mark as it is."""
    words = [w.strip() for w in mark.name.removeprefix(HEAD).split(",")]
    band = mark.child
    if not mark.name.startswith(HEAD) or not isinstance(band, Band) or len(words) != len(band.members):
        return mark
    if not all(map(WORD.fullmatch, words)):
        return mark
    return replace(band, members=tuple(map(_noted, band.members, words)))


def _noted(m: Member, word: str) -> Member:
    name, _, more = word.partition("+")
    return replace(m, name=None if name in ("-", "unroll") else name, unroll=name == "unroll" or more == "unroll")
