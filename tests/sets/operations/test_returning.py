"""Powers of maps of which one is an earlier one again are exact: beside islpy's powers, one exponent at a time."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

MAPS = [
    "{A[i]->A[i+1]: i mod 2=0; A[i]->A[i-1]: i mod 2=1}",
    "[n]->{S[i,j]->S[j,i]: i!=j and 0<=i,j<n}",
    "{A[i]->A[i+1]: i mod 3!=2; A[i]->A[i-2]: i mod 3=2}",
    "{A[i,j,k]->A[j,k,i]}",
    "{[i]->[-i]: i>0; [i]->[-i]: i<-3}",
    "[n]->{[i]->[n-i]: 0<=i<=n}",
    "{[i]->[0]: i>0}",
    "{[i]->[0]: 0<i<9; [0]->[3]; [9]->[5]}",
]


def m_set(k):
    """The number of steps, as isl's set."""
    return isl.Set(f"{{ [{k}] }}")


@pytest.mark.parametrize("text", MAPS)
def test_powers_are_exact(text):
    m, theirs = ours.Map(text), isl.Map(text)
    found, exact = m.power()
    lengths, also = m.reaching_path_lengths()
    assert exact
    assert also
    for k in range(-1, 12):
        pairs = isl.Map(str(found)).intersect_domain(m_set(k)).range().unwrap()
        wanted = theirs.fixed_power_val(k) if k > 0 else None
        assert pairs.is_empty() if wanted is None else pairs.is_equal(wanted), (text, k)
        reached = isl.Map(str(lengths)).intersect_range(m_set(k)).domain()
        wanted = wanted and wanted.range().reset_tuple_id()
        assert reached.is_empty() if wanted is None else reached.is_equal(wanted), (text, k)


@pytest.mark.parametrize("text", MAPS)
def test_a_power_is_in_few_pieces(text):
    for k in (1, 2, 3):
        found, wanted = ours.Map(text).fixed_power_val(k), isl.Map(text).fixed_power_val(k)
        assert isl.Map(str(found)).is_equal(wanted), (text, k)
        assert found.n_basic_map() <= wanted.n_basic_map(), (text, k)


def test_no_other_map_is_taken_for_one():
    assert not ours.Map("{ [i] -> [2i] : i > 0 }").power()[1]
    found, exact = ours.Map("{ [i] -> [i+1] : 0 <= i < 30; [40] -> [40] }").power()
    assert (
        isl.Map(str(found))
        .intersect_domain(m_set(30))
        .range()
        .unwrap()
        .is_equal(isl.Map("{ [0] -> [30]; [40] -> [40] }"))
        or not exact
    )
