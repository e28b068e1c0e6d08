"""What two conjuncts of a frame agree on, also where rows are turned, and whether they cover what that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..budgets import bounded, spend
from ..conjuncts.frame import Frame, Member
from ..engine.rows import Row, complement, dot, negate, normal_ineq
from ..errors import BudgetExceeded

FOR_A_CORNER = 400  # steps (some 5 ms) to see that two rows leave nothing out; the longest that did took 362


def valid_rows(frame: Frame, a: Member, b: Member, cuts: set[Row]) -> Member:
    """The rows of either that hold on both, the strongest of each linear part, and those of `_in_common`."""
    best = _in_common(a, b) if a.eqs and b.eqs else {}
    for row in (*a.statements, *b.statements):
        if row not in cuts:
            key, const = row[1:], row[0]
            if best.setdefault(key, const) > const:
                best[key] = const
    eqs = []
    for row in (*a.eqs, *b.eqs):
        opposite = negate(row)
        if best.get(row[1:]) == row[0] and best.get(opposite[1:]) == opposite[0]:
            eqs.append(row)
            del best[row[1:]], best[opposite[1:]]
    return Member(frame, eqs, [(c, *key) for key, c in best.items()])


def _in_common(a: Member, b: Member) -> dict[Row, int]:
    """Rows that two members on parallel planes have in common, though they are stated otherwise: normals, constants.

    With `e + c = 0` on A and `e + d = 0` on B, the rows `r + p >= 0` and `r + q >= 0` are there `r + f e + p + f c` and
    `r + f e + q + f d`, which are one where f (c - d) = q - p: as of `j = i + c and i < N - c` for two numbers c. It
    takes sums of two rows; without these, rows are turned to find them once all pairs were compared.
    """
    planes = {eq[1:]: eq[0] for eq in b.eqs}
    found: dict[Row, int] = {}
    for eq in a.eqs:
        apart = eq[0] - planes.get(eq[1:], eq[0])
        for row in a.ineqs if apart else ():
            other = b.least.get(row[1:])
            if other is None or other == row[0] or (other - row[0]) % apart:
                continue
            f = (other - row[0]) // apart
            both = normal_ineq(tuple([x + f * y for x, y in zip(row, eq, strict=True)]))
            if not isinstance(both, bool):
                found[both[1:]] = min(both[0], found.get(both[1:], both[0]))
    return found


def with_remainders(frame: Frame, m: Member) -> Member:
    """The conjunct with what its strides say of other floors: where i mod 7 is 1, i + 2 - 7*floor((i + 2)/7) is 3.

    A stride leaves a remainder by a multiple of a floor's denominator in the same linear form, up to the sign, so that
    the floor's own remainder is a number. The pieces then state rows of one floor, which may go on with one another.
    """
    base, found = 1 + frame.n, list[Row]()
    for k, div in enumerate(frame.divs) if m.eqs else ():
        if div is None or any(div[1][base:]):
            continue
        den, num = div
        for row in m.eqs:
            if any(v % den for v in row[base:]) or not any(row[base:]):
                continue
            sign = 1 if row[1:base] == num[1:base] else -1
            if sign > 0 or row[1:base] == negate(num[1:base]):
                said = [num[0] - (num[0] - sign * row[0]) % den, *num[1:]]
                said[base + k] = -den
                found.append(tuple(said))
                break
    new = [r for r in found if r not in m.eqs and negate(r) not in m.eqs]
    return Member(frame, (*m.eqs, *new), m.ineqs) if new else m


def covers(hull: Member, cuts_a: list[Row], cuts_b: list[Row], near: Iterable[Row] = ()) -> bool:
    """Whether no point of the hull violates both a row of `cuts_b` (of A) and one of `cuts_a` (of B).

    Points `near` both pieces, over the frame's columns, are looked at before there is any search.
    """
    for p in near:
        if any(dot(r, p) < 0 for r in cuts_a) and any(dot(r, p) < 0 for r in cuts_b) and hull.holds(p):
            return False
    likely: list[tuple[Row, Row]] = []  # to fail
    others: dict[Row, list[Row]] = {}
    opposite = [hull.frame.opposite(s[1:]) for s in cuts_a]
    for r in cuts_b:
        key = r[1:]
        for s, other in zip(cuts_a, opposite, strict=True):
            if key != other:
                others.setdefault(r, []).append(s)
            elif r[0] + s[0] < -1:
                likely.append((r, s))
    for r, partners in (*[(r, [s]) for r, s in reversed(likely)], *others.items()):
        first = complement(r)
        if hull.has_point((first, complement(partners[0]))):
            return False
        tab = hull.tableau([*cuts_a, *cuts_b])
        if tab.empty:
            return True
        unsure = []
        before = tab.mark()
        tab.add_ineq(first)
        with_r = tab.mark()
        for s in () if tab.empty else partners:
            tab.add_ineq(complement(s))
            if not tab.empty:
                if hull.at_vertex(tab.sample(), (r, s)):
                    tab.rollback(before)
                    return False
                unsure.append((first, complement(s)))
            tab.rollback(with_r)
        tab.rollback(before)
        if not all(_without_point(hull, outside) for outside in unsure):
            return False
    return True


def wrapped(a: Member, b: Member, cuts: list[Row]) -> list[Row]:
    """Rows of A that cut B, turned around a facet of A that B lies behind until they hold on both.

    With r >= 0 a facet of A and B within r <= -1, and m < 0 the least value of the row s where B has r = -1, the
    row `s + m r` is s + |m| there.
    """
    found = []
    for r in cuts:
        others = [s for s in cuts if s != r and s != negate(r)]
        if not others or not b.implies(complement(r), exact=False):
            continue
        tab = b.tableau(cuts)
        token = tab.mark()
        tab.add_eq((r[0] + 1, *r[1:]))
        lows = [] if tab.empty else [(s, tab.minimum(s)) for s in others]
        tab.rollback(token)
        for s, low in lows:
            if low is None:
                continue
            m = -(-low[0] // low[1])
            if m:
                row = tuple([x + m * y for x, y in zip(s, r, strict=True)])
                if a.implies(row, exact=False) and b.implies(row, exact=False):
                    found.append(row)
    return found


def not_implied(m: Member, rows: Iterable[Row]) -> list[Row]:
    """Those of some rows that a member and the rows before don't imply over the rationals: one linear program each."""
    tab = m.tableau(rows := list(dict.fromkeys(rows)))
    token, kept = tab.mark(), []
    for row in rows:
        if not tab.implies(row):
            tab.add_ineq(row)
            kept.append(row)
    tab.rollback(token)
    return kept


def _without_point(hull: Member, outside: Sequence[Row]) -> bool:
    """Whether no integer point of a hull satisfies more rows; False, too, where that is far to seek."""
    try:
        return bounded(FOR_A_CORNER, hull.frame.is_empty, hull.eqs, (*hull.ineqs, *outside))
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return False
