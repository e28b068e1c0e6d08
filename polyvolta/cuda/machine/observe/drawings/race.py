"""A race in time: two threads, one place in memory, and what the block does between the two accesses.

The steps between are those that the interpreter took, from the earlier access to the later one. None of them orders
the two threads, so on a GPU either access may be the first. Accesses of two blocks have no steps between: the blocks
run in any order, and at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, KernelIR, Op
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.observe.observer import times, where
from polyvolta.cuda.machine.observe.order.accumulators import NOT_READY, RUNNING
from polyvolta.cuda.machine.observe.order.records import UNFENCED
from polyvolta.cuda.machine.observe.races import VERBS, Race, role_at
from polyvolta.cuda.machine.shadow import NO_WAIT, READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL
from polyvolta.cuda.pictures.banks import contents
from polyvolta.cuda.pictures.svg import FAINT, GREY, INK, PAPER, RED, TINTS, Canvas, Svg, text_width
from polyvolta.cuda.text.places import Place

GAP, HIGH, BETWEEN = 10, 34, 46  # pixels between columns, of a box, between the threads
MOST = 8  # steps that are shown between the two accesses
EARLIER, LATER = TINTS[1], TINTS[4]
OTHERS = {
    UNFENCED: "Engines see what a thread has written once that thread has fenced it",
    RUNNING: "A product has its accumulators until it is waited for",
    NOT_READY: "Tensor cores have what threads did to registers once these are fenced",
}
"""Why the two aren't ordered, of kinds that say no more than that."""
SHORT = {"has a box copied to": "box comes", "has a box stored from": "box goes"}


@dataclass(frozen=True, slots=True)
class Column:
    """A step of the block, or several of one statement; `place` is None for steps that are left out."""

    words: str
    place: Place | None = None

    @property
    def barrier(self) -> bool:
        return self.place is not None and _orders(self.place)

    @property
    def width(self) -> float:
        return max(text_width(self.words, 11) + 16, 80.0)


def draw_race(ir: KernelIR, races: Sequence[Race], run: str) -> Svg:
    """Draw the race of the most pairs of accesses.

    Parameters
    ----------
    ir : the kernel that ran.
    races : at least one.
    run : the sizes, in words.
    """
    r = max(races, key=lambda race: race.count)
    more = f"; {times(len(races) - 1, 'other race')}" if len(races) > 1 else ""
    picture = Canvas(
        f"A race: {r.kind} at {r.address}",
        _held(ir, r),
        f"{run}: {times(r.count, 'such pair')} of accesses{more}",
        warning=_warning(r),
    )
    columns, rows = _columns(r), (HIGH / 2, HIGH * 1.5 + BETWEEN)
    people = zip(rows, (r.other_block, r.block), (r.other_thread, r.thread), r.who[::-1], strict=True)
    for y, block, thread, who in people:
        warp, lane = divmod(thread, LANES)
        named = who if r.past_threads else f"warp {warp}, lane {lane}"
        picture.text(-12, y - 7, named, size=12, anchor="end", bold=True)
        picture.text(-12, y + 9, f"block {block}", size=10, anchor="end", fill=GREY)
    roles = [role.rstrip(" 0123456789") for role in (r.other_role, r.role)]
    _steps(picture, columns, list(zip(rows, roles, strict=True)) if r.between else [], lambda at: role_at(ir, at))
    later, earlier = _verbs(r)
    last = sum(c.width + GAP for c in columns[:-1])
    middles = columns[0].width / 2, last + columns[-1].width / 2
    for x, column, y, verb, fill in (
        (0, columns[0], rows[0], earlier, EARLIER), (last, columns[-1], rows[1], later, LATER),
    ):  # fmt: skip
        with picture.group(f"{verb} {r.address}"):
            picture.rect(x, y - HIGH / 2, column.width, HIGH, fill=fill, stroke=RED, thick=2)
            picture.text(x + column.width / 2, y, verb, size=12, bold=True)
    picture.arrow(middles[0], rows[0] + HIGH / 2 + 3, middles[1], rows[1] - HIGH / 2 - 3, stroke=RED, thick=2)
    y = rows[1] + HIGH / 2 + 22
    for label, place in (("earlier", r.other), ("later", r.place)):
        picture.text(0, y, f"{label}: {where(place)}", size=11, anchor="start", fill=GREY)
        y += 17
    picture.key(f"the earlier access {earlier}", fill=EARLIER, stroke=RED)
    picture.key(f"the later one {later}", fill=LATER, stroke=RED)
    if len(r.between) > 1:
        picture.key("a step of the block", stroke=FAINT)
    if any(c.barrier for c in columns):
        picture.key("a barrier that doesn't order these two threads", stroke=FAINT, dashes="3 3")
    return picture.svg()


def _verbs(r: Race) -> tuple[str, str]:
    """What the later and the earlier access do."""
    if r.past_threads:
        return tuple(SHORT.get(v, v) for v in r.verbs)  # type: ignore[return-value]
    later, before = VERBS.get(r.kind, ("writes", "wrote"))
    return later, {"wrote": "writes", "read": "reads", "copied to": "copies to"}[before]


def _warning(r: Race) -> str:
    if not r.unordered:
        return "Each element of a result is one thread's to write"
    if r.past_threads:
        return OTHERS.get(r.kind, "Nothing orders the two: either may be the first")
    if r.kind in (READ_BEFORE_ARRIVAL, WRITE_BEFORE_ARRIVAL, NO_WAIT):
        return "The copy arrives some time before its thread has waited for it, and not at a barrier"
    return f"{'Nothing' if r.block != r.other_block else 'No barrier'} orders the two: either may be the first"


def _steps(
    picture: Canvas, columns: Sequence[Column], rows: Sequence[tuple[float, str]], role: Callable[[IrPath], str]
) -> None:
    """The names of the steps, and a box of each in the rows of who takes it: all of the block's warps, or a role's."""
    x = 0.0
    for number, c in enumerate(columns):
        ends = number in (0, len(columns) - 1)
        with picture.group(c.words if c.place is None else f"{c.words}: {where(c.place)}"):
            picture.text(x + c.width / 2, -24, c.words, size=11, bold=ends, fill=INK if ends else GREY)
            if c.place is not None:
                picture.text(x + c.width / 2, -9, f"line {c.place.line}", size=9, fill=GREY)
            whose = "" if c.place is None else role(c.place.path)
            for y, mine in rows:
                if whose and whose != mine:
                    continue
                dashes = "3 3" if c.barrier else ""
                picture.rect(x, y - HIGH / 2, c.width, HIGH, fill=PAPER, stroke=FAINT, dashes=dashes)
        x += c.width + GAP


def _held(ir: KernelIR, r: Race) -> str:
    """What the place holds."""
    if r.byte is None or not r.between:
        return ""
    tile = ir.tile(r.array)
    number = r.byte // CHUNK_BYTES - tile.start
    exchange = next((p.stmt.plan for p in r.between if isinstance(p.stmt, Op) and p.stmt.plan is not None), None)
    if tile.layout is None and exchange is None:
        return ""
    held = contents(ir, tile, exchange).get(number % tile.chunks if tile.layout is not None else number, "")
    buffer = f" of buffer {number // tile.chunks}" if tile.buffers > 1 and tile.layout is not None else ""
    index = f": elements [{held}]" if held else ""
    return f"chunk {number % tile.chunks}{buffer}{index}"


def _columns(r: Race) -> list[Column]:
    """The steps from the earlier access to the later one.

    Steps of one statement that follow each other are one; of many some are left out.
    """
    if not r.between:
        return [Column(_name(r.other), r.other), Column(_name(r.place), r.place)]
    first, last = (Column(_name(p), p) for p in (r.between[0], r.between[-1]))
    if len(r.between) == 1:
        return [first]
    middle: list[Column] = []
    for words, some in groupby(r.between[1:-1], _name):
        every = list(some)
        middle.append(Column(f"{words} × {len(every)}" if len(every) > 1 else words, every[0]))
    if len(middle) > MOST:
        left_out = len(middle) - MOST + 1
        middle[MOST // 2 : MOST // 2 + left_out] = [Column(f"{left_out} more")]
    return [first, *middle, last]


def _name(place: Place) -> str:
    if place.statement:
        return place.statement
    return "barrier" if _orders(place) else type(place.stmt).__name__


def _orders(place: Place) -> bool:
    return isinstance(place.stmt, Op) and place.stmt.orders is not None
