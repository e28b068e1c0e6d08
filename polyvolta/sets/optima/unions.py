"""The better of two optima at each input: how the optimum of a union comes of those of its pieces.

From each piece of one optimum goes where a piece of the other beats it. One difference after the other would cut a
piece into many where many beat it, and each of these again. So there it is the union of what it wins from each
piece, and of where the other optimum has none; and what the rows at hand make one is made one on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct, Row
from ..conjuncts.implies import subtract
from ..conjuncts.project import project, prune, with_known_divs
from ..engine.rows import negate
from ..hulls.coalesce import plainly_coalesced

if TYPE_CHECKING:
    from ..values.relation import Relation

R = TypeVar("R", bound="Relation")

SEVERAL = 3  # pieces up to which an optimum's pieces are as differences make them


class Covered:
    """The inputs of pieces with pinned outputs, as conjuncts in which the outputs are free; found when asked for."""

    def __init__(self, n_fixed: int) -> None:
        self.n_fixed = n_fixed
        self._known: tuple[Conjunct, ...] = ()
        self._new: list[Conjunct] = []

    def add(self, pieces: Sequence[Conjunct]) -> None:
        """Take the inputs of more pieces in."""
        self._new += pieces

    def domains(self) -> tuple[Conjunct, ...]:
        """The inputs of all, with known divs."""
        found = []
        for c in self._new:
            domain = project(c, tuple(range(self.n_fixed, c.n)))
            for d in () if domain is None else with_known_divs(domain):
                found.append(cj.reindex(d, c.n, tuple(range(self.n_fixed))))
        if found:
            self._known = plainly_coalesced((*self._known, *found))
        self._new = []
        return self._known


def better(a: R, b: R, sign: int, covered: Covered) -> R:
    """From two optima over the same space, the better one at each input; of two alike, that of `a`.

    `covered` has the inputs of `a`. Where many pieces of `a` beat one of `b`, the differences with all of these would
    cut it up; so it is what it wins from each, and where `a` is not.
    """
    space = a.parts[0][0]
    n_fixed, n_out = len(a.param_names) + space.n_in, space.n_out
    width = n_fixed + 2 * n_out
    places = tuple(range(n_fixed, n_fixed + n_out)), tuple(range(n_fixed + n_out, width))
    mine, theirs = a.parts[0][1], b.parts[0][1]
    own = [cj.reindex(c, width, (*range(n_fixed), *places[0])) for c in mine]
    other = [cj.reindex(c, width, (*range(n_fixed), *places[1])) for c in theirs]
    knives: tuple[list[list], list[list]] = ([[] for _ in mine], [[] for _ in theirs])
    wins: list[list] = [[] for _ in theirs]
    for i, x in enumerate(own):
        for j, y in enumerate(other):
            worse, rest = _compared(x, y, n_fixed, n_out, sign)
            for beaten, winner, orders, kept in ((knives[0][i], y, worse, rest), (knives[1][j], x, rest, worse)):
                if orders:  # wholly, or in some of the orders
                    beaten += [winner] if not kept else [_narrowed(winner, *order) for order in orders]
            wins[j] += [(x, y, order) for order in worse]
    out: list[Conjunct] = []
    for c, found in zip(mine, knives[0], strict=True):
        out += _fewer(_without((c,), found, places[1]))
    for c, found, won in zip(theirs, knives[1], wins, strict=True):
        if len(found) <= SEVERAL:
            out += _fewer(_without((c,), found, places[0]))
            continue
        left = [c]
        for k in covered.domains():
            left = [piece for x in left for piece in subtract(x, k)]
        for x, y, order in won:
            both = _narrowed(cj.sure(cj.conjoin(x, y)), *order)
            region = None if both is None else project(both, places[0])
            left += [] if region is None else with_known_divs(region)
        out += _fewer(left)
    pruned = [p for c in out if (p := prune(c)) is not None]
    return a._of(a.param_names, [(space, _alike_fused(pruned, n_fixed))])


def _alike_fused(pieces: Sequence[Conjunct], n_fixed: int) -> tuple[Conjunct, ...]:
    """The same points, the pieces that pin the outputs to the same expressions as few as rows at hand make them.

    What one optimum leaves of another is cut along the bounds of what beat it, also where the outputs are the same.
    """
    alike: dict[tuple, list[Conjunct]] = {}
    for at, c in enumerate(pieces):
        base = 1 + c.n
        values = [r for r in c.eqs if any(r[1 + n_fixed : base])]
        told = [(r[:base], *[(v, d) for v, d in zip(r[base:], c.divs, strict=True) if v]) for r in values]
        alike.setdefault((at,) if not c.known else tuple(told), []).append(c)
    return tuple([c for cs in alike.values() for c in plainly_coalesced(tuple(cs))])


def _without(pieces: Sequence[Conjunct], knives: Sequence[Conjunct | None], gone: tuple[int, ...]) -> list[Conjunct]:
    """What is left of pieces beside some knives, which have dimensions more that are `gone`."""
    left = list(pieces)
    for knife in sorted(filter(None, knives), key=lambda k: len(k.eqs) + len(k.ineqs)):
        domain = project(knife, gone)
        for k in with_known_divs(domain) if domain is not None and left else ():
            left = [piece for x in left for piece in subtract(x, k)]
    return left


def _fewer(pieces: Sequence[Conjunct]) -> Sequence[Conjunct]:
    """The same points, in fewer pieces where there are more than several and these have known divs."""
    if len(pieces) <= SEVERAL or not all(c.known for c in pieces):
        return pieces
    return plainly_coalesced(tuple(pieces))


Order = tuple[list[Row], list[Row]]  # equalities and inequalities


def _compared(x: Conjunct, y: Conjunct, n_fixed: int, n_out: int, sign: int) -> tuple[list[Order], list[Order]]:
    """Where both are, the orders of their outputs that occur: those in which y is better, and the others.

    An order is one of the first outputs that differ and how they do, or that none does.
    """
    both = cj.conjoin(x, y)
    point = None if both is None else cj.sample(both)
    if both is None or point is None:
        return [], []
    gaps = [sign * (point[n_fixed + n_out + k] - point[n_fixed + k]) for k in range(n_out)]
    first = next((k for k, gap in enumerate(gaps) if gap), n_out)  # the order of the point occurs
    better: list[Order] = []
    rest: list[Order] = []
    alike: list[Row] = []
    for k in range(n_out):
        equal = [0] * (1 + n_fixed + 2 * n_out)
        equal[1 + n_fixed + k], equal[1 + n_fixed + n_out + k] = -sign, sign
        own, other = _pinned_to(x, n_fixed + k, n_fixed), _pinned_to(y, n_fixed + n_out + k, n_fixed)
        if own is not None and other is not None and own[1:] == other[1:]:  # everywhere as far apart as at the point
            if gaps[k]:
                found, way = (better, equal) if gaps[k] > 0 else (rest, negate(equal))
                found.append((alike, [(-1, *way[1:])]))
                return better, rest
            alike.append(tuple(equal))
            continue
        for found, way in ((better, 1), (rest, -1)):
            strict = (-1, *[way * v for v in equal[1:]])
            if (k == first and gaps[k] * way > 0) or _narrowed(both, [], [strict]) is not None:
                found.append(([*alike], [strict]))
        alike.append(tuple(equal))
        both = _narrowed(both, [alike[-1]], [])
        if both is None:
            return better, rest
    return better, [*rest, (alike, [])]


def _pinned_to(c: Conjunct, dim: int, n_fixed: int) -> Row | None:
    """What an equality says a dimension is in terms of the first `n_fixed`; None if none does so plainly.

    >>> from polyvolta.sets import Set
    >>> _pinned_to(Set("[N] -> { [i, j] : i = 2N + 3 and 0 <= j <= 9 }").parts[0][1][0], 1, 1)
    (3, 2)
    """
    for row in c.eqs:
        v = row[1 + dim]
        if v in (1, -1) and row.count(0) + sum(map(bool, row[: 1 + n_fixed])) == len(row) - 1:
            return negate(row[: 1 + n_fixed]) if v > 0 else row[: 1 + n_fixed]
    return None


def _narrowed(c: Conjunct, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Conjunct | None:
    """The conjunct with more rows over its dimensions; None if it has no point."""
    pad = (0,) * len(c.divs)
    new = cj.normalise(c.n, c.divs, [*c.eqs, *(r + pad for r in eqs)], [*c.ineqs, *(r + pad for r in ineqs)])
    return None if new is None or new.is_empty else new
