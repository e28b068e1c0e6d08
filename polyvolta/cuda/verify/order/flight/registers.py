"""Registers of products that run, and what is over at the end of the program.

A product reads and writes its accumulators between its issue and a wait of its warpgroup that covers it. So threads
touch these behind such a wait, and one for all products, which hands them back; and what they touched is there for the
products to come behind a `WgmmaFence` alone. At the end no product runs, and no stored box is read any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from polyvolta.cuda.ir.kernel_ir import Element
from polyvolta.cuda.ir.walk import elements
from polyvolta.cuda.verify.order.flight.shared import VERBS
from polyvolta.cuda.verify.order.found import Case, case, smallest, who
from polyvolta.cuda.verify.order.program import REGISTERS, Event
from polyvolta.cuda.verify.order.relations import less, then, together
from polyvolta.cuda.verify.order.roles import DONE, PRODUCT, READY, TAKE, Party, Rows
from polyvolta.cuda.verify.order.sync import Meetings
from polyvolta.sets import Aff, Map


class Registers:
    """What is wrong with the registers of products, or the end, if anything.

    Parameters
    ----------
    rows, meetings : the kernel's events and what orders them.
    """

    def __init__(self, rows: Rows, meetings: Meetings) -> None:
        self.rows, self.meetings, self.relations = rows, meetings, meetings.relations

    @cached_property
    def running(self) -> Case | None:
        """Registers that are touched while products run that have them, or unfenced; or an end before all is over."""
        for strand in self.rows.strands.values():
            party = strand[0]
            for product in (e for e in self.rows.of(PRODUCT) if party.takes(e)):
                covers = self.meetings.covers(party)
                found = self._left_running(product, party, covers, "the program ends while it runs")
                found = found or self._touched(product, party) or self._ready(product, party)
                if found is not None:
                    return found
        for e in self.rows.of(TAKE):
            for party in (p for p in self.rows.parties if p.takes(e)):
                found = self._left_running(e, party, self.meetings.taken(party), "the program ends while it is read")
                if found is not None:
                    return found
        return None

    def _left_running(self, e: Event, party: Party, covers: Map, why: str) -> Case | None:
        """An instance of which no wait knows the end."""
        mine = Map._of(covers.param_names, [(s, p) for s, p in covers.parts if s.source.name == e.name])
        left = self.relations.instances(e)
        point = smallest(left - mine.domain() if mine.parts else left)
        if point is None:
            return None
        return case(self.rows, point, f"{who(party)} {VERBS[e.kind]}, no wait covers that: {why}", e, party, point.one)

    def _touched(self, product: Event, party: Party) -> Case | None:
        """Who touches accumulators behind a product, a wait of its own being between that covers it; and one for all
        products, which hands them back. Operands in registers are free behind a wait that covers them."""
        waits = [e for e in self.rows.of(DONE) if party.takes(e)]
        of_all = [w for w in waits if not w.pending]
        sums = dict.fromkeys(self._registers(product, party))
        ways = (waits, "that may still run"), (of_all, "and no wait for all of them hands them back")
        for e in dict.fromkeys((*sums, *self._registers(product, party, True))):
            after = self.meetings.before(product, e)
            for some, why in ways if e in sums else ways[:1]:
                behind = together([self.meetings.before(w, e) for w in some], self.meetings.relations.nothing())
                if (point := smallest(less(after, then(self.meetings.covers(party), behind)))) is not None:
                    what = f"{who(party)} touches {'accumulators' if e in sums else 'operands'} of products {why}"
                    return case(self.rows, point, what, e, party, point.other, other=product.path)
        return None

    def _ready(self, product: Event, party: Party) -> Case | None:
        """A product before which registers are touched, and not fenced; one fence is before all products."""
        before = self.meetings.before
        fences = [e for e in self.rows.of(READY) if party.takes(e)]
        fenced = [before(f, product) for f in fences]
        behind = self.relations.instances(product)
        for m in fenced:
            behind = behind - m.range() if m.parts else behind
        if (point := smallest(behind)) is not None:
            return case(self.rows, point, f"{who(party)} multiplies before any fence of its registers", product, party,
                        point.one)  # fmt: skip
        sums = dict.fromkeys(self._registers(product, party))
        for e in dict.fromkeys((*sums, *self._registers(product, party, True))):
            bad = before(e, product)
            for f, own in zip(fences, fenced):
                bad = less(bad, then(before(e, f), own))
            if (point := smallest(bad)) is not None:
                registers = "accumulators" if e in sums else "operands in registers"
                what = f"{who(party)} multiplies, and its {registers} were touched with no fence since"
                return case(self.rows, point, what, product, party, point.other, other=e.path)
        return None

    def _registers(self, product: Event, party: Party, operands: bool = False) -> Iterator[Event]:
        """What touches accumulators of a product, or operands that it has in registers, by threads of a party's
        warpgroup."""
        mine = {(x.array, x.index) for op in product.ops
                for x in (op.held[len(op.d) :] if operands else op.d)}  # type: ignore[attr-defined]  # fmt: skip
        for e in self.rows.of(REGISTERS):
            if any(p.reaches(e) for p in self.rows.strands[party.strand]):
                touched = [x for op in e.ops for x in elements(op)]
                if any(_may_be(x, array, index) for x in touched for array, index in mine):
                    yield e


def _may_be(x: Element, array: str, index: tuple[Aff, ...]) -> bool:
    """Whether an element may be one of an array: it is, but for numbers that differ."""
    apart = (a - b for a, b in zip(x.index, index))
    return x.array == array and not any(d.is_constant and d.const for d in apart)
