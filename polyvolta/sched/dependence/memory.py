"""The dependences of a program, and what it takes in and leaves behind.

A read depends on the one write whose value it gets (*flow*, RAW): value-based, the last writer, exactly. A write must
come after every read of what it overwrites (*anti*, WAR) and after every earlier write (*output*, WAW): memory-based,
all ordered pairs, for an order that keeps the last of them only is no order that keeps the others. That is enough: a
schedule that respects all three gives every read the value it got before.

What a read gets from no write inside is *live in*; the last write of an element, unless it is killed or its array is
of no interest afterwards, is *live out*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from polyvolta.sched.dependence.accesses import Accesses, accesses
from polyvolta.sched.dependence.model import Dependence, Dependences, Flow, Kind
from polyvolta.sched.dependence.order import (
    AFTER,
    APART,
    BEFORE,
    EQUAL,
    Clock,
    Clocks,
    Order,
    clocks,
    compare,
    parameters,
)
from polyvolta.sched.dependence.pairs import different
from polyvolta.sched.dependence.sources import last_sources
from polyvolta.sched.errors import BadProgram, BadSchedule
from polyvolta.sched.example import small_point
from polyvolta.sched.program.assuming import without_assumptions
from polyvolta.sched.program.model import Program
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.budgets import metered
from polyvolta.sets.conjuncts import project as pj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.shape import spaced


class Accessing(Protocol):
    """What is needed of a statement of a graph."""

    @property
    def name(self) -> str: ...
    @property
    def iterators(self) -> tuple[str, ...]: ...
    @property
    def domain(self) -> Set: ...
    @property
    def reads(self) -> tuple: ...
    @property
    def write(self) -> object: ...


@metered
def dependences(program: Program | Sequence[Accessing]) -> Dependences:
    """The dependences of a program, one for each kind, array, source and sink: RAW value-based, WAR and WAW all pairs.

    Parameters
    ----------
    program : or statements of a graph, which run one after another, each in the order of its iterators.

    Raises
    ------
    BadProgram : neither a program nor statements.
    BadSchedule : the program's order gives two instances one time, or runs them in any order, though they access one
        element and one of them writes it: what the program computes is then open. `Program.parse` takes such orders.

    Exact, within the program's context. See `dataflow` for RAW; the others are one composition per pair of accesses to
    the same array, and one conjunct for each place where the two can part.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> M, N, K = pv.sizes("M N K")
    >>> graph = Graph.of(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)))
    >>> raw, war, waw = dependences(graph.statements)
    >>> print(raw.relation)
    [M, N, K] -> { S[i, j, k] -> S[i, j, k + 1] : 0 <= i < M and 0 <= j < N and 0 <= k <= K - 2 }
    """
    p = _read(program)
    params = _params(p)
    times = clocks(p.order, params)
    found = last_sources(p.reads.align_params(params), p.writes, p.may_writes, p.kills, times)
    out = [_dependence("RAW", array, relation) for array, relation in found.relations("may")]
    reads, writes = accesses(p.reads, "must", times, params), []
    for m in (p.writes, p.may_writes):
        writes += accesses(m, "must", times, params)
    out += _conflicts("WAR", reads, writes, params, p.order)
    out += _conflicts("WAW", writes, writes, params, p.order)
    return Dependences([d for d in out if not all(c.is_empty for _, cs in d.relation.parts for c in cs)])


@metered
def flow(program: Program | Sequence[Accessing]) -> Flow:
    """Which instance wrote the value that each instance reads: `dataflow` of a program.

    `program` is one, or statements with their accesses; see `dependences` for the errors.

    >>> from polyvolta.sched import flow, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> print(flow(chain))
    must            [N] -> { S[i] -> S[i + 1] : 1 <= i <= N - 2 }
    may             [N] -> { S[i] -> S[i + 1] : 1 <= i <= N - 2 }
    must_no_source  [N] -> { S[i] -> A[0] : N >= 2 and i = 1 }
    may_no_source   [N] -> { S[i] -> A[0] : N >= 2 and i = 1 }
    """
    p = _read(program)
    return last_sources(p.reads, p.writes, p.may_writes, p.kills, p.order).flow()


@metered
def live_in(program: Program | Sequence[Accessing]) -> Map:
    """instance -> element that it reads and that no earlier instance surely wrote; exact.

    `program` is one, or statements with their accesses; see `dependences` for the errors.

    >>> from polyvolta.sched import live_in, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> print(live_in(chain))
    [N] -> { S[i] -> A[0] : N >= 2 and i = 1 }
    """
    return flow(program).may_no_source


@metered
def live_out(program: Program | Sequence[Accessing]) -> Map:
    """instance -> element that it writes and that no later one surely overwrites or kills; exact.

    Arrays that are local to the program are left out.

    >>> from polyvolta.sched import live_out, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> print(live_out(chain))
    [N] -> { S[i] -> A[i] : 1 <= i < N }
    """
    p = _read(program)
    params = _params(p)
    times = clocks(p.order, params)
    over = [a for m in (p.writes, p.kills) for a in accesses(m, "must", times, params)]
    out = Map._of(params, [])
    for m in (p.writes, p.may_writes):
        for a in accesses(m, "must", times, params):
            if a.array.name in p.local:
                continue
            space = spaced(a.instance, a.array, params)
            gone = [c for b in over if not a.elsewhere(b) for c in _overwritten(a, b, params)]
            last = Map._of(params, [(space, (a.conjunct,))]) - Map._of(params, [(space, tuple(gone))])
            out = out | last
    return out


# ---- the accesses of a program


@dataclass(frozen=True, slots=True)
class _Program:
    """What is asked of a program here."""

    reads: Map
    writes: Map
    may_writes: Map
    kills: Map
    order: Order
    local: tuple[str, ...] = ()


def _read(program: Program | Sequence[Accessing]) -> _Program:
    if not isinstance(program, Program):
        _check_statements(program)
        order: Clocks = {
            s.name: (Clock(s.name, s.iterators, (Aff((), k), *map(var, s.iterators))),) for k, s in enumerate(program)
        }
        reads = _together([a.relation for s in program for a in s.reads])
        return _Program(reads, _together([s.write.relation for s in program]), _NONE, _NONE, order)  # type: ignore[attr-defined]
    known = program.context
    knows = any(c.eqs or c.ineqs for _, cs in known.parts for c in cs) or not known.parts
    relations = []
    for chosen in (
        [a for s in program.statements for a in s.reads],
        [a for s in program.statements for a in s.writes if a.must],
        [a for s in program.statements for a in s.writes if not a.must],
        [a for s in program.statements for a in s.kills],
    ):
        together = _together([a.relation for a in chosen])
        relations.append(together.intersect_params(known) if knows and together.parts else together)
    return _Program(*relations, order=without_assumptions(program.schedule, known), local=program.local)


def _check_statements(statements: object) -> None:
    """Refuse what has no statements."""
    given = list(statements) if isinstance(statements, Sequence) else [statements]
    for s in given:
        if not all(hasattr(s, part) for part in ("name", "iterators", "reads", "write")):
            raise BadProgram(
                f"dependences are those of a Program or of the statements of a graph, not of {kind_of(s)}",
                hint="nest(function) and Program.parse(text) make programs, graph.statements is a sequence",
            )


_NONE = Map._of((), [])


def _together(relations: Iterable[Map]) -> Map:
    relations = list(relations)
    params = tuple(dict.fromkeys([p for m in relations for p in m.param_names]))
    return Map._of(params, [part for m in relations for part in m.align_params(params).parts])


def _params(p: _Program) -> tuple[str, ...]:
    names = [n for m in (p.reads, p.writes, p.may_writes, p.kills) for n in m.param_names]
    return tuple(dict.fromkeys([*names, *parameters(p.order)]))


# ---- pairs of accesses


def _dependence(kind: Kind, array: str, relation: Map) -> Dependence:
    space = relation.space
    assert space.inp is not None
    return Dependence(kind, array, space.inp.name or "", space.out.name or "", relation)


def _conflicts(
    kind: Kind, first: list[Accesses], second: list[Accesses], params: tuple[str, ...], order: Order
) -> list[Dependence]:
    """The pairs of accesses to one element of which the first runs before the second.

    Raises
    ------
    BadSchedule : the order leaves it open which of two runs first.
    """
    found: dict[tuple, tuple[Accesses, Accesses, list[Conjunct]]] = {}
    for a in first:
        for b in second:
            if not a.elsewhere(b):
                pieces = _ordered(a, b, params, order)
                if pieces:
                    key = (a.array.key, a.instance.key, b.instance.key)
                    found.setdefault(key, (a, b, []))[2].extend(pieces)
    return [
        _dependence(
            kind, a.array.name or "", Map._of(params, [(spaced(a.instance, b.instance, params), tuple(pieces))])
        )
        for a, b, pieces in found.values()
    ]


def _ordered(a: Accesses, b: Accesses, params: tuple[str, ...], order: Order) -> list[Conjunct]:
    """The pairs (instance of a, instance of b), over the parameters too, that touch one element, a's before b's."""
    n_par, n_a, n_b, n_e = len(params), len(a.instance.dims), len(b.instance.dims), len(a.array.dims)
    split, n = n_par + n_a, n_par + n_a + n_b
    elements = tuple(range(n, n + n_e))
    first, second = (*range(split), *elements), (*range(n_par), *range(split, n), *elements)
    pairs = pj.compose(a.conjunct, b.conjunct, n + n_e, first, second, elements)
    if pairs is None:
        return []
    cases = list(compare(pairs, params, (a.clock, n_par), (b.clock, split), frozenset({BEFORE, EQUAL, APART})))
    same = a.instance.key == b.instance.key
    for _, case, c in cases:
        if case != BEFORE and (open_pairs := different(c, n_par, n_a) if same else [c] if not c.is_empty else []):
            raise _without_order(a, b, open_pairs, params, order)
    return [c for _, case, c in cases if case == BEFORE and not c.is_empty]


def _without_order(
    a: Accesses, b: Accesses, pieces: list[Conjunct], params: tuple[str, ...], order: Order
) -> BadSchedule:
    """The error that an order leaves two accesses open, with an example."""
    point, n = small_point(pieces), len(params)
    split = n + len(a.instance.dims)
    names = [
        f"{t.name}[{', '.join(map(str, p))}]" for t, p in ((a.instance, point[n:split]), (b.instance, point[split:]))
    ]
    at = ", ".join(f"{p} = {v}" for p, v in zip(params, point))
    return BadSchedule(
        f"the order does not say whether {names[0]} or {names[1]} runs first; both access an element "
        f"of {a.array.name}, and one writes it" + f" (for {at})" * bool(at),
        where=str(order),
        hint="a program runs one instance after another: give the two different times, in no set and no mapped member",
    )


def _overwritten(a: Accesses, b: Accesses, params: tuple[str, ...]) -> list[Conjunct]:
    """The accesses of a, over (parameters, instance, element), whose element b touches later."""
    n_par, n_a, n_b = len(params), len(a.instance.dims), len(b.instance.dims)
    n = a.conjunct.n
    places = (*range(n_par), *range(n, n + n_b), *range(n_par + n_a, n))
    both = pj.compose(a.conjunct, b.conjunct, n + n_b, tuple(range(n)), places, ())
    if both is None:
        return []
    cases = compare(both, params, (b.clock, n), (a.clock, n_par), frozenset({AFTER}))
    done = [pj.project(c, tuple(range(n, n + n_b))) for _, _, c in cases]
    return [c for c in done if c is not None]
