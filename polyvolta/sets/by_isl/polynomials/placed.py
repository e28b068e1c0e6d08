"""isl's quasi-polynomials, which lie in a space, and their terms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from ...counting.quasipoly import PwQPolynomial, QPolynomial
from ...errors import NotAffine, SpaceMismatch, UnknownName, need_function
from ...functions.rational import RationalPwAff
from ...operations.bounds import with_row
from ...values import kinds
from ...values.aff import Aff, Floor, linear, var
from ...values.named import Named, by_isl
from ...values.space import Space, fresh, whole
from ..dimensions import by_kind as dimensions
from ..functions.quotients import floors, is_div
from ..objects.values import Val
from .spaces import IN, place, valued

if TYPE_CHECKING:
    from ...values.set import Set


class Term:
    """A product of powers with a coefficient: what isl's polynomials are sums of."""

    def __init__(self, of: PlacedPolynomial, powers: dict[Any, int], coefficient: Fraction) -> None:
        self.of, self.powers, self.coefficient = of, powers, coefficient

    def get_coefficient_val(self) -> Any:  # noqa: ANN401
        """The coefficient; a fraction where it is no integer."""
        return Val(self.coefficient)

    def get_num_si(self) -> int:
        """The numerator of the coefficient."""
        return self.coefficient.numerator

    def get_den_val(self) -> Val:
        """The denominator of the coefficient."""
        return Val(self.coefficient.denominator)

    def get_exp(self, kind: Any, pos: int) -> int:  # noqa: ANN401
        """The power of a dimension, or of a floor."""
        return self.powers.get(position(self.of, kind, pos), 0)

    def get_div(self, pos: int) -> Any:  # noqa: ANN401
        """What stands under a floor of the polynomial, before it is rounded."""
        return div(self.of, pos)

    def dim(self, kind: Any) -> int:  # noqa: ANN401
        """The number of dimensions of a kind, or of floors of the polynomial."""
        return dim(self.of, IN if getattr(kind, "name", None) in ("out", "set") else kind)

    def copy(self) -> Term:
        """The term itself."""
        return self

    def get_ctx(self) -> Any:  # noqa: ANN401
        """isl's context, which means nothing."""
        return Val(0).get_ctx()


class PlacedPolynomial(QPolynomial, metaclass=Named):
    """A polynomial that knows of which parameters and dimensions it is, as isl's do; `polyvolta.isl.QPolynomial`.

    >>> [(where, what)] = PwQPolynomial("[n] -> { [i] -> 2 * i + n }").get_pieces()
    >>> what.get_var_names(kinds.dim_type.in_), [t.get_coefficient_val() for t in what.get_terms()]
    (['i'], [2, 1])
    >>> print(what * what, (what - what).is_zero())
    [n] -> { [i] -> (4 * i^2 + 4 * i * n + n^2) } True
    """

    __slots__ = ("param_names", "space")

    def __init__(self, of: QPolynomial, domain: Any) -> None:  # noqa: ANN401 - a set, or its space
        super().__init__(of._terms)
        space = domain if isinstance(domain, Space) else domain.space
        self.param_names: tuple[str, ...] = tuple(domain.param_names or ())
        self.space = valued(space.out, self.param_names)

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    def __reduce__(self) -> tuple[object, ...]:
        return PlacedPolynomial, (QPolynomial(self._terms), self.home)

    @property
    def home(self) -> Space:
        """The space of the points at which it has values."""
        return Space(None, self.space.source, self.param_names)

    def _like(self, found: QPolynomial, *others: Any) -> Self:  # noqa: ANN401
        """A polynomial on the same space, whose parameters are those of the `others`, too."""
        more = [p for o in others if isinstance(o, PlacedPolynomial) for p in o.param_names]
        params = tuple(dict.fromkeys((*self.param_names, *more)))
        return type(self)(found, Space(None, self.space.source, params))

    def _in(self, where: Any) -> Self:  # noqa: ANN401
        """The same terms on the space of a set that has all its dimensions."""
        return type(self)(self, where)

    def _here(self, other: Any) -> Any:  # noqa: ANN401
        """Another polynomial in the names of this one's dimensions.

        Raises
        ------
        SpaceMismatch : it lies elsewhere.
        """
        if not isinstance(other, PlacedPolynomial):
            return other
        mine, its = self.space.source, other.space.source
        if mine.key != its.key:
            raise SpaceMismatch("the polynomials lie in two tuples", where=f"{mine} and {its}")
        return QPolynomial(other._terms).subs({d: var(own) for d, own in zip(its.dims, mine.dims)})

    def __add__(self, other: Any) -> Self:  # noqa: ANN401
        return self._like(QPolynomial.__add__(self, self._here(other)), other)

    def __sub__(self, other: Any) -> Self:  # noqa: ANN401
        return self._like(QPolynomial.__sub__(self, self._here(other)), other)

    def __mul__(self, other: Any) -> Self:  # noqa: ANN401
        return self._like(QPolynomial.__mul__(self, self._here(other)), other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Self:
        return self._like(QPolynomial.__neg__(self))

    def __pow__(self, exponent: int) -> Self:
        """See `PwQPolynomial.__pow__`."""
        number = whole(exponent)
        if number is None or number < 0:
            raise NotAffine(f"a power is of an integer from 0 on, not {exponent!r}", where=str(self))
        found = self._like(QPolynomial.of(1))
        for _ in range(number):
            found = found * self
        return found

    def __str__(self) -> str:
        return str(whole_of(self)) if self else f"{str(PwQPolynomial(self.param_names, []))[:-3]}{place(self)}0 }}"

    def get_terms(self) -> list[Term]:
        """The terms; see `PlacedPolynomial`."""
        return [Term(self, dict(powers), c) for powers, c in self.terms]

    def foreach_term(self, f: Callable[[Term], object]) -> None:
        """Call a function with each term; see `PlacedPolynomial`."""
        need_function(f)
        for term in self.get_terms():
            f(term)

    def get_constant_val(self) -> Any:  # noqa: ANN401
        """The constant term, a fraction where it is no integer; see `PlacedPolynomial`."""
        return Val(next((c for powers, c in self.terms if not powers), 0))


# ---- of a polynomial as one by pieces, which has one


def everywhere(self: PlacedPolynomial) -> Set:
    """The points at which it has values: all of its space."""
    from ...values.set import Set

    return Set.universe(self.home)


def whole_of(self: PlacedPolynomial) -> PwQPolynomial:
    """The polynomial by pieces that is this one everywhere."""
    return PwQPolynomial(self.param_names, [(everywhere(self), self)] if self else [], self.home)


def alone(found: PwQPolynomial) -> PlacedPolynomial:
    """The polynomial that one by pieces is everywhere.

    Raises
    ------
    NotAffine : it has several pieces, or is 0 somewhere.
    """
    if not is_alone(found):
        raise NotAffine("it is no single polynomial everywhere", where=str(found), hint="get_pieces() has its pieces")
    if found.home is None:
        raise SpaceMismatch("0 everywhere is in no space", where=str(found))
    value = found.pieces[0][1] if found.pieces else QPolynomial({})
    return PlacedPolynomial(value, Space(None, found.home.out, found.param_names))


def is_alone(found: PwQPolynomial) -> bool:
    """Whether it is one polynomial everywhere; 0 is one."""
    where = [s for s, _ in found.pieces]
    return not where or (len(where) == 1 and where[0].complement().is_empty())


def through(name: str) -> Callable[..., PlacedPolynomial]:
    """A method of polynomials that is one of those by pieces."""

    def method(self: PlacedPolynomial, *args: Any) -> PlacedPolynomial:  # noqa: ANN401
        return alone(getattr(whole_of(self), name)(*args))

    method.__doc__ = f"The polynomial that `{name}` makes of this one by pieces, of which it has one."
    return method


# ---- floors


def divs(self: QPolynomial) -> list[Floor]:
    """The floors in a polynomial, those in floors first."""
    atoms = sorted((a for m in self._terms for a, _ in m if isinstance(a, Floor)), key=lambda a: a.place)
    return [*dict.fromkeys(f for a in atoms for f in floors(Aff(((a, 1),))))]


def position(self: Any, kind: Any, pos: int) -> Any:  # noqa: ANN401
    """The name of a dimension of a kind, or the floor at a position; an input is one of a set, too, as in isl's terms.

    Raises
    ------
    UnknownName : there is none.
    """
    name = getattr(kind, "name", None)
    if name != "div":
        return kinds.spread(self, IN if name in ("out", "set") else kind, pos)[0]
    found = divs(self)
    if whole(pos) is None or not 0 <= pos < len(found):
        raise UnknownName(f"there is no floor at position {pos}", where=str(self), hint=f"there are {len(found)}")
    return found[pos]


def dim(self: PlacedPolynomial, kind: Any) -> int:  # noqa: ANN401
    """The number of dimensions of a kind, or of floors."""
    if getattr(kind, "name", "") == "all":
        return len(self.param_names) + len(self.space.source.dims) + len(divs(self))
    return len(divs(self)) if is_div(kind) else dimensions.dim(self, kind)


def div(self: PlacedPolynomial, pos: int) -> Any:  # noqa: ANN401
    """What stands under a floor, before it is rounded: a quotient of a function."""
    from ...functions.pwaff import PwAff

    found = position(self, kinds.dim_type.div, pos)
    return RationalPwAff(PwAff.on(everywhere(self), found.num), found.den)


def lifted(self: QPolynomial, taken: set[str]) -> tuple[QPolynomial, list[tuple[str, Floor, Aff]]]:
    """The polynomial with names in place of its floors, none of those taken; these, the floors, and what they round."""
    found = divs(self)
    names: dict[Any, str] = {}
    for k, f in enumerate(found):
        names[f] = fresh(f"q{k}", {*taken, *names.values()})

    def plain(e: Aff) -> Aff:
        return linear({names.get(a, a): c for a, c in e.terms}, e.const)

    terms: Any = {frozenset((names.get(a, a), k) for a, k in m): c for m, c in self._terms.items()}
    return QPolynomial(terms), [(names[f], f, plain(f.num)) for f in found]


def as_polynomial_on_domain(self: PlacedPolynomial, domain: Set, f: Callable[[Any, Any], object]) -> None:
    """Call a function with a set and a polynomial without floors on it: each floor is one more dimension there."""
    from ...values.shape import need_set

    need_set(domain, "as_polynomial_on_domain")
    need_function(f, "two arguments")
    if domain.space.key != self.home.key:
        raise SpaceMismatch("the set lies in another tuple", where=f"{domain.space} and {self.home}")
    space = domain.align_params(self.param_names)
    here = PlacedPolynomial(QPolynomial({}), space)._here(self)
    plain, found = lifted(here, {*space.param_names, *space.dims()})
    if found:
        space = kinds.plain(space, kinds.dim_type.set).add_dims(*[name for name, _, _ in found])
    for name, floor, inside in found:
        rest = inside - floor.den * var(name)
        for low in (rest, floor.den - 1 - rest):
            space = with_row(space, "ge", low)
    f(space, PlacedPolynomial(plain, space))
