"""Roles that take turns at a block's tiles: a kernel for each remainder of a tile's number.

One warpgroup takes tiles 0, 2, 4, ..., another one 1, 3, 5, ..., and the producer takes all. Whose a tile is depends on
its number's remainder, and so does which of two buffers its result goes to: `turn mod 2` is a number for each of them.
So what is said of one tile, whichever it is, is said for each remainder p of a kernel of its own, in which

    turn                    is written 2*floor(turn/2) + p, which it is: turn mod 2 becomes p
    roles                   whose tiles these aren't have none; each statement stands where it stands in the kernel
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import lcm

from polyvolta.cuda.ir.kernel_ir import ByIdentity, KernelIR, Tiles
from polyvolta.cuda.ir.walk import put, replaced, walk
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles
from polyvolta.sets import var


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTurn(KernelIR):
    """What a kernel does for the tiles of one remainder.

    Parameters
    ----------
    whole : the kernel.
    """

    whole: KernelIR


def whole_of(ir: KernelIR) -> KernelIR:
    """The kernel that one is, or of which it is the tiles of one remainder."""
    return ir.whole if isinstance(ir, OfTurn) else ir


def in_turn(ir: KernelIR) -> tuple[KernelIR, ...]:
    """A kernel for each remainder of a tile's number; itself alone, if its roles take the same tiles, or begin late."""
    return _in_turn(ByIdentity(ir))


@lru_cache(maxsize=4)
def _in_turn(kept: ByIdentity) -> tuple[KernelIR, ...]:
    loops = loops_over_tiles(kept.ir)
    if len({(s.first, s.step) for s in loops}) < 2 or any(s.first >= s.step for s in loops):
        return (kept.ir,)
    period = lcm(*(s.step for s in loops))
    return tuple(_of_turn(kept.ir, period, p) for p in range(period))


def _of_turn(ir: KernelIR, period: int, rest: int) -> OfTurn:
    table = {s.turn: period * (var(s.turn) // period) + rest for s in loops_over_tiles(ir)}
    body = put(ir.body, lambda e: e.subs(table) if e.names() & table.keys() else e)
    for path, s in walk(body):
        if isinstance(s, Tiles):
            mine = (rest - s.first) % s.step == 0
            body = replaced(body, path, (replace(s, first=rest, step=period, body=s.body if mine else ()),))
    given = {f.name: getattr(ir, f.name) for f in fields(KernelIR)}
    return OfTurn(**{**given, "body": body}, whole=ir)
