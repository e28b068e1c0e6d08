"""What guards and filters below a band let through of its instances.

    T[i, j] -> [i, j] for 0 <= j <= 1, below a guard of j <= 1 with j mod 3 > 0, or of j >= 3 with j mod 3 > 0

A loop needs no iteration whose instances pass none of the guards below, and at those of T only the first one lets some
pass: j is 1 there. What no way down lets through is no instance at all, and has no loop. Where one of two filters lets
pass what is at N = 2 alone, and a guard below the other one is of even N up to 4, N is from 2 to 4 where a loop runs.

    S[i, j] -> [i] for 0 <= j <= i, above a band of j, below that a guard of j mod 4 = 3        i is 3 or more

What guards say of members of bands between they say of instances: no loop outside runs to where each one inside would
ask for it in vain. Where several ways say the same of members, as of p = 2 for M <= 1 and for M >= 3, all that comes to
a leaf meets that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from math import floor, inf

from polyvolta.sched.loops.instances import least_at, member_values
from polyvolta.sched.loops.rows.columns import Columns, Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System, negated
from polyvolta.sched.loops.rows.pieces import Piece, Value
from polyvolta.sched.loops.state import State
from polyvolta.sched.tree import Band, Context, Extension, Filter, Guard, Leaf, Mark, Node, Path, SetNode
from polyvolta.sched.tree import Sequence as SequenceNode
from polyvolta.sets import Aff, Set
from polyvolta.sets.conjuncts.conjunct import Conjunct, normalise

WAYS = 4  # ways down from a band, up to which all are asked for numbers that bound sizes
WORTH = 400  # steps that a question of one way may take

Inside = Sequence[tuple[Aff, Value]]  # members of bands below, and their values
Taken = tuple[Conjunct, list[Value], tuple[Aff, ...]]  # a condition, the first values of its dimensions, and the others
Way = tuple[Piece, tuple[Taken, ...]]  # what passes, and what guards say of the band, and of those below


@dataclass(slots=True)
class Below:
    """What is below one band.

    Parameters
    ----------
    node, at : the band, and where it is.
    mine : the columns of its members, 0 of those that are one number.
    filtered : the pieces that a filter lets pass.

    Attributes
    ----------
    of_all : what guards say that all instances meet (`by_all`).
    told : whether there are others (`by_some`).
    """

    columns: Columns
    node: Band
    at: Path
    mine: Sequence[int]
    state: State
    filtered: Callable[[Filter, Path, State], Iterable[Piece]]
    of_all: list[Taken] = field(init=False)
    told: bool = field(init=False)

    def __post_init__(self) -> None:
        self.of_all, self.told = self.by_all(), self.by_some()

    def by_all(self) -> list[Taken]:
        """The guards straight below that are one conjunction, which all instances meet.

        What they say of the band's members, for what is outside is tested once. Nothing else is between that adds
        instances, or that some of them do not meet.
        """
        out: list[Taken] = []
        node = self.node.child
        while not isinstance(node, Leaf):
            match node:
                case Guard(guard, child):
                    found = list(self.conjuncts(guard))
                    out += self.of_members(guard, found[0], ()) if len(found) == 1 else ()
                    node = child
                case Filter() | Context():
                    node = node.child
                case SequenceNode((only,)) | SetNode((only,)):
                    node = only
                case _:
                    break
        return out

    def by_some(self) -> bool:
        """Whether there are guards below that let pass some instances alone, and `by_all` doesn't say it all."""
        node = self.node.child
        while isinstance(node, Context) or (isinstance(node, Guard) and len(list(self.conjuncts(node.guard))) == 1):
            node = node.child
        return guarded_below(node)

    def kept(self, piece: Piece, searched: Callable[[Piece], Piece]) -> Piece:
        """What guards below let through of a piece whose members are equated to their columns; changes it.

        Parameters
        ----------
        searched : `narrowed`, if that is found in few steps.
        """
        take(piece, self.of_all)
        return searched(piece) if self.told and not piece.system.empty else piece

    def narrowed(self, known: Known, piece: Piece) -> Piece:
        """What comes to a leaf of a piece in which members are equated to their columns, as far as guards say.

        Nothing where no way down lets anything through. What guards say on each of a few is taken as `by_all` does: of
        one way that is all of them, for the others are of instances that never go there. Filters, and what several say
        differently, are tested on each; but what numbers bound a size on each bounds it here (`ends`): all that comes
        to a leaf goes one of them.
        """
        some = list(islice(self.ways(known, self.node.child, (*self.at, 0), piece, ()), WAYS + 1))
        out = piece.copy()
        out.system.empty |= not some
        if 0 < len(some) <= WAYS:
            (_, first), *others = some
            take(out, [one for one in first if all(one in passed for _, passed in others)])
            there = known.given(piece.system)
            for row in self.ends(known, [part.system for part, _ in some]):
                if not there.implies(*row):
                    out.system.ge(*row)
        return out

    def ends(self, known: Known, some: Sequence[System]) -> Iterator[Row]:
        """The least and the greatest value that integers leave a size in any of some systems, as rows.

        Cost: two linear programs for each size and system, and a search for integers at each value that is left out.
        """
        for c, sign in product(sorted(self.columns.ids[name] for name in self.columns.sizes), (-1, 1)):
            key, consts = ((c, sign),), []
            for system in some:
                most = known.given(system).greatest((), negated(key))
                if abs(most) == inf:
                    break
                consts.append(least_at(known, system, key, floor(most)))
            else:
                yield key, max(consts)

    def ways(
        self, known: Known, node: Node, at: Path, piece: Piece, inside: Inside, passed: tuple[Taken, ...] = ()
    ) -> Iterator[Way]:
        """The ways down from a node on which something of a piece may come to a leaf, or to what adds instances.

        Parameters
        ----------
        inside : members of bands below this one.
        passed : what guards on the way say of the members of this one, and of these.
        """
        match node:
            case Filter(_, child):
                for part in self.filtered(node, at, self.state.with_pieces([piece])):
                    yield from self.ways(known, child, (*at, 0), part, inside, passed)
            case Guard(guard, child):
                values = member_values(self.columns, guard, self.node, self.mine, self.state)
                values += [value for _, value in inside]
                for c in self.conjuncts(guard, len(inside)):
                    part = piece.copy()
                    part.take(c, values)
                    if not (part.system.empty or known.surely_excludes(part.system, WORTH)):
                        more = self.of_members(guard, c, tuple([e for e, _ in inside]))
                        yield from self.ways(known, child, (*at, 0), part, inside, (*passed, *more))
            case Band(members, child):
                piece = piece.copy()
                more = [(e, piece.value(e)) for m in members for e in [m.of(piece.statement)]]
                yield from self.ways(known, child, (*at, 0), piece, (*inside, *more), passed)
            case Leaf() | Extension():
                yield piece, passed
            case _:
                for k, child in enumerate(node.children):
                    yield from self.ways(known, child, (*at, k), piece, inside, passed)

    def atomic(
        self, known: Known, lanes: Sequence[Lane], k: int, columns: Sequence[int]
    ) -> tuple[list[Lane], int, list[int], Node] | None:
        """Lanes with the loops of a band straight below, the number of the first one of these, all columns, and the
        node below that band; None where there is none, or that loop is not atomic, or some are mapped to a name.

        Cost: the shadows of each lane from loop k on, and none where that is not so.
        """
        node = self.node.child
        while isinstance(node, Mark):
            node = node.child
        if not isinstance(node, Band) or any(m.name or m.isolated_type for m in node.members):
            return None
        statements = {lane.piece.statement for lane in lanes}
        if any(statements - {s for s, _ in m.exprs} for m in node.members):  # `Scanner.band` says what is lost
            return None
        mine, depth = [], len(self.state.prefix) + len(self.node.members)
        for j, m in enumerate(node.members):
            some = [m.of(s) for s in statements]
            same = all(e.is_constant and e == some[0] for e in some)
            mine.append(0 if same else self.columns.loop(depth + j))
        first = next((j for j, col in enumerate(mine) if col), None)
        if first is None or node.members[first].loop_type != "atomic":
            return None
        out = []
        for lane in lanes:
            piece = lane.piece.copy()
            for m, col in zip(node.members, mine, strict=True):
                if col:
                    piece.equate(col, m.of(piece.statement))
            if not piece.system.empty:
                out.append(Lane.of(piece, [*columns, *mine], known, k))
        return out, len(columns) + first, [*columns, *mine], node.child

    def conjuncts(self, guard: Set, inside: int = 0) -> Iterator[Conjunct]:
        """The conjuncts of a guard below this band and `inside` members of others."""
        depth = len(self.state.prefix) + len(self.node.members) + inside
        for space, some in guard.parts:
            yield from some if len(space.dims) == depth else ()

    def of_members(self, guard: Set, c: Conjunct, inside: tuple[Aff, ...]) -> list[Taken]:
        """What a conjunct of a guard says of the band's members, and of those of bands between them."""
        first = 1 + len(guard.param_names) + len(self.state.prefix)
        told = [*map(bool, self.mine), *[not e.is_constant for e in inside]]
        said = speaking(c, {first + k for k, some in enumerate(told) if some})
        values = member_values(self.columns, guard, self.node, self.mine, self.state)
        return [] if said is None else [(said, values, inside)]


def take(piece: Piece, some: Iterable[Taken]) -> None:
    """Keep the instances that meet some conditions."""
    for c, values, others in some:
        piece.take(c, [*values, *map(piece.value, others)])


def guarded_below(node: Node) -> bool:
    """Whether there is a guard at or below a node, above all that adds instances."""
    return isinstance(node, Guard) or (not isinstance(node, Extension) and any(map(guarded_below, node.children)))


def speaking(c: Conjunct, some: set[int]) -> Conjunct | None:
    """The rows of a conjunct that speak of some entries, or of divs that do; None where there are no points."""
    base = 1 + c.n
    for k, div in enumerate(c.divs):
        if div is not None and any(v and at in some for at, v in enumerate(div[1])):
            some = {*some, base + k}
    unknown = {base + k for k, div in enumerate(c.divs) if div is None}
    used = [{at for at, v in enumerate(row) if v and at} for row in (*c.eqs, *c.ineqs)]
    while more := {at for row in used if row & some for at in row & unknown} - some:
        some = some | more
    eqs, ineqs = (
        [row for row in rows if any(v and at in some for at, v in enumerate(row))] for rows in (c.eqs, c.ineqs)
    )
    return normalise(c.n, c.divs, eqs, ineqs)
