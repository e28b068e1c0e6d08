"""Of sampled tests every value of a parameter with few of them runs, in as few cases as that takes."""

from collections import Counter
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sampled import FEW, kinds, same, sample

GRIDS = [(5, 2, 5, 2), (8, 4), (3, 3, 3), (2, 4, 3, 2), (6, 4), (42, 2), (9, 1), (5,), (1,)]


def grid(counts):
    """All combinations of so many values of parameters, the last changing first."""
    return [{f"p{at}": value for at, value in enumerate(values)} for values in product(*map(range, counts))]


@pytest.mark.parametrize("step", [2, 3, 4, 8, 12, 1000])
@pytest.mark.parametrize("counts", GRIDS)
def test_every_value_of_a_parameter_with_few_runs(counts, step):
    cases = grid(counts)
    places = sample(cases, step)
    for at, count in enumerate(counts):
        if count <= FEW and count < len(cases):
            assert {cases[place][f"p{at}"] for place in places} == {*range(count)}
    few = [count for count in counts if count <= FEW]
    assert len(places) == max(-(-len(cases) // step), *few if len(counts) > 1 else (1,))
    assert places == sorted({*places})


def test_of_a_list_of_cases_every_nth_runs():
    assert sample(grid((100,)), 7) == [*range(0, 100, 7)]
    assert sample(grid((4,)), 3) == [0, 3]  # of one parameter every value is another case
    assert sample([{}], 5) == [0] and sample([], 5) == []


def test_values_of_long_parameters_come_as_seldom_twice_as_they_can():
    cases = grid((2, 40))
    assert len({cases[place]["p1"] for place in sample(cases, 8)}) == 10


def test_of_cases_that_are_listed_those_run_that_bring_a_value():
    cases = [{"a": a, "b": b} for a, b in ((0, 0), (0, 0), (0, 0), (0, 1), (1, 0), (2, 1))]
    assert kinds(cases) == {("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)}
    assert sample(cases, 6) == [0, 4, 5]


def test_what_says_when_or_how_much_runs_in_one_of_a_files_tests():
    orders = [{"copies": c, "idiom": i, "case": n} for c in ("eager", "lazy", 1, 7) for i in "abc" for n in range(9)]
    had = Counter()
    first, *later = (sample(orders, len(orders), had) for _ in range(5))
    assert {orders[place]["copies"] for place in first} == {"eager", "lazy", 1, 7}
    for places in later:
        assert {orders[place]["idiom"] for place in places} == {*"abc"} and len(places) == 3
        assert len({orders[place]["copies"] for place in places}) == 3
    assert had.keys() == {("copies", value) for value in ("eager", "lazy", 1, 7)} and {*had.values()} == {4}


def test_plain_values_are_the_same_if_they_look_so_and_others_if_they_are():
    assert same(("row", [1, {"k": None}])) == same(("row", [1, {"k": None}]))
    assert same(1) != same(True) != same("True")
    one, other = object(), object()
    assert same((one,)) != same((one,)[:] + (other,)) and same(one) == same(one) != same(other)


def test_collected_cases_are_sampled_by_test(monkeypatch):
    """On made-up items: a test's name is cut at the bracket, parameters are those of the call; `--whole` leaves all."""
    from tests import conftest

    def collected(name, count):
        cases = [{"letter": a, "digit": d} for a in "ab" for d in range(1, count + 1)]
        return [
            SimpleNamespace(nodeid=f"tests/x.py::{name}[{i}]", callspec=SimpleNamespace(params=case))
            for i, case in enumerate(cases)
        ]

    monkeypatch.setattr(conftest, "SAMPLED", {"x.py": 6, "x.py::all": 1})
    items, gone = [*collected("some", 3), *collected("all", 2)], []
    options = {"--whole": False}
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    config = SimpleNamespace(getoption=options.get, hook=hook)
    whole = [*items]
    conftest.pytest_collection_modifyitems(config, items)
    kept = [item.callspec.params for item in items if "some" in item.nodeid]
    assert len(kept) == 3 and {p["letter"] for p in kept} == {*"ab"} and {p["digit"] for p in kept} == {1, 2, 3}
    assert items[3:] == whole[6:] and [i for i in whole if not any(i is g for g in gone)] == items
    options["--whole"], again = True, [*whole]
    conftest.pytest_collection_modifyitems(config, again)
    assert again == whole


def test_what_runs_with_whole_alone_and_what_covers_it_are_there():
    from tests.conftest import SAMPLED, WHOLE

    for name in (*WHOLE, *WHOLE.values(), *SAMPLED):
        file, _, function = name.partition("::")
        assert f"def {function}" in (Path(__file__).parent / file).read_text(), name
    assert WHOLE.keys().isdisjoint(WHOLE.values()) and WHOLE.keys().isdisjoint(SAMPLED)
