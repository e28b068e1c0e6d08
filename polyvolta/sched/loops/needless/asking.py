"""Code without the comparisons that decide nothing where they stand, of conditions, of alternatives and of bounds.

    if (N % 64 >= 1 || N >= 64) ...                                    ...                        (where N >= 1)
    if (N % 4 == 0 && N >= 4 || N % 4 >= 1 && N >= 1) ...       ->     if (N >= 1) ...
    if (N >= 2 && 8*floord(N + 3, 4) >= N + 4) ...                     if (N >= 2) ...
    if (2*floord(N, 2) + 3*modd(N, 2) <= 4) ...                        if (N <= 4) ...            (where N is even)
    for (c0 = 0; c0 <= min(N/64, (N + 63)/64 - 1); c0++)               for (c0 = 0; c0 <= (N + 63)/64 - 1; c0++)

Each part is made where less is known than where it stands at last: of a branch, of what integers or remainders leave,
and of alternatives around it. One decides nothing where the whole holds at no place, of all that what is around it
lets run, at which it does not hold with it; of alternatives it is one that holds nowhere alone; of bounds one that no
value is beyond which all others have. So the same runs. Where a condition holds there are fewer tests; where it fails
one of several others may be asked first now, which it follows from together.

Only those are asked for that nothing is seen of at a few sizes (`seen`), of integers, in some steps each and all
together: where these don't do they stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from math import inf

from polyvolta.sched.loops.ast import (
    AnyOf,
    Ast,
    Bound,
    Call,
    Choice,
    Condition,
    Extreme,
    For,
    If,
    kept,
    negation,
    nodes,
)
from polyvolta.sched.loops.hoisting.branches import gone, stride
from polyvolta.sched.loops.hoisting.needs import alternatives, extent, of_columns, stating
from polyvolta.sched.loops.hoisting.plain import tied
from polyvolta.sched.loops.needless.seen import Case, Part, Seen, Site, copied, rounds
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sets import Aff, BudgetExceeded, var
from polyvolta.sets.budgets import bounded, spent

CASES = 4  # alternatives of a bound beyond which they are not looked at
FAILED = 6  # systems that hold nowhere here, at most
WORTH = 120  # steps that one question may take
FEWEST, SHARE = 50, 0.03  # steps that all may take, and a part of those that the code took

Failed = tuple[System, ...]  # none of which holds anywhere here


def without_needless(known: Known, body: tuple[Ast, ...], taken: float = 0) -> tuple[Ast, ...]:
    """The same code without such comparisons, and without what runs nowhere.

    Parameters
    ----------
    taken : steps that the code took: all questions together may take a part of that.
    """
    if not any(map(_asks, nodes(body))) or not of_columns(known, body):
        return body
    seen = Seen(known, body)
    asking = _Asking(seen, FEWEST + SHARE * taken)
    return asking.code(known, body, ()) if seen.whole.left or seen.whole.rounded else body


def _asks(node: Ast) -> bool:
    """Whether a node is a condition, or a loop with several bounds."""
    return isinstance(node, If) or (isinstance(node, For) and (len(node.lower) > 1 or len(node.upper) > 1))


class _Asking:
    """What asks, and how many steps are left for it.

    Of a place it is told what is known there, and what `failed`: systems that hold nowhere there.
    """

    def __init__(self, seen: Seen, steps: float) -> None:
        self.seen, self.steps = seen, steps

    def code(self, known: Known, body: tuple[Ast, ...], failed: Failed) -> tuple[Ast, ...]:
        """Some code without what decides nothing; itself if that is it."""
        return kept(body, [part for node in body for part in self.node(known, node, failed)])

    def node(self, known: Known, node: Ast, failed: Failed) -> tuple[Ast, ...]:
        """The same of a node, none where it runs nowhere."""
        site = None if isinstance(node, Call) else self.seen.site(node)
        if site is None or not (site.rounded or (site.left and self.steps > 0)):
            return (node,)
        if isinstance(node, If):
            return self._branches(known, site, node, failed)
        rows = System()
        if isinstance(node, For):
            node = self._bounds(known, site, node, failed)
            rows = extent(known, node).add(stride(known, node))
            failed = (*failed, *_beyond_bounds(known, node))[-FAILED:]
        assert not isinstance(node, Call)
        inside = (
            self.code(known.given(rows), node.body, failed) if self._runs(known, site.entered, rows, failed) else ()
        )
        return (node,) if inside is node.body else (replace(node, body=inside),) if inside else ()

    def _branches(self, known: Known, site: Site, node: If, failed: Failed) -> tuple[Ast, ...]:
        parts, fails = copied(site.parts), negation(node.conditions)  # the same code may stand elsewhere, too
        while self._one_less(known, parts, System(), failed):
            pass
        each: list[tuple[Ast, ...]] = []
        for conditions, body, entered in ((node.conditions, node.body, site.entered), (fails, node.other, site.failed)):
            rows, there = stating(known, conditions), (*failed, *_excluded(known, conditions))[-FAILED:]
            runs = bool(body) and self._runs(known, entered, rows, there)
            each.append(self.code(known.given(rows), body, there) if runs else ())
        conditions, (inside, other) = tied(tuple([_whole(known, c) for c in _conditions(parts)])), each
        if not conditions:
            return inside
        if not inside:
            return (If(fails, other, node.at),) if other else ()
        if conditions == node.conditions and inside is node.body and other is node.other:
            return (node,)
        return (replace(node, conditions=conditions, body=inside, other=other),)

    def _runs(self, known: Known, entered: bool, rows: System, failed: Failed) -> bool:
        """Whether code may run where some rows hold."""
        return entered or not self._never(known, rows, failed)

    def _one_less(self, known: Known, parts: list[Part], rows: System, failed: Failed) -> bool:
        """Take one part, or an alternative, away from parts that are asked where some rows hold; whether one is."""
        for k, part in enumerate(parts):
            if part.seen and not any(map(_open, part.cases)):
                continue
            rest = [p.condition for p in (*parts[:k], *parts[k + 1 :])]
            there = rows.copy().add(stating(known, rest))
            beside = (*failed, *_excluded(known, rest))
            if not part.seen and self._never_any(
                known, there, alternatives(known, negation((part.condition,)), FAILED), beside
            ):
                del parts[k]
                _forget(parts)
                return True
            for j, case in enumerate(part.cases):
                others = alternatives(
                    known, (AnyOf(tuple([_conditions(c.parts) for c in part.cases if c is not case])),), FAILED
                )
                if others is None:
                    continue
                more = stating(known, _conditions(case.parts))
                if not case.seen and self._never(known, there.copy().add(more), (*beside, *others)):
                    del part.cases[j]
                elif not self._one_less(known, case.parts, there, (*beside, *others)):
                    continue
                _renew(parts, k)
                return True
        return False

    def _bounds(self, known: Known, site: Site, node: For, failed: Failed) -> For:
        """A loop without the bounds that no value is beyond which the others leave, long ones first."""
        for seen, sign in ((site.lower, -1), (site.upper, 1)):
            some = zip(node.upper if sign > 0 else node.lower, seen, strict=False)
            idle = [b for b, decides in some if not decides and isinstance(b, Aff)]
            for b in sorted(idle, key=lambda b: -len(b.terms)):
                kept = tuple([c for c in (node.upper if sign > 0 else node.lower) if c is not b])
                if not kept:
                    break
                other = replace(node, upper=kept) if sign > 0 else replace(node, lower=kept)
                rows = extent(known, other).add(stride(known, other))
                rows.add(stating(known, (("ge", sign * (var(node.var) - b) - 1),)))
                if self._never(known, rows, (*failed, *_beyond_bounds(known, other))):
                    node = other
        return node

    def _never_any(self, known: Known, rows: System, cases: Sequence[System] | None, failed: Sequence[System]) -> bool:
        return cases is not None and all(self._never(known, rows.copy().add(s), failed) for s in cases)

    def _never(self, known: Known, system: System, failed: Sequence[System]) -> bool:
        """Whether integers satisfy a system only where they do one of some others."""
        before, most = spent(), min(WORTH, self.steps)
        try:
            return most > 0 and bounded(int(most), _never, known, system, failed)
        except BudgetExceeded:
            return False
        finally:
            self.steps -= spent() - before


def _never(known: Known, system: System, failed: Sequence[System]) -> bool:
    if known.excludes(system):
        return True
    others = [[*known.columns.without_mods(s).every_ge()] for s in failed if not s.empty]
    return gone(known, system, others, _excludes)


def _excludes(known: Known, system: System) -> bool:
    """Whether no integers satisfy a system."""
    return known.excludes(system) or (_stepping(known, system) and known.excludes_exactly(system, inf))


def _whole(known: Known, c: Condition) -> Condition:
    """A condition without floors that are whole numbers by what is known of remainders."""
    if isinstance(c, AnyOf) or not known.residues or not rounds(c[1]):
        return c
    row = known.columns.row(c[1])
    key, const = known.whole(*row)
    if key == row[0]:
        return c
    return (
        (c[0], known.columns.aff(key, const)) if c[0] == "eq" else (c[0], known.columns.aff(*known.tight(key, const)))
    )


def _stepping(known: Known, system: System) -> bool:
    """Whether integers may say more of a system than rational numbers do."""
    return bool(system.mods or known.mods or any(c in known.columns.floors for c in system.columns()))


def _open(case: Case) -> bool:
    """Whether an alternative, or a part of it, was not seen to decide."""
    return not case.seen or any(not part.seen or any(map(_open, part.cases)) for part in case.parts)


def _renew(parts: list[Part], k: int) -> None:
    """Alternatives anew, of one of which the parts are none any more; one is left, or holds always."""
    part = parts[k]
    if any(not case.parts for case in part.cases):
        del parts[k]
    elif len(part.cases) == 1:
        parts[k : k + 1] = part.cases[0].parts
    else:
        part.condition = AnyOf(tuple([_conditions(case.parts) for case in part.cases]))
    _forget(parts)


def _forget(parts: Sequence[Part]) -> None:
    """What was seen of parts and alternatives: with one less others may decide nothing."""
    for part in parts:
        part.seen = False
        for case in part.cases:
            case.seen = False
            _forget(case.parts)


def _conditions(parts: Sequence[Part]) -> tuple[Condition, ...]:
    return tuple([part.condition for part in parts])


def _excluded(known: Known, conditions: Sequence[Condition]) -> Iterator[System]:
    """Systems none of which holds anywhere where conditions of alternatives do: what rows don't say of these."""
    for c in conditions:
        if isinstance(c, AnyOf):
            yield from alternatives(known, negation((c,)), FAILED) or ()


def _beyond_bounds(known: Known, node: For) -> Iterator[System]:
    """The same of the bounds of a loop that are extremes, or chosen: where its variable is beyond one of them."""
    for bounds, sign in ((node.lower, -1), (node.upper, 1)):
        for b in bounds:
            if not isinstance(b, Aff):
                each = list(islice(_beyond(known, node.var, b, sign), CASES + 1))
                yield from each if len(each) <= CASES else ()


def _beyond(known: Known, name: str, b: Bound, sign: int) -> Iterator[System]:
    """The systems of which one holds where a variable is above a bound (sign 1), or below one."""
    match b:
        case Aff():
            yield stating(known, (("ge", sign * (var(name) - b) - 1),))
        case Extreme(kind, terms) if (kind == "min") == (sign > 0):  # beyond one of them
            yield from chain.from_iterable(_beyond(known, name, t, sign) for t in terms)
        case Extreme(_, terms):
            cases = [System()]
            for t in terms:
                cases = [case.copy().add(s) for case in cases for s in _beyond(known, name, t, sign)][: CASES + 1]
            yield from cases
        case Choice(conditions, then, other):
            each = ((conditions, then), (negation(conditions), other))
            for some, inner in each:
                for s in alternatives(known, some, FAILED) or ():
                    yield from [s.copy().add(there) for there in _beyond(known, name, inner, sign)]
