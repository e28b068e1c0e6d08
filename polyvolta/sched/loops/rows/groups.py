"""Which instances share a loop: the values of a member are cut into groups that run one after another.

Lanes that say the same of the member's column form a class. The lanes of a statement in a class are one item. Items
of which neither can run wholly before the other (`order`) are interleaved and must share a loop; so the strongly
connected components of "does not run wholly after" are the groups, in topological order.

The types of loops change what the items are. With `atomic` each statement is one, whatever its lanes say. `separate`
then cuts the values of a group into cells, in each of which the same classes have values throughout and what lanes say
of sizes and of loops outside is decided, too, if the cells are not too many with that. Where they are even without, as
of seven ranges whose ends nothing orders, there are as many as there are steps for, neighbours that no exact shadow
tells apart as one, and so in all loops inside. Where that is not enough, and classes differ in numbers alone, they are
those of every second class, or every third: the others are tested. Where code is large, cells are those of exact
shadows alone, if that is better (`weighing.large`). And what a band isolates is cut out beforehand:

    elsewhere   nothing is isolated at these values outside
    before      below a lower bound of what is isolated
    inside      isolated
    after       above an upper bound

Where that is a union, its disjoint pieces cut one after another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, permutations
from math import inf

from polyvolta.sched.components import strongly_connected
from polyvolta.sched.loops.rows.interleave import interleaved
from polyvolta.sched.loops.rows.known import Known, difference, sides
from polyvolta.sched.loops.rows.lanes import Group, Lane, classes, in_cell, shadow
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System, coefficient, negated
from polyvolta.sched.loops.rows.order import Compared, First, ends
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded, left

MANY = 16  # classes beyond which values are not cut into cells
NUMBERS = 32  # the same, where numbers bound all of them
REST = 4  # loops beside the one over what all lanes have, beyond which they share one
ALIKE = 3  # ranges that differ in numbers alone, at least, of which every second one is separate
CELLS = 64  # cells beyond which that is given up, unless there are steps for more
WIDE = 256  # cells beyond which it is, however many steps there are
PRICE = 2000  # steps for each of so many: the code of one with loops inside takes about twice as many, a last loop few
PART = 16  # part of the steps left in which so many are to be found
FEW = 8  # cells up to which all pairs are asked for which may run first, also where rows tell that one does
SMALL = 136  # the same of ranges that differ in numbers alone, in a band's last loop: sixteen in a row have as many


def groups(
    known: Known,
    lanes: Sequence[Lane],
    k: int,
    columns: Sequence[int],
    loop_type: str,
    first: First | None = None,
    free: Collection[Lane] = (),
    told: bool = False,
    most: int = CELLS,
) -> list[Group] | None:
    """The groups of some lanes in the order in which they run; None where there is too much to separate.

    Parameters
    ----------
    columns : of the band's members, 0 for those at which all have one value.
    loop_type : of the loop; `core` separates values that all lanes have, and no others, if these are a few loops.
    first : whether, at equal values of all members, one lane may run wholly before another.
    free : lanes of one value that an atomic loop over others of their statements need not have.
    told : whether cells are as few as exact shadows tell apart.
    most : cells of ranges that do not differ in numbers alone beyond which there is too much to separate.
    """
    if len(lanes) == 1:
        return [Group(list(lanes))]
    col = columns[k]
    out = []
    whole = [lane for lane in lanes if loop_type == "atomic" and lane not in free]
    rest = [lane for lane in lanes if lane not in whole]
    for together in in_order(known, [*_alike(whole, k, col, atomic=True), *_alike(rest, k, col)], k, columns, first):
        if loop_type != "unroll":
            together = interleaved(known, Group(together), k, col, alike=loop_type == "default").lanes
        if loop_type == "separate":
            together = [lane.at_multiples(k, columns, known) for lane in together]
        each = classes(together, k, col) if len(together) > 1 and loop_type in ("separate", "core") else []
        whose = [_tested(known, some, columns[k:]) for some in each]
        if not each or (len(each) == 1 and len(whose[0]) == 1):
            out.append(Group(together))
            continue
        plain = [shadow(c, k, col) for c in each]
        if loop_type == "core":
            some, rest = _coarse(known, plain, col) or _core(known, plain)
            if some is None:
                out.append(Group(together))
                continue
            found = [*[(cell, True) for cell in some], *[(s, False) for s in rest]]
        else:
            small = len(_by_numbers(plain, col)) == 1 and not any(columns[k + 1 :])
            cells = _separate(known, plain, whose, col, max(most, SMALL) if small else most)
            if cells is None:
                return None
            found = [(cell, True) for cell in (_told(known, cells, plain) if told else cells)]
        items = []
        for cell, whole in found:
            there = in_cell(known, together, cell, k)
            alone = _closer(known, there[0], k, columns) if len(there) == 1 else None
            there = [lane.at_multiples(k, columns, known) for lane in there]
            if there:
                items.append((None, [alone]) if alone is not None else (cell if whole else None, there))
        within = [cell for cell, _ in items]
        for some in _components(known, [there for _, there in items], k, columns, first, within):
            shared = [lane for at in some for lane in items[at][1]]
            out.append(Group(shared, items[some[0]][0] if len(some) == 1 else None))
    return out


def affordable(waiting: int) -> int:
    """As many cells as there are steps left for, beside so many loops that are still to be made.

    Of 400,000 steps 200 cells; below a loop of 73 cells, after ten of which 350,000 are left, 112.
    """
    return int(min(WIDE, left() / PRICE - waiting))


def share(
    known: Known, lanes: Sequence[Lane], free: Collection[Lane], k: int, columns: Sequence[int], first: First
) -> bool:
    """Whether an atomic loop over some lanes has one that it need not have, as neither may run wholly before others."""
    if len(free) in (0, len(lanes)):
        return False
    found = groups(known, lanes, k, columns, "atomic", first, free) or ()
    return any(0 < len([lane for lane in g.lanes if lane in free]) < len(g.lanes) for g in found)


def _closer(known: Known, lane: Lane, k: int, columns: Sequence[int]) -> Lane | None:
    """A lane within a cell as tight as the integers are, if that bounds its column closer.

    Of 0 <= i <= 2 with i mod 3 = 0 it is i = 0.
    """
    if not lane.piece.locals():
        return None
    new, col = lane.copy(), columns[k]
    new.tighten(new.shadows[k], col, known, {})
    return None if new.shadows[k].ineqs == lane.shadows[k].ineqs else new


def _separate(
    known: Known, plain: Sequence[System], whose: Sequence[Sequence[System]], col: int, most: int
) -> list[System] | None:
    """The cells of some shadows; by what their lanes say of what is outside, too, if that makes not too many."""
    found = None
    if sum(map(len, whose)) > len(plain):
        finer = [s.copy().add(rows) for s, some in zip(plain, whose, strict=True) for rows in some]
        found = _cells(known, finer, col, min(most, CELLS))
    return _cells(known, plain, col, most) if found is None else found


def _told(known: Known, each: Sequence[System], shadows: Sequence[System]) -> list[System]:
    """Cells of some shadows, neighbours as one that no exact shadow tells apart, as far as that is a conjunction.

    A shadow that is not exact has values at which nothing is: in its cells, too, what it stands for is tested. Those
    are joined first that the fewest shadows tell apart. What is in a cell says by itself where it is. Cost: what two
    cells say of each other, for pairs that opposite rows tell apart.
    """
    exact = {n for n, s in enumerate(shadows) if s.exact}
    if len(exact) == len(shadows):
        return [*each]
    items = [(cell, {n for n, s in enumerate(shadows) if not known.excludes(cell.copy().add(s))}) for cell in each]
    made, refused = [*each], set[tuple[int, int]]()  # by identity of cells, which all are kept
    joined = True
    while joined:
        joined = False
        pairs = [(x, y) for x, y in combinations(items, 2) if not (x[1] ^ y[1]) & exact]
        for (some, a), (others, b) in sorted(pairs, key=lambda two: len(two[0][1] ^ two[1][1])):
            both = None if (id(some), id(others)) in refused else _as_one(known, some, others)
            if both is not None:
                made.append(both)
                items = [(both, a | b) if s is some else (s, those) for s, those in items if s is not others]
                joined = True
                break
            refused.add((id(some), id(others)))
    return [cell for cell, _ in items]


def _as_one(known: Known, some: System, others: System) -> System | None:
    """Two disjoint cells as one conjunction; None where they are none."""
    a, b = dict(some.every_ge()), dict(others.every_ge())
    if not any(b.get(negated(key)) == -const - 1 for key, const in a.items()):
        return None
    there = known.given(some), known.given(others)
    both = System([row for row in (*a.items(), *b.items()) if all(kn.implies(*row) for kn in there)])
    rest = [p for part in difference(known, both, [*a.items()]) for p in difference(known, part, [*b.items()])]
    return None if rest else both


def _core(known: Known, shadows: Sequence[System]) -> tuple[list[System] | None, list[System]]:
    """What all of some shadows share, and what is outside of that in disjoint systems; None where these are many."""
    rows = list(dict.fromkeys(row for s in shadows for row in s.every_ge() if not known.says(*row)))
    core = System(rows)  # of parallel rows the strongest
    rest = difference(known, System(), rows if core.empty else list(core.ineqs.items()))
    return ([core], rest) if len(rest) <= REST else (None, [])


def _coarse(known: Known, shadows: Sequence[System], col: int) -> tuple[list[System], list[System]] | None:
    """Cells of fewer shadows than are too many, and what the others have besides: those that differ in numbers alone.

    Of 16 intervals from k to N + k every second one, or every third, and the last one, so that none begins in what all
    have. In a cell of these an interval is tested, once for each loop inside, that begins or ends there: one or two.
    None where fewer than three are alike of any, for whose tests a loop for each cell is not worth it, or cells are too
    many.
    """
    each = _by_numbers(shadows, col)
    for step in range(2, max(map(len, each)) if len(shadows) <= MANY and min(map(len, each)) >= ALIKE else 0):
        chosen = [{*range(0, len(some), step), len(some) - 1} for some in each]
        found = cells(known, [some[k] for some, those in zip(each, chosen, strict=True) for k in sorted(those)])
        if found is None:
            continue
        rest: list[System] = []
        others = [s for some, those in zip(each, chosen, strict=True) for k, s in enumerate(some) if k not in those]
        for s in others:
            left = [System(s.every_ge())]  # without its stride, which others need not have
            for old in (*found, *rest):
                left = [part for whole in left for part in difference(known, whole, list(old.every_ge()))]
                if len(found) + len(rest) + len(left) > CELLS:
                    return None
            rest += left
        return found, rest
    return None


def _by_numbers(shadows: Sequence[System], col: int) -> list[list[System]]:
    """Shadows whose bounds of a column differ in numbers alone together, in order of these."""
    alike: dict[tuple, list[System]] = {}
    for s in shadows:
        alike.setdefault(tuple(sorted(key for key, _ in s.every_ge() if coefficient(key, col))), []).append(s)
    return [sorted(some, key=lambda s: sorted(s.every_ge())) for some in alike.values()]


def _cells(known: Known, shadows: Sequence[System], col: int, most: int) -> list[System] | None:
    """The cells of some shadows; None where they are too many, or, beyond `CELLS`, not found in a part of the steps."""
    numbers = all(_between_numbers(s, col) for s in shadows)
    if len(shadows) > (NUMBERS if numbers else MANY):
        return None
    if most <= CELLS or left() == inf:
        return cells(known, shadows, most)
    with suppress(BudgetExceeded):
        return bounded(int(left() // PART), cells, known, shadows, most)
    return None


def _tested(known: Known, lanes: Sequence[Lane], inside: Sequence[int]) -> list[System]:
    """What lanes say of what is outside of a loop and not known, each once; `inside` are columns from the loop on."""
    found: dict[tuple, System] = {}
    for lane in lanes:
        rows = [
            row
            for row in lane.piece.system.every_ge()
            if all(c < LOCAL and c not in inside for c, _ in row[0]) and not known.implies(*row)
        ]
        found.setdefault(tuple(sorted(rows)), System(rows))
    return list(found.values())


def _between_numbers(s: System, col: int) -> bool:
    """Whether a shadow says of a column two numbers between which it is."""
    return None not in ends(s, col) and all(len(key) == 1 for key, _ in s.every_ge() if coefficient(key, col))


def _alike(lanes: Sequence[Lane], k: int, col: int, atomic: bool = False) -> list[list[Lane]]:
    """The lanes of each statement, those that say different things of a column apart unless the loop is atomic."""
    out: list[list[Lane]] = []
    for some in [list(lanes)] if atomic else classes(lanes, k, col):
        found: dict[str, list[Lane]] = {}
        for lane in some:
            found.setdefault(lane.piece.statement, []).append(lane)
        out += found.values()
    return out


def in_order(
    known: Known, items: list[list[Lane]], k: int, columns: Sequence[int], first: First | None
) -> list[list[Lane]]:
    """The lanes of items that must share a loop, loop after loop."""
    return [[lane for at in some for lane in items[at]] for some in _components(known, items, k, columns, first)]


def _components(
    known: Known,
    items: Sequence[list[Lane]],
    k: int,
    columns: Sequence[int],
    first: First | None,
    within: Sequence[System | None] = (),
) -> list[tuple[int, ...]]:
    """The strongly connected components of "must not run wholly after", in order.

    Of many cells one whose values rows tell to be before another's, and not the other way, is taken to come before it:
    to ask whether the two never meet, so that either way is right, takes more steps than all else of them. What is in
    a cycle then is asked for. Cost: n**2 looks at rows, and programs for pairs that these don't tell apart.

    Parameters
    ----------
    within : for each item a system that has all its lanes, or None: where rows tell two apart lanes are not compared.
    """

    compared = Compared(known, k, columns, first)
    rows = [None if s is None else dict(s.every_ge()) for s in within]
    ahead: set[tuple[int, int]] = set()
    for p, q in permutations(range(len(rows)), 2):
        a, b = rows[p], rows[q]
        if a is not None and b is not None and _ahead(a, b, columns[k]):
            ahead.add((p, q))

    def before(p: int, q: int) -> bool:
        return (p, q) in ahead or all(compared.precedes(a, b) for a in items[p] for b in items[q])

    def connected(some: Sequence[int], told: Collection[tuple[int, int]]) -> list[tuple[int, ...]]:
        pairs = permutations(some, 2)
        return strongly_connected(some, [(p, q) for p, q in pairs if (p, q) in told or not before(q, p)])

    out: list[tuple[int, ...]] = []
    told = ahead - {(q, p) for p, q in ahead} if len(items) > FEW else set()
    for some in connected(range(len(items)), told):
        out += connected(some, ()) if len(some) > 1 and told else [some]
    return out


def _ahead(some: Mapping[Key, int], others: Mapping[Key, int], col: int) -> bool:
    """Whether values of a column by some rows are before those by others, or never beside them, as opposite rows say.

    Of cells two such rows tell one from another.
    """
    opposite = [(key, others.get(negated(key)), const) for key, const in some.items() if coefficient(key, col) <= 0]
    return any(other is not None and other + const < 0 for _, other, const in opposite)


# ---- cells


def cells(known: Known, shadows: Sequence[System], most: int = CELLS) -> list[System] | None:
    """Disjoint systems whose union is that of the shadows, each within or apart from every one of them.

    None where there would be more than `most`.
    """
    out: list[System] = []
    for s in shadows:
        rows = _needed(known, [r for r in s.every_ge() if not known.says(*r)])
        ties = {row for row in rows if (negated(row[0]), -row[1]) in rows}
        rows.sort(key=lambda row: row not in ties)  # few values have an equality: most of a cell is cut off by it alone
        new, rest = [], [System(rows)]
        for cell in out:
            both = cell.copy().add(System(rows))
            if not known.excludes(both):
                new.append(both)
            new += difference(known, cell, rows)
            rest = [r for part in rest for r in difference(known, part, list(cell.every_ge()))]
            if len(rest) + len(new) > most:
                return None
        out = new + rest
        if len(out) > most:
            return None
    return out


def _needed(known: Known, rows: list[tuple[Key, int]]) -> list[tuple[Key, int]]:
    """Some rows without those of sizes that others of sizes imply: what they would cut off is cut off anyway."""
    sizes = [row for row in rows if known.columns.of_sizes(row[0])]
    for row in sizes if len(sizes) > 1 else ():
        others = [r for r in sizes if r != row]
        if known.ensures(others, *row):
            sizes = others
    return [row for row in rows if row in sizes or not known.columns.of_sizes(row[0])]


# ---- what is isolated


def isolated(known: Known, lanes: Sequence[Lane], number: int, k: int, col: int, region: System) -> list[list[Lane]]:
    """The lanes elsewhere, before, inside and after region `number` over what is outside and loop k.

    Lanes that are not in it, as is known, are cut as others are: at equal values of loops outside they run in between.
    """
    aside, low, high = [], [], []
    for key, const in System(region.every_ge()).ineqs.items():  # of parallel rows the strongest
        if not known.says(key, const):
            v = coefficient(key, col)
            (low if v > 0 else high if v < 0 else aside).append((key, const))
    out: list[list[Lane]] = [[], [], [], []]
    for lane in lanes:
        rest = lane
        for at, rows in ((0, aside), (1, low), (3, high)):
            for key, const in rows:
                keep, beside = sides(key, const)
                part = rest.restrict(beside, k)
                if not part.empty and not known.excludes(part.shadows[k]):
                    part.left |= {number}
                    out[at].append(part)
                    rest = rest.restrict(keep, k)
        if not rest.empty and not known.excludes(rest.shadows[k]):
            out[2].append(rest)
    return [part for part in out if part]
