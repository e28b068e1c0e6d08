"""isl's folds: the greatest or the least of several polynomials, on a space or by pieces; what bounds polynomials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...counting.known import settled
from ...counting.overlay import merged, over_both, overlaid
from ...counting.quasiparse import Polynomials
from ...counting.quasipoly import PwQPolynomial, QPolynomial, values_at
from ...errors import NotSupported, SetSyntaxError, SpaceMismatch, kind_of, need_function
from ...values.named import Named, by_isl
from ...values.shape import need_set
from ...values.space import PARAMS, Space
from ..dimensions import by_kind as dimensions
from ..objects.spaces import get_var_ids
from ..objects.values import DEFAULT_CONTEXT, Val
from ..relations import itself
from .on_spaces import asked, get_id_dict, get_var_dict, scaled_down
from .pieces import evaluated
from .piecewise import itself_if
from .placed import PlacedPolynomial
from .spaces import place, valued

if TYPE_CHECKING:
    from ...values.set import Set


class fold(Enum):
    """Which of several values is meant: the least, or the greatest."""

    min = 0
    max = 1
    list = 2

    def __int__(self) -> int:
        """isl's number of it."""
        return self.value


def kind_from(kind: Any) -> fold:  # noqa: ANN401
    """The greatest, or the least, as ours or islpy's `fold` says it.

    Raises
    ------
    NotSupported : it is none.
    """
    name = getattr(kind, "name", kind)
    if name not in ("max", "min"):
        raise NotSupported(f"a fold is of the greatest or the least, not {kind_of(kind)}", hint="isl.fold.max")
    return fold[name]


class Fold:
    """The greatest, or the least, of some polynomials in names."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: fold, values: Iterable[QPolynomial]) -> None:
        self.kind = kind
        self.values = tuple(dict.fromkeys(q if type(q) is QPolynomial else QPolynomial(q._terms) for q in values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fold) and self.kind is other.kind and {*self.values} == {*other.values}

    def __hash__(self) -> int:
        return hash((self.kind, frozenset(self.values)))

    def __bool__(self) -> bool:
        return bool(self.values)

    def __str__(self) -> str:
        texts = [f"({q})" if len(q.terms) > 1 else str(q) for q in self.values]
        return f"{self.kind.name}({', '.join(texts)})"

    @property
    def terms(self) -> tuple[()]:
        """None: it is printed without parentheses around it."""
        return ()

    def each(self, f: Callable[[QPolynomial], QPolynomial]) -> Fold:
        """That of other polynomials, which a function gives."""
        return Fold(self.kind, map(f, self.values))

    def subs(self, values: Any) -> Fold:  # noqa: ANN401
        """With expressions for some names; see `QPolynomial.subs`."""
        return self.each(lambda q: q.subs(values))

    def names(self) -> set[str]:
        """The names in the polynomials."""
        return {n for q in self.values for n in q.names()}

    def evaluate(self, values: Any) -> Any:  # noqa: ANN401
        """The value at a point; see `QPolynomial.evaluate`; 0 of none."""
        return extreme(self.kind, [q.evaluate(values) for q in self.values])

    def __mul__(self, factor: QPolynomial) -> Fold:
        """Times a number; the greatest is the least of the opposites."""
        number = factor._terms.get(frozenset(), 0)
        kind = self.kind if number >= 0 else fold.min if self.kind is fold.max else fold.max
        return Fold(kind, [q * factor for q in self.values])

    def with_sum(self, other: Fold) -> Fold:
        """What bounds the sum: the sums of any two."""
        return Fold(self.kind, [p + q for p in self.values for q in other.values])

    def with_all(self, other: Fold) -> Fold:
        """That of the polynomials of both.

        Raises
        ------
        NotSupported : one is of the greatest, one of the least.
        """
        if other.kind is not self.kind:
            raise NotSupported("the greatest and the least are no one fold", where=f"{self} and {other}")
        return Fold(self.kind, [*self.values, *other.values])


def extreme(kind: fold, values: list[Any]) -> Any:  # noqa: ANN401
    """The greatest or the least of some numbers; 0 of none."""
    return (max if kind is fold.max else min)(values) if values else 0


class QPolynomialFold(Fold, metaclass=Named):
    """A fold of polynomials on a space.

    >>> import polyvolta.isl as isl
    >>> i, j = (isl.PwQPolynomial(f"{{ [i] -> {t} }}").as_qpolynomial() for t in ("2 * i", "i^2"))
    >>> f = isl.QPolynomialFold.alloc(isl.fold.max, i).fold(isl.QPolynomialFold.alloc(isl.fold.max, j))
    >>> print(f, f.eval((1,)), f.scale_val(-1))
    { [i] -> max(2 * i, i^2) } 2 { [i] -> min(-2 * i, -i^2) }
    """

    __slots__ = ("param_names", "space")

    def __init__(self, of: Fold, where: Any) -> None:  # noqa: ANN401 - a set, or its space
        super().__init__(of.kind, of.values)
        space = where if isinstance(where, Space) else where.space
        self.param_names: tuple[str, ...] = tuple(where.param_names or ())
        self.space = valued(space.out, self.param_names)

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    @property
    def home(self) -> Space:
        """The space of the points at which it has values."""
        return Space(None, self.space.source, self.param_names)

    def __str__(self) -> str:
        head = f"[{', '.join(self.param_names)}] -> " if self.param_names else ""
        return f"{head}{{ {place(self)}{Fold.__str__(self)} }}"

    def _in(self, where: Any) -> Self:  # noqa: ANN401
        """The same polynomials on the space of a set that has all its dimensions."""
        return type(self)(self, where)


class PwQPolynomialFold(metaclass=Named):
    """A fold of polynomials on each of some disjoint sets, 0 elsewhere; immutable.

    Attributes
    ----------
    kind : which of the values is meant.
    pieces : pairs of a Set and a fold of polynomials in its names.
    home : the space in which it is; None of one of several tuples.

    >>> f = PwQPolynomialFold("[n] -> { [i] -> max(i, n) : i > 0 }")
    >>> print(f, f(n=3, i=2))
    [n] -> { [i] -> max(i, n) : i >= 1 } 3
    """

    __slots__ = ("home", "kind", "param_names", "pieces")
    _is_union: ClassVar[bool] = False  # whether it is isl's union, of which any tuple may lack a counterpart

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    def __init__(self, text: str) -> None:
        """From a text in isl's notation.

        Raises
        ------
        SetSyntaxError : it is none.
        """
        if not isinstance(text, str):
            raise SetSyntaxError(f"a PwQPolynomialFold is made from a text in isl's notation, not from {kind_of(text)}")
        params, found, home = _Folds(text).all_pieces()
        pieces = [(s, q) for s, q in found if q]
        kinds = {q.kind for _, q in pieces}
        if len(kinds) > 1:
            raise SetSyntaxError("the pieces are of the greatest and of the least", where=text)
        self._fill(kinds.pop() if kinds else fold.max, params, overlaid(pieces, Fold.with_all), home)

    def _fill(self, kind: fold, params: Iterable[str], pieces: Iterable[tuple[Set, Fold]], home: Space | None) -> None:
        self.kind, self.param_names, self.pieces = kind, tuple(params), settled(pieces)
        spaces = {s.space.key: s.space for s, _ in self.pieces}
        self.home = home if not spaces else next(iter(spaces.values())) if len(spaces) == 1 else None

    @classmethod
    def of(
        cls, kind: fold, params: Iterable[str], pieces: Iterable[tuple[Set, Fold]], home: Space | None = None
    ) -> Self:
        """From which values are meant, parameters and disjoint pieces."""
        self = cls.__new__(cls)
        self._fill(kind, params, pieces, home)
        return self

    def _with_pieces(self, params: Iterable[str], pieces: Iterable[Any], home: Space | None = None) -> Self:
        """A function of the same kind, or of that of its pieces."""
        found = [(s, q) for s, q in pieces if q]
        return self.of(found[0][1].kind if found else self.kind, params, found, home)

    def get_pieces(self) -> list[tuple[Any, QPolynomialFold]]:
        """The pairs of a set and what the fold is there; see `PwQPolynomialFold`."""
        return [(s, QPolynomialFold(q, s)) for s, q in self.pieces]

    def _of_values(self, values: list[Any]) -> Any:  # noqa: ANN401
        """The value of the function where pieces have some."""
        return extreme(self.kind, values)

    def __reduce__(self) -> tuple[object, ...]:
        return PwQPolynomialFold.of, (self.kind, self.param_names, self.pieces, self.home)

    def _by_position(self) -> set[Any]:
        return {(s, q.subs({d: f"#{k}" for k, d in enumerate(s.dims())})) for s, q in self.pieces}

    def __eq__(self, other: object) -> bool:
        """The same pieces, whatever their dimensions are called."""
        return (
            isinstance(other, PwQPolynomialFold)
            and (self.kind, self.param_names) == (other.kind, other.param_names)
            and self._by_position() == other._by_position()
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.param_names, frozenset(s for s, _ in self.pieces)))

    def __call__(self, /, **values: int) -> Any:  # noqa: ANN401
        """The value at a point, all parameters and dimensions given by name; see `PwQPolynomial`."""
        return Val(self._of_values(values_at(self, values)))

    def __str__(self) -> str:
        return str(PwQPolynomial.__str__(self))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"PwQPolynomialFold({str(self)!r})"


class _Folds(Polynomials):
    """The text of a fold by pieces."""

    def piece_value(self) -> Fold:
        """The fold of a piece."""
        kind = next((k for k in ("max", "min") if self.eat(k)), None)
        if kind is None:
            if self.eat("0"):  # as isl prints one without pieces
                return Fold(fold.max, ())
            raise self.wrong("expected max or min")
        self.expect("(")
        values = [self.polynomial()]
        while self.eat(","):
            values.append(self.polynomial())
        self.expect(")")
        return Fold(fold[kind], values)


# ---- on a space


def of_one(kind: Any, value: Any) -> QPolynomialFold:  # noqa: ANN401
    """The fold of one polynomial."""
    if not isinstance(value, PlacedPolynomial):
        raise SpaceMismatch(f"a QPolynomial is needed, not {kind_of(value)}", where=str(value))
    return QPolynomialFold(Fold(kind_from(kind), [value]), value.home)


def of_none(kind: Any, space: Any) -> QPolynomialFold:  # noqa: ANN401
    """The fold of no polynomial on a set's space."""
    if not isinstance(space, Space):
        raise SpaceMismatch(f"a Space is needed, not {kind_of(space)}", where=str(space), hint="s.space")
    return QPolynomialFold(Fold(kind_from(kind), []), space)


def folded(self: QPolynomialFold, other: QPolynomialFold) -> QPolynomialFold:
    """The fold of the polynomials of both.

    Raises
    ------
    SpaceMismatch : they lie in two tuples.
    """
    if not isinstance(other, QPolynomialFold) or other.home.key != self.home.key:
        raise SpaceMismatch("a fold on the same space is needed", where=f"{self} and {other}")
    theirs = Fold.subs(other, dict(zip(other.home.dims, self.home.dims)))
    return QPolynomialFold(self.with_all(theirs), self.home)


def foreach_qpolynomial(self: QPolynomialFold, f: Callable[[Any], object]) -> None:
    """Call a function with each polynomial."""
    need_function(f)
    for q in self.values:
        f(PlacedPolynomial(q, self.home))


def by_pieces(self: QPolynomialFold) -> PwQPolynomialFold:
    """The fold by pieces that is this one everywhere."""
    from ...values.set import Set

    return PwQPolynomialFold.of(self.kind, self.param_names, [(Set.universe(self.home), Fold(self.kind, self.values))])


def through(name: str) -> Callable[..., Any]:
    """A method of folds on a space that is one of those by pieces."""

    def method(self: QPolynomialFold, *args: Any) -> Any:  # noqa: ANN401
        return alone(getattr(by_pieces(self), name)(*args))

    method.__doc__ = f"The fold that `{name}` makes of this one by pieces."
    return method


def scaled(self: Any, factor: Any) -> Any:  # noqa: ANN401
    """A fold on a space, or by pieces, times a number; by a negative one the greatest becomes the least."""
    number = QPolynomial.of(factor)
    if isinstance(self, QPolynomialFold):
        return QPolynomialFold(Fold.__mul__(self, number), self.home)
    return self._with_pieces(self.param_names, [(s, q * number) for s, q in self.pieces], self.home)


def divided(self: Any, den: Any) -> Any:  # noqa: ANN401
    """A fold divided by a number."""
    return scaled(self, scaled_down(QPolynomial.of(1), den)._terms[frozenset()])


# ---- by pieces


def alone(self: PwQPolynomialFold) -> QPolynomialFold:
    """The fold on a space that it is everywhere.

    Raises
    ------
    SpaceMismatch : it has several pieces, or none somewhere.
    """
    if not is_alone(self) or self.home is None:
        raise SpaceMismatch("it is no single fold everywhere", where=str(self), hint="get_pieces() has its pieces")
    value = self.pieces[0][1] if self.pieces else Fold(self.kind, ())
    return QPolynomialFold(value, Space(None, self.home.out, self.param_names))


def is_alone(self: PwQPolynomialFold) -> bool:
    """Whether it is one fold everywhere."""
    return not self.pieces or (len(self.pieces) == 1 and self.pieces[0][0].complement().is_empty())


def combined(combine: Callable[[Fold, Fold], Fold]) -> Callable[[Any, Any], Any]:
    """A method that combines two folds where both have values; where one has some it is that."""

    def method(self: PwQPolynomialFold, other: Any) -> PwQPolynomialFold:  # noqa: ANN401
        if not isinstance(other, PwQPolynomialFold):
            raise SpaceMismatch(f"a PwQPolynomialFold is needed, not {kind_of(other)}", where=str(other))
        if self.pieces and other.pieces and self.kind is not other.kind:
            raise NotSupported("the greatest and the least are no one fold", where=f"{self} and {other}")
        params, sides = over_both((*self.param_names, *other.param_names), self.pieces, other.pieces)
        found = merged(overlaid([*sides[0], *sides[1]], combine))
        both = (self if self.pieces else other)._with_pieces(params, found, self.home or other.home)
        return self.of(both.kind, params, both.pieces, both.home)

    method.__doc__ = "Two folds where both have values; where one has some, that one."
    return method


def alloc(kind: Any, where: Set, value: Any) -> PwQPolynomialFold:  # noqa: ANN401
    """What is a fold on a set."""
    need_set(where, "PwQPolynomialFold.alloc")
    if not isinstance(value, QPolynomialFold) or value.kind is not kind_from(kind):
        raise SpaceMismatch(f"a QPolynomialFold of {kind_from(kind).name} is needed, not {kind_of(value)}")
    return by_pieces(value).intersect_domain(where)  # type: ignore[attr-defined]


def from_polynomial(kind: Any, value: Any) -> PwQPolynomialFold:  # noqa: ANN401
    """The fold of a polynomial by pieces alone."""
    of, f = kind_from(kind), itself_if(value)
    return PwQPolynomialFold.of(of, f.param_names, [(s, Fold(of, [q])) for s, q in f.pieces], f.home)


def with_polynomial(self: PwQPolynomialFold, value: Any) -> PwQPolynomialFold:  # noqa: ANN401
    """With a polynomial by pieces added where both have values."""
    return combined(Fold.with_sum)(self, from_polynomial(self.kind, value))


def zero(space: Any, kind: Any) -> PwQPolynomialFold:  # noqa: ANN401
    """What has no pieces, in the space of a function; a set's is, as in isl, that of one of parameters alone."""
    if not isinstance(space, Space):
        raise SpaceMismatch(f"a Space is needed, not {kind_of(space)}", where=str(space), hint="s.space")
    return PwQPolynomialFold.of(kind_from(kind), space.param_names or (), [], Space(None, space.inp or PARAMS))


def itself_as_fold(value: Any) -> PwQPolynomialFold:  # noqa: ANN401
    """A fold by pieces, which that of several tuples is, too."""
    if not isinstance(value, PwQPolynomialFold):
        raise SpaceMismatch(f"a PwQPolynomialFold is needed, not {kind_of(value)}", where=str(value))
    return value


_ONE, _PIECES, _BOTH = "QPolynomialFold", "PwQPolynomialFold", "QPolynomialFold PwQPolynomialFold"
METHODS: tuple[tuple[str, str, Any], ...] = (
    (_ONE, "alloc", of_one),
    (_ONE, "empty", of_none),
    (_ONE, "copy", itself),
    (_BOTH, "get_ctx", lambda self: DEFAULT_CONTEXT),
    (_BOTH, "get_type", lambda self: self.kind),
    (_ONE, "fold", folded),
    (_ONE, "foreach_qpolynomial", foreach_qpolynomial),
    (_ONE, "is_empty", lambda self: not self.values),
    (_ONE, "is_nan", lambda self: any(asked("is_nan")(PlacedPolynomial(q, self.home)) for q in self.values)),
    (_ONE, "plain_is_equal", lambda self, other: self.home == other.home and Fold.__eq__(self, other)),
    (_ONE, "get_space", lambda self: self.space),
    (_ONE, "get_domain_space", lambda self: self.home),
    (_ONE, "get_var_names get_var_names_not_none", dimensions.get_var_names),
    (_ONE, "get_var_dict", get_var_dict),
    (_ONE, "get_id_dict", get_id_dict),
    (_ONE, "get_var_ids", get_var_ids),
    (_ONE, "eval", lambda self, point: evaluated(by_pieces(self), point)),
    *((_ONE, name, through(name)) for name in ("gist", "gist_params", "move_dims")),
    (_BOTH, "scale_val", scaled),
    (_BOTH, "scale_down_val", divided),
    (_PIECES, "read_from_str", lambda *given: PwQPolynomialFold(given[-1])),
    (_PIECES, "as_qpolynomial_fold", alone),
    (_PIECES, "isa_qpolynomial_fold", is_alone),
    (_PIECES, "add add_disjoint", combined(Fold.with_sum)),
    (_PIECES, "fold fold_pw_qpolynomial_fold", combined(Fold.with_all)),
    (_PIECES, "add_union_pw_qpolynomial", with_polynomial),
    (_PIECES, "alloc", alloc),
    (_PIECES, "from_pw_qpolynomial", from_polynomial),
    (_PIECES, "from_qpolynomial_fold", by_pieces),
    (_PIECES, "from_pw_qpolynomial_fold", itself_as_fold),
    (_PIECES, "zero zero_space", zero),
    (_PIECES, "zero_ctx", lambda context, kind: PwQPolynomialFold.of(kind_from(kind), (), [])),
)
"""Classes, isl's names, and the method."""
