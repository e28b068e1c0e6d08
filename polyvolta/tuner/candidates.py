"""Which options are worth timing: the one place that asks for a ranking.

The ranking doesn't know what a launch does to the one before it: a dependent one begins while that one still runs, and
mostly gains the time of its beginning, but at some sizes takes more from the other's cache and memory than that. So
some of the best guesses are timed with plain launches, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from polyvolta.compiler.options import Options
from polyvolta.cuda.target.target import Target
from polyvolta.graph.dag import Graph

PLAIN = 4
"""Of so many guesses one is another one with a plain launch."""


def guesses(graph: Graph, target: Target, sizes: Mapping[str, int], count: int) -> tuple[Options, ...]:
    """The first of `Options.space`, of which the first is what `compile` chooses for these sizes by itself; and some of
    these with plain launches, see `worth_timing`.

    Parameters
    ----------
    count : how many, at most.
    """
    return worth_timing(Options.space(graph, target, sizes), count)


def worth_timing(ranked: Iterable[Options], count: int) -> tuple[Options, ...]:
    """So many of some options, best guesses first: a quarter are the first of them with plain launches, where theirs
    are dependent.

    >>> some = [Options(group=n, dependent_launch=True) for n in range(1, 9)]
    >>> [(o.group, o.dependent_launch) for o in worth_timing(some, 5)]
    [(1, True), (2, True), (3, True), (4, True), (1, False)]
    >>> [o.group for o in worth_timing([replace(o, dependent_launch=False) for o in some], 5)]
    [1, 2, 3, 4, 5]
    """
    first = list(islice(ranked, count))
    plain = [replace(o, dependent_launch=False) for o in first[: count // PLAIN] if o.dependent_launch]
    return tuple(dict.fromkeys([*first[: count - len(plain)], *plain]))
