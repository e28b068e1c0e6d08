"""Which options a kernel gets: what a graph needs, every combination that is legal, and the ones chosen by rule.

Whoever compiles gives all options, some or none. The rule chooses the others; what is given binds it:

Where a target has products of warpgroups, and the graph suits them, `warpgroups` chooses, unless a macro-MMA of warps
is given; what else is given has to suit them then. Else:

1. *Macro-MMA*: of the target's that take the operands' layouts and divide the tiles given, the one whose fragment loads
   are the widest; the target's first one of several.
2. *Block tile*: the target's (128x128x32), what one multiprocessor computes from few loads. A known size that a side
   exceeds twofold halves that side, down to the macro-MMA's; then the longer side is halved, down to half of the
   target's, while there would be fewer blocks than multiprocessors. A size that is not known counts as large. Beside a
   warp tile given, sides are multiples of its sides, and the depth is its depth.
3. *Split K*: by 4 or 2 where blocks are so few that even one for each part would not outnumber the multiprocessors,
   as long as K is known to have at least four steps for each part and the block at most 8 warps.
4. *Warp tile*: the largest of at most the target's side (64x64) with which accumulators, fragments, and what one
   product at a time loads ahead leave the compiler the registers it needs for addresses (`Target.spare`). Several
   accumulators or operands of a prologue so make it smaller; where no warp tile does, the block tile's longer side is
   halved.

As many buffers as the target wants, fit and have a k tile to hold, copies as far ahead as the buffers allow, two sets
of fragments where the target has them and strips can take turns, guarded edges, accumulators that are shared where
possible, rows of the result along the macro-MMA's and the target's order of blocks are not weighed up. If every choice
leaves too few registers, the legal one is taken that lacks the fewest; if none is legal, `complete` says what to
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from polyvolta.compiler.model.candidates import candidates
from polyvolta.compiler.needs import Needs, family_of, needs_of
from polyvolta.compiler.rule import warpgroups
from polyvolta.compiler.rule.blocks import blocks, count
from polyvolta.compiler.rule.problems import demands, fits, misfits, too_far, unsuited
from polyvolta.compiler.rule.values import SPLITS
from polyvolta.compiler.tiling import Tile, Tiling, chunks_of, farthest, registers, turned_options
from polyvolta.cuda.arch import runs_on
from polyvolta.cuda.layouts.fragments import narrowest_access
from polyvolta.cuda.target.instruction import LANES
from polyvolta.cuda.target.macro_mma import Composition
from polyvolta.cuda.target.registry import require, targets
from polyvolta.cuda.target.target import Target
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.sets import nearest

TILES = (16, 32, 64, 128, 256)
OF_BOXES = frozenset({"persistent", "pingpong", "cluster"})
"""Options of kernels whose tiles come by boxes."""


def tilings(graph: Graph, target: Target) -> Iterator[Tiling]:
    """See `Options.space`."""
    needs = needs_of(plan(graph))
    require(target, needs.layouts, needs.kind)
    target = target.of_kind(needs.kind)
    names = [m.name for m in target.macro_mmas if set(needs.layouts) <= set(m.layouts)]
    rings = range(2, 7) if target.copies else (1, 2)
    for name, m, n, k, y, x in product(names, TILES, TILES, TILES, TILES, TILES):
        if y > m or x > n:
            continue
        for p, b, f in product(SPLITS, rings, range(1, target.fragments + 1)):
            ahead = farthest(b, bool(target.copies)) if target.copies else 1
            options = Tiling((m, n, k), (y, x, k), name, p, b, "guard", "auto", ahead, f, target.group,
                             dependent_launch=target.dependent_launch)  # fmt: skip
            if fits(options, target, needs):
                yield options
    left, listed = any(a for a, _ in needs.prologues), set()
    for options in warpgroups.space(target, TILES):
        if left:  # computed in registers, which take turns
            options = replace(options, fragments=2)
        if fits(options, target, needs):
            listed.add(options)
            yield options
    if target.families:
        more = (options for options in candidates(needs, target) if options.by_blocks(target))
        yield from (options for options in more if options not in listed)


def remedy(given: Mapping[str, Any], needs: Needs, target: Target) -> str:
    """Values that work: for each option given one that goes with the others, or for all together."""
    macro = given.get("macro_mma")
    if macro is not None and not target.has(macro):
        return _macros(macro, target)

    def works(kept: Mapping[str, Any]) -> Tiling | None:
        found = choose(kept, needs, target)
        return found if fits(found, target, needs) else None

    singly = {name: works({n: v for n, v in given.items() if n != name}) for name in given}
    changes = [f"{name}={getattr(found, name)!r}" for name, found in singly.items() if found is not None]
    elsewhere = _elsewhere(given, needs, target)
    if changes:
        return f"try {', or '.join(changes)}{elsewhere}"
    found = works({})
    if found is None:
        return _without_tiles(needs, target)
    changes = [f"{n}={getattr(found, n)!r}" for n, v in given.items() if getattr(found, n) != v]
    return f"try {', '.join(changes)} together{elsewhere}"


def _macros(name: str, target: Target) -> str:
    """Which of a target's macro-MMAs has the nearest name, or all, and which targets have the one asked for.

    >>> print(_macros("m64n256k16", targets["sm_80"]))
    did you mean 'm16n32k16'? sm_90a has m64n256k16
    >>> print(_macros("m64n250k16", targets["sm_90a"]), _macros("mma", targets["sm_90a"]))
    did you mean 'm64n256k16'? known: m16n32k16, m16n16k16, m16n16k8, m64nNk16 with N = 16, 32, ..., 256
    """
    own, wide = list(target.macro_names), []
    for family in target.families:
        columns = warpgroups.storable(family)
        wide += [family.of(n).name for n in columns]
        own.append(f"{family.title} with N = {columns[0]}, {columns[1]}, ..., {columns[-1]}")
    near = nearest(name, (*target.macro_names, *wide))
    near = near if near.startswith("did") else f"known: {', '.join(own)};"
    if having := [t.name for t in targets.values() if t.has(name)]:
        return f"{near} {', '.join(having)} {'have' if len(having) > 1 else 'has'} {name}"
    return near.removesuffix(";")


def _elsewhere(given: Mapping[str, Any], needs: Needs, target: Target) -> str:
    """Of what is given for warpgroups, and they don't do, the newest target whose warps do it on the same GPUs."""
    family = warpgroups.family_with(given.get("macro_mma"), target)
    others = [t for t in targets.values() if not t.families and runs_on(t.name, target.name)]
    if family is None:
        return _of_later(given, needs, target)
    if not others:
        return ""
    kept = {n: v for n, v in given.items() if n != "macro_mma"}
    other = others[-1]
    if not fits(choose(kept, needs, other), other, needs):
        return ""
    return f", or target={other.name!r}, whose warps do that" + (" without macro_mma" if len(kept) < len(given) else "")


def _of_later(given: Mapping[str, Any], needs: Needs, target: Target) -> str:
    """Of what is given for boxes, or for launches, that a target doesn't have, a target that does all of it."""
    if target.families or not (OF_BOXES | {"dependent_launch"}) & given.keys():
        return ""
    others = (t.of_kind(needs.kind) for t in targets.values() if t.families and needs.kind in t.kinds)
    for other in others:
        if fits(choose(given, needs, other), other, needs):
            return f", or target={other.name!r}, which does that"
    return ""


def _without_tiles(needs: Needs, target: Target) -> str:
    """What to change where the rule finds no tiles for layouts that a macro-MMA takes.

    The least that a block can be is one warp with one macro-MMA. If that fits, it is told; if it doesn't even for a
    plain product, the target is too small.
    """
    ahead = farthest(1, bool(target.copies))
    least = [Tiling(m.shape, m.shape, m.name, 1, 1, "guard", "auto", ahead) for m in target.macro_mmas]
    least = [tiling for tiling in least if set(needs.layouts) <= set(target.macro_mma(tiling.macro_mma).layouts)]
    for tiling in least:
        if fits(tiling, target, needs):
            tile = tiling.block_tile
            return f"try block_tile={tile}, warp_tile={tile}, macro_mma={tiling.macro_mma!r} together"
    plain = Needs(layouts=needs.layouts)
    if any(fits(tiling, target, plain) for tiling in least):
        return "there are too many accumulators for any tile: try several kernels"
    tiling = min(least, key=lambda t: _excess(t, plain, target))
    asked = demands(tiling, target, plain)
    lacking = [f"{need} {what}, and it has {limit}" for what, need, limit in asked if need > limit]
    return f"{target.name} is too small for any product: even one warp with one {tiling.macro_mma} needs " \
           f"{'; '.join(lacking)}"


def choose(given: Mapping[str, Any], needs: Needs, target: Target) -> Tiling:
    """The rule's options around those given; the nearest to legal ones where there are none: if there are some with
    which a block fits alone, of these.

    Parameters
    ----------
    given : values by name, each of which makes sense on its own.

    Cost: some 100 µs, a few ms where nothing fits.
    """
    if given.get("swap"):
        return choose(turned_options(given), needs.turned, target).turned
    asked = given.get("macro_mma")
    if (of_warpgroups := _of_warpgroups(given, needs, target)) is not None:
        return of_warpgroups
    macro = target.macro_mma(asked) if asked and target.has(asked) else _macro_mma(given, needs, target)
    assert not isinstance(macro, WarpgroupMma)  # whose tilings were tried above
    name = asked or macro.name  # one that the target doesn't have is a problem of the tiling
    words = given.get("partial", "guard"), given.get("accumulators", "auto")
    early = given.get("dependent_launch", target.dependent_launch)
    lasting = given.get("persistent", False), given.get("pingpong", False)
    launched = given.get("group", target.group), given.get("occupancy", 1), early, *lasting
    cluster = given.get("cluster", (1, 1))
    tried = []
    for roomy in (True, False):
        for block, split, (buffers, ahead), turns in _tiles(given, needs, macro, target, roomy):
            for warp in _warps(given, block, macro, split, needs, target, roomy, turns):
                options = Tiling(block, warp, name, split, buffers, *words, ahead, turns, *launched, cluster=cluster)
                small = "split_k" in given or split == 1 or options.threads_on(target) <= 256
                if small and fits(options, target, needs):
                    return options
                tried.append(options)
    return _nearest(tried, needs, target)


def _of_warpgroups(given: Mapping[str, Any], needs: Needs, target: Target) -> Tiling | None:
    """The rule's options for products of warpgroups; None where the target has none, or others are to be taken."""
    asked = given.get("macro_mma")
    beyond = any(needs.beyond_warpgroups(family_of(target)))
    if warpgroups.family_with(asked, target) is None or asked is None and beyond:
        return None
    found, tried = _first(warpgroups.tilings(given, needs, target), needs, target)
    if found is None and asked is None and _first(warpgroups.tilings({}, needs, target), needs, target)[0] is None:
        return None  # not for what was given
    return found or _nearest(tried, needs, target)


def _first(tilings: Iterator[Tiling], needs: Needs, target: Target) -> tuple[Tiling | None, list[Tiling]]:
    """The first legal one, and those before."""
    tried: list[Tiling] = []
    for options in tilings:
        if fits(options, target, needs):
            return options, tried
        tried.append(options)
    return None, tried


def _nearest(tried: list[Tiling], needs: Needs, target: Target) -> Tiling:
    """The nearest to legal ones: if there are some with which a block fits alone, of these."""
    return min(tried, key=lambda o: (_excess(replace(o, occupancy=1), needs, target)[0] > 1, _excess(o, needs, target)))


def _tiles(
    given: Mapping[str, Any], needs: Needs, macro: Composition, target: Target, roomy: bool
) -> Iterator[tuple[Tile, int, tuple[int, int], int]]:
    """Block tiles, splits of K, rings and sets of fragments to try, best first."""
    for block in blocks(given, needs, macro.shape, target.block_tile, target.multiprocessors):
        for split in _splits(given, block, needs, target.multiprocessors):
            trips = None if needs.longest is None else -(-needs.longest // (block[2] * split))
            for ring, turns in product(_rings(given, target, roomy, trips), _turns(given, block, macro, target)):
                yield block, split, ring, turns


def _rings(
    given: Mapping[str, Any], target: Target, roomy: bool = True, trips: int | None = None
) -> Iterator[tuple[int, int]]:
    """Buffers and how many tiles ahead copies run: the target's, and fewer where these do not fit, copies as far ahead
    as the buffers allow; beside a distance given as few buffers as that takes.

    Parameters
    ----------
    roomy : without a single buffer where more are of use: smaller tiles go before that.
    trips : k tiles of the longest sum, None: not known. More buffers than these are of no use.

    >>> from polyvolta.cuda.target.registry import targets
    >>> volta, ampere = targets["sm_70"], targets["sm_80"]
    >>> [list(_rings(given, volta)) for given in ({}, {"buffers": 4}, {"prefetch": 3}, {"prefetch": 0})]
    [[(1, 1)], [(4, 3)], [(4, 3)], [(1, 0)]]
    >>> list(_rings({}, ampere)), list(_rings({}, ampere, roomy=False))
    ([(3, 2), (2, 1)], [(3, 2), (2, 1), (1, 0)])
    >>> [list(_rings({}, ampere, trips=n)) for n in (0, 1, 2)]
    [[(1, 0)], [(1, 0)], [(2, 1)]]
    """
    alone = farthest(1, bool(target.copies))
    if "buffers" in given:
        numbers = [given["buffers"]]
    elif "prefetch" in given:
        numbers = [given["prefetch"] + 1 if given["prefetch"] > alone else 1]
    else:
        most = target.buffers if trips is None else max(1, min(target.buffers, trips))
        numbers = [b for b in range(most, 0, -1) if b > 1 or not roomy or most == 1]
    for b in numbers:
        yield b, given.get("prefetch", farthest(b, bool(target.copies)))


def _turns(given: Mapping[str, Any], block: Tile, macro: Composition, target: Target) -> list[int]:
    """Sets of fragments: those given; else the target's where strips can take turns, and one where they leave too few
    registers."""
    if "fragments" in given:
        return [given["fragments"]]
    return [n for n in range(target.fragments, 0, -1) if block[2] // macro.shape[2] % n == 0]


def _excess(options: Tiling, needs: Needs, target: Target) -> list[float]:
    """The ratios of what the options need to what the target has of it, largest first; infinite if tiles don't fit."""
    if not target.has(options.macro_mma):
        return [float("inf")]
    shape = options.extents(target.macro_mma(options.macro_mma))
    if any(misfits(options, shape)) or any(too_far(options, bool(target.copies))):
        return [float("inf")]
    if any(unsuited(options, target.macro_mma(options.macro_mma), needs)):
        return [float("inf")]
    ratios = (need / limit if limit else float("inf") for _, need, limit in demands(options, target, needs))
    return sorted(ratios, reverse=True)


def _macro_mma(given: Mapping[str, Any], needs: Needs, target: Target) -> Composition:
    """The macro-MMA for the operands' layouts, of those that divide the tiles given if any does."""
    tiles = [given[name] for name in ("block_tile", "warp_tile") if name in given]
    taking = [m for m in target.macro_mmas if set(needs.layouts) <= set(m.layouts)] or list(target.macro_mmas)
    fitting = [m for m in taking if not any(side % s for tile in tiles for side, s in zip(tile, m.shape))]
    return max(fitting or taking[:1], key=lambda m: min(narrowest_access(m, *pair) for pair in needs.layouts))


def _splits(given: Mapping[str, Any], block: Tile, needs: Needs, most: int) -> Iterator[int]:
    """The splits of K to try: the one given, or the largest first and 1 at last.

    Parameters
    ----------
    most : how many parts all blocks together may have.
    """
    rows, cols, depth = needs.sizes
    if "split_k" not in given and rows is not None and cols is not None:
        for p in (4, 2):
            if count(block, rows, cols) * p <= most and depth >= 4 * p * block[2]:
                yield p
    yield given.get("split_k", 1)


def _warps(
    given: Mapping[str, Any], block: Tile, macro: Composition, split: int, needs: Needs, target: Target, roomy: bool,
    fragments: int = 1,
) -> list[Tile]:  # fmt: skip
    """The warp tiles to try, best first: the one given, or those that divide a block tile, of at most the target's
    `warp_side` rows and columns, the squarer one of two.

    Parameters
    ----------
    roomy : only those that leave the compiler enough registers; else all, those that lack the fewest first, and for
        want of anything that divides the block tile the macro-MMA's shape.
    fragments : sets of them.
    """
    least = macro.shape
    most = target.warp_side if roomy else 4 * target.warp_side
    sides = [[d for d in range(s, min(side, most) + 1, s) if side % d == 0] for side, s in zip(block[:2], least)]
    warps = [(m, n, block[2]) for m, n in product(*sides)] or [(*least[:2], block[2])]
    lacking = {}
    for warp in [given["warp_tile"]] if "warp_tile" in given else warps:
        threads = LANES * max(1, block[0] // warp[0]) * max(1, block[1] // warp[1]) * split
        spare = min(target.registers, target.block_registers // (threads * given.get("occupancy", 1)))
        spare -= registers(block, warp, macro, split, needs, fragments, bool(target.copies))
        chunks = chunks_of(block, warp, split) if target.copies else (0, 0)
        lacking[warp] = max(0, needs.spare_registers(target, chunks) - spare)
    fitting = [warp for warp in lacking if not (roomy and lacking[warp])]
    return sorted(fitting, key=lambda t: (lacking[t], -t[0] * t[1], abs(t[0] - t[1]), -t[0]))
