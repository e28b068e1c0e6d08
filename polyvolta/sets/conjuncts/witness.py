"""Existentials of one conjunct as functions of another's columns: an inclusion that is seen without projecting them.

Every point of `a` is one of `b` if for the existentials f of `b` there are affine functions T of what `a` speaks of,
its own existentials among it, with which each row of `b` holds wherever those of `a` do. So `exists e: 0 <= y - 5e + 2x
<= 4` has the points of `exists f: 0 <= y - 5f - 3x <= 4`, by f = e - x.

Where both are the same set written in two ways, rows of `b` become rows of `a`. As many rows of `b` as it has
existentials, independent ones, and as many of `a` for them, make linear equations for T; where its coefficients are
integers, all rows are asked. Opposite rows a few apart come first, for there are few of them: those of `a` must not be
further apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from ..budgets import remembered, spend
from ..engine.rows import Row, negate
from .conjunct import Conjunct, juxtaposed
from .implies import Facts

TRIES = 16  # functions that are tried; where rows match, one of the first does
BREADTH = 6  # rows that one may become
STEPS = 200  # matches of single rows that are tried for them


@remembered(1 << 12)
def witnessed(a: Conjunct, b: Conjunct) -> bool:
    """Whether affine functions for the unknown divs of `b` are found that show every point of `a` to be one of `b`.

    A False says nothing. Sound: the functions have integer values where rows of `a` hold, and rows of `b` hold with
    them. At most 200 matches of rows and 16 functions, each with a sum of rows for each row of `b`.
    """
    if b.known or a.n != b.n:
        return False
    both = juxtaposed(a, b)
    base, width = 1 + both.n, 1 + both.n + len(both.divs)
    own = base + len(a.divs)
    unknown = [k for k in range(own, width) if both.divs[k - base] is None]
    facts = Facts(a, both)
    if facts.empty:
        return True
    eqs = both.eqs[len(a.eqs) :]
    rows = [facts.solved(r) for r in (*both.ineqs[len(a.ineqs) :], *eqs, *map(negate, eqs))]
    asked = [r for r in rows if any(r[k] for k in unknown)]
    for row in rows:
        if not (any(row[k] for k in unknown) or facts.plainly_imply(row) or facts.imply(row)):
            return False
    best: tuple[int, list[Row]] | None = None
    for images in _Matches(asked, unknown, facts.best).functions():
        left = [r for r in (_image(r, unknown, images) for r in asked) if not facts.plainly_imply(r)]
        if not left:
            return True
        if best is None or len(left) < best[0]:
            best = len(left), left
    return best is not None and best[0] <= 2 and all(map(facts.imply, best[1]))


def _image(row: Row, unknown: Sequence[int], images: Sequence[Sequence[int]]) -> Row:
    """The row with functions in place of unknown divs."""
    out = list(row)
    for k, image in zip(unknown, images, strict=True):
        v, out[k] = row[k], 0
        if v:
            for c, w in enumerate(image):
                if w:
                    out[c] += v * w
    return tuple(out)


class _Matches:
    """Rows of one conjunct with unknown divs, and what rows of another they may become.

    Parameters
    ----------
    rows : those of the one, `>= 0`.
    unknown : the columns of the unknown divs.
    best : for each linear part of a row of the other its constant.
    """

    def __init__(self, rows: Sequence[Row], unknown: Sequence[int], best: dict[Row, int]) -> None:
        self.unknown, self.best = unknown, best
        constants = {r[1:]: r[0] for r in rows}
        self.opposites = [key for key in best if negate(key) in best]
        slabs, singles, sides = [], [], []
        for key, const in constants.items():
            other = constants.get(negate(key))
            if other is None:
                singles.append(((const, *key), None))
                continue
            sides.append(((const, *key), None))
            if key > negate(key):
                slabs.append(((const, *key), const + other))
        slabs.sort(key=lambda slab: slab[1] or 0)
        singles.sort(key=lambda single: -self.content(single[0]))
        self.rows: list[tuple[Row, int | None]] = [*slabs, *singles, *sides]
        self.steps = 0

    def content(self, row: Row) -> int:
        """The greatest common divisor of the coefficients of unknown divs."""
        return gcd(*[row[k] for k in self.unknown])

    def functions(self) -> Iterator[list[list[int]]]:
        """Functions for the unknown divs, rows without them, with which some rows become rows of the other."""
        found = 0
        for images in self._from(0, []):
            yield images
            found += 1
            if found >= TRIES:
                return

    def _from(self, at: int, solved: list[tuple[int, list[int], list[int]]]) -> Iterator[list[list[int]]]:
        """Those that start with some equations `beta . f = function`, each with its pivot; the rows from `at` on."""
        if len(solved) == len(self.unknown):
            images = self._solution(solved)
            if images is not None:
                yield images
            return
        for k in range(at, len(self.rows)):
            row, width = self.rows[k]
            beta = [row[c] for c in self.unknown]
            if not any(_reduced(beta, [], solved)[0]):
                continue
            for target in self._targets(row, width):
                self.steps += 1
                spend(1)
                if self.steps > STEPS:
                    return
                own = [t - v for t, v in zip(target, self._known(row), strict=True)]
                beta_left, right = _reduced(beta, own, solved)
                pivot = next(c for c, v in enumerate(beta_left) if v)
                yield from self._from(k + 1, [*solved, (pivot, beta_left, right)])

    def _known(self, row: Row) -> list[int]:
        """The row without its unknown divs."""
        out = list(row)
        for k in self.unknown:
            out[k] = 0
        return out

    def _targets(self, row: Row, width: int | None) -> list[Row]:
        """The rows of the other that a row may become, those that are most like it first."""
        g, known = self.content(row), self._known(row)
        found = []
        for key in self.best if width is None else self.opposites:
            const = self.best[key]
            if width is not None and const + self.best[negate(key)] > width:
                continue
            apart = [t - v for t, v in zip((const, *key), known, strict=True)]
            if g == 1 or not any(v % g for v in apart):
                found.append((len(apart) - apart.count(0), (const, *key)))
        return [target for _, target in sorted(found)[:BREADTH]]

    def _solution(self, solved: list[tuple[int, list[int], list[int]]]) -> list[list[int]] | None:
        """The functions that equations in echelon form say, if their coefficients are integers."""
        images: list[list[int]] = [[] for _ in self.unknown]
        for pivot, beta, right in reversed(solved):
            value = list(right)
            for c, v in enumerate(beta):
                if v and c != pivot:
                    value = [x - v * y for x, y in zip(value, images[c], strict=True)]
            if any(x % beta[pivot] for x in value):
                return None
            images[pivot] = [x // beta[pivot] for x in value]
        return images


def _reduced(
    beta: Sequence[int], right: Sequence[int], solved: Sequence[tuple[int, list[int], list[int]]]
) -> tuple[list[int], list[int]]:
    """An equation without the pivots of others."""
    beta, right = list(beta), list(right)
    for pivot, other, function in solved:
        if beta[pivot]:
            p, q = other[pivot], beta[pivot]
            beta = [p * x - q * y for x, y in zip(beta, other, strict=True)]
            if right:
                right = [p * x - q * y for x, y in zip(right, function, strict=True)]
    return beta, right
