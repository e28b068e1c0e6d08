"""What the rules of a well-formed IR say of names, index maps and expressions, wherever these stand.

A rule yields what is wrong, in words; nothing, if nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from polyvolta.cuda.ir.memories import LANES
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.names import C_KEYWORDS, NOT_FREE
from polyvolta.sets import Aff

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST_THREADS, MOST_SHARED, MOST_VALUES, MOST_INT = 1024, 2**20, 2**16, 2**31 - 1
"""Of a block, bytes of a block, values that a thread has of an array: beyond what there is, not beyond memory."""


def of_name(what: str, name: str, taken: Container[str] = ()) -> Iterator[str]:
    """A name that the text may have, and that nothing else has."""
    if not IDENTIFIER.fullmatch(name) or name in C_KEYWORDS | NOT_FREE:
        yield f"{name!r} can't name {what}: it is no identifier of C"
    elif name in taken:
        yield f"{name!r} can't name {what}: something else is called so"


def of_map(what: str, f: IndexMap, ins: int, outs: int) -> Iterator[str]:
    """An index map with so many inputs and outputs."""
    if (len(f.inputs), len(f.outputs)) != (ins, outs):
        yield f"{what} takes {len(f.inputs)} indices to {len(f.outputs)}, not {ins} to {outs}"
    for part in (f.inputs, f.outputs):
        for n, (name, _) in enumerate(part):
            yield from of_name(f"an index of {what}", name, [other for other, _ in part[:n]])
    if any(not 1 <= extent <= MOST_VALUES for _, extent in f.inputs):
        yield f"{what} has the extents {f.inputs}"
    yield from unknown(what, f.exprs, {n for n, _ in f.inputs})


def of_lanes(what: str, f: IndexMap, outs: int, *second: tuple[str, int]) -> Iterator[str]:
    """An index map of lanes, and of what each has several of."""
    yield from of_map(what, f, 1 + len(second), outs)
    if f.inputs != (("lane", LANES), *second):
        yield f"{what} is of {f.inputs}, not of {(('lane', LANES), *second)}"


def unknown(what: str, expressions: Iterable[Aff], known: Iterable[str]) -> Iterator[str]:
    """Expressions of names that have no value, or with numbers that no int holds."""
    for e in expressions:
        if missing := sorted(e.names() - set(known)):
            yield f"{what} is {e}, and {missing[0]} has no value there"
        if any(abs(n) > MOST_INT for n in (e.const, *(factor for _, factor in e.terms))):
            yield f"{what} is {e}, which is beyond an int of 32 bits"
