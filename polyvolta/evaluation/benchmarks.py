"""What is computed: the paper's four benchmarks, one of them also with a bias that is a vector.

Sizes are drawn as the paper's: M, N and K are multiples of 128 up to 4096. A lies by rows, B by columns, all in fp16
with sums in fp32.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from polyvolta.evaluation.errors import UnknownBenchmark
from polyvolta.graph.dims import Dim
from polyvolta.graph.dims import sizes as symbols
from polyvolta.graph.expr import Expr
from polyvolta.graph.functions.named import relu
from polyvolta.graph.tensors import Tensor, tensor
from polyvolta.sets.errors import nearest

STEP, MOST = 128, 4096
Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Reported:
    """What the paper says of its own chip, a Quadro GV100 beside cuBLAS 10.1 and cuDNN 7.0, of 100 sizes.

    Attributes
    ----------
    geomean, least, most : of the library's time over its kernels', the best of all that it generated at each size; None
        where the paper has no such number.
    ahead : at how many sizes its kernels are at least as fast.
    """

    geomean: float | None
    least: float
    most: float
    ahead: int


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A computation, with symbolic sizes M, N and K: one kernel serves all.

    Attributes
    ----------
    name : in files and on the command line.
    title : for people.
    tensors : inputs in the order of the kernel's arguments, and the sizes that each is of, such as ("A", "MK").
    made : its expression, of these inputs.
    chain : the library's kernels that do the same, one after the other, in words.
    products : matrix products in it.
    reported : what the paper says; None where it has no such benchmark.
    """

    name: str
    title: str
    tensors: tuple[tuple[str, str], ...]
    made: Callable[..., Expr]
    chain: str
    products: int = 1
    reported: Reported | None = None

    @property
    def expression(self) -> Expr:
        """What `compile` takes.

        >>> print(benchmark("gemm_bias_relu").expression)
        relu(A @ B + bias)
        """
        return self.made(*(_tensor(name, dims, dict(zip("MNK", symbols("M N K")))) for name, dims in self.tensors))

    def sized(self, sizes: Sizes) -> Expr:
        """The same with numbers for its sizes.

        >>> benchmark("gemm").sized((256, 128, 64)).shape
        (256, 128)
        """
        return self.made(*(_tensor(name, dims, dict(zip("MNK", sizes))) for name, dims in self.tensors))

    def operations(self, sizes: Sizes) -> float:
        """Multiplications and additions of the products.

        >>> benchmark("add").operations((128, 128, 64))
        4194304.0
        """
        m, n, k = sizes
        return 2.0 * self.products * m * n * k

    def bytes(self, sizes: Sizes) -> float:
        """Of inputs and result, each once: the least that any kernel moves.

        >>> benchmark("gemm").bytes((128, 128, 64))
        65536.0
        """
        extent = dict(zip("MNK", sizes, strict=True))
        counts = [_product(extent[d] for d in dims) for dims in (*(d for _, d in self.tensors), "MN")]
        return 2.0 * sum(counts)


def _tensor(name: str, dims: str, extents: Mapping[str, Dim]) -> Tensor:
    return tensor(name, tuple(extents[d] for d in dims), layout="col" if dims == "KN" else "row")


def _product(numbers: Iterable[int]) -> int:
    out = 1
    for n in numbers:
        out *= n
    return out


_A, _B, _P, _Q, _BIAS, _VECTOR = (("A", "MK"), ("B", "KN"), ("P", "MK"), ("Q", "KN"), ("bias", "MN"), ("vector", "N"))

BENCHMARKS = (
    Benchmark("gemm", "A @ B", (_A, _B), lambda a, b: a @ b, "mm", reported=Reported(0.985, 0.78, 1.75, 32)),
    Benchmark("relu_gemm", "relu(A) @ B", (_A, _B), lambda a, b: relu(a) @ b, "relu, mm",
              reported=Reported(1.113, 0.80, 2.36, 61)),
    Benchmark("gemm_bias_relu", "relu(A @ B + bias)", (_A, _B, _BIAS), lambda a, b, c: relu(a @ b + c),
              "mm, add, relu", reported=Reported(1.29, 0.89, 2.55, 94)),
    Benchmark("add", "A @ B + P @ Q", (_A, _B, _P, _Q), lambda a, b, p, q: a @ b + p @ q, "mm, mm, add", 2,
              Reported(None, 0.73, 2.13, 33)),
    Benchmark("gemm_vector_relu", "relu(A @ B + vector)", (_A, _B, _VECTOR), lambda a, b, c: relu(a @ b + c),
              "mm, add, relu"),
)  # fmt: skip
"""The paper's four, and the bias that cublasLt's fused epilogue can add."""


def benchmark(name: str) -> Benchmark:
    """The benchmark of a name.

    Raises
    ------
    UnknownBenchmark : there is none; suggests the nearest.
    """
    for b in BENCHMARKS:
        if b.name == name:
            return b
    raise UnknownBenchmark(f"there is no benchmark {name!r}", hint=nearest(name, [b.name for b in BENCHMARKS]))


def draw(count: int = 100, seed: int = 7) -> list[Sizes]:
    """Random (M, N, K), multiples of 128 up to 4096.

    >>> draw(2)
    [(2688, 1280, 3328), (512, 640, 896)]
    """
    r = random.Random(seed)
    return [tuple(STEP * r.randint(1, MOST // STEP) for _ in range(3)) for _ in range(count)]  # type: ignore[misc]
