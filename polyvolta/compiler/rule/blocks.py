"""Block tiles for a result of known or unknown sizes: the target's, and smaller ones where that leaves few blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyvolta.compiler.needs import Needs
    from polyvolta.compiler.tiling import Tile


def blocks(given: Mapping[str, Any], needs: Needs, least: Tile, most: Tile, wanted: int) -> Iterator[Tile]:
    """The block tiles to try, largest first: the one given, or those for a result of known (or unknown) sizes.

    Parameters
    ----------
    least : the macro-MMA's shape.
    most : the largest one.
    wanted : how many blocks there should be, if that takes no tiles below half of the largest one.
    """
    if "block_tile" in given:
        yield given["block_tile"]
        return
    *whole, depth = most
    least = given.get("warp_tile", (*least[:2], -(-depth // least[2]) * least[2]))
    depth = least[2]
    rows, cols, _ = needs.sizes

    def multiple(d: int, side: int) -> int:
        return max(least[d], side // least[d] * least[d])

    def halved(d: int) -> int:
        return multiple(d, sides[d] // 2)

    sides = [multiple(d, whole[d]) for d in (0, 1)]
    for d, size in enumerate((rows, cols)):
        while size is not None and sides[d] >= 2 * size and sides[d] > least[d]:
            sides[d] = halved(d)
    while True:
        shrinking = [d for d in (0, 1) if sides[d] > least[d]]
        few = rows is not None and cols is not None and count((sides[0], sides[1], depth), rows, cols) < wanted
        if not (few and max(sides) > max(whole) // 2 and shrinking):
            break
        d = max(shrinking, key=sides.__getitem__)
        sides[d] = halved(d)
    while True:
        yield (sides[0], sides[1], depth)
        shrinking = [d for d in (0, 1) if sides[d] > least[d]]
        if not shrinking:
            return
        d = max(shrinking, key=sides.__getitem__)
        sides[d] = halved(d)


def count(block: Tile, rows: int, cols: int) -> int:
    """Blocks of a grid."""
    return -(-rows // block[0]) * -(-cols // block[1])
