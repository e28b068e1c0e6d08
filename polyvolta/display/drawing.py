"""Graphs of boxes and arrows as SVG in the page's own colours; and pictures that take no more room than there is.

Boxes stand in layers, each below those that lead to it. An arrow over several layers goes through a place of its own in
each; the order of a layer is that of what its boxes hang on above, then below, a few times over.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

LETTER, LINE, PAD, GAP, DEEP = 7.3, 17.0, 9.0, 26.0, 46.0  # pixels: of a letter of 12, of a line; around and between
SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """Lines of text in a box; the first one is bold. `round` for what is given or kept, not computed."""

    lines: tuple[str, ...]
    round: bool = False

    @property
    def width(self) -> float:
        return max((len(line) for line in self.lines), default=0) * LETTER + 2 * PAD

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + PAD


Edge = tuple[Hashable, Hashable, str]


def drawn(boxes: Mapping[Hashable, Box], edges: Sequence[Edge], title: str = "") -> str:
    """A graph without circles, as SVG.

    Parameters
    ----------
    boxes : by key, in the order in which they are wanted where that doesn't matter.
    edges : (from, to, label).
    """
    layers, chains = _layers(boxes, edges)
    where = {key: at for layer in layers for key, at in _places(layer, boxes)}
    left = min(x - _width(k, boxes) / 2 for k, x in where.items())
    right = max(x + _width(k, boxes) / 2 for k, x in where.items())
    tops, y = [], 0.0
    for layer in layers:
        tall = max((boxes[k].height for k in layer if k in boxes), default=0.0)
        tops.append((y, tall))
        y += tall + DEEP
    level = {k: n for n, layer in enumerate(layers) for k in layer}
    parts = [_edge(chain, label, where, level, tops, boxes) for chain, label in chains]
    parts += [_box(boxes[k], where[k], tops[level[k]][0]) for k in boxes]
    width, height = right - left + 4, y - DEEP + 4
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{left - 2:.1f} -2 {width:.1f} {height:.1f}" font-size="12" fill="currentColor" '
            f'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace">'
            f"<title>{escape(title)}</title>{''.join(parts)}</svg>")  # fmt: skip


def scaled(svg: str) -> str:
    """A picture that gets narrower with its page, and keeps its shape."""
    return re.sub(r"<svg\b", '<svg style="max-width:100%;height:auto"', svg, count=1)


def _layers(
    boxes: Mapping[Hashable, Box], edges: Sequence[Edge]
) -> tuple[list[list[Hashable]], list[tuple[list[Hashable], str]]]:
    """The boxes of each layer, with places for arrows that pass; and of each arrow where it goes along."""
    level: dict[Hashable, int] = dict.fromkeys(boxes, 0)
    for _ in boxes:  # longest paths
        for a, b, _ in edges:
            level[b] = max(level[b], level[a] + 1)
    for key in boxes:  # what nothing leads to stands right above where it is used
        if (users := [level[b] for a, b, _ in edges if a == key]) and not any(b == key for _, b, _ in edges):
            level[key] = min(users) - 1
    layers: list[list[Hashable]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for key in boxes:
        layers[level[key]].append(key)
    chains: list[tuple[list[Hashable], str]] = []
    for n, (a, b, label) in enumerate(edges):
        passing = [("pass", n, m) for m in range(level[a] + 1, level[b])]
        for at in passing:
            layers[at[2]].append(at)
        chains.append(([a, *passing, b], label))
    links = [pair for chain, _ in chains for pair in zip(chain, chain[1:])]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for n in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            at = {k: m for m, k in enumerate(layers[n - 1 if down else n + 1])}
            near = {k: [at[a if down else b] for a, b in links if (b if down else a) == k and (a if down else b) in at]
                    for k in layers[n]}  # fmt: skip
            own = {k: m for m, k in enumerate(layers[n])}
            layers[n].sort(key=lambda k: sum(near[k]) / len(near[k]) if near[k] else own[k])  # noqa: B023
    return layers, chains


def _width(key: Hashable, boxes: Mapping[Hashable, Box]) -> float:
    return boxes[key].width if key in boxes else 2 * LETTER


def _places(layer: Sequence[Hashable], boxes: Mapping[Hashable, Box]) -> list[tuple[Hashable, float]]:
    """The middles of a layer's boxes, the whole around 0."""
    widths = [_width(k, boxes) for k in layer]
    x, out = -(sum(widths) + GAP * (len(widths) - 1)) / 2, []
    for key, wide in zip(layer, widths, strict=True):
        out.append((key, x + wide / 2))
        x += wide + GAP
    return out


def _edge(
    chain: Sequence[Hashable], label: str, where: Mapping[Hashable, float], level: Mapping[Hashable, int],
    tops: Sequence[tuple[float, float]], boxes: Mapping[Hashable, Box],
) -> str:  # fmt: skip
    a, b = chain[0], chain[-1]
    spread = max(-0.35, min(0.35, (where[chain[-2]] - where[b]) / (2 * boxes[b].width + 1))) * boxes[b].width
    points = [(where[a], tops[level[a]][0] + boxes[a].height)]
    for key in chain[1:-1]:
        top, tall = tops[level[key]]
        points += [(where[key], top), (where[key], top + tall)]
    points.append((where[b] + spread, tops[level[b]][0] - 6))
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in zip(points, points[1:]):
        bend = (y2 - y1) / 2
        path += f"C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    x, y = points[-1]
    head = f'<path d="M{x - 4:.1f} {y - 1:.1f}L{x + 4:.1f} {y - 1:.1f}L{x:.1f} {y + 6:.1f}Z" opacity=".7"/>'
    (x1, y1), (x2, y2) = points[-2], points[-1]
    words = f'<text x="{(x1 + x2) / 2 + 6:.1f}" y="{(y1 + y2) / 2 + 4:.1f}" opacity=".8">{escape(label)}</text>'
    return f'<path d="{path}" fill="none" stroke="currentColor" opacity=".55"/>{head}' + words * bool(label)


def _box(box: Box, x: float, y: float) -> str:
    place = f'x="{x - box.width / 2:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    bend = box.height / 2 if box.round else 4
    out = f'<rect {place} rx="{bend:.1f}" fill-opacity=".06" stroke="currentColor" stroke-opacity=".5"/>'
    for n, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if n == 0 else ""
        base = y + PAD / 2 + LINE * n + 12.5
        out += f'<text x="{x:.1f}" y="{base:.1f}" text-anchor="middle"{weight}>{escape(line)}</text>'
    return out
