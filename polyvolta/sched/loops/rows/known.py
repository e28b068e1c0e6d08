"""What holds at a place of the generated code, and what follows from it.

`Known` grows inward: a loop adds its bounds, a condition itself. Whether a row follows is asked of it for every bound
and every condition that is to be written, so it answers by what is cheapest: a parallel row, constant bounds of the
columns, a linear program on a warm tableau. The tableau of an inner place starts from that of the outer one: rows of
a tableau are never modified, so a copy shares them and costs nothing but its lists.

Values of integers are integers: a row whose minimum is above -1 is never negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import inf

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.glance import Glance
from polyvolta.sched.loops.rows.linear import (
    FLOOR,
    LOOP,
    Key,
    System,
    coefficient,
    dense,
    least_of,
    negated,
    new_column,
    plus,
)
from polyvolta.sched.loops.rows.tableaus import Last, Sparse, tightened
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded
from polyvolta.sets.engine import integer

WORTH = 1000  # steps that a question of integers may take that is nice to know
FEW = 9  # columns up to which an integer program is worth knowing that code never runs


class Known(Glance):
    """Rows over outer columns that hold; immutable but for what it learns of itself."""

    __slots__ = (
        "_base",
        "_denied",
        "_excluded",
        "_floors",
        "_implied",
        "_last",
        "_loopless",
        "_met",
        "_nowhere",
        "_parent",
        "_points",
        "_tab",
        "loops",
        "needed",
    )

    def __init__(self, columns: Columns, parent: Known | None = None, new: System | None = None) -> None:
        super().__init__(columns, parent, new)
        self._parent = parent
        self._tab: Sparse | None = None  # what is known, and the floors that were asked for
        self._base: Sparse | None = None  # the same, these later; the very same one as long as there are none
        self._nowhere: bool | None = None
        self._loopless: frozenset | None = None
        self._implied: dict[Key, int] = {}  # of rows that linear programs say follow, the least constants
        self._denied: dict[Key, tuple[int, int]] = {}  # and of others the greatest, by so many rows of the tableau
        self._excluded: dict[tuple, bool] = {}  # whether systems that were asked contradict it
        self._met: dict[tuple, dict[int, int] | None] = {}  # and integers where they don't, None where there are none
        self._points: dict[tuple, list[dict[int, int]]] = {}  # integers that satisfy systems, at ends of some rows
        self.needed: dict[tuple, list[tuple[Key, int]]] = {}  # of rows and equalities the rows that others don't imply
        self.loops: dict[tuple, tuple[object, System]] = {}  # of loops, by identity, what they need (`hoisting.needs`)
        self._last = Last()  # tableaus beside rows and equalities, and of how many floors they know
        self._floors = parent._floors.copy() if parent else set()

    def given(self, system: System) -> Known:
        """What holds where the rows of a system over outer columns hold, too; remembered with all that it learns."""
        if not (system.ineqs or system.eqs or system.mods):
            return self
        what = (self, len(self._new), *_rows(system))
        found = self.columns.given.get(what)
        if found is None:
            found = self.columns.given[what] = Known(self.columns, self, system)
        return found

    def loopless(self) -> frozenset:
        """The rows and congruences that were given and speak of no loop."""
        if self._loopless is None:
            around = self._parent.loopless() if self._parent else frozenset()
            rows = (*self._new, *self.mods[len(self._parent.mods) if self._parent else 0 :])
            more = [row for row in rows if not any(LOOP <= c < FLOOR for c, _ in row[0])]
            self._loopless = around.union(more) if more else around
        return self._loopless

    # ---- tableaus

    def _loaded(self) -> Sparse:
        if self._tab is None:
            if self._parent is None:
                self._tab = Sparse()
            else:
                self._tab = self._parent._started().copy()
                self._floors |= self._parent._floors
            ties: set[Key] = set()
            try:
                for key, const in self._new[:]:
                    if self.ineqs.get(negated(key)) != -const:
                        self._add(key, const)
                    elif negated(key) not in ties:  # two rows are an equality, which takes a dimension away
                        ties.add(key)
                        self._know_floors(key)
                        self._tab.eq(key, const)
            except BudgetExceeded:
                self._tab, self._floors = None, set()
                raise
            self._base = self._tab
        return self._tab

    def _started(self) -> Sparse:
        """What inner places and questions start from; not to be changed."""
        self._loaded()
        assert self._base is not None
        return self._base

    def _add(self, key: Key, const: int) -> None:
        self._know_floors(key)
        self._loaded().ge(key, const)

    def _know_floors(self, key: Key) -> None:
        """Tell the tableau what the floors in a row are."""
        floors = self.columns.floors
        if floors:
            if self._tab is None:
                self._loaded()
            for c, _ in key if key and key[-1][0] >= FLOOR else ():
                if c in floors and c not in self._floors:
                    self._floors.add(c)
                    try:
                        self._define(c)
                    except BudgetExceeded:
                        self._floors.discard(c)
                        raise

    def _define(self, c: int) -> None:
        """Tell the tableau what a floor is, by the remainder of its argument as far as it is known."""
        tab, (den, key, const) = self._loaded(), self.columns.floors[c]
        rest = self.modulo(key, const, den)
        self._know_floors(key)
        if self._base is tab:
            self._base = tab.copy()
        what = den, key, const, None if rest[0] else rest[1]
        tab.floor(c, *what)
        if self._base is not None:
            self._base.later[c] = what
        for sign in (1, -1):  # it is a whole number
            least = None if tab.empty else tab.minimum(tab.row(((c, sign),), 0))
            if least is not None and least[1] > 1:
                row = (((c, sign),), least[0] // -least[1])  # less the minimum, rounded up
                tab.ge(*row)
                if self._base is not None:
                    self._base.ge(*row)
                self._learn(*row)

    def tableau(self, rows: Iterable[tuple[Key, int]], eqs: Sequence[tuple[Key, int]] = ()) -> Sparse:
        """A tableau of what is known, some equalities and at last some rows `>= 0`, for the caller to change."""
        rows = list(rows)
        self.know_floors((*eqs, *rows))
        return self._started().with_rows(rows, eqs)

    def keep(self, part: System, tab: Sparse, floors: int) -> None:
        """Remember the tableau of what is known and a system, of which one may ask next, and its number of floors."""
        self._last.put((tuple(part.ineqs.items()), tuple(part.eqs), floors), tab)

    def taken(self, part: System) -> tuple[Sparse, int]:
        """`tableau` of a system, which may have been kept, and how many floors it knows."""
        rows, eqs = tuple(part.ineqs.items()), tuple(part.eqs)
        self.know_floors((*eqs, *rows))
        floors = len(self._floors)
        return self._last.pop((rows, eqs, floors)) or self.tableau(rows, eqs), floors

    def _beside(self, rows: Iterable[tuple[Key, int]]) -> Sparse:
        """`tableau` without rows that are plain to see, for questions; bounds of one column last, which mostly hold."""
        rows = tuple(self._fewer(rows))
        self.know_floors(rows)
        what = rows, (), len(self._floors)
        tab = self._last.pop(what) or self.tableau(rows)
        self._last.put(what, tab)
        return tab

    def _fewer(self, rows: Iterable[tuple[Key, int]]) -> list[tuple[Key, int]]:
        return sorted([r for r in dict.fromkeys(rows) if not self.says(*r)], key=lambda r: -len(r[0]))

    def know_floors(self, rows: Iterable[tuple[Key, int]]) -> None:
        """Tell the tableau what the floors in some rows are, before these are asked of a copy."""
        for key, _ in rows:
            self._know_floors(key)

    # ---- questions

    def greatest(self, rows: Sequence[tuple[Key, int]], key: Key, enough: int | None = None) -> float | Fraction:
        """The greatest value of `key . x` where some rows `>= 0` hold besides, over the rationals.

        Infinity where there is none, its negative where the rows hold nowhere.

        Parameters
        ----------
        enough : the answer where any value is beyond it.
        """
        plain = self.plainly(rows, key)
        return self._top(self._beside(rows), key, enough) if plain is None else plain

    def greatest_of_both(
        self, some: tuple[tuple[Key, int], ...], others: Sequence[tuple[Key, int]], key: Key, enough: int
    ) -> float | Fraction:
        """`greatest` where some rows hold, which are asked of with several others, and these."""
        plain = self.plainly((*some, *others), key)
        if plain is not None:
            return plain
        self.know_floors((*some, *others))
        return self._top(self._beside(some).with_rows(self._fewer(others)), key, enough)

    def _top(self, tab: Sparse, key: Key, enough: int | None) -> float | Fraction:
        """The greatest value of `key . x` in a tableau; see `greatest`."""
        if tab.empty:
            return -inf
        if enough is not None:
            beyond = tab.excess(key, enough)
            return enough if beyond is None else enough + Fraction(*beyond)
        top = tab.maximum(tab.row(key, 0))
        return inf if top is None else Fraction(*top)

    def ensures(self, rows: Sequence[tuple[Key, int]], key: Key, const: int) -> bool:
        """Whether `key . x + const >= 0` always where some rows hold besides."""
        return self.ensures_all(rows, ((key, const),))

    def ensures_all(self, rows: Sequence[tuple[Key, int]], asked: Iterable[tuple[Key, int]]) -> bool:
        """`ensures` of each of some rows; those that take linear programs are asked of one tableau."""
        tab: Sparse | None = None
        for key, const in asked:
            plain = self.plainly(rows, negated(key))
            if plain is not None:
                holds = plain < const + 1
            else:
                tab = tab or self._beside(rows)
                holds = tab.always(key, const)
            if not holds:
                return False
        return True

    def range(self, col: int) -> tuple[int | None, int | None]:
        """The least and the greatest value of a column, None where there is no bound or nothing holds anywhere."""
        if all(coefficient(key, col) == 0 or len(key) == 1 for key in self.ineqs):
            return self.low.get(col), self.high.get(col)
        tab = self._loaded()
        row = tab.row(((col, 1),), 0)
        low, high = (None, None) if tab.empty else (tab.minimum(row), tab.maximum(row))
        return None if low is None else -(-low[0] // low[1]), None if high is None else high[0] // high[1]

    def implies(self, key: Key, const: int) -> bool:
        """Whether `key . x + const >= 0` always; exact but for what integrality alone excludes."""
        if self.says(key, const):
            return True
        if len(key) == 1 and key[0][0] in self.columns.floors:  # integers are excluded by what is in it
            key, const = self.columns.bare(key, const)
        opposite = self.ineqs.get(negated(key)) if key else None
        if not key or (opposite is not None and opposite + const < 0 and len(key) == 1):
            return False
        return self._asked(key, const)

    def _asked(self, key: Key, const: int) -> bool:
        """Whether `key . x + const >= 0` by the tableau, remembered: what follows outside does in here, too."""
        at: Known | None = self
        while at is not None:
            if at._implied.get(key, inf) <= const:
                return True
            at = at._parent
        plain = self.plainly((), negated(key)) if self._tab is None else None
        if plain is not None:
            return plain < const + 1
        self._know_floors(key)
        tab = self._tab or self._loaded()
        most, made = self._denied.get(key, (const - 1, 0))
        if made == tab.made and const <= most:
            return False
        if tab.always(key, const):
            self._implied[key] = const
            return True
        self._denied[key] = const, tab.made
        return False

    def of_one_value(self, key: Key, const: int) -> tuple[Key, int]:
        """A row `>= 0` of floors without what is always between multiples of others, if that leaves these one value.

        Of 33*c0 - 33*b - 132*f + 32 - t >= 0, where 0 <= t <= 32 and f is floor((c0 - b + 3)/4), it is c0 - b = 4*f,
        which is a congruence, as others may ask it. The integer points are the same. Cost: two sums for each
        coefficient, and for one that is found a question.
        """
        for g in {abs(v) for _, v in key} - {1} if key and key[-1][0] >= FLOOR else ():
            rest = tuple([(c, v) for c, v in key if v % g])
            if 0 < len(rest) < len(key) - 1:
                least = least_of(rest, const, self.low, self.high)
                most = least_of(negated(rest), -const, self.low, self.high)
                if least is not None and most is not None and least // g == -most // g:
                    whole = tuple([(c, v // g) for c, v in key if not v % g])
                    if self.implies(negated(whole), -(least // g)):
                        return whole, least // g
        return key, const

    def implies_zero(self, key: Key, const: int) -> bool:
        """Whether `key . x + const = 0` always: both bounds are, as far as residues need them.

        c1 - 4*c0 = 16*floor(c1/16) where c1 is 4*c0 modulo 16 and 0 <= c0 <= 3: the sides are less than 16 apart.
        """
        return all(self.implies(*self.loose(*row)) for row in ((key, const), (negated(key), -const)))

    @property
    def nowhere(self) -> bool:
        """Whether what is known contradicts itself, over the rationals."""
        found = self._nowhere
        if found is None:
            plain = self.plainly((), ())
            found = self._nowhere = plain == -inf if plain is not None else self._loaded().empty
        return found

    def excludes(self, system: System) -> bool:
        """Whether a system over outer columns contradicts what is known, over the rationals."""
        if (found := self.plainly_excludes(system)) is not None:
            return found
        what = tuple([r for r in system.ineqs.items() if not self.says(*r)]), tuple(system.eqs)
        if what not in self._excluded:
            self._excluded[what] = self.tableau(*what).empty
        return self._excluded[what]

    def plainly_excludes(self, system: System) -> bool | None:
        """`excludes` where it takes no linear program; None elsewhere."""
        rows = [r for r in system.every_ge() if not self.says(*r)]
        if system.empty:
            return True
        if not rows:
            return False
        for key, const in rows:
            opposite = self.ineqs.get(negated(key))
            if opposite is not None and opposite + const < 0:
                return True
        plain = self.plainly(rows, ())
        return None if plain is None else plain == -inf

    def excludes_exactly(self, system: System, few: float = FEW) -> bool:
        """The same over the integers, congruences and floors included, as long as there are few columns.

        The system may have local columns, if `few` is given.
        """
        if system.empty or (few == FEW and self.excludes(system)):
            return True
        if few == FEW and not (system.mods or system.eqs or any(c in self.columns.floors for c in system.columns())):
            return False
        return self._point(system, few) is None

    def reaches(self, system: System, key: Key, const: int) -> bool:
        """Whether `key . x + const = 0` at integers that satisfy a system, which may have local columns."""
        if self.touches(system, key, const):
            return True
        there = system.copy()
        there.eq(key, const)
        point = None if there.empty else self._point(there, inf)
        if point:
            self._points.setdefault(_rows(system), []).append(point)
        return point is not None

    def touches(self, system: System, key: Key, const: int) -> bool:
        """`reaches` by what was found before for other rows: a corner is at the ends of several."""
        for at in self._points.get(_rows(system), ()):
            if all(c in at for c, _ in key) and const + sum([v * at[c] for c, v in key]) == 0:
                return True
        return False

    def _point(self, system: System, few: float) -> dict[int, int] | None:
        """`_integers`, remembered."""
        what = *_rows(system), few
        if what not in self._met:
            self._met[what] = self._integers(system, few)
        return self._met[what]

    def _integers(self, system: System, few: float) -> dict[int, int] | None:
        """Values of columns that satisfy a system, none of these where they are more than a few; None if none do."""
        both = System().add(system)
        eqs, ineqs = list(both.eqs), [*self.ineqs.items(), *both.ineqs.items()]
        for key, const, d in (*self.mods, *both.mods):
            eqs.append((plus(1, key, d, ((new_column(), 1),)), const))
        seen: set[int] = set()
        todo = [c for key, _ in (*eqs, *ineqs) for c, _ in key]
        while todo:
            c = todo.pop()
            if c not in seen:
                seen.add(c)
                if c in self.columns.floors:
                    rows = self.columns.floor_rows(c)
                    ineqs += rows
                    todo += [k for key, _ in rows for k, _ in key]
        if len(seen) > few:
            return {}
        columns = sorted(seen)
        place = {c: 1 + k for k, c in enumerate(columns)}
        found = integer.sample(len(place), [dense(place, *r) for r in eqs], [dense(place, *r) for r in ineqs])
        return None if found is None else dict(zip(columns, found, strict=True))

    def surely_excludes(self, system: System, steps: int = WORTH) -> bool:
        """The same of a system of any columns, local ones, too, as far as some steps say."""
        try:
            return bounded(steps, self.excludes_exactly, system, inf)
        except BudgetExceeded:
            return False


def _rows(system: System) -> tuple[tuple, tuple, tuple]:
    """The rows of a system, in their order, as a value that can be compared."""
    return tuple(system.ineqs.items()), tuple(system.eqs), tuple(system.mods)


def sides(key: Key, const: int) -> tuple[System, System]:
    """Where a row `>= 0` holds, and where it does not: a system each."""
    return System([(key, const)]), System([(negated(key), -const - 1)])


def difference(known: Known, a: System, rows: Sequence[tuple[Key, int]]) -> list[System]:
    """Disjoint systems of the points of `a` at which not all rows hold; all rows are asked of one tableau."""
    return list(beside_all(known, a, (rows,)))


def beside_all(known: Known, a: System, each: Sequence[Sequence[tuple[Key, int]]]) -> Iterator[System]:
    """Disjoint systems of the points of `a` at which of each of several lots of rows not all hold.

    They are found one after another: whether there is any takes no more than the first one.
    """
    if not each:
        yield a
        return
    rows, *others = each
    a, tab, floors = a.copy(), None, 0
    for key, const in rows:
        part = a.copy()
        part.ge(negated(key), -const - 1)
        gone = part.empty or known.plainly_excludes(part)
        if gone is None:
            if tab is None:
                known.know_floors(rows)
                tab, floors = known.taken(a)
            outside = tightened(negated(key), -const - 1)
            gone = not tab.reaches(tab.row(*outside))
            if not gone:
                known.keep(part, tab.with_rows([outside]), floors)
        if not gone:
            yield from beside_all(known, part, others)
            a.ge(key, const)
            if tab is not None:
                tab.ge(*tightened(key, const))
