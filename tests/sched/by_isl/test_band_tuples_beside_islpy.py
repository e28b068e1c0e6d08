"""Numbers and functions that change a band lie in its tuple; others isl refuses, too."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

TREE = '{{ domain: "{{ S[i] : 0 <= i < 9 }}", child: {{ schedule: "{}[{{ S[i] -> [(i)] }}]" }} }}'


def answers(library, band, change, text):
    kind = library.MultiUnionPwAff if change == "band_shift" else library.MultiVal
    node = library.Schedule(TREE.format(band)).get_root().child(0)
    try:
        return bool(getattr(node, change)(kind(text)).get_schedule())
    except library.Error:
        return False


@pytest.mark.parametrize("name", ["", "X", "L"])
@pytest.mark.parametrize("band", ["", "L"])
@pytest.mark.parametrize("change", ["band_tile", "band_scale", "band_scale_down", "band_mod", "band_shift"])
def test_only_values_of_the_bands_tuple_change_it(change, band, name):
    text = f"{name}[{{ S[i] -> [(1)] }}]" if change == "band_shift" else f"{{ {name}[4] }}"
    assert answers(isl, band, change, text) is answers(ours, band, change, text) is (name == band)


def test_lists_of_numbers_fit_any_band():
    node = ours.Schedule(TREE.format("L")).get_root().child(0).band_tile([4])
    assert node.band_get_space().get_tuple_name(ours.dim_type.set) == "L"
