"""Loops that many statements share, at constants and at sizes: none runs through what is between these."""

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.loops.spans import unions
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

SIZES = [(n, m) for n in (-5, 0, 1, 4, 9) for m in (-1, 2)]
CONDITIONS = "N >= 3", "N <= 1", "M >= 1", "M mod 4 <= 1", "(M + N) mod 4 <= 1", "N mod 6 <= 2"


def many(number: int) -> Schedule:
    """Statements of few values each, at 0, at N/2 and at N in turn, with conditions on sizes, and a loop inside."""
    each = []
    for k in range(number):
        a, w = k % 4 - 1, k % 3
        at = (
            f"{a} <= i <= {a + w}",
            f"N + {2 * a} <= 2i <= N + {2 * (a + w) + 1}",
            f"N + {a} <= i <= N + {a + w}",
        )[k % 3]
        inside = ("0 <= j < N", "N <= j <= N + 4", "j = 0")[k // 2 % 3]
        each.append(f"S{k}[i, j] : {at} and {inside} and {CONDITIONS[k % 6]} and {CONDITIONS[5 * k // 2 % 6]}")
    names = [f"S{k}[i, j]" for k in range(number)]
    members = ", ".join("{ " + "; ".join(f"{s} -> [({d})]" for s in names) + " }" for d in "ij")
    turns = ", ".join(f'{{ filter: "{{ {s} }}" }}' for s in names)
    return Schedule.parse(
        f'{{ domain: "[N, M] -> {{ {"; ".join(each)} }}", '
        f'child: {{ schedule: "[{members}]", child: {{ sequence: [ {turns} ] }} }} }}'
    )


SOME = "(M mod 4 >= 2 or M >= 1 or i mod 3 >= 1)"
LEAF = f"""{{ domain: "[N, M] -> {{ S[i, j] : M >= -1 and N <= 2i <= N + 4 and j = 0;
              S[i, j] : (N >= 3 or N <= 1) and 0 <= i <= 2 and N <= j <= N + 4 }}", child: {{ sequence: [
                {{ filter: "[N, M] -> {{ S[i, j] : M mod 4 <= 1 and M <= 0 and i mod 3 = 0 }}" }},
                {{ filter: "[N, M] -> {{ S[i, j] : {SOME} and (M + N) mod 4 = 3 and 2 <= i mod 6 <= 3 }}" }},
                {{ filter: "[N, M] -> {{ S[i, j] : {SOME} and
                                     ((M + N) mod 4 <= 2 or i mod 6 <= 1 or i mod 6 >= 4) }}" }} ] }} }}"""


@pytest.mark.parametrize("number", [7, 10, 14, 20])
@pytest.mark.parametrize("programs", [0, unions.PROGRAMS])
def test_no_loop_of_many_statements_grows_with_what_is_between_them(number, programs, monkeypatch):
    """Whether linear programs tell where it has holes, or, where these would be too many, sizes with numbers."""
    monkeypatch.setattr(unions, "PROGRAMS", programs)
    tree = many(number)
    found = scan(tree)
    for n, m in SIZES if number < 14 else SIZES[::3]:
        assert deviation(tree, found, {"N": n, "M": m}) is None
    few, more = (counted(found.body, {"N": n, "M": 100}) for n in (100, 1000))
    assert more <= 10 * few + 100  # as loops inside do


def test_at_a_leaf_what_is_far_apart_has_loops_of_its_own():
    tree = Schedule.parse(LEAF)
    found = scan(tree)
    for n, m in SIZES:
        assert deviation(tree, found, {"N": n, "M": m}) is None
    assert str(found).count("S(") <= 24
    assert all(counted(found.body, {"N": n, "M": m}) <= 48 for n in (6, 100, 1000) for m in (100, 101))
