"""Mapping members of a band to indices of the machine.

    BAND: S → [⌊i/128⌋, ⌊k/32⌋]     =>      BAND: S → [blockIdx.y, ⌊k/32⌋]

A mapped member is no loop any more: its index is given, and all its values run at once. So only a member whose
iterations are independent can be mapped: all dependences that the loops around it leave have distance 0 there.

A reduction is the exception that a user declares: `C[i, j] += ...` along k gives the same sum in any order, if each
parallel part sums for itself and the partial sums are added at the end (the paper's split-K). `reduction="C"` says that
whoever generates code does so. The dependences of a statement on itself, because of C, between iterations that now run
at once are then demanded no longer: the new schedule carries the others only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import BadArgument, IllegalTransformation
from polyvolta.sched.legality import band_flags, violations
from polyvolta.sched.passes.common.arguments import items, table
from polyvolta.sched.passes.common.legal import checked
from polyvolta.sched.passes.common.places import MemberRef, bands_above, members_at, words_of
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Band, Path, Schedule
from polyvolta.sets import Aff, Map, UnknownName, nearest, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple


@of_a_tree
def map_members(
    schedule: Schedule, at: Path, names: Mapping[MemberRef, str], reduction: str | Sequence[str] = ()
) -> Schedule:
    """Map members of the band at a path to names.

        BAND: S[i, j, k] → [i, j, k]      =>      BAND: S[i, j, k] → [blockIdx.y, j, k]      {"i": "blockIdx.y"}

    Parameters
    ----------
    names : by member.
    reduction : arrays whose accumulation may be cut into parts that run at once.

    Raises
    ------
    BadPath : no such member.
    BadArgument : names that are no mapping to words; the name of a parameter, an iterator, a statement or an array.
    UnknownName : no dependence is because of such an array.
    IllegalTransformation : the iterations of a member depend on one another; without dependences: it is not coincident.
        Or a name is taken by another member above or below.

    Cost: the band's flags, and a check of the new tree if a member is not coincident.

    Source: the paper, figures sched1-parametric and, for reductions, sched2-parametric.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set
    >>> i, k = Member((("S", var("i")),), coincident=True), Member((("S", var("k")),))
    >>> tree = Schedule(Domain(Set("{ S[i, k] : 0 <= i < 9 and 0 <= k < 9 }"), Band((i, k))))
    >>> print(map_members(tree, (0,), {"i": "blockIdx.x"}))
    DOMAIN: S[i, k] : 0 ≤ i ≤ 8 ∧ 0 ≤ k ≤ 8
      BAND: S[i, k] → [blockIdx.x, k]
    """
    band = schedule.band(at)
    names = table(names, "the names by member", '{"i": "blockIdx.x"}')
    chosen = dict(zip(members_at(schedule, at, names), map(_name, names.values()), strict=True))
    arrays = (reduction,) if isinstance(reduction, str) else items(reduction, "the arrays of a reduction", '"C"')
    members = tuple(replace(m, name=chosen.get(k, m.name)) for k, m in enumerate(band.members))
    if members == band.members:
        return schedule
    _distinct(schedule, at, members, tuple(chosen.values()))
    new = schedule.replace(at, replace(band, members=members))
    if schedule.dependences is None:
        for k, name in chosen.items():
            if not (band.members[k].coincident or arrays):
                raise IllegalTransformation(
                    f"member {k} cannot be mapped to {name}: the band does not say that its iterations are independent",
                    where=schedule.marked(at),
                    hint="a schedule with dependences finds out; a sum that parts make for themselves: reduction=...",
                )
        return new
    for a in arrays:
        known = {d.array for d in schedule.dependences}
        if a not in known:
            raise UnknownName(
                f"no dependence is because of {a!r}", where=schedule.marked(at), hint=nearest(str(a), known)
            )
    flags = band_flags(schedule, at)
    if all(flags.coincident[k] for k in chosen):
        return new
    if arrays:
        new = replace(new, dependences=_without(schedule, at, sorted(chosen), arrays))
    try:
        return checked(schedule, new, f"mapping to {', '.join(chosen.values())}", at)
    except IllegalTransformation as refusal:
        found = next(violations(new))
        if found.at == at and found.dependence.source == found.dependence.sink:
            sums = f"if {found.dependence.source} sums up in {found.dependence.array}, and each part may sum for itself"
            raise IllegalTransformation(
                refusal.message, where=refusal.where, hint=f'{sums}: reduction="{found.dependence.array}"'
            ) from None
        raise


def _name(given: object) -> str:
    """The name of an index: one word, as code writes it."""
    if not isinstance(given, str) or not given or given.split() != [given]:
        raise BadArgument("a member is mapped to a name, one word", where=repr(given), hint='such as "blockIdx.x"')
    return given


def _distinct(schedule: Schedule, at: Path, members, names: Sequence[str]) -> None:  # noqa: ANN001
    """A name is one index: no two members on one way down the tree have it, and nothing else has."""
    words = words_of(schedule)
    for n in names:
        if n in words:
            raise BadArgument(
                f"a member cannot be mapped to {n}, which is {words[n]}",
                where=schedule.marked(at),
                hint="a name of its own, such as blockIdx.x or tile_i",
            )
    nested = (n for _, n in schedule.walk((*at, 0)) if isinstance(n, Band))
    taken = {m.name for b in (*bands_above(schedule, at), *nested) for m in b.members}
    here = [m.name for m in members if m.name is not None]
    for n in names:
        if n in taken or here.count(n) > 1:
            raise IllegalTransformation(
                f"{n} is taken: it is one index, and another member is mapped to it", where=schedule.marked(at)
            )


def _without(schedule: Schedule, at: Path, members: Sequence[int], arrays: Sequence[str]) -> tuple[Dependence, ...]:
    """The dependences without what a reduction no longer demands.

    That is of a statement on itself, because of an array that it accumulates, the pairs that have equal times in all
    members before a mapped one and different times in that.
    """
    above = [m for b in bands_above(schedule, at) for m in b.members]
    band = schedule.band(at)
    out = []
    for d in schedule.dependences or ():
        if d.source != d.sink or d.array not in arrays or d.source not in band.statements:
            out.append(d)
            continue
        relation = d.relation
        for k in members:
            before = [m.of(d.source) for m in (*above, *band.members[:k]) if d.source in dict(m.exprs)]
            relation = relation - _parted(relation, before, band.members[k].of(d.source))
        relation = relation.without_empty()
        if not relation.is_empty():
            out.append(replace(d, relation=relation))
    return tuple(out)


def _parted(relation: Map, before: Sequence[Aff], member: Aff) -> Map:
    """Pairs of instances of a statement with equal times in `before` and different ones in `member`."""
    space = relation.space
    assert space.inp is not None
    xs, ys = space.inp.dims, tuple(f"{x}#" for x in space.inp.dims)
    params = tuple(
        dict.fromkeys([*relation.param_names, *sorted({n for e in (*before, member) for n in e.names()} - set(xs))])
    )
    later = dict(zip(xs, map(var, ys)))
    ahead = [e.subs(later) - e for e in (*before, member)]
    same = [("eq", e) for e in ahead[:-1]]
    knives = [RowBuilder((*params, *xs, *ys)).conjunct([*same, ("ge", sign * ahead[-1] - 1)]) for sign in (1, -1)]
    pairs = Space(Tuple(space.inp.name, xs), Tuple(space.out.name, ys))
    return Map._of(params, [(pairs, tuple(c for c in knives if c is not None))])
