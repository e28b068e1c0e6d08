"""Whether a union covers a conjunct, decided without writing down what it leaves.

Behind a piece of the union the rows of that piece cut what is left of the conjunct into parts, one for each row. Here
a part is no conjunct but some rows that are pushed on a tableau and popped again, in coordinates in which the
conjunct's equalities are gone and every row is as tight as integers make it (module `integer`, idea 1). Pieces that
hold nothing of a part are put aside, and one of which a single row cuts it leaves one part; so a search branches only
where every piece leaves several, and an integer point that is seen in no piece ends it. That a part has rational
points alone is asked before it is branched on, and where no piece is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import lcm
from typing import NamedTuple

from ..budgets import spend
from ..engine.integer import Lattice, solve_equalities
from ..engine.rows import Row, complement, dot, negate, normal_ineq, substitute_all
from ..engine.simplex import Tableau
from .conjunct import Conjunct, lifted
from .frame import Frame, Member
from .implies import Facts, plainly_apart

CORNERS = 8  # vertices that are kept


class _Cut(NamedTuple):
    """A row of a piece: as the frame has it, and on the grid with its coefficients negated."""

    row: Row
    tight: Row
    opposite: Row


Piece = tuple[Member, list[_Cut]]  # a piece of the union, and those of its rows that may fail
Part = tuple[list[Piece], Row | None]  # pieces that may hold points of a part, and a point of it, if known


def covers(pieces: Sequence[Conjunct], c: Conjunct) -> bool:
    """Whether every point of a conjunct is in one of some pieces, whose divs are known. Exact, under a budget.

    A linear program for each row of a piece, unless a vertex met before says it; of many pieces that overlap
    exponentially many at worst.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("[N] -> { [i] : 0 <= i <= N }").parts
    >>> ((_, cs),) = Set("[N] -> { [i] : 2i <= N; [i] : 0 <= i and 2i >= N }").parts
    >>> covers(cs, c), covers(cs[:1], c)
    (True, False)
    """
    return stray(pieces, c) is None


def stray(pieces: Sequence[Conjunct], c: Conjunct) -> Row | None:
    """A point of a conjunct that is in none of some pieces, whose divs are known; None where they cover it.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [i] : 0 <= i <= 9 }").parts
    >>> ((_, cs),) = Set("{ [i] : i <= 4; [i] : i >= 6 }").parts
    >>> stray(cs, c)
    (5,)
    """
    spend(1 + len(pieces) // 16)
    pieces = [p for p in pieces if not plainly_apart(c, p)]
    frame = Frame((c, *pieces))
    eqs = frame.members[0].eqs
    if eqs and frame.divs:
        own = Conjunct(frame.n, (), eqs, ())
        eqs = (*eqs, *Facts(own, Conjunct(frame.n, tuple(frame.divs), eqs, ())).floors)
    grid = solve_equalities(frame.width - 1, eqs)
    point = None if grid is None else _Search(frame, eqs, grid).stray()
    return point and point[1 : 1 + c.n]


class _Search:
    """The first member of a frame, on the grid that its equalities leave, and what of it is behind other members."""

    def __init__(self, frame: Frame, eqs: Sequence[Row], grid: Lattice) -> None:
        self.frame, self.eqs, self.grid = frame, eqs, grid
        self.whole = frame.members[0]
        self.tab = Tableau(len(grid[1]))
        self.least: dict[Row, int] = {}  # for each linear part the least constant with which it is known to hold
        self.cuts: list[Row] = []  # the rows besides those of the member that hold on the part at hand
        self.corners: list[Row] = []  # rational points (den, t) of the part at hand, on the grid

    def stray(self) -> Row | None:
        """A point (1, x, q) of the first member that is in none of the others."""
        for row in self._on_grid((*self.frame.given, *self.whole.ineqs)):
            if row is False:
                return None
            if row is not True:
                self._push(row)
        pieces: list[Piece] = []
        for m in self.frame.members[1:]:
            stated = (*m.eqs, *map(negate, m.eqs), *m.ineqs)  # behind the others what is left is flat then
            spend(1 + len(stated) // 8)
            rows = self._on_grid(stated)
            if False not in rows:
                cuts = [
                    _Cut(own, row, negate(row[1:]))
                    for own, row in zip(stated, rows, strict=True)
                    if not isinstance(row, bool)
                ]
                pieces.append((m, cuts))
        todo = [] if self.tab.empty else [self._strays(pieces, None)]
        while todo:
            found = next(todo[-1], None)
            if found is None:
                todo.pop()
            elif found[0] is None:
                return found[1]
            else:
                todo.append(self._strays(found[0], found[1]))
        return None

    def _on_grid(self, rows: Iterable[Row]) -> list[Row | bool]:
        origin, basis = self.grid
        return list(map(normal_ineq, substitute_all(rows, list(zip(origin, *basis, strict=True)), len(basis))))

    def _push(self, row: Row) -> None:
        key, const = row[1:], row[0]
        if self.least.setdefault(key, const) >= const:
            self.least[key] = const
        self.corners = [t for t in self.corners if dot(row, t) >= 0]
        self.tab.add_ineq(row)

    def _strays(self, pieces: list[Piece], point: Row | None) -> Iterator[Part | tuple[None, Row]]:
        """A point of the part at hand, which has rational ones, that is in none of some pieces; it may know one.

        Before, the parts of it that have to be looked at first, one after the other; it ends where none has any.
        """
        while True:
            spend(1 + len(pieces) // 2)
            point = point or self._seen()
            if point and not any(m.holds(point) for m, _ in pieces):
                yield None, point
            left: list[Piece] = []
            alone = False
            for m, cuts in sorted(pieces, key=lambda piece: len(piece[1])):
                may_fail = self._may_fail(cuts, point)
                if may_fail is None:
                    continue
                if not may_fail:
                    return
                if len(may_fail) > 1:
                    left.append((m, may_fail))
                    continue
                alone = True
                point = self._behind(may_fail[0], point)
            pieces = left
            if not alone:
                break
        pieces = self._beginning_with_one_that_meets(pieces)
        if not point:
            point = self.frame.sample(self.eqs, (*self.whole.ineqs, *self.cuts))
            if point and not any(m.holds(point) for m, _ in pieces):
                yield None, point
            if not point:
                return
        (_, cuts), *others = pieces
        for cut in cuts:
            before = self.tab.mark(), self.least.copy(), self.cuts.copy(), self.corners
            behind = self._behind(cut, point)
            if not self.tab.empty:
                yield others, behind
            token, self.least, self.cuts, self.corners = before
            self.tab.rollback(token)
            self._push(cut.tight)
            if self.tab.empty:
                break
            self.cuts.append(cut.row)
            point = point if point and dot(cut.row, point) >= 0 else None

    def _seen(self) -> Row | None:
        """An integer point of the part at hand, if one is next to the tableau's vertex."""
        origin, basis = self.grid
        near = [(2 * a + b) // (2 * b) for a, b in self.tab.sample()]
        x = list(origin[: self.frame.n])
        for t, direction in zip(near, basis, strict=True):
            if t:
                x = [v + t * w for v, w in zip(x, direction, strict=False)]
        point = lifted(self.frame.divs, x)
        return point if self.whole.holds(point) and all(dot(row, point) >= 0 for row in self.cuts) else None

    def _may_fail(self, cuts: Sequence[_Cut], point: Row | None) -> list[_Cut] | None:
        """The rows of a piece that may fail on the part at hand; None where one fails everywhere."""
        found = []
        for cut in cuts:
            row = cut.tight
            key, const = row[1:], row[0]
            known = self.least.get(key)
            if known is not None and known <= const:
                continue
            known = self.least.get(cut.opposite)
            if known is not None and known + const < 0:
                return None
            if (point and dot(cut.row, point) < 0) or self._fails(cut):
                found.append(cut)
            else:
                self.least[key] = const
        return found

    def _fails(self, cut: _Cut) -> bool:
        """Whether a row is -1 or less at a rational point of the part at hand."""
        row = cut.tight
        if any(dot(row, t) <= -t[0] for t in self.corners):
            return True
        if not self.tab.reaches((-row[0] - 1, *cut.opposite)):
            return False
        vertex = self.tab.sample()  # of a row without a least value one that says nothing
        den = lcm(*[b for _, b in vertex])
        t = (den, *[a * (den // b) for a, b in vertex])
        if dot(row, t) <= -den:
            self.corners = [*self.corners[1 - CORNERS :], t]
        return True

    def _behind(self, cut: _Cut, point: Row | None) -> Row | None:
        """Go on with the points behind a row; the known point, if it is one of them."""
        self._push((-cut.tight[0] - 1, *cut.opposite))
        self.cuts.append(complement(cut.row))
        return point if point and dot(cut.row, point) < 0 else None

    def _beginning_with_one_that_meets(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces but for some that have no points in the part at hand, the one to branch on first."""
        for at, (_, cuts) in enumerate(pieces):
            token = self.tab.mark()
            for cut in cuts:
                self.tab.add_ineq(cut.tight)
            meets = not self.tab.empty
            self.tab.rollback(token)
            if meets:
                return list(pieces[at:])
        return []
