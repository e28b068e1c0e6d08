"""What follows from strides and bounds together."""

import gc
import random
from itertools import pairwise, permutations

import pytest

from polyvolta.sched import Band, Domain, Member, Schedule, scan
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops import scan as scanning
from polyvolta.sched.loops.conditions import beyond, elsewhere
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.tableaus import Sparse
from polyvolta.sets import Set, budget, var
from polyvolta.sets.budgets import left
from polyvolta.sets.engine.simplex import Tableau


def test_values_in_steps_that_are_less_than_a_step_apart_are_equal():
    """c1 = 4*c0 + 16*k has the floor k, c1/16 rounded down, where 0 <= c0 <= 3, and not where c0 may be 4."""
    columns = Columns([])
    c0, c1 = columns.loop(0), columns.loop(1)
    rest = (c0, -4), (c1, 1), (columns.floor(16, ((c1, 1),), 0), -16)
    for most in (3, 4):
        rows = System()
        rows.ge(((c0, 1),), 0)
        rows.ge(((c0, -1),), most)
        rows.mod(((c0, -4), (c1, 1)), 0, 16)
        known = Known(columns).given(rows)
        assert known.implies_zero(rest, 0) == (most == 3)
        assert not known.implies_zero(rest, 16)
        assert known.grid(rest) == (16, 0)


def test_a_row_that_leaves_a_multiple_one_value_stays_beside_others_of_that():
    """Of c0 <= 2*f, f = floor(c1/2) and t from 0 to 2: 3*c0 - 6*f + t >= 0 and c0 = 2*f alike, but for 2*f < c0."""
    columns = Columns(["t"])
    t, c0, c1 = columns.ids["t"], columns.loop(0), columns.loop(1)
    f = columns.floor(2, ((c1, 1),), 0)
    rows = System()
    rows.ge(((t, 1),), 0)
    rows.ge(((t, -1),), 2)
    rows.ge(((c0, -1), (f, 2)), 0)
    known = Known(columns).given(rows)
    beside, alone = tuple(sorted(((c0, 3), (f, -6), (t, 1)))), ((c0, 1), (f, -2))
    assert known.of_one_value(beside, 0) == (alone, 0) and known.of_one_value(beside, 3) == (beside, 3)
    for rows in permutations([(beside, 0), (alone, -1)]):
        system = System()
        for row in rows:
            system.ge(*row)
        assert beyond(known, system).ineqs == {alone: -1}


def test_the_residues_of_a_sum_are_of_all_that_is_known():
    """c1 = 2*c0 + 1 mod 6 and c0 = 1 mod 3: c1 + c0 is 1 mod 3."""
    columns = Columns([])
    c0, c1 = columns.loop(0), columns.loop(1)
    rows = System()
    rows.mod(((c0, 1),), -1, 3)
    rows.mod(((c0, -2), (c1, 1)), -1, 6)
    known = Known(columns).given(rows)
    step, residue = known.grid(((c0, 1), (c1, 1)))
    assert (step, residue % 3) == (3, 1)


def test_what_a_scan_has_learned_goes_with_it():
    """No part of it refers to another one in a circle: it does not wait for the garbage collector."""
    rows = {"S": (var("i") // 32, var("i")), "T": (var("i") // 32, var("i") + 1)}
    band = Band(tuple(Member(tuple((name, row[k]) for name, row in rows.items())) for k in range(2)))
    domain = Set("[N] -> { S[i] : 0 <= i < N; T[i] : i >= 2 and i < N }")
    gc.collect()
    before = [one for one in gc.get_objects() if isinstance(one, Known)]  # which other tests may hold
    gc.disable()
    try:
        made = scan(Schedule(Domain(domain, band)))
        left = [one for one in gc.get_objects() if isinstance(one, Known) and all(one is not old for old in before)]
    finally:
        gc.enable()
    assert made.body
    assert not left


def test_floors_that_were_asked_for_are_in_no_tableau_that_does_not_speak_of_them():
    """Of (c0 + 1)/3 and (c0 + 4)/6 where c0 >= 1, and inside where c0 >= 2."""
    columns = Columns([])
    i = columns.loop(0)
    a, b = columns.floor(3, ((i, 1),), 1), columns.floor(6, ((i, 1),), 4)
    low, lower = System(), System()
    lower.ge(((i, 1),), -1)
    low.ge(((i, 1),), -2)
    outer = Known(columns).given(lower)
    assert not outer.implies(((i, -1), (a, 1)), 1)
    assert outer.implies(((i, 1), (a, -2)), 0)
    assert outer.implies(((a, 1), (b, -1)), 0)
    inner = outer.given(low)
    assert outer.tableau([]).place.keys() == inner.tableau([]).place.keys() == {i}
    tab = inner.tableau([(((i, -1), (a, 1)), 2)])
    assert tab.place.keys() == {i, a}
    assert tab.always(((b, 1),), 0)
    assert tab.always(((i, -1),), 4)
    assert not tab.always(((i, -1),), 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_cycles_are_collected_after_a_scan_as_they_were_before(enabled, monkeypatch):
    """None is looked for while one runs, nor after it where whoever called it looks for none."""
    seen = []
    finished = scanning._finished
    monkeypatch.setattr(scanning, "_finished", lambda *given: seen.append(gc.isenabled()) or finished(*given))
    if not enabled:  # as where another thread scans, which may end at any time
        gc.disable()
        monkeypatch.setattr(gc, "disable", lambda: pytest.fail("nobody would begin again"))
    try:
        scan(Schedule(Domain(Set("{ S[i] : 0 <= i < 4 }"), Band((Member((("S", var("i")),)),)))))
        with pytest.raises(NotScannable):
            scan(Schedule(Domain(Set("{ S[i] : i < 4 }"), Band((Member((("S", var("i")),)),)))))
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert seen and not any(seen)


def test_rows_are_asked_for_together_as_they_are_one_by_one(monkeypatch):
    """Of c0 + c1 <= 7, 2*c1 <= c0 + f, and f = floor(c0/4) with one tableau; a row that fails ends it."""
    columns = Columns([])
    c0, c1 = columns.loop(0), columns.loop(1)
    f = columns.floor(4, ((c0, 1),), 0)
    known, made = Known(columns), []
    rows = [(((c0, 1),), 0), (((c1, 1),), 0), (((c0, -1), (c1, -1)), 7), (((c0, 1), (c1, -2), (f, 1)), 0)]
    asked = [(((f, -1),), 1), (((c1, -1),), 3), (((c0, 1), (c1, -1)), 0), (((c1, -1),), 1), (((c0, -1),), 6)]
    each = [known.ensures(rows, *row) for row in asked]
    assert each == [True, True, True, False, False]
    beside = Known._beside
    monkeypatch.setattr(Known, "_beside", lambda *given: made.append(given) or beside(*given))
    assert known.ensures_all(rows, asked[:3]) and not known.ensures_all(rows, asked)
    assert len(made) == 2


def test_rows_climb_to_the_same_answers_by_the_column_that_raises_most():
    """Questions of random rows, many of them 0 at one vertex, beside those of tableaus that take the lowest column."""
    draw = random.Random(11)
    for _ in range(60):
        some, plain = Sparse(), Tableau(4)
        for _ in range(draw.randint(3, 10)):
            row = [draw.choice((0, 0, 0, 1, 4)), *[draw.randint(-3, 3) for _ in range(4)]]
            some.ge(tuple([(c, v) for c, v in enumerate(row[1:], 1) if v]), row[0])
            plain.add_ineq(row)
            assert some.empty == plain.empty
        for _ in range(0 if plain.empty else 8):
            row = [draw.randint(-4, 4), *[draw.randint(-3, 3) for _ in range(4)]]
            sparse = some.row(tuple([(c, v) for c, v in enumerate(row[1:], 1) if v]), row[0])
            assert some.maximum(sparse) == plain.maximum(row)
            assert (some.implies(sparse), some.reaches(sparse)) == (plain.implies(row), plain.reaches(row))


def test_the_column_that_raises_a_row_most_takes_fewer_steps():
    """Of random rows in 12 columns about three quarters as many, all of them pivots."""
    draw, used = random.Random(3), [0.0, 0.0]
    for _ in range(10):
        rows = [[draw.randint(0, 9), *[draw.choice((0, 0, -1, 1, -2, -3)) for _ in range(12)]] for _ in range(24)]
        asked = [[0, *[draw.randint(-2, 3) for _ in range(12)]] for _ in range(12)]
        for k, tab in enumerate((Sparse().with_rows([(((c, 1),), 0) for c in range(1, 13)]), Tableau(12))):
            with budget(100_000):
                for c in range(1, 13) if k else ():
                    tab.add_ineq([int(c == d) for d in range(13)])
                for row in rows:
                    tab.add_ineq(row)
                for row in asked:
                    tab.maximum(row)
                used[k] += 100_000 - left()
    assert 0 < used[0] < 0.8 * used[1]


def test_whether_there_is_a_place_beside_others_takes_no_more_than_the_first_one(monkeypatch):
    """Beside 6 planes in 7 columns are up to 2**6 places, which are found one after another."""
    columns, planes, asked = Columns([]), [], []
    for a, b in pairwise([columns.loop(k) for k in range(7)]):
        plane = System()
        plane.eq(((a, 1), (b, -2)), 0)
        planes.append(plane)
    excludes = Known.plainly_excludes
    monkeypatch.setattr(Known, "plainly_excludes", lambda *given: asked.append(given) or excludes(*given))
    places = elsewhere(Known(columns), planes)
    assert next(places, None) is not None
    assert len(asked) == 6
    assert 1 + len(list(places)) == 2**6
    assert len(asked) > 2**6
