"""isl's methods that speak of dimensions by kind, position and number; see `values.kinds`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..values import kinds

if TYPE_CHECKING:
    from ..values.relation import Relation


def dim(self: Any, kind: Any) -> int:  # noqa: ANN401
    """The number of dimensions of a kind."""
    return len(kinds.of_kind(self, kind))


def get_dim_name(self: Any, kind: Any, pos: int) -> str:  # noqa: ANN401
    """The name of a dimension."""
    return kinds.spread(self, kind, pos)[0]


def get_var_names(self: Any, kind: Any) -> list[str]:  # noqa: ANN401
    """The names of the dimensions of a kind."""
    return list(kinds.of_kind(self, kind))


def get_var_dict(self: Any, kind: Any = None) -> dict[str, tuple[kinds.dim_type, int]]:  # noqa: ANN401
    """For each name the kind of the dimension and its position; of one kind if it is given."""
    there = [k for k in (kinds.dim_type.param, kinds.dim_type.in_, kinds.dim_type.out)
             if k is not kinds.dim_type.in_ or self.space.inp is not None]  # fmt: skip
    wanted: list[Any] = there if kind is None else [kind]
    found = [(k, at, name) for k in wanted for at, name in enumerate(kinds.of_kind(self, k))]
    return {name: (kinds.dim_type[k.name], at) for k, at, name in found}


def find_dim_by_name(self: Any, kind: Any, name: str) -> int:  # noqa: ANN401
    """The position of a dimension of a kind, -1 where none has the name."""
    names = kinds.of_kind(self, kind)
    return names.index(name) if name in names else -1


def set_dim_name(self: Relation, kind: Any, pos: int, name: str) -> Any:  # noqa: ANN401
    """The same points, a dimension or parameter under another name."""
    rename = self.rename_params if kind.name == "param" else self.rename_dims
    return rename({kinds.spread(self, kind, pos)[0]: name})


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


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set Map PwAff MultiPwAff", "dim", dim),
    ("Set Map PwAff MultiPwAff", "get_dim_name", get_dim_name),
    ("Set Map PwAff MultiPwAff", "get_var_names get_var_names_not_none", get_var_names),
    ("Set Map PwAff MultiPwAff", "get_var_dict", get_var_dict),
    ("Set Map PwAff MultiPwAff", "find_dim_by_name", find_dim_by_name),
    ("Set Map", "set_dim_name", set_dim_name),
    ("Set Map", "fix_val", fix_val),
    ("Set Map", "lower_bound_val", lower_bound_val),
    ("Set Map", "upper_bound_val", upper_bound_val),
    ("Set Map", "remove_dims", without_kind),
    ("Set", "fix_dim_si", fix_val),
    ("Map", "fix_input_si", lambda self, pos, value: fix_val(self, kinds.dim_type.in_, pos, value)),
    ("Map", "lower_bound_si", lower_bound_val),
    ("Map", "upper_bound_si", upper_bound_val),
)
"""Classes, isl's names, and the method."""
