"""Which statements share loops: clusters of strongly connected components, scheduled as one.

    min    every component on its own
    paper  two clusters become one if together they have a band as wide as the wider of them, with as many outer
           parallel members as either has alone, and share a loop in which one uses what the other made at a
           distance that does not grow with the parameters
    max    two clusters become one if together they have any band, and if one uses what the other made, such a loop
    near   two clusters become one if one uses what the other made and stays close to it in the band they have together,
           however wide and parallel that is; what isl does by default

"paper" is what isl calls maximising band depth and coincidence: a matrix product and a pointwise operation on its
result become the one band of the paper's figures, while a chain of two products, one of which would lose a parallel
loop, does not.

Clusters are merged one by one in the order of the program, the nearest first; first it is tried whether all components
can be one cluster, as they often can. Two may not become one if something between them would have to run both after
and before it.

With "near" they are merged along uses, those first that can be aligned in most directions, and what has to run between
two is merged with them (S. Verdoolaege, "Integer set library: manual", options `schedule_whole_component` and
`schedule_maximize_band_depth`, which are off).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from polyvolta.sched.components import Arc, connected, strongly_connected
from polyvolta.sched.scheduler.bands import Found, Prior, complement
from polyvolta.sched.scheduler.farkas import cone
from polyvolta.sched.scheduler.pieces import Piece, steps, within
from polyvolta.sched.scheduler.problem import distance
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts import lattice
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.conjuncts.lattice import echelon
from polyvolta.sets.engine.rows import Row, dot, negate

Fuse = Literal["paper", "max", "min", "near"]
Group = tuple[int, ...]
Explain = Callable[[Callable[[], str]], object]
"""Called with what makes a step's text, which nobody may want."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """What one statement uses of what another made.

    Parameters
    ----------
    pieces : over (parameters, source, sink).
    equalities : of all their points, forms over (1, parameters, source, sink).
    first : where the iterators begin in these.
    weight : how many iterators of the sink the source's say.
    """

    source: int
    sink: int
    pieces: tuple[Conjunct, ...]
    equalities: tuple[Row, ...]
    first: int
    weight: int

    @property
    def arc(self) -> Arc:
        return self.source, self.sink

    def small(self, form: Row) -> bool:
        """Whether a distance is at most SMALL, either way, at all pairs of instances. Exact."""
        return all(_at_most(c, form, SMALL) and _at_most(c, negate(form), SMALL) for c in self.pieces)

    def at_one_place(self, source: Row, sink: Row) -> bool:
        """Whether a member has one value, of parameters and numbers, for all sources or for all sinks of it."""
        ends = (
            (*source[self.first :], *(0,) * len(sink[self.first :])),
            (*(0,) * len(source[self.first :]), *sink[self.first :]),
        )
        rows = [e[self.first :] for e in self.equalities]
        return any(_rank([*rows, end]) == _rank(rows) for end in ends)


SMALL = 2


def _at_most(c: Conjunct, form: Row, bound: int) -> bool:
    """Whether a form is at most a number at all integer points. Exact; by the cone, else an integer program."""
    edge = cone(c)
    if edge.nonnegative((bound - form[0], *negate(form[1:]))):
        return True
    if edge.integral and not edge.relaxed:
        return False
    beyond = cj.normalise(c.n, c.divs, c.eqs, (*c.ineqs, (form[0] - bound - 1, *form[1:], *(0,) * len(c.divs))))
    return beyond is None or beyond.is_empty


def _rank(rows: Sequence[Sequence[int]]) -> int:
    return len(echelon([tuple(r) for r in rows if any(r)]))


def uses_of(
    pieces: Sequence[Piece],
    home: dict[int, int],
    fresh: Callable[[Group], Prior],
    depths: Callable[[Group], tuple[int, ...]],
) -> list[Use]:
    """What statements of different parts use of each other, in the order of the pieces."""
    found: dict[Arc, list[Conjunct]] = {}
    for p in pieces:
        if p.near and home[p.source] != home[p.sink]:
            found.setdefault(p.arc, []).append(p.conjunct)
    return [_use(arc, cs, fresh(arc), depths(arc)) for arc, cs in found.items()]


def _use(arc: Arc, conjuncts: Sequence[Conjunct], fresh: Prior, depths: Sequence[int]) -> Use:
    """A use and its weight, of the directions that source and sink have no row for."""
    n = conjuncts[0].n
    grids = [g for c in conjuncts if (g := lattice.of_conjunct(c)) is not None]
    rows = tuple(lattice.equalities(n, lattice.joined(grids))) if grids else ()
    split = 1 + n - depths[1]
    first = split - depths[0]
    source, sink = fresh
    # the sink's last directions first, so that a row's leading entry is one of the sink's if it has any
    turned = echelon(
        [(*[dot(d, r[split:]) for d in reversed(sink)], *[dot(d, r[first:split]) for d in source]) for r in rows]
    )
    weight = sum(1 for r in turned if any(r[: len(sink)]) and any(r[len(sink) :]))
    return Use(*arc, tuple(conjuncts), rows, first, weight)


class Fusion:
    """The choice of clusters among some statements.

    Parameters
    ----------
    nodes : the statements, in program order.
    pieces : the dependences between them that are to be satisfied.
    band : the band of a group of them.
    parallel : how many outer members of a group's band are parallel, where that is known before the band is, else None.
    still : whether a row without distances, whatever its signs, is taken before others.
    fresh : for each statement of a group the directions that it has no row for.
    depths : how many iterators each statement of a group has.
    """

    def __init__(
        self,
        nodes: Group,
        pieces: Sequence[Piece],
        fuse: Fuse,
        band: Callable[[Group], Found],
        parallel: Callable[[Group], int | None],
        still: bool,
        fresh: Callable[[Group], Prior],
        depths: Callable[[Group], tuple[int, ...]],
        explain: Explain,
        names: Callable[[Group], str],
    ) -> None:
        self.nodes, self.pieces, self.fuse, self.band, self.fresh = nodes, pieces, fuse, band, fresh
        self.depths, self.explain, self.names = depths, explain, names
        self.parallel, self.still = parallel, still
        self.known: dict[Group, Found] = {}  # bands of groups
        self.arcs: list[Arc] = list(dict.fromkeys([p.arc for p in pieces if p.source != p.sink and p.valid]))
        self.near: dict[int, set[int]] = {v: set() for v in nodes}  # those that a dependence joins with it
        self.after: dict[int, list[int]] = {v: [] for v in nodes}
        self.own: dict[int, list[Piece]] = {v: [] for v in nodes}  # dependences on itself
        for p in pieces:
            if p.source == p.sink:
                self.own[p.source].append(p)
            else:
                self.near[p.source].add(p.sink)
                self.near[p.sink].add(p.source)
        for x, y in self.arcs:
            self.after[x].append(y)
        self.parts = strongly_connected(nodes, self.arcs)

    def clusters(self) -> list[Group]:
        """The clusters, in an order in which all dependences go forward."""
        parts = self.parts
        if len(parts) == 1 or self.fuse == "min":
            return parts
        if self.fuse == "near":
            return self._in_order(self._aligned())
        if len(parts) > 2 and self._accepted(parts, silent=True):
            self.explain(lambda: f"{self.names(self.nodes)} become one cluster")
            return [self.nodes]
        done: list[Group] = []
        for part in parts:
            current, merging = part, True
            while merging:
                merging = False
                for other in reversed(done):
                    if self._may_join(other, current) and self._accepted([other, current]):
                        done.remove(other)
                        current, merging = self._sorted(other, current), True
                        break
            done.append(current)
        return self._in_order(done)

    def _aligned(self) -> list[Group]:
        """Clusters merged along uses as long as what is used stays close, each named by its first part.

        A use that keeps parts of its distances large, where one side is at one place, is tried after all others. A
        merge that is refused is not tried again, nor is one that takes in what was refused.
        """
        home = {v: k for k, part in enumerate(self.parts) for v in part}
        uses = [
            u
            for u in uses_of(self.pieces, home, self.fresh, self.depths)
            if all(self._mergeable(self.parts[home[v]]) for v in u.arc)
        ]
        refused: set[Use] = set()
        late: set[Use] = set()
        while todo := [u for u in uses if u not in refused and home[u.source] != home[u.sink]]:
            best = min(todo, key=lambda u: (u in late, -u.weight, home[u.sink] - home[u.source]))
            whole = self._sorted(self._between(home, best))
            inside = [u for u in uses if {*u.arc} <= {*whole}]
            if not refused.isdisjoint(inside):
                refused.add(best)
            elif best not in late and not late.isdisjoint(inside):
                late.add(best)
            else:
                again = best in late
                if self._close(whole, [u for u in inside if home[u.source] != home[u.sink]], late):
                    home.update(dict.fromkeys(whole, min(home[v] for v in whole)))
                    self.explain(lambda whole=whole: f"{self.names(whole)} become one cluster")
                elif again or best not in late:
                    refused.add(best)
                    self.explain(lambda whole=whole: f"{self.names(whole)} stay apart: no use between them stays close")
        return [tuple([v for v in self.nodes if home[v] == k]) for k in sorted({*home.values()})]

    def _mergeable(self, part: Group) -> bool:
        """Whether a part has a band, or needs none."""
        return not any(self.fresh(part)) or bool(self._band(part).width)

    def _between(self, home: dict[int, int], use: Use) -> Group:
        """The statements of two clusters, and of all that have to run between them."""
        ends = {home[v] for v in use.arc}
        arcs = {(home[a], home[b]) for a, b in self.arcs}
        ways = [{*ends}, {*ends}]
        for reached, pairs in zip(ways, (arcs, {(b, a) for a, b in arcs})):
            while more := {b for a, b in pairs if a in reached and b not in reached}:
                reached |= more
        kept = ways[0] & ways[1]
        return tuple([v for v in self.nodes if home[v] in kept])

    def _close(self, whole: Group, uses: Sequence[Use], late: set[Use]) -> bool:
        """Whether some of the uses between the clusters stay close in the band of all of them.

        A use whose distances are large only in members in which one side is at one place, and which has as many other
        members as it can be aligned in, is close enough once it is late, if no part loses members; until then it
        becomes late.
        """
        joint = self._band(whole)
        if not joint.width:
            return False
        number, depths = {v: k for k, v in enumerate(whole)}, self.depths(whole)
        spared = joint.width if joint.width >= max(self._band(p).width for p in self.parts if p[0] in number) else 0
        for u in uses:
            source, sink = number[u.source], number[u.sink]
            far = [f for f in joint.rows if not u.small(distance(source, sink, f, depths))]
            spare = len(far) <= spared - u.weight and all(u.at_one_place(f[source], f[sink]) for f in far)
            if not far or (spare and u in late):
                return True
            if spare:
                late.add(u)
        return False

    def _sorted(self, *groups: Group) -> Group:
        together = {v for g in groups for v in g}
        return tuple([v for v in self.nodes if v in together])

    def _may_join(self, a: Group, b: Group) -> bool:
        """Whether they touch, and nothing outside both runs between them."""
        inside = {*a, *b}
        if self.fuse != "max" and all(self.near[x].isdisjoint(b) for x in a):
            return False
        for start, goal in ((a, b), (b, a)):
            todo = [y for x in start for y in self.after[x] if y not in inside]
            seen = set(todo)
            while todo:
                for y in self.after[todo.pop()]:
                    if y in goal:
                        return False
                    if y not in inside and y not in seen:
                        seen.add(y)
                        todo.append(y)
        return True

    def _accepted(self, parts: Sequence[Group], silent: bool = False) -> bool:
        """Whether the parts are better scheduled as one."""
        whole = self._sorted(*parts)
        plain = self._less_parallel(parts, whole)
        verdict = None if plain else self._objection(parts, whole)
        fused = not plain and verdict is None
        if not silent:
            what = lambda: "are fused" if fused else f"stay apart: {verdict or self._objection(parts, whole)}"  # noqa: E731
            self.explain(lambda: f"{' and '.join(map(self.names, parts))} {what()}")
        return fused

    def _less_parallel(self, parts: Sequence[Group], whole: Group) -> bool:
        """Whether it is plain that together fewer outer members are parallel than one of the parts has alone."""
        if self.fuse != "paper" or not all(any(self.fresh(p)) for p in parts):
            return False
        least = max([self._surely_parallel(part) for part in parts])
        most = self.parallel(whole) if least else None
        return most is not None and most < least

    def _surely_parallel(self, part: Group) -> int:
        """How many outer members are at least parallel in the band of a part; 0 where that isn't known.

        Of one statement, its iterators in directions in which no dependence on itself goes anywhere are.
        """
        if part in self.known:
            return self.known[part].parallel
        if len(part) != 1 or not self.still:
            return 0
        v, fresh, depth = part[0], self.fresh(part)[0], self.depths(part)[0]
        moves = tuple(dict.fromkeys([s for p in self.own[v] for s in steps(p.conjunct, depth)]))
        return len(fresh) - len(complement((*complement(fresh, depth), *complement(moves, depth)), depth))

    def _band(self, group: Group) -> Found:
        if group not in self.known:
            self.known[group] = self.band(group)
        return self.known[group]

    def _objection(self, parts: Sequence[Group], whole: Group) -> str | None:
        no_loop = "one of them has no loop left"
        if not all(any(self.fresh(p)) for p in parts):
            return no_loop
        joint = self._band(whole)
        if not self._at_best(parts, whole, joint):
            alone = [self._band(p) for p in parts]
            if not all(f.width for f in alone):
                return no_loop
            wide, parallel = max(f.width for f in alone), max(f.parallel for f in alone)
            if not joint.width:
                return "they have no band in common"
            if self.fuse == "paper" and joint.width < wide:
                return f"together their band has {joint.width} of {wide} members"
            if self.fuse == "paper" and joint.parallel < parallel:
                return f"together {joint.parallel} of {parallel} outer members are parallel"
        components = [p for p in self.parts if {*p} <= {*whole}]
        if len(connected(range(len(components)), self._near(components, whole, joint))) > 1:
            return "there is no loop in which one uses at a constant distance what the other made"
        return None

    def _at_best(self, parts: Sequence[Group], whole: Group, joint: Found) -> bool:
        """Whether it is plain that each part is one statement with a loop, and has no better band alone.

        A row that is valid for all is valid for each; no band has more members than there are directions left, nor more
        parallel ones than directions in which no dependence of the statement on itself goes anywhere.
        """
        if any(len(part) > 1 for part in parts):
            return False
        for k, (v, fresh, depth) in enumerate(zip(whole, self.fresh(whole), self.depths(whole))):
            rows = [forms[k][len(forms[k]) - depth :] for forms in joint.rows]
            if len(fresh) > joint.width or not any(dot(h, row) for h in fresh for row in rows):
                return False
            own = [p.conjunct for p in self.own[v] if p.coincident and not p.conditional]
            if len(complement(tuple(dict.fromkeys([s for c in own for s in steps(c, depth)])), depth)) > joint.parallel:
                return False
        return True

    def _near(self, parts: Sequence[Group], whole: Group, joint: Found) -> list[Arc]:
        """Which parts, by position, share a loop at constant distance; with "max" also those that do not touch."""
        home = {v: k for k, part in enumerate(parts) for v in part}
        number = {v: k for k, v in enumerate(whole)}
        depths = self.depths(whole)
        touching, out = set(), set()
        for p in within(self.pieces, whole):
            a, b = home[p.source], home[p.sink]
            if a == b:
                continue
            touching.add(frozenset((a, b)))
            if (a, b) in out:
                continue
            source, sink = number[p.source], number[p.sink]
            for forms in joint.rows:
                if all(any(forms[v][len(forms[v]) - depths[v] :]) for v in (source, sink)):
                    if cone(p.conjunct).bounded(distance(source, sink, forms, depths)):
                        out.add((a, b))
                        break
        if self.fuse == "max":
            out |= {(a, b) for b in range(len(parts)) for a in range(b) if frozenset((a, b)) not in touching}
        return sorted(out)

    def _in_order(self, groups: Sequence[Group]) -> list[Group]:
        home = {v: min(g, key=self.nodes.index) for g in groups for v in g}
        first = [v for v in self.nodes if home[v] == v]
        order = strongly_connected(first, [(home[a], home[b]) for a, b in self.arcs])
        of = {home[g[0]]: g for g in groups}
        return [of[v] for (v,) in order]
