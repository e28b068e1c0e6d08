"""The picture of what one observer saw, by the observer's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.machine.observe.bank_conflicts import BankConflicts
from polyvolta.cuda.machine.observe.coalescing import Coalescing
from polyvolta.cuda.machine.observe.counts import Counts
from polyvolta.cuda.machine.observe.drawings.conflicts import draw_conflicts
from polyvolta.cuda.machine.observe.drawings.costs import draw_costs
from polyvolta.cuda.machine.observe.drawings.race import draw_race
from polyvolta.cuda.machine.observe.drawings.sectors import draw_sectors
from polyvolta.cuda.machine.observe.errors import NotObserved
from polyvolta.cuda.machine.observe.observer import Seen
from polyvolta.cuda.machine.observe.races import Races
from polyvolta.cuda.pictures.errors import NothingToDraw
from polyvolta.cuda.pictures.svg import Svg
from polyvolta.sets import UnknownName, nearest

DRAWN = ("races", "bank_conflicts", "coalescing", "counts")
"""The observers that have pictures."""


def drawn(seen: Mapping[str, Seen | None], observer: str, statement: str | None, ir: KernelIR, run: str) -> Svg:
    """Draw what an observer saw.

    Parameters
    ----------
    seen : what each observer saw, by name; None for one that wasn't asked for.
    observer : which one.
    statement : the tree's name of the operation that is meant; None: the worst.
    ir : the kernel that ran.
    run : the sizes, in words.

    Raises
    ------
    UnknownName : no observer, or no operation among those that it saw, is called so.
    NotObserved : nobody asked for that observer.
    NothingToDraw : it saw nothing, or has no pictures.
    """
    if observer not in seen:
        raise UnknownName(f"no observer is called {observer!r}", hint=nearest(str(observer), DRAWN))
    if observer not in DRAWN:
        raise NothingToDraw(
            f"what {observer!r} saw is told by its findings and its table, not by a picture",
            hint=f"print(observations.{observer}); there are pictures of {', '.join(DRAWN)}",
        )
    found = seen[observer]
    match found:
        case None:
            asked = tuple(name for name, s in seen.items() if s is not None)
            raise NotObserved(
                f"{observer!r} wasn't observed",
                where=f"observe={asked}",
                hint=f"interpret(..., observe={(*asked, observer)})",
            )
        case Counts():
            if statement is not None:
                raise NothingToDraw("counts are of the whole run, not of one statement", hint='picture("counts")')
            if not found.issued:
                raise NothingToDraw("the run has no instructions to count", where=run, hint="its result is empty")
            return draw_costs(found, run)
        case Races(rows=rows):
            if not rows:
                raise NothingToDraw(
                    "no race was seen", where=run, hint='kernel.verify("barriers_between") proves it for all sizes'
                )
            return draw_race(ir, _of(rows, statement, lambda r: (r.place.statement, r.other.statement)), run)
        case BankConflicts(rows=rows):
            if not rows:
                raise NothingToDraw("no access to shared memory was seen", where=run)
            return draw_conflicts(ir, _of(rows, statement, lambda r: (r.place.statement,)), run)
        case Coalescing(rows=rows):
            if not rows:
                raise NothingToDraw("no access to global memory was seen", where=run)
            return draw_sectors(_of(rows, statement, lambda r: (r.place.statement,)), run)
    raise AssertionError(observer)


def _of(rows: Sequence[Any], statement: str | None, names: Any) -> Sequence[Any]:
    """The rows of a statement."""
    if statement is None:
        return rows
    found = [r for r in rows if statement in names(r)]
    if not found:
        known = tuple(dict.fromkeys(n for r in rows for n in names(r) if n))
        raise UnknownName(f"nothing of {statement!r} was seen", hint=nearest(str(statement), known))
    return found
