"""What sets and relations share whatever their points are: pieces in one or several spaces, over named parameters.

A value is immutable: every method returns a new one. Operands are aligned on the union of their parameters first, and
dimension names never matter for what an operation means, only tuple names and arities do. `==` compares structure,
which is cheap; `is_equal` compares points, which is the mathematics.

What a piece is, the classes say: a conjunct of integer points (`relation`), or a polyhedron of rational ones
(`rationals`). They say how a piece is moved to other columns, projected, and what piece has all points.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from ..budgets import metered, metered_class, meters_itself
from ..errors import SpaceMismatch, UnknownName, kind_of
from .named import Named, OverParams, listed, update_persistent_hash
from .space import POINT, Space, apart, refuse_params, renamings


class Piece(Hashable, Protocol):
    """Some points over `n` columns, parameters first."""

    @property
    def n(self) -> int: ...


P = TypeVar("P", bound=Piece)
R = TypeVar("R", bound="United[Any]")


@metered_class
class United(Generic[P], metaclass=Named):
    """A finite union of pieces, by space."""

    __slots__ = ("_hash", "param_names", "parts")
    param_names: tuple[str, ...]
    parts: tuple[tuple[Space, tuple[P, ...]], ...]
    _hash: int | tuple[int] | None  # in a tuple, that of the points
    _counted: ClassVar[str]  # what counts, and what lists its points or pieces, for errors
    _listed: ClassVar[str]
    _beside: ClassVar[str] = ""  # what makes an operand fit for a Set
    _is_union: ClassVar[bool] = False  # whether it is isl's union, of which any tuple may lack a counterpart
    _noun: ClassVar[str]  # the class, of a union the one that it derives from
    _reindex: Callable[[P, int, tuple[int, ...]], P]  # of `n` columns, its column k at the place k
    _project: Callable[[P, tuple[int, ...]], P | None]  # without some columns
    _universe: Callable[[int], P]

    @classmethod
    def _of(cls, params: tuple[str, ...], parts: Iterable[tuple[Space, tuple[P, ...]]]) -> Self:
        raise NotImplementedError

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from its parts, for another process hashes names otherwise."""
        return self._of, (self.param_names, self.parts)

    def __hash__(self) -> int:
        """Of how it is written; where `==` asks for the points, of these, the same however they are written."""
        if Named.as_islpy:
            if not isinstance(self._hash, tuple):  # an older one is of how it is written
                self._hash = (self._hash_of_points(),)
            return self._hash[0]
        if self._hash is None or isinstance(self._hash, tuple):
            self._hash = hash((self.param_names, frozenset([(s.key, frozenset(p)) for s, p in self.parts])))
        return self._hash

    def _hash_of_points(self) -> int:
        """What all of the same points share."""
        return hash(self._noun)

    def __eq__(self, other: object) -> bool:
        """Same parameters, spaces and normalised pieces: cheap; implies `is_equal`, not conversely."""
        if self._is_alike(other):
            return True
        if not (Named.as_islpy and isinstance(other, United) and self._noun == other._noun):
            return False
        value: Any = self
        return value.is_equal(other)

    def _is_alike(self, other: object) -> bool:
        """Whether both are written alike, which is what `==` asks; see `isl.stand_in` for where it asks more."""
        if not isinstance(other, United) or self._noun != other._noun or self.param_names != other.param_names:
            return False
        mine, theirs = self.parts, other.parts
        if len(mine) == 1 == len(theirs):
            ((space, cs),), ((other_space, ds),) = mine, theirs
            return space.key == other_space.key and (cs == ds or (len(cs) > 1 and set(cs) == set(ds)))
        return {s.key: set(p) for s, p in mine} == {s.key: set(p) for s, p in theirs}

    def __bool__(self) -> bool:
        if Named.as_islpy:
            return True
        raise SpaceMismatch(f"a {self._kind()} has no truth value", where=str(self), hint="ask not r.is_empty()")

    def __len__(self) -> int:
        raise SpaceMismatch(f"a {self._kind()} has no length", where=str(self), hint=self._counted)

    def __iter__(self) -> Iterator[Any]:
        raise SpaceMismatch(f"a {self._kind()} is not iterated by itself", where=str(self), hint=self._listed)

    def _kind(self) -> str:
        return self._noun.lower()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    update_persistent_hash = update_persistent_hash

    def _repr_html_(self) -> str:
        from ..text.notebook import html

        return html(str(self))

    # ---- structure

    @property
    def pieces(self) -> tuple[Self, ...]:
        """The pieces, each as an object of its own."""
        return tuple(self._of(self.param_names, [(s, (c,))]) for s, cs in self.parts for c in cs)

    @property
    def space(self) -> Space:
        """The one space of this object.

        Raises
        ------
        SpaceMismatch : it has several tuples, or none.
        """
        if len(self.parts) != 1:
            found = "; ".join(str(s) for s, _ in self.parts) or "nothing"
            hint = (
                "pick one with .only(name)" if self.parts else "it is empty, without a tuple: { S[i] : false } has one"
            )
            raise SpaceMismatch("this operation needs a single space", where=found, hint=hint)
        return self.parts[0][0].knowing(self.param_names)

    @property
    def tuple_names(self) -> tuple[str | None, ...]:
        """The names of the domain tuples (of the tuples, for a set), in order."""
        return tuple(dict.fromkeys((s.inp or s.out).name for s, _ in self.parts))

    def only(self, name: str | None) -> Self:
        """The part whose (domain) tuple is called `name`; empty when there is none.

        `UnknownName` is raised where `name` is neither a name nor None.

        Raises
        ------
        UnknownName

        >>> from polyvolta.sets import Set
        >>> print(Set("{ S[i] : i > 0; T[j] : j < 0 }").only("S"))
        { S[i] : i >= 1 }
        """
        if name is not None and not isinstance(name, str):
            raise UnknownName(f"a tuple is given by its name, not by {name!r}", where=str(self))
        return self._of(self.param_names, [(s, p) for s, p in self.parts if (s.inp or s.out).name == name])

    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions, inputs first.

        `SpaceMismatch` is raised where there are several tuples, or none.

        >>> from polyvolta.sets import Map
        >>> Map("{ S[i, j] -> [k] : k = i + j }").dims()
        ('i', 'j', 'k')
        """
        return self.space.dims

    @meters_itself
    def align_params(self, params: Iterable[str] | OverParams) -> Self:
        """The same points over a longer list of parameters; those it lacks are unconstrained.

        `params` are names, or a set, relation or function whose parameters they are; they come first, in their order.

        A dimension that is called like a parameter gets a prime, in print and for addressing it.

        >>> from polyvolta.sets import Set
        >>> print(Set("{ A[i] : i > 0 }") & Set("[i] -> { A[j] : j < i }"))
        [i] -> { A[i'] : 1 <= i' < i }
        >>> print(Set("[M, N] -> { [i] : i < N }").align_params(Set("[P, N] -> { : P < N }")))
        [P, N, M] -> { [i] : i < N }

        Raises
        ------
        UnknownName : something that is no list of names and has no parameters.
        """
        return self if type(params) is tuple and params == self.param_names else self._align_params(params)

    @metered
    def _align_params(self, params: Iterable[str] | OverParams) -> Self:
        wanted = tuple(dict.fromkeys([*listed(params, self), *self.param_names]))
        if wanted == self.param_names:
            return self
        shift = len(wanted) - len(self.param_names)
        at = {p: k for k, p in enumerate(wanted)}
        head = tuple([at[p] for p in self.param_names])

        def move(c: P) -> P:
            places = head + tuple(range(len(wanted), c.n + shift))
            return self._reindex(c, c.n + shift, places)

        return self._of(wanted, [(apart(s, wanted), tuple(map(move, cs))) for s, cs in self.parts])

    def _aligned(self, other: R) -> tuple[Self, R]:
        if self.param_names == other.param_names:
            return self, other
        params = tuple(dict.fromkeys([*self.param_names, *other.param_names]))
        return self.align_params(params), other.align_params(params)

    def _check_kind(self, other: object, what: str) -> None:
        if not isinstance(other, United) or other._noun != self._noun:
            kind = self._noun
            raise SpaceMismatch(
                f"{what} needs two {kind}s, not a {kind} and {kind_of(other)}",
                where=f"{self}\n{other}",
                hint=self._beside or getattr(other, "_beside", "") if isinstance(other, United) else "",
            )

    def _check_space(self, other: United[Any], what: str) -> None:
        """Refuse two single spaces that differ; several, and unions, may lack a counterpart."""
        self._check_kind(other, what)
        if self._is_union or other._is_union:
            return
        if len(self.parts) == 1 == len(other.parts) and self.parts[0][0].key != other.parts[0][0].key:
            here, there = self.parts[0][0], other.parts[0][0]
            self._check_params(other, what)
            other._check_params(self, what)
            hint = renamings(there, here)
            raise SpaceMismatch(f"{what} needs operands of one space", where=f"{here}\n{there}", hint=hint)

    def _check_params(self, given: United[Any], what: str) -> None:
        """Refuse, beside a set without its tuple, a condition on parameters."""
        if len(given.parts) == 1 and (space := given.parts[0][0]).inp is None and space.out.key == POINT.key:
            refuse_params([s.out for s, _ in given.parts], [s.out for s, _ in self.parts], what)

    def _find(self, key: tuple) -> tuple[P, ...]:
        for space, cs in self.parts:
            if space.key == key:
                return cs
        return ()
