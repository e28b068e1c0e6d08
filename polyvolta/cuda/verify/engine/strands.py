"""One execution of a kernel whose warps have roles: a program without roles, in which loops that meet run as one.

Roles run side by side, and how far ahead of one another they are, differs from run to run. Where the proofs of order
hold (`verify.order`), whatever two of them do to one place is ordered, so that all executions end with the same values,
and to know these it is enough to follow one. The one that is followed here takes the roles in turn, phase by phase: of
loops that every role has, over k tiles or over tiles of the result, it runs a trip of each role and then the next trip.
Within a trip who brings tiles comes first. What is between loops is taken in turns, too, up to the next wait of each.

    role producer   for k: empty; boxes           for k: empty; boxes   (by the producer)
    role consumer   for k: full; products    ->          full; products (by the consumers)

That it is an execution at all is checked while it runs: at each wait the phase is complete (`values.phases`).

Of a block that computes several tiles, one after the other, the program of one tile is followed, whichever it is: the
numbers of tiles before are names of which nothing is known, the place is any, and so is all that the tile before has
left in registers and shared memory, since what is not written in the tile counts as never written. So what is read is
what this tile has written, and each tile comes to what one tile alone would. Phases of earlier tiles are complete.

Three more things are said in simpler words. A product that does not add to its accumulators is one to zeros. A role is
a condition on warps. And the phases of a row of barriers are numbered in one line: phase p of slot s is number S p + s
of the row, the p-th tile of that slot among all tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from polyvolta.cuda.ir.kernel_ir import (
    LANES,
    ZERO,
    Arrive,
    Await,
    BoxCopy,
    KernelIR,
    Loop,
    Op,
    Phase,
    Role,
    Roles,
    Stmt,
    Tiles,
    Wgmma,
    When,
    Zero,
)
from polyvolta.cuda.ir.walk import IrPath, inner, operations, put, role_at
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.sets import Aff, var

WARP = var("linearId") // LANES


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement of one role, or of several that meet in it.

    Parameters
    ----------
    stmt : what it is; of a loop or a condition the bodies don't count.
    path : where it stands in the kernel.
    body, orelse : of a loop or a condition.
    threads : conditions of threads alone under which it is run.
    """

    stmt: Stmt
    path: IrPath
    body: tuple[_Step, ...] = ()
    orelse: tuple[_Step, ...] = ()
    threads: tuple[Aff, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """A program that is one execution of a kernel.

    Parameters
    ----------
    body : without roles.
    places : path in it -> path in the kernel; of none that are the same.
    """

    body: tuple[Stmt, ...]
    places: Mapping[IrPath, IrPath]


def one_execution(ir: KernelIR) -> Execution:
    """The program of a kernel as one that all threads run together; without roles it is the kernel's own.

    Raises
    ------
    Undecided : roles whose loops don't go together.
    """
    if not any(isinstance(s, Roles) for s in ir.body):
        return Execution(ir.body, {})
    _check_tiles(ir)
    threads = frozenset({"linearId", *(n for n, _ in ir.derived)})
    steps = [step for k, s in enumerate(ir.body) for step in _strand(s, (k,), ir, threads)]
    places: dict[IrPath, IrPath] = {}
    return Execution(_emitted(steps, (), 0, places), places)


def _check_tiles(ir: KernelIR) -> None:
    """The roles go from tile to tile alike, and find nothing in registers or shared memory that no tile has left."""
    loops = loops_over_tiles(ir)
    if not loops:
        return
    if any(replace(s, body=(), comment="") != replace(loops[0], body=(), comment="") for s in loops):
        raise Undecided("the roles of the kernel don't go from tile to tile alike")
    split = next(s for s in ir.body if isinstance(s, Roles))
    for role in split.roles:
        behind = [isinstance(s, Tiles) for s in role.body]
        if behind[:1] != [True] or any(behind[1:]):
            raise Undecided(f"what {role.name} does isn't one loop over tiles and what is behind it")
    for op in operations(tuple(s for s in ir.body if s is not split)):
        if any(a.writes for a in op.accesses(ir)):
            raise Undecided("what is written before the first tile may be another thing in the next one")


def role_of(ir: KernelIR, path: IrPath) -> Role | None:
    """The role that a statement belongs to; None outside of all."""
    found = ir.body[path[0]] if path else None
    if not isinstance(found, Roles) or len(path) < 2:
        return None
    return found.roles[role_at(found, path[1])[0]]


# ---- steps


def _steps(body: Sequence[Stmt], at: IrPath, first: int, ir: KernelIR, threads: frozenset[str]) -> list[_Step]:
    return [step for k, s in enumerate(body, first) for step in _strand(s, (*at, k), ir, threads)]


def _strand(s: Stmt, path: IrPath, ir: KernelIR, threads: frozenset[str]) -> list[_Step]:
    """A statement as steps: conditions of threads alone go down to what they are about."""
    match s:
        case Roles():
            strands, first = [], 0
            for role in s.roles:
                steps = _steps(role.body, path, first, ir, threads)
                first += len(role.body)
                whose = (WARP - role.first, role.first + role.warps - 1 - WARP)
                strands.append((any(isinstance(op, BoxCopy) for op in operations(role.body)), _guarded(steps, whose)))
            return _together([steps for _, steps in sorted(strands, key=lambda x: not x[0])])
        case Tiles():
            return _steps(s.body, path, 0, ir, threads)
        case When(orelse=()) if all(e.names() <= threads for e in s.conditions) and _waits(s):
            said = [_Step(replace(s, body=()), path)] if s.uniform else []  # whether all agree is seen there
            return said + _guarded(_steps(s.body, path, 0, ir, threads), s.conditions)
        case When(orelse=(), uniform=False) if all(e.names() <= threads for e in s.conditions) and _awaits(s) > 1:
            return _guarded(_steps(s.body, path, 0, ir, threads), s.conditions)
        case When():
            orelse = _steps(s.orelse, path, len(s.body), ir, threads)
            return [_Step(s, path, tuple(_steps(s.body, path, 0, ir, threads)), tuple(orelse))]
        case Loop():
            return [_Step(s, path, tuple(_steps(s.body, path, 0, ir, threads)))]
    return _of_operation(s, path, ir, threads)


def _of_operation(op: Op, path: IrPath, ir: KernelIR, threads: frozenset[str]) -> list[_Step]:
    """An operation in simpler words."""
    match op:
        case Await() | Arrive() | BoxCopy():
            return [_Step(replace(op, phase=_in_line(op.phase, ir)), path)]
        case Wgmma(adds=adds) if adds:
            if any(e.names() & threads for e in adds):
                raise Undecided("whether a product adds to its accumulators depends on the thread")
            zeros = tuple(_Step(Zero(d, op.statement), path) for d in op.d)
            return [_Step(When(adds, ()), path, (), zeros), _Step(replace(op, adds=()), path)]
    return [_Step(op, path)]


def _in_line(phase: Phase, ir: KernelIR) -> Phase:
    """A phase by its number in its row."""
    return Phase(phase.barriers, ZERO, ir.phases(phase.barriers).slots * phase.number + phase.slot)


def _guarded(steps: Iterable[_Step], conditions: tuple[Aff, ...]) -> list[_Step]:
    return [replace(s, threads=(*conditions, *s.threads)) for s in steps]


def _waits(s: Stmt) -> bool:
    """Whether threads wait for others in a loop below."""
    return any(_waiting_loop(x) or _waits(x) for x in inner(s))


def _awaits(s: Stmt) -> int:
    """How many waits for phases there are in a statement."""
    return sum(isinstance(op, Await) for op in operations((s,)))


def _waiting_loop(s: Stmt) -> bool:
    return isinstance(s, Loop) and any(isinstance(op, Await) for op in operations(s.body))


# ---- strands that meet


def _together(strands: list[list[_Step]]) -> list[_Step]:
    """Several strands as one: where each has a loop in which it waits for the others, these loops are one."""
    meetings = [[n for n, s in enumerate(steps) if _meets(s)] for steps in strands]
    counts = {len(found) for found in meetings if found}
    if len(counts) > 1:
        raise Undecided("the roles of the kernel have different numbers of loops in which they wait for one another")
    out: list[_Step] = []
    done = [0] * len(strands)
    for k in range(next(iter(counts), 0)):
        there = [(n, found[k]) for n, found in enumerate(meetings) if found]
        out += _in_turn([strands[n][done[n] : at] for n, at in there])
        out.append(_met([strands[n][at] for n, at in there]))
        for n, at in there:
            done[n] = at + 1
    return out + _in_turn([steps[done[n] :] for n, steps in enumerate(strands)])


def _in_turn(parts: Sequence[Sequence[_Step]]) -> list[_Step]:
    """What is between loops, of each strand up to its next wait: a k tile of a sum that has one alone has no loop."""
    cut: list[list[list[_Step]]] = []
    for steps in parts:
        cut.append([[]])
        for s in steps:
            if _awaits(s.stmt):
                cut[-1].append([])
            cut[-1][-1].append(s)
    return [s for turn in zip_longest(*cut, fillvalue=()) for some in turn for s in some]


def _meets(s: _Step) -> bool:
    return _waiting_loop(s.stmt) or isinstance(s.stmt, When) and _waits(s.stmt)


def _met(steps: list[_Step]) -> _Step:
    """The step in which some of different strands meet."""
    first = steps[-1]  # who multiplies: its place is the loop's
    if len(steps) == 1:
        return first
    bodies = []
    for s in steps:
        own = _renamed(s, first)
        if own is None:
            raise Undecided("the roles of the kernel wait for one another in loops that aren't the same")
        bodies.append(_guarded(own.body, s.threads))
    return replace(first, body=tuple(_together(bodies)), threads=())


def _renamed(s: _Step, as_: _Step) -> _Step | None:
    """A step with the variable of another one, if it is the same loop or condition otherwise."""
    match s.stmt, as_.stmt:
        case Loop() as one, Loop() as other:
            if (one.lower, one.upper, one.step) != (other.lower, other.upper, other.step):
                return None
            return s if one.var == other.var else _put(s, {one.var: var(other.var)})
        case When() as one, When() as other:
            return s if one.conditions == other.conditions and not (s.orelse or as_.orelse) else None
    return None


def _put(s: _Step, table: Mapping[str, Aff]) -> _Step:
    """A step with expressions in place of some names."""
    def change(e: Aff) -> Aff:
        return e.subs(table)

    body, orelse = (tuple(_put(x, table) for x in part) for part in (s.body, s.orelse))
    return _Step(put(s.stmt, change), s.path, body, orelse, put(s.threads, change))


# ---- a program again


def _emitted(steps: Sequence[_Step], at: IrPath, first: int, places: dict[IrPath, IrPath]) -> tuple[Stmt, ...]:
    """Steps as statements; those under one condition on threads stand below it together."""
    out: list[Stmt] = []
    for threads, group in _grouped(steps):
        if not threads:
            for s in group:
                out.append(_statement(s, (*at, first + len(out)), places))
            continue
        path = (*at, first + len(out))
        places[path] = group[0].path
        body = tuple(_statement(s, (*path, k), places) for k, s in enumerate(group))
        out.append(When(threads, body, uniform=False))
    return tuple(out)


def _grouped(steps: Sequence[_Step]) -> Iterator[tuple[tuple[Aff, ...], list[_Step]]]:
    group: list[_Step] = []
    for s in steps:
        if group and s.threads != group[0].threads:
            yield group[0].threads, group
            group = []
        group.append(s)
    if group:
        yield group[0].threads, group


def _statement(s: _Step, path: IrPath, places: dict[IrPath, IrPath]) -> Stmt:
    places[path] = s.path
    match s.stmt:
        case Loop():
            return replace(s.stmt, body=_emitted(s.body, path, 0, places))
        case When():
            body = _emitted(s.body, path, 0, places)
            return replace(s.stmt, body=body, orelse=_emitted(s.orelse, path, len(body), places))
    return s.stmt
