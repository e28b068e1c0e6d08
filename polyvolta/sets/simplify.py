"""A bounds-aware simplifier of quasi-affine expressions.

With 0 <= t < 32, floor((32*floor(t/4) + 8*(t mod 4))/32) is floor(t/4): the second term stays below 32, the
first is a multiple of it. Two rules do all the work, inside out, on intervals of the names:

- a floor whose argument, with coefficients reduced modulo the divisor, stays within one multiple is a number;
- floor((a + b)/d) is floor(a/d) when g divides every coefficient of a and d itself, and 0 <= b < g.

Cost: a few interval evaluations per floor. Sound for the given ranges, not complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from .aff import Aff, Floor, Xor, aff, var, xor
from .digits import mod_parts

Range = tuple[int | None, int | None]


def simplify(e: Aff, ranges: Mapping[str, Range], values: Mapping[str, Aff] | None = None) -> Aff:
    """An expression equal to `e` wherever every name keeps to its inclusive range (None: unbounded).

    `values` are put in for names on the way, so that their ranges are known before a floor is rewritten.

    >>> from polyvolta.sets.aff import var
    >>> t = var("t")
    >>> print(simplify((32 * (t // 4) + 8 * (t % 4)) // 32, {"t": (0, 31)}))
    floor(t/4)
    """
    total = aff(e.const)
    for atom, c in e.terms:
        match atom:
            case Floor(num, den):
                value = floordiv_within(simplify(num, ranges, values), den, ranges)
            case Xor(left, right, bits):
                value = xor(simplify(left, ranges, values), simplify(right, ranges, values), bits)
            case _:
                value = values[atom] if values and atom in values else var(atom)
        total = total + value * c
    return total


def floordiv_within(num: Aff, den: int, ranges: Mapping[str, Range]) -> Aff:
    """floor(num / den), simplified, for a simplified `num`; the ranges are used before any normal form is."""
    low, high = interval(num, ranges)
    if low is not None and high is not None and low // den == high // den:
        return aff(low // den)
    units, const = _units(num)
    low, high = interval(sum((e * (c % den) for c, e in units), aff(const % den)), ranges)
    if low is not None and high is not None and low // den == high // den:
        return sum((e * (c // den) for c, e in units), aff(const // den + low // den))
    for g in sorted({gcd(c, den) for c, _ in units} | {den}, reverse=True):
        fine = sum((e * c for c, e in units if c % g), aff(const % g))
        if g == 1 or not fine.terms:
            continue
        low, high = interval(fine, ranges)
        if low is not None and high is not None and low // g == high // g:
            coarse = num - fine + low // g * g
            return floordiv_within(coarse, den, ranges) if coarse.terms else aff(coarse.const // den)
    made = num.floordiv(den)
    if made.terms == ((Floor(num, den), 1),) and not made.const:
        return made
    return simplify(made, ranges) if _weight(made) < _weight(num) + 1 else made


def _units(e: Aff) -> tuple[list[tuple[int, Aff]], int]:
    """The expression as (coefficient, unit) pairs and a constant; units are remainders and single atoms."""
    units, const = [], 0
    for m, num, den, rest in mod_parts(e):
        if den is None:
            units += [(c, Aff(((a, 1),))) for a, c in rest.terms]
            const = rest.const
        else:
            units.append((m, num % den))
    return units, const


def _weight(e: Aff) -> int:
    """How many atoms an expression is made of, nested ones included."""
    return sum(1 + (_weight(a.num) if isinstance(a, Floor) else 0) for a, _ in e.terms)


def interval(e: Aff, ranges: Mapping[str, Range]) -> Range:
    """An inclusive range that the expression's values keep to; None where there is no bound.

    >>> from polyvolta.sets.aff import var
    >>> interval(3 * (var("t") % 4) + 1, {})
    (1, 10)
    """
    best = _sum_interval([(a, c) for a, c in e.terms], e.const, ranges)
    parts = mod_parts(e)
    if any(den is not None for _, _, den, _ in parts):
        low: int | None = 0
        high: int | None = 0
        for m, num, den, rest in parts:
            if den is None:
                part = _sum_interval(list(rest.terms), rest.const, ranges)
            else:
                part = _scaled(_mod_interval(num, den, ranges), m)
            low = None if low is None or part[0] is None else low + part[0]
            high = None if high is None or part[1] is None else high + part[1]
        best = (
            low if best[0] is None else best[0] if low is None else max(low, best[0]),
            high if best[1] is None else best[1] if high is None else min(high, best[1]),
        )
    return best


def _mod_interval(num: Aff, den: int, ranges: Mapping[str, Range]) -> Range:
    low, high = interval(num, ranges)
    if low is not None and high is not None and low // den == high // den:
        return (low % den, high % den)
    g = den
    for _, c in num.terms:
        g = gcd(g, c)
    return (num.const % g, den - g + num.const % g)


def _sum_interval(terms: list, const: int, ranges: Mapping[str, Range]) -> Range:
    low: int | None = const
    high: int | None = const
    for atom, c in terms:
        part = _scaled(_atom_interval(atom, ranges), c)
        low = None if low is None or part[0] is None else low + part[0]
        high = None if high is None or part[1] is None else high + part[1]
    return low, high


def _atom_interval(atom: object, ranges: Mapping[str, Range]) -> Range:
    match atom:
        case Floor(num, den):
            low, high = interval(num, ranges)
            return (None if low is None else low // den, None if high is None else high // den)
        case Xor(_, _, bits):
            return (0, 2**bits - 1)
        case _:
            return ranges.get(atom, (None, None))


def _scaled(part: Range, c: int) -> Range:
    low, high = part
    ends = (None if low is None else low * c, None if high is None else high * c)
    return ends if c > 0 else (ends[1], ends[0])
