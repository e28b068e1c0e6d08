"""Which phases of barriers are complete: whether the order in which roles are followed is an execution.

The phases of a row of barriers are numbered in one line (`engine.strands`), and complete one after the other. A `Line`
says how many are, as an expression of the sizes and of the trip, and what has come of the next ones. At every wait the
phase that is waited for must be complete; in a program that runs roles in turn it may not be, though in another order
it would: that is undecided. That no order waits for ever, that bytes expected are those sent and who arrives how often
is shown elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyvolta.cuda.ir.kernel_ir import Arrive, BoxCopy, KernelIR, Loop
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.verify.engine.symbolic import Here
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles, tile_names
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, aff, var


@dataclass(frozen=True, slots=True)
class Line:
    """The phases of a row of barriers.

    Parameters
    ----------
    complete : so many are; None: nobody knows.
    begun : of the next ones, by how much further they are, arrivals and bytes that have come and those expected.
    """

    complete: Aff | None
    begun: tuple[tuple[int, int, int], ...] = ()


Lines = Mapping[str, Line]


def at_start(ir: KernelIR) -> Lines:
    """No phase of any row is complete; at the start of a tile those of the tiles before are."""
    return {b.name: Line(_before(ir, b.name, b.slots)) for b in ir.barriers}


def _before(ir: KernelIR, row: str, slots: int) -> Aff | None:
    """How many phases of a row belong to the tiles before: what is counted over tiles, in all that is said of them;
    None: that isn't plain."""
    loops = loops_over_tiles(ir)
    if not loops:
        return aff(0)
    names, found = tile_names(ir), set()
    turn, step, first = loops[0].turn, loops[0].step, loops[0].first
    half = var(turn) // step
    for op in operations(ir.body):
        if isinstance(op, Arrive | BoxCopy) and op.phase.barriers == row:
            number = slots * op.phase.number + op.phase.slot
            if step > 1:  # of whose tiles it is known that turn = step*floor(turn/step) + first
                number = _in_place(number, half, (var(turn) - first), step)
            if number is None or any(a not in names and Aff(((a, 1),)).names() & set(names) for a, _ in number.terms):
                return None
            found.add(Aff(tuple((a, c) for a, c in number.terms if a in names)))
    if len(found) != 1:
        return None
    (e,) = found
    return e.subs({turn: step * half + first}) if step > 1 else e


def _in_place(e: Aff, atom: Aff, times: Aff, step: int) -> Aff | None:
    """An expression in which step times an atom is something else; None: it has the atom so often not."""
    ((key, _),) = atom.terms
    count = sum(c for a, c in e.terms if a == key)
    return None if count % step else e - count * atom + count // step * times


def arrived(lines: Lines, row: str, number: Aff, arrivals: int, missing: int, here: Here) -> Lines:
    """After arrivals in a phase, which has so many bytes more to wait for; bytes that come are less.

    Raises
    ------
    Undecided : a phase that is complete, or may be several.
    """
    line, needed = lines[row], here.ir.phases(row).arrivals
    if line.complete is None:
        raise Undecided(f"which phases of {row} are complete is not known here")
    ahead = here.condition.value(number - line.complete)
    if ahead is None or ahead < 0:
        raise Undecided(f"an arrival in phase {number} of {row}, where {line.complete} phases are complete")
    begun = {n: (a, b) for n, a, b in line.begun}
    before = begun.get(ahead, (0, 0))
    begun[ahead] = before[0] + arrivals, before[1] + missing
    done = 0
    while begun.get(done) == (needed, 0):
        del begun[done]
        done += 1
    left = tuple((n - done, *of) for n, of in sorted(begun.items()))
    return {**lines, row: Line(line.complete + done, left)}


def awaited(lines: Lines, row: str, number: Aff, here: Here) -> None:
    """A phase is complete, or from before the start.

    Raises
    ------
    Undecided : it isn't, where the machine comes to a wait for it.
    """
    line = lines[row]
    if here.holds(-1 - number) or (line.complete is not None and here.holds(line.complete - 1 - number)):
        return
    raise Undecided(f"the roles are followed trip by trip, and {here.op.statement or 'a wait'} waits for phase "  # type: ignore[union-attr]
                    f"{number} of {row}, which isn't complete then")  # fmt: skip


def entered(lines: Lines, loop: Loop, start: Aff) -> Lines:
    """Lines where a loop begins, in its terms: those that go on in it."""
    moving = {
        op.phase.barriers for op in operations(loop.body)
        if isinstance(op, Arrive | BoxCopy) and loop.var in op.phase.number.names()
    }  # fmt: skip
    since = var(loop.var) - start
    return {
        row: replace(line, complete=line.complete + since) if row in moving and line.complete is not None else line
        for row, line in lines.items()
    }


def said_with(lines: Lines, name: str, value: Aff | None) -> Lines:
    """Lines with an expression for a name; without one nobody knows."""
    out = {}
    for row, line in lines.items():
        known = line.complete
        if known is not None and name in known.names():
            known = None if value is None else known.subs({name: value})
        out[row] = replace(line, complete=known)
    return out
