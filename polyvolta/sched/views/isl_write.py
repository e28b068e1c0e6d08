"""Writing schedule trees in isl's notation, for isl, PPCG, pet and whoever reads their files.

isl has words for everything in a tree but three: that a member is mapped to an index of the GPU, that its loop asks the
compiler to unroll it, and of which level it is. Marks above the band tell them (`isl_marks`), so that `Schedule.parse`
gives the same tree back. With `mapped="parameters"` mapped members become what PPCG makes of them instead: parameters,
to which a filter above the band ties the instances. isl then generates the code of one block and thread, and reading
the text gives the tree of one block and thread.

Dimensions and parameters that are called what no text can say (`by@`, `exists`) get other names, a bitwise exclusive-or
is written out in floors, and the dependences that travel with a schedule stay behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Literal, get_args

from polyvolta.sched.cases import Cases, conditions
from polyvolta.sched.errors import BadArgument, BadSchedule
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
    Node,
    Path,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sched.views.isl_marks import write_notes
from polyvolta.sched.wrapped import plain, plain_tuple
from polyvolta.sets import Aff, Map, Set, Space, Tuple, aff, nearest, var
from polyvolta.sets.text.parse import parse_aff
from polyvolta.sets.text.show import piece_texts, show_relation
from polyvolta.sets.text.show_expressions import ISL, NAMED, Style, show_aff
from polyvolta.sets.text.tokens import is_spelt
from polyvolta.sets.values.space import distinct, renamed

Mapped = Literal["marks", "parameters"]
FLOORS = Style(mod=False)


@dataclass(slots=True)
class Said:
    """What is written of a node: its keys with texts, its child or the children of a sequence or set."""

    keys: list[tuple[str, str]]
    child: Said | None = None
    listed: str = ""
    children: list[Said] = field(default_factory=list)
    here: bool = False  # whether the block form points it out

    def flow(self) -> str:
        """In one line."""
        said = [f"{key}: {text}" for key, text in self.keys]
        if self.listed:
            said.append(f"{self.listed}: [ {', '.join(c.flow() for c in self.children)} ]")
        if self.child:
            said.append(f"child: {self.child.flow()}")
        return f"{{ {', '.join(said) or 'leaf'} }}"

    def block(self) -> Iterator[str]:
        """One key a line, below a comment where the node is pointed out."""
        if self.here:
            yield "# YOU ARE HERE"
        if not self.keys and not self.listed:
            yield "leaf"
        yield from (f"{key}: {text}" for key, text in self.keys)
        if self.listed:
            yield f"{self.listed}:"
        for c in self.children:
            yield from (dash + line for dash, line in zip(chain(["- "], repeat("  ")), c.block(), strict=False))
        if self.child and not self.child.keys and not self.child.listed and not self.child.here:
            yield f"child: {self.child.flow()}"
        elif self.child:
            yield "child:"
            yield from ("  " + line for line in self.child.block())


def to_isl(schedule: Schedule, block: bool = False, mapped: Mapped = "marks", at: Path | None = None) -> str:
    """The tree as isl writes it: in one line (the flow form), or one key a line (the block form).

    `at`: the path of a node that a comment points out in the block form.

    Cost: linear in the tree, besides what writing the sets costs.

    Raises
    ------
    BadSchedule : a band speaks of a statement that nothing declares; a mark has a quote in its name.
    BadArgument : `mapped` is another word.

    >>> tree = Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
    >>> print(to_isl(tree, block=True), end="")
    domain: "{ S[i] : 0 <= i <= 7 }"
    child:
      schedule: "[{ S[i] -> [(i)] }]"
    """
    if mapped not in get_args(Mapped):
        hint = nearest(str(mapped), get_args(Mapped))
        raise BadArgument(f"mapped members are told by marks or by parameters, not by {mapped!r}", hint=hint)
    said = _Writer(mapped).node(schedule.root, 0, at)
    return "\n".join(said.block()) + "\n" if block else said.flow()


class _Writer:
    def __init__(self, mapped: str) -> None:
        self.mapped = mapped
        self.tuples: dict[str, Tuple] = {}  # statement -> its tuple as the tree has it
        self.params: tuple[str, ...] = ()

    def node(self, node: Node, depth: int, way: Path | None = None) -> Said:
        """What is written of a node; `depth` counts the members above, `way` leads to what is pointed out."""
        here = way == ()
        match node:
            case Leaf():
                return Said([], here=here)
            case Band():
                return self.band(node, depth, way)
            case Sequence(children) | SetNode(children):
                below = [self.node(c, depth, _on(way, k)) for k, c in enumerate(children)]
                return Said([], None, "sequence" if isinstance(node, Sequence) else "set", below, here)
            case Domain(domain):
                self.params = tuple(map(_word, domain.param_names))
                self.tuples = {str(s.out.name): s.out for s, _ in domain.parts}
                key = "domain", _quoted(domain)
            case Context(context):
                key = "context", _quoted(context)
            case Guard(guard):
                key = "guard", _quoted(guard)
            case Mark(name):
                if '"' in name:
                    raise BadSchedule(f"isl has no way to write a quote in a mark: {name}")
                key = "mark", f'"{name}"'
            case Filter():
                key = "filter", self.filter(node)
            case Extension(extension):
                for space, _ in extension.parts:
                    self.tuples[str(space.out.name)] = space.out
                key = "extension", _quoted(extension)
            case Expansion(contraction, expansion):
                keys = [("contraction", self.contraction(contraction)), ("expansion", _quoted(expansion))]
                self.tuples |= {str(s.out.name): s.out for s, _ in expansion.parts}
                return Said(keys, self.child(node, depth, way), here=here)
        return Said([key], self.child(node, depth, way), here=here)

    def child(self, node: Node, depth: int, way: Path | None) -> Said | None:
        below, way = node.children[0], _on(way, 0)
        if isinstance(below, Leaf) and not isinstance(node, Mark) and way is None:  # isl reads no mark without a child
            return None
        return self.node(below, depth, way)

    @staticmethod
    def contraction(contraction: Map) -> str:
        """The function as isl writes one, `S[i, j] -> G[(i)]`."""
        texts = []
        for space, cs in contraction.parts:
            function = Map._of(contraction.param_names, [(Space(_spelt(space, ()).inp, space.out), cs)])
            texts += str(plain(function).as_pw_multi_aff()).partition("{")[2].rpartition("}")[0].split(";")
        return f'"{_head(dict.fromkeys(contraction.param_names))}{{ {"; ".join(t.strip() for t in texts)} }}"'

    def filter(self, node: Filter) -> str:
        if node.instances is not None:
            place = {s: k for k, s in enumerate(node.statements)}
            parts = sorted(node.instances.parts, key=lambda p: place.get(str(p[0].out.name), len(place)))
            return _quoted(Set._of(node.instances.param_names, parts))
        return f'"{{ {"; ".join(str(self.spelt(s)[0]) for s in node.statements)} }}"'

    def band(self, node: Band, depth: int, way: Path | None) -> Said:
        keys = [("schedule", self.schedule(node))]
        if node.permutable:
            keys.append(("permutable", "1"))
        if any(m.coincident for m in node.members):
            keys.append(("coincident", f"[ {', '.join(str(int(m.coincident)) for m in node.members)} ]"))
        if options := options_of(node, depth):
            keys.append(("options", f'"{options}"'))
        said = Said(keys, self.child(node, depth + len(node.members), way), here=way == ())
        for note in write_notes(node) if self.mapped == "marks" else ():
            said = Said([("mark", f'"{note}"')], said)
        if self.mapped == "parameters" and any(m.name for m in node.members):
            return Said([("filter", self.tied(node))], said)
        return said

    def schedule(self, node: Band) -> str:
        rows, params = [], dict.fromkeys(self.params)
        for m in node.members:
            row = []
            for s, e in m.exprs:
                tup, table = self.spelt(s)
                for when, f in e.pieces if isinstance(e, Cases) else ((None, e),):
                    f = f.without_xor().rewrite(lambda n, table=table: table.get(n) or var(_word(n)))
                    params |= dict.fromkeys(sorted(f.names() - set(tup.dims)))
                    case = f"{tup} -> [({_exact(f)})]"
                    row += [case] if when is None else [f"{case} : {text}" for text in self.cases(when, tup, params)]
            rows.append(f"{{ {'; '.join(row)} }}")
        return f'"{_head(params)}{node.name or ""}[{", ".join(rows)}]"'

    def cases(self, when: Set, tup: Tuple, params: dict[str, None]) -> list[str]:
        """The conditions of a case, the dimensions called as in a tuple."""
        known = tuple(map(_word, when.param_names))
        params |= dict.fromkeys(known)
        return conditions(Set._of(known, [(Space(None, tup), pieces) for _, pieces in when.parts]), ISL)

    def tied(self, node: Band) -> str:
        """The filter that ties the instances to the indices that members are mapped to."""
        params, parts = dict.fromkeys(self.params), []
        for s in node.statements:
            tup, table = self.spelt(s)
            conditions = []
            for m in node.members:
                if m.name:
                    params[name := re.sub(r"\W", "_", m.name)] = None
                    e = m.of(s).without_xor().rewrite(lambda n, table=table: table.get(n) or var(_word(n)))
                    params |= dict.fromkeys(sorted(e.names() - set(tup.dims)))
                    conditions.append(f"{name} = {_exact(e)}")
            parts.append(f"{tup} : {' and '.join(conditions)}")
        return f'"{_head(params)}{{ {"; ".join(parts)} }}"'

    def spelt(self, statement: str) -> tuple[Tuple, dict[str, Aff]]:
        """The tuple of a statement with names that a text can say, and what they stand for."""
        tup = self.tuples.get(statement)
        if tup is None:
            raise BadSchedule(f"no domain or extension above has the statement {statement}")
        new = _spelt(Space(None, plain_tuple(tup)), self.params).out
        return new, {d: aff(n) for d, n in zip(tup.dims, new.dims, strict=True) if d != n}


def _on(way: Path | None, child: int) -> Path | None:
    """The way from a child on; None where it does not lead there."""
    return way[1:] if way and way[0] == child else None


def _spelt(space: Space, params: tuple[str, ...]) -> Space:
    """The space with names that a text can say, those of the statement's dimensions first."""
    if all(map(is_spelt, space.dims)):
        return space
    outputs = distinct(map(_word, space.out.dims), params)
    inputs = distinct(map(_word, space.inp.dims), (*params, *outputs)) if space.inp else ()
    return Space(space.inp and renamed(space.inp, inputs), renamed(space.out, outputs))


def _word(name: str) -> str:
    """A name that a text can say: the name itself, if it can."""
    plain = re.sub(r"[^A-Za-z0-9_.']", "", name)
    return name if is_spelt(name) else plain if is_spelt(plain) else f"i{plain}"


def _exact(e: Aff) -> str:
    """An expression, with `mod` where that reads back as the same floors."""
    text = show_aff(e)
    return text if parse_aff(text) == e else show_aff(e, FLOORS)


def _head(params: dict[str, None]) -> str:
    return f"[{', '.join(params)}] -> " if params else ""


def _quoted(r: Set | Map) -> str:
    """A relation in quotes; statements without instances stay in it."""
    params = tuple(map(_word, r.param_names))
    r = plain(r) if isinstance(r, Map) else plain(r)
    r = r._of(params, [(_spelt(space, params), pieces) for space, pieces in r.parts])
    texts = [t for part in r.parts for t in piece_texts(r._of(r.param_names, [part]), NAMED)]
    texts = [f"[] {t}".removesuffix(" :") if t.startswith(":") else t for t in texts]
    return f'"{_head(dict.fromkeys(r.param_names))}{{ {"; ".join(texts) + " " * bool(texts)}}}"'


def options_of(node: Band, depth: int) -> str:
    """isl's AST options of a band below `depth` members; "" where it has none.

    What is isolated is in the band's tuple, as isl asks: of one of another name it isolates nothing.
    """
    found = [f"{m.loop_type}[{k}]" for k, m in enumerate(node.members) if m.loop_type != "default"]
    same = node.isolate is not None
    inside = [(k, m.isolated_type or (m.loop_type if same else "default")) for k, m in enumerate(node.members)]
    found += [f"[isolate[] -> {loop_type}[{k}]]" for k, loop_type in inside if loop_type != "default"]
    if node.isolate is None:
        return f"{{ {'; '.join(found)} }}" if found else ""
    parts = []
    for space, pieces in node.isolate.parts:
        dims = space.out.dims
        inner = Space(Tuple(None, dims[:depth]), Tuple(node.name, dims[depth:]))
        parts.append((Space(None, Tuple("isolate", dims, inner)), pieces))
    text = show_relation(Set._of(tuple(map(_word, node.isolate.param_names)), parts), NAMED)
    return text[: text.rindex("}")].rstrip() + "".join(f"; {t}" for t in found) + " }"
