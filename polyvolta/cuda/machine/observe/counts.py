"""What a run costs: warp instructions by kind, bytes on every level of memory, floating-point operations.

Counted, as machine instructions of a warp: loads and stores of global and of shared memory by width, copies from the
one to the other, loads of matrices, tensor-core instructions (an instruction of PTX may take several issue slots: its
`slots`), barriers, conversions between 16-bit values and fp32, pointwise arithmetic (each operation of a formula, a
function of the mathematics library as one), and the zeros that accumulators start from, a register each. Not counted:
addresses, predicates and the control of loops, moves and byte permutations between registers. So `issued` is what the
computation itself needs, a lower bound of what is issued.

Of a k tile the issue slots tell what limits the kernel: a scheduler issues one instruction of a warp in a cycle, and
shared memory serves one phase in a cycle, whose number bank conflicts raise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.accesses import ARITHMETIC, CLEAR, CONVERT, Work
from polyvolta.cuda.ir.engines.unfolded import OF_BLOCK
from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Op
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.observe.coalescing import amount
from polyvolta.cuda.machine.observe.observer import Finding, Observer
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import SECTOR, Accesses
from polyvolta.cuda.machine.reach import EngineReach, Mask
from polyvolta.cuda.text.places import Places

HMMA = "HMMA"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
LETTERS = {("global", "read"): "LDG", ("global", "write"): "STG", ("shared", "read"): "LDS", ("shared", "write"): "STS"}
MEANING = {
    HMMA: "tensor cores",
    CONVERT: "conversions between 16-bit values and fp32",
    ARITHMETIC: "pointwise arithmetic in fp32",
    CLEAR: "zeros of accumulators",
    "BAR.SYNC": "block barriers",
    "WARPSYNC": "warp barriers",
    "LDG": "loads from global memory",
    "STG": "stores to global memory",
    "LDS": "loads from shared memory",
    "STS": "stores to shared memory",
    "LDSM": "matrices from shared memory",
    "LDGSTS": "copies from global to shared memory",
    "LDGDEPBAR": "groups of copies that are closed",
    "DEPBAR": "waits for copies",
    "STSM": "matrices to shared memory",
    "SYNCS": "arrivals in phases, and waits for them",
    "UTMALDG": "boxes to shared memory",
    "UTMASTG": "boxes from shared memory",
    "WARPGROUP.ARRIVE": "fences of registers before products",
    "WARPGROUP.DEPBAR": "waits for products",
    "FENCE.VIEW.ASYNC": "fences of what engines read",
}


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes between one level of memory and the threads.

    Parameters
    ----------
    read, written : what lanes asked for.
    moved : of global memory, what sectors moved for both; elsewhere the same as asked for.
    """

    read: int
    written: int
    moved: int


@dataclass(frozen=True, slots=True, repr=False)
class Counts(Shown):
    """The costs of a run.

    Parameters
    ----------
    instructions : kind -> warp instructions, such as "LDG.128"; see the module for what counts.
    global_memory, shared_memory : their traffic.
    registers : operands and results of the tensor cores alone.
    flops : operations of the tensor cores, a multiply-add being two.
    useful_flops : of these what the products of the graph need, 2 M N K each; None if the graph isn't known.
    shared_cycles : how many times shared memory served.
    k_tiles : how many tiles along k all blocks went through, of loops along k alone.
    tensor_cores : kind -> what it is part of, of the instructions of tensor cores.
    k_issued, k_shared_cycles, k_hmma : what of the instructions, of the cycles and of HMMA falls into these loops.
    """

    instructions: Mapping[str, int]
    global_memory: Traffic
    shared_memory: Traffic
    registers: Traffic
    flops: int
    useful_flops: int | None
    shared_cycles: int
    k_tiles: int
    k_issued: int
    k_shared_cycles: int
    k_hmma: int
    tensor_cores: Mapping[str, str]

    @property
    def issued(self) -> int:
        """All warp instructions that are counted."""
        return sum(self.instructions.values())

    @property
    def hmma(self) -> int:
        """Those of the tensor cores."""
        return sum(n for kind, n in self.instructions.items() if kind in self.tensor_cores)

    @property
    def hmma_fraction(self) -> float:
        """Their part of the instructions."""
        return self.hmma / self.issued if self.issued else 0.0

    @property
    def intensity(self) -> float | None:
        """Useful operations for each byte that global memory moves."""
        return _ratio(self.useful_flops, self.global_memory.moved)

    @property
    def shared_intensity(self) -> float | None:
        """Useful operations for each byte that shared memory moves."""
        return _ratio(self.useful_flops, self.shared_memory.moved)

    def _meaning(self, kind: str) -> str:
        """What a kind of instruction is, in words."""
        if kind in self.tensor_cores:
            return f"{MEANING[HMMA]}, {self.tensor_cores[kind]}"
        return MEANING.get(kind, MEANING.get(kind.split(".")[0], ""))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return ()

    @property
    def tables(self) -> tuple[Table, ...]:
        instructions = tuple(
            (kind, f"{n:,}", f"{n / self.issued:.1%}", self._meaning(kind))
            for kind, n in sorted(self.instructions.items(), key=lambda x: -x[1])
        )
        levels = tuple(
            (name, amount(t.read), amount(t.written), amount(t.moved), "-" if per is None else f"{per:.1f}")
            for name, t, per in (
                ("global", self.global_memory, self.intensity),
                ("shared", self.shared_memory, self.shared_intensity),
                ("registers of tensor cores", self.registers, _ratio(self.useful_flops, self.registers.moved)),
            )
        )
        useful = "" if self.useful_flops is None else f", {self.useful_flops:,} of them useful"
        slots: list[tuple[str, float, float, float]] = [("the whole run", self.issued, self.hmma, self.shared_cycles)]
        if self.k_tiles:
            issued, hmma, cycles = (x / self.k_tiles for x in (self.k_issued, self.k_hmma, self.k_shared_cycles))
            slots.append(("a k tile of a block", issued, hmma, cycles))
        issue = tuple(
            (name, _number(issued), _number(hmma), f"{hmma / issued:.1%}" if issued else "-", _number(cycles))
            for name, issued, hmma, cycles in slots
        )
        return (
            Table("counts: instructions of warps", ("kind", ">count", ">part", "what"), instructions,
                  "Addresses, predicates, loop control and moves are not counted."),
            Table("counts: bytes", ("memory", ">read", ">written", ">moved", ">flop/byte"), levels,
                  f"{self.flops:,} floating-point operations{useful}."),
            Table("counts: issue slots", ("of", ">issued", ">HMMA", ">part", ">shared-memory cycles"), issue,
                  f"{self.k_tiles:,} k tiles." if self.k_tiles else ""),
        )  # fmt: skip


def _ratio(flops: int | None, count: int) -> float | None:
    return None if flops is None or not count else flops / count


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 or x == int(x) else f"{x:,.1f}"


class CountObserver(Observer):
    """Counts.

    Attributes
    ----------
    useful_flops : what the graph's products need; set by who knows the graph.
    """

    name = "counts"

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.useful_flops: int | None = None
        self.instructions: Counter[str] = Counter()
        self.traffic: Counter[tuple[str, str]] = Counter()
        self.works: dict[int, Work] = {}  # by the identity of an operation
        self.moved = self.cycles = self.flops = 0
        self.k_issued = self.k_cycles = self.k_hmma = self.k_tiles = 0
        self.tensor_cores: dict[str, str] = {}
        self.loop_of = _k_loops(ir)
        self.ops = {path: s for path, s in walk(ir.body) if isinstance(s, Op)}
        self.last: dict[tuple[IrPath, str], bytes] = {}  # by the loop and the block's rank
        self.counted: dict[tuple[IrPath, str], str] = {}  # likewise: whose trips are counted

    def start(self, m: Machine) -> None:
        self.last = {}

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        op, warps, again = self.ops.get(step.path), _warps(m, step.mask), m.unfolded.again(m.path)
        counted = Counter[str]() if op is None or again else self._register_work(op, warps)
        cycles = 0
        for a in accesses:
            if a.opcode:  # of several accesses with it one instruction
                counted[a.opcode] = max(counted[a.opcode], a.requests)
            else:
                counted[f"{LETTERS[a.space, a.kind]}.{8 * a.width if a.width > 2 else 'U16'}"] += a.requests
            self.traffic[a.space, a.kind] += a.width * a.lanes
            if a.space == "shared":
                cycles += a.cycles
            else:
                self.moved += SECTOR * a.times * int(a.sectors.sum())
        for at in step.reach:
            if isinstance(at, EngineReach) and not (again and at.access.space == "global"):
                self.traffic[at.access.space, at.access.kind] += at.bytes
                self.moved += SECTOR * at.sectors
        self.instructions += counted
        self.cycles += cycles
        if (k := self.loop_of.get(step.path)) is not None:
            at, loop = k
            self.k_issued += sum(counted.values())
            self.k_cycles += cycles
            self.k_hmma += sum(counted[kind] for kind in self.tensor_cores)
            if op is not None and op.product is not None:
                self._tile(m, at, loop, step.mask, step.role)

    def _tile(self, m: Machine, at: IrPath, loop: Loop, mask: Mask, role: str) -> None:
        """A tile along k: the loop's variable has a new value; of several warpgroups, in the first one that comes."""
        now, of = np.asarray(m.values[loop.var]).tobytes(), (at, role.partition(OF_BLOCK)[2])
        if self.counted.setdefault(of, role) == role and self.last.get(of) != now:
            self.last[of] = now
            self.k_tiles += m.shape[0] if mask is None else int(np.count_nonzero(mask.any((1, 2))))

    def _register_work(self, op: Op, warps: int) -> Counter[str]:
        """Instructions that touch registers alone, and barriers."""
        if id(op) not in self.works:
            self.works[id(op)] = op.work(self.ir)
            if op.product is not None:
                instruction = op.product.instruction
                self.tensor_cores[instruction.opcode] = f"{_counted(instruction.slots)} of a {instruction.title}"
        work = self.works[id(op)]
        self.flops += work.flops * warps
        self.traffic["registers", "read"] += work.read * warps
        self.traffic["registers", "write"] += work.written * warps
        return Counter({kind: n * warps for kind, n in work.instructions.items()})

    def seen(self, places: Places) -> Counts:
        asked = self.traffic
        levels = {
            space: Traffic(asked[space, "read"], asked[space, "write"], asked[space, "read"] + asked[space, "write"])
            for space in ("global", "shared", "registers")
        }
        whole = Traffic(asked["global", "read"], asked["global", "write"], self.moved)
        return Counts(
            {k: n for k, n in self.instructions.items() if n},
            whole,
            levels["shared"],
            levels["registers"],
            self.flops,
            self.useful_flops,
            self.cycles,
            self.k_tiles,
            self.k_issued,
            self.k_cycles,
            self.k_hmma,
            dict(self.tensor_cores),
        )


def _counted(n: int) -> str:
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def _warps(m: Machine, mask: Mask) -> int:
    """How many warps take part."""
    every = m.shape[0] * (m.shape[1] // m.unfolded.warps) * m.unfolded.of.warps  # a block's first ones
    return every if mask is None else int(np.count_nonzero(mask.any(-1)))


def _k_loops(ir: KernelIR) -> dict[IrPath, tuple[IrPath, Loop]]:
    """For each statement in a loop along k, that loop, the outermost: it isn't unrolled and has products in it."""
    loops = [
        (path, s)
        for path, s in walk(ir.body)
        if isinstance(s, Loop) and not s.unroll and any(op.product is not None for op in operations(s.body))
    ]
    out: dict[IrPath, tuple[IrPath, Loop]] = {}
    for path, _ in walk(ir.body):
        for at, loop in loops:
            if len(path) > len(at) and path[: len(at)] == at:
                out.setdefault(path, (at, loop))
    return out
