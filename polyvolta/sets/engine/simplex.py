"""A warm, exact simplex tableau over unrestricted variables.

Every constraint `r >= 0` gets a *slack* variable equal to r. At any time as many variables as there are
dimensions left are *columns* (nonbasic, value 0) and all others are *rows* (basic), each an affine form of
the columns. A row is kept fraction free: `[den, const, c1, ..., ck]` says `den * v = const + sum cj *
column_j` with `den > 0` and no common factor, so every number is an int and the sample point is read off the
constants.

The tableau is always feasible: slacks that are rows have `const >= 0`. Adding a constraint appends its row;
if the row is negative at the sample point it is *climbed*, which is the primal simplex with that row as
objective, until it reaches 0 (feasible) or its maximum is below (`empty`). A climb enters the lowest
numbered column that helps and lets the lowest numbered of the tightest rows leave: Bland's rule, so it
cannot cycle. Unrestricted variables enter first and, once rows, never leave. An equality is climbed to 0,
made a column and struck out.

Rows are replaced and never modified, so `mark` logs references only, O(rows), and `rollback` restores the
very basis of the mark: constraints are pushed and popped on one warm tableau at the price of the pivots they
need. A pivot is paid before it is made, so where a budget ends in a question, or as a constraint is added, the
tableau is at another vertex of the same polyhedron.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, lcm
from operator import add, neg, sub
from typing import Any

from ..budgets import remembered, spend, weight
from ..errors import BudgetExceeded
from .rows import Row

SMALL = 63  # bits of numbers whose `weight` is 1
OBJECTIVE = 1 << 60  # the number of the row being optimised: no variable, hence never a limit


class Tableau:
    """Rational feasibility and optimisation under constraints that come and go.

    Parameters
    ----------
    n : number of unrestricted variables x1..xn.

    Examples
    --------
    >>> tab = Tableau(2)
    >>> tab.add_ineq((0, 1, 0)), tab.add_ineq((0, 0, 1)), tab.add_ineq((7, -2, -2))
    (None, None, None)
    >>> tab.maximum((0, 1, 1)), tab.minimum((0, 0, -1)), tab.implies((4, -1, 0))
    ((7, 2), (-7, 2), True)
    """

    __slots__ = ("_basic", "_cols", "_rows", "_where", "empty", "made", "n")

    def __init__(self, n: int) -> None:
        self.n, self.empty = n, False
        self._rows: list[list[int]] = []
        self._basic: list[int] = []  # which variable row i is: x_v is v >= 0, the k-th slack is ~k < 0
        self._cols = [OBJECTIVE, OBJECTIVE, *range(n)]  # which variable index j of the rows is, from 2 on
        self._where = [-2 - v for v in range(n)]  # x_v is the row with this index, or column -index
        self.made = 0  # constraints that were added, the last of which is number -made

    # -- constraints -----------------------------------------------------------------------------------------

    def add_var(self) -> None:
        """Append one more unrestricted variable; O(rows)."""
        self._where.append(-len(self._cols))
        self._cols.append(self.n)
        self._rows = [[*row, 0] for row in self._rows]
        self.n += 1

    def add_ineq(self, row: Sequence[int]) -> None:
        """Add `row >= 0`; exact over the rationals, a few pivots."""
        self._hold(None if self.empty else self._express(row))

    def add_eq(self, row: Sequence[int]) -> None:
        """Add `row = 0`; exact over the rationals. One dimension of the tableau goes with it."""
        self._hold_zero(None if self.empty else self._express(row))

    def mark(self) -> Any:
        """A token for `rollback`; O(rows)."""
        return (self.n, self.empty, self.made, self._rows[:], self._basic[:], self._cols[:], self._where[:])

    def rollback(self, token: Any) -> None:
        """Forget all constraints and variables added since the mark (marks nest and can be used again)."""
        self.n, self.empty, self.made, rows, basic, cols, where = token
        self._rows, self._basic, self._cols, self._where = rows[:], basic[:], cols[:], where[:]

    def _hold(self, new: list[int] | None) -> None:
        """Add that a form of the columns is `>= 0`; None where the tableau is empty, which counts it only."""
        self.made += 1
        if new is None:
            return
        self._rows.append(new)
        self._basic.append(-self.made)
        try:
            if new[1] < 0 and not self._climb(len(self._rows) - 1, stop=0):
                self.empty = True
        except BudgetExceeded:  # it is the last row still
            del self._rows[-1], self._basic[-1]
            raise

    def _hold_zero(self, new: list[int] | None) -> None:
        """Add that a form of the columns is 0; see `_hold`."""
        self.made += 1
        if new is None:
            return
        if new[1] > 0:
            new = [new[0]] + [-c for c in new[1:]]
        rows, r = self._rows, len(self._rows)
        rows.append(new)
        self._basic.append(-self.made)
        try:
            if new[1] < 0 and not self._climb(r, stop=0):
                self.empty = True
                return
            if self._basic[r] == -self.made:  # at 0 but still a row
                entering = [j for j in range(2, len(self._cols)) if rows[r][j]]
                if not entering:
                    del rows[r], self._basic[r]
                    return
                self._pivot(r, max(entering, key=lambda j: (self._cols[j] >= 0, abs(rows[r][j]) == 1)))
        except BudgetExceeded:  # it is the last row still
            del rows[r], self._basic[r]
            raise
        self._strike(self._cols.index(-self.made))

    # -- questions -------------------------------------------------------------------------------------------

    def minimum(self, row: Sequence[int]) -> tuple[int, int] | None:
        """The minimum of `row` over the rational points as (num, den > 0), reduced; None if unbounded."""
        out = self.maximum([-c for c in row])
        return out and (-out[0], out[1])

    def maximum(self, row: Sequence[int]) -> tuple[int, int] | None:
        """The maximum of `row` over the rational points as (num, den > 0), reduced; None if unbounded.

        Afterwards `sample` is a point where it is attained.
        """
        if self.empty:
            raise ValueError("an empty polyhedron has no optimum")
        bounded, top = self._optimise(self._express(row), None)
        g = gcd(top[0], top[1])
        return (top[1] // g, top[0] // g) if bounded else None

    def implies(self, row: Sequence[int]) -> bool:
        """Whether `row >= 0` at every rational point; stops at the first vertex that says no."""
        return self.empty or self._optimise(self._express([-c for c in row]), 1)[0]

    def reaches(self, row: Sequence[int]) -> bool:
        """Whether `row >= 0` at some rational point; stops at the first vertex that says so."""
        if self.empty:
            return False
        bounded, top = self._optimise(self._express(row), 1)
        return not bounded or top[1] >= 0

    def sample(self) -> tuple[tuple[int, int], ...]:
        """The current vertex, one (num, den > 0) per variable; O(n)."""
        if self.empty:
            raise ValueError("an empty polyhedron has no point")
        return tuple([(0, 1) if w < 0 else (self._rows[w][1], self._rows[w][0]) for w in self._where])

    # -- the machine -----------------------------------------------------------------------------------------

    def _optimise(self, form: list[int], stop: int | None) -> tuple[bool, list[int]]:
        """Climb a passing objective, a form of the columns; (whether it stopped at its maximum, its last row)."""
        spend(1 + len(self._rows) * len(self._cols) // 1024)
        self._rows.append(form)
        self._basic.append(OBJECTIVE)
        top: list[int] = []
        try:
            reached = self._climb(len(self._rows) - 1, stop)
        finally:
            self._basic.pop()
            top = self._rows.pop()
        return not reached, top

    def _express(self, row: Sequence[int]) -> list[int]:
        """The form `row` of the variables as a form of the columns."""
        return self._combined(row[0], [(w, c) for w, c in zip(self._where, row[1:], strict=True) if c])

    def _combined(self, const: int, terms: Iterable[tuple[int, int]]) -> list[int]:
        """A constant and multiples of variables, which are given by where they are, as a form of the columns."""
        rows, used, alone, den = self._rows, [], [], 1
        for w, c in terms:
            if w < 0:
                alone.append((-w, c))
            else:
                other = rows[w]
                used.append((c, other))
                if other[0] != 1:
                    den = lcm(den, other[0])
        out: list[int] = []
        for c, other in used:
            f = c if den == 1 else c * (den // other[0])
            if f == 1:
                out = list(map(add, out, other)) if out else other[:]
            elif f == -1:
                out = list(map(sub, out, other)) if out else list(map(neg, other))
            elif out:
                out = [a + f * b for a, b in zip(out, other)]  # noqa: B905, of one length
            else:
                out = [f * b for b in other]
        if not out:
            out = [0] * len(self._cols)
        out[0] = den
        out[1] += den * const
        for j, c in alone:
            out[j] += den * c
        return reduced(out) if den != 1 else out

    def _climb(self, r: int, stop: int | None) -> bool:
        """Raise row r: True once it is >= 0 (stop=0), > 0 (stop=1) or seen unbounded, False at its maximum.

        With stop=0 the row is a slack below 0 and leaves the basis itself if it is the first to reach 0.
        """
        rows = self._rows
        while True:
            row = rows[r]
            if stop is not None and row[1] >= stop:
                return True
            j = self._entering(r, stop)
            if not j:
                return False
            c = row[j]
            i = self._leaving(r, j, c > 0)
            if stop == 0 and (i < 0 or rows[i][1] * abs(c) >= -row[1] * abs(rows[i][j])):
                self._pivot(r, j)
                return True
            if i < 0:
                return True
            self._pivot(i, j)

    def _entering(self, r: int, stop: int | None) -> int:
        """The column by which row r is raised, the lowest numbered one that helps (Bland); 0 at its maximum."""
        row, cols = self._rows[r], self._cols
        j, lowest = 0, OBJECTIVE
        for k in range(2, len(row)):
            c = row[k]
            if c:
                v = cols[k]
                if v >= 0:
                    return k
                if c > 0 and v < lowest:
                    j, lowest = k, v
        return j

    def _leaving(self, r: int, j: int, up: bool) -> int:
        """The slack row but r that reaches 0 first when column j moves up (or down); -1 if none does."""
        best = best_c = best_v = -1
        basic = self._basic
        for i, row in enumerate(self._rows):
            c = row[j]
            if c and basic[i] < 0 and (c < 0) is up and i != r:
                c, v = abs(c), row[1]
                if best >= 0:
                    order = v * best_c - best_v * c
                    if order > 0 or (order == 0 and basic[i] > basic[best]):
                        continue
                best, best_c, best_v = i, c, v
        return best

    def _pivot(self, r: int, j: int) -> None:
        """Exchange row r and column j; O(rows * columns), which is what the budget counts."""
        rows = self._rows
        old = rows[r]
        c = old[j]
        large = c.bit_length() > SMALL or old[0].bit_length() > SMALL
        spend(1 + len(rows) * len(old) * (weight(c, old[0]) if large else 1) // 128)
        if c > 0:
            new = list(map(neg, old))
            new[0], new[j] = c, old[0]
        else:
            new = old[:]
            new[0], new[j] = -c, -old[0]
        p, slope = new[0], new[j]
        for i, row in enumerate(rows):
            f = row[j]
            if f and i != r:
                den, q = row[0], 1
                if p != 1:
                    g = gcd(f, p)
                    f, q = f // g, p // g
                if q != 1:
                    den *= q
                    out = [q * x + f * y for x, y in zip(row, new)]  # noqa: B905
                elif f == 1:
                    out = list(map(add, row, new))
                elif f == -1:
                    out = list(map(sub, row, new))
                else:
                    out = [x + f * y for x, y in zip(row, new)]  # noqa: B905, the hottest line of all
                out[0], out[j] = den, f * slope
                if den != 1 and (g := gcd(*out)) != 1:
                    out = [x // g for x in out]
                rows[i] = out
        rows[r] = new
        enter, leave = self._cols[j], self._basic[r]
        self._cols[j], self._basic[r] = leave, enter
        if enter >= 0:
            self._where[enter] = r
        if leave >= 0:
            self._where[leave] = -j

    def _strike(self, j: int) -> None:
        """Fix column j at 0 for good: it disappears from every row."""
        self._rows = [row[:j] + row[j + 1 :] for row in self._rows]
        del self._cols[j]
        for k in range(j, len(self._cols)):
            if self._cols[k] >= 0:
                self._where[self._cols[k]] = -k

    def relaxed_implies(self, slack: int, parts: int = 0) -> bool:
        """Whether the others imply constraint `slack` (a negative number); if so it is dropped.

        With `parts` whether they imply that it is at least 1/parts - 1, as it is where integers satisfy them.
        """
        token = None
        if slack in self._cols:
            j = self._cols.index(slack)
            r = self._leaving(-1, j, False)
            if r < 0 or (self._rows[r][1] > 0 and not parts):
                return False
            token = self.mark()
            self._pivot(r, j)
        token = token or self.mark()
        r = self._basic.index(slack)
        den, *row = self._rows[r]
        if parts:
            row = [parts * c for c in row]
            row[0] += (parts - 1) * den
        self._rows[r] = [den, *map(neg, row)]
        if self._climb(r, 1):
            self.rollback(token)
            return False
        del self._rows[r], self._basic[r]
        self._where = [w - (w > r) if w >= 0 else w for w in self._where]
        return True

    def _always_zero(self, slack: int) -> bool:
        """Whether constraint `slack` is 0 at every point."""
        if slack in self._cols:
            j = self._cols.index(slack)
            r = self._leaving(-1, j, True)
            if r < 0 or self._rows[r][1] > 0:
                return False
            self._pivot(r, j)
        return not self._climb(self._basic.index(slack), 1)


def reduced(row: list[int]) -> list[int]:
    """The row without the common factor of its entries."""
    g = gcd(*row)
    return row if g == 1 else [c // g for c in row]


def _loaded(n: int, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Tableau:
    """A tableau with the equalities first: the slack of inequality i is number `~(len(eqs) + i)`."""
    tab = Tableau(n)
    for row in eqs:
        tab.add_eq(row)
    for row in ineqs:
        tab.add_ineq(row)
    return tab


def redundant_rows(
    n: int,
    eqs: Sequence[Row],
    ineqs: Sequence[Row],
    *,
    given: Sequence[Row] = (),
) -> tuple[bool, ...]:
    """Which inequalities can be left out, all of them together, without changing the rational solutions.

    Processed in order against the rows still kept, so of two equal rows only the first goes; the inequalities
    `given` hold besides and are not judged. One LP per row on one warm tableau; exact over the rationals.

    >>> redundant_rows(1, (), ((0, 1), (5, 1), (0, 1)))
    (True, True, False)
    """
    tab = _loaded(n, eqs, (*given, *ineqs))
    if not tab.empty:
        first = len(eqs) + len(given)
        return tuple([tab.relaxed_implies(~(first + i)) for i in range(len(ineqs))])
    kept = list(ineqs)
    out = []
    for row in ineqs:
        rest = kept.copy()
        rest.remove(row)
        out.append(_loaded(n, eqs, (*given, *rest)).empty)
        if out[-1]:
            kept = rest
    return tuple(out)


@remembered(1 << 8)  # of what is projected from pieces that are alike
def redundant(n: int, eqs: tuple[Row, ...], ineqs: tuple[Row, ...]) -> tuple[bool, ...]:
    """`redundant_rows`, remembered."""
    return redundant_rows(n, eqs, ineqs)


def tight_slacks(tab: Tableau, first: int, count: int) -> tuple[bool, ...]:
    """Which of the constraints first..first+count-1, in order of addition, hold with equality at every rational
    solution: all of them where there is none.

    At most one LP per constraint, none for those that are positive at a vertex seen on the way.

    >>> tab = Tableau(2)
    >>> for row in (0, 1, 1), (0, -1, -1), (0, 1, 0):
    ...     tab.add_ineq(row)
    >>> tight_slacks(tab, 0, 3)
    (True, True, False)
    """
    if tab.empty:
        return (True,) * count
    undecided = dict.fromkeys(~(first + i) for i in range(count))
    tight = dict.fromkeys(undecided, False)
    while undecided:
        for v, row in zip(tab._basic, tab._rows, strict=True):
            if row[1] > 0:
                undecided.pop(v, None)
        if undecided:
            slack, _ = undecided.popitem()
            tight[slack] = tab._always_zero(slack)
    return tuple(tight.values())
