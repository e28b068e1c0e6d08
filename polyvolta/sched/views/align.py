"""The cheapest way to turn one tree into another: which nodes correspond.

Nodes may be deleted (their children move up), inserted and changed in place; what stands above and what stands first
stays so. The distance is Zhang and Shasha's (SIAM J. Comput. 1989): trees are numbered from the leaves up, and the
distances of forests between two such numbers are tabled for every pair of subtrees that begin at a new leaf. Time
O(n m d e) for trees of n and m nodes and depths d and e.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyvolta.sched.tree import Path

Cost = Callable[[int, int], float]


class _Numbering:
    """The nodes of a tree, given by their paths in reading order, numbered from 1 in postorder."""

    def __init__(self, paths: Sequence[Path]) -> None:
        place = {at: k for k, at in enumerate(paths)}
        children: dict[Path, list[Path]] = {at: [] for at in paths}
        for at in paths:
            if at:
                children[at[:-1]].append(at)
        self.order = [0]  # number -> position in the reading order
        self.first = [0]  # number -> number of the leftmost leaf below
        self._number(paths[0], children, place)
        last = {self.first[k]: k for k in range(1, len(self.first))}
        self.roots = sorted(last.values())

    def _number(self, at: Path, children: dict[Path, list[Path]], place: dict[Path, int]) -> int:
        below = [self._number(c, children, place) for c in children[at]]
        self.order.append(place[at])
        self.first.append(self.first[below[0]] if below else len(self.order) - 1)
        return len(self.order) - 1


def align(old: Sequence[Path], new: Sequence[Path], change: Cost) -> list[tuple[int, int]]:
    """The pairs (position in `old`, position in `new`) of nodes that correspond, in reading order.

    Parameters
    ----------
    old, new : the paths of the nodes of two trees in reading order; a parent stands before its children.
    change : what it costs to make the one node of the other; deleting or inserting one costs 1.
    """
    a, b = _Numbering(old), _Numbering(new)
    cost = [[0.0] * len(b.order) for _ in a.order]
    for i in range(1, len(a.order)):
        for j in range(1, len(b.order)):
            cost[i][j] = change(a.order[i], b.order[j])
    trees = [[0.0] * len(b.order) for _ in a.order]
    for i in a.roots:
        for j in b.roots:
            _forests(a, b, i, j, cost, trees, store=True)
    pairs: list[tuple[int, int]] = []
    _trace(a, b, len(a.order) - 1, len(b.order) - 1, cost, trees, pairs)
    return sorted(pairs)


def _forests(
    a: _Numbering, b: _Numbering, i: int, j: int, cost: list[list[float]], trees: list[list[float]], store: bool
) -> dict[tuple[int, int], float]:
    """The distances between the first parts of two subtrees; those of whole subtrees are kept in `trees`."""
    la, lb = a.first[i], b.first[j]
    d = {(la - 1, lb - 1): 0.0}
    for x in range(la, i + 1):
        d[x, lb - 1] = d[x - 1, lb - 1] + 1
    for y in range(lb, j + 1):
        d[la - 1, y] = d[la - 1, y - 1] + 1
    for x in range(la, i + 1):
        for y in range(lb, j + 1):
            best = min(d[x - 1, y] + 1, d[x, y - 1] + 1)
            if a.first[x] == la and b.first[y] == lb:
                best = min(best, d[x - 1, y - 1] + cost[x][y])
                if store:
                    trees[x][y] = best
            else:
                best = min(best, d[a.first[x] - 1, b.first[y] - 1] + trees[x][y])
            d[x, y] = best
    return d


def _trace(
    a: _Numbering, b: _Numbering, i: int, j: int, cost: list[list[float]], trees: list[list[float]], pairs: list
) -> None:
    """Collect the pairs that give the distance of two subtrees."""
    d = _forests(a, b, i, j, cost, trees, store=False)
    la, lb = a.first[i], b.first[j]
    x, y = i, j
    while x >= la and y >= lb:
        here = d[x, y]
        whole = a.first[x] == la and b.first[y] == lb
        if whole and here == d[x - 1, y - 1] + cost[x][y]:
            pairs.append((a.order[x], b.order[y]))
            x, y = x - 1, y - 1
        elif here == d[x - 1, y] + 1:
            x -= 1
        elif here == d[x, y - 1] + 1:
            y -= 1
        else:
            _trace(a, b, x, y, cost, trees, pairs)
            x, y = a.first[x] - 1, b.first[y] - 1
