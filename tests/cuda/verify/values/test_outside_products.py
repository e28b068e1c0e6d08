"""Products and exchanges of operations that the package doesn't know: proved as its own are, by what they declare."""

from dataclasses import dataclass, replace

import pytest

from polyvolta.cuda.ir.accesses import Operation, of_element
from polyvolta.cuda.ir.kernel_ir import ExchangeLoad, ExchangeStore, FragmentLoad, KernelIR, Mma
from polyvolta.cuda.ir.memories import Element
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.text.operations import TEXTS
from polyvolta.cuda.verify.engine.symbolic import Undecided
from polyvolta.cuda.verify.values.effects import EFFECTS
from polyvolta.cuda.verify.values.ownership import PROVERS
from polyvolta.cuda.verify.verify import verify
from tests.cuda.macros import macro_mma
from tests.cuda.verify.edited import kernel


@dataclass(frozen=True, slots=True)
class Multiply(Operation):
    """d += a @ b, declared by its accesses and its product."""

    into: Element
    left: Element
    right: Element
    by: MacroMma
    swapped: bool = False  # whether it reads its operands in another order than a product does
    statement: str = ""

    @property
    def together(self):
        return "warp"

    @property
    def product(self):
        return self.by

    def accesses(self, ir):
        order = (self.left, self.right, self.into) if self.swapped else (self.into, self.left, self.right)
        return (*(of_element(ir, "read", e) for e in order), of_element(ir, "write", self.into))


@dataclass(frozen=True, slots=True)
class Unload(Operation):
    """A load from an exchange buffer by another class."""

    load: ExchangeLoad
    statement: str = ""

    @property
    def together(self):
        return "warp"

    @property
    def plan(self):
        return self.load.plan

    def accesses(self, ir):
        return self.load.accesses(ir)


def multiplied(known, state, here):
    op = here.op
    d, a, b = (state.element(e, here) for e in (op.into, op.left, op.right))
    state.write(op.into, known.products.multiplied(here, d, a, b), here)


@pytest.fixture(autouse=True)
def meanings(monkeypatch):
    monkeypatch.setitem(EFFECTS, Multiply, multiplied)
    monkeypatch.setitem(TEXTS, Multiply, lambda printer, op: f"multiply({op.into.array})")
    monkeypatch.setitem(TEXTS, Unload, lambda printer, op: f"unload({op.load.buffer})")


def own(op: Mma, **changes) -> tuple[Multiply]:
    return (replace(Multiply(op.d, op.a, op.b, op.macro, statement=op.statement), **changes),)


def outside(name="plain", **changes) -> KernelIR:
    ir = kernel(name).ir
    return edited(ir, places(ir, Mma), lambda op: own(op, **changes))


def asked(proof, ir, name="plain"):
    return PROVERS[proof](ir, kernel(name).graph, kernel(name).stages)


@pytest.mark.parametrize("name", ["plain", "split K", "sum"])
def test_a_right_kernel_of_outside_products_has_all_its_proofs(name):
    k = kernel(name)
    report, before = verify(outside(name), k.graph, k.stages), verify(k.ir, k.graph, k.stages)
    assert report.ok and [p.id for p in report.proofs] == [p.id for p in before.proofs]
    assert {"ownership", "exchange"} <= {p.id for p in report.proofs}


def test_a_macro_mma_that_is_none_is_refuted_beside_one_that_is():
    """Of several products the outside one is wrong; its steps all take the first one's part of B."""
    ir = kernel("sum").ir
    wrong = lambda m: replace(m, steps=tuple(replace(s, b=m.steps[0].b) for s in m.steps))  # noqa: E731
    last = places(ir, Mma)[-1]
    broken = edited(ir, [last], lambda op: own(op, by=wrong(op.macro)))
    found = asked("ownership", broken, "sum")
    assert found.at == last and "multiplies A[0, 4] by B[0, 0]" in found.counter_example.what


@pytest.mark.parametrize("wrong_first", [False, True])
def test_two_products_of_one_fragment_want_it_the_same(wrong_first):
    """Both take hmma_A; the one with the other map is wrong, whether it is the first or the last."""
    ir = kernel("plain").ir
    at = places(ir, Mma)[0]
    op = dict(walk(ir.body))[at]
    (other,) = own(op, by=macro_mma("m16n16k8", "col", "col"))
    pair = (other, op) if wrong_first else (op, other)
    found = asked("ownership", replace(ir, body=replaced(ir.body, at, pair)))
    assert "hmma_A" not in found.statement and "is loaded from" in found.counter_example.what


def test_loads_and_products_of_two_kinds_on_one_array_are_not_decided():
    ir = kernel("plain").ir
    other = macro_mma("m16n16k8", "col", "col")
    load = next(at for at in places(ir, FragmentLoad) if dict(walk(ir.body))[at].operand == "a")
    ir = edited(ir, [load], lambda op: (op, replace(op, ownership=other.a)))
    ir = edited(ir, places(ir, Mma), lambda op: (op, *own(op, by=other)))
    with pytest.raises(Undecided, match="hmma_A is loaded for several products"):
        asked("ownership", ir)


@pytest.mark.parametrize("proof", PROVERS)
def test_a_product_that_cannot_be_read_is_not_decided(proof):
    k, ir = kernel("plain"), outside(by=macro_mma("m32n32k8"))
    with pytest.raises(Undecided, match="takes 8 values of hmma_A for a, where m32n32k8 has 16"):
        asked(proof, ir)
    report = verify(ir, k.graph, k.stages)
    assert not report.ok and all(report[name].reason for name in (proof, "sums", "result"))


def test_a_product_that_reads_its_operands_in_another_order_is_refuted():
    """All three have eight values a lane; what is declared to be b are accumulators."""
    ir = outside(swapped=True)
    assert "no product takes hmma_A for its operand a" in asked("ownership", ir).counter_example.what


def test_an_outside_load_of_an_exchange_is_held_against_the_store():
    ir = kernel("plain").ir
    turned = edited(ir, places(ir, ExchangeLoad), lambda op: (Unload(op, op.statement),))
    assert asked("exchange", turned).counter_example is None
    words = lambda op: replace(op, exchange=replace(op.exchange, words=op.exchange.words[::-1]))  # noqa: E731
    other = edited(ir, places(ir, ExchangeLoad), lambda op: (Unload(words(op), op.statement),))
    assert "loaded by another exchange" in asked("exchange", other).counter_example.what


def test_what_else_is_left_in_the_accumulators_is_not_decided():
    """An outside operation that says of no product what it is may leave anything where the exchange takes it."""

    @dataclass(frozen=True, slots=True)
    class Leave(Operation):
        into: Element
        statement: str = ""

        def accesses(self, ir):
            return (of_element(ir, "write", self.into),)

    ir = kernel("plain").ir
    with pytest.raises(Undecided, match="what a Leave leaves in hmma_C is not known here"):
        asked("exchange", edited(ir, places(ir, Mma), lambda op: (Leave(op.d),)))
    gone = edited(ir, places(ir, Mma), lambda op: ())
    assert "no product has its result in hmma_C" in asked("exchange", gone).counter_example.what
    assert not places(gone, Mma) and places(gone, ExchangeStore)
