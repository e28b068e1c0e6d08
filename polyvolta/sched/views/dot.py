"""Schedule trees as graphs for Graphviz: `dot -Tsvg`.

Bands are boxes, filters rounded, sequences and sets ellipses; children keep their order from left to right.
"""

from __future__ import annotations

from polyvolta.sched.tree import (
    Band,
    Domain,
    Expansion,
    Extension,
    Filter,
    Mark,
    Node,
    Path,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sched.views.paper import notes, rows

HEAD = """digraph schedule {
  graph [ordering=out, ranksep=0.3, nodesep=0.3, bgcolor=transparent]
  node [shape=box, fontname="monospace", fontsize=10, margin="0.12,0.06", style="filled", fillcolor=white,
    color="#888888"]
  edge [arrowhead=none, color="#888888"]
"""


def dot(schedule: Schedule) -> str:
    """The tree in Graphviz's language. Linear.

    >>> text = dot(Schedule.parse('{ domain: "{ S[] }", child: { mark: "here" } }'))
    >>> text.count("label="), "n -> n0" in text
    (2, True)
    """
    lines = []
    for row in rows(schedule):
        text = "".join(f"{_escaped(line)}\\l" if len(row.lines) > 1 else _escaped(line) for line in row.lines)
        if said := notes(row.node):
            text += f"{'' if len(row.lines) > 1 else chr(92) + 'n'}{', '.join(said)}" + "\\l" * (len(row.lines) > 1)
        lines.append(f'  {_id(row.at)} [label="{text}"{_look(row.node)}]')
        if row.at:
            lines.append(f"  {_id(row.at[:-1])} -> {_id(row.at)}")
    return HEAD + "\n".join(lines) + "\n}\n"


def _id(at: Path) -> str:
    return "n" + "_".join(map(str, at))


def _look(node: Node) -> str:
    match node:
        case Domain():
            return ', fillcolor="#eeeeee"'
        case Band():
            return ', fillcolor="#dce9f7"'
        case Filter():
            return ', style="filled,rounded"'
        case Sequence() | SetNode():
            return ', shape=ellipse, fillcolor="#f5ead0"'
        case Mark():
            return ', shape=note, fillcolor="#f7f0dc"'
        case Extension() | Expansion():
            return ', fillcolor="#e4f2e0"'
    return ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
