"""One object of every kind that the API returns, small ones, by name."""

from functools import cache

import numpy as np

import polyvolta as pv
from polyvolta import sched, sets
from polyvolta.compiler.model.ranking import rank
from polyvolta.compiler.remembered.entries import Timed
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.mutants import MUTANTS, broken
from polyvolta.cuda.target.chips import chips
from polyvolta.evaluation.tables import Summary
from polyvolta.tuner.table import Table, Tuned


def gemm(A, B, C, M, N, K):
    for i in range(M):
        for j in range(N):
            C[i, j] = 0.0
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


@cache
def kernel(target="sm_70", tile=(32, 32, 16)):
    M, N, K = pv.sizes("M N K")
    A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    options = pv.Options(block_tile=tile, warp_tile=tile) if target == "sm_70" else None
    return pv.compile(pv.relu(A @ B + 0.5 * pv.tensor("bias", (N,))), target=target, options=options)


@cache
def arrays():
    random = np.random.default_rng(0)
    a, b, bias = (random.standard_normal(shape).astype("f2") for shape in ((32, 32), (32, 32), (32,)))
    return a, np.asfortranarray(b), bias


def graph_things():
    M, N = pv.sizes("M N")
    small, x = kernel(), pv.tensor("x", (M,))
    error = None
    try:
        pv.sets.Set("{ [row] : 0 <= rwo < 4 }")
    except pv.PolyvoltaError as found:
        error = found
    return {
        "size": M, "tensor": pv.tensor("A", (M, N), layout="col"), "scalar": pv.scalar("alpha"),
        "expression": small.graph.roots[0], "cases": pv.where(x > 0, pv.exp(x), 1),
        "output": pv.output(small.graph.roots[0], "Z", layout="col"), "graph": small.graph,
        "statement": small.graph.statements[0], "access": small.graph.statements[0].write, "error": error,
    }  # fmt: skip


def set_things():
    i = sets.var("i")
    return {
        "Set": sets.Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"), "Map": sets.Map("{ S[i] -> T[i // 4] }"),
        "Aff": (i + 3) // 4, "PwAff": sets.PwAff("{ [i] -> [(i)] : i >= 0; [i] -> [(-i)] : i < 0 }"),
        "count": sets.Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= i }").cardinality(),
        "layout": sets.Layout("{ [i, j] -> [4i + j] : 0 <= i < 8 and 0 <= j < 4 }"),
    }  # fmt: skip


def schedule_things():
    program = sched.nest(gemm)
    found = sched.dependences(program)
    scan = sched.scan(program.schedule)
    stages = kernel().stages
    return {
        "program": program, "program statement": program.statements[0], "dependences": found, "dependence": found[0],
        "schedule": kernel().schedule, "node": kernel().schedule.root.child, "scan": scan, "to_c": sched.to_c(scan),
        "to_c of a program": sched.to_c(scan, program), "to_python": sched.to_python(scan, program),
        "diff": sched.diff(stages["mapped"], stages["strip_mined"]), "drawing": sched.draw(_square()),
        "flags": sched.BandFlags(True, (True, False), (True, True)),
        "code to run": sched.build(program),
    }  # fmt: skip


def _square():
    return sets.Set("{ S[i, j] : 0 <= i < 5 and 0 <= j <= i }")


def kernel_things():
    small = kernel()
    report = small.verify("bank_conflicts")
    seen = small.interpret(*arrays(), observe=("bank_conflicts", "counts", "races"))
    refuted = broken(small, next(iter(MUTANTS))).verify(MUTANTS[next(iter(MUTANTS))].proofs[0])
    trace = small.trace(*arrays())
    op = next(op for op in operations(small.ir.body) if op.product is not None)
    macro = op.product
    return {
        "kernel": small, "options": small.options, "options given": pv.Options(split_k=4), "stages": small.stages,
        "source": small.source, "ir": small.ir, "launch": small.launch_config(M=100, N=100, K=64),
        "parameters": small.parameters, "report": report, "proof": report.proofs[0], "refuted": refuted,
        "counter-example": refuted.refuted[0].counter_example, "observations": seen, "observed": seen.bank_conflicts,
        "table": seen.tables[0], "picture": pv.pictures.shared_tile(small, "shared_A"), "trace": trace,
        "step": trace[3], "place": trace[3].place, "mutant": next(iter(MUTANTS.values())),
        "target": pv.targets["sm_90a"], "targets": pv.targets, "macro-MMA": macro, "instruction": macro.instruction,
        "index map": macro.d, "composition": pv.targets["sm_70"].macro_mmas[0], "chip": next(iter(chips.values())),
        "family": pv.targets["sm_90a"].families[0],
    }  # fmt: skip


def compiled_things():
    """What takes the CUDA compiler."""
    return {"resources": kernel().resources(), "cubin": kernel().compiled()}


def tuned_things():
    options = kernel().options
    other = pv.Options(block_tile=(64, 64, 32))
    table = Table((Timed(options, "timed", 3e-6, True), Timed(other, "failed", note="<no> & never")), "M = 64")
    cost = rank(kernel().graph, "sm_70", {"M": 512, "N": 512, "K": 512}, limit=1)[0][1]
    return {"tuning": table, "tuned": Tuned(kernel(), options, table), "entry": table[0], "cost": cost,
            "summary": Summary(1.5, 1.0, 2.0, 0, 3)}  # fmt: skip


@cache
def everything():
    """All but what takes the CUDA compiler."""
    return {**graph_things(), **set_things(), **schedule_things(), **kernel_things(), **tuned_things()}
