"""Tiles of a block one after the other: any two of them stand for all.

A block that computes tile after tile goes on counting the k tiles of its ring: with T of them in each tile of the
result, the ring's number n is turn * T + k, and a product of two unknowns is nothing that relations say. But no more
than two tiles need be known at once. So a program is read as if the block computed two tiles, any two,

    one, with `tiles` k tiles before it, and a later one, with `tiles.later` >= tiles + T before it,

whatever is between them, and what is shown for all values of these parameters is shown for all numbers of tiles and
of k tiles. The argument has premises, which are checked (`Premises`):

- In a tile, arrivals and boxes are about phases of its own, those from tiles to tiles + T - 1 of a row that the ring
  counts, phase `turn` of one that has a phase a tile. So what a phase gets, it gets from one tile, and each tile's
  phases get the same. Phases of other tiles than the two are complete if they are when their own tile is looked at.
- Waits are for phases of their own tile or of earlier ones. So no step of the order of meetings goes to an earlier
  tile: what the order of the two says of them holds in the whole program, in which there are more events, and more
  order; a cycle would lie in one tile; and of two instances in one tile or in two the order is due to tiles that exist
  if the later one does.
- Two accesses to one place may be any number of tiles apart, and it would be too much to ask that two tiles alone
  order them. Where events are about numbers n of a ring of S slots, those that are S numbers apart are looked at, and
  nearer ones: the event that comes next, of the same thread and kind, is about number n + S, whether it is in the two
  tiles or not (that there is one for each number is checked), and comes before all that are about later numbers. Where
  an event is the same in each tile, as those of the epilogue are, neighbours are looked at, for the same reason.

Roles may take turns: one takes tiles 0, 2, ..., another one tiles 1, 3, ... Then the two are any two of given
remainders, number 2t + p and a later number 2t' + q, of which it is known who takes them, and all pairs of p and q are
looked at. Tiles that aren't read order those that are, though: where a row has a phase a tile, and in every tile phase
turn - 1 is left before phase turn is entered, its phases are one behind the other, whosever they are (`Spans.chained`).

What is found wrong of any two tiles may be wrong with fewer waits than there are. So cases are looked for in programs
that are no abstractions: a block's first tiles, one, two or three, are so many programs one after the other, exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import lcm

from polyvolta.cuda.ir.kernel_ir import KernelIR, Tiles
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, aff, var


@dataclass(frozen=True, slots=True)
class Turn:
    """One of the tiles that are read.

    Parameters
    ----------
    number : among those that are read, from 0 on.
    turn : its number among the block's.
    counters : what each tile adds -> the sum over the tiles before this one.
    least : the least number that it may stand for: others are whole periods further.
    """

    number: int
    turn: Aff
    counters: Mapping[Aff, Aff]
    least: int

    def names(self, s: Tiles) -> dict[str, Aff]:
        """What the names of a loop over tiles are in this one."""
        return {s.turn: self.turn, **{n: self.counters[e] for n, e in s.counters}}

    def in_turn(self, s: Tiles) -> bool:
        """Whether a loop over tiles has this one."""
        return self.least >= s.first and (self.least - s.first) % s.step == 0


@dataclass(frozen=True, slots=True)
class View:
    """Tiles of a block that are read as a program.

    Parameters
    ----------
    turns : one after the other.
    free : parameters in which they are said; () : they are the block's first ones.
    known : of the parameters, each `e >= 0`.
    name : of a tile's number.
    later : parameters of the one tile -> those of the later one.
    next : parameters of the one tile -> what those of the later one are if it is the next that it may be.
    period : after how many tiles it is the same roles that take them.
    rounds : names in which the numbers of tiles are read, so many periods -> what `period` times that is.
    again : whether all that is about the one tile alone is asked with another later one.
    """

    turns: tuple[Turn, ...]
    free: tuple[str, ...] = ()
    known: tuple[Aff, ...] = ()
    name: str = ""
    later: Mapping[str, Aff] = field(default_factory=dict)
    next: Mapping[str, Aff] = field(default_factory=dict)
    period: int = 1
    rounds: Mapping[str, Aff] = field(default_factory=dict)
    again: bool = False

    def said(self, e: Aff) -> Aff:
        """What is at least 0 whenever an expression is, of numbers of tiles; a whole number of periods is as it is.

        >>> view = View((), period=2, rounds={"t": var("turn") - 1})
        >>> print(view.said(4 * var("t") + 3), "and", view.said(var("t")))
        2*turn + 1 and turn - 1
        """
        mine = [(a, c) for a, c in e.terms if a in self.rounds]
        if any(a not in self.rounds and Aff(((a, 1),)).names() & self.rounds.keys() for a, _ in e.terms):
            raise Undecided(f"how {e} grows from tile to tile isn't plain")
        times = self.period if any(c % self.period for _, c in mine) else 1
        rest = times * Aff(tuple((a, c) for a, c in e.terms if a not in self.rounds), e.const)
        return sum(((c * times // self.period) * self.rounds[a] for a, c in mine), rest)  # type: ignore[index]

    @property
    def any_two(self) -> bool:
        """Whether they stand for any two tiles."""
        return bool(self.free)


def first_tiles(ir: KernelIR, count: int) -> View:
    """A block's first tiles."""
    added, name = _added(ir), loops_over_tiles(ir)[0].turn
    return View(tuple(Turn(n, aff(n), {e: n * e for e in added}, n) for n in range(count)), name=name)


def any_two_tiles(ir: KernelIR) -> tuple[View, ...]:
    """Any two tiles of a block, one later than the other; where roles take turns for each two remainders.

    Raises
    ------
    Undecided : roles that leave out tiles at the beginning.
    """
    loops = loops_over_tiles(ir)
    if any(s.first >= s.step for s in loops):
        raise Undecided("a role that begins with a later tile: which tiles are before its own isn't known")
    period = period_of(ir)
    return tuple(_two_tiles(ir, period, p, q) for p in range(period) for q in range(period))


def period_of(ir: KernelIR) -> int:
    """After how many tiles it is the same roles that take them."""
    return lcm(*(s.step for s in loops_over_tiles(ir)))


def _two_tiles(ir: KernelIR, period: int, one: int, other: int) -> View:
    """Any two tiles whose numbers have some remainders.

    The program is read with t and t' in numbers 2t + p and 2t' + q, so that remainders are numbers; in relations are
    the numbers themselves, whatever remainders they have. So these are the same for all remainders, but for who takes
    the tiles, and most of what is asked is computed once.
    """
    called = loops_over_tiles(ir)[0].turn
    apart = (other - one - 1) % period + 1  # tiles, at least
    name, after = _name(called, ir), _name(f"{called}.later", ir)
    later, following = {name: var(after)}, {name: var(name) + apart}
    counters: list[dict[Aff, Aff]] = [{}, {}]
    for e, counter in _added(ir).items():
        if e.is_constant and not e.const:
            counters[0][e] = counters[1][e] = aff(0)
            continue
        own = _name(counter, ir, later)
        later[own], following[own] = var(f"{own}.later"), var(own) + apart * e
        counters[0][e], counters[1][e] = var(own), later[own]
    free = tuple(n for own in later for n in (own, *later[own].names()))
    known = tuple(x for own in later for x in (var(own), later[own] - following[own]))
    if period == 1:
        turns = (Turn(0, var(name), counters[0], 0), Turn(1, var(after), counters[1], 0))
        return View(turns, free, known, called, later, following)
    rounds = {f"{n}.by{period}": var(n) - rest for n, rest in ((name, one), (after, other))}
    numbers = [period * var(n) + rest for n, rest in zip(rounds, (one, other))]
    turns = Turn(0, numbers[0], counters[0], one), Turn(1, numbers[1], counters[1], other)
    return View(turns, free, known, called, later, following, period, rounds, again=other > 0)


def _added(ir: KernelIR) -> dict[Aff, str]:
    """What each tile adds to counters -> a counter of that."""
    found: dict[Aff, str] = {}
    for s in loops_over_tiles(ir):
        for name, e in s.counters:
            found.setdefault(e, name)
    return found


def _name(name: str, ir: KernelIR, taken: Iterable[str] = ()) -> str:
    """A parameter's name, no size's and no other's."""
    taken = {*taken, *ir.sizes}
    return next(n for n in _numbered(name) if n not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    n = 1
    while True:
        n += 1
        yield f"{name}{n}"
