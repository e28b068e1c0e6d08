"""Statements that take turns in strides: random ones, by brute force, and how much their loops test."""

import random

import pytest

from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.order import Compared
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

TREES = 40

DOMAINS = (
    "0 <= i <= M and 0 <= j <= N",
    "0 <= i <= N and 0 <= j <= i",
    "0 <= i < N and i <= j < N",
    "0 <= i <= N and 0 <= j <= M and i + j <= N",
    "1 <= i <= N and 0 <= j <= N - 2",
    "0 <= i <= N and j = 3",
    "i = 2 and 0 <= j <= N",
)
TYPES = "", "separate[0]", "atomic[0]"


def drawn(rng):
    """A tree of two or three statements at a*i + b*j + c, mostly of the same a, and then in their own columns."""
    a, names = rng.choice((2, 3, 3, 4)), ["S", "T", "U"][: rng.randint(2, 3)]
    outer, inner, domain = [], [], []
    for s in names:
        first = f"{rng.choice((a, a, a, 2 * a, -a))}i + {rng.choice((0, 1, 1, -1, 2))}j + {rng.randint(-5, 5)}"
        second = rng.choice(("j", "j", "i", f"j + {rng.randint(-2, 2)}", f"{a}j + {rng.randint(0, 4)}"))
        domain.append(f"{s}[i, j] : {rng.choice(DOMAINS)}")
        outer.append(f"{s}[i, j] -> [({first})]")
        inner.append(f"{s}[i, j] -> [({second})]")
    bands = [f'schedule: "[{{ {"; ".join(b)} }}]", options: "{{ {rng.choice(TYPES)} }}"' for b in (outer, inner)]
    return f'{{ domain: "[N, M] -> {{ {"; ".join(domain)} }}", child: {{ {bands[0]}, child: {{ {bands[1]} }} }} }}'


@pytest.mark.parametrize("seed", range(TREES))
def test_statements_take_turns(seed):
    tree = Schedule.parse(drawn(random.Random(seed)))
    found = scan(tree)
    for n, m in ((-1, 0), (0, 0), (1, 3), (4, 2), (7, 3), (5, 8)):
        assert deviation(tree, found, {"N": n, "M": m}) is None


@pytest.mark.parametrize(("options", "inside"), [("", 3), ("separate[0]", 1)])
def test_diagonals_that_take_turns_are_shifted_before_they_are_cut(options, inside):
    """S is at j and T at j + 1, a multiple of 3 apart from the next: both in one iteration, at all but its ends."""
    tree = Schedule.parse(f"""{{ domain: "[N, M] -> {{ S[i, j] : 0 <= i <= M and 0 <= j <= N;
        T[i, j] : 0 <= i <= M and 0 <= j <= N }}", child: {{
        schedule: "[{{ S[i, j] -> [(3i + j)]; T[i, j] -> [(3i + j - 4)] }}]", options: "{{ {options} }}", child: {{
        schedule: "[{{ S[i, j] -> [(j)]; T[i, j] -> [(j)] }}]", options: "{{ {options} }}" }} }} }}""")
    found = scan(tree)
    for n in (*range(-1, 9), 20):
        assert deviation(tree, found, {"N": n, "M": n}) is None
        assert deviation(tree, found, {"N": 3, "M": n}) is None
    assert counted(found.body, {"N": 60, "M": 60}) <= inside * 61**2 + 30 * 61


def test_of_lanes_at_one_value_the_less_shifted_one_is_first():
    columns = Columns(["N"])
    col, one = columns.loop(0), System()
    one.ge(((col, 1),), 0)
    one.ge(((col, -1),), 0)
    lanes = [Lane(Piece(columns, s), [one]) for s in ("S", "T")]
    lanes[1].shift = 2
    compared = Compared(Known(columns), 0, [col], None)
    assert compared.precedes(*lanes)
    assert not compared.precedes(*reversed(lanes))


def test_a_lane_that_is_gone_is_not_taken_for_another_one():
    """Lanes are known by their identity, which a later one may have: all that are compared are kept."""
    columns = Columns(["N"])
    col = columns.loop(0)

    def at(value):
        one = System()
        one.eq(((col, 1),), -value)
        return Lane(Piece(columns, "S"), [one])

    compared, middle = Compared(Known(columns), 0, [col], None), at(4)
    assert [compared.precedes(at(value), middle) for value in range(9)] == [value < 4 for value in range(9)]


def test_what_lanes_at_one_value_say_of_sizes_is_compared_without_a_linear_program(monkeypatch):
    columns = Columns(["N"])
    col, shadows = columns.loop(0), [System(), System()]
    size = columns.ids["N"]
    for s, sign in zip(shadows, (1, -1), strict=True):
        s.eq(((col, 1),), -2)
        s.ge(((size, sign), (col, -sign)), -(sign > 0))  # N > c0, and N <= c0
    lanes = [Lane(Piece(columns, name), [s]) for name, s in zip("ST", shadows, strict=True)]
    monkeypatch.setattr(Known, "greatest_of_both", None)
    compared = Compared(Known(columns), 0, [col], None)
    assert compared.precedes(*lanes)
    assert compared.precedes(*reversed(lanes))


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        # S is before U where N is large alone, and T behind U from N/2 on
        (("i - 2", "i", "i"), ("floor((i + 1)/3)", "i", "floor(N/2)")),
        # S is in the iterations of the others, and shifted against them; U is before T where N is large alone
        (("2i + 1", "2i", "2i"), ("2i", "N - 3", "floor(N/2)")),
    ],
)
def test_an_atomic_loop_does_not_grow_where_statements_are_in_order_at_large_sizes_alone(outer, inner):
    """Sizes are told apart, and the loop around is cut at those where it needs to be."""
    members = ["; ".join(f"{s}[i] -> [({e})]" for s, e in zip("STU", some, strict=True)) for some in (outer, inner)]
    tree = Schedule.parse(f"""{{ domain: "[N] -> {{ S[i] : 1 <= i <= N; T[i] : 2 <= i <= N - 2; U[i] : 0 <= i < N }}",
        child: {{ schedule: "[N] -> [{{ {members[0]} }}, {{ {members[1]} }}]", options: "{{ atomic[1] }}" }} }}""")
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n}) is None for n in (*range(-1, 14), 29))
    assert counted(found.body, {"N": 1200}) < 4.2 * counted(found.body, {"N": 300})
