"""Tilings for products of warpgroups: which ones the rule tries.

A warpgroup has its accumulators in registers and both operands in shared memory, where boxes of tensors come by
themselves; a left operand that is computed has fragments in registers. What a block needs is one warp more, which has
the boxes brought.

1. *Block tile*: the family's (128x256x64), or smaller as `blocks` says: 128x128x64 where there would be fewer blocks
   than multiprocessors.
2. *Warp tile*: of one warpgroup, such that a block has two where that can be: one multiplies while the other one begins
   or stores. More than three have too few registers each.
3. *Macro-MMA*: the widest one that divides the warp tile, which reads the fewest operands.
4. *Registers*: the same for all threads, unless consumers need more: then the producer's warpgroup has the fewest
   that there can be, and consumers what it leaves.
5. *Buffers*: as many as fit, up to the family's six: the more there are, the later a copy may come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.needs import Needs
from polyvolta.compiler.rule.blocks import blocks
from polyvolta.compiler.tiling import FEWEST_BUFFERS, PARTS, Tile, Tiling
from polyvolta.cuda.build.promotion.makers import COLUMNS
from polyvolta.cuda.build.promotion.model import CONSUMER, PRODUCER
from polyvolta.cuda.target.instruction import LANES, WARPGROUP
from polyvolta.cuda.target.warpgroup import Family

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target

REGISTERS_AT_ONCE = 8
"""Registers of a thread are given out by so many."""


def family_with(name: str | None, target: Target) -> Family | None:
    """The family that has a macro-MMA of that name, of no name the target's first one."""
    return next((f for f in target.families if name is None or name in f.names), None)


def tilings(given: Mapping[str, Any], needs: Needs, target: Target) -> Iterator[Tiling]:
    """What to try around what is given, best first; legal or not.

    Parameters
    ----------
    given : values by name; where a macro-MMA is given, it is one of a family.
    """
    family = family_with(given.get("macro_mma"), target)
    if family is None:
        return
    asked = family.named(given.get("macro_mma", ""))
    least = (asked or family.of(min(storable(family)))).shape
    most = (*family.block_tile[:1], least[1] if asked else family.block_tile[1], *family.block_tile[2:])
    if given.get("pingpong"):  # a block's tile is a warpgroup's
        most = (least[0], *most[1:])
    words = given.get("partial", "guard"), given.get("accumulators", "auto")
    in_turn = given.get("pingpong", False)  # at tiles of persistent blocks
    left = any(a for a, _ in needs.prologues)
    for roomy in (True, False):
        for block in blocks(given, needs, least, most, target.multiprocessors):
            for warp in _warps(given, block, least, needs, target, family, roomy):
                name = given.get("macro_mma") or _widest(family, warp)
                sets = 2 if left and block[2] // least[2] % 2 == 0 else 1
                for buffers in _rings(given, block, needs, family):
                    ahead = given.get("prefetch", buffers - 1)
                    yield Tiling(block, warp, name, given.get("split_k", 1), buffers, *words, ahead,
                                 given.get("fragments", sets), given.get("group", target.group),
                                 given.get("occupancy", 1),
                                 given.get("dependent_launch", target.dependent_launch),
                                 given.get("persistent", in_turn), in_turn,
                                 cluster=given.get("cluster", (1, 1)))  # fmt: skip


def space(target: Target, sides: tuple[int, ...]) -> Iterator[Tiling]:
    """The tilings of all sides that are listed, with the macro-MMA that is as wide as the warp tile; legal or not."""
    for family in target.families:
        for x, m, n, k, y in product(sides, sides, sides, sides, sides):
            if x not in family.columns or y > m or x > n:
                continue
            rows, _, depth = (macro := family.of(x)).shape
            if m % rows or y % rows or k % depth:
                continue
            for b in range(FEWEST_BUFFERS, family.buffers + 1):
                yield Tiling((m, n, k), (y, x, k), macro.name, 1, b, "guard", "auto", b - 1, 1, target.group,
                             dependent_launch=target.dependent_launch)  # fmt: skip


def _warps(
    given: Mapping[str, Any], block: Tile, least: Tile, needs: Needs, target: Target, family: Family, roomy: bool
) -> list[Tile]:
    """The warpgroups' tiles to try, best first: the one given, or those that divide the block tile.

    Parameters
    ----------
    least : rows and columns that theirs are multiples of.
    roomy : only those that leave the compiler enough registers.
    """
    if "warp_tile" in given:
        return [given["warp_tile"]]
    sides = [[d for d in range(s, side + 1, s) if side % d == 0] for side, s in zip(block[:2], least)]
    if given.get("pingpong"):
        return [block]
    found = [(m, n, block[2]) for m, n in product(*sides)] or [(*least[:2], block[2])]

    def worth(warp: Tile) -> tuple:
        groups = max(1, prod(block[:2]) // prod(warp[:2]))
        warps = (WARPGROUP.threads * groups + LANES) // LANES * given.get("occupancy", 1)
        threads = LANES * -(-warps // PARTS) * PARTS
        room = min(target.registers, _at_once(target.block_registers // threads))
        need = needs.accumulators * prod(warp[:2]) // WARPGROUP.threads + _spare(family, needs)
        narrow = warp[1] < min(block[1], 128)
        return need > room, groups > 3, narrow, abs(groups - 2), -warp[1], warp[0]

    return sorted((w for w in found if not (roomy and worth(w)[0])), key=worth)


def _spare(family: Family, needs: Needs) -> int:
    """Registers that the compiler needs beside those of accumulators."""
    spare, vectors = family.spare, needs.operands - needs.matrices
    each = (
        spare.function * max(0, needs.functions - 4), spare.special * needs.special, spare.across * needs.across,
        spare.operand * max(0, needs.operands - 1), spare.matrix * (needs.matrices > 0), spare.vector * (vectors > 0),
        spare.turned * (needs.matrices > 0 and needs.layout == "col"), spare.scalar * needs.scalars,
        spare.result * max(0, needs.results - 1),
        spare.beside * max(0, needs.functions - 2) * (needs.matrices > 0),
    )  # fmt: skip
    return spare.always + sum(each)


def shares(tiling: Tiling, needs: Needs, target: Target) -> dict[str, int]:
    """How many registers a thread of each role is to have; none where all have the same, which is enough for consumers.

    Registers are given out by warpgroups, also to the one that the producer is a warp of. With two consumers each
    thread has 168, or consumers 240 and the producer 24; with three 128, or 160 and 32. A single consumer gains
    nothing: there are enough for each thread to have the most that one can have.
    """
    family = family_with(tiling.macro_mma, target)
    if family is None or tiling.split_k > 1:  # then consumers leave their role before they store
        return {}
    even, own, producer = _shared_out(tiling.makers_on(target), tiling.occupancy, family, target)
    if own <= even or _wanted(tiling, needs, family, target) <= even:
        return {}
    return {CONSUMER: own, PRODUCER: producer}


def lacks(tiling: Tiling, needs: Needs, target: Target) -> int:
    """How many registers a thread of a consumer lacks, which the compiler spills then, about; 0 where it has enough."""
    family = family_with(tiling.macro_mma, target)
    if family is None:
        return 0
    even, own, _ = _shared_out(tiling.makers_on(target), tiling.occupancy, family, target)
    return max(0, _wanted(tiling, needs, family, target) - (even if tiling.split_k > 1 else max(even, own)))


def _wanted(tiling: Tiling, needs: Needs, family: Family, target: Target) -> int:
    """Registers of a consumer's thread with which the compiler spills none, about."""
    spare = _spare(family, needs)
    if tiling.persistent:
        spare += family.spare.lasting * (needs.outputs - 1) + family.spare.together * (prod(tiling.cluster) > 1)
    if needs.matrices:
        high = target.macro_mma(tiling.macro_mma).shape[0]
        spare += family.spare.tall * (tiling.warp_tile[0] // high - 1) + family.spare.in_turn * tiling.pingpong
    return tiling.registers(needs, target) + spare


def _shared_out(groups: int, occupancy: int, family: Family, target: Target) -> tuple[int, int, int]:
    """Registers of a thread if all have as many; and of consumers and of the producer, if the latter has its fewest."""
    each = _at_once(target.block_registers // occupancy // (WARPGROUP.threads * (groups + 1)))
    own = _at_once(min(((groups + 1) * each - family.producer) // groups, target.registers))
    return min(each, target.registers), own, _at_once((groups + 1) * each - groups * own)


def _at_once(registers: int) -> int:
    """As many of these as can be given out."""
    return registers // REGISTERS_AT_ONCE * REGISTERS_AT_ONCE


def _widest(family: Family, warp: Tile) -> str:
    """The macro-MMA with most columns that divides a warpgroup's tile; the narrowest, if none does."""
    usable = storable(family)
    return family.of(max((n for n in usable if warp[1] % n == 0), default=min(usable))).name


def storable(family: Family) -> list[int]:
    """The numbers of columns whose results are stored, fragment by fragment; all if none are."""
    return [n for n in family.columns if n % COLUMNS == 0] or list(family.columns)


def _rings(given: Mapping[str, Any], block: Tile, needs: Needs, family: Family) -> list[int]:
    """Numbers of buffers to try, most first; more than there are k tiles are of no use."""
    if "buffers" in given:
        return [given["buffers"]]
    if "prefetch" in given:
        return [max(FEWEST_BUFFERS, given["prefetch"] + 1)]
    trips = family.buffers if needs.longest is None else -(-needs.longest // block[2])
    return list(range(max(FEWEST_BUFFERS, min(family.buffers, trips)), FEWEST_BUFFERS - 1, -1))
