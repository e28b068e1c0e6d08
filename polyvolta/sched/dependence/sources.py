"""Exact dataflow: which instance wrote the value that an instance reads.

    for i < N:                                  the read of a in S2[i] gets its value
        a = x[i]            # S1                from S1[i], not from S1[i - 1], which S1[i] overwrites
        y[i] = 2*a          # S2

For each access of a *sink* the *sources* are the accesses of the same element that run before it. A source that surely
happens (`must`) hides all sources before it; one that may happen (`may`) hides none; a *kill* hides without being a
source. So the value comes from the last sure source, or from a possible one after it. Two sources of which none runs
before the other, at one time or in two children of a set, are both possible, and none of them is sure: nobody knows
which of them is the last.

Sources are tried from the latest on. What runs before a sink, runs before it at some place of their times (module
`order`): those that part from it at a deeper place are later, and so are those in a later child of a sequence. Of the
sources at one place the last one is either plain, the element says which instance it is, or it is a parametric
lexicographic maximum, or, where neither is possible, what is left of the candidates when all that have a later one are
taken away. Sinks that a sure source or a kill covers are done. When all places are tried, the sinks that are left have
no source here: they read what was there before.

Sources: P. Feautrier, "Dataflow analysis of array and scalar references" (IJPP 1991); S. Verdoolaege, "isl" manual,
section "Dependence Analysis", whose terms (sink, must and may sources, kills) these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polyvolta.sched.dependence.accesses import Accesses, Kind, accesses
from polyvolta.sched.dependence.model import FLOWS, Flow
from polyvolta.sched.dependence.order import APART, BEFORE, EQUAL, Branch, Clock, Order, clocks, compare, parameters
from polyvolta.sched.dependence.pairs import different
from polyvolta.sched.errors import BadProgram, says_keywords
from polyvolta.sched.tree import Schedule
from polyvolta.sched.wrapped import plain
from polyvolta.sets import Aff, Map, Set, Unbounded
from polyvolta.sets.budgets import metered
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts import project as pj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.conjuncts.implies import cut, subtract
from polyvolta.sets.errors import kind_of
from polyvolta.sets.optima.lexrel import optimum_pieces
from polyvolta.sets.optima.outputs import solved_outputs
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.shape import spaced
from polyvolta.sets.values.space import Space, Tuple

ONLY_BEFORE = frozenset({BEFORE})
NOT_AFTER = frozenset({BEFORE, EQUAL, APART})


@says_keywords
@metered
def dataflow(
    sinks: Map, must: Map | None = None, may: Map | None = None, kills: Map | None = None, *, order: Order
) -> Flow:
    """The last sources of each sink, as isl's access information computes them.

    Parameters
    ----------
    sinks, must, may, kills : instances -> elements, of any statements and arrays.
    order : when instances run: a map to time vectors, shorter ones filled up with zeros, or a schedule tree. Instances
        of its statements that it does not have, outside the map's or the tree's domain, never run: their accesses
        neither are sources nor have any.

    An access at the time of a sink does not run before it. Where the last sources of a sink run at one time, or in no
    order, none of them is sure; neither is one beside a kill. Of an instance that kills and writes the write comes
    second. Exact; per sink and source one composition, and at most one parametric integer program where several
    instances of the source touch the element.

    Raises
    ------
    BadProgram : the order has no time for a statement, or knows it with another number of iterators; accesses that are
        no Map.
    BadSchedule : an order that is none, or whose times are no quasi-affine expressions.
    Unbounded : infinitely many sources run before a sink, and none of them is the last.

    >>> dom = "[N] -> { S1[i] : 0 <= i < N; S2[i] : 0 <= i < N }"
    >>> from polyvolta.sets import Set
    >>> reads = Map("{ S2[i] -> a[] }").intersect_domain(Set(dom))
    >>> writes = Map("{ S1[i] -> a[]; S2[i] -> y[i] }").intersect_domain(Set(dom))
    >>> print(dataflow(reads, writes, order=Map("{ S1[i] -> [i, 0]; S2[i] -> [i, 1] }")).must)
    [N] -> { S1[i] -> S2[i] : 0 <= i < N }
    """
    if isinstance(order, Schedule):
        sinks = _running(sinks, order.domain)
        must, may, kills = [None if m is None else _running(m, order.domain) for m in (must, may, kills)]
    return last_sources(sinks, must, may, kills, order).flow()


def _running(m: Map, domain: Set) -> Map:
    """The accesses by instances of a domain, and those of statements that it does not know."""
    if not isinstance(m, Map):
        return m  # `last_sources` says so
    domain = plain(domain)
    known = {space.out.key for space, _ in domain.parts}
    ours, strange = [], []
    for part in m.parts:
        inp = part[0].inp
        (ours if inp is not None and inp.key in known else strange).append(part)
    return Map._of(m.param_names, ours).intersect_domain(domain) | Map._of(m.param_names, strange)


def last_sources(sinks: Map, must: Map | None, may: Map | None, kills: Map | None, order: Order) -> Found:
    """`dataflow`, by array."""
    asked: dict[Kind, Map | None] = {"must": must, "may": may, "kill": kills}
    given: dict[Kind, Map] = {kind: m for kind, m in asked.items() if m is not None}
    for m in (sinks, *given.values()):
        if not isinstance(m, Map):
            raise BadProgram(f"accesses are a Map from instances to elements, not {kind_of(m)}", where=repr(m))
    params = tuple(dict.fromkeys([p for m in (sinks, *given.values()) for p in m.param_names]))
    params = tuple(dict.fromkeys([*params, *parameters(order)]))
    times = clocks(order, params)
    events: dict[tuple, list[Accesses]] = {}
    for kind, m in given.items():
        for access in accesses(m, kind, times, params):
            events.setdefault(access.array.key, []).append(access)
    found = Found(params)
    for sink in accesses(sinks, "must", times, params):
        _Sink(sink, params, found).solve(events.get(sink.array.key, ()))
    return found


Pieces = list[Conjunct]


class Found:
    """What has been found, by pair of statements and by sink access."""

    def __init__(self, params: tuple[str, ...]) -> None:
        self.params = params
        self.tables: dict[str, dict[tuple, tuple[Tuple, Tuple, str, Pieces]]] = {n: {} for n in FLOWS}

    def add(self, where: str, first: Tuple, second: Tuple, array: Tuple, pieces: Pieces) -> None:
        """Note pieces of one of the relations of a `Flow`."""
        if pieces:
            key = (first.key, second.key, array.key)
            self.tables[where].setdefault(key, (first, second, array.name or "", []))[3].extend(pieces)

    def relations(self, where: str) -> list[tuple[str, Map]]:
        """(array, relation) for each pair of tuples and array."""
        return [
            (array, Map._of(self.params, [(spaced(a, b, self.params), tuple(pieces))]))
            for a, b, array, pieces in self.tables[where].values()
        ]

    def relation(self, where: str) -> Map:
        """One of the relations of a `Flow`."""
        table = self.tables[where].values()
        return Map._of(self.params, [(spaced(a, b, self.params), tuple(pieces)) for a, b, _, pieces in table])

    def flow(self) -> Flow:
        must, may, *none = FLOWS
        surely, maybe = (list(self.tables[name].values()) for name in (must, may))
        first = self.relation(must)
        return Flow(first, first if surely == maybe else self.relation(may), *map(self.relation, none))


class _Sink:
    """The search for the sources of one access.

    Its *key* is what a source is looked for: the parameters and the instance, and the element too where the instance
    does not say which. Pairs are conjuncts over (key, source instance).
    """

    def __init__(self, sink: Accesses, params: tuple[str, ...], found: Found) -> None:
        self.sink, self.params, self.found = sink, params, found
        self.n_par = len(params)
        self.n_own = self.n_par + len(sink.instance.dims)
        self.plain = _gives_element(sink.conjunct, self.n_own)
        self.n_key = self.n_own if self.plain else sink.conjunct.n
        self.left: Pieces = []  # sinks that nothing covers yet
        self.done: Pieces = []  # the others; `left` is often in more pieces than these
        self.whole = True  # whether `left` is still all of them
        self.doubtful: Pieces = []  # sinks that have a possible source

    def solve(self, events: Sequence[Accesses]) -> None:
        """Find the sources among the accesses of the array."""
        sink = self.sink
        if not events:
            for name in ("may", "must"):
                self.found.add(f"{name}_no_source", sink.instance, sink.array, sink.array, [sink.conjunct])
            return
        key = pj.project(sink.conjunct, tuple(range(self.n_key, sink.conjunct.n)))
        self.left = [] if key is None else [key]
        for group in self.places(events):
            if not self.left:
                break
            self.at_place(group)
        self.finish()

    def places(self, events: Sequence[Accesses]) -> list[list[tuple[Accesses, Conjunct]]]:
        """The candidates by the place where they part from the sink, the latest place first."""
        groups: dict[int, list[tuple[Accesses, Conjunct, Aff | Branch]]] = {}
        for event in events:
            pairs = None if self.sink.elsewhere(event) else self.pairs(event)
            if pairs is None:
                continue
            first, second = (event.clock, self.n_key), (self.sink.clock, self.n_par)
            for place, _, c in compare(pairs, self.params, first, second, ONLY_BEFORE):
                groups.setdefault(place, []).append((event, c, event.clock.times[place]))
        out = []
        for place in sorted(groups, reverse=True):
            here = groups[place]
            if len(here) > 1 and all(isinstance(t, Aff) and t.is_constant for _, _, t in here):
                for value in sorted({t.const for _, _, t in here if isinstance(t, Aff)}, reverse=True):
                    out.append([(e, c) for e, c, t in here if isinstance(t, Aff) and t.const == value])
            else:
                out.append([(e, c) for e, c, _ in here])
        return out

    def pairs(self, event: Accesses) -> Conjunct | None:
        """The pairs that touch one element, in any order."""
        n_out, n_src = len(event.array.dims), len(event.instance.dims)
        n = self.n_key + n_src
        if not self.plain:
            places = (*range(self.n_par), *range(self.n_key, n), *range(self.n_own, self.n_key))
            return pj.compose(self.sink.conjunct, event.conjunct, n, tuple(range(self.n_key)), places, ())
        elements = tuple(range(n, n + n_out))
        first = (*range(self.n_key), *elements)
        second = (*range(self.n_par), *range(self.n_key, n), *elements)
        return pj.compose(self.sink.conjunct, event.conjunct, n + n_out, first, second, elements)

    # ---- one place

    def at_place(self, group: list[tuple[Accesses, Conjunct]]) -> None:
        """Take the sources at one place into account; all later places are done.

        Where the sinks that are left are in many pieces, the sources at this place are found for all sinks first.
        """
        one = len(self.left) == 1
        inside = (lambda cs: cs) if one else self.within
        here = [(e, found[0] if one else c) for e, c in group if (found := self.within([c]))]
        late = [(e, *self.latest(e, c)) for e, c in here if e.kind != "may"]
        sure = [(e, self.unbeaten(e, cs, [(f, ds) for f, ds, _ in late if f is not e])) for e, cs, _ in late]
        possible = [(e, self.unbeaten(e, [c], sure)) for e, c in here if e.kind == "may"]
        for k, (e, cs) in enumerate(sure):
            if e.kind == "must":
                found = inside(cs)
                n = self.n_key + len(e.instance.dims)
                alone = late[k][2]
                rivals = [*sure[: k + (not alone)], *sure[k + 1 :], *possible]
                certain = inside(self.unbeaten(e, cs, rivals, NOT_AFTER)) if rivals else found
                certain = _without(certain, [self.over_pair(c, n) for c in self.doubtful])
                self.report(("may", "must") if certain is found else ("may",), e, found)
                if certain is not found:
                    self.report(("must",), e, certain)
        for e, cs in possible:
            found = inside(cs)
            self.report(("may",), e, found)
            self.doubtful += self.covered(found)
        if sure:
            asked = [c for e, c in here if e.kind != "may"]
            last = [cs if alone else () for _, cs, alone in late]  # of them, which are simpler to ask for their sinks
            plain = [cs[0] if len(cs) == 1 and not cs[0].divs else c for c, cs in zip(asked, last, strict=True)]
            done = self.covered(plain)
            if one and len(done) == 1:  # a part of `left`, with points as its pairs are
                self.left = list(cut(self.left[0], done[0]))
            else:
                self.left = _without(self.left, done)
            self.done += done
            self.whole = False

    def within(self, pieces: Pieces) -> Pieces:
        """The pairs whose sink is not covered yet; a piece stays one piece where the sinks left are in one."""
        if not self.whole and pieces:
            if len(self.left) == 1:
                pieces = [d for c in pieces for d in _meet(c, self.over_pair(self.left[0], c.n))]
            else:
                pieces = _without(pieces, [self.over_pair(k, pieces[0].n) for k in self.done])
        return [c for c in pieces if not c.is_empty]

    def over_pair(self, key: Conjunct, n: int) -> Conjunct:
        """A conjunct over keys as one over pairs, of n dimensions."""
        return cj.reindex(key, n, tuple(range(self.n_key)))

    def covered(self, pieces: Pieces) -> Pieces:
        """The sinks of pairs."""
        done = [pj.project(c, tuple(range(self.n_key, c.n))) for c in pieces]
        return [k for c in done if c is not None for k in pj.with_known_divs(c)]

    def latest(self, event: Accesses, c: Conjunct) -> tuple[Pieces, bool]:
        """Of the pairs with one source the ones that come last, and whether it is one for each sink for certain."""
        inp = Tuple(None, tuple(f"#{k}" for k in range(self.n_key - self.n_par)))
        if solved_outputs(c, self.n_par, Space(inp, event.instance)) is not None:
            return [c], True
        try:
            last = _lexmax(event.clock, c, self.params, self.n_key)
        except Unbounded as error:
            raise Unbounded(
                f"infinitely many {event.instance} access an element of {self.sink.array.name} before "
                f"{self.sink.instance} does, and none of them is the last",
                hint="intersect the accesses with a bounded domain",
            ) from error
        return (self.unbeaten(event, [c], [(event, [c])]), False) if last is None else (last, True)

    def unbeaten(
        self,
        event: Accesses,
        pieces: Pieces,
        others: Iterable[tuple[Accesses, Pieces]],
        cases: frozenset[int] = ONLY_BEFORE,
    ) -> Pieces:
        """The pairs for whose sink the others have no source that runs later; with NOT_AFTER, none but earlier ones."""
        for other, rivals in others:
            beaten = [b for c in pieces for r in rivals for b in self.beaten(event, c, other, r, cases)]
            pieces = _without(pieces, beaten)
        return pieces

    def beaten(self, event: Accesses, c: Conjunct, other: Accesses, rival: Conjunct, cases: frozenset[int]) -> Pieces:
        """The pairs of `c` for which `rival` has another source that they are in one of these cases with."""
        n = c.n + rival.n - self.n_key
        places = (*range(self.n_key), *range(c.n, n))
        both = cj.conjoin(cj.reindex(c, n, tuple(range(c.n))), cj.reindex(rival, n, places))
        if both is None:
            return []
        first, second = (event.clock, self.n_key), (other.clock, c.n)
        found = []
        for _, case, d in compare(both, self.params, first, second, cases):
            same = case != BEFORE and event.instance.key == other.instance.key
            found += different(d, self.n_key, len(event.instance.dims)) if same else [d]
        done = [pj.project(d, tuple(range(c.n, n))) for d in found]
        return [k for d in done if d is not None and not d.is_empty for k in pj.with_known_divs(d)]

    # ---- results

    def report(self, tables: Sequence[str], event: Accesses, pieces: Pieces) -> None:
        """Note pairs as a relation source -> sink."""
        turned = []
        for c in pieces:
            n_src = c.n - self.n_key
            if not self.plain:
                done = pj.project(c, tuple(range(self.n_own, self.n_key)))
                if done is None:
                    continue
                c = done
            n_snk = self.n_own - self.n_par
            places = (*range(self.n_par), *range(self.n_par + n_src, self.n_own + n_src))
            places += tuple(range(self.n_par, self.n_par + n_src))
            assert len(places) == c.n == self.n_par + n_src + n_snk
            turned.append(cj.reindex(c, c.n, places))
        for where in tables:
            self.found.add(where, event.instance, self.sink.instance, self.sink.array, turned)

    def finish(self) -> None:
        """Note the sinks without a source."""
        sink = self.sink
        for name, none in (("may", self.left), ("must", _without(self.left, self.doubtful))):
            self.found.add(f"{name}_no_source", sink.instance, sink.array, sink.array, self.accesses(none))

    def accesses(self, keys: Pieces) -> Pieces:
        """The accesses of some keys, parts of the sink's that have points."""
        if not self.plain:
            return keys
        if self.whole and keys is self.left:
            return [self.sink.conjunct]
        n = self.sink.conjunct.n
        wide = [cj.reindex(k, n, tuple(range(self.n_key))) for k in keys]
        return [cj.sure(cj.conjoin(self.sink.conjunct, k)) for k in wide]


def _gives_element(c: Conjunct, n_own: int) -> bool:
    """Whether equalities say which element each instance accesses."""
    elements = range(1 + n_own, 1 + c.n)
    if c.divs and any(d is None or any(d[1][col] for col in elements) for d in c.divs):
        return False
    for col in elements:
        for row in c.eqs:
            if row[col]:
                break
        else:
            return False
        if row[col] not in (1, -1) or any(row[other] for other in elements if other != col):
            return False
    return True


def _meet(a: Conjunct, b: Conjunct) -> Pieces:
    both = cj.conjoin(a, b)
    return [] if both is None or both.is_empty else [both]


def _without(pieces: Pieces, gone: Iterable[Conjunct]) -> Pieces:
    """What is in some pieces and not in others, which have known divs."""
    for knife in gone:
        pieces = [piece for c in pieces for piece in subtract(c, knife)]
    return pieces


def _lexmax(clock: Clock, c: Conjunct, params: tuple[str, ...], n_key: int) -> Pieces | None:
    """The last source instance of each key by a lexicographic maximum over its times.

    None where times do not tell instances apart, or have no order.
    """
    if any(isinstance(t, Branch) for t in clock.times):
        return None
    times = [t for t in clock.times if isinstance(t, Aff) and t.terms]
    plain = [t.terms[0][0] for t in times if len(t.terms) == 1 and t.terms[0][1] == 1]
    if len(plain) == len(times) and tuple(dict.fromkeys(plain)) == clock.iterators:  # the iterators in their order
        return list(optimum_pieces((c,), n_key, 1, clock.statement))
    inp, own = Tuple(None, tuple(f"#{k}" for k in range(n_key - len(params)))), tuple(f"#{n}" for n in clock.iterators)
    taus = tuple(f"@{k}" for k in range(len(times)))
    keys = (*params, *inp.dims)
    rename = {n: Aff(((o, 1),)) for n, o in zip(clock.iterators, own, strict=True)}
    rows = [("eq", t.subs(rename) - Aff(((tau, 1),))) for t, tau in zip(times, taus, strict=True)]
    graph = RowBuilder((*keys, *taus, *own)).conjunct(rows)
    given = Space(Tuple(None, (*inp.dims, *taus)), Tuple(None, own))
    if graph is None or solved_outputs(graph, len(params), given) is None:
        return None
    n = len(keys) + len(taus) + len(own)
    both = cj.conjoin(cj.reindex(c, n, (*range(n_key), *range(n_key + len(taus), n))), graph)
    if both is None:
        return []
    best = optimum_pieces((both,), n_key, 1, clock.statement)
    done = [pj.project(d, tuple(range(n_key, n_key + len(taus)))) for d in best]
    return [d for d in done if d is not None]
