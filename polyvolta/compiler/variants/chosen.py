"""Which tilings a kernel for ranges of sizes gets: candidates, what they cost at a sample of sizes, and the search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.model import columns_of, predict_all
from polyvolta.compiler.model.sizes import work_of
from polyvolta.compiler.options import Options
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.compiler.variants.decisions import Axis, Decisions, Rule, Slowdown
from polyvolta.compiler.variants.search import best_few, boxes_of, losses_of
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyvolta.compiler.needs import Needs
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.compiler.variants.ranges import Ranges
    from polyvolta.cuda.target.chips import Chip
    from polyvolta.cuda.target.target import Target

Costs = Callable[[Sequence["Tiling"], Sequence[Mapping[str, int]]], "NDArray[Any]"]
"""Seconds of tilings at sizes, (sizes, tilings)."""


class BadVariants(PolyvoltaError, ValueError):
    """A number of variants that a kernel can't have, or one without ranges of sizes."""

    id = "PV422"


def check_variants(variants: object, over: object) -> int:
    """How many variants a kernel may have.

    Raises
    ------
    BadVariants : no int from 1 on, or there are no ranges that variants could be for.
    """
    try:
        count = 0 if isinstance(variants, bool) else index(variants)  # type: ignore[call-overload]
    except TypeError:
        count = 0
    if count < 1:
        raise BadVariants(f"variants is how many tilings a kernel may have, at least 1, not {variants!r}",
                          hint="try variants=3; without it there is one, and no decisions")  # fmt: skip
    if over is None:
        raise BadVariants(f"variants={count} are for ranges of sizes, and there are none",
                          hint="try over={'M': (64, 8192), ...}")  # fmt: skip
    return count


def predicted(needs: Needs, target: Target, chip: Chip) -> Costs:
    """The costs that the model predicts, at sizes that a graph has names for.

    Parameters
    ----------
    chip : the GPU.
    """
    able = target.of_kind(needs.kind)

    def costs(tilings: Sequence[Tiling], points: Sequence[Mapping[str, int]]) -> NDArray[Any]:
        place = {tiling: at for at, tiling in enumerate(tilings)}
        seconds = np.empty((len(points), len(tilings)))
        for columns in columns_of(tilings, needs, able):
            places = [place[tiling] for tiling in columns.tilings]
            for row, sizes in zip(seconds, points, strict=True):
                work = work_of(needs, {name: sizes[name] for name in needs.unknown})
                row[places] = predict_all(columns, needs, chip, work).seconds
        return seconds

    return costs


def axes_of(needs: Needs, ranges: Ranges) -> tuple[Axis, ...]:
    """What rules ask for: each size, and the number of values of the result where both its sides are of many sizes.

    >>> from polyvolta.compiler.needs import Needs
    >>> from polyvolta.compiler.variants.ranges import Ranges
    >>> needs = Needs(extents=(("M", "N", "K"),))
    >>> axes_of(needs, Ranges(("M", "N", "K"), ((1, 64), (64, 512), (512, 512))))
    (('M',), ('N',), ('K',), ('M', 'N'))
    >>> axes_of(needs, Ranges(("M", "N", "K"), ((64, 64), (64, 512), (64, 512))))
    (('M',), ('N',), ('K',))
    """
    free = {name for name, (low, high) in zip(ranges.names, ranges.bounds, strict=True) if low < high}
    sides = tuple(dict.fromkeys(side for side in needs.extents[0][:2] if side in free)) if needs.extents else ()
    return *((name,) for name in ranges.names), *([sides] if len(sides) == 2 else [])


def decide(
    ranges: Ranges, candidates: Sequence[Tiling], costs: Costs, few: int, axes: Sequence[Axis] | None = None
) -> Decisions:
    """Decisions between at most `few` of the candidates: those that are fastest over the ranges, by the geometric mean.

    Parameters
    ----------
    candidates : at least one.
    costs : of some tilings at some sizes.
    axes : what rules may ask for: the sizes first; these alone if missing.

    Cost: that of the costs, once for each candidate at each size of the sample, and up to some seconds for many
    variants.
    """
    axes = tuple(axes or ((name,) for name in ranges.names))
    sample = ranges.sample()
    losses = losses_of(np.asarray(costs(candidates, sample), float))
    points = np.array([[prod(sizes[name] for name in axis) for axis in axes] for sizes in sample])
    boxes = boxes_of(points, losses, few)
    chosen = list(dict.fromkeys(box.choice for box in boxes))
    rules = tuple(Rule(axes, box.bounds, chosen.index(box.choice)) for box in boxes)
    taken = np.concatenate([losses[box.members, box.choice] for box in boxes])
    one = losses[:, best_few(losses, 1)[0]]
    options = tuple(Options(**{name: getattr(candidates[c], name) for name in OPTIONS}) for c in chosen)
    return Decisions(axes, rules, options, ranges, len(sample), _slowdown(taken), _slowdown(one))


def _slowdown(losses: NDArray[Any]) -> Slowdown:
    return Slowdown(float(np.exp(losses.mean())), float(np.exp(losses.max())))
