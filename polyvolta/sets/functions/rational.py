"""`RationalPwAff`: piecewise functions whose values are fractions, or no numbers at some points.

    { [i] -> [(i)/2] : i > 0; [i] -> [NaN] : i < 0 }

isl's affine functions have a denominator, and may be NaN. `polyvolta.isl` reads such texts and gives such quotients;
what has integer values alone is a `PwAff`. One is a `PwAff` over a number, and the points where it is NaN: a sum of
two is one of integers over the common multiple, a comparison one of integers, and what is of a NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

from ..conjuncts import conjunct as cj
from ..conjuncts.project import with_known_divs
from ..errors import NotAffine, SpaceMismatch, kind_of
from ..values.aff import Aff, var
from ..values.named import Named, by_isl, update_persistent_hash
from ..values.space import Space, whole
from .cells import atoms_of, refined
from .multi_pwaff import MultiPwAff
from .piecewise import Piecewise, check_function, check_named
from .pwaff import ONE, PwAff
from .within import Rational, quotient

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set


class RationalPwAff(metaclass=Named):
    """A function over a number, and where it is NaN; see the module. It is immutable.

    >>> half = RationalPwAff.of(PwAff("{ [i] -> [i + 1] }"), 2)
    >>> print(half, half + half, half.min(PwAff("{ [i] -> [i] }")), half.floor(), sep="; ")
    { [i] -> [(i + 1)/2] }; { [i] -> [(i + 1)] }; { [i] -> [(min(2*i, i + 1))/2] }; { [i] -> [(floor((i + 1)/2))] }
    >>> print(half.ge_set(PwAff("{ [i] -> [3] }")), half.eval((4,)), half / 0)
    { [i] : i >= 5 } 5/2 { [i] -> [NaN] }
    """

    __slots__ = ("den", "nan", "num")
    _takes_over = ("PwAff",)

    def __init__(self, num: PwAff, den: int, nan: Set | None = None) -> None:
        self.num, self.den = num, den
        self.nan = num._set([]) if nan is None else nan

    @staticmethod
    def of(num: PwAff, den: int = 1, nan: Set | None = None) -> Any:  # noqa: ANN401 - a PwAff where values are integers
        """The function of a number that is lowest, a `PwAff` where it is 1 and nothing is NaN."""
        factor = gcd(den, *[n for _, (e,) in num.cells for n in (e.const, *[c for _, c in e.terms])])
        if factor > 1:
            num = num._each(lambda e: Aff(tuple([(a, c // factor) for a, c in e.terms]), e.const // factor))
        if den == factor and (nan is None or nan.is_empty()):
            return num
        return RationalPwAff(num, den // factor, nan)

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    @staticmethod
    def _taking(f: Any) -> RationalPwAff:  # noqa: ANN401
        """A function that an operation is of beside this one."""
        return lifted(f)

    def _with(self, num: PwAff, nan: Set | None = None) -> Any:  # noqa: ANN401
        return self.of(num, self.den, self.nan if nan is None else nan)

    # ---- structure

    @property
    def space(self) -> Space:
        """That of the function."""
        return self.num.space

    @property
    def param_names(self) -> tuple[str, ...]:
        """Those of the function."""
        return self.num.param_names

    @property
    def pieces(self) -> tuple[tuple[Set, Any], ...]:
        """(domain, function on the whole space) pairs; domains are disjoint."""
        found = [(s, self.of(self.num._lifted(e), self.den)) for s, e in self.num.pieces]
        if not self.nan.is_empty():
            found.append((self.nan, RationalPwAff.nan_on(self.nan.universe(self.nan.space))))
        return tuple(found)

    @staticmethod
    def nan_on(points: Set) -> RationalPwAff:
        """The function that is NaN on a set."""
        return RationalPwAff(PwAff.on(points.empty(points.space).align_params(points), 0), 1, points)

    def __str__(self) -> str:
        from .pwshow import show_quotient

        return show_quotient(self.num, self.den, self.nan)

    def __repr__(self) -> str:
        return f"PwAff({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self.space.key if Named.as_islpy else (self.num, self.den))

    def __eq__(self, other: object) -> bool:
        """The same function over the same number, NaN at the same points as written; NaN is equal to nothing."""
        if not isinstance(other, RationalPwAff):
            return False
        if self.nan.is_empty() and other.nan.is_empty() and (self.num, self.den) == (other.num, other.den):
            return True
        return Named.as_islpy and self.is_equal(other)

    __bool__ = Piecewise.__bool__
    update_persistent_hash = update_persistent_hash

    def domain(self) -> Set:
        """The points where it has a value, NaN or a number."""
        return self.num.domain() | self.nan

    def is_equal(self, other: PwAff | RationalPwAff) -> bool:
        """Whether both have one domain and the same values there, none of which is NaN; exact."""
        other = lifted(other, self.num)
        if self.space.key != other.space.key:
            return False
        a, b, _ = self._pair(other)
        return self.nan.is_empty() and not involves_nan(other) and a.is_equal(b)

    def is_nan(self) -> bool:
        """Whether it is no number, wherever it has a value."""
        return self.num.domain().is_empty() and not self.nan.is_empty()

    # ---- values

    def eval(self, /, point: Sequence[object] = (), **params: object) -> Any:  # noqa: ANN401
        """The value at a point, a fraction or NaN; see `PwAff.eval`."""
        from ..by_isl.objects.values import Val

        at = self.num._at(point, params)
        check_named(at, self.num.names, self)
        names = (*self.nan.param_names, *self.nan.space.dims)
        values = [at[n] for n in (*self.nan.param_names, *self.num.inp.dims)]
        here: Any = dict(zip(names, values, strict=True))
        if not self.nan.fix(**here).is_empty():
            return Val.nan()
        return Val(Fraction(self.num(**at), self.den))  # type: ignore[arg-type]

    def __call__(self, /, *point: object, **values: object) -> Any:  # noqa: ANN401
        """The value at a point, given in order or by name; see `eval`."""
        if point:
            return self.eval(point, **values)
        check_named(values, self.num.names, self)
        dims = self.num.inp.dims
        return self.eval([values[d] for d in dims], **{p: values[p] for p in self.param_names})

    # ---- arithmetic

    def _pair(self, other: Any) -> tuple[PwAff, PwAff, int]:  # noqa: ANN401
        """Both over one number."""
        other = lifted(other, self.num)
        den = lcm(self.den, other.den)
        return self.num * (den // self.den), other.num * (den // other.den), den

    def _number(self) -> int | None:
        """What its numerator plainly is everywhere, a number; None where that isn't seen at once."""
        cells = self.num.cells
        if len(cells) != 1 or any(cs for _, cs in self.nan.parts):
            return None
        ((c, (e,)),) = cells
        return e.const if e.is_constant and c == cj.universe(c.n) else None

    def _either_nan(self, other: Any) -> Set:  # noqa: ANN401
        other = lifted(other, self.num)
        return (self.nan & other.domain()) | (other.nan & self.domain())

    def _by(self, name: str, other: Any) -> Any:  # noqa: ANN401
        """What a method of functions gives of both, over one number."""
        a, b, den = self._pair(other)
        return self.of(getattr(a, name)(b), den, self._either_nan(other))

    def __add__(self, other: Any) -> Any:  # noqa: ANN401
        return self._by("__add__", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:  # noqa: ANN401
        return self._by("__sub__", other)

    def __rsub__(self, other: Any) -> Any:  # noqa: ANN401
        return -self + other

    def __neg__(self) -> Any:  # noqa: ANN401
        return self._with(-self.num)

    neg = __neg__

    def __mul__(self, other: Any) -> Any:  # noqa: ANN401
        """The product, of which one factor is a number wherever both have a value; see `PwAff.__mul__`."""
        other = lifted(other, self.num)
        return self.of(self.num * other.num, self.den * other.den, self._either_nan(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:  # noqa: ANN401
        """The quotient by a function that is a number on each of its pieces; NaN where that is 0.

        Raises
        ------
        NotAffine : the divisor varies.
        """
        other = lifted(other, self.num)
        number = other._number()
        if number and (other.param_names, other.num.inp) == (self.param_names, self.num.inp):
            return self.of(self.num * (other.den if number > 0 else -other.den), self.den * abs(number), self.nan)
        found = [RationalPwAff(self.num.intersect_domain(self.num._set([])), 1, self._either_nan(other))]
        for points, e in other.num.pieces:
            if not e.is_constant and not self.num.intersect_domain(points).domain().is_empty():
                raise NotAffine("a divisor is a number", where=f"({self}) / {e}")
            here = self.num.intersect_domain(points)
            if e.const:
                found.append(RationalPwAff(here * (other.den if e.const > 0 else -other.den), self.den * abs(e.const)))
            else:
                found.append(RationalPwAff.nan_on(here.domain()))
        return beside(found)

    def min(self, other: Any) -> Any:  # noqa: ANN401
        """The lesser value, where both have one; NaN where either is."""
        return self._by("min", other)

    def max(self, other: Any) -> Any:  # noqa: ANN401
        """The greater value, where both have one; NaN where either is."""
        return self._by("max", other)

    def _united(self, name: str, other: Any) -> Any:  # noqa: ANN401
        other = lifted(other, self.num)
        both = lifted(self._by(name, other), self.num)
        mine, theirs = self.domain(), other.domain()
        return beside([both, lifted(self.subtract_domain(theirs)), lifted(other.subtract_domain(mine))])

    def union_add(self, other: Any) -> Any:  # noqa: ANN401
        """The sum where both have a value, elsewhere the one that has one."""
        return self._united("__add__", other)

    def union_min(self, other: Any) -> Any:  # noqa: ANN401
        """The lesser value where both have one, elsewhere the one that has one."""
        return self._united("min", other)

    def union_max(self, other: Any) -> Any:  # noqa: ANN401
        """The greater value where both have one, elsewhere the one that has one."""
        return self._united("max", other)

    def union_prefer(self, other: Any) -> Any:  # noqa: ANN401
        """This function where it has a value, elsewhere the other."""
        return beside([self, lifted(lifted(other, self.num).subtract_domain(self.domain()))])

    def cond(self, then: Any, other: Any) -> Any:  # noqa: ANN401
        """`then` where this is no 0, `other` where it is; NaN where it is NaN, and one of them has a value."""
        yes, no = (lifted(f, self.num) for f in (then, other))
        unknown = self.nan & (yes.domain() | no.domain())
        chosen = [yes.intersect_domain(self.ne_set(0)), no.intersect_domain(self.eq_set(0))]
        return beside([RationalPwAff.nan_on(unknown), *map(lifted, chosen)])

    # ---- rounding

    def floor(self) -> Any:  # noqa: ANN401
        """The greatest integer that is not above it."""
        return self.of(self.num // self.den, 1, self.nan)

    def ceil(self) -> Any:  # noqa: ANN401
        """The least integer that is not below it."""
        return self.of(self.num.ceildiv(self.den), 1, self.nan)

    def __mod__(self, number: int) -> Any:  # noqa: ANN401
        """The remainder r, a fraction of 0 <= r < number."""
        if (modulus := whole(number)) is None:
            raise NotAffine(f"a modulus is an integer, not {kind_of(number)}", where=str(number))
        return self._with(self.num % (modulus * self.den))

    def __floordiv__(self, other: Any) -> Any:  # noqa: ANN401
        """The quotient rounded down, NaN where the divisor is 0; see `__truediv__`."""
        return lifted(self / other).floor()

    # ---- comparisons

    def _compared(self, name: str, other: Any) -> Set:  # noqa: ANN401
        a, b, _ = self._pair(other)
        return getattr(a, name)(b)

    def le_set(self, other: Any) -> Set:  # noqa: ANN401
        """The points where both are numbers, and this is at most the other; exact."""
        return self._compared("le_set", other)

    def lt_set(self, other: Any) -> Set:  # noqa: ANN401
        """The points where both are numbers, and this is less than the other; exact."""
        return self._compared("lt_set", other)

    def ge_set(self, other: Any) -> Set:  # noqa: ANN401
        """The points where both are numbers, and this is at least the other; exact."""
        return self._compared("ge_set", other)

    def gt_set(self, other: Any) -> Set:  # noqa: ANN401
        """The points where both are numbers, and this is greater than the other; exact."""
        return self._compared("gt_set", other)

    def eq_set(self, other: Any) -> Set:  # noqa: ANN401
        """The points where both are numbers, and this is equal to the other; exact."""
        return self._compared("eq_set", other)

    def ne_set(self, other: Any) -> Set:  # noqa: ANN401
        """The points where both are numbers, and this is another than the other; exact."""
        return self._compared("ne_set", other)

    # ---- domains, and functions of functions

    def intersect_domain(self, points: Set) -> Any:  # noqa: ANN401
        """The function at the points of a set alone."""
        return self._with(self.num.intersect_domain(points), self.nan & points)

    def intersect_params(self, context: Set) -> Any:  # noqa: ANN401
        """The function for parameters of a set alone."""
        return self._with(self.num.intersect_params(context), self.nan.intersect_params(context))

    def subtract_domain(self, points: Set) -> Any:  # noqa: ANN401
        """The function outside of a set."""
        return self._with(self.num.subtract_domain(points), self.nan - points)

    def gist(self, context: Set) -> Any:  # noqa: ANN401
        """A simpler function that agrees with this one wherever the context holds; see `PwAff.gist`."""
        return self._with(self.num.gist(context), self.nan if self.nan.is_empty() else self.nan.gist(context))

    def coalesce(self) -> Any:  # noqa: ANN401
        """The same function in fewer pieces."""
        return self._with(self.num.coalesce(), self.nan.coalesce())

    def align_params(self, params: Any) -> Any:  # noqa: ANN401
        """The same function with a longer list of parameters."""
        return self._with(self.num.align_params(params), self.nan.align_params(params))

    def _renamed(self, dims: tuple[str, ...]) -> RationalPwAff:
        """The same function of inputs with other names."""
        num = self.num._renamed(dims)
        return RationalPwAff(num, self.den, num._set([c for _, cs in self.nan.parts for c in cs]))

    def pullback(self, inner: Any) -> Any:  # noqa: ANN401
        """The function after another one, whose values may be fractions, too.

        Where this one has a domain of its own, that holds integer points, and so do those at which the result has a
        value; what is one expression everywhere is one of fractions, too.
        """
        inner = [inner] if isinstance(inner, (PwAff, RationalPwAff)) else inner
        members = [lifted(f) for f in inner]
        if not members:
            return self._with(self.num.pullback(inner), self.nan.preimage(inner))
        return beside([*_pulled(self, members), *_nan_pulled(self, members)])

    pullback_multi_aff = pullback_multi_pw_aff = pullback_pw_multi_aff = pullback

    def as_map(self) -> Map:
        """The graph: the pairs of which the second is an integer.

        Raises
        ------
        NotAffine : it is NaN somewhere.
        """
        from ..values.map import Map

        if not self.nan.is_empty():
            raise NotAffine("NaN is no point", where=str(self))
        return self.num.as_map().apply_range(Map(f"{{ [a] -> [b] : a = {self.den}b }}"))

    def bind_id(self, name: str) -> Set:
        """The points at which the value is that of a parameter."""
        return self.num.align_params([name]).eq_set(self.den * var(name))

    def _extreme(self, name: str) -> Any:  # noqa: ANN401
        from ..by_isl.objects.values import Val

        if not self.nan.is_empty():
            return Val.nan()
        return Val(Fraction(getattr(self.num, name)(), self.den))

    def min_val(self) -> Any:  # noqa: ANN401
        """The least value, a fraction; see `PwAff.min_val`. Where it is NaN somewhere, that."""
        return self._extreme("min_val")

    def max_val(self) -> Any:  # noqa: ANN401
        """The greatest value, a fraction; see `PwAff.max_val`."""
        return self._extreme("max_val")


def _pulled(outer: RationalPwAff, members: Sequence[RationalPwAff]) -> Iterator[RationalPwAff]:
    """The pieces of an outer function after some members, its values by its numerator."""
    params = tuple(dict.fromkeys([*(p for f in members for p in f.param_names), *outer.param_names]))
    joint = reduce(lambda a, b: a.flat_range_product(b), [MultiPwAff.of(f.num) for f in members]).align_params(params)
    num = outer.num.align_params(params)
    if len(members) != len(num.inp.dims):
        raise SpaceMismatch("the inner function does not lead here", where=f"{num.space}")
    everywhere = len(num.cells) == 1 and num.cells[0][0] == cj.universe(len(num.names))
    places: dict[str, Rational] = {p: (var(p), 1) for p in params}
    for c, images in joint.cells:
        found = list(zip(images, [f.den for f in members], strict=True))
        places.update(zip(num.inp.dims, found, strict=True))
        for d, (value,) in num.cells:
            for part in with_known_divs(d):
                atoms = [(kind, _quotient(e, places)[0]) for kind, e in atoms_of(part, num.names)]
                if not everywhere:
                    atoms += [("eq", e % den) for e, den in found if den > 1]
                if (both := refined(c, joint.names, atoms)) is not None:
                    e, den = _quotient(value, places)
                    piece = PwAff._of(params, Space(joint.inp, ONE), [(both, (e,))])
                    yield RationalPwAff(piece, den * outer.den)
    yield RationalPwAff(PwAff._of(params, Space(joint.inp, ONE), []), 1)


def _quotient(e: Aff, places: Mapping[str, Rational]) -> Rational:
    found = quotient(e, places)
    if found is None:
        raise NotAffine("an exclusive or of fractions", where=str(e))
    return found


def _nan_pulled(outer: RationalPwAff, members: Sequence[RationalPwAff]) -> Iterator[RationalPwAff]:
    """Where the function after some members is NaN: where it is of integers, or where a member is."""
    for k, f in enumerate(members):
        if not f.nan.is_empty():
            others = [g.domain() for j, g in enumerate(members) if j != k]
            earlier = [g.nan for g in members[:k]]
            yield RationalPwAff.nan_on(reduce(lambda a, b: a - b, earlier, reduce(lambda a, b: a & b, others, f.nan)))
    if not outer.nan.is_empty():
        mark = RationalPwAff(PwAff.on(outer.nan, 0), 1)
        for piece in _pulled(mark, members):
            yield RationalPwAff.nan_on(piece.num.domain())


def lifted(f: Any, like: PwAff | None = None) -> RationalPwAff:  # noqa: ANN401
    """A function, a number or, in the names of another function, an expression as a quotient by 1 or more.

    Raises
    ------
    NotAffine : it is none.
    """
    if isinstance(f, RationalPwAff):
        return f
    if isinstance(f, PwAff):
        return RationalPwAff(f, 1)
    if like is None:
        check_function(f, "a function with fractions")
    if isinstance(f, Aff) or whole(f) is not None:
        return RationalPwAff(like._lifted(f), 1)  # type: ignore[union-attr]
    if isinstance(f, Fraction):
        return RationalPwAff(like._lifted(f.numerator), f.denominator)  # type: ignore[union-attr]
    if hasattr(f, "is_rat"):  # isl's numbers
        if f.is_rat():
            return lifted(Fraction(f.num, f.den), like)
        if f.is_nan():
            everywhere = like._lifted(0).domain()  # type: ignore[union-attr]
            return RationalPwAff.nan_on(everywhere)
    raise NotAffine(f"a function cannot be combined with {kind_of(f)}", where=str(f), hint="use a function or a number")


def beside(parts: Iterable[RationalPwAff]) -> Any:  # noqa: ANN401
    """The function that is what some functions on disjoint domains are."""
    first, *others = parts
    for f in others:
        a, b, den = first._pair(f)
        first = RationalPwAff(a.union_prefer(b), den, first.nan | f.nan)
    return RationalPwAff.of(first.num, first.den, first.nan)


def involves_nan(f: Any) -> bool:  # noqa: ANN401
    """Whether a function is NaN at some point."""
    return isinstance(f, RationalPwAff) and not f.nan.is_empty()
