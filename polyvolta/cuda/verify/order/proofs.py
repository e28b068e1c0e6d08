"""The proofs about the order of a kernel with roles: each a statement, a relation that prints, and a case against it.

All of them ask one order of one kernel, which is kept until another kernel comes.
"""

from __future__ import annotations

from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.verify.order.flight import Flight
from polyvolta.cuda.verify.order.found import Case
from polyvolta.cuda.verify.order.phases import Phases
from polyvolta.cuda.verify.order.roles import Rows, has_roles
from polyvolta.cuda.verify.order.sync import Meetings
from polyvolta.cuda.verify.report.records import NoMeaning, Verdict
from polyvolta.graph.dag import Graph


class RoleOrder:
    """The order of one kernel's instances.

    Raises
    ------
    Undecided : no exact answer.

    Cost: some tenths of a second.
    """

    def __init__(self, ir: KernelIR) -> None:
        rows = Rows(ir)
        self.meetings = Meetings(rows)
        self.phases = Phases(rows, self.meetings)
        self.flight = Flight(rows, self.meetings)

    @property
    def relation(self) -> str:
        """What comes before what, for the report."""
        return f"before is {self.meetings.steps}, closed transitively (exact); {self.phases.numbers}"


class _Key:
    """A kernel as what it is, not as what it is equal to: a comparison would cost more than an answer."""

    __slots__ = ("ir",)

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir

    def __hash__(self) -> int:
        return id(self.ir)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.ir is self.ir


@lru_cache(maxsize=1)
def _order(key: _Key) -> RoleOrder:
    return RoleOrder(key.ir)


def order_of(ir: KernelIR) -> RoleOrder:
    """The order of a kernel.

    Raises
    ------
    NoMeaning : it has no roles and no phases.
    """
    if not has_roles(ir):
        raise NoMeaning("all threads run one program, and wait at barriers alone")
    return _order(_Key(ir))


def phases(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Phases are what they are called."""
    of = order_of(ir).phases
    text = (
        "every phase gets exactly the arrivals and bytes that it waits for, each behind the phase before it in its "
        "slot; who waits for one is never two phases behind, so that parities tell them apart; barriers begin before "
        "their use, and every box is waited for"
    )
    return _verdict(text, of.relation, of.wrong)


def deadlock(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Nobody waits for ever."""
    of = order_of(ir)
    text = "what is waited for gets what it needs, and no phase is complete only behind itself: nobody waits for ever"
    return _verdict(text, of.relation, of.phases.stuck)


def in_flight(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Registers of products."""
    of = order_of(ir)
    text = (
        "accumulators are touched behind a wait that covers their products, and a fence is between that and the "
        "products to come; at the end no product and no stored box is on its way"
    )
    covers = [str(m) for p in of.flight.rows.parties if (m := of.meetings.covers(p)).parts]
    relation = f"waits cover {covers[0]}; {of.phases.numbers}" if covers else "no products"
    return _verdict(text, relation, of.flight.running)


def proxies(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Fences between threads and engines."""
    of = order_of(ir).flight
    text = "between a thread's write to shared memory and what an engine does there the thread has fenced its writes"
    return _verdict(text, of.relation, of.unfenced)


def between(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Reads behind what they read."""
    of = order_of(ir)
    text = (
        "what is read from shared memory has arrived: boxes behind the phase that counts their bytes, what threads "
        "write behind a barrier of those who read it"
    )
    return _verdict(text, f"{of.flight.relation}; {of.relation}", of.flight.late)


def overwritten(ir: KernelIR, graph: Graph, stages: object) -> Verdict:
    """Writes behind what they overwrite."""
    of = order_of(ir)
    text = (
        "nothing is written over before all who read it are done: products behind a wait that covers them, threads "
        "behind their release of the slot, or a barrier"
    )
    return _verdict(text, f"{of.flight.relation}; {of.relation}", of.flight.early)


def _verdict(text: str, relation: str, found: Case | None) -> Verdict:
    return Verdict(text, relation) if found is None else Verdict(text, relation, found.case, found.at, found.other)


PROVERS = {"phases": phases, "deadlock": deadlock, "in_flight": in_flight, "proxies": proxies}
OF_ROLES = {"barriers_between": between, "not_overwritten": overwritten}
"""Those that answer for a kernel with roles alone; for others the clients of the machine do."""
