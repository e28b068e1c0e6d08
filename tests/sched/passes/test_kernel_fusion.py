"""The paper's section "Kernel Fusion", and split-K, from the first tree to the last, by transformations alone.

Every text below was typed from the figures of "Automatic Kernel Generation for Volta Tensor Cores": sched3-initial,
sched3-block-tile, sched3-separation and sched3-warp-tile-strip-mined; sched2-warp-tile and sched2-parametric. The trees
for two matmuls that feed an addition (sched:mm-mm-add) follow the paper's word that they are like these, with three
filters.
"""

import pytest

from polyvolta.sched import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.legality import violations
from polyvolta.sched.passes import contract, hoist, interchange, map_members, reverse, strip_mine, tile
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sched.program import nest
from polyvolta.sched.scheduler import schedule
from polyvolta.sets import Map, Set, aff

CUBE = "0 <= i < M and 0 <= j < N and 0 <= k < K"
SQUARE = "0 <= i < M and 0 <= j < N"
SIZES = Set("[M, N, K] -> { : M mod 128 = 0 and N mod 128 = 0 and K mod 64 = 0 and M > 0 and N > 0 and K > 0 }")


def tree(domain, statements, dependences):
    """BAND of all statements above a SEQUENCE of them, with dependences (kind, array, source, sink, relation)."""
    members = tuple(Member(tuple((s, aff(e[n])) for s, e in statements.items())) for n in range(3))
    below = Sequence(tuple(Filter((s,)) for s in statements)) if len(statements) > 1 else Leaf()
    found = tuple(Dependence(*d, Map(f"[M, N, K] -> {{ {text} }}")) for *d, text in dependences)
    start = Schedule(Domain(Set(f"[M, N, K] -> {{ {domain} }}"), Band(members, below)), found)
    return reflagged(start, (0,))


def sums(s, array):
    """What the accumulation of a matmul demands: each element of the result is summed along k."""
    k = f"{s}[i, j, k] -> {s}[i, j, k'] : {CUBE} and k < k' < K"
    return [
        ("RAW", array, s, s, f"{s}[i, j, k] -> {s}[i, j, k + 1] : {CUBE} and k + 1 < K"),
        ("WAR", array, s, s, k),
        ("WAW", array, s, s, k),
    ]


def feeds(s, array, t):
    """What a pointwise statement demands that reads the sum."""
    return [("RAW", array, s, t, f"{s}[i, j, k] -> {t}[i, j] : {CUBE} and k = K - 1")]


def typed_epilogue():
    """Listing matmul-bias-relu."""
    statements = {"S1": ("i", "j", "k"), "S2": ("i", "j", "K")}
    return tree(f"S1[i, j, k] : {CUBE}; S2[i, j] : {SQUARE}", statements, sums("S1", "C") + feeds("S1", "C", "S2"))


def typed_three():
    """Listing mm-mm-add."""
    statements = {"S1": ("i", "j", "k"), "S2": ("i", "j", "k"), "S3": ("i", "j", "K")}
    return tree(
        f"S1[i, j, k] : {CUBE}; S2[i, j, k] : {CUBE}; S3[i, j] : {SQUARE}",
        statements,
        sums("S1", "C") + sums("S2", "R") + feeds("S1", "C", "S3") + feeds("S2", "R", "S3"),
    )


@nest
def scheduled_epilogue(A, B, C, bias, E, M, N, K):
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]
            E[i, j] = max(C[i, j] + bias[i, j], 0)


@nest
def scheduled_three(A, B, P, Q, C, R, Z, M, N, K):
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]
                R[i, j] += P[i, k] * Q[k, j]
            Z[i, j] = C[i, j] + R[i, j]


@pytest.fixture(params=["typed", "scheduled"])
def epilogue(request):
    """From the figure, with dependences by hand; and what the scheduler makes of the listing."""
    return typed_epilogue() if request.param == "typed" else schedule(scheduled_epilogue)


@pytest.fixture(params=["typed", "scheduled"])
def three(request):
    return typed_three() if request.param == "typed" else schedule(scheduled_three)


@pytest.fixture
def matmul():
    return tree(f"S[i, j, k] : {CUBE}", {"S": ("i", "j", "k")}, sums("S", "C"))


INITIAL = """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [i, j, k];
        S2[i, j] → [i, j, K]
    SEQUENCE
      FILTER: S1[i, j, k]
      FILTER: S2[i, j]"""

BLOCK_TILE = """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋];
        S2[i, j] → [⌊i/128⌋, ⌊j/128⌋, ⌊K/32⌋]
    BAND: S1[i, j, k] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, k - 32⌊k/32⌋];
          S2[i, j] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, K - 32⌊K/32⌋]
      SEQUENCE
        FILTER: S1[i, j, k]
        FILTER: S2[i, j]"""

SEPARATION = """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [⌊i/128⌋, ⌊j/128⌋];
        S2[i, j] → [⌊i/128⌋, ⌊j/128⌋]
    SEQUENCE
      FILTER: S1[i, j, k]
        BAND: S1[i, j, k] → [⌊k/32⌋]
          BAND: S1[i, j, k] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, k - 32⌊k/32⌋]
      FILTER: S2[i, j]
        BAND: S2[i, j] → [⌊K/32⌋]
          BAND: S2[i, j] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, K - 32⌊K/32⌋]"""

WARP_TILE_STRIP_MINED = """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j ∧ 8⌊k/8⌋ = k;
        S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j
  BAND: S1[i, j, k] → [blockIdx.y, blockIdx.x];
        S2[i, j] → [blockIdx.y, blockIdx.x]
    SEQUENCE
      FILTER: S1[i, j, k]
        BAND: S1[i, j, k] → [⌊k/32⌋]
          BAND: S1[i, j, k] → [warpIdx_y, warpIdx_x, 0]
            BAND: S1[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
              BAND: S1[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]
      FILTER: S2[i, j]
        BAND: S2[i, j] → [⌊K/32⌋]
          BAND: S2[i, j] → [warpIdx_y, warpIdx_x, 0]
            BAND: S2[i, j] → [0, 0, ⌊K/8⌋ - 4⌊K/32⌋]
              BAND: S2[i, j] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, K - 8⌊K/8⌋]"""

THREE = """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j ∧ 8⌊k/8⌋ = k;
        S2[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j ∧ 8⌊k/8⌋ = k;
        S3[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j
  BAND: S1[i, j, k] → [blockIdx.y, blockIdx.x];
        S2[i, j, k] → [blockIdx.y, blockIdx.x];
        S3[i, j] → [blockIdx.y, blockIdx.x]
    SEQUENCE
      FILTER: S1[i, j, k]
        BAND: S1[i, j, k] → [⌊k/32⌋]
          BAND: S1[i, j, k] → [warpIdx_y, warpIdx_x, 0]
            BAND: S1[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
              BAND: S1[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]
      FILTER: S2[i, j, k]
        BAND: S2[i, j, k] → [⌊k/32⌋]
          BAND: S2[i, j, k] → [warpIdx_y, warpIdx_x, 0]
            BAND: S2[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
              BAND: S2[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]
      FILTER: S3[i, j]
        BAND: S3[i, j] → [⌊K/32⌋]
          BAND: S3[i, j] → [warpIdx_y, warpIdx_x, 0]
            BAND: S3[i, j] → [0, 0, ⌊K/8⌋ - 4⌊K/32⌋]
              BAND: S3[i, j] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, K - 8⌊K/8⌋]"""

BLOCKS = {0: "blockIdx.y", 1: "blockIdx.x"}
WARPS = {0: "warpIdx_y", 1: "warpIdx_x"}


def fused(start):
    """From the initial tree to the last figure: the trees in between, too."""
    tiled = tile(start, (0,), (128, 128, 32))
    apart = hoist(tiled, (0,))
    done = map_members(apart, (0,), BLOCKS)
    for filter_ in range(len(done.node((0, 0)).children)):
        points = (0, 0, filter_, 0, 0)
        done = tile(done, points, (64, 64, 32))
        done = map_members(done, points, WARPS)
        done = strip_mine(done, (*points, 0), {2: 8})
    for space, _ in done.domain.parts:
        done = contract(done, space.out.name, dict(zip(space.out.dims, (16, 16, 8))), SIZES)
    return tiled, apart, done


def test_a_matmul_with_its_epilogue(epilogue):
    assert str(epilogue) == INITIAL
    tiled, apart, done = fused(epilogue)
    assert str(tiled) == BLOCK_TILE
    assert str(apart) == SEPARATION
    assert str(done) == WARP_TILE_STRIP_MINED


def test_two_matmuls_that_feed_an_addition(three):
    assert str(fused(three)[2]) == THREE


def test_every_tree_on_the_way_respects_the_dependences(epilogue):
    for step in fused(epilogue):
        assert list(violations(step, context=SIZES)) == []


def test_the_outer_members_are_parallel_and_k_is_not(epilogue):
    apart = hoist(tile(epilogue, (0,), (128, 128, 32)), (0,))
    flags = {at: [m.coincident for m in apart.band(at).members] for at in apart.bands()}
    assert flags == {
        (0,): [True, True],
        (0, 0, 0, 0): [False],
        (0, 0, 0, 0, 0): [True, True, False],
        (0, 0, 1, 0): [True],
        (0, 0, 1, 0, 0): [True, True, True],
    }


def test_the_epilogue_cannot_run_first_nor_the_sum_be_parallel(epilogue):
    tiled = tile(epilogue, (0,), (128, 128, 32))
    with pytest.raises(IllegalTransformation, match=r"S1\[0, 0, 31\] must run before S1\[0, 0, 32\].*on C"):
        map_members(tiled, (0,), {2: "blockIdx.z"})
    with pytest.raises(IllegalTransformation, match=r"S1\[.*\] must run before S1\[.*\]"):
        reverse(tiled, (0, 0), 2)


def test_contraction_contracts_the_dependences(epilogue):
    """What depended on an instance of a macro-MMA depends on the macro-MMA."""
    done = fused(epilogue)[2]
    raw = {(d.source, d.sink): d.relation for d in done.dependences if d.kind == "RAW"}
    step = "S1[i, j, k] -> S1[i, j, k + 8] : i mod 16 = 0 and j mod 16 = 0 and k mod 8 = 0"
    last = "S1[i, j, k] -> S2[i, j] : i mod 16 = 0 and j mod 16 = 0 and k mod 8 = 0 and K - 8 <= k"
    box = f"{CUBE} and M mod 128 = 0 and N mod 128 = 0 and K mod 64 = 0"
    assert raw["S1", "S1"].intersect_params(SIZES).is_equal(Map(f"[M, N, K] -> {{ {step} and {box} and k + 8 < K }}"))
    assert raw["S1", "S2"].intersect_params(SIZES).is_equal(Map(f"[M, N, K] -> {{ {last} and {box} }}"))
    with pytest.raises(IllegalTransformation, match=r"S1\[0, 0, 0\] must run before S1\[0, 0, 8\]"):
        reverse(done, (0, 0, 0, 0, 0, 0), 2)


SPLIT_K_TILED = """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/64⌋]
    BAND: S[i, j, k] → [⌊i/64⌋ - 2⌊i/128⌋, ⌊j/64⌋ - 2⌊j/128⌋, ⌊k/32⌋ - 2⌊k/64⌋]
      BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]"""

SPLIT_K_PARAMETRIC = """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/64⌋]
    BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, warpIdx_z]
      BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]"""


def test_split_k(matmul):
    tiled = tile(tile(matmul, (0,), (128, 128, 64)), (0, 0), (64, 64, 32))
    assert str(tiled) == SPLIT_K_TILED
    blocks = map_members(tiled, (0,), BLOCKS)
    warps = {**WARPS, 2: "warpIdx_z"}
    with pytest.raises(IllegalTransformation, match=r"S\[0, 0, 31\] must run before S\[0, 0, 32\]") as refusal:
        map_members(blocks, (0, 0), warps)
    assert 'reduction="C"' in str(refusal.value)
    mapped = map_members(blocks, (0, 0), warps, reduction="C")
    assert str(mapped) == SPLIT_K_PARAMETRIC


def test_a_reduction_gives_up_the_order_between_its_parts_alone(matmul):
    """Within the strip of one warp, and from one block tile to the next, the sum keeps its order."""
    tiled = tile(tile(matmul, (0,), (128, 128, 64)), (0, 0), (64, 64, 32))
    mapped = map_members(tiled, (0, 0), {2: "warpIdx_z"}, reduction="C")
    waw = next(d.relation for d in mapped.dependences if d.kind == "WAW")
    kept = "(floor(k/64) < floor(k'/64) or floor(k/32) = floor(k'/32))"
    assert waw.is_equal(Map(f"[M, N, K] -> {{ S[i, j, k] -> S[i, j, k'] : {CUBE} and k < k' < K and {kept} }}"))
    with pytest.raises(IllegalTransformation, match="must run before"):
        reverse(mapped, (0, 0, 0), 2)
    with pytest.raises(IllegalTransformation, match="must run before"):
        reverse(mapped, (0,), 2)
    assert list(violations(interchange(mapped, (0, 0, 0), (2, 0, 1)))) == []


def test_what_reads_the_sum_still_waits_for_it(epilogue):
    """A reduction of C is no leave for the statement that reads C."""
    with pytest.raises(IllegalTransformation, match=r"S1\[.*\] must run before S2\[.*\].*on C"):
        map_members(epilogue, (0,), {2: "warpIdx_z"}, reduction="C")
