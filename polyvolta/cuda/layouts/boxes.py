"""How an operand of `wgmma` lies in shared memory: boxes that copies write, descriptors that the instruction reads.

Two relations of the hardware meet in a tile: the chunks that boxes with a swizzle are written to, and the chunks that
a descriptor reads. A plan picks both, and the layout { [element] -> [chunk] } between them:

- The tile is cut, along the dimension that lies side by side in memory, into *panels* of one span of the swizzle, by
  default the widest that divides what it must: the tile's k where that is contiguous (K-major), else the rows or
  columns of one instruction (MN-major). Panels lie one behind the other.
- A panel is a box, or several of up to 256 lines each, in multiples of the swizzle's pattern.
- The descriptor's distances are those of the layout without its swizzle: from 8 lines to the next, from panel to panel.
- Each instruction's operand starts where the plain layout has its first element.

Then it is proved, as equality of relations, for the tile at every place in shared memory that is a multiple of the
pattern: what boxes write is the layout (`unwritten`), and what each instruction reads in each k step is the layout, too
(`misread`). A plan for which that fails is not handed out: the error has an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.boxes import CHUNK, MOST_LINES, SWIZZLES, Box, Swizzle
from polyvolta.cuda.target.descriptors import FIELD, Descriptor
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.sets import Aff, var

K_STEP = 16  # of an instruction
LINES = 8  # of an atom
FEW = 97  # values of an input that a search for a difference goes through
SIDES = ("a", "b")
BASE, PART, STEP, PANEL, LINE, RUN, R, K = map(var, ("base", "part", "step", "panel", "line", "run", "r", "k"))


class NoBoxes(CudaError, ValueError):
    """A tile that no boxes and descriptors of the hardware bring to an instruction."""

    id = "PV581"


class LayoutsDiffer(CudaError):
    """What is written to shared memory and what is read from it are two layouts: says of which element."""

    id = "PV582"


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box of a tile.

    Parameters
    ----------
    at : its first element in the tile's dimensions.
    place : its first chunk in the tile.
    """

    at: tuple[int, int]
    place: int


@dataclass(frozen=True, slots=True)
class OperandBoxes:
    """An operand's tile in shared memory.

    Parameters
    ----------
    operand : "a" or "b".
    order : the tile's dimensions as they lie in memory, outermost first.
    layout : { [element] -> [chunk] } in the tile's dimensions.
    box : what each copy moves.
    boxes : where; together they are the tile.
    descriptor : how instructions read it.
    start : { [part, step] -> [chunk] }, where the operand of an instruction starts: its rows (of A) or columns (of B)
        are the part-th of the tile, its k the step-th.
    extent : rows or columns of an instruction.
    """

    operand: str
    order: tuple[int, int]
    layout: IndexMap
    box: Box
    boxes: tuple[PlacedBox, ...]
    descriptor: Descriptor
    start: IndexMap
    extent: int

    @property
    def swizzle(self) -> Swizzle:
        return self.descriptor.swizzle

    @property
    def size(self) -> tuple[int, int]:
        """The tile's extents."""
        (_, first), (_, second) = self.layout.inputs
        return first, second

    @property
    def chunks(self) -> int:
        """Of the tile, whole boxes."""
        return len(self.boxes) * self.box.chunks

    @property
    def bytes(self) -> int:
        """That all its boxes bring."""
        return len(self.boxes) * self.box.bytes

    @property
    def align(self) -> int:
        """Chunks that the tile, and each of its buffers, must start at a multiple of."""
        return self.swizzle.align


@lru_cache(maxsize=1024)
def plan_boxes(
    operand: str,
    dims: tuple[str, str],
    size: tuple[int, int],
    order: tuple[int, int],
    extent: int,
    shared: int = 1,
    swizzle: Swizzle | None = None,
    swizzles: tuple[Swizzle, ...] = SWIZZLES,
) -> OperandBoxes:
    """The boxes, layout and descriptor of an operand's tile, proved to fit one another.

    Parameters
    ----------
    operand : "a", whose dimensions are (row, k), or "b": (k, column).
    dims : their names.
    size : the tile's extents in values; that of k a multiple of 16.
    order : the dimensions as they lie in memory, outermost first.
    extent : rows (columns) of an instruction, which divide the tile's.
    shared : by how many blocks of a cluster, of which each has as many of the boxes copied as any other.
    swizzle : to take; None: the widest whose spans end where the tile does. A wider one leaves a last panel that is in
        the tile in part: its boxes bring values beyond it, which nothing reads.
    swizzles : that the instruction's descriptors may name.

    Raises
    ------
    NoBoxes : the tile is no whole number of instructions, or has no boxes, or none to share out so.
    LayoutsDiffer : what is written and what is read differ.

    Cost: remembered; some 10 ms for a new tile.

    >>> tile = plan_boxes("a", ("i", "k"), (128, 64), (0, 1), 64)
    >>> print(tile.layout["chunk"], tile.box.extents, tile.start["chunk"])
    8*i + (i mod 8 ^ floor(k/8)) (64, 128) 512*part + 2*step
    >>> tile = plan_boxes("b", ("k", "j"), (64, 96), (0, 1), 96)
    >>> print(tile.swizzle, tile.descriptor, len(tile.boxes))
    64-byte swizzle mn-major, 64-byte swizzle, leading 256, stride 32 3
    """
    tile = _Tile(operand, dims, size, order, extent)
    tile.check()
    chosen = swizzle or tile.widest(swizzles)
    lines = tile.box_lines(chosen, shared)
    box = Box(lines, chosen.values, chosen)
    places = tile.places(box)
    boxes = tuple(tile.placed(box, places, panel, part) for panel, part in _pairs(places))
    start = tile.starts(chosen)
    made = OperandBoxes(operand, order, tile.layout(chosen), box, boxes, tile.descriptor(chosen), start, extent)
    for wrong in (unwritten(made.layout, order, box, places), misread(made)):
        if wrong is not None:
            where = f"{operand} of {'x'.join(map(str, size))}, {made.descriptor}"
            raise LayoutsDiffer(wrong, where=where, hint="another swizzle, or block tile")
    return made


@dataclass(frozen=True, slots=True)
class _Tile:
    """What a plan is made for."""

    operand: str
    dims: tuple[str, str]
    size: tuple[int, int]
    order: tuple[int, int]
    extent: int

    @property
    def k(self) -> int:
        """Which dimension is k."""
        return 1 - SIDES.index(self.operand)

    @property
    def major(self) -> str:
        return "k" if self.order[1] == self.k else "mn"

    @property
    def lines(self) -> int:
        return self.size[self.order[0]]

    @property
    def run(self) -> int:
        return self.size[self.order[1]]

    def check(self) -> None:
        """Refuse what is no whole number of instructions."""
        name = f"{self.operand} of {'x'.join(map(str, self.size))}"
        if self.size[self.k] % K_STEP:
            raise NoBoxes(f"{name}: an instruction takes {K_STEP} of k", where=self.dims[self.k],
                          hint=f"a block tile whose k is a multiple of {K_STEP}")  # fmt: skip
        if self.extent % LINES or self.size[1 - self.k] % self.extent:
            raise NoBoxes(f"{name}: an instruction takes {self.extent}, in atoms of {LINES}",
                          where=self.dims[1 - self.k], hint=f"a block tile of {8 * self.extent}")  # fmt: skip

    def widest(self, swizzles: tuple[Swizzle, ...]) -> Swizzle:
        """The widest swizzle whose span divides what one descriptor reads along the contiguous dimension."""
        within = self.run if self.major == "k" else self.extent
        fitting = [s for s in swizzles if within % s.values == 0]
        if not fitting:
            spans = " or ".join(str(s.values) for s in swizzles)
            raise NoBoxes(f"{within} values side by side are no spans of {spans}", where=self.dims[self.order[1]],
                          hint=f"a multiple of {min(s.values for s in swizzles)}")  # fmt: skip
        return max(fitting, key=lambda s: s.values)

    def panels(self, swizzle: Swizzle) -> int:
        """How many there are."""
        return -(-self.run // swizzle.values)

    def box_lines(self, swizzle: Swizzle, shared: int) -> int:
        """Lines of a box: as many as it may have, a whole number of patterns, in equal boxes, the same number of them
        for each of those who share the tile."""
        equal = [n for n in range(LINES, min(MOST_LINES, self.lines) + 1, LINES) if self.lines % n == 0]
        panels = self.panels(swizzle)
        found = [n for n in equal if panels * (self.lines // n) % shared == 0]
        if not found:
            parts = shared // gcd(shared, panels)
            raise NoBoxes(f"{self.lines} lines are not cut into {parts} equal parts of whole atoms",
                          where=self.dims[self.order[0]], hint=f"a multiple of {LINES * parts}")  # fmt: skip
        return found[-1]

    def placed(self, box: Box, places: IndexMap, panel: int, part: int) -> PlacedBox:
        """A box of a panel, which starts where it is said to."""
        line, run = part * box.lines, panel * box.run
        (place,) = places.evaluate({"panel": panel, "part": part})
        return PlacedBox((line, run) if self.order == (0, 1) else (run, line), int(place))

    def panel_chunks(self, swizzle: Swizzle) -> int:
        return self.lines * swizzle.width

    def plain(self, swizzle: Swizzle, line: Aff, run: Aff) -> Aff:
        """The chunk of an element without the swizzle."""
        across = run % swizzle.values // CHUNK
        return run // swizzle.values * self.panel_chunks(swizzle) + swizzle.width * line + across

    def layout(self, swizzle: Swizzle) -> IndexMap:
        """{ [element] -> [chunk] }, panels apart from what the swizzle sees: they are whole patterns."""
        line, run = (var(self.dims[d]) for d in self.order)
        panel = run // swizzle.values * self.panel_chunks(swizzle)
        chunk = panel + swizzle(self.plain(swizzle, line, run) - panel)
        return IndexMap(tuple(zip(self.dims, self.size, strict=True)), (("chunk", chunk),)).simplified()

    def places(self, box: Box) -> IndexMap:
        """{ [panel, part] -> [chunk] }: where boxes start."""
        chunk = self.plain(box.swizzle, box.lines * PART, box.swizzle.values * PANEL)
        inputs = ("panel", self.panels(box.swizzle)), ("part", self.lines // box.lines)
        return IndexMap(inputs, (("chunk", chunk),)).simplified()

    def starts(self, swizzle: Swizzle) -> IndexMap:
        """{ [part, step] -> [chunk] }: where an instruction's operand starts."""
        mn, k = self.extent * PART, K_STEP * STEP
        line, run = (mn, k) if self.major == "k" else (k, mn)
        inputs = ("part", self.size[1 - self.k] // self.extent), ("step", self.size[self.k] // K_STEP)
        return IndexMap(inputs, (("chunk", self.plain(swizzle, line, run)),)).simplified()

    def descriptor(self, swizzle: Swizzle) -> Descriptor:
        """The distances of the layout without its swizzle: between atoms along lines, and between panels."""
        atoms, panels = LINES * swizzle.width, self.panel_chunks(swizzle)
        if panels >= FIELD:
            raise NoBoxes(f"panels of {panels} chunks are further apart than a descriptor says", hint="a smaller tile")
        match self.major, bool(swizzle.bytes):
            case "k", True:
                return Descriptor("k", swizzle, 1, atoms)
            case "mn", False:
                return Descriptor("mn", swizzle, atoms, panels)
            case major, _:
                return Descriptor(major, swizzle, panels, atoms)


def _pairs(places: IndexMap) -> list[tuple[int, int]]:
    (_, first), (_, second) = places.inputs
    return [(x, y) for x in range(first) for y in range(second)]


# ---- proofs


def unwritten(layout: IndexMap, order: tuple[int, int], box: Box, places: IndexMap) -> str | None:
    """An element that boxes write elsewhere than a layout says, in words; None if there is none: a proof.

    The element at (line, run) of box (panel, part) is that of the tile so many boxes further in either direction. The
    tile starts at any multiple of the swizzle's pattern.

    Parameters
    ----------
    layout : { [element] -> [chunk] }.
    places : { [panel, part] -> [chunk] }, where boxes start.

    Cost: some milliseconds.
    """
    inputs = (_bases(layout, box.swizzle), *places.inputs, *box.plain.inputs)
    base = box.swizzle.align * BASE
    within = (box.lines * PART + LINE, box.run * PANEL + RUN)
    (wanted,) = layout.at(*(within if order == (0, 1) else within[::-1]))
    written = box.swizzle(base + places["chunk"] + box.plain["chunk"])
    found = difference(IndexMap(inputs, (("chunk", base + wanted),)), IndexMap(inputs, (("chunk", written),)))
    if found is None:
        return None
    at, (wanted,), (written,) = found
    what = f"value {at['run']} of line {at['line']} of the box {at['part']} of panel {at['panel']}"
    return f"{what} is written to chunk {written}, and the tile has it in chunk {wanted}"


def misread(tile: OperandBoxes) -> str | None:
    """An element that some instruction reads from elsewhere than the layout has it, in words; None: a proof.

    All instructions together: their parts and k steps are dimensions of the relation, like the place of the tile.

    Cost: some milliseconds.
    """
    reads = tile.descriptor.reads(tile.extent, K_STEP)
    inputs = (_bases(tile.layout, tile.swizzle), *tile.start.inputs, *reads.inputs)
    base = tile.swizzle.align * BASE
    mn, k = tile.extent * PART + R, K_STEP * STEP + K
    (wanted,) = tile.layout.at(*((mn, k) if tile.operand == "a" else (k, mn)))
    read = tile.swizzle(base + tile.start["chunk"] + reads["chunk"])
    found = difference(IndexMap(inputs, (("chunk", base + wanted),)), IndexMap(inputs, (("chunk", read),)))
    if found is None:
        return None
    at, (wanted,), (read,) = found
    mn, k = (f"{x} {at[n]}" for x, n in ((("row", "column")[SIDES.index(tile.operand)], "r"), ("k", "k")))
    what = f"{mn}, {k} of the operand of instruction {at['part']} in step {at['step']}"
    return f"{what} is read from chunk {read}, and the tile has it in chunk {wanted}"


def _bases(layout: IndexMap, swizzle: Swizzle) -> tuple[str, int]:
    """Where a tile may start in shared memory, in patterns of the swizzle: at every address that a descriptor says."""
    return "base", FIELD // swizzle.align


def difference(left: IndexMap, right: IndexMap) -> tuple[dict[str, int], tuple[int, ...], tuple[int, ...]] | None:
    """An input at which two functions of the same inputs differ, and what they are there; None: they are equal.

    That they are is a proof by relations, all inputs together; expressions that are one after simplifying are one
    relation. An input at which they differ is looked for among some first: many that differ do so there.
    """
    left, right = left.simplified(), right.simplified()
    if left.exprs == right.exprs:
        return None
    at = _met(left, right)
    if at is None:
        if left.relation.is_equal(right.relation):
            return None
        at = (left.relation - right.relation).domain().sample_point()
    named = dict(zip((name for name, _ in left.inputs), map(int, at), strict=True))
    one, other = (tuple(int(x) for x in m.evaluate(named)) for m in (left, right))
    return named, one, other


def _met(left: IndexMap, right: IndexMap) -> tuple[int, ...] | None:
    """The first of some inputs at which two functions differ: of an input with many values some all over its range."""
    values = [np.unique(np.linspace(0, n - 1, min(n, FEW)).astype(np.int64)) for _, n in left.inputs]
    grid = dict(zip((name for name, _ in left.inputs), np.meshgrid(*values, indexing="ij", sparse=True)))
    apart = np.zeros([len(v) for v in values], bool)
    for one, other in zip(left.evaluate(grid), right.evaluate(grid), strict=True):
        apart |= np.broadcast_to(one != other, apart.shape)
    if not apart.any():
        return None
    return tuple(int(v[x]) for v, x in zip(values, np.unravel_index(int(apart.argmax()), apart.shape)))
