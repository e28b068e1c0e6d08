"""Programs: statements with their domains and accesses, and the order in which they run as written.

    for i < M, j < N, k < K:
        C[i, j] += A[i, k] * B[k, j]        # S

A statement is the set of its instances `{ S[i, j, k] : 0 <= i < M and ... }`, for each access a relation from
instances to array elements `{ S[i, j, k] -> A[i, k] }`, and what an instance does. A program is its statements and a
schedule tree, the original order; it comes from isl's notation (`notation`), from a Python loop nest (`nest`) or from
a graph of operations (`Program.of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvolta.sched.tree import Schedule
from polyvolta.sets import Map, Set


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a statement.

    Parameters
    ----------
    array : name of the array; a scalar is an array without dimensions.
    relation : instances -> elements, on the statement's domain only; one tuple on either side.
    must : of a write, whether it surely happens. A write that only may happen hides no earlier one.
    """

    array: str
    relation: Map
    must: bool = True


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a loop nest.

    Parameters
    ----------
    iterators : the names of its domain's dimensions, which are the names that `body` uses.
    kills : elements whose value is dead from this instance on: a later read gets it from no earlier write.
    body : what an instance does, a Python statement in the iterators, parameters, arrays and scalars, such as
        "C[i, j] += A[i, k] * B[k, j]"; None when it is not known, as for a program given by relations alone.
    """

    name: str
    iterators: tuple[str, ...]
    domain: Set
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    kills: tuple[Access, ...] = ()
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Statements and the order in which they run.

    Parameters
    ----------
    schedule : the tree of the original order; its domain is the union of the statements' domains.
    context : what may be assumed of the parameters, a set without dimensions.
    arguments : the names that a call of the program takes, in order: arrays, parameters and scalars.
    local : arrays that nobody looks at afterwards (scalars assigned inside the nest).
    """

    name: str
    statements: tuple[Statement, ...]
    schedule: Schedule
    context: Set
    arguments: tuple[str, ...] = ()
    local: tuple[str, ...] = ()

    @property
    def domain(self) -> Set:
        """The instances of all statements."""
        return self.schedule.domain

    @property
    def params(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.domain.param_names

    def statement(self, name: str) -> Statement:
        """The statement of that name."""
        return next(s for s in self.statements if s.name == name)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays in the order in which they are first accessed."""
        return tuple(dict.fromkeys(a.array for s in self.statements for a in (*s.reads, *s.writes)))

    @staticmethod
    def of(statements: Sequence[object]) -> Program:
        """The program of a graph's statements, which run one after another, each in the order of its iterators."""
        raise NotImplementedError
