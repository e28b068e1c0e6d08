"""Gist: what is left to say in a context."""

import itertools
import random

import pytest

from polyvolta.sets import Map, PwAff, Set, budget
from polyvolta.sets.conjuncts.conjunct import lifted
from polyvolta.sets.conjuncts.frame import Frame
from polyvolta.sets.engine.rows import dot
from polyvolta.sets.hulls import between
from polyvolta.sets.hulls import gist as gisting

EQUAL = [  # this, context, left, whether isl's is the same
    ("{ [i, j] : i <= -1 and j = 4 }", "{ [i, j] : j >= 1 and 2i >= -2 }", "{ [-1, 4] }", True),
    ("{ [i, j] : i >= 0 and i + 2j <= 4 }", "{ [i, j] : j >= 2 }", "{ [0, 2] }", True),
    (
        "[n] -> { [i, j] : n <= 2 and i <= -2 }",
        "[n] -> { [i, j] : 2n >= 4 }",
        "[n] -> { [i, j] : n = 2 and i <= -2 }",
        True,
    ),
    ("{ [i] : 3i <= 7 }", "{ [i] : i >= 2 }", "{ [2] }", True),  # over the integers alone
    ("{ [i] : i <= 2 }", "{ [i] : i >= 2; [i] : i = -5 }", "{ [i] : i <= 2 }", False),  # -5, too
    ("{ [i] : i <= 2; [i] : i >= 9 }", "{ [i] : 2 <= i <= 9 }", "{ [2]; [9] }", True),
    ("{ [i, j] : 0 <= i <= 10 and j = 5 }", "{ [i, j] : j >= 5 and i <= 0 }", "{ [0, 5] }", True),
]

CASES = [
    (
        "[N] -> { [i] : 0 <= i < N and i < 10 }",
        "[N] -> { [i] : i >= 0 and N <= 10 }",
        "[N] -> { [i] : i < N }",
    ),
    ("{ [i] : i mod 16 = 0 }", "{ [i] : i mod 16 = 0 }", "{ [i] }"),
    ("{ [i] : 0 <= i < 8 }", "{ [i] : 0 <= i < 4 }", "{ [i] }"),
    ("{ [i] : 0 <= i < 8 }", "{ [i] : i >= 9 }", "{ [i] : false }"),
    ("{ [i, j] : i = j and 0 <= i < 8 }", "{ [i, j] : 0 <= j < 8 }", "{ [i, j] : j = i }"),
    ("{ [i] : i = 3 }", "{ [i] : 3 <= i <= 4 }", "{ [3] }"),
    ("[M] -> { [b] : 0 <= b and 128b + 127 < M }", "[M] -> { [b] : 0 <= b and M mod 128 = 0 }", None),
    ("{ [i, j] : i = -2 and j = 0 }", "{ [i, j] : i = -2 and j = 0; [i, j] : i >= 0 }", None),
    ("{ [i] : i mod 16 = 0 }", "{ [i] : i mod 8 = 0 }", "{ [i] : i mod 16 = 0 }"),
    ("{ [i] : i mod 8 = 0 }", "{ [i] : i mod 16 = 0 }", "{ [i] }"),
    ("{ [i] : i mod 6 = 0 }", "{ [i] : i mod 4 = 0 }", "{ [i] : i mod 3 = 0 }"),
    ("{ [i] : i mod 12 = 8 }", "{ [i] : i mod 4 = 0 }", "{ [i] : i mod 3 = 2 }"),
    (
        "{ [i] : i mod 16 = 0 and 0 <= i < 64 }",
        "{ [i] : i mod 8 = 0 and i >= -7 }",
        "{ [i] : i mod 16 = 0 and i <= 48 }",
    ),
    ("{ [b, i] : b = floor(i/8) and 0 <= i < 64 }", "{ [b, i] : 0 <= b < 8 and 8b <= i < 8b + 8 }", "{ [b, i] }"),
    ("{ [i] : 0 <= i < 10 }", "{ [i] : 0 <= i < 5; [i] : 7 <= i < 20 }", "{ [i] : i <= 9 }"),
    ("{ [i] : i != 5 }", "{ [i] : i > 5 }", "{ [i] }"),
    ("{ [i] : exists a, b : i = 3a + 5b and 0 <= a <= 9 and 0 <= b <= 9 and i >= 0 }", "{ [i] : i >= 0 }", None),
    ("{ [i] : 0 <= i < 9; [i] : i = 20 }", "{ [i] : 0 <= i < 9 }", "{ [i] }"),
    ("[n] -> { [x] : x = n and x mod 32 = 0 }", "[n] -> { [x] : x mod 32 = 0 }", "[n] -> { [n] }"),
    ("{ [a, b, c] : a mod 2 = 0 and a = c }", "{ [a, b, c] : b mod 2 = 0 and b = c }", "{ [a, b, c] : c = a }"),
    ("{ [a, b, c] : a mod 6 = 0 and a = c }", "{ [a, b, c] : b mod 2 = 0 and b = c }",
     "{ [a, b, c] : a mod 3 = 0 and c = a }"),
    ("[N] -> { [i] : i < N }", "[N] -> { [i] : N = 4 and i > 0 }", "[N] -> { [i] : i <= 3 }"),
    ("{ [i, j] : i < j and j < 9 }", "{ [i, j] : j = 1 }", "{ [i, j] : i <= 0 }"),
    ("{ [i, j] : i < j }", "{ [i, j] : j = 1; [i, j] : j = 2 }", "{ [i, j] : i < j }"),
    ("{ [i, j] : i = floor(j/4) }", "{ [i, j] : j = 9 and i > -5 }", "{ [i, j] : i = 2 }"),
    ("{ [a, b, c] : a = 6c and b = 10c }", "{ [a, b, c] : a = 6c }", None),
    *[row[:3] for row in EQUAL],
]  # fmt: skip


def test_bounds_that_are_equalities_in_the_context_are_those_of_isl():
    isl = pytest.importorskip("islpy")
    for this, context, left, same in EQUAL:
        assert isl.Set(this).gist(isl.Set(context)).is_equal(isl.Set(left)) or not same, this


@pytest.mark.parametrize(("this", "context", "left"), CASES)
def test_a_gist_agrees_in_its_context(this, context, left):
    a, c = Set(this), Set(context)
    found = a.gist(c)
    assert (found & c).is_equal(a & c)
    if left is not None:
        assert found.is_equal(Set(left)) or str(found) == left


def test_a_tiled_domain_says_only_what_cuts():
    domain = Set(
        "[M] -> { [b, p] : b >= 0 and 0 <= p < 128 and 128b + p < M }",
    )
    context = Set("[M] -> { [b, p] : b >= 0 and 0 <= p < 128 }")
    assert str(domain.gist(context)) == "[M] -> { [b, p] : p < M - 128*b }"
    assert str(domain.gist(domain)) == "[M] -> { [b, p] }"


@pytest.mark.parametrize(("this", "context"), [case[:2] for case in CASES])
def test_a_gist_is_as_short_as_isls(this, context):
    isl = pytest.importorskip("islpy")
    pieces = isl.Set(this).gist(isl.Set(context)).get_basic_sets()
    ours = Set(this).gist(Set(context))
    rows = sum(len(c.eqs) + len(c.ineqs) for _, cs in ours.parts for c in cs)
    assert rows <= sum(len(piece.get_constraints()) for piece in pieces)


@pytest.mark.parametrize(
    ("pieces", "context", "left"),
    [
        ("{ [i] : i mod 2 = 0 and 2 <= i <= 9; [i] : i mod 2 = 1 and 2 <= i <= 9 }", "{ [i] : i >= 6 or i mod 3 = 2 }",
         "{ [i] : 2 <= i <= 9 }"),
        ("[N] -> { [i] : N >= -2 and 0 <= i <= 2; [i] : N >= -2 and 3 <= i <= 7 }",
         "[N] -> { [i] : 3 <= i <= 9; [i] : N >= 2 and i = 2 }", "[N] -> { [i] : N >= -2 and i <= 7 }"),
    ],
)  # fmt: skip
def test_pieces_that_make_one_are_one_before_the_context_tells_them_apart(pieces, context, left):
    pieces, context = Set(pieces), Set(context)
    found = pieces.gist(context)
    assert len(found.pieces) == 1
    assert (found & context).is_equal(pieces & context) and (Set(left) & context).is_equal(pieces & context)


COVERED = [  # pieces that together have all of the context: there is nothing left to say
    ("{ [i, j] : i >= 0; [i, j] : j >= 0 }", "{ [i, j] : i + j >= -1 }"),
    ("{ [i, j] : i mod 2 = 1; [i, j] : i >= j }", "{ [i, j] : i = j + 3; [i, j] : i mod 4 = 3 and j >= 0 }"),
    ("[N] -> { [i] : 3i >= N - 6; [i] : 2N + i >= 6 }", "[N] -> { [i] : N + 3i >= 4 }"),
]


@pytest.mark.parametrize(("text", "context"), COVERED)
def test_what_all_pieces_together_say(text, context):
    short = Set(text).gist(Set(context))
    assert len(short.pieces) == 1 and not short.pieces[0].parts[0][1][0].ineqs


def test_pieces_that_are_one_of_more_constraints_stay_several():
    box = "-3 <= i <= 4 and -3 <= j <= 4"
    a = Set(f"[N] -> {{ [i, j] : {box} and (i = -2 and j + N mod 2 + 5 = -2*i or (i + N mod 4 + 5) mod 3 = 0) }}")
    context = Set(f"[N] -> {{ [i, j] : {box} and j <= 0 }}")
    found = a.gist(context)
    assert [len(c.eqs) + len(c.ineqs) for _, cs in found.parts for c in cs] == [2, 1]
    assert (found & context).is_equal(a & context)


def test_pieces_that_leave_a_point_of_the_context_out_stay():
    text, context = "{ [i, j] : i >= 0; [i, j] : j >= 0 }", "{ [i, j] : i + j >= -2 }"
    short = Set(text).gist(Set(context))
    for i, j in itertools.product(range(-5, 6), repeat=2):
        if i + j >= -2:
            assert ((i, j) in short) == (i >= 0 or j >= 0)


def test_in_an_empty_context_of_its_space_nothing_is_left_to_say():
    assert str(Set("{ [i] : i > 0 }").gist(Set("{ [i] : false }"))) == "{ [i] }"
    assert str(Set("{ : false }").gist(Set("{ : false }"))) == "{ : }"
    assert str(Set("{ A[i] : i > 0; B[i] : i > 0 }").gist(Set("{ A[i] : i >= 0 }"))) == "{ A[i] : i >= 1 }"
    assert Set("{ A[i] : i > 0 }").gist(Set("{ }")).is_empty()  # no space in common


def test_gists_of_equalities_that_share_a_floor_agree_in_their_context():
    """Random pairs of congruences and equalities of three numbers, point by point."""
    box = list(itertools.product(range(-7, 8), repeat=3))
    for m, n, k in itertools.product((2, 3, 4, 6), (2, 3, 4), (1, 2)):
        this = Set(f"{{ [a, b, c] : a mod {m} = 0 and {k}a = c }}")
        context = Set(f"{{ [a, b, c] : b mod {n} = 0 and b = c }}")
        short = this.gist(context)
        for a, b, c in box:
            if b % n == 0 and b == c:
                assert ((a, b, c) in short) == (a % m == 0 and k * a == c), (m, n, k, a, b, c)


def test_a_function_of_several_tuples_in_a_set_of_inputs():
    f = Map("C[{ B[i, i] -> [3i]; D[i] -> [i] }]")
    assert str(f.gist(Set("{ B[i, i]; D[i] : i > 0 }"))) == "{ B[i, i'] -> C[3*i]; D[i] -> C[i] }"
    g = Map("[N] -> (C[] : { B[N, N] })").gist(Set("[N] -> { B[N, N] }"))
    assert g.is_equal(Map("[N] -> { B[i, j] -> C[] }"))


def test_what_has_one_value_in_the_context_is_not_spoken_of():
    f = Map("[N] -> { B[i] -> C[3i + N] }").gist_params(Set("[N] -> { : N = 1 }"))
    assert str(f) == "[N] -> { B[i] -> C[3*i + 1] }"
    for a, b, value in itertools.product((-2, 1, 3), (2, 3), (-1, 0, 4)):
        this = Set(f"{{ [i, j, k] : {a}i <= {b}j + k and floor((i + j)/{b}) <= k; [i, j, k] : i = {a}j }}")
        context = Set(f"{{ [i, j, k] : j = {value} and i + k > -4 }}")
        short = this.gist(context)
        for i, k in itertools.product(range(-6, 7), repeat=2):
            wanted = (a * i <= b * value + k and (i + value) // b <= k) or i == a * value
            assert i + k <= -4 or short.contains((i, value, k)) == wanted
        assert all(not row[2] for _, cs in short.parts for c in cs for row in (*c.eqs, *c.ineqs))


@pytest.mark.parametrize("steps", [1, 20, 60])
def test_a_row_that_takes_long_is_left(monkeypatch, steps):
    """Where the steps for a row end, the gist says no less than it has to, and a longer look leaves fewer rows."""
    rng, longer = random.Random(steps), 0
    rows = lambda s: sum(len(c.ineqs) for _, cs in s.parts for c in cs)  # noqa: E731
    for _ in range(40):
        a, b, c, m = rng.randint(2, 5), rng.randint(-4, 4), rng.randint(-9, 9), rng.choice([2, 3, 5])
        this = Set(f"{{ [i, j, k] : {a}i + {b}j >= {c} and floor((i + k)/{m}) >= {c}; [i, j, k] : 2j <= {a}k + {b} }}")
        context = Set(f"{{ [i, j, k] : (i + {b}j) mod {m} = 0 and 2i >= {c} and k >= {a}j and {a}k >= 3i + {b} }}")
        with monkeypatch.context() as patch:
            patch.setattr(gisting, "FOR_A_ROW", steps)
            gisting.gist_conjunct.cache_clear()
            early = this.gist(context)
        gisting.gist_conjunct.cache_clear()
        whole = this.gist(context)
        for i, j, k in itertools.product(range(-6, 7), repeat=3):
            if (i + b * j) % m == 0 and 2 * i >= c and k >= a * j and a * k >= 3 * i + b:
                wanted = (a * i + b * j >= c and (i + k) // m >= c) or 2 * j <= a * k + b
                assert early.contains((i, j, k)) == wanted == whole.contains((i, j, k))
        assert rows(whole) <= rows(early)
        longer += rows(whole) < rows(early)
    assert longer or steps > 1


@pytest.mark.parametrize(
    ("domain", "range_"),
    [
        ("{ A[i] : i >= -3 }", "{ B[i] : i >= -3 }"),
        ("{ C[i] : i >= -3 }", "{ D[i] : i >= -3 }"),
        ("{ A[i] : i < 4; B[i] : i < 4 }", "{ C[i] : i < 4 }"),
        ("{ }", "{ }"),
    ],
)
def test_of_tuples_that_a_context_does_not_have_nothing_is_left(domain, range_):
    m, domain, range_ = Map("{ A[i] -> B[i] : i > 0; B[i] -> C[i] : i > 1 }"), Set(domain), Set(range_)
    for kept, context, within in (
        (m.gist_domain(domain), domain, m.intersect_domain(domain)),
        (m.gist_range(range_), range_, m.intersect_range(range_)),
    ):
        names = {space.out.name for space, _ in context.parts}
        sides = {s.inp.name if context is domain else s.out.name for s, _ in kept.parts}
        assert sides == names & {"A" if context is domain else "B", "B" if context is domain else "C"}
        again = kept.intersect_domain(domain) if context is domain else kept.intersect_range(range_)
        assert again.is_equal(within)


@pytest.mark.parametrize(
    ("text", "context", "wanted"),
    [
        ("{ [i, j] : 0 <= i < N and 0 <= j < M and j mod 2 = 0 }", "j mod 2 = 0", "0 <= i < N and 0 <= j < M"),
        ("{ [i, j] : 0 <= j < M and j mod 2 = 1 }", "j mod 4 = 1", "0 <= j < M"),
        ("{ [i, j] : i <= 3*floor((i + j)/2) and (i + j) mod 2 = 1 }", "(i + j) mod 2 = 1", "i + 3j >= 3"),
        ("{ [i, j] : 3*floor(j/4) <= i }", "j mod 4 = 3", "3j - 9 <= 4i"),
        ("{ [i, j] : floor(j/2) + floor(i/3) <= M }", "i mod 3 = 2 and j mod 2 = 1", "3j - 3 + 2i - 4 <= 6M"),
    ],
)
def test_floors_whose_remainder_the_context_knows_go(text, context, wanted):
    space = "[N, M] -> "
    within = Set(f"{space}{{ [i, j] : {context} }}")
    found = Set(space + text).gist(within)
    assert not any(c.divs for _, cs in found.parts for c in cs)
    assert (found & within).is_equal(Set(space + text) & within)
    assert (found & within).is_equal(Set(f"{space}{{ [i, j] : {wanted} }}") & within)


def test_a_floor_of_which_pieces_of_the_context_know_different_remainders_stays():
    context = Set("{ [j] : j mod 4 = 0 and j <= 9; [j] : j mod 4 = 1 and j >= 30 }")
    found = Set("[M] -> { [j] : 2*floor(j/2) < M }").gist(context)
    assert "floor" in str(found)
    assert "floor" not in str(Set("[M] -> { [j] : 4*floor(j/4) < M }").gist(context & Set("{ [j] : j <= 9 }")))


def test_a_map_says_nothing_of_floors_that_its_context_states():
    context = Map("{ S[i, j] -> T[a, b] : 2a = i + j }")
    found = Map("[N] -> { S[i, j] -> T[a, b] : 2a = i + j and b >= j and b <= N }").gist(context)
    assert str(found) == "[N] -> { S[i, j] -> T[a, b] : j <= b <= N }"


@pytest.mark.parametrize("seed", range(4))
def test_gists_in_contexts_with_strides_by_enumeration(seed):
    rng = random.Random(seed)
    for _ in range(25):
        d, m = rng.choice([2, 3, 4, 6]), rng.choice([2, 3, 4, 6, 12])
        a, b, c = rng.randint(-2, 2), rng.randint(1, 3), rng.randint(-3, 3)
        text = f"-5 <= i, j <= 8 and {a}i + {b}*floor((i + {c}j)/{d}) <= {rng.randint(-2, 5)}"
        context = f"(i + {c}j) mod {m} = {rng.randint(0, m - 1)}"
        s, within = Set(f"{{ [i, j] : {text} }}"), Set(f"{{ [i, j] : {context} and -9 <= i, j <= 9 }}")
        found = s.gist(Set(f"{{ [i, j] : {context} }}"))
        assert set((found & within).points()) == set((s & within).points())
        if m % d == 0:
            assert "floor" not in str(found)


def test_many_points_in_a_context_of_many_take_few_steps():
    """Pieces that numbers or a point tell apart are not compared at length; it took 1,390,000 steps."""
    rng = random.Random(1)
    points, known = ({(rng.randint(0, 40), rng.randint(0, 40)) for _ in range(200)} for _ in range(2))
    s, context = (Set("{ " + "; ".join(f"[{i}, {j}]" for i, j in sorted(some)) + " }") for some in (points, known))
    with budget(100_000):
        found = s.gist(context)
    assert set((found & context).points()) == points & known


def test_of_tuples_that_an_empty_context_does_not_have_nothing_is_left():
    m, nowhere = Map("{ A[i] -> B[i] : i > 0; B[i] -> A[i] : i > 1 }"), Set("{ B[i] : i > 0 and i < 0 }")
    assert m.gist_domain(nowhere).is_equal(Map("{ B[i] -> A[j] }"))
    assert m.gist_range(nowhere).is_equal(Map("{ A[i] -> B[j] }"))


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_a_walk_shows_to_be_needed_are(seed):
    """Of each a point is found by enumeration at which it fails alone, in the context."""
    rng = random.Random(seed)
    text = f"0 <= i <= {rng.randint(5, 12)} and 0 <= j <= {rng.randint(5, 12)} and i + j <= {rng.randint(8, 24)}"
    text += f" and {rng.randint(0, 1)} <= (i + {rng.randint(1, 3)}*j) mod 5 <= {rng.randint(2, 4)}"
    ((c,),) = (cs for _, cs in Set(f"{{ [i, j] : {text} }}").parts)
    context = Set("{ [i, j] : 3i >= j - 1 }").parts[0][1]
    frame = Frame((c, *context))
    own, *pieces = frame.members
    points = [lifted(frame.divs, x) for x in itertools.product(range(-2, 16), repeat=2)]
    points = [z for z in points if pieces[0].holds(z)]
    for row in between.alone(c, own.eqs, own.ineqs, pieces):
        assert any([r for r in own.ineqs if dot(r, z) < 0] == [row] for z in points)


def test_rows_that_a_walk_shows_to_be_needed_are_not_asked_for(monkeypatch):
    ((c,),) = (cs for _, cs in Set("{ [i, j] : 0 <= i <= 20 and 0 <= j <= 20 and 1 <= (i + j) mod 5 <= 3 }").parts)
    asked = []
    implied = gisting._implied
    monkeypatch.setattr(gisting, "_implied", lambda *given: asked.append(given[3]) or implied(*given))
    gisting.gist_conjunct.cache_clear()
    assert gisting.irredundant(c) == c
    assert len(asked) < len(c.ineqs)


def test_strides_that_two_equalities_say_are_made_smaller_once():
    """A modulus divided by 2 is there again, as the other equality says it; that was tried for ever."""
    box = "S[i, j] -> [(N)] : -3 <= i <= 4 and -3 <= j <= 4"
    some = "(i mod 2 = 0 and (2i) mod 3 = 2)"
    f = PwAff(f"[N] -> {{ {box} and {some}; {box} and not {some} and N + (j mod 2) <= 0 }}")
    within = Set("""[N] -> { S[i, j] : -3 <= i <= 4 and -3 <= j <= 4 and 5j + ((i + j + (i mod 2)) mod 2) <= i + j and
                    (2N + j + ((N + i) mod 2) + 5) mod 6 = 5 }""")
    short = f.gist(within)
    assert (short.domain() & within).is_equal(f.domain() & within)
    assert all(short.eval((i, j), N=n) == n for n in range(-4, 1) for i, j in (f.domain() & within).points(N=n))
