"""What a client of the symbolic machine has to do with: the place where the machine stands, states, counter-examples.

The machine (`machine`) runs a kernel for all sizes at once. What its operations mean is not its business: at each of
them it calls its clients with `Here`, which says who takes part, under which condition on sizes, blocks and k tiles,
and answers questions about expressions there. A client keeps a `State`, which the machine copies where it forks and
compares where ways meet again; what a client finds wrong it reports by `Here.refute`, a `Refutation` with one concrete
case.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Stmt
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, var

if TYPE_CHECKING:
    from polyvolta.cuda.verify.engine.addresses import Addresses
    from polyvolta.cuda.verify.engine.instances import Instances
    from polyvolta.cuda.verify.engine.past_threads import Reach


@dataclass(frozen=True, slots=True)
class Refutation:
    """A counter-example, in the machine's terms: places are paths of the IR.

    Parameters
    ----------
    proof : what it refutes.
    what : what happens, in words.
    point : values of the sizes, of blockIdx.* and of the loop variables around.
    path, other : where, and the second place if two collide.
    warp, lane, address : which thread, and what it touches.
    """

    proof: str
    what: str
    point: Mapping[str, int] = field(hash=False)
    path: IrPath
    other: IrPath | None = None
    warp: int | None = None
    lane: int | None = None
    address: str = ""


class State(Protocol):
    """What a client knows at one place of the program."""

    def copy(self) -> State:
        """A state of its own, which changes alone."""
        ...

    def key(self) -> Hashable:
        """Equal for equal states. Bookkeeping for messages stays out of it."""
        ...


S = TypeVar("S", bound=State, contravariant=True)


class Client(Protocol[S]):
    """What follows the machine.

    Attributes
    ----------
    proofs : the ids of the proofs that it decides.
    """

    proofs: tuple[str, ...]

    def start(self, ir: KernelIR) -> State:
        """The state before the first operation."""
        ...

    def step(self, state: S, here: Here) -> None:
        """An operation; the state changes in place."""
        ...

    def next_trip(self, state: S, loop: Loop, here: Here) -> None:
        """A trip of a symbolic loop is over: say everything with `loop.var - loop.step` in place of the variable."""
        ...

    def leave(self, state: S, loop: Loop, last: Aff | None, here: Here) -> None:
        """A symbolic loop is over, and its variable goes; `last` is its value then, one step past the last trip."""
        ...

    def finish(self, state: S, here: Here) -> None:
        """The end of the program, once for each way through it."""
        ...


@runtime_checkable
class Choosing(Protocol):
    """A client that looks at conditions, too."""

    def choose(self, holds: np.ndarray, here: Here) -> None:
        """One case of a condition, `here.op`: for which threads all of it holds there, bool [warp, 32]."""
        ...


@runtime_checkable
class Entering(Protocol):
    """A client that says things anew where a symbolic loop begins."""

    def enter(self, state: State, loop: Loop, start: Aff, here: Here) -> None:
        """The first trip of a symbolic loop is about to begin, with the variable at `start`."""
        ...


class Running(Protocol):
    """What all places of a run have in common: the kernel, where in it the program's statements stand, the unrolled
    loops around, the slots of each ring that is said relative to the trip, what has been found so far."""

    ir: KernelIR
    places: Mapping[IrPath, IrPath]
    sizes: Mapping[str, int] | None
    loops: dict[str, int]
    rings: dict[str, int]
    findings: dict[str, Refutation]
    instances: Instances

    def split(self, e: Aff) -> tuple[Aff, np.ndarray]:
        """See `Here.split`."""
        ...


class Here:
    """Where the machine stands: an operation, the threads that take part, and what is known.

    Attributes
    ----------
    ir : the kernel.
    path, op : the operation and where it stands in the kernel; between operations the loop, or the last one.
    at : where it stands in the program that is run, which is another one if the kernel has roles (`strands`).
    mask : bool [warp, 32], the threads that take part; None: all.
    loops : the variables of unrolled loops around, with their values.
    condition : what is known of sizes, blockIdx.* and the variables of symbolic loops.
    """

    __slots__ = ("_instance", "_one", "at", "condition", "ir", "loops", "machine", "mask", "op", "path")

    def __init__(
        self, machine: Running, path: IrPath, op: Stmt | None, mask: np.ndarray | None, condition: Condition
    ) -> None:
        self.machine, self.ir, self.op, self.mask = machine, machine.ir, op, mask
        self.at, self.path = path, machine.places.get(path, path)
        self.loops, self.condition = machine.loops, condition
        self._instance: tuple | None = None
        self._one: tuple[int, int] | None = None

    def by(self, warp: int, lane: int) -> Here:
        """The same place with one thread, in arrays of what it alone does: whatever their axes are, it is the one who
        is named."""
        made = Here(self.machine, self.at, self.op, None, self.condition)
        made.loops, made._one = self.loops, (warp, lane)
        return made

    @property
    def exact(self) -> bool:
        """Whether the sizes are numbers: then all that is seen happens."""
        return self.machine.sizes is not None

    @property
    def accesses(self) -> tuple[Access, ...]:
        """What the operation touches."""
        return self.machine.instances.accesses(self)

    @property
    def instance(self) -> tuple:
        """Which operation this is, of which values of the unrolled loops around it, and at which places in the block.

        Two times with one instance the operation touches the same registers and the same shared memory.

        Raises
        ------
        Undecided : a place that has no single value for each thread here.
        """
        if self._instance is None:
            self._instance = self.machine.instances.key(self)
        return self._instance

    @property
    def addresses(self) -> tuple[Addresses, ...]:
        """Where the threads' own accesses to shared memory go, in their order.

        Raises
        ------
        Undecided : a place that has no single value for each thread here, or a round that differs between threads.
        """
        return self.machine.instances.addresses(self)

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """Where copy engines and tensor cores reach in shared memory for the threads that take part.

        Raises
        ------
        Undecided : as with `addresses`, or a warpgroup's threads don't say the same.
        """
        return self.machine.instances.reaches(self)

    def split(self, e: Aff) -> tuple[Aff, np.ndarray]:
        """An expression as a symbolic part, without a constant, and numbers, int64 [warp, 32].

        Raises
        ------
        Undecided : a floor or an exclusive-or of both.
        """
        return self.machine.split(e)

    def values(self, *of: Aff) -> tuple[int, ...]:
        """The values here of the symbolic parts of some expressions, of those that have such a part.

        Raises
        ------
        Undecided : one has several.
        """
        return tuple(self._value(s, e) for e in of if not (s := self.machine.split(e)[0]).is_constant)

    def numbers(self, e: Aff) -> np.ndarray:
        """The values of an expression whose symbolic part has one value here, int64 [warp, 32].

        Raises
        ------
        Undecided : it has several.
        """
        symbolic, numbers = self.machine.split(e)
        value = self._value(symbolic, e)
        return numbers + value if value else numbers

    def _value(self, symbolic: Aff, of: Aff) -> int:
        value = self.condition.value(symbolic)
        if value is None:
            raise Undecided(f"{of} has no single value for each thread here", where=str(self.condition.set))
        return value

    def number(self, e: Aff) -> int:
        """The value of an expression that is the same for all threads.

        Raises
        ------
        Undecided : it isn't.
        """
        numbers = self.numbers(e)
        first = int(numbers.flat[0])
        if (numbers != first).any():
            raise Undecided(f"{e} differs between threads")
        return first

    def holds(self, e: Aff) -> bool:
        """Whether `e >= 0`, an expression in symbolic names, wherever the path condition holds; exact."""
        return self.condition.holds(e)

    def point(self, *where: Aff) -> dict[str, int] | None:
        """The smallest values of the symbolic names for which the path condition and all `where >= 0` hold."""
        return self.condition.point(*where)

    def refute(
        self,
        proof: str,
        what: str,
        *,
        where: tuple[Aff, ...] = (),
        warp: int | None = None,
        lane: int | None = None,
        address: str = "",
        other: IrPath | None = None,
    ) -> None:
        """Record a counter-example at this place; of each proof the first one is kept.

        But one with a size of 0 gives way to one without: sums over nothing are right whatever a kernel does.

        Parameters
        ----------
        where : when it happens, each `e >= 0`; nothing is recorded where that is impossible.
        """
        if self._one is not None:
            warp, lane = self._one
        known = self.machine.findings.get(proof)
        if known is not None and all(known.point[n] for n in self.ir.sizes):
            return
        point = self.condition.point(*where, *(var(n) - 1 for n in self.ir.sizes))
        if point is None and known is None:
            point = self.condition.point(*where)
        if point is not None:
            at = {**point, **self.loops}
            self.machine.findings[proof] = Refutation(proof, what, at, self.path, other, warp, lane, address)
