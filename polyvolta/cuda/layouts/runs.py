"""Runs of eight in accumulator fragments: whether a macro-MMA's ownership map has them, and which values they are.

An ownership map { [lane, i] -> [row, col] } has runs if each lane's values make up whole runs of 8 consecutive
elements along the dimension in which the result is contiguous in memory, and all lanes find them in the same values.
The values of a run are read off the map; that their numbers follow from those of the round and of the place in the run
bit by bit makes them an expression. The plan's law, that the map after `picks` is `owns` and v further along, is then
proved as an equality of two relations before the plan is handed out.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES
from polyvolta.cuda.ir.runs import Runs
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import simplify

LANE, ROUND, V = var("lane"), var("round"), var("v")


@cache
def plan_runs(macro: MacroMma, order: tuple[int, int] = (0, 1)) -> Runs | None:
    """The runs in a macro-MMA's accumulator fragment; None where its lanes have no whole runs.

    Parameters
    ----------
    order : of the result's dimensions in memory, outermost first.

    Cost: a few milliseconds, once for each macro-MMA and order.

    >>> from polyvolta.cuda.target.registry import targets
    >>> from polyvolta.cuda.target.macro_mma import Interleave
    >>> made = targets["sm_80"].macro_mma("m16n32k16")
    >>> plan_runs(made.of()) is None
    True
    >>> wide = Interleave(made.interleave.rows, ("r0", "s0", "s1", "r1", "r2"), made.interleave.ks)
    >>> runs = plan_runs(made.of(interleave=wide))
    >>> print(*runs.picks.exprs, "at", *runs.owns.exprs)
    2*round + v + 2*floor(v/2) at 8*round + floor(lane/4) 8*(lane mod 4)
    """
    table = _runs(macro, order)
    if table is None:
        return None
    rounds = len(table)
    sizes = {"round": rounds, "v": CHUNK}
    value = _bitwise(table, sizes)
    if value is None:
        return None
    picks = IndexMap(tuple(sizes.items()), (("value", value),)).simplified()
    inputs = ("lane", LANES), ("round", rounds)
    first = macro.d.at(LANE, picks.at(ROUND, 0)[0])
    names = (n for n, _ in macro.d.outputs)
    owns = IndexMap(inputs, tuple(zip(names, first, strict=True))).simplified()
    runs = Runs(picks, owns, order[1], rounds)
    return runs if fits(runs, macro) else None


def fits(runs: Runs, macro: MacroMma) -> bool:
    """Whether lanes' runs are what they say: the law as an equality of relations { [lane, round, v] -> [row, col] }.

    And every value of a fragment is to be in one place of one run.
    """
    given, wanted = of_runs(runs, macro)
    values = macro.values[2]
    everything = IndexMap((("value", values),), (("value", var("value")),)).relation.domain()
    picked = runs.picks.relation
    fills = picked.range().is_equal(everything) and picked.is_injective() and runs.rounds * CHUNK == values
    return bool(fills) and bool(given.relation.is_equal(wanted.relation))


def of_runs(runs: Runs, macro: MacroMma) -> tuple[IndexMap, IndexMap]:
    """{ [lane, round, v] -> [row, col] } of each value of each run: by the ownership map, and as the runs have it."""
    inputs = ("lane", LANES), ("round", runs.rounds), ("v", CHUNK)
    names = tuple(n for n, _ in macro.d.outputs)
    given = macro.d.at(LANE, runs.picks.at(ROUND, V)[0])
    wanted = tuple(e + V if d == runs.along else e for d, e in enumerate(runs.owns.at(LANE, ROUND)))
    one, other = (IndexMap(inputs, tuple(zip(names, e, strict=True))) for e in (given, wanted))
    return one, other


def _runs(macro: MacroMma, order: tuple[int, int]) -> np.ndarray | None:
    """[round, place]: the values of each run, the same for all lanes, runs by their first values; None: there are none.

    Whether lanes have theirs in other values than lane 0 is for `fits` to see.
    """
    (lane, _), (value, count) = macro.d.inputs
    places = [np.broadcast_to(x, (count,)) for x in macro.d.evaluate({lane: 0, value: np.arange(count)})]
    line, run = places[order[0]], places[order[1]]
    held: dict[tuple[int, int], dict[int, int]] = {}
    for i in range(count):
        held.setdefault((int(line[i]), int(run[i]) // CHUNK), {})[int(run[i]) % CHUNK] = i
    if any(len(of_run) != CHUNK for of_run in held.values()):
        return None
    return np.array(sorted([of_run[place] for place in range(CHUNK)] for of_run in held.values()))


def _bitwise(table: np.ndarray, sizes: dict[str, int]) -> Aff | None:
    """An expression of a table's indices, if each of their bits adds a number of its own; None if it isn't so.

    >>> print(_bitwise(np.array([[0, 1, 8, 9], [2, 3, 10, 11]]), {"r": 2, "v": 4}))
    2*r + v + 6*floor(v/2)
    """
    if any(n & (n - 1) for n in table.shape):
        return None
    e = aff(int(table.flat[0]))
    for axis, name in enumerate(sizes):
        line = np.moveaxis(table, axis, 0)[:, 0]
        for bit in range((table.shape[axis] - 1).bit_length()):
            e = e + int(line[2**bit] - line[0]) * (var(name) // 2**bit % 2)
    e = simplify(e, {name: (0, n - 1) for name, n in sizes.items()})
    grid = dict(zip(sizes, np.indices(table.shape), strict=True))
    return e if np.array_equal(np.broadcast_to(e.evaluate(grid), table.shape), table) else None
