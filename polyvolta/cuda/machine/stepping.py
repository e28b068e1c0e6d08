"""A kernel step by step: one block, operation by operation, in all three of the kernel's forms.

The lockstep machine executes one block. Each operation that it has taken comes out as a `TraceStep`: the number of the
step, the tree node and the line of the CUDA text that it belongs to, the loop variables, and for each warp what it
has read and written. Nothing runs ahead: who takes ten steps has executed ten operations. Steps are kept, so that a
`Trace` can be looked at from any place.

    step 9  frag_A  c2 = 0, c8 = 0
      tree       FILTER: frag_A[by, bx, kt, wy, wx, wz, ks, f]
      line 248   hmma_load_a_row_swizzled(hmma_A, shared_A, 16 * warpIdx_y, 8 * c8, lane);
      warps 0-1  hmma_A = shared_A[0:16, 0:8]
      warps 2-3  hmma_A = shared_A[16:32, 0:8]

The threads of a block are shown in lockstep, all warps at one operation. On a GPU the warps of a block go at their
own pace from barrier to barrier, and a kernel without races doesn't notice.

Where warps have roles, each goes on by itself, a warpgroup at a time, and whose step is next can be said: `Trace.next`
takes steps until it was one of this role, others only as far as it waits for them. Between steps `Trace.standing` tells
where each role stands, and what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice
from math import prod
from operator import index
from typing import Any, overload

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir import kernel_ir as kir
from polyvolta.cuda.ir.engines.unfolded import Unfolded, unfolded
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.machine.access import instructions
from polyvolta.cuda.machine.copies import Arrival, checked_arrival
from polyvolta.cuda.machine.forecast import executions
from polyvolta.cuda.machine.interpreter import prepared_memory
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.operations import EFFECTS
from polyvolta.cuda.machine.reach import Reaches, WarpAccess
from polyvolta.cuda.machine.strands import parts_of
from polyvolta.cuda.machine.touches import Touch, assignment, element_text, touches
from polyvolta.cuda.machine.turns.standing import Standing, Turns, standing
from polyvolta.cuda.machine.turns.tiles import launched
from polyvolta.cuda.text.places import Place, Places
from polyvolta.display.shown import Shown
from polyvolta.display.text import filled, for_terminal, labelled
from polyvolta.graph.functions.formats import PATTERNS, widened
from polyvolta.sched.tree import Schedule
from polyvolta.sched.views.paper import rows
from polyvolta.sets import UnknownName, nearest


class BadBlock(CudaError, ValueError):
    """A block that a kernel's grid doesn't have, or something that is no block."""

    id = "PV558"


@dataclass(frozen=True, eq=False, repr=False)
class TraceStep(Shown):
    """One operation that a block has taken. Print it.

    Parameters
    ----------
    number : of the step, from 0.
    place : the operation in the kernel IR, its line in the CUDA text, its node in the schedule tree.
    node : that node as the tree's text has it; "" for what the tree doesn't have.
    cuda : the statement of the CUDA text that starts at that line, in one line.
    loops : the variables of the loops around, outermost first.
    block : blockIdx x, y, z: in a cluster of the block whose step it is, of what all do together of the one asked for.
    active : which threads of the block took part, bool [warp, lane]; of what all do together which of the cluster's,
        whose blocks' warps are side by side.
    values : for each register element that the operation touched, by its text such as "hmma_C[0][1]", the values
        afterwards: [warp, lane, value] of fp16 or fp32, bf16's in fp32. What nobody has written yet is NaN, and so is
        what a warpgroup has products added to and hasn't waited for.
    role : whose step it is, "" in a kernel without roles; one that has several warpgroups has its steps one by one.

    Tiles of a cluster's blocks are told by rank, such as "shared_A.1".
    """

    number: int
    place: Place
    node: str
    cuda: str
    loops: Mapping[str, int]
    block: tuple[int, int, int]
    active: np.ndarray
    values: Mapping[str, np.ndarray]
    _machine: Machine = field(repr=False)
    _names: Mapping[str, Any] = field(repr=False)
    _reach: Reaches = field(repr=False)
    role: str = ""
    _first: int = 0

    @property
    def op(self) -> kir.Op:
        """The operation."""
        op = self.place.stmt
        assert isinstance(op, kir.Op)
        return op

    @property
    def statement(self) -> str:
        """The schedule tree's name for the operation, such as "load_A"."""
        return self.place.statement

    @property
    def reads(self) -> tuple[Touch, ...]:
        """What each warp has read."""
        return self._touches[0]

    @property
    def writes(self) -> tuple[Touch, ...]:
        """What each warp has written."""
        return self._touches[1]

    @property
    def accesses(self) -> tuple[WarpAccess, ...]:
        """The warp-wide memory instructions, lane by lane in bytes; one block, so their first axis has extent 1."""
        return tuple(instructions(self._machine, self._reach))

    @cached_property
    def _touches(self) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
        active = np.zeros(self._machine.shape[1:], bool)
        active[self._first : self._first + len(self.active)] = self.active
        found = touches(self._machine.ir, self.op, self._names, self._reach, active)
        reads, writes = (tuple(replace(t, warp=t.warp - self._first) for t in side) for side in found)
        return reads, writes

    @cached_property
    def does(self) -> tuple[tuple[tuple[int, ...], str], ...]:
        """What happens, in one line for each group of warps that do the same: their numbers, and the line."""
        found: dict[str, list[int]] = {}
        for warp in np.flatnonzero(self.active.any(1)).tolist():
            reads, writes = ([t for t in side if t.warp == warp] for side in self._touches)
            count = int(self.active[warp].sum())
            lanes = "" if count == self.active.shape[1] else f"  ({count} lanes)"
            found.setdefault(assignment(self._machine.ir, self.op, reads, writes) + lanes, []).append(warp)
        return tuple((tuple(warps), text) for text, warps in found.items())

    def lines(self) -> list[tuple[str, str]]:
        """What `print` shows below the first line: a label and a text each."""
        out = [("tree", self.node or "(not in the tree)"), (f"line {self.place.line}", self.cuda)]
        return out + [(warps_text(warps, len(self.active)), text) for warps, text in self.does]

    @property
    def title(self) -> str:
        """Number, role, statement, loop variables."""
        loops = ", ".join(f"{n} = {v}" for n, v in self.loops.items())
        return "  ".join(x for x in (f"step {self.number}", self.role, self.statement, loops) if x)

    def __str__(self) -> str:
        return "\n".join([for_terminal(self.title), labelled(self.lines())])

    def __repr__(self) -> str:
        return filled(f"<TraceStep {self.number}: {self.place}>")

    def _html(self) -> str:
        from polyvolta.display.page import Html, code, facts, heading

        return heading(self.title) + facts((label, Html(code(text))) for label, text in self.lines())


class Trace(Shown, Sequence["TraceStep"]):
    """The steps of one block, a sequence; a notebook shows it with a slider, or as steps to choose from.

    Steps are made when they are asked for, and kept: `for step in trace` begins at the first one, `trace[10]` takes
    those up to the eleventh, `trace[-1]` all, each of which costs some half a millisecond and some 10 KB. `len(trace)`
    takes none: it counts what the loops execute, in a hundredth of that time; of a run that is known to go wrong it
    raises what is wrong. `next(trace)` goes on from where it stands, and `trace.next("producer")` to the next step of
    one role. What has been made stays in its order.

    Attributes
    ----------
    roles : the roles that the kernel has, a warpgroup each; () where all warps do the same.
    passed : the steps that `next` took of others, the last time that it was called.
    """

    def __init__(
        self, machine: Machine, places: Places, block: tuple[int, int, int], whole: Unfolded
    ) -> None:
        self.roles = tuple(n for _, s in walk(machine.ir.body) if isinstance(s, kir.Roles)
                           for role in s.roles for n, _, _ in parts_of(role))  # fmt: skip
        self.passed: tuple[TraceStep, ...] = ()
        self.block = block
        self._machine, self._places, self._steps = machine, places, _steps(machine, places, block, whole)
        self._whole = whole
        self._values = dict(machine.values)  # before a loop has set its variable
        self._turns = machine.weaver = Turns(machine.weaver)  # type: ignore[assignment]
        self._made: list[TraceStep] = []
        self._at = 0  # the step that is next
        self._ended: Exception | None = None

    def __next__(self) -> TraceStep:
        step = self._step(self._at)
        self._at += 1
        return step

    def __iter__(self) -> Iterator[TraceStep]:
        number = 0
        with suppress(StopIteration):
            while True:
                yield self._step(number)
                number += 1

    def __len__(self) -> int:
        if self._ended is not None:
            if not isinstance(self._ended, StopIteration):
                raise self._ended
            return len(self._made)
        m = self._machine
        return sum(executions(m.ir, self._values, m.blocks, m.launched, exact=True).values())

    @overload
    def __getitem__(self, at: int) -> TraceStep: ...
    @overload
    def __getitem__(self, at: slice) -> list[TraceStep]: ...
    def __getitem__(self, at: int | slice) -> TraceStep | list[TraceStep]:
        if isinstance(at, slice):
            known = all(n is None or n >= 0 for n in (at.start, at.stop)) and at.stop is not None
            return [*islice(self, at.stop if known else None)][at]
        if not hasattr(at, "__index__"):
            raise TypeError(f"a step is given by its number, trace[3], or steps by a slice, not by {at!r}")
        if (number := index(at)) < 0:
            number += len(self)
        try:
            if number >= 0:
                return self._step(number)
        except StopIteration:
            pass
        raise IndexError(f"the trace has {len(self)} steps, none of number {at}")

    def next(self, role: str) -> TraceStep:
        """The next step of a role; others go on as far as it waits for them.

        Raises
        ------
        UnknownName : there is no such role.
        StopIteration : it has ended.
        Deadlock : nobody can go on.
        """
        if role not in self.roles:
            raise UnknownName(f"{self._machine.ir.name} has no role {role!r}", hint=nearest(role, self.roles)
                              or f"its roles are {', '.join(self.roles) or 'none'}")  # fmt: skip
        passed: list[TraceStep] = []
        while self._at < len(self._made) or not any(s.role == role and s.ended for s in self.standing):
            step = self._step(self._at, role)
            self._at += 1
            if step.role == role:
                self.passed = tuple(passed)
                return step
            passed.append(step)
        self.passed = tuple(passed)
        raise StopIteration

    @property
    def standing(self) -> tuple[Standing, ...]:
        """Where each role stands behind the last step that was made; () before they begin, and where there are none."""
        woven = (s for s in self._turns.woven if s.name in self.roles)
        return tuple(standing(self._machine, self._places, s, self._whole) for s in woven)

    def _step(self, number: int, role: str = "") -> TraceStep:
        """The step of a number, made if it isn't yet, a role's as soon as can be.

        Raises
        ------
        StopIteration : there are less.
        """
        while len(self._made) <= number:
            if self._ended is not None:
                raise self._ended
            self._turns.wanted = role
            try:
                self._made.append(next(self._steps))
            except Exception as end:  # the block's end, or what is wrong there: the same whoever asks again
                self._ended = end
                raise
        return self._made[number]

    def __repr__(self) -> str:
        count = len(self._made)
        so_far = "" if isinstance(self._ended, StopIteration) else " so far"
        name = self._machine.ir.name
        return f"<Trace of {name}, block {self.block}: {count} step{'s' * (count != 1)}{so_far}; print it>"

    def __str__(self) -> str:
        from polyvolta.cuda.shown.trace import as_text

        return as_text(self)

    def _html(self) -> str:
        from polyvolta.cuda.shown.trace import as_html

        return as_html(self)

    def slider(self) -> Any:
        """The trace as a widget: a slider, and the step that it is at.

        A running notebook shows a trace so by itself where ipywidgets are there; this asks for it anywhere.

        Raises
        ------
        NoWidgets : they aren't; `pip install "polyvolta[notebook]"`.
        """
        from polyvolta.cuda.shown.trace import slider

        return slider(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        from polyvolta.cuda.shown.trace import bundle

        return bundle(self)


def trace(
    ir: KernelIR,
    schedule: Schedule,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    block: tuple[int, ...] = (0, 0),
    copies: Arrival = "lazy",
) -> Trace:
    """The steps of one block; the output tensors are written in place, in that block's part.

    Parameters
    ----------
    ir, schedule : the kernel and its tree.
    tensors, sizes, scalars : as of `interpreter.interpret`.
    block : blockIdx x, y and, if it isn't 0, z. Of a cluster's block the steps are those of all blocks of the cluster.
    copies : when asynchronous copies arrive, and whose turn it is, as of `interpreter.interpret`.

    Raises
    ------
    BadBlock, BadTensor, BadCopies : at once.
    OutOfBounds, Diverged, NotAChunk, BadPhase, Deadlock, LeftBehind : at the step where the kernel goes wrong.

    Cost: that of one block, interpreted; what warps touch is made out when it is asked for.
    """
    memory, values = prepared_memory(ir, tensors, sizes, scalars)
    grid: list[Any] = [g.evaluate(values) for g in ir.grid]
    blocks = launched(ir, grid)
    number, whole = checked_block(block, blocks, sizes), unfolded(ir)
    cluster = [n // c for n, c in zip(number, ir.cluster, strict=True)]
    clusters = prod(blocks) // prod(ir.cluster)
    machine = Machine(whole.ir, memory, values, np.array(cluster)[:, None], EFFECTS, arrival=checked_arrival(copies),
                      launched=clusters, unfolded=whole)  # fmt: skip
    return Trace(machine, Places(ir, schedule), number, whole)


def checked_block(block: object, grid: Sequence[int], sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """blockIdx x, y, z.

    Parameters
    ----------
    block : two or three ints.
    grid : blocks along x, y, z.
    sizes : what the grid is for.

    Raises
    ------
    BadBlock : it is none, or not one of the grid; names the nearest one.

    >>> checked_block((1, 0), (2, 4, 1), {})
    (1, 0, 0)
    >>> checked_block((3, 9), (2, 4, 1), {"M": 512, "N": 256})
    Traceback (most recent call last):
        ...
    polyvolta.cuda.machine.stepping.BadBlock: [PV558] there is no block (3, 9)
      the grid for M = 512, N = 256 has 2 x 4 x 1 blocks along x, y, z
    hint: the nearest is (1, 3)
    """
    axes = _ints(block)
    if len(axes) not in (2, 3):
        raise BadBlock(
            f"{block!r} is no block"[:200],
            hint="two or three ints, blockIdx x, y and z, such as (0, 0); x goes with columns, y with rows",
        )
    x, y, z = [*axes, 0][:3]
    if all(0 <= n < most for n, most in zip((x, y, z), grid, strict=True)):
        return x, y, z
    given = ", ".join(map(str, axes))
    of_sizes = f" for {', '.join(f'{n} = {v}' for n, v in sizes.items())}" if sizes else ""
    where = f"the grid{of_sizes} has {' x '.join(map(str, grid))} blocks along x, y, z"
    near = tuple(min(max(n, 0), most - 1) for n, most in zip((x, y, z), grid, strict=True))
    hint = f"the nearest is {near[: 3 if near[2] else 2]}" if prod(grid) else "the result is empty: no block has work"
    raise BadBlock(f"there is no block ({given})", where=where, hint=hint)


def _ints(block: Any) -> list[int]:
    """The ints of something iterable; none where it is anything else."""
    try:
        found = list(block)
        return [] if any(isinstance(n, bool | np.bool_) for n in found) else [index(n) for n in found]
    except TypeError:
        return []


def warps_text(warps: Sequence[int], count: int) -> str:
    """Some of a block's `count` warps.

    >>> warps_text((0, 1, 2, 5), 8), warps_text((3,), 8), warps_text(range(8), 8)
    ('warps 0-2, 5', 'warp 3', 'all warps')
    """
    if count > 1 and len(warps) == count:
        return "all warps"
    runs = [[w for _, w in run] for _, run in groupby(enumerate(warps), lambda pair: pair[1] - pair[0])]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"warp{'s' * (len(warps) > 1)} {', '.join(texts)}"


# ---- from the machine's steps to these


def _steps(
    machine: Machine, places: Places, block: tuple[int, int, int], whole: Unfolded
) -> Iterator[TraceStep]:
    nodes = {row.at: row.lines[0] for row in rows(places.schedule)}
    text = places.printed.text.split("\n")
    found: dict[IrPath, tuple[Place, str, str]] = {}
    for number, step in enumerate(machine.steps()):
        if step.path not in found:
            place = places[whole.path(step.path)]
            place = place if isinstance(step.op, kir.Barrier) else replace(place, stmt=step.op)
            node = "" if place.node is None else nodes.get(place.node, "")
            found[step.path] = place, node, _statement(text, place.line)
        place, node, cuda = found[step.path]
        active = np.ones(machine.shape[1:], bool) if step.mask is None else step.mask[0].copy()
        warps = np.flatnonzero(active.any(1))
        ranks, place_of, own = np.unique(warps // whole.warps), block, slice(None)
        if len(ranks) == 1:
            place_of, first = machine.who(0, int(warps[0]) * LANES)[0], int(ranks[0]) * whole.warps
            own = slice(first, first + whole.of.warps)
        values = {name: x[own] for name, x in _registers(machine, step).items()}
        yield TraceStep(
            number, place, node, cuda, machine.loops(0, int(warps[0])), place_of, active[own], values, machine,
            dict(machine.values), step.reach, step.role, int(own.start or 0),
        )  # fmt: skip


def _registers(machine: Machine, step: Step) -> dict[str, np.ndarray]:
    """Copies of the register elements that an operation touches, after it."""
    out = {}
    touched = [a for a in machine.accesses(step.op) if a.space == "registers"]
    for a in sorted(touched, key=lambda a: not a.writes):
        at = [machine.number(i, f"an index of register array {a.array}") for i in a.index]
        name = element_text(machine.ir, a.array, at)
        if name not in out:
            values = machine.element(kir.Element(a.array, a.index))[0]
            out[name] = widened(values) if values.dtype == PATTERNS else values.copy()
    return out


def _statement(text: Sequence[str], line: int) -> str:
    """The statement that starts at a line of the CUDA text, in one line."""
    parts = []
    for part in text[line - 1 :]:
        parts.append(part.strip())
        if part.endswith((";", "{", "}")):
            break
    return " ".join(parts)
