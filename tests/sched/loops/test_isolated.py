"""Single values of which a band isolates some: no loop runs from one to another one that is far away."""

import pytest

from polyvolta.sched import Schedule, scan
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

SIZES = (-30, -3, 0, 1, 2, 3, 4, 5, 30)
BELOW = {
    "a leaf": "",
    "a band": """, child: { schedule: "[{ S[i] -> [i]; T[i] -> [i]; U[i] -> [i] }]" }""",
    "a sequence": """, child: { sequence: [
        { filter: "{ U[i] }" }, { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] }""",
}
ISOLATED = {  # values of three statements, what is isolated, and how its loop is made
    "two of which none is isolated at most sizes": ("0", "1 - N", "1 - N", "1 <= p <= 3", "atomic"),
    "of which sizes say which are": ("0", "N", "M", "1 <= p <= 3", "atomic"),
    "of which one is at all sizes": ("3", "N", "N", "1 <= p <= 3", "atomic"),
    "of which one begins what is": ("0", "N", "N", "N <= p <= 2*N", "atomic"),
    "of which some are, beside separate ones": ("3", "N", "M", "1 <= p <= 3", "atomic[0]; separate"),
    "of which some are, in loops that are written out": ("0", "N - 1", "N", "1 <= p <= 3", "unroll"),
}


def tree_of(domain, values, isolate, loop_type, below):
    first, *rest = loop_type.split("[0]; ")
    types = "; ".join([f"[isolate[] -> {first}[0]]", *[f"{other}[0]" for other in rest]])
    return Schedule.parse(
        f"""{{ domain: "[N, M] -> {{ {domain} }}", child: {{ schedule: "[N, M] -> [{{ {values} }}]",
             options: "[N, M] -> {{ isolate[[] -> [p]] : {isolate}; {types} }}"{below} }} }}"""
    )


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("name", ISOLATED)
def test_single_values_beside_what_is_isolated_are_in_no_loop_of_its_type(name, below):
    *values, isolate, loop_type = ISOLATED[name]
    domain = "; ".join(f"{s}[i] : 0 <= i <= 1" for s in "STU")
    at = "; ".join(f"{s}[i] -> [{value}]" for s, value in zip("STU", values, strict=True))
    tree = tree_of(domain, at, isolate, loop_type, BELOW[below])
    found = scan(tree)
    sizes = [{"N": n, "M": m} for n in SIZES for m in SIZES]
    assert [deviation(tree, found, at) for at in sizes] == [None] * len(sizes)
    assert all(counted(found.body, at) < 100 for at in [{"N": n, "M": m} for n in (-9000, 9000) for m in (-900, 900)])


def test_values_of_one_statement_beside_what_is_isolated_are_in_no_loop_of_its_type():
    tree = tree_of(
        "S[i, j] : 0 <= i <= 1 and j = 3; S[i, j] : 0 <= i <= 1 and j = N",
        "S[i, j] -> [j]",
        "1 <= p <= 3",
        "atomic",
        "",
    )
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": 0}) is None for n in range(-4, 12))
    assert all(counted(found.body, {"N": n, "M": 0}) < 30 for n in (-9000, 9000))


@pytest.mark.parametrize("below", BELOW)
def test_values_isolated_between_numbers_far_apart_are_in_a_loop_where_sizes_leave_both(below):
    """From 0 to 9000 it would run however near 3 and N are, and where there is no N."""
    domain = "S[i] : 0 <= i <= 1; T[i] : 0 <= i <= 1; U[i] : 0 <= i <= 1"
    tree = tree_of(domain, "S[i] -> [3]; T[i] -> [N]; U[i] -> [N]", "0 <= p <= 9000", "atomic", BELOW[below])
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": 0}) is None for n in range(-4, 12))
    assert all(counted(found.body, {"N": n, "M": 0}) < 60 for n in (-9000, -3, 0, 3, 5, 9001, 20000))


def test_values_isolated_between_numbers_far_apart_are_not_looked_for_in_all_of_these():
    """By which of three values there are cases would be many."""
    domain = "S[i] : 0 <= i <= 1; T[i] : 0 <= i <= 1; U[i] : 0 <= i <= 1"
    tree = tree_of(domain, "S[i] -> [0]; T[i] -> [N]; U[i] -> [M]", "0 <= p <= 9000", "atomic", "")
    found = scan(tree)
    assert all(deviation(tree, found, {"N": n, "M": 3}) is None for n in range(-4, 12))
    assert all(counted(found.body, {"N": n, "M": 3}) < 60 for n in (-3, 0, 3, 9))


def test_what_is_isolated_between_ends_far_apart_that_move_is_no_loop_for_two_values():
    tree = Schedule.parse(
        """{ domain: "[N, M] -> { S[] : N mod 2 = 0; T[] : N <= M }", child: {
             schedule: "[N, M] -> [{ S[] -> [(0)]; T[] -> [(M)] }]",
             options: "[N, M] -> { isolate[[] -> [p]] : N - 3000 <= p <= N; [isolate[] -> atomic[0]] }",
             child: { sequence: [ { filter: "{ T[] }" }, { filter: "{ S[] }" } ] } } }"""
    )
    found = scan(tree)
    for n, m in ((2, 2), (3, 3), (8, 8), (8, 20), (-4, 3)):
        sizes = {"N": n, "M": m}
        assert deviation(tree, found, sizes) is None
        assert counted(found.body, sizes) < 100
