"""Coalescing: two conjuncts become one when nothing lies between them.

For a pair A, B every row of either is *valid* on the other or *cuts* it. Where no row of A cuts B, B is inside A and
goes. Otherwise the candidate is H, the conjunction of the rows that are valid on both. H contains A and B by
construction, and what else it contains violates a cutting row of A and one of B: when each such pair is
contradictory within H, then H is their union. Most pairs of rows are opposite, `x <= 4` and `x >= 5`, and need no
search for that.

Where H is too large, two kinds of rows are added to it, once no pair is left that makes one without. Rows of A that
cut B are *wrapped*: turned around the facet of A behind which B lies until they hold on B. And where both have
equalities, those of their affine hull are, which knows strides: `i mod 4 = 0` and `i mod 4 = 2` make `i mod 2 = 0`.

What is left is decided by the convex hull of two pieces, where its coordinates are few (`joint`). Pieces that overlap
are widened at last (`widening`). Most pairs are told apart before any of that (`pieces`).

The cases are those of S. Verdoolaege, "Integer set coalescing" (IMPACT 2015); here one exact test decides them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ..budgets import bounded, remembered, spend, spent
from ..conjuncts import conjunct as cj
from ..conjuncts import lattice
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.frame import Frame, Member
from ..conjuncts.implies import plainly_implied, subtract
from ..conjuncts.project import prune, with_known_divs
from ..engine.integer import pushed
from ..engine.rows import Row, negate, unbounded
from ..errors import BudgetExceeded
from . import between, boxes, joint
from .covering import covers, not_implied, valid_rows, with_remainders, wrapped
from .gist import irredundant
from .pieces import Parts, Piece
from .slices import Slices
from .widening import widened

if TYPE_CHECKING:
    from ..values.relation import Relation

R = TypeVar("R", bound="Relation")
F = TypeVar("F")

FEW_DIVS = 2  # with more, what only an integer program can say of a row counts as unknown: fewer fusions, none wrong
FOR_A_PAIR = 5_000  # steps (some 100 ms) for one way to fuse a pair; the longest of 1,500 random fusions took 3,700
PLAINLY = 400  # steps (some 5 ms) by the rows at hand alone; two of 2,950 random fusions took more
FOR_HULLS = 2_000, 200  # steps for hulls in vain, and how many more for each piece
FOR_WIDENING = 800  # steps to look for a piece that can be widened
EFFORT = 100_000  # steps for all of the pieces
FACETS = 48  # pairs of cutting rows up to which two pieces are wrapped; the 58 that made one had at most 30
FOR_SPELT = 100  # steps for each piece where spelling out existentials makes more of them: mostly they stay more
FOR_BOXES = 5_000, 20  # steps where pieces were boxes, which are mostly one by then, and how many more for each
MANY = 6  # pieces from which on a point between two is looked for before anything else
MOST_FLAT = 256  # up to which equalities of theirs are looked for: the hulls of more would take the effort in vain
FIXED = 10  # pieces up to which points between any two show that none can be widened


def coalesce(self: R) -> R:
    """The same points in fewer conjuncts where two of them make one.

    Exact; every pair is compared at most three times, and a comparison is a few linear programs, at last a double
    description, or none where the pieces lie apart. It is a greedy search: not always the fewest pieces, never more
    than there were; existentials are spelt out where that makes them no more. What it has come to after 150,000 steps,
    some seconds, is the result.

    Raises
    ------
    BudgetExceeded : spelling out existentials took too many steps, or a `budget` around it has fewer.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : 0 <= i < 5; [i] : 5 <= i < 9 }").coalesce())
    { [i] : 0 <= i <= 8 }
    >>> print(Set("{ [i, j] : 0 <= j <= i <= 9; [i, j] : 0 <= i < j <= 9 }").coalesce())
    { [i, j] : 0 <= i <= 9 and 0 <= j <= 9 }
    """
    return self._of(self.param_names, [(space, coalesced(cs)) for space, cs in self.parts])


def coalesced(pieces: Iterable[Conjunct]) -> tuple[Conjunct, ...]:
    """`coalesce` of pieces over the same dimensions."""
    pieces = tuple(pieces)
    flat = [_with_strides(p) for c in pieces for p in _spelt_out(c)]
    found = tuple(map(_flattened, flat) if MANY <= len(flat) <= MOST_FLAT else flat)
    found = coalesce_conjuncts(found) if len(flat) <= len(pieces) else _soon_coalesced(found)
    if len(found) <= len(pieces):
        return found
    plain = coalesce_conjuncts(tuple([_with_strides(c) for c in pieces if c.known]))  # existentials stay as they are
    others = [c for c in dict.fromkeys(pieces) if not c.known and not c.is_empty]
    return (*plain, *[c for c in others if not any(plainly_implied(c, d) for d in plain)])


@remembered(1 << 10)
def _soon_coalesced(pieces: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """`coalesce_conjuncts` where this takes few steps, else the pieces."""
    try:
        return bounded(FOR_SPELT * len(pieces), coalesce_conjuncts, pieces)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return pieces


def _spelt_out(c: Conjunct) -> tuple[Conjunct, ...]:
    """Conjuncts without unknown divs: few and simple ones, since the equalities of one with such are found first."""
    if c.known:
        return (c,)
    flat = lattice.with_equalities(c)
    return () if flat is None else with_known_divs(flat)


def _flattened(c: Conjunct) -> Conjunct:
    """The conjunct with the equalities that its inequalities make, where few steps do to find them.

    One that plainly has a point at which no row is 0 has none: it stays, as many do whose bounds are parameters.
    """
    if c.divs or unbounded(c.ineqs) or pushed(c.n, [(r[0] - 1, *r[1:]) for r in c.ineqs]) is not None:
        return c
    try:
        return bounded(PLAINLY, lattice.with_equalities, c) or cj.nothing(c.n)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return c


def _with_strides(c: Conjunct) -> Conjunct:
    """The conjunct with an equality for each row that leaves one remainder: `i mod 4 <= 0` is a stride."""
    eqs = [row for row in c.div_rows() if negate(row) in c.ineqs] if c.divs else []
    return cj.normalise(c.n, c.divs, (*c.eqs, *eqs), c.ineqs) or cj.nothing(c.n) if eqs else c


def coalesce_conjuncts(pieces: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """Fewer conjuncts with the same points; these have known divs. Those without a point go.

    Where the comparisons take more than `EFFORT`, what they have come to: pieces that were not compared stay.
    """
    try:
        return _coalesced(pieces)
    except _Ended as ended:
        spend(0)  # ends the caller where the budget was its own
        return ended.told


@remembered(1 << 10)
def plainly_coalesced(pieces: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """`coalesce_conjuncts` by the rows at hand alone, a fraction of the time: no hulls, and nothing is widened."""
    if len(pieces) < 2:
        return pieces
    frame = Frame(pieces)
    done: list[Piece] = []
    slices = Slices(frame)
    todo = [Piece(m, slices, c) for m, c in zip(frame.members, pieces, strict=True)][::-1]
    _fuse_all(frame, done, todo)
    return tuple([p.told for p in done if p.conjunct is not None])


class _Ended(Exception):
    """The search took too long: pieces that were compared with one another, and those that were not."""

    def __init__(self, done: list[Piece], todo: list[Piece], given: tuple[Conjunct, ...]) -> None:
        super().__init__()
        self.told = tuple([p.told for p in (*done, *reversed(todo))]) or given


@remembered(1 << 10)
def _coalesced(pieces: tuple[Conjunct, ...]) -> tuple[Conjunct, ...]:
    """See `coalesce_conjuncts`; what a budget ends is not kept."""
    others, hulls, near = boxes.fewer(pieces)
    count = len(others) + len(hulls)
    if near and not any(near) and count > 1:
        return (*others, *map(irredundant, hulls))
    hulls = tuple([cj.sure(prune(c)) for c in hulls])
    pieces = (*others, *hulls)
    if count == 1:
        pieces = () if pieces[0].is_empty else pieces
    elif near is None:
        pieces = _within_effort(pieces, {}, EFFORT)
    else:
        every = (1 << count) - 1
        parts = {c: Parts(1 << k, every & ~near[k] & ~(1 << k)) for k, c in enumerate(pieces)}
        aside = [c for c, some in zip(pieces, near, strict=True) if not some]
        some = tuple([c for c, some in zip(pieces, near, strict=True) if some])
        try:
            pieces = (*aside, *_within_effort(some, parts, FOR_BOXES[0] + FOR_BOXES[1] * len(some)))
        except _Ended as ended:
            spend(0)  # ends the caller where the budget was its own
            pieces = (*aside, *ended.told)
    return tuple([irredundant(c) if c in hulls else c for c in pieces]) if hulls else pieces


def _within_effort(pieces: tuple[Conjunct, ...], parts: dict[Conjunct, Parts], effort: int) -> tuple[Conjunct, ...]:
    """What a search of so many steps finds."""
    done: list[Piece] = []
    todo: list[Piece] = []
    try:
        return bounded(effort, _searched, pieces, parts, done, todo)
    except BudgetExceeded:
        raise _Ended(done, todo, pieces) from None


def _searched(
    pieces: tuple[Conjunct, ...], parts: dict[Conjunct, Parts], done: list[Piece], todo: list[Piece]
) -> tuple[Conjunct, ...]:
    """See `coalesce_conjuncts`; all points are in the pieces that are done or to do, once there are any.

    `parts` say what is known of pieces before.
    """
    new = len(pieces)  # how many at the end were not compared with the others
    tried = Tried(FOR_HULLS[0] + FOR_HULLS[1] * len(pieces))
    while len(pieces) > 1:
        frame = Frame(pieces)
        frame.members = [with_remainders(frame, m) for m in frame.members]
        known = _kept(frame, pieces, done)
        for p, c in zip(known, pieces, strict=True) if parts else ():
            p.parts = parts[c]
        done[:], todo[:] = known[: len(pieces) - new], known[len(pieces) - new :][::-1]
        _fuse_all(frame, done, todo, thorough=True)
        done[:] = [p for p in done if p.conjunct is not None]
        if parts:
            parts |= {p.told: p.parts for p in done}
        if len(done) < 2:
            return tuple([p.told for p in done])
        strided = [p for p in done if any(any(r[1 + frame.n :]) for r in p.member.eqs)]
        pair = _fusible(strided, tried, _fuse_by_strides)
        if pair is None and len(done) > 2 and not _fixed(frame, done):
            fewer = _widened(tuple([p.told for p in done]))
            if fewer is not None:
                if parts:
                    parts[fewer[-1]] = reduce(Parts.joined, [p.parts for p in done if p.told not in fewer])
                pieces, new = fewer, 1
                continue
        pair = pair or _fusible(done, tried, _fuse_by_hull, floors=True)
        pieces = tuple([p.told for p in done if pair is None or p not in pair[:2]])
        if pair is None:
            break
        if parts:
            parts[pair[2]] = pair[0].parts.joined(pair[1].parts)
        pieces, new = (*pieces, pair[2]), 1
    return pieces


def _kept(frame: Frame, pieces: tuple[Conjunct, ...], before: list[Piece]) -> list[Piece]:
    """The pieces over their frame; those of a frame with the same columns stay, with what is known of them."""
    slices = Slices(frame)
    same = before and before[0].member.frame.divs == frame.divs
    old = {p.told: p for p in before if p.given} if same else {}
    known = [old.get(c) or Piece(m, slices, c) for m, c in zip(frame.members, pieces, strict=True)]
    for p in known:
        p.slices = slices
    return known


def _fixed(frame: Frame, pieces: list[Piece]) -> bool:
    """Whether it is plain that none can be widened until another goes: `widened` drops none but a whole one.

    By slices; or between any two pieces a point of none is known, so that no conjunct within the union contains both. A
    wider piece may speak of any floor at hand, so where there are any, such points are those behind pieces. Of many
    pieces such points are not asked for.
    """
    if pieces[0].slices.fixed([p.member for p in pieces]):
        return True
    if len(pieces) > FIXED:
        return False
    for at, p in enumerate(pieces):
        for q in pieces[:at]:
            points = p.behind(q) if frame.divs else p.parted(q)
            if all(any(other.member.holds(x) for other in pieces) for x in points):
                return False
    return True


def _widened(pieces: tuple[Conjunct, ...]) -> tuple[Conjunct, ...] | None:
    """Fewer pieces, of which the last is wider than one was; None, too, where that takes more than `FOR_WIDENING`."""
    try:
        return bounded(FOR_WIDENING, widened, pieces)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        return None


def _fuse_all(frame: Frame, done: list[Piece], todo: list[Piece], thorough: bool = False) -> None:
    """Compare what is to do with what is done and with itself, and fuse what rows at hand make one.

    With `thorough` a point between two pieces is looked for before wrapped rows; hulls and widening need its answer.
    """
    apart: Unfused = {}
    many = len(done) + len(todo) >= MANY
    while todo:
        a = todo[-1]
        for k in reversed(range(len(done))):  # neighbours tend to stand together
            spend()
            b = done[k]
            fused = None if b.plainly_apart(a, many) else _within_bounds(_fuse, b, a, frame, apart, thorough=thorough)
            if fused is not None:
                del done[k]
                todo[-1] = fused
                break
        else:
            done.append(todo.pop())
        if not todo and apart:
            todo += _fused_by_wrapping(done, apart, thorough)


def _within_bounds(fuse: Callable[..., F | None], a: Piece, b: Piece, *more: object, thorough: bool = True) -> F | None:
    """What a way to fuse makes of two pieces; None, too, where it takes more than `FOR_A_PAIR`, or `PLAINLY`."""
    try:
        return bounded(FOR_A_PAIR if thorough else PLAINLY, fuse, a, b, *more)
    except BudgetExceeded:
        spend(0)  # ends the caller where the budget was its own
        for p in (a, b):
            p.member.forget()
        return None


# pieces A and B of which the rows at hand make no one: rows valid on both, rows of B that cut A, rows of A that cut B
Unfused = dict[tuple[Piece, Piece], tuple[Member, list[Row], list[Row]]]
Way = Callable[[Piece, Piece], Conjunct | None]


class Tried(set[tuple[Way, Conjunct, Conjunct]]):
    """Pairs that a way to fuse was tried with in vain, and the steps that hulls may still spend in vain.

    `over` are pieces for which that is true of every pair with one that stood before it.
    """

    def __init__(self, allowed: float) -> None:
        super().__init__()
        self.allowed = allowed
        self.over: set[tuple[Way, Piece]] = set()


def _fuse(a: Piece, b: Piece, frame: Frame, apart: Unfused) -> Piece | None:
    """One piece with exactly the points of both; if the rows at hand give none, `apart` remembers them, and None."""
    rows = a.seams.get(b)
    if rows is not None and rows[0][0] + rows[1][0] == -1:  # no point satisfies both, so neither row holds on the other
        return a.joined(b, valid_rows(frame, a.member, b.member, {*rows}))
    exact = len(frame.divs) <= FEW_DIVS
    cuts_b = b.member.denied(a.member.statements, exact)
    if not cuts_b:
        return a
    cuts_a = a.member.denied(b.member.statements, exact)
    if not cuts_a:
        return b
    hull = valid_rows(frame, a.member, b.member, {*cuts_a, *cuts_b})
    if covers(hull, cuts_a, cuts_b, (*a.beside, *b.beside)):
        return a.joined(b, hull)
    apart[a, b] = hull, cuts_a, cuts_b
    return None


def _fused_by_wrapping(pieces: list[Piece], apart: Unfused, thorough: bool) -> list[Piece]:
    """At most one piece, for two that leave the list, of wrapped rows; the pairs that were tried leave `apart`."""
    for a, b in list(apart):
        hull, cuts_a, cuts_b = apart.pop((a, b))
        if a not in pieces or b not in pieces or len(cuts_a) * len(cuts_b) > FACETS or (thorough and a.gap(b)):
            continue
        both = _within_bounds(_wrapping, a, b, hull, cuts_a, cuts_b, thorough=thorough)
        if both is not None:
            pieces.remove(a)
            pieces.remove(b)
            return [both]
    return []


def _wrapping(a: Piece, b: Piece, hull: Member, cuts_a: list[Row], cuts_b: list[Row]) -> Piece | None:
    """One piece of the rows valid on both and of those that wrapping makes so, where these are enough."""
    turned = not_implied(hull, [*wrapped(a.member, b.member, cuts_b), *wrapped(b.member, a.member, cuts_a)])
    if turned:
        both = Member(hull.frame, hull.eqs, (*hull.ineqs, *turned))
        if covers(both, cuts_a, cuts_b, (*a.beside, *b.beside)):
            return a.joined(b, both)
    return None


# ---- strides and hulls


def _fusible(
    pieces: list[Piece], tried: Tried, fuse: Way, floors: bool = False
) -> tuple[Piece, Piece, Conjunct] | None:
    """Two pieces that a way to fuse makes one, and that one; those that it was tried with in vain are not again."""
    for at, p in enumerate(pieces):
        for q in pieces[:at] if (fuse, p) not in tried.over else ():
            spend()
            key = fuse, q.told, p.told
            if tried.allowed < 0 or p.apart(q, floors) or key in tried:
                continue
            before = spent()
            fused = None if q.gap(p) else _within_bounds(fuse, q, p)
            if fused is not None:
                return q, p, fused
            tried.add(key)
            if fuse is _fuse_by_hull:
                tried.allowed -= spent() - before
        tried.over.add((fuse, p))
    return None


def _fuse_by_hull(p: Piece, q: Piece) -> Conjunct | None:
    """One conjunct for two pieces whose convex hull has no further point.

    None where it has floors and these have none: two points are simpler than a line between them that goes in strides.
    Nor is one simpler that has more rows than both, and what is made of it has more yet.
    """
    fused = joint.fused(p.told, q.told)
    fused = fused and prune(fused)
    if not fused or _rows(fused) > _rows(p.told) + _rows(q.told):
        return None
    found = irredundant(fused)
    return None if found.divs and not p.told.divs and not q.told.divs else found


def _rows(c: Conjunct) -> int:
    """How many rows a conjunct has."""
    return len(c.eqs) + len(c.ineqs)


def _fuse_by_strides(p: Piece, q: Piece) -> Conjunct | None:
    """One conjunct for two pieces that the affine hull of both makes one."""
    frame, a, b = p.member.frame, p.told, q.told
    grids = [g for c in (a, b) if (g := lattice.of_conjunct(c)) is not None]
    if len(grids) < 2 or lattice.index(grids[0]) != lattice.index(grids[1]):
        return None  # a union of two grids is one only where both are translates of one another
    step = lattice.conjunct(a.n, lattice.joined(grids))
    if not any(d is not None for d in step.divs):
        return None
    cuts = {r for r in p.member.statements if not q.member.implies(r)}
    cuts |= {r for r in q.member.statements if not p.member.implies(r)}
    valid = valid_rows(frame, p.member, q.member, cuts)
    if between.stray(valid, p.member, q.member, lattice.echelon(lattice.joined(grids)[1])):
        return None
    hull = cj.conjoin(cj.sure(frame.conjunct(valid.eqs, valid.ineqs)), step)
    if hull is None or any(piece for part in subtract(hull, a) for piece in subtract(part, b)):
        return None
    return irredundant(hull)
