"""Moving the dimensions of a relation into other tuples.

Wrapping, currying, reversing and products change which tuple a dimension stands in and in which order, and
nothing else. A part of a relation then keeps its rows: they are reindexed to the new order, and the new space gets
dimension names that are distinct, because text and names need that where rows don't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeGuard, TypeVar

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..errors import SpaceMismatch, kind_of
from ..optima.projected import projected
from .space import Space, Tuple, distinct, mark, renamed

if TYPE_CHECKING:
    from ..rationals.rational import RationalSet
    from .map import Map
    from .relation import Relation
    from .set import Set

R = TypeVar("R", bound="Relation")


@lru_cache(maxsize=1 << 12)
def spaced(inp: Tuple | None, out: Tuple, params: tuple[str, ...]) -> Space:
    """A space of these tuples whose dimension names are distinct from one another and from the parameters."""
    head = inp.dims if inp else ()
    names = (*head, *out.dims)
    together = (*names, *params)
    if len(set(together)) == len(together) and mark() not in "".join(names):
        return Space(inp, out)
    names = distinct(names, params)
    return Space(renamed(inp, names[: len(head)]) if inp else None, renamed(out, names[len(head) :]))


def pair(left: Tuple, right: Tuple, name: str | None = None) -> Tuple:
    """The wrapped tuple `[left -> right]`."""
    return Tuple(name, left.dims + right.dims, Space(left, right))


def flat(*tuples: Tuple) -> Tuple:
    """One anonymous tuple with the dimensions of all."""
    return Tuple(None, tuple(d for t in tuples for d in t.dims))


def of_values(left: Tuple, right: Tuple, wrapped: bool, taken: Iterable[str]) -> Tuple:
    """The tuple of the values of two functions, anonymous, which wraps theirs if asked to.

    Values keep their names, made distinct from one another and from those taken; one called by its position, as values
    without a name are, is called by its new one.
    """
    own = [None if d == f"o{k}" else d for t in (left, right) for k, d in enumerate(t.dims)]
    dims = distinct([name or f"o{k}" for k, name in enumerate(own)], taken)
    n = len(left.dims)
    return Tuple(None, dims, Space(renamed(left, dims[:n]), renamed(right, dims[n:])) if wrapped else None)


def rearranged(kind: type[R], self: Relation, change: Callable[[Space], tuple]) -> R:
    """A relation of `kind` whose parts are those of `self` in other tuples.

    `change(space)` gives the new input tuple or None, the new output tuple, and for each new dimension the position
    of the old one, inputs first. Old dimensions that it leaves out are projected out. Linear, projections aside.
    """
    n_par = len(self.param_names)
    parts = []
    for space, cs in self.parts:
        inp, out, order = change(space)
        moved = (_taken(c, n_par, order) for c in cs)
        parts.append((spaced(inp, out, self.param_names), tuple(c for c in moved if c is not None)))
    return kind._of(self.param_names, parts)


def _taken(c: Conjunct, n_par: int, order: Sequence[int]) -> Conjunct | None:
    """The conjunct over its parameters and the dimensions `order`, in that order."""
    kept = sorted(order)
    drop = tuple(n_par + k for k in range(c.n - n_par) if k not in kept)
    done = projected(c, drop)
    if done is None:
        return None
    rank = {k: at for at, k in enumerate(order)}
    return cj.reindex(done, done.n, (*range(n_par), *(n_par + rank[k] for k in kept)))


def linked(n: int, pairs: Iterable[tuple[int, int]]) -> Conjunct:
    """The conjunct over `n` dimensions in which the dimensions of each pair are equal."""
    rows = [(0, *[(k == a) - (k == b) for k in range(n)]) for a, b in pairs]
    return cj.sure(cj.normalise(n, (), rows, ()))


def all_spaces(self: Relation) -> str:
    """The spaces of a relation as a text, for messages."""
    return "; ".join(str(s) for s, _ in self.parts) or "nothing"


def single(*operands: Relation) -> bool:
    """Whether each has one tuple and none is a union: then a tuple that another one lacks is misspelt as a rule."""
    return all(len(r._rough) == 1 and not r._is_union for r in operands)


def is_map(value: object) -> TypeGuard[Map]:
    """Whether it is a Map, by its kind: classes are made of the modules that ask."""
    return not isinstance(value, type) and getattr(value, "_is_map", False)


def is_set(value: object) -> TypeGuard[Set]:
    """Whether it is a Set."""
    return not isinstance(value, type) and not getattr(value, "_is_map", True)


def is_rational_set(value: object) -> TypeGuard[RationalSet]:
    """Whether it is a RationalSet."""
    return not isinstance(value, type) and getattr(value, "_noun", None) == "RationalSet"


def is_beside(rational: object, integral: object) -> bool:
    """Whether one is a set or relation of rational points, and the other the same of integer ones."""
    if isinstance(rational, type) or isinstance(integral, type):
        return False
    noun = getattr(integral, "_noun", None)
    return noun in ("Set", "Map") and getattr(rational, "_noun", None) == f"Rational{noun}"


def need_map(value: object, what: str) -> Map:
    """`value`, which must be a Map."""
    if not is_map(value):
        hint = getattr(value, "_beside", "")
        raise SpaceMismatch(f"{what} needs a Map, not {kind_of(value)}", where=str(value), hint=hint)
    return value


def need_set(value: object, what: str) -> Set:
    """`value`, which must be a Set."""
    if not is_set(value):
        hint = getattr(value, "_beside", "")
        raise SpaceMismatch(f"{what} needs a Set, not {kind_of(value)}", where=str(value), hint=hint)
    return value
