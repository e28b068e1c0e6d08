"""Powers and the transitive closure of a map.

The closure R+ is the union of all powers R^k, k >= 1. It need not be a Presburger set, so the answer is a superset
with a flag that says whether it has been *proved* equal. In order of cost:

1. One conjunct that moves every point by the same offset: its paths are known exactly (module `paths`).
2. In general scaled differences give P(k), a superset of R^k, and two subset tests may prove it exact; or one, where
   every step leads further: P without its k is in R + R P. Pieces whose steps may change places go one by one.
3. Failing that: groups of points between which pieces lead, one after the other; or splitting off one conjunct A with
   an exact closure: (A + B)+ = A+ + A* (B A*)+; or squaring until R . R adds nothing, where few pieces do; or, for
   finitely many pairs, a search from every point.
4. Else P without its k is returned, marked inexact.

Before all that, pieces of one pair each are searched, and pieces that lead from points to themselves are put aside.
Tuples and groups are closed one after the other (module `elimination`), which needs closures of loops alone.

Sources: Verdoolaege, Cohen, Beletska, "Transitive closures of affine integer tuple relations and their
overapproximations", SAS 2011; Kelly, Pugh, Rosser, Shpeisman, "Transitive closure of infinite graphs and its
applications", 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from ..budgets import budget, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..conjuncts.conjunct import Conjunct, lifted
from ..conjuncts.frame import Frame
from ..conjuncts.implies import box, implied
from ..conjuncts.project import with_known_divs
from ..counting.count import points
from ..errors import BudgetExceeded, SpaceMismatch, Unbounded
from ..hulls.between import walked
from ..hulls.coalesce import plainly_coalesced
from ..optima.outputs import solved_outputs
from ..values.shape import linked, pair, rearranged, spaced
from ..values.space import Space, Tuple, whole
from .algebra import covered
from .compose import apply_range, deltas, domain, identity, range_, reverse
from .elimination import by_groups, through
from .make import from_points
from .paths import continued, counting, endless, from_start, in_turn, is_exact, longer, returning, scaled, translated

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set

SHARE = 10_000  # steps that one way to an exact closure may spend
ROUNDS = 8  # squarings
MANY = 40  # pieces at which squaring is given up
FINITE = 4000  # pairs of a relation that is searched
POINTS = 8  # of a piece that are looked for in others
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
    k = whole(exponent)
    if k is None:
        raise SpaceMismatch(f"an exponent is an integer, not {exponent!r}", where=str(self))
    if k == 0:
        return identity(domain(self) | range_(self))
    square = self if k > 0 else reverse(self)
    result, k = None, abs(k)
    while True:
        if k & 1:
            result = square if result is None else _as_functions(apply_range(result, square))
        k >>= 1
        if not k:
            assert result is not None
            return result
        square = _as_functions(apply_range(square, square))


def _as_functions(self: Map) -> Map:
    """The same pairs, and pieces whose outputs are forms in the inputs as one where they have the same forms there.

    Without, a counter that starts again falls apart into a piece for each number. What coalescing makes of two pieces
    is taken only if its outputs are forms, too: a hull of more dimensions may hold no further pair and yet be so
    oblique that nothing fits beside it, nor what it is composed of later.
    """
    if len(self.parts) != 1 or not 2 <= len(self.parts[0][1]) <= MANY:
        return self
    ((space, cs),) = self.parts
    n_par = len(self.param_names)

    def forms(c: Conjunct) -> tuple | None:
        return solved_outputs(c, n_par, space) if c.known else None

    def fused(a: Conjunct, b: Conjunct) -> Conjunct | None:
        one, other = forms(a), forms(b)
        plain = not a.divs and not b.divs and len(a.eqs) == len(b.eqs) == space.n_out  # only these forms hold there
        if one is None or other is None or (plain and one != other):
            return None
        both = plainly_coalesced((a, b))
        return both[0] if len(both) == 1 and forms(both[0]) is not None else None

    done: list[Conjunct] = []
    for c in cs:
        at = 0
        while at < len(done):
            both = fused(c, done[at])
            if both is None:
                at += 1
            else:
                del done[at]
                c, at = both, 0
        done.append(c)
    return self._of(self.param_names, [(space, tuple(done))])


def power(self: Map) -> tuple[Map, bool]:
    """{ [k] -> [x -> y] : a path of k >= 1 steps leads from x to y }, and whether it is exact; else a superset.

    Cost and source as `transitive_closure`; of several tuples it is the closure of steps that count themselves.

    >>> from polyvolta.sets import Map
    >>> found, exact = Map("{ [i] -> [i + 3] : 0 <= i < 30 }").power()
    >>> exact, found.is_equal(Map("{ [k] -> [[i] -> [j]] : j = i + 3k and k >= 1 and i >= 0 and j <= 32 }"))
    (True, True)

    Raises
    ------
    SpaceMismatch : the map has one tuple a side, and these are of different spaces.
    """
    if len(self.parts) != 1:
        closed, exact = transitive_closure(counting(self))
        return from_start(closed), exact
    space = self.space
    _check_loop(space)
    live = self.without_empty()
    paths, exact = _paths(live)
    if not exact:
        for way in (lambda: in_turn(live, _paths, longer), lambda: returning(live, MANY)):
            found = _attempt(way)
            if found is not None:
                paths, exact = found, True
                break
    if paths is None:
        paths = scaled(live)
    n_par, n = len(self.param_names), space.n_in
    places = (*range(n_par), *range(n_par + 1, n_par + 1 + 2 * n), n_par)
    parts = tuple(cj.reindex(c, c.n, places) for _, cs in paths.parts for c in cs)
    target = spaced(Tuple(None, ("k",)), pair(space.source, space.out), self.param_names)
    return self._of(self.param_names, [(target, parts)]), exact


def reaching_path_lengths(self: Map) -> tuple[Map, bool]:
    """{ y -> [k] : a path of k >= 1 steps leads from some point to y }, and whether it is exact; see `power`.

    As in isl the tuple of the points has no name. `power` says from where the paths lead.

    >>> from polyvolta.sets import Map
    >>> lengths, exact = Map("{ [i] -> [i + 2] : 0 <= i < 10 }").reaching_path_lengths()
    >>> print(lengths, exact)
    { [i] -> [k] : i <= 11 and k >= 1 and 2*k <= i } True
    """
    found, exact = power(self)
    space = self.space
    ends = (*range(1 + space.n_in, 1 + 2 * space.n_in), 0)
    lengths = Tuple(None, space.source.dims), Tuple(None, ("k",)), ends
    return rearranged(type(self), found, lambda _: lengths), exact


def _check_loop(space: Space) -> None:
    if space.source.key != space.out.key:
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
    loops = {s.source.key for s, _ in self.parts} & {s.out.key for s, _ in self.parts}
    if not loops:
        return self, True
    if len(self.parts) == 1:
        return _closed(self, DEPTH)
    return _over_tuples(self, loops)


def _over_tuples(self: Map, loops: set) -> tuple[Map, bool]:
    """Kleene's elimination: paths through one tuple after the other."""
    params, n_par = self.param_names, len(self.param_names)
    begins, ends = {s.source.key: s.source for s, _ in self.parts}, {s.out.key: s.out for s, _ in self.parts}
    n = {k: len(t.dims) for k, t in (begins | ends).items()}
    known = {s.key: s for s, _ in self.parts}
    edges = {(s.source.key, s.out.key): cs for s, cs in self.parts if cs}

    def space(a: tuple, b: tuple) -> Space:
        return known[a, b] if (a, b) in known else spaced(begins[a], ends[b], params)

    def close(key: tuple, loop: tuple[Conjunct, ...]) -> tuple[tuple[Conjunct, ...], bool]:
        closed, exact = _closed(self._of(params, [(space(key, key), loop)]), DEPTH)
        return closed.parts[0][1], exact

    order = [s.source.key for s, _ in self.parts if s.source.key in loops]
    edges, exact = through(edges, list(dict.fromkeys(order)), n, n_par, close)
    return self._of(params, [(space(a, b), cs) for (a, b), cs in edges.items()]), exact


def _closed(self: Map, depth: int) -> tuple[Map, bool]:
    """The closure of a map whose one space has equal sides."""
    found = translated(self)
    if found is not None:
        return _without_length(found, self), True
    live = self.without_empty()
    if not live.parts[0][1]:
        return live, True
    if all(low == high for c in live.parts[0][1] for low, high in box(c)):  # one pair in each piece
        found = _attempt(lambda: _searched(live))
        if found is not None:
            return found, True
    still, moving = _still(live)
    if still and moving:  # a path is one of steps that move, or stays where it is
        closed, exact = _closed(self._of(self.param_names, [(self.space, moving)]), depth)
        return closed | self._of(self.param_names, [(self.space, still)]), exact
    paths, exact = _paths(live)
    if exact and paths is not None:
        closed = _attempt(lambda: _without_length(paths, self))
        if closed is not None:
            return closed, True
    rough = None if paths is None else _attempt(lambda: _without_length(paths, self))
    if rough is not None and _attempt(lambda: _accounted_for(live, rough)):
        return rough, True
    ways = [_squared]
    if depth:
        ways = [lambda m: _grouped(m, depth), _in_turn, lambda m: _split(m, depth), _squared, _searched]
    for way in ways:
        better = _attempt(lambda way=way: way(live))
        if better is not None:
            return (_told_shorter(better, live) if depth else better), True
    return domain(live).product(range_(live)).unwrap() if rough is None else rough, False


def _still(self: Map) -> tuple[tuple[Conjunct, ...], tuple[Conjunct, ...]]:
    """The pieces of a map that lead from points to themselves, and the others."""
    n_par, n, cs = len(self.param_names), self.space.n_in, self.parts[0][1]
    same = linked(n_par + 2 * n, [(n_par + k, n_par + n + k) for k in range(n)])
    still = tuple([c for c in cs if implied(c, same)])
    return still, tuple([c for c in cs if c not in still])


def _paths(self: Map) -> tuple[Map | None, bool]:
    """A superset of { x -> (y, k) : k steps lead from x to y }, and whether it is proved to be equal.

    None where the budget's share does not suffice for one.
    """
    found = translated(self)
    if found is not None:
        return found, True
    rough = None
    for describe in (scaled, continued):
        paths = _attempt(lambda describe=describe: describe(self))
        if paths is not None and _attempt(lambda paths=paths: is_exact(self, paths)):
            return paths, True
        rough = paths if rough is None else rough
    return rough, False


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


def _accounted_for(self: Map, closed: Map) -> bool:
    """Whether a superset of the closure is no larger, since each of its pairs is a step, or a step and a pair.

    That is a proof where a sum of coordinates grows with every step, and between the points of every pair, so that the
    steps come to an end.
    """
    steps, pairs = deltas(self), deltas(closed)
    n_par, n = len(steps.param_names), len(steps.space.dims)
    grows = [0] * n
    for k in range(n):
        for sign in (1, -1):
            if not grows[k] and not _some(steps, -1, [-sign * (j == k) for j in range(n)], n_par):
                grows[k] = sign
    if not any(grows) or any(_some(s, 0, [-v for v in grows], n_par) for s in (steps, pairs)):
        return False
    return closed.is_subset(self | apply_range(self, closed))


def _some(points: Set, const: int, form: Sequence[int], n_par: int) -> bool:
    """Whether `const + form . x >= 0` holds at some points."""
    row = (const, *[0] * n_par, *form)
    for _, cs in points.parts:
        for c in cs:
            found = cj.normalise(c.n, c.divs, c.eqs, (*c.ineqs, (*row, *[0] * len(c.divs))))
            if found is not None and not found.is_empty:
                return True
    return False


def _squared(self: Map) -> Map | None:
    """The closure where the steps of ever longer paths come to nothing new; None where they do not soon.

    The shortest path between two points that need more than k steps, and at most 2k, begins with k steps that lead to
    a point that needs as many. So it is enough to go on from pairs that were new in the round before. Where coalescing
    makes no two of the pieces one it is left until the end: most such maps have ever more powers. Those of which it is
    seen that they have (`endless`) are not squared at all.
    """
    if endless(self):
        return None
    total = last = self.coalesce()
    merge = True
    for _ in range(ROUNDS):
        known = total.parts[0][1]
        new = _further(apply_range(last, total).parts[0][1], known, None if merge else MANY - len(known))
        if new is None:
            return None
        if not new:
            return total if merge else total.coalesce()
        last = self._of(self.param_names, [(self.space, new)])
        total |= last
        if merge:
            both, total = total, total.coalesce()
            merge = len(total.parts[0][1]) < len(both.parts[0][1])
            if len(total.parts[0][1]) > MANY:
                return None
    return None


def _further(pieces: Iterable[Conjunct], known: Sequence[Conjunct], room: int | None) -> tuple[Conjunct, ...] | None:
    """Those of some pieces that have points in none of the known ones; None where there is no room for so many."""
    found = []
    for c in dict.fromkeys([p for piece in pieces for p in with_known_divs(piece)]):
        if c not in known and (_seen_outside(c, known) or not covered(c, known)):
            found.append(c)
            if room is not None and len(found) > room:
                return None
    return tuple(found)


def _seen_outside(c: Conjunct, known: Sequence[Conjunct]) -> bool:
    """Whether one of a few points of a piece, far from one another, is in none of the known ones."""
    frame = Frame((c, *known))
    points = [lifted(frame.divs, x) for x in walked(c)[0][:POINTS]]
    return any(not any(m.holds(x) for m in frame.members[1:]) for x in points)


def _grouped(self: Map, depth: int) -> Map | None:
    """The closure by groups of points from one to another of which pieces lead."""
    return by_groups(self, lambda loop: _closed(loop, depth - 1))


def _in_turn(self: Map) -> Map | None:
    """The closure by those of some pieces after one another, where none needs to wait for another."""
    found = in_turn(self, lambda group: _closed(group, 0), apply_range)
    return None if found is None else found.coalesce()


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


def _told_shorter(found: Map, live: Map) -> Map:
    """A closure, or what a search finds where that has fewer pieces: the powers of a permutation are a square."""
    if len(found.parts[0][1]) < 2:
        return found
    pairs = _attempt(lambda: _searched(live))
    return found if pairs is None or len(pairs.parts[0][1]) >= len(found.parts[0][1]) else pairs


def _searched(self: Map) -> Map | None:
    """The closure of finitely many pairs, by a search from every input."""
    n = self.space.n_in
    onward: dict[tuple, list[tuple]] = {}
    try:
        for p in islice(points(self), FINITE + 1):
            onward.setdefault(p[:n], []).append(p[n:])
    except Unbounded:
        return None
    if sum(map(len, onward.values())) > FINITE:
        return None
    pairs = []
    for start, first in onward.items():
        seen, todo = set(first), list(first)
        while todo:
            for y in onward.get(todo.pop(), ()):
                if y not in seen:
                    seen.add(y)
                    todo.append(y)
        spend(len(seen))
        pairs += [start + y for y in seen]
    found = from_points(type(self), self.space, pairs).align_params(self.param_names)
    found = found.intersect_params(self.params())  # pairs are listed of no other parameters than those of one value
    return found if len(found.parts[0][1]) > MANY else found.coalesce()
