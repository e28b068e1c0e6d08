"""The epilogue of warpgroups: from accumulators through shared memory to the copy engine, piece by piece.

    expect_D, box_bias   the producer has operands brought that are matrices of the result's shape
    operands_D           until they have come
    for each piece of 64 rows and as many columns as a box takes, see `result_pieces`:
      read_bias          other operands of pointwise operations, each value where its accumulator is
      drain_D            one thread waits until the engine has read what was in the piece's place before
      free_D             and all of the warpgroup for that thread
      take_bias, S2, put_D
                         for each fragment of 16 columns: `ldmatrix`, pointwise operations in registers, `stmatrix`
      fence_D            what was stored is there for the engine
      sync_D             and so is what all others stored
      write_D, commit_D  one thread has the box stored
    end_D                until all has been read: shared memory must be there as long as that

A persistent block does so for one tile after the other, and the places of a tile's pieces are those of the tile before.
Where nobody brings operands it waits as late as it can: `drain_D` and `free_D` stand before the pieces, once, when the
next tile's products have been computed, and `end_D` behind the last tile. Operands come while products are computed,
to where results are still read: so a tile ends with `end_D`, as ever, and with `vacate_D`, which the producer waits
for, `vacant_D`, before it has the next ones brought.

The tree has a band of pieces, and below it a sequence whose filters are about whole pieces or have a band of fragments
of their own. All are twins of the result: instances of the former at the pieces' base points, of the latter at the
fragments'.

What of a box is outside of its tensor the engine leaves out, or fills with zeros, so that nothing needs a guard, and
there are no versions for full and for partial tiles but where threads load operands themselves.

Which value is whose is `layouts.result_boxes`: the map by which fragments are stored, or taken, is proved to be the one
by which the box is read, or written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from polyvolta.cuda.build.promotion.boxes.boxed import ONE_OF_WARPGROUP, ONE_THREAD
from polyvolta.cuda.build.promotion.boxes.pieces import Boxed, Pieces, positions
from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.build.promotion.model import (
    POINT,
    TILE,
    WARP,
    CannotPromote,
    Movement,
    Nest,
    Piece,
    accumulator_name,
    fragment_name,
    free_name,
    operation_name,
)
from polyvolta.cuda.build.promotion.result import Fragments, coarser, enters, once
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    Barrier,
    BoxCopy,
    BoxStore,
    CommitStores,
    Element,
    GlobalLoad,
    GlobalTensor,
    LoadMatrix,
    Op,
    Phase,
    PhaseBarriers,
    Pointwise,
    ProxyFence,
    RegisterArray,
    Stmt,
    StoreMatrix,
    WaitStores,
    When,
)
from polyvolta.cuda.layouts.result_boxes import stored_fragment
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.plans.plans import Plan, Step
from polyvolta.sched.nodes import Band, Filter, Leaf, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.values.simplify import interval, simplify

ORIGIN = (aff(0), aff(0))
FRAGMENTS = "fragments"
"""A group of statements that are about fragments; others have the name of a thread's number, or none."""
OPERANDS = PhaseBarriers("operands", 0, 1, 1)
"""Its phases are about the operands of a tile's epilogue."""
VACANT = "vacant"
"""The barrier whose phases say that the engine has read a tile's results, so that operands may come to their places."""


def boxed_epilogue(
    plan: Plan,
    fragments: Fragments,
    nests: Mapping[str, Nest],
    tensors: Mapping[str, GlobalTensor],
    pieces: Pieces,
    own: IndexMap,
    name_of: Callable[[str], str],
    makers: Makers,
    context: Set,
    turn: str = "",
) -> Epilogue:
    """The part of a block's program behind the last product.

    Parameters
    ----------
    fragments : of the result, each of `makers.columns` columns.
    nests : for each pointwise statement its schedule.
    pieces : how outputs are stored and operands brought.
    own : { [lane, i] -> [row, col] }, what a warp's lanes have of a fragment, from its first row on.
    name_of : makes a statement's name from a wish, one that nothing else has.
    context : what may be assumed of the sizes.
    turn : what the number of a persistent block's tile is called; "": blocks have one tile.

    Raises
    ------
    CannotPromote : the pieces of a warpgroup can't be counted.
    """
    b = _Builder(plan, fragments, nests, tensors, pieces, own, name_of, makers, turn)
    label = plan.outputs[0]
    before = b.brings(context) if pieces.operands else ()
    bringing = frozenset(before[0].statements if before else ())
    late = turn and not before
    if late:
        before = (once(fragments, WaitStores(0, name_of(f"drain_{label}")), context, ONE_OF_WARPGROUP),
                  once(fragments, Barrier("warpgroup", name_of(f"free_{label}")), context))  # fmt: skip
    whole = b.whole()
    wait = WaitStores(0, name_of(f"end_{label}"))
    if late:
        return Epilogue(before, whole, (), b.coarse, bringing, (When((-var(ONE_OF_WARPGROUP),), (wait,), False),))
    end = [once(fragments, wait, context, ONE_OF_WARPGROUP)]
    if turn:
        vacate = Arrive(b.phase(VACANT), 0, name_of(f"vacate_{label}"))
        end.append(once(fragments, vacate, context, ONE_OF_WARPGROUP))
    return Epilogue(before, whole, tuple(end), b.coarse, bringing)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """The parts of a block's program behind the last product.

    Parameters
    ----------
    before : operands are brought by a thread of a role of its own, and waited for by all others; or the places of
        pieces are.
    whole : all pieces are stored; it has the arrays of all.
    end : until they have been read.
    stored : the points at which boxes are stored.
    producing : the statements of the role that brings operands.
    closing : what is behind a persistent block's last tile.
    """

    before: tuple[Piece, ...]
    whole: Piece
    end: tuple[Piece, ...]
    stored: Fragments
    producing: frozenset[str] = frozenset()
    closing: tuple[Stmt, ...] = ()


@dataclass(slots=True)
class _Builder:
    """The epilogue's statements in order: `groups` of them, each for pieces as a whole or for fragments.

    `held` says which registers have what, by array and index; `turn` is as of `boxed_epilogue`.
    """

    plan: Plan
    fragments: Fragments
    nests: Mapping[str, Nest]
    tensors: Mapping[str, GlobalTensor]
    pieces: Pieces
    own: IndexMap
    name_of: Callable[[str], str]
    makers: Makers
    turn: str = ""
    groups: list[tuple[str, list[Movement]]] = field(default_factory=list)
    registers: dict[str, RegisterArray] = field(default_factory=dict)
    held: dict[tuple[str, tuple[int, ...]], Element] = field(default_factory=dict)

    # ---- what there is

    @property
    def columns(self) -> int:
        """Of a piece."""
        return self.pieces.shape[1]

    @property
    def coarse(self) -> Fragments:
        """Pieces as fragments: one instance for each."""
        return coarser(self.fragments, self.columns)

    @property
    def each(self) -> int:
        """Fragments of a piece."""
        return self.columns // self.makers.columns

    @property
    def index(self) -> tuple[Aff, ...]:
        """Of an instance's first element."""
        return tuple(map(var, self.fragments.nest.iterators))

    @property
    def element(self) -> tuple[Aff, ...]:
        """Likewise, as matrices of the result's shape have it."""
        return tuple(self.index[p] for p in self.plan.whole)

    def phase(self, barriers: str, behind: int = 0) -> Phase:
        """The phase of a tile, or of one before by the same consumers; each set of them has a slot of its own."""
        if not self.turn:
            return Phase(barriers, aff(0), aff(0))
        turn, takers = var(self.turn), self.pieces.takers
        return Phase(barriers, turn % takers, turn // takers - behind)

    def brings(self, context: Set) -> tuple[Piece, Piece]:
        """All boxes of operands, by a thread that has a role of its own; and that they have come.

        In a persistent block this thread waits until their places are vacant.
        """
        phase, label = self.phase(OPERANDS.name), self.plan.outputs[0]
        expect = once(self.fragments, Arrive(phase, self.pieces.brought, self.name_of(f"expect_{label}")), context)
        copies = []
        for name, m in self.pieces.operands.items():
            s = self.name_of(f"box_{name}")
            op = BoxCopy(m.map.name, self.element, m.tile, ORIGIN, phase, self.slot, s)
            copies.append(Movement(s, self.fragments.nest.iterators, (op,), (), "boxes of operands -> shared memory"))
        names = [m.statement for m in copies]
        nest = self.fragments.nest
        warps = [Member(tuple((s, nest.members[k].of(nest.statement)) for s in names), True, None, True, level=WARP)
                 for k in self.warps()]  # fmt: skip
        node = self.bands(names, [warps, self.over_pieces(names)], in_order(names))
        node = Band((Member(tuple((s, aff(0)) for s in names), True, ONE_THREAD),), node)
        waits = Await(self.phase(VACANT, 1), self.name_of(f"vacant_{label}"))
        firsts = [*([once(self.fragments, waits, context)] if self.turn else []), expect]
        alone = [Filter(p.statements, Band((Member(((p.statements[0], aff(0)),), True, ONE_THREAD),))) for p in firsts]
        whole = InOrder((*alone, Filter(tuple(names), node)))
        extensions = (*(e for p in firsts for e in p.extensions), *(enters(self.coarse, s) for s in names))
        statements = (*(s for p in firsts for s in p.statements), *names)
        brought = Piece(statements, whole, extensions, (*(m for p in firsts for m in p.movements), *copies))
        return brought, once(self.fragments, Await(phase, self.name_of(f"operands_{label}")), context)

    def whole(self) -> Piece:
        """All statements, below bands of the warpgroups and of the pieces."""
        self.loads()
        label = self.plan.outputs[0]
        if self.pieces.take_turns:
            self.add(ONE_OF_WARPGROUP, f"drain_{label}", WaitStores(self.pieces.buffers - 1))
            self.add("", f"free_{label}", Barrier("warpgroup"))
        for name, m in self.pieces.operands.items():
            self.take(name, m)
        for array in dict.fromkeys(c.accumulator for c in self.plan.contractions):
            e = Element(accumulator_name(array), self.fragments.place)
            self.held[array, self.plan.whole] = e
            if array in self.plan.outputs:
                self.put(array, e, self.name_of(f"put_{array}"))
        for step in self.plan.steps:
            self.step(step)
        self.add("", f"fence_{label}", ProxyFence())
        self.add("", f"sync_{label}", Barrier("warpgroup"))
        for output, m in self.pieces.outputs.items():
            op = BoxStore(m.map.name, self.element, m.tile, ORIGIN, self.slot)
            self.add(ONE_OF_WARPGROUP, f"write_{output}", op, "pieces of the result -> global memory")
        self.add(ONE_OF_WARPGROUP, f"commit_{label}", CommitStores())
        return self.piece()

    # ---- statements

    def add(self, who: str, wish: str, op: Op, phrase: str = "") -> None:
        """One more statement about pieces, of the threads that a name says have number 0, or of all."""
        name = self.name_of(wish)
        self.group(who, Movement(name, self.fragments.nest.iterators, (replace(op, statement=name),), (), phrase))

    def group(self, kind: str, m: Movement) -> None:
        """One more statement, beside the last ones if these are of that kind, too."""
        if not self.groups or self.groups[-1][0] != kind or not kind:
            self.groups.append((kind, []))
        self.groups[-1][1].append(m)

    def fragment(self, statement: str, op: Op, phrase: str) -> None:
        """One more statement about fragments."""
        full = self.fragments.full if op.unguarded() != op else ()
        self.group(FRAGMENTS, Movement(statement, self.fragments.nest.iterators, (op,), full, phrase))

    def loads(self) -> None:
        """The operands of a piece that nobody brings, before anybody waits: they are under way meanwhile."""
        made = {c.accumulator for c in self.plan.contractions} | {s.statement.write.tensor for s in self.plan.steps}
        for step in self.plan.steps:
            for access in step.accesses:
                at = positions(step, access.index)
                comes = access.tensor in self.pieces.operands and at == self.plan.whole
                if access.tensor not in made and not comes:
                    self.load(access.tensor, at)

    def load(self, tensor: str, at: tuple[int, ...]) -> None:
        """An operand's values where accumulators are; one time for a piece what is the same in all its columns."""
        if (tensor, at) in self.held:
            return
        (i, j), (down, right) = self.index, self.makers.offset
        index = tuple((i + down, j + right, aff(0))[p] for p in at)
        added = tuple((f"d{d}", (*self.own.exprs, aff(0))[p]) for d, p in enumerate(at))
        wide = 1 in at
        array = self.array(tensor, self.tensors[tensor].kind, self.each if wide else 1)
        target = self.held[tensor, at] = Element(array, (self.fragments.place[1] % self.each if wide else aff(0),))
        statement, guarded = self.name_of(f"read_{tensor}"), bool(self.fragments.full)
        op = GlobalLoad(target, tensor, index, None, guarded, statement, IndexMap(self.own.inputs, added))
        phrase = "global memory -> registers"
        if wide:
            self.fragment(statement, op, phrase)
        else:
            self.group("", Movement(statement, self.fragments.nest.iterators, (op,), self.fragments.full, phrase))

    def take(self, tensor: str, m: Boxed) -> None:
        """An operand's values that were brought."""
        array = self.array(tensor, self.tensors[tensor].kind, 1)
        target = self.held[tensor, self.plan.whole] = Element(array, (aff(0),))
        stored, statement = stored_fragment(m.boxes, self.makers.columns), self.name_of(f"take_{tensor}")
        op = LoadMatrix(target, m.tile, self.local, "c", stored.own, stored.lines, stored.count, m.boxes.transposed,
                        self.slot, statement=statement)  # fmt: skip
        self.fragment(statement, op, "pieces of operands -> registers")

    def array(self, tensor: str, kind: str, count: int) -> str:
        """Registers for values of a tensor."""
        name = free_name(fragment_name(tensor), self.registers)
        self.registers[name] = RegisterArray(name, kind, (count,))
        return name

    def step(self, step: Step) -> None:
        """A pointwise statement on a fragment; stored if it is an output."""
        s, result = step.statement, step.statement.write.tensor
        operands = [self.held[a.tensor, positions(step, a.index)] for a in step.accesses]
        if self.plan.only_stores(step):
            self.held[result, self.plan.whole] = operands[0]
            self.put(result, operands[0], s.name)
            return
        target = self.held[result, self.plan.whole] = Element(self.array(result, "float", 1), (aff(0),))
        called = operation_name(step.formula, "epilogue", step.name)
        op = Pointwise(target, called, step.formula, (*operands, *step.scalars), None, s.name)
        self.fragment(s.name, op, called)
        if result in self.plan.outputs:
            self.put(result, target, self.name_of(f"put_{result}"))

    def put(self, output: str, source: Element, statement: str) -> None:
        """A fragment into its piece."""
        m = self.pieces.outputs[output]
        stored = stored_fragment(m.boxes, self.makers.columns)
        op = StoreMatrix(source, m.tile, self.local, stored.own, stored.lines, stored.count, m.boxes.transposed,
                         self.slot, m.boxes.store, statement)  # fmt: skip
        self.fragment(statement, op, "accumulators -> pieces of the result")

    # ---- where pieces are

    @property
    def local(self) -> tuple[Aff, Aff]:
        """The first element of a warp's fragment in its piece."""
        down, right = self.makers.offset
        return down, right + self.index[1] % self.columns

    @property
    def slot(self) -> Aff:
        """The place of a piece: those of a warpgroup take turns in the order in which the tree has the pieces."""
        warpgroup, nest = aff(0), self.fragments.nest
        for k in self.warps():
            high = interval(nest.members[k].of(nest.statement), {})[1] or 0
            warpgroup = (high + 1) * warpgroup + nest.members[k].of(nest.statement)
        if self.pieces.takers > 1:
            warpgroup = warpgroup + self.pieces.warpgroups * (var(self.turn) % self.pieces.takers)
        return self.pieces.buffers * warpgroup + self.number() % self.pieces.buffers

    def number(self) -> Aff:
        """The number of a piece among all of its warpgroup, in the order of the tree's loops."""
        total = aff(0)
        for k in self.loops():
            e, count = self.place(k, self.fragments.nest)
            total = count * total + e
        return total

    # ---- the tree

    def warps(self) -> list[int]:
        """The members over a block's warpgroups."""
        nest = self.fragments.nest
        return [k for k in nest.between(TILE, WARP) if nest.members[k].of(nest.statement).names()]

    def loops(self) -> list[int]:
        """The members over a warpgroup's pieces."""
        nest = self.fragments.nest
        return [k for k in nest.below(WARP) if self.place(k, nest)[1] > 1]

    def place(self, k: int, nest: Nest) -> tuple[Aff, int]:
        """Which piece a fragment is in, by a member of its schedule, counted from 0; and how many there are.

        BAND: j - 256*floor(j/256) => floor(j/64) - 4*floor(j/256)
        """
        shape = self.fragments.shape[0], self.columns
        counted, back = ({i: f(n, i) for i, n in zip(nest.iterators, shape)} for f in (_times, _over))
        e = simplify(nest.members[k].of(nest.statement), {}, counted)
        step = gcd(*(c for _, c in e.terms))
        low, high = interval(e, {})
        if low != 0 or high is None:
            raise CannotPromote(f"the loop over {e} of a warpgroup's pieces has no end")
        if not e.terms:
            return aff(0), 1
        return simplify(Aff(tuple((a, c // step) for a, c in e.terms)), {}, back), high // step + 1

    def piece(self) -> Piece:
        """BAND of the warpgroups, BAND of the pieces, SEQUENCE of the groups."""
        nest, names = self.fragments.nest, [m.statement for _, ms in self.groups for m in ms]
        own = self.own_nests(names)
        warps = [replace(nest.members[k], exprs=tuple((s, n.members[k].of(n.statement)) for s, n in own))
                 for k in self.warps()]  # fmt: skip
        groups = tuple(Filter(tuple(m.statement for m in ms), self.below(kind, ms)) for kind, ms in self.groups)
        node = self.bands(names, [warps, self.over_pieces(names)], InOrder(groups))
        extensions = []
        for kind, movements in self.groups:
            of = self.fragments if kind == FRAGMENTS else self.coarse
            extensions += [enters(of, m.statement) for m in movements if m.statement not in self.nests]
        movements = tuple(m for _, ms in self.groups for m in ms)
        barriers = (replace(OPERANDS, slots=self.pieces.takers),) if self.pieces.operands else ()
        if barriers and self.turn:
            barriers += (PhaseBarriers(VACANT, 0, self.pieces.takers, self.pieces.warpgroups),)
        registers = tuple(self.registers.values())
        return Piece(tuple(names), node, tuple(extensions), movements, self.pieces.tiles, registers, self.pieces.maps,
                     barriers)  # fmt: skip

    def own_nests(self, names: Sequence[str]) -> list[tuple[str, Nest]]:
        """Statements with their schedules; that of twins is the result's."""
        return [(s, self.nests.get(s, self.fragments.nest)) for s in names]

    def over_pieces(self, names: Sequence[str]) -> list[Member]:
        """The members over a warpgroup's pieces."""
        return [Member(tuple((s, self.place(k, n)[0]) for s, n in self.own_nests(names)), True, None, True, level=POINT)
                for k in self.loops()]  # fmt: skip

    def bands(self, names: Sequence[str], members: Sequence[Sequence[Member]], node: Node) -> Node:
        """Bands around a node, the first one outermost; none where there are no members."""
        for some in reversed(members):
            node = Band(tuple(some), node) if some else node
        return node

    def below(self, kind: str, movements: list[Movement]) -> Node:
        """What stands below the filter of a group."""
        names = [m.statement for m in movements]
        if not kind:
            return in_order(names)
        if kind != FRAGMENTS:
            return Band((Member(tuple((s, aff(0)) for s in names), True, kind),), in_order(names))
        columns = [(s, var(n.iterators[1])) for s, n in self.own_nests(names)]
        exprs = tuple((s, j - self.columns * (j // self.columns)) for s, j in columns)
        return Band((Member(exprs, True, None, True, level=POINT),), in_order(names))


def in_order(names: Sequence[str]) -> Node:
    """Statements one after the other."""
    return InOrder(tuple(Filter((s,)) for s in names)) if len(names) > 1 else Leaf()


def _times(count: int, i: str) -> Aff:
    return count * var(i)


def _over(count: int, i: str) -> Aff:
    return var(i) // count
