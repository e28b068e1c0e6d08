"""The row that a problem gives, against all small rows at all pairs of a dependence, for some sizes.

Two statements of one iterator each and one parameter, so that a row is c, d and e of both. Each condition that the
module speaks of is asked of the pairs themselves, and of the rows that keep all of them none may cost less.
"""

from itertools import product
from random import Random

import numpy as np
import pytest

from polyvolta.sched.scheduler import farkas
from polyvolta.sched.scheduler.problem import Edge, Problem
from polyvolta.sets import Map
from polyvolta.sets.engine.rows import units

SIZES = (1, 2, 3, 4, 7, 30)  # the last one tells what grows from what is large
FAR = 15
RELATIONS = {
    "j = i": lambda n, i, j: j == i,
    "j = i + 1": lambda n, i, j: j == i + 1,
    "j = i - 1": lambda n, i, j: j == i - 1,
    "j = i + 2": lambda n, i, j: j == i + 2,
    "j >= i": lambda n, i, j: j >= i,
    "j > i": lambda n, i, j: j > i,
    "j = n - 1 - i": lambda n, i, j: j == n - 1 - i,
    "j = 0": lambda n, i, j: j == 0,
    "i = n - 1": lambda n, i, j: i == n - 1,
    "i = 0 and j = n - 1": lambda n, i, j: i == 0 and j == n - 1,
    "0 <= 0": lambda n, i, j: True,
    "n = 7 and i <= 2 and 1 <= j <= 4": lambda n, i, j: n == 7 and i <= 2 and 1 <= j <= 4,
    "n = 7 and 2 <= i <= 4 and j >= 2": lambda n, i, j: n == 7 and 2 <= i <= 4 and j >= 2,
}
PAIRS = {
    text: np.array([(1, n, i, j) for n in SIZES for i, j in product(range(n), repeat=2) if among(n, i, j)])
    for text, among in RELATIONS.items()
}  # fmt: skip


def deltas(edge, text, forms):
    """The distances at all pairs, and the sizes there."""
    (e, d, c), (f, g, h) = forms[edge.source], forms[edge.sink]
    return PAIRS[text] @ np.array((f - e, g - d, -c, h)), PAIRS[text][:, 1]


def cost(forms, edges, mode, fresh):
    """(how many edges are not carried, u, w, sum of d, sum of |c|), smaller is better; None where a condition fails."""
    if any(new and not form[2] for form, new in zip(forms, fresh)):
        return None
    z, far = 0, []
    for edge, text in edges:
        delta, sizes = deltas(edge, text, forms)
        if edge.local or (mode == "coincident" and edge.coincident):
            if delta.any():
                return None
            continue
        if edge.valid:
            if delta.min() < 0:
                return None
            z += mode == "carry" and delta.min() < 1
        if edge.near and mode != "valid":
            far.append((delta if edge.valid else abs(delta), sizes))
    rest = sum(form[1] for form in forms), sum(abs(form[2]) for form in forms)
    if not far:
        return (z, 0, 0, *rest)
    delta, sizes = (np.concatenate(some) for some in zip(*far))
    for u in range(1 if mode == "constant" else 9):
        w = max(0, (delta - u * sizes).max())
        if w <= FAR:
            return (z, u, w, *rest)
    return None


@pytest.mark.parametrize("many", [16, 1])
@pytest.mark.parametrize("mode", ["valid", "coincident", "near", "constant", "carry"])
def test_no_small_row_costs_less(mode, many, monkeypatch):
    """Also with vertices that are given by a base and moves, as those of products are that have more than `many`."""
    monkeypatch.setattr(farkas, "MANY", many)
    random, found = Random(f"{mode} {many}"), 0
    for _ in range(20):
        negative, edges = random.random() < 0.6, []
        for _ in range(random.choice((1, 2, 2, 3))):
            text = random.choice([*RELATIONS, *([*RELATIONS][-2:] if many == 1 else ())])
            m = Map(f"[n] -> {{ S[i] -> T[j] : 0 <= i, j < n and {text} }}")
            near, valid, coincident = (random.random() < p for p in (0.8, 0.8 if many > 1 else 0.5, 0.6))
            cone = farkas.cone.__wrapped__(m.parts[0][1][0])
            flags = near, valid, coincident, random.random() < 0.1
            edges.append((Edge(random.randrange(2), random.randrange(2), cone, *flags), text))
        fresh = random.choice(((True, True), (True, False), (False, False)))
        signs = range(-1, 2) if negative else range(3)
        small = [[(e, d, c) for e in range(3) for d in range(2) for c in signs] for _ in fresh]
        best = min((c for forms in product(*small) if (c := cost(forms, edges, mode, fresh))), default=None)
        given = [e for e, _ in edges]
        base = (
            Problem((1, 1), 1, given, "valid", negative)
            if mode in ("near", "constant") and random.random() < 0.5
            else None
        )
        solved = Problem((1, 1), 1, given, mode, negative, base).solve([((1,),) if new else () for new in fresh])
        if solved is None:
            assert best is None
            continue
        found += 1
        mine = cost(solved[0], edges, mode, fresh)
        assert mine is not None and (best is None or mine <= best), (mine, best, edges)
        assert all(e >= 0 and d >= 0 and (negative or c >= 0) for e, d, c in solved[0])
        if mode == "carry":
            assert sum(solved[1]) == mine[0]
    assert found > 4


def test_one_iterator_of_each_is_what_the_integer_program_says(monkeypatch):
    """Where nothing is asked but that rows are new, for statements some of whose iterators run together."""
    random, found = Random("alike"), 0
    for _ in range(60):
        depths = tuple(random.choice((1, 2, 3)) for _ in range(random.choice((2, 3))))
        edges = []
        for sink in range(1, len(depths)):
            source = random.randrange(sink)
            a, b = (", ".join(f"{x}{k}" for k in range(depths[s])) for x, s in (("i", source), ("j", sink)))
            pairs = zip(random.sample(range(depths[source]), depths[source]), range(depths[sink]))
            same = " and ".join(f"j{y} = {random.choice(('', '-'))}i{x}" for x, y in pairs)
            m = Map(f"{{ S[{a}] -> T[{b}] : {same} }}")
            edges.append(Edge(source, sink, farkas.cone(m.parts[0][1][0]), True))
        fresh = [units(depth)[random.randrange(depth + 1) :] for depth in depths]
        negative = random.random() < 0.7
        quick = Problem(depths, 0, edges, "coincident", negative).solve(fresh)
        with monkeypatch.context() as patch:
            patch.setattr(Problem, "_alike", lambda *_: None)
            assert Problem(depths, 0, edges, "coincident", negative).solve(fresh) == quick
        found += quick is not None and Problem(depths, 0, edges, "coincident", negative)._alike(fresh) is not None
    assert found > 10
