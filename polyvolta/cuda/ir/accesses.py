"""What an operation says of itself: the places that it touches, and who takes part.

Bounds, banks, sectors, races, reads of what nobody wrote: whoever judges a kernel asks which places an operation
reaches, in which memory, and whether it reads or writes there. An operation answers with its *accesses*, one for each
array that it touches, and no reader needs to know which operation it is. An `Access` is a relation in the kernel's own
terms: expressions in the names of thread and loops, and maps of a lane's values. A 128-bit store of a chunk, a fragment
whose values lie where an ownership map says, a piece of an exchange buffer that no layout describes:

    write shared shared_A[16*c5 + warp, 8*(lane mod 4)] slot 0: 8 values by 8, along 1
    read shared shared_A[16*warpIdx_y, 8*c8] slot 0: 16 values by 8, at { [lane, i] -> [row, col] }
    read shared exchange slot warp: 8 values by 8, at place { [lane, round] -> [vector0] } of round c9

An operation is a subclass of `Operation`, in this package or outside of it. It says what it touches (`accesses`), which
threads must come together (`together`), what it orders (`orders`), what it costs beside its accesses (`work`) and how
people say what it does (`sentence`). Only what gives it a meaning looks at its class: the printer, the interpreter's
step, the values of the proofs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from polyvolta.cuda.ir.memories import LANES, VALUE_BYTES, ZERO, Element, Memories, Part
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff

if TYPE_CHECKING:
    from polyvolta.cuda.ir.exchange import Exchange
    from polyvolta.cuda.target.macro_mma import MacroMma

SPACES, KINDS = ("registers", "shared", "global"), ("read", "write")
PROXIES, TIMES = ("generic", "async"), ("issue", "completion")
"""The words for `space`, `kind`, `proxy` and `when` of an access; a well-formed kernel has no others."""
TOGETHER = ("thread", "warp", "warpgroup", "role", "block", "cluster")
ORDERS = (None, "warp", "warpgroup", "role", "block", "cluster")
"""The words for `together` and `orders` of an operation."""


@dataclass(frozen=True, slots=True)
class Access:
    """What an operation reads, or writes, in one array, in each thread that takes part.

    A thread moves `values` values, numbered from 0, `width` of them with each instruction. Where they lie:

    - in registers they are the element at `index`;
    - in a tensor, and in a tile that has a layout, value i is the element at `index` plus `own(lane, i)`, which for
      each instruction is one further along dimension `along` from value to value; without `own` it is i further
      along `along`; without either all are the element at `index`;
    - in a tile without a layout, an exchange buffer, the n-th instruction goes to place n of `places(lane, *given)`,
      counted in instructions' widths from the beginning of the slot.

    Parameters
    ----------
    space : one of `SPACES`: "registers", "shared" or "global".
    kind : one of `KINDS`: "read" or "write".
    array : the register array, the tile or the tensor, by name.
    index : where value 0 is, or the origin of a fragment: an expression for each dimension, in the kernel's names.
    values : how many values a thread moves.
    width : how many of them, side by side, one instruction moves at most; it starts at a multiple of so many.
    item : bytes of a value as it lies in that memory.
    along : the dimension along which consecutive values lie.
    own : { [lane, i] -> [+d0, +d1, ...] }, what value i of a lane adds to the index.
    slot : which slot of a tile: which of its `buffers` if it has a layout, else which of as many as it has room for.
    slot_chunks : the size of a slot in chunks; 0: one buffer of the tile.
    places : { [lane, ...] -> [place0, place1, ...] }, an output for each instruction.
    given : the values of the inputs of `places` after the lane.
    guarded : values outside of the tensor are not accessed; without it there are none.
    proxy : "generic", or "async" of the copy engines and tensor cores that reach shared memory past the threads.
    when : "issue": done when the thread goes on. "completion": some time later, see the operation that waits for it.
    opcode : of the machine's instruction where that is no plain load or store, such as "LDSM.16.M88.4"; accesses of an
        operation that have the same are made by one instruction.
    lanes : how many lanes of a warp, the first ones, say where the instruction goes; what others say doesn't count.
    """

    space: str
    kind: str
    array: str
    index: tuple[Aff, ...]
    values: int
    width: int
    item: int
    along: int | None = None
    own: IndexMap | None = None
    slot: Aff = ZERO
    slot_chunks: int = 0
    places: IndexMap | None = None
    given: tuple[Aff, ...] = ()
    guarded: bool = False
    proxy: str = "generic"
    when: str = "issue"
    opcode: str = ""
    lanes: int = LANES

    @property
    def bytes(self) -> int:
        """What one instruction moves at most."""
        return self.width * self.item

    @property
    def instructions(self) -> int:
        """How many instructions a thread makes, if all are as wide as can be; of registers it means nothing."""
        return self.values // self.width

    @property
    def writes(self) -> bool:
        return self.kind == "write"

    @property
    def expressions(self) -> tuple[Aff, ...]:
        """The expressions in the kernel's names that say where it goes."""
        return (*self.index, self.slot, *self.given)

    def __str__(self) -> str:
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        slot = f" slot {self.slot}" if self.space == "shared" else ""
        out = f"{self.kind} {self.space} {self.array}{index}{slot}: {self.values} values by {self.width}"
        if self.own is not None:
            out += f", at {self.own}"
        elif self.along is not None:
            out += f", along {self.along}"
        if self.places is not None:
            given = zip([n for n, _ in self.places.inputs[1:]], self.given, strict=True)
            out += f", at place {self.places}" + "".join(f", {n} {e}" for n, e in given)
        return out + (", guarded" if self.guarded else "")


def of_element(ir: Memories, kind: str, e: Element) -> Access:
    """The access to a register element: all its values."""
    array = ir.register(e.array)
    return Access("registers", kind, e.array, e.index, array.width, array.width, VALUE_BYTES[array.kind])


CONVERT, ARITHMETIC, CLEAR = "F2F", "FP32", "CLEAR"
"""Kinds of machine instructions: between 16-bit values and fp32, arithmetic in fp32, a register that becomes 0."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an operation costs a warp beside its accesses to memory.

    Parameters
    ----------
    instructions : how many machine instructions of each kind, such as {"FP32": 16}; one for each value of a lane.
    flops : operations of tensor cores, a multiply-add being two.
    read, written : bytes that the tensor cores take from registers and give to them.
    """

    instructions: Mapping[str, int] = field(default_factory=dict)
    flops: int = 0
    read: int = 0
    written: int = 0


class Operation(Part, ABC):
    """An operation of the kernel IR: what every reader may ask of one, whichever it is.

    A subclass is a frozen dataclass with a field `statement`, the schedule tree's name for what it does. Its fields are
    expressions (`Aff`), register elements, other parts that hold such (`Part`), tuples of these, or plain values: maps
    of their own inputs (`IndexMap`), names, numbers.

    Attributes
    ----------
    together : who takes part as one: "thread", each by itself; "warp", all lanes of a warp or none; "warpgroup", all of
        four warps; "role", all of a role; "block"; "cluster", all blocks of one.
    orders : "warp", "warpgroup", "role", "block" or "cluster" of an operation after which these threads see one
        another's accesses; None: none.
    commits : whether it closes a group of the asynchronous copies that the thread has issued since the last one.
    awaits : of an operation that waits for the thread's own asynchronous copies, how many of its newest groups may
        still be on their way; else None.
    product : the macro-MMA of a matrix product d += a @ b, whose first accesses read d, a and b; else None.
    plan : of an access to an exchange buffer what lies where in it; else None.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        statement: str

    @property
    def together(self) -> str:
        return "thread"

    @property
    def orders(self) -> str | None:
        return None

    @property
    def commits(self) -> bool:
        return False

    @property
    def awaits(self) -> int | None:
        return None

    @property
    def product(self) -> MacroMma | None:
        return None

    @property
    def plan(self) -> Exchange | None:
        return None

    @abstractmethod
    def accesses(self, ir: Memories) -> tuple[Access, ...]:
        """What it touches, reads before writes; of one kind in the order of its arguments.

        Parameters
        ----------
        ir : the kernel, or whatever knows the arrays; it has the arrays that the operation names.

        Cost: some microseconds; who asks at every step keeps the answer.
        """

    def work(self, ir: Memories) -> Work:
        """What it costs beside its accesses to memory."""
        return Work()

    def unguarded(self) -> Self:
        """The same where no value is outside of its tensor."""
        return self

    def sentence(self, reads: Sequence[str], writes: Sequence[str]) -> str:
        """What it does in words, such as "hmma_C += hmma_A @ hmma_B".

        Parameters
        ----------
        reads, writes : what one warp touches, in the order of the accesses; "0" where all is outside of a tensor.
        """
        return f"{', '.join(writes)} = {', '.join(reads) or '0'}"
