"""Values that are stored in a result and aren't the graph's: the last thing that can be wrong with a run.

A kernel that breaks no rule may still compute something else: a lane that loads its neighbour's row, a part of a sum
left out. So each value that is stored is compared with the exact one, computed in float64 from the same arrays.

How far it may be off is not a matter of taste. `graph.rounding` follows the three roundings that a kernel does, 16-bit
operands, fp32 sums and functions, a 16-bit result, and gives a bound for each element; the exact value less and plus
that bound, both rounded to fp16 (bf16), are the least and the largest number that may be stored. Beyond its range they
are infinite, and so must the result be; where the exact value is NaN, NaN must be stored. Where nothing can be said,
such as where an operand of a product may be beyond fp16's range, nothing is, and the table counts these elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from polyvolta.cuda.ir.engines.unfolded import Unfolded
from polyvolta.cuda.ir.kernel_ir import LANES, GlobalTensor, KernelIR
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.machine.asynchrony.engine import Boxes
from polyvolta.cuda.machine.machine import Machine, Step
from polyvolta.cuda.machine.memories import Memory
from polyvolta.cuda.machine.observe.observer import Finding, Observer, short
from polyvolta.cuda.machine.observe.tables import Shown, Table
from polyvolta.cuda.machine.observe.warpwide import Accesses
from polyvolta.cuda.machine.reach import GlobalReach
from polyvolta.cuda.text.places import Place, Places
from polyvolta.graph.functions.formats import KINDS, widened

RARE = 16  # values of which the rarest is looked for elsewhere
ORIGINS = 1000  # places where it may be found
SAMPLE = 64  # wrong elements that a pattern is tried on before all are


@dataclass(frozen=True, slots=True)
class WrongValues:
    """Wrong values that one place stores.

    Parameters
    ----------
    place : the store.
    tensor : the result.
    element : the first one's index.
    found, expected : its value, and the exact one.
    block, warp, lane : who stored it.
    wrong, stored : how many values the place stores that are wrong, and how many in all.
    moved : what the wrong elements have in common if each is the right value of another element, such as
        "C[i, j] holds what belongs to C[i, j xor 8]"; else "".
    """

    place: Place
    tensor: str
    element: tuple[int, ...]
    found: float
    expected: float
    block: tuple[int, int, int]
    warp: int
    lane: int
    wrong: int
    stored: int
    moved: str

    @property
    def name(self) -> str:
        """The first element, such as "C[3, 5]"."""
        return f"{self.tensor}[{', '.join(map(str, self.element))}]"

    @property
    def what(self) -> str:
        """What is wrong in words."""
        return (
            f"{self.name} is {self.found:g} and should be {self.expected:g}; stored by block {self.block}, warp "
            f"{self.warp}, lane {self.lane}; {self.wrong:,} of {self.stored:,} values stored here are wrong"
        ) + (f": {self.moved}" if self.moved else "")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result: its name, how many elements it has, in how many of them something wrong was stored, and of how many
    nothing can be said.
    """

    tensor: str
    elements: int
    wrong: int
    unknown: int


@dataclass(frozen=True, slots=True, repr=False)
class Values(Shown):
    """What was stored, beside what the graph computes: wrong values by place, and how many of each result."""

    rows: tuple[WrongValues, ...]
    results: tuple[ResultRow, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(Finding("values", r.what, (r.place,), r.wrong) for r in self.rows)

    @property
    def tables(self) -> tuple[Table, ...]:
        rows = tuple((r.tensor, f"{r.elements:,}", f"{r.wrong:,}", f"{r.unknown:,}") for r in self.results)
        heads = ("result", ">elements", ">wrong", ">nothing known")
        first = Table("values: what is stored, beside the exact result", heads, rows)
        if not self.rows:
            return (first,)
        cells = tuple(
            (short(r.place), r.name, f"{r.found:g}", f"{r.expected:g}", f"{r.wrong:,}", f"{r.stored:,}")
            for r in self.rows
        )
        return first, Table("values: where from", ("line", "first", ">is", ">should be", ">wrong", ">stored"), cells)


class _Result:
    """A result, and what may be stored in it.

    Parameters
    ----------
    tensor : of the kernel.
    exact, off : the exact values and how far off they may be before they are rounded to 16 bits, float64 of its shape.
    memory : the tensor's memory; elements beyond the result's shape are padding.

    Attributes
    ----------
    least, most : the smallest and the largest value that each element may have, fp32; both NaN: NaN alone.
    low, high : the same by the number of a value in memory.
    unknown, wrong : where in memory anything may be stored, and where something wrong was.
    """

    def __init__(self, tensor: GlobalTensor, exact: np.ndarray, off: np.ndarray, memory: Memory) -> None:
        self.tensor, self.exact, self.off, self.memory = tensor, exact, off, memory
        with np.errstate(all="ignore"):
            form = KINDS[tensor.kind]
            self.least, self.most = (form.rounded(exact + s * off).astype(np.float32) for s in (-1, 1))
        lines = np.ix_(*map(np.arange, exact.shape))
        at = sum(i * s for i, s in zip(lines, memory.strides, strict=True))
        count = memory.values.size
        self.low, self.high = np.full(count, -np.inf, np.float32), np.full(count, np.inf, np.float32)
        self.unknown, self.wrong = np.ones(count, bool), np.zeros(count, bool)
        self.low[at], self.high[at], self.unknown[at] = self.least, self.most, np.isinf(off)

    @property
    def row(self) -> ResultRow:
        """What was wrong with it."""
        wrong, unknown = (int(np.count_nonzero(x)) for x in (self.wrong, np.isinf(self.off)))
        return ResultRow(self.tensor.name, self.exact.size, wrong, unknown)

    def are_wrong(self, at: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Which of some values may not be stored at their places in memory."""
        low, high = self.low[at], self.high[at]
        wrong = ~((low <= values) & (values <= high))
        if wrong.any():
            wrong &= ~self.unknown[at] & ~(np.isnan(low) & np.isnan(values))
        return wrong

    def index(self, at: np.ndarray) -> np.ndarray:
        """The indices of elements by their places in memory, [n, dimension]."""
        if len(self.tensor.order) == 1:
            return at[:, None]
        line, run = self.tensor.order
        index = np.empty((at.size, 2), int)
        several = self.memory.shape[line] > 1
        index[:, line], index[:, run] = np.divmod(at, self.memory.strides[line] if several else at.max() + 1)
        return index


@dataclass(frozen=True, slots=True)
class _Store:
    """What a batch of blocks stored at one place, at one time.

    Parameters
    ----------
    path, tensor : the operation's, and where it stores to.
    blocks : [3, block], blockIdx of the batch's blocks.
    whole : whose blocks these are.
    elements : where in the tensor's memory, in any shape: [block, warp, lane, 8], [box, line, run].
    inside : which of them are stored, in the same shape; None: all.
    block, thread : the block of the batch and the linearId that stores each, in shapes that broadcast to it.
    values : as the tensor's memory has them, in the same shape.
    """

    path: IrPath
    tensor: str
    blocks: np.ndarray
    whole: Unfolded
    elements: np.ndarray
    inside: np.ndarray | None
    block: np.ndarray
    thread: np.ndarray
    values: np.ndarray

    @property
    def count(self) -> int:
        """How many values were stored."""
        return self.values.size if self.inside is None else int(np.count_nonzero(self.inside))

    @property
    def places(self) -> np.ndarray:
        """The numbers of the values in the tensor's memory; 0 for what isn't stored."""
        return self.elements if self.inside is None else np.where(self.inside, self.elements, 0)

    def who(self, at: np.ndarray) -> tuple[tuple[int, int, int], int, int]:
        """blockIdx, warp and lane of who stores a value."""
        block, thread = (int(np.broadcast_to(x, self.values.shape)[tuple(at)]) for x in (self.block, self.thread))
        x, y, z = (int(n) for n in self.blocks[:, block])
        place, warp = self.whole.block((x, y, z), thread // LANES)
        assert warp is not None
        return place, warp, thread % LANES


@dataclass
class _Tally:
    tensor: str
    stored: int = 0
    wrong: int = 0
    first: tuple[tuple[int, int, int], int, int] = ((0, 0, 0), 0, 0)
    at: list[np.ndarray] = field(default_factory=list)
    found: list[np.ndarray] = field(default_factory=list)

    def add(self, store: _Store, result: _Result) -> None:
        """Look at what was stored."""
        self.stored += store.count
        at = store.places
        values = widened(store.values)
        wrong = result.are_wrong(at, values)
        if store.inside is not None:
            wrong &= store.inside
        if not wrong.any():
            return
        if not self.wrong:
            self.first = store.who(np.argwhere(wrong)[0])
        self.wrong += int(np.count_nonzero(wrong))
        self.at.append(at[wrong])
        self.found.append(values[wrong])
        result.wrong[at[wrong]] = True


class ValueObserver(Observer):
    """Keeps all values that are stored in results; once the run is over, compares them with the exact ones.

    Only then are the exact ones computed: a run that would take too long ends before. Memory: three bytes for each
    value that is stored, and about a hundred for each element of a result in the end.

    Attributes
    ----------
    expected : gives, in the order of the results, their exact values and how far off they may be, as
        `graph.functions.rounding.bounded` does; whoever starts the run provides it.
    """

    name = "values"

    def __init__(self, ir: KernelIR) -> None:
        super().__init__(ir)
        self.expected: Callable[[], Sequence[tuple[np.ndarray, np.ndarray]]] | None = None
        self.memory: dict[str, Memory] = {}
        self.stores: list[_Store] = []

    def start(self, m: Machine) -> None:
        self.memory = {t.name: m.tensors[t.name] for t in self.ir.tensors if t.written}
        if m.units is not None:
            m.units.engine.told.append(partial(self._boxes, m.blocks, m.unfolded))

    def _boxes(
        self, blocks: np.ndarray, whole: Unfolded, boxes: Boxes, tensor: str, values: np.ndarray, path: IrPath
    ) -> None:
        """Boxes have been stored."""
        block, thread = (x[:, None, None] for x in (boxes.block, boxes.thread))
        values = values.view(self.memory[tensor].values.dtype)
        self.stores.append(
            _Store(whole.path(path), tensor, blocks, whole, boxes.element, boxes.inside, block, thread, values)
        )

    def step(self, m: Machine, step: Step, accesses: Sequence[Accesses]) -> None:
        for at in step.reach:
            if isinstance(at, GlobalReach) and at.access.writes:
                memory = m.tensors[at.access.array].values
                block, thread = np.arange(m.shape[0])[:, None, None, None], np.arange(m.ir.threads)
                store = _Store(step.path, at.access.array, m.blocks, m.unfolded, at.elements, at.inside, block,
                               thread.reshape(1, -1, LANES, 1), memory[:0])  # fmt: skip
                self.stores.append(replace(store, values=memory[store.places]))

    def seen(self, places: Places) -> Values:
        if not self.memory:  # nothing has run: an empty result
            return Values((), ())
        assert self.expected is not None
        written = [t for t in self.ir.tensors if t.written]
        results = {
            t.name: _Result(t, exact, off, self.memory[t.name])
            for t, (exact, off) in zip(written, self.expected(), strict=True)
        }
        tallies: dict[IrPath, _Tally] = {}
        with np.errstate(all="ignore"):
            for s in self.stores:
                tallies.setdefault(s.path, _Tally(s.tensor)).add(s, results[s.tensor])
        rows = tuple(_row(places[path], t, results[t.tensor]) for path, t in sorted(tallies.items()) if t.wrong)
        return Values(rows, tuple(r.row for r in results.values()))


def _row(place: Place, t: _Tally, result: _Result) -> WrongValues:
    at, found = np.concatenate(t.at), np.concatenate(t.found)
    index = result.index(at)
    first = tuple(int(x) for x in index[0])
    value, exact, moved = float(found[0]), float(result.exact[first]), _moved(result, index, found)
    return WrongValues(place, t.tensor, first, value, exact, *t.first, t.wrong, t.stored, moved)


# ---- values of other elements


def _moved(result: _Result, index: np.ndarray, found: np.ndarray) -> str:
    """Whether all wrong elements hold the right values of others, by one shift or exclusive-or of their indices; or "".

    The rarest of some values says where it may come from; each such place is a shift, and an exclusive-or, which is
    tried on a sample and then on all.
    """
    numbers, at = np.unique(found, return_index=True)
    if len(numbers) < 4 or not np.isfinite(numbers).all():  # too little to tell one element from another
        return ""
    known = np.isfinite(result.off)
    low, high = np.where(known, result.least, np.nan), np.where(known, result.most, np.nan)

    def fit(there: np.ndarray, values: np.ndarray) -> bool:
        inside = ((there >= 0) & (there < low.shape)).all()
        return bool(inside and ((low[(*there.T,)] <= values) & (values <= high[(*there.T,)])).all())

    places = {n: np.argwhere((low <= found[n]) & (found[n] <= high)) for n in at[:: -(-len(at) // RARE)]}
    n = min(places, key=lambda n: len(places[n]))
    sample = np.unique(np.linspace(0, len(index) - 1, SAMPLE).astype(int))
    for kind, by, moved in (("shift", np.subtract, np.add), ("xor", np.bitwise_xor, np.bitwise_xor)):
        for other in places[n][:ORIGINS]:
            step = by(other, index[n])
            if fit(moved(index[sample], step), found[sample]) and fit(moved(index, step), found):
                name, letters = result.tensor.name, "ij"[: len(step)]
                terms = (_term(x, int(d), kind) for x, d in zip(letters, step, strict=True))
                return f"{name}[{', '.join(letters)}] holds what belongs to {name}[{', '.join(terms)}]"
    return ""


def _term(letter: str, by: int, kind: str) -> str:
    """An index that is shifted, or with bits turned over.

    >>> _term("i", -8, "shift"), _term("j", 9, "xor"), _term("j", 0, "xor")
    ('i - 8', 'j xor 9', 'j')
    """
    sign = "xor" if kind == "xor" else "-" if by < 0 else "+"
    return f"{letter} {sign} {abs(by)}" if by else letter
