"""islpy's functions that bring two values to one space by the names of their dimensions.

Here parameters are brought together by every operation. These are for dimensions, of which isl looks at positions, and
for programs that call them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..conjuncts import conjunct as cj
from ..errors import SpaceMismatch, kind_of
from ..functions.piecewise import Piecewise
from ..values import kinds
from ..values.space import Space, Tuple
from .basic import Narrowed, narrowed


def align_spaces(obj: Any, template: Any, obj_bigger_ok: bool = False) -> Any:  # noqa: ANN401
    """A value with the parameters and dimensions of a template in its order, by name; those it lacks are free.

    Parameters
    ----------
    obj : a set, a relation, or a function, of which the parameters and inputs are brought in order.
    template : a set, a relation, a function or a space.
    obj_bigger_ok : whether names that the template lacks may stay, behind the others.

    As in isl a tuple whose dimensions are changed has no name then.

    Raises
    ------
    SpaceMismatch : a name is left over, or one of both is a relation.

    >>> from polyvolta.sets import Set
    >>> print(align_spaces(Set("[n] -> { [j, i] : i < j < n }"), Set("[m, n] -> { [i, k, j] }")))
    [m, n] -> { [i, k, j] : i < j < n }
    """
    if isinstance(obj, Narrowed):
        return narrowed(align_spaces(obj._wide(obj), template, obj_bigger_ok))
    source, target = _dims(obj), _dims(template)
    there = {n for names in target.values() for n in names}
    left = {k: [n for n in names if n not in there] for k, names in source.items() if k in target}
    extra = [n for names in left.values() for n in names]
    if extra and not obj_bigger_ok:
        raise SpaceMismatch(f"{extra[0]} has no place in the template", where=f"{obj}\n{template}",
                            hint="with obj_bigger_ok=True it stays, behind the others")  # fmt: skip
    if not (hasattr(obj, "parts") and (isinstance(template, Space) or hasattr(template, "parts"))):
        inputs = target.get("in_", target.get("out", ()))
        wanted = {"param": (*target["param"], *left["param"]), "in_": (*inputs, *left.get("in_", ()))}
        return _function(obj, wanted) if isinstance(obj, Piecewise) else obj.align_params(target["param"])
    if source.keys() != target.keys():
        raise SpaceMismatch("a set and a relation have no dimensions in common", where=f"{obj}\n{template}")
    return _moved(obj, {k: (*target[k], *left[k]) for k in target})


CHECK_DIM_TYPES = [kinds.dim_type.in_, kinds.dim_type.param, kinds.dim_type.out]
"""The kinds of dimensions that have names, of which islpy's functions look at each, in its order."""


def align_dim_type(
    kind: Any,  # noqa: ANN401
    obj: Any,  # noqa: ANN401
    template: Any,  # noqa: ANN401
    obj_bigger_ok: bool,
    obj_names: Iterable[str],
    template_names: Iterable[str],
) -> Any:  # noqa: ANN401
    """A value with the dimensions of one kind of a template, in its order; those among both lists of names move there.

    islpy's step of `align_spaces`. Names of the template that aren't in the first list are new dimensions.

    Raises
    ------
    SpaceMismatch : dimensions of that kind are left over, and may not be.

    >>> from polyvolta.sets import Map, dim_type
    >>> m, like = Map("[n] -> { [i] -> [j] : i < n }"), Map("[m, n] -> { [j] -> [i] }")
    >>> print(align_dim_type(dim_type.param, m, like, False, ["n"], ["m", "n"]))
    [m, n] -> { [i] -> [j] : i < n }
    """
    shared = {*obj_names} & {*template_names}
    source, wanted, key = _dims(obj), _dims(template), "out" if kind.name == "set" else kind.name
    names = wanted[key]
    there = {n for own in source.values() for n in own}
    moved = [n for n in names if n in shared and n in there]
    left = [n for n in source[key] if n not in moved]
    if left and not obj_bigger_ok:
        raise SpaceMismatch(f"{left[0]} has no place in the template", where=f"{obj}\n{template}")
    rest = {k: tuple([n for n in own if n not in moved]) for k, own in source.items()}
    return _moved(obj, {**rest, key: (*names, *left)})


def _dims(value: Any) -> dict[str, tuple[str, ...]]:  # noqa: ANN401
    """The names of parameters, inputs and outputs; a function's outputs have none."""
    space = value if isinstance(value, Space) else getattr(value, "space", None)
    if not isinstance(space, Space):
        raise SpaceMismatch(f"sets, relations, functions and spaces are aligned, not {kind_of(value)}")
    found = {"param": kinds.of_kind(value, kinds.dim_type.param)}
    if space.inp is not None:
        found["in_"] = space.inp.dims
    if isinstance(value, Space) or hasattr(value, "parts"):
        found["out"] = space.out.dims
    return found


def _function(f: Piecewise, wanted: dict[str, tuple[str, ...]]) -> Piecewise:
    """A function with all of its parameters and inputs, and more, in other places; its values are of names."""
    order = (*wanted["param"], *wanted["in_"])
    places = tuple(order.index(n) for n in f.names)
    inp = f.inp if f.inp.dims == wanted["in_"] else Tuple(None, wanted["in_"])
    cells = [(cj.reindex(c, len(order), places), values) for c, values in f.folded]
    return f._of_folded(wanted["param"], Space(inp, f.space.out), cells)


def _moved(obj: Any, wanted: dict[str, tuple[str, ...]]) -> Any:  # noqa: ANN401
    """The points of a set or relation with all of its dimensions, and more, in other places."""
    space, names = obj.space, (*obj.param_names, *obj.space.dims)
    sides = [(space.inp, wanted.get("in_", ())), (space.out, wanted["out"])]
    inp, out = (tup if tup is None or tup.dims == dims else Tuple(None, dims) for tup, dims in sides)
    order = [n for kind in ("param", "in_", "out") for n in wanted.get(kind, ())]
    at = {name: k for k, name in enumerate(order)}
    places = tuple(at[n] for n in names)
    pieces = tuple(obj._reindex(c, len(order), places) for c in obj.parts[0][1])
    assert out is not None
    return obj._of(wanted["param"], [(Space(inp, out), pieces)])


def align_two(first: Any, second: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Two values with the parameters and dimensions of both, in the order of the second; see `align_spaces`.

    >>> from polyvolta.sets import Set
    >>> for s in align_two(Set("[n] -> { [i, j] : i < n }"), Set("{ [k, i] }")):
    ...     print(s)
    [n] -> { [k, i, j] : i < n }
    [n] -> { [k, i, j] }
    """
    first = align_spaces(first, second, obj_bigger_ok=True)
    return first, align_spaces(second, first, obj_bigger_ok=True)


class _Names(dict):
    """Functions by name, and of other names as parameters."""

    def __init__(self, space: Any) -> None:  # noqa: ANN401 - the set of all points of a space
        from ..functions.pwaff import PwAff
        from ..values.aff import var

        self.space = space
        names = (*space.param_names, *space.space.dims)
        super().__init__({0: PwAff.on(space, 0), **{n: PwAff.on(space, var(n)) for n in names}})

    def __missing__(self, name: object) -> Any:  # noqa: ANN401
        from ..functions.pwaff import PwAff
        from ..values.aff import var

        if not isinstance(name, str):
            raise KeyError(name)
        return PwAff.on(self.space.align_params([*self.space.param_names, name]), var(name))


def affs_from_space(space: Any) -> dict[Any, Any]:  # noqa: ANN401
    """Functions on a space: each dimension and parameter by its name, and the function 0 by 0.

    A name that it lacks is a parameter's.

    Raises
    ------
    SpaceMismatch : it is no space of a set.

    >>> from polyvolta.sets import Set
    >>> v = affs_from_space(Set("{ [i, j] }").space)
    >>> print(v[0].le_set(v["i"]) & (v["i"] + v["j"]).lt_set(v["n"]))
    [n] -> { [i, j] : i >= 0 and j < n - i }
    """
    from ..values.set import Set

    return _Names(Set.universe(space))
