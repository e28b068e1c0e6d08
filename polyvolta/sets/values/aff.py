"""Quasi-affine expressions: integer combinations of dimensions and of floors of such combinations.

`Aff` is the expression a person writes: `i - 64*floor(i/64)`. It is kept in one normal form, chosen so that
tiling a tile gives what a textbook prints:

- multiples of the divisor leave the floor:       floor((i - 128*q)/64)   = floor(i/64) - 2*q
- nested floors flatten:                          floor(floor(i/4)/8)     = floor(i/32)
- common factors cancel:                          floor((2*i + 1)/4)      = floor(i/2)

A third kind of atom, `Xor`, is a bitwise exclusive-or of two expressions of a known width. It adds no power
(bit b of x is floor(x/2**b) - 2*floor(x/2**(b+1)), so `without_xor` writes it out) but it is what people and
processors call a swizzle, and it keeps such an index one short term instead of a dozen floors.

All of it is exact; an expression of n atoms costs O(n log n) to add or scale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd
from operator import index
from typing import TYPE_CHECKING, Any, Union, overload

from ..errors import NotAffine, UnknownName, kind_of, nearest
from .named import Named, by_isl

Atom = Union[str, "Floor", "Xor"]


class Floor:
    """floor(num / den), den >= 2, in normal form (build it with `Aff.floordiv`); its hash, its place in an
    expression and whether it holds an exclusive-or are computed once: floors share floors."""

    __slots__ = ("_hash", "_place", "den", "has_xor", "num")
    __match_args__ = ("num", "den")

    def __init__(self, num: Aff, den: int) -> None:
        self.num, self.den = num, den
        self._hash = hash((num.terms, num.const, den))
        self._place: tuple | None = None
        self.has_xor = num._has_xor()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Floor) and self._hash == other._hash and self.den == other.den and self.num == other.num
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Floor, (self.num, self.den)

    def __repr__(self) -> str:
        return f"Floor({self.num!r}, {self.den})"

    @property
    def place(self) -> tuple:
        """What sorts it among other atoms."""
        if self._place is None:
            self._place = (1, *_flat(self.num), self.den)
        return self._place


@dataclass(frozen=True, slots=True)
class Xor:
    """left ^ right of two expressions with values in 0 <= x < 2**bits (build it with `xor`)."""

    left: Aff
    right: Aff
    bits: int


@lru_cache(maxsize=1 << 13)
def _name_place(name: str) -> tuple:
    head = name.rstrip("0123456789")
    if head.isalpha():  # no other digits
        return (0, head + name[len(head) :].zfill(9) if head != name else name, name)
    return (0, re.sub(r"\d+", lambda m: m.group().zfill(9), name), name)


def order_of(atom: Atom) -> tuple:
    """Sort key: names in alphabetical order first (i2 before i10), then floors, then exclusive-ors."""
    if isinstance(atom, str):
        return _name_place(atom)
    if isinstance(atom, Floor):
        return atom.place
    return (2, *_flat(atom.left), *_flat(atom.right), atom.bits)


def _term_order(term: tuple[Atom, int]) -> tuple:
    atom = term[0]
    return _name_place(atom) if type(atom) is str else order_of(atom)


def _flat(aff: Aff) -> tuple:
    return (tuple([(order_of(a), c) for a, c in aff.terms]), aff.const)


class Aff(metaclass=Named):
    """An integer-valued quasi-affine expression over named dimensions; immutable.

    Parameters
    ----------
    terms : pairs (atom, coefficient), coefficients not 0, sorted; use `aff`, `var` and the operators.
    const : the constant term.

    Raises
    ------
    NotAffine : `terms` is a text, or no tuple.

    >>> i = var("i")
    >>> print((i - 128 * (i // 128)) // 64)
    floor(i/64) mod 2
    >>> print((8 * i) % 32)
    8*(i mod 4)
    """

    __slots__ = ("const", "terms")
    __match_args__ = ("terms", "const")

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            return by_isl(self, name)

    def __init__(self, terms: tuple[tuple[Atom, int], ...], const: int = 0) -> None:
        if type(terms) is not tuple:
            hint = f"aff({terms!r}) reads it" if isinstance(terms, str | int) else ""
            if isinstance(terms, str) and "{" in terms:
                hint = "PwAff(text) reads a function in isl's notation, its pieces have expressions"
            raise NotAffine(
                f"an Aff is made from a tuple of terms, not from {kind_of(terms)}", where=repr(terms), hint=hint
            )
        self.terms, self.const = terms, const

    def __hash__(self) -> int:
        return hash((self.terms, self.const))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aff) and self.const == other.const and self.terms == other.terms

    # ---- arithmetic

    def __add__(self, other: Aff | int) -> Aff:
        if isinstance(other, Aff):
            if not other.terms or not self.terms:
                return Aff(self.terms or other.terms, self.const + other.const)
            sums = dict(self.terms)
            for atom, c in other.terms:
                sums[atom] = sums.get(atom, 0) + c
            return linear(sums, self.const + other.const)
        number = other if isinstance(other, int) else _whole(other, "added")
        return NotImplemented if number is None else Aff(self.terms, self.const + number)

    __radd__ = __add__

    def __neg__(self) -> Aff:
        return Aff(tuple([(a, -c) for a, c in self.terms]), -self.const)

    def __sub__(self, other: Aff | int) -> Aff:
        if isinstance(other, Aff):
            if not other.terms:
                return Aff(self.terms, self.const - other.const)
            sums = dict(self.terms)
            for atom, c in other.terms:
                sums[atom] = sums.get(atom, 0) - c
            return linear(sums, self.const - other.const)
        number = other if isinstance(other, int) else _whole(other, "subtracted")
        return NotImplemented if number is None else Aff(self.terms, self.const - number)

    def __rsub__(self, other: Aff | int) -> Aff:
        return -self + other

    def __mul__(self, factor: int) -> Aff:
        if not isinstance(factor, int):
            if isinstance(factor, Aff):
                return _product(self, factor)
            number = _whole(factor, "multiplied")
            return NotImplemented if number is None else self * number
        if not factor:
            return Aff((), 0)
        return self if factor == 1 else Aff(tuple([(a, c * factor) for a, c in self.terms]), self.const * factor)

    __rmul__ = __mul__

    def __floordiv__(self, den: int) -> Aff:
        return self.floordiv(den)

    def __truediv__(self, den: int) -> Aff:
        raise NotAffine("an expression takes integer values only", where=f"({self})/{den}", hint="write e // d")

    def __mod__(self, den: int) -> Aff:
        return self - den * self.floordiv(den)

    def floordiv(self, den: int) -> Aff:
        """floor(self / den) in normal form.

        Raises
        ------
        NotAffine : den is not positive.

        >>> from polyvolta.sets import var
        >>> print((var("i") + 1).floordiv(4))
        floor((i + 1)/4)
        """
        if not isinstance(den, int) or den <= 0:
            raise NotAffine(f"a divisor must be a positive number, not {den}", where=f"floor(({self})/{den})")
        if den == 1:
            return self
        if len(self.terms) == 1 and 0 <= self.const < den:
            ((atom, c),) = self.terms
            if gcd(c, den) == 1 and (c != 1 or not isinstance(atom, Floor)):
                return Aff(((Floor(self, den), 1),))
        whole = Aff(tuple([(a, c // den) for a, c in self.terms if c % den == 0]), self.const // den)
        rest = Aff(tuple([t for t in self.terms if t[1] % den]), self.const % den)
        if not rest.terms:
            return whole
        g = gcd(den, *[c for _, c in rest.terms])
        if g > 1:
            rest = Aff(tuple((a, c // g) for a, c in rest.terms), rest.const // g)
            return whole + rest.floordiv(den // g)
        inner = [a for a, c in rest.terms if c == 1 and isinstance(a, Floor)]
        if len(inner) == 1:  # floor((n + floor(e/d))/den) = floor((d*n + e)/(d*den)) for an integer n
            (atom,) = inner
            flat = (rest - Aff(((atom, 1),))) * atom.den + atom.num
            return whole + flat.floordiv(atom.den * den)
        return whole + Aff(((Floor(rest, den), 1),))

    # ---- reading

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficient(self, atom: Atom) -> int:
        """The number that an atom is multiplied with.

        `atom` is a name, or a floor or an exclusive-or as it stands in `terms`; of others it is 0.

        >>> from polyvolta.sets import var
        >>> (3 * var("i") - var("j") + 1).coefficient("i")
        3
        """
        return next((c for a, c in self.terms if a == atom), 0)

    def names(self) -> frozenset[str]:
        """The dimensions that the expression depends on.

        Those inside floors and exclusive-ors, too.

        >>> from polyvolta.sets import var
        >>> sorted((var("i") // 4 + var("j")).names())
        ['i', 'j']
        """
        return _names(self)

    @overload
    def evaluate(self, values: Mapping[str, int]) -> int: ...
    @overload
    def evaluate(self, values: Mapping[str, Any]) -> Any: ...
    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value at a point: numbers, or numpy arrays of integers, elementwise.

        `values` has a number, or an array of integers, for each name.

        >>> (var("i") // 4).evaluate({"i": -1})
        -1

        Raises
        ------
        UnknownName : a dimension has no value.
        NotAffine : a value is no number.
        """
        if not isinstance(values, Mapping):
            raise UnknownName(f"values are a mapping, not {values!r}", where=str(self), hint='evaluate({"i": 3})')
        return self._value(values, {}, self)

    def _value(self, values: Mapping[str, Any], done: dict[Atom, Any], whole: Aff) -> Any:
        total: Any = self.const
        for atom, c in self.terms:
            if atom not in done:
                match atom:
                    case str():
                        done[atom] = _given(atom, values, whole)
                    case Floor(num, den):
                        done[atom] = num._value(values, done, whole) // den
                    case Xor(left, right, _):
                        done[atom] = left._value(values, done, whole) ^ right._value(values, done, whole)
            total = total + c * done[atom]
        return total

    def rewrite(self, leaf: Callable[[str], Aff]) -> Aff:
        """The expression with every dimension replaced by an expression; a floor that recurs is rewritten once.

        `leaf` gives the expression for a name; `NotAffine` is raised where it cannot be called.

        Raises
        ------
        NotAffine

        >>> from polyvolta.sets import var
        >>> print((var("i") // 4 + var("j")).rewrite(lambda name: var(name) + 1))
        j + floor((i + 1)/4) + 1
        """
        if not callable(leaf):
            raise NotAffine(f"a function gives what replaces a dimension, not {leaf!r}", hint="subs takes a mapping")
        return self._mapped(leaf, {})

    def _mapped(self, leaf: Callable[[str], Aff], done: dict[Atom, Aff]) -> Aff:
        total = Aff((), self.const)
        for atom, c in self.terms:
            value = done.get(atom)
            if value is None:
                match atom:
                    case str():
                        value = leaf(atom)
                    case Floor(num, den):
                        value = num._mapped(leaf, done).floordiv(den)
                    case Xor(left, right, bits):
                        value = xor(left._mapped(leaf, done), right._mapped(leaf, done), bits)
                done[atom] = value
            total = total + value * c
        return total

    def subs(self, values: Mapping[str, Aff | int | str]) -> Aff:
        """The expression with some dimensions replaced by expressions, their text or numbers.

        `values` has expressions, texts or ints by name; names that it lacks stay.

        Raises
        ------
        NotAffine, UnknownName : a value that is no expression, no mapping.

        >>> from polyvolta.sets import var
        >>> print((var("i") // 4 + var("j")).subs({"i": 4 * var("k") + 1, "j": 2}))
        k + 2
        """
        if not isinstance(values, Mapping):
            raise NotAffine(f"replacements are a mapping, not {values!r}", where=str(self), hint='subs({"i": 3})')
        table = {k: aff(v) for k, v in values.items()}
        return self.rewrite(lambda name: table.get(name) or var(name))

    def without_xor(self) -> Aff:
        """The same function with every exclusive-or written out in floors.

        >>> from polyvolta.sets import var, xor
        >>> print(xor(var("i"), var("j"), 1).without_xor())
        (i + j) mod 2
        """
        if not self._has_xor():
            return self
        total = Aff((), self.const)
        for atom, c in self.terms:
            match atom:
                case str():
                    value = Aff(((atom, 1),))
                case Floor(num, den):
                    value = num.without_xor().floordiv(den)
                case Xor(left, right, bits):
                    a, b = left.without_xor(), right.without_xor()
                    value = aff(0)
                    for k in range(bits):
                        value = value + ((a // 2**k % 2 + b // 2**k % 2) % 2) * 2**k
            total = total + value * c
        return total

    def _has_xor(self) -> bool:
        for atom, _ in self.terms:
            if not isinstance(atom, str) and (isinstance(atom, Xor) or atom.has_xor):
                return True
        return False

    def __str__(self) -> str:
        from ..text.show_expressions import show_aff

        return show_aff(self)

    def __repr__(self) -> str:
        return f"Aff({str(self)!r})"

    def _repr_html_(self) -> str:
        from ..text.notebook import html

        return html(str(self))


@lru_cache(maxsize=1 << 12)
def _names(e: Aff) -> frozenset[str]:
    found: set[str] = set()
    for atom, _ in e.terms:
        match atom:
            case str():
                found.add(atom)
            case Floor(num, _):
                found |= _names(num)
            case Xor(left, right, _):
                found |= _names(left) | _names(right)
    return frozenset(found)


def _given(name: str, values: Mapping[str, object], where: Aff) -> object:
    """The value of a dimension."""
    if name not in values:
        raise UnknownName(f"{name!r} has no value", where=str(where), hint=nearest(name, values))
    value = values[name]
    if value is None or isinstance(value, (str, list, tuple)):
        raise NotAffine(f"the value of {name} is an integer, not {value!r}", where=str(where))
    return value


def linear(sums: Mapping[Atom, int], const: int) -> Aff:
    """The expression with some coefficients, which may be 0, of atoms in any order."""
    terms = [t for t in sums.items() if t[1]]
    if len(terms) == 2:
        (a, _), (b, _) = terms
        if isinstance(a, Floor) and isinstance(b, Floor) and a.num == b.num:  # by their last keys
            if a.den > b.den:
                terms.reverse()
        elif (type(a) is str) is (type(b) is str):
            terms.sort(key=_term_order)
        elif type(b) is str:
            terms.reverse()
    elif len(terms) > 1:
        terms.sort(key=_term_order)
    return Aff(tuple(terms), const)


def _whole(value: object, done: str) -> int | None:
    """An operand that is no `int` as one, such as numpy's integers; None where its own type may know the answer."""
    if isinstance(value, (str, float, Fraction, type(None))):
        raise NotAffine(f"an integer or an expression can be {done}, not {value!r}")
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _product(left: Aff, right: Aff) -> Aff:
    if not left.terms or not right.terms:
        return left * right.const if right.is_constant else right * left.const
    raise NotAffine("a product of two expressions that are no numbers", where=f"({left}) * ({right})")


def var(name: str) -> Aff:
    """The expression that is one dimension, whose name is an identifier, perhaps with primes and dots.

    The characters `@`, `#` and `?` are for names that programs make up, which no text can say.

    Raises
    ------
    UnknownName : that is no name.

    >>> from polyvolta.sets import var
    >>> print(var("i") // 4 + 2)
    floor(i/4) + 2
    """
    if not isinstance(name, str):
        raise UnknownName(f"a dimension is given by its name, not by {name!r}")
    if not _is_name(name):
        raise UnknownName(f"{name!r} is no name for a dimension", hint="aff(...) reads an expression")
    return named(name)


def named(name: str) -> Aff:
    """The expression that is one dimension, whose name is known to be one."""
    return Aff(((name, 1),))


@lru_cache(maxsize=1 << 13)
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _WORDS


_WORDS = frozenset({"and", "or", "not", "True", "False"})  # of formulas, and of Python
_NAME = re.compile(r"(?:[^\W\d]|[@#?])[\w'.@#?]*")


def aff(value: Aff | int | str) -> Aff:
    """An expression from an expression, a number, a name or a text.

    `value` is an expression, a text or an int.

    >>> print(aff("2i + floor((j + 1)/4)"), aff("i") == var("i"))
    2*i + floor((j + 1)/4) True

    Raises
    ------
    SetSyntaxError : the text is no expression, or one of several cases.
    """
    if isinstance(value, Aff):
        return value
    if isinstance(value, str):
        from ..text.expressions import parse_aff

        return var(value) if _is_name(value) else parse_aff(value)
    number = _whole(value, "made an expression")
    if number is None:
        raise NotAffine(f"{value!r} is neither a number nor a name")
    return Aff((), number)


def xor(left: Aff | int, right: Aff | int, bits: int) -> Aff:
    """left ^ right, both with values in 0 <= x < 2**bits; constants fold, or stand behind.

    `left` and `right` are non-negative and below `2**bits`; `NotAffine` is raised where they are no expressions.

    >>> from polyvolta.sets import var, xor
    >>> print(xor(var("i"), var("j"), 3))
    (i ^ j)
    >>> xor(var("i"), var("j"), 3).evaluate({"i": 5, "j": 3})
    6
    """
    left, right = aff(left), aff(right)
    if left.is_constant and right.is_constant:
        return aff(left.const ^ right.const)
    if left == aff(0) or right == aff(0):
        return left + right
    if (left.is_constant, _flat(left)) > (right.is_constant, _flat(right)):
        left, right = right, left
    return Aff(((Xor(left, right, bits), 1),))


def total(parts: Iterable[Aff]) -> Aff:
    """The sum of some expressions."""
    return sum(parts, Aff((), 0))
