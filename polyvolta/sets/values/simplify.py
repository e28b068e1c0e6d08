"""A bounds-aware simplifier of quasi-affine expressions.

With 0 <= t < 32, floor((32*floor(t/4) + 8*(t mod 4))/32) is floor(t/4): the second term stays below 32, the
first is a multiple of it. Two rules do all the work, inside out, on intervals of the names:

- a floor whose argument, with coefficients reduced modulo the divisor, stays within one multiple is a number;
- floor((a + b)/d) is floor(a/d) when g divides every coefficient of a and d itself, and 0 <= b < g.

Cost: a few interval evaluations per floor, under a budget. Sound for the given ranges, not complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import TYPE_CHECKING

from ..budgets import metered, spend
from ..errors import NotAffine, SpaceMismatch, Unbounded, UnknownName, kind_of, nearest
from .aff import Aff, Floor, Xor, aff, var, xor
from .digits import mod_parts
from .shape import need_set
from .space import Space, Tuple, whole

if TYPE_CHECKING:
    from .set import Set

Range = tuple[int | None, int | None]


@metered
def simplify(e: Aff | str, ranges: Mapping[str, Range] | Set, values: Mapping[str, Aff] | None = None) -> Aff:
    """An expression equal to `e` wherever every name keeps to its range, and of no more atoms.

    Exact for every point of the ranges, not always the shortest. Cost: a few interval evaluations per floor, each as
    long as the expression written out, in which a floor that recurs stands as often; with a `Set`, two integer
    programs for every name in the expression first.

    Parameters
    ----------
    e : an expression, or its text.
    ranges : for each name its least and its greatest value, None where it has none; or a set, whose dimensions and
        parameters have the ranges that follow from it.
    values : put in for names on the way, so that their ranges are known before a floor is rewritten.

    >>> t_is_a_lane = {"t": (0, 31)}
    >>> print(simplify("floor((32*floor(t/4) + 8*(t mod 4))/32)", t_is_a_lane))
    floor(t/4)
    >>> from polyvolta.sets import Set
    >>> print(simplify("(64w + l) mod 64 + floor(b/4)", Set("{ [w, l, b] : 0 <= l < 64 and b = 9 }")))
    l + 2

    Raises
    ------
    BudgetExceeded : the expression, written out, is too long.
    SetSyntaxError : the text is no expression.
    SpaceMismatch : the set has several tuples, or a range is no pair of integers in order.
    UnknownName : ranges are given, but none for any name in the text `e`; an `Aff` may lack them all.
    NotAffine : `e` is no expression.
    """
    text = isinstance(e, str)
    if isinstance(e, str):
        from ..text.parse import parse_aff

        e = parse_aff(e)
    if not isinstance(e, Aff) and whole(e) is None:
        raise NotAffine(f"an expression is an Aff or a text, not {kind_of(e)}")
    e = aff(e)
    if isinstance(ranges, Mapping):
        ranges = _checked(ranges, e, text)
    else:
        ranges = _ranges_of(need_set(ranges, "a simplifier"), e)
    found = _simplified(e, ranges, values)
    return found if values or weight(found) <= weight(e) else e


def _checked(ranges: Mapping[str, Range], e: Aff, text: bool) -> Mapping[str, Range]:
    """The ranges that a caller gave."""
    for name, ends in ranges.items():
        pair = (
            isinstance(ends, (tuple, list)) and len(ends) == 2 and all(v is None or whole(v) is not None for v in ends)
        )
        if not pair:
            raise SpaceMismatch(
                f"the range of {name} is a pair of integers, not {ends!r}", hint=f"such as {name}: (0, 31)"
            )
        low, high = ends
        if low is not None and high is not None and low > high:
            raise SpaceMismatch(f"the range of {name} is empty: {ends!r}", hint="the least value stands first")
    known = e.names() if text else ()
    if ranges and known and not known & ranges.keys():
        name = next(iter(ranges))
        raise UnknownName(
            f"no name in the expression is called {name!r}", where=str(e), hint=nearest(name, sorted(known))
        )
    return ranges


def _ranges_of(domain: Set, e: Aff) -> dict[str, Range]:
    """The least and the greatest value in a set of every name of an expression; an empty set bounds nothing."""
    names = (*domain.param_names, *domain.space.dims)
    pieces = tuple(c for c in domain.parts[0][1] if not c.is_empty)
    if not pieces:
        return {}
    points = type(domain)._of((), [(Space(None, Tuple(None, names)), pieces)])  # parameters as dimensions
    ranges: dict[str, Range] = {}
    for name in sorted(e.names() & set(names)):
        ends: list[int | None] = []
        for best in (points.min, points.max):
            try:
                end = best(name)
                ends.append(end if isinstance(end, int) else None)
            except Unbounded:
                ends.append(None)
        ranges[name] = (ends[0], ends[1])
    return ranges


def _simplified(e: Aff, ranges: Mapping[str, Range], values: Mapping[str, Aff] | None) -> Aff:
    total = aff(e.const)
    for atom, c in e.terms:
        match atom:
            case Floor(num, den):
                value = floordiv_within(_simplified(num, ranges, values), den, ranges)
            case Xor(left, right, bits):
                value = xor(_simplified(left, ranges, values), _simplified(right, ranges, values), bits)
            case _ if values and atom in values:
                value = values[atom]
            case _:
                low, high = ranges.get(atom, (None, None))
                value = var(atom) if low is None or low != high else aff(low)
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
    return _simplified(made, ranges, None) if weight(made) < weight(num) + 1 else made


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


def weight(e: Aff) -> int:
    """How many atoms an expression is made of, those inside floors and exclusive-ors included.

    >>> weight(4 * (var("t") // 4) + var("u"))
    3
    """
    spend()
    total = 0
    for atom, _ in e.terms:
        match atom:
            case Floor(num, _):
                total += 1 + weight(num)
            case Xor(left, right, _):
                total += 1 + weight(left) + weight(right)
            case _:
                total += 1
    return total


def interval(e: Aff, ranges: Mapping[str, Range]) -> Range:
    """An inclusive range that the expression's values keep to; None where there is no bound.

    >>> from polyvolta.sets.values.aff import var
    >>> interval(3 * (var("t") % 4) + 1, {})
    (1, 10)
    """
    spend()
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
            return ranges.get(str(atom), (None, None))


def _scaled(part: Range, c: int) -> Range:
    low, high = part
    ends = (None if low is None else low * c, None if high is None else high * c)
    return ends if c > 0 else (ends[1], ends[0])
