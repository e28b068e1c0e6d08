"""Every operation against truth tables, by hypothesis: the laws of `tests.sets.laws` on random inputs.

By default a twelfth of the inputs, the same in every run; POLYVOLTA_EXAMPLES=10 asks for ten times all, at random.
Longer campaigns run without hypothesis: `python -m tests.sets.campaign`.
"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import BudgetExceeded, NotSupported
from tests.sets.brute import FACTOR, TALLY, USUAL, examples
from tests.sets.draw import Source
from tests.sets.existentials import Undecided
from tests.sets.laws import LENGTH, load

FAMILIES = load()
INPUTS = 125  # of each family of weight 1
CASES = 20_000  # that a run of all examples must reach


@pytest.mark.parametrize("name", FAMILIES)
def test_laws(name):
    family = FAMILIES[name]

    @given(st.binary(min_size=LENGTH, max_size=LENGTH))
    @examples(INPUTS * family.weight)
    def check(data):
        inputs = family.draw(Source(data))
        for law, holds in family.laws.items():
            TALLY["cases"] += 1
            try:
                holds(*inputs)
            except (BudgetExceeded, NotSupported, Undecided):
                TALLY["declined"] += 1
            except Exception as error:
                error.add_note(f"law: {name} / {law}")
                error.add_note("\n".join(map(repr, inputs)))
                raise

    began = time.process_time()
    check()
    TALLY["seconds"] += time.process_time() - began
    TALLY["families"] += 1


def test_there_were_enough_cases():
    """What the run above counted; one case in a hundred may be declined."""
    if TALLY["families"] == len(FAMILIES) and FACTOR >= USUAL:
        assert TALLY["cases"] >= CASES * FACTOR, f"only {TALLY['cases']} cases"
        assert TALLY["declined"] * 100 <= TALLY["cases"]
