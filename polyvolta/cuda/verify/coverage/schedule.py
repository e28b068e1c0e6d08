"""The tree: dependences in order, and macro tiles that partition the instances.

What a graph computes is said by its statements alone, in scalar instances. The kernel's tree orders macro instances:
one stands for the 16 x 16 x 8 products, say, of a macro-MMA. Two things are to be shown, both for all sizes.

*Partition.* Each scalar instance is in the tile of exactly one macro instance: tiles of different ones share none, and
together they hold the statement's whole domain. A tile may reach beyond the domain, or lie beyond it altogether, so
that warps do whole tiles: what it has there are no instances.

*Dependences.* They are computed anew from the statements' accesses, between scalar instances. A scalar instance runs
when the macro instance of its tile does: with 16*floor(i/16) in place of i, every band of the tree gives it a time. So
the tree is walked down with the pairs of scalar instances, but for those of one tile, which an instruction does as one.
In a member mapped to blocks or warps, iterations run at once, and no pair may be apart.

One liberty is there. A sum over k, `C = C + a b`, may be made in any order, and in parts, if the parts are added: so
pairs of a product's instances with itself need not be in one part of a split k, as long as the kernel adds as many
parts as there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import cast

from polyvolta.cuda.ir.kernel_ir import KernelIR, Wgmma
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.graph.statements import Statement
from polyvolta.sched.cases import Cases
from polyvolta.sched.dependence import Dependence, dependences
from polyvolta.sched.example import small_point
from polyvolta.sched.legality import violations
from polyvolta.sched.tree import Band, Domain, Filter, Node, Schedule, with_children
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple

Stages = Mapping[str, Schedule]
Factors = Mapping[str, tuple[int, ...]]  # of each statement, by iterator
PART = "warpIdx_z", "blockIdx.z"  # the index of a split k's part: of a warp, or of a block in its cluster


def tile_sizes(ir: KernelIR, graph: Graph) -> Factors:
    """The extents of each statement's macro tile, by iterator: those of the kernel's macro-MMA.

    Other statements have those of an element of its accumulators; of a warpgroup's product that is a part of its
    columns.

    Raises
    ------
    NoMeaning : the kernel has no matrix product.
    """
    shapes = {op.statement: op.product.shape for op in operations(ir.body) if op.product is not None}
    if not shapes:
        raise NoMeaning("the kernel has no matrix product, and no macro tiles")
    m, n, depth = next(iter(shapes.values()))
    elements = next((len(op.d) for op in operations(ir.body) if isinstance(op, Wgmma)), 1)
    first = m, n // elements, depth
    return {s.name: shapes.get(s.name, first)[: len(s.iterators)] for s in graph.statements}


def known(ir: KernelIR) -> Set:
    """What is known of the sizes, a set without dimensions."""
    facts = [("ge", var(n) - (ir.ranges.get(n, (0, None))[0] or 0)) for n in ir.sizes]
    facts += [("eq", var(n) % m) for n, m in ir.context]
    found = RowBuilder(ir.sizes).conjunct(facts)
    return Set._of(ir.sizes, [(Space(None, Tuple(None, ())), () if found is None else (found,))])


def last(stages: Stages) -> tuple[str, Schedule]:
    """The last stage: its name and its tree."""
    return list(stages.items())[-1]


# ---- partition


def partition(ir: KernelIR, graph: Graph, stages: Stages) -> Verdict:
    """Whether the macro tiles of the contracted tree, and of the last one, partition every statement's domain.

    Raises
    ------
    NoMeaning : the kernel has no matrix product.

    Cost: a few emptiness tests for each statement.
    """
    factors, context = tile_sizes(ir, graph), known(ir)
    found: CounterExample | None = None
    told = []
    trees = [t for t in (stages.get("contracted"), last(stages)[1]) if t is not None]
    for s in graph.statements:
        whole = s.domain.align_params(ir.sizes).intersect_params(context)
        sizes = factors[s.name]
        for tree in trees:
            macro = tree.domain.only(s.name).align_params(ir.sizes).intersect_params(context)
            found = found or _misfit(s, whole, macro, sizes)
        shape = " x ".join(map(str, sizes))
        told.append(f"{trees[-1].domain.only(s.name)} stand for tiles of {shape} of {s.domain}")
    shapes = " and ".join(dict.fromkeys(" x ".join(map(str, factors[s.name])) for s in graph.statements))
    statement = (
        f"the macro tiles of {shapes} partition the instances of {', '.join(s.name for s in graph.statements)}: each "
        "instance is in exactly one tile; what a tile has beyond the domain are no instances"
    )
    return Verdict(statement, "; ".join(told), found)


def _misfit(s: Statement, whole: Set, macro: Set, sizes: tuple[int, ...]) -> CounterExample | None:
    """An instance in no tile, or in two; a macro instance that isn't the base point of a tile."""
    missed = whole - macro.apply(_tiles(macro, sizes))
    if not missed.is_empty():
        return _case(f"no macro tile of {s.name} has the instance", missed)
    dims = macro.space.out.dims
    for k, d in enumerate(dims):
        twice = _near(macro, sizes, k)
        if not twice.is_empty():
            return _case(f"two macro tiles of {s.name} overlap, apart along {d}; the first one starts at", twice)
    return None


def _tiles(macro: Set, sizes: tuple[int, ...]) -> Map:
    """Macro instances -> the points of their tiles, instances or not."""
    dims = macro.space.out.dims
    inside = tuple(f"{d}'" for d in dims)
    rows = []
    for d, e, size in zip(dims, inside, sizes, strict=True):
        rows += [("ge", var(e) - var(d)), ("ge", var(d) + (size - 1) - var(e))]
    box = RowBuilder((*macro.param_names, *dims, *inside)).conjunct(rows)
    space = Space(macro.space.out, Tuple(macro.space.out.name, inside))
    return Map._of(macro.param_names, [(space, () if box is None else (box,))])


def _near(macro: Set, sizes: tuple[int, ...], k: int) -> Set:
    """The macro instances for which there is another one, further along dimension k, whose tile overlaps theirs."""
    dims = macro.space.out.dims
    other = tuple(f"{d}'" for d in dims)
    rows = []
    for n, (d, e, size) in enumerate(zip(dims, other, sizes, strict=True)):
        ahead = var(e) - var(d)
        rows += [("ge", ahead - 1 if n == k else ahead + size - 1), ("ge", size - 1 - ahead)]
    box = RowBuilder((*macro.param_names, *dims, *other)).conjunct(rows)
    space = Space(macro.space.out, Tuple(macro.space.out.name, other))
    near = Map._of(macro.param_names, [(space, () if box is None else (box,))])
    return near.intersect_domain(macro).intersect_range(macro).domain()


def _case(what: str, instances: Set) -> CounterExample:
    """A counter-example of which an instance is to be shown."""
    space, pieces = next((s, cs) for s, cs in instances.parts if any(not c.is_empty for c in cs))
    point = small_point(c for c in pieces if not c.is_empty)
    n = len(instances.param_names)
    values = dict(zip(instances.param_names, point[:n], strict=True))
    instance = f"{space.out.name}[{', '.join(map(str, point[n:]))}]"
    return CounterExample(f"{what} {instance}", values, address=instance)


# ---- dependences


def dependences_kept(ir: KernelIR, graph: Graph, stages: Stages) -> Verdict:
    """Whether the contracted tree, and the last one, run every two dependent instances in order.

    Raises
    ------
    NoMeaning : the kernel has no matrix product.

    Cost: that of the dependences, and of the walk down each tree: two emptiness tests for a dependence and member.
    """
    factors, context = tile_sizes(ir, graph), known(ir)
    found = [replace(d, relation=_apart(d, factors)) for d in dependences(graph.statements)]
    parts = _parts(ir)
    case: CounterExample | None = None
    final, _ = last(stages)
    for name in dict.fromkeys((final, "contracted")):
        tree = stages.get(name)
        if tree is None or case is not None:
            continue
        demanded = [replace(d, relation=_one_part(d, tree, graph, factors, parts)) for d in found]
        demanded = [d for d in demanded if not d.relation.is_empty()]
        scalar = of_instances(tree, graph, factors)
        wrong = next(violations(scalar, demanded, context), None)
        if wrong is not None:
            case = CounterExample(
                f"in the {name} tree {wrong}", dict(wrong.params), node=wrong.at if name == final else None
            )
        case = case or next((c for d in demanded if (c := _between_warps(d, scalar, context, parts)) is not None), None)
    kinds = [d for d in found if not d.relation.is_empty()]
    statement = (
        f"the last tree runs the {len(kinds)} dependences of the graph's statements in order, "
        "two dependent instances of different macro tiles one after the other and in one block"
    )
    if parts > 1:
        statement += f"; sums over k are made in {parts} parts, which the kernel adds: a sum is associative"
    return Verdict(statement, "; ".join(str(d) for d in kinds) or "no two instances depend on one another", case)


def _between_warps(d: Dependence, tree: Schedule, context: Set, parts: int) -> CounterExample | None:
    """A pair of two statements in different warps or blocks: registers don't lead from one to another.

    What the parts of a split k sum up for themselves does come together, through shared memory.
    """
    at = {s: _mapped(tree, s) for s in (d.source, d.sink)}
    for name in at[d.source].keys() & at[d.sink].keys() if d.source != d.sink else ():
        if name in PART and parts > 1:
            continue
        space = d.relation.space
        assert space.inp is not None
        xs, ys = space.inp.dims, tuple(f"{y}#" for y in space.out.dims)
        first, second = (tree.domain.only(s).space.out.dims for s in (d.source, d.sink))
        there = at[d.sink][name].subs(dict(zip(second, map(var, ys), strict=True)))
        here = at[d.source][name].subs(dict(zip(first, map(var, xs), strict=True)))
        names = (*d.relation.param_names, *xs, *ys)
        pieces = [RowBuilder(names).conjunct([("ge", sign * (there - here) - 1)]) for sign in (1, -1)]
        apart = Space(Tuple(space.inp.name, xs), Tuple(space.out.name, ys))
        pairs = d.relation & Map._of(d.relation.param_names, [(apart, tuple(c for c in pieces if c is not None))])
        pairs = pairs.intersect_params(context)
        if not pairs.is_empty():
            return _case(f"{d.sink} takes {d.array} over in another {name} than it is left in by", pairs.domain())
    return None


def _mapped(tree: Schedule, statement: str) -> dict[str, Aff]:
    """The indices that a statement's instances are mapped to."""
    members = (m for at in tree.bands() for m in tree.band(at).members)
    return {m.name: m.of(statement) for m in members if m.name is not None and statement in dict(m.exprs)}


def _apart(d: Dependence, factors: Factors) -> Map:
    """The pairs of a dependence without those of one macro tile."""
    if d.source != d.sink:
        return d.relation
    space = d.relation.space
    assert space.inp is not None
    xs = space.inp.dims
    ys = tuple(f"{x}#" for x in xs)
    same = [("eq", var(y) // f - var(x) // f) for x, y, f in zip(xs, ys, factors[d.source], strict=True)]
    tile = RowBuilder((*d.relation.param_names, *xs, *ys)).conjunct(same)
    pairs = Space(Tuple(space.inp.name, xs), Tuple(space.out.name, ys))
    return d.relation - Map._of(d.relation.param_names, [(pairs, () if tile is None else (tile,))])


def _parts(ir: KernelIR) -> int:
    """Into how many parts k may be split: as many as every exchange adds."""
    counts = []
    for op in operations(ir.body):
        parts = [a.array for a in op.accesses(ir) if a.space == "shared" and a.places is not None and not a.writes]
        counts += Counter(parts).values()
    return min(counts, default=1)


def _one_part(d: Dependence, tree: Schedule, graph: Graph, factors: Factors, parts: int) -> Map:
    """The pairs of a dependence without those in different parts of a sum that the kernel adds up."""
    statement = next(s for s in graph.statements if s.name == d.source)
    if d.source != d.sink or parts == 1 or not (statement.is_matmul and d.array == statement.write.tensor):
        return d.relation
    sizes = factors[d.source]
    members = [m for at in tree.bands() for m in tree.band(at).members if m.name in PART and d.source in dict(m.exprs)]
    relation = d.relation
    for m in members:
        part = _of_tile(m.of(d.source), statement.iterators, sizes)
        space = relation.space
        assert space.inp is not None
        xs, ys = space.inp.dims, tuple(f"{x}#" for x in space.inp.dims)
        two = [part.subs(dict(zip(statement.iterators, map(var, names), strict=True))) for names in (xs, ys)]
        in_range = [row for p in two for row in (("ge", p), ("ge", parts - 1 - p))]
        builders = [RowBuilder((*relation.param_names, *xs, *ys)) for _ in range(2)]
        pieces = [b.conjunct([("ge", s * (two[1] - two[0]) - 1), *in_range]) for b, s in zip(builders, (1, -1))]
        pairs = Space(Tuple(space.inp.name, xs), Tuple(space.out.name, ys))
        relation = relation - Map._of(relation.param_names, [(pairs, tuple(c for c in pieces if c is not None))])
    return relation


def _of_tile(e: Aff, iterators: tuple[str, ...], sizes: tuple[int, ...]) -> Aff:
    """An expression of a macro instance, as one of any instance of its tile.

    >>> print(_of_tile(var("k") // 32, ("k",), (8,)), _of_tile(var("k") % 8, ("k",), (8,)))
    floor(k/32) 0
    """
    return e.subs({n: f * (var(n) // f) for n, f in zip(iterators, sizes, strict=True)})


def of_instances(tree: Schedule, graph: Graph, factors: Factors) -> Schedule:
    """The tree of scalar instances, each of which runs when the macro instance of its tile does.

    Statements that the tree adds, copies and barriers, are left out of its bands.

    Raises
    ------
    Undecided : a filter that tells instances of a statement apart.
    """
    statements = {s.name: s for s in graph.statements}
    iterators = {name: tree.domain.only(name).space.out.dims for name in statements}

    def time(name: str, e: Aff | Cases) -> Aff:
        own = cast("Aff", e).subs(dict(zip(iterators[name], map(var, statements[name].iterators), strict=True)))
        return _of_tile(own, statements[name].iterators, factors[name])

    def scalar(node: Node) -> Node:
        if isinstance(node, Filter) and node.instances is not None:
            raise Undecided("a filter lets some instances of a statement through, as no stage makes one")
        if isinstance(node, Band):
            members = tuple(
                replace(m, exprs=tuple((n, time(n, e)) for n, e in m.exprs if n in statements)) for m in node.members
            )
            node = replace(node, members=members, isolate=None)
        return with_children(node, tuple(scalar(c) for c in node.children))

    root = tree.root
    assert isinstance(root, Domain)
    params = tree.domain.param_names
    parts = [p for s in graph.statements for p in s.domain.align_params((*params, *_more(s, params))).parts]
    whole = Set._of(tuple(dict.fromkeys((*params, *graph.params))), parts) if parts else tree.domain
    return Schedule(replace(root, domain=whole, child=scalar(root.child)))


def _more(s: Statement, params: tuple[str, ...]) -> Iterator[str]:
    yield from (p for p in s.domain.param_names if p not in params)


Prover = Callable[[KernelIR, Graph, Stages], Verdict]
PROVERS: dict[str, Prover] = {"dependences": dependences_kept, "partition": partition}
"""Proof -> the function that decides it."""
