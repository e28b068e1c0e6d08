"""Products of functions keep the names of the values, beside islpy."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

PAIRS = [
    ("{ A[i] -> B[a = i, b = i + 1] }", "{ A[i] -> C[a = i, b = 2i] }"),
    ("{ A[i] -> B[a = i, b = i + 1] }", "{ A[i] -> C[c = i, d = 2i] }"),
    ("{ A[i] -> B[a = i, b = i + 1] }", "{ A[i] -> C[c = i, 2i] }"),
    ("{ A[i] -> [i + 1, i] }", "{ A[i] -> C[2i, 3i] }"),
    ("[n] -> { A[i] -> B[a = i + n] }", "[n] -> { A[i] -> C[2i, a = 3i, n] }"),
    ("{ A[i] -> [B[a = i] -> C[b = i + 1]] }", "{ A[i] -> D[b = 2i, 7] }"),
    ("{ A[i] -> [a = floor(i/2)] }", "{ A[i] -> D[a = 2i, c = 7] }"),
]


@pytest.mark.parametrize("kind", ["MultiAff", "PwMultiAff", "MultiPwAff"])
@pytest.mark.parametrize("name", ["range_product", "flat_range_product", "product"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_values_keep_their_names(kind, name, first, second):
    mine, theirs = (getattr(getattr(m, kind)(first), name)(getattr(m, kind)(second)) for m in (ours, isl))
    out = ours.dim_type.out
    names = [mine.get_dim_name(out, k) for k in range(mine.dim(out))]
    for k, own in enumerate(names):
        wanted = theirs.get_space().get_dim_name(isl.dim_type.out, k)  # names that repeat have primes, as in isl's text
        assert own.rstrip("'") == (wanted or f"o{k}")
    assert len({*names}) == len(names)
    assert mine.get_space().to_str() == theirs.get_space().to_str()
    graph = {"MultiAff": "multi_aff", "PwMultiAff": "pw_multi_aff", "MultiPwAff": "multi_pw_aff"}[kind]
    assert isl.Map(str(mine.as_map())).is_equal(getattr(isl.Map, f"from_{graph}")(theirs))


def test_functions_of_fractions_and_of_own_domains_keep_their_names():
    f, g = ours.MultiPwAff("{ A[i] -> B[a = i/2] }"), ours.MultiPwAff("{ A[i] -> C[a = i/3, b = i] }")
    assert f.flat_range_product(g).get_space().to_str() == "{ A[i] -> [a, a', b] }"
    assert f.range_product(g).get_space().to_str() == "{ A[i] -> [B[a] -> C[a', b]] }"
    theirs = isl.MultiPwAff("{ A[i] -> B[a = i/2] }").range_product(isl.MultiPwAff("{ A[i] -> C[a = i/3, b = i] }"))
    assert theirs.get_space().to_str() == "{ A[i] -> [B[a] -> C[a', b]] }"
