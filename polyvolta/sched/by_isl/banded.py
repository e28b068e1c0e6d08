"""What a place in a schedule tree is asked and told of a band: the `band_` methods of isl's `ScheduleNode`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, Self

from polyvolta.sched import passes
from polyvolta.sched.by_isl.bands import band_of, map_of, relation_of, universe
from polyvolta.sched.by_isl.kinds import ast_loop_type
from polyvolta.sched.by_isl.standing import Standing
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.passes.common.places import tuples_of
from polyvolta.sched.passes.common.subtree import not_anchored
from polyvolta.sched.passes.order.sink import sunk
from polyvolta.sched.tree import Band, Member, Node, Schedule
from polyvolta.sched.views.isl_read import with_options
from polyvolta.sched.views.isl_write import options_of
from polyvolta.sched.wrapped import plain
from polyvolta.sets import Map, Set, Space, Tuple
from polyvolta.sets.by_isl.functions.multi_union import MultiUnionPwAff
from polyvolta.sets.by_isl.objects.context import option
from polyvolta.sets.by_isl.objects.vectors import MultiVal
from polyvolta.sets.values.space import whole
from polyvolta.sets.values.unions import gives_union


def _loop_type(kind: ast_loop_type | int) -> str:
    """The name of a way to make a loop.

    Raises
    ------
    BadArgument : there is no such way.
    """
    try:
        return ast_loop_type(kind).name
    except ValueError:
        hint = ", ".join(map(str, ast_loop_type))
        raise BadArgument(f"a loop is made by an ast_loop_type, not by {kind!r}", hint=hint) from None


@dataclass(frozen=True, slots=True, repr=False)
class Banded(Standing):
    """A node of a tree, which may be a band."""

    def _arriving(self) -> Set:
        """The instances that reach the node, with statements as the tree calls them."""
        return self.schedule.instances_at(self.at)

    def _put(self, node: Node) -> Self:
        return replace(self, schedule=self.schedule.replace(self.at, node))

    def _through(self, change: Callable[..., Schedule], *given: object) -> Self:
        return replace(self, schedule=change(self.schedule, self.at, *given))

    def band_n_member(self) -> int:
        """How many members a band has."""
        return len(self._is(Band).members)

    @gives_union
    def band_get_partial_schedule_union_map(self) -> Map:
        """The instances of the statements -> the values of a band's members, in its tuple."""
        band = self._is(Band)
        known = tuples_of(self.schedule)
        every = [Set.universe(Space(None, known[s])) for s in band.statements if s in known]
        times = map_of(band, reduce(or_, every, universe(self._arriving())))
        parts = [(Space(s.inp, replace(s.out, name=band.name)), cs) for s, cs in times.parts]
        return plain(Map._of(times.param_names, parts))

    def band_get_partial_schedule(self) -> MultiUnionPwAff:
        """The same as a function."""
        return MultiUnionPwAff(self.band_get_partial_schedule_union_map())

    def band_get_space(self) -> Space:
        """The space of a band's values, with the parameters of the instances that reach it."""
        band = self._is(Band)
        values = Tuple(band.name, tuple(f"i{k}" for k in range(len(band.members))))
        return Space(None, values, self._arriving().param_names)

    def band_get_permutable(self) -> bool:
        """Whether the members of a band may be interchanged."""
        return self._is(Band).permutable

    def band_set_permutable(self, permutable: bool | int) -> Self:
        """A band that says so."""
        return self._put(replace(self._is(Band), permutable=bool(permutable)))

    def _member(self, pos: int) -> Member:
        members = self._is(Band).members
        there = whole(pos) is not None and 0 <= pos < len(members)
        return members[pos] if there else self._nowhere(f"member {pos!r}")

    def _with_member(self, pos: int, member: Member) -> Self:
        band = self._is(Band)
        return self._put(replace(band, members=(*band.members[:pos], member, *band.members[pos + 1 :])))

    def band_member_get_coincident(self, pos: int) -> bool:
        """Whether the iterations of a member are independent of each other."""
        return self._member(pos).coincident

    def band_member_set_coincident(self, pos: int, coincident: bool | int) -> Self:
        """A member that says so."""
        return self._with_member(pos, replace(self._member(pos), coincident=bool(coincident)))

    def band_member_get_ast_loop_type(self, pos: int) -> ast_loop_type:
        """How the loop of a member is made."""
        return ast_loop_type[self._member(pos).loop_type]

    def band_member_set_ast_loop_type(self, pos: int, kind: ast_loop_type | int) -> Self:
        """A member whose loop is made otherwise, but where the band isolates: there it stays what it was."""
        member = self._member(pos)
        there = None if self._is(Band).isolate is None else member.loop_type
        changed = replace(member, loop_type=_loop_type(kind), isolated_type=member.isolated_type or there)
        return self._with_member(pos, changed)

    def band_member_get_isolate_ast_loop_type(self, pos: int) -> ast_loop_type:
        """How the loop of what a band isolates is made; of one that isolates nothing, how it would be."""
        member = self._member(pos)
        same = "default" if self._is(Band).isolate is None else member.loop_type
        return ast_loop_type[member.isolated_type or same]

    def band_member_set_isolate_ast_loop_type(self, pos: int, kind: ast_loop_type | int) -> Self:
        """A member whose loop is made otherwise where the band isolates."""
        name = _loop_type(kind)
        nothing = name == "default" and self._is(Band).isolate is None
        return self._with_member(pos, replace(self._member(pos), isolated_type=None if nothing else name))

    @gives_union
    def band_get_ast_build_options(self) -> Set:
        """How the loops of a band are made, as `{ separate[0]; unroll[1] }`."""
        return Set(options_of(self._is(Band), self.get_schedule_depth()) or "{ }")

    def band_set_ast_build_options(self, options: Set) -> Self:
        """A band whose loops are made otherwise.

        Raises
        ------
        TreeSyntaxError : an option that is not supported.
        """
        return self._put(with_options(self._is(Band), str(options), self.get_schedule_depth()))

    def band_get_ast_isolate_option(self) -> Set:
        """What a band isolates, `{ isolate[[i0] -> L[i1]] }` of the members above and its own, in its tuple."""
        isolate, above = self._is(Band).isolate, self.get_schedule_depth()
        names = [f"i{k}" for k in range(above + self.band_n_member())]
        own = f"{self._is(Band).name or ''}[{', '.join(names[above:])}]"
        pair = f"isolate[[{', '.join(names[:above])}] -> {own}]"
        if isolate is None:
            return Set(f"{{ {pair} : false }}")
        return isolate.apply(Map(f"{{ [{', '.join(names)}] -> {pair} }}"))

    def band_tile(
        self, sizes: Sequence[int], *, scale_tile_loops: bool | None = None, shift_point_loops: bool | None = None
    ) -> Self:
        """A band of tiles, which count in steps of their size as isl's do, around one of points, which begin at 0.

        The dependences of the tree, if it has any, have to allow it; else it is the caller's word. Both have the band's
        name and the types of its loops, as isl's have; of a band with an isolated part, which isl refuses, the points.

        Parameters
        ----------
        scale_tile_loops : whether tiles count in steps of their size, and not of 1; by default what isl's option of
            this name says, `set_tile_scale_tile_loops` of a context, which is that they do.
        shift_point_loops : whether the points of each tile are counted from 0; by default likewise.
        """
        sizes = self._numbers(sizes)
        scaled = option("tile_scale_tile_loops") if scale_tile_loops is None else scale_tile_loops
        shifted = option("tile_shift_point_loops") if shift_point_loops is None else shift_point_loops
        band = self._is(Band)

        def change(tree: Schedule) -> Schedule:
            tree = passes.tile(tree, self.at, sizes)
            if scaled:
                tree = passes.scale(tree, self.at, {k: s for k, s in enumerate(sizes) if s > 1})
            points = replace(tree.band((*self.at, 0)), name=band.name)
            tiles = replace(tree.band(self.at), name=band.name, child=points)
            if not shifted:
                tiles = replace(tiles, child=replace(points, members=band.members))
            if band.isolate is None:
                typed = [
                    replace(m, loop_type=own.loop_type, isolated_type=own.isolated_type)
                    for m, own in zip(tiles.members, band.members, strict=True)
                ]
                tiles = replace(tiles, members=tuple(typed))
            return tree.replace(self.at, tiles)

        return self._shaped(change)

    def _numbers(self, given: Sequence[int]) -> tuple[int, ...]:
        """One number for each member of a band.

        Raises
        ------
        BadArgument : other than so many are given, or a `MultiVal` of another tuple than the band's.
        """
        n = self.band_n_member()
        if isinstance(given, MultiVal):
            self._same_tuple([given.space.out.name], given)
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != n:
            raise BadArgument(f"a number for each of the band's {n} members is wanted", where=repr(given))
        return tuple(given)

    def _same_tuple(self, names: Iterable[str | None], given: object) -> None:
        """Refuse values that are called otherwise than those of the band.

        Raises
        ------
        BadArgument
        """
        name = self._is(Band).name
        if any(other != name for other in names):
            own = f"those of a tuple called {name}" if name else "those of a tuple without a name"
            raise BadArgument(f"values of the band's tuple are wanted, {own}", where=str(given))

    def _shaped(self, change: Callable[[Schedule], Schedule]) -> Self:
        """The tree after a change of a band that only a permutable one may have; its own flag stays."""
        band = self._is(Band)
        tree = self.schedule
        if band.permutable or tree.dependences is not None:
            return replace(self, schedule=change(tree))
        new = change(tree.replace(self.at, replace(band, permutable=True)))
        for at in (self.at, (*self.at, 0)):
            new = new.replace(at, replace(new.band(at), permutable=False))
        return replace(self, schedule=new)

    def band_split(self, pos: int) -> Self:
        """A band of the first members around one of the others; the outer one isolates where the inner one does."""
        band = self._is(Band)
        if pos in (0, len(band.members)) and whole(pos) is not None:  # one of the two orders nothing
            band = replace(band, name=None)  # neither is all of what had the name
            outer, inner = replace(band, isolate=None), replace(band, members=band.members[pos:])
            new = self._put(replace(outer, members=band.members[:pos], child=inner))
        else:
            new = self._through(passes.split, pos)
        if band.isolate is None:
            return new
        first = self.get_schedule_depth() + pos
        outer = band.isolate.project_out(*range(first, first + len(band.members) - pos))
        return new._put(replace(new._is(Band), isolate=outer))

    def band_scale(self, factors: Sequence[int]) -> Self:
        """A band whose members are multiplied by numbers; by those below 1 as is the caller's word."""
        factors = self._numbers(factors)
        if all(isinstance(f, int) for f in factors) and min(factors, default=1) < 1:
            return self._mapped("multiplying members", factors, lambda e, f: e * f)
        return self._through(passes.scale, {k: f for k, f in enumerate(factors) if f != 1})

    def band_scale_down(self, factors: Sequence[int]) -> Self:
        """A band whose members are divided by numbers, rounded down."""
        return self._mapped("dividing members", factors, lambda e, f: e // f)

    def band_mod(self, factors: Sequence[int]) -> Self:
        """A band whose members are remainders of divisions by numbers."""
        return self._mapped("taking remainders of members", factors, lambda e, f: e % f)

    def band_shift(self, shift: Map) -> Self:
        """A band to whose members a function of the instances is added, with values in the band's tuple.

        Raises
        ------
        BadArgument : they are in another one.
        """
        band = self._is(Band)
        not_anchored(self.schedule, self.at, "shifting members")
        self._same_tuple([space.out.name for space, _ in relation_of(shift).parts], shift)
        here = self._arriving()
        more = band_of(shift, here)
        if not more.members and here.is_empty():
            return self  # no values are known of no instances
        if len(more.members) != len(band.members):
            self._nowhere(f"member for each of {len(more.members)} values that are added")
        by = [dict(m.exprs) for m in more.members]
        members = [m.map(lambda s, e, k=k: e + by[k].get(s, 0)) for k, m in enumerate(band.members)]
        return self._put(replace(band, members=tuple(members)))

    def _mapped(self, doing: str, factors: Sequence[int], f: Callable[[Any, int], Any]) -> Self:
        """A band whose members a function changes, of which nothing below speaks."""
        band = self._is(Band)
        not_anchored(self.schedule, self.at, doing)
        numbers = self._numbers(factors)
        members = [m.map(lambda _, e, n=n: f(e, n)) for m, n in zip(band.members, numbers, strict=True)]
        return self._put(replace(band, members=tuple(members)))

    def band_sink(self) -> Self:
        """The band below all that stands under it; without dependences its flags forbid nothing, as in isl.

        Below an expansion it says of what a group stands for what it says of the group.

        Raises
        ------
        IllegalTransformation : a dependence of a computed schedule forbids it.
        """
        return self._through(sunk if self.schedule.dependences is None else passes.sink)
