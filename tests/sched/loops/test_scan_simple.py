"""Loops as one would write them by hand: strides, bounds and tests that say nothing twice."""

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Context, Domain, Filter, Guard, Leaf, Schedule, Sequence
from polyvolta.sets import Set
from polyvolta.sets.budgets import spend
from tests.sched.loops.oracle import assert_runs, assert_scans
from tests.sched.loops.test_scan_golden import band

SIZES = [{"N": n} for n in (2, 3, 4, 5, 6, 9, 30)]
HALVES = "[N] -> { S1[i] : 1 <= i < N - 1 and i mod 2 = 0; S2[i] : 1 <= i < N - 1 and 2*floor(i/2) < i }"

ALL = "[N] -> { S[i] : 0 <= i < N }"


def order(*names):
    return Sequence(tuple(Filter((name,)) for name in names))


def text(domain, root, context=None, sizes=SIZES):
    schedule, context = Schedule(Domain(Set(domain), root)), Set(context) if context else None
    assert_scans(schedule, sizes, context)
    return [line for line in to_c(scan(schedule, context)).splitlines() if line and not line.startswith("#define")]


def test_an_inequality_that_leaves_one_residue_is_a_stride():
    assert text("[N] -> { S[i] : 0 <= i < N and i mod 4 >= 3 }", band(S=["i"])) == [
        "for (int c0 = 3; c0 < N; c0 += 4)",
        "  S(c0);",
    ]


def test_a_remainder_that_has_one_value_left_is_equal_to_it():
    conditions = {  # of two remainders, and of one beside a size, nothing is left alone
        "N mod 4 <= 0": "if (N % 4 == 0)",
        "N mod 4 >= 3": "if ((N + 1) % 4 == 0)",
        "2*(M mod 4) >= 5": "if ((M + 1) % 4 == 0)",
        "2*(M mod 5) <= 1": "if (M % 5 == 0)",
        "N mod 4 >= 2": "if (N % 4 >= 2)",
        "(N mod 3) + (M mod 2) <= 0": "if (M % 2 + N % 3 <= 0)",
        "(N mod 3) + (M mod 2) >= 3": "if (M % 2 + N % 3 >= 3)",
        "(M mod 5) + N >= 9": "if (N + M % 5 >= 9)",
    }
    names = [f"S{k}" for k in range(len(conditions))]
    parts = "; ".join(f"{name}[] : {c}" for name, c in zip(names, conditions, strict=True))
    sizes = [{"N": n, "M": m} for n in range(12) for m in range(10)]
    found = text(f"[N, M] -> {{ {parts} }}", order(*names), "[N, M] -> { : N >= 0 and M >= 0 }", sizes)
    assert [line.replace("else if", "if") for line in found[::2]] == list(conditions.values())
    assert found[2] == "else if ((N + 1) % 4 == 0)"


def test_the_other_branch_of_a_parity_is_a_stride():
    root = Sequence((Filter(("S1",), band(S1=["i"])), Filter(("S2",), band(S2=["i"]))))
    assert text(HALVES, root, "[N] -> { : N >= 2 }") == [
        "for (int c0 = 2; c0 <= N - 2; c0 += 2)",
        "  S1(c0);",
        "for (int c0 = 1; c0 <= N - 2; c0 += 2)",
        "  S2(c0);",
    ]


def test_both_branches_of_a_parity_take_turns():
    """Counted from the odd values, both have the same lower bound."""
    assert text(HALVES, band(order("S1", "S2"), S1=["i"], S2=["i"]), "[N] -> { : N >= 2 }") == [
        "for (int c0 = 1; c0 <= N - 2; c0 += 2) {",
        "  S2(c0);",
        "  if (c0 + 3 <= N)",
        "    S1(c0 + 1);",
        "}",
    ]


def test_a_congruence_rounds_what_is_known():
    """Of c0 >= 1 it makes c0 >= 3."""
    domain = "[N] -> { S[i] : 1 <= i < N and i mod 6 = 1; T[i] : 1 <= i < N and i mod 4 = 3 }"
    assert text(domain, band(order("S", "T"), S=["i"], T=["i"])) == [
        "for (int c0 = 1; c0 < N; c0 += 2) {",
        "  if ((c0 - 1) % 6 == 0)",
        "    S(c0);",
        "  if ((c0 + 1) % 4 == 0)",
        "    T(c0);",
        "}",
    ]


def test_of_bounds_a_constant_apart_one_is_written():
    domain = "[K] -> { A[k] : k = 0; S[k] : 0 <= k < K or K < k <= 0; Z[k] : k = K }"
    sizes = [{"K": k} for k in range(-3, 4)]
    assert text(domain, band(order("A", "S", "Z"), A=["k"], S=["k"], Z=["k"]), sizes=sizes)[0] == (
        "for (int c0 = min(0, K); c0 <= max(0, K); c0 += 1) {"
    )


def test_a_bound_that_rounding_keeps_within_another_is_not_written():
    """floor((K - 1)/8) is at most floor(K/8)."""
    domain = "[K] -> { S[i] : 0 <= i <= 1; T[i] : -2 <= i and 8*i <= K; U[i] : -1 <= i and 8*i < K }"
    sizes = [{"K": k} for k in (-20, -16, -9, -8, -1, 0, 1, 7, 8, 9, 16, 20)]
    assert text(domain, band(order("S", "T", "U"), S=["i"], T=["i"], U=["i"]), sizes=sizes)[0] == (
        "for (int c0 = -2; c0 <= max(1, floord(K, 8)); c0 += 1) {"
    )


def test_divisions_that_steps_make_exact_need_no_floor():
    """c1 starts where c0 + c1 is even and takes steps of 2."""
    assert text("{ S[i, j] : 0 <= i < 5 and 0 <= j < 5 }", band(S=["-j - 2*i", "j"]), sizes=[{}]) == [
        "for (int c0 = -12; c0 <= 0; c0 += 1)",
        "  for (int c1 = max(-c0 - 8, modd(c0, 2)); c1 <= min(4, -c0); c1 += 2)",
        "    S(-(c0 + c1) / 2, c1);",
    ]
    assert text("[N] -> { S[i] : 0 <= i < N }", band(S=["-3*i"])) == [
        "for (int c0 = -3 * N + 3; c0 <= 0; c0 += 3)",
        "  S(-c0 / 3);",
    ]


def test_a_context_reduces_residues():
    filtered = Filter(("S",), band(S=["i"]), Set("[b] -> { S[i] : i mod 4 = b }"))
    root = Context(Set("[b] -> { [] : 0 <= b < 4 }"), filtered)
    sizes = [{"N": n, "b": b} for n in (5, 9) for b in range(4)]
    assert text("[N, b] -> { S[i] : 0 <= i < N }", root, sizes=sizes) == [
        "for (int c0 = b; c0 < N; c0 += 4)",
        "  S(c0);",
    ]


def test_an_equality_makes_a_residue():
    """2*c1 = c0 - 1 where c0 is odd; nothing else is asked."""
    domain = "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }"
    assert text(domain, band(order("S", "T"), S=["2*i + 1", "i"], T=["i", "0"])) == [
        "for (int c0 = 0; c0 < 2 * N; c0 += 1) {",
        "  if (c0 < N && (c0 == 0 || c0 >= 2))",
        "    T(c0);",
        "  if ((c0 + 1) % 2 == 0) {",
        "    S((c0 + 1) / 2 - 1);",
        "    if (c0 == 1 && c0 < N)",
        "      T(c0);",
        "  }",
        "}",
    ]


def test_of_loops_over_two_numbers_in_one_another_two_are_written_out():
    """Each of them would double the code."""
    apart = " and ".join(f"1 <= {d} <= 4 and {d} mod 3 = 1" for d in "ijkl")
    root = band(band(band(band(S=["l"]), S=["k"]), S=["j"]), S=["i"])
    assert text(f"{{ S[i, j, k, l] : {apart} }}", root, sizes=[{}]) == [
        "for (int c0 = 1; c0 <= 4; c0 += 3)",
        "  for (int c1 = 1; c1 <= 4; c1 += 3) {",
        *[f"    S(c0, c1, {k}, {m});" for k in (1, 4) for m in (1, 4)],
        "  }",
    ]


def test_guards_stay_where_asking_them_of_the_domain_takes_many_steps(monkeypatch):
    def endless(root):
        while True:
            spend(100)

    schedule = Schedule(Domain(Set(ALL), band(Guard(Set("[N] -> { [c] : N >= 3 }"), Leaf()), S=["i"])))
    monkeypatch.setattr("polyvolta.sched.loops.scan.met", endless)
    for n in range(5):
        assert_runs(schedule, scan(schedule), {"N": n})
