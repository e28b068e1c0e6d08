"""What of a tiling doesn't fit: its tiles each other, or what it takes what a target has.

Each thing that doesn't is a sentence, for whoever gave the options; a tiling that has none `fits`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod
from typing import TYPE_CHECKING

from polyvolta.compiler.needs import family_of
from polyvolta.compiler.rule.clusters import undivided
from polyvolta.compiler.tiling import FEWEST_BUFFERS, OPTIONS, PARTS, farthest, reserved, turned_tile
from polyvolta.cuda.build.promotion.makers import COLUMNS
from polyvolta.cuda.target.instruction import LANES
from polyvolta.cuda.target.warpgroup import WarpgroupMma

if TYPE_CHECKING:
    from polyvolta.compiler.needs import Needs
    from polyvolta.compiler.tiling import Tile, Tiling
    from polyvolta.cuda.target.macro_mma import Composition
    from polyvolta.cuda.target.target import Target
    from polyvolta.cuda.target.warpgroup import Family


def fits(tiling: Tiling, target: Target, needs: Needs) -> bool:
    """Whether a target can serve a tiling of a graph with such needs.

    >>> from polyvolta.compiler.tiling import A_PRODUCT
    >>> import polyvolta as pv
    >>> [fits(pv.Options(buffers=n, prefetch=1), pv.targets["sm_80"], A_PRODUCT) for n in (1, 2)]
    [False, True]
    """
    return next(problems(tiling, target, needs), None) is None


def problems(tiling: Tiling, target: Target, needs: Needs, given: Collection[str] | None = None) -> Iterator[str]:
    """Everything that the macro-MMA or the target rules out.

    Parameters
    ----------
    given : names of the options that somebody gave, and knows; None: all.

    Sentences, none of them for what `target` does; `needs` are the graph's.

    >>> from polyvolta.compiler.tiling import A_PRODUCT
    >>> import polyvolta as pv
    >>> options, target = pv.Options(block_tile=(128, 128, 32), split_k=2), pv.targets["sm_80"]
    >>> list(problems(options, target, A_PRODUCT))
    ['prefetch=1 needs 2 buffers: 1 buffer allows 0, or the copies would overwrite a tile that is still read']
    """
    if not target.has(tiling.macro_mma):
        yield f"{target.name} has no macro-MMA called {tiling.macro_mma!r}"
        return
    if tiling.dependent_launch and not target.dependent_launch:
        yield f"kernels of {target.name} start when the kernel before is over: dependent_launch=True"
        return
    macro = target.macro_mma(tiling.macro_mma)
    of_macro = needs.turned.layouts if tiling.swap else needs.layouts
    for pair, own in zip(needs.layouts, of_macro, strict=True):
        if own not in macro.layouts:
            yield f"{macro.name} of {target.name} doesn't multiply operands that lie {'.'.join(pair)}"
            return
    named = given is None or "macro_mma" in given or not target.families
    shape = tiling.extents(macro)
    if named or not isinstance(macro, WarpgroupMma):
        what = "" if named else "what warps multiply"
    else:
        narrow = (macro.shape[0], COLUMNS, macro.shape[2])
        shape = turned_tile(narrow) if tiling.swap else narrow
        what = "what warpgroups multiply"
    found = (*misfits(tiling, shape, what), *too_far(tiling, bool(target.copies)),
             *unsuited(tiling, macro, needs, family_of(target)), *unshared(tiling, target))  # fmt: skip
    yield from found
    if found:
        return
    yield from undivided(tiling.mapped.cluster, tiling.mapped.block_tile, macro, of_macro)
    known = OPTIONS if given is None or not target.families else given
    for what, need, limit in demands(tiling, target, needs):
        if need > limit:
            yield f"{_asking(tiling, what, known)} need at least {need} {what}, {target.name} has {limit}"


def _asking(tiling: Tiling, what: str, known: Collection[str]) -> str:
    """The options that ask for so much of something, those that are known of them if there are any."""
    memory = "memory" in what
    block, warp = ("x".join(map(str, tile)) for tile in (tiling.block_tile, tiling.warp_tile))
    tiles = {"block_tile": f"block tiles of {block}", "warp_tile": "" if memory else f"warp tiles of {warp}"}
    values = {
        "buffers": tiling.buffers if memory and tiling.buffers > 1 else 0,
        "split_k": tiling.split_k if tiling.split_k > 1 else 0,
        "occupancy": tiling.occupancy if "blocks" in what else 0,
    }
    found = (" in ".join(tiles[n] for n in tiles if tiles[n] and n in known),
             *(f"{n}={value}" for n, value in values.items() if value and n in known))  # fmt: skip
    return " and ".join(filter(None, found)) or _asking(tiling, what, OPTIONS)


def misfits(tiling: Tiling, shape: Tile, what: str = "") -> Iterator[str]:
    """What of the tiles and the macro-MMA, which has that shape, does not fit what.

    Parameters
    ----------
    what : people know that shape as, if not by the macro-MMA's name.

    >>> import polyvolta as pv
    >>> list(misfits(pv.Options(block_tile=(96, 128, 32), warp_tile=(64, 64, 32)), (16, 16, 8)))
    ['block_tile is no multiple of warp_tile along M: 96 and 64']
    """
    what = (what or f"the macro-MMA {tiling.macro_mma}") + (", swapped," if tiling.swap else "")
    pairs = (
        ("block_tile", tiling.block_tile, what, shape),
        ("warp_tile", tiling.warp_tile, what, shape),
        ("block_tile", tiling.block_tile[:2], "warp_tile", tiling.warp_tile[:2]),
    )
    for tile, big, name, small in pairs:
        for axis, b, s in zip("MNK", big, small):
            if name == "warp_tile" and s > b:
                yield f"warp_tile is larger than block_tile along {axis}: {s} and {b}"
            elif b % s:
                yield f"{tile} is no multiple of {name} along {axis}: {b} and {s}"
    if tiling.warp_tile[2] != tiling.block_tile[2]:
        depths = f"{tiling.block_tile[2]} and {tiling.warp_tile[2]}"
        yield f"block_tile and warp_tile have different depths, {depths}; split_k makes a block's step deeper"
    strips, rest = divmod(tiling.block_tile[2], shape[2])
    if tiling.fragments > 1 and not rest and strips % tiling.fragments:
        yield f"fragments={tiling.fragments} take turns by strips, and block_tile has {strips} of {shape[2]} along " \
              "K, an odd number"


def unsuited(
    tiling: Tiling, macro: Composition | WarpgroupMma, needs: Needs, family: Family | None = None
) -> Iterator[str]:
    """What a graph, or an option, asks for that warpgroups don't do, or that others don't.

    Parameters
    ----------
    family : the target's products of warpgroups.

    `macro` is the target's, `needs` are the graph's; one sentence for each.

    >>> from polyvolta.compiler.tiling import A_PRODUCT
    >>> import polyvolta as pv
    >>> macro = pv.targets["sm_80"].macro_mma("m16n16k8")
    >>> list(unsuited(pv.Options(persistent=True), macro, A_PRODUCT))
    ['persistent blocks have boxes of their next tile brought, and m16n16k8 takes no boxes']
    """
    if not isinstance(macro, WarpgroupMma):
        if tiling.persistent:
            yield f"persistent blocks have boxes of their next tile brought, and {macro.name} takes no boxes"
        elif tiling.pingpong:
            yield f"warpgroups take turns at tiles of persistent blocks, and {macro.name} is of warps"
        if prod(tiling.cluster) > 1:
            yield f"blocks of a cluster share boxes, and {macro.name} takes no boxes: cluster={tiling.cluster}"
        return
    if tiling.pingpong and not tiling.persistent:
        yield "warpgroups take turns at tiles of persistent blocks: pingpong=True, and persistent=False"
    if tiling.pingpong and tiling.warps[:2] != (1, 1):
        yield f"warpgroups that take turns have a block tile each: {tiling.warps[0]} x {tiling.warps[1]} warp_tiles " \
               "are a block_tile"
    yield from needs.beyond_warpgroups(family)
    if tiling.persistent and tiling.split_k > 1:
        yield f"blocks of a cluster, which split K, compute one tile each: split_k={tiling.split_k}, and " \
              "persistent=True"
    if tiling.split_k > 1 and needs.accumulators > 1:
        yield f"blocks that split K add up one accumulator, and the products add to {needs.accumulators}: " \
              f"split_k={tiling.split_k}"
    elif tiling.split_k > 1 and (columns := tiling.mapped.warp_tile[1]) % (COLUMNS * tiling.split_k):
        what = "rows" if tiling.swap else "columns"
        yield f"each of the {tiling.split_k} blocks that split K adds up a part of a warpgroup's {what}, " \
              f"{COLUMNS} at a time: warp_tile has {columns}"
    if macro.shape[1] % COLUMNS:
        yield f"results of {macro.name} are stored by {COLUMNS} columns, {macro.shape[1]} is no multiple"
    if tiling.buffers < FEWEST_BUFFERS:
        yield f"warpgroups read one buffer while boxes come to another one: buffers={tiling.buffers}"
    elif tiling.prefetch < tiling.buffers - 1:
        yield "boxes have a warp of their own, which is as far ahead as there are buffers: " \
              f"prefetch={tiling.prefetch} is less, and buffers={tiling.buffers}"
    left = any(a for a, _ in (needs.turned if tiling.swap else needs).prologues)
    if tiling.fragments > 1 and not left:
        yield f"warpgroups have no fragments of operands in registers: fragments={tiling.fragments}"


def unshared(tiling: Tiling, target: Target) -> Iterator[str]:
    """What of a cluster the target doesn't have.

    One sentence for each, of `target`.

    >>> import polyvolta as pv
    >>> list(unshared(pv.Options(cluster=(2, 1)), pv.targets["sm_80"]))
    ['a cluster of sm_80 has at most 1 block, not 2 x 1']
    """
    rows, cols = tiling.cluster
    parts = tiling.split_k if tiling.by_blocks(target) else 1
    if rows * cols * parts > target.cluster:
        words = f"{rows} x {cols}" + (f" for each of {parts} parts of K" if parts > 1 else "")
        most = f"{target.cluster} block{'s' * (target.cluster > 1)}"
        yield f"a cluster of {target.name} has at most {most}, not {words}"


def too_far(tiling: Tiling, asynchronous: bool) -> Iterator[str]:
    """What of the distance of copies does not fit the buffers.

    One sentence for each; `asynchronous`: whether copies need no registers.

    >>> import polyvolta as pv
    >>> list(too_far(pv.Options(prefetch=2, buffers=2), asynchronous=True))
    ['prefetch=2 needs 3 buffers: 2 buffers allow 1, or the copies would overwrite a tile that is still read']
    """
    if tiling.prefetch > (most := farthest(tiling.buffers, asynchronous)):
        words = "1 buffer allows" if tiling.buffers == 1 else f"{tiling.buffers} buffers allow"
        yield f"prefetch={tiling.prefetch} needs {tiling.prefetch + 1} buffers: {words} {most}, or the copies would " \
              "overwrite a tile that is still read"


def demands(tiling: Tiling, target: Target, needs: Needs) -> tuple[tuple[str, int, int], ...]:
    """(what, how much tiles that fit each other need of it at least, how much the target has).

    `needs` are the graph's, on `target`.

    >>> import polyvolta as pv
    >>> from polyvolta.compiler.tiling import A_PRODUCT
    >>> demands(pv.Options(block_tile=(128, 128, 32)), pv.targets["sm_80"], A_PRODUCT)[0]
    ('threads', 128, 1024)
    """
    registers, shared, n = tiling.registers(needs, target), tiling.shared_bytes(needs, target), tiling.occupancy
    threads = tiling.threads_on(target)
    alone = (
        ("threads", threads, target.threads),
        ("bytes of shared memory", shared, target.shared_bytes),
        ("registers a thread", registers, target.registers),
        ("registers a block", registers * threads, target.block_registers),
        *_of_products(tiling, target),
    )
    if n == 1:
        return alone
    own = reserved(target)
    return (
        *alone,
        (f"bytes of shared memory for {n} blocks", n * (shared + own), target.shared_bytes + own),
        (f"registers for {n} blocks", n * registers * threads, target.block_registers),
    )


def _of_products(tiling: Tiling, target: Target) -> Iterator[tuple[str, int, int]]:
    """Registers that a product of a warpgroup needs where each thread has as many as any other."""
    family = next((f for f in target.families if tiling.macro_mma in f.names), None)
    if family is not None:
        (*_, own), warps = target.macro_mma(tiling.macro_mma).values, tiling.threads_on(target) // LANES
        shared = target.block_registers // (tiling.occupancy * LANES * -(-warps // PARTS) * PARTS)
        yield f"registers a thread at the start, for {tiling.macro_mma}", own + family.least, shared // 8 * 8
