"""Bank conflicts: every access to shared memory, of every warp, by the bank model.

Which banks the lanes of a warp reach is a matter of the layout and of who takes what: both are maps with numbers for
inputs, so that all requests are enumerated and counted. What is the same for all lanes, such as the buffer of a k tile,
moves all of them by as many banks, and makes no difference; nor does a lane less make a conflict more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.layouts.bank_model import BANKS, WORD, phases, worst_degree
from polyvolta.cuda.verify.accesses.requests import Case, Requests, requests
from polyvolta.cuda.verify.engine.addresses import Addresses
from polyvolta.cuda.verify.engine.symbols import thread_numbers
from polyvolta.cuda.verify.report.records import NoMeaning, Verdict
from polyvolta.sets import Aff


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """One instruction of an operation: where it reaches in shared memory.

    Parameters
    ----------
    bytes : [combination, warp, lane], the first byte of each lane's access, up to a multiple that all lanes share.
    width : bytes of a lane's access.
    array : of the tile or the exchange buffer.
    """

    bytes: np.ndarray
    width: int
    array: str


def instructions(r: Requests) -> Iterator[Words]:
    """The accesses to shared memory that an operation is made of, one after the other."""
    for access in r.accesses:
        first = Addresses(r.ir, access, r.values, lambda e: _slot(r, e)).instructions
        for n in range(first.shape[-1]):
            yield Words(first[..., n], access.bytes, access.array)


def _slot(r: Requests, e: Aff) -> np.ndarray:
    """A slot as numbers, up to what all lanes share; one that no thread has a part in may be any, such as 0."""
    if not e.names() & thread_numbers(r.ir).keys():
        return np.zeros(r.shape, np.int64)
    return r.split(e)[1]


def bank_conflicts(ir: KernelIR) -> Verdict:
    """Whether any access to shared memory has a bank conflict.

    Raises
    ------
    NoMeaning : the kernel has no shared memory.
    Undecided : a place in shared memory depends on more than threads and unrolled loops.
    """
    counts: dict[tuple[str, str, int], list[int]] = {}  # operation, array, width -> requests, worst degree
    found: Case | None = None
    known: dict[tuple, int] = {}  # places and width -> degree
    done: set[tuple] = set()
    for r in requests(ir, "shared"):
        for number, words in enumerate(instructions(r)):
            places = np.broadcast_to(words.bytes, r.shape)
            below = min(int(places.min()), 0)  # outside of the memory, but in a bank: `worst_degree` wants none below 0
            places = places - below // (BANKS * WORD) * (BANKS * WORD)
            if r.active is not None:
                places = np.where(r.active, places, -words.width)
            key = places.tobytes(), words.width
            if key not in known:
                known[key] = worst_degree(places, words.width)
            degree = known[key]
            row = counts.setdefault((r.title, words.array, words.width), [0, 1])
            row[1] = max(row[1], degree)
            if (r.title, number, key) not in done:  # it stands in the versions for full and for partial tiles
                done.add((r.title, number, key))
                row[0] += int((places >= 0).any(-1).sum())
            if degree > 1 and found is None:
                found = _conflict(r, words, places)
    if not counts:
        raise NoMeaning("the kernel has no shared memory")
    statement = (
        "no access to shared memory has a bank conflict: each phase of each of the "
        f"{sum(n for n, _ in counts.values())} requests of warps is served at once"
    )
    relation = "; ".join(
        f"{title} -> {array}: {n} x {32 * width} bytes, {8 * width} bits a lane, {degree}-way"
        for (title, array, width), (n, degree) in counts.items()
    )
    layouts = "; ".join(f"{t.name}: {t.layout}" for t in ir.tiles if t.layout is not None)
    if found is None:
        return Verdict(statement, f"{relation}. {layouts}")
    return Verdict(statement, f"{relation}. {layouts}", found.counter_example, found.requests.path)


def _conflict(r: Requests, words: Words, places: np.ndarray) -> Case | None:
    """The first request with a conflict that happens for some sizes."""
    for combination, warp in np.ndindex(*places.shape[:2]):
        row = places[combination, warp]
        if worst_degree(row[None], words.width) == 1:
            continue
        taking = np.flatnonzero(row >= 0)
        filled = np.where(row >= 0, row, row[taking[0]]) // words.width * words.width
        degrees = phases(filled.tolist(), words.width)
        phase = int(np.argmax(degrees))
        group = 32 // len(degrees)
        lanes = [n for n in range(phase * group, (phase + 1) * group) if row[n] >= 0]
        bank = filled // WORD % BANKS
        one, two = next((a, b) for a in lanes for b in lanes if a < b and filled[a] != filled[b] and bank[a] == bank[b])
        case = r.case(
            f"lanes {one} and {two} of one phase want different words of bank {bank[one]}: the phase is served "
            f"{degrees[phase]} times",
            (combination, warp, one),
            address=f"{words.array} bytes {filled[one]} and {filled[two]}",
        )
        if case is not None:
            return case
    return None
