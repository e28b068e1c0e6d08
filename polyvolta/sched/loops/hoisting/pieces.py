"""Long code, as of an unrolled loop, is looked at in pieces, and for what is plain of its parts first.

A rule that puts neighbours under a condition that all of them need asks each of them for the conditions of all. Of a
few that is nothing. A loop of a thousand iterations written out would have a million questions, again for each
condition inside of it, and text in which a thousand conditions are in one another: no compiler takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import TypeVar

from polyvolta.sched.loops.ast import Ast, Call, If, within
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import FLOOR, Key, System, negated

DEEP = 64  # conditions in one another beyond which there are no more
LONG = 256  # conditions side by side that are looked at at once

T = TypeVar("T")


def in_pieces(body: Sequence[Ast], f: Callable[[Sequence[Ast]], Iterable[Ast]]) -> list[Ast]:
    """What a function makes of the pieces of some code, one after another.

    Each has a few conditions side by side. What the last one of them became is the first one of the next piece, if it
    is small: neighbours belong together on both sides of where a piece ends. Few conditions are one piece.
    """
    out: list[Ast] = []
    piece: list[Ast] = []
    room = LONG
    for node in body:
        if not room:
            *done, last = f(piece)
            out += done
            piece, room = [last], LONG - conditions(last)
            if room <= 0:
                out.append(last)
                piece, room = [], LONG
        piece.append(node)
        room -= isinstance(node, If)
    return [*out, *f(piece)] if piece else out


def conditions(node: Ast) -> int:
    """How many conditions a node is, with those in it; any number beyond `LONG` where they are more."""
    total, inside = 0, [node]
    for one in inside:  # which grows
        total += isinstance(one, If)
        inside += within(one)
        if total > LONG:
            break
    return total


def full(body: Iterable[Ast], around: int) -> bool:
    """Whether conditions in one another, those in some code and those around it, are as many as there are to be."""
    return around >= DEEP or any(depth(node, DEEP - around) >= DEEP - around for node in body)


def depth(node: Ast, enough: int = DEEP) -> int:
    """How many conditions stand inside one another in some code; what is enough where they are more."""
    own, inner = int(isinstance(node, If)), 0
    for one in within(node) if enough > own else ():
        if not isinstance(one, Call):
            inner = max(inner, depth(one, enough - own))
            if own + inner >= enough:
                break
    return own + inner


class Part:
    """What holds in a part of some code that needs something, found where it is asked.

    Most need one row. What follows of the same key does so from that row or without it: where some points are on both
    sides of a value, others have it. So there is no tableau of these.
    """

    __slots__ = ("_inside", "_known", "_needs", "_plain")

    def __init__(self, known: Known, needs: System) -> None:
        self._known, self._needs = known, needs
        self._inside: Known | None = None
        self._plain: Row | None = None
        if len(needs.ineqs) == 1 and not (needs.eqs or needs.mods or needs.empty or known.residues):
            ((key, const),) = needs.ineqs.items()
            opposite = known.ineqs.get(negated(key))
            if key[-1][0] < FLOOR and (opposite is None or opposite + const >= 0):
                self._plain = key, const

    def implies(self, key: Key, const: int) -> bool:
        """Whether `key . x + const >= 0` always."""
        if self._plain is not None and self._plain[0] == key:
            return self._plain[1] <= const or self._known.implies(key, const)
        return self._there().implies(key, const)

    def implies_zero(self, key: Key, const: int) -> bool:
        """Whether `key . x + const = 0` always."""
        return self._there().implies_zero(key, const)

    def _there(self) -> Known:
        if self._inside is None:
            self._inside = self._known.given(self._needs)
        return self._inside


def most_neighbours(
    n: int,
    asked: Iterable[tuple[T, Row, int | None]],
    follows: Callable[[int, T], bool],
    worth: Callable[[T, int, int], bool],
) -> tuple[int, int, T] | None:
    """The most neighbours of n, two or more, of which something follows: from where, to where, and what.

    Of as many the first thing that is asked, and the first place.

    What follows where more is asked does so where less is: rows of one key are looked at from the loosest one on, and
    where neighbours are too few no stronger one is. So a chain of conditions takes no more than a question for each.

    Parameters
    ----------
    asked : what may follow, its row, and the only neighbour around which that counts, if it is but one.
    follows : whether it does, of one neighbour.
    worth : whether it is worth being taken, of neighbours from one on, to before another one.
    """
    best: tuple[int, int, int, T] | None = None  # how many; what it is of all asked, and where they begin, negated
    around: dict[Key, list[tuple[int, int]]] = {}
    for index, (what, (key, _), alone) in sorted(enumerate(asked), key=lambda one: -one[1][1][1]):
        least = 2 if best is None else best[0]
        few = least if best is None else least + (-index < best[1])  # fewer are not taken
        if few > n or (few == n and not (follows(0, what) and follows(n - 1, what))):
            continue
        if alone is not None:
            found = [_around(n, alone, partial(_asked, follows, what))]
        else:
            wide = [run for run in around.get(key, [(0, n)]) if run[1] - run[0] >= least]
            found = around[key] = [run for some in wide for run in _runs(*some, partial(_asked, follows, what))]
        for first, end in found:
            rank = end - first, -index, -first
            if end - first > 1 and (best is None or rank > best[:3]) and worth(what, first, end):
                best = *rank, what
    return None if best is None else (-best[2], best[0] - best[2], best[3])


def _asked(follows: Callable[[int, T], bool], what: T, k: int) -> bool:
    return follows(k, what)


def _around(n: int, alone: int, follows: Callable[[int], bool]) -> tuple[int, int]:
    """The neighbours around one of n of which something follows; none where it does not of that one."""
    before = sum(1 for _ in takewhile(follows, range(alone, -1, -1)))
    behind = sum(1 for _ in takewhile(follows, range(alone + 1, n))) if before else 0
    return alone + 1 - before, alone + 1 + behind


def _runs(first: int, end: int, follows: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """The longest runs of neighbours from one to before another of which something follows."""
    for k in range(first, end):
        if not follows(k):
            yield first, k
            first = k + 1  # noqa: PLW2901
    yield first, end
