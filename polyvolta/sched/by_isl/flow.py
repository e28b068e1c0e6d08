"""isl's access information and what dataflow finds, gathered one by one: the arguments and results of `dataflow`.

>>> from polyvolta.isl import UnionAccessInfo, UnionMap
>>> reads, writes = UnionMap("{ T[i] -> a[i] : 0 < i < 9 }"), UnionMap("{ S[i] -> a[i] : 0 <= i < 9 }")
>>> info = UnionAccessInfo.from_sink(reads).set_must_source(writes)
>>> found = info.set_schedule_map(UnionMap("{ S[i] -> [0, i]; T[i] -> [1, i] }")).compute_flow()
>>> print(found.get_must_dependence())
{ S[i] -> T[i] : 1 <= i <= 8 }
>>> print(found.get_full_must_dependence())
{ S[i] -> [T[i] -> a[i]] : 1 <= i <= 8 }
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyvolta.sched.by_isl.plain import Plain, checks_arguments
from polyvolta.sched.by_isl.pulled import pullback
from polyvolta.sched.dependence.model import Flow
from polyvolta.sched.dependence.sources import dataflow
from polyvolta.sched.errors import BadProgram
from polyvolta.sched.structure.expansion import expanded
from polyvolta.sched.tree import Schedule
from polyvolta.sched.wrapped import plain
from polyvolta.sets import Map
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.unions import gives_union, united

NOTHING = Map("{ }")
_NOWHERE = '{ domain: "{ }" }'


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True)
class UnionAccessInfo(Plain):
    """Accesses whose sources are to be found, and the order of the instances; immutable.

    Parameters
    ----------
    sink : instances -> elements that they read.
    must_source, may_source, kill : what surely writes, what may write, what ends the life of an element.
    order : when instances run.
    """

    sink: Map
    must_source: Map = NOTHING
    may_source: Map = NOTHING
    kill: Map = NOTHING
    order: Map | Schedule | None = None

    def __post_init__(self) -> None:
        for name in ("sink", "must_source", "may_source", "kill"):
            if not isinstance(m := getattr(self, name), Map):
                raise BadProgram(f"accesses ({name}) are a Map from instances to elements, not {kind_of(m)}",
                                 where=str(m))  # fmt: skip
        if not (self.order is None or isinstance(self.order, (Map, Schedule))):
            raise BadProgram(f"an order is a Schedule or a Map to times, not {kind_of(self.order)}",
                             where=str(self.order))  # fmt: skip

    @staticmethod
    def from_sink(sink: Map) -> UnionAccessInfo:
        """The accesses whose sources are to be found, without any source.

        Raises
        ------
        BadProgram : they are no Map.
        """
        return UnionAccessInfo(sink)

    def set_must_source(self, must_source: Map) -> UnionAccessInfo:
        """The same, with what surely writes."""
        return replace(self, must_source=must_source)

    def set_may_source(self, may_source: Map) -> UnionAccessInfo:
        """The same, with what may write."""
        return replace(self, may_source=may_source)

    def set_kill(self, kill: Map) -> UnionAccessInfo:
        """The same, with what ends the life of elements."""
        return replace(self, kill=kill)

    def set_schedule(self, schedule: Schedule) -> UnionAccessInfo:
        """The same, with a tree that says when instances run."""
        return replace(self, order=schedule)

    def set_schedule_map(self, times: Map) -> UnionAccessInfo:
        """The same, with a relation to times."""
        return replace(self, order=times)

    def to_str(self) -> str:
        """isl's text of it: what there is, and the order."""
        said = {"sink": self.sink, "must_source": self.must_source, "may_source": self.may_source, "kill": self.kill}
        texts = [f'{name}: "{m}"' for name, m in said.items() if name == "sink" or m != NOTHING]
        if isinstance(self.order, Map):
            texts.append(f'schedule_map: "{self.order}"')
        else:
            texts.append(f"schedule: {self.order.to_isl() if self.order else _NOWHERE}")
        return f"{{ {', '.join(texts)} }}"

    __str__ = to_str

    def compute_flow(self) -> UnionFlow:
        """The last sources of each sink; raises and costs what `polyvolta.sched.dataflow` does.

        Without an order nothing runs, as in isl, whose tree has no instances then.
        """
        return UnionFlow(self, self.found(self.sink))

    def found(self, sink: Map) -> Flow:
        """What `dataflow` finds of some sinks."""
        order = self.order
        if order is None:
            return Flow(NOTHING, NOTHING, NOTHING, NOTHING)
        if isinstance(order, Schedule):
            order = replace(order, root=expanded(order.root))
        return dataflow(sink, self.must_source, self.may_source, self.kill, order=order)


def compute_flow(sink: Map, must_source: Map, may_source: Map, times: Map) -> tuple[int, Map, Map, Map, Map]:
    """The last sources of each sink, as isl's older method gives them: `UnionMap.compute_flow` of `polyvolta.isl`.

    Parameters
    ----------
    sink, must_source, may_source : instances -> elements.
    times : when instances run.

    Returns
    -------
    0, the sure dependences source -> sink, those that are not sure, the accesses that surely have no source, and those
    of which it is not sure. What is sure is not among what may be, other than in `UnionFlow`.

    Raises
    ------
    BadProgram : one is no Map; and what `UnionAccessInfo.compute_flow` raises.

    >>> from polyvolta.isl import UnionMap
    >>> writes, reads = UnionMap("{ S[i] -> A[i] : 0 <= i < 3 }"), UnionMap("{ T[i] -> A[i] : 0 <= i < 5 }")
    >>> none = UnionMap("{ }")
    >>> found = reads.compute_flow(writes, none, UnionMap("{ S[i] -> [0, i]; T[i] -> [1, i] }"))
    >>> print(found[1], found[3])
    { S[i] -> T[i] : 0 <= i <= 2 } { T[i] -> A[i] : 3 <= i <= 4 }
    """
    info = UnionAccessInfo.from_sink(sink).set_must_source(must_source).set_may_source(may_source)
    flow = info.set_schedule_map(times).compute_flow().flow
    no_source = flow.may_no_source - flow.must_no_source
    found = (flow.must, flow.may - flow.must, flow.must_no_source, no_source)
    must, may, must_no_source, may_no_source = map(united, found)
    return 0, must, may, must_no_source, may_no_source


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True)
class UnionFlow(Plain):
    """What was found of some accesses."""

    info: UnionAccessInfo
    flow: Flow

    @gives_union
    def get_must_dependence(self) -> Map:
        """source -> sink, surely."""
        return self.flow.must

    @gives_union
    def get_may_dependence(self) -> Map:
        """source -> sink, maybe; the sure ones, too."""
        return self.flow.may

    @gives_union
    def get_must_no_source(self) -> Map:
        """Accesses of sinks without any source."""
        return self.flow.must_no_source

    @gives_union
    def get_may_no_source(self) -> Map:
        """Accesses of sinks that may have no source."""
        return self.flow.may_no_source

    @gives_union
    def get_full_must_dependence(self) -> Map:
        """source -> [sink -> element], surely."""
        return self._full().must

    @gives_union
    def get_full_may_dependence(self) -> Map:
        """source -> [sink -> element], maybe; the sure ones, too."""
        return self._full().may

    def _full(self) -> Flow:
        """What is found of each access for itself, as an instance [sink -> element] at the sink's time."""
        info, order = self.info, self.info.order
        each = info.sink.domain_map()  # [sink -> element] -> sink
        if isinstance(order, Schedule):
            # a map of times would order the children of a set
            tree = replace(order, root=expanded(order.root))
            order = pullback(tree, plain(tree.domain).identity() | each)
        elif order is not None:
            order = order | each.apply_range(order)
        return replace(info, order=order).found(info.sink.range_map())

    def to_str(self) -> str:
        """isl's text of it: the dependences with their elements, and the accesses without a source."""
        full = self._full()
        said = {"must_dependence": full.must, "may_dependence": full.may,
                "must_no_source": self.flow.must_no_source, "may_no_source": self.flow.may_no_source}  # fmt: skip
        return "{ " + ", ".join(f'{name}: "{m}"' for name, m in said.items()) + " }"

    def __str__(self) -> str:
        return str(self.flow)
