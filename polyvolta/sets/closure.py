"""Powers and the transitive closure of a map.

The closure R+ is the union of all powers R^k, k >= 1. It need not be a Presburger set, so the answer is a superset
with a flag that says whether it has been *proved* equal. In order of cost:

1. One conjunct that moves every point by the same offset d, and whose floors move by whole numbers with it. Along a
   path every row changes linearly, so rows that grow need to hold at the first step alone and rows that shrink at the
   last: { x -> x + k d } under those is R^k exactly.
2. In general a path of k steps moves a point by a sum of k differences y - x. Scaling the constants of the rows of
   the differences by k describes all such sums, and some more; with the ends of the path in the domain and the range
   this gives P(k), a superset of R^k. It is exact when P(1) lies in R and P(k) in P(k - 1) . R for all k >= 2, by
   induction on k, and both are subset tests.
3. Failing that: squaring until R . R adds nothing, where few pieces do; or splitting off one conjunct A with an exact
   closure: (A + B)+ = A+ + A* (B A*)+. Else P without its k is returned, marked inexact.

Maps over several tuples are closed tuple by tuple, by Kleene's elimination, which needs closures of loops alone.

Sources: Verdoolaege, Cohen, Beletska, "Transitive closures of affine integer tuple relations and their
overapproximations", SAS 2011; Kelly, Pugh, Rosser, Shpeisman, "Transitive closure of infinite graphs and its
applications", 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from . import conjunct as cj
from . import project as pj
from .budgets import budget
from .compose import apply_range, deltas, domain, identity, range_, reverse
from .conjunct import Conjunct, Row
from .errors import BudgetExceeded, SpaceMismatch
from .shape import pair, spaced
from .space import Space, Tuple

if TYPE_CHECKING:
    from .map import Map

SHARE = 40_000  # steps that one way to an exact closure may spend
ROUNDS = 8  # squarings
MANY = 40  # pieces at which squaring is given up
DEPTH = 2  # conjuncts split off one inside the other

T = TypeVar("T")


# ---- powers


def fixed_power(self: Map, exponent: int) -> Map:
    """The map composed with itself: `exponent` times, of its reverse where negative, the identity of its points at 0.

    Exact; O(log exponent) compositions.

    >>> from polyvolta.sets import Map
    >>> step = Map("{ [i] -> [i + 3] : 0 <= i < 30 }")
    >>> print(step.fixed_power(4))
    { [i] -> [i + 12] : 0 <= i <= 20 }
    >>> step.fixed_power(-2).is_equal(Map("{ [i] -> [i - 6] : 6 <= i <= 32 }"))
    True

    Raises
    ------
    SpaceMismatch : the exponent is no integer, or the outputs are in no input space.
    """
    if isinstance(exponent, bool) or not hasattr(exponent, "__index__"):
        raise SpaceMismatch(f"an exponent is an integer, not {exponent!r}", where=str(self))
    k = exponent.__index__()
    if k == 0:
        return identity(domain(self) | range_(self))
    square = self if k > 0 else reverse(self)
    result, k = None, abs(k)
    while True:
        if k & 1:
            result = square if result is None else apply_range(result, square)
        k >>= 1
        if not k:
            return result
        square = apply_range(square, square)


def power(self: Map) -> tuple[Map, bool]:
    """{ [k] -> [x -> y] : a path of k >= 1 steps leads from x to y }, and whether it is exact; else a superset.

    For a map of one tuple; cost and source as `transitive_closure`.

    >>> from polyvolta.sets import Map
    >>> found, exact = Map("{ [i] -> [i + 3] : 0 <= i < 30 }").power()
    >>> exact, found.is_equal(Map("{ [k] -> [[i] -> [j]] : j = i + 3k and k >= 1 and i >= 0 and j <= 32 }"))
    (True, True)

    Raises
    ------
    SpaceMismatch : the map has several tuples, or inputs and outputs of different spaces.
    """
    space = self.space
    _check_loop(space)
    paths, exact = _paths(self.without_empty())
    n_par, n = len(self.param_names), space.n_in
    places = (*range(n_par), *range(n_par + 1, n_par + 1 + 2 * n), n_par)
    parts = tuple(cj.reindex(c, c.n, places) for _, cs in paths.parts for c in cs)
    target = spaced(Tuple(None, ("k",)), pair(space.inp, space.out), self.param_names)
    return self._of(self.param_names, [(target, parts)]), exact


def reaching_path_lengths(self: Map) -> tuple[Map, bool]:
    """{ [x -> y] -> [k] : a path of k >= 1 steps leads from x to y }, and whether it is exact; see `power`.

    >>> from polyvolta.sets import Map
    >>> lengths, exact = Map("{ [i] -> [i + 2]; [i] -> [i + 3] }").reaching_path_lengths()
    >>> print(lengths.intersect_domain(Map("{ [0] -> [12] }").wrap()).range(), exact)
    { [k] : 4 <= k <= 6 } True
    """
    found, exact = power(self)
    return reverse(found), exact


def _check_loop(space: Space) -> None:
    if space.inp.key != space.out.key:
        raise SpaceMismatch("a power needs inputs and outputs in one space", where=f"{space.inp}\n{space.out}")


# ---- closure


def transitive_closure(self: Map) -> tuple[Map, bool]:
    """{ x -> y : a path of one or more steps leads from x to y }, and whether it is exact; else a superset.

    Exact for translations on convex domains with strides and parameters, for unions of translations and steps in a
    box where the domain is one conjunct, and wherever few compositions reach the end. True is a proof; False says
    only that none was found. A few projections where translations go, else subset tests under a budget.

    >>> from polyvolta.sets import Map
    >>> found, exact = Map("[N] -> { S[i] -> S[i + 2] : 0 <= i < N }").transitive_closure()
    >>> exact, found.is_equal(Map("[N] -> { S[i] -> S[j] : 0 <= i < j < N + 2 and (j - i) mod 2 = 0 }"))
    (True, True)
    >>> Map("{ [i] -> [2i] : i > 0 }").transitive_closure()[1]
    False
    """
    loops = {s.inp.key for s, _ in self.parts} & {s.out.key for s, _ in self.parts}
    if not loops:
        return self, True
    if len(self.parts) == 1:
        return _closed(self, DEPTH)
    return _over_tuples(self, loops)


def _over_tuples(self: Map, loops: set) -> tuple[Map, bool]:
    """Kleene's elimination: paths through one tuple after the other."""
    edges = {(s.inp.key, s.out.key): self._of(self.param_names, [(s, cs)]) for s, cs in self.parts}
    all_exact = True
    for key in [s.inp.key for s, _ in self.parts if s.inp.key in loops]:
        if key not in loops:
            continue
        loops.discard(key)
        loop, exact = (None, True)
        if (key, key) in edges:
            loop, exact = _closed(edges[key, key], DEPTH)
            edges[key, key] = loop
        all_exact &= exact
        into = {a: m for (a, b), m in edges.items() if b == key != a}
        onward = {b: m for (a, b), m in edges.items() if a == key != b}
        if loop is not None:
            into = {a: m | apply_range(m, loop) for a, m in into.items()}
            edges.update({(a, key): m for a, m in into.items()})
        for a, first in into.items():
            for b, second in onward.items():
                through = apply_range(first, second)
                edges[a, b] = (edges[a, b] | through if (a, b) in edges else through).coalesce()
        if loop is not None:
            edges.update({(key, b): m | apply_range(loop, m) for b, m in onward.items()})
    return self._of(self.param_names, [p for m in edges.values() for p in m.parts]), all_exact


def _closed(self: Map, depth: int) -> tuple[Map, bool]:
    """The closure of a map whose one space has equal sides."""
    found = _translated(self)
    if found is not None:
        return _without_length(found, self), True
    live = self.without_empty()
    if not live.parts[0][1]:
        return live, True
    paths, exact = _attempt(lambda: _paths(live)) or (None, False)
    if exact:
        closed = _attempt(lambda: _without_length(paths, self))
        if closed is not None:
            return closed, True
    better = _attempt(lambda: _squared(live)) or (_attempt(lambda: _split(live, depth)) if depth else None)
    if better is not None:
        return better, True
    rough = paths and _attempt(lambda: _without_length(paths, self))
    return rough or domain(live).product(range_(live)).unwrap(), False


def _attempt(f: Callable[[], T]) -> T | None:
    """What `f` returns, or None when it spends its share of the budget first."""
    try:
        with budget(SHARE):
            return f()
    except BudgetExceeded:
        return None


def _without_length(paths: Map, like: Map) -> Map:
    """Paths x -> (y, k) as pairs x -> y of the space of `like`."""
    last = len(paths.param_names) + len(paths.space.dims) - 1
    done = (pj.project(c, (last,)) for c in paths.parts[0][1])
    closed = like._of(like.param_names, [(like.space, tuple(c for c in done if c is not None))])
    return closed if len(closed.parts[0][1]) < 2 else closed.coalesce()


def _squared(self: Map) -> Map | None:
    total = self.coalesce()
    for _ in range(ROUNDS):
        new = apply_range(total, total) - total
        if new.is_empty():
            return total
        total = (total | new).coalesce()
        if len(total.parts[0][1]) > MANY:
            return None
    return None


def _split(self: Map, depth: int) -> Map | None:
    pieces = self.pieces
    for k, a in enumerate(pieces if len(pieces) > 1 else ()):
        plus, exact = _closed(a, 0)
        if not exact:
            continue
        rest = self._of(self.param_names, [p for j, b in enumerate(pieces) if j != k for p in b.parts])
        inner, exact = _closed((rest | apply_range(rest, plus)).coalesce(), depth - 1)
        if exact:
            return (plus | inner | apply_range(plus, inner)).coalesce()
    return None


# ---- paths with their length: maps x -> (y, k)


def _lengths_space(self: Map) -> Space:
    """The space of paths: flat tuples, the length as the last dimension."""
    space = self.space
    return spaced(Tuple(None, space.inp.dims), Tuple(None, (*space.out.dims, "k")), self.param_names)


def _paths(self: Map) -> tuple[Map, bool]:
    """A superset of { x -> (y, k) : k steps lead from x to y }, and whether it is proved to be equal."""
    found = _translated(self)
    if found is not None:
        return found, True
    paths = _scaled(self)
    return paths, bool(_attempt(lambda: _is_exact(self, paths)))


def _is_exact(self: Map, paths: Map) -> bool:
    """Whether P(1) lies in R and P(k) in P(k - 1) . R; then P(k) is R^k, by induction."""
    space = paths.space
    n_par, n = len(self.param_names), space.n_in
    k = len(space.dims) - 1
    once = paths.fix({k: 1}).project_out(k)
    if not once.is_subset(self._of(self.param_names, [(once.space, self.parts[0][1])])):
        return False
    width = n_par + 2 * n + 2
    places = (*range(n_par + n), *range(n_par + n + 1, n_par + 2 * n + 1))
    count = [0] * (1 + width)
    count[0], count[1 + n_par + n], count[width] = 1, 1, -1
    counted = cj.normalise(width, (), [tuple(count)], ())
    steps = (cj.conjoin(cj.reindex(c, width, places), counted) for c in self.parts[0][1])
    step_space = spaced(space.out, space.out, self.param_names)
    step = self._of(self.param_names, [(step_space, tuple(c for c in steps if c is not None))])
    return paths.lower_bound(k, 2).is_subset(apply_range(paths, step))


def _translated(self: Map) -> Map | None:
    """The paths of one conjunct that is a translation throughout, exactly; None for any other map."""
    space, cs = self.space, self.parts[0][1]
    n_par, n = len(self.param_names), space.n_in
    if len(cs) != 1 or not cs[0].known or (offset := _offset(cs[0], n_par, n)) is None or not any(offset):
        return None
    (c,) = cs
    change = _change(c, n_par, offset)
    if change is None or any(_along(r, change) for r in c.eqs):
        return None
    rows = [(r, _along(r, change) >= 0) for r in c.ineqs]
    both = {True, *(at_start for _, at_start in rows)}
    # columns: const, params, x, y, k, then the divs at the first step, then those at the last
    base, count = 1 + n_par + 2 * n, len(c.divs)
    width = base + 1 + count * len(both)
    shift = {True: base + 1, False: base + 1 + count}

    def placed(row: Row, at_start: bool) -> tuple[int, ...]:
        out = [0] * width
        out[: 1 + n_par] = row[: 1 + n_par]
        for d in range(n):
            a, b = row[1 + n_par + d], row[1 + n_par + n + d]
            out[1 + n_par + (0 if at_start else n) + d] = a + b
            out[0] += b * offset[d] if at_start else -a * offset[d]
        for j, v in enumerate(row[base:]):
            out[shift[at_start] + j] = v
        return tuple(out)

    divs = [(den, placed(row, side)) for side in sorted(both, reverse=True) for den, row in c.divs]
    eqs = [_moved_by(d, offset[d], n_par, n, width) for d in range(n)] + [placed(r, True) for r in c.eqs]
    ineqs = [placed(r, side) for r, side in rows]
    ineqs.append(tuple(-1 if col == 0 else int(col == base) for col in range(width)))
    paths = cj.normalise(base, divs, eqs, ineqs)
    return self._of(self.param_names, [(_lengths_space(self), () if paths is None else (paths,))])


def _moved_by(d: int, step: int, n_par: int, n: int, width: int) -> Row:
    """The equality y_d = x_d + step * k."""
    row = [0] * width
    row[1 + n_par + d], row[1 + n_par + n + d], row[1 + n_par + 2 * n] = 1, -1, step
    return tuple(row)


def _offset(c: Conjunct, n_par: int, n: int) -> list[int] | None:
    """The numbers y - x, where the equalities of the conjunct imply that each is one."""
    solved: list[tuple[int, Row]] = []  # (column, row with it), triangular
    for row in c.eqs:
        row = _cleared(row, solved)[0]
        if any(row[1:]):
            solved.append((next(col for col in range(len(row) - 1, 0, -1) if row[col]), row))
    found = []
    for d in range(n):
        row = [0] * (1 + c.n + len(c.divs))
        row[1 + n_par + d], row[1 + n_par + n + d] = -1, 1
        rest, scale = _cleared(row, solved)
        if any(rest[1:]) or rest[0] % scale:
            return None
        found.append(rest[0] // scale)
    return found


def _cleared(row: Sequence[int], solved: Sequence[tuple[int, Row]]) -> tuple[Sequence[int], int]:
    """A multiple of the row, plus multiples of the solved rows, without their columns; and which multiple."""
    scale = 1
    for col, pivot in solved:
        if row[col]:
            up, down = pivot[col], row[col]
            row = [up * v - down * w for v, w in zip(row, pivot, strict=True)]
            scale *= up
    return row, scale


def _change(c: Conjunct, n_par: int, offset: Sequence[int]) -> list[int] | None:
    """By how much every column changes when both ends of a pair move by the offset; None where a floor wavers."""
    change = [0] * (1 + n_par) + [*offset, *offset]
    for den, row in c.divs:
        total = _along(row, change)
        if total % den:
            return None
        change.append(total // den)
    return change


def _along(row: Row, change: Sequence[int]) -> int:
    return sum([v * w for v, w in zip(row, change, strict=False)])


def _scaled(self: Map) -> Map:
    """Paths of k steps: the rows of the differences scaled by k, ends in the domain and the range."""
    space = self.space
    n_par, n = len(self.param_names), space.n_in
    steps = deltas(self).coalesce().parts[0][1]
    path = pj.eliminate(_sums(steps, n_par, n))
    starts, ends = domain(self).coalesce().parts[0][1], range_(self).coalesce().parts[0][1]
    width = n_par + 2 * n + 1
    head = tuple(range(n_par))
    found = []
    for a in starts if path is not None else ():
        start = cj.conjoin(path, cj.reindex(a, width, (*head, *range(n_par, n_par + n))))
        for b in ends if start is not None else ():
            found.append(cj.conjoin(start, cj.reindex(b, width, (*head, *range(n_par + n, n_par + 2 * n)))))
    kept = tuple(c for c in found if c is not None and not c.is_empty)
    return self._of(self.param_names, [(_lengths_space(self), kept)])


def _sums(steps: Sequence[Conjunct], n_par: int, n: int) -> Conjunct | None:
    """Over (params, x, y, k): y - x is a sum of k >= 1 differences, as far as scaled rows say."""
    base = 2 + n_par + 2 * n
    k_col = base - 1
    alone = len(steps) == 1
    sizes = [len(c.divs) if alone else 1 + n + len(c.divs) for c in steps]
    width = base + sum(sizes)
    eqs: list[Row] = []
    ineqs: list[Row] = [_sparse({0: -1, k_col: 1}, width)]
    total_k, totals = {k_col: -1}, [{1 + n_par + d: 1, 1 + n_par + n + d: -1} for d in range(n)]
    first = base
    for c, size in zip(steps, sizes, strict=True):
        count = k_col if alone else first
        difference = None if alone else range(first + 1, first + 1 + n)
        floors = first if alone else first + 1 + n
        for row, is_eq in [*((r, True) for r in c.eqs), *((r, False) for r in c.all_ineqs())]:
            for form, times, sign, still_eq in _constants(c, row, n_par, alone, is_eq):
                entries = {**form, count: times}
                for d, v in enumerate(row[1 + n_par : 1 + n_par + n]):
                    if difference is None:
                        entries[1 + n_par + d], entries[1 + n_par + n + d] = -v * sign, v * sign
                    else:
                        entries[difference[d]] = v * sign
                entries.update({floors + j: v * sign for j, v in enumerate(row[1 + n_par + n :])})
                (eqs if still_eq else ineqs).append(_sparse(entries, width))
        if not alone:
            ineqs.append(_sparse({count: 1}, width))
            total_k[count] = 1
            for d in range(n):
                totals[d][difference[d]] = 1
        first += size
    if not alone:
        eqs += [_sparse(t, width) for t in (total_k, *totals)]
    return cj.normalise(base - 1, [None] * sum(sizes), eqs, ineqs)


def _sparse(entries: dict[int, int], width: int) -> Row:
    row = [0] * width
    for col, v in entries.items():
        row[col] = v
    return tuple(row)


def _constants(c: Conjunct, row: Row, n_par: int, alone: bool, is_eq: bool) -> list[tuple[dict, int, int, bool]]:
    """What stands for the constant of a row in a sum of k rows: (columns, coefficient of k, sign, is an equality).

    A number is taken k times. A form b in the parameters that is never positive is at most its own k-fold, so it may
    stand once; any other row is left out. With other differences beside it k may be 0, where that does not hold.
    """
    if not any(row[1 : 1 + n_par]):
        return [({}, row[0], 1, is_eq)]
    found = []
    for sign in (1, -1) if is_eq else (1,):
        form = tuple(sign * v for v in row[: 1 + n_par])
        positive = (form[0] - 1, *form[1:], *[0] * (len(row) - 1 - n_par))
        reaches = cj.normalise(c.n, c.divs, c.eqs, [*c.ineqs, positive]) if alone else c
        if reaches is None or reaches.is_empty:
            found.append((dict(enumerate(form)), 0, sign, False))
    return found
