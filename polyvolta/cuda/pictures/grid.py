"""Who writes which part of an output: blocks, the warps of a block, the fragments of a warp.

Nothing is read off the options: the stores of all blocks are followed, and a tile is the box of what a block, a warp,
or a warp for one accumulator fragment stores. Where tiles reach outside of the matrix they are hatched: the stores
there are guarded away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isqrt, prod
from typing import Any

import numpy as np

from polyvolta.cuda.ir.engines.clusters import launched
from polyvolta.cuda.ir.kernel_ir import Access, GlobalTensor, KernelIR, TakeRun
from polyvolta.cuda.machine.stepping import checked_block
from polyvolta.cuda.pictures.dry import all_sizes, dry_machine, ir_of
from polyvolta.cuda.pictures.errors import BadPicture, NothingToDraw, NotInKernel, TooMuchToDraw
from polyvolta.cuda.pictures.svg import GREY, INK, PAPER, RED, TINTS, Canvas, Svg, text_width
from polyvolta.graph.dims import Given, joined
from polyvolta.sets import nearest

OVERVIEW, DETAIL, BETWEEN = 420, 460, 70  # pixels
LABEL = 11  # pixels high, the numbers along edges
FRAME = "#3b2a8c"  # around the block that is shown large
MOST_BLOCKS, MOST_ELEMENTS = 256, 2**26
BATCH = 64  # blocks whose stores are computed together

Box = tuple[int, int, int, int]  # first row and column, and one past the last


@dataclass(slots=True)
class Stores:
    """What the blocks of a grid store to one output.

    Parameters
    ----------
    shape : of the output.
    fragments : (block x, y, z), warp -> the box of each accumulator fragment, in the order of the stores.
    parts : warp -> the warps whose sums it adds up, where K is split.
    count : how often each element is stored, of the output's shape.
    bare : (block, warp, number of the fragment) of stores outside of the matrix that no guard keeps back.
    """

    shape: tuple[int, int]
    fragments: dict[tuple[tuple[int, int, int], int], list[Box]] = field(default_factory=dict)
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    count: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), int))
    bare: set[tuple[tuple[int, int, int], int, int]] = field(default_factory=set)

    @property
    def wrong(self) -> str:
        """What a kernel that is right never does, in words; else ""."""
        never, twice = int((self.count == 0).sum()), int((self.count > 1).sum())
        said = [f"{never} of {self.count.size} elements are never stored"] if never else []
        said += [f"{twice} elements are stored more than once"] if twice else []
        said += ["values are stored outside of the matrix"] if self.bare else []
        return "; ".join(said)

    def warps(self, block: tuple[int, int, int]) -> dict[int, Box]:
        """The box of each warp that stores something."""
        return {w: around(boxes) for (b, w), boxes in self.fragments.items() if b == block}

    @property
    def blocks(self) -> dict[tuple[int, int, int], Box]:
        """The box of each block."""
        found: dict[tuple[int, int, int], list[Box]] = {}
        for (b, _), boxes in self.fragments.items():
            found.setdefault(b, []).extend(boxes)
        return {b: around(boxes) for b, boxes in found.items()}


def output_tiles(
    kernel: Any, output: str | None = None, *, block: tuple[int, ...] = (0, 0), sizes: Given[int] | None = None,
    **named: int,
) -> Svg:  # fmt: skip
    """The tiles of an output: all blocks with their warps, and one block with the fragments of its warps.

    Parameters
    ----------
    kernel : a kernel, or its IR.
    output : by name, such as "C"; by default the first.
    block : blockIdx x, y and, if it isn't 0, z of the block that is shown large.
    sizes, named : of the matrices: by name, or in a mapping from names or from the sizes themselves.
        By default two blocks and a half each way.

    Raises
    ------
    NotInKernel : no such output or size, or a block that stores nothing; BadBlock : no such block.
    TooMuchToDraw : more than 256 blocks, or 2^26 elements; says which sizes are the largest that are drawn.
    NothingToDraw : the output is no matrix, or empty.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    >>> picture = pv.pictures.output_tiles(kernel, M=256, N=256, K=32)
    >>> picture[:4], "blockIdx" in picture
    ('<svg', True)
    """
    ir = ir_of(kernel)
    tensor = _output(ir, output)
    asked = joined(sizes, named, BadPicture)
    all_sizes(ir, asked, 0)  # wrong sizes are said before anything else
    given = all_sizes(ir, {**_two_and_a_half(ir, tensor, asked), **asked}, 0)
    found = stores(ir, tensor, given)
    if not found.fragments:
        raise NothingToDraw(f"nothing of {tensor.name} is stored for these sizes", where=str(given))
    here = checked_block(block, [_int(g.evaluate(given)) for g in ir.grid], given)
    if here not in found.blocks:
        raise NotInKernel(
            f"block {here} stores nothing of {tensor.name}", hint=f"block {next(iter(found.blocks))} does"
        )
    return _drawn(ir, tensor, found, here, given)


def _output(ir: KernelIR, name: str | None) -> GlobalTensor:
    outputs = {t.name: t for t in ir.tensors if t.written}
    if name is not None and (not isinstance(name, str) or name not in outputs):
        raise NotInKernel(f"{ir.name} has no output {name!r}", hint=nearest(str(name), outputs))
    tensor = outputs[name] if name is not None else next(iter(outputs.values()))
    if len(tensor.dims) != 2:
        raise NothingToDraw(f"{tensor.name} is no matrix, so there are no tiles of it")
    return tensor


def _two_and_a_half(ir: KernelIR, tensor: GlobalTensor, given: Mapping[str, int]) -> dict[str, int]:
    """Sizes of the output that aren't given, so that there are full and partial blocks."""
    free = [(d, n) for d, n in enumerate(tensor.dims) if isinstance(n, str) and n not in given]
    if not free:
        return {}
    multiple = dict(ir.context)
    tile = _block_tile(ir, tensor)
    found = {}
    for d, n in free:
        half = 5 * tile[d] // 2
        found[n] = half if n not in multiple else -(-half // multiple[n]) * multiple[n]
    return found


def _block_tile(ir: KernelIR, tensor: GlobalTensor) -> tuple[int, int]:
    """Rows and columns of what the first block stores, in the matrix and outside of it."""
    top, left, bottom, right = stores(ir, tensor, all_sizes(ir, {}, 1), ((0,), (0,), (0,))).blocks[0, 0, 0]
    return bottom - top, right - left


def stores(ir: KernelIR, tensor: GlobalTensor, sizes: Mapping[str, int], blocks: Any = None) -> Stores:
    """Follow the stores of all blocks, or of some, to one output.

    Parameters
    ----------
    sizes : all of them.
    blocks : [3, block]: blockIdx.x, .y, .z.

    Raises
    ------
    TooMuchToDraw
    """
    shape = tuple(sizes[n] if isinstance(n, str) else n for n in tensor.dims)
    grid = [_int(g.evaluate(sizes)) for g in ir.grid]
    much = f"{prod(shape):,} elements" if prod(shape) > MOST_ELEMENTS else ""
    much = f"{prod(grid):,} blocks" if blocks is None and prod(grid) > MOST_BLOCKS else much
    if much:
        raise TooMuchToDraw(
            f"{much} are more than a picture can show",
            where=", ".join(f"{n} = {v}" for n, v in sizes.items()),
            hint=f"at most {MOST_BLOCKS} blocks are drawn{_largest(ir, tensor)}; the pattern repeats",
        )
    found = Stores((shape[0], shape[1]), count=np.zeros(shape, int))
    if blocks is None:
        blocks = launched(ir.block_order, ir.cluster, grid)
    blocks = np.asarray(blocks)
    for first in range(0, blocks.shape[1], BATCH):
        _follow(ir, tensor, sizes, blocks[:, first : first + BATCH], found)
    return found


def _largest(ir: KernelIR, tensor: GlobalTensor) -> str:
    """Sizes for which there are as many blocks as are drawn, as many down as across, in words."""
    side = isqrt(MOST_BLOCKS)
    tile = _block_tile(ir, tensor) if all(isinstance(n, str) for n in tensor.dims) else (0, 0)
    found = ", ".join(f"{n} = {side * t}" for n, t in zip(tensor.dims, tile, strict=True) if t)
    return found and f", such as {found}"


def _follow(ir: KernelIR, tensor: GlobalTensor, sizes: Mapping[str, int], blocks: np.ndarray, found: Stores) -> None:
    """One batch of blocks. A warp's stores after it gave a fragment to the exchange, or took runs out of one, are that
    fragment's."""
    machine = dry_machine(ir, sizes, blocks)
    given = np.zeros(machine.shape[:2], int)  # fragments given to the exchange: [block, warp]
    at: dict[tuple[int, int], int] = {}  # which of them the last box belongs to
    owner: dict[int, int] = {}  # the warp whose sums lie in a slot
    taken: tuple = ()  # the fragment whose runs are taken out of registers, where there is no exchange
    for step in machine.steps():
        active = np.ones(machine.shape, bool) if step.mask is None else step.mask
        touched = machine.accesses(step.op)
        if isinstance(step.op, TakeRun):
            source = step.op.source
            now = source.array, *(machine.number(e, source.array) for e in source.index)
            if now != taken:
                given += active.any(-1)
            taken = now
        if exchanged := [a for a in touched if a.places is not None]:
            slots = [np.broadcast_to(machine.at((a.slot,))[0], machine.shape)[0, :, 0] for a in exchanged]
            if exchanged[0].writes:
                given += active.any(-1)
                owner |= {int(s): w for w, s in enumerate(slots[0]) if active[:, w].any()}
            for w in np.flatnonzero(active.any((0, 2))) if not exchanged[0].writes else ():
                parts = [owner[int(s[w])] for s in slots if int(s[w]) in owner]
                found.parts[int(w)] = tuple(sorted({*found.parts.get(int(w), ()), *parts}))
        for a in touched:
            if not a.writes or (a.space, a.array) != ("global", tensor.name):
                continue
            row, col = (np.broadcast_to(x, machine.shape) for x in machine.at(a.index))
            high, wide = (a.values if a.along == d else 1 for d in (0, 1))
            inside = _count(found, row[active], col[active], a)
            astray = np.zeros(machine.shape, bool)
            astray[active] = not a.guarded and ~inside
            for b, w in np.argwhere(active.any(-1)).tolist():
                r, c = row[b, w][active[b, w]], col[b, w][active[b, w]]
                box = int(r.min()), int(c.min()), int(r.max()) + high, int(c.max()) + wide
                x, y, z = blocks[:, b].tolist()
                boxes = found.fragments.setdefault(((x, y, z), w), [])
                if boxes and at[b, w] == given[b, w]:
                    boxes[-1] = around([boxes[-1], box])
                else:
                    boxes.append(box)
                at[b, w] = int(given[b, w])
                if astray[b, w].any():
                    found.bare.add(((x, y, z), w, len(boxes) - 1))


def _count(found: Stores, row: np.ndarray, col: np.ndarray, a: Access) -> np.ndarray:
    """Count the elements of runs of values that are in the matrix; which runs are all inside."""
    further = np.arange(a.values)
    rows, cols = (x[:, None] + further * (a.along == d) for d, x in enumerate((row, col)))
    inside = (rows >= 0) & (rows < found.shape[0]) & (cols >= 0) & (cols < found.shape[1])
    np.add.at(found.count, (rows[inside], cols[inside]), 1)
    return np.asarray(inside.all(-1))


def _int(value: Any) -> int:
    return int(value)


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box around some.

    >>> around([(0, 0, 8, 8), (16, 8, 24, 16)])
    (0, 0, 24, 16)
    """
    tops, lefts, bottoms, rights = zip(*boxes)
    return min(tops), min(lefts), max(bottoms), max(rights)


# ---- drawing


def _drawn(
    ir: KernelIR, tensor: GlobalTensor, found: Stores, block: tuple[int, int, int], sizes: Mapping[str, int]
) -> Svg:
    used = {n: v for n, v in sizes.items() if n in tensor.dims}
    picture = Canvas(
        f"{tensor.name}: its blocks, their warps and the fragments of a warp",
        ", ".join(f"{n} = {v}" for n, v in used.items()) or f"{found.shape[0]} x {found.shape[1]}",
        warning=found.wrong,
    )
    boxes = found.blocks
    _, _, rows, cols = around(boxes.values())
    scale = OVERVIEW / max(rows, cols)
    _overview(picture, tensor, found, block, scale)
    _detail(picture, found, block, cols * scale + BETWEEN)
    for w in sorted({w for _, w in found.fragments}):
        parts = found.parts.get(w, (w,))
        adds = f", with the sums of warps {', '.join(map(str, parts))}" if len(parts) > 1 else ""
        picture.key(f"warp {w}{adds}", fill=TINTS[w % len(TINTS)])
    bare = {b for b, _, _ in found.bare}
    if any(_outside(box, found.shape) for b, box in boxes.items() if b not in bare):
        picture.key("outside of the matrix: not stored", hatched=True)
    if bare:
        picture.key("outside of the matrix, and stored", stroke=RED, hatched=True)
    picture.key("number: in which order the warp stores its fragments", sample="2")
    return picture.svg()


def _outside(box: Box, shape: tuple[int, int]) -> bool:
    return box[2] > shape[0] or box[3] > shape[1]


def _place(box: Box, origin: tuple[float, float], scale: float, base: tuple[int, int] = (0, 0)) -> tuple[float, ...]:
    """(x, y, width, height) of a box of elements."""
    top, left, bottom, right = box
    x, y = origin[0] + (left - base[1]) * scale, origin[1] + (top - base[0]) * scale
    return x, y, (right - left) * scale, (bottom - top) * scale


def _overview(
    picture: Canvas, tensor: GlobalTensor, found: Stores, block: tuple[int, int, int], scale: float
) -> None:  # fmt: skip
    """The whole output."""
    rows, cols = found.shape
    names = {b: f"{b[0]}, {b[1]}" + (f", {b[2]}" if b[2] else "") for b in found.blocks}
    longest = max(names.values(), key=len)
    sides = [_place(box, (0, 0), scale)[2:] for box in found.blocks.values()]
    room = min(w for w, _ in sides), min(h for _, h in sides)
    size = next((s for s in (14, 12, 10, 8) if text_width(longest, s) + 6 < room[0] and s + 6 < room[1]), 0)
    for b, box in found.blocks.items():
        x, y, wide, high = _place(box, (0, 0), scale)
        with picture.group(f"block {b[:2] if not b[2] else b}: rows {box[0]} to {box[2] - 1}, columns {box[1]} to "
                           f"{box[3] - 1}" + (", partial" if _outside(box, found.shape) else "")):  # fmt: skip
            for w, part in found.warps(b).items():
                picture.rect(*_place(part, (0, 0), scale), fill=TINTS[w % len(TINTS)], stroke=GREY, thick=0.5)
            bare = any(b == block for block, _, _ in found.bare)
            _hatched(picture, box, found.shape, (0, 0), scale, bare=bare)
            picture.rect(x, y, wide, high, stroke=INK, thick=1.2 if min(wide, high) > 40 else 0.7)
            if size:
                long = text_width(names[b], size) + 4
                picture.rect(x + wide / 2 - long / 2, y + high / 2 - size * 0.75, long, size * 1.5, fill=PAPER, round=3,
                             opacity=0.75)  # fmt: skip
                picture.text(x + wide / 2, y + high / 2, names[b], size=size)
    picture.rect(0, 0, cols * scale, rows * scale, stroke=INK, thick=2.6)
    picture.rect(*_place(found.blocks[block], (0, 0), scale), stroke=FRAME, thick=3)
    _, _, bottom, right = around(found.blocks.values())
    edges = [sorted({b[d] for b in found.blocks.values()}) for d in (0, 1)]
    for y in _apart(edges[0], scale, upwards=True):
        picture.text(-6, y * scale, y, size=LABEL, anchor="end", fill=GREY)
    for x in _apart(edges[1], scale):
        picture.text(x * scale, -12, x, size=LABEL, fill=GREY)
    # where the matrix ends, on the other sides, so that it hides no block's edge
    picture.text(right * scale + 6, rows * scale, rows, size=LABEL, anchor="start", bold=True)
    picture.text(cols * scale, bottom * scale + 14, cols, size=LABEL, bold=True)
    label = f"{tensor.name}[{', '.join(map(str, tensor.dims))}]; blockIdx x, y in the blocks"
    picture.text(0, bottom * scale + 34, label, anchor="start")


def _apart(numbers: list[int], scale: float, upwards: bool = False) -> list[int]:
    """Those of some places whose labels leave room for one another, side by side or one above the other; the first and
    the last one always, if there is room for two.

    >>> _apart([0, 32, 64, 4992], 0.1)
    [0, 4992]
    """
    room = {n: LABEL + 3 if upwards else text_width(f"{n}", LABEL) + 6 for n in numbers}
    free = lambda n, m: abs(n - m) * scale >= (room[n] + room[m]) / 2  # noqa: E731
    kept, last = numbers[:1], numbers[-1]
    for n in numbers[1:-1]:
        if free(n, kept[-1]) and free(n, last):
            kept.append(n)
    return [*kept, last] if free(last, kept[-1]) else kept


def _detail(picture: Canvas, found: Stores, block: tuple[int, int, int], x0: float) -> None:
    """One block."""
    box = found.blocks[block]
    base = box[:2]
    scale = DETAIL / max(box[2] - box[0], box[3] - box[1])
    at = (x0, 0.0)
    edges: tuple[set[int], set[int]] = ({box[0], box[2]}, {box[1], box[3]})
    for w, part in sorted(found.warps(block).items()):
        for d in (0, 1):
            edges[d].update((part[d], part[d + 2]))
        for number, fragment in enumerate(found.fragments[block, w]):
            x, y, wide, high = _place(fragment, at, scale, base)
            said = f"rows {fragment[0]} to {fragment[2] - 1}, columns {fragment[1]} to {fragment[3] - 1}"
            with picture.group(f"warp {w}, fragment {number}: {said}"):
                picture.rect(x, y, wide, high, fill=TINTS[w % len(TINTS)], stroke=GREY, thick=0.8)
                _hatched(picture, fragment, found.shape, at, scale, base, (block, w, number) in found.bare)
                if min(wide, high) >= 14:
                    picture.text(x + wide - 6, y + high - 12, number, size=10, anchor="end")
    for w, part in found.warps(block).items():
        x, y, wide, high = _place(part, at, scale, base)
        picture.rect(x, y, wide, high, stroke=INK, thick=2)
        name = f"warp {w}"
        long = text_width(name, 12, True) + 8
        if long < wide and high > 26:
            picture.rect(x + 3, y + 3, long, 18, fill=PAPER, round=3)
            picture.text(x + 3 + long / 2, y + 12, name, bold=True)
    picture.rect(*_place(box, at, scale, base), stroke=FRAME, thick=3)
    for y in _apart(sorted(edges[0]), scale, upwards=True):
        picture.text(x0 - 8, (y - base[0]) * scale, y, size=LABEL, anchor="end", fill=GREY)
    for x in _apart(sorted(edges[1]), scale):
        picture.text(x0 + (x - base[1]) * scale, -12, x, size=LABEL, fill=GREY)
    name = f"{block[0]}, {block[1]}" + (f", {block[2]}" if block[2] else "")
    picture.text(x0, (box[2] - box[0]) * scale + 18, f"block {name}: {len(found.warps(block))} storing warps; rows ↓, "
                 "columns →", anchor="start")  # fmt: skip


def _hatched(
    picture: Canvas, box: Box, shape: tuple[int, int], at: tuple[float, float], scale: float,
    base: tuple[int, int] = (0, 0), bare: bool = False,
) -> None:  # fmt: skip
    """What of a box lies outside of the matrix, red if it is stored nevertheless."""
    top, left, bottom, right = box
    beside = (top, max(left, shape[1]), min(bottom, shape[0]), right)
    below = (max(top, shape[0]), left, bottom, right)
    for part in (beside, below):
        if part[0] < part[2] and part[1] < part[3]:
            x, y, wide, high = _place(part, at, scale, base)
            if bare:
                wide, high = max(wide, 6), max(high, 6)  # one row of many is to be seen, too
            picture.rect(x, y, wide, high, fill=RED if bare else PAPER, opacity=0.4 if bare else 0.7)
            picture.hatch(x, y, wide, high, stroke=RED if bare else GREY, thick=1.6 if bare else 0.8)
