"""Printing: expressions, conjuncts and relations in isl's notation, or in the paper's.

What is printed parses back to an equal object. An expression says `i mod 32` where the rows say
`i - 32*floor(i/32)`; outputs that are functions of the inputs stand in the tuple; bounds are chained
(`0 <= i < N`); a stride is `i mod 16 = 0`. The paper's style writes `⌊i/64⌋`, `∧` and `≤` instead, without
mod, and has an ASCII fallback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .aff import Aff, Atom, Floor, Xor, aff, var
from .build import affs_of, expression
from .conjunct import Conjunct
from .digits import mod_parts
from .relation import Relation
from .space import Space


@dataclass(frozen=True, slots=True)
class Style:
    """How symbols are written; `mod` says whether remainders are recognised."""

    floor: tuple[str, str, str] = ("floor(", "/", ")")
    times: str = "*"
    le: str = "<="
    land: str = " and "
    mod: bool = True
    arrow: str = "->"


ISL = Style()
PAPER = Style(("⌊", "/", "⌋"), "", "≤", " ∧ ", False, "→")
PAPER_ASCII = Style(mod=False)


# ---- expressions


def show_aff(e: Aff, style: Style = ISL) -> str:
    """An expression as text.

    >>> from polyvolta.sets.aff import var
    >>> show_aff(var("i") - 64 * (var("i") // 64), PAPER)
    'i - 64⌊i/64⌋'
    """
    terms, const = _mod_terms(e, style) if style.mod else ([(_atom(a, style), c) for a, c in e.terms], e.const)
    if not terms:
        return str(e.const)
    first_positive = next((k for k, (_, c) in enumerate(terms) if c > 0), None)
    if terms[0][1] < 0 and first_positive is not None:
        terms.insert(0, terms.pop(first_positive))
    text = ""
    for body, c in terms:
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        factor = "" if abs(c) == 1 else f"{abs(c)}{style.times}"
        text += sign + factor + body
    if const:
        text += f" {'-' if const < 0 else '+'} {abs(const)}"
    return text


def _atom(atom: Atom, style: Style) -> str:
    match atom:
        case str():
            return atom
        case Floor(num, den):
            opening, slash, closing = style.floor
            inner = show_aff(num, style)
            plain = len(num.terms) == 1 and not num.const and num.terms[0][1] == 1
            return f"{opening}{inner if plain else f'({inner})'}{slash}{den}{closing}"
        case Xor(left, right, _):
            return f"({show_aff(left, style)} ^ {show_aff(right, style)})"


def _mod_terms(e: Aff, style: Style) -> tuple[list[tuple[str, int]], int]:
    """The terms, with `c*num - c*den*floor(num/den)` gathered to `c*(num mod den)`, and the constant."""
    out: list[tuple[str, int]] = []
    parts, const = mod_parts(e), 0
    for c, num, den, rest in parts:
        if den is None:
            out += [(_atom(a, style), k) for a, k in rest.terms]
            const = rest.const
        else:
            inner = show_aff(num, style)
            body = f"{inner if len(num.terms) == 1 and not num.const and num.terms[0][1] == 1 else f'({inner})'} mod {den}"
            out.append((body if c == 1 and len(parts) == 1 else f"({body})", c))
    return out, const


# ---- conjuncts


def show_relation(r: Relation, style: Style = ISL) -> str:
    """A set or map in isl's notation."""
    head = f"[{', '.join(r.params)}] -> " if r.params else ""
    texts = [_piece(r.params, s, c, style) for s, cs in r.parts for c in cs]
    if not texts and r.parts:
        texts = [f"{s} : false" if s.dims or s.inp else ": false" for s, _ in r.parts[:1]]
    return f"{head}{{ {'; '.join(texts)} }}" if texts else f"{head}{{  }}"


def _piece(params: Sequence[str], space: Space, c: Conjunct, style: Style) -> str:
    names = (*params, *space.dims)
    atoms, existentials, inline = _readable(c, names, len(params) + space.n_in if space.inp else c.n)
    shown = {name: show_aff(e, style) for name, e in inline.items()}
    tuples = _tuple_text(space, shown)
    body = style.land.join(constraint_texts(atoms, names, style))
    if existentials:
        body = f"exists ({', '.join(existentials)}: {body})"
    return (f"{tuples} : {body}" if body else tuples) if tuples else (f": {body}" if body else ":")


def _tuple_text(space: Space, shown: dict[str, str]) -> str:
    def one(tup) -> str:  # noqa: ANN001
        if tup.inner is not None:
            inner = tup.inner
            return f"{tup.name or ''}[{one(inner.inp)} -> {one(inner.out)}]"
        return f"{tup.name or ''}[{', '.join(shown.get(d, d) for d in tup.dims)}]"

    if space.inp:
        return f"{one(space.inp)} -> {one(space.out)}"
    return one(space.out) if space.dims or space.out.name else ""


def _readable(c: Conjunct, names: Sequence[str], first_out: int):  # noqa: ANN202
    """Constraints as expressions, names of existentials, and the outputs that can stand in the tuple."""
    base = 1 + c.n
    table = affs_of(c, names)
    existentials = []
    for k, div in enumerate(c.divs):
        if div is None:
            name = f"e{len(existentials)}"
            existentials.append(name)
            table[base + k] = var(name)
    inline: dict[str, Aff] = {}
    eqs = []
    used_in_divs = {col for d in c.divs if d is not None for col, v in enumerate(d[1]) if v}
    for row in c.eqs:
        outs = [col for col in range(1 + first_out, base) if row[col]]
        hidden = [col for col in range(base, base + len(c.divs)) if row[col] and _leans(c, col, first_out)]
        if len(outs) == 1 and abs(row[outs[0]]) == 1 and not hidden and outs[0] not in used_in_divs:
            value = [-row[outs[0]] * v for v in row]
            value[outs[0]] = 0
            inline[names[outs[0] - 1]] = expression(value, table)
        else:
            eqs.append(row)
    ineqs = [_unsubstituted(r, eqs, base) for r in c.ineqs]
    atoms = [("eq", expression(r, table)) for r in eqs] + [("ge", expression(r, table)) for r in ineqs]
    return atoms, existentials, inline


def _leans(c: Conjunct, col: int, first_out: int) -> bool:
    """Whether a div column depends on an output, or is an unknown."""
    base = 1 + c.n
    div = c.divs[col - base]
    if div is None:
        return True
    return any(div[1][o] for o in range(1 + first_out, base)) or any(
        _leans(c, k, first_out) for k in range(base, len(div[1])) if div[1][k]
    )


def _unsubstituted(row: Sequence[int], eqs: Iterable[Sequence[int]], base: int) -> Sequence[int]:
    """Undo `x = 32q` in a row, so that it speaks of the dimension x and not of the div q."""
    for eq in eqs:
        dims = [col for col in range(1, base) if abs(eq[col]) == 1 and not row[col]]
        divs = [col for col in range(base, len(eq)) if eq[col]]
        if not dims or len(divs) != 1 or not row[divs[0]] or row[divs[0]] % eq[divs[0]]:
            continue
        factor = row[divs[0]] // eq[divs[0]]
        row = tuple(a - factor * b for a, b in zip(row, eq))
    return row


def constraint_texts(atoms: Iterable[tuple[str, Aff]], names: Sequence[str], style: Style) -> list[str]:
    """One text per dimension or constraint: equalities first, then chained bounds in dimension order."""
    texts = [_equality(e, style) for kind, e in atoms if kind == "eq"]
    groups: dict[int, tuple[list[str], list[str], list[str]]] = {}
    order = {name: k for k, name in enumerate(names)}
    for kind, e in atoms:
        if kind != "ge":
            continue
        direct = [a for a, _ in e.terms if isinstance(a, str)]
        main = max(direct, key=lambda n: order.get(n, len(order)), default=None)
        where = order.get(main, len(order)) if main else max((order.get(n, -1) for n in e.names()), default=-1)
        low, high, other = groups.setdefault(where, ([], [], []))
        c = e.coefficient(main) if main else 0
        if not main:
            other.append(_inequality(e, style))
        elif c > 0:
            low.append(f"{show_aff(-(e - var(main) * c), style)} {style.le} {_scaled(c, main, style)}")
        else:
            bound = e - var(main) * c
            strict = bool(bound.terms) and bound.const == -1
            text = show_aff(bound + 1 if strict else bound, style)
            high.append(f"{_scaled(-c, main, style)} {'<' if strict else style.le} {text}")
    for _, (low, high, other) in sorted(groups.items()):
        while low and high:
            match_ = next(((a, b) for a in low for b in high if a.rsplit(" ", 1)[1] == b.split(" ", 1)[0]), None)
            if match_ is None:
                break
            low.remove(match_[0])
            high.remove(match_[1])
            texts.append(f"{match_[0]} {match_[1].split(' ', 1)[1]}")
        texts += low + high + other
    return texts


def _scaled(c: int, name: str, style: Style) -> str:
    return name if c == 1 else f"{c}{style.times}{name}"


def _equality(e: Aff, style: Style) -> str:
    if not style.mod:
        floors = [(a, c) for a, c in e.terms if isinstance(a, Floor)]
        if len(floors) == 1:  # the paper writes a stride as 16⌊i/16⌋ = i
            (atom, c) = floors[0]
            left, right = Aff(((atom, abs(c)),)), (e - Aff(((atom, c),))) * (-1 if c > 0 else 1)
            return f"{show_aff(left, style)} = {show_aff(right, style)}"
    parts = mod_parts(e)
    const = sum(rest.const for _, _, den, rest in parts if den is None and not rest.terms)
    mods = [p for p in parts if p[2] is not None]
    if len(mods) == 1 and abs(mods[0][0]) == 1 and len(parts) == 1 + bool(const):
        sign = mods[0][0]
        return f"{show_aff(sign * (e - const), style)} = {-sign * const}"
    names = [a for a, c in e.terms if isinstance(a, str) and abs(c) == 1]
    if names:
        main = names[-1]
        c = e.coefficient(main)
        return f"{main} = {show_aff((e - var(main) * c) * -c, style)}"
    return f"{show_aff(e - e.const, style)} = {-e.const}"


def _inequality(e: Aff, style: Style) -> str:
    """`big >= small` with only positive coefficients on either side."""
    plus = Aff(tuple((a, c) for a, c in e.terms if c > 0), max(e.const, 0))
    minus = Aff(tuple((a, -c) for a, c in e.terms if c < 0), max(-e.const, 0))
    return f"{show_aff(minus, style)} {style.le} {show_aff(plus, style)}"
