"""From a schedule tree to loops.

The tree is walked from the root with, for every statement that is still on its way, the set of its instances
at the present values of the names and loop variables so far, which are parameters of that set. A band member
adds one variable v with `expression = v`; projecting the instances away leaves the values of v that occur, and
these are the loop: bounds, stride, or a single value that needs no loop. A filter keeps some statements; what
their being there says of the variables, beyond what is known already, is a condition. At a leaf the iterators
are solved for. Nothing is tested twice: each condition is a gist in the context of everything that encloses it.

Exact; the loops of statements that share a band run over the union of their values, which must be one conjunct.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyvolta.sched.codegen.ast import Ast, Call, For, If
from polyvolta.sched.codegen.bounds import aligned, bounds_of, fixed_value, shadow, solve_iterators
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.tree import (
    Band,
    Domain,
    Extension,
    Filter,
    Leaf,
    Mark,
    Member,
    Node,
    Path,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.build import RowBuilder, affs_of, expression
from polyvolta.sets.conjunct import Conjunct
from polyvolta.sets.simplify import simplify
from polyvolta.sets.space import Space

Ranges = dict[str, tuple[int | None, int | None]]
NOWHERE = Space(None, Tuple(None, ()))


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of `scan`.

    Parameters
    ----------
    body : the loops.
    extents : name that members are mapped to -> number of its values as an expression of the parameters.
    ranges : inclusive ranges of names and loop variables, None where there is no constant bound.
    """

    body: tuple[Ast, ...]
    extents: Mapping[str, Aff]
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class _State:
    """What is known on the way down."""

    active: dict[str, Set]
    context: Set  # without dimensions: what the enclosing loops and conditions ensure
    prefix: tuple[Aff, ...] = ()  # the values of the band members above
    equations: tuple[tuple[Member, Aff], ...] = ()  # the members above and their values

    def below(self, member: Member, value: Aff, **changes: object) -> _State:
        """The state below a band member that has a value."""
        equations = (*self.equations, (member, value))
        return replace(self, prefix=(*self.prefix, value), equations=equations, **changes)


def scan(schedule: Schedule, context: Set, extents: Mapping[str, int] | None = None) -> Scan:
    """Loops that visit exactly the instances of a schedule tree in its order.

    Parameters
    ----------
    context : what may be assumed of the parameters, a set without dimensions.
    extents : numbers of values of names that members are mapped to, where they are given and not inferred.

    Raises
    ------
    NotScannable : an unbounded or many-pieced loop, or iterators that the loops do not determine.
    """
    if not isinstance(schedule.root, Domain):
        raise NotScannable("a tree starts with its Domain", where=str(schedule))
    scanner = _Scanner(schedule, context, extents or {})
    domain = schedule.root.domain.intersect_params(context)
    active = {s.out.name: domain.only(s.out.name) for s, _ in domain.parts}
    body = scanner.visit(schedule.root.child, (0,), _State(active, scanner.context))
    return Scan(_merged(body), scanner.extents, {**scanner.ranges, **scanner.seen})


class _Scanner:
    def __init__(self, schedule: Schedule, context: Set, given: Mapping[str, int]) -> None:
        self.schedule, self.context, self.given = schedule, context, given
        self.assumed = context
        self.extents: dict[str, Aff] = {}
        self.strides: dict[str, tuple[int, int]] = {}  # loops above: residue + step * integer
        self.ranges: Ranges = {p: (0 if _never_negative(context, p) else None, None) for p in context.param_names}
        self.seen: Ranges = {}  # of loop variables, over all loops of that name
        self.map_names(schedule.root.child, {s.out.name: self.schedule.domain.only(s.out.name).intersect_params(context)
                                             for s, _ in schedule.domain.parts})  # fmt: skip

    # ---- names: one pass over the tree finds the values of each, and they become context

    def map_names(self, node: Node, active: dict[str, Set]) -> None:
        found: dict[str, Set] = {}
        stack = [(node, active)]
        while stack:
            here, sets = stack.pop()
            if isinstance(here, Extension):
                added = here.extension.range().intersect_params(self.context)
                sets = {**sets, **{s.out.name: added.only(s.out.name) for s, _ in added.parts}}
            if isinstance(here, Band):
                for m in here.members:
                    for s, e in m.exprs if m.name else ():
                        values = _pinned(sets[s], e, m.name).params()
                        found[m.name] = found[m.name] | values if m.name in found else values
            stack += [(child, sets) for child in here.children]
        for name, values in found.items():
            if name in self.given:
                found[name] = values = Set(f"[{name}] -> {{ : 0 <= {name} < {self.given[name]} }}")
            self.extents[name] = self.extent(name, values)
            last = self.extents[name] - 1
            self.ranges[name] = (0, last.const if last.is_constant else None)
        for values in found.values():
            self.context = self.context.align_params(values.param_names) & values.coalesce().align_params(
                self.context.param_names
            )

    def extent(self, name: str, values: Set) -> Aff:
        """The number of values of a name, which start at 0."""
        piece = self.single(values.coalesce(), f"the values of {name}", ())
        if fixed_value(Set._of(values.param_names, [(NOWHERE, (piece,))]), name) == aff(0):
            return aff(1)
        low, high, (step, _) = bounds_of(piece, values.param_names, name)
        if len(low) != 1 or len(high) != 1 or low[0] != aff(0) or step != 1:
            raise NotScannable(f"{name} does not run from 0 to one bound in steps of 1", where=str(values))
        return simplify(high[0] + 1, self.ranges)

    # ---- the walk

    def visit(self, node: Node, at: Path, state: _State) -> tuple[Ast, ...]:
        match node:
            case Leaf():
                return self.leaf(at, state)
            case Band():
                return self.member(node, at, 0, state)
            case Filter(statements):
                return self.filtered(node, at, replace(state, active={s: state.active[s] for s in statements}))
            case Sequence() | SetNode():
                return tuple(a for k, child in enumerate(node.children) for a in self.visit(child, (*at, k), state))
            case Mark():
                return self.visit(node.child, (*at, 0), state)
            case Extension(extension):
                return self.visit(
                    node.child,
                    (*at, 0),
                    replace(state, active={**state.active, **self.added(extension, state)}),
                )
        raise NotScannable(f"a {type(node).__name__} node cannot be scanned", where=self.schedule.marked(at))

    def added(self, extension: Map, state: _State) -> dict[str, Set]:
        """The instances that an extension adds at the present values of the members above."""
        out = {}
        for space, pieces in extension.parts:
            part = Map._of(extension.param_names, [(space, pieces)])
            names = tuple(
                dict.fromkeys([*extension.param_names, *(n for e in state.prefix for n in sorted(e.names()))])
            )
            dims = space.inp.dims
            here = [("eq", var(d) - e) for d, e in zip(dims, state.prefix, strict=True)]
            point = Set._of(names, [(Space(None, space.inp), (RowBuilder((*names, *dims)).conjunct(here),))])
            out[space.out.name] = point.apply(part).intersect_params(self.assumed)
        return out

    def filtered(self, node: Filter, at: Path, state: _State) -> tuple[Ast, ...]:
        guard = None
        for s in state.active.values():
            values = s.params()
            guard = values if guard is None else guard | values
        conditions, context = self.conditions(guard, state.context, at)
        body = self.visit(node.child, (*at, 0), replace(state, context=context))
        return (If(conditions, body, at),) if conditions and body else body

    def conditions(self, guard: Set, context: Set, at: Path) -> tuple[tuple[tuple[str, Aff], ...], Set]:
        """What a set of variable values says beyond the context, and the context with it."""
        # the context goes first, so that pieces that differ only outside it can fuse
        guard = guard.align_params(context.param_names) & context.align_params(guard.param_names)
        piece = self.single(guard.coalesce(), "a condition", at)
        guard = Set._of(guard.param_names, [(NOWHERE, (piece,))])
        rest = guard.gist(context.align_params(guard.param_names))
        if not rest.parts or not rest.parts[0][1]:
            return (("ge", aff(-1)),), guard
        (c,) = rest.parts[0][1]
        table = affs_of(c, rest.param_names)
        made = [("eq", expression(r, table)) for r in c.eqs] + [("ge", expression(r, table)) for r in c.ineqs]
        return tuple((kind, simplify(e, self.ranges)) for kind, e in made), guard

    def tidy(self, e: Aff) -> Aff:
        """The expression simplified by what is known of names and loop variables, their strides included."""
        counted = {v: aff(r) + s * var(v) for v, (s, r) in self.strides.items() if v in e.names()}
        if not counted:
            return simplify(e, self.ranges)
        ranges = dict(self.ranges)
        for v, (s, r) in self.strides.items():
            low, high = ranges[v]
            ranges[v] = (None if low is None else (low - r) // s, None if high is None else (high - r) // s)
        e = simplify(e, ranges, counted)
        whole = sum((c // self.strides[a][0] * (var(a) - self.strides[a][1]) for a, c in e.terms
                     if a in counted and c % self.strides[a][0] == 0), aff(0))  # fmt: skip
        rest = Aff(tuple((a, c) for a, c in e.terms if not (a in counted and c % self.strides[a][0] == 0)), e.const)
        return whole + rest.subs({v: (var(v) - r) // s for v, (s, r) in self.strides.items() if v in counted})

    def single(self, s: Set, what: str, at: Path) -> Conjunct:
        pieces = [c for _, cs in s.parts for c in cs]
        if len(pieces) != 1:
            raise NotScannable(
                f"{what} has {len(pieces)} pieces that are no single conjunct",
                where=f"{s}\n{self.schedule.marked(at)}",
                hint="give the statements bands of their own",
            )
        return pieces[0]

    def member(self, band: Band, at: Path, k: int, state: _State) -> tuple[Ast, ...]:
        if k == len(band.members):
            return self.visit(band.child, (*at, 0), state)
        m = band.members[k]
        exprs = {s: e for s, e in m.exprs if s in state.active}
        constants = set(exprs.values())
        if len(constants) == 1 and (value := next(iter(constants))).is_constant:
            return self.member(band, at, k + 1, state.below(m, value))
        name = m.name or f"c{len(state.prefix)}"
        active = {s: _pinned(state.active[s], e, name) for s, e in exprs.items()}
        if m.name:
            return self.member(band, at, k + 1, state.below(m, var(name), active=active))
        values = None
        for s in active.values():
            part = s.params()
            values = part if values is None else values | part
        values = values.align_params(state.context.param_names)
        values = values & state.context.align_params(values.param_names)
        piece = self.single(values.coalesce(), f"the loop {name}", at)
        return self.loop(
            band, at, k, replace(state, active=active), name, Set._of(values.param_names, [(NOWHERE, (piece,))])
        )

    def loop(self, band: Band, at: Path, k: int, state: _State, name: str, values: Set) -> tuple[Ast, ...]:
        """One loop over the values of `name`, or none if there is a single one."""
        fixed = fixed_value(values, name)
        if fixed is not None:
            active = {s: _fix(v, name, fixed) for s, v in state.active.items()}
            return self.member(band, at, k + 1, state.below(band.members[k], fixed, active=active))
        context = state.context.align_params(values.param_names)
        simple = values.gist(context)
        piece = self.single(simple, f"the loop {name}", at)
        low, high, (step, residue) = bounds_of(piece, simple.param_names, name)
        if not low or not high:  # bounds hidden in floors of the variable itself
            low, high, (step, residue) = bounds_of(
                shadow(piece, simple.param_names.index(name)), simple.param_names, name
            )
        if not low or not high:
            raise NotScannable(
                f"the loop {name} has no {'upper' if low else 'lower'} bound", where=self.schedule.marked(at)
            )
        low = tuple(simplify(aligned(e, step, residue), self.ranges) for e in low)
        high = tuple(simplify(e, self.ranges) for e in high)
        v = var(name)
        known = [("ge", v - e) for e in low] + [("ge", e - v) for e in high]
        if step > 1:
            known.append(("eq", (v - residue) % step))
        knife = RowBuilder(context.param_names).conjunct(known)
        inside = context & Set._of(context.param_names, [(NOWHERE, (knife,))])
        now = (
            max((e.const for e in low if e.is_constant), default=None),
            min((e.const for e in high if e.is_constant), default=None),
        )
        self.ranges[name], self.seen[name] = now, _either(self.seen.get(name, now), now)
        if step > 1 and residue.is_constant:
            self.strides[name] = (step, residue.const)
        body = self.member(band, at, k + 1, state.below(band.members[k], v, context=inside))
        del self.ranges[name]  # the next loop of that name has its own range and stride
        self.strides.pop(name, None)
        return (For(name, low, high, step, band.members[k].unroll, body, at, k),) if body else ()

    def leaf(self, at: Path, state: _State) -> tuple[Ast, ...]:
        if len(state.active) != 1:
            names = ", ".join(state.active)
            raise NotScannable(
                f"the statements {names} end in one leaf without an order", where=self.schedule.marked(at)
            )
        ((name, instances),) = state.active.items()
        conditions, _ = self.conditions(instances.params(), state.context, at)
        space = instances.space
        members = [(m.of(name), value) for m, value in state.equations if name in dict(m.exprs)]
        solved = solve_iterators(space.out.dims, members)
        if solved is None:
            solved = Map._of(instances.param_names, [(Space(NOWHERE.out, space.out), instances.parts[0][1])]).as_affs()
        args = tuple(self.tidy(e) for e in solved)
        call = Call(name, args, at)
        return (If(conditions, (call,), at),) if conditions else (call,)


def _never_negative(context: Set, name: str) -> bool:
    """Whether a parameter cannot be negative."""
    return context.is_disjoint(Set(f"[{', '.join(context.param_names)}] -> {{ : {name} < 0 }}"))


def _either(a: tuple[int | None, int | None], b: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """The range that holds both."""
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return low, high


def _pinned(instances: Set, e: Aff, name: str) -> Set:
    """The instances whose expression equals the new parameter `name`."""
    wide = instances.align_params((*instances.param_names, name))
    space = wide.space
    c = RowBuilder((*wide.param_names, *space.dims)).conjunct([("eq", e - var(name))])
    return wide & Set._of(wide.param_names, [(space, (c,))])


def _fix(instances: Set, name: str, value: Aff) -> Set:
    """The instances with a parameter equal to an expression of others, and gone."""
    c = RowBuilder((*instances.param_names, *instances.space.dims)).conjunct([("eq", var(name) - value)])
    both = instances & Set._of(instances.param_names, [(instances.space, (c,))])
    return both.project_out_params(name)


def _merged(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """Neighbouring conditions that are the same become one."""
    out: list[Ast] = []
    for node in body:
        if isinstance(node, For | If):
            node = replace(node, body=_merged(node.body))
        if isinstance(node, If) and out and isinstance(out[-1], If) and out[-1].conditions == node.conditions:
            out[-1] = replace(out[-1], body=_merged((*out[-1].body, *node.body)))
        else:
            out.append(node)
    return tuple(out)
