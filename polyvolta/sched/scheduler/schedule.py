"""Schedules from dependences: the way from a program to a tree.

1. The dependences, exact relations between instances, are cut into convex pieces.
2. For each piece the cone of the affine forms that are nonnegative on it is computed (`farkas`).
3. Statements are clustered (`components`, `fusion`), and each cluster gets a permutable band of maximal width, row by
   row, each the best solution of an integer program (`problem`, `ilp`, `bands`).
4. What a band leaves at equal times is scheduled below it, the same way; statements without loops left are put in a
   sequence (`build`).
5. The tree is checked against the dependences by a module that knows nothing of all this (`legality`).

Sources: Bondhugula, Hartono, Ramanujam, Sadayappan, "A practical automatic polyhedral parallelizer and locality
optimizer" (PLDI 2008); Feautrier, "Some efficient solutions to the affine scheduling problem" (1992); Verdoolaege,
Janssens, "Scheduling for PPCG" (CW 706, 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from polyvolta.sched.dependence import Accessing
from polyvolta.sched.dependence import dependences as dependences_of
from polyvolta.sched.dependence.model import Dependence, fitting
from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.legality import violations
from polyvolta.sched.nodes import Leaf
from polyvolta.sched.program import Program
from polyvolta.sched.program.assuming import assuming
from polyvolta.sched.scheduler.build import Builder
from polyvolta.sched.scheduler.fusion import Fuse
from polyvolta.sched.scheduler.pieces import pieces_of
from polyvolta.sched.scheduler.written import in_order
from polyvolta.sched.tree import Schedule
from polyvolta.sets import nearest
from polyvolta.sets.errors import kind_of


def schedule(
    program: Program,
    fuse: Fuse = "paper",
    *,
    dependences: Sequence[Dependence] | None = None,
    outer_parallel: bool = True,
    negative: bool = True,
    verify: bool = True,
    explain: Callable[[str], object] | None = None,
) -> Schedule:
    """A schedule of a program with permutable bands as wide as possible, the parallel members first.

    What the program assumes of its parameters stands in a context node below the domain; where it assumes nothing,
    there is none.

    Parameters
    ----------
    fuse : which statements share a band: "paper" as long as neither width nor outer parallelism is lost, "max" as many
        as possible, "min" none that need not (module `fusion`).
    dependences : what has to be respected between instances of the program; by default the program's.
    outer_parallel : whether a row without any distance is taken before others.
    negative : whether iterators may have negative coefficients, as in `[t, t - i]`; if not, they have them only where
        nothing else satisfies the dependences.
    verify : whether the result is checked by `legality.violations`.
    explain : called with each step in words: `schedule(program, explain=print)`.

    Raises
    ------
    NoSchedule : the dependences have a cycle, which those of a program never have.
    BadSchedule : `fuse` is no such choice, or `explain` cannot be called.
    BadProgram : what is given is no program, or are no dependences of one.
    BudgetExceeded : by the dataflow or one of the integer programs.
    RuntimeError : the result is illegal, a defect of the scheduler.

    Optimal row by row for the dependences' rational polyhedra: no row has shorter bounded distances (see `problem`).
    Cost: a few small integer programs; milliseconds for a handful of statements.

    >>> from polyvolta.sched.program import nest_from_source
    >>> jacobi = nest_from_source('''
    ... def jacobi(A, T, N):
    ...     for t in range(T):
    ...         for i in range(1, N - 1):
    ...             A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]
    ... ''')
    >>> print(schedule(jacobi))
    DOMAIN: S[t, i] : 0 ≤ t < T ∧ 1 ≤ i ≤ N - 2
      BAND: S[t, i] → [t, i + t]
    """
    if not isinstance(program, Program):
        raise BadProgram(
            f"what is scheduled is a Program, not {kind_of(program)}",
            where=repr(program),
            hint="nest(function), Program.parse(text) and Program.of(graph) make one",
        )
    domain = program.domain
    if fuse not in get_args(Fuse):
        raise BadSchedule(f"there is no way to fuse called {fuse!r}", hint=nearest(str(fuse), get_args(Fuse)))
    if explain is not None and not callable(explain):
        raise BadSchedule(f"explain is called with each step, {explain!r} cannot be", hint="explain=print shows them")
    say: Callable[[str], object] = explain or (lambda text: None)
    iterators = {s.out.name or "": s.out.dims for s, _ in domain.parts}
    found = tuple(dependences_of(program) if dependences is None else fitting(dependences, iterators))
    params = tuple(dict.fromkeys([*domain.param_names, *[p for d in found for p in d.relation.param_names]]))
    order = in_order(program.schedule.root, tuple([s.out.name or "" for s, _ in domain.parts]))
    tuples = sorted([s.out for s, _ in domain.align_params(params).parts], key=lambda t: order.index(t.name or ""))
    builder = Builder(
        names=tuple([t.name or "" for t in tuples]),
        iterators=tuple([t.dims for t in tuples]),
        params=params,
        written=program.schedule.root,
        fuse=fuse,
        outer_parallel=outer_parallel,
        negative=negative,
        explain=say,
    )
    number = {name: k for k, name in enumerate(builder.names)}
    pieces = pieces_of(found, number, params, None if dependences is None else domain)
    for p in pieces:
        say(f"dependence {builder.describe(p)}")
    result = Schedule(assuming(domain, program.context, builder.tree(pieces) if tuples else Leaf()), found)
    wrong = next(violations(result), None) if (verify or builder.failures) and found else None
    if wrong is not None:
        if builder.failures:
            raise builder.failures[0]
        raise RuntimeError(
            f"the scheduler made an illegal schedule: {wrong}\n{result}\n"
            "That is a defect of polyvolta; please report it with the program"
        )
    return result


def initial(statements: Sequence[Accessing]) -> Schedule:
    """The outer-parallel schedule of a graph's statements (the paper's Figures sched1-initial and sched3-initial).

    DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
            S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
      BAND: S1[i, j, k] → [i, j, k];
            S2[i, j] → [i, j, K]
        SEQUENCE
          FILTER: S1[i, j, k]
          FILTER: S2[i, j]
    """
    return schedule(Program.of(statements))
