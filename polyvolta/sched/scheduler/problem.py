"""One row of a schedule as an integer program: unknowns, constraints and what is preferred.

The row gives statement s the form `e_s + d_s . n + c_s . x` of parameters n and iterators x. On a dependence from s to
t the difference `delta = phi_t - phi_s` is a linear function of the unknowns at every generator of the dependence's
polyhedron (module `farkas`), and the conditions on a row are

    valid         delta >= 0
    coincident    delta = 0
    near          delta <= u . n + w              one u, w for all flow dependences: Pluto's reuse distance
                  |delta| <= u . n + w            where the dependence need not be valid
    constant      near, and u = 0                 there is no better one, if there is any, and few unknowns are left
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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import neg, sub
from threading import Lock
from typing import Literal

from polyvolta.sched.scheduler.farkas import Cone
from polyvolta.sched.scheduler.ilp import Constraint, Terms, lexmin, not_zero, opposite
from polyvolta.sched.scheduler.unknowns import Sparse, Unknowns
from polyvolta.sets.budgets import remembered
from polyvolta.sets.engine.rows import Row

Forms = tuple[Row, ...]
"""A row of the schedule: for each statement its form over (1, parameters, iterators)."""


def _minus(a: Sparse, b: Sparse) -> Sparse:
    """The difference of two combinations."""
    out = dict(a)
    for v, c in b.items():
        out[v] = out.get(v, 0) - c
    return {v: c for v, c in out.items() if c}


@dataclass(frozen=True, slots=True)
class Edge:
    """One convex piece of a dependence: from statement `source` to `sink`, by number.

    Parameters
    ----------
    near : whether its distance is to be kept small.
    valid : whether the sink may not come before the source.
    coincident : whether a member is coincident only if its distance is 0.
    local : whether its distance has to be 0.
    """

    source: int
    sink: int
    cone: Cone
    near: bool
    valid: bool = True
    coincident: bool = True
    local: bool = False

    def delta(self, forms: Forms, depths: Sequence[int]) -> Row:
        """phi_sink - phi_source as a form over (1, parameters, source iterators, sink iterators)."""
        return distance(self.source, self.sink, forms, depths)


def within(forms: Forms, limits: Forms | None) -> bool:
    """Whether no coefficient of a row is larger than its limit; a negative one is none."""
    return not limits or all(
        most < 0 or -most <= x <= most for row, some in zip(forms, limits, strict=True) for x, most in zip(row, some)
    )


def distance(source: int, sink: int, forms: Forms, depths: Sequence[int]) -> Row:
    """phi_sink - phi_source as a form over (1, parameters, source iterators, sink iterators), statements by number."""
    a, b = forms[source], forms[sink]
    m, n = len(a) - depths[source], len(b) - depths[sink]
    return (*map(sub, b[:n], a[:m]), *map(neg, a[m:]), *b[n:])


Places = list[tuple[int, int]]
"""For each entry of a generator the unknowns it is added to and subtracted from in the distance, -1 for none."""


def _places(source: int, ds: int, sink: int, dt: int, params: int) -> Places:
    """The places of an edge's generators; `Problem._columns` has the numbers."""
    sides = [(-1, source + j) for j in range(ds)] + [(sink + j, -1) for j in range(dt)]
    if source == sink:
        return [(-1, -1)] * (1 + params) + sides
    a, b = source + ds, sink + dt
    return [(b + params, a + params), *[(b + k, a + k) for k in range(params)], *sides]


def _distance(g: Row, places: Places) -> Sparse:
    """The distance at a generator as a combination of the unknowns."""
    out: Sparse = {}
    for k in compress(range(len(g)), g):
        plus, minus = places[k]
        if minus >= 0:
            out[minus] = -g[k]
        if plus >= 0:
            if plus not in out:
                out[plus] = g[k]
            elif out[plus] != -g[k]:
                out[plus] += g[k]
            else:
                del out[plus]
    return out


@remembered(1 << 12)
def _distances(
    cone: Cone, source: int, ds: int, sink: int, dt: int, params: int
) -> tuple[tuple[Sparse, ...], tuple[tuple[Row, Sparse], ...]]:
    """The distances at a cone's lines, and its rays with theirs: the problems of one band differ in what these mean."""
    places = _places(source, ds, sink, dt, params)
    return tuple([_distance(g, places) for g in cone.lines]), tuple([(g, _distance(g, places)) for g in cone.rays])


Mode = Literal["valid", "coincident", "near", "constant", "carry"]


class Problem:
    """The conditions that all rows of one band share, with equal and vanishing unknowns substituted.

    Parameters
    ----------
    depths : how many iterators each statement has.
    params : how many parameters there are.
    mode : "valid" for no more than that; "near" or "constant" for distances that are small, too; "coincident", "carry".
    negative : whether coefficients of iterators may be negative.
    base : for "near" and "constant" the problem "valid" of the same edges, the conditions of which are not made again.
    """

    def __init__(
        self,
        depths: Sequence[int],
        params: int,
        edges: Sequence[Edge],
        mode: Mode,
        negative: bool = True,
        base: Problem | None = None,
    ) -> None:
        self.depths, self.params, self.mode = tuple(depths), params, mode
        self.first: list[int] = []  # of a statement: its c, then its d, then its e
        at = 0
        for depth in depths:
            self.first.append(at)
            at += depth + params + 1
        self.u, self.w, self.z = at, at + params, at + params + 1
        self.count = self.z + (len(edges) if mode == "carry" else 0)
        self.feasible, self.ready, self.lock = base is None or base.feasible, False, Lock()
        if base is None:
            iterators = [at + j for at, depth in zip(self.first, depths) for j in range(depth)]
            self.unknowns = Unknowns(self.count, iterators, negative)
        elif base.feasible:
            self.unknowns = base.unknowns.copy()
        if self.feasible:
            self.feasible = self.unknowns.substitute(*self._conditions(edges, base is not None))
        if self.feasible and mode == "valid" and len(depths) > 1:  # of one statement there are no cycles, as a rule
            self.feasible = self.unknowns.merge_cycles()

    # ---- the conditions

    def _conditions(self, edges: Sequence[Edge], more: bool) -> tuple[list[Sparse], list[tuple[int, Sparse]]]:
        """Equalities, and inequalities with their constants; those that the base lacks if there are `more`."""
        eqs: list[Sparse] = []
        ineqs: list[tuple[int, Sparse]] = []
        carry = self.mode == "carry"
        for number, e in enumerate(edges):
            still = e.local or (e.coincident and self.mode == "coincident")
            valid, near = e.valid and not more, e.near and self.mode != "valid"
            if still and more:
                continue
            lines, rays = _distances(e.cone, *self._columns(e))
            if valid or (near and not e.valid) or still:
                eqs += lines
            if still:
                eqs += [delta for _, delta in rays]
                rays = ()
            for g, delta in rays:
                bound = self._bound(g) if near else None
                if bound is not None and not bound:
                    eqs.append(delta)
                    continue
                if delta:
                    if bound is not None:
                        ineqs.append((0, _minus(bound, delta)))
                        if not e.valid:
                            ineqs.append((0, _minus(bound, _minus({}, delta))))
                    if valid and not carry:
                        ineqs.append((0, delta))
                if carry and valid:
                    ineqs.append((-g[0], {**delta, self.z + number: g[0]} if g[0] else delta))
            if e.cone.base is not None:
                self._spread(e, number, valid, near, eqs, ineqs)
            if carry and valid:
                ineqs.append((1, {self.z + number: -1}))
        return eqs, ineqs

    def _spread(
        self, e: Edge, number: int, valid: bool, near: bool, eqs: list[Sparse], ineqs: list[tuple[int, Sparse]]
    ) -> None:
        """The conditions at vertices that are given by a base and moves: in each factor a new unknown is at least what
        any move loses, and the value at the base at least the sum of these."""
        base, moves = e.cone.base, e.cone.moves
        assert base is not None
        places = _places(*self._columns(e))
        at_base = _distance(base, places)
        along = [[_distance((0, *m[1:]), places) for m in group] for group in moves]
        if e.local or (self.mode == "coincident" and e.coincident):
            eqs += [at_base, *[row for group in along for row in group]]
            return

        def add(const: int, at_base: Sparse, along: list[list[Sparse]]) -> None:
            total = dict(at_base)
            for group, rows in zip(moves, along):
                if any(rows):
                    loss = self.unknowns.add()
                    total[loss] = -base[0]
                    ineqs.extend((0, {**row, loss: m[0]}) for m, row in zip(group, rows) if row)
            ineqs.append((const, total))

        if valid and self.mode == "carry":
            add(-base[0], {**at_base, self.z + number: base[0]}, along)
        elif valid and (at_base or any(any(rows) for rows in along)):
            add(0, at_base, along)
        if near:
            bounds = [[self._bound((0, *m[1:])) for m in group] for group in moves]
            for back in (False,) if e.valid else (False, True):
                rows = [[_minus({}, row) if back else row for row in group] for group in along]
                far = [[_minus(b, row) for b, row in zip(bs, group)] for bs, group in zip(bounds, rows)]
                add(0, _minus(self._bound(base), _minus({}, at_base) if back else at_base), far)

    def _columns(self, e: Edge) -> tuple[int, int, int, int, int]:
        """The first unknowns of an edge's source and sink, how many iterators each has, and the parameters."""
        return self.first[e.source], self.depths[e.source], self.first[e.sink], self.depths[e.sink], self.params

    def _bound(self, g: Row) -> Sparse:
        """u . n + w at a generator."""
        out = {self.u + k: v for k, v in enumerate(g[1 : 1 + self.params]) if v} if self.mode != "constant" else {}
        if g[0]:
            out[self.w] = g[0]
        return out

    # ---- the integer program

    def may_have(self, fresh: Sequence[Sequence[Row]]) -> bool:
        """Whether the unknowns that vanish leave any that a row new for these statements could have."""
        if not self.feasible:
            return False
        find, zero = self.unknowns.find, self.unknowns.zero
        for at, basis in zip(self.first, fresh):
            if basis:
                for j, column in enumerate(zip(*basis)):
                    if any(column) and find(at + j)[0] not in zero:
                        break
                else:
                    return False
        return True

    def solve(
        self, fresh: Sequence[Sequence[Row]], limits: Forms | None = None
    ) -> tuple[Forms, tuple[int, ...]] | None:
        """The best row that is new for every statement s with a complement `fresh[s]`, and the z; None without one.

        Parameters
        ----------
        fresh : for each statement a basis of the orthogonal complement of its rows so far; empty for a statement that
            needs no further row.
        limits : how large each coefficient may be, negative ones any (`within`).

        No other problem has this one as its base from then on.
        """
        if not self.ready and not self.may_have(fresh):
            return None
        if self.feasible and not (self.unknowns.eqs or self.unknowns.rows):
            forms = self._alike(fresh)
            if forms and within(forms, limits):
                return forms, (0,) * (self.count - self.z)
        with self.lock:  # a problem that is remembered may be asked by several threads
            if not self.ready:
                self.feasible = self.unknowns.drop_idle()
                if self.feasible:
                    self._program()
                self.ready = True
        if not self.feasible:
            return None
        constraints = [*self.constraints, *self._limiting(limits or ())]
        alternatives: list[list[Terms]] = []  # of each statement: its new row vanishes on not all of these
        for at, basis in zip(self.first, fresh):
            if basis:
                sizes = self._magnitudes([at + j for j, column in enumerate(zip(*basis)) if any(column)])
                if not sizes:
                    return None
                constraints.append((-1, sizes))
                rows = [{at + j: v for j, v in enumerate(h) if v} for h in basis]
                alternatives.append([self._terms(self.unknowns.resolved(row)) for row in rows])

        def branch(point: Sequence[int], den: int) -> list[list[Constraint]] | None:
            for rows in alternatives:
                for terms in rows:
                    if sum([c * point[v] for v, c in terms]):
                        break
                else:
                    return not_zero(rows)
            return None

        point = lexmin(self.size, constraints, branch, self.sums)
        return None if point is None else self._forms(point)

    def _limiting(self, limits: Forms) -> Iterator[Constraint]:
        """That no coefficient is larger than its limit."""
        for at, depth, row in zip(self.first, self.depths, limits):
            c, d = at + depth, at + depth + self.params
            for v, most in zip((d, *range(c, d), *range(at, c)), row, strict=True):
                if most >= 0:
                    plus, minus = self.parts[v]
                    terms = tuple([(x, sign) for x, sign in ((plus, -1), (minus, 1)) if x >= 0])
                    yield from ((most, terms), (most, opposite(terms)))

    def _alike(self, fresh: Sequence[Sequence[Row]]) -> Forms | None:
        """Where a row has but to be new: one iterator of each statement that needs one, if that is plainly the best.

        The sum of all |c| is at least the number of these statements. Where the outermost new iterator of the first of
        them has a coefficient that equals one new one of each of the others, and no more, the sum is that number; any
        other such row has a coefficient of the first statement that comes before in what is to be least. Else None.
        """
        tops = [[self.unknowns.find(v) for v in range(at, at + depth)] for at, depth in zip(self.first, self.depths)]
        places = [[j for j, column in enumerate(zip(*basis)) if any(column)] for basis in fresh]
        first = [top for own, new in zip(tops, places) for top in map(own.__getitem__, new)]
        top, sign = next(((v, sign) for v, sign in first if v not in self.unknowns.zero), (-1, 1))
        value, forms = self.unknowns.sign[top] or sign, []
        for own, new in zip(tops, places):
            at = [j for j, (v, _) in enumerate(own) if v == top]
            if at != [j for j in new if j in at] or len(at) != bool(new):
                return None
            form = [0] * (1 + self.params + len(own))
            for j in at:
                form[1 + self.params + j] = value * own[j][1]
            forms.append(tuple(form))
        return tuple(forms)

    def _program(self) -> None:
        """Columns for the positive and the negative part of each unknown (-1 for none), and the constraints."""
        p, tops = self.params, [self.unknowns.find(v) for v in range(self.count)]
        eqs, ineqs = self.unknowns.eqs, self.unknowns.ineqs
        used = {v for _, row in ineqs for v in row} | {v for row in eqs for v in row}
        used |= {tops[v][0] for v in self.unknowns.iterators} - self.unknowns.zero
        order: list[tuple[int, int]] = []
        c_of: dict[int, int] = {}  # how many statements' coefficients an unknown stands for
        d_of: dict[int, int] = {}
        for at, depth in zip(self.first, self.depths):
            parts: tuple[tuple[dict[int, int], Iterable[int]], ...] = (
                (c_of, range(at + depth - 1, at - 1, -1)),
                (d_of, range(at + depth, at + depth + p)),
                ({}, (at + depth + p,)),
            )
            for weights, numbers in parts:
                for v, sign in map(tops.__getitem__, numbers):
                    if v in used:
                        weights[v] = weights.get(v, 0) + 1
                        order.append((v, sign))
        z = dict.fromkeys([v for v in range(self.z, self.count) if v in used], 1)
        u = dict.fromkeys([v for v in range(self.u, self.u + p) if v in used], 1)
        self.columns: dict[int, tuple[int, int]] = {}
        self.size, sums = 0, []
        for weights, single in ((z, None), (u, self.w), (d_of, None), (c_of, None)):
            if weights:
                sums.append((self.size, weights))
                self.size += 1
            if single in used:
                self._place(single)
        for v in (*z, *u):
            self._place(v)
        for v, sign in order:
            self._place(v, sign)
        for v in sorted(used):
            self._place(v)
        self.constraints: list[Constraint] = []
        for row in eqs:
            terms = self._terms(row)
            self.constraints += [(0, terms), (0, opposite(terms))]
        self.constraints += [(const, self._terms(row)) for const, row in ineqs]
        self.parts: list[tuple[int, int]] = []  # the columns of each unknown, of those that others stand for, too
        for v, sign in tops:
            plus, minus = self.columns.get(v, (-1, -1))
            self.parts.append((plus, minus) if sign > 0 else (minus, plus))
        self.sums: dict[int, Terms] = {}
        for total, weights in sums:
            self.sums[total] = tuple([(x, k) for v, k in weights.items() for x in self.columns[v] if x >= 0])

    def _place(self, v: int, sign: int = 1) -> None:
        """Give an unknown the next columns: its part of the other sign first, as that is to be 0 before the one of
        this sign."""
        if v not in self.columns:
            plus, minus = self.unknowns.sign[v] >= 0, self.unknowns.sign[v] <= 0
            at = (self.size + minus, self.size) if sign > 0 else (self.size, self.size + plus)
            self.columns[v] = (at[0] if plus else -1, at[1] if minus else -1)
            self.size += plus + minus

    def _terms(self, row: Sparse) -> Terms:
        """A combination of unknowns in the program's columns."""
        out = []
        for v, c in row.items():
            plus, minus = self.columns[v]
            if plus >= 0:
                out.append((plus, c))
            if minus >= 0:
                out.append((minus, -c))
        return tuple(out)

    def _magnitudes(self, numbers: Iterable[int]) -> Terms:
        """The sum of the absolute values of some unknowns, in the program's columns."""
        out: dict[int, int] = {}
        for v in numbers:
            for part in self.parts[v]:
                if part >= 0:
                    out[part] = out.get(part, 0) + 1
        return tuple(out.items())

    def _forms(self, point: Sequence[int]) -> tuple[Forms, tuple[int, ...]]:
        numbers = (*point, 0)  # where a part has no column, -1
        values = [numbers[plus] - numbers[minus] for plus, minus in self.parts]
        forms = []
        for at, depth in zip(self.first, self.depths):
            c, d = at + depth, at + depth + self.params
            forms.append((values[d], *values[c:d], *values[at:c]))
        return tuple(forms), tuple(values[self.z :])
