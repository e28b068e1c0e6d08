"""Making loops, and loops as objects, by isl's names: `AstBuild`, `AstNode`, `AstExpr`.

>>> from polyvolta.isl import AstBuild, Set, UnionMap
>>> build = AstBuild.from_context(Set("[N] -> { : N >= 1 }"))
>>> loop = build.node_from_schedule_map(UnionMap("[N] -> { S[i] -> [i] : 0 <= i < N }"))
>>> print(loop.to_C_str(), end="")
for (int c0 = 0; c0 < N; c0 += 1)
  S(c0);
>>> loop.get_type().name, loop.for_get_iterator().to_C_str(), loop.for_get_cond().to_C_str()
('for_', 'c0', 'c0 < N')
>>> loop.for_get_body().user_get_expr().to_C_str()
'S(c0)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polyvolta.sched.by_isl.ast.callbacks import asked
from polyvolta.sched.by_isl.ast.expressions import AstExpr
from polyvolta.sched.by_isl.ast.nodes import AstNode
from polyvolta.sched.by_isl.ast.places import Place, Rewriting
from polyvolta.sched.by_isl.ast.several import called_again, once_each
from polyvolta.sched.by_isl.bands import band_of
from polyvolta.sched.by_isl.kinds import ast_expr_op_type
from polyvolta.sched.by_isl.plain import Plain, checks_arguments
from polyvolta.sched.emit.rename import called
from polyvolta.sched.errors import BadArgument, BadSchedule
from polyvolta.sched.loops.notation.names import variables
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.scan import scanned
from polyvolta.sched.tree import Domain, LoopType, Node, Schedule
from polyvolta.sched.wrapped import called_nothing, statements
from polyvolta.sets import Id, Map, MultiPwAff, PwAff, Set, Space, Tuple, dim_type
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.by_isl.objects.context import option
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.shape import need_set
from polyvolta.sets.values.space import PARAMS
from polyvolta.sets.values.unions import gives_union


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True)
class AstBuild(Plain):
    """What is known where loops are made; immutable.

    Parameters
    ----------
    context : what is known of the parameters.
    options : of the loops of a relation, `{ [i, j] -> unroll[1] }`; a tree has its own.
    iterators : what loops are called, by their depth, in place of c0, c1, ...
    hooks : the functions that are asked while loops are made, by what they are for, see `callbacks`.
    place : where the loops stand that a function is asked about; None outside of functions.
    """

    context: Set | None = None
    options: Map | None = None
    iterators: tuple[str, ...] = ()
    hooks: tuple[tuple[str, Callable[..., Any]], ...] = ()
    place: Place | None = None

    def __post_init__(self) -> None:
        if self.context is not None:
            need_set(self.context, "what is known of parameters")

    @staticmethod
    def alloc(context: object = None) -> AstBuild:
        """Nothing is known; isl's context means nothing here."""
        return AstBuild()

    @staticmethod
    def from_context(context: Set) -> AstBuild:
        """What a set says of the parameters is known."""
        return AstBuild(context)

    def restrict(self, known: Set) -> AstBuild:
        """More is known of the parameters."""
        return replace(self, context=known if self.context is None else self.context & known)

    def set_options(self, options: Map) -> AstBuild:
        """How the loops of a relation are made: times -> `atomic[k]`, `separate[k]`, `unroll[k]`, members by number.

        Options of some times alone, and of other kinds, are left aside: they change how loops look, not what they do.

        Raises
        ------
        BadArgument : the options are no Map.
        """
        if not isinstance(options, Map):
            raise BadArgument(f"options are a Map from times, not {kind_of(options)}", where=str(options))
        return replace(self, options=options)

    def set_iterators(self, names: Sequence[str]) -> AstBuild:
        """Loops are called so, by their depth.

        Raises
        ------
        BadArgument : the names are no different words.
        """
        names = tuple(map(str, names))
        if len({*names}) < len(names) or not all(map(str.isidentifier, names)):
            raise BadArgument("iterators are different words", where=repr(names), hint='["i", "j"]')
        return replace(self, iterators=names)

    def _with_hook(self, name: str, f: Callable[..., Any]) -> tuple[AstBuild, Callable[..., Any]]:
        if not callable(f):
            raise BadArgument(f"set_{name} takes a function, not {kind_of(f)}", where=repr(f))
        hooks = {**dict(self.hooks), name: f}
        return replace(self, hooks=tuple(hooks.items())), f

    def set_at_each_domain(self, f: Callable[[AstNode, AstBuild], AstNode]) -> tuple[AstBuild, Callable[..., Any]]:
        """Ask a function for the node that takes the place of each call; with the new build its handle, as islpy."""
        return self._with_hook("at_each_domain", f)

    def set_before_each_for(self, f: Callable[[AstBuild], Id]) -> tuple[AstBuild, Callable[..., Any]]:
        """Ask a function for the annotation of each loop before what it runs; see `set_at_each_domain`."""
        return self._with_hook("before_each_for", f)

    def set_after_each_for(self, f: Callable[[AstNode, AstBuild], AstNode]) -> tuple[AstBuild, Callable[..., Any]]:
        """Ask a function for the node that takes the place of each finished loop; see `set_at_each_domain`."""
        return self._with_hook("after_each_for", f)

    def set_before_each_mark(self, f: Callable[[Id, AstBuild], object]) -> tuple[AstBuild, Callable[..., Any]]:
        """Call a function with each mark before what it marks; see `set_at_each_domain`."""
        return self._with_hook("before_each_mark", f)

    def set_after_each_mark(self, f: Callable[[AstNode, AstBuild], AstNode]) -> tuple[AstBuild, Callable[..., Any]]:
        """Ask a function for the node that takes the place of each finished mark; see `set_at_each_domain`."""
        return self._with_hook("after_each_mark", f)

    def set_create_leaf(self, f: Callable[[AstBuild], AstNode]) -> tuple[AstBuild, Callable[..., Any]]:
        """Ask a function for what runs below the loops, of all instances of one time; see `set_at_each_domain`.

        Its build makes loops inside of those around: `node_from_schedule_map` takes instances -> [place -> time], with
        the tuple of `get_schedule_space` first.
        """
        return self._with_hook("create_leaf", f)

    def at(self, place: Place) -> AstBuild:
        """The build that a callback gets at a place, for whose own loops none is asked, as by isl."""
        return replace(self, place=place, hooks=())

    def _here(self) -> Place:
        if self.place is None:
            raise BadArgument("a build has a schedule only where a callback is asked", where=repr(self.context))
        return self.place

    @gives_union
    def get_schedule(self) -> Map:
        """The instances that run where a callback is asked -> the loop variables around.

        Raises
        ------
        BadArgument : the build is not one that a callback got.
        """
        return self._here().schedule()

    def get_schedule_space(self) -> Space:
        """The space of the loop variables around, without a callback that of the parameters; see `get_schedule`."""
        params = () if self.context is None else self.context.param_names
        return Space(None, PARAMS, params) if self.place is None else self.place.space()

    # ---- expressions where a callback is asked, or of parameters

    def expr_from_pw_aff(self, value: PwAff) -> AstExpr:
        """A function of the loop variables around, or of parameters.

        Raises
        ------
        BadArgument : it is of anything else, or has no value here.
        """
        return Rewriting(self.place, self.context).values(value)[0]

    def expr_from_set(self, some: Set) -> AstExpr:
        """The condition that the loop variables around, or the parameters, are in a set; see `expr_from_pw_aff`."""
        return Rewriting(self.place, self.context).holds(some)

    def access_from_pw_multi_aff(self, element: MultiPwAff) -> AstExpr:
        """The element of an array that a function of the loop variables gives; see `expr_from_pw_aff`.

        Of an array of structures it is `A[c0].x[c1]` for `[A[i] -> x[j]]`. A function of parameters alone has no pairs
        in isl: one whose tuple has a name, `R[A[n] -> x[n]]`, gives an element of that, `R[n][n]`.

        Raises
        ------
        BadArgument : a field has no name; see `expr_from_pw_aff`.
        """
        values = Rewriting(self.place, self.context).values(element)
        if element.space.source.of_params and element.space.out.name is not None:
            return AstExpr(element.space.out.name).access(values)
        return _element(element.space.out, iter(values))

    def call_from_pw_multi_aff(self, instance: MultiPwAff) -> AstExpr:
        """The call of the instance that a function of the loop variables gives; see `expr_from_pw_aff`."""
        values = Rewriting(self.place, self.context).values(instance)
        return AstExpr(instance.space.out.name or "").call(values)

    access_from_multi_pw_aff, call_from_multi_pw_aff = access_from_pw_multi_aff, call_from_pw_multi_aff

    # ---- loops

    def node_from_schedule(self, schedule: Schedule) -> AstNode:
        """The loops of a tree; raises and costs what `polyvolta.sched.scan` does, and what callbacks do."""
        return self._node(schedule, flat=False)

    def _node(self, schedule: Schedule, flat: bool) -> AstNode:
        made = self._made(schedule)
        return AstNode.of(asked(self, made, flat))

    def _made(self, schedule: Schedule) -> Scan:
        place = self.place
        known = place.known() if place else self.context
        branches, apart = bool(option("ast_build_allow_else")), "create_leaf" in dict(self.hooks)
        made = scanned(schedule, known, None, parted=True, branches=branches, apart=apart)
        around = [v.var for v in place.loops] if place else []
        if place:
            outside = {v: place.scan.ranges[v] for v in around if v in place.scan.ranges}
            made = replace(made, ranges={**outside, **made.ranges})
        if not self.iterators and not around:
            return made
        depth = {v: int(v[1:].rstrip("_")) + len(around) for v in variables(made.body)}  # `scan` calls them so
        table = {v: self.iterators[k] for v, k in depth.items() if k < len(self.iterators)}
        others = {*(made.params or ()), *made.extents, *(depth if not around else ())}.difference(table)
        for taken in sorted(others.intersection(table.values())):
            what = "a parameter" if taken in (made.params or ()) else "another loop" if taken in depth else "a size"
            raise BadArgument(f"an iterator is to be called {taken}, and so is {what}",
                              where=", ".join(self.iterators), hint="names that stand for nothing else")  # fmt: skip
        for v in depth.keys() - table.keys() if around else ():
            table[v] = f"c{depth[v]}"
            while table[v] in others:
                table[v] += "_"
        return called(made, table)

    def node_from_schedule_map(self, times: Map) -> AstNode:
        """The loops of a relation from instances to times; inside of others, to pairs of their variables and times.

        An instance with several times runs at each of them.

        Raises
        ------
        BadSchedule : a statement has no name, or that of another one; an instance has several times where a function of
            `set_create_leaf` is asked.
        NotScannable : see `polyvolta.sched.scan`.
        """
        if not isinstance(times, Map):
            raise BadSchedule(f"a schedule is a Map from instances, not {kind_of(times)}", where=str(times))
        if self.place is not None:
            times = _inside(self.place, times)
        times = called_nothing(times)
        once = once_each(times)
        instances = statements(once.domain())
        tree = Schedule(Domain(instances, band_of(once, instances)))
        if self.options is not None:
            tree = tree.replace((0,), _with_options(tree, times, self.options))
        if once is times:
            return self._node(tree, flat=True)
        if "create_leaf" in dict(self.hooks):
            raise BadSchedule("leaves are of instances with one time each", where=str(times))
        made = called_again(self._made(tree), statements(times.domain()))
        return AstNode.of(asked(self, made, flat=True))

    ast_from_schedule = node_from_schedule_map


def _element(array: Tuple, indices: Iterator[AstExpr]) -> AstExpr:
    """The element of an array, or of a field of one, at the next indices."""
    base = AstExpr(array.name or "")
    if array.inner is not None and array.inner.inp is not None:
        base, array = _element(array.inner.inp, indices), array.inner.out
        if array.name is None:
            raise BadArgument("a field of an array has a name", where=str(array), hint="[A[i] -> x[j]]")
        base = base.of(ast_expr_op_type.member, AstExpr.from_id(Id(array.name)))
    return base.access([next(indices) for _ in array.dims])


def _inside(place: Place, times: Map) -> Map:
    """The times at a place, whose loop variables are parameters, of instances -> [variables -> time].

    Raises
    ------
    BadSchedule : the pairs do not start with what `place.schedule` has.
    """
    tied = place.tied()
    pairs = [space.out.inner for space, _ in times.parts]
    if any(inner is None or inner.inp is None or inner.inp.key != tied.space.out.key for inner in pairs):
        raise BadSchedule(f"times inside of other loops are pairs [{place.space()} -> [...]]", where=str(times),
                          hint="build.get_schedule().range_product(times)")  # fmt: skip
    here = times.range_factor_domain().intersect_range(tied).domain()
    return times.range_factor_range().intersect_domain(here)


def _with_options(tree: Schedule, times: Map, options: Map) -> Node:
    """The band of a tree with loops of the types that options of a relation ask for.

    Types at some times alone, all at the same ones, are of loops made apart for these times, as an `isolate` of a tree
    is. There is one such part at most, so at several choices of times, or with two types of a member, they change
    nothing.
    """
    band = tree.band((0,))
    always, sometimes = _asked(times.range(), len(band.members), options)
    members = tuple([replace(m, loop_type=always.get(k, m.loop_type)) for k, m in enumerate(band.members)])
    apart = {k: kind for k, _, kind in sometimes}
    choices = [at for _, at, _ in sometimes]
    if not choices or len(choices[0].pieces) > 1:
        return replace(band, members=members)
    if len(apart) < len(choices) or not all(at.is_equal(choices[0]) for at in choices):
        return replace(band, members=members)
    members = tuple([replace(m, isolated_type=apart.get(k)) for k, m in enumerate(members)])
    return replace(band, members=members, isolate=choices[0])


def _asked(there: Set, count: int, options: Map) -> tuple[dict[int, LoopType], list[tuple[int, Set, LoopType]]]:
    """The types of loops that options ask for, by the number of the member: at all times, and at some alone.

    The latter with these times, as the loops around know them: without the members inside. Times of a shorter tuple
    beside longer ones are left out, since the band has members for these.
    """
    always: dict[int, LoopType] = {}
    sometimes: list[tuple[int, Set, LoopType]] = []
    for space, cs in options.parts:
        name = space.out.name
        if name not in ("atomic", "separate", "unroll") or space.n_out != 1:
            continue
        part = Map._of(options.param_names, [(space, cs)])
        for k in range(count):
            at = part.fix({space.n_in: k}).domain()
            if there.is_subset(at):
                always[k] = name
            elif space.n_in == count:
                known = at.eliminate(dim_type.set, k + 1, count - k - 1)
                if not known.is_disjoint(there):
                    sometimes.append((k, known, name))
    return always, sometimes
