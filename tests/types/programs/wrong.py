# pyright: standard, reportUnusedExpression=false
# ruff: noqa: B018 (expressions are the mistakes)
"""Mistakes that a checker finds before anything runs: of each marked line what it says, and of no other line."""

import numpy as np

import polyvolta as pv
from polyvolta.sched import scan, schedule, tile, to_c
from polyvolta.sets import Map, Set

M, N, K = pv.sizes("M N K")
pv.sizes(("M", "N"))  # expect: reportArgumentType
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
pv.tensor("A", "M K")  # expect: reportArgumentType
pv.tensor("A", (M, 1.5))  # expect: reportArgumentType
pv.tensor("A", (M, K), order="col")  # expect: reportCallIssue
pv.tensor("A", (M, K), layout="column")  # expect: reportArgumentType
pv.sclar("alpha")  # expect: reportAttributeAccessIssue
M * 2  # expect: reportOperatorIssue

# ---- expressions

A @ 2  # expect: reportOperatorIssue
A + "bias"  # expect: reportOperatorIssue
A + np.ones(3)  # expect: reportOperatorIssue
A & 1  # expect: reportOperatorIssue
A.t()  # expect: reportAttributeAccessIssue
pv.relu(3)  # expect: reportArgumentType
pv.relu(np.ones(3))  # expect: reportArgumentType
pv.relu(A, 0.1)  # expect: reportCallIssue
pv.maximum(1, 2)  # expect: reportCallIssue reportArgumentType
pv.clamp(A, 0)  # expect: reportCallIssue
pv.pointwise(3, A)  # expect: reportArgumentType
(A @ B).name  # expect: reportAttributeAccessIssue
pv.reference(A @ B, np.ones((2, 2)), B=A)  # expect: reportCallIssue reportArgumentType
pv.reference(A @ B, np.ones((2, 2)), np.ones((2, 2))).keys()  # expect: reportAttributeAccessIssue

# ---- kernels

pv.Options(bock_tile=(128, 128, 32))  # expect: reportArgumentType
pv.Options(block_tile=(128, 128))  # expect: reportArgumentType
pv.Options(block_tile=128)  # expect: reportArgumentType
pv.Options(partial="guarded")  # expect: reportArgumentType
pv.Options(buffers="2")  # expect: reportArgumentType
pv.Options(128, 128)  # expect: reportArgumentType
kernel = pv.compile(A @ B)
pv.compile(A @ B, pv.Options())  # expect: reportCallIssue reportArgumentType
pv.compile(A @ B, optoins=pv.Options())  # expect: reportCallIssue
pv.compile("A @ B")  # expect: reportCallIssue reportArgumentType
pv.compile(A @ B, variants=3)  # expect: reportCallIssue reportArgumentType
kernel("a", "b")  # expect: reportCallIssue reportArgumentType
kernel(A, B)  # expect: reportCallIssue reportArgumentType
a, b = np.ones((2, 2), np.float16), np.ones((2, 2), np.float16)
kernel.interpret(a, b).findings  # expect: reportAttributeAccessIssue
kernel.interpret(a, b, observe="races").shape  # expect: reportAttributeAccessIssue
kernel.interpret(a, b, observe=3)  # expect: reportCallIssue reportArgumentType
kernel.launch_config({M: "512"})  # expect: reportArgumentType
kernel.launch_config(M="512")  # expect: reportArgumentType
kernel.sources  # expect: reportAttributeAccessIssue
kernel.options.blocktile  # expect: reportAttributeAccessIssue
kernel.options.buffers = 3  # expect: reportAttributeAccessIssue
kernel.verify(only=3)  # expect: reportArgumentType
kernel.verify().okay  # expect: reportAttributeAccessIssue
kernel.stages[3]  # expect: reportArgumentType
pv.targets["sm_70"].shared  # expect: reportAttributeAccessIssue
pv.tune(A @ B, M="512")  # expect: reportArgumentType

# ---- sets and schedules

S, T = Set("{ S[i] : 0 <= i < 9 }"), Map("{ S[i] -> [i + 1] }")
S & T  # expect: reportOperatorIssue
S | "{ S[3] }"  # expect: reportOperatorIssue
S.domain()  # expect: reportAttributeAccessIssue
T.domian()  # expect: reportAttributeAccessIssue
S.apply(S)  # expect: reportArgumentType
Set(3)  # expect: reportArgumentType
S.count(N="3")  # expect: reportArgumentType
S.is_empty() + T  # expect: reportOperatorIssue
pv.sets.Sett("{ }")  # expect: reportAttributeAccessIssue
tile("tree", (0,), (32, 32))  # expect: reportArgumentType
pv.sched.tiles  # expect: reportAttributeAccessIssue
to_c(schedule(3))  # expect: reportArgumentType
scan(S)  # expect: reportArgumentType
