"""Legality against enumeration: over random trees and relations, and of known transformations."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given

from polyvolta.sched.dependence import Dependence
from polyvolta.sched.errors import BadPath, BadProgram, IllegalTransformation
from polyvolta.sched.legality import band_flags, check, violations
from polyvolta.sched.passes import interchange
from polyvolta.sched.tree import Band, Domain, Extension, Filter, Leaf, Member, Schedule, Sequence, SetNode
from polyvolta.sets import Map, Set, aff, var
from tests.sched.dependence.draw import programs
from tests.sched.dependence.oracle import Ways, between
from tests.sets.brute import examples


def instance(text):
    name, point = text.rstrip("]").split("[")
    return name, tuple(int(v) for v in point.split(",") if v.strip())


@given(programs())
@examples(120)
def test_violations_are_those_that_enumeration_finds(drawn):
    found = list(violations(drawn.schedule, drawn.dependences))
    for v in found:  # each names a pair that is one
        ways = Ways(drawn.schedule, dict(v.params))
        x, y = instance(v.source), instance(v.sink)
        assert (x, y) in between(v.dependence.relation, ways) and not ways.before(x, y), v
    for ways, d in product(drawn.ways, drawn.dependences):  # and none is missing
        wrong = [(x, y) for x, y in between(d.relation, ways) if not ways.before(x, y)]
        assert not wrong or any(v.dependence is d for v in found), wrong


@given(programs())
@examples(60)
def test_a_relation_is_of_instances_that_must_run_before_others(drawn):
    """The same pairs as one relation; what an instance must run before itself is left out."""
    every = Map("{ S[i] -> S[i] : false }")
    for d in drawn.dependences:
        every = every.union(d.relation)
    found = list(violations(drawn.schedule, every))
    for ways, d in product(drawn.ways, drawn.dependences):
        wrong = [(x, y) for x, y in between(d.relation, ways) if x != y and not ways.before(x, y)]
        assert not wrong or any((v.dependence.source, v.dependence.sink) == (d.source, d.sink) for v in found), wrong
    for v in found:
        ways = Ways(drawn.schedule, dict(v.params))
        x, y = instance(v.source), instance(v.sink)
        assert x != y and not ways.before(x, y) and v.dependence.kind == "validity"
        assert any((x, y) in between(d.relation, ways) for d in drawn.dependences)


def test_a_transformation_is_checked_against_a_relation():
    band = '{ schedule: "[{ S[i, j] -> [i] }, { S[i, j] -> [j] }]" }'
    tree = Schedule.parse(f'{{ domain: "[N] -> {{ S[i, j] : 0 <= i, j < N }}", child: {band} }}').with_dependences(
        Map("{ S[i, j] -> S[i + 1, j - 1]; S[i, j] -> S[i, j] }")
    )
    with pytest.raises(IllegalTransformation, match=r"S\[0, 1\] must run before S\[1, 0\] \(validity\), but"):
        interchange(tree, (0,), ["j", "i"])


@given(programs(rich=False))
@examples(120)
def test_flags_of_a_band_are_those_of_its_distances(drawn):
    for at in drawn.schedule.bands()[:2]:
        band = drawn.schedule.band(at)
        flags = band_flags(drawn.schedule, at, drawn.dependences)
        for ways, d in product(drawn.ways, drawn.dependences):
            for x, y in between(d.relation, ways):
                distances = reaching(ways, at, band, x, y)
                if distances is None:
                    continue
                assert not flags.permutable or all(v >= 0 for v in distances)
                assert not any(c and v for c, v in zip(flags.coincident, distances))
                first = next((k for k, v in enumerate(distances) if v), None)
                assert first is None or not flags.parallel[first]


def reaching(ways, at, band, x, y):
    """The distances of a pair in a band that both reach with equal times."""
    here = ways.reached.get(at, {})
    if x not in here or y not in here:
        return None
    steps, a, b = here[x], ways.way[x], ways.way[y]
    if a[:steps] != b[:steps]:
        return None
    return [v - u for (_, u), (_, v) in zip(a[steps:], b[steps : steps + len(band.members)])]


# ---- known transformations of known nests


def schedule(domain, rows, dependences, **band):
    """A tree of one band, its members given as texts by statement."""
    width = len(next(iter(rows.values())))
    members = tuple(Member(tuple((s, aff(r[k])) for s, r in rows.items())) for k in range(width))
    return Schedule(Domain(Set(domain), Band(members, **band)), tuple(dependences))


def raw(text, array="A"):
    m = Map(text)
    return Dependence("RAW", array, m.space.inp.name, m.space.out.name, m)


SQUARE = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }"
UP = raw("[N] -> { S[i, j] -> S[i + 1, j - 1] : 0 <= i < N - 1 and 1 <= j < N }")
RIGHT = raw("[N] -> { S[i, j] -> S[i, j + 1] : 0 <= i < N and 0 <= j < N - 1 }")


def legal(*members, dependences=(UP, RIGHT)):
    return not any(violations(schedule(SQUARE, {"S": members}, dependences)))


def test_interchange_is_legal_without_negative_distances_only():
    assert legal("i", "j") and not legal("j", "i") and legal("j", "i", dependences=[RIGHT])


def test_skewing_makes_interchange_and_tiling_legal():
    assert not legal("floor(i/4)", "floor(j/4)", "i", "j")
    assert legal("floor(i/4)", "floor((i + j)/4)", "i", "j") and legal("i + j", "i") and legal("2*i + j")


def test_reversal_is_illegal_where_the_loop_carries_a_dependence():
    assert not legal("i", "-j") and not legal("-i", "j") and legal("i", "-j", dependences=[UP])


def test_flags_of_a_skewed_band():
    flags = band_flags(schedule(SQUARE, {"S": ("i", "i + j")}, [UP, RIGHT]), (0,))
    assert flags.permutable and flags.coincident == (False, False) and flags.parallel == (False, False)
    flags = band_flags(schedule(SQUARE, {"S": ("i", "i + j")}, [UP]), (0,))
    assert flags.permutable and flags.coincident == (False, True)
    flags = band_flags(schedule(SQUARE, {"S": ("i", "j")}, [UP]), (0,))
    assert not flags.permutable and flags.coincident == (False, False) and flags.parallel == (False, True)
    with pytest.raises(BadPath):
        band_flags(schedule(SQUARE, {"S": ("i", "j")}, [UP]), ())


def test_a_member_that_is_mapped_runs_at_once():
    good = schedule(SQUARE, {"S": ("i", "j")}, [RIGHT])
    band = good.band((0,))

    def mapped(k):
        members = tuple(replace(m, name="blockIdx.x") if n == k else m for n, m in enumerate(band.members))
        return good.replace((0,), replace(band, members=members))

    assert check(mapped(0)) == mapped(0)
    with pytest.raises(IllegalTransformation, match="member 1, mapped to blockIdx.x, runs them at once"):
        check(mapped(1))


TWO = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }"
THEN = raw("[N] -> { S[i] -> T[i] : 0 <= i < N }")


@pytest.mark.parametrize(
    "kind, order, legal",
    [(Sequence, ("S", "T"), True), (Sequence, ("T", "S"), False), (SetNode, ("S", "T"), False)],
)
def test_children_of_a_sequence_run_in_order_and_those_of_a_set_do_not(kind, order, legal):
    below = kind(tuple(Filter((s,)) for s in order))
    assert (not any(violations(Schedule(Domain(Set(TWO), below), (THEN,))))) == legal
    fused = Member((("S", var("i")), ("T", var("i") + 1)))
    assert not any(violations(Schedule(Domain(Set(TWO), Band((fused,), below)), (THEN,))))


def test_a_contracted_domain_keeps_the_dependences_of_its_instances():
    carried = raw("[N] -> { S[i] -> S[i + 1] : 0 <= i < N - 1 }")
    whole = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), Leaf()), (carried,))
    assert any(violations(whole))
    even = replace(whole, root=replace(whole.root, domain=Set("[N] -> { S[i] : 0 <= i < N and i mod 2 = 0 }")))
    assert not any(violations(even))


def test_statements_that_the_tree_adds_take_no_part():
    carried = raw("[N] -> { S[i] -> S[i + 1] : 0 <= i < N - 1 }")

    def tree(e):
        inner = Band((Member((("S", aff(e)),)),))
        order = Sequence((Filter(("copy",)), Filter(("S",), inner)))
        below = Extension(Map("[N] -> { [t] -> copy[t] : 0 <= 4*t < N }"), order)
        outer = Band((Member((("S", aff("floor(i/4)")),)),), below)
        return Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), outer), (carried,))

    assert check(tree("i mod 4")) and [v.at for v in violations(tree("-i"))] == [(0, 0, 0, 1, 0)]


def test_a_context_rules_parameters_out():
    wraps = raw("[N] -> { S[i] -> S[0] : 0 < i < N and N <= 3 }")
    tree = schedule("[N] -> { S[i] : 0 <= i < N }", {"S": ("i",)}, [wraps])
    assert any(violations(tree)) and not any(violations(tree, context=Set("[N] -> { : N >= 4 }")))


def test_a_context_may_speak_of_parameters_of_its_own():
    chain = raw("[N] -> { S[i] -> S[i + 1] : 0 <= i < N - 1 }")
    tree = schedule("[N] -> { S[i] : 0 <= i < N }", {"S": ("-i",)}, [chain])
    (wrong,) = violations(tree, context=Set("[M] -> { : M >= 4 }"))
    assert (wrong.source, wrong.sink) == ("S[0]", "S[1]") and dict(wrong.params)["M"] >= 4
    assert not any(violations(tree, context=Set("[M, N] -> { : M <= 1 and N <= M }")))


def test_tiles_that_run_backwards_are_illegal():
    assert not legal("-floor(j/4)", "j", dependences=[RIGHT]) and legal("floor(j/4)", "j", dependences=[RIGHT])


def test_the_message_names_the_dependence_two_instances_and_the_node():
    tree = schedule(SQUARE, {"S": ("j", "i")}, [UP, RIGHT])
    with pytest.raises(IllegalTransformation) as told:
        check(tree, doing="interchange")
    assert str(told.value) == (
        "[PV302] interchange breaks a dependence: S[0, 1] must run before S[1, 0] (RAW dependence on A), but "
        "member 0 of the band runs them the other way round (for N = 2)\n"
        "  DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j < N\n"
        "    BAND: S[i, j] → [j, i]   <-- here\n"
        "hint: skewing, or another order of the members, can make all distances positive"
    )


@pytest.mark.parametrize(
    "given, text",
    [
        ([raw("{ S[i] -> S[i + 1] }")], r"relates S\[i\], its statement is S\[i, j\]"),
        ([replace(RIGHT, relation=Map("{ T[i, j] -> S[i, j] }"))], r"relates T\[i, j\]"),
        ("RAW", "several objects Dependence, not a str"),
        (UP, "not a Dependence alone"),
        ([UP, None], "not None"),
    ],
)
def test_what_does_not_fit_the_domain_is_refused_and_not_passed_over(given, text):
    tree = schedule(SQUARE, {"S": ("i", "j")}, [])
    with pytest.raises(BadProgram, match=text):
        list(violations(tree, given))


def test_dependences_of_other_statements_are_passed_over():
    assert legal("i", "j", dependences=[raw("{ S[i, j] -> T[i] }"), raw("{ T[i] -> T[i - 1] }")])


def test_a_schedule_without_dependences_is_not_checked():
    tree = replace(schedule(SQUARE, {"S": ("j", "i")}, [UP]), dependences=None)
    assert check(tree) is tree


THERE = raw("[N] -> { T[i] -> S[i + 1] : 0 <= i < N - 1 }")


@pytest.mark.parametrize(
    ("tree", "doing", "hint"),
    [
        (Schedule(Domain(Set(TWO)), (THEN,)), "", "a sequence that puts S first orders them"),
        (Schedule(Domain(Set(TWO)), (THEN, THERE)), "", "S and T wait for one another"),
        (Schedule(Domain(Set(SQUARE)), (RIGHT,)), "", "orders instances of S"),
        (schedule(SQUARE, {"S": ("j", "i")}, [UP]), "interchanging members", "skewing"),
        (schedule(SQUARE, {"S": ("i", "-j")}, [RIGHT]), "reversing", "runs both ways"),
        (schedule(SQUARE, {"S": ("j", "i")}, [UP]), "sinking the band", "the loops below"),
    ],
)
def test_the_hint_is_what_would_help(tree, doing, hint):
    with pytest.raises(IllegalTransformation) as caught:
        check(tree, doing)
    assert hint in caught.value.hint


def test_dependences_are_given_to_a_tree():
    tree = schedule(SQUARE, {"S": ("j", "i")}, [UP])
    bare = replace(tree, dependences=None)
    assert bare.with_dependences([UP]).dependences == (UP,)
    assert bare.with_dependences([UP]).with_dependences(None) == bare
    assert len(list(violations(bare.with_dependences([UP])))) == 1
    with pytest.raises(BadProgram):
        bare.with_dependences([3])
    with pytest.raises(BadProgram):
        bare.with_dependences(7)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("(i) : i < 5; (2i) : i >= 5", lambda i: i if i < 5 else 2 * i),
        ("(i) : i < 5; (-i) : i >= 5", lambda i: i if i < 5 else -i),
        ("(i) : i < 5; (i - 5) : i >= 5", lambda i: i if i < 5 else i - 5),
        ("(i) : i < 5; (i - 1) : i >= 5", lambda i: i if i < 5 else i - 1),
        ("(2i) : i < 5; (i + 5) : i >= 5", lambda i: 2 * i if i < 5 else i + 5),
        ("(20 - i) : i = 0; (i) : i >= 1", lambda i: 20 if i == 0 else i),
    ],
)
def test_bands_by_cases_are_legal_where_times_ascend(text, time):
    relation = Map("{ S[i] -> S[i + 1] : 0 <= i < 9 }")
    band = f'{{ schedule: "[{{ S[i] -> [{text}] }}]" }}'
    tree = Schedule.parse(f'{{ domain: "{{ S[i] : 0 <= i < 10 }}", child: {band} }}')
    late = {(i, i + 1) for i in range(9) if time(i) > time(i + 1)}
    same = {(i, i + 1) for i in range(9) if time(i) == time(i + 1)}  # which nothing below the band orders
    found = list(violations(tree, [Dependence("RAW", "A", "S", "S", relation)]))
    assert bool(found) == bool(late | same)
    assert {(v.source, v.sink) for v in found} <= {(f"S[{i}]", f"S[{j}]") for i, j in late | same}


def test_bands_by_cases_below_filters_have_expressions_for_what_is_there():
    band = '{ schedule: "[{ S[i] -> [(20 - i) : i = 0; (i) : i >= 1] }]" }'
    filters = f'[ {{ filter: "{{ S[i] }}", child: {band} }}, {{ filter: "{{ T[i] }}" }} ]'
    domain = "{ S[i] : 0 <= i < 10; T[i] : 0 <= i < 10 }"
    tree = Schedule.parse(f'{{ domain: "{domain}", child: {{ sequence: {filters} }} }}')
    within = Dependence("RAW", "A", "S", "S", Map("{ S[i] -> S[i + 1] : 0 <= i < 9 }"))
    after = Dependence("RAW", "A", "S", "T", Map("{ S[i] -> T[i] : 0 <= i < 9 }"))
    assert [(v.source, v.sink) for v in violations(tree, [within, after])] == [("S[0]", "S[1]")]
