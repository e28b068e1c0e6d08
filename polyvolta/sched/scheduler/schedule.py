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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

from polyvolta.sched.dependence import Accessing
from polyvolta.sched.dependence import dependences as dependences_of
from polyvolta.sched.dependence.given import fitting
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import BadProgram, BadSchedule, NoSchedule, says_keywords
from polyvolta.sched.legality import violations
from polyvolta.sched.nodes import Leaf, Node
from polyvolta.sched.points import in_all_directions
from polyvolta.sched.program import Program
from polyvolta.sched.program.assuming import assuming, context_of
from polyvolta.sched.scheduler.build import Builder
from polyvolta.sched.scheduler.constraints import Constraints
from polyvolta.sched.scheduler.determined import determined, numeric, without
from polyvolta.sched.scheduler.fusion import Explain, Fuse
from polyvolta.sched.scheduler.limits import Limits
from polyvolta.sched.scheduler.pieces import DATA, pieces_of
from polyvolta.sched.scheduler.texts import arguments_of, says_constraints
from polyvolta.sched.scheduler.written import in_order
from polyvolta.sched.tree import Schedule
from polyvolta.sched.wrapped import statements
from polyvolta.sets import Map, Set, nearest
from polyvolta.sets.conjuncts import lattice
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.engine.rows import Row
from polyvolta.sets.errors import kind_of


@says_keywords
def schedule(
    program: Program | Set | str,
    fuse: Fuse = "paper",
    *,
    dependences: Sequence[Dependence] | None = None,
    validity: Map | None = None,
    proximity: Map | None = None,
    coincidence: Map | None = None,
    conditional_validity: Map | None = None,
    conditional_validity_condition: Map | None = None,
    context: Set | str | None = None,
    outer_parallel: bool = True,
    negative: bool = True,
    narrow: bool = True,
    outer_coincidence: bool = False,
    coalesce: bool = False,
    max_coefficient: int | None = None,
    max_constant: int | None = None,
    verify: bool = True,
    explain: Callable[[str], object] | None = None,
) -> Schedule:
    """A schedule of a program with permutable bands as wide as possible, the parallel members first.

    What the program assumes of its parameters stands in a context node below the domain; where it assumes nothing,
    there is none.

    Parameters
    ----------
    fuse : which statements share a band: "paper" as long as neither width nor outer parallelism is lost, "max" as many
        as possible, "min" none that need not, "near" those of which one uses what another made nearby (module
        `fusion`).
    program : a program, or the instances alone, which have the constraints that are given; or isl's text of both, as
        `{ domain: "{ S[i] : 0 <= i < 9 }", validity: "{ S[i] -> S[i + 1] }" }`.
    dependences : what has to be respected between instances of the program; by default the program's.
    validity, proximity, coincidence, conditional_validity, conditional_validity_condition : instead of dependences, as
        union maps, isl's schedule constraints (module `constraints`). Where none says what is valid, a program's
        dependences are respected, and the others come on top.
    context : what is assumed of the parameters, instead of what the program does; a set or its text.
    outer_parallel : whether a row without any distance is taken before others.
    negative : whether iterators may have negative coefficients, as in `[t, t - i]`; if not, they have them only where
        nothing else satisfies the dependences.
    narrow : whether a band has no member for a direction in which a statement's instances are all alike, as equalities
        of the domain make them, nor for an iterator that the others determine, as j in `j = floor(i/4)`; else bands are
        as wide as statements have iterators.
    outer_coincidence : whether each band has a parallel member outermost: where that is not to be had, a band is one
        member that satisfies as many dependences as possible, so that those below it have one.
    coalesce : whether a member may run several loops as one, as `[10*i + j]` of 0 <= j < 10 (module `limits`).
    max_coefficient, max_constant : how large coefficients of iterators and parameters, and constants, are at most; but
        for a member that satisfies as many dependences as possible, where no other is valid.
    verify : whether the result is checked by `legality.violations`.
    explain : called with each step in words: `schedule(program, explain=print)`.

    Raises
    ------
    TreeSyntaxError : a text says no schedule constraints.
    NoSchedule : the dependences have a cycle, which those of a program never have.
    BadSchedule : `fuse` is no such choice, `explain` cannot be called, or instances have no name, or two tuples one.
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
    given = Constraints(validity, proximity, coincidence, conditional_validity, conditional_validity_condition)
    program, given, context = _said(program, given, context)
    domain, written, assumed = _what(program, context_of(context))
    say = _explained(fuse, explain)
    found = _respected(program, dependences, given, {s.out.name or "": s.out.dims for s, _ in domain.parts})
    limits = Limits(*[-1 if most is None else most for most in (max_coefficient, max_constant)], coalesce=coalesce)
    wishes = partial(
        Builder,
        fuse=fuse,
        outer_parallel=outer_parallel,
        negative=negative,
        coincident=outer_coincidence,
        limits=limits,
        explain=say,
    )
    builder, tree = _built(domain, found, written, narrow, wishes)
    result = Schedule(assuming(domain, assumed, tree), tuple([d for d in found if d.kind in (*DATA, "validity")]))
    if found and (verify or builder.failures):
        _verify(result, builder)
    return result


def _said(
    program: Program | Set | str, given: Constraints, context: Set | str | None
) -> tuple[Program | Set, Constraints, Set | str | None]:
    """What is scheduled, the constraints and the context: the arguments, or what a text of isl's says instead.

    Raises
    ------
    TreeSyntaxError : a text with a domain says no schedule constraints.
    BadProgram : what is given is nothing that can be scheduled.
    BadSchedule : a tuple of the instances has no name, or two have one.
    """
    if isinstance(program, str) and says_constraints(program):
        said = arguments_of(program)
        program, context = said.pop("program"), said.pop("context", context)
        given = replace(given, **said)
    if isinstance(program, Set):
        program = statements(program)
    if isinstance(program, Program | Set):
        return program, given, context
    raise BadProgram(
        f"what is scheduled is a Program, or a Set of instances, not {kind_of(program)}",
        where=repr(program),
        hint="nest(function), Program.parse(text) and Program.of(graph) make one",
    )


def _built(
    domain: Set, found: Sequence[Dependence], written: Node | None, narrow: bool, wishes: Callable[..., Builder]
) -> tuple[Builder, Node]:
    """What stands below the domain, and what built it.

    Parameters
    ----------
    written : the order in which the program was written, if it was.
    narrow : as of `schedule`; but where what is determined tells instances apart that depend on each other, it stays.
    wishes : makes the builder of some statements.

    Raises
    ------
    NoSchedule : the dependences have a cycle.
    """
    params = tuple(dict.fromkeys([*domain.param_names, *[p for d in found for p in d.relation.param_names]]))
    scheduled, between = _undetermined(domain, found) if narrow else (domain, found)
    order = tuple([s.out.name or "" for s, _ in domain.parts])
    order = order if written is None else in_order(written, order)
    parts = sorted(scheduled.align_params(params).parts, key=lambda part: order.index(part[0].out.name or ""))
    tuples = [s.out for s, _ in parts]
    names, iterators = tuple([t.name or "" for t in tuples]), tuple([t.dims for t in tuples])
    known = tuple([all(numeric(c, len(params)) for c in cs) for _, cs in parts])
    builder = wishes(names=names, iterators=iterators, params=params, domain=scheduled, numeric=known, written=written)
    try:
        tree = _tree(builder, scheduled, [cs if narrow else () for _, cs in parts], between)
    except NoSchedule:
        if scheduled is domain:
            raise
        tree = None
    if tree is None or (builder.failures and scheduled is not domain):
        return _built(domain, found, written, False, wishes)
    return builder, tree


def _explained(fuse: str, explain: Callable[[str], object] | None) -> Explain:
    """What is called with a function of each step's words.

    Raises
    ------
    BadSchedule : there is no such way to fuse, or the steps cannot be told.
    """
    if fuse not in get_args(Fuse):
        raise BadSchedule(f"there is no way to fuse called {fuse!r}", hint=nearest(str(fuse), get_args(Fuse)))
    if explain is None:
        return lambda text: None
    if not callable(explain):
        raise BadSchedule(f"explain is called with each step, {explain!r} cannot be", hint="explain=print shows them")
    return lambda text: explain(text())


def _tree(
    builder: Builder, domain: Set, narrow: Sequence[Sequence[Conjunct]], dependences: Sequence[Dependence]
) -> Node:
    """What stands below the domain.

    Parameters
    ----------
    narrow : for each statement its instances, if directions in which these are alike need no member.

    Raises
    ------
    NoSchedule : the dependences have a cycle.
    """
    number = {name: k for k, name in enumerate(builder.names)}
    pieces = pieces_of(dependences, number, builder.params, domain)
    for p in pieces:
        builder.explain(lambda p=p: f"dependence {builder.describe(p)}")
    fixed = tuple([_alike(cs, len(builder.params)) for cs in narrow])
    return builder.tree(pieces, fixed) if builder.names else Leaf()


def _respected(
    program: Program | Set,
    dependences: Sequence[Dependence] | None,
    given: Constraints,
    iterators: Mapping[str, tuple[str, ...]],
) -> tuple[Dependence, ...]:
    """What the schedule has to respect: constraints or dependences that are given, else the program's own.

    Raises
    ------
    BadProgram : both are given, or dependences of other statements' iterators.
    """
    if given and dependences is not None:
        raise BadProgram("constraints are given twice", hint="dependences, or validity and the others")
    if given:
        dependences = _constrained(program, given, iterators)
    elif dependences is None and not isinstance(program, Set):
        return tuple(dependences_of(program))
    return tuple(fitting(() if dependences is None else dependences, iterators))


def _verify(result: Schedule, builder: Builder) -> None:
    """Compare a schedule with its dependences.

    Raises
    ------
    NoSchedule : what kept the builder from respecting one of them.
    RuntimeError : it should have.
    """
    wrong = next(violations(result), None)
    if wrong is None:
        return
    if builder.failures:
        raise builder.failures[0]
    raise RuntimeError(
        f"the scheduler made an illegal schedule: {wrong}\n{result}\n"
        "That is a defect of polyvolta; please report it with the program"
    )


def _constrained(
    program: Program | Set, given: Constraints, iterators: Mapping[str, tuple[str, ...]]
) -> list[Dependence]:
    """The constraints that are given; where they don't say what is valid, a program's dependences do.

    Raises
    ------
    BadProgram : a constraint is of a statement that there isn't.
    """
    found = given.dependences(iterators)
    for d in found:
        if unknown := next((name for name in (d.source, d.sink) if name not in iterators), None):
            raise BadProgram(f"no statement is called {unknown}", where=str(d), hint=nearest(unknown, tuple(iterators)))
    says_what_is_valid = given.validity is not None or given.conditional_validity is not None
    if isinstance(program, Program) and not says_what_is_valid:
        return [*dependences_of(program), *found]
    return found


def _what(program: Program | Set, context: Set | None) -> tuple[Set, Node | None, Set | None]:
    """The instances, the order in which they were written, if they were, and what is assumed, if anything."""
    if isinstance(program, Set):
        return program, None, context
    return program.domain, program.schedule.root, program.context if context is None else context


def _undetermined(domain: Set, found: Sequence[Dependence]) -> tuple[Set, Sequence[Dependence]]:
    """The instances and dependences without iterators that others determine, not by an equality (`_alike`)."""
    gone = {}
    for space, cs in domain.parts:
        if len(space.out.dims) > 1 and not any(map(in_all_directions, cs)):
            name = space.out.name or ""
            places = determined(domain.only(name))
            if len(places) > len(_alike(cs, len(domain.param_names))):
                gone[name] = places
    return without(domain, found, gone) if gone else (domain, found)


def _alike(conjuncts: Sequence[Conjunct], params: int) -> tuple[Row, ...]:
    """The forms over a statement's iterators that are the same for all its instances, parameters being given.

    No member of a band needs them: of the instances `i = 2 j` one loop runs all.
    """
    grids = []
    for c in conjuncts:
        if in_all_directions(c):
            return ()
        grid = lattice.of_conjunct(c)
        if grid is not None:
            if len(grid[1]) == c.n:
                return ()
            grids.append(grid)
    if not grids:
        return ()
    found = lattice.equalities(conjuncts[0].n, lattice.joined(grids))
    return tuple([row[1 + params :] for row in found if any(row[1 + params :])])


def initial(statements: Sequence[Accessing]) -> Schedule:
    """The outer-parallel schedule of a graph's statements (the paper's Figures sched1-initial and sched3-initial).

    DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
            S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
      BAND: S1[i, j, k] → [i, j, k];
            S2[i, j] → [i, j, K]
        SEQUENCE
          FILTER: S1[i, j, k]
          FILTER: S2[i, j]

    Each iterator has a member, also where a size is 1: tiles are of all of them.

    >>> from polyvolta.graph import Graph
    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> graph = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)))
    >>> from polyvolta.sched import initial
    >>> print(initial(graph.statements))
    DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
      BAND: S[i, j, k] → [i, j, k]
    """
    return schedule(Program.of(statements), narrow=False)
