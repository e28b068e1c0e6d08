"""Trees whose iterators have primes that are their own, as pet's do: times and loops are those of plain names."""

import pytest

from polyvolta.sched import Schedule, scan, to_c

TREES = [
    """{ domain: "{ S[p, q] : 0 <= p < 4 and 0 <= q <= p; T[p] : 0 <= p < 4 }", child: { schedule:
    "L[{ S[p, q] -> [(p)]; T[p] -> [(p)] }]", child: { sequence: [ { filter: "{ T[p] }" }, { filter: "{ S[p, q] }",
    child: { schedule: "L_1[{ S[p, q] -> [(-q)] }]" } } ] } } }""",
    """{ domain: "{ A[r] : 0 <= r < 4 }", child: { schedule: "[{ A[r] -> [(r)] }]", child: { extension:
    "{ [r] -> C[p, q] : p = r and 0 <= q < 3 }", child: { sequence: [ { filter: "{ C[p, q] }", child: { schedule:
    "[{ C[p, q] -> [(-q)] }]" } }, { filter: "{ A[r] }" } ] } } } }""",
]


@pytest.mark.parametrize("text", TREES, ids=["domain", "extension"])
def test_primes_are_names(text):
    plain = Schedule.parse(text)
    primed = Schedule.parse(text.replace("p, q", "i, i''").replace("(-q)", "(-i'')").replace("(p)", "(i)")
                            .replace("T[p]", "T[i]").replace("<= p < 4", "<= i < 4").replace("q <= p", "i'' <= i")
                            .replace("p = r", "i = r").replace("q < 3", "i'' < 3"))  # fmt: skip
    assert primed.to_map().is_equal(plain.to_map())
    for at, _ in plain.walk():
        assert primed.prefix_schedule(at).is_equal(plain.prefix_schedule(at))
        assert primed.instances_at(at).is_equal(plain.instances_at(at))
    assert to_c(scan(primed)) == to_c(scan(plain))
