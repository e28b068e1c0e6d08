"""One row of a schedule as an integer program: unknowns, constraints and what is preferred.

The row gives statement s the form `e_s + d_s . n + c_s . x` of parameters n and iterators x. On a dependence from s to
t the difference `delta = phi_t - phi_s` is a linear function of the unknowns at every generator of the dependence's
polyhedron (module `farkas`), and the conditions on a row are

    valid         delta >= 0
    coincident    delta = 0
    near          delta <= u . n + w              one u, w for all flow dependences: Pluto's reuse distance
    carried       delta >= 1 - z, 0 <= z <= 1     one z per dependence, as few as possible 1: Feautrier's greedy step
    new           c_s outside the span of the statement's earlier rows

Least, in this order: the number of z that are 1, sum of u, w, sum of all d, sum of all |c|, then u, then statement by
statement the c from the innermost iterator outwards, d and e. So outer loops come first, and nothing is skewed or
shifted without need. As in isl and Pluto, u, w, d and e are not negative; c may be (`negative=True`).

"New" is a union of half spaces: for a basis h of the orthogonal complement of the earlier rows, some `h . c >= 1` or
`<= -1`. The weaker `sum of |c_j| >= 1` over the j that occur in any h holds for all of them and mostly leads straight
to a new row, so that there is nothing to try.

Most conditions say that two unknowns are equal, that one is 0 or has a sign. These are substituted before the integer
program is made; for a matrix product three unknowns are left of thirty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from polyvolta.sched.scheduler.farkas import Cone
from polyvolta.sched.scheduler.ilp import Constraint, lexmin
from polyvolta.sets.engine.rows import Row

Forms = tuple[Row, ...]
"""A row of the schedule: for each statement its form over (1, parameters, iterators)."""

Sparse = dict[int, int]


@dataclass(frozen=True, slots=True)
class Edge:
    """One convex piece of a dependence: from statement `source` to `sink`, by number.

    Parameters
    ----------
    near : whether its distance is to be kept small.
    """

    source: int
    sink: int
    cone: Cone
    near: bool

    def delta(self, forms: Forms, depths: Sequence[int]) -> Row:
        """phi_sink - phi_source as a form over (1, parameters, source iterators, sink iterators)."""
        a, b = forms[self.source], forms[self.sink]
        m, n = len(a) - depths[self.source], len(b) - depths[self.sink]
        return (*[y - x for x, y in zip(a[:m], b[:n], strict=True)], *[-x for x in a[m:]], *b[n:])


class Problem:
    """The conditions that all rows of one band share, with equal and vanishing unknowns substituted.

    Parameters
    ----------
    depths : how many iterators each statement has.
    params : how many parameters there are.
    mode : "valid", "coincident" or "carry".
    negative : whether coefficients of iterators may be negative.
    """

    def __init__(
        self, depths: Sequence[int], params: int, edges: Sequence[Edge], mode: str = "valid", negative: bool = True
    ) -> None:
        self.depths, self.params, self.mode = tuple(depths), params, mode
        self.first: list[int] = []  # of a statement: its c, then its d, then its e
        at = 0
        for depth in depths:
            self.first.append(at)
            at += depth + params + 1
        self.u, self.w, self.z = at, at + params, at + params + 1
        self.count = self.z + (len(edges) if mode == "carry" else 0)
        self.parent = [(v, 1) for v in range(self.count)]
        self.zero: set[int] = set()
        self.plus = [True] * self.count
        self.minus = [False] * self.count
        for at, depth in zip(self.first, depths):
            for j in range(depth):
                self.minus[at + j] = negative
        eqs, ineqs = self._conditions(edges)
        self.feasible = self._substitute(eqs, ineqs)

    # ---- the conditions

    def _conditions(self, edges: Sequence[Edge]) -> tuple[list[Sparse], list[tuple[int, Sparse]]]:
        eqs: list[Sparse] = []
        ineqs: list[tuple[int, Sparse]] = []
        carry = self.mode == "carry"
        for number, e in enumerate(edges):
            eqs += [self._delta(e, g) for g in e.cone.lines]
            for g in e.cone.rays:
                delta = self._delta(e, g)
                if self.mode == "coincident":
                    eqs.append(delta)
                    continue
                bound = self._bound(g) if e.near else None
                if bound is not None and not bound:
                    eqs.append(delta)
                    continue
                if delta:
                    if bound is not None:
                        for v, c in delta.items():
                            bound[v] = bound.get(v, 0) - c
                        ineqs.append((0, bound))
                    if not carry:
                        ineqs.append((0, delta))
                if carry:
                    ineqs.append((-g[0], {**delta, self.z + number: g[0]} if g[0] else delta))
            if carry:
                ineqs.append((1, {self.z + number: -1}))
        return eqs, ineqs

    def _delta(self, e: Edge, g: Row) -> Sparse:
        """The distance at a generator as a combination of the unknowns."""
        s, t, p = e.source, e.sink, self.params
        ds, dt = self.depths[s], self.depths[t]
        out: Sparse = {}
        at = self.first[t]
        for j in range(dt):
            v = g[1 + p + ds + j]
            if v:
                out[at + j] = v
        at = self.first[s]
        for j in range(ds):
            v = g[1 + p + j]
            if v:
                c = out.get(at + j, 0) - v
                if c:
                    out[at + j] = c
                else:
                    del out[at + j]
        if s != t:
            a, b = self.first[s] + ds, self.first[t] + dt
            for k in range(p):
                if g[1 + k]:
                    out[b + k], out[a + k] = g[1 + k], -g[1 + k]
            if g[0]:
                out[b + p], out[a + p] = g[0], -g[0]
        return out

    def _bound(self, g: Row) -> Sparse:
        """u . n + w at a generator."""
        out = {self.u + k: v for k, v in enumerate(g[1 : 1 + self.params]) if v}
        if g[0]:
            out[self.w] = g[0]
        return out

    # ---- substitution

    def _find(self, v: int) -> tuple[int, int]:
        """The unknown that stands for v, and its sign."""
        sign = 1
        while self.parent[v][0] != v:
            v, s = self.parent[v]
            sign *= s
        return v, sign

    def _resolved(self, row: Sparse) -> Sparse:
        out: Sparse = {}
        for v, c in row.items():
            if self.parent[v][0] != v:
                v, s = self._find(v)
                c *= s
            if v not in self.zero:
                out[v] = out.get(v, 0) + c
        return {v: c for v, c in out.items() if c}

    def _limit(self, v: int, up: bool) -> bool:
        """Unknown v can not be positive (up) or not negative; whether that is news."""
        signs = self.plus if up else self.minus
        if not signs[v] or v in self.zero:
            return False
        signs[v] = False
        if not (self.plus[v] or self.minus[v]):
            self.zero.add(v)
        return True

    def _merge(self, a: int, b: int, sign: int) -> None:
        """a = sign * b."""
        if a < b:
            a, b = b, a
        self.parent[a] = (b, sign)
        plus, minus = (self.plus[a], self.minus[a]) if sign > 0 else (self.minus[a], self.plus[a])
        self.plus[b] &= plus
        self.minus[b] &= minus
        if not (self.plus[b] or self.minus[b]):
            self.zero.add(b)

    def _sign(self, v: int, c: int) -> int:
        """The sign that c * v can have alone, 0 for both."""
        if self.plus[v] and self.minus[v]:
            return 0
        return 1 if (c > 0) == self.plus[v] else -1

    def _substitute(self, eqs: list[Sparse], ineqs: list[tuple[int, Sparse]]) -> bool:
        """Merge unknowns until nothing changes; False when plainly nothing can satisfy the conditions."""
        changed = True
        while changed:
            changed = False
            rest = []
            for row in eqs:
                row = self._resolved(row)
                if not row:
                    continue
                signs = {self._sign(v, c) for v, c in row.items()}
                if len(row) == 1 or (len(signs) == 1 and 0 not in signs):
                    self.zero.update(row)
                    changed = True
                    continue
                if len(row) == 2:
                    (a, x), (b, y) = row.items()
                    if abs(x) == abs(y):
                        self._merge(a, b, -1 if x == y else 1)
                        changed = True
                        continue
                rest.append(row)
            eqs = rest
            found: dict[tuple, int] = {}
            for const, row in ineqs:
                row = self._resolved(row)
                if not row:
                    if const < 0:
                        return False
                    continue
                if const >= 0 and all(self._sign(v, c) > 0 for v, c in row.items()):
                    continue
                if not const:
                    if all(self._sign(v, c) < 0 for v, c in row.items()):
                        self.zero.update(row)
                        changed = True
                        continue
                    if len(row) == 1:
                        ((v, c),) = row.items()
                        changed |= self._limit(v, c < 0)
                        continue
                g = gcd(*row.values())
                key = tuple(sorted([(v, c // g) for v, c in row.items()]))
                const //= g
                if found.get(key, const) >= const:
                    found[key] = const
            ineqs = [(const, dict(key)) for key, const in found.items()]
            if not changed and not eqs:
                changed = self._drop_idle(ineqs)
        self.eqs, self.ineqs = eqs, ineqs
        return True

    def _drop_idle(self, ineqs: list[tuple[int, Sparse]]) -> bool:
        """Unknowns but the c that no row wants positive are 0; whether there are any."""
        wanted = {v for _, row in ineqs for v, c in row.items() if c > 0}
        iterators = {self._find(at + j)[0] for at, depth in zip(self.first, self.depths) for j in range(depth)}
        idle = [
            v
            for _, row in ineqs
            for v in row
            if v not in wanted and v not in iterators and v not in self.zero and not self.minus[v]
        ]
        self.zero.update(idle)
        return bool(idle)

    # ---- the integer program

    def solve(self, fresh: Sequence[Sequence[Row]]) -> tuple[Forms, tuple[int, ...]] | None:
        """The best row that is new for every statement s with a complement `fresh[s]`, and the z; None without one.

        Parameters
        ----------
        fresh : for each statement a basis of the orthogonal complement of its rows so far; empty for a statement that
            needs no further row.
        """
        if not self.feasible:
            return None
        columns, constraints = self._program()
        for s, basis in enumerate(fresh):
            if basis:
                support = [j for j in range(self.depths[s]) if any(h[j] for h in basis)]
                terms = self._magnitude([self.first[s] + j for j in support], columns)
                if not terms:
                    return None
                constraints.append((-1, tuple(terms.items())))

        def branch(point: Sequence[int], den: int) -> list[list[Constraint]] | None:
            for s, basis in enumerate(fresh):
                if not basis:
                    continue
                rows = [self._terms({self.first[s] + j: v for j, v in enumerate(h) if v}, columns) for h in basis]
                if any(sum(c * point[v] for v, c in terms) for terms in rows):
                    continue
                out: list[list[Constraint]] = []
                before: list[Constraint] = []
                for terms in rows:
                    opposite = tuple([(v, -c) for v, c in terms])
                    out += [[*before, (-1, terms)], [*before, (-1, opposite)]]
                    before += [(0, terms), (0, opposite)]
                return [c for c in out if any(a > 0 for _, a in c[-1][1])]
            return None

        point = lexmin(self._size, constraints, branch)
        return None if point is None else self._forms(point, columns)

    def _program(self) -> tuple[dict[int, tuple[int, int]], list[Constraint]]:
        """The columns of each unknown (for its positive and its negative part, -1 for none) and the constraints."""
        used = {v for _, row in self.ineqs for v in row} | {v for row in self.eqs for v in row}
        used |= {self._find(at + j)[0] for at, depth in zip(self.first, self.depths) for j in range(depth)} - self.zero
        p = self.params
        order: list[int] = []
        c_of: dict[int, int] = {}
        d_of: dict[int, int] = {}
        for at, depth in zip(self.first, self.depths):
            for j in reversed(range(depth)):
                v = self._find(at + j)[0]
                if v in used:
                    c_of[v] = c_of.get(v, 0) + 1
                    order.append(v)
            for k in range(p):
                v = self._find(at + depth + k)[0]
                if v in used:
                    d_of[v] = d_of.get(v, 0) + 1
                    order.append(v)
            v = self._find(at + depth + p)[0]
            if v in used:
                order.append(v)
        u = [v for v in range(self.u, self.u + p) if v in used]
        z = [v for v in range(self.z, self.count) if v in used]
        heads = [name for name, group in (("Z", z), ("U", u)) if group]
        size = len(heads)
        columns: dict[int, tuple[int, int]] = {}

        def place(v: int) -> None:
            nonlocal size
            if v in columns:
                return
            m = size if self.minus[v] else -1
            size += self.minus[v]
            columns[v] = (size if self.plus[v] else -1, m)
            size += self.plus[v]

        if self.w in used:
            place(self.w)
        sums = {name: k for k, name in enumerate(heads)}
        for name, group in (("D", d_of), ("C", c_of)):
            if group:
                sums[name] = size
                size += 1
        for v in (*z, *u, *order):
            place(v)
        self._size = size
        constraints: list[Constraint] = []
        for row in self.eqs:
            terms = self._terms(row, columns)
            constraints += [(0, terms), (0, tuple([(v, -c) for v, c in terms]))]
        constraints += [(const, self._terms(row, columns)) for const, row in self.ineqs]
        for name, group in (("Z", z), ("U", u), ("D", d_of), ("C", c_of)):
            if group:
                weights = group if isinstance(group, dict) else dict.fromkeys(group, 1)
                terms = [(part, -k) for v, k in weights.items() for part in columns[v] if part >= 0]
                constraints.append((0, ((sums[name], 1), *terms)))
        return columns, constraints

    def _terms(self, row: Sparse, columns: dict[int, tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """A combination of unknowns in the program's columns."""
        out = []
        for v, c in self._resolved(row).items():
            plus, minus = columns[v]
            if plus >= 0:
                out.append((plus, c))
            if minus >= 0:
                out.append((minus, -c))
        return tuple(out)

    def _magnitude(self, unknowns: Iterable[int], columns: dict[int, tuple[int, int]]) -> Sparse:
        """The sum of the absolute values, in the program's columns."""
        out: Sparse = {}
        for v in unknowns:
            v = self._find(v)[0]
            for part in columns[v] if v not in self.zero else ():
                if part >= 0:
                    out[part] = out.get(part, 0) + 1
        return out

    def _forms(self, point: Sequence[int], columns: dict[int, tuple[int, int]]) -> tuple[Forms, tuple[int, ...]]:
        def value(v: int) -> int:
            v, sign = self._find(v)
            if v not in columns:
                return 0
            plus, minus = columns[v]
            return sign * ((point[plus] if plus >= 0 else 0) - (point[minus] if minus >= 0 else 0))

        forms = []
        for at, depth in zip(self.first, self.depths):
            c, d = range(at, at + depth), range(at + depth, at + depth + self.params)
            forms.append((value(at + depth + self.params), *map(value, d), *map(value, c)))
        return tuple(forms), tuple([value(v) for v in range(self.z, self.count)])
