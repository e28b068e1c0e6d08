"""Decisions: which of a kernel's variants is taken for which sizes.

A rule is a box of sizes, such as M <= 512 and N >= 129, and a variant. The boxes are sets, and that each size, however
small or large, is in one of them and in no other one is proved of these: so it doesn't matter in which order they are
looked at. Sizes outside of the ranges that a kernel was made for are as the nearest ones inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from polyvolta.compiler.compiled import MissingSize
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.compiler.variants.ranges import Ranges, between
from polyvolta.cuda.ir.block_order import Lemma
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.sets import Set, nearest

if TYPE_CHECKING:
    from polyvolta.compiler.options import Options


@dataclass(frozen=True, slots=True)
class Rule:
    """Sizes, and the variant for them.

    Parameters
    ----------
    names : of all sizes.
    bounds : for each the least and the largest one, None: there is none.
    variant : its number.

    >>> rule = Rule(("M", "N", "K"), ((None, 512), (129, 256), (None, None)), 0)
    >>> print(rule)
    M <= 512 and 129 <= N <= 256: variant 0
    >>> print(rule.condition)
    { [M, N, K] : 0 <= M <= 512 and 129 <= N <= 256 and K >= 0 }
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[int | None, int | None], ...]
    variant: int

    def holds(self, sizes: Sequence[int]) -> bool:
        """Whether sizes, in the order of the names, are in the box."""
        for size, (low, high) in zip(sizes, self.bounds):
            if low is not None and size < low or high is not None and size > high:
                return False
        return True

    @property
    def words(self) -> str:
        """What it asks of sizes, as text; "any sizes" if nothing."""
        pairs = zip(self.names, self.bounds, strict=True)
        return " and ".join(between(name, *ends) for name, ends in pairs if ends != (None, None)) or "any sizes"

    @property
    def condition(self) -> Set:
        """The box, as a set of sizes from 0 on."""
        asked = f" and {self.words}" if self.words != "any sizes" else ""
        return Set(f"{{ [{', '.join(self.names)}] : {_natural(self.names)}{asked} }}")

    def __str__(self) -> str:
        return f"{self.words}: variant {self.variant}"


@dataclass(frozen=True, slots=True)
class Slowdown:
    """By which factor times are longer than those of the best tilings: the geometric mean, and the largest."""

    mean: float
    worst: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} (at most {self.worst:.2f})"


@dataclass(frozen=True, slots=True)
class Decisions(Shown):
    """Which variant is taken for which sizes; it prints as a table, and shows as one in a notebook.

    Attributes
    ----------
    rules : of which one holds, for any sizes.
    options : of the variants.
    ranges : what they were chosen for.
    sampled : the number of sizes in there for which costs were predicted.
    slowdown : what is predicted, over these sizes, of the variants that the rules take, beside what is best for each.
    of_one : likewise of the best single tiling.
    """

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

    def choose(self, /, **sizes: int) -> int:
        """The number of the variant for some sizes.

        Raises
        ------
        MissingSize : a size is missing, unknown, or no int >= 0.
        """
        for name in sizes:
            if name not in self.names:
                raise MissingSize(f"the kernel has no size {name!r}", hint=nearest(name, self.names))
        if missing := [name for name in self.names if name not in sizes]:
            raise MissingSize(f"the size {missing[0]} is missing",
                              hint=f"choose({', '.join(f'{n}=...' for n in self.names)})")  # fmt: skip
        for name, size in sizes.items():
            if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
                raise MissingSize(f"the size {name} is an int, at least 0, not {size!r}")
        return self.taken([sizes[name] for name in self.names])

    def taken(self, sizes: Sequence[int]) -> int:
        """As `choose`, for sizes in the order of the names, which aren't looked at."""
        return next(rule.variant for rule in self.rules if rule.holds(sizes))

    def proof(self) -> tuple[Lemma, ...]:
        """That each size from 0 on is in the box of one rule, and of one alone; decided by sets.

        Cost: some ms, with the square of the number of rules.
        """
        boxes = [rule.condition for rule in self.rules]
        natural = Set(f"{{ [{', '.join(self.names)}] : {_natural(self.names)} }}")
        left = natural
        for box in boxes:
            left = left - box
        shared = [a & b for a, b in combinations(boxes, 2)]
        both = next((x for x in shared if not x.is_empty()), None)
        union = " | ".join(f"{{ {rule.words} }}" for rule in self.rules)
        return (
            Lemma("sizes are in the box of a rule", f"{natural} - ({union})"
                  + ("" if left.is_empty() else f" has {left.sample()}"), left.is_empty()),
            Lemma("sizes are in the box of no two rules", f"{len(shared)} pairs of boxes have nothing in common"
                  if both is None else f"{both} is in two", both is None),
        )  # fmt: skip

    @property
    def tables(self) -> tuple[Table]:
        """The rules, with the tiles that each leads to."""
        known = labels(self.options)
        rows = tuple((rule.words, str(rule.variant), known[rule.variant]) for rule in self.rules)
        count = len(self.options)
        title = f"{count} variant{'s' * (count > 1)} for {self.ranges}"
        note = f"Predicted at {self.sampled} sizes: {self.slowdown} times what the best tiling for each takes"
        note += f"; with one for all, {self.of_one}." if count > 1 else "."
        tiles = "block_tile" + ", and what else differs" * (count > 1)
        return (Table(title, ("sizes", ">variant", tiles), rows, note),)


def labels(options: Sequence[Options]) -> list[str]:
    """What tells some options apart, and the block tiles.

    >>> from polyvolta import Options
    >>> labels([Options(block_tile=(64, 64, 32), split_k=2), Options(block_tile=(64, 64, 32), split_k=1)])
    ['64x64x32, split_k=2', '64x64x32, split_k=1']
    """
    differing = [name for name in OPTIONS[1:] if len({getattr(o, name) for o in options}) > 1]
    return [", ".join(["x".join(map(str, o.block_tile)), *(f"{name}={getattr(o, name)!r}" for name in differing)])
            for o in options]  # fmt: skip


def _natural(names: Sequence[str]) -> str:
    return " and ".join(f"{name} >= 0" for name in names)
