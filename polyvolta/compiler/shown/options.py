"""Options with what each is, and why: given, found by tuning, predicted by the cost model, or chosen by which rule."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.rule.blocks import count
from polyvolta.compiler.shown.stages import tile
from polyvolta.compiler.tiling import OPTIONS, Tiling
from polyvolta.display.page import fold, said, table
from polyvolta.display.shown import Shown
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


def said_once(why: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The reasons that are some options' own, and in a sentence the one that half of all options share.

    >>> said_once({"buffers": "given", "group": "given"})
    ({'buffers': '', 'group': ''}, 'All of them: given.')
    >>> said_once({"buffers": "given", "group": "what the target has"})[1]
    ''
    """
    reason, count = Counter(why.values()).most_common(1)[0]
    if 2 * count < len(why) or count == 1:
        return dict(why), ""
    which = "All of them" if count == len(why) else "Where nothing is said"
    return {name: "" if own == reason else own for name, own in why.items()}, f"{which}: {reason}."


SHOWN, TILES = 10, 3
"""Of a list the first combinations that are shown; of the options those that are tiles, which come first."""


class Listed(Shown, Iterator[Any]):
    """Options to be taken one after the other; showing the next ones takes none of them.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> space = pv.Options.space(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    >>> for line in str(space).splitlines()[:3]:
    ...     print(line)
    options to iterate over; the next:
    block_tile  warp_tile  macro_mma  split_k  buffers
    16x16x16    16x16x16   m16n16k8   1        1
    >>> next(space).block_tile
    (16, 16, 16)
    """

    __slots__ = ("_ahead", "_rest")

    def __init__(self, options: Iterator[Options]) -> None:
        self._ahead: deque[Options] = deque()
        self._rest = options

    def __next__(self) -> Options:
        return self._ahead.popleft() if self._ahead else next(self._rest)

    def _next(self) -> tuple[list[Options], bool]:
        """The next ones, which stay to be taken, and whether there are more."""
        self._ahead.extend(islice(self._rest, max(0, SHOWN + 1 - len(self._ahead))))
        return [*islice(self._ahead, SHOWN)], len(self._ahead) > SHOWN

    def __repr__(self) -> str:
        return "<options to iterate over; print them for the next>"

    def __str__(self) -> str:
        found, more = self._next()
        if not found:
            return "no more options"
        names = _telling(found)
        rows = [names, *([value(getattr(o, n)) for n in names] for o in found)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows)
        return "\n".join(["options to iterate over; the next:", *lines, *["..."] * more])

    def _html(self) -> str:
        found, more = self._next()
        names = _telling(found)
        rows = [tuple(value(getattr(o, n)) for n in names) for o in found]
        what = "options to iterate over; these are next" if found else "no more options"
        return said(f"{what}{', of more' * more}") + table(tuple(names), rows)


def _telling(options: list[Options]) -> list[str]:
    """The names of the tiles, and of what the options differ in."""
    return [n for k, n in enumerate(OPTIONS) if k < TILES or len({getattr(o, n) for o in options}) > 1]


def as_html(o: Options) -> str:
    """The options as a table, and what they mean in a fold."""
    why, common = said_once(reasons(o))
    own = any(why.values())
    rows = [(name, value(getattr(o, name)), *[why[name]] * own) for name in OPTIONS]
    meant = [(name, meaning) for name, meaning in meanings().items() if name in OPTIONS]
    whole = table(("option", "value", *["why"] * own), rows) + said(common)
    return whole + fold("what the options mean", table(("", ""), meant))


def as_text(o: Options) -> str:
    """The same in lines that fit."""
    (why, common), wide = said_once(reasons(o)), max(map(len, OPTIONS))
    values = {name: value(getattr(o, name)) for name in OPTIONS}
    room = max(map(len, values.values()))
    heads = {name: f"{name:{wide}}  {values[name]:{room}}  " for name in OPTIONS}
    lines = [filled(why[name], " " * len(head), head) or head.rstrip() for name, head in heads.items()]
    return "\n".join([*lines, *[filled(common)] * bool(common)])


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
