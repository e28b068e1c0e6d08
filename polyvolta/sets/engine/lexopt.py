"""Parametric integer programming: the lexicographic minimum as a piecewise quasi-affine function.

The question, after Feautrier ("Parametric integer programming", 1988): for parameters p and variables x
under equalities and inequalities, give the lexicographically least integer x as a function of p. The answer
is a list of pieces: on a domain of parameters, each `x_i` is an affine form of p and of *divs*, `floor(form
/ den)`.

The lexicographic dual simplex
    Variables are forms of k nonnegative integer *columns*; one row per free t (the objective rows) and one per
    constraint. A row `[den, M, eps, a1, ..., ak, const, params, divs]`, where eps is 0 at first, says `den * v =
    M*big + sum aj * column_j + C(p)`; its constant is a symbol, the affine form C of the context. Every column, read
    down the objective rows, starts with a positive entry. So with all columns at 0 the objective is least, and this
    point is the answer once every constraint row is >= 0 there. A negative row must be raised by a column
    with a > 0: the one for which objective column / a is lexicographically least enters, which keeps all
    columns positive. The objective grows with every pivot, so there are finitely many. A negative row
    without such a column proves that nothing is feasible.

Unrestricted variables
    An unrestricted t is `t' - M` with a column t' >= 0 and M larger than everything: the sign of a row is
    that of its M entry, if any. If M survives in the answer, there is a direction that all solutions can go on
    in, whatever the parameters, in which the objectives get less: no minimum, or no integer solution at all.

Signs and splits
    The sign of C(p) is asked of the *context*, the parameters still possible: integer points seen so far
    witness either sign, a warm rational tableau refutes, an integer search decides. If both signs occur: a
    row that no column can raise must be >= 0, which restricts the context; otherwise the context is split in
    two.

Many leaves
    One vertex may be met on many paths. Beyond some leaves the search begins anew such that each has one domain
    (`parametric`): eps is then a multiple of a number smaller than all others, which decides the sign of a row
    that is 0.

Cuts
    If an objective row is not integral, `den * v = C(p) + sum aj * column_j`, then `s = sum (aj mod den) *
    column_j` is at least 0 and congruent to -C(p), so at least `-C(p) mod den`. The latter is `e - den *
    floor(e / den)` with `e = -C mod den` taken coefficient by coefficient: an affine form of a new div. That
    is Gomory's cut with a symbolic constant. It is never positive at the present point, so it is pivoted on
    at once. Where the context knows that `-C mod den` is one number everywhere, this takes no div.

Telling
    A div stands for what a cut needed, and a chain of cuts makes floors of floors. In one parameter the
    leaves are known point by point (`progressions`), and are told anew where that is shorter (`periodic`).

Equalities are solved beforehand over the integers (`parametric`): x becomes a form of fewer free t, which are
chosen such that their lexicographic order is that of x. Where nothing is eliminated, they are x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import NamedTuple

from ..budgets import metered, spend, weight
from ..errors import Unbounded
from . import integer
from .columns import defining_rows
from .context import Context
from .parametric import Leaf, System, joined, shifts
from .periodic import SHORT, cost, told
from .rows import Row, complement, negate
from .simplex import Tableau

_MANY = 64  # leaves without cuts, beyond which it is worth while to begin anew such that a vertex has one domain
_LONG = 8  # cuts of a branch after which a caller may know another way
_PATIENCE = 24  # cuts between two checks that the branch has an integer point at all, which take as long as some twenty


class Answered(Exception):
    """A search is given up for pieces that the caller found in another way."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__()
        self.pieces = pieces


class _Many(Exception):
    """A search has many leaves, several of which may have one vertex."""


Otherwise = Callable[[], "Sequence[Piece] | None"]


class Piece(NamedTuple):
    """The optimum on one domain.

    Parameters
    ----------
    divs : (den, row) of each floor(row / den); row i is over (const, params, divs before i).
    eqs, ineqs : the domain, rows over (const, params, divs).
    values : the optimal variables, those wanted, rows over (const, params, divs).
    """

    divs: tuple[tuple[int, Row], ...]
    eqs: tuple[Row, ...]
    ineqs: tuple[Row, ...]
    values: tuple[Row, ...]


@metered
def lexmin(
    n_param: int,
    n_var: int,
    eqs: Sequence[Row],
    ineqs: Sequence[Row],
    divs: Sequence[tuple[int, Row]] = (),
    n_wanted: int | None = None,
    otherwise: Otherwise | None = None,
) -> tuple[Piece, ...]:
    """The lexicographically least integer variables as a function of the integer parameters.

    Parameters
    ----------
    n_param, n_var : rows are over (const, params, divs, variables), all unrestricted integers.
    eqs, ineqs : rows without variables restrict the parameters.
    divs : (den, row) of floors of parameters; row i is over (const, params, divs before i).
    n_wanted : how many of the variables, the first ones, to give the values of; None for all.
    otherwise : asked once, where a branch takes many cuts, for the answer or None; it is raised in an `Answered`.

    Returns
    -------
    Pieces with disjoint domains whose union is exactly the set of parameters with a solution.

    Raises
    ------
    Unbounded : some parameters have solutions but no least one.
    BudgetExceeded : the search is exponential in the worst case.

    Notes
    -----
    Exact. Typically tens of pivots on (n_var + rows) * (n_var + n_param) integers.

    Examples
    --------
    >>> for piece in lexmin(2, 1, (), ((0, -1, 0, 1), (0, 0, -1, 1))):  # x >= a, x >= b
    ...     print(piece.ineqs, piece.values)
    ((0, 1, -1),) ((0, 1, 0),)
    ((-1, -1, 1),) ((0, 0, 1),)
    >>> lexmin(1, 1, (), ((0, -1, 2),))  # 2x >= a
    (Piece(divs=((2, (0, 1)),), eqs=(), ineqs=(), values=((0, 1, -1),)),)
    """
    used = [j for j in range(1, n_param + 1) if any(r[j] for r in (*eqs, *ineqs, *[row for _, row in divs]))]
    if len(used) < n_param:
        return _without_idle(n_param, n_var, eqs, ineqs, divs, used, n_wanted, otherwise)
    if not n_param and not divs:
        corner = _corner(n_var, eqs, ineqs, n_var if n_wanted is None else n_wanted)
        if corner is not None:
            return corner
    first = n_param + len(divs) + 1
    bounds = [r for k, div in enumerate(divs) for r in defining_rows(div, n_param + 1 + k, first + n_var)]
    point = integer.sample(first - 1 + n_var, eqs, [*ineqs, *bounds])
    if point is None:
        return ()

    def turned(row: Row) -> Row:
        return (row[0], *row[first:], *row[1:first])

    def begun() -> System:
        system = System(n_param, n_var, [turned(r) for r in eqs], [turned(r) for r in ineqs], divs, point)
        system.simplify()
        return system

    system, n_wanted = begun(), n_var if n_wanted is None else n_wanted
    search = _Search(system, n_wanted, otherwise)
    try:
        leaves = search.solve(search.rows, system.context)
    except _Many:
        system = begun()
        root, moves = system.context.fork(), shifts(len(system.ineqs))
        search = _Search(system, n_wanted, search.otherwise, moves)
        leaves = joined(search.solve(search.rows, system.context), system, root, moves)
    pieces = [leaf.finished(values) for leaf, values in leaves]
    if n_param == 1 and cost(pieces) > SHORT:
        lines = [(at, values) for leaf, values in leaves for at in leaf.along if at is not None]
        anew = told(lines) if len(lines) == sum([len(leaf.along) for leaf, _ in leaves]) else None
        if anew is not None and cost(anew) < cost(pieces):
            pieces = anew
    return tuple([Piece(*piece) for piece in pieces])


@metered
def lexmax(
    n_param: int,
    n_var: int,
    eqs: Sequence[Row],
    ineqs: Sequence[Row],
    divs: Sequence[tuple[int, Row]] = (),
    n_wanted: int | None = None,
    otherwise: Otherwise | None = None,
) -> tuple[Piece, ...]:
    """The lexicographically greatest integer variables: `lexmin` of their negatives, with the same contract.

    >>> lexmax(1, 1, (), ((0, 1, -2),))  # 2x <= a
    (Piece(divs=((2, (0, 1)),), eqs=(), ineqs=(), values=((0, 0, 1),)),)
    """

    def mirrored(row: Row) -> Row:
        first = n_param + len(divs) + 1
        return (*row[:first], *[-c for c in row[first:]])

    pieces = lexmin(n_param, n_var, [mirrored(r) for r in eqs], [mirrored(r) for r in ineqs], divs, n_wanted, otherwise)
    return tuple([Piece(p.divs, p.eqs, p.ineqs, tuple(map(negate, p.values))) for p in pieces])


def _corner(n_var: int, eqs: Sequence[Row], ineqs: Sequence[Row], n_wanted: int) -> tuple[Piece, ...] | None:
    """The least numbers where a linear program for each, rounded up, comes to an integer point; None where it doesn't.

    Each is a lower bound of what integer points have that agree in those before. So a point that attains all is least.
    """
    tab = Tableau(n_var)
    for row in eqs:
        tab.add_eq(row)
    for row in ineqs:
        tab.add_ineq(row)
    values = []
    for k in range(n_wanted):
        if tab.empty:
            break
        unit = (0,) * k + (1,) + (0,) * (n_var - k - 1)
        least = tab.minimum((0, *unit))
        if least is None:
            return None
        values.append((-(-least[0] // least[1]),))
        tab.add_eq((-values[-1][0], *unit))
    if tab.empty:
        return None if values else ()
    return None if any(den != 1 for _, den in tab.sample()) else (Piece((), (), (), tuple(values)),)


def _without_idle(
    n_param: int,
    n_var: int,
    eqs: Sequence[Row],
    ineqs: Sequence[Row],
    divs: Sequence[tuple[int, Row]],
    used: Sequence[int],
    n_wanted: int | None,
    otherwise: Otherwise | None,
) -> tuple[Piece, ...]:
    """`lexmin` in the parameters `used` (columns) alone: an idle one would keep the context from being listed."""
    place = {j: k for k, j in enumerate(used, 1)}

    def narrow(row: Row) -> Row:
        return (row[0], *[row[j] for j in used], *row[n_param + 1 :])

    def wide(row: Row) -> Row:
        return (row[0], *[row[place[j]] if j in place else 0 for j in range(1, n_param + 1)], *row[len(used) + 1 :])

    own = [(den, narrow(row)) for den, row in divs]
    out = []
    for p in lexmin(len(used), n_var, [narrow(r) for r in eqs], [narrow(r) for r in ineqs], own, n_wanted, otherwise):
        rows = [tuple(map(wide, group)) for group in (p.eqs, p.ineqs, p.values)]
        out.append(Piece(tuple([(den, wide(row)) for den, row in p.divs]), *rows))
    return tuple(out)


class _Search:
    """The lexicographic dual simplex over the tree of contexts."""

    def __init__(
        self, system: System, n_wanted: int, otherwise: Otherwise | None, moves: Sequence[int] | None = None
    ) -> None:
        self.system, self.n, self.n_wanted, self.otherwise = system, len(system.lead), n_wanted, otherwise
        self.rows, self.shifted, self.uncut = system.tableau(moves), moves is not None, 0
        self.base = len(self.rows[0]) - system.context.n - 1 if self.rows else 3  # where the constants begin

    def solve(self, rows: list[list[int]], context: Context, whole: bool = True) -> list[Leaf]:
        """The leaves (context, values) under a context; consumes both arguments. `whole` is without cuts so far."""
        cuts = 0
        while True:
            rows, negative, unknown = self._signs(rows, context)
            if negative is not None:
                if not self._pivot(rows, negative):
                    return []
                continue
            if unknown:
                stuck = [r for r in unknown if max(r[3 : self.base], default=0) <= 0]
                for row in stuck:
                    if not context.restrict(self._side(row)):
                        return []
                if not stuck:
                    return self._split(rows, context, unknown, whole)
                continue
            if any(row[1] for row in rows[: self.n]):
                if self.system.barren(context):
                    return []
                raise Unbounded(
                    "the set has no lexicographic optimum: an optimised dimension is unbounded",
                    hint="bound the dimension, or optimise over the others only",
                )
            cut = next((i for i in range(self.n) if any(c % rows[i][0] for c in rows[i][self.base :])), None)
            if cut is None:
                context.along = [context.lines]
                found = [tuple([c // r[0] for c in r[self.base :]]) for r in rows[: self.n]]
                if whole and self.shifted:
                    context.vertex = tuple(found), tuple([(r[2], r[0]) for r in rows[: self.n]])
                elif whole and context.n - len(context.divs) > 1:
                    self.uncut += 1
                    if self.uncut > _MANY:
                        raise _Many
                return [(context, [self.system.value(i, found, context.n + 1) for i in range(self.n_wanted)])]
            if whole and self.shifted:
                rows = [[*r[:2], 0, *r[3:]] for r in rows]
            cuts, whole = cuts + 1, False
            if cuts == _LONG and (ask := self.otherwise):
                self.otherwise, pieces = None, ask()
                if pieces is not None:
                    raise Answered(pieces)
            if cuts % _PATIENCE == 0 and self.system.barren(context):
                return []
            if not self._cut(rows, cut, context):
                return []

    def _side(self, row: Sequence[int]) -> Row:
        """The form that is >= 0 where a row is: where its constant is 0, the small number decides."""
        return (row[self.base] - (row[2] < 0), *row[self.base + 1 :])

    def _signs(self, rows: list[list[int]], context: Context):
        """(rows without those that can never be negative again, a negative one, those of unknown sign).

        Rows whose sign shows without the context come first.
        """
        n, base = self.n, self.base
        for i in range(n, len(rows)):
            row = rows[i]
            if row[1] < 0 or (row[1] == 0 and row[base] < 0 and not any(row[base + 1 :])):
                return rows, i, []
        out, unknown = rows[:n], []
        for i in range(n, len(rows)):
            row = rows[i]
            sign = 1 if row[1] > 0 else context.sign(self._side(row))
            if sign < 0:
                return rows, i, []
            if sign == 0:
                unknown.append(row)
            if sign == 0 or min(row[3:base], default=0) < 0:
                out.append(row)
        return out, None, unknown

    def _pivot(self, rows: list[list[int]], r: int) -> bool:
        """Raise row r by the column that keeps all columns lexicographically positive; False if none does."""
        old, best = rows[r], 0
        for j in range(3, self.base):
            if old[j] > 0 and (not best or self._less(rows, old, j, best)):
                best = j
        if not best:
            return False
        p = old[best]
        spend(1 + len(rows) * len(old) * weight(p, old[0]) // 128)
        new = [-c for c in old]
        new[0], new[best] = p, old[0]
        for i, row in enumerate(rows):
            f = row[best]
            if f and i != r:
                out = [p * x + f * y for x, y in zip(row, new, strict=True)]
                out[0], out[best] = p * row[0], f * new[best]
                if out[0] != 1:
                    g = gcd(*out)
                    if g != 1:
                        out = [c // g for c in out]
                rows[i] = out
        rows[r] = new
        return True

    def _less(self, rows: list[list[int]], pivot: list[int], j: int, k: int) -> bool:
        """Whether objective column j / pivot[j] is lexicographically less than that of k."""
        for row in rows[: self.n]:
            order = row[j] * pivot[k] - row[k] * pivot[j]
            if order:
                return order < 0
        return False

    def _split(self, rows: list[list[int]], context: Context, unknown: list[list[int]], whole: bool) -> list[Leaf]:
        """Solve both sides of the sign of one unknown row; one leaf if the sides turn out alike."""
        row = min(unknown, key=lambda r: (sum(c > 0 for c in r[3 : self.base]), len(r) - r.count(0)))
        if whole and self.shifted:
            slope = row[0], *row[3 : self.base]
            return self._split_many(rows, context, [r for r in unknown if (r[0], *r[3 : self.base]) == slope])
        side = self._side(row)
        other = context.fork()
        context.restrict(side)
        other.restrict(complement(side))
        context.count()
        other.count()
        last = context.ineqs[-1], other.ineqs[-1]
        return _merged(self.solve(rows[:], context, whole), self.solve(rows, other, whole), last)

    def _split_many(self, rows: list[list[int]], context: Context, like: list[list[int]]) -> list[Leaf]:
        """Solve where rows of one slope are all >= 0, and for each where it is negative and the least of them.

        For n rows these are n + 1 sides, where splits by one after another make up to 2^n.
        """
        leaves: list[Leaf] = []
        for k, row in enumerate(like):
            least = [complement(self._side(row))]
            for j, r in enumerate(like):
                if j != k:
                    gap = [x - y for x, y in zip(r, row, strict=True)]
                    least.append((self._side(gap)[0] - (not gap[2] and j < k), *gap[self.base + 1 :]))
            other = context.fork()
            if all(map(other.restrict, least)):
                other.count()
                leaves += self.solve(rows[:], other)
        if all(map(context.restrict, map(self._side, like))):
            context.count()
            leaves += self.solve(rows, context)
        return leaves

    def _cut(self, rows: list[list[int]], i: int, context: Context) -> bool:
        """Make objective row i more integral by a cut, a div or a condition; False if nothing is left."""
        den, base = rows[i][0], self.base
        fractions = [a % den for a in rows[i][3:base]]
        e = [-c % den for c in rows[i][base:]]
        shift = [-c for c in e]
        known = context.remainder(den, tuple(e)) if any(e[1:]) else None
        if known:
            shift = [-known, *[0] * (len(e) - 1)]
        elif any(e[1:]):
            q = context.add_div(den, tuple(e))
            if q + 2 > len(e):
                for k, row in enumerate(rows):
                    rows[k] = [*row, 0]
                shift.append(0)
            shift[q + 1] += den
        if not any(fractions) and not context.restrict(tuple(shift), equality=True):
            return False
        if not any(fractions) or context.sign(complement(shift)) < 0:
            rows[i] = rows[i][:base] + [c - s for c, s in zip(rows[i][base:], shift, strict=True)]
            return True
        rows.append([den, 0, 0, *fractions, *shift])
        return self._pivot(rows, len(rows) - 1)


def _merged(left: list, right: list, last: tuple[Row, Row]) -> list:
    """The leaves of both sides of a split, or one if they agree but for the split itself."""
    if len(left) == len(right) == 1:
        (a, values), (b, others) = left[0], right[0]
        pad = (0,) * (a.n + 1 - len(last[0]))
        sides = (*last[0], *pad), (*last[1], *pad)
        rest = [r for r in a.ineqs if r != sides[0]]
        same = values == others and a.divs == b.divs and a.eqs == b.eqs
        if same and set(rest) == set(b.ineqs) - {sides[1]}:
            a.ineqs = rest
            a.along += b.along
            return left
    return left + right
