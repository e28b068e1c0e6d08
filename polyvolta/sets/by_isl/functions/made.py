"""isl's names of functions of spaces, sets, numbers and other functions: projections, constants, splices.

What a relation's method does to the graph of a function it does to the function here. As with `relations`, these names
are no attributes of the classes; what isl has as a function of the class, `MultiAff.domain_map(space)`, is one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...conjuncts.conjunct import uses
from ...errors import SpaceMismatch, UnknownName
from ...values import kinds
from ...values.aff import var
from ...values.named import listed
from ...values.shape import spaced
from ...values.space import POINT, Space, Tuple
from ..made import number_on_domain, numbers_on_domain, param_on_domain
from ..objects.numbers import Number
from ..objects.on_spaces import of_members
from ..objects.spaces import every, set_tuple
from ..objects.values import Val, integer
from ..objects.vectors import need_same_tuple
from ..relations import same

if TYPE_CHECKING:
    from ...functions.multi_pwaff import MultiPwAff
    from ...functions.pwaff import PwAff
    from ...values.map import Map
    from ...values.set import Set
    from ..objects.vectors import MultiVal


def of_graph(self: Any, graph: Map) -> Any:  # noqa: ANN401
    """The function with a graph, of one value where `self` is."""
    from ...functions.pwaff import PwAff

    found = graph.as_pw_multi_aff()  # type: ignore[attr-defined]
    return found[0] if isinstance(self, PwAff) else found


def through(name: str) -> Callable[..., Any]:
    """A method that changes the graph of a function by a method of relations."""

    def method(self: Any, *args: Any) -> Any:  # noqa: ANN401
        return of_graph(self, getattr(self.as_map(), name)(*args))

    method.__doc__ = f"`{name}` of the graph, as a function."
    return method


# ---- of a space, on a set


def side(name: str) -> Callable[[Space], MultiPwAff]:
    """A function that gives the input or output of each pair of a map's space."""

    def made(space: Space) -> MultiPwAff:
        whole: Any = every(space)
        if space.inp is None:
            raise SpaceMismatch("a map's space is needed", where=str(space), hint="Map(text).get_space()")
        return getattr(whole, name)().as_pw_multi_aff()

    made.__doc__ = f"`{name}` of all pairs of a map's space, as a function."
    return made


def project_out_map(space: Space, kind: Any, first: int, n: int) -> MultiPwAff:  # noqa: ANN401
    """The function that leaves out some dimensions of each point of a set's space.

    Raises
    ------
    UnknownName : they are parameters, of which a point has none.
    """
    kinds.need_of_points(space, kind)
    whole: Any = every(Space(None, set_tuple(space), space.param_names))
    gone = kinds.spread(space, kind, first, n)
    flat = whole.identity().flatten_range().rename_range(None)
    at = {d: k for k, d in enumerate(space.out.dims)}
    return flat.project_out(*[flat.space.out.dims[at[d]] for d in gone]).as_pw_multi_aff()


def numbers_on_space(space: Space, numbers: MultiVal) -> Any:  # noqa: ANN401
    """The function of the points of a set's space whose values are some numbers."""
    points: Any = every(space)
    return numbers_on_domain(points, numbers)


def number_on_space(space: Space, number: Any) -> Any:  # noqa: ANN401
    """The function of the points of a set's space whose value is a number."""
    points: Any = every(space)
    return number_on_domain(points, number)


def param_on_space(space: Space, name: str) -> PwAff:
    """The function of the points of a set's space whose value is a parameter that the space knows.

    Raises
    ------
    UnknownName : it does not know it.
    """
    if str(name) not in (space.param_names or ()):
        raise UnknownName(f"the space knows no parameter {name}", where=str(space), hint="space.add_param_id(name)")
    points: Any = every(space)
    return param_on_domain(points, name)


def without_values(domain: Set) -> MultiPwAff:
    """The function of the points of a set without values."""
    from ...values.map import Map

    return Map.from_domain(domain).as_pw_multi_aff()  # type: ignore[attr-defined]


def of_set(points: Set) -> MultiPwAff:
    """The function without inputs whose value is the one point of a set for each choice of the parameters."""
    return points.as_pw_multi_aff()  # type: ignore[attr-defined]


def restricted(domain: Set, f: MultiPwAff) -> MultiPwAff:
    """A function on the points of a set alone."""
    return f.intersect_domain(domain)


def nowhere(space: Space) -> Any:  # noqa: ANN401
    """The function of a map's space without points, or of a set's without inputs."""
    whole: Any = every(space)
    return whole._of(whole.param_names, [(whole.space, ())]).as_pw_multi_aff()


def _in_tuple(f: MultiPwAff, out: Tuple) -> MultiPwAff:
    """The function with its values in another tuple of as many dimensions."""
    shown = spaced(f.space.inp, out, f.param_names) if f.space.inp is not None else Space(None, out)
    return f._of(f.param_names, Space(f.space.inp, shown.out), f.cells)


def identical(cls: type[MultiPwAff], called: str, space: Any) -> MultiPwAff:  # noqa: ANN401
    """The function of each point of a set's space to itself, or of a map's to the same numbers in its other tuple.

    Raises
    ------
    SpaceMismatch : the tuples have not as many dimensions, or that is no space.
    """
    graph: Any = every(space)
    if space.inp is None:
        return graph.identity().as_pw_multi_aff()
    if space.n_in != space.n_out:
        raise SpaceMismatch(f"{called} needs tuples of as many dimensions", where=str(space))
    found = graph.domain().identity().as_pw_multi_aff()
    return found._of(found.param_names, spaced(space.inp, space.out, found.param_names), found.cells)


def identity(self: Any) -> Any:  # noqa: ANN401
    """The function of each of the inputs of a function to the same numbers in the tuple of its values."""
    return identical(type(self), "identity", Space(self.space.source, self.space.out, self.param_names))


# ---- of functions


def from_range(self: Any) -> Any:  # noqa: ANN401
    """A function of parameters alone as one of a tuple of nothing.

    Raises
    ------
    SpaceMismatch : it has inputs.
    """
    if self.space.source.key != POINT.key:
        raise SpaceMismatch("a function with inputs is no set", where=str(self))
    return self._of(self.param_names, Space(POINT, self.space.out), self.cells)


def project_domain_on_params(self: Any) -> Any:  # noqa: ANN401
    """The function of the parameters that a function is that mentions no input.

    Raises
    ------
    SpaceMismatch : a value, or where there is one, depends on an input.
    """
    domain = self.domain()
    values = self.as_map().range()
    everywhere = domain.universe(domain.space).intersect_params(domain.params())
    if not domain.is_equal(everywhere) or not from_params(values).is_single_valued():
        raise SpaceMismatch("the function depends on an input", where=str(self))
    return of_graph(self, from_params(values))


def from_params(values: Set) -> Map:
    """The relation of a tuple of nothing to each point of a set."""
    from ...values.map import Map

    return Map.from_range(values)  # type: ignore[attr-defined]


def insert_domain(self: Any, domain: Space) -> Any:  # noqa: ANN401
    """The function without inputs as one of each point of a space, on which no value depends."""
    from ...values.map import Map

    points: Any = every(domain)
    return of_graph(self, Map.from_domain_and_range(points, self.as_map().range()))


def involves_param(self: Any, *names: Any) -> bool:  # noqa: ANN401
    """Whether a parameter is mentioned, or one of several."""
    given = {str(n) for some in names for n in ([some] if isinstance(some, str) else listed(some, self))}
    wanted = given.intersection(self.param_names)  # an input of that name is none
    columns = [k for k, p in enumerate(self.param_names) if p in wanted]
    return any(uses(c, k) for c, _ in self.cells for k in columns) or any(
        wanted & set(v.names()) for _, values in self.cells for v in values
    )


def range_is_wrapping(self: Any) -> bool:  # noqa: ANN401
    """Whether the values, of inputs, are wrapped pairs: what is of parameters alone has no range."""
    return self.space.out.inner is not None and not self.space.source.of_params


def drop_unused_params(self: Any) -> Any:  # noqa: ANN401
    """Without the parameters that nothing mentions."""
    return of_graph(self, self.as_map().drop_unused_params())


def plus_numbers(self: MultiPwAff, numbers: Any) -> Any:  # noqa: ANN401
    """The function plus a number, or plus one for each value, which may be fractions."""
    from ...functions.members import MultiFunction
    from ...functions.rational import lifted

    need_same_tuple(self.space.out, numbers, self)
    given = tuple(numbers) if isinstance(numbers, Iterable) else (numbers,) * len(self)
    if len(given) != len(self):
        raise SpaceMismatch(f"{len(given)} numbers are given for {len(self)} values", where=str(self))
    added: list[Any] = [n if type(n) is Number else integer(n) for n in given]
    if any(type(n) is Number for n in added):
        return MultiFunction.of(self.space, [lifted(f) + n for f, n in zip(self, added, strict=True)])
    cells = [(c, tuple([e + n for e, n in zip(values, added, strict=True)])) for c, values in self.cells]
    return self._of(self.param_names, self.space, cells)


def constants(self: MultiPwAff) -> Any:  # noqa: ANN401
    """The constant term of each value, of a function that is one expression each."""
    from ..objects.vectors import MultiVal

    space = Space(None, self.space.out, self.param_names)
    return MultiVal([Val(f.get_constant_val()) for f in self], space)  # type: ignore[attr-defined]


def extremes(name: str) -> Callable[[MultiPwAff, MultiPwAff], MultiPwAff]:
    """A method for the lesser or greater of the values of two functions, each by itself."""

    def method(self: MultiPwAff, other: MultiPwAff) -> MultiPwAff:
        if self.space.key != other.space.key:
            raise SpaceMismatch("only functions of one space are compared", where=f"{self.space}\n{other.space}")
        found = [getattr(f, name)(g) for f, g in zip(self, other, strict=True)]
        return _in_tuple(type(self).of(*found), self.space.out) if found else self

    method.__doc__ = f"The `{name}` of each value of the two."
    return method


def related(order: str) -> Callable[[MultiPwAff, MultiPwAff], Map]:
    """A method that relates the points of one function to those of another by the order of their values."""

    def method(self: MultiPwAff, other: MultiPwAff) -> Map:
        a, b = self.as_map(), other.as_map()
        return a.apply_range(b.reverse()) if order == "eq" else getattr(a, f"lex_{order}_map")(b)

    method.__doc__ = f"The pairs (x, y) of which f(x) and g(y) are lexicographically {order}."
    return method


def spliced(self: MultiPwAff, at: int, other: MultiPwAff) -> MultiPwAff:
    """The values of another function of the same inputs put in at a position."""
    if not 0 <= at <= len(self):
        raise SpaceMismatch(f"{at} is no position of {len(self)} values", where=str(self))
    both = self.flat_range_product(other)
    k, n = len(self), len(other)
    order = [*range(at), *range(k, k + n), *range(at, k)]
    cells = [(c, tuple([values[j] for j in order])) for c, values in both.cells]
    dims = tuple([both.space.out.dims[j] for j in range(k + n)])
    return both._of(both.param_names, Space(both.space.inp, Tuple(None, dims)), cells)


def beside(self: MultiPwAff, in_pos: int, out_pos: int, other: MultiPwAff) -> MultiPwAff:
    """The function of the inputs of both, in one tuple, with the values of both; others' put in at positions."""
    from ...values.map import Map

    a, b = self.as_map(), other.as_map()
    pairs = Map.from_domain_and_range(a.domain(), b.domain()).wrap().flatten()
    dims, n = pairs.space.out.dims, len(a.space.source.dims)
    order = (*dims[:in_pos], *dims[n:], *dims[in_pos:n])
    inputs = Map.from_affs(pairs, [var(d) for d in order]).range()
    name = dict(zip(order, inputs.space.out.dims, strict=True))
    one, two = (
        Map.from_affs(inputs, [var(name[d]) for d in own]).rename_range(m.space.source.name).apply_range(m)
        for own, m in ((dims[:n], a), (dims[n:], b))
    )
    return spliced(one.as_pw_multi_aff(), out_pos, two.as_pw_multi_aff())  # type: ignore[attr-defined]


def with_more_inputs(self: MultiPwAff, kind: Any, n: int) -> MultiPwAff:  # noqa: ANN401
    """The function with more inputs or parameters, on which no value depends."""
    return of_graph(self, self.as_map().add_dims(kind, n))


def fix_si(self: MultiPwAff, kind: Any, pos: int, value: int) -> MultiPwAff:  # noqa: ANN401
    """The function for one value of an input or a parameter."""
    return of_graph(self, self.as_map().fix_val(kind, pos, value))  # type: ignore[attr-defined]


def bound_domain(name: str) -> Callable[[PwAff, Any], PwAff]:
    """A method of functions of one value that those of several have."""

    def method(self: PwAff, names: Any) -> PwAff:
        from .. import binding

        return getattr(binding, name)(self, names)[0]

    method.__doc__ = f"See `binding.{name}`."
    return method


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("MultiPwAff", "domain_map", side("domain_map")),
    ("MultiPwAff", "range_map", side("range_map")),
    ("MultiPwAff", "project_out_map", project_out_map),
    ("MultiPwAff", "multi_val_on_domain_space multi_val_on_space", numbers_on_space),
    ("MultiPwAff", "multi_val_on_domain", numbers_on_domain),
    ("PwAff", "val_on_domain_space", number_on_space),
    ("PwAff", "param_on_domain_space_id", param_on_space),
    ("MultiPwAff", "from_domain", without_values),
    ("MultiPwAff", "from_set", of_set),
    ("MultiPwAff", "alloc", restricted),
    ("PwAff MultiPwAff", "empty", nowhere),
    ("MultiPwAff", "from_aff_list from_pw_aff_list", of_members),
    ("MultiPwAff", "identity_multi_aff identity_multi_pw_aff", identity),
    ("PwAff MultiPwAff", "from_range", from_range),
    ("PwAff MultiPwAff", "project_domain_on_params", project_domain_on_params),
    ("PwAff MultiPwAff", "insert_domain", insert_domain),
    ("PwAff MultiPwAff", "involves_param_id", involves_param),
    ("MultiPwAff", "involves_param_id_list", involves_param),
    ("PwAff MultiPwAff", "drop_unused_params", drop_unused_params),
    ("PwAff MultiPwAff", "intersect_domain_wrapped_domain", through("intersect_domain_wrapped_domain")),
    ("PwAff MultiPwAff", "intersect_domain_wrapped_range", through("intersect_domain_wrapped_range")),
    ("MultiPwAff", "add_constant_val add_constant_multi_val", plus_numbers),
    ("PwAff", "add_constant_num_si", lambda self, number: self + integer(number)),
    ("MultiPwAff", "get_constant_multi_val", constants),
    ("MultiPwAff", "flatten_domain", through("flatten_domain")),
    ("MultiPwAff", "flatten_range", through("flatten_range")),
    ("MultiPwAff", "range_is_wrapping", range_is_wrapping),
    ("MultiPwAff", "max", extremes("max")),
    ("MultiPwAff", "min", extremes("min")),
    ("MultiPwAff", "eq_map", related("eq")),
    ("MultiPwAff", "lex_lt_map", related("lt")),
    ("MultiPwAff", "lex_le_map", related("le")),
    ("MultiPwAff", "lex_gt_map", related("gt")),
    ("MultiPwAff", "lex_ge_map", related("ge")),
    ("MultiPwAff", "range_splice", spliced),
    ("MultiPwAff", "fix_si", fix_si),
    ("MultiPwAff", "splice", beside),
    ("MultiPwAff", "add_dims", with_more_inputs),
    ("PwAff", "bind_domain", bound_domain("bind_function_domain")),
    ("PwAff", "bind_domain_wrapped_domain", bound_domain("bind_domain_wrapped_domain")),
    ("PwAff", "is_nan", lambda self: False),
    ("PwAff", "pullback_aff", same("pullback")),
)
"""Classes, isl's names, and the method."""
