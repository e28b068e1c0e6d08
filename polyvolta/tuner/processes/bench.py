"""The GPU's side: a process that holds one GPU, the arrays, and a graph for each candidate that it was given.

It lives behind `timer.Timer`, which ends it when a candidate takes too long. What is asked of it is `take`, `add`,
`race`; whatever has these methods can stand in its place, without a GPU.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from polyvolta.compiler.run import packing
from polyvolta.cuda.devices import Gpu, gpus
from polyvolta.tuner.errors import DoesNotFit, NoGpuThere, WrongResult
from polyvolta.tuner.processes.build import call_of, unpacked
from polyvolta.tuner.processes.locks import taken
from polyvolta.tuner.spec import SCALAR, Spec

if TYPE_CHECKING:
    import numpy as np

    from polyvolta.graph.expr import Expr
    from polyvolta.graph.tensors import Tensor

REPLAY_SECONDS, MOST_LAUNCHES = 3e-3, 50  # of a graph: about so long, at most so many
FIRST_REPLAYS = 3
SAMPLE = 48  # rows and columns that are computed in float64, and places of those that differ
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
        """Compare the results with those of another candidate, the first ones, and what differs, with float64."""
        if not self.right:
            for e, t in self._outputs():
                rows, cols = self._some(self.spec.shape(t))
                self._compare(t, rows, cols, self._exact(e, t, rows, cols))
            self._keep()
            return
        differing = [self._differs(e, t) for e, t in self._outputs()]
        if any(differing):
            self._keep()  # what was thought right was wrong there: the last races will show it

    def _outputs(self) -> Iterator[tuple[Expr, Tensor]]:
        return zip(self.spec.graph.roots, self.spec.graph.outputs, strict=True)

    def _keep(self) -> None:
        """These results are right; the arrays of those that were are for the next candidate."""
        self.right = True
        for t in self.spec.graph.outputs:
            self.arrays[t.name], self.results[t.name] = self.results[t.name], self.arrays[t.name]

    def _some(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns to look at, the first and the last among them."""
        import numpy as np

        rng = np.random.default_rng(self.spec.seed)
        rows, cols = (np.unique([0, n - 1, *rng.permutation(n)[: SAMPLE - 2]]) for n in shape)
        return rows, cols

    def _exact(self, e: Expr, t: Tensor, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Some rows and columns of a result in float64, infinite where its element type is."""
        import numpy as np

        from polyvolta.cuda.run.timing.data import host_values
        from polyvolta.tuner.processes.sample import sampled

        arrays = {i.name: host_values(self.arrays[i.name], self.stream.handle) for i in self.spec.graph.inputs}
        exact = np.broadcast_to(sampled(e, arrays, SCALAR, rows, cols), (len(rows), len(cols)))
        return np.where(np.abs(exact) >= LARGEST[t.dtype], np.copysign(np.inf, exact), exact)

    def _compare(self, t: Tensor, rows: np.ndarray, cols: np.ndarray, exact: np.ndarray) -> None:
        import numpy as np

        from polyvolta.cuda.run.timing.data import host_values
        from polyvolta.tuner.processes.sample import apart

        found = host_values(self.arrays[t.name], self.stream.handle)[np.ix_(rows, cols)].astype(np.float64)
        error = apart(found, exact)
        if not error <= TOLERANCE[t.dtype]:
            raise WrongResult(f"{t.name} differs from float64: relative L2 {error:.1e} of {found.size} values")

    def _differs(self, e: Expr, t: Tensor) -> bool:
        """Whether a result differs from the one thought right, and float64 says that it is the right one.

        Raises
        ------
        WrongResult : float64 says that it is wrong.
        """
        right = self.results[t.name]
        typical = self.values.difference(right, right, 0.0).typical
        found = self.values.difference(self.arrays[t.name], right, ROOM * typical)
        if not found.far and found.relative <= TOLERANCE[t.dtype]:
            return False
        import numpy as np

        from polyvolta.cuda.run.timing.data import host_values

        both = [host_values(a, self.stream.handle) for a in (self.arrays[t.name], right)]
        with np.errstate(all="ignore"):
            gap = np.abs(both[0].astype(np.float32) - both[1].astype(np.float32))
        there, same = (np.isfinite(x) for x in both)
        gap = np.where(there & same, gap, np.where(there != same, np.inf, 0))
        at = np.argpartition(gap.ravel(), -min(SAMPLE, gap.size))[-SAMPLE:]
        rows, cols = np.unravel_index(at, gap.shape)
        exact = np.diagonal(self._exact(e, t, rows, cols))
        ours, theirs = (_error(x[rows, cols].astype(np.float64), exact) for x in both)
        if ours > theirs:
            raise WrongResult(f"{t.name} differs from another candidate's in {found.far} of {found.count} values, by "
                              f"relative L2 {found.relative:.1e}; float64 agrees with that one")  # fmt: skip
        return True


def _error(found: np.ndarray, exact: np.ndarray) -> float:
    """How far values are from the exact ones: a count of those that are infinite, or no number, in one alone first."""
    import numpy as np

    there, same = np.isfinite(found), np.isfinite(exact)
    both = there & same
    return 1e300 * np.count_nonzero(there != same) + float(np.linalg.norm(found[both] - exact[both]))
