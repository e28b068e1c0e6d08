"""Global memory: what each access asks for beside what it moves, and the worst request sector by sector.

The lower part is memory in order, a row being a line of 128 bytes, four sectors of 32. A sector that the request
touches is framed; in it stand the lanes whose bytes it holds. What is hatched is moved for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.cuda.ir.kernel_ir import LANES
from polyvolta.cuda.machine.observe.coalescing import RequestExample, RequestRow, amount
from polyvolta.cuda.machine.observe.drawings.bars import Bar, draw_bars
from polyvolta.cuda.machine.observe.observer import cuda, spans, times
from polyvolta.cuda.machine.observe.warpwide import SECTOR
from polyvolta.cuda.pictures.banks import rows_shown
from polyvolta.cuda.pictures.svg import DEEPER, FAINT, GREY, INK, PAPER, TINTS, Canvas, Svg, text_width

LINE = 4 * SECTOR  # bytes
PIXELS = 5.25  # of a byte
HIGH, STEP = 24, 27  # of a line
MOST_LINES = 16
ASKED, MOVED, SURPLUS = DEEPER[1], TINTS[1], DEEPER[4]


def draw_sectors(rows: Sequence[RequestRow], run: str) -> Svg:
    """See the module.

    Parameters
    ----------
    rows : at least one.
    run : the sizes, in words.
    """
    moved, asked = sum(r.moved for r in rows), sum(r.asked for r in rows)
    picture = Canvas(
        "Global memory: bytes asked for, and sectors moved",
        run,
        f"All in all the lanes ask for {amount(asked)}, and sectors of {SECTOR} bytes move {amount(moved)}.",
    )
    bars = []
    for r in rows:
        needed = SECTOR * min(r.ideal, r.sectors)
        each = f"{r.sectors / r.requests:.1f} sectors a {'request' if r.example is not None else 'box'}"
        bars.append(Bar(f"{_name(r)}: asked", ((r.asked, ASKED),), amount(r.asked)))
        parts = (needed, MOVED), (r.moved - needed, SURPLUS)
        bars.append(Bar("moved", parts, f"{amount(r.moved)}; {r.requests:,} requests, {each}"))
    y = draw_bars(picture, "Of the whole run", bars, 0)
    picture.key("asked for, counted for each lane", fill=ASKED)
    picture.key("moved", fill=MOVED)
    if any(r.sectors > r.ideal for r in rows):
        picture.key("moved beyond the fewest sectors that could hold it", fill=SURPLUS)
    by_lanes = [(r, r.example) for r in rows if r.example is not None]
    if by_lanes:
        worst = max(by_lanes, key=lambda x: (x[1].sectors - x[1].ideal, x[1].sectors / x[1].ideal))
        _request(picture, *worst, y + 8)
    return picture.svg()


def _name(r: RequestRow) -> str:
    each = f"{8 * r.width} bits a lane" if r.example is not None else f"boxes with lines of {r.width} bytes"
    return f"{r.place.statement or r.array}, line {r.place.line}, {each}"


def _request(picture: Canvas, r: RequestRow, e: RequestExample, y: float) -> None:
    """One request, line by line."""
    loops = "".join(f", {n} = {v}" for n, v in e.loops.items())
    beyond = f", {e.ideal} could hold its bytes" if e.sectors > e.ideal else ", as few as can be"
    said = (
        f"{r.place.statement or r.array} of warp {e.warp}, block {e.block}{loops}",
        f"{times(e.sectors, 'sector')}{beyond}; line {r.place.line}: {cuda(r.place)}",
    )
    picture.text(0, y, said[0], size=13, anchor="start", bold=True)
    picture.text(0, y + 18, said[1], size=11, anchor="start", fill=GREY)
    y += 42
    lanes: dict[int, list[int]] = {}  # by address
    for lane, byte in zip(e.lanes, e.addresses, strict=True):
        lanes.setdefault(byte, []).append(lane)
    touched = sorted({byte // LINE for byte in lanes})
    picture.text(-8, y, f"byte of {r.array}", size=11, anchor="end", fill=GREY)
    for sector in range(LINE // SECTOR):
        words = f"+ {SECTOR * sector} to {SECTOR * sector + SECTOR - 1}"
        picture.text(PIXELS * SECTOR * (sector + 0.5), y, words, size=10, fill=GREY)
    y += 12
    for line in rows_shown(touched[:MOST_LINES]):
        if line is None:
            picture.text(PIXELS * LINE / 2, y + 4, "⋯", size=13, fill=GREY)
            y += 12
            continue
        _line(picture, r, lanes, line, y)
        y += STEP
    if len(touched) > MOST_LINES:
        words = f"and {len(touched) - MOST_LINES} more lines of {LINE} bytes"
        picture.text(PIXELS * LINE / 2, y + 8, words, size=11, fill=GREY)
    meanings = {_fill([8 * g]): f"lanes {8 * g} to {8 * g + 7}" for g in range(LANES // 8)}
    for fill in sorted({_fill(mine) for mine in lanes.values()}, key=TINTS.index):
        picture.key(meanings.get(fill, "one place for lanes of several eights"), fill=fill)
    picture.key("a sector that is moved", stroke=INK)
    if len(lanes) * r.width < SECTOR * e.sectors:
        picture.key("moved for nothing", hatched=True)


def _line(picture: Canvas, r: RequestRow, lanes: dict[int, list[int]], line: int, y: float) -> None:
    """The four sectors of a line, and in them the lanes."""
    picture.text(-8, y + HIGH / 2, LINE * line, size=11, anchor="end", fill=GREY)
    for number in range(LINE // SECTOR * line, LINE // SECTOR * (line + 1)):
        x, wide = PIXELS * (SECTOR * number - LINE * line), PIXELS * SECTOR
        here = [byte for byte in sorted(lanes) if byte // SECTOR == number]
        if not here:
            picture.rect(x, y, wide, HIGH, fill=PAPER, stroke=FAINT)
            continue
        every = sorted(lane for byte in here for lane in lanes[byte])
        with picture.group(f"sector {number}: lanes {spans(every)}, {len(here) * r.width} of {SECTOR} bytes"):
            picture.rect(x, y, wide, HIGH, fill=PAPER)
            if len(here) * r.width < SECTOR:
                picture.hatch(x, y, wide, HIGH, stroke=FAINT)
            for byte in here:
                left = x + PIXELS * (byte - SECTOR * number)
                picture.rect(left, y, PIXELS * r.width, HIGH, fill=_fill(lanes[byte]), stroke=PAPER, thick=0.8)
                label, size = _label(lanes[byte], PIXELS * r.width - 2)
                picture.text(left + PIXELS * r.width / 2, y + HIGH / 2, label, size=size)
            picture.rect(x + 0.6, y + 0.6, wide - 1.2, HIGH - 1.2, stroke=INK, thick=1.4)


def _fill(lanes: Sequence[int]) -> str:
    """A colour for each eight lanes, and one for places that lanes of several eights want."""
    groups = {lane // 8 for lane in lanes}
    return TINTS[2 + groups.pop()] if len(groups) == 1 else TINTS[7]


def _label(lanes: Sequence[int], room: float) -> tuple[str, float]:
    """The lanes that want one place, as many as there is room for, and the size of the text."""
    for size in (11, 9, 7.5):
        if text_width(label := spans(lanes), size) <= room:
            return label, size
    some = [f"{spans(lanes[:n])}, …" for n in range(len(lanes) - 1, 0, -1)]
    return next((label for label in some if text_width(label, 9) <= room), str(lanes[0])), 9 if room > 20 else 6.5
