"""What a dependence is, what dataflow is, how they read, and which dependences fit some statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from polyvolta.display.shown import Shown
from polyvolta.display.text import filled, for_terminal
from polyvolta.sched.errors import BadProgram
from polyvolta.sets import Map
from polyvolta.sets.errors import kind_of

Kind = Literal["RAW", "WAR", "WAW", "validity", "proximity", "coincidence", "conditional validity", "condition"]


@dataclass(frozen=True, slots=True)
class Dependence(Shown):
    """Instances of `source` that must run before instances of `sink`, because of `array`.

    Parameters
    ----------
    kind : "RAW" the sink reads what the source wrote (flow), "WAR" it overwrites what the source read (anti), "WAW" it
        overwrites what the source wrote (output). The others are constraints of no array; see `scheduler.constraints`.
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


def fitting(dependences: Iterable[Dependence], iterators: Mapping[str, tuple[str, ...]]) -> list[Dependence]:
    """The dependences between statements with these iterators; those of other statements are left out.

    Raises
    ------
    BadProgram : what is given are no dependences, or a relation is not between instances of its source and its sink.
    """
    given = tuple(dependences) if isinstance(dependences, Iterable) else (dependences,)
    if isinstance(dependences, Dependence) or not all(isinstance(d, Dependence) for d in given):
        wrong = dependences
        if isinstance(dependences, (list, tuple)):
            wrong = next(d for d in given if not isinstance(d, Dependence))
        raise BadProgram(
            f"dependences are several objects Dependence, not {kind_of(wrong)}" + " alone" * (wrong is dependences),
            hint="dependences(program) finds those of a program",
        )
    out = [d for d in given if d.source in iterators and d.sink in iterators]
    for d in out:
        for space, _ in d.relation.parts:
            for side, name in ((space.inp, d.source), (space.out, d.sink)):
                if side is None or (side.name or "") != name or len(side.dims) != len(iterators[name]):
                    raise BadProgram(
                        f"the dependence relates {side}, its statement is {name}[{', '.join(iterators[name])}]",
                        where=str(d),
                    )
    return out


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
