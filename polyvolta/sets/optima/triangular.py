"""Lexicographic optima by back substitution, where bounds allow it.

Most optima asked in practice need no simplex: loop bounds and footprints bound every dimension by its predecessors
with unit coefficients. Two passes solve such a system, and everything else is left to `lexopt`:

1. Backwards, from the last variable to the first, Fourier and Motzkin's elimination, as long as it is exact over the
   integers: of a lower bound `a*x >= l` and an upper bound `b*x <= u`, one has a or b equal to 1, or both are the two
   sides of a floor. A bound `b*x <= u` by parameters alone is `x <= floor(u/b)`, with a floor that is a parameter from
   there on, so that b is 1. The bounds of each variable, in terms of its predecessors, are kept. What is left at the
   end are the parameters with a solution.
2. Forwards, from the first variable to the last: given its predecessors, the least value of a variable is the
   greatest of its lower bounds, `ceil(l/a)`, and every value within the bounds can be completed to a solution, for
   the elimination was exact. Bounds that the domain implies to be slack are left out; where several remain, the
   domain is split by which of them is greatest.

An equality whose last variable has coefficient 1 or -1 defines this variable by its predecessors, which is compatible
with the order. In `x = 3q + e` the last one, q, has none, but x has, and grows with q, for e is given: they exchange
places, and the optimum of q is that of x. Any step that would not be exact ends the attempt: the answer is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from math import gcd
from typing import cast

from ..engine import integer
from ..engine.columns import defining_rows
from ..engine.lexopt import Piece
from ..engine.rows import Row, negate, normal_ineq
from ..engine.simplex import Tableau
from .backwards import Backwards, Divs, Inexact, backwards

MOST_PIECES = 8  # of an answer: beyond these `lexopt` is the better way

SEVERAL: Row = ()  # stands for a value that is the least or greatest of several


def optimum(
    n_param: int, n_var: int, eqs: Sequence[Row], ineqs: Sequence[Row], given: Sequence[Row], n_wanted: int, sign: int
) -> list[Piece] | None:
    """The lexicographic minimum (sign -1) or maximum of the first `n_wanted` variables, or None.

    Parameters
    ----------
    n_param, n_var, eqs, ineqs : as for `lexopt.lexmin`.
    given : inequalities of the parameters alone, which hold anyway and are not to be repeated in the answer.

    Notes
    -----
    Exact where it answers; O(rows^2) combinations a variable.

    >>> optimum(2, 1, (), ((0, -1, 0, 1), (0, 0, -1, 2)), (), 1, -1)[0].values  # x >= a, 2x >= b: where a is greater
    ((0, 1, 0, 0),)
    >>> (piece,) = optimum(1, 2, (), ((0, 0, 1, 0), (0, 0, -1, 4), (0, 1, 0, -4)), (), 2, 1)  # 0 <= x <= 4y <= a
    >>> piece.divs, piece.values  # y is floor(a/4) at most
    (((4, (0, 1)),), ((0, 0, 4), (0, 0, 1)))
    >>> optimum(1, 2, (), ((0, 0, 2, -3),), (), 2, -1) is None  # unbounded
    True
    """
    try:
        system = backwards(n_param, n_var, eqs, ineqs, given, n_wanted, sign)
        return [] if system.empty() else _forwards(system)
    except Inexact:
        return None


def folded(
    n_param: int, n_var: int, eqs: Sequence[Row], ineqs: Sequence[Row], given: Sequence[Row], n_wanted: int, sign: int
) -> list[tuple[Piece, list[tuple[Row, ...]]]] | None:
    """The optimum as at most one piece (its values are to be ignored) with, for each wanted variable, the rows of
    which its value is the greatest (sign -1) or least one. None where `optimum` has to be asked.

    >>> folded(2, 1, (), ((0, -1, 0, 1), (0, 0, -1, 1)), (), 1, -1)[0][1]  # x >= a, x >= b
    [((0, 1, 0), (0, 0, 1))]
    """
    try:
        system = backwards(n_param, n_var, eqs, ineqs, given, n_wanted, sign)
        return [] if system.empty() else [_folded(system)]
    except Inexact:
        return None


def _folded(system: Backwards) -> tuple[Piece, list[tuple[Row, ...]]]:
    """The second pass without splits, as long as no bound mentions a value that has several options."""
    n = system.n
    leaf = Piece((), tuple(system.equalities()), tuple(system.domain()), ())
    options: list[tuple[Row, ...]] = []
    for col in range(n + 1, n + 1 + system.n_wanted):
        divs, values = _candidates(system, leaf, col)
        options.append(tuple(values))
        leaf = Piece(divs, leaf.eqs, leaf.ineqs, (*leaf.values, values[0] if len(values) == 1 else SEVERAL))
    for col in system.exchanged:
        options[col - n - 1] = (_wanted(system, leaf).values[col - n - 1],)
    width = n + 1 + len(leaf.divs)
    eqs, ineqs = (tuple([_fitted(r, width) for r in rows]) for rows in (leaf.eqs, leaf.ineqs))
    return system.told(Piece(leaf.divs, eqs, ineqs, ())), [
        tuple([_fitted(v, width) for v in values]) for values in options
    ]


def _forwards(system: Backwards) -> list[Piece]:
    """The second pass: pieces as far as they are known, one more variable at a time."""
    n = system.n
    leaves: list[Piece] = [Piece((), tuple(system.equalities()), tuple(system.domain()), ())]
    for col in range(n + 1, n + 1 + system.n_wanted):
        grown = []
        for leaf in leaves:
            grown += _split(leaf, n, *_candidates(system, leaf, col), system.given, system.sign)
            if len(grown) > MOST_PIECES:
                raise Inexact
        leaves = grown
    return [_unused_left_out(system.told(_wanted(system, leaf)), n - len(system.floors)) for leaf in leaves]


def _wanted(system: Backwards, leaf: Piece) -> Piece:
    """The piece with the values of exchanged variables in their places."""
    if not system.exchanged:
        return leaf
    values = list(leaf.values)
    for col, place in system.exchanged.items():
        values[col - system.n - 1] = _placed(system.kept[place][1][0], system.n, leaf)
    return Piece(leaf.divs, leaf.eqs, leaf.ineqs, tuple(values))


def _placed(row: Row, n: int, leaf: Piece) -> Row:
    """A row over (parameters, variables so far) as one over (parameters, divs); without what else it has."""
    out = [*row[: n + 1], *[0] * len(leaf.divs)]
    for c, value in zip(row[n + 1 :], leaf.values, strict=False):
        if c:
            if value is SEVERAL:
                raise Inexact
            for k in compress(range(len(value)), value):
                out[k] += c * value[k]
    return tuple(out)


def _with(leaf: Piece, divs: Divs, value: Row, more: Iterable[Row]) -> Piece:
    return Piece(divs, leaf.eqs, _tightest((*leaf.ineqs, *more)), (*leaf.values, value))


def _tightest(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows, the tightest of parallel ones."""
    out: dict[Row, int] = {}
    for row in rows:
        key = row[1 : _length(row)]
        if out.setdefault(key, row[0]) > row[0]:
            out[key] = row[0]
    return tuple([(c, *k) for k, c in out.items()])


def _fitted(row: Row, width: int) -> Row:
    """The row with zeros up to a width."""
    return row if len(row) == width else (*row, *[0] * (width - len(row)))


def _length(row: Row) -> int:
    """The length without zeros at the end, which stand for divs that came later."""
    n = len(row)
    while n > 1 and not row[n - 1]:
        n -= 1
    return n


def _candidates(system: Backwards, leaf: Piece, col: int) -> tuple[Divs, list[Row]]:
    """What the next variable is the greatest of, or for sign 1 the least of: `ceil(-row / a)` or `floor(row / a)` for
    its bounds `a*x + row >= 0` or `-a*x + row >= 0`, and the divs of these values."""
    n, sign = system.n, system.sign
    plain, rows = system.kept[col]
    if plain:
        return leaf.divs, [_placed(rows[0], n, leaf)]
    divs, values = leaf.divs, []
    for bound in rows:
        a, row = abs(bound[col]), _placed(bound, n, leaf)
        up = row if sign > 0 else negate(row)
        if a > 1:
            divs, up = _quotient(divs, n, (up[0] + (a - 1 if sign < 0 else 0), *up[1:]), a)
        values.append(up)
    if len(values) > 1:
        values = _undominated([_fitted(v, n + 1 + len(divs)) for v in values], (*system.given, *leaf.ineqs), sign)
    if len(values) > 1 and (system.floors or any(any(v[n + 1 :]) for v in values)):
        values = _ever_best(values, Piece(divs, leaf.eqs, leaf.ineqs, ()), n, system.given, sign)
    return divs, values


def _split(leaf: Piece, n: int, divs: Divs, values: list[Row], given: Sequence[Row], sign: int) -> list[Piece]:
    """The leaf with the next variable's value, one for each candidate that is the best somewhere."""
    if len(values) == 1:
        return [Piece(divs, leaf.eqs, leaf.ineqs, (*leaf.values, values[0]))]
    out = []
    for k, v in enumerate(values):
        gaps = [tuple((x - y) * -sign for x, y in zip(v, w, strict=True)) for w in values]
        more = [normal_ineq((g[0] - (j < k), *g[1:])) for j, g in enumerate(gaps) if j != k]
        # none is True or False: of two values whose difference is a number `_undominated` keeps one
        piece = _with(leaf, divs, v, cast("list[Row]", more))
        if not _empty_piece(piece, n, given):
            out.append(piece)
    if len(out) == 1:  # the others are never best
        return [_with(leaf, divs, out[0].values[-1], ())]
    return out


def _quotient(divs: Divs, n: int, row: Row, den: int) -> tuple[Divs, Row]:
    """floor(row / den) as a row, which may need one more div."""
    g = gcd(den, *row[1:])
    row, den = tuple(v // g for v in row), den // g
    if den == 1:
        return divs, row
    div = (den, row)
    if div not in divs:
        divs = (*divs, (den, (*row, *[0] * (n + 1 + len(divs) - len(row)))))
        div = divs[-1]
    at = n + 1 + divs.index(div)
    return divs, tuple(int(k == at) for k in range(n + 1 + len(divs)))


def _undominated(values: list[Row], rows: Iterable[Row], sign: int) -> list[Row]:
    """The different values without those that a row says are never the best."""
    values = list(dict.fromkeys(values))
    known = {r[1:]: r[0] for r in _tightest(rows)}
    out = values
    for v in values:
        for w in out:
            if v is w:
                continue
            gap = normal_ineq(tuple((y - x) * -sign for x, y in zip(v, w, strict=True)))  # w is as good as v
            if gap is True or (gap is not False and known.get(gap[1 : _length(gap)], gap[0] + 1) <= gap[0]):
                out = [x for x in out if x is not v]
                break
    return out


def _ever_best(values: list[Row], domain: Piece, n: int, given: Sequence[Row], sign: int) -> list[Row]:
    """The values without those than which, by linear programs, another is nowhere worse: floors hide bounds.

    That differences are integers counts: one that is above -1 is not negative.
    """
    eqs, ineqs = _all_rows(domain, n, given)
    tab = Tableau(n + len(domain.divs))
    for row in eqs:
        tab.add_eq(row)
    for row in ineqs:
        tab.add_ineq(row)
    out = values
    for v in values if not tab.empty else ():
        for w in out:
            if v is not w:
                least = tab.minimum([(y - x) * -sign for x, y in zip(v, w, strict=True)])
                if least is not None and least[0] > -least[1]:
                    out = [x for x in out if x is not v]
                    break
    return out


def _all_rows(piece: Piece, n: int, given: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Equalities and inequalities of a domain, with those of its divs."""
    width = n + 1 + len(piece.divs)
    rows = [_fitted(r, width) for r in (*piece.ineqs, *given)]
    for k, div in enumerate(piece.divs):
        rows += defining_rows(div, n + 1 + k, width)
    return [_fitted(r, width) for r in piece.eqs], rows


def _empty_piece(piece: Piece, n: int, given: Sequence[Row]) -> bool:
    return integer.is_empty(n + len(piece.divs), *_all_rows(piece, n, given))


def _unused_left_out(leaf: Piece, n: int) -> Piece:
    """The piece with rows of one length and without divs that nothing mentions."""
    if not leaf.divs:
        return Piece((), leaf.eqs, tuple([_fitted(r, n + 1) for r in leaf.ineqs]), leaf.values)
    rows = [*leaf.ineqs, *leaf.values]
    used = [any(len(r) > n + 1 + k and r[n + 1 + k] for r in rows) for k in range(len(leaf.divs))]
    for k in range(len(leaf.divs) - 1, -1, -1):
        if used[k]:
            for j, v in enumerate(leaf.divs[k][1][n + 1 :]):
                used[j] = used[j] or bool(v)
    kept = [n + 1 + k for k, u in enumerate(used) if u]

    def fit(row: Row) -> Row:
        return (*row[: n + 1], *[0] * (n + 1 - len(row)), *(row[k] if k < len(row) else 0 for k in kept))

    divs = tuple(
        (den, fit(row)[: n + 1 + i])
        for i, (den, row) in enumerate(d for d, u in zip(leaf.divs, used, strict=True) if u)
    )
    return Piece(divs, tuple(map(fit, leaf.eqs)), tuple(map(fit, leaf.ineqs)), tuple(map(fit, leaf.values)))
