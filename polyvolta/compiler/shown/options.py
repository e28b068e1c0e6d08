"""Options with what each is, and why: given, found by tuning, predicted by the cost model, or chosen by which rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.rule.blocks import count
from polyvolta.compiler.shown.stages import tile
from polyvolta.compiler.tiling import OPTIONS, Tiling
from polyvolta.display.page import fold, table
from polyvolta.display.text import filled
from polyvolta.graph.plans.idioms import plan

if TYPE_CHECKING:
    from polyvolta.compiler.options import Options, Origin

PLAIN = "as for a plain product of large matrices"
NOT_WEIGHED = "not weighed by the rule"


def reasons(o: Options) -> dict[str, str]:
    """Why each option is what it is, by name."""
    origin = o.origin
    if origin is None:
        return {name: "given" if name in o.given else PLAIN for name in OPTIONS}
    sizes = ", ".join(f"{n} = {v}" for n, v in (origin.sizes or {}).items())
    if origin.how == "rule":
        why = _by_rule(o, origin)
    elif origin.how == "tuning":
        why = dict.fromkeys(OPTIONS, f"the fastest that tuning timed for {sizes}")
    else:
        of = f" for {sizes}" if sizes else " for the graph's sizes" if origin.how == "model" else ""
        why = dict.fromkeys(OPTIONS, f"the cost model's first choice{of}")
    return why | dict.fromkeys(origin.asked, "given")


def _by_rule(o: Options, origin: Origin) -> dict[str, str]:
    """What the rule of `polyvolta.compiler.rule.defaults` went by."""
    target, needs = origin.target, needs_of(plan(origin.graph, o.accumulators))
    of, kind = target.of_kind(needs.kind), o.by_blocks(target)
    family = target.families[0] if kind else None
    whole = family.block_tile if family else target.block_tile
    registers, limit = o.registers(needs, of), o.shared_limit(target)
    pairs = " and ".join(dict.fromkeys(f"{a} by {b}" for a, b in needs.layouts))
    who = "warpgroup" if kind else "warp"
    shared = f"{o.tile_bytes(of, needs):,} of {limit:,} bytes of shared memory"
    return {
        "block_tile": _block(o, whole, needs.sizes, target.multiprocessors),
        "warp_tile": f"one {who}'s part: {registers} registers a thread hold values, of {target.registers}",
        "macro_mma": "the widest that divides the warp tile" if kind else f"for operands that lie {pairs}",
        "split_k": _split(o, needs.sizes, target.multiprocessors),
        "buffers": f"as many as are wanted and fit: {shared}",
        "partial": "indices are tested in tiles at the edges alone",
        "accumulators": "one for a sum of products where that is possible",
        "prefetch": "as far ahead as the buffers allow",
        "fragments": "two where the target has them and strips take turns",
        "group": f"what {target.name} has by default",
        "dependent_launch": f"{target.name} {'can' if target.dependent_launch else 'has nothing of the kind'}",
    } | dict.fromkeys(("occupancy", "persistent", "pingpong", "swap", "cluster"), NOT_WEIGHED)


def _block(o: Options, whole: tuple[int, ...], sizes: tuple[int | None, int | None, int], most: int) -> str:
    rows, cols, _ = sizes
    if o.block_tile == tuple(whole):
        return "the target's: what one multiprocessor computes from few loads"
    if rows is None or cols is None:
        return f"smaller than the target's {tile(tuple(whole))}, so that all of it fits"
    return f"for {rows} x {cols} results: {count(o.block_tile, rows, cols)} blocks for {most} multiprocessors"


def _split(o: Options, sizes: tuple[int | None, int | None, int], most: int) -> str:
    rows, cols, depth = sizes
    if o.split_k == 1:
        known = rows is not None and cols is not None
        return f"blocks are enough for {most} multiprocessors" if known else "sizes are not known to be small"
    return f"few blocks for {most} multiprocessors, and K = {depth} is long"


def as_html(o: Options) -> str:
    """The options as a table, and what they mean in a fold."""
    why = reasons(o)
    rows = [(name, value(getattr(o, name)), why[name]) for name in OPTIONS]
    meant = [(name, meaning) for name, meaning in meanings().items() if name in OPTIONS]
    return table(("option", "value", "why"), rows) + fold("what the options mean", table(("", ""), meant))


def as_text(o: Options) -> str:
    """The same in lines that fit."""
    why, wide = reasons(o), max(map(len, OPTIONS))
    values = {name: value(getattr(o, name)) for name in OPTIONS}
    room = max(map(len, values.values()))
    heads = {name: f"{name:{wide}}  {values[name]:{room}}  " for name in OPTIONS}
    return "\n".join(filled(why[name], " " * len(head), head) for name, head in heads.items())


def value(v: object) -> str:
    """An option's value in short.

    >>> value((128, 256, 64)), value(True), value("guard")
    ('128x256x64', 'yes', 'guard')
    """
    if isinstance(v, tuple):
        return tile(v)
    return ("yes" if v else "no") if isinstance(v, bool) else str(v)


@cache
def meanings() -> Mapping[str, str]:
    """What each option is: the first sentence that `Options` says of it."""
    from inspect import getdoc

    from polyvolta.compiler.options import Options

    text = (getdoc(Options) or "").partition("Parameters")[2].partition("Attributes\n")[0]
    found = re.findall(r"^(\w+) : (.*(?:\n[ ]{4}.*)*)", text, re.MULTILINE)
    return {name: _sentence(" ".join(said.split())) for name, said in found if name in Tiling.__dataclass_fields__}


def _sentence(text: str) -> str:
    return re.split(r"(?<=[a-z0-9)])\. ", text, maxsplit=1)[0].rstrip(".") + "."
