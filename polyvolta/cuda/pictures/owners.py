"""Who owns which element: the lanes of an instruction, or of a macro-MMA, on A, B and the accumulator.

A at the left, B above, the accumulator between them, as in the paper's figures of the instruction and of the
macro-MMA: a row of A and a column of B meet in an element of the result. Every cell is drawn from the ownership maps
{ [lane, i] -> [row, col] }, nothing is placed by hand. Colours tell the quad-pairs apart; the deeper shade is the quad
of lanes 16 to 31. The numbers are the owning lane and, small, which value i of the lane's fragment the element is.
Where several lanes hold an element of an operand, its cell has a band for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.ir_walk import operations
from polyvolta.cuda.kernel_ir import KernelIR, Mma
from polyvolta.cuda.macro_mma import HIGH, LAYOUTS, QUAD_PAIR, Instruction, MacroMma, m8n8k4, macro_mma
from polyvolta.cuda.pictures.dry import ir_of
from polyvolta.cuda.pictures.errors import BadPicture, NothingToDraw, NotInKernel
from polyvolta.cuda.pictures.svg import DEEPER, FAINT, GREY, INK, TINTS, Canvas, Svg
from polyvolta.sets import UnknownName, nearest

CELL = 30
GAP = 34  # between the matrices, for the numbers of rows and columns

Owners = dict[tuple[int, int], list[tuple[int, int]]]  # element -> (lane, value) of each owner, by lane
LAYOUT_NAMES = {"row": "row-major", "col": "column-major"}


def ownership(macro: Any = "m16n16k8", a: str = "row", b: str = "col", *, statement: str | None = None) -> Svg:
    """Which lanes own which elements of a macro-MMA's A, B and accumulator: the paper's second figure.

    Parameters
    ----------
    macro : a name such as "m32n32k8", a `MacroMma`, or a kernel, whose own macro-MMA is drawn.
    a, b : layouts of A and B, "row" or "col", where `macro` is a name.
    statement : of a kernel's products the one meant, such as "S1"; by default the first.

    Raises
    ------
    UnknownName : no such macro-MMA or layout.
    NotInKernel, NothingToDraw : the kernel has no such product, or none at all.

    >>> "A[9, 6]: lane 6 value 9, lane 14 value 9" in ownership("m32n32k8", "col", "row")
    True
    """
    if isinstance(macro, str):
        macro = macro_mma(macro, a, b)
    elif not isinstance(macro, MacroMma):
        macro = _of_kernel(ir_of(macro, "a macro-MMA, its name, or a kernel"), statement)
    quad_pairs = range(4)
    picture = Canvas(
        f"{macro.name}: who owns what",
        f"{_layouts(macro.instruction)}; {len(macro.steps)} x mma.m8n8k4, each by all four quad-pairs",
    )
    return _drawn(picture, macro, quad_pairs)


def instruction(a: str = "row", b: str = "col", *, quad_pair: int = 0) -> Svg:
    """Which lanes of a quad-pair own which elements of the instruction m8n8k4: the paper's first figure.

    Parameters
    ----------
    a, b : layouts of A and B, "row" or "col".
    quad_pair : 0 to 3; its lanes are 4q to 4q+3 and 16+4q to 16+4q+3.

    Raises
    ------
    UnknownName : no such layout.
    BadPicture : no such quad-pair.

    >>> "D[7, 4]: lane 25 value 6" in instruction(quad_pair=2)
    True
    """
    for layout in (a, b):
        if layout not in LAYOUTS:
            raise UnknownName(f"no layout is called {layout!r}", hint=nearest(layout, LAYOUTS))
    if isinstance(quad_pair, bool) or quad_pair not in range(4):
        raise BadPicture(f"there is no quad-pair {quad_pair!r}", hint="a warp has four, 0 to 3")
    made = m8n8k4(a, b)
    picture = Canvas(f"mma.m8n8k4, quad-pair {quad_pair}: who owns what", _layouts(made))
    return _drawn(picture, made, (quad_pair,))


def _of_kernel(ir: KernelIR, statement: str | None) -> MacroMma:
    """The macro-MMA of one of a kernel's products."""
    found: dict[str, MacroMma] = {}
    for op in operations(ir.body):
        if isinstance(op, Mma):
            found.setdefault(op.statement, op.macro)
    if not found:
        raise NothingToDraw(f"{ir.name} has no macro-MMA", hint="give its name, such as 'm16n16k8'")
    if statement is None:
        return next(iter(found.values()))
    if statement not in found:
        raise NotInKernel(f"{ir.name} has no product {statement!r}", hint=nearest(statement, found))
    return found[statement]


def owners(own: IndexMap, quad_pairs: Any = range(4)) -> Owners:
    """The owners of every element, from an ownership map { [lane, i] -> [row, col] }.

    >>> owners(m8n8k4("row", "col").d, (0,))[6, 2]
    [(18, 2)]
    """
    (_, lanes), (_, values) = own.inputs
    lane, value = np.meshgrid(np.arange(lanes), np.arange(values), indexing="ij")
    places = [np.broadcast_to(x, lane.shape) for x in own.evaluate({"lane": lane, "i": value})]
    quad_pair: Any = QUAD_PAIR.evaluate({"lane": lane})
    mine = np.isin(quad_pair, list(quad_pairs))
    found: Owners = {}
    for l, i, r, c in sorted(zip(*(x[mine].tolist() for x in (lane, value, *places)), strict=True)):
        found.setdefault((r, c), []).append((l, i))
    return found


# ---- drawing


def _drawn(picture: Canvas, what: MacroMma | Instruction, quad_pairs: Any) -> Svg:
    m, n, k = what.shape
    left, top = 0.0, 0.0  # of the accumulator
    a_left, b_top = left - GAP - CELL * k, top - GAP - CELL * k
    _matrix(picture, "A", owners(what.a, quad_pairs), (a_left, top), (m, k), ("row", "k"), along(what.a))
    _matrix(picture, "B", owners(what.b, quad_pairs), (left, b_top), (k, n), ("k", "column"), along(what.b))
    _matrix(picture, "D", owners(what.d, quad_pairs), (left, top), (m, n), ("row", "column"), None)
    for q in quad_pairs:
        lanes = f"{4 * q} to {4 * q + 3}, {16 + 4 * q} to {16 + 4 * q + 3}"
        picture.key(f"quad-pair {q}: lanes {lanes}", fill=TINTS[q], second=DEEPER[q])
    picture.key("the lane that owns an element; small: which value of the lane's fragment it is", sample="17")
    if any(len(held) > 1 for own in (what.a, what.b) for held in owners(own, quad_pairs).values()):
        picture.key("bands: several lanes hold the same element", fill=TINTS[0], second=TINTS[2])
    return picture.svg()


def along(own: IndexMap) -> int:
    """The dimension along which a lane's first two values are neighbours."""
    first, second = (own.evaluate({"lane": 0, "i": i}) for i in (0, 1))
    return next(d for d, (x, y) in enumerate(zip(first, second, strict=True)) if x != y)


def _matrix(
    picture: Canvas, name: str, who: Owners, at: tuple[float, float], size: tuple[int, int], axes: tuple[str, str],
    run: int | None,
) -> None:  # fmt: skip
    """One matrix with its axes; `run` is the dimension along which a lane's number is written once for a run."""
    x0, y0 = at
    rows, cols = size
    for (r, c), held in sorted(who.items()):
        x, y = x0 + CELL * c, y0 + CELL * r
        before = None if run is None else who.get((r - 1, c) if run == 0 else (r, c - 1))
        starts = before is None or [l for l, _ in before] != [l for l, _ in held]
        with picture.group(f"{name}[{r}, {c}]: " + ", ".join(f"lane {l} value {i}" for l, i in held)):
            _cell(picture, x, y, held, run, starts)
    _edges(picture, who, at, size)
    for r in range(rows):
        picture.text(x0 - 5, y0 + CELL * (r + 0.5), r, size=10, anchor="end", fill=GREY)
    for c in range(cols):
        picture.text(x0 + CELL * (c + 0.5), y0 - 8, c, size=10, fill=GREY)
    if name in "AD":
        label = x0 + CELL * cols / 2, y0 + CELL * rows + 14
    else:
        label = x0 + CELL * cols + 15, y0 + CELL * rows / 2
    words = f"{'C, D' if name == 'D' else name}  ({axes[0]} ↓, {axes[1]} →)"
    if name == "B":
        picture.text(label[0], label[1], words, size=13, upwards=True)
    else:
        picture.text(*label, words, size=13)


def _cell(
    picture: Canvas, x: float, y: float, held: list[tuple[int, int]], run: int | None, starts: bool
) -> None:  # fmt: skip
    bands = len(held)
    for k, (lane, _) in enumerate(held):
        if run == 0:  # bands side by side
            box = x + CELL * k / bands, y, CELL / bands, CELL
        else:
            box = x, y + CELL * k / bands, CELL, CELL / bands
        picture.rect(*box, fill=shade(lane))
        if not starts:
            continue
        if run is None:
            picture.text(x + CELL / 2 - 2, y + CELL / 2, lane, size=12)
        elif run == 0:
            picture.text(box[0] + box[2] / 2, y + 8, lane, size=10 if bands < 3 else 7)
        else:
            picture.text(x + 3, box[1] + box[3] / 2, lane, size=10 if bands < 3 else 7, anchor="start")
    values = list(dict.fromkeys(i for _, i in held))
    picture.text(x + CELL - 2, y + CELL - 5, ",".join(map(str, values)), size=7, anchor="end", fill="#444444")


def shade(lane: int) -> str:
    """The colour of a lane: its quad-pair's, deeper for the upper quad."""
    shades: Any = DEEPER if HIGH.evaluate({"lane": lane}) else TINTS
    return shades[QUAD_PAIR.evaluate({"lane": lane})]


def _edges(picture: Canvas, who: Owners, at: tuple[float, float], size: tuple[int, int]) -> None:
    """Lines between elements: thick between different quads, thin between different lanes, faint inside of a run."""
    (x0, y0), (rows, cols) = at, size
    drawn: dict[tuple[str, float], list[tuple[float, float, float, float]]] = {(FAINT, 0.8): [], (GREY, 0.8): []}
    for r, c, dr, dc in _borders(rows, cols):
        one, other = ([l for l, _ in who.get(e, ())] for e in ((r, c), (r - dr, c - dc)))
        if [l // 4 for l in one] != [l // 4 for l in other]:
            style = INK, 1.8
        else:
            style = (GREY, 0.8) if one != other else (FAINT, 0.8)
        x, y = x0 + CELL * c, y0 + CELL * r
        drawn.setdefault(style, []).append((x, y, x + CELL * dr, y + CELL * dc))
    for (stroke, thick), lines in drawn.items():
        picture.lines(lines, stroke=stroke, thick=thick)


def _borders(rows: int, cols: int) -> Iterator[tuple[int, int, int, int]]:
    """(row, column, 1, 0) for an element's upper edge, (row, column, 0, 1) for its left one; the outermost too."""
    for r in range(rows + 1):
        for c in range(cols + 1):
            if c < cols:
                yield r, c, 1, 0
            if r < rows:
                yield r, c, 0, 1


def _layouts(made: Instruction) -> str:
    a, b = made.layouts
    return f"A {LAYOUT_NAMES[a]}, B {LAYOUT_NAMES[b]}"
