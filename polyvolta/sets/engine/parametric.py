"""A parametric integer system, made ready for optimisation.

Parameters and variables play different parts in an elimination. An equality with variables is solved for one
of them over the integers: Euclid's algorithm on the variable columns (a unimodular change of the free t)
leaves `g*t = C(p)`. If g is 1 this is a substitution; otherwise `t = floor(C/g)`, a new div, and the
parameters must satisfy `C = g*floor(C/g)`. An equality without variables is a fact about parameters alone,
kept by the context. So are the cheap consequences that save splits later: what opposite bounds of one form
say (`l <= x <= u` needs `l <= u`) and the range of each parameter over the whole system.

The variables remain affine *forms* of the free t, whose lexicographic order counts. At last the t are chosen such that
they have the order of the forms: each form speaks of one t at most that those before it lack.

Where a search of many leaves has the domain of a vertex in parts, it is told as a whole (`joined`). A tree of splits
comes to one vertex on many paths, wherever it has cut the parameters before along what does not matter there: the
least of n numbers is one of n, and there are up to 2^(n-1) leaves. But a vertex is the optimum wherever it satisfies
all inequalities, for no column of its tableau leads to less. So where no cut was made, these inequalities are its
domain, whatever the path.

Where vertices coincide, one of them only may have the parameters. So each inequality is loosened by a multiple of its
own of a number smaller than all others (`shifts`), and a vertex moves with the inequalities that it lies on: another
one that is 0 there is positive or negative by how it moves. If none stays at 0, the vertex has one tableau only, and it
is what every path comes to for the parameters of its domain: such domains are disjoint, also from all other leaves,
which stay as they are. Whether an answer is right does not hang on the shifts, only which one of equal answers it is:
an optimum at 0 is feasible, and where the loosened inequalities have no solution there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import lcm

from . import integer
from .context import Context, Vertex
from .rows import Row, negate, normal_eq, normal_ineq, replaced
from .simplex import Tableau, redundant_rows, tight_slacks

Leaf = tuple[Context, list[Row]]


class System:
    """Rows over (const, t, params, divs); t starts as the variables themselves.

    Parameters
    ----------
    n_param, n_var, eqs, ineqs : the system, rows over (const, variables, params, divs).
    divs : (den, row) of the floors of parameters that the rows speak of.
    point : parameters that have a solution, at least.
    """

    def __init__(
        self, n_param: int, n_var: int, eqs: list[Row], ineqs: list[Row], divs: Sequence[tuple[int, Row]], point: Row
    ) -> None:
        self.n, self.eqs, self.ineqs = n_var, eqs, ineqs
        width = 1 + n_var + n_param + len(divs)
        self.forms: list[Row] = [tuple([int(j == i + 1) for j in range(width)]) for i in range(n_var)]
        self.lead: list[int] = []  # the columns of the free t, in the order that counts
        self.context = Context(n_param)
        self.context.points.append(tuple(point[:n_param]))
        for den, row in divs:
            self.context.define(den, row)

    def simplify(self) -> None:
        """Solve equalities, find hidden ones, drop redundant rows and tell the context what is implied."""
        while True:
            self._eliminate()
            rows, self.ineqs = list(dict.fromkeys(map(normal_ineq, self.ineqs))), []
            for row in rows:
                if row is not True:
                    assert row is not False
                    self._keep(row)
            tab = Tableau(len(self.forms[0]) - 1 if self.forms else self.context.n)
            for row in self.ineqs + self._lifted(self.context.eqs + [negate(r) for r in self.context.eqs]):
                tab.add_ineq(row)
            for row in self._lifted(self.context.ineqs + self.context.bounds):
                tab.add_ineq(row)
            tight = tight_slacks(tab, 0, len(self.ineqs))
            if not any(tight):
                break
            self.eqs = [r for r, t in zip(self.ineqs, tight, strict=True) if t]
            self.ineqs = [r for r, t in zip(self.ineqs, tight, strict=True) if not t]
        self._pair()
        self._frame(tab)
        context = self.context
        gone = redundant_rows(
            tab.n,
            self._lifted(context.eqs),
            self.ineqs,
            given=self._lifted(context.ineqs + context.bounds),
        )
        self.ineqs = [r for r, g in zip(self.ineqs, gone, strict=True) if not g]
        self._order()

    def _lifted(self, rows: Sequence[Row]) -> list[Row]:
        """Rows of the context as rows of the problem."""
        return [(r[0], *[0] * self.n, *r[1:]) for r in rows]

    def _keep(self, row: Row) -> None:
        """File an inequality: with the problem, or with the context when no variable is left in it."""
        if any(row[1 : self.n + 1]):
            self.ineqs.append(row)
        else:
            self.context.restrict((row[0], *row[self.n + 1 :]))

    def _eliminate(self) -> None:
        """Solve the equalities over Z for t; what they say about parameters goes to the context."""
        n = self.n
        while True:
            clean: list[Row] = []
            for row in map(normal_eq, self.eqs):
                if row is not True:
                    assert row is not False
                    clean.append(row)
            for row in clean:
                if not any(row[1 : n + 1]):
                    self.context.restrict((row[0], *row[n + 1 :]), equality=True)
            self.eqs = [row for row in clean if any(row[1 : n + 1])]
            if not self.eqs:
                return
            row = min(self.eqs, key=lambda r: (not {1, -1}.intersection(r[1 : n + 1]), len(r) - r.count(0)))
            sizes = {j: abs(row[j]) for j in range(1, n + 1) if row[j]}
            k = min(sizes, key=sizes.__getitem__)
            c = row[k]
            size, sign = abs(c), 1 if c > 0 else -1
            image = [-sign * ((2 * v + size) // (2 * size)) for v in row]
            if size > 1:  # u = t_k + quotients, in the variables only
                image = [0, *image[1 : n + 1], *[0] * self.context.n]
            image[k] = 1
            if not any(v % c for v in row[1 : n + 1]):
                image[k] = 0
                self.eqs.remove(row)
                if size > 1:  # size * u = e, hence u = floor(e / size)
                    e = tuple([-sign * v for v in (row[0], *row[n + 1 :])])
                    q = self.context.add_div(size, e)
                    pad = (0,) * (n + self.context.n + 1 - len(row))
                    image.extend(pad)
                    self._map(lambda r, pad=pad: (*r, *pad))
                    image[n + 1 + q] += 1
                    gap = [*negate(e), *pad]
                    gap[1 + q] += size
                    self.context.restrict(tuple(gap), equality=True)
            self._map(lambda r, k=k, image=image: replaced(r, k, image))

    def _order(self) -> None:
        """Choose the free t such that their lexicographic order is that of the forms.

        Euclid's algorithm on the columns leaves each form one t at most that those before it lack, with a positive
        coefficient; where that is 1, the form is this t. So i = N + 2 + 8k is told by k: at i <= M the form is an
        integer where k is none, and a cut of what comes after it, made first, would be a floor of floors.
        """
        free = list(range(1, self.n + 1))
        for i in range(self.n):
            while len(own := [j for j in free if self.forms[i][j]]) > 1:
                k = min(own, key=lambda j: abs(self.forms[i][j]))
                self._turn(i, k, own)
            if own:
                self._turn(i, own[0], range(len(self.forms[i])))
                free.remove(own[0])
                self.lead.append(own[0])

    def _turn(self, i: int, k: int, columns: Iterable[int]) -> None:
        """Make a form's coefficient of t_k positive, those of some columns at most half of it: t_k takes the rest."""
        row = self.forms[i]
        size, sign = abs(row[k]), 1 if row[k] > 0 else -1
        image = [0] * len(row)
        for j in columns:
            image[j] = -sign * ((2 * row[j] + size) // (2 * size))
        image[k] = sign
        if any(v for j, v in enumerate(image) if j != k) or sign < 0:
            self._map(lambda r: replaced(r, k, image))

    def _map(self, change: Callable[[Row], Row]) -> None:
        """Rewrite all rows."""
        self.eqs, self.ineqs = list(map(change, self.eqs)), list(map(change, self.ineqs))
        self.forms = list(map(change, self.forms))

    def _pair(self) -> None:
        """Tell the context what opposite bounds of one form imply; it saves splits."""
        n = self.n
        for i, a in enumerate(self.ineqs):
            for b in self.ineqs[:i]:
                if all(x == -y for x, y in zip(a[1 : n + 1], b[1 : n + 1], strict=True)):
                    row = (a[0] + b[0], *[x + y for x, y in zip(a[n + 1 :], b[n + 1 :], strict=True)])
                    if not self.context.tab.implies(row):
                        self.context.restrict(row)

    def _frame(self, tab: Tableau) -> None:
        """Tell the context the range of every parameter, two LPs each; a small context is listed."""
        context, n = self.context, self.n
        for i in range(context.n - len(context.divs)):
            for sign in (1, -1):
                low = tab.minimum([0] * (n + i + 1) + [sign] + [0] * (context.n - i - 1))
                if low is not None:
                    row = (-low[0] // low[1], *[0] * i, sign, *[0] * (context.n - i - 1))
                    if not context.tab.implies(row):
                        context.restrict(row)
        context.count()

    def tableau(self, shifts: Sequence[int] | None = None) -> list[list[int]]:
        """The rows of `lexopt`: a column t' = t + M for every t that is left, in the order that counts.

        `shifts` are what is added to the inequalities, in units of a small number.
        """
        n = self.n
        width = 1 + n + self.context.n
        units = [tuple([int(j == k) for j in range(width)]) for k in self.lead]
        rows = []
        for row, shift in zip(
            (*units, *self.ineqs), (*[0] * len(units), *(shifts or [0] * len(self.ineqs))), strict=True
        ):
            entries = [row[j] for j in self.lead]
            rows.append([1, -sum(entries), shift, *entries, row[0], *row[n + 1 :]])
        return rows

    def at_vertex(
        self, values: Sequence[Row], moves: Sequence[tuple[int, int]], shifts: Sequence[int]
    ) -> Iterator[tuple[Row, int]]:
        """Each inequality where the t have some values: its row over (const, params, divs), and how it moves.

        The t move by (num, den) and the inequalities by `shifts`, in units of a small number.
        """
        common = lcm(*[den for _, den in moves])
        for row, shift in zip(self.ineqs, shifts, strict=True):
            out, move = [row[0], *row[self.n + 1 :]], shift * common
            for k, value, (num, den) in zip(self.lead, values, moves, strict=True):
                if row[k]:
                    out = [x + row[k] * v for x, v in zip(out, value, strict=True)]
                    move += row[k] * num * (common // den)
            yield tuple(out), move

    def value(self, i: int, values: Sequence[Row], width: int) -> Row:
        """The value of a variable, a row over (const, params, divs) of this width, where the t have some values."""
        form = self.forms[i]
        rest = form[self.n + 1 :]
        out = [form[0], *rest, *[0] * (width - 1 - len(rest))]
        for k, value in zip(self.lead, values, strict=True):
            if form[k]:
                out = [x + form[k] * v for x, v in zip(out, value, strict=True)]
        return tuple(out)

    def barren(self, context: Context) -> bool:
        """Whether no parameters of the context have an integer solution."""
        pad = (0,) * (context.n + 1 + self.n - len(self.forms[0]))
        ineqs = [(*r, *pad) for r in self.ineqs] + self._lifted(context.ineqs + context.bounds)
        return integer.is_empty(self.n + context.n, self._lifted(context.eqs), ineqs)


def shifts(n: int) -> list[int]:
    """Numbers of which no two sums of few are the same, as a rule: powers of 11 modulo a prime.

    >>> shifts(4)
    [11, 121, 322, 515]
    """
    return [pow(11, k + 1, 1009) for k in range(n)]


def joined(leaves: Sequence[Leaf], system: System, root: Context, moves: Sequence[int]) -> list[Leaf]:
    """The leaves of a search with shifted inequalities, those of one vertex as one.

    Parameters
    ----------
    root : the context that the search began with.
    moves : the shifts of the system's inequalities.
    """
    alike: dict[object, list[Leaf]] = {}
    for leaf in leaves:
        vertex = leaf[0].vertex
        alike.setdefault(id(leaf[0]) if vertex is None else vertex, []).append(leaf)
    out: list[Leaf] = []
    for some in alike.values():
        context, values = some[0]
        rows = None if len(some) == 1 or context.vertex is None else _region(system, context.vertex, moves)
        if rows is None:
            out += some
            continue
        whole = root.fork()
        whole.ineqs = list(dict.fromkeys([*whole.ineqs, *rows]))
        out.append((whole, values))
    return out


def _region(system: System, vertex: Vertex, moves: Sequence[int]) -> list[Row] | None:
    """The inequalities of the parameters for which a vertex is feasible; None if another may be where it is."""
    out: list[Row] = []
    for row, move in system.at_vertex(*vertex, moves):
        if not any(row[1:]) and (row[0] > 0 or not (row[0] or move)):
            continue  # positive, or one of the rows that the vertex lies on
        tight = normal_ineq((row[0] - (move < 0), *row[1:]))
        if not move or tight is False:
            return None
        if tight is not True:
            out.append(tight)
    return out
