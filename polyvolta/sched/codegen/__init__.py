"""Loops from schedule trees: the AST, its generation, and C, Python and runs of it.

>>> from polyvolta.sched import Schedule
>>> from polyvolta.sched.codegen import scan, to_c
>>> tree = Schedule.parse('{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }", '
...                       'child: { schedule: "[{ S[i, j] -> [j] }, { S[i, j] -> [i] }]" } }')
>>> print(to_c(scan(tree)))
for (int c0 = 0; c0 < N; c0 += 1)
  for (int c1 = c0; c1 < N; c1 += 1)
    S(c1, c0);
"""

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.emit.execute import Compiled, build, execute
from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Call, Extreme, For, If
from polyvolta.sched.loops.scan import Scan, scan

__all__ = [
    "AnyOf",
    "Ast",
    "Block",
    "Call",
    "Compiled",
    "Extreme",
    "For",
    "If",
    "Scan",
    "build",
    "execute",
    "run",
    "scan",
    "to_c",
    "to_python",
]
