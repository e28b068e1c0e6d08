"""Programs: statements with their domains and accesses, and the order in which they run as written.

    for i < M, j < N, k < K:
        C[i, j] += A[i, k] * B[k, j]        # S

A statement is the set of its instances `{ S[i, j, k] : 0 <= i < M and ... }`, for each access a relation from
instances to array elements `{ S[i, j, k] -> A[i, k] }`, and what an instance does. A program is its statements and a
schedule tree, the original order; it comes from a Python loop nest (`nest`), from isl's notation (`Program.parse`) or
from a graph of operations (`Program.of`):

    @nest
    def gemm(A, B, C, M, N, K):
        for i in range(M):
            ...

    Program.parse("[M, N, K] -> { S[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K }",
                  reads="{ S[i, j, k] -> C[i, j]; S[i, j, k] -> A[i, k]; S[i, j, k] -> B[k, j] }",
                  writes="{ S[i, j, k] -> C[i, j] }")

Statements and programs are values, checked when they are made: an access is restricted to its statement's instances,
and an order that forgets an instance, or has one that is none of the program's, is refused with that instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from polyvolta.display.shown import Shown
from polyvolta.sched.errors import BadProgram
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Map, Set, nearest
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.graph.dag import Graph


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a statement.

    Parameters
    ----------
    array : name of the array; a scalar is an array without dimensions.
    relation : instances -> elements, on the statement's domain only; one tuple on either side.
    must : of a write, whether it surely happens. A write that only may happen hides no earlier one.

    >>> from polyvolta.sched import nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> access = chain.statement("S").reads[0]
    >>> print(access.relation)
    [N] -> { S[i] -> A[i - 1] : 1 <= i < N }
    """

    array: str
    relation: Map
    must: bool = True


@dataclass(frozen=True, slots=True)
class Statement(Shown):
    """A statement of a loop nest.

    Parameters
    ----------
    iterators : the names of its domain's dimensions, which are the names that `body` uses.
    reads, writes : what an instance accesses; what they say of instances outside the domain is dropped.
    kills : elements whose value is dead from this instance on: a later read gets it from no earlier write.
    body : what an instance does, a Python statement in the iterators, parameters, arrays and scalars, such as
        "C[i, j] += A[i, k] * B[k, j]"; None when it is not known, as for a program given by relations alone.

    Raises
    ------
    BadProgram : the domain is no set of instances `name[iterators]`, or an access is none of this statement.

    >>> s = Statement("S", ("i",), Set("{ S[i] : 0 <= i < 8 }"), (), (Access("A", Map("{ S[i] -> A[2i] }")),))
    >>> print(s)
    S[i] : 0 ≤ i ≤ 7
      writes A[2i]
    """

    name: str
    iterators: tuple[str, ...]
    domain: Set
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    kills: tuple[Access, ...] = ()
    body: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Set):
            raise BadProgram(f"the domain of {self.name} is a Set, not {kind_of(self.domain)}", where=repr(self.domain))
        tuples = [s.out for s, _ in self.domain.parts]
        if len(tuples) != 1 or (tuples[0].name, len(tuples[0].dims)) != (self.name, len(self.iterators)):
            raise BadProgram(
                f"the domain of {self.name} is a set of {self.name}[{', '.join(self.iterators)}]",
                where=str(self.domain),
            )
        for role in ("reads", "writes", "kills"):
            object.__setattr__(self, role, tuple(self._restricted(a) for a in getattr(self, role)))

    def _restricted(self, access: Access) -> Access:
        """The access of the instances that there are."""
        if not isinstance(access, Access) or not isinstance(access.relation, Map):
            hint = f'Access("A", Map("{{ {self.domain.parts[0][0].out} -> A[...] }}"))'
            raise BadProgram(f"an access of {self.name} is an array and a Map", where=repr(access), hint=hint)
        spaces = [s for s, _ in access.relation.parts]
        if (
            len(spaces) != 1
            or spaces[0].inp is None
            or spaces[0].inp.key != self.domain.parts[0][0].out.key
            or spaces[0].out.name != access.array
        ):
            raise BadProgram(
                f"an access of {self.name} relates {self.domain.parts[0][0].out} to elements of {access.array}",
                where=str(access.relation),
            )
        relation = access.relation.align_params(self.domain.param_names).intersect_domain(self.domain)
        return access if relation == access.relation else replace(access, relation=relation)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Reads, then writes."""
        return (*self.reads, *self.writes)

    def __str__(self) -> str:
        from polyvolta.display.text import printable
        from polyvolta.sched.program.show import show_statement

        return printable(show_statement(self))

    def _html(self) -> str:
        from polyvolta.display.page import block

        return block(str(self))


@dataclass(frozen=True, slots=True, repr=False)
class Program(Shown):
    """Statements and the order in which they run.

    Parameters
    ----------
    schedule : the tree of the original order; its domain is the union of the statements' domains.
    context : what may be assumed of the parameters, a set without dimensions.
    arguments : the names that a call of the program takes, in order: arrays, parameters and scalars.
    local : arrays that nobody looks at afterwards (scalars assigned inside the nest, intermediate results of a graph);
        nobody has to pass them, elements that are read before they are written are 0.
    functions : what other names in the bodies stand for: functions, modules such as `math`. Not compared.
    function : the Python function that the program was read from, which a call of the program runs. Not compared.

    Raises
    ------
    BadProgram : two statements of one name; an array with several numbers of dimensions, or called like a parameter; a
        context with dimensions, or one that holds for no parameters; parameters that the domain does not have.
    BadSchedule : the order misses an instance, or has one that is no statement's.

    >>> from polyvolta.sched.program import nest_from_source
    >>> gemm = nest_from_source('''
    ... def gemm(A, B, C, M, N, K):
    ...     for i in range(M):
    ...         for j in range(N):
    ...             for k in range(K):
    ...                 C[i, j] += A[i, k] * B[k, j]
    ... ''')
    >>> print(gemm)
    gemm(A, B, C, M, N, K)
      S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
        C[i, j] += A[i, k] * B[k, j]
        reads  C[i, j]; A[i, k]; B[k, j]
        writes C[i, j]
      order
        BAND: S[i, j, k] → [i, j, k]
    """

    name: str
    statements: tuple[Statement, ...]
    schedule: Schedule
    context: Set
    arguments: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    functions: Mapping[str, object] = field(default_factory=dict, compare=False)
    function: Callable[..., object] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        from polyvolta.sched.program.check import check_program

        object.__setattr__(self, "functions", MappingProxyType(dict(self.functions)))
        check_program(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Without the Python function, whose name stands for the program elsewhere: a copy runs its bodies."""
        kept = self.name, self.statements, self.schedule, self.context, self.arguments, self.local
        return Program, (*kept, dict(self.functions))

    def __deepcopy__(self, memo: object) -> Program:
        """Itself, as nothing of it changes."""
        return self

    # ---- making one

    @staticmethod
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
        """The program of some relations in isl's notation; see `polyvolta.sched.program.notation.parse`."""
        from polyvolta.sched.program.notation import parse

        return parse(domain, reads, writes, schedule, may_writes=may_writes, kills=kills, context=context,
                     bodies=bodies, name=name, local=local, functions=functions)  # fmt: skip

    @staticmethod
    def from_source(
        text: str,
        names: Mapping[str, object] | None = None,
        *,
        context: str | Set | None = None,
        name: str | None = None,
    ) -> Program:
        """The program of a Python function's text; see `polyvolta.sched.program.nests.nest.nest_from_source`."""
        from polyvolta.sched.program.nests.nest import nest_from_source

        return nest_from_source(text, names, context=context, name=name)

    @staticmethod
    def from_c(text: str, name: str | None = None, *, context: str | Set | None = None) -> Program:
        """The program of a function in C; see `polyvolta.sched.program.from_c.from_c`."""
        from polyvolta.sched.program.from_c import from_c

        return from_c(text, name, context=context)

    @staticmethod
    def of(statements: Graph | Iterable[object], name: str = "program") -> Program:
        """The program of a graph or its statements; see `polyvolta.sched.program.of_graph.of`."""
        from polyvolta.sched.program.of_graph import of

        return of(statements, name)

    # ---- reading it

    @property
    def domain(self) -> Set:
        """The instances of all statements."""
        return self.schedule.domain

    @property
    def params(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.domain.param_names

    def statement(self, name: str) -> Statement:
        """The statement of that name.

        Raises
        ------
        BadProgram : there is none; the hint names the nearest.

        >>> from polyvolta.sched import nest
        >>> @nest
        ... def chain(A, N):
        ...     for i in range(1, N):
        ...         A[i] = A[i - 1]
        >>> chain.statement("S").iterators
        ('i',)
        """
        for s in self.statements:
            if s.name == name:
                return s
        names = [s.name for s in self.statements]
        raise BadProgram(f"no statement is called {name!r}", hint=nearest(name, names))

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays in the order in which they are first accessed."""
        return tuple(dict.fromkeys(a.array for s in self.statements for a in s.accesses))

    @property
    def reads(self) -> Map:
        """All reads, instances -> elements."""
        return self._union(a for s in self.statements for a in s.reads)

    @property
    def writes(self) -> Map:
        """All writes, those that surely happen and those that may."""
        return self._union(a for s in self.statements for a in s.writes)

    @property
    def must_writes(self) -> Map:
        """The writes that surely happen."""
        return self._union(a for s in self.statements for a in s.writes if a.must)

    @property
    def may_writes(self) -> Map:
        """The writes that only may happen."""
        return self._union(a for s in self.statements for a in s.writes if not a.must)

    @property
    def kills(self) -> Map:
        """The elements whose values instances end."""
        return self._union(a for s in self.statements for a in s.kills)

    def _union(self, accesses: Iterable[Access]) -> Map:
        relations = [a.relation.align_params(self.params) for a in accesses]
        return Map._of(self.params, [part for r in relations for part in r.parts])

    # ---- running it

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the program as it was written, in place on the arrays that are passed.

        A program made of a Python function calls that function. Another one runs its bodies one instance after
        another in the original order, which is slow and good for small sizes; it returns None.

        Raises
        ------
        BadProgram : a statement has no body.
        BadArgument : the arguments do not fit.
        """
        if self.function is not None:
            return self.function(*args, **kwargs)
        from polyvolta.sched.program.interpret import interpret

        return interpret(self, args, kwargs)

    # ---- showing it

    def __str__(self) -> str:
        from polyvolta.display.text import printable
        from polyvolta.sched.program.show import show_program

        return printable(show_program(self))

    def __repr__(self) -> str:
        return f"<Program {self.name}: {', '.join(s.name for s in self.statements)}; print it>"

    def _html(self) -> str:
        from polyvolta.display.page import block

        return block(str(self))
