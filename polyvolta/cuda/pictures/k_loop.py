"""A k loop in time: what is loaded, stored, fetched and multiplied, and for which k tile, trip by trip.

Time runs to the right, in the order in which a block's program has its operations; consecutive operations of one kind
are one box. Which k tile a box belongs to is followed from the data (see `k_tiles`). So the picture shows what the
program does, not what it should do: in a kernel that takes a tile too early the numbers are wrong.

A pale bar in the row of the loads is data on its way: nothing waits for it until the store. What stands below the bar
overlaps with it; that is what prefetching gains. Of an asynchronous copy the bar goes from where it is issued to the
wait after which it has arrived, in the row of the slot of shared memory that it goes to; a slot holds a tile from then
to the last fetch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polyvolta.cuda.ir.kernel_ir import KernelIR, Loop, Roles
from polyvolta.cuda.ir.walk import IrPath, operations, walk
from polyvolta.cuda.pictures.dry import GENEROUS, all_sizes, ir_of
from polyvolta.cuda.pictures.errors import BadPicture, NothingToDraw, NotInKernel
from polyvolta.cuda.pictures.k_tiles import Course, Event, course, k_loops, unordered
from polyvolta.cuda.pictures.roles.follow import timeline
from polyvolta.cuda.pictures.roles.timeline import Clock, Timeline
from polyvolta.cuda.pictures.svg import DEEPER, FAINT, GREY, INK, PAPER, RED, TINTS, Canvas, Svg, text_width
from polyvolta.graph.dims import Given, joined

SLOT, NARROW, TRIP_GAP = 22, 12, 14  # pixels of a box, of a barrier, between two trips
ROW, BOX = 40, 26
MOST_TILES = 12


def pipeline(
    kernel: Any, tiles: int = 4, *, loop: int = 0, sizes: Given[int] | None = None, **named: int
) -> Svg:
    """A k loop in time: rows for loads, stores, fragment loads and macro-MMAs, columns for its trips.

    Where warps have roles, all that they do, each on its own line and by a clock: see `roles_over_time`.

    Parameters
    ----------
    kernel : a kernel, or its IR.
    tiles : how many k tiles; if there are more, the last trip is shown after the first ones.
    loop : which of a kernel's k loops, from 0, when it has several.
    sizes, named : of the matrices: by name, or in a mapping from names or from the sizes themselves; by
        default those for which there are so many k tiles, all full.

    Raises
    ------
    NothingToDraw : the kernel has no k loop, or it makes no trip.
    NotInKernel : no such loop or size; BadPicture : fewer than one or more than 12 tiles.
    """
    ir, asked = ir_of(kernel), joined(sizes, named, BadPicture)
    _check(tiles)
    if any(isinstance(s, Roles) for s in ir.body):
        if loop != 0 or isinstance(loop, bool):
            raise NotInKernel(f"the loops of {ir.name} are all in one picture, and none is number {loop!r}",
                              hint="its roles go on beside one another")  # fmt: skip
        return of_roles(ir, tiles, asked).svg()
    at, stmt = _k_loop(ir, loop)
    given = all_sizes(ir, {**_for_tiles(ir, stmt, tiles, asked), **asked}, GENEROUS)
    found = course(ir, at, stmt, given)
    if not found.events:
        raise NothingToDraw(f"the k loop of {ir.name} makes no trip", where=str(given), hint="a larger size")
    return _drawn(ir, stmt, loop, found, tiles, given)


def roles_over_time(
    kernel: Any, tiles: int = 4, *, clock: Clock | None = None, sizes: Given[int] | None = None, **named: int
) -> Timeline:
    """What each role of a kernel does when, by a simple clock: print it, or draw it with `.svg()`.

    Parameters
    ----------
    kernel, tiles, sizes, named : as of `pipeline`; of several k loops each has so many tiles.
    clock : how long things take; see `roles.timeline.Clock`.

    Raises
    ------
    NothingToDraw : warps have no roles. Others as `pipeline`.
    BadTensor : of such sizes the kernel takes no arrays, such as an N that is no multiple of 8 where boxes are stored.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    >>> kernel = pv.compile(product, target="sm_90a")
    >>> pv.pictures.roles_over_time(kernel, tiles=2).svg()[:4]
    '<svg'
    """
    ir = ir_of(kernel)
    if not any(isinstance(s, Roles) for s in ir.body):
        raise NothingToDraw(f"all warps of {ir.name} do the same", hint="pipeline(kernel) draws its k loop")
    _check(tiles)
    return of_roles(ir, tiles, joined(sizes, named, BadPicture), clock)


def _check(tiles: object) -> None:
    if isinstance(tiles, bool) or not isinstance(tiles, int) or not 1 <= tiles <= MOST_TILES:
        raise BadPicture(f"a pipeline shows 1 to {MOST_TILES} k tiles, not {tiles!r}")


def of_roles(ir: KernelIR, tiles: int, sizes: Mapping[str, int], clock: Clock | None = None) -> Timeline:
    """The same, of an IR that has roles."""
    given = dict(sizes)
    for _, s in walk(ir.body):
        if isinstance(s, Loop) and not s.unroll and any(op.product is not None for op in operations(s.body)):
            given |= {n: v for n, v in _for_tiles(ir, s, tiles, given).items() if n not in given}
    return timeline(ir, all_sizes(ir, given, GENEROUS), clock or Clock())


def _k_loop(ir: KernelIR, number: int) -> tuple[IrPath, Loop]:
    loops = k_loops(ir)
    if not loops:
        raise NothingToDraw(
            f"{ir.name} has no loop that fills shared memory and multiplies",
            hint="its K fits in one tile, or it has none",
        )
    if isinstance(number, bool) or number not in range(len(loops)):
        raise NotInKernel(f"{ir.name} has {len(loops)} k loops, and no number {number!r}", hint="loops count from 0")
    return loops[number]


def _for_tiles(ir: KernelIR, loop: Loop, tiles: int, given: Mapping[str, int]) -> dict[str, int]:
    """The largest value of the sizes in a loop's bounds for which it has so many tiles."""
    names = {n for e in (*loop.lower, *loop.upper) for n in e.names()} & set(ir.sizes) - set(given)
    if not names:
        return {}
    multiple = {n: dict(ir.context).get(n, 1) for n in names}

    def trips(x: int) -> int:
        values: dict[str, Any] = {**dict.fromkeys(ir.sizes, GENEROUS), **given, **{n: x * multiple[n] for n in names}}
        values |= {f"blockIdx.{axis}": 0 for axis in "xyz"}
        low, high = ([_int(e.evaluate(values)) for e in bounds] for bounds in (loop.lower, loop.upper))
        return (min(high) - max(low)) // loop.step + 1

    wanted = trips(1) + tiles - 1
    high = 1
    while trips(high) <= wanted and high < 2**24:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if trips(middle) <= wanted else (low, middle)
    return {n: max(low, 1) * multiple[n] for n in names}


def _int(value: Any) -> int:
    return int(value)


# ---- drawing


@dataclass(frozen=True, slots=True)
class _Box:
    event: Event
    number: int  # of the event
    x: float
    wide: float
    wrong: bool

    @property
    def middle(self) -> float:
        return self.x + self.wide / 2


ROWS = {
    "load": "global → registers",
    "pointwise": "on registers",
    "store": "registers → shared",
    "copy": "global → shared",
    "fetch": "shared → fragments",
    "mma": "macro-MMAs",
}
LINES = ("barrier", "wait")  # events that are lines through all rows
WAYS = (("load", "store", False), ("store", "fetch", True), ("copy", "wait", False), ("wait", "fetch", True))
"""From what to what data is on its way, or is held: to the first or to the last."""


def _drawn(ir: KernelIR, loop: Loop, number: int, whole: Course, tiles: int, sizes: Mapping[str, int]) -> Svg:
    found, wrong, behind = whole.events, whole.wrong(), whole.behind()
    trips = list(dict.fromkeys(e.trip for e in found))
    ahead = len({*trips} - {e.trip for e in found if e.kind == "mma"})  # trips that only load
    shown = trips if len(trips) <= tiles + max(ahead, 1) else [*trips[: tiles + max(ahead, 1) - 1], trips[-1]]
    rows = _rows(found)
    boxes, edges = _placed(found, shown, wrong, text_width(f"{loop.var} = {min(shown)}", 12))
    count = len(k_loops(ir))
    which = f"k loop {number} of {count}" if count > 1 else "the k loop"
    left = ", ".join(map(str, whole.left_out()))
    picture = Canvas(
        f"{ir.name}: {which}, trip by trip",
        _gain([e for k, e in enumerate(found) if k not in behind], whole.tiles),
        _used(loop, sizes),
        warning=f"never multiplied: k tile {left}" if left else "",
    )
    height = ROW * len(rows)
    _trips(picture, loop, [e for k, e in enumerate(found) if k not in behind], trips, edges, height)
    for (kind, buffer), y in rows.items():
        words = ROWS[kind] + ("" if buffer is None else f", buffer {buffer}")
        picture.text(-10, y + ROW / 2, words, anchor="end")
        picture.line(0, y + ROW, max(right for _, right in edges.values()), y + ROW, stroke=FAINT)
    _bars(picture, [box for box in boxes if box.number not in behind], rows)
    for box in boxes:
        if box.event.kind in LINES:
            with picture.group(f"{box.event}"):
                dashes = "4 4" if box.event.kind == "wait" else ""
                picture.line(box.middle, 0, box.middle, height, stroke=INK, thick=2.4, dashes=dashes)
    for box in boxes:
        if (y := rows.get(_row(box.event))) is not None:
            _box(picture, box, y, empty=box.number in behind)
    races = unordered(found)
    _arrows(picture, boxes, rows, races)
    picture.key("a number is a k tile, a colour too", fill=DEEPER[0], second=DEEPER[1])
    picture.key("on its way, or held in shared memory", fill=TINTS[1], stroke=DEEPER[1], dashes="3 2")
    if any(e.kind == "wait" for e in found):
        picture.key("a thread waits for its own copies; the tile that has arrived", line=True, stroke=INK, dashes="4 4")
    if any(e.kind == "barrier" for e in found):
        picture.key("barrier: all threads wait for one another", line=True, stroke=INK)
    if behind:
        picture.key("behind the last k tile: zeros, which nobody fetches", fill=PAPER, stroke=GREY)
    if wrong:
        picture.key("of no k tile, of several, of none that there is, or multiplied before", stroke=RED)
    if races:
        picture.key("no barrier between a store and a load of one buffer", line=True, stroke=RED)
    return picture.svg()


def _rows(found: list[Event]) -> dict[tuple[str, int | None], float]:
    """The height of each row: loads first, then for each buffer its stores and fetches, the macro-MMAs last."""
    there = {(e.kind, e.buffer) for e in found if e.kind not in LINES}
    order = sorted(there, key=lambda kb: (
        list(ROWS).index(kb[0]) if kb[1] is None and kb[0] != "mma" else 8 if kb[1] is None else 3,
        kb[1] or 0, list(ROWS).index(kb[0]),
    ))  # fmt: skip
    return {kb: float(ROW * k) for k, kb in enumerate(order)}


def _row(e: Event) -> tuple[str, int | None]:
    """In which row an event stands; what arrives stands where it was copied to."""
    return "copy" if e.kind == "wait" else e.kind, e.buffer


def _placed(
    found: list[Event], shown: list[int], wrong: list[int], least: float
) -> tuple[list[_Box], dict[int, tuple[float, float]]]:
    """Where the boxes of the trips that are shown stand, and from where to where each trip goes, `least` wide."""
    boxes, edges, x = [], {}, 0.0
    for k, trip in enumerate(shown):
        x += TRIP_GAP if k else 0
        start = x
        x += 5
        for number, e in enumerate(found):
            if e.trip == trip:
                wide = NARROW if e.kind == "barrier" or e.kind == "wait" and not e.tiles else SLOT
                boxes.append(_Box(e, number, x, wide, number in wrong))
                x += wide
        x = max(x + 5, start + least)
        edges[trip] = start, x
    return boxes, edges


def _trips(
    picture: Canvas, loop: Loop, found: list[Event], trips: list[int], edges: Mapping[int, tuple[float, float]],
    height: float,
) -> None:  # fmt: skip
    """A panel for each trip, with the loop variable's value and what kind of trip it is."""
    before = None
    for trip, (left, right) in edges.items():
        picture.rect(left, 0, right - left, height, fill="#f4f4f2")
        kinds = {e.kind for e in found if e.trip == trip}
        what = "first" if "mma" not in kinds else "last" if not kinds & {"load", "copy"} else ""
        picture.text((left + right) / 2, -22, f"{loop.var} = {trip}", size=12, bold=True)
        picture.text((left + right) / 2, -8, what, size=11, fill=GREY)
        if before is not None and trips.index(trip) != trips.index(before) + 1:
            picture.text(left - TRIP_GAP / 2, height / 2, "⋯", size=16)
        before = trip


def _bars(picture: Canvas, boxes: list[_Box], rows: Mapping[tuple[str, int | None], float]) -> None:
    """Data on its way: from the loads to the stores of a tile; and held: from the stores to the last fetch."""
    for start, end in (way for source, sink, last in WAYS for way in _ways(boxes, source, sink, last)):
        y = rows[_row(start.event)] + ROW / 2
        tile = min(start.event.tiles)
        x = start.x + start.wide
        picture.rect(x, y - 6, end.x + end.wide - x, 12, fill=TINTS[tile % len(TINTS)],
                     stroke=DEEPER[tile % len(DEEPER)], dashes="3 2")  # fmt: skip


def _ways(boxes: list[_Box], source: str, sink: str, last: bool = False) -> Iterator[tuple[_Box, _Box]]:
    """From each box of one kind to the first, or last, box of another kind that has the same tile.

    A buffer's tile is held until the next store to the buffer at the latest.
    """
    for k, start in enumerate(boxes):
        if start.event.kind != source or not start.event.tiles:
            continue
        found = []
        for other in boxes[k + 1 :]:
            e = other.event
            writes = e.kind in ("store", "copy") and e.buffer == start.event.buffer
            if source != "load" and writes and e.tiles != start.event.tiles:
                break
            same = source == "load" or e.buffer == start.event.buffer
            if e.kind == sink and same and e.tiles & start.event.tiles:
                found.append(other)
        if found:
            yield start, found[-1 if last else 0]


def _box(picture: Canvas, box: _Box, y: float, empty: bool) -> None:
    """A box with the number of its k tile; empty: of what is behind the last one."""
    e = box.event
    tile = min(e.tiles, default=0)
    with picture.group(str(e)):
        fill = PAPER if box.wrong or empty or not e.tiles else DEEPER[tile % len(DEEPER)]
        stroke, thick = (RED, 2.2) if box.wrong else (GREY if empty else INK, 0.9)
        picture.rect(box.x + 1, y + (ROW - BOX) / 2, box.wide - 2, BOX, fill=fill, stroke=stroke, thick=thick, round=2)
        words = ",".join(map(str, sorted(e.tiles))) or ("?" if box.wrong else "")
        picture.text(box.middle, y + ROW / 2, words, size=12 if len(words) < 3 else 8, bold=True,
                     fill=RED if box.wrong else GREY if empty else INK)  # fmt: skip


def _arrows(
    picture: Canvas, boxes: list[_Box], rows: Mapping[tuple[str, int | None], float], races: list[tuple[int, int]]
) -> None:
    """From loads to stores, from stores to the first fetch; races in red."""
    for source, sink in (("load", "store"), ("store", "fetch"), ("wait", "fetch")):
        for start, end in _ways(boxes, source, sink):
            if (start.number, end.number) not in races:
                y1, y2 = (rows[_row(b.event)] + ROW / 2 for b in (start, end))
                picture.arrow(end.middle, y1 + 6, end.middle, y2 - BOX / 2)
    at = {box.number: box for box in boxes}
    for first, second in races:
        if first in at and second in at:
            start, end = at[first], at[second]
            y1, y2 = (rows[_row(b.event)] + ROW / 2 for b in (start, end))
            side = 1 if y2 > y1 else -1
            picture.arrow(start.middle, y1 + side * BOX / 2, end.middle, y2 - side * BOX / 2, stroke=RED, thick=2)


def _gain(found: list[Event], tiles: int) -> str:
    """What runs while a tile is on its way from global memory; `tiles` there are."""
    during, ahead = set(), 1
    for k, e in enumerate(found):
        if e.kind not in ("load", "copy") or (k and found[k - 1].kind == e.kind):
            continue
        for number, other in enumerate(found[k + 1 :], k + 1):
            if other.kind in ("store", "wait") and other.tiles & e.tiles:
                break
            if other.kind == "mma":
                during.add(number)
                ahead = max(ahead, min(e.tiles, default=0) - min(other.tiles, default=0))
    overlapped = sum(found[number].count for number in during)
    if not overlapped:
        return "Every tile is waited for: nothing is multiplied while it is loaded."
    total = sum(e.count for e in found if e.kind == "mma")
    which = "the next" if ahead == 1 else "a later one"
    return (
        f"{overlapped} of {total} macro-MMAs of a warp run while {which} of {tiles} k tiles is on its way from "
        "global memory."
    )


def _used(loop: Loop, sizes: Mapping[str, int]) -> str:
    names = {n for e in (*loop.lower, *loop.upper) for n in e.names()}
    return ", ".join(f"{n} = {v}" for n, v in sizes.items() if n in names)
