"""The three memories of a kernel: tensors in global memory, tiles in shared memory, arrays in registers.

Units: shared memory is addressed in chunks of eight 16-bit values (16 bytes), registers in elements of their
array: a group of 16-bit or fp32 values, eight on the way between memories, more in the fragments of a macro-MMA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.boxes import Box
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANES as LANES
from polyvolta.display.shown import Record
from polyvolta.sets import Aff, aff, nearest

CHUNK = 8  # 16-bit values in a 128-bit access
CHUNK_BYTES = 16
BARRIER_BYTES = 8  # of a barrier with phases
VALUE_BYTES = {"half": 2, "bfloat16": 2, "float": 4}
"""Of a value of a register array, or of an exchange buffer, by kind."""
NARROW = frozenset(kind for kind, size in VALUE_BYTES.items() if size == 2)
"""The kinds of what tensors and tiles hold; a kernel has one of them."""
TENSOR_ITEM = 2  # bytes of a tensor's value, and of one in a tile that has a layout
ZERO = aff(0)


class Part:
    """A record whose fields may hold expressions in the kernel's names, and further parts: see `walk.put`."""

    __slots__ = ()
    if TYPE_CHECKING:  # each is a dataclass
        __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class GlobalTensor:
    """A tensor argument: a pointer and, with two dimensions, a leading dimension.

    The element at index x lies at `x[line] * ld + x[run]`, where `order` is (line, run), outermost first; of one
    dimension at `x[0]`.

    Parameters
    ----------
    name : of the argument.
    dims : size names or numbers, one or two.
    order : the dimensions, outermost first.
    written : whether it is an output.
    align : how many consecutive values one access may move: 8, 4, 2 or 1. The pointer and the leading dimension
        are multiples of so many values.
    kind : of its values, "half" (fp16) or "bfloat16".
    whole : whether its extent along the last dimension in `order` is a multiple of so many values, too, so that an
        access that starts inside is inside.
    """

    name: str
    dims: tuple[str | int, ...]
    order: tuple[int, ...]
    written: bool = False
    align: int = CHUNK
    kind: str = "half"
    whole: bool = False

    @property
    def ld(self) -> str | None:
        """The name of the leading dimension, an int argument; None for a vector."""
        return f"ld{self.name}" if len(self.dims) == 2 else None


@dataclass(frozen=True, slots=True)
class SharedTile(Record):
    """A tile in shared memory.

    Parameters
    ----------
    name : of the C array.
    start : its first chunk in the block's shared memory; tiles that are not alive together may overlap.
    chunks : the size of one buffer in chunks of 8 16-bit values.
    layout : tile-local element index -> chunk; None for the exchange buffer, which `Exchange` addresses itself.
    order : the dimensions of the layout's elements, outermost first: consecutive values of the last share a chunk.
    buffers : how many copies of the tile there are, one after the other.
    """

    name: str
    start: int
    chunks: int
    layout: IndexMap | None = None
    order: tuple[int, ...] = ()
    buffers: int = 1

    @property
    def bytes(self) -> int:
        return self.buffers * self.chunks * CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class PhaseBarriers:
    """A row of mbarriers in shared memory.

    Parameters
    ----------
    name : of the C array.
    start : its first chunk in the block's shared memory.
    slots : how many barriers there are, 8 bytes each.
    arrivals : how many arrivals complete a phase, once all bytes that it expects have come.
    """

    name: str
    start: int
    slots: int
    arrivals: int

    @property
    def bytes(self) -> int:
        """Of shared memory, whole chunks."""
        return -(-self.slots * BARRIER_BYTES // CHUNK_BYTES) * CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class BoxMap:
    """What the copy engine knows of a tensor: an argument of the kernel, 128 bytes that the driver encodes.

    Parameters
    ----------
    name : of the argument.
    tensor : the tensor, a matrix, by name; boxes' lines go along the dimension that is contiguous in its memory.
    box : lines and values of a line that one instruction moves, and how they lie in shared memory.
    """

    name: str
    tensor: str
    box: Box

    @property
    def bytes(self) -> int:
        """That a barrier counts."""
        return self.box.bytes

    def elements(self, order: tuple[int, ...]) -> IndexMap:
        """{ [lane, i] -> [+d0, +d1] }: the values of a box from its first element on, line by line.

        Parameters
        ----------
        order : of the dimensions, that of lines first.
        """
        return self.box.elements(order)


@dataclass(frozen=True, slots=True)
class RegisterArray(Record):
    """An array that each thread has for itself.

    Each element is `width` values of `kind` "half" (fp16), "bfloat16" or "float" (fp32): 8 on the way between
    memories, of a fragment as many as a lane has.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    width: int = CHUNK


@dataclass(frozen=True, slots=True)
class Element(Part):
    """One element of a register array: all its values."""

    array: str
    index: tuple[Aff, ...]


class NoSuchArray(CudaError, LookupError):
    """A name that none of a kernel's arrays has."""

    id = "PV548"


class Memories:
    """Finds the arrays of a kernel by name; a `KernelIR` is one.

    Raises
    ------
    NoSuchArray
    """

    __slots__ = ()
    if TYPE_CHECKING:
        tensors: tuple[GlobalTensor, ...]
        tiles: tuple[SharedTile, ...]
        registers: tuple[RegisterArray, ...]
        barriers: tuple[PhaseBarriers, ...]
        maps: tuple[BoxMap, ...]

    def tensor(self, name: str) -> GlobalTensor:
        return _named("tensor", name, self.tensors)

    def tile(self, name: str) -> SharedTile:
        return _named("tile", name, self.tiles)

    def register(self, name: str) -> RegisterArray:
        return _named("register array", name, self.registers)

    def phases(self, name: str) -> PhaseBarriers:
        return _named("row of barriers", name, self.barriers)

    def box_map(self, name: str) -> BoxMap:
        return _named("box map", name, self.maps)


def _named(what: str, name: str, arrays: tuple[Any, ...]) -> Any:
    for array in arrays:
        if array.name == name:
            return array
    raise NoSuchArray(f"no {what} is called {name!r}", hint=nearest(name, [a.name for a in arrays]))


@dataclass(frozen=True, slots=True)
class Arrays(Memories):
    """The arrays of a kernel that is being built."""

    tensors: tuple[GlobalTensor, ...] = ()
    tiles: tuple[SharedTile, ...] = ()
    registers: tuple[RegisterArray, ...] = ()
    barriers: tuple[PhaseBarriers, ...] = ()
    maps: tuple[BoxMap, ...] = ()
