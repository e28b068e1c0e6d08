"""Loops for what one block and one thread have, parameters b and t, as filters between bands say it."""

import polyvolta.isl as isl
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.oracle import deviation


def test_a_window_that_a_loop_has_all_of_or_nothing_is_a_condition():
    """32*b <= c0 mod 512 + c1 <= 32*b + 31 for c0 in steps of 32; and n > 32*b is no test beside n > 32*b + t."""
    tree = Schedule.parse(
        """{ domain: "[n, b, t] -> { S[i] : 0 <= i < n }", child: {
             context: "[b, t] -> { [] : 0 <= b < 16 and 0 <= t < 8 }", child: {
             schedule: "[{ S[i] -> [(32*floor(i/32))] }]", child: {
             filter: "[b] -> { S[i] : floor(i/32) mod 16 = b }", child: { schedule: "[{ S[i] -> [(i mod 32)] }]",
             child: { filter: "[t] -> { S[i] : (i mod 32) mod 8 = t }" } } } } } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"n": n, "b": b, "t": 3}) is None for n in (0, 36, 70) for b in (0, 1, 15))
    assert deviation(tree, found, {"n": 550, "b": 1, "t": 3}) is None
    assert str(found).splitlines()[-6:] == [
        "if (32 * b + t < n)",
        "  for (int c0 = 0; c0 < n; c0 += 32)",
        "    if (c0 % 512 == 32 * b)",
        "      for (int c1 = 0; c1 < min(32, n - c0); c1 += 1)",
        "        if ((t - c1) % 8 == 0)",
        "          S(c0 + c1);",
    ]


TILES = """{ domain: "[n, b, t, u] -> { S[i, j] : 0 <= i, j < n }", child: {
     context: "[b, t, u] -> { [] : 0 <= b < 256 and 0 <= t, u < 8 }", child: {
     filter: "[b] -> { S[i, j] : floor(i/32) mod 256 = b }", child: {
     schedule: "[{ S[i, j] -> [(32*floor(i/32))] }, { S[i, j] -> [(32*floor(j/32))] }]", child: {
     extension: "[n] -> { [x, y] -> ld[p, q] : 0 <= p, q < n and x <= p < x + 32 and y <= q < y + 32 }", child: {
     sequence: [
     { filter: "{ ld[p, q] }", child: { filter: "[t, u] -> { ld[p, q] : p mod 8 = t and q mod 8 = u }", child: {
       schedule: "[{ ld[p, q] -> [(p)] }, { ld[p, q] -> [(q)] }]" } } },
     { filter: "{ S[i, j] }", child: {
       filter: "[t, u] -> { S[i, j] : (i mod 32) mod 8 = t and (j mod 32) mod 8 = u }", child: {
       schedule: "[{ S[i, j] -> [(i mod 32)] }, { S[i, j] -> [(j mod 32)] }]" } } } ] } } } } } }"""


def test_a_bound_in_steps_that_never_counts_is_left_out():
    """From c0, in steps of 8 from t on, it is c0 + t: 0 <= p says t, which is never more."""
    tree = Schedule.parse(TILES)
    found = scan(tree)
    for n, b, t, u in ((0, 0, 0, 0), (12, 0, 3, 7), (20, 0, 7, 0), (33, 1, 0, 5)):
        assert deviation(tree, found, {"n": n, "b": b, "t": t, "u": u}) is None
    loops = [line.partition(";")[0].strip() for line in str(found).splitlines() if " c2 = " in line or " c3 = " in line]
    assert loops == [
        "for (int c2 = c0 + t",
        "for (int c3 = c1 + u",
        "for (int c2 = t",
        "for (int c3 = u",
    ]


def test_what_is_written_out_starts_a_number_from_its_residue():
    """isl's test codegen/unroll11, where no floor says which values there are."""
    build = isl.AstBuild.from_context(isl.Set("[t1, t2] -> { : 125 <= t1 <= 127 and 254 <= t2 < 257 }"))
    times = """[t1, t2] -> { S[i, j] -> [i, j] : exists (a, b : 0 <= i <= 1 and t1 = j + 128a and 0 <= j + 2b < 128 and
               510 <= t2 + 2b <= 514 and 0 <= 2b - t2 <= 5) }"""
    found = build.set_options(isl.UnionMap("{ [i, j] -> unroll[x] }")).node_from_schedule_map(isl.UnionMap(times))
    calls = {line.strip() for line in found.to_C_str().splitlines() if "S(" in line}
    assert calls == {f"S({i}, t1 - {j});" for i in (0, 1) for j in (256, 384)}
