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

from polyvolta.sched.program.interpret import instances
from polyvolta.sched.program.model import Access, Program, Statement
from polyvolta.sched.program.nests.nest import nest, nest_from_source

__all__ = ["Access", "Program", "Statement", "instances", "nest", "nest_from_source"]
