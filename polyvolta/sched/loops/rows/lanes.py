"""A piece in a band: with every member of the band equated to its column, what is left for each loop.

For loop k the values of the members k+1, ... and the local columns are projected away, innermost first, once for the
whole band. What then speaks of the column of loop k are its bounds; what does not is ensured by the loops outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import gcd, inf

from polyvolta.sched.loops.rows.columns import Columns, Row, outside, total
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lengths import several
from polyvolta.sched.loops.rows.linear import LOCAL, LOOP, Ends, Key, System, coefficient, negated, plus
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.rows.steps import (
    beyond_quotients,
    beyond_remainders,
    multiples,
    of_multiples,
    one_multiple,
    sums,
    whole,
)
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

MISSED = 8  # values beyond its integers that a bound is looked at for
WORTH = 2000  # steps that one of these may take
BRIEF = 2  # steps of loops that are not brief


class Lane:
    """A piece and its shadows: `shadows[k]` is the system over what is outside and loops 0..k of the band.

    Parameters
    ----------
    shift : what the member at hand has beyond its column (see `interleave`).
    left : numbers of the regions that the band isolates in which the piece is not, as far as the loops outside decide.
    rounds : whether shadows may be made of bounds that integers have, which need not be near to one another.
    asked : whether it is as flat as its integers are (see `flatter`) since it was restricted last.
    """

    __slots__ = ("_around", "_said", "asked", "left", "piece", "rounds", "shadows", "shift")

    def __init__(self, piece: Piece, shadows: list[System]) -> None:
        self.piece, self.shadows = piece, shadows
        self.left: frozenset[int] = frozenset()
        self.shift, self.asked, self.rounds = 0, False, True
        self._around: dict[int, tuple[System, Ends, Ends, System]] = {}
        self._said: dict[int, tuple[System, int, tuple]] = {}

    @staticmethod
    def of(piece: Piece, columns: Sequence[int], known: Known, start: int = 0, rounds: bool = True) -> Lane:
        """The lane of a piece whose equalities with the columns, one for each member or 0, are in its system."""
        lane = Lane(piece, [])
        lane.rounds = rounds
        lane.project(columns, known, start)
        return lane

    def project(self, columns: Sequence[int], known: Known, start: int = 0) -> None:
        """Make the shadows of the loops from number `start` on.

        Where they are not exact they are made of bounds that integers have (`whole`), if these say more of a loop:
        without 0 <= c2 projecting loses that c0 < N where 0 <= c0 + 3*c1 + 15*c2 < N.
        """
        found: dict[int, System | None] = {}
        self._project(columns, known, start, found)
        if self.rounds and not self.exact:
            before, each = self.shadows, [(k, col) for k, col in enumerate(columns) if col and k >= start]
            system = of_multiples(beyond_quotients(beyond_remainders(self.piece.system)))
            self._project(columns, known, start, found, whole, system)
            if not self.exact and all(before[k].rows_of(col) == self.shadows[k].rows_of(col) for k, col in each):
                self.shadows = before

    def _project(
        self,
        columns: Sequence[int],
        known: Known,
        start: int,
        found: dict[int, System | None],
        resolve: Callable[[System], bool] | None = None,
        system: System | None = None,
    ) -> None:
        """The same.

        Parameters
        ----------
        found : what is resolved for each loop, remembered for the next time.
        resolve : may change what columns are projected away from (`System.without`).
        system : the rows, where they say more than those of the piece.
        """
        rest = self.piece.system if system is None else system
        shadows: list[System] = [rest] * len(columns)
        gone = [c for c in rest.columns() if c >= LOCAL]
        if gone:
            rest = rest.without(gone, known.low, known.high, resolve)
        outermost = next((col for col in columns[start:] if col), LOOP)
        for k in range(len(columns) - 1, start - 1, -1):
            exact = None
            if columns[k] and not rest.exact:
                if k not in found:
                    found[k] = self.resolved(columns[k + 1 :], outermost - LOOP, known)
                exact = found[k]
            shadows[k] = exact or rest
            if not (rest.exact or exact) and columns[k]:
                self.tighten(shadows[k], columns[k], known, self.piece.system.ineqs)
            if k > start and columns[k]:
                rest = rest.without((columns[k],), known.low, known.high, resolve)
        self.shadows = shadows

    def around(self, k: int, col: int, known: Known) -> System:
        """What the shadow of loop k says of what is outside of the loop, remembered; not to be changed."""
        shadow, found = self.shadows[k], self._around.get(k)
        if found is None or found[0] is not shadow or found[1] != known.low or found[2] != known.high:
            found = shadow, known.low, known.high, shadow.without((col,), known.low, known.high)
            self._around[k] = found
        return found[3]

    def said(self, k: int, col: int) -> tuple:
        """What the shadow of loop k says of a column, as a value that can be compared; remembered."""
        shadow, found = self.shadows[k], self._said.get(k)
        if found is None or found[0] is not shadow or found[1] != col:
            found = self._said[k] = shadow, col, shadow.rows_of(col)
        return found[2]

    def tighten(self, shadow: System, col: int, known: Known, stated: Mapping[Key, int]) -> None:
        """Make bounds of a column as tight as the integers are.

        Projecting f away from c <= 2*f <= c + 1 and 4*b - c <= 2*f leaves 2*c >= 4*b - 1, and c is 2*b at least. Bounds
        that others imply stay as they are: tighter ones would count at a few small sizes, and be written for these.

        Parameters
        ----------
        stated : rows that stay unless they are numbers, such as those of the piece: what comes of no projection.
        """
        for key, const in list(shadow.ineqs.items()):
            if coefficient(key, col) and (len(key) == 1 or stated.get(key) != const):
                if known.touches(self.piece.system, key, const):
                    continue
                others = shadow.copy()
                del others.ineqs[key]
                if known.given(others).implies(key, const):
                    continue
                for least in range(MISSED):
                    try:
                        if bounded(WORTH, known.reaches, self.piece.system, key, const - least):
                            break
                    except BudgetExceeded:
                        return
                    shadow.ge(key, const - least - 1)

    def resolved(self, inner: Sequence[int], depth: int, known: Known) -> System | None:
        """The system without the inner loops, the values that two inequalities leave put in; None if they leave none.

        Projecting e away from 0 <= N - 4*(c + 3*e) <= 3 loses that c is floor(N/4) modulo 3. Where none does, those are
        looked for that are left once what has no divisor is away: i of 0 <= i - 4*c <= 3, 0 <= i - 64*q - 2*p <= 1.
        """
        found: list[Row] = []
        gone = {c for c in self.piece.system.columns() if c >= LOCAL}.union(filter(None, inner))

        def resolve(system: System) -> bool:
            rows = [*islice(tight(known.columns, system, depth, gone), 1)]
            for row in rows:
                system.eq(*row)
            found.extend(rows)
            return bool(rows)

        system = self.piece.system
        rest = system.without(gone, known.low, known.high, resolve)
        rows = [key for key, _ in (*system.every_ge(), *[row[:2] for row in system.mods])] if not found else ()
        plain = gone.difference([c for key in rows for c, v in key if abs(v) > 1])
        if rows and plain and plain != gone:
            rest = system.without(plain, known.low, known.high).without(gone, known.low, known.high, resolve)
        return rest if found else None

    def resolves(self, k: int, columns: Sequence[int]) -> bool:
        """Whether a value of loop k leaves inner loops values (`resolved`), where projecting was not exact.

        Of N <= i <= N + 1 for i = 2*c1 + 6*t - 3*c0 it leaves c1 + 3*t, and so c1 modulo 3, once c0 is known.
        """
        col, inner = columns[k], columns[k + 1 :]
        if all(s.exact for s in self.shadows[k + 1 :]):
            return False
        system, gone = self.piece.system.solved(set(filter(None, inner)))
        return any(coefficient(f, col) for f, _, _, _ in _between(system, col - LOOP + 1, gone))

    def copy(self) -> Lane:
        """One that can be changed."""
        out = Lane(self.piece.copy(), [s.copy() for s in self.shadows])
        out.left, out.shift, out.asked, out.rounds = self.left, self.shift, self.asked, self.rounds
        return out

    @property
    def empty(self) -> bool:
        """Whether a contradiction is plain."""
        return self.piece.system.empty or any(s.empty for s in self.shadows)

    @property
    def exact(self) -> bool:
        """Whether loops over the shadows run no further than there are instances, as far as projecting says."""
        return all(s.exact for s in self.shadows)

    def restrict(self, rows: System, k: int) -> Lane:
        """The lane within some rows over what is outside and loop k; a new one."""
        out = self.copy()
        out.asked = False
        out.piece.restrict(rows)
        for s in out.shadows[k:]:
            s.add(rows)
        return out

    def flatter(self, k: int, columns: Sequence[int], known: Known, alone: bool = False) -> Lane:
        """The lane with what its integers leave of loops from number k on, if fewer are loops then, or run too far.

        S[i] -> [floor((i + 3*floor((4*i + 2)/3) + 1)/4)] for 0 <= i <= 4 has the values 0, 2, 3, 4 and 5, which are
        i + 1 where a cut of the member's values leaves 1 <= i.

        Parameters
        ----------
        alone : no other lane shares the loop: an exact one is looked at, too, if a loop is inside. Of 1 <= i <= 3 and
            floor(i/3), floor((i + 1)/3), i mod 3 the third follows. Lanes that meet would be told apart by more tests,
            as would rows of what is outside, or of one loop, which its bounds say. Cost: `lattice.of_points`.
        """
        exact = all(s.exact for s in self.shadows[k:])
        if self.asked or (exact and not (alone and self.loose(k, columns)[0] > 1)):
            return self
        self.asked = True
        follows = lambda key: len(key) > 1 and not outside(key, columns[k] - LOOP)  # noqa: E731
        flat = self.piece.flat(known.ineqs, follows if exact else bool)
        if flat is self.piece:
            return self
        out = self.copy()
        out.piece = flat
        if flat.system.empty:
            return out
        out.project(columns, known, k)
        return out if out.loose(k, columns) < self.loose(k, columns) else self

    def enter(self, k: int, columns: Sequence[int], known: Known, parted: bool = True) -> None:
        """Put in what is known once loop k has a value: floors of that, and what it leaves loops inside.

        Parameters
        ----------
        parted : whether what bounds leave is looked for, too.
        """
        piece, outer = self.piece, lambda key: outside(key, columns[k] - LOOP + 1)
        settled = bool(piece.floors) and piece.promote(outer)
        if parted and piece.pin(outer):  # of 0 <= c0 - 3*j <= 2 it leaves j
            piece.promote(outer)
            settled = True
        settled |= piece.land(columns[k + 2 :], outer, often=True)
        if settled and piece.floors:
            piece.promote(outer)
        if k + 1 < len(columns) and (settled or self.resolves(k, columns)):
            self.project(columns, known, k + 1)
        if parted:
            self.close(k, columns, outer, known)

    def close(self, k: int, columns: Sequence[int], outer: Callable[[Key], bool], known: Known) -> None:
        """Put in the values that all other columns leave floors inside loop k, if loops inside are exact then.

        Of 0 <= i - 32*q - 4*p <= 3 and 0 <= i - 5*c1 <= 4 it is q = floor((5*c1 - 4*p + 4)/32) once c1 has its value: a
        tile has one of the blocks at most, and no loop runs through the others to test whose they are. Instances are
        the same. Loops of two iterations stay as they are unless each has one value then. Cost: projections of a piece
        that is not exact.
        """
        loops, inside = columns[k + 1 :], self.shadows[k + 1 :]
        if all(s.exact for s, col in zip(inside, loops, strict=True) if col):
            return
        brief = all(s.exact or _brief(s, col) for s, col in zip(inside, loops, strict=True) if col)
        if brief and not several(known, inside, loops):
            return
        new = self.copy()
        if new.piece.pin(outer, True, [col for col in columns[k + 2 :] if col]) | new.put_multiples(outer):
            new.piece.promote(outer)
            if not new.piece.system.empty:
                new.project(columns, known, k + 1)
                left = new.shadows[k + 1 :]
                if all(s.exact for s in left) and not (brief and several(known, left, loops)):
                    self.piece, self.shadows, self.asked = new.piece, new.shadows, False

    def put_multiples(self, outer: Callable[[Key], bool]) -> bool:
        """State which multiples congruences are of (`multiples`); whether there was one."""
        piece, found = self.piece, False
        while not piece.system.empty and (one := next(multiples(piece.system, outer), None)):
            row, shift, d, floor = one
            piece.system.mods.remove((row, shift, d))  # the equality says it
            piece.system.eq(*total([(1, (row, shift, 1)), (-d, piece.outer_floor(*floor))])[:2])
            piece.settle()
            found = True
        return found

    def resolve(self, k: int, columns: Sequence[int], known: Known) -> None:
        """Put in what sums of columns inside are now that loop k has a value (`sums`), each once, and project."""
        piece, outer = self.piece, lambda key: outside(key, columns[k] - LOOP + 1)
        piece.fix_floors()
        met = set[tuple[Key, int, Key, int]]()
        while not piece.system.empty:
            one = next((one for one in sums(piece.system, outer) if one not in met), None)
            if one is None:
                break
            met.add(one)
            row, d, key, const = one
            piece.system.eq(*total([(1, (row, 0, 1)), (-1, piece.outer_floor(d, key, const))])[:2])
            piece.settle()
        self.project(columns, known, k + 1)

    def at_multiples(self, k: int, columns: Sequence[int], known: Known) -> Lane:
        """The lane with equalities for congruences that numbers leave one multiple, for its loops from number k on.

        Of c1 = c0 + 2 mod 4 where 2 <= c0 <= 3 and -1 <= c1 <= 3 it is c1 = c0 - 2, and what is at 0 comes no later.
        Integers are the same. Cost: a sum for each congruence, and projections where there is one.
        """
        rows = System(eqs=one_multiple(self.piece.system, known.low, known.high))
        if not rows.eqs:
            return self
        out = self.copy()
        out.asked = False
        out.piece.restrict(rows)
        if not out.piece.system.empty:
            out.project(columns, known, k)
        return out

    def loose(self, k: int, columns: Sequence[int]) -> tuple[int, int]:
        """How many loops from number k on have more than one value, and how many shadows more than integers have."""
        each = list(zip(columns, self.shadows, strict=True))[k:]
        several = [col for col, s in each if col and not _once(s, col)]
        return len(several), sum(not s.exact for _, s in each)

    def fix(self, k: int, col: int, key: Key, const: int, den: int = 1) -> Lane:
        """The lane at one value (key . x + const)/den of loop k; a new one, that is not shifted."""
        out = self.copy()
        out.shift = 0
        out.piece.replace(col, key, const, den)
        out.piece.system.mod(key, const, den)
        out.piece.settle()
        for s in out.shadows[k:]:
            s.replace(col, key, const, den)
            s.mod(key, const, den)
        return out

    def shifted(self, k: int, col: int, by: int) -> Lane:
        """The lane with a column for loop k that is less by a number; a new one."""
        out = self.fix(k, col, ((col, 1),), by)
        out.shift = self.shift + by
        return out


Parts = list[tuple[int, list[Lane]]]  # shifts, in order, and the lanes that have them


@dataclass(slots=True)
class Group:
    """Lanes that share a loop; `cell` bounds it, if their shadows do not."""

    lanes: list[Lane]
    cell: System | None = None

    def classes(self, k: int, col: int) -> list[System]:
        """The distinct shadows of the column."""
        return [shadow(c, k, col) for c in classes(self.lanes, k, col)]

    @property
    def parts(self) -> Parts:
        """The lanes by their shifts."""
        found: dict[int, list[Lane]] = {}
        for lane in self.lanes:
            found.setdefault(lane.shift, []).append(lane)
        return sorted(found.items())


def classes(lanes: Sequence[Lane], k: int, col: int) -> list[list[Lane]]:
    """Lanes by what they say of a column."""
    if len(lanes) == 1:
        return [list(lanes)]
    found: dict[tuple, list[Lane]] = {}
    for lane in lanes:
        found.setdefault(lane.said(k, col), []).append(lane)
    return list(found.values())


def valued(group: Group, k: int, col: int) -> list[Group]:
    """Lanes of one value each apart from the others, where the order is free: a loop would look for them all along."""
    each = classes(group.lanes, k, col)
    alone = [some for some in each if any(coefficient(key, col) for key, _ in some[0].shadows[k].eqs)]
    if group.cell is not None or not 0 < len(alone) < len(each):
        return [group]
    rest = [lane for lane in group.lanes if not any(lane in some for some in alone)]
    return [Group(some) for some in (*alone, rest)]


def linked(lanes: Iterable[Lane], near: Callable[[Lane, Lane], bool]) -> list[list[Lane]]:
    """Lanes together that are near to one another, be it by way of others."""
    out: list[list[Lane]] = []
    for lane in lanes:
        mine = [some for some in out if any(near(lane, other) for other in some)]
        out = [*(some for some in out if some not in mine), [*(other for some in mine for other in some), lane]]
    return out


def in_cell(known: Known, lanes: Iterable[Lane], rows: System, k: int) -> list[Lane]:
    """The lanes within some rows over what is outside and loop k that may have values there."""
    inside = [lane.restrict(rows, k) for lane in lanes]
    return [lane for lane in inside if not (lane.empty or known.excludes(lane.shadows[k]))]


def shadow(lanes: Sequence[Lane], k: int, col: int) -> System:
    """What all lanes of a class say: their shadow if they have one, else its rows that speak of the column."""
    first, *others = [lane.shadows[k] for lane in lanes]
    if all((s.ineqs, s.eqs, s.mods) == (first.ineqs, first.eqs, first.mods) for s in others):
        return first
    return System(*first.rows_of(col))


def _once(s: System, col: int) -> bool:
    """Whether an equality leaves a loop one value, or two opposite inequalities do: a floor of what is outside."""
    rows = [(-inf, key) for key, _ in s.eqs] + [(c + s.ineqs.get(negated(key), inf), key) for key, c in s.ineqs.items()]
    return any(between < abs(coefficient(key, col)) for between, key in rows if coefficient(key, col))


def _brief(s: System, col: int) -> bool:
    """Whether two opposite inequalities leave a loop one iteration or two."""
    both = [const + s.ineqs.get(negated(key), BRIEF - const) for key, const in s.ineqs.items() if coefficient(key, col)]
    return min(both, default=BRIEF) < BRIEF


def tight(columns: Columns, system: System, depth: int, gone: set[int]) -> Iterator[Row]:
    """Rows that are 0 by opposite inequalities between which there is one multiple of a number.

    0 <= f + g*h + c <= g - 1 says that h is -floor((f + c)/g). Here f is of what is outside of loop `depth`, which has
    its value already, and h of two columns or more that are not, one of which is to go: the row takes it away.
    """
    for f, h, g, low in _between(system, depth, gone):
        whole, shift = columns.quotient(g, f, low)
        yield plus(1, whole, 1, tuple([(c, v // g) for c, v in h])), shift


def _between(system: System, depth: int, gone: set[int]) -> Iterator[tuple[Key, Key, int, int]]:
    """The (f, h, g, low) of opposite inequalities 0 <= f + g*h + low <= g - 1 that `tight` uses."""
    for key, low in system.ineqs.items():
        f = tuple([t for t in key if outside((t,), depth)])
        h = tuple([t for t in key if t not in f])
        if not f or len(h) < 2 or not any(c in gone or c >= LOCAL for c, _ in h):
            continue
        g = gcd(*[v for _, v in h])
        high = system.ineqs.get(negated(key))
        if g > 1 and high is not None and low + high < g:
            yield f, h, g, low
