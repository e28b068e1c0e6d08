"""The rows of a conjunct as isl keeps them: without the floors that dimensions say.

Our normal form says the dimension `a` of `4*a <= i <= 4*a + 3` as `a = floor(i/4)`, and a bound on it, `a >= 4`, as
one on `i`. A program that was written for isl reads bounds, and drops those of a dimension, so both are said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..conjuncts.conjunct import Conjunct
    from ..conjuncts.normal import Div
    from ..engine.rows import Row


def listed(c: Conjunct, first: int) -> tuple[list[Div], list[Row], list[Row]]:
    """The floors, equalities and inequalities of a conjunct whose floors' columns begin at `first`, as isl has them.

    An equality `m*floor(n/d) = v` of one floor, `n` and `v` without any, is `d*v <= m*n <= d*v + m*(d - 1)` and,
    unless `m` is 1, that `m` divides `v`: it is of the integer `v/m` that `d*(v/m) <= n < d*(v/m) + d`, which is what
    the floor says. So the floor is `floor(v/m)` from then on, or `v` itself. Where the two bounds have no dimensions
    the equality is a stride alone, `i = 4*floor(i/4)`, and stays. Other equalities of the floor are said without it.

    With the floor known `n >= d*t` is `floor(n/d) >= t`, or `v >= m*t`, and is said so, too, as is `n < d*t + d` by
    `v <= m*t`; so are the bounds of another floor of `n`. Last, inequalities are said without the last dimension of
    each equality. All rows together are equivalent to the conjunct's; each is looked at once for each floor.
    """
    eqs, ineqs = without_floors(c, first)
    divs = [d and (d[0], (*d[1], *[0] * (k - len(d[1])))) for k, d in enumerate(c.divs, first)]
    width, said = first + len(divs), []
    for k in range(first, width):
        div = divs[k - first]
        if div is None or any(div[1][first:k]):
            continue
        of_one = [e for e in eqs if e[k] and not any(e[j] for j in range(first, width) if j != k)]
        if not of_one:
            continue
        den, num = div[0], (*div[1], *[0] * (width - len(div[1])))
        e, m, value, low = min([_said(e, k, den, num) for e in of_one], key=lambda found: (any(found[3][1:]), found[1]))
        eqs = [r if r is e or not r[k] else _crossed(r, e, k) for r in eqs]
        if not any(low[1:]):
            continue
        high = [m * (den - 1) - low[0], *[-x for x in low[1:]]]
        if m == 1:
            eqs = [_put_in(r, k, value) for r in eqs if r is not e]
            ineqs = [_put_in(r, k, value) for r in ineqs]
            divs = [d and (d[0], _put_in(d[1], k, value) if len(d[1]) > k else d[1]) for d in divs]
        else:
            divs[k - first] = (m, value[:k])
        ineqs = [*ineqs, tightened(low), tightened(high)]
        said.append((num, den, value, m))
    ineqs = [*ineqs, *[r for floor in said for r in [_beside(r, *floor) for r in ineqs] if r is not None]]
    for e in [e for e in eqs if any(e[1:]) and not any(e[first:])]:
        last = max(k for k in range(1, first) if e[k])
        ineqs = [_reduced(r, e, last) if r[last] else r for r in ineqs]
    return _of_used(divs, [e for e in eqs if any(e)], _distinct(ineqs), first)


def _said(e: Row, k: int, den: int, num: Row) -> tuple[Row, int, Row, list[int]]:
    """What an equality says of a floor: it, `m` and `v` of `m*floor(n/d) = v`, and the lower bound `m*n - d*v`."""
    m = abs(e[k])
    value = tuple([0 if j == k else -x if e[k] > 0 else x for j, x in enumerate(e)])
    return e, m, value, [m * x - den * y for x, y in zip(num, value, strict=True)]


def _crossed(r: Row, e: Row, k: int) -> Row:
    """An equality without a column, which another one has, too: the two say the same as both did."""
    left = [e[k] * a - r[k] * b for a, b in zip(r, e, strict=True)]
    common = gcd(*left) or 1
    return tuple([v // common for v in left])


def _of_used(
    divs: Sequence[Div], eqs: Sequence[Row], ineqs: Sequence[Row], first: int
) -> tuple[list[Div], list[Row], list[Row]]:
    """The rows without the columns of floors that none mentions, nor a floor that is left."""
    used = {k for r in (*eqs, *ineqs) for k in range(first, len(r)) if r[k]}
    for k in range(first + len(divs) - 1, first - 1, -1):
        div = divs[k - first]
        used |= {j for j in range(first, k) if div[1][j]} if k in used and div is not None else set()
    kept = [*range(first), *sorted(used)]
    left = [d and (d[0], tuple([d[1][j] for j in kept if j < k])) for k, d in enumerate(divs, first) if k in used]
    return left, *([tuple([r[j] for j in kept]) for r in rows] for rows in (eqs, ineqs))  # type: ignore[return-value]


def _beside(r: Row, num: Row, den: int, value: Row, m: int) -> Row | None:
    """What an inequality of what a floor divides says of the floor, `value` by `m`; None of another; see `listed`."""
    for sign, off in ((1, 0), (-1, den - 1)):
        rest = [x - sign * n for x, n in zip(r, num, strict=True)]
        rest[0] -= off
        if not any(x % den for x in rest) and any(num[1:]):
            return tightened([m * (x // den) + sign * v for x, v in zip(rest, value, strict=True)])
    return None


def _put_in(r: Sequence[int], k: int, value: Row) -> Row:
    """A row with an integer expression in the place of a column."""
    times = r[k]
    return tuple([0 if j == k else x + times * v for j, (x, v) in enumerate(zip(r, value))])


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """The inequalities without those that always hold, and those that one with the same coefficients implies."""
    least: dict[Row, int] = {}
    for r in rows:
        if any(r[1:]) or r[0] < 0:
            least[r[1:]] = min(r[0], least.get(r[1:], r[0]))
    return [(const, *rest) for rest, const in least.items()]


def tightened(r: Sequence[int]) -> Row:
    """An inequality, without a common factor of its coefficients, as it bounds integers."""
    common = gcd(*r[1:]) or 1
    return tuple([v // common for v in r])


def without_floors(c: Conjunct, first: int) -> tuple[list[Row], list[Row]]:
    """The equalities and inequalities, without floors, columns from `first` on, that the equalities say.

    With `i = 3*floor(i/3)` the bound is `i >= 0`, as isl has it, where we keep `floor(i/3) >= 0`. Where `floor(i/3)` is
    `j + 2`, too, both equalities are `i = 3*j + 6`, from which the floor follows, and from `2*i = 3*j + 2` with the
    remainder 1 follows `2*floor(i/3) = j`: a number of floors that has no factor in common with 3 leaves one remainder.
    """
    eqs, ineqs = list(c.eqs), list(c.ineqs)
    for k, div in enumerate(c.divs, first):
        den, num = div or (0, ())
        multiple = (*num[1:], *[0] * (k - max(len(num), 1)), -den, *[0] * (first + len(c.divs) - k - 1))
        stride = next((e for e in eqs if e[1:] in (multiple, tuple([-v for v in multiple]))), None)
        known = min((e for e in eqs if gcd(e[k], den) == 1 and e is not stride), key=lambda e: abs(e[k]), default=None)
        if stride and known:
            of_both, value = _reduced(stride, known, k), known if abs(known[k]) == 1 else stride
            eqs = [of_both, *(_reduced(e, value, k) if e[k] else e for e in eqs if e is not known and e is not stride)]
            ineqs = [_reduced(r, value, k) if r[k] else r for r in ineqs]
    for e in eqs:
        pivot = next((k for k in range(len(e) - 1, first - 1, -1) if e[k]), 0)
        if pivot:
            ineqs = [_reduced(r, e, pivot) if r[pivot] else r for r in ineqs]
    return eqs, [r for r in ineqs if any(r[1:]) or r[0] < 0]


def unsigned(e: Sequence[int]) -> Row:
    """An equality as it is written with its first number that is not 0 positive."""
    return tuple(-v for v in e) if next((v for v in e if v), 0) < 0 else tuple(e)


def _reduced(r: Row, e: Row, pivot: int) -> Row:
    """A multiple of an inequality less one of an equality, so that a column is 0, and what integers make of it."""
    times, factor = abs(e[pivot]), r[pivot] if e[pivot] > 0 else -r[pivot]
    left = [times * a - factor * b for a, b in zip(r, e)]
    return tightened(left)
