"""Pictures of sets of one or two dimensions, and of maps between them.

Every integer point is a dot, found by `points`. Behind the dots of a piece lies its outline: the rational polygon of
its inequalities, each of which cuts a half off what is left of a box around the points; or, where floors or strides
take part, the convex hull of the points. A map is drawn as arrows, in the plane of its two dimensions, or from one
number line to another.

matplotlib is imported by the first picture; nothing else here needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import gcd
from typing import TYPE_CHECKING, Any

from ..conjuncts.conjunct import Conjunct
from ..counting.count import concrete
from ..errors import BudgetExceeded, NotPlottable, kind_of
from ..values.space import Space

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set

Point = tuple[float, ...]  # of two numbers
MOST_POINTS = 10_000
MOST_ARROWS = 1_500
DOT = 26.0  # the area of a dot in square points, where there is room
GREY = "0.5"  # readable on a light and on a dark page


def plot_set(self: Set, ax: Any = None, **params: int) -> Any:
    """Draw a set of one or two dimensions, its parameters given numbers; returns matplotlib's Axes.

    `ax` is where to draw, by default a figure of its own; `params` are values by name.

    Every integer point is a dot; the rational polygon of each piece is shaded. Tuples, or else pieces, differ in
    colour, and tuples of one dimension have lines of their own. Cost: one search per point, at most 10,000 of them.

    Raises
    ------
    NotPlottable : the points have more than two dimensions, or matplotlib is missing.
    Unbounded : there are infinitely many points, or a parameter has no value.
    BudgetExceeded : there are too many points.

    >>> from polyvolta.sets import Set
    >>> ax = Set("[N] -> { [i, j] : 0 <= j <= i < N }").plot(N=6)
    """
    dims = {len(s.dims) for s, _ in self.parts}
    if not dims <= {1, 2} or len(dims) > 1:
        raise NotPlottable(
            "only sets of one or two dimensions can be drawn",
            where="; ".join(str(s) for s, _ in self.parts) or str(self),
            hint="fix or project out the others",
        )
    ax = _axes(ax)
    several = len(self.parts) > 1
    flat, seen = dims == {1}, set()
    names = [s.out.name or "" for s, _ in self.parts]
    for k, (space, piece) in enumerate(_colours(self)):
        found = _drawn(piece, params, MOST_POINTS - len(seen))
        line = k if flat and several else 0
        _polygons(ax, concrete(piece, params), f"C{k}", flat, line)
        new = [p for p in found if (space.key, p) not in seen]
        label = names[k] if several else None
        _dots(ax, [(p[0], line) if flat else p for p in new], f"C{k}", label, len(found))
        seen |= {(space.key, p) for p in new}
    if self.parts:
        _frame(ax, self.parts[0][0].dims, [(*p, 0)[:2] for _, p in seen])
    if several and flat:
        ax.set_yticks(range(len(names)), [str(s.out) for s, _ in self.parts])
        ax.set_ylim(-0.7, len(names) - 0.3)
        ax.set_box_aspect(0.1 * len(names))
        ax.set_xlabel("")
    elif several:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))  # beside the points
    return ax


def plot_map(self: Map, ax: Any = None, **params: int) -> Any:
    """Draw a map as arrows, its parameters given numbers; returns matplotlib's Axes.

    `ax` is where to draw, by default a figure of its own; `params` are values by name. See `Set.plot`.

    From one dimension to one: arrows from a number line to another above it. From two dimensions to two: arrows in
    the plane. An arrow that would run over other points is bent; a point mapped to itself gets a ring.

    Raises
    ------
    NotPlottable : other numbers of dimensions, or matplotlib is missing.
    Unbounded : there are infinitely many pairs, or a parameter has no value.
    BudgetExceeded : there are too many pairs.
    """
    shapes = {(s.n_in, s.n_out) for s, _ in self.parts}
    if len(shapes) > 1 or not shapes <= {(1, 1), (2, 2)}:
        raise NotPlottable(
            "only maps between sets of one dimension, or of two, can be drawn",
            where="; ".join(str(s) for s, _ in self.parts),
            hint="fix or project out some dimensions",
        )
    ax = _axes(ax)
    flat, dots = shapes == {(1, 1)}, dict[tuple[Point, bool], None]()
    for k, (_, piece) in enumerate(_colours(self)):
        for pair in _drawn(piece, params, MOST_ARROWS):
            start, end = ((pair[0], 0.0), (pair[1], 1.0)) if flat else (pair[:2], pair[2:])
            _arrow(ax, start, end, f"C{k}", flat)
            dots[start, False] = dots[end, True] = None
    points = [p for p, _ in dots]
    _dots(ax, list(dict.fromkeys(points)), GREY, None, len(points))
    if self.parts:
        space = self.parts[0][0]
        _frame(ax, space.dims[:1] if flat else space.dims[:2], points)
        if flat:
            ax.set_yticks([0, 1], [str(space.inp), str(space.out)])
            ax.set_ylim(-0.15, 1.15)
            ax.set_box_aspect(0.4)
            ax.tick_params(axis="y", length=0)
            ax.set_xlabel("")
    return ax


# ---- what is drawn


def _colours(r: Relation) -> Iterable[tuple[Space, Relation]]:
    """What has a colour of its own: the tuples if there are several, else the pieces."""
    several = len(r.parts) > 1
    groups = [cs if several else (c,) for _, cs in r.parts for c in (cs[:1] if several else cs)]
    spaces = [s for s, cs in r.parts for _ in (cs[:1] if several else cs)]
    return [(s, r._of(r.param_names, [(s, g)])) for s, g in zip(spaces, groups, strict=True)]


def _drawn(r: Relation, params: dict[str, int], limit: int) -> list[tuple[int, ...]]:
    """The points, unless there are more than fit a picture."""
    found = list(islice(r.points(**params), limit + 1))
    if len(found) > limit:
        raise BudgetExceeded(f"more than {limit} points to draw", where=str(r), hint="draw a part of it")
    return found


def outline(c: Conjunct, points: Sequence[tuple[int, ...]]) -> list[Point]:
    """The corners, in order, of the polygon behind the points of a conjunct of two dimensions, which are all given.

    Without floors that is the rational polygon of the inequalities, else the convex hull of the points.

    >>> from polyvolta.sets import Set
    >>> triangle = Set("{ [i, j] : 0 <= j <= i and 2j <= 5 - i }")
    >>> [(round(x, 2), round(y, 2)) for x, y in outline(triangle.parts[0][1][0], list(triangle.points()))]
    [(1.67, 1.67), (0.0, 0.0), (5.0, 0.0)]
    """
    if c.divs:
        return _hull(points)
    (x0, x1), (y0, y1) = ((min(v) - 1, max(v) + 1) for v in zip(*points))
    corners: list[Point] = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    for const, a, b in (*c.ineqs, *c.eqs, *(tuple(-v for v in r) for r in c.eqs)):
        value = [const + a * x + b * y for x, y in corners]
        kept: list[Point] = []
        for k, (p, v) in enumerate(zip(corners, value)):
            q, w = corners[k - 1], value[k - 1]
            if v * w < 0:
                t = v / (v - w)
                kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
            if v >= 0:
                kept.append(p)
        corners = kept
    return list(dict.fromkeys(corners))


def _hull(points: Sequence[tuple[int, ...]]) -> list[Point]:
    """The convex hull by Andrew's monotone chain, counterclockwise; the points are sorted and distinct."""

    def half(points: Iterable[tuple[int, ...]]) -> list[Point]:
        out: list[Point] = []
        for x, y in points:
            while len(out) > 1 and _turn(out[-2], out[-1], (x, y)) <= 0:
                out.pop()
            out.append((x, y))
        return out[:-1]

    return half(points) + half(reversed(points)) if len(points) > 1 else [(x, y) for x, y in points]


def _turn(o: Point, a: Point, b: Point) -> float:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


# ---- how it is drawn


def _axes(ax: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise NotPlottable("pictures need matplotlib", hint="pip install 'polyvolta[plot]'") from None
    if ax is not None and not hasattr(ax, "scatter"):
        raise NotPlottable(
            f"ax is matplotlib's Axes, not {kind_of(ax)}", hint="leave it out, or make one by plt.subplots()"
        )
    return ax if ax is not None else plt.subplots()[1]


def _polygons(ax: Any, r: Relation, colour: str, flat: bool, line: int) -> None:
    """The shaded outlines of the conjuncts."""
    for c in (c for _, cs in r.parts for c in cs):
        points = list(r._of((), [(r.parts[0][0], (c,))]).points())
        if flat and points:
            ends = [points[0][0], points[-1][0]]
            ax.plot(ends, [line, line], color=colour, alpha=0.25, lw=7, solid_capstyle="round", zorder=1)
        corners = outline(c, points) if points and not flat else []
        if len(corners) > 1:
            ax.fill(*zip(*corners), facecolor=colour, alpha=0.16, lw=0, zorder=1)
            ax.fill(*zip(*corners), edgecolor=colour, fill=False, alpha=0.6, lw=1.2, joinstyle="round", zorder=1)


def _dots(ax: Any, points: Sequence[Point], colour: str, label: str | None, count: int) -> None:
    if points:
        size = DOT if count <= 400 else DOT / 3 if count <= 2000 else 2.0
        ax.scatter(*zip(*points), s=size, color=colour, label=label, zorder=3, lw=0)


def _arrow(ax: Any, start: Point, end: Point, colour: str, straight: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    if start == end:
        ax.scatter(*start, s=4 * DOT, facecolor="none", edgecolor=colour, lw=1.2, zorder=2)
        return
    over = gcd(int(end[0] - start[0]), int(end[1] - start[1])) > 1 and not straight
    ax.add_patch(
        FancyArrowPatch(
            (start[0], start[1]), (end[0], end[1]),
            arrowstyle="-|>,head_length=4.5,head_width=2.2", connectionstyle=f"arc3,rad={0.18 * over}",
            shrinkA=3.5, shrinkB=3.5, color=colour, alpha=0.8, lw=1.1, zorder=2,
        )
    )  # fmt: skip


def _frame(ax: Any, dims: Sequence[str], points: Sequence[Point]) -> None:
    """Labels, whole numbers for ticks, a light grid and some room."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(dims[0], style="italic")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(color=GREY, alpha=0.2, lw=0.6)
    if not points:
        return
    (x0, x1), (y0, y1) = ((min(v), max(v)) for v in zip(*points))
    ax.set_xlim(x0 - 0.7, x1 + 0.7)
    if len(dims) == 1:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_ylim(-1, 1)
        ax.set_box_aspect(0.1)
        return
    ax.set_ylabel(dims[1], style="italic", rotation=0, labelpad=10)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylim(y0 - 0.7, y1 + 0.7)
    if max(x1 - x0, y1 - y0) <= 4 * (min(x1 - x0, y1 - y0) + 1):
        ax.set_aspect("equal")
