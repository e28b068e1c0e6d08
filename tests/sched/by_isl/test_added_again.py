"""A statement that filters drop is added again below them, as overlapped tiles recompute it; beside islpy."""

from itertools import count, takewhile

import pytest

import polyvolta.isl as ours
from tests.sched.by_isl.running import runs

isl = pytest.importorskip("islpy")

DOMAIN = "{ A[i] : 0 <= i < 9; B[i] : 0 <= i < 9 }"


def root(m, domain=DOMAIN):
    return m.Schedule.from_domain(m.UnionSet(domain)).get_root()


def below_a_filter(m):
    node = root(m).child(0).insert_filter(m.UnionSet("{ B[i] }")).child(0)
    node = node.insert_partial_schedule(m.MultiUnionPwAff("[{ B[i] -> [(i)] }]")).child(0)
    return node.graft_before(m.ScheduleNode.from_extension(m.UnionMap("{ [t] -> A[x] : t <= x <= t + 1 }")))


def behind(m):
    node = root(m).child(0).insert_filter(m.UnionSet("{ B[i] }")).child(0)
    node = node.insert_partial_schedule(m.MultiUnionPwAff("[{ B[i] -> [(i)] }]")).child(0)
    return node.graft_after(m.ScheduleNode.from_extension(m.UnionMap("{ [i] -> A[i'] : i' = 2i; [i] -> C[i] }")))


def tiles(m):
    """Tiles of B of 3, before each of which the A's that it needs are computed."""
    node = root(m).child(0).insert_filter(m.UnionSet("{ B[i] }")).child(0)
    times = m.MultiUnionPwAff("[{ B[i] -> [(i)] }]")
    sizes = m.MultiVal.from_val_list(times.get_space(), m.ValList.from_val(m.Val(3)))
    node = node.insert_partial_schedule(times).band_tile(sizes).child(0)
    added = m.UnionMap("{ [t] -> A[x] : t - 1 <= x <= t + 3 and 0 <= x < 9 }")
    return node.graft_before(m.ScheduleNode.from_extension(added))


def beside_its_own(m):
    """A runs in a branch of its own, and again where B does."""
    both = m.UnionSetList.from_union_set(m.UnionSet("{ A[i] }")).add(m.UnionSet("{ B[i] }"))
    node = root(m).child(0).insert_sequence(both)
    node = node.child(0).child(0).insert_partial_schedule(m.MultiUnionPwAff("[{ A[i] -> [(-i)] }]")).ancestor(2)
    node = node.child(1).child(0).insert_partial_schedule(m.MultiUnionPwAff("[{ B[i] -> [(i)] }]")).child(0)
    return node.graft_before(m.ScheduleNode.from_extension(m.UnionMap("{ [t] -> A[a] : t <= a <= t + 1 and a < 9 }")))


TREES = [below_a_filter, behind, tiles, beside_its_own]


def run_c(text):
    """The calls of isl's C of loops, conditions and calls alone."""
    lines, names = [], {"min": min, "max": max, "floord": lambda a, b: a // b, "ran": []}
    for line in text.splitlines():
        indent, said = line[: len(line) - len(line.lstrip())], line.strip().strip("{}").strip().replace("&&", "and")
        if said.startswith("for"):
            start, test, step = said[said.index("(") + 1 : said.rindex(")")].split("; ")
            _, name, _, low = start.split(" ", 3)
            said = f"for {name} in takewhile(lambda {name}: {test}, count({low}, {step.split(' += ')[1]})):"
        elif said:
            said = f"{said}:" if said.startswith("if") else f"ran.append('{said[0]}(' + str({said[2:-2]}) + ')')"
        elif line.strip() == "{":
            said = "if True:"
        lines.append(indent + said)
    exec("\n".join(lines), names | {"takewhile": takewhile, "count": count})
    return names["ran"]


def calls(m, tree):
    """What the loops of a tree run."""
    node = m.AstBuild.from_context(m.Set("{ : }")).node_from_schedule(tree)
    if m is isl:
        return run_c(node.to_C_str())
    return [f"{name}({', '.join(map(str, args))})" for _, _, name, args in runs(node)]


def by_places(ran):
    """Calls of one statement that follow each other, in any order, as instances without a band run."""
    found = []
    for call in ran:
        if found and (found[-1][-1][0] == call[0] or {found[-1][-1][0], call[0]} == {"A", "C"}):
            found[-1].append(call)
        else:
            found.append([call])
    return [sorted(some) for some in found]


@pytest.mark.parametrize("make", TREES, ids=[t.__name__ for t in TREES])
def test_what_is_added_again_runs_where_isls_does(make):
    found, wanted = (by_places(calls(m, make(m).get_schedule())) for m in (ours, isl))
    assert found == wanted and any(call[0] == "A" for some in found for call in some)


@pytest.mark.parametrize("make", TREES, ids=[t.__name__ for t in TREES])
def test_texts_of_both_are_read_and_say_the_same_tree(make):
    tree = make(ours).get_schedule()
    tree.check_structure()
    assert ours.Schedule(str(tree)) == tree == ours.Schedule(str(make(isl).get_schedule()))


def test_times_of_what_is_added_again():
    tree = below_a_filter(ours).get_schedule()
    assert tree.get_map().is_equal(ours.UnionMap("{ B[i] -> [i, 1]; A[x] -> [t, 0] : t <= x <= t + 1 }"))
    node = below_a_filter(ours)
    assert node.get_prefix_schedule_relation().domain().is_equal(ours.UnionSet("{ B[i] : 0 <= i < 9 }"))


def test_what_is_added_has_its_own_band():
    added = "{ [t] -> A[x] : t <= x <= t + 1 }"
    text = """{ domain: "DOMAIN", child: { filter: "{ B[i] }", child: { schedule: "[{ B[i] -> [(i)] }]", child: {
        extension: "ADDED", child: { sequence: [ { filter: "{ A[x] }", child: { schedule: "[{ A[x] -> [(-x)] }]" } },
        { filter: "{ B[i] }" } ] } } } } }""".replace("DOMAIN", DOMAIN).replace("ADDED", added)
    ran = calls(ours, ours.Schedule(text))
    assert ran == [call for i in range(9) for call in (f"A({i + 1})", f"A({i})", f"B({i})")]
    node = root(ours).child(0).insert_filter(ours.UnionSet("{ B[i] }")).child(0)
    node = node.insert_partial_schedule(ours.MultiUnionPwAff("[{ B[i] -> [(i)] }]")).child(0)
    own = ours.ScheduleNode.from_extension(ours.UnionMap(added)).child(0)
    own = own.insert_partial_schedule(ours.MultiUnionPwAff("[{ A[x] -> [(-x)] }]"))
    assert node.graft_before(own.root()).get_schedule() == ours.Schedule(text)


@pytest.mark.parametrize("filtered", ["{ A[i] : i < 2; B[i] }", "{ A[i]; B[i] }"])
def test_what_comes_there_is_not_added_again(filtered):
    for m in (ours, isl):
        node = root(m).child(0).insert_filter(m.UnionSet(filtered)).child(0)
        node = node.insert_partial_schedule(m.MultiUnionPwAff("[{ A[i] -> [(i)]; B[i] -> [(i)] }]")).child(0)
        with pytest.raises(m.Error, match="as another one of the tree|disjoint from current domain"):
            node.graft_before(m.ScheduleNode.from_extension(m.UnionMap("{ [t] -> A[x] : t + 3 <= x <= t + 4 }")))
