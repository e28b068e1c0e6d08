"""Pieces of piecewise polynomials over each other: made disjoint, with the sum, or another value, of those that
overlap; and as few as is seen.

A piece is a set and what is the value there, a polynomial or what else has `subs` for the names of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from operator import add
from typing import TYPE_CHECKING, Any

from ..budgets import spend
from ..errors import Unbounded
from ..values.aff import var
from ..values.space import Space, Tuple

if TYPE_CHECKING:
    from ..values.set import Set

Piece = tuple["Set", Any]
FEW = 64  # points of a piece that are looked at one by one


def over_both(params: Iterable[str], *sides: Iterable[Piece]) -> tuple[tuple[str, ...], list[list[Piece]]]:
    """Pieces of several functions over all parameters, and the dimensions of each tuple called the same."""
    names: dict[tuple, Space] = {}
    outer = tuple(dict.fromkeys(params))
    return outer, [[_called(where, what, names, outer) for where, what in side] for side in sides]


def _called(where: Set, what: Any, names: dict[tuple, Space], params: tuple[str, ...]) -> Piece:  # noqa: ANN401
    """A piece whose dimensions are called as those of the first piece of its tuple."""
    space = names.setdefault(where.space.key, where.space)
    if where.param_names == params and where.dims() == space.dims:
        return where, what
    mine = dict(zip(where.dims(), map(var, space.dims), strict=True))
    return in_space(where.align_params(params), space), what.subs(mine)


def in_space(where: Set, space: Space) -> Set:
    """The set of the same points with dimensions of other names, or in another tuple of as many."""
    return type(where)._of(where.param_names, [(space, where.parts[0][1])])


def added(pieces: Iterable[Piece]) -> list[Piece]:
    """Disjoint pieces with the same sum; see `overlaid`."""
    return [(s, q) for s, q in overlaid(pieces, add) if q]


def overlaid(pieces: Iterable[Piece], combine: Callable[[Any, Any], Any]) -> list[Piece]:
    """Disjoint pieces, with the combined values where several overlap.

    Exact, an intersection and two differences per pair that overlaps.
    """
    done: list[Piece] = []
    for where, what in pieces:
        left = where
        for k, (other, value) in enumerate(done):
            if left.is_empty():
                break
            spend()
            if other == left:
                done[k], left = (other, combine(value, what)), left.subtract(left)
                break
            both = left.intersect(other) if left.space.key == other.space.key else None
            if both is None or both.is_empty():
                continue
            rest, left = other.subtract(left), left.subtract(other)
            if rest.is_empty():
                done[k] = (other, combine(value, what))
            else:
                done[k] = (both, combine(value, what))
                done.append((rest, value))
        if not left.is_empty():
            done.append((left, what))
    return done


def merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces of the same polynomial as one set of few conjuncts.

    A piece of a few points joins another piece whose polynomial has the same values there.
    """
    found: dict[tuple, Piece] = {}
    for where, what in pieces:
        key = (where.space.key, what)
        found[key] = (found[key][0].union(where) if key in found else where, what)
    points = {key: _few_points(where) if len(found) > 1 else None for key, (where, _) in found.items()}
    few = [key for key, at in points.items() if at is not None]
    for key in sorted(few, key=lambda key: len(points[key] or ())):
        (where, what), at = found[key], points[key] or []
        values = [what.evaluate(p) for p in at]
        others = (k for k in found if k != key and k[0] == key[0])
        heir = next((k for k in others if all(found[k][1].evaluate(p) == v for p, v in zip(at, values))), None)
        if heir is not None:
            del found[key]
            found[heir] = (found[heir][0].union(where), found[heir][1])
            points[heir] = (joined := points[heir]) and joined + at
    return [(where.coalesce(), what) for where, what in found.values()]


def _few_points(where: Set) -> list[dict[str, int]] | None:
    """The points of a set, parameters included, as assignments; None if there are more than a few."""
    names = (*where.param_names, *where.dims())
    everywhere = type(where)._of((), [(Space(None, Tuple(None, names)), cs) for _, cs in where.parts])
    try:
        found = list(islice(everywhere.points(), FEW + 1))
    except Unbounded:
        return None
    return None if len(found) > FEW else [dict(zip(names, p, strict=True)) for p in found]
