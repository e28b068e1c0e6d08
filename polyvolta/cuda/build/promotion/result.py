"""The result of a block: its fragments, and accumulators that start at 0.

The statements that promotion adds for the result are *twins* of it: their instances are the base points of the
macro-MMA's fragments in every started block tile, at the same places of the schedule. Accumulator fragments are arrays
of registers, one array for each accumulator of the plan; products of one sum share theirs, scaled between one product
and the next where their factors differ. What happens to them at last is in `epilogue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from polyvolta.cuda.build.promotion.footprints import data_tile, full_where, instances, numbered
from polyvolta.cuda.build.promotion.model import BLOCK, STRIP, TILE, WARP, Movement, Nest, Piece, accumulator_name
from polyvolta.cuda.build.promotion.nests import NAMES, beside, conjunction, level, members_of, started_with
from polyvolta.cuda.ir.kernel_ir import Element, Op, RegisterArray, Scale, Zero
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.plans.plans import Plan
from polyvolta.sched.nodes import Band, Leaf, Member, Node
from polyvolta.sets import Aff, Map, Set, Tuple, aff, var
from polyvolta.sets.values.simplify import simplify
from polyvolta.sets.values.space import Space, distinct


@dataclass(frozen=True, slots=True)
class Fragments:
    """The fragments of a block's result: one instance for each.

    Parameters
    ----------
    nest : the schedule of the result's elements, without what concerns K.
    place : which fragment of its warp an instance is about, by rows and columns.
    counts : how many a warp has, by rows and columns.
    shape : rows and columns of one.
    started : all elements of started block tiles.
    points : the base points of fragments, anywhere.
    full : conditions on the block tile under which it is inside of the result.
    """

    nest: Nest
    place: tuple[Aff, ...]
    counts: tuple[int, ...]
    shape: tuple[int, ...]
    started: Set
    points: Set
    full: tuple[Aff, ...]


def fragments_of(nest: Nest, extents: Sequence[Aff], shape: tuple[int, ...], context: Set) -> Fragments:
    """The fragments of the result of a statement.

    Parameters
    ----------
    nest : of a product or of a pointwise statement; its first two iterators are the result's.
    extents : of the result, rows and columns.
    shape : (m, n, ...) of the macro-MMA.

    Cost: a few milliseconds, a box hull and a difference of small sets.
    """
    result = result_nest(nest, extents, context)
    box = data_tile(result, STRIP, result.iterators, "the result")
    members = dict(level(result, STRIP))
    inner = (simplify((var(i) - o.subs(members)) // f, {}) for i, o, f in zip(result.iterators, box.offset, shape))
    found = [numbered(result, i, e, s // f) for i, e, s, f in zip(result.iterators, inner, box.size, shape)]
    full = tuple(e.subs(members) for e in full_where(result, BLOCK, result.iterators, context))
    place, counts = zip(*found, strict=True)
    return Fragments(result, place, counts, shape[:2], beside(result.padded, context), _points(result, shape), full)


def _points(nest: Nest, shape: Sequence[int]) -> Set:
    """The base points of fragments of a shape."""
    params, space = nest.padded.param_names, nest.padded.space
    grid = [("eq", var(i) - f * (var(i) // f)) for i, f in zip(nest.iterators, shape)]
    return Set._of(params, [(space, conjunction((*params, *nest.iterators), grid))])


def coarser(fragments: Fragments, columns: int) -> Fragments:
    """Fragments side by side taken together: an instance for each that begins at so many columns.

    Their `place` stays that of the first fragment.
    """
    shape = (fragments.shape[0], columns)
    return replace(fragments, shape=shape, points=_points(fragments.nest, shape))


def result_nest(nest: Nest, extents: Sequence[Aff], context: Set) -> Nest:
    """The schedule of a result's elements: that of a statement with nothing in it but the first two iterators."""
    iterators = nest.iterators[:2]
    params = nest.real.param_names
    name = nest.statement
    exprs = [m.of(name) for m in nest.members]
    exprs = [e if e.names() <= {*iterators, *params} and e.names() & {*iterators} else aff(0) for e in exprs]
    members = tuple(replace(m, exprs=((name, e),)) for m, e in zip(nest.members, exprs))
    names = tuple(n if e.names() else None for n, e in zip(nest.names, exprs))
    box = [b for i, e in zip(iterators, extents) for b in (("ge", var(i)), ("ge", e - 1 - var(i)))]
    space = Space(None, Tuple(name, iterators))
    real = Set._of(params, [(space, conjunction((*params, *iterators), box))]).intersect_params(context)
    made = Nest(name, iterators, members, names, real, real, nest.cluster)
    above = members_of(made, started_with(made, BLOCK))
    padded = real.apply(above).apply(above.reverse())
    return made if padded.is_subset(real) else replace(made, padded=padded)


def enters(fragments: Fragments, statement: str) -> Map:
    """{ [by, bx] -> statement[fragment's base point] }: the extension that adds a twin."""
    nest = fragments.nest
    params, space = nest.real.param_names, Tuple(statement, nest.iterators)
    exprs = [m.of(nest.statement) for m in nest.members[: nest.depth(BLOCK)]]
    inputs = distinct(NAMES[BLOCK], (*params, *nest.iterators))
    pieces = conjunction((*params, *inputs, *nest.iterators), [("eq", var(b) - e) for b, e in zip(inputs, exprs)])
    members = Map._of(params, [(Space(Tuple(None, inputs), Tuple(nest.statement, nest.iterators)), pieces)])
    blocks = fragments.started.apply(members.reverse())
    there = members.intersect_domain(blocks).intersect_range(fragments.points)
    ((_, pieces),) = there.parts
    return Map._of(there.param_names, [(Space(Tuple(None, inputs), space), pieces)])


def twins_of(fragments: Fragments, statement: str) -> Set:
    """The instances of a twin."""
    instances = fragments.started & fragments.points
    return Set._of(instances.param_names, [(Space(None, Tuple(statement, s.out.dims)), c) for s, c in instances.parts])


# ---- accumulators


def zero(fragments: Fragments, accumulator: str, statement: str, where: Set | None = None) -> Piece:
    """The accumulators of an array start at 0; for some sizes alone, if they are told."""
    op = Zero(Element(accumulator_name(accumulator), fragments.place), statement)
    piece = _one(fragments, statement, op, "the accumulators start at 0")
    if where is None:
        return piece
    return replace(piece, extensions=tuple(e.intersect_params(where) for e in piece.extensions))


def scale(fragments: Fragments, accumulator: str, factor: float, statement: str) -> Piece:
    """The accumulators of an array are multiplied by a number."""
    op = Scale(Element(accumulator_name(accumulator), fragments.place), factor, statement)
    return _one(fragments, statement, op, f"the accumulators times {factor:g}")


def accumulators(fragments: Fragments, plan: Plan, macro: MacroMma) -> tuple[RegisterArray, ...]:
    """The accumulator arrays of a plan."""
    names = dict.fromkeys(accumulator_name(c.accumulator) for c in plan.contractions)
    return tuple(RegisterArray(n, "float", fragments.counts, macro.values[2]) for n in names)


def _one(fragments: Fragments, statement: str, op: Op, phrase: str) -> Piece:
    """A piece of one statement, over the fragments of all warps."""
    movement = Movement(statement, fragments.nest.iterators, (op,), (), phrase)
    return Piece(
        (statement,), over_fragments(fragments, (statement,), Leaf()), (enters(fragments, statement),), (movement,)
    )


def over_fragments(
    fragments: Fragments,
    statements: Sequence[str],
    child: Node,
    own: Mapping[str, Nest] = MappingProxyType({}),
    share: Member | None = None,
) -> Node:
    """BAND of the warps, BAND of a warp's fragments, for twins of the result and pointwise statements of the tree.

    The members that say nothing of the result's elements have one value here, and are left out.

    Parameters
    ----------
    own : the nests of those that are the tree's; the others are twins.
    share : a member between the two, of blocks that have some of a warp's fragments each.
    """
    nest = fragments.nest

    def member(k: int) -> Member:
        m = nest.members[k]
        exprs = ((s, own[s].members[k].of(s) if s in own else m.of(nest.statement)) for s in statements)
        return Member(tuple(exprs), True, m.name, m.name is None, level=m.level)

    says = [k for k, m in enumerate(nest.members) if m.of(nest.statement).names()]
    warps, points = ([k for k in says if k in part] for part in (nest.between(TILE, WARP), nest.below(WARP)))
    inner = Band(tuple(map(member, points)), child)
    inner = inner if share is None else Band((share,), inner)
    return Band(tuple(map(member, warps)), inner) if warps else inner


def once(fragments: Fragments, op: Op, context: Set, who: str = "") -> Piece:
    """What is done once between two pieces, as by a barrier; by who has 0 for a number of that name, or by all."""
    nest, statement = fragments.nest, op.statement
    named = level(nest, BLOCK)
    dims = tuple(n for n, _ in named)
    blocks = fragments.started.apply(members_of(nest, named)).coalesce()
    extension = instances(statement, dims, nest.above(BLOCK), blocks, (), context)
    node: Node = Band((Member(((statement, aff(0)),), True, who),)) if who else Leaf()
    return Piece((statement,), node, (extension,), (Movement(statement, dims, (op,)),))
