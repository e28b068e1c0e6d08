"""Programs from relations in isl's notation.

    Program.parse("[N] -> { S[i] : 0 < i < N }",
                  reads="{ S[i] -> A[i - 1] }", writes="{ S[i] -> A[i] }",
                  bodies="A[i] = 2 * A[i - 1]")

The domain is a set with one named tuple for each statement; accesses are maps from statements to arrays, of which
only the part on the domain counts. The order is a map from instances to times, a schedule tree in isl's text, or a
`Schedule`; without one, the statements run one after another in the order of the domain's text. This is what pet
extracts from C and what polyhedral tools exchange.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from polyvolta.sched.errors import BadProgram
from polyvolta.sched.program.assuming import assuming
from polyvolta.sched.program.from_map import schedule_of_map, textual_order
from polyvolta.sched.program.model import Access, Program, Statement
from polyvolta.sched.program.of_bodies import accesses_of_bodies
from polyvolta.sched.tree import Domain, Schedule
from polyvolta.sets import Map, Set, Tuple, nearest
from polyvolta.sets.errors import kind_of

R = TypeVar("R", Set, Map)
ROLES = ("read", "write", "may write", "kill")
TREE = re.compile(r"^\s*[{\[]?\s*[\"']?(domain|context)[\"']?\s*:")
BAND = re.compile(r"^\s*(\[[^\[\]{}]*\]\s*->\s*)?\[\s*\{")


def parse(
    domain: str | Set,
    reads: str | Map | None = None,
    writes: str | Map | None = None,
    schedule: str | Map | Schedule | None = None,
    *,
    may_writes: str | Map | None = None,
    kills: str | Map | None = None,
    context: str | Set | None = None,
    bodies: str | Mapping[str, str] | None = None,
    name: str = "program",
    local: Sequence[str] = (),
    functions: Mapping[str, object] | None = None,
) -> Program:
    """The program of some relations.

    Parameters
    ----------
    domain : the instances, a set with one tuple a statement.
    reads, writes : instances -> elements; `may_writes` those that only may happen, `kills` values that end there. Where
        nothing is said of any of them the bodies tell.
    schedule : instances -> times; or one band as isl writes it, `[{ S[i] -> [(i)] }]`; or a tree, as isl's text or a
        `Schedule`.
    context : what may be assumed of the parameters.
    bodies : what an instance does, Python statements by the statements' names, or a text if there is one statement.
    local : arrays that nobody looks at afterwards.
    functions : what functions in the bodies are, besides Python's built-ins and those of `math`.

    Raises
    ------
    BadProgram : an access or a body of no statement, a body that is no Python or uses an array without an access, an
        array with several numbers of subscripts.
    NotAffineProgram : a body that is to tell its accesses has a subscript that is not affine.
    BadSchedule : the order misses an instance, or has one that is none of the domain's.
    SetSyntaxError, TreeSyntaxError : a text that is none.

    >>> program = parse("[N] -> { S[i] : 0 < i < N }", "{ S[i] -> A[i - 1] }", "{ S[i] -> A[i] }",
    ...                 bodies="A[i] = 2 * A[i - 1]")
    >>> print(program)
    program(A, N)
      S[i] : 1 ≤ i < N
        A[i] = 2 * A[i - 1]
        reads  A[i - 1]
        writes A[i]
      order
        BAND: S[i] → [i]
    >>> values = [1, 0, 0, 0]
    >>> program(values, 4)
    >>> values
    [1, 2, 4, 8]
    """
    instances = _read(Set, domain)
    given = _read(Set, "{ : }" if context is None else context)
    relations = dict(zip(ROLES, (_read(Map, r) for r in (reads, writes, may_writes, kills)), strict=True))
    order = _order(schedule, instances)
    named = [instances, given, *relations.values(), *([order] if isinstance(order, Map) else [])]
    params = tuple(dict.fromkeys(p for r in named for p in r.param_names))
    instances, given = instances.align_params(params), given.align_params(params)
    relations = {role: relation.align_params(params) for role, relation in relations.items()}
    tuples = _tuples(instances)
    accesses = _accesses_of(relations, tuples, instances)
    texts = _bodies(bodies, tuple(tuples))
    if texts and not any((reads, writes, may_writes, kills)):
        for s, (some, others) in accesses_of_bodies(instances, texts, functions or {}).items():
            accesses[s, "read"], accesses[s, "write"] = list(some), list(others)
    statements = tuple(_statement(s, t, instances, accesses, texts) for s, t in tuples.items())
    arrays = _arrays(statements, local)
    names = _Names(params, arrays, functions or {})
    for s in statements:
        if s.body is not None:
            names.read(s)
    if isinstance(order, Map):
        order = schedule_of_map(order, instances)
    elif order is None:
        order = Schedule(Domain(instances, textual_order(instances)))
    if isinstance(order.root, Domain):
        order = order.replace((), assuming(order.root.domain, given, order.root.child))
    outside = tuple(a for a in arrays if a not in local)
    arguments = (*outside, *params, *names.scalars)
    return Program(name, statements, order, given, arguments, tuple(local), names.functions)


def _read(kind: type[R], value: R | str | None) -> R:
    """A set or map from its text, or itself; another value is refused by the class."""
    if value is None:
        return kind("{ }")
    return value if isinstance(value, kind) else kind(value)  # type: ignore[arg-type]


def _statement(
    name: str,
    tup: Tuple,
    instances: Set,
    accesses: Mapping[tuple[str, str], Sequence[Access]],
    bodies: Mapping[str, str],
) -> Statement:
    """One of the statements, of all of which there are instances, accesses by role, and bodies."""
    reads, writes, may_writes, kills = (accesses.get((name, role), ()) for role in ROLES)
    return Statement(
        name, tup.dims, instances.only(name), tuple(reads), (*writes, *may_writes), tuple(kills), bodies.get(name)
    )


def _arrays(statements: Sequence[Statement], local: Sequence[str]) -> tuple[str, ...]:
    """The arrays that statements read or write, which are all that there are."""
    arrays = tuple(dict.fromkeys(a.array for s in statements for a in s.accesses))
    for a in (a.array for s in statements for a in s.kills):
        if a not in arrays:
            raise BadProgram(f"no statement reads or writes {a}, whose values are killed", hint=nearest(a, arrays))
    lost = next((a for a in local if a not in arrays), None)
    if lost is not None:
        raise BadProgram(f"the local array {lost} is accessed by no statement", hint=nearest(lost, arrays))
    return arrays


def _order(schedule: str | Map | Schedule | None, domain: Set) -> Map | Schedule | None:
    if schedule is None or isinstance(schedule, Map | Schedule):
        return schedule
    if not isinstance(schedule, str):
        hint = "{ S[i] -> [i] }, a tree in isl's notation, or a Schedule"
        raise BadProgram(f"an order is a map or a tree, not {kind_of(schedule)}", where=repr(schedule), hint=hint)
    if BAND.match(schedule):
        return Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "{schedule}" }} }}')
    return Schedule.parse(schedule) if TREE.match(schedule) else Map(schedule)


def _tuples(domain: Set) -> dict[str, Tuple]:
    """The tuples of the statements by name."""
    out: dict[str, Tuple] = {}
    for space, _ in domain.parts:
        tup = space.out
        if tup.name is None or tup.inner is not None:
            raise BadProgram(
                f"a statement's instances are a tuple with a name, not {tup}", where=str(domain), hint="S[i, j]"
            )
        if tup.name in out:
            raise BadProgram(f"the statement {tup.name} has {out[tup.name]} and {tup}", where=str(domain))
        out[tup.name] = tup
    if not out:
        raise BadProgram("a program has at least one statement", where=str(domain))
    return out


def _accesses_of(
    relations: Mapping[str, Map], tuples: dict[str, Tuple], domain: Set
) -> dict[tuple[str, str], list[Access]]:
    """(statement, role) -> accesses, in order, of those that have any."""
    found: dict[tuple[str, str], list[Access]] = {}
    for role, relation in relations.items():
        for name, access in _accesses(relation, role, tuples, domain):
            found.setdefault((name, role), []).append(access)
    return found


def _accesses(relation: Map, role: str, tuples: dict[str, Tuple], domain: Set) -> Iterator[tuple[str, Access]]:
    """(statement, access) pairs, one for each conjunct of the relation that has an instance."""
    for space, pieces in relation.parts:
        inp, out = space.inp, space.out
        assert inp is not None
        name = str(inp.name)
        if name not in tuples:
            hint = nearest(name, tuples)
            raise BadProgram(
                f"the {role}s name the statement {inp}, which has no domain", where=str(relation), hint=hint
            )
        if inp.key != tuples[name].key:
            raise BadProgram(f"the {role}s have {inp}, the domain {tuples[name]}", where=str(relation))
        if out.name is None:  # a wrapped tuple with one is a field of a structure, as pet names them: s_f[s[i] -> f[]]
            raise BadProgram(f"an array is a tuple with a name, not {out}", where=str(relation), hint="S[i] -> A[i]")
        for c in pieces:
            one = Map._of(relation.param_names, [(space, (c,))])
            if not one.intersect_domain(domain.only(name)).is_empty():
                yield name, Access(out.name, one, role != "may write")


def _bodies(bodies: str | Mapping[str, str] | None, statements: tuple[str, ...]) -> dict[str, str]:
    if isinstance(bodies, str):
        if len(statements) > 1:
            raise BadProgram(
                "one body for several statements", where=bodies, hint=f'bodies={{"{statements[0]}": "A[i] = ..."}}'
            )
        return dict.fromkeys(statements, bodies)
    if bodies is not None and not isinstance(bodies, Mapping):
        hint = f'bodies={{"{statements[0]}": "A[i] = ..."}}'
        raise BadProgram(f"bodies are texts by the names of statements, not {kind_of(bodies)}", hint=hint)
    for s, text in (bodies or {}).items():
        if not isinstance(text, str):
            raise BadProgram(f"the body of {s} is a text, not {kind_of(text)}", where=repr(text), hint='"A[i] = 0"')
        if s not in statements:
            raise BadProgram(f"a body for {s}, which has no domain", where=str(bodies), hint=nearest(s, statements))
    return dict(bodies or {})


class _Names:
    """What the names in bodies are: arrays of the statement's accesses, functions, and else scalars to be passed."""

    def __init__(self, params: tuple[str, ...], arrays: tuple[str, ...], functions: Mapping[str, object]) -> None:
        self.params, self.arrays, self.given = params, arrays, functions
        self.scalars: dict[str, None] = {}
        self.functions: dict[str, object] = {}

    def read(self, s: Statement) -> None:
        """Check the body of a statement, and note what it needs."""
        assert s.body is not None
        try:
            tree = ast.parse(s.body)
        except SyntaxError as error:
            raise BadProgram(f"the body of {s.name} is no Python: {error.msg}", where=s.body) from None
        own = {a.array for a in s.accesses}
        called = {id(n.func): n.func for n in ast.walk(tree) if isinstance(n, ast.Call)}
        roots = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Subscript)}
        inside = {id(n) for sub in ast.walk(tree) if isinstance(sub, ast.Subscript) for n in ast.walk(sub.slice)}
        modules = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name) or node.id in s.iterators or node.id in own or node.id in self.params:
                continue
            name = node.id
            if id(node) in roots or isinstance(node.ctx, ast.Store) or name in self.arrays:
                hint = nearest(name, sorted(own)) if own else ""
                raise BadProgram(
                    f"the body of {s.name} uses {name}, to which it has no access", where=s.body, hint=hint
                )
            if id(node) in called or id(node) in modules:
                self.functions[name] = self.function(name, s)
            elif id(node) in inside:
                raise BadProgram(
                    f"a subscript in the body of {s.name} has {name}, which is no iterator and no parameter",
                    where=s.body,
                    hint=nearest(name, (*s.iterators, *self.params)),
                )
            else:
                self.scalars[name] = None

    def function(self, name: str, s: Statement) -> object:
        for names in (self.given, vars(builtins), vars(math), {"math": math}):
            if name in names:
                return names[name]
        hint = 'functions={"' + name + '": ...}'
        raise BadProgram(f"the body of {s.name} calls {name}, which is not known", where=s.body or "", hint=hint)
