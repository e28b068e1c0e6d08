"""Pictures of small nests: instances as dots, dependences as arrows, tiles as outlines; as SVG text, for teaching.

    draw(jacobi, T=4, N=8)                                       instances where their iterators say
    draw(jacobi, T=4, N=8, schedule=tiled)                       instances where their times say, tile by tile
    draw(jacobi, T=4, N=8, schedule=tiled, coordinates="instances")    the tiles, in the space of the iterators
    draw(jacobi, T=4, N=8, colour="2t + i")                      wavefronts: a colour for each value

The first iterator goes to the right, the second one up. Statements that share places stand side by side. An arrow runs
from a source to its sink and is bent where a straight one would run through a dot. Of the memory-based dependences
those are left out that two others imply: they are the longest arrows and say nothing new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from polyvolta.sched.dependence.canvas import Canvas, Dot, Svg
from polyvolta.sched.dependence.memory import dependences as dependences_of
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.dependence.order import Branch, Clock, clocks, parameters
from polyvolta.sched.program.model import Program
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, NotPlottable, Set, UnknownName, aff, nearest
from polyvolta.sets.conjuncts.conjunct import holds
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.aff import Floor

MOST_DOTS = 600
MOST_ARROWS = 2000

Instance = tuple[str, tuple[int, ...]]
Coordinates = Literal["time", "instances"]

__all__ = ["Svg", "draw"]


def draw(
    nest: Program | Schedule | Set,
    dependences: Iterable[Dependence] | None = None,
    *,
    schedule: Schedule | None = None,
    coordinates: Coordinates = "time",
    colour: str | Aff | None = None,
    cut: Mapping[str, int] | None = None,
    **sizes: int,
) -> Svg:
    """A picture of a nest of one or two dimensions at given sizes.

    Parameters
    ----------
    nest : a program, a schedule or the instances alone.
    dependences : what the arrows are; by default those of the program, or those that the schedule carries.
    schedule : its times are the axes, or with coordinates="instances" its outer times make tiles of the iterators'
        space. Of several times the last two of loops that differ are the axes, places in a tile as what they were
        before tiling, and what is outside them makes the tiles. Statements that a sequence parts stand side by side.
    colour : an expression in iterators and parameters; instances with one value have one colour. By default a colour
        for each statement.
    cut : iterators with a fixed value, for a slice through a nest of more dimensions.
    sizes : a value for each parameter.

    Raises
    ------
    NotPlottable : three dimensions or more, or more instances than can be told apart; something that is no nest.
    UnknownName : a size that is no parameter, a cut through no iterator, coordinates that there are not.
    Unbounded : a parameter without a value.

    >>> from polyvolta.sets import Map
    >>> square = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }")
    >>> flow = Map("{ S[i, j] -> S[i + 1, j] }").intersect_domain(square).intersect_range(square)
    >>> picture = draw(square, [Dependence("RAW", "A", "S", "S", flow)], N=3)
    >>> picture.text.count("<title>"), picture.text.count("flow (RAW)")
    (9, 1)
    """
    domain, found = _asked(nest, dependences)
    if coordinates not in get_args(Coordinates):
        raise UnknownName(
            f"there are no coordinates called {coordinates!r}", hint=nearest(str(coordinates), get_args(Coordinates))
        )
    _check_sizes(domain, found, schedule, sizes)
    instances = _instances(domain, sizes, cut or {})
    iterators = {s.out.name or "": s.out.dims for s, _ in domain.parts}
    scene = _Scene(iterators, sizes, cut or {})
    places, axes, tiles = scene.places(instances), scene.axes(), {}
    if schedule is not None:
        timed = _Times(schedule, iterators, sizes, instances)
        tiles = timed.tiles()
        if coordinates == "time":
            places, axes = timed.places(), timed.names()
    arrows = _arrows(found, set(instances), sizes)
    canvas = Canvas(axes)
    values = {x: scene.value(colour, x) for x in instances} if colour is not None else {}
    for x in instances:
        key = x[0] if colour is None else values[x]
        canvas.dots.append(Dot(x, f"{x[0]}[{', '.join(map(str, x[1]))}]", places[x], key, tiles.get(x)))
    canvas.arrows = arrows
    canvas.legend = "statement" if colour is None else str(colour)
    return canvas.svg()


# ---- what is drawn


def _asked(nest: Program | Schedule | Set, given: Iterable[Dependence] | None) -> tuple[Set, list[Dependence]]:
    if isinstance(nest, Program):
        return nest.domain, list(dependences_of(nest) if given is None else given)
    if isinstance(nest, Schedule):
        return nest.domain, list((nest.dependences or ()) if given is None else given)
    if not isinstance(nest, Set):
        raise NotPlottable(
            f"a nest is a Program, a Schedule or a Set of instances, not {kind_of(nest)}", where=repr(nest)
        )
    return nest, list(given or ())


def _check_sizes(domain: Set, found: Iterable[Dependence], schedule: Schedule | None, sizes: Mapping[str, int]) -> None:
    params = [*domain.param_names, *[p for d in found for p in d.relation.param_names]]
    params += parameters(schedule) if schedule is not None else ()
    for name in sizes:
        if name not in params:
            raise UnknownName(f"no parameter is called {name!r}", where=str(domain), hint=nearest(name, params))


def _instances(domain: Set, sizes: Mapping[str, int], cut: Mapping[str, int]) -> list[Instance]:
    """The instances, few enough to be drawn."""
    dims = {d for s, _ in domain.parts for d in s.out.dims}
    for name in cut:
        if name not in dims:
            raise UnknownName(f"no iterator is called {name!r}", where=str(domain), hint=nearest(name, dims))
    out: list[Instance] = []
    known = {p: v for p, v in sizes.items() if p in domain.param_names}
    for space, _ in domain.parts:
        name, own = space.out.name or "", domain.only(space.out.name)
        here = {d: v for d, v in cut.items() if d in space.out.dims}
        free = [d for d in space.out.dims if d not in here]
        if len(free) > 2:
            raise NotPlottable(
                f"{space.out} has more than two dimensions",
                where=str(domain),
                hint=f"draw a slice: cut={ ({**cut, **dict.fromkeys(free[2:], 0)}) }",
            )
        own = own.fix(**here) if here else own
        for p in own.points(**known):
            out.append((name, p))
            if len(out) > MOST_DOTS:
                at = ", ".join(f"{n}={v}" for n, v in known.items())
                smaller = ", ".join(f"{n}=8" for n in known)
                raise NotPlottable(
                    f"more than {MOST_DOTS} instances are too many to be told apart" + f" (at {at})" * bool(at),
                    where=str(domain),
                    hint=f"smaller sizes show the same pattern: {smaller}" if smaller else "draw a part of the set",
                )
    if not out:
        at = ", ".join(f"{n}={v}" for n, v in {**known, **cut}.items())
        raise NotPlottable("there is no instance to be drawn" + f" at {at}" * bool(at), where=str(domain))
    return out


def _arrows(found: list[Dependence], drawn: set[Instance], sizes: Mapping[str, int]) -> list[tuple]:
    """(kind, source, sink) of the dependences between instances that are drawn, without those that two others imply."""
    pairs: dict[str, dict[tuple[Instance, Instance], None]] = {}
    for d in found:
        known = {p: v for p, v in sizes.items() if p in d.relation.param_names}
        n = len(d.relation.space.inp.dims) if d.relation.space.inp else 0
        for p in d.relation.wrap().points(**known):
            x, y = (d.source, p[:n]), (d.sink, p[n:])
            if x in drawn and y in drawn:
                pairs.setdefault(d.kind, {})[x, y] = None
    later: dict[Instance, set[Instance]] = {}
    for group in pairs.values():
        for x, y in group:
            later.setdefault(x, set()).add(y)
    out = []
    for kind, group in pairs.items():
        for x, y in group:
            if kind == "RAW" or not any(y in later.get(z, ()) for z in later[x] if z != y):
                out.append((kind, x, y))
    if len(out) > MOST_ARROWS:
        raise NotPlottable(
            f"{len(out)} dependences are more arrows than can be followed",
            hint="draw fewer of them: [d for d in dependences if d.kind == 'RAW'], or smaller sizes",
        )
    return out


# ---- where it is drawn


@dataclass(frozen=True, slots=True)
class _Scene:
    """The space of the iterators."""

    iterators: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, int]
    cut: Mapping[str, int]

    def axes(self) -> tuple[str, ...]:
        """What the two axes are called, the second one "" for a nest of one dimension."""
        kept = [[d for d in dims if d not in self.cut] for dims in self.iterators.values()]
        return tuple("/".join(dict.fromkeys(d[k] for d in kept if len(d) > k)) for k in (0, 1))

    def places(self, instances: list[Instance]) -> dict[Instance, tuple[int, int]]:
        """Where the iterators put each instance; what has fewer of them stands before the others."""
        points = {}
        for s, p in instances:
            points[s, p] = [v for d, v in zip(self.iterators[s], p, strict=True) if d not in self.cut]
        least = []
        for k in (0, 1):
            values = [p[k] for p in points.values() if len(p) > k]
            least.append(min(values) - 1 if values else 0)
        return {x: (*p, *least[len(p) :]) for x, p in points.items()}  # type: ignore[misc]

    def value(self, colour: str | Aff | None, x: Instance) -> int:
        """The value of an expression at an instance."""
        at = {**self.sizes, **dict(zip(self.iterators[x[0]], x[1], strict=True))}
        return aff(colour or 0).evaluate(at)  # type: ignore[return-value]


class _Times:
    """The times of some instances."""

    def __init__(
        self,
        schedule: Schedule,
        iterators: Mapping[str, tuple[str, ...]],
        sizes: Mapping[str, int],
        instances: list[Instance],
    ) -> None:
        params = parameters(schedule)
        table, self.rows, self.spots, self.texts = clocks(schedule, params), {}, {}, {}
        at = [sizes.get(p, 0) for p in params]
        for s, p in instances:
            clock = next((c for c in table.get(s, ()) if _has(c, (*at, *p))), None)
            if clock is None:
                raise NotPlottable(f"the schedule has no time for {s}{list(p)}", where=str(schedule))
            values = {**sizes, **dict(zip(clock.iterators, p, strict=True))}
            exprs = [t.value if isinstance(t, Branch) else t for t in clock.times]
            self.rows[s, p] = [e.evaluate(values) for e in exprs]
            self.texts[s] = [_untiled(e) for e in exprs]
            self.spots[s, p] = [e.evaluate(values) for e in self.texts[s]]
        width = max(len(r) for r in self.rows.values())
        for r in (*self.rows.values(), *self.spots.values()):
            r += [0] * (width - len(r))
        moving = [k for k in range(width) if len({r[k] for r in self.rows.values()}) > 1]
        sequence = [k for k in moving if all(k >= len(e) or e[k].is_constant for e in self.texts.values())]
        loops = [k for k in moving if k not in sequence]
        plain = [k for k in loops if not any(k < len(e) and _has_floor(e[k]) for e in self.texts.values())]
        self.shown = (plain or loops)[-2:]
        self.outer = [k for k in loops if k not in self.shown]

    def names(self) -> tuple[str, ...]:
        """What the axes are called: the expressions, if all statements have the same."""
        out = []
        for k in self.shown:
            texts = {str(e[k]) for e in self.texts.values() if k < len(e)}
            out.append(texts.pop() if len(texts) == 1 else f"time {k}")
        return (*out, "")[:2] if out else ("time", "")

    def places(self) -> dict[Instance, tuple[int, int]]:
        return {x: (*[r[k] for k in self.shown], 0, 0)[:2] for x, r in self.spots.items()}  # type: ignore[misc]

    def tiles(self) -> dict[Instance, tuple[int, ...]]:
        """The outer times of each instance."""
        return {x: tuple([r[k] for k in self.outer]) for x, r in self.rows.items()} if self.outer else {}


def _untiled(e: Aff) -> Aff:
    """What an expression is the place in a tile of: f for f - d⌊f/d⌋; itself else."""
    match [t for t in e.terms if not isinstance(t[0], str)]:
        case [(Floor(num, den), factor)] if factor == -den and e + den * (num // den) == num:
            return num
    return e


def _has_floor(e: Aff) -> bool:
    return any(not isinstance(atom, str) for atom, _ in e.terms)


def _has(clock: Clock, point: tuple[int, ...]) -> bool:
    return clock.instances is None or any(holds(c, point) for c in clock.instances)
