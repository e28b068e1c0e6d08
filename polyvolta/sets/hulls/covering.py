"""What two conjuncts of a frame agree on, and whether they cover what that leaves."""

from __future__ import annotations

from itertools import product

from ..conjuncts.frame import Frame, Member
from ..engine.rows import Row, complement, negate


def valid_rows(frame: Frame, a: Member, b: Member, cuts: set[Row]) -> Member:
    """The rows of either that hold on both, the strongest of each linear part."""
    best: dict[Row, int] = {}
    for row in (*a.statements, *b.statements):
        if row not in cuts and best.get(row[1:], row[0]) >= row[0]:
            best[row[1:]] = row[0]
    eqs = []
    for row in (*a.eqs, *b.eqs):
        opposite = negate(row)
        if best.get(row[1:]) == row[0] and best.get(opposite[1:]) == opposite[0]:
            eqs.append(row)
            del best[row[1:]], best[opposite[1:]]
    return Member(frame, eqs, [(c, *key) for key, c in best.items()])


def covers(hull: Member, cuts_a: list[Row], cuts_b: list[Row]) -> bool:
    """Whether no point of the hull violates both a row of `cuts_b` (of A) and one of `cuts_a` (of B)."""
    hard = []
    for r, s in product(cuts_b, cuts_a):
        if all(x + y == 0 for x, y in zip(r[1:], s[1:], strict=True)):
            if r[0] + s[0] >= -1:
                continue
            hard.insert(0, (r, s))  # the likeliest to fail
        else:
            hard.append((r, s))
    unsure = []
    for r, s in hard:
        tab = hull.tableau
        if tab.empty:
            return True
        outside = (complement(r), complement(s))
        token = tab.mark()
        for row in outside:
            tab.add_ineq(row)
        found = not tab.empty and all(den == 1 for _, den in tab.sample())
        if not tab.empty:
            unsure.append(outside)
        tab.rollback(token)
        if found:
            return False
    return all(hull.frame.is_empty(hull.eqs, (*hull.ineqs, *outside)) for outside in unsure)
