"""Gist: what is left to say of a set once a context is known.

`gist(A, C)` is any simpler set with gist(A, C) & C == A & C. A constraint of A goes when the context and the
constraints of A that stay imply it, over the integers. Three passes decide that, each for what the one before it
left: a comparison of constants, a linear program (one warm tableau for each piece of the context), an integer
emptiness test.

What stays may still say too much: in the context `i mod 4 = 0`, the stride `i mod 12 = 0` says no more than
`i mod 3 = 0`. The modulus of a stride is therefore divided by each of its prime factors for as long as the context
makes up for it. A bound that no point in the context is beyond is an equality, as isl's: `i <= 2` where i >= 2. And
of a dimension that has one value in the context nothing is said: `i < N` is `i < 4` where N = 4. A floor goes where
the context knows what it rounds off: `2*floor(j/2) < M` is `j < M` where j is even.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, TypeVar

from ..budgets import bounded, remembered, spend
from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.cover import covers
from ..conjuncts.frame import Frame, Member
from ..conjuncts.implies import implied, plainly_apart, subtract
from ..engine.rows import Row, complement, dot, negate
from ..engine.simplex import Tableau
from ..errors import BudgetExceeded
from . import between

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set
    from ..values.space import Tuple

R = TypeVar("R", bound="Relation")

LONG = 8  # rows from which on it is worth a walk to see which are needed
FEW = 3  # pieces of a context up to which each is looked at
FOR_A_ROW = 150  # steps (some 3 ms) to show that a row goes over the integers that does not over the rationals


def gist(self: R, context: R) -> R:
    """A simpler relation that agrees with this one wherever `context` holds; a set says what is known of the inputs of
    a map, which may be isl's function of several tuples, as `gist_domain` does.

    Exact: O(rows x pieces of the context) linear programs, and emptiness tests of at most 150 steps for the rows that
    stay; it never has more constraints than this. In an empty context of the same space it is everything, as isl's.

    Raises
    ------
    SpaceMismatch : a map in the context of a set, or sets or maps without a space in common.
    BudgetExceeded : the emptiness tests took too many steps.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N and i < 10 }").gist(Set("[N] -> { [i] : i >= 0 and N <= 10 }")))
    [N] -> { [i] : i < N }
    >>> print(Set("{ [i] : i mod 12 = 8 }").gist(Set("{ [i] : i mod 4 = 0 }")))
    { [i] : i mod 3 = 2 }
    >>> print(Set("{ [i, j] : i >= 0; [i, j] : j >= 0 }").gist(Set("{ [i, j] : i + j >= 0 }")))
    { [i, j] }
    """
    from ..values.map import Map
    from ..values.set import Set

    if isinstance(self, Map) and isinstance(context, Set):
        return gist_domain(self, context)
    self._check_space(context, "a gist")
    self._check_params(context, "a gist")
    a, b = self._aligned(context)
    # what a context takes from one piece alone would keep two apart; and of its pieces each is looked at
    whole, b = (r.coalesce() if any(len(cs) > 1 for _, cs in r.parts) else r for r in (a, b))
    known_divs = all(c.known for _, cs in a.parts for c in cs)
    if not known_divs or _length(whole) <= _length(a):  # a point and a few lines may be one piece of many rows
        a = whole
    parts = []
    for space, cs in a.parts:
        known = b._find(space.key)
        if not known and any(other.key == space.key for other, _ in b.parts):  # where nothing is, all is said
            parts.append((space, (cj.universe(len(a.param_names) + len(space.dims)),)))
            continue
        tight = [(c, _tightened(c, known)) for c in cs]
        simple = [(c, short) for c, own in tight if (short := gist_conjunct(own, known)) is not None]
        parts.append((space, _uncovered(simple, known)))
    return a._of(a.param_names, parts)


def _length(relation: Relation) -> int:
    """How many constraints a relation has."""
    return sum(len(c.eqs) + len(c.ineqs) for _, cs in relation.parts for c in cs)


def _uncovered(simple: list[tuple[Conjunct, Conjunct]], context: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
    """The gists of some pieces, (piece, gist), without those of pieces that lie in another one within the context.

    One that says nothing, where the pieces together have all of the context.
    """
    left = list(simple)
    for pair in simple:
        own = pair[0]
        inside = [both for k in context if not _apart(own, k, context) and (both := cj.conjoin(own, k)) is not None]
        others = [whole for whole, _ in left if whole is not own and whole.known]
        points = [x for both in inside if (x := cj.sample(both)) is not None] if others else ()
        others = [whole for whole in others if all(cj.holds(whole, x) for x in points)]
        if any(all(implied(both, whole) for both in inside) for whole in others):
            left.remove(pair)
    if len(left) > 1 and all(short.known for _, short in left) and _everywhere([short for _, short in left], context):
        return (cj.universe(left[0][0].n),)
    return tuple([short for _, short in left])


def _everywhere(pieces: Sequence[Conjunct], context: Sequence[Conjunct]) -> bool:
    """Whether every point of a context is in one of some pieces, whose divs are known; a corner may be in none."""
    for k in context:
        if k.known and not all(any(cj.holds(c, x) for c in pieces) for x in between.walked(k)[0]):
            return False
    return all(covers(pieces, k) for k in context)


def gist_params(self: R, context: Set) -> R:
    """A simpler relation that agrees with this one for parameters in `context`, a set without dimensions; see `gist`.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N and N > 0 }").gist_params(Set("[N] -> { : N > 3 }")))
    [N] -> { [i] : 0 <= i < N }
    """
    return _within(self, lambda every: every.intersect_params(context))


def gist_domain(self: Map, context: Set) -> Map:
    """A simpler map that agrees with this one for inputs in `context`; see `gist`.

    Of inputs in a tuple that `context` does not have nothing is left, as of a set's.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ S[i] -> A[i] : i >= 0 }").gist_domain(Set("{ S[i] : i >= 0 }")))
    { S[i] -> A[i] }
    """
    return _within(self, lambda every: every.intersect_domain(context), [s.inp for s, _ in self.parts], context)


def gist_range(self: Map, context: Set) -> Map:
    """A simpler map that agrees with this one for outputs in `context`; see `gist`.

    `context` says what is known of the outputs. Of those in a tuple that it does not have nothing is left.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map("{ S[i] -> A[i] : 0 <= i < 9 }").gist_range(Set("{ A[j] : j >= 0 }")))
    { S[i] -> A[i] : i <= 8 }
    """
    return _within(self, lambda every: every.intersect_range(context), [s.out for s, _ in self.parts], context)


def _within(self: R, restrict: Callable[[R], R], sides: Sequence[Tuple | None] = (), context: Set | None = None) -> R:
    """The gist within all points of the spaces that are in a context.

    Parameters
    ----------
    sides : of each space the tuple that the context restricts.
    """
    n_par = len(self.param_names)
    every = self._of(self.param_names, [(s, (cj.universe(n_par + len(s.dims)),)) for s, _ in self.parts])
    allowed = restrict(every)  # which says what is wrong with the context
    if context is not None:
        known = {s.out.key for s, _ in context.parts}
        kept = [p for p, side in zip(self.parts, sides, strict=True) if side is None or side.key in known]
        if len(kept) < len(sides):  # what is left has other spaces than an empty `allowed`
            rest = self._of(self.param_names, kept)
            return _within(rest, restrict) if kept else rest
    return gist(self, allowed)


def irredundant(c: Conjunct) -> Conjunct:
    """The conjunct, which has a point, without rows that the others imply over the integers."""
    found = gist_conjunct(c, (cj.universe(c.n),))
    return c if found is None else found


@remembered(1 << 12)
def gist_conjunct(c: Conjunct, context: tuple[Conjunct, ...]) -> Conjunct | None:
    """The conjunct without what every piece of the context implies; None when they exclude it.

    Equalities are tried after inequalities, so that a bound does not outlive the equality that implies it.
    """
    if context == (c,):
        return cj.universe(c.n)
    frame = Frame((c, *context))
    own, *pieces = frame.members
    meeting = [not _apart(c, k, context) and _meet(frame, own, m) for k, m in zip(context, pieces, strict=True)]
    if not any(meeting):
        return None
    free = [r for r in own.ineqs if not all(_plainly(k, r) for k in pieces)]
    ineqs = list(_needed(frame, own.eqs, free, pieces)) if all(meeting) else free
    alone = between.alone(c, own.eqs, ineqs, pieces) if c.divs or len(ineqs) > LONG else ()
    for row in list(ineqs):
        rest = [r for r in ineqs if r is not row]
        if row not in alone and _implied(frame, own.eqs, rest, row, pieces):
            ineqs = rest
    eqs = [r for r in own.eqs if not all(_plainly(k, r) and _plainly(k, negate(r)) for k in pieces)]
    eqs = _untied(eqs, 1 + c.n)
    for row in list(eqs):
        rest = [r for r in eqs if r is not row]
        if all(_implied(frame, rest, ineqs, r, pieces) for r in (row, negate(row))):
            eqs = rest
    left = c
    if len(eqs) < len(c.eqs) or len(ineqs) < len(c.ineqs):
        left = frame.conjunct(eqs, ineqs)
    if left is not None and any(k.eqs for k in pieces):
        left = _with_smaller_strides(_with_values(left, _values(context)), context)
        left = _without_floors(left, context) if left.divs else left
    return left


def _tightened(c: Conjunct, context: Sequence[Conjunct]) -> Conjunct:
    """The conjunct with an equality in the place of each bound that no point in the context is beyond.

    Points that are found for one bound leave few others to ask for.
    """
    if not c.ineqs:
        return c
    frame = Frame((c, *context))
    own, *pieces = frame.members
    tight, met = list(own.ineqs), False
    for other, k in zip(context, pieces, strict=True):
        if _apart(c, other, context):
            continue
        eqs, ineqs = (*own.eqs, *k.eqs), (*own.ineqs, *k.ineqs)
        point = frame.sample(eqs, ineqs)
        met = met or point is not None
        left = [] if point is None else tight
        while point is not None:
            tight = [row for row in tight if not dot(row, point)]
            left = [row for row in left if row in tight]
            point = None
            while left and point is None:
                row = left.pop()
                try:
                    point = bounded(FOR_A_ROW, frame.sample, eqs, (*ineqs, (row[0] - 1, *row[1:])))
                except BudgetExceeded:
                    spend(0)  # ends the caller where the budget was its own
                    tight.remove(row)
    if not met or not tight:
        return c
    return cj.sure(frame.conjunct((*own.eqs, *tight), [row for row in own.ineqs if row not in tight]))


def _values(context: Sequence[Conjunct]) -> dict[int, int]:
    """The columns of dimensions that have one value, the same in every piece, with these values."""
    found: set[tuple[int, int]] | None = None
    for k in context:
        own = set()
        for row in k.eqs:
            used = [c for c, v in enumerate(row[1:], 1) if v]
            if len(used) == 1 and used[0] <= k.n and row[0] % row[used[0]] == 0:
                own.add((used[0], -row[0] // row[used[0]]))
        found = own if found is None else found & own
    return dict(found or ())


def _with_values(c: Conjunct, values: dict[int, int]) -> Conjunct:
    """The conjunct with these values in the place of dimensions, which it then says nothing of."""

    def said(row: Row) -> Row:
        new = list(row)
        for col, value in values.items():
            new[0] += new[col] * value
            new[col] = 0
        return tuple(new)

    if not any(row[col] for col in values for row in (*c.eqs, *c.ineqs, *[d[1] for d in c.divs if d])):
        return c
    divs = [d and (d[0], said(d[1])) for d in c.divs]
    return cj.normalise(c.n, divs, map(said, c.eqs), map(said, c.ineqs)) or c


def _untied(eqs: Sequence[Row], base: int) -> list[Row]:
    """The same equalities, each of the columns from `base` on in one of them where the others have multiples of it.

    `a = 2q` and `c = 2q` are `c = a` and `a = 2q`, of which a context may imply the second.
    """
    out = list(eqs)
    for col in range(base, len(out[0]) if len(out) > 1 else base):
        own = [r for r in out if r[col]]
        pivot = min(own, key=lambda r: abs(r[col]), default=None)
        if pivot is None or len(own) == 1:
            continue
        for k, r in enumerate(out):
            if r is not pivot and r[col] and not r[col] % pivot[col]:
                out[k] = tuple([a - r[col] // pivot[col] * b for a, b in zip(r, pivot, strict=True)])
    return out


def _apart(c: Conjunct, k: Conjunct, context: Sequence[Conjunct]) -> bool:
    """Whether numbers say that no point of a piece of the context is in a conjunct; not asked where pieces are few."""
    return len(context) > FEW and plainly_apart(c, k)


def _plainly(k: Member, row: Row) -> bool:
    const = k.least.get(row[1:])
    return const is not None and const <= row[0]


def _meet(frame: Frame, a: Member, b: Member) -> bool:
    """Whether two members have a point in common."""
    if not b.eqs and a.has_point(b.ineqs):
        return True
    tab = frame.tableau((*a.eqs, *b.eqs), (*a.ineqs, *b.ineqs))
    if tab.empty:
        return False
    return all(den == 1 for _, den in tab.sample()) or not frame.is_empty((*a.eqs, *b.eqs), (*a.ineqs, *b.ineqs))


def _needed(frame: Frame, eqs: Sequence[Row], ineqs: Sequence[Row], pieces: list[Member]) -> Iterator[Row]:
    """The inequalities that are left after those that the others and each piece imply over the rationals."""
    tabs = [frame.tableau((), ineqs) for _ in pieces]
    for tab, k in zip(tabs, pieces, strict=True):
        for row in (*eqs, *k.eqs):
            tab.add_eq(row)
        for row in k.ineqs:
            tab.add_ineq(row)
    for at, row in enumerate(ineqs):
        if not _dropped(tabs, ~at):
            yield row


def _dropped(tabs: list[Tableau], slack: int) -> bool:
    """Whether in each tableau the others imply a constraint; then it is dropped from all."""
    tokens = [(tab, tab.mark()) for tab in tabs[:-1]]
    if all(tab.relaxed_implies(slack) for tab in tabs):
        return True
    for tab, token in tokens:
        tab.rollback(token)
    return False


def _implied(frame: Frame, eqs: Sequence[Row], ineqs: Sequence[Row], row: Row, pieces: list[Member]) -> bool:
    """Whether these rows and each piece imply `row >= 0`, over the integers; False, too, where that is far to seek."""

    def by(k: Member) -> bool:
        return frame.is_empty((*eqs, *k.eqs), (*ineqs, complement(row), *k.ineqs))

    try:
        return all(bounded(FOR_A_ROW, by, k) for k in pieces)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return False


# ---- strides


def _with_smaller_strides(c: Conjunct, context: tuple[Conjunct, ...]) -> Conjunct:
    """The conjunct, the modulus of each stride divided by what the context knows."""
    base = 1 + c.n
    eqs = _untied(c.eqs, base)
    for at, row in enumerate(eqs):
        for k, div in enumerate(c.divs):
            if div is None or abs(row[base + k]) != div[0] or any(any(d[1][base + k :]) for d in c.divs if d):
                continue
            for p in _primes(div[0]):
                weaker = _weaker(c, eqs, at, k, p)
                if weaker is not None and _same_within(c, weaker, context):
                    return _with_smaller_strides(weaker, context)
    return c


def _without_floors(c: Conjunct, context: tuple[Conjunct, ...]) -> Conjunct:
    """The conjunct without each floor of which only bounds speak, where the context knows the remainder.

    With e mod d = r on the grids of all pieces, d*floor(e/d) is e - r: where j is even, `2*floor(j/2) < M` is `j < M`.
    A few products for each floor.

    >>> from polyvolta.sets import Set
    >>> print(Set("[M] -> { [j] : j < M and j mod 2 = 1 }").gist(Set("{ [j] : j mod 2 = 1 }")))
    [M] -> { [j] : j < M }
    """
    base = 1 + c.n
    grids = None
    for k in reversed(range(len(c.divs))):
        div, col = c.divs[k], base + k
        if div is None or any(div[1][base:]) or any(r[col] for r in c.eqs):
            continue
        if any(any(d[1][col:]) for d in c.divs[k + 1 :] if d):
            continue
        if grids is None:
            grids = [grid for piece in context if (grid := lattice.of_conjunct(piece)) is not None]
        den, expr = div[0], div[1][1:base]
        if any(dot(expr, step) % den for _, basis in grids for step in basis):
            continue
        remainders = {(div[1][0] + dot(expr, origin)) % den for origin, _ in grids}
        if len(remainders) == 1:
            exact = (div[1][0] - remainders.pop(), *div[1][1:])
            rows = [_replaced(r, col, den, exact) for r in c.ineqs]
            found = cj.normalise(c.n, c.divs, c.eqs, rows)
            if found is not None and len(found.divs) < len(c.divs):
                return _without_floors(found, context)
    return c


def _replaced(row: Row, col: int, den: int, exact: Row) -> Row:
    """A bound that is the same where den times a column is `exact`, without that column."""
    if not row[col]:
        return row
    times = den // gcd(den, row[col])
    factor = times * row[col] // den
    out = [times * v for v in row]
    out[col] = 0
    for k, v in enumerate(exact):
        out[k] += factor * v
    return tuple(out)


def _weaker(c: Conjunct, eqs: Sequence[Row], at: int, k: int, p: int) -> Conjunct | None:
    """The conjunct with equality `at` of these, which holds div k in no other row, read modulo den / p."""
    col = 1 + c.n + k
    others = (*eqs[:at], *eqs[at + 1 :])
    if any(r[col] for r in (*others, *c.ineqs)):
        return None
    width = 1 + c.n + len(c.divs)
    row = [*eqs[at], 0]
    row[width] = row[col] // p
    row[col] = 0
    found = cj.normalise(c.n, [*c.divs, None], [*others, tuple(row)], c.ineqs)
    if found is None or len(found.eqs) + len(found.ineqs) > len(c.eqs) + len(c.ineqs):
        return None
    return found if found.known and _moduli(found) < _moduli(c) else None  # other rows may say the same modulus


def _moduli(c: Conjunct) -> int:
    """The product of what its floors divide by, which is less after each step."""
    return prod(div[0] for div in c.divs if div is not None)


def _same_within(c: Conjunct, weaker: Conjunct, context: tuple[Conjunct, ...]) -> bool:
    """Whether the weaker conjunct has no further points in the context."""
    both = (cj.conjoin(weaker, k) for k in context)
    return not any(subtract(b, c) for b in both if b is not None)


def _primes(n: int) -> Iterator[int]:
    """The distinct prime factors of a modulus, by trial division up to 1000."""
    for p in range(2, 1000):
        if p * p > n:
            break
        if n % p == 0:
            yield p
            while n % p == 0:
                n //= p
    if 1 < n < 1000000:
        yield n
