"""Shifting statements along a member of a band: they run earlier or later than the others.

BAND: S[i] → [i]; T[i] → [i]      =>      BAND: S[i] → [i]; T[i] → [i - 1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.passes.common.arguments import table
from polyvolta.sched.passes.common.legal import settled, unflagged
from polyvolta.sched.passes.common.places import MemberRef, member_at, tuples_of
from polyvolta.sched.passes.common.subtree import Change, rebased
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import names_of
from polyvolta.sched.tree import Band, Path, Schedule
from polyvolta.sets import Aff, UnknownName, aff, nearest, var


@of_a_tree
def shift(schedule: Schedule, at: Path, member: MemberRef, by: Mapping[str, int | Aff | str]) -> Schedule:
    """Add a constant to one member's expression, by statement.

        BAND: S[i] → [i]; T[i] → [i]      =>      BAND: S[i] → [i]; T[i] → [i + 1]

    Parameters
    ----------
    by : what is added, by statement: a number, or an expression in the parameters. A statement that is not named stays.

    Raises
    ------
    BadPath : no such member.
    UnknownName : the band has no such statement, or an expression uses an iterator.
    BadArgument, NotAffine : `by` is no mapping, or an amount no expression.
    IllegalTransformation : a dependence between statements that are shifted differently forbids it. (Without
        dependences nothing is known that would, and nothing is refused; flags that may no longer hold are lost.)

    Cost: a check of the new tree, if statements that depend on one another are shifted differently.

    Source: isl's `isl_schedule_node_band_shift`.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> i = Member((("S", var("i")), ("T", var("i"))))
    >>> tree = Schedule(Domain(Set("{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }"), Band((i,))))
    >>> print(shift(tree, (0,), "i", {"T": 1}))
    DOMAIN: S[i] : 0 ≤ i ≤ 8;
            T[i] : 0 ≤ i ≤ 8
      BAND: S[i] → [i];
            T[i] → [i + 1]
    """
    band = schedule.band(at)
    k = member_at(schedule, at, member)
    by = table(by, "the shifts by statement", '{"T": 1}')
    amounts = {s: aff(e) for s, e in by.items()}
    tuples = tuples_of(schedule)
    for s, e in amounts.items():
        if s not in band.statements:
            raise UnknownName(
                f"the band has no statement {s!r}", where=schedule.marked(at), hint=nearest(str(s), band.statements)
            )
        inside = sorted(e.names().intersection(tuples[s].dims))
        if inside:
            raise UnknownName(
                f"{inside[0]!r} is an iterator of {s}, no parameter: shifting moves all instances alike",
                where=f"{s}: {e}",
                hint="skew adds another member",
            )
    zero = aff(0)
    moves = {s: amounts.get(s, zero) for s in band.statements}
    if all(e == zero for e in moves.values()):
        return schedule
    x = [var(f"x{n}") for n in range(len(band.members))]
    changes: dict[str | None, Change] = {s: (len(x), (*x[:k], x[k] + e, *x[k + 1 :])) for s, e in moves.items()}
    moved = rebased(schedule, at, changes)
    members = (*band.members[:k], band.members[k].map(lambda s, e: e + moves[s]), *band.members[k + 1 :])
    new = schedule.replace(at, replace(moved, members=members))
    pairs = [(moves.get(d.source, zero), moves.get(d.sink, zero)) for d in schedule.dependences or ()]
    if any(a != b for a, b in pairs):
        new = settled(schedule, new, "shifting", at)  # bands below may have to order what the shifted one did
    known = () if schedule.dependences is None else names_of(schedule.domain)
    for place, node in new.walk(at):
        if isinstance(node, Band) and len({moves.get(s, zero) for s in node.statements}) > 1:
            new = new if set(node.statements) <= set(known) else unflagged(new, place)
    return new
