"""What orders statement instances: program order, barriers, groups of copies and waits. Relations, and their closure.

Each thread runs the program in its order. Between threads a barrier of the block orders what is before it in one and
behind it in the other. A copy that a thread has issued arrives in the hardware's own time; all that is known is that it
has arrived behind a wait that covers it. Which waits do is computed from what the operations say, as relations:

    follows(c, c')  a commit c' is the next one after c in the program: earlier, and none between
    covers          issue -> wait:  before a commit c, then `follows` n times, then before the wait, `pending` being n

A copy is in the group of the first commit after it; where that group has n newer ones before the wait, it must be
complete. (Later commits have fewer behind them and add nothing.) So there are the edges

    issue -> arrival         a copy arrives after it was issued
    arrival -> wait          of the issuing thread, by `covers`
    wait -> barrier, barrier -> issue, barrier -> barrier        program order

and their transitive closure is the order of copies and barriers, in any number of trips. It is computed by the set
core, which says whether it is exact; if it isn't, nothing is decided. Other accesses come before a barrier or behind
one, by program order.

Roles and barriers in memory (Hopper) are further edges between the same kinds of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product

import numpy as np

from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.program import COMMIT, COPY, WAIT, Event
from polyvolta.cuda.verify.order.relations import Relations, together
from polyvolta.sets import Map
from polyvolta.sets.values.space import Space, Tuple

MOST_PENDING = 64  # groups that a wait leaves


class Order:
    """The order of a kernel's copies, waits and barriers, for threads that commit and wait alike.

    Parameters
    ----------
    events : of the kernel.
    barriers : kinds of event at which threads meet: BARRIER, or FENCE, too, for threads of one warp.
    thread : the threads' representative (warp, lane): masks say what it takes part in.
    """

    def __init__(
        self, relations: Relations, events: Sequence[Event], barriers: tuple[str, ...], thread: tuple[int, int] = (0, 0)
    ) -> None:
        self.relations = relations
        mine = [e for e in events if e.kind not in (COMMIT, WAIT) or e.mask is None or e.mask[thread]]
        self.copies = [e for e in mine if e.kind == COPY]
        self.commits = [e for e in mine if e.kind == COMMIT]
        self.waits = [e for e in mine if e.kind == WAIT]
        self.barriers = [e for e in mine if e.kind in barriers and (e.mask is None or e.mask.all())]
        self._steps: list[Map] = []
        self._met: dict[str, Map] = {}  # copy -> the barriers behind which it has arrived
        self._each: dict[tuple[str, ...], Map] = {}

    # ---- commits and waits

    @cached_property
    def follows(self) -> Map:
        """{ commit -> commit }: the next one in the program."""
        return self._next(self.commits, self.commits)

    def newer(self, count: int) -> Map:
        """{ commit -> commit }: `follows`, so many times; not for 0, which is the commit itself."""
        if count > MOST_PENDING:
            raise Undecided(f"a wait leaves {count} groups of copies on their way")
        while len(self._steps) < count:
            last = self._steps[-1].apply_range(self.follows) if self._steps else self.follows
            self._steps.append(last.coalesce())
        return self._steps[count - 1]

    @cached_property
    def covers(self) -> Map:
        """{ issue -> wait }: behind which waits of its thread a copy has arrived."""
        committed = self._next(self.copies, self.commits)
        found = []
        for wait in self.waits:
            group = committed.apply_range(self.newer(wait.pending)) if wait.pending else committed
            found.append(group.apply_range(self._all(self.commits, [wait])))
        return together(found, self.relations.nothing()).coalesce()

    # ---- edges and closure

    @cached_property
    def edges(self) -> Map:
        """The edges between issues, arrivals, waits and barriers."""
        arrivals = [_renamed(self.relations.instances(c).identity(), ends=_arrival) for c in self.copies]
        return together(
            [
                *arrivals,
                _renamed(self.covers, begins=_arrival),
                self._all(self.waits, self.barriers),
                self._all(self.barriers, self.barriers),
                self._all(self.barriers, self.copies),
            ],
            self.relations.nothing(),
        )

    @cached_property
    def closure(self) -> Map:
        """The edges closed transitively.

        Raises
        ------
        Undecided : the set core has only found a larger relation, or none.
        """
        closed, exact = self.edges.transitive_closure()
        if not exact:
            what = "the order of copies, waits and barriers has no exact transitive closure"
            raise Undecided(what, where=str(self.relations.in_sizes(self.edges)))
        return closed

    # ---- questions

    def arrived(self, copy: Event, other: Event) -> Iterator[Map]:
        """{ copy -> other }: the copy of one thread has arrived before another thread comes there; the union of these,
        one for each barrier between."""
        if copy.name not in self._met:
            met = self._behind(self.closure, _arrival(copy.name), [b.name for b in self.barriers])
            self._met[copy.name] = _renamed(met, begins=lambda _: copy.name)
        return self._through(self._met[copy.name], copy, self.barriers, other)

    def issued(self, other: Event, copy: Event) -> Iterator[Map]:
        """{ other -> copy }: a thread has left before another one issues the copy; a union as `arrived`."""
        return self._through(self._all([other], self.barriers), other, self.barriers, copy)

    def own_arrived(self, copy: Event, other: Event) -> Iterator[Map]:
        """{ copy -> other }: the copy has arrived before its own thread comes there; a union, one for each wait."""
        mine = self._behind(self.covers, copy.name, [w.name for w in self.waits])
        return self._through(mine, copy, self.waits, other)

    def any_wait(self, copy: Event, other: Event) -> Map:
        """{ copy -> other }: a wait of the copying thread is between, whatever it covers."""
        return self._all([copy], self.waits).apply_range(self._all(self.waits, [other]))

    def committed(self, copy: Event, other: Event) -> Map:
        """{ copy -> other }: a commit of the copying thread is between, and a wait after that."""
        waited = self._all(self.commits, self.waits).apply_range(self._all(self.waits, [other]))
        return self._all([copy], self.commits).apply_range(waited)

    # ---- parts

    def _all(self, ones: Iterable[Event], others: Iterable[Event]) -> Map:
        """Program order between events of two kinds."""
        ones, others = list(ones), list(others)
        key = *(e.name for e in ones), "before", *(e.name for e in others)
        if key not in self._each:
            maps = [self.relations.before(a, b) for a in ones for b in others]
            self._each[key] = together(maps, self.relations.nothing())
        return self._each[key]

    def _through(self, first: Map, one: Event, middles: Sequence[Event], other: Event) -> Iterator[Map]:
        """{ one -> other }: by `first` to a middle event, and on by program order, a relation for each that has pairs;
        those that are between for all their instances come first."""
        for m in sorted(middles, key=lambda m: (not one.at[0] < m.at[0] < other.at[0], m.at[0] < one.at[0])):
            begun = self._behind(first, one.name, [m.name])
            if begun.parts and (on := self.relations.before(m, other)).parts[0][1]:
                yield begun.apply_range(on)

    def _next(self, ones: Sequence[Event], others: Sequence[Event]) -> Map:
        """{ one -> other }: which of the others is the first one behind, in the program."""
        found = []
        for one, other in product(ones, others):
            left = self.relations.before(one, other)
            for between in self._through(self._all([one], others), one, others, other):
                if left.is_empty():
                    break
                left = left - between
            if not left.is_empty():
                found.append(left)
        return together(found, self.relations.nothing())

    @staticmethod
    def _behind(relation: Map, name: str, others: Sequence[str]) -> Map:
        """The pairs that begin at an event, and end at one of some."""
        ends = set(others)
        parts = [(s, p) for s, p in relation.parts if s.inp is not None and s.inp.name == name and s.out.name in ends]
        return Map._of(relation.param_names, parts)


def _renamed(relation: Map, begins: Callable[[str], str] = str, ends: Callable[[str], str] = str) -> Map:
    """A relation with other names of the events in which its pairs begin, and in which they end."""
    parts = [(Space(Tuple(begins(s.source.name or ""), s.source.dims), Tuple(ends(s.out.name or ""), s.out.dims)), p)
             for s, p in relation.parts]  # fmt: skip
    return Map._of(relation.param_names, parts)


def _arrival(copy: str) -> str:
    """The tuple of a copy's arrival."""
    return f"arrival_{copy}"


def alike(events: Sequence[Event], shape: tuple[int, int]) -> list[np.ndarray]:
    """The threads of a block by what they commit and wait for: masks [warp, 32], usually one."""
    masks = [e.mask for e in events if e.kind in (COMMIT, WAIT) and e.mask is not None]
    if not masks:
        return [np.ones(shape, bool)]
    _, which = np.unique(np.stack([m.ravel() for m in masks], -1), axis=0, return_inverse=True)
    which = which.reshape(shape)
    return [which == n for n in range(int(which.max()) + 1)]
