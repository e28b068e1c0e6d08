"""isl's names of what forgets constraints or divs of sets and relations, bounds all dimensions, and reads fixed ones.

A superset is what is left without some divs or constraints. As with `relations`, these names are no attributes of the
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.normal import Div
from ..errors import SpaceMismatch
from ..operations.dimensions import column
from ..rationals.polyhedron import polyhedron, project
from ..values import kinds
from ..values.aff import Floor, var
from .explicit import listed
from .objects.values import Val
from .objects.vectors import need_same_tuple

if TYPE_CHECKING:
    from ..engine.rows import Row
    from ..values.relation import Relation
    from ..values.set import Set

R = TypeVar("R", bound="Relation")


def _changed(self: R, change: Callable[[Conjunct], Conjunct | None]) -> R:
    """With other conjuncts."""
    parts = [(s, tuple([d for c in cs if (d := change(c)) is not None])) for s, cs in self.parts]
    return self._of(self.param_names, parts)


# ---- without divs


def _without_divs(c: Conjunct, gone: set[int]) -> Conjunct | None:
    """The rational points of a conjunct without some of its divs, and what depends on these is any number."""
    if not gone:
        return c
    first = c.n
    p = polyhedron(first + len(c.divs), c.eqs, c.all_ineqs())
    if p is None:
        return None
    p = project(p, tuple([first + k for k in gone]))
    divs: list[Div] = []
    for k, div in enumerate(c.divs):  # a floor is of the columns before it
        if k not in gone:
            free = div is not None and not any(div[1][1 + first + j] for j in gone if j < k)
            row = [v for col, v in enumerate(div[1]) if col - 1 - first not in gone] if div is not None else []
            divs.append((div[0], tuple(row)) if div is not None and free else None)
    return cj.normalise(c.n, divs, p.eqs, p.ineqs)


def remove_divs(self: R) -> R:
    """The rational points without all divs: a superset without floors and existentials. Exact; see `project`."""
    return _changed(self, lambda c: _without_divs(c, set(range(len(c.divs)))))


def remove_unknown_divs(self: R) -> R:
    """Without the divs that no floor says; see `remove_divs`."""
    return _changed(self, lambda c: _without_divs(c, {k for k, div in enumerate(c.divs) if div is None}))


def remove_divs_involving_dims(self: R, kind: Any, first: int, n: int) -> R:  # noqa: ANN401
    """Without the divs whose floors mention some dimensions of a kind, or such a div; see `remove_divs`."""
    names = (*self.param_names, *self.space.dims)
    columns = {1 + names.index(d) for d in kinds.spread(self, kind, first, n)}

    def change(c: Conjunct) -> Conjunct | None:
        used, gone = set(columns), set[int]()
        for k, div in enumerate(c.divs):
            if div is not None and any(v and col in used for col, v in enumerate(div[1])):
                used.add(1 + c.n + k)
                gone.add(k)
        return _without_divs(c, gone)

    return _changed(self, change)


def involves_locals(self: Any) -> bool:  # noqa: ANN401
    """Whether a floor or an existential is in it, of a function also in its values."""
    if hasattr(self, "parts"):
        return any(c.divs for _, cs in self.parts for c in cs)
    return any(c.divs or any(isinstance(a, Floor) for v in values for a, _ in v.terms) for c, values in self.cells)


# ---- without constraints


def drop_constraints_not_involving_dims(self: R, kind: Any, first: int, n: int) -> R:  # noqa: ANN401
    """Without the constraints of `listed` that mention none of some dimensions of a kind; floors don't count.

    A superset.
    """
    return _keeping_rows(self, (kind, first, n), lambda r, at, _: any(r[k] for k in at))


def drop_constraints_involving_dims(self: R, *dims: Any) -> R:  # noqa: ANN401
    """Without the constraints of `listed` that mention some dimensions of a kind, also inside a floor; a superset.

    Unlike `drop_constraints_involving`, which solves equalities first, this asks what each says by itself, as isl does,
    but for floors that mention the dimensions, which equalities say otherwise.
    """
    return _keeping_rows(self, dims, lambda r, at, floors: not any(r[k] for k in (*at, *floors)))


def _keeping_rows(self: R, dims: Any, keeps: Callable[[Row, set[int], set[int]], bool]) -> R:  # noqa: ANN401
    """With the rows of which something holds that is asked with columns, and those of floors of these."""
    space = self.space
    columns = {1 + column(self, d) for d in kinds.by_name(self, dims)}
    start = 1 + len(self.param_names) + len(space.dims)

    def change(c: Conjunct) -> Conjunct | None:
        divs, eqs, ineqs = listed(c, start)
        floors: set[int] = set()
        for k, div in enumerate(divs, start):
            if div is not None and any(v and col in columns | floors for col, v in enumerate(div[1])):
                floors.add(k)
        return cj.normalise(c.n, divs, *([r for r in rows if keeps(r, columns, floors)] for rows in (eqs, ineqs)))

    return _changed(self, change)


# ---- bounds of all dimensions


def bounded(name: str) -> Callable[[Any, Any], Any]:
    """A method that bounds each dimension of a set, or each output of a relation, by numbers or functions."""

    def method(self: Any, limits: Any) -> Any:  # noqa: ANN401
        out = self.space.out
        need_same_tuple(out, limits, self)
        given = list(limits) if isinstance(limits, Iterable) else [limits]
        if len(given) != len(out.dims):
            raise SpaceMismatch(f"{len(given)} bounds are given of {len(out.dims)} dimensions", where=str(self))
        found = _where_defined(self, limits) if not out.dims else self
        for dim, limit in zip(out.dims, given, strict=True):
            found = _beyond(found, name, dim, limit) if hasattr(limit, "cells") else getattr(found, name)(dim, limit)
        return found

    method.__doc__ = f"`{name}` of each dimension of a set, or each output of a relation, by a number or a function."
    return method


def _where_defined(self: Any, limits: Any) -> Any:  # noqa: ANN401
    """The points, or pairs, where a function without outputs has its value; everything beside numbers."""
    if not hasattr(limits, "domain"):
        return self
    there = limits.domain()
    return self.intersect_params(there.params()) if self.space.inp is None else self.intersect_domain(there)


def _beyond(self: Any, name: str, dim: str, limit: Any) -> Any:  # noqa: ANN401
    """What a function of the parameters, or of a relation's inputs, bounds; nothing where it has no value."""
    found = []
    for where, expr in limit.pieces:
        if self.space.inp is None or not where.space.dims:
            there = self.intersect_params(where.params())
        elif where.space.out.key != self.space.source.key:
            raise SpaceMismatch("the bounds are of other inputs", where=f"{self.space}\n{limit}")
        else:
            names = dict(zip(where.space.dims, map(var, self.space.inp.dims), strict=True))
            expr = expr.rewrite(lambda d, names=names: names.get(d) or var(d))  # noqa: PLW2901
            there = self.intersect_domain(where)
        found.append(getattr(there.align_params(limit), name)(dim, expr))
    return reduce(type(self).union, found, self._of(self.param_names, [(self.space, ())]))


# ---- fixed dimensions


def plain_get_val_if_fixed(self: Relation, kind: Any, pos: int) -> Any:  # noqa: ANN401
    """The one value of a dimension, NaN where it has several or depends on others; exact.

    The same of a parameter.
    """
    (name,) = kinds.spread(self, kind, pos)
    hull = self.affine_hull()
    column = 1 + (*self.param_names, *self.space.dims).index(name)
    for c in hull.parts[0][1]:
        for row in c.eqs:
            if row[column] and not any(row[1:column]) and not any(row[column + 1 :]):
                return Val(-row[0] // row[column])
    return Val("NaN")


def get_plain_multi_val_if_fixed(self: Set) -> Any:  # noqa: ANN401
    """The value of each dimension, NaN where it has none; see `plain_get_val_if_fixed`."""
    from .objects.vectors import MultiVal

    values = [plain_get_val_if_fixed(self, kinds.dim_type.set, k) for k in range(len(self.space.out.dims))]
    return MultiVal(values, self.space)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set Map", "remove_divs", remove_divs),
    ("Set Map", "remove_unknown_divs", remove_unknown_divs),
    ("Set Map", "remove_divs_involving_dims", remove_divs_involving_dims),
    ("Set Map PwAff MultiPwAff", "involves_locals", involves_locals),
    ("Set Map", "drop_constraints_involving_dims", drop_constraints_involving_dims),
    ("Set Map", "drop_constraints_not_involving_dims", drop_constraints_not_involving_dims),
    ("Set Map", "lower_bound_multi_pw_aff", bounded("lower_bound")),
    ("Set Map", "upper_bound_multi_pw_aff", bounded("upper_bound")),
    ("Set", "lower_bound_multi_val", bounded("lower_bound")),
    ("Set", "upper_bound_multi_val", bounded("upper_bound")),
    ("Set Map", "plain_get_val_if_fixed", plain_get_val_if_fixed),
    ("Set", "get_plain_multi_val_if_fixed", get_plain_multi_val_if_fixed),
)
"""Classes, isl's names, and the method."""
