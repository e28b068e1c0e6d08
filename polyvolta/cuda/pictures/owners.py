"""Who owns which element: the lanes of an instruction, or of a macro-MMA, on A, B and the accumulator.

A at the left, B above, the accumulator between them, as in the paper's figures of the instruction and of the
macro-MMA: a row of A and a column of B meet in an element of the result. Every cell is drawn from the ownership maps
{ [lane, i] -> [row, col] }, nothing is placed by hand. Colours tell quads apart, of four lanes each; of quads that are
16 lanes apart, which are a quad-pair where an instruction works in those, the second one has the deeper shade. The
numbers are the owning lane and, small, which value i of the lane's fragment the element is. Where several lanes hold
an element of an operand, its cell has a band for each.

Of a kernel A and B are drawn as its fragment loads bring them, the accumulator as its product has it. Where a load
brings an element to another place than the product takes it from, the cell is red. Where lanes load matrices together,
by `ldmatrix`, one names a line of eight elements and others get them: a small triangle, with the lane that names it,
stands at the first element of a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR, LoadMatrix, Op, Wgmma
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.pictures.dry import ir_of
from polyvolta.cuda.pictures.errors import BadPicture, NothingToDraw, NotInKernel
from polyvolta.cuda.pictures.svg import DEEPER, FAINT, GREY, INK, RED, TINTS, Canvas, Svg
from polyvolta.cuda.target.descriptors import in_registers
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LAYOUTS, Instruction
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.matrix_load import LINES, delivered
from polyvolta.cuda.target.registry import target_of
from polyvolta.cuda.target.target import Target
from polyvolta.sets import UnknownName, nearest

CELL = 30
GAP = 34  # between the matrices, for the numbers of rows and columns
QUAD = 4  # lanes that have one colour

Owners = dict[tuple[int, int], list[tuple[int, int]]]  # element -> (lane, value) of each owner, by lane
Wrong = Mapping[tuple[int, int], str]  # element that lies elsewhere -> where it should be, in words
LAYOUT_NAMES = {"row": "row-major", "col": "column-major"}


def ownership(
    macro: Any = None,
    a: str = "row",
    b: str = "col",
    *,
    statement: str | None = None,
    target: str | Target | None = None,
) -> Svg:
    """Which lanes own which elements of a macro-MMA's A, B and accumulator: the paper's second figure.

    Parameters
    ----------
    macro : a name such as "m32n32k8", a `MacroMma`, or a kernel, whose own macro-MMA is drawn, with A and B as the
        kernel loads them; by default the target's first one.
    a, b : layouts of A and B, "row" or "col", where `macro` is a name.
    statement : of a kernel's products the one meant, such as "S1"; by default the first.
    target : whose macro-MMA a name means; by default the first of `pv.targets`.

    Raises
    ------
    UnknownTarget, UnknownName : no such target, macro-MMA or layout.
    NoInstruction : the macro-MMA has no instruction for these layouts.
    NotInKernel, NothingToDraw : the kernel has no such product, or none at all.

    >>> "A[9, 6]: lane 6 value 9, lane 14 value 9" in ownership("m32n32k8", "col", "row")
    True
    """
    loaded: dict[str, Op] = {}
    brought: dict[str, Any] = {}
    if macro is None or isinstance(macro, str):
        known = target_of(target)
        macro = (known.macro_mmas[0] if macro is None else known.macro_mma(macro)).of(a, b)
    elif not isinstance(macro, MacroMma):
        ir = ir_of(macro, "a macro-MMA, its name, or a kernel")
        product = _of_kernel(ir, statement)
        macro, loaded = product.product, _loaded(ir, product)
        brought = {name: _brought(ir, op) for name, op in loaded.items()}
    sides = (("A", brought.get("A") or in_registers(macro.a)), ("B", brought.get("B") or in_registers(macro.b)))
    held = {name: owners(own) for name, own in (*sides, ("D", macro.d))}
    wrong = {name: _differing(held[name], owners(in_registers(own))) for name, own in (("A", macro.a), ("B", macro.b))}
    made = macro.instruction
    picture = Canvas(
        f"{macro.name}: who owns what",
        f"{_layouts(made)}; {len(macro.steps)} x {made.title}, each by {_all(made)}",
        warning="; ".join(
            f"elements of {name} not loaded where the product takes them from: {len(places)}"
            for name, places in wrong.items()
            if places
        ),
    )
    lines = {name: _lines(op) for name, op in loaded.items() if isinstance(op, LoadMatrix)}
    return _drawn(picture, macro, held, range(macro.instruction.units), wrong, lines)


def instruction(a: str = "row", b: str = "col", *, quad_pair: int = 0, target: str | Target | None = None) -> Svg:
    """Which lanes own which elements of a target's instruction: of m8n8k4 the paper's first figure.

    Parameters
    ----------
    a, b : layouts of A and B, "row" or "col".
    quad_pair : which of the products that the instruction makes side by side: 0 to 3 of m8n8k4, where quad-pair q is
        lanes 4q to 4q+3 and 16+4q to 16+4q+3; 0 where the whole warp makes one.
    target : whose first macro-MMA's instruction it is; by default the first of `pv.targets`.

    Raises
    ------
    UnknownTarget, UnknownName : no such target or layout.
    NoInstruction : the target has none for these layouts.
    BadPicture : no such quad-pair.

    >>> "D[7, 4]: lane 25 value 6" in instruction(quad_pair=2)
    True
    """
    for layout in (a, b):
        if layout not in LAYOUTS:
            raise UnknownName(f"no layout is called {layout!r}", hint=nearest(layout, LAYOUTS))
    made = target_of(target).macro_mmas[0].of(a, b).instruction
    name = made.scope.name
    if isinstance(quad_pair, bool) or quad_pair not in range(made.units):
        hint = f"a warp has {made.units}, 0 to {made.units - 1}" if made.units > 1 else f"there is one {name}, number 0"
        raise BadPicture(f"there is no {name} {quad_pair!r}", hint=hint)
    picture = Canvas(
        f"{made.title}, {f'{name} {quad_pair}' if made.units > 1 else name}: who owns what", _layouts(made)
    )
    lanes = made.scope.lanes(quad_pair)
    held = {name: owners(in_registers(own), lanes) for name, own in (("A", made.a), ("B", made.b), ("D", made.d))}
    return _drawn(picture, made, held, (quad_pair,))


def _of_kernel(ir: KernelIR, statement: str | None) -> Op:
    """One of a kernel's products."""
    found: dict[str, Op] = {}
    for op in operations(ir.body):
        if op.product is not None:
            found.setdefault(op.statement, op)
    if not found:
        raise NothingToDraw(
            f"{ir.name} has no macro-MMA", hint=f"give its name, such as {target_of().macro_names[0]!r}"
        )
    if statement is None:
        return next(iter(found.values()))
    if statement not in found:
        raise NotInKernel(f"{ir.name} has no product {statement!r}", hint=nearest(statement, found))
    return found[statement]


def _loaded(ir: KernelIR, product: Op) -> dict[str, Op]:
    """For A and B what loads a product's fragments; a load that is wrong, if there is one."""
    if isinstance(product, Wgmma):
        raise NothingToDraw(
            f"no lane of {ir.name} has fragments of operands: tensor cores read them from shared memory",
            where=product.statement,
            hint="print(op.macro.d) of the product has the accumulators, verify('layouts') the operands",
        )
    macro, (_, a, b, *_) = product.product, product.accesses(ir)
    assert macro is not None
    found: dict[str, Op] = {}
    for op in operations(ir.body):
        if not (accesses := op.accesses(ir)):
            continue
        *reads, last = accesses
        for name, operand, own in (("A", a, macro.a), ("B", b, macro.b)):
            if any(x.own is not None for x in reads) and last.array == operand.array:
                if name not in found or owners(_brought(ir, found[name])) == owners(in_registers(own)):
                    found[name] = op
    return found


def _brought(ir: KernelIR, op: Op) -> IndexMap:
    """The ownership map with which an operation loads fragments: of matrices, what their lines are distributed to."""
    (read,) = (a for a in op.accesses(ir) if a.own is not None)
    if isinstance(op, LoadMatrix):
        return delivered(op.lines, op.load, op.count, op.transposed, ir.tile(op.tile).order[-1])
    assert read.own is not None
    return read.own


def _lines(op: LoadMatrix) -> dict[tuple[int, int], list[int]]:
    """The first elements of lines, and which lanes name them."""
    found: dict[tuple[int, int], list[int]] = {}
    for n in range(op.instructions):
        for lane in range(LINES * op.count):
            place = op.lines.evaluate({name: x for (name, _), x in zip(op.lines.inputs, (lane, n), strict=True)})
            found.setdefault((int(place[0]), int(place[1])), []).append(lane)
    return found


def _differing(held: Owners, wanted: Owners) -> dict[tuple[int, int], str]:
    """The elements that lie in other places than they are wanted in, with those in words."""
    return {
        e: ", ".join(f"lane {l} value {i}" for l, i in wanted[e]) or "none"
        for e in sorted(wanted) if sorted(held.get(e, ())) != sorted(wanted[e])
    }  # fmt: skip


def owners(own: IndexMap, of: Sequence[int] | None = None) -> Owners:
    """The owners of every element, from an ownership map { [lane, i] -> [row, col] }; all lanes, or some.

    >>> from polyvolta.cuda.target.volta import m8n8k4
    >>> owners(m8n8k4("row", "col").d, (0, 1, 2, 3, 16, 17, 18, 19))[6, 2]
    [(18, 2)]
    """
    (_, lanes), (_, values) = own.inputs
    lane, value = np.meshgrid(np.arange(lanes), np.arange(values), indexing="ij")
    places = [np.broadcast_to(x, lane.shape) for x in own.evaluate({"lane": lane, "i": value})]
    mine = np.isin(lane, range(lanes) if of is None else of)
    found: Owners = {}
    for l, i, r, c in sorted(zip(*(x[mine].tolist() for x in (lane, value, *places)), strict=True)):
        found.setdefault((r, c), []).append((l, i))
    return found


# ---- drawing


def _drawn(
    picture: Canvas, what: MacroMma | Instruction, held: Mapping[str, Owners], units: Iterable[int],
    wrong: Mapping[str, Wrong] | None = None, lines: Mapping[str, Mapping[tuple[int, int], list[int]]] | None = None,
) -> Svg:  # fmt: skip
    """The three matrices and the legend."""
    (m, n, k), wrong = what.shape, wrong or {}
    left, top = 0.0, 0.0  # of the accumulator
    a_left, b_top = left - GAP - CELL * k, top - GAP - CELL * k
    a, b = (wrong.get(name, {}) for name in "AB")
    _matrix(picture, "A", held["A"], (a_left, top), (m, k), ("row", "k"), along(in_registers(what.a)), a)
    _matrix(picture, "B", held["B"], (left, b_top), (k, n), ("k", "column"), along(in_registers(what.b)), b)
    _matrix(picture, "D", held["D"], (left, top), (m, n), ("row", "column"), None, {})
    for name, (x, y) in (("A", (a_left, top)), ("B", (left, b_top))):
        for (r, c), lanes in (lines or {}).get(name, {}).items():
            words = ",".join(map(str, lanes))
            with picture.group(f"{name}[{r}, {c}]: the line of eight that lane {words} names"):
                picture.text(x + CELL * c + 2, y + CELL * (r + 1) - 5, f"▸{words}", size=7, anchor="start", bold=True)
    for words, fill, second in _keys(what.instruction if isinstance(what, MacroMma) else what, units):
        picture.key(words, fill=fill, second=second)
    picture.key("the lane that owns an element; small: which value of the lane's fragment it is", sample="17")
    if lines:
        picture.key("the lane that names the line of eight elements that begins there", sample="▸17")
    if any(len(lanes) > 1 for name in "AB" for lanes in held[name].values()):
        picture.key("bands: several lanes hold the same element", fill=TINTS[0], second=TINTS[2])
    if a or b:
        picture.key("loaded to other lanes or values than the product takes it from", stroke=RED)
    return picture.svg()


def _keys(made: Instruction, units: Iterable[int]) -> Iterator[tuple[str, str, str]]:
    """What each colour means: words, the colour and its deeper shade."""
    for unit in units:
        quads: dict[int, list[int]] = {}  # by colour
        for lane in made.scope.lanes(unit)[::QUAD]:
            quads.setdefault(lane // QUAD % len(_COLOURS), []).append(lane)
        for colour, firsts in quads.items():
            lanes = ", ".join(f"{first} to {first + QUAD - 1}" for first in firsts)
            words = f"{made.scope.name} {unit}: lanes {lanes}" if made.units > 1 else f"lanes {lanes}"
            yield words, TINTS[colour], DEEPER[colour]


def along(own: IndexMap) -> int:
    """The dimension along which a lane's first two values are neighbours."""
    first, second = (own.evaluate({"lane": 0, "i": i}) for i in (0, 1))
    return next(d for d, (x, y) in enumerate(zip(first, second, strict=True)) if x != y)


def _matrix(
    picture: Canvas, name: str, who: Owners, at: tuple[float, float], size: tuple[int, int], axes: tuple[str, str],
    run: int | None, wrong: Wrong,
) -> None:  # fmt: skip
    """One matrix with its axes; `run` is the dimension along which a lane's number is written once for a run."""
    x0, y0 = at
    rows, cols = size
    cells = {e: held for e, held in who.items() if 0 <= e[0] < rows and 0 <= e[1] < cols}
    for (r, c), held in sorted(({e: [] for e in wrong} | cells).items()):
        x, y = x0 + CELL * c, y0 + CELL * r
        before = None if run is None else who.get((r - 1, c) if run == 0 else (r, c - 1))
        starts = before is None or [l for l, _ in before] != [l for l, _ in held]
        there = ", ".join(f"lane {l} value {i}" for l, i in held) or "no lane"
        with picture.group(f"{name}[{r}, {c}]: {there}" + (f"; wanted: {wrong[r, c]}" if (r, c) in wrong else "")):
            _cell(picture, x, y, held, run, starts)
    _edges(picture, cells, at, size)
    for r, c in wrong:
        picture.rect(x0 + CELL * c + 1.5, y0 + CELL * r + 1.5, CELL - 3, CELL - 3, stroke=RED, thick=2.2)
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
    """The colour of a lane: its quad's, deeper for the second one that has it."""
    quad = lane // QUAD
    return (DEEPER if quad >= len(_COLOURS) else TINTS)[quad % len(_COLOURS)]


_COLOURS = range(4)  # of TINTS and DEEPER


def _edges(picture: Canvas, who: Owners, at: tuple[float, float], size: tuple[int, int]) -> None:
    """Lines between elements: thick between different quads, thin between different lanes, faint inside of a run."""
    (x0, y0), (rows, cols) = at, size
    drawn: dict[tuple[str, float], list[tuple[float, float, float, float]]] = {(FAINT, 0.8): [], (GREY, 0.8): []}
    for r, c, dr, dc in _borders(rows, cols):
        one, other = ([l for l, _ in who.get(e, ())] for e in ((r, c), (r - dr, c - dc)))
        if [l // QUAD for l in one] != [l // QUAD for l in other]:
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


def _all(made: Instruction) -> str:
    """All that work in it, in words."""
    number = {1: "the whole", 2: "both", 4: "all four"}.get(made.units, f"all {made.units}")
    return f"{number} {made.scope.name}{'s' if made.units > 1 else ''}"


def _layouts(made: Instruction) -> str:
    a, b = made.layouts
    return f"A {LAYOUT_NAMES[a]}, B {LAYOUT_NAMES[b]}"
