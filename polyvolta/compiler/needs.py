"""What a graph asks of a block, whatever its tiles: counts of a plan that decide which tilings fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyvolta.graph.functions.formats import FORMATS
from polyvolta.graph.functions.formula import Call, Input, nodes
from polyvolta.graph.plans.loops import Shared, shared, shared_loops
from polyvolta.graph.plans.plans import Operand, Plan, Step

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target
    from polyvolta.cuda.target.warpgroup import Family
    from polyvolta.graph.dims import Dim


@dataclass(frozen=True, slots=True)
class Work:
    """The sizes of a kernel's products.

    Parameters
    ----------
    rows, cols : of the result.
    depths : terms of each product's sums.
    """

    rows: int
    cols: int
    depths: tuple[int, ...]

    @property
    def turned(self) -> Work:
        """That of the transposed product."""
        return Work(self.cols, self.rows, self.depths)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a graph asks of a block, beside its tiles.

    Parameters
    ----------
    accumulators : arrays that products accumulate in.
    loads : for each product how many tensors are loaded for its left and for its right operand.
    exchange : bytes of a value on its way through the exchange buffer: 2 where results are only stored, else 4, as
        with a split K.
    operands : matrices and vectors that the epilogue loads.
    layouts : the different pairs of layouts of products' left and right operands.
    sizes : rows and columns of the result, None where they aren't known, and the least sum's length, 0 likewise.
    kind : of the tensors' values, "half" or "bfloat16".
    prologues : as `loads`, where an operand that is a tensor as it is needs no registers on its way: 0 for that.
    functions : of the epilogue's largest formula; the error function counts as five.
    across : matrices of the epilogue that are contiguous along the other dimension than the result.
    longest : terms of the longest sum, None where one isn't known.
    scaled : whether accumulators are multiplied by something between products.
    matrices : of the epilogue's operands, those that are no vectors.
    scalars : that the epilogue has.
    results : outputs, and what they share, that are computed and not stored as they are summed.
    special : functions of one formula that are more than an instruction; some count as several.
    layout : of the first output, by the rows and columns of a block: of the transposed product it is the other one.
    outputs : how many there are.
    mixed : whether an operand is computed from something else than one matrix that has all its places.
    loops, turned_loops : what a k tile consists of, of each loop of products that share tiles; and of the transposed
        product's.
    extents : of each product the rows, columns and depth: numbers, or names of sizes.
    """

    accumulators: int = 1
    loads: tuple[tuple[int, int], ...] = ((1, 1),)
    exchange: int = 2
    operands: int = 0
    layouts: tuple[tuple[str, str], ...] = (("row", "col"),)
    sizes: tuple[int | None, int | None, int] = (None, None, 0)
    kind: str = "half"
    prologues: tuple[tuple[int, int], ...] = ((0, 0),)
    functions: int = 0
    across: int = 0
    longest: int | None = None
    scaled: bool = False
    matrices: int = 0
    scalars: int = 0
    results: int = 0
    special: int = 0
    layout: str = "row"
    outputs: int = 1
    mixed: bool = False
    loops: tuple[Shared, ...] = (Shared(),)
    turned_loops: tuple[Shared, ...] = (Shared(),)
    extents: tuple[tuple[int | str, int | str, int | str], ...] = ()

    @property
    def turned(self) -> Needs:
        """What the transposed product asks for: its left operand is the right one's transpose.

        >>> Needs(layouts=(("row", "row"),), sizes=(8, None, 0)).turned.layouts
        (('col', 'col'),)
        """
        other = {"row": "col", "col": "row"}
        rows, cols, depth = self.sizes
        return replace(
            self, loads=_back(self.loads), prologues=_back(self.prologues), sizes=(cols, rows, depth),
            layouts=tuple((other[b], other[a]) for a, b in self.layouts), loops=self.turned_loops,
            turned_loops=self.loops, extents=tuple((n, m, k) for m, n, k in self.extents), layout=other[self.layout],
        )  # fmt: skip

    @property
    def unknown(self) -> tuple[str, ...]:
        """The sizes of products that have names, in order."""
        return tuple(dict.fromkeys(d for extents in self.extents for d in extents if isinstance(d, str)))

    def work(self, sizes: Mapping[str, int]) -> Work | None:
        """What is to be multiplied at given sizes; None if some size is neither a number nor given.

        >>> Needs(extents=(("M", 512, "K"), ("M", 512, 64))).work({"M": 128, "K": 96})
        Work(rows=128, cols=512, depths=(96, 64))
        """
        if not self.extents or not sizes.keys() >= set(self.unknown):
            return None
        known = [tuple(d if isinstance(d, int) else int(sizes[d]) for d in extents) for extents in self.extents]
        rows, cols, _ = known[0]
        return Work(rows, cols, tuple(k for *_, k in known))

    def beyond_warpgroups(self, family: Family | None = None) -> Iterator[str]:
        """What warpgroups don't do, and warps do.

        Parameters
        ----------
        family : of the target's products of warpgroups; None: of one that computes no operands.
        """
        prologues, most = (family.prologues, family.accumulators) if family is not None else (False, 1)
        if any(map(any, self.prologues)) and not prologues:
            yield "warpgroups multiply tensors as they are, and an operand is computed on the way"
        if prologues and self.mixed:
            yield "warpgroups compute an operand from one matrix that lies as it does, and scalars"
        if self.accumulators > most:
            words = "one accumulator" if most == 1 else f"at most {most} accumulators"
            yield f"warpgroups have {words}, and the products add to {self.accumulators}"
        if self.scaled:
            yield "warpgroups add products as they are, and a sum is multiplied by something between two of them"

    def spare_registers(self, target: Target, chunks: tuple[int, int] = (0, 0)) -> int:
        """Registers that the compiler needs beside those of values.

        Parameters
        ----------
        chunks : of a left and of a right operand that a thread brings for a k tile.
        """
        plain = [sum(n for n, loads in zip(chunks, pair, strict=True) if not loads) for pair in self.prologues]
        prologue = max(map(sum, self.prologues))
        return target.spare_registers(len(self.loads), prologue, self.functions, self.across, max(plain))


def family_of(target: Target) -> Family | None:
    """A target's products of warpgroups; None if it has none."""
    return next(iter(target.families), None)


def _back(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple((b, a) for a, b in pairs)


def needs_of(idiom: Plan) -> Needs:
    """What a plan asks of a block."""
    accumulators = {c.accumulator for c in idiom.contractions}
    made = accumulators | {s.statement.write.tensor for s in idiom.steps}
    loaded = {(a.tensor, a.index) for s in idiom.steps for a in s.accesses if a.tensor not in made}
    extents = [[d if isinstance(d, int) else None for d in c.statement.extents] for c in idiom.contractions]
    rows, cols, _ = extents[0]
    depths = [k for *_, k in extents if k is not None]
    ahead, back = (tuple(shared(loop, b) for loop in shared_loops(idiom.contractions, b)) for b in (False, True))
    return Needs(
        len(accumulators),
        tuple((_loads(c.left), _loads(c.right)) for c in idiom.contractions),
        4 if idiom.computes else 2,
        len(loaded),
        tuple(dict.fromkeys((c.left.layout, c.right.layout) for c in idiom.contractions)),
        (rows, cols, min(k or 0 for *_, k in extents)),
        FORMATS[idiom.dtype].kind,
        tuple((_prologue(c.left), _prologue(c.right)) for c in idiom.contractions),
        max(map(_functions, idiom.steps), default=0),
        idiom.across,
        max(depths) if len(depths) == len(extents) else None,
        any(c.factor not in (None, 1) for c in idiom.contractions),
        sum(len(index) > 1 for _, index in loaded),
        len({name for s in idiom.steps for name in s.scalars}),
        sum(not idiom.only_stores(s) for s in idiom.steps),
        max((_functions(s, SPECIAL) for s in idiom.steps), default=0),
        _layout(idiom),
        len(idiom.outputs),
        any(_mixed(o) for c in idiom.contractions for o in (c.left, c.right)),
        ahead,
        back,
        tuple(_extents(c.statement.extents) for c in idiom.contractions),
    )


def _layout(idiom: Plan) -> str:
    """Whether the first output is contiguous along the columns of a product's instances, or along the rows."""
    turned = any(c.statement.is_turned for c in idiom.contractions)
    return {"row": "col", "col": "row"}[idiom.layout] if turned else idiom.layout


ERRORS = {"erf": 5, "gelu": 5}
"""Functions by which the error function comes in, whose code keeps as many values as that many others."""
PLAIN = ("add", "sub", "mul", "neg", "abs", "square", "relu")
SPECIAL = {**ERRORS, "exp": 2, "gelu_tanh": 2, **dict.fromkeys(PLAIN, 0)}
"""Likewise beside functions that are an instruction each."""


def _functions(step: Step, weights: Mapping[str, int] = ERRORS) -> int:
    """How many functions a pointwise statement has, some of which count as several, or not at all."""
    return sum(weights.get(x.function, 1) for x in nodes(step.formula) if isinstance(x, Call))


def _extents(dims: Iterable[Dim]) -> tuple[int | str, int | str, int | str]:
    """Rows, columns and depth, by names where they have some."""
    rows, cols, depth = (d if isinstance(d, int) else d.name for d in dims)
    return rows, cols, depth


def _loads(operand: Operand) -> int:
    """How many arrays of registers hold what is loaded for it."""
    return max(1, len(operand.accesses))


def _mixed(operand: Operand) -> bool:
    """Whether it is computed from something else than one matrix that has all its places."""
    return len(operand.accesses) != 1 or set(operand.accesses[0].index) != set(operand.index)


def _prologue(operand: Operand) -> int:
    """Likewise, but of one tensor as it is."""
    plain = operand.formula == Input(0) and len(operand.accesses) == 1
    return 0 if plain and set(operand.accesses[0].index) == set(operand.index) else _loads(operand)
