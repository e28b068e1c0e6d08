"""Transformations: what they print before and after, and what they refuse."""

import pytest

from polyvolta.sched import Band, Domain, Filter, Member, Schedule, Sequence
from polyvolta.sched.errors import BadPath, BadTile, IllegalTransformation
from polyvolta.sched.passes import contract, map_members, prefetch, shift, split, tile
from polyvolta.sets import Set, UnknownName, var

i, j, k = var("i"), var("j"), var("k")


@pytest.fixture
def matmul():
    flags = (True, True, False)
    members = tuple(Member((("S", e),), c) for e, c in zip((i, j, k), flags))
    domain = Set("[M, N, K] -> { S[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K }")
    return Schedule(Domain(domain, Band(members, permutable=True)))


def lines(schedule):
    return str(schedule).splitlines()[1:]


def test_tile(matmul):
    assert lines(tile(matmul, (0,), (4, 8, 2))) == [
        "  BAND: S[i, j, k] → [⌊i/4⌋, ⌊j/8⌋, ⌊k/2⌋]",
        "    BAND: S[i, j, k] → [i - 4⌊i/4⌋, j - 8⌊j/8⌋, k - 2⌊k/2⌋]",
    ]


def test_tiling_by_a_tiles_own_extent_leaves_zero(matmul):
    twice = tile(tile(matmul, (0,), (4, 8, 2)), (0, 0), (4, 4, 2))
    assert lines(twice)[1] == "    BAND: S[i, j, k] → [0, ⌊j/4⌋ - 2⌊j/8⌋, 0]"


@pytest.mark.parametrize("sizes", [(4, 4), (0, 4, 4), (4, -1, 4), (4, 4.0, 4), (True, 4, 4)])
def test_bad_tile_sizes(matmul, sizes):
    with pytest.raises(BadTile, match="<-- here"):
        tile(matmul, (0,), sizes)


def test_a_band_that_is_not_permutable_is_not_tiled(matmul):
    band = matmul.band((0,))
    stuck = matmul.replace((0,), Band(band.members, band.child, False))
    with pytest.raises(IllegalTransformation, match="permutable"):
        tile(stuck, (0,), (4, 4, 4))


def test_split(matmul):
    assert lines(split(matmul, (0,), 2)) == ["  BAND: S[i, j, k] → [i, j]", "    BAND: S[i, j, k] → [k]"]
    with pytest.raises(BadPath):
        split(matmul, (0,), 3)


def test_only_coincident_members_can_be_mapped(matmul):
    assert lines(map_members(matmul, (0,), {0: "blockIdx.y"})) == ["  BAND: S[i, j, k] → [blockIdx.y, j, k]"]
    with pytest.raises(IllegalTransformation, match="depend on one another"):
        map_members(matmul, (0,), {2: "blockIdx.z"})


SIXTEENS = Set("[M, N, K] -> { : M mod 16 = 0 and N mod 16 = 0 and K mod 16 = 0 }")


def test_contract_names_what_it_does_not_know(matmul):
    assert "16⌊i/16⌋ = i" in str(contract(matmul, "S", {"i": 16}, SIXTEENS))
    with pytest.raises(UnknownName, match="no iterator 'l'"):
        contract(matmul, "S", {"l": 4})
    with pytest.raises(UnknownName, match="did you mean 'S'"):
        contract(matmul, "s", {"i": 4})
    with pytest.raises(BadTile):
        contract(matmul, "S", {"i": 0})


def test_contract_refuses_tiles_that_are_not_full(matmul):
    with pytest.raises(IllegalTransformation, match="reaches beyond the domain"):
        contract(matmul, "S", {"i": 16})
    with pytest.raises(IllegalTransformation, match="reaches beyond the domain"):
        contract(matmul, "S", {"k": 32}, SIXTEENS)


def test_contract_refuses_tiles_across_an_outer_band(matmul):
    tiled = tile(matmul, (0,), (24, 16, 16))
    with pytest.raises(IllegalTransformation, match="spans several values"):
        contract(tiled, "S", {"i": 16}, SIXTEENS)
    assert contract(tiled, "S", {"i": 8}, SIXTEENS) != tiled


def test_paths_that_lead_nowhere(matmul):
    with pytest.raises(BadPath, match="leaves the tree at step 2"):
        matmul.node((0, 0, 0))
    with pytest.raises(BadPath, match="no Band"):
        tile(matmul, (), (1, 1, 1))
    with pytest.raises(BadPath):
        shift(matmul, (0,), 3, {"S": 1})


@pytest.fixture
def pipeline():
    names = ("load", "store", "use")
    domain = Set("[N] -> { load[t] : 0 <= t < N; store[t] : 0 <= t < N; use[t] : 0 <= t < N }")
    member = Member(tuple((n, var("t")) for n in names))
    return Schedule(Domain(domain, Band((member,), Sequence(tuple(Filter((n,)) for n in names)))))


TOUCHES = {
    "load": (frozenset(["global"]), frozenset(["staging"])),
    "store": (frozenset(["staging"]), frozenset(["shared"])),
    "use": (frozenset(["shared"]), frozenset()),
}


def test_prefetch_puts_the_use_between_load_and_store(pipeline):
    moved = prefetch(pipeline, (0,), {"load": -1, "store": -1}, (0, 2, 1), TOUCHES)
    assert "load[t] → [t - 1]" in str(moved)
    assert [f.statements[0] for f in moved.node((0, 0)).children] == ["load", "use", "store"]


def test_prefetching_the_store_before_the_use_is_refused(pipeline):
    with pytest.raises(IllegalTransformation, match="store in iteration 1|use in iteration 0"):
        prefetch(pipeline, (0,), {"load": -1, "store": -1}, (0, 1, 2), TOUCHES)


def test_shifting_the_store_alone_is_refused(pipeline):
    with pytest.raises(IllegalTransformation, match="load in iteration 0 must run before store"):
        prefetch(pipeline, (0,), {"store": -1}, (0, 2, 1), TOUCHES)


def test_statements_of_one_child_shift_together(pipeline):
    together = pipeline.replace((0, 0), Sequence((Filter(("load", "store")), Filter(("use",)))))
    with pytest.raises(IllegalTransformation, match="load in iteration 0 must run before store"):
        prefetch(together, (0,), {"store": 1}, (0, 1), TOUCHES)


def test_order_must_be_a_permutation(pipeline):
    with pytest.raises(BadPath):
        prefetch(pipeline, (0,), {}, (0, 0, 1), TOUCHES)
