"""Conditions: what the rows of a piece say beyond what is known, as the loop AST writes it.

A row over outer columns that neither a loop nor a condition around ensures must be tested. Local columns that are
left at a leaf are existentials: they are projected away, exactly, by the library where sums of rows do not do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import gcd, inf

from polyvolta.sched.loops.ast import AnyOf, Ast, Condition, If
from polyvolta.sched.loops.few_values import of_few_values
from polyvolta.sched.loops.parts.shared import shared
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known, beside_all, difference, sides
from polyvolta.sched.loops.rows.linear import FLOOR, LOCAL, Congruence, Key, System, dense, negated, plus
from polyvolta.sched.loops.rows.pieces import system_of
from polyvolta.sched.loops.rows.strides import residue_of
from polyvolta.sched.loops.rows.tableaus import ALMOST
from polyvolta.sets import Aff, Set
from polyvolta.sets.conjuncts.conjunct import Conjunct, normalise
from polyvolta.sets.conjuncts.project import project, with_known_divs
from polyvolta.sets.values.digits import mod_parts
from polyvolta.sets.values.space import NOWHERE

PLACES = 16  # combinations of bounds of loops that are looked at one by one
WORTH = 600  # steps that asking integers for one row may take
FACTORS = 64  # multiples of an equality that are tried


def beyond(known: Known, system: System, mine: Callable[[Key], bool] | None = None) -> System:
    """The rows of a system that what is known and the others do not imply; of those that are `mine` only."""
    out = System()
    out.empty = system.empty
    for key, const in system.eqs:
        if (mine is None or mine(key)) and not known.implies_zero(key, const):
            out.eqs.append((key, const))
    for row in out.eqs[::-1] if len(out.eqs) > 1 else ():
        rest = System()
        rest.eqs = [r for r in out.eqs if r is not row]
        if known.given(rest).implies_zero(*row):
            out.eqs = rest.eqs
    for row in system.mods:
        if (mine is None or mine(row[0])) and not known.implies_mod(*row) and not _multiple(row, out.eqs):
            out.mod(*residue_of(known, *row), row[2])
    rows = [r for r in system.ineqs.items() if (mine is None or mine(r[0])) and not known.implies(*r)]
    if rows and known.residues:
        rows = _tied(known, out, rows)
    if rows and (out.mods or known.residues):
        beside = known.given(System(mods=out.mods))
        rows = [r for r in rows for loose in (beside.loose(*r),) if loose == r or not known.implies(*loose)]
    if len(rows) > 1 or (rows and out.eqs):
        asked = tuple(rows), tuple(out.eqs)
        if asked not in known.needed:
            known.needed[asked] = _needed(known, rows, out.eqs)
        rows = known.needed[asked]
    for key, const in (known.of_one_value(*row) for row in rows):  # of which two may be of one key
        out.ineqs[key] = min(const, out.ineqs.get(key, const))
    return of_few_values(known, _bared(known, out))


def _bared(known: Known, out: System) -> System:
    """A system with one row for an equality of a floor alone where the others say the rest of it.

    Of floor(N/4) = 0 and N >= 3 there is left N <= 3, and so N = 3.
    """
    columns = known.columns
    for row in [r for r in out.eqs if len(r[0]) == 1 and r[0][0][0] in columns.floors and columns.of_sizes(r[0])]:
        rest = out.copy()
        rest.eqs.remove(row)
        beside = known.given(rest)
        sides = [columns.bare(*row), columns.bare(negated(row[0]), -row[1])]
        left = [side for side in sides if not beside.implies(*side)]
        if len(left) < len(sides):
            for side in left:
                rest.ge(*side)
            rest.untie()
            out = rest
    return out


def _needed(known: Known, rows: list[tuple[Key, int]], eqs: list[tuple[Key, int]]) -> list[tuple[Key, int]]:
    """The rows that what is known, some equalities and the others do not imply, over the integers.

    Of N >= 3 and floor((N + 1)/3) >= 1 the first one is left.
    """
    tab = known.tableau(rows, eqs)
    if tab.empty:
        return rows
    first, n = tab.made - len(rows), len(rows)
    order = sorted(range(n), key=lambda k: -len(rows[k][0]))
    gone = {k for k in order if tab.relaxed_implies(-(first + k + 1))}
    left = [k for k in range(n) if k not in gone]
    gaps = any(abs(v) > 1 or c in known.columns.floors for k in left for c, v in rows[k][0])
    if len(left) > 1 and gaps:  # never missed by as much as 1
        left = [k for k in left if not tab.relaxed_implies(-(first + k + 1), ALMOST)]
    return [rows[k] for k in left]


def _tied(known: Known, out: System, rows: list[tuple[Key, int]]) -> list[tuple[Key, int]]:
    """Rows less those of which two are an equality by the strides that are known; the system gets these."""
    tight = System([known.tight(*row) for row in rows])
    if not (tight.tied or tight.empty):
        return rows
    tight.untie()
    out.eqs += tight.eqs
    out.empty |= tight.empty
    return list(tight.ineqs.items())


def _multiple(row: Congruence, eqs: Sequence[tuple[Key, int]]) -> bool:
    """Whether a congruence follows from one equality: c0 + 2*c1 = 1 makes c0 odd."""
    key, const, d = row
    return any(
        (const - t * c) % d == 0 and all(v % d == 0 for _, v in plus(1, key, -t, e))
        for e, c in eqs
        for t in range(1, min(d, FACTORS))
    )


def has_rows(system: System) -> bool:
    """Whether a system says anything."""
    return not system.everywhere


def length(system: System) -> int:
    """How many rows a system has."""
    return len(system.eqs) + len(system.ineqs) + len(system.mods)


def stated(columns: Columns, system: System, tidy: Callable[[Aff], Aff]) -> tuple[Condition, ...]:
    """The rows of a system as conditions; of the bounds of one name the lower ones stand first."""
    eqs = [(negated(key), -const) if _innermost((key, const))[1] else (key, const) for key, const in system.eqs]
    values = [*[columns.aff(*row) for row in eqs], *[columns.aff(key, const) % d for key, const, d in system.mods]]
    rows = [columns.aff(*columns.bare(*row)) for row in sorted(system.ineqs.items(), key=_innermost)]
    return *[("eq", tidy(e)) for e in values], *[_at_least_0(tidy(e)) for e in rows]


def _at_least_0(e: Aff) -> Condition:
    """e >= 0, or an equality where that leaves a remainder one value: N mod 4 = 0 for 0 <= -(N mod 4)."""
    if e.terms and not isinstance(e.terms[-1][0], str):  # names come first
        *others, (c, num, den, _) = mod_parts(e)
        if den is not None and all(d is None and not rest.terms for _, _, d, rest in others):
            const = sum(rest.const for _, _, _, rest in others)
            if c < 0 and const // -c == 0:
                return "eq", num % den
            if c > 0 and -(const // c) == den - 1:
                return "eq", (num + 1) % den
    return "ge", e


def _innermost(row: tuple[Key, int]) -> tuple[int, bool]:
    """The innermost name that a row bounds, and whether from above."""
    key, _ = row
    named = [t for t in key if t[0] < FLOOR] or [key[-1]]
    return named[-1][0], named[-1][1] < 0


def exactly(columns: Columns, system: System, inner: Sequence[int] = ()) -> list[System]:
    """The outer values for which local columns, and those of some inner loops, satisfy a system.

    As disjoint systems without these columns.
    """
    gone = {c for c in system.columns() if c >= LOCAL or c in inner}
    if not gone:
        return [] if system.empty else [system]
    quick = system.without(gone)
    if quick.empty:
        return []
    if quick.exact:
        return [quick]
    c, kept = _conjunct(columns, system, gone)
    if c is not None:
        c = project(c, tuple(range(len(kept), c.n)))
    if c is None:
        return []
    out = []
    for piece in with_known_divs(c):
        found = system_of(columns, piece, [(((col, 1),), 0) for col in kept])
        out += [] if found.empty else [found]
    return out


def _conjunct(columns: Columns, system: System, gone: set[int]) -> tuple[Conjunct | None, list[int]]:
    """The system as a conjunct: first what stays, then what goes; floors of what stays are dimensions, too."""
    kept = sorted(system.columns() - gone)
    fresh = {row: k for k, row in enumerate(system.mods)}
    order = [*kept, *sorted(gone), *range(-len(fresh), 0)]
    place = {c: 1 + k for k, c in enumerate(order)}
    eqs = [dense(place, *r) for r in system.eqs]
    for k, (key, const, d) in enumerate(system.mods):
        eqs.append(dense(place, (*key, (k - len(fresh), d)), const))
    return normalise(len(order), (), eqs, [dense(place, *r) for r in system.ineqs.items()]), kept


def of_integers(known: Known, system: System) -> System:
    """A system less the rows with floors, or of steps, that integers always satisfy where the others hold.

    Of 2*floor((i + 1)/8) <= floor(i/4) for even i. Rational numbers don't say so, and each takes some steps to ask.
    """
    out = system
    for one in _one_by_one(system):
        if one.mods or any(c in known.columns.floors for c in one.columns()):
            rest = out.copy()
            rest.eqs = [row for row in rest.eqs if row not in one.eqs]
            rest.mods = [row for row in rest.mods if row not in one.mods]
            rest.ineqs = {key: const for key, const in rest.ineqs.items() if key not in one.ineqs}
            if holds(known.given(rest), one):
                out = rest
    return out


def _one_by_one(system: System) -> Iterator[System]:
    """Systems of one row of a system each."""
    yield from [System(mods=[row]) for row in system.mods]
    yield from [System(eqs=[row]) for row in system.eqs]
    yield from [System([row]) for row in system.ineqs.items()]


def holds(known: Known, system: System) -> bool:
    """Whether a system holds at all integers, as far as some steps say."""
    rows = beyond(known, system)
    for key, const in known.columns.without_mods(rows).every_ge():
        if not known.surely_excludes(sides(key, const)[1], WORTH):
            return False
    return not rows.empty


def anywhere(known: Known, systems: Iterable[System]) -> list[System] | None:
    """Disjoint conditions for one of some systems over outer columns to hold; None if one does wherever this runs."""
    some = not_everywhere(known, systems)
    return None if some is None else cut_apart(known, some)


def not_everywhere(known: Known, systems: Iterable[System]) -> list[System] | None:
    """What each of some systems over outer columns says beyond what is known; None if one of them says nothing."""
    out: list[System] = []
    for s in systems:
        out.append(beyond(known, s))
        if not has_rows(out[-1]):
            return None
    return out


def cut_apart(known: Known, systems: Iterable[System], most: float = inf) -> list[System]:
    """Disjoint systems with the union of some over outer columns, as far as integers satisfy them.

    Parameters
    ----------
    most : systems beyond which no more are looked for: what each says besides has as many parts as those before say.
    """
    out: list[System] = []
    for s in systems:
        if len(out) > most:
            break
        parts = [] if known.excludes_exactly(s) else [s]
        for old in out:
            gone = list(known.columns.without_mods(old).every_ge())
            parts = [part for x in parts for part in difference(known, x, gone)]
        out += parts
    return out


def implied(known: Known, systems: Sequence[System]) -> System:
    """The rows that some systems over outer columns share: each is of one of them, and all imply it."""
    found = System()
    if all(map(has_rows, systems)):
        there = [known.given(s) for s in systems]
        for key, const in shared(there, [row for s in systems for row in s.every_ge()]):
            found.ge(key, const)
        for row in (*systems[0].mods, *[(*row, 0) for row in systems[0].eqs]):
            row = _coarsest(systems[1:], *row)  # noqa: PLW2901
            if row[2]:
                found.mod(*row)
        found.untie()
    return beyond(known, found) if has_rows(found) else found


def alike(systems: Sequence[System]) -> System:
    """The rows that are in all of some systems."""
    out = System()
    if systems:
        first, *others = systems
        out.eqs = [r for r in first.eqs if all(r in s.eqs for s in others)]
        out.ineqs = {r: c for r, c in first.ineqs.items() if all(s.ineqs.get(r) == c for s in others)}
        out.mods = [r for r in first.mods if all(r in s.mods for s in others)]
    return out


def _coarsest(systems: Sequence[System], key: Key, const: int, d: int) -> Congruence:
    """The finest congruence that follows in all of some systems from one, or from an equality where d is 0.

    n = 1 or 3 mod 4 is odd, and so is n that is 4*c + 1 or 4*c + 3.
    """
    for s in systems:
        found = [1]
        for other, shift, e in (*s.mods, *[(*row, 0) for row in s.eqs]):
            for sign in (1, -1):
                rest = plus(1, key, -sign, other)
                found.append(gcd(d, e, const - sign * shift, *[v for _, v in rest]))
        d = 0 if 0 in found else max(found)
    return key, const, d


def guarded(conditions: Sequence[Condition], body: tuple[Ast, ...], at: tuple[int, ...]) -> tuple[Ast, ...]:
    """The body under conditions, if there are any."""
    return (If(tuple(conditions), body, at),) if conditions and body else body


def any_of(cases: Sequence[tuple[Condition, ...]]) -> tuple[Condition, ...]:
    """Conditions that say that one of some cases holds: what all share, and the alternatives of the rest.

    A case that says what another one says, and more, is none: `a || a && b` is `a`.
    """
    common = [c for c in cases[0] if all(c in case for case in cases)]
    rest = list(dict.fromkeys(tuple(c for c in case if c not in common) for case in cases))
    rest = [case for case in rest if not any(set(other) < set(case) for other in rest)]
    if not rest[0]:
        return tuple(common)
    return (*common, AnyOf(tuple(rest)))


def widest(known: Known, systems: Sequence[System]) -> list[System]:
    """The systems that do not imply another one, of equal ones the first."""
    out: list[System] = []
    for s in systems:
        if all(has_rows(beyond(known.given(s), o)) for o in out):
            out = [o for o in out if has_rows(beyond(known.given(o), s))]
            out.append(s)
    return out


def uncovered(known: Known, systems: Sequence[System]) -> bool:
    """Whether there is a place, as far as is known, at which none of some systems over outer columns holds."""
    return next(elsewhere(known, systems), None) is not None


def elsewhere(known: Known, systems: Sequence[System], either: Sequence[Sequence[System]] = ()) -> Iterator[System]:
    """The places at which none of some systems over outer columns holds, as far as is known, one after another.

    Parameters
    ----------
    either : of each of these systems one holds.
    """
    left = [System()]
    for cases in either:
        if len(left) * len(cases) <= PLACES:
            left = [s.copy().add(case) for s in left for case in cases]
    rows = [list(known.columns.without_mods(s).every_ge()) for s in systems if not s.empty]  # or it may have no row
    return chain.from_iterable(beside_all(known, s, rows) for s in left)


def loosened(known: Known, cases: list[System]) -> list[System]:
    """Systems with the same union in which no case says what another one makes up for, and each says what all imply.

    `a or (not a and b)` is `a or b`, and where a implies c, `a or (b and c)` is `c and (a or b)`. So is an equality
    made up for on both sides: `M <= 1 or M >= 3 or (M = 2 and b)` is `M <= 1 or M >= 3 or b`.
    """
    out = [s.copy() for s in cases]
    there = [known.given(s) for s in cases]
    everywhere = [row for s in cases for row in s.ineqs.items() if all(place.implies(*row) for place in there)]
    for s in out:
        for row in everywhere:
            s.ge(*row)
    for k, case in enumerate(out):
        others = [s for s in out if s is not case]
        for row in case.eqs[:]:
            looser = case.copy()
            looser.eqs.remove(row)
            if all(_made_up_for(known, looser, side, others) for side in (row, (negated(row[0]), -row[1]))):
                case = out[k] = looser  # noqa: PLW2901
        for row in [row for row in case.ineqs.items() if row not in everywhere]:
            looser = case.copy()
            del looser.ineqs[row[0]]
            if _made_up_for(known, looser, row, others):
                case = out[k] = looser  # noqa: PLW2901
    return out


def _made_up_for(known: Known, case: System, row: tuple[Key, int], others: Iterable[System]) -> bool:
    """Whether one of some systems holds all along where a case does and a row `>= 0` does not."""
    opposite = case.copy()
    opposite.ge(negated(row[0]), -row[1] - 1)
    beside = known.given(opposite)
    return opposite.empty or any(not has_rows(beyond(beside, s)) for s in others)


def _over_names(columns: Columns, systems: list[System], around: System) -> tuple[list[int], list[Conjunct]]:
    """Systems and the rows around them as conjuncts over the names that they speak of, whose divs are the floors.

    Returns the columns of the names, and the conjuncts that may have points.
    """
    used = columns.with_floors(around.columns().union(*[s.columns() for s in systems]))
    names, floors = sorted(used - columns.floors.keys()), sorted(used & columns.floors.keys())
    place = {c: 1 + k for k, c in enumerate((*names, *floors))}
    divs = [(den, dense(place, key, const)) for den, key, const in [columns.floors[c] for c in floors]]
    out = []
    for s in systems:
        strides = [(d, dense(place, key, const)) for key, const, d in s.mods]
        pad = (0,) * len(strides)
        eqs = [(*dense(place, *r), *pad) for r in s.eqs]
        eqs += [(*row, *[-d * (j == k) for j in range(len(strides))]) for k, (d, row) in enumerate(strides)]
        ineqs = [(*dense(place, *r), *pad) for r in (*s.ineqs.items(), *around.ineqs.items())]
        c = None if s.empty else normalise(len(names), (*divs, *strides), eqs, ineqs)
        if c is not None:
            out.append(c)
    return names, out


def fewer(columns: Columns, known: Known, systems: list[System]) -> list[System]:
    """Fewer systems over outer columns with the same union, within what is known, where two of them make one."""
    if len(systems) < 2:
        return systems
    around = System(known.ineqs.items())
    order, pieces = _over_names(columns, systems, around)
    if not pieces:
        return systems
    merged = Set._of(tuple(f"v{k}" for k in range(len(order))), [(NOWHERE, tuple(pieces))]).coalesce()
    found = [c for _, cs in merged.parts for c in cs]
    if len(found) >= len(systems):
        return systems
    merged_systems = [system_of(columns, c, [(((col, 1),), 0) for col in order]) for c in found]
    merged_systems = [s for s in merged_systems if not s.empty]
    return systems if any(c >= LOCAL for s in merged_systems for c in s.columns()) else merged_systems
