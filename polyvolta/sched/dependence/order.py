"""In what order instances run, as something to ask case by case.

A schedule, be it a tree or a map to time vectors, gives every instance a list of times: quasi-affine expressions in a
band, the number of the child in a sequence. One instance runs before another when, at the first place where their
times differ, its own is less. For two statements that is a chain of cases: less here; or equal here, and less at the
next place; and so on. Most places need no case at all: two children of a sequence are two constants, and where the
pairs at hand have i' = i anyway, so have their times. `compare` walks the chain with the pairs at hand and looks at no
case twice.

A statement that a filter splits by instances has several lists of times, each for some of its instances: a `Clock` is
one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.structure.times import padded
from polyvolta.sched.tree import (
    Band,
    Context,
    Filter,
    Guard,
    Leaf,
    Node,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.budgets import remembered
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts import project as pj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.engine.rows import normal_ineq, replaced, solved_for
from polyvolta.sets.errors import kind_of
from polyvolta.sets.optima.outputs import solved_outputs
from polyvolta.sets.values.build import RowBuilder, affs_of, expression
from polyvolta.sets.values.space import Space, Tuple

BEFORE, AFTER, EQUAL, APART = range(4)
"""How a first instance runs in relation to a second one; APART: in any order, or at once."""

Conjuncts = tuple[Conjunct, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A time of which different values have no order: the child of a set node, a member mapped to processors."""

    value: Aff


@dataclass(frozen=True, slots=True)
class Clock:
    """The times of a statement, or of some of its instances.

    Parameters
    ----------
    iterators : the names that the times use, beside the parameters.
    times : outermost first.
    instances : over (parameters, iterators): whose times these are; None for all.
    """

    statement: str
    iterators: tuple[str, ...]
    times: tuple[Aff | Branch, ...]
    instances: Conjuncts | None = None


Clocks = Mapping[str, tuple[Clock, ...]]
Order = Schedule | Map | Clocks


# ---- clocks of a tree, of a map


def clocks(order: Order, params: tuple[str, ...]) -> Clocks:
    """The clocks of each statement, by name, their instances over these parameters.

    The shorter times of a map are filled up with zeros.

    Raises
    ------
    BadSchedule : a map gives times that are no quasi-affine expressions of the instance; something else is given.
    """
    match order:
        case Schedule():
            return _of_tree(order, params)
        case Map():
            return _of_map(order, params)
        case Mapping():
            return order
    raise BadSchedule(
        f"an order is a schedule tree or a map from instances to times, not {kind_of(order)}",
        hint='Map("{ S[i] -> [i] }"), for one',
    )


def parameters(order: Order) -> tuple[str, ...]:
    """The names that an order uses beside iterators."""
    if isinstance(order, Map):
        return order.param_names
    if not isinstance(order, Schedule):
        return ()
    iterators = {s.out.name or "": s.out.dims for s, _ in order.domain.parts}
    found = dict.fromkeys(order.domain.param_names)
    for _, node in order.walk():
        match node:
            case Context(known) | Guard(known):
                found.update(dict.fromkeys(known.param_names))
            case Filter(_, _, known) if known is not None:
                found.update(dict.fromkeys(known.param_names))
            case Band(members):
                for m in members:
                    for s, e in m.exprs:
                        if s in iterators and (others := e.names().difference(iterators[s])):
                            found.update(dict.fromkeys(sorted(others)))
    return tuple(found)


def _of_map(order: Map, params: tuple[str, ...]) -> Clocks:
    order = padded(order.align_params(params))
    found: dict[str, list[Clock]] = {}
    for space, cs in order.parts:
        assert space.inp is not None
        names = (*params, *space.inp.dims)
        for c in cs:
            rows = solved_outputs(c, len(params), space)
            if rows is None:
                raise BadSchedule(
                    "the times of an order are quasi-affine expressions of the instance",
                    where=str(Map._of(params, [(space, (c,))])),
                )
            table = affs_of(c, (*names, *space.out.dims))
            times = tuple([expression(r, table) for r in rows])
            instances = pj.project(c, tuple(range(len(names), c.n)))
            if instances is not None:
                whole = not instances.eqs and not instances.ineqs
                clock = Clock(space.inp.label, space.inp.dims, times, None if whole else (instances,))
                found.setdefault(clock.statement, []).append(clock)
    return {s: tuple(cs) for s, cs in found.items()}


def _of_tree(schedule: Schedule, params: tuple[str, ...]) -> Clocks:
    found: dict[str, list[Clock]] = {}
    for space, cs in schedule.domain.parts:
        first = Clock(space.out.name or "", space.out.dims, (), None if cs else ())
        for clock in _below(schedule.root, first, (), params):
            found.setdefault(clock.statement, []).append(clock)
    return {s: tuple(cs) for s, cs in found.items()}


def _below(node: Node, clock: Clock, above: tuple[Aff, ...], params: tuple[str, ...]) -> Iterator[Clock]:
    """The clocks at the leaves below a node, for a statement that comes there with the times of `clock`."""
    match node:
        case Leaf():
            yield clock
        case Band():
            if clock.statement not in node.statements:
                if clock.instances != ():  # a statement without instances needs no time
                    raise BadSchedule(f"a band has no expression for {clock.statement}")
                yield clock
                return
            for plain, when in _each_case(node.schedule(clock.statement)):
                here = clock
                for s in when:
                    here = _restricted(here, _pieces(s, clock, params))
                times = [e if m.name is None else Branch(e) for m, e in zip(node.members, plain)]
                yield from _below(node.child, _ticking(here, *times), (*above, *plain), params)
        case Sequence() | SetNode():
            for k, child in enumerate(node.children):
                if isinstance(child, Filter) and clock.statement not in child.statements:
                    continue
                time = Aff((), k)
                yield from _below(
                    child, _ticking(clock, time if isinstance(node, Sequence) else Branch(time)), above, params
                )
        case Filter(statements, child, instances):
            if clock.statement in statements:
                if instances is not None:
                    clock = _restricted(clock, _pieces(instances, clock, params))
                yield from _below(child, clock, above, params)
        case Guard(known, child) | Context(known, child):
            yield from _below(child, _restricted(clock, preimage(known, clock, above, params)), above, params)
        case _:
            yield from _below(node.children[0], clock, above, params)


def _each_case(exprs: tuple[Aff | Cases, ...]) -> Iterator[tuple[tuple[Aff, ...], tuple[Set, ...]]]:
    """The expressions in each of their cases, and the sets of instances of these."""
    if all(isinstance(e, Aff) for e in exprs):
        yield exprs, ()  # type: ignore[misc]
        return
    options = [e.pieces if isinstance(e, Cases) else ((None, e),) for e in exprs]
    for chosen in product(*options):
        yield tuple(e for _, e in chosen), tuple(when for when, _ in chosen if when is not None)


def _ticking(clock: Clock, *times: Aff | Branch) -> Clock:
    return Clock(clock.statement, clock.iterators, (*clock.times, *times), clock.instances)


def _restricted(clock: Clock, pieces: Conjuncts) -> Clock:
    if clock.instances is not None:
        both = [cj.conjoin(a, b) for a in clock.instances for b in pieces]
        pieces = tuple([c for c in both if c is not None])
    return Clock(clock.statement, clock.iterators, clock.times, pieces)


def _pieces(instances: Set, clock: Clock, params: tuple[str, ...]) -> Conjuncts:
    """The conjuncts of a set for the statement of a clock."""
    found = instances.align_params(params)
    return next((cs for s, cs in found.parts if s.out.name == clock.statement), ())


def preimage(known: Set, clock: Clock, above: tuple[Aff, ...], params: tuple[str, ...]) -> Conjuncts:
    """The instances of a statement whose times in the bands above a node are in a set.

    A statement that those bands do not schedule has all its instances there.
    """
    n_out, n = known.space.n_out, len(params) + len(clock.iterators)
    if len(above) < n_out:
        return (cj.universe(n),)
    out = tuple(f"#{k}" for k in range(n_out))
    graph = RowBuilder((*params, *clock.iterators, *out)).conjunct([("eq", e - var(o)) for e, o in zip(above, out)])
    known = Set._of(known.param_names, [(Space(None, Tuple(None, out)), known.parts[0][1])]).align_params(params)
    places = (*range(len(params)), *range(n, n + n_out))
    wide = [cj.reindex(c, n + n_out, places) for _, cs in known.parts for c in cs]
    both = [cj.conjoin(graph, c) for c in wide] if graph is not None else []
    done = [pj.project(c, tuple(range(n, n + n_out))) for c in both if c is not None]
    return tuple([c for c in done if c is not None])


# ---- the cases of an order


def compare(
    c: Conjunct, params: tuple[str, ...], first: tuple[Clock, int], second: tuple[Clock, int], wanted: frozenset[int]
) -> Iterator[tuple[int, int, Conjunct]]:
    """The pairs of instances in a conjunct, by how they run: (place, case, pairs), the outermost place first.

    Parameters
    ----------
    c : over the parameters and more, among them the iterators of both.
    first, second : a clock, and at which dimension of `c` its iterators begin.
    wanted : the cases to be given; others are passed over.

    The pairs of a case may turn out to be empty over the integers. Cost: a conjunction or two for each place in which
    the pairs have no fixed distance.
    """
    (a, at), (b, bt) = first, second
    last = min(len(a.times), len(b.times)) - 1
    for place, (e, f) in enumerate(zip(a.times, b.times)):
        ways = ((BEFORE, 1), (AFTER, -1))
        if isinstance(e, Branch) or isinstance(f, Branch):
            e, f = (t.value if isinstance(t, Branch) else t for t in (e, f))
            ways = ((APART, 1), (APART, -1))
        later = _distance(c, params, a, at, e, b, bt, f)
        if isinstance(later, int):
            if later:
                case = ways[later < 0][0]
                if case in wanted:
                    yield place, case, c
                return
            continue
        for case, sign in ways:
            if case in wanted:
                both = later(c, sign)
                if both is not None:
                    yield place, case, both
        if place == last and EQUAL not in wanted:
            return
        equal = later(c, 0)
        if equal is None:
            return
        c = equal
    if EQUAL in wanted:
        yield last + 1, EQUAL, c


class _Form:
    """How much later the second instance runs, as a row over the dimensions of a conjunct."""

    __slots__ = ("row",)

    def __init__(self, row: list[int]) -> None:
        self.row = row

    def __call__(self, c: Conjunct, sign: int) -> Conjunct | None:
        """The pairs with a positive distance (sign 1), a negative one, or none."""
        row = self.row[: 1 + c.n]
        if sign:
            row = [sign * v for v in row]
            row[0] -= 1
            tight = normal_ineq(row)
            if isinstance(tight, bool):
                return c if tight else None
            return cj.conjoin(c, Conjunct(c.n, (), (), (tight,)))
        return cj.normalise(c.n, c.divs, [*c.eqs, tuple(row)], c.ineqs)


class _Floors:
    """The same, where there are floors."""

    __slots__ = ("key",)

    def __init__(self, *key: object) -> None:
        self.key = key

    def __call__(self, c: Conjunct, sign: int) -> Conjunct | None:
        knife = _knife(*self.key, sign)  # type: ignore[arg-type]
        return None if knife is None else cj.conjoin(c, knife)


def _distance(
    c: Conjunct, params: tuple[str, ...], a: Clock, at: int, e: Aff, b: Clock, bt: int, f: Aff
) -> int | _Form | _Floors:
    """By how much f of the second exceeds e of the first: a number, where the equalities of the pairs say so."""
    if not e.terms and not f.terms:
        return f.const - e.const
    minus, plus = _sparse(e, params, a.iterators), _sparse(f, params, b.iterators)
    if minus is None or plus is None:
        return _Floors(c.n, params, a.iterators, at, e, b.iterators, bt, f)
    n_par = len(params)
    row = [0] * (1 + c.n + len(c.divs))
    row[0] = f.const - e.const
    for terms, shift, sign in ((minus, at - n_par, -1), (plus, bt - n_par, 1)):
        for k, v in terms:
            row[1 + (k + shift if k >= n_par else k)] += sign * v
    plain = row
    for eq in reversed(c.eqs):
        col = next((k for k in range(len(eq) - 1, 0, -1) if eq[k]), 0)
        if eq[col] in (1, -1) and row[col]:
            row = replaced(row, col, solved_for(eq, col))
    return _Form(plain) if any(row[1:]) else row[0]


@lru_cache(maxsize=1 << 12)
def _sparse(e: Aff, params: tuple[str, ...], iterators: tuple[str, ...]) -> tuple[tuple[int, int], ...] | None:
    """(position, coefficient) of the terms, the parameters first; None where there are floors."""
    out = []
    for atom, v in e.terms:
        if not isinstance(atom, str):
            return None
        out.append((len(params) + iterators.index(atom) if atom in iterators else params.index(atom), v))
    return tuple(out)


@remembered(1 << 12)
def _knife(
    n: int,
    params: tuple[str, ...],
    xs: tuple[str, ...],
    at: int,
    e: Aff,
    ys: tuple[str, ...],
    bt: int,
    f: Aff,
    sign: int,
) -> Conjunct | None:
    """The pairs whose distance f - e has a sign, over n dimensions; None for no pair."""
    names = [*params, *[f"#{k}" for k in range(len(params), n)]]
    place = lambda own, first: lambda name: var(names[first + own.index(name)]) if name in own else var(name)  # noqa: E731
    delta = f.rewrite(place(ys, bt)) - e.rewrite(place(xs, at))
    return RowBuilder(names).conjunct([("ge", sign * delta - 1) if sign else ("eq", delta)])
