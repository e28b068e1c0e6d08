"""The walk of a tree: what each node does to the instances that come its way.

A filter lets some pass, an extension adds some, a context adds to what is known, a guard becomes a condition, a band
becomes loops (`members`), and a leaf calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from polyvolta.sched.errors import BadSchedule, NotScannable
from polyvolta.sched.loops.ast import Ast, Block, Call, Condition
from polyvolta.sched.loops.conditions import (
    alike,
    any_of,
    beyond,
    cut_apart,
    exactly,
    fewer,
    guarded,
    has_rows,
    loosened,
    not_everywhere,
    of_integers,
    stated,
)
from polyvolta.sched.loops.hoisting.guards import speaks_of_members
from polyvolta.sched.loops.hoisting.tidy import tidied
from polyvolta.sched.loops.instances import (
    added,
    disjoint,
    member_values,
    met,
    parameters,
    rows,
    systems,
    told_apart,
)
from polyvolta.sched.loops.members import BandLoops
from polyvolta.sched.loops.names import extents, mapped_names
from polyvolta.sched.loops.parts.below import Below
from polyvolta.sched.loops.parts.calls import in_few_calls
from polyvolta.sched.loops.parts.merging import together
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import FLOOR, LOOP, System, local
from polyvolta.sched.loops.rows.order import in_turn
from polyvolta.sched.loops.rows.pieces import Piece, Value
from polyvolta.sched.loops.spans.turns import as_one, asked_of_each, meet
from polyvolta.sched.loops.spans.windows import at_floors, determined, in_windows, one_by_one
from polyvolta.sched.loops.state import State
from polyvolta.sched.loops.writer import Writer
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
from polyvolta.sets.conjuncts.conjunct import Conjunct


class Scanner(Writer):
    """One walk of a tree: its columns, and the ranges of what has a name."""

    def __init__(
        self,
        schedule: Schedule,
        context: Set | None,
        given: Mapping[str, int | Aff],
        parted: bool = True,
        apart: bool = False,
    ) -> None:
        self.schedule, self.parted, self.apart = schedule, parted, apart
        self.asked: Set | None = None  # of sizes above all bands
        names = mapped_names(schedule.root)
        params = dict.fromkeys([*(context.param_names if context is not None else ()), *parameters(schedule.root)])
        self.params = tuple(params)
        self.columns = Columns([*params, *names], params)
        self.known = Known(self.columns)
        if context is not None:
            self.known = self.assuming(self.known, context, ())
        node = schedule.root.child if isinstance(schedule.root, Domain) else schedule.root
        while isinstance(node, Context):  # what the tree assumes of everything counts as if it had been given
            if not node.context.space.n_out:
                self.known = self.assuming(self.known, node.context, ())
            node = node.child
        super().__init__(schedule, self.columns, {p: self.known.range(self.columns.ids[p]) for p in params})
        self.passing: dict[tuple[Path, str], tuple[list[Value], list[Conjunct]]] = {}  # what filters let pass, disjoint
        if names:
            self.extents, self.known = extents(schedule, self.columns, self.known, given, self.ranges)

    def assuming(self, known: Known, s: Set, prefix: Sequence[Aff]) -> Known:
        """What is known in a context besides."""
        if len(s.parts) == 1 and len(s.parts[0][1]) > 1:
            s = s.simple_hull()
        found = systems(self.columns, s, prefix, self.schedule)
        if len(found) != 1:
            return known
        return known.given(found[0])

    def at_one_value(self, known: Known, context: Set, prefix: Sequence[Aff]) -> System:
        """The values of loops outside that a context says to be one number.

        At all others of their values nothing comes by, so that they are tested, and loops outside have an end by it.
        """
        found = systems(self.columns, context, prefix, self.schedule)
        eqs = [(key, const) for s in found if len(found) == 1 for key, const in s.eqs if len(key) == 1]
        eqs = [(key, const) for key, const in eqs if LOOP <= key[0][0] < FLOOR and not known.implies_zero(key, const)]
        return System(eqs=eqs)

    # ---- the walk

    def whole(self, node: Node, state: State) -> tuple[Ast, ...]:
        """The code for all of a tree, under what is asked of sizes above all bands (`hoisting.guards`)."""
        if self.asked is None:
            return self.visit(node, (0,), state)
        found = self.conditions(systems(self.columns, self.asked, (), self.schedule), state)
        return () if found is None else guarded(found[0], self.visit(node, (0,), found[1]), (0,))

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
                conditions, state = self.shared(state)
                body = [a for k, child in enumerate(node.children) for a in self.visit(child, (*at, k), state)]
                return guarded(conditions, tuple(body), at)
            case Mark(name, child):
                body = self.visit(child, (*at, 0), state)
                return (Block(name, tidied(body), at),) if body else ()
            case Context(context, child):
                return self.context(context, child, at, state)
            case Guard(guard, child):
                return self.guard(guard, child, at, state)
            case Extension(extension, child):
                conditions, state = self.shared(state)
                return guarded(conditions, self.visit(child, (*at, 0), self.extended(extension, state)), at)
        raise NotScannable(f"a {type(node).__name__} node cannot be scanned", where=self.schedule.marked(at))

    def shared(self, state: State) -> tuple[tuple[Condition, ...], State]:
        """Conditions that all instances here have, and the state behind them: where none comes by nothing below runs.

        They are tested once before parts of the tree, each of which would test them, and say what it has besides.
        Instances that no integers outside bring by, as of N = 2 mod 4 and -1 <= N <= 0, are left out.
        """
        each = [(p, beyond(state.known, p.system, state.outer)) for p in state.pieces]
        each = [(p, s) for p, s in each if not has_rows(s) or not state.known.excludes_exactly(s)]
        if len(each) < len(state.pieces):
            state = state.with_pieces([p for p, _ in each])
        rows = alike([s for _, s in each])
        return (stated(self.columns, rows, self.tidy), state.knowing(rows)) if has_rows(rows) else ((), state)

    def filtered(self, node: Filter, at: Path, state: State) -> Iterator[Piece]:
        """The pieces that a filter lets pass."""
        for piece in state.pieces:
            if piece.statement not in node.statements:
                continue
            if node.instances is None:
                yield piece
                continue
            if (at, piece.statement) not in self.passing:
                part = node.instances.only(piece.statement)
                apart = [c for space, some in part.parts for c in disjoint(part, space, some)]
                params = [(*v, 1) for v in rows(self.columns, part.param_names, ())]
                self.passing[at, piece.statement] = params, apart
            params, apart = self.passing[at, piece.statement]
            for c in apart:
                kept = piece.copy()
                kept.take(c, [*params, *kept.images.values()])
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

        Loops may run too far; then what is true or done once for each place of the tree needs such a condition. Of more
        than one there are the first two or more.
        """
        some = not_everywhere(state.known, met(self.columns, state))
        return None if some is None else cut_apart(state.known, some, most=1)

    def extended(self, extension: Map, state: State) -> State:
        """The state with the instances that an extension adds."""
        return state.with_pieces([*state.pieces, *added(self.columns, extension, state)])

    def context(self, context: Set, child: Node, at: Path, state: State) -> tuple[Ast, ...]:
        """A subtree of which something is known: of the instances that come by, and so where one of them does.

        If it takes alternatives to tell where that is, loops and conditions inside don't rely on the context: each
        instance has its own conditions there, which cost less than asking first whether any comes by. What the context
        excludes never comes by, all the same.
        """
        reached = None if self.of_sizes_alone(context, state) else self.reached(state)
        if context.is_empty():  # nothing comes by
            return ()
        conditions: tuple[Condition, ...] = ()
        apart = reached is not None and len(reached) > 1
        if reached is not None and not apart:
            if not reached:
                return ()
            conditions = stated(self.columns, reached[0], self.tidy)
            state = state.knowing(reached[0])
        known = self.assuming(state.known, context, state.prefix)
        if self.parted and not apart:
            conditions += stated(self.columns, self.at_one_value(state.known, context, state.prefix), self.tidy)
        if known is not state.known:
            if known.tableau([]).empty:  # what comes by contradicts what is known
                return ()
            pieces = [p for p in state.pieces if not known.excludes_exactly(state.outside(p))]
            state = state.with_pieces(pieces)
        if not apart:
            state = replace(state, known=known, either=())
        with self.within(state.known):
            return guarded(conditions, self.visit(child, (*at, 0), state), at)

    def of_sizes_alone(self, context: Set, state: State) -> bool:
        """Whether a context speaks of parameters alone: of no name, and of no member, even if its value is known.

        What it says of members is nothing where no instance comes by, and at some sizes there may be none.
        """
        if speaks_of_members(context):
            return False
        found = systems(self.columns, context, state.prefix, self.schedule)
        return all(self.columns.of_sizes(tuple((c, 1) for c in s.columns())) for s in found)

    def guard(self, guard: Set, child: Node, at: Path, state: State) -> tuple[Ast, ...]:
        """A subtree under a condition on the members above."""
        found = self.conditions(systems(self.columns, guard, state.prefix, self.schedule), state)
        if found is None:
            return ()
        conditions, state = found
        return guarded(conditions, self.visit(child, (*at, 0), state), at)

    def conditions(self, some: list[System], state: State) -> tuple[tuple[Condition, ...], State] | None:
        """What tests that one of some systems holds, and the state where it does; None where none can."""
        cases = [beyond(state.known, s) for s in fewer(self.columns, state.known, some)]
        cases = [s for s in cases if not has_rows(s) or not state.known.excludes_exactly(s)]
        if not cases:
            return None
        if self.parted and all(has_rows(s) for s in cases):
            cases = [self.searched(s, of_integers, state.known, s) for s in cases]
        if not all(has_rows(s) for s in cases):
            return (), state
        if len(cases) == 1:
            state = state.knowing(cases[0])
        else:
            cases = loosened(state.known, cases)
        return any_of([stated(self.columns, s, self.tidy) for s in cases]), state

    def band(self, node: Band, at: Path, state: State) -> tuple[Ast, ...]:
        """The loops of a band and what is in them."""
        if not node.members:
            return self.visit(node.child, (*at, 0), state)
        if node.isolate is None and any(m.isolated_type for m in node.members):  # what is said of nothing
            node = replace(node, members=tuple([replace(m, isolated_type=None) for m in node.members]))
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
        regions = self.regions(node, at, columns, loops, state)
        below = Below(self.columns, node, at, columns, state, self.filtered) if self.parted else None
        lanes = self.lanes(state, node.members, columns, loops, regions, below)
        inside = lambda s: self.visit(node.child, (*at, 0), s)  # noqa: E731
        told = lambda lanes: told_apart(node.child, (*at, 0), state.with_pieces(lanes), self.filtered)  # noqa: E731
        nest = BandLoops(self, node.members, loops, at, inside, told, regions=regions, child=node.child, below=below)
        return nest.visit(0, lanes, state)

    def lanes(
        self,
        state: State,
        members: Sequence[Member],
        columns: Sequence[int],
        loops: Sequence[int],
        regions: Sequence[Sequence[System]] = (),
        below: Below | None = None,
    ) -> list[Lane]:
        """The pieces with the members of a band equated to their columns, and their shadows.

        What is not exact is in parts at single values, unless loops determine these (`determined`), or parts meet in an
        atomic loop: there they would be told apart by tests at every value. Several pieces are told apart anyway, if
        they are not one here (`together`): all are in parts where these take turns, if half of these or more are of
        what is not exact, and nothing but numbers says where: each would test sizes, too. Of what an atomic loop finds
        at once it would ask for each part.
        What stays whole is in windows of remainders, or at values of floors, if there are any (`windows`). What then is
        not exact gets strides that integers leave: no loop runs, nor test is made, between.
        """
        equated = cache(lambda p, strides=False: self.lane(p, state, members, columns, loops, strides, below))
        if self.parted and len(state.pieces) > 1:
            joins = lambda *some: as_one(state.known, loops, *([equated(p) for p in o] for o in some))  # noqa: E731
            state = state.with_pieces([*self.searched(state.pieces, together, state.known, state.pieces, joins)])
        whole = [equated(piece) for piece in state.pieces]
        each = [[lane] for lane in whole]

        def cut(every: bool) -> None:
            for piece, lane, some in zip(state.pieces, whole, each, strict=True):
                if not lane.empty and (every or not (lane.exact or determined(state.known, lane, loops))):
                    names = {name for m in members for name in m.of(piece.statement).names() & piece.images.keys()}
                    some[:] = one_by_one(piece, names, state.outer, equated) or [lane]

        kinds = [{m.loop_type, m.isolated_type} for m, col in zip(members, loops, strict=True) if col]
        taken = [False] * len(whole)
        if self.parted and kinds:
            cut(False)
            taken = in_turn(state.known, each, loops)
        if any(taken) and any("atomic" in some for some in kinds):
            inside = [one for some in each for one in some if not one.empty]
            if meet(state.known, inside, members, loops, regions):
                taken = [False] * len(whole)
        if self.parted and len(whole) > 1 and any("atomic" not in some for some in kinds):
            numbers = not any(state.outer(((c, 1),)) for lane in whole for c in lane.piece.system.columns())
            if numbers and not all(turn or lane.exact or lane.empty for lane, turn in zip(whole, taken, strict=True)):
                cut(True)
                most = sum(-len(some) if lane.exact else len(some) for lane, some in zip(whole, each, strict=True))
                every = in_turn(state.known, each, loops) if most >= 0 else ()
                if every and all(turn == (len(some) > 1) for some, turn in zip(each, every, strict=True)):
                    asked = partial(asked_of_each, state.known, members, loops, regions)
                    taken = taken if any(map(asked, whole, each)) else every
        if self.parted and kinds:
            free = [0 if "atomic" in {m.loop_type, m.isolated_type} else c for m, c in zip(members, loops, strict=True)]
            in_windows(state.known, whole, each, taken, loops, free)
            at_floors(state.known, whole, each, taken, loops, free)
        out: list[Lane] = []
        for piece, lane, some, turn in zip(state.pieces, whole, each, taken, strict=True):
            stays = lane.exact or lane.empty or not self.parted
            out += some if turn else [lane if stays else equated(piece, True)]
        first = loops[0] if loops else 0
        return [one for one in out if not (one.empty or state.nowhere(one, first))]

    def lane(
        self,
        piece: Piece,
        state: State,
        members: Sequence[Member],
        columns: Sequence[int],
        loops: Sequence[int],
        strides: bool,
        below: Below | None = None,
    ) -> Lane:
        """A piece with the members of a band equated to their columns, and its shadows.

        What is outside has given some values already: of k mod 4 for -1 <= k <= 2 comes k. They are put in first, or a
        member would take k's place, and it was that member whose values have a stride and bounds.
        """
        piece = piece.copy()
        piece.pin(state.outer)
        for m, col in zip(members, columns, strict=True):
            if col:
                piece.equate(col, m.of(piece.statement))
        if below is not None:
            piece = below.kept(piece, lambda some: self.searched(some, below.narrowed, state.known, some))
        piece.pin(state.outer)
        piece.promote(state.outer)
        if self.parted:
            piece.tie([col for col in columns if col], state.known.ineqs)
            piece.land([col for col in loops if col][1:], state.outer)
            if piece.locals():
                piece.flatten(strides, state.known.ineqs)
                piece.promote(state.outer)  # what has one value is in floors of what is outside
        if piece.system.empty:
            return Lane(piece, [])
        rounds = all("unroll" not in (m.loop_type, m.isolated_type) for m in members)
        lane = Lane.of(piece, loops, state.known, rounds=rounds)
        if self.parted and not lane.exact and piece.pin(state.outer, around=True):
            return Lane(piece, []) if piece.system.empty else Lane.of(piece, loops, state.known, rounds=rounds)
        return lane

    def regions(
        self, node: Band, at: Path, columns: Sequence[int], loops: Sequence[int], state: State
    ) -> list[list[System]]:
        """The shadows of each piece of what a band isolates."""
        isolate = node.isolate
        if isolate is None:
            return []
        wanted, found = len(state.prefix) + len(node.members), len(isolate.space.dims)
        if found != wanted:
            raise BadSchedule(
                f"what is isolated has {found} dimensions, not {wanted}",
                where=f"{isolate}\n{self.schedule.marked(at)}",
                hint="its dimensions are the members of the bands above, the outermost first, and those of this band",
            )
        values = member_values(self.columns, isolate, node, columns, state)
        out = []
        for space, conjuncts in isolate.parts:
            for c in disjoint(isolate, space, conjuncts):
                piece = Piece.of(self.columns, "", (), values, c)
                piece.promote(state.outer)
                lane = Lane.of(piece, loops, state.known)
                if not lane.empty:
                    out.append(lane.shadows)
        return out

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
            nest = BandLoops(self, members, columns, at, lambda s: self.calls(name, at, s))
            return nest.visit(0, self.lanes(state, members, columns, columns), state)
        found: dict[tuple[Aff, ...], list[System]] = {}
        for values, some in in_few_calls(state.known, pieces, self.schedule, at):
            whole = [(*state.known.whole(key, const), den) for key, const, den in values]
            args = tuple(self.argument(self.columns.aff(*v)) for v in whole)
            found.setdefault(args, []).extend(s for p in some for s in exactly(self.columns, p.system))
        out: list[Ast] = []
        for args, some in found.items():
            tested = self.conditions(some, state)
            if tested is not None:
                out += guarded(tested[0], (Call(name, args, at),), at)
        return tuple(out)
