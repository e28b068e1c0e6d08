"""Bars one below the other, to one scale: a name, a bar, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvolta.cuda.pictures.svg import GREY, INK, Canvas

LONGEST, HIGH, STEP = 420.0, 14.0, 20.0  # pixels


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Parameters
    ----------
    name : on its left.
    parts : lengths and fills, from left to right.
    words : on its right.
    """

    name: str
    parts: tuple[tuple[float, str], ...]
    words: str

    @property
    def length(self) -> float:
        return sum(n for n, _ in self.parts)


def draw_bars(picture: Canvas, title: str, bars: Sequence[Bar], y: float) -> float:
    """Draw bars from x = 0 to the right, the longest `LONGEST` pixels long.

    Returns
    -------
    Where the next thing below may start.
    """
    picture.text(0, y, title, size=13, anchor="start", bold=True)
    y += STEP + 2
    scale = LONGEST / max((b.length for b in bars), default=0) if any(b.length for b in bars) else 0.0
    for bar in bars:
        with picture.group(f"{title}: {bar.name}: {bar.words}"):
            picture.text(-8, y, bar.name, size=11, anchor="end")
            x = 0.0
            for length, fill in bar.parts:
                wide = round(scale * length, 2)
                picture.rect(x, y - HIGH / 2, wide, HIGH, fill=fill)
                x += wide
            picture.rect(0, y - HIGH / 2, x, HIGH, stroke=GREY, thick=0.8)
            picture.text(x + 8, y, bar.words, size=11, anchor="start", fill=INK)
        y += STEP
    return y + STEP / 2
