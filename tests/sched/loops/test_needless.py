"""Conditions, alternatives and bounds that decide nothing where they stand are left out: at all sizes of a box each of
those that are left does.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pytest

from polyvolta.sched.emit.run import bound, holds
from polyvolta.sched.loops.ast import AnyOf, Ast, Call, Condition, Extreme, For, If
from polyvolta.sched.loops.needless.asking import without_needless
from polyvolta.sched.loops.needless.seen import Seen
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import aff, var
from tests.sched.loops.oracle import deviation

N, M = var("N"), var("M")
BOX = range(-2, 14)
LONG = (*range(-2, 42), 63, 64, 65, 127, 128, 129, 130)


def less_one(conditions: tuple[Condition, ...]) -> Iterator[tuple[object, tuple[Condition, ...]]]:
    """Each comparison and alternative of some conditions, and the conditions without it."""
    for k, c in enumerate(conditions):
        before, behind = conditions[:k], conditions[k + 1 :]
        yield c, (*before, *behind)
        for j, case in enumerate(c.alternatives if isinstance(c, AnyOf) else ()):
            others = c.alternatives[:j], c.alternatives[j + 1 :]
            yield case, (*before, AnyOf((*others[0], *others[1])), *behind)
            for part, rest in less_one(case) if len(case) > 1 else ():
                yield part, (*before, AnyOf((*others[0], rest, *others[1])), *behind)


def undecided(body: Sequence[Ast], params: Sequence[str], sizes: Sequence[Sequence[int]]) -> list[object]:
    """The parts of conditions and the bounds of loops that decide nothing at any of some sizes."""
    open_: dict[int, list[tuple[object, tuple[Condition, ...]]]] = {}

    def run(nodes: Sequence[Ast], at: Mapping[str, int]) -> None:
        for node in nodes:
            if isinstance(node, If):
                left = open_.setdefault(id(node), list(less_one(node.conditions)))
                true = all(holds(c, at) for c in node.conditions)
                left[:] = [(part, rest) for part, rest in left if all(holds(c, at) for c in rest) == true]
                run(node.body if true else node.other, at)
            elif isinstance(node, For):
                values = ranged(node.lower, node.upper, node.step, at)
                left = open_.setdefault(id(node), list(less_bounds(node)))
                left[:] = [(b, ends) for b, ends in left if ranged(*ends, node.step, at) == values]
                for v in values:
                    run(node.body, {**at, node.var: v})
            elif not isinstance(node, Call):
                run(node.body, at)

    for values in sizes:
        run(body, dict(zip(params, values, strict=True)))
    return [part for some in open_.values() for part, _ in some]


def less_bounds(node: For) -> Iterator[tuple[object, tuple]]:
    """Each of several bounds of a loop, and the others."""
    for k in range(len(node.lower)) if len(node.lower) > 1 else ():
        yield node.lower[k], ((*node.lower[:k], *node.lower[k + 1 :]), node.upper)
    for k in range(len(node.upper)) if len(node.upper) > 1 else ():
        yield node.upper[k], (node.lower, (*node.upper[:k], *node.upper[k + 1 :]))


def ranged(lower, upper, step, at) -> range:
    return range(max(bound(b, at) for b in lower), min(bound(b, at) for b in upper) + 1, step)


def band(domain: str, *members: str) -> str:
    rows = ", ".join(f"{{ {m} }}" for m in members)
    return f'{{ domain: "{domain}", child: {{ schedule: "[N, M] -> [{rows}]" }} }}'


TREES = {
    "versions by alignment, in the loop of rows": (
        band(
            "[N, M] -> { V[r, i] : 0 <= r < M and 0 <= 4i < N and N mod 4 = 0; S[r, i] : 0 <= r < M and "
            "0 <= i < N and N mod 4 != 0 }",
            "V[r, i] -> [r]; S[r, i] -> [r]",
            "V[r, i] -> [i]; S[r, i] -> [i]",
        ),
        None,
        "if (N >= 1) {\n  if (N % 4 >= 1) {\n",
    ),
    "blocks of a scan, their carries, and a tail": (
        band(
            "[N] -> { L[b, i] : 0 <= b and 64b + 64 <= N and 0 <= i < 64; T[i] : 64*floor(N/64) <= i < N; "
            "C[b] : 1 <= b and 64b < N }",
            "L[b, i] -> [b]; T[i] -> [floor(N/64)]; C[b] -> [b]",
            "L[b, i] -> [0]; T[i] -> [0]; C[b] -> [1]",
            "L[b, i] -> [i]; T[i] -> [i]; C[b] -> [0]",
        ),
        "[N] -> { : N >= 1 }",
        "for (int c0 = 0; c0 < (N + 63) / 64; c0 += 1) {\n  if (64 * c0 + 64 <= N) {\n",
    ),
    "the second one of blocks of a quarter": (
        band("[N] -> { S[i] : floor((N + 3)/4) <= i < N and i < 2*floor((N + 3)/4) }", "S[i] -> [i]"),
        None,
        "",
    ),
    "events at the last rows, of sizes and of even ones": (
        band(
            "[N, M] -> { S[] : N >= 5; Q[] : N >= 6; R[i] : 0 <= i < M and N mod 2 = 0 }",
            "S[] -> [M]; Q[] -> [M - 1]; R[i] -> [i + 2]",
            "S[] -> [0]; Q[] -> [0]; R[i] -> [1]",
        ),
        "[M, N] -> { : M >= 1 }",
        "",
    ),
    "one value, of two bounds that an even size makes whole": (
        band(
            "[N, M] -> { S[i, j] : 1 <= i < N - 2 and 0 <= j < M + N and N mod 2 = 0; "
            "R[i, j] : 0 <= i < N - 2 and M <= j < N and j mod 4 = M and N mod 2 = 0 }",
            "S[i, j] -> [floor((2i)/4)]; R[i, j] -> [floor((N - i)/4)]",
            "S[i, j] -> [2i]; R[i, j] -> [N - i]",
            "S[i, j] -> [j]; R[i, j] -> [j + 2]",
        ),
        "[M, N] -> { : 0 <= M <= 3 }",
        "",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_of_conditions_and_bounds_each_part_decides_somewhere(name):
    text, context, said = TREES[name]
    tree = Schedule.parse(text)
    found = scan(tree, context=context)
    assert said in str(found), found
    params = tuple(found.params or ())
    promised = {"[N] -> { : N >= 1 }": lambda n: n >= 1, "[M, N] -> { : M >= 1 }": lambda n, m: m >= 1}
    promised["[M, N] -> { : 0 <= M <= 3 }"] = lambda n, m: 0 <= m <= 3
    box = [(n,) for n in LONG] if params == ("N",) else list(product(BOX, repeat=2))
    order = {"N": 0, "M": 1}
    keeps = promised.get(context, lambda *_: True)
    sizes = [at for at in box if keeps(*sorted_by(at, params, order))]
    for at in sizes[:: 1 + len(sizes) // 60]:
        assert deviation(tree, found, dict(zip(params, at, strict=True))) is None
    assert undecided(found.body, params, sizes) == [], found


def sorted_by(at: Sequence[int], params: Sequence[str], order: Mapping[str, int]) -> list[int]:
    return [v for _, v in sorted(zip(params, at, strict=True), key=lambda p: order[p[0]])]


def known(*rows) -> Known:
    """What is known of N and M where some expressions are at least 0."""
    columns = Columns(["N", "M"], ["N", "M"])
    system = System()
    for e in rows:
        system.ge(*columns.row(e))
    return Known(columns).given(system)


def without(conditions: tuple[Condition, ...], *rows) -> tuple[Condition, ...]:
    """What is left of conditions before a call."""
    (node,) = without_needless(known(*rows), (If(conditions, (Call("S", ()),)),))
    return node.conditions if isinstance(node, If) else ()


@pytest.mark.parametrize(
    "conditions, rows, left",
    [
        # one that always holds, by remainders, and one that integers leave no place to fail
        ((AnyOf(((("ge", N % 64 - 1),), (("ge", N - 64),))),), (N - 1,), ()),
        ((("ge", N - 2), ("ge", 8 * ((N + 3) // 4) - N - 4)), (), (("ge", N - 2),)),
        # what is left of two is one comparison
        (
            (AnyOf(((("eq", N % 4), ("ge", N - 4)), (("ge", N % 4 - 1), ("ge", N - 1)))),),
            (),
            (("ge", N - 1),),
        ),
        # an alternative that holds nowhere alone, and what another one makes up for
        ((AnyOf(((("ge", N - 8),), (("ge", N - 4),))),), (), (("ge", N - 4),)),
        (
            (AnyOf(((("ge", N - 4),), (("ge", 3 - N), ("ge", M - 2)))),),
            (),
            (AnyOf(((("ge", N - 4),), (("ge", M - 2),))),),
        ),
        # each of these decides
        ((("ge", N - 2), ("ge", M - 3)), (N,), (("ge", N - 2), ("ge", M - 3))),
        ((AnyOf(((("eq", N % 2),), (("ge", M - 3),))),), (), (AnyOf(((("eq", N % 2),), (("ge", M - 3),))),)),
    ],
)
def test_what_is_left_of_conditions(conditions, rows, left):
    assert without(conditions, *rows) == left


def test_bounds_that_no_value_is_beyond_are_left_out_the_long_ones_first():
    there, call = known(N - 1), (Call("S", ()),)
    there.columns.loop(0)
    (loop,) = without_needless(there, (For("c0", (aff(0),), (N // 64, (N + 63) // 64 - 1), 1, False, call),))
    assert loop.upper == ((N + 63) // 64 - 1,)
    both = For("c0", (aff(0),), (N - 1, M // 4), 1, False, call)
    assert without_needless(there, (both,)) == (both,)


def test_a_comparison_is_without_floors_that_are_whole_where_it_stands():
    half = ("ge", 4 - 2 * (N // 2) - 3 * (N % 2))
    (node,) = without_needless(known(), (If((("eq", N % 2),), (Call("T", ()), If((half,), (Call("S", ()),)))),))
    assert node.body[1].conditions == (("ge", 4 - N),)


def test_what_runs_nowhere_is_left_out_with_its_condition():
    outer = ("eq", N % 4 - 1)
    (node,) = without_needless(known(), (If((outer,), (Call("T", ()), If((("eq", N % 2),), (Call("S", ()),)))),))
    assert node.body == (Call("T", ()),)


def test_what_decides_at_one_of_two_places_of_the_same_code_stays():
    inner = If((("ge", N - 3), ("ge", M - 2)), (Call("S", ()),))
    body = (If((("ge", N - 5),), (Call("T", ()), inner), (), (inner, Call("U", ()))),)
    (node,) = without_needless(known(), body)
    assert node.other[0].conditions == inner.conditions


def test_what_is_seen_to_decide_is_not_asked():
    body = (If((("ge", N - 3), ("ge", M - 2)), (Call("S", ()),)),)
    assert Seen(known(), body).whole.left == 0


def test_a_bound_that_is_an_extreme_says_what_it_excludes():
    """Of c0 <= max(N, M) neither is beyond the other: c0 > N and c0 > M hold nowhere."""
    there = known()
    there.columns.loop(0)
    c0 = var("c0")
    asked = If((AnyOf(((("ge", N - c0),), (("ge", M - c0),))),), (Call("S", ()),))
    (loop,) = without_needless(there, (For("c0", (aff(0),), (Extreme("max", (N, M)),), 1, False, (asked,)),))
    assert loop.body == (Call("S", ()),)


def test_what_is_known_of_a_loop_inside_says_nothing_of_sizes():
    """Known around all loops may be how one of these and its half are related, as the floor's column says."""
    there = known()
    there.columns.loop(0)
    said = System()
    said.ge(*there.columns.row(var("c0") // 2 + N))
    body = (If((("ge", N - 3), ("ge", M - 2)), (Call("S", ()),)),)
    assert without_needless(there.given(said), body) == body
