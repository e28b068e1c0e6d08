"""Conditions that exclude each other, one after another: each but the first in the other branch of the one before it.

    if (n >= 5) A();                   if (n >= 5)
    if (n <= 4 && m >= 3) B();    ->     A();
    if (n <= 4 && m <= 2) C();         else if (m >= 3)
                                         B();
                                       else
                                         C();

Where both branches do the same, as parts of one statement do that filters tell apart, nothing is asked:

    if (c0 % 12 >= 5)                  S(c0);
      S(c0);                     ->
    else                               (in a loop of odd c0, so that c0 % 12 <= 3 is the rest)
      S(c0);

Conditions are of parameters and loop variables, which nothing in a body changes: one that holds only where the one
before it does not is asked only there, less what this says already, and one that holds only where the one before it
does is asked in its body. One of alternatives that holds wherever the one before it does not stands in both branches,
if all that it runs is a call or two: in the other one it is no condition, and in the body what is left of it.

    if (c0 == 0 && c1 == 0)            if (c0 == 0 && c1 == 0) {
      A();                               A();
    if (c0 != 0 || c1 != 0 || n <= 6)    if (n <= 6)
      B();                        ->       B();
                                       } else
                                         B();

A loop before a condition, all parts of which need that it fails, is in its other branch as one behind it is:

    for (c0 = 3; c0 <= n; c0++) A(c0);       if (n <= 2)
    if (n <= 2) B();                   ->      B();
                                             else
                                               for (c0 = 3; c0 <= n; c0++) A(c0);

So nothing is asked at more values than before, but for what stood behind a condition that is left out and that failed
first, and what runs stays in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, For, If, expressions, negation, same, within
from polyvolta.sched.loops.conditions import any_of
from polyvolta.sched.loops.hoisting.either import holds, said
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.needs import alternatives, extent, needs, stating
from polyvolta.sched.loops.hoisting.plain import cases_of
from polyvolta.sched.loops.rows.known import Known, difference
from polyvolta.sched.loops.rows.linear import Key, System, plus
from polyvolta.sets import BudgetExceeded, var
from polyvolta.sets.budgets import bounded

CASES = 4  # alternatives of a condition beyond which it has no other branch
CALLS = 2  # calls that stand in both branches, at most
DEEP = 16  # conditions around a condition, and before it in a chain, beyond which there are no more
WORTH = 1500  # steps that one question may take

Failed = tuple[tuple[System, ...], ...]  # of conditions that do not hold, the alternatives


def meeting(body: Sequence[Ast]) -> bool:
    """Whether a condition stands before another one, or a loop, or behind one, anywhere in some code."""
    some = zip(body, body[1:], strict=False)
    return any(
        isinstance(a, If | For) and isinstance(b, If | For) and isinstance(a if isinstance(b, For) else b, If)
        for a, b in some
    ) or any(meeting(within(node)) for node in body)


def branched(
    known: Known, body: Sequence[Ast], failed: Failed = (), deep: int = 0, apart: bool = False
) -> tuple[Ast, ...]:
    """The same code with such conditions in branches.

    Parameters
    ----------
    failed : what does not hold here, as the condition does not that this is the other branch of.
    deep : how many conditions stand around this.
    apart : whether what both branches do stays in two, as of two leaves of the tree.
    """
    out: list[Ast] = []
    for node in body:
        last = out[-1] if out else None
        both = isinstance(node, If) and bool(node.other)  # which stays as it is
        if deep < DEEP and isinstance(node, If | For) and not both and isinstance(last, If):
            mine, runs = alternatives(known, last.conditions, CASES), _runs(known, node)
            if mine is not None and runs is not None:
                if all(_excluded(known, a.copy().add(b)) for a in mine for b in runs):
                    there = _less(known, node, (*failed, mine))
                    if isinstance(node, For):
                        there = asked_once(there, negation(last.conditions))
                    other = (*last.other, *there)
                    out[-1:] = _either(replace(last, other=other), apart)
                    continue
                if isinstance(node, If) and all(_covered(known, system, (mine,)) for system in runs):
                    there = known.given(stating(known, last.conditions))
                    out[-1] = replace(last, body=(*last.body, *_less(there, node, failed)))
                    continue
                if isinstance(node, If) and _short(node.body) and _else(known, last, node):
                    there = known.given(stating(known, last.conditions))
                    body = (*last.body, *_left(there, node))
                    out[-1] = replace(last, body=body, other=(*last.other, *node.body))
                    continue
        if deep < DEEP and isinstance(node, If) and not both and isinstance(last, For):
            node = _after_loops(known, out, node)  # noqa: PLW2901
        out.append(node)
    return tuple([inner for node in out for inner in _inside(known, node, failed, deep, apart)])


def _after_loops(known: Known, before: list[Ast], node: If) -> If:
    """A condition with the loops before it that run only where it fails in its other branch; takes these away.

    Where it holds none of them is tested, and where it fails it is asked before them instead of behind.
    """
    mine = alternatives(known, node.conditions, CASES)
    while mine is not None and before and isinstance(loop := before[-1], For):
        runs = _runs(known, loop) or ()
        if not all(_excluded(known, a.copy().add(b)) for a in mine for b in runs):
            break
        node = replace(node, other=(*asked_once((loop,), negation(node.conditions)), *node.other))
        before.pop()
    return node


def _either(node: If, apart: bool) -> tuple[Ast, ...]:
    """What both branches of a condition do, if that is the same; else the condition."""
    return (None if apart else same(node.body, node.other)) or (node,)


def _inside(known: Known, node: Ast, failed: Failed, deep: int, apart: bool) -> tuple[Ast, ...]:
    """A node with what is in it in branches; what both branches of it do, if that is the same."""
    if isinstance(node, Call) or not (isinstance(node, If) and node.other or meeting(node.body)):
        return (node,)
    there = known.given(said(known, node).add(stride(known, node)))
    body = branched(there, node.body, failed, deep + isinstance(node, If), apart)
    if not isinstance(node, If) or not node.other:
        return (replace(node, body=body),)
    mine = alternatives(known, node.conditions, CASES)
    assert mine is not None
    where = known.given(stating(known, negation(node.conditions)))
    other = branched(where, node.other, (*failed, mine), deep + 1, apart)
    return _either(replace(node, body=body, other=other), apart)


def stride(known: Known, node: Ast) -> System:
    """What the step of a loop says of its values, if all are alike wherever it begins."""
    out = System()
    if isinstance(node, For) and node.step > 1:
        first, *others = [known.columns.row(e) for bound in node.lower for e in expressions(bound)]
        gaps = [plus(1, key, -1, first[0]) for key, _ in others]
        if not any(v % node.step for key in gaps for _, v in key) and not any(
            (const - first[1]) % node.step for _, const in others
        ):
            key, const = known.columns.row(var(node.var))
            out.mod(plus(1, key, -1, first[0]), const - first[1], node.step)
    return out


def _runs(known: Known, node: If | For) -> tuple[System, ...] | None:
    """The systems of which one holds where anything in a node runs, conditions straight inside included; None of many.

    Of a loop it is that it has an iteration, and what all in it needs.

    if (c0 < n) { if (c0 <= 1) A(); if (c1 <= 0) B(); } runs nothing where c0 >= 2 and c1 >= 1, whatever n is.
    """
    if isinstance(node, For):
        return (extent(known, node).add(needs(known, node, True)),)
    mine = alternatives(known, node.conditions, CASES)
    inner = [_runs(known, one) if isinstance(one, If) and not one.other else None for one in node.body]
    each = [s for some in inner if some is not None for s in some]
    if mine is None or None in inner or len(mine) * len(each) > CASES:
        return mine
    return tuple([a.copy().add(b) for a in mine for b in each])


def _short(body: Sequence[Ast]) -> bool:
    """Whether some code is a few calls, which may stand in both branches."""
    return len(body) <= CALLS and all(isinstance(node, Call) for node in body)


def _else(known: Known, first: If, node: If) -> bool:
    """Whether a condition of alternatives holds wherever another one before it, of none, does not."""
    if any(isinstance(c, AnyOf) for c in first.conditions) or not any(isinstance(c, AnyOf) for c in node.conditions):
        return False
    mine, runs = alternatives(known, negation(first.conditions), CASES), alternatives(known, node.conditions, CASES)
    return mine is not None and runs is not None and all(_covered(known, s, (runs,)) for s in mine)


def _left(known: Known, node: If) -> tuple[Ast, ...]:
    """A condition less what is known: of its alternatives those that may hold, none where one of them does."""
    cases: list[tuple[Condition, ...]] = []
    for case in cases_of(node.conditions):
        if not _excluded(known, stating(known, case)):
            cases.append(tuple(c for c in case if not holds(known, c)))
    if not cases:
        return ()
    conditions = any_of(cases)
    return (replace(node, conditions=conditions),) if conditions else node.body


def _excluded(known: Known, system: System) -> bool:
    with suppress(BudgetExceeded):
        return bounded(WORTH, known.excludes_exactly, system)
    return False


def _covered(known: Known, system: System, failed: Sequence[Sequence[System]]) -> bool:
    """Whether one of some systems surely holds wherever another one does."""
    with suppress(BudgetExceeded):
        some = [s for found in failed for s in found if not s.empty]  # which may have no row that says so
        others = [list(known.columns.without_mods(s).every_ge()) for s in some]
        return _excluded(known, system) or bounded(WORTH, gone, known, system, others, Known.excludes_exactly)
    return False


def gone(
    known: Known,
    system: System,
    others: Sequence[Sequence[tuple[Key, int]]],
    excludes: Callable[[Known, System], bool],
) -> bool:
    """Whether nothing is left of a system where it is none of some others; one part after another is looked at."""
    if not others:
        return excludes(known, system)
    return all(gone(known, part, others[:-1], excludes) for part in difference(known, system, others[-1]))


def _less(known: Known, node: If | For, failed: Failed) -> tuple[Ast, ...]:
    """A condition without what follows from the rest of it, and from others that failed; a loop as it is."""
    if isinstance(node, For):
        return (node,)
    left = node.conditions
    for c in node.conditions:
        rest = tuple(d for d in left if d is not c)
        against = alternatives(known, (*rest, *negation((c,))), CASES)
        if against is not None and all(_covered(known, system, failed) for system in against):
            left = rest
    return (replace(node, conditions=left),) if left else node.body
