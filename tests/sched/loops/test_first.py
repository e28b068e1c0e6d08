"""Which of two statements may run first below a band: random nodes, the order of all pairs of instances looked up."""

import random
from itertools import product

import pytest

from polyvolta.sched import Filter, Leaf, SetNode
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.spans.turns import runs_before, runs_first
from polyvolta.sched.tree import Band, Mark, Member, Sequence
from polyvolta.sets import Set, aff, var

DOMAINS = {
    "0 <= i < N": lambda i, n, m: 0 <= i < n,
    "i = N": lambda i, n, m: i == n,
    "i = M + 1": lambda i, n, m: i == m + 1,
    "i = 2": lambda i, n, m: i == 2,
    "M <= i <= N": lambda i, n, m: m <= i <= n,
    "2 <= i <= 3 and N >= 3": lambda i, n, m: 2 <= i <= 3 and n >= 3,
    "i = 0 and M < N": lambda i, n, m: i == 0 and m < n,
    "i mod 3 = 2 and 0 <= i <= N": lambda i, n, m: i % 3 == 2 and 0 <= i <= n,
}


def expression(rng, constant):
    """One of a member, with its value at (i, N, M)."""
    c = rng.randint(-1, 2)
    if constant:
        return aff(c), lambda i, n, m: c
    return rng.choice(
        [
            (aff(c), lambda i, n, m: c),
            (var("i") + c, lambda i, n, m: i + c),
            (var("N") + c, lambda i, n, m: n + c),
            (var("M") + c, lambda i, n, m: m + c),
            (var("i") // 2 + c, lambda i, n, m: i // 2 + c),
            (var("N") // 2 - c, lambda i, n, m: n // 2 - c),
            (var("i") - var("N"), lambda i, n, m: i - n),
        ]
    )


def node(rng, depth, statements, constant):
    """A node, and for instances (statement, i, N, M) of these statements a key for each; None in it has no order."""
    kind = rng.choice(["band", "band", "sequence", "set", "filter"]) if depth else "leaf"
    if kind == "leaf":
        return Leaf(), lambda s, *at: ()
    if kind == "band":
        size = rng.randint(1, 2)
        members = [[expression(rng, constant) for _ in range(size)] for _ in statements]
        child, below = node(rng, depth - 1, statements, constant)
        exprs = [tuple((s, members[k][j][0]) for k, s in enumerate(statements)) for j in range(size)]

        def values(s, *at):
            return (*[value(*at) for _, value in members[statements.index(s)]], *below(s, *at))

        return Band(tuple(map(Member, exprs)), child), values
    if kind == "filter" or len(statements) == 1:
        child, below = node(rng, depth - 1, statements, constant)
        return (Mark("here", child) if rng.random() < 0.3 else Filter(statements, child)), below
    parts = [(names, {0, 1}) for names in rng.choice([("S", "T"), ("T", "S"), ("U", "ST"), ("ST", "U")])]
    if not constant and rng.random() < 0.3:  # some at even, some at odd i
        parts = [
            [("S", {0}), ("T", {0, 1}), ("S", {1})],
            [("ST", {1}), ("ST", {0})],
            [("S", {1}), ("ST", {0}), ("T", {1})],
        ]
        parts = rng.choice([*parts, [("T", {1}), ("ST", {0}), ("S", {1})]])
    if rng.random() < 0.3:  # one that is named where nothing of it is left
        parts = [*parts, ("ST", set())] if rng.random() < 0.5 else [("ST", set()), *parts]
    made = [node(rng, depth - 1, tuple(names), constant) for names, _ in parts]
    children = tuple(
        Filter(tuple(names), child, None if len(rest) == 2 else odd_or_even(names, rest))
        for (names, rest), (child, _) in zip(parts, made, strict=True)
    )

    def place(s, i, *at):
        k = next(k for k, (names, rest) in enumerate(parts) if s in names and i % 2 in rest)
        return (k if kind == "sequence" else (k,), *made[k][1](s, i, *at))

    return (Sequence if kind == "sequence" else SetNode)(children), place


def odd_or_even(names, rest):
    some = f"i mod 2 = {min(rest)}" if rest else "1 = 0"
    return Set("[N, M] -> { " + "; ".join(f"{s}[i] : {some}" for s in names) + " }")


def behind(first, second):
    """Whether one key is behind another: the first difference decides, unless it is of the children of a set."""
    for a, b in zip(first, second, strict=False):
        if a != b:
            return not isinstance(a, tuple) and a > b
    return False


@pytest.mark.parametrize("constant", [True, False])
def test_first_means_before_all(constant):
    rng, said, more = random.Random(constant), 0, 0
    box = list(product(range(-2, 6), range(-2, 5)))
    for _ in range(150 if constant else 400):
        tree, key = node(rng, rng.randint(1, 3), ("S", "T"), constant)
        columns = Columns(["N", "M"])
        params = [(((columns.ids[p], 1),), 0, 1) for p in "NM"]
        domains, pieces = [rng.choice(list(DOMAINS)) for _ in "ST"], []
        for s, domain in zip("ST", domains, strict=True):
            ((_, (c,)),) = Set(f"[N, M] -> {{ {s}[i] : {domain} }}").parts
            pieces.append(Piece.of(columns, s, ["i"], params, c))
        late = False  # whether there is an S behind a T
        for n, m in box:
            keys = [[key(s, i, n, m) for i in range(-2, 7) if DOMAINS[d](i, n, m)] for s, d in zip("ST", domains)]
            late = late or any(behind(p, q) for p, q in product(*keys))
        first, before = runs_first(tree, "S", "T"), runs_before(tree, *pieces, Known(columns))
        assert not late or not (first or before), (tree, domains)
        if constant and not late:
            everywhere = [key(s, 0, 0, 0) for s in "ST"]
            assert first == (not behind(*everywhere)), (tree, domains)
        said += before
        more += before and not first  # by the rows of the pieces
    assert said > 30 and (constant or more > 10), (said, more)
