"""Schedule trees as text, in the paper's notation.

    DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
      BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]

Each line is one node, indented by its depth; further statements stand below the first. A member that is mapped to an
index of the GPU is written as that index. Below a band stands in parentheses how its code is generated, where the tree
says so: `(separate[0]; isolate [a] : a ≤ 3)`. `ascii=True` writes floor(i/128), <= and -> instead.

`rows` has the same lines node by node; the other views (terminal, HTML, LaTeX, Graphviz, differences) are made of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyvolta.sched.cases import shown
from polyvolta.sched.nodes import added
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Expansion,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Node,
    Path,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sched.wrapped import plain, plain_tuple
from polyvolta.sets import Map, Set, Tuple
from polyvolta.sets.text.show import piece_texts
from polyvolta.sets.text.show_expressions import PAPER, PAPER_ASCII, Style
from polyvolta.sets.values.space import Space, distinct, renamed

MARKER = "   <-- here"
Tuples = dict[str, Tuple]  # the statements at a node as their declarations call the dimensions


@dataclass(frozen=True, slots=True)
class Row:
    """A node as text: its lines without the indentation, of which all but the first are aligned to it."""

    at: Path
    node: Node
    lines: tuple[str, ...]

    @property
    def depth(self) -> int:
        return len(self.at)


def show(schedule: Schedule, ascii: bool = False, marked: Path | None = None) -> str:  # noqa: A002
    """The tree, one node a line; the node at `marked` is pointed out, by a line of its own if it is a leaf."""
    out: list[str] = []
    for row in rows(schedule, PAPER_ASCII if ascii else PAPER, marked or ()):
        for k, line in enumerate(row.lines):
            out.append("  " * row.depth + line + (MARKER if row.at == marked and not k else ""))
    return "\n".join(out)


def heads(schedule: Schedule, at: Path) -> list[str]:
    """The first lines of the children of the node at a path."""
    found = {row.at: row.lines[0] for row in rows(schedule)}
    return [found.get((*at, k), "a leaf") for k in range(len(schedule.node(at).children))]


def rows(schedule: Schedule, style: Style = PAPER, leaf: Path = ()) -> list[Row]:
    """The nodes in reading order with their lines; leaves, which have none, are left out but for one at `leaf`."""
    out: list[Row] = []
    _rows(schedule.root, (), style, {}, out, leaf)
    return out


def _rows(node: Node, at: Path, style: Style, tuples: Tuples, out: list[Row], leaf: Path) -> None:
    if isinstance(node, Leaf) and at != leaf:
        return
    if isinstance(node, Domain):
        tuples = {str(s.out.name): s.out for s, _ in node.domain.parts}
    if (more := added(node)) is not None:
        tuples = {**tuples, **{str(s.out.name): s.out for s, _ in more.parts}}
    out.append(Row(at, node, tuple(_text(node, style, tuples))))
    for k, child in enumerate(node.children):
        _rows(child, (*at, k), style, tuples, out, leaf)


def _text(node: Node, style: Style, tuples: Tuples) -> list[str]:
    match node:
        case Domain(domain):
            return _several("DOMAIN: ", piece_texts(plain(domain), _named(style)) or ["nothing"])
        case Context(context):
            return [f"CONTEXT: {_condition(context, style)}"]
        case Band():
            parts = [
                f"{_shown(tuples, s)} {style.arrow} [{', '.join(_member(m, s, style) for m in node.members)}]"
                for s in node.statements
            ]
            lines = _several("BAND: ", parts or ["nothing"])
            options = _options(node, style)
            return [*lines, f"{' ' * len('BAND: ')}({options})"] if options else lines
        case Filter(statements, _, None):
            return ["FILTER: " + ("; ".join(_shown(tuples, s) for s in statements) or "nothing")]
        case Filter(_, _, Set() as instances):
            return ["FILTER: " + "; ".join(piece_texts(plain(_called(instances, tuples)), _named(style)))]
        case Leaf():
            return ["LEAF"]
        case Sequence():
            return ["SEQUENCE"]
        case SetNode():
            return ["SET"]
        case Mark(name):
            return [f"MARK: {name}"]
        case Guard(guard):
            return [f"GUARD: {_condition(guard, style)}"]
        case Extension(extension):
            return _several("EXTENSION: ", piece_texts(plain(_readable(extension)), style) or ["nothing"])
        case Expansion(_, expansion):
            return _several("EXPANSION: ", piece_texts(plain(_readable(expansion)), style) or ["nothing"])
    raise TypeError(type(node).__name__)


def _shown(tuples: Tuples, statement: str) -> str:
    """The tuple of a statement as the domain has it."""
    own = tuples.get(statement)
    return statement if own is None else str(plain_tuple(own))


def _named(style: Style) -> Style:
    """The style with every dimension of a tuple by its name, for bands below speak of it by that name."""
    return replace(style, inline=False)


def _several(head: str, parts: list[str]) -> list[str]:
    """Statements one to a line, aligned below the first."""
    lines = [head + parts[0]] + [" " * len(head) + p for p in parts[1:]]
    return [line + ";" for line in lines[:-1]] + lines[-1:]


def _member(member: Member, statement: str, style: Style) -> str:
    e = dict(member.exprs).get(statement)
    return member.name or ("?" if e is None else shown(e, style))


def _condition(s: Set, style: Style) -> str:
    """A set over outer members; one without dimensions is its formula."""
    texts = [t.removeprefix("[]").lstrip().removeprefix(":").lstrip() for t in piece_texts(s, _named(style))]
    return "; ".join(t or "true" for t in texts) or "false"


def _options(band: Band, style: Style) -> str:
    """How the code of a band is generated, where that is not the default."""
    found = [f"{m.loop_type}[{k}]" for k, m in enumerate(band.members) if m.loop_type != "default"]
    if band.isolate is not None:
        found.append("isolate " + _condition(band.isolate, style))
        found += [f"{m.isolated_type}[{k}] there" for k, m in enumerate(band.members) if m.isolated_type is not None]
    return "; ".join(found)


def _called(instances: Set, tuples: Tuples) -> Set:
    """The same instances with the names of dimensions that their declarations have."""
    parts = []
    for space, pieces in instances.parts:
        own = tuples.get(str(space.out.name))
        if own is not None and own.key == space.out.key:
            space = Space(None, renamed(own, distinct(own.dims, instances.param_names)))
        parts.append((space, pieces))
    return Set._of(instances.param_names, parts)


def _readable(extension: Map) -> Map:
    """The same map with its inputs called what the outputs call them, which then stand in the tuple as they are."""
    parts = []
    for space, pieces in extension.parts:
        inp = space.inp or Tuple(None, ())
        inputs = tuple(d.rstrip("@") for d in inp.dims)
        outputs = distinct(space.out.dims, (*extension.param_names, *inputs))
        parts.append((Space(renamed(inp, inputs), renamed(space.out, outputs)), pieces))
    return Map._of(extension.param_names, parts)


def notes(node: Node) -> list[str]:
    """What the paper's notation leaves out of a band: its flags, requests to unroll members, and their levels."""
    if not isinstance(node, Band):
        return []
    found = ["permutable"] * node.permutable
    for word, flags in (
        ("coincident", [m.coincident for m in node.members]),
        ("unroll", [m.unroll for m in node.members]),
    ):
        if any(flags):
            found.append(f"{word} {' '.join(str(int(f)) for f in flags)}")
    levels = [m.level or "-" for m in node.members]
    if {*levels} - {"-"}:
        found.append(f"level {levels[0] if len({*levels}) == 1 else ' '.join(levels)}")
    return found
