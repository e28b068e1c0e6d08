"""Sums over k that are not finished: what has been added, trip by trip, and whether in the end it is each k once.

A term of a sum (`values.Term`) starts with a first tile, which must be the one at k = 0. At the end of that trip the
tile's length is known, by how far the depth moves from one trip to the next, and the places of the tile that were
added. Every later trip must add the same places of the next tile. So after any number of trips the places are known in
all tiles before; after the loop it remains that they are all of a tile's, and that the tiles reach the product's end.
Where K is split, each warp's sum has some of the places; what is added up must be disjoint, and complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite

from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.values.algebra import within
from polyvolta.cuda.verify.values.expressions import Meaning
from polyvolta.cuda.verify.values.values import Sum, Term
from polyvolta.sets import Aff, var


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a sum is wrong: the proofs that it refutes, in words, and when that is easy to see."""

    proofs: tuple[str, ...]
    what: str
    where: tuple[Aff, ...] = ()


def report(problem: Problem | None, here: Here, warp: int | None = None, lane: int | None = None) -> None:
    """Refute what a problem refutes."""
    if problem is not None:
        where = problem.where if here.point(*problem.where) is not None else ()
        for proof in problem.proofs:
            here.refute(proof, problem.what, where=where, warp=warp, lane=lane)


def added(
    total: Sum, base: tuple[Aff, ...], product: int, depth: Aff, k: tuple[int, ...], meaning: Meaning, here: Here
) -> tuple[Sum, Problem | None]:
    """A sum with a product's values at some k more: `depth` + each of `k`."""
    if total.terms and total.base != base:
        places = " and ".join(", ".join(map(str, b)) for b in (total.base, base))
        return total, Problem(("sums",), f"one accumulator sums products of rows and columns from {places}")
    name = meaning.names[product]
    at = next((n for n, t in enumerate(total.terms) if t.product == product and t.whole is None and t.factor == 1), -1)
    if at < 0:
        if any(t.product == product for t in total.terms):
            return total, Problem(("sums",), f"more is added to {name} after its sum was scaled, or was over")
        try:
            origin = -int(here.numbers(depth).flat[0])
        except Undecided:
            start = str(depth + min(k))
            return total, Problem(
                ("sums",), f"the sum of {name} starts anywhere: at k = {start}", (depth + min(k) - 1,)
            )
        term = Term(product, 1.0, depth, origin)
    else:
        term = total.terms[at]
    if term.depth != depth:
        return total, Problem(("fresh", "sums"), f"{name} takes k = {depth + k[0]} where k = {term.depth} + ... is due")
    places = [x - term.origin for x in k]
    if term.tile is not None and not all(0 <= x < term.tile for x in places):
        wrong = next(x for x in places if not 0 <= x < (term.tile or 0))
        which = "a tile before" if wrong < 0 else "a tile after"
        found, first = depth + term.origin + wrong, depth + term.origin
        due = f"the tile that is due is k = {first} .. {first + term.tile - 1}"
        return total, Problem(("fresh", "sums"), f"{name} takes k = {found}, of {which}; {due}")
    if min(places) < 0:
        return total, Problem(("sums",), f"{name} takes k = {min(places)}, which there is not")
    bits = sum(1 << x for x in set(places))
    if term.now & bits or len(set(places)) < len(places):
        again = [x for x in places if term.now >> x & 1 or places.count(x) > 1]
        return total, Problem(("sums",), f"{name} takes k = {depth + term.origin + min(again)} twice")
    term = replace(term, now=term.now | bits)
    terms = (*total.terms, term) if at < 0 else (*total.terms[:at], term, *total.terms[at + 1 :])
    return Sum(base, terms), None


def next_trip(total: Sum, variable: str, step: int, meaning: Meaning) -> tuple[Sum, Problem | None]:
    """A sum at the end of a trip, said relative to the next one."""
    terms, problem = [], None
    for term in total.terms:
        if variable not in term.depth.names():
            terms.append(term)
            continue
        moved = term.depth.subs({variable: var(variable) - step})
        tile, name = -moved.const, meaning.names[term.product]
        if moved - moved.const != term.depth or tile <= 0:
            raise Undecided(f"k = {term.depth} doesn't go up by the same in each trip of {variable}")
        if term.tile is None:
            if term.now >> tile:
                problem = Problem(
                    ("sums",), f"the first tile of {name} has k = {term.now.bit_length() - 1}, and is 0 .. {tile - 1}"
                )
            terms.append(replace(term, tile=tile, before=term.now & ((1 << tile) - 1), now=0))
            continue
        if tile != term.tile or term.now != term.before:
            expected, found = ranges(term.before), ranges(term.now)
            problem = Problem(
                ("sums",), f"of this tile {name} takes the k at {found or 'no place'}, of those before at {expected}"
            )
        terms.append(replace(term, now=0))
    return replace(total, terms=tuple(terms)), problem


def left(total: Sum, variable: str, last: Aff | None, meaning: Meaning, here: Here) -> Sum:
    """A sum after a loop: of each of its terms it is known whether the tiles reach the end."""
    terms = []
    for term in total.terms:
        if variable in term.depth.names():
            missing = meaning.products[term.product].depth - term.depth - term.origin
            end = term.depth if last is None else term.depth.subs({variable: last}) + term.origin
            term = replace(term, whole=here.holds(-missing), depth=end, origin=0)
        terms.append(term)
    return replace(total, terms=tuple(terms))


def together(one: Sum, other: Sum, meaning: Meaning) -> tuple[Sum, Problem | None]:
    """The sum of two sums, parts of a split K."""
    terms, problem = list(one.terms), None
    for term in other.terms:
        same = replace(term, before=0, now=0)
        at = next((n for n, t in enumerate(terms) if replace(t, before=0, now=0) == same), -1)
        if at < 0:
            terms.append(term)
            continue
        twice = (terms[at].before & term.before) or (terms[at].now & term.now)
        if twice:
            name = meaning.names[term.product]
            problem = Problem(("sums",), f"two parts of {name} both have the k at {ranges(twice)} of each tile")
        terms[at] = replace(terms[at], before=terms[at].before | term.before, now=terms[at].now | term.now)
    return Sum(one.base if one.terms else other.base, tuple(terms)), problem


def unfinished(total: Sum, meaning: Meaning, here: Here) -> Problem | None:
    """What keeps a sum from having each k from 0 to the end once; None if it has."""
    for term in total.terms:
        p, name = meaning.products[term.product], meaning.names[term.product]
        if term.whole is None:  # no loop over tiles
            length = term.now.bit_length()
            if (
                term.tile is not None
                or not here.holds(term.depth + term.origin)
                or not here.holds(-term.depth - term.origin)
            ):
                return Problem(("sums",), f"{name} is used before its sum is over")
            missing = ((1 << length) - 1) & ~term.now
            first = (missing & -missing).bit_length() - 1
            if missing and here.point(p.depth - first - 1) is not None:
                return Problem(("sums",), f"{name} lacks k = {ranges(missing)}", (p.depth - first - 1,))
            if not here.holds(length - p.depth):
                return Problem(("sums",), f"{name} lacks k = {length} ..", (p.depth - length - 1,))
            continue
        assert term.tile is not None
        missing = ((1 << term.tile) - 1) & ~term.before
        first = (missing & -missing).bit_length() - 1
        if missing and here.point(p.depth - first - 1) is not None:
            what = f"{name} lacks the k at {ranges(missing)} of each tile of {term.tile}"
            return Problem(("sums",), what, (p.depth - first - 1,))
        if not term.whole:
            return Problem(("sums",), f"the tiles of {name} end before k = {p.depth}", (p.depth - term.depth - 1,))
    names = [t.product for t in total.terms]
    if len(set(names)) < len(names):
        return Problem(("sums",), f"{meaning.names[names[0]]} is in one sum twice")
    return None


def ranges(bits: int) -> str:
    """The places that are set, as ranges.

    >>> ranges(0b1110011)
    '0 .. 1, 4 .. 6'
    """
    found, at = [], 0
    while bits >> at:
        at += ((bits >> at) & -(bits >> at)).bit_length() - 1
        end = at
        while bits >> end & 1:
            end += 1
        found.append(f"{at} .. {end - 1}" if end > at + 1 else str(at))
        at = end
    return ", ".join(found)


def scaled(total: Sum, factor: float) -> Sum | None:
    """A sum times a number; None where a product's factor gets so large or so small that fp32 may lose the sum.

    >>> scaled(Sum((), ()), float("inf")) is None
    True
    """
    terms = tuple(replace(t, factor=t.factor * factor) for t in total.terms)
    if not isfinite(factor) or not all(isfinite(t.factor) and within(Fraction(t.factor)) for t in terms):
        return None
    return Sum(total.base, terms)
