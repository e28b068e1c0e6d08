"""Relations from spaces, points and expressions, and the question whether a point is in one.

Text is the usual way to write a set. A program that has numbers or expressions in hand makes one of those directly.
Spaces are given as text (`"S[i, j]"`, `"S[i] -> A[j]"`), as `Tuple` or `Space`, or as a relation that lives there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, TypeVar

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..counting.count import pinned
from ..errors import SetSyntaxError, SpaceMismatch, Unbounded, UnknownName, kind_of, nearest
from ..text.expressions import parse_aff
from ..values.aff import Aff, var
from ..values.build import RowBuilder
from ..values.shape import need_set, spaced
from ..values.space import PARAMS, Space, Tuple, distinct, whole
from .dimensions import named

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set

R = TypeVar("R", bound="Relation")
SpaceLike: TypeAlias = "str | Tuple | Space | Relation"


def _spaces(kind: type[Relation], given: SpaceLike) -> tuple[Space, ...]:
    """The spaces that a caller means, for a relation of `kind`."""
    wanted = "S[i] -> A[j]" if kind._is_map else "S[i, j]"
    if isinstance(given, str):
        if not given.strip():
            raise SpaceMismatch(f"a space is a text such as {wanted!r}, not an empty one")
        given = kind(given if "{" in given else f"{{ {given} }}")
    if isinstance(given, type):
        raise SpaceMismatch(f"a space is a text such as {wanted!r}, not {kind_of(given)}")
    if isinstance(given, Tuple):
        given = Space(None, given)
    if isinstance(given, Space):
        given = _of_kind(kind, given)
    found = (given,) if isinstance(given, Space) else tuple(s for s, _ in getattr(given, "parts", ()))
    if not found and not hasattr(given, "parts"):
        raise SpaceMismatch(f"a space is a text such as {wanted!r}, not {given!r}")
    for space in found:
        if (space.inp is not None) != kind._is_map:
            raise SpaceMismatch(f"a {kind.__name__} lives in a space such as {wanted}", where=str(space))
    return found


def _of_kind(kind: type[Relation], given: Space) -> Space:
    """A space without its parameters, which are those of the value; of a set as of a map without inputs, as isl's is.

    In isl a map lives in a set's space, too, and then has no inputs, and a function of parameters alone lives in a
    set's space. A `Space` alone is taken for the other kind; a text or a relation is what it says.
    """
    if kind._is_map and given.inp is None:
        return Space(PARAMS, given.out)
    if not kind._is_map and given.inp is not None and given.inp.of_params:
        return Space(None, given.out)
    return Space(given.inp, given.out)


def _one_space(kind: type[Relation], given: SpaceLike) -> Space:
    """The only space that a caller means; see `_spaces`."""
    found = _spaces(kind, given)
    if len(found) != 1:
        where = "; ".join(map(str, found)) or "nothing"
        raise SpaceMismatch("this operation needs a single space", where=where, hint='give it as a text: "S[i]"')
    return found[0]


def universe(cls: type[R], space: SpaceLike) -> R:
    """All points of a space, given as text, `Tuple`, `Space`, or a relation in it; linear.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set.universe("S[i, j]"), Map.universe("S[i] -> A[j]"))
    { S[i, j] } { S[i] -> A[j] }

    Raises
    ------
    SpaceMismatch : that is no space, or one for the other kind.
    """
    found = cls._of((), [(s, (cj.universe(len(s.dims)),)) for s in _spaces(cls, space)])
    return found.align_params(space.param_names) if isinstance(space, Space) and space.param_names else found


def empty(cls: type[R], space: SpaceLike) -> R:
    """No points, in a space; see `universe`.

    >>> from polyvolta.sets import Set
    >>> Set.empty("S[i, j]").is_empty()
    True
    """
    found = cls._of((), [(s, ()) for s in _spaces(cls, space)])
    return found.align_params(space.param_names) if isinstance(space, Space) and space.param_names else found


def identity(cls: type[Map], space: SpaceLike) -> Map:
    """Every point of a space with itself; see `universe`.

    Of a map's space, as isl's is, each point is with that of the other tuple that has the same numbers.

    >>> from polyvolta.sets import Map
    >>> print(Map.identity("S[i, j]"))
    { S[i, j] -> S[i, j] }
    """
    if not isinstance(space, Space) or space.inp is None or space.n_in != space.n_out:
        return everything(space).identity()
    found = everything(Space(None, space.inp, space.param_names)).identity()
    shown = spaced(space.inp, space.out, found.param_names)
    return found._of(found.param_names, [(shown, cs) for _, cs in found.parts])


def everything(space: SpaceLike) -> Set:
    """All points of the one tuple that both sides of an identity or an order are."""
    from ..values.set import Set

    if isinstance(space, Space) and space.inp is not None and space.inp.key == space.out.key:  # isl's way
        space = Space(None, space.inp, space.param_names)
    try:
        return universe(Set, space)
    except SetSyntaxError as error:
        if not error.message.startswith("this is a map"):
            raise
    raise SpaceMismatch(
        "both sides are one tuple here, which is given once",
        where=str(space),
        hint='such as "S[i, j]", without an arrow',
    )


def from_points(cls: type[R], space: SpaceLike, points: Iterable[Sequence[int]]) -> R:
    """The set of some points of a space; of a map's space, each point is the inputs and then the outputs.

    Exact; O(n log n). One conjunct for every run of neighbours along the last dimension.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set.from_points("S[i, j]", [(0, 1), (4, 7), (0, 2)]))
    { S[0, j] : 1 <= j <= 2; S[4, 7] }
    >>> print(Map.from_points("[i] -> [j]", [(3, 5), (0, 5)]).domain())
    { [0]; [3] }

    Raises
    ------
    SpaceMismatch : a point is not as many integers as the space has dimensions.
    """
    space = _one_space(cls, space)
    if not _is_list(points):
        hint = "list(s.points())" if hasattr(points, "parts") else "[(0, 1), (0, 2)]"
        raise SpaceMismatch(f"points are a list of tuples, not {kind_of(points)}", where=str(space), hint=hint)
    listed = sorted({_point(p, space) for p in points})
    return cls._of((), [(space, tuple(_runs(listed, len(space.dims))))])


def _point(point: object, space: Space) -> tuple[int, ...]:
    """The integers of a point."""
    n = len(space.dims)
    values = tuple(point) if isinstance(point, Iterable) and _is_list(point) else (point,)
    found = tuple(v for v in map(whole, values) if v is not None)
    if len(found) != n or len(found) != len(values):
        raise SpaceMismatch(f"a point is {n} integer{'s' * (n != 1)} here, not {point!r}", where=str(space))
    return found


def _is_list(value: object) -> bool:
    """Whether values can be taken from it one by one: no text, no relation, no array without dimensions."""
    if isinstance(value, (str, type)) or hasattr(value, "parts") or getattr(value, "shape", (1,)) == ():
        return False
    return isinstance(value, Iterable)


def _runs(points: Sequence[tuple[int, ...]], n: int) -> Iterable[Conjunct]:
    if not n:
        yield from [cj.universe(0)] * bool(points)
        return
    for _, run in groupby(enumerate(points), lambda at: (at[1][:-1], at[1][-1] - at[0])):
        found = [p for _, p in run]
        eqs = [(-v, *(int(k == d) for k in range(n))) for d, v in enumerate(found[0][:-1])]
        low, high = found[0][-1], found[-1][-1]
        gap = (0,) * (n - 1)
        yield cj.sure(cj.normalise(n, (), eqs, [(-low, *gap, 1), (high, *gap, -1)]))


def from_domain_and_range(cls: type[Map], inputs: Set, outputs: Set) -> Map:
    """Every point of one set with every point of another; O(m n) conjunctions, exact.

    `inputs` and `outputs` are sets.

    >>> from polyvolta.sets import Map, Set
    >>> print(Map.from_domain_and_range(Set("{ S[i] : i >= 0 }"), Set("{ A[j] : j <= 4 }")))
    { S[i] -> A[j] : i >= 0 and j <= 4 }
    """
    need_set(inputs, "a domain")
    need_set(outputs, "a range")
    return inputs.product(outputs).unwrap()


def from_affs(cls: type[Map], space: SpaceLike, outputs: Sequence[Aff | int | str], name: str | None = None) -> Map:
    """The function with the given outputs, expressions or their text in the dimensions of a set's space; linear.

    `name` is that of the output tuple.

    Names that are no dimensions are parameters, in alphabetical order.

    >>> from polyvolta.sets import Map, var
    >>> print(Map.from_affs("S[i, j]", [var("i") // 32, "j + N"], "A"))
    [N] -> { S[i, j] -> A[floor(i/32), N + j] }

    Raises
    ------
    SetSyntaxError : a text is no quasi-affine expression.
    SpaceMismatch : that is no space of a set, or an output is no expression.
    """
    from ..values.set import Set

    inp = _one_space(Set, space).out
    if isinstance(outputs, (str, Aff)) or not isinstance(outputs, Iterable):
        raise SpaceMismatch(f"outputs are a list of expressions, not {outputs!r}", where=str(inp))
    if name is not None:
        named(inp, name)
    affs = [_expression(e, inp) for e in outputs]
    params = tuple(sorted({n for e in affs for n in e.names()} - set(inp.dims)))
    dims = distinct((f"o{k}" for k in range(len(affs))), (*params, *inp.dims))
    pins = [("eq", var(d) - e) for d, e in zip(dims, affs, strict=True)]
    rows = RowBuilder((*params, *inp.dims, *dims)).conjunct(pins)
    return cls._of(params, [(spaced(inp, Tuple(name, dims), params), (cj.sure(rows),))])


def _expression(e: object, where: Tuple) -> Aff:
    if isinstance(e, str):
        return parse_aff(e)
    if isinstance(e, Aff):
        return e
    if isinstance(e, bool) or not isinstance(e, SupportsIndex):
        raise SpaceMismatch(f"an output is an expression, its text or an integer, not {e!r}", where=str(where))
    return Aff((), e.__index__())


# ---- membership


def contains(self: Relation, /, point: object, **params: int) -> bool:
    """Whether a point, a tuple of integers, is in the relation; for a map the inputs and then the outputs.

    `params` are the values of the parameters by name. Of a `Space`: whether the relation has points in it, as isl asks.

    Exact; one evaluation per row, and a search only for existentials that are no floors. `point in s` where no
    parameter is left without a value.

    >>> from polyvolta.sets import Map, Set
    >>> s = Set("[N] -> { S[i, j] : 0 <= i < N and (i + j) mod 3 = 0 }")
    >>> s.contains((4, 2), N=5), s.contains((4, 2), N=4)
    (True, False)
    >>> (3, 7) in Map("{ [i] -> [2i + 1] }")
    True

    Raises
    ------
    SpaceMismatch : there are several tuples, or the point has another number of dimensions.
    Unbounded : a parameter that matters has no value.
    UnknownName : no parameter of that name.
    """
    if isinstance(point, Space):  # isl's union sets are asked so
        return any(s.key == point.key for s, cs in self.parts if cs)
    numbers = coordinates(self, point, params)
    return any(cj.holds(c, numbers) for c in self.parts[0][1])


def coordinates(self: Relation, point: object, params: Mapping[str, int]) -> tuple[int, ...]:
    """The integers that a point is in a relation: the values of parameters, then its own; see `contains`."""
    values = _point(point, self.space)
    for name in params:
        if name not in self.param_names:
            raise UnknownName(f"no parameter is called {name!r}", where=str(self), hint=nearest(name, self.param_names))
    known = {**params}
    for k, name in enumerate(self.param_names):
        if name not in params and any(cj.uses(c, k) for c in self.parts[0][1]):
            value = pinned(self, name)
            if value is None:
                hint = f"give one: contains(point, {name}=...)"
                raise Unbounded(f"the parameter {name} has no value", where=str(self), hint=hint)
            known[name] = value
    numbers = [known.get(name, 0) for name in self.param_names]
    for name, v in zip(self.param_names, numbers, strict=True):
        if isinstance(v, bool) or not hasattr(v, "__index__"):
            raise SpaceMismatch(f"{name} is an integer, not {v!r}", where=str(self))
    return (*numbers, *values)
