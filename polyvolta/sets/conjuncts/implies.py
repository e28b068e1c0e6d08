"""Implication, which constraints of one conjunct hold at every point of another, and differences of conjuncts.

`r >= 0` holds on A when A with `-r - 1 >= 0` has no integer point. Most such systems are refuted in one step, so
that is tried first: the equalities of A are substituted, the negated row is tightened, and it is added to each row
of A so that one variable vanishes. Tightened again, a contradiction with a parallel row is seen by comparing two
constants. So `i >= 0` and `i <= 128a + 127` give `a >= 0`, and `i = 16q` gives `i = 8 floor(i/8)`, without a linear
program. What is left goes to `integer.is_empty`, which decides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from math import gcd, inf

from ..budgets import remembered, spend
from ..engine import integer
from ..engine.rows import Row, complement, dot, falls, negate, normal_eq, normal_ineq, replaced, solved_for, strongest
from . import lattice
from .alike import alike
from .conjunct import Conjunct, conjoin, juxtaposed, made, shared_divs
from .inequalities import Stated
from .normal import defining_rows

Box = tuple[tuple[float, float], ...]  # for each dimension its least and greatest integer, infinite without a bound


@remembered(1 << 12)
def implied(a: Conjunct, b: Conjunct) -> bool:
    """Whether every point of `a` is a point of `b`, whose divs must be known.

    Exact. O(rows of both) sums of rows for each of b, and an emptiness test where those decide nothing.
    """
    both, rows = _unsaid(a, b)
    if not rows:
        return True
    facts = _facts(a) if len(both.divs) == len(a.divs) else Facts(a, both)
    for row in rows:
        if not (facts.plainly_imply(row) or facts.imply(row)):
            return False
    return True


@remembered(1 << 12)
def plainly_implied(a: Conjunct, b: Conjunct) -> bool:
    """Whether it is seen without a search that every point of `a` is a point of `b`, whose divs must be known."""
    both, rows = _unsaid(a, b)
    if not rows:
        return True
    facts = _facts(a) if len(both.divs) == len(a.divs) else Facts(a, both)
    return all(map(facts.plainly_imply, rows))


@remembered(1 << 12)
def doubtful(a: Conjunct, b: Conjunct) -> tuple[Row, ...]:
    """The rows `>= 0` of `b` (an equality is two) that `a` does not plainly imply, over `juxtaposed(a, b)`.

    They may be implied all the same: no search is made. O(rows of both) sums of rows for each of b.
    """
    both, rows = _unsaid(a, b)
    if not (rows and (a.eqs or a.ineqs or both.divs)):
        return tuple(rows)
    facts = _facts(a) if len(both.divs) == len(a.divs) else Facts(a, both)
    return tuple([row for row in rows if not facts.plainly_imply(row)])


def _unsaid(a: Conjunct, b: Conjunct) -> tuple[Conjunct, list[Row]]:
    """Both over common columns, and the rows `>= 0` of `b` that `a` does not have literally."""
    both, own, ineqs, eqs = a, a.ineqs, b.ineqs, b.eqs
    if a.divs != b.divs:
        both = juxtaposed(a, b)
        own, ineqs, eqs = both.ineqs[: len(a.ineqs)], both.ineqs[len(a.ineqs) :], both.eqs[len(a.eqs) :]
    said = set(own)
    rows = [row for row in ineqs if row not in said]
    if eqs:
        said = set(both.eqs[: len(a.eqs)])
        eqs = [row for row in eqs if row not in said]
    return both, [*rows, *eqs, *map(negate, eqs)]


@lru_cache(maxsize=1 << 12)
def box(c: Conjunct) -> Box:
    """(low, high) for each dimension, as far as rows that speak of it alone say; linear."""
    low, high = [-inf] * c.n, [inf] * c.n
    for rows, equal in ((c.eqs, True), (c.ineqs, False)):
        for row in rows:
            used = [k for k, v in enumerate(row) if k and v]
            if len(used) != 1 or used[0] > c.n:
                continue
            d, v = used[0] - 1, row[used[0]]
            if equal or v > 0:
                low[d] = max(low[d], -(row[0] // abs(v)) if v > 0 else -(-row[0] // abs(v)))
            if equal or v < 0:
                high[d] = min(high[d], row[0] // -v if v < 0 else -row[0] // v)
    return tuple(zip(low, high, strict=True))


@lru_cache(maxsize=1 << 12)
def lower_bounds(c: Conjunct) -> dict[Row, int]:
    """For forms of several dimensions their lower bounds, by rows that speak of nothing else; linear."""
    end, found = 1 + c.n, {}
    for rows, signs in ((c.ineqs, (1,)), (c.eqs, (1, -1))):
        for row in rows:
            if row.count(0) < len(row) - 1 - bool(row[0]) and not any(row[end:]):
                for sign in signs:
                    found[tuple([sign * v for v in row[1:end]])] = -sign * row[0]
    return found


def plainly_apart(a: Conjunct, b: Conjunct) -> bool:
    """Whether bounds of one form say that no point is common, as of most pieces of a large union.

    Linear, once for each: the boxes are looked at, then forms of several dimensions that both bound.
    """
    for (low, high), (least, most) in zip(box(a), box(b), strict=True):
        if low > most or least > high:
            return True
    mine, theirs = lower_bounds(a), _opposites(b)
    return any(mine[form] > theirs[form] for form in mine.keys() & theirs.keys())


@lru_cache(maxsize=1 << 12)
def _opposites(c: Conjunct) -> dict[Row, int]:
    """For forms of several dimensions their upper bounds; see `lower_bounds`."""
    return {negate(form): -low for form, low in lower_bounds(c).items()}


@remembered(1 << 12)
def subtract(a: Conjunct, b: Conjunct) -> tuple[Conjunct, ...]:
    """Disjoint conjuncts whose union is the points of `a` that are not in `b`, whose divs must be known.

    Each inequality of `b` that `a` does not imply gives at most one piece, each equality two.
    """
    spend(2 + len(b.ineqs) + len(b.eqs))
    planes = in_planes(b)
    rows = doubtful(a, planes or b)
    if rows:
        both = conjoin(a, b) if planes is None else juxtaposed(a, planes)  # floors would take longer than a search
        if both is None or both.is_empty:
            return (a,)
    return _outside(a, planes or b, rows)


@remembered(1 << 12)
def cut(a: Conjunct, b: Conjunct) -> tuple[Conjunct, ...]:
    """`subtract` of two conjuncts that are known to have a common point."""
    spend(2 + len(b.ineqs) + len(b.eqs))
    b = in_planes(b) or b
    return _outside(a, b, doubtful(a, b))


def _outside(a: Conjunct, b: Conjunct, rows: Sequence[Row]) -> tuple[Conjunct, ...]:
    """The points of `a` where some of the `rows` of `b` fail, in a piece for each, where those before hold."""
    divs = shared_divs(a, b)[0] if b.divs else a.divs
    pieces, ineqs = [], list(a.ineqs)
    known = None if divs or a.eqs else Stated(ineqs)
    normal = not (ineqs or b.eqs)  # some rows of a normal form are one
    for row in rows:
        outside = complement(row)
        if known:
            piece = _stated(a.n, known, outside, row[1:], ineqs)
        else:
            piece = made(a.n, divs, a.eqs, [*ineqs, outside])
        if piece is not None and (known and falls(row, ineqs) or not piece.is_empty):
            pieces.append(piece)
            ineqs.append(row)
            if known and row is not rows[-1] and not known.add_tight(row, outside[1:], normal):
                known = None
    return tuple(pieces)


def _stated(n: int, known: Stated, row: Row, opposite: Row, ineqs: Sequence[Row]) -> Conjunct | None:
    """The inequalities and one more, whose negated coefficients are given; `known` has them too."""
    rows = known.with_tight(row, opposite)
    if rows is None:
        return None
    return made(n, (), (), [*ineqs, row]) if isinstance(rows, bool) else Conjunct(n, (), (), rows)


@remembered(1 << 11)
def _facts(a: Conjunct) -> Facts:
    """What a conjunct says by itself: asked of often, for one row after another."""
    return Facts(a, a)


class Facts:
    """What a conjunct says, its equalities substituted; `best` has the least constant of each normal."""

    def __init__(self, a: Conjunct, both: Conjunct) -> None:
        base, width = 1 + both.n, 1 + both.n + len(both.divs)
        self.width = width
        self.images: list[tuple[int, Row]] = []
        self.floors: list[Row] = []  # equalities of floors that are one
        own = both.ineqs[: len(a.ineqs)]
        ineqs = list(own)
        for k, div in enumerate(both.divs):
            if div is not None:
                ineqs += defining_rows(div, base + k, width)
        for eq in both.eqs[: len(a.eqs)]:
            eq = self.solved(eq)
            at = width - 1
            while at and eq[at] not in (1, -1):
                at -= 1
            if not at:
                ineqs += [eq, negate(eq)]
                continue
            self.define(at, solved_for(eq, at))
        if not both.divs and own and len(ineqs) == len(own) and any(own[0][1:]):  # not the one of nothing
            if not [row for at, _ in self.images for row in own if row[at]]:  # normal already
                self.empty, self.best = False, {row[1:]: row[0] for row in own}
                return
        if self.images and len(both.divs) > len(a.divs):
            for at, image in alike(both.n, both.divs, self.solved):
                self.floors.append((*image[:at], -1, *image[at + 1 :]))
                self.define(at, image)
        best = strongest(map(self.solved, ineqs) if self.images else ineqs)
        self.empty, self.best = best is None, best or {}

    def define(self, at: int, image: Row) -> None:
        """Add an equality: column `at` is the row `image`."""
        self.images = [(c, replaced(r, at, image)) for c, r in self.images]
        self.images.append((at, image))

    def solved(self, row: Row) -> Row:
        """The row after the equalities are substituted."""
        for at, image in self.images:
            if row[at]:
                row = replaced(row, at, image)
        return row

    def plainly_imply(self, row: Row) -> bool:
        """Whether `row >= 0` at every integer point can be seen without a search."""
        if self.images:
            row = self.solved(row)
        known = self.best.get(row[1:])
        if known is not None and known <= row[0]:
            return True
        tight = normal_ineq(row)
        if type(tight) is bool or self.empty:
            return self.empty or tight is True
        row = tight
        normal = row[1:]
        known = self.best.get(normal)
        if known is not None and known <= row[0]:
            return True
        return self.refuted(-row[0] - 1, normal)

    def imply(self, row: Row) -> bool:
        """Whether `row >= 0` at every integer point."""
        known = [(const, *key) for key, const in self.best.items()]
        return self.empty or integer.is_empty(self.width - 1, (), [*known, complement(self.solved(row))])

    def refuted(self, const: int, normal: Row) -> bool:
        """Whether the sum of `const - normal . x >= 0` with some row contradicts a row or itself.

        So that one variable is gone from the sum, which is tightened.
        """
        best = self.best
        terms = [(k, normal[k]) for k in compress(range(len(normal)), normal)]
        for key, other in best.items():
            for k, p in terms:
                q = key[k]
                if p * q > 0:
                    up, down = abs(q), abs(p)
                    least = up * const + down * other
                    opposite = [-down * v for v in key]  # the coefficients of the sum, negated
                    for j, v in terms:
                        opposite[j] += up * v
                    g = gcd(*opposite)
                    if not g:
                        if least < 0:
                            return True
                        continue
                    if g > 1:
                        least //= g
                        opposite = [v // g for v in opposite]
                    known = best.get(tuple(opposite))
                    if known is not None and known + least < 0:
                        return True
        return False


# ---- planes


@remembered(1 << 12)
def in_planes(c: Conjunct) -> Conjunct | None:
    """The same points by rows without divs, not in normal form, where equalities give all divs; else None.

    A normal form solves each equality for a column with a unit coefficient. `i + 3j - 2k = 3` has none of the last
    dimension, so it reads `(i + j) mod 2 = 1` and `k = 3*floor((i + j)/2) - i`. That serves a projection, but a
    difference would take it away from three places instead of the two sides of a plane, and with a floor in each.

    Crossed with these, no row speaks of a div: over the rationals that says the same. Over the integers it does where
    the equalities have all integer points of the planes that they leave, which the indices of two lattices say. Exact;
    O(equalities^2) rows, no linear program.

    >>> from polyvolta.sets import Set
    >>> ((_, (c,)),) = Set("{ [i, j, k] : i + 3j - 2k = 3 and k >= 5 }").parts
    >>> len(c.divs), in_planes(c)
    (1, Conjunct(n=3, divs=(), eqs=((-3, 1, 3, -2),), ineqs=((-13, 1, 3, 0),)))
    >>> ((_, (c,)),) = Set("{ [i] : i mod 2 = 0 }").parts
    >>> in_planes(c) is None
    True
    """
    base, width = 1 + c.n, 1 + c.n + len(c.divs)
    if not len(c.eqs) > len(c.divs) > 0 or not c.known:
        return None
    left, given = list(c.eqs), []
    for col in range(width - 1, base - 1, -1):
        pivot = next((r for r in left if r[col]), None)
        if pivot is None:
            return None
        left = [_crossed(r, pivot, col) for r in left if r is not pivot]
        given.append((col, pivot))
    eqs = [said for r in left if not isinstance(said := normal_eq(r[:base]), bool)]
    planes = integer.solve_equalities(c.n, eqs)
    own = integer.solve_equalities(width - 1, c.eqs)
    if planes is None or own is None:
        return None
    projected = own[0][: c.n], tuple([b[: c.n] for b in own[1]])
    if lattice.index(projected) != lattice.index(planes):
        return None
    ineqs = []
    for row in c.all_ineqs():
        for col, pivot in given:
            row = _crossed(row, pivot, col)
        said = normal_ineq(row[:base])
        if not isinstance(said, bool) and not _trivial(said, planes):
            ineqs.append(said)
        elif said is False:
            return None
    return Conjunct(c.n, (), tuple(eqs), tuple(ineqs))


def _crossed(row: Row, pivot: Row, col: int) -> Row:
    """A positive multiple of a row and a multiple of another one, so that a column vanishes."""
    if not row[col]:
        return row
    a, b = abs(pivot[col]), -row[col] if pivot[col] > 0 else row[col]
    return tuple([a * v + b * w for v, w in zip(row, pivot, strict=True)])


def _trivial(row: Row, planes: tuple[Row, Sequence[Row]]) -> bool:
    """Whether a row is one number on a lattice, and not a negative one."""
    origin, basis = planes
    return row[0] + dot(row[1:], origin) >= 0 and not any(dot(row[1:], v) for v in basis)
