"""Decisions: which of a kernel's variants is taken for which sizes.

A rule is a box, such as M <= 512 and M*N > 65536, and a variant. That each size, however small or large, is in the box
of one rule and in no other one is proved of sets: so it doesn't matter in which order rules are looked at. To the sets
a product such as M*N, by which the number of a grid's blocks goes, is one more number that may be any: what holds for
each number holds for the product. Sizes outside of the ranges that a kernel was made for are as the nearest ones
inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

from polyvolta.compiler.compiled import MissingSize
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.compiler.variants.ranges import Ranges
from polyvolta.cuda.ir.block_order import Lemma
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.display.shown import Record
from polyvolta.graph.dims import Given, joined
from polyvolta.sets import Set, nearest

if TYPE_CHECKING:
    from polyvolta.compiler.options import Options


Axis = tuple[str, ...]
"""What rules ask for: a size, or the product of some."""


@dataclass(frozen=True, slots=True)
class Rule(Record):
    """Sizes, and the variant for them.

    Parameters
    ----------
    axes : all that rules ask for, the sizes first.
    bounds : for each the least and the largest number, None: there is none.
    variant : its number.

    >>> rule = Rule((("M",), ("N",), ("M", "N")), ((None, 512), (129, 256), (65537, None)), 0)
    >>> print(rule)
    M <= 512 and 128 < N <= 256 and M*N > 65536: variant 0
    >>> rule.holds((400, 200, 80000)), rule.holds((400, 100, 40000))
    (True, False)
    >>> print(rule.condition)
    { [M, N, M_N] : 0 <= M <= 512 and 129 <= N <= 256 and M_N >= 65537 }
    """

    axes: tuple[Axis, ...]
    bounds: tuple[tuple[int | None, int | None], ...]
    variant: int

    def holds(self, values: Sequence[int]) -> bool:
        """Whether the axes' values are in the box."""
        for value, (low, high) in zip(values, self.bounds):
            if low is not None and value < low or high is not None and value > high:
                return False
        return True

    @property
    def words(self) -> str:
        """What it asks of sizes, as text; "any sizes" if nothing."""
        return self._said(["*".join(axis) for axis in self.axes]) or "any sizes"

    @property
    def condition(self) -> Set:
        """The box, as a set of numbers from 0 on, one for each axis."""
        symbols = symbols_of(self.axes)
        return natural(symbols) & Set(f"{{ [{', '.join(symbols)}] : {self._said(symbols) or '0 = 0'} }}")

    def _said(self, names: Sequence[str]) -> str:
        pairs = zip(names, self.bounds, strict=True)
        return " and ".join(_within(name, *ends) for name, ends in pairs if ends != (None, None))

    def __str__(self) -> str:
        return f"{self.words}: variant {self.variant}"


@dataclass(frozen=True, slots=True)
class Slowdown(Record):
    """By which factor times are longer than those of the best tilings: the geometric mean, and the largest."""

    mean: float
    worst: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} (at most {self.worst:.2f})"


@dataclass(frozen=True, slots=True, repr=False)
class Decisions(Shown):
    """Which variant is taken for which sizes; it prints as a table, and shows as one in a notebook.

    Attributes
    ----------
    axes : what the rules ask for.
    rules : of which one holds, for any sizes.
    options : of the variants.
    ranges : what they were chosen for.
    sampled : the number of sizes in there for which costs were predicted.
    slowdown : what is predicted, over these sizes, of the variants that the rules take, beside what is best for each.
    of_one : likewise of the best single tiling.
    """

    axes: tuple[Axis, ...]
    rules: tuple[Rule, ...]
    options: tuple[Options, ...]
    ranges: Ranges
    sampled: int
    slowdown: Slowdown
    of_one: Slowdown

    @property
    def names(self) -> tuple[str, ...]:
        """Of the sizes."""
        return self.ranges.names

    def choose(self, given: Given[int] | None = None, /, **named: int) -> int:
        """The number of the variant for some sizes.

        Raises
        ------
        MissingSize : a size is missing, unknown, or no int >= 0.
        """
        sizes = joined(given, named, MissingSize)
        for name in sizes:
            if name not in self.names:
                raise MissingSize(f"the kernel has no size {name!r}", hint=nearest(name, self.names))
        if missing := [name for name in self.names if name not in sizes]:
            raise MissingSize(f"the size {missing[0]} is missing",
                              hint=f"choose({', '.join(f'{n}=...' for n in self.names)})")  # fmt: skip
        for name, size in sizes.items():
            if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
                raise MissingSize(f"the size {name} is an int, at least 0, not {size!r}")
        return self.taken(sizes)

    def taken(self, sizes: Mapping[str, int]) -> int:
        """As `choose`, for sizes that aren't checked."""
        values = [prod([sizes[name] for name in axis]) for axis in self.axes]
        return next(rule.variant for rule in self.rules if rule.holds(values))

    def proof(self) -> tuple[Lemma, ...]:
        """That any numbers from 0 on are in the box of one rule, and of one alone; decided by sets.

        Cost: some ms, with the square of the number of rules.
        """
        boxes = [rule.condition for rule in self.rules]
        everything = left = natural(symbols_of(self.axes))
        for box in boxes:
            left = left - box
        shared = [a & b for a, b in combinations(boxes, 2)]
        both = next((x for x in shared if not x.is_empty()), None)
        union = " | ".join(f"{{ {rule.words} }}" for rule in self.rules)
        missed = "" if left.is_empty() else f" has {left.sample()}"
        alone = f"{len(shared)} pairs of boxes have nothing in common"
        return (
            Lemma("sizes are in the box of a rule", f"{everything} - ({union}){missed}", left.is_empty()),
            Lemma("sizes are in the box of no two rules", alone if both is None else f"{both} is in two", both is None),
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """The rules, and the variants that they lead to."""
        count = len(self.options)
        title = f"{count} variant{'s' * (count > 1)} for {self.ranges}"
        note = f"Predicted at {self.sampled} sizes: {self.slowdown} times what the best tiling for each takes"
        note += f";\n  with one for all, {self.of_one}." if count > 1 else "."
        rules = tuple((rule.words, str(rule.variant)) for rule in self.rules)
        variants = tuple((str(n), label) for n, label in enumerate(labels(self.options)))
        tiles = "block_tile" + ", and what else differs" * (count > 1)
        return Table(title, ("sizes", ">variant"), rules), Table("tilings", (">variant", tiles), variants, note)

    def __str__(self) -> str:
        return "\n".join(map(str, self.tables))


def labels(options: Sequence[Options]) -> list[str]:
    """What tells some options apart, and the block tiles.

    >>> from polyvolta import Options
    >>> labels([Options(block_tile=(64, 64, 32), split_k=2), Options(block_tile=(64, 64, 32), split_k=1)])
    ['64x64x32, split_k=2', '64x64x32, split_k=1']
    """
    implied = {"prefetch"} if all(o.prefetch == o.buffers - 1 for o in options) else set()
    differing = [n for n in OPTIONS[1:] if len({getattr(o, n) for o in options}) > 1 and n not in implied]
    return [", ".join(["x".join(map(str, o.block_tile)), *(f"{name}={getattr(o, name)!r}" for name in differing)])
            for o in options]  # fmt: skip


def symbols_of(axes: Sequence[Axis]) -> list[str]:
    """A name for each axis, as a set has it.

    >>> symbols_of((("M",), ("M_N",), ("N",), ("M", "N")))
    ['M', 'M_N', 'N', 'M_N_']
    """
    found: list[str] = [axis[0] for axis in axes if len(axis) == 1]
    for axis in axes:
        if len(axis) > 1:
            name = "_".join(axis)
            while name in found:
                name += "_"
            found.append(name)
    return found


def natural(symbols: Sequence[str]) -> Set:
    """All numbers from 0 on."""
    return Set(f"{{ [{', '.join(symbols)}] : {' and '.join(f'{name} >= 0' for name in symbols)} }}")


def _within(name: str, low: int | None, high: int | None) -> str:
    """A condition on one number, which has at least one end; a low one as the next box below has it."""
    if low is None:
        return f"{name} <= {high}"
    if low == high:
        return f"{name} = {low}"
    return f"{name} > {low - 1}" if high is None else f"{low - 1} < {name} <= {high}"
