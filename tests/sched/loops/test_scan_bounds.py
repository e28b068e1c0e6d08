"""What bounds loops over statements that have instances at some places only, and what floors say of members."""

import pytest

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.emit.run import bound, holds
from polyvolta.sched.loops import writer
from polyvolta.sched.loops.ast import For, If
from polyvolta.sched.loops.rows import order
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.walk import Scanner
from polyvolta.sched.tree import Schedule
from polyvolta.sets import BudgetExceeded, budget
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import assert_scans, deviation

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


def test_two_bounds_either_of_which_may_count():
    """Where S has values the loop begins at the less of those that count, else where T does; both end at 3."""
    domain = "[N, M] -> { S[i] : M mod 2 = 0 and N <= i <= 3; T[i] : M mod 3 = 0 and -N <= i <= 3 }"
    assert lines(domain, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)] }]", "atomic")[:2] == [
        "if ((M % 2 == 0 && N <= 3) || (M % 3 == 0 && N >= -3))",
        "  for (int c0 = (M % 2 == 0 ? min(N, (M % 3 == 0 ? -N : N)) : -N); c0 <= 3; c0 += 1) {",
    ]
    alike = "[N, M] -> { S[i] : M mod 2 = 0 and 0 <= i <= N; T[i] : M mod 3 = 0 and 0 <= i <= N }"
    got = lines(alike, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)] }]", "atomic")
    assert got[1] == "  for (int c0 = 0; c0 <= N; c0 += 1) {"


def test_of_three_bounds_two_are_the_same():
    domain = (
        "[N, M] -> { S[i] : M mod 2 = 0 and N <= i <= 3; T[i] : M mod 3 = 0 and -N <= i <= 3; "
        "U[i] : M mod 5 = 0 and M <= i <= N }"
    )
    got = lines(domain, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)] }]", "atomic")
    s, t, u = "M % 2 == 0 && N <= 3", "M % 3 == 0 && N >= -3", "M % 5 == 0 && M <= N"
    least = f"({s} ? min(N, min(({t} ? -N : N), ({u} ? M : N))) : ({t} ? min(-N, ({u} ? M : -N)) : M))"
    most = f"(({s}) || ({t}) ? max(3, ({u} ? N : 3)) : N)"
    assert got[1] == f"  for (int c0 = {least}; c0 <= {most}; c0 += 1) {{"


def test_bounds_of_several_rows_that_may_count_or_not():
    """S begins at the greater of N and M, T ends at the less of 9 and M + 5."""
    domain = (
        "[N, M] -> { S[i] : M mod 2 = 0 and N <= i <= 9 and M <= i; "
        "T[i] : M mod 3 = 0 and -N <= i <= 9 and i <= M + 5 }"
    )
    loop = lines(domain, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)] }]", "atomic")[1]
    low, high = loop.split(";")[:2]
    assert "max(N, M)" in low and "min(9, M + 5)" in high, loop


def test_four_bounds_that_may_be_far_apart():
    """Each counts where its statement has a value, else what is past all of them: one case a bound; two end alike."""
    domain = (
        "[N, M] -> { S[i] : M mod 2 = 0 and N <= i <= 3; T[i] : M mod 3 = 0 and -N <= i <= 3; "
        "U[i] : M mod 5 = 0 and M <= i <= N; V[i] : M mod 7 = 0 and -M <= i <= 4 }"
    )
    got = lines(domain, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)]; V[i] -> [(i)] }]", "atomic")
    low, high = got[1].split(";")[:2]
    assert [low.count(" : max(5, N + 1))"), low.count("?"), high.count("?")] == [4, 4, 3], got[1]


@pytest.mark.parametrize("grows", [(0, 1, 2, 3), (-1, 0, 3, 1), (0, 0, 1, -2)])
def test_bounds_of_many_remainders_leave_no_loop_that_finds_nothing(grows):
    """One instance of each statement at a multiple of N, at some remainders: no more values than lie between them."""
    some = list(zip("ABCD", (3, 4, 5, 7), (0, 1, 2, 3), grows, strict=True))
    domain = "; ".join(f"{s}[] : N mod {d} = {r}" for s, d, r, _ in some)
    schedule = "; ".join(f"{s}[] -> [({g}*N)]" for s, _, _, g in some)
    text = f'{{ domain: "[N] -> {{ {domain} }}", child: {{ schedule: "[N] -> [{{ {schedule} }}]"'
    tree = Schedule.parse(f'{text}, options: "{{ atomic[0] }}" }} }}')
    found = assert_scans(tree, [{"N": n} for n in range(-9, 12)])
    for n in (*range(999, 1060), *range(-1060, -999)):
        at = [g * n for _, d, r, g in some if n % d == r]
        between = max(at) - min(at) + 1 if at else 0
        assert counted(found.body, {"N": n}) <= 10 + 9 * between, n


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


def test_a_bound_counts_only_where_its_statement_has_values():
    """S runs from 0 to 2, T from 0 to N where N is odd: where N is even, no loop goes to N."""
    domain = "[N] -> { S[i] : 0 <= i <= 2; T[i] : N mod 2 = 1 and 0 <= i <= N }"
    sizes = [{"N": n} for n in (-1, 0, 1, 2, 3, 5, 6)]
    got = lines(domain, "[N] -> [{ S[i] -> [(i)]; T[i] -> [(i)] }]", sizes=sizes)
    assert not any("c0 <= max(2, N)" in line for line in got), got
    tree = Schedule.parse(
        '{ domain: "[N] -> { S[i] : N mod 3 = 2 and 0 <= i <= N; S[i] : i mod 2 = 1 and 1 <= i <= 3 }", '
        'child: { schedule: "[N] -> [{ S[i] -> [(floor((2 - 2*i)/3) - 1)] }, { S[i] -> [(-2*i - 1)] }]" } }'
    )
    found = assert_scans(tree, [{"N": n} for n in (-1, 0, 1, 2, 5, 6, 7, 8)])
    few, many = (list(trips(found.body, {"N": n})) for n in (30, 90))
    assert len(few) == len(many)


def trips(body, values):
    """The iterations of all loops at some values."""
    for node in body:
        if isinstance(node, For):
            low, high = max(bound(b, values) for b in node.lower), min(bound(b, values) for b in node.upper)
            for v in range(low, high + 1, node.step):
                yield node.var, v
                yield from trips(node.body, {**values, node.var: v})
        elif isinstance(node, If):
            yield from trips(node.body if all(holds(c, values) for c in node.conditions) else node.other, values)


def test_one_bound_may_count_under_several_conditions():
    """S and T run to M, each at its own sizes: the loop does where either has values."""
    domain = (
        "[N, M] -> { S[i] : N mod 2 = 0 and 0 <= i <= M; T[i] : N mod 2 = 0 and N mod 3 = 0 and -1 <= i <= M; "
        "U[i] : 0 <= i <= 2 }"
    )
    sizes = [{"N": n, "M": m} for n in range(7) for m in (-1, 0, 2, 5)]
    lines(domain, "[N, M] -> [{ S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)] }]", "atomic", sizes)


def test_sizes_at_which_an_inner_loop_runs_are_tested_before_a_long_one():
    """The loop over i runs for N <= 2 only: without the test, the one over j goes to N for nothing."""
    domain = "[N] -> { S[i, j] : N - 1 <= i <= 1 and 1 <= j <= N }"
    got = lines(domain, "[N] -> [{ S[i, j] -> [(j)] }]", sizes=[{"N": n} for n in (-1, 0, 1, 2, 3, 9)])
    assert got[0] == "if (N <= 2)", got


def test_what_all_that_is_written_out_tests_is_tested_before_the_loop():
    domain = "[N, M] -> { S[i, j] : 0 <= i < M and 0 <= j <= 3 and j < N }"
    tree = Schedule.parse(
        f'{{ domain: "{domain}", child: {{ schedule: "[N, M] -> [{{ S[i, j] -> [(i)] }}, {{ S[i, j] -> [(j)] }}]", '
        'options: "{ unroll[1] }" } }'
    )
    got = to_c(assert_scans(tree, SIZES), macros=False).split("\n")
    assert got[0].startswith("if (N >= 1)") and not any("N >= 1" in line for line in got[1:]), got


def test_separate_decides_conditions_of_sizes_before_the_loop():
    domain = "[N] -> { S[i] : 0 <= i <= 9 and N >= 2; T[i] : 0 <= i <= 9 }"
    tree = f'{{ domain: "{domain}", child: {{ schedule: "[N] -> [{{ S[i] -> [(i)]; T[i] -> [(i)] }}]", '
    tree = Schedule.parse(tree + 'options: "{ separate[0] }" } }')
    got = to_c(assert_scans(tree, [{"N": n} for n in (0, 1, 2, 3)]), macros=False).split("\n")
    assert [line for line in got if line.startswith(("if", "for", "}"))] == ["if (N >= 2) {", "} else {", "}"], got


def test_lanes_that_say_the_same_are_compared_once(monkeypatch):
    """A hundred statements with one range are one loop without ten thousand linear programs."""
    asked = []
    furthest = order._furthest
    monkeypatch.setattr(order, "_furthest", lambda *given: asked.append(given) or furthest(*given))
    names = [f"S{k}" for k in range(100)]
    domain = "[N] -> { " + "; ".join(f"{n}[i] : 0 <= i < N" for n in names) + " }"
    found = lines(domain, "[N] -> [{ " + "; ".join(f"{n}[i] -> [(i)]" for n in names) + " }]", sizes=[{"N": 2}])
    assert len([line for line in found if "for" in line]) == 1 and len(asked) < 10


BLOCK = {"N": 2000, "w": 3}


def test_a_window_of_remainders_in_a_tile_begins_where_the_tile_does():
    """The floor of what is in a tile of a multiple of its divisor is at least the tile's: of c1 >= 512*c0 and c1 =
    64*q + r it is q >= 8*c0, which rationals miss by a part of 64."""
    domain = "[N, w] -> { S[b, i] : 0 <= w <= 3 and 0 <= 512b <= i < N and i <= 512b + 511 and i mod 64 >= 16w }"
    found = lines(domain, "[{ S[b, i] -> [(b)] }, { S[b, i] -> [(i)] }]", sizes=[BLOCK, {"N": 60, "w": 3}])
    assert "for (int c1 = 512 * c0 + 16 * w; c1 < min(N, 512 * c0 + 512); c1 += 1)" in found[-3].strip()


def test_a_floor_has_one_value_by_what_is_promised_of_sizes():
    """Of 0 <= k <= 8*p + 7 where p <= 3 is promised floor(k/32) is 0: k ends with its block."""
    tree = Schedule.parse(
        """{ domain: "[N, p] -> { S[r, i, k] : 0 <= r <= 3 and 8p <= i <= 8p + 7 and 0 <= k <= i and k < N and
             floor(k/8) mod 4 = (p + r) mod 4 }", child: { context: "[N, p] -> { [] : 0 <= p <= 3 }", child: {
             schedule: "[{ S[r, i, k] -> [(r)] }, { S[r, i, k] -> [(i)] }, { S[r, i, k] -> [(k)] }]" } } }"""
    )
    found = assert_scans(tree, [{"N": n, "p": p} for n in (0, 5, 20, 40) for p in (0, 2, 3)])
    assert "%" not in to_c(found, macros=False).split("\n")[-2]


def of_owner(block, owners, band, domain="0 <= i < N", names="i", whose="i"):
    """Loops of what one of some owners of blocks in turn has, the owner being a parameter."""
    own = f"floor({whose}/{block}) mod {owners} = p"
    members = ", ".join(f"{{ S[{names}] -> [({e})] }}" for e in band)
    return assert_scans(
        Schedule.parse(f"""{{ domain: "[N, p] -> {{ S[{names}] : {domain} and {own} }}", child: {{
            context: "[N, p] -> {{ [] : 0 <= p < {owners} }}", child: {{ schedule: "[{members}]" }} }} }}"""),
        [{"N": n, "p": p} for n in (0, 7, 23) for p in (0, 1, owners - 1)],
    )


def test_tiles_with_blocks_of_one_owner_are_as_far_apart_as_these():
    """Of c0 = floor(i/4) where floor(i/2) mod 32 is p it is c0 = floor(p/2) mod 16, known once i is away."""
    found = of_owner(2, 32, ["floor(i/4)", "i"])
    (loop,) = [node for node in found.body if isinstance(node, For)] or found.body[0].body
    assert loop.step == 16 and counted(found.body, {"N": 1000, "p": 5}) <= 120


@pytest.mark.parametrize(("block", "owners", "tile", "most"), [(4, 8, 5, 3011), (5, 3, 4, 4304)])
def test_a_tile_has_the_points_of_one_block_of_an_owner_at_most(block, owners, tile, most):
    """None of those between are tested whose they are: 5 points of a tile where blocks of 4 are 32 apart."""
    band = [f"floor(i/{tile})", f"floor(j/{tile})", "i", "j"]
    found = of_owner(block, owners, band, "0 <= j <= i < N", "i, j", "j")
    assert "%" not in to_c(found, macros=False)
    assert counted(found.body, {"N": 100, "p": 2}) <= most


@pytest.mark.parametrize(
    ("block", "owners", "tile", "n", "p"), [(8, 3, 12, 1, 1), (8, 3, 12, 7, 1), (8, 3, 12, 8, 1), (1, 8, 3, 5, 5)]
)
def test_sizes_at_which_an_owner_has_nothing_are_asked_for_before_tiles(block, owners, tile, n, p):
    band = [f"floor({e}/{tile})" for e in ("i", "j", "k")] + ["i", "j", "k"]
    found = of_owner(block, owners, band, "0 <= i, j, k < N", "i, j, k", "k")
    assert counted(found.body, {"N": n, "p": p}) == 1


def test_a_lane_is_made_once_for_each_piece(monkeypatch):
    """Whether others are one, and what is of all, is asked of the same lanes; with strides it is another one."""
    made = []
    lane = Scanner.lane

    def seen(self, piece, state, members, columns, loops, strides, below):
        made.append((piece, strides))
        return lane(self, piece, state, members, columns, loops, strides, below)

    monkeypatch.setattr(Scanner, "lane", seen)
    tree = Schedule.parse(
        """{ domain: "[N] -> { S[i] : 1 <= i <= 5; S[i] : i = 6 and N >= 2 }", child: { guard: "[N] -> { [] : N >= 3 }",
             child: { schedule: "[{ S[i] -> [(i mod 5)] }, { S[i] -> [(i)] }]" } } }"""
    )
    assert_scans(tree, [{"N": n} for n in (2, 3)])
    assert made and len({(id(piece), strides) for piece, strides in made}) == len(made)


HOLES = (  # statements with holes between them and floors in all bounds
    "[N, M] -> { S[i] : 0 <= i <= N and i mod 2 = 0; T[i] : 4 <= i <= M and i mod 3 = 1; U[]; V[i] : N <= i <= 2N }",
    "[N, M] -> [{ S[i] -> [(8i)]; T[i] -> [(floor(i/2) + 20)]; U[] -> [(floor((N + M)/3))]; V[i] -> [(floor(i/3))] }]",
)


@pytest.mark.parametrize("steps", [0, 1, 5, 20, 60, 150, 400])
def test_a_search_for_holes_that_is_given_up_leaves_right_loops(monkeypatch, steps):
    """Wherever it stops, in the middle of a linear program as a rule: what is known outside is as it was."""
    monkeypatch.setattr(writer, "SEARCH", steps)
    lines(*HOLES)


def test_a_search_for_holes_takes_half_of_the_steps_at_most(monkeypatch):
    """A scan within few steps gives up the search, not the loops."""
    monkeypatch.setattr(writer, "SEARCH", 1)
    asked = fewest(*HOLES)
    monkeypatch.setattr(writer, "SEARCH", 10**9)
    assert fewest(*HOLES) <= 2 * asked + 2


def fewest(domain, schedule):
    """The least power of 2 of steps with which there are loops."""
    steps = 1
    while True:
        try:
            with budget(steps):
                scan(Schedule.parse(f'{{ domain: "{domain}", child: {{ schedule: "{schedule}" }} }}'))
        except BudgetExceeded:
            steps *= 2
        else:
            return steps


@pytest.mark.parametrize("guard", ["p0 < -5", "p1 = -2N", "N >= 10 and N <= 5"])
def test_a_loop_ends_where_a_guard_below_leaves_nothing_of_what_made_it_long(guard):
    """No T with i >= 3 is called: the tiles of three i are the first two, however large N is."""
    tree = Schedule.parse(
        f"""{{ domain: "[N] -> {{ T[i, j] : 0 <= i <= N and 0 <= j < N }}", child: {{
             schedule: "[{{ T[i, j] -> [(floor((i + 1)/3))] }}, {{ T[i, j] -> [(floor((j mod 4 + 1)/3))] }},
                         {{ T[i, j] -> [(i)] }}, {{ T[i, j] -> [(j)] }}]", child: {{ sequence: [
               {{ filter: "{{ T[i, j] : i >= 3 }}", child: {{ guard: "[N] -> {{ [p0, p1, p2, p3] : {guard} }}" }} }},
               {{ filter: "{{ T[i, j] : i <= 2 }}" }} ] }} }} }}"""
    )
    found = assert_scans(tree, [{"N": n} for n in (-1, 0, 1, 2, 3, 9)])
    assert counted(found.body, {"N": 1000}) < 20 * 1000
    assert "c0 <= min(1, (N + 1) / 3)" in to_c(found)


def test_a_loop_entered_once_begins_where_something_of_it_is():
    """Where N is odd there is no T, and where N mod 3 is not 2 little of S: no iteration looks for these."""
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[i] : M >= 1 and 0 <= i < N; S[i] : M <= -1 and 0 <= i < N;
               S[i] : N mod 3 = 2 and M - 1 <= i <= 3 and i <= 2N - 2M + 2; T[i] : N mod 2 = 0 and 0 <= i <= 1 }",
             child: { schedule: "[N, M] -> [{ S[i] -> [(i + 5)]; T[i] -> [(1 - M - 2*floor((-M)/2))] }]",
             options: "{ atomic[0] }", child: { sequence: [ { filter: "{ T[i] }" }, { filter: "{ S[i] }" } ] } } }"""
    )
    found = scan(tree)
    assert all(deviation(tree, found, at) is None for at in SIZES)
    assert [counted(found.body, {"N": n, "M": m}) for n, m in ((1, 1), (1, 4), (3, 3), (5, 5))] == [8, 8, 18, 28]
