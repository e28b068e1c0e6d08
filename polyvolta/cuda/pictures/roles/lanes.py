"""A timeline as a picture: time to the right, a lane for each role, and one for each slot that boxes come to."""

from __future__ import annotations

from polyvolta.cuda.pictures.roles.timeline import (
    FLIGHT,
    HELD,
    OUT,
    PRODUCT,
    WAIT,
    WORK,
    Span,
    Timeline,
    overlap_text,
)
from polyvolta.cuda.pictures.svg import DEEPER, FAINT, GREY, INK, PAPER, RED, TINTS, Canvas, Svg, text_width

LONG = 960  # pixels of all the time
HIGH, THIN, GAP = 24, 15, 9  # of a lane, of a role's own time, between roles
STEPS = (1, 2, 5)  # of a scale, times powers of ten


def drawn(t: Timeline) -> Svg:
    """See the module."""
    picture = Canvas(f"{t.kernel}: roles over time", overlap_text(*t.overlapped), str(t.clock), t.sizes)
    scale, y = LONG / t.end, 0.0
    tops: list[tuple[float, float]] = []
    heads = t.heads()
    for name, spans in t.lanes.items():
        own, parts = name in t.roles, t.part_of_role(name)
        y += GAP if own or not parts and tops and _is_role(t, len(tops) - 1) else 2 if tops else 0
        if name in heads:
            y += HIGH
            picture.text(0, y - HIGH / 2, heads[name], size=12, anchor="start", bold=True)
        high, label = THIN if own else HIGH, t.label(name)
        size, ink = (12, INK) if own else (11, GREY)
        picture.text(-10, y + high / 2, label, size=size, anchor="end", bold=own, fill=ink)
        picture.rect(0, y, LONG, high, fill="#f4f4f2")
        for span in spans:
            _span(picture, span, y, high, scale)
        tops.append((y, high))
        y += high
    _axis(picture, t, scale, y + 4)
    _keys(picture, t)
    return picture.svg()


def _is_role(t: Timeline, number: int) -> bool:
    """Whether a lane is a role's, or one of its lanes."""
    name = list(t.lanes)[number]
    return any(name == r or name.startswith(f"{r} ") for r in t.roles)


def _span(picture: Canvas, span: Span, y: float, high: float, scale: float) -> None:
    x, wide = span.start * scale, max((span.end - span.start) * scale, 0.8)
    tile = min(span.tiles) if len(span.tiles) == 1 else None
    fill, deep = (TINTS[7], DEEPER[7]) if tile is None else (TINTS[tile % 7], DEEPER[tile % 7])
    with picture.group(str(span)):
        match span.kind:
            case "wait":
                picture.rect(x, y + 1, wide, high - 2, fill=PAPER, stroke=FAINT)
                picture.hatch(x, y + 1, wide, high - 2, stroke=FAINT, step=6)
            case "work":
                picture.rect(x, y + 1, wide, high - 2, fill=GREY)
            case "flight":
                picture.rect(x, y + 6, wide, high - 12, fill=fill, stroke=deep, dashes="3 2")
            case "out":
                picture.rect(x, y + 6, wide, high - 12, fill=PAPER, stroke=INK, dashes="3 2")
            case _:
                wrong = span.kind == PRODUCT and tile is None
                picture.rect(x, y + 2, wide, high - 4, fill=deep, stroke=RED if wrong else deep)
        label = "" if tile is None or span.kind == FLIGHT else str(tile)
        if span.kind == HELD and tile is None:
            label = ", ".join(span.statements)
        if label and text_width(label, 11) < wide:
            picture.text(x + wide / 2, y + high / 2, label, size=11, bold=True)


def _axis(picture: Canvas, t: Timeline, scale: float, y: float) -> None:
    """Ticks below the lanes."""
    step = next(s * 10**n for n in range(12) for s in STEPS if t.end / (s * 10**n) <= 12)
    picture.line(0, y, LONG, y, stroke=GREY)
    for at in range(0, int(t.end) + 1, step):
        picture.line(at * scale, y, at * scale, y + 4, stroke=GREY)
        picture.text(at * scale, y + 13, f"{at:,}", size=10, fill=GREY)
    picture.text(-10, y + 13, "ticks", size=10, anchor="end", fill=GREY)


def _keys(picture: Canvas, t: Timeline) -> None:
    kinds = {s.kind for spans in t.lanes.values() for s in spans}
    if FLIGHT in kinds:
        picture.key("boxes on their way; a colour, a number is a k tile", fill=TINTS[0], stroke=DEEPER[0], dashes="3 2")
    if HELD in kinds:
        picture.key("there, until it has been read; products of that tile", fill=DEEPER[0], second=DEEPER[1])
    if WAIT in kinds:
        picture.key("threads wait", fill=PAPER, stroke=FAINT, hatched=True)
    if WORK in kinds:
        picture.key("threads work", fill=GREY)
    if OUT in kinds:
        picture.key("boxes of the result on their way", fill=PAPER, stroke=INK, dashes="3 2")
    if any(s.kind == PRODUCT and len(s.tiles) != 1 for spans in t.lanes.values() for s in spans):
        picture.key("products of no tile, or of two", stroke=RED)
