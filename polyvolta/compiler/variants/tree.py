"""Boxes of sizes, cut one by one: a decision tree whose questions are whether a size exceeds a number.

1. *Growing*. The tree begins as a leaf, all sizes, with the one tiling that is best for all points. A leaf is cut in
   two along one axis, where each half takes the tiling that is best for it as a whole. Of all leaves and cuts the one
   is next that lowers the sum of losses the most. A cut may help only together with another one inside a half: so each
   is also judged by half of what both lower, for a few numbers along each axis.
2. *Refining*. Cuts were made when what lies below them wasn't known. So each is moved, the rest of the tree being as it
   is, to the axis and number where the points that come by lose the least, again and again as long as that helps
   (Carreira-Perpinan and Tavallali, Alternating optimization of decision trees, 2018).
3. *Pruning*. What lowers the sum by little is taken out.

A cut lies between the sizes of two points; of the numbers there it is after the roundest one, since times change where
a size exceeds a multiple of a tile's side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORTH = 0.003
"""A cut is worth its line if it lowers the geometric mean of all points by this part."""
PASSES = 8
AHEAD = 8
"""Numbers along an axis at which a cut is judged by what one more makes of it."""
Bounds = tuple[tuple[int | None, int | None], ...]
"""Of a box: for each axis the least and the largest size; None: there is none."""
NO_CUT = 0.0, 0, 0


@dataclass(slots=True)
class Node:
    """A question, whether the size along `axis` is at most `last`, with the trees for yes and no; or a leaf."""

    choice: int
    axis: int = 0
    last: int = 0
    below: Node | None = None
    above: Node | None = None

    def chosen(self, points: NDArray[Any]) -> NDArray[Any]:
        """The choice for each of some points."""
        if self.below is None or self.above is None:
            return np.full(len(points), self.choice)
        return np.where(points[:, self.axis] <= self.last, self.below.chosen(points), self.above.chosen(points))

    def leaves(self, bounds: Bounds) -> list[tuple[Bounds, int]]:
        """The boxes of the leaves, within one, and their choices."""
        if self.below is None or self.above is None:
            return [(bounds, self.choice)]
        low, high = bounds[self.axis]
        below, above = ((*bounds[: self.axis], ends, *bounds[self.axis + 1 :])
                        for ends in ((low, self.last), (self.last + 1, high)))  # fmt: skip
        return self.below.leaves(below) + self.above.leaves(above)

    def become(self, other: Node) -> None:
        """What another node is."""
        self.choice, self.axis, self.last = other.choice, other.axis, other.last
        self.below, self.above = other.below, other.above


def cut(points: NDArray[Any], losses: NDArray[Any], most: int) -> list[tuple[Bounds, int]]:
    """All sizes as at most so many boxes, with a column for each that is good for the points in it.

    Parameters
    ----------
    points : sizes, (points, axes).
    losses : (points, columns).
    """
    root = _grown(points, losses, most)
    everything, least = np.arange(len(points)), WORTH * len(points)
    for _ in range(PASSES):
        if not _refined(root, everything, points, losses, least):
            break
    return root.leaves(((None, None),) * points.shape[1])


# ---- growing


def _grown(points: NDArray[Any], losses: NDArray[Any], most: int) -> Node:
    everything = np.arange(len(points))
    root = Node(_best(losses))
    leaves = [(root, everything, _next_cut(points, losses))]
    while len(leaves) < most:
        at = max(range(len(leaves)), key=lambda n: leaves[n][2][0])
        node, members, (gain, axis, last) = leaves.pop(at)
        if gain < WORTH * len(points):
            break
        node.axis, node.last = axis, last
        below = points[members, axis] <= last
        node.below, node.above = (Node(_best(losses[part])) for part in (members[below], members[~below]))
        for half, part in ((node.below, members[below]), (node.above, members[~below])):
            leaves.append((half, part, _next_cut(points[part], losses[part])))
    return root


def _best(losses: NDArray[Any]) -> int:
    return int(losses.sum(axis=0).argmin())


def _next_cut(points: NDArray[Any], losses: NDArray[Any]) -> tuple[float, int, int]:
    """What the best cut of a leaf lowers, or each of two that go together; its axis, and the last size before it."""
    own = losses.sum(axis=0)
    best = _best_cut(points, losses)
    for axis in range(points.shape[1]):
        sizes = np.unique(points[:, axis])
        for at in sorted({len(sizes) * n // (AHEAD + 1) for n in range(1, AHEAD + 1)} - {0}):
            last = roundest(int(sizes[at - 1]), int(sizes[at]) - 1)
            parts = points[:, axis] <= last, points[:, axis] > last
            gain = own.min() - sum(losses[part].sum(axis=0).min() for part in parts)
            gain += max(_best_cut(points[part], losses[part])[0] for part in parts)
            if gain / 2 > best[0] + 1e-9:
                best = float(gain / 2), axis, last
    return best


def _best_cut(points: NDArray[Any], losses: NDArray[Any]) -> tuple[float, int, int]:
    """By how much the best cut lowers the sum, its axis, and the last size before it."""
    total, best = losses.sum(axis=0), NO_CUT
    for axis in range(points.shape[1]):
        sizes, sums = _sums(points[:, axis], losses)
        gains = total.min() - sums.min(axis=1) - (total - sums).min(axis=1)
        if len(gains) and gains.max() > best[0] + 1e-9:
            at = int(gains.argmax())
            best = float(gains[at]), axis, roundest(int(sizes[at]), int(sizes[at + 1]) - 1)
    return best


def _sums(along: NDArray[Any], losses: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The sizes along an axis, in order, and for each but the last the sums of losses up to it."""
    order = along.argsort(kind="stable")
    ends = np.flatnonzero(np.diff(along[order], append=along.max(initial=0) + 1))
    return along[order][ends], losses[order].cumsum(axis=0)[ends[:-1]]


def roundest(low: int, high: int) -> int:
    """The multiple of the largest power of two from `low` to `high`, the first of several.

    >>> [roundest(*pair) for pair in ((100, 140), (129, 140), (7, 7), (100, 200))]
    [128, 136, 7, 128]
    """
    power = 1
    while -(-low // (2 * power)) * 2 * power <= high:
        power *= 2
    return -(-low // power) * power


# ---- refining, pruning


def _refined(node: Node, members: NDArray[Any], points: NDArray[Any], losses: NDArray[Any], least: float) -> bool:
    """Better a tree for the points that come to it: whether that changed anything."""
    own = losses[members]
    best = _best(own)
    if node.below is None or node.above is None:
        changed, node.choice = node.choice != best, best
        return changed
    here = points[members]
    yes, no = (np.take_along_axis(own, half.chosen(here)[:, None], axis=1) for half in (node.below, node.above))
    axis, last = _best_turn(here, yes, no, (node.axis, node.last))
    changed = (axis, last) != (node.axis, node.last)
    node.axis, node.last = axis, last
    below = here[:, axis] <= last
    changed |= _refined(node.below, members[below], points, losses, least) if below.any() else False
    changed |= _refined(node.above, members[~below], points, losses, least) if not below.all() else False
    if below.all() or not below.any():
        node.become(node.below if below.all() else node.above)
        return True
    loss = np.take_along_axis(own, node.chosen(here)[:, None], axis=1).sum()
    if own.sum(axis=0).min() - loss < least:
        node.become(Node(best))
        return True
    return changed


def _best_turn(
    points: NDArray[Any], below: NDArray[Any], above: NDArray[Any], given: tuple[int, int]
) -> tuple[int, int]:
    """Where to cut points whose losses on either side are known: axis and last size; as given, where that's as good."""
    way = points[:, given[0]] <= given[1]
    best, least = given, below[way].sum() + above[~way].sum()
    for axis in range(points.shape[1]):
        sizes, sums = _sums(points[:, axis], below - above)
        totals = above.sum() + sums[:, 0]
        if len(totals) and totals.min() < least - 1e-9:
            at = int(totals.argmin())
            best, least = (axis, roundest(int(sizes[at]), int(sizes[at + 1]) - 1)), totals[at]
    return best
