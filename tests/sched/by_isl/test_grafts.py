"""Copies around tiles as PPCG puts them there, by the same calls of islpy, which builds the loops of both trees."""

import pytest

import polyvolta.isl as isl
from tests.sched.by_isl.running import runs

islpy = pytest.importorskip("islpy")

INSTANCES = "[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M }"
TIMES = "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]"
READ = "[N, M] -> { [t0, t1] -> read[a, b] : t0 <= a < t0 + 4 and 0 <= a < N and t1 <= b < t1 + 3 and 0 <= b < M }"


def copied(m, guard=None, even=False, sync=False):
    """The tiles with a copy before each, of a band of its own below what is wanted, and marks and conditions around."""
    node = m.Schedule.from_domain(m.UnionSet(INSTANCES)).get_root().child(0)
    node = node.insert_partial_schedule(m.MultiUnionPwAff(TIMES)).band_set_permutable(1)
    sizes = m.MultiVal.zero(node.band_get_space()).set_val(0, m.Val(4)).set_val(1, m.Val(3))
    node = node.band_tile(sizes).child(0).insert_mark(m.Id("thread"))
    graft = m.ScheduleNode.from_extension(m.UnionMap(READ)).child(0)
    graft = graft.insert_partial_schedule(m.MultiUnionPwAff("[{ read[a, b] -> [(b)] }, { read[a, b] -> [(a)] }]"))
    if guard:
        graft = graft.insert_guard(m.Set(guard))
    if even:
        graft = graft.insert_filter(m.UnionSet("{ read[a, b] : (a + b) mod 2 = 0 }"))
    node = node.graft_before(graft.root())
    if sync:
        node = node.graft_after(m.ScheduleNode.from_domain(m.UnionSet("{ sync[] }")))
    tree = node.get_schedule().insert_context(m.Set("[N, M] -> { [] : N > 3 }"))
    return tree.insert_guard(m.Set("[N, M] -> { [] : N mod 2 = 1 or M > 4 }"))


WAYS = [
    {},
    {"guard": "[N, M] -> { [t0, t1] : M > 2 and t0 < 8 }"},
    {"even": True, "sync": True},
    {"guard": "[N, M] -> { [t0, t1] : N > t1 }", "even": True, "sync": True},
]


@pytest.mark.parametrize("wanted", WAYS, ids=str)
def test_grafted_copies_are_those_of_islpy(wanted):
    theirs, ours = copied(islpy, **wanted), copied(isl, **wanted)
    build = islpy.AstBuild.alloc(islpy.DEFAULT_CONTEXT)
    assert build.node_from_schedule(islpy.Schedule(str(ours))).to_C_str() == build.node_from_schedule(theirs).to_C_str()


def by_hand(n, m, guard, even):
    """What the last of the ways runs, loop by loop."""
    if n > 3 and (n % 2 or m > 4):
        for t0 in range(0, n, 4):
            for t1 in range(0, m, 3):
                for b in range(t1, min(t1 + 3, m)):
                    for a in range(t0, min(t0 + 4, n)):
                        if n > t1 and (a + b) % 2 == 0:
                            yield "read", [a, b]
                for i in range(t0, min(t0 + 4, n)):
                    for j in range(t1, min(t1 + 3, m)):
                        yield "S", [i, j]
                yield "sync", []


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 7), (6, 6), (9, 2), (4, 8)])
def test_grafted_copies_run_where_loops_by_hand_have_them(n, m):
    loops = isl.AstBuild.alloc().node_from_schedule(copied(isl, **WAYS[-1]))
    ran = [(name, args) for _, _, name, args in runs(loops, {"N": n, "M": m})]
    assert ran == list(by_hand(n, m, True, True))


def test_grafts_keep_the_primes_of_their_iterators():
    """The band below speaks of j'' and t', which maps made on the way might call otherwise."""
    band = isl.MultiUnionPwAff("[{ S[i] -> [(4*floor(i/4))] }]")
    node = isl.Schedule.from_domain(isl.UnionSet("{ S[i] : 0 <= i < 8 }")).get_root().child(0)
    node = node.insert_partial_schedule(band).child(0)
    graft = isl.ScheduleNode.from_extension(isl.UnionMap("{ [t] -> C[t, j''] : 0 <= j'' < 3 and 0 <= t < 8 }"))
    graft = graft.child(0).insert_partial_schedule(isl.MultiUnionPwAff("[{ C[t, j''] -> [(-j'')] }]"))
    tree = node.graft_before(graft.root())
    graft = isl.ScheduleNode.from_domain(isl.UnionSet("{ D[i, i''] : 0 <= i < 2 and 0 <= i'' < 2 }")).child(0)
    graft = graft.insert_partial_schedule(isl.MultiUnionPwAff("[{ D[i, i''] -> [(i'')] }, { D[i, i''] -> [(i)] }]"))
    loops = isl.AstBuild.alloc().node_from_schedule(tree.graft_after(graft.root()).get_schedule())
    ran = [(name, args) for _, _, name, args in runs(loops)]
    tile = [("D", [0, 0]), ("D", [1, 0]), ("D", [0, 1]), ("D", [1, 1])]
    copies = [[("C", [t, j]) for j in (2, 1, 0)] for t in (0, 4)]
    order = [call for call in ran if call[0] != "S"]
    assert order == [*copies[0], *tile, *copies[1], *tile]


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_graft_at_a_sequence_stands_beside_it(where):
    found = []
    text = """{ domain: "{ S[i] : 0 <= i < 4; T[] }", child: { sequence: [
        { filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]" } }, { filter: "{ T[] }" } ] } }"""
    for m in (isl, islpy):
        node = m.Schedule(text).get_root().child(0)
        graft = m.ScheduleNode.from_extension(m.UnionMap("{ [] -> E[] }"))
        node = node.graft_before(graft) if where == "before" else node.graft_after(graft)
        inside = node.child(0).filter_get_filter()
        loops = m.AstBuild.from_context(m.Set("{ : }")).node_from_schedule(node.get_schedule())
        found.append((node.get_tree_depth(), node.parent().get_child_position(), str(inside), loops.to_C_str()))
    assert found[0] == found[1]
