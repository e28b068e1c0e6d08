"""What stays a symbol in a proof, and what becomes numbers.

A block's threads are few and each is different: `linearId` and the names computed from it are enumerated, as arrays. So
are the variables of unrolled loops, and of loops of a few trips. Sizes, `blockIdx.*` and the variables of loops over k
tiles have any number of values and stay symbols, about which the kernel says a little. An index is then a symbolic
part, the same for all threads, and numbers: 128*blockIdx.y + 32*c2, and 0 .. 127.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import gcd

import numpy as np

from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Loop, Tiles
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.verify.engine.conditions import Condition
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, aff, var

FEW = 8  # trips of a loop that is run in numbers though it isn't unrolled
BLOCKS = tuple(f"blockIdx.{axis}" for axis in "xyz")


def thread_numbers(ir: KernelIR) -> Mapping[str, np.ndarray]:
    """The names that differ between the threads of a block, each an int64 array [warp, 32]."""
    shape = (ir.warps, LANES)
    found: dict[str, np.ndarray] = {"linearId": np.arange(ir.threads, dtype=np.int64).reshape(shape)}
    for name, e in ir.derived:
        found[name] = np.broadcast_to(np.asarray(e.evaluate(found), np.int64), shape)  # type: ignore[arg-type]
    return found


def of_sizes(ir: KernelIR) -> list[Aff]:
    """What the kernel requires of its sizes, each `e >= 0`."""
    known = [var(n) - low for n in ir.sizes if (low := ir.ranges.get(n, (0, None))[0]) is not None]
    return known + [-(var(n) % m) for n, m in ir.context]


def of_grid(ir: KernelIR) -> list[Aff]:
    """That a block is in the grid, each `e >= 0`."""
    return [e for b, n in zip(BLOCKS, ir.grid, strict=True) for e in (var(b), n - 1 - var(b))]


def loops_over_tiles(ir: KernelIR) -> tuple[Tiles, ...]:
    """The loops over a block's tiles, of a kernel whose blocks compute several."""
    return tuple(s for _, s in walk(ir.body) if isinstance(s, Tiles)) if ir.resident else ()


def tile_names(ir: KernelIR) -> tuple[str, ...]:
    """The names of a tile's number and of what is counted over the tiles before."""
    return tuple(dict.fromkeys(n for s in loops_over_tiles(ir) for n in (s.turn, *(n for n, _ in s.counters))))


def all_blocks(ir: KernelIR, variables: tuple[str, ...] = ()) -> Condition:
    """All sizes that the kernel takes, and all blocks of their grids, or all places and any number of tiles before; of
    some variables more nothing is known."""
    tiles = tile_names(ir)
    still = [-var(n) for s in loops_over_tiles(ir) for n, e in s.counters if e == aff(0)]
    known = frozenset([*of_sizes(ir), *of_grid(ir), *map(var, tiles), *still])
    return Condition((*ir.sizes, *BLOCKS, *tiles, *variables), (known,))


def trips(loop: Loop, lower: Sequence[Aff], upper: Sequence[Aff]) -> range | None:
    """The values of a loop's variable, if the loop is run in numbers: an unrolled one, and one of a few trips that sums
    nothing, as it fills a ring before the loop over k tiles. Else it stays a symbol.

    Parameters
    ----------
    lower, upper : the loop's bounds, with the values of the loops around.
    """
    if not upper or not all(e.is_constant for e in (*lower, *upper)):
        return None
    found = range(max(e.const for e in lower), min(e.const for e in upper) + 1, loop.step)
    few = len(found) <= FEW and not any(op.product is not None for op in operations(loop.body))
    return found if loop.unroll or few else None


def parts(e: Aff, numeric: Collection[str]) -> tuple[Aff, Aff]:
    """An expression as the part in numeric names, with the constant, and the rest.

    What is a multiple of a floor's divisor has left the floor already.

    >>> own, symbolic = parts((128 * var("b") + var("t")) // 4 + 1, {"t"})
    >>> print(own, "and", symbolic)
    floor(t/4) + 1 and 32*b

    Raises
    ------
    Undecided : a floor or an exclusive-or that can't be taken apart.
    """
    own, symbolic = Aff((), e.const), aff(0)
    for atom, c in e.terms:
        term = Aff(((atom, 1),))
        inside = [n in numeric for n in term.names()]
        if all(inside):
            own = own + c * term
        elif not any(inside):
            symbolic = symbolic + c * term
        else:
            raise Undecided(f"an index mixes threads and sizes: {term}", where=str(e))
    return own, symbolic


def known_multiple(e: Aff, ir: KernelIR) -> int:
    """A number of which a symbolic expression is a multiple whatever its names are; 0 for 0.

    >>> from types import SimpleNamespace
    >>> known_multiple(32 * var("c2") + 8 * var("M"), SimpleNamespace(context=(("M", 64),)))
    32
    """
    sizes = dict(ir.context)
    return gcd(e.const, *[c * (sizes.get(atom, 1) if isinstance(atom, str) else 1) for atom, c in e.terms])
