"""What the set tests share with hypothesis: how many examples a run draws, and its strategies."""

import os
from collections import Counter

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.sets.draw import Source, expression

ASKED = os.environ.get("POLYVOLTA_EXAMPLES")
USUAL = 1 / 12
FACTOR = float(ASKED or USUAL)
TALLY = Counter()  # what `test_laws` did, for the summary at the end of the run


def examples(n):
    """A twelfth of `n` examples, the same in every run; POLYVOLTA_EXAMPLES asks for that many times `n`, at random."""
    return settings(
        max_examples=max(1, int(n * FACTOR)),
        derandomize=ASKED is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )


def expressions(names, depth=2):
    """Quasi-affine expressions with small numbers, as text and value."""
    return st.binary(min_size=40, max_size=40).map(lambda data: expression(Source(data), names, depth))
