"""Paths of a map with their length: x -> (y, k) where k >= 1 steps lead from x to y.

Two descriptions, of which `closure` makes powers and closures:

- `translated`, exact, of one conjunct that moves every point by the same offset d. Along such a path every row of the
  conjunct changes by the same amount at each step, so where its floors do too, rows that grow need to hold at the
  first step alone and rows that shrink at the last: convexity gives the steps between.
- `scaled`, a superset in general: k steps move a point by a sum of k differences y - x, which satisfies the rows of
  the differences with their constants taken k times; and a path starts in the domain and ends in the range.
  `continued` bounds the path without its last step instead, which ends in the domain.

Two more are exact, of maps that allow them: `in_turn`, where pieces may change places until the steps of each stand
together, and `returning`, where a power is an earlier one again, as it is where no path is long.

`is_exact` proves of a superset P that it is no more than the powers of R: P(1) lies in R, and P(k) in P(k - 1) . R
for all k >= 2; by induction every P(k) then lies in R^k. Both are subset tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct, Row
from ..engine.simplex import Tableau
from ..values.shape import pair, spaced
from ..values.space import Space, Tuple
from .algebra import conjoin_all
from .compose import apply_range, deltas, domain, range_
from .wrapping import inside

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set

PIECES = 6  # that may change places
LONGEST = 8  # steps of paths that are followed one by one, and powers among which one is looked for again


def _lengths_space(self: Map) -> Space:
    """The space of paths: flat tuples, the length as the last dimension."""
    space = self.space
    return spaced(Tuple(None, space.source.dims), Tuple(None, (*space.out.dims, "k")), self.param_names)


def is_exact(self: Map, paths: Map) -> bool:
    """Whether P(1) lies in R and P(k) in P(k - 1) . R; then P(k) is R^k, by induction."""
    space = paths.space
    k = len(space.dims) - 1
    once = paths.fix({k: 1}).project_out(k)
    if not once.is_subset(self._of(self.param_names, [(once.space, self.parts[0][1])])):
        return False
    return paths.lower_bound(k, 2).is_subset(apply_range(paths, _counted(self, space.out)))


def _counted(self: Map, counted: Tuple) -> Map:
    """{ (x, k) -> (y, k + 1) : x -> y }."""
    n_par, n = len(self.param_names), self.space.n_in
    width = n_par + 2 * n + 2
    places = (*range(n_par + n), *range(n_par + n + 1, n_par + 2 * n + 1))
    count = [0] * (1 + width)
    count[0], count[1 + n_par + n], count[width] = 1, 1, -1
    knife = cj.normalise(width, (), [tuple(count)], ())
    steps = (cj.conjoin(cj.reindex(c, width, places), cj.sure(knife)) for c in self.parts[0][1])
    space = spaced(counted, counted, self.param_names)
    return self._of(self.param_names, [(space, tuple(c for c in steps if c is not None))])


COUNT = Tuple(None, ("k",))


def counting(self: Map) -> Map:
    """{ [[k] -> x] -> [[k + 1] -> y] : x -> y }, of several tuples, the number of steps beside every point."""
    n_par, parts = len(self.param_names), []
    for space, cs in self.parts:
        n, n_in = n_par + 2 + len(space.dims), space.n_in
        places = (*range(n_par), *range(n_par + 1, n_par + 1 + n_in), *range(n_par + 2 + n_in, n))
        row = [1, *[0] * n]
        row[1 + n_par], row[2 + n_par + n_in] = 1, -1
        onward = cj.sure(cj.normalise(n, (), [tuple(row)], ()))
        found = spaced(pair(COUNT, space.source), pair(COUNT, space.out), self.param_names)
        parts.append((found, conjoin_all([cj.reindex(c, n, places) for c in cs], [onward])))
    return self._of(self.param_names, parts)


def from_start(counted: Map) -> Map:
    """{ [k] -> [x -> y] }, of paths [[0] -> x] -> [[k] -> y]."""
    n_par, parts = len(counted.param_names), []
    for space, cs in counted.parts:
        n, n_in = n_par + len(space.dims), space.n_in
        start = cj.sure(cj.normalise(n, (), [tuple([int(k == 1 + n_par) for k in range(1 + n)])], ()))
        begun = (pj.project(c, (n_par,)) for c in conjoin_all(cs, [start]))
        places = (*range(n_par), *range(n_par + 1, n_par + n_in), n_par, *range(n_par + n_in, n - 1))
        first, last = inside(space.source, space, "a power").out, inside(space.out, space, "a power").out
        found = tuple([cj.reindex(c, n - 1, places) for c in begun if c is not None])
        parts.append((spaced(COUNT, pair(first, last), counted.param_names), found))
    return counted._of(counted.param_names, parts)


def translated(self: Map) -> Map | None:
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

    divs = [(den, placed(row, side)) for side in sorted(both, reverse=True) for den, row in c.known_divs()]
    eqs = [_moved_by(d, offset[d], n_par, n, width) for d in range(n)] + [placed(r, True) for r in c.eqs]
    ineqs = [placed(r, side) for r, side in rows]
    ineqs.append(tuple(-1 if col == 0 else int(col == base) for col in range(width)))
    paths = cj.normalise(base, divs, eqs, ineqs)
    return self._of(self.param_names, [(_lengths_space(self), () if paths is None else (paths,))])


def endless(self: Map) -> bool:
    """Whether it is seen that no number of steps leads to all that longer paths do.

    So it is where a piece moves along a coordinate by the same offset again and again, as often as one likes, and all
    steps have a greatest length along it. One linear program for each piece that is a translation, and two for each
    piece where it has such paths; a False says nothing.

    >>> from polyvolta.sets import Map
    >>> endless(Map("[N] -> { [i] -> [i + 1] : 0 <= i < N; [i] -> [i - 2] }")), endless(Map("[N] -> { [i] -> [N] }"))
    (True, False)
    >>> endless(Map("{ [i] -> [i + 1] : 0 <= i < 9 }"))
    False
    """
    space, cs, n_par = self.space, self.parts[0][1], len(self.param_names)
    n, moved = space.n_in, set[int]()
    for c in cs:
        paths = translated(self._of(self.param_names, [(space, (c,))]))
        for p in paths.parts[0][1] if paths is not None else ():
            if not _bounded(p, [*[0] * (p.n - 1), -1]) and not p.is_empty:
                moved.update(d for d, v in enumerate(_offset(c, n_par, n) or ()) if v)
    for d in moved:
        along = [(k == n_par + n + d) - (k == n_par + d) for k in range(n_par + 2 * n)]
        if all(_bounded(c, [sign * v for v in along]) for c in cs for sign in (1, -1)):
            return True
    return False


def _bounded(c: Conjunct, form: Sequence[int]) -> bool:
    """Whether a form of the dimensions has a least value over the rationals, or there is no point."""
    tab = Tableau(c.n + len(c.divs))
    for row in c.eqs:
        tab.add_eq(row)
    for row in c.all_ineqs():
        tab.add_ineq(row)
    return tab.empty or tab.minimum((0, *form, *[0] * len(c.divs))) is not None


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
            solved.append((next(col for col in range(len(row) - 1, 0, -1) if row[col]), tuple(row)))
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
    for den, row in c.known_divs():
        total = _along(row, change)
        if total % den:
            return None
        change.append(total // den)
    return change


def _along(row: Row, change: Sequence[int]) -> int:
    return sum([v * w for v, w in zip(row, change, strict=False)])


def in_turn(
    self: Map, paths_of: Callable[[Map], tuple[Map | None, bool]], follow: Callable[[Map, Map], Map]
) -> Map | None:
    """The paths of a map of several pieces, exactly, by the paths of some at a time; None where that isn't enough.

    Where all that B, then A leads to, A, then B does, every path has one beside it of as many steps, with the same
    ends, in which A comes before B. So the pieces are put in such an order, and those that can't be told apart make a
    group; a path is one in the first group, then one in the second. `paths_of` says of those of a group whether it
    finds them exactly, and `follow` puts some behind others.
    """
    pieces = self.pieces
    if not 2 <= len(pieces) <= PIECES:
        return None
    both = [[apply_range(a, b) for b in pieces] for a in pieces]
    rank = range(len(pieces))
    after = [[i == j or not both[i][j].is_subset(both[j][i]) for j in rank] for i in rank]  # j has to follow i
    for k in rank:
        after = [[after[i][j] or (after[i][k] and after[k][j]) for j in rank] for i in rank]
    groups = {tuple(j for j in rank if after[i][j] and after[j][i]) for i in rank}
    if len(groups) == 1:
        return None
    total = None
    for group in sorted(groups, key=lambda g: -sum(after[g[0]])):  # what has more behind it comes first
        parts = [(self.space, tuple([c for i in group for c in pieces[i].parts[0][1]]))]
        paths, exact = paths_of(self._of(self.param_names, parts))
        if paths is None or not exact:
            return None
        total = paths if total is None else total | paths | follow(total, paths)
    return total


def longer(self: Map, paths: Map) -> Map:
    """{ x -> (z, k + l) } of paths { x -> (y, k) } and paths { y -> (z, l) }."""
    n_par, n = len(paths.param_names), paths.space.n_in
    first, total, length = n_par + n, n_par + 2 * n + 1, n_par + 2 * n + 2
    places = (*range(first), *range(first + 1, total), length)
    sums = cj.sure(
        cj.normalise(length + 1, (), [_sparse({1 + first: 1, 1 + length: 1, 1 + total: -1}, length + 2)], ())
    )
    wide = (cj.conjoin(cj.reindex(c, length + 1, places), sums) for c in paths.parts[0][1])
    done = [pj.project(c, (length,)) for c in wide if c is not None]
    space = spaced(paths.space.out, paths.space.out, paths.param_names)
    onward = paths._of(paths.param_names, [(space, tuple([c for c in done if c is not None]))])
    return apply_range(self, onward)


def returning(self: Map, room: int) -> Map | None:
    """The paths of a map of which a power is an earlier one again, exactly; None where none of the first few is.

    With R^(a + p) = R^a, as p = 2 where points change places, R^k with k >= a is that of a + (k - a) mod p. So it is
    where no path is long: two powers are empty. None, too, where there are more pieces than there is `room` for.
    """
    powers: list[Map] = []
    power = self
    while len(powers) <= LONGEST:
        for a, before in enumerate(powers):
            if before.is_equal(power):
                return _recurring(self, powers, a)
        powers.append(power)
        if sum(len(m.parts[0][1]) for m in powers) > room:
            return None
        power = apply_range(power, self).without_empty()
        power = power if len(power.parts[0][1]) < 2 else power.coalesce()
    return None


def _recurring(self: Map, powers: Sequence[Map], first: int) -> Map:
    """Paths x -> (y, k), the pairs of power k, of which those from `first` on (counted from 0) come again and again."""
    n, period = len(self.param_names) + len(self.space.dims), len(powers) - first
    found: list[Conjunct] = []
    for k, power in enumerate(powers, 1):
        least = _sparse({0: -k, n + 1: 1}, n + 2)  # length - k
        if k <= first:
            length = cj.sure(cj.normalise(n + 1, (), [least], ()))
        else:
            turns = [_sparse({0: -k, n + 1: 1, n + 2: -period}, n + 3)]
            length = cj.sure(cj.normalise(n + 1, [(period, least)], turns, [(*least, 0)]))
        steps = [cj.conjoin(cj.reindex(c, n + 1, tuple(range(n))), length) for c in power.parts[0][1]]
        found += [c for c in steps if c is not None]
    return self._of(self.param_names, [(_lengths_space(self), tuple(found))])


def scaled(self: Map) -> Map:
    """Paths of k steps: the rows of the differences scaled by k, ends in the domain and the range."""
    return _ended(self, range_(self), 1)


def continued(self: Map) -> Map:
    """Paths of k - 1 scaled steps that end in the domain, and one step more; closer where ranges don't coincide."""
    return apply_range(_ended(self, domain(self), 0), _counted(self, _lengths_space(self).out))


def _ended(self: Map, ends: Set, least: int) -> Map:
    """Sums of k >= `least` differences that start in the domain and end in a set."""
    n_par, n = len(self.param_names), self.space.n_in
    steps = deltas(self).coalesce().parts[0][1]
    path = pj.eliminate(_sums(steps, n_par, n, least))
    width = n_par + 2 * n + 1
    head = tuple(range(n_par))
    found = []
    for a in domain(self).coalesce().parts[0][1] if path is not None else ():
        start = cj.conjoin(cj.sure(path), cj.reindex(a, width, (*head, *range(n_par, n_par + n))))
        for b in ends.coalesce().parts[0][1] if start is not None else ():
            found.append(cj.conjoin(cj.sure(start), cj.reindex(b, width, (*head, *range(n_par + n, n_par + 2 * n)))))
    kept = tuple(c for c in found if c is not None and not c.is_empty)
    return self._of(self.param_names, [(_lengths_space(self), kept)])


def _sums(steps: Sequence[Conjunct], n_par: int, n: int, least: int) -> Conjunct | None:
    """Over (params, x, y, k): y - x is a sum of k >= `least` differences, as far as scaled rows say."""
    base = 2 + n_par + 2 * n
    k_col = base - 1
    alone = len(steps) == 1
    sizes = [len(c.divs) if alone else 1 + n + len(c.divs) for c in steps]
    width = base + sum(sizes)
    eqs: list[Row] = []
    ineqs: list[Row] = [_sparse({0: -least, k_col: 1}, width)]
    total_k, totals = {k_col: -1}, [{1 + n_par + d: 1, 1 + n_par + n + d: -1} for d in range(n)]
    first = base
    for c, size in zip(steps, sizes, strict=True):
        count = k_col if alone else first
        difference = None if alone else range(first + 1, first + 1 + n)
        floors = first if alone else first + 1 + n
        for row, is_eq in [*((r, True) for r in c.eqs), *((r, False) for r in c.all_ineqs())]:
            for form, times, sign, still_eq in _constants(c, row, n_par, alone and least == 1, is_eq):
                entries = {**form, count: times}
                for d, v in enumerate(row[1 + n_par : 1 + n_par + n]):
                    if difference is None:
                        entries[1 + n_par + d], entries[1 + n_par + n + d] = -v * sign, v * sign
                    else:
                        entries[difference[d]] = v * sign
                entries.update({floors + j: v * sign for j, v in enumerate(row[1 + n_par + n :])})
                (eqs if still_eq else ineqs).append(_sparse(entries, width))
        if difference is not None:
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
    stand once; any other row is left out. Where k may be 0, as beside other differences, that does not hold.
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
