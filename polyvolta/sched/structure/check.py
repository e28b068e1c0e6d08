"""Whether a tree is a schedule at all.

`check_structure` refuses trees that leave an instance without a place or give it two. The passes keep these laws; trees
written by hand or by other programs may not.
"""

from __future__ import annotations

from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.example import example
from polyvolta.sched.nodes import (
    Band,
    Context,
    Domain,
    Expansion,
    Extension,
    Filter,
    Guard,
    Node,
    Path,
    Sequence,
    SetNode,
    relations,
)
from polyvolta.sched.structure.reach import expansion_of, names_of, of_groups, passed
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Map, Set, Tuple, nearest
from polyvolta.sets.conjuncts.conjunct import uses
from polyvolta.sets.errors import kind_of


def counted(n: int, what: str) -> str:
    """How many there are, for a message.

    >>> counted(1, "member"), counted(0, "member")
    ('1 member', '0 members')
    """
    return f"{n} {what}{'s' * (n != 1)}"


def check_structure(schedule: Schedule, empty_bands: bool = False) -> None:
    """Refuse a tree that is no schedule; see `Schedule.check_structure`.

    Parameters
    ----------
    empty_bands : whether bands without members, which order nothing and which isl has, may stand in it.

    A filter that is no child of a sequence or set narrows on purpose (PPCG's say which instances a thread runs), so
    what it drops is not missed; nor is what a child drops for some values of parameters that it alone speaks of, as isl
    writes such a filter with that of the child around it.

    Cost: linear in the tree, and a subtraction for each filter that has a set.
    """
    _Check(schedule, empty_bands).node(schedule.root, (), Set._of((), []), {}, 0)


class _Check:
    def __init__(self, schedule: Schedule, empty_bands: bool) -> None:
        self.schedule, self.empty_bands = schedule, empty_bands
        self.iterators: set[str] = set()  # of any statement
        self.params: set[str] = set()
        for _, node in schedule.walk():
            for r in relations(node):
                self.params |= set(r.param_names)
                if isinstance(node, Domain | Filter | Extension | Expansion):
                    self.iterators |= {d for s, _ in r.parts for d in s.out.dims}

    def bad(self, at: Path, message: str, hint: str = "") -> BadSchedule:
        return BadSchedule(message, where=self.schedule.marked(at), hint=hint)

    def node(self, node: Node, at: Path, instances: Set, tuples: dict[str, Tuple], depth: int) -> None:
        match node:
            case Domain(domain):
                if at:
                    raise self.bad(at, "a domain stands at the root alone", "an Extension adds instances below it")
                instances, tuples = domain, self.declared(at, [s.out for s, _ in domain.parts], {})
            case _ if not at:
                raise self.bad(at, f"the root is {kind_of(node)}; a tree begins with its domain")
            case Context(s) | Guard(s):
                self.fits(at, s, depth, f"a {type(node).__name__.lower()}")
            case Filter():
                self.filter(at, node, tuples)
                instances = passed(instances, node)
            case Sequence() | SetNode():
                self.children(at, node, instances, tuples)
            case Extension(extension):
                for space, _ in extension.parts:
                    if space.inp is None or space.inp.name is not None or len(space.inp.dims) != depth:
                        raise self.bad(
                            at, f"an extension here is a map from the {counted(depth, 'member')} above, not {space}"
                        )
                new = [s.out for s, _ in extension.parts]
                again = {t.name for t in new if tuples.get(str(t.name)) == t}  # past filters
                again = {s for s in again if instances.only(s).is_empty()}
                tuples = self.declared(at, new, {s: t for s, t in tuples.items() if s not in again})
                instances = instances | extension.range()
            case Expansion(contraction, expansion):
                instances, tuples = self.expansion(at, contraction, expansion, instances, tuples)
            case Band():
                self.band(at, node, instances, tuples, depth)
                depth += len(node.members)
        for k, child in enumerate(node.children):
            self.node(child, (*at, k), instances, tuples, depth)

    def expansion(
        self, at: Path, contraction: Map, expansion: Map, groups: Set, tuples: dict[str, Tuple]
    ) -> tuple[Set, dict[str, Tuple]]:
        """The instances below an expansion and their tuples."""
        for space, _ in expansion.parts:
            own = tuples.get(str(space.inp and space.inp.name))
            if own is None or space.inp is None or own.key != space.inp.key:
                raise self.bad(at, f"no statement {space.inp} comes here")
        here = expansion_of(groups, expansion)
        back = of_groups(contraction.reverse(), names_of(groups)).reverse()
        back = back.intersect_domain(here) if back.parts and here.parts else back
        fits = back.is_single_valued() and here.is_subset(back.domain())
        led = of_groups(expansion, names_of(groups))  # groups that do not come here stand for nothing
        if here.parts and not (fits and back.is_equal(led.intersect_domain(groups).reverse())):
            raise self.bad(at, "the contraction is no function that leads back along the expansion")
        return here, self.declared(at, [*{s.out.name: s.out for s, _ in expansion.parts}.values()], {})

    def declared(self, at: Path, new: list[Tuple], tuples: dict[str, Tuple]) -> dict[str, Tuple]:
        tuples = dict(tuples)
        for t in new:
            if t.name is None:
                raise self.bad(at, f"the tuple {t} has no name", "a statement is written S[i, j]")
            if t.name in tuples:
                raise self.bad(at, f"a second statement is called {t.name}")
            tuples[t.name] = t
        return tuples

    def fits(self, at: Path, s: Set, depth: int, what: str) -> None:
        for space, _ in s.parts:
            if space.out.name is not None or len(space.out.dims) != depth:
                raise self.bad(
                    at,
                    f"{what} here is a set over the {counted(depth, 'member')} above, not over {space.out}",
                    "{ [c0, c1] : ... }",
                )

    def filter(self, at: Path, node: Filter, tuples: dict[str, Tuple]) -> None:
        if len(set(node.statements)) < len(node.statements):
            raise self.bad(at, "the filter names a statement twice")
        for s in node.statements:
            if s not in tuples:
                raise self.bad(at, f"no statement is called {s}", nearest(s, tuples))
        for space, _ in node.instances.parts if node.instances is not None else ():
            if space.out.name not in node.statements:
                raise self.bad(at, f"the filter's set has {space.out}, which is none of its statements")
            if space.out.key != tuples[space.out.name].key:
                raise self.bad(at, f"the statement is {tuples[space.out.name]}, not {space.out}")

    def children(self, at: Path, node: Sequence | SetNode, instances: Set, tuples: dict[str, Tuple]) -> None:
        """The filters below a sequence or set share the instances out among them."""
        what = "sequence" if isinstance(node, Sequence) else "set"
        if not node.children:
            raise self.bad(at, f"a {what} without children")
        for k, child in enumerate(node.children):
            if not isinstance(child, Filter):
                raise self.bad((*at, k), f"the children of a {what} are filters, not {kind_of(child)}")
            self.filter((*at, k), child, tuples)
        for s in names_of(instances):
            left, own = instances.only(s), []
            of_left = [c for _, cs in left.parts for c in cs]  # others, as an extension's, may speak of more
            named = {p for k, p in enumerate(left.param_names) if any(uses(c, k) for c in of_left)}
            for k, child in enumerate(node.children):
                if not isinstance(child, Filter) or s not in child.statements:
                    continue
                one = passed(instances, child).only(s)
                if not (twice := one - left).is_empty():
                    raise self.bad((*at, k), f"the filters overlap: {example(twice)} is in an earlier one too")
                left = left - one
                if new := [p for p in one.param_names if p not in named]:
                    own.append((one, new))
            for one, new in own if not left.is_empty() else ():
                left = left - one.project_out_param(*new)
            if not left.is_empty():
                raise self.bad(at, f"no child of the {what} has {example(left)}", "every instance needs a place")

    def band(self, at: Path, node: Band, instances: Set, tuples: dict[str, Tuple], depth: int) -> None:
        if not node.members and not self.empty_bands:
            raise self.bad(at, "a band without members")
        for k, m in enumerate(node.members):
            table = dict(m.exprs)
            if len(table) < len(m.exprs):
                raise self.bad(at, f"member {k} has two expressions for a statement")
            for s in names_of(instances):
                if s not in table and not instances.only(s).is_empty():
                    raise self.bad(at, f"member {k} of the band has no expression for {s}", "every statement needs one")
            for s, e in m.exprs:
                if s not in tuples:
                    raise self.bad(at, f"no statement is called {s}", nearest(s, tuples))
                own = tuples[s].dims
                wrong = sorted(e.names() & (self.iterators - self.params - set(own)))
                if wrong:
                    raise self.bad(at, f"{wrong[0]} is no iterator of {tuples[s]}", nearest(wrong[0], own))
        if node.isolate is not None:
            self.fits(at, node.isolate, depth + len(node.members), "an isolated part")
