"""Tilings worth weighing, legal and with registers enough: what the model ranks.

Of warpgroups: one to three of them below each other, each with 64 or 128 rows and 16 to 256 columns of the result, the
rows along either of its sides; as many buffers as fit; alone, two or three blocks beside each other, persistent, taking
turns, in clusters of two, with K split over two to eight blocks. Of warps: one to eight of them, side by side or with K
split among them, each with some tens of rows and columns. A tiling with too few registers, for which the compiler would
spill, is none of them, whatever else speaks for it.

Options that are given bind: then there are those around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.needs import Needs, family_of
from polyvolta.compiler.rule import warpgroups
from polyvolta.compiler.rule.problems import fits
from polyvolta.compiler.rule.values import SPLITS
from polyvolta.compiler.tiling import FEWEST_BUFFERS, Tile, Tiling, chunks_of, farthest
from polyvolta.cuda.target.instruction import WARPGROUP

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target
    from polyvolta.cuda.target.warpgroup import Family

MOST_BUFFERS = 8
MOST_GROUPS = 3
"""Warpgroups that multiply at a tile: more have too few registers each."""
ROWS = (64, 128, 192, 256)
"""Of a block of warpgroups, by the macro-MMA's rows."""
WARP_GRIDS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 4), (4, 2))
"""Warps of a block along its rows and columns."""
WARP_ROWS, WARP_COLS = (16, 32, 48, 64, 80, 96, 112), (32, 64, 96, 128)
DEPTHS = (32, 64)
TALL = 2
"""Macro-MMAs along the rows of a warpgroup's tile, at most."""
Mode = dict[str, Any]
_ONE_TILE: tuple[Mode, ...] = tuple({"occupancy": n} for n in (1, 2, 3))
_LASTING: tuple[Mode, ...] = tuple({"persistent": True, "occupancy": n} for n in (1, 2))
_SPLIT: tuple[Mode, ...] = tuple({"split_k": p} for p in SPLITS[1:])
_TOGETHER: tuple[Mode, ...] = tuple({"cluster": c, "persistent": p} for c in ((2, 1), (1, 2)) for p in (False, True))
_IN_TURN: tuple[Mode, ...] = ({"persistent": True, "pingpong": True},)


def candidates(needs: Needs, target: Target, given: Mapping[str, Any] | None = None) -> tuple[Tiling, ...]:
    """What is worth weighing for a graph on a target, whatever its sizes: legal, and as options given want it.

    Of warpgroups where the target has some, and they do what the graph asks for, else of warps.

    Parameters
    ----------
    given : values of options by name.

    Cost: some 20 µs for each of some thousand, once for each kind of graph.

    >>> from polyvolta.cuda.target.registry import targets
    >>> {t.block_tile for t in candidates(Needs(), targets["sm_90a"], {"block_tile": (128, 256, 64)})}
    {(128, 256, 64)}
    """
    asked = replace(needs, sizes=(None, None, 0), longest=None, extents=())
    return _candidates(asked, target.of_kind(needs.kind), frozenset((given or {}).items()))


@lru_cache(maxsize=256)
def _candidates(needs: Needs, target: Target, fixed: frozenset[tuple[str, Any]]) -> tuple[Tiling, ...]:
    given, family = dict(fixed), family_of(target)
    asked = given.get("macro_mma")
    if family is not None and asked is not None and asked not in family.names:
        family = None
    if family is not None and any(needs.beyond_warpgroups(family)):
        family = None
    made = _of_warpgroups(given, needs, target, family) if family is not None else _of_warps(given, needs, target)
    found = (t for t in made if all(getattr(t, name) == value for name, value in given.items()))
    return tuple(dict.fromkeys(t for t in found if fits(t, target, needs)))


def _of_warpgroups(given: Mapping[str, Any], needs: Needs, target: Target, family: Family) -> Iterator[Tiling]:
    columns = warpgroups.storable(family)
    for swap in (False, True):
        if given.get("swap", swap) != swap:
            continue
        own = needs.turned if swap else needs
        left, right = (any(pair[side] for pair in own.prologues) for side in (0, 1))
        depth = family.block_tile[2]
        for block in _sides(given, swap, columns, (depth, 2 * depth) if left else (depth,)):
            for warp, sets in product(_of_one_maker(given, swap, block, family), (2, 1) if left else (1,)):
                macro = given.get("macro_mma") or (family.of(warp[1]).name if warp[1] in columns else None)
                if macro is None or right and not _shared_out(block, warp):
                    continue
                plain = Tiling(block, warp, macro, 1, FEWEST_BUFFERS, given.get("partial", "guard"),
                               given.get("accumulators", "auto"), 1, sets,
                               given.get("group", target.group),
                               dependent_launch=given.get("dependent_launch", target.dependent_launch))  # fmt: skip
                for mode in _modes(plain):
                    tiling = replace(plain, **mode)
                    tiling = tiling if not swap else tiling.turned
                    if all(getattr(tiling, name) == given[name] for name in mode.keys() & given.keys()):
                        yield from _with_buffers(tiling, given, needs, target)


def _sides(given: Mapping[str, Any], swap: bool, columns: list[int], depths: tuple[int, ...]) -> Iterator[Tile]:
    """Block tiles by the macro-MMA's rows and columns."""
    if "block_tile" in given:
        m, n, k = given["block_tile"]
        yield (n, m, k) if swap else (m, n, k)
    elif "warp_tile" in given:
        m, n, k = given["warp_tile"]
        for high in range(1, MOST_GROUPS + 1):
            yield (n * high, m, k) if swap else (m * high, n, k)
    else:
        yield from product(ROWS, columns, depths)


def _of_one_maker(given: Mapping[str, Any], swap: bool, block: Tile, family: Family) -> Iterator[Tile]:
    """Tiles of a warpgroup that divide a block's, likewise: below each other, and that of the whole block."""
    if "warp_tile" in given:
        m, n, k = given["warp_tile"]
        yield (n, m, k) if swap else (m, n, k)
        return
    high = family.of(family.columns[0]).shape[0]
    for groups in range(1, MOST_GROUPS + 1):
        if block[0] % (high * groups) == 0 and block[0] // groups <= TALL * high:
            yield block[0] // groups, *block[1:]


def _shared_out(block: Tile, warp: Tile) -> bool:
    """Whether the threads that multiply have equal parts of a right operand that they write back, in chunks of 8."""
    threads = WARPGROUP.threads * (block[0] // warp[0]) * (block[1] // warp[1])
    return block[1] * block[2] // 8 % threads == 0


def _modes(tiling: Tiling) -> Iterator[Mode]:
    """How blocks of a tiling can be launched, and work together."""
    yield from (*_ONE_TILE, *_LASTING, *_SPLIT, *_TOGETHER)
    if tiling.warps[:2] == (1, 1):
        yield from _IN_TURN


def _with_buffers(tiling: Tiling, given: Mapping[str, Any], needs: Needs, target: Target) -> Iterator[Tiling]:
    """With as many buffers as fit, if two do, and if registers are enough; and with as many as leave room for the
    matrices that an epilogue reads, which threads load otherwise."""
    if warpgroups.lacks(tiling.mapped, needs.turned if tiling.swap else needs, target):
        return
    asked = given.get("buffers", given["prefetch"] + 1 if "prefetch" in given else None)
    stage = tiling.tile_bytes(target, needs) // tiling.buffers
    most = min(MOST_BUFFERS, tiling.shared_limit(target) // stage)
    found = False
    for buffers in range(most, FEWEST_BUFFERS - 1, -1) if asked is None else (asked,):
        made = replace(tiling, buffers=buffers, prefetch=buffers - 1)
        fits = made.shared_bytes(needs, target) <= made.shared_limit(target)
        whole = not needs.matrices or made.boxes_operands(needs, target)
        if fits and (whole or not found):
            yield made
            found = True
        if fits and (whole or made.split_k > 1):
            return


def _of_warps(given: Mapping[str, Any], needs: Needs, target: Target) -> Iterator[Tiling]:
    names = [m.name for m in target.macro_mmas if set(needs.layouts) <= set(m.layouts)]
    names = [given["macro_mma"]] if "macro_mma" in given else names[:2]
    for name in (n for n in names if n in target.macro_names):
        macro = target.macro_mma(name)
        mm, mn, mk = macro.shape
        for (down, across), y, x, k, split in product(WARP_GRIDS, WARP_ROWS, WARP_COLS, DEPTHS, SPLITS[:3]):
            if y % mm or x % mn or k % mk or not 2 <= down * across * split <= 8:
                continue
            block, warp = (down * y, across * x, k), (y, x, k)
            if any(given.get(n, tile) != tile for n, tile in (("block_tile", block), ("warp_tile", warp))):
                continue
            plain = Tiling(block, warp, name, split, 1, given.get("partial", "guard"),
                           given.get("accumulators", "auto"), 0, 1, given.get("group", target.group),
                           dependent_launch=given.get("dependent_launch", target.dependent_launch))  # fmt: skip
            turns = target.fragments if (k // mk) % target.fragments == 0 else 1
            for occupancy in (1, 2, 3, 4):
                yield from _ring_of_warps(replace(plain, fragments=given.get("fragments", turns),
                                                  occupancy=occupancy), given, needs, target)  # fmt: skip


def _ring_of_warps(tiling: Tiling, given: Mapping[str, Any], needs: Needs, target: Target) -> Iterator[Tiling]:
    """With as many buffers as fit, up to two more than the target's, if registers are enough."""
    block, warp, split = tiling.block_tile, tiling.warp_tile, tiling.split_k
    threads = tiling.threads_on(target)
    room = min(target.registers, target.block_registers // (threads * tiling.occupancy))
    chunks = chunks_of(block, warp, split) if target.copies else (0, 0)
    if tiling.registers(needs, target) + needs.spare_registers(target, chunks) > room:
        return
    most = target.buffers + 2 if target.copies else 2
    for buffers in range(most, 0, -1) if "buffers" not in given else (given["buffers"],):
        made = replace(tiling, buffers=buffers, prefetch=given.get("prefetch", farthest(buffers, bool(target.copies))))
        if made.shared_bytes(needs, target) <= made.shared_limit(target):
            yield made
            return
