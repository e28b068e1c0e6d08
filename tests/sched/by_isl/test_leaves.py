"""`AstBuild.set_create_leaf`: where it asks is what isl says, by islpy; what is made inside runs in its order."""

import pytest

import polyvolta.isl as isl
from tests.sched.by_isl.running import runs

INNER = "{ S[i, j] -> [j, 0]; T[i] -> [-i, 1] }"
CASES = [
    "{ S[i, j] -> [i, j] : 0 <= i < 5 and 0 <= j <= i }",
    "{ S[i, j] -> [i] : 0 <= i < 5 and 0 <= j <= i }",
    "{ S[i, j] -> [0] : 0 <= i < 5 and 0 <= j <= i; T[i] -> [1] : 0 <= i < 3 }",
    "{ S[i, j] -> [i, 0] : 0 <= i < 5 and 0 <= j <= i; T[i] -> [i, 1] : 0 <= i < 5 }",
    "{ S[i, j] -> [i] : 0 <= i < 5 and 0 <= j <= i; T[i] -> [i] : 0 <= i < 9 }",
    "{ S[i, j] -> [3i] : 0 <= i < 5 and 2 <= j <= i + 2 and i mod 2 = 0; T[i] -> [i + 2] : 0 <= i < 9 }",
    "{ S[i, j] -> [4*floor((i + j)/4)] : 0 <= i < 5 and 0 <= j < 7; T[i] -> [i] : 3 <= i < 9 }",
]
TREES = [
    """{ domain: "{ S[i, j] : 0 <= i < 4 and 0 <= j <= i; T[i] : 0 <= i < 4 }", child: { sequence: [
        { filter: "{ S[i, j] }", child: { schedule: "[{ S[i, j] -> [(i)] }]" } }, { filter: "{ T[i] }" } ] } }""",
    """{ domain: "{ S[i, j] : 0 <= i < 4 and 0 <= j <= i; T[i] : 0 <= i < 4 }", child: {
        schedule: "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }]", child: { mark: "inside", child: { sequence: [
        { filter: "{ T[i] }" }, { filter: "{ S[i, j] }" } ] } } } }""",
    """{ domain: "{ T[i] : 0 <= i < 4 }", child: { schedule: "[{ T[i] -> [(i)] }]", child: { sequence: [
        { filter: "{ T[i] : i mod 2 = 0 }" }, { filter: "{ T[i] : i mod 2 = 1 }" } ] } } }""",
    """{ domain: "{ S[i, j] : 0 <= i < 4 and 0 <= j < 4 }", child: { schedule: "[{ S[i, j] -> [(i)] }]", child: {
        sequence: [ { filter: "{ S[i, j] : i mod 2 = 0 }", child: { schedule: "[{ S[i, j] -> [(j)] }]" } },
        { filter: "{ S[i, j] : i mod 2 = 1 }", child: { schedule: "[{ S[i, j] -> [(j)] }]" } } ] } } }""",
]


def made(build, text, lib=isl):
    if text in TREES:
        return build.node_from_schedule(lib.Schedule(text))
    return build.node_from_schedule_map(lib.UnionMap(text))


def asked(lib, text):
    """The schedule of each leaf, and the space, as texts."""
    seen = []

    def leaf(build):
        here = build.get_schedule()
        seen.append((str(here), str(build.get_schedule_space()).replace("{ ", "").replace(" }", "")))
        return build.node_from_schedule_map(here.range_product(lib.UnionMap(INNER)))

    build, _handle = lib.AstBuild.from_context(lib.Set("{ : }")).set_create_leaf(leaf)
    return seen, made(build, text, lib)


@pytest.mark.parametrize("text", [*CASES, *TREES])
def test_leaves_are_those_that_isl_has(text):
    seen, _ = asked(isl, text)
    wanted, _ = asked(pytest.importorskip("islpy"), text)
    assert [space for _, space in seen] == [space for _, space in wanted]
    for (here, _), (there, _) in zip(seen, wanted, strict=True):
        assert isl.UnionMap(here).is_equal(isl.UnionMap(there)), (here, there)


@pytest.mark.parametrize("text", [*CASES, *TREES])
def test_what_is_made_inside_runs_in_its_order(text):
    _, loops = asked(isl, text)
    times = isl.Schedule(text).to_map() if text in TREES else isl.UnionMap(text)
    ran = [(name, tuple(args)) for _, _, name, args in runs(loops)]
    last = None
    for name, args in ran:
        instance = isl.Set(f"{{ {name}[{', '.join(map(str, args))}] }}")
        (outer,), (inner,) = instance.apply(times).points(), instance.apply(isl.UnionMap(INNER)).points()
        now = (*outer, *inner)
        assert last is None or last <= now or text in TREES and last[: len(outer)] <= outer
        last = now
    assert len({*ran}) == len(ran) == times.domain().count()


def test_callbacks_of_what_is_made_inside_know_the_loops_around():
    seen = []

    def note(node, build):
        seen.append((node.to_C_str().strip(), build.get_schedule(), str(build.get_schedule_space())))
        access = isl.PwMultiAff("{ S[i, j] -> A[i + j, i] }")
        instance = isl.PwMultiAff.from_map(isl.Map.from_union_map(build.get_schedule()).reverse())
        element = build.access_from_pw_multi_aff(access.pullback_pw_multi_aff(instance))
        return isl.AstNode.user_from_expr(element)

    def leaf(build):
        inside, _handle = build.set_at_each_domain(note)
        return inside.node_from_schedule_map(build.get_schedule().range_product(isl.UnionMap("{ S[i, j] -> [-j] }")))

    build, _handle = isl.AstBuild.alloc().set_create_leaf(leaf)
    loops = build.node_from_schedule_map(isl.UnionMap("[n] -> { S[i, j] -> [2i] : 0 <= i < n and 0 <= j < i }"))
    ((text, here, space),) = seen
    assert text == "S(c0 / 2, -c1);" and space == "[[c0] -> [c1]]"
    assert here.is_equal(isl.UnionMap("[n] -> { S[i, j] -> [[2i] -> [-j]] : 0 <= i < n and 0 <= j < i }"))
    wanted = "for (int c0 = 2; c0 < 2 * n - 1; c0 += 2)\n  for (int c1 = -c0 / 2 + 1; c1 <= 0; c1 += 1)\n"
    assert loops.to_C_str() == wanted + "    A[c0 / 2 - c1][c0 / 2];\n"


def test_loops_inside_have_names_of_their_own():
    def leaf(build):
        return build.node_from_schedule_map(
            build.get_schedule().range_product(isl.UnionMap("[c2] -> { S[i, j] -> [j] }"))
        )

    build, _handle = isl.AstBuild.alloc().set_create_leaf(leaf)
    text = "[c1] -> { S[i, j] -> [i] : 0 <= i < c1 and 0 <= j < i }"
    assert "for (int c1_ = 0; c1_ < c0; c1_ += 1)" in build.node_from_schedule_map(isl.UnionMap(text)).to_C_str()
    named = build.set_iterators(["x", "y"]).node_from_schedule_map(isl.UnionMap(text)).to_C_str()
    assert "for (int x = 1; x < c1; x += 1)" in named and "for (int y = 0; y < x; y += 1)\n    S(x, y);" in named


def test_what_makes_no_leaf_is_refused():
    text = CASES[1]
    for leaf, said in (
        (lambda build: None, "returns an AstNode"),
        (lambda build: build.node_from_schedule_map(build.get_schedule()), "pairs"),
        (lambda build: build.node_from_schedule_map(isl.UnionMap("{ S[i, j] -> [[i, j] -> [j]] }")), "pairs"),
    ):
        build, _handle = isl.AstBuild.alloc().set_create_leaf(leaf)
        with pytest.raises(isl.Error, match=said):
            made(build, text)
