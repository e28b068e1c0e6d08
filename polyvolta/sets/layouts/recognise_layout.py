"""Maps that are layouts: recognised, and then inverted and proved by digits.

The test is cheap and says no early: one conjunct without parameters, every input between two numbers, every output
given by an equality. What passes is read as sums of digits (`digitsum`). `Map` asks here first where the answer of the
general engine is a search; the two agree wherever both have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..budgets import remembered
from ..conjuncts.conjunct import Conjunct
from ..engine.rows import Row
from ..errors import NotSupported, SpaceMismatch, kind_of
from ..optima.outputs import solved_outputs
from ..values.aff import Aff, var
from ..values.build import RowBuilder
from ..values.space import Space, Tuple, distinct
from .digitsum import Axis, DigitSum, Reader, output, with_cuts
from .layout import Layout, outputs_of
from .layout_text import read_text

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.set import Set

HINT = "a Map takes any quasi-affine function"


def layout_of(m: Map) -> Layout:
    """See `Layout.from_map`."""
    if isinstance(m, type) or not getattr(m, "_is_map", False):
        hint = "as_map() is the Map of a function" if hasattr(m, "as_map") else ""
        raise SpaceMismatch(f"a layout is made of a text or a Map, not of {kind_of(m)}", where=str(m), hint=hint)
    found = _found(m)
    if isinstance(found, Layout):
        return found
    raise NotSupported(found, where=str(m), hint=HINT)


def layout_of_text(text: str) -> Layout:
    """A layout from its notation: that of a map, in which a parenthesis may hold exclusive-ors."""
    if "^" not in text:
        from ..values.map import Map

        return layout_of(Map(text))
    names, outputs, domain = read_text(text)
    axes = box_of(domain)
    return Layout._of(axes, outputs_of(axes, tuple(outputs), tuple(outputs.values())), names)


def _found(m: Map) -> Layout | str:
    """The layout, or why there is none."""
    if len(m.parts) != 1 or len(m.parts[0][1]) != 1:
        return f"a layout is one piece, not {sum(len(cs) for _, cs in m.parts)}"
    if m.param_names:
        return f"a layout has no parameters, and this map has {', '.join(m.param_names)}"
    space, (c,) = m.parts[0]
    return _conjunct_layout(space, c)


@remembered(1024)
def _conjunct_layout(space: Space, c: Conjunct) -> Layout | str:
    n_in, inp = space.n_in, space.inp or Tuple(None, ())
    bounds, others, fixed = _bounds(c, n_in)
    axes = []
    for name, (low, high) in zip(inp.dims, bounds, strict=True):
        if low is None or high is None:
            return f"the input {name} has no {'least' if low is None else 'greatest'} value"
        axes.append(Axis(name, low, high - low + 1))
    rows = solved_outputs(c, 0, space)
    if rows is None:
        return "the outputs are not given by equalities"
    if len(c.eqs) - fixed != space.n_out:
        return "an equality thins out the domain, which is no box then"
    try:
        outs = with_cuts(axes, lambda reader: _read_rows(reader, c, rows, others))
    except NotSupported as no:
        return no.message
    names = distinct(space.out.dims)
    try:
        outputs = [output(n, s) for n, s in zip(names, outs, strict=True)]
    except NotSupported as no:
        return no.message
    return Layout._of(axes, outputs, (inp.name, space.out.name))


def _bounds(c: Conjunct, n_in: int) -> tuple[list[list[int | None]], list[Row], int]:
    """The least and the greatest value of each input as single rows say, the other inequalities, and how many inputs
    are fixed by equalities."""
    bounds: list[list[int | None]] = [[None, None] for _ in range(n_in)]
    others, fixed = [], 0
    for row in c.eqs:
        used = [col for col, v in enumerate(row) if v and col]
        if len(used) == 1 and used[0] <= n_in:
            bounds[used[0] - 1] = [-row[0] // row[used[0]]] * 2
            fixed += 1
    for row in c.ineqs:
        found = _bound(c, row)
        if found is None or found[0] > n_in:
            others.append(row)
            continue
        col, lower, value = found
        b = bounds[col - 1]
        if lower:
            b[0] = value if b[0] is None else max(b[0], value)
        else:
            b[1] = value if b[1] is None else min(b[1], value)
    return bounds, others, fixed


def _bound(c: Conjunct, row: Row) -> tuple[int, bool, int] | None:
    """What an inequality says of one dimension x, or of one floor((x + k)/d): (column, whether from below, bound)."""
    used = [col for col, v in enumerate(row) if v and col]
    if len(used) != 1:
        return None
    (col,) = used
    v = row[col]
    value = -(row[0] // v) if v > 0 else row[0] // -v
    if col <= c.n:
        return col, v > 0, value
    div = c.divs[col - 1 - c.n]
    if div is None:
        return None
    den, num = div
    inner = [at for at, w in enumerate(num) if w and at]
    if len(inner) != 1 or num[inner[0]] != 1 or inner[0] > c.n:
        return None
    return inner[0], v > 0, (den * value if v > 0 else den * value + den - 1) - num[0]


def _read_rows(reader: Reader, c: Conjunct, rows: Sequence[Row], others: Sequence[Row]) -> list[DigitSum]:
    base = 1 + c.n
    n_in = len(reader.axes)
    columns: dict[int, DigitSum] = {1 + k: s for k, s in enumerate(reader.inputs)}

    def column(col: int) -> DigitSum:
        if col not in columns:
            if col < base:
                columns[col] = value(rows[col - 1 - n_in])
            else:
                div = c.divs[col - base]
                if div is None:
                    reader.refuse("an existential is no function of the inputs")
                columns[col] = reader.quotient(value(div[1]), div[0])
        return columns[col]

    def value(row: Row) -> DigitSum:
        return reader.combination(row[0], [(column(col), v) for col, v in enumerate(row) if v and col])

    outs = [value(row) for row in rows]
    for row in others:
        if value(row).range()[0] < 0:
            reader.refuse("an inequality cuts off a part of the box")
    return outs


def box_of(domain: Set) -> tuple[Axis, ...]:
    """The axes of a set that is a box.

    Raises
    ------
    NotSupported : it isn't one bounded box.
    """
    names = domain.space.dims
    if len(domain.parts[0][1]) == 1 and not domain.param_names:
        (c,) = domain.parts[0][1]
        bounds, others, fixed = _bounds(c, len(names))
        axes = [
            Axis(n, a, b - a + 1) for n, (a, b) in zip(names, bounds, strict=True) if a is not None and b is not None
        ]
        if not others and fixed == len(c.eqs) and len(axes) == len(names):
            return tuple(axes)
    raise NotSupported("the domain of a layout is one bounded box", where=str(domain), hint=HINT)


# ---- what Map asks


def inverse_affs(m: Map) -> tuple[Aff, ...] | None:
    """The outputs of a map that is the inverse of a layout; None when it isn't, or not plainly."""
    back = _inverse_of_layout(m)
    if back is None:
        return None
    names = dict(zip((a.name for a in back.axes), m.space.dims, strict=False))
    affs = back.as_affs()
    return affs if all(a == b for a, b in names.items()) else tuple(e.subs(names) for e in affs)


def inverse_cell(m: Map) -> tuple[Conjunct, tuple[Aff, ...]] | None:
    """The domain and the outputs, without exclusive-ors, of a map that is the inverse of a layout; else None."""
    affs = inverse_affs(m)
    back = _inverse_of_layout(m)
    if affs is None or back is None:
        return None
    names = m.space.dims[: len(back.axes)]
    rows = [("ge", var(n) - a.low) for n, a in zip(names, back.axes, strict=True)]
    rows += [("ge", a.low + a.extent - 1 - var(n)) for n, a in zip(names, back.axes, strict=True)]
    domain = RowBuilder(names).conjunct(rows)
    return None if domain is None else (domain, tuple(e.without_xor() for e in affs))


@remembered(256)
def _inverse_of_layout(m: Map) -> Layout | None:
    if m.param_names:
        return None
    found = _found(m.reverse())
    if isinstance(found, str):
        return None
    try:
        return found.inverse()
    except NotSupported:
        return None


def injective_by_digits(m: Map) -> bool | None:
    """Whether a map is injective, where it is a layout and its digits tell; None otherwise."""
    found = _found(m)
    return None if isinstance(found, str) else found._injective()
