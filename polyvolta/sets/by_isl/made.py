"""isl's names of what makes sets and relations: of a space, of points, of a set's own parts, by adding and dividing.

As with `relations`, these names are no attributes of the classes; what isl has as a function of the class, such as
`Set.nat_universe(space)`, is one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from ..conjuncts import conjunct as cj
from ..engine.rows import Row
from ..errors import NotSupported, SpaceMismatch
from ..values import kinds
from ..values.aff import var
from ..values.shape import spaced
from ..values.space import Space
from .objects.numbers import Number
from .objects.spaces import every
from .objects.values import Point, integer
from .relations import same, spaces

if TYPE_CHECKING:
    from ..functions.pwaff import PwAff
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set
    from .objects.vectors import MultiVal

# ---- of a space


def nat_universe(space: Space) -> Any:  # noqa: ANN401
    """The points of a space of which no dimension is negative, and no parameter of those that the space knows."""
    return _not_negative(every(space), 0)


def positive_orthant(space: Space) -> Any:  # noqa: ANN401
    """The points of a space of which no dimension is negative, whatever the parameters are."""
    whole = every(space)
    return _not_negative(whole, len(whole.param_names))


def _not_negative(whole: Any, first: int) -> Any:  # noqa: ANN401
    n = len(whole.param_names) + len(whole.space.dims)
    return _one(whole, [], [tuple([int(j == 1 + k) for j in range(1 + n)]) for k in range(first, n)])


def _one(whole: Any, eqs: Sequence[Row], ineqs: Sequence[Row]) -> Any:  # noqa: ANN401
    """The points of all at which some rows hold."""
    n = len(whole.param_names) + len(whole.space.dims)
    return whole._of(whole.param_names, [(whole.space, (cj.sure(cj.normalise(n, (), eqs, ineqs)),))])


def empty_space(space: Space) -> Any:  # noqa: ANN401
    """No points of a space."""
    return type(every(space)).empty(space)


def compared_at(sign: int) -> Callable[[Space, int], Map]:
    """A function that relates points of a space that agree before a dimension by that."""

    def related(space: Space, pos: int) -> Map:
        return _ordered(space, pos, sign)

    related.__doc__ = "The pairs of a map's space that agree before a dimension, the first less there, or greater."
    return related


def _pairs(space: Space, n: int) -> Any:  # noqa: ANN401
    whole: Any = every(space)
    if space.inp is None or min(len(space.inp.dims), len(space.out.dims)) < n:
        raise SpaceMismatch(f"a space of two tuples with {n} dimensions is needed", where=str(space))
    return whole


def _difference(whole: Any, k: int) -> Row:  # noqa: ANN401
    """The row that is how much an output is above the input of the same position."""
    p, width = len(whole.param_names), 1 + len(whole.param_names) + len(whole.space.dims)
    row = [0] * width
    row[1 + p + k], row[1 + p + whole.space.n_in + k] = -1, 1
    return tuple(row)


def equal(space: Space, n: int) -> Any:  # noqa: ANN401
    """The pairs of a map's space whose first n dimensions agree."""
    whole = _pairs(space, n)
    return _one(whole, [_difference(whole, k) for k in range(n)], [])


def _ordered(space: Space, pos: int, sign: int) -> Any:  # noqa: ANN401
    whole = _pairs(space, pos + 1)
    row = [sign * v for v in _difference(whole, pos)]
    row[0] = -1
    return _one(whole, [_difference(whole, k) for k in range(pos)], [tuple(row)])


def lexicographic(sign: int, strict: bool) -> Callable[[Space, int], Any]:
    """A function that relates points by the order of their first n dimensions."""

    def related(space: Space, n: int) -> Any:  # noqa: ANN401
        found = _pairs(space, n)
        found = found._of(found.param_names, [(found.space, ())]) if strict else equal(space, n)
        for k in range(n):
            found = found | _ordered(space, k, sign)
        return found

    what = "less" if sign > 0 else "greater"
    related.__doc__ = f"The pairs (x, y) of which x's first n dimensions are {what}{'' if strict else ' or equal'}."
    return related


def of_text(kind: str) -> Any:  # noqa: ANN401
    """No points of no space."""
    from ..values.map import Map
    from ..values.set import Set

    return (Set if kind == "Set" else Map)("{ }")


# ---- of a set or a relation


def box_from_points(a: Point, b: Point) -> Set:
    """The box between two points of one space, which are corners of it, for what is between their parameters.

    Raises
    ------
    SpaceMismatch : they are in different spaces.
    """
    if a.space.key != b.space.key or a.params.keys() != b.params.keys():
        raise SpaceMismatch("a box is between points of one space", where=f"{a.to_str()}\n{b.to_str()}")
    box = type(a.to_set()).universe(Space(None, a.space.out, tuple(a.params)))
    corners = zip((*a.params, *range(len(a))), (*a.params.values(), *a), (*(b.params[p] for p in a.params), *b))
    for k, x, y in corners:
        box = box.lower_bound(k, min(x, y)).upper_bound(k, max(x, y))
    return box


def translation(deltas: Set) -> Map:
    """The pairs (x, y) of which y - x is in the set."""
    from ..values.map import Map

    space = deltas.space
    pairs = Map.universe(Space(space.out, space.out, deltas.param_names))
    return pairs.deltas_map().intersect_range(deltas).domain().unwrap()


def flatten_map(self: Set) -> Map:
    """The relation of each point to the same numbers in a tuple that is not wrapped."""
    return self.identity().flatten_range()


def project_onto_map(self: Set, kind: Any, at: int, n: int) -> Map:  # noqa: ANN401
    """The relation of each point to some of its dimensions.

    Raises
    ------
    UnknownName : they are parameters, of which a point has none.
    """
    kinds.need_of_points(self, kind)
    names = kinds.spread(self, kind, at, n)
    flat = self.identity().flatten_range()
    dims = flat.space.out.dims
    keep = {dims[self.space.out.dims.index(d)] for d in names}
    found = flat.project_out(*[d for d in dims if d not in keep])
    return found.rename_range(None)


def wrapped_domain_map(self: Set) -> Map:
    """The relation of each wrapped pair to its first point, under the names of the pairs; others have none."""
    alone = [self] if len(self.parts) == 1 else spaces(self)  # one keeps its space where it has no points
    wrapped = [s for s in alone if s.is_wrapping()]
    return _united(self, (s.unwrap().domain_map().rename_domain(s.space.out.name) for s in wrapped))


def domain_map_function(self: Map) -> Map:
    """The relation of each pair to its input, which is a function."""
    return _united(self, (m.domain_map() for m in spaces(self)))


def _united(like: Relation, maps: Iterable[Map]) -> Map:
    from ..values.map import Map

    first, *others = [*maps] or [Map._of(like.param_names, [])]
    return reduce(or_, others, first)


def insert_domain(self: Set, domain: Space) -> Map:
    """The relation of each point of a space to each point."""
    from ..values.map import Map

    points: Any = every(domain)
    return Map.from_domain_and_range(points, self)


def minkowski(self: Set | Map, other: Set | Map) -> Any:  # noqa: ANN401
    """The sums of a point of each, of relations those of two outputs of an input; exact.

    Raises
    ------
    SpaceMismatch : they are in different spaces.
    """
    from ..values.map import Map
    from ..values.set import Set

    space = self.space
    if space.key != other.space.key:
        raise SpaceMismatch("only points of one space are added", where=f"{self}\n{other}")
    graphs = [x if isinstance(x, Map) else Map.from_domain_and_range(Set("{ [] }"), x) for x in (self, other)]
    one, two = (m.flatten_range().rename_range(None) for m in graphs)
    both = one.flat_range_product(two)
    dims, n = both.space.out.dims, space.n_out
    sums = [var(x) + var(y) for x, y in zip(dims[:n], dims[n:], strict=True)]
    found = both.apply_range(Map.from_affs(Set.universe(Space(None, both.space.out)), sums))
    shown = spaced(found.space.source, space.out, found.param_names)
    found = found._of(found.param_names, [(shown, cs) for _, cs in found.parts])
    return found if isinstance(self, Map) else found.range()


def floordiv_val(self: Map, den: int) -> Map:
    """The pairs (x, floor(y / den)), den at least 1."""
    if (number := integer(den)) <= 0:
        raise NotSupported("outputs are divided by a positive number", where=f"{self}\n{den}")
    from ..values.map import Map

    out = self.range()
    space = out.space
    divided = Map.from_affs(out, [var(d) // number for d in space.out.dims])
    found = self.apply_range(divided)
    shown = spaced(self.space.inp, self.space.out, found.param_names)
    return found._of(found.param_names, [(shown, cs) for _, cs in found.parts])


def remove_inputs(self: Map, at: int, n: int) -> Map:
    """Some inputs forgotten."""
    return self.project_out(kinds.dim_type.in_, at, n)


def intersected(side: str) -> Callable[[Map, Space], Map]:
    """A method that keeps the pairs whose inputs or outputs are in one space."""

    def method(self: Map, space: Space) -> Map:
        wanted = every(space).space.out.key
        return self._of(self.param_names, [part for part in self.parts if (getattr(part[0], side)).key == wanted])

    method.__doc__ = f"The pairs of which the {'inputs' if side == 'source' else 'outputs'} are in one space."
    return method


def subtract_domain_space(self: Map, space: Space) -> Map:
    """The pairs of which the inputs are not in a space."""
    gone = every(space).space.out.key
    return self._of(self.param_names, [part for part in self.parts if part[0].source.key != gone])


def reset_space(self: Any, space: Space) -> Any:  # noqa: ANN401
    """The same numbers in another space of as many dimensions.

    Raises
    ------
    SpaceMismatch : it has others.
    """
    whole, own = every(space), self.space
    if (own.n_in, own.n_out, own.inp is None) != (space.n_in, space.n_out, space.inp is None):
        raise SpaceMismatch("the spaces have other numbers of dimensions", where=f"{own}\n{space}")
    return self._of(self.param_names, [(whole.space, cs) for _, cs in self.parts])


# ---- which is first


def at_position(none: int, equal_: int) -> Callable[[Set, Set, int], int]:
    """A method that compares the greatest of a dimension where those before it agree; see `furthest`."""

    def method(self: Set, other: Set, pos: int) -> int:
        most = _furthest(self, other, pos)
        return none if most is None else equal_ if most == 0 else 1 if most > 0 else -1

    method.__doc__ = (
        "Whether a set is ahead of another in a dimension, where parameters and what is before agree: 1 if somewhere, "
        f"-1 if it is behind everywhere, {equal_} if it is never ahead and somewhere equal, {none} if nothing agrees."
    )
    return method


def _furthest(self: Set, other: Set, pos: int) -> Any:  # noqa: ANN401
    """The most by which a dimension of a set exceeds that of another; None where nothing before it agrees."""
    from ..values.map import Map

    pairs = Map.from_domain_and_range(other, self)
    pairs = pairs & equal(Space(pairs.space.inp, pairs.space.out, pairs.param_names), pos)
    flat = pairs.flatten_domain().flatten_range().rename_domain(None).rename_range(None)
    return None if flat.is_empty() else flat.deltas().project_onto(pos).dim_max_val(0)  # type: ignore[attr-defined]


# ---- functions on a set


def number_on_domain(self: Set, number: Any) -> Any:  # noqa: ANN401
    """The function of the points of a set whose value is a number, a fraction or NaN, too."""
    from ..functions.pwaff import PwAff
    from ..functions.rational import lifted

    if type(number) is Number:
        return lifted(PwAff.on(self, 0)) + number
    return PwAff.on(self, integer(number))


def param_on_domain(self: Set, name: str) -> PwAff:
    """The function of the points of a set whose value is a parameter."""
    from ..functions.pwaff import PwAff

    return PwAff.on(self.align_params([*self.param_names, str(name)]), var(str(name)))


def numbers_on_domain(self: Set, numbers: MultiVal) -> Any:  # noqa: ANN401
    """The function of the points of a set whose values are some numbers; see `number_on_domain`."""
    from ..functions.members import MultiFunction

    if not len(numbers):
        from ..values.map import Map

        point: Any = every(numbers.space)
        graph = Map.from_domain_and_range(self, point)
        return graph.as_pw_multi_aff()  # type: ignore[attr-defined]
    space = spaced(self.space.out, numbers.space.out, self.param_names)
    found = MultiFunction.of(space, [number_on_domain(self, v) for v in numbers])
    return found.align_params([*found.param_names, *(numbers.space.param_names or ())])


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set Map", "nat_universe", nat_universe),
    ("Set", "positive_orthant", positive_orthant),
    ("Set Map", "empty_space", empty_space),
    ("Map", "equal", equal),
    ("Map", "less_at", compared_at(1)),
    ("Map", "more_at", compared_at(-1)),
    ("Map", "lex_lt_first", lexicographic(1, True)),
    ("Map", "lex_le_first", lexicographic(1, False)),
    ("Map", "lex_gt_first", lexicographic(-1, True)),
    ("Map", "lex_ge_first", lexicographic(-1, False)),
    ("Set", "box_from_points", box_from_points),
    ("Set", "translation", translation),
    ("Set", "flatten_map", flatten_map),
    ("Set", "project_onto_map", project_onto_map),
    ("Set", "wrapped_domain_map", wrapped_domain_map),
    ("Set", "identity_union_pw_multi_aff", same("identity")),
    ("Map", "domain_map_union_pw_multi_aff", domain_map_function),
    ("Set", "insert_domain", insert_domain),
    ("Set Map", "sum", minkowski),
    ("Map", "floordiv_val", floordiv_val),
    ("Map", "remove_inputs", remove_inputs),
    ("Map", "intersect_domain_space", intersected("source")),
    ("Map", "intersect_range_space", intersected("out")),
    ("Map", "subtract_domain_space", subtract_domain_space),
    ("Set", "reset_space", reset_space),
    ("Set", "compare_at", at_position(0, -2)),
    ("Set", "follows_at", at_position(-1, 0)),
    ("Set", "empty_ctx", lambda context: of_text("Set")),
    ("Map", "empty_ctx", lambda context: of_text("Map")),
    ("Set", "pw_aff_on_domain_val", number_on_domain),
    ("Set", "param_pw_aff_on_domain_id", param_on_domain),
    ("Set", "pw_multi_aff_on_domain_multi_val", numbers_on_domain),
)
"""Classes, isl's names, and the method."""
