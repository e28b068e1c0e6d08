"""Printing: expressions, conjuncts and relations in isl's notation, or in the paper's.

What is printed parses back to an equal set, map or expression. It says `i mod 32` where the rows say
`i - 32*floor(i/32)`; outputs that are functions of the inputs stand in the tuple; bounds are chained
(`0 <= i < N`); a stride is `i mod 16 = 0`, and so is 3i mod 16 = 0. The paper's style writes `⌊i/64⌋`, `∧` and `≤`
instead, without mod, and has an ASCII fallback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from math import gcd
from typing import Any, TypeVar

from ..conjuncts.conjunct import Conjunct
from ..engine.rows import normal_ineq
from ..values.aff import Aff, Atom, Floor, Xor, aff, var
from ..values.build import affs_asked, expression, gathered
from ..values.digits import congruence, mod_parts, vanishing
from ..values.relation import Relation
from ..values.space import Space, Tuple, distinct, fresh, renamed
from ..values.united import United
from .congruences import with_congruences
from .tokens import are_spelt, is_spelt

U = TypeVar("U", bound=United[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Style:
    """How symbols are written; `mod` says whether remainders are recognised, `inline` whether a dimension that is a
    function of others stands in the tuple as that function. Two styles are equal only if they are the same object."""

    floor: tuple[str, str, str] = ("floor(", "/", ")")
    times: str = "*"
    le: str = "<="
    ge: str = ">="
    land: str = " and "
    mod: bool = True
    arrow: str = "->"
    equalities_last: bool = False
    inline: bool = True


ISL = Style()
PAPER = Style(("⌊", "/", "⌋"), "", "≤", "≥", " ∧ ", False, "→", True)
_NOTHING = Aff(())
PAPER_ASCII = Style(mod=False, equalities_last=True)


# ---- expressions


def show_aff(e: Aff, style: Style = ISL) -> str:
    """An expression as text.

    >>> from polyvolta.sets.values.aff import var
    >>> show_aff(var("i") - 64 * (var("i") // 64), PAPER)
    'i - 64⌊i/64⌋'
    """
    if not e.terms:
        return str(e.const)
    if len(e.terms) == 1 and e.terms[0][1] == 1 and not e.const:
        return _atom(e.terms[0][0], style)
    terms, const = _mod_terms(e, style) if style.mod else ([(_atom(a, style), c) for a, c in e.terms], e.const)
    first_positive = 0 if terms[0][1] > 0 else next((k for k, (_, c) in enumerate(terms) if c > 0), None)
    if first_positive:
        terms.insert(0, terms.pop(first_positive))
    text = ""
    for body, c in terms:
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        factor = "" if abs(c) == 1 else f"{abs(c)}{style.times}"
        text += sign + factor + body
    if const > 0 and first_positive is None:
        return f"{const} - {text[1:]}"
    if const:
        text += f" {'-' if const < 0 else '+'} {abs(const)}"
    return text


def _atom(atom: Atom, style: Style) -> str:
    return atom if isinstance(atom, str) else _call(atom, style)


@lru_cache(maxsize=1 << 12)
def _call(atom: Floor | Xor, style: Style) -> str:
    match atom:
        case Floor(num, den):
            opening, slash, closing = style.floor
            inner = show_aff(num, style)
            return f"{opening}{inner if _plain(num) else f'({inner})'}{slash}{den}{closing}"
        case Xor(left, right, _):
            return f"({show_aff(left, style)} ^ {show_aff(right, style)})"


def _plain(e: Aff) -> bool:
    """Whether an expression is a single atom, which needs no parentheses."""
    return len(e.terms) == 1 and not e.const and e.terms[0][1] == 1


def _mod_terms(e: Aff, style: Style) -> tuple[list[tuple[str, int]], int]:
    """The terms, with `c*num - c*den*floor(num/den)` gathered to `c*(num mod den)`, and the constant."""
    parts = mod_parts(e) if len(e.terms) > 1 else []
    if not parts or parts[-1][2] is None:
        return [(_atom(a, style), c) for a, c in e.terms], e.const
    rest = parts[0][3] if parts[0][2] is None else _NOTHING
    out, const = [(_atom(a, style), c) for a, c in rest.terms], rest.const
    for c, num, den, _ in parts:
        if den is None:
            continue
        if c < 0 and const == (1 - den) * c:  # 3 - ((i + 3) mod 4) is (-i) mod 4
            c, num, const = -c, -num - 1, 0
            num = num + (num.const % den - num.const)
        inner = show_aff(num, style)
        body = f"{inner if _plain(num) else f'({inner})'} mod {den}"
        out.append((f"({body})", c))
    if len(out) == 1 and out[0][1] == 1 and not const and not rest.terms:
        return [(out[0][0][1:-1], 1)], 0
    return out, const


# ---- relations


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
    table = dict(zip(sorted(names), distinct(map(_spoken, sorted(names)), ()), strict=True))
    say = lambda tup: tup and renamed(tup, [table[d] for d in tup.dims])  # noqa: E731
    parts = [(Space(say(s.inp), say(s.out)), cs) for s, cs in r.parts]
    return r._of(tuple(table[p] for p in r.param_names), parts)


@lru_cache(maxsize=4096)
def _speakable(name: str) -> bool:
    return is_spelt(name)


def _spoken(name: str) -> str:
    if _speakable(name):
        return name
    name = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    return name if _speakable(name) else f"_{name}"


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
    return one(space.out) if space.dims or space.out.name or space.out.inner else ""


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


# ---- constraints


@dataclass(slots=True)
class _Bounds:
    """What is said of one multiple of one dimension: (constant-free bound, the bound) on either side."""

    low: list[Aff] = field(default_factory=list)
    high: list[Aff] = field(default_factory=list)


def constraint_texts(
    atoms: Iterable[tuple[str, Aff]], names: Sequence[str], style: Style = ISL, n_params: int = 0
) -> list[str]:
    """One text per equality and chain of bounds: parameters first, then equalities, then dimensions in order.

    Parameters
    ----------
    atoms : ("eq", e) for e = 0 and ("ge", e) for e >= 0.
    names : the dimensions in order, of which the first `n_params` are parameters.
    """
    order = dict(zip(names, range(len(names)), strict=True))

    def place(e: Aff) -> int:
        return max((order.get(n, len(order)) for n in e.names()), default=-1)

    texts: list[tuple[bool, bool, int, int, str]] = []
    bounds: dict[tuple[int, str], dict[int, _Bounds]] = {}
    for kind, e in atoms:
        at = place(e)
        if kind == "eq" or vanishing(e):
            last = style.equalities_last
            texts.append((at >= n_params, last, len(order) + at if last else at, 0, _equality(e, order, style)))
            continue
        main, c, rest = _main_term(e, order, style)
        if not main:
            texts.append((at >= n_params, True, at, 1, _inequality(e, style)))
            continue
        where = order.get(main, at)
        found = bounds.setdefault((where, main), {}).setdefault(abs(c), _Bounds())
        if c > 0:
            found.low.append(-rest)
        else:
            found.high.append(rest)
    for (where, main), scales in bounds.items():
        for scale, text in _chains(main, scales, style):
            texts.append((where >= n_params, True, where, 0 if scale == 1 else 1, text))
    return list(dict.fromkeys(t[-1] for t in sorted(texts, key=lambda t: t[:-1])))


def _main_term(e: Aff, order: dict[str, int], style: Style) -> tuple[str, int, Aff]:
    """The latest dimension (or a lone remainder) of an inequality, its coefficient, and the rest; else ""."""
    parts = mod_parts(e) if style.mod else []
    mods = [(c, num, den) for c, num, den, _ in parts if den is not None]
    rest = next((r for _, _, den, r in parts if den is None), aff(0))
    if mods and not any(isinstance(a, str) for a, _ in rest.terms):
        c, num, den = max(mods, key=lambda p: max((order.get(n, len(order)) for n in p[1].names()), default=-1))
        remainder = num % den
        return show_aff(remainder, style), c, e - remainder * c
    direct = [a for a, _ in e.terms if isinstance(a, str)]
    if not direct and len(e.terms) == 1:
        ((atom, c),) = e.terms
        return _atom(atom, style), c, aff(e.const)
    if not direct:
        return "", 0, e
    main = max(direct, key=lambda n: order.get(n, len(order)))
    c = e.coefficient(main)
    return main, c, e - var(main) * c


def _chains(main: str, scales: dict[int, _Bounds], style: Style) -> Iterator[tuple[int, str]]:
    """The bounds of one dimension, two by two: `0 <= i < N`; those at a constant distance belong together."""
    zeros = [b for b in scales.values() if aff(0) in b.low]
    for b in list(scales.values()):  # 0 <= i and 128*i < N are 0 <= 128*i < N
        if zeros and b is not zeros[0] and b.high and not b.low and not zeros[0].high and zeros[0].low == [aff(0)]:
            zeros[0].low.clear()
            b.low.append(aff(0))
            break
    for scale, b in sorted(scales.items()):
        subject = main if scale == 1 else f"{scale}{style.times}{main if main.isidentifier() else f'({main})'}"
        pairs: list[tuple[Aff | None, Aff | None]] = []
        low, high = sorted(b.low, key=_simplicity), sorted(b.high, key=_simplicity)
        for lower in list(low):
            partner = next((h for h in high if h.terms == lower.terms), None)
            if partner is not None and (lower.terms or len(low) == len(high)):
                pairs.append((lower, partner))
                low.remove(lower)
                high.remove(partner)
        count = min(len(low), len(high))
        pairs = [
            *zip(low[:count], high[:count], strict=True),
            *pairs,
            *((x, None) for x in low[count:]),
            *((None, x) for x in high[count:]),
        ]
        for lower, upper in pairs:
            yield scale, _chain(subject, lower, upper, style)


def _simplicity(e: Aff) -> tuple[int, str]:
    return (len(e.terms), str(e))


def _chain(subject: str, lower: Aff | None, upper: Aff | None, style: Style) -> str:
    text = subject
    if upper is not None:
        strict = bool(upper.terms) and upper.const == -1
        text += f" < {show_aff(upper + 1, style)}" if strict else f" {style.le} {show_aff(upper, style)}"
    if lower is None:
        return text
    if upper is None and not lower.terms:
        return f"{subject} {style.ge} {lower.const}"
    if upper is None and lower.terms and all(c < 0 for _, c in lower.terms):
        return f"{show_aff(lower.const - lower, style)} + {subject} {style.ge} {lower.const}"
    if lower.terms and lower.const == 1:
        return f"{show_aff(lower - 1, style)} < {text}"
    return f"{show_aff(lower, style)} {style.le} {text}"


def _equality(e: Aff, order: dict[str, int], style: Style) -> str:
    """`x = ...` for a dimension, `x mod 4 = ...` for a remainder, else terms = number."""
    e = congruence(e)
    floors = [(a, c) for a, c in e.terms if isinstance(a, Floor)]
    if not style.mod and len(floors) == 1:  # the paper writes a stride as 16⌊i/16⌋ = i
        (atom, c) = floors[0]
        left, right = Aff(((atom, abs(c)),)), (e - Aff(((atom, c),))) * (-1 if c > 0 else 1)
        return f"{show_aff(left, style)} = {show_aff(right, style)}"
    inside = frozenset().union(*(Aff(((a, 1),)).names() for a, _ in e.terms if not isinstance(a, str)))
    units = [a for a, c in e.terms if isinstance(a, str) and abs(c) == 1]
    main = max((a for a in units if a not in inside), key=lambda n: order.get(n, len(order)), default=None)
    if main is None:
        for m, num, den, _ in mod_parts(e) if style.mod else ():
            if den is not None and abs(m) == 1:
                remainder = num % den
                return f"{show_aff(remainder, style)} = {show_aff((e - remainder * m) * -m, style)}"
        main = max(units, key=lambda n: order.get(n, len(order)), default=None)
    if main is not None:
        c = e.coefficient(main)
        return f"{main} = {show_aff((e - var(main) * c) * -c, style)}"
    if len({c > 0 for _, c in e.terms}) == 1:
        sign = 1 if e.terms[0][1] > 0 else -1
        return f"{show_aff((e - e.const) * sign, style)} = {-e.const * sign}"
    return _inequality(e, style).replace(style.le, "=")


def _inequality(e: Aff, style: Style) -> str:
    """`small <= big` with only positive coefficients on either side."""
    plus = Aff(tuple((a, c) for a, c in e.terms if c > 0), max(e.const, 0))
    minus = Aff(tuple((a, -c) for a, c in e.terms if c < 0), max(-e.const, 0))
    if minus.is_constant:
        return f"{show_aff(plus, style)} {style.ge} {minus.const}"
    return f"{show_aff(minus, style)} {style.le} {show_aff(plus, style)}"
