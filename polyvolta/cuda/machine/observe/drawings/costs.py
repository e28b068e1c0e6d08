"""What a run costs, as bars: instructions by kind, the issue slots of a k tile, bytes by level of memory."""

from __future__ import annotations

from polyvolta.cuda.machine.observe.coalescing import amount
from polyvolta.cuda.machine.observe.counts import HMMA, Counts
from polyvolta.cuda.machine.observe.drawings.bars import Bar, draw_bars
from polyvolta.cuda.pictures.svg import DEEPER, TINTS, Canvas, Svg

TENSOR, GLOBAL, SHARED, BARRIER, OTHER = DEEPER[0], DEEPER[1], DEEPER[2], DEEPER[3], TINTS[7]
MEANINGS = {
    TENSOR: "tensor cores", GLOBAL: "global memory", SHARED: "shared memory", BARRIER: "barriers",
    OTHER: "other arithmetic",
}  # fmt: skip
FILLS = {HMMA: TENSOR, "LDG": GLOBAL, "STG": GLOBAL, "LDS": SHARED, "STS": SHARED, "BAR": BARRIER, "WARPSYNC": BARRIER}


def draw_costs(c: Counts, run: str) -> Svg:
    """See the module.

    Parameters
    ----------
    c : with at least one instruction.
    run : the sizes, in words.
    """
    useful = "" if c.useful_flops is None else f", {c.useful_flops:,} of them useful"
    picture = Canvas("What the run costs", run, f"{c.flops:,} floating-point operations on tensor cores{useful}")
    kinds = sorted(c.instructions.items(), key=lambda x: -x[1])
    bars = [Bar(kind, ((n, _fill(kind)),), f"{n:,}  ({n / c.issued:.1%})") for kind, n in kinds]
    y = draw_bars(picture, "Instructions of warps", bars, 0)
    if c.k_tiles:
        issued, hmma, cycles = (x / c.k_tiles for x in (c.k_issued, c.k_hmma, c.k_shared_cycles))
        y = draw_bars(
            picture,
            "A k tile of a block, on average",
            [
                Bar("instructions issued", ((hmma, TENSOR), (issued - hmma, OTHER)),
                    f"{issued:,.0f}, {hmma:,.0f} of them of tensor cores"),
                Bar("shared memory serves", ((cycles, SHARED),), f"{cycles:,.0f} times"),
            ],
            y,
        )  # fmt: skip
    useful_flops = c.useful_flops or 0
    levels = []
    for name, t, fill in (
        ("registers of tensor cores", c.registers, TENSOR),
        ("shared memory", c.shared_memory, SHARED),
        ("global memory", c.global_memory, GLOBAL),
    ):
        per = f", {useful_flops / t.moved:.1f} useful flop/byte" if useful_flops and t.moved else ""
        asked = t.read + t.written
        more = f", {amount(t.moved)} moved" if t.moved != asked else ""
        words = f"{amount(t.read)} read, {amount(t.written)} written{more}{per}"
        levels.append(Bar(name, ((t.moved, fill),), words))
    draw_bars(picture, "Bytes that are moved", levels, y)
    used = {_fill(kind) for kind, _ in kinds} | {b.parts[0][1] for b in levels}
    for fill, meaning in MEANINGS.items():
        if fill in used:
            picture.key(meaning, fill=fill)
    return picture.svg()


def _fill(kind: str) -> str:
    return FILLS.get(kind) or FILLS.get(kind.split(".")[0], OTHER)
