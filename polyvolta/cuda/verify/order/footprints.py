"""Where events reach in shared memory, by which threads; and which instances of two events meet there.

An access to a ring goes to a slot that is an expression of the k tile, `c2 mod 3`, and in the slot to places that are
numbers of the thread. So a *footprint* is a set of pairs of a piece of memory and a thread, relative to the slot, or
absolute where the slot is a number too. Of two footprints it matters whether one place is reached

- by one thread in both, by two threads of one warp, by threads of two warps: the *scopes*, since what orders accesses
  of one thread doesn't order those of two.

The instances of two events that meet are then a relation: those whose slots are equal, for one ring, or overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK_BYTES, LANES, KernelIR
from polyvolta.cuda.verify.engine.addresses import Addresses, narrowest, slot_chunks
from polyvolta.cuda.verify.engine.symbols import parts, thread_numbers
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.program import Event, Touch
from polyvolta.sets import Aff, aff, var

THREAD, WARP, BLOCK = "thread", "warp", "block"
SCOPES = (THREAD, WARP, BLOCK)


@dataclass(frozen=True, slots=True, eq=False)
class Footprint:
    """What some accesses of an event reach in one slot of one tile.

    Parameters
    ----------
    tile : by name.
    slot : which slot, in sizes and k tiles; None: `pairs` are absolute.
    size : of a slot, and
    start, count : the first slot's place and how many there are, in pieces of memory.
    pairs : int64, ascending, piece * threads + thread.
    touches : the accesses, each with its own pairs.
    """

    tile: str
    slot: Aff | None
    size: int
    start: int
    count: int
    pairs: np.ndarray
    touches: tuple[tuple[Touch, np.ndarray], ...]

    @property
    def span(self) -> tuple[int, int]:
        """The pieces that it can reach at all, as a half-open range."""
        return self.start, self.start + self.size * self.count


@dataclass(slots=True)
class Footprints:
    """The footprints of a kernel's events.

    Attributes
    ----------
    piece : bytes of a piece of memory, of which every access is a whole number.
    """

    ir: KernelIR
    piece: int = field(init=False)
    _known: dict[str, tuple[Footprint, ...]] = field(init=False, default_factory=dict)
    _places: dict[tuple, np.ndarray] = field(init=False, default_factory=dict)
    _scoped: dict[tuple[int, int, int], tuple[str, ...]] = field(init=False, default_factory=dict)
    _equal: dict[bytes, np.ndarray] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.piece = narrowest(self.ir)

    def of(self, event: Event) -> tuple[Footprint, ...]:
        """An event's footprints, one for each tile and expression of a slot."""
        if event.name not in self._known:
            found: dict[tuple[str, Aff | None, int], list[tuple[Touch, np.ndarray]]] = {}
            for touch in event.touches:
                key, pairs = self._reached(touch)
                found.setdefault(key, []).append((touch, pairs))
            self._known[event.name] = tuple(self._made(key, rows) for key, rows in found.items())
        return self._known[event.name]

    def _made(self, key: tuple[str, Aff | None, int], rows: list[tuple[Touch, np.ndarray]]) -> Footprint:
        name, slot, chunks = key
        tile, per_chunk = self.ir.tile(name), CHUNK_BYTES // self.piece
        count = tile.buffers * tile.chunks // chunks
        pairs = rows[0][1] if len(rows) == 1 else _ascending(np.sort(np.concatenate([pairs for _, pairs in rows])))
        return Footprint(name, slot, chunks * per_chunk, tile.start * per_chunk, count, pairs, tuple(rows))

    def _reached(self, touch: Touch) -> tuple[tuple[str, Aff | None, int], np.ndarray]:
        access = touch.access
        tile = self.ir.tile(access.array)
        bound = {n: aff(v) for n, v in touch.loops.items()}
        symbolic, numbers = self._split(access.slot.subs(bound))
        ring = not symbolic.is_constant
        if ring and (numbers != numbers.flat[0]).any():
            raise Undecided(f"the slot {access.slot} of {access.array} differs between threads and k tiles")
        key = (access.array, symbolic + int(numbers.flat[0]) if ring else None, slot_chunks(access, tile))
        own = tuple(e.subs(bound) for e in access.expressions)
        place = (access.array, access.kind, access.values, access.width, access.along, access.own, access.places, own,
                 ring, None if touch.mask is None else touch.mask.tobytes())  # fmt: skip
        if place not in self._places:
            self._places[place] = self._pairs(touch, bound, 0 * numbers if ring else numbers)
        return key, self._places[place]

    def _pairs(self, touch: Touch, bound: dict[str, Aff], slot: np.ndarray) -> np.ndarray:
        """Pieces and threads, in the slots with some numbers: of the warps and the lanes that any take part of."""
        mask = np.ones(slot.shape, bool) if touch.mask is None else touch.mask
        warps, lanes = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        some = np.ix_(warps, lanes)
        addresses = Addresses(
            self.ir, touch.access, lambda e: self._number(e.subs(bound))[some], lambda _: slot[some], lanes
        )
        pieces = addresses.pieces(self.piece)
        thread = (LANES * warps[:, None] + lanes)[..., None]
        active = mask[some][..., None]
        if addresses.outside is not None:  # which is a matter of bounds
            active = active & ~addresses.outside[..., None]
        pairs = pieces.astype(np.int64) * self.ir.threads + thread
        return _ascending(np.sort(pairs[np.broadcast_to(active, pairs.shape)]))

    def _split(self, e: Aff) -> tuple[Aff, np.ndarray]:
        threads = thread_numbers(self.ir)
        own, symbolic = parts(e, threads.keys())
        shape = threads["linearId"].shape
        return symbolic, np.broadcast_to(np.asarray(own.evaluate(threads), np.int64), shape)  # type: ignore[arg-type]

    def _number(self, e: Aff) -> np.ndarray:
        symbolic, numbers = self._split(e)
        if not symbolic.is_constant:
            raise Undecided(f"{e} has no single value for each thread: it is a place in shared memory")
        return numbers

    # ---- where two events meet

    def meetings(self, one: Event, other: Event) -> Iterator[tuple[str, Footprint, Footprint, list[Aff]]]:
        """How instances of two events reach one place: in which scope, and when, as `e >= 0`, the other one's
        dimensions primed."""
        for a, b in product(self.of(one), self.of(other)):
            (first, end), (start, last) = a.span, b.span
            if end <= start or last <= first:
                continue
            primed = None if b.slot is None else b.slot.subs({d: var(d + "'") for d in other.dims})
            if a.slot is not None and primed is not None and (a.tile, a.size) == (b.tile, b.size):
                for scope in self._scopes(a, b, 0):
                    yield scope, a, b, [a.slot - primed, primed - a.slot]
                continue
            for i, j in product(*(range(x.count) if x.slot is not None else (0,) for x in (a, b))):
                when = [e for s, k in ((a.slot, i), (primed, j)) if s is not None for e in (s - k, k - s)]
                for scope in self._scopes(a, b, j * b.size - i * a.size):
                    yield scope, a, b, when

    def _scopes(self, a: Footprint, b: Footprint, further: int) -> tuple[str, ...]:
        """The scopes in which two footprints meet, the other one so many pieces further."""
        one, other = self._shared(a.pairs), self._shared(b.pairs)
        key = id(one), id(other), further
        if key not in self._scoped:
            self._scoped[key] = self._meet(one, other + further * self.ir.threads)
        return self._scoped[key]

    def _shared(self, pairs: np.ndarray) -> np.ndarray:
        """One array for all that are equal, which stays."""
        return self._equal.setdefault(pairs.tobytes(), pairs)

    def _meet(self, one: np.ndarray, other: np.ndarray) -> tuple[str, ...]:
        """The scopes in which two sets of pieces and threads meet."""
        threads = self.ir.threads
        if not _meet(_ascending(one // threads), _ascending(other // threads)):
            return ()
        found = [THREAD] if _meet(one, other) else []
        for scope, width in ((WARP, LANES), (BLOCK, threads)):
            if _apart(one, other, threads, width, 1 if scope == WARP else LANES):
                found.append(scope)
        return tuple(found)


def _ascending(numbers: np.ndarray) -> np.ndarray:
    """Ascending numbers, each once. (`np.unique` doesn't know the order, and hashes them.)"""
    first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]


def _meet(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two ascending rows of numbers have one in common."""
    few, many = sorted((one, other), key=len)
    if not len(few):
        return False
    at = np.searchsorted(many, few)
    return bool((many[np.minimum(at, len(many) - 1)] == few).any())


def _apart(one: np.ndarray, other: np.ndarray, threads: int, group: int, member: int) -> bool:
    """Whether a place is reached by two different members of one group: two threads of a warp, two warps of a block."""
    def members(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place, thread = np.divmod(pairs, threads)
        code = (place * threads + thread // group * group) * threads + thread // member
        return np.divmod(_ascending(np.sort(code)), threads)

    (at, who), (there, whom) = members(one), members(other)
    for a, x, b, y in ((at, who, there, whom), (there, whom, at, who)):
        first = np.searchsorted(b, a)
        inside = first < len(b)
        inside[inside] &= b[first[inside]] == a[inside]
        if not inside.any():
            continue
        last = np.searchsorted(b, a, side="right") - 1
        if ((y[first[inside]] != x[inside]) | (y[last[inside]] != x[inside])).any():
            return True
    return False


def threads_at(a: np.ndarray, b: np.ndarray, threads: int, scope: str) -> tuple[int, int, int]:
    """A place that two sets reach in a scope, and who does, a thread of each."""
    at, other = a // threads, b // threads
    for place in np.intersect1d(at, other):
        for x, y in product(a[at == place] % threads, b[other == place] % threads):
            if scope == (THREAD if x == y else WARP if x // LANES == y // LANES else BLOCK):
                return int(place), int(x), int(y)
    raise AssertionError("the two sets meet in that scope")
