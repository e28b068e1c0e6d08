"""Parameters and dimensions of relations: methods of `Set` and `Map`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from . import conjunct as cj
from . import project as pj
from .algebra import conjoin_all
from .errors import SpaceMismatch, UnknownName, nearest
from .space import Space, Tuple, position, without

if TYPE_CHECKING:
    from .relation import Relation
    from .set import Set

R = TypeVar("R", bound="Relation")


def params(self: Relation) -> Set:
    """The parameter values with a point, as a set without dimensions; exact, m projections."""
    from .set import Set

    n = len(self.param_names)
    out = []
    for _, cs in self.parts:
        out += [pj.project(c, tuple(range(n, c.n))) for c in cs]
    return Set._of(self.param_names, [(Space(None, Tuple(None, ())), tuple(c for c in out if c is not None))])


def intersect_params(self: R, context: Set) -> R:
    """The points for parameter values in `context`, a set without dimensions; O(m n) conjunctions."""
    if any(s.dims for s, _ in context.parts):
        raise SpaceMismatch("a context has no dimensions", where=str(context), hint='write "[N] -> { : N > 0 }"')
    a, b = self._aligned(context)
    knives = [c for _, cs in b.parts for c in cs]
    parts = []
    for space, cs in a.parts:
        wide = [cj.reindex(k, len(a.param_names) + len(space.dims), tuple(range(len(a.param_names)))) for k in knives]
        parts.append((space, conjoin_all(cs, wide)))
    return a._of(a.param_names, parts)


def fix(self: R, **values: int) -> R:
    """The slice at the given values of parameters or dimensions, which stay in place; linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < i }").fix(N=8, i=3))
    [N] -> { [3, j] : N = 8 and 0 <= j <= 2 }
    """
    out = self
    for name, value in values.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise SpaceMismatch(f"{name} is fixed to an integer, not to {value!r}", where=str(self))
        value = value.__index__()
        out = _fix_one(out, name, value)
    return out


def _fix_one(self: R, name: str, value: int) -> R:
    found = False
    parts = []
    for space, cs in self.parts:
        names = (*self.param_names, *space.dims)
        if name not in names:
            parts.append((space, cs))
            continue
        found = True
        row = [0] * (1 + len(names))
        row[0], row[1 + names.index(name)] = -value, 1
        knife = cj.normalise(len(names), (), [tuple(row)], ())
        parts.append((space, conjoin_all(cs, [knife])))
    if not found:
        known = [*self.param_names, *(d for s, _ in self.parts for d in s.dims)]
        raise UnknownName(f"no parameter or dimension is called {name!r}", where=str(self), hint=nearest(name, known))
    return self._of(self.param_names, parts)


def known_divs(self: R) -> R:
    """The same points, every existential a floor; exact, by parametric lexmin, may split pieces."""
    return self._of(
        self.param_names, [(s, tuple(d for c in cs for d in pj.with_known_divs(c))) for s, cs in self.parts]
    )


def project_out(self: R, *dims: str | int) -> R:
    """Forget some dimensions: a point is in the result when one above it is in this.

    Exact over the integers, m eliminations; existentials that no floor expresses stay existentials.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : i = 2j and 0 <= j < 5 }").project_out("j"))
    { [i] : i mod 2 = 0 and 0 <= i <= 8 }
    """
    space = self.space
    gone = {position(d, space.dims, str(space)) for d in dims}
    n_in = space.n_in
    out = without(space.out, {k - n_in for k in gone})
    inp = space.inp and without(space.inp, gone)
    drop = tuple(sorted(len(self.param_names) + k for k in gone))
    cs = (pj.project(c, drop) for c in self.parts[0][1])
    return self._of(self.param_names, [(Space(inp, out), tuple(c for c in cs if c is not None))])


def project_out_params(self: R, *names: str) -> R:
    """Forget some parameters, in every space; exact, m eliminations."""
    drop = tuple(sorted(position(p, self.param_names, f"[{', '.join(self.param_names)}]", "parameter") for p in names))
    params = tuple(p for k, p in enumerate(self.param_names) if k not in drop)
    parts = []
    for s, cs in self.parts:
        done = (pj.project(c, drop) for c in cs)
        parts.append((s, tuple(c for c in done if c is not None)))
    return self._of(params, parts)
