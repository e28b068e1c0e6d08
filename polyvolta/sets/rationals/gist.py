"""Gist over the rationals: what is left to say of points once a context is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..engine.rows import Row, negate
from .polyhedron import Polyhedron, conjoin, has_point, polyhedron, universe

if TYPE_CHECKING:
    from .points import RationalPoints

R = TypeVar("R", bound="RationalPoints[Any]")


def gist(self: R, context: R) -> R:
    """A simpler value that agrees with this one wherever `context` holds; in an empty context it is everything.

    A constraint goes when each piece of the context and the constraints that stay imply it, and a piece without points
    in the context goes. Exact; a linear program for each constraint and piece of the context.

    Raises
    ------
    SpaceMismatch : the context is of another kind, or of another space.

    >>> from polyvolta.sets import RationalSet
    >>> print(RationalSet("{ rat: [i] : 0 < 2i <= 9 }").gist(RationalSet("{ rat: [i] : i > 0 }")))
    { rat: [i] : 2*i <= 9 }
    """
    self._check_space(context, "a gist")
    a, b = self._aligned(context)
    parts = []
    for space, ps in a.parts:
        known = b._find(space.key)
        whole = universe(len(a.param_names) + len(space.dims))
        parts.append((space, tuple([_gist(p, known) for p in ps if _meets(p, known)]) if known else (whole,)))
    return a._of(a.param_names, parts)


def _meets(p: Polyhedron, known: tuple[Polyhedron, ...]) -> bool:
    return any(conjoin(p, q) is not None for q in known)


def _gist(p: Polyhedron, known: tuple[Polyhedron, ...]) -> Polyhedron:
    kept = [*((r, "eq") for r in p.eqs), *((r, "ge") for r in p.ineqs), *((r, "gt") for r in p.strict)]
    for entry in kept.copy():
        rest = [e for e in kept if e is not entry]
        if all(_implied(entry, rest, q) for q in known):
            kept = rest
    done = polyhedron(p.n, *([r for r, kind in kept if kind == k] for k in ("eq", "ge", "gt")))
    assert done is not None
    return done


def _implied(entry: tuple[Row, str], rest: list[tuple[Row, str]], known: Polyhedron) -> bool:
    """Whether a constraint holds at all points of a polyhedron that satisfy some others."""
    row, kind = entry
    eqs, ineqs, strict = ([r for r, k in rest if k == name] for name in ("eq", "ge", "gt"))

    def some(closed: tuple[Row, ...], beyond: tuple[Row, ...]) -> bool:
        return has_point(p_n, (*known.eqs, *eqs), (*known.ineqs, *ineqs, *closed), (*known.strict, *strict, *beyond))

    p_n = known.n
    if kind == "eq":
        return not some((), (row,)) and not some((), (negate(row),))
    return not (some((), (negate(row),)) if kind == "ge" else some((negate(row),), ()))
