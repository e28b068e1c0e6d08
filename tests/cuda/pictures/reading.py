"""Reading a picture back: its groups by title, with their boxes and words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Group:
    title: str
    fills: tuple[str, ...]
    strokes: tuple[str, ...]
    words: tuple[str, ...]
    x: float
    y: float


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def groups(svg: str) -> list[Group]:
    found = []
    for g in parsed(svg).iter(f"{SVG}g"):
        boxes = list(g.iter(f"{SVG}rect"))
        found.append(
            Group(
                g.find(f"{SVG}title").text,
                tuple(b.get("fill") for b in boxes),
                tuple(b.get("stroke", "none") for b in boxes),
                tuple(t.text for t in g.iter(f"{SVG}text")),
                float(boxes[0].get("x")) if boxes else -1.0,
                float(boxes[0].get("y")) if boxes else -1.0,
            )
        )
    return found


def words(svg: str) -> list[str]:
    return [t.text for t in parsed(svg).iter(f"{SVG}text")]


def strokes(svg: str) -> list[str]:
    """The colours of all lines and arrows."""
    return [p.get("stroke", "none") for p in parsed(svg).iter(f"{SVG}path")]
