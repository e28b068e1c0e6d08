"""Loop types, isolation, unions, strides and guards of scanned trees: golden texts, and the order of the instances."""

import pytest

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.emit.run import run
from polyvolta.sched.errors import BadArgument, BadSchedule, NotScannable
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Schedule,
    Sequence,
)
from polyvolta.sets import BudgetExceeded, Map, Set, UnknownName, aff, budget
from polyvolta.sets.text.expressions import parse_aff
from tests.sched.loops.oracle import assert_scans, deviation


def band(child=None, loop_type="default", isolate=None, **exprs):
    """A band with the expressions of each statement."""
    rank = len(next(iter(exprs.values())))
    members = tuple(Member(tuple((s, aff(e[k])) for s, e in exprs.items()), loop_type=loop_type) for k in range(rank))
    return Band(members, child or Leaf(), isolate=isolate)


def tree(domain, root):
    return Schedule(Domain(Set(domain), root))


def text(schedule, context=None, values=()):
    """The loops as C without macros, checked by brute force at some values of the parameters."""
    found = assert_scans(schedule, values, Set(context) if context else None)
    return "\n".join(line for line in to_c(found).splitlines() if line and not line.startswith("#define"))


TWO = "[N, M] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < M }"
SIZES = [{"N": n, "M": m} for n in (-1, 0, 1, 4) for m in (0, 2, 4, 5)]


def test_interleaved_ranges_share_an_atomic_loop():
    got = text(tree(TWO, band(S=["i"], T=["i"], loop_type="atomic")), values=SIZES)
    assert got.split("\n") == [
        "for (int c0 = 0; c0 < max(N, M); c0 += 1) {",
        "  if (c0 < N)",
        "    S(c0);",
        "  if (c0 < M)",
        "    T(c0);",
        "}",
    ]


def test_ranges_whose_ends_no_size_orders_are_a_loop_of_one_and_the_rest():
    got = text(tree(TWO, band(S=["i"], T=["i"])), values=SIZES)
    assert got.split("\n") == [
        "for (int c0 = 0; c0 < N; c0 += 1) {",
        "  S(c0);",
        "  if (c0 < M)",
        "    T(c0);",
        "}",
        "for (int c0 = max(0, N); c0 < M; c0 += 1)",
        "  T(c0);",
    ]


def test_separate_leaves_no_condition():
    got = text(tree(TWO, band(S=["i"], T=["i"], loop_type="separate")), values=SIZES)
    assert "if" not in got
    assert got.count("for (") == 3


def test_ordered_ranges_are_loops_one_after_another():
    got = text(tree("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", band(S=["i"], T=["N + i"])), values=[{"N": 3}])
    assert "if" not in got
    assert got.count("for (") == 2


def test_a_tie_is_broken_by_the_order_below():
    """I runs at k = 0 before S does, so its call needs no condition within the loop over k."""
    order = Sequence((Filter(("I",)), Filter(("S",))))
    domain = "[N, K] -> { I[i] : 0 <= i < N; S[i, k] : 0 <= i < N and 0 <= k < K }"
    got = text(tree(domain, band(order, I=["i", "0"], S=["i", "k"])), values=[{"N": 2, "K": 3}, {"N": 2, "K": 0}])
    assert got.split("\n") == [
        "for (int c0 = 0; c0 < N; c0 += 1) {",
        "  I(c0);",
        "  for (int c1 = 0; c1 < K; c1 += 1)",
        "    S(c0, c1);",
        "}",
    ]


def test_a_tie_the_other_way_round_keeps_the_condition():
    order = Sequence((Filter(("S",)), Filter(("I",))))
    domain = "[N, K] -> { I[i] : 0 <= i < N; S[i, k] : 0 <= i < N and 0 <= k < K }"
    assert "if" in text(tree(domain, band(order, I=["i", "0"], S=["i", "k"])), values=[{"N": 2, "K": 3}])


def test_unrolled_iterations_are_written_out():
    got = text(
        tree("{ S[i] : 0 <= i < 3; T[i] : 2 <= i < 4 }", band(S=["i"], T=["i"], loop_type="unroll")), values=[{}]
    )
    assert got.split("\n") == ["S(0);", "S(1);", "S(2);", "T(2);", "T(3);"]


def test_unrolling_within_a_tile():
    outer = Band(band(S=["floor(i/4)"]).members, band(S=["i"], loop_type="unroll"))
    schedule = tree("[N] -> { S[i] : 0 <= i < N }", outer)
    full = text(schedule, "[N] -> { : N mod 4 = 0 }", [{"N": 8}])
    assert full.count("S(") == 4
    assert "if" not in full
    partial = text(schedule, values=[{"N": n} for n in range(7)])
    assert partial.count("S(") == 4
    assert partial.count("if (") == 3


def test_unrolling_without_a_limit_is_refused():
    with pytest.raises(NotScannable, match="cannot be unrolled"):
        scan(tree("[N] -> { S[i] : 0 <= i < N }", band(S=["i"], loop_type="unroll")))


def test_unrolling_between_rows_that_floors_of_statements_say():
    """S is at 4*floor((M + 2*c0 + 1)/8) - c0 + 2, T at M + 3*floor((i - N)/3): both have 2*c1 <= c2 <= 2*c1 + 1."""
    schedule = Schedule.parse("""{ domain: "[N, M] -> { S[i] : M <= 2i <= M + 6; T[i] : 0 <= i < M }", child: {
        schedule: "[{ S[i] -> [((3 - i) mod 4)]; T[i] -> [((3i + 1) mod 2)] }]", child: { schedule: "[N, M] -> [{
        S[i] -> [(floor((i + 1)/2) - 1)]; T[i] -> [(floor((M + 3*floor((i - N)/3))/2))] }]", child: { schedule:
        "[N, M] -> [{ S[i] -> [(i - 1)]; T[i] -> [(M + 3*floor((i - N)/3))] }]", options: "{ unroll[0] }" } } } }""")
    got = text(schedule, values=[{"N": n, "M": m} for n in (-1, 0, 1, 5) for m in range(7)])
    assert "c2" not in got


def test_ranges_too_many_to_separate_have_their_values_beside_one_with_a_stride():
    """Of cells of every second range: what S1 has besides is no odd values alone where S2 has even ones."""
    ranges = {0: "0 <= i < N", 1: "1 <= i < N + 2 and i mod 2 = 1", 2: "2 <= i < N + 4", 3: "3 <= i < N + 3"}
    ranges |= {4: "4 <= i < N + 8", 5: "5 <= i < N + 10", 6: "6 <= i < N + 12 and i mod 2 = 0", 9: "N + 9 <= i < 11"}
    ranges |= {10: "N + 10 <= i < N + 20", 11: "11 <= i < N + 22", 12: "12 <= i < N + 24"}
    ranges |= {13: "0 <= i < M", 14: "2 <= i < M + 4", 15: "4 <= i < M + 3"}
    schedule = tree(
        "[N, M] -> { " + "; ".join(f"S{k}[i] : {where}" for k, where in ranges.items()) + " }",
        band(**{f"S{k}": ["i"] for k in ranges}, loop_type="separate"),
    )
    sizes = [{"N": n, "M": m} for n in (-20, -4, 0, 1, 2, 3, 8) for m in (-1, 3, 40)]
    assert assert_scans(schedule, sizes).notes


def test_full_tiles_apart_from_partial_ones():
    isolate = Set("[N] -> { [a, b] : a >= 0 and 32a + 31 < N }")
    schedule = tree("[N] -> { S[i] : 0 <= i < N }", band(S=["floor(i/32)", "i"], isolate=isolate))
    got = text(schedule, "[N] -> { : N >= 0 }", [{"N": n} for n in (0, 1, 31, 32, 33, 64, 70)])
    assert "c1 <= 32 * c0 + 31" in got
    assert "min(" not in got
    assert got.count("for (") == 3


def test_a_value_that_is_an_expression_needs_no_loop():
    got = text(tree("[N] -> { S[i, j] : 0 <= i < N and j = 2i }", band(S=["i", "j"])), values=[{"N": 3}])
    assert got.count("for (") == 1


def test_congruences_are_steps():
    domain = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N and (i + j) mod 2 = 0 }"
    got = text(tree(domain, band(S=["i", "j"])), values=[{"N": 5}])
    assert "if" not in got
    assert "c1 += 2" in got


@pytest.mark.parametrize("exprs", [["4i + 2j", "j"], ["i + 2j"], ["6i + 4j", "i"], ["2i - 3j"], ["floor((i + j)/3)"]])
def test_coefficients_are_strides(exprs):
    domain = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }"
    got = text(tree(domain, band(S=exprs)), values=[{"N": n} for n in (1, 2, 5)])
    assert "if" not in got


def test_iterators_that_no_member_determines_get_loops():
    got = text(tree("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }", band(S=["i"])), values=[{"N": 4}])
    assert got.count("for (") == 2
    everything = text(tree("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i; T[] }", Leaf()), values=[{"N": 4}])
    assert everything.count("for (") == 2


def test_pieces_of_a_domain_are_visited_once():
    domain = "[N] -> { S[i] : 0 <= i < N; S[i] : 2 <= i < N + 2; S[i] : i mod 3 = 0 and 0 <= i < 2N }"
    assert_scans(tree(domain, band(S=["i"])), [{"N": n} for n in range(7)])


def test_existentials_are_no_loops():
    domain = "[N] -> { S[i] : exists a, b : i = 3a + 5b and 0 <= a <= 2 and 0 <= b <= 2 and i < N }"
    got = text(tree(domain, band(S=["i"])), values=[{"N": n} for n in (0, 7, 20)])
    assert got.count("for (") == 1


def test_empty_and_zero_dimensional_statements():
    assert run(scan(tree("[N] -> { S[i] : i > 3 and i < 3 }", band(S=["i"]))), {"N": 3}) == []
    assert text(tree("[N] -> { S[] : N > 3 }", Leaf()), values=[{"N": 3}, {"N": 4}]) == "if (N >= 4)\n  S();"


def test_guards_stand_outside_of_loops():
    got = text(
        tree("[N, M] -> { S[i] : 0 <= i < N and M > 3 }", band(S=["i"])), values=[{"N": 2, "M": m} for m in (3, 4)]
    )
    assert got.split("\n")[0] == "if (M >= 4)"


def test_a_context_drops_conditions():
    domain = "[N, M] -> { S[i] : 0 <= i < N and M > 3 }"
    assert "if" not in text(tree(domain, band(S=["i"])), "[N, M] -> { : M > 5 }")
    inside = Context(Set("[N, M] -> { : M > 5 }"), band(S=["i"]))
    assert "if" not in text(tree(domain, inside))


def test_guard_nodes_and_marks():
    root = band(Guard(Set("[N] -> { [a] : 2a < N or a = N - 1 }"), Mark("here", Leaf())), S=["i"])
    got = text(tree("[N] -> { S[i] : 0 <= i < N }", root), values=[{"N": n} for n in range(6)])
    assert "||" in got
    assert "here" in got


def test_extensions_add_instances_at_each_place():
    below = Sequence((Filter(("X",)), Filter(("S",), band(S=["j"]))))
    added = Map("[N] -> { [a] -> X[x, y] : x = a and 0 < a < N and 0 <= y < 2 }")
    root = band(Extension(added, below), S=["i"])
    text(tree("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }", root), values=[{"N": n} for n in range(4)])


def test_a_statement_without_a_place_is_named():
    domain = "{ S[i] : 0 <= i < 3; T[i] : 0 <= i < 3 }"
    with pytest.raises(BadSchedule, match="no expression for the statement T"):
        scan(tree(domain, band(S=["i"])))
    with pytest.raises(BadSchedule, match="no child takes the statement T"):
        scan(tree(domain, band(Sequence((Filter(("S",)),)), S=["i"], T=["i"])))


@pytest.mark.parametrize(("where", "loop"), [("i <= 0", "c0"), ("i <= j < 9", "c0"), ("0 <= i and j <= i", "c1")])
def test_a_loop_that_does_not_begin_is_named(where, loop):
    with pytest.raises(NotScannable, match=f"{loop} over S has no lower bound"):
        scan(tree(f"{{ S[i, j] : {where} }}", band(S=["i", "j"])))


def test_loop_variables_are_not_called_like_parameters():
    got = run(scan(tree("[c0] -> { S[i] : 0 <= i < c0 }", band(S=["i"]))), {"c0": 3})
    assert got == [("S", (x,)) for x in range(3)]


def mapped(*members):
    """A band of S whose members are (expression, name or None)."""
    return Band(tuple(Member((("S", aff(e)),), name=name) for e, name in members))


def test_two_congruences_of_one_loop_both_hold():
    """The loop steps by 2 for the first; the second, of a name, is no less true."""
    domain = "{ S[i, a] : 0 <= i < 9 and (i + a) mod 2 = 0 and 0 <= a <= 1 }"
    schedule = tree(domain, mapped(("i mod 2", "t"), ("a", None), ("i", None)))
    assert_scans(schedule, [{}])


def test_what_is_known_of_a_name_holds_where_instances_come():
    band_below = mapped(("i mod 2", "t"))
    below = Band(band_below.members, Context(Set("{ [p] : p >= 1 }")))
    order = Sequence((Filter(("S",), Leaf(), Set("{ S[i] : i > 1 }")), Filter(("S",), below, Set("{ S[i] : i = 1 }"))))
    assert_scans(tree("{ S[i] : 1 <= i < 6 }", order), [{}], None)


@pytest.mark.parametrize(
    ("first", "second", "calls"),
    [
        ("2i", "2i + 1", ["S(c0)", "T(c0)"]),
        ("3i", "3i + 1", ["S(c0)", "T(c0)"]),
        ("2i + N", "2i + N + 1", ["S(c0)", "T(c0)"]),
        ("3i + 2", "3i + 1", ["T(c0)", "S(c0)"]),
    ],
)
def test_statements_that_take_turns_need_no_condition(first, second, calls):
    schedule = tree("[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", band(S=[first], T=[second]))
    got = text(schedule, values=[{"N": n} for n in range(6)])
    assert got.split("\n") == ["for (int c0 = 0; c0 < N; c0 += 1) {", *[f"  {c};" for c in calls], "}"]


@pytest.mark.parametrize("second", ["4i + 1", "6i + 3", "5i", "7 - 2i"])
def test_turns_of_other_steps(second):
    schedule = tree(TWO, band(S=["2i", "i"], T=[second, "0"]))
    text(schedule, values=SIZES)


@pytest.mark.parametrize(
    "isolate",
    [
        "[N] -> { [a, b] : a >= 0 and 4a + 3 < N and (b mod 4 <= 1 or a = 0) }",
        "[N] -> { [a, b] : (1 <= a <= 2 and 4a <= b <= 4a + 3) or a = 5 }",
        "{ [a, b] : a = 7 or 1 <= a <= 2 or a = 4 and b <= 18 }",
        "{ [a, b] : a >= 1 and b <= 17 or a <= 3 and b >= 6 }",
    ],
)
def test_unions_are_isolated(isolate):
    both = {"S": ["floor(i/4)", "i"], "T": ["floor(i/4)", "i"]}
    domain = "[N] -> { S[i] : 0 <= i < N; T[i] : 2 <= i <= N }"
    values = [{"N": n} for n in (0, 1, 3, 8, 21, 31)]
    plain = text(tree(domain, band(**both)), values=values)
    assert text(tree(domain, band(isolate=Set(isolate), **both)), values=values) != plain


def test_what_is_isolated_has_loop_types_of_its_own():
    options = "isolate[[] -> [x]] : 3 <= x <= 5; %s"
    parsed = '{ domain: "{ A[i] : 0 <= i < 9 }", child: { schedule: "[{ A[i] -> [i] }]", options: "{ %s }" } }'
    written = {}
    for said in ("[isolate[] -> unroll[x]]", "unroll[x]", "unroll[x]; [isolate[] -> unroll[x]]"):
        found = Schedule.parse(parsed % (options % said))
        assert Schedule.parse(found.to_isl()) == found
        written[said] = text(found).split("\n")
    first, last = ["for (int c0 = 0; c0 < 3; c0 += 1)", "  A(c0);"], ["for (int c0 = 6; c0 <= 8; c0 += 1)", "  A(c0);"]
    calls = [f"A({k});" for k in range(9)]
    assert written["[isolate[] -> unroll[x]]"] == [*first, *calls[3:6], *last]
    inside = ["for (int c0 = 3; c0 <= 5; c0 += 1)", "  A(c0);"]
    assert written["unroll[x]"] == [*calls[:3], *inside, *calls[6:]]
    assert written["unroll[x]; [isolate[] -> unroll[x]]"] == calls


def test_full_tiles_are_unrolled_and_partial_ones_are_loops():
    """An example of isl's manual, smaller."""
    schedule = Schedule.parse("""{ domain: "[N] -> { A[i, j] : 0 <= i, j and i + j <= N }", child: {
        schedule: "[{ A[i, j] -> [floor(i/2)] }, { A[i, j] -> [floor(j/2)] }, { A[i, j] -> [i] }, { A[i, j] -> [j] }]",
        options: "[N] -> { isolate[[] -> [a, b, c, d]] : 0 <= 2a, 2b and 2a + 2b + 2 <= N;
                           [isolate[] -> unroll[3]] }" } }""")
    got = text(schedule, values=[{"N": n} for n in (0, 1, 2, 5, 6)])
    assert "A(c2, 2 * c1 + 1);" in got


@pytest.mark.parametrize(
    "isolate, first",
    [
        ("i < 4*floor(N/4)", "for (int c0 = 0; c0 < 4 * floord(N, 4); c0 += 1)"),
        ("i >= 4*floor(N/4)", "for (int c0 = 0; c0 < 4 * floord(N, 4); c0 += 1)"),
        ("i >= N mod 4", "for (int c0 = 0; c0 < min(N, modd(N, 4)); c0 += 1)"),
    ],
)
def test_what_is_isolated_may_end_at_a_multiple_or_a_remainder(isolate, first):
    """Whose floor is a column of what is outside: projecting it away would leave i < N, or 0 <= i."""
    schedule = Schedule.parse(
        f"""{{ domain: "[N] -> {{ S[i] : 0 <= i < N }}", child: {{ schedule: "[N] -> [{{ S[i] -> [(i)] }}]",
              options: "[N] -> {{ isolate[[] -> [i]] : {isolate} }}" }} }}"""
    )
    found = scan(schedule)
    assert first in str(found) and str(found).count("S(") == 2
    for n in range(-2, 10):
        assert deviation(schedule, found, {"N": n}) is None


def test_what_is_isolated_has_a_dimension_for_each_member():
    wrong = tree("[N] -> { S[i] : 0 <= i < N }", band(S=["floor(i/4)", "i"], isolate=Set("{ [a] : a >= 0 }")))
    with pytest.raises(BadSchedule, match="has 1 dimensions, not 2"):
        scan(wrong)


def test_a_remainder_is_the_bound_of_a_partial_tile():
    isolate = Set("[N] -> { [a, b] : a >= 0 and 32a + 31 < N }")
    schedule = tree("[N] -> { S[i] : 0 <= i < N }", band(S=["floor(i/32)", "i mod 32"], isolate=isolate))
    got = text(schedule, "[N] -> { : N >= 1 }", [{"N": n} for n in (1, 31, 32, 33, 70)])
    assert got.split("\n") == [
        "for (int c0 = 0; c0 < N / 32; c0 += 1)",
        "  for (int c1 = 0; c1 < 32; c1 += 1)",
        "    S(32 * c0 + c1);",
        "for (int c1 = 0; c1 < N % 32; c1 += 1)",
        "  S(c1 + 32 * (N / 32));",
    ]


def test_alternatives_say_no_more_than_they_must():
    """Not `N <= 3 or (N >= 4 and M <= 3)`."""
    guard = Guard(Set("[N, M] -> { [] : N <= 3; [] : N >= 4 and M <= 3 }"), band(S=["i"]))
    got = text(
        tree("[N, M] -> { S[i] : 0 <= i < N }", guard), values=[{"N": n, "M": m} for n in (2, 4) for m in (3, 4)]
    )
    assert got.split("\n")[0] == "if (N <= 3 || M <= 3)"


def test_a_scan_has_a_budget():
    exprs = ["floor(i/32)", "floor(j/32)", "i mod 32", "j mod 32"]
    schedule = tree("[N] -> { S[i, j] : 0 <= i < N and i <= j < N }", band(S=exprs))
    with pytest.raises(BudgetExceeded, match=r"hint: .*allow more.*; or scan\(\.\.\., parted=False\)"), budget(1):
        scan(schedule)
    assert scan(schedule)


def _ranges(names):
    """A range from 0 to a size of its own for each statement: of n of them 2**n - 1 cells."""
    domain = "; ".join(f"{s}[i] : 0 <= i < N{s}" for s in names)
    return tree(f"[{', '.join('N' + s for s in names)}] -> {{ {domain} }}",
                band(loop_type="separate", **dict.fromkeys(names, ["i"])))  # fmt: skip


def test_cells_are_as_many_as_there_are_steps_for():
    """127 of seven ranges; of a part of the steps not so many."""
    schedule = _ranges("ABCDEFG")
    found = scan(schedule)
    assert found.notes == ()
    assert to_c(found).count("for (") == 127
    assert (
        deviation(schedule, found, {f"N{s}": n for s, n in zip("ABCDEFG", (3, 1, 4, 1, 5, 0, 2), strict=True)}) is None
    )
    with budget(200_000):
        assert scan(schedule).notes


def test_what_is_too_much_to_separate_is_told():
    found = scan(_ranges("ABCDEFGH"))
    (note,) = found.notes
    assert "A, B, C, D, E, F, G, H along member 0" in note
    assert to_c(found).count("for (") == 1
    assert scan(tree(TWO, band(S=["i"], T=["i"], loop_type="separate"))).notes == ()


def test_an_extent_of_an_unknown_name_is_refused():
    with pytest.raises(UnknownName, match=r"no member is mapped to blockIdx.x"):
        scan(tree("{ S[i] : 0 <= i < 4 }", band(S=["i"])), extents={"blockIdx.x": 4})


def test_a_name_without_values_leaves_the_rest_to_run():
    """The members of T are mapped, but T has no instances; S runs all the same."""
    mapped = Band((Member((("T", aff("i")),), True, "t"),))
    order = Sequence((Filter(("S",), band(S=["i"])), Filter(("T",), mapped)))
    schedule = tree("{ S[i] : 0 <= i < 3; T[i] : false }", order)
    assert scan(schedule).extents["t"] == aff(1)
    assert run(scan(schedule)) == [("S", (i,)) for i in range(3)]


def test_what_runs_for_each_value_of_a_name_without_values_would_never_run():
    """T is mapped to t, which has N values; S runs beside it, for each of them."""
    mapped = Band((Member((("T", aff("i")),), True, "t"),))

    def beside(condition):
        s = Filter(("S",), band(S=["i"]), Set(f"[N] -> {{ S[i] : {condition} }}"))
        return tree("[N] -> { S[i] : 0 <= i < 3; T[i] : 0 <= i < N }", Sequence((Filter(("T",), mapped), s)))

    with pytest.raises(NotScannable, match="where N is 0 or less t has no value, and instances run there") as found:
        scan(beside("i >= 1"))
    assert "context=Set('[N] -> { : N >= 1 }')" in str(found.value)
    assert_scans(beside("i >= 1"), [{"N": 1}, {"N": 5}], context=Set("[N] -> { : N >= 1 }"))
    assert_scans(beside("N >= 1"), [{"N": n} for n in (-1, 0, 1, 5)])


@pytest.mark.parametrize(("size", "error", "said"), [
    (0, BadArgument, "at least one value, not 0"), (-4, BadArgument, "not -4"), (True, BadArgument, "not True"),
    ("N", BadArgument, r'aff\("N"\) for the parameter N'), (aff("Q"), UnknownName, "speaks of Q, no parameter"),
    (aff("t"), UnknownName, "speaks of t, no parameter"),
])  # fmt: skip
def test_extents_that_count_nothing_are_refused(size, error, said):
    mapped = Band((Member((("S", aff("i")),), True, "t"),))
    with pytest.raises(error, match=said):
        scan(tree("[N] -> { S[i] : 0 <= i < N }", mapped), extents={"t": size})


@pytest.mark.parametrize(
    ("domain", "order", "said", "helps"),
    [
        ("[N] -> { S[i] : 1 <= i < N }", "i", "shift the values of t,", {"order": "i - 1"}),
        ("[N, M] -> { S[i] : M <= i < N }", "i", "shift the values of t,", {"order": "i - M"}),
        ("[N] -> { S[i] : 0 <= i < N }", "4*i + 1", "divide the values of t by 4", {"order": "i"}),
        ("[N, M] -> { S[i] : 0 <= i < N and i < M }", "i", "extents={'t': ...}", {"extents": {"t": 8}}),
        ("[N, M] -> { S[i] : 0 <= i < N and i < M }", "i", "in a context", {"context": "[N, M] -> { : N <= M }"}),
        ("[N] -> { S[i] : 0 <= i }", "i", "extents={'t': ...}", {"extents": {"t": aff("N")}}),
    ],
)
def test_what_is_said_of_values_that_do_not_run_from_0_to_one_bound(domain, order, said, helps):
    def mapped(order):
        member = Member((("S", parse_aff(order)),), name="t")
        return Schedule(Domain(Set(domain), Band((member,))))

    with pytest.raises(NotScannable, match="t does not run from 0 to one bound") as error:
        scan(mapped(order))
    assert said in error.value.hint
    assert ("shift" in error.value.hint) == ("order" in helps and order == "i")
    assert scan(mapped(helps.pop("order", order)), **helps).extents["t"]


def test_what_bounds_a_floor_alone_is_asked_without_it():
    """The rest behind isolated tiles of scaled loops: 4*floor(N/4) >= 0 is N >= 0, and then N % 4 is a remainder."""
    options = "[N] -> { isolate[[] -> [a]] : 0 <= a and a + 3 < N }"
    inner = '{ schedule: "[{ S[i] -> [(i mod 4)] }]" }'
    outer = f'{{ schedule: "[{{ S[i] -> [(4*floor(i/4))] }}]", options: "{options}", child: {inner} }}'
    loops = scan(Schedule.parse(f'{{ domain: "[N] -> {{ S[i] : 0 <= i < N }}", child: {outer} }}'))
    _, rest = to_c(loops, macros=False).split("if", 1)
    assert rest == " (N >= 0)\n  for (int c1 = 0; c1 < N % 4; c1 += 1)\n    S(c1 + 4 * (N / 4));"
    for n in range(-9, 10):
        assert sorted(run(loops, N=n)) == [("S", (i,)) for i in range(n)]


@pytest.mark.parametrize("wanted", [-1, 0, 1, 2, 3])
def test_a_guard_that_no_remainder_meets_lets_nothing_pass(wanted):
    """1 - 2j mod 3 is never -1, also where 1 - 2j is."""
    guard = Guard(Set(f"{{ [p] : p = {wanted} }}"), Leaf())
    domain = "{ S[i, j] : 0 <= i <= 3 and 0 <= j <= i }"
    found = text(tree(domain, band(guard, S=["1 - 2*j - 3*floor((1 - 2*j)/3)"])), values=[{}])
    assert bool(found) == (0 <= wanted < 3)
