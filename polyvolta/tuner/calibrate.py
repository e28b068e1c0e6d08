"""Fits a chip's figures to times of the GPU at hand, so that the cost model knows it.

Some dozen tilings at each of some sizes: those that the model thinks best there, and others that differ from them in
all that the model tells apart, so that each figure decides about some times. The kernels are for all sizes: each is
made once, on all cores, and timed at every size by the tuner's own bench, its results compared. Half of the sizes are
held out; figures that order those worse than before are not kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from polyvolta.compiler.model.columns import columns_of
from polyvolta.compiler.model.fitting import Measured, Quality, fit, geomean, measured, quality
from polyvolta.compiler.model.ranking import rank, weighable
from polyvolta.compiler.needs import Needs, needs_of
from polyvolta.compiler.options import Options
from polyvolta.compiler.remembered.entries import Timed
from polyvolta.compiler.tiling import Tiling
from polyvolta.cuda.arch import AUTO
from polyvolta.cuda.devices import Gpu, gpu_here
from polyvolta.cuda.run.gpu import no_gpu
from polyvolta.cuda.target.chips import Chip, chip_of, is_named
from polyvolta.cuda.target.instruction import WARPGROUP
from polyvolta.cuda.target.registry import target_of
from polyvolta.cuda.target.target import Target
from polyvolta.display.shown import Record
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import sizes as sizes_named
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.tensors import tensor
from polyvolta.tuner.errors import NothingTimed
from polyvolta.tuner.processes.bench import Bench
from polyvolta.tuner.processes.build import Builds, Built
from polyvolta.tuner.processes.timer import Timer
from polyvolta.tuner.spec import Spec, limit_of

SIZES = (
    (512, 640, 896), (2048, 2048, 2048), (256, 2304, 3968), (1000, 2000, 3000), (3968, 896, 512), (4096, 4096, 4096),
    (1408, 1024, 2816), (1152, 512, 3840), (2560, 768, 1280), (3328, 3840, 3328), (128, 1408, 7552), (4096, 2944, 256),
)  # fmt: skip
"""(M, N, K), small and large, deep and flat, some that tiles don't divide; every other one is held out."""
EACH, OTHERS = 3, 28
"""Tilings of the model's best at each size, and of others."""
ABOUT = 1.005
LEAST = 40
"""Times without which nothing is fitted."""
OF_WARPS = ("launch", "block", "latency", "trip", "finish", "store", "tensor", "shared", "l2", "crowd", "power", "dram")
OF_WARPGROUPS = ("launch", "block", "latency", "piece", "store", "meet", "together", "exchange", "crowd", "outside",
                 "far", "ragged", "tensor", "shared", "l2", "dram", "power", "sharp")  # fmt: skip
"""Figures that times of plain products say something about."""
Report = Callable[[str], None]
Reached = Callable[[str, int, int], None]
"""Called with what is done, how often it was, and of how many times."""
Times = Sequence[tuple[int, int, float]]
"""(tiling, size, seconds), by numbers of both."""


@dataclass(frozen=True, slots=True)
class Calibration(Record):
    """What was found out.

    Attributes
    ----------
    chip : with figures that were fitted; the one before, where these are no better.
    before, after : how well the order of tilings is at the sizes held out, with the figures before and with the chip's.
    count : of times.
    """

    chip: Chip
    before: Quality
    after: Quality
    count: int


def calibrate(
    target: str | Target = AUTO, report: Report | None = None, progress: Reached | None = None
) -> Calibration:
    """Time kernels on the GPU at hand, and fit its chip's figures.

    Parameters
    ----------
    target : whose kernels; "auto": the newest that the GPU runs.
    report : called with a line about each step.
    progress : called with how far it is: ("making kernels", 3, 64), then ("timing", 1, 768).

    Raises
    ------
    NoGpu : there is none.
    NothingTimed : too few kernels could be timed.

    Cost: a minute on sixteen cores, most of it compilation.
    """
    gpu = gpu_here()
    if gpu is None:
        raise no_gpu("without one kernels are made for the package's chips")
    made, say = target_of(target), report or (lambda _: None)
    reached: Reached = progress or (lambda what, done, of: None)
    chip = described(chip_of(made, gpu.name), gpu)
    tilings = chosen(made, chip)
    say(f"{gpu.name}: {len(tilings)} tilings of {made.name} at {len(SIZES)} sizes")
    times = timed(made, gpu, tilings, say, reached)
    say(f"{len(times)} times")
    return fitted(made, chip, tilings, times)


def product() -> tuple[Graph, Needs]:
    """What is timed: a product."""
    m, n, k = sizes_named("M N K")
    graph = Graph.of(tensor("A", (m, k)) @ tensor("B", (k, n), layout="col"))
    return graph, needs_of(plan(graph))


def chosen(target: Target, chip: Chip) -> list[Tiling]:
    """The tilings to be timed: the model's first at each size, and others, the same for each call."""
    graph, needs = product()
    best = [t for m, n, k in SIZES for t, _ in rank(graph, target, {"M": m, "N": n, "K": k}, chip, EACH)]
    every = [t for columns in weighable(needs, target, chip) for t in columns.tilings]
    others = random.Random(1).sample(every, min(OTHERS, len(every)))
    return list(dict.fromkeys([*best, *others]))


def timed(
    target: Target, gpu: Gpu, tilings: Sequence[Tiling], say: Report, reached: Reached
) -> list[tuple[int, int, float]]:
    """Seconds of each tiling at each size, of those that run."""
    graph, _ = product()
    options = [Options(*astuple(t)) for t in tilings]
    number = {o: n for n, o in enumerate(options)}

    def spec(size: tuple[int, int, int]) -> Spec:
        sizes = dict(zip("MNK", size, strict=True))
        return Spec(graph, target, sizes, gpu, limit=limit_of(graph, sizes))

    with Builds(spec(SIZES[0]), options) as builds:
        kernels = []
        for n, made in enumerate(builds, 1):
            reached("making kernels", n, len(options))
            if isinstance(made, Built):
                kernels.append(made)
    say(f"{len(kernels)} kernels made")
    out = []
    for n, size in enumerate(SIZES):
        with Timer(spec(size), Bench) as timer:
            found: list[Timed] = []
            for k in kernels:
                found.append(timer.time(k))
                reached("timing", n * len(kernels) + len(found), len(SIZES) * len(kernels))
        out += [(number[t.options], n, t.seconds) for t in found if t.seconds is not None]
        say(f"{' x '.join(map(str, size))}: best {1e6 * min((t.seconds or 1.0 for t in found), default=1.0):.1f} us")
    return out


def fitted(target: Target, chip: Chip, tilings: Sequence[Tiling], times: Times) -> Calibration:
    """The chip with figures fitted to times; as it was, if that orders the sizes held out no better.

    Raises
    ------
    NothingTimed : there are too few.
    """
    _, needs = product()
    if len(times) < LEAST:
        raise NothingTimed(f"{len(times)} kernels could be timed, and at least {LEAST} are needed")
    best, found = chip, []
    for data in _by_scope(target, needs, tilings, times):
        scope = data.columns.scope
        sizes = sorted(set(data.size.tolist()))
        half, other = data.of(sizes[::2]), data.of(sizes[1::2])
        names = OF_WARPGROUPS if scope == WARPGROUP.name else OF_WARPS
        new = fit(best, [half], names) if len(sizes) > 1 else best
        new = new if len(sizes) > 1 and _better(other, new, best) else best
        if len(sizes) > 1:
            found.append((quality(other, chip), quality(other, new), data))
        best = fit(new, [data.of(sizes)], names) if new != best else best
    if best != chip:
        best = replace(best, source=f"measured: {len(times)} times of this GPU")
    if not found:
        raise NothingTimed("the times are of one size, or of too few kernels of any kind")
    before, after, _ = max(found, key=lambda f: len(f[2].seconds))
    return Calibration(best, before, after, len(times))


def _better(data: Measured, new: Chip, old: Chip) -> bool:
    """Whether a chip's first choices are as good as another's, about as exactly as that was timed."""
    return geomean(quality(data, new).first) <= ABOUT * geomean(quality(data, old).first)


def _by_scope(target: Target, needs: Needs, tilings: Sequence[Tiling], times: Times) -> list[Measured]:
    """The times of warps, and of warpgroups, each at least a few."""
    sizes = [(m, n, (k,)) for m, n, k in SIZES]
    out = []
    for columns in columns_of(tilings, needs, target):
        own = {tilings.index(t): n for n, t in enumerate(columns.tilings)}
        some = [(own[t], s, seconds) for t, s, seconds in times if t in own]
        if len(some) >= LEAST:
            data = measured(needs, columns, sizes, some)
            out.append(data.of(np.unique(data.size).tolist()))
    return out


def described(chip: Chip, gpu: Gpu) -> Chip:
    """A chip by a GPU's own data, where it is none of those that are known: a known one's figures, scaled."""
    if is_named(gpu.name, chip.name):
        return chip
    from polyvolta.cuda.run.gpu import figure

    def asked(name: str) -> int:
        return figure(name, gpu.number)

    count, clock = asked("MULTIPROCESSOR_COUNT"), 1e3 * asked("CLOCK_RATE")
    more = count * clock / (chip.multiprocessors * chip.clock)
    changes: dict[str, Any] = {
        "name": gpu.name, "architecture": gpu.arch, "multiprocessors": count, "clock": clock,
        "l2_bandwidth": chip.l2_bandwidth * more, "neighbours": (), "source": "the GPU's own data",
        "shared_bytes": asked("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"), "l2_bytes": asked("L2_CACHE_SIZE"),
    }  # fmt: skip
    if bandwidth := 2e3 * asked("MEMORY_CLOCK_RATE") * asked("GLOBAL_MEMORY_BUS_WIDTH") / 8:
        changes["dram_bandwidth"] = float(bandwidth)
    return replace(chip, **changes)
