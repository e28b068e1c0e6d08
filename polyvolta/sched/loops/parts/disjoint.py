"""A union's conjuncts as disjoint ones with the same points, as few as can be, of which loops ask little.

    0 <= i <= N, and 4 <= i and 2i <= N + 5                           the first one, and i = 4 at N = 3
    0 <= i <= N, and i mod 3 <= 1 and 3*M <= i <= 3*M + 9             the first one is whole: it has no remainder
    1 <= j <= 2, and even i with j = 3                                both as they are: not j <= 3 - i mod 2
    odd N, and odd i                                                  odd i where N is even: not N mod 2 + i mod 2 >= 1

A loop over a part of a conjunct asks for all that it says, so that a floor in a part is tested or is a stride there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from math import inf

from polyvolta.sets import Map, Set
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.conjuncts.implies import subtract
from polyvolta.sets.conjuncts.project import with_known_divs
from polyvolta.sets.values.space import Space

SOME = 3  # conjuncts whose orders are tried


def disjoint(s: Set | Map, space: Space, conjuncts: Sequence[Conjunct]) -> Sequence[Conjunct]:
    """Conjuncts with the same points, none in two; of a few as little is cut up as can be, else those with floors.

    Of more than a few those of the fewest rows are whole, if that leaves fewer: in front of 2i <= N + 1 four ways to be
    in 0 <= i <= 3, by two sizes, leave six parts of it, and behind it each is one.

    Of 0 <= i <= N and 4 <= i <= (N + 5)/2 the first one has all of the second but i = 4 at N = 3. That is no reason for
    floors in parts of what has none: of 0 <= i <= N, and i of 3*M to 3*M + 5 with i mod 3 <= 1, the first one is whole.

    Those whose one conjunct has a floor beside another iterator stay as they are: of 1 <= j <= 2, and even i with
    j = 3, it says that j <= 3 - i mod 2, and inside of a loop over j it is asked at each i.
    """
    if len(conjuncts) == 1:
        return conjuncts
    merged = type(s)._of(s.param_names, [(space, tuple(conjuncts))]).coalesce()
    pieces = [p for _, cs in merged.parts for c in cs for p in with_known_divs(c)]
    iterators = len(space.out.dims)
    if any(_mixed(c, iterators) for c in pieces):
        before = [p for c in conjuncts for p in with_known_divs(c)]
        pieces = [p for c in pieces for p in (_unmixed(c, before, iterators) if _mixed(c, iterators) else [c])]
    plain = [c for c in pieces if not c.divs]
    rest = sorted([c for c in pieces if c.divs], key=lambda c: len(c.divs))
    out = _cut([*plain, *rest])
    some, others = ([*plain, *rest], []) if len(pieces) <= SOME else (plain, rest)
    orders = islice(permutations(some), 1, None) if len(some) <= SOME else [sorted(plain, key=_asked)]
    for order in orders:
        if len(out) <= len(pieces):
            break
        new = _cut([*order, *others], len(out))
        if len(new) < len(out) and _foreign(new) <= _foreign(out):
            out = new
    return [part for _, part in out]


def _mixed(c: Conjunct, iterators: int) -> bool:
    """Whether an inequality has a floor of some iterators, the last dimensions, and another one, or a floor of it; or
    halves of iterators beside halves of sizes alone, by which odd sizes and odd iterators are one.
    """
    first, base = 1 + c.n - iterators, 1 + c.n
    for row in c.ineqs:
        divs = [div for v, div in zip(row[base:], c.divs, strict=True) if v and div is not None]
        each = [{at for at in range(first, min(base, len(e))) if e[at]} for e in (row, *[e for _, e in divs])]
        of, *floors = each
        if any(some and some != of.union(*floors) for some in floors):
            return True
        if any(floors) and not all(floors) and all(d == 2 for d, _ in divs):
            return True
    return False


def _unmixed(merged: Conjunct, before: Iterable[Conjunct], iterators: int) -> list[Conjunct]:
    """Disjoint conjuncts that were merged, if these are no more, and none is `_mixed`; else the merged one."""
    inside = [c for c in before if not subtract(c, merged)]
    out = [part for _, part in _cut(inside)]
    whole = len(out) <= len(inside) and len(_cut([*out, merged])) == len(out)
    return out if whole and not any(_mixed(c, iterators) for c in inside) else [merged]


def _cut(pieces: Iterable[Conjunct], enough: float = inf) -> list[tuple[Conjunct, Conjunct]]:
    """What each of some conjuncts has that none before it has, behind this conjunct.

    Only so many of these, or a few more, are looked for.
    """
    out: list[tuple[Conjunct, Conjunct]] = []
    for piece in pieces:
        if len(out) >= enough:
            break
        left = [piece]
        for _, old in out:
            left = [part for whole in left for part in subtract(whole, old)]
        out += [(piece, part) for part in left]
    return out


def _asked(c: Conjunct) -> int:
    """How many rows a conjunct has, an equality as two: what asks for little has most of the others."""
    return 2 * len(c.eqs) + len(c.ineqs)


def _foreign(cut: Iterable[tuple[Conjunct, Conjunct]]) -> int:
    """How many parts of conjuncts have more floors than these: others' floors, of what these have and it doesn't."""
    return sum(len(part.divs) > len(piece.divs) for piece, part in cut)
