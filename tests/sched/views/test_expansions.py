"""Trees with expansion nodes: the statements below take the places of their groups."""

import pytest

from polyvolta.sched import Schedule
from polyvolta.sched.errors import BadSchedule, TreeSyntaxError
from polyvolta.sets import Map, Set
from tests.sched.loops.oracle import assert_scans

PAIRS = 'contraction: "{ S[i] -> G[floor(i/2)] }", expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1 }"'
LINE = "[n] -> { G[j] : 0 <= j < n }"
SIZES = [{"n": n} for n in (0, 1, 3, 6)]


def parsed(text):
    found = Schedule.parse(text)
    assert_scans(found, SIZES)
    assert Schedule.parse(found.to_isl()).to_map().is_equal(found.to_map())
    return found


def test_a_statement_below_has_the_time_of_its_group():
    band = 'schedule: "[{ G[j] -> [(-j)] }]"'
    inner = f'{{ {PAIRS}, child: {{ schedule: "[{{ S[i] -> [i] }}]" }} }}'
    found = parsed(f'{{ domain: "{LINE}", child: {{ {band}, child: {inner} }} }}')
    assert found.domain.is_equal(Set("[n] -> { S[i] : 0 <= i < 2n }"))
    assert found.band((0,)).statements == ("S",)
    assert found.to_map().is_equal(Map("[n] -> { S[i] -> [-floor(i/2), i] : 0 <= i < 2n }"))


def test_groups_that_are_not_expanded_stay():
    found = parsed(f'''{{ domain: "{LINE}", child: {{ schedule: "[{{ G[j] -> [(j)] }}]", child: {{ sequence: [
        {{ filter: "{{ G[j] : j mod 3 = 0 }}", child: {{ {PAIRS} }} }},
        {{ filter: "{{ G[j] : j mod 3 > 0 }}" }} ] }} }} }}''')
    assert found.domain.is_equal(
        Set("[n] -> { S[i] : 0 <= i < 2n and floor(i/2) mod 3 = 0; G[j] : 0 <= j < n and j mod 3 > 0 }")
    )
    assert found.to_map().is_equal(
        Map("""[n] -> { S[i] -> [floor(i/2), 0] : 0 <= i < 2n and floor(i/2) mod 3 = 0;
                        G[j] -> [j, 1] : 0 <= j < n and j mod 3 > 0 }""")
    )


def test_expansions_within_expansions_and_of_several_groups():
    found = parsed("""{ domain: "[n] -> { G[j] : 0 <= j < n; H[j] : 0 <= j < n }", child: {
        schedule: "[{ G[j] -> [(j)]; H[j] -> [(j)] }]", child: {
            contraction: "{ S[i] -> G[floor(i/2)]; T[a, b] -> H[a] }",
            expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1; H[a] -> T[a, b] : 0 <= b <= a }", child: { sequence: [
                { filter: "{ S[i] }", child: {
                    contraction: "{ R[k] -> S[k - 1] }", expansion: "{ S[i] -> R[i + 1] }" } },
                { filter: "{ T[a, b] }", child: { schedule: "[{ T[a, b] -> [(-b)] }]" } } ] } } } }""")
    assert found.to_map().is_equal(
        Map("[n] -> { R[k] -> [floor((k - 1)/2), 0, 0] : 1 <= k <= 2n; T[a, b] -> [a, 1, -b] : 0 <= b <= a < n }")
    )


def test_a_contraction_in_pieces_makes_bands_by_cases():
    found = parsed("""{ domain: "[n] -> { G[j] : 0 <= j < n }", child: { schedule: "[{ G[j] -> [(j)] }]", child: {
        contraction: "{ S[i] -> G[i] : i mod 2 = 0; S[i] -> G[i - 1] : i mod 2 = 1 }",
        expansion: "{ G[j] -> S[i] : j mod 2 = 0 and j <= i <= j + 1 }" } } }""")
    assert found.to_map().is_equal(Map("[n] -> { S[i] -> [i - i mod 2] : 0 <= i - i mod 2 < n }"))


def test_a_band_by_cases_above_a_contraction():
    band = 'schedule: "[{ G[j] -> [(j)] : j < 3; G[j] -> [(10 - j)] : j >= 3 }]"'
    found = parsed(f'{{ domain: "{LINE}", child: {{ {band}, child: {{ {PAIRS} }} }} }}')
    assert found.to_map().is_equal(
        Map("[n] -> { S[i] -> [floor(i/2)] : 0 <= i < 2n and i < 6; S[i] -> [10 - floor(i/2)] : 6 <= i < 2n }")
    )


def test_groups_that_an_extension_adds():
    found = parsed(f"""{{ domain: "[n] -> {{ U[c] : 0 <= c < n }}", child: {{
        schedule: "[{{ U[c] -> [(c)] }}]", child: {{ extension: "[n] -> {{ [c] -> G[c] : 0 <= c < n }}",
        child: {{ sequence: [
            {{ filter: "{{ G[j] }}", child: {{ {PAIRS} }} }}, {{ filter: "{{ U[c] }}" }} ] }} }} }} }}""")
    (at,) = [at for at, node in found.walk() if type(node).__name__ == "Extension"]
    assert found.node(at).extension.is_equal(Map("[n] -> { [c] -> S[i] : 0 <= c < n and 2c <= i <= 2c + 1 }"))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ('expansion: "{ G[j] -> S[i] }"', "an expansion node has a contraction and an expansion"),
        ('contraction: "{ S[i] -> G[i] }"', "an expansion node has a contraction and an expansion"),
        ('contraction: "{ S[i] -> Q[i] }", expansion: "{ Q[i] -> S[i] }"', "no statement Q.i. comes here"),
    ],
)
def test_what_is_no_expansion(node, message):
    with pytest.raises(TreeSyntaxError, match=message):
        Schedule.parse(f'{{ domain: "{LINE}", child: {{ {node} }} }}')


@pytest.mark.parametrize("wrong", ["G[i]", "G[floor((i + 1)/2)]", "G[-floor(i/2)]"])
def test_a_contraction_that_leads_to_other_groups_is_refused(wrong):
    """The band above would run by it, and the text without groups would not show it."""
    node = f"{{ {PAIRS.replace('G[floor(i/2)]', wrong)} }}"
    band = f'{{ schedule: "[{{ G[j] -> [(j)] }}]", child: {node} }}'
    for child in (node, band):
        with pytest.raises(BadSchedule, match="the contraction is no function that leads back"):
            Schedule.parse(f'{{ domain: "{LINE}", child: {child} }}')
