"""The requests of warps: where the 32 lanes of every warp reach in one operation, for all values of the loops around.

Many properties of an access are matters of one warp alone: bank conflicts, sectors, alignment. They don't depend on
what ran before, so nothing has to be run. Threads and the variables of unrolled loops, which run within a tile, are
enumerated, all at once, as arrays [combination, warp, lane]; sizes, `blockIdx.*` and the variables of loops over k
tiles, be their number known or not, stay symbols. An index is then a symbolic part, the same for all lanes of all
warps, and numbers.

A condition that threads alone decide says which lanes take part. One that sizes decide is left open: the access may
happen, and only where it is to be shown that it does happen, for a counter-example, are there sizes to be found for
which it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import LANES, KernelIR, Loop, Op, Roles, Stmt, Tiles, When
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.verify.engine.symbols import all_blocks, parts, thread_numbers
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.records import CounterExample
from polyvolta.sets import Aff, var

MOST_COMBINATIONS = 1 << 16  # of loop variables around one operation


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """One operation in all warps, in all iterations of the unrolled loops around it.

    Parameters
    ----------
    ir, path, op : the kernel; where the operation stands, and itself.
    accesses : what it touches in the memories that were asked for.
    numbers : the names that are numbers, threads' and unrolled loops': int64, broadcastable to `shape`.
    shape : (combinations of loop variables, warps, 32).
    active : which lanes take part, bool of that shape; None for all.
    around : what is open: of each tuple of conditions at least one holds, `e >= 0`.
    variables : of the symbolic loops around.
    """

    ir: KernelIR
    path: IrPath
    op: Op
    accesses: tuple[Access, ...]
    numbers: Mapping[str, np.ndarray]
    shape: tuple[int, int, int]
    active: np.ndarray | None
    around: tuple[tuple[Aff, ...], ...]
    variables: tuple[str, ...]

    @property
    def title(self) -> str:
        """How proofs name the operation."""
        return self.op.statement or type(self.op).__name__

    def split(self, e: Aff) -> tuple[Aff, np.ndarray]:
        """An expression as a symbolic part, without a constant, and numbers of shape `shape`.

        Raises
        ------
        Undecided : a floor or an exclusive-or of both.
        """
        own, symbolic = parts(e, self.numbers.keys())
        values = own.evaluate(self.numbers)
        return symbolic, np.broadcast_to(np.asarray(values, np.int64), self.shape)

    def values(self, e: Aff) -> np.ndarray:
        """An expression that is numbers alone.

        Raises
        ------
        Undecided : it isn't.
        """
        symbolic, numbers = self.split(e)
        if not symbolic.is_constant:
            raise Undecided(f"{e} is no number of a thread: it depends on {', '.join(sorted(symbolic.names()))}")
        return numbers

    def case(self, what: str, at: tuple[int, ...], where: tuple[Aff, ...] = (), address: str = "") -> Case | None:
        """A counter-example: the request at an index (combination, warp, lane), with sizes that have it.

        Parameters
        ----------
        where : what else is to hold, each `e >= 0` in symbolic names.

        Returns
        -------
        None where the lane takes no part, or there are no such sizes.
        """
        if self.active is not None and not self.active[at]:
            return None
        table = {n: int(np.broadcast_to(x, self.shape)[at]) for n, x in self.numbers.items()}
        for chosen in product(*self.around):
            condition = all_blocks(self.ir, self.variables).given(*[e.subs(table) for e in (*chosen, *where)])
            point = condition.point()
            if point is not None:
                return Case(self, what, at, table, point, address)
        return None

    def first(self, wrong: np.ndarray, what: str, where: tuple[Aff, ...] = ()) -> Case | None:
        """The first request, of some that a flag of each thread marks, that happens for some sizes."""
        open_for_all = not any(_names(*c) & self.numbers.keys() for c in self.around)
        for at in np.argwhere(wrong if self.active is None else wrong & self.active):
            case = self.case(what, tuple(int(x) for x in at), where)
            if case is not None or open_for_all:
                return case
        return None


@dataclass(frozen=True, slots=True)
class Case:
    """A thread, and sizes, for which a statement about requests is wrong."""

    requests: Requests
    what: str
    at: tuple[int, ...]
    numbers: Mapping[str, int]
    point: Mapping[str, int]
    address: str

    @property
    def counter_example(self) -> CounterExample:
        r = self.requests
        loops = {n: v for n, v in self.numbers.items() if r.numbers[n].shape[0] > 1 or n not in thread_numbers(r.ir)}
        loops |= {n: self.point[n] for n in r.variables}
        x, y, z = (self.point[f"blockIdx.{axis}"] for axis in "xyz")
        sizes = {n: self.point[n] for n in r.ir.sizes}
        return CounterExample(self.what, sizes, (x, y, z), self.at[1], self.at[2], loops, self.address)


def requests(ir: KernelIR, *spaces: str) -> Iterator[Requests]:
    """The requests of every operation that touches some memories, in program order; of one that never runs there are
    none. What copy engines and tensor cores touch is no warp's request.

    Parameters
    ----------
    spaces : "global", "shared".

    Raises
    ------
    Undecided : a condition or a bound that mixes threads and sizes inside of a floor.

    Cost: linear in threads and combinations of loop variables, as numpy operations.
    """
    threads = {name: x[None] for name, x in thread_numbers(ir).items()}

    def of(op: Op) -> tuple[Access, ...] | None:
        return tuple(a for a in op.accesses(ir) if a.space in spaces and a.proxy == "generic") or None

    yield from (r for r in _below(ir, of, ir.body, (), (), threads) if r.shape[0])


def placed(ir: KernelIR, *kinds: type) -> Iterator[Requests]:
    """The same of every operation of some kinds, with all that it touches, past the threads, too."""
    threads = {name: x[None] for name, x in thread_numbers(ir).items()}

    def of(op: Op) -> tuple[Access, ...] | None:
        return op.accesses(ir) if isinstance(op, kinds) else None

    yield from (r for r in _below(ir, of, ir.body, (), (), threads) if r.shape[0])


def _below(
    ir: KernelIR,
    of: Callable[[Op], tuple[Access, ...] | None],
    body: tuple[Stmt, ...],
    at: IrPath,
    above: tuple[tuple[Loop | When, bool], ...],
    threads: Mapping[str, np.ndarray],
    first: int = 0,
) -> Iterator[Requests]:
    for k, s in enumerate(body, first):
        match s:
            case Loop():
                yield from _below(ir, of, s.body, (*at, k), (*above, (s, True)), threads)
            case When():
                yield from _below(ir, of, s.body, (*at, k), (*above, (s, True)), threads)
                yield from _below(ir, of, s.orelse, (*at, k), (*above, (s, False)), threads, len(s.body))
            case Tiles():
                yield from _below(ir, of, s.body, (*at, k), above, threads)
            case Roles():
                at_first = 0
                for role in s.roles:
                    warp = var("linearId") // LANES
                    mine = When((warp - role.first, role.first + role.warps - 1 - warp), role.body, uniform=False)
                    yield from _below(ir, of, role.body, (*at, k), (*above, (mine, True)), threads, at_first)
                    at_first += len(role.body)
            case _:
                if (accesses := of(s)) is not None:
                    yield _placed(ir, (*at, k), s, accesses, above, threads)


def _placed(
    ir: KernelIR,
    path: IrPath,
    op: Op,
    accesses: tuple[Access, ...],
    above: tuple[tuple[Loop | When, bool], ...],
    threads: Mapping[str, np.ndarray],
) -> Requests:
    """An operation below some loops and conditions, of which those that say False hold for its `orelse`."""
    rows: list[dict[str, int]] = [{}]
    variables: list[str] = []
    around: list[tuple[Aff, ...]] = []
    decided: list[tuple[When, bool]] = []
    for s, holds in above:
        if isinstance(s, When):
            decided.append((s, holds))
        elif s.unroll and _names(*s.lower, *s.upper) <= (rows[0].keys() if rows else set()):
            rows = [{**row, s.var: value} for row in rows for value in _values(s, row)]
        else:
            variables.append(s.var)
            around += [(var(s.var) - e,) for e in s.lower] + [(e - var(s.var),) for e in s.upper]
            if s.step > 1 and len(s.lower) == 1:
                around.append((-((var(s.var) - s.lower[0]) % s.step),))
    if len(rows) > MOST_COMBINATIONS:
        raise Undecided(f"an operation in {len(rows)} iterations of unrolled loops")
    loops = rows[0].keys() if rows else ()
    numbers = {n: np.array([row[n] for row in rows], np.int64).reshape(-1, 1, 1) for n in loops}
    shape = (len(rows), ir.warps, LANES)
    placed = Requests(ir, path, op, accesses, {**threads, **numbers}, shape, None, (), tuple(variables))
    active = np.ones(shape, bool)
    for s, holds in decided:
        known, still_open = np.ones(shape, bool), []
        for e in s.conditions:
            if _names(e) <= placed.numbers.keys():
                known &= placed.values(e) >= 0
            else:
                still_open.append(e)
        if holds:
            active &= known
            around += [(e,) for e in still_open]
        elif not still_open:
            active &= ~known
        elif known.all():  # one of the open conditions fails; else each thread may be here for its own reason
            around.append(tuple(-e - 1 for e in still_open))
    mask = None if active.all() else active
    return Requests(ir, path, op, accesses, placed.numbers, shape, mask, tuple(around), tuple(variables))


def _values(loop: Loop, row: Mapping[str, int]) -> range:
    lower: list[int] = [e.evaluate(row) for e in loop.lower]  # type: ignore[misc]
    upper: list[int] = [e.evaluate(row) for e in loop.upper]  # type: ignore[misc]
    return range(max(lower), min(upper) + 1, loop.step)


def _names(*parts: Aff) -> frozenset[str]:
    return frozenset().union(*[e.names() for e in parts])
