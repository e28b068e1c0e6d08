"""Gist: what is left to say of a set once a context is known.

`gist(A, C)` is any simpler set with gist(A, C) & C == A & C. A constraint of A goes when the context and the
constraints of A that stay imply it, over the integers: one emptiness test each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from . import conjunct as cj
from .conjunct import Conjunct

if TYPE_CHECKING:
    from .relation import Relation

R = TypeVar("R", bound="Relation")


def gist(self: R, context: R) -> R:
    """A simpler relation that agrees with this one wherever `context` holds.

    Exact: O(rows x pieces of the context) emptiness tests; it never has more constraints than this.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N and i < 10 }").gist(Set("[N] -> { [i] : i >= 0 and N <= 10 }")))
    [N] -> { [i] : i < N }
    """
    self._check_kind(context, "a gist")
    a, b = self._aligned(context)
    parts = []
    for space, cs in a.parts:
        known = tuple(c for c in b._find(space.key) if not c.is_empty)
        simple = [gist_conjunct(c, known) for c in cs]
        parts.append((space, tuple(c for c in simple if c is not None)))
    return a._of(a.param_names, parts)


def gist_conjunct(c: Conjunct, context: tuple[Conjunct, ...]) -> Conjunct | None:
    """The conjunct without what every piece of the context implies; None when they exclude it.

    Equalities are tried after inequalities, so that a bound does not outlive the equality that implies it.
    """
    if not c.known:
        return c if any(cj.conjoin(c, k) is not None for k in context) else None
    both = [m for m in (cj.conjoin(c, k) for k in context) if m is not None and not m.is_empty]
    if not both:
        return None
    plainly = {r for r in cj.statements(c) if all(cj.plainly_implies(k, c, r) for k in context)}
    negative = {r: tuple(-v for v in r) for r in c.eqs}
    eqs = [r for r in c.eqs if not (r in plainly and negative[r] in plainly)]
    ineqs = [r for r in c.ineqs if r not in plainly]
    for row in list(ineqs):
        rest = [r for r in ineqs if r is not row]
        if _implied(c, eqs, rest, _negated(row), context):
            ineqs = rest
    for row in list(eqs):
        rest = [r for r in eqs if r is not row]
        if all(_implied(c, rest, ineqs, _negated(r), context) for r in (row, tuple(-v for v in row))):
            eqs = rest
    if len(eqs) == len(c.eqs) and len(ineqs) == len(c.ineqs):
        return c
    return cj.normalise(c.n, c.divs, eqs, ineqs)


def _negated(row: cj.Row) -> cj.Row:
    return (-row[0] - 1, *(-v for v in row[1:]))


def _implied(c: Conjunct, eqs: list, ineqs: list, outside: cj.Row, context: tuple[Conjunct, ...]) -> bool:
    left = cj.normalise(c.n, c.divs, eqs, [*ineqs, outside])
    if left is None:
        return True
    for k in context:
        both = cj.conjoin(left, k)
        if both is not None and not both.is_empty:
            return False
    return True
