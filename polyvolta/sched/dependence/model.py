"""What a dependence is, what dataflow is, and how they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvolta.display.shown import Shown
from polyvolta.display.text import filled, for_terminal
from polyvolta.sets import Map

Kind = Literal["RAW", "WAR", "WAW", "validity", "proximity", "coincidence", "conditional validity", "condition"]


@dataclass(frozen=True, slots=True)
class Dependence(Shown):
    """Instances of `source` that must run before instances of `sink`, because of `array`.

    Parameters
    ----------
    kind : "RAW" the sink reads what the source wrote (flow), "WAR" it overwrites what the source read (anti), "WAW" it
        overwrites what the source wrote (output). The others are constraints, of no array but for conditions that have
        tags; see `scheduler.constraints`.
    relation : sources -> sinks; one tuple on either side.

    >>> from polyvolta.sched import dependences, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> d = dependences(chain)[0]
    >>> d.kind, d.source, d.sink, str(d.relation)
    ('RAW', 'S', 'S', '[N] -> { S[i] -> S[i + 1] : 1 <= i <= N - 2 }')
    """

    kind: Kind
    array: str
    source: str
    sink: str
    relation: Map

    def __str__(self) -> str:
        return for_terminal(f"{self.kind} {self.array}  {self.relation}")

    def _html(self) -> str:
        return Dependences((self,))._html()


class Dependences(Shown, tuple[Dependence, ...]):
    """Several dependences: a tuple that prints as a table.

    >>> from polyvolta.sched import dependences, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> [(d.kind, d.array) for d in dependences(chain)]
    [('RAW', 'A')]
    """

    __slots__ = ()

    def __str__(self) -> str:
        rows = [(d.kind, d.array, str(d.relation)) for d in self]
        wide = max((len(array) for _, array, _ in rows), default=0)
        lines = [f"{kind}  {array:{wide}}  {text}" for kind, array, text in rows]
        return for_terminal("\n".join(lines)) or "no dependences"

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(f"{d.kind} {d.array}" for d in self)) or "none"
        return filled(f"<Dependences: {kinds}; print them>")

    def _html(self) -> str:
        from polyvolta.display.page import Html, code, said, table

        rows = [(d.kind, d.array, Html(code(d.relation))) for d in self]
        return table(("kind", "array", "source → sink"), rows) if rows else said("no dependences")


FLOWS = ("must", "may", "must_no_source", "may_no_source")


@dataclass(frozen=True, slots=True)
class Flow(Shown):
    """Where the values of the sinks come from.

    Parameters
    ----------
    must : source -> sink: the value surely comes from there.
    may : source -> sink: the value may come from there; all of `must`, too.
    must_no_source : sink -> element: the value was surely there before; no source, nor kill, runs before the sink.
    may_no_source : sink -> element: the value may have been there before; no sure source, nor kill, runs before it.

    >>> from polyvolta.sched import flow, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> print(flow(chain).must)
    [N] -> { S[i] -> S[i + 1] : 1 <= i <= N - 2 }
    """

    must: Map
    may: Map
    must_no_source: Map
    may_no_source: Map

    def __str__(self) -> str:
        return for_terminal("\n".join(f"{name:14}  {getattr(self, name)}" for name in FLOWS))

    def _html(self) -> str:
        from polyvolta.display.page import Html, code, facts

        return facts((name.replace("_", " "), Html(code(getattr(self, name)))) for name in FLOWS)
