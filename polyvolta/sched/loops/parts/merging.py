"""Pieces of a statement by what is known where they run: two as one, and of those that share instances each once.

A domain is cut up before anything is known of sizes. Where a filter, a guard, a context or a loop around has told more,
two of its pieces may be one conjunction, or one may have all that another one has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyvolta.sched.loops.conditions import beyond, holds
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import LOCAL, Key, System, local, negated, new_column, plus, without
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.spans.telling import hull, telling

Joins = Callable[[tuple[Piece, Piece, Piece], Sequence[Piece]], bool]  # whether two are to be the third, beside others


def cut_here(known: Known, pieces: Sequence[Piece]) -> list[Piece] | None:
    """Some pieces with the same instances, none in two: those first of which what is known says the most.

    None where values are not all given by what is outside, or two pieces may have the same instance at some places and
    not at others.

    Of X[c0] for c0 <= N + 3 and X[c0] for 2*floor(c0/2) = c0 where c0 <= N the first one has all, and none is tested;
    the second one less the first, or the first less the second wherever that is asked, are in many parts.
    """
    if len(pieces) < 2:
        return [*pieces]
    if any(p.locals() or any(local(key) for key, _, _ in p.images.values()) for p in pieces):
        return None

    def said(system: System) -> list[Row]:
        return [*known.columns.without_mods(beyond(known, system)).every_ge()]

    here = [p for p in pieces if not beyond(known, p.system).empty]
    tested = [(p, [] if holds(known, p.system) else said(p.system)) for p in here]
    out: list[tuple[Piece, list[Row]]] = []
    for piece, rows in sorted(tested, key=lambda one: len(one[1])):
        left = [piece.system]
        for old, others in out:
            same = _same(known.given(piece.system.copy().add(old.system)), piece, old)
            if same is None:
                return None
            if same:
                left = [part for whole in left for part in difference(known, whole, others)]
        for system in left:
            if not known.surely_excludes(system):
                part = piece.copy()
                part.system = system
                out.append((part, rows if system is piece.system else said(system)))
    return [piece for piece, _ in out]


def _same(both: Known, a: Piece, b: Piece) -> bool | None:
    """Whether two pieces have the same instance wherever both have one; False if nowhere, None if neither is said."""
    if both.nowhere:
        return False
    differs, sure = False, True
    for d, (key, const, den) in a.images.items():
        other, shift, e = b.images[d]
        row = plus(e, key, -den, other), e * const - den * shift
        if not both.implies_zero(*row):
            sure = False
            differs = differs or both.surely_excludes(System(eqs=[row]))
    return True if sure else False if differs else None


def together(known: Known, pieces: Sequence[Piece], joins: Joins) -> list[Piece]:
    """Fewer pieces with the same instances: two of a statement are one where both are all of one conjunction here.

    Of 1 <= i <= 2, and 3 <= i <= 4 for N >= 2, it is 1 <= i <= 4 once N is known to be 3 or more: of a domain's pieces
    that are cut by sizes a filter, a guard or a context may leave such. In a loop whose values have another order, as
    those of i mod 4, two would be tested at each of these.

    Only pieces that opposite rows of iterators tell apart are looked at: those of what is outside are cases, in which
    more may be known. One of the two has the iterators of the other one, but for numbers, and no floors besides: what
    is said of both is said of columns of the same instances. The conjunction is of all rows that hold on both, so it
    has both; what it has outside of one of them must be in the other. Cost: linear programs for each such two.

    Parameters
    ----------
    joins : whether two are worth to be one, the third, beside the other pieces.
    """
    out: list[Piece] = []
    for n, one in enumerate(pieces):
        new, k = one, 0
        while k < len(out):
            both = _of_both(known, out[k], new) or _of_both(known, new, out[k])
            others = [*out[:k], *out[k + 1 :], *pieces[n + 1 :]]
            if both is None or not joins((out[k], new, both), others):
                k += 1
            else:
                del out[k]
                new, k = both, 0
        out.append(new)
    return out


def _of_both(known: Known, one: Piece, other: Piece) -> Piece | None:
    """The instances of two pieces in the columns of the first one; None where they are no conjunction."""
    if one.statement != other.statement:
        return None
    a, b = one.system, _over(one, other)
    if b is None or b.empty or not (a.exact and b.exact) or sorted(a.mods) != sorted(b.mods):
        return None
    rows = dict(b.every_ge())
    if not any(local(key) and rows.get(negated(key)) == -const - 1 for key, const in a.every_ge()):
        return None
    around = hull(known, a, b)
    for rest in difference(known, around, telling(known, around, a)):
        if not known.ensures_all([*rest.every_ge()], b.every_ge()):
            return None
    both = one.copy()
    both.floors = {f: value for f, value in one.floors.items() if _is_floor(known, around, *f, *value)}
    around.mods = a.mods[:]
    both.system = around
    both.settle()
    return both


def _is_floor(known: Known, where: System, d: int, key: Key, const: int, value: Key, shift: int, den: int) -> bool:
    """Whether floor((key . x + const)/d) is (value . x + shift)/den in a system."""
    rest, low = plus(den, key, -d, value), den * const - d * shift
    return known.ensures_all([*where.every_ge()], ((rest, low), (negated(rest), den * (d - 1) - low)))


def _over(one: Piece, other: Piece) -> System | None:
    """What another piece of its statement says of the local columns of a piece; None where that loses instances."""
    other, seen = other.copy(), set[int]()
    for c in sorted(other.locals() | {c for key, _, _ in other.images.values() for c, _ in key if c >= LOCAL}):
        other.replace(c, ((new_column(), 1),), 0)  # of parts of one piece it may be another value in each
    out = other.system
    for d, (key, const, den) in one.images.items():
        image, shift, other_den = other.images[d]
        if key and local(key):
            ((c, v), *more) = [t for t in key if local((t,))]
            rest = plus(1, image, -1, without(key, c))
            if more or c in seen or den != other_den or any(w % v for _, w in rest) or (shift - const) % v:
                return None
            seen.add(c)
            out.eq(plus(1, rest, -v, ((c, 1),)), shift - const)
        elif (key, const, den) != other.images[d]:
            return None
    gone = {c for c in out.columns() if c >= LOCAL} - seen
    return None if one.locals() - seen else out.without(gone)
