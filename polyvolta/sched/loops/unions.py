"""Where statements share a loop, and where not: the union of their values as pieces without holes.

    S1[i] -> [i], S2[i] -> [i + 1]      one piece from 0 to n, with tests inside
    S1[i] -> [i], S2[] -> [1000]        two: no loop runs from n to 1000 to find S2 there
    S1[j] -> [5, j], S2[i] -> [i, i]    of the second member, two: the row at 5, and a point in each other row

Statements that take turns share a loop (`groups`), which runs from the least to the greatest of their values. Where these
are no interval, at some values outside, most iterations would find nothing. So of the shadows, over what is outside and
the member, those are joined whose union is a conjunction; the others are made disjoint, and each piece is a loop of
its own if the order allows. isl's generator does the same with the domain of a loop (Grosser, Verdoolaege and Cohen,
TOPLAS 37, 2015, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.rows.groups import Group, classes, difference, in_order
from polyvolta.sched.loops.rows.known import Known, always
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System, coefficient
from polyvolta.sched.loops.rows.order import First

MANY = 12  # shadows of which no union is made
PIECES = 16  # pieces of a union beyond which there is one loop


def parted(known: Known, group: Group, k: int, columns: Sequence[int], first: First | None) -> list[Group]:
    """A group as one for each piece of the union of its lanes' values, in order; as it is where there is no order."""
    col = columns[k]
    if len(classes(group.lanes, k, col)) < 2:
        return [group]
    cells = _pieces(known, _shadows(known, group.lanes, k, col), col)
    if len(cells) < 2:
        return [group]
    items: list[list[Lane]] = []
    for cell in cells:
        inside = [lane.restrict(cell, k) for lane in group.lanes]
        inside = [lane for lane in inside if not lane.empty and not known.excludes(lane.shadows[k])]
        if inside:
            items.append(inside)
    found = in_order(known, items, k, columns, first)
    return [Group(lanes) for lanes in found] if len(found) > 1 else [group]


def _shadows(known: Known, lanes: Sequence[Lane], k: int, col: int) -> list[System]:
    """What lanes say of a column and of what is outside, without congruences; those with few equalities first."""
    found: dict[tuple, System] = {}
    for lane in lanes:
        s = System()
        s.eqs, s.ineqs = list(lane.shadows[k].eqs), dict(lane.shadows[k].ineqs)
        found.setdefault((frozenset(s.eqs), frozenset(s.ineqs.items())), s)
    return sorted(found.values(), key=lambda s: any(coefficient(key, col) for key, _ in s.eqs))


def _pieces(known: Known, shadows: Sequence[System], col: int) -> list[System]:
    """Disjoint systems whose union is that of shadows; none where they would be too many."""
    if not 1 < len(shadows) <= MANY:
        return []
    out: list[System] = []
    for piece in _joined(known, [_new(known, s, col) for s in shadows]):
        left = [piece]
        for old in out:
            left = [part for whole in left for part in difference(known, whole, list(old.every_ge()))]
        out += left
        if len(out) > PIECES:
            return []
    return out


def _joined(known: Known, systems: list[System]) -> list[System]:
    """Fewer systems with the same union: two of them are one where that has no more points."""
    out: list[System] = []
    for s in systems:
        k = 0
        while k < len(out):
            both = _union(known, out[k], s)
            if both is None:
                k += 1
            else:
                del out[k]
                s, k = both, 0  # noqa: PLW2901
        out.append(s)
    return out


def _union(known: Known, a: System, b: System) -> System | None:
    """The union of two systems, if the rows of each that hold on the other are a system of it."""
    out = System()
    for one, other in ((a, b), (b, a)):
        tab = known.tableau(other.every_ge())
        for row in one.every_ge():
            if always(known, tab, *row):
                out.ge(*row)
    out.untie()
    for part in difference(known, out, list(a.every_ge())):
        for rest in difference(known, part, list(b.every_ge())):
            if not known.excludes_exactly(rest):
                return None
    return out


def _new(known: Known, system: System, col: int) -> System:
    """The rows of a system that are not known, and those that let the column have a value."""
    out = System()
    out.eqs = [row for row in system.eqs if not known.implies_zero(*row)]
    for row in system.ineqs.items():
        out.ge(*known.tight(*row))
    for row in out.without((col,), known.low, known.high).ineqs.items():
        out.ge(*known.tight(*row))
    out.ineqs = {key: const for key, const in out.ineqs.items() if not known.implies(key, const)}
    return out
