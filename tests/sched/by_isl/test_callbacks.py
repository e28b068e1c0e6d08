"""Callbacks of an AstBuild; the answers are those that isl gives, typed by hand."""

import itertools

import pytest

import polyvolta.isl as isl
from polyvolta.sets import PolyvoltaError
from tests.sched.by_isl.running import runs

BUILD = isl.AstBuild.from_context(isl.Set("{ : }"))
TREE = """{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N; T[i] : 0 <= i < N }", child: {
    mark: "kernel", child: { schedule: "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }]", child: { sequence: [
    { filter: "{ S[i, j] }", child: { mark: "inner", child: { schedule: "[{ S[i, j] -> [(j)] }]" } } },
    { filter: "{ T[i] }" } ] } } } }"""
TWO = "[N] -> { S[i, j] -> [i, 0, j] : 0 <= i, j < N; T[i] -> [i, 1, 0] : 0 <= i < N }"


def text_of(node=None):
    """A node as C, or the name of a mark."""
    return node.to_C_str().strip() if isinstance(node, isl.AstNode) else str(node or "")


def listening():
    """A build that keeps (what, its text, schedule) of each call of a function, and the list of them."""
    seen, build = [], BUILD

    def at(what, keep):
        def function(*given):
            *node, here = given
            seen.append((what, text_of(*node), here.get_schedule(), here))
            return keep(*given)

        return function

    same = lambda node, here: node  # noqa: E731
    for what, keep in {
        "at_each_domain": same, "after_each_for": same, "after_each_mark": same, "before_each_mark": same,
        "before_each_for": lambda here: isl.Id(f"f{len(seen)}", user=len(seen)),
    }.items():  # fmt: skip
        build, _handle = getattr(build, f"set_{what}")(at(what, keep))
    return build, seen


def made(build, text):
    if text.startswith("{ domain"):
        return build.node_from_schedule(isl.Schedule(text))
    return build.node_from_schedule_map(isl.UnionMap(text))


ST = "[N] -> { S[i, j] -> %s : 0 <= i < N and 0 <= j < N; T[i] -> %s : 0 <= i < N }"
S = "[N] -> { S[i, j] -> %s : 0 <= i < N and 0 <= j < N }"
T = "[N] -> { T[i] -> %s : 0 <= i < N }"


@pytest.mark.parametrize("text, wanted", [
    (TWO, [
        ("before_each_for", ST % ("[i]", "[i]")),
        ("before_each_for", S % "[i, j]"),
        ("at_each_domain", S % "[i, j]"),
        ("after_each_for", S % "[i, j]"),
        ("at_each_domain", T % "[i]"),
        ("after_each_for", ST % ("[i]", "[i]")),
    ]),
    (TREE, [
        ("before_each_mark", ST % ("[]", "[]")),
        ("before_each_for", ST % ("[[] -> [i]]", "[[] -> [i]]")),
        ("before_each_mark", S % "[[] -> [i]]"),
        ("before_each_for", S % "[[[] -> [i]] -> [j]]"),
        ("at_each_domain", S % "[[[] -> [i]] -> [j]]"),
        ("after_each_for", S % "[[[] -> [i]] -> [j]]"),
        ("after_each_mark", S % "[[] -> [i]]"),
        ("at_each_domain", T % "[[] -> [i]]"),
        ("after_each_for", ST % ("[[] -> [i]]", "[[] -> [i]]")),
        ("after_each_mark", ST % ("[]", "[]")),
    ]),
    ("[N] -> { S[i] -> [32*floor(i/32), i mod 32] : 0 <= i < N }", [
        ("before_each_for", "[N] -> { S[i] -> [32*floor(i/32)] : 0 <= i < N }"),
        ("before_each_for", "[N] -> { S[i] -> [32*floor(i/32), i mod 32] : 0 <= i < N }"),
        ("at_each_domain", "[N] -> { S[i] -> [32*floor(i/32), i mod 32] : 0 <= i < N }"),
        ("after_each_for", "[N] -> { S[i] -> [32*floor(i/32), i mod 32] : 0 <= i < N }"),
        ("after_each_for", "[N] -> { S[i] -> [32*floor(i/32)] : 0 <= i < N }"),
    ]),
])  # fmt: skip
def test_functions_are_called_in_isls_order_with_the_instances_of_their_place(text, wanted):
    build, seen = listening()
    made(build, text)
    assert [what for what, _, _, _ in seen] == [what for what, _ in wanted]
    for (_, _, here, _), (_, there) in zip(seen, wanted, strict=True):
        assert here.is_equal(isl.UnionMap(there)), (here, there)


def test_each_unrolled_call_has_its_own():
    build, seen = listening()
    build = build.set_options(isl.UnionMap("{ [i, j] -> unroll[1] }"))
    made(build, "{ S[i, j] -> [i + j, j] : 0 <= i, j < 3 }")
    calls = [(text, here) for what, text, here, _ in seen if what == "at_each_domain"]
    assert {text for text, _ in calls} == {"S(c0, 0);", "S(c0 - 1, 1);", "S(c0 - 2, 2);"} and len(calls) == 3
    for text, here in calls:
        j = int(text[-3])
        assert here.is_equal(isl.UnionMap(f"{{ S[i, {j}] -> [i + {j}] : 0 <= i < 3 }}"))


def test_annotations():
    build, _ = listening()
    loops = made(build, TWO)
    assert loops.get_annotation().user == 1 and loops.get_annotation().name == "f1"
    inner, call = loops.for_get_body().block_get_children()
    assert inner.get_annotation().user == 2
    with pytest.raises(PolyvoltaError, match="no annotation"):
        call.get_annotation()
    own = [1]
    for node in (loops, call):
        new = node.set_annotation(isl.Id("q", user=own))
        assert new.get_annotation().user is own and new.to_C_str() == node.to_C_str()
        assert new.get_type() == node.get_type()
    assert loops.to_C_str() == made(BUILD, TWO).to_C_str()


def test_the_space_of_a_place():
    for text, wanted in ((TWO, "[c0, c2]"), (TREE, "[[[] -> [c0]] -> [c1]]")):
        build, seen = listening()
        made(build, text)
        calls = [here for what, _, _, here in seen if what == "at_each_domain"]
        assert str(calls[0].get_schedule_space()) == wanted
    with pytest.raises(PolyvoltaError, match="only where a callback"):
        BUILD.get_schedule()


def test_a_function_that_fails_gives_its_own_error():
    def bad(node, here):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        made(BUILD.set_at_each_domain(bad)[0], TWO)
    with pytest.raises(PolyvoltaError, match="returns an AstNode"):
        made(BUILD.set_at_each_domain(lambda node, here: None)[0], TWO)
    with pytest.raises(PolyvoltaError, match="returns an Id"):
        made(BUILD.set_before_each_for(lambda here: None)[0], TWO)


@pytest.mark.parametrize("text", [
    "{ S[i, j] -> [i + 2j, 3i] : 0 <= i < 6 and 0 <= j < 4 and (i + j) mod 2 = 0; T[i] -> [2i, 5] : 1 <= i < 7 }",
    "{ S[i, j] -> [4*floor(i/4), 3*floor(j/3), i mod 4, j] : 0 <= i < 7 and 0 <= j <= i }",
    "{ S[i] -> [i mod 3, -i] : 0 <= i < 8; T[i] -> [i, 0] : 0 <= i < 5 or 9 <= i < 12; S[i] -> [2, i] : i = 20 }",
    "{ S[i, j] -> [j] : 0 <= i < 4 and 2i <= j < 2i + 5 and j != 3 }",
])  # fmt: skip
def test_the_schedules_of_calls_are_what_the_loops_run(text):
    """Running the loops gives each call's instances with the values of its loop variables."""
    build, seen = listening()
    loops = made(build, text)
    ran = {}
    for call, values, name, args in runs(loops):
        ran.setdefault(text_of(call), set()).add((name, *args, "->", *values.values()))
    said = {}
    for what, call, here, _ in seen:
        if what == "at_each_domain":
            found = said.setdefault(call, set())
            ((space, _),) = here.parts
            for point in itertools.product(range(21), repeat=space.n_in):
                image = isl.Set(f"{{ {space.inp.name}[{', '.join(map(str, point))}] }}").apply(here)
                found |= {(space.inp.name, *point, "->", *p) for p in _points(image)}
    assert said == ran and ran


def test_what_is_no_function_is_refused_where_it_is_given():
    for name in ("at_each_domain", "before_each_for", "after_each_for", "before_each_mark", "after_each_mark"):
        with pytest.raises(PolyvoltaError, match=f"set_{name} takes a function, not an int"):
            getattr(isl.AstBuild.alloc(), f"set_{name}")(5)


def _points(some):
    found = []
    some.foreach_point(lambda p: found.append(tuple(int(str(p.get_coordinate_val(isl.dim_type.set, k)))
                                                    for k in range(len(some.dims())))))  # fmt: skip
    return found
