"""Pieces that overlap: a bound of one goes where the others have all that lies behind it.

The negation of a conjunction, `not (a and b)`, is written as `not a; not b`, which overlap. Beside `a and b` no two of
these three make one, and all of them are everything. So pieces are widened as cubes of a Boolean function are when it
is minimised (Brayton et al., "Logic minimization algorithms for VLSI synthesis", 1984): a row of a piece is left out
where what it kept out is in the union anyway, within the rows that hold on all pieces, and pieces that lie within the
wider one go. Only a widening that makes the union shorter is taken: disjoint pieces stay disjoint where nothing is
gained.

A piece that lies within the wider one says which rows have to go for it: those that fail at its points. Where a point
outside of the union fails no others, there is no use in trying. Few such ways are left, whose rows are proved to keep
out nothing but points of the union, or else give one more point outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from ..budgets import spend
from ..conjuncts.conjunct import Conjunct, lifted
from ..conjuncts.cover import stray
from ..conjuncts.frame import Frame, Member
from ..conjuncts.implies import implied
from ..conjuncts.project import prune
from ..engine.rows import Row, complement, dot, negate
from . import between

POINTS = 24  # of a piece, and beside it, that are looked at


def widened(pieces: Sequence[Conjunct]) -> tuple[Conjunct, ...] | None:
    """Fewer pieces with the same points, one of them wider; None if none is found. They have points and known divs.

    Cost: the values of rows at some points, and a difference for each row where these say nothing.

    >>> from polyvolta.sets import Set
    >>> pieces = Set("{ [i, j] : i >= 0 and j >= 0; [i, j] : i < 0; [i, j] : j < 0 }").parts[0][1]
    >>> [(c.eqs, c.ineqs) for c in widened(pieces)]
    [((), ())]
    """
    union = _Union(pieces)
    return next(filter(None, (_over_others(union, at) for at in range(len(pieces)))), None)


class _Points:
    """Integer points (1, x) in blocks of as many each, and the signs of rows there, of all points at once.

    Coordinates are packed, a long integer for each column with a field for each point. So the values of a row are a
    sum of a few products of long integers by small ones. Fields have room for every value, a bias makes all of them
    non-negative, and the highest bit of a field says the sign. A set of points is a sum of such bits. For a hundred
    points this takes a twentieth of what products of single numbers take.

    Parameters
    ----------
    rows : those that will be asked of.
    """

    def __init__(self, points: Sequence[Row], rows: Sequence[Row], block: int = 1) -> None:
        columns = list(zip(*points, strict=True))
        most = [max(map(abs, column)) for column in columns]
        room = max([*most, *[sum([abs(v * m) for v, m in zip(row, most, strict=True)]) for row in rows]], default=0)
        size = 1 + room.bit_length() // 8  # of a field in bytes: room < 2 ** (8 * size - 1)
        self.width, self.count, self.block, half = 8 * size, len(points), block, 1 << (8 * size - 1)
        self.ones = int.from_bytes((b"\1" + bytes(size - 1)) * len(points), "little")
        self.all = self.ones * half
        packed = [b"".join([(x + half).to_bytes(size, "little") for x in column]) for column in columns[1:]]
        self.columns = [int.from_bytes(column, "little") - self.all for column in packed]

    def failing(self, row: Row) -> int:
        """The points at which a row is negative.

        >>> rows = (0, 1, -1), (1, 0, 1)
        >>> points = _Points([(1, 0, 3), (1, 2, 0), (1, -5, 1), (1, 1, 1)], rows)
        >>> [[points.failing(row) >> (8 * k + 7) & 1 for k in range(4)] for row in rows]
        [[1, 0, 1, 0], [0, 0, 0, 0]]
        """
        values = self.all + row[0] * self.ones
        for v, column in zip(row[1:], self.columns, strict=True):
            if v:
                values += v * column
        return ~values & self.all

    def blocks(self, some: int) -> list[int]:
        """The numbers of the blocks with a point of a set.

        >>> points = _Points([(1, 0), (1, 2), (1, -5), (1, -1), (1, 1), (1, 3)], [(-1, 1)], block=2)
        >>> points.blocks(points.failing((-1, 1)))
        [0, 1]
        """
        reach = 1
        while reach < self.block:  # of each field and those behind it, as many as a block has
            step = min(reach, self.block - reach)
            some |= some >> self.width * step
            reach += step
        size = self.width // 8
        signs = some.to_bytes(size * self.count, "little")[size - 1 :: size * self.block]
        return [k for k, sign in enumerate(signs) if sign & 128]


class _Union:
    """Pieces, and which of their rows fail at which points; sets of rows are numbers, a bit for each row."""

    def __init__(self, pieces: Sequence[Conjunct]) -> None:
        self.pieces, self.frame = pieces, Frame(pieces)
        members, divs = self.frame.members, self.frame.divs
        self.rows = list(dict.fromkeys([r for m in members for r in m.statements]))
        spend(len(self.rows) * len(members) // 16)  # each row at points of each member
        bits = {row: 1 << k for k, row in enumerate(self.rows)}
        self.of = [reduce(or_, map(bits.__getitem__, m.statements), 0) for m in members]
        near: list[Row] = []
        for c, m in zip(pieces, members, strict=True):
            inside, beside = between.walked(c)
            m.points += [lifted(divs, x) for x in inside[:POINTS]]
            near += [lifted(divs, x) for x in beside[:POINTS]]
        self.cut = self._cut(members)  # for each piece the rows that fail at some point of it
        # points near pieces at which each row fails, and those that are in no piece
        self._near = _Points(near, self.rows) if near else None
        self._failing = [self._near.failing(row) for row in self.rows] if self._near else []
        self._outside = self._near.all if self._near else 0
        for own in self.of:
            self._outside &= self._fail(own)
        self._strays: list[int] = []  # for more points of no piece the rows that fail there
        every = (1 << len(self.rows)) - 1
        unsure = self.told(every & ~reduce(or_, self.cut))
        self.valid = sum([bits[r] for r in unsure if all(m.implies(r, exact=False) for m in members)])

    def _cut(self, members: Sequence[Member]) -> list[int]:
        """For each member the rows that fail at some known point of it."""
        block = max([len(m.points) for m in members])
        every = [p for m in members for p in (*m.points, *m.points[:1] * (block - len(m.points)))]
        if len(every) < block * len(members):
            return [sum([1 << k for k, r in enumerate(self.rows) if min(m.values(r), default=0) < 0]) for m in members]
        points = _Points(every, self.rows, block)
        cut = [0] * len(members)
        for k, row in enumerate(self.rows):
            for at in points.blocks(points.failing(row)):
                cut[at] |= 1 << k
        return cut

    def _fail(self, rows: int) -> int:
        """The points near pieces at which one of these rows fails."""
        return reduce(or_, map(self._failing.__getitem__, _numbers(rows)), 0) if self._failing else 0

    def reaches(self, rows: int) -> bool:
        """Whether a point of no piece is known at which all of these rows hold."""
        return bool(self._outside & ~self._fail(rows)) or not all(map(rows.__and__, self._strays))

    def told(self, rows: int) -> list[Row]:
        """A set of rows, as rows."""
        return [self.rows[k] for k in _numbers(rows)]

    def holds_all(self, c: Conjunct, pieces: Sequence[Conjunct]) -> bool:
        """Whether every point of a conjunct is in one of some pieces; else one more point is known of none."""
        found = stray(pieces, c)
        if found is not None:
            point = lifted(self.frame.divs, found)
            self._strays.append(sum([1 << k for k, row in enumerate(self.rows) if dot(row, point) < 0]))
        return found is None


def _numbers(some: int) -> Iterator[int]:
    """The numbers of the bits of a set."""
    while some:
        last = some & -some
        yield last.bit_length() - 1
        some ^= last


def _over_others(union: _Union, at: int) -> tuple[Conjunct, ...] | None:
    """The pieces, one of them wider and without those that lie within it; None where there are none of these."""
    frame, member, others = union.frame, union.frame.members[at], (*union.pieces[:at], *union.pieces[at + 1 :])
    whole = kept = union.of[at] | union.valid
    loose = 0
    for k in _numbers(union.of[at] & ~union.valid):
        row = union.rows[k]
        if row in member.ineqs or any(_begins_behind(m, row) for m in frame.members):
            loose |= 1 << k
    # for each piece that may come to lie within, the rows that have to go
    ways = [cut & whole for cut in (*union.cut[:at], *union.cut[at + 1 :]) if not cut & whole & ~loose]
    ways = [gone for gone in dict.fromkeys(ways) if not union.reaches(whole & ~gone)]
    for k in _numbers(whole) if ways else ():
        row, bit = union.rows[k], 1 << k
        if any(map(bit.__and__, ways)):
            rest = kept & ~bit
            if not union.reaches(rest):
                behind = frame.conjunct((), [complement(row), *union.told(rest)])
                if behind is None or union.holds_all(behind, others):
                    kept = rest
                    continue
            ways = [gone for gone in ways if not gone & bit and not union.reaches(whole & ~gone)]
    if kept == whole or not ways:
        return None
    wider = frame.conjunct((), union.told(kept))
    wider = wider and prune(wider)
    left = [] if wider is None else [p for p in others if not implied(p, wider)]
    return None if wider is None or len(left) == len(others) else (*left, wider)


def _begins_behind(m: Member, row: Row) -> bool:
    """Whether a member has a row opposite to `row >= 0` that lets some points in behind it."""
    start, same = m.least.get(negate(row[1:])), m.least.get(row[1:])
    return start is not None and start >= -row[0] - 1 and (same is None or same > row[0])
