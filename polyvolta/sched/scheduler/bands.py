"""Permutable bands of maximal width, row by row.

Given statements and the dependences that no outer band carries, `find_band` adds rows, each of them valid for *all*
these dependences, until every statement has as many independent rows as iterators or no row is left. As all rows are
valid for the same dependences, they may be permuted and tiled (Bondhugula et al. 2008, Section 3). With
`outer_parallel` a row on which all distances are 0 is taken whenever there is one, so that the parallel members come
first. Where not a single row is valid for all, `find_carrying_row` gives a row that satisfies as many as possible
strictly (Feautrier 1992, Part II), which leaves fewer for the rows below.

Where no row is new for all statements, it need be new for those with the most loops left alone: `[k, j]` of S[k, j, i]
goes with `[k, k]` of T[k, i], whose i has a row further in.

A statement whose iterators are used up goes on in the band as the row's constant or parameters say, `[i, j, K]` for a
statement of two dimensions that comes after a loop over k < K.

Both are functions of numbers alone, of statements' depths and cones, and memoised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from polyvolta.sched.scheduler.limits import Extents, without_coalesced
from polyvolta.sched.scheduler.problem import Edge, Forms, Mode, Problem
from polyvolta.sets.budgets import remembered
from polyvolta.sets.engine.integer import solve_equalities
from polyvolta.sets.engine.rows import Row, dot, negate, units

Prior = tuple[tuple[Row, ...], ...]
"""For each statement the iterator coefficients of its rows so far."""


@dataclass(frozen=True, slots=True)
class Found:
    """A band.

    Parameters
    ----------
    rows : its members, each a form over (1, parameters, iterators) for every statement.
    coincident : for each member whether all distances are 0 at every rational point.
    """

    rows: tuple[Forms, ...]
    coincident: tuple[bool, ...]

    @property
    def width(self) -> int:
        return len(self.rows)

    @property
    def parallel(self) -> int:
        """How many of the outermost members are coincident."""
        return next((k for k, c in enumerate(self.coincident) if not c), len(self.rows))


@remembered(1 << 10)
def complement(rows: tuple[Row, ...], depth: int) -> tuple[Row, ...]:
    """A basis of the integer vectors that are orthogonal to all rows.

    >>> complement(((1, 0, 0),), 3), complement(((1, 1),), 2)
    (((0, 1, 0), (0, 0, 1)), ((1, -1),))
    """
    taken = {k for row in rows for k, v in enumerate(row) if v}
    if not [row for row in rows if depth - row.count(0) != 1]:
        return tuple([unit for k, unit in enumerate(units(depth)) if k not in taken])
    lattice = solve_equalities(depth, [(0, *r) for r in rows])
    assert lattice is not None, "homogeneous equations have the solution 0"
    return tuple([h if next(v for v in h if v) > 0 else tuple([-v for v in h]) for h in lattice[1]])


def find_band(
    depths: tuple[int, ...],
    params: int,
    edges: tuple[Edge, ...],
    prior: Prior,
    outer_parallel: bool = True,
    negative: bool = True,
    coincident: bool = False,
    limits: Forms | None = None,
) -> Found:
    """The rows of a permutable band, of none if there is no valid row.

    Parameters
    ----------
    coincident : whether there is no band unless its first row has no distances.
    limits : how large the coefficients of each statement's rows may be (module `limits`); None if the rows are any.

    Exact for the rational polyhedra of the dependences (module `farkas`). Cost: one integer program for each row, and
    one that fails unless every statement is used up.
    """
    return _find_band(depths, params, edges, prior, outer_parallel, negative, coincident, limits)


@remembered(1 << 8)
def _find_band(
    depths: tuple[int, ...],
    params: int,
    edges: tuple[Edge, ...],
    prior: Prior,
    outer_parallel: bool,
    negative: bool,
    coincident: bool,
    limits: Forms | None,
) -> Found:
    if not edges:
        return _free_band(depths, params, prior)
    ways, rows = _Ways(depths, params, edges, outer_parallel or coincident, negative, limits), []
    if outer_parallel or coincident:
        rows[:], ways.made["coincident"], prior = _outermost(depths, params, edges, prior, negative, limits)
    flags, fresh = [True] * len(rows), fresh_directions(depths, prior)
    ways.failed["coincident"] = [_wanted(fresh)]
    while any(fresh):
        modes: tuple[Mode, ...] = ("coincident",) if coincident and not rows else ways.modes
        found = ways.row(fresh, modes) or ways.row(_longest(fresh), modes)
        if found is None:
            break
        forms = _upwards(found[0], depths, edges)
        rows.append(forms)
        flags.append(found[1] or all(e.cone.vanishes(e.delta(forms, depths)) for e in edges if e.coincident))
        prior = extended(prior, forms, depths)
        fresh = fresh_directions(depths, prior)
    return Found(tuple(rows), tuple(flags))


def most_parallel(
    depths: tuple[int, ...],
    params: int,
    edges: tuple[Edge, ...],
    prior: Prior,
    negative: bool = True,
    limits: Forms | None = None,
) -> int | None:
    """How many of the outermost members of a band are coincident; None where it takes the whole band to tell.

    That is known before any other row is: a fraction of the time of `find_band`, which takes what was found from here.
    """
    if not edges:
        return None
    rows, problem, prior = _outermost(depths, params, edges, prior, negative, limits)
    fresh = fresh_directions(depths, prior)
    if any(fresh) and problem.solve(_longest(fresh), limits) is not None:
        return None
    return len(rows)


@remembered(1 << 4)  # programs are large, and asked for again at once or never
def _outermost(
    depths: tuple[int, ...],
    params: int,
    edges: tuple[Edge, ...],
    prior: Prior,
    negative: bool,
    limits: Forms | None,
) -> tuple[tuple[Forms, ...], Problem, Prior]:
    """The rows without distances that are new for all statements with loops left, the program they are from, and all
    rows so far."""
    problem, rows = Problem(depths, params, edges, "coincident", negative), []
    while True:
        fresh = fresh_directions(depths, prior)
        found = problem.solve(fresh, limits) if any(fresh) else None
        if found is None:
            return tuple(rows), problem, prior
        rows.append(_upwards(found[0], depths, edges))
        prior = extended(prior, rows[-1], depths)


def _wanted(fresh: Prior) -> frozenset[int]:
    """The statements that need a further row."""
    return frozenset([s for s, basis in enumerate(fresh) if basis])


class _Ways:
    """The integer programs of one band, the best rows first: without distances, with constant ones, with near ones,
    with any. Each is made when the ones before it have no row.

    What a row must not be orthogonal to becomes less from row to row. So where a program had no row that is new for
    some statements, it has none later that is new for these and perhaps others.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        params: int,
        edges: Sequence[Edge],
        outer_parallel: bool,
        negative: bool,
        limits: Forms | None,
    ) -> None:
        self.given = depths, params, edges
        self.negative, self.limits = negative, limits
        self.made: dict[Mode, Problem] = {}
        self.failed: dict[Mode, list[frozenset[int]]] = {}
        self.modes: tuple[Mode, ...] = ("constant", "near", "valid") if any(e.near for e in edges) else ("valid",)
        self.upon = {"near", "valid"}  # before these it is asked what can be valid at all
        if len(depths) > 2:  # of one or two statements constant distances mostly suffice
            self.upon.add("constant")
        if outer_parallel:
            self.modes = ("coincident", *self.modes)

    def row(self, fresh: Prior, modes: Sequence[Mode]) -> tuple[Forms, bool] | None:
        """The best row of some modes that is new for every statement with a basis in `fresh`, and whether it has no
        distances."""
        wanted = _wanted(fresh)
        for mode in modes:
            failed = self.failed.setdefault(mode, [])
            if any(some <= wanted for some in failed):
                continue
            if mode in self.upon and not self.problem("valid").may_have(fresh):
                break
            found = self.problem(mode).solve(fresh, self.limits)
            if found is not None:
                return found[0], mode == "coincident"
            failed.append(wanted)
        return None

    def problem(self, mode: Mode) -> Problem:
        if mode not in self.made:
            base = self.problem("valid") if mode in self.upon and mode != "valid" else None
            self.made[mode] = Problem(*self.given, mode, self.negative, base)
        return self.made[mode]


def _upwards(forms: Forms, depths: Sequence[int], edges: Sequence[Edge]) -> Forms:
    """Of a row without distances and its opposite, which is as good, the one whose first coefficient is positive."""
    first = next(filter(None, chain.from_iterable(forms)), 0)
    if first >= 0 or any(any(form[: len(form) - depth]) for form, depth in zip(forms, depths)):
        return forms
    if all(e.cone.vanishes(e.delta(forms, depths)) for e in edges):
        return tuple([negate(form) for form in forms])
    return forms


def _longest(fresh: tuple[tuple[Row, ...], ...]) -> tuple[tuple[Row, ...], ...]:
    """What a new row must not be orthogonal to for the statements with the most loops left; others can wait."""
    most = max(map(len, fresh))
    return tuple([basis if len(basis) == most else () for basis in fresh])


def fresh_directions(depths: Sequence[int], prior: Prior) -> tuple[tuple[Row, ...], ...]:
    """For each statement what a new row must not be orthogonal to; empty for one that is used up."""
    return tuple([complement(rows, depth) for rows, depth in zip(prior, depths)])


def extended(prior: Prior, forms: Forms, depths: Sequence[int]) -> Prior:
    """The rows so far with those of one more member, where they are new."""
    out = []
    for rows, form, depth in zip(prior, forms, depths):
        c = form[len(form) - depth :]
        for h in complement(rows, depth):
            if dot(h, c):
                rows = (*rows, c)
                break
        out.append(rows)
    return tuple(out)


def _free_band(depths: Sequence[int], params: int, prior: Prior) -> Found:
    """The band of statements without dependences: the iterators, those of fewer at 0 in the end."""
    axes = []
    for depth, rows in zip(depths, prior):
        own = []
        for j in range(depth):
            if any(h[j] for h in complement(rows, depth)):
                unit = tuple([int(j == k) for k in range(depth)])
                own.append(unit)
                rows = (*rows, unit)
        axes.append(own)
    head = (0,) * (1 + params)
    rows_ = []
    for k in range(max(map(len, axes), default=0)):
        rows_.append(tuple([head + (a[k] if k < len(a) else (0,) * d) for a, d in zip(axes, depths)]))
    return Found(tuple(rows_), (True,) * len(rows_))


def find_carrying_row(
    depths: tuple[int, ...], params: int, edges: tuple[Edge, ...], negative: bool = True, extents: Extents | None = None
) -> tuple[Forms, tuple[int, ...]] | None:
    """A row that is valid for all dependences and satisfies as many as possible strictly, and which (by number).

    None when there is no valid row that satisfies any of them. Coefficients are negative where it takes that. Where it
    runs several loops as one, it is one without these if there is one that satisfies any (module `limits`).

    Parameters
    ----------
    extents : None where it may run several loops as one.
    """
    free = tuple([replace(e, near=False) for e in edges])
    for chosen, signs in ((edges, negative), (free, negative), (free, True)):
        problem, limits, best = Problem(depths, params, chosen, "carry", signs), None, None
        while (found := problem.solve([()] * len(depths), limits)) is not None:
            carried = [k for k, z in enumerate(found[1]) if not z and edges[k].valid]
            if not carried:
                break
            best = found[0], tuple(carried)
            limits = without_coalesced(found[0], limits, params, extents) if extents else None
            if limits is None:
                break
        if best is not None:
            return best
    return None
