"""Dots, arrows, tiles, axes and a legend as SVG text: how `draw` draws.

All coordinates are pixels from the top left; a place (x, y) of the nest is one unit wide and high, y upwards. Colours
are those of Okabe and Ito, which colour-blind readers tell apart; kinds of dependences differ in their dashes, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from math import hypot
from pathlib import Path

from polyvolta.display.shown import Shown

Point = tuple[float, float]

KINDS = {"RAW": ("#0072B2", ""), "WAR": ("#D55E00", "5 3"), "WAW": ("#009E73", "1.5 3")}
MEANING = {"RAW": "flow (RAW)", "WAR": "anti (WAR)", "WAW": "output (WAW)"}
FILLS = ("#222222", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#7B68C8")
BENDS = (0.0, 0.16, -0.16, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7)  # of an arrow's length, to the left
WIDEST = 900  # pixels of the data
UNIT = 54  # pixels of a place, where there is room
TEXT = 'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222"'


@dataclass(frozen=True, slots=True)
class Svg(Shown):
    """A picture as SVG text; notebooks show it."""

    text: str

    def _repr_svg_(self) -> str:
        return self.text

    def _html(self) -> str:
        from polyvolta.display.drawing import scaled

        return scaled(self.text)

    def __repr__(self) -> str:
        return f"<Svg of {len(self.text)} characters; save(path) writes it>"

    def save(self, path: str | Path) -> None:
        """Write the text to a file."""
        Path(path).write_text(self.text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Dot:
    """An instance at a place; dots of one `key` have one colour, dots of one `tile` one outline."""

    instance: object
    title: str
    place: tuple[int, int]
    key: object
    tile: object = None


@dataclass(slots=True)
class Canvas:
    """What is to be drawn, between two named axes."""

    axes: tuple[str, ...]
    dots: list[Dot] = field(default_factory=list)
    arrows: list[tuple] = field(default_factory=list)  # (kind, source, sink), instances of dots
    legend: str = ""

    def svg(self) -> Svg:
        """The picture."""
        layout = _Layout(self.dots)
        at = {d.instance: layout.at(d) for d in self.dots}
        body = [*_grid(layout, self.axes), *_outlines(layout, self.dots)]
        body += _Arrows(layout, at).drawn(self.arrows)
        colours = _colours([d.key for d in self.dots])
        for d in self.dots:
            x, y = at[d.instance]
            body.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.radius:.1f}" fill="{colours[d.key]}">'
                f"<title>{escape(d.title)}</title></circle>"
            )
        kinds = [k for k in KINDS if any(a[0] == k for a in self.arrows)]
        legend, width = _legend(layout, self.legend, colours, kinds)
        size = f'width="{layout.width + width:.0f}" height="{layout.height:.0f}"'
        box = f'viewBox="0 0 {layout.width + width:.0f} {layout.height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>'
        return Svg("\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *body, *legend, "</svg>"]))


class _Layout:
    """Where places are."""

    left, top, bottom, right = 58.0, 30.0, 52.0, 34.0

    def __init__(self, dots: list[Dot]) -> None:
        xs, ys = [d.place[0] for d in dots], [d.place[1] for d in dots]
        self.low, self.high = (min(xs), min(ys)), (max(xs), max(ys))
        span = self.high[0] - self.low[0] + 1, self.high[1] - self.low[1] + 1
        shared: dict[tuple[int, int], list[object]] = {}
        for d in dots:
            shared.setdefault(d.place, []).append(d.instance)
        most = max(map(len, shared.values()))
        self.unit = max(14.0, min(UNIT * (1 if most == 1 else 1.8), WIDEST / max(span)))
        self.flat = self.low[1] == self.high[1]
        rows = 2.2 if self.flat else span[1]
        self.width = self.left + span[0] * self.unit + self.right
        self.height = max(self.top + rows * self.unit + self.bottom, 190.0)
        self.shift = {}
        for group in shared.values():
            for k, x in enumerate(group):
                self.shift[x] = (
                    (k - (len(group) - 1) / 2) * min(0.4, 0.75 / most) * self.unit if len(group) > 1 else 0.0
                )
        self.radius = self.unit * (0.115 if most == 1 else min(0.075, 0.2 / most))

    def xy(self, x: float, y: float) -> Point:
        """The middle of a place."""
        base = self.height - self.bottom - self.unit / 2 - (0.35 * self.unit if self.flat else 0)
        return self.left + (x - self.low[0] + 0.5) * self.unit, base - (y - self.low[1]) * self.unit

    def at(self, d: Dot) -> Point:
        """The middle of a dot: dots of one place stand on a falling diagonal."""
        x, y = self.xy(*d.place)
        s = self.shift[d.instance]
        return x + s, y + s * 0.6


def _grid(layout: _Layout, axes: tuple[str, ...]) -> Iterator[str]:
    """Axes with numbers and names."""
    (x0, y0), (x1, y1) = layout.xy(*layout.low), layout.xy(*layout.high)
    half = layout.unit / 2
    left, base, right, top = x0 - half, layout.height - layout.bottom + 4, x1 + half, y1 - half
    yield f'<path d="M{left:.1f} {base:.1f}H{right + 8:.1f}" stroke="#888" fill="none"/>'
    yield _head((right + 15, base), (1.0, 0.0), "#888")
    yield _name(right + 18, base + 22, axes[0])
    for x in _ticks(layout.low[0], layout.high[0], layout.unit):
        px = layout.xy(x, 0)[0]
        yield f'<text x="{px:.1f}" y="{base + 18:.1f}" text-anchor="middle" {TEXT}>{x}</text>'
    if layout.flat:
        return
    yield f'<path d="M{left - 4:.1f} {y0 + half:.1f}V{top - 4:.1f}" stroke="#888" fill="none"/>'
    yield _head((left - 4, top - 11), (0.0, -1.0), "#888")
    yield _name(left - 12, top - 8, axes[1])
    for y in _ticks(layout.low[1], layout.high[1], layout.unit):
        py = layout.xy(0, y)[1]
        yield f'<text x="{left - 12:.1f}" y="{py + 4:.1f}" text-anchor="end" {TEXT}>{y}</text>'


def _name(x: float, y: float, name: str) -> str:
    """The name of an axis, ending at a point."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end" font-style="italic" {TEXT}>{escape(name)}</text>'


def _ticks(low: int, high: int, unit: float) -> list[int]:
    """Numbers for an axis, far enough from one another."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 10**9) if s * unit >= 26)
    return [v for v in range(low, high + 1) if v % step == 0] or [low]


def _outlines(layout: _Layout, dots: list[Dot]) -> Iterator[str]:
    """Lines between places of different tiles."""
    tiles: dict[tuple[int, int], object] = {}
    for d in dots:
        if d.tile is not None:
            tiles.setdefault(d.place, d.tile)
    if not tiles:
        return
    half, path = layout.unit / 2, []
    for x, y in sorted(tiles):
        px, py = layout.xy(x, y)
        here = tiles[x, y]
        for (dx, dy), line in (
            ((1, 0), f"M{px + half:.1f} {py - half:.1f}v{2 * half:.1f}"),
            ((-1, 0), f"M{px - half:.1f} {py - half:.1f}v{2 * half:.1f}"),
            ((0, 1), f"M{px - half:.1f} {py - half:.1f}h{2 * half:.1f}"),
            ((0, -1), f"M{px - half:.1f} {py + half:.1f}h{2 * half:.1f}"),
        ):
            other = tiles.get((x + dx, y + dy))
            if other != here and (other is None or (dx, dy) > (0, 0)):
                path.append(line)
    yield f'<path d="{"".join(path)}" stroke="#555" stroke-width="1.6" fill="none" stroke-linecap="square"/>'


class _Arrows:
    """Arrows between dots that run through no other dot."""

    def __init__(self, layout: _Layout, at: dict) -> None:
        self.layout, self.at = layout, at
        self.cell = layout.unit
        self.near: dict[tuple[int, int], list[Point]] = {}
        for x, y in at.values():
            self.near.setdefault((int(x // self.cell), int(y // self.cell)), []).append((x, y))

    def drawn(self, arrows: list[tuple]) -> Iterator[str]:
        """Each arrow; of several between two dots each has a bend of its own."""
        taken: dict[frozenset, list[float]] = {}
        for kind, source, sink in arrows:
            a, b = self.at[source], self.at[sink]
            used = taken.setdefault(frozenset((source, sink)), [])
            side = 1 if a <= b else -1  # of the line, whichever way the arrow goes
            free = [v for v in BENDS if v * side not in used] or [BENDS[0]]
            bend = next((v for v in free if not self.hits(a, b, v)), None)
            if bend is None:
                bend = min(free, key=lambda v: (self.hits(a, b, v), abs(v)))
            used.append(bend * side)
            yield self.arrow(a, b, bend, *KINDS[kind])

    def hits(self, a: Point, b: Point, bend: float) -> int:
        """How many points of the curve are on other dots."""
        reach = self.layout.radius + 2.5
        steps = max(12, int(3 * hypot(b[0] - a[0], b[1] - a[1]) / max(reach, 1)))
        found = 0
        for k in range(1, steps):
            x, y = _curve(a, b, bend, k / steps)
            cx, cy = int(x // self.cell), int(y // self.cell)
            for i in (cx - 1, cx, cx + 1):
                for j in (cy - 1, cy, cy + 1):
                    for p in self.near.get((i, j), ()):
                        found += p not in (a, b) and hypot(x - p[0], y - p[1]) < reach
        return found

    def arrow(self, a: Point, b: Point, bend: float, colour: str, dashes: str) -> str:
        """The curve from the rim of one dot to that of the other."""
        r = self.layout.radius + 1.5
        if a == b:
            return ""
        control = _control(a, b, bend)
        start, tip = _towards(a, control, r), _towards(b, control, r)
        head = min(8.0, 0.16 * self.layout.unit + 2)
        back = _towards(tip, control, head * 0.8)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        line = (
            f'<path d="M{start[0]:.1f} {start[1]:.1f}Q{control[0]:.1f} {control[1]:.1f} {back[0]:.1f} {back[1]:.1f}" '
            f'stroke="{colour}" stroke-width="1.4" fill="none"{style}/>'
        )
        length = hypot(b[0] - control[0], b[1] - control[1]) or 1.0
        direction = (b[0] - control[0]) / length, (b[1] - control[1]) / length
        return line + _head(tip, direction, colour, head)


def _control(a: Point, b: Point, bend: float) -> Point:
    """The control point of a curve that is bent to its left, seen upwards."""
    return (a[0] + b[0]) / 2 + bend * (b[1] - a[1]), (a[1] + b[1]) / 2 - bend * (b[0] - a[0])


def _curve(a: Point, b: Point, bend: float, t: float) -> Point:
    c, u = _control(a, b, bend), 1 - t
    return u * u * a[0] + 2 * u * t * c[0] + t * t * b[0], u * u * a[1] + 2 * u * t * c[1] + t * t * b[1]


def _towards(a: Point, b: Point, by: float) -> Point:
    length = hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return a[0] + by * (b[0] - a[0]) / length, a[1] + by * (b[1] - a[1]) / length


def _head(tip: Point, direction: Point, colour: str, size: float = 7.0) -> str:
    """The head of an arrow."""
    (x, y), (dx, dy) = tip, direction
    wing = 0.42 * size
    corners = (
        (x, y),
        (x - size * dx - wing * dy, y - size * dy + wing * dx),
        (x - size * dx + wing * dy, y - size * dy - wing * dx),
    )
    return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}" fill="{colour}"/>'


def _colours(keys: list) -> dict[object, str]:
    """A colour for each key: a few apart ones, or a ramp for many numbers."""
    found = list(dict.fromkeys(keys))
    if all(isinstance(k, int) for k in found):
        found.sort()
    if len(found) <= len(FILLS):
        return dict(zip(found, FILLS, strict=False))
    return {k: _ramp(n / (len(found) - 1)) for n, k in enumerate(found)}


def _ramp(t: float) -> str:
    """From dark blue by way of green to yellow."""
    stops = ((68, 1, 84), (49, 104, 142), (53, 183, 121), (240, 210, 40))
    k = min(int(t * 3), 2)
    u = t * 3 - k
    return "#" + "".join(f"{round((1 - u) * a + u * b):02x}" for a, b in zip(stops[k], stops[k + 1], strict=True))


def _legend(layout: _Layout, title: str, colours: dict, kinds: list[str]) -> tuple[list[str], float]:
    """The legend to the right of the data, and how wide it is."""
    rows: list[tuple[str, str]] = []
    shown = list(colours)
    if len(shown) > 8:
        shown = [shown[round(k * (len(shown) - 1) / 7)] for k in range(8)]
    x, y, out = layout.width + 8, layout.top + 6, []
    if title != "statement":
        out.append(f'<text x="{x:.1f}" y="{y + 4:.1f}" font-style="italic" {TEXT}>{escape(title)}</text>')
        y += 20
    for key in shown:
        rows.append((f'<circle cx="{x + 12:.1f}" cy="{{y:.1f}}" r="5" fill="{colours[key]}"/>', str(key)))
    for kind in kinds:
        colour, dashes = KINDS[kind]
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        line = f'<path d="M{x:.1f} {{y:.1f}}h20" stroke="{colour}" stroke-width="1.4"{style}/>'
        rows.append((line + "{head:" + colour + "}", MEANING[kind]))
    for mark, text in rows:
        head = ""
        if "{head:" in mark:
            mark, colour = mark[:-1].split("{head:")
            head = _head((x + 27, y), (1.0, 0.0), colour)
        out.append(mark.replace("{y:.1f}", f"{y:.1f}") + head)
        out.append(f'<text x="{x + 36:.1f}" y="{y + 4:.1f}" {TEXT}>{escape(text)}</text>')
        y += 21
    layout.height = max(layout.height, y + 10)
    longest = max([len(text) for _, text in rows] + [len(title) - 4])
    return out, 36 + 8 * longest + 20
