"""Printing piecewise functions, with `min` and `max` where two pieces are one.

The pieces `f where f <= g` and `g where g < f` say `min(f, g)` over the union of both domains. `extrema` finds such
pairs and writes one piece for them; the parser takes it apart again, so that what is printed reads back to an equal
function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import TYPE_CHECKING

from ..conjuncts.conjunct import Conjunct
from ..conjuncts.project import with_known_divs
from ..errors import BudgetExceeded
from ..text.show import show_relation
from ..values.aff import Aff
from ..values.map import Map
from ..values.space import Space, Tuple
from .cells import Piece, refined
from .extreme import Extreme

if TYPE_CHECKING:
    from ..values.set import Set
    from .members import MultiFunction
    from .piecewise import Piecewise

MOST_CELLS = 24  # beyond this many, pieces are printed as they are: pairing them would take too long


def show_piecewise(f: Piecewise) -> str:
    """A piecewise function in isl's notation; without values, of its space, `: false`."""
    head = f"[{', '.join(f.param_names)}] -> " if f.param_names else ""
    texts = []
    for c, values in extrema(f):
        side = _tuple_text(f.space.out, iter(values))
        texts.append(f"{_input(f.inp)}{side}{_condition(f, c)}")
    if not texts:
        texts = [f"{_input(f.inp)}{_tuple_text(f.space.out, iter(['0'] * f.space.n_out))} : false"]
    return f"{head}{{ {'; '.join(texts)} }}"


def show_quotient(f: Piecewise, den: int, nan: Set) -> str:
    """A function of one value over a number, each piece in lowest terms, and NaN on a set."""
    head = f"[{', '.join(f.param_names)}] -> " if f.param_names else ""
    texts = [f"{_input(f.inp)}[{value}]{when}" for value, when in _cases(f, den, nan)]
    return f"{head}{{ {'; '.join(texts)} }}"


def show_members(f: MultiFunction) -> str:
    """A tuple of functions: pieces where all have the same, else the cases of each value in parentheses."""
    head = f"[{', '.join(f.param_names)}] -> " if f.param_names else ""
    members = []
    for member in f.members:
        num, den, nan = (member.num, member.den, member.nan) if hasattr(member, "num") else (member, 1, None)
        members.append(_cases(num, den, nan) or [("0", " : false")])
    pieces = [{when: value for value, when in cases} for cases in members]
    if all(p.keys() == pieces[0].keys() and len(p) == len(cases) for p, cases in zip(pieces, members, strict=True)):
        texts = [_tuple_text(f.space.out, iter([p[when] for p in pieces]), "{}") + when for when in pieces[0]]
    else:
        values = [
            cases[0][0] if cases[0][1] == "" else f"({'; '.join([value + when for value, when in cases])})"
            for cases in members
        ]
        texts = [_tuple_text(f.space.out, iter(values), "{}")]
    return f"{head}{{ {'; '.join([_input(f.inp) + text for text in texts])} }}"


def _cases(f: Piecewise, den: int, nan: Set | None) -> list[tuple[str, str]]:
    """Values and conditions of a function of one value over a number, and NaN on a set."""
    texts = [(_quotient(v, den), _condition(f, c)) for c, (v,) in extrema(f)]
    parts = () if nan is None else nan.align_params(f.param_names).parts
    return texts + [("NaN", _condition(f, c)) for _, cs in parts for c in cs]


def _quotient(value: Extreme, den: int) -> str:
    """`(value)/den` in lowest terms."""
    factor = gcd(den, *[n for e in value.options for n in (e.const, *[c for _, c in e.terms])])
    lowest = [Aff(tuple([(a, c // factor) for a, c in e.terms]), e.const // factor) for e in value.options]
    text = f"({Extreme(tuple(lowest), value.sign)})"
    return text if den == factor else f"{text}/{den // factor}"


def _input(tup: Tuple) -> str:
    return "" if tup.of_params else f"{tup} -> "


def _tuple_text(tup: Tuple, values: Iterator[object], form: str = "({})") -> str:
    if tup.inner is not None and tup.inner.inp is not None:
        first = _tuple_text(tup.inner.inp, values, form)
        return f"{tup.name or ''}[{first} -> {_tuple_text(tup.inner.out, values, form)}]"
    return f"{tup.name or ''}[{', '.join(form.format(next(values)) for _ in tup.dims)}]"


def _condition(f: Piecewise, c: Conjunct) -> str:
    """` : constraints` of a cell, or nothing."""
    graph = Map._of(f.param_names, [(Space(f.inp, Tuple(None, ())), (c,))])
    text = show_relation(graph)
    start = text.index(f"{f.inp} -> []") + len(f"{f.inp} -> []")
    return text[start : text.rindex(" }")]


def extrema(f: Piecewise) -> list[Piece]:
    """The cells of a function, merged to minima and maxima where that is possible; exact.

    O(m^2) fusions of domains, each as in `coalesce`.
    """
    pieces = list(f.folded)
    if not 1 < len(pieces) <= MOST_CELLS:
        return pieces
    try:
        pieces = [(p, values) for c, values in pieces for p in with_known_divs(c)]
        merged = True
        while merged:
            merged = False
            for k, a in enumerate(pieces):
                hit = next(((j, m) for j in range(k + 1, len(pieces)) if (m := _merge(a, pieces[j], f))), None)
                if hit:
                    j, piece = hit
                    pieces[k : k + 1], merged = [piece], True
                    del pieces[j]
                    break
    except BudgetExceeded:  # a longer text is as true
        return list(f.folded)
    return pieces


def _merge(a: Piece, b: Piece, f: Piecewise) -> Piece | None:
    """One piece for two whose values differ at most by what is least or greatest where."""
    (c, left), (d, right) = a, b
    values = []
    for x, y in zip(left, right, strict=True):
        both = x if x == y else _extreme(c, x, d, y, f.names)
        if both is None:
            return None
        values.append(both)
    fused = [p for _, ps in f._set([c, d]).coalesce().parts for p in ps]
    return (fused[0], tuple(values)) if len(fused) == 1 else None


def _extreme(c: Conjunct, x: Extreme, d: Conjunct, y: Extreme, names: Sequence[str]) -> Extreme | None:
    """The extreme of both that is `x` on c and `y` on d."""
    for sign in {x.sign or y.sign} - {0} or (-1, 1):
        if x.sign in (0, sign) and y.sign in (0, sign) and _wins(c, x, y, sign, names) and _wins(d, y, x, sign, names):
            return Extreme(tuple(dict.fromkeys((*x.options, *y.options))), sign)
    return None


def _wins(c: Conjunct, x: Extreme, y: Extreme, sign: int, names: Sequence[str]) -> bool:
    """Whether x is at most y on c (at least, for sign 1): no option of y is beyond all options of x."""
    for other in y.options:
        if other in x.options:
            continue
        gaps = [(other - e) * sign - 1 for e in x.options]
        if (
            not any(g.is_constant and g.const < 0 for g in gaps)
            and refined(c, names, [("ge", g) for g in gaps]) is not None
        ):
            return False
    return True
