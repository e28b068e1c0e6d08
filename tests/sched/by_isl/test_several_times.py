"""Relations that run an instance at several times, as isl's schedule maps may."""

from itertools import product

import pytest

import polyvolta.isl as isl
from polyvolta.sched.errors import BadSchedule
from tests.sched.by_isl.running import runs

ATOMIC = "{ [i, 0] -> separation_class[[1] -> [0]] : 1 <= i <= 62; [i, 0] -> atomic[1] }"
SEPARATE = "{ [i, 0] -> separate[1] : 1 <= i <= 62; [i, 0] -> atomic[1] : i <= 10 or i >= 20 }"
RELATIONS = [
    ("{ sync[] -> [i, 0] : 0 <= i <= 64 }", ATOMIC),  # isl's tests atomic3 and atomic4
    ("{ sync[] -> [i, 0] : 0 <= i <= 64 }", SEPARATE),
    ("{ S[i] -> [i, 1] : 0 <= i < 7; sync[] -> [i, 0] : i mod 3 = 0 and 0 <= i < 7 }", "{ }"),
    ("{ T[j] -> [i, 2, j] : 0 <= j <= i < 5; T[j] -> [2j] : 0 <= j < 5; U[] -> [3] }", "{ [i, j, k] -> unroll[2] }"),
    ("{ [S[i] -> A[j]] -> [j, k] : 0 <= i <= k < j + 2 and 0 <= j < 4; R[i] -> [i, i] : 0 <= i < 5 }", "{ }"),
]


def of_points(text):
    """(time, name, instance) of all pairs within a box, tried one by one by islpy, in the order of their times."""
    islpy = pytest.importorskip("islpy")
    found = []
    islpy.UnionMap(text).foreach_map(lambda m: found.extend(_pairs(islpy, m)))
    return sorted(found)


def _pairs(islpy, relation):
    kinds = islpy.dim_type
    n, width = relation.dim(kinds.in_), relation.dim(kinds.out)
    name = relation.get_tuple_name(kinds.in_) if relation.has_tuple_name(kinds.in_) else "S_A"
    pairs = relation.wrap().flatten()
    for point in product(range(9 if n else 70), repeat=n):
        here = pairs
        for k, value in enumerate(point):
            here = here.fix_val(islpy.dim_type.set, k, islpy.Val(value))
        times = []
        here.foreach_point(lambda p, times=times: times.append(p))
        for p in times:
            time = [p.get_coordinate_val(kinds.set, n + k).to_python() for k in range(width)]
            yield (*time, *[0] * (3 - width)), name, list(point)


@pytest.mark.parametrize(("text", "options"), RELATIONS)
def test_an_instance_runs_at_each_of_its_times(text, options):
    build = isl.AstBuild.alloc().set_options(isl.UnionMap(options))
    ran = [(name, args) for _, _, name, args in runs(build.node_from_schedule_map(isl.UnionMap(text)))]
    wanted = of_points(text)
    assert sorted(ran) == sorted((name, args) for _, name, args in wanted)
    times = {}
    for time, name, args in wanted:
        times.setdefault((name, *args), []).append(time)
    in_turn = [times[name, *args].pop(0) for name, args in ran]
    assert in_turn == sorted(in_turn)


def test_callbacks_see_the_instances_as_they_are():
    seen = []

    def keep(node, build):
        seen.append(build.get_schedule())
        return node

    build, _ = isl.AstBuild.alloc().set_at_each_domain(keep)
    build.node_from_schedule_map(isl.UnionMap("{ sync[i] -> [j] : 0 <= i < 3 and i <= j < 4 }"))
    assert len(seen) == 1
    assert seen[0].is_equal(isl.UnionMap("{ sync[i] -> [j, i] : 0 <= i < 3 and i <= j < 4 }"))


def test_leaves_are_of_instances_with_one_time():
    build, _ = isl.AstBuild.alloc().set_create_leaf(lambda build: None)
    with pytest.raises(BadSchedule, match="one time each"):
        build.node_from_schedule_map(isl.UnionMap("{ sync[] -> [i] : 0 <= i < 4 }"))
