"""Options of a compilation, checked on their own and against what a graph needs and a target has.

Options may be given in part. `Options` remembers which were; `complete` chooses the others for a graph and a target, by
the rule of `rule.defaults`, and `informed` for known sizes, by the cost model of `polyvolta.compiler.model`. Until then
they have the values that a plain product of large matrices gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, Never

from polyvolta.compiler.model.ranking import rank
from polyvolta.compiler.model.sizes import BadSizes
from polyvolta.compiler.needs import Needs, family_of, needs_of
from polyvolta.compiler.rule.defaults import OF_BOXES, choose, remedy, tilings
from polyvolta.compiler.rule.problems import problems
from polyvolta.compiler.rule.values import BadOption, checked
from polyvolta.compiler.tiling import OPTIONS, Tiling
from polyvolta.cuda.arch import AUTO
from polyvolta.cuda.target.registry import require, target_of
from polyvolta.display.shown import Shown
from polyvolta.display.text import called
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Given, joined
from polyvolta.graph.plans.idioms import plan
from polyvolta.sets import nearest

if TYPE_CHECKING:
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.expr import Expr


@dataclass(frozen=True, slots=True)
class Origin:
    """How a kernel came to its options.

    Parameters
    ----------
    asked : names of the options that somebody gave.
    how : who chose the others: "rule", "model" (the cost model), "tuning" (what it remembers).
    graph, target, sizes : for what.
    """

    asked: frozenset[str]
    how: str
    graph: Graph
    target: Target
    sizes: Mapping[str, int] | None = field(default=None, hash=False)


_values = attrgetter(*OPTIONS)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Options(Shown, Tiling):
    """How a kernel is tiled. What isn't given is chosen by the rule of `polyvolta.compiler.rule.defaults`.

    Parameters
    ----------
    block_tile : (rows, columns, depth) of the result tile of a thread block, and of one step of a warp along K, in
        elements. A split K makes the block's own step `split_k` times as deep.
    warp_tile : likewise for a warp, or for a warpgroup of four where those multiply together; its depth equals the
        block's.
    macro_mma : name of one of the target's macro-MMAs.
    split_k : parts into which a block splits K, each for warps of its own: 1, 2, 4 or 8. Of warpgroups each is for a
        block of its own, of one cluster, in which each adds up and stores some columns.
    buffers : buffers of shared memory for each operand, 1 to 8. One takes two barriers a step; more take turns, tile k
        being in buffer k mod `buffers`, and take one.
    partial : what happens at the edges of tensors that tiles don't divide: "guard" tests indices in the tiles at the
        edges alone; "pad" leaves the tests out and wants sizes that are multiples of the tiles, or of those of a whole
        cluster, to which the arrays of a call are padded.
    accumulators : "one" accumulator for the products of a sum, "separate" ones, or "auto": one where it is possible.
    prefetch : how many k tiles ahead of the computation the copies to shared memory run: 0 (load, wait, compute), or up
        to `buffers` - 1, with one buffer up to 1. A copy's registers hold its tile during one step, whatever the
        distance: what it has loaded at the step's start it stores at its end. If missing, as far as the buffers allow.
        Boxes have a warp of their own, which is always as far ahead as there are buffers: `buffers` - 1 says that.
    fragments : sets of registers for fragments, 1 or 2. Two take turns: the next strip's are loaded while one strip is
        multiplied, across k tiles, too. If missing, the target's, where a k tile has an even number of strips.
        Warpgroups have some of a left operand that is computed, else 1 stands for none.
    group : how many rows of blocks go together in the order in which blocks start, a group column by column, so that
        the second-level cache serves those that run side by side: 1 (row by row) to 64. If missing, the target's. With
        clusters it is rounded up to whole ones.
    occupancy : how many blocks are to share a multiprocessor at least, 1 to 8, each with its part of the registers and
        of shared memory: while one waits, or stores its results, another one multiplies.
    dependent_launch : whether a launch may start while the kernel before it on the stream still runs (programmatic
        dependent launch): blocks begin where a multiprocessor has room, and wait for that kernel's end before they
        reach global memory. Results are the same; launches cost less. If missing, where the target can.
    persistent : whether a block computes one tile after the other, there being no more blocks than run at a time: its
        next tile's boxes come while it stores the results of this one. Of kernels whose tiles come by boxes. False if
        missing.
    pingpong : whether two warpgroups of a persistent block take turns at its tiles, so that one multiplies while the
        other one stores; a tile is one warpgroup's then, `warp_tile` equals `block_tile`, and `persistent` is True if
        missing. False if missing.
    swap : whether the macro-MMA's rows (its m) run along the columns of the result, and its columns (n) along the rows.
        The kernel then computes the transposed product, of B's and A's transposes, by the same passes, and stores it
        where it belongs. Tiles stay (rows, columns, depth) of the result: a warp tile's rows are multiples of n, its
        columns of m. Blocks and warps are counted along y by m; so are the rows of `group`.
    cluster : (rows, columns) of blocks that share what they read, 1, 2, 4 or 8 each: a box that several of them need
        comes once and goes to all of these. Of warpgroups alone. Persistent ones go from tile to tile together. If
        missing, (1, 1): no clusters.

    Attributes
    ----------
    given : names of the options that were given. `compile` chooses the others for its graph and target, and the
        kernel's options say how; here they are those of a plain product of large matrices. Equality, hash and repr
        look at the values alone, and `dataclasses.replace` gives all of them.
    origin : of a kernel's options how it came to them; else None. Printing says it, and so does a notebook.

    Raises
    ------
    BadOption : an unknown option (suggests the nearest), or a value that makes no sense on its own.

    >>> from polyvolta import Options
    >>> options = Options(block_tile=(64, 64, 32), split_k=2)
    >>> options.warp_tile, options.warps
    ((64, 32, 32), (1, 2, 2))
    >>> sorted(options.given)
    ['block_tile', 'split_k']
    """

    given: frozenset[str] = field(init=False, repr=False, compare=False)
    origin: Origin | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        block_tile: tuple[int, int, int] | None = None,
        warp_tile: tuple[int, int, int] | None = None,
        macro_mma: str | None = None,
        split_k: int | None = None,
        buffers: int | None = None,
        partial: Literal["guard", "pad"] | None = None,
        accumulators: Literal["auto", "one", "separate"] | None = None,
        prefetch: int | None = None,
        fragments: int | None = None,
        group: int | None = None,
        occupancy: int | None = None,
        dependent_launch: bool | None = None,
        persistent: bool | None = None,
        pingpong: bool | None = None,
        swap: bool | None = None,
        cluster: tuple[int, int] | None = None,
        **unknown: Never,
    ) -> None:
        values = (block_tile, warp_tile, macro_mma, split_k, buffers, partial, accumulators, prefetch, fragments, group,
                  occupancy, dependent_launch, persistent, pingpong, swap, cluster)  # fmt: skip
        given = {n: v for n, v in zip(OPTIONS, values, strict=True) if v is not None}
        if unknown:
            name = next(iter(unknown))
            raise BadOption(f"no option is called {name!r}", hint=nearest(name, OPTIONS))
        given |= {name: checked(name, value) for name, value in given.items()}
        object.__setattr__(self, "given", frozenset(given))
        object.__setattr__(self, "origin", None)
        if len(given) < len(OPTIONS):
            chosen = choose(given, Needs(), target_of())
            given = {name: getattr(chosen, name) for name in OPTIONS}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return called("Options", ((name, getattr(self, name)) for name in OPTIONS))

    def __str__(self) -> str:
        from polyvolta.compiler.shown.options import as_text

        return as_text(self)

    def _html(self) -> str:
        from polyvolta.compiler.shown.options import as_html

        return as_html(self)

    @classmethod
    def space(
        cls, graph: Expr | Sequence[Expr] | Graph, target: str | Target = AUTO, *sizes: Given[int] | None, **named: int
    ) -> Iterator[Options]:
        """Legal combinations: at known sizes those worth trying, the fastest first as far as the cost model can tell.

        An iterator; printed, or at the end of a notebook's cell, it shows the next ones and takes none.

        Sizes are known if they are given, or numbers in the graph; then these are the candidates of
        `polyvolta.compiler.model`, some hundreds to thousands, all with registers enough. Else these are tile sizes
        that are powers of 2 from 16 to 256, the target's macro-MMAs, split K by 1, 2, 4 and 8, one and two buffers;
        where copies are asynchronous 2 to 6, and one or two sets of fragments. In order: by macro-MMA, block tile, warp
        tile, split K, buffers, fragments, smaller ones first. Those of warpgroups come last, each with the macro-MMA
        that is as wide as its warp tile, and behind them the candidates.

        Longer rings are legal and not listed: through registers what is on its way from global memory is one tile,
        however far ahead it is stored, so that they take shared memory and hide no more latency.

        Parameters
        ----------
        graph : outputs, as `compile` takes them, or their graph.
        target : as `compile` takes it.
        sizes, named : of the products: by name, or in one mapping from names or from the sizes themselves, which has
            no keyword, so that a size may be called "sizes".

        Raises
        ------
        Unsupported, UnknownTarget, NoInstruction : as in `compile`.
        BadSizes : some sizes are given, and another one is missing; or no size is called so, or one is given twice.

        Cost: some 15 µs for each of 18,000 combinations; at known sizes some tenths of a second for the first graph of
        its kind, then 10 ms.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> C = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        >>> all_of_them = list(Options.space(C))
        >>> len(all_of_them), all_of_them[0].block_tile
        (3493, (16, 16, 16))
        >>> best = next(Options.space(C, "sm_90a", M=8192, N=8192, K=8192))
        >>> best.persistent, min(best.block_tile[:2]) >= 128
        (True, True)
        """
        from polyvolta.compiler.shown.options import Listed

        if len(sizes) > 1:
            raise BadSizes(f"{len(sizes)} mappings of sizes are given", hint='pass one, as {"M": 512, ...}, or M=512')
        graph, target, given = Graph.of(graph), target_of(target), joined(next(iter(sizes), None), named, BadSizes)
        if not given and needs_of(plan(graph)).unknown:
            return Listed(cls(*_values(tiling)) for tiling in tilings(graph, target))
        return Listed(cls(*_values(tiling)) for tiling, _ in rank(graph, target, given))


TILES = frozenset({"block_tile", "warp_tile", "macro_mma"})


def informed(graph: Graph, target: Target, options: Options, sizes: Mapping[str, int] | None = None) -> Options:
    """The options for known sizes: of those around what is given the first choice of the cost model.

    The same options where sizes aren't known, or no candidate is as the given ones want it. Sizes that are numbers in
    the graph count on targets with warpgroups, if no tiles are given.

    Parameters
    ----------
    sizes : of the products, by name, as they are expected.

    Raises
    ------
    BadSizes : a size is missing, unknown or no number.
    """
    given = {name: getattr(options, name) for name in OPTIONS if name in options.given}
    if sizes is None:
        needs = needs_of(plan(graph, options.accumulators))
        if needs.unknown or not target.families or TILES & given.keys():
            return options
    if len(given) == len(OPTIONS) or given.get("partial") == "pad":
        return options
    best = rank(graph, target, sizes or {}, limit=1, given=given)
    return Options(*_values(best[0][0])) if best else options


def default_options(graph: Graph, target: Target | str = AUTO, options: Options | None = None) -> Options:
    """The options with which `compile` makes a kernel, all of them given; the module says how they are chosen.

    Parameters
    ----------
    options : given ones, as `compile` takes them.

    Raises
    ------
    BadOption : as `complete` does.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    >>> default_options(Graph.of(A @ B)).warp_tile
    (64, 64, 32)
    >>> default_options(Graph.of(A @ B), options=Options(split_k=4)).block_tile
    (64, 64, 32)
    >>> small = pv.tensor("A", (64, 4096)) @ pv.tensor("B", (4096, 512), layout="col")
    >>> chosen = default_options(Graph.of(small))
    >>> chosen.block_tile, chosen.warp_tile, chosen.split_k
    ((64, 64, 32), (64, 32, 32), 4)
    """
    options = options or Options()
    return complete(options, needs_of(plan(graph, options.accumulators)), target_of(target))


def complete(options: Options, needs: Needs, target: Target) -> Options:
    """All options: those given, the others chosen for what a graph needs.

    Raises
    ------
    NoInstruction : the target has none for operands that lie so.
    BadOption : no choice of the others is one that the target can serve: says for the nearest what is too much, and
        which of those given to change.
    """
    given = {name: getattr(options, name) for name in OPTIONS if name in options.given}
    require(target, (needs.turned if given.get("swap") else needs).layouts, needs.kind)
    target = target.of_kind(needs.kind)
    chosen = choose(given, needs, target)
    found = list(problems(chosen, target, needs, given))
    if not found:
        return Options(*_values(chosen))
    beyond = list(needs.beyond_warpgroups(family_of(target)))
    first = [*beyond, *(p for p in found if any(name in p for name in given)), *found]
    problem = next(p for p in first if p in found)
    typed = ", ".join(f"{name}={value!r}" for name, value in given.items())
    left = target.families and "macro_mma" not in given and chosen.macro_mma in target.macro_names  # to warps
    if left and OF_BOXES & given.keys():
        problem += "".join(f"; {cause}" for cause in beyond)
    raise BadOption(problem, where=f"Options({typed})", hint=remedy(given, needs, target))
