"""The proofs about the order of a kernel with roles: each a statement, a relation that prints, and a case against it.

All of them ask one order of one kernel, which is kept until others come: that of any two tiles and, where a case is
looked for, those of the first few.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import ByIdentity, KernelIR
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.order.flight.registers import Registers
from polyvolta.cuda.verify.order.flight.shared import Flight
from polyvolta.cuda.verify.order.found import Case
from polyvolta.cuda.verify.order.phases import Phases
from polyvolta.cuda.verify.order.roles import Rows, has_roles
from polyvolta.cuda.verify.order.spans import Spans
from polyvolta.cuda.verify.order.sync import Meetings
from polyvolta.cuda.verify.order.tiles import View, any_two_tiles, first_tiles, period_of
from polyvolta.cuda.verify.report.records import NoMeaning, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sets import BudgetExceeded

FIRST = 3  # tiles of a block, at most, in which a case is looked for; where roles take turns two of each


class RoleOrder:
    """The order of one kernel's instances.

    Parameters
    ----------
    view : of a block that computes several tiles those that are read.

    Raises
    ------
    Undecided : no exact answer.

    Cost: some tenths of a second.
    """

    def __init__(self, ir: KernelIR, view: View | None = None) -> None:
        rows = Rows(ir, view)
        self.meetings = Meetings(rows)
        self.spans = Spans(rows, self.meetings) if view is not None and view.any_two else None
        self.phases = Phases(rows, self.meetings, self.spans)
        self.flight = Flight(rows, self.meetings, self.spans)
        self.registers = Registers(rows, self.meetings)

    @property
    def relation(self) -> str:
        """What comes before what, for the report."""
        return f"before is {self.meetings.steps}, closed transitively (exact); {self.phases.numbers}"


@lru_cache(maxsize=2 + FIRST)  # of a kernel all that one answer asks: the next proof's asks them again
def _orders(key: ByIdentity, tiles: int | None) -> tuple[RoleOrder, ...]:
    if not loops_over_tiles(key.ir):
        return (RoleOrder(key.ir),)
    if tiles is not None:
        return (RoleOrder(key.ir, first_tiles(key.ir, tiles)),)
    orders = tuple(RoleOrder(key.ir, view) for view in any_two_tiles(key.ir))
    if len(orders) > 1:
        chained = frozenset.intersection(*(of.spans.chained() for of in orders if of.spans is not None))
        for of in orders:
            of.meetings.beyond = of.spans.chains(chained)  # type: ignore[union-attr]
    return orders


def orders_of(ir: KernelIR, tiles: int | None = None) -> tuple[RoleOrder, ...]:
    """The order of a kernel; of any two tiles that roles take in turn an order for each two remainders.

    Parameters
    ----------
    tiles : of a block that computes several so many of the first; None: any two.

    Raises
    ------
    NoMeaning : it has no roles and no phases.
    Undecided : no exact answer.
    """
    if not has_roles(ir):
        raise NoMeaning("all threads run one program, and wait at barriers alone")
    return _orders(ByIdentity(ir), tiles)


def order_of(ir: KernelIR, tiles: int | None = None) -> RoleOrder:
    """The first of a kernel's orders: the only one, if no roles take turns."""
    return orders_of(ir, tiles)[0]


def answer(ir: KernelIR, question: Callable[[RoleOrder], Case | None]) -> tuple[RoleOrder, Case | None]:
    """An order in which a question is answered, and the case against what is asked; of a block that computes several
    tiles none if there is none of any two, and else one of its first tiles.

    Raises
    ------
    Undecided : no exact answer, or something of any two tiles that the first ones don't have.
    """
    try:
        orders = orders_of(ir)
        found = next((case for of in orders if (case := question(of)) is not None), None)
        if found is None or not loops_over_tiles(ir):
            return orders[0], found
        doubt: Undecided | BudgetExceeded = Undecided(found.case.what)
        doubt.path = found.at  # type: ignore[union-attr]
    except (Undecided, BudgetExceeded) as unknown:
        if not loops_over_tiles(ir):
            raise
        doubt = unknown
    for count in range(1, max(FIRST, 2 * period_of(ir)) + 1):
        try:
            of = order_of(ir, count)
            if (found := question(of)) is not None:
                return of, found
        except (Undecided, BudgetExceeded):
            break
    unknown = Undecided(f"not shown for all numbers of tiles: {doubt.message}")
    unknown.path = getattr(doubt, "path", None)
    raise unknown


def phases(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Phases are what they are called."""
    of, found = answer(ir, lambda of: of.phases.wrong)
    text = (
        "every phase gets exactly the arrivals and bytes that it waits for, each behind the phase before it in its "
        "slot; who waits for one is never two phases behind, so that parities tell them apart; barriers begin before "
        "their use, and every box is waited for"
    )
    return _verdict(text, of.phases.relation, found)


def deadlock(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Nobody waits for ever."""
    of, found = answer(ir, lambda of: of.phases.stuck)
    text = "what is waited for gets what it needs, and no phase is complete only behind itself: nobody waits for ever"
    return _verdict(text, of.relation, found)


def in_flight(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Registers of products."""
    of, found = answer(ir, lambda of: of.registers.running)
    text = (
        "accumulators are touched behind a wait that covers their products, and a fence is between that and the "
        "products to come; at the end no product and no stored box is on its way"
    )
    covers = [str(m) for p in of.flight.rows.parties if (m := of.meetings.covers(p)).parts]
    relation = f"waits cover {covers[0]}; {of.phases.numbers}" if covers else "no products"
    return _verdict(text, relation, found)


def proxies(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Fences between threads and engines."""
    of, found = answer(ir, lambda of: of.flight.unfenced)
    text = "between a thread's write to shared memory and what an engine does there the thread has fenced its writes"
    return _verdict(text, of.flight.relation, found)


def between(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Reads behind what they read."""
    of, found = answer(ir, lambda of: of.flight.late)
    text = (
        "what is read from shared memory has arrived: boxes behind the phase that counts their bytes, what threads "
        "write behind a barrier of those who read it"
    )
    return _verdict(text, f"{of.flight.relation}; {of.relation}", found)


def overwritten(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Writes behind what they overwrite."""
    of, found = answer(ir, lambda of: of.flight.early)
    text = (
        "nothing is written over before all who read it are done: products behind a wait that covers them, threads "
        "behind their release of the slot, or a barrier"
    )
    return _verdict(text, f"{of.flight.relation}; {of.relation}", found)


def _verdict(text: str, relation: str, found: Case | None) -> Verdict:
    return Verdict(text, relation) if found is None else Verdict(text, relation, found.case, found.at, found.other)


PROVERS = {"phases": phases, "deadlock": deadlock, "in_flight": in_flight, "proxies": proxies}
OF_ROLES = {"barriers_between": between, "not_overwritten": overwritten}
"""Those that answer for a kernel with roles alone; for others the clients of the machine do."""
