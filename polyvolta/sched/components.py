"""What hangs together: components of a graph of what has to come before what, in an order that keeps the program's.

Statements that depend on each other in a cycle (a strongly connected component) have to share a loop, or one that
comes before the other at equal times. Components that are not connected at all may run in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

Arc = tuple[int, int]


def strongly_connected(nodes: Sequence[int], arcs: Iterable[Arc]) -> list[tuple[int, ...]]:
    """The strongly connected components in an order in which all arcs go forward; O(nodes + arcs), Tarjan 1972.

    Among the orders possible the one that takes at each step the component with the first of the nodes, and each lists
    its nodes in the order given.

    >>> strongly_connected([0, 1, 2, 3], [(3, 0), (1, 2), (2, 1)])
    [(1, 2), (3,), (0,)]
    """
    place = {v: k for k, v in enumerate(nodes)}
    between = [(a, b) for a, b in dict.fromkeys(arcs) if a in place and b in place and a != b]
    if all(place[a] < place[b] for a, b in between):
        return [(v,) for v in nodes]
    after: dict[int, list[int]] = {v: [] for v in nodes}
    for a, b in between:
        after[a].append(b)
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    component: dict[int, int] = {}
    members: list[list[int]] = []
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        stack.append(root)
        walk = [(root, iter(after[root]))]
        while walk:
            v, rest = walk[-1]
            for w in rest:
                if w not in number:
                    number[w] = low[w] = len(number)
                    stack.append(w)
                    walk.append((w, iter(after[w])))
                    break
                if w not in component:
                    low[v] = min(low[v], number[w])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[v])
                if low[v] == number[v]:
                    own: list[int] = []
                    while v not in component:
                        own.append(stack.pop())
                        component[own[-1]] = len(members)
                    members.append(sorted(own, key=place.__getitem__))
    arcs_between = {(component[a], component[b]) for a in nodes for b in after[a] if component[a] != component[b]}
    return [tuple(members[k]) for k in _in_order([place[m[0]] for m in members], arcs_between)]


def _in_order(rank: Sequence[int], arcs: Iterable[Arc]) -> list[int]:
    """A topological order of 0..n-1 that takes the least rank at each step."""
    waiting = [0] * len(rank)
    after: list[list[int]] = [[] for _ in rank]
    for a, b in arcs:
        waiting[b] += 1
        after[a].append(b)
    ready = [(rank[k], k) for k, w in enumerate(waiting) if not w]
    heapify(ready)
    out = []
    while ready:
        _, k = heappop(ready)
        out.append(k)
        for b in after[k]:
            waiting[b] -= 1
            if not waiting[b]:
                heappush(ready, (rank[b], b))
    return out


def connected(nodes: Sequence[int], arcs: Iterable[Arc]) -> list[tuple[int, ...]]:
    """The components that no arc joins, whatever its direction, by their first nodes; O(nodes * arcs).

    >>> connected([0, 1, 2, 3], [(2, 0), (1, 1)])
    [(0, 2), (1,), (3,)]
    """
    group = {v: v for v in nodes}
    for a, b in arcs:
        if a in group and b in group and group[a] != group[b]:
            old, new = group[b], group[a]
            group = {v: new if g == old else g for v, g in group.items()}
    out: dict[int, list[int]] = {}
    for v in nodes:
        out.setdefault(group[v], []).append(v)
    return [tuple(g) for g in out.values()]
