"""isl's lists beside islpy's: each method gives another list and leaves the one it is of as it was."""

import pytest

import polyvolta.isl as ours

NUMBERS = [
    "l.insert(0, v(7))", "l.insert(2, v(7))", "l.clear()", "l.reverse()", "l.swap(0, 2)", "l.set_val(1, v(7))",
    "l.set_at(0, v(9))", "l.map(lambda x: x.neg())", "l.drop(0, 2)", "l.add(v(4)).concat(l)",
]  # fmt: skip


@pytest.mark.parametrize("expression", NUMBERS)
def test_lists_of_numbers(expression):
    isl = pytest.importorskip("islpy")
    found = []
    for m in (isl, ours):
        given = m.ValList.alloc(m.DEFAULT_CONTEXT, 3)
        for n in (1, 2, 3):
            given = given.add(m.Val(n))
        result = eval(expression, {"l": given, "v": m.Val})
        found.append([[str(x.get_at(k)) for k in range(x.n_val())] for x in (given, result)])
    assert found[0] == found[1]


def test_every_and_unions():
    sets = ours.UnionSetList.from_union_set(ours.UnionSet("{ A[i] }")).add(ours.UnionSet("{ B[i] : i > 0 }"))
    assert sets.union().is_equal(ours.UnionSet("{ A[i]; B[i] : i > 0 }"))
    assert ours.BasicSetList([ours.BasicSet("{ [i] : i > 0 }"), ours.BasicSet("{ [i] : i < 3 }")]).intersect().is_equal(
        ours.Set("{ [i] : 0 < i < 3 }"))  # fmt: skip
    assert not sets.every(lambda s: s.is_empty()) and sets.every(lambda s: not s.is_empty())


def test_a_parameter_that_is_not_there_is_projected_out():
    box = ours.UnionMap("[N] -> { D[i] -> A[j] : 0 <= j < N }")
    assert box.project_out_param_id(ours.Id("M")).is_equal(box)
    assert box.project_out_param_id_list(ours.IdList([ours.Id("M"), ours.Id("N")])).is_equal(
        ours.UnionMap("{ D[i] -> A[j] : j >= 0 }"))  # fmt: skip


def test_positions_of_lists_count_from_0_alone():
    """As isl's; Python's would take others."""
    sizes = ours.ValList([1, 2])
    assert (
        sizes.drop(1, 1) == [1]
        and sizes.drop(2, 0) == [1, 2]
        and sizes.insert(2, 3) == [1, 2, 3]
        and sizes.swap(0, 1) == [2, 1]
    )
    for wrong in (
        lambda: sizes.drop(1, 2), lambda: sizes.drop(5, 1), lambda: sizes.insert(3, 3), lambda: sizes.insert(-1, 3),
        lambda: sizes.get_at(-1), lambda: sizes.get_val(2), lambda: sizes.set_at(2, 3), lambda: sizes.swap(0, 2),
    ):  # fmt: skip
        with pytest.raises(ours.UnknownName, match="is not in the list"):
            wrong()
