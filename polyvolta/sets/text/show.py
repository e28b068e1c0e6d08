"""Printing: conjuncts and relations in isl's notation, or in the paper's.

What is printed parses back to an equal set or map; a space without points is left out beside others, as by isl.
Outputs that are functions of the inputs stand in the tuple, and quotients give way to the dimensions that they were
made of. How the constraints that are left look is in `show_constraints`, how expressions do in `show_expressions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import compress
from math import gcd
from typing import Any, TypeVar

from ..conjuncts.conjunct import Conjunct
from ..engine.rows import normal_ineq
from ..values.aff import Aff, var
from ..values.build import affs_asked, expression, gathered
from ..values.relation import Relation
from ..values.space import STANDING, Space, Tuple, distinct, fresh, renamed
from ..values.united import United
from .congruences import with_congruences
from .show_constraints import constraint_texts
from .show_expressions import ISL, Style, show_aff
from .tokens import are_spelt, is_spelt

U = TypeVar("U", bound=United[Any])


def show_relation(r: Relation, style: Style = ISL) -> str:
    """A set or map in isl's notation."""
    r = readable_names(r)
    head = f"[{', '.join(r.param_names)}] {style.arrow} " if r.param_names else ""
    texts = _piece_texts(r, style)
    return f"{head}{{ {'; '.join(texts)} }}" if texts else f"{head}{{ }}"


def piece_texts(r: Relation, style: Style = ISL) -> list[str]:
    """The pieces, without parameters and braces; an empty relation shows its first space.

    What is written for people keeps a program's own names, such as `max`, of which the notation makes `_max`.
    """
    names = {*r.param_names, *(d for s, _ in r.parts for d in s.dims)}
    own = style != ISL and all(_speakable(n) or n.isidentifier() for n in names)
    return _piece_texts(r if own else readable_names(r), style)


def _piece_texts(r: Relation, style: Style) -> list[str]:
    texts = [piece_text(r.param_names, s, c, style) for s, cs in r.parts for c in cs]
    if not texts and r.parts:
        return [f"{tuple_text(r.parts[0][0], {}, style)} : false".lstrip()]
    if len(r.parts) > 1:  # isl reads a bare `:` only where it stands alone
        return [f"[] {t}".removesuffix(" :") if t.startswith(":") else t for t in texts]
    return texts


def readable_names(r: U) -> U:
    """The relation itself, unless a program gave names that the notation can't say, such as `by@` or `mod`."""
    names = {*r.param_names, *[d for s, _ in r.parts for d in s.dims]}
    if are_spelt(names):
        return r
    table = dict(zip(sorted(names), distinct(map(_spoken, sorted(names)), (), "'"), strict=True))
    say = lambda tup: tup and renamed(tup, [table[d] for d in tup.dims])  # noqa: E731
    parts = [(Space(say(s.inp), say(s.out)), cs) for s, cs in r.parts]
    return r._of(tuple(table[p] for p in r.param_names), parts)


@lru_cache(maxsize=4096)
def _speakable(name: str) -> bool:
    return is_spelt(name)


def _spoken(name: str) -> str:
    if _speakable(name):
        return name
    plain = name.rstrip(STANDING)
    primes = "'" * (len(name) - len(plain))
    if not _speakable(plain):
        plain = re.sub(r"[^A-Za-z0-9_.]", "_", plain)
    return (plain if _speakable(plain) else f"_{plain}") + primes


def piece_text(params: Sequence[str], space: Space, c: Conjunct, style: Style) -> str:
    """One conjunct as a text, without the braces around all of them."""
    names = (*params, *space.dims)
    first_out = len(params) + space.n_in if style.inline else len(names)
    atoms, existentials, inline = _readable(c, names, first_out, space.inp is not None)
    shown = {
        name: f"{name} = {show_aff(e, style)}" if named else show_aff(e, style) for name, (e, named) in inline.items()
    }
    tuples = tuple_text(space, shown, style)
    body = style.land.join(constraint_texts(atoms, names, style, len(params))) if atoms else ""
    if existentials:
        body = f"exists ({', '.join(existentials)} : {body})"
    return (f"{tuples} : {body}" if body else tuples) if tuples else f": {body}".rstrip()


def tuple_text(space: Space, shown: dict[str, str], style: Style) -> str:
    def one(tup: Tuple) -> str:
        if tup.inner is not None:
            return f"{tup.name or ''}[{one(tup.inner.source)} {style.arrow} {one(tup.inner.out)}]"
        return f"{tup.name or ''}[{', '.join([shown.get(d, d) for d in tup.dims])}]"

    if space.inp:
        return f"{one(space.inp)} {style.arrow} {one(space.out)}"
    return "" if space.out.of_params else one(space.out)


def _readable(
    c: Conjunct, names: Sequence[str], first_out: int, is_map: bool
) -> tuple[list[tuple[str, Aff]], list[str], dict[str, tuple[Aff, bool]]]:
    """Constraints as expressions, names of existentials, what stands in the tuple: {name: (value, named)}.

    An output of a map stands there as what it equals; it keeps its name where another constraint needs it. A
    dimension of a set does so when it is a number or depends on parameters alone.
    """
    base = 1 + c.n
    table = affs_asked(c, names)
    existentials: list[str] = []
    for k, div in enumerate(c.divs):
        if div is None:
            existentials.append(fresh(f"e{len(existentials)}", (*names, *existentials)))
            table[base + k] = var(existentials[-1])
    inline: dict[str, tuple[Aff, bool]] = {}
    # outputs, the equalities that say what they are, and that as a constant and terms
    given: list[tuple[int, Sequence[int], int, list[tuple[int, int]]]] = []
    columns = [*zip(*c.eqs, *c.ineqs, strict=True)]
    reach, mentioned = _reach(c)
    eqs, width = [], range(1, base + len(c.divs))
    for row in c.eqs:
        terms, last = [*compress(width, row[1:])], 0
        for col in terms:
            if first_out < col < base:
                last = col
        plain = last and row[last] in (1, -1) and columns[last].count(0) == len(columns[last]) - 1  # in one row only
        sign, rest = -row[last], []
        for col in terms if plain else ():
            if col != last:
                rest.append((col, sign * row[col]))
                if reach[col] >= last and col >= base if is_map else reach[col] > first_out:
                    plain = False
        if plain:
            given.append((last, row, sign * row[0], rest))
        else:
            eqs.append(row)
    for last, row, const, rest in given:
        other = _unsubstituted(row, eqs, base, whole=True) if eqs else row
        if other is not row:
            shorter = [(col, -other[last] * other[col]) for col in compress(width, other[1:]) if col != last]
            if all(reach[col] < last if is_map else reach[col] <= first_out for col, _ in shorter):
                const, rest = -other[last] * other[0], shorter
        inline[names[last - 1]] = (gathered(const, rest, table), last in mentioned)
    direct = [r for r in eqs if any(r[1:base])]
    eqs = [r if any(r[1:base]) else _unsubstituted(r, direct, base) for r in eqs]
    ineqs = [_spelt_out(_tight(_unsubstituted(r, eqs, base)), c) for r in c.ineqs]
    atoms = [("eq", expression(r, table) if not m else _remainder(r, m, table)) for r, m in with_congruences(eqs, c)]
    atoms += [("ge", expression(r, table)) for r in ineqs]
    return atoms, existentials, inline


def _remainder(row: Sequence[int], m: int, table: Mapping[int, Aff]) -> Aff:
    """An expression that is 0 where m divides a row's value."""
    return expression((0, *row[1:]), table) % m - -row[0] % m


def _reach(c: Conjunct) -> tuple[list[int], set[int]]:
    """For every column the latest dimension that it depends on, for unknown divs one behind all; and what divs use."""
    reach = list(range(1 + c.n))
    mentioned: set[int] = set()
    for div in c.divs:
        last = 1 << 60 if div is None else 0
        for k in () if div is None else compress(range(len(div[1])), div[1]):
            mentioned.add(k)
            last = max(last, reach[k])
        reach.append(last)
    return reach, mentioned


def _weight(row: Sequence[int], base: int) -> int:
    """How long a row reads: a floor counts for two dimensions."""
    return sum(2 if col >= base else 1 for col, v in enumerate(row) if col and v)


def _spelt_out(row: Sequence[int], c: Conjunct) -> Sequence[int]:
    """`floor(e/d) >= k` as e >= d*k, where that is shorter."""
    base = 1 + c.n
    for col in range(base, len(row)):
        div = c.divs[col - base]
        if div is None or row[col] not in (1, -1):
            continue
        den, numerator = div
        if any(abs(eq[d]) > 1 for eq in c.eqs for d in range(1, base) if numerator[d]):
            continue  # such an equality would be crossed with the result, and the bound come out otherwise
        wide = [*numerator, *[0] * (len(row) - len(numerator))]
        other = [den * f + row[col] * e for f, e in zip(row, wide, strict=True)]
        other[col] = 0
        other[0] += den - 1 if row[col] < 0 else 0
        if _weight(other, base) < _weight(row, base):
            row = other
    return row


def _tight(row: Sequence[int]) -> Sequence[int]:
    """2x >= 3 as x >= 2."""
    found = normal_ineq(row)
    return row if isinstance(found, bool) else found


def _unsubstituted(row: Sequence[int], eqs: Sequence[Sequence[int]], base: int, whole: bool = False) -> Sequence[int]:
    """Undo `x = 32q + y` in a row where that makes it shorter: it then speaks of x, not of the div q; so of 3x = 8q.

    One equality after another, the one that leaves least each time; with `whole`, none by which the row is multiplied.
    """
    while any(row[base:]):
        best = row
        for eq in eqs:
            for q in compress(range(base, len(eq)), eq[base:]):
                g = gcd(row[q], eq[q])
                if not row[q] or (whole and g != abs(eq[q])):
                    continue
                up, factor = abs(eq[q]) // g, row[q] // g * (1 if eq[q] > 0 else -1)
                other = tuple([up * a - factor * b for a, b in zip(row, eq, strict=True)])
                if _weight(other, base) < _weight(best, base):
                    best = other
        if best is row:
            break
        row = best
    return row
