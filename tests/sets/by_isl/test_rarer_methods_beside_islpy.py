"""Methods of sets and relations that programs seldom ask for: typed in, and beside islpy."""

from random import Random

import pytest

import polyvolta.isl as own

TIMES = "L[{ A[i] -> [i]; B[i, j] -> [j - i] }]"


def libraries():
    yield own
    try:
        import islpy
    except ImportError:
        return
    yield islpy


@pytest.mark.parametrize(("text", "least"), [
    ("[N] -> { A[i] : 2 <= i <= N; B[i, j] : 2 <= j <= 4 and i = 1 }", [1]), ("{ A[i] : i > 3 }", [4]),
    ("{ A[i] : i <= 3 }", ["-infty"]), ("{ A[i] : i < 3 < i }", ["NaN"]), ("{ C[i] : 0 <= i <= 3 }", ["NaN"]),
])  # fmt: skip
def test_the_least_values_of_a_function_on_a_set(text, least):
    for lib in libraries():
        found = lib.UnionSet(text).min_multi_union_pw_aff(lib.MultiUnionPwAff(TIMES))
        assert [str(found.get_val(k)) for k in range(found.dim(lib.dim_type.out))] == list(map(str, least))
        assert found.get_tuple_name(lib.dim_type.out) == "L"


@pytest.mark.parametrize(("text", "kind", "pos", "said"), [
    ("{ [i] -> [j, k] : j = 2i and 0 <= k <= i }", "out", 0, {"i": -2, "j": 1}),
    ("[N] -> { [i] -> [j, k] : k = N - j }", "out", 1, {"N": -1, "j": 1, "k": 1}),
    ("[N] -> { [i] -> [j] : 3i = N + 1 }", "in_", 0, {"N": -1, "i": 3, 1: -1}),
])  # fmt: skip
def test_an_equality_that_defines_a_dimension(text, kind, pos, said):
    for lib in libraries():
        c = lib.BasicMap(text).has_defining_equality(getattr(lib.dim_type, kind), pos)
        found = {name: int(str(v)) for name, v in c.get_coefficients_by_name().items() if int(str(v))}
        assert c.is_equality() and found in (said, {name: -v for name, v in said.items()})


@pytest.mark.parametrize(("text", "is_said"), [
    ("{ [i] -> [j] : j <= 2i }", False), ("{ [i] -> [j] : j = i }", True), ("{ [i] -> [j] : j = floor(i/2) }", False),
])  # fmt: skip
def test_none_defines_a_dimension(text, is_said):  # islpy dies of it
    m = own.BasicMap(text)
    assert m.has_defining_equality(own.dim_type.in_, 0) is None
    assert (m.has_defining_equality(own.dim_type.out, 0) is not None) is is_said


def test_a_hull_of_constraints_of_others():
    s, given = own.Set("{ [i] : 0 <= i <= 4; [i] : 10 <= i <= 20 }"), ["{ [i] : i <= 30 }", "{ [k] : 4 <= k <= 20 }"]
    hull = s.unshifted_simple_hull_from_set_list(list(map(own.Set, given)))
    assert type(hull) is own.BasicSet and str(hull) == "{ [i] : i <= 20 }"
    assert s.unshifted_simple_hull_from_set_list([own.Set("{ [4] }")]).is_equal(own.Set("{ [i] }"))
    assert (s - s).unshifted_simple_hull_from_set_list([own.Set("{ [4] }")]).is_empty()
    m = own.Map("[N] -> { [i] -> [i + 1] : 0 <= i < N }")
    hull = m.unshifted_simple_hull_from_map_list([own.Map("[M, N] -> { [a] -> [b] : b <= N and M < b > a }")])
    assert hull.is_equal(own.Map("[N] -> { [i] -> [j] : i < j <= N }")) and type(hull) is own.BasicMap


def test_a_hull_of_constraints_beside_islpy():
    isl = pytest.importorskip("islpy")
    for seed in range(25):
        random = Random(seed)

        def drawn(n, random=random):
            rows = [
                f"{random.randint(-2, 2)}i + {random.randint(-2, 2)}j + {random.randint(0, 4)} >= 0" for _ in range(n)
            ]
            return f"[N] -> {{ [i, j] : {' and '.join(rows)} and j {random.choice(['<= N', '>= i - 5', '= 2i'])} }}"

        text = f"[N] -> {{ [i, j] : 0 <= i <= {random.randint(0, 2)} and 0 <= j <= {random.randint(0, 2)} and j <= N }}"
        others = [drawn(2) for _ in range(2)]
        lists = isl.SetList.alloc(isl.DEFAULT_CONTEXT, 2)
        for other in others:
            lists = lists.add(isl.Set(other))
        theirs = isl.Set(text).unshifted_simple_hull_from_set_list(lists)
        ours = own.Set(text).unshifted_simple_hull_from_set_list(list(map(own.Set, others)))
        assert ours.is_equal(own.Set(str(theirs))), seed
