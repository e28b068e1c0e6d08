"""isl's methods that speak of dimensions by kind, position and number; see `values.kinds`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...conjuncts.conjunct import uses
from ...errors import EmptySet, Unbounded, UnknownName, kind_of
from ...operations.bounds import with_row
from ...optima.optimise import greatest_value
from ...values import kinds
from ...values.aff import var
from ...values.space import fresh, whole
from ..basic import Narrowed
from ..objects.values import Val, number, plain

if TYPE_CHECKING:
    from ...values.map import Map
    from ...values.relation import Relation
    from ...values.set import Set


def dim(self: Any, kind: Any) -> int:  # noqa: ANN401
    """The number of dimensions of a kind; of several tuples that all have as many outputs, that number of them.

    A set has no inputs, and so 0 of them, as has its space. What is one piece has one constant, and existentials.
    """
    if getattr(kind, "name", "") in ("cst", "div") and isinstance(self, Narrowed) and hasattr(self, "parts"):
        return 1 if kind.name == "cst" else max((len(c.divs) for _, cs in self.parts for c in cs), default=0)
    if getattr(kind, "name", "") in ("out", "set") and hasattr(type(self), "parts") and len(self.parts) > 1:
        widths = {space.n_out for space, _ in self.parts}
        if len(widths) == 1 and all(space.inp is not None for space, _ in self.parts):
            return widths.pop()
    return len(kinds.of_kind(self, kind))


def get_dim_name(self: Any, kind: Any, pos: int) -> str | None:  # noqa: ANN401
    """The name of a dimension; None behind the last one, as isl's."""
    names, at = kinds.of_kind(self, kind), whole(pos)
    return None if at is not None and at >= len(names) else kinds.spread(self, kind, pos)[0]


def get_var_names(self: Any, kind: Any) -> list[str]:  # noqa: ANN401
    """The names of the dimensions of a kind."""
    return list(kinds.of_kind(self, kind))


def get_var_dict(self: Any, kind: Any = None) -> dict[str, tuple[kinds.dim_type, int]]:  # noqa: ANN401
    """For each name the kind of the dimension and its position; of one kind if it is given."""
    wanted: list[Any] = [kinds.dim_type.param, kinds.dim_type.in_, kinds.dim_type.out] if kind is None else [kind]
    found = [(k, at, name) for k in wanted for at, name in enumerate(kinds.of_kind(self, k))]
    return {name: (kinds.dim_type[k.name], at) for k, at, name in found}


def find_dim_by_name(self: Any, kind: Any, name: str) -> int:  # noqa: ANN401
    """The position of a dimension of a kind, -1 where none has the name, as of the inputs of a set."""
    names = kinds.of_kind(self, kind)
    return names.index(name) if name in names else -1


def set_dim_name(self: Relation, kind: Any, pos: int, name: str) -> Any:  # noqa: ANN401
    """The same points, a dimension or parameter under another name.

    Another one that has the name gets a prime, for in isl two have one while a program swaps them, or takes their names
    from a list one by one; it is the dimension that gets one beside a parameter.
    """
    name, old = plain(name), kinds.spread(self, kind, pos)[0]
    params, dims = self.param_names, self.space.dims if len(self.parts) == 1 else ()
    other = fresh(name, (*params, *dims))
    if name != old and name in dims:
        self = self.rename_dims({name: other})
    elif name != old and name in params and kind.name == "param":
        self = self.rename_params({name: other})
    elif name != old and name in params:
        name = other
    return (self.rename_params if kind.name == "param" else self.rename_dims)({old: name})


def fix_val(self: Relation, kind: Any, pos: int, value: int) -> Any:  # noqa: ANN401
    """The slice at a value of a dimension: `fix`."""
    return self.fix({kinds.spread(self, kind, pos)[0]: value})


def lower_bound_val(self: Relation, kind: Any, pos: int, value: int) -> Any:  # noqa: ANN401
    """The points with at least a value of a dimension: `lower_bound`."""
    return self.lower_bound(kinds.spread(self, kind, pos)[0], value)


def upper_bound_val(self: Relation, kind: Any, pos: int, value: int) -> Any:  # noqa: ANN401
    """The points with at most a value of a dimension: `upper_bound`."""
    return self.upper_bound(kinds.spread(self, kind, pos)[0], value)


def without_kind(self: Relation, kind: Any, first: int, n: int) -> Any:  # noqa: ANN401
    """Without some dimensions: `project_out`; without none it is as it was, its tuple, too."""
    found = self.project_out(kind, first, n)
    return found if n else self


def _listed(self: object, given: Any, what: str) -> Any:  # noqa: ANN401
    """What is a list, or a text.

    Raises
    ------
    UnknownName : it is none.
    """
    if not isinstance(given, Iterable):
        raise UnknownName(f"{what} are a list, not {kind_of(given)}", where=str(self))
    return given


def without_params(self: Relation, names: Iterable[str]) -> Any:  # noqa: ANN401
    """Without some parameters, which may have any value; as in isl, one that isn't there is left out."""
    return self.project_out_param(*(n for n in _listed(self, names, "names") if n in self.param_names))


def without_param(self: Relation, name: str) -> Any:  # noqa: ANN401
    """Without a parameter, which may have any value; see `without_params`."""
    return without_params(self, [name])


def _but(self: Relation, names: Iterable[str], of: Iterable[Any]) -> list[str]:
    """The names of the dimensions of some kinds but those that are named."""
    names, of = _listed(self, names, "names"), _listed(self, of, "kinds of dimensions")
    wanted = {names} if isinstance(names, str) else {*names}
    return [d for kind in of for d in kinds.of_kind(self, kind) if d not in wanted]


def project_out_except(self: Relation, names: Iterable[str], types: Iterable[Any]) -> Any:  # noqa: ANN401
    """Without the dimensions of some kinds whose names are not given; the tuples are without a name then, as in isl."""
    for kind in _listed(self, types, "kinds of dimensions"):
        places = [kinds.of_kind(self, kind).index(d) for d in _but(self, names, [kind])]
        for pos in reversed(places):
            self = self.project_out(kind, pos, 1)
    return self


def eliminate_except(self: Relation, names: Iterable[str], types: Iterable[Any]) -> Any:  # noqa: ANN401
    """With any value for the dimensions of some kinds whose names are not given."""
    return self.eliminate(*_but(self, names, types))


def involves_dims(self: Any, kind: Any, first: int, n: int) -> bool:  # noqa: ANN401
    """Whether a constraint, or an expression, is of some dimensions of a kind, as it is written.

    Of the values of a function isl asks for the inputs at their positions, so that `dim_type.set` is of these.
    """
    names = {*kinds.spread(self, kind, first, n)}
    if not hasattr(self, "parts"):
        if kind is kinds.dim_type.out:
            inputs = kinds.of_kind(self, kinds.dim_type.in_)
            return bool(inputs[first:]) and involves_dims(self, kinds.dim_type.in_, first, min(n, len(inputs) - first))
        values = [e for _, e in self.pieces]
        said = {n for e in values for x in (e if isinstance(e, tuple) else (e,)) for n in x.names()}
        return bool(names & said) or involves_dims(self.domain(), _of_domain(kind), first, n)
    at = [k for k, d in enumerate((*self.param_names, *self.space.dims)) if d in names]
    return any(uses(c, k) for _, cs in self.parts for c in cs for k in at)


def _of_domain(kind: Any) -> Any:  # noqa: ANN401
    """The kind, in the domain of a function, of dimensions of the function."""
    return kinds.dim_type.set if kind.name == "in_" else kind


def by_graph(name: str) -> Callable[..., Any]:
    """A method of functions that changes parameters, inputs or what outputs there are as one of relations does.

    Of outputs alone some can go, or have another name: what isl refuses of them, as a new one, is refused here.
    """

    def method(self: Any, kind: Any, *args: Any) -> Any:  # noqa: ANN401
        several, kind_name = hasattr(self, "product"), getattr(kind, "name", None)
        out = kind_name == "out" and several and name in ("remove_dims", "set_dim_name")
        if kind_name not in ("param", "in_") and not out:
            raise UnknownName("outputs of a function stay what they are", where=str(self),
                              hint="dim_type.param, dim_type.in_")  # fmt: skip
        found = getattr(self.as_map(), name)(kind, *args).as_pw_multi_aff()
        return found if several else found[0]

    method.__doc__ = f"The function with other parameters or inputs; see `Map.{name}`."
    return method


def drop_dims(self: Any, kind: Any, first: int, n: int) -> Any:  # noqa: ANN401
    """Without some parameters or inputs: what the function is where they are 0, as in isl; or without some outputs."""
    drop = by_graph("remove_dims")
    if getattr(kind, "name", None) not in ("param", "in_"):
        return drop(self, kind, first, n)
    graph = self.as_map()
    at = graph.fix(dict.fromkeys(kinds.spread(graph, kind, first, n), 0)).as_pw_multi_aff()
    return drop(at if hasattr(self, "product") else at[0], kind, first, n)


def oppose(self: Map, kind: Any, pos: int, other_kind: Any, other_pos: int) -> Map:  # noqa: ANN401
    """The pairs of which two dimensions, by kind and position of each, are opposites."""
    a, b = (kinds.spread(self, *at)[0] for at in ((kind, pos), (other_kind, other_pos)))
    return with_row(self, "eq", var(a) + var(b))


# ---- bounds


def extremum(name: str) -> Callable[[Set, Any], Any]:
    """A method for the least or greatest value of a dimension or an expression, for all parameters together.

    As isl's it is an infinity where there is no bound, and NaN of no points, where our own method raises an error.
    """
    low = name.endswith("min")

    def val(self: Set, what: Any) -> Any:  # noqa: ANN401
        from ...functions.pwaff import PwAff
        from ...functions.rational import RationalPwAff

        try:
            if isinstance(what, (PwAff, RationalPwAff)):  # an objective, over the points of the set
                return getattr(what.intersect_domain(self), f"{name[-3:]}_val")()
            return greatest_value(self, what, -1 if low else 1, dim=name.startswith("dim"))
        except EmptySet:
            return Val.nan()
        except Unbounded:
            return Val.nan() if self.is_empty() else Val.neginfty() if low else Val.infty()

    val.__doc__ = f"The {name[-3:]}imum, for all parameters together; see `{name}`."
    return val


def bounded(ends: tuple[str, ...], of: Callable[[Iterable[bool]], bool]) -> Callable[..., bool]:
    """A method that asks of the pieces whether a dimension has bounds at some ends, where the others are given.

    isl takes multiples of a number as bounded at both ends, whatever the bounds are; this is exact.
    """

    def asked(self: Set, kind: Any, pos: int) -> bool:  # noqa: ANN401
        name = kinds.spread(self, kind, pos)[0]
        if kind.name == "param":
            raise UnknownName("bounds are those of dimensions of a set", where=str(self), hint="dim_type.set")
        if self.space.out.inner is not None:
            self = self.flatten()  # noqa: PLW0642 - a wrapped tuple takes no dimensions
        others = [d for d in self.space.dims if d != name]
        line = self.move_dims(*others, to="params") if others else self
        pieces = [p for p in line.pieces if not p.is_empty()]
        return of(_ends(p, name, end) for p in pieces for end in ends)

    asked.__doc__ = f"Whether {of.__name__} of the pieces have bounds of a dimension: {', '.join(ends)}."
    return asked


def _ends(line: Set, name: str, end: str) -> bool:
    """Whether a dimension, the only one, ends at one side: half of what is there is bounded."""
    half = line.upper_bound(name, 0) if end == "lower" else line.lower_bound(name, 0)
    return half.is_bounded()


_POINTS = "Set RationalSet Map RationalMap"
METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (f"{_POINTS} MultiPwAff Space Multi", "dim", dim),
    (f"{_POINTS} PwAff MultiPwAff Space", "get_dim_name", get_dim_name),
    (f"{_POINTS} PwAff MultiPwAff Space Multi Point", "get_var_names get_var_names_not_none", get_var_names),
    (f"{_POINTS} PwAff MultiPwAff Space Multi Point", "get_var_dict", get_var_dict),
    (f"{_POINTS} PwAff MultiPwAff Space Multi", "find_dim_by_name", find_dim_by_name),
    ("Set Map", "set_dim_name set_dim_id", set_dim_name),
    ("Set Map", "project_out_except", project_out_except),
    ("Set", "eliminate_except", eliminate_except),
    ("Set Map PwAff MultiPwAff", "involves_dims", involves_dims),
    ("Set Map", "fix_val", fix_val),
    *(("Set", f"{name}_val", number(extremum(name))) for name in ("dim_max", "dim_min", "max", "min")),
    ("Set Map", "lower_bound_val", lower_bound_val),
    ("Set Map", "upper_bound_val", upper_bound_val),
    ("Map", "oppose", oppose),
    ("Set Map", "remove_dims", without_kind),
    ("Set", "fix_dim_si", lambda self, pos, value: fix_val(self, kinds.dim_type.set, pos, value)),
    ("Set", "eliminate_dims", lambda self, first, n: self.eliminate(kinds.dim_type.set, first, n)),
    ("Set Map", "project_out_param_id", without_param),
    ("Set Map", "project_out_param_id_list", without_params),
    ("Set", "dim_is_bounded", bounded(("lower", "upper"), all)),
    *(
        ("Set", f"dim_has{word}_{end}_bound", bounded((end,), of))
        for end in ("lower", "upper")
        for word, of in (("", all), ("_any", any))
    ),
    ("Set RationalSet", "n_dim tuple_dim", lambda self: len(self.space.out.dims)),
    ("Map RationalMap", "domain_tuple_dim", lambda self: self.space.n_in),
    ("Map RationalMap", "range_tuple_dim", lambda self: self.space.n_out),
    ("Set RationalSet", "n_param", lambda self: len(self.param_names)),
    ("PwAff MultiPwAff", "set_dim_name", by_graph("set_dim_name")),
    ("PwAff", "add_dims", by_graph("add_dims")),
    ("PwAff MultiPwAff", "insert_dims", by_graph("insert_dims")),
    ("PwAff MultiPwAff", "move_dims", by_graph("move_dims")),
    ("PwAff MultiPwAff", "drop_dims", drop_dims),
    ("Map", "fix_input_si", lambda self, pos, value: fix_val(self, kinds.dim_type.in_, pos, value)),
    ("Map", "lower_bound_si", lower_bound_val),
    ("Map", "upper_bound_si", upper_bound_val),
)
"""Classes, isl's names, and the method."""
