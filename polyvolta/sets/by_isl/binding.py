"""isl's names of what turns dimensions into parameters, and back: `bind` and `unbind`.

The tuple whose dimensions are meant is a `MultiId`, a set's, or the text of one: `s.bind("{ S[N, M] }")` calls the
dimensions of `S[i, j]` N and M, and makes them parameters. As with `relations`, these names are no attributes of the
classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..conjuncts import conjunct as cj
from ..errors import SpaceMismatch, kind_of
from ..values.space import Space, renamed
from .objects.vectors import MultiId

if TYPE_CHECKING:
    from ..functions.multi_pwaff import MultiPwAff
    from ..functions.pwaff import PwAff
    from ..values.map import Map
    from ..values.set import Set


def point(names: Set | MultiId | str) -> tuple[Set, tuple[str, ...]]:
    """The set of the one point whose dimensions are parameters of the same names, and these.

    Raises
    ------
    SpaceMismatch : neither a `MultiId`, nor a set of one tuple, nor the text of one; or a name stands twice.

    >>> print(*point("{ A[M, N] }"))
    [M, N] -> { A[M, N] } ('M', 'N')
    """
    from ..values.set import Set

    whole = Set(names) if isinstance(names, str) else names
    if isinstance(whole, MultiId):
        if len({*whole}) < len(whole):
            raise SpaceMismatch("two dimensions are bound to one name", where=str(whole))
        whole = Set.universe(Space(None, renamed(whole.space.out, map(str, whole))))
    if not isinstance(whole, Set) or len(whole.parts) != 1:
        raise SpaceMismatch(f"dimensions are bound to a tuple's names, not to {kind_of(names)}", where=str(names),
                            hint='the text of a set of all its points, "{ A[M, N] }", is a tuple here')  # fmt: skip
    own = whole.space.out
    n = len(own.dims)
    rows = [(0, *[int(j == k) - int(j == k + n) for j in range(2 * n)]) for k in range(n)]
    tup = renamed(own, tuple([f"{name}'" for name in own.dims]))
    return Set._of(own.dims, [(Space(None, tup), (cj.sure(cj.normalise(2 * n, (), rows, ())),))]), own.dims


def bind(self: Set, names: Set | MultiId | str) -> Set:
    """The parameters for which the point of these names is in the set."""
    return (self & point(names)[0]).params()


def bind_domain(self: Map, names: Set | MultiId | str) -> Set:
    """The outputs for the input of these names, which become parameters."""
    return self.intersect_domain(point(names)[0]).range()


def bind_range(self: Map, names: Set | MultiId | str) -> Set:
    """The inputs with the output of these names, which become parameters.

    Raises
    ------
    SpaceMismatch : the outputs are in another tuple, of a relation of one.
    """
    at = point(names)[0]
    if not self._is_union and len(self.parts) == 1 and self.space.out.key != at.space.out.key:
        raise SpaceMismatch("the names are of another tuple", where=f"{self}\n{at.space.out}")
    own = [part for part in self.parts if part[0].out.key == at.space.out.key]
    return self._of(self.param_names, own).intersect_range(at).domain()


def bind_values(self: Map, names: Set | MultiId | str) -> Set:
    """The points at which a function has the value of these names, which become parameters; see `bind_range`."""
    from .functions.unions import need_values_in

    need_values_in(self, {point(names)[0].space.out.key}, names, "binding values to names")
    return bind_range(self, names)


def bind_id(self: PwAff, name: str) -> Set:
    """The points at which the value is that of a parameter."""
    from ..values.aff import var

    return self.align_params([name]).eq_set(var(name))


def bind_function_domain(self: MultiPwAff, names: Set | MultiId | str) -> MultiPwAff:
    """The function at the input of these names, which become parameters."""
    return bind_domain(self.as_map(), names).as_pw_multi_aff()  # type: ignore[attr-defined]


def bind_domain_wrapped_domain(self: MultiPwAff, names: Set | MultiId | str) -> MultiPwAff:
    """The function of the second tuple of its wrapped inputs, at the first one of these names."""
    inner = self.as_map().curry()
    return inner.intersect_domain(point(names)[0]).range().unwrap().as_pw_multi_aff()


def unbind_params(self: Set, names: Set | MultiId | str) -> Set:
    """The points of these names, which have been parameters, for which a condition on parameters holds.

    Raises
    ------
    SpaceMismatch : the set has points of a tuple of its own, which would be lost.
    """
    if any(space.dims or space.out.name is not None or space.out.inner is not None for space, _ in self.parts):
        raise SpaceMismatch("unbind_params needs a set of parameters alone", where=str(self),
                            hint="unbind_params_insert_domain keeps the points, as outputs")  # fmt: skip
    whole, dims = point(names)
    return _unprimed(whole.intersect_params(self.params()).project_out_param(*dims), dims)


def _unprimed(found: Any, names: tuple[str, ...]) -> Any:  # noqa: ANN401
    """With the dimensions that came from `point` called as the parameters were, where nothing else is.

    Those of several tuples keep their primes: names say nothing of the points.
    """
    if len(found.parts) != 1:
        return found
    taken = {*found.param_names, *found.space.dims}
    return found.rename_dims({f"{n}'": n for n in names if n not in taken})


def unbind_params_insert_domain(kind: str) -> Callable[[Any, Set | MultiId | str], Any]:
    """A method that makes a relation or function of parameters one of a tuple of these names."""

    def method(self: Any, names: Set | MultiId | str) -> Any:  # noqa: ANN401
        from ..values.map import Map

        outputs = self if kind == "Set" else self.as_map().range()
        whole, dims = point(names)
        found = _unprimed(Map.from_domain_and_range(whole, outputs).project_out_param(*dims), dims)
        if kind == "Set":
            return found
        values = found.as_pw_multi_aff()
        return values[0] if kind == "PwAff" else values

    method.__doc__ = "With an input tuple of these names, which have been parameters."
    return method


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set", "bind", bind),
    ("Map", "bind_domain", bind_domain),
    ("Map", "bind_range", bind_range),
    ("Map", "bind", bind_values),
    ("PwAff", "bind_id", bind_id),
    ("MultiPwAff", "bind", lambda self, names: bind_range(self.as_map(), names)),
    ("MultiPwAff", "bind_domain", bind_function_domain),
    ("MultiPwAff", "bind_domain_wrapped_domain", bind_domain_wrapped_domain),
    ("Set", "unbind_params", unbind_params),
    ("Set", "unbind_params_insert_domain", unbind_params_insert_domain("Set")),
    ("PwAff", "unbind_params_insert_domain", unbind_params_insert_domain("PwAff")),
    ("MultiPwAff", "unbind_params_insert_domain", unbind_params_insert_domain("MultiPwAff")),
)
"""Classes, isl's names, and the method."""
