"""Several conjuncts over the same columns, so that their rows can be compared and put into one tableau.

Each conjunct has columns for its own divs. A *frame* lists every distinct known div once, by its definition, and
rewrites all rows over (const, dims, those divs), also those of a conjunct that is not in normal form and has a div
twice; a known div is a function of the point, so its two defining rows hold wherever it is mentioned. Unknown divs are
existentials of one conjunct and keep columns of their own.

Most questions between two conjuncts are then answered without a search: the same linear part with another
constant implies or contradicts (`Member.least`), a linear program decides most of the rest (`Member.tableau`), and
only what is left, where the rational vertex is not an integer point, is an integer program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import lcm
from typing import cast

from ..engine import integer
from ..engine.rows import Row, complement, dot, negate, values_at
from ..engine.simplex import Tableau
from .conjunct import Conjunct, Div, defining_rows, lifted, moved_divs, normalise, trimmed


class Frame:
    """Common columns of some conjuncts over the same dimensions; `members` are those conjuncts in them.

    >>> from polyvolta.sets import Set
    >>> ((_, cs),) = Set("{ [i] : i mod 4 = 0; [i] : i mod 4 = 1; [i] : i mod 6 = 0 }").parts
    >>> frame = Frame(cs)
    >>> frame.divs, [m.eqs for m in frame.members]
    ([(4, (0, 1, 0, 0)), (6, (0, 1, 0, 0))], [((0, 1, -4, 0),), ((-1, 1, -4, 0),), ((0, 1, 0, -6),)])
    """

    def __init__(self, conjuncts: Sequence[Conjunct]) -> None:
        self.n = conjuncts[0].n
        base = 1 + self.n
        divs = conjuncts[0].divs
        places: list[list[int]] = []
        if None not in divs and not [c for c in conjuncts if c.divs != divs]:
            self.divs: list[Div] = list(divs)
        else:
            self.divs = []
            seen: dict[tuple, int] = {}
            for c in conjuncts:
                places.append(self._place(c, seen))
        self.width = base + len(self.divs)
        self.divs = [None if d is None else (d[0], self._padded(d[1])) for d in self.divs]
        self.definitions = {
            base + k: defining_rows(d, base + k, self.width) for k, d in enumerate(self.divs) if d is not None
        }
        self.given = [row for rows in self.definitions.values() for row in rows]
        self._opposite: dict[Row, Row] = {}
        self.members = [Member(self, c.eqs, c.ineqs) for c in conjuncts] if not places else []
        for c, p in zip(conjuncts, places, strict=True) if places else ():
            eqs, ineqs = c.eqs, c.ineqs
            if p != [*range(base, self.width)]:  # a row that compares two divs, which here are one, may say nothing
                eqs, ineqs = (
                    [m for r in rows if any(m := moved_divs(r, base, p, self.width))] for rows in (eqs, ineqs)
                )
            self.members.append(Member(self, eqs, ineqs))

    def _place(self, c: Conjunct, seen: dict[tuple, int]) -> list[int]:
        """The columns of the divs of a conjunct in the frame; new ones are appended."""
        base = 1 + c.n
        places: list[int] = []
        for div in c.divs:
            end = base + len(self.divs)
            if div is None:
                places.append(end)
                self.divs.append(None)
                continue
            key = (div[0], trimmed(moved_divs(div[1], base, places, end), base))
            if key not in seen:
                seen[key] = end
                self.divs.append(key)
            places.append(seen[key])
        return places

    @cached_property
    def periods(self) -> dict[int, tuple[int, frozenset[int]]]:
        """For the column of each known div a number, and the columns of the dimensions that it depends on.

        The div is affine along steps that are multiples of the number in these dimensions.

        >>> from polyvolta.sets import Set
        >>> ((_, cs),) = Set("{ [i, j] : i mod 4 = 0; [i, j] : (j + floor(i/3)) mod 2 = 0 }").parts
        >>> [(period, sorted(of)) for period, of in Frame(cs).periods.values()]
        [(4, [1]), (3, [1]), (6, [1, 2])]
        """
        base = 1 + self.n
        found: dict[int, tuple[int, frozenset[int]]] = {}
        for col in self.definitions:
            den, row = cast("tuple[int, Row]", self.divs[col - base])
            inner = [found[k] for k in range(base, col) if row[k]]
            own = [k for k in range(1, base) if row[k]]
            found[col] = den * lcm(*[p for p, _ in inner]), frozenset(own).union(*[of for _, of in inner])
        return found

    def step(self, column: int, length: int) -> Row:
        """What is added to (1, x, q) by a step along a dimension, so long that all divs are affine along it.

        >>> from polyvolta.sets import Set
        >>> ((_, cs),) = Set("{ [i, j] : i mod 4 = 0 }").parts
        >>> Frame(cs).step(1, 8)
        (0, 8, 0, 2)
        """
        move = [0] * self.width
        move[column] = length
        for col, (low, _) in self.definitions.items():  # low is den q <= row, with row on the left side
            move[col] = dot(low[:col], move[:col]) // -low[col]
        return tuple(move)

    def _padded(self, row: Row) -> Row:
        return row + (0,) * (self.width - len(row))

    def opposite(self, key: Row) -> Row:
        """The coefficients negated; members have many in common."""
        found = self._opposite.get(key)
        if found is None:
            found = self._opposite[key] = negate(key)
            self._opposite[found] = key
        return found

    def conjunct(self, eqs: Iterable[Row], ineqs: Iterable[Row]) -> Conjunct | None:
        """The normal conjunct of rows over the frame's columns."""
        return normalise(self.n, self.divs, eqs, ineqs)

    def known(self, rows: Iterable[Row]) -> list[int]:
        """The columns of the known divs that rows speak of, and those that these are defined by, the latest first.

        Others say nothing of the rows' values: a div has one at every point.
        """
        used = [any(column) for column in zip(*rows)]
        found = []
        for col, (low, _) in reversed(self.definitions.items()):
            if used and used[col]:
                found.append(col)
                used[:col] = [u or v != 0 for u, v in zip(used, low[:col])]
        return found

    def tableau(self, eqs: Iterable[Row], ineqs: Iterable[Row]) -> Tableau:
        """A tableau of these rows and of the definitions of the divs; slack ~k is the k-th of these rows."""
        tab = self.plain_tableau(eqs, ineqs)
        for row in self.given:
            tab.add_ineq(row)
        return tab

    def plain_tableau(self, eqs: Iterable[Row], ineqs: Iterable[Row]) -> Tableau:
        """A tableau of these rows alone."""
        tab = Tableau(self.width - 1)
        for row in eqs:
            tab.add_eq(row)
        for row in ineqs:
            tab.add_ineq(row)
        return tab

    def is_empty(self, eqs: Sequence[Row], ineqs: Sequence[Row]) -> bool:
        """Whether no integer point satisfies the rows; exact."""
        return self._point(eqs, ineqs) is None

    def sample(self, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Row | None:
        """An integer point (1, x, q) that satisfies the rows, with the values of the known divs; None without one."""
        point = self._point(eqs, ineqs)
        if point is None:
            return None
        found = [1, *point]
        for col in self.definitions:
            den, row = cast("tuple[int, Row]", self.divs[col - 1 - self.n])
            found[col] = dot(row, found[:col]) // den
        return tuple(found)

    def _point(self, eqs: Sequence[Row], ineqs: Sequence[Row]) -> integer.Point | None:
        """An integer point that satisfies the rows, where divs that they don't speak of have any value."""
        known = self.known((*eqs, *ineqs)) if self.definitions else ()
        rows = (*ineqs, *[r for col in known for r in self.definitions[col]])
        point = None if eqs else integer.pushed(self.width - 1, rows)
        return integer.sample(self.width - 1, eqs, rows) if point is None else point


class Member:
    """One conjunct in a frame; what is learnt of it is kept."""

    def __init__(self, frame: Frame, eqs: Sequence[Row], ineqs: Sequence[Row]) -> None:
        self.frame, self.eqs, self.ineqs = frame, tuple(eqs), tuple(ineqs)
        self.points: list[Row] = []  # integer points (1, x, q) of it that are known; more are appended
        self._columns: list[Row] = [()]  # of these points, as far as they were asked for
        self._values: dict[Row, list[int]] = {}
        self._known: dict[tuple[Row, bool], bool] = {}
        self._tableau: Tableau | None = None
        self._defined: set[int] = set()  # columns of the divs whose definitions the tableau has
        # all rows as inequalities
        self.statements = (*self.ineqs, *self.eqs, *map(negate, self.eqs)) if self.eqs else self.ineqs
        # for each linear part the smallest constant with which a row states it
        self.least: dict[Row, int] = {row[1:]: row[0] for row in self.statements}
        if len(self.least) < len(self.statements):
            for row in self.statements:
                self.least[row[1:]] = min(row[0], self.least[row[1:]])

    def tableau(self, rows: Sequence[Row] = ()) -> Tableau:
        """The rational polyhedron, with the definitions of the divs that it and some rows to ask of speak of."""
        tab = self._tableau
        if tab is None:
            tab = self._tableau = self.frame.plain_tableau(self.eqs, self.ineqs)
            rows = (*rows, *self.eqs, *self.ineqs)
        definitions = self.frame.definitions
        for col in self.frame.known(rows) if len(self._defined) < len(definitions) else ():
            if col not in self._defined:
                self._defined.add(col)
                for row in definitions[col]:
                    tab.add_ineq(row)
        return tab

    def forget(self) -> None:
        """Give up the tableau, which a question without an answer may have left with rows of its own."""
        self._tableau = None
        self._defined.clear()

    def holds(self, point: Row) -> bool:
        """Whether a point (1, x, q), with the values of the divs, satisfies its rows."""
        for r in self.eqs:
            if dot(r, point):
                return False
        for r in self.ineqs:
            if dot(r, point) < 0:
                return False
        return True

    def values(self, row: Row) -> list[int]:
        """What a row is at the known points."""
        known = self._values.setdefault(row, [])
        new = len(self.points) - len(known)
        if new:
            if new == len(self.points):
                if new != len(self._columns[0]):
                    self._columns = list(zip(*self.points, strict=True))
                known += values_at(row, self._columns)
            else:
                known += [dot(row, p) for p in self.points[-new:]]
        return known

    def has_point(self, more: Sequence[Row]) -> bool:
        """Whether an integer point that satisfies more rows is found at once; a False says nothing."""
        return self._pushed(more) is not None

    def _pushed(self, more: Sequence[Row]) -> Row | None:
        """A point (1, x) that satisfies more rows, if one is found at once."""
        if self.eqs or self.frame.divs:
            return None
        point = integer.pushed(self.frame.width - 1, (*self.ineqs, *more))
        return None if point is None else (1, *point)

    def implies(self, row: Row, exact: bool = True) -> bool:
        """Whether `row >= 0` at every integer point of this conjunct, which has one.

        By comparison of constants, else by a known point, else by a linear program, else, where an exact answer is
        asked for, by an integer one; without that a True is a proof and a False is not.
        """
        const = self.least.get(row[1:])
        if const is not None and const <= row[0]:
            return True
        known = self._known.get((row, exact))
        if known is None:
            opposite = self.least.get(self.frame.opposite(row[1:]))
            denied = opposite is not None and opposite + row[0] < 0
            denied = denied or any(dot(row, p) < 0 for p in self.points)
            known = self._known[row, exact] = not denied and self._searched(row, exact)
        return known

    def deny(self, rows: Iterable[Row]) -> None:
        """Learn of rows that each of them fails at some point."""
        for row in rows:
            self._known[row, True] = self._known[row, False] = False

    def denied(self, rows: Iterable[Row], exact: bool = True) -> list[Row]:
        """The rows that it does not imply."""
        out = []
        for row in rows:
            const = self.least.get(row[1:])
            if (const is None or const > row[0]) and not self.implies(row, exact):
                out.append(row)
        return out

    def _searched(self, row: Row, exact: bool) -> bool:
        if self._tableau is None:
            point = self._pushed([complement(row)])
            if point is not None:
                self.points.append(point)
                return False
        tab = self.tableau([row])
        if tab.implies(row):
            return True
        if self._seen_below(tab, row):
            return False
        low = tab.minimum(row)
        if low is not None and low[0] > -low[1]:
            return True
        if self._seen_below(tab, row):
            return False
        return exact and self.frame.is_empty(self.eqs, (*self.ineqs, complement(row)))

    def _seen_below(self, tab: Tableau, row: Row) -> bool:
        """Whether the tableau's vertex is a point of the conjunct with a negative value of the row; it is kept then."""
        point = self.at_vertex(tab.sample(), (row,))
        if point is not None:
            self.points.append(point)
        return point is not None

    def at_vertex(self, vertex: Sequence[tuple[int, int]], below: Iterable[Row]) -> Row | None:
        """The integer point (1, x, q) of the conjunct at a tableau's `sample`, where some rows are negative.

        None where there is none. Known divs may have other values than there: those at the point.
        """
        divs = self.frame.divs
        needed = vertex if None in divs else vertex[: self.frame.n]
        if any(v % den for v, den in needed):
            return None
        whole = [v // den for v, den in needed]
        point = (1, *whole) if None in divs else lifted(divs, whole)
        return point if all(dot(row, point) < 0 for row in below) and self.holds(point) else None

    def minimum(self, row: Row) -> int | None:
        """A lower bound of the row's integer values, the rational minimum rounded up; None if unbounded or empty."""
        const = self.least.get(row[1:])
        if const is not None:
            return row[0] - const
        tab = self.tableau([row])
        low = None if tab.empty else tab.minimum(row)
        return None if low is None else -(-low[0] // low[1])
