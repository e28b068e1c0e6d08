"""Roles as coroutines: threads that go on at a pace of their own until they wait for others.

A *strand* is some warps of all blocks of a batch in lockstep: a role, or each of its warpgroups, in a cluster those of
each block; or all threads where there are no roles. What stands behind the roles ends the program of each, and is all
that warps without a role have to do. A program is a generator with loop variables of its own, which gives out each
operation that it has taken, or what it waits for: a phase that isn't complete, other strands that are to meet it at a
barrier. `weave` lets one strand take one step, then this one or another, as the kind of run says:

    "lazy"      each as far as it comes, then the next; what engines move arrives only when nobody else can go on
    "eager"     in turn, a step each; what engines move arrives at once
    a seed      any, drawn at random, some more often than others, and these change; so are the times of arrival

When no strand can go on and nothing is on its way, nobody ever will: a deadlock, with the place of each strand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from polyvolta.cuda.ir.engines.unfolded import OF_BLOCK, PART
from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import Role, Roles
from polyvolta.cuda.ir.walk import IrPath, inner
from polyvolta.cuda.machine.errors import Deadlock
from polyvolta.cuda.machine.memories import Blocks
from polyvolta.cuda.machine.reach import Mask

T = TypeVar("T")


class Wait(ABC):
    """What a strand waits for; its text says what that is."""

    __slots__ = ()

    @abstractmethod
    def over(self, m: Blocks) -> bool:
        """Whether it need not wait any longer."""


@dataclass(eq=False, slots=True)
class Strand(Generic[T]):
    """Some warps and their program.

    Parameters
    ----------
    name : for messages.
    role : which role's warps they are.
    mask : which threads; None: all.
    values : the names' values in it.
    steps : the program.
    block : the rank of its block in a cluster.

    Attributes
    ----------
    path : where it stands.
    wait : what it waits for, if for anything.
    meetings : how often it has come to where a role, or the block, meets.
    woven : all strands that it is woven with, itself included.
    """

    name: str
    role: str
    mask: Mask
    values: dict[str, Any]
    steps: Iterator[T | Wait]
    block: int = 0
    path: IrPath = ()
    wait: Wait | None = None
    ended: bool = False
    meetings: Counter[str] = field(default_factory=Counter)
    woven: Sequence[Strand] = ()

    @property
    def threads(self) -> np.ndarray:
        """The mask, of a strand that is not of all threads."""
        assert self.mask is not None
        return self.mask

    def met(self, scope: str) -> tuple[Strand, ...]:
        """Who meets at a barrier, itself included: a role, a block of a cluster, or all."""
        same = {"role": lambda s: s.role == self.role, PART: lambda s: s.block == self.block}
        return tuple(s for s in self.woven if scope == "block" or same[scope](s))


@dataclass(frozen=True, slots=True)
class Meeting(Wait):
    """A strand waits until all of some have come as often as it has; `words` are who they are."""

    scope: str
    times: int
    others: tuple[Strand, ...]
    whole: bool
    words: str

    def over(self, m: Blocks) -> bool:
        return self.whole and all(s.meetings[self.scope] >= self.times for s in self.others)

    def __str__(self) -> str:
        missing = [s.name for s in self.others if s.meetings[self.scope] < self.times]
        missing += [] if self.whole else ["warps without a role"]
        return f"a barrier of the {self.words}, to which {', '.join(missing)} must come"


SLOWEST, WHILE = 10, 128
"""Strands that are drawn at random: how many times a pace may be halved, and after how many steps at most paces are
others."""


class Weaver:
    """Chooses who is next.

    By a seed each strand is drawn as often as its pace says, and paces are drawn anew every now and then. So one may
    come far while another one stands still: between any two of its operations much can happen. Engines have a pace,
    too: what they move may arrive while all strands stand still.

    Parameters
    ----------
    arrival : the kind of run, a checked one.
    start : any numbers: with a seed they make each batch's choices its own.
    """

    def __init__(self, arrival: str | int, start: tuple[int, ...]) -> None:
        self.arrival = arrival
        self.random = None if isinstance(arrival, str) else np.random.default_rng((arrival, *start, 2))
        self.left, self.paces = 0, np.ones(0)  # steps until paces change; of each strand, and of engines

    def engines(self, strands: Sequence[Strand]) -> bool:
        """Whether it is the engines' turn, before that of one of the strands."""
        if self.random is None or len(strands) == 1:  # of which the others are parts
            return False
        self.left -= 1
        paces = self._paces(self.random, strands)
        return bool(self.random.random() * paces.sum() < paces[-1])

    def _paces(self, random: np.random.Generator, strands: Sequence[Strand]) -> np.ndarray:
        """Those that are valid for this step."""
        if self.left <= 0 or len(self.paces) != len(strands) + 1:
            self.left = int(random.integers(1, WHILE))
            self.paces = 0.5 ** random.integers(0, SLOWEST, len(strands) + 1)
        return self.paces

    def next(self, ready: Sequence[Strand], last: Strand | None, strands: Sequence[Strand]) -> Strand:
        """One of those that can go on."""
        if len(ready) == 1:
            return ready[0]
        if self.random is not None:
            paces = np.array([p for p, s in zip(self._paces(self.random, strands), strands) if s in ready])
            return ready[int(self.random.choice(len(ready), p=paces / paces.sum()))]
        if last in ready and self.arrival == "lazy":
            return last  # type: ignore[return-value]
        after = 0 if last is None else strands.index(last) + 1
        return next(s for s in (*strands[after:], *strands[:after]) if s in ready)


class Woven(Blocks, Protocol):
    """A batch of blocks whose threads take turns."""

    strand: Strand | None
    weaver: Weaver


def weave(m: Woven, strands: Sequence[Strand[T]], hasten: Callable[[], bool]) -> Iterator[T]:
    """The steps of all strands.

    Parameters
    ----------
    hasten : lets something arrive that is on its way; whether there was any.

    Raises
    ------
    Deadlock
    """
    outer, last = (m.strand, m.values, m.path), None
    for s in strands:
        s.woven = strands
    while live := [s for s in strands if not s.ended]:
        ready = [s for s in live if _goes_on(m, s)]
        if not ready and not hasten():
            raise _deadlock(m, strands)
        if not ready or (m.weaver.engines(strands) and hasten()):
            continue
        last = m.weaver.next(ready, last, strands)
        m.strand, m.values, m.path = last, last.values, last.path
        found = next(last.steps, None)
        last.path = m.path
        if found is None:
            last.ended = True
        elif isinstance(found, Wait):
            last.wait = found
        else:
            last.wait = None
            yield found
    m.strand, m.values, m.path = outer


def _goes_on(m: Woven, s: Strand) -> bool:
    if s.wait is None:
        return True
    m.strand, m.values, m.path = s, s.values, s.path
    return s.wait.over(m)


def _deadlock(m: Woven, strands: Sequence[Strand]) -> Deadlock:
    texts = []
    for s in strands:
        if s.ended:
            texts.append(f"{s.name or 'the program'} has ended")
            continue
        op, of = stands(m, s)
        loops = ", ".join(f"{n} = {v}" for n, v in of.items())
        at = " ".join(x for x in (type(op).__name__, getattr(op, "statement", "")) if x)
        texts.append(f"{s.name or 'the program'} at {at}{f' with {loops}' if loops else ''} waits for {s.wait}")
    place, _ = m.who(0, 0)
    more = "" if m.unfolded.ir is m.unfolded.of else ", its cluster"
    blocks = f"block {place}{more}" + (" and those with it" if m.shape[0] > 1 else "")
    return Deadlock("nobody can go on: " + "; ".join(texts), where=blocks)


def stands(m: Woven, s: Strand) -> tuple[Any, dict[str, int]]:
    """The operation at which a strand stands, None at its beginning; and the variables of the loops around, in its
    first warp. Where it waits it hasn't taken it; else it has."""
    outer = m.strand, m.values, m.path
    m.strand, m.values, m.path = s, s.values, s.path
    block = 0 if s.mask is None else int(np.argmax(s.mask.any((1, 2))))
    warp = 0 if s.mask is None else int(np.argmax(s.mask[block].any(1)))
    found = _statement(m), m.loops(block, warp)
    m.strand, m.values, m.path = outer
    return found


def _statement(m: Blocks) -> Any:
    body, s = m.ir.body, None
    for number in m.path:
        s = body[number]
        body = inner(s)
    return s


def parts_of(role: Role) -> list[tuple[str, int, int]]:
    """The strands of a role: its warpgroups, if it has some; name, first warp, warps. A block's name stands last.

    >>> parts_of(Role("consumer", 0, 8, ())), parts_of(Role("producer", 8, 1, ()))
    ([('consumer 0', 0, 4), ('consumer 1', 4, 4)], [('producer', 8, 1)])
    >>> parts_of(Role("consumer of block 1", 12, 8, ()))
    [('consumer 0 of block 1', 12, 4), ('consumer 1 of block 1', 16, 4)]
    """
    if role.first % WARPS or role.warps % WARPS or role.warps == WARPS:
        return [(role.name, role.first, role.warps)]
    name, of, rank = role.name.partition(OF_BLOCK)
    return [(f"{name} {n}{of}{rank}", role.first + WARPS * n, WARPS) for n in range(role.warps // WARPS)]


OTHERS = "the other warps"


def crews(s: Roles, warps: int, block: int, own: int) -> Iterator[tuple[str, str, int, int]]:
    """The strands of all roles, and of warps without one: name, role, first warp, warps.

    Parameters
    ----------
    warps, block : how many there are, and from a block of the cluster to the next one.
    own : how many of these a block really has; 0: nothing stands behind the roles, and others have nothing to do.

    >>> list(crews(Roles((Role("consumer", 0, 4, ()), Role("producer", 4, 1, ()))), 8, 8, 8))
    [('consumer', 'consumer', 0, 4), ('producer', 'producer', 4, 1), ('the other warps', 'the other warps', 5, 3)]
    """
    taken = [False] * warps
    for role in s.roles:
        for name, first, count in parts_of(role):
            taken[first : first + count] = [True] * count
            yield name, role.name, first, count
    for first in range(0, warps, block):
        left = [w for w in range(first, first + own) if not taken[w]]
        name = f"{OTHERS}{OF_BLOCK}{first // block}" if warps > block else OTHERS
        for start in (w for w in left if w - 1 not in left):
            count = next(n for n in range(1, warps + 1) if start + n not in left)
            yield name, name, start, count
