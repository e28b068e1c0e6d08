"""Powers and transitive closures by example; their laws on random maps are in `tests.sets.laws.closures`."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyvolta.isl as own
from polyvolta.sets import Map, Set, SpaceMismatch, budget
from polyvolta.sets.operations import paths
from tests.sets.brute import examples

EXACT = {
    "a chain": ("[K] -> { [k] -> [k + 1] : 0 <= k < K - 1 }", "[K] -> { [k] -> [l] : 0 <= k < l < K }"),
    "a chain downwards": (
        "[K] -> { [k] -> [k - 3] : 0 <= k < K }",
        "[K] -> { [k] -> [l] : 0 <= k < K and l < k and l > -4 and (k - l) mod 3 = 0 }",
    ),
    "a stride": (
        "[N] -> { [i] -> [i + 2] : 0 <= i < N and i mod 2 = 0 }",
        "[N] -> { [i] -> [j] : 0 <= i < j < N + 2 and i mod 2 = 0 and j mod 2 = 0 }",
    ),
    "a stride that is missed": (
        "[N] -> { [i] -> [i + 3] : 0 <= i < N and i mod 2 = 0 }",
        "[N] -> { [i] -> [i + 3] : 0 <= i < N and i mod 2 = 0 }",
    ),
    "an oblique step in a triangle": (
        "[N] -> { [i, j] -> [i + 1, j - 2] : 0 <= j <= i < N }",
        "[N] -> { [i, j] -> [k, l] : exists c : c >= 1 and k = i + c and l = j - 2c and 0 <= j <= i "
        "and l + 2 >= 0 and k <= N and l + 2 <= k - 1 }",
    ),
    "a step of several lengths in a box": (
        "[N] -> { [i] -> [j] : i + 1 <= j <= i + 3 and 0 <= i < N and 0 <= j < N }",
        "[N] -> { [i] -> [j] : 0 <= i < j < N }",
    ),
    "a stencil": (
        "[T, N] -> { [t, i] -> [t + 1, j] : i - 1 <= j <= i + 1 and 0 <= t < T and 0 <= i < N and 0 <= j < N }",
        "[T, N] -> { [t, i] -> [u, j] : 0 <= t < u <= T and 0 <= i < N and 0 <= j < N and t - u <= j - i <= u - t }",
    ),
    "two translations": (
        "{ [i] -> [i + 2]; [i] -> [i + 3] }",
        "{ [i] -> [j] : j >= i + 2 }",
    ),
    "two dimensions, one step each": (
        "[N] -> { [i, j] -> [i + 1, j] : 0 <= i < N and 0 <= j <= N;"
        " [i, j] -> [i, j + 1] : 0 <= i <= N and 0 <= j < N }",
        "[N] -> { [i, j] -> [k, l] : 0 <= i <= k <= N and 0 <= j <= l <= N and i + j < k + l }",
    ),
    "two long steps in a box": (
        "[N] -> { [i, j] -> [i + 2, j] : 0 <= i, j < N; [i, j] -> [i + 1, j + 2] : 0 <= i, j < N }",
        "[N] -> { [i, j] -> [k, l] : exists a, b : a >= 0 and b >= 0 and 0 <= i, j < N and (k = i + 2a + b + 2 and"
        " l = j + 2b and k < N + 2 and l < N or k = i + 2a + b + 1 and l = j + 2b + 2 and k < N + 1 and l < N + 2) }",
    ),
    "forth and back": (
        "[N] -> { [i] -> [i + 1] : 0 <= i < N; [i] -> [i - 1] : 0 < i <= N }",
        "[N] -> { [i] -> [j] : 0 <= i <= N and 0 <= j <= N and N >= 1 }",
    ),
    "two separate chains": (
        "[n] -> { [i] -> [i + 1] : 0 <= i < n and i <= 9; [i] -> [i + 1] : 20 <= i <= n }",
        "[n] -> { [i] -> [j] : 0 <= i < j <= 10 and j <= n; [i] -> [j] : 20 <= i < j <= n + 1 }",
    ),
    "an order": ("{ [i] -> [j] : 0 <= i < j < 10 }", "{ [i] -> [j] : 0 <= i < j < 10 }"),
    "an exchange": (
        "[N] -> { [i, j] -> [j, i] : 0 <= i, j < N }",
        "[N] -> { [i, j] -> [j, i] : 0 <= i, j < N; [i, j] -> [i, j] : 0 <= i, j < N }",
    ),
    "a few pairs": (
        "{ [0] -> [5]; [5] -> [3]; [3] -> [0]; [7] -> [3] }",
        "{ [i] -> [j] : (i = 0 or i = 3 or i = 5 or i = 7) and (j = 0 or j = 3 or j = 5) }",
    ),
    "a permutation": ("{ [i] -> [(5i + 3) mod 16] : 0 <= i < 16 }", "{ [i] -> [j] : 0 <= i < 16 and 0 <= j < 16 }"),
    "two dozen doublings": (
        f"{{ [i, j] -> [2i, j] : 0 < i < {2**24} and j >= 0 }}",
        f"{{ {'; '.join(f'[i, j] -> [{2**k}i, j] : 0 < {2**k}i < {2**25} and j >= 0' for k in range(1, 25))} }}",
    ),
    "two tuples": (
        "[N] -> { A[i] -> B[i] : 0 <= i < N; B[i] -> A[i + 1] : 0 <= i < N }",
        "[N] -> { A[i] -> B[j] : 0 <= i <= j < N; B[i] -> A[j] : 0 <= i < j <= N;"
        " A[i] -> A[j] : 0 <= i < j <= N; B[i] -> B[j] : 0 <= i < j < N }",
    ),
    "a loop on the way": (
        "{ A[] -> B[0]; B[i] -> B[i + 1] : 0 <= i < 9; B[9] -> C[] }",
        "{ A[] -> B[i] : 0 <= i <= 9; B[i] -> B[j] : 0 <= i < j <= 9; B[i] -> C[] : 0 <= i <= 9; A[] -> C[] }",
    ),
    "no loop": ("{ A[i] -> B[i]; C[i] -> D[i] }", "{ A[i] -> B[i]; C[i] -> D[i] }"),
    "nothing": ("{ [i] -> [j] : false }", "{ [i] -> [j] : false }"),
    "standing still": ("{ [i] -> [i] : i >= 0 }", "{ [i] -> [i] : i >= 0 }"),
}


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_closure(name):
    text, expected = EXACT[name]
    found, exact = Map(text).transitive_closure()
    assert exact and found.is_equal(Map(expected))


def test_closures_are_readable():
    closure = lambda text: str(Map(text).transitive_closure()[0])  # noqa: E731
    assert len(Map(EXACT["a chain"][0]).transitive_closure()[0].pieces) == 1
    for _ in range(3):  # whatever is remembered of it
        assert len(Map(EXACT["a permutation"][0]).transitive_closure()[0].pieces) == 1
    assert "floor" not in closure("[N] -> { [i] -> [i + 2] : 0 <= i < N and i mod 2 = 0 }")


@pytest.mark.parametrize(
    "text",
    [
        "{ [i] -> [2i] : i > 0 }",
        "[N] -> { [i] -> [i + N] : 0 <= i < 100 and N > 0 }",
        "[N] -> { [i, j] -> [i + j, j] : 0 <= i < N and 0 < j }",
    ],
)
def test_what_is_not_affine_is_covered_and_says_so(text):
    step = Map(text)
    found, exact = step.transitive_closure()
    assert not exact
    for k in range(1, 4):
        assert step.fixed_power(k).is_subset(found)


def test_a_hard_closure_ends():
    step = Map("{ [i, j] -> [k, l] : 3k = 2i + j + 1 and 2l <= 3j - i and 0 <= i, j, k, l < 1000 }")
    began = time.process_time()
    found, _ = step.transitive_closure()
    assert step.is_subset(found) and time.process_time() - began < 60


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=9))
@examples(25)
def test_finite_relations_are_closed_exactly(pairs):
    found, exact = Map.from_points("[i] -> [j]", pairs).transitive_closure()
    table = np.zeros((7, 7), bool)
    table[tuple(np.array(pairs, int).reshape(-1, 2).T)] = True
    for _ in range(3):
        table = table | (table.astype(int) @ table.astype(int) > 0)
    assert exact and set(found.points()) == {(int(i), int(j)) for i, j in np.argwhere(table)}


@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-4, 4))
@examples(25)
def test_powers_of_a_translation(a, b, k):
    step = Map(f"[N] -> {{ [i, j] -> [i + {a}, j + {b}] : 0 <= i < N }}")
    power = step.fixed_power(k)
    low, high = min(0, a * (abs(k) - 1)), max(0, a * (abs(k) - 1))
    moved = Map(f"[N] -> {{ [i, j] -> [i + {a * abs(k)}, j + {b * abs(k)}] : 0 <= i + {low} and i + {high} < N }}")
    if k:
        assert power.is_equal(moved if k > 0 else moved.reverse())
    else:
        assert power.is_equal((step.domain() | step.range()).identity())


COUNTERS = {
    "of one digit": "{ [i] -> [i + 1] : 0 <= i < 15; [15] -> [0] }",
    "of two digits": "{ [i, j] -> [i, j + 1] : 0 <= i < 4 and 0 <= j < 3; [i, 3] -> [i + 1, 0] : 0 <= i < 3;"
    " [3, 3] -> [0, 0] }",
    "of three bits": "{ [a, b, 0] -> [a, b, 1] : 0 <= a, b <= 1; [a, 0, 1] -> [a, 1, 0] : 0 <= a <= 1;"
    " [0, 1, 1] -> [1, 0, 0]; [1, 1, 1] -> [0, 0, 0] }",
    "to the last number": "[N] -> { [i] -> [i + 1] : 0 <= i < N - 1; [i] -> [0] : i = N - 1 and N >= 9 }",
    "twofold": "{ [i] -> [i + 1] : 0 <= i < 15; [15] -> [0]; [i] -> [i] : 0 <= i < 16 }",
    "of an existential": "{ [i] -> [j] : exists e : 3e <= i < 4e and i <= j + e <= i + 1 and 0 <= i, j < 16 }",
}


@pytest.mark.parametrize("text", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("k", [5, 16])
def test_powers_of_counters(text, k):
    step = Map(text).fix(N=11) if "N" in text else Map(text)
    pairs = set(step.wrap().flatten().points())
    n, found = len(step.space.source.dims), pairs
    for _ in range(k - 1):
        found = {p[:n] + s[n:] for p in found for s in pairs if p[n:] == s[:n]}
    power = Map(text).fixed_power(k)
    assert set((power.fix(N=11) if "N" in text else power).wrap().flatten().points()) == found


def test_a_full_turn_of_a_counter_is_one_piece():
    for name in ("of one digit", "of two digits"):
        step = Map(COUNTERS[name])
        turn = step.fixed_power(16)
        assert len(turn.pieces) == 1 and turn.is_equal(step.domain().identity())
    assert len(Map("{ [i] -> [i + 1] : 0 <= i < 127; [127] -> [0] }").fixed_power(128).pieces) == 1


def test_powers_and_lengths_of_paths():
    step = Map("[N] -> { S[i] -> S[i + 2] : 0 <= i < N }")
    found, exact = step.power()
    assert exact and found.fix(k=3).range().unwrap().is_equal(step.fixed_power(3))
    lengths, exact = step.reaching_path_lengths()
    assert exact and lengths.is_equal(Map("[N] -> { [j] -> [k] : 1 <= k and 2k <= j < N + 2 }"))  # as isl says it
    lengths, exact = Map("{ A[i, j] -> A[i + 1, j] : 0 <= i < 2 and 0 <= j < 2 }").reaching_path_lengths()
    reached = {(1, 0, 1), (1, 1, 1), (2, 0, 1), (2, 1, 1), (2, 0, 2), (2, 1, 2)}
    assert exact and lengths.dims() == ("i", "j", "k") and {*lengths.wrap().flatten().points()} == reached


POWERS = {
    "no path of two steps": "{ [0] -> [1]; [2] -> [3] }",
    "a stairway": (
        "{ [0, 0] -> [0, 1]; [0, 1] -> [1, 1]; [2, 2] -> [3, 2]; [3, 2] -> [3, 3] }"  # isl's article, figure 1, right
    ),
    "steps that may change places": (
        "{ [x, y] -> [x, y + 1] : 1 <= x, y <= 4; [x, y] -> [x + 1, y] : 1 <= x <= 8 and 2 <= y <= 6 }"
    ),
    "steps of three kinds in a cone": (
        "{ [i, j] -> [i + 3, j] : i <= 2j - 4 and i <= 6 and j <= 2i - 1 and j <= 9;"
        " [i, j] -> [i, j + 3] : i <= 2j - 1 and i <= 9 and j <= 2i - 4 and j <= 6;"
        " [i, j] -> [i + 1, j + 1] : i <= 2j - 1 and i <= 8 and j <= 2i - 1 and j <= 8 }"
    ),
}


@pytest.mark.parametrize("text", POWERS.values(), ids=POWERS)
def test_powers_of_several_pieces_are_exact(text):
    found, exact = Map(text).power()
    assert exact and set(found.wrap().flatten().points()) == _walks(text)


TUPLES = [
    "{ A[i] -> B[i + 1] : 0 <= i < 4; B[i] -> A[i] : 0 <= i < 4 }",
    "{ A[i] -> B[2i] : 0 <= i < 4; B[i] -> C[] : i < 5 }",
    "{ A[i] -> A[i + 1] : 0 <= i < 3; A[i] -> B[i, 0] : 0 <= i < 4; B[i, j] -> B[i, j + 1] : 0 <= i, j < 4 }",
    "{ A[i] -> B[i] : 0 <= i < 5; B[i] -> [A[i] -> C[0]]; [A[i] -> C[j]] -> A[i + 2] : 0 <= i < 4 and j < 1 }",
]


@pytest.mark.parametrize("text", TUPLES)
def test_powers_of_several_tuples(text):
    """Each power by compositions, and no longer path than there is."""
    step = Map(text)
    found, exact = step.power()
    power, k = step, 1
    while not power.is_empty():
        assert exact and found.intersect_domain(Set(f"{{ [{k}] }}")).range().unwrap().is_equal(power), k
        power, k = power.apply_range(step), k + 1
    assert k > 2 and found.domain().is_subset(Set(f"{{ [k] : 1 <= k < {k} }}"))


@pytest.mark.parametrize("text", [
    "{ A[i] -> B[i + 1]; B[i] -> A[i] }", "[n] -> { A[i] -> B[i] : 0 <= i < n; B[i] -> A[i + 1] : i < n - 1 }",
    "{ A[i] -> B[i]; B[i] -> C[i + 1]; C[i] -> A[i + 2]; A[i] -> A[i + 4] }", "{ }",
])  # fmt: skip
def test_powers_of_unions_beside_islpy(text):
    isl = pytest.importorskip("islpy")
    (theirs, sure), (ours, exact) = isl.UnionMap(text).power(), own.UnionMap(text).power()
    assert sure and exact and ours.is_equal(own.UnionMap(str(theirs)))


def _walks(text):
    """(k, x, y) for all paths of k steps, one step after the other."""
    steps = set(Map(text).wrap().flatten().points())
    n = len(next(iter(steps))) // 2
    reached, found, k = steps, set(), 1
    while reached and k < 40:
        found |= {(k, *p) for p in reached}
        reached = {p[:n] + s[n:] for p in reached for s in steps if p[n:] == s[:n]}
        k += 1
    return found


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4, st.integers(-1, 2), st.integers(-1, 2)), min_size=2, max_size=3))
@examples(25)
def test_powers_of_steps_in_boxes(boxes):
    text = "; ".join(
        f"[i, j] -> [i + {a}, j + {b}] : {x} <= i <= {x + w} and {y} <= j <= {y + h}" for x, w, y, h, a, b in boxes
    )
    step = Map(f"{{ {text} }}")
    found, exact = step.power()
    walks = _walks(f"{{ {text} }}")
    for k in range(1, 9):
        ours = set(found.fix(k=k).range().flatten().points()) if not found.fix(k=k).is_empty() else set()
        assert ours >= {p[1:] for p in walks if p[0] == k}
        assert not exact or ours == {p[1:] for p in walks if p[0] == k}
    closed, exact = step.transitive_closure()
    ours = set(closed.wrap().flatten().points()) if exact else {p[1:] for p in walks}
    assert ours == {p[1:] for p in walks}


ERRORS = [
    (lambda: Map("{ A[i] -> B[i] }").power(), "a power needs inputs and outputs in one space\n  A[i]\n  B["),
    (lambda: Map("{ A[i] -> A[i]; B[i] -> B[i] }").reaching_path_lengths(), "needs a single space"),
    (lambda: Map("{ A[i] -> B[i] }").fixed_power(2), "first: A[i] -> B["),
    (lambda: Map("{ [i] -> [i] }").fixed_power(1.5), "an exponent is an integer, not 1.5"),
    (lambda: Map("{ [i] -> [i] }").fixed_power(np.array([1, 2])), "an exponent is an integer, not array"),
    (lambda: Map("{ [i] -> [i] }").fixed_power(True), "an exponent is an integer, not True"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_an_error_says_what_and_where(call, message):
    with pytest.raises(SpaceMismatch) as caught:
        call()
    assert message in str(caught.value)


def test_closures_agree_with_isl():
    isl = pytest.importorskip("islpy")
    for text, _ in EXACT.values():
        theirs, exact = isl.UnionMap(text).transitive_closure()
        ours = isl.UnionMap(str(Map(text).transitive_closure()[0]))
        assert ours.is_subset(theirs) and (not exact or ours.is_equal(theirs))


def test_the_closure_of_a_set_of_pairs_is_a_set_of_pairs():
    step = Map("{ [[i] -> [j]] -> [[i] -> [j + 1]] : 0 <= j < 5 }")
    found, exact = step.transitive_closure()
    assert exact and found.is_equal(Map("{ [[i] -> [j]] -> [[i] -> [k]] : 0 <= j < k <= 5 }"))
    assert Set("{ [[3] -> [2]] }").apply(found).is_equal(Set("{ [[3] -> [j]] : 3 <= j <= 5 }"))


def reached(steps):
    """The pairs between which paths lead, by search."""
    onward = {}
    for x, y in steps:
        onward.setdefault(x, []).append(y)
    found = set()
    for start in onward:
        todo = list(onward[start])
        while todo:
            y = todo.pop()
            if (start, y) not in found:
                found.add((start, y))
                todo += onward.get(y, ())
    return found


STEPS = "k = i + 3 and l = j or k = i and l = j + 3 or k = i + 1 and l = j + 1"
KITE = "0 < i <= n and 0 < j <= n and i < 2j and j < 2i and 0 < k <= n and 0 < l <= n and k < 2l and l < 2k"
GROWING = [  # steps, a parameter up to which they are searched, whether the closure is proved
    (f"[n] -> {{ [i, j] -> [k, l] : {KITE} and ({STEPS}) }}", 9, True),
    ("[n] -> { [x] -> [y] : 1 <= n <= y - x <= 10 and 0 <= x, y <= 40 }", 12, None),
    ("[n] -> { [i, j] -> [i + 1, j] : 0 <= i, j < n and j != 2; [i, j] -> [i, j + 2] : 0 <= i, j < n }", 6, None),
    ("[n] -> { [i, j] -> [i - 1, j + 1] : 0 <= i, j < n; [i, j] -> [i, j + 1] : 0 <= j < n and i = 3 }", 6, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "n", "proved"), GROWING)
def test_a_closure_that_is_said_to_be_exact_is_what_a_search_finds(text, n, proved):
    m = Map(text)
    closed, exact = m.transitive_closure()
    assert proved is None or exact == proved
    for value in range(n + 1):
        d = m.space.n_in
        wanted = reached([(p[:d], p[d:]) for p in m.points(n=value)])
        if exact:
            assert {(p[:d], p[d:]) for p in closed.points(n=value)} == wanted, value
        else:
            assert all(closed.contains((*x, *y), n=value) for x, y in wanted)


STEPS = {
    "k <= 3i": lambda i, k: k <= 3 * i,
    "(k - 2i) mod 5 = 1": lambda i, k: (k - 2 * i) % 5 == 1,
    "i - 2 <= k <= 2i": lambda i, k: i - 2 <= k <= 2 * i,
}


@pytest.mark.parametrize("holds", ["N = 0", "N = 5 and M = 1", "2N = 6"])
@pytest.mark.parametrize("step", STEPS)
def test_what_is_finite_at_one_value_of_a_parameter_is_so_there_alone(holds, step):
    text = f"[N, M] -> {{ [i] -> [k] : -3 <= i <= 4 and -3 <= k <= 4 and {step} and {holds} }}"
    found, exact = Map(text).transitive_closure()
    reached = {(i, k) for i, k in product(range(-3, 5), repeat=2) if STEPS[step](i, k)}
    while more := {(a, d) for a, b in reached for c, d in reached if b == c} - reached:
        reached |= more
    pairs = Map.from_points("[i] -> [k]", sorted(reached))
    assert exact and found.is_equal(pairs.intersect_params(Set(f"[N, M] -> {{ : {holds} }}")))


BACK_AND_FORTH = [
    "[n] -> { [i] -> [i + 1] : 0 <= i < n and i mod 2 = 0; [i] -> [i + 3] : 0 <= i < n and i mod 2 = 1 }",
    "[n] -> { [0, i] -> [1, i + 1] : 0 <= i < n and i mod 2 = 0; [0, i] -> [1, i - 1] : 0 <= i < n and i mod 2 = 0;"
    " [1, i] -> [0, i + 1] : 0 <= i < n and i mod 2 = 1 }",
    # steps that lead nowhere else
    "[n] -> { [i] -> [i + 2] : 0 <= i < n; [i] -> [i] : 3 <= i <= n }",
    "[n] -> { [i] -> [j] : i - 1 <= j <= i and 0 <= i < n; [i] -> [i] : i mod 3 = 1 and 0 <= i <= n + 4 }",
]


@pytest.mark.parametrize("text", BACK_AND_FORTH)
def test_steps_between_groups_of_points_and_steps_that_stay(text):
    """Closed group by group: paths from one group back to it are translations, or stay."""
    m = Map(text)
    with budget(20_000):
        closed, exact = m.transitive_closure()
    assert exact
    d = m.space.n_in
    for n in range(9):
        wanted = reached([(p[:d], p[d:]) for p in m.points(n=n)])
        assert {(p[:d], p[d:]) for p in closed.points(n=n)} == wanted, n


@pytest.mark.parametrize(
    ("moves", "stays"),
    [
        ("[i] -> [i - 1] : 0 <= i <= n", "[i] -> [i] : 0 <= i <= n and i mod 2 = 1; [i] -> [i] : 2 <= i <= 8"),
        (
            "[i, j] -> [i, j + 3] : 1 <= i <= n and 0 <= j <= m",
            "[i, j] -> [i, j] : 1 <= i <= n and 0 <= j <= n and i mod 3 = 1;"
            " [i, j] -> [i, j] : 0 <= i <= 8 and 0 <= j <= n",
        ),
    ],
)
def test_steps_that_stay_are_put_aside(moves, stays):
    """No path needs them but those of one step; among steps that move they were in the way of a proof."""
    m = Map(f"[n, m] -> {{ {moves}; {stays} }}")
    with budget(5_000):
        closed, exact = m.transitive_closure()
    assert exact
    d = m.space.n_in
    for n in range(7):
        at = {"n": n, "m": 4}
        assert {(p[:d], p[d:]) for p in closed.points(**at)} == reached([(p[:d], p[d:]) for p in m.points(**at)]), n


def test_pairs_one_by_one_are_searched_at_once():
    pairs = [((k,), ((3 * k + 1) % 17,)) for k in range(17)]
    m = Map("{ " + "; ".join(f"[{a}] -> [{b}]" for (a,), (b,) in pairs) + " }")
    with budget(5_000):
        closed, exact = m.transitive_closure()
    assert exact and {(p[:1], p[1:]) for p in closed.points()} == reached(pairs)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[N] -> { [i, j] -> [i + 1, j - 5] : 0 <= i < N; [i, j] -> [i, j + 5] : 0 <= j < N }", True),
        ("[N] -> { [i, j] -> [i + 2, j] : 0 <= i < N; [i, j] -> [i + 1, k] : 0 <= k < N }", True),
        ("[N] -> { [i, j] -> [i + 2, j] : 0 <= i < 9; [i, j] -> [i + 1, k] : 0 <= k < N }", False),  # no path is long
        ("[N] -> { [i] -> [i + 1] : 0 <= i < N; [i] -> [N] }", False),  # one step may be as long as a path
        ("[N] -> { [i] -> [i + 1] : 0 <= i < 9 and N < 0; [i] -> [0] : 0 < i < 9 }", False),
    ],
)
def test_maps_with_ever_further_paths_are_not_squared(text, found):
    assert paths.endless(Map(text)) is found


def test_squaring_ends_where_long_paths_are_short_cuts():
    """Steps of one and of any length: two steps lead to all."""
    m = Map("[N] -> { [i] -> [i + 1] : 0 <= i < N; [i] -> [k] : i < k <= N and i >= 0 }")
    closed, exact = m.transitive_closure()
    assert exact and closed.is_equal(Map("[N] -> { [i] -> [k] : 0 <= i < k <= N }"))
