"""Whether a tree runs what a program consists of: every instance of every statement, no other.

A tree may be written for another size, keep a part of the instances (`contract`), or add some (`insert_extension`).
Loops can be made of each of these, but they do not compute what the program says. Where none of it is allowed, nothing
runs but what the program's accesses speak of, and their subscripts can be checked against the arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.example import example
from polyvolta.sched.structure.reach import instances_at, names_of, only, passed
from polyvolta.sched.structure.times import prefix_schedule
from polyvolta.sched.tree import Context, Extension, Filter, Guard, Path, Schedule, Sequence, SetNode
from polyvolta.sets import Set, nearest

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program


def check_instances(schedule: Schedule, program: Program) -> None:
    """Refuse a tree that does not run exactly the program's instances.

    Raises
    ------
    BadSchedule : an instance is missing or none of the program's, which is named; an extension adds instances,
        whose statement has no body. The tree is shown with the node marked.

    Cost: a set difference for each statement whose instances are not the program's own, for each filter outside of
    sequences and for each guard.
    """
    schedule.check_structure()
    names = [s.name for s in program.statements]
    for name in names_of(schedule.domain):
        here = schedule.domain.only(name)
        if name not in names and not here.is_empty():
            hint = nearest(str(name), names)
            raise _bad(schedule, (), f"the tree runs {example(here)}, and the program has no statement {name}", hint)
    for s in program.statements:
        here = only(schedule.domain, [s.name])
        if here.parts and here.space.key != s.domain.space.key:
            raise _bad(schedule, (), f"the tree has instances {here.space}, and the program {s.domain.space}")
        _same(schedule, here, s.domain, program.context)
    for at, node in schedule.walk():
        if isinstance(node, Extension):
            added = node.extension.range().intersect_params(program.context)
            if not added.is_empty():
                hint = "a program's statements have bodies, what an extension adds has none"
                raise _bad(schedule, at, f"the extension adds {example(added)}, which has no body", hint)
        if isinstance(node, Filter) and not isinstance(schedule.node(at[:-1]), Sequence | SetNode):
            here = instances_at(schedule, at)
            _none(schedule, at, here - passed(here, node), program.context)
        if isinstance(node, Guard):
            times = prefix_schedule(schedule, at)
            _none(schedule, at, times.subtract_range(node.guard).domain() & schedule.domain, program.context)


def assumptions(schedule: Schedule) -> tuple[tuple[Set, Set], ...]:
    """The contexts of a tree, each with the parameters for which it does not hold; loops are wrong for those.

    A context on members above has to hold where instances come by, one on parameters alone everywhere.
    """
    found = []
    for at, node in schedule.walk():
        if isinstance(node, Context):
            context = node.context
            wrong = prefix_schedule(schedule, at).subtract_range(context).params()
            sizes = context.params()
            if (context.complement().intersect_params(sizes)).is_empty():  # it says nothing of members
                wrong = wrong | sizes.complement()
            found.append((context, wrong))
    return tuple(found)


def _same(schedule: Schedule, here: Set, wanted: Set, context: Set) -> None:
    """Refuse the instances of one statement that differ from the program's."""
    if here == wanted:
        return
    missing, more = ((a - b).intersect_params(context) for a, b in ((wanted, here), (here, wanted)))
    if not missing.is_empty():
        hint = "a tree for other sizes computes a part; after contract an instance stands for a tile, not for its body"
        raise _bad(schedule, (), f"the tree misses {example(missing)}, which the program runs", hint)
    if not more.is_empty():
        raise _bad(schedule, (), f"the tree runs {example(more)}, which is no instance of the program")


def _none(schedule: Schedule, at: Path, dropped: Set, context: Set) -> None:
    """Refuse instances that do not reach the leaves."""
    dropped = dropped.intersect_params(context)
    if not dropped.is_empty():
        raise _bad(schedule, at, f"{example(dropped)} of the program does not pass here")


def _bad(schedule: Schedule, at: Path, message: str, hint: str = "") -> BadSchedule:
    return BadSchedule(message, where=schedule.marked(at), hint=hint)
