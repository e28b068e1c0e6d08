"""Code without the comparisons that decide nothing where they stand, of conditions and of alternatives.

    if (N % 64 >= 1 || N >= 64) ...              ...                        (where N >= 1)
    if (N % 4 == 0 && N >= 4 || N % 4 >= 1 && N >= 1) ...    ->    if (N >= 1) ...
    if (N >= 2 && 8*floord(N + 3, 4) >= N + 4) ...           ->    if (N >= 2) ...

Each part is made where less is known than where it stands at last: of a branch, of what integers or remainders leave,
and of alternatives around it. One decides nothing where the whole holds at no place, of all that what is around it
lets run, at which it holds without it; of alternatives it is one that holds nowhere alone. So what runs is the same,
and no place has more tests. Only those are asked for that nothing is seen of at a few sizes (`seen`); each is asked of
integers, in some steps at most: where they don't do it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Choice, Condition, Extreme, For, If, negation
from polyvolta.sched.loops.hoisting.branches import stride
from polyvolta.sched.loops.hoisting.needs import extent, stating
from polyvolta.sched.loops.hoisting.plain import cases_of
from polyvolta.sched.loops.needless.seen import Case, Part, Seen, Site
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import Key, System
from polyvolta.sets import Aff, BudgetExceeded, var
from polyvolta.sets.budgets import bounded

CASES = 4  # alternatives of what is around beyond which they are not looked at
FAILED = 6  # systems that hold nowhere here, at most
WORTH = 400  # steps that one question may take

Failed = tuple[System, ...]  # none of which holds anywhere here


def without_needless(known: Known, body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code without such comparisons, and what runs nowhere."""
    if not any(map(_asked, body)):
        return body
    seen = Seen(known, body)
    return _without(known, seen, body, ()) if seen.whole.left else body


def _asked(node: Ast) -> bool:
    """Whether a condition is in some code."""
    return isinstance(node, If) or (not isinstance(node, Call) and any(map(_asked, node.body)))


def _without(known: Known, seen: Seen, body: tuple[Ast, ...], failed: Failed) -> tuple[Ast, ...]:
    out = [part for node in body for part in _of_node(known, seen, node, failed)]
    same = len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True))
    return body if same else tuple(out)


def _of_node(known: Known, seen: Seen, node: Ast, failed: Failed) -> tuple[Ast, ...]:
    if isinstance(node, Call):
        return (node,)
    site = seen.site(node)
    if not site.left:
        return (node,)
    if isinstance(node, Block):
        inside = _without(known, seen, node.body, failed)
        return (node,) if inside is node.body else (replace(node, body=inside),) if inside else ()
    if isinstance(node, For):
        node = _fewer_bounds(known, site, node, failed)  # noqa: PLW2901
        rows = extent(known, node).add(stride(known, node))
        there = (*failed, *_beyond_bounds(known, node))[-FAILED:]
        if not site.entered and _covered(known, rows, there):
            return ()
        inside = _without(known.given(rows), seen, node.body, there)
        return (node,) if inside is node.body else (replace(node, body=inside),) if inside else ()
    parts = site.parts
    conditions = _less(known, parts, failed)
    inside, other = (), ()
    rows, fails = stating(known, node.conditions), negation(node.conditions)
    there = (*failed, *_excluded(known, node.conditions))[-FAILED:]
    if site.entered or not _covered(known, rows, there):
        inside = _without(known.given(rows), seen, node.body, there)
    if node.other:
        rows, there = stating(known, fails), (*failed, *_excluded(known, fails))[-FAILED:]
        if site.failed or not _covered(known, rows, there):
            other = _without(known.given(rows), seen, node.other, there)
    if not conditions:
        return inside
    if not inside:
        return (If(fails, other, node.at),) if other else ()
    if conditions == node.conditions and inside is node.body and other is node.other:
        return (node,)
    return (replace(node, conditions=conditions, body=inside, other=other),)


# ---- parts of a condition


def _less(known: Known, parts: list[Part], failed: Failed) -> tuple[Condition, ...]:
    """Conditions without the parts that decide nothing; changes what they are of."""
    while _one_less(known, parts, System(), failed):
        pass
    return _conditions(parts)


def _one_less(known: Known, parts: list[Part], rows: System, failed: Failed) -> bool:
    """Take one part, or an alternative of one, away from parts that are asked where some rows hold; whether one is."""
    for k, part in enumerate(parts):
        rest = [p.condition for p in (*parts[:k], *parts[k + 1 :])]
        there = rows.copy().add(stating(known, rest))
        beside = (*failed, *_excluded(known, rest))
        if not part.seen:
            cases = _negated(known, part.condition)
            if cases is not None and all(_covered(known, there.copy().add(s), beside) for s in cases):
                del parts[k]
                _forget(parts)
                return True
        if not part.cases:
            continue
        for j, case in enumerate(part.cases):
            others = _systems(known, [c for c in part.cases if c is not case])
            if others is None:
                continue
            if not case.seen and _covered(
                known, there.copy().add(stating(known, _conditions(case.parts))), (*beside, *others)
            ):
                del part.cases[j]
                _renew(parts, k)
                return True
            if _one_less(known, case.parts, there, (*beside, *others)):
                _renew(parts, k)
                return True
    return False


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


def _systems(known: Known, cases: Sequence[Case]) -> list[System] | None:
    """The systems of which one holds where one of some alternatives does; None of many."""
    each = list(islice(chain.from_iterable(cases_of(_conditions(case.parts)) for case in cases), FAILED + 1))
    return [stating(known, some) for some in each] if len(each) <= FAILED else None


def _negated(known: Known, c: Condition) -> list[System] | None:
    """The systems of which one holds where a condition does not; None of many."""
    each = list(islice(cases_of(negation((c,))), FAILED + 1))
    return [stating(known, some) for some in each] if len(each) <= FAILED else None


def _excluded(known: Known, conditions: Sequence[Condition]) -> Iterator[System]:
    """Systems none of which holds anywhere where conditions of alternatives do: what rows don't say of these."""
    for c in conditions:
        if isinstance(c, AnyOf):
            yield from _negated(known, c) or ()


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
        case Extreme(kind, terms) if (kind == "max") == (sign > 0):  # beyond all of them
            each = [[*_beyond(known, name, t, sign)] for t in terms]
            cases = [System()]
            for some in each:
                cases = [case.copy().add(s) for case in cases for s in some]
                if len(cases) > CASES:
                    return
            yield from cases
        case Extreme(_, terms):
            for t in terms:
                yield from _beyond(known, name, t, sign)
        case Choice(conditions, then, other):
            there = stating(known, conditions)
            for s in () if any(isinstance(c, AnyOf) for c in conditions) else _beyond(known, name, then, sign):
                yield s.add(there)
            for case in islice(cases_of(negation(conditions)), CASES):
                for s in _beyond(known, name, other, sign):
                    yield s.add(stating(known, case))
        case Aff():
            yield stating(known, (("ge", sign * (var(name) - b) - 1),))


def _fewer_bounds(known: Known, site: Site, node: For, failed: Failed) -> For:
    """A loop without the bounds that no other values would be beyond."""
    for seen, sign in ((site.lower, -1), (site.upper, 1)):
        bounds = node.upper if sign > 0 else node.lower
        for b in [b for b, decides in zip(bounds, seen, strict=False) if not decides and isinstance(b, Aff)]:
            left = tuple([c for c in (node.upper if sign > 0 else node.lower) if c is not b])
            other = replace(node, upper=left) if sign > 0 else replace(node, lower=left)
            if not left:
                break
            rows = extent(known, other).add(stride(known, other)).add(stating(known, (("ge", sign * (var(node.var) - b) - 1),)))
            if _covered(known, rows, (*failed, *_beyond_bounds(known, other))):
                node = other
    return node


def _covered(known: Known, system: System, failed: Sequence[System]) -> bool:
    """Whether integers satisfy a system only where they do one of some others."""
    with suppress(BudgetExceeded):
        if known.excludes(system):
            return True
        others = [[*known.columns.without_mods(s).every_ge()] for s in failed if not s.empty]
        return bounded(WORTH, _gone, known, system, others)
    return False


def _gone(known: Known, system: System, others: Sequence[Sequence[tuple[Key, int]]]) -> bool:
    """Whether no integers satisfy a system but where all rows of one of some others hold."""
    if not others:
        return known.excludes(system) or known.surely_excludes(system, WORTH)
    return all(_gone(known, part, others[:-1]) for part in difference(known, system, others[-1]))
