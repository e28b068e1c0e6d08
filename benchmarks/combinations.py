"""The matrices of kernels: what is computed x layouts x macro-MMA x split-K x tiles x buffers, as data.

`combinations(target)` is a target's whole matrix, always in the same order and under the same names; every program
that compiles, interprets, measures or checks kernels draws from it. A name such as

    bias relu/row.col-row/m16n16k8/k2/128x128x32-64x64x32/b1
    sm_80/bfloat16/bias relu/row.col-row/m16n32k16/k2/128x128x64-64x64x64/b3/g1
    sm_90a/float16/bias relu/row.col-row/m64n128k16/k1/128x128x64-64x128x64/b4/g1/o2/p/d/x

says the target and the element type (of sm_70 neither), idiom, layouts of A, B and the result, macro-MMA, split-K,
block tile, warp tile, buffers, and how many rows of blocks go together where that isn't the default. Hopper's say more:
a warp tile is a warpgroup's; `o2` are two blocks that share a multiprocessor, `p` persistent blocks, `d` a dependent
launch, `x` the transposed product (`swap`), `c2x1` clusters of two blocks one below the other, `t` warpgroups that take
turns; `k2` is a K whose parts are two blocks of a cluster; without the letter there is none. `rings()` has all rings of
buffers beside it, each number of buffers with copies ahead by each number of k tiles; names end in `/b3/p2`. What there
is of tiles and the like for a target is in `families.py`, of idioms in `idioms.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from families import FAMILIES, Family, Warpgroups
from idioms import IDIOMS, LAYOUTS, Idiom, graph, idiom_called, idioms_of, layout

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel

SPLITS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Combination:
    """One kernel of the matrix; `a`, `b`, `c` are the layouts of A, B and the result.

    What is None is the target's default, and not in the name.
    """

    idiom: Idiom
    a: str
    b: str
    c: str
    macro: str
    split_k: int
    block: tuple[int, int, int]
    warp: tuple[int, int, int]
    buffers: int = 1
    partial: str = "guard"
    ahead: int | None = None
    target: str = "sm_70"
    dtype: str = "float16"
    group: int | None = None
    occupancy: int | None = None
    persistent: bool | None = None
    dependent: bool | None = None
    swap: bool | None = None
    cluster: tuple[int, int] | None = None
    pingpong: bool | None = None

    @property
    def name(self) -> str:
        block, warp = ("x".join(map(str, t)) for t in (self.block, self.warp))
        pad = "/pad" if self.partial == "pad" else ""
        ahead = f"/p{self.ahead}" if self.ahead is not None else ""
        group = f"/g{self.group}" if self.group is not None else ""
        more = f"/o{self.occupancy}" if (self.occupancy or 1) > 1 else ""
        more += "".join(f"/{x}" for x, on in zip("pdx", (self.persistent, self.dependent, self.swap)) if on)
        more += f"/c{self.cluster[0]}x{self.cluster[1]}" if (self.cluster or (1, 1)) != (1, 1) else ""
        more += "/t" if self.pingpong else ""
        target = f"{self.target}/{self.dtype}/" if self.target != "sm_70" else ""
        return (
            f"{target}{self.idiom.name}/{self.a}.{self.b}-{self.c}/{self.macro}/k{self.split_k}/{block}-{warp}"
            f"/b{self.buffers}{ahead}{group}{more}{pad}"
        )

    @property
    def options(self) -> pv.Options:
        return pv.Options(
            block_tile=self.block,
            warp_tile=self.warp,
            macro_mma=self.macro,
            split_k=self.split_k,
            buffers=self.buffers,
            prefetch=self.ahead,
            partial=self.partial,
            accumulators=self.idiom.accumulators,
            group=self.group,
            occupancy=self.occupancy,
            persistent=self.persistent,
            dependent_launch=self.dependent,
            swap=self.swap,
            cluster=self.cluster,
            pingpong=self.pingpong,
        )

    @property
    def step(self) -> tuple[int, int, int]:
        """What a thread block covers: rows, columns, and depth of one trip along K."""
        return (*self.block[:2], self.block[2] * self.split_k)

    def layout_of(self, tensor: str) -> str:
        """ "row" or "col" of a tensor; "row" for a vector."""
        return layout(self.idiom, tensor, self.a, self.b, self.c)

    def outputs(self) -> Any:
        """The graph's outputs."""
        return graph(self.idiom, self.a, self.b, self.c, dtype=self.dtype)

    def compile(self) -> Kernel:
        """The kernel for its target."""
        return pv.compile(self.outputs(), target=self.target, options=self.options)


@cache
def combinations(target: str = "sm_70") -> tuple[Combination, ...]:
    """A target's matrix: every idiom in all layouts of A and B with the macro-MMAs and each split of K.

    Tiles, buffers, element types and the result's layout take turns, among the tiles that fit. Of Hopper's it is every
    idiom that warpgroups compute, in all layouts of A, B and the result, with some tiles each; then each of these in
    clusters of all kinds, and by warpgroups that take turns.
    """
    family = FAMILIES[target]
    return (*_boxed(family), *_together(family)) if isinstance(family, Warpgroups) else tuple(_combinations(family))


def _combinations(family: Family) -> Iterator[Combination]:
    turn: dict[tuple, int] = {}
    asked = 0
    for at, idiom in enumerate(IDIOMS):
        square = idiom.tensors["A"].startswith("NN")
        loads = idiom.loads if not family.copies or "prologue" in f"{idiom.group} {idiom.name}" else 0
        for number, (a, b) in enumerate(product(LAYOUTS, LAYOUTS)):
            if square and a != b:
                continue
            for macro, split_k in product(family.macros, SPLITS):
                asked += 1
                if family.skipped and (asked + number) % family.skipped == 0:
                    continue
                key = macro, split_k, idiom.results, loads
                n = turn[key[:3]] = turn.get(key[:3], 0) + 1
                choices = _choices(family, *key)
                block, warp, buffers = choices[(5 * n + at) % len(choices)]
                c = LAYOUTS[(n + at) // 2 % 2]
                partial = "pad" if n % 8 == 5 and idiom.zero_at_zero else "guard"
                dtype = family.dtypes[(n // 2 + number) % len(family.dtypes)]
                group = family.groups[(n + number) % len(family.groups)]
                yield Combination(idiom, a, b, c, macro, split_k, block, warp, buffers, partial, None, family.target,
                                  dtype, group)  # fmt: skip


def _boxed(family: Warpgroups) -> Iterator[Combination]:
    turn = 0
    for at, idiom in enumerate(idioms_of(family)):
        square = idiom.tensors["A"].startswith("NN")
        for a, b, c, _ in product(LAYOUTS, LAYOUTS, LAYOUTS, range(family.each)):
            if square and a != b:
                continue
            persistent, dependent, swap = (bool((turn + at) >> bit & 1) for bit in range(3))
            stage = idiom.stage[::-1] if swap else idiom.stage
            plans = family.plans_of(idiom.results, stage)
            plan = block, warp, macro = plans[turn % len(plans)]
            asked = family.occupancies[(turn // 8 + at) % len(family.occupancies)]
            held = idiom.results, stage
            shared = [(n, asked) for n in family.buffers if family.shared_by(plan, n, asked, *held)]
            shared = shared or [(n, 1) for n in family.buffers if family.shared_by(plan, n, 1, *held)]
            buffers, occupancy = shared[turn // len(plans) % len(shared)]
            if swap:
                block, warp = ((y, x, z) for x, y, z in (block, warp))
            dtype = family.dtypes[(turn // 8 + turn // 3) % len(family.dtypes)]
            group = family.groups[(turn + turn // 24) % len(family.groups)]
            yield Combination(idiom, a, b, c, macro, 1, block, warp, buffers, "guard", None, family.target, dtype,
                              group, occupancy, persistent, dependent, swap)  # fmt: skip
            turn += 1


def _together(family: Warpgroups) -> Iterator[Combination]:
    """Blocks of clusters, parts of K, and warpgroups that take turns: layouts, tiles and the rest take turns."""
    for turn, (idiom, (cluster, parts, turns)) in enumerate(product(idioms_of(family), family.together)):
        if parts > 1 and idiom.results > 1:  # blocks that split K add up one accumulator
            continue
        at, swap = turn // len(family.together), parts == 1 and not turns and turn % 4 == 0
        held = idiom.results, idiom.stage[::-1] if swap else idiom.stage
        buffers = family.buffers[turn % 2]
        plans = [p for p in family.plans_of(*held) if family.goes(p, cluster, parts, turns)]
        plans = [p for p in plans if family.shared_by(p, buffers, 1, *held)]
        block, warp, macro = plans[(turn + at) % len(plans)]
        a, b, c = (LAYOUTS[(turn >> bit) % 2] for bit in range(3))
        b = a if idiom.tensors["A"].startswith("NN") else b
        if swap:
            block, warp = ((y, x, z) for x, y, z in (block, warp))
        yield Combination(idiom, a, b, c, macro, parts, block, warp, buffers, "guard", None,
                          family.target, family.dtypes[turn // 3 % len(family.dtypes)],
                          family.groups[turn // 2 % len(family.groups)], 1, turns, (turn + at) % 3 > 0, swap,
                          cluster, turns)  # fmt: skip


@cache
def _choices(family: Family, macro: str, split_k: int, results: int, loads: int) -> tuple[tuple, ...]:
    """(block tile, warp tile, buffers) that fit, in the order of the family's tiles."""
    return tuple(
        (block, warp, buffers)
        for block, warp in family.tiles
        for buffers in family.buffers
        if family.fits(block, warp, macro, split_k, buffers, results, loads)
    )


RINGED = ("plain", "bias relu", "prologue A", "sum of two", "gated")
MOST_BUFFERS = 8


@cache
def rings(target: str = "sm_70") -> tuple[Combination, ...]:
    """Every legal ring of buffers, twice: idioms, layouts, macro-MMAs and splits of K take turns.

    Boxes come as far ahead as there are buffers: of Hopper's rings there is one for each number of them, of one tile a
    block and of persistent blocks.
    """
    family = FAMILIES[target]
    if isinstance(family, Warpgroups):
        return tuple(_boxed_rings(family))
    one = 0 if family.copies else 1  # tile ahead with one buffer: it waits in registers
    sizes = [(s, ahead) for s in range(1, MOST_BUFFERS + 1) for ahead in range(max(s - 1, one) + 1)]
    found = []
    for n, (buffers, ahead) in enumerate(2 * sizes):
        idiom = idiom_called(RINGED[n % len(RINGED)])
        a, b, c = LAYOUTS[n % 2], LAYOUTS[n // 2 % 2], LAYOUTS[n // 4 % 2]
        macro, split_k = list(family.macros)[n // 3 % len(family.macros)], (1, 1, 2)[n % 3]
        dtype = family.dtypes[n % len(family.dtypes)]
        found.append(Combination(idiom, a, b, c, macro, split_k, (64, 64, 16), (32, 32, 16), buffers, "guard", ahead,
                                 target, dtype))  # fmt: skip
    return tuple(found)


def _boxed_rings(family: Warpgroups) -> Iterator[Combination]:
    taken = [i for i in idioms_of(family) if i.name in RINGED]
    for n, (buffers, persistent) in enumerate(product(range(2, MOST_BUFFERS + 1), (False, True))):
        a, b, c = LAYOUTS[n // 2 % 2], LAYOUTS[n // 4 % 2], LAYOUTS[n // 8 % 2]
        dtype = family.dtypes[n // 2 % len(family.dtypes)]
        yield Combination(taken[n % len(taken)], a, b, c, "m64n64k16", 1, (128, 64, 32), (64, 64, 32), buffers, "guard",
                          None, family.target, dtype, None, 1, persistent, n % 3 > 0, False)  # fmt: skip


def chosen(
    only: str, part: str = "1/1", limit: int | None = None, target: str = "sm_70"
) -> tuple[Combination, ...]:
    """The combinations that a command line asks for.

    Parameters
    ----------
    only : a name, or words that the names must have, separated by commas; "rings" for these instead of the matrix.
    part : "i/n": every n-th of these, from the i-th on.
    limit : the first so many of those.
    target : whose matrix; a whole name says its own.
    """
    words = [w.strip() for w in only.split(",") if w.strip()]
    whole = rings(target) if "rings" in words else combinations(target)
    found = [c for t in FAMILIES for c in (*combinations(t), *rings(t)) if c.name == only]
    if found:
        return filtered(found, "", part, limit)
    return filtered(whole, ",".join(w for w in words if w != "rings"), part, limit)


def filtered(whole: Sequence[Combination], only: str, part: str, limit: int | None) -> tuple[Combination, ...]:
    """Those of a name, or of some words; of these every n-th; of those the first so many; see `chosen`."""
    words = [w.strip() for w in only.split(",") if w.strip()]
    found = [c for c in whole if c.name == only] or [c for c in whole if all(w in c.name for w in words)]
    i, n = map(int, part.split("/"))
    return tuple(found[i - 1 :: n][:limit])
