"""What bounds loops over statements that have instances at some places only, and what floors say of members."""

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.tree import Schedule
from tests.sched.loops.oracle import assert_scans

SIZES = [{"N": n, "M": m} for n in (-2, -1, 0, 1, 3, 6) for m in (-1, 0, 2, 3)]


def lines(domain, schedule, loop_type="default", sizes=SIZES):
    """The lines of the loops of one band, which are run first."""
    options = f', options: "{{ {loop_type}[0] }}"' if loop_type != "default" else ""
    tree = Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "{schedule}"{options} }} }}')
    found = assert_scans(tree, sizes)
    return to_c(found, macros=False).split("\n")


def test_a_bound_counts_where_its_statement_has_a_value():
    """T runs at 0 if M is even, U at N: the loop of both has no more than one iteration where M is odd."""
    domain = "[N, M] -> { T[] : M mod 2 = 0; U[] }"
    assert lines(domain, "[N, M] -> [{ T[] -> [(0)]; U[] -> [(N)] }]", "atomic") == [
        "for (int c0 = min(N, (M % 2 == 0 ? 0 : N)); c0 <= max(N, (M % 2 == 0 ? 0 : N)); c0 += 1) {",
        "  if (c0 == 0 && M % 2 == 0)",
        "    T();",
        "  if (c0 == N)",
        "    U();",
        "}",
    ]


def test_a_loop_over_statements_that_may_all_be_missing():
    domain = "[N, M] -> { T[] : M >= 2; U[] : M <= 0 }"
    got = lines(domain, "[N, M] -> [{ T[] -> [(0)]; U[] -> [(N)] }]", "atomic")
    assert not any("max" in line for line in got), got  # never at one place: each alone


def test_more_than_two_bounds_may_count_or_not():
    """One case a statement: the bound of one that is missing is beyond the loop's end."""
    domain = (
        "[N, M] -> { S[i] : M mod 2 = 0 and N <= i <= 9; T[i] : M mod 3 = 0 and -N <= i <= 9; "
        "U[i] : M mod 5 = 0 and 2*N <= i <= 9 }"
    )
    got = lines(domain, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)] }]", "atomic")
    loop = next(line for line in got if "for" in line)
    assert [f"M % {d} == 0" in loop for d in (2, 3, 5)] == [True] * 3 and loop.count(" : 10)") == 3, loop


def test_conditions_that_bounds_say_stand_outside():
    """Both run between N and 5 only; without the condition the loop would run from 0 for any N."""
    domain = "[N] -> { S[i] : N <= i <= 5; T[] : N <= 2 }"
    sizes = [{"N": n} for n in (-3, 0, 2, 3, 5, 6, 9)]
    got = lines(domain, "[N] -> [{ S[i] -> [(i)]; T[] -> [(0)] }]", "atomic", sizes)
    assert got[0].startswith("if (N <= 5)"), got


def test_a_floor_of_what_is_outside_is_a_value():
    """floor((i mod 4)/3) is known where i is: no loop looks for it."""
    domain = "[N] -> { S[i] : 0 <= i <= N }"
    tree = Schedule.parse(
        f'{{ domain: "{domain}", child: {{ schedule: "[N] -> [{{ S[i] -> [(i)] }}]", '
        'child: { schedule: "[N] -> [{ S[i] -> [(floor((i mod 4)/3))] }]" } } }'
    )
    found = assert_scans(tree, [{"N": n} for n in (-1, 0, 3, 9)])
    assert to_c(found) == "for (int c0 = 0; c0 <= N; c0 += 1)\n  S(c0);"


def test_two_floors_of_one_number_are_one():
    """The p of which 4p is in a window of four is also the floor of the window's end."""
    domain = "[N] -> { S[t, i] : 0 <= t <= 1 and 0 <= i <= N and exists (p : i - t <= 4*p <= i + 3 - t and 4*p <= i) }"
    sizes = [{"N": n} for n in (-1, 0, 5, 9)]
    got = lines(
        domain,
        "[N] -> [{ S[t, i] -> [(floor((i - t + 3)/4))] }, { S[t, i] -> [(t)] }, { S[t, i] -> [(i)] }]",
        sizes=sizes,
    )
    assert not any("%" in line or "floor" in line and "if" in line for line in got), got


def test_nothing_is_isolated_where_no_loop_is_left():
    tree = Schedule.parse(
        '{ domain: "[N] -> { S[i] : 0 <= i <= N }", child: { schedule: "[N] -> [{ S[i] -> [(i)] }]", child: {'
        ' schedule: "[N] -> [{ S[i] -> [(2*i + N)] }]", options: "[N] -> { isolate[[p] -> [q]] : 2 <= q <= 4 }" } } }'
    )
    found = assert_scans(tree, [{"N": n} for n in (-1, 0, 3, 9)])
    assert to_c(found) == "for (int c0 = 0; c0 <= N; c0 += 1)\n  S(c0);"
