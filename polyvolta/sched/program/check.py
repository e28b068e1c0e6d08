"""Whether the parts of a program fit: its order has every instance of every statement once, and no other.

That a tree orders what its domain declares is checked by `Schedule.check_structure`. Here it is compared with the
statements, and what a tree may do elsewhere is excluded: to add instances, or to leave some out on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.example import example
from polyvolta.sched.structure.reach import instances_at, passed
from polyvolta.sched.tree import Domain, Extension, Filter, Guard, Path, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, nearest
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program

Instances = dict[str, Set]


def check_program(program: Program) -> None:
    """Refuse parts that do not fit.

    Raises
    ------
    BadProgram : see `Program`.
    BadSchedule : see `check_order`.

    Cost: a set difference for each statement, unless the order's domain is made of the statements' own sets.
    """
    if not isinstance(program.schedule, Schedule) or not isinstance(program.context, Set):
        kinds = f"{kind_of(program.schedule)} and {kind_of(program.context)}"
        hint = "Program.parse reads texts"
        raise BadProgram(f"a program has a Schedule for its order and a Set for its context, not {kinds}", hint=hint)
    names = [s.name for s in program.statements]
    if not names:
        raise BadProgram("a program has at least one statement")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise BadProgram(f"two statements are called {twice}", where=", ".join(names))
    if any(s.dims for s, _ in program.context.parts):
        hint = 'such as "[N] -> { : N >= 1 }"'
        raise BadProgram("a context speaks of parameters alone", where=str(program.context), hint=hint)
    if program.context.is_empty():
        raise BadProgram("the context holds for no parameters at all", where=str(program.context))
    known: dict[str, Map] = {}
    for s in program.statements:
        for a in (*s.accesses, *s.kills):
            before = known.setdefault(a.array, a.relation)
            here, there = (r.parts[0][0].n_out for r in (a.relation, before))
            if here != there:
                counted = f"{here or 'no'} subscript{'s' * (here != 1)} in one place and {there or 'none'} in another"
                raise BadProgram(f"{a.array} has {counted}", where=f"{before}\n{a.relation}")
    check_order(program.schedule, {s.name: s.domain for s in program.statements})
    _check_names(program)


def _check_names(program: Program) -> None:
    """Refuse parameters that the domain does not have, and names for two things."""
    params = program.params
    for what, r in [("the context", program.context)] + [
        (f"an access of {s.name}", a.relation) for s in program.statements for a in (*s.accesses, *s.kills)
    ]:
        foreign = next((p for p in r.param_names if p not in params), None)
        if foreign is not None:
            hint = f'domain.align_params(("{foreign}", ...)) makes it one'
            raise BadProgram(f"{what} speaks of {foreign}, no parameter of the domain", where=str(r), hint=hint)
    for s in program.statements:
        for a in s.accesses:
            if a.array in params:
                raise BadProgram(f"{a.array} is an array and a parameter", where=str(a.relation))
            if s.body is not None and a.array in s.iterators:
                raise BadProgram(f"{a.array} is an array and an iterator of {s.name}", where=s.body)


def check_order(schedule: Schedule, statements: Instances) -> None:
    """Refuse a tree that does not order exactly these instances.

    Raises
    ------
    BadSchedule : an instance is missing or unknown, which is named, or the tree is no schedule; the node is marked.
    """
    root = schedule.check_structure().root
    assert isinstance(root, Domain)
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
    _complete(schedule)


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


def _complete(schedule: Schedule) -> None:
    """Refuse a tree that adds instances, tests conditions, or leaves instances out on the way to its leaves."""
    for at, node in schedule.walk():
        if isinstance(node, Extension | Guard):
            raise BadSchedule(
                f"a program's own order has no {type(node).__name__}: its instances are those of its statements",
                where=schedule.marked(at),
                hint="make what it adds a statement, and what it tests a part of the domains",
            )
        if isinstance(node, Filter) and not isinstance(schedule.node(at[:-1]), Sequence | SetNode):
            here = instances_at(schedule, at)
            dropped = here - passed(here, node)
            if not dropped.is_empty():
                raise BadSchedule(f"the schedule misses {example(dropped)}", where=schedule.marked(at))
