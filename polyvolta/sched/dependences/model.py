"""What a dependence is, what dataflow is, and how they read."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

from polyvolta.sets import Map

Kind = Literal["RAW", "WAR", "WAW"]


@dataclass(frozen=True, slots=True)
class Dependence:
    """Instances of `source` that must run before instances of `sink`, because of `array`.

    Parameters
    ----------
    kind : "RAW" the sink reads what the source wrote (flow), "WAR" it overwrites what the source read (anti), "WAW" it
        overwrites what the source wrote (output).
    relation : sources -> sinks; one tuple on either side.
    """

    kind: Kind
    array: str
    source: str
    sink: str
    relation: Map

    def __str__(self) -> str:
        return f"{self.kind} {self.array}  {self.relation}"


class Dependences(tuple[Dependence, ...]):
    """Several dependences: a tuple that prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [(d.kind, d.array, str(d.relation)) for d in self]
        wide = max((len(array) for _, array, _ in rows), default=0)
        return "\n".join(f"{kind}  {array:{wide}}  {text}" for kind, array, text in rows) or "no dependences"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = [f"<tr><th>kind</th><th>array</th><th {left}>source → sink</th></tr>"]
        for d in self:
            relation = f"<code>{escape(str(d.relation))}</code>"
            rows.append(f"<tr><td>{d.kind}</td><td>{escape(d.array)}</td><td {left}>{relation}</td></tr>")
        return f"<table>{''.join(rows)}</table>"


FLOWS = ("must", "may", "must_no_source", "may_no_source")


@dataclass(frozen=True, slots=True)
class Flow:
    """Where the values of the sinks come from.

    Parameters
    ----------
    must : source -> sink: the value surely comes from there.
    may : source -> sink: the value may come from there; all of `must`, too.
    must_no_source : sink -> element: the value was surely there before; no source, nor kill, runs before the sink.
    may_no_source : sink -> element: the value may have been there before; no sure source, nor kill, runs before it.
    """

    must: Map
    may: Map
    must_no_source: Map
    may_no_source: Map

    def __str__(self) -> str:
        return "\n".join(f"{name:14}  {getattr(self, name)}" for name in FLOWS)
