"""Rows that define floors, and points at a guess: what the other variables are, floors follow of.

A system over variables and floors has two rows for each floor, `0 <= e - d*q <= d - 1`. What is left of it speaks of
the other variables, and a point of it is whatever these may be: so a few values of them, near a vertex or in the
middle of their ranges, are tried before anything is searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .rows import Row, evaluate, negate
from .simplex import Tableau

Point = tuple[int, ...]
Div = tuple[int, Row]
Defined = tuple[list[int], list[Div], list[Row]]
"""Columns, those that are no floor first; the floors; and the rows that don't define these: what `defined` reads."""


def defined(n: int, ineqs: Sequence[Row]) -> Defined:
    """Pairs `0 <= e - d*q <= w`, w < d, read as q = floor(e/d) and, if w < d - 1, the second of them.

    Returns the columns, those that are no floor first; the floors, each over the columns before it in that order; and
    the other rows.
    """
    best = {row[1:]: row for row in ineqs}
    floors: dict[int, tuple[Row, Row]] = {}  # column -> the row with -d and the other one
    needs: dict[int, set[int]] = {}
    for normal, row in best.items():
        other = best.get(negate(normal))
        if other is None:
            continue
        width = row[0] + other[0] + 1
        for k in sorted(range(n), key=lambda k: normal[k]):
            if -normal[k] >= width and k not in floors:
                used = {j for j in range(n) if normal[j] and j != k}
                if not _leads_to(used, k, needs):
                    floors[k], needs[k] = (row, other), used
                    break
    order = [k for k in range(n) if k not in floors]
    left = dict.fromkeys(floors)
    while left:
        k = next(k for k in left if not needs[k] & left.keys())
        order.append(k)
        del left[k]
    divs = []
    for at in range(n - len(floors), n):
        row = floors[order[at]][0]
        divs.append((-row[1 + order[at]], (row[0], *[row[1 + j] for j in order[:at]])))
    said = set()
    for k, (row, other) in floors.items():
        said |= {row, other} if row[0] + other[0] + 1 == -row[1 + k] else {row}
    return order, divs, [row for row in ineqs if row not in said]


def _leads_to(start: set[int], goal: int, needs: dict[int, set[int]]) -> bool:
    """Whether a column is needed, directly or not, by one of some columns."""
    seen, stack = set(start), list(start)
    while stack:
        k = stack.pop()
        if k == goal:
            return True
        new = needs.get(k, set()) - seen
        seen |= new
        stack += new
    return False


def near(n: int, ineqs: Sequence[Row], tab: Tableau, said: Defined) -> Point | None:
    """A vertex, the variables that are no floors rounded to nearest, down or up; floors follow. None proves nothing.

    O(size), no linear program: where most rows define floors, what follows satisfies these whatever the variables are.
    """
    order, divs, _ = said
    vertex = tab.sample()
    for values in roundings([vertex[k] for k in order[: n - len(divs)]]):
        point = _following(n, ineqs, values, said)
        if point is not None:
            return point
    return None


def roundings(vertex: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Coordinates (num, den) rounded to nearest, and down and up where that is something else.

    >>> list(roundings([(7, 4), (3, 1)])), list(roundings([(3, 1)]))
    ([[2, 3], [1, 3]], [[3]])
    """
    nearest = [(2 * a + b) // (2 * b) for a, b in vertex]
    yield nearest
    for values in [a // b for a, b in vertex], [-(-a // b) for a, b in vertex]:
        if values != nearest:
            yield values


def dived(n: int, ineqs: Sequence[Row], tab: Tableau, said: Defined) -> Point | None:
    """A point found by fixing variables that are no floors, one after another; floors follow. None proves nothing.

    Each is fixed in the middle of the range that those before leave it, or at an end. That is two linear programs for
    each, where a thin direction takes tens. The tableau comes back as it was, also where the budget ends here.
    """
    order, divs, _ = said
    mark, values = tab.mark(), list[int]()
    try:
        for k in order[: n - len(divs)]:
            unit = [0] * (n + 1)
            unit[k + 1] = 1
            least, most = tab.minimum(unit), tab.maximum(unit)
            low, high = least and -(-least[0] // least[1]), most and most[0] // most[1]
            values.append((low + high) // 2 if low is not None and high is not None else (low or high or 0))
            unit[0] = -values[-1]
            tab.add_eq(unit)
            if tab.empty:
                return None
    finally:
        tab.rollback(mark)
    return _following(n, ineqs, values, said)


def _following(n: int, ineqs: Sequence[Row], values: Sequence[int], said: Defined) -> Point | None:
    """The point of some values of the variables that are no floors, if it satisfies the inequalities."""
    order, divs, _ = said
    found = [*values]
    for den, row in divs:
        found.append(evaluate(row, found) // den)
    point = [0] * n
    for k, value in zip(order, found, strict=True):
        point[k] = value
    return tuple(point) if all(evaluate(row, point) >= 0 for row in ineqs) else None
