"""Shorter ways to normal forms, held to the long ones: the same rows, not only the same points."""

import random

import pytest

from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts import normal, project
from polyvolta.sets.conjuncts.implies import subtract
from tests.sets.nearby import has_point


def drawn(seed, cases):
    """Conjunctions without known divs: (dimensions, existentials, equalities, inequalities)."""
    rng = random.Random(seed)
    for _ in range(cases):
        n, unknown = rng.randint(1, 6), rng.choice((0, 0, 1, 2))
        factors, share = rng.choice(((1,), (1, 1, 1, 2, 3))), rng.choice((0.25, 0.4))

        def row(width=1 + n + unknown, factors=factors, share=share):
            found = [rng.choice((-1, 1)) * rng.choice(factors) if rng.random() < share else 0 for _ in range(width)]
            return (rng.randint(-5, 5), *found[1:])

        yield n, unknown, [row() for _ in range(rng.randint(0, 4))], [row() for _ in range(rng.randint(0, 7))]


def by_rewriting(n, unknown, eqs, ineqs):
    """The normal form as conjuncts with known divs get it."""
    work = normal._Work(n, (None,) * unknown, eqs, ineqs)
    return work.frozen() if work.run() else None


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_known_divs_come_to_the_form_that_rewriting_gives(seed):
    kinds = set()
    for n, unknown, eqs, ineqs in drawn(seed, 700):
        form = normal.normal_form(n, (None,) * unknown, eqs, ineqs)
        assert form == by_rewriting(n, unknown, eqs, ineqs), (n, unknown, eqs, ineqs)
        kinds.add(form and (bool(form[0]), bool(form[1])))
    assert kinds == {None, (False, False), (False, True), (True, False), (True, True)}


def test_a_form_and_more_inequalities_come_to_the_form_of_all():
    added = 0
    for n, _, eqs, ineqs in drawn(5, 1500):
        form = normal.normal_form(n, (), [r[: 1 + n] for r in eqs], [r[: 1 + n] for r in ineqs])
        if form is None or form[0]:
            continue
        more = [r[: 1 + n] for r in ineqs[:2]] + [(3, *[-v for v in r[1 : 1 + n]]) for r in ineqs[-1:]]
        together = normal.strengthened(n, form[0], form[1], form[2], more)
        assert together == normal.normal_form(n, (), form[1], [*form[2], *more]), (form, more)
        added += together is not None and together[2] != form[2]
    assert added > 100


def test_a_projection_along_what_equalities_give_is_the_one_by_elimination():
    assert project.project(cj.nothing(3), (1,)) is None
    short = 0
    for n, unknown, eqs, ineqs in drawn(7, 2500):
        c = cj.normalise(n, (None,) * unknown, eqs, ineqs)
        if c is None or c.divs:
            continue
        drop = tuple(d for d in range(n) if (d + len(ineqs)) % 3 == 0)
        found = project._without(c, drop) if drop else None
        if found is not None:
            assert found == project._project(c, drop), (c, drop)
            short += bool(c.eqs)
    assert short > 100


def test_what_is_called_solvable_far_out_has_a_point():
    seen = set()
    for n, unknown, eqs, ineqs in drawn(11, 2000):
        c = cj.normalise(n, (None,) * unknown, eqs, ineqs)
        if c is not None:
            plainly = cj.far_out(c)
            empty = cj.sample(c) is None
            assert not (plainly and empty), c
            seen.add((plainly, bool(c.eqs), empty))
    assert {(True, False, False), (True, True, False), (False, True, True), (False, False, True)} <= seen


def test_what_plainly_has_points_has_some():
    """What is called empty has no point nearby; what is not has one, a little farther off where rows lean on others."""
    rng = random.Random(5)
    found = set()
    for _ in range(2000):
        n = rng.randint(1, 3)
        row = lambda: tuple(rng.choice((-3, -1, 0, 0, 1, 2)) for _ in range(1 + n))  # noqa: B023, E731
        eqs, ineqs = [row() for _ in range(rng.choice((0, 0, 1, 2)))], [row() for _ in range(rng.randint(0, 5))]
        c = cj.normalise(n, (), eqs, ineqs)
        empty = c is None or c.is_empty
        reaches = (10,) if empty else (3, 10, 40, 90)
        assert empty != any(has_point(n, eqs, ineqs, reach) for reach in reaches), (eqs, ineqs)
        if c is not None:
            found.add((cj.far_out(c), bool(c.eqs), empty))
    assert {(True, False, False), (True, True, False), (False, True, True), (False, False, True)} <= found


def test_pieces_of_a_complement_are_in_normal_form():
    pieces = 0
    for n, _, _, ineqs in drawn(13, 1500):
        c = cj.normalise(n, (), (), [r[: 1 + n] for r in ineqs])
        if c is None or c.divs or c.eqs:
            continue
        for piece in subtract(cj.universe(n), c):
            assert piece == cj.normalise(n, piece.divs, piece.eqs, piece.ineqs), (c, piece)
            pieces += len(piece.ineqs) > 1
    assert pieces > 500
