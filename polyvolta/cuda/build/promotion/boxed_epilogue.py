"""The epilogue of warpgroups: from accumulators through shared memory to the copy engine, piece by piece.

A warpgroup's result, 64 rows of it, goes in *pieces* of as many columns as one box takes. For each of them

    read_bias    operands of pointwise operations, each value where its accumulator is
    drain_D      one thread waits until the engine has read the piece's buffer
    free_D       and all of the warpgroup for that thread
    S2, put_D    for each fragment of 16 columns: pointwise operations in registers, `stmatrix`
    fence_D      what was stored is there for the engine
    sync_D       and so is what all others stored
    write_D      one thread has the box stored
    commit_D

The tree has a band of pieces, and below it a sequence whose filters are about whole pieces or have a band of fragments of
their own. All are twins of the result: instances of the former at the pieces' base points, of the latter at the
fragments'.

A warpgroup has two buffers for each output, pieces take turns: the engine reads one while the other is filled. Where
there isn't room, it has one. What of a box is outside of its tensor the engine leaves out, so that stores need no
guards, and there are no versions for full and for partial tiles but where operands are loaded.

Which chunk is whose is `layouts.result_boxes`: the map by which fragments are stored is proved to be the one by which
the box is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import gcd

from polyvolta.cuda.build.promotion.boxed import ONE_OF_WARPGROUP
from polyvolta.cuda.build.promotion.footprints import instances
from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.build.promotion.model import (
    BLOCK,
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
    shared_name,
)
from polyvolta.cuda.build.promotion.nests import level, members_of
from polyvolta.cuda.build.promotion.result import Fragments, coarser, enters
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK_BYTES,
    Barrier,
    BoxMap,
    BoxStore,
    CommitStores,
    Element,
    GlobalLoad,
    GlobalTensor,
    Op,
    Pointwise,
    ProxyFence,
    RegisterArray,
    SharedTile,
    StoreMatrix,
    WaitStores,
)
from polyvolta.cuda.ir.warpgroups import WARPS
from polyvolta.cuda.layouts.result_boxes import ResultBoxes, StoredFragment, plan_result, stored_fragment
from polyvolta.cuda.target.boxes import CHUNK
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.plans.plans import Plan, Step
from polyvolta.graph.statements import Access
from polyvolta.sched.nodes import Band, Filter, Leaf, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.values.simplify import interval, simplify

BUFFERS = 2
"""Of a warpgroup for each output: while the copy engine reads a piece, the next one is stored."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """How the outputs of a plan are stored.

    Parameters
    ----------
    boxes : for each output, its pieces; all of one shape.
    buffers : of a warpgroup for each output.
    """

    boxes: Mapping[str, ResultBoxes]
    buffers: int

    @property
    def columns(self) -> int:
        return next(iter(self.boxes.values())).shape[1]


def pieces_of(
    plan: Plan,
    tensors: Mapping[str, GlobalTensor],
    macro: MacroMma,
    makers: Makers,
    units: tuple[int, int, int],
    room: int,
) -> Pieces | None:
    """How a plan's outputs are stored by boxes; None where threads store them.

    That is where no warpgroup has all of a sum, where an output's lines don't start at multiples of 16 bytes, and where
    there isn't room.

    Parameters
    ----------
    macro : of the products; all have its accumulators' map.
    room : bytes of shared memory that are left.
    """
    if not makers.columns or units[2] > 1 or any(tensors[name].align < CHUNK for name in plan.outputs):
        return None
    boxes = {name: plan_result(macro.instruction, tensors[name].order) for name in plan.outputs}
    columns = gcd(*(b.shape[1] for b in boxes.values()))
    if columns % makers.columns:
        return None
    boxes = {name: plan_result(macro.instruction, b.order, columns) for name, b in boxes.items()}
    size = units[0] * units[1] * CHUNK_BYTES * sum(_chunks(b) for b in boxes.values())
    buffers = min(BUFFERS, room // size)
    return Pieces(boxes, buffers) if buffers else None


def _chunks(b: ResultBoxes) -> int:
    """Of a piece in shared memory; the next one starts where a swizzle's pattern does."""
    chunks = b.shape[0] * b.shape[1] // CHUNK
    return -(-chunks // b.align) * b.align


def boxed_epilogue(
    plan: Plan,
    fragments: Fragments,
    nests: Mapping[str, Nest],
    tensors: Mapping[str, GlobalTensor],
    pieces: Pieces,
    units: tuple[int, int, int],
    own: IndexMap,
    name_of: Callable[[str], str],
    makers: Makers,
    context: Set,
) -> tuple[Piece, Piece, Fragments]:
    """The part of a block's program behind the last product.

    Parameters
    ----------
    fragments : of the result, each of `makers.columns` columns.
    nests : for each pointwise statement its schedule.
    pieces : how outputs are stored.
    units : warpgroups of a block, along y and x.
    own : { [lane, i] -> [row, col] }, what a warp's lanes have of a fragment, from its first row on.
    name_of : makes a statement's name from a wish, one that nothing else has.
    context : what may be assumed of the sizes.

    Returns
    -------
    The stores of all pieces; the wait for their end; the points at which boxes are stored.

    Raises
    ------
    CannotPromote : the pieces of a warpgroup can't be counted.
    """
    b = _Builder(plan, fragments, nests, tensors, pieces, units[0] * units[1], own, name_of, makers)
    return b.whole(), b.end(context), b.coarse


@dataclass(slots=True)
class _Builder:
    """The epilogue's statements in order: `groups` of them, each for pieces as a whole or for fragments.

    `held` says which registers have what, by array and index.
    """

    plan: Plan
    fragments: Fragments
    nests: Mapping[str, Nest]
    tensors: Mapping[str, GlobalTensor]
    pieces: Pieces
    warpgroups: int
    own: IndexMap
    name_of: Callable[[str], str]
    makers: Makers
    groups: list[tuple[str, list[Movement]]] = field(default_factory=list)
    registers: dict[str, RegisterArray] = field(default_factory=dict)
    held: dict[tuple[str, tuple[str, ...]], Element] = field(default_factory=dict)

    # ---- what there is

    @property
    def coarse(self) -> Fragments:
        """Pieces as fragments: one instance for each."""
        return coarser(self.fragments, self.pieces.columns)

    @property
    def each(self) -> int:
        """Fragments of a piece."""
        return self.pieces.columns // self.makers.columns

    def whole(self) -> Piece:
        """All statements, below bands of the warpgroups and of the pieces."""
        self.loads()
        label = self.plan.outputs[0]
        self.add(ONE_OF_WARPGROUP, f"drain_{label}", WaitStores(self.pieces.buffers - 1))
        self.add("", f"free_{label}", Barrier("warpgroup"))
        for array in dict.fromkeys(c.accumulator for c in self.plan.contractions):
            e = Element(accumulator_name(array), self.fragments.place)
            self.held[array, ("0", "1")] = e
            if array in self.plan.outputs:
                self.put(array, e, self.name_of(f"put_{array}"))
        for step in self.plan.steps:
            self.step(step)
        self.add("", f"fence_{label}", ProxyFence())
        self.add("", f"sync_{label}", Barrier("warpgroup"))
        for output in self.plan.outputs:
            index = tuple(var(i) for i in self.fragments.nest.iterators)
            op = BoxStore(map_name(output), index, shared_name(output), (aff(0), aff(0)), self.slot)
            self.add(ONE_OF_WARPGROUP, f"write_{output}", op, "pieces of the result -> global memory")
        self.add(ONE_OF_WARPGROUP, f"commit_{label}", CommitStores())
        return self.piece()

    def end(self, context: Set) -> Piece:
        """One thread of each warpgroup waits until its pieces have been read: shared memory is there as long as that."""
        nest, statement = self.fragments.nest, self.name_of(f"end_{self.plan.outputs[0]}")
        named = level(nest, BLOCK)
        dims = tuple(n for n, _ in named)
        blocks = self.fragments.started.apply(members_of(nest, named)).coalesce()
        extension = instances(statement, dims, nest.above(BLOCK), blocks, (), context)
        node = Band((Member(((statement, aff(0)),), True, ONE_OF_WARPGROUP),))
        return Piece((statement,), node, (extension,), (Movement(statement, dims, (WaitStores(0, statement),)),))

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
        """The operands of a piece, before anybody waits: they are under way meanwhile."""
        made = {c.accumulator for c in self.plan.contractions} | {s.statement.write.tensor for s in self.plan.steps}
        for step in self.plan.steps:
            for access in step.accesses:
                if access.tensor not in made:
                    self.load(step, access)

    def load(self, step: Step, access: Access) -> None:
        """The operand's values where accumulators are; one time for a piece what is the same in all its columns."""
        positions = tuple(_position(step, p) for p in access.index)
        key = (access.tensor, tuple(map(str, positions)))
        if key in self.held:
            return
        (i, j), (down, right) = self.fragments.nest.iterators, self.makers.offset
        index = tuple((var(i) + down, var(j) + right, aff(0))[p] for p in positions)
        added = tuple((f"d{d}", (*self.own.exprs, aff(0))[p]) for d, p in enumerate(positions))
        own = IndexMap(self.own.inputs, added)
        wide, name = 1 in positions, free_name(fragment_name(access.tensor), self.registers)
        count = self.each if wide else 1
        self.registers[name] = RegisterArray(name, self.tensors[access.tensor].kind, (count,))
        at = self.held[key] = Element(name, (self.fragments.place[1] % self.each if wide else aff(0),))
        statement = self.name_of(f"read_{access.tensor}")
        op = GlobalLoad(at, access.tensor, index, None, bool(self.fragments.full), statement, own)
        phrase = "global memory -> registers"
        if wide:
            self.fragment(statement, op, phrase)
        else:
            self.group("", Movement(statement, self.fragments.nest.iterators, (op,), self.fragments.full, phrase))

    def step(self, step: Step) -> None:
        """A pointwise statement on a fragment; stored if it is an output."""
        s, result = step.statement, step.statement.write.tensor
        operands = [self.held[a.tensor, tuple(str(_position(step, p)) for p in a.index)] for a in step.accesses]
        if self.plan.only_stores(step):
            self.held[result, ("0", "1")] = operands[0]
            self.put(result, operands[0], s.name)
            return
        name = free_name(fragment_name(result), self.registers)
        self.registers[name] = RegisterArray(name, "float", (1,))
        target = self.held[result, ("0", "1")] = Element(name, (aff(0),))
        called = operation_name(step.formula, "epilogue", step.name)
        op = Pointwise(target, called, step.formula, (*operands, *step.scalars), None, s.name)
        self.fragment(s.name, op, called)
        if result in self.plan.outputs:
            self.put(result, target, self.name_of(f"put_{result}"))

    def put(self, output: str, source: Element, statement: str) -> None:
        """A fragment into its piece."""
        boxes = self.pieces.boxes[output]
        stored = self.stored(boxes)
        j = var(self.fragments.nest.iterators[1])
        origin = (self.makers.offset[0], self.makers.offset[1] + j % self.pieces.columns)
        op = StoreMatrix(source, shared_name(output), origin, stored.own, stored.lines, stored.count, boxes.transposed,
                         self.slot, boxes.store, statement)  # fmt: skip
        self.fragment(statement, op, "accumulators -> pieces of the result")

    def stored(self, boxes: ResultBoxes) -> StoredFragment:
        return stored_fragment(boxes, self.makers.columns)

    # ---- where pieces are

    @property
    def slot(self) -> Aff:
        """The buffer of a piece: those of a warpgroup take turns in the order in which the tree has the pieces."""
        buffers = self.pieces.buffers
        return buffers * (var("warp") // WARPS) + self.number() % buffers

    def number(self) -> Aff:
        """The number of a piece among all of its warpgroup, in the order of the tree's loops."""
        total = aff(0)
        for k in self.loops():
            e, count = self.place(k, self.fragments.nest)
            total = count * total + e
        return total

    # ---- the tree

    def loops(self) -> list[int]:
        """The members over a warpgroup's pieces."""
        nest = self.fragments.nest
        return [k for k in nest.below(WARP) if self.place(k, nest)[1] > 1]

    def place(self, k: int, nest: Nest) -> tuple[Aff, int]:
        """Which piece a fragment is in, by a member of its schedule, counted from 0; and how many there are.

        BAND: j - 256*floor(j/256) => floor(j/64) - 4*floor(j/256)
        """
        shape = self.fragments.shape[0], self.pieces.columns
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
        own = {s: self.nests.get(s, nest) for s in names}
        says = [k for k in nest.between(TILE, WARP) if nest.members[k].of(nest.statement).names()]
        warps = [replace(nest.members[k], exprs=tuple((s, n.members[k].of(n.statement)) for s, n in own.items()))
                 for k in says]  # fmt: skip
        pieces = [Member(tuple((s, self.place(k, n)[0]) for s, n in own.items()), True, None, True, level=POINT)
                  for k in self.loops()]  # fmt: skip
        node: Node = InOrder(tuple(Filter(tuple(m.statement for m in ms), self.below(kind, ms)) for kind, ms in self.groups))
        for members in (pieces, warps):
            node = Band(tuple(members), node) if members else node
        extensions = []
        for kind, movements in self.groups:
            of = self.fragments if kind == FRAGMENTS else self.coarse
            extensions += [enters(of, m.statement) for m in movements if m.statement not in self.nests]
        movements = tuple(m for _, ms in self.groups for m in ms)
        registers = tuple(self.registers.values())
        maps = tuple(BoxMap(map_name(name), name, b.box) for name, b in self.pieces.boxes.items())
        return Piece(tuple(names), node, tuple(extensions), movements, self.tiles(), registers, maps)

    def below(self, kind: str, movements: list[Movement]) -> Node:
        """What stands below the filter of a group."""
        names = [m.statement for m in movements]
        inner: Node = InOrder(tuple(Filter((s,)) for s in names)) if len(names) > 1 else Leaf()
        if not kind:
            return inner
        if kind != FRAGMENTS:
            return Band((Member(tuple((s, aff(0)) for s in names), True, kind),), inner)
        width, exprs = self.pieces.columns, []
        for s in names:
            j = var((self.nests.get(s) or self.fragments.nest).iterators[1])
            exprs.append((s, j - width * (j // width)))
        return Band((Member(tuple(exprs), True, None, True, level=POINT),), inner)

    def tiles(self) -> tuple[SharedTile, ...]:
        """The buffers of all outputs, one behind the other."""
        out, start = [], 0
        for output, b in self.pieces.boxes.items():
            count = self.pieces.buffers * self.warpgroups
            out.append(SharedTile(shared_name(output), start, _chunks(b), b.layout, b.order, count))
            start += count * _chunks(b)
        return tuple(out)


FRAGMENTS = "fragments"
"""A group of statements that are about fragments; others have the name of a thread's number, or none."""


def map_name(tensor: str) -> str:
    """The argument of the kernel that has a tensor's map."""
    return f"map_{tensor}"


def _times(count: int, i: str) -> Aff:
    return count * var(i)


def _over(count: int, i: str) -> Aff:
    return var(i) // count


def _position(step: Step, index: str) -> int:
    """Which coordinate of the result an index of an access is: 0, 1, or 2 for the number 0."""
    return step.statement.iterators.index(index) if index in step.statement.iterators else 2
