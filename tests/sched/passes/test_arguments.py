"""What is passed is looked at before the tree: whatever it is, a transformation happens or says what it takes."""

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest

from polyvolta import sched
from polyvolta.sched import passes as p
from polyvolta.sched import schedule
from polyvolta.sched.errors import BadArgument, BadPath, BadSchedule, BadTile, IllegalTransformation
from polyvolta.sched.program import nest, nest_from_source
from polyvolta.sched.tree import Band, Domain, Filter, Leaf, Member, Schedule, Sequence
from polyvolta.sets import Map, PolyvoltaError, Set, SetSyntaxError, UnknownName, var


@nest
def rows(A, x, y, M, N):
    for i in range(M):
        y[i] = 0
        for j in range(N):
            y[i] += A[i, j] * x[j]


TREE = schedule(rows)
JUNK = (
    *(None, True, 0, -1, 3, 2.0, 2**70, "", "i", "S1", "nothing", b"S1", (), [], {}, set(), object()),
    *(
        (True, 1),
        (2.0, 2),
        ("i", "i"),
        (0, 9),
        ((), ()),
        {"i": None},
        {"nothing": 1},
        {0: 2.5},
        {"S1": "i"},
        {0: "a b"},
    ),
    *(
        Set("{ S1[i] }"),
        Set("{ S1[i, j] }"),
        Set("{ X[] }"),
        Set("{ [a] }"),
        Map("{ [] -> S1[i] }"),
        Map("{ A[] -> X[] }"),
    ),
)
CALLS = {
    "contract": lambda t, at, x: p.contract(t, "S2", x),
    "contract's statement": lambda t, at, x: p.contract(t, x, {"i": 1}),
    "contract's context": lambda t, at, x: p.contract(t, "S2", {"i": 1}, x),
    "distribute": lambda t, at, x: p.distribute(t, at, x),
    "fuse": lambda t, at, x: p.fuse(t, at, x),
    "hoist": lambda t, at, x: p.hoist(t, at, x),
    "insert_context": p.insert_context,
    "insert_extension": p.insert_extension,
    "insert_extension's band": lambda t, at, x: p.insert_extension(t, at, Map("{ [] -> X[] }"), x),
    "insert_filter": p.insert_filter,
    "insert_guard": p.insert_guard,
    "insert_mark": p.insert_mark,
    "insert_sequence": p.insert_sequence,
    "insert_sequence's part": lambda t, at, x: p.insert_sequence(t, at, [x, "S2"]),
    "insert_set": p.insert_set,
    "interchange": p.interchange,
    "isolate_full_tiles": lambda t, at, x: p.isolate_full_tiles(p.tile(t, at, (4, 4)), at, x),
    "map_members": p.map_members,
    "map_members' reduction": lambda t, at, x: p.map_members(t, at, {"i": "x"}, x),
    "order_after": p.order_after,
    "order_before": p.order_before,
    "prefetch": lambda t, at, x: p.prefetch(LOOP, at, x, (0, 1), TOUCHES),
    "prefetch's order": lambda t, at, x: p.prefetch(LOOP, at, {}, x, TOUCHES),
    "prefetch's touches": lambda t, at, x: p.prefetch(LOOP, at, {}, (0, 1), x),
    "reflagged": lambda t, at, x: p.reflagged(t, x),
    "reorder": lambda t, at, x: p.reorder(t, (*at, 0), x),
    "reverse": p.reverse,
    "scale": p.scale,
    "set_loop_type": lambda t, at, x: p.set_loop_type(t, at, x, "unroll"),
    "set_loop_type's kind": lambda t, at, x: p.set_loop_type(t, at, 0, x),
    "shift": lambda t, at, x: p.shift(t, at, 0, x),
    "skew": lambda t, at, x: p.skew(t, at, x, 0),
    "skew's factor": lambda t, at, x: p.skew(t, at, 1, 0, x),
    "split": p.split,
    "strip_mine": p.strip_mine,
    "tile": p.tile,
    "tile's marks": lambda t, at, x: p.tile(t, at, (2, 2), x),
    "unroll": p.unroll,
}
LOOP = Schedule(
    Domain(
        Set("{ S1[k] : 0 <= k < 9; S2[k] : 0 <= k < 9 }"),
        Band((Member((("S1", var("k")), ("S2", var("k")))),), Sequence((Filter(("S1",)), Filter(("S2",))))),
    )
)
TOUCHES = {"S1": (frozenset(), frozenset("T")), "S2": (frozenset("T"), frozenset())}


@pytest.mark.parametrize("call", CALLS)
def test_whatever_is_passed_gives_a_tree_or_a_reason(call):
    refused = 0
    for tree in (TREE, replace(TREE, dependences=None)):
        for junk in JUNK:
            try:
                str(CALLS[call](tree, (0,), junk).check_structure())
            except PolyvoltaError as reason:
                refused += 1
                assert not str(reason).startswith("[PV307] the filter names a statement twice")
    assert refused


@pytest.mark.parametrize("name", sorted(set(p.__all__) - {"contract", "reflagged"}))
def test_a_path_that_leads_nowhere(name):
    given = {
        **dict.fromkeys(("distribute", "fuse", "hoist", "isolate_full_tiles", "join", "remove_mark", "sink"), ()),
        **dict.fromkeys(("insert_context", "insert_guard"), (Set("{ : }"),)),
        **dict.fromkeys(("insert_sequence", "insert_set"), (["S1", "S2"],)),
        **dict.fromkeys(("map_members", "strip_mine", "scale"), ({},)),
        "insert_extension": (Map("{ [] -> X[] }"),),
        "prefetch": ({}, (), {}),
        "set_loop_type": (0, "unroll"),
        "shift": (0, {}),
        "skew": (1, 0),
        "tile": ((2, 2),),
    }
    for at in ((0, 0, 0, 0, 0), (-1,), (True,)):
        with pytest.raises(BadPath):
            getattr(p, name)(TREE, at, *given.get(name, ("S1",)))


def test_numbers_of_numpy_are_numbers():
    n = np.int64
    assert p.tile(TREE, (0,), np.array([4, 8])) == p.tile(TREE, (0,), (4, 8))
    assert p.strip_mine(TREE, (0,), {n(1): n(8)}) == p.strip_mine(TREE, (0,), {1: 8})
    assert p.scale(TREE, (0,), {0: n(2)}) == p.scale(TREE, (0,), {0: 2})
    assert p.skew(TREE, (0,), n(1), 0, n(2)) == p.skew(TREE, (0,), 1, 0, 2)
    assert p.split(TREE, (0,), n(1)) == p.split(TREE, (0,), 1)
    assert p.hoist(TREE, (0,), n(1)) == p.hoist(TREE, (0,), 1)
    assert p.interchange(TREE, (0,), np.arange(2)) == TREE
    assert p.unroll(TREE, (0,), n(1)) == p.unroll(TREE, (0,), 1)


def fenced(by):
    """A ring of three whose fence stands in one child with the copies that it orders: before or after, nobody says."""
    both = Map("{ [k] -> tile[k mod 3] }")
    below = Sequence((Filter(("A", "F")), Filter(("use",))))
    band = Band((Member(tuple((s, var("k")) for s in ("A", "F", "use"))),), below)
    tree = Schedule(Domain(Set("{ A[k] : 0 <= k < 9; F[k] : 0 <= k < 9; use[k] : 0 <= k < 9 }"), band))
    touches = {"A": ((), both), "F": ((), ()), "use": (both, ())}
    return p.prefetch(tree, (0,), by, (0, 1), touches, {"F": ("tile",)})


@pytest.mark.parametrize(
    "error, text, call",
    [
        (BadTile, r"tile sizes are positive integers, not \[4, 2.0\]", lambda: p.tile(TREE, (0,), (4, 2.0))),
        (BadTile, "2 tile sizes|1 tile sizes for a band of 2", lambda: p.tile(TREE, (0,), (4,))),
        (BadArgument, "tile sizes are listed, not an int", lambda: p.tile(TREE, (0,), 4)),
        (BadArgument, "members are listed, not a str", lambda: p.interchange(TREE, (0,), "ji")),
        (BadTile, "factors are positive integers", lambda: p.contract(TREE, "S2", {"i": 2.0})),
        (BadArgument, "mapped to a name, one word", lambda: p.map_members(TREE, (0,), {"i": 0})),
        (BadArgument, "a Map, not a Set", lambda: p.insert_extension(TREE, (0,), Set("{ X[] }"))),
        (BadSchedule, "not over S1", lambda: p.insert_context(TREE, (0,), Set("{ S1[i] }"))),
        (BadSchedule, r"the statement is S1\[i\], not S1", lambda: p.order_before(TREE, (0,), Set("{ S1[i, j] }"))),
        (UnknownName, "what S2 reads and writes", lambda: p.prefetch(LOOP, (0,), {}, (0, 1), {"S1": TOUCHES["S1"]})),
        (BadArgument, "F is a fence, and in one child of the sequence with A", lambda: fenced({"F": -1})),
        (BadArgument, "F is a fence, and in one child of the sequence with A", lambda: fenced({"F": 1})),
    ],
)
def test_a_refusal_says_what_is_taken(error, text, call):
    with pytest.raises(error, match=text):
        call()


def test_a_part_may_be_any_listing_and_names_count_once():
    assert p.order_after(TREE, (0, 0, 0, 0), (s for s in ("S1",))) == TREE
    flat = Schedule(Domain(Set("{ S[]; T[] }"), Leaf()))
    assert p.order_before(flat, (0,), (s for s in ("T", "T"))) == p.order_before(flat, (0,), "T")
    assert p.insert_sequence(flat, (0,), (s for s in "TS")) == p.order_before(flat, (0,), "T")


def test_a_filter_where_nothing_arrives():
    nothing = Schedule(Domain(Set("{ S[i] : false }")))
    assert p.insert_filter(nothing, (0,), Set("{ S[i] : i > 1 }")) == nothing


@pytest.mark.parametrize("name", sorted(set(p.__all__) - {"reflagged"}))
def test_each_transformation_shows_itself_and_says_what_it_costs(name):
    text = getattr(p, name).__doc__
    assert all(part in text for part in ("=>", "Raises\n", "Cost: ", "Source: ", ">>> "))


# ---- texts, and names that are taken


LINE = schedule(nest_from_source("def line(A, N):\n  for i in range(N): A[i] = A[i] + 1.0"))


@pytest.mark.parametrize(
    ("op", "kind", "text"),
    [
        (lambda x: p.insert_filter(LINE, (0,), x), Set, "{ S[i] : i >= 0 }"),
        (lambda x: p.insert_filter(LINE, (0,), x, narrow=True), Set, "{ S[i] : i >= 7 }"),
        (lambda x: p.insert_context(LINE, (0,), x), Set, "[N] -> { : N >= 1 }"),
        (lambda x: p.insert_guard(LINE, (0, 0), x), Set, "[N] -> { [i] : 0 <= i < N }"),
        (lambda x: p.insert_extension(LINE, (0,), x), Map, "{ [] -> copy[] }"),
        (lambda x: p.contract(LINE, "S", {"i": 8}, context=x), Set, "[N] -> { : N mod 8 = 0 }"),
        (lambda x: p.isolate_full_tiles(p.tile(LINE, (0,), [4]), (0,), context=x), Set, "[N] -> { : N >= 1 }"),
        (lambda x: p.order_before(LINE, (0,), x), Set, "{ S[i] : i >= 5 }"),
        (lambda x: p.insert_sequence(LINE, (0,), [x, "{ S[i] : i < 5 }"]), Set, "{ S[i] : i >= 5 }"),
    ],
)
def test_a_text_is_the_set_or_map_that_it_says(op, kind, text):
    assert op(text) == op(kind(text))
    with pytest.raises(SetSyntaxError) as caught:
        op(text.replace("}", "and and }"))
    assert "^" in caught.value.where


@pytest.mark.parametrize(
    ("name", "what"),
    [("N", "a parameter"), ("i", "an iterator of S"), ("S", "a statement"), ("A", "an array"), ("", "one word")],
)
def test_a_member_is_mapped_to_a_name_of_its_own(name, what):
    summed = schedule(nest_from_source("def line(A, N):\n  for i in range(N): A[0] = A[0] + 1.0"))
    with pytest.raises(BadArgument) as caught:
        p.map_members(summed, (0,), {0: name})
    assert what in caught.value.message


def test_a_name_is_one_index():
    line = p.tile(LINE, (0,), [4])
    for outer, inner in (((0,), (0, 0)), ((0, 0), (0,))):
        with pytest.raises(IllegalTransformation, match="x is taken"):
            p.map_members(p.map_members(line, outer, {0: "x"}), inner, {0: "x"})
    square = schedule(nest_from_source("def f(A, N):\n  for i in range(N):\n    for j in range(N): A[i, j] = 1.0"))
    with pytest.raises(IllegalTransformation, match="x is taken"):
        p.map_members(square, (0,), {0: "x", 1: "x"})


def test_paths_are_of_integers_of_any_make():
    at = tuple(np.zeros(1, int))
    assert p.tile(LINE, at, [4]) == p.tile(LINE, (0,), [4])
    assert [place for place, _ in LINE.walk(at)] == [place for place, _ in LINE.walk((0,))]
    with pytest.raises(BadPath, match=r"the node at \[0, 0\] is a Leaf, no Band"):
        LINE.band((*at, *at))


def test_an_article_fits_its_word():
    added = p.insert_extension(LINE, (0,), "{ [] -> copy[] }")
    with pytest.raises(BadPath, match="is an Extension, no Band"):
        added.band((0,))


@pytest.mark.parametrize("name", [*sorted(p.__all__), "band_flags", "check", "violations"])
def test_what_is_no_tree(name):
    f = getattr(sched, name)
    takes = signature(f).parameters.values()
    required = [a for a in takes if a.kind is a.POSITIONAL_OR_KEYWORD and a.default is a.empty]
    rest = [()] * (len(required) - 1)
    for given, said in ((None, "None"), (rows, "a Program"), (TREE.root, "a Domain"), ("{ S1[i] }", "a str")):
        for call in (lambda: f(given, *rest), lambda: f(schedule=given, **{a.name: () for a in required[1:]})):  # noqa: B023
            with pytest.raises(BadArgument, match=f"{name} takes a Schedule, not {said}") as error:
                call()
            hint = f"{name}(program.schedule, ...)" if given is rows else "schedule(program)"
            assert hint in error.value.hint
    with pytest.raises(TypeError, match=rf"{name}\(\) missing \d+ required positional argument"):
        f()
