"""Schedules beside isl: dependences, the scheduler and code from trees, on the same programs, turn by turn.

    python benchmarks/sched.py [--repeat 21] [--only 30a,41]     # needs islpy: pip install -e ".[bench]"

The programs are a matrix product, one with a bias and an activation behind it, and a sum of two products, each given
by relations. What is timed is the operation alone: its inputs are made before, so dependences are known when a
schedule is asked for. `harness.py` says how. Prints a Markdown table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import harness
import islpy as isl

from polyvolta.sched import (
    Band,
    Dependence,
    Domain,
    Member,
    Program,
    Schedule,
    dependences,
    flow,
    scan,
    schedule,
    tile,
    to_c,
)
from polyvolta.sets import Map, Set

CONTEXT = "[M,N,K] -> { : M>0 and N>0 and K>0 }"
DOMAIN = "[M,N,K] -> { S[i,j,k] : 0<=i<M and 0<=j<N and 0<=k<K }"
CONCRETE = "{ S[i,j,k] : 0<=i<4096 and 0<=j<4096 and 0<=k<4096 }"
UNTILED = "{ S[i,j,k] -> [i,j,k] }"
TILE1 = "{ S[i,j,k] -> [floor(i/128), floor(j/128), floor(k/32), i mod 128, j mod 128, k mod 32] }"
TILE3 = (
    "{ S[i,j,k] -> [floor(i/128), floor(j/128), floor(k/32), floor((i mod 128)/64), floor((j mod 128)/32), "
    "floor((k mod 32)/8), floor((i mod 64)/16), floor((j mod 32)/8), i mod 16, j mod 8, k mod 8] }"
)
PRODUCT = "0<=i<M and 0<=j<N and 0<=k<K"
POINTS = "0<=i<M and 0<=j<N"
PROGRAMS = {
    "matmul": {
        "domain": f"[M,N,K] -> {{ I[i,j] : {POINTS}; S[i,j,k] : {PRODUCT} }}",
        "schedule": "{ I[i,j] -> [0,i,j,0]; S[i,j,k] -> [1,i,j,k] }",
        "reads": "{ S[i,j,k] -> C[i,j]; S[i,j,k] -> A[i,k]; S[i,j,k] -> B[k,j] }",
        "writes": "{ I[i,j] -> C[i,j]; S[i,j,k] -> C[i,j] }",
    },
    "matmul+bias+relu": {
        "domain": f"[M,N,K] -> {{ I[i,j] : {POINTS}; S[i,j,k] : {PRODUCT}; Bi[i,j] : {POINTS}; R[i,j] : {POINTS} }}",
        "schedule": "{ I[i,j] -> [0,i,j,0]; S[i,j,k] -> [1,i,j,k]; Bi[i,j] -> [2,i,j,0]; R[i,j] -> [3,i,j,0] }",
        "reads": "{ S[i,j,k] -> C[i,j]; S[i,j,k] -> A[i,k]; S[i,j,k] -> B[k,j]; Bi[i,j] -> C[i,j]; Bi[i,j] -> b[j]; "
        "R[i,j] -> D[i,j] }",
        "writes": "{ I[i,j] -> C[i,j]; S[i,j,k] -> C[i,j]; Bi[i,j] -> D[i,j]; R[i,j] -> E[i,j] }",
    },
    "2 matmul + add": {
        "domain": f"[M,N,K] -> {{ I1[i,j] : {POINTS}; S1[i,j,k] : {PRODUCT}; I2[i,j] : {POINTS}; "
        f"S2[i,j,k] : {PRODUCT}; P[i,j] : {POINTS} }}",
        "schedule": "{ I1[i,j] -> [0,i,j,0]; S1[i,j,k] -> [1,i,j,k]; I2[i,j] -> [2,i,j,0]; S2[i,j,k] -> [3,i,j,k]; "
        "P[i,j] -> [4,i,j,0] }",
        "reads": "{ S1[i,j,k] -> C1[i,j]; S1[i,j,k] -> A1[i,k]; S1[i,j,k] -> B1[k,j]; S2[i,j,k] -> C2[i,j]; "
        "S2[i,j,k] -> A2[i,k]; S2[i,j,k] -> B2[k,j]; P[i,j] -> C1[i,j]; P[i,j] -> C2[i,j] }",
        "writes": "{ I1[i,j] -> C1[i,j]; S1[i,j,k] -> C1[i,j]; I2[i,j] -> C2[i,j]; S2[i,j,k] -> C2[i,j]; "
        "P[i,j] -> E[i,j] }",
    },
}
AST_ROWS = ("41", "42", "43", "44", "45")
ROWS: list[harness.Row] = []


def row(name: str, read: Callable, op: Callable, isl_read: Callable, isl_op: Callable) -> None:
    ROWS.append(harness.Row(name, harness.Side(read, op), harness.Side(isl_read, isl_op)))


# isl's side: the three dataflow problems, the scheduler and the AST generator


def isl_program(name: str) -> tuple:
    """The domain, and schedule, reads and writes on it."""
    texts = PROGRAMS[name]
    domain = isl.UnionSet(texts["domain"])
    return domain, *(isl.UnionMap(texts[k]).intersect_domain(domain) for k in ("schedule", "reads", "writes"))


def isl_flow(domain, order, reads, writes):
    access = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(order)
    return access.compute_flow().get_must_dependence()


def isl_dependences(domain, order, reads, writes):
    output = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_schedule_map(order)
    anti = isl.UnionAccessInfo.from_sink(writes).set_may_source(reads).set_kill(writes).set_schedule_map(order)
    return (
        isl_flow(domain, order, reads, writes),
        output.compute_flow().get_must_dependence(),
        anti.compute_flow().get_may_dependence(),
    )


def isl_constraints(name: str) -> tuple:
    domain, *rest = isl_program(name)
    return domain, *isl_dependences(domain, *rest)


def isl_schedule(domain, raw, waw, war):
    validity = raw.union(waw).union(war)
    constraints = isl.ScheduleConstraints.on_domain(domain).set_validity(validity)
    return constraints.set_coincidence(validity).set_proximity(raw).compute_schedule()


def isl_map(text: str, domain: str) -> tuple:
    return (isl.UnionMap(text).intersect_domain(isl.UnionSet(domain)),)


def isl_ast_of_map(m):
    return isl.AstBuild.from_context(isl.Set(CONTEXT)).node_from_schedule_map(m)


def isl_tiled(name: str) -> tuple:
    node = isl_schedule(*isl_constraints(name)).get_root().child(0)
    while node.get_type() != isl.schedule_node_type.band:
        node = node.child(0)
    space = node.band_get_space()
    sizes = isl.MultiVal.zero(space)
    for k in range(space.dim(isl.dim_type.set)):
        sizes = sizes.set_val(k, isl.Val(32 if k == 2 else 128))
    return (node.band_tile(sizes).get_schedule(),)


def isl_ast(tree):
    return isl.AstBuild.from_context(isl.Set(CONTEXT)).node_from_schedule(tree)


# ours


def program(name: str) -> Program:
    return Program.parse(**PROGRAMS[name])


def with_dependences(name: str) -> tuple:
    known = program(name)
    return known, dependences(known)


def scheduled(known: Program, found: Sequence[Dependence]) -> Schedule:
    return schedule(known, dependences=found)


def band(text: str, domain: str) -> tuple[Schedule]:
    """The tree of one band whose members are a map's outputs."""
    members = tuple(Member((("S", e),)) for e in Map(text).as_affs())
    return (Schedule(Domain(Set(domain), Band(members))),)


def tiled(name: str) -> tuple[Schedule]:
    tree = scheduled(*with_dependences(name))
    at = tree.bands()[0]
    sizes: Sequence[int] = [32 if k == 2 else 128 for k in range(len(tree.band(at).members))]
    return (tile(tree, at, sizes),)


def loops(tree: Schedule):
    return scan(tree, context=Set(CONTEXT))


for letter, name in zip("abc", PROGRAMS):
    row(f"30{letter} flow, {name}", lambda n=name: (program(n),), flow, lambda n=name: isl_program(n), isl_flow)
for letter, name in zip("abc", PROGRAMS):
    row(f"31{letter} all dependences, {name}", lambda n=name: (program(n),), dependences,
        lambda n=name: isl_program(n), isl_dependences)  # fmt: skip
for letter, name in zip("abc", PROGRAMS):
    row(f"32{letter} schedule, {name}", lambda n=name: with_dependences(n), scheduled,
        lambda n=name: isl_constraints(n), isl_schedule)  # fmt: skip
for title, text, domain in (
    ("40 loops: matmul", UNTILED, DOMAIN),
    ("41 loops: 1-level tiles, parametric", TILE1, DOMAIN),
    ("42 loops: 1-level tiles, 4096^3", TILE1, CONCRETE),
    ("43 loops: 3-level tiles, 4096^3", TILE3, CONCRETE),
):
    row(title, lambda t=text, d=domain: band(t, d), loops, lambda t=text, d=domain: isl_map(t, d), isl_ast_of_map)
row("44 loops: schedule of matmul, tiled", lambda: tiled("matmul"), loops, lambda: isl_tiled("matmul"), isl_ast)
row("45 loops: matmul+bias+relu, tiled", lambda: tiled("matmul+bias+relu"), loops,
    lambda: isl_tiled("matmul+bias+relu"), isl_ast)  # fmt: skip
row("46 C text of 41", lambda: (loops(*band(TILE1, DOMAIN)),), to_c,
    lambda: (isl_ast_of_map(*isl_map(TILE1, DOMAIN)),), lambda node: node.to_C_str())  # fmt: skip

if __name__ == "__main__":
    harness.main(__doc__, ROWS, repeat=21, groups={"loops of tiled trees (41 to 45)": AST_ROWS})
