"""The GPU's side: a process that holds one GPU, the arrays, and a graph for each candidate that it was given.

It lives behind `timer.Timer`, which ends it when a candidate takes too long. What is asked of it is `take`, `add`,
`race`; whatever has these methods can stand in its place, without a GPU.
"""

from __future__ import annotations

import statistics
from typing import Any

from polyvolta.compiler.run import packing
from polyvolta.cuda.devices import Gpu, gpus
from polyvolta.tuner.errors import DoesNotFit, NoGpuThere, WrongResult
from polyvolta.tuner.processes.build import call_of, unpacked
from polyvolta.tuner.processes.locks import taken
from polyvolta.tuner.spec import SCALAR, Spec

REPLAY_SECONDS, MOST_LAUNCHES = 3e-3, 50  # of a graph: about so long, at most so many
FIRST_REPLAYS = 3
SAMPLE = 48  # rows and columns that are computed in float64
TOLERANCE = {"float16": 2e-3, "bfloat16": 8e-3}
"""Relative L2 error, by element type: four times what rounding results comes to, for roundings of prologues and
sums."""
LARGEST = {"float16": 65520.0, "bfloat16": 3.39e38}
"""From here on results are infinite."""
ROOM = 1 / 32  # of the results' typical size, by which two right ones may differ anywhere
SPARE = 256 << 20  # bytes of GPU memory that code and graphs may take


class Bench:
    """Times candidates of one computation; see `timer.Timer`."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.graphs: dict[str, Any] = {}
        self.right = False  # whether there are results that are right

    def take(self) -> Gpu:
        """Wait for a GPU, and make the arrays there.

        Raises
        ------
        NoGpuThere : none of the kind is seen here; NoGpu : none can be used.
        DoesNotFit : its memory is too small, or taken.
        """
        from polyvolta.cuda.run import launch

        launch.require_gpu()
        spec = self.spec
        there = gpus()
        fitting = [g for g in there if g.name == spec.gpu.name and (not spec.alone or g.uuid == spec.gpu.uuid)]
        if not fitting:
            names = ", ".join(g.name for g in there) or "none"
            raise NoGpuThere(f"there is no {spec.gpu.name} here", where=f"GPUs: {names}")
        self.gpu, self.lock = taken(fitting)
        from polyvolta.cuda.run.timing.data import Values
        from polyvolta.cuda.run.timing.graphs import Stream, on_gpu

        on_gpu(self.gpu.number)
        self.stream = Stream.make()
        self._check_room()
        self.values = Values(spec.graph.dtype, self.stream.handle)
        made = {t.name: launch.allocate(spec.shape(t), spec.order(t), t.dtype)
                for t in (*spec.graph.inputs, *spec.graph.outputs)}  # fmt: skip
        for n, t in enumerate(spec.graph.inputs):
            self.values.random(made[t.name], spec.seed + n)
        self.arrays = made
        self.results = {t.name: launch.allocate(spec.shape(t), spec.order(t), t.dtype) for t in spec.graph.outputs}
        return self.gpu

    def _check_room(self) -> None:
        from polyvolta.cuda.run.timing.graphs import free_bytes

        needed, free = self.spec.bytes + SPARE, free_bytes()
        if needed > free:
            sizes = ", ".join(f"{n} = {v}" for n, v in self.spec.sizes.items()) or "this"
            raise DoesNotFit(
                f"{sizes} takes {needed / 2**30:.1f} GiB of GPU memory, {free / 2**30:.1f} are free",
                where=self.gpu.name,
                hint="smaller sizes, or end what else is on the GPU",
            )

    def add(self, name: str, content: bytes, keep: bool) -> float:
        """Load a kernel, run it, look at its results, and time it shortly: seconds a launch.

        Parameters
        ----------
        keep : whether it is to be raced.

        Raises
        ------
        WrongResult
        LaunchFailed, WrongGpu and others of a launch.
        """
        kernel, aligns, code = unpacked(content)
        call = call_of(kernel, self.spec, self.arrays, self.stream.handle)
        call.fitted().kernel.loaded(aligns, code)
        from polyvolta.cuda.run import launch

        for t in self.spec.graph.outputs:  # what isn't written isn't what another candidate wrote
            launch.clear(self.arrays[t.name], self.stream.handle)
        run = packing(call, self.stream.handle)(tuple(a.array for a in call.arguments))
        run()
        self.stream.wait()
        self._check()
        seconds = self.stream.seconds(run)
        count = max(1, min(MOST_LAUNCHES, round(REPLAY_SECONDS / max(seconds, 1e-7))))
        self.graphs[name] = self.stream.recorded(run, count)
        median, *_ = self.race((name,), FIRST_REPLAYS)[name]
        if not keep:
            self.graphs.pop(name).close()
        return median

    def race(self, names: tuple[str, ...], rounds: int) -> dict[str, tuple[float, ...]]:
        """Candidates that take turns: for each the median of its seconds a launch, the least and the most."""
        from polyvolta.cuda.run.timing.graphs import interleaved

        replays = [self.graphs[n] for n in names]
        interleaved(replays, 1)  # warm
        times = interleaved(replays, rounds)
        return {n: (statistics.median(t), min(t), max(t)) for n, t in zip(names, times, strict=True)}

    # ---- results

    def _check(self) -> None:
        """Compare the results with those of another candidate, the first ones with float64."""
        outputs = self.spec.graph.outputs
        if not self.right:
            self._check_sample()
            self.right = True
            for t in outputs:
                self.arrays[t.name], self.results[t.name] = self.results[t.name], self.arrays[t.name]
            return
        for t in outputs:
            right = self.results[t.name]
            typical = self.values.difference(right, right, 0.0).typical
            found = self.values.difference(self.arrays[t.name], right, ROOM * typical)
            if found.far or found.relative > TOLERANCE[t.dtype]:
                raise WrongResult(
                    f"{t.name} differs from the first candidate's: {found.far} of {found.count} values by more than a "
                    f"32nd, relative L2 {found.relative:.1e}"
                )

    def _check_sample(self) -> None:
        import numpy as np

        from polyvolta.cuda.run.timing.data import host_values
        from polyvolta.tuner.processes.sample import apart, sampled

        graph, rng = self.spec.graph, np.random.default_rng(self.spec.seed)
        arrays = {t.name: host_values(self.arrays[t.name], self.stream.handle) for t in graph.inputs}
        for e, t in zip(graph.roots, graph.outputs, strict=True):
            found = host_values(self.arrays[t.name], self.stream.handle)
            rows, cols = (np.sort(rng.permutation(n)[:SAMPLE]) for n in (1, *found.shape)[-2:])
            some = found[np.ix_(rows, cols)] if found.ndim == 2 else found[cols]
            exact = sampled(e, arrays, SCALAR, rows, cols)
            exact = np.where(np.abs(exact) >= LARGEST[t.dtype], np.copysign(np.inf, exact), exact)
            error = apart(some.astype(np.float64), np.broadcast_to(exact, some.shape))
            if not error <= TOLERANCE[t.dtype]:
                raise WrongResult(f"{t.name} differs from float64: relative L2 {error:.1e} of {some.size} values")
