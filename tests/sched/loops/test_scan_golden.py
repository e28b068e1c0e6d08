"""The paper's kernels as loops: no condition that loops around ensure, no loop of one trip."""

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sets import Set, aff
from tests.sched.loops.oracle import assert_scans

CONTEXT = Set("[M, N, K] -> { : M > 0 and N > 0 and K > 0 }")
POINTS, PRODUCT = "0 <= i < M and 0 <= j < N", "0 <= i < M and 0 <= j < N and 0 <= k < K"
SIZES = [{"M": 3, "N": 5, "K": 4}, {"M": 1, "N": 1, "K": 1}, {"M": 4, "N": 4, "K": 5}]


def band(child=None, **exprs):
    rank = len(next(iter(exprs.values())))
    members = tuple(Member(tuple((s, aff(e[k])) for s, e in exprs.items())) for k in range(rank))
    return Band(members, child or Leaf())


def text(domain, root):
    schedule = Schedule(Domain(Set(domain), root))
    found = scan(schedule, CONTEXT)
    assert_scans(schedule, SIZES, CONTEXT)
    return [line for line in to_c(found).splitlines() if line and not line.startswith("#define")]


def test_matmul_in_tiles():
    tiles = ["floor(i/2)", "floor(j/2)", "floor(k/4)", "i mod 2", "j mod 2", "k mod 4"]
    assert text(f"[M, N, K] -> {{ S[i, j, k] : {PRODUCT} }}", band(S=tiles)) == [
        "for (int c0 = 0; c0 < (M + 1) / 2; c0 += 1)",
        "  for (int c1 = 0; c1 < (N + 1) / 2; c1 += 1)",
        "    for (int c2 = 0; c2 < (K + 3) / 4; c2 += 1)",
        "      for (int c3 = 0; c3 < min(2, M - 2 * c0); c3 += 1)",
        "        for (int c4 = 0; c4 < min(2, N - 2 * c1); c4 += 1)",
        "          for (int c5 = 0; c5 < min(4, K - 4 * c2); c5 += 1)",
        "            S(2 * c0 + c3, 2 * c1 + c4, 4 * c2 + c5);",
    ]


def test_matmul_with_bias_and_activation_in_block_tiles():
    """The sequence stands within the tiles of a block, the loop over k within the sequence."""
    point = ["i mod 2", "j mod 2"]
    order = Sequence(
        (
            Filter(("I",), band(I=point)),
            Filter(("S",), band(S=["floor(k/4)", *point, "k mod 4"])),
            Filter(("R",), band(R=point)),
        )
    )
    block = ["floor(i/2)", "floor(j/2)"]
    domain = f"[M, N, K] -> {{ I[i, j] : {POINTS}; S[i, j, k] : {PRODUCT}; R[i, j] : {POINTS} }}"
    assert text(domain, band(order, I=block, S=block, R=block)) == [
        "for (int c0 = 0; c0 < (M + 1) / 2; c0 += 1)",
        "  for (int c1 = 0; c1 < (N + 1) / 2; c1 += 1) {",
        "    for (int c2 = 0; c2 < min(2, M - 2 * c0); c2 += 1)",
        "      for (int c3 = 0; c3 < min(2, N - 2 * c1); c3 += 1)",
        "        I(2 * c0 + c2, 2 * c1 + c3);",
        "    for (int c2 = 0; c2 < (K + 3) / 4; c2 += 1)",
        "      for (int c3 = 0; c3 < min(2, M - 2 * c0); c3 += 1)",
        "        for (int c4 = 0; c4 < min(2, N - 2 * c1); c4 += 1)",
        "          for (int c5 = 0; c5 < min(4, K - 4 * c2); c5 += 1)",
        "            S(2 * c0 + c3, 2 * c1 + c4, 4 * c2 + c5);",
        "    for (int c2 = 0; c2 < min(2, M - 2 * c0); c2 += 1)",
        "      for (int c3 = 0; c3 < min(2, N - 2 * c1); c3 += 1)",
        "        R(2 * c0 + c2, 2 * c1 + c3);",
        "  }",
    ]


def test_split_k():
    """Tiles of K are dealt in two halves of each; the halves are the outermost loop."""
    exprs = ["floor(k/2) mod 2", "i", "j", "floor(k/4)", "k mod 2"]
    got = text(f"[M, N, K] -> {{ S[i, j, k] : {PRODUCT} }}", band(S=exprs))
    assert not any("if" in line for line in got)
    assert got == [
        "for (int c0 = 0; c0 < min(2, (K + 1) / 2); c0 += 1)",
        "  for (int c1 = 0; c1 < M; c1 += 1)",
        "    for (int c2 = 0; c2 < N; c2 += 1)",
        "      for (int c3 = 0; c3 < (K - 2 * c0 + 3) / 4; c3 += 1)",
        "        for (int c4 = 0; c4 < min(2, K - 2 * c0 - 4 * c3); c4 += 1)",
        "          S(c1, c2, 2 * c0 + 4 * c3 + c4);",
    ]


def test_matmul_of_whole_tiles_has_no_minimum():
    tiles = ["floor(i/2)", "floor(j/2)", "floor(k/4)", "i mod 2", "j mod 2", "k mod 4"]
    whole = CONTEXT & Set("[M, N, K] -> { : M mod 2 = 0 and N mod 2 = 0 and K mod 4 = 0 }")
    found = scan(Schedule(Domain(Set(f"[M, N, K] -> {{ S[i, j, k] : {PRODUCT} }}"), band(S=tiles))), whole)
    assert "min" not in to_c(found)
    assert "if" not in to_c(found)
