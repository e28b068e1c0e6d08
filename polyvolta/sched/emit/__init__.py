"""What becomes of loops: C, Python, and runs of them.

>>> from polyvolta.sched import Schedule, scan, to_c
>>> tree = Schedule.parse('{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }", '
...                       'child: { schedule: "[{ S[i, j] -> [j] }, { S[i, j] -> [i] }]" } }')
>>> print(to_c(scan(tree)))
for (int c0 = 0; c0 < N; c0 += 1)
  for (int c1 = c0; c1 < N; c1 += 1)
    S(c1, c0);
"""
