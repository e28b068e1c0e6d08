"""The matrix of Hopper's kernels: idioms whose products warpgroups make x layouts x tiles, as data.

`combinations.py` has the idioms, and what a combination is. The target isn't among `families.py`'s: nothing is
registered of it, and kernels are made for the object. Its products take tensors as they are, and add to one
accumulator.

A name such as

    sm_90a/float16/bias relu/row.col-row/m64n64k16/k1/128x64x64-64x64x64/b3/g1

is made as the other targets' are; the warp tile is a warpgroup's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from combinations import IDIOMS, LAYOUTS, Combination, filtered

import polyvolta as pv
from polyvolta.cuda.target.hopper import SM_90A

TARGET = SM_90A.name
_OTHERS = ("prologue", "separate")
_APART = ("scaled difference", "prologue and epilogue", "sum, prologues, residual")
TAKEN = tuple(i for i in IDIOMS if i.group not in _OTHERS and i.name not in _APART)
"""The idioms that warpgroups compute."""

TILES = (
    ((128, 64, 64), (64, 64, 64), "m64n64k16", 3),
    ((64, 48, 32), (64, 48, 32), "m64n48k16", 3),
    ((128, 80, 64), (64, 80, 64), "m64n80k16", 2),
    ((64, 16, 64), (64, 16, 64), "m64n16k16", 4),
    ((128, 64, 128), (128, 64, 128), "m64n64k16", 2),
    ((64, 96, 16), (64, 96, 16), "m64n96k16", 5),
    ((192, 64, 64), (64, 64, 64), "m64n64k16", 3),
    ((128, 128, 64), (64, 64, 64), "m64n64k16", 2),
    ((128, 256, 64), (64, 256, 64), "m64n256k16", 2),
)
"""Block tile, a warpgroup's tile, macro-MMA, slots of the ring: all swizzles; one to four warpgroups; one or two
instructions side by side; the widest product and the narrowest one."""


class HopperCombination(Combination):
    """A kernel of the matrix; see `Combination`."""

    def compile(self) -> pv.Kernel:
        """The kernel for its target."""
        return pv.compile(self.outputs(), target=SM_90A, options=self.options)


@cache
def combinations() -> tuple[HopperCombination, ...]:
    """The matrix: every idiom in all layouts of A and B with a third of the tiles.

    Tiles, element types, the result's layout and groups of blocks take turns.
    """
    return tuple(_combinations())


def _combinations() -> Iterator[HopperCombination]:
    turn = 0
    for idiom, a, b in product(TAKEN, LAYOUTS, LAYOUTS):
        if idiom.tensors["A"].startswith("NN") and a != b:
            continue
        for _ in range(3):
            block, warp, macro, buffers = TILES[turn % len(TILES)]
            dtype = ("float16", "bfloat16")[(turn // 2 + turn // 9) % 2]
            c = LAYOUTS[(turn // 3 + turn // 8) % 2]
            yield HopperCombination(idiom, a, b, c, macro, 1, block, warp, buffers, "guard", None, TARGET, dtype,
                                    (1, 8, None)[turn // 4 % 3])  # fmt: skip
            turn += 1


def chosen(only: str, part: str = "1/1", limit: int | None = None) -> tuple[HopperCombination, ...]:
    """The combinations that a command line asks for; see `combinations.chosen`."""
    return filtered(combinations(), only, part, limit)
