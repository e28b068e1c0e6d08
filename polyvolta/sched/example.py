"""One instance of a set as text, and small points, for messages: `S[0, 3] for N = 4`.

An example teaches by small numbers. So the instances are looked for in growing boxes around 0, iterators and parameters
alike, before any of them is taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyvolta.sets import Set, var
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space, Tuple

BOXES = (0, 1, 2, 3, 4, 6, 8, 16, 32, 64, 256, 4096, 65536)


def example(instances: Set) -> str:
    """One of the instances, of which there is one, with the parameters that it is for.

    Cost: see `small_point`.

    >>> example(Set("[N] -> { S[i] : 3 <= i < N }"))
    'S[3] for N = 4'
    """
    space, pieces = next((s, cs) for s, cs in instances.parts if any(not c.is_empty for c in cs))
    point = small_point(c for c in pieces if not c.is_empty)
    values = [f"{p} = {v}" for p, v in zip(instances.param_names, point, strict=False)]
    text = f"{space.out.name}[{', '.join(map(str, point[len(values) :]))}]"
    return text + (f" for {', '.join(values)}" if values else "")


def small_point(pieces: Iterable[Conjunct]) -> tuple[int, ...]:
    """An integer point of some conjuncts, none of them empty, in the smallest box around 0 that has one.

    Cost: an emptiness test for each box that has none, and one lexicographic minimum.
    """
    pieces = tuple(pieces)
    names = tuple(f"x{k}" for k in range(pieces[0].n))
    for low, high in [box for b in BOXES for box in ((0, b), (-b, b))]:  # what is not negative is easier to picture
        rows = [row for x in names for row in (("ge", var(x) - low), ("ge", high - var(x)))]
        knife = RowBuilder(names).conjunct(rows)
        assert knife is not None
        boxed = Set._of((), [(Space(None, Tuple(None, names)), pieces)]) & Set._of(
            (), [(Space(None, Tuple(None, names)), (knife,))]
        )
        if not boxed.is_empty():
            return next(iter(boxed.lexmin().points()))
    point = cj.sample(pieces[0])
    assert point is not None
    return point
