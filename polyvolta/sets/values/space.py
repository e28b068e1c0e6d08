"""Spaces: which tuple of which arity a point lives in, with names for people.

`S[i, j]` is a `Tuple`; a set lives in a `Space` with one tuple (`out`), a map in one with two. Two tuples are
the same space when their names and arities agree (`key`); the names of the dimensions are for addressing and
printing and do not take part, as in isl. A wrapped relation `[S[i] -> A[j]]` is a tuple whose dimensions are
those of both sides, with `inner` remembering where the arrow is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING

from ..errors import SetSyntaxError, SpaceMismatch, UnknownName, kind_of, nearest
from .named import Named, by_isl


@dataclass(frozen=True, slots=True)
class Tuple:
    """A named tuple of named dimensions: `S[i, j]`; `name` is None for an anonymous one.

    `key` is what decides whether two tuples are the same space. `of_params` says, for print and for who asks, that a
    tuple of nothing is none: that of a condition on parameters, `{ : N > 0 }`, of the same key as `[]`.

    >>> from polyvolta.sets import Set
    >>> tup = Set("{ S[i, j] }").space.out
    >>> tup.name, tup.dims, tup.label
    ('S', ('i', 'j'), 'S')
    """

    name: str | None
    dims: tuple[str, ...]
    inner: Space | None = None
    of_params: bool = False
    key: tuple = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (self.name, len(self.dims), self.inner.key if self.inner else None))

    @property
    def label(self) -> str:
        """The name; of a wrapped tuple what it wraps, too, such as `read[A -> B]`: two labels are two spaces."""
        if self.inner is None:
            return self.name or ""
        sides = [t.label for t in (self.inner.inp, self.inner.out) if t is not None]
        return f"{self.name or ''}[{' -> '.join(sides)}]"

    def __str__(self) -> str:
        if self.inner is not None:
            return f"{self.name or ''}[{self.inner}]"
        return f"{self.name or ''}[{', '.join(self.dims)}]"


POINT = Tuple(None, ())  # of `{ [] }`
PARAMS = Tuple(None, (), of_params=True)  # of a condition on parameters, `{ : }`: the same space, and another text


@dataclass(frozen=True, slots=True)
class Space(metaclass=Named):
    """The space of a set (`inp` is None) or of a map from `inp` to `out`; see `Tuple` for its `key`.

    It is made of tuples, or of a text in isl's notation alone. A set's has one tuple, `out`; `dims` are the names of
    all dimensions, inputs first. The space of a value knows the parameters of that, too (`param_names`); they don't
    take part where two spaces are compared, and are None of a space that is made of tuples.

    >>> from polyvolta.sets import Map
    >>> space = Map("{ S[i] -> A[j, k] }").space
    >>> space.n_in, space.dims, str(space.out)
    (1, ('i', 'j', 'k'), 'A[j, k]')
    >>> Space("[N] -> { S[i] -> A[j, k] }").param_names
    ('N',)
    >>> Space(str(space)) == space
    True
    """

    inp: Tuple | None
    out: Tuple = None  # type: ignore[assignment]  # of a text
    param_names: tuple[str, ...] | None = field(default=None, repr=False, compare=False)
    key: tuple = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.out is None:
            self._read(self.inp)
        object.__setattr__(self, "key", (self.inp.key if self.inp else None, self.out.key))

    def _read(self, text: object) -> None:
        """Take the tuples and parameters of a text.

        Raises
        ------
        SetSyntaxError : it is no text of a set or a map.
        SpaceMismatch : it has several tuples.
        """
        from .map import Map
        from .set import Set

        if not isinstance(text, str):
            raise SetSyntaxError(f"a Space is made of tuples, or of a text, not of {kind_of(text)}")
        if "[" in text and "{" not in text:  # as spaces print
            text = f"{{ {text} }}"
        flat, shorter = "", text.partition("{")[2]
        while shorter != flat:  # an arrow inside of brackets is of a wrapped tuple
            flat, shorter = shorter, re.sub(r"\[[^][]*\]", "", shorter)
        value = (Map if "->" in flat else Set)(text)
        for name, found in (("inp", value.space.inp), ("out", value.space.out), ("param_names", value.param_names)):
            object.__setattr__(self, name, found)

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    @staticmethod
    def read_from_str(*text: object) -> Space:
        """The space of a text, which comes last; isl's context before it means nothing.

        >>> print(Space.read_from_str("{ A[i] -> B[j] }"))
        A[i] -> B[j]
        """
        return Space(text[-1] if text else None)  # type: ignore[arg-type]

    @staticmethod
    def create_from_names(
        context: object = None,
        set: Sequence[str] | None = None,  # noqa: A002 - islpy calls it so
        in_: Sequence[str] | None = None,
        out: Sequence[str] | None = None,
        params: Sequence[str] = (),
    ) -> Space:
        """The space of a set, or of a map, whose dimensions have some names; islpy has this function.

        `set` are the names of a set's dimensions, or `in_` and `out` those of a map's; `params` of the parameters. The
        `context` means nothing.

        Raises
        ------
        SpaceMismatch : names of a set and of a map are given, or none.

        >>> space = Space.create_from_names(set=["x", "y"], params=["n"])
        >>> print(space, space.param_names)
        [x, y] ('n',)
        """
        from ..by_isl.objects.spaces import of_names

        return of_names(set, in_, out, params)

    @staticmethod
    def set_alloc(context: object, nparam: int, dim: int) -> Space:
        """The space of a set with `nparam` parameters and `dim` dimensions, called `p0`, ... and `i0`, ...

        The `context` is isl's, which has this function.

        >>> print(Space.set_alloc(None, 1, 2))
        [i0, i1]
        """
        from ..by_isl.objects.spaces import counted

        return counted(nparam, dim)

    @staticmethod
    def unit(context: object = None) -> Space:
        """The space of parameters alone, of which there are none; the `context` is isl's, which has this function.

        >>> print(Space.unit())
        []
        """
        return Space(None, PARAMS, ())

    @staticmethod
    def params_alloc(context: object, nparam: int) -> Space:
        """The space of `nparam` parameters alone, called `p0`, ...; the `context` is isl's, which has this function.

        >>> Space.params_alloc(None, 2).param_names
        ('p0', 'p1')
        """
        return Space(None, PARAMS, tuple([f"p{k}" for k in range(nparam)]))

    @staticmethod
    def alloc(context: object, nparam: int, n_in: int, n_out: int) -> Space:
        """The space of a map with `nparam` parameters, `n_in` inputs and `n_out` outputs, called `o0`, ...

        The `context` is isl's, which has this function.

        >>> print(Space.alloc(None, 0, 1, 2))
        [i0] -> [o0, o1]
        """
        from ..by_isl.objects.spaces import counted

        return counted(nparam, n_in, n_out)

    def knowing(self, params: tuple[str, ...]) -> Space:
        """The same space, which knows the parameters of a value; see `Space`."""
        return self if self.param_names == params else Space(self.inp, self.out, params)

    @property
    def source(self) -> Tuple:
        """The input tuple, of a space that is a map's."""
        assert self.inp is not None
        return self.inp

    @property
    def n_in(self) -> int:
        return len(self.inp.dims) if self.inp else 0

    @property
    def n_out(self) -> int:
        return len(self.out.dims)

    @property
    def dims(self) -> tuple[str, ...]:
        """All dimension names, the input's first."""
        return (self.inp.dims if self.inp else ()) + self.out.dims

    def __str__(self) -> str:
        return f"{self.inp} -> {self.out}" if self.inp else str(self.out)


NOWHERE = Space(None, PARAMS)
"""Of conditions on parameters alone."""


def renaming(given: Tuple, wanted: Tuple, whose: str, method: str = "rename") -> str:
    """A hint on the method that makes a tuple another one; "" where more than their names differ.

    `whose` says of what operand the tuple is.

    >>> from polyvolta.sets import Set
    >>> one, other, longer = (Set(t).space.out for t in ("{ S[i] }", "{ [j] }", "{ [i, j] }"))
    >>> renaming(other, one, "the second"), renaming(longer, one, "the second")
    ("only the tuples' names differ: the second's .rename('S')", '')
    """
    if given.name == wanted.name or given.key[1:] != wanted.key[1:]:
        return ""
    return f"only the tuples' names differ: {whose}'s .{method}({wanted.name!r})"


def renamings(given: Space, wanted: Space) -> str:
    """The same of the two spaces of two operands, "the second" being of the first: both sides of maps."""
    if given.inp is None or wanted.inp is None:
        return renaming(given.out, wanted.out, "the second")
    if given.inp.key == wanted.inp.key:
        return renaming(given.out, wanted.out, "the second", "rename_range")
    first = renaming(given.inp, wanted.inp, "the second", "rename_domain")
    if not first or given.out.key == wanted.out.key:
        return first
    more = renaming(given.out, wanted.out, "the second", "rename_range")
    return more and f"{first}{more[more.rindex('.') :]}"


def unlike(a: Tuple, b: Tuple) -> bool:
    """Whether two tuples of as many dimensions say two things, by their names or by what they wrap, at any depth.

    A name says nothing beside none, and what is wrapped nothing beside a tuple that neither wraps nor has a name.

    >>> from polyvolta.sets import Space
    >>> one, two, three = (Space(text).out for text in ("[A[i] -> B[j]]", "[A[i] -> C[j]]", "[i, j]"))
    >>> unlike(one, two), unlike(one, three)
    (True, False)
    """
    if a.name and b.name and a.name != b.name:
        return True
    if a.inner is None or b.inner is None:
        flat = a if a.inner is None else b
        return (a.inner is not None or b.inner is not None) and flat.name is not None
    (first, second), (third, fourth) = ((t.inner.source, t.inner.out) for t in (a, b))  # type: ignore[union-attr]
    same_arity = len(first.dims) == len(third.dims)
    return not same_arity or unlike(first, third) or unlike(second, fourth)


def refuse_params(given: Sequence[Tuple], wanted: Sequence[Tuple], what: str) -> None:
    """Refuse a condition on parameters, `{ : }`, beside other tuples, of which it would leave none.

    Raises
    ------
    SpaceMismatch : `given` is `[]` alone, and `wanted` are tuples without it.

    >>> from polyvolta.sets import Set
    >>> several, point = Set("{ A[i]; B[j] }"), Set("[N] -> { : N > 0 }")
    >>> try:
    ...     several & point
    ... except SpaceMismatch as error:
    ...     print(error.hint)
    intersect_params restricts the parameters, gist_params simplifies by them
    """
    if not wanted or len(given) != 1 or given[0].key != POINT.key:
        return
    if all(t.key != POINT.key for t in wanted):
        raise SpaceMismatch(
            f"{what} needs a tuple in common, and {{ : }} is a condition on parameters",
            where="; ".join(map(str, wanted)),
            hint="intersect_params restricts the parameters, gist_params simplifies by them",
        )


STANDING = "\u02b9"
"""A letter that looks as a prime does; see `mark`."""


def mark() -> str:
    """What tells a name from another one beside it: a prime.

    Where this package stands in islpy's place it is one that programs don't write, as primes are the names' own there
    (`isl.stand_in`): who calls a dimension `i'` asks for it by that name after `i` has gone.
    """
    return STANDING if Named.as_islpy else "'"


def fresh(name: str, taken: Iterable[str]) -> str:
    """`name`, primed as often as it takes to differ from all `taken`."""
    taken = taken if isinstance(taken, (dict, set, frozenset)) else set(taken)
    while name in taken:
        name += mark()
    return name


def distinct(names: Iterable[str], taken: Iterable[str] = (), prime: str | None = None) -> tuple[str, ...]:
    """`names` made distinct from one another and from `taken`: old primes are dropped where they can be."""
    used, out, prime = set(taken), [], prime or mark()
    for name in names:
        name = name.rstrip(prime)
        while name in used:
            name += prime
        out.append(name)
        used.add(name)
    return tuple(out)


def renamed(tup: Tuple, dims: Iterable[str]) -> Tuple:
    """The tuple with other dimension names, inside a wrapped relation too."""
    dims = tuple(dims)
    if tup.inner is None:
        return tup if dims == tup.dims else Tuple(tup.name, dims)
    inner = tup.inner
    split = inner.n_in
    inp = renamed(inner.inp, dims[:split]) if inner.inp else None
    return Tuple(tup.name, dims, Space(inp, renamed(inner.out, dims[split:])))


def apart(space: Space, taken: Iterable[str]) -> Space:
    """The space, each dimension that is called like one of `taken` primed until no two names are equal."""
    taken = frozenset(taken)
    if taken.isdisjoint(space.dims):
        return space
    used = {*taken, *space.dims}
    dims: list[str] = []
    for name in space.dims:
        dims.append(fresh(name, used) if name in taken else name)
        used.add(dims[-1])
    n = space.n_in
    return Space(renamed(space.inp, dims[:n]) if space.inp else None, renamed(space.out, dims[n:]))


def without(tup: Tuple, gone: Iterable[int]) -> Tuple:
    """The tuple without the dimensions at some positions, inside a wrapped relation too."""
    gone = set(gone)
    if gone.isdisjoint(range(len(tup.dims))):
        return tup
    inner = tup.inner
    if inner is not None:
        split = inner.n_in
        inner = Space(inner.inp and without(inner.inp, gone), without(inner.out, {k - split for k in gone}))
    return Tuple(tup.name, tuple([d for k, d in enumerate(tup.dims) if k not in gone]), inner)


def whole(value: object) -> int | None:
    """A value that is an integer, numpy's ones too, as an `int`; None for others, truth values among them."""
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def position(dim: object, dims: tuple[str, ...], where: str | Space, what: str = "dimension") -> int:
    """The position of a dimension given by name or by position; `where` is for messages.

    Raises
    ------
    UnknownName : there is no such dimension; the hint names the nearest.
    """
    if not isinstance(dim, str):
        number = whole(dim)
        if number is None:
            raise UnknownName(f"a {what} is given by its name or position, not by {dim!r}", where=str(where))
        if -len(dims) <= number < len(dims):
            return number % len(dims)
        count = f"there is 1 {what}" if len(dims) == 1 else f"there are {len(dims)} {what}s"
        raise UnknownName(f"position {dim} is out of range", where=str(where), hint=count)
    if dim in dims:
        return dims.index(dim)
    raise UnknownName(f"no {what} is called {dim!r}", where=str(where), hint=nearest(dim, dims))


def positions(some: Iterable[object], dims: tuple[str, ...], where: str | Space, what: str = "dimension") -> list[int]:
    """The `position` of each of many; linear."""
    at = {name: k for k, name in enumerate(dims)}
    return [at[d] if isinstance(d, str) and d in at else position(d, dims, where, what) for d in some]
