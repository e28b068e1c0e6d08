"""Which tilings a kernel for ranges of sizes gets: candidates, what they cost at a sample of sizes, and the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.options import Options
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.compiler.tuning import choose
from polyvolta.compiler.variants.decisions import Decisions, Rule, Slowdown
from polyvolta.compiler.variants.search import best_few, boxes_of, losses_of
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyvolta.compiler.needs import Needs
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.compiler.variants.ranges import Ranges
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


LARGE = ("block_tile", "split_k", "group", "occupancy", "persistent", "pingpong", "swap", "cluster")
"""Options of a candidate around which the rule can choose the others anew."""


def with_given(candidates: Iterable[Tiling], given: Options, needs: Needs, target: Target) -> tuple[Tiling, ...]:
    """Candidates with the values that were given instead of theirs, those that are legal then, each once.

    Where a value doesn't go with a candidate's others, the rule chooses these others.
    """
    values = {name: getattr(given, name) for name in given.given}
    found: dict[Tiling, None] = {}
    for candidate in candidates:
        tiling = replace(candidate, **values)
        if not _legal(tiling, needs, target):
            tiling = choose({**{n: getattr(candidate, n) for n in LARGE}, **values}, needs, target)
        if _legal(tiling, needs, target):
            found[tiling] = None
    return tuple(found)


def _legal(tiling: Tiling, needs: Needs, target: Target) -> bool:
    return next(tiling.problems(target, needs), None) is None


def decide(ranges: Ranges, candidates: Sequence[Tiling], costs: Costs, few: int) -> Decisions:
    """Decisions between at most `few` of the candidates: those that are fastest over the ranges, by the geometric mean.

    Parameters
    ----------
    candidates : at least one.
    costs : of some tilings at some sizes.

    Cost: that of the costs, once for each candidate at each size of the sample, and some ms.
    """
    sample = ranges.sample()
    losses = losses_of(np.asarray(costs(candidates, sample), float))
    points = np.array([list(sizes.values()) for sizes in sample])
    boxes = boxes_of(points, losses, few)
    chosen = list(dict.fromkeys(box.choice for box in boxes))
    rules = tuple(Rule(ranges.names, box.bounds, chosen.index(box.choice)) for box in boxes)
    taken = np.concatenate([losses[box.members, box.choice] for box in boxes])
    one = losses[:, best_few(losses, 1)[0]]
    options = tuple(Options(**{name: getattr(candidates[c], name) for name in OPTIONS}) for c in chosen)
    return Decisions(rules, options, ranges, len(sample), _slowdown(taken), _slowdown(one))


def _slowdown(losses: NDArray[Any]) -> Slowdown:
    return Slowdown(float(np.exp(losses.mean())), float(np.exp(losses.max())))
