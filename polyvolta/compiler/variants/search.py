"""Which few tilings, and which where: a search over a table of times, one for each point of a sample and each tiling.

What counts is by which factor a tiling is slower than the best one of all at a point, and of these factors the
geometric mean; so the table is of their logarithms, the *losses*, and sums of losses are compared.

1. *Which few*: the one with the least sum; then, as long as more are allowed, the one that together with those before
   lowers the sum of each point's least loss the most; then each is exchanged for another one while that helps.
2. *Where*: boxes of sizes, see `tree`.
3. Boxes ask for fewer distinctions than points. So the few are chosen anew for the boxes' sums of losses, boxes are cut
   anew for these, and so on as long as that lowers the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyvolta.compiler.variants.tree import Bounds, cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

BOXES = 4
"""As many for each variant at most: a rule is to be read."""
ROUNDS = 8
SLOWEST = 1e6
"""Factors beyond are all the same: so is a tiling that can't serve a point."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Sizes for which one tiling is taken.

    Attributes
    ----------
    bounds : of its sizes.
    members : the points in it, by number.
    choice : the tiling, a column of the losses.
    """

    bounds: Bounds
    members: NDArray[Any]
    choice: int


def losses_of(times: NDArray[Any]) -> NDArray[Any]:
    """The logarithms of how many times slower than the best one each tiling is; (points, tilings).

    >>> losses_of(np.array([[2.0, 2.0, np.inf], [1.0, np.e, 1.0]])).round(2).tolist()
    [[0.0, 0.0, 13.82], [0.0, 1.0, 0.0]]
    """
    return np.log(np.minimum(times / times.min(axis=1, keepdims=True), SLOWEST))


def best_few(losses: NDArray[Any], few: int) -> list[int]:
    """At most so many columns whose least losses, row by row, have a small sum: found one by one, then by exchanges.

    Of one column it is the best; of several one that no exchange of one column betters.

    >>> best_few(np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [5.0, 5.0, 0.0]]), 2)
    [0, 2]
    """
    chosen: list[int] = []
    least = np.full(len(losses), np.inf)
    while len(chosen) < few:
        totals = np.minimum(losses, least[:, None]).sum(axis=0)
        column = int(totals.argmin())
        if chosen and not totals[column] < least.sum():
            break
        chosen.append(column)
        least = losses[:, chosen].min(axis=1)
    bettered = True
    while bettered:
        bettered = False
        for at in range(len(chosen)):
            rest = losses[:, chosen[:at] + chosen[at + 1 :]].min(axis=1, initial=np.inf)
            totals = np.minimum(losses, rest[:, None]).sum(axis=0)
            column = int(totals.argmin())
            if totals[column] < totals[chosen[at]] - 1e-9:
                chosen[at], bettered = column, True
    return chosen


def boxes_of(points: NDArray[Any], losses: NDArray[Any], few: int, most: int | None = None) -> list[Box]:
    """Boxes that share out all sizes, and one of at most `few` tilings for each; from small sizes to large ones.

    Parameters
    ----------
    points : sizes, (points, axes).
    losses : of the tilings there, (points, tilings).
    most : boxes; `BOXES` for each of the few if missing.

    Cost: some tenths of a second for 512 points of three axes and 100 tilings.

    >>> sizes = np.array([[8], [16], [64], [256], [1024]])
    >>> times = np.array([[1, 3], [1, 2], [1, 1.5], [3, 1], [4, 1]])
    >>> [(box.bounds, box.choice) for box in boxes_of(sizes, losses_of(times), 2)]
    [(((None, 128),), 0), (((129, None),), 1)]
    """
    best: list[Box] = []
    least = np.inf
    chosen = best_few(losses, few)
    for _ in range(ROUNDS):
        cuts = cut(points, losses[:, chosen], most or BOXES * few)
        boxes = [Box(bounds, np.flatnonzero(_within(points, bounds)), chosen[c]) for bounds, c in cuts]
        total = sum(losses[b.members, b.choice].sum() for b in boxes)
        if not total < least - 1e-9:
            break
        best, least = boxes, total
        chosen = best_few(np.array([losses[b.members].sum(axis=0) for b in boxes]), few)
    return _joined(best)


def _within(points: NDArray[Any], bounds: Bounds) -> NDArray[Any]:
    """Which points are in a box."""
    held = np.ones(len(points), bool)
    for along, (low, high) in zip(points.T, bounds, strict=True):
        held &= (low is None or along >= low) & (high is None or along <= high)
    return held


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Boxes of one choice that lie side by side, and are as wide along all other axes, as one."""
    found = list(boxes)
    pairs = ((a, b) for a in range(len(found)) for b in range(len(found)) if a != b)
    for a, b in pairs:
        one, other = found[a], found[b]
        differing = [x for x, (p, q) in enumerate(zip(one.bounds, other.bounds, strict=True)) if p != q]
        if one.choice != other.choice or len(differing) != 1:
            continue
        axis = differing[0]
        (low, end), (start, high) = one.bounds[axis], other.bounds[axis]
        if end is not None and start == end + 1:
            bounds = (*one.bounds[:axis], (low, high), *one.bounds[axis + 1 :])
            whole = Box(bounds, np.concatenate([one.members, other.members]), one.choice)
            return _joined([whole if n == min(a, b) else x for n, x in enumerate(found) if n != max(a, b)])
    return found
