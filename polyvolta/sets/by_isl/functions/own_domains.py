"""Tuples of functions of several tuples each of which has a domain of its own, as isl's `MultiUnionPwAff` have.

The tuple has values where all have one, and is a relation there, its `joint` function; what is of one member is at all
of its points. Where all have one domain it is a `MultiUnionPwAff` again, a relation.

>>> from polyvolta.isl import MultiUnionPwAff, UnionSet
>>> f = MultiUnionPwAff("L[{ A[i] -> [(i)]; B[k] -> [(k)] }, { A[i] -> [(0)] }]")
>>> print(f, f.domain(), f.as_map(), f.get_union_pw_aff(0), sep="; ")
L[{ A[i] -> [i]; B[k] -> [k] }, { A[i] -> [0] }]; { A[i] }; { A[i] -> L[i, 0] }; { A[i] -> [i]; B[k] -> [k] }
>>> print(f.add(f), f.intersect_domain(UnionSet("{ A[i] : i > 3 }")), sep="; ")
L[{ A[i] -> [2*i]; B[k] -> [2*k] }, { A[i] -> [0] }]; { A[i] -> L[i, 0] : i >= 4 }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from ...errors import SpaceMismatch
from ...functions.piecewise import Piecewise
from ...text.union_functions import Reader, named
from ...values import kinds
from ...values.named import Named, by_isl, update_persistent_hash
from ...values.shape import of_values
from ...values.space import Space, Tuple, position
from ..objects.lists import ListOf
from ..objects.values import Val
from ..objects.vectors import MultiVal
from .one_space import side_by_side


def together(out: Tuple, members: Iterable[Any]) -> Any:  # noqa: ANN401
    """The tuple of some functions, a relation or what has fractions where all have one domain; O(n) comparisons."""
    given = list(members)
    return joined(out, given) if have_one_domain(given) else UnionMembers(out, given)


def have_one_domain(members: list[Any]) -> bool:
    """Whether all functions have values at the same points."""
    first, *others = [f.domain() for f in members] or [None]
    return all(d == first or d.is_equal(first) for d in others)


def joined(out: Tuple, members: list[Any]) -> Any:  # noqa: ANN401
    """The values of some functions in a tuple, where all have one."""
    from .multi_union import MultiUnionPwAff
    from .union_fractions import functions_of, gathered, is_fractional
    from .unions import graph_of

    if any(map(is_fractional, members)):
        return gathered(side_by_side(out, map(functions_of, members)), MultiUnionPwAff)
    whole = reduce(lambda f, g: f.flat_range_product(g), map(graph_of, members))
    parts = [(Space(space.inp, named(out, space.out.dims)), cs) for space, cs in whole.parts]
    return MultiUnionPwAff(whole._of(whole.param_names, parts))


def members_of(f: Any) -> list[Any]:  # noqa: ANN401
    """The functions of one value each of a tuple of them."""
    return list(f.members) if isinstance(f, UnionMembers) else [f.get_union_pw_aff(k) for k in range(n_values(f))]


def n_values(f: Any) -> int:  # noqa: ANN401
    """How many values a function of several tuples has at a point."""
    return len(tuple_of(f).dims)


def tuple_of(f: Any) -> Tuple:  # noqa: ANN401
    """The tuple of the values; of nothing one without any."""
    return f.out if isinstance(f, UnionMembers) else f.get_space().out


class UnionMembers(metaclass=Named):
    """A tuple of functions; see the module. It is immutable. What it hasn't itself it has as its `joint` function."""

    __slots__ = ("members", "out")
    _takes_over = ("PwAff", "MultiPwAff")

    def __init__(self, out: Tuple, members: Iterable[Any]) -> None:
        given = list(members)
        params = tuple(dict.fromkeys([p for f in given for p in f.param_names]))
        self.members = tuple([f.align_params(params) for f in given])
        self.out = named(out, tuple([name or f"o{k}" for k, name in enumerate(out.dims)]))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("_"):
            return by_isl(self, name)
        return getattr(self.joint(), name)

    def joint(self) -> Any:  # noqa: ANN401
        """The function where all members have a value."""
        return joined(self.out, list(self.members))

    as_map = as_union_map = lambda self: self.joint().as_map()

    @property
    def param_names(self) -> tuple[str, ...]:
        """The parameters of all members."""
        return self.members[0].param_names

    def __str__(self) -> str:
        head = f"[{', '.join(self.param_names)}] -> " if self.param_names else ""
        texts = [str(f).removeprefix(head) for f in self.members]
        return head + _text(self.out, texts)

    to_str = __str__

    def __repr__(self) -> str:
        return f"MultiUnionPwAff({str(self)!r})"

    def __hash__(self) -> int:
        return hash((self.out.name, self.members))

    def __eq__(self, other: object) -> bool:
        """The same members, as written."""
        if not isinstance(other, UnionMembers):
            return False
        same = self.out.key == other.out.key and self.members == other.members
        return same or (Named.as_islpy and self.plain_is_equal(other))

    __bool__ = Piecewise.__bool__
    update_persistent_hash = update_persistent_hash

    def plain_is_equal(self, other: Any) -> bool:  # noqa: ANN401
        """Whether both have the same values in the same tuple, each at the same points."""
        theirs = members_of(other)
        return self.out.key == tuple_of(other).key and all(map(_equal, self.members, theirs))

    # ---- what it is of

    def get_space(self) -> Space:
        """The space of the values."""
        return Space(None, self.out, self.param_names)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """How many parameters or values there are."""
        return len(kinds.of_kind(self.get_space(), kind))

    def domain(self) -> Any:  # noqa: ANN401
        """The points where all members have a value."""
        return reduce(lambda a, b: a & b, [f.domain() for f in self.members])

    def copy(self) -> UnionMembers:
        """The function itself."""
        return self

    # ---- members

    def get_union_pw_aff(self, pos: int) -> Any:  # noqa: ANN401
        """One of the functions, by its position."""
        return self.members[position(pos, self.out.dims, str(self), "value")]

    get_at = get_union_pw_aff

    def get_list(self) -> ListOf:
        """The functions."""
        return ListOf(self.members)

    def set_union_pw_aff(self, pos: int, f: Any) -> Any:  # noqa: ANN401
        """With another function in the place of one."""
        return with_member(self, pos, f)

    set_at = set_union_pw_aff

    def _each(self, name: str, *args: Any) -> Any:  # noqa: ANN401
        return together(self.out, [getattr(f, name)(*args) for f in self.members])

    def _beside(self, name: str, other: Any) -> Any:  # noqa: ANN401
        if self.out.key != tuple_of(other).key:
            raise SpaceMismatch("two functions to one tuple are needed", where=f"{self}\n{other}")
        pairs = zip(self.members, members_of(other), strict=True)
        return together(self.out, [getattr(f, name)(g) for f, g in pairs])

    def _by_numbers(self, name: str, numbers: Any) -> Any:  # noqa: ANN401
        pairs = zip(self.members, [Val(v) if isinstance(v, int) else v for v in numbers], strict=True)
        return together(self.out, [getattr(f, name)(v) for f, v in pairs])

    def set_dim_name(self, kind: Any, pos: int, name: str) -> Any:  # noqa: ANN401
        """The same functions, one of the values, or a parameter, under another name."""
        if kind is kinds.dim_type.param:
            return self._each("set_dim_name", kind, pos, name)
        dims = list(self.out.dims)
        dims[position(pos, self.out.dims, str(self), "value")] = str(name)
        return UnionMembers(named(self.out, tuple(dims)), self.members)

    set_dim_id = set_dim_name

    def find_dim_by_name(self, kind: Any, name: str) -> int:  # noqa: ANN401
        """The position of a value, or of a parameter, of a name; -1 without one."""
        return self.get_space().find_dim_by_name(kind, name)  # type: ignore[attr-defined, no-any-return]

    find_dim_by_id = find_dim_by_name

    def max_multi_val(self) -> MultiVal:
        """The greatest value of each function."""
        return MultiVal([f.max_val() for f in self.members], self.get_space())

    def min_multi_val(self) -> MultiVal:
        """The least value of each function."""
        return MultiVal([f.min_val() for f in self.members], self.get_space())

    def set_tuple_id(self, kind: Any, name: str | None) -> Any:  # noqa: ANN401, ARG002
        """The same functions in a tuple of another name."""
        return UnionMembers(replace(self.out, name=None if name is None else str(name)), self.members)

    set_tuple_name = set_tuple_id

    def reset_tuple_id(self, kind: Any) -> Any:  # noqa: ANN401
        """The same functions in a tuple without a name."""
        return self.set_tuple_id(kind, None)

    def drop_dims(self, kind: Any, first: int, n: int) -> Any:  # noqa: ANN401
        """Without some of the functions, or what they are where some parameters are 0."""
        if kind is kinds.dim_type.param:
            return self._each("drop_dims", kind, first, n)
        kinds.spread(self.get_space(), kind, first, n)
        kept = [k for k in range(len(self.members)) if not first <= k < first + n]
        out = Tuple(self.out.name, tuple([self.out.dims[k] for k in kept]))
        return together(out, [self.members[k] for k in kept]) if kept else self.joint().drop_dims(kind, first, n)

    def flat_range_product(self, other: Any) -> Any:  # noqa: ANN401
        """The functions of both in one tuple."""
        return product(self, other, False)

    def range_product(self, other: Any) -> Any:  # noqa: ANN401
        """The functions of both in one tuple that wraps theirs."""
        return product(self, other, True)

    def range_splice(self, pos: int, other: Any) -> Any:  # noqa: ANN401
        """The functions of another tuple put in at a position."""
        return spliced(self, pos, other)

    def _factor(self, second: bool) -> Any:  # noqa: ANN401
        inner = self.out.inner
        if inner is None:
            raise SpaceMismatch("the values are no wrapped pairs", where=str(self))
        n = len(inner.source.dims)
        out, own = (inner.out, self.members[n:]) if second else (inner.source, self.members[:n])
        return together(out, own)

    def range_factor_domain(self) -> Any:  # noqa: ANN401
        """The first functions of wrapped pairs."""
        return self._factor(False)

    def range_factor_range(self) -> Any:  # noqa: ANN401
        """The second functions of wrapped pairs."""
        return self._factor(True)

    factor_range = range_factor_range


def _method(kind: str, name: str) -> Callable[..., Any]:
    """A method that does to each function what its own method of a name does."""

    def method(self: UnionMembers, *args: Any) -> Any:  # noqa: ANN401
        return getattr(self, kind)(name, *args)

    method.__name__, method.__qualname__ = name, f"MultiUnionPwAff.{name}"
    method.__doc__ = f"The tuple of what `{name}` gives of each function."
    return method


for _name in ("neg", "floor", "coalesce", "scale_val", "scale_down_val", "gist", "gist_params", "intersect_domain",
              "intersect_params", "align_params", "pullback_union_pw_multi_aff"):  # fmt: skip
    setattr(UnionMembers, _name, _method("_each", _name))
for _name in ("add", "sub", "union_add"):
    setattr(UnionMembers, _name, _method("_beside", _name))
for _name in ("scale", "scale_down", "mod"):
    setattr(UnionMembers, f"{_name}_multi_val", _method("_by_numbers", f"{_name}_val"))


def _equal(f: Any, g: Any) -> bool:  # noqa: ANN401
    return bool(f.plain_is_equal(g) if type(f) is type(g) else f == g)


def _text(out: Tuple, texts: list[str]) -> str:
    """A tuple with texts in the place of its dimensions."""
    if out.inner is None:
        return f"{out.name or ''}[{', '.join(texts)}]"
    n = len(out.inner.source.dims)
    return f"{out.name or ''}[{_text(out.inner.source, texts[:n])} -> {_text(out.inner.out, texts[n:])}]"


# ---- of two tuples of functions, each with one domain or of its own


def with_member(f: Any, pos: int, other: Any) -> Any:  # noqa: ANN401
    """With another function in the place of one."""
    found = members_of(f)
    out = tuple_of(f)
    found[position(pos, out.dims, str(f), "value")] = other
    return together(out, found)


def product(f: Any, g: Any, wrapped: bool) -> Any:  # noqa: ANN401
    """The functions of both in one tuple, which wraps theirs if asked to."""
    found = [*members_of(f), *members_of(g)]
    return together(of_values(tuple_of(f), tuple_of(g), wrapped, (*f.param_names, *g.param_names)), found)


def spliced(f: Any, pos: int, g: Any) -> Any:  # noqa: ANN401
    """The functions of the second in the first, from a position on.

    Raises
    ------
    SpaceMismatch : there is no such position.
    """
    found = members_of(f)
    if not 0 <= pos <= len(found):
        raise SpaceMismatch(f"{pos} is no position of {len(found)} values", where=str(f))
    found[pos:pos] = members_of(g)
    return together(Tuple(tuple_of(f).name, tuple([f"o{k}" for k in range(len(found))])), found)


class OwnDomains(Reader):
    """A reader of tuples of functions that keep their own domains."""

    def joined(self, out: Tuple, domain: Any, start: int) -> Any:  # noqa: ANN401
        from .multi_union import UnionPwMultiAff

        found = [UnionPwMultiAff(m) for m in self.members]
        if len(found) < 2 or have_one_domain(found):
            return super().joined(out, domain, start)
        whole = UnionMembers(out, found)
        return whole if domain is None else whole.intersect_domain(domain)  # type: ignore[attr-defined]
