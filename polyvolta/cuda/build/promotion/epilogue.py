"""The epilogue: from accumulators to global memory, with pointwise operations on the way.

Its statements are twins of the result, so it is one loop over the fragments of a warp. For each fragment every
accumulator goes through the warp's exchange buffer. After that each lane holds *runs* of 8 consecutive values of the
result, `run_<array>`, in as many rounds as a lane's share of a fragment has runs. The other operands of the pointwise
operations are loaded in the same distribution, with 128-bit accesses where they lie so in memory, before the exchange
hides their latency; results are stored likewise (the paper's "Pointwise Operations in Epilogue").

Where the interleave of the macro-MMA gives each lane whole runs to begin with, there is nothing to exchange: a lane
takes them out of its own fragment, in fp32, and neither shared memory nor a barrier is needed. All else is the same.

With a split K, which wants the exchange in any case, each of the p warps along z has a part of the sum. All of them
store it to the exchange; those with warpIdx_z = 0 add the parts and do the rest (the paper's "Split-K Reduction").

A result that is only stored is exchanged in 16 bits, as stored: a product's, or a sum's that one accumulator holds,
whose pointwise statement is the store then. Anything else stays in fp32 from the accumulators to the stores: an output
is rounded on the way to memory, what a later operation uses is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from polyvolta.cuda.build.promotion.makers import ONE_WARP, Makers
from polyvolta.cuda.build.promotion.model import Movement, Nest, Piece, accumulator_name, free_name, operation_name
from polyvolta.cuda.build.promotion.result import Fragments, enters, over_fragments
from polyvolta.cuda.ir.kernel_ir import (
    Barrier,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    Loop,
    Op,
    Pointwise,
    RegisterArray,
    Runs,
    SharedTile,
    TakeRun,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.exchange import plan_exchange
from polyvolta.cuda.layouts.runs import plan_runs
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.plans.plans import Plan, Step
from polyvolta.graph.statements import Access
from polyvolta.sched.nodes import Band, Filter, Leaf, Member, Node
from polyvolta.sched.nodes import Sequence as InOrder
from polyvolta.sets import Aff, aff, var

EXCHANGE = "exchange"
ROUND = "round"


def run_name(array: str) -> str:
    """The register array of an array's runs of 8 values."""
    return f"run_{array}"


def epilogue(
    plan: Plan,
    fragments: Fragments,
    nests: Mapping[str, Nest],
    tensors: Mapping[str, GlobalTensor],
    macro: MacroMma,
    warps: tuple[int, int, int],
    name_of: Callable[[str], str],
    makers: Makers = ONE_WARP,
    takers: int = 1,
) -> Piece:
    """The part of a block's program behind the last product.

    Parameters
    ----------
    fragments : of the result.
    nests : for each pointwise statement its schedule.
    tensors : the kernel's tensors.
    macro : the macro-MMA, for its accumulator map.
    warps : of a block, along y, x and z; those along z have parts of the sum.
    name_of : makes a statement's name from a wish, one that nothing else has.
    makers : who has a fragment together.
    takers : how many sets of warps take turns at results, each with a buffer of its own.
    """
    kind = "float" if plan.computes or warps[2] > 1 else macro.kind
    order = plan.of_result(tensors[plan.outputs[0]].order)
    runs = plan_runs(macro, order) if warps[2] == 1 else None
    b = _Builder(plan, fragments, tensors, runs or plan_exchange(macro, kind, order), warps, name_of, makers)
    b.run()
    count = warps[0] * warps[1] * warps[2] * makers.warps * takers
    buffers = () if isinstance(b.runs, Runs) else (SharedTile(EXCHANGE, 0, count * b.runs.chunks),)
    twins = [m.statement for m in b.movements if m.statement not in nests]
    statements = tuple(m.statement for m in b.movements)
    node = over_fragments(fragments, statements, b.sequence(), nests)
    extensions = tuple(enters(fragments, s) for s in twins)
    return Piece(statements, node, extensions, tuple(b.movements), buffers, tuple(b.registers.values()))


@dataclass(slots=True)
class _Builder:
    """The epilogue's movements in order, and whether the warps of all parts do them or those of the first alone.

    `runs` says how lanes come to their runs, and what these are; `held` which registers have the runs of what.
    """

    plan: Plan
    fragments: Fragments
    tensors: Mapping[str, GlobalTensor]
    runs: Exchange | Runs
    warps: tuple[int, int, int]
    name_of: Callable[[str], str]
    makers: Makers = ONE_WARP
    movements: list[Movement] = field(default_factory=list)
    first_part: list[bool] = field(default_factory=list)
    registers: dict[str, RegisterArray] = field(default_factory=dict)
    held: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def run(self) -> None:
        """Loads, exchanges, steps and stores of a fragment."""
        plan = self.plan
        made = list(dict.fromkeys(c.accumulator for c in plan.contractions))
        results = {*made, *(s.statement.write.tensor for s in plan.steps)}
        for step in plan.steps:
            for access in step.accesses:
                if access.tensor not in results:
                    self.load(step, access)
        for array in made:
            if isinstance(self.runs, Runs):
                self.taken(array, self.runs)
                continue
            self.exchanged(array, self.runs)
            if array != made[-1]:
                self.barrier(f"free_{array}")
        for step in plan.steps:
            self.step(step)
        if not isinstance(self.runs, Runs):
            self.barrier(f"free_{made[-1]}")

    # ---- statements

    def add(self, statement: str, ops: Sequence[Op | Loop], phrase: str, everyone: bool = False) -> None:
        """One more movement, of the warps that have the first part of the sum or of everyone."""
        full = self.fragments.full if any(op.unguarded() != op for op in operations(tuple(ops))) else ()
        self.movements.append(Movement(statement, self.fragments.nest.iterators, tuple(ops), full, phrase))
        self.first_part.append(not everyone and self.warps[2] > 1)

    def load(self, step: Step, access: Access) -> None:
        """The operand's values where the lane's runs are."""
        index = tuple(_position(step, p) for p in access.index)
        key = (access.tensor, tuple(map(str, index)))
        if key in self.held:
            return
        array = self.held[key] = self.run_of(access.tensor)
        statement = self.name_of(f"read_{access.tensor}")
        along = next((d for d, p in enumerate(index) if p == self.runs.along), None)
        guarded = bool(self.fragments.full)

        def one(r: Aff) -> Op:
            at = (*self.place(r), aff(0))
            place = tuple(at[p] for p in index)
            return GlobalLoad(self.element(array, r), access.tensor, place, along, guarded, statement)

        moves = any(ROUND in e.names() for e in one(var(ROUND)).index)  # type: ignore[union-attr]
        count = self.runs.rounds if moves else 1
        self.array(array, self.tensors[access.tensor].kind, count)
        self.add(statement, self.rounds(one, count), "global memory -> registers")

    def taken(self, array: str, runs: Runs) -> None:
        """The runs of one accumulator, which its lanes have; stored if it is an output."""
        source = Element(accumulator_name(array), self.fragments.place)
        target = self.held[array, self.whole] = self.run_of(array)
        self.array(target, "float", runs.rounds)
        statement = self.name_of(f"take_{array}")

        def one(r: Aff) -> Op:
            return TakeRun(self.element(target, r), source, runs, r, statement)

        self.add(statement, self.rounds(one), "accumulators -> runs")
        if array in self.plan.outputs:
            self.store(array, target, self.name_of(f"write_{array}"))

    def exchanged(self, array: str, exchange: Exchange) -> None:
        """One accumulator into runs, through shared memory; stored if it is an output."""
        parts = self.warps[2]
        slot, stride = var("warp"), self.warps[0] * self.warps[1] * self.makers.warps
        source = Element(accumulator_name(array), self.fragments.place)
        store, load = self.name_of(f"exchange_{array}"), self.name_of(f"gather_{array}")
        self.add(store, [ExchangeStore(source, EXCHANGE, slot, exchange, store)], "accumulators -> exchange", True)
        self.barrier(f"sync_{array}")
        target = self.held[array, self.whole] = self.run_of(array)
        self.array(target, exchange.kind, exchange.rounds)

        def one(r: Aff) -> Op:
            step = stride if parts > 1 else 0
            return ExchangeLoad(self.element(target, r), EXCHANGE, slot, exchange, r, parts, step, load)

        phrase = "exchange -> runs" if parts == 1 else "the parts of a split K added up"
        self.add(load, self.rounds(one), phrase)
        if array in self.plan.outputs:
            self.store(array, target, self.name_of(f"write_{array}"))

    def step(self, step: Step) -> None:
        """A pointwise statement on the runs; stored if it is an output."""
        s, result = step.statement, step.statement.write.tensor
        arrays = [self.held[a.tensor, tuple(str(_position(step, p)) for p in a.index)] for a in step.accesses]
        if self.plan.only_stores(step):
            self.held[result, self.whole] = arrays[0]
            self.store(result, arrays[0], s.name)
            return
        target = self.held[result, self.whole] = self.run_of(result)
        self.array(target, "float", self.runs.rounds)
        name = operation_name(step.formula, "epilogue", step.name)

        def one(r: Aff) -> Op:
            operands = (*(self.element(a, r) for a in arrays), *step.scalars)
            return Pointwise(self.element(target, r), name, step.formula, operands, None, s.name)

        self.add(s.name, self.rounds(one), name)
        if result in self.plan.outputs:
            self.store(result, target, self.name_of(f"write_{result}"))

    def store(self, output: str, run: str, statement: str) -> None:
        """Runs to global memory."""
        guarded = bool(self.fragments.full)

        def one(r: Aff) -> Op:
            at, along = self.place(r), self.plan.whole.index(self.runs.along)
            index = tuple(at[p] for p in self.plan.whole)
            return GlobalStore(self.element(run, r), output, index, along, guarded, statement)

        self.add(statement, self.rounds(one), "runs -> global memory")

    def barrier(self, wish: str) -> None:
        """What is in the exchange can be read, or has been."""
        statement = self.name_of(wish)
        self.add(statement, [Barrier("warp" if self.warps[2] == 1 else self.makers.everyone, statement)], "", True)

    # ---- parts of statements

    @property
    def whole(self) -> tuple[str, ...]:
        """The index of a result's elements, as `_position` has it."""
        return tuple(map(str, self.plan.whole))

    def run_of(self, array: str) -> str:
        """A register array for runs of an array."""
        return free_name(run_name(array), self.registers)

    def array(self, name: str, kind: str, rounds: int) -> None:
        self.registers[name] = RegisterArray(name, kind, (rounds,))

    def element(self, array: str, r: Aff) -> Element:
        """The run of a round; there is one for all rounds of what is the same in all of them."""
        made = self.registers.get(array)
        return Element(array, (aff(0) if made is not None and made.shape == (1,) else r,))

    def rounds(self, one: Callable[[Aff], Op], count: int | None = None) -> list[Op | Loop]:
        """An operation for every round, or for so many."""
        count = count or self.runs.rounds
        if count == 1:
            return [one(aff(0))]
        return [Loop(ROUND, (aff(0),), (aff(count - 1),), 1, True, (one(var(ROUND)),))]

    def place(self, r: Aff) -> tuple[Aff, Aff]:
        """The element at which the lane's run of a round starts."""
        row, col = self.runs.owns.at(var("lane"), r)
        i, j = self.fragments.nest.iterators
        down, right = self.makers.offset
        return var(i) + down + row, var(j) + right + col

    def sequence(self) -> Node:
        """The statements of a fragment in order; neighbours for the first part's warps alone stand below one band."""
        children: list[Filter] = []
        names = [m.statement for m in self.movements]
        k = 0
        while k < len(names):
            end = k + 1
            while self.first_part[k] and end < len(names) and self.first_part[end]:
                end += 1
            group = tuple(names[k:end])
            children.append(Filter(group, self.first(group) if self.first_part[k] else Leaf()))
            k = end
        return InOrder(tuple(children))

    def first(self, group: tuple[str, ...]) -> Node:
        """BAND: ... -> warpIdx_z, or warpgroupIdx_z, at 0."""
        below = InOrder(tuple(Filter((s,)) for s in group)) if len(group) > 1 else Leaf()
        return Band((Member(tuple((s, aff(0)) for s in group), True, self.makers.names[2]),), below)


def _position(step: Step, index: str) -> int:
    """Which coordinate of the result an index of an access is: 0, 1, or 2 for the number 0."""
    return step.statement.iterators.index(index) if index in step.statement.iterators else 2
