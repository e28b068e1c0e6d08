"""One instance of a set as text, for messages: `S[0, 3] for N = 4`.

An example teaches by small numbers. So the instances are looked for in growing boxes around 0, iterators and parameters
alike, before any of them is taken.
"""

from __future__ import annotations

from polyvolta.sets import Set, var
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, Tuple

BOXES = (1, 2, 4, 16, 256, 65536)


def example(instances: Set) -> str:
    """One of the instances, of which there is one, with the parameters that it is for.

    Cost: an emptiness test for each box that has none, and the sampling of a point.

    >>> example(Set("[N] -> { S[i] : 3 <= i < N }"))
    'S[3] for N = 4'
    """
    space, pieces = next((s, cs) for s, cs in instances.parts if any(not c.is_empty for c in cs))
    names = tuple(f"x{k}" for k in range(len(instances.param_names) + len(space.dims)))
    points = Set._of((), [(Space(None, Tuple(None, names)), pieces)])
    for bound in BOXES:
        within = [("ge", sign * var(x) + bound) for x in names for sign in (1, -1)]
        box = RowBuilder(names).conjunct(within)
        near = points & Set._of((), [(points.space, (box,) if box else ())])
        if not near.is_empty():
            points = near
            break
    point = points.sample_point()
    values = [f"{p} = {v}" for p, v in zip(instances.param_names, point, strict=False)]
    text = f"{space.out.name}[{', '.join(map(str, point[len(values) :]))}]"
    return text + (f" for {', '.join(values)}" if values else "")
