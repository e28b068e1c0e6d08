"""What is tuned: a computation at some sizes, on one kind of GPU; sent to every process that takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from polyvolta.compiler.arguments import LARGEST, TooLarge
from polyvolta.cuda.devices import Gpu
from polyvolta.cuda.target.target import Target
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.tensors import Tensor
from polyvolta.sets import nearest
from polyvolta.tuner.errors import NothingToTime

ITEM = 2  # bytes of a value
SCALAR = 0.75  # what every scalar is while kernels are timed
LEAST_SECONDS, RATE = 20.0, 1e11  # of a candidate's limit: at least, and operations a second below which a kernel hangs


@dataclass(frozen=True, slots=True)
class Spec:
    """A computation to be tuned.

    Attributes
    ----------
    graph, target : what is computed, and what the kernels are made for.
    sizes : of every symbolic size.
    gpu : on what; others of its name will do where `alone` is False.
    alone : whether no other GPU is to be taken.
    limit : seconds that one candidate may take on the GPU.
    seed : of the data.
    """

    graph: Graph
    target: Target
    sizes: dict[str, int]
    gpu: Gpu
    alone: bool = True
    limit: float = LEAST_SECONDS
    seed: int = 1

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """Of a tensor's array."""
        return tuple(d if isinstance(d, int) else self.sizes[d.name] for d in tensor.dims)

    @property
    def bytes(self) -> int:
        """GPU memory for the arrays: inputs, and results twice, those of a candidate and those that are right."""
        inputs, results = (
            sum(ITEM * prod(self.shape(t)) for t in side) for side in (self.graph.inputs, self.graph.outputs)
        )
        return inputs + 2 * results

    def order(self, tensor: Tensor) -> str:
        """Numpy's letter of an array's layout."""
        return "F" if tensor.layout == "col" else "C"


def checked_sizes(graph: Graph, sizes: Mapping[str, object]) -> dict[str, int]:
    """The sizes of a graph, each an int of at least 1 that a kernel's `int` holds.

    Raises
    ------
    NothingToTime : one is missing, unknown, or no such int.
    TooLarge

    >>> import polyvolta as pv
    >>> M, N = pv.sizes("M N")
    >>> checked_sizes(Graph.of(pv.tensor("A", (M, 64)) @ pv.tensor("B", (64, N))), {"M": 512})
    Traceback (most recent call last):
        ...
    polyvolta.tuner.errors.NothingToTime: [PV706] the size N is missing
    hint: times are of sizes: tune(..., M=..., N=...)
    """
    for name in sizes:
        if name not in graph.params:
            raise NothingToTime(f"the expression has no size {name!r}", hint=nearest(name, graph.params))
    for name in graph.params:
        value = sizes.get(name)
        if value is None:
            every = ", ".join(f"{n}=..." for n in graph.params)
            raise NothingToTime(f"the size {name} is missing", hint=f"times are of sizes: tune(..., {every})")
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:  # type: ignore[operator]
            raise NothingToTime(f"the size {name} is an int, at least 1, not {value!r}")
        if value > LARGEST:  # type: ignore[operator]
            raise TooLarge(f"the size {name} is an int of 32 bits, at most {LARGEST}, not {value}")
    return {name: int(sizes[name]) for name in graph.params}  # type: ignore[call-overload]


def limit_of(graph: Graph, sizes: Mapping[str, int]) -> float:
    """Seconds that a candidate may take, where nobody says: plenty for its operations, and for what surrounds them."""
    operations = 0
    for contraction in plan(graph).contractions:
        extents = contraction.statement.extents
        operations += 2 * prod(d if isinstance(d, int) else sizes[d.name] for d in extents)
    return LEAST_SECONDS + operations / RATE
