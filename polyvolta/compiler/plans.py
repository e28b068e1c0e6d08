"""Plans: what a call found out about its arrays, kept for the next call like it.

Whatever a call checks and chooses follows from the signatures of its arrays, from where they start within 16 bytes,
from the device and from the stream; sizes, variant, grid and packed arguments among it. What doesn't are the addresses
themselves and the values of scalars. So the first call's answers are kept as a `Plan` under all of the former, and the
next one reads its arrays, allocates its results, sees that outputs lie apart from inputs, and calls the driver.

A plan holds no array. Errors leave none behind: a call that is wrong, and one with arrays of an unknown library, goes
the long way each time, which says what is wrong. Packed arguments are one call's alone until the driver has read them:
calls of several threads at once have some each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import addressof
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.arguments import Argument, check_overlaps, dtype_of, memory_order, span
from polyvolta.cuda.run import launch
from polyvolta.cuda.run.libraries import Library, library_of
from polyvolta.cuda.run.prepared import Prepared, prepare
from polyvolta.cuda.run.tensor_maps import TensorMap, encode
from polyvolta.cuda.run.views import ITEM

if TYPE_CHECKING:
    from polyvolta.cuda.ir.arguments import Parameters
    from polyvolta.cuda.ir.kernel_ir import BoxMap, KernelIR
    from polyvolta.cuda.run.launch import LoadedKernel
    from polyvolta.graph.dag import Graph

MOST_PLANS = 1024  # that a kernel remembers; then it starts anew
MOST_PLACES = 8  # of a plan's array, whose tensor maps are at hand
_ALIGNMENT = 16  # bytes: no access is wider
_LEGACY_DEFAULT = 1  # the other handle of stream 0


@dataclass(frozen=True, slots=True)
class Order:
    """Where a kernel's arguments are in a call: the arrays are numbered as they are given, then the outputs.

    Attributes
    ----------
    names : of what a call is given.
    are_arrays : for each, whether it is an array, or else a number.
    inputs, outputs : for each tensor that the kernel reads, and writes, the number of its array.
    scalars : for each scalar of the kernel, its place among the given numbers.
    sizes : how many of them are in front of the scalars among the values that a launch packs.
    """

    names: tuple[str, ...]
    are_arrays: tuple[bool, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    scalars: tuple[int, ...]
    sizes: int

    @classmethod
    def of(cls, graph: Graph, ir: KernelIR) -> Order:
        given = graph.arguments
        arrays, numbers = ([t.name for t in given if bool(t.dims) == has] for has in (True, False))
        inputs = tuple(arrays.index(t.name) for t in ir.tensors if not t.written)
        written = sum(t.written for t in ir.tensors)
        return cls(
            tuple(t.name for t in given), tuple(bool(t.dims) for t in given),
            inputs, tuple(range(len(arrays), len(arrays) + written)),
            tuple(numbers.index(s) for s in ir.scalars), len(ir.sizes),
        )  # fmt: skip

    def given(self, arrays: tuple, named: dict[str, Any]) -> tuple | None:
        """What a call is given, in order; None where it isn't what the names say."""
        if named:
            rest = self.names[len(arrays) :]
            if len(named) != len(rest):
                return None
            try:
                arrays = *arrays, *[named[n] for n in rest]
            except KeyError:
                return None
        return arrays if len(arrays) == len(self.names) else None

    def outs(self, out: Any) -> tuple | None:
        """The output arrays, None for those to allocate; None where their number is wrong."""
        count = len(self.outputs)
        if out is None:
            return (None,) * count
        outs = tuple(out) if isinstance(out, tuple | list) else (out,)
        return outs if len(outs) == count else None


@dataclass(slots=True)
class Seen:
    """A call's arguments as they were read.

    Attributes
    ----------
    key : everything that a plan depends on.
    like : the array whose library makes results.
    outs : the output arrays, None for those to allocate.
    addresses : of the arrays, by their numbers; None for those to allocate.
    numbers : the scalars, as given.
    stream, waits : the stream's handle, and those of streams that it has to wait for.
    """

    key: tuple
    like: Any
    outs: tuple
    addresses: list[Any]
    numbers: list[float]
    stream: int
    waits: list[int]


def look(order: Order, given: tuple, outs: tuple, stream: Any) -> Seen | None:
    """Read a call's arguments; None where one is nothing that can be read by its attributes."""
    if (device := launch.thread_device()) is None:
        return None
    numbers: list[float] = []
    arrays = given
    if order.scalars:
        arrays = tuple(x for x, is_array in zip(given, order.are_arrays) if is_array)
        for x, is_array in zip(given, order.are_arrays):
            if not is_array:
                if type(x) is not float and type(x) is not int:
                    return None
                numbers.append(float(x))
    like = arrays[order.inputs[0]]
    if (first := library_of(type(like))) is None:
        return None
    ours = first.stream(like) or 0 if stream is None else launch.stream_handle(stream)
    key: list[Any] = [device, ours]
    addresses: list[Any] = []
    writers = {} if stream is None else {first: like}
    for array in arrays + outs:
        if array is None:
            key.append(None)
            addresses.append(None)
            continue
        if (library := library_of(type(array))) is None:
            return None
        if library is not first:
            writers[library] = array
        address, signature = library.read(array)
        addresses.append(address)
        key.append(signature)
        key.append(address % _ALIGNMENT)
    return Seen(tuple(key), like, outs, addresses, numbers, ours, _others(ours, writers) if writers else [])


def _others(ours: int, writers: dict[Library, Any]) -> list[int]:
    """The streams on which arrays may still be written, other than ours."""
    theirs = {library.stream(array) for library, array in writers.items()}
    return [s for s in theirs if s is not None and (s or _LEGACY_DEFAULT) != (ours or _LEGACY_DEFAULT)]


@dataclass(frozen=True, slots=True)
class Packing:
    """A launch but for packing: call it with what is to be kept alive. Of the arrays it keeps the addresses alone.

    Attributes
    ----------
    parameters : of the kernel that runs.
    loaded : its machine code.
    config : blocks, threads of a block, bytes of dynamic shared memory.
    values : the arguments.
    stream : the driver's handle.
    """

    parameters: Parameters
    loaded: LoadedKernel
    config: tuple[tuple[int, int, int], tuple[int, int, int], int]
    values: tuple[Any, ...]
    stream: int

    def __call__(self, keep: tuple = ()) -> Prepared:
        return prepare(self.loaded, *self.config, self.values, self.stream, keep)


@dataclass(frozen=True, slots=True)
class Plan:
    """A call with everything decided but addresses and numbers; `planned` makes it.

    Attributes
    ----------
    order : where the arguments are.
    made : the results to allocate: place among the outputs, and what makes one beside the first input.
    apart : pairs of arrays that must not overlap, an output first: their numbers and their bytes from first to last.
    inputs, outputs : the arguments, without memory.
    out_names : what errors call the outputs.
    pack : makes a launch, whose addresses and numbers are then replaced; None where there is nothing to launch.
    addresses, numbers : their places among the values that are packed, of each array number, and of each scalar.
    maps : likewise of tensor maps, with what makes one for an address.
    """

    order: Order
    made: tuple[tuple[int, Callable[[Any], Any]], ...]
    apart: tuple[tuple[int, int, int, int], ...]
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    out_names: tuple[str, ...]
    pack: Packing | None
    addresses: tuple[tuple[int, int], ...]
    numbers: tuple[tuple[int, int], ...]
    maps: tuple[tuple[int, int, Callable[[int], TensorMap]], ...]
    _idle: list[tuple] = field(default_factory=list, compare=False, repr=False)
    _interleaved: set[tuple[int, int, int]] = field(default_factory=set, compare=False, repr=False)

    def run(self, seen: Seen) -> tuple | None:
        """Launch with what was read; the results, or None where the library gave memory that the plan isn't for.

        Raises
        ------
        BadArray : an output overlaps another array.
        LaunchFailed : the driver refuses.
        """
        addresses, results = seen.addresses, seen.outs
        if self.made:
            results = list(results)
            for at, make in self.made:
                results[at] = array = make(seen.like)
                address = library_of(type(array)).address(array)  # type: ignore[union-attr]  # known when planned
                if address % _ALIGNMENT:
                    return None
                addresses[self.order.outputs[at]] = address
        for one, other, bytes_of_one, bytes_of_other in self.apart:
            start, begin = addresses[one], addresses[other]
            if start < begin + bytes_of_other and begin < start + bytes_of_one:
                self._check_overlap(one, other, addresses)
        for theirs in seen.waits:
            launch.wait(seen.stream, theirs)
        if self.pack is not None:
            self._launch(addresses, seen.numbers)
        return tuple(results)

    def _launch(self, addresses: Sequence[int], numbers: Sequence[float]) -> None:
        try:
            packed = self._idle.pop()  # a list's pop and append are whole: no other thread has these arguments
        except IndexError:
            packed = self._packed()
        prepared, address_cells, number_cells, of_maps = packed
        for cell, at in address_cells:
            cell.value = addresses[at]
        for cell, at in number_cells:
            cell.value = numbers[at]
        kept = [(p, encoded(addresses[at])) for p, at, encoded in of_maps]  # until the driver has copied them
        for p, encoded in kept:
            prepared.pointers[p] = addressof(encoded)
        prepared()
        self._idle.append(packed)

    def _packed(self) -> tuple:
        prepared = self.pack()  # type: ignore[misc]  # there is something to launch
        cells = prepared.values
        addresses, numbers = ([(cells[p], at) for at, p in side] for side in (self.addresses, self.numbers))
        return prepared, addresses, numbers, [(p, at, encoded) for at, p, encoded in self.maps]

    def _check_overlap(self, one: int, other: int, addresses: Sequence[int]) -> None:
        """Exactly, for arrays that lie in one range of addresses: views that interleave are apart.

        That takes 20 us. It depends on how far the arrays are apart, and is found out once for each distance.
        """
        distance = one, other, addresses[one] - addresses[other]
        if distance in self._interleaved:
            return
        inputs, outputs = (
            [replace(a, ptr=addresses[at]) for a, at in zip(side, numbers, strict=True)]
            for side, numbers in ((self.inputs, self.order.inputs), (self.outputs, self.order.outputs))
        )
        check_overlaps(inputs, outputs, self.out_names)
        if len(self._interleaved) < MOST_PLANS:
            self._interleaved.add(distance)


def planned(
    order: Order,
    seen: Seen,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    results: Sequence[Any],
    out_names: tuple[str, ...],
    pack: Packing | None,
) -> Plan | None:
    """The plan of a call that was checked; None where a result that it allocated can't be read by its attributes.

    Parameters
    ----------
    order, seen : of the call.
    inputs, outputs, results : its arguments, and the output arrays as its caller gets them.
    out_names : what errors call the outputs.
    pack : makes its launch, None where there is nothing to launch.
    """
    made = []
    for at, (result, given, a) in enumerate(zip(results, seen.outs, outputs, strict=True)):
        if given is None:
            if library_of(type(result)) is None or a.ptr % _ALIGNMENT:
                return None
            like = launch.maker_like(type(seen.like), a.shape, dtype_of(a.tensor), memory_order(a.tensor))
            made.append((at, like))
    apart = _apart(order, inputs, outputs, [o is not None for o in seen.outs])
    given = {a.tensor.name: (at, a) for at, a in zip((*order.inputs, *order.outputs), (*inputs, *outputs), strict=True)}
    addresses = [] if pack is None else [(given[name][0], place) for name, place in pack.parameters.pointers]
    maps = [] if pack is None else [
        (given[m.tensor][0], place, map_of(given[m.tensor][1], m)) for m, place in pack.parameters.maps
    ]  # fmt: skip
    numbers = tuple((at, order.sizes + n) for n, at in enumerate(order.scalars))
    read, written = (tuple(_without_memory(a) for a in side) for side in (inputs, outputs))
    return Plan(order, tuple(made), apart, read, written, out_names, pack, tuple(addresses), numbers, tuple(maps))


def map_of(a: Argument, m: BoxMap) -> Callable[[int], TensorMap]:
    """Makes an array's tensor map, for boxes of a kernel, from the array's address."""
    lines, run = (a.shape[d] for d in a.tensor.order)
    box = m.box
    rest = a.tensor.kind, (lines, run), ITEM * a.ld, (box.lines, box.run), box.swizzle.bytes
    return lru_cache(maxsize=MOST_PLACES)(lambda address: encode(address, *rest))


def _without_memory(a: Argument) -> Argument:
    return replace(a, array=replace(a.array, keepalive=None))


def _apart(
    order: Order, inputs: Sequence[Argument], outputs: Sequence[Argument], given: Sequence[bool]
) -> tuple[tuple[int, int, int, int], ...]:
    """The pairs that must not overlap, of the outputs that are given: memory that is fresh overlaps nothing."""
    read, written = (
        [(number, b - a) for number, (a, b) in zip(numbers, map(span, side), strict=True)]
        for numbers, side in ((order.inputs, inputs), (order.outputs, outputs))
    )
    pairs = []
    for at, (number, size) in enumerate(written):
        others = [*read, *(o for o, g in zip(written[:at], given) if g)] if given[at] else []
        pairs += [(number, other, size, its) for other, its in others]
    return tuple(pairs)


class Plans:
    """The plans of a kernel, of a graph and an IR, by what they depend on."""

    __slots__ = ("_graph", "_ir", "_order", "_plans")

    def __init__(self, graph: Graph, ir: KernelIR) -> None:
        self._graph, self._ir = graph, ir
        self._order: Order | None = None  # made by the first call
        self._plans: dict[tuple, Plan] = {}

    def __len__(self) -> int:
        return len(self._plans)

    def look(self, arrays: tuple, named: dict[str, Any], out: Any, stream: Any) -> tuple[Seen | None, Plan | None]:
        """A call's arguments, None where they can't be read by their attributes or are wrong; and their plan."""
        try:
            order = self._order = self._order or Order.of(self._graph, self._ir)
            given, outs = order.given(arrays, named), order.outs(out)
            seen = None if given is None or outs is None else look(order, given, outs, stream)
            return (None, None) if seen is None else (seen, self._plans.get(seen.key))
        except Exception:  # a foreign library may raise whatever it likes; the long way says what is wrong
            return None, None

    def keep(self, seen: Seen, *call: Any) -> None:
        """Make a plan of a call, if there can be one; see `planned`."""
        assert self._order is not None  # whatever was seen was seen in an order
        if (plan := planned(self._order, seen, *call)) is None:
            return
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        self._plans[seen.key] = plan
