"""Schedule trees as text, in the paper's notation.

    DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
      BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]

Each line is one node, indented by its depth. A member that is mapped to an index of the GPU is written as
that index. `ascii=True` writes floor(i/128), <= and -> instead.
"""

from __future__ import annotations

from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Node,
    Path,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import Map, Set
from polyvolta.sets.space import Space, distinct, renamed
from polyvolta.sets.text.show import PAPER, PAPER_ASCII, Style, piece_texts, show_aff

MARKER = "   <-- here"


def show(schedule: Schedule, ascii: bool = False, marked: Path | None = None) -> str:  # noqa: A002
    """The tree, one node a line; the node at `marked` is pointed out."""
    style = PAPER_ASCII if ascii else PAPER
    lines: list[str] = []
    names = {s.out.name: str(s.out) for s, _ in schedule.root.domain.parts} if isinstance(schedule.root, Domain) else {}
    _lines(schedule.root, (), 0, style, names, marked, lines)
    return "\n".join(lines)


def _lines(node: Node, at: Path, depth: int, style: Style, names: dict, marked: Path | None, out: list[str]) -> None:
    if isinstance(node, Leaf):
        return
    if isinstance(node, Extension):
        names = {**names, **{s.out.name: str(s.out) for s, _ in node.extension.parts}}
    first = len(out)
    text = _text(node, style, names)
    out += ["  " * depth + line for line in text]
    if at == marked:
        out[first] += MARKER
    for k, child in enumerate(node.children):
        _lines(child, (*at, k), depth + 1, style, names, marked, out)


def _text(node: Node, style: Style, names: dict[str, str]) -> list[str]:
    match node:
        case Domain(domain):
            return _several("DOMAIN: ", _set_texts(domain, style))
        case Context(context):
            return ["CONTEXT: " + "; ".join(_set_texts(context, style))]
        case Band():
            parts = [
                f"{names.get(s, s)} {style.arrow} [{', '.join(_member(m, s, style) for m in node.members)}]"
                for s in node.statements
            ]
            return _several("BAND: ", parts)
        case Filter(statements):
            return ["FILTER: " + "; ".join(names.get(s, s) for s in statements)]
        case Sequence():
            return ["SEQUENCE"]
        case SetNode():
            return ["SET"]
        case Mark(name):
            return [f"MARK: {name}"]
        case Guard(guard):
            return ["GUARD: " + "; ".join(_set_texts(guard, style))]
        case Extension(extension):
            return _several("EXTENSION: ", _relation_texts(_readable(extension), style))
    raise TypeError(type(node).__name__)


def _several(head: str, parts: list[str]) -> list[str]:
    """Statements one to a line, aligned below the first."""
    lines = [head + parts[0]] + [" " * len(head) + p for p in parts[1:]]
    return [line + ";" for line in lines[:-1]] + lines[-1:]


def _member(member, statement: str, style: Style) -> str:  # noqa: ANN001
    return member.name or show_aff(member.of(statement), style)


def _set_texts(s: Set, style: Style) -> list[str]:
    return _relation_texts(s, style)


def _relation_texts(r: Set | Map, style: Style) -> list[str]:
    """The pieces of a relation, without parameters and braces."""
    return piece_texts(r, style)


def _readable(extension: Map) -> Map:
    """The same map with its inputs called what the outputs call them, which then stand in the tuple as they are."""
    parts = []
    for space, pieces in extension.parts:
        inputs = tuple(d.rstrip("@") for d in space.inp.dims)
        outputs = distinct(space.out.dims, (*extension.param_names, *inputs))
        parts.append((Space(renamed(space.inp, inputs), renamed(space.out, outputs)), pieces))
    return Map._of(extension.param_names, parts)
