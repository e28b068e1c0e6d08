"""Piecewise quasi-polynomials: what counting the points of a parametric set gives.

A quasi-polynomial is a polynomial in names and in floors of affine expressions of them: `1/2 * N + 1/2 * N^2`, or
`floor(N/32) * N`. Its coefficients are rational, and its value at a point that is counted is an integer. A
`PwQPolynomial` says which one holds where; it is 0 elsewhere. isl calls both by these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..budgets import metered_class
from ..by_isl.objects.numbers import Number, pair
from ..conjuncts.conjunct import Conjunct, holds
from ..errors import NotAffine, SetSyntaxError, SpaceMismatch, Unbounded, UnknownName, kind_of, nearest
from ..operations.make import coordinates
from ..values.aff import Aff, Atom, order_of
from ..values.named import Named, by_isl, update_persistent_hash
from ..values.space import Space, whole
from . import polynomial as pl
from .overlay import added, merged, over_both

if TYPE_CHECKING:
    from ..values.set import Set


class QPolynomial:
    """A polynomial in names and floors, with rational coefficients; immutable.

    It may be an infinity, or NaN, which isl's numbers are: its only term then.

    >>> from polyvolta.sets import var
    >>> n = QPolynomial.of(var("N"))
    >>> print(n * (n + 1) * Fraction(1, 2))
    1/2 * N + 1/2 * N^2
    """

    __slots__ = ("_hash", "_terms")

    def __init__(self, terms: Mapping[frozenset[tuple[Atom, int]], Fraction]) -> None:
        found: dict[Any, Any] = {m: c if type(c) is Number else Fraction(c) for m, c in terms.items() if c}
        endless: list[Any] = [Number(0, 0) if m else c for m, c in found.items() if type(c) is Number]
        whole: Any = sum(endless)  # NaN where it is times a name
        self._terms: pl.Poly = {frozenset(): whole} if endless else found
        self._hash = hash(frozenset(self._terms.items()))

    @classmethod
    def of(cls, value: Aff | Fraction | int | Number) -> QPolynomial:
        """The quasi-polynomial of an expression or a number.

        `value` is an expression, a fraction or an int.

        >>> from polyvolta.sets import QPolynomial, var
        >>> print(QPolynomial.of(var("N") // 2 + 1))
        1 + floor(N/2)
        """
        if not isinstance(value, Aff):
            return cls({frozenset(): _number(value)})
        value = value.without_xor()
        return cls({**pl.constant(value.const), **{frozenset(((a, 1),)): Fraction(c) for a, c in value.terms}})

    @property
    def terms(self) -> tuple[tuple[tuple[tuple[Atom, int], ...], Fraction], ...]:
        """Pairs (((atom, power), ...), coefficient), in the order of printing: by degree, then by name."""
        rows = [(tuple(sorted(m, key=lambda t: order_of(t[0]))), c) for m, c in self._terms.items()]
        return tuple(sorted(rows, key=lambda r: (sum(e for _, e in r[0]), [(order_of(a), -e) for a, e in r[0]])))

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from its terms, for another process hashes names otherwise."""
        return QPolynomial, (self._terms,)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """The same terms. Floors that are dependent, as floor(N/2) + floor((N + 1)/2) = N, are not compared."""
        return isinstance(other, QPolynomial) and self._terms == other._terms

    def __add__(self, other: QPolynomial | Fraction | int) -> QPolynomial:
        return QPolynomial(pl.plus(self._terms, _terms(other)))

    __radd__ = __add__

    def __neg__(self) -> QPolynomial:
        return QPolynomial(pl.scaled(self._terms, -1))

    def __sub__(self, other: QPolynomial | Fraction | int) -> QPolynomial:
        return QPolynomial(pl.plus(self._terms, _terms(other), -1))

    def __rsub__(self, other: QPolynomial | Fraction | int) -> QPolynomial:
        return -self + other

    def __mul__(self, other: QPolynomial | Fraction | int) -> QPolynomial:
        return QPolynomial(pl.times(self._terms, _terms(other)))

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return bool(self._terms)

    def subs(self, values: Mapping[str, Aff | int | str]) -> QPolynomial:
        """With some names replaced by expressions, names or numbers.

        `values` are by name; names that it lacks stay.

        >>> from polyvolta.sets import var
        >>> print(QPolynomial.of(var("N") // 2).subs({"N": 4 * var("M") + 1}))
        2 * M
        """
        out: pl.Poly = {}
        for m, c in self._terms.items():
            term: pl.Poly = {frozenset(): c}
            for atom, e in m:
                value = QPolynomial.of(Aff(((atom, 1),)).subs(values))._terms
                for _ in range(e):
                    term = pl.times(term, value)
            out = pl.plus(out, term)
        return QPolynomial(out)

    def names(self) -> set[str]:
        """The names in it, those in floors, too.

        >>> from polyvolta.sets import var
        >>> sorted(QPolynomial.of(2 * var("N") // 3 + var("M")).names())
        ['M', 'N']
        """
        return {n for m in self._terms for a, _ in m for n in Aff(((a, 1),)).names()}

    def evaluate(self, values: Mapping[str, int]) -> Fraction:
        """The value at a point; linear in the size.

        `values` has a number for each name; `UnknownName` is raised for one that is missing.

        >>> from polyvolta.sets import QPolynomial, var
        >>> n = QPolynomial.of(var("N"))
        >>> print((n * n + 1).evaluate({"N": 3}))
        10
        """
        total, over = 0, Fraction(0)  # the terms with whole coefficients, whose sums are Python's own, and the others
        known: dict[Atom, int] = {}
        for m, c in self._terms.items():
            times = 1
            for atom, e in m:
                if atom not in known:
                    known[atom] = Aff(((atom, 1),)).evaluate(values)
                times *= known[atom] ** e
            if type(c) is Fraction and c.denominator == 1:  # no infinity
                total += c.numerator * times
            else:
                over += c * times
        return over + total

    def __str__(self) -> str:
        text = ""
        for m, c in self.terms:
            factors = [str(abs(c))] if abs(c) != 1 or not m else []
            factors += [str(Aff(((a, 1),))) + (f"^{e}" if e > 1 else "") for a, e in m]
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + " * ".join(factors)
        return text or "0"

    def __repr__(self) -> str:
        return f"QPolynomial({str(self)!r})"


def _terms(value: QPolynomial | Fraction | int) -> pl.Poly:
    return (value if isinstance(value, QPolynomial) else QPolynomial.of(value))._terms


def number_of(q: QPolynomial) -> Any:  # noqa: ANN401
    """The number that a polynomial is; None of one with names."""
    if not q._terms:
        return Fraction(0)
    return q._terms.get(frozenset()) if len(q._terms) == 1 else None


def _number(value: object) -> Any:  # noqa: ANN401
    """A number, which a value is to be: a fraction, an infinity or NaN.

    Raises
    ------
    NotAffine : it is none.
    """
    number = pair(value)
    if number is None:
        hint = "PwQPolynomial.from_pw_aff(f)" if hasattr(value, "cells") else "a fraction is Fraction(1, 2)"
        raise NotAffine(f"a polynomial or a number is needed, not {kind_of(value)}", where=repr(value), hint=hint)
    return Fraction(*number) if number[1] else value


Piece = tuple["Set", QPolynomial]


@metered_class
class PwQPolynomial(metaclass=Named):
    """A quasi-polynomial on each of some disjoint sets, 0 elsewhere; immutable. `Set.cardinality` makes one, or a text.

    Attributes
    ----------
    pieces : pairs (Set, QPolynomial); the sets lie in the domain of the map whose outputs were counted, and have
        no dimensions where the points of a set were.
    home : the space in which it is 0 outside its pieces; None of one of several tuples, or of none.

    >>> from polyvolta.sets import Set
    >>> triangle = Set("[N] -> { [i, j] : 0 <= j <= i < N }").cardinality()
    >>> print(triangle, triangle(N=10))
    [N] -> { (1/2 * N + 1/2 * N^2) : N >= 1 } 55
    """

    __slots__ = ("_hash", "home", "param_names", "pieces")
    _is_union: ClassVar[bool] = False  # whether it is isl's union, of which any tuple may lack a counterpart

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    def __init__(
        self, param_names: Iterable[str], pieces: Iterable[Piece] | None = None, home: Space | None = None
    ) -> None:
        """From parameters and pieces, or from a text in isl's notation alone.

        >>> print(PwQPolynomial("[n] -> { S[i] -> 1/2 * n * i + i^2 : 0 <= i < n }"))
        [n] -> { S[i] -> (i^2 + 1/2 * i * n) : 0 <= i < n }
        """
        named = isinstance(param_names, (list, tuple)) and all(isinstance(p, str) for p in param_names)
        if pieces is None and not (named or isinstance(param_names, str)):
            given = kind_of(param_names)
            raise SetSyntaxError(f"a PwQPolynomial is made from a text in isl's notation, not from {given}",
                                 hint="or from parameters and pieces, of a Set and a QPolynomial each")  # fmt: skip
        if isinstance(param_names, str) and pieces is None:
            from .quasiparse import parse_polynomial

            read = parse_polynomial(param_names)
            param_names, pieces, home = read.param_names, read.pieces, read.home
        from .known import settled

        self.param_names = tuple(param_names)
        self.pieces = settled([(s, q if type(q) is QPolynomial else QPolynomial(q._terms)) for s, q in pieces or ()])
        spaces = {s.space.key: s.space for s, _ in self.pieces}
        self.home = home if not spaces else next(iter(spaces.values())) if len(spaces) == 1 else None
        self._hash = hash((self.param_names, frozenset([where for where, _ in self.pieces])))

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from its pieces, for another process hashes names otherwise."""
        return PwQPolynomial, (self.param_names, self.pieces, self.home)

    update_persistent_hash = update_persistent_hash

    def _with_pieces(self, params: Iterable[str], pieces: Iterable[Piece], home: Space | None = None) -> Self:
        """A function of the same kind; see `PwQPolynomial`."""
        return type(self)(params, [(s, q) for s, q in pieces if q], home)

    @staticmethod
    def _of_values(values: Iterable[Any]) -> Any:  # noqa: ANN401
        """The value of the function where pieces have some."""
        return sum(values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """The same pieces, whatever their dimensions are called: cheap; two that differ may still be one function."""
        return (
            isinstance(other, PwQPolynomial)
            and self._hash == other._hash
            and self.param_names == other.param_names
            and self._by_position() == other._by_position()
        )

    def _by_position(self) -> set[Piece]:
        """The pieces, their polynomials in the positions of the dimensions."""
        return {(s, q.subs({d: f"#{k}" for k, d in enumerate(s.dims())})) for s, q in self.pieces}

    def __call__(self, /, **values: int) -> int | Fraction:
        """The value at a point, all parameters and dimensions given by name; 0 outside all pieces. Exact.

        Raises
        ------
        UnknownName : no parameter or dimension has that name.
        Unbounded : one has no value.
        SpaceMismatch : the pieces lie in several tuples.

        >>> from polyvolta.sets import Map
        >>> Map("[N] -> { S[i] -> A[j] : 0 <= j <= i < N }").cardinality()(N=10, i=3)
        4
        """
        total: Any = sum(values_at(self, values), Fraction(0))
        return int(total) if getattr(total, "denominator", 0) == 1 else total

    def only(self, name: str | None) -> PwQPolynomial:
        """The pieces in the tuple called `name`.

        `name` is None for the tuple without one; without pieces it is 0 everywhere.

        >>> from polyvolta.sets import Map
        >>> print(Map("[N] -> { S[i] -> [j] : 0 <= j < i; T[i] -> [j] : 0 <= j < 2 }").cardinality().only("T"))
        [N] -> { T[i] -> 2 }
        """
        return type(self)(self.param_names, [(s, q) for s, q in self.pieces if s.space.out.name == name])

    def __add__(self, other: PwQPolynomial | int) -> PwQPolynomial:
        """The sum of both functions; a number is added inside the pieces only, and where there are none everywhere.

        >>> from polyvolta.sets import Set
        >>> a, b = (Set("[N] -> { [i] : 0 <= i < %s }" % n).cardinality() for n in ("N", "5"))
        >>> print(a + b)
        [N] -> { (5 + N) : N >= 1; 5 : N <= 0 }
        """
        if not isinstance(other, PwQPolynomial):
            return self._or_zero()._each(lambda q: q + other)
        params, (mine, theirs) = self._with(other)
        return type(self)(params, merged(added([*mine, *theirs])), self.home or other.home)

    __radd__ = __add__

    def __neg__(self) -> PwQPolynomial:
        return self._each(lambda q: -q)

    def __sub__(self, other: PwQPolynomial | int) -> PwQPolynomial:
        """The difference of both functions; a number is subtracted as it is added."""
        if not isinstance(other, PwQPolynomial):
            return self._or_zero()._each(lambda q: q - other)
        return self + -other

    def __rsub__(self, other: int) -> PwQPolynomial:
        return -self + other

    def __mul__(self, other: PwQPolynomial | Fraction | int) -> PwQPolynomial:
        """The product of both functions; O(m n) intersections.

        >>> from polyvolta.sets import Set
        >>> print(Set("[N] -> { [i] : 0 <= i < N }").cardinality() * Set("[M] -> { [i] : 0 <= i < M }").cardinality())
        [N, M] -> { M * N : N >= 1 and M >= 1 }
        """
        if not isinstance(other, PwQPolynomial):
            return self._each(lambda q: q * other)
        params, (mine, theirs) = self._with(other)
        out = []
        for a, p in mine:
            for b, q in theirs:
                both = a.intersect(b) if a.space.key == b.space.key else None
                if both is not None and not both.is_empty() and p * q:
                    out.append((both, p * q))
        return type(self)(params, merged(out), self.home or other.home)

    def _with(self, other: PwQPolynomial) -> tuple[tuple[str, ...], list[list[Piece]]]:
        return over_both((*self.param_names, *other.param_names), self.pieces, other.pieces)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> PwQPolynomial:
        """The product of as many, 0 elsewhere; of 0 it is 1 on the pieces, and 0 elsewhere.

        Raises
        ------
        NotAffine : the exponent is no integer from 0 on.

        >>> from polyvolta.sets import Set
        >>> print(Set("[N] -> { [i] : 0 <= i < N }").cardinality() ** 2)
        [N] -> { N^2 : N >= 1 }
        """
        number = whole(exponent)
        if number is None or number < 0:
            raise NotAffine(f"a power is of an integer from 0 on, not {exponent!r}", where=str(self))
        found = type(self)(self.param_names, [(s, QPolynomial.of(1)) for s, _ in self.pieces], self.home)
        for _ in range(number):
            found = found * self
        return found

    def _or_zero(self) -> PwQPolynomial:
        """Itself; without pieces 0 with one, all points of its space, for what isl adds to."""
        if self.pieces or self.home is None:
            return self
        from ..values.set import Set

        everywhere: Any = Set.universe(self.home).align_params(self.param_names)
        return type(self)(self.param_names, [(everywhere, QPolynomial({}))], self.home)

    def _each(self, f: Callable[[QPolynomial], QPolynomial]) -> PwQPolynomial:
        return self._with_pieces(self.param_names, [(s, f(q)) for s, q in self.pieces], self.home)

    def __str__(self) -> str:
        head = f"[{', '.join(self.param_names)}] -> " if self.param_names else ""
        texts = [_piece_text(s, c, q) for s, q in self.pieces for c in s.parts[0][1]]
        tup = self.home.out if self.home is not None else None  # a zero says of what it is, as isl's
        zero = f"{tup} -> 0" if tup is not None and (tup.dims or tup.name is not None or tup.inner is not None) else "0"
        return f"{head}{{ {'; '.join(texts) or zero} }}"

    def __repr__(self) -> str:
        return f"PwQPolynomial({str(self)!r})"

    def _repr_html_(self) -> str:
        from ..text.notebook import html

        return html(str(self))


def values_at(self: Any, values: Mapping[str, int]) -> list[Any]:  # noqa: ANN401
    """The values that the pieces of a function have at a point; see `PwQPolynomial.__call__` for the errors."""
    if len({s.space.key for s, _ in self.pieces}) > 1:
        found = "; ".join(dict.fromkeys(str(s.space) for s, _ in self.pieces))
        raise SpaceMismatch("the pieces lie in several tuples", where=found, hint='pick one with .only("name")')
    names = (*self.param_names, *(self.pieces[0][0].dims() if self.pieces else ()))
    unknown = [n for n in values if n not in names and self.pieces]
    if unknown:
        hint = nearest(unknown[0], names)
        raise UnknownName(f"no parameter or dimension is called {unknown[0]!r}", where=str(self), hint=hint)
    missing = [n for n in names if n not in values]
    if missing:
        raise Unbounded(f"{missing[0]} has no value", where=str(self), hint=f"give one: {missing[0]}=...")
    params = {p: values[p] for p in self.param_names}
    here = around_point(self.pieces, [values[d] for d in names[len(params) :]], params)
    return [q.evaluate(values) for _, q in here]


def around_point(pieces: Iterable[Any], point: Sequence[object], params: Mapping[str, int]) -> list[Any]:
    """Those of some pieces, over the same parameters, that have a point, which is looked at once for each tuple."""
    numbers: dict[tuple, tuple[int, ...]] = {}
    found = []
    for piece in pieces:
        ((space, cs),) = piece[0].parts
        at = numbers.get(space.key)
        if at is None or piece[0].param_names != (*params,):
            at = numbers[space.key] = coordinates(piece[0], point, params)
        if any(holds(c, at) for c in cs):
            found.append(piece)
    return found


def has_equality(where: Set, c: Conjunct, names: set[str]) -> bool:
    """Whether a conjunct of a set has an equality of some names."""
    at = [k for k, n in enumerate((*where.param_names, *where.space.dims), 1) if n in names] if c.eqs else ()
    return any(row[k] for row in c.eqs for k in at)


def _piece_text(where: Set, c: Conjunct, what: QPolynomial) -> str:
    """`tuple -> (polynomial) : constraints`."""
    from ..text.show import piece_text
    from ..text.show_expressions import ISL, NAMED

    style = NAMED if has_equality(where, c, what.names() & {*where.space.dims}) else ISL  # the value speaks of them
    place, colon, body = piece_text(where.param_names, where.space, c, style).partition(":")
    value = f"({what})" if len(what.terms) > 1 else str(what)
    text = f"{place.strip()} -> {value}" if place.strip() else value
    return f"{text} :{body}" if colon and body.strip() else text
