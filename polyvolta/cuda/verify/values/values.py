"""What a value is: a formula of tensor elements, as a skeleton that many values share and coordinates of each.

In a kernel run on symbols a register holds no number but a *tag*: which element of which tensor it is, or which
formula of which elements. The values of a fragment differ in coordinates alone: one is A[64*blockIdx.y + 3, 32*c2 + 5],
the next one A[64*blockIdx.y + 3, 32*c2 + 6]. So a tag has two halves. Its *skeleton* is a tree with symbolic bases,
`A[64*blockIdx.y + ., 32*c2 + .]`, interned in a table as a small number; the numbers that go into the dots are its
coordinates. An array of values is an array of such small numbers and one of coordinates, and what an operation does
to a thousand values is a few calls of numpy.

Accumulators hold sums that are not finished. Their skeleton is a `Sum`: for each product which k have been added,
those of all tiles of the trips before and those of this trip, as sets of places within a tile. Once a trip the second
set must be what the first one says of each trip; so one skeleton describes a sum over any number of tiles.

A value that was rounded to 16 bits, on its way through a register or a buffer of such, is *narrowed*. It may be stored,
or be an operand of the tensor cores, which take such; to compute with it is not what the graph says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyvolta.graph.functions.formula import Formula, Input, show, substitute
from polyvolta.sets import Aff

UNKNOWN = -1  # the skeleton's number of a value that nobody wrote


@dataclass(frozen=True, slots=True)
class Load:
    """An element of a tensor, at `base` + coordinates; 0 outside of the tensor."""

    tensor: str
    base: tuple[Aff, ...]

    @property
    def width(self) -> int:
        """How many coordinates there are."""
        return len(self.base)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar argument of the kernel."""

    name: str
    width = 0


@dataclass(frozen=True, slots=True)
class Term:
    """A product's part in a sum: `factor` times the sum over some k of its left and right operands' products.

    Tiles count from k = 0. In the present trip a tile's k are `depth + origin + o`, o being a place in the tile.

    Parameters
    ----------
    product : its number in the graph.
    factor : that the sum so far was multiplied by.
    depth, origin : see above; the depth is symbolic, without a constant.
    tile : how many k a tile has; None before the first trip's end, when nobody knows.
    before : the places o, as bits of a number, that were added in each tile before this trip's.
    now : those that were added in this trip.
    whole : after the loop, whether the tiles reach to the end of the product's k range.
    """

    product: int
    factor: float
    depth: Aff
    origin: int
    tile: int | None = None
    before: int = 0
    now: int = 0
    whole: bool | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of products' parts at one element of the result, `base` + (row, column); of no terms it is 0."""

    base: tuple[Aff, ...]
    terms: tuple[Term, ...]
    narrowed: bool = False
    width = 2


Leaf = Load | Sum | Scalar


@dataclass(frozen=True, slots=True)
class Computed:
    """A formula of leaves, `Input(n)` being leaf n; the leaves' coordinates stand one behind the other.

    `vanishes`: beyond the k range of the product whose operand this is, it is 0.
    """

    formula: Formula
    leaves: tuple[Leaf, ...]
    vanishes: bool = False
    narrowed: bool = False

    @property
    def width(self) -> int:
        """How many coordinates there are."""
        return sum(x.width for x in self.leaves)


Skeleton = Leaf | Computed
ZERO = Sum((Aff((), 0), Aff((), 0)), ())


def leaves_of(skeleton: Skeleton) -> tuple[Leaf, ...]:
    """The leaves, in the order of their coordinates."""
    return skeleton.leaves if isinstance(skeleton, Computed) else (skeleton,)


def formula_of(skeleton: Skeleton) -> Formula:
    """The formula over the leaves."""
    return skeleton.formula if isinstance(skeleton, Computed) else Input(0)


def starts(skeleton: Skeleton) -> Iterator[tuple[Leaf, int]]:
    """Each leaf with the number of its first coordinate."""
    at = 0
    for leaf in leaves_of(skeleton):
        yield leaf, at
        at += leaf.width


def composed(formula: Formula, operands: Iterable[Skeleton]) -> Skeleton:
    """A formula of skeletons as one skeleton; coordinates are the operands' one behind the other."""
    leaves: list[Leaf] = []
    parts: dict[int, Formula] = {}
    for n, x in enumerate(operands):
        inner = leaves_of(x)
        parts[n] = substitute(formula_of(x), {p: Input(len(leaves) + p) for p in range(len(inner))})
        leaves += inner
    made = substitute(formula, parts)
    return leaves[0] if made is Input(0) and len(leaves) == 1 else Computed(made, tuple(leaves))


def narrowed(skeleton: Skeleton) -> Skeleton:
    """A skeleton's values rounded to 16 bits; elements of tensors, which have no more, and 0 are what they were.

    >>> narrowed(ZERO) is ZERO, narrowed(Scalar("alpha"))
    (True, Computed(formula=Input(position=0), leaves=(Scalar(name='alpha'),), vanishes=False, narrowed=True))
    """
    match skeleton:
        case Load() | Sum(terms=()):
            return skeleton
        case Scalar():
            return Computed(Input(0), (skeleton,), narrowed=True)
    return replace(skeleton, narrowed=True)


def is_narrowed(skeleton: Skeleton) -> bool:
    """Whether a skeleton's values were rounded to 16 bits."""
    return isinstance(skeleton, Sum | Computed) and skeleton.narrowed


class Table:
    """Skeletons by number, each once."""

    def __init__(self) -> None:
        self.skeletons: list[Skeleton] = []
        self._number: dict[Skeleton, int] = {}
        self.zero = self.number(ZERO)

    def number(self, skeleton: Skeleton) -> int:
        """The number of a skeleton, a new one for a new skeleton."""
        found = self._number.setdefault(skeleton, len(self.skeletons))
        if found == len(self.skeletons):
            self.skeletons.append(skeleton)
        return found

    def __getitem__(self, number: int) -> Skeleton:
        return self.skeletons[number]


class Tags:
    """An array of tags.

    Attributes
    ----------
    kind : int32 [...], numbers of skeletons.
    at : int32 [..., coordinates]; those that a skeleton doesn't have are 0.
    """

    __slots__ = ("at", "kind")

    def __init__(self, kind: np.ndarray, at: np.ndarray) -> None:
        self.kind, self.at = kind, at

    @classmethod
    def unknown(cls, *shape: int) -> Tags:
        """Values that nobody wrote."""
        return cls(np.full(shape, UNKNOWN, np.int32), np.zeros((*shape, 2), np.int32))

    def copy(self) -> Tags:
        """Arrays of their own."""
        return Tags(self.kind.copy(), self.at.copy())

    def key(self) -> tuple:
        """Equal for equal tags."""
        used = self.at.shape[-1]
        while used > 2 and not self.at[..., used - 1].any():
            used -= 1
        return self.kind.tobytes(), self.at[..., :used].tobytes(), used

    def __getitem__(self, at: Any) -> Tags:
        return Tags(self.kind[at], self.at[at])

    def values(self, order: Any) -> Tags:
        """Some of the values, along the last axis."""
        return Tags(self.kind[..., order], self.at[..., order, :])

    def forget(self, where: np.ndarray) -> None:
        """Nobody wrote the values where a condition holds."""
        self.kind[where] = UNKNOWN
        self.at[where] = 0

    def put(self, at: Any, values: Tags, where: np.ndarray | None = None) -> None:
        """Write values at an index, where `where` holds."""
        width = values.at.shape[-1]
        if (more := width - self.at.shape[-1]) > 0:
            self.at = np.concatenate([self.at, np.zeros((*self.at.shape[:-1], more), np.int32)], -1)
        if where is None:
            self.kind[at] = values.kind
            self.at[at][..., :width] = values.at  # a view: `at` is an index of whole elements
            self.at[at][..., width:] = 0
            return
        np.copyto(self.kind[at], values.kind, where=where)
        np.copyto(self.at[at][..., :width], values.at, where=where[..., None])
        np.copyto(self.at[at][..., width:], 0, where=where[..., None])

    def scatter(self, at: np.ndarray, values: Tags) -> None:
        """Write values at numbers of places, of an array of one dimension."""
        width = values.at.shape[-1]
        if (more := width - self.at.shape[-1]) > 0:
            self.at = np.concatenate([self.at, np.zeros((*self.at.shape[:-1], more), np.int32)], -1)
        self.kind[at] = values.kind
        self.at[at, :width] = values.at
        self.at[at, width:] = 0

    def take(self, at: np.ndarray) -> Tags:
        """The values at numbers of places, of an array of one dimension."""
        return Tags(self.kind.take(at), self.at.take(at, 0))


def combinations(kinds: list[np.ndarray], mask: np.ndarray | None) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The combinations of skeletons that occur in arrays of one shape, each with where it does; None: everywhere."""
    first = [int(k[mask].flat[0]) if mask is not None else int(k.flat[0]) for k in kinds]
    same = np.ones(kinds[0].shape, bool) if mask is None else np.broadcast_to(mask[..., None], kinds[0].shape)
    left = same.copy()
    while True:
        here = left.copy()
        for k, one in zip(kinds, first):
            here &= k == one
        yield tuple(first), None if here.all() else here
        left &= ~here
        if not left.any():
            return
        at = tuple(np.argwhere(left)[0])
        first = [int(k[at]) for k in kinds]


def element_text(skeleton: Skeleton, at: Iterable[int], products: tuple[str, ...] = ()) -> str:
    """A value in words, such as "relu(A[128*blockIdx.y + 3, 32*c2 + 5])"."""
    numbers = [int(x) for x in at]
    names = []
    for leaf, start in starts(skeleton):
        if isinstance(leaf, Load):
            places = ", ".join(str(b + n) for b, n in zip(leaf.base, numbers[start:], strict=False))
            names.append(f"{leaf.tensor}[{places}]")
        elif isinstance(leaf, Sum):
            places = ", ".join(str(b + n) for b, n in zip(leaf.base, numbers[start:], strict=False))
            parts = [products[t.product] if t.product < len(products) else "product" for t in leaf.terms]
            names.append(f"({' + '.join(parts)})[{places}]" if parts else "0")
        else:
            names.append(leaf.name)
    return show(formula_of(skeleton), names)
