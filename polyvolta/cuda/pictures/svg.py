"""SVG text without a library: a canvas of boxes, lines, arrows and text that finds its own size.

A picture is drawn in pixels, in any coordinates, y downwards; the canvas keeps track of what has been drawn and puts
the heading above and the legend below. All text is escaped. Nothing refers to anything by an id and there is no style
sheet, so that several pictures on one page, such as a notebook's, never disturb each other. The background is painted,
so a picture looks the same on a dark page.

The colours are tints of those of Okabe and Ito, which colour-blind readers tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import hypot
from pathlib import Path
from typing import Any

from polyvolta.display.shown import Shown

INK, GREY, FAINT, PAPER, RED = "#1a1a1a", "#6b6b6b", "#c9c9c9", "#ffffff", "#c1121f"
TINTS = ("#f7e98e", "#a9d6f5", "#b5dc9a", "#f3bfd3", "#f6c38a", "#c9bce6", "#a3dccb", "#d9d2c3")
DEEPER = ("#e3cc3c", "#62b0e8", "#80bf59", "#e085ac", "#e8963a", "#9f8bd1", "#57bb9f", "#b3a78c")
"""Eight fills for dark text, and the same hues deeper: yellow, blue, green, pink; orange, violet, teal, sand."""
FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
MARGIN = 18


class Svg(Shown, str):
    """A picture as SVG text; notebooks show it, `save` writes it.

    >>> picture = Canvas("A box")
    >>> picture.rect(0, 0, 40, 20, fill="#a9d6f5")
    >>> picture.svg()[:39]
    '<svg xmlns="http://www.w3.org/2000/svg"'
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def _html(self) -> str:
        from polyvolta.display.drawing import scaled

        return scaled(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        width, height = self.size
        return f"<Svg, {width} x {height} pixels>"

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        head = self[: self.index(">")]
        width, height = (int(head.split(f' {name}="')[1].split('"')[0]) for name in ("width", "height"))
        return width, height

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        `path` is the file's, which is overwritten; `OSError` is raised where it cannot be.

        >>> import tempfile
        >>> from pathlib import Path
        >>> import polyvolta as pv
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pv.pictures.ownership().save(Path(folder) / "owners.svg")
        """
        Path(path).write_text(self, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: a small box of a fill, or of two, and an outline, or a line; and what it means."""

    meaning: str
    fill: str = "none"
    second: str = ""
    stroke: str = GREY
    line: bool = False
    hatched: bool = False
    dashes: str = ""
    sample: str = ""


class Canvas:
    """A picture being drawn.

    Parameters
    ----------
    title : its heading.
    subtitle : lines below, smaller; empty ones are left out.
    warning : a last line in red.
    """

    def __init__(self, title: str, *subtitle: str, warning: str = "") -> None:
        self.title, self.subtitle, self.warning = title, [line for line in subtitle if line], warning
        self.keys: list[Key] = []
        self._parts: list[str] = []
        self._box = [0.0, 0.0, 0.0, 0.0]  # left, top, right, bottom
        self._empty = True

    # ---- what can be drawn

    def rect(
        self, x: float, y: float, width: float, height: float, *, fill: str = "none", stroke: str = "none",
        thick: float = 1, dashes: str = "", round: float = 0, opacity: float = 1,
    ) -> None:  # fmt: skip
        """A box; `round` is the radius of its corners."""
        self._reach(x, y, x + width, y + height)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        style += f' rx="{round:g}"' if round else ""
        edge = f' stroke="{stroke}" stroke-width="{thick:g}"' if stroke != "none" else ""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        style += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self._parts.append(f'<rect {place} fill="{fill}"{edge}{style}/>')

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = INK, thick: float = 1, dashes: str = ""
    ) -> None:
        """A straight line."""
        self.lines([(x1, y1, x2, y2)], stroke=stroke, thick=thick, dashes=dashes)

    def lines(
        self,
        ends: Sequence[tuple[float, float, float, float]],
        *,
        stroke: str = INK,
        thick: float = 1,
        dashes: str = "",
    ) -> None:
        """Straight lines of one style."""
        for x1, y1, x2, y2 in ends:
            self._reach(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        if ends:
            path = "".join(f"M{x1:g} {y1:g}L{x2:g} {y2:g}" for x1, y1, x2, y2 in ends)
            style = f' stroke-dasharray="{dashes}"' if dashes else ' stroke-linecap="square"'
            self._parts.append(f'<path d="{path}" stroke="{stroke}" stroke-width="{thick:g}" fill="none"{style}/>')

    def text(
        self, x: float, y: float, words: object, *, size: float = 12, anchor: str = "middle", fill: str = INK,
        bold: bool = False, italic: bool = False, upwards: bool = False,
    ) -> None:  # fmt: skip
        """Text whose middle is at height y; `anchor` says which end of it, or its middle, is at x. `upwards` turns it
        so that it reads from below."""
        if (words := str(words)) == "":
            return
        long = text_width(words, size, bold)
        start = {"start": 0.0, "middle": long / 2, "end": long}[anchor]
        if upwards:
            self._reach(x - size / 2, y - long + start, x + size / 2, y + start)
        else:
            self._reach(x - start, y - size / 2, x - start + long, y + size / 2)
        style = ' font-weight="bold"' if bold else ""
        style += ' font-style="italic"' if italic else ""
        base = 0.355 * size  # from the middle of the digits to the line that they stand on
        place = f'transform="translate({x + base:g} {y:g}) rotate(-90)"' if upwards else f'x="{x:g}" y="{y + base:g}"'
        self._parts.append(
            f'<text {place} font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"{style}>{escape(words)}</text>'
        )

    def hatch(
        self, x: float, y: float, width: float, height: float, *, stroke: str = GREY, step: float = 7, thick: float = 1
    ) -> None:
        """Slanted lines in a box."""
        path, k = [], step / 2
        while k < width + height:
            path.append(
                f"M{x + max(0.0, k - height):.4g} {y + min(k, height):.4g}L{x + min(k, width):.4g} "
                f"{y + max(0.0, k - width):.4g}"
            )
            k += step
        self._reach(x, y, x + width, y + height)
        self._parts.append(f'<path d="{"".join(path)}" stroke="{stroke}" stroke-width="{thick:g}" fill="none"/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = INK, thick: float = 1.3) -> None:
        """A straight arrow to (x2, y2)."""
        self._reach(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        far, size = hypot(x2 - x1, y2 - y1) or 1.0, 6.0
        dx, dy, wing = (x2 - x1) / far, (y2 - y1) / far, 0.42 * size
        back = x2 - size * dx, y2 - size * dy
        corners = [(x2, y2), *((back[0] - side * wing * dy, back[1] + side * wing * dx) for side in (1, -1))]
        self._parts.append(
            f'<path d="M{x1:g} {y1:g}L{back[0]:.5g} {back[1]:.5g}" stroke="{stroke}" stroke-width="{thick:g}" '
            f'fill="none"/><polygon points="{" ".join(f"{a:.5g},{b:.5g}" for a, b in corners)}" fill="{stroke}"/>'
        )

    def group(self, title: str) -> _Group:
        """What is drawn in `with canvas.group(title):` belongs together; the title shows under a mouse."""
        return _Group(self, title)

    def key(self, meaning: str, **style: object) -> None:
        """An entry of the legend; see `Key`."""
        self.keys.append(Key(meaning, **style))  # type: ignore[arg-type]

    # ---- the whole

    def svg(self) -> Svg:
        """The picture, with heading and legend."""
        left, top, right, bottom = self._box
        self._legend(left, max(right, left + 420), bottom + 26)
        lines = [(self.title, 16.0, INK), *((s, 12.0, GREY) for s in self.subtitle)]
        lines += [(self.warning, 12.0, RED)] if self.warning else []
        y = top - 16
        for words, size, ink in reversed(lines):
            self.text(left, y - size / 2, words, size=size, anchor="start", bold=ink != GREY, fill=ink)
            y -= 1.5 * size
        left, top, right, bottom = self._box
        x, y = left - MARGIN, top - MARGIN
        width, height = round(right - left + 2 * MARGIN), round(bottom - top + 2 * MARGIN)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="{x:g} {y:g} {width} {height}" font-family="{FONT}" role="img">'
        )
        back = f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" fill="{PAPER}"/>'
        return Svg("\n".join([head, f"<title>{escape(self.title)}</title>", back, *self._parts, "</svg>\n"]))

    def _legend(self, left: float, right: float, y: float) -> None:
        x = left
        for key in self.keys:
            wide = 30 + text_width(key.meaning, 12) + 22
            if x > left and x + wide - 22 > right:
                x, y = left, y + 22
            if key.line:
                self.line(x, y, x + 22, y, stroke=key.stroke, thick=2, dashes=key.dashes)
            else:
                self.rect(x, y - 8, 22, 16, fill=key.fill)
                if key.second:
                    self.rect(x + 11, y - 8, 11, 16, fill=key.second)
                self.rect(x, y - 8, 22, 16, stroke=key.stroke, dashes=key.dashes)
                if key.hatched:
                    self.hatch(x, y - 8, 22, 16, stroke=key.stroke)
            if key.sample:
                self.text(x + 11, y, key.sample, size=10)
            self.text(x + 30, y, key.meaning, anchor="start")
            x += wide

    def _reach(self, left: float, top: float, right: float, bottom: float) -> None:
        if self._empty:
            self._box, self._empty = [left, top, right, bottom], False
        a, b, c, d = self._box
        self._box = [min(a, left), min(b, top), max(c, right), max(d, bottom)]


@dataclass(frozen=True, slots=True)
class _Group:
    canvas: Canvas
    title: str

    def __enter__(self) -> None:
        self.canvas._parts.append(f"<g><title>{escape(self.title)}</title>")

    def __exit__(self, *_: object) -> None:
        self.canvas._parts.append("</g>")


def text_width(words: str, size: float, bold: bool = False) -> float:
    """About how wide a text is; never less than it is in the usual fonts.

    >>> text_width("lane 31", 10)
    40.0
    """
    narrow = sum(c in " .,:;|!'il()[]" for c in words)
    return round((0.66 * (len(words) - narrow) + 0.35 * narrow) * size * (1.06 if bold else 1), 1)
