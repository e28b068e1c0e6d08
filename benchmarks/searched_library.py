"""The library that an evaluation of these programs stands beside: torch's chains, and a search among cublasLt's."""

from __future__ import annotations

from typing import Any

from polyvolta.evaluation.benchmarks import Benchmark
from polyvolta.evaluation.library import Arrays, Gpu, Launch, Torch

SEARCHED = 100
"""Of cublasLt's algorithms, all that its heuristic offers at most."""


class Given(Torch):
    """The library as `gpu_baselines.py` has it: its chains, and a search among cublasLt's algorithms."""

    def __init__(self) -> None:
        super().__init__()
        import gpu_baselines
        import torch

        self.baselines, self.lt = gpu_baselines, gpu_baselines.Lt()
        self.name = f"torch {torch.__version__}"

    def _chains(self, arrays: Arrays) -> dict[str, dict[str, Launch]]:
        a, b, p, q, c, r = (arrays[n] for n in ("A", "B", "P", "Q", "C", "R"))
        found = self.baselines.chains(a, b.T, arrays["bias"], arrays["vector"], p, q.T, c, r)
        fused = "cublasLt, vector bias"
        found["gemm_vector_relu"] = {"cublasLt's fused epilogue": found["gemm_bias_relu"].pop(fused)}
        return found

    def chain(self, benchmark: Benchmark, arrays: Arrays) -> Launch:
        """The unfused one; of a vector, which the paper doesn't have, torch's."""
        some = self._chains(arrays)[benchmark.name]
        return some.get("chain") or some.get("torch.mm") or super().chain(benchmark, arrays)

    def more(self, benchmark: Benchmark, arrays: Arrays, gpu: Gpu, count: int) -> dict[str, Any]:
        """What is fused, and of a plain product the fastest of cublasLt's."""
        if benchmark.name == "gemm":
            return self._searched(arrays, gpu, count)
        some = self._chains(arrays)[benchmark.name]
        return {n: gpu.graph(launch, count) for n, launch in some.items() if n != "chain"}

    def called(self, name: str, benchmark: Benchmark, arrays: Arrays) -> Launch:
        """A launch by its name in `more`."""
        if benchmark.name == "gemm":
            found = self.lt.algorithms(arrays["A"], arrays["B"].T, arrays["C"], SEARCHED)
            return found[int(name.rpartition(" ")[2])]
        return self._chains(arrays)[benchmark.name][name]

    def _searched(self, arrays: Arrays, gpu: Gpu, count: int, keep: int = 3) -> dict[str, Any]:
        """The fastest few by a first timing, as our kernels are chosen."""
        import torch

        timed = []
        found = self.lt.algorithms(arrays["A"], arrays["B"].T, arrays["C"], SEARCHED)
        for n, launch in enumerate(found):
            try:
                graph = gpu.graph(launch, count)
                timed.append((min(gpu.microseconds(graph, count)), n, graph))
            except Exception:  # some are refused while a graph is captured
                torch.cuda.synchronize()
        best = sorted(timed, key=lambda t: t[:2])[:keep]
        return {f"cublasLt's best of {SEARCHED}, number {n}": graph for _, n, graph in best}
