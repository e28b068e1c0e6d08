"""From a schedule tree to loops.

The tree is walked from the root with the instances that come each way, as pieces (`pieces`): conjunctions in which
every band member above is a column, solved for as soon as it is met. The loops of a band come from the projections of
its pieces (`lanes`), which are grouped and ordered along each member (`groups`), bounded (`bounds`) and written
(`members`). What loops and conditions ensure is known below (`known`), so that nothing is tested twice, and a
condition is written where the columns in it are all outside.

A leaf calls its statements. Iterators that no member determines get loops of their own there, in any order.

Where a projection is not exact the loop runs too far, never too short, and the condition that it lost is tested
inside: what is called is exact whatever the loops are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyvolta.sched.codegen.ast import Ast, Block, Call, Condition
from polyvolta.sched.codegen.columns import Columns, Row
from polyvolta.sched.codegen.conditions import any_of, beyond, exactly, fewer, guarded, has_rows, stated
from polyvolta.sched.codegen.groups import difference
from polyvolta.sched.codegen.known import Known
from polyvolta.sched.codegen.lanes import Lane
from polyvolta.sched.codegen.linear import FLOOR, LOCAL, LOOP, System, local
from polyvolta.sched.codegen.members import Nest
from polyvolta.sched.codegen.names import extents, mapped_names
from polyvolta.sched.codegen.pieces import Piece, system_of
from polyvolta.sched.codegen.state import State
from polyvolta.sched.codegen.tidy import tidied
from polyvolta.sched.codegen.writer import Ranges, Writer
from polyvolta.sched.errors import BadSchedule, NotScannable
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Node,
    Path,
    Schedule,
    SetNode,
)
from polyvolta.sched.tree import (
    Sequence as SequenceNode,
)
from polyvolta.sets import Aff, Map, Set, nearest, var
from polyvolta.sets.conjunct import Conjunct
from polyvolta.sets.implies import subtract
from polyvolta.sets.project import with_known_divs


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of `scan`.

    Parameters
    ----------
    body : the loops.
    extents : name that members are mapped to -> number of its values as an expression of the parameters.
    ranges : inclusive ranges of names and loop variables, None where there is no constant bound.
    """

    body: tuple[Ast, ...]
    extents: Mapping[str, Aff]
    ranges: Ranges

    def __str__(self) -> str:
        from polyvolta.sched.codegen.c_text import to_c

        return to_c(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def scan(schedule: Schedule, context: Set | None = None, extents: Mapping[str, int] | None = None) -> Scan:
    """Loops that visit exactly the instances of a schedule tree in its order.

    Parameters
    ----------
    context : what may be assumed of the parameters, a set without dimensions.
    extents : numbers of values of names that members are mapped to, where they are given and not inferred.

    Raises
    ------
    NotScannable : an unbounded loop, or one that is to be unrolled and has no constant number of iterations.
    BadSchedule : a statement that a band has no expression for, or that no child of a sequence takes.

    Cost: some linear programs for each loop and each condition.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> band = Band((Member((("S", var("i") // 32),)), Member((("S", var("i")),))))
    >>> tree = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), band))
    >>> outer, = scan(tree).body
    >>> inner, = outer.body
    >>> print(*inner.lower, *inner.upper, *inner.body[0].args)
    32*c0 N - 1 32*c0 + 31 c1
    """
    if not isinstance(schedule.root, Domain):
        raise NotScannable("a tree starts with its Domain", where=str(schedule))
    scanner = Scanner(schedule, context, extents or {})
    state = State(tuple(scanner.instances(schedule.root.domain, ())), scanner.known)
    body = scanner.visit(schedule.root.child, (0,), state)
    return Scan(tidied(body), scanner.extents, {**scanner.ranges, **scanner.seen})


class Scanner(Writer):
    """One walk of a tree: its columns, and the ranges of what has a name."""

    def __init__(self, schedule: Schedule, context: Set | None, given: Mapping[str, int]) -> None:
        self.schedule = schedule
        names = mapped_names(schedule.root)
        params = dict.fromkeys([*(context.param_names if context is not None else ()), *_parameters(schedule.root)])
        self.params = tuple(params)
        self.columns = Columns([*params, *names])
        self.known = Known(self.columns)
        if context is not None:
            self.known = self.assuming(self.known, context, ())
        super().__init__(self.columns, {p: self.known.range(self.columns.ids[p]) for p in params})
        self.extents: dict[str, Aff] = {}
        if names:
            self.extents, self.known = extents(schedule, self.columns, self.known, given, self.ranges)

    # ---- sets

    def rows(self, params: Sequence[str], prefix: Sequence[Aff]) -> list[Row]:
        """The parameters of a set and the members above as rows."""
        return [*((((self.columns.ids[p], 1),), 0) for p in params), *map(self.columns.row, prefix)]

    def instances(self, s: Set | Map, prefix: Sequence[Aff]) -> Iterator[Piece]:
        """The instances in a set, or in the image of the members above, as disjoint pieces."""
        for space, conjuncts in s.parts:
            values = [(*v, 1) for v in self.rows(s.param_names, prefix if space.inp else ())]
            for c in disjoint(s, space, conjuncts):
                piece = Piece.of(self.columns, space.out.name, space.out.dims, values, c)
                piece.promote(lambda col: col < LOOP + len(prefix) or FLOOR <= col < LOCAL)
                if not piece.system.empty:
                    yield piece

    def systems(self, s: Set, prefix: Sequence[Aff]) -> list[System]:
        """A set over the members above as systems over outer columns; exact."""
        values = self.rows(s.param_names, prefix)
        found = []
        for space, conjuncts in s.parts:
            if len(space.dims) != len(prefix):
                raise BadSchedule(
                    f"a set over {len(space.dims)} members stands below {len(prefix)}",
                    where=f"{s}\n{self.schedule}",
                    hint="its dimensions are the members of the bands above, the outermost first",
                )
            for c in conjuncts:
                for piece in with_known_divs(c):
                    found += exactly(self.columns, system_of(self.columns, piece, values))
        return [x for x in found if not x.empty]

    def assuming(self, known: Known, s: Set, prefix: Sequence[Aff]) -> Known:
        """What is known in a context besides."""
        if len(s.parts) == 1 and len(s.parts[0][1]) > 1:
            s = s.simple_hull()
        found = self.systems(s, prefix)
        if len(found) != 1:
            return known
        return known.given(found[0])

    # ---- the walk

    def visit(self, node: Node, at: Path, state: State) -> tuple[Ast, ...]:
        """The code for a subtree."""
        if not state.pieces:
            return ()
        match node:
            case Leaf():
                return self.leaf(at, state)
            case Band():
                return self.band(node, at, state)
            case Filter(_, child):
                return self.visit(child, (*at, 0), state.with_pieces(list(self.filtered(node, at, state))))
            case SequenceNode() | SetNode():
                self.check_children(node, at, state)
                return tuple(a for k, child in enumerate(node.children) for a in self.visit(child, (*at, k), state))
            case Mark(name, child):
                body = self.visit(child, (*at, 0), state)
                return (Block(name, tidied(body), at),) if body else ()
            case Context(context, child):
                return self.context(context, child, at, state)
            case Guard(guard, child):
                return self.guard(guard, child, at, state)
            case Extension(extension, child):
                return self.visit(child, (*at, 0), self.extended(extension, state))
        raise NotScannable(f"a {type(node).__name__} node cannot be scanned", where=self.schedule.marked(at))

    def filtered(self, node: Filter, at: Path, state: State) -> Iterator[Piece]:
        """The pieces that a filter lets pass."""
        for piece in state.pieces:
            if piece.statement not in node.statements:
                continue
            if node.instances is None:
                yield piece
                continue
            part = node.instances.only(piece.statement)
            for space, conjuncts in part.parts:
                values = [(*v, 1) for v in self.rows(part.param_names, ())]
                for c in disjoint(part, space, conjuncts):
                    kept = piece.copy()
                    kept.take(c, [*values, *kept.images.values()])
                    kept.promote(state.outer)
                    if not kept.system.empty:
                        yield kept

    def check_children(self, node: Node, at: Path, state: State) -> None:
        """Every statement goes some way."""
        taken = {s for child in node.children if isinstance(child, Filter) for s in child.statements}
        lost = [s for s in state.statements if s not in taken]
        if lost and all(isinstance(child, Filter) for child in node.children):
            raise BadSchedule(
                f"no child takes the statement {lost[0]}",
                where=self.schedule.marked(at),
                hint=nearest(lost[0], sorted(taken)),
            )

    def reached(self, state: State) -> list[System] | None:
        """Disjoint conditions for there being an instance here, None if there is one wherever this code runs.

        Loops may run too far; then what is true or done once for each place of the tree needs such a condition.
        """
        out: list[System] = []
        for piece in state.pieces:
            piece = piece.copy()
            piece.promote(state.outer)
            for s in exactly(self.columns, piece.system):
                s = beyond(state.known, s)
                if not has_rows(s):
                    return None
                parts = [] if state.known.excludes_exactly(s) else [s]
                for old in out:
                    rows = self.columns.without_mods(old)
                    parts = [part for x in parts for part in difference(state.known, x, list(rows.every_ge()))]
                out += parts
        return out

    def extended(self, extension: Map, state: State) -> State:
        """The state with the instances that an extension adds."""
        added = list(self.instances(extension, state.prefix))
        reached = self.reached(state)
        if reached is not None:
            found = []
            for piece in added:
                for s in reached:
                    part = piece.copy()
                    part.restrict(s)
                    if not part.system.empty:
                        found.append(part)
            added = found
        return state.with_pieces([*state.pieces, *added])

    def of_sizes(self, floor: int) -> bool:
        """Whether a floor is a function of parameters alone."""
        return self.columns.affs[floor].names() <= set(self.params)

    def context(self, context: Set, child: Node, at: Path, state: State) -> tuple[Ast, ...]:
        """A subtree of which something is known."""
        sizes = {self.columns.ids[p] for p in self.params} | {c for c in self.columns.floors if self.of_sizes(c)}
        sizes_alone = all(s.columns() <= sizes for s in self.systems(context, state.prefix))
        reached = None if sizes_alone else self.reached(state)
        conditions: tuple[Condition, ...] = ()
        if reached is not None:
            if not reached:
                return ()
            conditions = any_of([stated(self.columns, s, self.tidy) for s in reached])
            if len(reached) == 1:
                state = state.knowing(reached[0])
        state = State(state.pieces, self.assuming(state.known, context, state.prefix), state.prefix)
        return guarded(conditions, self.visit(child, (*at, 0), state), at)

    def guard(self, guard: Set, child: Node, at: Path, state: State) -> tuple[Ast, ...]:
        """A subtree under a condition on the members above."""
        found = fewer(self.columns, state.known, self.systems(guard, state.prefix))
        cases = [beyond(state.known, s) for s in found]
        cases = [s for s in cases if not has_rows(s) or not state.known.excludes_exactly(s)]
        if not cases:
            return ()
        if not all(has_rows(s) for s in cases):
            return self.visit(child, (*at, 0), state)
        if len(cases) == 1:
            state = state.knowing(cases[0])
        conditions = any_of([stated(self.columns, s, self.tidy) for s in cases])
        return guarded(conditions, self.visit(child, (*at, 0), state), at)

    def band(self, node: Band, at: Path, state: State) -> tuple[Ast, ...]:
        """The loops of a band and what is in them."""
        depth = len(state.prefix)
        active = state.statements
        columns = []
        for k, m in enumerate(node.members):
            exprs = dict(m.exprs)
            lost = [s for s in active if s not in exprs]
            if lost:
                raise BadSchedule(
                    f"member {k} of the band has no expression for the statement {lost[0]}",
                    where=self.schedule.marked(at),
                    hint="a filter keeps statements out, or the band gets an expression for it",
                )
            first = exprs[active[0]]
            if m.name:
                columns.append(self.columns.name(m.name))
            elif first.is_constant and all(exprs[s] == first for s in active):
                columns.append(0)
            else:
                columns.append(self.columns.loop(depth + k))
        loops = [0 if m.name else c for m, c in zip(node.members, columns, strict=True)]
        lanes = self.lanes(state, node.members, columns, loops)
        regions = None
        if node.isolate is not None:
            regions = self.regions(node, columns, loops, state)
        nest = Nest(self, at, node.members, loops, lambda s: self.visit(node.child, (*at, 0), s), regions, node.child)
        return nest.visit(0, lanes, state)

    def lanes(
        self, state: State, members: Sequence[Member], columns: Sequence[int], loops: Sequence[int]
    ) -> list[Lane]:
        """The pieces with the members of a band equated to their columns, and their shadows."""
        out = []
        for piece in state.pieces:
            piece = piece.copy()
            for m, col in zip(members, columns, strict=True):
                if col:
                    piece.equate(col, m.of(piece.statement))
            if not piece.system.empty:
                lane = Lane.of(piece, loops, state.known)
                if not lane.empty:
                    out.append(lane)
        return out

    def regions(self, node: Band, columns: Sequence[int], loops: Sequence[int], state: State) -> list[System] | None:
        """The shadows of what a band isolates, if that is one conjunct."""
        isolate = node.isolate.coalesce()
        pieces = [c for _, cs in isolate.parts for c in cs]
        if len(pieces) != 1 or len(isolate.space.dims) != len(state.prefix) + len(node.members):
            return None
        values = self.rows(isolate.param_names, state.prefix)
        statement = state.statements[0]
        for m, col in zip(node.members, columns, strict=True):
            values.append((((col, 1),), 0) if col else ((), m.of(statement).const))
        piece = Piece.of(self.columns, "", (), [(*v, 1) for v in values], pieces[0])
        return Lane.of(piece, loops, state.known).shadows

    # ---- leaves

    def leaf(self, at: Path, state: State) -> tuple[Ast, ...]:
        """Calls of the statements that end here."""
        out: list[Ast] = []
        for name in state.statements:
            out += self.calls(name, at, state.with_pieces([p for p in state.pieces if p.statement == name]))
        return tuple(out)

    def calls(self, name: str, at: Path, state: State) -> tuple[Ast, ...]:
        """Calls of one statement, in loops over iterators that are not determined."""
        pieces = []
        for piece in state.pieces:
            piece = piece.copy()
            piece.promote(state.outer)
            if not piece.system.empty:
                pieces.append(piece)
        free = [d for d in (pieces[0].images if pieces else ()) if any(local(p.images[d][0]) for p in pieces)]
        if free:
            members = [Member(((name, var(d)),)) for d in free]
            columns = [self.columns.loop(len(state.prefix) + k) for k in range(len(free))]
            state = state.with_pieces(pieces)
            nest = Nest(self, at, members, columns, lambda s: self.calls(name, at, s))
            return nest.visit(0, self.lanes(state, members, columns, columns), state)
        found: dict[tuple[Aff, ...], list[System]] = {}
        for piece in pieces:
            args = tuple(self.argument(self.columns.aff(*v)) for v in piece.images.values())
            found.setdefault(args, []).extend(exactly(self.columns, piece.system))
        out: list[Ast] = []
        for args, systems in found.items():
            cases = [beyond(state.known, s) for s in fewer(self.columns, state.known, systems)]
            cases = [s for s in cases if not has_rows(s) or not state.known.excludes_exactly(s)]
            if not cases:
                continue
            conditions: tuple[Condition, ...] = ()
            if all(has_rows(s) for s in cases):
                conditions = any_of([stated(self.columns, s, self.tidy) for s in cases])
            out += guarded(conditions, (Call(name, args, at),), at)
        return tuple(out)


def disjoint(s: Set | Map, space: object, conjuncts: Sequence[Conjunct]) -> Sequence[Conjunct]:
    """Conjuncts with the same points, none in two."""
    if len(conjuncts) == 1:
        return conjuncts
    merged = type(s)._of(s.param_names, [(space, tuple(conjuncts))]).coalesce()
    out: list[Conjunct] = []
    for piece in [p for _, cs in merged.parts for c in cs for p in with_known_divs(c)]:
        left = [piece]
        for old in out:
            left = [part for whole in left for part in subtract(whole, old)]
        out += left
    return out


def _parameters(node: Node) -> Iterator[str]:
    """The parameters that a subtree mentions."""
    for what in ("domain", "context", "instances", "extension", "guard", "isolate"):
        s = getattr(node, what, None)
        if isinstance(s, Set | Map):
            yield from s.param_names
    for child in node.children:
        yield from _parameters(child)
