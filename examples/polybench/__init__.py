"""The PolyBench kernels as Python loop nests: linear algebra, stencils, data mining, shortest paths.

    from examples.polybench import KERNELS

    gemm = KERNELS["gemm"]
    gemm.program                   # the `polyvolta.sched.Program` of the nest
    arguments = gemm.arguments()   # sizes, scalars and arrays
    gemm.reference(**arguments)    # what it computes, by numpy

The 30 kernels of PolyBench 4.2 (Pouchet and Yuki), each written from its formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from examples.polybench import linear_algebra, references, stencils
from polyvolta.sched import Program

# Sizes for tests are no multiples of 32, and beyond 32 in some dimensions: there are full and partial tiles of 32.
# Large ones are for measuring compiled code.
TABLE = """
name           | arrays and scalars, the data made `:so`          | outputs          | for tests            | large
gemm           | A[M,K] B[K,N] C[M,N] alpha=1.5 beta=1.2          | C                | M=35 N=37 K=34       | M=1000 N=1100 K=1200
2mm            | A[M,K] B[K,N] C[N,L] D[M,L] T[M,N] alpha=1.5 beta=1.2 | D T         | M=34 N=36 K=33 L=35  | M=800 N=900 K=1000 L=1100
3mm            | A[M,K] B[K,N] C[N,P] D[P,L] E[M,N] F[N,L] G[M,L] | E F G   | M=33 N=34 K=35 L=36 P=37 | M=800 N=900 K=1000 L=1100 P=1200
syrk           | A[N,M] C[N,N] alpha=1.5 beta=1.2                 | C                | N=37 M=35            | N=1200 M=1000
syr2k          | A[N,M] B[N,M] C[N,N] alpha=1.5 beta=1.2          | C                | N=37 M=35            | N=1200 M=1000
trmm           | A[M,M] B[M,N] alpha=1.5                          | B                | M=37 N=35            | M=1000 N=1200
symm           | A[M,M] B[M,N] C[M,N] alpha=1.5 beta=1.2          | C                | M=35 N=37            | M=1000 N=1200
doitgen        | A[R,Q,P] C[P,P] t[P]                             | A                | R=6 Q=9 P=34         | R=150 Q=140 P=160
gemver         | A[N,N] u1[N] v1[N] u2[N] v2[N] w[N] x[N] y[N] z[N] alpha=1.5 beta=1.2 | A x w | N=45       | N=4000
gesummv        | A[N,N] B[N,N] x[N] y[N] t[N] alpha=1.5 beta=1.2  | y                | N=45                 | N=4000
atax           | A[M,N] x[N] y[N] t[M]                            | y                | M=43 N=70            | M=3800 N=4200
bicg           | A[N,M] p[M] q[N] r[N] s[M]                       | q s              | M=70 N=43            | M=3800 N=4200
mvt            | A[N,N] x1[N] x2[N] y1[N] y2[N]                   | x1 x2            | N=70                 | N=4000
lu             | A[N,N]:dominant                                  | A                | N=45                 | N=1000
ludcmp         | A[N,N]:dominant b[N] x[N] y[N]                   | A x y            | N=41                 | N=1000
cholesky       | A[N,N]:definite                                  | A                | N=45                 | N=1000
trisolv        | L[N,N]:dominant x[N] b[N]                        | x                | N=70                 | N=4000
durbin         | r[N]:decaying y[N] z[N]                          | y                | N=70                 | N=4000
gramschmidt    | A[M,N]:dominant Q[M,N] R[N,N]                    | Q R              | M=37 N=34            | M=1000 N=800
jacobi-1d      | A[N] B[N]                                        | A B              | T=35 N=101           | T=1000 N=40000
jacobi-2d      | A[N,N] B[N,N]                                    | A B              | T=9 N=37             | T=200 N=1000
seidel-2d      | A[N,N]                                           | A                | T=34 N=23            | T=100 N=1000
fdtd-2d        | ex[M,N] ey[M,N] hz[M,N] pulse[T]                 | ex ey hz         | T=9 M=35 N=37        | T=200 M=1000 N=1000
heat-3d        | A[N,N,N] B[N,N,N]                                | A B              | T=2 N=35             | T=100 N=120
adi            | u[N,N] v[N,N] p[N,N] q[N,N] a=-0.35 b=1.7 c=-0.35 d=-0.15 e=1.3 f=-0.15 | u v | T=5 N=35   | T=50 N=800
correlation    | data[N,M] corr[M,M] mean[M] stddev[M]            | corr data mean stddev | M=34 N=37       | M=1000 N=1200
covariance     | data[N,M] cov[M,M] mean[M]                       | cov data mean    | M=34 N=37            | M=1000 N=1200
floyd-warshall | path[N,N]                                        | path             | N=37                 | N=700
nussinov       | table[N,N]:zero base[N]:four                     | table            | N=45                 | N=1000
deriche        | x[M,N] y[M,N] u[M,N] v[M,N] a0=0.2 a1=0.1 a2=0.2 a3=-0.1 b1=0.9 b2=-0.3 | y | M=35 N=37 | M=2000 N=1500
"""  # noqa: E501


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    Parameters
    ----------
    data : array -> (its sizes, how its random numbers are changed).
    scalars : those that the program takes, with their values.
    outputs : the arrays that count; others are for the program's own use.
    sizes, large : parameter values for tests, and for measuring compiled code.
    reference : the same by numpy: takes what the program takes, returns the outputs.
    """

    name: str
    program: Program
    data: dict[str, tuple[tuple[str, ...], str]]
    scalars: dict[str, float]
    outputs: tuple[str, ...]
    sizes: dict[str, int]
    large: dict[str, int]
    reference: Callable[..., dict[str, np.ndarray]]

    def arguments(self, sizes: dict[str, int] | None = None, seed: int = 0) -> dict:
        """Fresh random arrays, scalars and sizes: what a call of the program takes."""
        sizes = self.sizes if sizes is None else sizes
        random = np.random.default_rng(seed)
        arrays = {a: CHANGES[how](random.random([sizes[d] for d in dims])) for a, (dims, how) in self.data.items()}
        return {**arrays, **self.scalars, **sizes}


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": lambda A: A,
    "dominant": lambda A: A + len(A) * np.eye(*A.shape),  # no pivoting needed; columns far from dependent
    "definite": lambda A: A @ A.T + len(A) * np.eye(len(A)),
    "zero": np.zeros_like,
    "four": lambda A: np.floor(4 * A),  # the bases of a sequence; 0 and 3 match, and so do 1 and 2
    "decaying": lambda r: r * 0.4 ** np.arange(1, len(r) + 1),  # makes the Toeplitz matrix diagonally dominant
}
FUNCTIONS = {"2mm": "two_mm", "3mm": "three_mm"}


def kernels(table: str) -> Iterable[Kernel]:
    """A kernel for each line of the table but the first."""
    for line in table.strip().splitlines()[1:]:
        name, data, outputs, sizes, large = (cell.strip() for cell in line.split("|"))
        called = FUNCTIONS.get(name, name.replace("-", "_"))
        yield Kernel(
            name,
            getattr(linear_algebra, called, None) or getattr(stencils, called),
            {a: (tuple(dims.split(",")), how) for a, dims, how in re.findall(r"(\w+)\[(.*?)\]:?(\w*)", data)},
            {s: float(v) for s, v in re.findall(r"(\w+)=(\S+)", data)},
            tuple(outputs.split()),
            {s: int(v) for s, v in re.findall(r"(\w+)=(\d+)", sizes)},
            {s: int(v) for s, v in re.findall(r"(\w+)=(\d+)", large)},
            getattr(references, called),
        )


KERNELS = {kernel.name: kernel for kernel in kernels(TABLE)}
