"""An operation from outside of the package: what it says of its accesses is proved, what it computes is not."""

from dataclasses import dataclass, replace

from polyvolta.cuda.ir.accesses import Access, Operation, of_element
from polyvolta.cuda.ir.kernel_ir import GlobalTensor, KernelIR, RegisterArray
from polyvolta.cuda.ir.memories import CHUNK, LANES, TENSOR_ITEM, ZERO, Element
from polyvolta.cuda.ir.operations import Barrier, SharedStore
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.accesses.bounds import Bounds
from polyvolta.cuda.verify.accesses.single import PROVERS
from polyvolta.cuda.verify.coverage.written_once import WrittenOnce
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.verify import Found, by_functions, by_machine, provers
from polyvolta.sets import Aff, aff, var
from tests.cuda.macros import macro_mma
from tests.cuda.verify.edited import kernel

OF_ACCESSES = ("copies", "barriers_between", "not_overwritten", "bank_conflicts", "alignment", "bounds", "sectors",
               "barriers_reached")  # fmt: skip
OF_VALUES = ("fresh", "sums", "result")


@dataclass(frozen=True, slots=True)
class Put(Operation):
    """Each thread puts a chunk of its registers into a tile, half a chunk with each of two instructions."""

    source: Element
    tile: str
    index: tuple[Aff, ...]
    buffer: Aff = ZERO
    statement: str = ""

    def accesses(self, ir):
        run_ = ir.tile(self.tile).order[-1]
        place = Access("shared", "write", self.tile, self.index, CHUNK, 4, TENSOR_ITEM, run_, slot=self.buffer)
        return of_element(ir, "read", self.source), place


def with_puts(ir: KernelIR, change=lambda op: op) -> KernelIR:
    """A kernel that puts what others store."""
    own = lambda op: (change(Put(op.source, op.tile, op.index, op.buffer, op.statement)),)  # noqa: E731
    return edited(ir, places(ir, SharedStore), own)


def asked(ir: KernelIR, name: str = "plain") -> Found:
    k, found = kernel(name), Found({}, {}, {})
    by_functions(provers(), ir, k.graph, k.stages, OF_ACCESSES, found)
    by_machine(ir, k.graph, (*OF_ACCESSES, *OF_VALUES), found)
    return found


def test_its_accesses_are_proved_and_its_values_unknown():
    for name in ("plain", "two buffers"):
        found = asked(with_puts(kernel(name).ir), name)
        assert set(found.verdicts) == set(OF_ACCESSES) and set(found.unknown) == set(OF_VALUES)
        cases = {n: v.counter_example for n, (v, _) in found.verdicts.items() if v.counter_example is not None}
        assert set(cases) == {"bank_conflicts"}  # lanes 0 and 8 put half a chunk each, 128 bytes apart
        assert "served 2 times" in cases["bank_conflicts"].what
        assert all("what a Put does to memories is not known here" in e.message for e in found.unknown.values())


def refuted(ir: KernelIR) -> dict[str, str]:
    verdicts = asked(ir).verdicts.items()
    return {name: v.counter_example.what for name, (v, _) in verdicts if v.counter_example is not None}


def moved(by: int):
    """Places further along the lines of a tile."""

    def change(op):
        run_ = kernel("plain").ir.tile(op.tile).order[-1]
        return replace(op, index=tuple(e + by * (d == run_) for d, e in enumerate(op.index)))

    return change


def test_its_accesses_are_refuted():
    ir = kernel("plain").ir
    astray = refuted(with_puts(ir, moved(2)))
    assert "4 values are stored to" in astray["alignment"] and "no multiple of 4" in astray["alignment"]
    beyond = refuted(with_puts(ir, moved(64)))
    assert "outside of a tile" in beyond["bounds"] and "doesn't have" in beyond["copies"]
    half = refuted(with_puts(ir, moved(4)))
    assert {"bounds", "copies"} <= half.keys()
    same = refuted(with_puts(ir, lambda op: replace(op, index=tuple(0 * e for e in op.index))))
    assert {"copies", "not_overwritten"} <= same.keys()
    barrier = next(at for at, s in walk(ir.body) if isinstance(s, Barrier) and len(at) > 1)
    bare = refuted(with_puts(replace(ir, body=replaced(ir.body, barrier, ()))))
    assert bare.keys() & {"barriers_between", "not_overwritten"}


# ---- a fragment that goes to global memory from where it is


@dataclass(frozen=True, slots=True)
class Scatter(Operation):
    """Each lane stores its values of a fragment, two at a time, at `index` and what its ownership map adds."""

    source: Element
    tensor: str
    index: tuple[Aff, ...]
    ownership: IndexMap
    width: int = 2
    guarded: bool = True
    statement: str = ""

    @property
    def together(self) -> str:
        return "warp"

    def accesses(self, ir):
        count = ir.register(self.source.array).width
        place = Access("global", "write", self.tensor, self.index, count, self.width, TENSOR_ITEM, own=self.ownership,
                       guarded=self.guarded)  # fmt: skip
        return of_element(ir, "read", self.source), place


def scattered(**changed) -> KernelIR:
    """C[16*blockIdx.y + row, 16*blockIdx.x + col], a warp a block."""
    own = macro_mma("m16n16k8").d
    op = Scatter(Element("acc", (aff(0),)), "C", (16 * var("blockIdx.y"), 16 * var("blockIdx.x")), own)
    linear = var("linearId")
    high = {"M": (1, None), "N": (1, None), "linearId": (0, LANES - 1), "lane": (0, LANES - 1)}
    blocks = {f"blockIdx.{axis}": (0, None) for axis in "xyz"}
    return KernelIR(
        "scatter", ("M", "N"), (GlobalTensor("C", ("M", "N"), (0, 1), True, 2),), (),
        (RegisterArray("acc", "float", (1,), 8),), LANES, (("lane", linear % LANES),), {**high, **blocks},
        ((var("N") + 15) // 16, (var("M") + 15) // 16, aff(1)), body=(replace(op, **changed),),
    )  # fmt: skip


def findings(ir: KernelIR) -> dict[str, str]:
    return {name: f.what for name, f in run(ir, [Bounds(ir), WrittenOnce(ir)]).findings.items()}


def test_values_where_a_map_says_in_global_memory():
    ir = scattered()
    assert findings(ir) == {}
    aligned = PROVERS["alignment"](ir, None, {})
    assert aligned.counter_example is None and "4 x 32 bits at multiples of 2" in aligned.relation
    sectors = PROVERS["sectors"](ir, None, {})  # of each line four columns, and four that are eight further on
    assert "C, 4 x 32 bits a lane" in sectors.relation
    assert sectors.counter_example.what == "what warp 0 wants of C lies in 16 separate runs in 8 lines"


def test_values_where_a_map_should_not_say():
    own = macro_mma("m16n16k8").d
    (row, e), (col, f) = own.outputs
    twice = findings(scattered(ownership=replace(own, outputs=((row, e // 2), (col, f)))))
    assert "is written a second time, by warp 0, lane" in twice["written_once"]
    holes = findings(scattered(ownership=replace(own, outputs=((row, 2 * e), (col, f)))))
    assert "written_once" in holes
    below = findings(scattered(ownership=replace(own, outputs=((row, e - 1), (col, f)))))
    assert "reaches C[-1," in below["bounds"]
    assert "outside of C[M, N]" in findings(scattered(guarded=False))["bounds"]
    wide = PROVERS["alignment"](scattered(width=4), None, {}).counter_example
    assert "what a lane stores to C at once isn't an aligned run of 4 values" in wide.what
    shifted = scattered(index=(16 * var("blockIdx.y"), 15 * var("blockIdx.x")))
    odd = PROVERS["alignment"](shifted, None, {}).counter_example
    assert odd.block[0] % 2 and odd.address.endswith(f", {15 * odd.block[0]}]")
