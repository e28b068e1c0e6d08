"""Products that read the same: with one loop over k what they have in common is brought once.

In `relu(A @ B) * (A @ Q)` both products read A, each tile at the same time if they go along k together. Products of
one loop stand one behind the other and have sums of one length; each has an operand in common with some of them. What
they have in common is counted as a target has it: where left operands go to registers before anything is computed,
`relu(A) @ B` reads the tile that `A @ Q` reads, and where a right operand is computed in its place it doesn't.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from polyvolta.graph.functions.formula import Input
from polyvolta.graph.plans.plans import Contraction, Operand


@dataclass(frozen=True, slots=True)
class Shared:
    """What a tile of a loop consists of.

    Parameters
    ----------
    lefts, rights : tiles of left operands, and of right ones.
    computed : how many left ones are computed on the way, each in registers of its own.
    rewritten : whether a right one is computed, in its place.
    """

    lefts: int = 1
    rights: int = 1
    computed: int = 0
    rewritten: bool = False


def shared_loops(contractions: Sequence[Contraction], turned: bool = False) -> tuple[tuple[Contraction, ...], ...]:
    """The products of each loop.

    Parameters
    ----------
    turned : of the transposed product, whose left operand is the right one's transpose.

    >>> import polyvolta as pv
    >>> from polyvolta.graph.dag import Graph
    >>> from polyvolta.graph.plans.idioms import plan
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B, P, Q = (pv.tensor(n, s) for n, s in zip("ABPQ", [(M, K), (K, N)] * 2))
    >>> found = plan(Graph.of(pv.relu(A @ B) * (A @ Q) + pv.tanh(P @ B)))
    >>> [[c.statement.name for c in loop] for loop in shared_loops(found.contractions)]
    [['S1', 'S2', 'S3']]
    >>> shared(shared_loops(found.contractions)[0])
    Shared(lefts=2, rights=2, computed=0, rewritten=False)
    """
    loops: list[list[Contraction]] = []
    for c in contractions:
        own = set(_tiles(c, turned))
        if loops and loops[-1][0].statement.extents[2] == c.statement.extents[2]:
            if not own.isdisjoint(tile for other in loops[-1] for tile in _tiles(other, turned)):
                loops[-1].append(c)
                continue
        loops.append([c])
    return tuple(map(tuple, loops))


def shared(loop: Sequence[Contraction], turned: bool = False) -> Shared:
    """What a tile of a loop consists of; parameters as of `shared_loops`."""
    tiles = {tile for c in loop for tile in _tiles(c, turned)}
    lefts = sum(side == "left" for side, _ in tiles)
    pairs = [(c.right, c.left) if turned else (c.left, c.right) for c in loop]
    computed = {_read(a, c) + _made(a) for (a, _), c in zip(pairs, loop, strict=True) if is_computed(a)}
    return Shared(lefts, len(tiles) - lefts, len(computed), any(is_computed(b) for _, b in pairs))


def _tiles(c: Contraction, turned: bool) -> Iterator[tuple[str, Hashable]]:
    """What says which tiles a product reads: those of two products are the same where this is."""
    left, right = (c.right, c.left) if turned else (c.left, c.right)
    yield "left", _read(left, c)
    yield "right", _read(right, c) + _made(right)


def _read(operand: Operand, c: Contraction) -> tuple[Hashable, ...]:
    """The elements that an operand reads, by places of the statement's iterators."""
    places = {name: n for n, name in enumerate(c.statement.iterators)}
    return (operand.layout, *((a.tensor, tuple(places.get(i, i) for i in a.index)) for a in operand.accesses))


def _made(operand: Operand) -> tuple[Hashable, ...]:
    """What is computed of them."""
    return operand.formula, operand.scalars


def is_computed(operand: Operand) -> bool:
    """Whether an operand is computed on the way: it is no tensor as it is."""
    return operand.formula != Input(0) or len(operand.accesses) != 1
