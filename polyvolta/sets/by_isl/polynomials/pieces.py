"""What isl's methods do to the sets on which a function by pieces has values: of polynomials, and of the greatest or
least of several.

Such a function has `param_names`, `pieces`, `home`, the one space of its sets, and `_with_pieces` to make another one;
its values have `subs` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...budgets import metered
from ...counting.bounds import never_negative
from ...counting.overlay import in_space, merged, over_both
from ...counting.quasipoly import around_point
from ...errors import NotAFunction, SpaceMismatch, Unbounded, UnknownName, kind_of, need_function
from ...values import kinds
from ...values.named import listed
from ...values.shape import need_set
from ...values.space import PARAMS, POINT, Space
from ..dimensions import by_kind as dimensions
from ..objects.lists import ListOf
from ..objects.numbers import Number
from ..objects.spaces import get_var_ids
from ..objects.values import Point, Val
from ..relations import is_params, is_universe, itself
from .on_spaces import get_id_dict, get_var_dict
from .spaces import IN, of_kind, valued
from .within import simpler

if TYPE_CHECKING:
    from ...values.set import Set

SET = kinds.dim_type.set


# ---- spaces


def home(self: Any) -> Space:  # noqa: ANN401
    """The one space of its points, which knows the parameters.

    Raises
    ------
    SpaceMismatch : its pieces lie in several tuples, or there is none.
    """
    if self.home is None:
        raise SpaceMismatch("the pieces lie in several tuples" if self.pieces else "0 everywhere is in no space",
                            where=str(self), hint='pick one with .only("name")' if self.pieces else "")  # fmt: skip
    return Space(None, self.home.out, self.param_names)


def is_union(self: Any) -> bool:  # noqa: ANN401
    """Whether any tuple may lack a counterpart: it is isl's union, or lies in no one space."""
    return self._is_union or self.home is None


def space_of(self: Any) -> Space:  # noqa: ANN401
    """Its space: the dimensions are inputs, the value is the output."""
    return valued(home(self).out, self.param_names)


def get_space(self: Any) -> Space:  # noqa: ANN401
    """Its space, that of the parameters where its points are of several tuples, or none, as isl's of a union."""
    return space_of(self) if self.home is not None else Space(None, PARAMS, self.param_names)


def in_its_space(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of spaces, asked of a function by pieces."""

    def asked(self: Any, *args: Any) -> Any:  # noqa: ANN401
        if getattr(next(iter(args), None), "name", None) == "param":
            return method(valued(PARAMS, self.param_names), *args)  # of several tuples, too
        return method(space_of(self), *args)

    asked.__doc__ = method.__doc__
    return asked


def has_equal_space(self: Any, other: Any) -> bool:  # noqa: ANN401
    """Whether both have the same tuple and the same parameters in the same order.

    Raises
    ------
    SpaceMismatch : one of them is in no space, or the other is of another kind.
    """
    if not isinstance(other, type(self)):
        raise SpaceMismatch(f"a {type(self).__name__} is needed, not {kind_of(other)}", where=str(other))
    return home(self).key == home(other).key and self.param_names == other.param_names


def domain(self: Any) -> Set:  # noqa: ANN401
    """The points of the pieces."""
    from ...values.set import Set

    found = Set.empty(home(self)) if self.home is not None else Set._of(self.param_names, [])
    for where, _ in self.pieces:
        found = found.union(where)
    return found


# ---- other dimensions


def changed(self: Any, change: Callable[[Set], Set], renames: bool = False) -> Any:  # noqa: ANN401
    """The function whose sets are changed by a function of sets; its values name dimensions anew if it renames."""
    from ...values.set import Set

    params, (pieces,) = over_both(self.param_names, self.pieces)
    where = change(Set.universe(home(self))) if self.home is not None else None
    out = []
    for s, q in pieces:
        t = change(s)
        if renames:
            q = q.subs(dict(zip((*s.param_names, *s.dims()), (*t.param_names, *t.dims()), strict=True)))
        out.append((t, q))
    params = where.param_names if where is not None else out[0][0].param_names if out else params
    return self._with_pieces(params, out, None if where is None else where.space)


def _set_kind(self: Any, kind: Any) -> Any:  # noqa: ANN401
    """The kind of dimensions of the sets that a kind of the function is."""
    return SET if of_kind(self, kind) is IN else kind


def on_sets(name: str, renames: bool = False) -> Callable[..., Any]:
    """A method that changes dimensions of a kind as one of sets does."""

    def method(self: Any, kind: Any, *args: Any) -> Any:  # noqa: ANN401
        kind = _set_kind(self, kind)
        rest = [_set_kind(self, a) if kinds.is_kind(a) else a for a in args]
        return changed(self, lambda s: getattr(s, name)(kind, *rest), renames)

    method.__doc__ = f"The function with other parameters or inputs; see `Set.{name}`."
    return method


def drop_dims(self: Any, kind: Any, first: int, n: int) -> Any:  # noqa: ANN401
    """Without some parameters or inputs: what it is where they are 0, as in isl."""
    kind = _set_kind(self, kind)
    gone = kinds.spread(domain(self), kind, first, n)
    zero: dict[str | int, int] = dict.fromkeys(gone, 0)
    _, (pieces,) = over_both(self.param_names, self.pieces)
    at = self._with_pieces(self.param_names, [(s.fix(zero), q.subs(zero)) for s, q in pieces], self.home)
    return changed(at, lambda s: s.project_out(kind, first, n))


def fix_val(self: Any, kind: Any, pos: int, value: int) -> Any:  # noqa: ANN401
    """What it is at a value of a dimension, and 0 elsewhere."""
    name = kinds.spread(home(self), SET if kind.name == "in_" else kind, pos)[0]
    _, (pieces,) = over_both(self.param_names, self.pieces)
    fixed = [(s.fix({name: value}), q) for s, q in pieces]
    return self._with_pieces(self.param_names, [(s, q) for s, q in fixed if not s.is_empty()], self.home)


def reset_domain_space(self: Any, space: Space) -> Any:  # noqa: ANN401
    """The function on another tuple of as many dimensions, and with other names of the parameters.

    Raises
    ------
    SpaceMismatch : there are more of them, or fewer.
    """
    new = space if space.inp is None else Space(None, space.inp, space.param_names)
    params = self.param_names if new.param_names is None else new.param_names
    if len(new.out.dims) != len(home(self).out.dims) or len(params) != len(self.param_names):
        raise SpaceMismatch("the spaces have other numbers of dimensions", where=f"{home(self)} and {new}")
    return changed(self, lambda s: type(s)._of(params, in_space(s, new).parts), True)


def from_range(self: Any) -> Any:  # noqa: ANN401
    """A function of parameters alone as one of a tuple of nothing.

    Raises
    ------
    SpaceMismatch : it is of dimensions.
    """
    if home(self).key != Space(None, POINT).key:
        raise SpaceMismatch("the function is not of parameters alone", where=str(self))
    nothing = Space(None, POINT)
    return self._with_pieces(self.param_names, [(in_space(s, nothing), q) for s, q in self.pieces], nothing)


def align_params(self: Any, model: Any) -> Any:  # noqa: ANN401
    """With the parameters of a space, or of what has some, in front of its own.

    Raises
    ------
    UnknownName : it has none.
    """
    outer = tuple(dict.fromkeys((*listed(model, self), *self.param_names)))
    return self._with_pieces(outer, [(s.align_params(outer), q) for s, q in self.pieces], self.home)


def drop_unused_params(self: Any) -> Any:  # noqa: ANN401
    """Without the parameters that no piece mentions."""
    for k in reversed(range(len(self.param_names))):
        if not involves_dims(self, kinds.dim_type.param, k, 1):
            gone = self.param_names[k]
            pieces = [(s.project_out_param(gone), q) for s, q in self.pieces]
            self = self._with_pieces([p for p in self.param_names if p != gone], pieces, self.home)
    return self


def involves_dims(self: Any, kind: Any, first: int, n: int) -> bool:  # noqa: ANN401
    """Whether some parameters or inputs are in a value, or in a condition, as these are written."""
    kind = _set_kind(self, kind)
    return any(
        not q.names().isdisjoint(kinds.spread(s, kind, first, n)) or dimensions.involves_dims(s, kind, first, n)
        for s, q in self.pieces
    )


def involves_param(self: Any, name: str) -> bool:  # noqa: ANN401
    """Whether a parameter is in a value, or in a condition."""
    at = self.param_names.index(name) if name in self.param_names else None
    return at is not None and involves_dims(self, kinds.dim_type.param, at, 1)


def project_domain_on_params(self: Any) -> Any:  # noqa: ANN401
    """The function of parameters alone, where its values are of these alone.

    Raises
    ------
    NotAFunction : a value is of a dimension, or there are two for the same parameters.
    """
    for s, q in self.pieces:
        if not q.names().isdisjoint(s.dims()):
            raise NotAFunction("a value is of the dimensions", where=str(self), hint="f.bound(fold.max) bounds it")
    params, (pieces,) = over_both(self.param_names, [(s.params(), q) for s, q in self.pieces])
    found = merged(pieces)
    for k, (s, _) in enumerate(found):
        if any(not s.is_disjoint(t) for t, _ in found[:k]):
            raise NotAFunction("there are two values for the same parameters", where=str(self))
    return self._with_pieces(params, found, Space(None, PARAMS))


def domain_reverse(self: Any) -> Any:  # noqa: ANN401
    """The function of the opposite pairs, of one of pairs; of several tuples, of those that are pairs."""
    kept = [(s, q) for s, q in self.pieces if s.space.out.inner is not None]
    if not is_union(self) and self.home.out.inner is None:
        raise SpaceMismatch("the function is of no pairs", where=str(self), hint="{ [A[i] -> B[j]] -> i }")
    return changed(self._with_pieces(self.param_names, kept, self.home), lambda s: s.wrapped_reverse())


# ---- other points


def narrowed(name: str, stays: bool = False) -> Callable[[Any, Set], Any]:
    """A method that restricts the sets as one of sets does, by what is given of their tuples.

    Where nothing is given of a tuple the function is 0 there, or stays as it is. A union is restricted to the
    parameters in a set of these alone.
    """

    def method(self: Any, other: Set) -> Any:  # noqa: ANN401
        need_set(other, name)
        if not stays and is_union(self) and is_params(other):
            return restricted_params(self, other)
        given = {space.key: (space, cs) for space, cs in other.parts}
        if not given and not is_union(self):
            given = {other.space.key: (other.space, ())}
        if not is_union(self) and len(given) == 1 and self.home.key not in given:
            raise SpaceMismatch("the set lies in another tuple", where=f"{other.space} and {self.home}")
        params = tuple(dict.fromkeys((*self.param_names, *other.param_names)))
        out = []
        for s, q in self.pieces:
            part = given.get(s.space.key)
            if part is not None:
                s = getattr(s, name)(type(other)._of(other.param_names, [part]))
            if (part is not None or stays) and not s.is_empty():
                out.append((s.align_params(params), q))
        return self._with_pieces(params, out, self.home)

    method.__doc__ = f"The function on other sets; see `Set.{name}`."
    return method


def by_tuple(keep: bool) -> Callable[[Any, Any], Any]:
    """A method that keeps the pieces of one space, or all others."""

    def method(self: Any, space: Space) -> Any:  # noqa: ANN401
        key = (space if space.inp is None else Space(None, space.inp)).key
        return self._with_pieces(self.param_names, [(s, q) for s, q in self.pieces if (s.space.key == key) == keep])

    method.__doc__ = f"The function {'on one space' if keep else 'on all spaces but one'}, 0 elsewhere."
    return method


def restricted_params(self: Any, context: Set) -> Any:  # noqa: ANN401
    """What it is where a condition on parameters holds, 0 elsewhere."""
    need_set(context, "intersect_params")
    found = [(s.intersect_params(context), q) for s, q in self.pieces]
    params = tuple(dict.fromkeys((*self.param_names, *context.param_names)))
    return self._with_pieces(params, [(s.align_params(params), q) for s, q in found if not s.is_empty()], self.home)


def restricted_pairs(side: str) -> Callable[[Any, Set], Any]:
    """A method that restricts a function of pairs to those with a first, or a second, point in a set."""

    def method(self: Any, other: Set) -> Any:  # noqa: ANN401
        need_set(other, f"intersect_domain_wrapped_{side}")
        if not is_union(self) and self.home.out.inner is None:
            raise SpaceMismatch("the function is of no pairs", where=str(self), hint="{ [A[i] -> B[j]] -> i }")
        params = tuple(dict.fromkeys((*self.param_names, *other.param_names)))
        out = []
        for s, q in self.pieces:
            inner = s.space.out.inner
            tup = inner and (inner.source if side == "domain" else inner.out)
            given = [part for part in other.parts if tup and part[0].out.key == tup.key]
            if not given and not is_union(self) and other.parts:
                raise SpaceMismatch("the set lies in another tuple", where=f"{other.space} and {self.home}")
            if given:
                s = getattr(s, f"intersect_factor_{side}")(type(other)._of(other.param_names, given))
                if not s.is_empty():
                    out.append((s.align_params(params), q))
        return self._with_pieces(params, out, self.home)

    method.__doc__ = f"What it is at the pairs whose {'first' if side == 'domain' else 'second'} point is in a set."
    return method


def within(self: Any, context: Set, of_params: bool = False) -> Any:  # noqa: ANN401
    """The same values at the points of a set, those of parameters if `of_params`; fewer conditions, simpler values.

    Pieces that have no point there are gone. The context of a union may be of parameters alone, whatever its tuples.
    """
    need_set(context, "gist")
    of_params = of_params or (is_union(self) and is_params(context))
    params = tuple(dict.fromkeys((*self.param_names, *context.param_names)))
    if not of_params and not is_union(self) and len(context.parts) == 1 and context.space.key != self.home.key:
        raise SpaceMismatch("the context lies in another tuple", where=f"{context.space} and {self.home}")
    left = []
    for s, q in self.pieces:
        meet, gist = (s.intersect_params, s.gist_params) if of_params else (s.intersect, s.gist)
        there = [part for part in context.parts if of_params or part[0].key == s.space.key]
        if not there:
            continue
        here = type(context)._of(context.param_names, there)
        both = meet(here)
        if not both.is_empty():
            left.append((gist(here).align_params(params), simpler(q, both)))
    params, (pieces,) = over_both([p for s, _ in left for p in s.param_names] or params, left)
    return self._with_pieces(params, merged(pieces), self.home)


# ---- values


def evaluated(self: Any, point: Sequence[int]) -> Any:  # noqa: ANN401
    """The value at a point, a tuple of numbers; parameters have the values that it knows; 0 outside the pieces.

    Raises
    ------
    Unbounded : a parameter has no value.
    SpaceMismatch : the point lies in another tuple, where those of a union, and of none, are 0; a piece, which holds
        integer points, is asked whether it has one with fractions.
    """
    key = point.space.key if isinstance(point, Point) else None
    if key is not None and is_union(self) and all(s.space.key != key for s, _ in self.pieces):
        return Val(0)
    params = {**dict.fromkeys(self.param_names, 0), **getattr(point, "params", {})}
    unknown = [p for p in self.param_names if p not in getattr(point, "params", {}) and involves_param(self, p)]
    if unknown:
        raise Unbounded(f"{unknown[0]} has no value", where=str(self), hint="f.eval_with_dict({...})")
    params = {p: params[p] for p in self.param_names}
    if isinstance(point, Point) and not is_union(self) and key != self.home.key:
        raise SpaceMismatch("the point lies in another tuple", where=f"{point.space} and {self.home}")
    if self.home is None and key is None and self.pieces:
        home(self)
    if self.home is not None and len(point) != len(self.home.dims):
        raise UnknownName(f"the point has {len(point)} coordinates", where=str(self.home))
    params, at = {p: _number(v) for p, v in params.items()}, tuple(map(_number, point))  # Python's own are faster
    pieces = [p for p in self.pieces if key in (None, p[0].parts[0][0].key)]
    with_fractions = any(isinstance(v, Fraction) for v in (*at, *params.values()))
    here = _everywhere(pieces, at) if with_fractions else around_point(pieces, at, params)
    return Val(self._of_values([q.evaluate({**params, **dict(zip(s.dims(), at))}) for s, q in here]))


def _everywhere(pieces: list[Any], point: Sequence[Any]) -> list[Any]:
    """The pieces, each of which is the set of everything: others are known at integers alone."""
    for where, _ in pieces:
        if not is_universe(where):
            raise SpaceMismatch(
                "an integer point is needed, as the pieces are of these",
                where=f"({', '.join(map(str, point))}) and {where}",
            )
    return pieces


def _number(value: Any) -> Any:  # noqa: ANN401
    if type(value) is not Number:
        return int(value) if isinstance(value, Val) else value
    if not value.is_rat():
        raise SpaceMismatch(f"a coordinate is a number, not {value}")
    return Fraction(value.num, value.den)


def is_zero(self: Any) -> bool:  # noqa: ANN401
    """Whether it is seen to be 0 everywhere."""
    each = [(s, p) for s, q in self.pieces for p in (q.values if hasattr(q, "values") else (q,))]
    return all(never_negative(p, s) and never_negative(-p, s) for s, p in each)


def of_parts(name: str) -> Callable[..., Any]:
    """A method that is one of a list of the function alone."""

    def method(self: Any, f: Callable[..., Any]) -> Any:  # noqa: ANN401
        need_function(f)
        found = [f(x) for x in by_spaces(self)]
        return all(found) if name == "every" else None

    method.__doc__ = "Whether a function holds" if name == "every" else "Call a function"
    method.__doc__ += " of each part, the pieces of one tuple."
    return method


def by_spaces(self: Any) -> list[Any]:  # noqa: ANN401
    """The function on each of its tuples."""
    keys = dict.fromkeys(s.space.key for s, _ in self.pieces)
    parts = [self._with_pieces(self.param_names, [p for p in self.pieces if p[0].space.key == k]) for k in keys]
    return ListOf(map(of_one, parts))


def of_one(f: Any) -> Any:  # noqa: ANN401
    """The function, of a union the same as what is of one tuple."""
    return f.of_one() if hasattr(type(f), "of_one") else f


def extract(self: Any, space: Space) -> Any:  # noqa: ANN401
    """The function on one space, 0 where it has no pieces there."""
    found = by_tuple(True)(self, space)
    there = space if space.inp is None else Space(None, space.inp)
    return of_one(found)._with_pieces(found.param_names, found.pieces, there)


BOTH = "PwQPolynomial PwQPolynomialFold"
METHODS: tuple[tuple[str, str, Any], ...] = (
    (BOTH, "copy coalesce", itself),
    ("PwQPolynomial", "to_str", lambda self: str(self)),
    (BOTH, "plain_is_equal", lambda self, other: self == other),
    (BOTH, "n_piece", lambda self: len(self.pieces)),
    (BOTH, "is_zero", metered(is_zero)),
    (BOTH, "space", property(space_of)),
    (BOTH, "get_space", get_space),
    (BOTH, "get_domain_space", home),
    (BOTH, "has_equal_space", has_equal_space),
    (BOTH, "domain", domain),
    (BOTH, "dim", in_its_space(dimensions.dim)),
    (BOTH, "get_var_names get_var_names_not_none", in_its_space(dimensions.get_var_names)),
    (BOTH, "get_var_dict", in_its_space(get_var_dict)),
    (BOTH, "get_var_ids", in_its_space(get_var_ids)),
    (BOTH, "get_id_dict", in_its_space(get_id_dict)),
    (BOTH, "find_dim_by_name", in_its_space(dimensions.find_dim_by_name)),
    ("PwQPolynomial", "insert_dims", on_sets("insert_dims")),
    ("PwQPolynomial", "add_dims", on_sets("add_dims")),
    (BOTH, "move_dims", on_sets("move_dims")),
    (BOTH, "set_dim_name", on_sets("set_dim_name", True)),
    (BOTH, "drop_dims", drop_dims),
    (BOTH, "fix_val", fix_val),
    ("PwQPolynomial", "reset_domain_space", reset_domain_space),
    ("PwQPolynomialFold", "reset_space", reset_domain_space),
    (BOTH, "from_range", from_range),
    (BOTH, "align_params", align_params),
    (BOTH, "drop_unused_params", drop_unused_params),
    ("PwQPolynomial", "involves_dims", involves_dims),
    (BOTH, "involves_param_id", involves_param),
    (BOTH, "project_domain_on_params", project_domain_on_params),
    ("PwQPolynomial", "domain_reverse", domain_reverse),
    (BOTH, "intersect_domain intersect_domain_union_set", narrowed("intersect")),
    (BOTH, "subtract_domain subtract_domain_union_set", narrowed("subtract", True)),
    (BOTH, "intersect_domain_space", by_tuple(True)),
    (BOTH, "subtract_domain_space", by_tuple(False)),
    (BOTH, "intersect_params", restricted_params),
    (BOTH, "intersect_domain_wrapped_domain", restricted_pairs("domain")),
    (BOTH, "intersect_domain_wrapped_range", restricted_pairs("range")),
    (BOTH, "gist", within),
    (BOTH, "gist_params", lambda self, context: within(self, context, True)),
    (BOTH, "eval", evaluated),
    ("PwQPolynomialFold", "reset_user", itself),
    *((c, f"{name}_pw_{word}", of_parts(name)) for name in ("foreach", "every") for c, word in (
        ("PwQPolynomial", "qpolynomial"), ("PwQPolynomialFold", "qpolynomial_fold"))),
    ("PwQPolynomial", "get_pw_qpolynomial_list", by_spaces),
    ("PwQPolynomialFold", "get_pw_qpolynomial_fold_list", by_spaces),
    ("PwQPolynomial", "extract_pw_qpolynomial", extract),
    ("PwQPolynomialFold", "extract_pw_qpolynomial_fold", extract),
    ("PwQPolynomial", "n_pw_qpolynomial", lambda self: len(by_spaces(self))),
    ("PwQPolynomialFold", "n_pw_qpolynomial_fold", lambda self: len(by_spaces(self))),
    ("PwQPolynomialFold", "to_list", lambda self: ListOf([self])),
)  # fmt: skip
"""Classes, isl's names, and the method."""
