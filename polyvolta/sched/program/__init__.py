"""Programs: from a Python loop nest, from relations, from a graph.

A function of loops over arrays becomes a program by a decorator:

    @nest
    def gemm(A, B, C, M, N, K):
        for i in range(M):
            for j in range(N):
                for k in range(K):
                    C[i, j] += A[i, k] * B[k, j]

It still runs as it did, and it knows its instances, accesses and order besides: `gemm.domain`, `gemm.reads`,
`gemm.schedule`. Dependences, the scheduler and the generation of code begin here.

>>> stencil = nest_from_source('''
... def stencil(A, B, N):
...     for i in range(1, N - 1): B[i] = A[i - 1] + A[i + 1]
... ''')
>>> print(stencil.writes)
[N] -> { S[i] -> B[i] : 1 <= i <= N - 2 }
>>> instances(stencil.schedule, N=4)
[('S', (1,)), ('S', (2,))]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.lazily import homes, lazily

if TYPE_CHECKING:
    from polyvolta.sched.program.interpret import instances as instances
    from polyvolta.sched.program.model import Access as Access
    from polyvolta.sched.program.model import Program as Program
    from polyvolta.sched.program.model import Statement as Statement
    from polyvolta.sched.program.nests.nest import nest as nest
    from polyvolta.sched.program.nests.nest import nest_from_source as nest_from_source

_HOMES = homes(
    {
        "interpret": "instances",
        "model": "Access Program Statement",
        "nests.nest": "nest nest_from_source",
    }
)
if not TYPE_CHECKING:  # checkers know the names, and that there are no others
    __getattr__, __dir__ = lazily(__name__, _HOMES)

__all__ = [  # noqa: F822 (the names are there on first use)
    "Access",
    "Program",
    "Statement",
    "instances",
    "nest",
    "nest_from_source",
]
