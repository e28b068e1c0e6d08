"""Bands as the relations that isl takes and gives: instances -> values of the members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.tree import Band, Domain, Expansion, Leaf, Member, Schedule
from polyvolta.sched.wrapped import labelled
from polyvolta.sets import Aff, Map, MultiPwAff, NotAFunction, PwAff, Set, Space, Tuple, aff, var
from polyvolta.sets.by_isl.functions.own_domains import UnionMembers
from polyvolta.sets.by_isl.functions.unions import graph_of
from polyvolta.sets.errors import kind_of
from polyvolta.sets.functions.cells import where
from polyvolta.sets.functions.members import MultiFunction
from polyvolta.sets.text.tokens import is_spelt


def band_of(schedule: Map, instances: Set) -> Band:
    """The band whose members are the outputs of a relation, which shorter ones have as zeros.

    Statements without instances ask for no members, but where all are such.

    Parameters
    ----------
    schedule : instances -> values; of `MultiUnionPwAff`, which is a `Map` here, or a function.
    instances : those that are to be ordered.

    Raises
    ------
    BadSchedule : no relation is given, it has no values for some instances, or several.

    >>> from polyvolta.sets import Map, Set
    >>> band_of(Map("{ S[i] -> [i, 0]; T[i] -> [i] }"), Set("{ S[i] : 0 <= i < 4; T[i] : 0 <= i < 4 }")).schedule("T")
    (Aff('i'), Aff('0'))
    """
    schedule = labelled(relation_of(schedule), outputs=False)
    rows: dict[str, list[list[tuple[Set, Aff]]]] = {}
    widths = [0]
    for space, _ in instances.parts:
        own = space.out
        here = instances.only(own.name)
        part = _of_tuple(schedule, own)
        if not here.is_subset(part.domain()):
            raise BadSchedule(f"some instances of {own.name} have no time", where=str(here - part.domain()))
        rows[str(own.name)] = _columns(part, own, here) if part.parts else []
        if not here.is_empty():
            widths.append(len(rows[str(own.name)]))
    width = max(widths) if len(widths) > 1 else max([0, *(space.n_out for space, _ in schedule.parts)])
    rows = {name: [*row[:width], *([] for _ in range(width - len(row)))] for name, row in rows.items()}
    members = tuple(Member(tuple((n, _joined(row[k])) for n, row in rows.items())) for k in range(width))
    return Band(members, name=_name_of(schedule))


def _name_of(schedule: Map) -> str | None:
    """What a function calls the tuple of its values, as a band is called; none where it has several."""
    names = {space.out.name for space, _ in schedule.parts}
    (name,) = names if len(names) == 1 else (None,)
    return name if name is not None and is_spelt(name) else None


def relation_of(schedule: object) -> Map:
    """The relation itself, or that of a function, as `Map.as_multi_union_pw_aff` is where there is one statement.

    Raises
    ------
    BadSchedule : it is neither.
    """
    if not isinstance(schedule, (Map, PwAff, MultiPwAff, MultiFunction, UnionMembers)):
        raise BadSchedule(f"the schedule of a band is a Map from instances, not {kind_of(schedule)}",
                          where=str(schedule), hint='Map("{ S[i] -> [i] }")')  # fmt: skip
    return graph_of(schedule)


def _of_tuple(schedule: Map, own: Tuple) -> Map:
    """The part of a relation that starts from a statement."""
    parts = [(space, cs) for space, cs in schedule.parts if space.inp is not None and space.inp.key == own.key]
    return Map._of(schedule.param_names, parts)


def _columns(part: Map, own: Tuple, here: Set) -> list[list[tuple[Set, Aff]]]:
    """For each output of a function its expressions, in the statement's names, with the instances each is for."""
    part = part if part.is_single_valued() else part.intersect_domain(here)
    try:
        pieces = part.as_pw_multi_aff().pieces
    except NotAFunction as wrong:
        raise BadSchedule(f"an instance of {own.name} has several times", where=str(part)) from wrong
    columns: list[list[tuple[Set, Aff]]] = [[] for _ in range(part.space.n_out)]
    for when, values in pieces:
        dims = when.space.out.dims
        table = dict(zip(dims, own.dims, strict=True))
        there = Set._of(when.param_names, [(Space(None, own), cs) for _, cs in when.parts])
        for column, e in zip(columns, values, strict=True):
            column.append((there, e.rewrite(_called(table))))
    return columns


def _called(table: dict[str, str]) -> Callable[[str], Aff]:
    return lambda name: var(table.get(name, name))


def _joined(pieces: list[tuple[Set, Aff]]) -> Aff | Cases:
    """One expression, by cases where there are several; 0 without any."""
    found: dict[Aff, Set] = {}
    for when, e in pieces:
        found[e] = found[e] | when if e in found else when
    if len(found) > 1:
        found = _spared(found)
    if len(found) < 2:
        return next(iter(found), aff(0))
    return Cases(tuple((when, e) for e, when in found.items()))


def _spared(found: dict[Aff, Set]) -> dict[Aff, Set]:
    """Cases without those in which the expression of another one has the same values.

    A function by pieces has 0 where a piece says that i is 0, and i where another one does not. Cost: an inclusion for
    each couple of cases.
    """
    out = dict(found)
    for e in sorted(found, key=lambda e: len(e.terms)):
        for f in sorted(out.keys() - {e}, key=lambda f: -len(f.terms)):
            if out[e].is_subset(_equal(e, f, out[e])):
                out[f] = out[f] | out.pop(e)
                break
    return out


def _equal(e: Aff, f: Aff, like: Set) -> Set:
    """The points of the space of a set at which two expressions are equal."""
    c = where([*like.param_names, *like.space.out.dims], [("eq", e - f)])
    return Set._of(like.param_names, [(like.space, () if c is None else (c,))])


def map_of(band: Band, instances: Set) -> Map:
    """What a band says as a relation from some instances to the values of its members.

    >>> from polyvolta.sets import Map, Set
    >>> some = Set("{ S[i] : 0 <= i < 4 }")
    >>> print(map_of(band_of(Map("{ S[i] -> [2i] }"), some), some))
    { S[i] -> [2*i] : 0 <= i <= 3 }
    """
    tree = Schedule(Domain(instances, replace(band, child=Leaf())))
    return tree.prefix_schedule((0, 0))


def universe(instances: Set) -> Set:
    """All instances of some statements.

    >>> print(universe(Set("{ S[i] : 0 <= i < 4 }")))
    { S[i] }
    """
    out = Set("{ }")
    for space, _ in instances.parts:
        out = out | Set.universe(space)
    return out


def unbounded(tree: Schedule) -> Schedule:
    """A tree of all instances of its statements, and of its groups."""
    root = tree.root
    if isinstance(root, Domain):
        tree = tree.replace((), replace(root, domain=universe(root.domain)))
    for at in tree.find(Expansion):
        node = tree.node(at)
        assert isinstance(node, Expansion)
        tree = tree.replace(at, replace(node, expansion=node.contraction.reverse()))
    return tree
