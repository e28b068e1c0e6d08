"""Reading quasi-affine functions of a box as sums of digits.

Over 0 <= t < 32 the expression `floor(t/4) + 8*(t mod 2)` is a sum of digits of t, each times a stride: that is what
ownership maps, tilings and memory layouts are made of. A *digit* of a coordinate x in low <= x < low + extent is
`floor((x - low)/stride) mod radix`, and the strides of a coordinate's digits multiply up (mixed radix: 0 <= x < 36 may
have digits of radix 4 and 9). Where a radix is a power of two the digits are bits, so that exclusive-or can join in:
a *unit* is one digit, or the exclusive-or of several bits. A `DigitSum` is a constant plus units times numbers.

Sums of digits are closed under what quasi-affine expressions do, as far as it stays readable:

- floor(s / d) takes multiples of d out, splits the digit that d cuts in two, and drops what stays below d;
- floor((a + b + ..)/2) of bits is half of the sum less its parity, and the parity is one unit: this is how the
  exclusive-or of bits is recognised, `a + b - 2*floor((a + b)/2)` being `a ^ b`;
- any other function of a few bits is a combination of their exclusive-ors, with coefficients that may be fractions: its
  Walsh transform. What is a layout after all has whole ones in the end.

Anything else has no such form and raises `NotSupported`, which names it. Where the digits
of a coordinate must be cut becomes known on the way: reading starts again with one cut more, at most as often as
there are divisors.

The algebra is that of mixed-radix layouts and of linear layouts over F2 (Zhou et al., "Linear Layouts: Robust Code
Generation of Efficient Tensor Computation Using F2", 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import NamedTuple, NoReturn, TypeVar

from ..errors import NotSupported, UnknownName, nearest
from ..values.aff import Aff, Floor, Xor

T = TypeVar("T")
MOST_DIGITS = 64  # bits and other digits of one coordinate
MOST_CARRIED = 8  # bits that a quotient other than of 2 may depend on
SCALE = 2 ** (
    MOST_CARRIED - 1
)  # numbers are kept times this: fractions occur between a carry and the sum it belongs to


class Digit(NamedTuple):
    """`floor((x - low)/stride) mod radix` of one input coordinate, given by its position."""

    axis: int
    stride: int
    radix: int


Unit = tuple[Digit, ...]  # one digit, or the exclusive-or of several bits, sorted


class Axis(NamedTuple):
    """A coordinate `low <= name < low + extent`."""

    name: str
    low: int
    extent: int

    @property
    def bounds(self) -> str:
        """`0 <= t < 32`."""
        return f"{self.low} <= {self.name} < {self.low + self.extent}"


class DigitSum:
    """`(const + sum of number * unit) / SCALE`."""

    __slots__ = ("const", "terms")

    def __init__(self, const: int, terms: dict[Unit, int]) -> None:
        self.const, self.terms = const, terms

    def range(self) -> tuple[int, int]:
        """The least and the greatest value that units which vary freely give, times SCALE."""
        return _range(self.const, self.terms)


class Term(NamedTuple):
    """`stride * unit`, or `stride * (radix - 1 - unit)` where it is flipped; the stride is positive."""

    stride: int
    unit: Unit
    flip: bool

    @property
    def radix(self) -> int:
        return self.unit[0].radix


class Output(NamedTuple):
    """One output coordinate: `low` plus terms, by growing stride."""

    name: str
    low: int
    terms: tuple[Term, ...]

    @property
    def extent(self) -> int:
        """How long the interval from `low` on is that holds its values: the smallest one where units vary freely."""
        return 1 + sum(t.stride * (t.radix - 1) for t in self.terms)

    def beyond(self, axis: Axis) -> bool:
        """Whether that interval leaves the one of a coordinate."""
        return self.low < axis.low or self.low + self.extent > axis.low + axis.extent

    @property
    def apart(self) -> bool:
        """Whether the value determines every term: none reaches the stride of the next."""
        return all(sum(u.stride * (u.radix - 1) for u in self.terms[:k]) < t.stride for k, t in enumerate(self.terms))

    @property
    def dense(self) -> bool:
        """Whether every value of the interval is taken, by one choice of the terms: the strides multiply up."""
        stride = 1
        for t in self.terms:
            if t.stride != stride:
                return False
            stride *= t.radix
        return True


def output(name: str, s: DigitSum) -> Output:
    """A sum of digits as an output: positive strides by size, flipped where the number is negative.

    Raises
    ------
    NotSupported : a fraction is left over, of a carry that is not taken away again.
    """
    low = s.const
    terms = []
    for unit, c in s.terms.items():
        if c < 0:
            low += c * (unit[0].radix - 1)
        if c % SCALE:
            raise NotSupported("this is no sum of digits: a carry is left over")
        terms.append(Term(abs(c) // SCALE, unit, c < 0))
    return Output(name, low // SCALE, tuple(sorted(terms)))


class Cut(Exception):
    """The digits of an axis must be cut at this stride; caught by `with_cuts`."""


def with_cuts(axes: Sequence[Axis], read: Callable[[Reader], T], cuts: Sequence[Sequence[int]] = ()) -> T:
    """What `read` makes of a reader of these axes, with digits cut where it needs them.

    Raises
    ------
    NotSupported : the function has no form as sums of digits.
    """
    found = [set(c) for c in cuts] or [set() for _ in axes]
    while True:
        try:
            return read(Reader(axes, found))
        except Cut as cut:
            axis, stride = cut.args
            found[axis].add(stride)


class Reader:
    """The digits of some axes, and the operations on sums of them."""

    def __init__(self, axes: Sequence[Axis], cuts: Sequence[set[int]]) -> None:
        self.axes = axes
        self.digits = [_digits_of(k, axis, cuts[k]) for k, axis in enumerate(axes)]
        self.inputs = [
            DigitSum(SCALE * axis.low, {(d,): SCALE * d.stride for d in digits})
            for axis, digits in zip(axes, self.digits, strict=True)
        ]

    def combination(self, const: int, terms: Sequence[tuple[DigitSum, int]]) -> DigitSum:
        """`const + sum of c * s` for pairs (s, c)."""
        sums: dict[Unit, int] = {}
        const *= SCALE
        for s, c in terms:
            const += c * s.const
            for unit, v in s.terms.items():
                sums[unit] = sums.get(unit, 0) + c * v
        return DigitSum(const, {u: v for u, v in sums.items() if v})

    def quotient(self, s: DigitSum, den: int) -> DigitSum:
        """floor(s / den)."""
        low, high = s.range()
        if low // (SCALE * den) == high // (SCALE * den):
            return DigitSum(low // (SCALE * den) * SCALE, {})
        if s.const % SCALE or any(c % SCALE for c in s.terms.values()):
            self.refuse("a carry is divided again")
        whole, rest = {}, {}
        for unit, v in s.terms.items():
            n = v // SCALE
            q, c = (0, n) if -den < 2 * n < 0 else divmod(n, den)  # -1 is nearer to 0 than den - 1 is
            if q:
                whole[unit] = q * SCALE
            if c:
                rest[unit] = c
        q, const = divmod(s.const // SCALE, den)
        part = self._fine_quotient(const, rest, den)
        for unit, v in part.terms.items():
            whole[unit] = whole.get(unit, 0) + v
        return DigitSum(q * SCALE + part.const, {u: v for u, v in whole.items() if v})

    def _fine_quotient(self, const: int, terms: dict[Unit, int], den: int) -> DigitSum:
        """floor((const + terms) / den), the coefficients less than den in size."""
        low, high = _range(const, terms)
        if low // den == high // den:
            return DigitSum(low // den * SCALE, {})
        for unit, c in terms.items():
            self._cut_at(unit[0], den // gcd(c, den))
        g = 0
        for size in sorted({gcd(c, den) for c in terms.values()}, reverse=True):
            if size > 1:
                fine = {u: c for u, c in terms.items() if c % size}
                low, high = _range(const % size, fine)
                if low // size == high // size:
                    g = size
                    break
        if g:
            carried = SCALE * (const // g + low // g)
            coarse = {u: SCALE * (c // g) for u, c in terms.items() if not c % g}
            return self.quotient(DigitSum(carried, coarse), den // g)
        if any(u[0].radix != 2 for u in terms) or (den != 2 and len(terms) > MOST_CARRIED):
            self.refuse(f"the sum of {_spell(self.axes, terms)} carries over {den}")
        return _half(const, terms) if den == 2 else _transformed(const, terms, den)

    def _cut_at(self, digit: Digit, factor: int) -> None:
        if 1 < factor < digit.radix and digit.radix != 2:
            if digit.radix % factor:
                self.refuse(
                    f"a divisor cuts {_spell(self.axes, {(digit,): 1})}, which runs over {digit.radix} values, "
                    f"at {factor}, which does not divide that"
                )
            raise Cut(digit.axis, digit.stride * factor)

    def exclusive_or(self, left: DigitSum, right: DigitSum) -> DigitSum:
        """left ^ right of two sums that aren't negative."""
        sides = sorted((left, right), key=lambda s: s.range()[1])
        for s in sides:
            if s.range()[0] < 0:
                self.refuse("an exclusive-or of negative numbers")
        width = (sides[0].range()[1] // SCALE).bit_length()
        high = self.quotient(sides[1], 2**width)
        low = self.combination(0, [(sides[1], 1), (high, -(2**width))])
        a, b = (self._bits(s, width) for s in (sides[0], low))
        const, out = 0, dict[Unit, int]()
        for k in range(width):
            unit = tuple(sorted(set(a[k][0]) ^ set(b[k][0])))
            flipped = a[k][1] ^ b[k][1]
            const += flipped << k
            if unit:
                out[unit] = out.get(unit, 0) + (-SCALE if flipped else SCALE) * 2**k
        return self.combination(0, [(DigitSum(SCALE * const, out), 1), (high, 2**width)])

    def _bits(self, s: DigitSum, width: int) -> list[tuple[Unit, bool]]:
        """The bits of a sum: units, and whether each is complemented."""
        bits: list[tuple[Unit, bool]] = [((), False)] * width
        const = s.const
        for unit, c in s.terms.items():
            const += min(c, 0)
            number, fraction = divmod(abs(c), SCALE)
            places = [k for k in range(number.bit_length()) if number >> k & 1]  # 5u has the bits u, 0, u
            if unit[0].radix != 2 or fraction or places[-1] >= width or any(bits[k][0] for k in places):
                self.refuse(f"an exclusive-or of {_spell(self.axes, {unit: c})}, which is no bit of its own")
            for k in places:
                bits[k] = (unit, c < 0)
        const //= SCALE
        for k in range(width):
            if const >> k & 1:
                if bits[k][0]:
                    self.refuse("an exclusive-or of a sum that carries")
                bits[k] = ((), True)
        return bits

    def expression(self, e: Aff, names: dict[str, DigitSum]) -> DigitSum:
        """The sum that an expression is; `names` are the sums that its dimensions are."""
        terms = []
        for atom, c in e.terms:
            match atom:
                case Floor(num, den):
                    value = self.quotient(self.expression(num, names), den)
                case Xor(left, right, _):
                    value = self.exclusive_or(self.expression(left, names), self.expression(right, names))
                case _:
                    if atom not in names:
                        raise UnknownName(f"{atom!r} is not a dimension here", hint=nearest(atom, names))
                    value = names[atom]
            terms.append((value, c))
        return self.combination(e.const, terms)

    def refuse(self, why: str) -> NoReturn:
        """Raise the error that there is no such form."""
        raise NotSupported(f"this is no sum of digits: {why}")


def _digits_of(k: int, axis: Axis, cuts: set[int]) -> list[Digit]:
    marks = [1, *sorted(cuts), axis.extent]
    digits = []
    for low, high in zip(marks, marks[1:]):
        radix, carried = divmod(high, low)
        if carried:
            raise NotSupported(
                f"this is no sum of digits: {axis.name} is divided by {low} and by {high}, and {low} does not divide "
                f"{high}",
                where=axis.bounds,
            )
        if radix & (radix - 1):
            digits.append(Digit(k, low, radix))
        else:
            digits += [Digit(k, low << b, 2) for b in range(radix.bit_length() - 1)]
    if len(digits) > MOST_DIGITS:
        raise NotSupported(f"more than {MOST_DIGITS} digits in one coordinate", where=axis.bounds)
    return digits


def _half(const: int, terms: dict[Unit, int]) -> DigitSum:
    """floor((const + terms) / 2) for bits with odd coefficients: half of the sum less its parity."""
    parity: set[Digit] = set()
    for unit in terms:
        parity ^= set(unit)
    half, odd = SCALE // 2, const % 2
    sums = {u: c * half for u, c in terms.items()}
    if parity:
        key = tuple(sorted(parity))
        sums[key] = sums.get(key, 0) + (half if odd else -half)
    return DigitSum((const - odd) * half, {u: c for u, c in sums.items() if c})


def _transformed(const: int, terms: dict[Unit, int], den: int) -> DigitSum:
    """floor((const + terms) / den) of bits, as a combination of their exclusive-ors."""
    units = list(terms)
    values = [const]  # under every choice of the bits, the first unit in the lowest place
    for unit in units:
        values += [v + terms[unit] for v in values]
    values = [v // den for v in values]
    spectrum = list(values)
    for k in range(len(units)):
        for at in range(len(spectrum)):
            if not at >> k & 1:
                a, b = spectrum[at], spectrum[at | 1 << k]
                spectrum[at], spectrum[at | 1 << k] = a + b, a - b
    parities = [frozenset[Digit]()]
    for unit in units:
        parities += [p ^ set(unit) for p in parities]
    sums: dict[Unit, int] = {}
    for parity, v in zip(parities, spectrum, strict=True):
        if parity and v:
            key = tuple(sorted(parity))
            sums[key] = sums.get(key, 0) - 2 * v * SCALE // len(spectrum)
    return DigitSum(values[0] * SCALE, {u: c for u, c in sums.items() if c})


def _range(const: int, terms: dict[Unit, int]) -> tuple[int, int]:
    low = high = const
    for unit, c in terms.items():
        if c < 0:
            low += c * (unit[0].radix - 1)
        else:
            high += c * (unit[0].radix - 1)
    return low, high


def _spell(axes: Sequence[Axis], terms: dict[Unit, int]) -> str:
    units = sorted({(axes[d.axis].name, d.stride, d.radix) for u in terms for d in u})
    texts = [f"floor({n}/{s}) mod {r}" if s > 1 else f"{n} mod {r}" for n, s, r in units]
    return " and ".join(texts[:3]) + (" .." if len(texts) > 3 else "")
