"""The kinds of proofs there are, and which of them are asked for.

Nothing of the verifier is imported here, so that a name of none is refused before it loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyvolta.cuda.errors import CudaError
from polyvolta.sets.errors import kind_of, nearest

PROOFS = {
    "arguments": "the arguments are the graph's inputs and outputs, with their shapes and layouts, and its scalars",
    "dependences": "the final schedule respects every dependence of the graph",
    "partition": "the macro tiles of the contraction partition the original domain",
    "written_once": "every element of an output is written exactly once",
    "copies": "every copy to shared memory covers its tile exactly",
    "fresh": "what is read from shared memory was written there, for this k tile",
    "barriers_between": "between a write to shared memory and its reads by other threads there is a barrier",
    "not_overwritten": "nothing in shared memory is overwritten before its last read",
    "phases": "every phase of a barrier in memory gets the arrivals and bytes that it waits for, and is the one meant",
    "deadlock": "nobody waits for ever for a phase of a barrier in memory",
    "in_flight": "products and stored boxes that are on their way keep their registers, and are over at the end",
    "proxies": "what threads write to shared memory is fenced before copy engines or tensor cores reach it",
    "grids": "a kernel that starts before the grids before it end reaches global memory when they are over",
    "sums": "every sum takes each k from 0 to K once; the parts of a split K are disjoint and cover it",
    "result": "what is stored at an element is the graph's expression of that element",
    "layouts": "what boxes write and what descriptors read is the layout of their tile",
    "ownership": "ownership maps give each element of a fragment one place, or one in each quad-pair that needs it",
    "exchange": "the accumulator map, the exchange through shared memory and the 128-bit pieces stored fit together",
    "bank_conflicts": "no access to shared memory has a bank conflict",
    "sectors": "what a warp wants of a line lies side by side, and the requests for a tile share few sectors",
    "alignment": "every vector access starts at a multiple of its width",
    "bounds": "every access is within its tensor, its tile and its register array",
    "barriers_reached": "every barrier is reached by all threads of its block, or warp",
}
"""Every kind of proof, in the order of the report, in words."""


class UnknownProof(CudaError, ValueError):
    """No kind of proof has that name."""

    id = "PV550"


def asked(only: str | Iterable[str] | None) -> tuple[str, ...]:
    """The names of the proofs that are asked for, in the report's order.

    >>> asked(("bounds", "fresh"))
    ('fresh', 'bounds')
    >>> asked("bounds, fresh")
    ('fresh', 'bounds')

    Raises
    ------
    UnknownProof : no names, or something that is none.
    """
    if only is None:
        return tuple(PROOFS)
    if isinstance(only, Mapping):
        raise UnknownProof("a mapping where names of proofs should be", hint="statements are proved for all sizes")
    if isinstance(only, bytes) or not isinstance(only, Iterable):
        raise UnknownProof(
            f"{kind_of(only)} where names of proofs should be", hint="such as 'bounds' or ('bounds', 'fresh')"
        )
    names = [n for part in only.split(",") if (n := part.strip())] if isinstance(only, str) else list(only)
    if not names:
        raise UnknownProof("no proof was asked for", hint=f"without `only` all are; known: {', '.join(PROOFS)}")
    for name in names:
        if not isinstance(name, str) or name not in PROOFS:
            raise UnknownProof(f"there is no proof {name!r}", hint=nearest(str(name), PROOFS))
    return tuple(name for name in PROOFS if name in names)
