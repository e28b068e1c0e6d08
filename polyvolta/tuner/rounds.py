"""Which candidates are timed how often: many shortly, the best again and again.

Each stage races some, taking turns, and the next one those that were the fastest. A time is the median of its rounds,
which a few that were disturbed don't move; the order within a round rotates (`cuda.run.timing.graphs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from polyvolta.compiler.remembered.entries import Timed

STAGES = ((8, 5), (4, 9), (2, 15))
"""(candidates, rounds) of each stage."""
NEAR = 1.15  # times as slow as the fastest: who is slower in a first short timing isn't raced


def halving(
    race: Callable[[Sequence[str], int], dict[str, float]], names: Iterable[str]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Race candidates stage by stage: the last time of each, and who was in the last stage.

    Parameters
    ----------
    race : seconds of each of some candidates that take turns for so many rounds.
    names : the candidates, those thought best first.

    >>> halving(lambda names, rounds: {n: len(n) + rounds / 100 for n in names}, ["aaa", "a", "aa"])
    ({'aaa': 3.09, 'a': 1.15, 'aa': 2.15}, ('a', 'aa'))
    """
    times: dict[str, float] = {}
    left = list(names)
    for most, rounds in STAGES:
        left = left[:most]
        times |= race(left, rounds)
        left.sort(key=lambda n: times[n])
    return times, tuple(left)


def finalists(entries: Iterable[Timed]) -> list[Timed]:
    """Those worth a race: the fastest by what is known, not far behind the fastest."""
    timed = sorted((e for e in entries if e.seconds is not None), key=lambda e: e.seconds or 0.0)
    return [e for e in timed[: STAGES[0][0]] if (e.seconds or 0.0) <= NEAR * (timed[0].seconds or 0.0)]
