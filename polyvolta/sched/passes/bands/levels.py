"""Levels: names for the loops of a tiled program, by which passes and code generators find them.

    BAND: S → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]           block, block, tile
      BAND: S → [⌊i/64⌋ - 2⌊i/128⌋, ...]            warp
        BAND: S → [i - 64⌊i/64⌋, ...]               point

What a loop is for is no question of how many stand above it: who tiles once more, splits a band or inserts a node does
not change what the others are called. PPCG marks such places with mark nodes, "kernel" or "thread"; those stand between
bands, and here the loops of two levels may stand in one, as blocks and k tiles do until the k loop has a subtree of its
own. So a level is said by a band's member, beside its flags, and as these it is not printed among the paper's lines:
`paper.notes`, notebooks and `to_isl` tell it, and `Schedule.parse` reads it back.

A pass that makes two members of one gives the new outer loop no level, unless it is told which; the points keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from polyvolta.sched.errors import BadArgument
from polyvolta.sched.members import LEVEL
from polyvolta.sched.passes.common.arguments import table
from polyvolta.sched.passes.common.places import MemberRef, members_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Member, Path, Schedule
from polyvolta.sets.errors import kind_of

Levels = str | Iterable[str | None] | None
"""One level for all members, one for each of them, or None: they stay as they are."""


@of_a_tree
def set_level(schedule: Schedule, at: Path, levels: Mapping[MemberRef, str | None]) -> Schedule:
    """Say of which level members of the band at a path are.

        BAND: S → [⌊i/32⌋, j]      =>      the same band, its members of the levels block and point

    Parameters
    ----------
    levels : by member; None takes a level away.

    Raises
    ------
    BadPath : no such member.
    BadArgument : levels that are no mapping to words.

    Cost: none.

    Source: PPCG's marks "kernel" and "thread" (S. Verdoolaege et al., "Polyhedral parallel code generation for CUDA",
    TACO 2013); as members' notes, since two levels may share a band.

    >>> from polyvolta.sched import Band, Domain, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i, j = (Member((("S", var(n)),)) for n in "ij")
    >>> tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 64 and 0 <= j < 64 }"), Band((i, j))))
    >>> named = set_level(tree, (0,), {"i": "rows", "j": "columns"})
    >>> named.find(level="columns"), [m.level for m in named.band((0,)).members]
    ([(0,)], ['rows', 'columns'])
    """
    band = schedule.band(at)
    levels = table(levels, "the levels by member", '{"i": "block"}')
    found = dict(zip(members_at(schedule, at, levels), map(_level, levels.values()), strict=True))
    members = tuple(replace(m, level=found.get(k, m.level)) for k, m in enumerate(band.members))
    return schedule.replace(at, replace(band, members=members))


def of_level(members: Iterable[Member], levels: Levels) -> tuple[Member, ...]:
    """Members with the levels that are said of them.

    Raises
    ------
    BadArgument : not one word for each member.

    >>> from polyvolta.sets import var
    >>> two = [Member((("S", var(n)),)) for n in "ij"]
    >>> [m.level for m in of_level(two, "warp")], [m.level for m in of_level(two, ("block", None))]
    (['warp', 'warp'], ['block', None])
    """
    members = tuple(members)
    if levels is None:
        return members
    if not isinstance(levels, (str, Iterable)):
        raise BadArgument(f"levels are words, not {kind_of(levels)}", where=repr(levels), hint='such as "warp"')
    each = [levels] * len(members) if isinstance(levels, str) else list(levels)
    if len(each) != len(members):
        raise BadArgument(f"{len(each)} levels for {len(members)} members", where=repr(levels))
    return tuple(replace(m, level=_level(level)) for m, level in zip(members, each, strict=True))


def _level(given: object) -> str | None:
    """The name of a level: one word."""
    if given is not None and (not isinstance(given, str) or not LEVEL.fullmatch(given)):
        raise BadArgument("a level is one word", where=repr(given), hint='such as "warp"')
    return given
