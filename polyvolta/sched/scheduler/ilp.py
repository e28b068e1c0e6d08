"""The lexicographically least integer point of a system over nonnegative unknowns, some conditions being alternatives.

The scheduler's questions have unknowns `x >= 0` in the order of their importance, rows that mostly hold at x = 0, and
a few conditions such as "this row of coefficients is no combination of those", which are unions of half spaces.

The lexicographic dual simplex (Feautrier 1988, without parameters): every unknown is a form of nonnegative *columns*,
at first of itself. With all columns at 0 the point is as small as can be. A row that is negative there has to be
raised: of the columns that raise it the one enters for which the unknowns grow least, read lexicographically, so that
the point stays the least one for the rows met so far. Of several negative rows one goes first that few unknowns can
raise, which leaves fewer steps. The scheduler's rows are many and few of them ever matter, so a row is written in terms
of the columns only when it is negative, and forgotten once its slack has become a column: the tableau holds the
unknowns alone. An unknown that is to be a sum of others, as what is to be least mostly is, needs no column.

Gomory's cuts make fractional unknowns integral; alternatives are tried best first, each a copy of the tableau with its
own rows. A copy shares all rows, as these are replaced and never modified. The point only ever grows, so a copy is
left as soon as it has grown beyond the best solution known.

Cuts alone need not end: where the first unknowns stay what they are and the others grow along a ray, there may be no
integer point with these first ones. After some cuts an integer program asks, and one of the first unknowns has to grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import gcd, lcm

from polyvolta.sets.budgets import metered, spend, weight
from polyvolta.sets.engine.integer import is_empty

CUTS = 32  # after which it is asked whether the unknowns that stay can

Terms = tuple[tuple[int, int], ...]
"""A linear form: pairs (unknown, coefficient)."""

Constraint = tuple[int, Terms]
"""`const + sum of coefficient * x[unknown] >= 0`."""

Row = dict[int, int]
"""A form of the columns, sparse: the denominator at 0, the constant at 1, a coefficient, not 0, at each column from 2
on. Rows are replaced and never modified."""

Branch = Callable[[Sequence[int], int], "list[list[Constraint]] | None"]


@metered
def lexmin(
    n: int, constraints: Iterable[Constraint], branch: Branch | None = None, sums: Mapping[int, Terms] | None = None
) -> tuple[int, ...] | None:
    """The lexicographically least integer `x >= 0` that satisfies the constraints; None if there is none.

    Parameters
    ----------
    sums : the unknowns that are sums of others, these with positive coefficients and themselves no sums.
    branch : for a point, its numerators over a common denominator, the alternatives one of which every solution
        satisfies but the point does not, each a list of constraints; None where the point is all right. They need not
        exclude each other.

    Exact; a few pivots of n * n numbers each, exponentially many alternatives at worst, under a budget.

    >>> lexmin(2, [(-3, ((0, 2), (1, 1)))])
    (0, 3)
    >>> lexmin(2, [(-3, ((0, 2),)), (5, ((0, 1), (1, -2))), (-1, ((1, 1),))])
    (2, 1)
    >>> lexmin(3, [(-3, ((1, 2), (2, 1)))], sums={0: ((1, 1), (2, 1))})
    (2, 1, 1)
    """
    sums = sums or {}
    column = {v: 2 + k for k, v in enumerate([v for v in range(n) if v not in sums])}
    rows = [{0: 1, 1: 0, **{column[x]: c for x, c in sums.get(v, ((v, 1),))}} for v in range(n)]
    shared = _System(n, constraints)
    best: tuple[int, ...] | None = None
    heap: list[tuple[_Value, int, _Node, list[list[Constraint]] | None]] = []
    nodes = [_Node(rows, shared, ())]
    count = 0
    while True:
        for node in nodes:
            if node.solve(best):
                numbers, den = node.point()
                alternatives = branch(numbers, den) if branch else None
                if alternatives is None and den == 1:  # below the best one, as it was solved
                    best = tuple(numbers)
                else:
                    count += 1
                    heappush(heap, (_Value(numbers, den), count, node, alternatives))
        if not heap:
            return best
        value, _, node, alternatives = heappop(heap)
        nodes = []
        if best is not None and not node.below(best):
            continue
        if alternatives is None:
            numbers, den = value.numbers, value.den
            stuck = node.stuck(numbers, den)
            if not stuck or shared.reaches(numbers[:stuck], den, node.own, sums):
                nodes = [node] if node.cut() else []
                continue
            alternatives = [[(-numbers[v] // den - 1, ((v, 1),))] for v in range(stuck)]
        nodes = [_Node(node.rows[:], shared, (*node.own, *extra)) for extra in alternatives]


class _Value:
    """A rational vector that is compared lexicographically."""

    __slots__ = ("den", "numbers")

    def __init__(self, numbers: list[int], den: int) -> None:
        self.numbers, self.den = numbers, den

    def __lt__(self, other: _Value) -> bool:
        if self.den == other.den:
            return self.numbers < other.numbers
        return [v * other.den for v in self.numbers] < [v * self.den for v in other.numbers]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Value) and not (self < other or other < self)


class _System:
    """Constraints, and for each unknown those that it occurs in; first those that few unknowns can raise."""

    __slots__ = ("consts", "occurs", "terms")

    def __init__(self, n: int, constraints: Iterable[Constraint]) -> None:
        rows = sorted(constraints, key=_choices)
        self.consts = [const for const, _ in rows]
        self.terms = [terms for _, terms in rows]
        self.occurs: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for k, terms in enumerate(self.terms):
            for v, c in terms:
                self.occurs[v].append((k, c))

    def violated(self, numbers: Sequence[int], den: int) -> Constraint | None:
        """The first constraint that does not hold at a point."""
        values = [den * c for c in self.consts] if den != 1 else self.consts[:]
        for x, occurs in zip(numbers, self.occurs, strict=True):
            if x:
                for k, c in occurs:
                    values[k] += c * x
        if not values or min(values) >= 0:
            return None
        k = next(k for k, value in enumerate(values) if value < 0)
        return self.consts[k], self.terms[k]

    def reaches(self, first: Sequence[int], den: int, own: Iterable[Constraint], sums: Mapping[int, Terms]) -> bool:
        """Whether there is an integer point with these first unknowns; exact, an integer program."""
        n = len(self.occurs)

        def dense(const: int, terms: Terms) -> tuple[int, ...]:
            row = [const, *[0] * n]
            for v, c in terms:
                row[1 + v] += c
            return tuple(row)

        eqs = [dense(-x // den, ((v, 1),)) for v, x in enumerate(first)]
        eqs += [dense(0, (*terms, (v, -1))) for v, terms in sums.items()]
        ineqs = [dense(*row) for row in (*zip(self.consts, self.terms, strict=True), *own)]
        ineqs += [dense(0, ((v, 1),)) for v in range(n)]
        return not is_empty(n, eqs, ineqs)


def opposite(terms: Terms) -> Terms:
    return tuple([(v, -c) for v, c in terms])


def not_zero(rows: Sequence[Terms]) -> list[list[Constraint]]:
    """The half spaces `row >= 1` and `row <= -1`, the rows before being 0; those left out that are plainly empty."""
    out: list[list[Constraint]] = []
    before: list[Constraint] = []
    for terms in rows:
        out += [[*before, (-1, side)] for side in (terms, opposite(terms)) if any(c > 0 for _, c in side)]
        before += [(0, terms), (0, opposite(terms))]
    return out


def _choices(constraint: Constraint) -> int:
    """How many unknowns can raise a constraint."""
    return sum([c > 0 for _, c in constraint[1]])


class _Node:
    """The unknowns as forms of the columns, and the rows that hold here alone."""

    __slots__ = ("before", "cuts", "own", "rows", "shared")

    def __init__(self, rows: list[Row], shared: _System, own: tuple[Constraint, ...]) -> None:
        self.rows, self.shared, self.own = rows, shared, own
        self.cuts, self.before = 0, _Value([], 1)  # and the point some cuts ago

    def point(self) -> tuple[list[int], int]:
        """The unknowns with all columns at 0, over a common denominator."""
        den, whole = 1, True
        for row in self.rows:
            if row[0] != 1:
                whole = False
                if row[1] % row[0]:
                    den = lcm(den, row[0] // gcd(row[0], row[1]))
        return [row[1] if whole else den * row[1] // row[0] for row in self.rows], den

    def below(self, best: tuple[int, ...]) -> bool:
        """Whether the point is lexicographically less than a solution."""
        for row, b in zip(self.rows, best, strict=True):
            order = row[1] - b * row[0]
            if order:
                return order < 0
        return False

    def solve(self, best: tuple[int, ...] | None) -> bool:
        """Move to the least rational point; False if there is none, or none below `best`."""
        while True:
            if best is not None and not self.below(best):
                return False
            row = self.violated()
            if row is None:
                return True
            if not self.raise_(row):
                return False

    def violated(self) -> Row | None:
        """A row that is negative at the point, in terms of the columns."""
        numbers, den = self.point()
        if min(numbers, default=0) < 0:
            return next(row for row in self.rows if row[1] < 0)
        for const, terms in self.own:
            if const * den + sum([c * numbers[v] for v, c in terms]) < 0:
                return self.express(const, terms)
        found = self.shared.violated(numbers, den)
        return None if found is None else self.express(*found)

    def express(self, const: int, terms: Sequence[tuple[int, int]]) -> Row:
        rows = self.rows
        den = 1
        for v, _ in terms:
            if rows[v][0] != 1:
                den = lcm(den, rows[v][0])
        out = {0: den, 1: const * den}
        for v, c in terms:
            _add(out, c * (den // rows[v][0]), rows[v])
        return _reduced(out)

    def raise_(self, old: Row) -> bool:
        """Make a negative row the slack of a column: of those that raise it the one that costs least."""
        rows, best = self.rows, self.entering(old)
        if not best:
            return False
        p = old[best]
        spend(1 + len(rows) ** 2 * weight(p, old[0]) // 128)
        new = {j: -c for j, c in old.items()}
        new[best] = old[0]
        for i, row in enumerate(rows):
            f = row.get(best)
            if f:
                out = dict(row) if p == 1 else {j: p * x for j, x in row.items()}
                out[best] = 0
                _add(out, f, new)
                rows[i] = _reduced(out)
        return True

    def entering(self, pivot: Row) -> int:
        """Of the columns j that raise a row the one where column / pivot[j], down the unknowns, is lexicographically
        least, the first of several; 0 if there is none."""
        found = [j for j, c in pivot.items() if c > 0 and j > 1]
        for row in self.rows:
            if len(found) < 2:
                break
            values = [row[j] if j in row else 0 for j in found]
            if not any(values):
                continue
            least, least_of = values[0], pivot[found[0]]
            kept = []
            for j, v in zip(found, values):
                p = pivot[j]
                order = v * least_of - least * p
                if order < 0:
                    least, least_of, kept = v, p, [j]
                elif not order:
                    kept.append(j)
            found = kept
        return found[0] if found else 0

    def stuck(self, numbers: Sequence[int], den: int) -> int:
        """How many of the first unknowns are integers that many cuts have not changed; 0 between looks."""
        if not self.cuts or self.cuts % CUTS:
            return 0
        old, self.before = self.before, _Value([*numbers], den)
        same = 0
        for x, y in zip(numbers, old.numbers, strict=False):
            if x % den or x * old.den != y * den:
                break
            same += 1
        return same if same < len(numbers) else 0

    def cut(self) -> bool:
        """Gomory's cut for the first unknown that is not integral; False if no integer can be reached."""
        self.cuts += 1
        row = next(r for r in self.rows if r[1] % r[0])
        den = row[0]
        return self.raise_({0: den, 1: -(-row[1] % den), **{j: c % den for j, c in row.items() if j > 1 and c % den}})


def _add(out: Row, factor: int, row: Row) -> None:
    """Add a multiple of a row to one with its denominator."""
    for j, c in row.items():
        if j:
            out[j] = out[j] + factor * c if j in out else factor * c


def _reduced(row: Row) -> Row:
    """A row in lowest terms, without coefficients that are 0."""
    g = gcd(*row.values()) if row[0] != 1 else 1
    return {j: c // g for j, c in row.items() if c or j < 2} if g != 1 or not all(row.values()) else row
