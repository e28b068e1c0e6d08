"""The matrices of kernels: what is computed x layouts x macro-MMA x split-K x tiles x buffers, as data.

An idiom is one formula over named arrays. The text of the formula has three readings: with `Graphs` it builds the
graph that polyvolta compiles, with `Arrays` over numpy or torch it computes the same thing in float64 from values.
So the expected result shares no code with the compiler, nor with `pv.reference`.

`combinations(target)` is a target's whole matrix, always in the same order and under the same names; every program
that compiles, interprets, measures or checks kernels draws from it. A name such as

    bias relu/row.col-row/m16n16k8/k2/128x128x32-64x64x32/b1
    sm_80/bfloat16/bias relu/row.col-row/m16n32k16/k2/128x128x64-64x64x64/b3/g1
    sm_90a/float16/bias relu/row.col-row/m64n128k16/k1/128x128x64-64x128x64/b4/g1/o2/p/d/x

says the target and the element type (of sm_70 neither), idiom, layouts of A, B and the result, macro-MMA, split-K,
block tile, warp tile, buffers, and how many rows of blocks go together where that isn't the default. Hopper's say more:
a warp tile is a warpgroup's; `o2` are two blocks that share a multiprocessor, `p` persistent blocks, `d` a dependent
launch, `x` the transposed product (`swap`), `c2x1` clusters of two blocks one below the other, `t` warpgroups that take
turns; `k2` is a K whose parts are two blocks of a cluster; without the letter there is none. `rings()` has all rings of
buffers beside it, each number of buffers with copies ahead by each number of k tiles; names end in `/b3/p2`. What there
is of tiles and the like for a target is in `families.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

from families import FAMILIES, Family, Warpgroups

import polyvolta as pv
from polyvolta.cuda.target.hopper import SM_90A

LAYOUTS = ("row", "col")
OTHER = {"row": "col", "col": "row"}


# ---- idioms ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Idiom:
    """A computation.

    Parameters
    ----------
    name, group : of the idiom, and of the idioms that it is counted with.
    tensors : name -> "sizes layout", in the order of the formula's arguments. Sizes are letters or 1; the layout is
        a, b or c for that of A, B and the result, capital for the other one; a vector has none.
    formula : of (functions, **arrays); `functions` is a `Graphs` or an `Arrays`. Several outputs are a tuple.
    scalars : names of numbers given at launch.
    accumulators : "auto", or what the option asks for.
    results : accumulators that a thread holds at the same time.
    zero_at_zero : whether zeros around the arrays add nothing to the products: what padding needs.
    rounded : whether a prologue's result is not a number that fp16 holds, even for data on a coarse grid.
    stage : tiles of left and of right operands that a k tile has where products that read the same have one loop.
    """

    name: str
    group: str
    tensors: Mapping[str, str] = field(hash=False)
    formula: Callable[..., Any] = field(hash=False)
    scalars: tuple[str, ...] = ()
    accumulators: str = "auto"
    results: int = 1
    zero_at_zero: bool = True
    rounded: bool = False
    stage: tuple[int, int] = (1, 1)

    def __reduce__(self) -> tuple:
        return idiom_called, (self.name,)  # formulas don't travel between processes

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes, in order of appearance."""
        letters = "".join(text.split()[0] for text in self.tensors.values())
        return tuple(dict.fromkeys(c for c in letters if c.isalpha()))

    @property
    def loads(self) -> int:
        """Matrices that are loaded for one operand, at most."""
        inner = [t.split()[0] for t in self.tensors.values() if t[-1] not in "cC" and len(t.split()[0]) == 2]
        whole = [s for s in inner if "1" not in s]
        return max(map(whole.count, whole)) + (len(inner) > len(whole))


A, B = {"A": "MK a"}, {"B": "KN b"}
PQ = {"P": "ML A", "Q": "LN b"}
UV = {"U": "MH a", "V": "HN B"}
BIAS = {"bias": "N"}


def _swish(f: Any) -> Callable:
    def swish_add(x: Any, r: Any) -> Any:
        return x * f.sigmoid(x) + 0.5 * r

    return swish_add


IDIOMS = (
    Idiom("plain", "plain", A | B, lambda f, A, B: A @ B),
    Idiom("one tensor twice", "plain", {"A": "NN a"}, lambda f, A: A @ A),
    Idiom("prologue A", "prologue", A | {"P": "MK a", "s": "M1 a"} | B, lambda f, A, P, s, B: f.relu(A + P) * s @ B),
    Idiom("prologue A, other layout", "prologue", A | {"P": "MK A", "k": "K"} | B,
          lambda f, A, P, k, B: (A - P + k) @ B),
    Idiom("prologue B", "prologue", A | B | {"Q": "KN b", "w": "N"}, lambda f, A, B, Q, w: A @ f.relu(B * w - Q)),
    Idiom("prologue B, not 0 at 0", "prologue", A | B | {"w": "K1 b"},
          lambda f, A, B, w: A @ (f.sigmoid(B) + w), rounded=True),
    Idiom("prologue A and B", "prologue", A | {"P": "MK A", "k": "K"} | B | {"w": "N"},
          lambda f, A, P, k, B, w: (f.relu(A) + P * k) @ f.relu(B + w)),
    Idiom("prologue scalars", "prologue", A | B, lambda f, A, B, alpha, beta: (alpha * A + beta) @ (B - alpha),
          scalars=("alpha", "beta"), zero_at_zero=False),
    Idiom("bias relu", "epilogue", A | B | BIAS, lambda f, A, B, bias: f.relu(A @ B + bias)),
    Idiom("column bias, leaky relu", "epilogue", A | B | {"bias": "M1 c"},
          lambda f, A, B, bias: f.leaky_relu(A @ B + bias, 0.125)),
    Idiom("residual gelu", "epilogue", A | B | {"R": "MN c"}, lambda f, A, B, R: f.gelu(A @ B) + R),
    Idiom("residual, other layout", "epilogue", A | B | {"R": "MN C"} | BIAS,
          lambda f, A, B, R, bias: f.tanh(0.0625 * (A @ B) + bias) * R),
    Idiom("clamp sigmoid", "epilogue", A | B, lambda f, A, B: f.sigmoid(f.clamp(A @ B, -4, 4))),
    Idiom("user's function", "epilogue", A | B | {"R": "MN c"}, lambda f, A, B, R: f.pointwise(_swish(f), A @ B, R)),
    Idiom("scalars at launch", "epilogue", A | B | {"R": "MN c"},
          lambda f, A, B, R, alpha, beta: alpha * (A @ B) + beta * R, scalars=("alpha", "beta")),
    Idiom("prologue and epilogue", "epilogue", A | {"P": "MK a"} | B | BIAS | {"R": "MN c"},
          lambda f, A, P, B, bias, R: f.relu(f.relu(A + P) @ B + bias) + R),
    Idiom("product and bias relu", "outputs", A | B | BIAS, lambda f, A, B, bias: (A @ B, f.relu(A @ B + bias))),
    Idiom("two results", "outputs", A | B | {"R": "MN c"},
          lambda f, A, B, R: (f.relu(A @ B) + R, f.tanh(A @ B) - R)),
    Idiom("sum of two", "one accumulator", A | B | PQ, lambda f, A, B, P, Q: A @ B + P @ Q),
    Idiom("sum of three", "one accumulator", A | B | PQ | UV, lambda f, A, B, P, Q, U, V: A @ B + P @ Q + U @ V),
    Idiom("scaled difference", "one accumulator", A | B | PQ, lambda f, A, B, P, Q: 2 * (A @ B) - 0.5 * (P @ Q)),
    Idiom("sum, bias relu", "one accumulator", A | B | PQ | BIAS,
          lambda f, A, B, P, Q, bias: f.relu(A @ B + P @ Q + bias)),
    Idiom("sum, prologues, residual", "one accumulator", A | {"s": "M1 a"} | B | PQ | {"w": "N", "R": "MN c"},
          lambda f, A, s, B, P, Q, w, R: f.relu(A * s @ B - f.relu(P) @ (Q + w)) + R),
    Idiom("sum of two, apart", "separate", A | B | PQ, lambda f, A, B, P, Q: A @ B + P @ Q,
          accumulators="separate", results=2),
    Idiom("sum of three, apart", "separate", A | B | PQ | UV, lambda f, A, B, P, Q, U, V: A @ B + P @ Q + U @ V,
          accumulators="separate", results=3),
    Idiom("gated", "separate", A | B | PQ, lambda f, A, B, P, Q: f.sigmoid(A @ B) * (P @ Q), results=2),
    Idiom("gated, one A", "separate", A | B | {"Q": "KN B"} | BIAS,
          lambda f, A, B, Q, bias: f.relu(A @ B + bias) * (A @ Q), results=2, stage=(1, 2)),
    Idiom("three, mixed", "separate", A | B | PQ | UV,
          lambda f, A, B, P, Q, U, V: f.relu(A @ B) + f.tanh(P @ Q) * (U @ V), results=3),
    Idiom("gated, prologues, residual", "separate", A | {"s": "M1 a"} | B | PQ | {"w": "N", "R": "MN c"},
          lambda f, A, s, B, P, Q, w, R: f.relu((A * s) @ B) * f.sigmoid(0.015625 * (f.relu(P) @ (Q + w))) + R,
          results=2),
)  # fmt: skip


OF_ONE_MATRIX = (
    Idiom("relu of A", "prologue", A | B, lambda f, A, B: f.relu(A) @ B),
    Idiom("relu of B", "prologue", A | B, lambda f, A, B: A @ f.relu(B)),
    Idiom("relu of A and B", "prologue", A | B, lambda f, A, B: f.relu(A) @ f.relu(B)),
    Idiom("sigmoid of B, not 0 at 0", "prologue", A | B, lambda f, A, B: A @ f.sigmoid(B), rounded=True),
    Idiom("sigmoid of A and B", "prologue", A | B, lambda f, A, B: f.sigmoid(A) @ f.sigmoid(B), zero_at_zero=False,
          rounded=True),
    Idiom("prologue, bias, residual", "prologue", A | B | BIAS | {"R": "MN c"},
          lambda f, A, B, bias, R: f.relu(f.relu(A) @ B + bias) + R),
    Idiom("sum of two, prologues", "one accumulator", A | B | PQ,
          lambda f, A, B, P, Q: f.relu(A) @ B + P @ f.relu(Q)),
    Idiom("sum of two, one A", "one accumulator", A | B | {"Q": "KN B"}, lambda f, A, B, Q: A @ B + A @ Q,
          stage=(1, 2)),
    Idiom("two results, prologue", "outputs", A | B, lambda f, A, B: (f.relu(A) @ B, f.tanh(f.relu(A) @ B))),
    Idiom("two products, one A", "outputs", A | B | {"Q": "KN B"}, lambda f, A, B, Q: (A @ B, f.relu(A @ Q)),
          results=2, stage=(1, 2)),
    Idiom("gated, one B", "separate", A | B | {"P": "MK A"}, lambda f, A, B, P: f.tanh(0.0625 * (A @ B)) * (P @ B),
          results=2, stage=(2, 1)),
    Idiom("gated, one relu of A", "separate", A | B | {"Q": "KN B"},
          lambda f, A, B, Q: f.relu(f.relu(A) @ B) * (f.relu(A) @ Q), results=2, stage=(1, 2)),
    Idiom("gated, prologues", "separate", A | B | {"Q": "KN B"},
          lambda f, A, B, Q: f.sigmoid(0.0625 * (f.relu(A) @ B)) * (A @ f.relu(Q)), results=2, stage=(1, 2)),
)  # fmt: skip
"""With operands that are computed from one matrix each, and loops that products share."""


def idiom_called(name: str) -> Idiom:
    """The idiom of a name."""
    return next(i for i in (*IDIOMS, *OF_ONE_MATRIX) if i.name == name)


_OF_WARPS = ("scaled difference", "sum, prologues, residual", "prologue and epilogue", "gated, prologues, residual",
             "prologue A", "prologue A, other layout", "prologue B", "prologue B, not 0 at 0",
             "prologue A and B")  # fmt: skip
"""With sums that are scaled between products, or operands that are computed from several tensors."""


def idioms_of(family: Family) -> tuple[Idiom, ...]:
    """The idioms of a target's matrix: all, or those that warpgroups compute, and more with operands of one matrix."""
    if not isinstance(family, Warpgroups):
        return IDIOMS
    known = [i for i in IDIOMS if i.name not in _OF_WARPS]
    last = [i for i in known if i.group in ("prologue", "separate")]
    return (*(i for i in known if i not in last), *last, *OF_ONE_MATRIX)


def known_of(target: str) -> tuple[Idiom, ...]:
    """All idioms of which there are kernels for a target: those that warpgroups don't compute, too."""
    return tuple(dict.fromkeys((*IDIOMS, *idioms_of(FAMILIES[target]))))


# ---- the three readings of a formula -----------------------------------------------------------------------


class Graphs:
    """Formulas read as graphs: the functions are polyvolta's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(pv, name)


class Arrays:
    """Formulas read as float64 arithmetic, on arrays of numpy or torch; `xp` is the library."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def relu(self, x: Any) -> Any:
        return self.xp.where(x < 0, 0.0, x)

    def leaky_relu(self, x: Any, slope: float) -> Any:
        return self.xp.where(x > 0, x, slope * x)

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + self.xp.exp(-x))

    def tanh(self, x: Any) -> Any:
        return self.xp.tanh(x)

    def gelu(self, x: Any) -> Any:
        if self.xp.__name__ == "torch":
            return 0.5 * x * (1 + self.xp.erf(x / math.sqrt(2)))
        return 0.5 * x * (1 + self.xp.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))

    def clamp(self, x: Any, low: float, high: float) -> Any:
        return self.xp.where(x < low, float(low), self.xp.where(x > high, float(high), x))

    def pointwise(self, function: Callable, *arrays: Any) -> Any:
        return function(*arrays)


# ---- combinations ------------------------------------------------------------------------------------------

SPLITS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Combination:
    """One kernel of the matrix; `a`, `b`, `c` are the layouts of A, B and the result.

    What is None is the target's default, and not in the name.
    """

    idiom: Idiom
    a: str
    b: str
    c: str
    macro: str
    split_k: int
    block: tuple[int, int, int]
    warp: tuple[int, int, int]
    buffers: int = 1
    partial: str = "guard"
    ahead: int | None = None
    target: str = "sm_70"
    dtype: str = "float16"
    group: int | None = None
    occupancy: int | None = None
    persistent: bool | None = None
    dependent: bool | None = None
    swap: bool | None = None
    cluster: tuple[int, int] | None = None
    pingpong: bool | None = None

    @property
    def name(self) -> str:
        block, warp = ("x".join(map(str, t)) for t in (self.block, self.warp))
        pad = "/pad" if self.partial == "pad" else ""
        ahead = f"/p{self.ahead}" if self.ahead is not None else ""
        group = f"/g{self.group}" if self.group is not None else ""
        more = f"/o{self.occupancy}" if (self.occupancy or 1) > 1 else ""
        more += "".join(f"/{x}" for x, on in zip("pdx", (self.persistent, self.dependent, self.swap)) if on)
        more += f"/c{self.cluster[0]}x{self.cluster[1]}" if (self.cluster or (1, 1)) != (1, 1) else ""
        more += "/t" if self.pingpong else ""
        target = f"{self.target}/{self.dtype}/" if self.target != "sm_70" else ""
        return (
            f"{target}{self.idiom.name}/{self.a}.{self.b}-{self.c}/{self.macro}/k{self.split_k}/{block}-{warp}"
            f"/b{self.buffers}{ahead}{group}{more}{pad}"
        )

    @property
    def options(self) -> pv.Options:
        return pv.Options(
            block_tile=self.block,
            warp_tile=self.warp,
            macro_mma=self.macro,
            split_k=self.split_k,
            buffers=self.buffers,
            prefetch=self.ahead,
            partial=self.partial,
            accumulators=self.idiom.accumulators,
            group=self.group,
            occupancy=self.occupancy,
            persistent=self.persistent,
            dependent_launch=self.dependent,
            swap=self.swap,
            cluster=self.cluster,
            pingpong=self.pingpong,
        )

    @property
    def step(self) -> tuple[int, int, int]:
        """What a thread block covers: rows, columns, and depth of one trip along K."""
        return (*self.block[:2], self.block[2] * self.split_k)

    def layout_of(self, tensor: str) -> str:
        """ "row" or "col" of a tensor; "row" for a vector."""
        return layout(self.idiom, tensor, self.a, self.b, self.c)

    def outputs(self) -> Any:
        """The graph's outputs."""
        return graph(self.idiom, self.a, self.b, self.c, dtype=self.dtype)

    def compile(self) -> pv.Kernel:
        """The kernel for its target."""
        target = SM_90A if self.target == SM_90A.name else self.target  # what isn't registered yet, too
        return pv.compile(self.outputs(), target=target, options=self.options)


def layout(idiom: Idiom, tensor: str, a: str, b: str, c: str) -> str:
    """ "row" or "col" of an idiom's tensor, given those of A, B and the result."""
    _, _, letter = idiom.tensors[tensor].partition(" ")
    known = {"a": a, "b": b, "c": c, "": "row"}
    return known[letter] if letter in known else OTHER[known[letter.lower()]]


def graph(
    idiom: Idiom, a: str, b: str, c: str, numbers: Mapping[str, int] | None = None, dtype: str = "float16"
) -> Any:
    """An idiom's outputs as expressions; `numbers` gives sizes that are known when it is compiled."""
    kind = {} if dtype == "float16" else {"dtype": dtype}
    sizes = {n: pv.sizes(n) for n in idiom.sizes} | {"1": 1} | dict(numbers or {})
    leaves = {}
    for name, text in idiom.tensors.items():
        shape = tuple(sizes[d] for d in text.split()[0])
        leaves[name] = pv.tensor(name, shape, layout=layout(idiom, name, a, b, c), **kind)
    leaves |= {name: pv.scalar(name) for name in idiom.scalars}
    results = idiom.formula(Graphs(), **leaves)
    several = isinstance(results, tuple)
    laid = tuple(pv.output(r, layout=c) if c == "col" else r for r in (results if several else (results,)))
    return laid if several else laid[0]


def expected(idiom: Idiom, arrays: Mapping[str, Any], xp: Any) -> tuple[Any, ...]:
    """An idiom's outputs for float64 arrays of numpy or torch, `xp`, and numbers for its scalars."""
    results = idiom.formula(Arrays(xp), **arrays)
    return results if isinstance(results, tuple) else (results,)


@cache
def combinations(target: str = "sm_70") -> tuple[Combination, ...]:
    """A target's matrix: every idiom in all layouts of A and B with the macro-MMAs and each split of K.

    Tiles, buffers, element types and the result's layout take turns, among the tiles that fit. Of Hopper's it is every
    idiom that warpgroups compute, in all layouts of A, B and the result, with some tiles each; then each of these in
    clusters of all kinds, and by warpgroups that take turns.
    """
    family = FAMILIES[target]
    return (*_boxed(family), *_together(family)) if isinstance(family, Warpgroups) else tuple(_combinations(family))


def _combinations(family: Family) -> Iterator[Combination]:
    turn: dict[tuple, int] = {}
    asked = 0
    for at, idiom in enumerate(IDIOMS):
        square = idiom.tensors["A"].startswith("NN")
        loads = idiom.loads if not family.copies or "prologue" in f"{idiom.group} {idiom.name}" else 0
        for number, (a, b) in enumerate(product(LAYOUTS, LAYOUTS)):
            if square and a != b:
                continue
            for macro, split_k in product(family.macros, SPLITS):
                asked += 1
                if family.skipped and (asked + number) % family.skipped == 0:
                    continue
                key = macro, split_k, idiom.results, loads
                n = turn[key[:3]] = turn.get(key[:3], 0) + 1
                choices = _choices(family, *key)
                block, warp, buffers = choices[(5 * n + at) % len(choices)]
                c = LAYOUTS[(n + at) // 2 % 2]
                partial = "pad" if n % 8 == 5 and idiom.zero_at_zero else "guard"
                dtype = family.dtypes[(n // 2 + number) % len(family.dtypes)]
                group = family.groups[(n + number) % len(family.groups)]
                yield Combination(idiom, a, b, c, macro, split_k, block, warp, buffers, partial, None, family.target,
                                  dtype, group)  # fmt: skip


def _boxed(family: Warpgroups) -> Iterator[Combination]:
    turn = 0
    for at, idiom in enumerate(idioms_of(family)):
        square = idiom.tensors["A"].startswith("NN")
        for a, b, c, _ in product(LAYOUTS, LAYOUTS, LAYOUTS, range(family.each)):
            if square and a != b:
                continue
            persistent, dependent, swap = (bool((turn + at) >> bit & 1) for bit in range(3))
            stage = idiom.stage[::-1] if swap else idiom.stage
            plans = family.plans_of(idiom.results, stage)
            plan = block, warp, macro = plans[turn % len(plans)]
            asked = family.occupancies[(turn // 8 + at) % len(family.occupancies)]
            held = idiom.results, stage
            shared = [(n, asked) for n in family.buffers if family.shared_by(plan, n, asked, *held)]
            shared = shared or [(n, 1) for n in family.buffers if family.shared_by(plan, n, 1, *held)]
            buffers, occupancy = shared[turn // len(plans) % len(shared)]
            if swap:
                block, warp = ((y, x, z) for x, y, z in (block, warp))
            dtype = family.dtypes[(turn // 8 + turn // 3) % len(family.dtypes)]
            group = family.groups[(turn + turn // 24) % len(family.groups)]
            yield Combination(idiom, a, b, c, macro, 1, block, warp, buffers, "guard", None, family.target, dtype,
                              group, occupancy, persistent, dependent, swap)  # fmt: skip
            turn += 1


def _together(family: Warpgroups) -> Iterator[Combination]:
    """Blocks of clusters, parts of K, and warpgroups that take turns: layouts, tiles and the rest take turns."""
    for turn, (idiom, (cluster, parts, turns)) in enumerate(product(idioms_of(family), family.together)):
        if parts > 1 and idiom.results > 1:  # blocks that split K add up one accumulator
            continue
        at, swap = turn // len(family.together), parts == 1 and not turns and turn % 4 == 0
        held = idiom.results, idiom.stage[::-1] if swap else idiom.stage
        buffers = family.buffers[turn % 2]
        plans = [p for p in family.plans_of(*held) if family.goes(p, cluster, parts, turns)]
        plans = [p for p in plans if family.shared_by(p, buffers, 1, *held)]
        block, warp, macro = plans[(turn + at) % len(plans)]
        a, b, c = (LAYOUTS[(turn >> bit) % 2] for bit in range(3))
        b = a if idiom.tensors["A"].startswith("NN") else b
        if swap:
            block, warp = ((y, x, z) for x, y, z in (block, warp))
        yield Combination(idiom, a, b, c, macro, parts, block, warp, buffers, "guard", None,
                          family.target, family.dtypes[turn // 3 % len(family.dtypes)],
                          family.groups[turn // 2 % len(family.groups)], 1, turns, (turn + at) % 3 > 0, swap,
                          cluster, turns)  # fmt: skip


@cache
def _choices(family: Family, macro: str, split_k: int, results: int, loads: int) -> tuple[tuple, ...]:
    """(block tile, warp tile, buffers) that fit, in the order of the family's tiles."""
    return tuple(
        (block, warp, buffers)
        for block, warp in family.tiles
        for buffers in family.buffers
        if family.fits(block, warp, macro, split_k, buffers, results, loads)
    )


RINGED = ("plain", "bias relu", "prologue A", "sum of two", "gated")
MOST_BUFFERS = 8


@cache
def rings(target: str = "sm_70") -> tuple[Combination, ...]:
    """Every legal ring of buffers, twice: idioms, layouts, macro-MMAs and splits of K take turns.

    Boxes come as far ahead as there are buffers: of Hopper's rings there is one for each number of them, of one tile a
    block and of persistent blocks.
    """
    family = FAMILIES[target]
    if isinstance(family, Warpgroups):
        return tuple(_boxed_rings(family))
    one = 0 if family.copies else 1  # tile ahead with one buffer: it waits in registers
    sizes = [(s, ahead) for s in range(1, MOST_BUFFERS + 1) for ahead in range(max(s - 1, one) + 1)]
    found = []
    for n, (buffers, ahead) in enumerate(2 * sizes):
        idiom = idiom_called(RINGED[n % len(RINGED)])
        a, b, c = LAYOUTS[n % 2], LAYOUTS[n // 2 % 2], LAYOUTS[n // 4 % 2]
        macro, split_k = list(family.macros)[n // 3 % len(family.macros)], (1, 1, 2)[n % 3]
        dtype = family.dtypes[n % len(family.dtypes)]
        found.append(Combination(idiom, a, b, c, macro, split_k, (64, 64, 16), (32, 32, 16), buffers, "guard", ahead,
                                 target, dtype))  # fmt: skip
    return tuple(found)


def _boxed_rings(family: Warpgroups) -> Iterator[Combination]:
    taken = [i for i in idioms_of(family) if i.name in RINGED]
    for n, (buffers, persistent) in enumerate(product(range(2, MOST_BUFFERS + 1), (False, True))):
        a, b, c = LAYOUTS[n // 2 % 2], LAYOUTS[n // 4 % 2], LAYOUTS[n // 8 % 2]
        dtype = family.dtypes[n // 2 % len(family.dtypes)]
        yield Combination(taken[n % len(taken)], a, b, c, "m64n64k16", 1, (128, 64, 32), (64, 64, 32), buffers, "guard",
                          None, family.target, dtype, None, 1, persistent, n % 3 > 0, False)  # fmt: skip


def chosen(
    only: str, part: str = "1/1", limit: int | None = None, target: str = "sm_70"
) -> tuple[Combination, ...]:
    """The combinations that a command line asks for.

    Parameters
    ----------
    only : a name, or words that the names must have, separated by commas; "rings" for these instead of the matrix.
    part : "i/n": every n-th of these, from the i-th on.
    limit : the first so many of those.
    target : whose matrix; a whole name says its own.
    """
    words = [w.strip() for w in only.split(",") if w.strip()]
    whole = rings(target) if "rings" in words else combinations(target)
    found = [c for t in FAMILIES for c in (*combinations(t), *rings(t)) if c.name == only]
    if found:
        return filtered(found, "", part, limit)
    return filtered(whole, ",".join(w for w in words if w != "rings"), part, limit)


def filtered(whole: Sequence[Combination], only: str, part: str, limit: int | None) -> tuple[Combination, ...]:
    """Those of a name, or of some words; of these every n-th; of those the first so many; see `chosen`."""
    words = [w.strip() for w in only.split(",") if w.strip()]
    found = [c for c in whole if c.name == only] or [c for c in whole if all(w in c.name for w in words)]
    i, n = map(int, part.split("/"))
    return tuple(found[i - 1 :: n][:limit])
