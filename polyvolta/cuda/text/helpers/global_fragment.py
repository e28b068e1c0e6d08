"""Loads of eight values of a tensor that lie as a fragment's accumulators do, for operands of epilogues.

A lane's values lie where its accumulators lie in the result: of a row-major matrix two are side by side and come with
one access, others come one by one. The first one's place is computed, all others are so many lines and values further.
What several of the values are, as those of a vector are in all rows, is loaded once.

Where they come one by one each load of a fragment computes its first place anew: compilers that see how fragments of a
row of pieces lie keep the addresses of all their lines, two registers each, and spill accumulators for these.
"""

from __future__ import annotations

from functools import lru_cache

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.c_expr import NotPrintable, c_expr
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.global_memory import extents, parameters
from polyvolta.cuda.text.helpers.shared import LANE
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import simplify

PAIR = DeviceFunction(
    "load_pair_guarded",
    "unsigned",
    ("const fp16 *from", "int left"),
    ("return left > 1 ? *(const unsigned *)from : left > 0 ? *from : 0;",),
    "two values in one 32-bit load, with zeros for those behind the last one that is left",
)


@lru_cache(maxsize=256)
def load(own: IndexMap, order: tuple[int, ...], width: int, guarded: bool) -> DeviceFunction:
    """The load of a lane's eight values, `width` of them at a time: 1 or 2.

    Parameters
    ----------
    own : { [lane, i] -> [+d0, ...] }, where they are from `index` on.
    order : of the tensor's dimensions, outermost first.

    Raises
    ------
    NotPrintable : they don't lie alike in all lanes.
    """
    rank = len(order)
    places = [tuple(simplify(own.exprs[d].subs({"i": aff(i)}), LANE) for d in order) for i in range(0, 8, width)]
    further = [tuple(e - o for e, o in zip(p, places[0], strict=True)) for p in places]
    if not all(e.is_constant for p in further for e in p):
        raise NotPrintable("values of a lane that are differently far apart in each", where=str(own))
    steps = [tuple(e.const for e in p) for p in further]
    distinct = list(dict.fromkeys(steps))
    before, names = _start(places[0], rank)
    if width == 1 and rank == 2:
        before = [*before, 'asm volatile("" : "+l"(from));']
    reads = {p: _read(p, width, rank, names if guarded else None) for p in distinct}
    kind = "unsigned" if width == 2 else "fp16"
    named = [f"const {kind} v{n} = {reads[p]};" for n, p in enumerate(distinct)]
    values = [f"v{distinct.index(p)}" for p in steps]
    words = values if width == 2 else [f"{low} | {high} << 16" for low, high in zip(values[::2], values[1::2])]
    thing = "matrix" if rank == 2 else "vector"
    at = "[line, run]" if rank == 2 else "[at]"
    how = {1: "one by one", 2: "two at a time"}[width]
    outside = f", with zeros for what is outside of the {thing}" if guarded else ""
    return DeviceFunction(
        f"load_{'' if rank == 2 else 'vector_'}fragment{'_guarded' if guarded else ''}",
        "half8",
        (*parameters(rank, "const "), *(extents(rank) if guarded else ()), "int lane"),
        (*before, *named, f"return make_uint4({', '.join(words)});"),
        f"the lane's values of a fragment that starts at {at} of the {thing}, {how}{outside}: value n at\n"
        f"{_shown(own, order)}",
        (PAIR,) if guarded and width == 2 else (),
    )


def _start(first: tuple[Aff, ...], rank: int) -> tuple[list[str], tuple[str, ...]]:
    """Lines that move to the first value, and what its coordinates are called."""
    names = ("line", "run") if rank == 2 else ("at",)
    lines = [f"{n} += {c_expr(e, LANE)};" for n, e in zip(names, first, strict=True) if e != aff(0)]
    place = "matrix + line * ld + run" if rank == 2 else "vector + at"
    return [*lines, f"const fp16 *from = {place};"], names


def _read(more: tuple[int, ...], width: int, rank: int, names: tuple[str, ...] | None) -> str:
    """The values so many lines and values further than the first one; guarded, with the names of its coordinates."""
    line, run = more if rank == 2 else (0, *more)
    offset = "".join([f" + {line} * (long long)ld" if line else "", f" + {run}" if run else ""])
    place = f"from{offset}"
    if names is None:
        if width == 2:
            return f"*(const unsigned *)({place})" if offset else "*(const unsigned *)from"
        return f"*({place})" if offset else "*from"
    at = [f"{n} + {k}" if k else n for n, k in zip(names, more, strict=True)]
    left = f"length - {names[-1]}" + (f" - {more[-1]}" if more[-1] else "")
    if width == 2:
        return f"load_pair_guarded({place}, {f'{at[0]} < lines ? {left} : 0' if rank == 2 else left})"
    inside = " && ".join(f"{x} < {e}" for x, e in zip(at, ("lines", "length")[-rank:]))
    return f"{inside} ? {'*(' + place + ')' if offset else '*from'} : (fp16)0"


def _shown(own: IndexMap, order: tuple[int, ...]) -> IndexMap:
    """The map in the names of the function's arguments."""
    (lane, (_, values)) = own.inputs
    names = dict(zip(order, ("line", "run") if len(order) == 2 else ("at",), strict=True))
    exprs = [(f"+{names[d]}", e.subs({"i": var("n")})) for d, e in enumerate(own.exprs)]
    return IndexMap((lane, ("n", values)), tuple(exprs))
