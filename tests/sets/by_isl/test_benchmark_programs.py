"""The programs of benchmarks/set_programs.py make the same of both libraries, in no more pieces here."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")
programs = pytest.importorskip("set_programs")


def graph(value):
    """A set, a relation or the graph of a function, read by islpy."""
    text = str(value)
    for read in (
        isl.UnionMap,
        isl.UnionSet,
        lambda t: isl.UnionMap.from_union_pw_multi_aff(isl.UnionPwMultiAff(t)),
    ):
        try:
            return read(text)
        except isl.Error:
            continue
    raise AssertionError(text)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_makes_the_same_here(name):
    f = programs.PROGRAMS[name]
    found = [*f(ours)], [*f(isl)]
    assert len(found[0]) == len(found[1]) > 0
    for mine, theirs in zip(*found, strict=True):
        assert graph(mine).is_equal(graph(theirs))
