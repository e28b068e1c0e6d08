"""Loops that are written out: of any length, in time that grows as the length does, and no deeper than text may be."""

import random
import sys
from functools import partial
from itertools import product

import pytest

from polyvolta.sched.emit.c.text import to_c
from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.ast import Block, Call, If, within
from polyvolta.sched.loops.hoisting import idle, together
from polyvolta.sched.loops.hoisting import needs as needing
from polyvolta.sched.loops.hoisting.needs import at_a_place
from polyvolta.sched.loops.hoisting.pieces import DEEP, LONG, Part, in_pieces, most_neighbours
from polyvolta.sched.loops.hoisting.plain import unsaid
from polyvolta.sched.loops.hoisting.together import asked_apart
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.weighing import lasting
from polyvolta.sched.tree import Schedule
from polyvolta.sets import var
from tests.sched.loops.oracle import deviation

N = var("N")


def written_out(domain, band="{ S[i] -> [(i)] }", below="", types="{ unroll[0] }"):
    """A tree with one band whose members have types, of a domain, and what is below the band."""
    child = f", child: {below}" if below else ""
    return Schedule.parse(
        f'{{ domain: "[N, M] -> {{ {domain} }}", child: {{ schedule: "[{band}]", options: "{types}"{child} }} }}'
    )


def filters(*parts):
    return "{ sequence: [ " + ", ".join(f'{{ filter: "[N, M] -> {{ {part} }}" }}' for part in parts) + " ] }"


BOTH = "{ S[i] -> [(i)]; T[i] -> [(i)] }"
ALL = "{ S[i] -> [(i)]; T[i] -> [(i)]; U[i] -> [(i)] }"
TREES = {
    "a size bounds it from above": lambda n: written_out(f"S[i] : 0 <= i < {n} and i < N"),
    "from below": lambda n: written_out(f"S[i] : 0 <= i < {n} and i >= N"),
    "from both sides": lambda n: written_out(f"S[i] : 0 <= i < {n} and M <= i < N"),
    "it runs backwards": lambda n: written_out(f"S[i] : 0 <= i < {n} and i < N", "{ S[i] -> [(-i)] }"),
    "multiples of two sizes": lambda n: written_out(f"S[i] : 0 <= i < {n} and 3i <= N and 2i < M + 5"),
    "it has a step": lambda n: written_out(f"S[i] : 0 <= i < {3 * n} and i < N and i mod 3 = 1"),
    "two statements": lambda n: written_out(
        f"S[i] : 0 <= i < {n} and i < N; T[i] : 0 <= i < {n} and i < N", BOTH, filters("S[i]", "T[i]")
    ),
    "two statements, of a size each": lambda n: written_out(
        f"S[i] : 0 <= i < {n} and i < N; T[i] : 0 <= i < {n} and i < M", BOTH, filters("S[i]", "T[i]")
    ),
    "two statements, one of them backwards": lambda n: written_out(
        f"S[i] : 0 <= i < {n} and i < N; T[i] : 0 <= i < {n} and i < N",
        f"{{ S[i] -> [(i)]; T[i] -> [({n - 1} - i)] }}",
        filters("S[i]", "T[i]"),
    ),
    "one that always runs between two that do at some sizes": lambda n: written_out(
        f"S[i] : 0 <= i < {n} and i < N; T[i] : 0 <= i < {n}; U[i] : 0 <= i < {n} and i < N",
        ALL,
        filters("S[i]", "T[i]", "U[i]"),
    ),
    "all under a condition below the band": lambda n: written_out(
        f"S[i] : 0 <= i < {n}; T[i] : 0 <= i < {n}",
        BOTH,
        filters("S[i] : N >= 5", "T[i] : N >= 5", "S[i] : N <= 4; T[i] : N <= 4"),
    ),
    "remainders": lambda n: written_out(
        f"S[i] : 0 <= i < {n} and i < N; T[i] : 0 <= i < {n} and i < N and (i + N) mod 3 = 0",
        BOTH,
        filters("S[i]", "T[i]"),
    ),
    "in a loop": lambda n: written_out(
        f"S[i, j] : 0 <= j < {n} and 0 <= i < N and j <= i",
        "{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }",
        "",
        "{ unroll[1] }",
    ),
    "around a loop": lambda n: written_out(
        f"S[i, j] : 0 <= i < {n} and i <= j < N", "{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }"
    ),
    "in tiles": lambda n: written_out(
        "S[i] : 0 <= i < N",
        f"{{ S[i] -> [(floor(i/{n}))] }}, {{ S[i] -> [(i mod {n})] }}",
        "",
        "{ unroll[1] }",
    ),
    "in tiles that are isolated": lambda n: written_out(
        "S[i] : 0 <= i < N",
        f"{{ S[i] -> [(floor(i/{n}))] }}, {{ S[i] -> [(i mod {n})] }}",
        "",
        f"[N, M] -> {{ isolate[[] -> [a, b]] : 0 <= a and {n}a + {n} <= N; [isolate[] -> unroll[1]] }}",
    ),
    "in one another": lambda n: written_out(
        f"S[i, j] : 0 <= i < {n // 16} and 0 <= j < 16 and i < N and j < M",
        "{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }",
        "",
        "{ unroll[x] }",
    ),
}


FROM = {"two statements, one of them backwards": 256}  # iterations from which on there are pieces, if not from fewer on


def depth(body):
    """How many conditions are in one another in some code."""
    return max([isinstance(node, If) + depth(within(node)) for node in body], default=0)


def written(tree):
    """The text of a tree's loops."""
    return to_c(scan(tree))


def calls_of(f):
    """How many functions are called while one runs."""
    found = 0

    def count(_frame, event, _arg):
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        f()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("name", TREES)
def test_twice_as_many_iterations_take_twice_as_many_calls(name):
    few, many = (calls_of(partial(written, TREES[name](n))) for n in (FROM.get(name, 96), 2 * FROM.get(name, 96)))
    assert many < 2.7 * few


@pytest.mark.parametrize(
    "name, n",
    [
        ("a size bounds it from above", 4096),
        ("from below", 1500),
        ("it runs backwards", 1500),
        ("from both sides", 800),
    ],
)
def test_thousands_of_iterations_under_a_condition_are_written_out(name, n):
    found = scan(TREES[name](n))
    for size, other in ((0, 0), (1, 0), (65, 3), (700, 650), (n - 1, 5), (n, 0), (n + 9, 70), (-3, -9)):
        wanted = {
            "a size bounds it from above": range(min(n, size)),
            "from below": range(max(0, size), n),
            "it runs backwards": range(min(n, size) - 1, -1, -1),
            "from both sides": range(max(0, other), min(n, size)),
        }[name]
        got = [instance[1][0] for instance in run(found, {p: {"N": size, "M": other}[p] for p in found.params})]
        assert got == list(wanted)
    assert depth(found.body) < 90
    compile(to_python(found), "text", "exec")  # Python takes a hundred levels
    assert to_c(found).count("S(") == n


@pytest.mark.parametrize("name", TREES)
def test_what_is_written_out_visits_its_instances_in_order(name):
    tree = TREES[name](96)
    found = scan(tree)
    for size, other in ((0, 1), (1, 0), (17, 30), (96, 97), (101, 5), (-1, 2)):
        params = {p: {"N": size, "M": other}[p] for p in found.params}
        assert deviation(tree, found, params) is None


def test_few_conditions_are_all_in_one_another_and_many_are_in_pieces():
    found = scan(TREES["a size bounds it from above"](4))
    assert to_c(found).split("\n") == [
        "if (N >= 1) {",
        "  S(0);",
        "  if (N >= 2) {",
        "    S(1);",
        "    if (N >= 3) {",
        "      S(2);",
        "      if (N >= 4)",
        "        S(3);",
        "    }",
        "  }",
        "}",
    ]
    for name in ("a size bounds it from above", "from below", "it runs backwards", "two statements"):
        assert depth(scan(TREES[name](DEEP)).body) == DEEP
        assert depth(scan(TREES[name](DEEP), parted=False).body) <= DEEP
        assert DEEP <= depth(scan(TREES[name](5 * LONG)).body) < 90


def test_pieces_are_all_of_the_code_and_have_few_conditions():
    seen = []

    def look(piece):
        seen.append(sum(isinstance(node, If) for node in piece))
        return piece

    for n in (0, 1, LONG, LONG + 1, 3 * LONG + 7):
        body = tuple(If((("ge", N - k),), (Call("S", ()),)) if k % 3 else Call("T", ()) for k in range(n))
        assert tuple(in_pieces(body, look)) == body
    assert max(seen) == LONG


def test_the_most_neighbours_are_those_that_all_rows_and_places_say():
    draw = random.Random(7)
    for _ in range(400):
        n, names = draw.randrange(1, 9), ("a", "b")
        bounds = [{name: draw.randrange(5) for name in names if draw.random() < 0.9} for _ in range(n)]
        rows = [(draw.choice(names), draw.randrange(5), draw.choice((None, draw.randrange(n)))) for _ in range(6)]
        refused = {(draw.randrange(6), draw.randrange(n)) for _ in range(4)}

        def follows(k, row, bounds=bounds):
            return bounds[k].get(row[0], -1) >= row[1]

        def worth(row, first, _end, rows=rows, refused=refused):
            return (rows.index(row), first) not in refused

        best = None
        for row in rows:
            for first, end in ((a, b) for a in range(n) for b in range(a + 2, n + 1)):
                whole = all(follows(k, row) for k in range(first, end))
                longest = not any(follows(k, row) for k in (first - 1, end) if 0 <= k < n)
                mine = row[2] is None or first <= row[2] < end
                if (
                    whole
                    and longest
                    and mine
                    and worth(row, first, end)
                    and (best is None or end - first > best[1] - best[0])
                ):
                    best = first, end, row
        asked = [(row, (row[0], -row[1]), row[2]) for row in rows]
        assert most_neighbours(n, asked, follows, worth) == best


def test_what_follows_in_a_part_is_what_follows_where_its_needs_are_known():
    draw = random.Random(3)
    columns = Columns(["N", "M"])
    keys = [columns.row(e)[0] for e in (N, -N, N - var("M"), N + var("M"), -var("M"))]
    for _ in range(300):
        around, needs = System(), System()
        for _ in range(draw.randrange(3)):
            around.ge(draw.choice(keys), draw.randrange(-3, 4))
        for _ in range(draw.randrange(1, 3)):
            needs.ge(draw.choice(keys), draw.randrange(-3, 4))
        known = Known(columns).given(around)
        inside = known.given(needs)
        if known.nowhere or inside.nowhere:
            continue
        part = Part(known, needs)
        for key, const in product(keys, range(-5, 6)):
            assert part.implies(key, const) == inside.implies(key, const)


def test_inequalities_that_others_of_the_same_terms_say_are_left_out():
    some = (("ge", N - 1), ("ge", N - 5), ("eq", N - 6), ("ge", 9 - N))
    assert unsaid(some, (("ge", N - 4), ("eq", N - 9))) == some[1:]
    assert unsaid(some, (("ge", 8 - N),)) == some[:3]


def test_a_test_around_calls_is_asked_once_whatever_stands_before_and_behind():
    def when(k, name):
        return If((("ge", N - k),), (Call(name, ()),), (0,))

    parts = [(when(k, f"A{k}"), Call(f"B{k}", ()), when(k, f"C{k}")) for k in range(1, 1001)]
    made = asked_apart(tuple(node for part in parts for node in part))
    wanted = [If(a.conditions, (*a.body, b, *c.body), (0,), (b,)) for a, b, c in parts]
    assert made == tuple(wanted)


@pytest.mark.parametrize(
    ("name", "where", "what", "each"),
    [
        ("a size bounds it from above", lasting, "has_loops", 0),  # of code without loops that is asked once
        ("a size bounds it from above", together, "_asked", 1),  # a test is in two parts, or in none
        ("from both sides", needing, "needs", 8),  # of 64 conditions in one another one place says mostly enough
        ("one that always runs between two that do at some sizes", idle, "_of_node", 8),  # a condition makes a test
    ],
)
def test_questions_are_asked_a_few_times_for_each_iteration(monkeypatch, name, where, what, each):
    own, calls, n = getattr(where, what), [0], 256

    def counted(*args, **named):
        calls[0] += 1
        return own(*args, **named)

    monkeypatch.setattr(where, what, counted)
    scan(TREES[name](n))
    assert calls[0] <= 8 + each * n


def test_what_all_places_need_follows_at_each():
    draw, columns = random.Random(5), Columns(["N", "M"])
    forms = [N, -N, var("M"), N - var("M"), N + var("M")]
    rows = [0, 0]

    def code(deep):
        if not deep or draw.random() < 0.15:
            return Call("S", (), (0,))
        inside = tuple([code(deep - 1) for _ in range(draw.choice([1, 2, 2]))])
        if draw.random() < 0.1:
            return Block("mark", inside, (0,))
        test = draw.choice(["ge", "ge", "eq"]), draw.choice(forms) + draw.randrange(-3, 4)
        return If((test,), inside, (0,))

    for _ in range(400):
        node, known = code(5), Known(columns)
        place = at_a_place(known, node)
        for row in needing.needs(known, node).every_ge():
            rows[place is None] += 1
            assert place is None or known.given(place).implies(*row)
    assert rows[0] > 300
