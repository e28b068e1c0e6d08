"""Names that the command line completes, and refuses before the compiler is imported.

A shell asks for completions each time that somebody presses the tabulator key: names that are known beforehand stand
here, as they are in the API, or in modules that import nothing else, so that the answer costs no import. `tests/cli`
compares each list with what it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from polyvolta.compiler.rule.values import ACCUMULATORS as ACCUMULATORS
from polyvolta.compiler.rule.values import PARTIAL as PARTIAL
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda import arch
from polyvolta.cuda.errors import UnknownTarget
from polyvolta.cuda.verify.report.asked import PROOFS as KINDS_OF_PROOFS
from polyvolta.sets.errors import UnknownName, nearest

IDIOMS = ("matmul", "epilogue", "prologue", "sum")
LAYOUTS = ("row", "col")
DTYPES = ("float16", "bfloat16")
TARGETS = ("sm_70", "sm_75", "sm_80", "sm_90a", "auto")
STAGES = (
    "initial", "block_tiled", "hoisted", "warp_tiled", "mapped", "strip_mined", "contracted", "promoted", "prefetched",
    "roles", "swapped", "persistent", "clustered", "grouped",
)  # fmt: skip
"""Of all kernels, in order; one kernel has some of them."""
PROOFS = tuple(KINDS_OF_PROOFS)
PICTURES = ("ownership", "instruction", "tile", "output", "pipeline", "all")
MACRO_MMAS = {
    "sm_70": ("m16n16k8", "m32n32k8"),
    "sm_75": ("m16n32k16", "m16n16k16"),
    "sm_80": ("m16n32k16", "m16n16k16", "m16n16k8"),
    "sm_90a": ("m16n32k16", "m16n16k16", "m16n16k8", *(f"m64n{n}k16" for n in range(8, 257, 8))),
}
"""By target."""
MUTANTS = tuple(
    " ".join(
        """
    rows taken for columns, result in the other layout, no barrier before the stores, no barrier after the stores,
    warp barrier after the stores, no barrier before the exchange, no barrier before the exchange's loads,
    no barrier after the exchange's loads, warp barrier in a split K's exchange, block barrier in one warp,
    warp barrier in half a warp, prefetch two tiles ahead, prefetch of one tile only,
    stores into the buffer that is read, fragments from the other buffer, one buffer where two are meant,
    k loop begins one trip late, k loop ends one trip early, fragments before the first tile, stores before the loads,
    a step of the k tile left out, a part of a split K dropped, a part of a split K added twice,
    a part of a split K not stored, parts of a split K overlap, swizzle dropped, swizzle dropped in the stores,
    swizzle for another interleave, two lines in one place, tiles overlap, exchange over the tiles,
    two warps in one exchange buffer, exchange with bank conflicts, copy one row short, load one row short,
    last row over the one before, copy across the lines, load astray, loads without guards, stores without guards,
    full tile of loads off by one, full tile of stores off by one, k tile not tested, another chunk's register,
    beyond the registers, fragment beyond the tile, fragment across chunks, two lanes of A change places,
    a lane of B has its neighbour's values, another fragment of A, instruction for another layout, crossed steps,
    accumulators not zeroed, accumulators not scaled, wrong factor, another accumulator fragment, exchange transposed,
    two lanes change places in the exchange, words out of order, pieces out of order, wrong round,
    vector eight columns on, vector of the first block, prologue outside of the tensor, one operand twice,
    warps store one tile, a warp stores nothing, output never stored, neighbours' runs exchanged, grid rounded down,
    wait for a group less, no wait for copies, waits by half of each warp, no groups of copies,
    groups by the first warp, groups before their copies, no empty groups in the end, barrier before the wait,
    no barrier behind the wait, warp barrier behind the wait, copies a tile too far ahead, copies into the next slot,
    fragments from the next slot, one slot for all tiles, copies of one tile only, fragments into the other set,
    A's fragments of the other set, fragments behind their products, asynchronous copy one row short,
    last row of copies over the one before, copies to other chunks of their line, copies half a chunk further,
    copies to the other operand's tile, copies astray, pieces of copies in order, copies without guards,
    full tile of copies off by one, k tile of copies not tested, partial tiles not copied, matrices of A the other way,
    matrices of B the other way, lanes name their neighbours' lines, two matrices exchanged, the first matrix for all,
    half of the matrices twice, A's strips in reverse order, matrices beyond the tile, lines across chunks,
    owners that lines don't give, runs with pairs exchanged, runs of another round, boxes are not waited for,
    free slots are not waited for, slots are not released, released before products are done,
    products are waited for a tile late, products in no group, no wait for the last products, no wait for all products,
    no fence of accumulators, boxes a phase later, boxes a phase before, free slots a phase later,
    free slots a phase before, a free slot that is another one, another slot is released, boxes count for another slot,
    boxes to another buffer, an arrival more for boxes, an arrival more for free slots, an arrival less for free slots,
    each warp releases, bytes short, bytes long, the producer leaves early, the consumers leave early,
    barriers never begin, no barrier behind the beginning, barriers begin in a role, stores unfenced,
    no barrier before boxes are stored, stored boxes are not waited for, blocks of a group crossed,
    last group of blocks as high as the others, layout of boxes without swizzle, shared memory from a line further on,
    map without swizzle, map of half the lines, box a row block further on, box a k tile further on,
    box beside its place, descriptor of twice the stride, operand a k step further on, operand of the first warpgroup,
    operand of the next slot, products that always add, products that never add, accumulators of other rows,
    halves of matrices swapped, matrices of all warps in one place, piece in its neighbour's place,
    piece of the first buffer, no zeros for no k, one thread's condition for all, tensors of boxes transposed,
    counters of tiles stand still, the producer's counter stands still, the producer leaves tiles out, tiles left out,
    a block's first tile left out, tiles computed twice, vacant places are not waited for, vacant places a tile later,
    operands of the first tile again, the last tile's results are not waited for, results are waited for by one thread,
    turns are not waited for, turns are not passed on, turns are passed on at once, the turn after is waited for,
    another turn is waited for, both take the same turns, every other turn is left out, one counter stands still,
    one place for all results, other grids are not waited for, a warp waits for other grids,
    other grids are waited for late, a box for a block less, a box for the own block, the same part from all,
    released to itself, released to itself alone, releases of others not counted, bytes of the own boxes alone,
    no barrier at the end of a cluster, barriers begin for their block, parts of other blocks not waited for,
    a part of K left out, the first part of K again and again, columns of the first block for all,
    left operands as they are, right operands as they are, one set of fragments, fragments of the strip before,
    fragments are loaded a strip early, fragments unfenced, values beyond k, a stage rewritten unfenced,
    a stage is not waited for, a stage rewritten in part, one right operand for a loop's products, k tiles backwards,
    macro tiles one row down
""".split()
    ).split(", ")
)
BENCHMARKS = ("gemm", "relu_gemm", "gemm_bias_relu", "add", "gemm_vector_relu")

Complete = Callable[[str], list[str]]


def one_of(names: Iterable[str]) -> Complete:
    """Completes a name.

    >>> one_of(IDIOMS)("p"), one_of(IDIOMS)("")
    (['prologue'], ['matmul', 'epilogue', 'prologue', 'sum'])
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def some_of(names: Iterable[str]) -> Complete:
    """Completes the last of several names with commas between, each of which is given once.

    >>> some_of(("bounds", "fresh"))("bounds,"), some_of(("bounds", "fresh"))("fr")
    (['bounds,fresh'], ['fresh'])
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [before + comma + name for name in known if name.startswith(last) and name not in given]

    return complete


def pairs(incomplete: str) -> list[str]:
    """Completes the layouts of A and B.

    >>> pairs("col")
    ['col,row', 'col,col']
    """
    return [pair for pair in (f"{a},{b}" for a in LAYOUTS for b in LAYOUTS) if pair.startswith(incomplete)]


def macro_mmas(incomplete: str) -> list[str]:
    """Completes macro-MMAs of all targets.

    >>> macro_mmas("m32n32")
    ['m32n32k8']
    """
    return [name for name in _MACRO_MMAS if name.startswith(incomplete)]


_MACRO_MMAS = tuple(dict.fromkeys(name for names in MACRO_MMAS.values() for name in names))


def check_macro_mma(name: str | None, target: str | None) -> None:
    """Refuse the name of no macro-MMA at all; whether the target at hand has it is the compiler's to say.

    Raises
    ------
    BadOption : suggests the nearest, of the target if one is named.
    """
    if name is not None and name not in _MACRO_MMAS:
        whose = target if target in MACRO_MMAS else "no target"
        message = f"{whose} has {'a' if whose == 'no target' else 'no'} macro-MMA called {name!r}"
        raise BadOption(message, hint=nearest(name, MACRO_MMAS.get(whose, _MACRO_MMAS)))


def check_target(name: str | None) -> None:
    """Refuse the name of no target, with what to take instead.

    Raises
    ------
    UnknownTarget
    """
    if name is not None and name not in TARGETS:
        raise UnknownTarget(f"no target is called {name!r}", hint=arch.instead(name, MACRO_MMAS))


def checked(name: str, known: Sequence[str], what: str) -> str:
    """A name that is known.

    Raises
    ------
    UnknownName : it isn't; suggests the nearest.

    >>> checked("warp_tild", STAGES, "stage")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.UnknownName: [PV103] no stage is called 'warp_tild'
    hint: did you mean 'warp_tiled'?
    """
    if name not in known:
        raise UnknownName(f"no {what} is called {name!r}", hint=nearest(name, known))
    return name
