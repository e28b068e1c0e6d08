"""Two neighbours that both run at one value of a size alone, each in a branch: one's few calls there are written out.

    if (n <= 2)                                    if (n >= 2) {
      for (c0 = 2; c0 <= n + 2; c0++) {              if (n <= 2)
        if (c0 == 2) S();                              S();
        else if (n <= 1) T();              ->        U();
      }                                            } else
    if (n >= 2) U();                                 for (c0 = 2; c0 <= n + 2; c0++) {
                                                       if (c0 == 2) S();
                                                       else T();
                                                     }

At n = 2 the loop runs for what other sizes have. No size has a test more: where the second runs both conditions are
asked as before, and elsewhere one of them is. It takes a second text of a few calls.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Call, If, mapped, negation
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.least import FEW, FREE, Run, Undecided


def meeting_apart(body: tuple[Ast, ...]) -> tuple[Ast, ...]:
    """The same code with such neighbours in branches, where many tests are made for few calls at the value of both."""
    out: list[Ast] = []
    for node in body:
        made = _apart(out[-1], node) if out else None
        if made is not None:
            out[-1] = made
        else:
            out.append(node)
    return tuple([mapped(node, meeting_apart) for node in out])


def _apart(a: Ast, b: Ast) -> If | None:
    """Two neighbours in branches; None where they stay."""
    both = _both(a, b)
    if both is None or not (isinstance(a, If) and isinstance(b, If)):
        return None
    name, value = both
    found: list[tuple[int, bool, list[Call]]] = []
    for first, node in ((True, a), (False, b)):
        there = Run()
        with suppress(Undecided):
            there.run(node.body, {name: value})
            if there.tests > max(FEW, FREE * len(there.calls)):
                found.append((there.tests, first, there.calls))
    if not found:
        return None
    _, first, calls = max(found, key=lambda one: one[0])
    alone, other = (a, b) if first else (b, a)
    here = (replace(alone, body=tuple(calls)),) if calls else ()
    inside = (*here, *other.body) if first else (*other.body, *here)
    return replace(other, body=inside, other=asked_once(alone.body, negation(other.conditions)))


def _both(a: Ast, b: Ast) -> tuple[str, int] | None:
    """The name and its one value at which two conditions hold, one or the other of which holds everywhere else."""
    some = [c for node in (a, b) if isinstance(node, If) and not node.other for c in node.conditions]
    each = [c[1] for c in some if not isinstance(c, AnyOf) and c[0] == "ge"]
    if not (isinstance(a, If) and isinstance(b, If) and len(a.conditions) == len(b.conditions) == 1 and len(each) == 2):
        return None
    e, f = each
    whole = e + f
    if not whole.is_constant or whole.const or len(e.terms) != 1:
        return None
    ((name, v),) = e.terms
    return (name, -v * e.const) if isinstance(name, str) and v in (1, -1) else None
