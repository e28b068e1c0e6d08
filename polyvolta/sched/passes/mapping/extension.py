"""Extensions: instances that the tree adds, such as copies between memories.

    BAND: S[i] → [⌊i/32⌋]                     =>      BAND: S[i] → [⌊i/32⌋]
      BAND: S[i] → [i - 32⌊i/32⌋]                       EXTENSION: [t] → copy[t, e] : 32t ≤ e ≤ 32t + 31
                                                          SEQUENCE
                                                            FILTER: copy[t, e]
                                                              BAND: copy[t, e] → [e]
                                                            FILTER: S[i]
                                                              BAND: S[i] → [i - 32⌊i/32⌋]

The instances are a function of the members of the bands above. The dependences of the schedule do not know them: that
a copy runs before what uses it is for the caller to see to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from polyvolta.sched.cases import Cases
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.passes.common.arguments import items, relation, table
from polyvolta.sched.passes.common.places import depth, inserted_at, tuples_of
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import names_of
from polyvolta.sched.tree import Band, Extension, Filter, Leaf, Member, Node, Path, Schedule, with_children
from polyvolta.sched.tree import Sequence as InOrder
from polyvolta.sets import Aff, Map, Tuple, UnknownName, aff, nearest, var
from polyvolta.sets.values.space import Space, distinct, renamed


@of_a_tree
def insert_extension(
    schedule: Schedule,
    at: Path,
    extension: Map | str,
    band: Mapping[str, Sequence[Aff | str | int]] | Node | None = None,
    before: bool = True,
) -> Schedule:
    """Add instances at a node, to run before or after what is there.

        BAND: S[i] → [i]      =>      EXTENSION: [] → copy[e] : 0 ≤ e < N
                                        SEQUENCE
                                          FILTER: copy[e]
                                            BAND: copy[e] → [e]
                                          FILTER: S[i]
                                            BAND: S[i] → [i]

    Parameters
    ----------
    extension : from the values of all members of the bands above, outermost first, to the new instances; or a text
        that says such a map.
    band : the order of the new instances: for each of their statements expressions in its dimensions, or a subtree; by
        default none, for a statement with one instance.
    before : whether they run before what arrives at the node, or after it.

    Raises
    ------
    BadPath : no such node, or the root.
    BadSchedule : the extension does not start from the members of the bands above, or adds a statement that there is;
        expressions that are not equally many.
    SetSyntaxError : a text that is no map.
    UnknownName : expressions for a statement that the extension does not add.

    Cost: linear in the tree.

    Source: isl's `isl_schedule_node_graft_before` and `graft_after`; the paper, section "Memory Promotion".

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> tree = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), Band((Member((("S", var("i")),)),))))
    >>> print(insert_extension(tree, (0,), Map("[N] -> { [] -> copy[e] : 0 <= e < N }"), {"copy": ["e"]}))
    DOMAIN: S[i] : 0 ≤ i < N
      EXTENSION: [] → copy[e] : 0 ≤ e < N
        SEQUENCE
          FILTER: copy[e]
            BAND: copy[e] → [e]
          FILTER: S[i]
            BAND: S[i] → [i]
    """
    extension = fitting(schedule, at, extension, tuples_of(schedule))
    added = names_of(extension)
    inside: Node = band if isinstance(band, Node) else _band(schedule, at, extension, {} if band is None else band)
    old = schedule.node(at)
    mine = Filter(added, inside)
    rest = old.children if isinstance(old, InOrder) else (Filter(schedule.statements_at(at), old),)
    kids = (mine, *rest) if before else (*rest, mine)
    return schedule.replace(at, Extension(extension, InOrder(kids)))


def fitting(schedule: Schedule, at: Path, extension: Map | str, present: Collection[str]) -> Map:
    """An extension that may stand at a node, its outputs called as a reader calls them.

    Parameters
    ----------
    present : the statements whose names are taken.

    Raises
    ------
    BadPath, BadSchedule, SetSyntaxError : see `insert_extension`.
    """
    inserted_at(schedule, at)
    n = depth(schedule, at)
    extension = relation(extension, Map, "an extension", '"{ [t] -> copy[t] }"')
    added = names_of(extension)
    for space, _ in extension.parts:
        if space.inp is None or space.inp.name is not None or len(added) < len(extension.parts):
            raise BadSchedule(
                f"an extension is a map from the members of bands to instances of other statements, not {space}",
                where=schedule.marked(at),
                hint="{ [t] -> copy[t] }",
            )
        if space.n_in != n:
            raise BadSchedule(
                f"the extension starts from {space.n_in} members, {n} stand above",
                where=schedule.marked(at),
                hint="the members of all bands above, outermost first, mapped ones among them",
            )
    for s in added:
        if not s or s in present:
            what = "has no name" if not s else f"is called {s}, as another one of the tree"
            raise BadSchedule(f"a statement of the extension {what}", where=schedule.marked(at))
    return as_read(extension)


def as_read(extension: Map) -> Map:
    """The same map with the outputs called what a reader calls them: a text that names an input again, as in
    `[t] -> copy[t]`, gives the output a prime. Primes that an output has for itself stay."""
    parts = []
    for space, pieces in extension.parts:
        assert space.inp is not None
        given = set(space.inp.dims)
        outputs = tuple(d.rstrip("'") if d.rstrip("'") in given else d for d in space.out.dims)
        if len({*outputs, *extension.param_names}) < len(outputs) + len(extension.param_names):
            outputs = distinct(space.out.dims, extension.param_names)
        inputs = tuple(d.rstrip("'@") + "@" for d in space.inp.dims)
        inputs = inputs if len(set(inputs)) == len(inputs) else space.inp.dims
        parts.append((Space(renamed(space.inp, inputs), renamed(space.out, outputs)), pieces))
    return Map._of(extension.param_names, parts)


def with_iterators(node: Node, old: Tuple, new: Tuple) -> Node:
    """A subtree in which a statement's iterators are called otherwise, those of what is added again below, too.

    Cost: linear in the subtree.
    """
    if old.dims == new.dims:
        return node
    table = {a: var(b) for a, b in zip(old.dims, new.dims, strict=True)}

    def called(e: Aff | Cases) -> Aff | Cases:
        one = lambda f: f.rewrite(lambda name: table.get(name) or var(name))  # noqa: E731
        return e.map(one) if isinstance(e, Cases) else one(e)

    if isinstance(node, Band):
        of = lambda m: tuple([(s, called(e) if s == old.name else e) for s, e in m.exprs])  # noqa: E731
        node = replace(node, members=tuple([replace(m, exprs=of(m)) for m in node.members]))
    elif isinstance(node, Extension):
        parts = [(replace(s, out=new if s.out == old else s.out), cs) for s, cs in node.extension.parts]
        node = replace(node, extension=Map._of(node.extension.param_names, parts))
    return with_children(node, tuple([with_iterators(child, old, new) for child in node.children]))


def _band(schedule: Schedule, at: Path, extension: Map, given: Mapping[str, Sequence[Aff | str | int]]) -> Node:
    """The band of new instances, their members as expressions."""
    added = names_of(extension)
    given = table(given, "expressions by statement", '{"copy": ["e"]}')
    for s in given:
        if s not in added:
            raise UnknownName(f"the extension adds no statement {s!r}", hint=nearest(str(s), added))
    if not given:
        return Leaf()
    exprs = {s: tuple(map(aff, items(given.get(s, ()), "expressions", '["e"]'))) for s in added}
    counts = {len(e) for e in exprs.values()}
    if len(counts) > 1:
        raise BadSchedule(
            "one band has as many members for each statement: "
            + ", ".join(f"{s} has {len(e)}" for s, e in exprs.items()),
            where=schedule.marked(at),
        )
    n = counts.pop()
    return Band(tuple(Member(tuple((s, e[k]) for s, e in exprs.items())) for k in range(n))) if n else Leaf()
