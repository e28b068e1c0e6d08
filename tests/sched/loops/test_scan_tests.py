"""How many tests loops run: where sizes double, twice as many if there are twice as many instances."""

import re
from collections.abc import Mapping, Sequence

from polyvolta.sched.loops.ast import Block, If
from polyvolta.sched.loops.scan import Scan, scan
from polyvolta.sched.tree import Band, Domain, Filter, Mark, Member, Schedule
from polyvolta.sched.tree import Sequence as SequenceNode
from polyvolta.sets import Set, budget, var
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation


def tree(domain: str, *members: str) -> Schedule:
    """A tree of one band."""
    band = ", ".join(f"{{ {m} }}" for m in members)
    return Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "[N] -> [{band}]" }} }}')


def found(schedule: Schedule, sizes: Sequence[Mapping[str, int]], context: str | None = None) -> Scan:
    """The loops, which must visit the instances of the tree in its order at some sizes."""
    out = scan(schedule, context=context)
    for size in sizes:
        assert deviation(schedule, out, dict(size)) is None, size
    return out


SIZES = [{"N": n} for n in (0, 1, 2, 3, 7, 8, 20)]


def test_the_first_row_and_the_last_one_are_no_square_where_there_is_a_column():
    got = tree(
        "[N] -> { L[j] : 0 <= j < N; R[j] : 0 <= j < N; T[i] : 0 <= i < N }",
        "L[j] -> [(0)]; R[j] -> [(N - 1)]; T[i] -> [(i)]",
        "L[j] -> [(j)]; R[j] -> [(j)]; T[i] -> [(0)]",
        "L[j] -> [(0)]; R[j] -> [(1)]; T[i] -> [(2)]",
    )
    loops = found(got, SIZES)
    assert counted(loops.body, {"N": 200}) < 2.5 * counted(loops.body, {"N": 100})  # not a loop over the square


def test_a_loop_runs_between_the_common_bounds_where_a_statement_alone_is_never_far_from_them():
    """ceil(c0/3) <= c1 <= floor(c0/2) on all three; I is alone at c0 = 0 only, though not always where S is."""
    got = tree(
        "[N] -> { I[i] : 0 <= i < N; S[i, j] : 0 <= j < i < N; D[i] : 0 <= i < N }",
        "I[i] -> [(2i)]; S[i, j] -> [(2i + j)]; D[i] -> [(3i)]",
        "I[i] -> [(i)]; S[i, j] -> [(i)]; D[i] -> [(i)]",
        "I[i] -> [(0)]; S[i, j] -> [(1)]; D[i] -> [(2)]",
    )
    loops = found(got, SIZES)
    text = str(loops)
    assert "for (int c1 = (c0 + 2) / 3;" in text and not re.search(r"c1 == c0 &&|&& . \* c1 == c0", text), text


def test_a_long_loop_is_tested_before_where_nothing_runs_in_it():
    """Where 16p >= N there is nothing for any t."""
    got = Schedule.parse(
        '{ domain: "[T, N, p] -> { S[t, i] : 0 <= t < T and 16p <= i <= 16p + 15 and 1 <= i < N - 1; '
        'L[t] : 0 <= t < T and 1 <= p and 16p < N; R[t] : 0 <= t < T and 16p + 16 < N }", '
        'child: { schedule: "[{ S[t, i] -> [(t)]; L[t] -> [(t)]; R[t] -> [(t)] }]", child: { sequence: ['
        '{ filter: "{ S[t, i] }" }, { filter: "{ L[t] }" }, { filter: "{ R[t] }" } ] } } }'
    )
    sizes = [{"T": t, "N": n, "p": p} for t in (0, 3) for n in (0, 2, 3, 16, 17, 18, 40) for p in (0, 1, 2, 3)]
    loops = found(got, sizes, "[p] -> { : 0 <= p <= 7 }")
    assert "if (16 * p < N && N >= 3)" in str(loops), loops
    assert counted(loops.body, {"T": 1000, "N": 100, "p": 7}) <= 2


def test_a_congruence_that_the_strides_of_two_loops_ensure_is_not_tested():
    """c1 is 3j where c0 is 2i and i + j is even: of every c0, c1 is known modulo 6."""
    got = tree(
        "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N and (i + j) mod 2 = 0;"
        " T[i, j] : 0 <= i < N and 0 <= j < N and (i + j) mod 2 = 1 }",
        "S[i, j] -> [(2i)]; T[i, j] -> [(2i)]",
        "S[i, j] -> [(3j)]; T[i, j] -> [(3j - 3)]",
        "S[i, j] -> [(0)]; T[i, j] -> [(1)]",
    )
    text = str(found(got, SIZES)).split("\n", 2)[2]
    assert "c1 += 6" in text and "% 12" not in text, text


def test_two_levels_of_tiles_of_every_second_point_start_at_their_corners():
    """A tile of 32 starts on the grid of 8: nothing is added to it, and nothing is tested that this says."""
    got = tree(
        "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N and (i + j) mod 2 = 0 }",
        "S[i, j] -> [(16*floor(i/16))]",
        "S[i, j] -> [(16*floor(j/16))]",
        "S[i, j] -> [(4*floor((i mod 16)/4))]",
        "S[i, j] -> [(4*floor((j mod 16)/4))]",
        "S[i, j] -> [(i mod 4)]",
        "S[i, j] -> [(j mod 4)]",
    )
    text = str(found(got, SIZES))
    assert (
        text.count("for (") == 6
        and re.search(r" = 0; c2 < min\(1[36], N - c0\); c2 \+= 4", text)
        and "if (" not in text
    ), text


def test_a_first_statement_of_a_set_of_sequences_stands_before_the_loop_of_the_others():
    """isl's scheduler writes I at 0 beside S from 0 to i, and has a set of independent sequences below."""
    got = Schedule.parse(
        '{ domain: "[N] -> { I[i] : 0 <= i < N; S[i, j] : 0 <= j < i < N; E[i] : 0 <= i < N }", child: {'
        'schedule: "[N] -> [{ I[i] -> [(i)]; S[i, j] -> [(i)]; E[i] -> [(i)] },'
        ' { I[i] -> [(0)]; S[i, j] -> [(j)]; E[i] -> [(N)] }]", child: { set: ['
        '{ filter: "{ I[i]; S[i, j] }", child: { sequence: [{ filter: "{ I[i] }" }, { filter: "{ S[i, j] }" }] } },'
        ' { filter: "{ E[i] }" } ] } } }'
    )
    assert str(found(got, SIZES)).split("\n") == [
        "for (int c0 = 0; c0 < N; c0 += 1) {",
        "  I(c0);",
        "  for (int c1 = 0; c1 < c0; c1 += 1)",
        "    S(c0, c1);",
        "  E(c0);",
        "}",
    ]


def test_numbers_in_a_band_below_say_whose_turn_it_is():
    got = Schedule.parse(
        '{ domain: "[N] -> { I[i] : 0 <= i < N; S[i, j] : 0 <= j < i < N }", child: {'
        'schedule: "[{ I[i] -> [(i)]; S[i, j] -> [(i)] }, { I[i] -> [(0)]; S[i, j] -> [(j)] }]", child: {'
        'schedule: "[{ I[i] -> [(0)]; S[i, j] -> [(1)] }]" } } }'
    )
    assert str(found(got, SIZES)).count("if (") == 0
    backwards = Schedule.parse(
        got.to_isl().replace("I[i] -> [(0)]; S[i, j] -> [(1)]", "I[i] -> [(2)]; S[i, j] -> [(1)]")
    )
    found(backwards, SIZES)


def test_where_one_statement_has_all_values_of_the_others_its_loop_is_no_longer_for_them():
    """F is at 0, which R has as well wherever it has any: F alone, where M <= 0, is no reason to test R inside."""
    got = tree(
        "[N, M] -> { R[i, j] : 0 <= i < M and 0 <= j < N; F[j] : 0 <= j < N }",
        "R[i, j] -> [(i)]; F[j] -> [(0)]",
        "R[i, j] -> [(j)]; F[j] -> [(j)]",
        "R[i, j] -> [(1)]; F[j] -> [(0)]",
    )
    loops = found(got, [{"N": n, "M": m} for n in (0, 1, 5) for m in (-1, 0, 1, 4)])
    text = str(loops)
    assert "  for (int c0 = 0; c0 < M; c0 += 1)\n" in text and "1 ? " not in text and "if (c0 < M)" not in text, text


def test_bounds_that_count_at_one_value_outside_are_compared_there():
    """c1 starts at c0, of S at 0 where c0 is 0: one bound, and no case that never comes."""
    got = Schedule.parse(
        '{ domain: "[N] -> { S[i] : 0 <= i < N; T[i, j] : 0 <= j < i < N; U[i] : 0 <= i < N }", child: {'
        'schedule: "[{ S[i] -> [(0)]; T[i, j] -> [(8*floor(j/8))]; U[i] -> [(8*floor(i/8))] },'
        ' { S[i] -> [(8*floor(i/8))]; T[i, j] -> [(8*floor(i/8))]; U[i] -> [(8*floor(i/8))] }]", child: {'
        'schedule: "[{ S[i] -> [(0)]; T[i, j] -> [(j mod 8)]; U[i] -> [(i mod 8)] },'
        ' { S[i] -> [(i mod 8)]; T[i, j] -> [(i mod 8)]; U[i] -> [(i mod 8)] }]" } } }'
    )
    text = str(found(got, SIZES))
    assert "for (int c1 = c0; c1 < N; c1 += 8)" in text and "0 ? " not in text, text


def test_of_ranges_that_are_too_many_to_separate_what_all_share_is_separate():
    """Seventeen ranges within one another: in the innermost one nothing is tested."""
    names = range(17)
    got = Schedule.parse(
        '{ domain: "[N] -> { ' + "; ".join(f"S{k}[i] : {k} <= i < N - {k}" for k in names) + ' }", child: {'
        'schedule: "[{ ' + "; ".join(f"S{k}[i] -> [(i)]" for k in names) + ' }]", options: "{ separate[0] }", child: {'
        'schedule: "[{ ' + "; ".join(f"S{k}[i] -> [({k})]" for k in names) + ' }]" } } }'
    )
    loops = found(got, [{"N": n} for n in (0, 1, 10, 11, 20, 21, 22, 23, 30, 32, 33, 34, 40)])
    assert loops.notes
    assert counted(loops.body, {"N": 2000}) - counted(loops.body, {"N": 1000}) == 1000


def test_ranges_that_are_too_many_to_separate_and_share_nothing_keep_their_instances():
    names = range(12)
    got = Schedule.parse(
        '{ domain: "[N, M] -> { ' + "; ".join(f"S{k}[i] : {k}M <= i < {k}M + N" for k in names) + ' }", child: {'
        'schedule: "[{ ' + "; ".join(f"S{k}[i] -> [(i)]" for k in names) + ' }]", options: "{ separate[0] }" } }'
    )
    with budget(120_000):
        loops = found(got, [{"N": n, "M": m} for n in (0, 3, 8) for m in (-1, 0, 1, 5)])
    assert len(str(loops).splitlines()) < 60
    apart = Schedule.parse(
        '{ domain: "[N] -> { '
        + "; ".join(f"S{k}[i] : {k} <= i <= {k + 1} and N >= {k}" for k in range(12))
        + ' }", child: {'
        'schedule: "[{ ' + "; ".join(f"S{k}[i] -> [(2i)]" for k in range(12)) + ' }]", options: "{ separate[0] }" } }'
    )
    found(apart, [{"N": n} for n in (0, 3, 8, 20)])


def test_a_band_without_members_has_no_loop():
    got = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), Band(())))
    assert str(found(got, SIZES)) == "for (int c0 = 0; c0 < N; c0 += 1)\n  S(c0);"


def test_many_values_that_one_statement_has_alone_have_a_loop_of_their_own():
    """A runs from -9N, B, C and D from 0 to N, interleaved: what these ask is not asked before 0."""
    got = tree(
        "[N] -> { A[i] : -9N <= i < N; B[i] : 0 <= i < N; C[i] : 1 <= i < N; D[i] : 2 <= i < N }",
        "A[i] -> [(2i)]; B[i] -> [(2i)]; C[i] -> [(2i)]; D[i] -> [(2i)]",
        "A[i] -> [(1)]; B[i] -> [(0)]; C[i] -> [(2)]; D[i] -> [(3)]",
    )
    loops = found(got, [{"N": n} for n in (0, 1, 2, 3, 7)])
    assert counted(loops.body, {"N": 100}) <= 9 * 100 + 4 * 100 + 20


def test_floors_whose_remainders_are_of_columns_that_these_floors_say_something_of_end():
    """A residue of c1 is of a floor, and what is in the floor has a residue of c1 (campaign, seed 2026, case 1092)."""
    got = Schedule.parse(
        '{ domain: "[N] -> { S[i] : N <= i <= N + 4 and i <= 0; T[i] : 0 <= i <= 3; T[i] : 0 <= i <= N;'
        ' U[i, j] : 0 <= 2*i <= N + 1 and 0 <= j <= 3 }", child: { mark: "members: -, -, t1, -", child: {'
        ' schedule: "[N] -> [{ S[i] -> [(2*i)]; T[i] -> [(floor(((i mod 3) + 1)/2))]; U[i, j] -> [(i)] },'
        " { S[i] -> [(floor(i/6))]; T[i] -> [(-i)]; U[i, j] -> [(floor((j - 2*i + 3)/4) - 1)] },"
        " { S[i] -> [(4*i - 3*floor((4*i)/3))]; T[i] -> [((i + 1) mod 3)]; U[i, j] -> [((2*i + 1) mod 3)] },"
        ' { S[i] -> [(floor(i/3))]; T[i] -> [(1 - 2*i)]; U[i, j] -> [(floor((j + 1)/2) - i - 1)] }]", child: {'
        ' schedule: "[{ S[i] -> [(3*i)]; T[i] -> [(i)]; U[i, j] -> [(i)] }]", child: { sequence: ['
        ' { filter: "{ S[i] }" }, { filter: "{ T[i] }" }, { filter: "{ U[i, j] }" } ] } } } } }'
    )
    found(got, [{"N": n} for n in (0, 2, 5)])


def test_tiles_of_two_sizes_with_a_diagonal_run_through_the_diagonal_once():
    """k is 65c - 64d modulo 160, so c modulo 32 and d modulo 5, and in a tile that is what is left of k."""
    got = tree(
        "[N] -> { D[k, a, b, c, d] : 0 <= k < N and k - 31 <= a <= k and k - 4 <= b <= k and 0 <= c <= 31"
        " and 0 <= d <= 4 and a mod 32 = 0 and b mod 5 = 0 and (k - 65c + 64d) mod 160 = 0 }",
        "D[k, a, b, c, d] -> [(a)]",
        "D[k, a, b, c, d] -> [(b)]",
        "D[k, a, b, c, d] -> [(c)]",
        "D[k, a, b, c, d] -> [(d)]",
    )
    loops = found(got, [{"N": n} for n in (0, 1, 4, 5, 6, 31, 32, 33, 40)])
    assert "D(c0 + c2," in str(loops) and "% 160" not in str(loops), loops
    assert counted(loops.body, {"N": 160}) <= 2 * 160


def test_tiles_that_a_processor_has_of_two_blocks_are_in_the_steps_of_both():
    """Tiles of 16 that are b's modulo 32 and d's modulo 48, and of each the row of a thread x: of c0 + x it is c0."""
    got = Schedule.parse("""{ domain: "[N] -> { S[t, i] : 0 <= t < N and 0 <= i < N }", child: {
        context: "[b, d, x] -> { [] : 0 <= b <= 1 and 0 <= d <= 2 and 0 <= x <= 15 }", child: {
        filter: "[b, d] -> { S[t, i] : 16b <= t - 32*floor(t/32) <= 16b + 15 and
            16d <= t - 48*floor(t/48) <= 16d + 15 }", child: {
        schedule: "[{ S[t, i] -> [(t - t mod 16)] }, { S[t, i] -> [(t - t mod 16)] }]", child: {
        filter: "[x] -> { S[t, i] : (t - x) mod 16 = 0 }", child: {
        schedule: "[{ S[t, i] -> [(t mod 16)] }, { S[t, i] -> [(t + i)] }]" } } } } } }""")
    sizes = [{"N": n, "b": b, "d": d, "x": 3 * (n % 2)} for n in (0, 1, 17, 40) for b in (0, 1) for d in (0, 1, 2)]
    text = str(found(got, sizes))
    assert "c0 += 96" in text and "S(c0 + x," in text and text.count("if (") == 1, text


def test_a_remainder_beyond_steps_of_a_parameter_is_none_of_the_steps():
    """c0 is 16b modulo 48, and so a multiple of 16: of c0 + 5 the tile is that of c0."""
    got = Schedule.parse("""{ domain: "[N, b] -> { S[t, j] : 0 <= t < N and 0 <= j < N and 0 <= b <= 2 and
        16b <= t - 48*floor(t/48) <= 16b + 15 and t mod 16 = 5 }", child: {
        schedule: "[{ S[t, j] -> [(16*floor(t/16))] }, { S[t, j] -> [(j + t)] }, { S[t, j] -> [(t mod 16)] }]" } }""")
    text = str(found(got, [{"N": n, "b": b} for n in (0, 5, 6, 21, 22, 37, 60) for b in (0, 1, 2)]))
    assert "c0 += 48" in text and "S(c0 + 5, c1 - c0 - 5);" in text and "% 16" not in text, text


def test_what_runs_at_the_end_of_a_tile_stands_behind_the_loop_of_the_tiles():
    """T is in the tile of N, behind all points there, as the band below says; its points are written out."""
    got = Schedule.parse("""{ domain: "[N] -> { S[k] : 0 <= k < N; T[] }", child: {
        schedule: "[N] -> [{ S[k] -> [(2*floor(k/2))]; T[] -> [(2*floor(N/2))] }]", child: {
        schedule: "[N] -> [{ S[k] -> [(k mod 2)]; T[] -> [(N mod 2)] }]", options: "{ unroll[0] }" } } }""")
    sizes = [{"N": n} for n in (-3, -2, -1, 0, 1, 2, 3, 7, 8)]
    loops = found(got, sizes)
    assert str(loops).endswith("\nT();") and counted(loops.body, {"N": 100}) <= 2 * 50 + 1, loops


def test_what_runs_within_a_tile_stays_in_it():
    """T is at the second point of the last tile: of three points one comes after it."""
    got = Schedule.parse("""{ domain: "[N] -> { S[k] : 0 <= k < N; T[] : N >= 3 }", child: {
        schedule: "[N] -> [{ S[k] -> [(3*floor(k/3))]; T[] -> [(3*floor((N - 1)/3))] }]", child: {
        schedule: "[N] -> [{ S[k] -> [(k mod 3)]; T[] -> [(1)] }]" } } }""")
    found(got, [{"N": n} for n in (0, 1, 2, 3, 4, 5, 6, 7, 8)])


def test_where_some_statements_end_beside_the_value_of_one_it_stands_behind_their_loop():
    """Backwards A and C are at j = -1 and below, B is at j = 0 as well, after the one D there."""
    got = Schedule.parse("""{ domain: "[M, N] -> { A[i, j] : 0 <= i < N and 0 < j < M;
        B[i, j] : 1 <= i < N and 0 <= j < M; C[i, j] : 1 <= i < N and 0 < j < M; D[i] : 0 <= i < N }", child: {
        schedule: "[{ A[i, j] -> [(-i)]; B[i, j] -> [(-i)]; C[i, j] -> [(-i)]; D[i] -> [(-i)] },
        { A[i, j] -> [(-j)]; B[i, j] -> [(-j)]; C[i, j] -> [(-j)]; D[i] -> [(0)] }]", child: { sequence: [
        { filter: "{ D[i] }" }, { filter: "{ A[i, j] }" }, { filter: "{ B[i, j] }" },
        { filter: "{ C[i, j] }" } ] } } }""")
    loops = found(got, [{"M": m, "N": n} for m in (-1, 0, 1, 2, 3) for n in (0, 1, 2, 3)])
    assert counted(loops.body, {"M": 100, "N": 100}) < 2.1 * 100 * 100, loops  # no test of j in a loop of j


def test_bounds_are_not_left_out_for_the_sake_of_each_other():
    """A lower and an upper bound each of which follows from the other one: without both, both are tested inside."""
    got = tree(
        "[N] -> { S[j, i] : 0 <= j < N and 5i <= 5j - N and 3i <= 2N - 2j and 4i <= 2N + 3j + 3 and 2i >= j - N - 1"
        " and 7i <= -2j - 5 and 4i <= 2N - 2j + 3 and 5i >= -3j - 7 }",
        "S[j, i] -> [(j)]",
        "S[j, i] -> [(i)]",
    )
    assert "if (c0" not in str(found(got, [{"N": n} for n in range(14)]))


def test_what_is_needed_of_a_name_below_a_mark_is_not_tested_above_it():
    """Of sizes it is: the kernel isn't launched then. But of its threads nothing is known before."""
    nest = lambda s: Band((Member(((s, var("i")),), True, "t"), Member(((s, var("j")),))))  # noqa: E731
    parts = SequenceNode(tuple(Filter((s,), nest(s)) for s in "ST"))
    for bound, outside in (("i + j + N <= {}", Block), ("j + N <= {}", If)):
        domain = "; ".join(f"{s}[i, j] : 0 <= i < 8 and 0 <= j and {bound.format(n)}" for s, n in (("S", 3), ("T", 2)))
        (top,) = scan(Schedule(Domain(Set(f"[N] -> {{ {domain} }}"), Mark("kernel", parts))), extents={"t": 8}).body
        assert isinstance(top, outside)


def test_what_is_between_numbers_is_small_where_other_sizes_are_large():
    """At p = 3 and N = 40 nothing runs for any t, though p is at most 3 where N = p."""
    got = Schedule.parse(
        '{ domain: "[N, p] -> { S[t, i] : 0 <= t < N and 16p <= i <= 16p + 15 and 0 <= i < N; '
        'L[t] : 0 <= t < N and 1 <= p and 16p < N; R[t] : 0 <= t < N and 16p + 16 < N }", '
        'child: { schedule: "[{ S[t, i] -> [(t)]; L[t] -> [(t)]; R[t] -> [(t)] }]", child: { sequence: '
        '[ { filter: "{ L[t] }" }, { filter: "{ S[t, i] }" }, { filter: "{ R[t] }" } ] } } }'
    )
    context = "[N, p] -> { : 0 <= p <= 3 and N >= 1 }"
    loops = found(got, [{"N": n, "p": p} for n in (1, 16, 17, 40) for p in (0, 1, 3)], context)
    assert counted(loops.body, {"N": 40, "p": 3}) == 1


def test_digits_of_few_numbers_make_few_tests():
    """Of 0 <= c0 + 8*c1 + 64*c2 + 512*c3 < N the digits c0, c1 and c2 have no values beyond N."""
    got = tree(
        "[N] -> { S[i] : 0 <= i < N }",
        "S[i] -> [(i mod 8)]",
        "S[i] -> [(floor(i/8) mod 8)]",
        "S[i] -> [(floor(i/64) mod 8)]",
        "S[i] -> [(floor(i/512))]",
    )
    loops = found(got, [*SIZES, {"N": 70}, {"N": 600}])
    assert counted(loops.body, {"N": 1}) == 8


def test_remainders_of_a_sum_are_as_few_as_the_sums():
    """i + j <= 2N - 2, though 64*t + c0 = i + j says so of c0 where t is 0 at least, which integers say alone."""
    got = tree("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }", "S[i, j] -> [((i + j) mod 64)]", "S[i, j] -> [(i)]")
    loops = found(got, SIZES)
    assert counted(loops.body, {"N": 1}) < 8


def test_the_steady_state_of_a_pipeline_is_untested():
    """At N = 1 a loop over both would find nothing at 1 and 2: these are several loops, what both have is one."""
    got = tree("[N] -> { L[i] : 0 <= i < N; W[i] : 0 <= i < N }", "L[i] -> [(i)]; W[i] -> [(i + 3)]")
    loops = found(got, SIZES)
    assert "  L(c0);\n  W(c0 - 3);\n}" in str(loops), str(loops)
    assert counted(loops.body, {"N": 2000}) - counted(loops.body, {"N": 1000}) == 1000
    near = tree("[N] -> { L[i] : 0 <= i < N; W[i] : 0 <= i < N }", "L[i] -> [(i)]; W[i] -> [(i + 1)]")
    assert str(found(near, SIZES)).count("for ") == 1


def test_what_all_stages_of_a_strided_pipeline_have_is_between_common_bounds():
    """Before the steady state the values of L, which are odd, go to 3 and not to 4, as C's do."""
    stages = "L[i] -> [(2i)]; C[i] -> [(2i + 3)]; W[i] -> [(2i + 5)]"
    got = tree("[N] -> { L[i] : 0 <= i < N; C[i] : 0 <= i < N; W[i] : 0 <= i < N }", stages)
    loops = found(got, SIZES)
    assert counted(loops.body, {"N": 2000}) - counted(loops.body, {"N": 1000}) == 1000


def test_what_two_rows_of_polygons_share_is_apart_from_what_each_has_alone():
    """A parallelogram and a strip, neither of which begins and ends first in all rows."""
    got = tree(
        "[N] -> { A[i, j] : 0 <= i < 2N and i - N <= j <= i; B[i, j] : 0 <= i < 2N and 0 <= j < N }",
        "A[i, j] -> [(i)]; B[i, j] -> [(i)]",
        "A[i, j] -> [(j)]; B[i, j] -> [(j)]",
    )
    loops = found(got, SIZES[:5])
    assert counted(loops.body, {"N": 40}) < 3.5 * 40**2  # 3N^2 places, and five loops a row


def test_seven_ranges_that_begin_one_after_another_are_separate():
    got = Schedule.parse(
        '{ domain: "[N] -> { ' + "; ".join(f"S{k}[i] : {k} <= i < N + {k}" for k in range(7)) + ' }", child: {'
        'schedule: "[{ ' + "; ".join(f"S{k}[i] -> [(i)]" for k in range(7)) + ' }]", options: "{ separate[0] }" } }'
    )
    loops = found(got, [{"N": n} for n in (0, 1, 3, 6, 7, 12)])
    assert not loops.notes
    assert counted(loops.body, {"N": 4}) < 30


def test_a_loop_as_long_as_a_size_is_not_run_for_one_inside_that_another_size_leaves_empty():
    """isl's code asks for M >= 4 as well; loops over c2 <= c1 would find nothing 23 times as often where N is 1000."""
    got = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j, k] : N <= 2i <= N + 4 and 0 <= j <= 2 and 1 <= k and 2k <= j + 1;
             S[i, j, k] : 1 <= i and 2i <= N + 1 and 0 <= j <= i and 3 <= k < M and k mod 3 = 0;
             T[i, j] : M + i >= 3 and N <= 2i <= N + 6 and N - 1 <= j <= 4;
             T[i, j] : i <= 1 - M and N <= 2i <= N + 6 and N - 1 <= j <= 4 }", child: { sequence: [
             { filter: "{ S[i, j, k] }", child: { schedule: "[N, M] -> [
               { S[i, j, k] -> [(N + j - 4*floor((N + j + 3)/4) + 4)] }]" } },
             { filter: "{ T[i, j] }", child: { schedule: "[{ T[i, j] -> [(floor(j/4))] },
               { T[i, j] -> [(floor(j/2) - 2*floor(j/4))] }]", options: "{ unroll[1] }" } } ] } }"""
    )
    loops = found(got, [{"N": n, "M": m} for n in (-1, 1, 2, 3, 6, 9) for m in (-2, 1, 2, 4, 5, 8)])
    assert [counted(loops.body, {"N": n, "M": 1}) for n in (40, 1000)] == [20, 20]
    assert counted(loops.body, {"N": 40, "M": 8}) == 1100


def test_what_one_of_three_has_alone_is_apart_in_a_loop_that_is_cut_at_holes():
    """Each of its many values would ask for the others, which an atomic loop inside has."""
    got = Schedule.parse(
        """{ domain: "[N, M] -> { S[i] : M - 1 <= i <= 5; T[i] : M <= 2 and 0 <= i <= N;
             T[i] : M >= 4 and 0 <= i <= N }", child: { schedule: "[N, M] -> [{ S[i] -> [3i]; T[i] -> [i - M + 1] }]",
             child: { schedule: "[{ S[i] -> [floor(i/4)]; T[i] -> [floor((3i + 3)/16)] }]",
             options: "{ atomic[0] }" } } }"""
    )
    loops = found(got, [{"N": n, "M": m} for n in (-1, 1, 3, 9, 12) for m in (-4, -1, 0, 1, 2, 3, 4, 5, 6, 8)])
    assert [counted(loops.body, {"N": n, "M": 1}) for n in (40, 240)] == [139, 339]


def test_a_loop_beside_others_at_the_top_is_not_run_for_one_inside_that_another_size_leaves_empty():
    got = Schedule.parse(
        """{ domain: "[N, M] -> { S[i] : N <= i <= N + 1; T[i, j] : 1 <= i < N and 3 <= j < M }", child: { sequence: [
             { filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]" } },
             { filter: "{ T[i, j] }", child: { schedule: "[{ T[i, j] -> [(i)] }, { T[i, j] -> [(j)] }]" } } ] } }"""
    )
    loops = found(got, [{"N": n, "M": m} for n in (-1, 0, 1, 2, 5) for m in (-2, 1, 3, 4, 7)])
    assert [counted(loops.body, {"N": n, "M": 3}) for n in (40, 1000)] == [4, 4]


def test_sizes_are_asked_for_before_the_last_of_three_loops_each_of_which_has_a_size_of_its_own():
    """isl's code asks for M >= 3, too: 31 tests. Without it 1527 are made where N is 1000."""
    got = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j] : 0 <= i <= 4 and 0 <= j <= M;
             T[i, j, k] : i >= 2 and 2i <= N + 1 and j >= 1 and 2j <= M + 1 and 1 <= k < j;
             T[0, j, k] : N >= -1 and j >= 1 and 2j <= M + 1 and 1 <= k < j }", child: { schedule: "[N] -> [
             { S[i, j] -> [(1)]; T[i, j, k] -> [(2*floor(i/2))] },
             { S[i, j] -> [(floor(i/3))]; T[i, j, k] -> [(i + 1)] },
             { S[i, j] -> [(2N - 2i - 1)]; T[i, j, k] -> [(j - 2*floor(j/2))] }]", options: "{ separate[1] }" } }"""
    )
    loops = found(got, [{"N": n, "M": m} for n in (-1, 0, 1, 3, 6) for m in (-1, 1, 2, 3, 4, 6)])
    assert counted(loops.body, {"N": 1000, "M": 1}) <= 31


def test_few_values_of_a_long_loop_that_most_conditions_are_for_have_a_branch_of_their_own():
    """From c0 = 3 on U runs alone: each of these values asks once which it is, as in isl's code, not for S and T."""
    got = Schedule.parse(
        """{ domain: "[N, M] -> { S[i, j] : 0 <= 2i <= M + 1 and M - 1 <= j <= 3;
             S[i, j] : M mod 3 = 0 and 0 <= i <= 4 and 1 <= j <= 2; T[i, j] : 1 <= i <= 2 and 0 <= j <= 4;
             U[i] : i >= 1 and 2i <= M + 1 }", child: { schedule: "[{ S[i, j] -> [(floor(i/2))]; T[i, j] -> [(i)];
             U[i] -> [(floor((3i + 3)/4))] }]", options: "{ atomic[0] }", child: { schedule: "[N] -> [
             { S[i, j] -> [(1 - i)]; T[i, j] -> [(-N - 2j)]; U[i] -> [(i + 1)] },
             { S[i, j] -> [(i - 1)]; T[i, j] -> [(j - 1)]; U[i] -> [(0)] }]", options: "{ separate[0] }", child: {
             sequence: [ { filter: "[N, M] -> { S[i, j] : N <= 1 and M >= 7; S[i, j] : N <= 1 and M <= 3 }" },
             { filter: "[N, M] -> { S[i, j] : N >= 2; S[i, j] : 4 <= M <= 6 }" }, { filter: "{ T[i, j] }" },
             { filter: "{ U[i] }" } ] } } } }"""
    )
    loops = found(got, [{"N": n, "M": m} for n in (-6, 1, 3) for m in (-1, 3, 4, 6)])
    less, more = (counted(loops.body, {"N": 9, "M": m}) for m in (80, 1040))
    assert more - less == 3 * 360 + 480  # of values, and calls
