"""Transformations: what they print before and after, what they keep, and what they refuse whatever the dependences."""

from dataclasses import replace

import pytest

from polyvolta.sched import Band, Context, Domain, Extension, Filter, Guard, Leaf, Mark, Member, Schedule, Sequence
from polyvolta.sched import passes as p
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import BadPath, BadSchedule, BadTile, IllegalTransformation
from polyvolta.sched.passes.common.legal import reflagged
from polyvolta.sched.passes.common.places import member_at
from polyvolta.sets import Map, Set, UnknownName, aff, var

i, j, k = var("i"), var("j"), var("k")


def band(statements, *exprs, child=None, permutable=False, coincident=()):
    members = tuple(Member(tuple((s, aff(e)) for s in statements), n in coincident) for n, e in enumerate(exprs))
    return Band(members, Leaf() if child is None else child, permutable)


@pytest.fixture
def matmul():
    domain = Set("[M, N, K] -> { S[i, j, k] : 0 <= i < M and 0 <= j < N and 0 <= k < K }")
    return Schedule(Domain(domain, band("S", i, j, k, permutable=True, coincident=(0, 1))))


@pytest.fixture
def pair():
    """S and T in one loop, T after S in each iteration and needing what S did one iteration before, too."""
    domain = Set("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }")
    loop = band("ST", i, child=Sequence((Filter(("S",)), Filter(("T",)))))
    both = "[N] -> {{ S[i] -> T[{}] : 0 <= i < N and {} < N }}"
    found = tuple(Dependence("RAW", "A", "S", "T", Map(both.format(e, e))) for e in ("i", "i + 1"))
    tree = Schedule(Domain(domain, loop), found)
    return reflagged(tree, (0,))


def lines(schedule):
    return str(schedule).splitlines()[len(schedule.domain.parts) :]


def test_tile(matmul):
    assert lines(p.tile(matmul, (0,), (4, 8, 2))) == [
        "  BAND: S[i, j, k] → [⌊i/4⌋, ⌊j/8⌋, ⌊k/2⌋]",
        "    BAND: S[i, j, k] → [i - 4⌊i/4⌋, j - 8⌊j/8⌋, k - 2⌊k/2⌋]",
    ]


def test_tiling_by_a_tiles_own_extent_leaves_zero(matmul):
    twice = p.tile(p.tile(matmul, (0,), (4, 8, 2)), (0, 0), (4, 4, 2))
    assert lines(twice)[1] == "    BAND: S[i, j, k] → [0, ⌊j/4⌋ - 2⌊j/8⌋, 0]"


def test_tiles_and_points_can_be_marked(matmul):
    assert lines(p.tile(matmul, (0,), (4, 8, 2), ("tiles", "points"))) == [
        "  MARK: tiles",
        "    BAND: S[i, j, k] → [⌊i/4⌋, ⌊j/8⌋, ⌊k/2⌋]",
        "      MARK: points",
        "        BAND: S[i, j, k] → [i - 4⌊i/4⌋, j - 8⌊j/8⌋, k - 2⌊k/2⌋]",
    ]


@pytest.mark.parametrize("sizes", [(4, 4), (0, 4, 4), (4, -1, 4), (4, 4.0, 4), (True, 4, 4)])
def test_bad_tile_sizes(matmul, sizes):
    with pytest.raises(BadTile, match="<-- here"):
        p.tile(matmul, (0,), sizes)


def test_strip_mining_as_the_paper_does_and_in_place(matmul):
    warp = p.tile(p.tile(matmul, (0,), (128, 128, 32)), (0, 0), (64, 64, 32))
    assert p.strip_mine(warp, (0, 0, 0), {"k": 8}).root == p.tile(warp, (0, 0, 0), (64, 64, 8)).root or lines(
        p.strip_mine(warp, (0, 0, 0), {"k": 8})
    ) == lines(p.tile(warp, (0, 0, 0), (64, 64, 8)))
    assert lines(p.strip_mine(matmul, (0,), {"k": 8}, nested=False)) == [
        "  BAND: S[i, j, k] → [i, j, ⌊k/8⌋, k - 8⌊k/8⌋]"
    ]


def test_without_dependences_the_flags_decide(matmul):
    stuck = matmul.replace((0,), replace(matmul.band((0,)), permutable=False))
    for refused in (
        lambda: p.tile(stuck, (0,), (4, 4, 4)),
        lambda: p.strip_mine(stuck, (0,), {0: 4}),
        lambda: p.interchange(stuck, (0,), (1, 0, 2)),
        lambda: p.skew(stuck, (0,), 0, 1),
        lambda: p.skew(matmul, (0,), 0, 1, -1),
        lambda: p.reverse(matmul, (0,), 2),
        lambda: p.map_members(matmul, (0,), {2: "blockIdx.z"}),
        lambda: p.sink(p.split(matmul, (0,), 1).replace((0,), band("S", i, child=band("S", j, k))), (0,)),
    ):
        with pytest.raises(IllegalTransformation, match="<-- here"):
            refused()
    for done in (
        p.interchange(matmul, (0,), ("k", "i", "j")),
        p.skew(stuck, (0,), 1, 0, -1),
        p.skew(matmul, (0,), 0, 1, 1),
        p.reverse(matmul, (0,), 1),
        p.map_members(matmul, (0,), {"i": "blockIdx.y"}),
        p.map_members(matmul, (0,), {"k": "warpIdx_z"}, reduction="C"),
    ):
        assert done.dependences is None


def test_distribution_without_dependences_wants_parallel_members(pair):
    bare = replace(pair, dependences=None)
    with pytest.raises(IllegalTransformation, match="carries its dependences"):
        p.distribute(bare.replace((0,), replace(bare.band((0,)), members=band("ST", i).members)), (0,))


def test_split(matmul):
    assert lines(p.split(matmul, (0,), 2)) == ["  BAND: S[i, j, k] → [i, j]", "    BAND: S[i, j, k] → [k]"]
    for where in (0, 3, -1, True, 1.0):
        with pytest.raises(BadPath):
            p.split(matmul, (0,), where)


def test_splitting_a_skewed_band_finds_the_wavefront_parallel():
    """Gauss-Seidel's distances (1, 0) and (0, 1): along i + j all that is left has distance 0."""
    domain = Set("{ S[i, j] : 0 <= i < 9 and 0 <= j < 9 }")
    found = [f"{{ S[i, j] -> S[{e}] : 0 <= i < 8 and 0 <= j < 8 }}" for e in ("i + 1, j", "i, j + 1")]
    start = Schedule(Domain(domain, band("S", i, j)), tuple(Dependence("RAW", "A", "S", "S", Map(t)) for t in found))
    skewed = p.skew(reflagged(start, (0,)), (0,), "i", "j")
    assert skewed.band((0,)).permutable
    assert [m.coincident for m in skewed.band((0,)).members] == [False, False]
    inner = p.split(skewed, (0,), 1)
    assert [m.coincident for m in inner.band((0, 0)).members] == [True]
    assert lines(p.map_members(inner, (0, 0), {"j": "threadIdx.x"})) == [
        "  BAND: S[i, j] → [i + j]",
        "    BAND: S[i, j] → [threadIdx.x]",
    ]


def test_shifting_makes_fusion_legal(pair):
    """T needs S of its own iteration and of the one before: it may run in the same one, but no earlier."""
    apart = p.distribute(pair, (0,))
    assert lines(apart) == ["  SEQUENCE", "    FILTER: S[i]", "      BAND: S[i] → [i]", "    FILTER: T[i]",
                            "      BAND: T[i] → [i]"]  # fmt: skip
    early = p.shift(apart, (0, 1, 0), 0, {"T": -1})
    with pytest.raises(IllegalTransformation, match=r"fusing breaks a dependence: S\[0\] must run before T\[0\]"):
        p.fuse(early, (0,))
    assert p.fuse(apart, (0,)) == pair
    assert lines(p.fuse(p.shift(apart, (0, 1, 0), 0, {"T": "N"}), (0,)))[:2] == ["  BAND: S[i] → [i];",
                                                                              "        T[i] → [N + i]"]  # fmt: skip


def test_shift_knows_its_statements_and_parameters(pair):
    with pytest.raises(UnknownName, match="did you mean 'S'"):
        p.shift(pair, (0,), 0, {"s": 1})
    with pytest.raises(UnknownName, match="iterator of S"):
        p.shift(pair, (0,), 0, {"S": "i"})


def test_fusion_of_some_members():
    domain = Set("[K] -> { S[i, k] : 0 <= i < 9 and 0 <= k < K; T[i] : 0 <= i < 9 }")
    apart = Sequence((Filter(("S",), band("S", i, k)), Filter(("T",), band("T", i))))
    assert lines(p.fuse(Schedule(Domain(domain, apart), ()), (0,))) == [
        "  BAND: S[i, k] → [i];",
        "        T[i] → [i]",
        "    SEQUENCE",
        "      FILTER: S[i, k]",
        "        BAND: S[i, k] → [k]",
        "      FILTER: T[i]",
    ]
    with pytest.raises(BadPath, match="cannot fuse 2 members: a band has 1"):
        p.fuse(Schedule(Domain(domain, apart), ()), (0,), 2)
    with pytest.raises(BadPath, match="child 1 of the sequence has no band"):
        p.fuse(Schedule(Domain(domain, Sequence((apart.children[0], Filter(("T",))))), ()), (0,))


def test_fusion_needs_one_expression_for_a_statement_and_one_name():
    domain = Set("{ S[i] : 0 <= i < 9 }")
    low, high = (Set(f"{{ S[i] : {c} }}") for c in ("i < 4", "i >= 4"))
    halves = Sequence((Filter(("S",), band("S", i), low), Filter(("S",), band("S", i + 1), high)))
    with pytest.raises(IllegalTransformation, match="S runs in two children"):
        p.fuse(Schedule(Domain(domain, halves), ()), (0,))
    same = Sequence((Filter(("S",), band("S", i), low), Filter(("S",), band("S", i), high)))
    assert lines(p.fuse(Schedule(Domain(domain, same), ()), (0,)))[0] == "  BAND: S[i] → [i]"
    one = replace(same.children[0].child.members[0], name="x")
    named = Sequence((replace(same.children[0], child=Band((one,))), same.children[1]))
    with pytest.raises(IllegalTransformation, match="mapped to x"):
        p.fuse(Schedule(Domain(domain, named), ()), (0,))


def test_hoisting_needs_a_sequence(matmul):
    with pytest.raises(BadPath, match="no sequence to hoist"):
        p.hoist(matmul, (0,))
    with pytest.raises(BadPath, match="cannot keep 4"):
        p.hoist(matmul.replace((0, 0), Sequence((Filter(("S",)),))), (0,), 4)


def test_hoisting_over_three_statements_and_a_nested_sequence():
    domain = Set("{ S[i, j] : 0 <= i < 4 and 0 <= j < 4; T[i, j] : 0 <= i < 4 and 0 <= j < 4; U[i, j] : i = 0 = j }")
    inner = Sequence((Filter(("T",)), Filter(("U",))))
    tree = band("STU", i, j, child=Sequence((Filter(("S",)), Filter(("T", "U"), inner))))
    assert lines(p.hoist(Schedule(Domain(domain, tree), ()), (0,), 1)) == [
        "  BAND: S[i, j] → [i];",
        "        T[i, j] → [i];",
        "        U[i, j] → [i]",
        "    SEQUENCE",
        "      FILTER: S[i, j]",
        "        BAND: S[i, j] → [j]",
        "      FILTER: T[i, j]; U[i, j]",
        "        BAND: T[i, j] → [j];",
        "              U[i, j] → [j]",
        "          SEQUENCE",
        "            FILTER: T[i, j]",
        "            FILTER: U[i, j]",
    ]


def test_members_are_told_by_position_text_iterator_or_name(matmul):
    tiled = p.map_members(p.tile(matmul, (0,), (128, 128, 32)), (0,), {0: "blockIdx.y"})
    refs = (2, "k", "⌊k/32⌋", "floor(k/32)")
    assert [member_at(tiled, (0,), m) for m in refs] == [2] * 4
    assert member_at(tiled, (0,), "blockIdx.y") == 0
    for wrong in (3, -1, True, 1.5, "l", "blockIdx.z"):
        with pytest.raises(BadPath, match="<-- here"):
            member_at(tiled, (0,), wrong)
    skewed = p.skew(matmul, (0,), "j", "i")
    with pytest.raises(BadPath, match="2 members of the band are called 'i'|no member") as twice:
        member_at(p.skew(skewed, (0,), "k", "i"), (0,), "l")
    assert member_at(skewed, (0,), "i") == 0
    assert "BAND" in str(twice.value)


def test_a_name_is_one_index(matmul):
    once = p.map_members(p.tile(matmul, (0,), (4, 4, 4)), (0,), {0: "blockIdx.x"})
    for again in (
        lambda: p.map_members(once, (0,), {1: "blockIdx.x"}),
        lambda: p.map_members(once, (0, 0), {1: "blockIdx.x"}),
        lambda: p.map_members(p.map_members(once, (0, 0), {0: "t"}), (0,), {1: "t"}),
    ):
        with pytest.raises(IllegalTransformation, match="is taken"):
            again()


def test_mapped_members_are_loops_no_more(matmul):
    mapped = p.map_members(matmul, (0,), {0: "t"})
    for op in (
        lambda: p.tile(mapped, (0,), (2, 2, 2)),
        lambda: p.strip_mine(mapped, (0,), {0: 2}),
        lambda: p.skew(mapped, (0,), 0, 1),
        lambda: p.reverse(mapped, (0,), 0),
        lambda: p.scale(mapped, (0,), {0: 2}),
    ):
        with pytest.raises(IllegalTransformation, match="mapped to t"):
            op()
    assert lines(p.strip_mine(mapped, (0,), {2: 2}))[1] == "    BAND: S[i, j, k] → [t, j, k - 2⌊k/2⌋]"


SIXTEENS = Set("[M, N, K] -> { : M mod 16 = 0 and N mod 16 = 0 and K mod 16 = 0 }")


def test_contract_names_what_it_does_not_know(matmul):
    assert "16⌊i/16⌋ = i" in str(p.contract(matmul, "S", {"i": 16}, SIXTEENS))
    with pytest.raises(UnknownName, match="no iterator 'l'"):
        p.contract(matmul, "S", {"l": 4})
    with pytest.raises(UnknownName, match="did you mean 'S'"):
        p.contract(matmul, "s", {"i": 4})
    with pytest.raises(BadTile):
        p.contract(matmul, "S", {"i": 0})


def test_contract_refuses_tiles_that_are_not_full(matmul):
    with pytest.raises(IllegalTransformation, match="reaches beyond the domain"):
        p.contract(matmul, "S", {"i": 16})
    with pytest.raises(IllegalTransformation, match="reaches beyond the domain"):
        p.contract(matmul, "S", {"k": 32}, SIXTEENS)


def test_contract_refuses_tiles_across_an_outer_band(matmul):
    tiled = p.tile(matmul, (0,), (24, 16, 16))
    with pytest.raises(IllegalTransformation, match="spans several values"):
        p.contract(tiled, "S", {"i": 16}, SIXTEENS)
    assert p.contract(tiled, "S", {"i": 8}, SIXTEENS) != tiled


def test_paths_that_lead_nowhere(matmul):
    with pytest.raises(BadPath, match="leaves the tree at step 2"):
        matmul.node((0, 0, 0))
    with pytest.raises(BadPath, match="no Band"):
        p.tile(matmul, (), (1, 1, 1))
    with pytest.raises(BadPath):
        p.shift(matmul, (0,), 3, {"S": 1})
    with pytest.raises(BadPath, match="no Sequence"):
        p.reorder(matmul, (0,), (0,))
    with pytest.raises(BadPath, match="no Mark"):
        p.remove_mark(matmul, (0,))
    with pytest.raises(BadPath, match="is the root"):
        p.insert_mark(matmul, (), "top")
    with pytest.raises(BadPath, match="is skewed|by itself"):
        p.skew(matmul, (0,), 1, 1)
    with pytest.raises(BadPath, match="no loop type"):
        p.set_loop_type(matmul, (0,), 0, "unrol")
    with pytest.raises(BadPath, match="named twice"):
        p.interchange(matmul, (0,), (0, 0, 1))


def test_nothing_stands_between_a_sequence_and_its_filters(pair):
    for op in (
        lambda: p.insert_mark(pair, (0, 0, 0), "here"),
        lambda: p.insert_filter(pair, (0, 0, 0), "S"),
        lambda: p.insert_context(pair, (0, 0, 0), Set("[N] -> { [c] }")),
    ):
        with pytest.raises(BadPath, match=r"insert below the filter, at \[0, 0, 0, 0\]"):
            op()


def test_parts_take_each_instance_once(pair):
    for parts, message in (
        (["S"], "T would be lost"),
        (["S", ("S", "T")], "S would run twice"),
        ([Set("{ S[i] : i > 3 }"), "T"], r"would be lost.*S\["),
        ([Set("{ S[i] : i > 3 }"), Set("{ S[i] : i < 5 }"), "T"], r"would run twice.*S\["),
    ):
        with pytest.raises(BadSchedule, match=message):
            p.insert_sequence(pair, (0,), parts)
    with pytest.raises(UnknownName, match="did you mean 'T'"):
        p.order_before(pair, (0,), "t")
    with pytest.raises(BadSchedule, match="T would be lost"):
        p.insert_filter(pair, (0,), "S")


def test_a_filter_may_narrow_on_purpose(pair):
    mine = Set("[t] -> { S[i] : i mod 32 = t; T[i] : i mod 32 = t }")
    new = p.insert_filter(pair, (0,), mine, narrow=True)
    assert new.node((0,)).instances == mine
    assert new.node((0, 0)) == pair.node((0,))


def test_inserted_parts_join_a_sequence_below():
    tree = Schedule(Domain(Set("{ S[]; T[]; U[] }"), Sequence(tuple(Filter((s,)) for s in "STU"))), ())
    assert lines(p.order_before(tree, (0,), "U")) == [
        "  SEQUENCE",
        "    FILTER: U[]",
        "    FILTER: S[]",
        "    FILTER: T[]",
    ]


def test_extensions_start_from_the_members_above_and_add_new_statements(pair):
    extension = Map("{ [c] -> copy[c, e] : 0 <= e < 4 }")
    tree = p.insert_extension(pair, (0, 0), extension, {"copy": ["c + e"]}, before=False)
    assert lines(tree)[2:] == [
        "    EXTENSION: [c] → copy[c, e] : 0 ≤ e ≤ 3",
        "      SEQUENCE",
        "        FILTER: S[i]",
        "        FILTER: T[i]",
        "        FILTER: copy[c, e]",
        "          BAND: copy[c, e] → [c + e]",
    ]
    tree.check_structure()
    for extension, given, error in (
        ("{ [] -> copy[e] : e = 0 }", None, BadSchedule),
        ("{ [c] -> S[c] }", None, BadSchedule),
        ("{ [c] -> [c] }", None, BadSchedule),
        ("{ [c] -> copy[c] }", {"cpoy": ["c"]}, UnknownName),
        ("{ [c] -> x[c]; [c] -> y[c] }", {"x": ["c"]}, BadSchedule),
    ):
        with pytest.raises(error):
            p.insert_extension(pair, (0, 0), Map(extension), given)


def test_contexts_and_guards_speak_of_the_members_above(pair):
    known = p.insert_context(pair, (0, 0), Set("[N] -> { : N mod 32 = 0 }"))
    assert isinstance(known.node((0, 0)), Context)
    guarded = p.insert_guard(pair, (0, 0), Set("[N] -> { [c] : 0 <= c < N }"))
    assert isinstance(guarded.node((0, 0)), Guard)
    known.check_structure()
    guarded.check_structure()
    with pytest.raises(BadSchedule, match="false for an instance"):
        p.insert_guard(pair, (0, 0), Set("{ [c] : c > 0 }"))
    with pytest.raises(BadSchedule, match="over 1 members"):
        p.insert_context(pair, (0, 0), Set("{ [a, b] }"))


@pytest.fixture
def anchored():
    """BAND [i, j] with an isolated part, above an EXTENSION, a CONTEXT and a GUARD over (i, j)."""
    domain = Set("{ S[i, j] : 0 <= i < 6 and 0 <= j < 6 }")
    box = Set("{ [a, b] : 0 <= a < 6 and 0 <= b < 6 }")
    below = Extension(Map("{ [a, b] -> X[a, b, e] : 0 <= e < 2 }"), Context(box, Guard(box, Leaf())))
    tree = band("S", i, j, child=below, permutable=True, coincident=(0, 1))
    return Schedule(Domain(domain, replace(tree, isolate=Set("{ [a, b] : 2 <= a < 4 and b < 3 }"))))


@pytest.mark.parametrize(
    "op, place",
    [
        (lambda t: p.interchange(t, (0,), (1, 0)), lambda a, b: (b, a)),
        (lambda t: p.skew(t, (0,), 0, 1, 2), lambda a, b: (a + 2 * b, b)),
        (lambda t: p.reverse(t, (0,), 1), lambda a, b: (a, -b)),
        (lambda t: p.scale(t, (0,), {0: 3}), lambda a, b: (3 * a, b)),
        (lambda t: p.shift(t, (0,), 0, {"S": 5}), lambda a, b: (a + 5, b)),
        (lambda t: p.tile(t, (0,), (2, 3)), lambda a, b: (a // 2, b // 3, a % 2, b % 3)),
        (lambda t: p.strip_mine(t, (0,), {1: 2}, nested=False), lambda a, b: (a, b // 2, b % 2)),
        (lambda t: p.split(t, (0,), 1), lambda a, b: (a, b)),
    ],
)
def test_what_speaks_of_the_members_above_follows_them(anchored, op, place):
    """Guards, contexts, extensions and isolated parts say of the new members what they said of the old."""
    new = op(anchored)
    new.check_structure()
    nodes = {type(n): n for _, n in new.walk()}
    guard = nodes[Guard].guard
    box = {(a, b) for a in range(6) for b in range(6)}
    assert set(guard.points()) == set(nodes[Context].context.points()) == {place(a, b) for a, b in box}
    isolated = next(n.isolate for _, n in new.walk() if isinstance(n, Band) and n.isolate is not None)
    assert set((isolated & guard).points()) == {place(a, b) for a, b in box if 2 <= a < 4 and b < 3}
    added = nodes[Extension].extension.intersect_domain(guard)
    assert set(added.wrap().points()) == {(*place(a, b), a, b, e) for a, b in box for e in (0, 1)}


def test_what_cannot_follow_is_refused(anchored, pair):
    with pytest.raises(IllegalTransformation, match="a node below speaks of"):
        p.sink(p.split(anchored, (0,), 1), (0,))
    copied = p.insert_extension(pair, (0, 0), Map("{ [c] -> copy[c] }"), {"copy": ["0"]})
    with pytest.raises(IllegalTransformation, match="change by statement"):
        p.shift(replace(copied, dependences=()), (0,), 0, {"S": 1})
    with pytest.raises(IllegalTransformation, match="Extension"):
        p.order_before(replace(copied, dependences=()), (0,), "T")


def test_loop_types_and_unrolling(matmul):
    wanted = p.unroll(p.set_loop_type(matmul, (0,), ("i", "j"), "separate"), (0,), "k")
    assert [m.loop_type for m in wanted.band((0,)).members] == ["separate", "separate", "default"]
    assert [m.unroll for m in wanted.band((0,)).members] == [False, False, True]
    tiled = p.tile(wanted, (0,), (4, 4, 4))
    assert [m.unroll for m in tiled.band((0,)).members] == [False] * 3
    assert [m.unroll for m in tiled.band((0, 0)).members] == [False, False, True]


def test_marks_are_found_again(matmul):
    marked = p.insert_mark(matmul, (0,), "kernel")
    assert marked.find(mark="kernel") == [(0,)]
    assert isinstance(marked.node((0,)), Mark)


@pytest.fixture
def pipeline():
    names = ("load", "store", "use")
    domain = Set("[N] -> { load[t] : 0 <= t < N; store[t] : 0 <= t < N; use[t] : 0 <= t < N }")
    return Schedule(Domain(domain, band(names, "t", child=Sequence(tuple(Filter((n,)) for n in names)))))


TOUCHES = {
    "load": (frozenset(["global"]), frozenset(["staging"])),
    "store": (frozenset(["staging"]), frozenset(["shared"])),
    "use": (frozenset(["shared"]), frozenset()),
}


def test_prefetch_puts_the_use_between_load_and_store(pipeline):
    moved = p.prefetch(pipeline, (0,), {"load": -1, "store": -1}, (0, 2, 1), TOUCHES)
    assert "load[t] → [t - 1]" in str(moved)
    assert [f.statements[0] for f in moved.node((0, 0)).children] == ["load", "use", "store"]


def test_prefetching_the_store_before_the_use_is_refused(pipeline):
    with pytest.raises(IllegalTransformation, match="store in iteration 1|use in iteration 0"):
        p.prefetch(pipeline, (0,), {"load": -1, "store": -1}, (0, 1, 2), TOUCHES)


def test_shifting_the_store_alone_is_refused(pipeline):
    with pytest.raises(IllegalTransformation, match="load in iteration 0 must run before store"):
        p.prefetch(pipeline, (0,), {"store": -1}, (0, 2, 1), TOUCHES)


def test_statements_of_one_child_shift_together(pipeline):
    together = pipeline.replace((0, 0), Sequence((Filter(("load", "store")), Filter(("use",)))))
    with pytest.raises(IllegalTransformation, match="load in iteration 0 must run before store"):
        p.prefetch(together, (0,), {"store": 1}, (0, 1), TOUCHES)


def test_order_must_be_a_permutation(pipeline):
    with pytest.raises(BadPath):
        p.prefetch(pipeline, (0,), {}, (0, 0, 1), TOUCHES)


def test_prefetching_statements_with_dependences_is_checked_against_them(pipeline):
    nothing = {s: (frozenset(), frozenset()) for s in TOUCHES}
    uses = Dependence("RAW", "shared", "store", "use", Map("[N] -> { store[t] -> use[t] : 0 <= t < N }"))
    with pytest.raises(IllegalTransformation, match=r"store\[0\] must run before use\[0\]"):
        p.prefetch(replace(pipeline, dependences=(uses,)), (0,), {"use": -1}, (0, 1, 2), nothing)


@pytest.mark.parametrize("outer, kept", [(True, True), (False, False)])
def test_joining_without_dependences_keeps_flags_only_where_they_surely_hold(outer, kept):
    t = Band((Member((("S", var("t")),), coincident=outer),), permutable=True)
    i = Band((Member((("S", var("i")),), coincident=True),), permutable=True)
    tree = Schedule(Domain(Set("{ S[t, i] : 0 <= t < 4 and 0 <= i < 4 }"), replace(t, child=i)))
    joined = p.join(tree, (0,)).band((0,))
    assert (joined.permutable, joined.members[1].coincident) == (kept, kept)
    assert joined.members[0].coincident == outer


def test_the_points_of_tiles_of_one_are_one():
    """Whatever the dependences along j are, one value has none."""
    tree = Schedule(Domain(Set("{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 }"), band("S", "i", "j", permutable=True)))
    tiled = p.tile(tree, (0,), (4, 1))
    assert str(tiled.band((0,)).schedule("S")) == str((i // 4, j))
    assert [str(e) for e in tiled.band((0, 0)).schedule("S")] == [str(i % 4), "0"]
    assert [m.coincident for m in tiled.band((0, 0)).members] == [False, True]
