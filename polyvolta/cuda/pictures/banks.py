"""A tile in shared memory: which element lies where, and what one access of a warp asks of the banks.

The grid is memory in order: a row is 128 bytes, eight chunks of 16, and spans the 32 banks once, so what stands in one
column lies in the same banks. A cell says which elements its chunk holds. Without an access the colours are positions
along a line of the tile: straight stripes without a swizzle, scattered by one.

With an access the cells are those that the lanes of one warp touch in one instruction, coloured by the phase in which
they are served, with the lanes' numbers; below, how many different words each phase wants of each bank. Where that is
more than one the lanes wait for one another: a conflict, in red.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    Exchange,
    KernelIR,
    LoadMatrix,
    SharedTile,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.layouts.bank_model import BANKS, WORD
from polyvolta.cuda.layouts.swizzle import Swizzle, tile_layout
from polyvolta.cuda.pictures.dry import GENEROUS, all_sizes, ir_of
from polyvolta.cuda.pictures.errors import BadPicture, NotInKernel
from polyvolta.cuda.pictures.svg import FAINT, GREY, INK, PAPER, RED, TINTS, Canvas, Svg, text_width
from polyvolta.cuda.pictures.warp_access import ROW, Taken, taken
from polyvolta.graph.dims import Given, joined
from polyvolta.sets import nearest

PER_ROW = ROW // CHUNK_BYTES  # chunks of a row
WIDE, HIGH = 84, 36  # pixels of a chunk
MOST_ROWS = 16  # shown without an access


def shared_tile(
    kernel: Any,
    tile: str,
    access: str | None = None,
    *,
    warp: int = 0,
    nth: int = 0,
    part: int = 0,
    at: Mapping[str, int] | None = None,
    swizzled: bool = True,
    sizes: Given[int] | None = None,
    **named: int,
) -> Svg:
    """A tile in shared memory, chunk by chunk, and what one access of one warp touches.

    Parameters
    ----------
    kernel : a kernel, or its IR.
    tile : by name, such as "shared_A"; "exchange" is the accumulators' buffer.
    access : a statement that reads or writes the tile, such as "frag_A" or "store_A"; or "load" or "store", the first
        that does. None: the tile alone.
    warp : whose access.
    nth : which time the warp gets there, from 0.
    part : of an operation that takes several instructions which one, from 0.
    at : values of loop variables, {"c8": 1}, that the access is to have; `nth` counts those.
    swizzled : False draws the same without the exclusive-or of the tile's layout.
    sizes, named : of the matrices: by name, or in a mapping from names or from the sizes themselves; by default
        large enough for everything to be reached.

    Raises
    ------
    NotInKernel : no such tile, access, warp, time or part; BadPicture : arguments that have no meaning together.
    NothingToDraw : an access that no lane makes: of boxes, or of operands that tensor cores read.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    >>> pv.pictures.shared_tile(kernel, "shared_A", "load")[:4]
    '<svg'
    """
    ir = ir_of(kernel)
    found = _tile(ir, tile)
    if not swizzled:
        found = _plain(found)
        ir = replace(ir, tiles=tuple(found if t.name == tile else t for t in ir.tiles))
    if access is None and (warp, nth, part, at or {}) != (0, 0, 0, {}):
        raise BadPicture(
            "a warp, and which of its accesses, was given, but not to which statement they belong",
            hint="access is a statement such as frag_A, or load or store",
        )
    if access is None:
        return _layout_alone(ir, found, swizzled)
    known = all_sizes(ir, joined(sizes, named, BadPicture), GENEROUS)
    one = taken(ir, found, access, warp, nth, part, at or {}, known)
    return tile_access(ir, found, one, swizzled)


def _tile(ir: KernelIR, name: str) -> SharedTile:
    names = [t.name for t in ir.tiles]
    if name not in names:
        raise NotInKernel(f"{ir.name} has no tile {name!r}", hint=nearest(str(name), names))
    return ir.tile(name)


def _plain(tile: SharedTile) -> SharedTile:
    """The tile line by line, without a swizzle."""
    if tile.layout is None:
        raise BadPicture(
            f"{tile.name} has no layout to leave the swizzle out of: the exchange itself places its values",
            hint="swizzled=False is for operands' tiles, such as shared_A",
        )
    dims, size = zip(*tile.layout.inputs)
    return replace(tile, layout=tile_layout(dims, size, tile.order, Swizzle(), CHUNK))


# ---- what a chunk holds


def contents(ir: KernelIR, tile: SharedTile, exchange: Exchange | None = None) -> dict[int, str]:
    """The elements in each chunk of a buffer, as text in the order of the tile's dimensions."""
    if tile.layout is None:
        return _exchanged(tile, exchange or _exchange_of(ir, tile))
    return {chunk: " / ".join(", ".join(map(_span, box)) for box in held) for chunk, held in boxes(tile).items()}


def boxes(tile: SharedTile) -> dict[int, list[list[Sequence[int]]]]:
    """The elements in each chunk of a tile with a layout, as boxes: for each dimension the indices. One, normally."""
    assert tile.layout is not None
    (dims, size), (line, run) = zip(*tile.layout.inputs), tile.order
    found: dict[int, list[list[Sequence[int]]]] = {}
    for x in range(size[line]):
        for y in range(0, size[run], CHUNK):
            (chunk,) = tile.layout.evaluate({dims[line]: x, dims[run]: y})
            box: list[Sequence[int]] = [(x,), (x,)]
            box[run] = range(y, y + CHUNK)
            found.setdefault(int(chunk), []).append(box)
    return found


def _exchange_of(ir: KernelIR, tile: SharedTile) -> Exchange:
    for op in operations(ir.body):
        if op.plan is not None and any(a.array == tile.name for a in op.accesses(ir)):
            return op.plan
    raise NotInKernel(f"nothing touches {tile.name} of {ir.name}")


def _exchanged(tile: SharedTile, exchange: Exchange) -> dict[int, str]:
    """The elements of a fragment in each chunk of every warp's buffer."""
    per_vector = len(exchange.words) // len(exchange.load.outputs)
    one: dict[int, str] = {}
    for r in range(exchange.rounds):
        for lane in range(LANES):
            where = [int(x) for x in exchange.owns.evaluate({"lane": lane, "round": r})]
            vectors = exchange.load.evaluate({"lane": lane, "round": r})
            for number, vector in enumerate(vectors):
                values = [v for v, word in enumerate(exchange.words) if word // per_vector == number]
                box: list[Sequence[int]] = [(x,) for x in where]
                box[exchange.along] = [where[exchange.along] + v for v in values]
                one[int(vector)] = ", ".join(map(_span, box))
    slots = tile.buffers * tile.chunks // exchange.chunks
    return {slot * exchange.chunks + chunk: words for slot in range(slots) for chunk, words in one.items()}


def _span(indices: Sequence[int]) -> str:
    """Some indices as text: 8–15, 0 1 4 5, 3."""
    numbers = list(indices)
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]}–{numbers[-1]}"
    return " ".join(map(str, numbers))


# ---- drawing


def _heading(ir: KernelIR, tile: SharedTile, swizzled: bool) -> str:
    if tile.layout is None:
        return "the exchange places the pieces of a fragment"
    return f"chunk = {tile.layout['chunk']}" + ("" if swizzled else ", without its swizzle")


def _layout_alone(ir: KernelIR, tile: SharedTile, swizzled: bool) -> Svg:
    rows = -(-tile.chunks // PER_ROW)
    shown = min(rows, MOST_ROWS)
    picture = Canvas(f"{tile.name} in shared memory", _heading(ir, tile, swizzled), _size(tile))
    held = contents(ir, tile)
    fills: dict[int, str] = {}
    if tile.layout is not None:
        run = tile.order[-1]
        name, extent = tile.layout.inputs[run]
        position = {chunk: held[0][run][0] // CHUNK for chunk, held in boxes(tile).items()}
        fills = {chunk: TINTS[p % len(TINTS)] for chunk, p in position.items()}
        for p in range(min(len(TINTS), extent // CHUNK)):
            more = f" (mod {CHUNK * len(TINTS)})" if extent > CHUNK * len(TINTS) else ""
            picture.key(f"{name} {CHUNK * p}–{CHUNK * p + CHUNK - 1}{more}", fill=TINTS[p])
    else:
        slot = _exchange_of(ir, tile).chunks
        fills = {chunk: TINTS[chunk // slot % len(TINTS)] for chunk in held}
        for k in range(min(tile.buffers * tile.chunks // slot, shown * PER_ROW // slot, len(TINTS))):
            picture.key(f"slot {k}", fill=TINTS[k])
    y = _columns(picture)
    for row in range(shown):
        _row(picture, tile, held, row, y, fills)
        y += HIGH
    if shown < rows:
        picture.text(WIDE * PER_ROW / 2, y + 12, f"and {rows - shown} more rows of {ROW} bytes", fill=GREY)
    _legend_of_cells(picture, tile)
    return picture.svg()


def _size(tile: SharedTile) -> str:
    copies = f"{tile.buffers} buffers of " if tile.buffers > 1 else ""
    return f"{copies}{tile.chunks} chunks of {CHUNK_BYTES} bytes, from byte {tile.start * CHUNK_BYTES}"


def tile_access(ir: KernelIR, tile: SharedTile, taken: Taken, swizzled: bool = True, *more: str) -> Svg:
    """A tile, and what one instruction of one warp asks of the banks.

    Parameters
    ----------
    ir, tile : the kernel, and one of its tiles.
    taken : the instruction.
    swizzled : False says in the heading that the layout is one without its swizzle.
    more : lines below the heading.
    """
    access, op = taken.access, taken.op
    degrees = taken.degrees()
    worst = max(degrees.values())
    said = next(a for a in op.accesses(ir) if (a.array, a.kind) == (tile.name, access.kind))
    verb = "copies" if said.when == "completion" else {"read": "loads", "write": "stores"}[access.kind]
    matrices = isinstance(op, LoadMatrix)
    number = f", instruction {taken.part} of {taken.parts}" if taken.parts > 1 else ""
    where = ", ".join(f"{n} = {v}" for n, v in taken.loops.items())
    buffer = f"; buffer {taken.buffer} of {tile.buffers}" if tile.buffers > 1 else ""
    picture = Canvas(
        f"{tile.name}: what warp {taken.warp} {verb} in {op.statement}{number}",
        (f"{said.opcode}: " if said.opcode else "")
        + f"{8 * access.width} bits a lane, {_phases(len(degrees))} of {taken.lanes_of_phase} lanes"
        + (": free of bank conflicts" if worst == 1 else ""),
        f"{_heading(ir, tile, swizzled)}{buffer}",
        where,
        *more,
        warning=f"{worst}-way bank conflicts" if worst > 1 else "",
    )
    held = contents(ir, tile, op.plan)
    lanes: dict[int, list[int]] = {}  # by address
    for lane, byte in enumerate(taken.address.tolist()):
        if byte >= 0:
            lanes.setdefault(byte, []).append(lane)
    words = taken.words()
    y = _columns(picture)
    for row in rows_shown(sorted({byte // ROW for byte in lanes})):
        if row is None:
            picture.text(WIDE * PER_ROW / 2, y + 8, "⋯", size=14, fill=GREY)
            y += 18
            continue
        _row(picture, tile, held, row, y, {})
        _lanes(picture, taken, lanes, words, row, y)
        y += HIGH
    _banks(picture, taken, words, degrees, y + 58)
    for phase in degrees:
        first = phase * taken.lanes_of_phase
        lanes_of = f"lanes {first} to {first + taken.lanes_of_phase - 1}"
        matrix = f"{lanes_of} name the lines of matrix {phase}"
        picture.key(matrix if matrices else f"phase {phase}: {lanes_of}", fill=TINTS[phase])
    if worst > 1:
        picture.key("conflict: one bank, different words", stroke=RED, fill=PAPER)
    _legend_of_cells(picture, tile)
    return picture.svg()


def _phases(count: int) -> str:
    return "1 phase" if count == 1 else f"{count} phases"


def rows_shown(touched: list[int]) -> list[int | None]:
    """The rows touched, those between that are few, and None for a gap."""
    shown: list[int | None] = []
    least = 1 if touched[-1] - touched[0] < 24 else 0
    for k, row in enumerate(touched):
        if k:
            gap = range(touched[k - 1] + 1, row)
            shown += list(gap) if len(gap) <= least else [None]
        elif row:
            shown.append(None)
        shown.append(row)
    return shown


def _columns(picture: Canvas) -> float:
    """The banks above the columns; returns where the rows start."""
    for c in range(PER_ROW):
        banks = CHUNK_BYTES // WORD
        picture.text(WIDE * (c + 0.5), -8, f"{banks * c}–{banks * c + banks - 1}", size=11, fill=GREY)
    picture.text(-8, -8, "byte \\ bank", size=11, fill=GREY, anchor="end")
    return 4.0


def _row(picture: Canvas, tile: SharedTile, held: Mapping[int, str], row: int, y: float, fills: dict[int, str]) -> None:
    picture.text(-8, y + HIGH / 2, ROW * row, size=11, anchor="end", fill=GREY)
    for c in range(PER_ROW):
        chunk = PER_ROW * row + c
        if chunk >= tile.chunks:
            break
        words = held.get(chunk, "")
        with picture.group(f"chunk {chunk}: {words or 'unused'}"):
            stroke = GREY if fills else FAINT
            picture.rect(WIDE * c, y, WIDE, HIGH, fill=fills.get(chunk, PAPER), stroke=stroke, thick=0.8)
            size, middle, ink = (12, HIGH / 2, INK) if fills else (10, 9, GREY)
            if "/" in words:
                picture.rect(WIDE * c + 2, y + 2, WIDE - 4, HIGH - 4, fill=PAPER, stroke=RED, thick=2)
                words, size, ink = f"{words.count('/') + 1} in one", 10, RED
            picture.text(WIDE * (c + 0.5), y + middle, words, size=size, fill=ink)


def _lanes(picture: Canvas, taken: Taken, lanes: dict[int, list[int]], words: np.ndarray, row: int, y: float) -> None:
    """What the lanes touch in one row, by phase, conflicts in red."""
    width = taken.access.width
    for byte in range(ROW * row, ROW * row + ROW, width):
        if byte not in lanes:
            continue
        x, wide = WIDE * (byte % ROW) / CHUNK_BYTES, WIDE * width / CHUNK_BYTES
        mine = lanes[byte]
        by_phase = list(dict.fromkeys(lane // taken.lanes_of_phase for lane in mine))
        banks = [byte // WORD % BANKS + k for k in range(max(1, width // WORD))]
        degree = max(int(words[p, b]) for p in by_phase for b in banks)
        chunk = byte // CHUNK_BYTES
        said = f", {degree}-way conflict" if degree > 1 else ""
        with picture.group(f"byte {byte}, chunk {chunk}: lanes {', '.join(map(str, mine))}{said}"):
            top, high = y + 17, HIGH - 18
            ink = RED if degree > 1 else INK
            for k, phase in enumerate(by_phase):
                here = wide / len(by_phase)
                picture.rect(x + 1 + k * here, top, here - 2, high, fill=TINTS[phase])
                names = [str(lane) for lane in mine if lane // taken.lanes_of_phase == phase]
                label = " ".join(names[:3]) + ("…" if len(names) > 3 else "")
                size = next((s for s in (11, 9, 7.5) if text_width(label, s, True) <= here - 2), 6.5)
                picture.text(x + (k + 0.5) * here, top + high / 2, label, size=size, bold=True, fill=ink)
            picture.rect(x + 1.5, top, wide - 3, high, stroke=ink, thick=2.2 if degree > 1 else 1)


def _banks(picture: Canvas, taken: Taken, words: np.ndarray, degrees: Mapping[int, int], y: float) -> None:
    """How many words each phase wants of each bank."""
    wide, high = WIDE / (CHUNK_BYTES // WORD), 22
    picture.text(0, y - 30, "Different words that a phase wants of each bank:", anchor="start", size=12)
    for bank in range(BANKS):
        picture.text(wide * (bank + 0.5), y - 9, bank, size=9, fill=GREY)
    for phase, degree in degrees.items():
        picture.text(-8, y + high / 2, f"phase {phase}", size=11, anchor="end", fill=GREY)
        for bank in range(BANKS):
            count = int(words[phase, bank])
            fill = PAPER if not count else TINTS[phase] if count == 1 else RED
            picture.rect(wide * bank, y, wide, high, fill=fill, stroke=FAINT)
            if count:
                ink = PAPER if count > 1 else INK
                picture.text(wide * (bank + 0.5), y + high / 2, count, size=11, bold=count > 1, fill=ink)
        verdict = "once" if degree == 1 else f"{degree}-way"
        picture.text(WIDE * PER_ROW + 8, y + high / 2, verdict, size=12, anchor="start", bold=degree > 1,
                     fill=RED if degree > 1 else GREY)  # fmt: skip
        y += high + 3


def _legend_of_cells(picture: Canvas, tile: SharedTile) -> None:
    if tile.layout is None:
        picture.key("in a chunk: row, columns of the fragment", sample="…")
    else:
        names = [n for n, _ in tile.layout.inputs]
        picture.key(f"in a chunk: the elements [{', '.join(names)}]", sample="…")
