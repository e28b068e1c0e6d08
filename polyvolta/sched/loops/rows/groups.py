"""Which instances share a loop: the values of a member are cut into groups that run one after another.

Lanes that say the same of the member's column form a class. Class p *precedes* q when no value of p is at or above a
value of q, whatever the values outside. Classes of which neither precedes the other are interleaved and must share a
loop; so the strongly connected components of "does not come after" are the groups, in topological order.

The types of loops change what the classes are. `atomic` makes one group of all. `separate` first cuts the values into
cells, in each of which the same classes have values throughout. And what a band isolates is cut out beforehand:

    elsewhere   nothing is isolated at these values outside
    before      below a lower bound of what is isolated
    inside      isolated
    after       above an upper bound

Where that is a union, its disjoint pieces cut one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import Key, System, coefficient, negated, plus, without

MANY = 6  # classes beyond which values are not cut into cells
CELLS = 24  # cells beyond which that is given up


@dataclass(slots=True)
class Group:
    """Lanes that share a loop; `cell` bounds it, if their shadows do not."""

    lanes: list[Lane]
    cell: System | None = None

    def classes(self, k: int, col: int) -> list[System]:
        """The distinct shadows of the column."""
        return [shadow(c, k, col) for c in classes(self.lanes, k, col)]


def classes(lanes: Sequence[Lane], k: int, col: int) -> list[list[Lane]]:
    """Lanes by what they say of a column."""
    if len(lanes) == 1:
        return [list(lanes)]
    found: dict[tuple, list[Lane]] = {}
    for lane in lanes:
        found.setdefault(lane.shadows[k].rows_of(col), []).append(lane)
    return list(found.values())


def shadow(lanes: Sequence[Lane], k: int, col: int) -> System:
    """What all lanes of a class say: their shadow if they have one, else its rows that speak of the column."""
    first = lanes[0].shadows[k]
    if all(lane.shadows[k].ineqs == first.ineqs and lane.shadows[k].eqs == first.eqs for lane in lanes[1:]):
        return first
    ineqs, eqs, mods = first.rows_of(col)
    out = System()
    out.ineqs, out.eqs, out.mods = dict(ineqs), list(eqs), list(mods)
    return out


def groups(
    known: Known,
    lanes: Sequence[Lane],
    k: int,
    col: int,
    loop_type: str,
    first: Callable[[Lane, Lane], bool] | None = None,
) -> list[Group] | None:
    """The groups of some lanes in the order in which they run; None where there is too much to separate.

    Parameters
    ----------
    first : whether, at equal values, one lane may run wholly before another.
    """
    each = classes(lanes, k, col)
    if len(each) == 1 or loop_type == "atomic":
        return [Group(list(lanes))]
    found: list[System] | None = None
    if loop_type == "separate":
        found = cells(known, [shadow(c, k, col) for c in each]) if len(each) <= MANY else None
        if found is None:
            return None
        items = []
        for cell in found:
            inside = [lane.restrict(cell, k) for lane in lanes]
            inside = [lane for lane in inside if not lane.empty and not known.excludes(lane.shadows[k])]
            if inside:
                items.append((cell, inside))
    else:
        items = [(shadow(c, k, col), c) for c in each]
    out = []
    may = [[first is not None and all(first(a, b) for a in p for b in q) for _, q in items] for _, p in items]
    for component in components(known, [s for s, _ in items], col, may):
        together = [lane for at in component for lane in items[at][1]]
        alone = found is not None and len(component) == 1
        out.append(Group(together, items[component[0]][0] if alone else None))
    return out


def components(known: Known, shadows: Sequence[System], col: int, may: Sequence[Sequence[bool]]) -> list[list[int]]:
    """The strongly connected components of "does not come after", in order; `may[p][q]`: p may be first at a tie."""
    n = len(shadows)
    ends = [_ends(s, col) for s in shadows]
    # reach[p][q]: q must not run wholly before p
    reach = [[p != q and not _precedes(known, shadows, ends, q, p, col, may[q][p]) for q in range(n)] for p in range(n)]
    for m in range(n):
        for p in range(n):
            if reach[p][m]:
                reach[p] = [a or b for a, b in zip(reach[p], reach[m], strict=True)]
    todo, out = list(range(n)), []
    while todo:
        first = next(p for p in todo if all(reach[p][q] or not reach[q][p] for q in todo if q != p))
        component = [q for q in todo if q == first or (reach[first][q] and reach[q][first])]
        out.append(component)
        todo = [q for q in todo if q not in component]
    return out


def _ends(s: System, col: int) -> tuple[int | None, int | None]:
    """Constant bounds that a shadow states of a column."""
    low, high = s.ineqs.get(((col, 1),)), s.ineqs.get(((col, -1),))
    for key, const in s.eqs:
        if len(key) == 1 and key[0][0] == col:
            return -const * key[0][1], -const * key[0][1]
    return None if low is None else -low, high


def _precedes(known: Known, shadows: Sequence[System], ends: list, p: int, q: int, col: int, tie: bool) -> bool:
    """Whether every value of p is below every value of q, or at it if a tie may be, at any values outside."""
    (low, high), (low_q, high_q) = ends[p], ends[q]
    if high is not None and low_q is not None and high < low_q + tie:
        return True
    if None not in (low, high, low_q, high_q) and all(
        len(key) == 1 for s in (shadows[p], shadows[q]) for key, _ in s.every_ge() if coefficient(key, col)
    ):
        return False
    twin = known.columns.twin(col)
    rows = list(shadows[p].every_ge())
    for key, const in shadows[q].every_ge():
        v = coefficient(key, col)
        rows.append((plus(1, without(key, col), v, ((twin, 1),)), const) if v else (key, const))
    rows.append((plus(1, ((col, 1),), -1, ((twin, 1),)), -1 if tie else 0))
    return known.tableau(rows).empty


# ---- cells


def cells(known: Known, shadows: Sequence[System]) -> list[System] | None:
    """Disjoint systems whose union is that of the shadows, each within or apart from every one of them.

    None where there would be too many.
    """
    out: list[System] = []
    for s in shadows:
        rows = [r for r in s.every_ge() if not known.says(*r)]
        new, rest = [], [_of_rows(rows)]
        for cell in out:
            both = cell.copy().add(_of_rows(rows))
            if not known.excludes(both):
                new.append(both)
            new += difference(known, cell, rows)
            rest = [r for part in rest for r in difference(known, part, list(cell.every_ge()))]
            if len(rest) + len(new) > CELLS:
                return None
        out = new + rest
        if len(out) > CELLS:
            return None
    return out


def difference(known: Known, a: System, rows: Sequence[tuple[Key, int]]) -> list[System]:
    """Disjoint systems of the points of `a` at which not all rows hold."""
    out = []
    a = a.copy()
    for key, const in rows:
        part = a.copy()
        part.ge(negated(key), -const - 1)
        if not part.empty and not known.excludes(part):
            out.append(part)
            a.ge(key, const)
    return out


def _of_rows(rows: Sequence[tuple[Key, int]]) -> System:
    out = System()
    for row in rows:
        out.ge(*row)
    return out


# ---- what is isolated


def isolated(known: Known, lanes: Sequence[Lane], number: int, k: int, col: int, region: System) -> list[list[Lane]]:
    """The lanes elsewhere, before, inside and after region `number` over what is outside and loop k."""
    aside, low, high = [], [], []
    for key, const in region.every_ge():
        if not known.says(key, const):
            v = coefficient(key, col)
            (low if v > 0 else high if v < 0 else aside).append((key, const))
    out: list[list[Lane]] = [[], [], [], []]
    for lane in lanes:
        if number in lane.left:
            out[0].append(lane)
            continue
        rest = lane
        for at, rows in ((0, aside), (1, low), (3, high)):
            for key, const in rows:
                part, keep = System(), System()
                part.ge(negated(key), -const - 1)
                keep.ge(key, const)
                part = rest.restrict(part, k)
                if not part.empty and not known.excludes(part.shadows[k]):
                    part.left |= {number}
                    out[at].append(part)
                    rest = rest.restrict(keep, k)
        if not rest.empty and not known.excludes(rest.shadows[k]):
            out[2].append(rest)
    return [part for part in out if part]
