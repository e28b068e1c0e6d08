"""Sets as what is scanned: the instances of statements as pieces, conditions on band members as systems.

The dimensions of a domain are a statement's iterators. Those of a context, of a guard and of what a band isolates are
the values of the members above, which have columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import floor, inf
from types import MappingProxyType

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.loops.conditions import cut_apart, exactly, holds, not_everywhere
from polyvolta.sched.loops.parts.disjoint import disjoint
from polyvolta.sched.loops.parts.merging import cut_here
from polyvolta.sched.loops.rows.columns import Columns, Row, outside
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System, local, negated
from polyvolta.sched.loops.rows.pieces import Piece, Value, system_of
from polyvolta.sched.loops.state import State
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Node,
    Path,
    Schedule,
    SetNode,
)
from polyvolta.sched.tree import (
    Sequence as SequenceNode,
)
from polyvolta.sets import Aff, Map, Set
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.conjuncts.project import with_known_divs
from polyvolta.sets.values.space import Space

MISSED = 8  # values beyond its integers that a bound is looked at for
FAR = 2  # values that are worth a row where only floors that iterators are made of say them
SAID = {  # what holds the set of a node
    Domain: "domain",
    Context: "context",
    Filter: "instances",
    Extension: "extension",
    Guard: "guard",
    Band: "isolate",
}


def rows(columns: Columns, params: Sequence[str], prefix: Sequence[Aff]) -> list[Row]:
    """The parameters of a set and the members above as rows."""
    return [*((((columns.ids[p], 1),), 0) for p in params), *map(columns.row, prefix)]


def instances(columns: Columns, s: Set) -> Iterator[Piece]:
    """The instances in a set as disjoint pieces."""
    for space, conjuncts in s.parts:
        for c in disjoint(s, space, conjuncts):
            piece = _piece(columns, s, space, c, ())
            if not piece.system.empty:
                tighten(piece)
            if not piece.system.empty:
                yield piece


def _piece(columns: Columns, s: Set | Map, space: Space, c: Conjunct, prefix: Sequence[Aff]) -> Piece:
    """The instances in a conjunct of a set, or of a map from the members above."""
    values = [(*v, 1) for v in rows(columns, s.param_names, prefix if space.inp else ())]
    piece = Piece.of(columns, space.out.name or "", space.out.dims, values, c)
    piece.promote(lambda key: outside(key, len(prefix)))
    piece.system.ineqs = System(columns.of_one(*row) for row in piece.system.ineqs.items()).ineqs
    return piece


def met(columns: Columns, state: State) -> Iterator[System]:
    """Where the instances that come this way are, over outer columns."""
    for piece in state.pieces:
        piece = piece.copy()  # noqa: PLW2901
        piece.promote(state.outer)
        yield from exactly(columns, piece.system)


def added(columns: Columns, s: Map, state: State) -> Iterator[Piece]:
    """The instances in the image of the members above where one comes by of those that come this way, disjoint pieces.

    Conjuncts that have none here are no reason to cut others, whose complements have many parts. If each has some only
    where one of the pieces does, as what a schedule is asked to have beside its instances, all do: then they are not
    cut by the cases in which one of the pieces has any, either. Integers say so, and whatever conjuncts are made of.
    What is known here may leave fewer pieces (`merging.cut_here`).
    """
    known, each = state.known, list(met(columns, state))
    some = not_everywhere(known, each)
    where: list[System] | None = None
    for space, conjuncts in s.parts:
        found = [(c, _piece(columns, s, space, c, state.prefix)) for c in conjuncts]
        if some is not None or len(found) > 1:
            found = [(c, piece) for c, piece in found if not known.surely_excludes(piece.system)]
        sure = some is None or all(any(holds(known.given(p.system), one) for one in each) for _, p in found)
        if some is not None and not sure and where is None:
            where = cut_apart(known, some)
        pieces = cut_here(known, [piece for _, piece in found])
        if pieces is None:
            apart = disjoint(s, space, [c for c, _ in found])
            pieces = [_piece(columns, s, space, c, state.prefix) for c in apart]
        for whole in pieces:
            for case in [System()] if sure or where is None else where:
                piece = whole.copy()
                piece.restrict(case)
                if not (piece.system.empty or known.excludes_exactly(state.outside(piece))):
                    tighten(piece)
                    if not piece.system.empty:
                        yield piece


def added_anywhere(columns: Columns, schedule: Schedule) -> Iterator[Piece]:
    """The instances that a tree adds, whatever the members above each extension are."""
    for _, node in schedule.walk():
        if isinstance(node, Extension):
            yield from instances(columns, node.extension.range())


def tighten(piece: Piece) -> None:
    """Move numbers that bound an iterator to its integers: 0 <= i < M and (i + 2) mod 3 <= 1 are 1 <= i, and M >= 2.

    So what bounds a size, once iterators are projected away: N - 1 <= i and N + 3*floor((i + 2)/3) <= 4 leave N <= 2,
    and at N = 2 there is no i. What sizes say by themselves, as that N is odd, is tested anyway.
    """
    known, system = Known(piece.columns), piece.system
    mine = {c for key, _, _ in piece.images.values() for c, _ in key if c >= LOCAL}
    _put_numbers(known, piece, mine)
    alone = {key[0][0] for key, _, _ in piece.images.values() if len(key) == 1}  # others are of a floor in an iterator
    if not system.mods and not piece.locals() - alone:
        return
    least = 1 if system.mods or piece.locals() - mine else FAR
    for row in [row for row in system.ineqs.items() if len(row[0]) == 1 and row[0][0][0] in mine]:
        _moved(known, system, *row, least)
    sizes, plain = {piece.columns.ids[name] for name in piece.columns.sizes} & system.columns(), _outer(system)
    for key in [((c, sign),) for c in sorted(sizes) for sign in (-1, 1)]:
        most = known.given(system).greatest((), negated(key))
        if abs(most) != inf and not known.surely_excludes(_at(plain, key, floor(most))):
            _moved(known, system, key, floor(most), least)


def _put_numbers(known: Known, piece: Piece, mine: set[int]) -> None:
    """Put in iterators that rows leave one number: of 0 <= k <= j + 1 and j < -(N mod 4) j is -1, and k 0.

    Members of these are numbers, too, of which no loop asks which value they have. Over rationals the rows imply it,
    so that no instance is lost. Cost: a linear program or two for each, where floors of what is outside are in rows.
    """
    if not any(c in piece.columns.floors for c in piece.system.columns()):
        return
    there = known.given(piece.system)
    for c in sorted(mine):
        most = there.greatest((), ((c, 1),))
        if abs(most) != inf and most == floor(most) and there.greatest((), ((c, -1),)) == -most:
            piece.system.eq(((c, 1),), -floor(most))
    piece.settle()


def _moved(known: Known, system: System, key: Key, const: int, far: int) -> None:
    """A row `>= 0` that a system implies becomes one of it, as far as integers move it, if that is so far."""
    if (least := least_at(known, system, key, const)) <= const - far:
        system.ge(key, least)


def least_at(known: Known, system: System, key: Key, const: int) -> int:
    """The least constant with which integers still have a row `>= 0` that a system implies; if it is far off, this one.

    Parameters
    ----------
    const : with which rationals have it.
    """
    return next((const - k for k in range(MISSED) if not known.surely_excludes(_at(system, key, const - k))), const)


def _at(system: System, key: Key, const: int) -> System:
    """A system where a row `>= 0` holds as an equality."""
    out = system.copy()
    out.eq(key, const)
    return out


def _outer(system: System) -> System:
    """The rows of a system that speak of nothing local."""
    ineqs, eqs = ([row for row in rows if not local(row[0])] for rows in (system.ineqs.items(), system.eqs))
    return System(ineqs, eqs, [row for row in system.mods if not local(row[0])])


def systems(columns: Columns, s: Set, prefix: Sequence[Aff], schedule: Schedule) -> list[System]:
    """A set over the members above as systems over outer columns; exact."""
    values = rows(columns, s.param_names, prefix)
    found = []
    for space, conjuncts in s.parts:
        if len(space.dims) != len(prefix):
            raise BadSchedule(
                f"a set over {len(space.dims)} members stands below {len(prefix)}",
                where=f"{s}\n{schedule}",
                hint="its dimensions are the members of the bands above, the outermost first",
            )
        for c in conjuncts:
            for piece in with_known_divs(c):
                found += exactly(columns, system_of(columns, piece, values))
    return [x for x in found if not x.empty]


def member_values(columns: Columns, s: Set, band: Band, mine: Sequence[int], state: State) -> list[Value]:
    """The values of the dimensions of a set over the members above and those of a band.

    Parameters
    ----------
    mine : the columns of the band's members, 0 of those that are one number.
    """
    out = [(*v, 1) for v in rows(columns, s.param_names, state.prefix)]
    for m, col in zip(band.members, mine, strict=True):
        out.append((((col, 1),), 0, 1) if col else ((), m.of(state.statements[0]).const, 1))
    return out


def told_apart(
    node: Node, at: Path, state: State, filtered: Callable[[Filter, Path, State], Iterable[Piece]]
) -> list[Piece]:
    """What filters of a sequence straight below a band, or below marks, let pass of pieces, if they cut statements."""
    while isinstance(node, Mark):
        node, at = node.child, (*at, 0)
    if not isinstance(node, SequenceNode | SetNode):
        return []
    each = [(child, (*at, k)) for k, child in enumerate(node.children)]
    some = [(child, at) for child, at in each if isinstance(child, Filter) and child.instances is not None]
    return [p for child, at in some for p in filtered(child, at, state)]


def parameters(node: Node, iterators: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Iterator[str]:
    """The parameters that a subtree mentions, in sets or in bands alone, whose statements have these iterators.

    >>> from polyvolta.sched import Schedule
    >>> band = '{ schedule: "[M] -> [{ S[i] -> [(i + M)] }]" }'
    >>> list(parameters(Schedule.parse(f'{{ domain: "[N] -> {{ S[i] : 0 <= i < N }}", child: {band} }}').root))
    ['N', 'M']
    """
    if isinstance(node, Leaf):
        return
    s = getattr(node, SAID.get(type(node), ""), None)
    if s is not None:
        yield from s.param_names
    if s is not None and isinstance(node, Domain | Extension):
        iterators = {**iterators, **{space.out.name or "": space.out.dims for space, _ in s.parts}}
    elif isinstance(node, Band):
        for m in node.members:
            for name, e in m.exprs:
                mine = iterators.get(name)
                if mine is not None and not e.names().issubset(mine):
                    yield from sorted(e.names().difference(mine, [m.name]))
    for child in node.children:
        yield from parameters(child, iterators)
