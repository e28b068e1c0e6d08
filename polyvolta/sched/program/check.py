"""Whether the parts of a program fit: its order has every instance of every statement once, and no other.

The tree is walked with the instances that reach each node. A band has an expression for each of their statements, and
the children of a sequence or a set share the instances out: each instance has one child to go to. A program's own
order adds nothing, so there are no extensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.tree import Band, Domain, Extension, Filter, Node, Path, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, nearest, var
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, Tuple

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program

Instances = dict[str, Set]
BOXES = (1, 2, 4, 16, 256, 65536)  # where an example with small numbers is looked for


def check_program(program: Program) -> None:
    """Refuse parts that do not fit.

    Raises
    ------
    BadProgram : see `Program`.
    BadSchedule : see `check_order`.

    Cost: a set difference for each statement, unless the order's domain is made of the statements' own sets.
    """
    names = [s.name for s in program.statements]
    if not names:
        raise BadProgram("a program has at least one statement")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise BadProgram(f"two statements are called {twice}", where=", ".join(names))
    known: dict[str, Map] = {}
    for s in program.statements:
        for a in (*s.accesses, *s.kills):
            before = known.setdefault(a.array, a.relation)
            here, there = (r.parts[0][0].n_out for r in (a.relation, before))
            if here != there:
                counted = f"{here or 'no'} subscript{'s' * (here != 1)} in one place and {there or 'none'} in another"
                raise BadProgram(f"{a.array} has {counted}", where=f"{before}\n{a.relation}")
    check_order(program.schedule, {s.name: s.domain for s in program.statements})


def check_order(schedule: Schedule, statements: Instances) -> None:
    """Refuse a tree that does not order exactly these instances.

    Raises
    ------
    BadSchedule : an instance is missing or unknown, two children of a sequence have it, or a band has no expression
        for a statement; the error names the instance and marks the node.
    """
    root = schedule.root
    if not isinstance(root, Domain):
        raise BadSchedule(f"the root of a schedule is a Domain, not a {type(root).__name__}", where=str(schedule))
    given = {s.out.name: root.domain.only(s.out.name) for s, _ in root.domain.parts}
    for name, there in given.items():
        if name not in statements:
            if there.is_empty():
                continue
            raise BadSchedule(
                f"the schedule orders instances of {name}, which is no statement of the program",
                where=schedule.marked(()),
                hint=nearest(str(name), statements),
            )
        if there != statements[name]:
            _same(there, statements[name], schedule, ())
    for name, instances in statements.items():
        if name not in given and not instances.is_empty():
            raise BadSchedule(
                f"the schedule misses {example(instances)}, and every other instance of {name}",
                where=schedule.marked(()),
            )
    _walk(schedule, root.child, (0,), dict(statements))


def _same(there: Set, wanted: Set, schedule: Schedule, at: Path) -> None:
    """Refuse two sets of instances that differ."""
    if there.space.key != wanted.space.key:
        raise BadSchedule(f"the schedule has {there.space}, the program {wanted.space}", where=schedule.marked(at))
    missing, more = wanted - there, there - wanted
    if not missing.is_empty():
        raise BadSchedule(f"the schedule misses {example(missing)}", where=schedule.marked(at))
    if not more.is_empty():
        raise BadSchedule(
            f"the schedule orders {example(more)}, which is no instance of the program", where=schedule.marked(at)
        )


def _walk(schedule: Schedule, node: Node, at: Path, here: Instances) -> None:
    match node:
        case Band(members):
            for m in members:
                lost = next((s for s in here if s not in dict(m.exprs)), None)
                if lost is not None:
                    raise BadSchedule(f"a member of the band has no expression for {lost}", where=schedule.marked(at))
        case Extension():
            raise BadSchedule(
                "a program's own order adds no instances",
                where=schedule.marked(at),
                hint="make what it adds a statement of the program",
            )
        case Sequence(children) | SetNode(children):
            _shares(schedule, children, at, here)
        case Filter():
            here = _through(node, here)
    for k, child in enumerate(node.children):
        _walk(schedule, child, (*at, k), here)


def _shares(schedule: Schedule, children: tuple[Node, ...], at: Path, here: Instances) -> None:
    """Every instance goes to one child."""
    left = dict(here)
    for k, child in enumerate(children):
        if not isinstance(child, Filter):
            raise BadSchedule(
                f"a child of a sequence is a Filter, not a {type(child).__name__}", where=schedule.marked((*at, k))
            )
        for name, taken in _through(child, here).items():
            rest = left.pop(name, None)
            if rest is not here[name]:
                double = taken if rest is None else taken - rest
                if not double.is_empty():
                    where = schedule.marked((*at, k))
                    raise BadSchedule(f"{example(double)} goes to two children of one node", where=where)
            if rest is not None and child.instances is not None:
                left[name] = rest - taken
    for instances in left.values():
        if not instances.is_empty():
            raise BadSchedule(f"the schedule misses {example(instances)}", where=schedule.marked(at))


def _through(node: Filter, here: Instances) -> Instances:
    """The instances that pass a filter."""
    passing = {s: here[s] for s in node.statements if s in here}
    if node.instances is None:
        return passing
    return {s: i & node.instances.only(s) for s, i in passing.items()}


def example(instances: Set) -> str:
    """One of the instances as text, with the parameters that it is for: `S[0, 3] for N = 4`.

    >>> example(Set("[N] -> { S[i] : 3 <= i < N }"))
    'S[3] for N = 4'
    """
    space, pieces = next((s, cs) for s, cs in instances.parts if any(not c.is_empty for c in cs))
    names = tuple(f"x{k}" for k in range(len(instances.param_names) + len(space.dims)))
    points = Set._of((), [(Space(None, Tuple(None, names)), pieces)])
    for bound in BOXES:
        within = [("ge", sign * var(x) + bound) for x in names for sign in (1, -1)]
        box = RowBuilder(names).conjunct(within)
        near = points & Set._of((), [(points.space, (box,) if box else ())])
        if not near.is_empty():
            points = near
            break
    point = points.sample_point()
    values = [f"{p} = {v}" for p, v in zip(instances.param_names, point, strict=False)]
    text = f"{space.out.name}[{', '.join(map(str, point[len(values) :]))}]"
    return text + (f" for {', '.join(values)}" if values else "")
