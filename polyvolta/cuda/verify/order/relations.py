"""Relations between the instances of events: constraints in the kernel's names made maps of the set core.

Sizes and block indices are parameters, of which is known what the kernel requires; an event's dimensions are the
variables of the loops around it, those of the later event primed:

    [K] -> { copy1[c2] -> wait1[c2'] : c2 < c2' and 0 <= c2' and 32*c2' < K }

Where a kernel requires that K is a multiple of 32, the parameter is the multiple, `K.by32`, and every K is 32 times
that: the same pairs, of the sizes that there are. The number of k tiles is then a parameter and no floor of one, which
is what makes closures dear: `32*c2' < K` is `c2' < K.by32`, and so is `c2' < floor((K + 31)/32)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import lcm

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.verify.engine.conditions import written
from polyvolta.cuda.verify.engine.symbols import BLOCKS, of_grid, of_sizes
from polyvolta.cuda.verify.order.program import ALWAYS, Constraints, Event, both
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple


class Relations:
    """Maps between the events of one kernel.

    Attributes
    ----------
    params : the sizes and block indices that the events' domains and slots speak of.
    columns : the maps' parameters, one for each of `params`: of a size that is a multiple the multiple, `K.by32`.
    """

    def __init__(self, ir: KernelIR, events: Sequence[Event], more: Iterable[Aff] = ()) -> None:
        spoken = {n for e in events for c in e.domain for x in c for n in x.names() - set(e.dims)}
        spoken |= {n for x in more for n in x.names()} & {*ir.sizes, *BLOCKS}
        known = [*of_sizes(ir), *of_grid(ir)]
        if spoken & set(BLOCKS):
            spoken |= {n for e in of_grid(ir) if e.names() & spoken & set(BLOCKS) for n in e.names()}
        self.params = tuple(n for n in (*ir.sizes, *BLOCKS) if n in spoken)
        self.known: Constraints = frozenset(e for e in known if e.names() <= spoken and not e.is_constant)
        self._by: dict[str, int] = {}  # size -> what it is a multiple of
        for n, m in ir.context:
            if n in spoken and m > 1:
                self._by[n] = lcm(m, self._by.get(n, 1))
        self.columns = tuple(self.column(n) for n in self.params)
        self._table = {n: m * var(self.column(n)) for n, m in self._by.items()}
        self._before: dict[tuple[str, str], Map] = {}
        self._spelled: dict[Constraints, Constraints] = {}

    @classmethod
    def told(cls, params: Iterable[str], known: Iterable[Aff]) -> Relations:
        """For events that speak of some parameters, each `e >= 0` of which is known."""
        new = cls.__new__(cls)
        new.params, new.known, new._before = tuple(params), frozenset(known), {}
        new.columns, new._by, new._table, new._spelled = new.params, {}, {}, {}
        return new

    @cached_property
    def context(self) -> tuple[Constraints, ...]:
        """What is known of the parameters."""
        return both(ALWAYS, self._in_columns((self.known,)))

    def pairs(self, one: Event, other: Event, ways: Iterable[Iterable[Aff]]) -> Map:
        """{ one[...] -> other[...] }: the instances of two events for which, of some conjunctions, one holds.

        Parameters
        ----------
        ways : conjunctions of `e >= 0` in parameters, dimensions of `one`, and primed dimensions of `other`.
        """
        table = {d: var(d + "'") for d in other.dims}
        later = tuple(frozenset(e.subs(table) for e in c) for c in other.domain)
        domain = both(both(self._in_columns(one.domain), self._in_columns(later)), self.context)
        names = (*self.columns, *one.dims, *(d + "'" for d in other.dims))
        space = Space(Tuple(one.name, one.dims), Tuple(other.name, tuple(d + "'" for d in other.dims)))
        found = (_conjunct(names, c) for c in both(domain, self._in_columns(map(frozenset, ways))))
        return Map._of(self.columns, [(space, tuple(c for c in found if c is not None))])

    def before(self, one: Event, other: Event) -> Map:
        """{ one[...] -> other[...] }: the instances of an event that a thread runs before those of another one."""
        key = one.name, other.name
        if key not in self._before:
            self._before[key] = self.pairs(one, other, earlier(one, other)).coalesce()
        return self._before[key]

    def instances(self, event: Event, ways: Iterable[Iterable[Aff]] = ((),)) -> Set:
        """All instances of an event, or those for which, of some conjunctions of `e >= 0`, one holds."""
        names = (*self.columns, *event.dims)
        domain = both(self._in_columns(both(event.domain, tuple(map(frozenset, ways)))), self.context)
        found = (_conjunct(names, c) for c in domain)
        return Set._of(self.columns, [(Space(None, Tuple(event.name, event.dims)), tuple(c for c in found if c))])

    def nothing(self) -> Map:
        """No pair."""
        return Map._of(self.columns, [])

    # ---- sizes and their multiples

    def column(self, name: str) -> str:
        """The maps' parameter for a size or block index. No size has a dot in its name."""
        return f"{name}.by{self._by[name]}" if name in self._by else name

    def in_sizes(self, relation: Map) -> Map:
        """The same pairs, of the sizes themselves. A projection for each size that is a multiple."""
        relation = relation.align_params(self.params)
        for n, m in self._by.items():
            known = Set(f"[{n}, {self.column(n)}] -> {{ : {n} = {m} {self.column(n)} }}")
            relation = relation.intersect_params(known).project_out_params(self.column(n))
        return relation

    def values(self, point: Mapping[str, int]) -> dict[str, int]:
        """A point of the maps, {column or dimension: value}, with the sizes' own values."""
        sizes = {self.column(n): (n, m) for n, m in self._by.items()}
        return {n: v * m for k, v in point.items() for n, m in (sizes.get(k, (k, 1)),)}

    def _in_columns(self, ways: Iterable[Constraints]) -> tuple[Constraints, ...]:
        """Conjunctions in sizes as ones in the maps' parameters; one is done once."""
        if not self._table:
            return tuple(ways)
        out = []
        for c in ways:
            if c not in self._spelled:
                self._spelled[c] = frozenset(e.subs(self._table) for e in c)
            out.append(self._spelled[c])
        return tuple(out)


def earlier(one: Event, other: Event) -> list[list[Aff]]:
    """When an instant of one event is before an instant of another: their lexicographic order as conjunctions of
    `e >= 0`, the other one's dimensions primed.

    >>> sync = Event("sync", "barrier", (), ("k",), (1, 0), ALWAYS)
    >>> read = Event("read", "read", (), ("k",), (1, 4), ALWAYS)
    >>> [[str(e) for e in way] for way in earlier(sync, read)]
    [["k' - k - 1"], ["k - k'", "k' - k"]]
    >>> [[str(e) for e in way] for way in earlier(read, sync)]
    [["k' - k - 1"]]
    """
    ways: list[list[Aff]] = []
    same: list[Aff] = []
    for level, (a, b) in enumerate(zip(one.at, other.at)):
        if a != b:
            return [*ways, same] if a < b else ways
        if level < min(len(one.dims), len(other.dims)):
            x, y = var(one.dims[level]), var(other.dims[level] + "'")
            ways.append([*same, y - x - 1])
            same = [*same, x - y, y - x]
    return ways


def _conjunct(names: tuple[str, ...], constraints: Iterable[Aff]):
    ordered = sorted(constraints, key=written)
    return RowBuilder(names).conjunct([("ge", e) for e in ordered])


def together(maps: Iterable[Map], like: Map) -> Map:
    """The union of some maps."""
    return Map._of(like.param_names, [p for m in maps for p in m.parts])


def then(first: Map, *others: Map) -> Map:
    """One relation after the other; no pair where the one ends at nothing that the other begins with."""
    for other in others:
        common = {s.out.key for s, _ in first.parts} & {s.source.key for s, _ in other.parts}
        first = first.apply_range(other) if common else Map._of(first.param_names, [])
    return first


def less(relation: Map, other: Map) -> Map:
    """The pairs of a relation that another one, of whatever spaces, doesn't have."""
    mine = {s.key for s, _ in relation.parts}
    shared = [(s, p) for s, p in other.parts if s.key in mine]
    return relation - Map._of(other.param_names, shared) if shared else relation


def common(relation: Map, other: Map) -> Map:
    """The pairs of a relation that another one, of whatever spaces, has, too."""
    mine = {s.key for s, _ in relation.parts}
    shared = [(s, p) for s, p in other.parts if s.key in mine]
    return relation & Map._of(other.param_names, shared) if shared else Map._of(relation.param_names, [])
