"""Running a program instance by instance: what its order and its bodies mean.

The instances at given parameters are listed and put into order by walking the tree: a band sorts them by its
expressions, a sequence takes one child's after another's. Then each body runs with its iterators set. It is slow, a
list of all instances and Python for each, and shares nothing with the generation of code, which is what it is good for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polyvolta.sched.errors import BadArgument, BadProgram, BadSchedule
from polyvolta.sched.tree import Band, Extension, Filter, Guard, Leaf, Node, Schedule, SetNode
from polyvolta.sched.tree import Sequence as Ordered
from polyvolta.sets import nearest
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.space import whole

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program

Instance = tuple[str, tuple[int, ...]]


def instances(schedule: Schedule, **params: int) -> list[Instance]:
    """All instances of a schedule in its order; those of equal time in the order of the domain.

    `params` are the values of the parameters by name.

    Cost: O(n log n) for n instances at every band; every one is listed.

    >>> from polyvolta.sched.program import Program
    >>> p = Program.parse("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }",
    ...                   schedule="{ S[i] -> [i, 0]; T[i] -> [i, 1] }")
    >>> instances(p.schedule, N=2)
    [('S', (0,)), ('T', (0,)), ('S', (1,)), ('T', (1,))]

    Raises
    ------
    BadArgument : it is no schedule.
    BadSchedule : the tree adds instances or has guards, which are not those of the domain.
    Unbounded : there are infinitely many instances, or a parameter has no value.
    """
    if not isinstance(schedule, Schedule):
        hint = "instances(program.schedule, ...)" if hasattr(schedule, "schedule") else ""
        raise BadArgument(f"instances are listed of a Schedule, not of {kind_of(schedule)}", hint=hint)
    domain = schedule.domain
    values = {p: params[p] for p in domain.param_names if p in params}
    found: list[Instance] = []
    dims = {}
    for space, _ in domain.parts:
        name = str(space.out.name)
        dims[name] = space.out.dims
        found += [(name, p) for p in domain.only(name).points(**values)]
    return _Walk(schedule, dims, values).order(schedule.root, found)


class _Walk:
    def __init__(self, schedule: Schedule, dims: Mapping[str, tuple[str, ...]], values: Mapping[str, int]) -> None:
        self.schedule, self.dims, self.values = schedule, dims, values

    def order(self, node: Node, here: list[Instance]) -> list[Instance]:
        match node:
            case Leaf():
                return here
            case Band():
                groups: dict[tuple[int, ...], list[Instance]] = {}
                for instance in here:
                    groups.setdefault(self.time(node, instance), []).append(instance)
                return [x for time in sorted(groups) for x in self.order(node.child, groups[time])]
            case Ordered(children) | SetNode(children):
                return [x for child in children for x in self.order(child, here)]
            case Filter(statements, child, chosen):
                through = [x for x in here if x[0] in statements]
                if chosen is not None:
                    through = [x for x in through if self.contains(chosen, x)]
                return self.order(child, through)
            case Extension() | Guard():
                raise BadSchedule(f"{kind_of(node)} changes which instances run", where=self.schedule.show())
        return self.order(node.children[0], here)

    def time(self, band: Band, instance: Instance) -> tuple[int, ...]:
        name, point = instance
        at = {**self.values, **dict(zip(self.dims[name], point, strict=True))}
        return tuple(int(m.of(name).evaluate(at)) for m in band.members)  # type: ignore[call-overload]

    def contains(self, chosen, instance: Instance) -> bool:  # noqa: ANN001
        values = {p: v for p, v in self.values.items() if p in chosen.param_names}
        name, point = instance
        only = chosen.only(name)
        return bool(only.parts) and only.contains(point, **values)


class _Cells(defaultdict):
    """A local array: elements by their subscripts, 0 before they are written."""

    def __init__(self) -> None:
        super().__init__(float)


def interpret(program: Program, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Run the bodies of a program in its order, in place; see `Program.__call__`.

    Raises
    ------
    BadProgram : a statement has no body.
    BadArgument : an argument is missing, unknown or given twice; a parameter is no integer or outside of the context; a
        scalar that is written is no array, so that nobody would see it.

    What a body itself raises comes through, with a note of the instance.
    """
    for s in program.statements:
        if s.body is None:
            raise BadProgram(f"{s.name} has no body, so that it can't run", hint='bodies={"' + s.name + '": ...}')
    given = _bound(program, args, kwargs)
    params = {}
    for p in program.params:
        value = whole(given[p])
        if value is None:
            raise BadArgument(f"the parameter {p} is an integer, not {given[p]!r}")
        params[p] = value
    if not program.context.contains((), **{p: v for p, v in params.items() if p in program.context.param_names}):
        values = ", ".join(f"{p} = {v}" for p, v in params.items())
        raise BadArgument(f"{values} is outside of the context", where=str(program.context))
    ranks = {a.array: a.relation.space.n_out for s in program.statements for a in s.accesses}
    names: dict[str, object] = {**program.functions, **given, **params}
    for a in program.local:
        names[a] = _Cells() if ranks.get(a) else 0.0
    scalars = [a for a, rank in ranks.items() if not rank and a not in program.local]
    written = [a for a in scalars if any(w.array == a for s in program.statements for w in s.writes)]
    for a in scalars:
        if a in written and not hasattr(given[a], "shape"):
            message = f"{a} is written: it is an array without dimensions, not {kind_of(given[a])}"
            raise BadArgument(message, hint="numpy.zeros(())")
        names[a] = given[a][()] if hasattr(given[a], "shape") else given[a]  # type: ignore[index]
    code = {s.name: (s.iterators, compile(s.body or "", s.name, "exec")) for s in program.statements}
    for statement, point in instances(program.schedule, **params):
        iterators, body = code[statement]
        names.update(zip(iterators, point, strict=True))
        try:
            exec(body, names)  # noqa: S102 - the bodies are the program
        except Exception as error:
            error.add_note(f"in {statement}{list(point)}: {program.statement(statement).body}")
            raise
    for a in written:
        given[a][()] = names[a]  # type: ignore[index]


def _bound(program: Program, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call by name."""
    names = program.arguments
    signature = f"{program.name}({', '.join(names)})"
    if len(args) > len(names):
        raise BadArgument(f"{len(args)} arguments for {len(names)}", where=signature)
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise BadArgument(f"no argument is called {name!r}", where=signature, hint=nearest(name, names))
        if name in given:
            raise BadArgument(f"{name} is given twice", where=signature)
        given[name] = value
    missing = [n for n in names if n not in given]
    if missing:
        raise BadArgument(f"no value for {', '.join(missing)}", where=signature)
    return given
