"""Reading isl's textual schedule trees.

    { domain: "[M] -> { S[i, j] : 0 <= i, j < M }", child: { schedule: "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]",
      permutable: 1, coincident: [ 1, 0 ], options: "{ separate[0]; unroll[1] }" } }

`outline` gives the mappings of the notation; here each becomes a node. Which node it is says the one key of it that
names a kind (`domain`, `context`, `schedule`, `filter`, `sequence`, `set`, `mark`, `guard`, `extension`, `contraction`,
`leaf`); the others are its attributes. Expansion nodes are taken out of the tree, unless they are asked for (see
`passes.mapping.expansion`). Sets and maps inside the strings are read by `polyvolta.sets`, and so are the expressions
of bands, which are quasi-affine or given by cases: `S[i] -> [(i)] : i < 3; S[i] -> [(2i)] : i >= 3`. A piece whose
condition holds for every instance of the statement is a single expression.

A tree names the iterators of a statement anew in every string. Here the domain's names (or the extension's that adds
the statement) hold throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TypeVar

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule, TreeSyntaxError
from polyvolta.sched.structure.check import check_structure, counted
from polyvolta.sched.structure.expansion import expanded
from polyvolta.sched.structure.reach import as_declared, expansion_of
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Expansion,
    Extension,
    Filter,
    Guard,
    Leaf,
    LoopType,
    Mark,
    Member,
    Node,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sched.views.isl_bands import cut, entries
from polyvolta.sched.views.isl_marks import noted
from polyvolta.sched.views.outline import CHILD_KEYS, Entry, Mapping, Text, mistake, outline
from polyvolta.sched.wrapped import labelled, plain_tuple
from polyvolta.sets import Aff, Map, MultiPwAff, Set, SetSyntaxError, Space, Tuple, nearest, var
from polyvolta.sets.text.parse import parse_aff

T = TypeVar("T")
BY_CASES = ("min", "max", "abs", "?", ":")  # what makes cases of an expression

KINDS = (
    "domain",
    "context",
    "schedule",
    "filter",
    "sequence",
    "set",
    "mark",
    "guard",
    "extension",
    "contraction",
    "leaf",
)
ATTRIBUTES = {"schedule": ("permutable", "coincident", "options"), "contraction": ("expansion",)}
LOOP_TYPES: dict[str, LoopType] = {"atomic": "atomic", "separate": "separate", "unroll": "unroll"}
KNOWN_OPTIONS = f"known: isolate[[...] -> [...]], {', '.join(f'{t}[k]' for t in LOOP_TYPES)}, [isolate[] -> unroll[k]]"


def parse(text: str, check: bool = True, expansions: bool = False) -> Schedule:
    """The schedule tree that a text in isl's notation says, in its flow or its block form.

    Cost: linear in the text, besides what reading the sets costs and `check_structure`.

    Parameters
    ----------
    check : whether a text that is a tree but no schedule is refused.
    expansions : whether the tree keeps its expansion nodes, and speaks of groups above them.

    >>> print(parse('domain: "{ S[i] : 0 <= i < 8 }"\\nchild:\\n  schedule: "[{ S[i] -> [(i)] }]"'))
    DOMAIN: S[i] : 0 ≤ i ≤ 7
      BAND: S[i] → [i]

    Raises
    ------
    TreeSyntaxError : the text is no tree, with the line and a caret.
    BadSchedule : the tree is no schedule; see `Schedule.check_structure`.
    """
    if not isinstance(text, str):
        raise TreeSyntaxError(f"a tree is read from a text, not from {type(text).__name__}")
    reader = _Reader(text, expansions)
    root = reader.root()
    schedule = Schedule(root if expansions else expanded(root))
    if check and isinstance(root, Domain):
        try:
            if root is not schedule.root:  # a contraction that leads elsewhere would be another order, and not be seen
                check_structure(Schedule(root), empty_bands=True)
            check_structure(schedule, empty_bands=expansions)
        except BadSchedule:
            if reader.unknown:
                raise reader.unknown[0] from None
            raise
    return schedule


def with_options(band: Band, text: str, depth: int) -> Band:
    """A band with other AST options, in isl's notation.

    Parameters
    ----------
    depth : how many members stand above the band.

    Raises
    ------
    TreeSyntaxError : the text says no options, or one that is not supported.

    >>> tree = parse('{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
    >>> with_options(tree.band((0,)), "{ unroll[0] }", 0).members[0].loop_type
    'unroll'
    """
    plain = [replace(m, loop_type="default", isolated_type=None) for m in band.members]
    members, isolate = _Reader(text, True).options(Text(text, 0), plain, depth)
    return replace(band, members=tuple(members), isolate=isolate)


class _Reader:
    """A text and what it has said so far: the tuples of the statements and their instances.

    `as_isl`: whether it may say all that isl reads: expansions and bands of no members, which stay in the tree, options
    of members that a band does not have, and a tree that is to be grafted, below an extension.
    """

    def __init__(self, text: str, as_isl: bool = False) -> None:
        self.text, self.as_isl = text, as_isl
        self.tuples: dict[str, Tuple] = {}
        self.instances: dict[str, Set] = {}
        self.unknown: list[TreeSyntaxError] = []
        self.lefts: dict[tuple[tuple[str, ...], str], Set] = {}  # the left sides of bands that were read

    def root(self) -> Node:
        mapping = outline(self.text)
        key = self.kind(mapping)
        if key.key == "extension" and self.as_isl:
            return self.node(mapping, max(s.n_in for s, _ in self.sets(key.text, Map).parts))
        if key.key != "domain":
            raise self.mistake(
                key.at, f"a tree begins with its domain, not with {key.key!r}", "{ domain: ..., child: ... }"
            )
        return self.node(mapping)

    def mistake(self, at: int, message: str, hint: str = "") -> TreeSyntaxError:
        return mistake(self.text, at, message, hint)

    def missed(self, at: int, name: str | None) -> None:
        """Remember a statement that was never declared: isl leaves those without instances out of the domain, but not
        out of bands and filters. If the tree is no schedule without it, then this was the mistake."""
        self.unknown.append(self.mistake(at, f"no statement is called {name}", nearest(str(name), self.tuples)))

    # ---- nodes

    def kind(self, mapping: Mapping) -> Entry:
        """The entry that says what node a mapping is."""
        found = None
        for entry in mapping.entries:
            if entry.key in KINDS:
                if found:
                    raise self.mistake(
                        entry.at, f"a node is a {found.key!r} or a {entry.key!r}, not both", "nest them by child:"
                    )
                found = entry
        pair = {"contraction", "expansion"}.intersection(e.key for e in mapping.entries)
        if len(pair) == 1:
            at = next(e.at for e in mapping.entries if e.key in pair)
            raise self.mistake(at, "an expansion node has a contraction and an expansion")
        if not found:
            raise self.mistake(mapping.at, "this mapping says no kind of node", "one of: " + ", ".join(KINDS))
        allowed = ATTRIBUTES.get(found.key, ()) + (() if found.key in CHILD_KEYS else ("child",))
        for entry in mapping.entries:
            if entry is not found and entry.key not in allowed:
                known = [k for k in ATTRIBUTES["schedule"] if k not in allowed]
                hint = (
                    "it belongs to a schedule" if entry.key in known else f"allowed: {', '.join(allowed) or 'nothing'}"
                )
                raise self.mistake(entry.at, f"a {found.key!r} node has no {entry.key!r}", hint)
        return found

    def node(self, mapping: Mapping, depth: int = 0) -> Node:
        """The node of a mapping below `depth` members of bands, with the children that it has."""
        entry = self.kind(mapping)
        value, said = entry.text, {e.key: e for e in mapping.entries}

        def child(depth: int) -> Node:
            below = said["child"].child if "child" in said else None
            return self.node(below, depth) if below else Leaf()

        match entry.key:
            case "leaf":
                return Leaf()
            case "sequence" | "set":
                kids = tuple(self.filtered(m, depth) for m in entry.nodes)
                return Sequence(kids) if entry.key == "sequence" else SetNode(kids)
            case "mark":
                return noted(Mark(" ".join(value.text.splitlines()), child(depth)))
            case "schedule":
                return self.band(value, said, child, depth)
            case "domain":
                domain = labelled(self.sets(value, Set))
                if self.tuples:
                    raise self.mistake(
                        entry.at, "a domain stands at the root alone", "extension: adds instances below it"
                    )
                self.declare(value, domain, [s.out for s, _ in domain.parts])
                return Domain(domain, child(depth))
            case "context":
                return Context(self.outer(value, depth), child(depth))
            case "guard":
                return Guard(self.outer(value, depth), child(depth))
            case "filter":
                return self.filter(value, child, depth)
            case "contraction":
                return self.expansion(value, said["expansion"].text, child, depth)
            case _:
                extension = labelled(self.sets(value, Map), inputs=False)
                if any(s.n_in != depth for s, _ in extension.parts):
                    raise self.mistake(value.at, f"an extension here is a map from {counted(depth, 'outer member')}")
                extension = as_declared(extension, self.tuples)
                before = dict(self.tuples), dict(self.instances)
                for s, _ in extension.parts:  # what is added again, for past filters none of it is here
                    if self.tuples.get(s.out.name or "") == s.out:
                        del self.tuples[str(s.out.name)]
                self.declare(value, extension.range(), [s.out for s, _ in extension.parts])
                node = Extension(extension, child(depth))
                self.tuples, self.instances = before
                return node

    def expansion(self, value: Text, other: Text, child: Callable[[int], Node], depth: int) -> Node:
        """An expansion, whose statements alone are declared for what stands below it."""
        contraction, expansion = labelled(self.sets(value, Map)), labelled(self.sets(other, Map))
        for space, _ in expansion.parts:
            group = space.inp and self.tuples.get(space.inp.name or "")
            if group is None or space.inp is None or group.key != space.inp.key:
                raise self.mistake(other.at, f"no statement {space.inp} comes here")
        led = expansion_of(reduce(or_, self.instances.values()), expansion) if expansion.parts else expansion.range()
        before = self.tuples, self.instances
        self.tuples, self.instances = {}, {}
        self.declare(other, led, [*{space.out.name: space.out for space, _ in expansion.parts}.values()])
        node = Expansion(contraction, expansion, child(depth))
        self.tuples, self.instances = before
        return node

    def declare(self, value: Text, instances: Set, tuples: list[Tuple]) -> None:
        every = [*self.tuples.values(), *tuples]
        for t in every if len(every) > 1 else ():  # the only statement of a tree may have no name
            if not t.name:
                wrong = f"the tuple {plain_tuple(t)} has no name"
                raise self.mistake(value.at, wrong, "a statement is written S[i, j]")
        for t in tuples:
            name = t.name or ""
            if name in self.tuples:
                raise self.mistake(value.at, f"a second statement is called {name}")
            self.tuples[name], self.instances[name] = t, instances.only(name)

    def filtered(self, mapping: Mapping, depth: int) -> Node:
        entry = self.kind(mapping)
        if entry.key != "filter":
            raise self.mistake(entry.at, f"the children of a sequence or set are filters, not a {entry.key!r}")
        return self.node(mapping, depth)

    def filter(self, value: Text, child: Callable[[int], Node], depth: int) -> Node:
        s = labelled(self.sets(value, Set))
        names: list[str] = []
        for space, _ in s.parts:
            name = space.out.name
            other = self.as_isl and name in self.tuples and space.out.key != self.tuples[name].key
            if name is None or name not in self.tuples or other:
                self.missed(value.at, name)
                continue
            if space.out.key != self.tuples[name].key:
                raise self.mistake(value.at, f"the statement is {self.tuples[name]}, not {space.out}")
            names.append(name)
        if len(names) < len(s.parts):
            s = Set._of(
                s.param_names,
                [p for p in s.parts if getattr(self.tuples.get(p[0].out.name or ""), "key", None) == p[0].out.key],
            )
        return Filter(tuple(names), child(depth), s)

    def outer(self, value: Text, depth: int) -> Set:
        """The set of a context or guard, over the members of outer bands."""
        s = self.sets(value, Set)
        for space, _ in s.parts:
            if space.out.name is not None or len(space.out.dims) != depth:
                raise self.mistake(
                    value.at,
                    f"a set over the {counted(depth, 'outer member')} is expected here, not {space.out or '[]'}",
                )
        return s

    # ---- bands

    def band(self, value: Text, said: dict[str, Entry], child: Callable[[int], Node], depth: int) -> Node:
        called, params, texts = entries(value, self.mistake)
        rows = [self.member(params, entry) for entry in texts]
        names = list(rows[0]) if rows else []
        for row in rows:
            if set(row) != set(names):
                odd = sorted(set(row) ^ set(names))[0]
                raise self.mistake(value.at, f"the members differ in their statements: {odd} is not in all of them")
        members = [Member(tuple((s, row[s]) for s in names)) for row in rows]
        flags = [self.number(f) for f in said["coincident"].flags] if "coincident" in said else [0] * len(members)
        if len(flags) != len(members):
            raise self.mistake(
                said["coincident"].text.at, f"{counted(len(flags), 'flag')} for {counted(len(members), 'member')}"
            )
        members = [replace(m, coincident=bool(f)) for m, f in zip(members, flags, strict=True)]
        isolate = None
        if "options" in said:
            members, isolate = self.options(said["options"].text, members, depth)
        below = child(depth + len(members))
        if not members and not self.as_isl:  # a band of no dimensions orders nothing
            return below
        permutable = "permutable" in said and bool(self.number(said["permutable"].text))
        return Band(tuple(members), below, permutable, isolate, called)

    def member(self, params: tuple[str, ...], piece_texts: list[Text]) -> dict[str, Aff | Cases]:
        """One dimension of a band: statement -> expression."""
        found: dict[str, dict[Aff, Set]] = {}
        head = f"[{', '.join(params)}] -> {{ "
        for piece in piece_texts:
            left, arrow, right = cut(piece, "->")
            if not arrow or not left.text.strip():
                raise self.mistake(piece.at, "expected 'S[i, j] -> [(expression)]'")
            known = (params, left.text.strip())
            if known not in self.lefts:
                self.lefts[known] = labelled(self.sets(left, Set, head, " }"))
            here = self.lefts[known].space.out
            name = here.name
            if name is None or name not in self.tuples:
                self.missed(left.at, name)
                continue
            own = self.tuples[name]
            if own.key != here.key:
                raise self.mistake(left.at, f"the statement is {own}, not {here}")
            names = (*params, *here.dims)
            for e, when in self.pieces(known, piece, right, names, head):
                taken = found.setdefault(name, {})
                clash = sorted(set(params) & (set(here.dims) | set(own.dims) & e.names()))
                if clash:
                    raise self.mistake(left.at, f"{clash[0]} is a parameter and an iterator")
                e = e.rewrite(_renaming(here, own))
                taken[e] = taken[e] | when if e in taken else when
        return {name: self.joined(piece_texts, name, pieces) for name, pieces in found.items()}

    def pieces(
        self, known: tuple[tuple[str, ...], str], piece: Text, right: Text, names: tuple[str, ...], head: str
    ) -> list[tuple[Aff, Set]]:
        """The expressions that a piece has, and the instances each is for."""
        value, colon, _ = cut(right, ":")
        if not any(word in value.text for word in BY_CASES):
            e = self.expression(value, names)
            return [(e, labelled(self.sets(piece, Map, head, " }").domain()) if colon else self.lefts[known])]
        text = right.strip().text
        whole = Text(f"{piece.text[: piece.text.index('->')]}-> {text if text[:1] == '[' else f'[{text}]'}", piece.at)
        found = self.sets(whole, MultiPwAff, head, " }")
        return [(e, labelled(when)) for when, (e,) in found.pieces]

    def joined(self, texts: list[Text], name: str, pieces: dict[Aff, Set]) -> Aff | Cases:
        """The expression for a statement: a single one where one is enough."""
        own, instances = self.tuples[name], self.instances[name]
        at = next((p.at for p in texts if p.text.lstrip().startswith(name)), texts[0].at)
        for e, when in pieces.items():
            if instances.is_subset(when):
                return e
        cases = [(Set._of(s.param_names, [(Space(None, own), cs) for _, cs in s.parts]), e) for e, s in pieces.items()]
        left = instances
        for k, (when, _) in enumerate(cases):
            if any(not when.is_disjoint(other & instances) for other, _ in cases[:k]):
                raise self.mistake(at, f"two expressions for an instance of {name}: {'; '.join(map(str, pieces))}")
            left = left - when
        if not left.is_empty():
            raise self.mistake(at, f"the expression for {name or plain_tuple(own)} does not cover its instances")
        return Cases(tuple(cases))

    def expression(self, value: Text, names: tuple[str, ...]) -> Aff:
        """`[(e)]`, `[e]` or `(e)`."""
        inner = value.strip()
        if inner.text[:1] == "[" and inner.text[-1:] == "]":
            inner = Text(inner.text[1:-1], inner.at + 1)
        if not inner.text.strip():
            raise self.mistake(value.at, "expected an expression")
        try:
            return parse_aff(inner.text, names)
        except SetSyntaxError as wrong:
            raise self.mistake(inner.at + wrong.at, wrong.message, wrong.hint) from None

    def options(self, value: Text, members: list[Member], depth: int) -> tuple[list[Member], Set | None]:
        """isl's AST options: what code is generated for each member, and what is isolated."""
        isolate = None
        types: dict[int, LoopType] = {}
        inside: dict[int, LoopType] = {}
        for space, pieces in (s := self.sets(value, Set)).parts:
            out, one = space.out, Set._of(s.param_names, [(space, pieces)])
            inner = out.inner
            if inner is None or inner.inp is None:
                self.typed(value, types, len(members), out, one)
            elif out.name == "isolate":
                if (len(inner.inp.dims), len(inner.out.dims)) != (depth, len(members)):
                    raise self.mistake(
                        value.at,
                        f"isolate relates {counted(depth, 'outer member')} to the {len(members)} of the band here",
                    )
                isolate = one.rename(None).flatten()
            elif out.name is None and inner.inp.name == "isolate" and not inner.inp.dims:
                self.typed(value, inside, len(members), inner.out, one.unwrap().range())
            else:
                raise self.mistake(value.at, f"the option {out} is not supported", KNOWN_OPTIONS)
        members = [replace(m, loop_type=types.get(k, "default")) for k, m in enumerate(members)]
        other = None if isolate is None else "default"  # what is isolated has types of its own
        members = [replace(m, isolated_type=inside.get(k, other)) for k, m in enumerate(members)]
        return members, isolate

    def typed(self, value: Text, types: dict[int, LoopType], n: int, option: Tuple, said: Set) -> None:
        """Note the loop type that `option` gives the members whose numbers are in a set."""
        if option.name not in LOOP_TYPES or option.inner is not None or len(option.dims) != 1:
            raise self.mistake(value.at, f"the option {option} is not supported", KNOWN_OPTIONS)
        if said.is_empty():  # an option that is said of nothing
            return
        chosen = [k for k in range(n) if not said.fix({0: k}).is_empty()]
        if not chosen and not self.as_isl:
            raise self.mistake(value.at, f"{option.name} is said of no member: the band has {n}, the first is 0")
        for k in chosen:
            if types.setdefault(k, LOOP_TYPES[option.name]) != option.name:
                raise self.mistake(value.at, f"member {k} is to be both {types[k]} and {option.name}")

    # ---- values

    def sets(self, value: Text, kind: Callable[[str], T], head: str = "", tail: str = "") -> T:
        """A set or map from a text, whose mistakes are shown in the tree's."""
        try:
            return kind(head + value.text + tail)
        except SetSyntaxError as wrong:
            at = value.at + min(max(wrong.at - len(head), 0), len(value.text))
            raise self.mistake(at, wrong.message, wrong.hint) from None

    def number(self, value: Text) -> int:
        if value.text.strip() not in ("0", "1"):
            raise self.mistake(value.at, f"expected 0 or 1, not {value.text.strip()!r}")
        return int(value.text)


def _renaming(here: Tuple, own: Tuple) -> Callable[[str], Aff]:
    table = {a: var(b) for a, b in zip(here.dims, own.dims, strict=True)}
    return lambda name: table.get(name) or var(name)
